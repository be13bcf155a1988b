/* The motion of a step (docs/explain/crossed-contacts.md): its bounds, sweeps of pairs along it,
 * and the verdict on it by code of its own. Positions are those that the velocities give, except
 * for the correction of a penetration, and no shape passes another. */

#include "bodies/bodies.h"
#include "bodies/space.h"

#include <math.h>
#include <string.h>

/* A body's pose in the world. */
typedef struct pose {
    double R[9], p[3];
} pose;

/* The quaternion of a ball or a free body after the angle |turn| about `turn`, its own axes; of the
 * midpoint rule Cayley's angle. */
static void turned_after(const double *q, const double *w, double t, int is_midpoint, double *to)
{
    double turn[3], by[4];
    double speed = perp__length3(w);
    double angle = is_midpoint ? 2 * atan(0.5 * t * speed) : t * speed;
    for (int k = 0; k < 3; k++) turn[k] = speed > 0 ? angle * w[k] / speed : 0;
    perp__quaternion_of(turn, by);
    perp__quaternion_multiply(q, by, to);
}

static void rotation_after(const double *q, const double *w, double t, int is_midpoint, double *R)
{
    double to[4];
    turned_after(q, w, t, is_midpoint, to);
    perp__rotation_of(to, R);
}

/* A body's pose a time t after the positions q at the joint velocities v; NULL: at q. */
static void pose_after(const perp_bodies *b, int body, const double *q, const double *v, double t,
                       pose *out)
{
    static const double none[6] = {0};
    const perp__link *l = &b->link[body];
    const double *w = v ? v + l->v : none;
    double R[9], E[9], r[3], along[3];
    pose parent;
    if (!body) {
        *out = (pose){.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
        return;
    }
    q += l->q;
    memcpy(r, l->is.position, sizeof r);
    memcpy(E, l->offset, sizeof E);
    if (l->is.joint == PERP_JOINT_HINGE) {
        double turn[4];
        perp__quaternion_about(l->is.axis, q[0] + t * w[0], turn);
        perp__rotation_of(turn, R);
        perp__multiply3(l->offset, R, E);
    } else if (l->is.joint == PERP_JOINT_SLIDE) {
        perp__rotate3(l->offset, l->is.axis, along);
        perp__move3(r, q[0] + t * w[0], along, r);
    } else if (l->is.joint == PERP_JOINT_BALL) {
        rotation_after(q, w, t, perp__is_midpoint(b), R);
        perp__multiply3(l->offset, R, E);
    } else if (l->is.joint == PERP_JOINT_FREE) {
        perp__move3(q, t, w, r);
        rotation_after(q + 3, w + 3, t, perp__is_midpoint(b), E);
    }
    pose_after(b, l->is.parent, q - l->q, v, t, &parent);
    perp__multiply3(parent.R, E, out->R);
    perp__place3(parent.R, parent.p, r, out->p);
}

/* The largest way of a point of a shape between two poses of its body. */
static double way_between(const perp__form *form, const pose *x, const pose *y)
{
    double shift[3], turn = 0;
    perp__move3(y->p, -1, x->p, shift);
    for (int k = 0; k < 9; k++) turn += (y->R[k] - x->R[k]) * (y->R[k] - x->R[k]);
    return perp__length3(shift) + sqrt(0.5 * turn) * (form->far + form->extent);
}

static const double ROUNDING = 1e-12; /* of the numbers that a pose is made of */

/* Is a joint's position that of the step's begin, moved by its velocities over h? */
static int is_as_moved(const perp_bodies *b, const perp__link *l, const double *v, double h)
{
    const double *from = b->last + l->q, *to = b->q + l->q, *w = v + l->v;
    int shifts = l->is.joint == PERP_JOINT_FREE ? 3 : l->nv == 1;
    for (int k = 0; k < shifts; k++) {
        double by = h * w[k], size = fabs(from[k]) + fabs(by);
        if (!(fabs(to[k] - from[k] - by) <= ROUNDING * size)) return 0;
    }
    if (l->nv < 3) return 1;
    double turned[4], off = 0;
    turned_after(from + shifts, w + shifts, h, perp__is_midpoint(b), turned);
    for (int k = 0; k < 4; k++) off += fabs(turned[k] - to[shifts + k]);
    return off <= ROUNDING;
}

int perp__correction_is_small(const perp_bodies *b, double h, double penetration)
{
    const double *v = perp__is_midpoint(b) ? b->mean : b->v;
    int body = 0, is_moved = 1;
    pose from, to;
    for (int i = 1; i < b->scene->n && is_moved; i++) is_moved = is_as_moved(b, &b->link[i], v, h);
    for (int i = 0; i < b->scene->nshape && !is_moved; i++) {
        const perp__form *form = &b->scene->form[i];
        if (!b->scene->shape[i].body) continue;
        if (b->scene->shape[i].body != body) {
            body = b->scene->shape[i].body;
            pose_after(b, body, b->last, v, h, &from);
            pose_after(b, body, b->q, NULL, 0, &to);
        }
        double size = perp__length3(to.p) + perp__length3(from.p) + form->far + form->extent;
        if (way_between(form, &from, &to) > PERP__LEVER * penetration + ROUNDING * size) return 0;
    }
    return 1;
}

/* Bounds --------------------------------------------------------------------------------------- */

void perp__motions(perp_bodies *b, const double *v, double h)
{
    for (int i = 1; i < b->scene->n; i++) {
        const perp__link *l = &b->link[i], *above = &b->link[l->is.parent];
        const perp__motion *p = &b->motion[l->is.parent];
        perp__motion *m = &b->motion[i];
        double from[3], spin = 0, shift = 0;
        perp__move3(l->p, -1, above->p, from);
        perp__cross3(p->w, from, m->v);
        perp__move3(p->v, 1, m->v, m->v);
        memcpy(m->w, p->w, sizeof m->w);
        for (int k = 0; k < l->nv; k++) {
            double speed = v[l->v + k];
            double *to = l->is_shift[k] ? m->v : m->w;
            perp__move3(to, speed, l->world[k], to);
            *(l->is_shift[k] ? &shift : &spin) += speed * speed;
        }
        spin = sqrt(spin);
        shift = sqrt(shift);
        m->turn = p->turn + p->spin * spin;
        /* Cayley's map turns unevenly */
        if (perp__is_midpoint(b) && l->nv >= 3) m->turn += 0.5 * h * spin * spin * spin;
        m->acc = p->acc + 2 * p->spin * shift;
        if (p->spin > 0)
            m->acc += (p->turn + p->spin * p->spin) * (perp__length3(from) + h * shift);
        m->spin = perp__length3(m->w) + h * m->turn;
    }
}

double perp__travel(const perp_bodies *b, int shape, double h)
{
    const perp__motion *m = &b->motion[b->scene->shape[shape].body];
    const perp__form *form = &b->scene->form[shape];
    if (!b->scene->shape[shape].body) return 0; /* a plane has no end */
    return h * (perp__length3(m->v) + h * m->acc + m->spin * (form->far + form->extent));
}

/* A bound of the second derivative of how far a shape reaches along n, which stands still. */
static double curvature(const perp_bodies *b, int shape, const perp__placed *placed,
                        const double *n, double h)
{
    const perp_shape *s = &b->scene->shape[shape];
    const perp__motion *m = &b->motion[s->body];
    const perp__form *form = &b->scene->form[shape];
    double across[3];
    if (!s->body) return 0;
    perp__cross3(m->w, n, across);
    double bend = m->turn + (perp__length3(across) + h * m->turn) * m->spin;
    if (s->kind == PERP_SHAPE_SPHERE) return m->acc + bend * form->far;
    double own = bend;
    if (s->kind == PERP_SHAPE_CAPSULE || s->kind == PERP_SHAPE_CYLINDER) {
        const double axis[3] = {placed->R[2], placed->R[5], placed->R[8]};
        perp__cross3(m->w, axis, across);
        double tilt = perp__length3(across) + h * m->turn;
        own = fmin(own, m->turn + (m->spin + tilt) * tilt);
    }
    return m->acc + bend * form->far + own * form->extent;
}

/* Sweeps of pairs ------------------------------------------------------------------------------ */

perp__path perp__path_of(perp_bodies *b, const double *q, const double *v, double h)
{
    return (perp__path){q, v, h, ++b->paths};
}

/* A pair on its way. Of a height field `prism` stands for the first. */
typedef struct sweep {
    const perp_bodies *b;
    const perp__path *path;
    int shape[2];
    const perp__placed *prism;
    double least;  /* half length of the smaller shape */
    double tol;    /* the penetration that is let be */
    double speed;  /* a bound of the relative one */
    double finest; /* time; and that of an impact is known to `coarse` */
    double coarse;
    int left;     /* intervals that may still be halved */
    int is_brief; /* when it is not clear does not matter */
    double at;    /* from here on it is not clear */
} sweep;

/* The pair at an instant: how far apart, and along which axis. */
typedef struct instant {
    double t, distance, n[3];
    perp__placed x[2];
} instant;

static void place_after(const perp_bodies *b, const perp__path *path, int shape, double t,
                        perp__placed *placed)
{
    const perp_shape *s = &b->scene->shape[shape];
    pose at;
    pose_after(b, s->body, path->q, path->v, t, &at);
    placed->shape = s;
    perp__multiply3(at.R, b->scene->form[shape].R, placed->R);
    perp__place3(at.R, at.p, s->position, placed->p);
}

/* How far apart along n; of a plane along its normal only. */
static double apart_along(const perp__placed *x, const double *n)
{
    return perp__apart(&x[0], &x[1], n) - perp__shape_round(x[0].shape) -
           perp__shape_round(x[1].shape);
}

/* The poses of a shape where the path begins and ends, found once. */
static const perp__placed *end_of(const perp_bodies *b, const perp__path *path, int shape,
                                  int is_last)
{
    perp__ends *e = &b->ends[shape];
    if (e->path != path->number) {
        place_after(b, path, shape, path->h, &e->at[1]);
        if (path->q == b->here)
            e->at[0] = b->placed[shape];
        else
            place_after(b, path, shape, 0, &e->at[0]);
        e->path = path->number;
    }
    return &e->at[is_last];
}

static void place_at(const sweep *s, double t, instant *out)
{
    out->t = t;
    for (int k = 0; k < 2; k++) {
        if (!k && s->prism)
            out->x[k] = *s->prism;
        else if (t == 0 || t == s->path->h)
            out->x[k] = *end_of(s->b, s->path, s->shape[k], t > 0);
        else
            place_after(s->b, s->path, s->shape[k], t, &out->x[k]);
    }
}

static void measure(instant *at)
{
    if (at->x[0].shape->kind == PERP_SHAPE_PLANE) {
        for (int k = 0; k < 3; k++) at->n[k] = at->x[0].R[3 * k + 2];
    } else {
        perp__separation apart;
        perp__separate(&at->x[0], &at->x[1], &apart);
        memcpy(at->n, apart.n, sizeof at->n);
    }
    at->distance = apart_along(at->x, at->n);
}

static void look_at(const sweep *s, double t, instant *out)
{
    place_at(s, t, out);
    measure(out);
}

/* Does the axis n separate the pair from one instant to the other? */
static int is_apart_along(const sweep *s, const double *n, const instant *from, const instant *to)
{
    double t = to->t - from->t, bend = 0;
    double ends = fmin(apart_along(from->x, n), apart_along(to->x, n));
    if (ends < -s->tol) return 0;
    for (int k = s->prism != NULL; k < 2; k++)
        bend += curvature(s->b, s->shape[k], &from->x[k], n, s->path->h);
    return ends - bend * t * t / 8 >= -s->tol;
}

/* Does the pair stay apart? Its first instant is within tol. */
static int is_clear(sweep *s, const instant *from, const instant *to)
{
    double t = to->t - from->t;
    if (to->distance >= -s->tol) {
        if (0.5 * (from->distance + to->distance - s->speed * t) >= -s->tol) return 1;
        if (is_apart_along(s, from->n, from, to) || is_apart_along(s, to->n, from, to)) return 1;
    }
    if (s->is_brief && to->distance < -s->tol) return 0;
    if (t <= (to->distance < -s->tol ? s->coarse : s->finest) || s->left-- <= 0) {
        s->at = from->t;
        return 0;
    }
    instant middle;
    look_at(s, 0.5 * (from->t + to->t), &middle);
    return is_clear(s, from, &middle) && is_clear(s, &middle, to);
}

/* The time before s->at up to which the two are not in contact, or no deeper than before: the time
 * of impact. */
static double time_of_impact(sweep *s, const instant *first)
{
    enum { MOST = 40 };
    double level = fmin(0, first->distance - 0.25 * s->tol), low = 0, high = s->at;
    instant at;
    look_at(s, high, &at);
    if (at.distance >= level) return high;
    for (int k = 0; k < MOST && high - low > s->coarse; k++) {
        look_at(s, 0.5 * (low + high), &at);
        *(at.distance >= level ? &low : &high) = at.t;
    }
    return low;
}

/* One of convex shapes, or a plane first. */
static int sweep_convex(sweep *s, const double *n, double *at)
{
    enum { MOST = 400, BRIEF = 10 };
    instant first, last;
    const double h = s->path->h, tol = s->tol;
    place_at(s, 0, &first);
    place_at(s, h, &last);
    if (n && is_apart_along(s, n, &first, &last)) return 1;
    measure(&last);
    if (s->is_brief && last.distance < -s->tol && apart_along(first.x, last.n) >= 0) return 0;
    measure(&first);
    s->tol += fmax(0, -first.distance);
    s->finest = fmin(h, fmax(1e-12 * h, 0.25 * s->tol / s->speed));
    s->coarse = fmax(s->finest, 0.25 * s->least * PERP__CROSSED / s->speed);
    s->left = s->is_brief ? BRIEF : MOST;
    int clear = is_clear(s, &first, &last);
    if (!clear && !s->is_brief) *at = time_of_impact(s, &first);
    s->tol = tol;
    return clear;
}

static int sweep_field(sweep *s, double *at)
{
    const perp_bodies *b = s->b;
    int from[2], to[2], clear = 1;
    double lowest;
    perp__placed field, other;
    place_after(b, s->path, s->shape[0], 0, &field);
    place_after(b, s->path, s->shape[1], 0, &other);
    const perp_field *f = field.shape->field;
    if (!perp__field_cells(&field, &other, s->path->h * s->speed, from, to, &lowest)) return 1;
    double depth = 2 * b->scene->form[s->shape[1]].extent + f->cell[0] + f->cell[1];
    for (int j = from[1]; j <= to[1]; j++)
        for (int i = from[0]; i <= to[0]; i++)
            for (int which = 0; which < 2; which++) {
                perp__prism p;
                double n[3], when;
                perp__field_prism(&field, i, j, which, depth, &p);
                if (lowest > fmax(p.top[0][2], fmax(p.top[1][2], p.top[2][2]))) continue;
                perp__rotate3(field.R, p.normal, n);
                s->prism = &p.placed;
                if (sweep_convex(s, n, &when)) continue;
                if (!s->is_brief) *at = clear ? when : fmin(*at, when);
                clear = 0;
            }
    s->prism = NULL;
    return clear;
}

int perp__sweep(const perp_bodies *b, const perp__path *path, int i, int j, double tol,
                const double *n, double *at)
{
    const int swap =
        b->scene->shape[j].kind == PERP_SHAPE_FIELD || b->scene->shape[j].kind == PERP_SHAPE_PLANE;
    const double back[3] = {n ? -n[0] : 0, n ? -n[1] : 0, n ? -n[2] : 0};
    sweep s = {.b = b, .path = path, .tol = tol, .is_brief = at == NULL};
    s.least = fmin(b->scene->form[i].least, b->scene->form[j].least);
    s.shape[0] = swap ? j : i;
    s.shape[1] = swap ? i : j;
    s.speed = (perp__travel(b, i, path->h) + perp__travel(b, j, path->h)) / path->h;
    if (b->scene->shape[s.shape[0]].kind == PERP_SHAPE_FIELD) return sweep_field(&s, at);
    return sweep_convex(&s, n && swap ? back : n, at);
}

double perp__apart_after(const perp_bodies *b, const perp__path *path, int i, int j, double t,
                         const double *n)
{
    perp__placed x[2];
    place_after(b, path, i, t, &x[0]);
    place_after(b, path, j, t, &x[1]);
    return apart_along(x, n);
}

/* Verdict on a step ---------------------------------------------------------------------------- */

/* The nearest touch of the pair in b->touch, from *k on, which advances; NULL: none. Touches come
 * in the order of pairs. */
static const perp_contact *touch_of(const perp_bodies *b, const int *shape, int *k)
{
    const perp_contact *found = NULL;
    for (; *k < b->ntouch; ++*k) {
        const perp_contact *t = &b->touch[*k];
        int is_it = (t->shape[0] == shape[0] && t->shape[1] == shape[1]) ||
                    (t->shape[0] == shape[1] && t->shape[1] == shape[0]);
        if (!is_it) break;
        if (!found || t->gap < found->gap) found = t;
    }
    return found;
}

double perp__room(const perp_bodies *b, const perp__shape_pair *pair)
{
    const int *s = pair->shape;
    return fmax(0, pair->gap) +
           2 * PERP__CROSSED * fmin(b->scene->form[s[0]].least, b->scene->form[s[1]].least);
}

/* A bound of the way of any point, from the velocities alone. */
static double way_of_all(const perp_bodies *b, const double *v, double h)
{
    double shift = 0, spin = 0, size = b->scene->span;
    for (int i = 1; i < b->scene->n; i++) {
        const perp__link *l = &b->link[i];
        if (l->is.joint == PERP_JOINT_SLIDE) size += fabs(b->here[l->q]);
        if (l->is.joint == PERP_JOINT_FREE && l->is.parent) size += perp__length3(b->here + l->q);
        for (int k = 0; k < l->nv; k++) *(l->is_shift[k] ? &shift : &spin) += h * fabs(v[l->v + k]);
    }
    return shift + spin * (size + shift);
}

/* Are all pairs of the broad phase clear along a path? Returns 0: not this one, which is crossed
 * first. */
static int are_clear(perp_bodies *b, const perp__path *path, double *at, int *shape)
{
    int k = 0, clear = 1;
    for (int p = 0; p < b->broad.npair; p++) {
        const perp__shape_pair *pair = &b->broad.pair[p];
        const perp_contact *t = touch_of(b, pair->shape, &k);
        const int i = t ? t->shape[0] : pair->shape[0], j = t ? t->shape[1] : pair->shape[1];
        double way = perp__travel(b, i, path->h) + perp__travel(b, j, path->h), when,
               tol = PERP__CROSSED * fmin(b->scene->form[i].least, b->scene->form[j].least);
        if (way <= perp__room(b, pair)) continue;
        if (!t && (perp__bodies_are_far(b, i, j, way) || !perp__bodies_may_touch(b, i, j)))
            continue;
        if (perp__sweep(b, path, i, j, tol, t ? t->normal : NULL, &when)) continue;
        if (clear || when < *at) {
            *at = when;
            shape[0] = i;
            shape[1] = j;
        }
        clear = 0;
    }
    return clear;
}

int perp__step_is_clear(perp_bodies *b, double *at, int *shape)
{
    const int halfway = perp__is_midpoint(b); /* contacts are not those of the begin */
    const perp__path path = perp__path_of(b, b->q, halfway ? b->mean : b->next, b->h);
    double way = way_of_all(b, path.v, path.h);
    if (halfway) way += way_of_all(b, b->v, b->half);
    if (2 * way <= b->room) return 1;
    if (!(halfway ? perp__bodies_near_pairs(b, path.q, path.v, path.h)
                  : perp__bodies_reach_pairs(b, path.v, path.h)))
        return -1;
    return are_clear(b, &path, at, shape);
}

int perp__way_is_clear(perp_bodies *b, double h, double *at, int *shape)
{
    const perp__path path = perp__path_of(b, b->q, b->v, h);
    if (2 * way_of_all(b, path.v, h) <= b->scene->thin) return 1; /* no shape is so thin */
    b->ntouch = 0;
    return perp__bodies_near_pairs(b, path.q, path.v, h) ? are_clear(b, &path, at, shape) : -1;
}
