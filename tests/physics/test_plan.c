/* Plans with known optima. The push: exact optima of the discrete problem are known for each number
 * of nodes. */

#include "runs.h"

/* Solve a model's plan; the caller destroys plan and model. */
static perp_plan *solve(perp_model *m, const perp_plan_options *o, perp_plan_result *result)
{
    perp_diag diag = {0};
    perp_plan *plan;
    if (perp_plan_create(m, o, &plan, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    assert_int_equal(perp_plan_solve(plan, result, &diag), PERP_OK);
    perp_diag_clear(&diag);
    return plan;
}

static perp_plan_result solve_example(const char *file, perp_plan_options *o)
{
    perp_model *m = load_model(file);
    perp_plan_result result = {.size = sizeof result};
    perp_plan_options standard = perp_plan_options_default(m);
    perp_plan *plan = solve(m, o ? o : &standard, &result);
    perp_plan_destroy(plan);
    perp_model_destroy(m);
    return result;
}

static void assert_stationary(const perp_plan_result *r, double cost, double tol)
{
    if (r->on_mesh > PERP_PLAN_STATIONARY_S)
        fail_msg("%s: cost %.12g, pairs %g, defect %g, bounds %g, conditions %g, stationarity %g",
                 perp_plan_outcome_name(r->on_mesh), r->cost, r->complementarity, r->defect,
                 r->bounds, r->conditions, r->stationarity);
    assert_near(r->cost, cost, tol);
    assert_true(r->complementarity <= 1e-8 && r->defect <= 1e-7); /* IPOPT's turbo: 1.8e-8 */
    assert_true(r->bounds <= 1e-8 && r->conditions <= 1e-8);
}

static void the_push_reaches_its_exact_optimum_from_every_start(void **state)
{
    (void)state;
    perp_model *m = load_model("opty/push.perp");
    for (unsigned seed = 0; seed < 22; seed++) {
        perp_plan_options o = perp_plan_options_default(m);
        o.start = seed == 0   ? PERP_PLAN_START_MODEL
                  : seed == 1 ? PERP_PLAN_START_ZEROS
                              : PERP_PLAN_START_RANDOM;
        o.seed = seed;
        o.restarts = 0; /* each on its own */
        perp_plan_result r = {.size = sizeof r};
        perp_plan *plan = solve(m, &o, &r);
        assert_stationary(&r, 0.65, 1e-8);
        assert_near(r.horizon, 0.65, 1e-8);
        perp_plan_destroy(plan);
    }
    perp_model_destroy(m);
}

static void the_push_follows_its_known_optima_as_nodes_grow(void **state)
{
    (void)state;
    const struct {
        int nodes;
        double T;
    } known[] = {{40, 0.65},         {41, 0.632921375},  {80, 0.640774613},
                 {160, 0.636542562}, {320, 0.634524189}, {321, 0.632531223}};
    perp_model *m = load_model("opty/push.perp");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        perp_plan_options o = perp_plan_options_default(m);
        perp_plan_result r = {.size = sizeof r};
        o.nodes = known[i].nodes;
        perp_plan *plan = solve(m, &o, &r);
        assert_stationary(&r, known[i].T, 1e-9);
        perp_plan_destroy(plan);
    }
    perp_model_destroy(m);
}

/* Where a quarter of the steps is a whole number, switches fall on nodes and the error is O(1/N^2). */
static void many_nodes_take_one_start(void **state)
{
    (void)state;
    perp_model *m = load_model("opty/push.perp");
    double off[2];
    for (int i = 0; i < 2; i++) {
        perp_plan_options o = perp_plan_options_default(m);
        perp_plan_result r = {.size = sizeof r};
        o.nodes = 641 + 1920 * i;
        o.restarts = 0;
        perp_plan_destroy(solve(m, &o, &r));
        assert_true(r.on_mesh <= PERP_PLAN_STATIONARY_S);
        off[i] = r.cost - 0.632524016341;
    }
    assert_true(off[0] > 0 && off[0] < 4e-6);
    assert_near(off[0] / off[1], 16, 2); /* four times the steps */
    perp_model_destroy(m);
}

static void smooth_problems_reach_their_known_optima(void **state)
{
    (void)state;
    const struct {
        const char *file;
        double cost, tol;
    } known[] = {{"control/brachistochrone.perp", 1.790301924, 1e-9},
                 {"control/double_integrator.perp", 12, 1e-9},
                 {"control/cylinder.perp", 0.479250066, 1e-9},
                 {"control/compass.perp", 550.28646, 1e-4},
                 {"control/hypersensitive.perp", 6.72411381, 1e-7}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        perp_plan_result r = solve_example(known[i].file, NULL);
        assert_stationary(&r, known[i].cost, known[i].tol);
    }
}

/* From x0, v0 to rest at 1 the least effort is 12 (1 - x0)^2 - 12 (1 - x0) v0 + 4 v0^2, with slopes
 * -24 and -12 at the start; along the optimum u = 6 - 12 t the costates are -24 and -2 u. */
/* What is left of terms that cancel is no size: 12 N^2/(N^2 - 1) with N steps of backward Euler. */
static void rounding_in_a_row_is_no_scale(void **state)
{
    (void)state;
    perp_model *m = parse_model("state x = 0, v = 0, y = 1\ninput F in [-100, 100]\n"
                                "der(x) = v\nder(v) = F + 1e-17*y\nder(y) = 0\n"
                                "plan { horizon 1\n nodes 11\n minimize integral(F^2)\n"
                                " at end: x = 1, v = 0 }\n");
    perp_plan_options o = perp_plan_options_default(m);
    perp_plan_result r = {.size = sizeof r};
    o.restarts = 0;
    perp_plan *plan = solve(m, &o, &r);
    assert_stationary(&r, 400.0 / 33, 1e-9);
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

static void costates_are_the_slopes_of_the_cost(void **state)
{
    (void)state;
    perp_model *m = load_model("control/double_integrator.perp");
    perp_plan_options o = perp_plan_options_default(m);
    perp_plan_result r = {.size = sizeof r};
    perp_plan *plan = solve(m, &o, &r);
    double row[16];
    assert_string_equal(perp_plan_column_name(plan, 5), "costate_x");
    for (int k = 0; k < perp_plan_rows(plan); k++) {
        perp_plan_row(plan, k, row);
        double t = row[0], u = 6 - 12 * t;
        assert_near(row[5], -24, 1e-6);
        assert_near(row[6], -2 * u, 1e-6); /* u = -costate / 2 minimises u^2 + costate u */
    }
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

/* Where the start is chosen, or follows a free parameter, the first node has a costate like the others. */
static void costates_begin_with_the_plan(void **state)
{
    (void)state;
    static const char *const starts[] = {"", "free c\n", "at start: x = 0, v + x = 0\n"};
    for (int i = 0; i < 3; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "param c = 0 in [-9, 0]\ninput F\nstate x = 0, v = c\nder(x) = v\nder(v) = F\n"
                 "plan {\n horizon 1\n nodes 11\n method radau3\n minimize integral(F^2)\n"
                 " at end: x = 1, v = 0\n %s}\n",
                 starts[i]);
        perp_model *m = parse_model(text);
        perp_plan_options o = perp_plan_options_default(m);
        perp_plan_result r = {.size = sizeof r};
        perp_plan *plan = solve(m, &o, &r);
        assert_stationary(&r, 12, 1e-6); /* c = 0 is the best of its range */
        for (int k = 0; k < perp_plan_rows(plan); k++) {
            double row[16];
            perp_plan_row(plan, k, row);
            assert_near(row[5], -24, 1e-4);
            assert_near(row[6], -2 * (6 - 12 * row[0]), 1e-4);
        }
        perp_plan_destroy(plan);
        perp_model_destroy(m);
    }
}

/* A plan that is solved again is the same plan, costates too. */
static void solving_again_changes_nothing(void **state)
{
    (void)state;
    perp_model *m = load_model("control/double_integrator.perp");
    perp_plan_options o = perp_plan_options_default(m);
    perp_plan_result r = {.size = sizeof r};
    perp_plan *plan = solve(m, &o, &r);
    double first[64][16], row[16];
    int n = perp_plan_rows(plan), columns = perp_plan_columns(plan);
    assert_true(n <= 64 && columns <= 16);
    for (int k = 0; k < n; k++) perp_plan_row(plan, k, first[k]);
    assert_int_equal(perp_plan_solve(plan, &r, NULL), PERP_OK);
    for (int k = 0; k < n; k++) {
        perp_plan_row(plan, k, row);
        assert_memory_equal(row, first[k], (size_t)columns * sizeof *row);
    }
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

/* With theta = 1/2 the cart's motion depends on the mean inputs of the N steps only, and is that of
 * inputs that are constant over each: the least effort is 12 N^2 / (N^2 - 1). */
static void theta_is_of_second_order(void **state)
{
    (void)state;
    perp_model *m = load_model("control/double_integrator.perp");
    for (int N = 10; N <= 40; N *= 2) {
        perp_plan_options o = perp_plan_options_default(m);
        perp_plan_result r = {.size = sizeof r};
        o.method = PERP_PLAN_THETA;
        o.nodes = N + 1;
        perp_plan_destroy(solve(m, &o, &r));
        assert_stationary(&r, 12.0 * N * N / (N * N - 1), 1e-9);
    }
    perp_model_destroy(m);
}

/* The least integral of x^2 + u^2 from x = 1 over T is tanh T; halving the step takes 2^order of the error. */
static void radau_methods_have_their_order(void **state)
{
    (void)state;
    static const struct {
        perp_plan_method method;
        double order;
    } cases[] = {{PERP_PLAN_RADAU3, 3}, {PERP_PLAN_RADAU5, 5}, {PERP_PLAN_RADAU7, 7}};
    perp_model *m = parse_model("input u\nstate x = 1\nder(x) = u\nplan {\n horizon 4\n nodes 9\n"
                                " minimize integral(x^2 + u^2)\n}\n");
    for (int i = 0; i < 3; i++) {
        double error[2];
        for (int k = 0; k < 2; k++) {
            perp_plan_options o = perp_plan_options_default(m);
            perp_plan_result r = {.size = sizeof r};
            o.method = cases[i].method;
            o.nodes = 5 + 4 * k;
            perp_plan_destroy(solve(m, &o, &r));
            assert_int_equal(r.on_mesh, PERP_PLAN_GLOBAL);
            error[k] = fabs(r.cost - tanh(4));
        }
        assert_near(log2(error[0] / error[1]), cases[i].order, 0.2);
    }
    perp_model_destroy(m);
}

/* A weak motor needs more than one swing; the cost falls towards its limit as nodes grow. */
static void a_pendulum_is_swung_up(void **state)
{
    (void)state;
    perp_model *m = load_model("control/swing_up.perp");
    double cost[3];
    for (int i = 0; i < 3; i++) {
        perp_plan_options o = perp_plan_options_default(m);
        perp_plan_result r = {.size = sizeof r};
        o.nodes = 41 << i;
        perp_plan_destroy(solve(m, &o, &r));
        assert_true(r.on_mesh <= PERP_PLAN_STATIONARY_S);
        cost[i] = r.cost;
    }
    assert_true(fabs(cost[2] - cost[1]) < 0.3 * fabs(cost[1] - cost[0]));
    perp_model_destroy(m);
}

static void free_switch_times_give_the_optimum_of_continuous_time(void **state)
{
    (void)state;
    perp_model *m = load_model("opty/push_phases.perp");
    for (int nodes = 5; nodes <= 81; nodes = 2 * nodes - 1) {
        perp_plan_options o = perp_plan_options_default(m);
        perp_plan_result r = {.size = sizeof r};
        o.nodes = nodes;
        perp_plan_destroy(solve(m, &o, &r));
        assert_stationary(&r, 0.632524016341, 1e-9);
    }
    perp_model_destroy(m);
}

/* 10 m/s after 2 s and 10 m, 25 m/s after another 1 s and 17.5 m, twice; 145 m at 25 m/s. */
static void a_switch_falls_on_a_node(void **state)
{
    (void)state;
    perp_model *m = load_model("control/turbo.perp");
    for (int start = 0; start <= PERP_PLAN_START_RANDOM; start++) {
        perp_plan_options o = perp_plan_options_default(m);
        perp_plan_result r = {.size = sizeof r};
        double row[16], known[] = {0, 2, 3, 8.8, 9.8, 11.8};
        o.start = (perp_plan_start)start;
        perp_plan *plan = solve(m, &o, &r);
        assert_stationary(&r, 11.8, 1e-8);
        assert_true(perp_plan_columns(plan) <= 16);
        for (int k = 0; k < 6; k++) {
            perp_plan_row(plan, k, row);
            assert_near(row[0], known[k], 1e-6);
        }
        perp_plan_destroy(plan);
    }
    perp_model_destroy(m);
}

/* Squared speed of a throw with vz upwards from 1.5 m that hits the bin on its way down after one bounce. */
static double throw_of(double vz)
{
    double g = 9.81, e = 0.8, w = sqrt(vz * vz + 2 * g * 1.5), up = e * w;
    double T = (vz + w) / g + (up + sqrt(up * up - 2 * g * 0.6)) / g;
    return vz * vz + 9 / (T * T);
}

static double least(double (*f)(double), double a, double b)
{
    while (b - a > 1e-9) {
        double c = a + 0.382 * (b - a), d = b - 0.382 * (b - a);
        *(f(c) < f(d) ? &b : &a) = f(c) < f(d) ? d : c;
    }
    return f(a);
}

/* One link, from -v to e v; the flights are parabolas, which radau3 meets with any number of nodes. */
static void phases_are_linked_by_a_jump(void **state)
{
    (void)state;
    perp_model *m = load_model("control/bounce.perp");
    for (int nodes = 3; nodes <= 41; nodes += 19) {
        perp_plan_options o = perp_plan_options_default(m);
        perp_plan_result r = {.size = sizeof r};
        o.nodes = nodes;
        perp_plan_destroy(solve(m, &o, &r));
        assert_stationary(&r, least(throw_of, 0, 3), 1e-7);
    }
    perp_model_destroy(m);
}

/* Least effort there in T and back in 2 - T: each way costs 12 d^2/T^3 - 12 d (v0 + v1)/T^2 + 4 (v0^2 + v0 v1 +
 * v1^2)/T, and the best speed of impact makes the sum's slope 0. */
static double cushion_of(double T)
{
    double e = 0.5, S = 2 - T, slope = 12 / (T * T) + 12 * e / (S * S),
           curve = 4 / T + 4 * e * e / S;
    return 12 / (T * T * T) + 12 / (S * S * S) - slope * slope / (4 * curve);
}

/* A puck goes to the cushion at 1, bounces off by half its speed, and returns, in 2 s together. */
static void phases_share_a_horizon(void **state)
{
    (void)state;
    perp_model *m =
        parse_model("param e = 0.5\ninput u\nstate x = 0, v = 0\nder(x) = v\nder(v) = u\n"
                    "plan {\n method radau3\n horizon 2\n minimize integral(u^2)\n"
                    " phase there { nodes 9\n at end: x = 1 }\n link: v = -e*pre(v)\n"
                    " phase back { nodes 5 }\n at end: x = 0, v = 0\n}\n");
    perp_plan_options o = perp_plan_options_default(m);
    for (int backend = 0; backend < PERP_PLAN_BACKEND_COUNT; backend++) {
        perp_plan_result r = {.size = sizeof r};
        perp_plan *plan;
        o.backend = (perp_plan_backend)backend;
        if (perp_plan_create(m, &o, &plan, NULL) == PERP_ERR_UNAVAILABLE) continue;
        assert_int_equal(perp_plan_solve(plan, &r, NULL), PERP_OK);
        assert_stationary(&r, least(cushion_of, 0.5, 1.5), 1e-7);
        assert_near(r.horizon, 2, 1e-9);
        assert_int_equal(perp_plan_phases(plan), 2);
        perp_plan_phase back = perp_plan_get_phase(plan, 1);
        assert_true(back.is_linked && back.first == 8 && back.last == 12);
        assert_string_equal(back.name, "back");
        assert_near(back.to, 2, 1e-9);
        double row[16];
        perp_model *begins;
        perp_plan_row(plan, 8, row);
        assert_near(row[0], back.from, 1e-12);
        assert_int_equal(perp_plan_phase_model(plan, 1, &begins, NULL), PERP_OK);
        assert_near(perp_model_symbol(begins, PERP_STATE, 1).value, -0.5 * row[2], 1e-12);
        perp_model_destroy(begins);
        perp_plan_destroy(plan);
    }
    perp_model_destroy(m);
}

/* At the bound of each surface: v1 where the gravel ends, v2 at the most. */
static void a_parameter_has_a_value_in_each_phase(void **state)
{
    (void)state;
    double gravel = 0.4 * 9.81, asphalt = 0.8 * 9.81, v1 = sqrt(2 * gravel * 50);
    double brakes = (50 + v1 * v1 / (2 * asphalt)) / 2, v2 = sqrt(2 * asphalt * brakes);
    perp_plan_result r = solve_example("control/surfaces.perp", NULL);
    assert_stationary(&r, v1 / gravel + (v2 - v1) / asphalt + v2 / asphalt, 1e-6);
}

/* From x = c/3 and v = c to rest at 4 in 1 s: 12 d^2 - 12 d v + 4 v^2 with d the way to go. */
static double effort_of(double c)
{
    double d = 4 - c / 3;
    return 12 * d * d - 12 * d * c + 4 * c * c;
}

static void an_initial_value_follows_what_is_free(void **state)
{
    (void)state;
    perp_model *m = parse_model("param c = 3, k = 2*c\ninput F\nstate x = k/6, v = c\n"
                                "der(x) = v\nder(v) = F\nplan {\n horizon 1\n nodes 6\n"
                                " method radau3\n free c\n minimize integral(F^2)\n"
                                " at end: x = 4, v = 0\n}\n");
    perp_plan_options o = perp_plan_options_default(m);
    perp_plan_result r = {.size = sizeof r};
    double row[16];
    perp_plan *plan = solve(m, &o, &r);
    double c = perp_plan_free_value(plan, 0);
    assert_true(r.on_mesh <= PERP_PLAN_STATIONARY_S);
    perp_plan_row(plan, 0, row);
    assert_near(row[1], c / 3, 1e-9);
    assert_near(row[2], c, 1e-9);
    assert_near(r.cost, least(effort_of, 0, 9), 1e-7);
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

/* A condition without `at` is one of the first node, too, and of the state behind a link. */
static void conditions_hold_where_phases_begin(void **state)
{
    (void)state;
    static const struct {
        const char *lines;
        int column, node;
        double sign, least; /* of sign * (t, x, v)[column] */
    } cases[] = {{"free x in [-9, 9]\n phase a { horizon 1\n nodes 5 }\n x + v >= 3\n"
                  " at end: x = 6, v = 8\n",
                  1, 0, 1, 3},
                 {"free x in [-9, 9]\n phase a { horizon 1\n nodes 5\n x >= 3 }\n"
                  " at end: x = 6, v = 8\n",
                  1, 0, 1, 3},
                 {"phase a { horizon 1\n nodes 5 }\n link: v = -pre(v)\n"
                  " phase b { horizon 1\n nodes 5\n v >= 1 }\n at end: x = 4\n",
                  2, 4, -1, 1},
                 {"phase a { horizon 1\n nodes 5 }\n phase b { horizon 1\n nodes 5\n v <= 1 }\n"
                  " at end: x = 4\n",
                  2, 4, -1, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "input F\nstate x = 0, v = 0\nder(x) = v\nder(v) = F\n"
                 "plan {\n minimize integral(F^2)\n %s}\n",
                 cases[i].lines);
        perp_model *m = parse_model(text);
        perp_plan_options o = perp_plan_options_default(m);
        perp_plan_result r = {.size = sizeof r};
        perp_plan *plan = solve(m, &o, &r);
        double row[16];
        assert_true(r.on_mesh <= PERP_PLAN_STATIONARY_S);
        perp_plan_row(plan, cases[i].node, row);
        if (!(cases[i].sign * row[cases[i].column] >= cases[i].least - 1e-7))
            fail_msg("case %zu: %g", i, row[cases[i].column]);
        perp_plan_destroy(plan);
        perp_model_destroy(m);
    }
}

static void ipopt_agrees_with_the_own_back_end(void **state)
{
    (void)state;
    const char *files[] = {
        "opty/push.perp",        "control/brachistochrone.perp", "control/double_integrator.perp",
        "control/swing_up.perp", "opty/push_phases.perp",        "control/turbo.perp",
        "control/bounce.perp",   "control/surfaces.perp"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        perp_model *m = load_model(files[i]);
        perp_plan_options o = perp_plan_options_default(m);
        perp_plan_result own = solve_example(files[i], &o),
                         other = {.size = sizeof other};
        perp_plan *plan;
        o.backend = PERP_PLAN_IPOPT;
        perp_status status = perp_plan_create(m, &o, &plan, NULL);
        if (status == PERP_ERR_UNAVAILABLE) {
            perp_model_destroy(m);
            skip_because("no IPOPT in this build");
        }
        assert_int_equal(status, PERP_OK);
        assert_int_equal(perp_plan_solve(plan, &other, NULL), PERP_OK);
        assert_stationary(&other, own.cost, 1e-8 * (1 + fabs(own.cost)));
        perp_plan_destroy(plan);
        perp_model_destroy(m);
    }
}

static void every_treatment_of_pairs_verifies(void **state)
{
    (void)state;
    perp_model *m = load_model("opty/push.perp");
    for (int pairs = 0; pairs < PERP_PLAN_PAIRS_COUNT; pairs++) {
        perp_plan_options o = perp_plan_options_default(m);
        perp_plan_result r = {.size = sizeof r};
        o.pairs = (perp_plan_pairs)pairs;
        perp_plan_destroy(solve(m, &o, &r));
        assert_true(r.on_mesh <= PERP_PLAN_STATIONARY_S);
        assert_near(r.cost, 0.65, 1e-8);
    }
    perp_model_destroy(m);
}

/* The wall stops the block: accelerated all the way there, accelerated and braked on the way back,
 * sqrt(2 d / a) + half the push. Backward Euler is late by a share of a step. */
static void a_block_that_may_hit_the_wall_is_not_braked(void **state)
{
    (void)state;
    perp_model *m = load_model("control/push_wall.perp");
    double limit = sqrt(2 * 10 / (400 - 0.6 * 9.81)) + 0.632524016341 / 2;
    for (int nodes = 41; nodes <= 161; nodes += 120) {
        perp_plan_options o = perp_plan_options_default(m);
        perp_plan_result r = {.size = sizeof r};
        o.nodes = nodes;
        perp_plan *plan = solve(m, &o, &r);
        double row[16], most = 0;
        assert_true(r.on_mesh <= PERP_PLAN_STATIONARY_S);
        assert_true(r.cost > limit && r.cost < limit * (1 + 0.8 / nodes));
        assert_true(perp_plan_columns(plan) <= 16);
        assert_string_equal(perp_plan_column_name(plan, 4), "p");
        for (int k = 1; k < perp_plan_rows(plan); k++) {
            perp_plan_row(plan, k, row);
            most = fmax(most, row[4]);
        }
        assert_true(most > 4000); /* the impact: 88 N s within a step */
        perp_plan_destroy(plan);
    }
    perp_model_destroy(m);
}

/* The plate's drive does no less work as nodes grow, and the block gets where it should. */
static void contact_examples_settle_as_nodes_grow(void **state)
{
    (void)state;
    const char *files[] = {"control/transport.perp", "control/hopper.perp"};
    for (int f = 0; f < 2; f++) {
        perp_model *m = load_model(files[f]);
        double cost[2];
        for (int i = 0; i < 2; i++) {
            perp_plan_options o = perp_plan_options_default(m);
            perp_plan_result r = {.size = sizeof r};
            o.nodes = 41 << i;
            perp_plan_destroy(solve(m, &o, &r));
            assert_true(r.on_mesh <= PERP_PLAN_STATIONARY_S);
            cost[i] = r.cost;
        }
        assert_near(cost[0], cost[1], 0.02 * cost[1]);
        perp_model_destroy(m);
    }
}

/* Three corners with friction, 360 pairs: the block is tipped over its edge, the finger never lifts
 * all of its weight for long. IPOPT finds the same. */
static void a_finger_flips_a_block(void **state)
{
    (void)state;
    perp_model *m = load_model("control/flip.perp");
    perp_plan_options o = perp_plan_options_default(m);
    perp_plan_result r = {.size = sizeof r};
    perp_plan *plan = solve(m, &o, &r);
    double row[32], turned = 0;
    assert_stationary(&r, 3.411040586, 1e-6);
    assert_true(perp_plan_columns(plan) <= 32);
    for (int k = 1; k < perp_plan_rows(plan); k++) {
        perp_plan_row(plan, k, row);
        turned = row[3];
    }
    assert_near(turned, 1.5707963267948966, 1e-9);
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

/* The diagnostics of a plan that cannot be; every string must be in them. */
static void expect_conflict(const char *text, const char *const *says, int n)
{
    perp_model *m = parse_model(text);
    perp_plan_options o = perp_plan_options_default(m);
    perp_plan_result r = {.size = sizeof r};
    perp_plan *plan;
    perp_diag diag = {0};
    assert_int_equal(perp_plan_create(m, &o, &plan, &diag), PERP_OK);
    assert_int_equal(perp_plan_solve(plan, &r, &diag), PERP_OK);
    assert_int_equal(r.outcome, PERP_PLAN_INFEASIBLE);
    for (int i = 0; i < n; i++)
        if (!strstr(perp_diag_text(&diag), says[i]))
            fail_msg("expected '%s' in:\n%s", says[i], perp_diag_text(&diag));
    perp_diag_clear(&diag);
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

static void goals_out_of_reach_end_with_what_conflicts(void **state)
{
    (void)state;
    /* at most 1 m/s for 2 s: 3 m are out of reach; backward Euler gets to 1.843 */
    expect_conflict(
        "param mu = 0.6\ninput F in [-10, 10]\nstate x = 0\nstate v = 0 in [-1, 1]\n"
        "var f\nder(x) = v\nder(v) = F + f\n-mu*9.81 <= f <= mu*9.81 perp v\n"
        "plan {\nhorizon 2\nnodes 41\nminimize integral(F^2)\nat end: x = 3, v = 0\n}\n",
        (const char *[]){"'x = 3' by 1.157", "the range of 'v': at 1 in", "the horizon of 2"}, 3);
    /* 400 N against friction of 981 N: it does not move at all */
    perp_model *m = load_model("opty/push.perp");
    perp_plan_options o = perp_plan_options_default(m);
    perp_plan_result r = {.size = sizeof r};
    set_value(m, "mu", 100);
    perp_plan_destroy(solve(m, &o, &r));
    assert_int_equal(r.outcome, PERP_PLAN_LOCALLY_INFEASIBLE);
    perp_model_destroy(m);
}

/* Random starts of the push against a wall end in optima that brake before the wall, or in none; without
 * friction there is little to be caught in. */
static void friction_that_grows_leads_to_the_better_optimum(void **state)
{
    (void)state;
    perp_model *m = load_model("control/push_wall.perp");
    int best[2] = {0, 0};
    for (int walks = 0; walks < 2; walks++)
        for (unsigned seed = 1; seed <= 12; seed++) {
            perp_plan_options o = perp_plan_options_default(m);
            perp_plan_result r = {.size = sizeof r};
            o.start = PERP_PLAN_START_RANDOM;
            o.seed = seed;
            o.restarts = 0;
            o.homotopy = walks ? "mu" : NULL;
            perp_plan_destroy(solve(m, &o, &r));
            if (walks) assert_true(r.on_mesh <= PERP_PLAN_STATIONARY_S);
            best[walks] += r.on_mesh <= PERP_PLAN_STATIONARY_S && r.cost < 0.5476;
        }
    assert_true(best[1] >= 8 && best[1] > best[0]);
    perp_model_destroy(m);
}

typedef struct history {
    int n, stop_at;
    double last, sum;
} history;

static int record(void *context, const perp_plan_progress *p)
{
    history *h = context;
    h->n++;
    h->last = p->iteration;
    h->sum += p->iteration * (p->cost + p->infeasibility);
    return h->stop_at && h->n >= h->stop_at;
}

/* Random starts of the push against a wall end in several optima. */
static void starts_give_the_same_answer_by_any_number_of_threads(void **state)
{
    (void)state;
    static const char *const files[] = {"control/push_wall.perp", "control/hopper.perp"};
    for (int f = 0; f < 2; f++) {
        perp_model *m = load_model(files[f]);
        perp_plan_result r[3] = {{.size = sizeof *r}, {.size = sizeof *r}, {.size = sizeof *r}};
        history h[3] = {{0}};
        double row[3][64];
        for (int i = 0; i < 3; i++) {
            perp_plan_options o = perp_plan_options_default(m);
            o.start = PERP_PLAN_START_RANDOM;
            o.max_iter = f ? 25 : 1000; /* the hopper: no start succeeds, all restarts are used */
            o.tries = f ? 1 : 7;
            o.threads = i == 0 ? 1 : i == 1 ? 2 : 5;
            o.homotopy = f ? NULL : "mu";
            o.progress = record;
            o.context = &h[i];
            perp_plan *plan = solve(m, &o, &r[i]);
            assert_true(perp_plan_columns(plan) < 64);
            perp_plan_row(plan, perp_plan_rows(plan) / 2, row[i]);
            perp_plan_destroy(plan);
            assert_int_equal(r[i].starts, f ? 5 : 7);
            if (!f) assert_true(r[i].on_mesh <= PERP_PLAN_STATIONARY_S);
            assert_int_equal(r[i].outcome, r[0].outcome);
            assert_int_equal(r[i].iterations, r[0].iterations);
            assert_true(r[i].cost == r[0].cost && r[i].stationarity == r[0].stationarity);
            assert_memory_equal(row[i], row[0], 4 * sizeof(double));
            assert_int_equal(h[i].n, h[0].n);
            assert_true(h[i].last == h[0].last && h[i].sum == h[0].sum);
        }
        perp_model_destroy(m);
    }
}

static void starts_by_threads_can_be_stopped(void **state)
{
    (void)state;
    perp_model *m = load_model("opty/push.perp");
    perp_plan_options o = perp_plan_options_default(m);
    perp_plan_result r = {.size = sizeof r};
    history h = {.stop_at = 100};
    o.tries = 1000;
    o.threads = 3;
    o.progress = record;
    o.context = &h;
    perp_plan_destroy(solve(m, &o, &r));
    assert_int_equal(h.n, h.stop_at); /* not asked again */
    assert_int_equal(r.outcome, PERP_PLAN_STOPPED);
    assert_true(r.starts >= 2 && r.starts <= 4);
    assert_near(r.cost, 0.65, 1e-8); /* the best so far: the first start's */
    perp_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_push_reaches_its_exact_optimum_from_every_start),
        cmocka_unit_test(the_push_follows_its_known_optima_as_nodes_grow),
        cmocka_unit_test(many_nodes_take_one_start),
        cmocka_unit_test(free_switch_times_give_the_optimum_of_continuous_time),
        cmocka_unit_test(a_switch_falls_on_a_node),
        cmocka_unit_test(phases_are_linked_by_a_jump),
        cmocka_unit_test(phases_share_a_horizon),
        cmocka_unit_test(a_parameter_has_a_value_in_each_phase),
        cmocka_unit_test(smooth_problems_reach_their_known_optima),
        cmocka_unit_test(rounding_in_a_row_is_no_scale),
        cmocka_unit_test(costates_are_the_slopes_of_the_cost),
        cmocka_unit_test(costates_begin_with_the_plan),
        cmocka_unit_test(solving_again_changes_nothing),
        cmocka_unit_test(theta_is_of_second_order),
        cmocka_unit_test(radau_methods_have_their_order),
        cmocka_unit_test(a_pendulum_is_swung_up),
        cmocka_unit_test(an_initial_value_follows_what_is_free),
        cmocka_unit_test(conditions_hold_where_phases_begin),
        cmocka_unit_test(ipopt_agrees_with_the_own_back_end),
        cmocka_unit_test(every_treatment_of_pairs_verifies),
        cmocka_unit_test(a_block_that_may_hit_the_wall_is_not_braked),
        cmocka_unit_test(a_finger_flips_a_block),
        cmocka_unit_test(contact_examples_settle_as_nodes_grow),
        cmocka_unit_test(friction_that_grows_leads_to_the_better_optimum),
        cmocka_unit_test(starts_give_the_same_answer_by_any_number_of_threads),
        cmocka_unit_test(starts_by_threads_can_be_stopped),
        cmocka_unit_test(goals_out_of_reach_end_with_what_conflicts),
    };
    return run_all(tests);
}
