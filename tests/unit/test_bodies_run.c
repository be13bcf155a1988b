/* Snapshots, copies and resets of bodies: what follows is the same to the last bit, whatever was done between; what is
 * called cache may be thrown away at any step. */

#include "bodies/bodies.h"
#include "unit.h"

#include "perp/joints.h"
#include "perp/robots.h"
#include "outcomes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const robots[] = {
    "examples/robots/arm.xml",           "examples/robots/bicycle.xml",
    "examples/robots/cartpole.xml",      "examples/robots/clamp.xml",
    "examples/robots/drone.xml",         "examples/robots/gripper.urdf",
    "examples/robots/hand.xml",          "examples/robots/quadruped.xml",
    "examples/robots/walker.xml",        "tests/data/robots/kinds/four_bar.xml",
    "tests/data/robots/kinds/biped.xml", "tests/data/robots/kinds/tendon_hand.xml",
    "tests/data/robots/kinds/cable.xml", "tests/data/robots/kinds/muscle_arm.xml"};

enum { ROBOTS = sizeof robots / sizeof *robots, STACKS = 2, SCENES = ROBOTS + STACKS };

static double uniform(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 24);
}

/* Boxes on each other: small ones that slip and turn, or a large one on top. */
static perp_bodies *make_stack(int kind, perp_bodies_method method)
{
    enum { MOST = 8 };
    perp_body body[MOST] = {{.joint = PERP_JOINT_FREE}};
    perp_shape shape[MOST + 1] = {{.kind = PERP_SHAPE_PLANE, .mu = 0.4}};
    perp_bodies_options o = perp_bodies_options_default();
    perp_bodies *b = NULL;
    o.method = method;
    for (int i = 0; i < MOST; i++) {
        double a = 0.05, m = kind && i == MOST - 1 ? 100 : 1;
        body[i] = (perp_body){.joint = PERP_JOINT_FREE,
                              .mass = m,
                              .position = {0.01 * i, 0, a + 2.02 * a * i},
                              .inertia = {m * a * a, m * a * a, m * a * a}};
        shape[i + 1] =
            (perp_shape){.body = i + 1, .kind = PERP_SHAPE_BOX, .size = {a, a, a}, .mu = 0.4};
        if (i % 3 == 2) shape[i + 1].torsional_friction = 0.01;
        if (i % 4 == 3) shape[i + 1].restitution = 0.3;
    }
    assert_int_equal(perp_bodies_create(body, MOST, shape, MOST + 1, &o, &b, NULL), PERP_OK);
    return b;
}

/* The file's robot is kept in *robot: its names are the bodies'. */
static perp_bodies *make(int which, perp_bodies_method method, perp_robot **robot)
{
    char path[300];
    perp_bodies *b = NULL;
    *robot = NULL;
    if (which >= ROBOTS) return make_stack(which - ROBOTS, method);
    snprintf(path, sizeof path, PERP_SOURCE_DIR "/%s", robots[which]);
    perp_status status = perp_robot_read(path, robot, NULL);
    if (status == PERP_ERR_UNAVAILABLE) skip();
    assert_int_equal(status, PERP_OK);
    perp_bodies_options o = perp_robot_get_parts(*robot)->options;
    o.method = method;
    assert_int_equal(perp_robot_create_bodies(*robot, &o, &b, NULL), PERP_OK);
    if (perp_robot_keys(*robot)) assert_int_equal(perp_robot_set_key(*robot, 0, b), PERP_OK);
    return b;
}

/* Step k of a run: controls and a tilted gravity that change now and then, then the step. What the step says goes to info. */
static void go_on(perp_bodies *b, long k, perp_bodies_info *info)
{
    unsigned seed = (unsigned)k * 2654435761u + 17;
    int nu = perp_bodies_nu(b);
    double u[64] = {0};
    assert_true(nu <= 64);
    if (k % 50 == 7) {
        double by = 0.2 * uniform(&seed);
        perp_bodies_set_gravity(b, (const double[]){9.81 * sin(by), 0, -9.81 * cos(by)});
    }
    for (int i = 0; i < nu && k % 20 == 3; i++) u[i] = uniform(&seed) - 0.5;
    if (nu && k % 20 == 3) assert_int_equal(perp_bodies_set_control(b, u), PERP_OK);
    *info = (perp_bodies_info){.size = sizeof *info};
    assert_int_equal(perp_bodies_step(b, info, NULL), PERP_OK);
}

