#!/usr/bin/env python3
"""The table of tasks and the picture of README.md: each task by perp and, where Python has it, by MuJoCo.

    bench/tasks.py BUILD                 print the table
    bench/tasks.py BUILD --update        write it into README.md, and the picture docs/figures/grip.svg (needs MuJoCo)

BUILD holds perp and bench_robots. Times are CPU times of one thread, the least of ROUNDS runs that take turns. `make tasks` runs it;
PERP_MUJOCO_PYTHON names a python3 that has MuJoCo.
"""

import math
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

try:
    import mujoco
except ImportError:
    mujoco = None

ROOT = Path(__file__).resolve().parent.parent
SCENES = ROOT / "bench/scenes"
ROUNDS = 5
TIMED_STEPS = 2000
GRAVITY = 9.81  # m/s^2
NAMES = ["elliptic", "impratio 10", "noslip 10"]  # variants of MuJoCo: options that act on slip
BEGIN, END = "<!-- tasks: written by `make tasks` -->\n", "<!-- end of tasks -->\n"

PENDULUM = """<mujoco model="pendulum"><worldbody>
<body name="a"><joint name="a" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.02" mass="1" contype="0" conaffinity="0"/>
<body name="b" pos="0 0 -0.5"><joint name="b" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.02" mass="1" contype="0" conaffinity="0"/></body></body>
</worldbody><keyframe><key name="go" qpos="1.5 0.5"/></keyframe></mujoco>"""
BALL = """<mujoco><option timestep="0.001"/><worldbody><geom type="plane" size="5 5 1" solref="-1e5 0"/>
<body pos="0 0 1.1"><joint type="slide" axis="0 0 1"/><geom type="sphere" size="0.1" solref="-1e5 0"/></body></worldbody></mujoco>"""


def box(height, half, mass):
    return f'<body name="b{mass}" pos="0 0 {height}"><freejoint/><geom type="box" size="{half} {half} {half}" mass="{mass}"/></body>'


def heavy_stack():
    return f'<mujoco model="heavy"><worldbody><geom type="plane" size="5 5 0.1"/>{box(0.1, 0.1, 1)}{box(0.3, 0.1, 1000)}</worldbody></mujoco>'


# perp ------------------------------------------------------------------------------------------


