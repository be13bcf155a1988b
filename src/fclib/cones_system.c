/* The matrices of contact problems without W: B = [H G] by columns and by rows, M + B Q B' as
 * triplets, its factors. */

#include "base/parallel.h"
#include "base/tol.h"
#include "fclib/cones.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { PIECE = 1024 };
static const double MOST_ENTRIES = 1e9; /* of factors */

/* Products ------------------------------------------------------------------------------------- */

/* y = scale A' x + c, columns of A in pieces; y may be c. */
typedef struct product {
    const perp_fclib_matrix *A;
    const double *x, *c;
    double *y;
} product;

static void product_piece(void *context, int thread, int piece)
{
    const product *of = context;
    int j = piece * PIECE, end = j + PIECE < of->A->columns ? j + PIECE : of->A->columns;
    (void)thread;
    for (; j < end; j++) {
        double sum = of->c ? of->c[j] : 0;
        for (int e = of->A->start[j]; e < of->A->start[j + 1]; e++)
            sum += of->A->value[e] * of->x[of->A->row[e]];
        of->y[j] = sum;
    }
}

static void multiply(const perp__fclib_cones *s, const perp_fclib_matrix *A, const double *x,
                     const double *c, double *y)
{
    product of = {A, x, c, y};
    int pieces = (A->columns + PIECE - 1) / PIECE;
    perp__parallel(pieces < 8 ? 1 : s->threads, pieces, product_piece, &of);
}

void perp__cones_velocities(const perp__fclib_cones *s, const double *v, double *y)
{
    multiply(s, &s->B, v, s->c, y);
}

void perp__cones_forces(const perp__fclib_cones *s, const double *x, double *F)
{
    multiply(s, &s->rows, x, s->p->f, F);
}

void perp__cones_momentum(const perp__fclib_cones *s, const double *v, double *y)
{
    multiply(s, &s->M, v, NULL, y);
}

void perp__cones_push(const perp__fclib_cones *s, const double *weight, const double *v, double *y,
                      double *room)
{
    multiply(s, &s->B, v, NULL, room);
    for (int i = 0; i < s->nc + s->nl; i++) {
        const perp__cones_item *item = s->item + i;
        double *at = room + item->row, u[3] = {0};
        memcpy(u, at, (size_t)item->d * sizeof *u);
        for (int a = 0; a < item->d; a++) {
            at[a] = 0;
            for (int b = 0; b < item->d; b++)
                at[a] += weight[9 * (size_t)i + (size_t)(item->d * a + b)] * u[b];
        }
    }
    multiply(s, &s->rows, room, y, y);
}

/* Matrices ------------------------------------------------------------------------------------- */

/* [H G] by columns, sums made, and by rows. */
static int merge(perp__fclib_cones *s, perp__arena *arena)
{
    const perp_fclib_problem *p = s->p;
    int *start, *row, nh = p->H.start[s->n], ng = s->nl ? p->G.start[s->nl] : 0;
    double *value;
    PERP_TAKE(arena, start, s->m + 1);
    PERP_TAKE(arena, row, nh + ng + 1);
    PERP_TAKE(arena, value, nh + ng + 1);
    PERP_TAKE(arena, s->c, s->m + 1);
    if (arena->failed) return 0;
    for (int j = 0; j < s->n; j++) {
        start[j] = p->H.start[j];
        s->c[j] = p->w[j];
    }
    for (int j = 0; j < s->nl; j++) {
        start[s->n + j] = nh + p->G.start[j];
        s->c[s->n + j] = p->b[j];
    }
    start[s->m] = nh + ng;
    for (int e = 0; e < nh; e++) {
        row[e] = p->H.row[e];
        value[e] = p->H.value[e];
    }
    for (int e = 0; e < ng; e++) {
        row[nh + e] = p->G.row[e];
        value[nh + e] = p->G.value[e];
    }
    perp_fclib_matrix B = {s->nv, s->m, start, row, value};
    return perp__fclib_transpose(&B, arena, &s->rows) &&
           perp__fclib_transpose(&s->rows, arena, &s->B);
}

/* M with its sums made; 0: memory, or it is not symmetric. */
static int take_masses(perp__fclib_cones *s, perp__arena *arena, const char **why)
{
    perp_fclib_matrix T;
    if (!perp__fclib_transpose(&s->p->M, arena, &T) || !perp__fclib_transpose(&T, arena, &s->M))
        return 0;
    PERP_TAKE(arena, s->mass, s->nv + 1);
    if (arena->failed) return 0;
    *why = "its M is not symmetric and positive definite";
    for (int j = 0; j < s->nv; j++)
        for (int e = s->M.start[j]; e < s->M.start[j + 1]; e++)
            if (s->M.row[e] == j) s->mass[j] = s->M.value[e];
    for (int j = 0; j < s->nv; j++) {
        int n = s->M.start[j + 1] - s->M.start[j];
        if (!(s->mass[j] > 0) || T.start[j] != s->M.start[j] || T.start[j + 1] - T.start[j] != n)
            return 0;
        for (int e = s->M.start[j]; e < s->M.start[j + 1]; e++) {
            double size = sqrt(s->mass[j]) * sqrt(fabs(s->mass[s->M.row[e]]));
            if (T.row[e] != s->M.row[e] ||
                !(fabs(T.value[e] - s->M.value[e]) <= PERP_TOL_SAME * size))
                return 0;
        }
    }
    return 1;
}

