/* Scaling: units in which a program's unknowns and rows are near 1, for the interior point and for
 * comparing the two sides of a pair. The search compares with constants in these units. Sizes come
 * from the guess, from narrow ranges and from the Jacobian of the rows at the guess. Without pairs
 * units are powers of two.
 *
 * With pairs, a model that declares no units has its sizes balanced, all at once, by least squares
 * of their logarithms (Curtis and Reid 1972). It is then searched alike in any units (ADR 075). A
 * model that declares units is scaled only where some sizes are far from 1, and balanced where some
 * are so far that its numbers are no choice (ADR 082). A soft program, which compares violations of
 * all kinds, is always scaled, by all bounds. */

#include "model/inspect.h"
#include "plan/program.h"

#include <math.h>
#include <string.h>

/* With declared units, sizes within this factor of 1 are not scaled. A guess gives no more than an
 * order of magnitude, and the relaxation of pairs, in the units of the search, decides between
 * plans. */
static const double FAR = 512;
/* Beyond this factor of 1 the numbers of a model are not taken as chosen, whatever units it
 * declares. */
static const double TOO_FAR = 4096;
/* What sizes are balanced by: each term of a row weighs 1, a guess that is not 0 the same, and a
 * range so much. */
static const double OF_RANGE = 1.2;
/* A balanced unit is so many sizes: what pairs are relaxed by, and where the barrier begins, is in
 * these units. Both by ADR 075. */
static const double SIZES = 2;
/* A row has a constant where more than this of its terms is left without those that change. */
static const double CONSTANT = 1e-9;

/* Of balancing. Sizes that models of whole numbers leave half way between two powers of two are all
 * rounded to the same one. */
enum { SWEEPS = 100 };
static const double HALF = 0.51;
/* By so many factors of 2 is a guess off at most. */
static const double MOST_OFF = 5.5;

enum { SAMPLES = 8 }; /* steps at which the derivatives are looked at, and the last */

/* The kinds of unknowns, one for all steps and points: states, vars, parts and inputs; then the
 * global ones, and misses. */
typedef struct sizer {
    perp__program *g;
    int nkind;
    int balances; /* are sizes to be balanced? */
    double *size; /* nkind; 0: not known */
    /* nrow x nkind: of the derivatives of a row with respect to one kind, the largest over the
     * steps: increments count by the share of a step */
    double *net, *sum;
    double *now;     /* nrow x nkind and 2 x nkind: scratch */
    double *given;   /* nrow: bounds of a soft program; else constants, once size_the_rest looks */
    double *guessed; /* nkind: the size by the guess; 0: not known */
    int *alike;      /* nkind: the first of the elements of the same array, or itself */
} sizer;

/* The declared item that a kind is, or a copy of; NULL: none. */
static const char *name_of(const perp__program *g, int kind)
{
    const perp_model *m = g->model;
    int input = kind - g->nx - g->nv - g->nsplit, var = kind - g->nx;
    if (kind >= g->nb) return NULL;
    if (kind < g->ns) return m->item[PERP_STATE][kind].name;
    if (kind < g->nx) return m->item[PERP_INPUT][g->input_item[kind - g->ns]].name;
    if (input >= 0) return m->item[PERP_INPUT][g->input_item[input]].name;
    return var < g->nv ? m->item[PERP_VAR][var].name : NULL;
}

static int are_of_one_array(const char *a, const char *b)
{
    size_t n = a && b ? strcspn(a, "[") : 0;
    return n > 0 && a[n] == '[' && strncmp(a, b, n + 1) == 0;
}

/* Does the model say what its numbers are in? Then 1 is a size that its author chose. */
static int declares_units(const perp_model *m)
{
    double power[5], scale;
    static const int kinds[] = {PERP_STATE, PERP_INPUT};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < m->nitem[kinds[k]]; i++)
            if (m->item[kinds[k]][i].unit &&
                perp__unit_powers(m->item[kinds[k]][i].unit, power, &scale))
                return 1;
    return 0;
}

