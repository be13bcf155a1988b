/* When an answer to a linear problem holds, by hand: own scales, growth, underflow, proofs. The random ones are in
 * property/test_oracle_lcp. */

#include "unit.h"

#include "perp/lcp.h"
#include "base/holds.h"
#include "solve/solver.h"

#include <stdint.h>
#include <stdio.h>

static perp_outcome word(perp_lcp_method method, int n, const double *M, const double *q, double *z,
                         perp_lcp_info *info)
{
    perp_lcp_solver *solver;
    perp_lcp_info own = {.size = sizeof own};
    perp_lcp lcp = {.n = n, .M = M, .ldm = n, .q = q};
    if (perp_lcp_solver_create(method, n, NULL, &solver) != PERP_OK) return PERP_BAD_INPUT;
    if (!info) info = &own;
    assert_int_equal(perp_lcp_solve(solver, &lcp, z, NULL, info), PERP_OK);
    const double *u = perp_lcp_certificate(solver);
    assert_true((u != NULL) == (info->outcome == PERP_INFEASIBLE));
    if (u) assert_true(perp_lcp_is_infeasible(&lcp, u, 0));
    assert_true((info->outcome == PERP_SOLVED) == (info->error <= 1e-10));
    perp_lcp_solver_destroy(solver);
    return info->outcome;
}

/* Rows 1 and 2 add up to 0 = q_1 + q_2 < 0; z = 1e21 hides it from plain sums. A proof ends every method. */
static void what_has_no_solution_is_never_solved(void **state)
{
    (void)state;
    static const double problem[][6] = {/* columns of M, q */
                                        {2, -2, -2, 2, 0, -2},   {1, -1, -1, 1, 0, -1},
                                        {1, -1, -1, 1, -1, 0},   {1, -1, -1, 1, -1, -1},
                                        {1, 0, 0, 0, -1e12, -1}, {1, 0, 0, 0, 1e13, -1e-13}};
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
        for (size_t k = 0; k < sizeof problem / sizeof *problem && m != PERP_LCP_NLP; k++) {
            double z[2] = {0};
            assert_int_equal(word((perp_lcp_method)m, 2, problem[k], problem[k] + 4, z, NULL),
                             PERP_INFEASIBLE);
        }
    }
}

/* Nothing solves these: where w_2 = w_3 = 0, w_4 = 1024 q_3 + q_4 < 0. z = 1.7e23 makes sums in which that is nearly rounding. */
static void sums_of_huge_terms_do_not_hide_a_row(void **state)
{
    (void)state;
    static const double M[] = {-50331648,
                               -80,
                               -4.6116860184273879e+19,
                               4.7223664828696452e+22,
                               64,
                               0,
                               87960930222080,
                               -90071992547409920,
                               -5.9604644775390625e-07,
                               -1.5916157281026244e-12,
                               -1048576,
                               1073741824,
                               640,
                               0.001708984375,
                               1125899906842624,
                               -1.152921504606847e+18},
                        q[][4] = {{-4096, 274877906944, -32768, -100663296},
                                  {-416, 1236950581248, -0.000335693359375, -917504}};
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
        for (int k = 0; k < 2 && m != PERP_LCP_NLP; k++) {
            double z[4] = {0};
            assert_int_not_equal(word((perp_lcp_method)m, 4, M, q[k], z, NULL), PERP_SOLVED);
        }
    }
}

/* All solutions have z_5 = 0. On the basis of all five, which -2^-49 alone makes regular, the other z are 7e12, and what sums
 * in twice the precision cannot tell is worth 3 in z_5: nothing shows that z_5 = 2e-4 is right. */
static void a_basis_regular_by_lost_digits_decides_nothing(void **state)
{
    (void)state;
    const double M[] = {9,  -15, -18, 9,  1,  9, 1, 0,        -15, 0, 0, 6,  18,
                        -9, 0,   -27, 21, 27, 9, 0, -0x1p-49, 0,   0, 0, 100},
                 q[] = {18, -42, -72, 36, -7e12};
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
        double z[5] = {0};
        if (m == PERP_LCP_NLP || word((perp_lcp_method)m, 5, M, q, z, NULL) != PERP_SOLVED)
            continue;
        if (z[4] != 0) fail_msg("%s: z_5 = %g", perp_lcp_method_name((perp_lcp_method)m), z[4]);
    }
}

/* Rows 2 to 4 ask for z_2 = z_3 = z_4 and z_3 = z_2 + 4: nothing does it but z_5 = 1e18. z = 5e10, which row 5 would allow, breaks one by
 * 4, little beside 1e11, but not beside the 4 that is all these rows are given. (class beside_weak, problem 36416 of seed 7) */
