"""A plan and its replay

The gallery page of opty: a block moves 10 m and back through Coulomb friction in the shortest time,
with a force of at most 400 N. The plan's force drives a run of the same model with its own steps.
The run ends at the end of the plan.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import perp

model = perp.Model(Path(__file__).parents[1] / "opty" / "push.perp")
plan = model.plan(nodes=81)


def held(t):
    """The plan's force over the step that ends at the next node."""
    return plan.F[min(np.searchsorted(plan.t, t - 1e-9), len(plan) - 1)]


run = model.simulate(to=plan.horizon, step=plan.horizon / 4000, F=held, method="backward-euler")

fig, (motion, force) = plt.subplots(2, 1, sharex=True, figsize=(7, 4.5))
motion.plot(plan.t, plan.x, "o", ms=4, label="plan")
motion.plot(run.t, run.x, "-", label="replay")
force.step(plan.t, plan.F, where="pre", label="F")
force.plot(run.t, run.lp - run.ln, label="friction")
motion.set_ylabel("x [m]")
force.set(xlabel="t [s]", ylabel="[N]")
motion.legend(), force.legend()
print(plan.outcome, f"{plan.cost:.4f} s; the replay ends at {run.x[-1]:.3f} m")
plt.show()
