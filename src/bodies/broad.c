/* All contacts of a step: boxes about the shapes, sorted along one axis and swept; then each near
 * pair. */

#include "bodies/bodies.h"
#include "bodies/space.h"

#include <stdlib.h>
#include <string.h>

/* Pairs of boxes ------------------------------------------------------------------------------- */

static int by_low(const void *x, const void *y)
{
    const perp__box *a = x, *b = y;
    return a->low[0] != b->low[0] ? (a->low[0] > b->low[0]) - (a->low[0] < b->low[0])
                                  : a->which - b->which;
}

static int by_shapes(const void *x, const void *y)
{
    const perp__shape_pair *a = x, *b = y;
    return a->shape[0] != b->shape[0] ? a->shape[0] - b->shape[0] : a->shape[1] - b->shape[1];
}

/* What is nearly in order, as boxes are from step to step, is sorted by insertion; where that moves
 * much, by qsort. */
static void sort(void *all, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    enum { MOST = 64, MOVES = 8 };
    char *at = all, one[MOST];
    size_t moves = 0;
    for (size_t i = 1; i < n && moves <= MOVES * n; i++) {
        size_t j = i;
        while (j > 0 && compare(at + (j - 1) * size, at + i * size) > 0) j--;
        if (j == i) continue;
        moves += i - j;
        memcpy(one, at + i * size, size);
        memmove(at + (j + 1) * size, at + j * size, (i - j) * size);
        memcpy(at + j * size, one, size);
    }
    if (moves > MOVES * n) qsort(all, n, size, compare);
}

/* The axis of the largest spread becomes the first. */
static void turn_boxes(perp__box *box, int n)
{
    double sum[3] = {0}, squares[3] = {0}, spread[3];
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            double middle = 0.5 * (box[i].low[k] + box[i].high[k]);
            sum[k] += middle;
            squares[k] += middle * middle;
        }
    for (int k = 0; k < 3; k++) spread[k] = squares[k] - sum[k] * sum[k] / n;
    int axis = spread[1] > spread[0];
    if (spread[2] > spread[axis]) axis = 2;
    for (int i = 0; i < n && axis; i++) {
        double low = box[i].low[0], high = box[i].high[0];
        box[i].low[0] = box[i].low[axis];
        box[i].high[0] = box[i].high[axis];
        box[i].low[axis] = low;
        box[i].high[axis] = high;
    }
}

int perp__broad_pairs(perp__broad *b)
{
    perp__box *box = b->box;
    b->npair = 0;
    if (b->n) turn_boxes(box, b->n);
    sort(box, (size_t)b->n, sizeof *box, by_low);
    for (int i = 0; i < b->n; i++)
        for (int j = i + 1; j < b->n && box[j].low[0] <= box[i].high[0]; j++) {
            if (box[j].low[1] > box[i].high[1] || box[i].low[1] > box[j].high[1] ||
                box[j].low[2] > box[i].high[2] || box[i].low[2] > box[j].high[2])
                continue;
            if (!perp__grow(&b->pair, &b->cpair, b->npair + 1, sizeof *b->pair)) return 0;
            int x = box[i].which, y = box[j].which, swap = x > y;
            b->pair[b->npair++] = (perp__shape_pair){{swap ? y : x, swap ? x : y}, 0};
        }
    return 1;
}

/* Those of a step ------------------------------------------------------------------------------ */

static void place(const perp_bodies *b, int shape, perp__placed *placed)
{
    const perp_shape *s = &b->scene->shape[shape];
    const perp__link *l = &b->link[s->body];
    placed->shape = s;
    perp__multiply3(l->R, b->scene->form[shape].R, placed->R);
    perp__place3(l->R, l->p, s->position, placed->p);
}

int perp__bodies_are_far(const perp_bodies *b, int i, int j, double margin)
{
    const perp__placed *x = &b->placed[i], *y = &b->placed[j];
    double reach = b->scene->form[j].extent + margin;
    double from[3];
    perp__move3(y->p, -1, x->p, from);
    if (x->shape->kind == PERP_SHAPE_PLANE) {
        double n[3] = {x->R[2], x->R[5], x->R[8]};
        return perp__dot3(from, n) > reach;
    }
    reach += b->scene->form[i].extent;
    return perp__dot3(from, from) > reach * reach;
}

