"""perp as differentiable functions of jax arrays (needs jax, with float64: jax.config.update("jax_enable_x64", True)): forward and reverse
mode, vmap, jit (a callback on the host).

    import perp.jax
    run = perp.jax.Run(model, steps=200, step=1e-3, params=["mu"], inputs=["F"])
    rows = run(state, params, inputs)           # (..., 200, states)
    z = perp.jax.lcp(M, q)                      # (..., n)

docs/python.md says what derivatives are at kinks. There are no second derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from numpy.typing import ArrayLike

from . import derivatives
from ._library import ArgumentError

if TYPE_CHECKING:
    from .model import Model


def _call(method: Callable[..., Any], shapes: Sequence[tuple[int, ...]], results: Sequence[tuple[int, ...]], *groups: Any) -> Any:
    """On the host; batches in front of the arrays become one."""

    def on_host(*groups: Any) -> tuple[Any, ...]:
        first = np.asarray(groups[0][0])
        batch = first.shape[: first.ndim - len(shapes[0])]
        count = int(np.prod(batch, dtype=int))
        flat = [[np.asarray(a).reshape(count, *np.shape(a)[len(batch) :]) for a in group] for group in groups]
        return tuple(np.asarray(out).reshape(*batch, *out.shape[1:]) for out in method(*flat))

    first = groups[0][0]
    batch = first.shape[: first.ndim - len(shapes[0])]
    out = tuple(jax.ShapeDtypeStruct((*batch, *s), jnp.float64) for s in results)
    return jax.pure_callback(on_host, out, *groups, vmap_method="broadcast_all")


# A product with the Jacobian of `function`, or with its transpose: linear in the second half of its arguments.
_product = Primitive("perp_product")
_product.multiple_results = True


def _kinds(function: derivatives.Function, backward: bool) -> tuple[Any, Sequence[tuple[int, ...]], Sequence[tuple[int, ...]]]:
    """The method, shapes of what it is linear in, and of what comes out."""
    return (function.vjp, function.results, function.shapes) if backward else (function.jvp, function.shapes, function.results)


@_product.def_impl
def _compute(*arrays: Any, function: derivatives.Function, backward: bool) -> Any:
    method, _, results = _kinds(function, backward)
    n = len(function.shapes)
    return _call(method, function.shapes, results, arrays[:n], arrays[n:])


@_product.def_abstract_eval
def _shapes(*arrays: Any, function: derivatives.Function, backward: bool) -> Any:
    batch = arrays[0].shape[: arrays[0].ndim - len(function.shapes[0])]
    return [jax.core.ShapedArray((*batch, *s), jnp.float64) for s in _kinds(function, backward)[2]]


def _transposed(weights: Any, *arrays: Any, function: derivatives.Function, backward: bool) -> Any:
    n = len(function.shapes)
    known = [w.instantiate() if isinstance(w, ad.Zero) else w for w in weights]
    return [None] * n + list(_product.bind(*arrays[:n], *known, function=function, backward=not backward))


def _batched(arrays: Any, dims: Any, **parameters: Any) -> Any:
    size = next(a.shape[d] for a, d in zip(arrays, dims) if d is not None)
    moved = [jnp.broadcast_to(a, (size, *a.shape)) if d is None else jnp.moveaxis(a, d, 0) for a, d in zip(arrays, dims)]
    out = _product.bind(*moved, **parameters)
    return out, [0] * len(out)


ad.primitive_transposes[_product] = _transposed
batching.primitive_batchers[_product] = _batched
mlir.register_lowering(_product, mlir.lower_fun(_compute, multiple_results=True))


def _differentiable(function: derivatives.Function) -> Callable[..., Any]:
    @jax.custom_jvp
    def value(*arguments: Any) -> Any:
        return _call(function.value, function.shapes, function.results, arguments)

    @value.defjvp
    def rule(arguments: Any, changes: Any) -> Any:
        return value(*arguments), tuple(_product.bind(*arguments, *changes, function=function, backward=False))

    return value


def _apply(value: Callable[..., Any], function: derivatives.Function, words: Sequence[str], arguments: Sequence[Any]) -> Any:
    if not jnp.result_type(float) == jnp.float64:
        raise ArgumentError('perp computes in float64, which jax leaves out: jax.config.update("jax_enable_x64", True) at the beginning')
    arrays = []
    for word, shape, given in zip(words, function.shapes, arguments):
        array = jnp.asarray(given)
        if array.dtype != jnp.float64:
            raise ArgumentError(f"{word} is {array.dtype}; perp computes in float64")
        if array.ndim < len(shape) or array.shape[array.ndim - len(shape) :] != shape:
            raise ArgumentError(f"{word} must be of shape (..., {', '.join(map(str, shape))}), not {array.shape}")
        arrays.append(array)
    batch = jnp.broadcast_shapes(*(a.shape[: a.ndim - len(s)] for a, s in zip(arrays, function.shapes)))
    return value(*(jnp.broadcast_to(a, (*batch, *s)) for a, s in zip(arrays, function.shapes)))


class Run:
    """Steps of a model as a function of its state, parameters and inputs.

    steps: how many, of `step` [s]; params, inputs: names of what the function takes, columns: of what it gives (the states); method: one
    with fixed steps (docs/derivatives.md); threads: for batches, 0 one for each processor. A run without verified solution fails with
    NoSolutionError's words.
    """

    def __init__(self, model: Model, steps: int, step: float | None = None, **options: Any) -> None:
        self._function = derivatives.Run(model, steps, step, **options)
        self._value = _differentiable(self._function)
        self.columns = self._function.columns

    def __call__(self, state: Any = None, params: Any = None, inputs: Any = None) -> Any:
        """Rows (..., steps, columns) after each step. state: (..., states) at the beginning, None: the model's; params: (..., params),
        None: the model's; inputs: (..., steps, inputs), at the end of each step."""
        f = self._function
        return _apply(self._value, f, ("state", "params", "inputs"), f.defaults(state, params, inputs))[0]


class Step:
    """One step of a model, as Run with one step: columns (..., columns) of state, params, inputs (..., inputs)."""

    def __init__(self, model: Model, step: float | None = None, **options: Any) -> None:
        self._run = Run(model, 1, step, **options)
        self.columns = self._run.columns

    def __call__(self, state: Any = None, params: Any = None, inputs: Any = None) -> Any:
        return self._run(state, params, None if inputs is None else jnp.asarray(inputs)[..., None, :])[..., 0, :]


def lcp(M: Any, q: Any, lo: ArrayLike | None = None, hi: ArrayLike | None = None, *, method: str = "auto", tol: float | None = None) -> Any:
    """z (..., n) of w = M z + q, w >= 0, z >= 0, z'w = 0 (or of the mixed problem between lo and hi, (n), constant), as a function of
    M (..., n, n) and q (..., n). A problem that is not solved fails with NoSolutionError's words."""
    function = derivatives.Lcp(jnp.shape(q)[-1], lo, hi, method, tol)
    return _apply(_differentiable(function), function, ("M", "q"), (M, q))[0]


def friction(W: Any, q: Any, mu: Any, *, dimension: int = 3, method: str = "auto", tol: float | None = None) -> Any:
    """Impulses r and velocities u = W r + q (..., n) of contacts with exact Coulomb cones (perp.friction), as functions of W (..., n, n),
    q (..., n) and mu (..., contacts)."""
    function = derivatives.Friction(jnp.shape(q)[-1] // dimension, dimension, method, tol)
    return _apply(_differentiable(function), function, ("W", "q", "mu"), (W, q, mu))
