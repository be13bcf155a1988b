"""Batches: copies of a state, stepped by threads."""

from __future__ import annotations

import os
import threading
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._checks import count, fill, truths, unknown
from ._library import ArgumentError, Array, Diagnostics, doubles, ffi, lib
from .bodies import BUSY, BusyError, State, fault_of, restore, snapshot_bytes
from .systems import System


class BatchBody:
    """A body in all copies of a batch, as they are now: `pos` (n, 3), `rotation` (n, 3, 3), `velocity` and `angular_velocity` (n, 3).

    Examples
    --------
    >>> perp.Robot("examples/robots/quadruped.xml").batch(5).body("trunk").rotation.shape
    (5, 3, 3)
    """

    def __init__(self, pos: Array, rotation: Array, velocity: Array, angular_velocity: Array) -> None:
        self.pos, self.rotation, self.velocity, self.angular_velocity = pos, rotation, velocity, angular_velocity


class Batch:
    """Copies of a state, each with its own state, stepped by threads. A copy takes exactly the steps that it would take alone. Made by
    `Robot.batch` and `State.batch`.

    Attributes
    ----------
    q, v, act, ctrl, force : ndarray
        As of `State`, with a row for each copy: (n, nq) and so on. Writable views; the next step takes what you write.
    t : ndarray
        Times, (n,) [s].
    solved : ndarray
        (n,): did the copy's last call end with a verified step?
    error : ndarray
        (n,): the larger error of its last step.

    Examples
    --------
    >>> b = perp.Robot("examples/robots/cartpole.xml").batch(4096, threads=2)
    >>> b.q[:, 1] = np.linspace(-0.2, 0.2, 4096)
    >>> b.ctrl[:, 0] = 40*b.q[:, 1] + 10*b.v[:, 1]
    >>> b.step(5)
    >>> b.reset(abs(b.q[:, 1]) > 0.1)
    """

    __slots__ = ("__weakref__", "_c", "_lock", "_set", "_x", "act", "ctrl", "error", "force", "n", "q", "solved", "system", "t", "v")
    _arrays = ("q", "v", "act", "ctrl", "force")

    n: int
    q: Array
    v: Array
    act: Array
    ctrl: Array
    force: Array
    t: Array
    solved: NDArray[np.bool_]
    error: Array
    system: System
    _c: Any
    _x: Any
    _lock: Any

    def __init__(self, state: State, n: int, threads: int = 0) -> None:
        put = object.__setattr__
        n, threads = count("n", n, 1), count("threads", threads, 0, 1024)
        out, diag = ffi.new("perp_bodies_batch **"), Diagnostics()
        with state._core as c:
            _check_room(c, n)
            diag.check(lib.perp_bodies_batch_create(c, n, threads, out, diag.c))
            row = {name: array.copy() for name, array in state._core.arrays.items()}
            time = float(lib.perp_bodies_time(c))
        put(self, "_c", ffi.gc(out[0], lib.perp_bodies_batch_destroy))
        put(self, "system", state.system)
        put(self, "n", n)
        put(self, "_lock", threading.Lock())
        x = ffi.new("perp_bodies_arrays *", {"size": ffi.sizeof("perp_bodies_arrays")})
        fields = {"q": "q", "v": "v", "act": "activation", "ctrl": "control", "force": "force", "t": "time"}
        kept = []
        for name, field in fields.items():
            width = 1 if name == "t" else len(row[name])
            memory = ffi.new("double[]", n * width + 1)
            array = np.frombuffer(ffi.buffer(memory))[: n * width]
            array = array if name == "t" else array.reshape(n, width)
            array[...] = time if name == "t" else row[name]
            put(self, name, array)
            setattr(x, field, memory)
            kept.append(memory)
        put(self, "_x", (x, kept))
        put(self, "solved", np.ones(n, np.bool_))
        put(self, "error", np.full(n, np.nan))

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._arrays:
            if name in Batch.__slots__:
                raise AttributeError(f"{name} of a batch cannot be set")
            raise AttributeError(str(unknown("attribute of a batch", name, self._arrays)))
        fill(name, getattr(self, name), value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{name} of a batch cannot be deleted")

    def _hold(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise BusyError(BUSY.replace("state", "batch"))

    def step(self, n: int = 1) -> None:
        """Take n steps of each copy.

        Parameters
        ----------
        n : int
            Controls and forces are constant over them. With 0 the copies take what you wrote, without a step.

        Raises
        ------
        NoSolutionError
            A copy has a step that was not verified. It stays at its last verified one, `solved` says which, and all others have taken their
            steps.

        Examples
        --------
        >>> b = perp.Robot("examples/robots/cartpole.xml").batch(8)
        >>> b.step(5)
        >>> b.t[:2].round(3)
        array([0.01, 0.01])
        """
        n = count("n", n, at_most=2**62)
        diag, solved = Diagnostics(), ffi.new("int *")
        self._hold()
        try:
            status = lib.perp_bodies_batch_step(self._c, n, self._x[0], solved, diag.c)
            ends, errors = np.empty(self.n, np.uint8), np.empty(self.n)
            lib.perp_py_batch_ends(self._c, ffi.from_buffer("unsigned char[]", ends), doubles(errors))
            self.solved[:] = ends
            if n:
                self.error[:] = errors
        finally:
            self._lock.release()
        if status == lib.PERP_ERR_ARG:
            self._refuse(diag)
        diag.check_solved(status, lib.PERP_SOLVED if solved[0] == self.n else lib.PERP_LIMIT)

    def _refuse(self, diag: Diagnostics) -> NoReturn:
        for i in np.flatnonzero(~self.solved):
            for name in self._arrays:
                row = getattr(self, name)[i]
                if not np.isfinite(row).all():
                    raise ArgumentError(f"{name}: copy {i}: {fault_of(self.system, name, row)}")
        raise ArgumentError(diag.take().replace("a row of q", "q: a row"))

    def reset(self, which: ArrayLike | None = None) -> None:
        """Copies go back to their start.

        Parameters
        ----------
        which : array_like of bool, optional
            (n,): those for which it is true; all by default.

        Examples
        --------
        >>> b = perp.Robot("examples/robots/cartpole.xml").batch(2)
        >>> b.step(5)
        >>> b.reset([True, False])
        >>> b.t.round(3)
        array([0.  , 0.01])
        """
        mask = None if which is None else truths("which", which, self.n)
        c_mask = ffi.NULL if mask is None else ffi.from_buffer("unsigned char[]", np.array(mask, dtype=np.uint8))
        self._hold()
        try:
            lib.perp_py_batch_reset(self._c, c_mask, self._x[0], self._x[1][3], self._x[1][4])
        finally:
            self._lock.release()

    def _copy(self, i: int) -> Any:
        """Copy i, with its rows."""
        return lib.perp_bodies_batch_at(self._c, count("i", i, 0, self.n - 1))

    def _take(self) -> None:
        diag = Diagnostics()
        if lib.perp_bodies_batch_set(self._c, self._x[0], diag.c) != lib.PERP_OK:
            said = diag.take()
            found = [name for name in self._arrays if not np.isfinite(getattr(self, name)).all()]
            raise ArgumentError(f"{found[0]}: {said}" if found else said)

    def state(self, i: int) -> State:
        """A state that begins where copy i is, and goes on alone.

        Parameters
        ----------
        i : int
            Its number, from 0.

        Examples
        --------
        >>> b = perp.Robot("examples/robots/cartpole.xml").batch(2)
        >>> b.q[1, 1] = 0.2
        >>> b.state(1)["pole"]
        0.2
        """
        out, diag = ffi.new("perp_bodies **"), Diagnostics()
        copy = self._copy(i)
        self._hold()
        try:
            self._take()
            diag.check(lib.perp_bodies_clone(copy, out, diag.c))
        finally:
            self._lock.release()
        return State._of(self.system, out[0])

    def restore(self, i: int, snapshot: bytes) -> None:
        """Copy i continues from a snapshot of a state or copy of the same robot or scene.

        Parameters
        ----------
        i : int
            Its number, from 0.
        snapshot : bytes
            From `State.snapshot`.

        Examples
        --------
        >>> s = perp.Robot("examples/robots/cartpole.xml").start()
        >>> b = s.batch(2)
        >>> s["pole"] = 0.2
        >>> b.restore(1, s.snapshot())
        >>> float(b.q[1, 1])
        0.2
        """
        copy, data = self._copy(i), snapshot_bytes(snapshot)
        self._hold()
        try:
            restore(copy, data)
            lib.perp_py_batch_give(self._c, i, self._x[0], self._x[1][3], self._x[1][4])
        finally:
            self._lock.release()

    def body(self, name: str) -> BatchBody:
        """A body's positions, rotations and velocities in all copies.

        Examples
        --------
        >>> b = perp.Robot("examples/robots/quadruped.xml").batch(3)
        >>> b.body("trunk").pos.shape
        (3, 3)
        """
        k = self.system._find_body(name)[0]
        arrays = [np.empty((self.n, 3)), np.empty((self.n, 3, 3)), np.empty((self.n, 3)), np.empty((self.n, 3))]
        self._hold()
        try:
            self._take()
            lib.perp_py_batch_body(self._c, k, *(doubles(a) for a in arrays))
        finally:
            self._lock.release()
        return BatchBody(*arrays)

    def __len__(self) -> int:
        return self.n

    def __reduce__(self) -> NoReturn:
        raise TypeError("a batch cannot be pickled; pickle the snapshots of its states")

    def __repr__(self) -> str:
        return f"<{self.n} copies of {self.system.name}: q {self.q.shape}, v {self.v.shape}, ctrl {self.ctrl.shape}>"


def _check_room(bodies: Any, n: int) -> None:
    """Would n copies fit into the machine's memory?"""
    out, before = ffi.new("perp_bodies **"), lib.perp_memory_held()
    Diagnostics().check(lib.perp_bodies_clone(bodies, out, ffi.NULL))
    each = lib.perp_memory_held() - before
    lib.perp_bodies_destroy(out[0])
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return
    if each * n > there:
        raise ArgumentError(f"n: {n} copies of {each / 1e3:.0f} kB do not fit into the {there / 1e9:.0f} GB of this machine")
