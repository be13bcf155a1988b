"""perp.torch: derivatives beside differences of runs; skipped where torch is not installed (make python-extras installs it)."""

import re
from pathlib import Path

import numpy as np
import perp
import pytest

torch = pytest.importorskip("torch")
import perp.torch as pt  # noqa: E402

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

# Of each model what is differentiated by beside its states and inputs.
MODELS = {
    "circuits/pipe": ["R"],
    "control/bounce": ["g"],
    "control/cylinder": [],
    "control/flip": ["m", "a", "mu", "g"],
    "control/hopper": [],
    "control/push_wall": [],
    "control/swing_up": [],
    "control/transport": [],
    "control/turbo": [],
    "identify/block": ["m", "mu", "g"],
    "mechanics/conveyor": ["m", "k", "mu"],
    "mechanics/cube": ["m", "mu"],
    "mechanics/disc": ["m", "r", "mu"],
    "mechanics/incline": ["m", "mu", "theta"],
    "mechanics/slider_crank": ["m", "mu", "fn"],
    "mechanics/square": ["mu"],
    "mechanics/stack": ["m1", "m2", "mu1", "mu2"],
    "mechanics/stribeck": ["mu_s", "mu_k", "v_s"],
    "mechanics/table": ["m", "mu"],
    "notes/particle": ["m", "mu"],
    "notes/sliding_direct": ["m", "mu", "g"],
    "notes/sliding_forward": ["m", "mu", "g"],
    "notes/sliding_mixed": ["m", "mu", "g"],
    "notes/sliding_one_line": ["m", "mu", "g"],
    "notes/sliding_traditional": ["m", "mu", "g"],
    "parts/buck": [],
    "parts/cradle": [],
}

BLOCK = EXAMPLES / "identify" / "block.perp"


