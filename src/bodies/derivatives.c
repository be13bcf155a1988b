/* Derivatives of inverse dynamics and of a step. The recursion of Newton and Euler is
 * differentiated in each direction of q and v: the subtree of the moving joint, then the path to
 * the world (as Carpentier and Mansard 2018, one direction at a time). In the body's frame the map
 * X from the parent's motions changes by -S x X, and forces towards the root by S x* f. */

#include "bodies/bodies.h"
#include "bodies/motions.h"
#include "linalg/dense.h"

#include <math.h>
#include <string.h>

typedef struct slope {
    double vel[6], acc[6], force[6];
    int is_inside; /* of a body: it hangs on the joint that moves, or is the joint's */
} slope;

/* The joint's part of a body's velocity. */
static void joint_motion(const perp__link *l, const double *v, double *out)
{
    memset(out, 0, 6 * sizeof *out);
    add_joint(l, v, out);
}

/* The same per unit of its kth velocity. */
static void unit_motion(const perp__link *l, int k, double *out)
{
    memset(out, 0, 6 * sizeof *out);
    memcpy(out + 3 * l->is_shift[k], l->unit[k], sizeof l->unit[k]);
}

/* A free body's directions k < 3 turn with its rotation: their change with its turn about an axis
 * w. */
static void turned(const double *w, const double *motion, double *linear)
{
    perp__cross3(motion + 3, w, linear);
}

/* The body whose joint's velocity k is the direction: in q, or in v alone. */
static void begin(const perp_bodies *b, const perp__link *l, int k, int in_q, const double *v,
                  const double *a, slope *s)
{
    double joint[6], change[6] = {0}, push[6], more[3], unit[6];
    int is_free = l->is.joint == PERP_JOINT_FREE;
    joint_motion(l, v, joint);
    unit_motion(l, k, unit);
    memset(s, 0, sizeof *s);
    s->is_inside = 1;
    if (!in_q) {
        memcpy(change, unit, sizeof change);
    } else {
        double carried[6], from[6];
        for (int i = 0; i < 6; i++) carried[i] = l->vel[i] - joint[i];
        motion_down(l, b->link[l->is.parent].acc, from);
        add_cross_motion(carried, unit, s->vel);
        add_cross_motion(from, unit, s->acc);
        if (is_free && k >= 3) {
            turned(unit, joint, change + 3);
            joint_motion(l, a, push);
            turned(unit, push, more);
            for (int i = 0; i < 3; i++) s->acc[3 + i] += more[i];
        }
    }
    for (int i = 0; i < 6; i++) s->vel[i] += change[i];
    add_cross_motion(s->vel, joint, s->acc);
    add_cross_motion(l->vel, change, s->acc);
    if (!is_free) return;
    perp__cross3(change, joint + 3, more);
    for (int i = 0; i < 3; i++) s->acc[3 + i] -= more[i];
    perp__cross3(joint, change + 3, more);
    for (int i = 0; i < 3; i++) s->acc[3 + i] -= more[i];
}

/* A body that hangs on it. */
static void carry_on(const perp__link *l, const double *v, const slope *parent, slope *s)
{
    double joint[6];
    joint_motion(l, v, joint);
    motion_down(l, parent->vel, s->vel);
    motion_down(l, parent->acc, s->acc);
    add_cross_motion(s->vel, joint, s->acc);
}

/* The change of the force that the body itself needs. */
static void change_force(const perp__link *l, slope *s)
{
    double moved[6], change[6];
    apply(&l->own, s->acc, s->force);
    apply(&l->own, l->vel, moved);
    apply(&l->own, s->vel, change);
    add_cross_force(s->vel, moved, s->force);
    add_cross_force(l->vel, change, s->force);
}

/* The joint that moves: what goes through it turns with it. */
static void pass(const perp__link *l, int k, slope *s, double *column)
{
    double unit[6];
    unit_motion(l, k, unit);
    if (l->is.joint == PERP_JOINT_FREE && k >= 3)
        for (int j = 0; j < 3; j++) {
            double change[3], shift[6];
            unit_motion(l, j, shift);
            turned(unit, shift, change);
            column[l->v + j] += perp__dot3(change, l->force + 3);
        }
    add_cross_force(unit, l->force, s->force);
}

