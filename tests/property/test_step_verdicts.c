/* Verdicts of steps do not change with what stands beside them, nor with units (docs/adr/008-verdicts.md). */

#include "runs.h"
#include "simulate/step.h"
#include "unit.h"
#include "outcomes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Run the text; the status of the run, and how many steps it took. */
static perp_status status_of(const char *text, long *steps, char *message)
{
    perp_diag diag = {0};
    perp_model *model = parse_model(text);
    perp_simulation_options o = perp_simulation_options_default(model);
    perp_simulation *sim;
    perp_status status = perp_simulation_create(model, &o, &sim, &diag);
    *steps = 0;
    if (status == PERP_OK) {
        status = simulation_run(sim, NULL, NULL, &diag);
        *steps = simulation_summary(sim).steps;
        perp_simulation_destroy(sim);
    }
    snprintf(message, 400, "%s", perp_diag_text(&diag));
    perp_diag_clear(&diag);
    perp_model_destroy(model);
    return status;
}

/* The walls leave no room from t = 0.1 on, whatever the valve beside them opens at. */
static void walls_crush_a_block_whatever_stands_beside(void **state)
{
    (void)state;
    static const char *const opens[] = {"0", "1", "1e5", "1e7", "1e9", "1e14"};
    for (int k = 0; k < 6; k++) {
        char text[600], message[400];
        long steps;
        snprintf(text, sizeof text,
                 "param popen = %s\nstate x = 0.0005, v = 0\nvar q, l1, l2\nder(x) = v\n"
                 "der(v) = l1 - l2\n0 <= q perp 1e9*q - popen >= 0\n0 <= l1 perp x - 0.01*t >= 0\n"
                 "0 <= l2 perp 0.001 - x >= 0\nsimulate to 0.3 step 0.01\n",
                 opens[k]);
        assert_int_equal(status_of(text, &steps, message), PERP_ERR_NO_SOLUTION);
        assert_int_equal(steps, 10);
        assert_non_null(strstr(message, "infeasible"));
        assert_non_null(strstr(message, "0.001 - x"));
    }
}

static void a_large_constant_beside_falling_balls_changes_no_bit(void **state)
{
    (void)state;
    static const char text[] =
        "param K = 1\nstate z[3] = [1, 2, 3]\nstate v[3] = 0\nvar p[3], big\n"
        "for i in 1..3 {\nder(z[i]) = v[i]\nder(v[i]) = p[i] - 9.81\n0 <= p[i] perp z[i] >= 0\n}\n"
        "big = K\nsimulate to 2 step 1e-2\n";
    run one = run_model(parse_model(text), 0, 0);
    for (double K = 1e6; K < 1e19; K *= 1e4) {
        perp_model *model = parse_model(text);
        set_value(model, "K", K);
        run r = run_model(model, 0, 0);
        assert_int_equal(r.nrow, one.nrow);
        for (long i = 0; i < r.nrow; i++) {
            assert_memory_equal(r.value + i * r.ncolumn, one.value + i * r.ncolumn,
                                7 * sizeof(double)); /* t, z, v */
            if (i > 0) assert_near(at(&r, i, "big"), K, 0);
        }
        assert_true(last(&r, "z[1]") >= 0);
        free_run(&r);
    }
    free_run(&one);
}

static void a_force_on_a_dam_hides_no_row_without_solution(void **state)
{
    (void)state;
    char text[400], message[400];
    long steps;
    for (double F = 1; F < 1e17; F *= 1e4) {
        snprintf(text, sizeof text,
                 "state x = 0, v = 0\nvar N, f, q\nder(x) = v\n5*der(v) = 20 + f\n"
                 "0 <= N perp N - %g >= 0\n-24.5 <= f <= 24.5 perp v\n0 <= q perp -q - 1 >= 0\n"
                 "simulate to 1 step 0.01\n",
                 F);
        assert_int_equal(status_of(text, &steps, message), PERP_ERR_NO_SOLUTION);
        assert_int_equal(steps, 0);
        assert_non_null(strstr(message, "test.perp:7:"));
    }
}

