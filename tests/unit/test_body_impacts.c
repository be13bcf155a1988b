/* Impacts of bodies: times, impulses, points and energies beside closed forms; what counts and what
 * does not. */

#include "unit.h"

#include "perp/perp.h"
#include "outcomes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

static const double g = 9.81;

typedef struct list {
    int n;
    perp_impact impact[MOST];
} list;

static perp_bodies *create(const perp_body *body, int nbody, const perp_shape *shape, int nshape,
                           double step)
{
    perp_bodies_options o = perp_bodies_options_default();
    perp_diag diag = {0};
    perp_bodies *b;
    o.step = step;
    if (perp_bodies_create(body, nbody, shape, nshape, &o, &b, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return b;
}

static int step(perp_bodies *b, list *all)
{
    perp_bodies_info info = {.size = sizeof info};
    perp_diag diag = {0};
    const perp_impact *impact;
    if (bodies_step(b, &info, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    int n = perp_bodies_impacts(b, &impact);
    for (int k = 0; k < n; k++) {
        assert_true(all->n < MOST);
        all->impact[all->n++] = impact[k];
    }
    return info.substeps;
}

/* All impacts until a time. The count, the largest and the sum are those of the list. */
static list impacts_until(perp_bodies *b, double to)
{
    list all = {0};
    perp_impact largest;
    double energy, sum = 0, most = 0;
    while (perp_bodies_time(b) < to - 1e-9) step(b, &all);
    assert_int_equal(perp_bodies_impact_count(b, &largest, &energy), all.n);
    for (int k = 0; k < all.n; k++) {
        sum += all.impact[k].energy;
        most = fmax(most, all.impact[k].impulse);
        assert_true(k == 0 || all.impact[k].time >= all.impact[k - 1].time);
    }
    if (all.n) assert_true(largest.impulse == most);
    if (all.n == 0) assert_true(largest.shape[0] == -1 && isnan(largest.point[0]));
    assert_near(energy, sum, 1e-12 * (1 + fabs(sum)));
    return all;
}

static perp_body free_body(double x, double z)
{
    return (perp_body){
        .joint = PERP_JOINT_FREE, .position = {x, 0, z}, .mass = 2, .inertia = {0.01, 0.01, 0.01}};
}

static perp_shape ground(void)
{
    return (perp_shape){.kind = PERP_SHAPE_PLANE};
}

static perp_shape ball(int body, double e)
{
    return (perp_shape){
        .kind = PERP_SHAPE_SPHERE, .body = body, .size = {0.1}, .mu = 0, .restitution = e};
}

/* A ball 1 m above the floor: m sqrt(2 g) or (1 + e) times that; energy m g (1 - e^2). Of order 1:
 * the velocity is that of up to two steps later. */
static void a_drop_is_one_impact(void **state)
{
    (void)state;
    const double h = 2e-3, e[] = {0, 0.5};
    for (int k = 0; k < 2; k++) {
        perp_body body = free_body(0.3, 1.1);
        perp_shape shape[] = {ground(), ball(1, e[k])};
        perp_bodies *b = create(&body, 1, shape, 2, h);
        double t = sqrt(2 / g), v = g * t;
        list all = impacts_until(b, t + 0.2);
        assert_int_equal(all.n, 1);
        perp_impact x = all.impact[0];
        assert_near(x.time, t, 2 * h);
        assert_near(x.impulse, 2 * v * (1 + e[k]), 3 * 2 * g * h);
        assert_near(x.energy, 2 * g * (1 - e[k] * e[k]), 3 * 2 * g * h * v);
        assert_near(x.friction, 0, 1e-12);
        assert_true(x.pair == -1 && x.shape[0] == 0 && x.shape[1] == 1);
        assert_true(x.body[0] == 0 && x.body[1] == 1);
        assert_near(x.point[0], 0.3, 1e-12);
        assert_near(x.point[2], 0, 0.5 * v * h); /* midway between the surfaces */
        perp_bodies_destroy(b);
    }
}

/* The bounces of a ball, until it rests: each is e times the last. None at rest. */
static void bounces_are_those_of_the_closed_form(void **state)
{
    (void)state;
    perp_body body = free_body(0, 1.1);
    perp_shape shape[] = {ground(), ball(1, 0.6)};
    perp_bodies *b = create(&body, 1, shape, 2, 1e-4);
    list all = impacts_until(b, 3);
    double t = sqrt(2 / g), v = g * t;
    assert_true(all.n > 8);
    for (int k = 0; k < 8; k++) {
        assert_near(all.impact[k].time, t, 5e-3);
        assert_near(all.impact[k].impulse, 2 * 1.6 * v, 0.02 * v);
        assert_near(all.impact[k].energy, (1 - 0.36) * v * v, 0.02 * v * v);
        t += 2 * 0.6 * v / g;
        v *= 0.6;
    }
    assert_true(all.impact[all.n - 1].time < 2); /* at rest at 4 sqrt(2 / g) */
    perp_bodies_destroy(b);
}

/* A box that falls flat has four contacts with the floor, and one impact, in its middle. */
static void a_box_that_falls_flat_has_one(void **state)
{
    (void)state;
    perp_body body = free_body(-0.2, 0.4);
    perp_shape shape[] = {ground(),
                          {.kind = PERP_SHAPE_BOX, .body = 1, .size = {0.1, 0.1, 0.1}, .mu = 0.5}};
    perp_bodies *b = create(&body, 1, shape, 2, 2e-3);
    list all = impacts_until(b, 1);
    double v = sqrt(2 * g * 0.3);
    assert_int_equal(all.n, 1);
    assert_near(all.impact[0].impulse, 2 * v, 3 * 2 * g * 2e-3);
    assert_near(all.impact[0].energy, v * v, 0.1);
    assert_near(all.impact[0].point[0], -0.2, 1e-6);
    assert_near(all.impact[0].point[1], 0, 1e-6);
    perp_bodies_destroy(b);
}

/* A box that slides to rest, a ball that rolls, a load that is lifted for one step. */
static void what_stays_in_contact_has_none(void **state)
{
    (void)state;
    perp_body body[] = {free_body(0, 0.1), free_body(1, 0.1), free_body(2, 0.1)};
    perp_shape shape[] = {ground(),
                          {.kind = PERP_SHAPE_BOX, .body = 1, .size = {0.1, 0.1, 0.1}, .mu = 0.5},
                          ball(2, 0),
                          ball(3, 0)};
    shape[2].mu = 0.5;
    perp_bodies *b = create(body, 3, shape, 4, 2e-3);
    double *v = calloc(18, sizeof *v), *tau = calloc(18, sizeof *tau);
    v[0] = 1;
    v[6] = 0.5;
    v[10] = 5; /* rolls */
    assert_int_equal(perp_bodies_set(b, NULL, v), PERP_OK);
    list all = {0};
    for (int k = 0; k < 500; k++) { /* up to a gap that is not yet closed one step later */
        tau[14] = k % 50 == 10 ? 2.5 * 2 * g : k % 50 == 11 ? -0.5 * 2 * g : 0;
        assert_int_equal(perp_bodies_set_force(b, tau), PERP_OK);
        step(b, &all);
    }
    assert_int_equal(all.n, 0);
    free(v);
    free(tau);
    perp_bodies_destroy(b);
}

/* A paddle that turns pushes a ball ahead: its face comes nearer in each step by the turn alone. */
static void what_is_pushed_by_a_turn_has_none(void **state)
{
    (void)state;
    perp_body body[] = {
        {.joint = PERP_JOINT_HINGE, .axis = {0, 0, 1}, .mass = 1e4, .inertia = {1e4, 1e4, 1e4}},
        free_body(0.5, 0)};
    body[1].position[1] = 0.15;
    perp_shape shape[] = {{.kind = PERP_SHAPE_BOX, .body = 1, .size = {1, 0.05, 0.1}}, ball(2, 0)};
    perp_bodies_options o = perp_bodies_options_default();
    perp_bodies *b;
    double v[7] = {2, 0, 1};
    list all = {0};
    memset(o.gravity, 0, sizeof o.gravity);
    assert_int_equal(perp_bodies_create(body, 2, shape, 2, &o, &b, NULL), PERP_OK);
    assert_int_equal(perp_bodies_set(b, NULL, v), PERP_OK);
    int pressed = 0;
    for (int k = 0; k < 100; k++) {
        const perp_contact *contact;
        step(b, &all);
        pressed += perp_bodies_contacts(b, &contact) > 0 && contact[0].impulse[0] > 0;
    }
    assert_true(pressed > 90);
    assert_true(all.n <= 1);
    perp_bodies_destroy(b);
}

/* A step that is rejected after its contacts were solved leaves no impact: a ball that is wider
 * than the slot that it is in. */
static void a_rejected_step_has_none(void **state)
{
    (void)state;
    perp_body body = free_body(0, 0);
    perp_shape shape[] = {{.kind = PERP_SHAPE_BOX, .size = {0.5, 1, 1}, .position = {0.57, 0, 0}},
                          {.kind = PERP_SHAPE_BOX, .size = {0.5, 1, 1}, .position = {-0.57, 0, 0}},
                          ball(1, 0)};
    perp_bodies_info info = {.size = sizeof info};
    perp_bodies *b = create(&body, 1, shape, 3, 2e-3);
    double v[6] = {1};
    assert_int_equal(perp_bodies_set(b, NULL, v), PERP_OK);
    assert_int_equal(perp_bodies_step(b, &info, NULL), PERP_OK);
    assert_true(info.outcome != PERP_SOLVED);
    assert_int_equal(perp_bodies_impacts(b, NULL), 0);
    assert_int_equal(perp_bodies_impact_count(b, NULL, NULL), 0);
    perp_bodies_destroy(b);
}

/* Two balls in the air: the energy of the reduced mass; without any for e = 1, whatever rounding
 * leaves. */
static void two_balls_lose_the_energy_of_the_reduced_mass(void **state)
{
    (void)state;
    for (int k = 0; k < 20; k++) {
        double e = k < 10 ? 0.3 : 1, speed = 1.3 + 0.1 * k;
        perp_body body[] = {free_body(0, 0), free_body(1, 0.03)};
        perp_shape shape[] = {ball(1, e), ball(2, 0)};
        perp_bodies_options o = perp_bodies_options_default();
        perp_bodies *b;
        memset(o.gravity, 0, sizeof o.gravity);
        assert_int_equal(perp_bodies_create(body, 2, shape, 2, &o, &b, NULL), PERP_OK);
        double v[12] = {speed};
        v[6] = -0.4;
        assert_int_equal(perp_bodies_set(b, NULL, v), PERP_OK);
        list all = impacts_until(b, 1);
        double c = sqrt(1 - 0.03 * 0.03 / 0.04), u = (speed + 0.4) * c; /* along the normal */
        assert_int_equal(all.n, 1);
        assert_near(all.impact[0].impulse, (1 + e) * u, 2e-2 * u);
        if (e < 1)
            assert_near(all.impact[0].energy, (1 - e * e) * u * u / 2, 2e-2 * u * u);
        else
            assert_true(all.impact[0].energy == 0);
        assert_int_equal(all.impact[0].body[0], 1);
        assert_int_equal(all.impact[0].body[1], 2);
        perp_bodies_destroy(b);
    }
}

/* Three balls in a row, e = 1, one step apart: the second is hit and hits. */
static void an_impact_by_an_impact_counts(void **state)
{
    (void)state;
    perp_body body[] = {free_body(0, 0), free_body(0.5, 0), free_body(0.7005, 0)};
    perp_shape shape[] = {ball(1, 1), ball(2, 1), ball(3, 1)};
    perp_bodies_options o = perp_bodies_options_default();
    perp_bodies *b;
    memset(o.gravity, 0, sizeof o.gravity);
    assert_int_equal(perp_bodies_create(body, 3, shape, 3, &o, &b, NULL), PERP_OK);
    double v[18] = {1};
    assert_int_equal(perp_bodies_set(b, NULL, v), PERP_OK);
    list all = impacts_until(b, 0.5);
    assert_int_equal(all.n, 2);
    assert_int_equal(all.impact[1].shape[1], 2);
    assert_near(all.impact[1].impulse, 2, 1e-9);
    perp_bodies_destroy(b);
}

/* Kane's paradox: a rod's end strikes with mu 0.5, e 0.9. Newton's restitution with Coulomb
 * friction adds energy: from 0.68 to 0.7331 J (../shared/findings/motion/kane.perp). The tip is a
 * small ball whose lowest point is 0.5 m from the centre, at 45 degrees. */
static void a_gain_of_energy_is_told(void **state)
{
    (void)state;
    const double far = 0.5 * sqrt(0.5), r = 0.01;
    perp_body body = {
        .joint = PERP_JOINT_FREE, .position = {0, 0, 0.36}, .mass = 1, .inertia = {1, 1.0 / 12, 1}};
    perp_shape shape[] = {ground(),
                          {.kind = PERP_SHAPE_SPHERE,
                           .body = 1,
                           .size = {r},
                           .position = {-far, 0, r - far},
                           .mu = 0.5,
                           .restitution = 0.9}};
    perp_bodies_options o = perp_bodies_options_default();
    perp_bodies *b;
    double v[6] = {0.6, 0, -1}, before, after, energy;
    memset(o.gravity, 0, sizeof o.gravity);
    assert_int_equal(perp_bodies_create(&body, 1, shape, 2, &o, &b, NULL), PERP_OK);
    assert_int_equal(perp_bodies_set(b, NULL, v), PERP_OK);
    perp_bodies_energy(b, &before, NULL);
    list all = impacts_until(b, 0.02);
    perp_bodies_energy(b, &after, NULL);
    assert_int_equal(all.n, 1);
    assert_near(before, 0.68, 1e-12);
    assert_near(after, 0.7331, 1e-3);
    assert_near(all.impact[0].energy, before - after, 1e-9);
    perp_bodies_impact_count(b, NULL, &energy);
    assert_near(energy, before - after, 1e-9);
    perp_bodies_destroy(b);
}

/* Torsional and rolling friction take energy in an impact, too. A ball spins about the normal and
 * about a tangent; all that it loses in the step of the impact is the impact's. */
static void moments_of_friction_take_energy(void **state)
{
    (void)state;
    perp_body body = free_body(0, 0.101);
    perp_shape shape[] = {ground(), ball(1, 0.5)};
    shape[1].mu = 0.3;
    shape[1].torsional_friction = 0.02;
    shape[1].rolling_friction = 0.01;
    perp_bodies_options o = perp_bodies_options_default();
    perp_bodies *b;
    double v[6] = {0, 0, -1, 0, 20, 30}, before, after;
    memset(o.gravity, 0, sizeof o.gravity);
    assert_int_equal(perp_bodies_create(&body, 1, shape, 2, &o, &b, NULL), PERP_OK);
    assert_int_equal(perp_bodies_set(b, NULL, v), PERP_OK);
    perp_bodies_energy(b, &before, NULL);
    list all = impacts_until(b, 0.02);
    perp_bodies_energy(b, &after, NULL);
    assert_int_equal(all.n, 1);
    assert_near(all.impact[0].energy, before - after, 1e-9);
    perp_bodies_destroy(b);
}

/* Between the two steps of an impact: a copy and a restored system list it as the first one
 * does. */
static void an_impact_that_has_begun_is_in_snapshots(void **state)
{
    (void)state;
    perp_body body = free_body(0, 1.1003);
    perp_shape shape[] = {ground(), ball(1, 0)};
    perp_bodies *b = create(&body, 1, shape, 2, 2e-3), *other = create(&body, 1, shape, 2, 2e-3);
    int were_two_steps = 0;
    for (int k = 0; k < 300 && perp_bodies_impact_count(b, NULL, NULL) == 0; k++) {
        perp_bodies *clone;
        list one = {0}, two = {0}, three = {0};
        size_t size = perp_bodies_snapshot_size(b);
        void *bytes = malloc(size);
        assert_int_equal(perp_bodies_snapshot(b, bytes, size), PERP_OK);
        assert_int_equal(perp_bodies_restore(other, bytes, size, NULL), PERP_OK);
        assert_int_equal(perp_bodies_clone(b, &clone, NULL), PERP_OK);
        step(b, &one);
        step(other, &two);
        step(clone, &three);
        assert_true(one.n == two.n && one.n == three.n);
        if (one.n) {
            assert_memory_equal(&one.impact[0].impulse, &two.impact[0].impulse, sizeof(double));
            assert_memory_equal(&one.impact[0].energy, &three.impact[0].energy, sizeof(double));
            were_two_steps = one.impact[0].time < perp_bodies_time(b) - 1e-6;
        }
        perp_impact largest;
        assert_int_equal(perp_bodies_impact_count(clone, &largest, NULL), one.n);
        free(bytes);
        perp_bodies_destroy(clone);
    }
    assert_true(were_two_steps);
    perp_bodies_reset(b);
    assert_int_equal(perp_bodies_impact_count(b, NULL, NULL), 0);
    assert_int_equal(perp_bodies_impacts(b, NULL), 0);
    impacts_until(b, 0.6);
    assert_int_equal(perp_bodies_impact_count(b, NULL, NULL), 1);
    assert_int_equal(perp_bodies_impacts(NULL, NULL), 0);
    assert_int_equal(perp_bodies_impact_count(NULL, NULL, NULL), 0);
    perp_bodies_destroy(b);
    perp_bodies_destroy(other);
}

/* A rod on a hinge that would turn through a peg within a step of 20 ms: the step is divided, and
 * has the impact once, in the second substep. */
static void a_divided_step_has_its_impact_once(void **state)
{
    (void)state;
    perp_body body = {.joint = PERP_JOINT_HINGE,
                      .axis = {0, 0, 1},
                      .mass = 1,
                      .inertia = {0.1, 0.1, 0.1},
                      .gravity_compensation = 1};
    perp_shape shape[] = {
        {.kind = PERP_SHAPE_CAPSULE,
         .body = 1,
         .size = {0.01, 0.25},
         .position = {0.25, 0, 0},
         .rotation = {sqrt(0.5), 0, sqrt(0.5), 0}},
        {.kind = PERP_SHAPE_CYLINDER, .size = {0.02, 0.2}, .position = {0, 0.45, 0}}};
    perp_bodies *b = create(&body, 1, shape, 2, 0.02);
    double v = 30, angle = acos(0) - asin(0.03 / 0.45);
    int substeps = 0;
    list all = {0};
    assert_int_equal(perp_bodies_set(b, NULL, &v), PERP_OK);
    for (int k = 0; k < 5; k++) {
        int n = step(b, &all);
        substeps = n > substeps ? n : substeps;
    }
    assert_true(substeps > 1);
    assert_int_equal(all.n, 1);
    assert_near(all.impact[0].energy, 0.1 * v * v / 2, 1e-6);
    assert_true(angle / v > 0.04 && angle / v < 0.06);
    assert_near(all.impact[0].time, 0.06, 1e-9); /* where the second substep ends */
    perp_bodies_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drop_is_one_impact),
        cmocka_unit_test(bounces_are_those_of_the_closed_form),
        cmocka_unit_test(a_box_that_falls_flat_has_one),
        cmocka_unit_test(what_stays_in_contact_has_none),
        cmocka_unit_test(what_is_pushed_by_a_turn_has_none),
        cmocka_unit_test(a_rejected_step_has_none),
        cmocka_unit_test(two_balls_lose_the_energy_of_the_reduced_mass),
        cmocka_unit_test(an_impact_by_an_impact_counts),
        cmocka_unit_test(a_gain_of_energy_is_told),
        cmocka_unit_test(moments_of_friction_take_energy),
        cmocka_unit_test(an_impact_that_has_begun_is_in_snapshots),
        cmocka_unit_test(a_divided_step_has_its_impact_once),
    };
    return run_all(tests);
}
