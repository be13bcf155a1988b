"""The package perp as a user meets it."""

import gc
import math
import os
import pickle
import re
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
import tracemalloc
from pathlib import Path

import numpy as np
import perp
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"

BLOCK = """model block
param m = 1 "kg", mu = 0.6 in [0, 2], g = 9.81 "m/s^2"
input F in [-40, 40] "N"
state x = 0 "m", v = 1 "m/s"
var f "N"
der(x) = v
m*der(v) = F + f
-mu*m*g <= f <= mu*m*g perp v
simulate to 2 step 1e-3 method backward-euler
"""


def block(**values):
    return perp.Model(BLOCK, **values)


# Models -----------------------------------------------------------------------------------------


def test_a_model_says_what_it_has():
    m = block()
    assert [s.name for s in m.params] == ["m", "mu", "g"]
    mu = m.params[1]
    assert (mu.value, mu.lo, mu.hi, mu.line) == (0.6, 0, 2, 2)
    assert [s.name for s in m.states] == ["x", "v"] and m.states[0].unit == "m"
    assert [s.name for s in m.inputs] == ["F"] and [s.name for s in m.vars] == ["f"] and m.outputs == ()
    assert "2 states" in repr(m)


def test_errors_carry_their_place():
    with pytest.raises(perp.ModelError) as e:
        perp.Model("model x\nstate x = 0\nder(x) = y\nsimulate to 1 step 0.1\n", name="x.perp")
    assert (e.value.file, e.value.line, e.value.column) == ("x.perp", 3, 10)
    assert e.value.message == "unknown name 'y'"
    with pytest.raises(perp.FileError, match="nowhere.perp"):
        perp.Model("nowhere.perp")
    with pytest.raises(perp.ModelError, match="not a text file"):
        perp.Model("/dev/zero")
    with pytest.raises(perp.ArgumentError, match="did you mean 'mu'"):
        block(nu=1)
    with pytest.raises(perp.ArgumentError, match="to is not a number"):
        block().simulate(F=0, to=float("nan"))
    with pytest.raises(ValueError):
        block().simulate(F=0, method="euler")


def test_values_that_follow_are_computed_again():
    m = perp.Model("model x\nparam a = 1, b = 2*a\nstate x = b\nder(x) = 0\nsimulate to 1 step 1\n")
    assert m.simulate(a=3).x[0] == 6
    assert m.simulate().x[0] == 2  # what a run was given is the run's
    assert m.set(a=5).simulate().x[0] == 10


# Runs -------------------------------------------------------------------------------------------


def test_a_run_is_the_commands_run(tmp_path):
    program = os.environ.get("PERP_CLI")
    if not program:
        pytest.skip("PERP_CLI is not set")
    file = EXAMPLES / "notes" / "particle.perp"
    subprocess.run([program, "simulate", file, "-o", tmp_path / "run.csv", "--quiet"], check=True, capture_output=True)
    theirs, ours = perp.read(tmp_path / "run.csv"), perp.Model(file).simulate()
    assert theirs.columns == ours.columns
    for name in ours:
        assert np.array_equal(theirs[name], ours[name], equal_nan=True), name


def test_the_block_stops_and_sticks():
    run = block().simulate(F=0)
    t = 1 / (0.6 * 9.81)
    assert abs(run.x[-1] - t / 2) < 1e-3
    assert run.v[-1] == 0  # sticking is exact
    assert run.worst_residual < 1e-9 and len(run) == 2001


def test_a_model_without_method_takes_one_that_fits():
    pendulum = perp.Model("state th = 2, w = 0\nder(th) = w\nder(w) = -9.81*sin(th)\nsimulate to 1 step 0.01\n")
    assert np.array_equal(pendulum.simulate().th, pendulum.simulate(method="radau5").th)
    assert not np.array_equal(pendulum.simulate().th, pendulum.simulate(method="backward-euler").th)


def test_columns_are_views_that_keep_their_memory():
    run = block().simulate(F=0)
    x = run["x"]
    assert x.base is not None and np.shares_memory(x, run._data) and run.x is not x and np.shares_memory(run.x, x)
    copy = x.copy()
    del run
    gc.collect()
    junk = [np.full(2001, 7.0) for _ in range(50)]
    assert np.array_equal(x, copy) and len(junk) == 50


