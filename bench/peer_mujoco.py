"""Robot files by our kernel and by MuJoCo, in turn: CPU time of a step, the ratio.

usage: peer_mujoco.py BENCH_ROBOTS [FILE..]     says so and ends with 0 without MuJoCo's Python package
"""

import re
import subprocess
import sys
import time

try:
    import mujoco
    import numpy as np
except ImportError as error:
    print(f"no peer: {error}; pip install mujoco")
    sys.exit(0)

STEPS, WARM, ROUNDS = 2000, 100, 5
FILES = ["examples/robots/arm.xml", "examples/robots/hand.xml", "examples/robots/quadruped.xml"]
VARIANTS = {  # of MuJoCo: as the file says, with exact cones, with its second pass
    "default": {},
    "elliptic": {"cone": mujoco.mjtCone.mjCONE_ELLIPTIC},
    "noslip": {"noslip_iterations": 10},
}


def ours(bench, file):
    line = subprocess.run([bench, "--steps", str(STEPS), file], capture_output=True, text=True)
    if line.returncode:
        raise SystemExit(line.stderr)
    return float(re.search(r"([0-9.]+) us a step", line.stdout).group(1)), line.stdout.split(",")[-1].strip()


def theirs(file, options):
    """Microseconds of a step; NaN where it warns or nothing touches."""
    model = mujoco.MjModel.from_xml_path(file)
    for name, value in options.items():
        setattr(model.opt, name, value)
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_step(model, data, nstep=WARM)
    start = time.thread_time()
    mujoco.mj_step(model, data, nstep=STEPS)
    spent = time.thread_time() - start
    is_peer = data.ncon > 0 and not any(w.number for w in data.warning)
    return 1e6 * spent / STEPS if is_peer else float("nan"), np.abs(data.qvel).max()


def main():
    bench, files = sys.argv[1], sys.argv[2:] or FILES
    option = mujoco.MjModel.from_xml_path(files[0]).opt
    print(f"MuJoCo {mujoco.__version__}, integrator {mujoco.mjtIntegrator(option.integrator).name[6:]}, "
          f"{option.iterations} iterations of {mujoco.mjtSolver(option.solver).name[6:]}, impratio {option.impratio:g}; us a step, least of {ROUNDS} runs of {STEPS} steps")
    for file in files:
        runs = {"perp": [], **{name: [] for name in VARIANTS}}
        speed = {}
        for _ in range(ROUNDS):
            us, speed["perp"] = ours(bench, file)
            runs["perp"].append(us)
            for name, options in VARIANTS.items():
                us, fast = theirs(file, options)
                runs[name].append(us)
                speed[name] = f"{fast:.0e}"
        mine = min(runs["perp"])
        peers = ", ".join(f"{name} {min(runs[name]):.1f} ({mine / min(runs[name]):.2f}; {speed[name]})" for name in VARIANTS)
        print(f"{file}: perp {mine:.1f} ({speed['perp']}); MuJoCo {peers}: our ratio; the largest speed at the end")


main()
