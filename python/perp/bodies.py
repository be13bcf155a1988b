"""States of bodies: what a robot or a scene starts, stepped alone or as a batch."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._checks import count, fill, kind, number, numbers, truths, unknown, word
from ._library import ArgumentError, Array, DataError, Diagnostics, Error, ffi, lib, text

_one, _step, _ONE = lib.perp_py_state_one, lib.perp_py_state_step, 1
_CHUNK = 64  # steps between two looks for Ctrl-C

_FIELDS = {"bodies": "body", "shapes": "shape"}
_NAMES = ("bodies", "shapes", "point", "normal", "force", "torque", "slip", "gap", "mu")


def _contact_dtype() -> np.dtype[Any]:
    fields = dict(ffi.typeof("perp_contact_point").fields)
    formats = {"bodies": ("<i4", (2,)), "shapes": ("<i4", (2,)), "gap": "<f8", "mu": "<f8"}
    return np.dtype(
        {
            "names": list(_NAMES),
            "formats": [formats.get(name, ("<f8", (3,))) for name in _NAMES],
            "offsets": [fields[_FIELDS.get(name, name)].offset for name in _NAMES],
            "itemsize": ffi.sizeof("perp_contact_point"),
        }
    )


contact_dtype: np.dtype[Any] = _contact_dtype()


@dataclass(frozen=True)
class StepInfo:
    """The verdict of the last step, as in C (`perp_bodies_info`).

    Attributes
    ----------
    step : int
        Its number, 1 for the first.
    time : float
        At its end [s].
    outcome : str
        "solved", or why it was rejected.
    contacts : int
        Contacts of the step, speculative ones included.
    contact_error, newton_error : float
        Of the laws of contacts and joints, and of Newton's law, each relative to its own scale.
    iterations : int
        Of the friction solver.
    penetration : float
        The deepest at the end of the step [m].
    substeps : int
        1: the whole step.
    work : float
        Multiply-adds.
    """

    step: int
    time: float
    outcome: str
    contacts: int
    contact_error: float
    newton_error: float
    iterations: int
    penetration: float
    substeps: int
    work: float


@dataclass(frozen=True)
class Assembly:
    """What was wrong with an initial pose, and how far it was moved [m, rad]; 0: nothing.

    Attributes
    ----------
    penetration, limit, loop : float
        The worst penetration, excess over a limit, and position error of an equality.
    moved : float
        The largest change of a position, a joint or a rotation.
    excluded : list of (str, str)
        Pairs of shapes whose contacts were excluded.
    is_assembled : bool
        False: limits, loops and penetrations exclude each other; nothing has moved.
    """

    penetration: float
    limit: float
    loop: float
    moved: float
    excluded: list[tuple[str, str]]
    is_assembled: bool


def label(name: str, what: str, number: int) -> str:
    """A name, or a number where there is none."""
    return name or f"{what}{number}"


class System:
    """What states have in common: names and numbers of bodies, joints, shapes and actuators. `perp.Robot` and `perp.Scene` are systems."""

    name: str
    bodies: list[str]  # their names; 0 is the world
    shapes: list[str]
    q_names: list[str]
    v_names: list[str]
    actuators: list[str]
    activated: list[bool]  # has the actuator an activation?
    _shape_at: list[tuple[int, Array]]  # of a shape: its body, its position there

    def _index(self) -> None:
        """Where each name is."""
        self._place: dict[str, tuple[str, int | slice]] = {}
        for array, names in (("q", self.q_names), ("v", self.v_names)):
            for k, name in enumerate(names):
                self._place.setdefault(name, (array, k))
        for array, names, first, length in (("q", self.q_names, ".x", 7), ("q", self.q_names, ".qw", 4)):
            for k, name in enumerate(names):
                if name.endswith(first):
                    self._place.setdefault(name[: -len(first)], (array, slice(k, k + length)))
        for first, length in ((".vx", 6), (".wx", 3)):
            for k, name in enumerate(self.v_names):
                if name.endswith(first):
                    self._place.setdefault(name[: -len(first)] + ".v", ("v", slice(k, k + length)))
        for k, name in enumerate(self.actuators):
            self._place.setdefault(name + ".u", ("ctrl", k))
            if self.activated[k]:
                self._place.setdefault(name + ".act", ("act", k))
        self._body: dict[str, int] = {}
        for k, name in enumerate(self.bodies):
            self._body.setdefault(name, k)
        self._shape: dict[str, int] = {}
        for k, name in enumerate(self.shapes):
            self._shape.setdefault(name, k)

    def names(self) -> list[str]:
        """All names that a state takes in `s[name]`.

        Examples
        --------
        >>> perp.Robot("examples/robots/cartpole.xml").names()
        ['cart', 'pole', 'cart.v', 'pole.v', 'push.u']
        """
        return list(self._place)

    def _find_place(self, name: str) -> tuple[str, int | slice]:
        at = self._place.get(word("name", name))
        if at is None:
            raise unknown("name", name, list(self._place))
        return at

    def _find_body(self, name: str, shapes: bool = False) -> tuple[int, Array]:
        """A body's number and a point of it: its origin, or where the shape of this name is."""
        k = self._body.get(word("name", name))
        if k is not None:
            return k, np.zeros(3)
        if shapes and name in self._shape:
            return self._shape_at[self._shape[name]]
        known = [n for n in self._body] + [n for n in self._shape if shapes and n not in self._body]
        raise unknown("body or shape" if shapes else "body", name, known)


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
        """Its origin in the world [m], (3,)."""
        x = np.empty(3)
        self._pose(ffi.from_buffer("double[]", x), ffi.NULL)
        return x

    @property
    def rotation(self) -> Array:
        """Its rotation in the world, (3, 3): world vector = rotation @ body vector."""
        x = np.empty((3, 3))
        self._pose(ffi.NULL, ffi.from_buffer("double[]", x))
        return x

    @property
    def quat(self) -> Array:
        """Its rotation as a unit quaternion (w, x, y, z)."""
        x = np.empty(4)
        with self.state._core as c:
            lib.perp_bodies_quaternion(c, self._number, ffi.from_buffer("double[]", x))
        return x

    @property
    def velocity(self) -> Array:
        """Velocity of its origin, world axes [m/s], (3,)."""
        x = np.empty(3)
        self._velocity(ffi.from_buffer("double[]", x), ffi.NULL)
        return x

    @property
    def angular_velocity(self) -> Array:
        """Its angular velocity, world axes [rad/s], (3,)."""
        x = np.empty(3)
        self._velocity(ffi.NULL, ffi.from_buffer("double[]", x))
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
            raise BusyError(_BUSY)
        name = _FAULTS[status]
        raise ArgumentError(f"{name}: {fault_of(self.system, name, self.arrays[name])}")


