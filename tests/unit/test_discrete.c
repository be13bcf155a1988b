/* Models of `next`: a step is whole, and contacts by impulses hold as those of a continuous model do. */

#include "runs.h"
#include "outcomes.h"

#include <math.h>
#include <stdio.h>

enum { DRAWS = 60 };

static unsigned long long seed = 7;

static double draw(double lo, double hi)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return lo + (hi - lo) * (double)(seed >> 11) / 9007199254740992.0;
}

/* A slab on two contacts a apart, of gyration j, pushed below friction: it rests, so that
 * p1 + p2 = g h and f1 + f2 = -h F(t). */
static void write_slab(char *text, size_t room, double mu, double push, double a, double j)
{
    snprintf(text, room,
             "param g = 9.81\nstate k = 0\nnext(k) = k + 1\nstate u = 0, v = 0, w = 0\n"
             "var p[2], f[2]\nnext(u) - u = h*%.17g*sin(7*t) + f[1] + f[2]\n"
             "next(v) - v = -h*g + p[1] + p[2]\n"
             "%.17g*(next(w) - w) = -%.17g*p[1] + %.17g*p[2] + 0.1*(f[1] + f[2])\n"
             "0 <= p[1] perp next(v) - %.17g*next(w) >= 0\n"
             "-%.17g*p[1] <= f[1] <= %.17g*p[1] perp next(u) + 0.1*next(w)\n"
             "0 <= p[2] perp next(v) + %.17g*next(w) >= 0\n"
             "-%.17g*p[2] <= f[2] <= %.17g*p[2] perp next(u) + 0.1*next(w)\n"
             "simulate to 1 step 0.01\n",
             push, j, a, a, a, mu, mu, a, mu, mu);
}

static double sum(const run *r, long row, const char *format, int n)
{
    double total = 0;
    char name[16];
    for (int i = 1; i <= n; i++) {
        snprintf(name, sizeof name, format, i);
        total += at(r, row, name);
    }
    return total;
}

static void slabs_at_rest_stick(void **state)
{
    (void)state;
    for (int k = 0; k < DRAWS; k++) {
        char text[2000];
        double mu = draw(0.1, 0.8), push = draw(0, 0.9) * mu * 9.81;
        write_slab(text, sizeof text, mu, push, draw(0.3, 1), draw(0.05, 0.5));
        run r = run_model(parse_model(text), 0, 0);
        assert_int_equal(r.nrow, 101);
        for (long i = 1; i < r.nrow; i++) {
            assert_near(at(&r, i, "k"), (double)i, 0);
            assert_near(sum(&r, i, "p[%d]", 2), 0.0981, 1e-10);
            assert_near(sum(&r, i, "f[%d]", 2), -0.01 * push * sin(7 * at(&r, i, "t")), 1e-10);
            assert_near(at(&r, i, "u"), 0, 1e-12);
        }
        assert_int_equal(simulation_summary(r.sim).divided, 0);
        free_run(&r);
    }
}

/* A block on four legs with exact cones; its weight is carried whatever the push along x and y. */
static const char legs[] =
    "param mu = 0.5, g = 9.81, push = 1\nstate k = 0, v[3] = 0, w[3] = 0\n"
    "var p[4], a[4], b[4]\nparam x[4] = [-0.5, -0.5, 0.5, 0.5], y[4] = [-0.5, 0.5, 0.5, -0.5]\n"
    "next(k) = k + 1\nnext(v[1]) - v[1] = h*push*sin(3*t) + sum(i in 1..4, a[i])\n"
    "next(v[2]) - v[2] = h*push*cos(5*t) + sum(i in 1..4, b[i])\n"
    "next(v[3]) - v[3] = -h*g + sum(i in 1..4, p[i])\n"
    "0.1*(next(w[1]) - w[1]) = sum(i in 1..4, y[i]*p[i] + 0.5*b[i])\n"
    "0.1*(next(w[2]) - w[2]) = sum(i in 1..4, -x[i]*p[i] - 0.5*a[i])\n"
    "0.2*(next(w[3]) - w[3]) = sum(i in 1..4, x[i]*b[i] - y[i]*a[i])\n"
    "for i in 1..4 {\n 0 <= p[i] perp next(v[3]) + y[i]*next(w[1]) - x[i]*next(w[2]) >= 0\n"
    " friction(f = [a[i], b[i]], v = [next(v[1]) - 0.5*next(w[2]) - y[i]*next(w[3]),"
    " next(v[2]) + 0.5*next(w[1]) + x[i]*next(w[3])], bound = mu*p[i], facets = exact)\n}\n"
    "simulate to 0.2 step 0.001\n";

static void legs_carry_the_weight(void **state)
{
    (void)state;
    static const double pushes[] = {0.1, 1, 2.5, 5};
    for (int k = 0; k < 4; k++) {
        perp_model *m = parse_model(legs);
        set_value(m, "push", pushes[k]);
        run r = run_model(m, 0, 0);
        assert_int_equal(r.nrow, 201);
        for (long i = 1; i < r.nrow; i++) {
            assert_near(at(&r, i, "k"), (double)i, 0);
            assert_near(sum(&r, i, "p[%d]", 4), 9.81e-3, 1e-10);
        }
        free_run(&r);
    }
}

/* y = x + h y^2 has no solution beyond h = 1/(4 x): the rule of a continuous model is taken in halves,
 * and said; the step of a discrete model is not. */
static void only_continuous_steps_have_halves(void **state)
{
    (void)state;
    run r = run_model(parse_model("state x = 1\nder(x) = x*x\n"
                                  "simulate { to 0.3 step 0.3 method backward-euler }\n"),
                      0, 0);
    assert_int_equal(simulation_summary(r.sim).divided, 1);
    free_run(&r);
    perp_diag diag = {0};
    perp_simulation *sim;
    perp_model *m =
        parse_model("state x = 1\nnext(x) = x + h*next(x)^2\nsimulate to 0.3 step 0.3\n");
    assert_int_equal(perp_simulation_create(m, NULL, &sim, &diag), PERP_OK);
    assert_int_equal(simulation_step(sim, NULL, &diag), PERP_ERR_NO_SOLUTION);
    assert_null(strstr(perp_diag_text(&diag), "h/"));
    assert_int_equal(simulation_summary(sim).steps, 0);
    perp_simulation_destroy(sim);
    perp_model_destroy(m);
    perp_diag_clear(&diag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(slabs_at_rest_stick),
                                       cmocka_unit_test(legs_carry_the_weight),
                                       cmocka_unit_test(only_continuous_steps_have_halves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
