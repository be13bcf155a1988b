/* Matrix classes, by textbook examples. */

#include "unit.h"

#include "perp/lcp.h"

static perp_lcp_class classify(int n, const double *rows)
{
    double M[36];
    perp_lcp_class c;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(definite_matrices),
        cmocka_unit_test(the_sliding_block_is_semidefinite_and_not_p),
        cmocka_unit_test(p_matrices_need_not_be_definite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
