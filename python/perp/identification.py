"""Parameters from recorded runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._library import ArgumentError, Array, Diagnostics, Progress, c_text, called_by_c, ffi, find, lib, result, set_option, text
from ._table import Table, c_table

if TYPE_CHECKING:
    from .model import Model


@dataclass(frozen=True)
class Estimate:
    """One parameter; std_error, low and high are nan where no interval was checked, and a finding says why."""

    name: str
    unit: str
    value: float
    std_error: float
    low: float
    high: float
    has_interval: bool
    identifiable: bool
    at_bound: bool


class Fit:
    """Estimates with what the data say of them. `fit.mu` is an estimated value, `fit.interval("mu")` its interval, `fit.findings` the
    sentences about what the data leave open."""

    def __init__(self, result: Any) -> None:
        self.parameters = {
            text(e.name): Estimate(
                text(e.name),
                text(e.unit),
                e.value,
                e.std_error,
                e.low,
                e.high,
                bool(e.has_interval),
                bool(e.identifiable),
                bool(e.at_bound),
            )
            for e in (result.parameter[i] for i in range(result.nparameter))
        }
        self.findings = [text(result.finding[i]) for i in range(result.nfinding)]
        n = result.nparameter
        self.covariance: Array = np.frombuffer(ffi.buffer(result.covariance, 8 * n * n)).reshape(n, n).copy()
        self.cost, self.noise_factor, self.samples = result.cost, result.noise_factor, result.samples
        self.method = text(lib.perp_estimator_name(result.method))

    def __getitem__(self, name: str) -> float:
        return self.parameters[name].value

    def __getattr__(self, name: str) -> float:
        if name.startswith("_") or name not in self.parameters:
            raise AttributeError(name)
        return self.parameters[name].value

    def interval(self, name: str) -> tuple[float, float]:
        """(low, high), nan where there is none that was checked."""
        estimate = self.parameters[name]
        return estimate.low, estimate.high

    def __repr__(self) -> str:
        return "<fit: " + ", ".join(f"{e.name} = {e.value:.6g}" for e in self.parameters.values()) + ">"


@called_by_c
def perp_py_identify_progress(context: Any, progress: Any) -> int:
    return int(ffi.from_handle(context).tell(progress.evaluations, progress.cost))


def _dataset(runs: Iterable[Any]) -> Any:
    diag, out = Diagnostics(), ffi.new("perp_dataset **")
    diag.check(lib.perp_dataset_create(out))
    data = ffi.gc(out[0], lib.perp_dataset_destroy)
    for k, run in enumerate([runs] if isinstance(runs, (str, os.PathLike, Table, Mapping)) else runs):
        if isinstance(run, (str, os.PathLike)):
            diag.check(lib.perp_dataset_read(data, c_text(os.fspath(run)), diag.c))
            continue
        name = f"run {k + 1}"
        table = c_table({c: run[c] for c in run}, name)
        diag.check(lib.perp_dataset_add(data, table, c_text(name), diag.c))
    return data


def identify(model: Model, runs: Iterable[Any], given: Mapping[str, Any]) -> Fit:
    """See Model.identify. parameters: names; measure: {column: noise, or None where it is not known}; progress: called with
    (evaluations, least cost), true stops."""
    diag, options = Diagnostics(), ffi.new("perp_identify_options *")
    diag.check(lib.perp_identify_options_fill(options, ffi.sizeof("perp_identify_options"), model._c, diag.c))
    known = {f for f, _ in ffi.typeof("perp_identify_options").fields} - {"size", "parameter", "nparameter", "nmeasure", "progress_context"}
    known |= {"parameters"}
    progress, keep = Progress(given.get("progress")), []
    for name, value in given.items():
        if name not in known:
            raise ArgumentError(f"unknown option {name!r} of identify; there are: {' '.join(sorted(known))}")
        if name == "progress":
            continue
        if name == "parameters":
            keep += [c_text(word) for word in value]
            options.nparameter = len(value)
            for i in range(len(value)):
                options.parameter[i] = keep[len(keep) - len(value) + i]
        elif name == "measure":
            options.nmeasure = len(value)
            for i, (column, noise) in enumerate(value.items()):
                keep.append(c_text(column))
                nan = float("nan")
                options.measure[i] = {"name": keep[-1], "noise": nan if noise is None else noise, "weight": nan}
        elif name == "method":
            options.method = find("method", value, lib.perp_estimator_find, lib.PERP_ESTIMATOR_COUNT, lib.perp_estimator_name)
        elif name == "derivatives":
            options.derivatives = find(name, value, lib.perp_derivatives_find, lib.PERP_DERIVATIVES_COUNT, lib.perp_derivatives_name)
        elif name == "integrator":
            options.integrator = find(name, value, lib.perp_integrator_find, lib.PERP_INTEGRATOR_COUNT, lib.perp_integrator_name)
        else:
            set_option(options, name, value)
    handle = ffi.new_handle(progress)
    options.progress, options.progress_context = lib.perp_py_identify_progress, handle
    data, found = _dataset(runs), ffi.gc(result("perp_identification"), lib.perp_identification_clear)
    status = lib.perp_identify(model._c, data, options, found, diag.c)
    progress.check()
    diag.check_solved(status, found.outcome)
    return Fit(found)
