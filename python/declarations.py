#!/usr/bin/env python3
"""Write the C source of perp's extension module: cffi reads the declarations of the public headers.

    declarations.py CC INCLUDE OUT.c       INCLUDE: the folder with perp/perp.h

The preprocessor expands the headers (their enums come from lists), functions with a body are left out, and nothing is declared by
hand but the loops below and in bodies.c, which a Python loop would make slow.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import cffi
from cffi import recompiler

# Beside the library's own functions: whole runs into columns, and what calls back.
MANY = """
typedef struct perp_py_many {
    perp_run_stretch of;
    long count;
    int states;
    const double *state, *parameter, *value; /* of each stretch: states; parameters; steps by inputs */
    double *row;                             /* out: rows, or their derivative; of each steps by columns */
    const double *weight;                    /* of each steps by columns */
    double *by_state, *by_parameter, *by_value; /* the change, or out: the gradient */
} perp_py_many;
"""

LOOPS = """
typedef struct perp_py_state perp_py_state;
int perp_py_stretches(perp_simulation *simulation, int kind, const perp_py_many *all, long *which, perp_diag *diag);
int perp_py_lcps(perp_lcp_solver *solver, int kind, const perp_lcp_batch *all, const double *lo, const double *hi, double *z,
                 double *by_M, double *by_q, double *own, long *which, perp_lcp_info *info);
int perp_py_lcps_by_rows(perp_lcp_batch_solver *solver, const perp_lcp_batch *all, double *turned, int many, double *z,
                         perp_outcome *outcomes);
int perp_py_rows(perp_simulation *simulation, double *data, long capacity, long *row, long many,
                 double *scratch, int followed, double *derivatives, int impulses, const int *impulse, perp_diag *diag);
void perp_py_row(const perp_simulation *simulation, double *data, long capacity, long row, double *scratch,
                 int followed, double *derivatives, int impulses, const int *impulse);
#define PERP_PY_BUSY -1
#define PERP_PY_Q -2
#define PERP_PY_V -3
#define PERP_PY_ACT -4
#define PERP_PY_CTRL -5
#define PERP_PY_FORCE -6
perp_py_state *perp_py_state_create(perp_bodies *bodies, double *memory);
void perp_py_state_destroy(perp_py_state *state);
void perp_py_state_give(perp_py_state *state);
int perp_py_state_hold(perp_py_state *state);
int perp_py_state_enter(perp_py_state *state);
void perp_py_state_leave(perp_py_state *state);
const perp_bodies_info *perp_py_state_info(const perp_py_state *state);
int perp_py_state_step(perp_py_state *state, long steps);
int perp_py_state_one(perp_py_state *state);
perp_diag *perp_py_state_diag(perp_py_state *state);
void perp_py_batch_give(perp_bodies_batch *batch, int i, const perp_bodies_arrays *x, double *ctrl, double *force);
void perp_py_batch_reset(perp_bodies_batch *batch, const unsigned char *which, const perp_bodies_arrays *x, double *ctrl, double *force);
void perp_py_batch_ends(perp_bodies_batch *batch, unsigned char *solved, double *error);
void perp_py_batch_body(perp_bodies_batch *batch, int body, double *position, double *rotation, double *linear, double *angular);
extern "Python" int perp_py_plan_progress(void *, const perp_plan_progress *);
extern "Python" int perp_py_identify_progress(void *, const perp_identify_progress *);
extern "Python" int perp_py_mcp_F(void *, const double *, double *);
extern "Python" int perp_py_mcp_J(void *, const double *, double *);
"""

STATES = "typedef struct perp_py_state perp_py_state;\n" + Path(__file__).with_name("bodies.c").read_text()

SOURCE = """
/* The present row as entry `row` of each column, and of the impulses of these vars behind them; derivatives likewise, a block of columns for each
   parameter. */
static void perp_py_row(const perp_simulation *simulation, double *data, long capacity, long row, double *scratch,
                        int followed, double *derivatives, int impulses, const int *impulse)
{
    int columns = perp_simulation_columns(simulation);
    perp_simulation_row(simulation, scratch);
    for (int c = 0; c < columns; c++) data[c * capacity + row] = scratch[c];
    for (int k = 0; k < impulses; k++) perp_simulation_impulse(simulation, impulse[k], &data[(columns + k) * capacity + row]);
    if (followed == 0) return;
    if (perp_simulation_derivatives(simulation, scratch) != PERP_OK)
        for (int c = 0; c < columns * followed; c++) scratch[c] = 0.0 / 0.0;
    for (int c = 0; c < columns * followed; c++) derivatives[c * capacity + row] = scratch[c];
}

/* A step; no solution is a status, which Python raises. */
static int perp_py_step(perp_simulation *simulation, perp_diag *diag)
{
    perp_step_info info = {.size = sizeof info};
    perp_status status = perp_simulation_step(simulation, &info, diag);
    return status == PERP_OK && info.outcome != PERP_SOLVED ? PERP_ERR_NO_SOLUTION : (int)status;
}

/* Up to `many` steps, each a row; a step with impacts is the last, so that they can be read. *row: the last row that there is. */
static int perp_py_rows(perp_simulation *simulation, double *data, long capacity, long *row, long many,
                        double *scratch, int followed, double *derivatives, int impulses, const int *impulse,
                        perp_diag *diag)
{
    for (long k = 0; k < many && *row + 1 < capacity; k++) {
        int status = perp_py_step(simulation, diag);
        if (status != PERP_OK) return status;
        perp_py_row(simulation, data, capacity, ++*row, scratch, followed, derivatives, impulses, impulse);
        if (perp_simulation_impacts(simulation, NULL)) break;
    }
    return PERP_OK;
}

