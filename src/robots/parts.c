/* The parts of a robot: lists while it is read, names of columns, a system made of them. */

#include "base/names.h"
#include "robots/robots.h"

#include <stdlib.h>
#include <string.h>

/* Room for one more in a list of `n`; 0 when memory is out. */
#define ROOM(r, list, n)                                                                           \
    (perp__arena_grow(&(r)->to->arena, &(r)->to->list, &(r)->to->c##list, (n) + 1,                 \
                      sizeof *(r)->to->list) ||                                                    \
     perp__robot_no_memory(r))

int perp__add_body(perp__robot_reader *r, const perp_body *body, const char *joint)
{
    int n = r->to->is.nbody;
    if (!ROOM(r, body, n) || !ROOM(r, joint, n) || !ROOM(r, law, n) || !ROOM(r, ref, n)) return -1;
    r->to->body[n] = *body;
    r->to->joint[n] = joint;
    r->to->law[n] = (perp_joint_law){0};
    r->to->ref[n] = 0;
    return r->to->is.nbody++;
}

int perp__add_shape(perp__robot_reader *r, const perp_shape *shape,
                    const perp_contact_material *material, const char *name,
                    const perp__xml_node *node)
{
    int n = r->to->is.nshape;
    if (!ROOM(r, shape, n) || !ROOM(r, material, n) || !ROOM(r, shape_name, n) ||
        !ROOM(r, shape_place, n))
        return -1;
    perp__place place = perp__xml_place(node, NULL);
    place.file = perp__arena_string(&r->to->arena, place.file, strlen(place.file));
    r->to->shape_place[n] = place;
    r->to->shape[n] = *shape;
    r->to->material[n] = *material;
    r->to->shape_name[n] = name;
    return r->to->is.nshape++;
}

int perp__add_actuator(perp__robot_reader *r, const perp_actuator *actuator, const char *name)
{
    int n = r->to->is.nactuator;
    if (!ROOM(r, actuator, n) || !ROOM(r, actuator_name, n)) return -1;
    r->to->actuator[n] = *actuator;
    r->to->actuator_name[n] = name;
    return r->to->is.nactuator++;
}

int perp__add_equality(perp__robot_reader *r, const perp_equality *equality)
{
    int n = r->to->is.nequality;
    if (!ROOM(r, equality, n)) return -1;
    r->to->equality[n] = *equality;
    return r->to->is.nequality++;
}

int perp__add_tendon(perp__robot_reader *r, const perp_tendon *tendon, const char *name)
{
    int n = r->to->is.ntendon;
    if (!ROOM(r, tendon, n) || !ROOM(r, tendon_name, n)) return -1;
    r->to->tendon[n] = *tendon;
    r->to->tendon_name[n] = name;
    return r->to->is.ntendon++;
}

int perp__add_pair(perp__robot_reader *r, int shape0, int shape1, double mu, const double moment[2])
{
    int n = r->to->is.npair;
    if (!ROOM(r, pair, n) || !ROOM(r, pair_mu, n) || !ROOM(r, pair_moment, n)) return -1;
    r->to->pair[n][0] = shape0;
    r->to->pair[n][1] = shape1;
    r->to->pair_mu[n] = mu;
    memcpy(r->to->pair_moment[n], moment, sizeof r->to->pair_moment[n]);
    return r->to->is.npair++;
}

int perp__add_exclude(perp__robot_reader *r, int body0, int body1)
{
    int n = r->to->is.nexclude;
    if (!ROOM(r, exclude, n)) return -1;
    r->to->exclude[n][0] = body0;
    r->to->exclude[n][1] = body1;
    return r->to->is.nexclude++;
}

int perp__add_mesh(perp__robot_reader *r, perp_mesh *mesh)
{
    if (!perp__grow(&r->to->mesh, &r->to->cmesh, r->to->nmesh + 1, sizeof *r->to->mesh)) {
        perp_mesh_destroy(mesh);
        perp__robot_no_memory(r);
        return -1;
    }
    r->to->mesh[r->to->nmesh] = mesh;
    return r->to->nmesh++;
}

int perp__add_field(perp__robot_reader *r, perp_field *field)
{
    if (!perp__grow(&r->to->field, &r->to->cfield, r->to->nfield + 1, sizeof *r->to->field)) {
        perp_field_destroy(field);
        perp__robot_no_memory(r);
        return -1;
    }
    r->to->field[r->to->nfield] = field;
    return r->to->nfield++;
}

/* Names ---------------------------------------------------------------------------------------- */