def tensor(values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def definite(rng, *shape):
    A = rng.normal(size=shape)
    return tensor(A @ A.swapaxes(-1, -2) + np.eye(shape[-1]))


@pytest.mark.parametrize("name", MODELS)
def test_runs_have_the_derivatives_of_differences(name):
    m = perp.Model(EXAMPLES / f"{name}.perp")
    rng = np.random.default_rng(3)
    step = None if np.isfinite(m._options(m._c, {}).step) else 1e-2
    inputs = [s.name for s in m.inputs]
    run = pt.Run(m, 8, step, params=MODELS[name], inputs=inputs, method="backward-euler")
    start, params = run._function.start, run._function.params
    state = tensor(start + 0.1 * rng.normal(size=start.shape) * (1 + abs(start)))
    given = [state, tensor(params * (1 + 0.05 * rng.normal(size=params.shape))), tensor(rng.normal(size=(8, len(inputs))))]
    there = [k for k in range(3) if given[k].numel()]

    def rows(*some):
        return run(*(some[there.index(k)] if k in there else None for k in range(3)))

    assert torch.autograd.gradcheck(rows, [given[k] for k in there], check_forward_ad=True)


def test_batches_broadcast_and_are_mapped():
    run = pt.Run(perp.Model(BLOCK), 40, 1e-2, params=["mu", "m"], inputs=["u"], columns=["x", "v", "f"], threads=2)
    rng = np.random.default_rng(5)
    state, params, u = tensor(rng.normal(size=(60, 2))), tensor([0.3, 1.2]), tensor(rng.normal(size=(60, 40, 1)))
    rows = run(state, params, u)
    assert rows.shape == (60, 40, 3)
    rows.square().sum().backward()
    for k in (0, 31, 59):
        one = [x.detach().clone().requires_grad_() for x in (state[k], params, u[k])]
        alone = run(*one)
        assert torch.equal(alone, rows[k])  # to the last bit, whatever the threads
        alone.square().sum().backward()
        assert torch.equal(one[0].grad, state.grad[k]) and torch.equal(one[2].grad, u.grad[k])
    f = torch.func.vmap(run, in_dims=(0, None, 0))
    assert torch.equal(f(state, params, u), rows)
    reverse = torch.func.jacrev(run, argnums=(0, 1, 2))(state[0], params, u[0])
    forward = torch.func.jacfwd(run, argnums=(0, 1, 2))(state[0], params, u[0])
    assert all(torch.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in zip(reverse, forward))


def test_a_step_is_a_run_of_one_step():
    m = perp.Model(BLOCK)
    step, run = pt.Step(m, 1e-2, inputs=["u"]), pt.Run(m, 3, 1e-2, inputs=["u"])
    state, u = tensor([[0.0, 1.0], [1.0, -2.0]]), tensor([[[3.0], [2.0], [1.0]]] * 2)
    by_steps = state
    for k in range(3):
        by_steps = step(by_steps, inputs=u[:, k])
    assert torch.allclose(by_steps, run(state, inputs=u)[:, -1], rtol=1e-13, atol=0)
    assert torch.autograd.gradcheck(lambda s, u: step(s, inputs=u), (state, u[:, 0]), check_forward_ad=True)


def test_lcps_have_the_derivatives_of_differences():
    rng = np.random.default_rng(1)
    M, q = definite(rng, 5, 4, 4), tensor(rng.normal(size=(5, 4)))
    assert torch.autograd.gradcheck(pt.lcp, (M, q), check_forward_ad=True)
    lo, hi = [-1, 0, -np.inf, 0], [1, 1, np.inf, 0.5]
    assert torch.autograd.gradcheck(lambda M, q: pt.lcp(M, q, lo, hi), (M, q), check_forward_ad=True)
    assert np.allclose(pt.lcp(M, q)[2].detach(), perp.lcp(M[2].detach(), q[2].detach()).z)


@pytest.mark.parametrize("dimension, contacts", [(3, 2), (2, 3)])
def test_friction_has_the_derivatives_of_differences(dimension, contacts):
    rng = np.random.default_rng(2)
    n, mu = dimension * contacts, tensor(rng.uniform(0.5, 1.5, contacts))
    W, q = definite(rng, n, n), tensor(rng.normal(size=(8, n)))
    states = perp.friction(W.detach(), q[0].detach(), mu.detach(), dimension=dimension)
    r, u = pt.friction(W, q, mu, dimension=dimension)
    assert np.allclose(r[0].detach(), states.z) and np.allclose(u[0].detach(), states.w)
    normal, sliding = r.detach().reshape(-1, dimension), u.detach().reshape(-1, dimension)
    kinds = {(bool(a[0] > 1e-9), bool(b[1:].norm() > 1e-7)) for a, b in zip(normal, sliding)}
    assert {(True, True), (True, False), (False, True)} <= kinds  # slide, stick, open
    assert torch.autograd.gradcheck(lambda *a: pt.friction(*a, dimension=dimension, tol=1e-12), (W, q, mu), check_forward_ad=True)


def test_at_a_kink_it_is_that_of_one_side():
    z = tensor([[0.0, 1.0]])  # z = 0 and w = 0 at once: from one side 0, from the other -1
    (by_q,) = torch.autograd.grad(pt.lcp(torch.eye(2, dtype=torch.float64), z).sum(), z)
    assert by_q[0, 0] in (0, -1) and by_q[0, 1] == 0
    q = tensor([-1.0, 0.5, 0.0])  # sticking on the border of the cone is taken as sticking
    by_mu = torch.autograd.functional.jacobian(lambda mu: pt.friction(torch.eye(3, dtype=torch.float64), q, mu)[0], tensor([0.5]))
    assert torch.equal(by_mu, torch.zeros(3, 1, dtype=torch.float64))


def test_what_cannot_be_done_is_said():
    m = perp.Model(BLOCK)
    run = pt.Run(m, 5, 1e-2, inputs=["u"])
    u = torch.zeros(5, 1, dtype=torch.float64)
    with pytest.raises(perp.ArgumentError, match="float64"):
        run(torch.zeros(2, dtype=torch.float32), inputs=u)
    with pytest.raises(perp.ArgumentError, match=r"\(..., 5, 1\)"):
        run(inputs=u[:4])
    with pytest.raises(perp.ArgumentError, match="values must be given"):
        run()
    with pytest.raises(perp.ArgumentError, match="there are: u"):
        pt.Run(m, 5, 1e-2, inputs=["F"])
    with pytest.raises(perp.NoSolutionError, match="problem 1 of the batch"):
        pt.lcp(torch.tensor([[[1.0]], [[0.0]]], dtype=torch.float64), torch.tensor([[-1.0], [-1.0]], dtype=torch.float64))
    gone = perp.Model("model x\nstate x = 1\nvar y\nder(x) = -1\n0 <= y perp x - y >= 0\nsimulate to 2 step 0.1 method backward-euler\n")
    with pytest.raises(perp.NoSolutionError, match="run 1 of the batch"):
        pt.Run(gone, 5)(torch.tensor([[1.0], [0.05]], dtype=torch.float64))
    state = tensor([0.0, 1.0])
    (slope,) = torch.autograd.grad(run(state, inputs=u).sum(), state, create_graph=True)
    with pytest.raises(NotImplementedError, match="second"):
        slope.sum().backward()
    twice, q = tensor(np.tile(np.eye(3), (2, 2))), tensor([-1.0, 0, 0] * 2)  # two contacts at one place share their impulse anyhow
    with pytest.raises(perp.NoSolutionError, match="not unique"):
        pt.friction(twice, q, tensor([0.5, 0.5]), method="admm")[0].sum().backward()


def test_the_documentation_runs(monkeypatch):
    monkeypatch.chdir(EXAMPLES.parent)
    (block,) = re.findall(r"```python\n(import torch, perp.torch\n.*?)```", Path("docs/python.md").read_text(), re.S)
    names = {"perp": perp}
    exec(compile(block, "docs/python.md", "exec"), names)
    assert names["rows"].shape == (2, 200, 2) and names["mu"].grad < 0
