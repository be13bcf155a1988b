/* What a plan is called: words are shown, not hoped for. Maxima, saddles, minima at bounds and of pairs, in closed
 * form; motions that exist on their mesh only; the unit of the cost. */

#include "plan/nlp.h"
#include "runs.h"

#include <stdio.h>

#define CORNER(objective, more)                                                                    \
    "input x1\nvar x2\n0 <= x1 perp x2 >= 0\nplan {\n horizon 1\n nodes 2\n minimize "             \
    "end(" objective ")\n" more "}\n"
#define STILL(cost)                                                                                \
    "input u in [-2, 2], w in [-1, 1]\nstate x = 0\nder(x) = 0*x\nplan {\n horizon 1\n nodes 5\n " \
    "minimize integral(" cost ")\n}\n"

/* Solve a plan as it is written, with one start and no others; says, nullable, is part of what it said. */
static perp_plan_result plan_said(perp_plan_backend backend, const char *text, const char *says,
                                  perp_diag *diag)
{
    perp_model *m;
    perp_plan *plan;
    perp_plan_result r = {.size = sizeof r};
    if (perp_model_parse(text, strlen(text), "words.perp", &m, diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(diag));
    perp_plan_options o = perp_plan_options_default(m);
    o.restarts = 0;
    o.backend = backend;
    if (perp_plan_create(m, &o, &plan, diag) != PERP_OK) fail_msg("%s", perp_diag_text(diag));
    assert_int_equal(perp_plan_solve(plan, &r, diag), PERP_OK);
    if (says && !strstr(perp_diag_text(diag), says))
        fail_msg("expected '%s' in '%s'", says, perp_diag_text(diag));
    perp_plan_destroy(plan);
    perp_model_destroy(m);
    return r;
}

static perp_plan_result plan_with(perp_plan_backend backend, const char *text, const char *says)
{
    perp_diag diag = {0};
    perp_plan_result r = plan_said(backend, text, says, &diag);
    perp_diag_clear(&diag);
    return r;
}

static perp_plan_result plan_text(const char *text, const char *says)
{
    return plan_with(PERP_PLAN_OWN, text, says);
}

static void expect(perp_plan_outcome word, double cost, const char *text)
{
    perp_plan_result r = plan_text(text, NULL);
    if (r.on_mesh != word || fabs(r.cost - cost) > 1e-6 * fmax(1, fabs(cost)))
        fail_msg("%s, cost %.9g for %s, %.9g (stationarity %g, curvature %d):\n%s",
                 perp_plan_outcome_name(r.on_mesh), r.cost, perp_plan_outcome_name(word), cost,
                 r.stationarity, r.curvature, text);
}

/* The default guess, the middle of the ranges, is the worst point of the first, a saddle of the next two. */
static void maxima_and_saddles_are_left(void **state)
{
    (void)state;
    expect(PERP_PLAN_LOCAL_MINIMUM, -4, STILL("w^2 - u^2"));
    expect(PERP_PLAN_LOCAL_MINIMUM, -1, STILL("u^2 - w^2"));
    expect(PERP_PLAN_STATIONARY_S, -4, STILL("-u^2")); /* and any w */
    expect(PERP_PLAN_LOCAL_MINIMUM, -2, STILL("u*w"));
    expect(PERP_PLAN_LOCAL_MINIMUM, 0, STILL("(u^2 - 1)^2 + w^2"));
    /* hanging is a maximum of the height with u = 0; the way over the hill is a saddle, around it is not */
    expect(PERP_PLAN_LOCAL_MINIMUM, -5.24724894,
           "input u in [-5, 5]\nstate th = 0, w = 0\nder(th) = w\nder(w) = -9.81*sin(th) + u\n"
           "plan {\n horizon 2\n nodes 41\n minimize integral(0.001*u^2) + 10*end(cos(th))\n}\n");
    expect(PERP_PLAN_LOCAL_MINIMUM, 13.3449025,
           "input ux in [-10, 10], uy in [-10, 10]\nstate x = -1, y = 0\nder(x) = ux\nder(y) = uy\n"
           "plan {\n horizon 1\n nodes 41\n"
           " minimize integral(ux^2 + uy^2 + 200*exp(-4*(x^2 + y^2)))\n at end: x = 1, y = 0\n}\n");
    expect(PERP_PLAN_LOCAL_MINIMUM, 0.024288994,
           "param g = 9.81\ninput T in [-4, 4]\nstate th = 0, om = 0\nder(th) = om\n"
           "der(om) = -g*sin(th) + T\nplan {\n horizon 4\n nodes 81\n method radau3\n"
           " minimize integral(0.001*T^2) + end((1 + cos(th))^2 + 0.1*om^2)\n}\n");
}

static void minima_are_called_what_is_shown(void **state)
{
    (void)state;
    expect(PERP_PLAN_GLOBAL, 1, STILL("(u - 3)^2 + w^2")); /* at a bound */
    expect(PERP_PLAN_GLOBAL, 0, STILL("(u - w)^2"));       /* a line of minima */
    expect(PERP_PLAN_GLOBAL, -3, STILL("u - w"));
    expect(PERP_PLAN_LOCAL_MINIMUM, exp(-2), STILL("exp(u) + w^2"));
    expect(PERP_PLAN_STATIONARY_S, 0,
           STILL("u^4 + w^2")); /* a minimum, of which the second order is silent */
    expect(PERP_PLAN_STATIONARY_S, -1, STILL("-cos(u - w)")); /* a line of minima */
    /* nothing to be minimised */
    expect(PERP_PLAN_GLOBAL, 0,
           "input u in [-2, 2]\nstate x = 0.1\nder(x) = sin(x) + u\nplan {\n horizon 1\n nodes 5\n"
           " at end: x = 1\n}\n");
}

#define PLANE(cost)                                                                                \
    "input u in [-2, 2], w in [-1, 1]\nstate x = 0, y = 0\nder(x) = u\nder(y) = w\nplan {\n "      \
    "horizon 1\n nodes 2\n minimize " cost "\n}\n"

/* A cost that is 1e10 times larger elsewhere hides nothing of what it is where its minimum is. */
static void a_cost_that_is_large_elsewhere_hides_nothing(void **state)
{
    (void)state;
    expect(PERP_PLAN_GLOBAL, 0, PLANE("end(1e12*(x - 1)^2 + (y - 0.5)^2)"));
    expect(PERP_PLAN_GLOBAL, -1, PLANE("end(1e10*(x - 1)^2 - y)"));
    expect(PERP_PLAN_GLOBAL, -1, PLANE("end(1e10*x - y) - 1e10*integral(u)")); /* which cancel */
    expect(PERP_PLAN_GLOBAL, -1, PLANE("1e10*end(abs(x - 1)) - end(y)"));
    expect(PERP_PLAN_GLOBAL, -1, PLANE("1e10*end(max(x, 0)) - end(y)"));
    expect(PERP_PLAN_GLOBAL, 1e9 - 1, PLANE("end(1e9 + (x - 1)^2 - y)"));
    expect(PERP_PLAN_LOCAL_MINIMUM, 2,
           "input u in [-1, 1]\nstate x = 0, v = 0\nder(x) = v\nder(v) = u\nplan {\n"
           " horizon free in [0.1, 10] guess 3\n nodes 21\n method radau3\n inputs held\n"
           " minimize time + 1e9*end(cosh(x - 1) - 1 + v^2)\n}\n");
    perp_plan_result r = plan_text(PLANE("end(1e10*(cosh(x - 1) - 1) - y + 2*y^2)"), NULL);
    if (r.outcome < PERP_PLAN_FEASIBLE && !(fabs(r.cost + 0.125) <= 1e-6))
        fail_msg("%s, cost %.9g for -0.125", perp_plan_outcome_name(r.outcome), r.cost);
}

/* What a condition asks of a corner that bends away from its bound is asked of an unknown; of one that bends towards it, and of an equation, of
 * the corner itself. */
static void corners_of_conditions_are_unknowns(void **state)
{
    (void)state;
    expect(PERP_PLAN_GLOBAL, 4.625,
           PLANE("end((x - 2)^2 + (y - 2)^2)\n at end: abs(x) + abs(y - 1) <= 0.5, abs(y) + abs(x) "
                 "<= 1"));
    expect(PERP_PLAN_GLOBAL, 1, PLANE("end((x - 1)^2 + y^2)\n at end: max(0, x) <= 0")); /* on it */
    expect(PERP_PLAN_GLOBAL, 1, PLANE("end((x - 1)^2 + y^2)\n at end: abs(x) + x <= 0"));
    expect(PERP_PLAN_GLOBAL, -2,
           PLANE("end(-x - y)\n at end: x <= min(2 - y, 5), y <= min(x + 1, 1)"));
    expect(PERP_PLAN_GLOBAL, -1, /* one unknown for cost and conditions, which keeps its bound */
           PLANE("end(abs(x) - y - x)\n at end: abs(x) <= 0.5\n abs(y) <= 1"));
    expect(PERP_PLAN_LOCAL_MINIMUM, 0.68,
           PLANE("end(x^2 + (y - 1.8)^2)\n at end: 0.2 <= abs(x) <= 1, abs(y) <= 1"));
    expect(PERP_PLAN_LOCAL_MINIMUM, 0.5,
           PLANE("end(x^2 + y^2)\n at end: abs(x) + abs(y) >= 1\n guess u = 1\n guess w = 0.5"));
    expect(PERP_PLAN_LOCAL_MINIMUM, 1,
           PLANE("integral(u^2) + end(y^2)\n at end: abs(x) = 1\n guess u = 0.5"));
    expect(
        PERP_PLAN_GLOBAL, 0.8, /* by theta, and at a node within */
        "input u in [-5, 5]\nstate x = 0\nder(x) = u\nplan {\n method theta\n horizon 1\n nodes "
        "11\n"
        " minimize integral(abs(u)) + end(abs(x))\n abs(u) <= 1.2\n at 50%: abs(x - 0.5) <= 0.1\n"
        " at end: x >= abs(0.3 - x)\n}\n");
    expect(
        PERP_PLAN_LOCAL_MINIMUM, 1, /* in phases, and where they begin */
        "input u in [-5, 5]\nstate x = 0\nder(x) = u\nplan {\n minimize integral(u^2)\n max(x, -x) "
        "<= 1\n"
        " phase a {\n horizon 0.5\n nodes 6\n abs(u) <= 3\n }\n phase b {\n horizon 0.5\n nodes 6\n"
        " abs(x - 0.5) <= 0.5\n at start: abs(x) <= 0.6\n at end: x = 1\n }\n}\n");
    perp_plan_result r =
        plan_text("input u in [-10, 10]\nstate x = 0, v = 0\nder(x) = v\nder(v) = u\nplan {\n"
                  " horizon 1\n nodes 21\n minimize integral(u^2)\n at end: x = 1\n"
                  " max(v, -5*v) <= 0.5\n}\n",
                  "'max(v, -5*v) <= 0.5'");
    assert_int_equal(r.outcome, PERP_PLAN_INFEASIBLE);
}

#define PHASES(length, end)                                                                        \
    "input u in [-2, 2]\nstate x = 0\nder(x) = u\nplan {\n minimize integral(u^2)\n phase a {\n"   \
    " horizon " length "\n nodes 6\n }\n phase b {\n horizon 1.5\n nodes 6\n at end: x = " end     \
    "\n }\n}\n"

/* Named phases whose lengths are given are as linear as one horizon: 2.5 s at no more than 2 m/s make 5 m. */
static void phases_of_given_lengths_are_proved(void **state)
{
    (void)state;
    perp_plan_result r = plan_text(PHASES("1", "5.01"), "by proof");
    assert_int_equal(r.outcome, PERP_PLAN_INFEASIBLE);
    r = plan_text(PHASES("1", "-5.01"), "by proof");
    assert_int_equal(r.outcome, PERP_PLAN_INFEASIBLE);
    expect(PERP_PLAN_LOCAL_MINIMUM, 4.99 * 4.99 / 2.5, PHASES("1", "4.99"));
    expect(PERP_PLAN_LOCAL_MINIMUM, 3.6, PHASES("1", "-3"));
    r = plan_text(PHASES("free in [0.5, 1] guess 0.7", "5.01"), NULL); /* no proof */
    assert_int_equal(r.outcome, PERP_PLAN_LOCALLY_INFEASIBLE);
    r = plan_text(PHASES("1", "5"), NULL); /* at the edge: it exists */
    assert_true(r.outcome != PERP_PLAN_INFEASIBLE);
}

/* At a corner slopes are those of one side or a mean, and behind a jump the cost is another one: neither proves anything. */
static void corners_and_jumps_of_a_cost_prove_nothing(void **state)
{
    (void)state;
    expect(PERP_PLAN_FEASIBLE, 0, STILL("u^2 - abs(u) + w^2")); /* a summit between -1/4 and -1/4 */
    expect(PERP_PLAN_FEASIBLE, 0, STILL("u^2 + min(u, -u) + w^2"));
    expect(PERP_PLAN_FEASIBLE, 0, STILL("choose(u > 0, -1, 0) + u^2 + w^2"));
    expect(PERP_PLAN_FEASIBLE, 0,
           "input u in [-1, 1]\nstate x = 0\nder(x) = u - abs(x)\nplan {\n horizon 1\n nodes 21\n"
           " minimize end(x^2 - 0.5*abs(x)) + integral(0.001*u^2)\n}\n");
    /* -10 and -3/4 are less */
    expect(PERP_PLAN_LOCAL_MINIMUM, -2, STILL("choose(u > 0.5, -5*u, u) + w^2"));
    expect(PERP_PLAN_LOCAL_MINIMUM, 0, STILL("floor(u + 0.5) + u^2 + w^2"));
    expect(PERP_PLAN_LOCAL_MINIMUM, -1.1,
           "input u in [-1, 1]\nstate x = -0.1\nder(x) = u\nplan {\n horizon 1\n nodes 21\n"
           " minimize end(choose(x > 0.5, -5*x, x))\n}\n"); /* -4.5 */
    /* where they have no slope they are none */
    expect(PERP_PLAN_LOCAL_MINIMUM, 0, STILL("abs(u)^3 + u^2 + w^2"));
    expect(PERP_PLAN_LOCAL_MINIMUM, 0, STILL("u^2 + u*abs(u)/2 + w^2"));
}

/* Corners that bend upwards are unknowns: minima on them and beside them are told, and convex is what is convex. */
static void minima_on_corners_of_a_cost_are_shown(void **state)
{
    (void)state;
    expect(PERP_PLAN_GLOBAL, 0.1, STILL("abs(u - 1) + 0.1*u^2 + w^2"));
    expect(PERP_PLAN_GLOBAL, 3, STILL("abs(u - 5) + w^2"));
    expect(PERP_PLAN_GLOBAL, 0, STILL("u^2 + max(0, u - 1) + w^2"));
    expect(PERP_PLAN_GLOBAL, -0.5, STILL("-min(u, 1 - u) + w^2"));
    expect(PERP_PLAN_GLOBAL, 0.45,
           STILL("(max(abs(u), abs(u - 1)) + exp(-t)*abs(w) - w/20 + 0.4)/2"));
    expect(PERP_PLAN_LOCAL_MINIMUM, 0.0274155678, STILL("abs(sin(u) - 0.5) + 0.1*u^2 + abs(w)"));
    /* in the cost at the end, at a node, of a phase; the states do not stay on the corner */
    expect(PERP_PLAN_GLOBAL, 0.4,
           "input u in [-2, 2]\nstate x = 0\nder(x) = u\nplan {\n horizon 1\n nodes 5\n"
           " minimize end(abs(x - 1)) + 0.1*integral(u^2) + integral(0.3*abs(u))\n}\n");
    expect(PERP_PLAN_GLOBAL, 0.2,
           "input u in [-2, 2]\nstate x = 0\nder(x) = u\nplan {\n horizon 1\n nodes 5\n"
           " minimize at(50%, abs(x - 1)) + 0.1*integral(u^2)\n}\n");
    /* far below the units of a model that declares none: 0.1 is the least, whatever constant is beside it */
    static const char *constants[] = {"", " - end(1.324)", " + end(1e6)"};
    static const double least[] = {0.1, 0.1 - 1.324, 0.1 + 1e6};
    for (int i = 0; i < 3; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "input u\nstate x = 0\nder(x) = u\nplan {\n horizon 1\n nodes 11\n"
                 " minimize 1e6*end(abs(x - 1e-6)) + 1e11*integral(u^2)%s\n}\n",
                 constants[i]);
        perp_plan_result far = plan_text(text, NULL);
        assert_true(far.cost < least[i] + 1e-4 || far.outcome >= PERP_PLAN_FEASIBLE);
    }
    /* a least cost of 0, at the end of a range and on a corner */
    expect(PERP_PLAN_GLOBAL, 0,
           "input u in [-1, 1]\nstate x = 1 in [0, 5]\nder(x) = u\nplan {\n horizon 2\n nodes 11\n"
           " minimize end(x)\n}\n");
    expect(PERP_PLAN_GLOBAL, 0,
           "input u in [-1, 1]\nstate x = 0 in [0, 5]\nder(x) = u\nplan {\n horizon 2\n nodes 11\n"
           " minimize end(abs(x)) + integral(max(u, -u))\n}\n");
    /* by theta an integral and an end read the same corner of other states, and need an unknown each */
    expect(
        PERP_PLAN_GLOBAL, 0.625,
        "input u in [-1, 1]\nstate x = 0\nder(x) = u\nplan {\n horizon 1\n nodes 5\n method theta\n"
        " minimize integral(abs(x - 0.5)) + end(abs(x - 0.5)) + at(start, abs(x - 0.5))\n}\n");
    /* a corner within, of what is known, is none */
    expect(
        PERP_PLAN_GLOBAL, 0.175,
        "param p = 0.5\ninput u in [-2, 2]\nstate x = 0\nder(x) = u\nplan {\n horizon 1\n nodes 5\n"
        " minimize integral(abs(u - max(p, 0.2))) + integral(abs(x - min(t, 0.5))) + end(abs(x - "
        "0.6))\n}\n");
    /* a summit beside a valley: what bends downwards stays a corner */
    expect(PERP_PLAN_FEASIBLE, 0, STILL("u^2 - abs(u) + abs(w)"));
}

