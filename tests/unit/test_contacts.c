/* Contacts that the builder keeps: of friction(...), of friction written as pairs by hand, and what is neither. */

#include "model/model.h"
#include "runs.h"
#include "simulate/run.h"

/* The value of an expression where symbol s is s + 1, but h is 1/8. */
static double value_of(const perp_model *m, perp_expr e)
{
    double *symbol = malloc((size_t)m->nsymbol * sizeof *symbol), value;
    assert_non_null(symbol);
    for (int s = 0; s < m->nsymbol; s++) symbol[s] = s == PERP__SYM_H ? 0.125 : s + 1;
    assert_int_equal(perp__graph_value(&m->graph, e, symbol, &value), 1);
    free(symbol);
    return value;
}

static void assert_same(const perp_model *m, perp_expr a, perp_expr b)
{
    assert_true(value_of(m, a) == value_of(m, b));
}

/* The contact and the conditions that state it know each other. */
static void assert_states(const perp_model *m, int contact, int npair, int nequation)
{
    int pairs = 0, equations = 0;
    for (int i = 0; i < m->npair; i++) pairs += m->pair[i].contact == contact;
    for (int i = 0; i < m->nequation; i++) equations += m->equation[i].contact == contact;
    assert_int_equal(pairs, npair);
    assert_int_equal(equations, nequation);
    const perp__contact *c = &m->contact[contact];
    if (npair) assert_int_equal(m->pair[c->pair].contact, contact);
    if (nequation) assert_int_equal(m->equation[c->equation].contact, contact);
    if (nequation) assert_int_equal(m->equation[c->equation + 1].contact, contact);
    assert_int_equal(npair == 0, c->pair < 0);
    assert_int_equal(nequation == 0, c->equation < 0);
}

static void friction_with_facets_keeps_its_normal_and_its_pairs(void **state)
{
    (void)state;
    perp_model *m = load_model("mechanics/cube.perp");
    assert_int_equal(m->ncontact, 8);
    assert_int_equal(m->nfriction, 8);
    for (int i = 0; i < 8; i++) {
        const perp__contact *c = &m->contact[i];
        const perp__pair *slip = &m->pair[c->pair], *facet = slip + 1;
        assert_int_equal(c->kind, PERP__CONTACT_FACETS);
        assert_int_equal(c->n, 2);
        assert_states(m, i, 9, 2);
        assert_int_equal(c->normal, c->pair - 1);
        assert_int_equal(c->side, 0);
        assert_int_equal(m->pair[c->normal].contact, -1);
        assert_string_equal(slip->side[0], "slip speed");
        assert_near(value_of(m, facet->b), value_of(m, slip->a) + value_of(m, c->v[0]), 1e-12);
    }
    perp_model_destroy(m);
}

static void exact_cones_keep_their_normal_and_their_equations(void **state)
{
    (void)state;
    perp_model *m = load_model("mechanics/table.perp");
    assert_int_equal(m->ncontact, 4);
    for (int i = 0; i < 4; i++) {
        const perp__contact *c = &m->contact[i];
        assert_int_equal(c->kind, PERP__CONTACT_CONE);
        assert_states(m, i, 0, 2);
        assert_int_equal(c->normal, i);
        assert_int_equal(c->side, 0);
        assert_same(m, m->equation[c->equation].left, c->f[0]);
        assert_same(m, m->equation[c->equation + 1].left, c->f[1]);
        assert_int_equal(perp__cone_of(m, c->equation + 1), i);
    }
    perp_model_destroy(m);
    m = load_model("mechanics/plane.perp"); /* mu*m*g is no pair's */
    assert_int_equal(m->ncontact, 1);
    assert_int_equal(m->contact[0].normal, -1);
    perp_model_destroy(m);
}

static void friction_in_one_direction_is_its_pair(void **state)
{
    (void)state;
    perp_model *m = parse_model("param mu = 0.3\nstate x = 1, v = 0\nvar f, N\nder(x) = v\n"
                                "der(v) = f\n0 <= N perp x >= 0\n"
                                "friction(f = f, v = v, bound = mu*N) when pre(x) <= 1\n");
    const perp__contact *c = &m->contact[0];
    assert_int_equal(m->ncontact, 1);
    assert_int_equal(c->kind, PERP__CONTACT_LINE);
    assert_int_equal(m->nfriction, 1);
    assert_states(m, 0, 1, 0);
    assert_int_equal(c->guard, m->pair[1].guard);
    assert_true(c->guard >= 0);
    assert_int_equal(c->normal, 0);
    assert_int_equal(m->pair[0].contact, -1);
    perp_model_destroy(m);
}

