/* The check of a plan finds every change of it: single values moved, values that are no numbers. */

#include "plan/plan.h"
#include "runs.h"

static perp_plan *solved(const char *file, perp_plan_method method, perp_model **m)
{
    perp_plan_result r = {.size = sizeof r};
    perp_plan *plan;
    *m = load_model(file);
    perp_plan_options o = perp_plan_options_default(*m);
    if (method < PERP_PLAN_METHOD_COUNT) o.method = method;
    assert_int_equal(perp_plan_create(*m, &o, &plan, NULL), PERP_OK);
    assert_int_equal(perp_plan_solve(plan, &r, NULL), PERP_OK);
    assert_true(r.on_mesh <= PERP_PLAN_STATIONARY_S);
    return plan;
}

static double worst_of(const perp_plan *plan)
{
    perp__plan_check check;
    assert_true(perp__plan_verify(plan->program, plan->w, plan->p, &check, NULL));
    return check.worst;
}

static void every_value_that_is_moved_is_noticed(void **state)
{
    (void)state;
    const char *files[] = {"opty/push.perp",        "opty/push_phases.perp",
                           "control/hopper.perp",   "control/bounce.perp",
                           "control/surfaces.perp", "control/transport.perp"};
    for (int f = 0; f < 6; f++) {
        perp_model *m;
        perp_plan *plan = solved(files[f], f < 5 ? PERP_PLAN_METHOD_COUNT : PERP_PLAN_THETA, &m);
        const perp__program *g = plan->program;
        assert_true(worst_of(plan) < 1e-8);
        for (size_t i = 0; i < plan->nW; i++) {
            int j = (int)(i / (size_t)g->K), part = j % g->nb, point = j / g->nb;
            int is_part_of_split = part >= g->nx + g->nv && part < g->nb - g->nu;
            int is_unused = g->held && part >= g->nb - g->nu && point < g->npoint - 1;
            int is_copy = part >= g->ns && part < g->nx; /* of an input, which is moved itself */
            double x = plan->w[i];
            if (is_copy || is_part_of_split || is_unused)
                continue; /* not in the model as written */
            plan->w[i] = x + 0.01 * (1 + fabs(x));
            if (worst_of(plan) < 1e-6)
                fail_msg("%s: unknown %d of step %zu was moved by %g", files[f], j,
                         i % (size_t)g->K, plan->w[i] - x);
            plan->w[i] = NAN;
            assert_false(worst_of(plan) < 1e-6);
            plan->w[i] = x;
        }
        for (size_t i = 0; i < plan->nP; i++) {
            double x = plan->p[i];
            plan->p[i] = 1.01 * x;
            assert_false(worst_of(plan) < 1e-6);
            plan->p[i] = x;
        }
        perp_plan_destroy(plan);
        perp_model_destroy(m);
    }
}

