/* Bounds, derivatives, warm starts, batches. */

#include "unit.h"

#include "lcp_classes.h"
#include "perp/lcp.h"

static void free_problem(perp_lcp *lcp)
{
    free((void *)(uintptr_t)lcp->M);
}

/* lo <= z <= hi perp w with random bounds: all methods that solve agree with the residual's own words. */
static void problems_with_bounds_are_solved(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 60; seed++) {
        double lo[9], hi[9], z[9], w[9];
        perp_lcp lcp = lcp_generate(seed % 2 ? LCP_definite : LCP_p_matrix, 9, seed);
        for (int i = 0; i < 9; i++) {
            unsigned kind = (seed * 7 + (unsigned)i * 3) % 5;
            lo[i] = kind == 0 || kind == 3 ? -(double)INFINITY : kind == 1 ? 0 : -0.05 * i;
            hi[i] = kind == 0 || kind == 1 ? (double)INFINITY : kind == 4 ? lo[i] : 0.05;
        }
        lcp.lo = lo, lcp.hi = hi;
        static const perp_lcp_method methods[] = {PERP_LCP_AUTO, PERP_LCP_LEMKE, PERP_LCP_BPP,
                                                  PERP_LCP_IPM, PERP_LCP_FB};
        for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
            perp_lcp_solver *solver;
            perp_lcp_info info = {.size = sizeof info};
            perp_lcp_options o = perp_lcp_options_default(methods[m]);
            o.mixed = 1;
            assert_int_equal(perp_lcp_solver_create(methods[m], 9, &o, &solver), PERP_OK);
            assert_int_equal(perp_lcp_solve(solver, &lcp, z, w, &info), PERP_OK);
            if (info.outcome != PERP_SOLVED)
                fail_msg("seed %u: %s ends in %s", seed, perp_lcp_method_name(methods[m]),
                         perp_outcome_name(info.outcome));
            for (int i = 0; i < 9; i++) {
                assert_true(z[i] >= lo[i] - 1e-8 && z[i] <= hi[i] + 1e-8);
                if (z[i] > lo[i] + 1e-7) assert_true(w[i] < 1e-7);
                if (z[i] < hi[i] - 1e-7) assert_true(w[i] > -1e-7);
            }
            perp_lcp_solver_destroy(solver);
        }
        free_problem(&lcp);
    }
}

/* Rows and columns times powers of two: the same word and numbers; the program goes to IPOPT in units of its own. */
static void the_nonlinear_program_knows_no_units(void **state)
{
    (void)state;
    enum { N = 4 };
    perp_lcp_solver *solver;
    if (perp_lcp_solver_create(PERP_LCP_NLP, N, NULL, &solver) != PERP_OK)
        skip_because("there is no IPOPT here");
    for (unsigned seed = 1; seed <= 10; seed++) {
        perp_lcp lcp = lcp_generate(LCP_box, N, seed);
        double M[N * N], q[N], z[N], scaled[N];
        perp_lcp other = {.n = N, .M = M, .ldm = N, .q = q};
        perp_lcp_info info = {.size = sizeof info}, same = {.size = sizeof same};
        int row[N], column[N];
        for (int i = 0; i < N; i++) {
            row[i] = (int)(seed * 17 + (unsigned)i * 29) % 61 - 30;
            column[i] = (int)(seed * 23 + (unsigned)i * 31) % 61 - 30;
        }
        for (int i = 0; i < N; i++) {
            q[i] = ldexp(lcp.q[i], row[i]);
            for (int j = 0; j < N; j++) M[i + N * j] = ldexp(lcp.M[i + N * j], row[i] + column[j]);
        }
        perp_lcp_solve(solver, &lcp, z, NULL, &info);
        perp_lcp_solve(solver, &other, scaled, NULL, &same);
        assert_int_equal(info.outcome, PERP_SOLVED);
        assert_int_equal(same.outcome, PERP_SOLVED);
        for (int i = 0; i < N; i++) assert_true(ldexp(scaled[i], column[i]) == z[i]);
        free_problem(&lcp);
    }
    perp_lcp_solver_destroy(solver);
}

/* q >= 0 and one pair alone: every method gives the plain answer, in no or one iteration. */
static void what_is_plain_needs_no_method(void **state)
{
    (void)state;
    const double M[] = {2, -1, 0, -1, 2, 0, 0, 0, 0}, q[] = {1, 0, 0}, alone[] = {4},
                 pushed[] = {-2};
    perp_lcp rest = {.n = 3, .M = M, .ldm = 3, .q = q};
    perp_lcp pair = {.n = 1, .M = alone, .ldm = 1, .q = pushed};
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
        perp_lcp_solver *solver;
        perp_lcp_info info = {.size = sizeof info};
        double z[3] = {7, 7, 7}, w[3];
        if (perp_lcp_solver_create((perp_lcp_method)m, 3, NULL, &solver) != PERP_OK) continue;
        assert_int_equal(perp_lcp_solve(solver, &rest, z, w, &info), PERP_OK);
        assert_true(info.outcome == PERP_SOLVED && info.iterations == 0);
        for (int i = 0; i < 3; i++) assert_true(z[i] == 0 && w[i] == q[i]);
        assert_int_equal(perp_lcp_solve(solver, &pair, z, w, &info), PERP_OK);
        assert_true(info.outcome == PERP_SOLVED && info.iterations == 1);
        assert_true(z[0] == 0.5 && w[0] == 0 && perp_lcp_basis(solver)[0] == 1);
        perp_lcp_solver_destroy(solver);
    }
}

