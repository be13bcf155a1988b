"""Runs, LCPs and friction problems as differentiable functions of arrays: what perp.torch and perp.jax wrap. numpy only.

A `Function` works on batches: the first axis of every array is the batch. `value` gives its results, `jvp` their change along changes of
the arguments, `vjp` the gradient by the arguments of a weighted sum of the results. docs/python.md says what these are at kinks.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ._library import ArgumentError, Array, Diagnostics, Error, NoSolutionError, doubles, ffi, lib, names, result, vector
from .problems import friction, problem_options
from .simulation import simulation_columns

if TYPE_CHECKING:
    from .model import Model

Arrays = Sequence[Array]

# Steps that are worth starting a thread for.
_WORTH_A_THREAD = 1000


class Function(Protocol):
    """shapes: of the arguments, without the batch; results: of what comes out."""

    shapes: list[tuple[int, ...]]
    results: list[tuple[int, ...]]

    def value(self, arguments: Arrays) -> list[Array]: ...
    def jvp(self, arguments: Arrays, changes: Arrays) -> list[Array]: ...
    def vjp(self, arguments: Arrays, weights: Arrays) -> list[Array]: ...


def _contiguous(arrays: Sequence[ArrayLike], shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """As C reads them: of these shapes, behind one batch."""
    out = [np.ascontiguousarray(a, dtype=np.float64) for a in arrays]
    if [a.shape for a in out] != [(len(out[0]), *shape) for shape in shapes]:
        raise ArgumentError(f"arrays of a batch must have the shapes {list(shapes)} behind it, not {[a.shape for a in out]}")
    return out


def _indices(what: str, known: Sequence[str], wanted: Sequence[str]) -> list[int]:
    for name in wanted:
        if name not in known:
            raise ArgumentError(f"no {what} {name!r}; there are: {' '.join(known)}")
    return [known.index(name) for name in wanted]


class Run:
    """`steps` steps of a model: rows (steps, columns) of state (states), params (params) and inputs (steps, inputs), each by its names."""

    def __init__(
        self,
        model: Model,
        steps: int,
        step: float | None = None,
        params: Sequence[str] = (),
        inputs: Sequence[str] = (),
        columns: Sequence[str] | None = None,
        method: str | None = None,
        threads: int = 0,
    ) -> None:
        symbols = {"parameter": model.params, "input": model.inputs}
        index = [_indices(kind, [s.name for s in symbols[kind]], wanted) for kind, wanted in (("parameter", params), ("input", inputs))]
        self.model, self.steps, self.start = model, steps, np.array([s.value for s in model.states])
        self.params = np.array([model.params[i].value for i in index[0]])
        self._c_model, self._threads = model._c, threads or os.cpu_count() or 1
        self._first = self._create(model, {"step": step, "method": method}, params, inputs)
        self._idle: SimpleQueue[Any] = SimpleQueue()
        self._index = [ffi.new("int[]", i) for i in index]
        self._known = simulation_columns(self._first)[0]
        self.columns = [s.name for s in model.states] if columns is None else list(columns)
        self._chosen = _indices("column", self._known, self.columns)
        self.shapes: list[tuple[int, ...]] = [(len(self.start),), (len(params),), (steps, len(inputs))]
        self.results: list[tuple[int, ...]] = [(steps, len(self.columns))]

    def _create(self, model: Model, given: dict[str, Any], params: Sequence[str], inputs: Sequence[str]) -> Any:
        options = model._options(self._c_model, given)
        options.to = getattr(options, "from") + self.steps * options.step
        of_params, of_inputs = names(params), names(inputs)
        options.parameter, options.nparameter = of_params[0], len(params)
        options.input, options.ninput = of_inputs[0], len(inputs)
        diag, out = Diagnostics(), ffi.new("perp_simulation **")
        diag.check(lib.perp_simulation_create(self._c_model, options, out, diag.c))
        return ffi.gc(out[0], lib.perp_simulation_destroy)

    def _take(self) -> Any:
        """A simulation that nobody else uses: other threads may be in the others."""
        try:
            return self._idle.get_nowait()
        except Empty:
            diag, out = Diagnostics(), ffi.new("perp_simulation **")
            diag.check(lib.perp_simulation_clone(self._first, out, diag.c))
            return ffi.gc(out[0], lib.perp_simulation_destroy)

    def _piece(self, kind: int, begin: int, arguments: Arrays, rows: Array, by: Arrays) -> None:
        simulation, diag, which = self._take(), Diagnostics(), ffi.new("long *")
        state, parameter, value = map(doubles, arguments)
        changes = dict(zip(("by_state", "by_parameter", "by_value"), map(doubles, by)))
        of = {"steps": self.steps, "nparameter": len(self._index[0]), "ninput": len(self._index[1])}
        of["parameter"], of["input"] = self._index
        many = {"of": of, "count": len(rows), "states": len(self.start), "state": state, "parameter": parameter, "value": value, **changes}
        many["weight" if kind == 2 else "row"] = doubles(rows)
        try:
            diag.check(lib.perp_py_stretches(simulation, kind, ffi.new("perp_py_many *", many), which, diag.c))
        except Error as error:
            error.args = (f"{error.args[0]}\n(run {begin + which[0]} of the batch, counted from 0)",)
            raise
        self._idle.put(simulation)

    def _all(self, kind: int, arguments: Arrays, rows: Array, by: Arrays = ()) -> None:
        """0: rows; 1: their derivative along `by`; 2: the gradient `by` with weights `rows`."""
        count = len(rows)
        arguments = _contiguous(arguments, self.shapes)
        pieces = min(self._threads, count, max(1, count * self.steps // _WORTH_A_THREAD))
        ends = [count * k // pieces for k in range(pieces + 1)]
        work = [(kind, a, [x[a:b] for x in arguments], rows[a:b], [x[a:b] for x in by]) for a, b in zip(ends, ends[1:])]
        if pieces <= 1:
            for one in work:
                self._piece(*one)
            return
        with ThreadPoolExecutor(pieces) as pool:
            for done in [pool.submit(self._piece, *one) for one in work]:
                done.result()

    def defaults(self, state: Any, params: Any, inputs: Any) -> tuple[Any, Any, Any]:
        """What is None is the model's; inputs that are named have no other value."""
        if inputs is None and self.shapes[2][1] > 0:
            raise ArgumentError("inputs are named, so their values must be given")
        inputs = np.zeros(self.shapes[2]) if inputs is None else inputs
        return self.start if state is None else state, self.params if params is None else params, inputs

    def _rows(self, count: int) -> Array:
        return np.zeros((count, self.steps, len(self._known)))

    def value(self, arguments: Arrays) -> list[Array]:
        rows = self._rows(len(arguments[0]))
        self._all(0, arguments, rows)
        return [rows[:, :, self._chosen]]

    def jvp(self, arguments: Arrays, changes: Arrays) -> list[Array]:
        rows = self._rows(len(arguments[0]))
        self._all(1, arguments, rows, _contiguous([*arguments, *changes], self.shapes * 2)[3:])
        return [rows[:, :, self._chosen]]

    def vjp(self, arguments: Arrays, weights: Arrays) -> list[Array]:
        rows = self._rows(len(arguments[0]))
        of_rows = _contiguous([*arguments, *weights], self.shapes + self.results)[3]
        for j, column in enumerate(self._chosen):
            rows[:, :, column] += of_rows[:, :, j]
        gradient = [np.zeros(np.shape(a)) for a in arguments]
        self._all(2, arguments, rows, gradient)
        return gradient