/* A solved plan is checked against a model that says something else about its phases. */
static void what_a_phase_says_is_checked(void **state)
{
    (void)state;
    static const char model[] =
        "param k = 1, e = 0.5\ninput u in [-9, 9]\nstate x = 0, v = 1\nder(x) = v\n"
        "der(v) = u - k*x\n"
        "plan {\n method radau3\n minimize integral(u^2)\n"
        " phase one {\n horizon 1\n nodes 4\n param k = %s\n at end: x = 1\n }\n"
        " link: v = -%s*pre(v)\n"
        " phase two {\n horizon 2\n nodes 3\n at start: v <= %s\n at 50%%: x <= %s\n"
        " at t = %s: v = 0\n u <= %s\n }\n}\n";
    static const char *const says[][6] = {
        {"2", "e", "-1", "1", "3", "9"},  {"3", "e", "-1", "1", "3", "9"},
        {"2", "k", "-1", "1", "3", "9"},  {"2", "e", "-9", "1", "3", "9"},
        {"2", "e", "-1", "-9", "3", "9"}, {"2", "e", "-1", "1", "2", "9"},
        {"2", "e", "-1", "1", "3", "-9"}};
    perp_plan *plan[7];
    perp_model *m[7];
    for (int i = 0; i < 7; i++) {
        char text[1024];
        const char *const *s = says[i];
        snprintf(text, sizeof text, model, s[0], s[1], s[2], s[3], s[4], s[5]);
        m[i] = parse_model(text);
        perp_plan_options o = perp_plan_options_default(m[i]);
        perp_diag diag = {0};
        perp_plan_result r = {.size = sizeof r};
        if (perp_plan_create(m[i], &o, &plan[i], &diag) != PERP_OK)
            fail_msg("%s", perp_diag_text(&diag));
        if (i == 0) {
            assert_int_equal(perp_plan_solve(plan[0], &r, NULL), PERP_OK);
            assert_true(r.on_mesh <= PERP_PLAN_STATIONARY_S);
        }
        assert_true(plan[i]->nW == plan[0]->nW && plan[i]->nP == plan[0]->nP);
        memcpy(plan[i]->w, plan[0]->w, plan[0]->nW * sizeof(double));
        memcpy(plan[i]->p, plan[0]->p, plan[0]->nP * sizeof(double));
        double worst = worst_of(plan[i]);
        if (i == 0 ? worst > 1e-8 : worst < 1e-3) fail_msg("case %d: %g", i, worst);
    }
    for (int i = 0; i < 7; i++) {
        perp_plan_destroy(plan[i]);
        perp_model_destroy(m[i]);
    }
}

/* Pairs between unknowns that stand in no equation: each is looked at, by itself, in every step. */
static void each_pair_is_checked(void **state)
{
    (void)state;
    enum { PAIRS = 4, STEPS = 3 };
    perp_model *m = parse_model("input a[4] in [-9, 9]\nstate x = 0\nvar f[4]\nder(x) = 0\n"
                                "0 <= f[1] perp a[1] >= 0\n-1 <= f[2] <= 2 perp a[2]\n"
                                "-1 <= f[3] <= 2 perp a[3]\n0 <= f[4] perp a[4] >= 0\n"
                                "plan {\n horizon 1\n nodes 4\n}\n");
    perp_plan_options o = perp_plan_options_default(m);
    perp_plan *plan;
    perp__plan_check check;
    assert_int_equal(perp_plan_create(m, &o, &plan, NULL), PERP_OK);
    const perp__program *g = plan->program;
    assert_int_equal(g->K, STEPS);
    int first_a = g->nx + g->nv + g->nsplit;
    memset(plan->w, 0, plan->nW * sizeof(double));
    assert_true(worst_of(plan) == 0);
    for (int i = 0; i < PAIRS; i++)
        for (int k = 0; k < STEPS; k++) {
            double *f = &plan->w[(g->nx + i) * STEPS + k], *a = &plan->w[(first_a + i) * STEPS + k];
            *f = *a = 1;
            assert_true(perp__plan_verify(g, plan->w, plan->p, &check, NULL));
            assert_near(check.pairs, 1, 0.6);
            assert_true(check.worst == check.pairs && check.worst_step == k);
            assert_int_equal(check.worst_at, m->pair[i].at);
            *f = *a = 0;
        }
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

/* A time of ten digits is that of its node, however short the steps; the guess is x = 0 throughout. */
static void a_condition_at_a_time_is_checked(void **state)
{
    (void)state;
    static const char *const times[] = {"0.00033333333", "0.0003333333333333333", "0.003",
                                        "1e-3/3"};
    for (int i = 0; i < 4; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "input u\nstate x = 0\nder(x) = u\nplan {\n horizon 0.003\n nodes 10\n"
                 " at t = %s: 2*x = 6\n guess u = 0\n}\n",
                 times[i]);
        perp_model *m = parse_model(text);
        perp_plan_options o = perp_plan_options_default(m);
        perp_plan *plan;
        assert_int_equal(perp_plan_create(m, &o, &plan, NULL), PERP_OK);
        assert_near(worst_of(plan), 1, 1e-12); /* of 6, all of it */
        perp_plan_destroy(plan);
        perp_model_destroy(m);
    }
}