def test_arrays_of_the_model_are_arrays():
    run = perp.Model("model a\nstate r[2] = [1, 2]\nder(r[1]) = 0\nder(r[2]) = 0\nsimulate to 1 step 0.5\n").simulate()
    assert run["r"].shape == (2, 3) and np.array_equal(run["r"][1], run["r[2]"])
    with pytest.raises(KeyError, match="there are: t"):
        run["q"]
    with pytest.raises(AttributeError):
        _ = run.q


def test_inputs_may_be_functions_tables_and_numbers():
    of_time = block().simulate(F=lambda t: 20 * math.sin(t))
    t = np.arange(2002) * 1e-3
    table = block().simulate(F=(t, 20 * np.sin(t)))
    written = perp.Model(BLOCK.replace('input F in [-40, 40] "N"', 'input F = 20*sin(t) "N"')).simulate()
    assert np.array_equal(of_time.x, table.x)
    assert np.allclose(of_time.x, written.x, rtol=0, atol=1e-12)
    assert np.allclose(block().simulate(F=8.0, to=1).v[-1], 1 + 8 - 0.6 * 9.81)


def test_an_exception_of_an_input_is_the_callers():
    def bad(t):
        if t > 0.5:
            raise RuntimeError("sensor lost")
        return 0.0

    with pytest.raises(RuntimeError, match="sensor lost"):
        block().simulate(F=bad)


def test_a_step_without_solution_keeps_what_was_before():
    text = "model x\nstate x = 1\nvar y\nder(x) = -1\n0 <= y perp x - y >= 0\nsimulate to 2 step 0.1\n"
    with pytest.raises(perp.NoSolutionError) as e:
        perp.Model(text).simulate()
    assert 5 < len(e.value.run) < 21 and e.value.run.x[-1] > -0.2


def test_interrupts_leave_what_was_computed():
    m = block()
    with pytest.raises(KeyboardInterrupt) as e:
        m.simulate(F=1, to=1e4, progress=lambda done, steps: done > 1000 and os.kill(os.getpid(), signal.SIGINT))
    assert 1000 < len(e.value.run) < 10**7 and np.isfinite(e.value.run.x[-1])


def test_sensitivity_is_that_of_differences():
    run = block().simulate(F=10, follow=["mu", "m"])
    for name, value in (("mu", 0.6), ("m", 1.0)):
        h = 1e-5
        up, down = (block().simulate(**{"F": 10, name: value + s * h}) for s in (1, -1))
        assert np.allclose(run.sensitivity(name).x[1:], ((up.x - down.x) / (2 * h))[1:], rtol=1e-6, atol=1e-8)


def test_sensitivity_of_names_that_were_not_followed_runs_again():
    m = block(m=2)
    run = m.simulate(F=lambda t: 20 * math.sin(t), mu=0.3, method="radau5", to=1)
    expected = m.simulate(F=lambda t: 20 * math.sin(t), mu=0.3, method="radau5", to=1, follow=["mu", "v"])
    m.set(m=1)  # the run's model is as it was
    by = pickle.loads(pickle.dumps(run)).sensitivity(["mu", "v"])
    assert list(by) == ["mu", "v"]
    for name in by:
        assert np.array_equal(by[name].x, expected.sensitivity(name).x)
    with pytest.raises(perp.ArgumentError, match="'nu'"):
        run.sensitivity("nu")
    text = "model x\nparam c = 1\nstate x = c\nvar y\nder(x) = -1\n0 <= y perp x - y >= 0\nsimulate to 2 step 0.1 method backward-euler\n"
    with pytest.raises(perp.NoSolutionError) as e:
        perp.Model(text).simulate()
    assert np.allclose(e.value.run.sensitivity("c").x, 1)


def test_runs_are_written_and_read(tmp_path):
    run = block().simulate(F=0)
    run.to_csv(tmp_path / "run.csv")
    again = perp.read(tmp_path / "run.csv")
    assert again.columns == run.columns and again.units == run.units and np.array_equal(again.f, run.f, equal_nan=True)
    run.to_csv(tmp_path / "particle.perpbin")
    numbers, told = perp.read(tmp_path / "particle.perpbin"), {}
    assert numbers.columns == run.columns and numbers.units == run.units and np.array_equal(numbers.f, run.f, equal_nan=True)
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()
    code = page.split("```python\n")[1].split("```")[0]  # reads it without perp
    exec(code.replace("particle.perpbin", str(tmp_path / "particle.perpbin")), told)
    assert list(told["table"]) == run.columns and np.array_equal(told["table"]["f"], run.f, equal_nan=True)
    run.report(tmp_path / "run.html")
    assert (tmp_path / "run.html").read_text().lstrip().lower().startswith("<!doctype html")
    assert "<iframe" in run._repr_html_()


