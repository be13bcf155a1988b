"""Painleve's rod

A rod slides on a rough table, inclined against its motion. G is the normal acceleration caused by a
unit of normal force. Where G is negative, no bounded force keeps the rod out of the table (IROS
2011, V.B). An impulse then stops the contact at once, at any step length.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import perp

model = perp.Model(Path(__file__).parents[1] / "mechanics" / "painleve.perp")
theta, mu = np.meshgrid(np.linspace(0.02, np.pi / 2 - 0.02, 300), np.linspace(0, 3, 200))
J = 1 / 3
G = 1 + np.cos(theta) * (np.cos(theta) - mu * np.sin(theta)) / J

fig, (where, jam) = plt.subplots(1, 2, figsize=(9, 3.6))
where.contourf(theta, mu, G, levels=[-10, 0, 10], colors=["tab:red", "0.9"])
where.plot(1.0, 2, "k*", label="the run")
where.plot(np.arctan(2), 4 / 3, "k+", label="least mu: 4/3")
where.set(xlabel="angle [rad]", ylabel="mu", title="red: G < 0")
where.legend()
impulses = []
for step in (4e-4, 2e-4, 1e-4):
    run = model.simulate(step=step, to=0.004)
    impulses.append(np.nanmax(run.impulse))
    jam.plot(1e3 * run.t, run.p, "o-", label=f"step {step:g} s")
jam.set(xlabel="t [ms]", ylabel="normal force p [N]", yscale="symlog", title="the force grows as 1/h, the impulse stays")
jam.legend()
print("G at the run:", run.G[1], "impulses:", impulses)
plt.show()
