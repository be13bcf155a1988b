"""A particle falls, slides and stops

The blog's particle of 10 kg is thrown from a height of 1 m. On the ground Coulomb friction stops
it, and it stays there. Twelve coefficients of friction are copies of one run, stepped at once.
Energy never grows.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import perp

model = perp.Model(Path(__file__).parents[1] / "blog" / "particle.perp")
mu = np.linspace(0.05, 0.6, 12)
copies = model.copies(len(mu), step=1e-3)
copies.param["mu"] = mu
rows = [copies.gather("x", "z", "vx", "vz")]
for _ in range(1200):
    copies.step()
    rows.append(copies.gather("x", "z", "vx", "vz"))
x, z, vx, vz = np.moveaxis(rows, -1, 0)  # each (times, copies)
energy = 10 * (9.81 * z + (vx**2 + vz**2) / 2)

fig, (path, loss) = plt.subplots(1, 2, figsize=(9, 3.6))
path.plot(x, z, color="0.7", lw=1)
path.scatter(x[-1], z[-1], c=mu, zorder=3)
path.set(xlabel="x [m]", ylabel="z [m]", title="paths, and where they end")
for k in range(len(mu)):
    loss.plot(1e-3 * np.arange(len(x)), energy[:, k], color=plt.cm.viridis(k / len(mu)))
loss.set(xlabel="t [s]", ylabel="energy [J]", title="energy")
print("lowest z", z.min(), "largest gain of energy in a step", np.diff(energy, axis=0).max())
plt.show()
