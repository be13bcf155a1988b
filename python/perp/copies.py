"""Many copies of a model stepped at once: Monte Carlo, filters, learning."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ._library import ArgumentError, Array, Diagnostics, doubles, ffi, lib, text
from .simulation import simulation_columns

if TYPE_CHECKING:
    from .model import Model


class _Arrays(Mapping[str, Array]):
    """One number for each copy, by name; setting takes an array (n,) or one number for all."""

    def __init__(
        self, what: str, names: dict[str, int], c: Any, n: int, get: Callable[[Any, int], float], put: Callable[[Any, int, Any], int]
    ):
        self._what, self._names, self._c, self._n, self._get, self._put = what, names, c, n, get, put

    def __getitem__(self, name: str) -> Array:
        i = self._names[name]
        return np.array([self._get(lib.perp_batch_simulation(self._c, k), i) for k in range(self._n)])

    def __setitem__(self, name: str, value: ArrayLike) -> None:
        i = self._names.get(name)
        if i is None:
            raise ArgumentError(f"no {self._what} {name!r}; there are: {' '.join(self._names)}")
        values = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (self._n,)), order="C")
        if self._put(self._c, i, doubles(values)) != 0:
            raise ArgumentError(f"{self._what} {name} cannot be set to these values")

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Copies:
    """Made by Model.copies: `count` simulations, each with states, inputs and parameters of its own. A copy takes the steps that it would
    take alone, to the last bit, whatever the number of threads.

        copies = m.copies(4096, step=1e-3)
        copies.state["x"] = np.random.normal(size=4096)
        copies.step(100, F=force)               # force: (4096,)
        x, v = copies.gather("x", "v").T        # (4096, 2)
    """

    def __init__(self, model: Model, c_model: Any, options: Any, count: int, threads: int) -> None:
        diag, out = Diagnostics(), ffi.new("perp_batch **")
        options.ninput = options.nparameter = lib.PERP_ALL
        diag.check(lib.perp_batch_create(c_model, options, count, threads, out, diag.c))
        self.model, self._c_model, self.count = model, c_model, count
        self._c = c = ffi.gc(out[0], lib.perp_batch_destroy)
        kinds = (lib.PERP_STATE, lib.PERP_INPUT, lib.PERP_PARAM)
        states, inputs, params = ({s.name: i for i, s in enumerate(model._symbols(kind))} for kind in kinds)
        self.state = _Arrays("state", states, c, count, lib.perp_simulation_state, lib.perp_batch_set_state)
        self.input = _Arrays("input", inputs, c, count, lib.perp_simulation_input, lib.perp_batch_set_input)
        self.param = _Arrays("parameter", params, c, count, lib.perp_simulation_parameter, lib.perp_batch_set_parameter)
        self.columns, _ = simulation_columns(lib.perp_batch_simulation(c, 0))
        self._column = {name: i for i, name in enumerate(self.columns)}

    def step(self, steps: int = 1, **inputs: ArrayLike) -> None:
        """So many steps of each copy; inputs: (count,), their values at the end of the next step and from then on. A copy whose step has no
        verified solution stays at its last one, and the others go on: then NoSolutionError is raised, and `outcomes` says which."""
        for name, value in inputs.items():
            self.input[name] = value
        diag, solved = Diagnostics(), ffi.new("int *")
        status = lib.perp_batch_step(self._c, steps, solved, diag.c)
        diag.check_solved(status, lib.PERP_SOLVED if solved[0] == self.count else lib.PERP_LIMIT)

    def outcomes(self) -> list[str]:
        """How the last step ended for each copy: "ok", or the name of what went wrong."""
        outcome, words = ffi.new("perp_outcome *"), []
        for k in range(self.count):
            status = lib.perp_batch_status(self._c, k, outcome)
            ended = "ok" if outcome[0] == lib.PERP_SOLVED else "no solution"
            words.append(ended if status == lib.PERP_OK else text(lib.perp_status_name(status)))
        return words

    def gather(self, *columns: str) -> Array:
        """These columns of all copies, (count, columns); all, where none is named."""
        chosen: Sequence[str] = columns or self.columns
        for name in chosen:
            if name not in self._column:
                raise KeyError(f"no column {name!r}; there are: {' '.join(self.columns)}")
        values = np.empty((self.count, len(chosen)))
        index = ffi.new("int[]", [self._column[name] for name in chosen])
        Diagnostics().check(lib.perp_batch_gather(self._c, len(chosen), index, doubles(values)))
        return values

    def reset(self, which: ArrayLike | None = None) -> None:
        """Copies for which the mask (count,) is true go back to the start; all, where none is given."""
        if which is None:
            lib.perp_batch_reset(self._c, ffi.NULL)
            return
        mask = np.array(which, dtype=np.uint8)
        if mask.shape != (self.count,):
            raise ArgumentError(f"the mask must have {self.count} entries, not the shape {mask.shape}")
        lib.perp_batch_reset(self._c, ffi.from_buffer("unsigned char[]", mask))

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return f"<{self.count} copies of {self.model.name}>"
