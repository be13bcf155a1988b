/* The least of a convex quadratic (or linear) objective over affine rows and pairs, with a proof: a
 * depth-first search over the sides. Pairs without a side count by their bounds alone. The answer
 * of that program, with its multipliers, gives a lower bound for its own linearization (Wolfe's
 * dual). Branches above the best point are discarded.
 *
 * For any x^ and multipliers y: f(x) >= f0 - x^'Qx^/2 + (c + Qx^)'x + sum_j weight_j (x_j -
 * x^_j)^2/2, and y'(Ax - r) <= 0 for rows within their bounds. The least of the rest is taken
 * variable by variable. */

#include "perp/lcp.h"
#include "base/twice.h"
#include "program/affine.h"
#include "program/convex.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SIDES = 200000, MOST_DENSE = 600 };
static const double REACH =
    1e8; /* what a variable without bounds is assumed to stay within, times its own size or 1 */

typedef struct global {
    perp__affine a;
    perp_program *p;
    double f0, *Q, *c, *weight;    /* f0 + c'x + x'Qx/2; Q: n x n, NULL: 0 */
    double *x, *y, *slope;         /* of the last relaxation; slope: c + Qx */
    double *lo, *hi, *rows;        /* bounds that follow from rows; rows of the program */
    char *has_side;                /* ncon */
    double best, *best_x, allowed; /* the best point; what is no improvement */
    perp_program_proof proof;
    int status;           /* 0: memory */
    perp_lcp_solver *lcp; /* of quadratic relaxations */
    double *M, *q, *z_lo, *z_hi, *z;
    perp__arena arena;
} global;

/* The objective -------------------------------------------------------------------------------- */

/* Q from the second derivatives, which are constants. Returns 0: it is no quadratic, or one in
 * pieces; -1: memory. */
static int take_quadratic(global *g, perp_expr objective)
{
    perp__nl *nl = g->p->nl;
    int n = nl->nvar, ok = 1;
    perp__sparse_row slope = {0}, second = {0};
    int *column_of = malloc(((size_t)n + 1) * sizeof *column_of);
    for (int j = 0; j < n && column_of; j++) column_of[j] = j;
    int kinks = column_of ? perp__has_kinks(&nl->graph, objective, column_of) : -1;
    if (kinks != 0) ok = kinks < 0 ? -1 : 0;
    if (ok > 0 && !perp__gradient(&nl->graph, objective, column_of, &slope)) ok = -1;
    for (int k = 0; k < slope.count && ok > 0; k++) {
        if (!perp__gradient(&nl->graph, slope.entry[k], column_of, &second)) ok = -1;
        for (int t = 0; t < second.count && ok > 0; t++) {
            const perp__node *node = &nl->graph.node[second.entry[t]];
            if (node->op != PERP__CONST) ok = 0;
            if (ok && !g->Q && !PERP_TAKE(&g->arena, g->Q, (size_t)n * (size_t)n)) ok = -1;
            if (ok > 0) g->Q[second.column[t] + slope.column[k] * n] = g->p->sign * node->value;
        }
    }
    perp__sparse_row_clear(&slope);
    perp__sparse_row_clear(&second);
    free(column_of);
    return ok;
}

/* Its convexity, over the variables that it has. */
static int prove_convex(global *g)
{
    int n = g->p->nl->nvar, m = 0, *which = malloc(((size_t)n + 1) * sizeof *which);
    double *Q = calloc((size_t)n * (size_t)n + 1, sizeof *Q),
           *weight = calloc((size_t)n + 1, sizeof *weight);
    int is = which && Q && weight ? 1 : -1;
    for (int j = 0; j < n && is > 0; j++) {
        int has = 0;
        for (int i = 0; i < n; i++) has |= g->Q[i + j * n] != 0 || g->Q[j + i * n] != 0;
        if (has) which[m++] = j;
    }
    for (int b = 0; b < m && is > 0; b++)
        for (int a = 0; a < m; a++) {
            Q[a + b * m] = g->Q[which[a] + which[b] * n];
            if (Q[a + b * m] != g->Q[which[b] + which[a] * n]) is = 0;
        }
    if (is > 0) is = perp__is_convex(m, Q, weight);
    for (int k = 0; k < m && is > 0; k++) g->weight[which[k]] = weight[k];
    free(which);
    free(Q);
    free(weight);
    return is;
}

/* f0 and c, at x = 0. Rows must be affine and the objective convex. Returns 0: they are not; -1:
 * memory. */