def _not_solved(what: str, k: int, outcome: str) -> NoSolutionError:
    return NoSolutionError(f"{what} problem {k} of the batch, counted from 0: {outcome}")


class Lcp:
    """z (n) of M (n, n), q (n); lo, hi: (n), constant."""

    def __init__(
        self, n: int, lo: ArrayLike | None = None, hi: ArrayLike | None = None, method: str = "auto", tol: float | None = None
    ) -> None:
        self.n, self._method, self._tol = n, method, tol
        self._mixed = lo is not None or hi is not None
        self._lo, self._hi = vector("lo", np.zeros(n) if lo is None else lo, n), vector("hi", np.full(n, np.inf) if hi is None else hi, n)
        self.shapes: list[tuple[int, ...]] = [(n, n), (n,)]
        self.results: list[tuple[int, ...]] = [(n,)]

    def _all(self, kind: int, arguments: Arrays, z: Array, by_M: Array, by_q: Array) -> None:
        """Matrices column by column, as C has them."""
        M, q = _contiguous([np.swapaxes(arguments[0], 1, 2), arguments[1]], self.shapes)
        count, n = q.shape
        which, options = problem_options("lcp", self._method, self._tol)
        options.mixed = self._mixed
        diag, out = Diagnostics(), ffi.new("perp_lcp_solver **")
        diag.check(lib.perp_lcp_solver_create(which, n, options, out))
        solver = ffi.gc(out[0], lib.perp_lcp_solver_destroy)
        lo, hi = (np.ascontiguousarray(np.broadcast_to(b, (count, n))) for b in (self._lo, self._hi))
        bounds = (doubles(lo), doubles(hi)) if self._mixed else (ffi.NULL, ffi.NULL)
        all_ = ffi.new("perp_lcp_batch *", {"count": count, "n": n, "M": doubles(M), "q": doubles(q)})
        at, info, own = ffi.new("long *"), result("perp_lcp_info"), np.zeros(n)
        status = lib.perp_py_lcps(solver, kind, all_, *bounds, doubles(z), doubles(by_M), doubles(by_q), doubles(own), at, info)
        if status == lib.PERP_ERR_MODEL:
            raise _not_solved("complementarity", at[0], "the matrix of the basis is singular, there is no derivative")
        diag.check(status)
        if at[0] < count:
            raise _not_solved("complementarity", at[0], ffi.string(lib.perp_outcome_name(info.outcome)).decode())

    def value(self, arguments: Arrays) -> list[Array]:
        z, none = np.zeros(np.shape(arguments[1])), np.zeros(0)
        self._all(0, arguments, z, none, none)
        return [z]

    def jvp(self, arguments: Arrays, changes: Arrays) -> list[Array]:
        z = np.zeros(np.shape(arguments[1]))
        _, by_M, by_q = _contiguous([arguments[1], np.swapaxes(changes[0], 1, 2), changes[1]], [self.shapes[1], *self.shapes])
        self._all(1, arguments, z, by_M, by_q)
        return [z]

    def vjp(self, arguments: Arrays, weights: Arrays) -> list[Array]:
        by_M, by_q = np.zeros(np.shape(arguments[0])), np.zeros(np.shape(arguments[1]))
        self._all(2, arguments, _contiguous([*weights, arguments[1]], self.results * 2)[0], by_M, by_q)
        return [np.swapaxes(by_M, 1, 2), by_q]


