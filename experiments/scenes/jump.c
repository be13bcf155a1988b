/* A quadruped's planned jump. The equations of examples/robots/jump.perp, stepped with the plan's method, are the plan; stepped finer they are the motion that its
 * motors make; the kernel, which has the motors alone, goes there with order 1. */

#include "scene.h"
#include "support/verdicts.h"
#include "../../tests/support/outcomes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* UP: the node at which the plan says how high; CLEAR [m]: off the floor. */
enum { NODES = 64, MOTORS = 12, NQ = 19, UP = 17, FINE = 64, FIRST = 4, HALVINGS = 5 };
static const double CLEAR = 1e-4;

typedef struct jump {
    perp_model *model;
    perp_robot *robot;
    perp_plan *plan;
    int nodes;
    double h, u[NODES][MOTORS], *row; /* u[k]: over the step to node k, from 1 */
    perp_diag diag;
} jump;

/* A motion: q in the air and at the end, how high the trunk came and all four feet, and how long these were off the floor. */
typedef struct motion {
    double up[NQ], end[NQ], top, clear, time, penetration;
    int refused;
} motion;

/* Does a name end in it? */
static int ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

static int read_motors(jump *j, double horizon)
{
    j->nodes = perp_plan_rows(j->plan);
    j->row = calloc((size_t)perp_plan_columns(j->plan), sizeof *j->row);
    if (!j->row || j->nodes > NODES || j->nodes <= UP) return 0;
    j->h = horizon / (j->nodes - 1);
    for (int k = 0; k < j->nodes; k++) {
        int n = 0;
        perp_plan_row(j->plan, k, j->row);
        for (int i = 0; i < perp_plan_columns(j->plan) && n < MOTORS; i++)
            if (ends_in(perp_plan_column_name(j->plan, i), "_u")) j->u[k][n++] = j->row[i];
        if (n < MOTORS) return 0;
    }
    return 1;
}

static perp_status make_plan(jump *j, const char *folder, perp_plan_result *r)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/walker.xml", folder);
    perp_status status = perp_robot_read(path, &j->robot, &j->diag);
    snprintf(path, sizeof path, "%s/jump.perp", folder);
    if (status == PERP_OK) status = perp_model_load(path, &j->model, &j->diag);
    if (status != PERP_OK) return status;
    perp_plan_options o = perp_plan_options_default(j->model);
    status = perp_plan_create(j->model, &o, &j->plan, &j->diag);
    return status == PERP_OK ? perp_plan_solve(j->plan, r, &j->diag) : status;
}

/* How high the lowest foot is. */
static double clearance(const perp_robot_parts *p, perp_bodies *b)
{
    double least = HUGE_VAL, x[3], R[9];
    for (int i = 0; i < p->nshape; i++) {
        const perp_shape *s = &p->shape[i];
        if (!p->shape_name[i] || !ends_in(p->shape_name[i], "_foot")) continue;
        perp_bodies_pose(b, s->body, x, R);
        double z = x[2] - s->size[0];
        for (int d = 0; d < 3; d++) z += R[6 + d] * s->position[d];
        least = fmin(least, z);
    }
    return least;
}

/* By the kernel, n steps for each of the plan's. */
static motion step_kernel(jump *j, int n)
{
    motion is = {0};
    perp_robot_parts p = *perp_robot_get_parts(j->robot);
    perp_bodies_options o = p.options;
    perp_bodies *b = NULL;
    o.step = j->h / n;
    is.refused = perp_robot_create_bodies(j->robot, &o, &b, &j->diag) != PERP_OK ||
                 perp_robot_set_key(j->robot, 0, b) != PERP_OK || perp_bodies_nq(b) != NQ;
    for (int k = 1; k < j->nodes && !is.refused; k++) {
        perp_bodies_set_control(b, j->u[k]);
        for (int i = 0; i < n && !is.refused; i++) {
            is.refused = bodies_step(b, NULL, &j->diag) != PERP_OK;
            double clear = clearance(&p, b);
            is.penetration = fmax(is.penetration, -clear);
            is.top = fmax(is.top, perp_bodies_q(b)[2]);
            is.clear = fmax(is.clear, clear);
            if (clear > CLEAR) is.time += o.step;
        }
        memcpy(k <= UP ? is.up : is.end, perp_bodies_q(b), sizeof is.end);
    }
    perp_bodies_destroy(b);
    return is;
}

/* The equations' q, in the kernel's order. */
static void read_q(const jump *j, const perp_simulation *sim, double q[NQ])
{
    static const char *const ends[] = {"", ".q"};
    char name[200];
    for (int k = 0; k < NQ; k++) {
        q[k] = (double)NAN;
        for (int i = 0; i < 2; i++) {
            snprintf(name, sizeof name, "r.%s%s", perp_robot_q_name(j->robot, k), ends[i]);
            int c = perp_simulation_find_column(sim, name);
            if (c >= 0) q[k] = perp_simulation_value(sim, c);
        }
    }
}