/* One direction: velocity k of body i. The bodies' motions and forces are those of the inverse
 * dynamics. */
static void differentiate(perp_bodies *b, int i, int k, int in_q, const double *a, slope *s,
                          double *column)
{
    const double *v = b->v;
    for (int j = 1; j < i; j++) s[j].is_inside = 0;
    s[0].is_inside = 0;
    begin(b, &b->link[i], k, in_q, v, a, &s[i]);
    change_force(&b->link[i], &s[i]);
    for (int j = i + 1; j < b->scene->n; j++) {
        int parent = b->link[j].is.parent;
        s[j].is_inside = s[parent].is_inside;
        if (!s[j].is_inside) continue;
        carry_on(&b->link[j], v, &s[parent], &s[j]);
        change_force(&b->link[j], &s[j]);
    }
    memset(column, 0, (size_t)b->scene->nv * sizeof *column);
    for (int j = b->scene->n - 1; j >= i; j--) {
        const perp__link *l = &b->link[j];
        if (!s[j].is_inside) continue;
        for (int m = 0; m < l->nv; m++) column[l->v + m] = along(l, m, s[j].force);
        if (j > i) force_up(l, s[j].force, s[l->is.parent].force);
    }
    if (in_q) pass(&b->link[i], k, &s[i], column);
    for (const perp__link *l = &b->link[i]; l->is.parent;) {
        slope *up = &s[l->is.parent];
        memset(up->force, 0, sizeof up->force);
        force_up(l, s[l - b->link].force, up->force);
        l = &b->link[l->is.parent];
        for (int m = 0; m < l->nv; m++) column[l->v + m] = along(l, m, up->force);
    }
}

static void differentiate_all(perp_bodies *b, const double *a, slope *s, double *dq, double *dv)
{
    size_t nv = (size_t)b->scene->nv;
    for (int i = 1; i < b->scene->n; i++)
        for (int k = 0; k < b->link[i].nv; k++) {
            size_t at = (size_t)(b->link[i].v + k) * nv;
            if (dq) differentiate(b, i, k, 1, a, s, dq + at);
            if (dv) differentiate(b, i, k, 0, a, s, dv + at);
        }
}

perp_status perp_bodies_inverse_derivatives(perp_bodies *b, const double *a, double *dq, double *dv)
{
    perp__arena arena = {0};
    slope *s;
    double *tau;
    if (!b || !a) return PERP_ERR_ARG;
    PERP_TAKE(&arena, s, (size_t)b->scene->n);
    PERP_TAKE(&arena, tau, (size_t)b->scene->nv + 1);
    if (!arena.failed) {
        perp__bodies_place(b, b->q);
        perp__bodies_carry(b, b->v);
        perp__bodies_inverse(b, a, NULL, tau);
        differentiate_all(b, a, s, dq, dv);
    }
    int failed = arena.failed;
    perp__arena_clear(&arena);
    return failed ? PERP_ERR_MEMORY : PERP_OK;
}

/* Steps ---------------------------------------------------------------------------------------- */

/* A tendon: its slopes by the length and the rate. held: 0; 1 at rest by dry friction; 2 at a
 * limit. Of a path also the force along its length, which rotates with it. */
typedef struct pulled {
    double force, stiff, slack;
    int held;
} pulled;

/* A step solves A (v+ - v) = h (..): R = h ID(q, v, (v+ - v)/h) + h (D v+ + forces of x = q + h v+)
 * = 0 in the velocities that no law holds. Held tendons have a row each after them, their rate, and
 * a column, the holding impulse. */
typedef struct step_slopes {
    double *q, *v, *A;     /* of the inverse dynamics; of R by v+ */
    double *stiff, *slack; /* nv: forces of the joints by x and by v+ */
    int *held, *swap;      /* held: nv, as a tendon's; swap: n */
    int n;                 /* nv and the tendons that are held */
    pulled *tendon;
    slope *s;
    double *tau, *x, *right, *change;
} step_slopes;

