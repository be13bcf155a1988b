"""Parameters with intervals

Mass and friction coefficient of a block from 3 s of noisy positions and speeds. Fits beside the
best one check the interval of each. 40 repetitions with new noise show how often the interval
contains the truth.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import perp

folder = Path(__file__).parents[1] / "identify"
model = perp.Model(folder / "block.perp")
fit = model.identify(folder / "block.csv")
for name, truth in (("m", 1.3), ("mu", 0.37)):
    low, high = fit.interval(name)
    print(f"{name} = {fit[name]:.4f} in [{low:.4f}, {high:.4f}], truth {truth}")
print(fit.findings)

rng = np.random.default_rng(1)
clean = model.simulate(m=1.3, mu=0.37, step=0.01)
intervals = []
for _ in range(40):
    noise = rng.normal(0, [[0.002], [0.02]], (2, 61)) * (clean.t[::5] > 0)  # where it starts is known
    data = {"t": clean.t[::5], "x": clean.x[::5] + noise[0], "v": clean.v[::5] + noise[1]}
    intervals.append(model.identify([data]).interval("mu"))
low, high = np.array(intervals).T
inside = (low < 0.37) & (0.37 < high)

recorded, again = perp.read(folder / "block.csv"), model.simulate(m=fit.m, mu=fit.mu)
fig, (motion, coverage) = plt.subplots(1, 2, figsize=(9, 3.6))
motion.plot(recorded.t, recorded.v, "o", ms=3, label="recorded")
motion.plot(again.t, again.v, label="the fit")
motion.set(xlabel="t [s]", ylabel="v [m/s]")
motion.legend()
coverage.vlines(np.arange(40), low, high, colors=np.where(inside, "tab:blue", "tab:red"))
coverage.axhline(0.37, color="k", lw=1)
coverage.set(xlabel="repetition", ylabel="interval of mu", title=f"{inside.sum()} of 40 hold the truth")
plt.show()
