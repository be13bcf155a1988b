/* A global problem whose masses are blocks of single bodies, as a pile: inverse masses, the
 * velocities that bodies would have, two Jacobians a contact. */

#include "fclib/fclib.h"

#include "base/tol.h"

#include <math.h>
#include <string.h>

enum { K = PERP_PILE_MAX_DOF };

/* Which velocities are of one body. */
typedef struct bodies {
    int n, dof;
    int *of, *place; /* nv: body; body * dof + which */
    int *size;       /* n */
} bodies;

static int take_bodies(int nv, perp__arena *arena, bodies *b)
{
    PERP_TAKE(arena, b->of, nv + 1);
    PERP_TAKE(arena, b->place, nv + 1);
    PERP_TAKE(arena, b->size, nv + 1);
    return !arena->failed;
}

/* Are bodies `dof` velocities each, one after the other, as most files have them? Masses that are
 * diagonal do not say it. */
static int are_in_rows(const perp_fclib_problem *p, int dof)
{
    const perp_fclib_matrix *M = &p->M, *H = &p->H;
    if (M->columns % dof != 0) return 0;
    for (int j = 0; j < M->columns; j++)
        for (int e = M->start[j]; e < M->start[j + 1]; e++)
            if (M->value[e] != 0 && M->row[e] / dof != j / dof) return 0;
    for (int c = 0; c < p->nc; c++) {
        int body[2] = {-1, -1};
        for (int e = H->start[c * p->dimension]; e < H->start[(c + 1) * p->dimension]; e++) {
            int of = H->row[e] / dof, side = 0;
            if (H->value[e] == 0) continue;
            while (side < 2 && body[side] >= 0 && body[side] != of) side++;
            if (side == 2) return 0;
            body[side] = of;
        }
    }
    return 1;
}

static int set_rows(int nv, int dof, perp__arena *arena, bodies *b)
{
    if (!take_bodies(nv, arena, b)) return 0;
    b->n = nv / dof;
    b->dof = dof;
    for (int i = 0; i < nv; i++) {
        b->of[i] = i / dof;
        b->place[i] = i;
    }
    for (int body = 0; body < b->n; body++) b->size[body] = dof;
    return 1;
}

