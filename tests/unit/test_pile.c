/* Piles: the same laws as perp/friction.h, whose own code judges the answers; closed forms; units, threads, ties, bad input. */

#include "unit.h"

#include "perp/perp.h"
#include "spheres.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* W = J inv(M) J' of a pile as blocks, bias and velocities as q: the same problem in another form. */
typedef struct blocks {
    perp_fc fc;
    double *block, *q;
    int *row, *col;
} blocks;

static double coupling(const perp_pile *p, int i, int a, int j, int c)
{
    int d = p->dimension, k = p->dof;
    double sum = 0;
    for (int s = 0; s < 2; s++)
        for (int t = 0; t < 2; t++) {
            int b = p->body[2 * i + s];
            if (b < 0 || b != p->body[2 * j + t]) continue;
            const double *x = p->jacobian + ((2 * i + s) * d + a) * k,
                         *y = p->jacobian + ((2 * j + t) * d + c) * k,
                         *m = p->inverse_mass + b * k * k;
            for (int e = 0; e < k * k; e++) sum += x[e / k] * m[e] * y[e % k];
        }
    return sum;
}

static blocks make_blocks(const perp_pile *p)
{
    int d = p->dimension, k = p->dof, nc = p->nc, nb = 0;
    blocks to = {.block = malloc(sizeof(double) * (size_t)(nc * nc * d * d + 1)),
                 .q = calloc((size_t)(nc * d + 1), sizeof(double)),
                 .row = malloc(sizeof(int) * (size_t)(nc * nc + 1)),
                 .col = malloc(sizeof(int) * (size_t)(nc * nc + 1))};
    for (int i = 0; i < nc; i++) {
        for (int a = 0; a < d; a++) {
            double *q = to.q + i * d + a;
            *q = p->bias ? p->bias[i * d + a] : 0;
            for (int s = 0; s < 2; s++)
                for (int e = 0; e < k && p->body[2 * i + s] >= 0; e++)
                    *q += p->jacobian[((2 * i + s) * d + a) * k + e] *
                          p->velocity[p->body[2 * i + s] * k + e];
        }
        for (int j = 0; j < nc; j++) {
            int is_joined = i == j;
            for (int s = 0; s < 4; s++)
                is_joined |=
                    p->body[2 * i + s / 2] >= 0 && p->body[2 * i + s / 2] == p->body[2 * j + s % 2];
            if (!is_joined) continue;
            to.row[nb] = i, to.col[nb] = j;
            for (int e = 0; e < d * d; e++)
                to.block[nb * d * d + e] = coupling(p, i, e / d, j, e % d);
            nb++;
        }
    }
    to.fc = (perp_fc){.dimension = d,
                      .nc = nc,
                      .q = to.q,
                      .mu = p->mu,
                      .block = to.block,
                      .row = to.row,
                      .col = to.col,
                      .nb = nb};
    return to;
}

static void free_blocks(blocks *b)
{
    free(b->block);
    free(b->q);
    free(b->row);
    free(b->col);
}

/* What perp_fc says of these impulses. */
static double judged(const perp_pile *p, const double *r, double tol)
{
    blocks b = make_blocks(p);
    double *copy = malloc(sizeof(double) * (size_t)(p->nc * p->dimension + 1));
    memcpy(copy, r, sizeof(double) * (size_t)(p->nc * p->dimension));
    perp_fc_options o = perp_fc_options_default();
    perp_fc_solver *solver;
    perp_fc_info info = {.size = sizeof info};
    o.warm_start = 1, o.tol = tol;
    assert_int_equal(perp_fc_solver_create(PERP_FC_NSGS, &b.fc, &o, &solver), PERP_OK);
    assert_int_equal(perp_fc_solve(solver, &b.fc, copy, NULL, &info), PERP_OK);
    perp_fc_solver_destroy(solver);
    free(copy);
    free_blocks(&b);
    return info.iterations == 0 ? info.error : (double)INFINITY;
}

static perp_pile_info solve(const perp_pile *p, double tol, int threads, double *r, double *v)
{
    perp_pile_options o = perp_pile_options_default();
    perp_pile_info info = {.size = sizeof info};
    o.tol = tol, o.threads = threads;
    assert_int_equal(perp_pile_solve(p, &o, r, v, &info), PERP_OK);
    return info;
}

