"""A run held in the hand: the loop of a controller, a filter, an environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._library import ArgumentError, Array, Diagnostics, ffi, lib, result, text

if TYPE_CHECKING:
    from .model import Model


def simulation_columns(c: Any) -> tuple[list[str], list[str]]:
    n = lib.perp_simulation_columns(c)
    return (
        [text(lib.perp_simulation_column_name(c, i)) for i in range(n)],
        [text(lib.perp_simulation_column_unit(c, i)) for i in range(n)],
    )


def simulation_impulses(c: Any, model: Model) -> dict[str, tuple[int, str]]:
    """Columns impulse(var), each with the var's index and its unit times s: by the method moreau, of what has one."""
    found = {}
    for i, var in enumerate(model.vars):
        length = lib.perp_simulation_impulse_unit(c, i, ffi.NULL, 0)
        if length < 0:
            continue
        unit = ffi.new("char[]", length + 1)
        lib.perp_simulation_impulse_unit(c, i, unit, length + 1)
        found[f"impulse({var.name})"] = (i, text(unit))
    return found


@dataclass(frozen=True)
class Impact:
    """An impact of a contact. What is not known is nan; bodies: "" where none is known."""

    time: float  # [s]
    contact: str  # the force of the pair
    bodies: str
    impulse: float  # [unit]
    friction: float  # size of the impulse of friction [unit]
    unit: str
    energy: float  # kinetic energy lost [J]


def _impact(c: Any, of: Any) -> Impact:
    bodies, unit = ffi.new("char[]", 1024), ffi.new("char[]", 256)
    lib.perp_simulation_impact_bodies(c, of.pair, bodies, 1024)
    lib.perp_simulation_impact_unit(c, of.pair, unit, 256)
    contact = text(lib.perp_simulation_impact_name(c, of.pair))
    return Impact(of.time, contact, text(bodies), of.impulse, of.friction, text(unit), of.energy)


def simulation_impacts(c: Any) -> list[Impact]:
    """Of the last step, in the order of time."""
    out = ffi.new("const perp_impact **")
    n = lib.perp_simulation_impacts(c, out)
    return [_impact(c, out[0][k]) for k in range(n)]


class _Values(MutableMapping[str, float]):
    """Values of a simulation by name; setting one is heard by the next step."""

    def __init__(self, what: str, names: dict[str, int], c: Any, get: Callable[[Any, int], float], put: Callable[[Any, int, float], int]):
        self._what, self._names, self._c, self._get, self._put = what, names, c, get, put

    def __getitem__(self, name: str) -> float:
        return self._get(self._c, self._names[name])

    def __setitem__(self, name: str, value: float) -> None:
        i = self._names.get(name)
        if i is None:
            raise ArgumentError(f"no {self._what} {name!r}; there are: {' '.join(self._names)}")
        if self._put(self._c, i, value) != 0:
            raise ArgumentError(f"{self._what} {name} = {value} cannot be set")

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"a {self._what} cannot be removed")

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(dict(self))


