/* MUMPS's interface, loaded when it is first asked for. It has state of its own that threads share:
 * one call at a time. */

#include "external/sparse_ldl.h"

#include "base/memory.h"

#include <stdlib.h>

#ifdef PERP_HAVE_MUMPS

#include "external/library.h"

#include <dmumps_c.h>
#include <pthread.h>

static struct {
    __typeof__(dmumps_c) *call;
} mumps;

static perp_status load(void)
{
    static int state;
    const perp__library_symbol symbol[] = {{"dmumps_c", &mumps.call}};
    return perp__library_load(PERP_HAVE_MUMPS, 1, symbol, &state);
}

struct perp__sparse_ldl {
    DMUMPS_STRUC_C id;
    int is_analysed;
};

/* Its jobs, controls and answers by their numbers (from 1), as its manual has them. */
enum { INITIALISE = -1, END = -2, ANALYSE = 1, FACTOR = 2, SOLVE = 3 };
enum {
    MESSAGES = 4,    /* how much it prints */
    REFINE = 10,     /* steps of refinement: ours */
    ROOT = 13,       /* 1: the last front as all others, whose eigenvalues are counted */
    MORE_MEMORY = 14 /* per cent beyond what the analysis foresees */
};
enum { ERROR = 1, NEGATIVE = 12, ENTRIES = 20 };
/* A pivot is taken on the diagonal if it is at least this share of its column. Refinement corrects
 * the growth that this permits. */
static const double PIVOT_SHARE = 1e-6;
enum { TOO_SMALL = -9, TOO_SMALL_TOO = -8, SINGULAR = -10, STRUCTURALLY_SINGULAR = -6 };
enum { USE_COMM_WORLD = -987654, GENERAL_SYMMETRIC = 2 };

static int run(perp__sparse_ldl *ldl, int job)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one);
    perp__library_enter("MUMPS");
    ldl->id.job = job;
    mumps.call(&ldl->id);
    perp__library_enter(NULL);
    pthread_mutex_unlock(&one);
    return ldl->id.infog[ERROR - 1];
}

int perp__sparse_ldl_available(void)
{
    return load() != PERP_ERR_UNAVAILABLE;
}

perp__sparse_ldl *perp__sparse_ldl_create(int n, int nentry, int *row, int *column)
{
    perp__sparse_ldl *ldl = load() == PERP_OK ? calloc(1, sizeof *ldl) : NULL;
    if (!ldl) return NULL;
    ldl->id.par = 1;
    ldl->id.sym = GENERAL_SYMMETRIC;
    ldl->id.comm_fortran = USE_COMM_WORLD;
    if (run(ldl, INITIALISE) < 0) {
        free(ldl);
        return NULL;
    }
    for (int k = 0; k < MESSAGES; k++) ldl->id.icntl[k] = k + 1 == MESSAGES ? 0 : -1;
    ldl->id.icntl[REFINE - 1] = 0;
    ldl->id.icntl[ROOT - 1] = 1;
    ldl->id.cntl[0] = PIVOT_SHARE;
    ldl->id.n = n;
    ldl->id.nnz = nentry;
    ldl->id.irn = row;
    ldl->id.jcn = column;
    return ldl;
}

void perp__sparse_ldl_destroy(perp__sparse_ldl *ldl)
{
    if (!ldl) return;
    run(ldl, END);
    free(ldl);
}

double perp__sparse_ldl_size(perp__sparse_ldl *ldl)
{
    if (!ldl->is_analysed && run(ldl, ANALYSE) < 0) return -1;
    ldl->is_analysed = 1;
    int n = ldl->id.infog[ENTRIES - 1]; /* below 0: millions */
    return n < 0 ? -1e6 * n : n;
}

int perp__sparse_ldl_factor(perp__sparse_ldl *ldl, double *value, int *negative)
{
    enum { MOST_MEMORY = 2000 };
    int error = 0, *more = &ldl->id.icntl[MORE_MEMORY - 1];
    ldl->id.a = value;
    if (!ldl->is_analysed) error = run(ldl, ANALYSE);
    ldl->is_analysed |= error >= 0;
    while (error >= 0) {
        error = run(ldl, FACTOR);
        if ((error != TOO_SMALL && error != TOO_SMALL_TOO) || *more > MOST_MEMORY) break;
        *more = 2 * *more + 20;
        error = 0;
    }
    *negative = ldl->id.infog[NEGATIVE - 1];
    if (error == SINGULAR || error == STRUCTURALLY_SINGULAR) return 0;
    return error < 0 ? -1 : 1;
}

int perp__sparse_ldl_solve(perp__sparse_ldl *ldl, double *b)
{
    ldl->id.nrhs = 1;
    ldl->id.lrhs = ldl->id.n;
    ldl->id.rhs = b;
    return run(ldl, SOLVE) >= 0;
}

#else

int perp__sparse_ldl_available(void)
{
    return 0;
}

perp__sparse_ldl *perp__sparse_ldl_create(int n, int nentry, int *row, int *column)
{
    (void)n;
    (void)nentry;
    (void)row;
    (void)column;
    return NULL;
}

void perp__sparse_ldl_destroy(perp__sparse_ldl *ldl)
{
    (void)ldl;
}

double perp__sparse_ldl_size(perp__sparse_ldl *ldl)
{
    (void)ldl;
    return -1;
}

int perp__sparse_ldl_factor(perp__sparse_ldl *ldl, double *value, int *negative)
{
    (void)ldl;
    (void)value;
    (void)negative;
    return -1;
}

int perp__sparse_ldl_solve(perp__sparse_ldl *ldl, double *b)
{
    (void)ldl;
    (void)b;
    return 0;
}

#endif