static int take_objective(global *g)
{
    perp_program *p = g->p;
    const perp__functions *f = &p->functions;
    int n = p->nl->nvar, m = p->nl->ncon;
    double *slopes;
    PERP_TAKE(&g->arena, slopes, f->nentry);
    if (!slopes) return -1;
    for (int i = 0; i < m; i++)
        if (g->a.row_of[i] < 0) return 0;
    if (!perp__functions_at(f, g->x, g->rows, slopes)) return 0;
    g->f0 = p->sign * g->rows[m];
    for (int j = 0; j < n; j++)
        for (int e = f->start[j]; e < f->start[j + 1]; e++)
            if (f->row[e] == m) g->c[j] = p->sign * slopes[e];
    int is = take_quadratic(g, p->nl->objective[p->objective]);
    if (is > 0 && g->Q) is = n + 2 * m <= MOST_DENSE ? prove_convex(g) : 0;
    memcpy(g->a.lp.cost, g->c, (size_t)n * sizeof *g->c);
    return is;
}

/* Sums of products in twice the precision. */
typedef struct sum {
    double value, rest, terms;
} sum;

static void add_product(sum *s, double a, double b)
{
    double product = a * b, next = s->value + product;
    s->rest += perp__product_error(a, b, product) + perp__sum_error(s->value, product, next);
    s->value = next;
    s->terms += fabs(product);
}

static void add_quadratic(const global *g, int j, sum *s)
{
    int n = g->p->nl->nvar;
    for (int i = 0; i < n && g->Q; i++)
        if (g->Q[i + j * n] != 0) add_product(s, g->Q[i + j * n], g->x[i]);
}

/* The sum of the |terms| of f0 + c'x + x'Qx/2. */
static double size_of_terms(const global *g)
{
    double size = fabs(g->f0);
    for (int j = 0; j < g->p->nl->nvar; j++) {
        sum q = {0};
        add_quadratic(g, j, &q);
        size += fabs(g->x[j]) * (fabs(g->c[j]) + q.terms / 2);
    }
    return size;
}

/* Bounds --------------------------------------------------------------------------------------- */

/* The least of d x_j (+ weight (x_j - x^_j)^2/2) within what is known of x_j, or assumed where
 * nothing is: *reach. */
static double least_of_variable(const global *g, int j, double d, double slack, double weight,
                                double *reach)
{
    const perp__lp *lp = &g->a.lp;
    double least = perp__lp_least_of(d, slack, lp->lo[j], lp->hi[j]), x = g->x[j];
    if (weight > 0) {
        double off = fabs(d) + slack;
        least = fmax(least, d * x - off * off / (2 * weight) - slack * fabs(x));
    }
    if (isfinite(least)) return least;
    least = perp__lp_least_of(d, slack, g->lo[j], g->hi[j]);
    if (isfinite(least)) return least;
    double far = REACH * fmax(1, fabs(x));
    *reach = fmax(*reach, far);
    return perp__lp_least_of(d, slack, fmax(g->lo[j], -far), fmin(g->hi[j], far));
}

/* c_j + (Qx)_j - y'A_j, known up to *slack; *q: (Qx)_j. Without the objective: -y'A_j. */
static double reduced_cost(const global *g, int j, int is_objective, double *slack, double *q)
{
    const perp__lp *lp = &g->a.lp;
    sum d = {0};
    if (is_objective) add_quadratic(g, j, &d);
    *q = d.value + d.rest;
    if (is_objective) add_product(&d, 1, g->c[j]);
    for (int e = lp->start[j]; e < lp->start[j + 1]; e++)
        if (g->y[lp->index[e]] != 0) add_product(&d, -g->y[lp->index[e]], lp->value[e]);
    double value = d.value + d.rest, n = lp->nrow + lp->ncolumn + 4;
    *slack =
        value == 0 && d.rest == 0 ? 0 : DBL_EPSILON * (fabs(value) + n * n * DBL_EPSILON * d.terms);
    return value;
}

/* No point of the relaxation is below this, for the given x and y. Without the objective a positive
 * value shows that it has no point. */
