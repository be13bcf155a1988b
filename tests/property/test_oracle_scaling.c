/* Units change nothing: rows and columns times powers of two give the same word and the same numbers to the bit, times
 * powers of ten the same word (but where the error is near the tolerance). 7500 problems; PERP_LONG=1: 750 000. */

#include "draw_fc.h"
#include "judge_lcp.h"

#include "perp/friction.h"

/* What of the present code depends on units (method, fault, 1 where only the long run is sure to find it). The methods that
 * end after few steps work in the units given; iterations that run away overflow in some units before others. */
static const uncured lcp_faults[] = {
    {"auto", "BINARY", 0},       {"auto", "BITS", 0},   {"auto", "DECIMAL", 0},
    {"lemke", "BINARY", 0},      {"lemke", "BITS", 0},  {"lemke", "DECIMAL", 0},
    {"bpp", "BINARY", 0},        {"bpp", "BITS", 0},    {"bpp", "DECIMAL", 0},
    {"murty", "BINARY", 0},      {"murty", "BITS", 0},  {"murty", "DECIMAL", 0},
    {"ipm", "DECIMAL", 0},       {"fb", "DECIMAL", 0},  {"min", "DECIMAL", 0},
    {"pgs", "BINARY", 1},        {"pgs", "DECIMAL", 0}, {"psor", "BINARY", 1},
    {"psor", "DECIMAL", 0},      {"prox", "BINARY", 1}, {"prox", "DECIMAL", 0},
    {"enumerate", "DECIMAL", 0}, {"prox", "BITS", 1},   {"min", "BINARY", 0},
    {"min", "BITS", 0},
};
static const uncured fc_faults[] = {
    /* Some 10 of 1e5: contacts that move others and are not moved by them, where nothing says what their units are; where a method
     * just meets its limit, or does not. */
    {"auto", "BITS", 1},     {"auto", "DECIMAL", 1},       {"nsgs", "BITS", 1},
    {"nsgs", "DECIMAL", 1},  {"alart-curnier", "BITS", 1}, {"alart-curnier", "DECIMAL", 1},
    {"proximal", "BITS", 1}, {"proximal", "DECIMAL", 1},   {"admm", "BITS", 1},
    {"admm", "DECIMAL", 1},  {"ipm", "BITS", 1},           {"ipm", "DECIMAL", 1},
    {"prox", "BITS", 1},     {"prox", "DECIMAL", 1},
};

static const draw_class classes[] = {DRAW_integer,   DRAW_zeros,      DRAW_gram,
                                     DRAW_gram_skew, DRAW_copositive, DRAW_skew,
                                     DRAW_repeated,  DRAW_infeasible, DRAW_scaled_p};
enum { CLASSES = sizeof classes / sizeof *classes };

/* The factors of one problem: row i times row[i], column j times column[j], so that z_j is column[j] times the new one. */
typedef struct factors {
    double row[FC_ROWS], column[FC_ROWS];
} factors;

/* 2^k, or 10^k in the range in which integers stay exact. */
static factors draw_factors(draws *d, int n, int decimal)
{
    factors f;
    double all = ldexp(1, draw_int(d, -30, 10));
    for (int i = 0; i < n; i++) {
        int r = draw_int(d, -40, 40), c = draw_int(d, -40, 40);
        f.row[i] = decimal ? all * pow(10, abs(r) % 6) : ldexp(1, r);
        f.column[i] = decimal ? pow(10, abs(c) % 6) : ldexp(1, c);
    }
    return f;
}

/* Near the tolerance the word may change. */
static int is_borderline(double error, double tol)
{
    return error >= tol / 3 && error <= 3 * tol;
}

static void compare(tally *t, int row, int column, unsigned long index, int decimal,
                    perp_outcome before, perp_outcome after, const double *z, const double *scaled,
                    const factors *f, int n, const char *text)
{
    fault found = decimal ? FAULT_DECIMAL : FAULT_BINARY;
    int differs = before != after;
    t->outcome[row][column][after]++;
    for (int i = 0; i < n && !differs && !decimal && before == PERP_SOLVED; i++) {
        if (scaled[i] * f->column[i] == z[i]) continue;
        differs = 1;
        found = FAULT_BITS;
    }
    if (differs) add_fault(t, row, column, found, index, 0, text);
}

static void scale_lcp(const perp_lcp *lcp, const factors *f, drawn_lcp *out)
{
    out->lcp = (perp_lcp){.n = lcp->n, .M = out->M, .ldm = DRAW_MAX, .q = out->q};
    for (int i = 0; i < lcp->n; i++) {
        for (int j = 0; j < lcp->n; j++)
            out->M[i + j * DRAW_MAX] = lcp->M[i + j * lcp->ldm] * f->row[i] * f->column[j];
        out->q[i] = lcp->q[i] * f->row[i];
    }
}

