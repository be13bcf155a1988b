/* Derivatives of inverse dynamics and of a step. The recursion of Newton and Euler is differentiated in each direction of q and v: what hangs on
 * the joint that moves, then down its way to the world (as Carpentier and Mansard 2018, one direction at a time). In the body's frame the map X from
 * the parent's motions changes by -S x X, and forces that go up by what S x* f gives. */

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

/* A free body's directions k < 3 turn with its rotation: their change with its turn about an axis w. */
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

/* One direction: velocity k of body i. The bodies' motions and forces are those of the inverse dynamics. */
static void differentiate(perp_bodies *b, int i, int k, int in_q, const double *a, slope *s,
                          double *column)
{
    const double *v = b->v;
    for (int j = 1; j < i; j++) s[j].is_inside = 0;
    s[0].is_inside = 0;
    begin(b, &b->link[i], k, in_q, v, a, &s[i]);
    change_force(&b->link[i], &s[i]);
    for (int j = i + 1; j < b->n; j++) {
        int parent = b->link[j].is.parent;
        s[j].is_inside = s[parent].is_inside;
        if (!s[j].is_inside) continue;
        carry_on(&b->link[j], v, &s[parent], &s[j]);
        change_force(&b->link[j], &s[j]);
    }
    memset(column, 0, (size_t)b->nv * sizeof *column);
    for (int j = b->n - 1; j >= i; j--) {
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
    size_t nv = (size_t)b->nv;
    for (int i = 1; i < b->n; i++)
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
    PERP_TAKE(&arena, s, (size_t)b->n);
    PERP_TAKE(&arena, tau, (size_t)b->nv + 1);
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

/* Steps ------------------------------------------------------------------------------------------------ */

/* A step solves A (v+ - v) = h (..): R = h ID(q, v, (v+ - v)/h) + h (D v+ + forces of x = q + h v+) = 0 in the velocities that no law holds. */
typedef struct step_slopes {
    double *q, *v, *A;     /* of the inverse dynamics; of R by v+ */
    double *stiff, *slack; /* nv: forces of the joints by x and by v+ */
    int *held, *swap;      /* nv; held: 0, 1 at rest by dry friction, 2 at a limit */
    slope *s;
    double *tau, *x;
} step_slopes;

static const char *reason_not_smooth(const perp_bodies *b)
{
    const perp_touch *touch;
    int n = perp_bodies_touches(b, &touch);
    for (int i = 0; i < n; i++)
        if (perp__length3(touch[i].impulse) > 0) return "a contact pushes";
    if (b->joints.ntendon) return "there are tendons";
    if (b->is_pushed) return "there are forces on bodies";
    if (perp__is_midpoint(b)) return "they are those of the method euler";
    return b->equal.n ? "there are equalities" : NULL;
}

static int is_at_bound(const perp_bodies *b, int i)
{
    const perp_actuator *a = &b->joints.actuator[i];
    double f = b->joints.drive[i];
    return (a->lower != 0 || a->upper != 0) && (f <= a->lower || f >= a->upper);
}

static int is_clamped(const perp_bodies *b, int i)
{
    const perp_actuator *a = &b->joints.actuator[i];
    double u = b->joints.control[i];
    return (a->control_lower != 0 || a->control_upper != 0) &&
           (u < a->control_lower || u > a->control_upper);
}

/* Of its bound, a force of dry friction that holds; the rest is the friction solver's rounding. */
static const double INSIDE = 1 - 1e-9;

/* On which side each law of a joint was, and the slopes of those that have one there. */
static void take_sides(const perp_bodies *b, const step_slopes *d)
{
    const perp__joints *j = &b->joints;
    for (int i = 1; i < b->n; i++) {
        const perp__link *l = &b->link[i];
        for (int k = l->v; k < l->v + l->nv; k++) {
            d->slack[k] = l->is.damping;
            d->held[k] = fabs(j->kept[3 * k + 2]) < INSIDE * b->o.step * j->law[i].friction;
        }
        if (l->nv) d->stiff[l->v] = j->law[i].stiffness;
    }
    for (int i = 0; i < j->nu; i++) {
        const perp_actuator *a = &j->actuator[i];
        int at = b->link[a->body].v;
        if (is_at_bound(b, i)) continue;
        d->stiff[at] += a->gear * a->gear * a->kp;
        d->slack[at] += a->gear * a->gear * a->kv;
    }
    for (int i = 0; i < j->nrow; i++)
        if (j->row[i].kind == PERP__LIMIT && j->row[i].impulse > 0) d->held[j->row[i].at] = 2;
}

/* R by v+, factored; rows of velocities that are held say what these are. 0: it is singular. */
static int factor_step(perp_bodies *b, const step_slopes *d)
{
    size_t nv = (size_t)b->nv;
    double h = b->o.step;
    perp__bodies_full_mass(b, d->A);
    for (size_t j = 0; j < nv; j++) d->A[j * (nv + 1)] += h * (d->slack[j] + h * d->stiff[j]);
    for (size_t i = 0; i < nv; i++)
        for (size_t j = 0; j < nv && d->held[i]; j++) d->A[i + j * nv] = i == j;
    return perp__lu(b->nv, d->A, b->nv, d->swap) == 0;
}

/* The right side of the row of velocity i for the direction k of q or v. */
static double side(const perp_bodies *b, const step_slopes *d, const double *M, int i, int k,
                   int in_q)
{
    size_t at = (size_t)i + (size_t)k * (size_t)b->nv;
    double h = b->o.step;
    if (d->held[i]) return d->held[i] == 2 && in_q && i == k ? -1 / h : 0;
    if (!in_q) return M[at] - h * d->v[at];
    return -h * (d->q[at] + (i == k ? d->stiff[i] : 0));
}

static void solve_steps(perp_bodies *b, const step_slopes *d, double *dq, double *dv, double *du)
{
    size_t nv = (size_t)b->nv;
    double *M = d->x;
    perp__bodies_full_mass(b, M);
    for (int in_q = 0; in_q < 2; in_q++)
        for (int k = 0; k < b->nv && (in_q ? dq : dv); k++) {
            double *column = (in_q ? dq : dv) + (size_t)k * nv;
            for (int i = 0; i < b->nv; i++) column[i] = side(b, d, M, i, k, in_q);
            perp__lu_solve(b->nv, d->A, b->nv, d->swap, column);
        }
    for (int i = 0; i < b->joints.nu && du; i++) {
        const perp_actuator *a = &b->joints.actuator[i];
        int at = b->link[a->body].v;
        double *column = du + (size_t)i * nv;
        memset(column, 0, nv * sizeof *column);
        if (is_at_bound(b, i) || is_clamped(b, i) || d->held[at]) continue;
        column[at] = b->o.step * a->gear * a->gain;
        perp__lu_solve(b->nv, d->A, b->nv, d->swap, column);
    }
}

static int take_slopes(const perp_bodies *b, perp__arena *arena, step_slopes *d)
{
    size_t nv = (size_t)b->nv;
    PERP_TAKE(arena, d->q, 4 * nv * nv + 4 * nv + 1);
    PERP_TAKE(arena, d->held, 2 * nv + 1);
    PERP_TAKE(arena, d->s, (size_t)b->n);
    if (arena->failed) return 0;
    d->v = d->q + nv * nv, d->A = d->v + nv * nv, d->x = d->A + nv * nv;
    d->stiff = d->x + nv * nv, d->slack = d->stiff + nv, d->tau = d->slack + nv;
    d->swap = d->held + nv;
    return 1;
}

/* At the q and v with which the step began: v is put there for the recursions, which it goes back from. 0: singular. */
static int differentiate_step(perp_bodies *b, const step_slopes *d, double *dq, double *dv,
                              double *du)
{
    size_t nv = (size_t)b->nv;
    double *end = d->tau + nv;
    memcpy(end, b->v, nv * sizeof *end);
    memcpy(b->v, b->last + b->nq, nv * sizeof *b->v);
    take_sides(b, d);
    perp__bodies_place(b, b->last);
    perp__bodies_carry(b, b->v);
    perp__bodies_inverse(b, b->acc, NULL, d->tau);
    differentiate_all(b, b->acc, d->s, d->q, d->v);
    int ok = factor_step(b, d);
    if (ok) solve_steps(b, d, dq, dv, du);
    memcpy(b->v, end, nv * sizeof *end);
    perp__bodies_place(b, b->q);
    return ok;
}

perp_status perp_bodies_step_derivatives(perp_bodies *b, double *dq, double *dv, double *du,
                                         perp_diag *diag)
{
    if (!b || !b->is_stepped) return PERP_ERR_ARG;
    const char *why = reason_not_smooth(b);
    if (why)
        return perp__refuse(diag, PERP_ERR_UNAVAILABLE, perp__in(NULL),
                            "step %ld: its derivatives are not known: %s\n", b->steps, why);
    perp__arena arena = {0};
    step_slopes d;
    perp_status status = PERP_ERR_MEMORY;
    if (take_slopes(b, &arena, &d))
        status = differentiate_step(b, &d, dq, dv, du) ? PERP_OK : PERP_ERR_NO_SOLUTION;
    perp__arena_clear(&arena);
    return status == PERP_ERR_MEMORY ? perp__out_of_memory(diag, "bodies") : status;
}