static void far_data_do_not_decide_a_ray(void **state)
{
    (void)state;
    const double M[] = {0, 0, -1, 1, 0,  0, 0,  1, -1, 0, 1,       -1, 0,
                        1, 0, 0,  1, -1, 0, -1, 0, 0,  0, 0x1p-58, 1},
                 q[] = {0, 0, 0, -4, 5e10};
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
        double z[5] = {0};
        if (m != PERP_LCP_NLP && word((perp_lcp_method)m, 5, M, q, z, NULL) == PERP_SOLVED &&
            z[4] < 1e18)
            fail_msg("%s: z_2 = %g", perp_lcp_method_name((perp_lcp_method)m), z[1]);
    }
}

/* Rows 2 and 3 alone give z_2 = 18, z_3 = 21 and, by one in the last digit of theirs, w_1 = 5e275 or -8e275, where q_1 = -1e90; w_4 is
 * below 0 by such a digit. (class huge, problem 22022 of seed 7) */
static void lost_digits_hold_in_every_row_or_none(void **state)
{
    (void)state;
    const double M[] = {0, 1.4e201, -1.2e-159, -6e-160, -1.4e291,
                        0, -2e-160, 6e-160,    1.2e291, 2e200,
                        0, -6e-160, 6e285,     -6e195,  6.0000000000000005e-165,
                        0};
    const double q[] = {-1e90, -4.2e201, 3.5999999999999997e-159, 1.7999999999999999e-159};
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
        double z[4] = {0};
        if (m != PERP_LCP_NLP && word((perp_lcp_method)m, 4, M, q, z, NULL) == PERP_SOLVED &&
            z[1] != 0)
            fail_msg("%s: z_2 = %g", perp_lcp_method_name((perp_lcp_method)m), z[1]);
    }
}

/* On z_1, z_2, which are bound to each other alone, z = 7e7 loses q_1 = 5; z_1 and z_3 decide it. (beside_weak, 22878 of seed 7) */
static void a_lost_vertex_is_not_the_last(void **state)
{
    (void)state;
    const double M[] = {-4, 4, 1, 3, -3, 0, 0x1p-7, 0, 100}, q[] = {5, -5, -7e7};
    double z[3] = {0};
    assert_int_equal(word(PERP_LCP_ENUMERATE, 3, M, q, z, NULL), PERP_SOLVED);
    assert_near(z[2], 699986.31589226774, 1e-6);
}

/* z_4 = 2e4 for row 2 makes w_1 = 4e289 where q_1 = -1e90: more than enough, whatever is lost of q_1. */
static void what_is_more_than_enough_needs_no_data(void **state)
{
    (void)state;
    double M[16] = {0}, q[] = {-1e90, -1e-100, 4e100, 0}, z[4];
    M[1] = -5e-100, M[2 + 4] = 4e100, M[12] = 2e285, M[1 + 12] = 5e-105;
    assert_int_equal(word(PERP_LCP_AUTO, 4, M, q, z, NULL), PERP_SOLVED);
    assert_near(z[3], 2e4, 1e-7);
}

/* z = 1 / M in every row, whatever the other row's unit. */
static void every_row_has_its_own_scale(void **state)
{
    (void)state;
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
        for (int e = -30; e <= 30 && m != PERP_LCP_NLP; e += 10) {
            double M[] = {pow(10, e), 0, 0, 1}, q[] = {-1, -1e-14}, z[2] = {0};
            if (m == PERP_LCP_FB || m == PERP_LCP_IPM || m == PERP_LCP_PROX) continue;
            if (word((perp_lcp_method)m, 2, M, q, z, NULL) != PERP_SOLVED)
                fail_msg("%s: 1e%d is not solved", perp_lcp_method_name((perp_lcp_method)m), e);
            assert_near(z[0] * M[0], 1, 1e-9);
            assert_near(z[1] * 1e14, 1, 1e-9);
        }
    }
}

/* -1e-11 is as far from 0 as -1. */
static void nothing_is_small_by_itself(void **state)
{
    (void)state;
    double z[1] = {0};
    assert_int_equal(word(PERP_LCP_AUTO, 1, (double[]){0}, (double[]){-1e-11}, z, NULL),
                     PERP_INFEASIBLE);
    assert_int_equal(word(PERP_LCP_AUTO, 1, (double[]){-1e11}, (double[]){-3e5}, z, NULL),
                     PERP_INFEASIBLE);
    assert_int_equal(word(PERP_LCP_AUTO, 1, (double[]){1e-13}, (double[]){-1}, z, NULL),
                     PERP_SOLVED);
    assert_near(z[0], 1e13, 1e3);
}