static void units_of_linear_problems_do_not_matter(void **state)
{
    (void)state;
    static tally t = {.what = "words of perp_lcp_solve after scaling",
                      .classes = PERP_LCP_METHOD_COUNT,
                      .methods = CLASSES};
    static drawn_lcp p, s;
    perp_lcp_solver *solver[PERP_LCP_METHOD_COUNT];
    long each = problems(5000) / CLASSES / 2;
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
        t.class_name[m] = perp_lcp_method_name((perp_lcp_method)m);
        solver[m] = m == PERP_LCP_NLP ? NULL : solver_for((perp_lcp_method)m, 0);
    }
    for (int c = 0; c < CLASSES; c++) t.method_name[c] = draw_class_name(classes[c]);
    for (int k = 0; k < 2 * each * CLASSES; k++) {
        int c = k % CLASSES, decimal = k / CLASSES % 2;
        unsigned long index = (unsigned long)(k / CLASSES);
        if (decimal && classes[c] == DRAW_scaled_p) continue; /* not of integers */
        draw_lcp(classes[c], seed_of_run(), index, &p);
        draws d = draws_of(seed_of_run(), 200, (unsigned long)k);
        factors f = draw_factors(&d, p.lcp.n, decimal);
        scale_lcp(&p.lcp, &f, &s);
        for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
            double z[DRAW_MAX] = {0}, scaled[DRAW_MAX] = {0};
            char text[DRAW_JSON];
            perp_lcp_info before = {.size = sizeof before}, after = {.size = sizeof after};
            if (!solver[m]) continue;
            assert_int_equal(perp_lcp_solve(solver[m], &p.lcp, z, NULL, &before), PERP_OK);
            assert_int_equal(perp_lcp_solve(solver[m], &s.lcp, scaled, NULL, &after), PERP_OK);
            if (decimal && (is_borderline(exact_lcp_error(&p.lcp, z).own, TOL) ||
                            is_borderline(exact_lcp_error(&s.lcp, scaled).own, TOL)))
                continue;
            compare(&t, m, c, index, decimal, before.outcome, after.outcome, z, scaled, &f, p.lcp.n,
                    draw_json(&s.lcp, text));
        }
    }
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) perp_lcp_solver_destroy(solver[m]);
    check_tally(&t, lcp_faults, sizeof lcp_faults / sizeof *lcp_faults);
}

/* One factor a contact for its velocities and one for its forces, so that the cone stays a cone. */
static void scale_fc(const perp_fc *fc, factors *f, drawn_fc *out)
{
    int d = fc->dimension, n = d * fc->nc;
    for (int i = 0; i < n; i++) f->row[i] = f->row[i - i % d], f->column[i] = f->column[i - i % d];
    memcpy(out->mu, fc->mu, (size_t)fc->nc * sizeof *fc->mu);
    out->fc = (perp_fc){
        .dimension = d, .nc = fc->nc, .q = out->q, .mu = out->mu, .W = out->W, .ldw = FC_ROWS};
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            out->W[i + j * FC_ROWS] = fc->W[i + j * fc->ldw] * f->row[i] * f->column[j];
        out->q[i] = fc->q[i] * f->row[i];
    }
}

static void units_of_contacts_do_not_matter(void **state)
{
    (void)state;
    enum { FC_CLASSES = DRAW_fc_steep };
    static tally t = {.what = "words of perp_fc_solve after scaling",
                      .classes = PERP_FC_METHOD_COUNT,
                      .methods = FC_CLASSES};
    static drawn_fc p, s;
    perp_fc_solver *solver[PERP_FC_METHOD_COUNT][2];
    long each = problems(2500) / FC_CLASSES / 2;
    for (int m = 0; m < PERP_FC_METHOD_COUNT; m++) {
        t.class_name[m] = perp_fc_method_name((perp_fc_method)m);
        for (int d = 2; d <= 3; d++) {
            perp_fc shape = {.dimension = d, .nc = FC_MAX};
            perp_fc_options o = perp_fc_options_default();
            o.max_iter = 500;
            assert_int_equal(
                perp_fc_solver_create((perp_fc_method)m, &shape, &o, &solver[m][d - 2]), PERP_OK);
        }
    }
    for (int c = 0; c < FC_CLASSES; c++) t.method_name[c] = draw_fc_class_name((draw_fc_class)c);
    for (int k = 0; k < 2 * each * FC_CLASSES; k++) {
        int c = k % FC_CLASSES, decimal = k / FC_CLASSES % 2;
        unsigned long index = (unsigned long)(k / FC_CLASSES);
        if (decimal && c == DRAW_fc_bodies) continue; /* not of integers */
        draw_fc((draw_fc_class)c, seed_of_run(), index, &p);
        draws d = draws_of(seed_of_run(), 201, (unsigned long)k);
        int n = p.fc.dimension * p.fc.nc;
        factors f = draw_factors(&d, n, decimal);
        scale_fc(&p.fc, &f, &s);
        for (int m = 0; m < PERP_FC_METHOD_COUNT; m++) {
            double r[FC_ROWS] = {0}, scaled[FC_ROWS] = {0};
            char text[DRAW_FC_JSON];
            perp_fc_info before = {.size = sizeof before}, after = {.size = sizeof after};
            perp_fc_solver *one = solver[m][p.fc.dimension - 2];
            assert_int_equal(perp_fc_solve(one, &p.fc, r, NULL, &before), PERP_OK);
            assert_int_equal(perp_fc_solve(one, &s.fc, scaled, NULL, &after), PERP_OK);
            if (decimal && (is_borderline(exact_fc_error(&p.fc, r).own, 1e-8) ||
                            is_borderline(exact_fc_error(&s.fc, scaled).own, 1e-8)))
                continue;
            compare(&t, m, c, index, decimal, before.outcome, after.outcome, r, scaled, &f, n,
                    draw_fc_json(&s.fc, text));
        }
    }
    for (int m = 0; m < PERP_FC_METHOD_COUNT; m++) {
        for (int d = 0; d < 2; d++) perp_fc_solver_destroy(solver[m][d]);
    }
    check_tally(&t, fc_faults, sizeof fc_faults / sizeof *fc_faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_of_linear_problems_do_not_matter),
        cmocka_unit_test(units_of_contacts_do_not_matter),
    };
    return run_all(tests);
}