static int are_numbers_equal(const double *x, const double *y, int n)
{
    return !n || memcmp(x, y, (size_t)n * sizeof *x) == 0;
}

static int are_contacts_equal(const perp_bodies *x, const perp_bodies *y)
{
    const perp_contact *a, *b;
    int n = perp_bodies_contacts(x, &a), equal = n == perp_bodies_contacts(y, &b);
    for (int i = 0; i < n && equal; i++)
        equal = a[i].shape[0] == b[i].shape[0] && a[i].shape[1] == b[i].shape[1] &&
                a[i].feature == b[i].feature && are_numbers_equal(a[i].impulse, b[i].impulse, 3) &&
                are_numbers_equal(a[i].point, b[i].point, 7) &&
                are_numbers_equal(a[i].moment, b[i].moment, 3);
    return equal;
}

static void expect_same(const perp_bodies *x, const perp_bodies *y, const perp_bodies_info *ix,
                        const perp_bodies_info *iy, const char *what, long k)
{
    int nu = perp_bodies_nu(x);
    double fx[3 * 256] = {0}, fy[3 * 256] = {0};
    assert_true(perp_bodies_nv(x) <= 256 && nu <= 256);
    perp_bodies_joint_forces(x, fx, fx + 256, fx + 512);
    perp_bodies_joint_forces(y, fy, fy + 256, fy + 512);
    int nq = perp_bodies_nq(x), nv = perp_bodies_nv(x);
    const char *other = !are_numbers_equal(perp_bodies_q(x), perp_bodies_q(y), nq)   ? "q"
                        : !are_numbers_equal(perp_bodies_v(x), perp_bodies_v(y), nv) ? "v"
                                                                                     : NULL;
    if (perp_bodies_time(x) != perp_bodies_time(y) || ix->step != iy->step) other = "time";
    if (!are_numbers_equal(perp_bodies_activation(x), perp_bodies_activation(y), nu))
        other = "activations";
    if (!are_numbers_equal(fx, fy, 3 * 256)) other = "forces";
    if (!are_contacts_equal(x, y)) other = "contacts";
    if (ix->outcome != iy->outcome || ix->substeps != iy->substeps) other = "outcome";
    if (ix->contacts != iy->contacts || ix->iterations != iy->iterations) other = "iterations";
    if (!are_numbers_equal(&ix->contact_error, &iy->contact_error, 2)) other = "errors";
    if (!are_numbers_equal(&ix->penetration, &iy->penetration, 1)) other = "penetration";
    if (!are_numbers_equal(&ix->work, &iy->work, 1)) other = "work";
    if (other) fail_msg("%s: other %s in step %ld", what, other, k);
}

static void *snapshot_of(const perp_bodies *b, size_t *size)
{
    *size = perp_bodies_snapshot_size(b);
    void *bytes = malloc(*size);
    assert_int_equal(perp_bodies_snapshot(b, bytes, *size), PERP_OK);
    return bytes;
}

/* `other`, wherever it is, goes on from b for some steps, and does what b does. */
static void follow(perp_bodies *b, perp_bodies *other, long *k, int steps, const char *what)
{
    size_t size;
    void *bytes = snapshot_of(b, &size);
    assert_int_equal(perp_bodies_restore(other, bytes, size, NULL), PERP_OK);
    free(bytes);
    for (int i = 0; i < steps; i++, ++*k) {
        perp_bodies_info info[2];
        go_on(b, *k, &info[0]);
        go_on(other, *k, &info[1]);
        expect_same(b, other, &info[0], &info[1], what, *k);
    }
}

/* The start, the copy that goes astray between, and what a run is called. */
static void restore_often(int which, perp_bodies_method method, int first, int runs, int apart)
{
    enum { TOGETHER = 12 };
    char what[100];
    perp_robot *robot;
    perp_bodies *b = make(which, method, &robot), *other;
    perp_bodies_info info;
    unsigned seed = (unsigned)which + 5;
    long k = 0;
    snprintf(what, sizeof what, "%s by %s", which < ROBOTS ? robots[which] : "a stack",
             perp_bodies_method_name(method));
    assert_int_equal(perp_bodies_clone(b, &other, NULL), PERP_OK);
    while (k < first) go_on(b, k++, &info);
    for (int run = 0; run < runs; run++) {
        int alone = 1 + (int)(apart * uniform(&seed)), astray = (int)(10 * uniform(&seed));
        for (int i = 0; i < alone; i++) go_on(b, k++, &info);
        for (int i = 0; i < astray; i++) go_on(other, k + 7 * i, &info);
        follow(b, other, &k, TOGETHER, what);
    }
    perp_bodies_destroy(b);
    perp_bodies_destroy(other);
    perp_robot_destroy(robot);
}

