/* Siconos' lexicographic Lemke and ODE's Dantzig, each when found at configure time. Copies that
 * their interfaces make necessary (both destroy or reorder their input) are part of the time, as they
 * would be for a caller. */

#include "peers.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef PERP_HAVE_SICONOS
#include <siconos/numerics/LinearComplementarityProblem.h>
#include <siconos/numerics/NonSmoothDrivers.h>
#include <siconos/numerics/NumericsMatrix.h>
#include <siconos/numerics/SolverOptions.h>
#include <siconos/numerics/lcp_cst.h>

typedef struct siconos {
    SolverOptions *options;
    double *w;
} siconos;

static void *siconos_create(int n)
{
    siconos *s = malloc(sizeof *s);
    s->options = solver_options_create(SICONOS_LCP_LEMKE);
    s->options->iparam[SICONOS_IPARAM_MAX_ITER] = 100 * n + 100;
    s->w = malloc((size_t)n * sizeof(double));
    return s;
}

static void siconos_destroy(void *self)
{
    siconos *s = self;
    solver_options_delete(s->options);
    free(s->w);
    free(s);
}

static void siconos_solve(void *self, int n, const double *M, const double *q, double *z)
{
    siconos *s = self;
    NumericsMatrix matrix;
    LinearComplementarityProblem problem = {.size = n, .M = &matrix, .q = (double *)(uintptr_t)q};
    NM_null(&matrix);
    matrix.storageType = NM_DENSE;
    matrix.size0 = matrix.size1 = n;
    matrix.matrix0 = (double *)(uintptr_t)M;
    memset(z, 0, (size_t)n * sizeof *z);
    linearComplementarity_driver(&problem, z, s->w, s->options);
    matrix.matrix0 = NULL;
}
#endif

#ifdef PERP_HAVE_ODE
/* ODE has no header for its solver, but exports it (C++ names). dReal is double in Debian's build. */
extern void *ode_arena(size_t size, const void *manager, const void *reserve) __asm__(
    "_Z39dxAllocateTemporaryWorldProcessMemArenamPK27dxWorldProc"
    "essMemoryManagerPK31dxWorldProcessMemoryReserveInfo");
extern void ode_free_arena(void *arena) __asm__(
    "_Z35dxFreeTemporaryWorldProcessMemArenaP22dxWorldProcessMemArena");
extern size_t ode_memory(unsigned n, _Bool outer_w) __asm__("_Z27dxEstimateSolveLCPMemoryReqjb");
extern void
ode_solve_lcp(void *arena, unsigned n, double *A, double *bx, double *w, unsigned nub, double *lohi,
              int *findex) __asm__("_Z10dxSolveLCPP22dxWorldProcessMemArenajPdS1_S1_jS1_Pi");
extern int ode_init(unsigned flags) __asm__("dInitODE2");

typedef struct ode {
    void *arena;
    double *A, *bx, *lohi;
    int skip;
} ode;

static void *ode_create(int n)
{
    ode *o = malloc(sizeof *o);
    static int is_ready;
    if (!is_ready) is_ready = ode_init(0);
    o->skip = n > 1 ? ((n - 1) | 3) + 1 : n;
    o->arena = ode_arena(ode_memory((unsigned)n, 0) + 4096, NULL, NULL);
    o->A = aligned_alloc(64, ((size_t)n * (size_t)o->skip * sizeof(double) + 63) / 64 * 64);
    o->bx = malloc(2 * (size_t)n * sizeof(double));
    o->lohi = malloc(2 * (size_t)n * sizeof(double));
    return o;
}

static void ode_destroy(void *self)
{
    ode *o = self;
    ode_free_arena(o->arena);
    free(o->A);
    free(o->bx);
    free(o->lohi);
    free(o);
}

static void ode_reset(ode *o, int n, const double *M, const double *q)
{
    void **cursor = o->arena; /* reset: next free byte = begin */
    cursor[0] = cursor[1];
    for (int i = 0; i < n; i++) {
        memcpy(o->A + (size_t)i * (size_t)o->skip, M + (size_t)i * (size_t)n,
               (size_t)n * sizeof(double));
        o->bx[2 * i] = -q[i], o->bx[2 * i + 1] = 0;
        o->lohi[2 * i] = 0, o->lohi[2 * i + 1] = (double)__builtin_inff();
    }
}

static void ode_solve(void *self, int n, const double *M, const double *q, double *z)
{
    ode *o = self;
    ode_reset(o, n, M, q);
    ode_solve_lcp(o->arena, (unsigned)n, o->A, o->bx, NULL, 0, o->lohi, NULL);
    for (int i = 0; i < n; i++) z[i] = o->bx[2 * i + 1];
}

static void ode_box(void *self, int nc, const double *W, const double *q, const double *mu,
                    double *r)
{
    enum { MOST = 192 };
    static _Thread_local int normal[MOST];
    ode *o = self;
    int n = 3 * nc;
    if (n > MOST) return;
    ode_reset(o, n, W, q);
    for (int i = 0; i < n; i++) {
        normal[i] = i % 3 ? i - i % 3 : -1;
        if (i % 3) o->lohi[2 * i] = -mu[i / 3], o->lohi[2 * i + 1] = mu[i / 3];
    }
    ode_solve_lcp(o->arena, (unsigned)n, o->A, o->bx, NULL, 0, o->lohi, normal);
    for (int i = 0; i < n; i++) r[i] = o->bx[2 * i + 1];
}
#endif

#ifdef PERP_HAVE_ODE
void (*const perp_bench_box)(void *, int, const double *, const double *, const double *,
                             double *) = ode_box;
#else
void (*const perp_bench_box)(void *, int, const double *, const double *, const double *,
                             double *) = NULL;
#endif

const peer perp_bench_peers[] = {
#ifdef PERP_HAVE_SICONOS
    {"siconos-lexlemke", 0, siconos_create, siconos_destroy, siconos_solve},
#endif
#ifdef PERP_HAVE_ODE
    {"ode-dantzig", 1, ode_create, ode_destroy, ode_solve},
#endif
    {0},
};
