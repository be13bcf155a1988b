"""Columns over time: what runs, plans and recorded data have in common."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ._library import ArgumentError, Array, Diagnostics, c_text, ffi, lib, names

if TYPE_CHECKING:
    import pandas


class Table:
    """Columns of float64 over rows. `table["x"]` and `table.x` are views of memory that the table owns, not copies; the elements
    of an array of the model, x[1] and x[2], are `table["x[1]"]` and together `table["x"]`, shape (2, rows)."""

    def __init__(self, columns: list[str], units: list[str], data: Array, comments: list[str] | None = None) -> None:
        self.columns = columns
        self.units = dict(zip(columns, units))
        self.comments = comments or []
        self._data = data  # shape (columns, rows), each column contiguous
        self._index = {name: i for i, name in enumerate(columns)}

    @property
    def t(self) -> Array:
        """Times [s]."""
        return self["t"]

    def __len__(self) -> int:
        return int(self._data.shape[1])

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def __getitem__(self, name: str) -> Array:
        if name in self._index:
            column: Array = self._data[self._index[name]]
            return column
        elements = [i for i, column in enumerate(self.columns) if column.startswith(name + "[")]
        if elements and elements == list(range(elements[0], elements[-1] + 1)):
            return self._data[elements[0] : elements[-1] + 1]
        raise KeyError(f"no column {name!r}; there are: {' '.join(self.columns)}")

    def __getattr__(self, name: str) -> Array:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as missing:
            raise AttributeError(missing.args[0]) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(c for c in self.columns if c.isidentifier())]

    def to_pandas(self) -> pandas.DataFrame:
        """A frame with the time as its index (needs pandas)."""
        import pandas

        return pandas.DataFrame({name: self[name] for name in self.columns if name != "t"}, index=pandas.Index(self.t, name="t"))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the rows as `perp simulate -o` does: whole, or not at all; as numbers where the name ends with .perpbin."""
        diag, writer = Diagnostics(), ffi.new("perp_trajectory_writer **")
        diag.check(lib.perp_trajectory_writer_create(c_text(os.fspath(path)), writer, diag.c))
        for comment in self.comments:
            lib.perp_trajectory_writer_comment(writer[0], c_text(comment))
        columns, _columns = names(self.columns)
        units, _units = names([self.units[c] for c in self.columns])
        lib.perp_trajectory_writer_header(writer[0], len(self.columns), columns, units)
        rows = np.ascontiguousarray(self._data.T)
        for row in range(len(self)):
            lib.perp_trajectory_writer_row(writer[0], ffi.from_buffer("double[]", rows[row]))
        diag.check(lib.perp_trajectory_writer_close(writer[0], ffi.NULL, diag.c))

    def plot(self, *columns: str, ax: Any = None) -> Any:
        """Draw columns over time (all, where none is named) with matplotlib; returns the axes."""
        import matplotlib.pyplot as plt

        ax = ax if ax is not None else plt.subplots()[1]
        shown = columns or tuple(c for c in self.columns if c not in ("t", "residual"))
        for name in shown:
            unit = self.units.get(name, "")
            ax.plot(self.t, self[name].T, label=f"{name} [{unit}]" if unit else name)
        ax.set_xlabel("t [s]")
        ax.legend()
        return ax

    def _c_table(self, name: str) -> Any:
        return c_table({c: self[c] for c in self.columns}, name, self.units)


def c_table(columns: Mapping[str, ArrayLike], name: str, units: Mapping[str, str] | None = None) -> Any:
    """A perp_trajectory of columns of one length; the caller, or what it is given to, frees it."""
    arrays = {c: np.asarray(v, dtype=np.float64) for c, v in columns.items()}
    shapes = {a.shape for a in arrays.values()}
    if len(shapes) != 1 or len(next(iter(shapes))) != 1:
        raise ArgumentError(f"{name}: columns must be vectors of one length, not of shapes {sorted(shapes)}")
    out = io.StringIO()
    for column, unit in (units or {}).items():
        if unit:
            out.write(f"# unit {column} = {unit}\n")
    out.write(",".join(arrays) + "\n")
    for row in zip(*(a.tolist() for a in arrays.values())):
        out.write(",".join(map(repr, row)) + "\n")
    content = out.getvalue().encode()
    diag, table = Diagnostics(), ffi.new("perp_trajectory **")
    diag.check(lib.perp_trajectory_parse(content, len(content), c_text(name), table, diag.c))
    return table[0]


def read(path: str | os.PathLike[str]) -> Table:
    """Read a table: a run, a plan, or recorded data, of either format (docs/formats.md)."""
    diag, table = Diagnostics(), ffi.new("perp_trajectory **")
    diag.check(lib.perp_trajectory_read(c_text(os.fspath(path)), table, diag.c))
    c = ffi.gc(table[0], lib.perp_trajectory_destroy)
    n, rows = lib.perp_trajectory_columns(c), lib.perp_trajectory_rows(c)
    data = np.empty((n, rows))
    for i in range(n):
        data[i] = np.frombuffer(ffi.buffer(lib.perp_trajectory_column(c, i), 8 * rows))
    get = [(ffi.string(lib.perp_trajectory_name(c, i)).decode(), ffi.string(lib.perp_trajectory_unit(c, i)).decode()) for i in range(n)]
    return Table([g[0] for g in get], [g[1] for g in get], data)