static void runs_go_on_from_snapshots_to_the_bit(void **state)
{
    (void)state;
    for (int which = 0; which < SCENES; which++)
        for (int method = 0; method < PERP_BODIES_METHOD_COUNT; method++)
            restore_often(which, (perp_bodies_method)method, 0, 32, 8);
}

static void also_after_ten_thousand_steps(void **state)
{
    (void)state;
    const int chosen[] = {1, 3, 6, ROBOTS};
    for (int i = 0; i < 4; i++) restore_often(chosen[i], PERP_BODIES_EULER, 10000, 4, 500);
}

/* Cache -------------------------------------------------------------------------------------------- */

static void poison(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = (double)NAN;
}

/* What is known of the bodies' places and motions. */
static void poison_links(perp_bodies *b)
{
    for (int i = 1; i < b->scene->n; i++) {
        perp__link *l = &b->link[i];
        double *const at[] = {l->E,    l->r,     l->R,   l->p,     l->vel,
                              l->bend, l->whirl, l->acc, l->force, l->end};
        const size_t n[] = {9, 3, 9, 3, 6, 6, 6, 6, 6, 6};
        for (size_t k = 0; k < sizeof n / sizeof *n; k++) poison(at[k], n[k]);
        poison(l->world[0], 18);
        poison(&l->whole.m, 10);
    }
}

static void poison_cache(perp_bodies *b)
{
    size_t n = (size_t)b->scene->n, nv = (size_t)b->scene->nv, nshape = (size_t)b->scene->nshape;
    double *const of_v[] = {b->drift,         b->next,
                            b->bias,          b->row,
                            b->scale,         b->D,
                            b->over,          b->joints->implicit,
                            b->joints->push,  b->joints->loose,
                            b->joints->force, b->joints->size,
                            b->joints->hold,  b->joints->late};
    int is_midpoint = perp__is_midpoint(b);
    for (size_t k = 0; k < sizeof of_v / sizeof *of_v - !is_midpoint; k++) poison(of_v[k], nv);
    poison_links(b);
    poison(b->load, 6 * n);
    poison(b->size[0], 2 * n);
    poison(b->outside, 6 * n);
    poison(&b->motion[1].w[0], (n - 1) * sizeof *b->motion / sizeof(double));
    for (size_t i = 0; i < nshape; i++) {
        if (b->scene->shape[i].body) poison(&b->travel[i], 1);
        poison(b->placed[i].R, 12);
        b->ends[i].path = 0;
    }
    if (b->joints->nu)
        memset(b->joints->pull, 0xff, (size_t)b->joints->nu * sizeof *b->joints->pull);
    memset(b->up, 0x7f, nv * sizeof *b->up);
    b->broad.npair = b->broad.n = b->c->n = b->c->nblock = b->c->nentry = b->c->nmoment = 0;
    b->equal->rank = 0;
    b->room = b->impact = (double)NAN;
    perp_fc_solver_destroy(b->solver);
    b->solver = NULL;
    if (b->is_ahead) b->ntouch = 0;
}

static void cache_may_be_thrown_away(void **state)
{
    (void)state;
    for (int which = 0; which < SCENES; which++)
        for (int method = 0; method < PERP_BODIES_METHOD_COUNT; method++) {
            perp_robot *robot;
            perp_bodies *b = make(which, (perp_bodies_method)method, &robot), *other;
            perp_bodies_info info[2];
            unsigned seed = 3;
            assert_int_equal(perp_bodies_clone(b, &other, NULL), PERP_OK);
            for (long k = 0; k < 400; k++) {
                go_on(b, k, &info[0]);
                if (uniform(&seed) < 0.3) {
                    perp__bodies_drop_cache(other);
                    poison_cache(other);
                }
                go_on(other, k, &info[1]);
                expect_same(b, other, &info[0], &info[1],
                            which < ROBOTS ? robots[which] : "a stack", k);
            }
            perp_bodies_destroy(b);
            perp_bodies_destroy(other);
            perp_robot_destroy(robot);
        }
}

/* What is refused --------------------------------------------------------------------------------- */

