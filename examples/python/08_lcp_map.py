"""A map of complementarity problems

All problems of a plane of q at once. For each of three matrices, one call solves and verifies 90
000 problems of two pairs. Colours show which of the two z are positive. A P-matrix has one solution
for each q; the last matrix has none in half of the plane.
"""

import matplotlib.pyplot as plt
import numpy as np
import perp

axis = np.linspace(-1, 1, 300)
q = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
matrices = {"positive definite": [[2, 1], [1, 2]], "P, not symmetric": [[1, 3], [-1, 1]], "semidefinite": [[1, -1], [-1, 1]]}

fig, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True)
shares = {}
for ax, (name, M) in zip(axes, matrices.items()):
    z, outcome = perp.lcp_batch(M, q)
    kind = np.where(outcome == "solved", (z[:, 0] > 0) + 2 * (z[:, 1] > 0), 4)
    ax.imshow(kind.reshape(300, 300), origin="lower", extent=(-1, 1, -1, 1), cmap="Set2", vmin=0, vmax=7)
    ax.set(xlabel="q1", title=name)
    shares[name] = [float(np.mean(kind == k)) for k in range(5)]
    print(name, "unsolved:", f"{shares[name][4]:.1%}")
axes[0].set_ylabel("q2")
plt.show()