/* Row 1 asks for z_2 = 1e-200, row 0 for -1e-200 z_2 >= 0: its term underflows, its sum is none. */
static void a_zero_by_underflow_is_no_zero(void **state)
{
    (void)state;
    const double M[] = {0, 0, -1e-200, 1e200}, q[] = {0, -1};
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
        double z[2] = {0};
        assert_true(word((perp_lcp_method)m, 2, M, q, z, NULL) != PERP_SOLVED);
    }
}

/* z_1 = z_2: row 0 has no data but what row 3 gives z_1, through a matrix without a diagonal there. */
static void data_are_carried_to_rows_without_any(void **state)
{
    (void)state;
    const double M[] = {1, 0, 0, 0, -1, 0, 0, 3, 0, 0, 3, 0, 0, 0, 3, 0}, q[] = {0, 0, 2, -3};
    double z[4] = {0};
    assert_int_equal(word(PERP_LCP_AUTO, 4, M, q, z, NULL), PERP_SOLVED);
    assert_near(z[0], z[1], 1e-15);
}

/* A proof about one problem says nothing of the next, on which Lemke's first path ends on a ray. */
static void a_proof_is_forgotten(void **state)
{
    (void)state;
    const double never[] = {-1, 0, 0, -1}, M[] = {-3, 3, -2, 2}, q[] = {-1, -1}, next[] = {0, -2};
    const double lo[] = {0, -2}, hi[] = {3, INFINITY}, zero[] = {0, 0};
    double z[2];
    perp_lcp first = {.n = 2, .M = never, .ldm = 2, .q = q, .lo = zero},
             second = {.n = 2, .M = M, .ldm = 2, .q = next, .lo = lo, .hi = hi};
    perp_lcp_solver *solver;
    perp_lcp_info info = {.size = sizeof info};
    perp_lcp_options o = perp_lcp_options_default(PERP_LCP_AUTO);
    o.mixed = 1;
    assert_int_equal(perp_lcp_solver_create(PERP_LCP_AUTO, 2, &o, &solver), PERP_OK);
    assert_int_equal(perp_lcp_solve(solver, &first, z, NULL, &info), PERP_OK);
    assert_true(info.outcome != PERP_SOLVED);
    assert_int_equal(perp_lcp_solve(solver, &second, z, NULL, &info), PERP_OK);
    assert_int_equal(info.outcome, PERP_SOLVED);
    perp_lcp_solver_destroy(solver);
}

/* M'u = 1e-17 > 0 and q'u = -1e-17: decided by sums without rounding. */
static void proofs_are_exact(void **state)
{
    (void)state;
    const double u[] = {1, 1, 1}, small = 1e-17;
    double M[9] = {1, -1, small}, q[] = {-1, 1, -small};
    perp_lcp lcp = {.n = 3, .M = M, .ldm = 3, .q = q};
    assert_false(perp_lcp_is_infeasible(&lcp, u, 1e-10));
    M[2] = 0;
    assert_true(perp_lcp_is_infeasible(&lcp, u, 1e-10));
    q[2] = 0;
    assert_false(perp_lcp_is_infeasible(&lcp, u, 1e-10));
}

/* Eight lanes at a time judge as one solver does. */
static void batches_judge_alike(void **state)
{
    (void)state;
    const double M[] = {1, 0, 0, 1, 2, -2, -2, 2, 1e-8, 0, 0, 1e8, 1, 0, 0, 0};
    const double q[] = {-1e-14, -1e12, 0, -2, -1, -1, 1e13, -1e-13};
    double z[8], y[2];
    perp_outcome outcomes[4];
    perp_lcp_batch_solver *solver;
    perp_lcp_batch b = {.count = 4, .n = 2, .M = M, .q = q};
    assert_int_equal(perp_lcp_batch_solver_create(PERP_LCP_AUTO, 2, 1, NULL, &solver), PERP_OK);
    assert_int_equal(perp_lcp_solve_batch(solver, &b, z, outcomes, NULL), PERP_OK);
    for (int k = 0; k < 4; k++)
        assert_int_equal(outcomes[k], word(PERP_LCP_AUTO, 2, M + 4 * k, q + 2 * k, y, NULL));
    assert_int_equal(outcomes[0], PERP_SOLVED);
    assert_int_equal(outcomes[1], PERP_INFEASIBLE);
    assert_true(z[0] == 1e-14 && z[1] == 1e12 && z[4] * 1e-8 == 1 && z[5] * 1e8 == 1);
    perp_lcp_batch_solver_destroy(solver);
}