static double lower_bound(global *g, int is_objective)
{
    const perp__lp *lp = &g->a.lp;
    int n = lp->ncolumn;
    double bound = is_objective ? g->f0 : 0, size = fabs(bound), reach = 0, slack, q;
    memcpy(g->lo, lp->lo, (size_t)n * sizeof *g->lo);
    memcpy(g->hi, lp->hi, (size_t)n * sizeof *g->hi);
    if (!perp__lp_follow_rows(lp, g->lo, g->hi)) g->status = 0;
    for (int i = 0; i < lp->nrow; i++) {
        double at = g->y[i] * (g->y[i] > 0 ? lp->row_lo[i] : lp->row_hi[i]);
        if (!isfinite(at)) at = g->y[i] = 0; /* of the wrong sign */
        bound += at;
        size += fabs(at);
    }
    for (int j = 0; j < n; j++) {
        double d = reduced_cost(g, j, is_objective, &slack, &q),
               least = least_of_variable(g, j, d, slack, is_objective ? g->weight[j] : 0, &reach);
        bound += least - q * g->x[j] / 2;
        size += fabs(least) + fabs(q * g->x[j]);
    }
    double margin = is_objective ? 2 * (lp->nrow + n + 8) * DBL_EPSILON : PERP_PROOF_MARGIN;
    bound -= margin * size;
    if ((is_objective ? isfinite(bound) : bound > 0) && reach > 0)
        g->proof.reach = fmin(g->proof.reach, REACH);
    return isfinite(bound) ? bound : -(double)INFINITY;
}

/* Relaxations ---------------------------------------------------------------------------------- */

enum { EMPTY, POINT, UNKNOWN };

/* Clp reports no point: proved by whole numbers, else by prices in doubles. */
static int prove_empty(global *g)
{
    int empty = perp__lp_is_empty(&g->a.lp, g->a.ray);
    perp_status status = empty == 0 ? perp__lp_price_misses(&g->a.lp, g->y) : PERP_OK;
    if (empty < 0 || status == PERP_ERR_MEMORY) g->status = 0;
    if (empty > 0) perp__affine_blame(&g->a, g->a.ray);
    if (empty == 0 && status == PERP_OK && lower_bound(g, 0) > 0) {
        empty = 1;
        perp__affine_blame(&g->a, g->y);
    }
    return empty > 0 ? EMPTY : UNKNOWN;
}

/* By Clp: its point, with its multipliers. */
static int relax_linear(global *g)
{
    perp__lp_end end = {.price = g->y};
    perp_status status = perp__lp_solve_with_end(&g->a.lp, g->x, &end);
    if (status == PERP_ERR_MEMORY) g->status = 0;
    if (status == PERP_OK) return POINT;
    return end.is_infeasible ? prove_empty(g) : UNKNOWN;
}

/* Row i of the program times a multiplier z_k. The product is `rhs` at least (or at most). */
static void put_row(global *g, int N, int k, int row, double rhs, double lo, double hi)
{
    const perp__lp *lp = &g->a.lp;
    g->q[k] = -rhs;
    g->z_lo[k] = lo;
    g->z_hi[k] = hi;
    for (int j = 0; j < lp->ncolumn; j++)
        for (int e = lp->start[j]; e < lp->start[j + 1]; e++) {
            if (lp->index[e] != row) continue;
            g->M[k + j * N] += lp->value[e];
            g->M[j + k * N] -= lp->value[e];
        }
}

/* The conditions of Karush, Kuhn and Tucker as a linear complementarity problem in x and the
 * multipliers. */
static int relax_quadratic(global *g)
{
    const perp__lp *lp = &g->a.lp;
    memset(lp->cost, 0, (size_t)lp->ncolumn * sizeof *lp->cost);
    int kind = relax_linear(g);
    if (kind != POINT) return kind;
    int n = lp->ncolumn, N = n, k = n;
    const double inf = (double)INFINITY;
    for (int i = 0; i < lp->nrow; i++)
        N += lp->row_lo[i] == lp->row_hi[i] ? 1 : isfinite(lp->row_lo[i]) + isfinite(lp->row_hi[i]);
    memset(g->M, 0, (size_t)N * (size_t)N * sizeof *g->M);
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < n; i++) g->M[i + j * N] = g->Q[i + j * n];
        g->q[j] = g->c[j];
        g->z_lo[j] = lp->lo[j];
        g->z_hi[j] = lp->hi[j];
    }
    for (int i = 0; i < lp->nrow; i++) {
        double lo = lp->row_lo[i], hi = lp->row_hi[i];
        if (lo == hi) put_row(g, N, k++, i, lo, -inf, inf);
        if (lo < hi && isfinite(lo)) put_row(g, N, k++, i, lo, 0, inf);
        if (lo < hi && isfinite(hi)) put_row(g, N, k++, i, hi, -inf, 0);
    }
    perp_lcp problem = {N, g->M, N, g->q, g->z_lo, g->z_hi};
    perp_lcp_info info = {.size = sizeof info};
    memset(g->z, 0, (size_t)N * sizeof *g->z);
    perp_lcp_solve(g->lcp, &problem, g->z, NULL, &info);
    if (info.outcome != PERP_SOLVED && info.outcome != PERP_LIMIT) return UNKNOWN;
    memcpy(g->x, g->z, (size_t)n * sizeof *g->x);
    k = n;
    for (int i = 0; i < lp->nrow; i++) {
        double lo = lp->row_lo[i], hi = lp->row_hi[i];
        g->y[i] = 0;
        if (lo == hi || isfinite(lo)) g->y[i] += g->z[k++];
        if (lo < hi && isfinite(hi)) g->y[i] += g->z[k++];
    }
    return POINT;
}

