"""Robot files, stacks, a pinched cube and boxes in a bin by our kernel and by MuJoCo, in turn: CPU time of a step, the ratio.

usage: peer_mujoco.py BENCH_ROBOTS [FILE..]     says so and ends with 0 without MuJoCo's Python package
"""

import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time

try:
    import mujoco
    import numpy as np
except ImportError as error:
    print(f"no peer: {error}; pip install mujoco")
    sys.exit(0)

STEPS, ROUNDS = 2000, 5
FILES = ["examples/robots/arm.xml", "examples/robots/hand.xml", "examples/robots/quadruped.xml"]
VARIANTS = {  # of MuJoCo: as the file says, with exact cones, with its second pass
    "default": {},
    "elliptic": {"cone": mujoco.mjtCone.mjCONE_ELLIPTIC},
    "noslip": {"noslip_iterations": 10},
}


def box(place, half, mass, turn=None):
    quat = f' quat="{turn[0]} {turn[1]} {turn[2]} {turn[3]}"' if turn else ""
    return f'<body pos="{place[0]} {place[1]} {place[2]}"{quat}><freejoint/><geom type="box" size="{half} {half} {half}" mass="{mass}"/></body>'


def scene(bodies, friction, rest=""):
    return f"""<mujoco><option timestep="0.002"/><default><geom friction="{friction}"/></default>
<worldbody><geom type="plane" size="5 5 0.1"/>{bodies}</worldbody>{rest}</mujoco>"""


def stack(n):
    return scene("".join(box((0, 0, 0.1 + 0.2 * i), 0.1, 1) for i in range(n)), 0.5)


def pinched():
    """Two pads on slides press a cube of 0.2 kg by 10 N each and hold it off the ground."""
    pads = "".join(
        f'<body pos="{side * 0.05} 0 0.5"><joint name="j{name}" type="slide" axis="{-side} 0 0" damping="1"/><geom type="box" size="0.02 0.02 0.02" mass="0.1"/></body>'
        for name, side in (("a", -1), ("b", 1)))
    motors = '<actuator><motor joint="ja"/><motor joint="jb"/></actuator><keyframe><key ctrl="10 10"/></keyframe>'
    return scene(pads + box((0, 0, 0.5), 0.03, 0.2), 0.5, motors)


def bin_of_27():
    """As in experiments/scenes: boxes turned a little fall into a bin of four walls."""
    draw, n, wide = random.Random(1), 3, 0.21
    walls = "".join(f'<geom type="plane" size="5 5 0.1" pos="{-wide * x} {-wide * y} 0" zaxis="{x} {y} 0"/>' for x, y in ((1, 0), (0, 1), (-1, 0), (0, -1)))
    boxes = ""
    for i in range(n**3):
        at = (i % n, i // n % n, i // n // n)
        place = [0.12 * (at[k] - (0.5 * (n - 1) if k < 2 else -0.6)) + 0.005 * (draw.random() - 0.5) for k in range(3)]
        turn = [1.0] + [0.1 * (draw.random() - 0.5) for _ in range(3)]
        size = math.sqrt(sum(x * x for x in turn))
        boxes += box(place, 0.05, 1, [x / size for x in turn])
    return scene(walls + boxes, 0.5)


SCENES = {"10 boxes stacked": stack(10), "20 boxes stacked": stack(20), "pinched cube": pinched(), "27 boxes into a bin": bin_of_27()}


def ours(bench, file):
    line = subprocess.run([bench, "--steps", str(STEPS), file], capture_output=True, text=True)
    if line.returncode:
        raise SystemExit(line.stderr)
    return float(re.search(r"([0-9.]+) us a step", line.stdout).group(1)), line.stdout.splitlines()[0].split(",")[-1].strip()


def theirs(file, options):
    """Microseconds of a step; NaN where it warns or nothing touches."""
    model = mujoco.MjModel.from_xml_path(file)
    for name, value in options.items():
        setattr(model.opt, name, value)
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    start = time.thread_time()
    mujoco.mj_step(model, data, nstep=STEPS)
    spent = time.thread_time() - start
    is_peer = data.ncon > 0 and not any(w.number for w in data.warning)
    return 1e6 * spent / STEPS if is_peer else float("nan"), np.abs(data.qvel).max()


def compare(bench, name, file):
    runs = {"perp": [], **{variant: [] for variant in VARIANTS}}
    speed = {}
    for _ in range(ROUNDS):
        us, speed["perp"] = ours(bench, file)
        runs["perp"].append(us)
        for variant, options in VARIANTS.items():
            us, fast = theirs(file, options)
            runs[variant].append(us)
            speed[variant] = f"{fast:.0e}"
    mine = min(runs["perp"])
    peers = ", ".join(f"{variant} {min(runs[variant]):.1f} ({mine / min(runs[variant]):.2f}; {speed[variant]})" for variant in VARIANTS)
    print(f"{name}: perp {mine:.1f} ({speed['perp']}); MuJoCo {peers}: our ratio; the largest speed at the end", flush=True)


def main():
    bench, files = sys.argv[1], sys.argv[2:] or FILES
    option = mujoco.MjModel.from_xml_path(files[0]).opt
    print(f"MuJoCo {mujoco.__version__}, integrator {mujoco.mjtIntegrator(option.integrator).name[6:]}, "
          f"{option.iterations} iterations of {mujoco.mjtSolver(option.solver).name[6:]}, impratio {option.impratio:g}; us a step, least of {ROUNDS} runs of {STEPS} steps")
    for file in files:
        compare(bench, file, file)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {} if sys.argv[2:] else SCENES.items():
            file = os.path.join(folder, name.replace(" ", "_") + ".xml")
            with open(file, "w") as out:
                out.write(text)
            compare(bench, name, file)


main()
