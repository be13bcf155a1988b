"""States of bodies: what a robot or a scene starts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._checks import count, fill, kind, number, numbers, unknown
from ._library import ArgumentError, Array, DataError, Diagnostics, Error, doubles, ffi, lib, text
from .systems import Assembly, StepInfo, System, assemble, layout

if TYPE_CHECKING:
    from .batches import Batch

_one, _step, _ONE = lib.perp_py_state_one, lib.perp_py_state_step, 1
_CHUNK = 64  # steps between two looks for Ctrl-C


class Body:
    """A body of a state, as it is now. Made by `State.body`.

    Examples
    --------
    >>> s = perp.Robot("examples/robots/arm.xml").start(key="ready")
    >>> s.body("flange").pos.round(3)
    array([0.423, 0.   , 0.509])
    """

    __slots__ = ("_number", "name", "state")

    def __init__(self, state: State, name: str) -> None:
        self.state, self.name = state, name
        self._number = state.system._find_body(name)[0]

    def _pose(self, position: Any, rotation: Any) -> None:
        with self.state._core as c:
            lib.perp_bodies_pose(c, self._number, position, rotation)

    def _velocity(self, linear: Any, angular: Any) -> None:
        with self.state._core as c:
            lib.perp_bodies_velocity(c, self._number, ffi.NULL, linear, angular)

    @property
    def pos(self) -> Array:
        """Its origin in the world [m], (3,).

        Examples
        --------
        >>> s = perp.Robot("examples/robots/arm.xml").start(key="ready")
        >>> s.body("world").pos
        array([0., 0., 0.])
        """
        x = np.empty(3)
        self._pose(doubles(x), ffi.NULL)
        return x

    @property
    def rotation(self) -> Array:
        """Its rotation in the world, (3, 3): world vector = rotation @ body vector.

        Examples
        --------
        >>> s = perp.Robot("examples/robots/arm.xml").start(key="ready")
        >>> R = s.body("flange").rotation
        >>> np.allclose(R.T @ R, np.eye(3))
        True
        """
        x = np.empty((3, 3))
        self._pose(ffi.NULL, doubles(x))
        return x

    @property
    def quat(self) -> Array:
        """Its rotation as a unit quaternion (w, x, y, z).

        Examples
        --------
        >>> s = perp.Robot("examples/robots/arm.xml").start(key="ready")
        >>> round(float(np.linalg.norm(s.body("flange").quat)), 9)
        1.0
        """
        x = np.empty(4)
        with self.state._core as c:
            lib.perp_bodies_quaternion(c, self._number, doubles(x))
        return x

    @property
    def velocity(self) -> Array:
        """Velocity of its origin, world axes [m/s], (3,).

        Examples
        --------
        >>> s = perp.Robot("examples/robots/arm.xml").start(key="ready")
        >>> s.body("flange").velocity
        array([0., 0., 0.])
        """
        x = np.empty(3)
        self._velocity(doubles(x), ffi.NULL)
        return x

    @property
    def angular_velocity(self) -> Array:
        """Its angular velocity, world axes [rad/s], (3,).

        Examples
        --------
        >>> s = perp.Robot("examples/robots/arm.xml").start(key="ready")
        >>> s.body("flange").angular_velocity
        array([0., 0., 0.])
        """
        x = np.empty(3)
        self._velocity(ffi.NULL, doubles(x))
        return x

    def __repr__(self) -> str:
        return f"<body {self.name!r} at {np.array2string(self.pos, precision=4)}>"


class _Core:
    """A system of the library and its arrays; `with` it, for one query: no other thread uses it meanwhile."""

    __slots__ = ("arrays", "bodies", "c", "system")

    def __init__(self, system: System, bodies: Any) -> None:
        nq, nv, nu = lib.perp_bodies_nq(bodies), lib.perp_bodies_nv(bodies), lib.perp_bodies_nu(bodies)
        memory = ffi.new("double[]", nq + 2 * nv + 2 * nu + 1)
        c = lib.perp_py_state_create(bodies, memory)
        if not c:
            raise MemoryError("perp: out of memory")
        self.c, self.bodies, self.system = ffi.gc(c, lib.perp_py_state_destroy), bodies, system
        whole, self.arrays = np.frombuffer(ffi.buffer(memory)), {}  # it keeps the memory, and so does each of its views
        at = 0
        for name, n in (("q", nq), ("v", nv), ("act", nu), ("ctrl", nu), ("force", nv)):
            self.arrays[name] = whole[at : at + n]
            at += n

    def __enter__(self) -> Any:
        status = lib.perp_py_state_enter(self.c)
        if status:
            self.refuse(status)
        return self.bodies

    def __exit__(self, *_: object) -> None:
        lib.perp_py_state_leave(self.c)

    def hold(self) -> None:
        """Before a call that replaces what the arrays have; `give` ends it."""
        status = lib.perp_py_state_hold(self.c)
        if status:
            self.refuse(status)

    def give(self) -> None:
        lib.perp_py_state_give(self.c)
        lib.perp_py_state_leave(self.c)

    def refuse(self, status: int) -> NoReturn:
        """What is wrong with the arrays, or who uses them."""
        if status == lib.PERP_PY_BUSY:
            raise BusyError(BUSY)
        name = _FAULTS[status]
        raise ArgumentError(f"{name}: {fault_of(self.system, name, self.arrays[name])}")


_FAULTS = {lib.PERP_PY_Q: "q", lib.PERP_PY_V: "v", lib.PERP_PY_ACT: "act", lib.PERP_PY_CTRL: "ctrl", lib.PERP_PY_FORCE: "force"}
BUSY = "another thread is using this state (or was, when this process was forked): give each thread its own, by clone()"


class BusyError(Error, RuntimeError):
    """Two threads use a state, or a batch, at once."""


def fault_of(system: System, name: str, row: Array) -> str:
    """The first entry that cannot be."""
    names = {"q": system.q_names, "act": system.actuators, "ctrl": system.actuators}.get(name, system.v_names)
    for k in np.flatnonzero(~np.isfinite(row)):
        return f"a finite number is expected for {names[k]!r}, entry {k}, not {row[k]}"
    return "a quaternion of length > 0 is expected"


class State:
    """A robot or a scene at an instant, with everything that decides what follows. Made by `Robot.start`, `Scene.start` and `clone`.

    Attributes
    ----------
    q, v : ndarray
        Positions (nq,) and velocities (nv,). Writable views of the state's memory, without copies. What you write is checked and taken by
        the next call. Quaternions are normalised then, and the contacts of the last step are forgotten.
    act, ctrl : ndarray
        Activations and controls of the actuators, (nu,).
    force : ndarray
        Forces of the joints besides those of actuators, (nv,) [N, N m].
    system : Robot or Scene
        The names.

    Examples
    --------
    >>> s = perp.Robot("examples/robots/cartpole.xml").start()
    >>> s["pole"] = 0.1
    >>> for _ in range(500):
    ...     s.ctrl[:] = 40*s["pole"] + 10*s["pole.v"]
    ...     s.step()
    >>> abs(s["pole"]) < 0.01, round(s.t, 3)
    (True, 1.0)
    """

    __slots__ = ("__weakref__", "_c", "_core", "act", "assembly", "ctrl", "force", "q", "system", "v")
    _arrays = ("q", "v", "act", "ctrl", "force")

    q: Array
    v: Array
    act: Array
    ctrl: Array
    force: Array
    system: System
    assembly: Assembly | None
    _core: _Core
    _c: Any

    def __init__(self) -> None:
        raise TypeError("states are made by Robot.start() or Scene.start()")

    @classmethod
    def _start(cls, system: System, bodies: Any, is_assembled: bool) -> State:
        """At the bodies' present state, which is the start. Takes the bodies, which cffi would destroy."""
        found = assemble(system, bodies) if is_assembled else None
        Diagnostics().check(lib.perp_bodies_set_start(bodies))
        ffi.gc(bodies, None)
        return cls._of(system, bodies, found)

    @classmethod
    def _of(cls, system: System, bodies: Any, assembly: Assembly | None = None) -> State:
        """Takes the bodies."""
        self, put = cls.__new__(cls), object.__setattr__
        core = _Core(system, bodies)
        for name, value in (("_core", core), ("_c", core.c), ("system", system), ("assembly", assembly)):
            put(self, name, value)
        for name in cls._arrays:
            put(self, name, core.arrays[name])
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._arrays:
            fill(name, getattr(self, name), value)
        elif name == "t":
            object.__setattr__(self, name, value)
        elif isinstance(getattr(type(self), name, None), property) or name in State.__slots__:
            raise AttributeError(f"{name} of a state cannot be set")
        else:
            raise AttributeError(str(unknown("attribute of a state", name, [*self._arrays, "t"])))

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{name} of a state cannot be deleted")

    # Steps

    def step(self, n: int = 1) -> None:
        """Take steps.

        Parameters
        ----------
        n : int
            Their number. Controls and forces are constant over them.

        Raises
        ------
        NoSolutionError
            A step was not verified. The state is that after the last verified one; `info` has the verdict.

        Examples
        --------
        >>> s = perp.Robot("examples/robots/arm.xml").start(key="ready")
        >>> s.step(10)
        >>> s.info.step, s.error < 1e-8
        (10, True)
        """
        if n is _ONE:
            status = _one(self._c)
            if status:
                self._stopped(status)
            return
        n = count("n", n, at_most=2**62)
        while n > 0:
            status = _step(self._c, min(n, _CHUNK))
            if status:
                self._stopped(status)
            n -= _CHUNK

    def _stopped(self, status: int) -> NoReturn:
        if status < 0:
            self._core.refuse(status)
        try:
            Diagnostics(lib.perp_py_state_diag(self._c)).check(status)
        finally:
            lib.perp_py_state_leave(self._c)
        raise Error(f"status {status}")

    @property
    def t(self) -> float:
        """The time [s]. You may set it; steps add to it.

        Examples
        --------
        >>> s = perp.Robot("examples/robots/cartpole.xml").start()
        >>> s.t = 3
        >>> s.step()
        >>> round(s.t, 3)
        3.002
        """
        return float(lib.perp_bodies_time(self._core.bodies))

    @t.setter
    def t(self, value: float) -> None:
        time = number("t", value)
        with self._core as c:
            lib.perp_bodies_set_time(c, time)

    @property
    def info(self) -> StepInfo:
        """The verdict of the last step.

        Examples
        --------
        >>> s = perp.Robot("examples/robots/cartpole.xml").start()
        >>> s.step()
        >>> s.info.step, s.info.outcome, s.info.substeps
        (1, 'solved', 1)
        """
        with self._core:
            i = lib.perp_py_state_info(self._c)
            outcome = text(lib.perp_outcome_name(i.outcome))
            return StepInfo(
                i.step, i.time, outcome, i.contacts, i.contact_error, i.newton_error, i.iterations, i.penetration, i.substeps, i.work
            )

    @property
    def error(self) -> float:
        """The larger error of the last step, contact_error or newton_error of `info`; nan before the first.

        Examples
        --------
        >>> s = perp.Robot("examples/robots/cartpole.xml").start()
        >>> s.step()
        >>> s.error < 1e-8
        True
        """
        i = lib.perp_py_state_info(self._c)
        return max(i.contact_error, i.newton_error) if i.step else math.nan

    # Names

    def __getitem__(self, name: str) -> Any:
        array, k = self.system._find_place(name)
        value = getattr(self, array)[k]
        return value if isinstance(k, slice) else float(value)

    def __setitem__(self, name: str, value: ArrayLike) -> None:
        array, k = self.system._find_place(name)
        if isinstance(k, slice):
            fill(name, getattr(self, array)[k], value)
        else:
            getattr(self, array)[k] = number(name, value)

    def __contains__(self, name: object) -> bool:
        return name in self.system._place

    def __iter__(self) -> Iterator[str]:
        return iter(self.system._place)

    def __len__(self) -> int:
        return len(self.system._place)

    def body(self, name: str) -> Body:
        """A body: its position, rotation and velocity.

        Parameters
        ----------
        name : str
            One of `system.bodies`; "world" is the world.

        Examples
        --------
        >>> perp.Robot("examples/robots/quadruped.xml").start().body("trunk").pos
        array([0.  , 0.  , 0.44])
        """
        return Body(self, name)

    # Contacts

    @property
    def contacts(self) -> NDArray[Any]:
        """The contacts of the last step, a structured array (a copy).

        Fields: bodies and shapes (numbers; `system.bodies` has the names, 0 is the world), point and normal (world axes, from the first
        body to the second), force [N] and torque [N m] on the second body, slip (its tangential velocity relative to the first [m/s]), gap
        [m] and mu. A gap > 0 is a speculative contact, without force.

        Examples
        --------
        >>> s = perp.Robot("examples/robots/quadruped.xml").start(key="stand")
        >>> s.step(500)
        >>> weight = 9.81*s.mass
        >>> bool(abs(s.contacts["force"].sum(axis=0)[2] - weight) < 1e-3*weight)
        True
        """
        with self._core as c:
            n = lib.perp_bodies_contact_points(c, ffi.NULL, 0)
            if n == 0:
                return np.empty(0, layout("perp_contact_point"))
            points = ffi.new("perp_contact_point[]", n)
            lib.perp_bodies_contact_points(c, points, n)
        return np.frombuffer(ffi.buffer(points), layout("perp_contact_point"))

    @property
    def impacts(self) -> NDArray[Any]:
        """The impacts of the last step, a structured array (a copy).

        Fields: time [s], bodies and shapes (numbers), point (world axes [m]), impulse (normal) and friction [N s], and energy, what the
        impact took [J]. docs/bodies.md says what an impact is.

        Examples
        --------
        >>> ball = '<geom size="0.1"/><freejoint/>'
        >>> world = f'<geom type="plane" size="1 1 1"/><body pos="0 0 0.2">{ball}</body>'
        >>> s = perp.Robot(f"<mujoco><worldbody>{world}</worldbody></mujoco>").start()
        >>> while s.impact_count == 0:
        ...     s.step()
        >>> s.impacts["bodies"].tolist(), bool(abs(s.impacts["impulse"][0] - 1.4*s.mass) < 0.02*s.mass)
        ([[0, 1]], True)
        """
        out = ffi.new("const perp_impact **")
        with self._core as c:
            n = lib.perp_bodies_impacts(c, out)
            if n == 0:
                return np.empty(0, layout("perp_impact"))
            return np.frombuffer(ffi.buffer(out[0], n * ffi.sizeof("perp_impact")), layout("perp_impact")).copy()

    @property
    def impact_count(self) -> int:
        """The number of impacts since the start.

        Examples
        --------
        >>> perp.Robot("examples/robots/cartpole.xml").start().impact_count
        0
        """
        with self._core as c:
            return int(lib.perp_bodies_impact_count(c, ffi.NULL, ffi.NULL))

    # Start, snapshots, copies

    def reset(self) -> None:
        """Go back to the start: the run repeats itself to the last bit.

        Examples
        --------
        >>> s = perp.Robot("examples/robots/cartpole.xml").start()
        >>> s.step(10)
        >>> s.reset()
        >>> s.t
        0.0
        """
        self._core.hold()
        lib.perp_bodies_reset(self._core.bodies)
        self._core.give()

    def set_start(self) -> None:
        """Make the present q, v, act and ctrl the start, to which `reset` goes.

        Examples
        --------
        >>> s = perp.Robot("examples/robots/cartpole.xml").start()
        >>> s["pole"] = 0.3
        >>> s.set_start()
        >>> s.step(10)
        >>> s.reset()
        >>> s["pole"]
        0.3
        """
        with self._core as c:
            lib.perp_bodies_set_start(c)

    def assemble(self) -> Assembly:
        """Move q to the nearest pose in which limits hold, loops are closed and nothing penetrates.

        Returns
        -------
        Assembly
            What was wrong. `start` does this; call it after you set an uncertain pose.

        Examples
        --------
        >>> s = perp.Robot("examples/robots/arm.xml").start(key="ready")
        >>> s["elbow"] = -9
        >>> s.assemble().moved > 1
        True
        """
        with self._core as c:
            found = assemble(self.system, c)
            lib.perp_py_state_give(self._c)
        object.__setattr__(self, "assembly", found)
        return found

    def snapshot(self) -> bytes:
        """All that decides what follows.

        Examples
        --------
        >>> s = perp.Robot("examples/robots/arm.xml").start(key="ready")
        >>> kept = s.snapshot()
        >>> s.step(50); q = s.q.copy()
        >>> s.restore(kept); s.step(50)
        >>> np.array_equal(s.q, q)
        True
        """
        with self._core as c:
            size = lib.perp_bodies_snapshot_size(c)
            memory = ffi.new("unsigned char[]", size)
            Diagnostics().check(lib.perp_bodies_snapshot(c, memory, size))
        return bytes(ffi.buffer(memory, size))

    def restore(self, snapshot: bytes) -> None:
        """Continue from a snapshot of this state, or of another of the same robot or scene.

        Parameters
        ----------
        snapshot : bytes
            From `snapshot`, by the same version of perp.

        Examples
        --------
        >>> s = perp.Robot("examples/robots/cartpole.xml").start()
        >>> kept = s.snapshot()
        >>> s.step(10)
        >>> s.restore(kept)
        >>> s.t
        0.0
        """
        data = snapshot_bytes(snapshot)
        self._core.hold()
        try:
            restore(self._core.bodies, data)
            lib.perp_py_state_give(self._c)
        finally:
            lib.perp_py_state_leave(self._c)

    def clone(self) -> State:
        """Another state at the same instant, which goes on alone.

        Examples
        --------
        >>> s = perp.Robot("examples/robots/cartpole.xml").start()
        >>> other = s.clone()
        >>> other.step(100)
        >>> s.t, round(other.t, 3)
        (0.0, 0.2)
        """
        out, diag = ffi.new("perp_bodies **"), Diagnostics()
        with self._core as c:
            diag.check(lib.perp_bodies_clone(c, out, diag.c))
        return State._of(self.system, out[0], self.assembly)

    def __copy__(self) -> State:
        return self.clone()

    def __deepcopy__(self, memo: Any) -> State:
        return self.clone()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a state cannot be pickled; pickle its snapshot() and make the robot anew")

    def batch(self, n: int, threads: int = 0) -> Batch:
        """Copies of this state, stepped by threads.

        Parameters
        ----------
        n : int
            Number of copies.
        threads : int
            0: one for each processor.

        Examples
        --------
        >>> copies = perp.Robot("examples/robots/cartpole.xml").start().batch(100, threads=2)
        >>> copies.q[:, 1] = np.linspace(-0.1, 0.1, 100)
        >>> copies.step(50)
        >>> copies.q.shape, bool(copies.solved.all())
        ((100, 2), True)
        """
        from .batches import Batch

        return Batch(self, n, threads)

    # Dynamics

    @property
    def M(self) -> Array:
        """The mass matrix, (nv, nv).

        Examples
        --------
        >>> perp.Robot("examples/robots/cartpole.xml").start().M.shape
        (2, 2)
        """
        nv = len(self.v)
        x = np.empty((nv, nv))
        with self._core as c:
            lib.perp_bodies_dynamics(c, doubles(x), ffi.NULL)
        return x

    @property
    def bias(self) -> Array:
        """The bias force c(q, v), (nv,): M a + bias = tau without contacts and laws of joints.

        Examples
        --------
        >>> s = perp.Robot("examples/robots/cartpole.xml").start()
        >>> s.bias.shape
        (2,)
        """
        x = np.empty(len(self.v))
        with self._core as c:
            lib.perp_bodies_dynamics(c, ffi.NULL, doubles(x))
        return x

    def inverse(self, a: ArrayLike) -> Array:
        """Forces of the joints that give accelerations: M a + bias, by recursion.

        Parameters
        ----------
        a : array_like
            Accelerations, (nv,).

        Examples
        --------
        >>> s = perp.Robot("examples/robots/arm.xml").start(key="ready")
        >>> np.allclose(s.inverse(np.zeros(len(s.v))), s.bias)
        True
        """
        a = numbers("a", a, (len(self.v),))
        x = np.empty(len(self.v))
        with self._core as c:
            lib.perp_bodies_inverse(c, doubles(a), doubles(x))
        return x

    def forward(self, tau: ArrayLike) -> Array:
        """Accelerations that forces of the joints give, without contacts and laws of joints.

        Parameters
        ----------
        tau : array_like
            Forces, (nv,) [N, N m].

        Examples
        --------
        >>> s = perp.Robot("examples/robots/arm.xml").start(key="ready")
        >>> np.allclose(s.forward(s.inverse(np.ones(len(s.v)))), 1)
        True
        """
        tau = numbers("tau", tau, (len(self.v),))
        x = np.empty(len(self.v))
        with self._core as c:
            status = lib.perp_bodies_forward(c, doubles(tau), doubles(x))
        if status == lib.PERP_ERR_NO_SOLUTION:
            raise Error("forward: the mass matrix is singular: a joint moves no mass")
        Diagnostics().check(status)
        return x

    def inverse_derivatives(self, a: ArrayLike) -> tuple[Array, Array]:
        """Derivatives of `inverse` at these accelerations by q and by v, each (nv, nv); that by a is M.

        Parameters
        ----------
        a : array_like
            Accelerations, (nv,).

        Returns
        -------
        by_q, by_v : ndarray
            Column k of by_q is the derivative as velocity k alone moves q.

        Examples
        --------
        >>> s = perp.Robot("examples/robots/cartpole.xml").start()
        >>> by_q, by_v = s.inverse_derivatives([0, 0])
        >>> bool(by_q[1, 1] < 0), bool(np.abs(by_v).max() < 1e-15)
        (True, True)
        """
        a, nv = numbers("a", a, (len(self.v),)), len(self.v)
        x = np.empty((2, nv, nv))
        with self._core as c:
            status = lib.perp_bodies_inverse_derivatives(
                c, doubles(a), doubles(x[0]), doubles(x[1])
            )
        Diagnostics().check(status)
        return x[0].T.copy(), x[1].T.copy()

    def step_derivatives(self) -> tuple[Array, Array, Array]:
        """Derivatives of the velocities at the end of the last step with respect to its start. Each law of a joint keeps its branch.

        Returns
        -------
        by_q, by_v, by_ctrl : ndarray
            (nv, nv), (nv, nv), (nv, nu). Columns of by_q are as of `inverse_derivatives`.

        Raises
        ------
        UnavailableError
            A contact acted, or the state has what has no derivative yet; the message says which.

        Examples
        --------
        >>> s = perp.Robot("examples/robots/cartpole.xml").start()
        >>> s.step()
        >>> [x.shape for x in s.step_derivatives()]
        [(2, 2), (2, 2), (2, 1)]
        """
        nv, nu = len(self.v), len(self.ctrl)
        by_q, by_v, by_ctrl, diag = np.empty((nv, nv)), np.empty((nv, nv)), np.empty((nu, nv)), Diagnostics()
        arrays = [doubles(x) for x in (by_q, by_v, by_ctrl)]
        with self._core as c:
            status = lib.perp_bodies_step_derivatives(c, *arrays, diag.c)
        if status == lib.PERP_ERR_ARG:
            raise Error(diag.take() or "step_derivatives: no step was taken since the state was made or set")
        diag.check(status)
        return by_q.T.copy(), by_v.T.copy(), by_ctrl.T.copy()

    def joint_forces(self) -> tuple[Array, Array, Array]:
        """Forces of the last step [N, N m].

        Returns
        -------
        limit, friction, actuator : ndarray
            Of limits (nv,), of dry friction (nv,), and of the actuators before their gear (nu,).

        Examples
        --------
        >>> s = perp.Robot("examples/robots/cartpole.xml").start()
        >>> s.ctrl[0] = 1; s.step()
        >>> s.joint_forces()[2]
        array([1.])
        """
        limit, friction, actuator = np.zeros(len(self.v)), np.zeros(len(self.v)), np.zeros(len(self.ctrl))
        arrays = [doubles(x) for x in (limit, friction, actuator)]
        with self._core as c:
            Diagnostics().check(lib.perp_bodies_joint_forces(c, *arrays))
        return limit, friction, actuator

    def jacobian(self, name: str, point: ArrayLike | None = None, rotation: bool = False) -> Array:
        """Velocity of a point per unit of v, world axes.

        Parameters
        ----------
        name : str
            A body, or a shape, whose point is its centre.
        point : array_like, optional
            (3,), in the frame of the body instead [m].
        rotation : bool
            True: three more rows, of the angular velocity.

        Returns
        -------
        ndarray
            (3, nv), or (6, nv).

        Examples
        --------
        >>> s = perp.Robot("examples/robots/arm.xml").start(key="ready")
        >>> s.v[:7] = 0.1
        >>> np.allclose(s.jacobian("flange") @ s.v, s.body("flange").velocity)
        True
        """
        body, at = self.system._find_body(name, shapes=True)
        if point is not None:
            at = numbers("point", point, (3,))
        nv = len(self.v)
        x, p, R = np.empty((2, nv, 3)), np.empty(3), np.empty((3, 3))
        with self._core as c:
            lib.perp_bodies_pose(c, body, doubles(p), doubles(R))
            world = np.ascontiguousarray(p + R @ at)
            lib.perp_bodies_jacobian(c, body, doubles(world), doubles(x[0]))
            if rotation:
                lib.perp_bodies_rotation_jacobian(c, body, doubles(x[1]))
        return np.vstack((x[0].T, x[1].T)) if rotation else np.ascontiguousarray(x[0].T)

    @property
    def mass(self) -> float:
        """The mass of all bodies [kg].

        Examples
        --------
        >>> s = perp.Robot("examples/robots/cartpole.xml").start()
        >>> s.mass > 1
        True
        """
        x = ffi.new("double *")
        with self._core as c:
            lib.perp_bodies_mass_center(c, x, ffi.NULL, ffi.NULL)
        return float(x[0])

    @property
    def com(self) -> Array:
        """The centre of mass of all bodies in the world [m], (3,).

        Examples
        --------
        >>> s = perp.Robot("examples/robots/cartpole.xml").start()
        >>> s.com.shape
        (3,)
        """
        x = np.empty(3)
        with self._core as c:
            lib.perp_bodies_mass_center(c, ffi.NULL, doubles(x), ffi.NULL)
        return x

    @property
    def com_jacobian(self) -> Array:
        """Velocity of the centre of mass per unit of v, (3, nv).

        Examples
        --------
        >>> s = perp.Robot("examples/robots/cartpole.xml").start()
        >>> s.v[:] = 1
        >>> np.allclose(s.mass*s.com_jacobian @ s.v, s.momentum[:3])
        True
        """
        x = np.empty((len(self.v), 3))
        with self._core as c:
            lib.perp_bodies_mass_center(c, ffi.NULL, ffi.NULL, doubles(x))
        return np.ascontiguousarray(x.T)

    @property
    def momentum(self) -> Array:
        """Momentum [N s], and angular momentum about the centre of mass [N m s], (6,).

        Examples
        --------
        >>> s = perp.Robot("examples/robots/cartpole.xml").start()
        >>> s.momentum
        array([0., 0., 0., 0., 0., 0.])
        """
        x = np.empty((2, 3))
        with self._core as c:
            lib.perp_bodies_momentum(c, doubles(x[0]), doubles(x[1]))
        return x.ravel()

    @property
    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy [J]; the potential one is 0 at the world's origin.

        Examples
        --------
        >>> s = perp.Robot("examples/robots/cartpole.xml").start()
        >>> s.energy[0]
        0.0
        """
        x = ffi.new("double[2]")
        with self._core as c:
            lib.perp_bodies_energy(c, x, x + 1)
        return float(x[0]), float(x[1])

    def __repr__(self) -> str:
        return f"<state of {self.system.name} at {self.t:g} s: q {len(self.q)}, v {len(self.v)}, ctrl {len(self.ctrl)}>"


def snapshot_bytes(snapshot: Any) -> bytes:
    """What is given as a snapshot."""
    if not isinstance(snapshot, (bytes, bytearray, memoryview)):
        raise ArgumentError(f"snapshot: bytes, made by snapshot(), are expected, not {kind(snapshot)}")
    return bytes(snapshot)


def restore(bodies: Any, data: bytes) -> None:
    diag = Diagnostics()
    status = lib.perp_bodies_restore(bodies, data, len(data), diag.c)
    if status == lib.PERP_ERR_DATA:
        raise DataError(f"snapshot: {diag.take()}")
    diag.check(status)