/* Items: which velocities, in the order of first sight; entries of a dense block. Returns 0:
 * memory, or too many. */
static int take_items(perp__fclib_cones *s, perp__arena *arena)
{
    int *place, entries = s->B.start[s->m], ntouch = 0, items = s->nc + s->nl;
    size_t nentry = 0;
    PERP_TAKE(arena, s->item, items + 1);
    PERP_TAKE(arena, s->touch, entries + 1);
    PERP_TAKE(arena, s->entry, (size_t)entries * (size_t)s->d + 1);
    PERP_TAKE(arena, s->unit, items + 1);
    PERP_TAKE(arena, place, s->nv + 1);
    if (arena->failed) return 0;
    for (int i = 0; i < items; i++) {
        perp__cones_item *t = s->item + i;
        *t = (perp__cones_item){i < s->nc ? s->d : 1, 0, i < s->nc ? s->d * i : s->n + i - s->nc,
                                ntouch, nentry};
        for (int e = s->B.start[t->row]; e < s->B.start[t->row + t->d]; e++)
            if (!place[s->B.row[e]]) {
                s->touch[ntouch++] = s->B.row[e];
                place[s->B.row[e]] = ++t->k;
            }
        nentry += (size_t)t->d * (size_t)t->k;
        for (int a = 0; a < t->d; a++) {
            double sum = 0;
            for (int e = s->B.start[t->row + a]; e < s->B.start[t->row + a + 1]; e++) {
                double x = s->B.value[e];
                s->entry[t->entry + (size_t)a * (size_t)t->k + (size_t)place[s->B.row[e]] - 1] = x;
                sum += x * x / s->mass[s->B.row[e]];
            }
            if (a == 0 || i >= s->nc || s->p->mu[i] > 0) s->unit[i] = fmax(s->unit[i], sum);
        }
        for (int k = 0; k < t->k; k++) place[s->touch[t->touch + k]] = 0;
    }
    return 1;
}

/* Places of the entries of M + B Q B' in one triangle, from 1. */
static int take_entries(perp__fclib_cones *s, perp__arena *arena, const char **why)
{
    double count = s->M.start[s->nv];
    for (int i = 0; i < s->nc + s->nl; i++) count += 0.5 * s->item[i].k * (s->item[i].k + 1.0);
    *why = "its matrices have too many entries";
    if (count > INT_MAX - 1) return 0;
    PERP_TAKE(arena, s->at_row, (size_t)count + 1);
    PERP_TAKE(arena, s->at_column, (size_t)count + 1);
    PERP_TAKE(arena, s->value, (size_t)count + 1);
    if (arena->failed) return 0;
    int at = 0;
    for (int j = 0; j < s->nv; j++)
        for (int e = s->M.start[j]; e < s->M.start[j + 1]; e++)
            if (s->M.row[e] >= j) {
                s->at_row[at] = s->M.row[e] + 1;
                s->at_column[at++] = j + 1;
            }
    for (int i = 0; i < s->nc + s->nl; i++) {
        const int *touch = s->touch + s->item[i].touch;
        for (int k = 0; k < s->item[i].k; k++)
            for (int l = 0; l <= k; l++) {
                s->at_row[at] = touch[k] + 1;
                s->at_column[at++] = touch[l] + 1;
            }
    }
    s->nentry = at;
    return 1;
}

perp_status perp__cones_create(perp__fclib_cones *s, const perp_fclib_problem *p,
                               const perp_pile *pile, int threads, perp__arena *arena,
                               const char **why)
{
    *s = (perp__fclib_cones){.p = p,
                             .d = p->dimension,
                             .nc = p->nc,
                             .n = p->nc * p->dimension,
                             .nv = perp_fclib_velocities(p),
                             .nl = perp_fclib_multipliers(p),
                             .threads = threads,
                             .pile = pile};
    s->m = s->n + s->nl;
    *why = "it is local: it has W and no masses";
    if (!perp__fclib_is_global(p)) return PERP_ERR_DATA;
    *why = "it has no velocities";
    if (s->nv == 0) return PERP_ERR_DATA;
    *why = "its matrices have too many entries";
    if ((double)p->H.start[s->n] + (s->nl ? p->G.start[s->nl] : 0) > INT_MAX / 4)
        return PERP_ERR_DATA;
    if (!perp__sparse_ldl_available()) return PERP_ERR_UNAVAILABLE;
    if (!merge(s, arena) || !take_masses(s, arena, why) || !take_items(s, arena) ||
        !take_entries(s, arena, why))
        return arena->failed ? PERP_ERR_MEMORY : PERP_ERR_DATA;
    PERP_TAKE(arena, s->weight, 9 * ((size_t)s->nc + (size_t)s->nl) + 1);
    PERP_TAKE(arena, s->terms, s->m + 1);
    for (int k = 0; k < 8; k++) PERP_TAKE(arena, s->work[k], s->nv + 1);
    if (arena->failed) return PERP_ERR_MEMORY;
    s->ldl = perp__sparse_ldl_create(s->nv, s->nentry, s->at_row, s->at_column);
    double size = s->ldl ? perp__sparse_ldl_size(s->ldl) : -1;
    *why = "the factors of its M + H' H would take more than 8 GB";
    if (size < 0) return PERP_ERR_MEMORY;
    if (size > MOST_ENTRIES) return PERP_ERR_DATA;
    return PERP_OK;
}