static void expect_refused(perp_bodies *b, const void *bytes, size_t size, const char *why)
{
    perp_diag diag = {0};
    assert_int_equal(perp_bodies_restore(b, bytes, size, &diag), PERP_ERR_DATA);
    if (!strstr(perp_diag_text(&diag), why)) fail_msg("'%s': %s", why, perp_diag_text(&diag));
    perp_diag_clear(&diag);
}

/* The sums of a snapshot that is changed within: what is behind them is looked at, too. */
enum { HEAD = 56 };
static void sum_again(unsigned char *bytes)
{
    uint64_t head[5]; /* sizes of settings and state, problem, two sums */
    memcpy(head, bytes + 16, sizeof head);
    head[3] = perp__digest(head[2], bytes + HEAD, head[0]);
    head[4] = perp__digest(head[3], bytes + HEAD + head[0], head[1]);
    memcpy(bytes + 16, head, sizeof head);
}

static void a_damaged_snapshot_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    perp_bodies *b = make_stack(0, PERP_BODIES_EULER), *twin, *other,
                *fresh = make_stack(0, PERP_BODIES_EULER);
    perp_bodies_info info[2];
    unsigned seed = 1;
    size_t size;
    for (long k = 0; k < 100; k++) go_on(b, k, &info[0]);
    assert_int_equal(perp_bodies_clone(b, &twin, NULL), PERP_OK);
    other = make_stack(0, PERP_BODIES_MIDPOINT);
    unsigned char *bytes = snapshot_of(b, &size);
    expect_refused(other, bytes, size, "another system");
    expect_refused(b, bytes, size - 1, "not complete");
    expect_refused(b, bytes, 7, "too short");
    assert_int_equal(perp_bodies_snapshot(b, bytes, size - 1), PERP_ERR_ARG);
    for (int i = 0; i < 2000; i++) {
        size_t at = (size_t)((double)size * uniform(&seed));
        unsigned char was = bytes[at];
        bytes[at] ^= (unsigned char)(1 << (i % 8));
        assert_int_equal(perp_bodies_restore(fresh, bytes, size, NULL), PERP_ERR_DATA);
        bytes[at] = was;
    }
    memset(bytes + HEAD, 0xff, size - HEAD); /* counts and indices out of their ranges */
    sum_again(bytes);
    expect_refused(b, bytes, size, "damaged");
    memset(bytes, 'x', 8);
    expect_refused(b, bytes, size, "not a snapshot");
    free(bytes);
    for (long k = 100; k < 130; k++) {
        go_on(b, k, &info[0]);
        go_on(twin, k, &info[1]);
        expect_same(b, twin, &info[0], &info[1], "after refusals", k);
    }
    perp_bodies_destroy(b);
    perp_bodies_destroy(twin);
    perp_bodies_destroy(other);
    perp_bodies_destroy(fresh);
}

/* Each integer of a snapshot is out of its range once: no read or write beyond memory (the sanitizers see it). */
static void no_integer_of_a_snapshot_is_believed(void **state)
{
    (void)state;
    perp_bodies *b = make_stack(1, PERP_BODIES_EULER);
    perp_bodies_info info;
    size_t size;
    for (long k = 0; k < 60; k++) go_on(b, k, &info);
    unsigned char *bytes = snapshot_of(b, &size);
    const int wrong[] = {-7, 1 << 30};
    int refused = 0;
    for (size_t at = HEAD; at + sizeof(int) <= size; at += sizeof(int))
        for (int w = 0; w < 2; w++) {
            int was;
            memcpy(&was, bytes + at, sizeof was);
            memcpy(bytes + at, &wrong[w], sizeof was);
            sum_again(bytes);
            refused += perp_bodies_restore(b, bytes, size, NULL) == PERP_ERR_DATA;
            memcpy(bytes + at, &was, sizeof was);
        }
    assert_true(refused > 100);
    sum_again(bytes);
    assert_int_equal(perp_bodies_restore(b, bytes, size, NULL), PERP_OK);
    free(bytes);
    perp_bodies_destroy(b);
}

/* Resets and copies -------------------------------------------------------------------------------- */