_FAULTS = {lib.PERP_PY_Q: "q", lib.PERP_PY_V: "v", lib.PERP_PY_ACT: "act", lib.PERP_PY_CTRL: "ctrl", lib.PERP_PY_FORCE: "force"}
_BUSY = "another thread is using this state (or was, when this process was forked): give each thread its own, by clone()"


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
        """The time [s]. You may set it; steps add to it."""
        return float(lib.perp_bodies_time(self._core.bodies))

    @t.setter
    def t(self, value: float) -> None:
        time = number("t", value)
        with self._core as c:
            lib.perp_bodies_set_time(c, time)

    @property
    def info(self) -> StepInfo:
        """The verdict of the last step."""
        with self._core:
            i = lib.perp_py_state_info(self._c)
            outcome = text(lib.perp_outcome_name(i.outcome))
            return StepInfo(
                i.step, i.time, outcome, i.contacts, i.contact_error, i.newton_error, i.iterations, i.penetration, i.substeps, i.work
            )

    @property
    def error(self) -> float:
        """The larger error of the last step, contact_error or newton_error of `info`; nan before the first."""
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

        Fields: bodies (numbers, 0 is the world; names are `system.bodies`), shapes, point and normal (world; from the first body to the
        second), force [N] and torque [N m] on the second body, slip (tangential velocity of the second body relative to the first [m/s]), gap
        [m], mu. A gap > 0 is a speculative contact, without force.

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
                return np.empty(0, contact_dtype)
            points = ffi.new("perp_contact_point[]", n)
            lib.perp_bodies_contact_points(c, points, n)
        return np.frombuffer(ffi.buffer(points), contact_dtype)

    # Start, snapshots, copies

    def reset(self) -> None:
        """Go back to the start: the run repeats itself to the last bit."""
        self._core.hold()
        lib.perp_bodies_reset(self._core.bodies)
        self._core.give()

    def set_start(self) -> None:
        """Make the present q, v, act and ctrl the start, to which `reset` goes."""
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
            lib.perp_bodies_dynamics(c, ffi.from_buffer("double[]", x), ffi.NULL)
        return x

    @property
    def bias(self) -> Array:
        """The bias force c(q, v), (nv,): M a + bias = tau without contacts and laws of joints."""
        x = np.empty(len(self.v))
        with self._core as c:
            lib.perp_bodies_dynamics(c, ffi.NULL, ffi.from_buffer("double[]", x))
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
            lib.perp_bodies_inverse(c, ffi.from_buffer("double[]", a), ffi.from_buffer("double[]", x))
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
            status = lib.perp_bodies_forward(c, ffi.from_buffer("double[]", tau), ffi.from_buffer("double[]", x))
        if status == lib.PERP_ERR_NO_SOLUTION:
            raise Error("forward: the mass matrix is singular: a joint moves no mass")
        Diagnostics().check(status)
        return x

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
            lib.perp_bodies_pose(c, body, ffi.from_buffer("double[]", p), ffi.from_buffer("double[]", R))
            world = np.ascontiguousarray(p + R @ at)
            lib.perp_bodies_jacobian(c, body, ffi.from_buffer("double[]", world), ffi.from_buffer("double[]", x[0]))
            if rotation:
                lib.perp_bodies_rotation_jacobian(c, body, ffi.from_buffer("double[]", x[1]))
        return np.vstack((x[0].T, x[1].T)) if rotation else np.ascontiguousarray(x[0].T)

    @property
    def mass(self) -> float:
        """The mass of all bodies [kg]."""
        x = ffi.new("double *")
        with self._core as c:
            lib.perp_bodies_mass_center(c, x, ffi.NULL, ffi.NULL)
        return float(x[0])

    @property
    def com(self) -> Array:
        """The centre of mass of all bodies in the world [m], (3,)."""
        x = np.empty(3)
        with self._core as c:
            lib.perp_bodies_mass_center(c, ffi.NULL, ffi.from_buffer("double[]", x), ffi.NULL)
        return x

    @property
    def com_jacobian(self) -> Array:
        """Velocity of the centre of mass per unit of v, (3, nv)."""
        x = np.empty((len(self.v), 3))
        with self._core as c:
            lib.perp_bodies_mass_center(c, ffi.NULL, ffi.NULL, ffi.from_buffer("double[]", x))
        return np.ascontiguousarray(x.T)

    @property
    def momentum(self) -> Array:
        """Momentum [N s], and angular momentum about the centre of mass [N m s], (6,)."""
        x = np.empty((2, 3))
        with self._core as c:
            lib.perp_bodies_momentum(c, ffi.from_buffer("double[]", x[0]), ffi.from_buffer("double[]", x[1]))
        return x.ravel()

    @property
    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy [J]; the potential one is 0 at the world's origin."""
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


