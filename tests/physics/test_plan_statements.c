/* What a plan block can say besides equations and bounds: each statement beside a plan whose optimum is known. */

#include "runs.h"

/* The plan of a model by a method; the caller destroys it with its model. */
static perp_plan *plan_by(perp_model *m, perp_plan_method method, perp_plan_result *r)
{
    perp_diag diag = {0};
    perp_plan *plan;
    perp_plan_options o = perp_plan_options_default(m);
    o.method = method;
    if (perp_plan_create(m, &o, &plan, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    assert_int_equal(perp_plan_solve(plan, r, &diag), PERP_OK);
    if (!perp_plan_holds(r->outcome)) fail_msg("%s", perp_diag_text(&diag));
    assert_true(r->defect <= 1e-8 && r->conditions <= 1e-8 && r->bounds <= 1e-8);
    perp_diag_clear(&diag);
    return plan;
}

static void free_plan(perp_plan *plan, perp_model *m)
{
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

/* A model whose input `ref` is a table with these rows. */
static perp_model *with_table(const char *text, const char *rows)
{
    perp_trajectory *table;
    perp_model *m = parse_model(text);
    assert_int_equal(perp_trajectory_parse(rows, strlen(rows), "rows", &table, NULL), PERP_OK);
    assert_int_equal(perp_model_set_input_table(m, "ref", table, NULL, "rows.csv", NULL), PERP_OK);
    perp_trajectory_destroy(table);
    return m;
}

static void refused(perp_model *m, const char *message)
{
    perp_diag diag = {0};
    perp_plan *plan;
    assert_int_equal(perp_plan_create(m, NULL, &plan, &diag), PERP_ERR_MODEL);
    if (!strstr(perp_diag_text(&diag), message)) fail_msg("%s", perp_diag_text(&diag));
    perp_diag_clear(&diag);
    perp_model_destroy(m);
}

#define CART "input u in [-2, 2]\nstate x = 0, v = 0\nder(x) = v\nder(v) = u\n"
#define ROWS "t,ref\n0,0\n1,1\n2,0.5\n4,2\n"
#define TRACK(horizon, more)                                                                       \
    CART "plan {\n" horizon "\nnodes 41\nminimize integral((x - ref)^2 + 0.01*u^2)" more "\n"

/* A table is the function that it draws, in every method, whether the plan's length is given or chosen. */
static void a_table_is_followed(void **state)
{
    (void)state;
    static const perp_plan_method by[] = {PERP_PLAN_BACKWARD_EULER, PERP_PLAN_THETA,
                                          PERP_PLAN_RADAU5};
    static const char *const plan[] = {TRACK("horizon 4", ""),
                                       TRACK("horizon free in [1, 6]", " - time")};
    for (int i = 0; i < 6; i++) {
        perp_plan_result r[2] = {{.size = sizeof *r}, {.size = sizeof *r}};
        for (int k = 0; k < 2; k++) {
            char text[1024];
            snprintf(text, sizeof text, "input ref = %s\n%s%s}\n",
                     k ? "t - 1.5*max(0, t - 1) + 1.25*max(0, t - 2)" : "0", plan[i / 3],
                     k && i >= 3 ? "t <= 4\n" : ""); /* where the table ends */
            perp_model *m = k ? parse_model(text) : with_table(text, ROWS);
            free_plan(plan_by(m, by[i % 3], &r[k]), m);
        }
        assert_near(r[0].cost, r[1].cost, 1e-7);
        assert_near(r[0].horizon, i < 3 ? 4 : r[1].horizon, 1e-6);
        assert_true(i >= 3 || r[0].outcome == PERP_PLAN_GLOBAL);
    }
}

static void a_table_that_is_too_short_is_named(void **state)
{
    (void)state;
    refused(with_table("input ref = 0\n" TRACK("horizon 5", "") "}\n", ROWS),
            "test.perp:1:7: the table of 'ref' ends at t = 4, the plan at 5");
    refused(with_table("input ref = 0\n" TRACK("horizon 3", "") "}\n", "t,ref\n1,0\n5,1\n"),
            "test.perp:1:7: the table of 'ref' begins at t = 1, the plan at 0");
    refused(
        with_table("input ref = 0\n" TRACK("horizon 3", "") "}\n", "# held ref\nt,ref\n0,0\n5,1\n"),
        "is in pieces");
}

/* The last row's column; the plan's first row's. */
static double at_end(const perp_plan *plan, int column)
{
    double row[32];
    perp_plan_row(plan, perp_plan_rows(plan) - 1, row);
    return row[column];
}

static double at_start(const perp_plan *plan, int column)
{
    double row[32];
    perp_plan_row(plan, 0, row);
    return row[column];
}

/* A plan that ends as it begins is the same with start(x) and with free parameters at both ends. */
static void a_plan_may_end_as_it_begins(void **state)
{
    (void)state;
    static const char *const said[] = {
        "free x\nfree v\nat end: x = start(x), v = start(v)\n",
        "free a\nfree b\nat start: x = a, v = b\nat end: x = a, v = b\n",
        "free x\nfree v\nat start: x = end(x), v = end(v)\n"};
    double cost[3];
    for (int i = 0; i < 3; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "param a = 0, b = 0\ninput u\nstate x = 0, v = 0\nder(x) = v\n"
                 "der(v) = u - x\nplan {\nhorizon 3\nnodes 31\nmethod radau3\n"
                 "minimize integral(u^2)\nat 50%%: x = 1\n%s}\n",
                 said[i]);
        perp_model *m = parse_model(text);
        perp_plan_result r = {.size = sizeof r};
        perp_plan *plan = plan_by(m, PERP_PLAN_RADAU3, &r);
        for (int c = 1; c <= 2; c++) assert_near(at_start(plan, c), at_end(plan, c), 1e-7);
        cost[i] = r.cost;
        assert_int_equal(r.on_mesh, PERP_PLAN_GLOBAL);
        free_plan(plan, m);
    }
    assert_near(cost[1], cost[0], 1e-9);
    assert_near(cost[2], cost[0], 1e-9);
}

/* start(x) is where the plan begins now, also in a control loop and on a finer mesh. */
static void the_start_is_that_of_the_solve(void **state)
{
    (void)state;
    perp_model *m =
        parse_model("input u\nstate x = 0.3, v = 0\nder(x) = v\nder(v) = u\nplan {\n"
                    "horizon 1\nnodes 5\nmethod radau3\nminimize integral(u^2)\n"
                    "at end: x - start(x) = 1 + start(v^2), v = 0\nx <= end(x) + 0.5\n}\n");
    perp_plan_options o = perp_plan_options_default(m);
    perp_plan_result r = {.size = sizeof r};
    perp_plan *plan;
    o.motion_tol = 1e-6;
    assert_int_equal(perp_plan_create(m, &o, &plan, NULL), PERP_OK);
    assert_int_equal(perp_plan_solve(plan, &r, NULL), PERP_OK);
    assert_near(at_end(plan, 1), 1.3, 1e-9);
    assert_near(r.cost, 12, 1e-5);
    assert_int_equal(perp_plan_set_state(plan, 0, 2, NULL), PERP_OK);
    assert_int_equal(perp_plan_set_state(plan, 1, -1, NULL), PERP_OK);
    assert_int_equal(perp_plan_solve(plan, &r, NULL), PERP_OK);
    assert_true(perp_plan_holds(r.outcome));
    assert_near(at_end(plan, 1), 4, 1e-9);
    free_plan(plan, m);
}

/* What is minimised at a node is what a phase minimises at its end; a power of time is that of t at the end. */
static void costs_stand_at_nodes(void **state)
{
    (void)state;
    static const char *const said[][2] = {
        {"horizon 2\nnodes 21\nminimize integral(u^2) + 100*at(50%, (x - 1)^2)\n",
         "phase a {\nhorizon 1\nnodes 11\nminimize 100*end((x - 1)^2)\n}\nphase b {\nhorizon 1\n"
         "nodes 11\n}\nminimize integral(u^2)\n"},
        {"horizon 2\nnodes 21\nminimize integral(u^2) + 100*at(t = 1, (x - 1)^2)\n",
         "horizon 2\nnodes 21\nminimize integral(u^2) + 100*at(50%, (x - 1)^2)\n"},
        {"horizon 2\nnodes 21\nfree v\nminimize integral(u^2) + 3*at(start, v^2)\n",
         "horizon 2\nnodes 21\nfree v\nminimize integral(u^2) + 3*end(start(v)^2)\n"},
        {"horizon free in [0.5, 9]\nnodes 21\nminimize 2*time^2 + integral(u^2)\n",
         "horizon free in [0.5, 9]\nnodes 21\nminimize 2*end(t^2) + integral(u^2)\n"},
        {"horizon 3\nnodes 21\nminimize 2*time^2 + integral(u^2)\n",
         "horizon 3\nnodes 21\nminimize 18*end(1) + integral(u^2)\n"},
        {"phases 2\nhorizon free in [0.5, 9]\nnodes 21\nminimize time^3 + integral(u^2)\n",
         "phases 2\nhorizon free in [0.5, 9]\nnodes 21\nminimize end(t^3) + integral(u^2)\n"}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        perp_plan_result r[2] = {{.size = sizeof *r}, {.size = sizeof *r}};
        for (int k = 0; k < 2; k++) {
            char text[1024];
            snprintf(text, sizeof text, CART "plan {\n%sat end: x = 2, v = 0\n}\n", said[i][k]);
            perp_model *m = parse_model(text);
            free_plan(plan_by(m, PERP_PLAN_RADAU3, &r[k]), m);
        }
        assert_near(r[0].cost, r[1].cost, 1e-6 * r[1].cost);
    }
}

/* 1 m from rest to rest by |u| <= 2 where u changes by at most 3 a second: 2 for 0.1384 s, then down to -2, and so on: 1.61020 s.
 * From u = 0: T^3 = 32/3 where u just does not reach 2. */
static void an_input_may_be_bounded_in_its_rate(void **state)
{
    (void)state;
    static const perp_plan_method by[] = {PERP_PLAN_BACKWARD_EULER, PERP_PLAN_THETA,
                                          PERP_PLAN_RADAU3};
    for (int i = 0; i < 6; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 CART "plan {\nhorizon free in [0.5, 9]\nnodes 121\nminimize time\n%s"
                      "at end: x = 1, v = 0%s\n%s-3 <= (u - pre(u))/h <= 3\n}\n",
                 i % 3 == 2 ? "inputs held\n" : "", i < 3 ? "" : ", u = 0",
                 i < 3 ? "" : "at start: u = 0\n");
        perp_model *m = parse_model(text);
        perp_plan_result r = {.size = sizeof r};
        perp_plan *plan = plan_by(m, by[i % 3], &r);
        assert_near(r.cost, i < 3 ? 1.6102 : cbrt(32.0 / 3), i % 3 == 1 ? 1e-3 : 0.03);
        free_plan(plan, m);
    }
}

#define BALL(contact, method)                                                                      \
    "param g = 9.81, e = 0.8, ux = 3, uz = 1\nstate x = 0, z = 1.5, vx = 3, vz = 1\n"              \
    "var p\nder(x) = vx\nder(z) = vz\nder(vx) = 0\nder(vz) = p - g\n" contact                      \
    "\nplan {\nhorizon free in [0.2, 3] guess 0.9\nphases 2\nnodes 51\nguess simulate\n" method    \
    "free ux in [-10, 10]\nfree uz in [-10, 10]\nminimize end(ux^2 + uz^2)\n"                      \
    "at start: vx = ux, vz = uz\nat end: x = 3, z = 0.6, vz >= 0\n}\n"
#define NEWTON "0 <= p perp vz + e*pre(vz) >= 0 when z + h*vz <= 0"

/* The least ux^2 + uz^2 with which the ball bounces once and then rises through (3, 0.6), by ternary search over the time of the fall. */
static double least_throw(void)
{
    double lo = 0.3, hi = 0.8, cost[2] = {0};
    for (int i = 0; i < 100; i++) {
        double part = (hi - lo) / 3;
        for (int k = 0; k < 2; k++) {
            double fall = lo + (k + 1) * part, uz = 4.905 * fall - 1.5 / fall,
                   up = 0.8 * (9.81 * fall - uz),
                   rise = (up - sqrt(up * up - 2 * 9.81 * 0.6)) / 9.81, ux = 3 / (fall + rise);
            cost[k] = ux * ux + uz * uz;
        }
        if (cost[0] < cost[1])
            hi -= part;
        else
            lo += part;
    }
    return cost[0];
}

/* Newton's law at one step, whose velocity is turned round to the last digit; the cost comes to the least without steps in the first order of
 * the step. */
static void a_ball_bounces_in_a_plan(void **state)
{
    (void)state;
    double least = least_throw(), last = 0;
    assert_near(least, 13.65297, 1e-4);
    for (int nodes = 51; nodes <= 101; nodes += 50) {
        perp_model *m = parse_model(BALL(NEWTON, ""));
        perp_plan_options o = perp_plan_options_default(m);
        perp_plan *plan;
        perp_plan_result r = {.size = sizeof r};
        double before[32], row[32];
        int bounces = 0;
        o.nodes = nodes;
        assert_int_equal(perp_plan_create(m, &o, &plan, NULL), PERP_OK);
        assert_int_equal(perp_plan_solve(plan, &r, NULL), PERP_OK);
        assert_int_equal(r.outcome, PERP_PLAN_LOCAL_MINIMUM);
        assert_true(fmax(fmax(r.defect, r.complementarity), r.conditions) <= 1e-9);
        assert_true(r.cost > least && r.cost < least * (1 + 1.1 / nodes));
        if (last > 0) assert_near((r.cost - least) / (last - least), 0.5, 0.05);
        last = r.cost;
        perp_plan_row(plan, 0, before);
        for (int k = 1; k < nodes; k++) { /* t, x, z, vx, vz, p */
            perp_plan_row(plan, k, row);
            if (row[5] > 0) {
                assert_near(row[4], -0.8 * before[4], 1e-9);
                assert_true(before[2] + (row[0] - before[0]) * before[4] <= 1e-9);
                bounces++;
            }
            memcpy(before, row, sizeof row);
        }
        assert_int_equal(bounces, 1);
        assert_int_equal(perp_plan_iterate(plan, &r, NULL), PERP_ERR_MODEL);
        free_plan(plan, m);
    }
}

/* A start that falls through the ground, left after one iteration, is no plan: the pair is judged where its guard holds. */
static void a_bounce_that_is_left_out_is_seen(void **state)
{
    (void)state;
    perp_model *m = parse_model(
        "state z = 1, v = 0\nvar p\ninput u in [-1, 1]\nder(z) = v\nder(v) = p - 9.81 + u\n"
        "0 <= p perp v + 0.8*pre(v) >= 0 when z + h*v <= 0\n"
        "plan {\nhorizon 1\nnodes 11\nminimize integral(u^2)\n}\n");
    perp_plan_options o = perp_plan_options_default(m);
    perp_plan *plan;
    perp_plan_result r = {.size = sizeof r};
    o.restarts = o.replay = 0;
    o.max_iter = 1;
    assert_int_equal(perp_plan_create(m, &o, &plan, NULL), PERP_OK);
    double v = 0, z = 1;
    for (int k = 0; k < 11; k++) {
        double row[] = {0.1 * k, z, v, 0, 0};
        assert_int_equal(perp_plan_set_guess_row(plan, k, row), PERP_OK);
        v -= 0.981;
        z += 0.1 * v;
    }
    assert_int_equal(perp_plan_solve(plan, &r, NULL), PERP_OK);
    assert_false(perp_plan_holds(r.outcome));
    assert_true(r.complementarity > 1e-3);
    free_plan(plan, m);
}

static void what_cannot_be_switched_is_refused(void **state)
{
    (void)state;
    refused(parse_model(BALL(NEWTON " and vz <= 0", "")), "by one comparison");
    refused(parse_model(BALL(NEWTON, "method radau3\n")), "from step to step");
    refused(parse_model(BALL("-1 <= p <= 1 perp vz when z <= 0", "")), "two-sided");
}

/* A thermostat that is on until 21 degrees has to be taken there before it is off at 20: 2 ln(35/29) + 2 ln(11/10). */
static void a_switch_with_hysteresis_is_planned(void **state)
{
    (void)state;
    perp_model *m = parse_model(
        "param low = 19, high = 21\ninput u in [0, 20]\nstate T = 15, q = 1\n"
        "der(T) = u*q - 0.5*(T - 10)\n0 <= q <= 1 perp T - low - (high - low)*pre(q)\n"
        "plan {\nhorizon free in [0.1, 5]\nphases 2\nnodes 21\ninputs held\nminimize time\n"
        "at end: T = 20, q = 0\n}\n");
    perp_plan_result r = {.size = sizeof r};
    perp_plan *plan = plan_by(m, PERP_PLAN_RADAU5, &r);
    double row[16], warmest = 0;
    assert_near(r.cost, 2 * log(35.0 / 29) + 2 * log(1.1), 5e-4);
    for (int k = 0; k < perp_plan_rows(plan); k++) {
        perp_plan_row(plan, k, row);
        warmest = fmax(warmest, row[1]);
    }
    assert_near(warmest, 21, 0.01);
    free_plan(plan, m);
}

/* Heating that is on or off in each of six steps: what comes of every choice is known, and every plan is one of them; of several seeds one finds
 * the best. */
static void choices_are_whole(void **state)
{
    (void)state;
    perp_plan_result r = {.size = sizeof r};
    perp_plan *plan;
    double cost[64], least = INFINITY, best = INFINITY, row[16];
    for (int choice = 0; choice < 64; choice++) {
        double T = 15;
        cost[choice] = 0;
        for (int k = 0; k < 6; k++) {
            T = (T + 0.5 * (8 * (choice >> k & 1) + 2)) / 1.1;
            cost[choice] += 0.5 * (T - 20) * (T - 20);
        }
        least = fmin(least, cost[choice]);
    }
    for (unsigned seed = 1; seed <= 4; seed++) {
        perp_model *m =
            parse_model("input z in [0, 1]\nstate T = 15\nvar on\nder(T) = 8*z - 0.2*(T - 10)\n"
                        "0 <= on perp 1 - on >= 0\n"
                        "plan {\nhorizon 3\nnodes 7\nminimize integral((T - 20)^2)\nz = on\n}\n");
        perp_plan_options o = perp_plan_options_default(m);
        o.start = PERP_PLAN_START_RANDOM;
        o.seed = seed;
        o.tries = 20;
        assert_int_equal(perp_plan_create(m, &o, &plan, NULL), PERP_OK);
        assert_int_equal(perp_plan_solve(plan, &r, NULL), PERP_OK);
        assert_true(perp_plan_holds(r.outcome));
        int choice = 0;
        for (int k = 1; k < 7; k++) { /* t, T, on, z */
            perp_plan_row(plan, k, row);
            assert_near(row[3], round(row[3]), 1e-9);
            choice += (int)round(row[3]) << (k - 1);
        }
        assert_near(r.cost, cost[choice], 1e-8);
        best = fmin(best, r.cost);
        free_plan(plan, m);
    }
    assert_near(best, least, 1e-8);
}

#define MOVED(lines)                                                                               \
    "input u in [-1, 1]\nstate x = 0, v = 0\nvar y\nder(x) = v\nder(v) = u\ny = x\n"               \
    "plan {\nhorizon 2\nnodes 11\nminimize integral(u^2)\nat end: x = 1, v = 0\n" lines "\n}\n"

/* Guesses that are no numbers are named, and nothing is put in their place. */
static void guesses_are_numbers(void **state)
{
    (void)state;
    refused(parse_model(MOVED("guess v = sqrt(1 - t)")), "12:7: the guess of 'v' is not a number");
    refused(parse_model(MOVED("guess v = sqrt(1 - t)")), "at t = 1.2;");
    refused(parse_model(MOVED("guess y = log(t - 1)")), "the guess of 'y' is not a number");
    refused(parse_model(MOVED("guess u = 1/(t - 1)")), "the guess of 'u' is infinite at t = 1;");
    refused(parse_model("param r = -1, k = 1\ninput u in [-1, 1]\nstate x = 0\nder(x) = k*u\n"
                        "plan {\nhorizon free in [1, 9] guess sqrt(r)\nnodes 11\nminimize time\n"
                        "at end: x = 1\n}\n"),
            "6:1: the guess of 'horizon' is not a number");
    refused(parse_model("param r = -1, k = 1\ninput u in [-1, 1]\nstate x = 0\nder(x) = k*u\n"
                        "plan {\nhorizon 1\nnodes 11\nfree k in [1, 2]\nguess k = sqrt(r)\n"
                        "minimize end(k)\nat end: x = 1\n}\n"),
            "9:7: the guess of 'k' is not a number");
    perp_plan_result r = {.size = sizeof r};
    perp_model *m = parse_model(MOVED("guess v = sqrt(2 - t)"));
    free_plan(plan_by(m, PERP_PLAN_BACKWARD_EULER, &r), m);
}

static void guesses_of_tables_are_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *rows, *says;
    } tables[] = {
        {"t,x,y\n0,0,\n1,nan,1\n2,1,0\n", "start.csv: the guess of 'x' is not a number in row 2"},
        {"t,x,y\n0,0,0\n1,1,1\n2,1,\n", "the guess of 'y' is not a number in row 3 (t = 2)"},
        {"t,x,y\n0,,0\n1,1,1\n2,1,1\n", "the guess of 'x' is not a number in row 1"},
        {"t,y\n0,\n1,\n", "the guess of 'y' is not a number in row 2"},
        {"t,x,y,u\n0,0,,\n1,1,1,1\n2,1,1,0\n", NULL}, /* as a simulation has them */
        {"t,z,x\n0,nan,0\n1,nan,1\n", NULL},          /* what is not taken */
    };
    perp_model *m = parse_model(MOVED(""));
    perp_plan *plan;
    double row[] = {0.2, 0, INFINITY, 0, 0}, as_it_is[] = {0.2, NAN, NAN, NAN, NAN};
    assert_int_equal(perp_plan_create(m, NULL, &plan, NULL), PERP_OK);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        perp_trajectory *table;
        perp_diag diag = {0};
        const char *rows = tables[i].rows, *says = tables[i].says;
        assert_int_equal(perp_trajectory_parse(rows, strlen(rows), "start.csv", &table, NULL),
                         PERP_OK);
        assert_int_equal(perp_plan_set_guess(plan, table, "start.csv", &diag),
                         says ? PERP_ERR_DATA : PERP_OK);
        if (says && !strstr(perp_diag_text(&diag), says)) fail_msg("%s", perp_diag_text(&diag));
        perp_diag_clear(&diag);
        perp_trajectory_destroy(table);
    }
    assert_int_equal(perp_plan_set_guess_row(plan, 1, row), PERP_ERR_ARG);
    assert_int_equal(perp_plan_set_guess_row(plan, 1, as_it_is), PERP_OK);
    free_plan(plan, m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guesses_are_numbers),
        cmocka_unit_test(guesses_of_tables_are_numbers),
        cmocka_unit_test(a_plan_may_end_as_it_begins),
        cmocka_unit_test(the_start_is_that_of_the_solve),
        cmocka_unit_test(costs_stand_at_nodes),
        cmocka_unit_test(an_input_may_be_bounded_in_its_rate),
        cmocka_unit_test(a_ball_bounces_in_a_plan),
        cmocka_unit_test(a_bounce_that_is_left_out_is_seen),
        cmocka_unit_test(what_cannot_be_switched_is_refused),
        cmocka_unit_test(a_switch_with_hysteresis_is_planned),
        cmocka_unit_test(choices_are_whole),
        cmocka_unit_test(a_table_is_followed),
        cmocka_unit_test(a_table_that_is_too_short_is_named),
    };
    return run_all(tests);
}