/* How far a shape's core goes along an axis of the world, up and down. */
static void reach(const perp__placed *s, int axis, double *up, double *down)
{
    const double *R = s->R + 3 * axis, *size = s->shape->size;
    double d[3] = {axis == 0, axis == 1, axis == 2}, x[3];
    switch (s->shape->kind) {
    case PERP_SHAPE_SPHERE: *up = 0; break;
    case PERP_SHAPE_CAPSULE: *up = fabs(R[2]) * size[1]; break;
    case PERP_SHAPE_BOX:
        *up = fabs(R[0]) * size[0] + fabs(R[1]) * size[1] + fabs(R[2]) * size[2];
        break;
    default: perp__shape_support(s, d, x); *up = x[axis];
    }
    *down = *up;
    if (s->shape->kind != PERP_SHAPE_MESH && s->shape->kind != PERP_SHAPE_FIELD) return;
    d[axis] = -1;
    perp__shape_support(s, d, x);
    *down = -x[axis];
}

/* A box about where a shape may come within the step. */
static void put_box_about(const perp__placed *s, double travel, perp__box *box)
{
    double round = perp__shape_round(s->shape) + travel;
    for (int k = 0; k < 3; k++) {
        double up, down;
        reach(s, k, &up, &down);
        double high = s->p[k] + up + round, low = s->p[k] - down - round,
               rounding = 1e-15 * (fabs(low) + fabs(high));
        box->low[k] = low - rounding;
        box->high[k] = high + rounding;
    }
}

/* Planes go with every shape, the others with those whose boxes they meet; sorted, so that the
 * order does not hang on places. */
static int find_pairs(perp_bodies *b)
{
    perp__broad *broad = &b->broad;
    int is_first = !broad->n;
    for (int i = 0; i < b->scene->nshape && is_first; i++)
        if (b->scene->shape[i].kind != PERP_SHAPE_PLANE) broad->box[broad->n++].which = i;
    for (int k = 0; k < broad->n; k++) { /* as they were sorted last */
        int i = broad->box[k].which;
        put_box_about(&b->placed[i], b->travel[i], &broad->box[k]);
    }
    if (!perp__broad_pairs(broad)) return 0;
    for (int i = 0; i < b->scene->nshape; i++)
        for (int j = 0; j < b->scene->nshape && b->scene->shape[i].kind == PERP_SHAPE_PLANE; j++) {
            if (b->scene->shape[j].kind == PERP_SHAPE_PLANE) continue;
            if (!perp__grow(&broad->pair, &broad->cpair, broad->npair + 1, sizeof *broad->pair))
                return 0;
            broad->pair[broad->npair++] = (perp__shape_pair){{i < j ? i : j, i < j ? j : i}, 0};
        }
    if (broad->npair) sort(broad->pair, (size_t)broad->npair, sizeof *broad->pair, by_shapes);
    return 1;
}

/* The speed of a body's point. */
static void point_speed(const perp_bodies *b, int body, const double *point, double *u)
{
    const perp__motion *m = &b->motion[body];
    double from[3];
    perp__move3(point, -1, b->link[body].p, from);
    perp__cross3(m->w, from, u);
    perp__move3(u, 1, m->v, u);
}

/* By how much the present velocities would violate the contact's constraint, over the step [m]. */
static double excess(const perp_bodies *b, const perp_contact *t)
{
    double u[3], w[3];
    point_speed(b, b->scene->shape[t->shape[0]].body, t->point, u);
    point_speed(b, b->scene->shape[t->shape[1]].body, t->point, w);
    perp__move3(w, -1, u, w);
    return -b->h * perp__dot3(w, t->normal) - fmax(0, t->gap);
}

/* Is the contact's axis the wrong one where the two meet, at a time of the path? They are deep in
 * each other along it then. */
static int is_early(const perp_bodies *b, const perp__path *path, const perp_contact *t,
                    double when)
{
    const int i = t->shape[0], j = t->shape[1];
    double tol = PERP__CROSSED * fmin(b->scene->form[i].least, b->scene->form[j].least);
    return perp__apart_after(b, path, i, j, when, t->normal) < -tol + fmin(0, t->gap);
}

/* Removes those of n touches of a pair that the present velocities close, if the shapes pass each
 * other at these velocities, or come into contact elsewhere: the sweep of the step will find that.
 * Returns the number left. */