/* The defect of the plan that a model's guesses make, with what was said about them. */
static double defect_of_guess(const char *text, char *says, size_t room)
{
    perp_model *m = parse_model(text);
    perp_plan_options o = perp_plan_options_default(m);
    perp_diag diag = {0};
    perp_plan *plan;
    if (perp_plan_create(m, &o, &plan, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    snprintf(says, room, "%s", perp_diag_text(&diag));
    perp_diag_clear(&diag);
    perp__plan_check check;
    assert_true(
        perp__plan_verify(plan->program, plan->initial.w, plan->initial.p, &check, plan->residual));
    perp_plan_destroy(plan);
    perp_model_destroy(m);
    return fmax(check.defect, check.pairs);
}

/* What a simulation gives keeps the model's conditions already, pairs included. */
static void a_simulated_guess_is_a_motion(void **state)
{
    (void)state;
    static const char model[] =
        "param k = 7\ninput u in [-50, 50]\nstate x = 1, v = 0\nvar f\nder(x) = v\n"
        "der(v) = u + f - k*sin(3*x)\n-0.4 <= f <= 0.4 perp v\n"
        "plan {\n horizon free in [1, 9] guess 6\n nodes 101\n minimize integral(u^2)\n"
        " guess u = 3*sin(2*t)\n free x in [0, 3]\n free k\n guess x = 0.5 + t\n guess k = "
        "9\n%s}\n";
    static const char *const methods[] = {"", " method theta\n", " phases 3\n"};
    char text[1024], lines[64], says[512];
    for (int i = 0; i < 3; i++)
        for (int simulates = 0; simulates < 2; simulates++) {
            snprintf(lines, sizeof lines, "%s%s", methods[i], simulates ? " guess simulate\n" : "");
            snprintf(text, sizeof text, model, lines);
            double defect = defect_of_guess(text, says, sizeof says);
            assert_string_equal(says, "");
            if (!simulates) assert_true(defect > 0.5);
            /* phases of 33, 33 and 34 steps: not the simulation's steps */
            if (simulates && !(defect < (i < 2 ? 1e-9 : 1))) fail_msg("%s: %g", methods[i], defect);
        }
}

static void a_simulation_that_stops_is_no_guess(void **state)
{
    (void)state;
    char says[512];
    double defect = defect_of_guess("input u in [-3, 3]\nstate x = 1\nder(x) = u + 0.001*log(x)\n"
                                    "plan {\n horizon 1\n minimize integral(u^2)\n at end: x = 2\n"
                                    " guess u = -2\n guess simulate\n}\n",
                                    says, sizeof says);
    assert_non_null(strstr(says, ":9:8: the simulation with the guessed inputs stopped"));
    assert_near(defect, 1, 0.1); /* a straight line from 1 to 2, and u = -2: 3 / (1 + 2) */
}

/* Only a bound below 0 speeds the block up; the cone's equation alone allows it. */
static void a_cone_whose_bound_is_below_zero_is_noticed(void **state)
{
    (void)state;
    perp_model *m = parse_model("input b in [-1, 1]\nstate x = 1, y = 0.5\nvar f[2]\n"
                                "der(x) = f[1]\nder(y) = f[2]\n"
                                "friction(f = f, v = [x, y], bound = b)\nplan {\n horizon 1\n"
                                " nodes 6\n at end: x >= 1.2\n}\n");
    perp_plan_options o = perp_plan_options_default(m);
    perp_plan_result r = {.size = sizeof r};
    perp_plan *plan;
    assert_int_equal(perp_plan_create(m, &o, &plan, NULL), PERP_OK);
    assert_int_equal(perp_plan_solve(plan, &r, NULL), PERP_OK);
    assert_true(!perp_plan_holds(r.outcome));
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

/* A block pushed against a wall through dry friction and a spring, in units of length L and force F. */
static perp_plan *in_units(double L, double F, perp_model **m)
{
    char text[1200];
    snprintf(text, sizeof text,
             "param m = %.17g, k = %.17g\ninput u in [%.17g, %.17g]\nstate x = 0, v = 0\n"
             "var f, N\nder(x) = v\nm*der(v) = u + f - N - k*x\n"
             "%.17g <= f <= %.17g perp v\n0 <= N perp %.17g - x >= 0\n"
             "plan {\n horizon 2\n nodes 11\n minimize integral(u^2)\n"
             " at end: x = %.17g, v = 0\n}\n",
             F / L, 0.25 * F / L, -8 * F, 8 * F, -F, F, 1.5 * L, L);
    *m = parse_model(text);
    perp_plan_options o = perp_plan_options_default(*m);
    perp_plan *plan;
    assert_int_equal(perp_plan_create(*m, &o, &plan, NULL), PERP_OK);
    assert_int_equal(plan->program->nw, 7);
    return plan;
}

/* The unit of unknown i of such a plan: x, v, f, N, the parts of v, u. */
static double unit_of(const perp_plan *plan, size_t i, double L, double F)
{
    int j = (int)(i / (size_t)plan->program->K);
    return j == 2 || j == 3 || j == 6 ? F : L;
}

/* What is checked of the first plan, with the numbers of the second in its units. */
static void assert_same_verdicts(perp_plan *one, const perp_plan *other, double L, double F,
                                 double digits)
{
    double worst[2];
    for (int k = 0; k < 2; k++) {
        perp__plan_check c;
        const perp_plan *plan = k == 0 ? one : other;
        if (k == 1)
            for (size_t i = 0; i < one->nW; i++) other->w[i] = one->w[i] * unit_of(one, i, L, F);
        assert_true(perp__plan_verify(plan->program, plan->w, plan->p, &c, NULL));
        worst[k] = c.worst;
    }
    if (!(fabs(worst[1] - worst[0]) <= digits * worst[0]) && fmax(worst[0], worst[1]) > 1e-13)
        fail_msg("L = %g, F = %g: %.17g, not %.17g", L, F, worst[1], worst[0]);
}

/* A plan that holds, and the same with each of its numbers off by much and by little. */
static void units_change_no_verdict(void **state)
{
    (void)state;
    static const double units[][2] = {{0x1p-40, 0x1p-60}, {0x1p30, 0x1p-50}, {0x1p-20, 0x1p66},
                                      {1e-12, 1e-9},      {1e6, 1e-12},      {1e-3, 1e12}};
    perp_plan_result r = {.size = sizeof r};
    perp_model *m, *of_one;
    perp_plan *one = in_units(1, 1, &of_one);
    assert_int_equal(perp_plan_solve(one, &r, NULL), PERP_OK);
    assert_true(r.on_mesh <= PERP_PLAN_STATIONARY_S);
    for (int k = 0; k < 6; k++) {
        double L = units[k][0], F = units[k][1], digits = k < 3 ? 0 : 1e-6;
        perp_plan *other = in_units(L, F, &m);
        assert_same_verdicts(one, other, L, F, digits);
        for (size_t i = 0; i < one->nW; i++) {
            double x = one->w[i], unit = 1;
            if (unit_of(one, i, 0, 1) == 0 && i / (size_t)one->program->K > 1) continue; /* parts */
            for (double off = 1e-2; off > 1e-9; off *= 1e-2) {
                one->w[i] = x + off * unit;
                assert_same_verdicts(one, other, L, F, digits);
            }
            one->w[i] = x;
        }
        perp_plan_destroy(other);
        perp_model_destroy(m);
    }
    perp_plan_destroy(one);
    perp_model_destroy(of_one);
}

/* A block that never moves, but for rounding in its velocity and position: its scales are what its force could do. */
static void rest_with_rounding_is_rest_in_all_units(void **state)
{
    (void)state;
    for (int k = -200; k <= 200; k += 100)
        for (int q = -200; q <= 200; q += 100) {
            double L = ldexp(1, k), F = ldexp(1, q);
            perp_model *m;
            perp_plan *plan = in_units(L, F, &m);
            size_t K = (size_t)plan->program->K;
            perp__plan_check c;
            memset(plan->w, 0, plan->nW * sizeof(double));
            for (size_t i = 0; i < K; i++) {
                plan->w[i] = (i % 2 ? 2e-18 : -2e-18) * L;
                plan->w[K + i] = (plan->w[i] - (i > 0 ? plan->w[i - 1] : 0)) / 0.2;
                plan->w[2 * K + i] = -0.5 * F;
                plan->w[6 * K + i] = 0.5 * F;
            }
            assert_true(perp__plan_verify(plan->program, plan->w, plan->p, &c, NULL));
            if (c.pairs > 1e-12 || c.defect > 1e-12)
                fail_msg("L = %g, F = %g: pairs %g, equations %g", L, F, c.pairs, c.defect);
            plan->w[K] = 1e-3 * L; /* and this is none */
            assert_true(perp__plan_verify(plan->program, plan->w, plan->p, &c, NULL));
            assert_true(c.pairs > 1e-3 && c.defect > 1e-3);
            perp_plan_destroy(plan);
            perp_model_destroy(m);
        }
}

/* A puck under an exact cone that should stick creeps a little, or its force leaves the cone: noticed in all units. */
static void exact_cones_are_judged_in_their_units(void **state)
{
    (void)state;
    for (int k = -100; k <= 100; k += 50)
        for (int q = -100; q <= 100; q += 50)
            for (int fault = 0; fault < 3; fault++) {
                double L = ldexp(1, k), F = ldexp(1, q);
                char text[600];
                snprintf(text, sizeof text,
                         "input u in [%.17g, %.17g]\nstate x = 0, v[2] = 0\nvar f[2]\n"
                         "der(x) = v[1]\n%.17g*der(v[1]) = u + f[1]\n%.17g*der(v[2]) = f[2]\n"
                         "friction(f = f, v = v, bound = %.17g, facets = exact)\n"
                         "plan {\n horizon 1\n nodes 3\n at end: x >= 0\n}\n",
                         -F, F, F / L, F / L, F);
                perp_model *m = parse_model(text);
                perp_plan_options o = perp_plan_options_default(m);
                perp_plan *plan;
                perp__plan_check c;
                assert_int_equal(perp_plan_create(m, &o, &plan, NULL), PERP_OK);
                memset(plan->w, 0, plan->nW * sizeof(double));
                double creep = fault == 1 ? 1e-4 * L : 0, force = fault == 2 ? 1.0001 * F : F / 2;
                for (size_t i = 0; i < 2; i++) { /* x, v[1], v[2], f[1], f[2], u */
                    plan->w[i] = 0.5 * creep * (double)(i + 1);
                    plan->w[2 + i] = creep;
                    plan->w[6 + i] = -force;
                    plan->w[10 + i] = force;
                }
                assert_true(perp__plan_verify(plan->program, plan->w, plan->p, &c, NULL));
                assert_true(fault == 0 ? c.pairs == 0 : c.pairs > 1e-5 && c.pairs < 1.1);
                perp_plan_destroy(plan);
                perp_model_destroy(m);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_that_is_moved_is_noticed),
        cmocka_unit_test(each_pair_is_checked),
        cmocka_unit_test(a_condition_at_a_time_is_checked),
        cmocka_unit_test(units_change_no_verdict),
        cmocka_unit_test(rest_with_rounding_is_rest_in_all_units),
        cmocka_unit_test(exact_cones_are_judged_in_their_units),
        cmocka_unit_test(a_cone_whose_bound_is_below_zero_is_noticed),
        cmocka_unit_test(what_a_phase_says_is_checked),
        cmocka_unit_test(a_simulated_guess_is_a_motion),
        cmocka_unit_test(a_simulation_that_stops_is_no_guess),
    };
    return run_all(tests);
}
