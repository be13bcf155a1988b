/* Matrix classes, by textbook examples. */

#include "unit.h"

#include "perp/lcp.h"

static perp_lcp_class classify(int n, const double *rows)
{
    double M[36];
    perp_lcp_class c = {.size = sizeof c};
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) M[i + j * n] = rows[i * n + j];
    }
    perp_lcp lcp = {n, M, n, NULL, NULL, NULL};
    assert_int_equal(perp_lcp_classify(&lcp, &c), PERP_OK);
    return c;
}

static void definite_matrices(void **state)
{
    (void)state;
    perp_lcp_class c = classify(2, (double[]){2, -1, -1, 2});
    assert_true(c.symmetric && c.positive_definite && c.positive_semidefinite && c.p_matrix &&
                c.p0_matrix && c.copositive && c.z_matrix);
    c = classify(2, (double[]){1, -1, -1, 1});
    assert_true(!c.positive_definite && c.positive_semidefinite && !c.p_matrix && c.p0_matrix &&
                c.copositive);
    c = classify(2, (double[]){1, 2, 2, 1});
    assert_true(!c.positive_semidefinite && !c.p0_matrix && c.copositive && !c.z_matrix);
    c = classify(2, (double[]){0, 0, 0, 0});
    assert_true(c.positive_semidefinite && !c.positive_definite && !c.p_matrix && c.p0_matrix);
    c = classify(2, (double[]){0, 1, 1, 0}); /* indefinite with a zero diagonal */
    assert_true(!c.positive_semidefinite && !c.p0_matrix && c.copositive);
}

static void the_sliding_block_is_semidefinite_and_not_p(void **state)
{
    (void)state; /* ERRATA 2.6: "M is a P-matrix" is false */
    perp_lcp_class c = classify(3, (double[]){1, -1, 1, -1, 1, 1, -1, -1, 0});
    assert_true(!c.symmetric && c.positive_semidefinite && !c.p_matrix && c.p0_matrix &&
                c.copositive);
}

static void p_matrices_need_not_be_definite(void **state)
{
    (void)state;
    perp_lcp_class c = classify(2, (double[]){1, -3, 0, 1});
    assert_true(c.p_matrix && !c.positive_semidefinite && !c.copositive);
    c = classify(3, (double[]){1, 2, 0, 0, 1, 2, 2, 0, 1}); /* Kostreva */
    assert_true(c.p_matrix && c.copositive);
    c = classify(1, (double[]){-1});
    assert_true(!c.p0_matrix && !c.copositive);
}

static void scales_do_not_matter(void **state)
{
    (void)state;
    static const double scales[] = {1e-300, 1e-9, 1e9, 1e307};
    for (int k = 0; k < 4; k++) {
        double x = scales[k];
        perp_lcp_class c = classify(2, (double[]){x, x, x, x});
        assert_true(!c.positive_definite && c.positive_semidefinite && !c.p_matrix && c.p0_matrix);
        c = classify(2, (double[]){2 * x, -x, -x, 2 * x});
        assert_true(c.positive_definite && c.z_matrix);
        c = classify(2, (double[]){0, x, x, 0});
        assert_true(!c.positive_semidefinite && c.copositive);
    }
}

/* Upper triangular with 4 above a unit diagonal is P, but not semidefinite. */
static void p_is_decided_exactly_up_to_20(void **state)
{
    (void)state;
    static double M[21 * 21];
    perp_lcp_class c = {.size = sizeof c};
    for (int n = 18; n <= 21; n++) {
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) M[i + j * n] = i == j ? 1 : i < j ? 4 : 0;
        perp_lcp lcp = {n, M, n, NULL, NULL, NULL};
        assert_int_equal(perp_lcp_classify(&lcp, &c), PERP_OK);
        assert_true(!c.positive_semidefinite);
        assert_int_equal(c.p_matrix, n <= 20 ? 1 : -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(definite_matrices),
        cmocka_unit_test(the_sliding_block_is_semidefinite_and_not_p),
        cmocka_unit_test(p_matrices_need_not_be_definite),
        cmocka_unit_test(scales_do_not_matter),
        cmocka_unit_test(p_is_decided_exactly_up_to_20),
    };
    return run_all(tests);
}