/* pgs declines contacts with friction, whose gamma has no diagonal: what one direct solve makes of z = 0 is an answer, or the point is as
 * bad as it was. */
static void a_declined_problem_is_answered_or_refused(void **state)
{
    (void)state;
    enum { N = 30 };
    int solved = 0;
    perp_lcp_solver *solver;
    assert_int_equal(perp_lcp_solver_create(PERP_LCP_PGS, N, NULL, &solver), PERP_OK);
    for (unsigned seed = 1; seed <= 40; seed++) {
        perp_lcp lcp = lcp_generate(seed % 2 ? LCP_graph : LCP_box8, N, seed);
        perp_lcp_info info = {.size = sizeof info};
        double z[N];
        assert_int_equal(perp_lcp_solve(solver, &lcp, z, NULL, &info), PERP_OK);
        double residual = perp_lcp_residual(&lcp, z, NULL);
        assert_true(info.outcome == PERP_SOLVED ? residual < 1e-12 : residual > 1e-6);
        assert_true(info.iterations == 0 && info.residual == residual);
        solved += info.outcome == PERP_SOLVED;
        free_problem(&lcp);
    }
    perp_lcp_solver_destroy(solver);
    assert_in_range(solved, 5, 35);
}

/* A w of 1 beside a z of 1e20 counts, whether or not there are bounds, and whether or not w is asked for. */
static void a_small_w_beside_a_large_z_is_seen(void **state)
{
    (void)state;
    const double M[] = {0, 0, 0, 1}, q[] = {1, -1e20}, lo[] = {0, 0}, hi[] = {1e30, INFINITY};
    double z[] = {1e20, 1e20}, w[2];
    perp_lcp lcp = {.n = 2, .M = M, .ldm = 2, .q = q};
    for (int bounds = 0; bounds < 3; bounds++) {
        if (bounds > 0) lcp.lo = lo;
        if (bounds > 1) lcp.hi = hi;
        assert_true(perp_lcp_residual(&lcp, z, NULL) == 1);
        assert_true(perp_lcp_residual(&lcp, z, w) == 1);
    }
    z[0] = -1e20, z[1] = 2e20;
    assert_true(perp_lcp_residual(&lcp, z, w) == 1e20);
    z[0] = z[1] = 1e308; /* their sum overflows, no term does */
    lcp.lo = lcp.hi = NULL;
    assert_true(perp_lcp_residual(&lcp, z, w) == 1e308 &&
                perp_lcp_residual(&lcp, z, NULL) == 1e308);
    z[0] = INFINITY;
    assert_true(isnan(perp_lcp_residual(&lcp, z, w)) && isnan(perp_lcp_residual(&lcp, z, NULL)));
}

static perp_lcp_solver *create(perp_lcp_method method, int n_max, int mixed, int warm)
{
    perp_lcp_solver *solver;
    perp_lcp_options o = perp_lcp_options_default(method);
    o.mixed = mixed, o.warm_start = warm;
    assert_int_equal(perp_lcp_solver_create(method, n_max, &o, &solver), PERP_OK);
    return solver;
}

/* What a solver did before leaves no trace in what it says. */
static void a_solve_stands_alone(void **state)
{
    (void)state;
    const double M[] = {2, 1, 1, 2}, q[] = {-3, -3}, far[] = {-1.5e308, -1.5e308},
                 top[] = {1.5e308, 1.5e308}, flat[] = {0, 1, 1, 2};
    double z[2], w[2];
    perp_lcp_info info = {.size = sizeof info};
    perp_lcp lcp = {.n = 2, .M = M, .ldm = 2, .q = q},
             wide = {.n = 2, .M = M, .ldm = 2, .q = q, .lo = far, .hi = top},
             singular = {.n = 2, .M = flat, .ldm = 2, .q = q};
    perp_lcp_solver *solver = create(PERP_LCP_LEMKE, 2, 1, 0);
    assert_int_equal(perp_lcp_solve(solver, &lcp, z, w, &info), PERP_OK);
    assert_int_equal(info.outcome, PERP_SOLVED);
    assert_int_equal(perp_lcp_solve(solver, &wide, z, w, &info), PERP_OK); /* hi - lo overflows */
    assert_true(info.residual == perp_lcp_residual(&wide, z, NULL));
    perp_lcp_solver_destroy(solver);
    solver = create(PERP_LCP_PGS, 2, 0, 0);
    assert_int_equal(perp_lcp_solve(solver, &lcp, z, w, &info), PERP_OK);
    assert_int_equal(perp_lcp_solve(solver, &singular, z, w, &info), PERP_OK);
    assert_true(info.outcome == PERP_LIMIT && z[0] == 0 && z[1] == 0);
    perp_lcp_solver_destroy(solver);
}