static void find_arrays(sizer *u)
{
    for (int j = 0; j < u->nkind; j++) {
        u->alike[j] = j;
        for (int i = 0; i < j && u->alike[j] == j; i++)
            if (are_of_one_array(name_of(u->g, i), name_of(u->g, j))) u->alike[j] = i;
    }
}

/* Elements of an array are of one kind: those without a size have the largest of the others.
 * Returns 1: at least one was sized. */
static int size_by_arrays(sizer *u)
{
    int found = 0;
    memset(u->now, 0, (size_t)u->nkind * sizeof *u->now);
    for (int j = 0; j < u->nkind; j++) u->now[u->alike[j]] = fmax(u->now[u->alike[j]], u->size[j]);
    for (int j = 0; j < u->nkind; j++) {
        if (u->size[j] > 0 || !(u->now[u->alike[j]] > 0)) continue;
        u->size[j] = u->now[u->alike[j]];
        found = 1;
    }
    return found;
}

static int kind_of(const perp__program *g, int col)
{
    if (col < g->nx) return col;
    if (col < g->nx + g->soft.w) return (col - g->nx) % g->nb;
    if (col < g->nx + g->nw) return g->nb + g->np + col - g->nx - g->soft.w;
    for (int i = 0; i < g->nx; i++)
        if (g->initial.p[i] == col - g->nx - g->nw) return i; /* a free initial state is one */
    return g->nb + col - g->nx - g->nw;
}

static double finite_or_0(double x)
{
    return isfinite(x) ? fabs(x) : 0;
}

static double range_of(const perp__program *g, int j)
{
    size_t at =
        (size_t)((g->npoint - 1) * g->nb + j) * (size_t)g->K; /* a held input is free there alone */
    return fmax(fabs(g->bound.wlo[at]), fabs(g->bound.whi[at]));
}

/* Directions of slip have length 1. */
static void size_directions(sizer *u)
{
    const perp__program *g = u->g;
    for (int i = 0; i < g->npair; i++)
        for (int j = 1; j <= 2 && g->pair[i].is_cone; j++)
            u->size[kind_of(g, g->nx + g->pair[i].w[1] - j)] = 1;
}

/* Sizes by the guess; if it is 0, by the range if that is narrow. Not for inputs, which may need a
 * small share of their range: the rows size those. */
static void size_by_guess(sizer *u, const double *w, const double *p)
{
    const perp__program *g = u->g;
    size_t K = (size_t)g->K;
    for (int j = 0; j < g->soft.w; j++) {
        double *size = &u->size[j % g->nb];
        for (size_t k = 0; k < K; k++) *size = fmax(*size, finite_or_0(w[(size_t)j * K + k]));
    }
    for (int i = 0; i < g->npair; i++) { /* what a pair holds in a range comes to its ends */
        int side = g->pair[i].w[0], j = side >= 0 && side < g->soft.w ? side % g->nb : -1;
        if (j >= 0 && u->size[j] == 0 && isfinite(range_of(g, j))) u->size[j] = range_of(g, j);
    }
    size_directions(u);
    for (int i = 0; i < g->np; i++) {
        double *size = &u->size[kind_of(g, g->nx + g->nw + i)];
        *size = fmax(*size, finite_or_0(p[i]));
    }
}

static int is_soft(const perp__program *g)
{
    return g->nw > g->soft.w;
}

/* The largest bounds of unknowns and rows, and the fixed initial states. */
static void size_by_bounds(sizer *u)
{
    const perp__program *g = u->g;
    const perp__bounds *b = &g->bound;
    size_t K = (size_t)g->K;
    for (int i = 0; i < g->nx; i++)
        if (g->initial.p[i] < 0) u->size[i] = fmax(u->size[i], finite_or_0(g->initial.x[i]));
    for (size_t i = 0; i < (size_t)g->soft.w * K; i++) {
        double *size = &u->size[i / K % (size_t)g->nb];
        *size = fmax(*size, fmax(finite_or_0(b->wlo[i]), finite_or_0(b->whi[i])));
    }
    for (size_t i = 0; i < (size_t)g->nrow * K; i++)
        u->given[i / K] =
            fmax(u->given[i / K], fmax(finite_or_0(b->rlo[i]), finite_or_0(b->rhi[i])));
}

