"""A quadruped is pushed until its feet slide

A robot from an MJCF file stands on servos. A sideways force grows slowly. Each foot sticks exactly,
with a slip of rounding, until its friction reaches the cone. Then it slides.
`perp.Robot(...).start(...)` gives the state; `contacts` has forces and slip.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import perp

robot = perp.Robot(Path(__file__).parents[1] / "robots" / "quadruped.xml")
state = robot.start("stand")
state.step(500)  # it settles
feet = {name: robot.bodies.index(name) for name in ("fl_shank", "fr_shank", "rl_shank", "rr_shank")}
sideways = robot.v_names.index("trunk.vy")

times, push, share, slip = [], [], [], []
while state.t < 2:
    state.force[sideways] = 45 * (state.t - 1)
    state.step()
    rows = np.full((2, 4), np.nan)
    for contact in state.contacts:
        k = list(feet.values()).index(contact["bodies"][1])
        normal = contact["force"] @ contact["normal"]
        if normal == 0:  # a speculative contact
            continue
        tangential = np.linalg.norm(contact["force"] - normal * contact["normal"])
        rows[:, k] = tangential / (contact["mu"] * normal), np.linalg.norm(contact["slip"])
    times.append(state.t)
    push.append(state.force[sideways])
    share.append(rows[0])
    slip.append(rows[1])
share, slip = np.array(share), np.array(slip)

fig, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(7, 4.5))
for k, name in enumerate(feet):
    above.plot(push, share[:, k], label=name[:2], lw=1)
    below.semilogy(push, slip[:, k] + 1e-17, ".", ms=2)
above.set_ylabel("friction / cone")
above.legend(ncol=4)
below.set(xlabel="push [N]", ylabel="slip [m/s]")
first = np.array(push)[np.nanmax(slip, axis=1) > 1e-6][0]
before = np.nanmax(slip[: np.searchsorted(push, first)])
print(f"the first foot slides at {first:.1f} N; before, no foot slips faster than {before:.0e} m/s")
plt.show()
