/* A feasible start: limits hold, loops are closed, nothing penetrates. Joints beyond a limit are
 * put at it. Then comes the least motion in the metric of the mass matrix, by the problem that
 * removes penetrations at the end of a step, repeated. Shapes of one mechanism without room to move
 * apart, such as hulls about one joint, are excluded from contact. */

#include "bodies/bodies.h"

#include <math.h>
#include <string.h>

/* Beside the |terms|: what a file's decimals leave is mended, what rounding leaves is not. */
static const double NEAR = 1e-9;

/* By how much x, of |terms| `size`, is past its limits; within rounding 0. *most: the largest
 * beside that rounding. */
static double past(double x, double size, const perp_range *is, double *most)
{
    double off = fmax(is->lower - x, x - is->upper),
           near = NEAR * (size + fabs(x < is->lower ? is->lower : is->upper));
    if (!is->limited || !(off > near)) return 0;
    *most = fmax(*most, off / near);
    return off;
}

/* How far from a start it is: each beside what is none; what is most, in `is`, if it is not
 * NULL. */
static double limits_off(const perp_bodies *b, perp_assembly *is)
{
    double most = 0;
    for (int i = 1; i < b->scene->n; i++) {
        const perp_joint_law *law = &b->joints->law[i];
        if (!law->range.limited) continue;
        double axis[3], *q = &b->here[b->link[i].q],
                        x = perp__is_single(&b->link[i]) ? *q : perp__turn_of(q, axis),
                        off = past(x, fabs(x), &law->range, &most);
        if (is && off > is->limit) {
            is->limit = off;
            is->body = i;
        }
    }
    for (int i = 0; i < b->joints->ntendon; i++) {
        const perp_tendon *t = &b->joints->tendon[i];
        double off = past(perp__tendon_length(b, i + 1), perp__tendon_length_terms(b, i + 1),
                          &t->range, &most);
        if (is && off > is->limit) {
            is->limit = off;
            is->body = 0;
            is->tendon = i + 1;
        }
    }
    return most;
}

static double loops_off(const perp_bodies *b, perp_assembly *is)
{
    const perp__equalities *e = b->equal;
    double most = 0;
    for (int row = 0; row < e->rows - e->soft; row++) {
        double off = fabs(e->error[row]);
        if (!(off > NEAR * e->size[row])) continue;
        most = fmax(most, off / (NEAR * e->size[row]));
        if (is) is->loop = fmax(is->loop, off);
    }
    return most;
}

static double overlaps(const perp_bodies *b, perp_assembly *is)
{
    int which;
    double most = perp__bodies_deepest(b, &which);
    if (!is || which < 0) return most;
    is->penetration = -b->touch[which].gap;
    memcpy(is->shape, b->touch[which].shape, sizeof is->shape);
    return most;
}

/* A ball that is turned too far, about the same axis. */
static void turn_back(double *q, double most)
{
    double axis[3];
    if (perp__turn_of(q, axis) <= most) return;
    q[0] = cos(0.5 * most);
    for (int k = 0; k < 3; k++) q[1 + k] = sin(0.5 * most) * axis[k];
}

/* A joint past a limit is put there, whatever its mass. */
static void meet_limits(perp_bodies *b)
{
    for (int i = 1; i < b->scene->n; i++) {
        const perp_joint_law *law = &b->joints->law[i];
        double *x = &b->here[b->link[i].q];
        if (!law->range.limited) continue;
        if (perp__is_single(&b->link[i]))
            *x = perp__within(*x, &law->range);
        else
            turn_back(x, law->range.upper);
    }
}

/* The state of `here`: bodies, contacts, equalities; by how much it is off in *off, 0: not at
 * all. */
static perp_status look(perp_bodies *b, perp_assembly *is, double *off)
{
    perp__bodies_place(b, b->here);
    if (!perp__bodies_find_touches(b)) return PERP_ERR_MEMORY;
    perp__joints_still(b);
    perp__bodies_mass(b, b->M);
    *off = 0;
    if (!perp__bodies_factor(b, b->M, b->D)) return PERP_OK;
    b->c->is_still = 1;
    int ok = perp__equality_state(b);
    b->c->is_still = 0;
    if (!ok) return PERP_ERR_MEMORY;
    *off = fmax(overlaps(b, is), fmax(limits_off(b, is), loops_off(b, is)));
    return PERP_OK;
}

/* From `here` to where all holds, or no nearer. */
static perp_status approach(perp_bodies *b, double *off)
{
    enum { MOST = 60, PATIENCE = 3 };
    const double AT_ONCE = 1, BETTER = 0.7;
    double best = INFINITY;
    int tired = 0;
    for (int pass = 0;; pass++) {
        perp_status status = look(b, NULL, off);
        tired = *off < BETTER * best ? 0 : tired + 1;
        best = fmin(best, *off);
        if (status != PERP_OK || *off == 0 || pass == MOST || tired == PATIENCE) return status;
        int is_moved;
        status = perp__bodies_move_apart(b, AT_ONCE, INFINITY, &is_moved);
        if (status != PERP_OK || !is_moved) return status;
    }
}