/* No size exceeds the range. */
static void keep_in_ranges(sizer *u)
{
    const perp__program *g = u->g;
    for (int j = 0; j < g->nb; j++) {
        double range = range_of(g, j);
        if (u->size[j] > range || (u->size[j] == 0 && isfinite(range))) u->size[j] = range;
    }
}

/* v = s d: s is as large as v where |d| = 1. A guess at rest does not show it, and nothing else
 * sizes s. */
static void measure_cone(sizer *u, const perp__plan_pair *pair)
{
    size_t n = (size_t)u->nkind, s = (size_t)kind_of(u->g, u->g->nx + pair->w[1]);
    memset(u->net + (size_t)pair->speed * n, 0, n * sizeof *u->net);
    for (int j = 0; j < 2; j++) {
        double *net = u->net + (size_t)pair->slip[j] * n, *sum = u->sum + (size_t)pair->slip[j] * n;
        net[s] = sum[s] = 1;
        net[s - 1] = net[s - 2] = 0;
    }
}

/* Take the Jacobian of step k into the largest of each row and kind. The rows a b <= eps of pairs
 * are left out. */
static void measure_step(sizer *u, const double *jac, size_t k)
{
    const perp__program *g = u->g;
    size_t n = (size_t)g->nrow * (size_t)u->nkind;
    memset(u->now, 0, n * sizeof *u->now);
    for (int e = 0; e < g->jac.n; e++) {
        double J = jac[(size_t)e * (size_t)g->K + k];
        size_t at = (size_t)g->jac.row[e] * (size_t)u->nkind + (size_t)kind_of(g, g->jac.col[e]);
        if (!isfinite(J)) continue;
        u->now[at] += J;
        u->sum[at] = fmax(u->sum[at], fabs(J));
    }
    for (size_t i = 0; i < n; i++)
        u->net[i] = fmax(u->net[i], fmax(fabs(u->now[i]), u->sum[i] / g->K));
    for (int i = 0; i < g->npair && u->balances; i++)
        if (g->pair[i].is_cone) measure_cone(u, &g->pair[i]);
    for (int i = 0; i < g->npair; i++)
        if (g->pair[i].product >= 0)
            memset(u->net + (size_t)g->pair[i].product * (size_t)u->nkind, 0,
                   (size_t)u->nkind * sizeof *u->net);
    for (int i = 0; i < g->npair; i++)
        if (g->pair[i].kept >= 0)
            memset(u->net + (size_t)g->pair[i].kept * (size_t)u->nkind, 0,
                   PERP__KEPT * (size_t)u->nkind * sizeof *u->net);
}

/* Size the kinds that are still unknown by rows with at most this number of them: the least, over
 * these rows, of the largest known term of the row (or given, nullable) divided by their
 * derivative. So derivatives that are rounding do not count. Returns 1: at least one was sized.
 * next: scratch. */
static int size_by_rows_of(const sizer *u, const double *given, int most_left, double *size,
                           double *next)
{
    size_t n = (size_t)u->nkind;
    int found = 0;
    memset(next, 0, n * sizeof *next);
    for (int i = 0; i < u->g->nrow; i++) {
        const double *A = u->net + (size_t)i * n;
        double most = given ? given[i] : 0;
        int left = 0;
        for (size_t j = 0; j < n; j++) {
            left += A[j] > 0 && size[j] == 0;
            most = fmax(most, A[j] * size[j]);
        }
        for (size_t j = 0; j < n && most > 0 && left <= most_left; j++)
            if (A[j] > 0 && size[j] == 0)
                next[j] = next[j] > 0 ? fmin(next[j], most / A[j]) : most / A[j];
    }
    for (size_t j = 0; j < n; j++)
        if (next[j] > 0 && isfinite(next[j])) {
            size[j] = next[j];
            found = 1;
        }
    return found;
}

static int size_by_rows(sizer *u)
{
    return size_by_rows_of(u, u->given, u->nkind, u->size, u->now);
}

/* Sizes to tell rounding by: from what is guessed, row by row, those first in which one kind alone
 * is without a size. 0: nothing says. */
