"""Robots from MJCF and URDF files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ._checks import choice, count, kind, number, numbers, path, suggests, unknown
from ._library import ArgumentError, Diagnostics, ffi, lib, text
from .batches import Batch
from .bodies import State
from .systems import System, label


@dataclass(frozen=True)
class Ignored:
    """An element of a robot file without a part in exact rigid motion: where it is first, what it is, how often."""

    file: str
    line: int
    column: int
    what: str
    count: int


METHODS = [text(lib.perp_bodies_method_name(k)) for k in range(lib.PERP_BODIES_METHOD_COUNT)]


def set_options(
    options: Any,
    step: float | None,
    method: str | None,
    gravity: ArrayLike | None,
    tol: float | None,
    restitution_threshold: float | None,
    density: float | None,
    viscosity: float | None,
    wind: ArrayLike | None,
) -> None:
    """Those that are given, into a perp_bodies_options."""
    if step is not None:
        options.step = number("step", step, above=0)
    if method is not None:
        options.method = choice("method", method, METHODS)
    if tol is not None:
        options.tol = number("tol", tol, above=0, at_most=1e-2)
    for name, value in (("restitution_threshold", restitution_threshold), ("density", density), ("viscosity", viscosity)):
        if value is not None:
            setattr(options, name, number(name, value, at_least=0))
    for name, vector in (("gravity", gravity), ("wind", wind)):
        if vector is not None:
            setattr(options, name, list(numbers(name, vector, (3,))))


class Robot(System):
    """A robot, or a scene, from an MJCF (`mujoco`) or URDF (`robot`) file.

    Parameters
    ----------
    source : str or path
        A path, or the text of a file: a string that begins with "<".
    name : str, optional
        Of a text: the name in messages; files that the text names lie beside it.

    Attributes
    ----------
    bodies, shapes, q_names, v_names, actuators, keys : list of str
        Names. Bodies are numbered from 1; 0 is the world.
    ignored : list of Ignored
        Elements without a part in exact rigid motion.

    Raises
    ------
    ModelError
        The file has faults; the message lists all with their positions.

    Examples
    --------
    >>> r = perp.Robot("examples/robots/quadruped.xml")
    >>> r.keys, r.bodies[1], len(r.actuators)
    (['stand'], 'trunk', 12)
    >>> s = r.start(key="stand")
    >>> s.step(100)
    >>> s["fl_knee"] < 0
    True
    """

    def __init__(self, source: str | os.PathLike[str], name: str | None = None) -> None:
        out, diag = ffi.new("perp_robot **"), Diagnostics()
        if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
            data = source.encode("utf-8", "surrogateescape")
            self._file = "robot" if name is None else os.fsdecode(path("name", name))
            c_name = ffi.new("char[]", os.fsencode(self._file))
            status = lib.perp_robot_parse(data, len(data), c_name, out, diag.c)
        else:
            if not isinstance(source, (str, os.PathLike)):
                raise ArgumentError(f"source: a path, or the text of an MJCF or URDF file, is expected, not {kind(source)}")
            if name is not None:
                raise ArgumentError("name: it is for the text of a file; a path is its own name")
            self._file = os.fsdecode(path("source", source))
            status = lib.perp_robot_read(ffi.new("char[]", path("source", source)), out, diag.c)
        diag.check(status)
        self._c = ffi.gc(out[0], lib.perp_robot_destroy)
        self._name_all()

    def _name_all(self) -> None:
        c, parts = self._c, lib.perp_robot_get_parts(self._c)
        self.name = text(parts.name) or os.path.basename(self._file)
        self.bodies = ["world"] + [label(text(parts.body[i].name), "body", i + 1) for i in range(parts.nbody)]
        self.shapes = [label(text(parts.shape_name[i]), "shape", i) for i in range(parts.nshape)]
        self._shape_at = [(parts.shape[i].body, np.array(list(parts.shape[i].position))) for i in range(parts.nshape)]
        self.actuators = [label(text(parts.actuator_name[i]), "actuator", i + 1) for i in range(parts.nactuator)]
        self.activated = [parts.actuator[i].activation != lib.PERP_ACTIVATION_NONE for i in range(parts.nactuator)]
        self.q_names, self.v_names = _names(c, lib.perp_robot_q_name), _names(c, lib.perp_robot_v_name)
        self.keys = [text(lib.perp_robot_key(c, k)) for k in range(lib.perp_robot_keys(c))]
        self._index()

    @property
    def ignored(self) -> list[Ignored]:
        """Elements without a part in exact rigid motion.

        Examples
        --------
        >>> perp.Robot("examples/robots/arm.xml").ignored
        []
        """
        note = ffi.new("perp_robot_ignored *")
        found: list[Ignored] = []
        while lib.perp_robot_note(self._c, len(found), note):
            found.append(Ignored(text(note.file), note.line, note.column, text(note.what), note.count))
        return found

    def _key(self, key: str | int) -> int:
        if isinstance(key, str):
            if key not in self.keys:
                raise unknown("key", key, self.keys)
            return self.keys.index(key)
        if isinstance(key, bool) or not hasattr(key, "__index__"):
            raise ArgumentError(f"key: a name or a number is expected, not {kind(key)}")
        if not self.keys:
            raise ArgumentError(f"key: there are none in {self.name}")
        return count("key", key, 0, len(self.keys) - 1)

    @suggests
    def start(
        self,
        key: str | int | None = None,
        *,
        step: float | None = None,
        method: str | None = None,
        gravity: ArrayLike | None = None,
        tol: float | None = None,
        restitution_threshold: float | None = None,
        density: float | None = None,
        viscosity: float | None = None,
        wind: ArrayLike | None = None,
        assemble: bool = True,
    ) -> State:
        """A state at the start of the file, or at a keyframe.

        Parameters
        ----------
        key : str or int, optional
            A keyframe, by name or number.
        step : float, optional
            Length of a step [s]; each option that you do not give is that of the file.
        method : str, optional
            "euler" or "midpoint".
        gravity : array_like, optional
            (3,) [m/s^2].
        tol : float, optional
            A step is verified if its error is at most this, <= 1e-2.
        restitution_threshold : float, optional
            Approach speed below which restitution is ignored [m/s].
        density, viscosity : float, optional
            Of a fluid all around [kg/m^3, Pa s].
        wind : array_like, optional
            Its velocity, (3,) [m/s].
        assemble : bool
            Move an impossible pose to the nearest possible one; `State.assembly` reports it.

        Examples
        --------
        >>> s = perp.Robot("examples/robots/quadruped.xml").start(key="stand", step=0.001)
        >>> s.q.shape, s.v.shape, s.ctrl.shape
        ((19,), (18,), (12,))
        """
        which = -1 if key is None else self._key(key)
        options = ffi.new("perp_bodies_options *", lib.perp_robot_get_parts(self._c).options)
        set_options(options, step, method, gravity, tol, restitution_threshold, density, viscosity, wind)
        out, diag = ffi.new("perp_bodies **"), Diagnostics()
        diag.check(lib.perp_robot_create_bodies(self._c, options, out, diag.c))
        bodies = ffi.gc(out[0], lib.perp_bodies_destroy)
        if which >= 0:
            diag.check(lib.perp_robot_set_key(self._c, which, bodies))
        return State._start(self, bodies, assemble)

    @suggests
    def batch(
        self,
        n: int,
        threads: int = 0,
        key: str | int | None = None,
        *,
        step: float | None = None,
        method: str | None = None,
        gravity: ArrayLike | None = None,
        tol: float | None = None,
        restitution_threshold: float | None = None,
        density: float | None = None,
        viscosity: float | None = None,
        wind: ArrayLike | None = None,
        assemble: bool = True,
    ) -> Batch:
        """Copies of a start, stepped by threads.

        Parameters
        ----------
        n : int
            Their number.
        threads : int
            0: one for each processor.
        key : str or int, optional
            A keyframe.
        step, method, gravity, tol, restitution_threshold, density, viscosity, wind, assemble
            As of `start`.

        Examples
        --------
        >>> b = perp.Robot("examples/robots/quadruped.xml").batch(16, threads=2, key="stand")
        >>> b.step(10)
        >>> b.q.shape
        (16, 19)
        """
        state = self.start(
            key,
            step=step,
            method=method,
            gravity=gravity,
            tol=tol,
            restitution_threshold=restitution_threshold,
            density=density,
            viscosity=viscosity,
            wind=wind,
            assemble=assemble,
        )
        return state.batch(n, threads)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a robot cannot be pickled; pickle the path or the text of its file")

    def __repr__(self) -> str:
        return f"<robot {self.name}: {len(self.bodies) - 1} bodies, {len(self.shapes)} shapes, {len(self.actuators)} actuators>"


def _names(c: Any, get: Any) -> list[str]:
    found: list[str] = []
    while name := get(c, len(found)):
        found.append(text(name))
    return found
