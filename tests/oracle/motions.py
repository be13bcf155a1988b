"""Motions of small robot files by MuJoCo and by `perp simulate`: both methods are of order 1, so what twice the motion of half a step takes off that of
a whole one is the motion without steps, and the two are the same. Activations that both find exactly are the same in every row.

usage: motions.py PERP FOLDER        every FOLDER/*.xml, with its key
       prints "skipped: .." and exits 77 without MuJoCo's Python package
"""

import glob
import os
import subprocess
import sys
import tempfile

try:
    import mujoco
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}; pip install mujoco")
    sys.exit(77)

TOL, TIME, STEP = 2e-6, 0.3, 1e-4


def ours(perp, file, step):
    """Positions, velocities, activations at the end; and how many columns each has."""
    with tempfile.NamedTemporaryFile(suffix=".csv") as rows:
        subprocess.run([perp, "simulate", file, "--key", "k", "--to", repr(TIME), "--step", repr(step), "-o", rows.name, "--quiet"], check=True)
        with open(rows.name) as text:
            lines = [line.strip() for line in text if not line.startswith("#")]
    names, last = lines[0].split(","), [float(x) for x in lines[-1].split(",")]
    return np.array(last[1:-2]), sum(name.endswith(".act") for name in names)


def theirs(model, step):
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    model.opt.timestep = step
    for _ in range(round(TIME / step)):
        mujoco.mj_step(model, data)
    return np.concatenate([data.qpos, data.qvel, data.act])


def without_steps(motion):
    """By Richardson, from steps of STEP, STEP/2."""
    whole, half = motion(STEP), motion(STEP / 2)
    return 2 * half - whole, half


def main():
    perp, folder = sys.argv[1:]
    for file in sorted(glob.glob(os.path.join(folder, "*.xml"))):
        model = mujoco.MjModel.from_xml_path(file)
        a, at_half = without_steps(lambda step: ours(perp, file, step)[0])
        b, _ = without_steps(lambda step: theirs(model, step))
        if a.shape != b.shape:
            raise SystemExit(f"FAILED: {file}: {a.shape} numbers, MuJoCo {b.shape}")
        off = np.abs(a - b).max() / max(1, np.abs(b).max())
        moved = np.abs(b - np.concatenate([model.key_qpos[0], model.key_qvel[0], model.key_act[0]])).max()
        print(f"{os.path.basename(file)}: {len(b)} numbers, they move by {moved:.2g}, differ by {off:.1e}")
        if not (off <= TOL and moved > 1e-2):
            raise SystemExit(f"FAILED: {file}: at {np.abs(a - b).argmax()}: ours {a}, MuJoCo {b}")
    print(f"ok: MuJoCo {mujoco.__version__}")


main()
