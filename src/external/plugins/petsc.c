/* libperp-petsc.so: the table of external/petsc.h over PETSc and its MPI. An error of either ends
 * the run, all ranks of it. */

#include "external/petsc.h"
#include "plugin.h"

#include <petscsnes.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ABORTED = 4, CHUNK = 1 << 30, TAG = 1 };

static void must(PetscErrorCode error)
{
    if (!error) return;
    fprintf(stderr, "perp: PETSc or MPI failed (%d); the run ends\n", (int)error);
    MPI_Abort(PETSC_COMM_WORLD, ABORTED);
}

/* Messages ------------------------------------------------------------------------------------- */

static int chunk_of(size_t bytes, size_t at)
{
    return bytes - at < CHUNK ? (int)(bytes - at) : CHUNK;
}

static void send(int to, size_t bytes, const void *data)
{
    for (size_t at = 0; at < bytes; at += CHUNK)
        must(MPI_Send((const char *)data + at, chunk_of(bytes, at), MPI_BYTE, to, TAG,
                      PETSC_COMM_WORLD));
}

static void receive(int from, size_t bytes, void *data)
{
    for (size_t at = 0; at < bytes; at += CHUNK)
        must(MPI_Recv((char *)data + at, chunk_of(bytes, at), MPI_BYTE, from, TAG, PETSC_COMM_WORLD,
                      MPI_STATUS_IGNORE));
}

static void broadcast(size_t bytes, void *data)
{
    must(MPI_Bcast(data, (int)bytes, MPI_BYTE, 0, PETSC_COMM_WORLD));
}

static double reduce(double x, MPI_Op op)
{
    double all = 0;
    must(MPI_Allreduce(&x, &all, 1, MPI_DOUBLE, op, PETSC_COMM_WORLD));
    return all;
}

static double sum(double x)
{
    return reduce(x, MPI_SUM);
}

static double most(double x)
{
    return reduce(x, MPI_MAX);
}

/* Parts ---------------------------------------------------------------------------------------- */

/* A copy that PETSc owns. */
static PetscInt *give(int n, const int *from)
{
    PetscInt *copy;
    must(PetscMalloc1((size_t)n + 1, &copy));
    for (int i = 0; i < n; i++) copy[i] = from[i];
    return copy;
}

static void divide(int n, const int *start, const int *neighbour, const int *weight, int parts,
                   int *part)
{
    Mat graph;
    MatPartitioning p;
    IS is;
    const PetscInt *of;
    setenv("SCOTCH_PTHREAD_NUMBER", "1",
           0); /* its parts are others in each run with several threads */
    must(MatCreateMPIAdj(PETSC_COMM_SELF, n, n, give(n + 1, start), give(start[n], neighbour), NULL,
                         &graph));
    must(MatPartitioningCreate(PETSC_COMM_SELF, &p));
    must(MatPartitioningSetAdjacency(p, graph));
#if defined(PETSC_HAVE_PTSCOTCH)
    must(MatPartitioningSetType(p, MATPARTITIONINGPTSCOTCH));
#elif defined(PETSC_HAVE_PARMETIS)
    must(MatPartitioningSetType(p, MATPARTITIONINGPARMETIS));
#else
    must(MatPartitioningSetType(p, MATPARTITIONINGAVERAGE));
#endif
    must(MatPartitioningSetNParts(p, parts));
    must(MatPartitioningSetVertexWeights(p, give(n, weight)));
    must(MatPartitioningApply(p, &is));
    must(ISGetIndices(is, &of));
    for (int i = 0; i < n; i++) part[i] = (int)of[i];
    must(ISRestoreIndices(is, &of));
    must(ISDestroy(&is));
    must(MatPartitioningDestroy(&p));
    must(MatDestroy(&graph));
}

/* Halos ---------------------------------------------------------------------------------------- */

struct perp__halo {
    Vec all, mine; /* each place once, over the ranks; those of this rank, in the caller's array */
    VecScatter between;
};

