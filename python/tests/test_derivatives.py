"""perp.derivatives, which perp.jax and perp.torch wrap: beside closed forms and central differences. numpy only."""

import numpy as np
import perp
import pytest
from perp.derivatives import Friction, Lcp, Run

BLOCK = "model block\nparam mu = 0.3\nstate x = 0, v = 1\nvar f\nder(x) = v\nder(v) = f\n-mu <= f <= mu perp v\nsimulate to 1 step 0.01"


def definite(rng, count, n):
    A = rng.normal(size=(count, n, n))
    return A @ A.swapaxes(1, 2) + np.eye(n)


def compare(function, arguments, seed, accuracy=1e-6):
    """jvp beside central differences, along each argument alone; vjp beside jvp: weights'jvp(changes) = changes'vjp(weights)."""
    rng, step = np.random.default_rng(seed), 1e-6
    weights = [rng.normal(size=r.shape) for r in function.value(arguments)]
    gradient = function.vjp(arguments, weights)
    for k, argument in enumerate(arguments):
        changes = [np.zeros_like(a) for a in arguments]
        changes[k] = rng.normal(size=argument.shape)
        more, less = (function.value([a + s * c for a, c in zip(arguments, changes)]) for s in (step, -step))
        along = function.jvp(arguments, changes)
        for slope, high, low in zip(along, more, less):
            np.testing.assert_allclose(slope, (high - low) / (2 * step), rtol=accuracy, atol=accuracy)
        forward = sum((w * a).sum() for w, a in zip(weights, along))
        assert forward == pytest.approx((changes[k] * gradient[k]).sum(), rel=1e-9, abs=1e-11)


def modes(u, r, dimension):
    """o: open, s: sticks, l: slides; a letter per contact."""
    contacts = zip(r.reshape(-1, dimension), u.reshape(-1, dimension))
    return {"o" if not a[0] else "s" if np.abs(b).max() < 1e-9 else "l" for a, b in contacts}


# Of one contact with W = 2, q = (-4, 5, 0), mu = 0.5: r_n = 2, r_t = -mu r_n = -1, u_t = 5 - 2 = 3.
def test_a_sliding_contact_has_its_closed_form():
    function = Friction(1, 3, tol=1e-12)
    W, q, mu = 2 * np.eye(3)[None], np.array([[-4.0, 5, 0]]), np.array([[0.5]])
    none = [np.zeros_like(W), np.zeros_like(q), np.zeros_like(mu)]
    np.testing.assert_allclose(function.value([W, q, mu]), [[[2, -1, 0]], [[0, 3, 0]]], atol=1e-12)

    def along(**change):
        changes = [change.get(name, zero) for name, zero in zip(("W", "q", "mu"), none)]
        return [a[0] for a in function.jvp([W, q, mu], changes)]

    by_mu = along(mu=np.array([[1.0]]))  # r_t = -mu r_n
    np.testing.assert_allclose(by_mu, [[0, -2, 0], [0, -4, 0]], atol=1e-12)
    by_normal = along(q=np.array([[1.0, 0, 0]]))  # r_n = -q_n/2, r_t = q_n/4
    np.testing.assert_allclose(by_normal, [[-0.5, 0.25, 0], [0, 0.5, 0]], atol=1e-12)
    by_side = along(q=np.array([[0, 0, 1.0]]))  # the force turns with u_T = (3, y): r_y = -y/3, y = 1 + 2 r_y
    np.testing.assert_allclose(by_side, [[0, 0, -0.2], [0, 0, 0.6]], atol=1e-12)
    gradient = function.vjp([W, q, mu], [np.zeros((1, 3)), np.array([[0, 1.0, 0]])])  # of u_t = q_t + mu q_n
    np.testing.assert_allclose(gradient[1], [[0.5, 1, 0]], atol=1e-12)
    np.testing.assert_allclose(gradient[2], [[-4]], atol=1e-12)


@pytest.mark.parametrize("dimension", [2, 3])
def test_friction_has_the_derivatives_of_differences(dimension):
    rng, seen = np.random.default_rng(dimension), set()
    function = Friction(2, dimension, tol=1e-13)
    for seed in range(12):
        n = 2 * dimension
        arguments = [definite(rng, 3, n), 3 * rng.normal(size=(3, n)), rng.uniform(0.2, 1.2, size=(3, 2))]
        r, u = function.value(arguments)
        seen |= modes(u, r, dimension)
        compare(function, arguments, seed, accuracy=1e-5)
    assert seen == {"o", "s", "l"}


def test_lcps_have_the_derivatives_of_differences():
    rng = np.random.default_rng(5)
    arguments = [definite(rng, 4, 3), rng.normal(size=(4, 3))]
    arguments[0] += 0.3 * rng.normal(size=(4, 3, 3))  # not symmetric: rows and columns differ
    compare(Lcp(3, tol=1e-13), arguments, 1)
    compare(Lcp(3, lo=[-0.1, -np.inf, 0], hi=[0.2, np.inf, np.inf], tol=1e-13), arguments, 2)


def test_runs_have_the_derivatives_of_differences():
    run = Run(perp.Model(BLOCK), 20, params=["mu"], columns=["x", "v"], method="backward-euler")
    arguments = [np.array([[0.0, 1.0], [2.0, -1.5]]), np.array([[0.3], [0.5]]), np.zeros((2, 20, 0))]
    compare(run, arguments, 3)


def test_a_column_that_is_asked_for_twice_counts_twice():
    model = perp.Model(BLOCK)
    arguments = [np.array([[0.0, 1.0]]), np.zeros((1, 0)), np.zeros((1, 5, 0))]
    once, twice = (Run(model, 5, columns=c, method="backward-euler") for c in (["x"], ["x", "x"]))
    weight = np.arange(1.0, 6)[None, :, None]
    both = twice.vjp(arguments, [np.concatenate([weight, 3 * weight], axis=2)])
    for one, all_ in zip(once.vjp(arguments, [weight]), both):
        np.testing.assert_allclose(all_, 4 * one, rtol=1e-12)


def test_impulses_that_are_not_unique_have_no_derivative():
    rng = np.random.default_rng(7)
    J = np.tile(rng.normal(size=(3, 6)), (2, 1))  # two contacts in one place
    arguments = [(J @ J.T)[None], np.tile([-1.0, 0.01, 0], 2)[None], np.ones((1, 2))]
    function = Friction(2, 3, method="ipm")  # which shares the impulse between them
    r, u = function.value(arguments)
    assert r[0, 0] > 0.1 and r[0, 3] > 0.1
    for call, given in ((function.jvp, arguments), (function.vjp, [r, u])):
        with pytest.raises(perp.NoSolutionError, match="not unique"):
            call(arguments, given)