def assemble(system: System, c: Any) -> Assembly:
    """perp_bodies_assemble of bodies, with the names of what it excludes."""
    is_, diag = ffi.new("perp_assembly *", {"size": ffi.sizeof("perp_assembly")}), Diagnostics()
    diag.check(lib.perp_bodies_assemble(c, is_, diag.c))
    excluded, pair, depth = [], ffi.new("int[2]"), ffi.new("double *")
    while lib.perp_bodies_excluded_pair(c, len(excluded), pair, depth):
        excluded.append((system.shapes[pair[0]], system.shapes[pair[1]]))
    return Assembly(is_.penetration, is_.limit, is_.loop, is_.moved, excluded, bool(is_.is_assembled))


class BatchBody:
    """A body in all copies of a batch, as they are now: `pos` (n, 3), `rotation` (n, 3, 3), `velocity` and `angular_velocity` (n, 3)."""

    def __init__(self, pos: Array, rotation: Array, velocity: Array, angular_velocity: Array) -> None:
        self.pos, self.rotation, self.velocity, self.angular_velocity = pos, rotation, velocity, angular_velocity


class Batch:
    """Copies of a state, each with its own state, stepped by threads. A copy takes exactly the steps that it would take alone. Made by
    `Robot.batch` and `State.batch`.

    Attributes
    ----------
    q, v, act, ctrl, force : ndarray
        As of `State`, with a row for each copy: (n, nq) and so on. Writable views; the next step takes what you write.
    t : ndarray
        Times, (n,) [s].
    solved : ndarray
        (n,): did the copy's last call end with a verified step?
    error : ndarray
        (n,): the larger error of its last step.

    Examples
    --------
    >>> b = perp.Robot("examples/robots/cartpole.xml").batch(4096, threads=2)
    >>> b.q[:, 1] = np.linspace(-0.2, 0.2, 4096)
    >>> b.ctrl[:, 0] = 40*b.q[:, 1] + 10*b.v[:, 1]
    >>> b.step(5)
    >>> b.reset(abs(b.q[:, 1]) > 0.1)
    """

    __slots__ = ("__weakref__", "_c", "_lock", "_set", "_x", "act", "ctrl", "error", "force", "n", "q", "solved", "system", "t", "v")
    _arrays = ("q", "v", "act", "ctrl", "force")

    n: int
    q: Array
    v: Array
    act: Array
    ctrl: Array
    force: Array
    t: Array
    solved: NDArray[np.bool_]
    error: Array
    system: System
    _c: Any
    _x: Any
    _lock: Any

    def __init__(self, state: State, n: int, threads: int = 0) -> None:
        put = object.__setattr__
        n, threads = count("n", n, 1), count("threads", threads, 0, 1024)
        out, diag = ffi.new("perp_bodies_batch **"), Diagnostics()
        with state._core as c:
            _check_room(c, n)
            diag.check(lib.perp_bodies_batch_create(c, n, threads, out, diag.c))
            row = {name: array.copy() for name, array in state._core.arrays.items()}
            time = float(lib.perp_bodies_time(c))
        put(self, "_c", ffi.gc(out[0], lib.perp_bodies_batch_destroy))
        put(self, "system", state.system)
        put(self, "n", n)
        put(self, "_lock", threading.Lock())
        x = ffi.new("perp_bodies_arrays *", {"size": ffi.sizeof("perp_bodies_arrays")})
        fields = {"q": "q", "v": "v", "act": "activation", "ctrl": "control", "force": "force", "t": "time"}
        kept = []
        for name, field in fields.items():
            width = 1 if name == "t" else len(row[name])
            memory = ffi.new("double[]", n * width + 1)
            array = np.frombuffer(ffi.buffer(memory))[: n * width]
            array = array if name == "t" else array.reshape(n, width)
            array[...] = time if name == "t" else row[name]
            put(self, name, array)
            setattr(x, field, memory)
            kept.append(memory)
        put(self, "_x", (x, kept))
        for name, array in (("solved", np.ones(n, np.bool_)), ("error", np.full(n, np.nan))):
            put(self, name, array)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._arrays:
            if name in Batch.__slots__:
                raise AttributeError(f"{name} of a batch cannot be set")
            raise AttributeError(str(unknown("attribute of a batch", name, self._arrays)))
        fill(name, getattr(self, name), value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{name} of a batch cannot be deleted")

    def _hold(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise BusyError(_BUSY.replace("state", "batch"))

    def step(self, n: int = 1) -> None:
        """Take n steps of each copy.

        Parameters
        ----------
        n : int
            Controls and forces are constant over them. With 0 the copies take what you wrote, without a step.

        Raises
        ------
        NoSolutionError
            A copy has a step that was not verified. It stays at its last verified one, `solved` says which, and all others have taken their
            steps.
        """
        n = count("n", n, at_most=2**62)
        diag, solved = Diagnostics(), ffi.new("int *")
        self._hold()
        try:
            status = lib.perp_bodies_batch_step(self._c, n, self._x[0], solved, diag.c)
            ends, errors = np.empty(self.n, np.uint8), np.empty(self.n)
            lib.perp_py_batch_ends(self._c, ffi.from_buffer("unsigned char[]", ends), ffi.from_buffer("double[]", errors))
            self.solved[:] = ends
            if n:
                self.error[:] = errors
        finally:
            self._lock.release()
        if status == lib.PERP_ERR_ARG:
            self._refuse(diag)
        diag.check_solved(status, lib.PERP_SOLVED if solved[0] == self.n else lib.PERP_LIMIT)

    def _refuse(self, diag: Diagnostics) -> NoReturn:
        for i in np.flatnonzero(~self.solved):
            for name in self._arrays:
                row = getattr(self, name)[i]
                if not np.isfinite(row).all():
                    raise ArgumentError(f"{name}: copy {i}: {fault_of(self.system, name, row)}")
        raise ArgumentError(diag.take().replace("a row of q", "q: a row"))

    def reset(self, which: ArrayLike | None = None) -> None:
        """Copies go back to their start.

        Parameters
        ----------
        which : array_like of bool, optional
            (n,): those for which it is true; all by default.
        """
        mask = None if which is None else truths("which", which, self.n)
        c_mask = ffi.NULL if mask is None else ffi.from_buffer("unsigned char[]", np.array(mask, dtype=np.uint8))
        self._hold()
        try:
            lib.perp_py_batch_reset(self._c, c_mask, self._x[0], self._x[1][3], self._x[1][4])
        finally:
            self._lock.release()

    def _copy(self, i: int) -> Any:
        """Copy i, with its rows."""
        return lib.perp_bodies_batch_at(self._c, count("i", i, 0, self.n - 1))

    def _take(self) -> None:
        diag = Diagnostics()
        if lib.perp_bodies_batch_set(self._c, self._x[0], diag.c) != lib.PERP_OK:
            said = diag.take()
            found = [name for name in self._arrays if not np.isfinite(getattr(self, name)).all()]
            raise ArgumentError(f"{found[0]}: {said}" if found else said)

    def state(self, i: int) -> State:
        """A state that begins where copy i is, and goes on alone.

        Parameters
        ----------
        i : int
            Its number, from 0.
        """
        out, diag = ffi.new("perp_bodies **"), Diagnostics()
        copy = self._copy(i)
        self._hold()
        try:
            self._take()
            diag.check(lib.perp_bodies_clone(copy, out, diag.c))
        finally:
            self._lock.release()
        return State._of(self.system, out[0])

    def restore(self, i: int, snapshot: bytes) -> None:
        """Copy i continues from a snapshot of a state or copy of the same robot or scene.

        Parameters
        ----------
        i : int
            Its number, from 0.
        snapshot : bytes
            From `State.snapshot`.
        """
        copy, data = self._copy(i), snapshot_bytes(snapshot)
        self._hold()
        try:
            restore(copy, data)
            for name, values in (
                ("q", lib.perp_bodies_q(copy)),
                ("v", lib.perp_bodies_v(copy)),
                ("act", lib.perp_bodies_activation(copy)),
                ("ctrl", lib.perp_bodies_control(copy)),
                ("force", lib.perp_bodies_force(copy)),
            ):
                row = getattr(self, name)[i]
                row[:] = ffi.unpack(values, len(row)) if len(row) else []
            self.t[i] = lib.perp_bodies_time(copy)
        finally:
            self._lock.release()

    def body(self, name: str) -> BatchBody:
        """A body's positions, rotations and velocities in all copies.

        Examples
        --------
        >>> b = perp.Robot("examples/robots/quadruped.xml").batch(3)
        >>> b.body("trunk").pos.shape
        (3, 3)
        """
        k = self.system._find_body(name)[0]
        arrays = [np.empty((self.n, 3)), np.empty((self.n, 3, 3)), np.empty((self.n, 3)), np.empty((self.n, 3))]
        self._hold()
        try:
            self._take()
            lib.perp_py_batch_body(self._c, k, *(ffi.from_buffer("double[]", a) for a in arrays))
        finally:
            self._lock.release()
        return BatchBody(*arrays)

    def __len__(self) -> int:
        return self.n

    def __reduce__(self) -> NoReturn:
        raise TypeError("a batch cannot be pickled; pickle the snapshots of its states")

    def __repr__(self) -> str:
        return f"<{self.n} copies of {self.system.name}: q {self.q.shape}, v {self.v.shape}, ctrl {self.ctrl.shape}>"


def _check_room(bodies: Any, n: int) -> None:
    """Would n copies fit into the machine's memory?"""
    out, before = ffi.new("perp_bodies **"), lib.perp_memory_held()
    Diagnostics().check(lib.perp_bodies_clone(bodies, out, ffi.NULL))
    each = lib.perp_memory_held() - before
    lib.perp_bodies_destroy(out[0])
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return
    if each * n > there:
        raise ArgumentError(f"n: {n} copies of {each / 1e3:.0f} kB do not fit into the {there / 1e9:.0f} GB of this machine")