typedef struct points {
    int many, rays;
    double z[8][2];
} points;

static int keep(void *context, const double *z, const double *w, int is_ray)
{
    points *p = context;
    (void)w;
    p->rays += is_ray;
    if (!is_ray && p->many < 8) p->z[p->many][0] = z[0], p->z[p->many][1] = z[1], p->many++;
    return 0;
}

/* diag(1e-8, 1e8) has one solution for every q, and 2 x 2 problems with two keep them in any units. */
static void all_solutions_do_not_depend_on_units(void **state)
{
    (void)state;
    for (int e = -12; e <= 12; e += 4) {
        double r = pow(10, e), M[] = {1 / r, 0, 0, r}, q[] = {-1, -1};
        double two[] = {-1 / r, 0, 0, r}, p[] = {1, -1};
        perp_lcp one = {.n = 2, .M = M, .ldm = 2, .q = q},
                 both = {.n = 2, .M = two, .ldm = 2, .q = p};
        points a = {0}, b = {0};
        assert_int_equal(perp_lcp_enumerate(&one, NULL, keep, &a), PERP_OK);
        assert_int_equal(a.many, 1);
        assert_int_equal(a.rays, 0);
        assert_near(a.z[0][0] / r, 1, 1e-12);
        assert_near(a.z[0][1] * r, 1, 1e-12);
        assert_int_equal(perp_lcp_enumerate(&both, NULL, keep, &b), PERP_OK);
        assert_int_equal(b.many, 2); /* z_1 = 0 and z_1 = r */
    }
}

static int find_disagreement(void *context, const double *z, const double *w, int is_ray)
{
    (void)w;
    *(int *)context |= !is_ray && z[0] == 0 && z[1] > 0 && z[2] == 0;
    return 0;
}

/* Where z_1 = z_3 = 0, rows 2 and 4 ask for z_2 = z_4, row 5 for z_4 - z_2 = 1.5e-15: a solution needs z_3 > 0. */
static void rows_agree_to_the_digits_they_live_on(void **state)
{
    (void)state;
    const double M[] = {0, 2,  2,  -2, 0,  0, -2, 0,  0, 1, 2, 0, -2, 0, 0, 2, -2,      0,
                        2, -1, -2, 0,  -2, 0, 0,  -2, 2, 2, 0, 0, 0,  0, 0, 0, 0x1p-36, 1e7},
                 q[] = {0, 2, 0, -2, 0, -2000};
    perp_lcp lcp = {.n = 6, .M = M, .ldm = 6, .q = q};
    int found = 0;
    assert_int_equal(perp_lcp_enumerate(&lcp, NULL, find_disagreement, &found), PERP_OK);
    assert_false(found);
}

/* Rows and columns in other units: a definite matrix stays one, a P-matrix too. */
static void classes_do_not_depend_on_units(void **state)
{
    (void)state;
    for (int e = -60; e <= 60; e += 20) {
        double a = ldexp(1, e), b = ldexp(1, 20 - e);
        const double M[] = {2 * a * a, a * b, a * b, 2 * b * b},
                     P[] = {a * a, -3 * a * b, 0, b * a};
        perp_lcp definite = {.n = 2, .M = M, .ldm = 2}, p = {.n = 2, .M = P, .ldm = 2};
        perp_lcp_class c = {.size = sizeof c};
        assert_int_equal(perp_lcp_classify(&definite, &c), PERP_OK);
        assert_true(c.positive_definite && c.symmetric && c.p_matrix == 1 && !c.z_matrix);
        assert_int_equal(perp_lcp_classify(&p, &c), PERP_OK);
        assert_true(c.p_matrix == 1 && !c.symmetric && c.z_matrix);
    }
}

static void what_is_no_number_is_the_larger_error(void **state)
{
    (void)state;
    const double nan = (double)NAN, inf = (double)INFINITY;
    assert_true(perp__worse(nan, 1) == inf && perp__worse(1, nan) == inf);
    assert_true(perp__worse(nan, nan) == inf && perp__worse(inf, 1) == inf);
    assert_true(perp__worse(1, 2) == 2 && perp__worse(2, 1) == 2);
}