static void piles_of_spheres_agree_with_friction(void **state)
{
    (void)state;
    spheres s, two;
    assert_true(spheres_settle(60, 4, 500, 1, 7, &s));
    assert_true(spheres_repeat(&s, 2, 1, 3, &two));
    assert_true(s.pile.nc > 80);
    assert_int_equal(two.pile.nc, 2 * s.pile.nc);
    double *v = malloc(sizeof(double) * 6 * (size_t)two.pile.nbody);
    perp_pile_info info = solve(&two.pile, 1e-8, 1, two.r, v);
    assert_int_equal(info.outcome, PERP_SOLVED);
    assert_true(info.error <= 1e-8 && info.residual < 1e-8);
    assert_true(judged(&two.pile, two.r, 2e-8) <= 2e-8);
    for (int i = 0; i < two.pile.nc; i++) /* a solver that pushes too hard is seen */
        two.r[3 * i] *= 1.001;
    assert_true(judged(&two.pile, two.r, 2e-8) > 1e-5);
    free(v);
    spheres_free(&s);
    spheres_free(&two);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    spheres s, many;
    assert_true(spheres_settle(200, 5, 60, 1, 1, &s));
    assert_true(spheres_repeat(&s, 24, 24, 3, &many));
    size_t bytes = sizeof(double) * 3 * (size_t)many.pile.nc;
    double *r = malloc(bytes);
    perp_pile_options o = perp_pile_options_default();
    perp_pile_info one = {.size = sizeof one}, three = {.size = sizeof three};
    o.max_iter = 6;
    assert_int_equal(perp_pile_solve(&many.pile, &o, r, NULL, &one), PERP_OK);
    o.threads = 3;
    assert_int_equal(perp_pile_solve(&many.pile, &o, many.r, NULL, &three), PERP_OK);
    assert_memory_equal(r, many.r, bytes);
    assert_true(many.pile.nc / one.colours > 4096); /* from so many on threads share a colour */
    assert_true(one.error == three.error && one.outcome == PERP_LIMIT);
    free(r);
    spheres_free(&s);
    spheres_free(&many);
}

/* A point mass of two velocities on a slope: sticks where tan(slope) <= mu, else slides. Forces and masses in any unit. */
static void a_mass_on_a_slope_sticks_or_slides(void **state)
{
    (void)state;
    const double units[] = {1, 1e-12, 1e12};
    for (int m = 0; m < 3; m++)
        for (int t = 0; t < 3; t++)
            for (int steep = 0; steep < 2; steep++) {
                double mass = units[m], speed = units[t], slope = steep ? 0.6 : 0.4, mu = 0.5;
                double inverse[] = {1 / mass, 0, 0, 1 / mass};
                double free_v[] = {-speed, slope * speed}, r[2], v[2];
                double J[] = {1, 0, 0, 1, NAN, NAN, NAN, NAN}; /* the ground's are not read */
                int body[] = {0, -1};
                perp_pile p = {2, 2, 1, inverse, free_v, 1, body, J, NULL, &mu};
                perp_pile_info info = solve(&p, 1e-12, 1, r, v);
                assert_int_equal(info.outcome, PERP_SOLVED);
                assert_near(r[0] / (mass * speed), 1, 1e-12);
                assert_near(r[1] / (mass * speed), steep ? -0.5 : -0.4, 1e-12);
                assert_near(v[1] / speed, steep ? 0.1 : 0, 1e-12);
            }
}

/* n masses above each other on the ground, one velocity each; only the lowest contact has data. */
static void a_column_carries_its_weight(void **state)
{
    (void)state;
    enum { N = 90 };
    double free_v[3 * N], J[6 * 3 * N], mu[N] = {0}, r[3 * N];
    int body[2 * N];
    memset(J, 0, sizeof J);
    double full[9 * N] = {0};
    for (int i = 0; i < N; i++) {
        for (int a = 0; a < 3; a++) full[9 * i + 4 * a] = 1, free_v[3 * i + a] = a == 2 ? -1 : 0;
        body[2 * i] = i, body[2 * i + 1] = i - 1;
        J[18 * i + 2] = 1, J[18 * i + 9 + 2] = -1; /* normal upwards; tangents move nothing */
    }
    perp_pile p = {3, 3, N, full, free_v, N, body, J, NULL, mu};
    perp_pile_info info = solve(&p, 1e-10, 1, r, NULL);
    assert_int_equal(info.outcome, PERP_SOLVED);
    for (int i = 0; i < N; i++) assert_near(r[3 * i], N - i, 1e-4);
}

