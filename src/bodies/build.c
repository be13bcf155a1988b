/* A system from its description, and what can be asked of it. */

#include "bodies/bodies.h"
#include "bodies/space.h"

#include <stdlib.h>
#include <string.h>

/* What is wrong -------------------------------------------------------------------------------- */

static int are_finite(const double *x, int n)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) return 0;
    return 1;
}

/* Is it the inertia of masses: no eigenvalue of (trace/2) 1 - I, the second moments, is negative
 * (by its principal minors)? */
static int is_inertia(const double *I)
{
    const double ROOM = 1e-9; /* rounding of figures in a file */
    double half = 0.5 * (I[0] + I[1] + I[2]), a = half - I[0], b = half - I[1], c = half - I[2],
           d = -I[3], e = -I[4], f = -I[5], s = ROOM * half;
    return half >= 0 && a >= -s && b >= -s && c >= -s && a * b - d * d >= -s * half &&
           a * c - e * e >= -s * half && b * c - f * f >= -s * half &&
           a * (b * c - f * f) - d * (d * c - f * e) + e * (d * f - b * e) >= -s * half * half;
}

static const char *body_fault(const perp_body *is, int i)
{
    double q[4];
    int is_one = is->joint == PERP_JOINT_HINGE || is->joint == PERP_JOINT_SLIDE;
    if (is->parent < 0 || is->parent > i) return "its parent must come before it";
    if (is->joint < 0 || is->joint >= PERP_JOINT_COUNT) return "its joint is none";
    if (!are_finite(is->position, 3) || !are_finite(is->center, 3))
        return "a position is not finite";
    if (!perp__rotation_take(is->rotation, q)) return "its rotation is no quaternion";
    if (is_one && (!are_finite(is->axis, 3) || !(perp__length3(is->axis) > 0)))
        return "its axis has no direction";
    if (!(is->mass >= 0) || !isfinite(is->mass)) return "its mass is negative or not finite";
    if (!are_finite(is->inertia, 6) || !is_inertia(is->inertia))
        return "its inertia is that of no masses: xx <= yy + zz and so on about the centre";
    if (!(is->damping >= 0) || !(is->armature >= 0) || !isfinite(is->damping + is->armature))
        return "damping and armature are >= 0";
    if (!isfinite(is->gravity_compensation)) return "its lift is not finite";
    return NULL;
}

static const char *shape_fault(const perp_shape *is, int nbody)
{
    const char *fault = perp__shape_fault(is);
    if (fault) return fault;
    if (is->body < 0 || is->body > nbody) return "there is no such body";
    if (is->kind == PERP_SHAPE_PLANE && is->body) return "a plane is of the world (body 0)";
    if (is->kind == PERP_SHAPE_FIELD && is->body) return "a height field is of the world (body 0)";
    if (!(is->mu >= 0) || !isfinite(is->mu)) return "its friction is >= 0";
    if (!(is->torsional_friction >= 0) || !(is->rolling_friction >= 0) ||
        !isfinite(is->torsional_friction + is->rolling_friction))
        return "its torsional and rolling friction are >= 0";
    if (!(is->restitution >= 0 && is->restitution <= 1)) return "its restitution is from 0 to 1";
    return NULL;
}

static perp_status check(const perp_body *body, int nbody, const perp_shape *shape, int nshape,
                         perp_diag *diag)
{
    for (int i = 0; i < nbody; i++) {
        const char *fault = body_fault(&body[i], i);
        if (fault)
            return perp__refuse(diag, PERP_ERR_MODEL, perp__in(NULL), "body %d%s%s: %s\n", i + 1,
                                body[i].name ? " " : "", body[i].name ? body[i].name : "", fault);
    }
    for (int i = 0; i < nshape; i++) {
        const char *fault = shape_fault(&shape[i], nbody);
        if (fault)
            return perp__refuse(diag, PERP_ERR_MODEL, perp__in(NULL),
                                "shape %d, a %s of body %d: %s\n", i,
                                perp_shape_name(shape[i].kind), shape[i].body, fault);
    }
    return PERP_OK;
}