/* Entries over 270 decades: in the scales that are found every row's and every column's largest entry is near 1. */
static void scales_bring_rows_and_columns_near_one(void **state)
{
    (void)state;
    enum { N = 7 };
    uint64_t seed = 1;
    for (int k = 0; k < 2000; k++) {
        double M[N * N], R[N] = {0}, C[N] = {0};
        for (int i = 0; i < N * N; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            int e = (int)((seed >> 33) % 901) - 450;
            M[i] =
                seed >> 62 ? ldexp(1 + (double)(seed >> 40 & 1023) / 1024, k % 2 ? e : e / 20) : 0;
        }
        if (k % 3 == 0)
            memcpy(R, (double[N]){1, 1, 1, 1, 1, 1, 1}, sizeof R); /* known from elsewhere */
        perp__equilibrate(N, M, N, R, C);
        for (int i = 0; i < 2 * N; i++) {
            double largest = 0;
            for (int j = 0; j < N; j++)
                largest = fmax(largest, i < N ? fabs(M[j * N + i]) * C[j] * R[i]
                                              : fabs(M[(i - N) * N + j]) * R[j] * C[i - N]);
            if (largest > 0 && !(largest >= 0.25 && largest < 2))
                fail_msg("problem %d, %s %d: the largest entry is %g", k, i < N ? "row" : "column",
                         i % N, largest);
        }
    }
}

/* With bounds, from z. */
static perp_outcome word_from(perp_lcp_method method, const perp_lcp *lcp, int warm, double *z)
{
    perp_lcp_options o = perp_lcp_options_default(method);
    perp_lcp_solver *solver;
    perp_lcp_info info = {.size = sizeof info};
    o.mixed = 1, o.warm_start = warm;
    assert_int_equal(perp_lcp_solver_create(method, lcp->n, &o, &solver), PERP_OK);
    assert_int_equal(perp_lcp_solve(solver, lcp, z, NULL, &info), PERP_OK);
    perp_lcp_solver_destroy(solver);
    return info.outcome;
}

/* x1 - x2 = 0 and x2 - x1 = 2, which no point fulfils, beside x3 - x1 = 1e12, whose size stands on the diagonal of x1: in every order of the rows,
 * from near and far, with x free, with x1 and x2 alone so, and with units that are not powers of two. */
static void data_of_others_do_not_stand_for_a_row(void **state)
{
    (void)state;
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const double starts[] = {0, 1e3, 1e9, 1e12, 3e13, 1e15, 2e16, 4e17, 1e20, -2e16};
    static const double rows[][3] = {{-1, 0, 1}, {1, -1, 0}, {-1, 1, 0}}, data[] = {-1e12, 0, -2};
    const double hi[] = {INFINITY, INFINITY, INFINITY};
    for (int k = 0; k < 6 * 2 * 2; k++) {
        const int *order = orders[k % 6];
        double M[9], q[3], lo[] = {-INFINITY, -INFINITY, k / 6 % 2 ? 0 : -INFINITY};
        double unit = k / 12 ? 0.3 : 1;
        for (int i = 0; i < 3; i++) {
            q[i] = unit * data[order[i]];
            for (int j = 0; j < 3; j++) M[i + 3 * j] = unit * rows[order[i]][j];
        }
        if (lo[2] == 0 && order[2] != 0) continue; /* w_3 need not be 0 */
        perp_lcp lcp = {3, M, 3, q, lo, hi};
        for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
            for (int s = 0; s < 10 && m != PERP_LCP_NLP; s++) {
                double z[] = {starts[s], starts[s], starts[s] + 1e12};
                if (word_from((perp_lcp_method)m, &lcp, s > 0, z) == PERP_SOLVED)
                    fail_msg("%s, case %d from %g: solved at %g %g %g",
                             perp_lcp_method_name((perp_lcp_method)m), k, starts[s], z[0], z[1],
                             z[2]);
            }
        }
    }
}