/* A plate that a hundred masses lie on: more contacts on a body than there are colours. */
static void a_body_may_have_many_contacts(void **state)
{
    (void)state;
    enum { N = 100 };
    double inverse[N + 1], free_v[N + 1], J[2 * 2 * (N + 1)], mu[N + 1], r[2 * (N + 1)];
    int body[2 * (N + 1)];
    for (int i = 0; i <= N; i++) {
        inverse[i] = 1, free_v[i] = -1, mu[i] = 0;
        body[2 * i] = i, body[2 * i + 1] = i == N ? -1 : N;
        const double own[] = {1, 0, -1, 0};
        memcpy(J + 4 * i, own, sizeof own);
    }
    perp_pile p = {2, 1, N + 1, inverse, free_v, N + 1, body, J, NULL, mu};
    perp_pile_info info = solve(&p, 1e-10, 2, r, NULL);
    assert_int_equal(info.outcome, PERP_SOLVED);
    assert_int_equal(info.colours, 64);
    assert_near(r[2 * N], N + 1, 1e-7);
}

static void what_cannot_hold_is_not_solved(void **state)
{
    (void)state;
    double inverse = 0, down = -1, up = 1, J[] = {1, 0, 0, 0}, mu = 0.3, r[2];
    int body[] = {0, -1};
    perp_pile p = {2, 1, 1, &inverse, &down, 1, body, J, NULL, &mu};
    perp_pile_info info = solve(&p, 1e-6, 1, r, NULL); /* nothing moves it, and it comes down */
    assert_int_equal(info.outcome, PERP_LIMIT);
    assert_int_equal(info.worst, 0);
    assert_true(info.error > 0.5);
    p.velocity = &up;
    info = solve(&p, 1e-6, 1, r, NULL);
    assert_int_equal(info.outcome, PERP_SOLVED);
    assert_true(r[0] == 0);
}

static void bad_input_is_said(void **state)
{
    (void)state;
    double inverse[] = {1, 1}, v[] = {-1, -1}, J[] = {1, 0, -1, 0}, mu = 0.3, r[2] = {0};
    int body[] = {0, 1};
    const perp_pile good = {2, 1, 2, inverse, v, 1, body, J, NULL, &mu};
    perp_pile_info info = {.size = sizeof info};
    assert_int_equal(solve(&good, 1e-6, 1, r, NULL).outcome, PERP_SOLVED);
    for (int k = 0; k < 6; k++) {
        double m[] = {1, 1}, jacobian[] = {1, 0, -1, 0}, friction = 0.3;
        int bodies[] = {0, 1};
        perp_pile p = good;
        p.inverse_mass = m, p.jacobian = jacobian, p.mu = &friction, p.body = bodies;
        if (k == 0) m[1] = -1;
        if (k == 1) jacobian[2] = NAN;
        if (k == 2) friction = -0.1;
        if (k == 3) bodies[1] = 0;
        if (k == 4) bodies[1] = 2;
        if (k == 5) bodies[0] = -1;
        assert_int_equal(solve(&p, 1e-6, 1, r, NULL).outcome, PERP_BAD_INPUT);
    }
    perp_pile p = good;
    perp_pile_options o = perp_pile_options_default();
    p.dof = 7;
    assert_int_equal(perp_pile_solve(&p, NULL, r, NULL, &info), PERP_ERR_ARG);
    assert_int_equal(perp_pile_solve(&good, NULL, NULL, NULL, &info), PERP_ERR_ARG);
    o.tol = 0;
    assert_int_equal(perp_pile_solve(&good, &o, r, NULL, &info), PERP_ERR_ARG);
    p = good, p.nc = 0;
    assert_int_equal(perp_pile_solve(&p, NULL, NULL, NULL, &info), PERP_OK);
    assert_int_equal(info.outcome, PERP_SOLVED);
}

