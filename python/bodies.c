/* States of bodies for Python: a system and the arrays that Python reads and writes. declarations.py puts this file into the extension
   module.

   A call takes what Python wrote, works, and writes the arrays. One call at a time may use a state: another thread is answered with
   PERP_PY_BUSY. What is negative is not a perp_status. */

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { PERP_PY_BUSY = -1, PERP_PY_Q = -2, PERP_PY_V = -3, PERP_PY_ACT = -4, PERP_PY_CTRL = -5, PERP_PY_FORCE = -6 };

struct perp_py_state {
    perp_bodies *bodies;
    atomic_int is_busy;
    int nq, nv, nu;
    double *q, *v, *act, *ctrl, *force; /* the arrays, behind each other: owned by Python */
    double *room;                       /* nq + nv + nu: what is checked is not what another thread writes */
    perp_bodies_info info;
    perp_diag diag; /* why the last step failed */
};

static void perp_py_state_destroy(perp_py_state *s)
{
    if (!s) return;
    perp_diag_clear(&s->diag);
    perp_bodies_destroy(s->bodies);
    free(s->room);
    free(s);
}

/* What steps change, as the system has it. */
static void perp_py_give_motion(const perp_bodies *b, double *q, double *v, double *act)
{
    memcpy(q, perp_bodies_q(b), (size_t)perp_bodies_nq(b) * sizeof *q);
    memcpy(v, perp_bodies_v(b), (size_t)perp_bodies_nv(b) * sizeof *v);
    memcpy(act, perp_bodies_activation(b), (size_t)perp_bodies_nu(b) * sizeof *act);
}

/* What the caller sets. */
static void perp_py_give_inputs(const perp_bodies *b, double *ctrl, double *force)
{
    memcpy(ctrl, perp_bodies_control(b), (size_t)perp_bodies_nu(b) * sizeof *ctrl);
    memcpy(force, perp_bodies_force(b), (size_t)perp_bodies_nv(b) * sizeof *force);
}

/* The arrays as the system has them. */
static void perp_py_state_give(perp_py_state *s)
{
    perp_py_give_motion(s->bodies, s->q, s->v, s->act);
    perp_py_give_inputs(s->bodies, s->ctrl, s->force);
}

/* Takes the bodies, also where it fails. memory: 2 nu + nq + 2 nv. */
static perp_py_state *perp_py_state_create(perp_bodies *bodies, double *memory)
{
    perp_py_state *s = calloc(1, sizeof *s);
    if (s) s->bodies = bodies, s->nq = perp_bodies_nq(bodies), s->nv = perp_bodies_nv(bodies), s->nu = perp_bodies_nu(bodies);
    if (s) s->room = malloc((size_t)(s->nq + s->nv + s->nu + 1) * sizeof *s->room);
    if (!s || !s->room) {
        if (!s) perp_bodies_destroy(bodies);
        perp_py_state_destroy(s);
        return NULL;
    }
    s->q = memory, s->v = s->q + s->nq, s->act = s->v + s->nv, s->ctrl = s->act + s->nu, s->force = s->ctrl + s->nu;
    s->info.size = sizeof s->info;
    perp_py_state_give(s);
    return s;
}

/* NULL: the same to the bit; else a copy. */
static const double *perp_py_other(const double *array, const double *now, int n, double *room)
{
    if (memcmp(array, now, (size_t)n * sizeof *array) == 0) return NULL;
    return memcpy(room, array, (size_t)n * sizeof *array);
}

/* The system as the arrays have it. Quaternions are normalised, in the array, too. */
static int perp_py_take(perp_bodies *b, int nq, int nv, int nu, double *q, double *v, double *act, const double *ctrl, const double *force,
                        double *room)
{
    const double *x;
    if ((x = perp_py_other(ctrl, perp_bodies_control(b), nu, room)) && perp_bodies_set_control(b, x) != PERP_OK) return PERP_PY_CTRL;
    if ((x = perp_py_other(q, perp_bodies_q(b), nq, room))) {
        if (perp_bodies_set(b, x, NULL) != PERP_OK) return PERP_PY_Q;
        memcpy(q, perp_bodies_q(b), (size_t)nq * sizeof *q);
    }
    if ((x = perp_py_other(v, perp_bodies_v(b), nv, room)) && perp_bodies_set(b, NULL, x) != PERP_OK) return PERP_PY_V;
    if ((x = perp_py_other(act, perp_bodies_activation(b), nu, room))) {
        if (perp_bodies_set_activation(b, x) != PERP_OK) return PERP_PY_ACT;
        memcpy(act, perp_bodies_activation(b), (size_t)nu * sizeof *act);
    }
    if ((x = perp_py_other(force, perp_bodies_force(b), nv, room)) && perp_bodies_set_force(b, x) != PERP_OK) return PERP_PY_FORCE;
    return PERP_OK;
}

