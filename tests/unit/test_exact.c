/* The judge itself on problems done by hand: a judge that accepts everything would let every property test pass. */

#include "exact.h"
#include "unit.h"

static perp_lcp lcp_of(int n, const double *M, const double *q)
{
    return (perp_lcp){.n = n, .M = M, .ldm = n, .q = q};
}

static void solvable_and_feasible_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        int n;
        double M[4], q[2]; /* by columns */
        int solvable, feasible;
    } cases[] = {
        {1, {0}, {-1e-11}, 0, 0},
        {1, {0}, {0}, 1, 1},
        {1, {-1}, {1}, 1, 1},
        {1, {-1}, {-1e-300}, 0, 0},
        {1, {1e-300}, {-1e300}, 1, 1},
        {2, {2, -2, -2, 2}, {0, -2}, 0, 0},
        {2, {2, -2, -2, 2}, {2, -2}, 1, 1},
        {2, {1, 0, 0, 0}, {-1e12, -1}, 0, 0},
        {2, {0, -1, 1, 0}, {-1, 1}, 1, 1},
        {2, {-1, 0, 1, 1}, {-1, -1}, 1, 1},
        {2, {0, 1, 1, 0}, {-1, -1}, 1, 1},
        {2, {0, 0, 1, 0}, {-1, 1}, 0, 1}, /* w_2 = 1 asks for z_2 = 0, w_1 = z_2 - 1 */
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        perp_lcp lcp = lcp_of(cases[k].n, cases[k].M, cases[k].q);
        int solvable = exact_has_solution(&lcp), feasible = exact_is_feasible(&lcp);
        if (solvable != cases[k].solvable || feasible != cases[k].feasible)
            fail_msg("case %zu: solvable %d, feasible %d", k, solvable, feasible);
    }
}

static void all_solutions_of_a_segment_and_a_ray_are_found(void **state)
{
    (void)state;
    static exact_set set;
    double flat[] = {1, -1, -1, 1}, none[] = {0, 0}, cross[] = {0, 1, 1, 0}, push[] = {-1, -1};
    perp_lcp ray = lcp_of(2, flat, none), two = lcp_of(2, cross, push);
    exact_solutions(&ray, NULL, &set); /* z = (t, t) */
    assert_int_equal(set.npoint, 1);
    assert_int_equal(set.nray, 1);
    assert_near(set.ray[0][0], 0.5, 0);
    exact_solutions(&two, NULL, &set); /* z = (1, 1) */
    assert_int_equal(set.npoint, 1);
    assert_int_equal(set.nray, 0);
    assert_near(set.point[0][1], 1, 0);
}

static void each_condition_is_judged_on_its_own_scale(void **state)
{
    (void)state;
    double M[] = {1, 0, 0, 0}, q[] = {-1e12, -1}, z[] = {1e12, 0};
    double flat[] = {2, -2, -2, 2}, pull[] = {0, -2}, far[] = {0x1p70, 0x1p70};
    perp_lcp beside = lcp_of(2, M, q), lost = lcp_of(2, flat, pull);
    assert_near(exact_lcp_error(&beside, z).own, 1, 0);
    assert_true(exact_lcp_error(&lost, far).own < 1e-15); /* backward error alone accepts it */
    assert_true(exact_lcp_error(&lost, far).data > 0.1);
    double one[] = {1e-300}, thirds[] = {-1e300}, tiny[] = {0};
    perp_lcp range = lcp_of(1, one, thirds);
    assert_near(exact_lcp_error(&range, tiny).own, 1, 0);
    double three[] = {3}, minus[] = {-1}, third[] = {1.0 / 3}, off[] = {1.0 / 3 + 1e-9};
    perp_lcp rounded = lcp_of(1, three, minus);
    assert_true(exact_lcp_error(&rounded, third).own < 1e-16);
    assert_near(exact_lcp_error(&rounded, off).own, 1.5e-9, 1e-12);
    off[0] = NAN;
    assert_true(isinf(exact_lcp_error(&rounded, off).own));
}

/* Problem 19168 of `huge` (seed 2026): z_0 = z_1 + z_3 in rows 0, 1, 3, and row 2 says that z_0 = 2e5. Row 3 has data of its own
 * by way of z_1, 4e-360 where z_0 brings it 1e-160. */