/* A corner of the cost's end is one unknown with two rows, whatever room a point has for it. */
static void room_for_corners_is_not_counted(void **state)
{
    (void)state;
    static const char text[] = "input u\nstate x = 0\nder(x) = u\nplan {\n horizon 1\n nodes 21\n"
                               " method radau3\n minimize integral(0.1*u^2) + end(abs(x - 1))\n}\n";
    perp_model *m;
    perp_plan *plan;
    assert_int_equal(perp_model_parse(text, strlen(text), "corner.perp", &m, NULL), PERP_OK);
    perp_plan_options o = perp_plan_options_default(m);
    assert_int_equal(perp_plan_create(m, &o, &plan, NULL), PERP_OK);
    perp_plan_size size = perp_plan_get_size(plan);
    assert_int_equal(size.unknowns, 20 * 2 * 2 + 1);
    assert_int_equal(size.rows, 20 * 2 + 2);
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

static void corners_of_pairs_are_judged_on_each_side(void **state)
{
    (void)state;
    expect(PERP_PLAN_LOCAL_MINIMUM, 0, CORNER("x1 + x2", "")); /* held at both sides */
    expect(PERP_PLAN_LOCAL_MINIMUM, 0, CORNER("x1^2 + x2^2 - 4*x1*x2", ""));
    expect(PERP_PLAN_LOCAL_MINIMUM, 1, CORNER("(x1 - 1)^2 + (x2 - 1)^2", ""));
    expect(PERP_PLAN_LOCAL_MINIMUM, -1, CORNER("x1^2 - x2^2", " at end: x2 <= 1\n"));
    expect(PERP_PLAN_LOCAL_MINIMUM, -1, CORNER("x2^2 - x1^2", " at end: x1 <= 1\n"));
    /* the force on a block that rests may be anything in its cone */
    expect(PERP_PLAN_LOCAL_MINIMUM, -1.21,
           "input u in [-4, 4]\nstate v = 0, x = 0\nvar f\nder(x) = v\nder(v) = u + f\n"
           "-2 <= f <= 2 perp v\nplan {\n horizon 1\n nodes 11\n minimize -end(x^2)\n"
           " guess u = 3\n}\n");
}

/* Each choice of sides at the corners of a push begins where the choice before was the same. */
static void choices_of_sides_share_their_factors(void **state)
{
    (void)state;
    perp_model *m = load_model("opty/push.perp");
    perp_plan_options o = perp_plan_options_default(m);
    perp_plan_result r = {.size = sizeof r};
    perp_plan *plan;
    o.nodes = 81;
    assert_int_equal(perp_plan_create(m, &o, &plan, NULL), PERP_OK);
    assert_int_equal(perp_plan_solve(plan, &r, NULL), PERP_OK);
    assert_true(r.both_zero > 0);
    assert_int_equal(r.on_mesh, PERP_PLAN_LOCAL_MINIMUM);
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

/* Words and plans do not depend on the unit of the cost. */
static void the_unit_of_the_cost_changes_nothing(void **state)
{
    (void)state;
    static const char *const models[] = {
        "input u in [-1, 1]\nstate x = 1\nder(x) = u\n"
        "plan {\n horizon 2\n nodes 21\n minimize %g*integral(x^2)\n}\n",
        "input u in [-9, 9]\nstate x = 0, v = 0\nvar f\nder(x) = v\nder(v) = u + f\n"
        "-1 <= f <= 1 perp v\nplan {\n horizon 2\n nodes 21\n minimize %g*integral(u^2)\n"
        " at end: x = 1, v = 0\n}\n",
        "input u in [-2, 2]\nstate x = 0\nder(x) = u\n"
        "plan {\n horizon 1\n nodes 5\n minimize %g*integral((u^2 - 1)^2)\n}\n",
        "input u\nstate x = 0, v = 0\nder(x) = v\nder(v) = u - sin(x)\n"
        "plan {\n horizon 2\n nodes 21\n minimize %g*integral(u^2)\n at end: x = 3, v = 0\n}\n"};
    static const double factors[] = {1, 1e-12, 1e-6, 0x1p-40, 1e3, 1e6, 1e12};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        perp_plan_result one = {.size = sizeof one};
        for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) {
            char text[512];
            snprintf(text, sizeof text, models[i], factors[k]);
            perp_plan_result r = plan_text(text, NULL);
            if (k == 0) one = r;
            if (r.on_mesh != one.on_mesh || r.on_mesh > PERP_PLAN_LOCAL_MINIMUM)
                fail_msg("%s, not %s, with a cost times %g:\n%s", perp_plan_outcome_name(r.on_mesh),
                         perp_plan_outcome_name(one.on_mesh), factors[k], text);
            assert_near(r.cost / factors[k], one.cost, 1e-6 * fmax(1, one.cost));
        }
    }
}

