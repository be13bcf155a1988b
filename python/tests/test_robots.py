"""Robots, states and batches: the same numbers as the command, safe views, and wrong calls that say what is wrong."""

import copy
import ctypes
import doctest
import gc
import importlib
import math
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import weakref
from pathlib import Path

import numpy as np
import perp
import pytest
from perp._library import ffi, lib

ROOT = Path(__file__).resolve().parents[2]
ROBOTS = ROOT / "examples" / "robots"
PERP = os.environ.get("PERP_CLI", "")
KEYS = {"quadruped": "stand", "arm": "ready", "hand": "grasp"}


def robot(name="quadruped"):
    return perp.Robot(ROBOTS / f"{name}.xml")


def start(name="quadruped", **options):
    return robot(name).start(KEYS.get(name), **options)


# A run


@pytest.mark.skipif(not PERP, reason="PERP_CLI names the command")
@pytest.mark.parametrize("method", ["euler", "midpoint"])
@pytest.mark.parametrize("name", ["quadruped", "arm", "hand", "cartpole", "walker", "clamp", "bicycle", "gripper"])
def test_a_run_is_that_of_the_command(name, method, tmp_path):
    path = ROBOTS / (name + (".urdf" if name == "gripper" else ".xml"))
    r, key, out = perp.Robot(path), KEYS.get(name), tmp_path / "run.csv"
    command = [PERP, "simulate", str(path), "--to", "0.3", "--step", "0.002", "--method", method, "-o", str(out), "--no-plot", "--quiet"]
    subprocess.run(command + (["--key", key] if key else []), check=True, capture_output=True)
    run, s = perp.read(out), r.start(key, step=0.002, method=method)
    names = r.q_names + r.v_names
    for k in range(len(run.t)):
        if k:
            s.step()
        assert s.t == run.t[k]
        assert [s[n] for n in names] == [run[n][k] for n in names]
        assert k == 0 or s.error == run["residual"][k]
        assert k == 0 or (s.info.contacts == run["contacts"][k] and s.info.outcome == "solved")
    assert len(run.t) == 151


def test_many_steps_are_single_steps():
    a, b = start(), start()
    a.step(150)
    for _ in range(150):
        b.step()
    assert np.array_equal(a.q, b.q) and np.array_equal(a.v, b.v) and a.t == b.t and a.info == b.info


def test_a_file_is_a_path_or_a_text(tmp_path):
    text = (ROBOTS / "cartpole.xml").read_text()
    for r in (perp.Robot(str(ROBOTS / "cartpole.xml")), perp.Robot(text), perp.Robot("\n  " + text, name="my.xml")):
        assert r.q_names == ["cart", "pole"] and r.v_names == ["cart.v", "pole.v"] and r.actuators == ["push"]
    with pytest.raises(perp.ModelError, match=r"my\.xml:\d+:\d+: .*hinj") as raised:
        perp.Robot('<mujoco>\n<worldbody><body><joint type="hinj"/><geom size="1"/></body></worldbody></mujoco>', "my.xml")
    assert raised.value.line > 0
    with pytest.raises(perp.FileError, match="nowhere"):
        perp.Robot(tmp_path / "nowhere.xml")
    with pytest.raises(perp.DataError):
        perp.Robot("<mujoco")
    with pytest.raises(perp.ArgumentError, match=r"perp\.Robot\('arm\.xml'\)"):
        perp.Model("arm.xml")


def test_what_is_ignored_is_listed():
    r = perp.Robot(
        '<mujoco><worldbody><body><joint type="slide" solreflimit="0.1 1"/><geom size="1"/></body></worldbody></mujoco>', "a.xml"
    )
    assert [(n.file, n.line, n.count) for n in r.ignored] == [("a.xml", 1, 1)] and "solreflimit" in r.ignored[0].what


# Views


def test_arrays_are_views_of_one_state():
    s = start()
    q, v, ctrl = s.q, s.v, s.ctrl
    assert q is s.q and np.shares_memory(q, s.q) and q.flags.writeable and not q.flags.owndata
    before = q.copy()
    s.step(5)
    assert not np.array_equal(q, before) and q is s.q
    q[7:] += 1e-3
    v[:] = 0
    ctrl[:] = 0.5
    other = s.clone()
    assert np.array_equal(other.q, q) and np.array_equal(other.ctrl, ctrl) and not np.shares_memory(other.q, q)
    s.step()
    assert s["fl_knee"] == q[s.system.q_names.index("fl_knee")]


