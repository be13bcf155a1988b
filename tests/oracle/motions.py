"""Motions of small robot files by MuJoCo and by `perp simulate`: both methods are of order 1, so what twice the motion of half a step takes off that of
a whole one is the motion without steps, and the two are the same. Activations that both find exactly, of integrators and exact filters, are the same with steps.

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

TOL, EXACT, TIME, STEP = 2e-6, 1e-12, 0.3, 1e-4


def ours(perp, file, step):
    """Positions, velocities, activations at the end."""
    with tempfile.NamedTemporaryFile(suffix=".csv") as rows:
        subprocess.run([perp, "simulate", file, "--key", "k", "--to", repr(TIME), "--step", repr(step), "-o", rows.name, "--quiet"], check=True)
        with open(rows.name) as text:
            lines = [line.strip() for line in text if not line.startswith("#")]
    return np.array([float(x) for x in lines[-1].split(",")[1:-2]])


def theirs(model, step):
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    model.opt.timestep = step
    for _ in range(round(TIME / step)):
        mujoco.mj_step(model, data)
    return np.concatenate([data.qpos, data.qvel, data.act])


def without_steps(motion):
    """By Richardson, from steps of STEP, STEP/2; and by the latter."""
    whole, half = motion(STEP), motion(STEP / 2)
    return 2 * half - whole, half


def exact(model):
    """Where among these numbers the activations are that both find exactly."""
    kinds = [int(kind) for kind in (mujoco.mjtDyn.mjDYN_INTEGRATOR, mujoco.mjtDyn.mjDYN_FILTEREXACT)]
    return [model.nq + model.nv + model.actuator_actadr[i] for i in range(model.nu) if int(model.actuator_dyntype[i]) in kinds]


def main():
    perp, folder = sys.argv[1:]
    for file in sorted(glob.glob(os.path.join(folder, "*.xml"))):
        model = mujoco.MjModel.from_xml_path(file)
        a, our_half = without_steps(lambda step: ours(perp, file, step))
        b, their_half = without_steps(lambda step: theirs(model, step))
        if a.shape != b.shape:
            raise SystemExit(f"FAILED: {file}: {a.shape} numbers, MuJoCo {b.shape}")
        off = np.abs(a - b).max() / max(1, np.abs(b).max())
        moved = np.abs(b - np.concatenate([model.key_qpos[0], model.key_qvel[0], model.key_act[0]])).max()
        with_steps = np.abs((our_half - their_half)[exact(model)]).max(initial=0)
        print(f"{os.path.basename(file)}: {len(b)} numbers, they move by {moved:.2g}, differ by {off:.1e}; {len(exact(model))} exact activations by {with_steps:.1e}")
        if not (off <= TOL and with_steps <= EXACT and moved > 1e-2):
            raise SystemExit(f"FAILED: {file}: at {np.abs(a - b).argmax()}: ours {a}, MuJoCo {b}")
    print(f"ok: MuJoCo {mujoco.__version__}")


main()
