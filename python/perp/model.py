"""Models: read, set, simulated, stepped, planned with, identified."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union, overload

import numpy as np
from numpy.typing import ArrayLike

from ._library import ArgumentError, Array, Diagnostics, NoSolutionError, c_text, ffi, find, lib, names, result, set_option, text
from ._table import Table, c_table
from .copies import Copies
from .simulation import Impact, Simulation, simulation_columns, simulation_impacts, simulation_impulses

# What may be given for a name of a model: a number; for an input also a function of time, or (times, values) to interpolate.
Value = Union[float, Callable[[float], float], tuple[ArrayLike, ArrayLike]]


@dataclass(frozen=True)
class Symbol:
    """A declared name. value: of a parameter, or the initial value of a state, else nan; lo, hi: its range."""

    name: str
    unit: str
    value: float
    lo: float
    hi: float
    line: int


class Run(Table):
    """A simulation's rows: t, states, vars, outputs, residual. Each of its steps was verified. impacts: in the order of time
    (docs/accuracy.md)."""

    def __init__(
        self,
        columns: list[str],
        units: list[str],
        data: Array,
        model: Model,
        again: tuple[Any, dict[str, Any]],
        derivatives: Mapping[str, Array],
        worst_residual: float,
        impacts: Sequence[Impact] = (),
    ) -> None:
        super().__init__(columns, units, data)
        self.model = model
        self.worst_residual = worst_residual
        self.impacts = list(impacts)
        self._again, self._derivatives = again, derivatives  # again: the model as it was set, and what simulate was given

    @overload
    def sensitivity(self, names: str) -> Table: ...
    @overload
    def sensitivity(self, names: list[str] | tuple[str, ...]) -> dict[str, Table]: ...
    def sensitivity(self, names: str | list[str] | tuple[str, ...]) -> Table | dict[str, Table]:
        """d(columns)/d(name) of a parameter or an initial value, for several names a table each; docs/derivatives.md says what they are at
        events. Names that the run does not `follow` make it run again."""
        wanted = [names] if isinstance(names, str) else list(names)
        missing = [name for name in wanted if name not in self._derivatives]
        if missing:
            again = Model.__new__(Model)
            again.__setstate__(self._again[0])
            self._derivatives = {**self._derivatives, **again.simulate(**{**self._again[1], "to": self.t[-1]}, follow=missing)._derivatives}
        tables = {name: self._table_of(self._derivatives[name].copy()) for name in wanted}
        return tables[names] if isinstance(names, str) else tables

    def _table_of(self, derivative: Array) -> Table:
        derivative[self._index["t"]] = self.t
        return Table(self.columns, [""] * len(self.columns), derivative[:, : len(self)])

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the interactive page of `perp report`: one HTML file."""
        diag, run = Diagnostics(), ffi.new("perp_report_run *")
        name, table = c_text(self.model.name), ffi.gc(self._c_table(self.model.name), lib.perp_trajectory_destroy)
        run.name, run.trajectory, run.model = name, table, self.model._c
        diag.check(lib.perp_report_write_html(run, 1, ffi.NULL, c_text(os.fspath(path)), diag.c))

    def _repr_html_(self) -> str:
        import html
        import tempfile

        if not lib.perp_report_has_page():
            return f"<pre>{html.escape(repr(self))}</pre>"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.html")
            self.report(path)
            with open(path, encoding="utf-8") as file:
                page = html.escape(file.read(), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:42em;border:0"></iframe>'

    def __repr__(self) -> str:
        return (
            f"<run of {self.model.name}: {len(self) - 1} steps to {self.t[-1]:g} s, worst residual {self.worst_residual:.2g}; "
            f"{' '.join(self.columns)}>"
        )


class Model:
    """A model of the language, from a file, or from text: a string with a line end.

    m = perp.Model("block.perp")
    run = m.simulate(to=5, step=1e-3, mu=0.3, F=lambda t: 4*np.sin(2*t))
    run.t, run["x"], run.x
    """

    def __init__(self, source: str | os.PathLike[str], name: str | None = None, **values: Value) -> None:
        if isinstance(source, str) and "\n" in source:
            self._text, self._name = source, name or "model"
            self._c = self._parse()
        else:
            self._name = os.fspath(source)
            if self._name.endswith((".xml", ".urdf", ".mjcf")):
                raise ArgumentError(f"source: {self._name} is a robot file, not a model; perp.Robot({self._name!r}) reads it")
            self._c = self._load()
        self._values: dict[str, Value] = {}
        if values:
            self.set(**values)

    def __getstate__(self) -> tuple[str, str, dict[str, Value]]:
        return self._text, self._name, self._values

    def __setstate__(self, state: tuple[str, str, dict[str, Value]]) -> None:
        self._text, self._name, self._values = state
        self._c = self._parse()
        for name, value in self._values.items():
            _set(self._c, name, value)

    def _load(self) -> Any:
        """The library opens the file: it knows how much of which it reads."""
        diag, model, length = Diagnostics(), ffi.new("perp_model **"), ffi.new("size_t *")
        diag.check(lib.perp_model_load(c_text(self._name), model, diag.c))
        source = lib.perp_model_source(model[0], length)
        self._text = bytes(ffi.buffer(source, length[0])).decode("utf-8", "surrogateescape")
        return ffi.gc(model[0], lib.perp_model_destroy)

    def _parse(self) -> Any:
        diag, model = Diagnostics(), ffi.new("perp_model **")
        content = self._text.encode("utf-8", "surrogateescape")
        diag.check(lib.perp_model_parse(content, len(content), c_text(self._name), model, diag.c))
        return ffi.gc(model[0], lib.perp_model_destroy)

    @property
    def name(self) -> str:
        return text(lib.perp_model_name(self._c)) or "model"

    @property
    def params(self) -> tuple[Symbol, ...]:
        return self._symbols(lib.PERP_PARAM)

    @property
    def inputs(self) -> tuple[Symbol, ...]:
        return self._symbols(lib.PERP_INPUT)

    @property
    def states(self) -> tuple[Symbol, ...]:
        return self._symbols(lib.PERP_STATE)

    @property
    def vars(self) -> tuple[Symbol, ...]:
        return self._symbols(lib.PERP_VAR)

    @property
    def outputs(self) -> tuple[Symbol, ...]:
        return self._symbols(lib.PERP_OUTPUT)

    def _symbols(self, kind: int) -> tuple[Symbol, ...]:
        found = (lib.perp_model_symbol(self._c, kind, i) for i in range(lib.perp_model_count(self._c, kind)))
        return tuple(Symbol(text(s.name), text(s.unit), s.value, s.lo, s.hi, s.line) for s in found)

    def set(self, **values: Value) -> Model:
        """Give parameters, initial values of states, or inputs a value; returns the model. Names with brackets: set(**{"x[1]": 2})."""
        if any(callable(value) for value in values.values()):
            raise ArgumentError("functions of time are for simulate; a model takes numbers and (times, values)")
        c = self._with(values)
        self._values.update(values)
        self._c = c
        return self

    def _with(self, values: Mapping[str, Value]) -> Any:
        """The model in C with these values set, too: another one, for what is set cannot be taken back."""
        if not values:
            return self._c
        c = self._parse()
        for name, value in {**self._values, **values}.items():
            _set(c, name, value)
        return c

    def check(self) -> str:
        """What `perp check` says: warnings with their places, "" for none."""
        diag, report = Diagnostics(), result("perp_check_report")
        diag.check(lib.perp_check(self._c, ffi.NULL, report, diag.c))
        return diag.take()

    def _options(self, c: Any, given: Mapping[str, Any]) -> Any:
        options = ffi.new("perp_simulation_options *")
        lib.perp_simulation_options_fill(options, ffi.sizeof("perp_simulation_options"), c)
        for name, word in given.items():
            if word is None:
                continue
            if name == "start":
                name = "from"
            elif name == "method":
                word = find("method", word, lib.perp_integrator_find, lib.PERP_INTEGRATOR_COUNT, lib.perp_integrator_name)
                name = "integrator"
            elif name == "solver":
                word = find("solver", word, lib.perp_lcp_method_find, lib.PERP_LCP_METHOD_COUNT, lib.perp_lcp_method_name)
            set_option(options, name, word)
        return options

    def simulate(
        self,
        to: float | None = None,
        step: float | None = None,
        *,
        start: float | None = None,
        method: str | None = None,
        theta: float | None = None,
        solver: str | None = None,
        tol: float | None = None,
        follow: Sequence[str] = (),
        progress: Callable[[int, int], object] | None = None,
        **values: Value,
    ) -> Run:
        """Simulate from `start` to `to` [s] by `step` [s]; what is not given, the model says.

        values: parameters, initial values, and inputs, which may also be functions of time (called once at the end of each step) or
        tables (times, values). follow: parameters whose derivatives the run carries along (Run.sensitivity). progress: called with
        (steps done, steps). By the method moreau the run has columns impulse(fn) [N s] (docs/language.md), without derivatives (nan). A step without verified solution raises NoSolutionError, Ctrl-C KeyboardInterrupt: their `run` is what
        was computed.
        """
        if method is None and not lib.perp_model_simulate_task(self._c).method:
            method = text(lib.perp_integrator_name(lib.perp_simulation_recommend(self._c)))
        given = {"start": start, "to": to, "step": step, "method": method, "theta": theta, "solver": solver, "tol": tol}
        options = self._options(self._c, given)
        values = {name: _sampled(value, options) if callable(value) else value for name, value in values.items()}
        c = self._with(values)
        diag, simulation = Diagnostics(), ffi.new("perp_simulation **")
        diag.check(lib.perp_simulation_create(c, options, simulation, diag.c))
        keep = ffi.gc(simulation[0], lib.perp_simulation_destroy)
        if follow:
            words, _words = names(follow)
            diag.check(lib.perp_simulation_follow(keep, len(follow), words, diag.c))
        again = ((self._text, self._name, {**self._values, **values}), given)
        return _rows(self, again, keep, list(follow), progress, diag)

    def start(
        self,
        step: float | None = None,
        *,
        start: float = 0.0,
        to: float = np.inf,
        method: str | None = None,
        theta: float | None = None,
        solver: str | None = None,
        tol: float | None = None,
        **values: Value,
    ) -> Simulation:
        """A run to be held in the hand: stepped, set between steps, saved, copied (perp.Simulation)."""
        span = to if np.isfinite(to) else None
        given = {"start": start, "to": span, "step": step, "method": method, "theta": theta, "solver": solver, "tol": tol}
        c = self._with(values)
        options = self._options(c, given)
        if span is None:
            options.to = start + 1e9 * options.step
        return Simulation(self, c, options)

    def copies(
        self, count: int, step: float | None = None, *, threads: int = 0, start: float = 0.0, method: str | None = None, **values: Value
    ) -> Copies:
        """`count` copies of a run in the hand, stepped at once by threads (0: one for each processor) and in vector lanes (perp.Copies)."""
        c = self._with(values)
        options = self._options(c, {"start": start, "step": step, "method": method})
        options.to = start + 1e9 * options.step
        return Copies(self, c, options, count, threads)

    def plan(self, **options: Any) -> Any:
        """Solve the model's plan block (perp.Plan): nodes=40, method="radau5", tries=4 and the other options of perp/plan.h."""
        from .planning import plan

        return plan(self, options)

    def identify(self, runs: Iterable[Any], **options: Any) -> Any:
        """Estimate parameters from recorded runs: paths, tables, runs, or mappings of columns (perp.Fit)."""
        from .identification import identify

        return identify(self, runs, options)

    def __repr__(self) -> str:
        return f"<model {self.name}: {len(self.states)} states, {len(self.vars)} vars, {lib.perp_model_pairs(self._c)} pairs>"


def _times(start: float, to: float, step: float) -> Array:
    """The times of the run's rows, and one more; none where they make no run, which the library says."""
    if not (np.isfinite(to) and np.isfinite(start) and step > 0):
        return np.zeros(1)
    return start + step * np.arange(int(np.floor((to - start) / step + 1e-9)) + 2, dtype=np.float64)


def _sampled(function: Callable[[float], float], options: Any) -> tuple[Array, Array]:
    """A function of time as a table at the times of the run's rows."""
    at = _times(getattr(options, "from"), options.to, options.step)
    return at, np.array([float(function(t)) for t in at.tolist()])


def _set(c: Any, name: str, value: Value) -> None:
    diag = Diagnostics()
    if callable(value):
        raise ArgumentError(f"{name}: functions of time are for simulate; elsewhere give a number or (times, values)")
    if isinstance(value, tuple):
        table = ffi.gc(c_table({"t": value[0], name: value[1]}, name), lib.perp_trajectory_destroy)
        diag.check(lib.perp_model_set_input_table(c, c_text(name), table, ffi.NULL, c_text(f"the table of {name}"), diag.c))
    else:
        diag.check(lib.perp_model_set(c, c_text(name), float(value), diag.c))


def _rows(
    model: Model,
    again: tuple[Any, dict[str, Any]],
    simulation: Any,
    follow: list[str],
    progress: Callable[[int, int], object] | None,
    diag: Diagnostics,
) -> Run:
    """All steps, in pieces of about a twentieth of a second, between which Python hears of Ctrl-C."""
    columns, units = simulation_columns(simulation)
    n, steps = len(columns), int(lib.perp_simulation_steps(simulation))
    impulses = simulation_impulses(simulation, model)
    c_impulse = ffi.new("int[]", [var for var, _ in impulses.values()])
    columns, units = columns + list(impulses), units + [unit for _, unit in impulses.values()]
    data = np.empty((len(columns), steps + 1))
    derivatives = np.empty((n * len(follow), steps + 1))
    scratch, row = ffi.new("double[]", n * max(1, len(follow))), ffi.new("long *")
    c_data, c_derivatives = ffi.from_buffer("double[]", data), ffi.from_buffer("double[]", derivatives)

    def so_far() -> Run:
        rows = int(row[0]) + 1
        none = np.full((len(impulses), rows), np.nan)
        summary = result("perp_simulation_summary")
        lib.perp_simulation_get_summary(simulation, summary)
        by = {p: np.concatenate([derivatives[n * k : n * (k + 1), :rows], none]) for k, p in enumerate(follow)}
        return Run(columns, units, data[:, :rows], model, again, by, summary.worst_residual, impacts)

    lib.perp_py_row(simulation, c_data, steps + 1, 0, scratch, len(follow), c_derivatives, len(impulses), c_impulse)
    many, status = 16, lib.PERP_OK
    impacts: list[Impact] = []
    try:
        while row[0] < steps and status == lib.PERP_OK:
            begin, before = time.perf_counter(), row[0]
            status = lib.perp_py_rows(simulation, c_data, steps + 1, row, many, scratch, len(follow), c_derivatives, len(impulses), c_impulse, diag.c)
            if status == lib.PERP_OK:
                impacts += simulation_impacts(simulation)
            if row[0] - before == many:  # no impact ended it
                many = many * 2 if time.perf_counter() - begin < 0.025 else max(1, many // 2) if many > 16 else many
            if progress is not None:
                progress(int(row[0]), steps)
    except KeyboardInterrupt as stopped:
        stopped.run = so_far()  # type: ignore[attr-defined]
        raise
    try:
        diag.check(status)
    except NoSolutionError as refused:
        refused.run = so_far()
        raise
    return so_far()