def test_what_is_written_counts():
    """As bodies that are set from C: contacts are forgotten, quaternions normalised, in the view too."""
    s, r = start("cartpole"), robot("cartpole")
    s.q[:], s.v[:] = [0.1, 0.2], [0.3, -0.4]
    s.ctrl[:] = 2
    s.step(10)
    c = ffi.new("perp_bodies **")
    assert lib.perp_robot_create_bodies(r._c, ffi.NULL, c, ffi.NULL) == 0
    c = ffi.gc(c[0], lib.perp_bodies_destroy)
    lib.perp_bodies_set(c, ffi.new("double[]", [0.1, 0.2]), ffi.new("double[]", [0.3, -0.4]))
    lib.perp_bodies_set_control(c, ffi.new("double[]", [2.0]))
    info = ffi.new("perp_bodies_info *", {"size": ffi.sizeof("perp_bodies_info")})
    for _ in range(10):
        lib.perp_bodies_step(c, info, ffi.NULL)
    assert list(s.q) == ffi.unpack(lib.perp_bodies_q(c), 2) and list(s.v) == ffi.unpack(lib.perp_bodies_v(c), 2)
    a = start()
    a["trunk"] = [0, 0, 1, 2, 0, 0, 0]
    assert a.body("trunk").quat[0] == 1 and a["trunk.qw"] == 1 and a.q[3] == 1
    a.step(3)
    assert len(a.contacts) == 0


def test_names_are_those_of_the_command():
    s = start()
    assert s["trunk"].shape == (7,) and s["trunk.v"].shape == (6,) and s["trunk.z"] == s.q[2] and s["trunk.wz"] == s.v[5]
    s["fl_knee"] = -1.5
    assert s.q[s.system.q_names.index("fl_knee")] == -1.5 and "fl_knee.v" in s
    name = s.system.actuators[2]
    s[f"{name}.u"] = 0.25
    assert s.ctrl[2] == 0.25
    s["trunk.v"][2] = 3
    assert s.v[2] == 3 and list(s) == s.system.names() and len(s) == len(s.system.names())


def test_assignment_of_an_array_writes_into_it():
    s = start("cartpole")
    q = s.q
    s.q = [1, 2]
    assert s.q is q and list(q) == [1, 2]
    s.ctrl = 3
    assert list(s.ctrl) == [3]
    s.t = 5
    s.step()
    assert s.t == 5.01 or s.t == pytest.approx(5 + 0.002, abs=1e-12)


def test_a_view_outlives_its_state():
    s = start()
    q, v, points = s.q, s.v, None
    s.step(20)
    points, gone, was = s.contacts, weakref.ref(s), q.copy()
    body = s.body("trunk")
    del s
    gc.collect()
    assert gone() is not None and body.pos[2] == was[2]  # a body keeps its state
    del body
    gc.collect()
    assert gone() is None and np.array_equal(q, was)
    junk = [np.full(19, 7.0) for _ in range(1000)]
    assert np.array_equal(q, was) and len(points) > 0 and np.isfinite(points["force"]).all()
    v[:] = 1
    with pytest.raises(ValueError):
        q.resize(10**6, refcheck=False)
    del junk


def test_a_state_keeps_its_robot():
    s = robot("arm").start("ready")
    gc.collect()
    s.step(5)
    assert s.body("flange").name == "flange" and s.system.name


# Start, snapshot, clone


def test_reset_repeats_the_run():
    s = start()
    s.ctrl[:] += 0.1
    s.step(40)
    s.force[0] = 1
    q = s.q.copy()
    s.reset()
    assert s.t == 0 and s.force[0] == 0 and np.array_equal(s.ctrl, start().ctrl)
    s.ctrl[:] += 0.1
    s.step(40)
    assert np.array_equal(s.q, q)
    s.set_start()
    s.step(3)
    s.reset()
    assert np.array_equal(s.q, q) and s.t == 0


def test_snapshots_and_clones_continue_to_the_bit():
    s = start()
    s.step(30)
    s.ctrl[0] += 0.2  # not taken yet
    kept, other = s.snapshot(), copy.deepcopy(s)
    s.step(30)
    q, v = s.q.copy(), s.v.copy()
    other.step(30)
    assert np.array_equal(other.q, q) and np.array_equal(other.v, v)
    s.q[:] = np.nan
    s.restore(kept)
    assert s.ctrl[0] == other.ctrl[0]
    s.step(30)
    assert np.array_equal(s.q, q) and np.array_equal(s.v, v)
    third = start()
    third.restore(bytearray(kept))
    third.step(30)
    assert np.array_equal(third.q, q)
    for bad in (kept[:-1], kept[:20], b"", bytes(len(kept)), start("arm").snapshot()):
        with pytest.raises(perp.DataError):
            s.restore(bad)
        assert np.array_equal(s.q, q)


def test_a_start_of_the_file_that_is_impossible_is_moved():
    r = perp.Robot(
        '<mujoco><worldbody><body name="arm"><joint name="arm" axis="0 1 0" range="20 90"/>'
        '<geom size="0.1" pos="1 0 0"/></body></worldbody></mujoco>'
    )
    s = r.start()
    assert s["arm"] == pytest.approx(np.radians(20)) and s.assembly.limit == pytest.approx(np.radians(20)) and s.assembly.moved > 0.3
    assert r.start(assemble=False)["arm"] == 0 and r.batch(2).q[1, 0] == s["arm"] and "arm" in r.bodies
    s.step(5)
    s.reset()
    assert s["arm"] == pytest.approx(np.radians(20))


def test_an_impossible_start_is_moved_and_reported():
    s = start("arm", assemble=False)
    assert s.assembly is None
    s["elbow"] = 9
    found = s.assemble()
    assert found.limit > 1 and found.moved > 1 and found.is_assembled and s["elbow"] < 4 and s.assembly == found


