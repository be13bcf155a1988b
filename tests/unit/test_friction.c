/* Friction problems: projection, one contact, the driver, the three forms of W, pyramids and back.
 */

#include "unit.h"

#include "contacts.h"
#include "perp/friction.h"
#include "base/tol.h"
#include "solve/fc.h"

static perp_fc_info solve(perp_fc_method method, const perp_fc *problem, double *r, double *u)
{
    perp_fc_solver *solver;
    perp_fc_info info = {.size = sizeof info};
    assert_int_equal(perp_fc_solver_create(method, problem, NULL, &solver), PERP_OK);
    assert_int_equal(perp_fc_solve(solver, problem, r, u, &info), PERP_OK);
    perp_fc_solver_destroy(solver);
    return info;
}

static void projection_is_the_nearest_point_of_the_cone(void **state)
{
    (void)state;
    rng g = {7};
    const double mus[] = {0, 1e-3, 0.3, 1, 20, 1e150};
    for (int k = 0; k < 6000; k++) {
        double mu = mus[k % 6], x[3], p[3], inner[3], dot = 0;
        for (int c = 0; c < 3; c++) x[c] = uniform(&g, -1, 1);
        perp_fc_project(3, mu, x, p);
        double t = hypot(p[1], p[2]);
        assert_true(p[0] >= 0 && t <= mu * p[0] * (1 + 1e-14) + 1e-300);
        /* x - p is orthogonal to p and in the polar cone: (x - p).v <= 0 for v in K */
        for (int c = 0; c < 3; c++) dot += (x[c] - p[c]) * p[c];
        assert_near(dot, 0, 1e-14);
        double n = x[0] - p[0], s = hypot(x[1] - p[1], x[2] - p[2]);
        assert_true(mu < 1 ? n + mu * s <= 1e-14 : n / mu + s <= 1e-14);
        if (mu < 1e100) perp__fc_cone(mu, x, inner);
        for (int c = 0; c < 3 && mu < 1e100; c++) assert_near(inner[c], p[c], 1e-14);
        double x2[2] = {x[0], x[1]}, p2[2], flat[3] = {x[0], x[1], 0};
        perp_fc_project(2, mu, x2, p2);
        perp_fc_project(3, mu, flat, p);
        assert_near(p2[0], p[0], 1e-15);
        assert_near(p2[1], p[1], 1e-15);
    }
}

/* A random positive definite block, symmetric or not; mixed scales. */
static void random_block(rng *g, double skew, double W[9])
{
    double a[9], scale[3];
    for (int k = 0; k < 9; k++) a[k] = uniform(g, -1, 1);
    for (int k = 0; k < 3; k++) scale[k] = pow(10, uniform(g, -1, 1));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            W[3 * i + j] = i == j ? 1e-3 * scale[i] * scale[i] : 0;
            for (int k = 0; k < 3; k++)
                W[3 * i + j] += scale[i] * a[3 * i + k] * a[3 * j + k] * scale[j];
        }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < i; j++) {
            double s = skew * uniform(g, -1, 1) * sqrt(W[4 * i] * W[4 * j]);
            W[3 * i + j] += s;
            W[3 * j + i] -= s;
        }
}

static void one_contact_is_solved_for_random_blocks(void **state)
{
    (void)state;
    rng g = {11};
    const double mus[] = {0, 0.01, 0.5, 1, 5, 1e3};
    int open = 0, sticks = 0, slides = 0;
    for (int k = 0; k < 30000; k++) {
        double W[9], q[3], r[3] = {0}, dense[9], mu = mus[k % 6];
        random_block(&g, k % 2 ? 0.5 : 0, W);
        for (int c = 0; c < 3; c++) q[c] = uniform(&g, -1, 1);
        if (k % 3) /* a guess must not matter for being right */
            for (int c = 0; c < 3; c++) r[c] = uniform(&g, -2, 2);
        assert_true(perp__fc_contact(W, q, mu, r));
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) dense[i + 3 * j] = W[3 * i + j];
        perp_fc one = {.dimension = 3, .nc = 1, .q = q, .mu = &mu};
        double e = judge(&one, dense, r);
        if (!(e <= 1e-12 * (1 + mu))) fail_msg("block %d, mu %g: error %g", k, mu, e);
        double t = hypot(r[1], r[2]);
        open += r[0] == 0;
        sticks += r[0] > 0 && t < mu * r[0] * (1 - 1e-9);
        slides += r[0] > 0 && t >= mu * r[0] * (1 - 1e-9);
    }
    assert_true(open > 1000 && sticks > 1000 && slides > 1000);
}