/* x' = 1000 x is damped by backward Euler, and so the cost is 0; the true motion leaves. */
static void a_motion_of_the_mesh_alone_is_called_that(void **state)
{
    (void)state;
    perp_plan_result r = plan_text("input u in [-1, 1]\nstate x = 1\nder(x) = 1000*x + u\nplan {\n"
                                   " horizon 1\n nodes 11\n minimize integral(u^2) + end(x^2)\n}\n",
                                   "the motion diverges: 'x' differs by");
    assert_int_equal(r.outcome, PERP_PLAN_FEASIBLE_ON_MESH);
    assert_true(r.replay > 100 && r.replay_state == 0);
    assert_string_equal(r.replay_by, "theta");
    /* the same plant, stable */
    r = plan_text("input u in [-1, 1]\nstate x = 1\nder(x) = -x + u\nplan {\n"
                  " horizon 1\n nodes 41\n minimize integral(u^2) + end(x^2)\n}\n",
                  NULL);
    assert_int_equal(r.outcome, PERP_PLAN_GLOBAL);
    assert_true(r.replay > 0 && r.replay < 0.02);
}

/* A swing of 2.6 rad a step is damped away by backward Euler. It is no motion with impacts, whose nodes may be a step early or late, though
 * each state changes by its whole size within a step; a pair that is always open gives no leave. */