/* Building ------------------------------------------------------------------------------------- */

/* Inertia about the origin. */
static perp__inertia about_origin(const perp_body *is)
{
    const double *c = is->center, cc = perp__dot3(c, c), m = is->mass;
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    perp__inertia in = {.m = m};
    for (int k = 0; k < 6; k++)
        in.I[k] = is->inertia[k] + m * ((k < 3 ? cc : 0) - c[row[k]] * c[col[k]]);
    for (int k = 0; k < 3; k++) in.h[k] = m * c[k];
    return in;
}

static void set_motions(perp__link *l)
{
    const int is_free = l->is.joint == PERP_JOINT_FREE;
    for (int k = 0; k < l->nv; k++) {
        l->is_shift[k] = l->is.joint == PERP_JOINT_SLIDE || (is_free && k < 3);
        if (perp__is_single(l)) memcpy(l->unit[k], l->is.axis, sizeof l->is.axis);
        if (l->is.joint == PERP_JOINT_BALL) l->unit[k][k] = 1;
        if (is_free && k >= 3) l->unit[k][k - 3] = 1;
    }
}

void perp__link_weigh(perp__link *l)
{
    l->own = about_origin(&l->is);
    l->lever = perp__length3(l->own.h);
}

static void add_body(perp_bodies *b, int i, const perp_body *is)
{
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double quaternion[4], *q = b->q;
    perp__link *l = &b->link[i], *last = l - 1;
    l->is = *is;
    l->q = last->q + perp__joint_nq(last->is.joint);
    l->v = last->v + last->nv;
    l->nv = perp__joint_nv(is->joint);
    perp__rotation_take(is->rotation, quaternion);
    perp__rotation_of(quaternion, l->offset);
    double length = perp__length3(is->axis);
    for (int k = 0; k < 3 && length > 0; k++) l->is.axis[k] /= length;
    perp__link_weigh(l);
    memcpy(l->R, one, sizeof one);
    set_motions(l);
    l->tip = b->scene->tip[i];
    l->root = is->parent ? b->link[is->parent].root : i;
    q += l->q;
    if (is->joint == PERP_JOINT_FREE) {
        memcpy(q, is->position, sizeof is->position);
        memcpy(q + 3, quaternion, sizeof quaternion);
    }
    if (is->joint == PERP_JOINT_BALL) q[0] = 1;
}

static void take_state(perp_bodies *b, perp__arena *a)
{
    int nq = b->scene->nq, nv = b->scene->nv, is_midpoint = perp__is_midpoint(b);
    PERP_TAKE(a, b->q, 3 * nq + 1); /* and the next, and those of the midpoint rule */
    PERP_TAKE(a, b->v, 2 * nv + 1); /* and those */
    PERP_TAKE(a, b->last, nq + nv + 1);
    PERP_TAKE(a, b->start, nq + nv + 1);
    PERP_TAKE(a, b->acc, nv + 1);
    PERP_TAKE(a, b->tau, nv + 1);
    PERP_TAKE(a, b->surface, b->scene->nshape + 1);
    PERP_TAKE(a, b->rest, 1);
    PERP_TAKE(a, b->filter, 1);
    if (a->failed) return;
    b->here = is_midpoint ? b->q + 2 * nq : b->q;
    b->mean = is_midpoint ? b->v + nv : b->v;
}

static void take_cache(perp_bodies *b, perp__arena *a)
{
    int n = b->scene->n, nshape = b->scene->nshape;
    PERP_TAKE(a, b->link, n);
    PERP_TAKE(a, b->motion, n);
    PERP_TAKE(a, b->placed, nshape + 1);
    PERP_TAKE(a, b->travel, nshape + 1);
    PERP_TAKE(a, b->ends, nshape + 1);
    PERP_TAKE(a, b->broad.box, nshape + 1);
}

