"""A tossed cube

The cube of the ContactNets data set tumbles on a table. Each of its eight corners is a contact with
friction in eight directions, and each step solves them as one problem. Every step is verified. The
picture shows the heights of the corners and their contact forces.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import perp

model = perp.Model(Path(__file__).parents[1] / "mechanics" / "cube.perp")
run = model.simulate()
print(run)

fig, (fall, hits) = plt.subplots(2, 1, sharex=True, figsize=(7, 4.5))
fall.plot(run.t, run["height"].T, lw=1)
fall.plot(run.t, run["p[3]"], "k", label="centre")
fall.set_ylabel("height [m]")
fall.legend()
hits.plot(run.t, run["fn"].T)
hits.set(xlabel="t [s]", ylabel="normal forces [N]", yscale="symlog")
print("lowest corner", run.lowest[1:].min(), "m; moves in the last step by", np.abs(np.diff(run["p"])[:, -1]).max())
plt.show()