/* The basis {1} of the first problem is singular in the M of the next. */
static void a_warm_start_that_leads_nowhere_is_dropped(void **state)
{
    (void)state;
    const double M[] = {1, 0, 0, 1}, q[] = {-5, 1}, zero[] = {0, 0, 0, 1}, p[] = {1, -1};
    double z[2] = {0};
    perp_lcp_info info = {.size = sizeof info};
    perp_lcp first = {.n = 2, .M = M, .ldm = 2, .q = q},
             next = {.n = 2, .M = zero, .ldm = 2, .q = p};
    perp_lcp_solver *solver = create(PERP_LCP_BPP, 2, 0, 1);
    assert_int_equal(perp_lcp_solve(solver, &first, z, NULL, &info), PERP_OK);
    assert_int_equal(info.outcome, PERP_SOLVED);
    assert_int_equal(perp_lcp_solve(solver, &next, z, NULL, &info), PERP_OK);
    assert_int_equal(info.outcome, PERP_SOLVED);
    assert_true(z[0] == 0 && z[1] == 1);
    perp_lcp_solver_destroy(solver);
}

/* On these the first path of lemke ends on a ray, and a later one in a solution. */
static void there_is_no_ray_beside_a_solution(void **state)
{
    (void)state;
    int late = 0;
    for (unsigned seed = 1; seed <= 400; seed++) {
        double M[16], q[4], z[4];
        unsigned x = 2654435761u * seed;
        for (int k = 0; k < 20; k++) {
            x = x * 1664525u + 1013904223u;
            double v = (int)(x >> 24) % 5 - 2;
            if (k < 16)
                M[k] = v;
            else
                q[k - 16] = v;
        }
        perp_lcp lcp = {.n = 4, .M = M, .ldm = 4, .q = q};
        perp_lcp_info info = {.size = sizeof info};
        perp_lcp_solver *solver = create(PERP_LCP_AUTO, 4, 0, 0);
        assert_int_equal(perp_lcp_solve(solver, &lcp, z, NULL, &info), PERP_OK);
        if (info.outcome == PERP_SOLVED) {
            assert_null(perp_lcp_ray(solver));
            late += info.method != PERP_LCP_LEMKE;
        }
        perp_lcp_solver_destroy(solver);
    }
    assert_true(late > 0);
}

/* A proof does not rest on terms that overflow or underflow: all of these have solutions. */
static void a_proof_does_not_overflow(void **state)
{
    (void)state;
    const double big = 1e300, small = 1e-300, q = -1, column[] = {0, 0, 0, 1e-200}, b[] = {-1, 1},
                 pair[] = {1, 1e-200};
    perp_lcp lcp = {.n = 1, .M = &big, .ldm = 1, .q = &q};
    assert_false(perp_lcp_is_infeasible(&lcp, &big, 1e-10));
    lcp.M = &small;
    assert_false(perp_lcp_is_infeasible(&lcp, &small, 1e-10));
    const double minus = -1;
    lcp.M = &minus;
    assert_true(perp_lcp_is_infeasible(&lcp, &small, 1e-10));
    assert_true(perp_lcp_is_infeasible(&lcp, &big, 1e-10));
    perp_lcp two = {.n = 2, .M = column, .ldm = 2, .q = b};
    assert_false(perp_lcp_is_infeasible(&two, pair, 1e-10));
}

/* A failed perp_lcp_differentiate leaves no derivative behind; a free z has a pair that is worst. */
static void derivatives_of_nothing_are_refused(void **state)
{
    (void)state;
    const double one = 1, zero = 0, q = -1, lo = -INFINITY;
    double z, dz;
    perp_lcp lcp = {.n = 1, .M = &one, .ldm = 1, .q = &q, .lo = &lo}, flat = lcp;
    perp_lcp_sensitivity s;
    perp_lcp_solver *solver = create(PERP_LCP_AUTO, 1, 1, 0);
    assert_int_equal(perp_lcp_solve(solver, &lcp, &z, NULL, NULL), PERP_OK);
    assert_int_equal(perp_lcp_differentiate(solver, &lcp, &s), PERP_OK);
    assert_int_equal(s.worst, 0);
    assert_int_equal(perp_lcp_jvp(solver, NULL, &one, &dz), PERP_OK);
    assert_true(dz == -1);
    flat.M = &zero;
    assert_int_equal(perp_lcp_differentiate(solver, &flat, &s), PERP_ERR_MODEL);
    assert_int_equal(perp_lcp_jvp(solver, NULL, &one, &dz), PERP_ERR_ARG);
    lcp.ldm = 0;
    assert_int_equal(perp_lcp_differentiate(solver, &lcp, &s), PERP_ERR_ARG);
    perp_lcp_solver_destroy(solver);
}

/* Of M_bb = (2 1; 1 2) the reciprocal condition is 1/3 (the norms of it and its inverse are 3 and 1), in any units. */
static void the_condition_of_derivatives_has_no_units(void **state)
{
    (void)state;
    for (int e = -60; e <= 60; e += 20) {
        double a = ldexp(1, e), b = ldexp(1, 30 - e), c = ldexp(1, e / 2);
        const double M[] = {2 * a * c, b * c, a, 2 * b}, q[] = {-a, -b};
        double z[2];
        perp_lcp lcp = {.n = 2, .M = M, .ldm = 2, .q = q};
        perp_lcp_sensitivity s;
        perp_lcp_solver *solver = create(PERP_LCP_LEMKE, 2, 0, 0);
        assert_int_equal(perp_lcp_solve(solver, &lcp, z, NULL, NULL), PERP_OK);
        assert_int_equal(perp_lcp_differentiate(solver, &lcp, &s), PERP_OK);
        assert_near(s.reciprocal_condition, 1.0 / 3, 1e-15);
        perp_lcp_solver_destroy(solver);
    }
}