/* In sweeps a contact is solved again and again: roughly each time, from where it was, and in the end exactly. */
static void a_contact_solved_roughly_again_and_again_is_solved(void **state)
{
    (void)state;
    rng g = {12};
    int rough = 0;
    for (int k = 0; k < 3000; k++) {
        double W[9], q[3], r[3] = {0}, exact[3] = {0}, mu = uniform(&g, 0.1, 2), off = 0;
        random_block(&g, 0, W);
        for (int c = 0; c < 3; c++) q[c] = uniform(&g, -1, 1);
        assert_true(perp__fc_contact(W, q, mu, exact));
        perp__fc_local local = perp__fc_local_of(W);
        for (int again = 0; again < 4; again++) {
            assert_true(perp__fc_local_solve(&local, q, mu, PERP_FC_SLIDE_SWEEP, r));
            for (int c = 0; c < 3; c++) off = fmax(off, fabs(r[c] - exact[c]));
            if (again == 0) rough += off > 1e-9 * exact[0];
            if (again < 3) off = 0;
        }
        if (!(off <= 1e-10 * exact[0])) fail_msg("block %d: %g from %g", k, off, exact[0]);
    }
    assert_true(rough > 30);
}

/* By one solver as by a new one, bit for bit. */
static void assert_as_new(perp_fc_solver *solver, const perp_fc *problem)
{
    double r[18], fresh[18];
    perp_fc_info info = {.size = sizeof info}, other = {.size = sizeof other};
    perp_fc_solver *own;
    assert_int_equal(perp_fc_solver_create(PERP_FC_AUTO, problem, NULL, &own), PERP_OK);
    assert_int_equal(perp_fc_solve(solver, problem, r, NULL, &info), PERP_OK);
    assert_int_equal(perp_fc_solve(own, problem, fresh, NULL, &other), PERP_OK);
    assert_int_equal(info.outcome, other.outcome);
    assert_memory_equal(&info.error, &other.error, sizeof info.error);
    if (info.outcome != PERP_BAD_INPUT)
        assert_memory_equal(r, fresh, (size_t)(problem->dimension * problem->nc) * sizeof *r);
    perp_fc_solver_destroy(own);
}

/* What W says of a problem is found once; a W that differs in one entry, has fewer contacts or other ones apart, is another. */
static void a_solver_knows_W_of_the_last_problem(void **state)
{
    (void)state;
    enum { NC = 6, N = 3 * NC };
    rng g = {13};
    double A[N * N], W[N * N] = {0}, q[N], mu[NC], apart[N * N];
    perp_fc problem = {.dimension = 3, .nc = NC, .q = q, .mu = mu, .W = W, .ldw = N};
    perp_fc_solver *solver;
    for (int k = 0; k < N * N; k++) A[k] = uniform(&g, -1, 1);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                W[i + N * j] += A[i + N * k] * A[j + N * k] + (i == j) * 0.1;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) apart[i + N * j] = i / 3 % 2 == j / 3 % 2 ? W[i + N * j] : 0;
    assert_int_equal(perp_fc_solver_create(PERP_FC_AUTO, &problem, NULL, &solver), PERP_OK);
    for (int k = 0; k < 60; k++) {
        for (int i = 0; i < N; i++) q[i] = uniform(&g, -1, 0.5);
        for (int i = 0; i < NC; i++) mu[i] = k % 7 ? uniform(&g, 0, 1) : 0;
        if (k % 10 == 4) W[N * N - 1] *= 1.5;
        problem.W = k % 20 > 12 ? apart : W;
        problem.nc = k % 10 == 7 ? 3 : k % 10 == 9 ? 0 : NC;
        if (k % 20 == 3) q[2] = (double)NAN;
        assert_as_new(solver, &problem);
    }
    perp_fc_solver_destroy(solver);
}

/* auto needs one step for a contact that is alone, and says nothing the verdict does not. */
static void one_contact_alone_takes_auto_one_step(void **state)
{
    (void)state;
    rng g = {12};
    int steps = 0;
    for (int k = 0; k < 500; k++) {
        double W[9], columns[9], q[3], mu = k % 5 ? uniform(&g, 0, 2) : 0, r[3];
        random_block(&g, k % 2 ? 0.3 : 0, W);
        for (int i = 0; i < 9; i++) columns[i] = W[i % 3 * 3 + i / 3];
        for (int i = 0; i < 3; i++) q[i] = uniform(&g, -1, i ? 1 : 0);
        perp_fc problem = {.dimension = 3, .nc = 1, .q = q, .mu = &mu, .W = columns, .ldw = 3};
        perp_fc_info info = solve(PERP_FC_AUTO, &problem, r, NULL);
        assert_int_equal(info.outcome, PERP_SOLVED);
        steps += info.iterations;
    }
    assert_int_equal(steps, 500);
}

static void a_block_that_is_not_positive_definite_is_not_claimed(void **state)
{
    (void)state;
    double W[9] = {-1, 0, 0, 0, 1, 0, 0, 0, 1}, q[3] = {-1, 0.3, 0}, r[3] = {0};
    assert_false(perp__fc_contact(W, q, 0.5, r));
    assert_true(isfinite(r[0]) && isfinite(r[1]) && isfinite(r[2]));
    double zero[9] = {0}, r2[3] = {1, 1, 1};
    perp__fc_contact(zero, q, 0.5, r2);
    assert_true(isfinite(r2[0]));
}