class Friction:
    """Impulses r (n) and velocities u (n) of W (n, n), q (n), mu (contacts).

    At a solution each contact is open (r = 0), sticks (u = 0) or slides (u_n = 0, r_T = -mu r_n u_T/|u_T|): n equations
    E(r, u, mu) = 0 with u = W r + q, whose derivatives determine those of r.
    """

    def __init__(self, contacts: int, dimension: int = 3, method: str = "auto", tol: float | None = None) -> None:
        self.contacts, self.dimension = contacts, dimension
        self._options = {"dimension": dimension, "method": method, "tol": tol}
        n = contacts * dimension
        self.shapes: list[tuple[int, ...]] = [(n, n), (n,), (contacts,)]
        self.results: list[tuple[int, ...]] = [(n,), (n,)]

    def value(self, arguments: Arrays) -> list[Array]:
        r, u = np.zeros(np.shape(arguments[1])), np.zeros(np.shape(arguments[1]))
        for k, (W, q, mu) in enumerate(zip(*arguments)):
            found = friction(W, q, mu, **self._options)  # type: ignore[arg-type]
            if not found:
                raise _not_solved("friction", k, found.outcome)
            r[k], u[k] = found.z, found.w
        return [r, u]

    def _equations(self, W: Array, mu: Array, r: Array, u: Array) -> tuple[Array, Array, Array]:
        """Derivatives of E by r, u and mu."""
        n, d = len(r), self.dimension
        by_r, by_u, by_mu = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, self.contacts))
        for c in range(self.contacts):
            at = slice(c * d, (c + 1) * d)
            T = slice(c * d + 1, (c + 1) * d)
            speed = np.hypot.reduce(u[T])
            weight = np.trace(W[at, at]) / d
            x = weight * r[at] - u[at] - np.eye(d)[0] * mu[c] * speed  # which side: where this is beside the cone
            if x[0] + mu[c] * np.hypot.reduce(x[1:]) <= 0:
                by_r[at, at] = np.eye(d)
            elif mu[c] > 0 and np.hypot.reduce(x[1:]) <= mu[c] * x[0] * (1 + 1e-9):
                by_u[at, at] = np.eye(d)
            else:
                t = u[T] / speed if speed > 0 else np.zeros(d - 1)
                by_u[c * d, c * d] = 1
                by_r[T, T], by_r[T, c * d], by_mu[T, c] = np.eye(d - 1), mu[c] * t, r[c * d] * t
                if speed > 0:
                    by_u[T, T] = mu[c] * r[c * d] * (np.eye(d - 1) - np.outer(t, t)) / speed
        return by_r, by_u, by_mu

    def _linear(self, k: int, W: Array, q: Array, mu: Array) -> tuple[Array, Array, Array, Array]:
        """r, E by u, E by mu, and the matrix of dr."""
        (r,), (u,) = self.value([W[None], q[None], mu[None]])
        by_r, by_u, by_mu = self._equations(W, mu, r, u)
        A = by_r + by_u @ W
        if len(r) and np.linalg.cond(A / np.maximum(np.abs(A).max(axis=1, keepdims=True), 1e-300)) > 1e13:
            raise _not_solved("friction", k, "impulses of contacts that stick are not unique, there is no derivative")
        return r, by_u, by_mu, A

    def jvp(self, arguments: Arrays, changes: Arrays) -> list[Array]:
        dr, du = np.zeros(np.shape(arguments[1])), np.zeros(np.shape(arguments[1]))
        for k, (W, q, mu, dW, dq, dmu) in enumerate(zip(*arguments, *changes)):
            r, by_u, by_mu, A = self._linear(k, W, q, mu)
            given = dW @ r + dq
            dr[k] = -np.linalg.solve(A, by_u @ given + by_mu @ dmu)
            du[k] = W @ dr[k] + given
        return [dr, du]

    def vjp(self, arguments: Arrays, weights: Arrays) -> list[Array]:
        gradient = [np.zeros(np.shape(a)) for a in arguments]
        for k, (W, q, mu, of_r, of_u) in enumerate(zip(*arguments, *weights)):
            r, by_u, by_mu, A = self._linear(k, W, q, mu)
            multiplier = np.linalg.solve(A.T, of_r + W.T @ of_u)
            gradient[1][k] = of_u - by_u.T @ multiplier
            gradient[0][k] = np.outer(gradient[1][k], r)
            gradient[2][k] = -by_mu.T @ multiplier
        return gradient
