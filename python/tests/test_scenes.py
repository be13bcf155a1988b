"""Scenes without a file: the same numbers as a robot file that says the same, and wrong calls that are named."""

import doctest
import gc
import importlib
from pathlib import Path

import numpy as np
import perp
import pytest
from test_robots import JUNK

ROOT = Path(__file__).resolve().parents[2]

FILE = """<mujoco>
<option timestep="0.004"/>
<default><geom friction="0.6 0 0" condim="6"/></default>
<worldbody>
  <geom name="ground" type="plane" size="1 1 1"/>
  <geom name="step" type="box" size="0.3 0.3 0.02" pos="1 0 0.02"/>
  <body name="box" pos="0 0 0.3" quat="0.9 0.1 0.3 0">
    <freejoint name="box"/>
    <geom name="side" type="box" size="0.2 0.1 0.05" mass="2"/>
    <body name="arm" pos="0.1 0 0.05">
      <joint name="arm" type="hinge" axis="0 1 0" range="-90 60" damping="0.02" armature="0.001" frictionloss="0.01" stiffness="0.3"/>
      <geom name="rod" type="capsule" size="0.02 0.1" pos="0 0 0.1" mass="0.3"/>
      <geom name="bob" type="sphere" size="0.04" pos="0 0 0.25" mass="0.2"/>
      <body name="slider" pos="0 0 0.1" quat="1 0 0 0">
        <joint name="slider" type="slide" axis="0 0 1" range="-0.1 0.2"/>
        <geom name="disc" type="cylinder" size="0.05 0.01" mass="0.1" pos="0.1 0 0"/>
      </body>
    </body>
  </body>
  <body name="egg" pos="1 0.1 0.4"><freejoint name="egg"/>
    <geom name="egg" type="ellipsoid" size="0.1 0.08 0.06" mass="0.5"/></body>
  <body name="pin" pos="-1 0 1"><joint name="pin" type="ball"/>
    <geom name="bar" type="box" size="0.05 0.05 0.3" pos="0 0 -0.3" mass="1" contype="0" conaffinity="0"/>
    <geom name="tip" type="box" size="0.05 0.05 0.05" pos="0 0 -0.6" mass="1"/></body>
</worldbody>
<contact><exclude body1="box" body2="slider"/></contact>
<actuator>
  <motor name="push" joint="slider" gear="2" ctrlrange="-3 3" ctrllimited="true"/>
  <position name="hold" joint="arm" kp="4" kv="0.1" forcerange="-5 5" forcelimited="true"/>
</actuator>
</mujoco>"""


def scene(method=None):
    s = perp.Scene(step=0.004, method=method)
    s.plane(mu=0.6, name="ground")
    s.world.box((0.3, 0.3, 0.02), pos=(1, 0, 0.02), mu=0.6, name="step")
    box = s.free((0, 0, 0.3), (0.9, 0.1, 0.3, 0), name="box").box((0.2, 0.1, 0.05), mass=2, mu=0.6, name="side")
    arm = s.hinge(
        box, (0, 1, 0), (0.1, 0, 0.05), range=np.radians((-90, 60)), damping=0.02, armature=0.001, friction=0.01, stiffness=0.3, name="arm"
    )
    arm.capsule((0.02, 0.1), 0.3, (0, 0, 0.1), mu=0.6, name="rod").sphere(0.04, 0.2, (0, 0, 0.25), mu=0.6, name="bob")
    slider = s.slide(arm, (0, 0, 1), (0, 0, 0.1), range=(-0.1, 0.2), name="slider").cylinder(
        (0.05, 0.01), 0.1, (0.1, 0, 0), mu=0.6, name="disc"
    )
    s.ellipsoid((0.1, 0.08, 0.06), 0.5, (1, 0.1, 0.4), name="egg", mu=0.6)
    pin = s.ball(pos=(-1, 0, 1), name="pin")
    pin.box((0.05, 0.05, 0.3), 1, (0, 0, -0.3), collides=False, name="bar").box((0.05, 0.05, 0.05), 1, (0, 0, -0.6), mu=0.6, name="tip")
    s.exclude(box, slider)
    assert s.motor(slider, 2, control_range=(-3, 3), name="push") == "push"
    s.position(arm, 4, 0.1, force_range=(-5, 5), name="hold")
    return s