static void examples_by_hand_are_recognised(void **state)
{
    (void)state;
    perp_model *m = load_model("notes/sliding_one_line.perp");
    assert_int_equal(m->ncontact, 1);
    assert_int_equal(m->nfriction, 0);
    assert_int_equal(m->contact[0].kind, PERP__CONTACT_LINE);
    assert_states(m, 0, 1, 0);
    assert_same(m, m->contact[0].bound, m->pair[0].hi);
    perp_model_destroy(m);
    m = load_model("notes/particle.perp");
    assert_int_equal(m->ncontact, 1);
    assert_int_equal(m->contact[0].kind, PERP__CONTACT_SPLIT);
    assert_int_equal(m->contact[0].guard, m->pair[0].guard);
    assert_states(m, 0, 3, 0);
    perp_model_destroy(m);
    m = load_model("mechanics/chain.perp");
    for (int i = 0; i < m->ncontact; i++) assert_int_equal(m->contact[i].kind, PERP__CONTACT_LINE);
    perp_model_destroy(m);
}

/* A block with these conditions on its forces p, q, r, slip speed s, velocity v - w of slip and normal force N. */
static perp_model *block(const char *conditions)
{
    char text[6000];
    snprintf(text, sizeof text,
             "param mu = 0.3, m = 2, g = 9.81\nstate x = 1, y = 1, v = 0, w = 0\n"
             "var p, q, r, s, N\nder(x) = v\nder(y) = w\nm*der(v) = p - q + r\nder(w) = N\n%s",
             conditions);
    return parse_model(text);
}

static const char *const splits[] = {
    "0 <= p perp s + v >= 0\n0 <= q perp s - v >= 0\n0 <= s perp mu*N - p - q >= 0\n"
    "0 <= N perp y >= 0\nr = 0\n",
    /* other orders; a velocity of three terms, with brackets */
    "0 <= s perp -(q - mu*N) - p >= 0\n0 <= q perp v - w + s + m*pre(w) >= 0\n"
    "0 <= p perp s - (v + pre(w)*m) + w >= 0\n0 <= N perp y >= 0\nr = 0\n",
    /* coefficients, bounds of several terms, a guard */
    "0 <= p perp s + 0.5*m*v >= 0 when pre(y) <= 1\n"
    "0 <= q perp s - m*(0.5*v) >= 0 when pre(y) <= 1\n"
    "0 <= s perp mu*N - r - p - q >= 0 when pre(y) <= 1\n0 <= N perp y >= 0\n0 <= r perp x >= 0 "
    "when pre(y) <= 1\n",
};

static void splits_by_hand_are_contacts(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof splits / sizeof *splits; k++) {
        perp_model *m = block(splits[k]);
        assert_int_equal(m->ncontact, 1);
        const perp__contact *c = &m->contact[0];
        assert_int_equal(c->kind, PERP__CONTACT_SPLIT);
        assert_int_equal(m->nfriction, 0);
        assert_states(m, 0, 3, 0);
        const perp__pair *first = &m->pair[c->force[0]], *second = &m->pair[c->force[1]],
                         *last = &m->pair[c->pair];
        assert_true(first < second);
        assert_near(value_of(m, c->f[0]), value_of(m, first->a) - value_of(m, second->a), 0);
        assert_near(value_of(m, first->b), value_of(m, last->a) + value_of(m, c->v[0]), 1e-12);
        assert_near(value_of(m, second->b), value_of(m, last->a) - value_of(m, c->v[0]), 1e-12);
        assert_near(value_of(m, c->bound),
                    value_of(m, last->b) + value_of(m, first->a) + value_of(m, second->a), 1e-12);
        assert_int_equal(c->guard, last->guard);
        perp_model_destroy(m);
    }
}

static const char *const near_splits[] = {
    /* the velocities are not opposite: by their sign, a coefficient, a term */
    "0 <= p perp s + v >= 0\n0 <= q perp s + v >= 0\n0 <= s perp mu*N - p - q >= 0\n",
    "0 <= p perp s + v >= 0\n0 <= q perp s - 1.000000000001*v >= 0\n0 <= s perp mu*N - p - q >= "
    "0\n",
    "0 <= p perp s + v >= 0\n0 <= q perp s - v + 1e-12 >= 0\n0 <= s perp mu*N - p - q >= 0\n",
    /* the slip speed has a coefficient, or counts in one only */
    "0 <= p perp 2*s + v >= 0\n0 <= q perp 2*s - v >= 0\n0 <= s perp mu*N - p - q >= 0\n",
    "0 <= p perp 2*s + v >= 0\n0 <= q perp -v >= 0\n0 <= s perp mu*N - p - q >= 0\n",
    /* the bound is against one force, their difference, or twice one */
    "0 <= p perp s + v >= 0\n0 <= q perp s - v >= 0\n0 <= s perp mu*N - p >= 0\n",
    "0 <= p perp s + v >= 0\n0 <= q perp s - v >= 0\n0 <= s perp mu*N - p + q >= 0\n",
    "0 <= p perp s + v >= 0\n0 <= q perp s - v >= 0\n0 <= s perp mu*N - p - 2*q >= 0\n",
    /* a guard of one alone */
    "0 <= p perp s + v >= 0 when pre(y) <= 1\n0 <= q perp s - v >= 0\n"
    "0 <= s perp mu*N - p - q >= 0\n",
    /* what is right of max(...) is not its term */
    "0 <= p perp max(s + v, v) >= 0\n0 <= q perp s - v >= 0\n0 <= s perp mu*N - p - q >= 0\n",
};