static int drop_ghosts(perp_bodies *b, const perp__path *path, perp_contact *t, int n)
{
    const double NEAR = 1e-8, FAR = 0.1, ROUNDING = 1e-12; /* of the least half length */
    const int i = t->shape[0], j = t->shape[1];
    double least = fmin(b->scene->form[i].least, b->scene->form[j].least), near = NEAR * least,
           rounding = ROUNDING * least, when = 0;
    int met = 0, kept = 0, is_field = b->scene->shape[j].kind == PERP_SHAPE_FIELD,
        is_far = !is_field && b->travel[i] + b->travel[j] > FAR * least;
    for (int k = 0; k < n; k++) {
        double by = excess(b, &t[k]);
        if (!(by > rounding)) continue;
        met = 1;
        near = fmin(near, 0.5 * by); /* a contact does not count as passing */
    }
    if (!met) return n;
    int is_clear = perp__sweep(b, path, i, j, near, NULL, is_far ? &when : NULL);
    if (!is_clear && !is_far) return n;
    for (int k = 0; k < n; k++)
        if (!(excess(b, &t[k]) > rounding) || !(is_clear || is_early(b, path, &t[k], when)))
            t[kept++] = t[k];
    return kept;
}

static int touch_pair(perp_bodies *b, const perp__path *path, perp__shape_pair *pair)
{
    int swap = b->scene->shape[pair->shape[0]].kind > b->scene->shape[pair->shape[1]].kind,
        i = pair->shape[swap], j = pair->shape[!swap]; /* in the order of the kinds */
    const perp__placed *x = &b->placed[i], *y = &b->placed[j];
    double margin = b->travel[i] + b->travel[j];
    pair->gap = margin;
    if (perp__bodies_are_far(b, i, j, margin) || !perp__bodies_may_touch(b, i, j)) return 1;
    if (!perp__grow(&b->touch, &b->ctouch, b->ntouch + PERP_MANIFOLD, sizeof *b->touch)) return 0;
    for (int k = 0; k < PERP_MANIFOLD; k++) b->touch[b->ntouch + k].feature = 0;
    int n = y->shape->kind == PERP_SHAPE_FIELD
                ? perp__touch_field(y, x, margin, &b->touch, &b->ctouch, b->ntouch)
                : perp__touch_shapes(x, y, margin, b->touch + b->ntouch);
    perp_contact *t = b->touch + b->ntouch;
    if (n < 0) return 0;
    double mu[3];
    if (n) perp__bodies_friction(b, i, j, mu);
    for (int k = 0; k < n; k++) {
        t[k].shape[0] = i;
        t[k].shape[1] = j;
        t[k].mu = mu[0];
        t[k].torsional_friction = mu[1];
        t[k].rolling_friction = mu[2];
        for (int d = 0; d < 3; d++) t[k].impulse[d] = t[k].moment[d] = 0;
        perp__tangents3(t[k].normal, t[k].tangent[0], t[k].tangent[1]);
        pair->gap = fmin(pair->gap, t[k].gap);
    }
    if (!n) return 1;
    b->room = fmin(b->room, perp__room(b, pair));
    b->ntouch += drop_ghosts(b, path, t, n);
    return 1;
}

int perp__bodies_reach_pairs(perp_bodies *b, const double *v, double h)
{
    int is_more = 0;
    perp__motions(b, v, h);
    for (int i = 0; i < b->scene->nshape; i++) {
        double travel = perp__travel(b, i, h);
        if (travel <= b->travel[i]) continue;
        b->travel[i] = travel;
        is_more = 1;
    }
    return !is_more || find_pairs(b);
}

int perp__bodies_near_pairs(perp_bodies *b, const double *q, const double *v, double h)
{
    perp__bodies_place(b, q);
    perp__motions(b, v, h);
    for (int i = 0; i < b->scene->nshape; i++) {
        place(b, i, &b->placed[i]);
        b->travel[i] = perp__travel(b, i, h);
    }
    return find_pairs(b);
}

int perp__bodies_find_touches(perp_bodies *b)
{
    const perp__path path = perp__path_of(b, b->here, b->v, b->h);
    double fall = 2 * path.h * path.h * perp__length3(b->gravity);
    b->ntouch = 0;
    b->room = INFINITY;
    perp__motions(b, path.v, path.h);
    for (int i = 0; i < b->scene->nshape; i++) {
        place(b, i, &b->placed[i]);
        if (!b->scene->shape[i].body) continue;
        b->travel[i] = perp__travel(b, i, path.h) + fall;
        b->room = fmin(b->room, 2 * b->travel[i]);
    }
    if (!find_pairs(b)) return 0;
    for (int k = 0; k < b->broad.npair; k++)
        if (!touch_pair(b, &path, &b->broad.pair[k])) return 0;
    return 1;
}
