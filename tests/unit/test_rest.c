/* Steps that are made of the impulses of the step before (src/bodies/rest.c) beside the friction solver: it gets these impulses and all of W, and
 * has to take them without an iteration, with an error that is not larger. Robots whose contacts stay and whose joints rub, reach limits and bounds
 * of servos, and a stack, under gravity that turns. */

#include "unit.h"

#include "bodies/bodies.h"
#include "perp/perp.h"
#include "outcomes.h"

#include <math.h>
#include <stdio.h>

static unsigned long long random_state;
static double random_in(double low, double high)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(random_state >> 11) / 9007199254740992.0;
}

typedef struct tally {
    int steps, rested, with_rows,
        kind[3];         /* kind: rows of limits, dry friction, servos among these */
    double ratio, error; /* the largest; ratio: the full verdict over ours */
} tally;

/* What a step that went through has last, if nothing was moved apart after it. */
static perp_fc problem_of(perp_bodies *b)
{
    assert_true(perp__bodies_state_blocks(b));
    return (perp_fc){.dimension = 3,
                     .nc = b->c->n,
                     .q = perp__contact_value(b, PERP__Q),
                     .mu = perp__contact_value(b, PERP__MU),
                     .block = b->c->block,
                     .row = b->c->row,
                     .col = b->c->column,
                     .nb = b->c->nblock};
}

/* The full verdict on the impulses in hand. */
static double full_error(perp_bodies *b)
{
    perp_fc p = problem_of(b);
    perp_fc_options o = perp_fc_options_default();
    perp_fc shape = {.dimension = 3, .nc = p.nc, .nb = p.nb + p.nc};
    perp_fc_solver *solver;
    perp_fc_info info = {.size = sizeof info};
    size_t bytes = 3 * (size_t)p.nc * sizeof(double);
    double *r = malloc(bytes);
    o.tol = b->scene->o.tol;
    o.warm_start = 1;
    assert_non_null(memcpy(r, perp__contact_value(b, PERP__IMPULSE), bytes));
    assert_int_equal(perp_fc_solver_create(PERP_FC_ALART_CURNIER, &shape, &o, &solver), PERP_OK);
    assert_int_equal(perp_fc_solve(solver, &p, r, NULL, &info), PERP_OK);
    assert_int_equal(info.outcome, PERP_SOLVED);
    assert_int_equal(info.iterations, 0);
    perp_fc_solver_destroy(solver);
    free(r);
    return info.error;
}

/* The touches of the step that was made are in hand again. */
static void swap_touches(perp_bodies *b)
{
    perp_contact *touch = b->touch;
    int n = b->ntouch;
    b->touch = b->before, b->ntouch = b->nbefore;
    b->before = touch, b->nbefore = n;
}

