/* A batch of bodies takes the steps that its copies would take alone, to the last bit, whatever the number of threads; a copy
 * that is rejected stops, and the others go on. */

#include "bodies/bodies.h"
#include "unit.h"

#include "perp/bodies_batch.h"
#include "perp/robots.h"
#include "outcomes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const robots[] = {
    "examples/robots/arm.xml",           "examples/robots/cartpole.xml",
    "examples/robots/drone.xml",         "examples/robots/gripper.urdf",
    "examples/robots/hand.xml",          "examples/robots/quadruped.xml",
    "examples/robots/walker.xml",        "tests/data/robots/kinds/four_bar.xml",
    "tests/data/robots/kinds/cable.xml", "tests/data/robots/kinds/muscle_arm.xml"};

enum { ROBOTS = sizeof robots / sizeof *robots, COUNT = 11 };

static double uniform(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 24);
}

static perp_bodies *make(const char *name, perp_robot **robot)
{
    char path[300];
    perp_bodies *b = NULL;
    snprintf(path, sizeof path, PERP_SOURCE_DIR "/%s", name);
    perp_status status = perp_robot_read(path, robot, NULL);
    if (status == PERP_ERR_UNAVAILABLE) skip();
    assert_int_equal(status, PERP_OK);
    assert_int_equal(perp_robot_create_bodies(*robot, NULL, &b, NULL), PERP_OK);
    if (perp_robot_keys(*robot)) assert_int_equal(perp_robot_set_key(*robot, 0, b), PERP_OK);
    return b;
}

/* Arrays of a batch, and those that copies alone give. */
typedef struct rows {
    int n, nq, nv, nu;
    double *q, *v, *act, *u, *tau, *gravity, *time;
} rows;