# Contacts and verdicts


def test_impacts_are_those_of_the_command(tmp_path):
    ball = '<body pos="0 0 0.2"><geom name="ball" size="0.1"/><freejoint/></body>'
    text = f'<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>{ball}</worldbody></mujoco>'
    s = perp.Robot(text).start()
    assert len(s.impacts) == 0 and s.impact_count == 0
    rows = []
    while s.t < 0.5:
        s.step()
        rows += s.impacts.tolist()
    assert len(rows) == s.impact_count == 1
    time, bodies, shapes, point, impulse, friction, energy = rows[0]
    fall = math.sqrt(2 * 9.81 * 0.1)
    assert (list(bodies), list(shapes)) == ([0, 1], [0, 1]) and friction == 0
    assert time == pytest.approx(fall / 9.81, abs=2e-3) and list(point[:2]) == [0, 0] and abs(point[2]) < 2e-3
    assert impulse == pytest.approx(s.mass * fall, rel=0.02) and energy == pytest.approx(s.mass * fall**2 / 2, rel=0.04)
    fields = dict(ffi.typeof("perp_impact").fields)
    kind = perp.systems.layout("perp_impact")
    assert kind.itemsize == ffi.sizeof("perp_impact")
    for name, of in {"time": "time", "bodies": "body", "point": "point", "energy": "energy"}.items():
        assert kind.fields[name][1] == fields[of].offset and kind[name].itemsize == ffi.sizeof(fields[of].type)


def test_contacts_carry_the_weight_and_stick():
    s = start()
    s.step(1000)
    c, weight = s.contacts, 9.81 * s.mass
    assert set(c["bodies"][:, 0]) == {0} and {s.system.bodies[b] for b in c["bodies"][:, 1]} == {
        f"{k}_shank" for k in ("fl", "fr", "rl", "rr")
    }
    assert c["force"].sum(axis=0) == pytest.approx([0, 0, weight], abs=1e-4 * weight)
    acts = c["force"][:, 2] > 0
    assert acts.sum() >= 4 and np.abs(c["slip"][acts]).max() < 1e-8 and np.abs(c["point"][acts, 2]).max() < 1e-5
    assert np.all(np.hypot(c["force"][:, 0], c["force"][:, 1]) <= c["mu"] * c["force"][:, 2] * (1 + 1e-7) + 1e-9)
    assert c.dtype.names == ("bodies", "shapes", "point", "normal", "force", "torque", "slip", "gap", "mu")
    assert s.info.contacts == len(c) and s.error < 1e-8


def test_a_step_that_is_not_verified_raises_and_keeps_the_state():
    s = start()
    s.step(10)
    s.force[0] = 1e300
    q, t = s.q.copy(), s.t
    with pytest.raises(perp.NoSolutionError, match="not verified") as raised:
        s.step(50)
    assert str(raised.value).count("t = 0.02 s") == 1  # the steps after it were not tried
    assert np.array_equal(s.q, q) and s.t == t and s.info.outcome != "solved"
    s.force[0] = 0
    s.step()
    assert s.info.outcome == "solved"


# Dynamics


@pytest.mark.parametrize("name", ["quadruped", "arm", "cartpole", "hand", "drone"])
def test_dynamics_agree_with_each_other(name):
    s, rng = start(name), np.random.default_rng(3)
    s.q[:] += 0.1 * rng.normal(size=len(s.q))
    s.v[:] = rng.normal(size=len(s.v))
    a, M, scale = rng.normal(size=len(s.v)), s.M, np.abs(s.M).max()
    assert np.array_equal(M, M.T) and np.linalg.eigvalsh(M).min() > 0
    tau = s.inverse(a)
    assert np.allclose(tau, M @ a + s.bias, rtol=0, atol=1e-11 * scale)
    assert np.allclose(s.forward(tau), a, rtol=0, atol=1e-9)
    assert s.energy[0] == pytest.approx(0.5 * s.v @ M @ s.v, rel=1e-11)
    for body in s.system.bodies[1:]:
        J = s.jacobian(body, rotation=True)
        assert np.allclose(J[:3] @ s.v, s.body(body).velocity, atol=1e-12) and np.allclose(
            J[3:] @ s.v, s.body(body).angular_velocity, atol=1e-12
        )
        assert np.array_equal(J[:3], s.jacobian(body))
    assert np.allclose(s.mass * s.com_jacobian @ s.v, s.momentum[:3], atol=1e-11)
    assert s.com.shape == (3,)


def test_a_jacobian_is_the_derivative_of_its_point():
    s, h = start(), 1e-6
    s.step(5)
    s.v[:] = np.random.default_rng(1).normal(size=len(s.v))
    at = np.array([0, 0, -0.21])  # of the foot in the shank
    J, J_foot = s.jacobian("fl_shank", point=at), s.jacobian("fl_foot")
    assert np.allclose(J, J_foot, atol=1e-14)

    def foot(state):
        b = state.body("fl_shank")
        return b.pos + b.rotation @ at

    ends = []
    for sign in (1, -1):
        c, moved = s.clone(), np.zeros(len(s.q))
        moved[:3] = s.v[:3]
        w, x, y, z = s.q[3:7]
        ox, oy, oz = s.v[3:6]
        moved[3:7] = 0.5 * np.array(
            [-x * ox - y * oy - z * oz, w * ox + y * oz - z * oy, w * oy + z * ox - x * oz, w * oz + x * oy - y * ox]
        )
        moved[7:] = s.v[6:]
        c.q[:] += sign * h * moved
        ends.append(foot(c))
    assert np.allclose((ends[0] - ends[1]) / (2 * h), J @ s.v, atol=1e-8)