static void size_roughly(const sizer *u, double *size, double *next)
{
    memcpy(size, u->size, (size_t)u->nkind * sizeof *size);
    do
        while (size_by_rows_of(u, NULL, 1, size, next)) continue;
    while (size_by_rows_of(u, NULL, u->nkind, size, next));
}

/* A term so small beside the largest of its row is the rounding of terms that cancel: it says
 * nothing of sizes. */
static const double CANCELLED = 1e-14;

static void drop_rounding(sizer *u)
{
    size_t n = (size_t)u->nkind;
    double *rough = u->now, *next = u->now + n;
    size_roughly(u, rough, next);
    for (int i = 0; i < u->g->nrow; i++) {
        double *net = u->net + (size_t)i * n, *sum = u->sum + (size_t)i * n, most = 0;
        for (size_t j = 0; j < n; j++) most = fmax(most, sum[j] * rough[j]);
        for (size_t j = 0; j < n; j++)
            if (rough[j] > 0 && net[j] * rough[j] < CANCELLED * most) net[j] = 0;
    }
}

/* The size of the terms of row i, without their powers of two. */
static double size_of_row(const sizer *u, int i)
{
    double most = u->given[i];
    for (int j = 0; j < u->nkind; j++)
        most = fmax(most, u->sum[(size_t)i * (size_t)u->nkind + (size_t)j] * u->size[j]);
    return most;
}

/* Is a size beyond this factor of 1? */
static int are_far(const sizer *u, double limit)
{
    int far = 0;
    for (int j = 0; j < u->nkind; j++) {
        double size = u->size[j];
        far |= size > 0 && isfinite(size) && (size > limit || size < 1 / limit);
    }
    return far;
}

/* The size itself where there are pairs, so that one path is taken whatever the model's units; the
 * search has many minima there. */
static double unit_of(const perp__program *g, double size)
{
    if (!(size > 0 && isfinite(size))) return 1;
    if (g->npair == 0) return exp2(round(log2(size)));
    return g->unit.are_balanced ? SIZES * size : size;
}

static double unit_of_side(const perp__program *g, const perp__plan_pair *pair, int side)
{
    return pair->row[side] >= 0 ? g->unit.r[pair->row[side]] : g->unit.w[pair->w[side]];
}

static void set_units(const sizer *u)
{
    perp__program *g = u->g;
    g->unit.are_balanced = u->balances;
    g->unit.differ |= is_soft(g) || g->npair == 0 || u->balances || are_far(u, FAR);
    if (!g->unit.differ) return;
    for (int j = 0; j < g->nw; j++) g->unit.w[j] = unit_of(g, u->size[kind_of(g, g->nx + j)]);
    for (int i = 0; i < g->np; i++)
        g->unit.p[i] = unit_of(g, u->size[kind_of(g, g->nx + g->nw + i)]);
    for (int i = 0; i < g->nrow; i++) {
        double most = 0;
        for (int j = 0; j < u->nkind; j++)
            most = fmax(most,
                        u->sum[(size_t)i * (size_t)u->nkind + (size_t)j] * unit_of(g, u->size[j]));
        g->unit.r[i] = unit_of(g, most);
    }
    for (int i = 0; i < g->npair && g->pairs != PERP_PLAN_FISCHER_BURMEISTER; i++)
        if (g->pair[i].product >= 0)
            g->unit.r[g->pair[i].product] =
                unit_of_side(g, &g->pair[i], 0) * unit_of_side(g, &g->pair[i], 1);
    for (int i = 0; i < g->npair; i++) {
        const perp__plan_pair *pair = &g->pair[i];
        if (pair->kept < 0) continue;
        const perp__plan_pair *guard = &g->pair[pair->switched];
        double side = unit_of_side(g, pair, 0), minus = g->unit.w[pair->minus],
               *of = g->unit.r + pair->kept;
        of[0] = side * unit_of_side(g, guard, 0);
        of[1] = side * minus;
        of[2] = minus * unit_of_side(g, guard, 1);
        of[3] = minus * unit_of_side(g, pair, 1);
    }
}

/* Balance -------------------------------------------------------------------------------------- */