/* What the data make large is solved, to the last digits: in any order of the rows. */
static void large_numbers_that_data_make_are_solved(void **state)
{
    (void)state;
    static const struct {
        double M[3][3], q[3], z[3];
    } of[] = {{{{1, 0, 0}, {-1, 1, 0}, {0, -1, 1}}, {-1e16, -2, -2}, {1e16, 1e16 + 2, 1e16 + 4}},
              {{{1, 0, 0}, {-1, 1, 0}, {0, -1, 1}}, {-1e12, -1e-3, -1e-3}, {1e12, 1e12, 1e12}},
              {{{1, 1, 0}, {1, 1.25, 0}, {0, -1, 1}}, {-1e12, -1e-3, 0}, {5e12, -4e12, -4e12}},
              {{{1, -1, 0}, {-1, 1, 0}, {0, 0, 1}}, {-1, 1, -1e12}, {0, 0, 1e12}},
              {{{1, -1, 0}, {-1, 1, 0}, {-1, 0, 1}}, {0, 0, -1e12}, {0, 0, 1e12}}};
    const double lo[] = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        for (int turn = 0; turn < 3; turn++) {
            double M[9], q[3], z[3] = {0};
            for (int i = 0; i < 3; i++) {
                q[i] = of[k].q[(i + turn) % 3];
                for (int j = 0; j < 3; j++) M[i + 3 * j] = of[k].M[(i + turn) % 3][j];
            }
            perp_lcp lcp = {3, M, 3, q, lo, NULL};
            if (word_from(PERP_LCP_AUTO, &lcp, 0, z) != PERP_SOLVED)
                fail_msg("problem %zu, turn %d", k, turn);
            for (int j = 0; j < 3 && k < 3; j++) assert_near(z[j] / of[k].z[j], 1, 1e-12);
        }
    }
}

enum { DRAWN = 4 };

static unsigned draw(uint64_t *rng, unsigned n)
{
    *rng = *rng * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*rng >> 33) % n;
}

/* A system of integers with a row that is a combination of others, l'M = 0, where l'w asks for the sign that l'q has not, by more than the
 * tolerance of all data; the bounds of kind 0 are none, of 1 and 2 one, of 3 both; all 0, drawn, or all 1. By how much; 0: by chance
 * nothing is off. */
enum { FREE, MIXED, PURE };
static double draw_system(uint64_t *rng, int kinds, double M[DRAWN * DRAWN], double *q, int *kind)
{
    static const double data[] = {0, 0, 1, 2, 0.5, 1e3, 1e-3, 1e9, 1e12, -1e12, 1e15};
    int k = (int)draw(rng, DRAWN), l[DRAWN];
    double sum = 0, size = 0, off = draw(rng, 2) ? 2 : draw(rng, 2) ? 1e-3 : 1e3;
    for (int i = 0; i < DRAWN; i++) kind[i] = kinds == MIXED ? (int)draw(rng, 4) : kinds == PURE;
    kind[k] %= 3, l[k] = kind[k] == 2 ? -1 : 1;
    for (int i = 0; i < DRAWN; i++) {
        q[i] = data[draw(rng, (unsigned)(sizeof data / sizeof *data))];
        for (int j = 0; j < DRAWN; j++) M[i + DRAWN * j] = (double)draw(rng, 7) - 3;
        if (i == k) continue;
        l[i] = kind[i] == 0 ? (int)draw(rng, 5) - 2 : kind[i] == 3 ? 0 : (int)draw(rng, 3);
        if (kind[i] == 2) l[i] = -l[i];
        sum += l[i] * q[i], size += fabs(l[i] * q[i]);
    }
    for (int j = 0; j < DRAWN; j++) {
        double x = 0;
        for (int i = 0; i < DRAWN; i++) x += i == k ? 0 : l[i] * M[i + DRAWN * j];
        M[k + DRAWN * j] = -x * l[k];
    }
    q[k] = (-off - sum) * l[k];
    off = -(sum + l[k] * q[k]);
    return off > 3e-9 * (size + fabs(q[k])) ? off : 0;
}

/* By which method is it solved, cold or from far? NULL: by none. */
static const char *solved_by(const perp_lcp *lcp, int k, uint64_t *rng, double z[DRAWN])
{
    static const double from[] = {0, 1, 1e9, 1e13, 1e16, 2e16, 1e20};
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
        for (int warm = 0; warm < 2 && m != PERP_LCP_NLP; warm++) {
            for (int j = 0; j < lcp->n; j++) z[j] = from[k % 7] * (double)(draw(rng, 3) + 1);
            if (word_from((perp_lcp_method)m, lcp, warm, z) == PERP_SOLVED)
                return perp_lcp_method_name((perp_lcp_method)m);
        }
    }
    return NULL;
}

static void what_contradicts_itself_is_never_solved(void **state)
{
    (void)state;
    uint64_t rng = 23;
    int many = 0;
    for (int k = 0; k < 600; k++) {
        double M[DRAWN * DRAWN], q[DRAWN], lo[DRAWN], hi[DRAWN], z[DRAWN];
        int kind[DRAWN], is_so = draw_system(&rng, k % 2 ? MIXED : FREE, M, q, kind) > 0;
        for (int i = 0; i < DRAWN; i++) {
            lo[i] = kind[i] == 0 || kind[i] == 2 ? -(double)INFINITY : 0;
            hi[i] = kind[i] == 2 ? 0 : kind[i] == 3 ? 1 : (double)INFINITY;
        }
        if (!is_so) continue;
        perp_lcp lcp = {DRAWN, M, DRAWN, q, lo, hi};
        many++;
        const char *by = solved_by(&lcp, k, &rng, z);
        if (by) fail_msg("%s, system %d: solved at %g %g %g %g", by, k, z[0], z[1], z[2], z[3]);
    }
    assert_true(many > 200);
}