#define SIZE(name, word, nq, nv, text) {nq, nv},
static const int sizes[][2] = {PERP_JOINT_LIST(SIZE)};
#undef SIZE

static const char *const free_q[] = {".x", ".y", ".z", ".qw", ".qx", ".qy", ".qz"},
                         *const free_v[] = {".vx", ".vy", ".vz", ".wx", ".wy", ".wz"};

/* Of the kth entry of q or v of a joint. */
static const char *ending(perp_joint joint, int is_v, int k)
{
    if (joint == PERP_JOINT_FREE) return is_v ? free_v[k] : free_q[k];
    if (joint == PERP_JOINT_BALL) return is_v ? free_v[3 + k] : free_q[3 + k];
    return is_v ? ".v" : "";
}

/* A name that none before has, known from now on. NULL: no memory. */
static const char *name_of(perp_robot *to, int body, const char *end, perp__names *names)
{
    const char *stem = to->joint[body] ? to->joint[body] : to->body[body].name;
    size_t size = (stem ? strlen(stem) : 0) + strlen(end) + 40;
    char *text;
    PERP_TAKE(&to->arena, text, size);
    for (int k = 0; text; k++) {
        if (stem && !k)
            snprintf(text, size, "%s%s", stem, end);
        else if (stem)
            snprintf(text, size, "%s_%d%s", stem, k + 1, end);
        else
            snprintf(text, size, "body%d%s", body + 1 + k, end);
        if (perp__names_find(names, text) < 0) break;
    }
    return text && perp__names_add(names, text, names->count) ? text : NULL;
}

static int name_all(perp_robot *to, int is_v, const char **name)
{
    perp__names names = {0};
    int ok = 1;
    for (int i = 0, at = 0; ok && i < to->is.nbody; i++) {
        perp_joint joint = to->body[i].joint;
        for (int k = 0; ok && k < sizes[joint][is_v]; k++, at++)
            ok = (name[at] = name_of(to, i, ending(joint, is_v, k), &names)) != NULL;
    }
    perp__names_clear(&names);
    return ok;
}

int perp__finish_robot(perp__robot_reader *r)
{
    perp_robot *to = r->to;
    for (int i = 0; i < to->is.nbody; i++) {
        to->nq += sizes[to->body[i].joint][0];
        to->nv += sizes[to->body[i].joint][1];
    }
    PERP_TAKE(&to->arena, to->q_name, to->nq + 1);
    PERP_TAKE(&to->arena, to->v_name, to->nv + 1);
    return to->q_name && to->v_name && name_all(to, 0, to->q_name) && name_all(to, 1, to->v_name);
}

const char *perp_robot_q_name(const perp_robot *robot, int k)
{
    return k >= 0 && k < robot->nq ? robot->q_name[k] : NULL;
}

const char *perp_robot_v_name(const perp_robot *robot, int k)
{
    return k >= 0 && k < robot->nv ? robot->v_name[k] : NULL;
}

/* What is asked -------------------------------------------------------------------------------- */

void perp__robot_put_parts(perp_robot *robot)
{
    perp_robot_parts *parts = &robot->is;
    parts->size = sizeof *parts;
    parts->body = robot->body;
    parts->joint = robot->joint;
    parts->law = robot->law;
    parts->ref = robot->ref;
    parts->shape = robot->shape;
    parts->material = robot->material;
    parts->shape_name = robot->shape_name;
    parts->actuator = robot->actuator;
    parts->actuator_name = robot->actuator_name;
    parts->equality = robot->equality;
    parts->pair = (const int(*)[2])robot->pair;
    parts->pair_mu = robot->pair_mu;
    parts->pair_moment = (const double(*)[2])robot->pair_moment;
    parts->exclude = (const int(*)[2])robot->exclude;
    parts->tendon = robot->tendon;
}

const perp_robot_parts *perp_robot_get_parts(const perp_robot *robot)
{
    return &robot->is;
}

int perp_robot_note(const perp_robot *robot, int k, perp_robot_ignored *ignored)
{
    if (k < 0 || k >= robot->nnote) return 0;
    *ignored = robot->note[k];
    return 1;
}

int perp_robot_keys(const perp_robot *robot)
{
    return robot->nkey;
}

const char *perp_robot_key(const perp_robot *robot, int key)
{
    return key >= 0 && key < robot->nkey ? robot->key[key].name : NULL;
}

const double *perp_robot_key_control(const perp_robot *robot, int key)
{
    return key >= 0 && key < robot->nkey ? robot->key[key].u : NULL;
}