def perp(build, *arguments):
    run = subprocess.run([build / "perp", *map(str, arguments)], capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(f"perp {' '.join(map(str, arguments))}\n{run.stdout}{run.stderr}")
    return run.stdout


def rows(build, file, to, *options):
    """Columns of a run by name."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run.csv"
        perp(build, "simulate", file, "--to", to, "-o", out, "--quiet", *options)
        lines = [line for line in out.read_text().splitlines() if not line.startswith("#")]
    values = np.array([[float(x) for x in line.split(",")] for line in lines[1:]])
    return dict(zip(lines[0].split(","), values.T))


def our_pace(build, file):
    """Microseconds of a step."""
    line = subprocess.run([build / "bench_robots", "--steps", str(TIMED_STEPS), file], capture_output=True, text=True, check=True).stdout
    return float(re.search(r"([0-9.]+) us a step", line).group(1))


# MuJoCo ----------------------------------------------------------------------------------------


def peer(text, variant="elliptic", step=None, integrator=None):
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    model.opt.impratio = 10 if variant == "impratio 10" else 1
    model.opt.noslip_iterations = 10 if variant == "noslip 10" else 0
    if step:
        model.opt.timestep = step
    if integrator is not None:
        model.opt.integrator = integrator
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    return model, data


def peer_pace(text):
    model, data = peer(text)
    begin = time.thread_time()
    mujoco.mj_step(model, data, nstep=TIMED_STEPS)
    return 1e6 * (time.thread_time() - begin) / TIMED_STEPS


def peer_positions(text, to, variant):
    """Positions before each step and at the end."""
    model, data = peer(text, variant)
    found = [data.qpos.copy()]
    for _ in range(round(to / model.opt.timestep)):
        mujoco.mj_step(model, data)
        found.append(data.qpos.copy())
    return np.array(found)


# Tasks -----------------------------------------------------------------------------------------


def paces(build, file):
    """Least time of a step of each, runs in turn: microseconds."""
    text, ours, theirs = Path(file).read_text(), [], []
    for _ in range(ROUNDS):
        ours.append(our_pace(build, file))
        if mujoco:
            theirs.append(peer_pace(text))
    return min(ours), min(theirs, default=math.nan)


def carried_slip(q):
    """Slip of the cube on the moving carriage [mm]: q has along, up, .., cube.x, cube.y, cube.z."""
    return 1e3 * (q["up"] - (q["cube.z"] - q["cube.z"][0]))


def swung_slip(q):
    """Slip of the cube along the fingers of the swinging arm [mm]: the pivot is at a height of 0.8 m."""
    along = -(q["cube.x"] * np.sin(q["swing"]) + (q["cube.z"] - 0.8) * np.cos(q["swing"]))
    return 1e3 * (along - along[0])


def named(columns, positions):
    return dict(zip(columns, positions.T))


CARRIED = ["along", "up", "squeeze", "cube.x", "cube.y", "cube.z"]
SWUNG = ["swing", "squeeze", "cube.x", "cube.y", "cube.z"]


def lost(slip):
    """The slip at the end; or when the cube is lost: it has slipped by its own width of 80 mm."""
    gone = np.flatnonzero(np.abs(slip) > 80)
    return f"lost at {0.002 * gone[0]:.0f} s" if gone.size else f"{abs(slip[-1]):.1g} mm" if abs(slip[-1]) < 0.1 else f"{abs(slip[-1]):.1f} mm"


def hold(build, name, columns, slip, to):
    file = SCENES / f"{name}.xml"
    key = "go" if name == "grip" else "swing"
    ours = lost(slip(rows(build, file, to, "--key", key)))
    theirs = [lost(slip(named(columns, peer_positions(file.read_text(), to, v)))) for v in NAMES] if mujoco else []
    return ours, "; ".join(f"{v}: {word}" for v, word in zip(NAMES, theirs))


def stack(build, folder):
    """How far the upper box of 1000 kg is from where it began after 10 s [m]."""
    file = folder / "heavy.xml"
    file.write_text(heavy_stack())
    q = rows(build, file, 10)
    ours = abs(q["b1000.z"][-1] - 0.3)
    theirs = abs(peer_positions(heavy_stack(), 10, "elliptic")[-1][9] - 0.3) if mujoco else math.nan
    return f"{1e3 * ours:.1g} mm", f"{1e3 * theirs:.2g} mm"


def at_time(points, budget):
    """Error at this CPU time, by the line through the logarithms of (time, error)."""
    times, errors = np.log(np.array(points).T)
    order = np.argsort(times)
    return math.exp(np.interp(math.log(budget), times[order], errors[order]))


def peer_pendulum(step):
    model, data = peer(PENDULUM, step=step, integrator=mujoco.mjtIntegrator.mjINT_RK4)
    begin = time.thread_time()
    mujoco.mj_step(model, data, nstep=round(3 / step))
    return time.thread_time() - begin, data.qpos.copy()


def least(runs):
    found = [runs() for _ in range(ROUNDS)]
    return min(t for t, _ in found), found[0][1]


def smooth(build, folder, budget=2e-3):
    """Error of a double pendulum after 3 s [rad], at 2 ms of CPU time: radau5 of the robot file in a model, and RK4."""
    (folder / "pendulum.xml").write_text(PENDULUM)
    model = folder / "pendulum.perp"
    model.write_text('model pendulum\nrobot r = "pendulum.xml"(key = "go")\nsimulate to 3 step 1e-2\n')

    def ours(step):
        text = perp(build, "simulate", model, "--method", "radau5", "--step", step, "--no-plot", "--estimate", "none")
        count, each = re.search(r"(\d+) steps of .* ([0-9.]+) us a step", text).groups()
        q = rows(build, model, 3, "--method", "radau5", "--step", step)
        return 1e-6 * int(count) * float(each), np.array([q["r.a.q"][-1], q["r.b.q"][-1]])

    exact = rows(build, model, 3, "--method", "radau7", "--step", 2e-3)
    exact = np.array([exact["r.a.q"][-1], exact["r.b.q"][-1]])
    own = [(t, np.abs(q - exact).max()) for t, q in (least(lambda h=h: ours(h)) for h in (0.03, 0.02, 0.01, 0.005))]
    if not mujoco:
        return f"{at_time(own, budget):.1g} rad", ""
    other = [(t, np.abs(q - exact).max()) for t, q in (least(lambda h=h: peer_pendulum(h)) for h in (16e-3, 8e-3, 4e-3, 2e-3, 1e-3, 5e-4))]
    return f"{at_time(own, budget):.1g} rad", f"RK4: {at_time(other, budget):.1g} rad"


def bounce(build):
    """Relative error of dz(0.9 s)/dz(0) of a ball that is dropped from 1 m and bounces once, e = 1."""
    to, fall = 0.9, math.sqrt(2 / GRAVITY)
    # z(T) = g t (T - t) - g (T - t)^2 / 2 with t = sqrt(2 z / g), dt/dz = 1/(g t)
    exact = (GRAVITY * (to - 2 * fall) + GRAVITY * (to - fall)) / (GRAVITY * fall)
    q = rows(build, SCENES / "ball_dropped.perp", to, "--sensitivity", "z", "--method", "radau5")
    ours = abs(q["d(z)/d(z)"][-1] / exact - 1)
    if not mujoco:
        return f"{ours:.1g}", ""

    def end(raised):
        model, data = peer(BALL)
        data.qpos[0] = raised
        mujoco.mj_step(model, data, nstep=round(to / model.opt.timestep))
        return data.qpos[0]

    by = [10.0**-k for k in range(1, 7)]  # m
    theirs = min(abs((end(d) - end(-d)) / (2 * d) / exact - 1) for d in by)
    return f"{ours:.1g}", f"finite differences: {theirs:.1g}"


def push(build):
    text = perp(build, "plan", ROOT / "examples/opty/push.perp", "--no-plot")
    word, cost = re.search(r"^([\w-]+(?: \w+)?): cost ([0-9.]+)", text, re.M).groups()
    seconds = min(float(re.search(r"1 start, ([0-9.e-]+) s", perp(build, "plan", ROOT / "examples/opty/push.perp", "--no-plot")).group(1)) for _ in range(ROUNDS))
    return f"{1e3 * seconds:.0f} ms, {word}, time {cost} s", ""


def tasks(build, folder):
    """(task, perp, MuJoCo): a dash where it was not run."""
    carried = paces(build, SCENES / "grip.xml")
    yield "hold a cube on a moving arm for 60 s: slip", *hold(build, "grip", CARRIED, carried_slip, 60)
    yield "the same: time of a step", f"{carried[0]:.1f} us", f"elliptic: {carried[1]:.1f} us"
    yield "hold a cube on a swinging arm for 6 s: slip", *hold(build, "grip_swing", SWUNG, swung_slip, 6)
    yield "1000 kg on 1 kg for 10 s: sinks by", *stack(build, folder)
    ours, theirs = paces(build, ROOT / "examples/robots/quadruped.xml")
    yield "quadruped stands: time of a step", f"{ours:.1f} us", f"{theirs:.1f} us"
    file = folder / "bin.xml"
    file.write_text(boxes_in_a_bin())
    ours, theirs = paces(build, file)
    yield "27 boxes fall into a bin: time of a step", f"{ours:.0f} us", f"{theirs:.0f} us"
    yield "double pendulum for 3 s, at 2 ms of CPU time: error", *smooth(build, folder)
    yield "gradient through a bounce: relative error", *bounce(build)
    yield "plan of a push against friction", *push(build)


def boxes_in_a_bin():
    """The scene of bench/peer_mujoco.py."""
    text = (ROOT / "bench/peer_mujoco.py").read_text()
    space = {"math": math}
    exec("import random\n" + re.search(r"def box\(.*?(?=\ndef stack)", text, re.S).group(0) + re.search(r"def bin_of_27.*?(?=\ndef pressing)", text, re.S).group(0), space)
    return space["bin_of_27"]()


# The picture -----------------------------------------------------------------------------------

SHOWN, SPEED, RATE = 52, 4, 20  # s of the motion, how much faster it is shown, frames a second of the picture
SCALE, WIDE, HIGH, TEXT = 480, 380, 360, 304  # pixels a metre, of a panel, where the texts begin


def values(numbers):
    return ";".join(f"{x:.1f},{y:.1f}" for x, y in numbers)


def moves(points):
    return (f'<animateTransform attributeName="transform" type="translate" dur="{SHOWN / SPEED}s" repeatCount="indefinite" '
            f'values="{values(points)}"/>')


def counters(slips):
    """Slip at every second time of the motion that is shown, one text visible at a time."""
    count, text = len(slips), ""
    for k, slip in enumerate(slips):
        word = "cube lost" if abs(slip) > 80 else f"slip {abs(slip):.0e} mm" if abs(slip) < 1e-3 else f"slip {abs(slip):.1f} mm"
        text += (f'<text x="{WIDE / 2}" y="{TEXT + 40}" class="n" visibility="hidden">{word}<animate attributeName="visibility" dur="{SHOWN / SPEED}s" '
                 f'repeatCount="indefinite" calcMode="discrete" keyTimes="0;{k / count:.4f};{(k + 1) / count:.4f}" values="hidden;visible;hidden"/></text>')
    return text


def panel(x, title, pace, q):
    """One half: the same scene from the side, from the positions of a run with a row every 2 ms."""
    every = round(500 * SPEED / RATE)
    top = 62
    arm = [(WIDE / 2 + SCALE * a, top - SCALE * u) for a, u in zip(q["along"][::every], q["up"][::every])]
    cube = [(WIDE / 2 + SCALE * cx, min(top - SCALE * (cz - 0.8), 2 * HIGH)) for cx, cz in zip(q["cube.x"][::every], q["cube.z"][::every])]
    s = SCALE
    finger = f'<rect x="{{}}" y="{0.23 * s:.1f}" width="{0.02 * s:.1f}" height="{0.08 * s:.1f}" class="a"/>'
    return (f'<svg x="{x}" width="{WIDE}" height="{HIGH}"><g><rect x="{-0.03 * s:.1f}" y="{-0.02 * s:.1f}" width="{0.06 * s:.1f}" height="{0.23 * s:.1f}" class="a"/>'
            f'<rect x="{-0.08 * s:.1f}" y="{0.21 * s:.1f}" width="{0.16 * s:.1f}" height="{0.02 * s:.1f}" class="a"/>'
            + finger.format(f"{-0.06 * s:.1f}") + finger.format(f"{0.04 * s:.1f}") + moves(arm) + "</g>"
            f'<g><rect x="{-0.04 * s:.1f}" y="{-0.04 * s:.1f}" width="{0.08 * s:.1f}" height="{0.08 * s:.1f}" class="c"/>'
            f'<path class="k" d="M{-0.04 * s:.1f} 0H{0.04 * s:.1f}"/>' + moves(cube) + "</g>"
            f'<path class="b" d="M0 {TEXT - 18}h{WIDE}v{HIGH}H0z"/><text x="{WIDE / 2}" y="{TEXT}" class="h">{title}</text>'
            f'<text x="{WIDE / 2}" y="{TEXT + 20}" class="m">{pace:.1f} us a step of 2 ms</text>{counters(carried_slip(q)[: 500 * SHOWN : 1000])}</svg>')


def picture(build):
    file = SCENES / "grip.xml"
    text = file.read_text()
    ours, theirs = paces(build, file)
    left = panel(0, f"MuJoCo {mujoco.__version__}, elliptic cone", theirs, named(CARRIED, peer_positions(text, SHOWN, "elliptic")))
    right = panel(WIDE, "perp", ours, rows(build, file, SHOWN, "--key", "go"))
    style = ("text{font:13px system-ui,sans-serif;text-anchor:middle;fill:#222}.h{font-size:15px;font-weight:600}.m{fill:#666}.n{font-weight:600}"
             ".b{fill:#fff}.a{fill:#8a929c}.c{fill:#1a5fb4}.k{stroke:#fff;stroke-width:2}"
             "@media(prefers-color-scheme:dark){.b{fill:#15181d}text{fill:#e6e8eb}.m{fill:#a0a6ae}}")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * WIDE}" height="{HIGH}" viewBox="0 0 {2 * WIDE} {HIGH}" role="img" '
            f'aria-label="A gripper on a moving arm holds a cube for {SHOWN} s, shown {SPEED} times as fast"><style>{style}</style>'
            f'<path class="b" d="M0 0h{2 * WIDE}v{HIGH}H0z"/>{left}{right}</svg>\n')


def update(table, build):
    readme = ROOT / "README.md"
    before, _, rest = readme.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit("README.md has no place for the table")
    head = f"\n| task | perp | MuJoCo {mujoco.__version__} |\n| --- | --- | --- |\n"
    readme.write_text(before + BEGIN + head + table + "\n" + END + after)
    (ROOT / "docs/figures/grip.svg").write_text(picture(build))


def main():
    build, is_update, table = Path(sys.argv[1]).resolve(), "--update" in sys.argv, ""
    if is_update and not mujoco:
        raise SystemExit("--update needs MuJoCo: pip install mujoco")
    with tempfile.TemporaryDirectory() as folder:
        for row in tasks(build, Path(folder)):
            line = "| " + " | ".join(cell or "-" for cell in row) + " |\n"
            table += line
            print(line, end="", flush=True)
    if is_update:
        update(table, build)


if __name__ == "__main__":
    main()