/* By backward Euler, n steps for each of the plan's; @return the largest difference from the plan's states at its nodes. */
static double step_equations(jump *j, int n, motion *is)
{
    perp_simulation *sim = NULL;
    perp_simulation_options o = perp_simulation_options_default(j->model);
    double worst = 0;
    o.integrator = PERP_BACKWARD_EULER;
    o.step = j->h / n;
    o.to = 1;
    o.ninput = PERP_ALL;
    o.tol = 1e-12;
    if (perp_simulation_create(j->model, &o, &sim, &j->diag) != PERP_OK) return HUGE_VAL;
    for (int k = 1; k < j->nodes; k++) {
        for (int i = 0; i < MOTORS; i++) perp_simulation_set_input(sim, i, j->u[k][i]);
        for (int i = 0; i < n && worst < HUGE_VAL; i++)
            if (simulation_step(sim, NULL, &j->diag) != PERP_OK) worst = HUGE_VAL;
        perp_plan_row(j->plan, k, j->row);
        for (int i = 1; i < perp_plan_columns(j->plan); i++) {
            const char *name = perp_plan_column_name(j->plan, i);
            int c = perp_simulation_find_column(sim, name);
            if (strstr(name, "_floor") || ends_in(name, "residual")) continue; /* states, inputs */
            if (c >= 0) worst = fmax(worst, fabs(perp_simulation_value(sim, c) - j->row[i]));
        }
        read_q(j, sim, k <= UP ? is->up : is->end);
    }
    perp_simulation_destroy(sim);
    return worst;
}

static double apart(const double *x, const double *y)
{
    double most = 0;
    for (int k = 0; k < NQ; k++)
        most = isnan(x[k] - y[k]) ? HUGE_VAL : fmax(most, fabs(x[k] - y[k]));
    return most;
}

/* What order 1 leaves is taken out. */
static motion extrapolate(jump *j)
{
    motion coarse = {0}, fine = {0};
    step_equations(j, FINE, &coarse);
    step_equations(j, 2 * FINE, &fine);
    for (int k = 0; k < NQ; k++) {
        fine.up[k] += fine.up[k] - coarse.up[k];
        fine.end[k] += fine.end[k] - coarse.end[k];
    }
    return fine;
}

static void replay(jump *j)
{
    motion same = {0}, is = {0}, end = {0};
    double worst = step_equations(j, 1, &same), up[HALVINGS], off[HALVINGS], penetration = 0;
    int refused = 0, is_of_order = 1;
    printf("  replayed by the equations with the plan's method: off by %.1e\n", worst);
    verdict("planned jump: the equations with the plan's method are the plan to 1e-9",
            worst <= 1e-9);
    end = extrapolate(j);
    printf("  the motion of its motors, extrapolated from %g and %g ms: off the plan by %.2g in "
           "the air, "
           "%.2g at the end (m, rad)\n",
           1e3 * j->h / FINE, 0.5e3 * j->h / FINE, apart(same.up, end.up),
           apart(same.end, end.end));
    for (int k = 0; k < HALVINGS; k++) {
        is = step_kernel(j, FIRST << k);
        up[k] = apart(is.up, end.up), off[k] = apart(is.end, end.end);
        penetration = fmax(penetration, is.penetration);
        refused += is.refused;
        printf("  by the kernel at %g ms: off by %.2e in the air, %.2e at the end (m, rad); trunk "
               "up to "
               "%.4f m, four feet off the floor for %.4f s, by up to %.4f m\n",
               1e3 * j->h / (FIRST << k), up[k], off[k], is.top, is.time, is.clear);
        if (k) is_of_order &= fabs(up[k - 1] / up[k] - 2) <= 0.3;
    }
    verdict("planned jump: every step of the kernel is verified", !refused);
    /* the finest */
    verdict("planned jump: the trunk is 8 cm above where it stood, four feet are off the floor for "
            "0.1 s and by 3 cm",
            is.top >= 0.4186 && is.time >= 0.1 && is.clear >= 0.03);
    verdict("planned jump: in the air the kernel is off by half as much with half the step",
            is_of_order);
    verdict("planned jump: behind the impacts by at most an eighth with a sixteenth",
            off[HALVINGS - 1] <= off[0] / 8);
    verdict("planned jump: no foot is in the floor by more than 1e-6 m", penetration <= 1e-6);
}

void planned_jump(const char *folder)
{
    jump j = {0};
    perp_plan_result r = {.size = sizeof r};
    printf("planned jump\n");
    perp_status status = make_plan(&j, folder, &r);
    if (status == PERP_ERR_UNAVAILABLE) {
        printf("  skipped: there is no expat\n");
    } else {
        int is_there = status == PERP_OK && read_motors(&j, r.horizon);
        if (is_there)
            printf("  planned: %s, cost %.6f, %d iterations\n", perp_plan_outcome_name(r.on_mesh),
                   r.cost, r.iterations);
        else
            printf("  %s", perp_diag_text(&j.diag));
        verdict("planned jump: there is a plan", is_there);
        if (is_there) replay(&j);
    }
    free(j.row);
    perp_plan_destroy(j.plan);
    perp_model_destroy(j.model);
    perp_robot_destroy(j.robot);
    perp_diag_clear(&j.diag);
}