static int stop_at_once(void *context, int iterations, double error)
{
    *(int *)context = iterations;
    return error > 0;
}

static void a_solve_can_be_stopped(void **state)
{
    (void)state;
    spheres s;
    assert_true(spheres_settle(100, 4, 60, 1, 1, &s));
    perp_pile_options o = perp_pile_options_default();
    perp_pile_info info = {.size = sizeof info};
    int at = 0;
    o.tol = 1e-9, o.progress = stop_at_once, o.context = &at;
    assert_int_equal(perp_pile_solve(&s.pile, &o, s.r, NULL, &info), PERP_OK);
    assert_int_equal(info.outcome, PERP_LIMIT);
    assert_int_equal(info.iterations, at);
    assert_true(info.bytes > 1000);
    assert_true(info.bytes > sizeof(double) * 36 * (size_t)s.pile.nc); /* Jacobians are copied */
    spheres_free(&s);
}

/* One contact whose velocities and impulses come near the range of double: what is called solved has numbers. */
static void what_leaves_the_range_of_double_is_not_claimed(void **state)
{
    (void)state;
    static const double biases[] = {1e200, 1e300, 1e308, -1e300}, inverse_mass[] = {3, 0, 0, 3},
                        velocity[] = {-1, 0}, mu[] = {2}, jacobian[] = {3, 0, 1, -3, 0, 0, 0, 0};
    const int body[] = {0, -1};
    for (int k = 0; k < 8; k++) {
        double bias[] = {1e-154, biases[k / 2]}, r[2] = {0}, v[2];
        perp_pile p = {.dimension = 2,
                       .dof = 2,
                       .nbody = 1,
                       .inverse_mass = inverse_mass,
                       .velocity = velocity,
                       .nc = 1,
                       .body = body,
                       .jacobian = jacobian,
                       .bias = bias,
                       .mu = mu};
        perp_pile_options o = perp_pile_options_default();
        perp_pile_info info = {.size = sizeof info};
        o.max_iter = k % 2 ? 10 : 1000;
        assert_int_equal(perp_pile_solve(&p, &o, r, v, &info), PERP_OK);
        if (info.outcome == PERP_SOLVED && !(isfinite(r[0]) && isfinite(r[1])))
            fail_msg("bias %g: solved by %g, %g", bias[1], r[0], r[1]);
    }
}

/* A velocity beyond the range of double is not taken for rounding beside a contact that opens at nearly as much. */
static void what_closes_beyond_the_range_of_double_is_not_claimed(void **state)
{
    (void)state;
    static const double inverse_mass[] = {1, 0, 0, 1}, velocity[] = {-1e190, 0}, mu[] = {0, 0},
                        jacobian[] = {1e120, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0},
                        bias[] = {0, 0, 1e307, 0};
    const int body[] = {0, -1, 0, -1};
    double r[4] = {0}, v[2];
    perp_pile p = {.dimension = 2,
                   .dof = 2,
                   .nbody = 1,
                   .inverse_mass = inverse_mass,
                   .velocity = velocity,
                   .nc = 2,
                   .body = body,
                   .jacobian = jacobian,
                   .bias = bias,
                   .mu = mu};
    perp_pile_options o = perp_pile_options_default();
    perp_pile_info info = {.size = sizeof info};
    assert_int_equal(perp_pile_solve(&p, &o, r, v, &info), PERP_OK);
    assert_int_equal(info.outcome, PERP_LIMIT);
    assert_true(isinf(info.error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(piles_of_spheres_agree_with_friction),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(a_mass_on_a_slope_sticks_or_slides),
        cmocka_unit_test(a_column_carries_its_weight),
        cmocka_unit_test(a_body_may_have_many_contacts),
        cmocka_unit_test(what_cannot_hold_is_not_solved),
        cmocka_unit_test(bad_input_is_said),
        cmocka_unit_test(a_solve_can_be_stopped),
        cmocka_unit_test(what_leaves_the_range_of_double_is_not_claimed),
        cmocka_unit_test(what_closes_beyond_the_range_of_double_is_not_claimed),
    };
    return run_all(tests);
}