static void a_reset_repeats_the_run(void **state)
{
    (void)state;
    for (int which = 0; which < SCENES; which++) {
        perp_robot *robot;
        perp_bodies *b = make(which, PERP_BODIES_EULER, &robot), *other;
        perp_bodies_info info[2];
        assert_int_equal(perp_bodies_set_start(b), PERP_OK);
        assert_int_equal(perp_bodies_clone(b, &other, NULL), PERP_OK);
        for (long k = 0; k < 90; k++) go_on(other, k, &info[0]);
        assert_int_equal(perp_bodies_set_gravity(other, (double[]){0, 0, -9.81}), PERP_OK);
        if (which < ROBOTS)
            perp_bodies_set_gravity(other, perp_robot_get_parts(robot)->options.gravity);
        perp_bodies_reset(other);
        assert_true(perp_bodies_time(other) == 0);
        for (long k = 0; k < 90; k++) {
            go_on(b, k, &info[0]);
            go_on(other, k, &info[1]);
            expect_same(b, other, &info[0], &info[1], "after a reset", k);
        }
        perp_bodies_destroy(b);
        perp_bodies_destroy(other);
        perp_robot_destroy(robot);
    }
}

/* Without perp_bodies_set_start: a free body back where it was made, from anywhere. */
static void a_reset_goes_to_the_start(void **state)
{
    (void)state;
    perp_bodies *b = make_stack(0, PERP_BODIES_EULER);
    perp_bodies_info info;
    double begin[7], other[7] = {1, 2, 3, 1, 0, 0, 0};
    memcpy(begin, perp_bodies_q(b), sizeof begin);
    for (long k = 0; k < 20; k++) go_on(b, k, &info);
    assert_int_equal(perp_bodies_set_time(b, 7), PERP_OK);
    go_on(b, 20, &info);
    assert_true(perp_bodies_time(b) == 7 + 0.002 && info.step == 21);
    perp_bodies_reset(b);
    assert_memory_equal(begin, perp_bodies_q(b), sizeof begin);
    assert_true(perp_bodies_v(b)[2] == 0 && perp_bodies_time(b) == 0);
    double q[7 * 8];
    memcpy(q, perp_bodies_q(b), sizeof q);
    memcpy(q, other, sizeof other);
    assert_int_equal(perp_bodies_set(b, q, NULL), PERP_OK);
    assert_int_equal(perp_bodies_set_start(b), PERP_OK);
    for (long k = 0; k < 20; k++) go_on(b, k, &info);
    perp_bodies_reset(b);
    assert_memory_equal(other, perp_bodies_q(b), sizeof other);
    perp_bodies_reset(NULL);
    assert_int_equal(perp_bodies_set_time(b, (double)NAN), PERP_ERR_ARG);
    perp_bodies_destroy(b);
}

static void a_copy_outlives_the_first_and_is_not_added_to(void **state)
{
    (void)state;
    perp_robot *robot;
    perp_bodies *b = make(0, PERP_BODIES_EULER, &robot), *copy, *twin;
    perp_bodies_info info[2];
    perp_diag diag = {0};
    const perp_actuator actuator = {.body = 1, .gear = 1, .gain = 1};
    for (long k = 0; k < 30; k++) go_on(b, k, &info[0]);
    assert_int_equal(perp_bodies_clone(b, &copy, NULL), PERP_OK);
    assert_int_equal(perp_bodies_clone(copy, &twin, NULL), PERP_OK);
    perp_bodies_destroy(b);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(perp_bodies_add_actuator(i ? copy : twin, &actuator, &diag), PERP_ERR_ARG);
        assert_true(strstr(perp_diag_text(&diag), "cloned") != NULL);
    }
    perp_diag_clear(&diag);
    for (long k = 30; k < 90; k++) {
        go_on(copy, k, &info[0]);
        go_on(twin, k, &info[1]);
        expect_same(copy, twin, &info[0], &info[1], "copies of one", k);
    }
    perp_bodies_destroy(copy);
    perp_bodies_destroy(twin);
    perp_robot_destroy(robot);
    assert_int_equal(perp_bodies_clone(NULL, &copy, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_bodies_snapshot_size(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_go_on_from_snapshots_to_the_bit),
        cmocka_unit_test(also_after_ten_thousand_steps),
        cmocka_unit_test(cache_may_be_thrown_away),
        cmocka_unit_test(a_damaged_snapshot_is_refused_and_changes_nothing),
        cmocka_unit_test(no_integer_of_a_snapshot_is_believed),
        cmocka_unit_test(a_reset_repeats_the_run),
        cmocka_unit_test(a_reset_goes_to_the_start),
        cmocka_unit_test(a_copy_outlives_the_first_and_is_not_added_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