def test_derivatives_are_those_of_differences():
    s, h, rng = robot("cartpole").start(), 1e-6, np.random.default_rng(5)
    s.q[:], s.v[:], s.ctrl[:] = 0.3 * rng.normal(size=2), rng.normal(size=2), 0.7
    a, start_ = rng.normal(size=2), s.snapshot()
    s.step()
    analytic = [*s.step_derivatives(), *s.inverse_derivatives(a)]
    with pytest.raises(perp.Error, match="step"):
        s.q[0] += 1
        s.step_derivatives()

    def ends(array, k, sign):
        s.restore(start_)
        getattr(s, array)[k] += sign * h
        s.step()
        return s.v.copy()

    for array, derivative in zip(("q", "v", "ctrl"), analytic):
        numeric = np.column_stack([(ends(array, k, 1) - ends(array, k, -1)) / (2 * h) for k in range(len(getattr(s, array)))])
        assert np.allclose(derivative, numeric, rtol=0, atol=1e-7), array
    s.restore(start_)
    s.step()
    here = s.snapshot()

    def forces(array, k, sign):
        s.restore(here)
        getattr(s, array)[k] += sign * h
        return s.inverse(a)

    for array, derivative in zip(("q", "v"), analytic[3:]):
        numeric = np.column_stack([(forces(array, k, 1) - forces(array, k, -1)) / (2 * h) for k in range(2)])
        assert np.allclose(derivative, numeric, rtol=0, atol=1e-6), array
    standing = start()
    standing.step(200)
    with pytest.raises(perp.UnavailableError, match="contact"):
        standing.step_derivatives()


def test_forces_of_joints():
    s = robot("cartpole").start()
    s.ctrl[0] = 0.5
    s.step()
    limit, friction, actuator = s.joint_forces()
    assert list(actuator) == [0.5] and not limit.any() and friction.shape == (2,)
    arm = start("arm")
    arm.q[arm.system.q_names.index("elbow")] = np.inf
    with pytest.raises(perp.ArgumentError, match="elbow"):
        arm.joint_forces()


# Batches


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_batch_is_its_copies(threads):
    s, rng = start(), np.random.default_rng(2)
    b = s.batch(7, threads)
    u = s.ctrl + 0.1 * rng.normal(size=(7, 12))
    b.q[3, 2] += 0.05
    b.ctrl[...] = u
    alone = [s.clone() for _ in range(7)]
    alone[3].q[2] += 0.05
    for _ in range(3):
        b.step(10)
        for i, a in enumerate(alone):
            a.ctrl[:] = u[i]
            a.step(10)
            assert np.array_equal(a.q, b.q[i]) and np.array_equal(a.v, b.v[i]) and b.t[i] == a.t and b.error[i] == a.error
    assert b.solved.all() and len(b) == 7
    body = b.body("trunk")
    assert np.array_equal(body.pos[3], alone[3].body("trunk").pos) and np.array_equal(body.rotation[3], alone[3].body("trunk").rotation)
    assert np.array_equal(body.velocity[3], alone[3].body("trunk").velocity)
    one = b.state(3)
    one.step(5)
    alone[3].step(5)
    assert np.array_equal(one.q, alone[3].q)
    b.restore(0, alone[3].snapshot())
    assert np.array_equal(b.q[0], alone[3].q) and b.t[0] == alone[3].t and np.array_equal(b.ctrl[0], u[3])
    b.step(0)
    assert np.array_equal(b.state(0).q, alone[3].q)


def test_a_batch_resets_what_it_is_told():
    b = robot().batch(4, threads=2, key="stand")
    first = b.q.copy()
    b.ctrl += 0.1
    b.step(20)
    b.q[2] = np.nan
    b.q[1, 2] = 0.75  # not taken yet
    b.force[[0, 1], 3] = 2
    b.reset(np.array([True, False, True, False]))
    assert (
        np.array_equal(b.q[[0, 2]], first[[0, 2]]) and np.array_equal(b.ctrl[0], start().ctrl) and list(b.t[:2]) == [0, pytest.approx(0.04)]
    )
    assert b.q[1, 2] == 0.75 and list(b.force[:2, 3]) == [0, 2]
    assert not np.array_equal(b.q[1], first[1]) and b.ctrl[1, 0] == start().ctrl[0] + 0.1
    b.reset()
    assert np.array_equal(b.q, first) and not b.t.any()


