"""The same model at many points: shards of the command `perp sweep`, by processes here or workers of dask elsewhere."""

from __future__ import annotations

import csv
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import numpy as np
from numpy.typing import ArrayLike

from ._library import ArgumentError, Error, FileError, ModelError
from ._table import Table, read

if TYPE_CHECKING:
    import pandas

    from .model import Model

# Shards of a distributed engine for each thread of it: what a worker that dies takes with it is so much smaller.
_SHARDS_PER_THREAD = 4
# A process that is killed is begun again, this often.
_LIVES = 5

Points = Union[str, ArrayLike]


def program() -> Path:
    """The command, which is part of the package."""
    path = Path(__file__).parent / "bin" / "perp"
    if not path.exists():
        raise FileError("this build of the package has no command beside it; build it with pip, or call perp itself")
    return path


class Sweep(Table):
    """A row for each job: what varied, what was kept, steps, error; `outcome` and `reason` are words. folder: of the table and the
    journals, None where there was none."""

    def __init__(self, table: Table, outcome: list[str], reason: list[str], folder: Path | None) -> None:
        super().__init__(table.columns, [table.units[c] for c in table.columns], table._data)
        self.outcome, self.reason, self.folder = np.array(outcome), np.array(reason), folder

    def to_pandas(self) -> pandas.DataFrame:
        """A frame with a row for each job (needs pandas)."""
        import pandas

        columns = {name: self[name] for name in self.columns if name != "job"}
        return pandas.DataFrame({**columns, "outcome": self.outcome, "reason": self.reason}, index=pandas.Index(self["job"], name="job"))

    def __repr__(self) -> str:
        return f"<sweep: {len(self)} jobs, {int(np.sum(self.outcome == 'verified'))} verified; {' '.join(self.columns)}>"


@dataclass
class _Study:
    """What a shard needs, wherever it runs. files: text by name; they and the folder `out` are where the shard runs."""

    model: str
    files: dict[str, str]
    arguments: list[str] = field(default_factory=list)

    def command(self, shard: int, shards: int, *more: str) -> list[str]:
        part = ["--shard", f"{shard}/{shards}"] if shards > 1 else []
        return [str(program()), "sweep", self.model, *self.arguments, *part, *more, "--threads", "1", "--quiet", "--resume"]

    def write(self, folder: Path) -> None:
        for name, content in self.files.items():
            (folder / name).write_text(content, encoding="utf-8", errors="surrogateescape")


def _points(points: Points) -> str:
    return points if isinstance(points, str) else ",".join(repr(float(p)) for p in np.atleast_1d(np.asarray(points, dtype=np.float64)))


def _study(model: Model, vary: Mapping[str, Points], keep: Sequence[str], given: Mapping[str, Any]) -> _Study:
    path = Path(model._name)
    is_there = path.is_file() and path.read_bytes().decode("utf-8", "surrogateescape") == model._text
    study = _Study(str(path.resolve()) if is_there else "model.perp", {} if is_there else {"model.perp": model._text})
    for name, points in vary.items():
        study.arguments += ["--vary", f"{name}={_points(points)}"]
    for result in [keep] if isinstance(keep, str) else keep:
        study.arguments += ["--keep", result]
    for name, value in model._values.items():
        if isinstance(value, tuple):
            times, values = (np.asarray(v, dtype=np.float64).tolist() for v in value)
            rows = "".join(f"{t!r},{v!r}\n" for t, v in zip(times, values))
            study.files[f"{name}.csv"] = f"t,{name}\n{rows}"
            study.arguments += ["--input", f"{name}={name}.csv"]
        else:
            study.arguments += ["--set", f"{name}={float(value)!r}"]  # type: ignore[arg-type]
    for option, value in given.items():
        if value is not None:
            study.arguments += [f"--{option}", value if isinstance(value, str) else repr(value)]
    return study


def _refused(code: int, said: str) -> Error:
    kind = {1: ArgumentError, 2: ModelError, 4: FileError}.get(code, Error)
    return kind(said.strip().removeprefix("perp sweep: ") or f"perp sweep ended with {code}")


def _journal(folder: Path, shard: int, shards: int) -> Path:
    return folder / (f"journal-{shard}-of-{shards}.jsonl" if shards > 1 else "journal.jsonl")


def _done(out: Path, shards: int) -> int:
    """Jobs in the journals."""
    paths = (_journal(out, k, shards) for k in range(1, shards + 1))
    return sum(max(0, path.read_bytes().count(b"\n") - 1) for path in paths if path.exists())