/* What rows are at the guess without the terms that are linear there, the largest over the steps:
 * weights, and what is asked for. */
static int find_constants(sizer *u, perp__arena *arena, const double *w, const double *p,
                          const double *jac, double *constant)
{
    perp__program *g = u->g;
    size_t K = (size_t)g->K, n = (size_t)g->nrow * K;
    double *r, *change, cost;
    PERP_TAKE(arena, r, n);
    PERP_TAKE(arena, change, n);
    if (arena->failed) return 0;
    perp__program_values(g, NULL, w, p, r, &cost);
    for (int e = 0; e < g->jac.n; e++)
        for (int k = 0; k < g->K; k++) {
            int col = g->jac.col[e];
            long at = perp__program_place(g, col, k), global = at - (long)((size_t)g->nw * K);
            double x;
            if (at < 0)
                x = g->initial.x[col];
            else
                x = global >= 0 ? p[global] : w[at];
            change[(size_t)g->jac.row[e] * K + (size_t)k] += jac[(size_t)e * K + (size_t)k] * x;
        }
    for (size_t i = 0; i < n; i++) {
        double lo = finite_or_0(g->bound.rlo[i]) > 0 ? g->bound.rlo[i] : 0,
               hi = finite_or_0(g->bound.rhi[i]) > 0 ? g->bound.rhi[i] : 0,
               asked = lo != 0 ? lo : hi, left = fabs(r[i] - change[i] - asked);
        if (left > CONSTANT * (fabs(r[i]) + fabs(change[i]) + fabs(asked)) && isfinite(left))
            constant[i / K] = fmax(constant[i / K], left);
    }
    for (int i = 0; i < g->npair; i++) {
        const perp__plan_pair *pair = &g->pair[i];
        if (pair->product >= 0) constant[pair->product] = 0;
        for (int j = 0; j < PERP__KEPT && pair->kept >= 0; j++) constant[pair->kept + j] = 0;
        if (pair->is_cone)
            constant[pair->speed] = constant[pair->slip[0]] = constant[pair->slip[1]] = 0;
    }
    return 1;
}

/* The change of each kind that the cost alone would cause from the guess, as a parabola. It is
 * the slope over the curvature, the largest of all steps. hess: of the cost. */
static void size_by_cost(sizer *u, const double *grad, const double *hess)
{
    const perp__program *g = u->g;
    double *slope = u->now, *curvature = u->now + u->nkind;
    memset(u->now, 0, 2 * (size_t)u->nkind * sizeof *u->now);
    for (size_t at = 0; at < (size_t)g->grad.n * (size_t)g->K; at++) {
        double *to = &slope[kind_of(g, g->grad.col[at / (size_t)g->K])];
        *to = fmax(*to, finite_or_0(grad[at]));
    }
    for (size_t at = 0; at < (size_t)g->hess.n * (size_t)g->K; at++) {
        size_t e = at / (size_t)g->K;
        double *to = &curvature[kind_of(g, g->hess.row[e])];
        if (g->hess.row[e] == g->hess.col[e]) *to = fmax(*to, finite_or_0(hess[at]));
    }
    for (int j = 0; j < u->nkind; j++)
        if (u->size[j] == 0 && slope[j] > 0 && curvature[j] > 0)
            u->size[j] = slope[j] / curvature[j];
}

/* Kinds that neither guess nor range nor rows size: by the constants of the rows, and then by the
 * cost. Else their unit would be that of the model. Returns 0: memory. */
static int size_the_rest(sizer *u, perp__arena *arena, const double *w, const double *p,
                         double *jac, double *grad)
{
    perp__program *g = u->g;
    double *hess;
    int is_known = 1;
    for (int j = 0; j < u->nkind; j++) is_known &= u->size[j] > 0;
    if (is_known) return 1;
    if (!find_constants(u, arena, w, p, jac, u->given)) return 0;
    while (size_by_rows(u)) continue;
    if (!PERP_TAKE(arena, hess, (size_t)g->hess.n * (size_t)g->K)) return 0;
    perp__program_derivatives(g, NULL, w, p, NULL, 1, jac, grad, hess);
    size_by_cost(u, grad, hess);
    while (size_by_rows(u)) continue;
    return 1;
}