/* 0: this caller alone may use the state, until it leaves. */
static int perp_py_state_hold(perp_py_state *s)
{
    return atomic_exchange_explicit(&s->is_busy, 1, memory_order_acquire) ? PERP_PY_BUSY : PERP_OK;
}

static void perp_py_state_leave(perp_py_state *s)
{
    atomic_store_explicit(&s->is_busy, 0, memory_order_release);
}

/* The same, and the system is as the arrays have it; only after 0 the caller leaves. */
static int perp_py_state_enter(perp_py_state *s)
{
    int fault = perp_py_state_hold(s);
    if (fault) return fault;
    fault = perp_py_take(s->bodies, s->nq, s->nv, s->nu, s->q, s->v, s->act, s->ctrl, s->force, s->room);
    if (fault) perp_py_state_leave(s);
    return fault;
}

static const perp_bodies_info *perp_py_state_info(const perp_py_state *s)
{
    return &s->info;
}

/* Up to `steps` steps. Where it returns a perp_status above 0, the caller reads diag and leaves. */
static int perp_py_state_step(perp_py_state *s, long steps)
{
    int status = perp_py_state_enter(s);
    if (status) return status;
    for (long k = 0; k < steps && status == PERP_OK; k++) {
        status = (int)perp_bodies_step(s->bodies, &s->info, &s->diag);
        status = (int)perp_outcome_status((perp_status)status, s->info.outcome);
    }
    perp_py_give_motion(s->bodies, s->q, s->v, s->act);
    if (status == PERP_OK) perp_py_state_leave(s);
    return status;
}

static int perp_py_state_one(perp_py_state *s)
{
    return perp_py_state_step(s, 1);
}

static perp_diag *perp_py_state_diag(perp_py_state *s)
{
    return &s->diag;
}

/* Batches -------------------------------------------------------------------------------------- */

/* The rows of copy i as it has them. */
static void perp_py_batch_give(perp_bodies_batch *batch, int i, const perp_bodies_arrays *x, double *ctrl, double *force)
{
    const perp_bodies *b = perp_bodies_batch_at(batch, i);
    size_t nq = (size_t)perp_bodies_nq(b), nv = (size_t)perp_bodies_nv(b), nu = (size_t)perp_bodies_nu(b), k = (size_t)i;
    perp_py_give_motion(b, x->q + k * nq, x->v + k * nv, x->activation + k * nu);
    perp_py_give_inputs(b, ctrl + k * nu, force + k * nv);
    x->time[i] = perp_bodies_time(b);
}

/* Copies for which `which` (NULL: all) go back to their start; their rows are written. */
static void perp_py_batch_reset(perp_bodies_batch *batch, const unsigned char *which, const perp_bodies_arrays *x, double *ctrl,
                                double *force)
{
    perp_bodies_batch_reset(batch, which);
    for (int i = 0; i < perp_bodies_batch_count(batch); i++)
        if (!which || which[i]) perp_py_batch_give(batch, i, x, ctrl, force);
}

/* Of each copy: was its last call verified, and the larger error of its last step. */
static void perp_py_batch_ends(perp_bodies_batch *batch, unsigned char *solved, double *error)
{
    for (int i = 0; i < perp_bodies_batch_count(batch); i++) {
        perp_bodies_info info = {.size = sizeof info};
        perp_status status = perp_bodies_batch_status(batch, i, &info);
        solved[i] = status == PERP_OK && info.outcome == PERP_SOLVED;
        error[i] = info.contact_error > info.newton_error ? info.contact_error : info.newton_error;
    }
}

/* Position, rotation, velocities of a body in each copy. */
static void perp_py_batch_body(perp_bodies_batch *batch, int body, double *position, double *rotation, double *linear, double *angular)
{
    for (int i = 0; i < perp_bodies_batch_count(batch); i++) {
        perp_bodies *b = perp_bodies_batch_at(batch, i);
        size_t k = 3 * (size_t)i;
        perp_bodies_pose(b, body, position + k, rotation + 3 * k);
        perp_bodies_velocity(b, body, NULL, linear + k, angular + k);
    }
}
