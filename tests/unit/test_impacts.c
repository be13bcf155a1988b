/* Impacts of models: times, impulses and energies beside closed forms; what is counted and what is
 * not. */

#include "runs.h"
#include "outcomes.h"

#include <math.h>
#include <string.h>

/* Bounces with restitution e: t1 = sqrt(2 z0/g), v1 = g t1, v(k+1) = e v(k),
 * t(k+1) = t(k) + 2 e v(k)/g. The impulse is m (1+e) v, the energy lost m (1-e^2) v^2/2. */
#define BALL(method) BALL_BY("1e-3", method)
#define BALL_BY(step, method)                                                                      \
    "model ball\n"                                                                                 \
    "param m = 2 \"kg\", g = 9.81 \"m/s^2\", e = 0.8\n"                                            \
    "state z = 1 \"m\", v = 0 \"m/s\"\n"                                                           \
    "var fn \"N\"\n"                                                                               \
    "der(z) = v\n"                                                                                 \
    "m*der(v) = fn - m*g\n"                                                                        \
    "0 <= fn perp v + e*pre(v) >= 0 when z <= 0\n"                                                 \
    "simulate to 2 step " step " method " method "\n"

static const double m = 2, g = 9.81, e = 0.8;

/* Without restitution, stated by the gap. */
#define DROP(method)                                                                               \
    "model drop\n"                                                                                 \
    "param m = 2 \"kg\", g = 9.81 \"m/s^2\"\n"                                                     \
    "state z = 1 \"m\", v = 0 \"m/s\"\n"                                                           \
    "var fn \"N\"\n"                                                                               \
    "der(z) = v\n"                                                                                 \
    "m*der(v) = fn - m*g\n"                                                                        \
    "0 <= fn perp z >= 0\n"                                                                        \
    "simulate to 1 step 1e-3 method " method "\n"

enum { MOST = 64 };

static void expect_near(double x, double y, double tol)
{
    if (!(fabs(x - y) <= tol)) fail_msg("%.17g, expected %.17g within %g", x, y, tol);
}

typedef struct list {
    int n;
    perp_impact impact[MOST];
    const perp_simulation *sim;
} list;

static perp_status take(void *context, long step, const double *row)
{
    list *all = context;
    const perp_impact *impact;
    (void)row;
    int n = step > 0 ? perp_simulation_impacts(all->sim, &impact) : 0;
    for (int k = 0; k < n; k++) {
        assert_true(all->n < MOST);
        all->impact[all->n++] = impact[k];
    }
    return PERP_OK;
}

