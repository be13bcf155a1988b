#!/usr/bin/env python3
"""Write the C source of perp's extension module: cffi reads the declarations of the public headers.

    declarations.py CC INCLUDE OUT.c       INCLUDE: the folder with perp/perp.h

The preprocessor expands the headers (their enums come from lists), functions with a body are left out, and nothing is declared by
hand but the loops below, which a Python loop would make slow.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import cffi
from cffi import recompiler

# Beside the library's own functions: whole runs into columns, and what calls back.
LOOPS = """
int perp_py_rows(perp_simulation *simulation, double *data, long capacity, long *row, long many,
                 double *scratch, int followed, double *derivatives, perp_diag *diag);
void perp_py_row(const perp_simulation *simulation, double *data, long capacity, long row, double *scratch,
                 int followed, double *derivatives);
extern "Python" int perp_py_plan_progress(void *, const perp_plan_progress *);
extern "Python" int perp_py_identify_progress(void *, const perp_identify_progress *);
extern "Python" int perp_py_mcp_F(void *, const double *, double *);
extern "Python" int perp_py_mcp_J(void *, const double *, double *);
"""

SOURCE = """
#include "perp/perp.h"

/* The present row as entry `row` of each column; derivatives likewise, a block of columns for each parameter. */
static void perp_py_row(const perp_simulation *simulation, double *data, long capacity, long row, double *scratch,
                        int followed, double *derivatives)
{
    int columns = perp_simulation_columns(simulation);
    perp_simulation_row(simulation, scratch);
    for (int c = 0; c < columns; c++) data[c * capacity + row] = scratch[c];
    if (followed == 0) return;
    if (perp_simulation_derivatives(simulation, scratch) != PERP_OK)
        for (int c = 0; c < columns * followed; c++) scratch[c] = 0.0 / 0.0;
    for (int c = 0; c < columns * followed; c++) derivatives[c * capacity + row] = scratch[c];
}

/* Up to `many` steps, each a row. *row: the last row that there is. */
static int perp_py_rows(perp_simulation *simulation, double *data, long capacity, long *row, long many,
                        double *scratch, int followed, double *derivatives, perp_diag *diag)
{
    for (long k = 0; k < many && *row + 1 < capacity; k++) {
        perp_status status = perp_simulation_step(simulation, 0, diag);
        if (status != PERP_OK) return (int)status;
        perp_py_row(simulation, data, capacity, ++*row, scratch, followed, derivatives);
    }
    return PERP_OK;
}
"""


def expanded(cc: str, include: str) -> str:
    """The headers as the preprocessor sees them, without those of the system."""
    with tempfile.TemporaryDirectory() as empty:
        Path(empty, "stddef.h").touch()
        command = [cc, "-E", "-P", "-nostdinc", "-U__GNUC__", "-I", empty, "-I", include, "-"]
        return subprocess.run(command, input='#include "perp/perp.h"\n', check=True, text=True, capture_output=True).stdout


def without_bodies(text: str) -> str:
    """Functions that are defined in the headers are left out."""
    out, at = [], 0
    for start in re.finditer(r"static inline", text):
        if start.start() < at:
            continue
        out.append(text[at : start.start()])
        at, depth = text.index("{", start.start()) + 1, 1
        while depth > 0:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
    return "".join(out) + text[at:]


def main(cc: str, include: str, out: str) -> None:
    ffi = cffi.FFI()
    ffi.cdef(without_bodies(expanded(cc, include)))
    ffi.cdef(LOOPS)
    recompiler.make_c_source(ffi, "perp._perp", SOURCE, out, verbose=False)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