static void a_swing_that_the_mesh_damps_is_no_impact(void **state)
{
    (void)state;
    static const double rates[] = {10, 24, 26, 40, 55};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "param w = %g\ninput u in [-1, 1]\nstate x = 1, v = 0\nvar p\nder(x) = v\n"
                 "der(v) = -w^2*x + u\n0 <= x + 5 perp p >= 0\nplan {\n horizon 4\n nodes 41\n"
                 " minimize integral(u^2) + end(u)\n}\n",
                 rates[i]);
        perp_plan_result r = plan_text(text, "integrated with these inputs");
        assert_int_equal(r.outcome, PERP_PLAN_FEASIBLE_ON_MESH);
        assert_true(r.replay > 0.5);
    }
}

/* Radau's steps across the beginning of a slip cost less than any motion (9.24): seen by their replay. Where nothing jumps it
 * has its order. */
static void higher_order_across_a_kink_is_noticed(void **state)
{
    (void)state;
    for (int nodes = 11; nodes <= 81; nodes = 2 * nodes - 1) {
        char text[400];
        snprintf(text, sizeof text,
                 "input u in [-9, 9]\nstate x = 0, v = 0\nvar f\nder(x) = v\nder(v) = u + f\n"
                 "-2 <= f <= 2 perp v\nplan {\n horizon 2\n nodes %d\n method radau3\n"
                 " minimize integral(u^2)\n at end: x = 1, v = 0\n}\n",
                 nodes);
        perp_plan_result r = plan_text(text, "phases that end where forces jump");
        assert_int_equal(r.outcome, PERP_PLAN_FEASIBLE_ON_MESH);
        assert_true(r.cost < 9.2);
    }
    perp_plan_result r = plan_text("input u in [-9, 9]\nstate x = 0, v = 0, y = 0, w = 0\nvar f\n"
                                   "der(x) = v\nder(y) = w\nder(v) = u + f\n"
                                   "2*der(w) = -f - 3*y\n-1 <= f <= 1 perp v - w\nplan {\n"
                                   " horizon 2\n nodes 21\n method radau3\n"
                                   " minimize integral(u^2)\n at end: y = 0.4\n}\n",
                                   NULL);
    assert_int_equal(r.outcome, PERP_PLAN_LOCAL_MINIMUM);
}

/* A pendulum swings up in some 3 s; from no swing at all the search may shrink the horizon to nothing, which proves nothing of
 * longer ones. Nor where the goal lies behind the start. */
static void a_horizon_that_collapses_is_no_conflict(void **state)
{
    (void)state;
    for (int phases = 1; phases <= 4; phases++) {
        char text[400];
        perp_diag diag = {0};
        snprintf(text, sizeof text,
                 "input u in [-4, 4]\nstate th = 0, om = 0\nder(th) = om\n"
                 "der(om) = -9.81*sin(th) + u\nplan {\n horizon free in [0, 10]\n nodes 41\n"
                 " phases %d\n minimize time\n at end: th = 3.14159265, om = 0\n}\n",
                 phases);
        perp_plan_result r = plan_said(PERP_PLAN_OWN, text, NULL, &diag);
        if (phases == 1) assert_int_equal(r.outcome, PERP_PLAN_LOCALLY_INFEASIBLE);
        assert_int_not_equal(r.outcome, PERP_PLAN_INFEASIBLE);
        assert_null(strstr(perp_diag_text(&diag), "the range of the horizon"));
        perp_diag_clear(&diag);
    }
    perp_plan_result r = plan_text("input u in [0, 1]\nstate x = 0\nder(x) = 1 + u\nplan {\n"
                                   " horizon free in [0, 10]\n nodes 5\n minimize time\n"
                                   " at end: x = -1\n}\n",
                                   "nothing moves");
    assert_int_equal(r.outcome, PERP_PLAN_LIMIT);
}

/* 12/T^3 has no minimum. */
static void a_cost_that_falls_with_the_horizon_has_no_minimum(void **state)
{
    (void)state;
    perp_plan_result r = plan_text("input u\nstate x = 0, v = 0\nder(x) = v\nder(v) = u\nplan {\n"
                                   " horizon free\n nodes 21\n method radau3\n"
                                   " minimize integral(u^2)\n at end: x = 1, v = 0\n}\n",
                                   "no minimum found: the cost falls as the horizon grows");
    assert_int_equal(r.outcome, PERP_PLAN_FEASIBLE);
    assert_true(r.falls);
}

static void what_is_infeasible_is_proved_or_called_local(void **state)
{
    (void)state;
#define TWO                                                                                        \
    "input u in [-1, 1]\nstate x = 0, y = 0\nder(x) = u\nder(y) = -u\nplan {\n horizon 1\n nodes " \
    "11\n"
    perp_plan_result r =
        plan_text(TWO " minimize integral(u^2)\n x + y >= 1\n at end: x = 0.5\n}\n",
                  "words.perp:9:2: no plan keeps 'x + y >= 1': it is violated by 1 where "
                  "the plan begins");
    assert_int_equal(r.outcome, PERP_PLAN_INFEASIBLE);
    r = plan_text(TWO " at end: x = 3\n}\n", "by proof");
    assert_int_equal(r.outcome, PERP_PLAN_INFEASIBLE);
    r = plan_text(TWO " at end: x = 1.001\n}\n", "'x = 1.001' by 0.001");
    assert_int_equal(r.outcome, PERP_PLAN_INFEASIBLE);
    /* by less than what a plan's conditions are held to */
    r = plan_text(TWO " at end: x = 1.0000001\n}\n", "in conflict with");
    assert_int_equal(r.outcome, PERP_PLAN_INFEASIBLE);
    r = plan_text(TWO " minimize integral(u^2)\n at 50%: x - 2*y <= 1, x - 2*y >= 1.0000001\n}\n",
                  "'x - 2*y >= 1.0000001'");
    assert_int_equal(r.outcome, PERP_PLAN_INFEASIBLE);
    assert_int_equal(plan_text(TWO " at end: x = 1\n}\n", NULL).outcome, PERP_PLAN_GLOBAL);
    r = plan_text(TWO " at end: x^2 = 9\n}\n", "which is no proof that there is none");
    assert_int_equal(r.outcome, PERP_PLAN_LOCALLY_INFEASIBLE);
#undef TWO
}

