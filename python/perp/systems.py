"""What states have in common: names and numbers of a robot or a scene, the verdict of a step, contacts as an array."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._checks import unknown, word
from ._library import Array, Diagnostics, ffi, lib

_ARRAYS = {
    "perp_contact_point": ("bodies", "shapes", "point", "normal", "force", "torque", "slip", "gap", "mu"),
    "perp_impact": ("time", "bodies", "shapes", "point", "impulse", "friction", "energy"),
}


@functools.cache
def layout(struct: str) -> np.dtype[Any]:
    """The layout of an array of these structs; `body` and `shape`, which are two numbers, have their plural."""
    fields = dict(ffi.typeof(struct).fields)
    names = _ARRAYS[struct]
    of = [fields[{"bodies": "body", "shapes": "shape"}.get(name, name)] for name in names]
    formats = {"int[2]": ("<i4", (2,)), "double[3]": ("<f8", (3,)), "double": "<f8"}
    return np.dtype(
        {
            "names": list(names),
            "formats": [formats[field.type.cname.replace(" ", "")] for field in of],
            "offsets": [field.offset for field in of],
            "itemsize": ffi.sizeof(struct),
        }
    )


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


def assemble(system: System, c: Any) -> Assembly:
    """perp_bodies_assemble of bodies, with the names of what it excludes."""
    is_, diag = ffi.new("perp_assembly *", {"size": ffi.sizeof("perp_assembly")}), Diagnostics()
    diag.check(lib.perp_bodies_assemble(c, is_, diag.c))
    excluded: list[tuple[str, str]] = []
    pair, depth = ffi.new("int[2]"), ffi.new("double *")
    while lib.perp_bodies_excluded_pair(c, len(excluded), pair, depth):
        excluded.append((system.shapes[pair[0]], system.shapes[pair[1]]))
    return Assembly(is_.penetration, is_.limit, is_.loop, is_.moved, excluded, bool(is_.is_assembled))
