"""perp.sweep: the numbers of the command, whatever becomes of the workers."""

import os
import signal
from pathlib import Path

import numpy as np
import perp
import pytest
from perp import sweeps

BLOCK = """model block
param m = 1 "kg", mu = 0.6 in [0, 2], g = 9.81 "m/s^2"
input F = 0 "N"
state x = 0 "m", v = 1 "m/s"
var f "N"
der(x) = v
m*der(v) = F + f
-mu*m*g <= f <= mu*m*g perp v
simulate to 0.5 step 1e-3 method backward-euler
"""
VARY = {"mu": "0.1:0.9:4", "m": "normal(1, 0.05)", "v": [0.5, 1.0]}
OPTIONS = {"samples": 20, "design": "sobol", "seed": 3, "keep": ["final(x)", "first(t where v = 0)"]}


@pytest.fixture(autouse=True)
def command():
    try:
        sweeps.program()
    except perp.FileError:
        pytest.skip("this build has no command")


def table(folder):
    return (Path(folder) / "table.csv").read_bytes()


def by_command(tmp_path, *more):
    import subprocess

    (tmp_path / "model.perp").write_text(BLOCK)
    vary = [word for name, points in VARY.items() for word in ("--vary", f"{name}={points if isinstance(points, str) else '0.5,1.0'}")]
    given = ["--samples", "20", "--design", "sobol", "--seed", "3", "--keep", "final(x),first(t where v = 0)", *more]
    command = [sweeps.program(), "sweep", "model.perp", *vary, *given, "-o", "expected", "--quiet"]
    subprocess.run(command, cwd=tmp_path, check=True)
    return table(tmp_path / "expected")


def test_it_has_the_numbers_of_the_command(tmp_path):
    expected = by_command(tmp_path)
    m = perp.Model(BLOCK, "model.perp")
    for processes in (1, 3):
        study = perp.sweep(m, VARY, **OPTIONS, processes=processes, folder=tmp_path / f"of {processes}")
        assert table(study.folder) == expected
    assert len(study) == 160 and set(study.outcome) == {"verified"} and study.units["final(x)"] == "m"
    alone = perp.Model(BLOCK).simulate(mu=study["mu"][77], m=study["m"][77], v=study["v"][77])
    assert alone.x[-1] == study["final(x)"][77]
    assert (tmp_path / "of 1" / "journal.jsonl").exists() and (tmp_path / "of 3" / "journal-2-of-3.jsonl").exists()


def test_what_a_model_was_given_holds(tmp_path):
    expected = by_command(tmp_path, "--set", "g=3.0", "--set", "F=0.5")
    study = perp.sweep(perp.Model(BLOCK, g=3, F=0.5), VARY, **OPTIONS, processes=2, folder=tmp_path / "ours")
    assert table(study.folder) == expected
    t = np.linspace(0, 1, 11)
    driven = perp.Model(BLOCK, F=(t, 8 * t))
    study = perp.sweep(driven, {"mu": [0.2, 0.4]}, "final(x)", processes=2)
    assert np.array_equal(study["final(x)"], [driven.simulate(mu=mu).x[-1] for mu in (0.2, 0.4)]) and study.folder is None


def test_plans_and_identifications_may_be_swept(tmp_path):
    slide = perp.Model(
        "model slide\nparam m = 1\ninput u in [-8, 8]\nstate x = 0, v = 0\nder(x) = v\nm*der(v) = u\n"
        "plan { horizon 2\n nodes 11\n minimize integral(u^2)\n at end: x = 1, v = 0\n }\n"
    )
    plans = perp.sweep(slide, {"m": [1, 2, 9]}, task="plan", processes=2)
    assert list(plans.outcome[:2]) == [plans.outcome[0]] * 2 and plans.outcome[2] != plans.outcome[0]
    assert plans["cost"][1] == pytest.approx(4 * plans["cost"][0]) and np.isnan(plans["cost"][2])
    line = perp.Model(
        "model line\nparam k = 1 in [0, 9], c = 1\nstate x = 0\nder(x) = c*k\nidentify { estimate k\n measure x noise 0.1\n }\n"
        "simulate to 2 step 0.5 method backward-euler\n"
    )
    (tmp_path / "run.csv").write_text("t,x\n0,0\n0.5,1\n1,2\n1.5,3\n2,4\n")
    fits = perp.sweep(line, {"c": [1, 2]}, "k", task="identify", data=tmp_path / "run.csv")
    assert fits["k"] == pytest.approx([2, 1])