/* Of the step in hand. */
static void take_work(perp_bodies *b, perp__arena *a)
{
    int n = b->scene->n, nq = b->scene->nq, nv = b->scene->nv;
    PERP_TAKE(a, b->up, nv + 1);
    PERP_TAKE(a, b->begun, nq + nv + 1);
    PERP_TAKE(a, b->drift, nv + 1);
    PERP_TAKE(a, b->next, nv + 1);
    PERP_TAKE(a, b->bias, nv + 1);
    PERP_TAKE(a, b->row, nv + 1);
    PERP_TAKE(a, b->scale, nv + 1);
    PERP_TAKE(a, b->size, n);
    PERP_TAKE(a, b->sum, n);
    PERP_TAKE(a, b->lengths, n);
    PERP_TAKE(a, b->rounding, nv + 1);
    PERP_TAKE(a, b->load, 6 * n);
    PERP_TAKE(a, b->M, b->scene->nmass + 1);
    PERP_TAKE(a, b->again, b->scene->nmass + 1);
    PERP_TAKE(a, b->D, nv + 1);
    PERP_TAKE(a, b->over, nv + 1);
    PERP_TAKE(a, b->equal, 1);
    PERP_TAKE(a, b->c, 1);
}

perp_bodies *perp__bodies_of(perp__scene *scene)
{
    perp_bodies *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->scene = scene;
    b->h = scene->o.step;
    memcpy(b->gravity, scene->o.gravity, sizeof b->gravity);
    perp__body_impacts_create(b);
    take_state(b, &b->arena);
    take_cache(b, &b->arena);
    take_work(b, &b->arena);
    if (b->arena.failed || !perp__joints_create(b)) {
        b->scene = NULL; /* the caller's */
        perp_bodies_destroy(b);
        return NULL;
    }
    memcpy(b->up, scene->parent_of, (size_t)scene->nv * sizeof *b->up);
    return b;
}

static perp_status build(perp_bodies *b, const perp_body *body, perp_diag *diag)
{
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    memcpy(b->link[0].R, one, sizeof one);
    b->link[0].tip = -1;
    for (int i = 1; i < b->scene->n; i++) add_body(b, i, &body[i - 1]);
    for (int i = 0; i < b->scene->nshape; i++) {
        const perp_shape *s = &b->scene->shape[i];
        b->surface[i] = (perp__coefficients){{s->mu, s->torsional_friction, s->rolling_friction},
                                             s->restitution};
    }
    memcpy(b->start, b->q, (size_t)b->scene->nq * sizeof *b->q);
    if (!perp__pushes_create(b)) return PERP_ERR_MEMORY;
    perp__bodies_place(b, b->q);
    perp__bodies_mass(b, b->M);
    if (perp__bodies_factor(b, b->M, b->D)) return PERP_OK;
    int k = b->scene->nv - 1, i = b->scene->n - 1;
    while (k > 0 && b->D[k] > 0) k--;
    while (i > 1 && b->link[i].v > k) i--;
    return perp__refuse(diag, PERP_ERR_MODEL, perp__in(NULL),
                        "body %d%s%s: its joint moves no mass; give it an inertia or an armature\n",
                        i, b->link[i].is.name ? " " : "",
                        b->link[i].is.name ? b->link[i].is.name : "");
}

perp_status perp_bodies_create(const perp_body *body, int nbody, const perp_shape *shape,
                               int nshape, const perp_bodies_options *options, perp_bodies **bodies,
                               perp_diag *diag)
{
    perp_bodies_options o = perp_bodies_options_default();
    if (!bodies) return PERP_ERR_ARG;
    *bodies = NULL;
    if (!body || nbody < 1 || nshape < 0 || (nshape && !shape) ||
        !perp__options_take(&o, sizeof o, options))
        return PERP_ERR_ARG;
    if (!(o.step > 0) || !isfinite(o.step) || !(o.tol > 0 && o.tol <= 1e-2) ||
        !(o.restitution_threshold >= 0) || !are_finite(o.gravity, 3) || !are_finite(o.wind, 3) ||
        !(o.density >= 0) || !(o.viscosity >= 0) || !isfinite(o.density + o.viscosity))
        return perp__refuse(diag, PERP_ERR_ARG, perp__in(NULL),
                            "step > 0, 0 < tol <= 1e-2, rebound, density, viscosity >= 0 and a "
                            "finite gravity and wind "
                            "are expected\n");
    if (o.method < 0 || o.method >= PERP_BODIES_METHOD_COUNT)
        return perp__refuse(diag, PERP_ERR_ARG, perp__in(NULL),
                            "a method of perp_bodies_method is expected\n");
    perp_status status = check(body, nbody, shape, nshape, diag);
    if (status != PERP_OK) return status;
    perp__scene *scene = perp__scene_create(body, nbody, shape, nshape, &o);
    perp_bodies *b = scene ? perp__bodies_of(scene) : NULL;
    if (!b) perp__scene_release(scene);
    if (!b) return perp__out_of_memory(diag, "bodies");
    status = build(b, body, diag);
    if (status == PERP_ERR_MEMORY) perp__out_of_memory(diag, "bodies");
    if (status != PERP_OK) {
        perp_bodies_destroy(b);
        return status;
    }
    *bodies = b;
    return PERP_OK;
}