static const char *reason_not_smooth(const perp_bodies *b)
{
    const perp_contact *touch;
    int n = perp_bodies_contacts(b, &touch);
    for (int i = 0; i < n; i++)
        if (perp__length3(touch[i].impulse) > 0) return "a contact pushes";
    for (int i = 0; i < b->joints->nu; i++) {
        const perp_actuator *a = &b->joints->actuator[i];
        if (a->activation || a->muscle.force != 0) return "an actuator has an activation";
        if (a->kp_per_control != 0 || a->kv_per_control != 0)
            return "a gain changes with a control";
    }
    for (int i = 0; i < b->joints->nturn; i++) {
        double most = b->joints->law[b->joints->turn[i].ball].range.upper;
        if (most > 0 && isfinite(most)) return "a ball joint has a limit";
    }
    if (b->is_pushed) return "there are forces on bodies";
    if (perp__is_midpoint(b)) return "they are those of the method euler";
    return b->scene->nequality ? "there are equalities" : NULL;
}

static int is_at_bound(const perp_bodies *b, int i)
{
    const perp_actuator *a = &b->joints->actuator[i];
    double f = b->joints->drive[i];
    return a->force_range.limited && (f <= a->force_range.lower || f >= a->force_range.upper);
}

static int is_clamped(const perp_bodies *b, int i)
{
    const perp_actuator *a = &b->joints->actuator[i];
    double u = b->joints->control[i];
    return a->control_range.limited && (u < a->control_range.lower || u > a->control_range.upper);
}

/* Of its bound, a force of dry friction that holds; the rest is the friction solver's rounding. */
static const double INSIDE = 1 - 1e-9;

/* Springs and dampers of a tendon, v: at the end. */
static pulled spring_of(const perp_bodies *b, int i, const double *v)
{
    const perp_tendon *t = &b->joints->tendon[i];
    double stiffness = t->slack > 0 ? 0 : t->stiffness, rate = perp__tendon_rate(b, i + 1, v),
           length = b->joints->strand[i].length + b->h * rate; /* of a path */
    return (pulled){.force = -stiffness * (length - t->rest) - t->damping * rate,
                    .stiff = stiffness,
                    .slack = t->damping};
}

/* A row that pushes holds, or gives way as a spring with slack does; dry friction holds within its
 * bound. A limit holds rather than dry friction. */
static void take_row(const perp_bodies *b, const step_slopes *d, const perp__law *row)
{
    if (row->kind == PERP__DRIVE) return;
    int side = row->kind == PERP__LIMIT ? row->impulse > 0 ? 2 : 0
                                        : fabs(row->impulse) < INSIDE * row->bound;
    if (!row->tendon) {
        if (side == 2) d->held[row->at] = side;
        return;
    }
    pulled *t = &d->tendon[row->tendon - 1];
    t->force += row->J * row->impulse / b->h;
    if (row->compliance > 0)
        t->stiff += side ? b->joints->tendon[row->tendon - 1].stiffness : 0;
    else if (side > t->held)
        t->held = side;
}

/* On which side each law was, and the slopes of those that have one there. v: at the end. */
static void take_sides(const perp_bodies *b, step_slopes *d, const double *v)
{
    const perp__joints *j = b->joints;
    for (int i = 1; i < b->scene->n; i++) {
        const perp__link *l = &b->link[i];
        for (int k = l->v; k < l->v + l->nv; k++) {
            d->slack[k] = l->is.damping;
            d->held[k] = fabs(j->kept[3 * k + 2]) < INSIDE * b->h * j->law[i].friction;
        }
        if (l->nv) d->stiff[l->v] = j->law[i].stiffness;
    }
    for (int i = 0; i < j->ntendon; i++) d->tendon[i] = spring_of(b, i, v);
    for (int i = 0; i < j->nu; i++) {
        const perp_actuator *a = &j->actuator[i];
        pulled *t = a->tendon ? &d->tendon[a->tendon - 1] : NULL;
        int at = b->link[a->body].v;
        if (t) t->force += a->gear * j->drive[i];
        if (is_at_bound(b, i)) continue;
        *(t ? &t->stiff : &d->stiff[at]) += a->gear * a->gear * a->kp;
        *(t ? &t->slack : &d->slack[at]) += a->gear * a->gear * a->kv;
    }
    for (int i = 0; i < j->nrow; i++) take_row(b, d, &j->row[i]);
    d->n = b->scene->nv;
    for (int i = 0; i < j->ntendon; i++) d->n += d->tendon[i].held > 0;
}