static void a_particle_sticks_slides_and_flies(void **state)
{
    (void)state;
    /* m = 2 on the floor: q = (-g h, v_x, v_y); it sticks while |v| <= mu g h */
    const double W[] = {0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5};
    double mu = 0.5, r[3], u[3];
    for (int m = 0; m < PERP_FC_METHOD_COUNT; m++) {
        double q[3] = {-1, 0.3, 0.2};
        perp_fc p = {.dimension = 3, .nc = 1, .q = q, .mu = &mu, .W = W, .ldw = 3};
        assert_int_equal(solve((perp_fc_method)m, &p, r, u).outcome, PERP_SOLVED);
        assert_near(r[0], 2, 1e-7);
        assert_near(r[1], -0.6, 1e-7);
        assert_near(hypot(u[1], u[2]), 0, 1e-7);
        q[1] = 3;
        q[2] = 4;
        assert_int_equal(solve((perp_fc_method)m, &p, r, u).outcome, PERP_SOLVED);
        assert_near(r[1], -0.6, 1e-6); /* mu r_n = 1 against (3, 4)/5 */
        assert_near(r[2], -0.8, 1e-6);
        assert_near(u[1], 2.7, 1e-6);
        q[0] = 1;
        assert_int_equal(solve((perp_fc_method)m, &p, r, u).outcome, PERP_SOLVED);
        assert_near(r[0], 0, 1e-7);
        assert_near(u[0], 1, 1e-7);
    }
}

static void three_forms_of_W_give_the_same(void **state)
{
    (void)state;
    for (int d = 2; d <= 3; d++) {
        contacts c = contacts_create(d, 3, 5, 0.4, 10, 0, 3);
        int n = d * 5, row[26], col[26], nb = 0;
        double block[26 * 9], r[3][15], u[3][15];
        /* the blocks in reverse, the first in two halves */
        for (int i = 4; i >= 0; i--)
            for (int j = 4; j >= 0; j--)
                for (int half = 0; half < (i + j == 8 ? 2 : 1); half++) {
                    row[nb] = i;
                    col[nb] = j;
                    for (int a = 0; a < d; a++)
                        for (int b = 0; b < d; b++)
                            block[nb * d * d + a * d + b] =
                                c.dense.W[d * i + a + (d * j + b) * n] * (i + j == 8 ? 0.5 : 1);
                    nb++;
                }
        perp_fc sparse = c.dense;
        sparse.W = NULL;
        sparse.block = block;
        sparse.row = row;
        sparse.col = col;
        sparse.nb = nb;
        const perp_fc *forms[] = {&c.problem, &c.dense, &sparse};
        for (int f = 0; f < 3; f++) {
            assert_int_equal(solve(PERP_FC_AUTO, forms[f], r[f], u[f]).outcome, PERP_SOLVED);
            assert_true(judge(&c.dense, c.dense.W, r[f]) <= 1e-8);
            for (int k = 0; k < n; k++) assert_near(u[f][k], u[0][k], 1e-6);
        }
        assert_true(fabs(perp_fc_residual(&sparse, r[1], NULL) -
                         perp_fc_residual(&c.dense, r[1], NULL)) < 1e-13);
        contacts_destroy(&c);
    }
}

static void pyramids_are_exact_in_the_plane_and_close_in_space(void **state)
{
    (void)state;
    for (int d = 2; d <= 3; d++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            contacts c = contacts_create(d, 2, 2, 0.4, 10, 0, seed);
            int facets = d == 2 ? 2 : 32, m = perp_fc_lcp_size(&c.dense, facets);
            double *M = calloc((size_t)m * (size_t)m, sizeof *M), q[80], z[80], r[6], exact[6],
                   u[6];
            assert_int_equal(perp_fc_to_lcp(&c.dense, facets, M, q), PERP_OK);
            perp_lcp lcp = {m, M, m, q, NULL, NULL};
            perp_lcp_solver *lemke;
            perp_lcp_info info = {.size = sizeof info};
            assert_int_equal(perp_lcp_solver_create(PERP_LCP_LEMKE, m, NULL, &lemke), PERP_OK);
            assert_int_equal(perp_lcp_solve(lemke, &lcp, z, NULL, &info), PERP_OK);
            assert_int_equal(info.outcome, PERP_SOLVED);
            assert_int_equal(perp_fc_from_lcp(&c.dense, facets, z, r), PERP_OK);
            double residual = perp_fc_residual(&c.dense, r, NULL);
            if (d == 2) {
                if (residual > 1e-9) fail_msg("plane, seed %d: %g", (int)seed, residual);
            } else {
                assert_int_equal(solve(PERP_FC_AUTO, &c.dense, exact, u).outcome, PERP_SOLVED);
                if (residual > 0.1) fail_msg("space, seed %d: %g", (int)seed, residual);
            }
            for (int i = 0; i < 2; i++)
                assert_true(hypot(r[d * i + 1], d == 3 ? r[d * i + 2] : 0) <=
                            0.4 * r[d * i] + 1e-12);
            perp_lcp_solver_destroy(lemke);
            free(M);
            contacts_destroy(&c);
        }
}