static void near_splits_are_none(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof near_splits / sizeof *near_splits; k++) {
        char text[1000];
        snprintf(text, sizeof text, "%s0 <= N perp y >= 0\nr = 0\n", near_splits[k]);
        perp_model *m = block(text);
        if (m->ncontact) fail_msg("recognised: %s", near_splits[k]);
        for (int i = 0; i < m->npair; i++) assert_int_equal(m->pair[i].contact, -1);
        perp_model_destroy(m);
    }
    perp_model *m = block("0 <= p perp s + v >= 0\n0 <= q perp s - v >= 0\n0 <= r perp s + w >= 0\n"
                          "0 <= s perp mu*N - p - q - r >= 0\n0 <= N perp y >= 0\n");
    assert_int_equal(m->ncontact, 0); /* a pyramid of three facets */
    perp_model_destroy(m);
}

/* lo <= r <= hi perp v: is it friction? */
static void bounds_that_are_opposite_are_friction(void **state)
{
    (void)state;
    static const struct {
        const char *lo, *hi;
        int is_friction;
    } bounds[] = {
        {"-mu*N", "mu*N", 1},
        {"-5", "5", 1},
        {"-0.5*m*N", "m*N/2", 1},
        {"-mu*(m*g)", "mu*m*g", 1},
        {"-mu*N - pre(v)", "pre(v) + N*mu", 1},
        {"mu*(x - y)", "mu*(y - x)", 1},
        {"N/(-mu)", "N/mu", 1},
        {"-min(N, 5)", "min(N, 5)", 1},
        {"0", "0", 1},
        {"-5", "5.000000000001", 0},
        {"-mu*N", "mu*N + 1e-12", 0},
        {"-mu*N", "m*N", 0},
        {"-mu*N", "mu*N*N", 0},
        {"-mu/N", "mu*N", 0},
        {"max(-5, -mu*N)", "mu*N", 0},
        {"0", "mu*N", 0},
        {"mu*N", "mu*N", 0},
    };
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++) {
        char text[300];
        snprintf(text, sizeof text,
                 "%s <= r <= %s perp v\n0 <= N perp y >= 0\np = 0\nq = 0\ns = 0\n", bounds[k].lo,
                 bounds[k].hi);
        perp_model *m = block(text);
        if (m->ncontact != bounds[k].is_friction) fail_msg("%s .. %s", bounds[k].lo, bounds[k].hi);
        assert_int_equal(m->pair[0].contact, bounds[k].is_friction - 1);
        if (m->ncontact) assert_states(m, 0, 1, 0);
        perp_model_destroy(m);
    }
}

/* friction with this bound, beside N >= 0 and s >= 0 each with a side: the normal's pair and side. */
static void normals_are_what_the_bound_is_a_multiple_of(void **state)
{
    (void)state;
    static const struct {
        const char *bound;
        int pair, side;
    } bounds[] = {
        {"mu*N", 0, 0},          {"N*mu/2", 0, 0},        {"-N*(-mu)*pre(x)*t/h", 0, 0},
        {"mu*N + 0.1*N", 0, 0},  {"mu*max(N, 0)", 0, 0},  {"max(mu*N, 0)", 0, 0},
        {"mu*(2*y)", 0, 1},      {"mu*(s + x)", 1, 0},    {"mu*(x*v)", 1, 1},
        {"v*mu*x", 1, 1},        {"mu*r", 2, 0},          {"mu*(1 - r)", 2, 1},
        {"mu*m*g", -1, 0},       {"mu*N + 1e-12", -1, 0}, {"mu*(N + s)", -1, 0},
        {"mu*N*N", -1, 0},       {"mu*N*y", -1, 0},       {"mu/N", -1, 0},
        {"mu*min(N, 5)", -1, 0}, {"mu*max(N, 5)", -1, 0}, {"mu*s + mu*v", -1, 0},
        {"mu*sqrt(N)", -1, 0},
    };
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++) {
        char text[400];
        snprintf(text, sizeof text,
                 "0 <= N perp 2*y >= 0\n0 <= s + x perp m*v*x >= 0\n0 <= r <= 1 perp w\n"
                 "friction(f = [p, q], v = [v, w], bound = %s)\n",
                 bounds[k].bound);
        perp_model *m = block(text);
        assert_int_equal(m->ncontact, 1);
        if (m->contact[0].normal != bounds[k].pair || m->contact[0].side != bounds[k].side)
            fail_msg("bound = %s: pair %d, side %d", bounds[k].bound, m->contact[0].normal,
                     m->contact[0].side);
        perp_model_destroy(m);
    }
}

