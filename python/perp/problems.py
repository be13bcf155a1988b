"""Complementarity and friction problems: arrays in, an answer with its outcome and residual out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._library import ArgumentError, Array, Called, Diagnostics, c_text, called_by_c, doubles, ffi, find, lib, result, text, vector


@dataclass(frozen=True)
class Solution:
    """An answer. `outcome` is a word: solved, ray, infeasible, limit, bad input; not solving is no exception. `residual` is recomputed
    from the data, `error` is the largest violation of a condition on its own scale, which decides."""

    outcome: str
    z: Array
    w: Array
    residual: float
    error: float
    method: str
    iterations: int

    @property
    def solved(self) -> bool:
        return self.outcome == "solved"

    def __bool__(self) -> bool:
        return self.solved


def problem_options(kind: str, method: str, tol: float | None, max_iter: int = 0) -> tuple[int, Any]:
    """The method by its word, and options of perp_KIND_: defaults, and what is given."""
    of = f"perp_{kind}_"
    call = {name: getattr(lib, of + name) for name in ("method_find", "method_name", "options_fill")}
    which = find("method", method, call["method_find"], getattr(lib, f"PERP_{kind.upper()}_METHOD_COUNT"), call["method_name"])
    options = ffi.new(of + "options *")
    call["options_fill"](options, ffi.sizeof(of + "options"), *([which] if kind == "lcp" else []))
    options.max_iter = max_iter
    if tol is not None:
        options.tol = tol
    return which, options


def _solution(info: Any, z: Array, w: Array, method_name: Callable[[int], Any]) -> Solution:
    word = text(lib.perp_outcome_name(info.outcome))
    return Solution(word, z, w, info.residual, info.error, text(method_name(info.method)), info.iterations)


def _bounds(lo: ArrayLike | None, hi: ArrayLike | None, n: int) -> tuple[Array, Array] | None:
    """Where one is given, the other is 0 or infinity."""
    if lo is None and hi is None:
        return None
    return vector("lo", np.zeros(n) if lo is None else lo, n), vector("hi", np.full(n, np.inf) if hi is None else hi, n)


def _square(M: ArrayLike, n: int) -> Array:
    """Column-major."""
    matrix = np.array(M, dtype=np.float64, order="F", ndmin=2)
    if matrix.shape != (n, n):
        raise ArgumentError(f"the matrix must be {n} x {n}, as the vector has {n} entries, not {matrix.shape}")
    return matrix


def _column_major(matrix: Array) -> Any:
    return ffi.from_buffer("double[]", matrix.T)


def lcp(
    M: ArrayLike,
    q: ArrayLike,
    lo: ArrayLike | None = None,
    hi: ArrayLike | None = None,
    *,
    method: str = "auto",
    tol: float | None = None,
    max_iter: int = 0,
) -> Solution:
    """Find z with w = M z + q, w >= 0, z >= 0, z'w = 0; with bounds lo <= z <= hi the mixed problem (perp/lcp.h).

    M: (n, n), q, lo, hi: (n,); infinities are bounds that are none. tol: 1e-10, each condition on its own scale.
    """
    q = vector("q", q)
    n = q.shape[0]
    matrix = _square(M, n)
    bounds = _bounds(lo, hi, n)
    which, options = problem_options("lcp", method, tol, max_iter)
    options.mixed = bounds is not None
    diag, solver = Diagnostics(), ffi.new("perp_lcp_solver **")
    diag.check(lib.perp_lcp_solver_create(which, n, options, solver))
    keep = ffi.gc(solver[0], lib.perp_lcp_solver_destroy)
    problem = ffi.new("perp_lcp *", {"n": n, "M": _column_major(matrix), "ldm": max(n, 1), "q": doubles(q)})
    if bounds is not None:
        problem.lo, problem.hi = doubles(bounds[0]), doubles(bounds[1])
    z, w, info = np.zeros(n), np.zeros(n), result("perp_lcp_info")
    diag.check(lib.perp_lcp_solve(keep, problem, doubles(z), doubles(w), info))
    return _solution(info, z, w, lib.perp_lcp_method_name)


# Matrices that are brought into column order at a time, by one thread and by several: what stays in its cache, and enough for all.
_TURNED = (128, 4096)


def lcp_batch(
    M: ArrayLike, q: ArrayLike, *, method: str = "auto", threads: int = 0, tol: float | None = None
) -> tuple[Array, NDArray[np.str_]]:
    """Many problems of one size: M (count, n, n), or (n, n) for all; q (count, n). Returns z (count, n) and the word of each,
    (count,)."""
    q = np.ascontiguousarray(q, dtype=np.float64)
    matrices = np.asarray(M, dtype=np.float64)
    if q.ndim != 2 or matrices.shape not in ((q.shape[0], q.shape[1], q.shape[1]), (q.shape[1], q.shape[1])):
        raise ArgumentError(f"M must be (count, n, n) or (n, n) and q (count, n), not {matrices.shape} and {q.shape}")
    count, n = q.shape
    turned = np.swapaxes(matrices, -1, -2)
    by_rows = matrices.ndim == 3 and matrices.flags.c_contiguous and not turned.flags.c_contiguous
    matrices = matrices if by_rows else np.ascontiguousarray(turned)
    which, options = problem_options("lcp", method, tol)
    diag, solver = Diagnostics(), ffi.new("perp_lcp_batch_solver **")
    diag.check(lib.perp_lcp_batch_solver_create(which, n, threads, options, solver))
    keep = ffi.gc(solver[0], lib.perp_lcp_batch_solver_destroy)
    batch = ffi.new("perp_lcp_batch *", {"count": count, "n": n, "M": doubles(matrices), "q": doubles(q), "shared_M": matrices.ndim == 2})
    z, outcomes = np.zeros((count, n)), np.zeros(count, dtype=np.intc)
    c_outcomes = ffi.cast("perp_outcome *", ffi.from_buffer(outcomes))
    if by_rows:
        room = np.empty((min(count, _TURNED[threads != 1]), n, n))
        diag.check(lib.perp_py_lcps_by_rows(keep, batch, doubles(room), len(room), doubles(z), c_outcomes))
    else:
        diag.check(lib.perp_lcp_solve_batch(keep, batch, doubles(z), c_outcomes, ffi.NULL))
    words = np.array([text(lib.perp_outcome_name(k)) for k in range(lib.PERP_OUTCOME_COUNT)])
    if count and np.all(outcomes == outcomes[0]):  # as a rule; what is not stored takes no time
        return z, np.broadcast_to(words[outcomes[0]], (count,))
    return z, words.take(outcomes)


class _Functions(Called):
    """F and its derivative as C calls them."""

    def __init__(self, f: Callable[[Array], ArrayLike], jac: Callable[[Array], ArrayLike] | None, n: int) -> None:
        self.f, self.jac, self.n = f, jac, n

    def _vector(self, z: Any) -> Array:
        return np.frombuffer(ffi.buffer(z, 8 * self.n)).copy()

    def value(self, z: Array) -> Array:
        return vector("f(z)", self.f(z), self.n)

    def derivative(self, z: Array) -> Array:
        if self.jac is not None:
            return _square(self.jac(z), self.n)
        J = np.empty((self.n, self.n), order="F")
        for j in range(self.n):  # central differences: errors of the order of h^2 and of rounding / h
            h = 6e-6 * max(1.0, abs(z[j]))
            up, down = z.copy(), z.copy()
            up[j], down[j] = z[j] + h, z[j] - h
            J[:, j] = (self.value(up) - self.value(down)) / (up[j] - down[j])
        return J

    def put(self, function: Callable[[Array], Array], z: Any, out: Any) -> int:
        result = function(self._vector(z)).ravel(order="F")
        ffi.memmove(out, result, result.nbytes)
        return 0


@called_by_c
def perp_py_mcp_F(context: Any, z: Any, w: Any) -> int:
    functions = ffi.from_handle(context)
    return int(functions.call(functions.put, functions.value, z, w))


@called_by_c
def perp_py_mcp_J(context: Any, z: Any, values: Any) -> int:
    functions = ffi.from_handle(context)
    return int(functions.call(functions.put, functions.derivative, z, values))


def mcp(
    f: Callable[[Array], ArrayLike] | Sequence[str],
    z0: ArrayLike,
    *,
    jac: Callable[[Array], ArrayLike] | None = None,
    lo: ArrayLike | None = None,
    hi: ArrayLike | None = None,
    method: str = "auto",
    tol: float | None = None,
    max_iter: int = 0,
) -> Solution:
    """Find z with 0 <= z perp f(z) >= 0, or between bounds lo and hi (perp/mcp.h).

    f: a function of a vector, with `jac` its derivative (n, n), else central differences; or n expressions of the model language in
    x1 .. xn, whose derivatives are exact. z0: where to begin.
    """
    z = vector("z0", z0)
    n = z.shape[0]
    diag, problem = Diagnostics(), ffi.new("perp_mcp *")
    functions = None
    if callable(f):
        functions = _Functions(f, jac, n)
        handle = ffi.new_handle(functions)
        problem.n, problem.F, problem.J, problem.context = n, lib.perp_py_mcp_F, lib.perp_py_mcp_J, handle
    else:
        lines, _lines = [c_text(line) for line in f], None
        if len(lines) != n:
            raise ArgumentError(f"{len(lines)} functions of {n} variables")
        out = ffi.new("perp_formulas **")
        diag.check(lib.perp_formulas_create(n, ffi.new("const char *[]", lines), c_text("functions"), out, diag.c))
        formulas = ffi.gc(out[0], lib.perp_formulas_destroy)
        problem[0] = lib.perp_formulas_mcp(formulas)
    bounds = _bounds(lo, hi, n)
    if bounds is not None:
        problem.lo, problem.hi = doubles(bounds[0]), doubles(bounds[1])
    which, options = problem_options("mcp", method, tol, max_iter)
    solver, w, info = ffi.new("perp_mcp_solver **"), np.zeros(n), result("perp_mcp_info")
    diag.check(lib.perp_mcp_solver_create(which, problem, options, solver))
    keep = ffi.gc(solver[0], lib.perp_mcp_solver_destroy)
    status = lib.perp_mcp_solve(keep, problem, doubles(z), doubles(w), info)
    if functions is not None:
        functions.check()
    diag.check(status)
    return _solution(info, z, w, lib.perp_mcp_method_name)


def friction(
    W: ArrayLike,
    q: ArrayLike,
    mu: ArrayLike,
    *,
    dimension: int | None = None,
    method: str = "auto",
    tol: float | None = None,
    max_iter: int = 0,
) -> Solution:
    """Contacts with exact Coulomb cones: u = W r + q, r in the cone of each contact, u + mu |u_T| e_n in its dual, normal to r
    (perp/friction.h).

    W: (n, n), q: (n,), contact by contact normal first; mu: (contacts,), or one number for all with `dimension` (2 or 3, the default)
    entries a contact. The answer's z are impulses r [N s], its w velocities u [m/s].
    """
    q = vector("q", q)
    n = q.shape[0]
    coefficients = vector("mu", mu)
    d = dimension or (n // coefficients.shape[0] if coefficients.shape[0] > 1 else 3)
    contacts = n // max(d, 1)
    if coefficients.shape[0] == 1:
        coefficients = np.full(contacts, coefficients[0])
    if d not in (2, 3) or contacts * d != n or coefficients.shape[0] != contacts:
        raise ArgumentError(f"{n} entries of q and {coefficients.shape[0]} of mu are no contacts of {d} entries each")
    matrix = _square(W, n)
    which, options = problem_options("fc", method, tol, max_iter)
    problem = ffi.new("perp_fc *", {"dimension": d, "nc": contacts, "mu": doubles(coefficients), "q": doubles(q)})
    problem.W, problem.ldw = _column_major(matrix), max(n, 1)
    diag, solver = Diagnostics(), ffi.new("perp_fc_solver **")
    diag.check(lib.perp_fc_solver_create(which, problem, options, solver))
    keep = ffi.gc(solver[0], lib.perp_fc_solver_destroy)
    r, u, info = np.zeros(n), np.zeros(n), result("perp_fc_info")
    diag.check(lib.perp_fc_solve(keep, problem, doubles(r), doubles(u), info))
    return _solution(info, r, u, lib.perp_fc_method_name)