static int count_solutions(void *context, const double *z, const double *w, int is_ray)
{
    (void)z, (void)w;
    *(int *)context += !is_ray;
    return 0;
}

/* Rows 0 and 1 contradict each other by 1 beside terms of 1e4, which an M of 1e12 must not hide. */
static void the_search_reports_no_point_off_its_rows(void **state)
{
    (void)state;
    const double M[] = {1e12, 1e12, 1e3, 1e12, 1e12, -1e3, 0, 0, 0}, q[] = {-1e4, -1.0001e4, 0};
    int found = 0;
    perp_lcp lcp = {.n = 3, .M = M, .ldm = 3, .q = q};
    assert_int_equal(perp_lcp_enumerate(&lcp, NULL, count_solutions, &found), PERP_OK);
    assert_int_equal(found, 0); /* w_1 >= 0 needs z_1 > 0, and w_2 >= 0 that it is 0 */
    lcp.ldm = 2;
    assert_int_equal(perp_lcp_enumerate(&lcp, NULL, count_solutions, &found), PERP_ERR_ARG);
}

/* z1 - z2 = 1 twice over: M of the free rows is singular, and there are solutions. */
static void singular_free_rows_are_split(void **state)
{
    (void)state;
    const double M[] = {1, 1, 0, -1, -1, 0, 0, 0, 1}, q[] = {-1, -1, -2};
    const double lo[] = {-INFINITY, -INFINITY, 0};
    double z[3];
    perp_lcp lcp = {.n = 3, .M = M, .ldm = 3, .q = q, .lo = lo};
    perp_lcp_solver *solver;
    perp_lcp_info info = {.size = sizeof info};
    perp_lcp_options o = perp_lcp_options_default(PERP_LCP_AUTO);
    o.mixed = 1;
    assert_int_equal(perp_lcp_solver_create(PERP_LCP_AUTO, 3, &o, &solver), PERP_OK);
    assert_int_equal(perp_lcp_solve(solver, &lcp, z, NULL, &info), PERP_OK);
    assert_int_equal(info.outcome, PERP_SOLVED);
    assert_near(z[0] - z[1], 1, 1e-12);
    assert_near(z[2], 2, 1e-12);
    perp_lcp_solver_destroy(solver);
}

static void bounds_need_the_option_and_must_not_cross(void **state)
{
    (void)state;
    const double M[] = {1}, q[] = {1}, lo[] = {1},
                 wrong[][2] = {
                     {1, 0}, {INFINITY, INFINITY}, {-INFINITY, -INFINITY}, {NAN, 1}, {0, NAN}};
    double z[1];
    perp_lcp lcp = {1, M, 1, q, lo, NULL};
    perp_lcp_solver *solver;
    perp_lcp_info info = {.size = sizeof info};
    perp_lcp_options o = perp_lcp_options_default(PERP_LCP_LEMKE);
    assert_int_equal(perp_lcp_solver_create(PERP_LCP_LEMKE, 1, &o, &solver), PERP_OK);
    assert_int_equal(perp_lcp_solve(solver, &lcp, z, NULL, NULL), PERP_ERR_ARG);
    perp_lcp_solver_destroy(solver);
    o.mixed = 1;
    assert_int_equal(perp_lcp_solver_create(PERP_LCP_LEMKE, 1, &o, &solver), PERP_OK);
    for (int k = 0; k < 5; k++) {
        lcp.lo = &wrong[k][0], lcp.hi = &wrong[k][1];
        assert_int_equal(perp_lcp_solve(solver, &lcp, z, NULL, &info), PERP_OK);
        assert_int_equal(info.outcome, PERP_BAD_INPUT);
    }
    perp_lcp_solver_destroy(solver);
}

/* Small problems are guessed before anybody looks at their numbers. */
static void what_is_not_finite_is_bad_input_wherever_it_stands(void **state)
{
    (void)state;
    enum { N = 18 };
    const double wrong[] = {NAN, INFINITY, -INFINITY};
    const perp_lcp_method methods[] = {PERP_LCP_LEMKE, PERP_LCP_AUTO};
    for (int k = 0; k < 2 * 3 * N; k++) {
        perp_lcp_solver *solver;
        perp_lcp_info info = {.size = sizeof info};
        double M[N * N], q[N], z[N];
        int n = k / 6 + 1;
        perp_lcp lcp = {n, M, n, q, NULL, NULL};
        assert_int_equal(perp_lcp_solver_create(methods[k / 3 % 2], n, NULL, &solver), PERP_OK);
        for (int at = 0; at < n * n + n; at++) {
            for (int e = 0; e < n * n; e++) M[e] = e % (n + 1) == 0 ? 2 : 0.5;
            for (int i = 0; i < n; i++) q[i] = i % 3 - 1, z[i] = 7;
            *(at < n * n ? &M[at] : &q[at - n * n]) = wrong[k % 3];
            assert_int_equal(perp_lcp_solve(solver, &lcp, z, NULL, &info), PERP_OK);
            assert_int_equal(info.outcome, PERP_BAD_INPUT);
            assert_int_equal(info.iterations, 0);
            for (int i = 0; i < n; i++) assert_true(z[i] == 7);
        }
        perp_lcp_solver_destroy(solver);
    }
}