/* Pushed by a ramp, whatever its mass: it slips from t = 0.3 on, and goes as far. */
static void the_mass_of_a_block_changes_no_verdict(void **state)
{
    (void)state;
    static const char text[] =
        "param m = 1, mu = 0.6, g = 9.81\ninput u = m*20*t\nstate x = 0, v = 0\nvar f\n"
        "der(x) = v\nm*der(v) = u + f\n-mu*m*g <= f <= mu*m*g perp v\n"
        "simulate to 2 step 1e-3\n";
    run one = run_model(parse_model(text), 0, 0);
    for (int k = -240; k <= 240; k += 20) { /* powers of two: the same bits */
        perp_model *model = parse_model(text);
        set_value(model, "m", ldexp(1, k));
        run r = run_model(model, 0, 0);
        for (long i = 0; i < r.nrow; i++) {
            assert_near(at(&r, i, "x"), at(&one, i, "x"), 0);
            assert_near(at(&r, i, "v"), at(&one, i, "v"), 0);
        }
        free_run(&r);
    }
    for (int k = -20; k <= 20; k += 2) {
        perp_model *model = parse_model(text);
        set_value(model, "m", pow(10, k));
        run r = run_model(model, 0, 0);
        assert_near(last(&r, "x"), last(&one, "x"), 1e-11);
        free_run(&r);
    }
    free_run(&one);
}

/* A pendulum held by positions: its force is a difference of positions over h^2. */
static void position_level_constraints_run_at_small_steps(void **state)
{
    (void)state;
    static const char text[] =
        "state x = 1, y = 0, u = 0, v = 0\nvar s\nder(x) = u\nder(y) = v\nder(u) = -s*x\n"
        "der(v) = -s*y - 9.81\nx^2 + y^2 = 1\nsimulate to 0.1 step 1e-2\n";
    for (double h = 1e-3; h > 1e-6; h /= 10) {
        run r = run_model(parse_model(text), 100 * h, h);
        assert_near(hypot(last(&r, "x"), last(&r, "y")), 1, 1e-15);
        free_run(&r);
    }
}

static void steps_that_move_nothing_are_refused(void **state)
{
    (void)state;
    char message[400];
    long steps;
    assert_int_equal(
        status_of("state x = 1, v = 1\nder(x) = v\nder(v) = -x\nsimulate to 1e-298 step 1e-300\n",
                  &steps, message),
        PERP_ERR_NO_SOLUTION);
    assert_int_equal(steps, 0);
    assert_non_null(strstr(message, "below the resolution"));
}

/* A box on the ground whose speeds are rounding: that these move nothing says nothing of the step. */
static void what_stands_is_no_step_below_the_resolution(void **state)
{
    (void)state;
    char message[400];
    long steps;
    assert_int_equal(
        status_of("use \"planar\"\nparam a = 0.05\nGround floor\n"
                  "Body box(m = 1, J = 1/600, z = a)\nPointLine left(floor, box, -a, -a)\n"
                  "PointLine right(floor, box, a, -a)\nsimulate to 0.02 step 2e-3 method radau5\n",
                  &steps, message),
        PERP_OK);
    assert_int_equal(steps, 10);
}

/* What stands alone must be an exact 0; a sum that cancels, a 0 of its terms. */
static void equations_without_a_scale_are_not_solved(void **state)
{
    (void)state;
    char message[400];
    long steps;
    assert_int_equal(
        status_of("state x = 0\nvar y\nder(x) = 1\nexp(y) = 0\nsimulate to 1 step 0.1\n", &steps,
                  message),
        PERP_ERR_NO_SOLUTION);
    assert_int_equal(
        status_of("state x = 1, z = 2\nder(x) = 0*log(z)\nder(z) = -1\nsimulate to 4 step 0.5\n",
                  &steps, message),
        PERP_ERR_NO_SOLUTION);
    assert_int_equal(steps, 3); /* then log(0): not a number */
    run r = run_model(
        parse_model("state x = 0\nvar y\nder(x) = 1\n1e-12*(y - 3) = 0\nsimulate to 1 step 0.1\n"),
        0, 0);
    assert_near(last(&r, "y"), 3, 1e-14);
    free_run(&r);
}

/* A pipe whose pump stands from t = 1 on: R q |q| = 0, and nothing says how small a flow counts as none. The message does,
 * by a scale with which it runs. In small units of the flow, too. */
static void what_nothing_gives_a_scale_is_refused_and_can_be_declared(void **state)
{
    (void)state;
    static const char *const laws[] = {"q*abs(q)", "abs(q)^1.5*sign(q)"};
    for (int k = 0; k < 2; k++)
        for (double unit = 1e-9; unit < 10; unit *= 1e9) {
            char text[300], message[600], declared[40] = "";
            double R = pow(unit, k == 0 ? -2 : -1.5);
            long steps;
            for (int is_declared = 0; is_declared < 2; is_declared++) {
                snprintf(text, sizeof text,
                         "input p = max(0, 1 - t)\nstate V = 0\nvar q %s\n%.17g*der(V) = q\n"
                         "%.17g*%s = p\nsimulate to 2 step 0.125\n",
                         declared, unit, R, laws[k]);
                perp_status status = status_of(text, &steps, message);
                assert_int_equal(status, is_declared ? PERP_OK : PERP_ERR_NO_SOLUTION);
                assert_int_equal(steps, is_declared ? 16 : 7);
                const char *offer = strstr(message, "'scale ");
                if (is_declared) break;
                assert_non_null(strstr(message, "all its terms vanish with 'q'"));
                assert_non_null(offer);
                snprintf(declared, sizeof declared, "%.*s", (int)strcspn(offer + 1, "'"),
                         offer + 1);
            }
            run r = run_model(parse_model(text), 0, 0);
            assert_true(fabs(last(&r, "q")) < 1e-3 * unit && at(&r, 4, "q") > 0.1 * unit);
            free_run(&r);
        }
}