static void bad_input_is_said(void **state)
{
    (void)state;
    contacts c = contacts_create(3, 3, 4, 0.4, 10, 0, 1);
    perp_fc_solver *solver;
    perp_fc_info info = {.size = sizeof info};
    double r[12], *W = (double *)(uintptr_t)c.dense.W, *q = (double *)(uintptr_t)c.dense.q;
    double *mu = (double *)(uintptr_t)c.dense.mu, keep;
    double *spoiled[] = {&W[5], &q[3], &mu[2]};
    const double values[] = {NAN, INFINITY, -INFINITY};
    for (int m = 0; m < PERP_FC_METHOD_COUNT; m++) {
        assert_int_equal(perp_fc_solver_create((perp_fc_method)m, &c.dense, NULL, &solver),
                         PERP_OK);
        for (int k = 0; k < 9; k++) {
            keep = *spoiled[k % 3];
            *spoiled[k % 3] = values[k / 3];
            assert_int_equal(perp_fc_solve(solver, &c.dense, r, NULL, &info), PERP_OK);
            assert_int_equal(info.outcome, PERP_BAD_INPUT);
            *spoiled[k % 3] = keep;
        }
        keep = mu[0];
        mu[0] = -0.1;
        assert_int_equal(perp_fc_solve(solver, &c.dense, r, NULL, &info), PERP_OK);
        assert_int_equal(info.outcome, PERP_BAD_INPUT);
        mu[0] = keep;
        /* too large, too small, still finite: verified or not claimed */
        const double extreme[] = {1e300, -1e300, 1e-310, 0};
        for (int k = 0; k < 12; k++) {
            double *entry = spoiled[k % 3];
            keep = *entry;
            *entry = k % 3 == 2 ? fabs(extreme[k / 3]) : extreme[k / 3];
            assert_int_equal(perp_fc_solve(solver, &c.dense, r, NULL, &info), PERP_OK);
            if (info.outcome == PERP_SOLVED) assert_true(judge(&c.dense, c.dense.W, r) <= 1e-8);
            *entry = keep;
        }
        perp_fc_solver_destroy(solver);
    }
    contacts_destroy(&c);
}

static void the_limit_of_iterations_can_change(void **state)
{
    (void)state;
    const double W[] = {2, 0, 1, 0, 0, 1, 0, 0, 1, 0, 2, 0, 0, 0, 0, 1}, q[] = {-1, 1, -2, 1},
                 mu[] = {0.3, 0.3};
    perp_fc p = {.dimension = 2, .nc = 2, .q = q, .mu = mu, .W = W, .ldw = 4};
    perp_fc_solver *solver;
    perp_fc_info info = {.size = sizeof info};
    double r[4];
    assert_int_equal(perp_fc_solver_create(PERP_FC_NSGS, &p, NULL, &solver), PERP_OK);
    for (int limit = 0; limit < 4; limit++) {
        assert_int_equal(perp_fc_solver_set_max_iter(solver, limit % 2), PERP_OK);
        assert_int_equal(perp_fc_solve(solver, &p, r, NULL, &info), PERP_OK);
        assert_true(limit % 2 ? info.outcome == PERP_LIMIT : info.outcome == PERP_SOLVED);
    }
    assert_int_equal(perp_fc_solver_set_max_iter(NULL, 1), PERP_ERR_ARG);
    assert_int_equal(perp_fc_solver_set_max_iter(solver, -1), PERP_ERR_ARG);
    perp_fc_solver_destroy(solver);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    const double W[] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, q[] = {-1, 0, 0}, mu = 0.3;
    double r[3];
    perp_fc p = {.dimension = 3, .nc = 1, .q = q, .mu = &mu, .W = W, .ldw = 3}, bad = p;
    perp_fc_solver *solver;
    perp_fc_options o = perp_fc_options_default();
    assert_int_equal(perp_fc_solver_create(PERP_FC_METHOD_COUNT, &p, NULL, &solver), PERP_ERR_ARG);
    assert_null(solver);
    o.tol = 0;
    assert_int_equal(perp_fc_solver_create(PERP_FC_NSGS, &p, &o, &solver), PERP_ERR_ARG);
    bad.dimension = 4;
    assert_int_equal(perp_fc_solver_create(PERP_FC_NSGS, &bad, NULL, &solver), PERP_ERR_ARG);
    assert_int_equal(perp_fc_solver_create(PERP_FC_NSGS, &p, NULL, &solver), PERP_OK);
    assert_int_equal(perp_fc_solve(solver, &p, NULL, NULL, NULL), PERP_ERR_ARG);
    bad = p;
    bad.nc = 2;
    assert_int_equal(perp_fc_solve(solver, &bad, r, NULL, NULL), PERP_ERR_DIM);
    bad = p;
    bad.ldw = 2;
    assert_int_equal(perp_fc_solve(solver, &bad, r, NULL, NULL), PERP_ERR_ARG);
    bad.nc = 0;
    perp_fc_info info = {.size = sizeof info};
    assert_int_equal(perp_fc_solve(solver, &bad, NULL, NULL, &info), PERP_OK);
    assert_int_equal(info.outcome, PERP_SOLVED);
    int place = 3;
    bad = (perp_fc){.dimension = 3,
                    .nc = 1,
                    .q = q,
                    .mu = &mu,
                    .block = W,
                    .row = &place,
                    .col = &place,
                    .nb = 1};
    assert_int_equal(perp_fc_solve(solver, &bad, r, NULL, &info), PERP_OK);
    assert_int_equal(info.outcome, PERP_BAD_INPUT);
    perp_fc_solver_destroy(solver);
    perp_fc_solver_destroy(NULL);
    for (int m = 0; m < PERP_FC_METHOD_COUNT; m++)
        assert_int_equal(perp_fc_method_find(perp_fc_method_name((perp_fc_method)m)), m);
    assert_int_equal(perp_fc_method_find("none"), PERP_FC_METHOD_COUNT);
    assert_string_equal(perp_fc_method_name(PERP_FC_METHOD_COUNT), "unknown");
    assert_int_equal(perp_fc_to_lcp(&p, 3, r, r), PERP_ERR_ARG);
}

