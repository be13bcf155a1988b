/* A guard that is on its bound, and stays there since what it guards keeps it: a contact under its own gap is the contact without the guard. */

#include "runs.h"
#include "outcomes.h"

#include <math.h>

typedef struct scene {
    const char *body,
        *guard; /* with C, FORCE and START; and what the pair has in the one run and not in the other */
    int nstate;
} scene;

static const scene scenes[] = {
    {"var p\nder(x) = v\nm*der(v) = FORCE + p\n0 <= p perp x - c >= 0", "when x >= c", 2},
    {"var p\nder(x) = v\nm*der(v) = FORCE + p\n0 <= p perp 2*(x - c) >= 0", "when x - c >= 0", 2},
    {"var p\nder(x) = v\nm*der(v) = FORCE + p\n0 <= p perp x - c >= 0",
     "when 3*x >= 3*c and t >= 0", 2},
    {"var p\nder(x) = v\nm*der(v) = FORCE + p - 0.5*(x - c)\n0 <= p perp x - c >= 0", "when c <= x",
     2},
    {"state y = c, w = 0\nvar p\nder(x) = v\nm*der(v) = FORCE + p\nder(y) = w\nder(w) = -p - (y - "
     "c)\n"
     "0 <= p perp x - y >= 0",
     "when x >= y", 4},
};
static const char *const forces[] = {
    "(t - 0.5)", "(0.5 - t)", "(t - 0.31)", "-0.4", "(0.7*sin(3*t) - 0.1)", "cos(2*t)", "0"};
static const double bounds[] = {0, 0.1, 0.3, -0.7, 1.1, 12.5, 123.456};
static const double starts[][2] = {{0, 0}, {0, 0.4}, {0, -0.4}, {0.2, 0}, {1, 0}};

#define COUNT(x) (sizeof(x) / sizeof *(x))

/* Under a sanitizer a run takes many times as long. */
#ifdef __SANITIZE_ADDRESS__
enum { RANDOM = 60, EACH = 7 };
#else
enum { RANDOM = 300, EACH = 1 };
#endif