/* The rows and columns of the tendons; a velocity that is held has no row of forces. */
static void state_tendons(const perp_bodies *b, const step_slopes *d)
{
    size_t n = (size_t)d->n, held = (size_t)b->scene->nv;
    double h = b->h;
    for (int i = 0; i < b->joints->ntendon; i++) {
        const perp__strand *s = &b->joints->strand[i];
        const pulled *t = &d->tendon[i];
        for (int k = 0; k < s->n; k++) {
            size_t at = (size_t)s->at[k];
            if (t->held) d->A[held + at * n] = s->c[k];
            if (d->held[at]) continue;
            if (t->held) d->A[at + held * n] = -s->c[k];
            for (int m = 0; m < s->n; m++)
                d->A[at + (size_t)s->at[m] * n] +=
                    h * (t->slack + h * t->stiff) * s->c[k] * s->c[m];
        }
        held += t->held > 0;
    }
}

/* R by v+, factored; rows of velocities that are held say what these are. Returns 0: it is
 * singular. */
static int factor_step(perp_bodies *b, const step_slopes *d)
{
    size_t nv = (size_t)b->scene->nv, n = (size_t)d->n;
    double h = b->h;
    perp__bodies_full_mass(b, d->x);
    memset(d->A, 0, n * n * sizeof *d->A);
    for (size_t j = 0; j < nv; j++) {
        for (size_t i = 0; i < nv; i++) d->A[i + j * n] = d->held[i] ? i == j : d->x[i + j * nv];
        if (!d->held[j]) d->A[j * (n + 1)] += h * (d->slack[j] + h * d->stiff[j]);
    }
    state_tendons(b, d);
    return perp__lu(d->n, d->A, d->n, d->swap) == 0;
}

/* The right side of the row of velocity i for the direction k of q or v. */
static double side(const perp_bodies *b, const step_slopes *d, int i, int k, int in_q)
{
    size_t at = (size_t)i + (size_t)k * (size_t)b->scene->nv;
    double h = b->h;
    if (d->held[i]) return d->held[i] == 2 && in_q && i == k ? -1 / h : 0;
    if (!in_q) return d->x[at] - h * d->v[at];
    return -h * (d->q[at] + (i == k ? d->stiff[i] : 0));
}

/* What tendons add to it for the direction k of q, v: at the end. Returns 0: the way of one is not
 * unique. */
static int bend_tendons(perp_bodies *b, const step_slopes *d, int k, const double *v)
{
    double h = b->h, *held = d->right + b->scene->nv;
    for (int i = 0; i < b->joints->ntendon; i++) {
        const perp__strand *s = &b->joints->strand[i];
        const pulled *t = &d->tendon[i];
        double length = 0, rate = 0;
        memset(d->change, 0, (size_t)b->scene->nv * sizeof *d->change);
        if (s->path && !perp__path_bend(b, s, k, d->change)) return 0;
        for (int m = 0; m < s->n; m++) {
            rate += d->change[m] * v[s->at[m]];
            if (s->at[m] == k) length = s->c[m];
        }
        double force = -t->stiff * (length + h * rate) - t->slack * rate;
        for (int m = 0; m < s->n; m++)
            if (!d->held[s->at[m]])
                d->right[s->at[m]] += h * (d->change[m] * t->force + s->c[m] * force);
        if (t->held) *held++ = -rate - (t->held == 2 ? length / h : 0);
    }
    return 1;
}

static void solve_step(const perp_bodies *b, const step_slopes *d, double *column)
{
    perp__lu_solve(d->n, d->A, d->n, d->swap, d->right);
    memcpy(column, d->right, (size_t)b->scene->nv * sizeof *column);
}

/* By the control of an actuator: 0 where it changes no force. */
static void push_by_control(const perp_bodies *b, const step_slopes *d, int i)
{
    const perp_actuator *a = &b->joints->actuator[i];
    const perp__strand *s = a->tendon ? &b->joints->strand[a->tendon - 1] : NULL;
    double push = b->h * a->gear * a->gain;
    if (is_at_bound(b, i) || is_clamped(b, i)) return;
    for (int m = 0; m < (s ? s->n : 1); m++) {
        int at = s ? s->at[m] : b->link[a->body].v;
        if (!d->held[at]) d->right[at] = push * (s ? s->c[m] : 1);
    }
}

