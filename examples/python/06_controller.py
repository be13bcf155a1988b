"""A controller in the loop

A block with dry friction follows a slow sine. A PD controller, called between steps, lags and
sticks. A second controller adds the friction of the desired motion in advance, and follows.
`sim.step(u=...)` costs half a microsecond more than C.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import perp

model = perp.Model(Path(__file__).parents[1] / "identify" / "block.perp")
mu, m, g = 0.5, 1.0, 9.81


def drive(feedforward):
    sim = model.start(step=1e-3)
    sim.state["v"] = 0
    rows = []
    while sim.t < 6:
        wanted, speed = 0.5 * np.sin(sim.t), 0.5 * np.cos(sim.t)
        force = 60 * (wanted - sim["x"]) + 15 * (speed - sim["v"])
        if feedforward:
            force += mu * m * g * np.sign(speed) - 0.5 * m * np.sin(sim.t)
        sim.step(u=force)
        rows.append((sim.t, sim["x"], sim["f"], wanted))
    return np.array(rows).T


fig, (motion, friction) = plt.subplots(2, 1, sharex=True, figsize=(7, 4.5))
errors = {}
for name, feedforward in (("PD", False), ("PD and friction in advance", True)):
    t, x, f, wanted = drive(feedforward)
    motion.plot(t, x, label=name)
    friction.plot(t, f, label=name)
    errors[name] = np.abs(x - wanted)[1000:].max()
motion.plot(t, wanted, "k:", label="wanted")
motion.set_ylabel("x [m]")
friction.set(xlabel="t [s]", ylabel="friction [N]")
motion.legend()
print("largest error after 1 s [m]:", errors)
plt.show()
