#include "linalg/sparse_lu.h"

#include <stdlib.h>

#ifdef PERP_HAVE_KLU

#include <klu.h>

/* KLU takes columns; ours are rows, so it sees the transpose and solves with that. */
struct perp__sparse_lu {
    int n;
    int *start, *column;
    klu_common common;
    klu_symbolic *symbolic;
    klu_numeric *numeric;
};

int perp__sparse_lu_available(void)
{
    return 1;
}

perp__sparse_lu *perp__sparse_lu_create(int n, int *start, int *column)
{
    perp__sparse_lu *lu = calloc(1, sizeof *lu);
    if (!lu) return NULL;
    lu->n = n;
    lu->start = start;
    lu->column = column;
    klu_defaults(&lu->common);
    lu->symbolic = klu_analyze(n, start, column, &lu->common);
    if (!lu->symbolic || lu->common.status != KLU_OK) {
        perp__sparse_lu_destroy(lu);
        return NULL;
    }
    return lu;
}

void perp__sparse_lu_destroy(perp__sparse_lu *lu)
{
    if (!lu) return;
    klu_free_numeric(&lu->numeric, &lu->common);
    klu_free_symbolic(&lu->symbolic, &lu->common);
    free(lu);
}

int perp__sparse_lu_factor(perp__sparse_lu *lu, double *value)
{
    klu_free_numeric(&lu->numeric, &lu->common);
    lu->numeric = klu_factor(lu->start, lu->column, value, lu->symbolic, &lu->common);
    return lu->numeric && lu->common.status == KLU_OK;
}

int perp__sparse_lu_out_of_memory(const perp__sparse_lu *lu)
{
    return lu->common.status == KLU_OUT_OF_MEMORY;
}

int perp__sparse_lu_solve(perp__sparse_lu *lu, double *b)
{
    return lu->numeric && klu_tsolve(lu->symbolic, lu->numeric, lu->n, 1, b, &lu->common);
}

#else

struct perp__sparse_lu {
    int none;
};

int perp__sparse_lu_available(void)
{
    return 0;
}

perp__sparse_lu *perp__sparse_lu_create(int n, int *start, int *column)
{
    (void)n, (void)start, (void)column;
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

int perp__sparse_lu_out_of_memory(const perp__sparse_lu *lu)
{
    (void)lu;
    return 0;
}

int perp__sparse_lu_solve(perp__sparse_lu *lu, double *b)
{
    (void)lu, (void)b;
    return 0;
}

#endif
