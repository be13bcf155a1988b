/* The recursions over a tree of bodies (Featherstone 2008): positions and velocities, Newton and
 * Euler (table 5.1), composite bodies (table 6.2), factors with the zeros of the tree (table 6.3).
 * Motions and forces are (angular, linear) in each body's own frame. */

#include "bodies/bodies.h"
#include "bodies/motions.h"
#include "bodies/space.h"

#include <math.h>
#include <string.h>

/* An inertia seen from the parent's frame, added. */
static inline void inertia_up(const perp__link *l, perp__inertia *parent)
{
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    const perp__inertia *in = &l->whole;
    const double *I = in->I, *r = l->r;
    double full[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]}, EI[9], y[3];
    perp__multiply3(l->E, full, EI);
    perp__rotate3(l->E, in->h, y);
    double trace = in->m * perp__dot3(r, r) + 2 * perp__dot3(r, y);
    for (int k = 0; k < 6; k++) {
        int i = row[k], j = col[k];
        parent->I[k] += perp__dot3(EI + 3 * i, l->E + 3 * j) - in->m * r[i] * r[j] - y[i] * r[j] -
                        r[i] * y[j] + (i == j ? trace : 0);
    }
    for (int i = 0; i < 3; i++) parent->h[i] += y[i] + in->m * r[i];
    parent->m += in->m;
}

/* Positions ------------------------------------------------------------------------------------ */

static void place_joint(perp__link *l, const double *q)
{
    double along[3], quaternion[4], R[9];
    const double *axis = l->is.axis;
    memcpy(l->r, l->is.position, sizeof l->r);
    memcpy(l->E, l->offset, sizeof l->E);
    switch (l->is.joint) {
    case PERP_JOINT_HINGE:
        perp__quaternion_about(axis, q[0], quaternion);
        perp__rotation_of(quaternion, R);
        perp__multiply3(l->offset, R, l->E);
        break;
    case PERP_JOINT_SLIDE:
        perp__rotate3(l->offset, axis, along);
        perp__move3(l->r, q[0], along, l->r);
        break;
    case PERP_JOINT_BALL:
        perp__rotation_of(q, R);
        perp__multiply3(l->offset, R, l->E);
        break;
    case PERP_JOINT_FREE:
        memcpy(l->r, q, sizeof l->r);
        perp__rotation_of(q + 3, l->E);
        for (int k = 0; k < 3; k++) /* velocities in the parent's frame */
            memcpy(l->unit[k], l->E + 3 * k, sizeof l->unit[k]);
        break;
    default: break;
    }
}

void perp__bodies_place(perp_bodies *b, const double *q)
{
    b->is_placed = q == b->here;
    b->work += b->scene->cost.place;
    for (int i = 1; i < b->scene->n; i++) {
        perp__link *l = &b->link[i];
        const perp__link *p = &b->link[l->is.parent];
        place_joint(l, q + l->q);
        perp__multiply3(p->R, l->E, l->R);
        perp__place3(p->R, p->p, l->r, l->p);
        for (int k = 0; k < l->nv; k++) perp__rotate3(l->R, l->unit[k], l->world[k]);
    }
}

/* Cayley's map: a turn by 2 atan(|turn|/2). With it the midpoint rule keeps a free body's momentum
 * (Austin, Krishnaprasad, Wang 1993). */
static void half_turns(const double *turn, double *by)
{
    by[0] = 1;
    for (int k = 0; k < 3; k++) by[1 + k] = 0.5 * turn[k];
}

void perp__bodies_move(const perp_bodies *b, const double *v, double h, double *q)
{
    for (int i = 1; i < b->scene->n; i++) {
        const perp__link *l = &b->link[i];
        double turn[3], by[4], *at = q + l->q;
        const double *w = v + l->v;
        int is_free = l->is.joint == PERP_JOINT_FREE;
        if (l->nv == 1) at[0] += h * w[0];
        if (l->nv < 3) continue;
        if (is_free) {
            perp__move3(at, h, w, at);
            at += 3;
            w += 3;
        }
        for (int k = 0; k < 3; k++) turn[k] = h * w[k];
        if (perp__is_midpoint(b))
            half_turns(turn, by);
        else
            perp__quaternion_of(turn, by);
        perp__quaternion_multiply(at, by, at);
        perp__quaternion_normalise(at);
    }
}