class Simulation:
    """Made by Model.start.

        sim = m.start(step=1e-3)
        sim.state["x"] = 0.1
        while sim.t < 5:
            sim.step(F=-10*sim["x"])

    state, input, param: what may be read and set by name. sim["fn"]: any column of the present row; nan before the first step for what
    has no value yet. By the method moreau there is sim["impulse(fn)"], too [N s], of the last step.
    """

    def __init__(self, model: Model, c_model: Any, options: Any) -> None:
        diag, out = Diagnostics(), ffi.new("perp_simulation **")
        options.ninput = options.nparameter = lib.PERP_ALL
        diag.check(lib.perp_simulation_create(c_model, options, out, diag.c))
        self._take(model, c_model, out[0])

    def _take(self, model: Model, c_model: Any, c: Any) -> None:
        self.model, self._c_model = model, c_model
        self._c = c = ffi.gc(c, lib.perp_simulation_destroy)
        self._diag = Diagnostics()
        self._step, self._c_diag, self._info = lib.perp_simulation_step, self._diag.c, result("perp_step_info")
        self._set_input = lib.perp_simulation_set_input
        index = {kind: {s.name: i for i, s in enumerate(model._symbols(kind))} for kind in (lib.PERP_STATE, lib.PERP_INPUT, lib.PERP_PARAM)}
        self._inputs = index[lib.PERP_INPUT]
        self.state = _Values("state", index[lib.PERP_STATE], c, lib.perp_simulation_state, lib.perp_simulation_set_state)
        self.input = _Values("input", self._inputs, c, lib.perp_simulation_input, lib.perp_simulation_set_input)
        self.param = _Values("parameter", index[lib.PERP_PARAM], c, lib.perp_simulation_parameter, lib.perp_simulation_set_parameter)
        self.columns, units = simulation_columns(c)
        self._column = {name: i for i, name in enumerate(self.columns)}
        self._impulse = simulation_impulses(c, model)
        self.columns += list(self._impulse)
        self.units = dict(zip(self.columns, units + [unit for _, unit in self._impulse.values()]))

    @property
    def t(self) -> float:
        """The time that was reached [s]."""
        return float(lib.perp_simulation_time(self._c))

    def step(self, **inputs: float) -> None:
        """One step; inputs: their values at its end, and until they are set again."""
        for name, value in inputs.items():
            i = self._inputs.get(name, -1)
            if i < 0 or self._set_input(self._c, i, value) != 0:
                self.input[name] = value
        status = self._step(self._c, self._info, self._c_diag)
        if status != 0 or self._info.outcome != 0:
            self._diag.check_solved(status, self._info.outcome)

    def advance(self, to: float, **inputs: float) -> None:
        """Steps until `to` [s], the last one shorter where that is needed."""
        for name, value in inputs.items():
            self.input[name] = value
        status = lib.perp_simulation_advance(self._c, to, self._info, self._diag.c)
        self._diag.check_solved(status, self._info.outcome)

    def __getitem__(self, column: str) -> float:
        if column in self._impulse:
            impulse = ffi.new("double *")
            lib.perp_simulation_impulse(self._c, self._impulse[column][0], impulse)
            return float(impulse[0])
        try:
            return lib.perp_simulation_value(self._c, self._column[column])  # type: ignore[no-any-return]
        except KeyError:
            raise KeyError(f"no column {column!r}; there are: {' '.join(self.columns)}") from None

    @property
    def impacts(self) -> list[Impact]:
        """The impacts of the last step, in the order of time (docs/accuracy.md)."""
        return simulation_impacts(self._c)

    def row(self) -> Array:
        """The present row, in the order of `columns`."""
        row = np.empty(len(self.columns))
        lib.perp_simulation_row(self._c, ffi.from_buffer("double[]", row))
        row[len(self._column) :] = [self[name] for name in self._impulse]
        return row

    def reset(self) -> None:
        """Back to the start: what follows is what followed then, to the last bit."""
        lib.perp_simulation_reset(self._c)

    def snapshot(self) -> bytes:
        """All that what follows depends on."""
        size = lib.perp_simulation_snapshot_size(self._c)
        bytes_ = ffi.new("unsigned char[]", size)
        self._diag.check(lib.perp_simulation_snapshot(self._c, bytes_, size))
        return bytes(ffi.buffer(bytes_, size))

    def restore(self, snapshot: bytes) -> None:
        """Go on from a snapshot of this simulation, or of another of the same model with the same options."""
        self._diag.check(lib.perp_simulation_restore(self._c, snapshot, len(snapshot), self._diag.c))

    def clone(self) -> Simulation:
        """Another simulation at the same place, which goes on alone."""
        out = ffi.new("perp_simulation **")
        self._diag.check(lib.perp_simulation_clone(self._c, out, self._diag.c))
        other = Simulation.__new__(Simulation)
        other._take(self.model, self._c_model, out[0])
        return other

    def __repr__(self) -> str:
        return f"<simulation of {self.model.name} at {self.t:g} s>"