/* Everything but contacts. */
static perp_status add_laws(const perp_robot *robot, perp_bodies *b, perp_diag *diag)
{
    perp_status status = PERP_OK;
    static const perp_joint_law none;
    for (int i = 0; i < robot->is.nbody && status == PERP_OK; i++)
        if (memcmp(&robot->law[i], &none, sizeof none) != 0)
            status = perp_bodies_set_joint(b, i + 1, &robot->law[i], diag);
    for (int i = 0; i < robot->is.ntendon && status == PERP_OK; i++)
        status = perp_bodies_add_tendon(b, &robot->tendon[i], diag);
    for (int i = 0; i < robot->is.nactuator && status == PERP_OK; i++)
        status = perp_bodies_add_actuator(b, &robot->actuator[i], diag);
    for (int i = 0; i < robot->is.nequality && status == PERP_OK; i++)
        status = perp_bodies_add_equality(b, &robot->equality[i], diag);
    return status;
}

static perp_status add_filters(const perp_robot *robot, perp_bodies *b)
{
    perp_status status = PERP_OK;
    for (int i = 0; i < robot->is.nshape && status == PERP_OK; i++)
        status = perp_bodies_set_contact_material(b, i, &robot->material[i]);
    for (int i = 0; i < robot->is.npair && status == PERP_OK; i++) {
        const int *pair = robot->pair[i];
        const double *moment = robot->pair_moment[i];
        status = perp_bodies_add_pair(b, pair[0], pair[1], robot->pair_mu[i]);
        if (status == PERP_OK)
            status = perp_bodies_set_pair_friction(b, pair[0], pair[1], moment[0], moment[1]);
    }
    for (int i = 0; i < robot->is.nexclude && status == PERP_OK; i++)
        status = perp_bodies_exclude_contacts(b, robot->exclude[i][0], robot->exclude[i][1]);
    return status;
}

/* q is not 0 where the file begins with another `ref`. */
static perp_status begin(const perp_robot *robot, perp_bodies *b)
{
    double *q = malloc((size_t)(robot->nq + 1) * sizeof *q);
    if (!q) return PERP_ERR_MEMORY;
    memcpy(q, perp_bodies_q(b), (size_t)robot->nq * sizeof *q);
    for (int i = 0; i < robot->is.nbody; i++)
        if (robot->ref[i] != 0) q[perp_bodies_q_of(b, i + 1)] = robot->ref[i];
    perp_status status = perp_bodies_set(b, q, NULL);
    free(q);
    return status == PERP_OK ? perp_bodies_set_start(b) : status;
}

perp_status perp_robot_create_bodies(const perp_robot *robot, const perp_bodies_options *options,
                                     perp_bodies **bodies, perp_diag *diag)
{
    if (!bodies) return PERP_ERR_ARG;
    *bodies = NULL;
    if (!robot) return PERP_ERR_ARG;
    perp_bodies *b;
    perp_status status =
        perp_bodies_create(robot->body, robot->is.nbody, robot->shape, robot->is.nshape,
                           options ? options : &robot->is.options, &b, diag);
    if (status != PERP_OK) return status;
    status = add_laws(robot, b, diag);
    if (status == PERP_OK) status = add_filters(robot, b);
    if (status == PERP_OK) status = begin(robot, b);
    if (status == PERP_ERR_MEMORY) perp__out_of_memory(diag, "robot");
    if (status == PERP_OK)
        *bodies = b;
    else
        perp_bodies_destroy(b);
    return status;
}

perp_status perp_robot_set_key(const perp_robot *robot, int key, perp_bodies *bodies)
{
    if (!robot || !bodies || key < 0 || key >= robot->nkey || perp_bodies_nq(bodies) != robot->nq ||
        perp_bodies_nv(bodies) != robot->nv || perp_bodies_nu(bodies) != robot->is.nactuator)
        return PERP_ERR_ARG;
    const perp__key *k = &robot->key[key];
    perp_status status = perp_bodies_set(bodies, k->q, k->v);
    if (status == PERP_OK) status = perp_bodies_set_control(bodies, k->u);
    return status == PERP_OK ? perp_bodies_set_activation(bodies, k->act) : status;
}

void perp_robot_destroy(perp_robot *robot)
{
    if (!robot) return;
    for (int i = 0; i < robot->nmesh; i++) perp_mesh_destroy(robot->mesh[i]);
    for (int i = 0; i < robot->nfield; i++) perp_field_destroy(robot->field[i]);
    free(robot->mesh);
    free(robot->field);
    perp__arena_clear(&robot->arena);
    free(robot);
}