/* A term of a row: log2 of its derivative, and the kind that it is the derivative by. */
typedef struct term {
    int row, kind;
    double log;
} term;

/* In logarithms: what is to be balanced, and room for it. */
typedef struct balance {
    int nrow, nkind, nterm;
    term *term;
    double *row,
        *constant; /* nrow: the mean of a row's terms; its constant one and whether there is one */
    double *size;  /* nkind */
    double *known, *weight; /* nkind: the sum of what is known without rows, and its weight */
    double *sum, *total;    /* nkind, or nrow: scratch */
} balance;

static int count_terms(const sizer *u, term *list)
{
    int n = 0;
    for (int i = 0; i < u->g->nrow; i++)
        for (int j = 0; j < u->nkind; j++) {
            double A = u->net[(size_t)i * (size_t)u->nkind + (size_t)j];
            if (!(A > 0 && u->size[j] > 0)) continue;
            if (list) list[n] = (term){i, u->alike[j], log2(A)};
            n++;
        }
    return n;
}

static void know(balance *b, int kind, double size, double weight)
{
    if (!(size > 0 && isfinite(size))) return;
    b->known[kind] += weight * log2(size);
    b->weight[kind] += weight;
}

/* One sweep: a row is as large as its terms on average, an unknown as what its terms, its guess and
 * its range say. */
static void sweep(balance *b)
{
    for (int i = 0; i < b->nrow; i++) {
        b->total[i] = b->constant[i] > 0;
        b->row[i] = b->constant[i] > 0 ? log2(b->constant[i]) : 0;
    }
    for (const term *t = b->term; t < b->term + b->nterm; t++) {
        b->row[t->row] += t->log + b->size[t->kind];
        b->total[t->row]++;
    }
    for (int i = 0; i < b->nrow; i++)
        if (b->total[i] > 0) b->row[i] /= b->total[i];
    memcpy(b->sum, b->known, (size_t)b->nkind * sizeof *b->sum);
    memcpy(b->total, b->weight, (size_t)b->nkind * sizeof *b->total);
    for (const term *t = b->term; t < b->term + b->nterm; t++) {
        b->sum[t->kind] += b->row[t->row] - t->log;
        b->total[t->kind]++;
    }
    for (int j = 0; j < b->nkind; j++)
        if (b->total[j] > 0) b->size[j] = b->sum[j] / b->total[j];
}

static int create_balance(balance *b, sizer *u, perp__arena *arena)
{
    size_t n = (size_t)u->nkind, rows = (size_t)u->g->nrow;
    *b = (balance){.nrow = u->g->nrow, .nkind = u->nkind, .nterm = count_terms(u, NULL)};
    PERP_TAKE(arena, b->term, b->nterm);
    PERP_TAKE(arena, b->row, rows);
    PERP_TAKE(arena, b->constant, rows);
    PERP_TAKE(arena, b->size, n);
    PERP_TAKE(arena, b->known, n);
    PERP_TAKE(arena, b->weight, n);
    PERP_TAKE(arena, b->sum, n);
    PERP_TAKE(arena, b->total, n > rows ? n : rows);
    return !arena->failed;
}

/* All sizes at once, from those found one after the other, each times a power of two. So a factor
 * 2^k of a unit changes the numbers of the search exactly. Returns 0: memory. */
static int balance_sizes(sizer *u, perp__arena *arena, const double *w, const double *p,
                         const double *jac)
{
    balance b;
    if (!create_balance(&b, u, arena) || !find_constants(u, arena, w, p, jac, b.constant)) return 0;
    count_terms(u, b.term);
    for (int j = 0; j < u->nkind; j++) {
        int to = u->alike[j];
        know(&b, to, u->guessed[j], 1);
        know(&b, to, j < u->g->nb ? range_of(u->g, j) : 0, OF_RANGE);
        u->size[to] = fmax(u->size[to], u->size[j]);
    }
    for (int j = 0; j < u->nkind; j++) {
        u->size[j] = u->size[u->alike[j]];
        b.size[j] = u->size[j] > 0 ? log2(u->size[j]) : 0;
    }
    for (int i = 0; i < SWEEPS; i++) sweep(&b);
    for (int j = 0; j < u->nkind; j++) /* terms that belie a guess are no measure */
        if (u->guessed[j] > 0 && fabs(b.size[u->alike[j]] - log2(u->guessed[j])) > MOST_OFF)
            return 1;
    for (int j = 0; j < u->nkind; j++)
        if (u->size[j] > 0)
            u->size[j] *= exp2(floor(b.size[u->alike[j]] - log2(u->size[j]) + HALF));
    return 1;
}