/* Both products against central differences of the solution. */
static void derivatives_agree_with_differences(void **state)
{
    (void)state;
    enum { N = 7 };
    for (unsigned seed = 1; seed <= 40; seed++) {
        perp_lcp lcp = lcp_generate(seed % 2 ? LCP_definite : LCP_p_matrix, N, seed);
        perp_lcp_solver *solver, *other;
        perp_lcp_info info = {.size = sizeof info};
        perp_lcp_sensitivity how;
        double z[N], dM[N * N], dq[N], dz[N], M[N * N], q[N], z1[N], z2[N], c[N], gq[N], gM[N * N];
        double eps = 1e-6, largest = 0, forward = 0, backward = 0;
        assert_int_equal(perp_lcp_solver_create(PERP_LCP_AUTO, N, NULL, &solver), PERP_OK);
        assert_int_equal(perp_lcp_solver_create(PERP_LCP_AUTO, N, NULL, &other), PERP_OK);
        assert_int_equal(perp_lcp_solve(solver, &lcp, z, NULL, &info), PERP_OK);
        assert_int_equal(perp_lcp_differentiate(solver, &lcp, &how), PERP_OK);
        assert_true(how.strict && how.degenerate == 0);
        for (int i = 0; i < N * N; i++) dM[i] = sin(3.0 * i + seed);
        for (int i = 0; i < N; i++) dq[i] = cos(2.0 * i + seed), c[i] = sin(5.0 * i);
        assert_int_equal(perp_lcp_jvp(solver, dM, dq, dz), PERP_OK);
        assert_int_equal(perp_lcp_vjp(solver, c, gq, gM), PERP_OK);
        for (int side = -1; side <= 1; side += 2) {
            for (int i = 0; i < N * N; i++) M[i] = lcp.M[i] + side * eps * dM[i];
            for (int i = 0; i < N; i++) q[i] = lcp.q[i] + side * eps * dq[i];
            perp_lcp moved = {N, M, N, q, NULL, NULL};
            assert_int_equal(perp_lcp_solve(other, &moved, side < 0 ? z1 : z2, NULL, &info),
                             PERP_OK);
        }
        for (int i = 0; i < N; i++) largest = fmax(largest, fabs(dz[i]));
        for (int i = 0; i < N; i++)
            assert_near((z2[i] - z1[i]) / (2 * eps), dz[i], 1e-5 * (1 + largest));
        for (int i = 0; i < N; i++) forward += c[i] * dz[i], backward += gq[i] * dq[i];
        for (int i = 0; i < N * N; i++) backward += gM[i] * dM[i];
        assert_near(forward, backward, 1e-10 * (1 + fabs(forward)));
        perp_lcp_solver_destroy(solver);
        perp_lcp_solver_destroy(other);
        free_problem(&lcp);
    }
}

/* 0 <= z perp z + q >= 0 at q = 0: the derivative is one-sided. */
static void degeneracy_is_told(void **state)
{
    (void)state;
    const double M[] = {1, 0, 0, 1}, q[] = {-1, 0}, dq[] = {0, 1};
    double z[2], dz[2];
    perp_lcp lcp = {2, M, 2, q, NULL, NULL};
    perp_lcp_solver *solver;
    perp_lcp_sensitivity how;
    assert_int_equal(perp_lcp_solver_create(PERP_LCP_LEMKE, 2, NULL, &solver), PERP_OK);
    assert_int_equal(perp_lcp_differentiate(solver, &lcp, &how), PERP_ERR_ARG);
    assert_int_equal(perp_lcp_jvp(solver, NULL, dq, dz), PERP_ERR_ARG);
    assert_int_equal(perp_lcp_solve(solver, &lcp, z, NULL, NULL), PERP_OK);
    assert_int_equal(perp_lcp_differentiate(solver, &lcp, &how), PERP_OK);
    assert_false(how.strict);
    assert_int_equal(how.degenerate, 1);
    assert_int_equal(how.worst, 1);
    assert_int_equal(perp_lcp_jvp(solver, NULL, dq, dz), PERP_OK);
    assert_true(dz[1] == 0 || dz[1] == -1); /* of w or of z, whichever the basis holds */
    perp_lcp_solver_destroy(solver);
}

/* A slowly changing q: the same answers as cold, in fewer pivots. */
static void compare_warm(perp_lcp_method method, int n)
{
    enum { MOST = 30 };
    perp_lcp lcp = lcp_generate(LCP_definite, n, 5);
    perp_lcp_solver *warm = create(method, n, 0, 1), *cold = create(method, n, 0, 0);
    int with = 0, without = 0;
    double z[MOST] = {0}, y[MOST], q[MOST];
    for (int k = 0; k < 50; k++) {
        perp_lcp_info info = {.size = sizeof info};
        for (int i = 0; i < n; i++) q[i] = lcp.q[i] * (1 + 0.01 * sin(k + i));
        perp_lcp moved = {n, lcp.M, n, q, NULL, NULL};
        assert_int_equal(perp_lcp_solve(warm, &moved, z, NULL, &info), PERP_OK);
        assert_int_equal(info.outcome, PERP_SOLVED);
        with += info.iterations;
        assert_int_equal(perp_lcp_solve(cold, &moved, y, NULL, &info), PERP_OK);
        without += info.iterations;
        for (int i = 0; i < n; i++) assert_near(z[i], y[i], 1e-8);
    }
    if (with >= without)
        fail_msg("%s, n = %d: %d iterations warm, %d cold", perp_lcp_method_name(method), n, with,
                 without);
    perp_lcp_solver_destroy(warm);
    perp_lcp_solver_destroy(cold);
    free_problem(&lcp);
}

