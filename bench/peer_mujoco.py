"""Robot files, an arm that presses, stacks, a pinched cube and boxes in a bin by our kernel and by MuJoCo, in turn: CPU time of a step, the ratio.

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


def pressing_arm(tip):
    """As in experiments/scenes: seven joints press the ground with 50 N and 15 N sideways. Its torques are those of its inverse dynamics where it begins."""
    lengths, bends = (0.15, 0.21, 0.21, 0.2, 0.2, 0.06, 0.1), (0.5, 1.4, math.pi - 1.9)
    q = [0.2, bends[0], 0, bends[1], 0, bends[2], 0.3]
    low = 0.15 + 0.42 * math.cos(bends[0]) + 0.4 * math.cos(bends[0] + bends[1]) - 0.16 - 0.02
    links = ""
    for i, l in enumerate(lengths):
        mass = 4 - 0.5 * i
        inertia = mass * (l * l / 12 + 1e-3)
        links += (f'<body pos="0 0 {lengths[i - 1] if i else -low}"><joint name="j{i}" axis="0 {i % 2} {1 - i % 2}" damping="1"/>'
                  f'<inertial pos="0 0 {l / 2}" mass="{mass}" diaginertia="{inertia} {inertia} {mass * 2e-3}"/>')
    links += f'<geom {tip} pos="0 0 {lengths[-1]}"/><site name="tip" pos="0 0 {lengths[-1] + 0.02}"/>' + "</body>" * len(lengths)
    motors = "<actuator>" + "".join(f'<motor joint="j{i}"/>' for i in range(7)) + "</actuator>"
    text = scene(links, 0.5, motors).replace("<option ", '<option integrator="implicitfast" ')
    model = mujoco.MjModel.from_xml_string(text)
    data, J = mujoco.MjData(model), np.zeros((3, 7))
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    mujoco.mj_jacSite(model, data, J, None, 0)
    torques = data.qfrc_bias + J.T @ (15, 0, -50)
    key = f'<keyframe><key qpos="{" ".join(map(repr, q))}" ctrl="{" ".join(repr(float(t)) for t in torques)}"/></keyframe></mujoco>'
    return text.replace("</mujoco>", key)


SPHERE, FLAT = 'type="sphere" size="0.02"', 'type="box" size="0.03 0.03 0.02"'
SCENES = {"arm presses, sphere": pressing_arm(SPHERE), "arm presses, flat": pressing_arm(FLAT), "10 boxes stacked": stack(10), "20 boxes stacked": stack(20), "pinched cube": pinched(), "27 boxes into a bin": bin_of_27()}


def in_short(force):
    """Of a force, up and sideways."""
    x, y, z = force
    return f"{z:.6f}, {math.hypot(x, y):.6f} N"


def contact_forces(model, data):
    """What they add up to, each on its second body."""
    total, one = np.zeros(3), np.zeros(6)
    for i in range(data.ncon):
        mujoco.mj_contactForce(model, data, i, one)
        total += data.contact[i].frame.reshape(3, 3).T @ one[:3]
    return total


def ours(bench, file):
    line = subprocess.run([bench, "--steps", str(STEPS), file], capture_output=True, text=True)
    if line.returncode:
        raise SystemExit(line.stderr)
    sums = re.search(r"add up to \((.*?)\) N", line.stdout).group(1).split(", ")
    return float(re.search(r"([0-9.]+) us a step", line.stdout).group(1)), line.stdout.splitlines()[0].split(",")[-1].strip(), in_short(map(float, sums))


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
    return 1e6 * spent / STEPS if is_peer else float("nan"), np.abs(data.qvel).max(), in_short(contact_forces(model, data))


def compare(bench, name, file):
    runs = {"perp": [], **{variant: [] for variant in VARIANTS}}
    speed, force = {}, {}
    for _ in range(ROUNDS):
        us, speed["perp"], force["perp"] = ours(bench, file)
        runs["perp"].append(us)
        for variant, options in VARIANTS.items():
            us, fast, force[variant] = theirs(file, options)
            runs[variant].append(us)
            speed[variant] = f"{fast:.0e}"
    mine = min(runs["perp"])
    peers = ", ".join(f"{variant} {min(runs[variant]):.1f} ({mine / min(runs[variant]):.2f}; {speed[variant]})" for variant in VARIANTS)
    print(f"{name}: perp {mine:.1f} ({speed['perp']}); MuJoCo {peers}: our ratio; the largest speed at the end", flush=True)
    if "arm presses" in name:
        print("  holds, up and sideways: " + "; ".join(f"{who} {held}" for who, held in force.items()))


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
