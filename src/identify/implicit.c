/* Estimator `implicit`: forces not measured; bilevel (notes 3.2.4 to 3.2.8).
 *
 * Each step of the data is a program of its own: its vars y are those that explain the measured
 * states best,
 *
 *     J_s(theta) = min over y of  sum of (equation)^2 + sum over pairs of a b    subject to  a >= 0, b >= 0
 *
 * and theta minimises the sum of the J_s. Complementarity is a cost here. So a step that sticks for
 * the present theta still has a gradient where the data move. Either bound can be made soft, at a
 * cost of its weight times the violation. The inner program must be a convex quadratic one, which
 * it is while the normal force is known (see the corrections to the notes). It is solved through
 * its optimality conditions as a linear complementarity problem, whose residual the driver
 * recomputes. sqrt(J_s) is the residual of a least-squares problem, searched as `predict` does.
 * Fails: far off, J is flat (Remark 6). Cost: one small complementarity problem a step and
 * evaluation. */

#include "base/tol.h"
#include "identify/inner.h"
#include "linalg/symmetric.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static perp_status say(const perp__study *s, perp_status status, const char *what)
{
    return perp__refuse(s->diag, status, perp__in(perp_model_file(s->model)), "method %s: %s\n",
                        perp_estimator_name(s->options.method), what);
}

/* The problem ---------------------------------------------------------------------------------- */

static int mark_unknowns(perp__inner *x)
{
    const perp_model *m = x->b.model;
    x->ny = m->nitem[PERP_VAR];
    x->unknown = malloc(((size_t)x->ny + 1) * sizeof *x->unknown);
    x->solved = calloc((size_t)m->nsymbol + 1, 1);
    if (!x->unknown || !x->solved) return 0;
    for (int k = 0; k < x->ny; k++) {
        x->unknown[k] = m->item[PERP_VAR][k].symbol;
        x->solved[x->unknown[k]] = 1;
    }
    x->b.solved = x->solved;
    return 1;
}

/* Append the roots of one row; 0 when it is not affine in the vars, -1 when memory is out. */
static int add_row(perp__inner *x, perp_expr row, const int *column, const perp_expr *zero)
{
    perp__graph *g = &x->b.model->graph;
    perp__sparse_row slope = {0};
    perp_expr *root = &x->b.root[x->b.nroot];
    int degree = perp__degree(g, row, column, NULL);
    if (degree < 0 || g->failed) return -1;
    if (degree > 1) return 0;
    int ok = perp__gradient(g, row, column, &slope);
    perp__graph_copy(g, g, &row, 1, zero, &root[0]);
    for (int k = 0; k < x->ny; k++) root[1 + k] = perp__const(g, 0);
    for (int k = 0; ok && k < slope.count; k++) root[1 + slope.column[k]] = slope.entry[k];
    perp__sparse_row_clear(&slope);
    x->b.nroot += 1 + x->ny;
    x->nrow++;
    return ok && !g->failed ? 1 : -1;
}

static int add_rows(perp__inner *x, const int *column, const perp_expr *zero)
{
    const perp_model *m = x->b.model;
    int ok = 1;
    for (int i = 0; i < m->nequation && ok == 1; i++)
        ok = add_row(x,
                     perp__sub(&x->b.model->graph, perp__in_samples(&x->b, m->equation[i].left),
                               perp__in_samples(&x->b, m->equation[i].right)),
                     column, zero);
    x->nequation = x->nrow;
    for (int i = 0; i < m->npair && ok == 1; i++) {
        if (m->pair[i].two_sided || m->pair[i].guard >= 0) return 0;
        ok = add_row(x, perp__in_samples(&x->b, m->pair[i].a), column, zero);
        if (ok == 1) ok = add_row(x, perp__in_samples(&x->b, m->pair[i].b), column, zero);
    }
    x->npair = m->npair;
    return ok;
}

static perp_status build_rows(perp__inner *x)
{
    perp_model *m = x->b.model;
    size_t n = (size_t)m->nsymbol, rows = (size_t)(m->nequation + 2 * m->npair);
    int *column = malloc(n * sizeof *column);
    perp_expr *zero = malloc(n * sizeof *zero);
    x->b.root = malloc((rows * (size_t)(1 + x->ny) + 1) * sizeof *x->b.root);
    int ok = column && zero && x->b.root ? 1 : -1;
    for (int s = 0; s < m->nsymbol && ok == 1; s++) {
        column[s] = -1;
        zero[s] = perp__symbol(&m->graph, s);
    }
    for (int k = 0; k < x->ny && ok == 1; k++) {
        column[x->unknown[k]] = k;
        zero[x->unknown[k]] = perp__const(&m->graph, 0);
    }
    if (ok == 1) ok = add_rows(x, column, zero);
    free(column);
    free(zero);
    if (ok < 0) return PERP_ERR_MEMORY;
    if (ok == 0)
        return say(x->study, PERP_ERR_MODEL,
                   "needs conditions that are affine in the vars, and one-sided pairs without a "
                   "guard; use predict");
    return perp__tape_compile(&x->tape, &m->graph, x->b.root, x->b.nroot, m->nsymbol)
               ? PERP_OK
               : PERP_ERR_MEMORY;
}