static void warm_starts_give_the_same_answers_with_less_work(void **state)
{
    (void)state;
    static const perp_lcp_method methods[] = {PERP_LCP_LEMKE, PERP_LCP_BPP, PERP_LCP_AUTO,
                                              PERP_LCP_PGS, PERP_LCP_FB};
    static const int small[] = {3, 4, 7, 8, 15, 16};
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) compare_warm(methods[m], 30);
    for (size_t k = 0; k < sizeof small / sizeof *small; k++) { /* from the kept dictionary */
        compare_warm(PERP_LCP_LEMKE, small[k]);
        compare_warm(PERP_LCP_AUTO, small[k]);
    }
}

/* The tableau of the last solve is used for the same M, whatever its ldm, and for no other. */
static void a_warm_start_notices_a_change_of_any_column(void **state)
{
    (void)state;
    enum { MOST = 20, GAP = 3 };
    static const int sizes[] = {4, 9, MOST};
    for (int k = 0; k < 3; k++) {
        int n = sizes[k];
        perp_lcp lcp = lcp_generate(LCP_definite, n, 5);
        for (int ldm = n; ldm <= n + GAP; ldm += GAP) {
            for (int column = -1; column < n; column++) { /* -1: none */
                double M[(MOST + GAP) * MOST], q[MOST], z[MOST] = {0}, y[MOST] = {0};
                perp_lcp_info with = {.size = sizeof with}, without = {.size = sizeof without};
                perp_lcp_solver *warm = create(PERP_LCP_LEMKE, n, 0, 1),
                                *cold = create(PERP_LCP_LEMKE, n, 0, 0);
                for (int j = 0; j < n; j++)
                    for (int i = 0; i < ldm; i++)
                        M[i + j * ldm] = i < n ? lcp.M[i + j * n] : (double)NAN;
                for (int i = 0; i < n; i++) q[i] = -1 - 0.1 * i;
                perp_lcp wide = {n, M, ldm, q, NULL, NULL};
                assert_int_equal(perp_lcp_solve(warm, &wide, z, NULL, NULL), PERP_OK);
                if (column >= 0) M[column + column * ldm] *= 1.5;
                assert_int_equal(perp_lcp_solve(warm, &wide, z, NULL, &with), PERP_OK);
                assert_int_equal(perp_lcp_solve(cold, &wide, y, NULL, &without), PERP_OK);
                assert_true(with.outcome == PERP_SOLVED && without.outcome == PERP_SOLVED);
                assert_true(without.iterations > 0);
                assert_int_equal(with.iterations, column >= 0 ? without.iterations : 0);
                for (int i = 0; i < n; i++) assert_near(z[i], y[i], 1e-12 * (1 + fabs(y[i])));
                perp_lcp_solver_destroy(warm);
                perp_lcp_solver_destroy(cold);
            }
        }
        free_problem(&lcp);
    }
}

/* Batches in every arrangement and number of threads give the bits of each other, and right answers. */
static void batches_do_not_depend_on_threads_or_arrangement(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    static const lcp_class classes[] = {LCP_definite, LCP_box, LCP_murty};
    for (int n = 1; n <= 9; n++) {
        for (size_t c = 0; c < 3; c++) {
            int size = lcp_class_size(classes[c], n);
            size_t N = (size_t)size;
            double *M = malloc(COUNT * N * N * sizeof *M), *q = malloc(COUNT * N * sizeof *q);
            double *Mi = malloc(COUNT * N * N * sizeof *M), *qi = malloc(COUNT * N * sizeof *q);
            double *z = calloc(COUNT * N, sizeof *z), *zi = calloc(COUNT * N, sizeof *z),
                   *zt = calloc(COUNT * N, sizeof *z);
            for (size_t k = 0; k < COUNT; k++) {
                perp_lcp lcp = lcp_generate(classes[c], n, k + 1);
                for (size_t e = 0; e < N * N; e++) M[k * N * N + e] = Mi[e * COUNT + k] = lcp.M[e];
                for (size_t e = 0; e < N; e++) q[k * N + e] = qi[e * COUNT + k] = lcp.q[e];
                free_problem(&lcp);
            }
            perp_lcp_batch_solver *one, *three;
            perp_outcome outcomes[COUNT];
            int solved;
            assert_int_equal(perp_lcp_batch_solver_create(PERP_LCP_AUTO, size, 1, NULL, &one),
                             PERP_OK);
            assert_int_equal(perp_lcp_batch_solver_create(PERP_LCP_AUTO, size, 3, NULL, &three),
                             PERP_OK);
            perp_lcp_batch b = {.count = COUNT, .n = size, .M = M, .q = q};
            assert_int_equal(perp_lcp_solve_batch(one, &b, z, outcomes, &solved), PERP_OK);
            assert_int_equal(solved, COUNT);
            for (size_t k = 0; k < COUNT; k++) {
                perp_lcp lcp = {size, M + k * N * N, size, q + k * N, NULL, NULL};
                double scale = 1;
                for (size_t i = 0; i < N; i++) scale = fmax(scale, 1 + fabs(lcp.q[i]));
                assert_int_equal(outcomes[k], PERP_SOLVED);
                assert_true(perp_lcp_residual(&lcp, z + k * N, NULL) <= 1e-10 * scale);
            }
            assert_int_equal(perp_lcp_solve_batch(three, &b, zt, NULL, &solved), PERP_OK);
            assert_memory_equal(z, zt, COUNT * N * sizeof *z);
            b = (perp_lcp_batch){.count = COUNT, .n = size, .M = Mi, .q = qi, .interleaved = 1};
            assert_int_equal(perp_lcp_solve_batch(three, &b, zi, NULL, &solved), PERP_OK);
            for (size_t k = 0; k < COUNT; k++)
                for (size_t i = 0; i < N; i++) assert_true(z[k * N + i] == zi[i * COUNT + k]);
            b = (perp_lcp_batch){.count = COUNT, .n = size, .M = M, .q = q, .shared_M = 1};
            if (classes[c] != LCP_box) {
                assert_int_equal(perp_lcp_solve_batch(one, &b, z, NULL, &solved), PERP_OK);
                assert_int_equal(solved, COUNT);
                assert_int_equal(perp_lcp_solve_batch(three, &b, zt, NULL, NULL), PERP_OK);
                assert_memory_equal(z, zt, COUNT * N * sizeof *z);
            }
            perp_lcp_batch_solver_destroy(one);
            perp_lcp_batch_solver_destroy(three);
            free(M), free(q), free(Mi), free(qi), free(z), free(zi), free(zt);
        }
    }
}