class _Processes:
    """The shards as processes of this machine. One that is killed goes on from its journal in another."""

    def __init__(self, study: _Study, folder: Path, out: Path, shards: int) -> None:
        self.study, self.folder, self.out, self.shards = study, folder, out, shards
        self.lives = dict.fromkeys(range(1, shards + 1), _LIVES)
        self.said = {k: tempfile.TemporaryFile("w+") for k in self.lives}
        self.running = {k: self._begin(k) for k in self.lives}

    def _begin(self, shard: int) -> subprocess.Popen[Any]:
        command = self.study.command(shard, self.shards, "-o", str(self.out))
        return subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stderr=self.said[shard], start_new_session=True)

    def _look(self) -> None:
        for shard, process in list(self.running.items()):
            code = process.poll()
            if code is None:
                continue
            del self.running[shard]
            self.lives[shard] -= 1
            if code < 0 and self.lives[shard] > 0:
                self.running[shard] = self._begin(shard)
            elif code != 0:
                self.said[shard].seek(0)
                said = self.said[shard].read()
                raise _refused(code, said or f"shard {shard} of {self.shards} was ended by signal {-code}, {_LIVES} times")

    def run(self, progress: Callable[[int], object] | None) -> None:
        """Until all are done; what ends it, Ctrl-C too, lets them finish the jobs in their hands."""
        shown = time.monotonic()
        try:
            while self.running:
                self._look()
                if progress is not None and (not self.running or time.monotonic() - shown > 0.2):
                    shown = time.monotonic()
                    progress(_done(self.out, self.shards))
                time.sleep(0.005)
        finally:
            for process in self.running.values():
                process.send_signal(signal.SIGINT)
            for process in self.running.values():
                process.wait()
            for file in self.said.values():
                file.close()


def _shard(study: _Study, shard: int, shards: int, begun: bytes | None) -> bytes:
    """A worker's task: one shard in a folder of its own; its journal. begun: the journal of an earlier sweep."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        study.write(folder)
        journal = _journal(folder / "out", shard, shards)
        journal.parent.mkdir()
        if begun is not None:
            journal.write_bytes(begun)
        done = subprocess.run(study.command(shard, shards, "-o", "out"), cwd=folder, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise _refused(done.returncode, done.stderr)
        return journal.read_bytes()


def _distribute(client: Any, study: _Study, out: Path, shards: int, progress: Callable[[int], object] | None) -> None:
    """Shards as tasks of a client of dask.distributed."""
    from distributed import as_completed

    out.mkdir(parents=True, exist_ok=True)
    futures = {}
    for k in range(1, shards + 1):
        path = _journal(out, k, shards)
        begun = path.read_bytes() if path.exists() else None
        futures[client.submit(_shard, study, k, shards, begun, pure=False)] = path
    try:
        for future in as_completed(list(futures)):
            part = futures[future].with_suffix(".part")
            part.write_bytes(future.result())
            part.replace(futures[future])
            if progress is not None:
                progress(_done(out, shards))
    finally:
        client.cancel(list(futures))


def _collect(out: Path, folder: Path | None) -> Sweep:
    with open(out / "table.csv", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    return Sweep(read(out / "table.csv"), [row["outcome"] for row in rows], [row["reason"] for row in rows], folder)


def sweep(
    model: Model,
    vary: Mapping[str, Points],
    keep: str | Sequence[str] = (),
    *,
    task: str | None = None,
    data: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    nodes: int | None = None,
    samples: int | None = None,
    design: str | None = None,
    seed: int | None = None,
    start: float | None = None,
    to: float | None = None,
    step: float | None = None,
    method: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    processes: int = 0,
    client: Any = None,
    progress: Callable[[int], object] | None = None,
) -> Sweep:
    """Run a model at many points, each with the numbers of `perp sweep` (docs/sweep.md), whatever the number of workers.

        study = perp.sweep(m, {"mu": "0.1:0.9:17", "m": "normal(1, 0.05)"}, ["final(x)", "max(v)"], samples=100)
        study["mu"], study["final(x)"], study.outcome

    vary: points by name, as the command takes them, or a list of numbers. keep: what is kept of each run. task: "plan" or "identify"
    (from the recordings `data`) instead of runs; nodes: of plans. folder: for journals and table;
    with `resume` a sweep that was interrupted there goes on. processes: here, 0 for one on each processor; client: of dask.distributed,
    instead of these. progress: called with the number of jobs done. A job without verified solution is a row that says so.
    """
    given = {"samples": samples, "design": design, "seed": seed, "from": start, "to": to, "step": step, "method": method, "task": task, "nodes": nodes}
    study = _study(model, vary, keep, given)
    for path in [data] if isinstance(data, (str, os.PathLike)) else data:
        study.arguments += ["--data", str(Path(path).resolve())]
    out = Path(folder) if folder is not None else None
    if out is not None and not resume and any(out.glob("journal*.jsonl")):
        raise ArgumentError(f"{out}: there is a sweep already: resume=True goes on with it, another folder begins anew")
    shards = _SHARDS_PER_THREAD * max(1, sum(client.nthreads().values())) if client is not None else processes or os.cpu_count() or 1
    if out is not None and resume:  # in as many shards as it was begun
        shards = next((int(p.stem.partition("-of-")[2] or 1) for p in out.glob("journal*.jsonl")), shards)
    work = Path(tempfile.mkdtemp())
    try:
        study.write(work)
        into = out.resolve() if out is not None else work / "out"
        if client is not None:
            _distribute(client, study, into, shards, progress)
        else:
            _Processes(study, work, into, shards).run(progress)
        if shards > 1:
            merged = subprocess.run([program(), "sweep", "--merge", "-o", into, "--quiet"], stderr=subprocess.PIPE, text=True)
            if merged.returncode != 0:
                raise _refused(merged.returncode, merged.stderr)
        return _collect(into, out)
    finally:
        shutil.rmtree(work, ignore_errors=True)