static perp_outcome word_of_batch(int n, const double *M, const double *q)
{
    enum { COPIES = 5 };
    double all_M[COPIES * DRAWN * DRAWN], all_q[COPIES * DRAWN], z[COPIES * DRAWN];
    perp_outcome outcome[COPIES];
    perp_lcp_batch_solver *solver;
    for (int k = 0; k < COPIES; k++) {
        memcpy(all_M + k * n * n, M, (size_t)(n * n) * sizeof *M);
        memcpy(all_q + k * n, q, (size_t)n * sizeof *q);
    }
    perp_lcp_batch batch = {.count = COPIES, .n = n, .M = all_M, .q = all_q};
    assert_int_equal(perp_lcp_batch_solver_create(PERP_LCP_AUTO, n, 1, NULL, &solver), PERP_OK);
    assert_int_equal(perp_lcp_solve_batch(solver, &batch, z, outcome, NULL), PERP_OK);
    perp_lcp_batch_solver_destroy(solver);
    return outcome[COPIES - 1];
}

static int count_solution(void *context, const double *z, const double *w, int is_ray)
{
    (void)z, (void)w;
    *(int *)context += !is_ray;
    return 0;
}

/* Alone, in a batch, or where all solutions are asked for. */
static const char *solved_anyhow(const perp_lcp *lcp, int k, uint64_t *rng)
{
    double z[DRAWN];
    int found = 0;
    const char *by = solved_by(lcp, k, rng, z);
    assert_int_equal(perp_lcp_enumerate(lcp, NULL, count_solution, &found), PERP_OK);
    if (found) by = "all solutions";
    return word_of_batch(lcp->n, lcp->M, lcp->q) == PERP_SOLVED ? "batch" : by;
}

/* x1 - x2 = 0 and x2 - x1 = 2 beside x3 - x1 = 1e12, without bounds, in every order. */
static void data_of_others_do_not_stand_for_a_row_without_bounds(void **state)
{
    (void)state;
    static const double rows[][3] = {{1, -1, 0}, {-1, 1, 0}, {-1, 0, 1}}, data[] = {0, -2, -1e12};
    uint64_t rng = 29;
    for (int k = 0; k < 42; k++) {
        double M[9], q[3];
        for (int i = 0; i < 3; i++) {
            int from = (k % 2 ? i : 2 - i) + k % 3;
            q[i] = data[from % 3];
            for (int j = 0; j < 3; j++) M[i + 3 * j] = rows[from % 3][j];
        }
        perp_lcp lcp = {3, M, 3, q, NULL, NULL};
        const char *by = solved_anyhow(&lcp, k, &rng);
        if (by) fail_msg("case %d is solved: %s", k, by);
    }
}

/* What contradicts itself by more than the tolerance of its data, beside data of 1e15 where that is nothing: u'M = 0 of integers proves it, in units
 * that are powers of two. */
static void what_contradicts_itself_without_bounds_is_never_solved(void **state)
{
    (void)state;
    uint64_t rng = 29;
    int many = 0, solved = 0;
    for (int k = 0; k < 900; k++) {
        double M[DRAWN * DRAWN], q[DRAWN];
        int kind[DRAWN], n = DRAWN;
        if (!(draw_system(&rng, PURE, M, q, kind) > 0)) continue;
        for (int i = 0; i < n && k % 2; i++) {
            double row = ldexp(1, (int)draw(&rng, 41) - 20),
                   column = ldexp(1, (int)draw(&rng, 41) - 20);
            q[i] *= row;
            for (int j = 0; j < n; j++) M[i + n * j] *= row, M[j + n * i] *= column;
        }
        perp_lcp lcp = {n, M, n, q, NULL, NULL};
        many++, solved += solved_anyhow(&lcp, k, &rng) != NULL;
    }
    printf("%d of %d are solved\n", solved, many);
    assert_true(many > 300 && solved == 0);
}