/* A force that is rounding beside its scale counts as 0, where it stands alone too. */
static void a_scale_is_the_least_size_of_a_side(void **state)
{
    (void)state;
    static const char *const declared[] = {"", "scale 1", "scale 1e-6"};
    for (int i = 0; i < 3; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "state v = 0\nvar f %s\nder(v) = f\n0 <= f perp v >= 0\nsimulate to 1 step 0.5\n",
                 declared[i]);
        perp_model *model = parse_model(text);
        perp_simulation_options o = perp_simulation_options_default(model);
        perp__step s = {0};
        assert_int_equal(perp__step_create(&s, model, &o, NULL, NULL), PERP_OK);
        s.ws[SYM_H] = 0.5, s.ws[s.layout->sym.pre] = s.ws[s.layout->sym.y] = 0,
        s.ws[s.layout->sym.y + 1] = -1e-12;
        perp__step_linearise(&s);
        assert_int_equal(perp__step_verify(&s).error <= s.tol, i == 1);
        perp__step_clear(&s);
        perp_model_destroy(model);
    }
}

/* Where Newton's iteration passed a force of 1e15 before, its rounding is no excuse for what moves without one. */
static void sizes_are_those_of_the_point_that_is_judged(void **state)
{
    (void)state;
    perp_model *model = parse_model("state x = 1, w = 0\nvar f\nder(x) = 0\nder(w) = x*f\n"
                                    "0 <= f perp 1 + x >= 0\nsimulate to 1 step 0.5\n");
    perp_simulation_options o = perp_simulation_options_default(model);
    perp__step s = {0};
    assert_int_equal(perp__step_create(&s, model, &o, NULL, NULL), PERP_OK);
    double *y = s.ws + s.layout->sym.y;
    for (int moved = 0; moved < 2; moved++) {
        s.ws[SYM_H] = 0.5, s.ws[s.layout->sym.pre] = 1, s.ws[s.layout->sym.pre + 1] = 0;
        y[0] = 1, y[1] = 0, y[2] = moved;
        perp__step_linearise(&s);
        perp__step_units(&s); /* those of a run's beginning */
        y[2] = 1e15;
        perp__step_linearise(&s);
        y[1] = 0.05 * moved, y[2] = 0;
        assert_int_equal(perp__step_verify(&s).error <= s.tol, !moved);
    }
    perp__step_clear(&s);
    perp_model_destroy(model);
}

/* The constants of a linearisation are as large as the point where it was made, and anchor nothing there. */
static void a_point_far_away_is_no_data_of_its_own(void **state)
{
    (void)state;
    perp_model *model = parse_model("state v = 1\nvar f, g, w\nder(v) = f - g\nf^2 = w + sin(w)\n"
                                    "f*g = w + sin(w)\n0 <= f perp w + 1 >= 0\n"
                                    "simulate to 1 step 0.5\n");
    perp_simulation_options o = perp_simulation_options_default(model);
    perp__step s = {0};
    assert_int_equal(perp__step_create(&s, model, &o, NULL, NULL), PERP_OK);
    double *y = s.ws + s.layout->sym.y;
    s.ws[SYM_H] = 0.5, s.ws[s.layout->sym.pre] = y[0] = 1;
    for (int far = 0; far < 2; far++) {
        perp__step_linearise(&s);
        perp__step_units(&s); /* those of a run's beginning */
        assert_int_equal(perp__step_has_grown(&s), far);
        if (far) assert_string_equal(perp__step_grown(&s)->name, "w");
        y[1] = y[2] = 1e20, y[3] = 1e40;
    }
    perp__step_clear(&s);
    perp_model_destroy(model);
}

