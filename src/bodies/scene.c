/* What systems share: sizes, the tree, shapes, costs. It lives as long as one of them. */

#include "base/words.h"
#include "bodies/bodies.h"
#include "bodies/space.h"

#include <stdlib.h>
#include <string.h>

static const perp__word joint_rows[] = {
#define WORD(name, word, nq, nv, text) {word, text},
    PERP_JOINT_LIST(WORD)
#undef WORD
};
static const perp__words joints = PERP_WORDS(joint_rows);
PERP_WORD_FUNCTIONS(perp_joint, perp_joint, joints)
PERP_WORD_SUMMARY(perp_joint, perp_joint_summary, joints)

static const perp__word method_rows[] = {
#define WORD(name, word, text) {word, text},
    PERP_BODIES_METHOD_LIST(WORD)
#undef WORD
};
static const perp__words methods = PERP_WORDS(method_rows);
PERP_WORD_FUNCTIONS(perp_bodies_method, perp_bodies_method, methods)
PERP_WORD_SUMMARY(perp_bodies_method, perp_bodies_method_summary, methods)

#define SIZE(name, word, nq, nv, text) {nq, nv},
static const int sizes[][2] = {PERP_JOINT_LIST(SIZE)};
#undef SIZE

int perp__joint_nq(perp_joint joint)
{
    return sizes[joint][0];
}

int perp__joint_nv(perp_joint joint)
{
    return sizes[joint][1];
}

void perp_bodies_options_fill(perp_bodies_options *options, size_t size)
{
    perp_bodies_options own = {.size = sizeof own,
                               .gravity = {0, 0, -9.81},
                               .step = 0.002,
                               .tol = 1e-8,
                               .restitution_threshold = 0.01,
                               .method = PERP_BODIES_EULER};
    perp__options_give(options, size, &own, sizeof own);
}

/* The tree ------------------------------------------------------------------------------------- */

/* Does a group of three velocities begin here, with the kth of nv below velocity `up`? */
static int begins_group(const perp__scene *s, int k, int nv, int up)
{
    int at = s->nv + k, is_full = at == 0 || s->place[at - 1] % 3 == 2;
    return is_full || (k == 0 && (nv >= 3 || up < 0));
}

/* Velocities of body i, and the next one up from each. */
static void add_velocities(perp__scene *s, const perp_body *body, int i)
{
    int nv = sizes[body[i - 1].joint][1], up = s->tip[body[i - 1].parent];
    for (int k = 0; k < nv; k++) {
        int at = s->nv + k, above = k ? at - 1 : up;
        s->parent_of[at] = above;
        s->body_of[at] = i;
        s->above[at] = above < 0 ? 0 : s->above[above] + 1;
        s->mass_row[at] = s->nmass;
        s->nmass += (size_t)s->above[at] + 1;
        s->place[at] = begins_group(s, k, nv, up) ? 3 * s->ngroup++ : s->place[at - 1] + 1;
    }
    s->tip[i] = nv ? s->nv + nv - 1 : up;
    s->nq += sizes[body[i - 1].joint][0];
    s->nv += nv;
}

/* What the recursions of dynamics.c multiply and add, by bodies, their velocities and those above
 * each. */
static void count_costs(perp__scene *s)
{
    perp__costs *cost = &s->cost;
    int bodies = s->n - 1;
    *cost = (perp__costs){.place = 36 * bodies + 9 * s->nv,
                          .carry = 84 * bodies + 3 * s->nv,
                          .velocities = 24 * bodies + 3 * s->nv,
                          .inverse = 90 * bodies + 6 * s->nv};
    for (int k = 0; k < s->nv; k++) {
        int above = s->above[k];
        cost->mass += 21 + 3 * (above + 1);
        cost->factor += 0.5 * above * (above + 3);
        cost->solve += above;
    }
}

/* Shapes --------------------------------------------------------------------------------------- */

static void add_shape(perp__scene *s, int i, const perp_shape *shape)
{
    perp__form *form = &s->form[i];
    s->shape[i] = *shape;
    perp__rotation_take(shape->rotation, s->shape[i].rotation);
    perp__rotation_of(s->shape[i].rotation, form->R);
    form->far = perp__length3(shape->position);
    form->extent = perp__shape_extent(&s->shape[i]);
    form->least = perp__shape_least(&s->shape[i]);
    s->thin = fmin(i ? s->thin : (double)INFINITY, form->least);
    if (shape->body) s->span = fmax(s->span, form->far + form->extent);
}