/* accuracy: of the option; 0: whole steps */
static perp_simulation *create_by(const char *text, double accuracy, perp_model **model)
{
    perp_diag diag = {0};
    perp_simulation *sim;
    *model = parse_model(text);
    perp_simulation_options o = perp_simulation_options_default(*model);
    o.accuracy = accuracy;
    if (perp_simulation_create(*model, &o, &sim, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return sim;
}

static perp_simulation *create(const char *text, perp_model **model)
{
    return create_by(text, 0, model);
}

/* All impacts of a run; the count, the largest and the sum are those of the list. */
static list impacts_by(const char *text, double accuracy)
{
    perp_diag diag = {0};
    perp_model *model;
    perp_simulation *sim = create_by(text, accuracy, &model);
    list all = {.sim = sim};
    perp_impact largest;
    double energy, sum = 0, most = 0;
    if (simulation_run(sim, take, &all, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    assert_int_equal(perp_simulation_impact_count(sim, &largest, &energy), all.n);
    for (int k = 0; k < all.n; k++) {
        sum += all.impact[k].energy;
        most = fmax(most, all.impact[k].impulse);
    }
    if (all.n) assert_true(largest.impulse == most);
    if (all.n == 0) assert_int_equal(largest.pair, -1);
    assert_true(energy == sum || (isnan(energy) && isnan(sum)));
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    return all;
}

static list impacts_of(const char *text)
{
    return impacts_by(text, 0);
}

/* Bounces until t = 2 s, of closed form. tol: of times [s]; of impulses and energies, relative. */
static void expect_bounces(const list *all, double time_tol, double tol)
{
    double t = sqrt(2 / g), v = g * t;
    int k = 0;
    for (; t < 2; k++) {
        assert_true(k < all->n);
        const perp_impact *x = &all->impact[k];
        expect_near(x->time, t, time_tol);
        expect_near(x->impulse, m * (1 + e) * v, tol * m * (1 + e) * v);
        expect_near(x->energy, m * (1 - e * e) * v * v / 2, tol * m * v * v);
        assert_true(x->friction == 0);
        assert_int_equal(x->pair, 0);
        assert_true(x->body[0] == -1 && x->shape[1] == -1 && isnan(x->point[2]));
        t += 2 * e * v / g;
        v *= e;
    }
    assert_int_equal(all->n, k);
}

static void bounces_are_those_of_the_closed_form(void **state)
{
    (void)state;
    const char *const text[] = {BALL("radau5"), BALL_BY("0.1", "radau5")};
    for (int k = 0; k < 2; k++) {
        list all = impacts_of(text[k]);
        expect_bounces(&all, 1e-9, 1e-8);
    }
}

/* Substeps that are too long are taken again: their impacts do not count twice. */
static void an_impact_of_a_rejected_substep_does_not_count(void **state)
{
    (void)state;
    list all = impacts_by(BALL("backward-euler"), 1e-4);
    expect_bounces(&all, 5e-3, 5e-3);
}

/* Of order 1: each bounce is late by up to a step, its impulse has a step's gravity. */
static void bounces_of_fixed_steps_come_near_to_it(void **state)
{
    (void)state;
    const char *const text[] = {BALL("backward-euler"), BALL("moreau")};
    for (int k = 0; k < 2; k++) {
        list all = impacts_of(text[k]);
        expect_bounces(&all, 2e-2, 2e-2);
    }
}

/* One impact, and rest after it: what acts on a ball at rest is no impact. The momentum m sqrt(2 g)
 * and the energy m g go, with those of up to two steps of gravity. */
static void a_drop_is_one_impact(void **state)
{
    (void)state;
    const char *const text[] = {DROP("radau5"), DROP("backward-euler"), DROP("moreau"),
                                DROP("theta")};
    double h = 1e-3, v = sqrt(2 * g);
    for (int k = 0; k < 4; k++) {
        list all = impacts_of(text[k]);
        if (all.n != 1) fail_msg("%d impacts of %s", all.n, text[k]);
        double most = k ? 3 * m * g * h : 1e-6, late = k ? 2 * h : 1e-9;
        expect_near(all.impact[0].time, v / g, late);
        expect_near(all.impact[0].impulse, m * v, most);
        expect_near(all.impact[0].energy, m * g, most * v);
    }
}

static void what_lies_has_no_impact(void **state)
{
    (void)state;
    const char *const text[] = {
        "model lies\nparam m = 1 \"kg\", g = 9.81 \"m/s^2\"\nstate z = 0 \"m\", v = 0 \"m/s\"\n"
        "var fn \"N\"\nder(z) = v\nm*der(v) = fn - m*g\n0 <= fn perp z >= 0\n"
        "simulate to 0.1 step 1e-3 method backward-euler\n",
        "model lies\nparam m = 1 \"kg\", g = 9.81 \"m/s^2\"\nstate z = 0 \"m\", v = 0 \"m/s\"\n"
        "var fn \"N\"\nder(z) = v\nm*der(v) = fn - m*g\n0 <= fn perp v >= 0 when z <= 0\n"
        "simulate to 0.1 step 1e-3 method radau5\n"};
    for (int k = 0; k < 2; k++) assert_int_equal(impacts_of(text[k]).n, 0);
}

/* A contact that opens for a step, as a point that slides on an arc does, and falls back has the
 * velocity that its forces give in one step. That is no impact, however often. A guard of the tip's
 * height leaves out the height that the arc adds. */
static void a_guard_that_flickers_has_no_impacts(void **state)
{
    (void)state;
    const char *const text = "model rod\nparam m = 1 \"kg\", g = 9.81 \"m/s^2\", w = 1 \"rad/s\"\n"
                             "state z = 0 \"m\", v = 0 \"m/s\", a = 0 \"rad\"\nvar p \"N\"\n"
                             "der(a) = w\nder(z) = v\nm*der(v) = p - m*g\n"
                             "0 <= p perp v - w*cos(pre(a)) >= 0 when z - sin(a) <= 1e-9\n"
                             "simulate to 1 step 1e-3 method ";
    char model[512];
    for (int k = 0; k < 2; k++) {
        snprintf(model, sizeof model, "%s%s\n", text, k ? "moreau" : "backward-euler");
        list all = impacts_of(model);
        assert_int_equal(all.n, 1); /* that of the start: the floor moves up */
        assert_true(all.impact[0].time < 2e-3);
    }
}

/* The same of a gap: a load that is lifted for one step. */
static void a_gap_of_one_step_has_no_impact(void **state)
{
    (void)state;
    list all = impacts_of("model lift\nparam m = 1 \"kg\", g = 9.81 \"m/s^2\", V = 10 \"m/s\"\n"
                          "input F = choose(mod(t + 5e-4, 0.05) < 1e-3, 1.2*m*g, 0) \"N\"\n"
                          "state z = 0 \"m\", v = 0 \"m/s\"\nvar p \"N\"\nder(z) = v\n"
                          "m*der(v) = p - m*g + F\n0 <= p perp z >= 0\n"
                          "simulate to 1 step 1e-3 method backward-euler\n");
    assert_int_equal(all.n, 0);
}

/* A body that is pushed from three sides at once rests, and so does what touches it: 1e-16 N s of
 * the three directions are no impact. */
static void rounding_of_other_impulses_is_none(void **state)
{
    (void)state;
    list all =
        impacts_of("model star\nstate x = 0.1 \"m\", v = -1 \"m/s\", u = 0 \"m/s\", w = 0 \"m/s\"\n"
                   "param m = 1 \"kg\"\nvar p \"N\", q \"N\"\nder(x) = v\nm*der(v) = p\n"
                   "m*der(u) = p*(cos(0) + cos(2*pi/3) + cos(4*pi/3)) + q\nm*der(w) = -q\n"
                   "0 <= p perp v + 0.5*pre(v) >= 0 when x <= 0\n0 <= q perp u - w >= 0\n"
                   "simulate to 0.2 step 1e-2 method radau5\n");
    assert_int_equal(all.n, 1);
    assert_int_equal(all.impact[0].pair, 0);
}

/* The second wall is hit by the velocity of the impact in the step before. */
static void an_impact_by_an_impact_counts(void **state)
{
    (void)state;
    const char *const text[] = {"1e-3", "1e-2", "2e-2"};
    for (int k = 0; k < 3; k++) {
        char model[512];
        snprintf(model, sizeof model,
                 "model chain\nstate x = 0 \"m\", v = 1 \"m/s\", y = 0.1 \"m\", w = 0 \"m/s\"\n"
                 "param m = 1 \"kg\"\nvar p \"N\", q \"N\"\nder(x) = v\nder(y) = w\n"
                 "m*der(v) = -p\nm*der(w) = p - q\n"
                 "0 <= p perp (w - v) + pre(w - v) >= 0 when y - x <= 0\n"
                 "0 <= q perp -w - pre(w) >= 0 when y >= 0.1001\n"
                 "simulate to 0.15 step %s method backward-euler\n",
                 text[k]);
        list all = impacts_of(model);
        assert_true(all.n >= 2);
        assert_int_equal(all.impact[0].pair, 0);
        assert_int_equal(all.impact[1].pair, 1);
    }
}

/* What rounding leaves of the work of an elastic impact is none. */
static void an_elastic_impact_loses_nothing(void **state)
{
    (void)state;
    for (int k = 0; k < 20; k++) {
        char model[512];
        snprintf(model, sizeof model,
                 "model two\nparam a = 1 \"kg\", b = %g \"kg\"\n"
                 "state x = 0 \"m\", v = %g \"m/s\", y = 0.1 \"m\", w = -0.7 \"m/s\"\n"
                 "var p \"N\"\nder(x) = v\nder(y) = w\na*der(v) = -p\nb*der(w) = p\n"
                 "0 <= p perp (w - v) + pre(w - v) >= 0 when y - x <= 0\n"
                 "simulate to 0.2 step 1e-3 method moreau\n",
                 1 + 0.37 * k, 1.1 + 0.1 * k);
        list all = impacts_of(model);
        assert_int_equal(all.n, 1);
        assert_true(all.impact[0].energy == 0);
    }
}

static double state_at_end(const char *text, const char *name, long *fallback, double *energy)
{
    perp_diag diag = {0};
    perp_model *model;
    perp_symbol_kind kind;
    int i;
    perp_simulation *sim = create(text, &model);
    if (simulation_run(sim, NULL, NULL, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    *fallback = perp_simulation_fallback_steps(sim, NULL);
    perp_simulation_impact_count(sim, NULL, energy);
    assert_true(perp_model_find(model, name, &kind, &i));
    double x = perp_simulation_state(sim, i);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    return x;
}

/* Contacts without restitution whose bodies overlap at a short step were pushed apart within 1e-8
 * s: a box of the roof of examples/parts went from 0.4 to 923 m/s, each step verified. */
static void impulses_that_must_not_add_energy_do_not(void **state)
{
    (void)state;
    perp_diag diag = {0};
    perp_model *model;
    double energy;
    const char *why = "";
    if (perp_model_load("examples/parts/roof.perp", &model, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    perp_simulation_options o = perp_simulation_options_default(model);
    perp_simulation *sim;
    long grown = 0;
    o.integrator = PERP_RADAU5;
    o.to = 0.4;
    assert_int_equal(perp_simulation_create(model, &o, &sim, &diag), PERP_OK);
    assert_int_equal(simulation_run(sim, NULL, NULL, &diag), PERP_OK);
    for (int k = 0; why; k++) {
        long n = perp_simulation_fallback_cause(sim, k, &why);
        if (why && strstr(why, "would add energy")) grown = n;
    }
    assert_true(grown > 0);
    perp_simulation_impact_count(sim, NULL, &energy);
    assert_true(energy > 1 && energy < 4); /* of 5 J that it has at first */
    for (int c = 0; c < 12; c++) assert_true(fabs(perp_simulation_state(sim, c)) < 5);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

/* What moves by itself may add energy: a floor that rises, a belt, a floor of a function of
 * time. */
static void what_moves_by_itself_adds_energy(void **state)
{
    (void)state;
    const char *const text[] = {
        "model lift\nparam m = 1 \"kg\", g = 9.81 \"m/s^2\", V = 10 \"m/s\"\n"
        "state z = 1 \"m\", v = 0 \"m/s\", p = -2 \"m\"\nvar f \"N\"\nder(z) = v\nder(p) = V\n"
        "m*der(v) = f - m*g\n0 <= f perp z - p >= 0\n"
        "simulate to 0.4 step 1e-2 method radau5\n",
        "model lift\nparam m = 1 \"kg\", g = 9.81 \"m/s^2\", V = 10 \"m/s\"\n"
        "state z = 1 \"m\", v = 0 \"m/s\"\nvar f \"N\"\nder(z) = v\n"
        "m*der(v) = f - m*g\n0 <= f perp z - 10*t + 2 >= 0\n"
        "simulate to 0.4 step 1e-2 method radau5\n",
        "model lift\nparam m = 1 \"kg\", g = 9.81 \"m/s^2\", V = 10 \"m/s\"\n"
        "state z = 1 \"m\", v = 0 \"m/s\"\nvar f \"N\"\nder(z) = v\n"
        "m*der(v) = f - m*g\n0 <= f perp v - 10 >= 0 when z - 10*t + 2 <= 0\n"
        "simulate to 0.4 step 1e-2 method radau5\n",
        "model lift\nparam m = 1 \"kg\", g = 9.81 \"m/s^2\", V = 10 \"m/s\"\n"
        "state z = 1 \"m\", v = 0 \"m/s\", p = -2 \"m\", w = 10 \"m/s\"\nvar f \"N\", drive \"N\"\n"
        "der(z) = v\nder(p) = w\nm*der(v) = f - m*g\nm*der(w) = drive\n0 = w - V\n"
        "0 <= f perp v - w >= 0 when z - p <= 0\n"
        "simulate to 0.4 step 1e-2 method radau5\n"};
    for (int k = 0; k < 4; k++) {
        long fallback;
        double energy, v = state_at_end(text[k], "v", &fallback, &energy);
        assert_int_equal(fallback, 0);
        expect_near(v, 10, 1e-6);
        assert_true(energy < -30); /* m (10^2 - v^2)/2, v at about 0.26 s */
    }
}

/* Without units nobody knows which product is a power. */
static void energy_without_units_is_not_stated(void **state)
{
    (void)state;
    list all = impacts_of("model ball\nstate z = 1, v = 0\nvar fn\nder(z) = v\nder(v) = fn - 9.81\n"
                          "0 <= fn perp v + 0.5*pre(v) >= 0 when z <= 0\n"
                          "simulate to 0.6 step 1e-3 method radau5\n");
    assert_int_equal(all.n, 1);
    expect_near(all.impact[0].impulse, 1.5 * sqrt(2 * g), 1e-7);
    assert_true(isnan(all.impact[0].energy));
}

/* Two balls that meet: the energy lost is that of the reduced mass, by one impulse on both. */
static void two_balls_lose_the_energy_of_the_reduced_mass(void **state)
{
    (void)state;
    list all = impacts_of("model two\nparam a = 1 \"kg\", b = 3 \"kg\"\n"
                          "state x = 0 \"m\", v = 2 \"m/s\", y = 1 \"m\", w = -1 \"m/s\"\n"
                          "var p \"N\"\nder(x) = v\nder(y) = w\na*der(v) = -p\nb*der(w) = p\n"
                          "0 <= p perp (w - v) + 0.5*pre(w - v) >= 0 when y - x <= 0\n"
                          "simulate to 1 step 1e-2 method radau5\n");
    double reduced = 0.75, speed = 3;
    assert_int_equal(all.n, 1);
    expect_near(all.impact[0].time, 1 / speed, 1e-9);
    expect_near(all.impact[0].impulse, 1.5 * reduced * speed, 1e-8);
    expect_near(all.impact[0].energy, 0.75 * reduced * speed * speed / 2, 1e-8);
}

/* A block lies under a load that changes, while a ball bounces: the block's force is none. */
static void a_force_at_the_time_of_an_impact_is_none(void **state)
{
    (void)state;
    list all = impacts_of("model two\nparam m = 1 \"kg\", g = 9.81 \"m/s^2\", e = 0.5\n"
                          "input load = 50 + 40*sin(20*t) \"N\"\n"
                          "state z = 1 \"m\", v = 0 \"m/s\", y = 0 \"m\", w = 0 \"m/s\"\n"
                          "var p \"N\", q \"N\"\nder(z) = v\nm*der(v) = p - m*g\n"
                          "der(y) = w\nm*der(w) = q - load\n"
                          "0 <= q perp w >= 0 when y <= 0\n"
                          "0 <= p perp v + e*pre(v) >= 0 when z <= 0\n"
                          "simulate to 0.6 step 0.1 method radau5\n");
    assert_int_equal(all.n, 1);
    assert_int_equal(all.impact[0].pair, 1);
}

/* The largest is the second one: a swing between walls that is driven. */
static void the_largest_need_not_be_the_first(void **state)
{
    (void)state;
    list all = impacts_of("model ball\nparam m = 1 \"kg\"\n"
                          "state x = 1 \"m\", v = -1 \"m/s\"\nvar a \"N\", b \"N\"\n"
                          "der(x) = v\nm*der(v) = a - b\n"
                          "0 <= a perp v + 2*pre(v) >= 0 when x <= 0\n"
                          "0 <= b perp -(v + 0.75*pre(v)) >= 0 when x >= 1\n"
                          "simulate to 1.75 step 1e-2 method radau5\n");
    assert_int_equal(all.n, 2);
    assert_true(all.impact[0].pair == 0 && all.impact[1].pair == 1);
    expect_near(all.impact[0].impulse, 3, 1e-8);
    expect_near(all.impact[0].energy, -1.5, 1e-8); /* gained */
    expect_near(all.impact[1].time, 1.5, 1e-8);
    expect_near(all.impact[1].impulse, 3.5, 1e-8);
}

static void a_contact_is_named_by_its_force(void **state)
{
    (void)state;
    perp_model *model;
    perp_simulation *sim = create(BALL("radau5"), &model);
    char text[32];
    assert_string_equal(perp_simulation_impact_name(sim, 0), "fn");
    assert_int_equal(perp_simulation_impact_unit(sim, 0, text, sizeof text), 3);
    assert_string_equal(text, "N s");
    assert_int_equal(perp_simulation_impact_bodies(sim, 0, text, sizeof text), 0);
    assert_string_equal(text, "");
    assert_null(perp_simulation_impact_name(sim, 1));
    assert_int_equal(perp_simulation_impact_unit(sim, -1, NULL, 0), -1);
    assert_int_equal(perp_simulation_impact_bodies(sim, 7, NULL, 0), -1);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

/* A ball with a gap, whose impact takes two steps, and one with a guard, which strikes in the
 * second of them: in one step both are listed, in the order of time. */
static void impacts_of_a_step_are_in_the_order_of_time(void **state)
{
    (void)state;
    perp_model *model;
    const perp_impact *impact = NULL;
    int n = 0;
    perp_simulation *sim =
        create("model two\n"
               "state a = 0.1052, va = -1\nstate b = 0.105, vb = -1\nvar fa, fb\n"
               "der(a) = va\nder(va) = fa\nder(b) = vb\nder(vb) = fb\n"
               "0 <= fa perp va + 0.5*pre(va) >= 0 when a <= 0\n"
               "0 <= fb perp b >= 0\n"
               "simulate to 0.2 step 0.01 method backward-euler\n",
               &model);
    for (int k = 0; k < 20 && n < 2; k++) {
        assert_int_equal(simulation_step(sim, NULL, NULL), PERP_OK);
        n = perp_simulation_impacts(sim, &impact);
    }
    assert_int_equal(n, 2);
    assert_string_equal(perp_simulation_impact_name(sim, impact[0].pair), "fb");
    assert_true(impact[0].time < impact[1].time);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

/* A run that begins again counts from 0; a step that is set back is counted once. */
static void a_reset_begins_at_zero(void **state)
{
    (void)state;
    perp_diag diag = {0};
    perp_model *model;
    perp_simulation *sim = create(BALL("radau5"), &model);
    long n[2];
    for (int k = 0; k < 2; k++) {
        perp_simulation_reset(sim);
        assert_int_equal(perp_simulation_impact_count(sim, NULL, NULL), 0);
        assert_int_equal(simulation_run(sim, NULL, NULL, &diag), PERP_OK);
        n[k] = perp_simulation_impact_count(sim, NULL, NULL);
    }
    assert_true(n[0] > 0 && n[0] == n[1]);
    assert_int_equal(perp_simulation_impacts(NULL, NULL), 0);
    assert_int_equal(perp_simulation_impact_count(NULL, NULL, NULL), 0);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounces_are_those_of_the_closed_form),
        cmocka_unit_test(bounces_of_fixed_steps_come_near_to_it),
        cmocka_unit_test(an_impact_of_a_rejected_substep_does_not_count),
        cmocka_unit_test(a_drop_is_one_impact),
        cmocka_unit_test(what_lies_has_no_impact),
        cmocka_unit_test(a_guard_that_flickers_has_no_impacts),
        cmocka_unit_test(a_gap_of_one_step_has_no_impact),
        cmocka_unit_test(rounding_of_other_impulses_is_none),
        cmocka_unit_test(an_impact_by_an_impact_counts),
        cmocka_unit_test(an_elastic_impact_loses_nothing),
        cmocka_unit_test(impulses_that_must_not_add_energy_do_not),
        cmocka_unit_test(what_moves_by_itself_adds_energy),
        cmocka_unit_test(energy_without_units_is_not_stated),
        cmocka_unit_test(two_balls_lose_the_energy_of_the_reduced_mass),
        cmocka_unit_test(a_force_at_the_time_of_an_impact_is_none),
        cmocka_unit_test(the_largest_need_not_be_the_first),
        cmocka_unit_test(a_contact_is_named_by_its_force),
        cmocka_unit_test(impacts_of_a_step_are_in_the_order_of_time),
        cmocka_unit_test(a_reset_begins_at_zero),
    };
    return run_all(tests);
}