/* Whatever the multipliers: plans that exist are not proved away. Some that do not are, and by a hair. */
static void no_multipliers_prove_a_plan_away(void **state)
{
    (void)state;
    static const struct {
        const char *range, *goal;
        int is_infeasible;
    } cases[] = {{"in [-1, 1]", "x = 0.2, v = 0", 0},    {"in [-1, 1]", "x <= 2", 0},
                 {"in [-1, 1]", "x = 0.3, v >= 0.5", 0}, {"in [-1, 1]", "x = 0.6", 1},
                 {"in [-1, 1]", "x = 0.27, v = 0", 1},   {"", "x = 6, v = 0", 0}};
    for (size_t at = 0; at < 2 * sizeof cases / sizeof *cases; at++) {
        size_t c = at / 2;
        int is_radau = at % 2; /* its bounds come from the equations of a step together */
        char text[400];
        snprintf(text, sizeof text,
                 "input u %s\nstate x = 0, v = 0\nvar f\nder(x) = v\nder(v) = u - f\n"
                 "-0.01 <= f <= 0.01 perp v\nplan {\n horizon 1\n nodes 9\n method %s\n"
                 " minimize integral(u^2)\n at end: %s\n}\n",
                 cases[c].range, is_radau ? "radau3" : "theta", cases[c].goal);
        perp_model *m = parse_model(text);
        perp__program_options o = {.steps = 8,
                                   .method = is_radau ? PERP_PLAN_RADAU3 : PERP_PLAN_THETA,
                                   .theta = 0.5,
                                   .soft = 1};
        perp_status status;
        perp__program *g = perp__program_create(m, &o, &status, NULL);
        assert_non_null(g);
        size_t rows = (size_t)g->nrow * (size_t)g->K;
        double *lambda = calloc(rows, sizeof *lambda);
        char *row = calloc(rows, 1),
             *bound = calloc((size_t)g->nw * (size_t)g->K + (size_t)g->np, 1);
        unsigned long long seed = 1;
        for (int trial = 0; trial < 2000; trial++) {
            for (size_t i = 0; i < rows; i++) {
                seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
                double x = (double)(seed >> 11) / 4503599627370496.0 - 1;
                lambda[i] = trial % 3 && fabs(x) < 0.9 ? 0 : x * pow(10, trial % 7 - 3);
            }
            int is_proved = perp__plan_is_infeasible(g, &g->bound, lambda, row, bound);
            assert_true(is_proved == 0 || (is_proved == 1 && cases[c].is_infeasible));
        }
        free(lambda);
        free(row);
        free(bound);
        perp__program_destroy(g);
        perp_model_destroy(m);
        perp_plan_result r = plan_text(text, NULL);
        assert_int_equal(r.outcome == PERP_PLAN_INFEASIBLE, cases[c].is_infeasible);
        if (!cases[c].is_infeasible) assert_true(perp_plan_holds(r.on_mesh));
    }
}

/* Friction of at most b on a mass of 0.1 b: the same plan for all b. */
static void a_small_cone_is_planned_as_a_large_one(void **state)
{
    (void)state;
    static const double bounds[] = {1, 1e-2, 1e-8, 1e-12};
    for (int i = 0; i < 4; i++) {
        char text[512];
        double b = bounds[i];
        snprintf(text, sizeof text,
                 "input u in [%g, %g]\nstate x = 0, v = 0\nvar f\nder(x) = v\n%g*der(v) = u + f\n"
                 "%g <= f <= %g perp v\nplan {\n horizon 1\n nodes 21\n minimize integral(u^2)\n"
                 " at end: x = 1e-3, v = 0\n}\n",
                 -100 * b, 100 * b, 0.1 * b, -b, b);
        perp_plan_result r = plan_text(text, NULL);
        assert_int_equal(r.on_mesh, PERP_PLAN_LOCAL_MINIMUM);
        assert_near(r.cost / (b * b), 0.05408, 1e-6);
        assert_true(r.complementarity <= 1e-6);
    }
}

/* A block on dry ground in fixed time, and there and back in the least; a spring that stiffens: in units L, F and T. */
static void write_in_units(char *text, size_t room, int which, double L, double F, double T)
{
    double m = F / L * T * T;
    if (which == 0)
        snprintf(text, room,
                 "input u in [%.17g, %.17g]\nstate x = 0, v = 0\nvar f\nder(x) = v\n"
                 "%.17g*der(v) = u + f\n%.17g <= f <= %.17g perp v\nplan {\n horizon %.17g\n"
                 " nodes 21\n minimize integral(u^2)\n at end: x = %.17g, v = 0\n}\n",
                 -8 * F, 8 * F, m, -F, F, 2 * T, L);
    if (which == 1)
        snprintf(text, room,
                 "input u in [%.17g, %.17g]\nstate x = 0 in [0, %.17g], v = 0\nvar f\n"
                 "der(x) = v\n%.17g*der(v) = u + f\n%.17g <= f <= %.17g perp v\nplan {\n"
                 " horizon free in [0, %.17g]\n nodes 21\n minimize time\n"
                 " at 50%%: x = %.17g, v = 0\n at end: x = 0, v = 0\n}\n",
                 -4 * F, 4 * F, L, m, -0.6 * F, 0.6 * F, 20 * T, L);
    if (which == 2)
        snprintf(text, room,
                 "input u\nstate x = 0, v = 0\nder(x) = v\n"
                 "%.17g*der(v) = u - %.17g*x - %.17g*x^3\nplan {\n horizon %.17g\n nodes 21\n"
                 " method radau3\n minimize integral(u^2)\n at end: x = %.17g, v = 0\n}\n",
                 m, F / L, F / L / L / L, 2 * T, L);
}

/* Where all is far from 1 the search is another, and its minimum may be (3.654 beside 3.504); never less than a stationary plan. */
static void plan_in_units(perp_plan_backend backend)
{
    static const double units[][3] = {
        {1, 1, 1},    {1e-6, 1, 1}, {1e9, 1, 1},        {1, 1e-9, 1},  {1, 1e6, 1},
        {1, 1, 1e-6}, {1, 1, 1e6},  {1e-9, 1e-3, 1e-3}, {1e6, 1e6, 1}, {1e-3, 1e3, 1e-6}};
    for (int which = 0; which < 3; which++) {
        double one = 0;
        for (size_t k = 0; k < sizeof units / sizeof *units; k++) {
            char text[800];
            double L = units[k][0], F = units[k][1], T = units[k][2];
            write_in_units(text, sizeof text, which, L, F, T);
            perp_plan_result r = plan_with(backend, text, NULL);
            double cost = r.cost / (which == 1 ? T : F * F * T);
            if (k == 0) one = cost;
            if (r.on_mesh > PERP_PLAN_STATIONARY_S || !(fabs(cost - one) < 0.05 * one))
                fail_msg("L = %g, F = %g, T = %g: %s, cost %.9g, not %.9g\n%s", L, F, T,
                         perp_plan_outcome_name(r.on_mesh), cost, one, text);
        }
    }
}