static void step(perp_bodies *b, tally *t)
{
    perp_diag diag = {0};
    perp_bodies_info info = {.size = sizeof info};
    b->c->n = 0;
    b->c->yield = -1; /* another value after something was moved apart */
    if (bodies_step(b, &info, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    t->steps++;
    if (b->c->n < 2 || b->c->nblock != b->c->n || b->c->yield >= 0 || info.substeps > 1) return;
    swap_touches(b);
    double error = full_error(b);
    swap_touches(b);
    t->rested++;
    t->with_rows += b->joints->nrow > 0;
    for (int i = 0; i < b->joints->nrow; i++) t->kind[b->joints->row[i].kind]++;
    t->error = fmax(t->error, info.contact_error);
    assert_true(info.contact_error <= 1e-2 * b->scene->o.tol);
    assert_true(error <= 1.01 * info.contact_error + 1e-13); /* u is rounded otherwise there */
    if (info.contact_error > 1e-13) t->ratio = fmax(t->ratio, error / info.contact_error);
}

static void print_tally(const char *what, const tally *t)
{
    printf("%s: %d of %d steps rest, %d with rows of joints (%d limits, %d dry, %d servos); error "
           "at most %.1e, the full one over it %.5f\n",
           what, t->rested, t->steps, t->with_rows, t->kind[PERP__LIMIT], t->kind[PERP__DRY],
           t->kind[PERP__DRIVE], t->error, t->ratio);
}

/* Gravity turns by up to so many radians every 50 steps; with `move` the controls are drawn anew every 100, some beyond what the servos give. has_rows: laws
 * are on no pieces, each is a row. */
static void run(perp_bodies *b, double turn, double move, int has_rows, int n, tally *t)
{
    enum { MOST = 32 };
    double u[MOST] = {0}, begun[MOST] = {0};
    int nu = perp_bodies_nu(b);
    assert_true(nu <= MOST);
    for (int i = 0; i < nu; i++) begun[i] = b->joints->control[i];
    for (int i = 0; i < n; i++) {
        if (i % 50 == 0) {
            double by = random_in(0, turn), about = random_in(0, 6.283);
            b->gravity[0] = 9.81 * sin(by) * cos(about);
            b->gravity[1] = 9.81 * sin(by) * sin(about);
            b->gravity[2] = -9.81 * cos(by);
        }
        if (i % 100 == 0) {
            for (int k = 0; k < nu; k++) u[k] = begun[k] + random_in(-move, move);
            perp_bodies_set_control(b, u);
        }
        for (int k = 0; k < b->scene->nv + nu && has_rows; k++) b->joints->guess[k].wait = 1;
        step(b, t);
    }
}

/* One of examples/robots at its first key. */
static perp_bodies *make_robot(const char *name, perp_robot **robot)
{
    char path[200];
    perp_diag diag = {0};
    perp_bodies *b;
    snprintf(path, sizeof path, "%s/examples/robots/%s.xml", PERP_SOURCE_DIR, name);
    if (perp_robot_read(path, robot, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    assert_int_equal(perp_robot_create_bodies(*robot, NULL, &b, &diag), PERP_OK);
    if (perp_robot_keys(*robot)) perp_robot_set_key(*robot, 0, b);
    return b;
}

/* The feet of a quadruped that sinks onto them leave its side joints no motion: what the friction solver leaves of it changes no piece. */
static void what_contacts_hold_still_stays_on_its_piece(void **state)
{
    (void)state;
    enum { N = 230, MOST = 32 };
    perp_robot *robot;
    perp_bodies *b = make_robot("quadruped", &robot);
    int amended = 0;
    double over = 0, along = 0, force[MOST];
    for (int i = 0; i < N; i++) {
        int any = 0;
        assert_int_equal(bodies_step(b, NULL, NULL), PERP_OK);
        perp_bodies_joint_forces(b, NULL, force, NULL);
        for (int k = 0; k < b->scene->nv; k++) {
            any |= b->joints->guess[k].amended;
            over = fmax(over, fabs(force[k]) - b->joints->law[b->scene->body_of[k]].friction);
            along = fmax(along, force[k] * b->v[k]);
        }
        amended += any;
    }
    printf("quadruped: %d of %d steps with a piece that did not hold; friction over its bound by "
           "%.1e N m, with the motion %.1e W\n",
           amended, N, over, along);
    assert_true(amended < 40); /* 148 where every sign counts */
    assert_true(over < 1e-15 && along < 1e-11);
    perp_bodies_destroy(b);
    perp_robot_destroy(robot);
}

static void robots_at_rest_are_what_the_solver_takes(void **state)
{
    (void)state;
    static const char *const file[] = {"arm", "hand", "quadruped"};
    tally all = {0};
    random_state = 3;
    for (int i = 0; i < 3; i++)
        for (int way = 0; way < 3; way++) {
            perp_robot *robot;
            perp_bodies *b = make_robot(file[i], &robot);
            tally t = {0};
            run(b, 0.05, way ? 0.3 : 0, way == 2, 600, &t);
            print_tally(file[i], &t);
            assert_true(t.rested > 20);
            all.with_rows += t.with_rows;
            for (int k = 0; k < 3; k++) all.kind[k] += t.kind[k];
            perp_bodies_destroy(b);
            perp_robot_destroy(robot);
        }
    assert_true(all.with_rows > 300 && all.kind[PERP__DRY] > 300);
}

/* Rods on hinges with limits, dry friction and stiff servos with low bounds: no contacts, rows of joints alone. */
static void joints_at_rest_are_what_the_solver_takes(void **state)
{
    (void)state;
    enum { N = 5 };
    tally t = {0};
    random_state = 4;
    for (int trial = 0; trial < 6; trial++) {
        perp_body body[N];
        perp_bodies *b;
        perp_diag diag = {0};
        for (int i = 0; i < N; i++)
            body[i] = (perp_body){.parent = i,
                                  .joint = PERP_JOINT_HINGE,
                                  .axis = {i % 2 ? 0.6 : 0, 1, 0},
                                  .position = {0, 0, i ? -1 : 0},
                                  .mass = 1,
                                  .center = {0, 0, -0.5},
                                  .inertia = {1. / 12, 1. / 12, 1e-3},
                                  .damping = random_in(0.5, 2)};
        assert_int_equal(perp_bodies_create(body, N, NULL, 0, NULL, &b, &diag), PERP_OK);
        for (int i = 0; i < N; i++) {
            double gain = random_in(50, 400), most = random_in(5, 40);
            perp_joint_law law = {.range = {1, -0.4, 0.3}, .friction = random_in(0.01, 3)};
            perp_actuator servo = {.body = i + 1,
                                   .gear = i % 2 ? -1.5 : 1,
                                   .gain = gain,
                                   .kp = gain,
                                   .kv = 0.1 * gain,
                                   .force_range = {1, -0.5 * most, most}};
            assert_int_equal(perp_bodies_set_joint(b, i + 1, &law, &diag), PERP_OK);
            assert_int_equal(perp_bodies_add_actuator(b, &servo, &diag), PERP_OK);
        }
        run(b, 0.3, 0.5, trial % 2, 600, &t);
        perp_bodies_destroy(b);
    }
    print_tally("rods", &t);
    assert_true(t.with_rows > 300);
    for (int k = 0; k < 3; k++) assert_true(t.kind[k] > 50);
}

/* Ten boxes on each other, on the ground. */
static perp_bodies *make_stack(void)
{
    enum { N = 10 };
    perp_body body[N];
    perp_shape shape[N + 1] = {{.kind = PERP_SHAPE_PLANE, .mu = 0.5}};
    perp_bodies *b;
    perp_diag diag = {0};
    for (int i = 0; i < N; i++) {
        body[i] = (perp_body){.joint = PERP_JOINT_FREE,
                              .position = {0, 0, 0.1 + 0.2 * i},
                              .mass = 1,
                              .inertia = {0.02 / 3, 0.02 / 3, 0.02 / 3}};
        shape[i + 1] =
            (perp_shape){.body = i + 1, .kind = PERP_SHAPE_BOX, .size = {0.1, 0.1, 0.1}, .mu = 0.5};
    }
    assert_int_equal(perp_bodies_create(body, N, shape, N + 1, NULL, &b, &diag), PERP_OK);
    return b;
}

static void stacks_at_rest_are_what_the_solver_takes(void **state)
{
    (void)state;
    perp_bodies *b = make_stack();
    tally t = {0};
    random_state = 5;
    run(b, 0.02, 0, 0, 600, &t);
    print_tally("stack", &t);
    assert_true(t.rested > 400);
    perp_bodies_destroy(b);
}

/* No impulse stops what moves by a little and sets it going in the next step. */
static void a_stack_comes_to_rest_to_the_last_digits(void **state)
{
    (void)state;
    perp_bodies *b = make_stack();
    perp_diag diag = {0};
    double most = 0, work = 0, first = 0;
    for (int i = 0; i < 400; i++) {
        perp_bodies_info info = {.size = sizeof info};
        assert_int_equal(bodies_step(b, &info, &diag), PERP_OK);
        if (i == 0) first = info.work;
        if (i < 100) continue;
        most = fmax(most, info.contact_error);
        work = fmax(work, info.work);
    }
    printf("a stack at rest: contacts hold to %.1e; work at most %.0f, of the first step %.0f\n",
           most, work, first);
    assert_true(most < 1e-12);
    assert_true(work > 10 * 40 * 12 && first > 5 * work); /* J of 40 contacts, W's factors */
    perp_bodies_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_contacts_hold_still_stays_on_its_piece),
        cmocka_unit_test(robots_at_rest_are_what_the_solver_takes),
        cmocka_unit_test(joints_at_rest_are_what_the_solver_takes),
        cmocka_unit_test(stacks_at_rest_are_what_the_solver_takes),
        cmocka_unit_test(a_stack_comes_to_rest_to_the_last_digits),
    };
    return test_result(cmocka_run_group_tests(tests, NULL, NULL));
}