# A run in the hand ------------------------------------------------------------------------------


def test_a_loop_is_closed():
    sim = block(F=0).start()
    while sim.t < 2:
        sim.step(F=-30 * sim["x"] - 3 * sim["v"])
    assert sim["v"] == 0 and abs(30 * sim["x"]) < 0.6 * 9.81
    assert list(sim.state) == ["x", "v"] and sim.row().shape == (len(sim.columns),)


def test_moreau_has_columns_of_impulses(tmp_path):
    text = """param e = 0.5, m = 2 "kg"
state z = 1 "m", v = 0 "m/s"
var p "N"
der(z) = v
m*der(v) = p - m*9.81
0 <= p perp v + e*pre(v) >= 0 when z <= 0
simulate to 1 step 1e-3 method moreau
"""
    m = perp.Model(text)
    run = m.simulate(follow=["m"])
    impulse = run["impulse(p)"]
    assert run.units["impulse(p)"] == "N s" and run.columns[-1] == "impulse(p)"
    assert math.isnan(impulse[0]) and math.isclose(impulse[1:].max(), 2 * 1.5 * -run["v"].min(), rel_tol=1e-2)
    assert np.allclose(impulse[1:], 1e-3 * run["p"][1:], rtol=1e-12, atol=0)
    assert np.isnan(run.sensitivity("m")["impulse(p)"]).all() and not np.isnan(run.sensitivity("m").v).any()
    sim = m.start()
    assert "impulse(p)" in sim.columns and math.isnan(sim["impulse(p)"]) and sim.units["impulse(p)"] == "N s"
    for k in range(1, len(impulse)):
        sim.step()
        assert sim["impulse(p)"] == impulse[k] == sim.row()[-1]
    assert not any(name.startswith("impulse") for name in m.simulate(method="theta").columns)


def test_states_parameters_and_inputs_are_set():
    sim = block().start(step=1e-3)
    sim.state["v"], sim.param["mu"], sim.input["F"] = 2.0, 0.0, 1.0
    sim.step()
    assert math.isclose(sim["v"], 2 + 1e-3, rel_tol=1e-12)
    assert sim.param["mu"] == 0 and sim.input["F"] == 1
    for kind, name in ((sim.state, "y"), (sim.input, "G"), (sim.param, "nu")):
        with pytest.raises(perp.ArgumentError, match="there are"):
            kind[name] = 1.0
    with pytest.raises(perp.ArgumentError, match="there are: F"):
        sim.step(G=1.0)
    with pytest.raises(perp.ArgumentError):
        sim.state["x"] = math.nan


def test_snapshots_clones_and_resets_change_no_bit():
    sim = block(F=0).start(step=1e-3)

    def ahead(s):
        rows = []
        for k in range(200):
            s.step(F=5 * math.sin(0.1 * k))
            rows.append(s.row())
        return np.array(rows)

    first = ahead(sim)
    saved, other = sim.snapshot(), sim.clone()
    second = ahead(sim)
    assert np.array_equal(ahead(other), second)
    sim.restore(saved)
    assert np.array_equal(ahead(sim), second)
    sim.reset()
    assert np.array_equal(ahead(sim), first)
    with pytest.raises(perp.DataError):
        sim.restore(saved[:-1])
    sim.advance(sim.t + 0.00155)
    assert math.isclose(sim.t, 0.2 + 0.00155)