static int perp_py_begin(perp_simulation *simulation, const perp_py_many *all, long k)
{
    int status = PERP_OK;
    perp_simulation_reset(simulation);
    for (int i = 0; i < all->of.nparameter && status == PERP_OK; i++)
        status = (int)perp_simulation_set_parameter(simulation, all->of.parameter[i], all->parameter[k * all->of.nparameter + i]);
    for (int i = 0; i < all->states && status == PERP_OK; i++)
        status = (int)perp_simulation_set_state(simulation, i, all->state[k * all->states + i]);
    return status;
}

static int perp_py_stretch(perp_simulation *simulation, const perp_run_stretch *of, double *row, perp_diag *diag)
{
    int status = PERP_OK;
    for (long k = 0; k < of->steps && status == PERP_OK; k++) {
        for (int i = 0; i < of->ninput && status == PERP_OK; i++)
            status = (int)perp_simulation_set_input(simulation, of->input[i], of->value[k * of->ninput + i]);
        if (status == PERP_OK) status = perp_py_step(simulation, diag);
        perp_simulation_row(simulation, row + k * perp_simulation_columns(simulation));
    }
    return status;
}

/* Stretches of the same kind, each from its own start: 0, their rows; 1, the rows' derivative along a change; 2, the gradient of a
   weighted sum of the rows. *which: the one that failed. */
static int perp_py_stretches(perp_simulation *simulation, int kind, const perp_py_many *all, long *which, perp_diag *diag)
{
    perp_run_stretch of = all->of;
    long rows = of.steps * perp_simulation_columns(simulation), values = of.steps * of.ninput;
    of.size = sizeof of, of.every_row = 1;
    for (*which = 0; *which < all->count; ++*which) {
        long k = *which;
        int status = perp_py_begin(simulation, all, k);
        if (status != PERP_OK) return status;
        of.value = of.ninput ? all->value + k * values : NULL;
        perp_run_change change = {0};
        if (kind > 0) {
            change.state = all->by_state + k * all->states;
            change.parameter = all->by_parameter + k * of.nparameter;
            change.value = all->by_value + k * values;
        }
        if (kind == 0) status = perp_py_stretch(simulation, &of, all->row + k * rows, diag);
        if (kind == 1) status = (int)perp_simulation_jvp(simulation, &of, &change, all->row + k * rows, diag);
        if (kind == 2) status = (int)perp_simulation_vjp(simulation, &of, all->weight + k * rows, &change, diag);
        if (status != PERP_OK) return status;
    }
    return PERP_OK;
}

/* Problems of a batch, solved one after the other; 0: z; 1: z becomes its derivative along by_M, by_q; 2: z are weights, by_M, by_q
   become the gradient. own: n. *which: the one that failed. */
static int perp_py_lcps(perp_lcp_solver *solver, int kind, const perp_lcp_batch *all, const double *lo, const double *hi, double *z,
                        double *by_M, double *by_q, double *own, long *which, perp_lcp_info *info)
{
    size_t n = (size_t)all->n;
    for (*which = 0; *which < all->count; ++*which) {
        size_t k = (size_t)*which;
        perp_lcp lcp = {.n = all->n, .M = all->M + k * n * n, .ldm = all->n, .q = all->q + k * n};
        perp_lcp_sensitivity sensitivity;
        if (lo) lcp.lo = lo + k * n, lcp.hi = hi + k * n;
        int status = (int)perp_lcp_solve(solver, &lcp, kind == 0 ? z + k * n : own, NULL, info);
        if (status != PERP_OK || info->outcome != PERP_SOLVED) return status;
        if (kind == 0) continue;
        status = (int)perp_lcp_differentiate(solver, &lcp, &sensitivity);
        if (status == PERP_OK && kind == 1) status = (int)perp_lcp_jvp(solver, by_M + k * n * n, by_q + k * n, z + k * n);
        if (status == PERP_OK && kind == 2) status = (int)perp_lcp_vjp(solver, z + k * n, by_q + k * n, by_M + k * n * n);
        if (status != PERP_OK) return status;
    }
    return PERP_OK;
}

static inline void perp_py_turn(const double *rows, int count, int n, double *columns)
{
    for (size_t k = 0; k < (size_t)count; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) columns[(k * n + j) * n + i] = rows[(k * n + i) * n + j];
}

/* A batch whose matrices are given row by row: `many` at a time are turned, so that they stay in the cache. turned: many by n by n. */
static int perp_py_lcps_by_rows(perp_lcp_batch_solver *solver, const perp_lcp_batch *all, double *turned, int many, double *z,
                                perp_outcome *outcomes)
{
    size_t n = (size_t)all->n;
    int status = PERP_OK;
    for (int k = 0; k < all->count && status == PERP_OK; k += many) {
        int count = all->count - k < many ? all->count - k : many;
        const double *M = all->M + (size_t)k * n * n;
        perp_lcp_batch some = {.count = count, .n = all->n, .M = turned, .q = all->q + (size_t)k * n};
        if (n == 2) perp_py_turn(M, count, 2, turned);
        else if (n == 3) perp_py_turn(M, count, 3, turned);
        else if (n == 4) perp_py_turn(M, count, 4, turned);
        else perp_py_turn(M, count, all->n, turned);
        status = (int)perp_lcp_solve_batch(solver, &some, z + (size_t)k * n, outcomes + k, NULL);
    }
    return status;
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
    ffi.cdef(MANY + LOOPS)
    recompiler.make_c_source(ffi, "perp._perp", '#include "perp/perp.h"\n' + MANY + SOURCE + STATES, out, verbose=False)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