static void the_data_of_a_row_are_those_of_its_connected_block(void **state)
{
    (void)state;
    double M[] = {5e-5, -1e95, 1e-105, -1e-165, -5e-5, 1e95, 0, 1e-165,
                  -5,   0,     4e-100, 0,       -5e-5, 1e95, 0, 1e-165};
    double q[] = {0, -4e-100, -2e-100, 0}, z[] = {2e5 - 6e-11, 0, 0, 2e5 - 3e-11};
    perp_lcp lcp = lcp_of(4, M, q);
    assert_true(exact_lcp_error(&lcp, z).own < 1e-15);
    assert_true(exact_lcp_error(&lcp, z).data < 1e-14);
    for (int j = 0; j < 4; j++) M[4 * j + 3] *= 0x1p900; /* in any unit of the row */
    assert_true(exact_lcp_error(&lcp, z).data < 1e-14);
    /* rows of nothing but z_2 - z_3 get theirs from row 1 by z_1, z_2; nothing is carried by a coefficient that is 0 */
    double chain[] = {0, 0, 0, 0, 0, 1, 1, 0, 0, 0, -1, 1, 0, 0, 0, -1}, pull[] = {0, -2, 0, 0},
           lost[] = {0, 2, 2, 2 + 1e-3};
    perp_lcp far = lcp_of(4, chain, pull);
    assert_near(exact_lcp_error(&far, lost).data, 1e-3 / 2, 1e-9);
    pull[1] = 0, pull[0] = 1e9;
    assert_near(exact_lcp_error(&far, lost).data, 1,
                0); /* not those of row 0, with which it shares nothing */
}

static void a_point_on_a_ray_is_a_solution(void **state)
{
    (void)state;
    /* problem 33229 of `beside_weak` (seed 2026): t (1, 0, 1, 0) from 0 */
    double M[] = {-2, 2, 1, 0, 4, 0, -4, 0, 2, 2, -1, 0, 0, -0x1p-7, 0, 1}, q[] = {0, 1, 0, 2e13};
    double z[] = {0x1p34, 0, 0x1p34 - 0x1p-18, 0}, beside[] = {0x1p34, 0, 0x1p34 - 0x1p8, 0},
           back[] = {-0x1p34, 0, -0x1p34, 0};
    perp_lcp lcp = lcp_of(4, M, q);
    assert_true(exact_is_near_solution(&lcp, z, 1e-8));
    assert_false(exact_is_near_solution(&lcp, beside, 1e-9));
    assert_false(exact_is_near_solution(&lcp, back, 1e-8));
    /* vertices (0, 0) and (1, 0); the ray (0, 1) begins at the first alone */
    double bent[] = {-1, 1, 1, 0}, push[] = {1, 0}, from_0[] = {0, 5}, from_1[] = {1, 5};
    perp_lcp two = lcp_of(2, bent, push);
    assert_true(exact_is_near_solution(&two, from_0, 1e-8));
    assert_false(exact_is_near_solution(&two, from_1, 1e-8));
}

static void bounds_are_judged_and_decided(void **state)
{
    (void)state;
    double M[] = {8, -8, -8, 8}, q[] = {9, 7}, lo[] = {-INFINITY, -INFINITY}, hi[] = {-3, -3},
           z[] = {-3, -3};
    perp_lcp lcp = lcp_of(2, M, q);
    lcp.lo = lo, lcp.hi = hi;
    assert_int_equal(exact_has_solution(&lcp),
                     0); /* w sums to 16, at upper bounds it must be <= 0 */
    assert_true(exact_lcp_error(&lcp, z).own > 0.1);
    q[0] = -9, q[1] = -7;
    assert_int_equal(exact_has_solution(&lcp), 1);
    assert_near(exact_lcp_error(&lcp, z).own, 0, 0);
    z[0] = -2.999;
    assert_true(exact_lcp_error(&lcp, z).own > 1e-4);
}

static void coulombs_law_is_judged_contact_by_contact(void **state)
{
    (void)state;
    double W[] = {1, 0, 0, 1}, q[] = {-1, 3}, mu[] = {0.5};
    perp_fc p = {.dimension = 2, .nc = 1, .q = q, .mu = mu, .W = W, .ldw = 2};
    double slides[] = {1, -0.5}, sticks[] = {1, -3}, wrong_way[] = {1, 0.5}, none[] = {0, 0},
           adhesive[] = {-1, 0};
    assert_near(exact_fc_error(&p, slides).own, 0, 0);
    assert_true(exact_fc_error(&p, sticks).own > 0.1);
    assert_true(exact_fc_error(&p, wrong_way).own > 0.1);
    assert_true(exact_fc_error(&p, none).own > 0.1);
    assert_int_equal(exact_fc_has_solution(&p), 1);
    q[0] = 1;
    assert_near(exact_fc_error(&p, none).own, 0, 0);
    mu[0] = 0;
    assert_true(exact_fc_error(&p, adhesive).own > 0.1);
    double immobile[] = {0, 0, 0, 1}, far[] = {0x1p70, 0};
    q[0] = -1, p.W = immobile;
    assert_int_equal(exact_fc_has_solution(&p), 0);
    assert_true(exact_fc_error(&p, far).data > 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solvable_and_feasible_are_told_apart),
        cmocka_unit_test(all_solutions_of_a_segment_and_a_ray_are_found),
        cmocka_unit_test(each_condition_is_judged_on_its_own_scale),
        cmocka_unit_test(the_data_of_a_row_are_those_of_its_connected_block),
        cmocka_unit_test(a_point_on_a_ray_is_a_solution),
        cmocka_unit_test(bounds_are_judged_and_decided),
        cmocka_unit_test(coulombs_law_is_judged_contact_by_contact),
    };
    return run_all(tests);
}