def test_copies_are_single_runs():
    n = 100
    copies = block(F=0).copies(n, step=1e-3)
    v = np.linspace(-2, 2, n)
    copies.state["v"] = v
    for k in range(3):
        copies.step(100, F=np.full(n, 5.0 * k))
    got = copies.gather("x", "v", "f")
    assert got.shape == (n, 3) and copies.outcomes() == ["ok"] * n and copies.gather().shape == (n, len(copies.columns))
    for i in (0, 37, 99):
        sim = block(F=0).start(step=1e-3)
        sim.state["v"] = v[i]
        for k in range(3):
            for _ in range(100):
                sim.step(F=5.0 * k)
        assert np.array_equal(got[i], [sim["x"], sim["v"], sim["f"]])
    copies.reset(np.arange(n) < 50)
    t = copies.gather("t")[:, 0]
    assert np.all(t[:50] == 0) and np.all(t[50:] > 0.29) and np.array_equal(copies.state["v"][:50], np.ones(50))
    with pytest.raises(perp.ArgumentError, match="there are: F"):
        copies.step(G=1.0)
    with pytest.raises(KeyError, match="there are: t"):
        copies.gather("z")


# Problems ---------------------------------------------------------------------------------------


def test_lcp_answers_with_a_word():
    s = perp.lcp([[2, 1], [1, 2]], [-5, -6])
    assert s and s.outcome == "solved" and np.allclose(s.z, [4 / 3, 7 / 3]) and s.error < 1e-10
    assert perp.lcp([[2, -2], [-2, 2]], [0, -2]).outcome == "infeasible"
    assert np.array_equal(perp.lcp([[2, 1], [1, 2]], [-5, -6], [0, 0], [1, 1]).z, [1, 1])
    assert np.allclose(perp.lcp([[1, 2], [0, 1]], [-4, -1]).w, 0)  # rows are rows
    with pytest.raises(perp.ArgumentError, match="did you mean 'lemke'"):
        perp.lcp([[1]], [1], method="lemk")
    with pytest.raises(perp.ArgumentError, match="2 x 2"):
        perp.lcp([[1]], [1, 2])