/* W = J inv(M) J' with anything missing or too short, or larger than the solver, is refused; the next one is solved. */
static void masses_and_jacobians_are_checked(void **state)
{
    (void)state;
    const double M[] = {2, 0, 0, 2}, J[] = {1, 0, 0, 0, 1, 0}, q[] = {-1, 0, 0}, mu = 0.3;
    const perp_fc p = {
        .dimension = 3, .nc = 1, .q = q, .mu = &mu, .M = M, .ldm = 2, .J = J, .ldj = 3, .nv = 2};
    perp_fc_solver *solver;
    perp_fc_info info = {.size = sizeof info};
    double r[3] = {0};
    assert_int_equal(perp_fc_solver_create(PERP_FC_AUTO, &p, NULL, &solver), PERP_OK);
    for (int k = 0; k < 6; k++) {
        perp_fc bad = p;
        if (k == 0) bad.M = NULL;
        if (k == 1) bad.J = NULL;
        if (k == 2) bad.nv = -1;
        if (k == 3) bad.ldm = 1;
        if (k == 4) bad.ldj = 2;
        if (k == 5) bad.nv = bad.ldm = 3;
        assert_int_equal(perp_fc_solve(solver, &bad, r, NULL, NULL),
                         k < 5 ? PERP_ERR_ARG : PERP_ERR_DIM);
    }
    assert_int_equal(perp_fc_solve(solver, &p, r, NULL, &info), PERP_OK);
    assert_int_equal(info.outcome, PERP_SOLVED);
    assert_near(r[0], 2, 1e-8); /* r_n / 2 = 1 */
    perp_fc_solver_destroy(solver);
}

static void a_problem_without_solution_is_not_claimed(void **state)
{
    (void)state;
    /* two contacts squeeze a rigid pair of planks: W singular and q not in its range */
    const double W[36] = {
        [0] = 1, [3] = -1, [18] = -1, [21] = 1, [7] = 1, [14] = 1, [28] = 1, [35] = 1};
    const double q[] = {-1, 0, 0, -1, 0, 0}, mu[] = {0.3, 0.3};
    perp_fc p = {.dimension = 3, .nc = 2, .q = q, .mu = mu, .W = W, .ldw = 6};
    double r[6];
    for (int m = 0; m < PERP_FC_METHOD_COUNT; m++) {
        perp_fc_info info = solve((perp_fc_method)m, &p, r, NULL);
        assert_int_equal(info.outcome, PERP_LIMIT);
        assert_true(info.residual > 0.1 || isnan(info.residual));
    }
}