def test_a_copy_that_fails_does_not_stop_the_others():
    b = robot().batch(4, threads=2, key="stand")
    b.force[1, 0] = 1e300
    with pytest.raises(perp.NoSolutionError, match="copy 1"):
        b.step(5)
    assert list(b.solved) == [True, False, True, True] and list(b.t) == [0.01, 0, 0.01, 0.01]
    b.force[1, 0] = 0
    b.v[2, 4] = np.inf
    with pytest.raises(perp.ArgumentError, match=r"v: copy 2: .*'trunk\.wy', entry 4, not inf"):
        b.step()
    b.q[2, 3:7] = 0
    b.v[2] = 0
    with pytest.raises(perp.ArgumentError, match="copy 2: q: .*quaternion"):
        b.step()


# Wrong calls

NAN, BIG = float("nan"), 10**400
JUNK = {
    "None": None,
    "object": object(),
    "text": "junk",
    "empty text": "",
    "NUL": "a\0b",
    "surrogate": "\udc80\ud800",
    "bytes": b"junk",
    "minus one": -1,
    "huge": BIG,
    "fraction": 0.5,
    "nan": NAN,
    "inf": float("inf"),
    "complex": 1j,
    "list": [1, 2],
    "empty list": [],
    "nested": [[1], [1, 2]],
    "texts": ["a", "b"],
    "dict": {"a": 1},
    "bool": True,
    "function": len,
    "matrix": np.ones((3, 5)),
    "dates": np.array(["2020-01-01"], dtype="datetime64[D]"),
    "objects": np.array([None, 1], dtype=object),
    "nan vector": np.full(3, NAN),
}
NUMBERS = {"minus one", "fraction", "bool"}
CALLS = {
    # what is called with a junk value, the argument's name, junk that is right for it
    "Robot": (lambda x: perp.Robot(x), "source", set()),
    "Robot name": (lambda x: perp.Robot("<mujoco/>", x), "name", {"None", "text", "surrogate", "bytes"}),
    "start key": (lambda x: robot().start(x), "key", {"None"}),
    "start step": (lambda x: robot().start(step=x), "step", {"None", "fraction"}),
    "start method": (lambda x: robot().start(method=x), "method", {"None"}),
    "start gravity": (lambda x: robot().start(gravity=x), "gravity", {"None"}),
    "start tol": (lambda x: robot().start(tol=x), "tol", {"None"}),
    "start density": (lambda x: robot().start(density=x), "density", {"None", "fraction"}),
    "start wind": (lambda x: robot().start(wind=x), "wind", {"None"}),
    "step": (lambda x: start().step(x), "n", set()),
    "t": (lambda x: setattr(start(), "t", x), "t", {"minus one", "fraction"}),
    "q": (lambda x: setattr(start(), "q", x), "q", NUMBERS | {"nan", "inf"}),
    "v": (lambda x: setattr(start(), "v", x), "v", NUMBERS | {"nan", "inf"}),
    "ctrl": (lambda x: setattr(start(), "ctrl", x), "ctrl", NUMBERS | {"nan", "inf"}),
    "get": (lambda x: start()[x], "name", set()),
    "set name": (lambda x: start().__setitem__(x, 1), "name", set()),
    "set value": (lambda x: start().__setitem__("fl_knee", x), "fl_knee", {"minus one", "fraction"}),
    "set values": (lambda x: start().__setitem__("trunk", x), "trunk", NUMBERS | {"nan", "inf"}),
    "body": (lambda x: start().body(x), "name|body", set()),
    "restore": (lambda x: start().restore(x), "snapshot", set()),
    "jacobian": (lambda x: start().jacobian(x), "name|body", set()),
    "point": (lambda x: start().jacobian("trunk", x), "point", {"None"}),
    "inverse": (lambda x: start().inverse(x), "a", set()),
    "forward": (lambda x: start().forward(x), "tau", set()),
    "batch": (lambda x: start().batch(x), "n", set()),
    "threads": (lambda x: start().batch(2, x), "threads", set()),
    "batch step": (lambda x: start().batch(2).step(x), "n", set()),
    "batch reset": (lambda x: start().batch(2).reset(x), "which", {"None"}),
    "batch state": (lambda x: start().batch(2).state(x), "i", set()),
    "batch q": (lambda x: setattr(start().batch(2), "q", x), "q", NUMBERS | {"nan", "inf"}),
    "batch restore": (lambda x: start().batch(2).restore(0, x), "snapshot", set()),
    "batch body": (lambda x: start().batch(2).body(x), "name|body", set()),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_argument_is_named(call):
    function, name, right = CALLS[call]
    tried = 0
    for kind, value in JUNK.items():
        if kind in right:
            continue
        with pytest.raises((perp.Error, TypeError)) as raised:
            function(value)
        said = str(raised.value)
        if call == "Robot" and isinstance(raised.value, perp.FileError):
            assert str(value) in said, (kind, said)
        else:
            assert isinstance(raised.value, perp.Error), (kind, said)
            assert any(said.startswith((f"{n}:", f"unknown {n}")) or f"unknown {n} " in said for n in name.split("|")), (kind, said)
        tried += 1
    assert tried >= 15


WRONG = [
    (lambda s: s["kne"], r"unknown name 'kne'"),
    (lambda s: s["fl_kne"], r"did you mean 'fl_knee'"),
    (lambda s: s.body("trunc"), r"unknown body 'trunc'; did you mean 'trunk'"),
    (lambda s: s.jacobian("fl_fot"), r"did you mean 'fl_foot'"),
    (lambda s: s.system.start("stnd"), r"unknown key 'stnd'; did you mean 'stand'"),
    (lambda s: s.system.start(7), r"key: a whole number from 0 to 0 is expected, not 7"),
    (lambda s: s.system.start(method="eule"), r"unknown method 'eule'; did you mean 'euler'"),
    (lambda s: s.system.batch(2, stp=1), r"unknown option 'stp'; did you mean 'step'"),
    (lambda s: s.system.start(metod="euler"), r"unknown option 'metod'; did you mean 'method'"),
    (lambda s: s.system.batch(10**9), r"n: 1000000000 copies of .* do not fit"),
    (lambda s: s.system.batch(2, threads=-1), r"threads: .* from 0 "),
    (lambda s: s.step(-1), r"n: a whole number from 0 .*not -1"),
    (lambda s: s.step(2.0), r"n: a whole number >= 0 is expected, not float"),
    (lambda s: setattr(s, "qq", 1), r"unknown attribute of a state 'qq'"),
    (lambda s: setattr(s, "crtl", 1), r"did you mean 'ctrl'"),
    (lambda s: setattr(s, "M", 1), r"M of a state cannot be set"),
    (lambda s: setattr(s, "system", 1), r"system of a state cannot be set"),
    (lambda s: delattr(s, "q"), r"q of a state cannot be deleted"),
    (lambda s: setattr(s, "q", np.zeros(18)), r"q: numbers of shape \(19,\) are expected, not of shape \(18,\)"),
    (lambda s: setattr(s.batch(2), "ctrl", np.zeros((3, 12))), r"ctrl: numbers of shape \(2, 12\) are expected, not of shape \(3, 12\)"),
    (lambda s: setattr(s.batch(2), "t", 1), r"t of a batch cannot be set"),
    (lambda s: setattr(s.batch(2), "qq", 1), r"unknown attribute of a batch 'qq'"),
    (lambda s: s.batch(2).state(2), r"i: a whole number from 0 to 1 is expected, not 2"),
    (lambda s: s.batch(2).reset([True]), r"which: 2 truth values are expected"),
    (lambda s: s.batch(2).reset([1, 0]), r"which: 2 truth values are expected, not list of int64"),
    (lambda s: s.inverse(np.zeros(19)), r"a: numbers of shape \(18,\) are expected, not of shape \(19,\)"),
    (lambda s: s.forward(np.full(18, np.nan)), r"tau: finite numbers are expected; entry \(0,\) is not"),
    (lambda s: perp.State(), r"states are made by Robot\.start"),
    (lambda s: pickle.dumps(s), r"a state cannot be pickled"),
    (lambda s: pickle.dumps(s.system), r"a robot cannot be pickled"),
    (lambda s: pickle.dumps(s.batch(1)), r"a batch cannot be pickled"),
    (lambda s: perp.Robot("x.xml", "y"), r"name: it is for the text"),
]


@pytest.mark.parametrize("k", range(len(WRONG)))
def test_a_message_says_what_was_expected(k):
    with pytest.raises((perp.Error, TypeError, AttributeError), match=WRONG[k][1]):
        WRONG[k][0](start())


@pytest.mark.parametrize("array", ["q", "v", "ctrl", "force"])
def test_what_was_written_wrongly_is_named_by_the_next_call(array):
    for bad in (np.nan, np.inf, -np.inf):
        s = start()
        getattr(s, array)[7] = bad
        names = {"q": s.system.q_names, "ctrl": s.system.actuators}.get(array, s.system.v_names)
        for call in (
            s.step,
            s.clone,
            s.snapshot,
            lambda s=s: s.M,
            lambda s=s: s.body("trunk").pos,
            lambda s=s: s.contacts,
            lambda s=s: s.batch(2),
        ):
            with pytest.raises(perp.ArgumentError, match=rf"^{array}: .*{names[7]}.*entry 7, not {bad}"):
                call()
        s.reset()
        s.step()


def test_a_quaternion_of_length_0_is_named():
    s = start()
    s.q[3:7] = 0
    with pytest.raises(perp.ArgumentError, match="^q: a quaternion of length > 0"):
        s.step()


def test_a_state_is_of_one_thread_at_a_time():
    """The second thread gets an exception, never a crash; a state of its own works."""
    s, refused = start(), []

    def run():
        for _ in range(40):
            try:
                s.step(64)
            except perp.BusyError as error:
                refused.append(str(error))
            except perp.Error:
                s.reset()

    def query():
        for call in (s.step, lambda: s.M, s.clone, s.snapshot, s.reset, lambda: s.contacts, lambda: s.body("trunk").pos, lambda: s.info):
            try:
                call()
                s.ctrl[:] = first
            except perp.BusyError as error:
                refused.append(str(error))
            except perp.Error:
                pass

    first, thread = s.ctrl.copy(), threading.Thread(target=run)
    thread.start()
    while thread.is_alive():
        query()
    thread.join()
    assert refused and "another thread" in refused[0]
    s.reset()
    s.step()
    clones = [start() for _ in range(4)]
    threads = [threading.Thread(target=c.step, args=(200,)) for c in clones]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = start()
    alone.step(200)
    assert all(np.array_equal(c.q, alone.q) for c in clones)


def test_a_batch_is_of_one_thread_at_a_time():
    b, refused = robot().batch(8, threads=2, key="stand"), []
    thread = threading.Thread(target=b.step, args=(1000,))
    thread.start()
    while thread.is_alive():
        for call in (b.step, b.reset, lambda: b.state(0), lambda: b.body("trunk")):
            try:
                call()
            except perp.BusyError as error:
                refused.append(str(error))
    assert refused and "another thread" in refused[0]


RANDOM = """
import gc, sys, threading
import numpy as np, perp
sys.path.insert(0, "python/tests")
from test_robots import CALLS, JUNK
seed = int(sys.argv[1])
rng = np.random.default_rng(seed)
r = perp.Robot("examples/robots/arm.xml")
states, batches, kept = [r.start("ready")], [r.batch(3, threads=2)], [b""]
junk = list(JUNK.values())
def any_(): return junk[rng.integers(len(junk))]
def state(): return states[rng.integers(len(states))]
def batch(): return batches[rng.integers(len(batches))]
def write():
    a = getattr(state(), ["q", "v", "act", "ctrl", "force"][rng.integers(5)])
    a[rng.integers(len(a))] = [np.nan, np.inf, 1e300, -1e300, 0, 1, 1e-300][rng.integers(7)]
def rows():
    a = getattr(batch(), ["q", "v", "act", "ctrl", "force"][rng.integers(5)])
    a[rng.integers(3), rng.integers(a.shape[1])] = [np.nan, np.inf, 1e300, 0, 1][rng.integers(5)]
def drop():
    if len(states) > 1: states.pop(rng.integers(len(states)))
def attribute():
    names = [n for n in dir(perp.State) if not n.startswith("_")]
    value = getattr(state(), names[rng.integers(len(names))])
    if callable(value): value(any_())
moves = [
    write, rows, drop, attribute, gc.collect, lambda: state().step(), lambda: state().step(int(rng.integers(4))),
    lambda: state().reset(), lambda: states.append(state().clone()),
    lambda: kept.append(state().snapshot()), lambda: state().restore(kept[rng.integers(len(kept))]),
    lambda: state().restore(bytes(rng.integers(0, 256, 100, dtype=np.uint8))), lambda: state().restore(any_()),
    lambda: setattr(state(), ["q", "v", "t", "ctrl"][rng.integers(4)], any_()), lambda: state()[any_()],
    lambda: state().__setitem__("elbow", any_()),
    lambda: state().contacts, lambda: state().M, lambda: state().jacobian(any_(), any_()), lambda: state().jacobian("flange", any_()),
    lambda: state().assemble(), lambda: batch().step(int(rng.integers(3))), lambda: batch().reset(any_()), lambda: batch().reset(),
    lambda: states.append(batch().state(int(rng.integers(-1, 5)))), lambda: batch().restore(int(rng.integers(-1, 5)), kept[-1]),
    lambda: batch().body("flange"), lambda: state().forward(any_()), lambda: setattr(state(), "q", states[0].q[::-1]),
    lambda: threading.Thread(target=quiet, args=(lambda: state().step(30),)).start(), lambda: states.append(r.start(any_())),
]
done = refused = 0
def quiet(call):
    global done, refused
    try:
        call()
        done += 1
    except (perp.Error, MemoryError, AttributeError, TypeError) as error:
        assert str(error) or isinstance(error, MemoryError)
        refused += 1
for _ in range(1500):
    quiet(moves[rng.integers(len(moves))])
    del states[8:], kept[8:]
for thread in threading.enumerate():
    if thread is not threading.current_thread(): thread.join()
fresh, other = r.start("ready"), r.start("ready")
fresh.step(20), other.step(20)
print(done > 200, refused > 200, np.array_equal(fresh.q, other.q))
"""


@pytest.mark.parametrize("seed", range(20 if os.environ.get("PERP_LONG") else 3))
def test_random_calls_never_crash(seed):
    done = subprocess.run([sys.executable, "-c", RANDOM, str(seed)], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.stdout == "True True True\n", (seed, done.stdout, done.stderr, done.returncode)


def in_a_process(code):
    """What the code prints; it must end by itself."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_fork_goes_on():
    """Child processes step states and batches that the parent made; one that was in use is refused, not waited for."""
    said = in_a_process("""
        import os, sys, threading, time
        import numpy as np, perp
        s = perp.Robot("examples/robots/quadruped.xml").start("stand")
        b, busy = s.batch(4, threads=2), s.clone()
        b.step(2), s.step(2)
        thread = threading.Thread(target=busy.step, args=(3000,))
        thread.start()
        time.sleep(0.05)
        child = os.fork()
        s.step(20), b.step(20)
        q = s.q.copy()
        ok = np.array_equal(b.q[2], q)
        if child == 0:
            try:
                busy.step()
            except perp.BusyError as error:
                ok = ok and "forked" in str(error)
            print("child", bool(ok), flush=True)
            os._exit(0)
        code = os.waitpid(child, 0)[1]
        thread.join()
        busy.step()
        print("parent", bool(ok), code)
    """)
    assert "child True" in said and "parent True 0" in said


def test_ctrl_c_ends_many_steps():
    said = in_a_process("""
        import os, signal, threading, perp
        s = perp.Robot("examples/robots/quadruped.xml").start("stand")
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            s.step(10**9)
        except KeyboardInterrupt:
            s.step()
            print("ended", s.t > 0)
    """)
    assert said == "ended True\n"


def test_memory_that_is_out_is_an_exception():
    said = in_a_process("""
        import perp
        r = perp.Robot("examples/robots/quadruped.xml")
        s = r.start("stand")
        perp.limit_memory(perp.memory_held() + 1000)
        for call in (lambda: r.start("stand"), s.clone, lambda: s.batch(50), lambda: perp.Robot("examples/robots/arm.xml")):
            try:
                call()
                print("made")
            except MemoryError:
                print("out")
        perp.limit_memory(0)
        s.step(10)
        print(r.start("stand").batch(3).q.shape)
    """)
    assert said == "out\nout\nout\nout\n(3, 19)\n"


def test_nothing_is_lost():
    """Robots, states, batches, snapshots and errors give their memory back."""

    def once():
        r = robot("arm")
        s = r.start("ready")
        s.step(3)
        b = s.batch(3)
        b.step(2)
        s.restore(s.snapshot())
        s.clone()
        for wrong in (lambda: r.start("nokey"), lambda: s.restore(b"x")):
            with pytest.raises(perp.Error):
                wrong()

    once()
    gc.collect()
    before = perp.memory_held()
    for _ in range(5):
        once()
    gc.collect()
    assert perp.memory_held() == before


def test_what_fails_for_lack_of_memory_gives_it_back():
    """A start, a clone and a batch, with a limit at each of many places."""
    r = robot("arm")
    s = r.start("ready")
    gc.collect()
    before = perp.memory_held()
    for call in (lambda: r.start("ready"), s.clone, lambda: s.batch(3), lambda: perp.Robot(ROBOTS / "arm.xml"), scene_start):
        failed = 0
        for more in (*range(0, 60000, 4000), 10**8):
            perp.limit_memory(before + more)
            try:
                made = call()
            except MemoryError:
                failed += 1
            finally:
                perp.limit_memory(0)
            made = None
            gc.collect()
            assert perp.memory_held() == before, more
        assert made is None and failed > 3


def scene_start():
    scene = perp.Scene()
    scene.plane(mu=0.5)
    for k in range(5):
        scene.box((0.1, 0.1, 0.1), 1, (0, 0, 0.1 + 0.2 * k), mu=0.5)
    scene.motor(scene.hinge().box((0.1, 0.1, 0.1), 1, collides=False))
    scene.mesh([(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)], 1, (3, 0, 1))
    scene.field(np.zeros((5, 5)), (1, 1), (0, 0, -1))
    return scene.start()


def test_activations_have_names():
    s = perp.Robot(ROOT / "tests/data/robots/kinds/muscle_arm.xml").start()
    name = next(n for n in s if n.endswith(".act"))
    s[name] = 0.5
    s.step()
    assert s.act[s.system.actuators.index(name[:-4])] == s[name] and 0.4 < s[name] < 0.6
    s[name[:-4] + ".u"] = 1
    s.step(20)
    assert s[name] > 0.6 and list(s.act) == ffi.unpack(lib.perp_bodies_activation(s._core.bodies), len(s.act))
    assert not any(n.endswith(".act") for n in start("cartpole"))
    bounded = perp.Robot("""<mujoco><worldbody><body><joint name="j"/><geom size="1"/></body></worldbody><actuator>
      <general name="a" joint="j" dyntype="integrator" actlimited="true" actrange="-2 3"/></actuator></mujoco>""").start()
    bounded["a.act"] = 7
    assert bounded.M.shape == (1, 1) and bounded["a.act"] == 3


@pytest.mark.parametrize("module", ["bodies", "batches", "robots", "systems"])
def test_the_examples_of_the_docstrings_run(module, monkeypatch):
    monkeypatch.chdir(ROOT)
    found = doctest.testmod(importlib.import_module(f"perp.{module}"), extraglobs={"perp": perp, "np": np})
    assert found.attempted >= 1 and found.failed == 0


def test_the_contacts_have_the_layout_of_c():
    contact_dtype = perp.systems.layout("perp_contact_point")
    fields = dict(ffi.typeof("perp_contact_point").fields)
    names = {"bodies": "body", "shapes": "shape"}
    assert contact_dtype.itemsize == ffi.sizeof("perp_contact_point") == ctypes.sizeof(ctypes.c_double) * 19
    for name in contact_dtype.names:
        assert contact_dtype.fields[name][1] == fields[names.get(name, name)].offset
        assert contact_dtype[name].itemsize == ffi.sizeof(fields[names.get(name, name)].type)
    assert set(fields) == {names.get(n, n) for n in contact_dtype.names}