def test_batches_are_single_solves():
    rng = np.random.default_rng(7)
    A = rng.normal(size=(200, 4, 4))
    M, q = A @ A.swapaxes(1, 2) + 0.1 * np.eye(4), rng.normal(size=(200, 4))
    z, words = perp.lcp_batch(M, q)
    assert words.tolist() == ["solved"] * 200
    for k in range(200):
        assert np.allclose(z[k], perp.lcp(M[k], q[k]).z, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_batches_are_the_same_in_any_order_of_memory(n):
    rng = np.random.default_rng(8)
    count = 5000  # several pieces
    A = rng.normal(size=(count, n, n))
    M, q = np.eye(n) + A - A.swapaxes(1, 2), rng.normal(size=(count, n))
    z, words = perp.lcp_batch(M, q)
    columns = M.swapaxes(1, 2).copy().swapaxes(1, 2)
    for other in (columns, np.repeat(M, 2, axis=0)[::2]):
        again = perp.lcp_batch(other, q)
        assert np.array_equal(again[0], z) and np.array_equal(again[1], words)
    w = np.einsum("kij,kj->ki", M, z) + q
    assert set(words) == {"solved"} and np.abs(np.minimum(z, w)).max() < 1e-9 and perp.lcp_batch(M[:0], q[:0])[0].shape == (0, n)


def test_mcp_does_not_take_lost_data_for_none():
    rows = ["x1 - x2", "x2 - 2 - x1", "x3 - x1 - 1e12"]  # no solution, though all are 0 in doubles at 2e16
    free = [-np.inf] * 3

    def jac(z):
        return [[1, -1, 0], [-1, 1, 0], [-1, 0, 1]]

    def function(z):
        return [z[0] - z[1], z[1] - 2 - z[0], z[2] - z[0] - 1e12]

    for start in (1e13, 2e16, 1e20):
        assert perp.mcp(rows, [start] * 3, lo=free).outcome == "limit"
        assert perp.mcp(rows[::-1], [start] * 3, lo=free).outcome == "limit"
        assert perp.mcp(function, [start] * 3, lo=free, jac=jac).outcome == "limit"
        assert perp.mcp(function, [start] * 3, lo=free).outcome == "limit"
    large = perp.mcp(["x1 - 1e16", "x2 - 2 - x1"], [0, 0], lo=free[:2])
    assert large.outcome == "solved" and large.z[1] - large.z[0] == 2


def test_mcp_of_functions_and_of_text():
    by_text = perp.mcp(["x1^2 - 2", "x2 - x1"], [1, 1])
    exact = perp.mcp(lambda z: [z[0] ** 2 - 2, z[1] - z[0]], [1, 1], jac=lambda z: [[2 * z[0], 0], [-1, 1]])
    differences = perp.mcp(lambda z: [z[0] ** 2 - 2, z[1] - z[0]], [1, 1])
    for s in (by_text, exact, differences):
        assert s.solved and np.allclose(s.z, math.sqrt(2), rtol=1e-9)
    with pytest.raises(ZeroDivisionError):
        perp.mcp(lambda z: [1 / 0], [1])


def test_friction_knows_stick_and_slip():
    slip = perp.friction(np.eye(3), [-1, 2, 0], 0.5)
    assert slip.solved and np.allclose(slip.z, [1, -0.5, 0]) and np.allclose(slip.w, [0, 1.5, 0])
    stick = perp.friction(np.eye(4), [-1, 0.2, -2, -0.5], [0.5, 0.5], dimension=2)
    assert stick.solved and np.allclose(stick.w, 0, atol=1e-9)
    with pytest.raises(perp.ArgumentError):
        perp.friction(np.eye(4), [1, 2, 3, 4], 0.5)


# Plans and identification -----------------------------------------------------------------------


def test_a_plan_is_found_and_guesses():
    m = perp.Model(EXAMPLES / "control" / "double_integrator.perp")
    seen = []
    plan = m.plan(progress=lambda i, cost, off: seen.append(i))
    assert plan.holds and math.isclose(plan.cost, 12, rel_tol=1e-6) and plan.outcome == "global" and seen
    again = m.plan(guess=plan, nodes=21)
    assert math.isclose(again.cost, 12, rel_tol=1e-2) and len(again) == 21
    with pytest.raises(perp.ArgumentError, match="unknown option 'node'"):
        m.plan(node=3)
    with pytest.raises(KeyError, match="no"):
        m.plan(progress=lambda *_: {}["no"])


def test_parameters_are_identified():
    m = perp.Model(EXAMPLES / "identify" / "block.perp")
    fit = m.identify(EXAMPLES / "identify" / "block.csv")
    low, high = fit.interval("mu")
    assert low < fit.mu < high and fit.parameters["mu"].has_interval and fit.covariance.shape == (2, 2)
    data = perp.read(EXAMPLES / "identify" / "block.csv")
    assert m.identify([{c: data[c] for c in data}]).mu == fit.mu
    assert m.identify(EXAMPLES / "identify" / "block.csv", integrator="theta").mu != fit.mu
    with pytest.raises(perp.ArgumentError, match="unknown integrator 'thet'; did you mean 'theta'"):
        m.identify(EXAMPLES / "identify" / "block.csv", integrator="thet")
    with pytest.raises(perp.DataError):
        m.identify([{"t": [0, 1, 0.5], "x": [0, 0, 0]}])


def test_the_documentation_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    for page in ("docs/python.md", "README.md"):
        text = Path(page).read_text()
        blocks = re.findall(r"```python\n(?!import torch)(.*?)```", text, re.S) + re.findall(r"\n    import perp\n    run = .*?\n", text)
        assert blocks, page
        exec(compile("\n".join(map(textwrap.dedent, blocks)), page, "exec"), {})


# The process ------------------------------------------------------------------------------------


def test_nothing_leaks():
    m, more = block(F=0), 100 if os.environ.get("PERP_LONG") else 1  # then 1e5 in all

    def once():
        for _ in range(150 * more):
            m.start(step=1e-3).step()
            perp.lcp([[2, 1], [1, 2]], [-5, -6])
        for _ in range(10 * more):
            m.simulate(to=0.01)
            with pytest.raises(perp.Error):
                perp.Model("model x\nstate")
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    once()
    before = once()
    for _ in range(5):
        after = once()
    tracemalloc.stop()
    assert after[0] - before[0] < 2000 and after[1] - before[1] < 2000  # kB of the process, bytes of Python


def test_threads_have_the_numbers_of_one():
    expected = block().simulate(F=3).x
    results = [None] * 8

    def work(i):
        m = block()
        results[i] = all(np.array_equal(m.simulate(F=3).x, expected) for _ in range(5))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert results == [True] * 8


def test_other_threads_run_beside_a_long_one():
    ticks = []
    thread = threading.Thread(target=lambda: block().simulate(F=1, to=300))
    thread.start()
    while thread.is_alive():
        ticks.append(time.perf_counter())
        time.sleep(0.002)
    assert len(ticks) > 3


def test_models_and_runs_are_pickled():
    m = block(F=2)
    run = m.simulate(to=0.1)
    again = pickle.loads(pickle.dumps(run))
    assert np.array_equal(again.x, run.x) and np.array_equal(again.model.simulate(to=0.1).x, run.x)


def test_a_fork_after_import_works():
    m = block(F=2)
    expected = float(m.simulate(to=0.1).x[-1])
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, repr(float(m.simulate(to=0.1).x[-1])).encode())
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert float(os.read(read, 100)) == expected