/* What is asked -------------------------------------------------------------------------------- */

int perp_bodies_nq(const perp_bodies *b)
{
    return b->scene->nq;
}

int perp_bodies_nv(const perp_bodies *b)
{
    return b->scene->nv;
}

int perp_bodies_q_of(const perp_bodies *b, int body)
{
    return body > 0 && body < b->scene->n && b->link[body].nv ? b->link[body].q : -1;
}

int perp_bodies_v_of(const perp_bodies *b, int body)
{
    return body > 0 && body < b->scene->n && b->link[body].nv ? b->link[body].v : -1;
}

const double *perp_bodies_q(const perp_bodies *b)
{
    return b->q;
}

const double *perp_bodies_v(const perp_bodies *b)
{
    return b->v;
}

double perp_bodies_time(const perp_bodies *b)
{
    return b->time;
}

void perp__bodies_forget(perp_bodies *b)
{
    b->ntouch = b->nbefore = b->is_ahead = b->is_stepped = 0;
    b->joints->nrow = b->rest->n = b->rest->wait = b->rest->given = 0;
    memset(b->joints->kept, 0, (size_t)perp__joints_kept(b) * sizeof *b->joints->kept);
    perp__joints_forget(b);
    perp__body_impacts_forget(b);
}

perp_status perp_bodies_set(perp_bodies *b, const double *q, const double *v)
{
    if (!b || (q && !are_finite(q, b->scene->nq)) || (v && !are_finite(v, b->scene->nv)))
        return PERP_ERR_ARG;
    double *next = b->q + b->scene->nq;
    if (q) memcpy(next, q, (size_t)b->scene->nq * sizeof *q);
    for (int i = 1; i < b->scene->n && q; i++) {
        const perp__link *l = &b->link[i];
        if (l->nv >= 3 && !perp__quaternion_normalise(next + l->q + (l->nv == 6 ? 3 : 0)))
            return PERP_ERR_ARG;
    }
    if (q) memcpy(b->q, next, (size_t)b->scene->nq * sizeof *q);
    if (v) memcpy(b->v, v, (size_t)b->scene->nv * sizeof *v);
    perp__bodies_forget(b);
    return PERP_OK;
}

perp_status perp_bodies_set_force(perp_bodies *b, const double *tau)
{
    if (!b || (tau && !are_finite(tau, b->scene->nv))) return PERP_ERR_ARG;
    if (tau)
        memcpy(b->tau, tau, (size_t)b->scene->nv * sizeof *tau);
    else
        memset(b->tau, 0, (size_t)b->scene->nv * sizeof *b->tau);
    return PERP_OK;
}

perp_status perp_bodies_set_gravity(perp_bodies *b, const double gravity[3])
{
    if (!b || !gravity || !are_finite(gravity, 3)) return PERP_ERR_ARG;
    perp__bodies_look_again(b); /* how far bodies come within a step goes by it */
    memcpy(b->gravity, gravity, sizeof b->gravity);
    return PERP_OK;
}