static void units_change_no_plan(void **state)
{
    (void)state;
    plan_in_units(PERP_PLAN_OWN);
}

/* A pole on a cart with dry friction, which has many minima; a block there and back, its friction by three pairs: in units L, M and T. */
static double write_contacts(char *text, size_t room, int which, double L, double M, double T)
{
    double F = M * L / T / T;
    if (which == 0)
        snprintf(text, room,
                 "input u in [%.17g, %.17g]\nstate x = 0 in [%.17g, %.17g], q = 0, v = 0, w = 0\n"
                 "var f\nder(x) = v\nder(q) = w\n"
                 "cos(q)*der(v) + %.17g*der(w) + %.17g*sin(q) = 0\n"
                 "%.17g*der(v) + %.17g*(cos(q)*der(w) - w^2*sin(q)) = u + f\n"
                 "%.17g <= f <= %.17g perp v\nplan {\n horizon %.17g\n nodes 41\n"
                 " minimize integral(u^2)\n at end: x = %.17g, q = pi, v = 0, w = 0\n}\n",
                 -20 * F, 20 * F, -2 * L, 2 * L, 0.5 * L, 9.81 * L / T / T, 1.3 * M, 0.15 * M * L,
                 -0.5 * F, 0.5 * F, 2 * T, L);
    else
        snprintf(text, room,
                 "input u in [%.17g, %.17g]\nstate x = 0 in [0, %.17g], v = 0 in [%.17g, %.17g]\n"
                 "var a, b, c\nder(x) = v\n%.17g*der(v) = u + a - b\n0 <= a perp c + v >= 0\n"
                 "0 <= b perp c - v >= 0\n0 <= c perp %.17g - a - b >= 0\nplan {\n"
                 " horizon free in [0, %.17g]\n nodes 40\n minimize time\n"
                 " at 50%%: x = %.17g, v = 0\n at end: x = 0, v = 0\n}\n",
                 -400 * F, 400 * F, 10 * L, -100 * L / T, 100 * L / T, M, 5.886 * F, 8 * T, 10 * L);
    return which == 0 ? F * F * T : T; /* the unit of the cost */
}

static void far_units_take_one_path(void **state)
{
    (void)state;
    static const double units[][3] = {{1e-6, 1, 1},
                                      {1e6, 1, 1},
                                      {1, 1e-6, 1},
                                      {1, 1e6, 1},
                                      {1, 1, 1e-6},
                                      {1, 1, 1e6},
                                      {0x1p20, 0x1p-13, 0x1p14}};
    for (int which = 0; which < 2; which++) {
        perp_plan_result first = {.size = sizeof first};
        double cost = 0;
        for (size_t k = 0; k < sizeof units / sizeof *units; k++) {
            char text[800];
            double of =
                write_contacts(text, sizeof text, which, units[k][0], units[k][1], units[k][2]);
            perp_plan_result r = plan_text(text, NULL);
            if (k == 0) first = r, cost = r.cost / of;
            assert_true(r.on_mesh <= PERP_PLAN_STATIONARY_S && r.on_mesh == first.on_mesh);
            assert_near(r.cost / of, cost, 1e-7 * cost);
            assert_int_equal(r.iterations, first.iterations);
        }
    }
}

static void units_change_no_plan_of_ipopt(void **state)
{
    (void)state;
    perp_model *m = parse_model(STILL("u^2"));
    perp_plan_options o = perp_plan_options_default(m);
    perp_plan *plan;
    o.backend = PERP_PLAN_IPOPT;
    perp_status status = perp_plan_create(m, &o, &plan, NULL);
    perp_plan_destroy(plan);
    perp_model_destroy(m);
    if (status == PERP_ERR_UNAVAILABLE) skip_because("no IPOPT in this build");
    assert_int_equal(status, PERP_OK);
    plan_in_units(PERP_PLAN_IPOPT);
}

/* Numbers become #. */
static void strip_numbers(const char *from, char *to, size_t room)
{
    size_t n = 0;
    while (*from && n + 1 < room) {
        char *end;
        int begins = (*from >= '0' && *from <= '9') || *from == '-';
        strtod(from, &end);
        int is_number = begins && end > from;
        to[n++] = is_number ? '#' : *from;
        from = is_number ? end : from + 1;
    }
    to[n] = 0;
}

/* 3 m in 2 s at 1 m/s, against friction, in units L, F and T: the same is missed, in conflict with the same in as many steps. */
static void units_change_no_explanation(void **state)
{
    (void)state;
    static const double units[][3] = {{1, 1, 1},    {1e-9, 1, 1}, {1e9, 1, 1},
                                      {1, 1e-9, 1}, {1, 1e9, 1},  {1, 1, 1e-9},
                                      {1, 1, 1e9},  {1e-3, 1, 1}, {1e3, 1, 1e-3}};
    char first[2000] = "";
    for (size_t k = 0; k < sizeof units / sizeof *units; k++) {
        double L = units[k][0], F = units[k][1], T = units[k][2];
        char text[800], says[2000], missed[40];
        snprintf(text, sizeof text,
                 "input F in [%.17g, %.17g]\nstate x = 0\nstate v = 0 in [%.17g, %.17g]\nvar f\n"
                 "der(x) = v\n%.17g*der(v) = F + f\n%.17g <= f <= %.17g perp v\nplan {\n"
                 " horizon %.17g\n nodes 41\n minimize integral(F^2)\n at end: v = 0\n"
                 " at end: x = %.17g\n}\n",
                 -10 * F, 10 * F, -L / T, L / T, F / L * T * T, -5.886 * F, 5.886 * F, 2 * T,
                 3 * L);
        snprintf(missed, sizeof missed, "' by %.4g\n", 1.157375 * L);
        perp_diag diag = {0};
        perp_plan_result r = plan_said(PERP_PLAN_OWN, text, missed, &diag);
        assert_int_equal(r.outcome, PERP_PLAN_INFEASIBLE);
        assert_non_null(strstr(perp_diag_text(&diag), "in 34 of 40 steps"));
        strip_numbers(perp_diag_text(&diag), says, sizeof says);
        if (k == 0) strcpy(first, says);
        assert_string_equal(says, first);
        perp_diag_clear(&diag);
    }
}

/* A flow that is 0 throughout has no size but a declared one. */
static void a_declared_scale_is_the_least_size_of_an_unknown(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        char text[300];
        snprintf(text, sizeof text,
                 "input u in [0, 1]\nstate x = 0\nvar q %s\nder(x) = u\nq*abs(q) = 0\nplan {\n "
                 "horizon 1\n"
                 " nodes 5\n minimize integral(u^2)\n at end: x = 0.5\n guess q = 1\n}\n",
                 k ? "scale 1e3" : "");
        perp_plan_result r = plan_text(text, NULL);
        assert_int_equal(perp_plan_holds(r.on_mesh), k);
    }
}

