/* KLU's interface, loaded when it is first asked for. */

#include "external/sparse_lu.h"

#include <stdlib.h>

#ifdef PERP_HAVE_KLU

#include "base/tol.h"
#include "external/library.h"

#include <klu.h>

/* What is called of KLU, loaded by the first model that is large. */
static struct {
    __typeof__(klu_defaults) *defaults;
    __typeof__(klu_analyze) *analyze;
    __typeof__(klu_factor) *factor;
    __typeof__(klu_refactor) *refactor;
    __typeof__(klu_rgrowth) *rgrowth;
    __typeof__(klu_tsolve) *tsolve;
    __typeof__(klu_solve) *solve;
    __typeof__(klu_free_symbolic) *free_symbolic;
    __typeof__(klu_free_numeric) *free_numeric;
} klu;

static perp_status load(void)
{
    static int state;
    const perp__symbol symbol[] = {{"klu_defaults", &klu.defaults},
                                   {"klu_analyze", &klu.analyze},
                                   {"klu_factor", &klu.factor},
                                   {"klu_refactor", &klu.refactor},
                                   {"klu_rgrowth", &klu.rgrowth},
                                   {"klu_tsolve", &klu.tsolve},
                                   {"klu_solve", &klu.solve},
                                   {"klu_free_symbolic", &klu.free_symbolic},
                                   {"klu_free_numeric", &klu.free_numeric}};
    return perp__library_load(PERP_HAVE_KLU, sizeof symbol / sizeof *symbol, symbol, &state);
}

/* KLU takes columns; ours are rows, so it sees the transpose and solves with that. */
struct perp__sparse_lu {
    int n;
    int *start, *column;
    klu_common common;
    klu_symbolic *symbolic;
    klu_numeric *numeric;
    double growth; /* of the last factors with pivoting, its inverse */
};

int perp__sparse_lu_available(void)
{
    return load() != PERP_ERR_UNAVAILABLE;
}

perp__sparse_lu *perp__sparse_lu_create(int n, int *start, int *column, double pivot_share)
{
    perp__sparse_lu *lu = load() == PERP_OK ? calloc(1, sizeof *lu) : NULL;
    if (!lu) return NULL;
    lu->n = n;
    lu->start = start;
    lu->column = column;
    klu.defaults(&lu->common);
    if (pivot_share > 0) lu->common.tol = pivot_share;
    lu->symbolic = klu.analyze(n, start, column, &lu->common);
    if (!lu->symbolic || lu->common.status != KLU_OK) {
        perp__sparse_lu_destroy(lu);
        return NULL;
    }
    return lu;
}

void perp__sparse_lu_destroy(perp__sparse_lu *lu)
{
    if (!lu) return;
    klu.free_numeric(&lu->numeric, &lu->common);
    klu.free_symbolic(&lu->symbolic, &lu->common);
    free(lu);
}

/* The least quotient, over all columns, of the largest entry of the matrix and that of the factors. */
static double growth(perp__sparse_lu *lu, double *value)
{
    return klu.rgrowth(lu->start, lu->column, value, lu->symbolic, lu->numeric, &lu->common)
               ? lu->common.rgrowth
               : 0;
}

int perp__sparse_lu_factor(perp__sparse_lu *lu, double *value)
{
    klu.free_numeric(&lu->numeric, &lu->common);
    lu->numeric = klu.factor(lu->start, lu->column, value, lu->symbolic, &lu->common);
    int ok = lu->numeric && lu->common.status == KLU_OK;
    lu->growth = ok ? growth(lu, value) : 0;
    return ok;
}

int perp__sparse_lu_refactor(perp__sparse_lu *lu, double *value)
{
    if (!lu->numeric) return 0;
    return klu.refactor(lu->start, lu->column, value, lu->symbolic, lu->numeric, &lu->common) &&
           lu->common.status == KLU_OK && growth(lu, value) >= PERP_TOL_GROWTH * lu->growth;
}

int perp__sparse_lu_out_of_memory(const perp__sparse_lu *lu)
{
    return lu->common.status == KLU_OUT_OF_MEMORY;
}

int perp__sparse_lu_solve(perp__sparse_lu *lu, double *b, int count)
{
    return lu->numeric && klu.tsolve(lu->symbolic, lu->numeric, lu->n, count, b, &lu->common);
}

int perp__sparse_lu_solve_transposed(perp__sparse_lu *lu, double *b)
{
    return lu->numeric && klu.solve(lu->symbolic, lu->numeric, lu->n, 1, b, &lu->common);
}

#else

struct perp__sparse_lu {
    int none;
};

int perp__sparse_lu_available(void)
{
    return 0;
}

perp__sparse_lu *perp__sparse_lu_create(int n, int *start, int *column, double pivot_share)
{
    (void)n, (void)start, (void)column, (void)pivot_share;
    return NULL;
}

void perp__sparse_lu_destroy(perp__sparse_lu *lu)
{
    free(lu);
}

int perp__sparse_lu_factor(perp__sparse_lu *lu, double *value)
{
    (void)lu, (void)value;
    return 0;
}

int perp__sparse_lu_refactor(perp__sparse_lu *lu, double *value)
{
    (void)lu, (void)value;
    return 0;
}

int perp__sparse_lu_out_of_memory(const perp__sparse_lu *lu)
{
    (void)lu;
    return 0;
}

int perp__sparse_lu_solve(perp__sparse_lu *lu, double *b, int count)
{
    (void)lu, (void)b, (void)count;
    return 0;
}

int perp__sparse_lu_solve_transposed(perp__sparse_lu *lu, double *b)
{
    (void)lu, (void)b;
    return 0;
}

#endif
