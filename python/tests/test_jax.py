"""perp.jax: derivatives beside differences, transforms; skipped where jax is not installed (make python-extras installs it)."""

from pathlib import Path

import numpy as np
import perp
import pytest

jax = pytest.importorskip("jax")
import perp.jax as pj  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(autouse=True)
def float64():
    jax.config.update("jax_enable_x64", True)


def block(**options):
    options = {"params": ["mu", "m"], "inputs": ["u"], "columns": ["x", "v", "f"], **options}
    return pj.Run(perp.Model(EXAMPLES / "identify" / "block.perp"), 20, 1e-2, **options)


def arguments(batch=()):
    rng = np.random.default_rng(4)
    return rng.normal(size=(*batch, 2)), np.array([0.3, 1.2]), rng.normal(size=(*batch, 20, 1))


def definite(rng, *shape):
    A = rng.normal(size=shape)
    return A @ A.swapaxes(-1, -2) + np.eye(shape[-1])


def test_without_float64_it_is_refused():
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(perp.ArgumentError, match="jax_enable_x64"):
        block()(*arguments())


@pytest.mark.parametrize("name", ["mechanics/conveyor", "mechanics/stribeck", "mechanics/square", "control/swing_up", "notes/particle"])
def test_runs_have_the_derivatives_of_differences(name):
    m = perp.Model(EXAMPLES / f"{name}.perp")
    rng, inputs = np.random.default_rng(3), [s.name for s in m.inputs]
    run = pj.Run(m, 8, 1e-2, inputs=inputs, method="backward-euler")
    state = np.array([s.value for s in m.states])
    state += 0.1 * rng.normal(size=state.shape)
    given = (state, rng.normal(size=(8, len(inputs)))) if inputs else (state,)
    check_grads(lambda *a: run(a[0], inputs=a[1] if inputs else None), given, order=1, modes=["fwd", "rev"])


def test_transforms():
    run, (state, params, u) = block(), arguments((6,))
    check_grads(run, (state, params, u), order=1, modes=["fwd", "rev"])
    rows = run(state, params, u)
    assert rows.shape == (6, 20, 3) and np.array_equal(jax.vmap(run, in_axes=(0, None, 0))(state, params, u), rows)
    one = (state[0], params, u[0])
    reverse, forward = (transform(run, argnums=(0, 1, 2))(*one) for transform in (jax.jacrev, jax.jacfwd))
    assert all(np.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in zip(reverse, forward))
    slope = jax.grad(lambda s, u: (run(s, params, u) ** 2).sum())
    assert np.array_equal(jax.jit(jax.vmap(slope))(state, u)[2], slope(state[2], u[2]))
    step = pj.Step(perp.Model(EXAMPLES / "identify" / "block.perp"), 1e-2, inputs=["u"])
    assert np.array_equal(step(state, inputs=u[:, 0]), block(params=[], columns=None)(state, inputs=u)[:, 0])


def test_problems_have_the_derivatives_of_differences():
    rng = np.random.default_rng(1)
    M, q = definite(rng, 5, 4, 4), rng.normal(size=(5, 4))
    check_grads(pj.lcp, (M, q), order=1, modes=["fwd", "rev"])
    check_grads(lambda q: pj.lcp(M, q, [-1, 0, -np.inf, 0], [1, 1, np.inf, 0.5]), (q,), order=1, modes=["fwd", "rev"])
    W, q, mu = definite(rng, 6, 6), rng.normal(size=(4, 6)), np.array([0.5, 1.3])
    check_grads(lambda *a: pj.friction(*a, tol=1e-12), (W, q, mu), order=1, modes=["fwd", "rev"])
    by = jax.vmap(jax.grad(lambda q: pj.friction(W, q, mu)[1].sum()))(q)
    assert np.allclose(by[1], jax.grad(lambda q: pj.friction(W, q, mu)[1].sum())(q[1]))


def test_what_cannot_be_done_is_said():
    state, params, u = arguments()
    with pytest.raises(perp.ArgumentError, match=r"\(..., 20, 1\)"):
        block()(state, params, u[:3])
    with pytest.raises(perp.ArgumentError, match="float64"):
        block()(state.astype(np.float32), params, u)
    with pytest.raises(Exception, match="infeasible"):
        pj.lcp(np.zeros((1, 1)), np.array([-1.0]))