/* The search ----------------------------------------------------------------------------------- */

static void take_candidate(global *g)
{
    perp_program *p = g->p;
    if (perp__judge_point(&p->judge, g->x).worst > p->options.tol) return;
    double value = p->sign * perp__judge_objective(&p->judge, p->objective, g->x);
    if (!(value < g->best)) return;
    g->best = value;
    g->allowed = p->options.tol * size_of_terms(g);
    memcpy(g->best_x, g->x, (size_t)p->nl->nvar * sizeof *g->x);
}

static double distance(const global *g, int i, int face)
{
    const perp__nl *nl = g->p->nl;
    int j = nl->pairs.var[i];
    double e = g->rows[i];
    if (face == PERP__AT_LO)
        return nl->pairs.lower[i] ? fabs(g->x[j] - nl->lo[j]) : (double)INFINITY;
    if (face == PERP__AT_HI)
        return nl->pairs.upper[i] ? fabs(nl->hi[j] - g->x[j]) : (double)INFINITY;
    return fabs(e);
}

static int has_sides(const perp__nl *nl, int i)
{
    return nl->pairs.var[i] >= 0 && (nl->pairs.lower[i] || nl->pairs.upper[i]);
}

/* The pair that is farthest from all its faces; the first where no point is known; -1: all have
 * sides. */
static int choose_pair(const global *g, int is_point)
{
    const perp__nl *nl = g->p->nl;
    int which = -1;
    double most = -1;
    for (int i = 0; i < nl->ncon; i++) {
        if (!has_sides(nl, i) || g->has_side[i]) continue;
        double off = 0;
        if (is_point)
            off = fmin(fmin(distance(g, i, PERP__AT_LO), distance(g, i, PERP__AT_HI)),
                       distance(g, i, PERP__ROW_ZERO));
        if (off > most) {
            most = off;
            which = i;
        }
    }
    return which;
}

/* The rest of this branch is closed: no point of it is below `bound`. */
static void close_branch(global *g, double bound)
{
    g->proof.bound = fmin(g->proof.bound, bound);
}

/* All points with the sides chosen so far; none is below `inherited`. */
static void explore(global *g, double inherited)
{
    if (!g->status) return;
    if (g->proof.sides++ >= MOST_SIDES) {
        close_branch(g, inherited);
        return;
    }
    int kind = g->Q ? relax_quadratic(g) : relax_linear(g);
    if (kind == EMPTY || !g->status) return;
    double bound = kind == POINT ? fmax(inherited, lower_bound(g, 1)) : inherited;
    if (kind == POINT) take_candidate(g);
    int i = choose_pair(g, kind == POINT), first = PERP__AT_LO;
    if (i < 0 || bound >= g->best - g->allowed) {
        close_branch(g, bound);
        return;
    }
    perp__functions_at(&g->p->functions, g->x, g->rows, NULL);
    for (int face = PERP__AT_LO; face < PERP__NFACE && kind == POINT; face++)
        if (distance(g, i, face) < distance(g, i, first)) first = face;
    g->has_side[i] = 1;
    for (int k = 0; k < PERP__NFACE; k++) {
        if (perp__affine_put_on_face(&g->a, i, (first + k) % PERP__NFACE)) explore(g, bound);
        perp__affine_take_off_face(&g->a, i);
    }
    g->has_side[i] = 0;
}