/* What decides the steps ----------------------------------------------------------------------- */

void perp__scene_note(perp__scene *s, const double *x, int n, int what)
{
    s->digest = perp__digest(s->digest + (uint64_t)what, x, (size_t)n * sizeof *x);
}

static void note_body(perp__scene *s, const perp_body *is)
{
    const int what[] = {is->parent, (int)is->joint};
    s->digest = perp__digest(s->digest, what, sizeof what);
    perp__scene_note(s, is->position, 3, 0);
    perp__scene_note(s, is->rotation, 4, 0);
    perp__scene_note(s, is->axis, 3, 0);
}

static void note_shape(perp__scene *s, const perp_shape *is)
{
    const int what[] = {is->body, (int)is->kind};
    const double *height;
    s->digest = perp__digest(s->digest, what, sizeof what);
    perp__scene_note(s, is->size, 3, 0);
    perp__scene_note(s, is->position, 3, 0);
    perp__scene_note(s, is->rotation, 4, 0);
    if (is->kind == PERP_SHAPE_MESH) perp__scene_note(s, is->mesh->point, 3 * is->mesh->npoint, 0);
    if (is->kind != PERP_SHAPE_FIELD) return;
    int n = perp_field_heights(is->field, &height, NULL, NULL);
    perp__scene_note(s, height, n, 0);
    perp__scene_note(s, is->field->half, 2, is->field->n[0]);
}

static void note_all(perp__scene *s, const perp_body *body)
{
    const perp_bodies_options *o = &s->o;
    const double number[] = {o->step,    o->tol,       o->restitution_threshold,
                             o->density, o->viscosity, o->wind[0],
                             o->wind[1], o->wind[2],   (double)o->method};
    s->digest = perp__digest(0, PERP_VERSION, strlen(PERP_VERSION));
    perp__scene_note(s, number, (int)(sizeof number / sizeof *number), s->n);
    for (int i = 1; i < s->n; i++) note_body(s, &body[i - 1]);
    for (int i = 0; i < s->nshape; i++) note_shape(s, &s->shape[i]);
}

/* Creation ------------------------------------------------------------------------------------- */

static int allocate(perp__scene *s, const perp_body *body, int nbody, int nshape)
{
    perp__arena *a = &s->arena;
    int nv = 0;
    for (int i = 0; i < nbody; i++) nv += sizes[body[i].joint][1];
    PERP_TAKE(a, s->shape, nshape + 1);
    PERP_TAKE(a, s->form, nshape + 1);
    PERP_TAKE(a, s->parent_of, nv + 1);
    PERP_TAKE(a, s->body_of, nv + 1);
    PERP_TAKE(a, s->above, nv + 1);
    PERP_TAKE(a, s->mass_row, nv + 1);
    PERP_TAKE(a, s->tip, nbody + 1);
    PERP_TAKE(a, s->place, nv + 1);
    return !a->failed;
}

perp__scene *perp__scene_create(const perp_body *body, int nbody, const perp_shape *shape,
                                int nshape, const perp_bodies_options *options)
{
    perp__scene *s = calloc(1, sizeof *s);
    if (!s || !allocate(s, body, nbody, nshape)) {
        if (s) perp__arena_clear(&s->arena);
        free(s);
        return NULL;
    }
    s->users = 1;
    s->o = *options;
    s->n = nbody + 1;
    s->nshape = nshape;
    s->tip[0] = -1;
    for (int i = 1; i < s->n; i++) add_velocities(s, body, i);
    count_costs(s);
    for (int i = 0; i < nshape; i++) add_shape(s, i, &shape[i]);
    for (int i = 0; i < nbody; i++)
        if (body[i].joint != PERP_JOINT_FREE) s->span += perp__length3(body[i].position);
    note_all(s, body);
    return s;
}

/* Users ---------------------------------------------------------------------------------------- */

perp__scene *perp__scene_share(perp__scene *scene)
{
    atomic_fetch_add(&scene->users, 1);
    scene->is_shared = 1;
    return scene;
}

void perp__scene_release(perp__scene *scene)
{
    if (!scene || atomic_fetch_sub(&scene->users, 1) > 1) return;
    perp__arena_clear(&scene->arena);
    free(scene);
}

int perp__scene_grows(const perp__scene *scene, perp_diag *diag)
{
    if (!scene->is_shared) return 1;
    perp__refuse(
        diag, PERP_ERR_ARG, perp__in(NULL),
        "the system was cloned: tendons, actuators and equalities are added before the first "
        "clone\n");
    return 0;
}