@pytest.mark.parametrize("method", ["euler", "midpoint"])
def test_a_scene_is_the_file_that_says_the_same(method):
    a, b = scene(method).start(), perp.Robot(FILE).start(method=method)
    assert a.system.q_names == b.system.q_names and a.system.v_names == b.system.v_names and a.system.actuators == b.system.actuators
    assert a.system.bodies == b.system.bodies and a.system.names() == b.system.names()
    assert a.mass == pytest.approx(b.mass, rel=1e-14) and np.allclose(a.M, b.M, rtol=0, atol=1e-13)
    assert np.allclose(a.q, b.q, rtol=0, atol=1e-15)
    for k in range(250):
        for s in (a, b):
            s.ctrl[:] = 2 * np.sin(0.05 * k), 0.4 * np.cos(0.02 * k)
            s.step()
    # the same to rounding: the reader of the file turns degrees into radians and adds inertias in another order
    assert np.allclose(a.q, b.q, rtol=0, atol=1e-8) and np.allclose(a.v, b.v, rtol=0, atol=1e-6)
    assert a.error < 1e-8 and len(a.contacts) == len(b.contacts) > 0


def test_a_plain_scene_is_its_file_to_the_bit():
    s = perp.Scene(step=0.004)
    s.plane(mu=0.5)
    base = s.box((0.2, 0.1, 0.05), 2, (0, 0, 0.3), mu=0.5, name="base")
    arm = s.hinge(base, (0, 1, 0), (0.1, 0, 0.05), damping=0.02, name="arm").capsule((0.02, 0.1), 0.3, (0, 0, 0.15), mu=0.5)
    s.motor(arm, name="push")
    a, b = (
        s.start(),
        perp.Robot(
            """<mujoco><option timestep="0.004"/><default><geom friction="0.5 0 0" condim="6"/></default><worldbody>
      <geom type="plane" size="1 1 1"/>
      <body name="base" pos="0 0 0.3"><freejoint/><geom type="box" size="0.2 0.1 0.05" mass="2"/>
        <body name="arm" pos="0.1 0 0.05"><joint axis="0 1 0" damping="0.02"/>
          <geom type="capsule" size="0.02 0.1" pos="0 0 0.15" mass="0.3"/></body>
      </body></worldbody><actuator><motor name="push" joint="arm"/></actuator></mujoco>""".replace("<joint ", '<joint name="arm" ')
        ).start(),
    )
    for k in range(300):
        for state in (a, b):
            state.ctrl[0] = np.sin(0.05 * k)
            state.step()
    assert np.array_equal(a.q, b.q) and np.array_equal(a.v, b.v) and np.array_equal(a.contacts, b.contacts) and len(a.contacts) > 2


def test_loops_and_welds_hold():
    s = perp.Scene(step=0.001)
    left = s.hinge(axis=(0, 1, 0), pos=(0, 0, 1), name="left").capsule((0.02, 0.2), 1, (0, 0, -0.2), collides=False)
    right = s.hinge(axis=(0, 1, 0), pos=(0.5, 0, 1), name="right").capsule((0.02, 0.2), 1, (0, 0, -0.2), collides=False)
    bar = s.hinge(left, (0, 1, 0), (0, 0, -0.4), name="bar").box((0.25, 0.02, 0.02), 1, (0.25, 0, 0), collides=False)
    s.connect(bar, right, (0.5, 0, 0), (0, 0, -0.4))
    hand = s.free((2, 0, 0)).box((0.1, 0.1, 0.1), 1)
    s.weld(hand, None, (0, 0, 0), (2, 0, 0))
    state = s.start()
    state["left.v"] = state["right.v"] = 1
    state["bar.v"] = -1
    state.step(300)
    assert abs(state["left"] - state["right"]) < 1e-8 and abs(state["left"]) > 0.05
    assert np.abs(state.body("body4").pos - (2, 0, 0)).max() < 1e-10