void perp__cones_clear(perp__fclib_cones *s)
{
    if (s->ldl) perp__sparse_ldl_destroy(s->ldl);
    s->ldl = NULL;
}

/* Factors -------------------------------------------------------------------------------------- */

/* The triangle of D' Q D of item i, D d x k. */
static double *add_block(const perp__fclib_cones *s, int i, double *to)
{
    const perp__cones_item *t = s->item + i;
    const double *D = s->entry + t->entry, *Q = s->weight + 9 * (size_t)i;
    for (int k = 0; k < t->k; k++) {
        double y[3] = {0};
        for (int b = 0; b < t->d; b++)
            for (int a = 0; a < t->d; a++) y[b] += D[a * t->k + k] * Q[t->d * a + b];
        for (int l = 0; l <= k; l++) {
            double sum = 0;
            for (int b = 0; b < t->d; b++) sum += y[b] * D[b * t->k + l];
            *to++ = sum;
        }
    }
    return to;
}

perp_status perp__cones_factor(perp__fclib_cones *s)
{
    double *to = s->value;
    int negative;
    for (int j = 0; j < s->nv; j++)
        for (int e = s->M.start[j]; e < s->M.start[j + 1]; e++)
            if (s->M.row[e] >= j) *to++ = s->M.value[e];
    for (int i = 0; i < s->nc + s->nl; i++) to = add_block(s, i, to);
    int is_done = perp__sparse_ldl_factor(s->ldl, s->value, &negative);
    if (is_done < 0) return PERP_ERR_MEMORY;
    return is_done && negative == 0 ? PERP_OK : PERP_ERR_DATA;
}

/* v = inv(M + G Q G') b with a refinement, with s->weight as factored. The last change in
 * work[3]. */
static int solve_refined(perp__fclib_cones *s, const double *b, double *v)
{
    double *rest = s->work[2], *change = s->work[3];
    size_t bytes = (size_t)s->nv * sizeof *v;
    memcpy(v, b, bytes);
    if (!perp__sparse_ldl_solve(s->ldl, v)) return 0;
    for (int k = 0; k < 2; k++) {
        memset(rest, 0, bytes);
        perp__cones_momentum(s, v, rest);
        if (s->nl > 0) perp__cones_push(s, s->weight, v, rest, s->terms);
        for (int i = 0; i < s->nv; i++) change[i] = b[i] - rest[i];
        if (!perp__sparse_ldl_solve(s->ldl, change)) return 0;
        for (int i = 0; i < s->nv; i++) v[i] += change[i];
    }
    return 1;
}

/* Multipliers by the method of multipliers: each step reduces the residual to a thousandth or
 * less. */
perp_status perp__cones_motion(perp__fclib_cones *s, const double *r, double *v, double *l)
{
    enum { STEPS = 60 };
    double *F = s->work[0], *b = s->work[1], *x = s->terms;
    const double STIFF = 1e4;
    size_t n = (size_t)s->n;
    memset(s->weight, 0, 9 * ((size_t)s->nc + (size_t)s->nl) * sizeof *s->weight);
    for (int j = 0; j < s->nl; j++)
        s->weight[9 * (size_t)(s->nc + j)] =
            s->unit[s->nc + j] > 0 ? STIFF / s->unit[s->nc + j] : 0;
    perp_status status = perp__cones_factor(s);
    if (status != PERP_OK) return status;
    for (int k = 0; k < (s->nl > 0 ? STEPS : 1); k++) {
        double change = 0, size = 0;
        memcpy(x, r, n * sizeof *x);
        for (int j = 0; j < s->nl; j++)
            x[s->n + j] = l[j] - s->weight[9 * (size_t)(s->nc + j)] * s->p->b[j];
        perp__cones_forces(s, x, F);
        memcpy(b, F, (size_t)s->nv * sizeof *b);
        if (!solve_refined(s, b, v)) return PERP_ERR_MEMORY;
        if (s->nl == 0) break;
        perp__cones_velocities(s, v, x);
        for (int j = 0; j < s->nl; j++) {
            double step = s->weight[9 * (size_t)(s->nc + j)] * x[s->n + j];
            l[j] -= step;
            change = fmax(change, fabs(step));
            size = fmax(size, fabs(l[j]));
        }
        if (change <= 1e-15 * size) break;
    }
    return PERP_OK;
}