/* One large number somewhere is no excuse elsewhere: a contact of 1e-9 beside one of 1e9, apart or weakly joined. */
/* u = 0 for r = (2.25e15, 4.5e15 - 0.5), inside the cone by less than a digit; on its surface u_n = -1 for every r. */
static void a_solution_at_infinity_is_none(void **state)
{
    (void)state;
    double W[4] = {4, -2, -2, 1}, q[2] = {-1, 0}, mu = 2;
    perp_fc problem = {.dimension = 2, .nc = 1, .q = q, .mu = &mu, .W = W, .ldw = 2};
    for (int m = 0; m < PERP_FC_METHOD_COUNT; m++) {
        double r[2] = {2251799813685247.5, 4503599627370494.5};
        for (int warm = 0; warm < 2; warm++) {
            perp_fc_options o = perp_fc_options_default();
            perp_fc_solver *solver;
            perp_fc_info info = {.size = sizeof info};
            o.warm_start = !warm;
            assert_int_equal(perp_fc_solver_create((perp_fc_method)m, &problem, &o, &solver),
                             PERP_OK);
            assert_int_equal(perp_fc_solve(solver, &problem, r, NULL, &info), PERP_OK);
            assert_int_equal(info.outcome, PERP_LIMIT);
            perp_fc_solver_destroy(solver);
        }
    }
}

static void each_contact_is_judged_on_its_own_scale(void **state)
{
    (void)state;
    for (int joined = 0; joined <= 1; joined++) {
        double W[36] = {0}, r[6], u[6];
        const double q[] = {-1e9, 0, 0, -1e-9, 3e-9, 0}, mu[] = {0.5, 0.5};
        for (int k = 0; k < 6; k++) W[7 * k] = 1;
        if (joined) W[3] = W[18] = 1e-20;
        perp_fc p = {.dimension = 3, .nc = 2, .q = q, .mu = mu, .W = W, .ldw = 6};
        for (int m = 0; m < PERP_FC_METHOD_COUNT; m++) {
            perp_fc_info info = solve((perp_fc_method)m, &p, r, u);
            assert_int_equal(info.outcome, PERP_SOLVED);
            assert_true(info.error <= 1e-8 && judge(&p, W, r) <= 1e-8);
            assert_near(r[0], 1e9, 10);
            assert_near(r[3], 1e-9, 1e-10);
            assert_near(r[4], -mu[1] * r[3], 1e-16);
        }
    }
}