/* An increment is lost beside 1, but not beside 0: there a force of 1e-18 is what balance leaves. */
static void nothing_is_lost_beside_zero(void **state)
{
    (void)state;
    for (int rate = 0; rate < 2; rate++) {
        char text[200];
        const double start[2] = {1, 0};
        snprintf(text, sizeof text,
                 "state x = 1, v = 0\nvar f\nder(x) = %d\nder(v) = f\n0 <= f perp x >= 0\n"
                 "simulate to 1 step 0.5\n",
                 rate);
        perp_model *model = parse_model(text);
        perp_simulation_options o = perp_simulation_options_default(model);
        perp__step s = {0};
        assert_int_equal(perp__step_create(&s, model, &o, NULL, NULL), PERP_OK);
        double *y = s.ws + s.layout->sym.y;
        s.ws[SYM_H] = 0.5, s.ws[s.layout->sym.pre] = y[0] = 1,
        s.ws[s.layout->sym.pre + 1] = y[1] = 0, y[2] = 1e-18;
        perp__step_linearise(&s);
        assert_int_equal(perp__step_moves_nothing(&s, start), rate);
        perp__step_clear(&s);
        perp_model_destroy(model);
    }
}

/* A scale excuses nothing: exp(y) has none, a wall is a wall, and what is known better stays. */
static void a_scale_excuses_no_condition_that_is_broken(void **state)
{
    (void)state;
    char message[400];
    long steps;
    static const char *const broken[] = {
        "state x = 0\nvar y scale 1\nder(x) = 1\nexp(y) = 0\nsimulate to 1 step 0.1\n",
        "state x = 0\nvar y scale 1e-3\nder(x) = 1\ny^2 + 1e-8 = 0\nsimulate to 1 step 0.1\n",
        "var y scale 1\nstate x = 1\nder(x) = 0\n0 <= y perp -1e-6 - y >= 0\nsimulate to 1 step "
        "0.1\n"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        assert_int_equal(status_of(broken[i], &steps, message), PERP_ERR_NO_SOLUTION);
        assert_null(strstr(message, "'scale"));
    }
}

/* A force beside its bound is judged on its own scale, however large m v/h is beside it: blocks that
 * slide, stop and stick run at every ratio, by lines, by facets and by exact cones. */
static void friction_runs_beside_any_momentum(void **state)
{
    (void)state;
    static const char *const laws[] = {
        "var f, g\nm*der(v) = f + F\nm*der(w) = g\nfriction(f = f, v = v, bound = mu*N)\n"
        "friction(f = g, v = w, bound = mu*N)\n",
        "var f, g\nm*der(v) = f + F\nm*der(w) = g\n"
        "friction(f = [f, g], v = [v, w], bound = mu*N, facets = 8)\n",
        "var f, g\nm*der(v) = f + F\nm*der(w) = g\n"
        "friction(f = [f, g], v = [v, w], bound = mu*N, facets = exact)\n"};
    uint64_t s = 5;
    for (int k = 0; k < 300; k++) {
        char text[1000], message[400];
        double x[6];
        long steps;
        for (int i = 0; i < 6; i++) {
            s = s * 6364136223846793005u + 1442695040888963407u;
            x[i] = (double)(s >> 11) / 9007199254740992.0;
        }
        double m = pow(10, 6 * x[0] - 3), N = pow(10, 7 * x[1] - 4), h = pow(10, -1 - 5 * x[2]),
               v = (x[3] - 0.5) * pow(10, 4 * x[4] - 2), F = (2 * x[5] - 1) * 1.2 * N;
        snprintf(text, sizeof text,
                 "param m = %.17g, N = %.17g, mu = 0.6, F = %.17g\nstate v = %.17g, w = %.17g\n"
                 "%ssimulate { to %.17g step %.17g method backward-euler }\n",
                 m, N, F, v, 0.3 * v, laws[k % 3], 20 * h, h);
        if (status_of(text, &steps, message) != PERP_OK) fail_msg("%s\n%s", text, message);
        assert_int_equal(steps, 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(friction_runs_beside_any_momentum),
        cmocka_unit_test(walls_crush_a_block_whatever_stands_beside),
        cmocka_unit_test(a_large_constant_beside_falling_balls_changes_no_bit),
        cmocka_unit_test(a_force_on_a_dam_hides_no_row_without_solution),
        cmocka_unit_test(the_mass_of_a_block_changes_no_verdict),
        cmocka_unit_test(position_level_constraints_run_at_small_steps),
        cmocka_unit_test(steps_that_move_nothing_are_refused),
        cmocka_unit_test(what_stands_is_no_step_below_the_resolution),
        cmocka_unit_test(equations_without_a_scale_are_not_solved),
        cmocka_unit_test(what_nothing_gives_a_scale_is_refused_and_can_be_declared),
        cmocka_unit_test(a_scale_is_the_least_size_of_a_side),
        cmocka_unit_test(sizes_are_those_of_the_point_that_is_judged),
        cmocka_unit_test(a_point_far_away_is_no_data_of_its_own),
        cmocka_unit_test(nothing_is_lost_beside_zero),
        cmocka_unit_test(a_scale_excuses_no_condition_that_is_broken),
    };
    return run_all(tests);
}