static double *room(int n)
{
    double *x = calloc((size_t)n + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

static rows rows_of(const perp_bodies *b, int n)
{
    rows r = {.n = n, .nq = perp_bodies_nq(b), .nv = perp_bodies_nv(b), .nu = perp_bodies_nu(b)};
    r.q = room(n * r.nq);
    r.v = room(n * r.nv);
    r.act = room(n * r.nu);
    r.u = room(n * r.nu);
    r.tau = room(n * r.nv);
    r.gravity = room(3 * n);
    r.time = room(n);
    return r;
}

static void clear_rows(rows *r)
{
    double *all[] = {r->q, r->v, r->act, r->u, r->tau, r->gravity, r->time};
    for (int i = 0; i < 7; i++) free(all[i]);
}

static perp_bodies_arrays arrays_of(const rows *r)
{
    return (perp_bodies_arrays){.size = sizeof(perp_bodies_arrays),
                                .q = r->q,
                                .v = r->v,
                                .activation = r->act,
                                .time = r->time,
                                .control = r->u,
                                .force = r->tau,
                                .gravity = r->gravity};
}

/* Controls, forces and gravity of copy i from a time on; another state now and then. */
static void draw_rows(rows *r, int i, int part)
{
    unsigned seed = (unsigned)(i * 7919 + part * 104729 + 1);
    for (int k = 0; k < r->nu; k++) r->u[i * r->nu + k] = uniform(&seed) - 0.5;
    for (int k = 0; k < r->nv; k++)
        r->tau[i * r->nv + k] = part % 2 ? 0.1 * (uniform(&seed) - 0.5) : 0;
    r->gravity[3 * i] = i % 3 ? uniform(&seed) : 0;
    r->gravity[3 * i + 2] = -9.81;
    if (part == 2 && i % 4 == 1)
        for (int k = 0; k < r->nv; k++) r->v[i * r->nv + k] += 0.01 * uniform(&seed);
    if (part == 3 && i % 4 == 2)
        for (int k = 0; k < r->nu; k++) r->act[i * r->nu + k] = 0.5 * uniform(&seed);
}

/* Settings of a copy that no array has. */
static void vary(perp_bodies *b, int i, int nbody)
{
    perp_contact_material material = {1, 1, 0, i % 2 ? 3 : 1};
    perp_joint_law law = {.friction = 0.01 * i};
    for (int body = 1; body <= nbody && i % 3 == 2; body++)
        if (perp_bodies_v_of(b, body) >= 0) perp_bodies_set_joint(b, body, &law, NULL);
    if (i % 5 == 4) perp_bodies_set_contact_material(b, 0, &material);
}

/* What copy i does alone, by the setters of a system. */
static int step_alone(perp_bodies *b, const rows *r, int i, int part, int steps)
{
    perp_bodies_info info = {.size = sizeof info};
    if (memcmp(perp_bodies_v(b), r->v + i * r->nv, (size_t)r->nv * sizeof(double)) != 0)
        assert_int_equal(perp_bodies_set(b, NULL, r->v + i * r->nv), PERP_OK);
    if (part == 3) assert_int_equal(perp_bodies_set_activation(b, r->act + i * r->nu), PERP_OK);
    assert_int_equal(perp_bodies_set_control(b, r->u + i * r->nu), PERP_OK);
    assert_int_equal(perp_bodies_set_force(b, r->tau + i * r->nv), PERP_OK);
    if (part == 0) perp_bodies_set_gravity(b, r->gravity + 3 * i);
    for (int k = 0; k < steps && info.outcome == PERP_SOLVED; k++)
        assert_int_equal(perp_bodies_step(b, &info, NULL), PERP_OK);
    return info.outcome == PERP_SOLVED;
}

static void expect_row(const char *robot, const char *what, int i, const double *row,
                       const double *alone, int n)
{
    if (n && memcmp(row + i * n, alone, (size_t)n * sizeof *row) != 0)
        fail_msg("%s, copy %d: another %s than alone", robot, i, what);
}

static void expect_same(const char *robot, const rows *r, int i, const perp_bodies *alone)
{
    double time = perp_bodies_time(alone);
    expect_row(robot, "q", i, r->q, perp_bodies_q(alone), r->nq);
    expect_row(robot, "v", i, r->v, perp_bodies_v(alone), r->nv);
    expect_row(robot, "activation", i, r->act, perp_bodies_activation(alone), r->nu);
    expect_row(robot, "time", i, r->time, &time, 1);
}

/* The gravity of a part is that of part 0, so that only the states and controls change later. */
static void run_both(const char *name, int threads)
{
    enum { PARTS = 6, STEPS = 9 };
    perp_robot *robot;
    perp_bodies *b = make(name, &robot), *alone[COUNT];
    perp_bodies_batch *batch;
    rows r = rows_of(b, COUNT);
    perp_bodies_arrays x = arrays_of(&r);
    assert_int_equal(perp_bodies_batch_create(b, COUNT, threads, &batch, NULL), PERP_OK);
    assert_int_equal(perp_bodies_batch_count(batch), COUNT);
    assert_int_equal(perp_bodies_batch_get(batch, &x), PERP_OK);
    for (int i = 0; i < COUNT; i++) {
        int nbody = perp_robot_get_parts(robot)->nbody;
        assert_int_equal(perp_bodies_clone(b, &alone[i], NULL), PERP_OK);
        vary(alone[i], i, nbody);
        vary(perp_bodies_batch_at(batch, i), i, nbody);
    }
    for (int part = 0; part < PARTS; part++) {
        double gravity[3 * COUNT];
        int solved, expected = 0, is_solved[COUNT];
        memcpy(gravity, r.gravity, sizeof gravity);
        for (int i = 0; i < COUNT; i++) draw_rows(&r, i, part);
        if (part) memcpy(r.gravity, gravity, sizeof gravity);
        for (int i = 0; i < COUNT; i++)
            expected += is_solved[i] = step_alone(alone[i], &r, i, part, STEPS);
        assert_int_equal(perp_bodies_batch_step(batch, STEPS, &x, &solved, NULL), PERP_OK);
        assert_int_equal(solved, expected);
        for (int i = 0; i < COUNT; i++) {
            perp_bodies_info info = {.size = sizeof info};
            expect_same(name, &r, i, alone[i]);
            assert_int_equal(perp_bodies_batch_status(batch, i, &info), PERP_OK);
            assert_int_equal(info.outcome == PERP_SOLVED, is_solved[i]);
        }
    }
    for (int i = 0; i < COUNT; i++) perp_bodies_destroy(alone[i]);
    perp_bodies_batch_destroy(batch);
    perp_bodies_destroy(b);
    perp_robot_destroy(robot);
    clear_rows(&r);
}

static void copies_step_as_alone_for_any_number_of_threads(void **state)
{
    const int threads[] = {1, 2, 4};
    (void)state;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < ROBOTS; i++) run_both(robots[i], threads[k]);
}

/* A free box over a plane; beside it two walls too near to each other for it. */
static perp_bodies *make_slot(double mass, double mu)
{
    const double a = 0.1, inertia = mass * a * a * 2 / 3;
    perp_body body = {.joint = PERP_JOINT_FREE,
                      .position = {0, 0, a},
                      .mass = mass,
                      .inertia = {inertia, inertia, inertia}};
    perp_shape shape[] = {{.kind = PERP_SHAPE_PLANE, .mu = mu},
                          {.body = 1, .kind = PERP_SHAPE_BOX, .size = {a, a, a}, .mu = mu},
                          {.kind = PERP_SHAPE_BOX, .size = {1, 1, 1}, .position = {5, -1.05, 1}},
                          {.kind = PERP_SHAPE_BOX, .size = {1, 1, 1}, .position = {5, 1.05, 1}}};
    perp_bodies *b = NULL;
    assert_int_equal(perp_bodies_create(&body, 1, shape, 4, NULL, &b, NULL), PERP_OK);
    return b;
}

static void a_rejected_copy_stops_and_the_others_go_on(void **state)
{
    enum { N = 5, STEPS = 20 };
    (void)state;
    perp_bodies *b = make_slot(1, 0.5);
    for (int threads = 1; threads <= 4; threads *= 2) {
        perp_bodies_batch *batch;
        perp_diag diag = {0};
        perp_bodies_info info = {.size = sizeof info};
        double q[7 * N], before[7], time[N];
        int solved = -1;
        perp_bodies_arrays x = {.size = sizeof x, .q = q, .time = time};
        assert_int_equal(perp_bodies_batch_create(b, N, threads, &batch, NULL), PERP_OK);
        perp_bodies_batch_get(batch, &x);
        q[7 * 2] = 5;
        memcpy(before, q + 14, sizeof before);
        assert_int_equal(perp_bodies_batch_step(batch, STEPS, &x, &solved, &diag), PERP_OK);
        assert_int_equal(solved, N - 1);
        assert_non_null(strstr(perp_diag_text(&diag), "copy 2: step 1, t = 0 s: not verified"));
        const char *end = strchr(perp_diag_text(&diag), '\n');
        assert_true(end && !end[1]); /* it was tried once */
        assert_memory_equal(before, q + 14, sizeof before);
        for (int i = 0; i < N; i++) {
            assert_int_equal(perp_bodies_batch_status(batch, i, &info), PERP_OK);
            assert_int_equal(info.outcome == PERP_SOLVED, i != 2);
            assert_true(near(time[i], i == 2 ? 0 : STEPS * 0.002, 1e-12));
        }
        q[14] = 0;
        assert_int_equal(perp_bodies_batch_step(batch, 1, &x, &solved, NULL), PERP_OK);
        assert_int_equal(solved, N);
        perp_bodies_batch_destroy(batch);
        perp_diag_clear(&diag);
    }
    perp_bodies_destroy(b);
}

/* Pushed by 3 N, on friction 0.5 m g: what is light and smooth slides, what is heavy sticks. The distance is that of the steps' closed form. */
static void copies_have_masses_and_friction_of_their_own(void **state)
{
    enum { N = 4, STEPS = 50 };
    const double mass[N] = {1, 2, 0.5, 1}, mu[N] = {0.5, 0.1, 0.5, 0.2}, h = 0.002, force = 3;
    (void)state;
    perp_bodies *b = make_slot(1, 0.5);
    perp_bodies_batch *batch;
    double q[7 * N], tau[6 * N] = {0};
    int solved;
    perp_bodies_arrays x = {.size = sizeof x, .q = q, .force = tau};
    assert_int_equal(perp_bodies_batch_create(b, N, 2, &batch, NULL), PERP_OK);
    for (int i = 0; i < N; i++) {
        perp_bodies *own = make_slot(mass[i], mu[i]);
        size_t size = perp_bodies_snapshot_size(own);
        void *bytes = malloc(size);
        assert_int_equal(perp_bodies_snapshot(own, bytes, size), PERP_OK);
        assert_int_equal(perp_bodies_restore(perp_bodies_batch_at(batch, i), bytes, size, NULL),
                         PERP_OK);
        free(bytes);
        perp_bodies_destroy(own);
        tau[6 * i] = force;
    }
    perp_bodies_batch_get(batch, &x);
    assert_int_equal(perp_bodies_batch_step(batch, STEPS, &x, &solved, NULL), PERP_OK);
    assert_int_equal(solved, N);
    for (int i = 0; i < N; i++) {
        double a = fmax(force / mass[i] - 9.81 * mu[i], 0);
        if (!near(q[7 * i], 0.5 * STEPS * (STEPS + 1) * h * h * a, 1e-8))
            fail_msg("copy %d is at %g", i, q[7 * i]);
    }
    assert_true(q[7] > 0.001 && fabs(q[0]) < 1e-9); /* one slides, one sticks */
    perp_bodies_batch_destroy(batch);
    perp_bodies_destroy(b);
}

/* A row that is as it was keeps the contacts of the last step, another one does not. */
static void rows_that_did_not_change_set_nothing(void **state)
{
    (void)state;
    perp_bodies *b = make_slot(1, 0.5);
    perp_bodies_batch *batch;
    double q[14], v[12];
    int solved;
    perp_bodies_arrays x = {.size = sizeof x, .q = q, .v = v};
    assert_int_equal(perp_bodies_batch_create(b, 2, 1, &batch, NULL), PERP_OK);
    perp_bodies_batch_get(batch, &x);
    assert_int_equal(perp_bodies_batch_step(batch, 5, &x, &solved, NULL), PERP_OK);
    v[6] = 0.1;
    assert_int_equal(perp_bodies_batch_set(batch, &x, NULL), PERP_OK);
    assert_int_equal(perp_bodies_contacts(perp_bodies_batch_at(batch, 0), NULL), 4);
    assert_int_equal(perp_bodies_contacts(perp_bodies_batch_at(batch, 1), NULL), 0);
    assert_true(perp_bodies_v(perp_bodies_batch_at(batch, 1))[0] == 0.1);
    perp_bodies_batch_destroy(batch);
    perp_bodies_destroy(b);
}

static void copies_are_reset_by_a_mask(void **state)
{
    const unsigned char which[3] = {0, 1, 0};
    (void)state;
    perp_bodies *b = make_slot(1, 0.5);
    perp_bodies_batch *batch;
    double time[3];
    int solved;
    perp_bodies_arrays x = {.size = sizeof x, .time = time};
    assert_int_equal(perp_bodies_batch_create(b, 3, 0, &batch, NULL), PERP_OK);
    assert_int_equal(perp_bodies_batch_step(batch, 5, NULL, &solved, NULL), PERP_OK);
    perp_bodies_batch_reset(batch, which);
    perp_bodies_batch_get(batch, &x);
    assert_true(time[0] > 0 && time[1] == 0 && time[2] > 0);
    perp_bodies_batch_reset(batch, NULL);
    perp_bodies_batch_get(batch, &x);
    assert_true(time[0] == 0 && time[2] == 0);
    assert_int_equal(perp_bodies_batch_step(batch, 0, NULL, &solved, NULL), PERP_OK);
    assert_int_equal(solved, 3);
    perp_bodies_batch_destroy(batch);
    perp_bodies_destroy(b);
}

static void bad_rows_and_arguments_are_named(void **state)
{
    (void)state;
    perp_bodies *b = make_slot(1, 0.5);
    perp_bodies_batch *batch, *none = (perp_bodies_batch *)&batch;
    perp_diag diag = {0};
    double q[14], tau[12] = {0}, time[2];
    int solved;
    perp_bodies_arrays x = {.size = sizeof x, .q = q, .force = tau, .time = time};
    assert_int_equal(perp_bodies_batch_create(b, 0, 1, &none, NULL), PERP_ERR_ARG);
    assert_null(none);
    assert_int_equal(perp_bodies_batch_create(b, 2, -1, &none, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_bodies_batch_create(b, 2, 2, &batch, NULL), PERP_OK);
    perp_bodies_batch_get(batch, &x);
    tau[7] = (double)NAN;
    assert_int_equal(perp_bodies_batch_set(batch, &x, &diag), PERP_ERR_ARG);
    assert_non_null(strstr(perp_diag_text(&diag), "copy 1: a row of force has a number"));
    perp_diag_clear(&diag);
    assert_int_equal(perp_bodies_batch_step(batch, 3, &x, &solved, &diag), PERP_ERR_ARG);
    assert_int_equal(solved, 1);
    assert_non_null(strstr(perp_diag_text(&diag), "copy 1: a row of force has a number"));
    assert_true(time[0] > 0 && time[1] == 0);
    assert_int_equal(perp_bodies_batch_status(batch, 1, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_bodies_batch_status(batch, 2, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_bodies_batch_step(batch, -1, &x, &solved, NULL), PERP_ERR_ARG);
    x.size = 0;
    assert_int_equal(perp_bodies_batch_step(batch, 1, &x, &solved, NULL), PERP_ERR_ARG);
    assert_null(perp_bodies_batch_at(batch, 2));
    assert_null(perp_bodies_batch_at(batch, -1));
    perp_diag_clear(&diag);
    perp_bodies_batch_destroy(batch);
    perp_bodies_destroy(b);
}

/* Cache lines -------------------------------------------------------------------------------- */

/* A line that a step of this copy writes to. */
typedef struct line {
    uintptr_t at;
    int copy;
} line;

typedef struct lines {
    line *is;
    int n, capacity, copy;
} lines;

static void add_lines(lines *all, const void *memory, int n, size_t size)
{
    enum { LINE = 64 };
    uintptr_t first = (uintptr_t)memory / LINE,
              end = ((uintptr_t)memory + (size_t)n * size + LINE - 1) / LINE;
    for (uintptr_t at = first; memory && n && at < end; at++) {
        assert_true(perp__grow(&all->is, &all->capacity, all->n + 1, sizeof *all->is));
        all->is[all->n++] = (line){at, all->copy};
    }
}

#define ADD_LINES(array, n) add_lines(all, array, n, sizeof *(array))

static void add_copy(lines *all, const perp_bodies *b)
{
    const perp__contact_problem *c = b->c;
    int nv = b->scene->nv, n = b->scene->n, nshape = b->scene->nshape;
    ADD_LINES(b, 1);
    ADD_LINES(b->q, 2 * b->scene->nq);
    ADD_LINES(b->v, nv);
    ADD_LINES(b->last, nv);
    ADD_LINES(b->link, n);
    ADD_LINES(b->placed, nshape);
    ADD_LINES(b->M, (int)b->scene->nmass);
    ADD_LINES(b->over, nv);
    ADD_LINES(b->touch, b->ctouch);
    ADD_LINES(b->before, b->cbefore);
    ADD_LINES(b->broad.pair, b->broad.cpair);
    ADD_LINES(b->joints->act, b->joints->cact);
    ADD_LINES(b->joints->kept, b->joints->ckept);
    ADD_LINES(b->joints->row, b->joints->crow);
    ADD_LINES(b->rest->index, b->rest->cindex);
    ADD_LINES(b->rest->value, b->rest->cvalue);
    ADD_LINES(c->rows, c->crows);
    ADD_LINES(c->entry, c->centry);
    ADD_LINES(c->value, c->cvalue);
    ADD_LINES(c->block, c->cblock);
    ADD_LINES(c->row, c->crow);
}

static int by_place(const void *x, const void *y)
{
    const line *a = x, *b = y;
    return (a->at > b->at) - (a->at < b->at);
}

/* Copies that grow in turns, so that their memory is mixed, write to lines of their own. */
static void no_two_copies_write_to_one_cache_line(void **state)
{
    enum { N = 6 };
    lines all = {0};
    int solved;
    perp_robot *robot;
    perp_bodies_batch *batch;
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* src/base/memory.c keeps no room there */
#endif
    perp_bodies *b = make("examples/robots/quadruped.xml", &robot);
    assert_int_equal(perp_bodies_batch_create(b, N, 1, &batch, NULL), PERP_OK);
    for (int k = 0; k < 100; k++)
        assert_int_equal(perp_bodies_batch_step(batch, 1, NULL, &solved, NULL), PERP_OK);
    for (int i = 0; i < N; i++) {
        all.copy = i;
        add_copy(&all, perp_bodies_batch_at(batch, i));
    }
    qsort(all.is, (size_t)all.n, sizeof *all.is, by_place);
    int shared = 0;
    for (int k = 1; k < all.n; k++)
        shared += all.is[k].at == all.is[k - 1].at && all.is[k].copy != all.is[k - 1].copy;
    if (shared) fail_msg("%d of %d lines have two writers", shared, all.n);
    free(all.is);
    perp_bodies_batch_destroy(batch);
    perp_bodies_destroy(b);
    perp_robot_destroy(robot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_step_as_alone_for_any_number_of_threads),
        cmocka_unit_test(a_rejected_copy_stops_and_the_others_go_on),
        cmocka_unit_test(copies_have_masses_and_friction_of_their_own),
        cmocka_unit_test(rows_that_did_not_change_set_nothing),
        cmocka_unit_test(copies_are_reset_by_a_mask),
        cmocka_unit_test(bad_rows_and_arguments_are_named),
        cmocka_unit_test(no_two_copies_write_to_one_cache_line),
    };
    return run_all(tests);
}