/* One contact with W = I; r is moved. */
static double judged(double mu, const double *q, double *r)
{
    static double block[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, one[] = {1}, data[] = {1};
    static int start[] = {0, 1}, zero[] = {0}, yes[] = {1};
    double u[3], S[3], low[3], error;
    perp__fc fc = {.nc = 1,
                   .n = 3,
                   .start = start,
                   .col = zero,
                   .diag = zero,
                   .block = block,
                   .mu = &mu,
                   .scale = one,
                   .force = one,
                   .data = data,
                   .normal = data,
                   .order = zero,
                   .carries = yes};
    perp_fc p = {.dimension = 3, .nc = 1, .q = q, .mu = &mu, .W = block, .ldw = 3};
    return perp__fc_judge(&fc, &p, 1e-8, r, (perp__fc_sums){u, S, low}, &error);
}

static void impulses_are_judged_inside_their_cone(void **state)
{
    (void)state;
    const double opening[] = {1, 0, 0}, pressing[] = {-1, 0, 0}, sliding[] = {-1, 3, 4};
    double pulls[] = {-1, 0, 0}; /* would make u = 0 */
    assert_true(judged(0.5, opening, pulls) == 0 && pulls[0] == 0);
    double rounding[] = {1e-12, 0, 0};
    assert_true(judged(0.5, opening, rounding) == 0 && rounding[0] == 0);
    double outside[] = {1, 0.6, 0.8};
    assert_true(judged(0.5, pressing, outside) > 0.1);
    assert_near(hypot(outside[1], outside[2]), 0.5, 1e-15);
    double right[] = {1, -0.3, -0.4}, wrong[] = {1, -0.4, -0.3}, less[] = {1, -0.15, -0.2};
    assert_true(judged(0.5, sliding, right) < 1e-15);
    assert_true(judged(0.5, sliding, wrong) > 0.01);
    assert_true(judged(0.5, sliding, less) > 0.01);
    double light[] = {0.9, 0, 0}, none[] = {0, 0, 0};
    assert_true(judged(0.5, pressing, light) > 0.01);
    assert_true(judged(0.5, pressing, none) > 0.1);
}

/* Beside terms and data beyond the range of double no velocity is small. */
static void an_infinite_scale_decides_nothing(void **state)
{
    (void)state;
    const double q[] = {-1e308, 0, 0}, r[] = {1e308, 0, 0}, u[] = {-1e307, 0, 0};
    const double terms[][3] = {{INFINITY, 0, 0}, {1.5e308, 0, 0}};
    for (int k = 0; k < 2; k++) {
        perp__fc_scale s = perp__fc_scale_of(3, 0.5, terms[k], q, 1e308, 1e308);
        double error = perp__fc_contact_error(3, 0.5, r, u, &s, 1, 1e-8);
        assert_true(k == 0 ? isinf(error) : error > 0.01 && error < 1);
    }
}

/* No impulse helps: neither a large one nor a large mu makes it a solution. */
static void without_mobility_nothing_is_solved(void **state)
{
    (void)state;
    const double mus[] = {0, 0.3, 1e8, 1e12}, q[] = {-1, 0.5, 0};
    const double zero[9] = {0}, sideways[9] = {[4] = 1, [8] = 1};
    double r[3];
    for (int k = 0; k < 8; k++) {
        perp_fc p = {.dimension = 3,
                     .nc = 1,
                     .q = q,
                     .mu = &mus[k / 2],
                     .W = k % 2 ? sideways : zero,
                     .ldw = 3};
        for (int m = 0; m < PERP_FC_METHOD_COUNT; m++)
            assert_int_equal(solve((perp_fc_method)m, &p, r, NULL).outcome, PERP_LIMIT);
    }
}

/* Contacts that share nothing, in any order and with other numbers beside them, get the same bits. */
/* Contact by contact with the newest forces (Gauss-Seidel), the normal coupled with a tangent, or both tangents: converges slowly,
 * and ends where the error comes below tol, not digits later. */
static void sweeps_end_where_the_error_does(void **state)
{
    (void)state;
    static const struct {
        double coupling[3], r[3]; /* of normal and t1, normal and t2, t1 and t2 */
    } cases[] = {
        {{-0.9, 0, 0}, {1, 0.9, 0}}, {{0, -0.9, 0}, {1, 0, 0.9}}, {{0, 0, -0.9}, {1, 0.9, 0.9}}};
    for (int k = 0; k < 3; k++) {
        const double *c = cases[k].coupling, *expected = cases[k].r;
        const double W[] = {1, c[0], c[1], c[0], 1, c[2], c[1], c[2], 1};
        double q[3], r[3] = {0}, u[3], mu = 2;
        for (int i = 0; i < 3; i++)
            q[i] = -(W[i] * expected[0] + W[i + 3] * expected[1] + W[i + 6] * expected[2]);
        perp_fc p = {.nc = 1, .dimension = 3, .W = W, .ldw = 3, .q = q, .mu = &mu};
        perp_fc_options o = perp_fc_options_default();
        perp_fc_solver *solver;
        perp_fc_info info = {.size = sizeof info};
        o.prox.gauss_seidel = 1;
        assert_int_equal(perp_fc_solver_create(PERP_FC_PROX, &p, &o, &solver), PERP_OK);
        assert_int_equal(perp_fc_solve(solver, &p, r, u, &info), PERP_OK);
        assert_int_equal(info.outcome, PERP_SOLVED);
        assert_true(info.iterations < 1000 && info.error > 0.5 * o.tol);
        for (int i = 0; i < 3; i++) assert_near(r[i], expected[i], 1e-6);
        perp_fc_solver_destroy(solver);
    }
}

static void components_do_not_see_each_other(void **state)
{
    (void)state;
    contacts a = contacts_create(3, 3, 6, 0.4, 1e3, 0, 3),
             b = contacts_create(3, 4, 5, 0.7, 10, 0, 4);
    double *W = calloc(33 * 33, sizeof *W), q[33], mu[11], alone[18], r[33];
    int of_a[6] = {1, 2, 4, 7, 8, 10}, of_b[5] = {0, 3, 5, 6, 9};
    for (int m = 0; m < PERP_FC_METHOD_COUNT; m++) {
        solve((perp_fc_method)m, &a.dense, alone, NULL);
        for (double size = 1; size < 1e13; size *= 1e6) {
            for (int i = 0; i < 18; i++) {
                int at = 3 * of_a[i / 3] + i % 3;
                q[at] = a.dense.q[i], mu[at / 3] = a.dense.mu[i / 3];
                for (int j = 0; j < 18; j++)
                    W[at + 33 * (3 * of_a[j / 3] + j % 3)] = a.dense.W[i + 18 * j];
            }
            for (int i = 0; i < 15; i++) {
                int at = 3 * of_b[i / 3] + i % 3;
                q[at] = size * b.dense.q[i], mu[at / 3] = b.dense.mu[i / 3];
                for (int j = 0; j < 15; j++)
                    W[at + 33 * (3 * of_b[j / 3] + j % 3)] = b.dense.W[i + 15 * j] / size;
            }
            perp_fc both = {.dimension = 3, .nc = 11, .q = q, .mu = mu, .W = W, .ldw = 33};
            solve((perp_fc_method)m, &both, r, NULL);
            for (int i = 0; i < 18; i++) assert_true(r[3 * of_a[i / 3] + i % 3] == alone[i]);
        }
    }
    free(W);
    contacts_destroy(&a);
    contacts_destroy(&b);
}

static perp_fc_info solve_from(const perp_fc *problem, double aim, double *r)
{
    perp_fc_options o = perp_fc_options_default();
    perp_fc_solver *solver;
    perp_fc_info info = {.size = sizeof info};
    o.warm_start = 1;
    o.aim = aim;
    assert_int_equal(perp_fc_solver_create(PERP_FC_AUTO, problem, &o, &solver), PERP_OK);
    assert_int_equal(perp_fc_solve(solver, problem, r, NULL, &info), PERP_OK);
    perp_fc_solver_destroy(solver);
    return info;
}

/* The answer of the step before is a good guess: Newton alone goes on from it, and no further than rounding allows. */
static void a_near_guess_takes_few_steps(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed < 9; seed++) {
        contacts c = contacts_create(3, 6, 20, 0.4, 10, 0, seed);
        double *r = calloc(60, sizeof *r);
        perp_fc_info info = solve_from(&c.dense, 1e-3, r);
        assert_int_equal(info.outcome, PERP_SOLVED);
        info = solve_from(&c.dense, 1e-3, r);
        assert_int_equal(info.outcome, PERP_SOLVED);
        assert_true(info.error <= 1e-11 && info.iterations <= 3);
        double *q = (double *)c.dense.q;
        for (int i = 0; i < 60; i++) q[i] *= 1 + 1e-6 * (i % 5);
        info = solve_from(&c.dense, 1e-3, r);
        if (info.outcome != PERP_SOLVED || !(info.error <= 1e-11) || info.iterations > 6)
            fail_msg("seed %u: %s, error %g after %d", seed, perp_outcome_name(info.outcome),
                     info.error, info.iterations);
        info = solve_from(&c.dense, 1e-12, r);
        if (info.outcome != PERP_SOLVED || info.iterations > 100)
            fail_msg("seed %u, beyond rounding: %s after %d", seed, perp_outcome_name(info.outcome),
                     info.iterations);
        free(r);
        contacts_destroy(&c);
    }
}

