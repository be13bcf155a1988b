"""Four ways to write a block that sticks

The LCP notes of 2019 state the same sliding block with dry friction in one line, traditionally,
directly and mixed. A force of 4 sin 2t N pushes it. All formulations give one motion. Where the
block sticks its speed is exactly 0: there is no slip drift.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import perp

notes = Path(__file__).parents[1] / "notes"
names = ["one_line", "traditional", "direct", "mixed"]
runs = {name: perp.Model(notes / f"sliding_{name}.perp").simulate(mu=0.3, method="backward-euler") for name in names}

fig, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(7, 4.5))
for k, (name, run) in enumerate(runs.items()):
    above.plot(run.t, run.v, lw=7 - 2 * k, label=name)
one = runs["one_line"]
sticks = one.v == 0
below.plot(one.t, one.f, label="friction")
below.fill_between(one.t, -3, 3, where=sticks, alpha=0.2, label="speed exactly 0")
above.set_ylabel("v [m/s]")
below.set(xlabel="t [s]", ylabel="f [N]")
above.legend(), below.legend()
differences = {name: np.abs(run.v - one.v)[1:].max() for name, run in runs.items()}
print(differences, f"sticks {sticks.mean():.0%} of the time")
plt.show()