/* Of any size, also where the last lanes stay empty, with the bits of single solves; nothing is written beside them. */
static void batches_of_any_size_give_the_bits_of_single_solves(void **state)
{
    (void)state;
    enum { MOST = 37, SMALL = 4 };
    for (int n = 1; n <= SMALL; n++) {
        perp_lcp_batch_solver *many;
        perp_lcp_solver *single;
        size_t N = (size_t)n;
        assert_int_equal(perp_lcp_batch_solver_create(PERP_LCP_LEMKE, n, 1, NULL, &many), PERP_OK);
        assert_int_equal(perp_lcp_solver_create(PERP_LCP_LEMKE, n, NULL, &single), PERP_OK);
        for (size_t count = 1; count <= MOST; count++) {
            double M[MOST * SMALL * SMALL], q[MOST * SMALL], right[MOST * SMALL];
            for (size_t k = 0; k < count; k++) {
                perp_lcp lcp = lcp_generate(LCP_definite, n, 100 * count + k);
                perp_lcp_solve(single, &lcp, right + k * N, NULL, NULL);
                for (size_t e = 0; e < N * N; e++) M[k * N * N + e] = lcp.M[e];
                for (size_t i = 0; i < N; i++) q[k * N + i] = lcp.q[i];
                free_problem(&lcp);
            }
            for (int interleaved = 0; interleaved < 2; interleaved++) {
                double Mi[MOST * SMALL * SMALL], qi[MOST * SMALL], z[MOST * SMALL + 1];
                for (size_t k = 0; k < count; k++) {
                    for (size_t e = 0; e < N * N; e++)
                        Mi[interleaved ? e * count + k : k * N * N + e] = M[k * N * N + e];
                    for (size_t i = 0; i < N; i++)
                        qi[interleaved ? i * count + k : k * N + i] = q[k * N + i];
                }
                perp_lcp_batch b = {
                    .count = (int)count, .n = n, .M = Mi, .q = qi, .interleaved = interleaved};
                int solved = 0;
                z[count * N] = 7;
                assert_int_equal(perp_lcp_solve_batch(many, &b, z, NULL, &solved), PERP_OK);
                assert_int_equal(solved, (int)count);
                assert_true(z[count * N] == 7);
                for (size_t k = 0; k < count; k++)
                    for (size_t i = 0; i < N; i++)
                        assert_true(z[interleaved ? i * count + k : k * N + i] == right[k * N + i]);
            }
        }
        perp_lcp_batch_solver_destroy(many);
        perp_lcp_solver_destroy(single);
    }
}

/* Small first pivots: the principal pivots of the lanes lose up to 14 digits, and their answers are not good enough. */
static void a_batch_keeps_no_answer_that_has_lost_its_digits(void **state)
{
    (void)state;
    enum { COUNT = 800 };
    static double M[4 * COUNT], q[2 * COUNT], z[2 * COUNT];
    perp_outcome outcomes[COUNT];
    perp_lcp_batch_solver *solver;
    for (int k = 0; k < COUNT; k++) { /* w = (-2 + d z1 + z2, -1 - z1 + z2) */
        double d = pow(10, -2 - 12.0 * k / COUNT), a = 1 + sin(k) / 3;
        M[4 * k] = d, M[4 * k + 1] = -a, M[4 * k + 2] = a, M[4 * k + 3] = 1 + cos(k) / 3;
        q[2 * k] = -2, q[2 * k + 1] = -1;
    }
    perp_lcp_batch b = {.count = COUNT, .n = 2, .M = M, .q = q};
    assert_int_equal(perp_lcp_batch_solver_create(PERP_LCP_LEMKE, 2, 1, NULL, &solver), PERP_OK);
    assert_int_equal(perp_lcp_solve_batch(solver, &b, z, outcomes, NULL), PERP_OK);
    for (int k = 0; k < COUNT; k++) {
        perp_lcp lcp = {2, M + 4 * k, 2, q + 2 * k, NULL, NULL};
        double residual = perp_lcp_residual(&lcp, z + 2 * k, NULL);
        if (outcomes[k] != PERP_SOLVED || !(residual < 1e-9))
            fail_msg("d = %g: %s, residual %g", M[4 * k], perp_outcome_name(outcomes[k]), residual);
    }
    perp_lcp_batch_solver_destroy(solver);
}

