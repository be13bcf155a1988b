/* The program of every example with a plan: its derivatives agree with differences, for every way to
 * treat the pairs and every method. */

#include "model/plan_block.h"
#include "plan/program.h"
#include "runs.h"

#include <glob.h>

static uint64_t seed = 1;

static double uniform(double lo, double hi)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return lo + (hi - lo) * (double)(seed >> 11) / 9007199254740992.0;
}

/* A point inside the bounds, near the guess. */
static void scatter(double *x, size_t n, const double *lo, const double *hi)
{
    for (size_t i = 0; i < n; i++) {
        double a = fmax(lo[i], x[i] - 0.7), b = fmin(hi[i], x[i] + 0.7);
        x[i] = uniform(a, b);
    }
}

static const perp__pairing pairing = {.relaxation = 0.01, .penalty = 3};

typedef struct point {
    perp__program *g;
    double *w, *p, *lambda, *r, *jac, *grad, *hess;
} point;

static double *array(size_t n)
{
    double *x = calloc(n + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

/* sigma * cost + lambda'r of the whole program. */
static double lagrangian(point *z, double sigma)
{
    double cost, L;
    perp__program_values(z->g, &pairing, z->w, z->p, z->r, &cost);
    L = sigma * cost;
    for (int i = 0; i < z->g->nrow * z->g->K; i++) L += z->lambda[i] * z->r[i];
    return L;
}

/* The entry of (w, p) that column `col` of stage k stands for; NULL: a given initial state. */
static double *place(point *z, double *w, double *p, int col, int k)
{
    perp__program *g = z->g;
    if (col < g->nx && k == 0) return g->initial.p[col] >= 0 ? p + g->initial.p[col] : NULL;
    if (col < g->nx)
        return w + (size_t)((g->npoint - 1) * g->nb + col) * (size_t)g->K + (size_t)k - 1;
    if (col < g->nx + g->nw) return w + (size_t)(col - g->nx) * (size_t)g->K + (size_t)k;
    return p + col - g->nx - g->nw;
}

/* The gradient of the Lagrangian from J and the cost's gradient. */
static void gradient(point *z, double sigma, double *gw, double *gp)
{
    perp__program *g = z->g;
    memset(gw, 0, (size_t)g->nw * (size_t)g->K * sizeof *gw);
    for (int i = 0; i < g->np; i++) gp[i] = sigma * g->cost.time[i];
    perp__program_derivatives(g, &pairing, z->w, z->p, z->lambda, sigma, z->jac, z->grad, z->hess);
    for (int k = 0; k < g->K; k++) {
        for (int e = 0; e < g->jac.n + g->grad.n; e++) {
            int is_row = e < g->jac.n, f = e - g->jac.n;
            double *to = place(z, gw, gp, is_row ? g->jac.col[e] : g->grad.col[f], k);
            size_t at = (size_t)(is_row ? e : f) * (size_t)g->K + (size_t)k;
            if (!to) continue;
            *to += is_row ? z->lambda[g->jac.row[e] * g->K + k] * z->jac[at] : sigma * z->grad[at];
        }
    }
}

static void check_program(perp__program *g, const char *name)
{
    size_t nw = (size_t)g->nw * (size_t)g->K, nr = (size_t)g->nrow * (size_t)g->K, K = (size_t)g->K;
    point z = {g,
               array(nw),
               array((size_t)g->np),
               array(nr),
               array(nr),
               array((size_t)g->jac.n * K),
               array((size_t)g->grad.n * K),
               array((size_t)g->hess.n * K)};
    size_t n = nw + (size_t)g->np;
    double *g0 = array(n), *g1 = array(n), *g2 = array(n), *direction = array(n), *Hd = array(n);
    assert_int_equal(perp__program_guess(g, z.w, z.p, NULL), PERP_OK);
    scatter(z.w, nw, g->bound.wlo, g->bound.whi);
    scatter(z.p, (size_t)g->np, g->bound.plo, g->bound.phi);
    for (size_t i = 0; i < nr; i++) z.lambda[i] = uniform(-1, 1);
    for (size_t i = 0; i < n; i++) direction[i] = uniform(-1, 1);
    gradient(&z, 0.7, g0, g0 + nw);
    /* H d from the entries */
    for (int k = 0; k < g->K; k++) {
        for (int e = 0; e < g->hess.n; e++) {
            double *hi = place(&z, Hd, Hd + nw, g->hess.row[e], k);
            double *hj = place(&z, Hd, Hd + nw, g->hess.col[e], k);
            double *di = place(&z, direction, direction + nw, g->hess.row[e], k);
            double *dj = place(&z, direction, direction + nw, g->hess.col[e], k);
            double h = z.hess[(size_t)e * K + (size_t)k];
            if (hi && dj) *hi += h * *dj;
            if (hj && di && g->hess.row[e] != g->hess.col[e]) *hj += h * *di;
        }
    }
    double L[2], slope = 0, step = 1e-5, scale = 1;
    for (int side = 0; side < 2; side++) {
        double s = side ? -2 * step : step;
        for (size_t i = 0; i < nw; i++) z.w[i] += s * direction[i];
        for (size_t i = nw; i < n; i++) z.p[i - nw] += s * direction[i];
        L[side] = lagrangian(&z, 0.7);
        gradient(&z, 0.7, side ? g2 : g1, (side ? g2 : g1) + nw);
    }
    for (size_t i = 0; i < n; i++) slope += g0[i] * direction[i];
    for (size_t i = 0; i < n; i++) scale = fmax(scale, fmax(fabs(g0[i]), fabs(Hd[i])));
    if (!near((L[0] - L[1]) / (2 * step), slope, 1e-6 * scale * (double)n))
        fail_msg("%s: slope %.12g, differences %.12g", name, slope, (L[0] - L[1]) / (2 * step));
    for (size_t i = 0; i < n; i++)
        if (!near((g1[i] - g2[i]) / (2 * step), Hd[i], 1e-6 * scale))
            fail_msg("%s: Hessian row %zu: %.12g, differences %.12g", name, i, Hd[i],
                     (g1[i] - g2[i]) / (2 * step));
    double *arrays[] = {z.w, z.p, z.lambda, z.r, z.jac, z.grad, z.hess, g0, g1, g2, direction, Hd};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
}

static void derivatives_agree_with_differences(void **state)
{
    (void)state;
    glob_t found;
    int checked = 0;
    assert_int_equal(glob(PERP_SOURCE_DIR "/examples/*/*.perp", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        perp_diag diag = {0};
        perp_model *m;
        if (perp_model_load(found.gl_pathv[i], &m, &diag) != PERP_OK)
            fail_msg("%s", perp_diag_text(&diag));
        for (int method = 0; method < PERP_PLAN_METHOD_COUNT && m->plan; method++)
            for (int pairs = 0; pairs < PERP_PLAN_PAIRS_COUNT; pairs++) {
                perp__program_options o = {.steps = 11,
                                           .method = (perp_plan_method)method,
                                           .theta = 0.6,
                                           .pairs = (perp_plan_pairs)pairs};
                perp_status status;
                perp__program *g = perp__program_create(m, &o, &status, &diag);
                if (!g && strstr(perp_diag_text(&diag), "is between two nodes")) {
                    perp_diag_clear(&diag);
                    o.steps = (int)m->graph.node[m->plan->nodes].value - 1; /* its own */
                    g = perp__program_create(m, &o, &status, &diag);
                }
                if (!g && strstr(perp_diag_text(&diag), "switches pairs by 'when'")) {
                    assert_true(method != PERP_PLAN_BACKWARD_EULER && method != PERP_PLAN_THETA);
                    perp_diag_clear(&diag);
                    continue;
                }
                if (!g) fail_msg("%s", perp_diag_text(&diag));
                check_program(g, found.gl_pathv[i]);
                perp__program_destroy(g);
                checked++;
            }
        perp_model_destroy(m);
    }
    assert_true(checked >= 12);
    globfree(&found);
}

/* Links that are not affine, values of phases in terms of free parameters, costs and conditions of
 * phases. */
static void derivatives_of_phases_agree_with_differences(void **state)
{
    (void)state;
    perp_model *m = parse_model(
        "param k = 2, e = 0.5, c = k^2\ninput u in [-9, 9]\nstate x = 0.3, v = 1\nvar f\n"
        "der(x) = v*cos(x)\nc*der(v) = u + f - k*x^2\n-k <= f <= k perp v\n"
        "plan {\n horizon free in [1, 9]\n free k in [1, 3]\n free e in [0.1, 1]\n"
        " minimize integral(u^2*k)\n"
        " phase one {\n nodes 4\n param k = e*k + 1, e = sin(k)\n at end: x*v = k\n"
        " minimize end(x^2*e) - 2*time\n }\n"
        " link: v = -e*pre(v)*cos(pre(x)) + t^2, x = pre(x)*pre(v)\n"
        " phase two {\n horizon 2\n nodes 5\n at start: v^2*x <= k\n x*u <= c\n"
        " minimize integral(c*v^2)\n }\n}\n");
    for (int method = 0; method < PERP_PLAN_METHOD_COUNT; method++) {
        perp__program_options o = {.steps = 7, .method = (perp_plan_method)method, .theta = 0.6};
        perp_status status;
        perp_diag diag = {0};
        perp__program *g = perp__program_create(m, &o, &status, &diag);
        if (!g) fail_msg("%s", perp_diag_text(&diag));
        assert_int_equal(g->phase.named, 2);
        check_program(g, "phases");
        perp__program_destroy(g);
    }
    perp_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_agree_with_differences),
        cmocka_unit_test(derivatives_of_phases_agree_with_differences)};
    return run_all(tests);
}