def test_meshes_and_fields():
    corners = [[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    s = perp.Scene()
    heights = np.add.outer(np.zeros(5), 0.1 * np.arange(3))
    s.field(heights, (2, 1), mu=0.9)
    s.mesh(corners, 3, (0, 0, 0.25), scale=(0.1, 0.1, 0.1), mu=0.9, name="cube")
    s.sphere(0.1, 1, (1, 0, 0.3), mu=0.9, rolling_friction=0.05)
    state = s.start()
    del s, corners
    gc.collect()
    state.step(500)
    cube = state.body("cube")
    assert np.linalg.norm(cube.velocity) < 1e-9  # atan(0.1) is below the cone
    slope = cube.rotation @ (0, 0, 1)
    assert slope[1] / slope[2] == pytest.approx(-0.1, abs=1e-6) and abs(slope[0]) < 1e-9


def test_a_started_state_keeps_its_scene_as_it_was():
    s = perp.Scene()
    s.plane(mu=0.5)
    s.box((0.1, 0.1, 0.1), 1, (0, 0, 0.1), name="a")
    first = s.start()
    more = s.box((0.1, 0.1, 0.1), 1, (1, 0, 0.1), name="b")
    second = s.start()
    first.step(5)
    second.step(5)
    assert (
        first.system.bodies == ["world", "a"] and second.system.bodies == ["world", "a", "b"] and len(first.q) == 7 and len(second.q) == 14
    )
    assert first["a.z"] == second["a.z"]
    b = s.batch(3, threads=2)
    b.step(5)
    more.sphere(0.05, 0.5, (0, 0, 0.3))
    assert len(s.start().system.shapes) == len(second.system.shapes) + 1 and s.start().mass == pytest.approx(2.5) and second.mass == 2
    assert np.array_equal(b.q[1], second.q)


CALLS = {
    "name": (lambda x: perp.Scene(x), "name", {"text", "empty text", "NUL", "surrogate"}),
    "step": (lambda x: perp.Scene(step=x), "step", {"None", "fraction"}),
    "size": (lambda x: perp.Scene().box(x, 1), "size", set()),
    "radius": (lambda x: perp.Scene().sphere(x, 1), "size", {"fraction"}),
    "mass": (lambda x: perp.Scene().box((1, 1, 1), x), "mass", {"fraction"}),
    "pos": (lambda x: perp.Scene().box((1, 1, 1), 1, x), "pos", set()),
    "quat": (lambda x: perp.Scene().box((1, 1, 1), 1, quat=x), "quat", {"None"}),
    "mu": (lambda x: perp.Scene().box((1, 1, 1), 1, mu=x), "mu", {"fraction"}),
    "restitution": (lambda x: perp.Scene().plane(restitution=x), "restitution", {"fraction"}),
    "collides": (lambda x: perp.Scene().box((1, 1, 1), 1, collides=x), "collides", {"bool"}),
    "shape name": (lambda x: perp.Scene().plane(name=x), "name", {"None", "text"}),
    "parent": (lambda x: perp.Scene().hinge(x), "parent", {"None"}),
    "axis": (lambda x: perp.Scene().hinge(axis=x), "axis", {"None"}),
    "range": (lambda x: perp.Scene().hinge(range=x), "range", {"None", "list"}),
    "damping": (lambda x: perp.Scene().slide(damping=x), "damping", {"fraction"}),
    "stiffness": (lambda x: perp.Scene().slide(stiffness=x), "stiffness", {"fraction"}),
    "motor": (lambda x: perp.Scene().motor(x), "part", set()),
    "gear": (lambda x: motor(gear=x), "gear", {"minus one", "fraction"}),
    "control_range": (lambda x: motor(control_range=x), "control_range", {"None", "list"}),
    "connect": (lambda x: perp.Scene().connect(x, None), "a", {"None"}),
    "points": (lambda x: perp.Scene().mesh(x, 1), "points", {"text", "surrogate"}),
    "heights": (lambda x: perp.Scene().field(x, (1, 1)), "heights", {"matrix"}),
    "half": (lambda x: perp.Scene().field(np.zeros((2, 2)), x), "half", {"list"}),
}


def motor(**options):
    s = perp.Scene()
    return s.motor(s.hinge(), **options)


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_argument_is_named(call):
    function, name, right = CALLS[call]
    for kind, value in JUNK.items():
        if kind in right:
            continue
        with pytest.raises(perp.Error) as raised:
            function(value)
        assert str(raised.value).startswith(f"{name}:"), (kind, str(raised.value))


def two_scenes():
    a, b = perp.Scene(), perp.Scene()
    return a, b.box((1, 1, 1), 1)


WRONG = [
    (lambda: perp.Scene().box((1, 1), 1), r"size: numbers of shape \(3,\) are expected, not of shape \(2,\)"),
    (lambda: perp.Scene().box((1, 0, 1), 1), r"size: numbers > 0 are expected of a box"),
    (lambda: perp.Scene().box((1, 1, 1), 0), r"mass: a finite number > 0 is expected, not 0"),
    (lambda: perp.Scene().box((1, 1, 1), 1, my=1), r"unknown option 'my'; did you mean 'mu'"),
    (lambda: perp.Scene(gravitiy=(0, 0, 0)), r"unknown option 'gravitiy'; did you mean 'gravity'"),
    (lambda: perp.Scene().hinge(axs=(0, 0, 1)), r"unknown option 'axs'; did you mean 'axis'"),
    (lambda: perp.Scene().world.box((1, 1, 1), resitution=1), r"unknown option 'resitution'; did you mean 'restitution'"),
    (lambda: perp.Scene().box((1, 1, 1), 1, quat=(0, 0, 0, 0)), r"quat: a quaternion .*length > 0"),
    (lambda: perp.Scene().world.box((1, 1, 1), 1), r"mass: the world has none"),
    (lambda: perp.Scene().hinge(axis=(0, 0, 0)), r"axis: a vector of length > 0"),
    (lambda: perp.Scene().hinge(range=(1, -1)), r"range: \(lower, upper\) with lower <= upper is expected, not \(1, -1\)"),
    (lambda: two_scenes()[0].hinge(two_scenes()[1]), r"parent: a part of this scene is expected, not one of another"),
    (lambda: perp.Scene().motor(perp.Scene().world), r"part: a part of this scene"),
    (lambda: perp.Scene().start(), r"the scene has no bodies"),
    (lambda: [s.hinge(name="a") for s in [perp.Scene()] * 2], r"name: 'a' is taken"),
    (lambda: perp.Scene().mesh([[0, 0, 0]] * 3, 1), r"points: at least 4"),
    (lambda: perp.Scene().mesh(np.eye(4, 3) * 0, 1), r"plane|flat"),
    (lambda: perp.Scene().mesh("nowhere.stl", 1), r"nowhere\.stl"),
    (lambda: perp.Scene(method="mid"), r"unknown method 'mid'"),
    (lambda: [s.hinge(name="arm") and s.start() for s in [perp.Scene()]], r"arm: its joint moves no mass"),
    (lambda: [s.motor(s.box((1, 1, 1), 1)) for s in [perp.Scene()]], r"part: one on a hinge or a slide is expected; 'body1' is on a free"),
    (lambda: [s.weld(s.world, None) for s in [perp.Scene()]], r"b: another part than a"),
]


@pytest.mark.parametrize("k", range(len(WRONG)))
def test_a_message_says_what_was_expected(k):
    with pytest.raises(perp.Error, match=WRONG[k][1]):
        WRONG[k][0]()


def test_a_call_that_failed_left_nothing():
    s = perp.Scene()
    for wrong in (
        lambda: s.box((1, 1, 1), -1),
        lambda: s.box((1, 1), 1),
        lambda: s.box((1, 1, 1), 1, mu=-1),
        lambda: s.mesh([[0, 0, 0]] * 5, 1),
    ):
        with pytest.raises(perp.Error):
            wrong()
    assert repr(s) == "<scene scene: 0 bodies, 0 shapes, 0 actuators>"


def test_the_examples_of_the_docstrings_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    found = doctest.testmod(importlib.import_module("perp.scenes"), extraglobs={"perp": perp, "np": np})
    assert found.attempted >= 10 and found.failed == 0