/* v: at the end. Returns 0: as above. */
static int solve_steps(perp_bodies *b, const step_slopes *d, const double *v, double *dq,
                       double *dv, double *du)
{
    size_t nv = (size_t)b->scene->nv, size = (size_t)d->n * sizeof *d->right;
    for (int in_q = 0; in_q < 2; in_q++)
        for (int k = 0; k < b->scene->nv && (in_q ? dq : dv); k++) {
            memset(d->right, 0, size);
            for (int i = 0; i < b->scene->nv; i++) d->right[i] = side(b, d, i, k, in_q);
            if (in_q && !bend_tendons(b, d, k, v)) return 0;
            solve_step(b, d, (in_q ? dq : dv) + (size_t)k * nv);
        }
    for (int i = 0; i < b->joints->nu && du; i++) {
        memset(d->right, 0, size);
        push_by_control(b, d, i);
        solve_step(b, d, du + (size_t)i * nv);
    }
    return 1;
}

static int take_slopes(const perp_bodies *b, perp__arena *arena, step_slopes *d)
{
    size_t nv = (size_t)b->scene->nv, nt = (size_t)b->joints->ntendon, n = nv + nt;
    PERP_TAKE(arena, d->q, 3 * nv * nv + n * n + 6 * nv + nt + 1);
    PERP_TAKE(arena, d->held, 2 * nv + nt + 1);
    PERP_TAKE(arena, d->s, (size_t)b->scene->n);
    PERP_TAKE(arena, d->tendon, nt + 1);
    if (arena->failed) return 0;
    d->v = d->q + nv * nv;
    d->x = d->v + nv * nv;
    d->A = d->x + nv * nv;
    d->stiff = d->A + n * n;
    d->slack = d->stiff + nv;
    d->tau = d->slack + nv;
    d->change = d->tau + 2 * nv;
    d->right = d->change + nv;
    d->swap = d->held + nv;
    return 1;
}

/* At the q and v with which the step began: v is put there for the recursions, which it goes back
 * from. */
static perp_status differentiate_step(perp_bodies *b, step_slopes *d, double *dq, double *dv,
                                      double *du)
{
    size_t nv = (size_t)b->scene->nv;
    double *end = d->tau + nv;
    perp_status status = PERP_ERR_NO_SOLUTION;
    memcpy(end, b->v, nv * sizeof *end);
    memcpy(b->v, b->last + b->scene->nq, nv * sizeof *b->v);
    perp__bodies_place(b, b->last);
    perp__tendons_place(b);
    take_sides(b, d, end);
    perp__bodies_carry(b, b->v);
    perp__bodies_inverse(b, b->acc, NULL, d->tau);
    differentiate_all(b, b->acc, d->s, d->q, d->v);
    if (factor_step(b, d))
        status = solve_steps(b, d, end, dq, dv, du) ? PERP_OK : PERP_ERR_UNAVAILABLE;
    memcpy(b->v, end, nv * sizeof *end);
    perp__bodies_place(b, b->q);
    return status;
}

static perp_status refuse_slopes(const perp_bodies *b, const char *why, perp_diag *diag)
{
    return perp__refuse(diag, PERP_ERR_UNAVAILABLE, perp__in(NULL),
                        "step %ld: its derivatives are not known: %s\n", b->steps, why);
}

perp_status perp_bodies_step_derivatives(perp_bodies *b, double *dq, double *dv, double *du,
                                         perp_diag *diag)
{
    if (!b || !b->is_stepped) return PERP_ERR_ARG;
    const char *why = reason_not_smooth(b);
    if (why) return refuse_slopes(b, why, diag);
    perp__arena arena = {0};
    step_slopes d;
    perp_status status = PERP_ERR_MEMORY;
    if (take_slopes(b, &arena, &d)) status = differentiate_step(b, &d, dq, dv, du);
    perp__arena_clear(&arena);
    if (status == PERP_ERR_UNAVAILABLE)
        return refuse_slopes(b, "a tendon's way is not unique", diag);
    return status == PERP_ERR_MEMORY ? perp__out_of_memory(diag, "bodies") : status;
}