static perp_status read_steps(perp__inner *x)
{
    const perp__study *s = x->study;
    int n = x->b.model->nsymbol, at = 0;
    for (int r = 0; r < s->nrun; r++) x->nstep += s->run[r].rows - 1;
    double *all = calloc((size_t)x->nstep * (size_t)n + 1, sizeof *all);
    x->data = all;
    if (!all) return PERP_ERR_MEMORY;
    double *turned = malloc((size_t)x->nstep * (size_t)n * sizeof *turned + 1);
    if (!turned) return PERP_ERR_MEMORY;
    for (int r = 0; r < s->nrun; r++) {
        for (int i = 1; i < s->run[r].rows; i++, at++) {
            perp__fill_step(&x->b, &s->run[r], i, all + (size_t)at * (size_t)n, 1);
            for (int k = 0; k < n; k++)
                turned[(size_t)k * (size_t)x->nstep + (size_t)at] =
                    all[(size_t)at * (size_t)n + (size_t)k];
        }
    }
    perp_status status = perp__check_measured(&x->b, turned, x->nstep);
    free(turned);
    return status;
}

static int is_named(const char *item, const char *name)
{
    size_t n = strlen(name);
    return strncmp(item, name, n) == 0 && (item[n] == 0 || item[n] == '[');
}

/* Pairs whose first side is the var; 0: there are none. */
static int mark_cones(perp__inner *x, const char *name)
{
    const perp_model *m = x->b.model;
    int found = 0;
    for (int i = 0; i < m->npair; i++) {
        const perp__node *node = &m->graph.node[m->pair[i].a];
        for (int k = 0; k < m->nitem[PERP_VAR] && node->op == PERP__SYMBOL; k++) {
            const perp__item *var = &m->item[PERP_VAR][k];
            if (node->a == var->symbol && is_named(var->name, name)) {
                x->is_cone[i] = 1;
                found = 1;
            }
        }
    }
    return found;
}

/* Steps that the column "sliding" marks; 0: there is no such column. */
static int mark_steps(perp__inner *x)
{
    const perp__study *s = x->study;
    int found = 0, at = 0;
    for (int r = 0; r < s->nrun; r++) {
        int c = perp_trajectory_find(s->run[r].table, "sliding");
        const double *mark = c < 0 ? NULL : perp_trajectory_column(s->run[r].table, c);
        found |= c >= 0;
        for (int i = 1; i < s->run[r].rows; i++, at++)
            x->slides[at] = mark && !isnan(mark[i]) && mark[i] != 0;
    }
    return found;
}

static perp_status mark_sliding(perp__inner *x)
{
    const perp_identify_options *o = &x->study->options;
    const char *name = o->sliding_var ? o->sliding_var : "gamma";
    x->slides = calloc((size_t)x->nstep + 1, 1);
    x->is_cone = calloc((size_t)x->npair + 1, 1);
    if (!x->slides || !x->is_cone) return PERP_ERR_MEMORY;
    if (!(o->sliding > 0)) return PERP_OK;
    if (!mark_cones(x, name)) {
        perp__diag_append(x->study->diag, "no pair has the var '%s' as its first side\n", name);
        return say(x->study, PERP_ERR_ARG, "the cost of sliding needs one; name it (sliding_var)");
    }
    if (mark_steps(x)) return PERP_OK;
    return say(
        x->study, PERP_ERR_DATA,
        "the cost of sliding needs a column 'sliding' that is 1 in rows where a sliding step "
        "ends; no run has one");
}

static perp_status allocate(perp__inner *x)
{
    const perp_identify_options *o = &x->study->options;
    size_t ny = (size_t)x->ny, rows = (size_t)x->nrow;
    x->nslack = (o->soft_sides > 0 ? x->npair : 0) + (o->soft_vars > 0 ? x->npair : 0);
    x->nlcp = 2 * x->ny + x->nslack + 2 * x->npair;
    size_t n = (size_t)x->nlcp;
    x->ws = calloc((size_t)perp__tape_end(&x->tape) + 1, sizeof(double));
    x->row = malloc((rows * (1 + ny) + ny * ny + ny + n * n + 3 * n + 1) * sizeof(double));
    if (!x->ws || !x->row) return PERP_ERR_MEMORY;
    x->H = x->row + rows * (1 + ny);
    x->g = x->H + ny * ny;
    x->M = x->g + ny;
    x->q = x->M + n * n;
    x->z = x->q + n;
    perp__tape_prepare(&x->tape, x->ws, 1);
    return perp_lcp_solver_create(PERP_LCP_LEMKE, x->nlcp, NULL, &x->solver);
}