/* Where a state is what it was before the step, it is a coefficient. */
static void in_a_discrete_model_a_bare_state_is_known(void **state)
{
    (void)state;
    const char *text =
        "state x = 1, v = 0, w = 0\nvar f[2], N\nnext(x) = x + N\nnext(v) = v + f[1]\n"
        "next(w) = w + f[2]\n0 <= N perp next(x) >= 0\n"
        "friction(f = f, v = [next(v), next(w)], bound = %s*N)\n";
    for (int k = 0; k < 2; k++) {
        char changed[400];
        snprintf(changed, sizeof changed, text, k ? "next(x)" : "x");
        perp_model *m = parse_model(changed);
        assert_int_equal(m->contact[0].normal, k ? -1 : 0);
        perp_model_destroy(m);
    }
}

/* The rows of the step: a bound's row is mu times that of the side it belongs to, behind a two-sided pair, too. */
static void the_step_knows_the_row_of_a_normal(void **state)
{
    (void)state;
    static const char *const bounds[] = {"mu*(N - 1)", "mu*(3 - N)", "mu*r", "mu*(3 - r)", "mu*s"};
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++) {
        char text[400];
        snprintf(text, sizeof text,
                 "1 <= N <= 3 perp y\n0 <= r <= 3 perp w\n"
                 "0 <= s perp x >= 0\nfriction(f = [p, q], v = [v, w], bound = %s)\n"
                 "simulate to 1 step 0.1\n",
                 bounds[k]);
        perp_model *m = block(text);
        perp_simulation *sim;
        assert_int_equal(perp_simulation_create(m, NULL, &sim, NULL), PERP_OK);
        const perp__step *s = &sim->step;
        const perp__cone *cone = s->layout->cone;
        assert_int_equal(s->layout->ncone, 1);
        assert_int_equal(s->layout->pair[cone->pair].of, m->contact[0].normal);
        int side = cone->side ? s->layout->pair[cone->pair].b : s->layout->pair[cone->pair].a;
        int i = s->layout->row_start[side], j = s->layout->row_start[cone->row + 4];
        assert_int_equal(s->layout->row_start[side + 1], i + 1);
        assert_int_equal(s->layout->row_start[cone->row + 5], j + 1);
        assert_int_equal(s->layout->column[i], s->layout->column[j]);
        assert_near(s->state.slopes.value[i], k == 1 || k == 3 ? -1 : 1, 0);
        perp_simulation_destroy(sim);
        perp_model_destroy(m);
    }
}

/* What is too long to compare is no contact of its own, and is refused by none. */
static void long_sums_are_left_alone(void **state)
{
    (void)state;
    char text[4000], *end = text + sprintf(text, "-N");
    for (int i = 0; i < 100; i++) end += sprintf(end, " - %d*pre(v)", i + 2);
    sprintf(end, " <= r <= N perp v\n0 <= N perp y >= 0\np = 0\nq = 0\ns = 0\n");
    perp_model *m = block(text);
    assert_int_equal(m->ncontact, 0);
    perp_model_destroy(m);
    end = text +
          sprintf(text,
                  "0 <= N perp y >= 0\nr = 0\ns = 0\nfriction(f = [p, q], v = [v, w], bound = N");
    for (int i = 0; i < 100; i++) end += sprintf(end, "*(v + %d)", i);
    sprintf(end, ")\n");
    m = block(text);
    assert_int_equal(m->contact[0].normal, -1);
    perp_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(friction_with_facets_keeps_its_normal_and_its_pairs),
        cmocka_unit_test(exact_cones_keep_their_normal_and_their_equations),
        cmocka_unit_test(friction_in_one_direction_is_its_pair),
        cmocka_unit_test(examples_by_hand_are_recognised),
        cmocka_unit_test(splits_by_hand_are_contacts),
        cmocka_unit_test(near_splits_are_none),
        cmocka_unit_test(bounds_that_are_opposite_are_friction),
        cmocka_unit_test(normals_are_what_the_bound_is_a_multiple_of),
        cmocka_unit_test(in_a_discrete_model_a_bare_state_is_known),
        cmocka_unit_test(the_step_knows_the_row_of_a_normal),
        cmocka_unit_test(long_sums_are_left_alone),
    };
    return run_all(tests);
}