static perp__halo *halo_create(int width, int own, int n, const int *number)
{
    perp__halo *h;
    IS is;
    PetscInt *copy = give(n, number);
    must(PetscNew(&h));
    must(VecCreateMPI(PETSC_COMM_WORLD, (PetscInt)own * width, PETSC_DETERMINE, &h->all));
    must(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, (PetscInt)n * width, NULL, &h->mine));
    must(ISCreateBlock(PETSC_COMM_SELF, width, n, copy, PETSC_COPY_VALUES, &is));
    must(VecScatterCreate(h->all, is, h->mine, NULL, &h->between));
    must(ISDestroy(&is));
    must(PetscFree(copy));
    return h;
}

static void halo_destroy(perp__halo *h)
{
    if (!h) return;
    must(VecScatterDestroy(&h->between));
    must(VecDestroy(&h->all));
    must(VecDestroy(&h->mine));
    must(PetscFree(h));
}

static void halo_sum(perp__halo *h, double *x)
{
    must(VecPlaceArray(h->mine, x));
    must(VecSet(h->all, 0));
    must(VecScatterBegin(h->between, h->mine, h->all, ADD_VALUES, SCATTER_REVERSE));
    must(VecScatterEnd(h->between, h->mine, h->all, ADD_VALUES, SCATTER_REVERSE));
    must(VecScatterBegin(h->between, h->all, h->mine, INSERT_VALUES, SCATTER_FORWARD));
    must(VecScatterEnd(h->between, h->all, h->mine, INSERT_VALUES, SCATTER_FORWARD));
    must(VecResetArray(h->mine));
}

/* SNES VI -------------------------------------------------------------------------------------- */

typedef struct vi {
    const perp__vi *p;
    double *values; /* in the order of p */
} vi;

static PetscErrorCode set_function(SNES snes, Vec x, Vec f, void *context)
{
    const vi *v = context;
    const PetscScalar *z;
    PetscScalar *w;
    PetscFunctionBeginUser;
    PetscCall(VecGetArrayRead(x, &z));
    PetscCall(VecGetArray(f, &w));
    if (v->p->F(v->p->context, z, w)) PetscCall(SNESSetFunctionDomainError(snes));
    PetscCall(VecRestoreArray(f, &w));
    PetscCall(VecRestoreArrayRead(x, &z));
    PetscFunctionReturn(0);
}

