/* Every word of every method for linear problems against exact arithmetic: "solved" must hold by each condition's own
 * scale and there must be a solution; "infeasible" must not have a feasible point; what auto refuses must be undecidable.
 * 1e4 problems; PERP_LONG=1: 1e6. PERP_SEED chooses others. */

#include "judge_lcp.h"

/* Faults of the present code (class, fault, 1 where only the long run is sure to find it): each line goes with its cure. */
static const uncured faults[] = {
    /* 7 of 21 052: numbers that are 1e-200 of what the data of other rows make of theirs are taken as 0 */
    {"huge", "REFUSED", 1},
};

/* One in so many problems for the methods that take milliseconds. */
static unsigned long every(perp_lcp_method method)
{
    return method == PERP_LCP_NLP ? 500 : 1;
}

/* What comes back as w is that of the z that comes back, to the rounding of its terms, whatever the word. */
static void check_w(const judged *p, perp_lcp_method method, const double *z, const double *w)
{
    const perp_lcp *lcp = &p->drawn.lcp;
    for (int i = 0; i < lcp->n; i++) {
        double sum = lcp->q[i], terms = fabs(sum);
        for (int j = 0; j < lcp->n; j++) {
            double term = lcp->M[i + j * lcp->ldm] * z[j];
            sum += term, terms += fabs(term);
        }
        if (isfinite(terms) && !near(w[i], sum, 1e-13 * terms + 1e-307))
            fail_msg("%s %lu, %s: w[%d] = %.17g, of this z it is %.17g", draw_class_name(p->class),
                     p->index, perp_lcp_method_name(method), i, w[i], sum);
    }
}

static void every_word_is_true(void **state)
{
    (void)state;
    static tally t = {.what = "words of perp_lcp_solve", .methods = PERP_LCP_METHOD_COUNT};
    static judged p;
    perp_lcp_solver *solver[PERP_LCP_METHOD_COUNT][2];
    long each = problems(10000) / DRAW_CLASSES;
    name_classes(&t);
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
        t.method_name[m] = perp_lcp_method_name((perp_lcp_method)m);
        for (int mixed = 0; mixed < 2; mixed++)
            solver[m][mixed] = solver_for((perp_lcp_method)m, mixed);
    }
    printf("seed %llu, %ld problems of each class\n", (unsigned long long)seed_of_run(), each);
    for (int c = 0; c < DRAW_CLASSES; c++) {
        for (unsigned long k = 0; k < (unsigned long)each; k++) {
            draw_judged(&p, c, k);
            for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
                double z[DRAW_MAX] = {0}, w[DRAW_MAX] = {0};
                perp_lcp_info info = {.size = sizeof info};
                perp_lcp_solver *s = solver[m][p.drawn.lcp.lo != NULL];
                if (!s || k % every((perp_lcp_method)m)) continue;
                assert_int_equal(perp_lcp_solve(s, &p.drawn.lcp, z, w, &info), PERP_OK);
                check_w(&p, (perp_lcp_method)m, z, w);
                judge_word(&t, m, &p, info.outcome, z);
                if (m == PERP_LCP_AUTO) judge_refusal(&t, m, &p, info.outcome);
            }
        }
    }
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
        for (int mixed = 0; mixed < 2; mixed++) perp_lcp_solver_destroy(solver[m][mixed]);
    }
    check_tally(&t, faults, sizeof faults / sizeof *faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_is_true),
    };
    return run_all(tests);
}