/* The states at the end, and how many steps a method left to backward Euler. */
static void end_of(const char *text, perp_integrator method, double step, int n, double *x,
                   long *left)
{
    perp_model *model = parse_model(text);
    perp_simulation_options o = perp_simulation_options_default(model);
    perp_simulation *sim;
    perp_diag diag = {0};
    o.integrator = method, o.step = step, o.to = 2.1;
    if (perp_simulation_create(model, &o, &sim, &diag) != PERP_OK ||
        simulation_run(sim, NULL, NULL, &diag) != PERP_OK)
        fail_msg("%s\n%s: %s", text, perp_integrator_name(method), perp_diag_text(&diag));
    for (int i = 0; i < n; i++) x[i] = perp_simulation_state(sim, i);
    *left = perp_simulation_fallback_steps(sim, NULL);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

static void write_model(char *text, size_t size, const scene *k, const char *force, double c,
                        double m, const double *start, const char *guard)
{
    const char *at = strstr(k->body, "FORCE");
    snprintf(text, size,
             "param c = %.17g, m = %.17g\nstate x = c + %.17g, v = %.17g\n%.*s%s%s %s\nsimulate to "
             "2.1 step 0.01\n",
             c, m, start[0], start[1], (int)(at - k->body), k->body, force, at + strlen("FORCE"),
             guard);
}

static void a_contact_under_its_own_gap_is_one(void **state)
{
    (void)state;
    static const struct {
        perp_integrator method;
        double step, off;
    } methods[] = {{PERP_RADAU3, 0.01, 1e-3},          {PERP_RADAU5, 0.01, 1e-8},
                   {PERP_RADAU5, 0.03, 1e-7},          {PERP_RADAU7, 0.03, 1e-7},
                   {PERP_BACKWARD_EULER, 0.007, 1e-9}, {PERP_THETA, 0.007, 1e-9}};
    long runs = 0, by_euler[2] = {0};
    for (size_t i = 0; i < COUNT(scenes) * COUNT(forces) * COUNT(bounds) * COUNT(starts);
         i += EACH) {
        const scene *k = &scenes[i % COUNT(scenes)];
        const char *force = forces[i / COUNT(scenes) % COUNT(forces)];
        double c = bounds[i / COUNT(scenes) / COUNT(forces) % COUNT(bounds)];
        const double *start = starts[i / COUNT(scenes) / COUNT(forces) / COUNT(bounds)];
        double m = i % 3 == 0 ? 0.3 : (double)(i % 3);
        for (size_t j = 0; j < COUNT(methods); j++) {
            char text[2][1024];
            double x[2][4];
            long left[2];
            for (int guarded = 0; guarded < 2; guarded++) {
                write_model(text[guarded], sizeof text[guarded], k, force, c, m, start,
                            guarded ? k->guard : "");
                end_of(text[guarded], methods[j].method, methods[j].step, k->nstate, x[guarded],
                       &left[guarded]);
            }
            double off = left[0] || left[1] ? 0.01 : methods[j].off; /* of order 1 there */
            for (int s = 0; s < k->nstate; s++)
                if (!(fabs(x[0][s] - x[1][s]) <= off * (1 + fabs(x[0][s]))))
                    fail_msg("%s\n%s, step %g: state %d is %.12g, without the guard %.12g", text[1],
                             perp_integrator_name(methods[j].method), methods[j].step, s, x[1][s],
                             x[0][s]);
            runs++, by_euler[0] += left[0] > 0, by_euler[1] += left[1] > 0;
        }
    }
    print_message("%ld runs as without their guards; steps left to backward Euler in %ld, and in "
                  "%ld without\n",
                  runs, by_euler[1], by_euler[0]);
    assert_true(by_euler[1] <= runs / 100);
}

/* A guard that touches its bound and does not cross it, on a stop that moves or stands: a mass that is on it is held, and let go, as by one that is crossed. One that comes back
 * to it may pass between two points of a step: perp check says so (tests/cli/test_check.c). */
static void a_guard_that_touches_its_bound_holds_there(void **state)
{
    (void)state;
    static const char *const guards[] = {"x <= y", "(x - y)^2 <= 0", "(x - y)*(x - y) <= 0",
                                         "-(x - y)^4 >= 0 and t >= 0"};
    static const perp_integrator methods[] = {PERP_RADAU3, PERP_RADAU5, PERP_RADAU7};
    static const double steps[] = {0.05, 0.02, 0.007};
    static const char *const away[] = {"(t - 0.5)", "(t - 0.31)", "-0.4", "0", "t^2"};
    long runs = 0;
    for (size_t i = 0; i < COUNT(away) * COUNT(bounds) * 2 * 3 * 3; i += EACH) {
        const char *force = away[i % COUNT(away)];
        double c = bounds[i / COUNT(away) % COUNT(bounds)];
        size_t k = i / COUNT(away) / COUNT(bounds);
        double wave = k % 2 ? 0.05 : 0, x[4];
        for (int g = 0; g < 4; g++) {
            char text[512];
            long left;
            snprintf(text, sizeof text,
                     "param c = %.17g\nstate x = %.17g, v = 0\nvar p\nlet y = c + %g*(1 - cos(t))\n"
                     "let w = %g*sin(t)\nder(x) = v\nder(v) = p + 3*%s - 0.5\n"
                     "0 <= p perp v - w >= 0 when %s\nsimulate to 2.1 step 0.01\n",
                     c, c, wave, wave, force, guards[g]);
            end_of(text, methods[k / 2 % 3], steps[k / 6], 1, &x[g], &left);
            if (!(fabs(x[g] - x[0]) <= 1e-6 * (1 + fabs(x[0]))) || left > 0)
                fail_msg("%s\n%s, step %g: x is %.12g, for %.12g by %s; left %ld", text,
                         perp_integrator_name(methods[k / 2 % 3]), steps[k / 6], x[g], x[0],
                         guards[0], left);
            runs++;
        }
    }
    print_message("%ld runs\n", runs);
}

/* Models that begin on the bound of a guard or come to it; whatever is told of derivatives must agree with differences of runs. */
static const char *const laws[] = {
    "0 <= p perp x - c >= 0 when x >= c",
    "0 <= p perp 2*(x - c) >= 0 when x - c >= 0",
    "0 <= p perp v + e*pre(v) >= 0 when x <= c",
    "-mu <= p <= mu perp v when x <= c",
    "-mu <= p <= mu perp v when x >= c",
    "0 <= p perp v >= 0 when (x - c)*(x - c) <= 0",
    "0 <= p perp x - c >= 0 when (x - c)*(x - c) <= 0",
};
static const char *const names[] = {"c", "m", "e", "mu", "x", "v"};

enum { NAMES = 6 };

static unsigned long seed;

static int pick(size_t n)
{
    seed = seed * 6364136223846793005UL + 1442695040888963407UL;
    return (int)((seed >> 33) % n);
}

static void write_random(char *text, size_t size)
{
    static const double masses[] = {1, 2, 0.3}, restitution[] = {0.2, 0.5, 0.8};
    const char *force = forces[pick(COUNT(forces))], *law = laws[pick(COUNT(laws))];
    double c = bounds[pick(COUNT(bounds))], x = pick(2) ? 0 : 0.2 * (1 - 2 * pick(2));
    snprintf(
        text, size,
        "param c = %.17g, m = %g, e = %g, mu = 0.3\nstate x = %.17g, v = %g\nvar p\nder(x) = v\n"
        "m*der(v) = %s + p%s\n%s\nsimulate to 1.2 step %s\n",
        c, masses[pick(COUNT(masses))], restitution[pick(COUNT(restitution))], c + x,
        pick(2) ? 0.0 : 0.4 * (1 - 2 * pick(2)), force, pick(3) ? "" : " - 0.5*(x - c)", law,
        pick(2) ? "0.01" : "0.03");
}

static int end_at(const char *text, perp_integrator method, const char *name, double d, double x[2])
{
    perp_model *model = parse_model(text);
    perp_simulation_options o = perp_simulation_options_default(model);
    perp_simulation *sim = NULL;
    o.integrator = method;
    perp_symbol_kind kind;
    int k;
    assert_true(perp_model_find(model, name, &kind, &k));
    set_value(model, name, perp_model_symbol(model, kind, k).value + d);
    int ok = perp_simulation_create(model, &o, &sim, NULL) == PERP_OK &&
             simulation_run(sim, NULL, NULL, NULL) == PERP_OK;
    for (int i = 0; i < 2 && ok; i++) x[i] = perp_simulation_state(sim, i);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    return ok;
}

/* The nearest to what was told of a few differences to one side; infinite where none is. */
static double differs_by(const char *text, perp_integrator method, const char *name, int sign,
                         int state, double at, double told)
{
    double least = (double)INFINITY;
    for (double d = 1e-5; d > 5e-8; d /= 10) {
        double x[2];
        if (end_at(text, method, name, sign * d, x))
            least = fmin(least, fabs((x[state] - at) / (sign * d) - told));
    }
    return least;
}

/* What is told of derivatives by these methods agrees with differences. least: of each hundred names, how many are two-sided. */
static void check_derivatives(size_t nmethod, const perp_integrator *methods, long least)
{
    long count[PERP_DERIVATIVE_KIND_COUNT] = {0};
    seed = 1;
    for (int i = 0; i < RANDOM; i++) {
        char text[1024];
        double row[64], now[16];
        perp_integrator method = methods[pick(nmethod)];
        write_random(text, sizeof text);
        perp_model *model = parse_model(text);
        perp_simulation_options o = perp_simulation_options_default(model);
        perp_simulation *sim;
        o.integrator = method;
        assert_int_equal(perp_simulation_create(model, &o, &sim, NULL), PERP_OK);
        assert_int_equal(perp_simulation_follow(sim, NAMES, names, NULL), PERP_OK);
        assert_int_equal(simulation_run(sim, NULL, NULL, NULL), PERP_OK);
        int n = perp_simulation_columns(sim),
            is_known = perp_simulation_derivatives(sim, row) == PERP_OK;
        assert_true(n * NAMES <= 64);
        perp_simulation_row(sim, now);
        for (int j = 0; j < NAMES; j++) {
            perp_derivative_kind kind = perp_simulation_derivative_kind(sim, j, NULL);
            count[kind]++;
            for (int s = 0; s < 4 && is_known && kind >= PERP_DERIVATIVE_INCREASE &&
                            kind != PERP_DERIVATIVE_OF_STEPS;
                 s++) {
                int sign = s % 2 ? 1 : -1, x = s / 2;
                if (kind == (sign > 0 ? PERP_DERIVATIVE_DECREASE : PERP_DERIVATIVE_INCREASE))
                    continue;
                double told = row[j * n + 1 + x],
                       off = differs_by(text, method, names[j], sign, x, now[1 + x], told);
                if (off > 2e-3 * (1 + fabs(told)))
                    fail_msg(
                        "%s\n%s: d %s / d %s is said to be %g, %s; a difference to %d is off by %g",
                        text, perp_integrator_name(method), x ? "v" : "x", names[j], told,
                        perp_derivative_kind_name(kind), sign, off);
            }
        }
        perp_simulation_destroy(sim);
        perp_model_destroy(model);
    }
    for (int k = 0; k < PERP_DERIVATIVE_KIND_COUNT; k++)
        print_message("%s %ld, ", perp_derivative_kind_name((perp_derivative_kind)k), count[k]);
    print_message("none of them contradicted\n");
    assert_true(100 * count[PERP_DERIVATIVE_DIFFERENTIABLE] > least * NAMES * RANDOM);
}

static void what_is_told_of_derivatives_is_so(void **state)
{
    (void)state;
    static const perp_integrator methods[] = {PERP_RADAU3, PERP_RADAU5, PERP_RADAU7};
    check_derivatives(COUNT(methods), methods, 50);
}

static void what_fixed_steps_tell_of_derivatives_is_so(void **state)
{
    (void)state;
    static const perp_integrator methods[] = {PERP_BACKWARD_EULER, PERP_THETA};
    check_derivatives(COUNT(methods), methods, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_contact_under_its_own_gap_is_one),
        cmocka_unit_test(a_guard_that_touches_its_bound_holds_there),
        cmocka_unit_test(what_is_told_of_derivatives_is_so),
        cmocka_unit_test(what_fixed_steps_tell_of_derivatives_is_so)};
    return run_all(tests);
}