/* From far guesses Newton ends anywhere, also just above what is asked for: then others go on. */
static void a_guess_that_leads_near_is_not_enough(void **state)
{
    (void)state;
    static const double tol[] = {1e-10, 1e-12, 1e-13};
    for (unsigned k = 0; k < 480; k++) {
        unsigned seed = k / 3 + 1;
        contacts c = contacts_create(3, seed % 2 ? 6 : 12, seed % 2 ? 20 : 15,
                                     0.4 + 0.3 * (seed % 3), seed % 5 ? 10 : 1e4, 0, seed);
        double r[60] = {0};
        perp_fc_options o = perp_fc_options_default();
        perp_fc_solver *solver;
        perp_fc_info info = {.size = sizeof info};
        o.warm_start = 1;
        o.tol = tol[k % 3];
        assert_int_equal(perp_fc_solver_create(PERP_FC_AUTO, &c.dense, &o, &solver), PERP_OK);
        assert_int_equal(perp_fc_solve(solver, &c.dense, r, NULL, &info), PERP_OK);
        assert_int_equal(info.outcome, PERP_SOLVED);
        for (int i = 0; i < 3 * c.dense.nc; i++) r[i] *= i * 7 % 5 - 1;
        assert_int_equal(perp_fc_solve(solver, &c.dense, r, NULL, &info), PERP_OK);
        if (info.outcome != PERP_SOLVED)
            fail_msg("seed %u: %s, error %g after %d", seed, perp_outcome_name(info.outcome),
                     info.error, info.iterations);
        perp_fc_solver_destroy(solver);
        contacts_destroy(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(projection_is_the_nearest_point_of_the_cone),
        cmocka_unit_test(one_contact_is_solved_for_random_blocks),
        cmocka_unit_test(a_contact_solved_roughly_again_and_again_is_solved),
        cmocka_unit_test(a_solver_knows_W_of_the_last_problem),
        cmocka_unit_test(one_contact_alone_takes_auto_one_step),
        cmocka_unit_test(a_block_that_is_not_positive_definite_is_not_claimed),
        cmocka_unit_test(a_particle_sticks_slides_and_flies),
        cmocka_unit_test(three_forms_of_W_give_the_same),
        cmocka_unit_test(pyramids_are_exact_in_the_plane_and_close_in_space),
        cmocka_unit_test(bad_input_is_said),
        cmocka_unit_test(the_limit_of_iterations_can_change),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(masses_and_jacobians_are_checked),
        cmocka_unit_test(a_problem_without_solution_is_not_claimed),
        cmocka_unit_test(a_solution_at_infinity_is_none),
        cmocka_unit_test(each_contact_is_judged_on_its_own_scale),
        cmocka_unit_test(impulses_are_judged_inside_their_cone),
        cmocka_unit_test(an_infinite_scale_decides_nothing),
        cmocka_unit_test(without_mobility_nothing_is_solved),
        cmocka_unit_test(sweeps_end_where_the_error_does),
        cmocka_unit_test(components_do_not_see_each_other),
        cmocka_unit_test(a_near_guess_takes_few_steps),
        cmocka_unit_test(a_guess_that_leads_near_is_not_enough),
    };
    return run_all(tests);
}