/* 0: memory. */
static int create(global *g, perp_program *p)
{
    perp__arena *arena = &g->arena;
    size_t n = (size_t)p->nl->nvar + 1, m = (size_t)p->nl->ncon + 1, N = n + 2 * m;
    *g = (global){.p = p, .best = (double)INFINITY, .status = 1};
    if (!perp__affine_build(&g->a, p, arena)) return 0;
    double **const of_variables[] = {&g->c,  &g->weight, &g->x,     &g->slope,
                                     &g->lo, &g->hi,     &g->best_x};
    for (size_t k = 0; k < sizeof of_variables / sizeof *of_variables; k++)
        PERP_TAKE(arena, *of_variables[k], n);
    PERP_TAKE(arena, g->y, m);
    PERP_TAKE(arena, g->rows, m + 1);
    PERP_TAKE(arena, g->has_side, m);
    PERP_TAKE(arena, g->q, N);
    PERP_TAKE(arena, g->z_lo, N);
    PERP_TAKE(arena, g->z_hi, N);
    PERP_TAKE(arena, g->z, N);
    return !arena->failed;
}

/* 0: memory. */
static int create_quadratic(global *g)
{
    int N = g->p->nl->nvar + 2 * g->p->nl->ncon;
    perp_lcp_options o = perp_lcp_options_default(PERP_LCP_AUTO);
    o.mixed = 1;
    o.tol = 1e-7; /* any point gives a bound */
    if (!g->Q) return 1;
    PERP_TAKE(&g->arena, g->M, (size_t)N * (size_t)N);
    return g->M && perp_lcp_solver_create(PERP_LCP_AUTO, N, &o, &g->lcp) == PERP_OK;
}

/* The best point becomes the answer, with its multipliers if the search goes there, too. */
static perp_status put_best(global *g, perp_program_result *result)
{
    perp_program *p = g->p;
    size_t bytes = (size_t)p->nl->nvar * sizeof *p->x;
    perp_program_options options = p->options;
    perp_program_result polished = *result;
    double *start = p->nl->start;
    p->nl->start = g->best_x;
    p->options.tries = 1;
    p->options.restarts = 0;
    perp_status status = perp__program_search(p, &polished);
    p->nl->start = start;
    p->options = options;
    if (status != PERP_OK) return status;
    *result = polished;
    if (perp_plan_holds(polished.outcome) && p->sign * polished.objective <= g->best + g->allowed)
        return PERP_OK;
    memcpy(p->x, g->best_x, bytes);
    memset(p->dual, 0, (size_t)p->nl->ncon * sizeof *p->dual);
    result->outcome = PERP_PLAN_FEASIBLE;
    perp__program_check(p, result);
    return PERP_OK;
}

static perp_status prove(global *g, perp_program_result *result)
{
    perp_program *p = g->p;
    double before = (double)INFINITY;
    if (result->outcome == PERP_PLAN_INFEASIBLE) { /* proved; what is near may look like a point */
        p->proof = (perp_program_proof){
            .word = PERP_PROGRAM_PROOF_GLOBAL, .bound = p->sign * before, .reach = before};
        return PERP_OK;
    }
    if (perp_plan_holds(result->outcome)) { /* what the search found */
        memcpy(g->x, p->x, (size_t)p->nl->nvar * sizeof *g->x);
        take_candidate(g);
        before = g->best;
    }
    g->proof = (perp_program_proof){
        .word = PERP_PROGRAM_PROOF_LIMIT, .bound = (double)INFINITY, .reach = (double)INFINITY};
    explore(g, -(double)INFINITY);
    if (!g->status) return PERP_ERR_MEMORY;
    perp_status status = PERP_OK;
    if (g->best < before - g->allowed) status = put_best(g, result);
    if (g->proof.bound >= g->best - g->allowed) g->proof.word = PERP_PROGRAM_PROOF_GLOBAL;
    if (g->proof.word == PERP_PROGRAM_PROOF_GLOBAL)
        result->outcome = isfinite(g->best) ? PERP_PLAN_GLOBAL : PERP_PLAN_INFEASIBLE;
    g->proof.bound = p->sign * fmin(g->proof.bound, g->best);
    p->proof = g->proof;
    return status;
}

perp_status perp__program_prove(perp_program *p, perp_program_result *result)
{
    global g;
    p->proof = (perp_program_proof){.word = PERP_PROGRAM_PROOF_SHAPE,
                                    .bound = -p->sign * (double)INFINITY,
                                    .reach = (double)INFINITY};
    if (p->objective < 0 || !perp__lp_available()) return PERP_OK;
    int ok = create(&g, p) ? take_objective(&g) : -1;
    if (ok > 0 && !create_quadratic(&g)) ok = -1;
    perp_status status = PERP_OK;
    if (ok > 0)
        status = prove(&g, result);
    else if (ok < 0)
        status = PERP_ERR_MEMORY;
    perp_lcp_solver_destroy(g.lcp);
    perp__arena_clear(&g.arena);
    return status;
}