void perp__bodies_velocities(perp_bodies *b, const double *v)
{
    b->work += b->scene->cost.velocities;
    for (int i = 1; i < b->scene->n; i++) {
        perp__link *l = &b->link[i];
        motion_down(l, b->link[l->is.parent].end, l->end);
        add_joint(l, v, l->end);
    }
}

/* Newton and Euler ----------------------------------------------------------------------------- */

/* A body's velocity from that of its parent, what it adds to the acceleration, and the force for
 * it: vel x* I vel. */
static void carry(perp__link *l, const perp__link *p, const double *v)
{
    double joint[6] = {0}, turned[3] = {0}, moved[6];
    motion_down(l, p->vel, l->vel);
    add_joint(l, v, joint);
    for (int i = 0; i < 6; i++) l->vel[i] += joint[i];
    if (l->is.joint == PERP_JOINT_FREE) /* its shifts turn with the body */
        perp__cross3(joint, joint + 3, turned);
    for (int i = 0; i < 3; i++) {
        l->bend[i] = 0;
        l->bend[3 + i] = -turned[i];
    }
    add_cross_motion(l->vel, joint, l->bend);
    apply(&l->own, l->vel, moved);
    memset(l->whirl, 0, sizeof l->whirl);
    add_cross_force(l->vel, moved, l->whirl);
}

void perp__bodies_carry(perp_bodies *b, const double *v)
{
    b->work += b->scene->cost.carry;
    for (int i = 1; i < b->scene->n; i++) carry(&b->link[i], &b->link[b->link[i].is.parent], v);
}

/* A body's acceleration from that of its parent. */
static void accelerate(perp__link *l, const perp__link *p, const double *a)
{
    motion_down(l, p->acc, l->acc);
    if (a) add_joint(l, a, l->acc);
    for (int i = 0; i < 6; i++) l->acc[i] += l->bend[i];
}

/* Less a moment and a force at the body's origin, world axes. */
static void take_off(perp__link *l, const double *outside)
{
    double local[3];
    for (int half = 0; half < 6; half += 3) {
        perp__rotate_back3(l->R, outside + half, local);
        for (int i = 0; i < 3; i++) l->force[half + i] -= local[i];
    }
}

void perp__bodies_inverse(perp_bodies *b, const double *a, const double *force, double *tau)
{
    perp__link *world = &b->link[0];
    b->work += b->scene->cost.inverse;
    for (int i = 0; i < 3; i++) world->acc[3 + i] = -b->gravity[i];
    for (int i = 1; i < b->scene->n; i++) {
        perp__link *l = &b->link[i];
        accelerate(l, &b->link[l->is.parent], a);
        apply(&l->own, l->acc, l->force);
        for (int k = 0; k < 6; k++) l->force[k] += l->whirl[k];
        if (force) take_off(l, force + 6 * i);
    }
    for (int i = b->scene->n - 1; i > 0; i--) {
        const perp__link *l = &b->link[i];
        for (int k = 0; k < l->nv; k++)
            tau[l->v + k] = along(l, k, l->force) + (a ? l->is.armature * a[l->v + k] : 0);
        if (l->is.parent) force_up(l, l->force, b->link[l->is.parent].force);
    }
}

/* The mass matrix ------------------------------------------------------------------------------ */

/* The force for a unit acceleration in the joint's kth velocity, with all that hangs on it. */
static void unit_force(const perp__link *l, int k, double *f)
{
    const perp__inertia *in = &l->whole;
    const double *u = l->unit[k], *I = in->I;
    if (l->is_shift[k]) {
        perp__cross3(in->h, u, f);
        for (int i = 0; i < 3; i++) f[3 + i] = in->m * u[i];
        return;
    }
    f[0] = I[0] * u[0] + I[3] * u[1] + I[4] * u[2];
    f[1] = I[3] * u[0] + I[1] * u[1] + I[5] * u[2];
    f[2] = I[4] * u[0] + I[5] * u[1] + I[2] * u[2];
    perp__cross3(u, in->h, f + 3);
}