static int may_balance(const perp__program *g)
{
    return g->npair > 0 && !is_soft(g);
}

/* All sizes, at this guess. Returns 0: memory. */
static int find_sizes(sizer *u, perp__arena *arena, const double *w, const double *p)
{
    perp__program *g = u->g;
    size_t K = (size_t)g->K, rows = (size_t)g->nrow,
           n = (size_t)(g->nb + g->np + g->nw - g->soft.w);
    double *jac, *grad;
    u->nkind = (int)n;
    PERP_TAKE(arena, jac, (size_t)g->jac.n * K);
    PERP_TAKE(arena, grad, (size_t)g->grad.n * K);
    PERP_TAKE(arena, u->size, n);
    PERP_TAKE(arena, u->now, rows * n + 2 * n);
    PERP_TAKE(arena, u->given, rows);
    PERP_TAKE(arena, u->net, 2 * rows * n);
    PERP_TAKE(arena, u->guessed, n);
    PERP_TAKE(arena, u->alike, n);
    if (arena->failed) return 0;
    u->sum = u->net + rows * n;
    find_arrays(u);
    size_by_guess(u, w, p);
    memcpy(u->guessed, u->size, n * sizeof *u->guessed);
    if (is_soft(g)) size_by_bounds(u);
    if (u->balances) size_by_arrays(u);
    perp__program_derivatives(g, NULL, w, p, NULL, 1, jac, grad, NULL);
    for (size_t s = 0; s <= SAMPLES; s++) measure_step(u, jac, (K - 1) * s / SAMPLES);
    drop_rounding(u);
    while (size_by_rows(u) || (u->balances && size_by_arrays(u))) continue;
    keep_in_ranges(u);
    while (size_by_rows(u)) continue; /* by those that have nothing but their range */
    if (!is_soft(g) && (g->npair == 0 || u->balances) && !size_the_rest(u, arena, w, p, jac, grad))
        return 0;
    if (!u->balances) return 1;
    if (!balance_sizes(u, arena, w, p, jac)) return 0;
    keep_in_ranges(u);
    size_directions(u);
    return 1;
}

int perp__program_find_units(perp__program *g, const double *w, const double *p)
{
    sizer u = {.g = g, .balances = may_balance(g) && !declares_units(g->model)};
    perp__arena arena = {0};
    int ok = find_sizes(&u, &arena, w, p);
    if (ok && may_balance(g) && !u.balances && are_far(&u, TOO_FAR)) {
        u = (sizer){.g = g, .balances = 1};
        ok = find_sizes(&u, &arena, w, p);
    }
    if (ok) set_units(&u);
    perp__arena_clear(&arena);
    return ok;
}

int perp__program_size_conditions(perp__program *g, const double *w, const double *p, double *size)
{
    sizer u = {.g = g}; /* soft: nothing is balanced */
    perp__arena arena = {0};
    int ok = find_sizes(&u, &arena, w, p);
    for (int i = 0; i < g->nrow && ok; i++) {
        double *of = g->row[i].condition >= 0 ? &size[g->row[i].condition] : NULL;
        if (of) *of = fmax(*of, size_of_row(&u, i));
    }
    perp__arena_clear(&arena);
    return ok;
}

void perp__program_rows_in_units(const perp__program *g, double *r)
{
    size_t K = (size_t)g->K;
    if (!g->unit.differ) return;
    for (size_t i = 0; i < (size_t)g->nrow * K; i++) r[i] /= g->unit.r[i / K];
}