perp_status perp_bodies_pose(perp_bodies *b, int body, double position[3], double rotation[9])
{
    if (!b || body < 0 || body >= b->scene->n) return PERP_ERR_ARG;
    perp__bodies_place(b, b->q);
    if (position) memcpy(position, b->link[body].p, sizeof b->link[body].p);
    if (rotation) memcpy(rotation, b->link[body].R, sizeof b->link[body].R);
    return PERP_OK;
}

perp_status perp_bodies_dynamics(perp_bodies *b, double *M, double *c)
{
    if (!b) return PERP_ERR_ARG;
    perp__bodies_place(b, b->q);
    if (M) perp__bodies_full_mass(b, M);
    if (!c) return PERP_OK;
    perp__bodies_carry(b, b->v);
    perp__bodies_inverse(b, NULL, NULL, c);
    return PERP_OK;
}

perp_status perp_bodies_inverse(perp_bodies *b, const double *a, double *tau)
{
    if (!b || !a || !tau) return PERP_ERR_ARG;
    perp__bodies_place(b, b->q);
    perp__bodies_carry(b, b->v);
    perp__bodies_inverse(b, a, NULL, tau);
    return PERP_OK;
}

perp_status perp_bodies_jacobian(perp_bodies *b, int body, const double point[3], double *J)
{
    if (!b || body < 0 || body >= b->scene->n || !point || !J) return PERP_ERR_ARG;
    memset(J, 0, 3 * (size_t)b->scene->nv * sizeof *J);
    perp__bodies_place(b, b->q);
    for (int i = body; i; i = b->link[i].is.parent)
        for (int k = 0; k < b->link[i].nv; k++)
            perp__point_motion(&b->link[i], k, point, J + 3 * (b->link[i].v + k));
    return PERP_OK;
}

void perp_bodies_energy(perp_bodies *b, double *kinetic, double *potential)
{
    double sum = 0, height = 0;
    perp__bodies_place(b, b->q);
    perp__bodies_velocities(b, b->v);
    for (int i = 1; i < b->scene->n; i++) {
        const perp__link *l = &b->link[i];
        const double *w = l->end, *u = l->end + 3, *I = l->own.I;
        double wh[3], c[3];
        perp__cross3(w, l->own.h, wh);
        sum += 0.5 * l->own.m * perp__dot3(u, u) + perp__dot3(u, wh) +
               0.5 * (I[0] * w[0] * w[0] + I[1] * w[1] * w[1] + I[2] * w[2] * w[2]) +
               I[3] * w[0] * w[1] + I[4] * w[0] * w[2] + I[5] * w[1] * w[2];
        for (int k = 0; k < l->nv; k++)
            sum += 0.5 * l->is.armature * b->v[l->v + k] * b->v[l->v + k];
        perp__rotate3(l->R, l->own.h, c);
        perp__move3(c, l->own.m, l->p, c);
        height -= (1 - l->is.gravity_compensation) * perp__dot3(b->gravity, c);
    }
    if (kinetic) *kinetic = sum;
    if (potential) *potential = height;
}

int perp_bodies_contacts(const perp_bodies *b, const perp_contact **touch)
{
    if (touch) *touch = b->is_ahead ? b->before : b->touch;
    return b->is_ahead ? b->nbefore : b->ntouch;
}

static void destroy_problem(perp__contact_problem *c)
{
    free(c->rows);
    free(c->moment);
    free(c->entry);
    free(c->value);
    free(c->block);
    perp__contact_factors_clear(&c->factors);
    free(c->row);
    free(c->column);
}

void perp_bodies_destroy(perp_bodies *b)
{
    if (!b) return;
    if (b->joints) perp__joints_destroy(b);
    if (b->equal) perp__equality_destroy(b);
    if (b->rest) perp__rest_clear(b);
    if (b->c) destroy_problem(b->c);
    if (b->filter) perp__filter_destroy(b);
    perp__body_impacts_clear(b);
    free(b->touch);
    free(b->before);
    free(b->broad.pair);
    perp_fc_solver_destroy(b->solver);
    perp__scene_release(b->scene);
    perp__arena_clear(&b->arena);
    free(b);
}