void perp__bodies_mass(perp_bodies *b, double *M)
{
    b->work += b->scene->cost.mass;
    for (int i = 0; i < b->scene->n; i++) b->link[i].whole = b->link[i].own;
    for (int i = b->scene->n - 1; i > 0; i--) {
        const perp__link *l = &b->link[i];
        if (l->is.parent) inertia_up(l, &b->link[l->is.parent].whole);
        for (int k = 0; k < l->nv; k++) {
            double f[6], moment[3], force[3];
            double *row = M + b->scene->mass_row[l->v + k];
            unit_force(l, k, f);
            for (int j = 0; j <= k; j++)
                row[b->scene->above[l->v + j]] = along(l, j, f) + (j == k ? l->is.armature : 0);
            if (!l->is.parent) continue;
            perp__rotate3(l->R, f, moment); /* in world axes, in which those above it move, too */
            perp__rotate3(l->R, f + 3, force);
            for (int i_up = l->is.parent; i_up; i_up = b->link[i_up].is.parent) {
                const perp__link *up = &b->link[i_up];
                double from[3], about[3];
                perp__move3(l->p, -1, up->p, from);
                perp__cross3(from, force, about);
                perp__move3(about, 1, moment, about);
                for (int j = 0; j < up->nv; j++)
                    row[b->scene->above[up->v + j]] =
                        perp__dot3(up->world[j], up->is_shift[j] ? force : about);
            }
        }
    }
}

void perp__bodies_full_mass(perp_bodies *b, double *M)
{
    size_t nv = (size_t)b->scene->nv;
    memset(M, 0, nv * nv * sizeof *M);
    perp__bodies_mass(b, b->again);
    for (int k = 0; k < b->scene->nv; k++)
        for (int j = k; j >= 0; j = b->scene->parent_of[j])
            M[(size_t)k + (size_t)j * nv] = M[(size_t)j + (size_t)k * nv] =
                b->again[perp__mass_entry(b, k, j)];
}

int perp__tree_factor(const perp__scene *s, const int *up, double *M, double *D)
{
    for (int k = s->nv - 1; k >= 0; k--) {
        double *row = M + s->mass_row[k];
        if (isinf(D[k])) continue;
        D[k] = row[s->above[k]];
        if (!(D[k] > 0)) return 0;
        double over = 1 / D[k];
        for (int i = up[k]; i >= 0; i = up[i]) {
            double a = row[s->above[i]] * over, *of = M + s->mass_row[i];
            for (int j = i; j >= 0; j = up[j]) of[s->above[j]] -= row[s->above[j]] * a;
            row[s->above[i]] = a;
        }
    }
    return 1;
}

/* x = inv(L) inv(D) x */
static void solve_down(const perp__scene *s, const int *up, const double *L, const double *D,
                       double *x)
{
    for (int k = 0; k < s->nv; k++) {
        const double *row = L + s->mass_row[k];
        x[k] /= D[k];
        for (int j = isinf(D[k]) ? -1 : up[k]; j >= 0; j = up[j]) x[k] -= row[s->above[j]] * x[j];
    }
}

void perp__tree_solve(const perp__scene *s, const int *up, const double *L, const double *D,
                      double *x)
{
    for (int k = s->nv - 1; k >= 0; k--) {
        const double *row = L + s->mass_row[k];
        for (int j = isinf(D[k]) ? -1 : up[k]; j >= 0; j = up[j]) x[j] -= row[s->above[j]] * x[k];
    }
    solve_down(s, up, L, D, x);
}

int perp__bodies_factor(perp_bodies *b, double *M, double *D)
{
    int nv = b->scene->nv;
    b->work += b->scene->cost.factor;
    for (int k = 0; k < nv; k++) D[k] = perp__joints_hold(b, k) ? (double)INFINITY : 0;
    int done = perp__tree_factor(b->scene, b->up, M, D);
    for (int k = 0; k < nv; k++) b->over[k] = 1 / D[k];
    return done;
}

void perp__bodies_solve_down(perp_bodies *b, const double *L, const double *D, double *x)
{
    b->work += b->scene->cost.solve;
    solve_down(b->scene, b->up, L, D, x);
}

void perp__bodies_solve(perp_bodies *b, const double *L, const double *D, double *x)
{
    b->work += 2 * b->scene->cost.solve;
    perp__tree_solve(b->scene, b->up, L, D, x);
}