/* Solve from a table. */
static perp_plan_result plan_from(perp_model *m, const perp_trajectory *table, int nodes,
                                  perp_plan **plan)
{
    perp_plan_result r = {.size = sizeof r};
    perp_plan_options o = perp_plan_options_default(m);
    o.restarts = 0;
    o.replay = 0;
    if (nodes) o.nodes = nodes;
    assert_int_equal(perp_plan_create(m, &o, plan, NULL), PERP_OK);
    if (table) assert_int_equal(perp_plan_set_guess(*plan, table, "guess", NULL), PERP_OK);
    assert_int_equal(perp_plan_solve(*plan, &r, NULL), PERP_OK);
    return r;
}

static perp_trajectory *table_of(const perp_plan *plan)
{
    int n = perp_plan_columns(plan), rows = perp_plan_rows(plan);
    size_t room = (size_t)(rows + 1) * (size_t)n * 40, length = 0;
    char *text = malloc(room);
    double *row = malloc((size_t)n * sizeof *row);
    perp_trajectory *table = NULL;
    for (int c = 0; c < n; c++)
        length += (size_t)snprintf(text + length, room - length, c ? ",%s" : "%s",
                                   perp_plan_column_name(plan, c));
    for (int k = 0; k < rows; k++) {
        perp_plan_row(plan, k, row);
        for (int c = 0; c < n; c++)
            length +=
                (size_t)snprintf(text + length, room - length, c ? ",%.17g" : "\n%.17g", row[c]);
    }
    length += (size_t)snprintf(text + length, room - length, "\n");
    assert_int_equal(perp_trajectory_parse(text, length, "guess", &table, NULL), PERP_OK);
    free(text);
    free(row);
    return table;
}