static int root_of(int *parent, int i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

/* Those that entries of M join; dof is the size of the largest body, however large. Returns 0:
 * memory. */
static int join_bodies(const perp_fclib_matrix *M, perp__arena *arena, bodies *b)
{
    int nv = M->columns, *parent;
    PERP_TAKE(arena, parent, nv + 1);
    if (!take_bodies(nv, arena, b)) return 0;
    for (int i = 0; i < nv; i++) parent[i] = i;
    for (int j = 0; j < nv; j++)
        for (int e = M->start[j]; e < M->start[j + 1]; e++)
            if (M->value[e] != 0) { /* the first of a body is its root */
                int x = root_of(parent, j), y = root_of(parent, M->row[e]);
                parent[x > y ? x : y] = x > y ? y : x;
            }
    for (int i = 0; i < nv; i++) {
        int root = root_of(parent, i);
        b->of[i] = root == i ? b->n++ : b->of[root];
        b->place[i] = b->size[b->of[i]]++;
        if (b->size[b->of[i]] > b->dof) b->dof = b->size[b->of[i]];
    }
    for (int i = 0; i < nv; i++) b->place[i] += b->of[i] * b->dof;
    return 1;
}

static int find_bodies(const perp_fclib_problem *p, perp__arena *arena, bodies *b)
{
    static const int usual[] = {6, 3, 2};
    for (int k = 0; k < 3; k++)
        if (are_in_rows(p, usual[k])) return set_rows(p->M.columns, usual[k], arena, b);
    return join_bodies(&p->M, arena, b);
}

/* inv(A) of a symmetric positive definite k x k matrix, by Cholesky. The other rows and columns
 * stay 0. Returns 0: it is none. */
static int invert(int k, int dof, const double *A, double *out)
{
    double L[K * K] = {0}, most = 0;
    for (int i = 0; i < k; i++) most = fmax(most, A[i * dof + i]);
    for (int i = 0; i < k; i++)
        for (int j = 0; j <= i; j++) {
            double size = sqrt(fabs(A[i * dof + i])) * sqrt(fabs(A[j * dof + j])),
                   sum = 0.5 * (A[i * dof + j] + A[j * dof + i]);
            if (fabs(A[i * dof + j] - A[j * dof + i]) > PERP_TOL_SAME * size) return 0;
            for (int e = 0; e < j; e++) sum -= L[i * K + e] * L[j * K + e];
            if (i == j && !(sum > 1e-14 * A[i * dof + i])) return 0;
            L[i * K + j] = i == j ? sqrt(sum) : sum / L[j * K + j];
        }
    for (int c = 0; c < k; c++) {
        double x[K] = {0};
        for (int i = 0; i < k; i++) {
            x[i] = i == c;
            for (int e = 0; e < i; e++) x[i] -= L[i * K + e] * x[e];
            x[i] /= L[i * K + i];
        }
        for (int i = k - 1; i >= 0; i--) {
            for (int e = i + 1; e < k; e++) x[i] -= L[e * K + i] * x[e];
            x[i] /= L[i * K + i];
            if (i <= c) out[i * dof + c] = out[c * dof + i] = x[i];
        }
    }
    return most > 0;
}

/* Masses become their inverses, f becomes velocities. */
static int fill_bodies(const perp_fclib_problem *p, const bodies *b, double *inverse,
                       double *velocity)
{
    size_t dof = (size_t)b->dof, square = dof * dof;
    double mass[K * K];
    for (int j = 0; j < p->M.columns; j++) /* masses first, in the room of the inverses */
        for (int e = p->M.start[j]; e < p->M.start[j + 1]; e++)
            if (p->M.value[e] != 0)
                inverse[(size_t)b->of[j] * square + (size_t)(b->place[p->M.row[e]] % b->dof) * dof +
                        (size_t)(b->place[j] % b->dof)] += p->M.value[e];
    for (int body = 0; body < b->n; body++) {
        double *m = inverse + (size_t)body * square;
        memcpy(mass, m, square * sizeof *m);
        memset(m, 0, square * sizeof *m);
        if (!invert(b->size[body], b->dof, mass, m)) return 0;
    }
    for (int i = 0; i < p->M.columns; i++) {
        int body = b->of[i];
        const double *m = inverse + (size_t)body * square;
        for (int j = 0; j < b->dof; j++) /* velocities of a body may be anywhere in v */
            velocity[(size_t)body * dof + (size_t)j] +=
                m[(size_t)j * dof + (size_t)(b->place[i] % b->dof)] * p->f[i];
    }
    return 1;
}

/* The Jacobians of contact c; 0: it is of no body, or of more than two. */
static int fill_contact(const perp_fclib_problem *p, const bodies *b, int c, int *body,
                        double *jacobian)
{
    int d = p->dimension, k = b->dof;
    body[0] = body[1] = -1;
    for (int a = 0; a < d; a++)
        for (int e = p->H.start[c * d + a]; e < p->H.start[c * d + a + 1]; e++) {
            int at = p->H.row[e], side = 0;
            if (p->H.value[e] == 0) continue;
            while (side < 2 && body[side] >= 0 && body[side] != b->of[at]) side++;
            if (side == 2) return 0;
            body[side] = b->of[at];
            jacobian[(side * d + a) * k + b->place[at] % k] += p->H.value[e];
        }
    return body[0] >= 0;
}

perp_status perp__fclib_pile(const perp_fclib_problem *p, perp__arena *arena, perp_pile *out,
                             int **place, const char **why)
{
    bodies b = {0};
    double *inverse, *velocity, *jacobian;
    int *body, nc = p->nc;
    *why = "it is local: it has W and no masses";
    if (!perp__fclib_is_global(p)) return PERP_ERR_DATA;
    *why = "it has equations G' v + b = 0";
    if (perp_fclib_multipliers(p) > 0) return PERP_ERR_DATA;
    if (!find_bodies(p, arena, &b)) return PERP_ERR_MEMORY;
    *why = "its M joins more than 6 velocities";
    if (b.dof > PERP_PILE_MAX_DOF || b.dof == 0) return PERP_ERR_DATA;
    size_t k = (size_t)b.dof, J = 2 * (size_t)p->dimension * k;
    PERP_TAKE(arena, inverse, (size_t)b.n * k * k + 1);
    PERP_TAKE(arena, velocity, (size_t)b.n * k + 1);
    PERP_TAKE(arena, jacobian, (size_t)nc * J + 1);
    PERP_TAKE(arena, body, 2 * (size_t)nc + 1);
    if (arena->failed) return PERP_ERR_MEMORY;
    *why = "a block of its M is not symmetric and positive definite";
    if (!fill_bodies(p, &b, inverse, velocity)) return PERP_ERR_DATA;
    *why = "a contact of it is of no body, or of more than two";
    for (int c = 0; c < nc; c++)
        if (!fill_contact(p, &b, c, body + 2 * (size_t)c, jacobian + (size_t)c * J))
            return PERP_ERR_DATA;
    *place = b.place;
    *out = (perp_pile){.dimension = p->dimension,
                       .dof = b.dof,
                       .nbody = b.n,
                       .inverse_mass = inverse,
                       .velocity = velocity,
                       .nc = nc,
                       .body = body,
                       .jacobian = jacobian,
                       .bias = p->w,
                       .mu = p->mu};
    return PERP_OK;
}
