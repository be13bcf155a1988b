"""perp as differentiable functions of torch tensors (needs torch): forward and reverse mode, batches, vmap; float64 on the CPU.

    import perp.torch
    run = perp.torch.Run(model, steps=200, step=1e-3, params=["mu"], inputs=["F"])
    rows = run(state, params, inputs)           # (..., 200, states)
    z = perp.torch.lcp(M, q)                    # (..., n)

docs/python.md says what derivatives are at kinks. There are no second derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from . import derivatives
from ._library import ArgumentError

if TYPE_CHECKING:
    from .model import Model

Tensor = torch.Tensor


def _call(method: Any, arguments: Sequence[Tensor], *more: Sequence[Tensor]) -> tuple[Tensor, ...]:
    arrays = [[a.detach().numpy() for a in group] for group in (arguments, *more)]
    return tuple(torch.from_numpy(a.copy() if not a.flags.writeable else a) for a in method(*arrays))


def _mapped(function: Any, info: Any, in_dims: Any, *tensors: Any) -> tuple[Any, Any]:
    """A batch of batches is a batch."""
    size = info.batch_size
    moved = [t.expand(size, *t.shape) if d is None else t.movedim(d, 0) for t, d in zip(tensors, in_dims)]
    out = function(*(t.reshape(size * t.shape[1], *t.shape[2:]) for t in moved))
    return tuple(o.reshape(size, -1, *o.shape[1:]) for o in out), (0,) * len(out)


class _Linear(torch.autograd.Function):
    """A product with the Jacobian or its transpose; linear in the last tensors, but not differentiated again."""

    @staticmethod
    def forward(method: Any, n: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        return _call(method, tensors[:n], tensors[n:])

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *weights: Tensor) -> Any:
        raise NotImplementedError("perp has no second derivatives")

    @staticmethod
    def vmap(info: Any, in_dims: Any, method: Any, n: int, *tensors: Tensor) -> Any:
        return _mapped(lambda *t: _Linear.apply(method, n, *t), info, in_dims[2:], *tensors)


class _Value(torch.autograd.Function):
    @staticmethod
    def forward(function: Any, *arguments: Tensor) -> tuple[Tensor, ...]:
        return _call(function.value, arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.function = inputs[0]
        ctx.save_for_backward(*inputs[1:])
        ctx.save_for_forward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, *weights: Tensor) -> Any:
        arguments = ctx.saved_tensors
        return (None, *_Linear.apply(ctx.function.vjp, len(arguments), *arguments, *weights))

    @staticmethod
    def jvp(ctx: Any, _: None, *changes: Any) -> Any:
        arguments = ctx.saved_tensors
        known = [torch.zeros_like(a) if c is None else c for a, c in zip(arguments, changes)]
        return _Linear.apply(ctx.function.jvp, len(arguments), *arguments, *known)

    @staticmethod
    def vmap(info: Any, in_dims: Any, function: Any, *arguments: Tensor) -> Any:
        return _mapped(lambda *t: _Value.apply(function, *t), info, in_dims[1:], *arguments)


def _apply(function: derivatives.Function, words: Sequence[str], arguments: Sequence[Any]) -> tuple[Tensor, ...]:
    """Batches of all arguments become one."""
    tensors = []
    for word, shape, value in zip(words, function.shapes, arguments):
        tensor = torch.as_tensor(value) if isinstance(value, Tensor) else torch.as_tensor(value, dtype=torch.float64)
        if tensor.dtype != torch.float64 or tensor.device.type != "cpu":
            raise ArgumentError(f"{word} is {tensor.dtype} on {tensor.device.type}; perp computes in float64 on the CPU: .double().cpu()")
        if tuple(tensor.shape[tensor.dim() - len(shape) :]) != shape or tensor.dim() < len(shape):
            raise ArgumentError(f"{word} must be of shape (..., {', '.join(map(str, shape))}), not {tuple(tensor.shape)}")
        tensors.append(tensor)
    batch = torch.Size(np.broadcast_shapes(*(t.shape[: t.dim() - len(s)] for t, s in zip(tensors, function.shapes))))
    flat = [t.expand(*batch, *s).reshape(batch.numel(), *s) for t, s in zip(tensors, function.shapes)]
    out = _Value.apply(function, *flat)
    return tuple(o.reshape(*batch, *s) for o, s in zip(out, function.results))


class Run:
    """Steps of a model as a function of its state, parameters and inputs.

    steps: how many, of `step` [s]; params, inputs: names of what the function takes, columns: of what it gives (the states); method: one
    with fixed steps (docs/derivatives.md); threads: for batches, 0 one for each processor. A run without verified solution raises
    NoSolutionError.
    """

    def __init__(self, model: Model, steps: int, step: float | None = None, **options: Any) -> None:
        self._function = derivatives.Run(model, steps, step, **options)
        self.columns = self._function.columns

    def __call__(self, state: Any = None, params: Any = None, inputs: Any = None) -> Tensor:
        """Rows (..., steps, columns) after each step. state: (..., states) at the beginning, None: the model's; params: (..., params),
        None: the model's; inputs: (..., steps, inputs), at the end of each step."""
        f = self._function
        return _apply(f, ("state", "params", "inputs"), f.defaults(state, params, inputs))[0]


class Step:
    """One step of a model, as Run with one step: columns (..., columns) of state, params, inputs (..., inputs)."""

    def __init__(self, model: Model, step: float | None = None, **options: Any) -> None:
        self._run = Run(model, 1, step, **options)
        self.columns = self._run.columns

    def __call__(self, state: Any = None, params: Any = None, inputs: Any = None) -> Tensor:
        return self._run(state, params, None if inputs is None else torch.as_tensor(inputs).unsqueeze(-2)).squeeze(-2)


def lcp(
    M: Any, q: Any, lo: ArrayLike | None = None, hi: ArrayLike | None = None, *, method: str = "auto", tol: float | None = None
) -> Tensor:
    """z (..., n) of w = M z + q, w >= 0, z >= 0, z'w = 0 (or of the mixed problem between lo and hi, (n), constant), as a function of
    M (..., n, n) and q (..., n). A problem that is not solved raises NoSolutionError."""
    n = int(torch.as_tensor(q).shape[-1])
    return _apply(derivatives.Lcp(n, lo, hi, method, tol), ("M", "q"), (M, q))[0]


def friction(W: Any, q: Any, mu: Any, *, dimension: int = 3, method: str = "auto", tol: float | None = None) -> tuple[Tensor, Tensor]:
    """Impulses r and velocities u = W r + q (..., n) of contacts with exact Coulomb cones (perp.friction), as functions of W (..., n, n),
    q (..., n) and mu (..., contacts)."""
    contacts = int(torch.as_tensor(q).shape[-1]) // dimension
    r, u = _apply(derivatives.Friction(contacts, dimension, method, tol), ("W", "q", "mu"), (W, q, mu))
    return r, u