/* A cart pushes a puck: from a guess of 16.83, nothing much worse, on any mesh; and from a plan, that plan. */
static void a_guess_is_not_dropped(void **state)
{
    (void)state;
    static const char text[] =
        "param mc = 1, mp = 0.5, mu = 0.2, g = 9.81, d = 0.1\ninput u in [-30, 30]\n"
        "state xc = 0, vc = 0, xp = 0.3, vp = 0\nvar lam, f\nder(xc) = vc\nder(xp) = vp\n"
        "mc*der(vc) = u - lam\nmp*der(vp) = lam + f\n0 <= lam perp xp - xc - d >= 0\n"
        "-mu*mp*g <= f <= mu*mp*g perp vp\nplan {\n horizon 2\n nodes 81\n minimize integral(u^2)\n"
        " at end: xp = 1, vp = 0, xc = 0, vc = 0\n}\n";
    perp_model *m;
    perp_plan *plan, *again;
    perp_trajectory *guess = NULL;
    perp_diag diag = {0};
    assert_int_equal(perp_model_parse(text, sizeof text - 1, "puck.perp", &m, NULL), PERP_OK);
    perp_status status =
        perp_trajectory_read(PERP_SOURCE_DIR "/tests/data/puck_guess.csv", &guess, &diag);
    if (status != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    static const int nodes[] = {41, 81, 161};
    static const double most[] = {17.13, 16.98, 16.98};
    for (int i = 0; i < 3; i++) {
        perp_plan_result r = plan_from(m, guess, nodes[i], &plan);
        if (r.on_mesh > PERP_PLAN_LOCAL_MINIMUM || r.cost > most[i])
            fail_msg("%d nodes: %s, cost %g", nodes[i], perp_plan_outcome_name(r.on_mesh), r.cost);
        perp_trajectory *table = table_of(plan);
        perp_plan_result same = plan_from(m, table, nodes[i], &again);
        assert_true(same.cost <= r.cost * (1 + 1e-8));
        perp_trajectory_destroy(table);
        perp_plan_destroy(plan);
        perp_plan_destroy(again);
    }
    perp_trajectory_destroy(guess);
    perp_model_destroy(m);
}

/* From 0 to 3 in a time of 1 at the speed k + u, u <= 1: k = 2 is the least. A guess that ends at 1 costs less, is tried and given
 * up: what was found stays, the parameter too. */
static void a_guess_that_does_not_hold_leaves_the_plan(void **state)
{
    (void)state;
    static const char guess[] = "t,x,u\n0,0,0\n1,1,0\n";
    perp_model *m = parse_model("param k = 1 in [0, 10]\ninput u in [-1, 1]\nstate x = 0\n"
                                "der(x) = k + u\nplan {\n horizon 1\n nodes 5\n free k\n"
                                " minimize integral(k^2)\n at end: x = 3\n}\n");
    perp_plan *plan;
    perp_trajectory *table;
    assert_int_equal(perp_trajectory_parse(guess, sizeof guess - 1, "guess", &table, NULL),
                     PERP_OK);
    perp_plan_result r = plan_from(m, table, 0, &plan);
    assert_int_equal(r.on_mesh, PERP_PLAN_GLOBAL);
    assert_near(r.cost, 4, 1e-6);
    assert_string_equal(perp_plan_free_name(plan, 0), "k");
    assert_near(perp_plan_free_value(plan, 0), 2, 1e-6);
    perp_trajectory_destroy(table);
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

/* Nothing is said of the curvature where the slope is not zero: a search that ends after its first iteration. */
static void curvature_is_judged_where_the_slope_is_zero(void **state)
{
    (void)state;
    for (int most = 1; most <= 100; most += 99) {
        perp_model *m = parse_model("input u in [-3, 3]\nstate x = 0\nder(x) = 1 + u\nplan {\n"
                                    " horizon 1\n nodes 5\n minimize integral((u - 1)^4)\n"
                                    " at end: x <= 1\n}\n");
        perp_plan_options o = perp_plan_options_default(m);
        perp_plan_result r = {.size = sizeof r};
        perp_plan *plan;
        o.max_iter = most;
        o.restarts = o.replay = 0;
        assert_int_equal(perp_plan_create(m, &o, &plan, NULL), PERP_OK);
        assert_int_equal(perp_plan_solve(plan, &r, NULL), PERP_OK);
        assert_int_equal(r.outcome, most == 1 ? PERP_PLAN_FEASIBLE : PERP_PLAN_LOCAL_MINIMUM);
        assert_int_equal(r.curvature, most == 1 ? 0 : 1);
        perp_plan_destroy(plan);
        perp_model_destroy(m);
    }
}

/* The driven cart touches nothing: it has no reason to move, and the price on the others' places no slope. */
static void a_plan_that_does_nothing_is_left_or_said(void **state)
{
    (void)state;
    for (int restarts = 0; restarts <= 4; restarts += 4) {
        perp_model *m = NULL;
        perp_plan *plan;
        perp_plan_result r = {.size = sizeof r};
        perp_diag diag = {0};
        assert_int_equal(
            perp_model_load(PERP_SOURCE_DIR "/tests/data/plans/three_carts.perp", &m, NULL),
            PERP_OK);
        perp_plan_options o = perp_plan_options_default(m);
        o.restarts = restarts;
        assert_int_equal(perp_plan_create(m, &o, &plan, NULL), PERP_OK);
        assert_int_equal(perp_plan_solve(plan, &r, &diag), PERP_OK);
        int said =
            strstr(perp_diag_text(&diag), "the plan does nothing, at a cost of 8400") != NULL;
        assert_int_equal(said, restarts == 0);
        if (restarts == 0) assert_int_equal(r.outcome, PERP_PLAN_LOCAL_MINIMUM); /* which it is */
        if (restarts > 0) assert_true(r.cost < 170 && r.starts > 1);
        assert_int_equal(perp_plan_attempts(plan), r.starts);
        perp_plan_attempt first = perp_plan_get_attempt(plan, 0);
        assert_string_equal(first.start, "the model's guess");
        assert_int_equal(first.outcome, PERP_PLAN_LOCAL_MINIMUM);
        assert_near(first.cost, 8400, 1e-3);
        assert_true(isnan(perp_plan_get_attempt(plan, r.starts).cost));
        perp_plan_destroy(plan);
        perp_model_destroy(m);
        perp_diag_clear(&diag);
    }
}

/* A free length that shrinks as long as there is no motion is held first, and a start in which everything is alike is shaken. */
static void starts_are_tried_one_after_the_other(void **state)
{
    static const struct {
        const char *text, *start;
        double cost;
    } cases[] = {{"input u in [-1, 1]\nstate x = 8, v = 0\nder(x) = v\nder(v) = -x + u\nplan {\n "
                  "horizon free "
                  "in [1, 40]\n nodes 25\n method radau5\n inputs held\n minimize time\n at end: x "
                  "= 0, v = 0\n}\n",
                  "the model's guess, lengths held at first", 13.07},
                 {"input u in [-10, 10], w in [-10, 10]\nstate x = 0, y = 0\nder(x) = u\nder(y) = "
                  "w\nplan {\n "
                  "horizon 1\n nodes 41\n minimize integral(u^2 + w^2)\n (x - 0.5)^2 + y^2 >= "
                  "0.2^2\n at end: x = 1, "
                  "y = 0\n}\n",
                  "the model's guess, shaken", 1.169}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        perp_model *m = NULL;
        perp_plan *plan;
        perp_plan_result r = {.size = sizeof r};
        assert_int_equal(
            perp_model_parse(cases[i].text, strlen(cases[i].text), "ladder.perp", &m, NULL),
            PERP_OK);
        perp_plan_options o = perp_plan_options_default(m);
        assert_int_equal(perp_plan_create(m, &o, &plan, NULL), PERP_OK);
        assert_int_equal(perp_plan_solve(plan, &r, NULL), PERP_OK);
        assert_near(r.cost, cases[i].cost, 0.01 * cases[i].cost);
        assert_string_equal(perp_plan_get_attempt(plan, r.starts - 1).start, cases[i].start);
        perp_plan_destroy(plan);
        perp_model_destroy(m);
    }
}

/* What nothing is minimised over has multipliers of 0, not those of the search's barrier; states that stay where they are, at 0, keep
 * every equation, though what the search leaves of them keeps none relative to itself. */
static void without_a_cost_slopes_are_zero_and_rest_is_a_plan(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "input u in [-1, 1]\nstate x = 0, v = 0\nder(x) = v\nder(v) = u\n"
        "plan {\n horizon 2.5\n nodes 21\n at end: x = 1, v = 0\n}\n",
        "input u in [-1, 1]\nstate x = 0, v = 0\nvar p\nder(x) = v\nder(v) = u + p\n0 <= x + 1 "
        "perp p >= 0\nplan {\n horizon 2.5\n nodes 21\n at end: x = 1, v = 0\n}\n",
        "state v = 0\nvar p\nder(v) = p\n0 <= v perp p >= 0\nplan {\n horizon 1\n nodes 11\n}\n",
        "input u in [-1, 1]\nstate v = 0\nvar p\nder(v) = p + 0*u\n0 <= v perp p >= 0\n"
        "plan {\n horizon 1\n nodes 11\n method radau5\n}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        perp_plan_result r = plan_text(texts[i], NULL);
        if (r.on_mesh != PERP_PLAN_GLOBAL || r.stationarity != 0 || r.cost != 0)
            fail_msg("%s, stationarity %g: %s", perp_plan_outcome_name(r.on_mesh), r.stationarity,
                     texts[i]);
    }
}

/* All kinds of starts, compared: the cheapest is taken, which is not the first here. However many threads there are. */
static void starts_are_compared(void **state)
{
    static const char *const starts[] = {"the model's guess",
                                         "the model's guess, the cost before the barrier",
                                         "the model's guess, shaken",
                                         "a random point",
                                         "a random point",
                                         "the plan on a coarse mesh",
                                         "the motion of the guessed inputs"};
    enum { STARTS = sizeof starts / sizeof *starts };
    double cost[2][STARTS];
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        perp_model *m = NULL;
        perp_plan *plan;
        perp_plan_result r = {.size = sizeof r};
        double least = INFINITY;
        assert_int_equal(
            perp_model_load(PERP_SOURCE_DIR "/tests/data/plans/go_round.perp", &m, NULL), PERP_OK);
        perp_plan_options o = perp_plan_options_default(m);
        o.tries = STARTS;
        o.threads = threads;
        assert_int_equal(perp_plan_create(m, &o, &plan, NULL), PERP_OK);
        assert_int_equal(perp_plan_solve(plan, &r, NULL), PERP_OK);
        assert_int_equal(perp_plan_attempts(plan), STARTS);
        for (int i = 0; i < STARTS; i++) {
            perp_plan_attempt a = perp_plan_get_attempt(plan, i);
            assert_string_equal(a.start, starts[i]);
            assert_true(a.cost >= r.cost);
            cost[threads - 1][i] = a.cost;
            least = fmin(least, a.cost);
        }
        assert_true(r.cost == least && r.cost < cost[threads - 1][0]);
        perp_plan_destroy(plan);
        perp_model_destroy(m);
    }
    assert_memory_equal(cost[0], cost[1], sizeof cost[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maxima_and_saddles_are_left),
        cmocka_unit_test(minima_are_called_what_is_shown),
        cmocka_unit_test(a_cost_that_is_large_elsewhere_hides_nothing),
        cmocka_unit_test(phases_of_given_lengths_are_proved),
        cmocka_unit_test(corners_of_conditions_are_unknowns),
        cmocka_unit_test(corners_and_jumps_of_a_cost_prove_nothing),
        cmocka_unit_test(minima_on_corners_of_a_cost_are_shown),
        cmocka_unit_test(room_for_corners_is_not_counted),
        cmocka_unit_test(corners_of_pairs_are_judged_on_each_side),
        cmocka_unit_test(choices_of_sides_share_their_factors),
        cmocka_unit_test(the_unit_of_the_cost_changes_nothing),
        cmocka_unit_test(a_motion_of_the_mesh_alone_is_called_that),
        cmocka_unit_test(a_swing_that_the_mesh_damps_is_no_impact),
        cmocka_unit_test(higher_order_across_a_kink_is_noticed),
        cmocka_unit_test(a_horizon_that_collapses_is_no_conflict),
        cmocka_unit_test(a_cost_that_falls_with_the_horizon_has_no_minimum),
        cmocka_unit_test(what_is_infeasible_is_proved_or_called_local),
        cmocka_unit_test(no_multipliers_prove_a_plan_away),
        cmocka_unit_test(a_small_cone_is_planned_as_a_large_one),
        cmocka_unit_test(units_change_no_plan),
        cmocka_unit_test(far_units_take_one_path),
        cmocka_unit_test(units_change_no_plan_of_ipopt),
        cmocka_unit_test(units_change_no_explanation),
        cmocka_unit_test(a_declared_scale_is_the_least_size_of_an_unknown),
        cmocka_unit_test(a_guess_is_not_dropped),
        cmocka_unit_test(a_guess_that_does_not_hold_leaves_the_plan),
        cmocka_unit_test(curvature_is_judged_where_the_slope_is_zero),
        cmocka_unit_test(a_plan_that_does_nothing_is_left_or_said),
        cmocka_unit_test(without_a_cost_slopes_are_zero_and_rest_is_a_plan),
        cmocka_unit_test(starts_are_tried_one_after_the_other),
        cmocka_unit_test(starts_are_compared),
    };
    return run_all(tests);
}