/* May it be that these have no room, whatever moves? Two of one mechanism, or one of what stays and
 * one of what hangs on it. */
static int is_of_one(const perp_bodies *b, const perp_contact *t)
{
    const perp__link *x = &b->link[b->scene->shape[t->shape[0]].body],
                     *y = &b->link[b->scene->shape[t->shape[1]].body];
    if (x->tip < 0) x = y;
    if (y->tip < 0) y = x;
    if (x == y) return x->tip >= 0 && b->link[x->root].is.joint != PERP_JOINT_FREE;
    return x->root == y->root;
}

/* Excludes the worst of the penetrating pairs, and those at least `nearly` as bad, from contact;
 * none if the worst is a pair that is always in contact by declaration. Returns 0: none; -1: memory
 * is out. */
static int exclude(perp_bodies *b, double nearly)
{
    double most = 1;
    int before = b->filter->nexcluded, is_said = 0;
    for (int pass = 0; pass < 2 && !is_said; pass++)
        for (int i = 0; i < b->ntouch; i++) {
            const perp_contact *t = &b->touch[i];
            double depth = -t->gap / perp__bodies_little(b, t);
            int is_named = perp__bodies_is_named(b, t->shape[0], t->shape[1]);
            if (depth <= 1 || !is_of_one(b, t)) continue;
            if (!pass && depth > most) {
                most = depth;
                is_said = is_named;
            }
            if (!pass || is_named || depth < nearly * most) continue;
            if (!perp__bodies_exclude(b, t)) return -1;
        }
    return b->filter->nexcluded - before;
}

/* How far a position has moved from another, or a joint or a body turned. */
static double moved(const perp_bodies *b, const double *from)
{
    double most = 0;
    for (int i = 1; i < b->scene->n; i++) {
        const perp__link *l = &b->link[i];
        int places = l->is.joint == PERP_JOINT_FREE ? 3 : perp__is_single(l);
        for (int k = l->q; k < l->q + places; k++) most = fmax(most, fabs(b->here[k] - from[k]));
        for (int k = l->q + places; l->nv >= 3 && k < l->q + places + 4; k++)
            most = fmax(most, 2 * fabs(b->here[k] - from[k]));
    }
    return most;
}

/* From a point where limits hold, `from`: pairs that have no room, or need much of it, are
 * excluded; again as long as there are such. *off: the residual; `here` is then the result. */
static perp_status make_room(perp_bodies *b, const double *from, double *off)
{
    const double FAR = 0.05, NEARLY = 0.5;
    size_t bytes = (size_t)b->scene->nq * sizeof *from;
    for (int is_content = 0;;) {
        memcpy(b->here, from, bytes);
        perp_status status = approach(b, off);
        int is_far = status == PERP_OK && *off == 0 && moved(b, from) > FAR;
        if (status != PERP_OK || (*off == 0 && (!is_far || is_content))) return status;
        if (is_far) {
            double start;
            memcpy(b->here, from, bytes);
            status = look(b, NULL, &start);
            if (status != PERP_OK) return status;
        }
        int excluded = exclude(b, is_far ? 0 : NEARLY);
        if (excluded < 0) return PERP_ERR_MEMORY;
        if (!excluded && !is_far) return PERP_OK;
        is_content = !excluded;
    }
}

perp_status perp_bodies_assemble(perp_bodies *b, perp_assembly *assembly, perp_diag *diag)
{
    perp_assembly is = {.size = sizeof is};
    double off = 0;
    if (!b || !PERP__FITS(assembly)) return PERP_ERR_ARG;
    size_t bytes = (size_t)b->scene->nq * sizeof *b->q;
    int before = b->filter->nexcluded;
    double *start = b->begun, *within = b->last;
    memcpy(start, b->q, bytes);
    memcpy(b->here, b->q, bytes);
    perp_status status = look(b, &is, &off);
    if (limits_off(b, NULL) > 0) meet_limits(b);
    memcpy(within, b->here, bytes);
    if (status == PERP_OK && off > 0) status = make_room(b, within, &off);
    is.is_assembled = status == PERP_OK && off == 0;
    is.moved = is.is_assembled ? moved(b, start) : 0;
    is.excluded = b->filter->nexcluded - before;
    perp_bodies_set(b, is.moved > 0 ? b->here : start, NULL);
    if (status != PERP_OK) return perp__out_of_memory(diag, "bodies");
    if (assembly) {
        is.size = assembly->size;
        *assembly = is;
    }
    return PERP_OK;
}