void perp__inner_clear(perp__inner *x)
{
    perp_lcp_solver_destroy(x->solver);
    perp__tape_clear(&x->tape);
    perp__builder_clear(&x->b);
    free(x->unknown);
    free(x->solved);
    free(x->data);
    free(x->slides);
    free(x->is_cone);
    free(x->ws);
    free(x->row);
}

/* One step ------------------------------------------------------------------------------------- */

/* Row r is c + s'y. */
static const double *row_of(const perp__inner *x, int r)
{
    return x->row + (size_t)r * (size_t)(1 + x->ny);
}

/* Add weight a b to y'Hy/2 + g'y; returns the constant. */
static double add_product(perp__inner *x, double weight, const double *a, const double *b)
{
    int ny = x->ny;
    for (int i = 0; i < ny; i++) {
        x->g[i] += weight * (a[0] * b[1 + i] + b[0] * a[1 + i]);
        for (int j = 0; j < ny; j++)
            x->H[i + j * ny] += weight * (a[1 + i] * b[1 + j] + b[1 + i] * a[1 + j]);
    }
    return weight * a[0] * b[0];
}

/* Objective y'Hy/2 + g'y + constant. */
static double objective(perp__inner *x, int step)
{
    int ny = x->ny;
    double constant = 0;
    memset(x->H, 0, (size_t)ny * (size_t)ny * sizeof(double));
    memset(x->g, 0, (size_t)ny * sizeof(double));
    for (int k = 0; k < x->nequation; k++)
        constant += add_product(x, 1, row_of(x, k), row_of(x, k));
    for (int k = 0; k < x->npair; k++) {
        const double *a = row_of(x, x->nequation + 2 * k), *b = a + 1 + ny;
        double sliding = perp__inner_sliding(x, step, k);
        constant += add_product(x, 1, a, b);
        if (sliding > 0) constant += add_product(x, sliding, b, b);
    }
    return constant;
}

static int is_convex(const perp__inner *x)
{
    enum { MOST = 40 };
    double A[MOST * MOST], V[MOST * MOST], value[MOST];
    if (x->ny > MOST || x->ny == 0) return x->ny == 0;
    memcpy(A, x->H, (size_t)(x->ny * x->ny) * sizeof(double));
    perp__symmetric_eigen(x->ny, A, value, V);
    return value[0] >= -PERP_TOL_CONVEX * fmax(1, value[x->ny - 1]);
}

double perp__inner_sliding(const perp__inner *x, int step, int pair)
{
    return x->slides[step] && x->is_cone[pair] ? x->study->options.sliding : 0;
}

double perp__inner_soft(const perp__inner *x, int k)
{
    return k % 2 ? x->study->options.soft_sides : x->study->options.soft_vars;
}

/* Optimality conditions over z = (y+, y-, slacks, multipliers of the 2 npair bounds). */
static void form_lcp(perp__inner *x)
{
    int n = x->nlcp, ny = x->ny, first = 2 * ny, rows = first + x->nslack, slack = first;
    memset(x->M, 0, (size_t)n * (size_t)n * sizeof(double));
    for (int i = 0; i < ny; i++) {
        x->q[i] = x->g[i];
        x->q[ny + i] = -x->g[i];
        for (int j = 0; j < ny; j++) {
            double h = x->H[i + j * ny];
            x->M[i + j * n] = x->M[ny + i + (ny + j) * n] = h;
            x->M[ny + i + j * n] = x->M[i + (ny + j) * n] = -h;
        }
    }
    for (int k = 0; k < 2 * x->npair; k++) {
        const double *side = row_of(x, x->nequation + k);
        double soft = perp__inner_soft(x, k);
        int r = rows + k;
        x->q[r] = side[0];
        for (int i = 0; i < ny; i++) {
            x->M[r + i * n] = side[1 + i];
            x->M[r + (ny + i) * n] = -side[1 + i];
            x->M[i + r * n] = -side[1 + i];
            x->M[ny + i + r * n] = side[1 + i];
        }
        if (!(soft > 0)) continue;
        x->q[slack] = soft;
        x->M[r + slack * n] = 1;
        x->M[slack++ + r * n] = -1;
    }
}

