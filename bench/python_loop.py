#!/usr/bin/env python3
"""What a loop of a controller costs in Python beyond C: controls in, a step, q and v out.

    bench/python_loop.py [ROBOT.xml ..]      with the package perp on the path

The same steps are taken by one call of C (`s.step(STEPS)`) and one by one from Python, in turns, each from the same snapshot. The least
time of many turns counts, as other processes disturb the rest. The bar is 0.8 us a step.
"""

import sys
import time
from pathlib import Path

import numpy as np
import perp

STEPS, TURNS, BAR = 20, 3000, 0.8
ROBOTS = Path(__file__).resolve().parent.parent / "examples" / "robots"


def in_c(state, control):
    state.ctrl[:] = control
    begin = time.perf_counter_ns()
    state.step(STEPS)
    return time.perf_counter_ns() - begin


def in_python(state, control):
    begin = time.perf_counter_ns()
    for _ in range(STEPS):
        state.ctrl[:] = control
        state.step()
        q, v = state.q, state.v
    del q, v
    return time.perf_counter_ns() - begin


def measure(path):
    """Least times of a step in C and in the loop [us]."""
    state = perp.Robot(path).start()
    kept, control, best = state.snapshot(), np.zeros(len(state.ctrl)), [float("inf")] * 2
    for _ in range(TURNS):
        for k, loop in enumerate((in_c, in_python)):
            state.restore(kept)
            best[k] = min(best[k], loop(state, control) / STEPS * 1e-3)
    return best


def main(paths):
    print(f"{'robot':16} {'C [us]':>8} {'Python [us]':>12} {'beyond C [us]':>14}   bar {BAR}")
    worst = 0.0
    for path in paths:
        c, python = measure(path)
        worst = max(worst, python - c)
        print(f"{Path(path).stem:16} {c:8.3f} {python:12.3f} {python - c:14.3f}")
    return worst > BAR


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or [ROBOTS / f"{name}.xml" for name in ("cartpole", "arm", "quadruped")]))