def test_a_process_that_is_killed_goes_on(tmp_path):
    n = 40000  # long enough that processes are seen at work, however fast the machine
    m, vary = perp.Model(BLOCK), {"mu": f"0.1:0.9:{n}"}
    expected = perp.sweep(m, vary, processes=1, folder=tmp_path / "one")
    killed, done = [], []

    def kill(jobs):
        done.append(jobs)
        for pid in children():
            if len(killed) < 3 and 0 < jobs < n and pid not in killed:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    study = perp.sweep(m, vary, processes=2, folder=tmp_path / "two", progress=kill)
    assert killed and table(study.folder) == table(expected.folder) and done[-1] == n


def children():
    """Processes of the command that this one began."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = stat.read_text().rsplit(")", 1)
        except OSError:
            continue
        if int(rest.split()[1]) == os.getpid() and name.endswith("(perp"):
            yield int(stat.parent.name)


def test_ctrl_c_keeps_what_is_done(tmp_path):
    m, vary = perp.Model(BLOCK, "m.perp"), {"mu": "0.1:0.9:4000"}

    def interrupt(jobs):
        if jobs > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        perp.sweep(m, vary, processes=2, folder=tmp_path / "study", progress=interrupt)
    assert not list(children())
    with pytest.raises(perp.ArgumentError, match="resume=True"):
        perp.sweep(m, vary, processes=2, folder=tmp_path / "study")
    before = (tmp_path / "study" / "journal-1-of-2.jsonl").read_bytes()
    study = perp.sweep(m, vary, folder=tmp_path / "study", resume=True)
    assert (tmp_path / "study" / "journal-1-of-2.jsonl").read_bytes().startswith(before)
    assert np.array_equal(study["final(x)"], perp.sweep(m, vary)["final(x)"])
    with pytest.raises(perp.Error, match="another sweep: 'vary'"):
        perp.sweep(m, {"mu": "0.2:0.9:4000"}, folder=tmp_path / "study", resume=True)


def test_errors_are_the_commands(tmp_path):
    with pytest.raises(perp.ArgumentError, match="nu"):
        perp.sweep(perp.Model(BLOCK), {"nu": "0:1:3"}, processes=2)
    with pytest.raises(perp.ArgumentError, match="lhz"):
        perp.sweep(perp.Model(BLOCK), {"mu": "0:1"}, design="lhz")
    falls = "model x\nparam a = 1\nstate x = a\nvar y\nder(x) = -1\n0 <= y perp x - y >= 0\nsimulate to 2 step 0.1 method backward-euler\n"
    study = perp.sweep(perp.Model(falls), {"a": [1.0, 3.0]}, "final(x)", processes=2)
    assert study.outcome.tolist() == ["no solution", "verified"] and "t = " in study.reason[0] and np.isnan(study["final(x)"][0])


def test_a_cluster_has_the_same_numbers_though_a_worker_dies(tmp_path):
    distributed = pytest.importorskip("distributed")
    expected = perp.sweep(perp.Model(BLOCK), {"mu": "0.1:0.9:4000"}, processes=1, folder=tmp_path / "one")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        killed = []

        def kill(jobs):
            if not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        study = perp.sweep(perp.Model(BLOCK), {"mu": "0.1:0.9:4000"}, folder=tmp_path / "dask", client=client, progress=kill)
    assert killed and table(study.folder) == table(expected.folder)
    journals = sorted((tmp_path / "dask").glob("journal-*-of-8.jsonl"))
    assert len(journals) == 8
    journals[2].unlink()
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        perp.sweep(perp.Model(BLOCK), {"mu": "0.1:0.9:4000"}, folder=tmp_path / "dask", client=client, resume=True)
        assert table(tmp_path / "dask") == table(expected.folder)
        with pytest.raises(perp.Error, match="another sweep"):
            perp.sweep(perp.Model(BLOCK), {"mu": "0.2:0.9:4000"}, folder=tmp_path / "dask", client=client, resume=True)