def test_it_is_the_command_too():
    done = subprocess.run([sys.executable, "-m", "perp", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and perp.__version__ in done.stdout


def test_arrays_of_wrong_shapes_do_not_reach_c():
    from perp.derivatives import Lcp, Run

    run = Run(block(), 5, inputs=["F"])
    state, u = np.zeros((3, 2)), np.zeros((3, 5, 1))
    for wrong in ([state, np.zeros((3, 0)), u[:, :4]], [state, np.zeros((3, 0)), u[:2]]):
        with pytest.raises(perp.ArgumentError, match="shapes"):
            run.value(wrong)
    for wrong in (state, np.zeros((2, 5, 2))):
        with pytest.raises(perp.ArgumentError, match="shapes"):
            run.vjp([state, np.zeros((3, 0)), u], [wrong])
    with pytest.raises(perp.ArgumentError, match="shapes"):
        Lcp(2).vjp([np.ones((1, 2, 2)), np.ones((1, 2))], [np.ones((1, 1))])


def test_derivatives_go_through_events():
    from perp.derivatives import Run

    run = Run(perp.Model(ROOT / "tests/data/events/ball.perp"), 60, step=0.02, params=["e"])  # it bounces three times
    state, e, u = run.start[None], run.params[None], np.zeros((1, 60, 0))
    (along,) = run.jvp([state, e, u], [np.zeros_like(state), np.ones_like(e), u])
    more, less = (run.value([state, e + d, u])[0] for d in (1e-6, -1e-6))
    assert abs(along[0, -1, 0]) > 1
    np.testing.assert_allclose(along[0, -1], (more - less)[0, -1] / 2e-6, rtol=1e-6, atol=1e-8)
    weight = np.zeros_like(more)
    weight[0, -1, 0] = 1
    assert run.vjp([state, e, u], [weight])[1][0, 0] == pytest.approx(along[0, -1, 0], rel=1e-6)


def test_memory_is_limited():
    gc.collect()
    before = perp.memory_held()
    model = perp.Model("state x[2000] = 1\nder(x) = -x\nsimulate to 1 step 0.1\n", "large")
    assert perp.memory_held() > before + 10000
    perp.limit_memory(perp.memory_held() + 10000)
    try:
        with pytest.raises(MemoryError):
            model.simulate()
    finally:
        perp.limit_memory()
    assert model.simulate().t[-1] == 1
    del model
    gc.collect()
    assert perp.memory_held() == before


def test_impacts_of_a_bouncing_ball():
    m = perp.Model(
        """model ball
param m = 2 "kg", e = 0.5, g = 9.81 "m/s^2"
state z = 1 "m", v = 0 "m/s"
var p "N"
der(z) = v
m*der(v) = p - m*g
0 <= p perp v + e*pre(v) >= 0 when z <= 0
simulate to 1 step 1e-2 method radau5
"""
    )
    sim, all_of = m.start(), []
    while sim.t < 0.95:
        sim.step()
        all_of += sim.impacts
    assert m.simulate().impacts[:2] == all_of and m.simulate(to=0.4).impacts == []
    v, fall = math.sqrt(2 * 9.81), math.sqrt(2 / 9.81)
    assert len(all_of) == 2
    first, second = all_of
    assert isinstance(first, perp.Impact) and first.friction == 0
    assert (first.contact, first.bodies, first.unit) == ("p", "", "N s")
    assert first.time == pytest.approx(fall, rel=1e-9)
    assert second.time == pytest.approx(2 * fall, rel=1e-9)
    assert first.impulse == pytest.approx(2 * 1.5 * v, rel=1e-9)
    assert second.impulse == pytest.approx(1.5 * v, rel=1e-9)
    assert first.energy == pytest.approx(v * v * 0.75, rel=1e-8)