void perp__inner_rows(perp__inner *x, int step, const double *theta)
{
    const perp_model *m = x->b.model;
    size_t n = (size_t)m->nsymbol;
    memcpy(x->ws, x->data + (size_t)step * n, n * sizeof(double));
    for (int i = 0; i < x->study->np; i++)
        x->ws[m->item[PERP_PARAM][x->study->param[i]].symbol] = theta[i];
    for (int k = 0; k < x->ny; k++) x->ws[x->unknown[k]] = 0;
    perp__tape_get(&x->tape, x->ws, x->row);
}

double perp__inner_solve(perp__inner *x, int step, const double *theta)
{
    int ny = x->ny;
    perp_lcp_info info = {.size = sizeof info};
    perp__inner_rows(x, step, theta);
    double value = objective(x, step);
    if (!isfinite(value)) return NAN; /* a sample is missing */
    x->failed_step = step;
    x->status = PERP_ERR_NO_SOLUTION;
    x->why = "the inner program is not convex there (as with an unknown normal force)";
    if (!is_convex(x)) return -1;
    form_lcp(x);
    perp_lcp lcp = {.n = x->nlcp, .M = x->M, .ldm = x->nlcp, .q = x->q};
    x->why = "the inner program has no verified solution there";
    perp_status status = perp_lcp_solve(x->solver, &lcp, x->z, NULL, &info);
    if (status == PERP_ERR_MEMORY) x->status = status;
    if (status != PERP_OK || info.outcome != PERP_SOLVED) return -1;
    for (int i = 0; i < ny; i++) {
        double yi = x->z[i] - x->z[ny + i];
        value += x->g[i] * yi;
        for (int j = 0; j < ny; j++)
            value += 0.5 * yi * x->H[i + j * ny] * (x->z[j] - x->z[ny + j]);
    }
    for (int k = 2 * ny; k < 2 * ny + x->nslack; k++) value += x->q[k] * x->z[k];
    return fmax(value, 0);
}

static perp_status evaluate(void *context, const double *theta, double *residual)
{
    perp__inner *x = context;
    for (int s = 0; s < x->nstep; s++) {
        double J = perp__inner_solve(x, s, theta);
        if (J < 0) return x->status;
        residual[s] = sqrt(J);
    }
    return PERP_OK;
}

/* ---------------------------------------------------------------------------------------------- */

perp_status perp__inner_search(perp__inner *x, perp__study *s,
                               void (*minimise)(perp__problem *, perp__minimum *),
                               perp_identification *result)
{
    perp__problem p = {.np = s->np,
                       .n = x->nstep,
                       .lo = s->lo,
                       .hi = s->hi,
                       .log_scale = s->log_scale,
                       .huber = s->options.huber,
                       .watch = &s->options,
                       .evaluate = evaluate,
                       .minimise = minimise,
                       .context = x};
    perp__minimum best = {0};
    double dof[PERP_IDENTIFY_MOST_PARAMETERS];
    perp__worth worth = {0};
    perp_status status =
        perp__problem_allocate(&p) && perp__minimum_allocate(&best, &p) ? PERP_OK : PERP_ERR_MEMORY;
    if (status == PERP_OK) status = perp__search(s, &p, &best, result);
    if (status == PERP_OK && !isfinite(best.cost))
        status = result->interrupted ? perp__stopped(s) : say(s, PERP_ERR_NO_SOLUTION, x->why);
    int nm = s->nm;
    s->nm = 0; /* residuals here are of steps, not of columns */
    result->samples = x->nstep;
    if (status == PERP_OK) status = perp__report(s, &p, &best, dof, result);
    if (status == PERP_OK) status = perp__judge_intervals(s, &p, &best, &worth, result);
    s->nm = nm;
    perp__minimum_free(&best);
    perp__problem_free(&p);
    return status;
}

perp_status perp__inner_create(const perp__study *s, perp__inner *x)
{
    *x = (perp__inner){.study = s};
    perp_status status = perp__builder_create(s, &x->b);
    if (status == PERP_OK && !mark_unknowns(x)) status = PERP_ERR_MEMORY;
    if (status == PERP_OK) status = build_rows(x);
    if (status == PERP_OK) status = read_steps(x);
    if (status == PERP_OK) status = mark_sliding(x);
    return status == PERP_OK ? allocate(x) : status;
}

static perp_status run(perp__study *s, perp_identification *result)
{
    perp__inner x;
    perp_status status = perp__inner_create(s, &x);
    if (status == PERP_OK) status = perp__inner_search(&x, s, NULL, result);
    perp__inner_clear(&x);
    return status;
}

const perp__estimator perp__estimator_implicit = {run};