static PetscErrorCode set_jacobian(SNES snes, Vec x, Mat J, Mat B, void *context)
{
    const vi *v = context;
    const perp__vi *p = v->p;
    const PetscScalar *z;
    (void)J;
    PetscFunctionBeginUser;
    PetscCall(VecGetArrayRead(x, &z));
    if (p->J(p->context, z, v->values)) PetscCall(SNESSetJacobianDomainError(snes));
    PetscCall(VecRestoreArrayRead(x, &z));
    for (PetscInt j = 0; j < p->n; j++) {
        int first = p->start ? p->start[j] : 0, n = p->start ? p->start[j + 1] - first : p->n;
        const double *column = v->values + (p->start ? (size_t)first : (size_t)j * (size_t)p->n);
        for (int e = 0; e < n; e++)
            PetscCall(
                MatSetValue(B, p->start ? p->row[first + e] : e, j, column[e], INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* Room for each row's entries, and for its diagonal. */
static Mat matrix_of(const perp__vi *p)
{
    Mat J;
    PetscInt *length;
    must(PetscMalloc1((size_t)p->n + 1, &length));
    for (int i = 0; i < p->n; i++) length[i] = p->start ? 1 : p->n;
    for (int e = 0; p->start && e < p->start[p->n]; e++) length[p->row[e]]++;
    for (int i = 0; i < p->n; i++)
        if (length[i] > p->n) length[i] = p->n;
    must(MatCreateSeqAIJ(PETSC_COMM_SELF, p->n, p->n, 0, length, &J));
    must(MatSetOption(J, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
    for (PetscInt i = 0; i < p->n; i++) must(MatSetValue(J, i, i, 0, INSERT_VALUES));
    must(PetscFree(length));
    return J;
}

static void set_bounds(SNES snes, const perp__vi *p, Vec lo, Vec hi)
{
    PetscScalar *l, *h;
    must(VecGetArray(lo, &l));
    must(VecGetArray(hi, &h));
    for (int i = 0; i < p->n; i++) {
        if (!p->lo)
            l[i] = 0;
        else if (p->lo[i] > PETSC_NINFINITY)
            l[i] = p->lo[i];
        else
            l[i] = PETSC_NINFINITY;
        h[i] = p->hi && p->hi[i] < PETSC_INFINITY ? p->hi[i] : PETSC_INFINITY;
    }
    must(VecRestoreArray(lo, &l));
    must(VecRestoreArray(hi, &h));
    must(SNESVISetVariableBounds(snes, lo, hi));
}

/* A full LU factorisation of each step's matrix; the tolerances are such that our verdict
 * decides. */
static void set_solver(SNES snes, int is_semismooth, int max_iter)
{
    KSP ksp;
    PC pc;
    must(SNESSetType(snes, is_semismooth ? SNESVINEWTONSSLS : SNESVINEWTONRSLS));
    must(SNESSetTolerances(snes, 1e-13, 1e-15, 0, max_iter, 100 * max_iter));
    must(SNESGetKSP(snes, &ksp));
    must(KSPSetType(ksp, KSPPREONLY));
    must(KSPGetPC(ksp, &pc));
    must(PCSetType(pc, PCLU));
    must(PCFactorSetShiftType(pc, MAT_SHIFT_NONZERO));
    must(SNESSetOptionsPrefix(snes, "perp_"));
    must(SNESSetFromOptions(snes));
}

static int solve_vi(const perp__vi *p, int is_semismooth, int max_iter, double *z, int *iterations)
{
    vi v = {p, malloc(((p->start ? (size_t)p->start[p->n] : (size_t)p->n * (size_t)p->n) + 1) *
                      sizeof *v.values)};
    SNES snes;
    Vec x, f, lo, hi;
    PetscInt n;
    if (!v.values) return 0;
    Mat J = matrix_of(p);
    must(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, p->n, z, &x));
    must(VecDuplicate(x, &f));
    must(VecDuplicate(x, &lo));
    must(VecDuplicate(x, &hi));
    must(SNESCreate(PETSC_COMM_SELF, &snes));
    must(SNESSetFunction(snes, f, set_function, &v));
    must(SNESSetJacobian(snes, J, J, set_jacobian, &v));
    set_solver(snes, is_semismooth, max_iter);
    set_bounds(snes, p, lo, hi);
    must(SNESSolve(snes, NULL, x));
    must(SNESGetIterationNumber(snes, &n));
    *iterations = (int)n;
    must(SNESDestroy(&snes));
    must(MatDestroy(&J));
    must(VecDestroy(&x));
    must(VecDestroy(&f));
    must(VecDestroy(&lo));
    must(VecDestroy(&hi));
    free(v.values);
    return 1;
}

/* Table ---------------------------------------------------------------------------------------- */

static void end(void)
{
    must(PetscFinalize());
}

PERP_PLUGIN const perp__petsc *perp_petsc_table(void);

/* PETSc begins; NULL: it does not. Signals are the caller's. */
const perp__petsc *perp_petsc_table(void)
{
    static perp__petsc table = {sizeof table, 0,        1,        send,   receive,
                                broadcast,    sum,      most,     divide, halo_create,
                                halo_destroy, halo_sum, solve_vi, end};
    if (PetscOptionsSetValue(NULL, "-no_signal_handler", "1") || PetscInitializeNoArguments())
        return NULL;
    MPI_Comm_rank(PETSC_COMM_WORLD, &table.rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &table.size);
    return &table;
}