/* The rows 1 and 2 add up to 0 = -2e-3 beside z_3 = 1e12: a few roundings, and a proof, by all methods. */
static void what_rounding_hides_is_proved(void **state)
{
    (void)state;
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
        for (int k = 0; k < 3 && m != PERP_LCP_NLP; k++) {
            double unit = ldexp(1, 20 * k), q[] = {-1e-3 * unit, -1e-3 * unit, -1e12},
                   M[] = {0, 0, 0, -unit, unit, 0, unit, -unit, 1}, z[3] = {0};
            assert_int_equal(word((perp_lcp_method)m, 3, M, q, z, NULL), PERP_INFEASIBLE);
        }
    }
}

/* Contacts that carry more than is determined, M = J inv(m) J', of masses up to 1e6 and 1e-6, have solutions by construction, and rows of
 * which rounding leaves nothing. */
static void redundant_contacts_are_solved(void **state)
{
    (void)state;
    enum { RANK = 3 };
    static const double sizes[] = {1, 1, 1, 1e-6, 1e6, 0.3, 3};
    uint64_t rng = 31;
    for (int k = 0; k < 2000; k++) {
        double J[DRAWN][RANK], m[RANK], M[DRAWN * DRAWN], q[DRAWN], chosen[DRAWN], z[DRAWN];
        perp_lcp_info info = {.size = sizeof info};
        for (int l = 0; l < RANK; l++) m[l] = sizes[draw(&rng, 7)] * (1 + draw(&rng, 1000) / 999.0);
        for (int i = 0; i < DRAWN; i++) {
            for (int l = 0; l < RANK; l++) J[i][l] = draw(&rng, 3) ? draw(&rng, 2001) / 1e3 - 1 : 0;
            if (i > 0 && draw(&rng, 3) == 0) memcpy(J[i], J[draw(&rng, (unsigned)i)], sizeof J[i]);
            int part = (int)draw(&rng, 3);
            chosen[i] = part == 0 ? draw(&rng, 1000) / 333.0 * sizes[draw(&rng, 7)] : 0;
            q[i] = part == 1 ? draw(&rng, 1000) / 999.0 : 0;
        }
        for (int i = 0; i < DRAWN; i++) {
            for (int j = 0; j < DRAWN; j++) {
                double sum = 0;
                for (int l = 0; l < RANK; l++) sum += J[i][l] * J[j][l] / m[l];
                M[i + DRAWN * j] = sum, q[i] -= sum * chosen[j];
            }
        }
        if (word(PERP_LCP_AUTO, DRAWN, M, q, z, &info) != PERP_SOLVED)
            fail_msg("contacts %d: %s", k, perp_outcome_name(info.outcome));
        if (word_of_batch(DRAWN, M, q) != PERP_SOLVED) fail_msg("contacts %d in a batch", k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_no_solution_is_never_solved),
        cmocka_unit_test(sums_of_huge_terms_do_not_hide_a_row),
        cmocka_unit_test(a_basis_regular_by_lost_digits_decides_nothing),
        cmocka_unit_test(far_data_do_not_decide_a_ray),
        cmocka_unit_test(lost_digits_hold_in_every_row_or_none),
        cmocka_unit_test(a_lost_vertex_is_not_the_last),
        cmocka_unit_test(what_is_more_than_enough_needs_no_data),
        cmocka_unit_test(every_row_has_its_own_scale),
        cmocka_unit_test(nothing_is_small_by_itself),
        cmocka_unit_test(a_zero_by_underflow_is_no_zero),
        cmocka_unit_test(data_are_carried_to_rows_without_any),
        cmocka_unit_test(a_proof_is_forgotten),
        cmocka_unit_test(proofs_are_exact),
        cmocka_unit_test(batches_judge_alike),
        cmocka_unit_test(all_solutions_do_not_depend_on_units),
        cmocka_unit_test(rows_agree_to_the_digits_they_live_on),
        cmocka_unit_test(classes_do_not_depend_on_units),
        cmocka_unit_test(what_is_no_number_is_the_larger_error),
        cmocka_unit_test(scales_bring_rows_and_columns_near_one),
        cmocka_unit_test(data_of_others_do_not_stand_for_a_row),
        cmocka_unit_test(large_numbers_that_data_make_are_solved),
        cmocka_unit_test(what_contradicts_itself_is_never_solved),
        cmocka_unit_test(data_of_others_do_not_stand_for_a_row_without_bounds),
        cmocka_unit_test(what_contradicts_itself_without_bounds_is_never_solved),
        cmocka_unit_test(what_rounding_hides_is_proved),
        cmocka_unit_test(redundant_contacts_are_solved),
    };
    return run_all(tests);
}