static void a_batch_judges_each_problem(void **state)
{
    (void)state;
    const double M[] = {1, -1, NAN, 1, 1}, q[] = {-1, -1, 0, 5, INFINITY};
    double z[5] = {7, 7, 7, 7, 7};
    perp_outcome outcomes[5];
    int solved;
    perp_lcp_batch_solver *solver;
    perp_lcp_batch b = {.count = 5, .n = 1, .M = M, .q = q};
    assert_int_equal(perp_lcp_batch_solver_create(PERP_LCP_LEMKE, 1, 0, NULL, &solver), PERP_OK);
    assert_int_equal(perp_lcp_solve_batch(solver, &b, z, outcomes, &solved), PERP_OK);
    assert_int_equal(solved, 2);
    assert_int_equal(outcomes[0], PERP_SOLVED);
    assert_int_equal(outcomes[1], PERP_INFEASIBLE);
    assert_int_equal(outcomes[2], PERP_BAD_INPUT);
    assert_int_equal(outcomes[3], PERP_SOLVED);
    assert_int_equal(outcomes[4], PERP_BAD_INPUT);
    assert_true(z[2] == 7 && z[4] == 7); /* not the answer of the problem before */
    b.n = 2;
    assert_int_equal(perp_lcp_solve_batch(solver, &b, z, outcomes, &solved), PERP_ERR_DIM);
    perp_lcp_batch_solver_destroy(solver);
    assert_int_equal(perp_lcp_batch_solver_create(PERP_LCP_LEMKE, -1, 0, NULL, &solver),
                     PERP_ERR_ARG);
}

/* w2 > 0 where w1 >= 0, so that z2 = 0 and w1 < 0: feasible, no solution; what comes back is no worse than any stage's point. */
static void auto_gives_back_the_best_point(void **state)
{
    (void)state;
    const double M[] = {0, 1, 1, 2}, q[] = {-3, -3};
    static const perp_lcp_method stages[] = {PERP_LCP_LEMKE, PERP_LCP_BPP, PERP_LCP_IPM,
                                             PERP_LCP_FB, PERP_LCP_AUTO};
    perp_lcp lcp = {2, M, 2, q, NULL, NULL};
    double least = (double)INFINITY;
    for (size_t k = 0; k < sizeof stages / sizeof *stages; k++) {
        perp_lcp_solver *solver;
        perp_lcp_info info = {.size = sizeof info};
        double z[2];
        assert_int_equal(perp_lcp_solver_create(stages[k], 2, NULL, &solver), PERP_OK);
        assert_int_equal(perp_lcp_solve(solver, &lcp, z, NULL, &info), PERP_OK);
        assert_true(info.outcome != PERP_SOLVED);
        assert_true(perp_lcp_residual(&lcp, z, NULL) == info.residual);
        if (stages[k] == PERP_LCP_AUTO) {
            assert_int_equal(info.outcome, PERP_RAY);
            assert_true(info.residual <= least);
        }
        least = fmin(least, info.residual);
        perp_lcp_solver_destroy(solver);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_gives_back_the_best_point),
        cmocka_unit_test(problems_with_bounds_are_solved),
        cmocka_unit_test(the_nonlinear_program_knows_no_units),
        cmocka_unit_test(what_is_plain_needs_no_method),
        cmocka_unit_test(a_declined_problem_is_answered_or_refused),
        cmocka_unit_test(a_small_w_beside_a_large_z_is_seen),
        cmocka_unit_test(a_solve_stands_alone),
        cmocka_unit_test(a_warm_start_that_leads_nowhere_is_dropped),
        cmocka_unit_test(there_is_no_ray_beside_a_solution),
        cmocka_unit_test(a_proof_does_not_overflow),
        cmocka_unit_test(the_condition_of_derivatives_has_no_units),
        cmocka_unit_test(derivatives_of_nothing_are_refused),
        cmocka_unit_test(the_search_reports_no_point_off_its_rows),
        cmocka_unit_test(singular_free_rows_are_split),
        cmocka_unit_test(what_is_not_finite_is_bad_input_wherever_it_stands),
        cmocka_unit_test(bounds_need_the_option_and_must_not_cross),
        cmocka_unit_test(derivatives_agree_with_differences),
        cmocka_unit_test(degeneracy_is_told),
        cmocka_unit_test(warm_starts_give_the_same_answers_with_less_work),
        cmocka_unit_test(a_warm_start_notices_a_change_of_any_column),
        cmocka_unit_test(a_batch_keeps_no_answer_that_has_lost_its_digits),
        cmocka_unit_test(batches_do_not_depend_on_threads_or_arrangement),
        cmocka_unit_test(batches_of_any_size_give_the_bits_of_single_solves),
        cmocka_unit_test(a_batch_judges_each_problem),
    };
    return run_all(tests);
}
