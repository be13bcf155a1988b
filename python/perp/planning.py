"""Plans: optimal control through contact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ._library import ArgumentError, Array, Diagnostics, Progress, c_text, called_by_c, ffi, find, lib, result, set_option, text
from ._table import Table, c_table

if TYPE_CHECKING:
    from .model import Model

_words = {
    "method": (lib.perp_plan_method_find, lib.PERP_PLAN_METHOD_COUNT, lib.perp_plan_method_name),
    "pairs": (lib.perp_plan_pairs_find, lib.PERP_PLAN_PAIRS_COUNT, lib.perp_plan_pairs_name),
    "backend": (lib.perp_plan_backend_find, lib.PERP_PLAN_BACKEND_COUNT, lib.perp_plan_backend_name),
}


class Plan(Table):
    """What a search for a plan came to: t, states, vars, inputs, outputs, costates, a row a node. `outcome` is a word of docs/plan.md,
    `said` the sentences about it; `holds` where every condition holds at the nodes."""

    def __init__(self, columns: list[str], units: list[str], data: Array, result: Any, said: str, free: dict[str, float]) -> None:
        super().__init__(columns, units, data)
        self.outcome = text(lib.perp_plan_outcome_name(result.outcome))
        self.meaning = text(lib.perp_plan_outcome_message(result.outcome))
        self.holds = bool(lib.perp_plan_holds(result.outcome))
        self.cost, self.horizon, self.iterations = result.cost, result.horizon, result.iterations
        self.replay = result.replay
        self.free = free
        self.said = said

    def __repr__(self) -> str:
        return f"<plan: {self.outcome}, cost {self.cost:.9g}, {len(self)} nodes over {self.horizon:g} s>"


@called_by_c
def perp_py_plan_progress(context: Any, progress: Any) -> int:
    return int(ffi.from_handle(context).tell(progress.iteration, progress.cost, progress.infeasibility))


def plan(model: Model, given: Mapping[str, Any]) -> Plan:
    """See Model.plan. guess: a table to begin from. progress: called with (iteration, cost, infeasibility), true stops."""
    diag, options = Diagnostics(), ffi.new("perp_plan_options *")
    lib.perp_plan_options_fill(options, ffi.sizeof("perp_plan_options"), model._c)
    known = {f for f, _ in ffi.typeof("perp_plan_options").fields} - {"size", "context", "start"}
    progress, keep = Progress(given.get("progress")), []
    for name, value in given.items():
        if name in ("guess", "progress"):
            continue
        if name not in known:
            raise ArgumentError(f"unknown option {name!r} of a plan; there are: {' '.join(sorted(known | {'guess', 'progress'}))}")
        if name in _words:
            value = find(name, value, *_words[name])
        elif isinstance(value, str):
            keep.append(c_text(value))
            value = keep[-1]
        set_option(options, name, value)
    handle = ffi.new_handle(progress)
    options.progress, options.context = lib.perp_py_plan_progress, handle
    out, found = ffi.new("perp_plan **"), result("perp_plan_result")
    diag.check(lib.perp_plan_create(model._c, options, out, diag.c))
    c = ffi.gc(out[0], lib.perp_plan_destroy)
    if given.get("guess") is not None:
        guess = given["guess"]
        table = ffi.gc(c_table({k: guess[k] for k in guess}, "guess"), lib.perp_trajectory_destroy)
        diag.check(lib.perp_plan_set_guess(c, table, c_text("guess"), diag.c))
    diag.check(lib.perp_plan_solve(c, found, diag.c))
    progress.check()
    n, rows = lib.perp_plan_columns(c), lib.perp_plan_rows(c)
    by_row = np.empty((rows, n))
    for k in range(rows):
        lib.perp_plan_row(c, k, ffi.from_buffer("double[]", by_row[k]))
    free: dict[str, float] = {}
    while lib.perp_plan_free_name(c, len(free)):
        free[text(lib.perp_plan_free_name(c, len(free)))] = lib.perp_plan_free_value(c, len(free))
    return Plan(
        [text(lib.perp_plan_column_name(c, i)) for i in range(n)],
        [text(lib.perp_plan_column_unit(c, i)) for i in range(n)],
        np.ascontiguousarray(by_row.T),
        found,
        diag.take(),
        free,
    )
