/* Geoms and meshes of MJCF: shapes of those that collide, masses of those that have mass. */

#include "bodies/geometry.h"
#include "bodies/space.h"
#include "robots/mjcf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Meshes --------------------------------------------------------------------------------------- */

enum { CONVEX, EXACT, LEGACY, SHELL };

const char *mjcf_name_in_path(mjcf *m, const char *file)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file,
               *dot = strrchr(name, '.');
    return perp__arena_string(&m->r->to->arena, name, dot ? (size_t)(dot - name) : strlen(name));
}

static void apply_mesh(mjcf *m, const perp__xml_node *node, void *to)
{
    mjcf_mesh *mesh = to;
    perp__read_numbers(m->r, node, "scale", 3, 3, mesh->scale);
    perp__read_numbers(m->r, node, "refpos", 3, 3, mesh->refpos);
    perp__read_numbers(m->r, node, "refquat", 4, 4, mesh->refquat);
    int word = perp__read_word(m->r, node, "inertia", "convex exact legacy shell");
    if (word >= 0) mesh->inertia = word;
    if (perp__xml_get(node, "file")) mesh->file = perp__xml_get(node, "file");
    if (perp__xml_get(node, "vertex")) mesh->vertex_of = "vertex";
    if (perp__xml_get(node, "face")) mesh->faces = perp__xml_get(node, "face");
}

void mjcf_read_mesh(mjcf *m, const perp__xml_node *node)
{
    mjcf_mesh *mesh = MJCF_ADD(m, mesh);
    if (!mesh) return;
    *mesh = (mjcf_mesh){
        .name = perp__xml_get(node, "name"), .node = node, .scale = {1, 1, 1}, .refquat = {1}};
    mesh->inertia = LEGACY;
    mjcf_resolve(m, node, 0, apply_mesh, mesh);
    if (!mesh->name && mesh->file) mesh->name = mjcf_name_in_path(m, mesh->file);
    if (perp__xml_get(node, "maxhullvert"))
        perp__robot_ignore(m->r, node, "maxhullvert",
                           "maxhullvert of mesh: the whole hull is taken");
}

/* Points where the file has them: less refpos, turned back by refquat, times scale. */
static int place_points(mjcf *m, const mjcf_mesh *mesh, double *x, int n)
{
    double q[4], R[9];
    memcpy(q, mesh->refquat, sizeof q);
    if (!perp__quaternion_normalise(q))
        return perp__robot_refuse(m->r, mesh->node, "refquat", "refquat: it has no direction");
    perp__rotation_of(q, R);
    for (int i = 0; i < n; i++) {
        double moved[3];
        perp__move3(x + 3 * i, -1, mesh->refpos, moved);
        perp__rotate_back3(R, moved, x + 3 * i);
        for (int k = 0; k < 3; k++) x[3 * i + k] *= mesh->scale[k];
    }
    return 1;
}

static int count_numbers(const char *text)
{
    int n = 0;
    for (const char *at = text; *at; at++)
        n += !strchr(" \t\r\n", *at) && (at == text || strchr(" \t\r\n", at[-1]));
    return n;
}

/* The numbers of an attribute, at least the given count; NULL: they are missing, which was
 * reported. */
static double *numbers_of(mjcf *m, const perp__xml_node *node, const char *attribute, int least,
                          int *n)
{
    double *x;
    *n = count_numbers(perp__xml_get(node, attribute));
    PERP_TAKE(&m->r->to->arena, x, *n + 1);
    if (!x) perp__robot_no_memory(m->r);
    return x && perp__read_numbers(m->r, node, attribute, least, *n, x) ? x : NULL;
}

/* Points and triangles of a mesh's text; without any, the hull's are taken. */
static int read_inline(mjcf *m, const mjcf_mesh *mesh, perp__surface *s)
{
    int n, ncorner = 0;
    double *x = numbers_of(m, mesh->node, "vertex", 12, &n), *corner = NULL;
    if (x && mesh->faces) corner = numbers_of(m, mesh->node, "face", 3, &ncorner);
    if (!x || (mesh->faces && !corner)) return 0;
    if (n % 3 || ncorner % 3)
        return perp__robot_refuse(m->r, mesh->node, n % 3 ? "vertex" : "face",
                                  "%s: three numbers each are expected, not %d in all",
                                  n % 3 ? "vertex" : "face", n % 3 ? n : ncorner);
    s->point = malloc((size_t)n * sizeof *s->point);
    s->corner = malloc((size_t)(ncorner + 1) * sizeof *s->corner);
    if (!s->point || !s->corner) return perp__robot_no_memory(m->r);
    memcpy(s->point, x, (size_t)n * sizeof *x);
    s->npoint = n / 3;
    s->ntriangle = ncorner / 3;
    for (int i = 0; i < ncorner; i++) {
        if (!(corner[i] >= 0 && corner[i] < s->npoint && corner[i] == floor(corner[i])))
            return perp__robot_refuse(m->r, mesh->node, "face",
                                      "face: a corner is one of the %d points, from 0", s->npoint);
        s->corner[i] = (int)corner[i];
    }
    return 1;
}

const char *mjcf_asset_path(mjcf *m, const char *file)
{
    const char *slash = strrchr(file, '/');
    return perp__robot_path(m->r, m->root->file->name, m->meshdir ? m->meshdir : m->assetdir,
                            m->strippath && slash ? slash + 1 : file);
}

static int read_surface(mjcf *m, const mjcf_mesh *mesh, perp__surface *s)
{
    if (mesh->vertex_of) return read_inline(m, mesh, s);
    const char *path = mjcf_asset_path(m, mesh->file);
    perp_diag diag = {0};
    if (!path) return 0;
    perp_status status = perp__surface_read(path, s, &diag);
    if (status == PERP_ERR_MEMORY) perp__robot_no_memory(m->r);
    if (status != PERP_OK && status != PERP_ERR_MEMORY)
        perp__robot_refuse(m->r, mesh->node, "file", "%.*s",
                           (int)strcspn(perp_diag_text(&diag), "\n"), perp_diag_text(&diag));
    perp_diag_clear(&diag);
    return status == PERP_OK;
}

static void take_mass(mjcf_mesh *mesh, const perp__surface *s)
{
    static const perp__surface_rule rules[] = {[EXACT] = PERP__SURFACE_EXACT,
                                               [LEGACY] = PERP__SURFACE_UNSIGNED,
                                               [SHELL] = PERP__SURFACE_SHELL};
    if (mesh->inertia != CONVEX && s->ntriangle) {
        perp__surface_mass(s, rules[mesh->inertia], &mesh->weight, mesh->center, mesh->moments);
        double mirrored = mesh->scale[0] * mesh->scale[1] * mesh->scale[2];
        if (mesh->inertia != EXACT || mirrored > 0) return;
        mesh->weight = -mesh->weight;
        for (int k = 0; k < 6; k++) mesh->moments[k] = -mesh->moments[k];
    } else if (mesh->inertia != SHELL) {
        perp_mesh_mass(mesh->mesh, &mesh->weight, mesh->center, mesh->moments);
    }
}

static void make_hull(mjcf *m, mjcf_mesh *mesh, const perp__surface *s)
{
    perp_diag diag = {0};
    perp_status status = perp_mesh_hull(s->point, s->npoint, &mesh->mesh, &diag);
    if (status == PERP_ERR_MEMORY)
        perp__robot_no_memory(m->r);
    else if (status != PERP_OK)
        perp__robot_refuse(m->r, mesh->node, NULL, "mesh: %.*s",
                           (int)strcspn(perp_diag_text(&diag), "\n"),
                           diag.errors ? perp_diag_text(&diag) : perp_status_message(status));
    perp_diag_clear(&diag);
    if (status == PERP_OK && perp__add_mesh(m->r, mesh->mesh) < 0) mesh->mesh = NULL;
}

/* The hull, read at first use, and its mass; NULL: it cannot be made, which was reported. */
static perp_mesh *hull_of(mjcf *m, mjcf_mesh *mesh)
{
    perp__surface s = {0};
    if (mesh->mesh || mesh->is_bad) return mesh->mesh;
    mesh->is_bad = 1;
    if (!mesh->file && !mesh->vertex_of) {
        perp__robot_refuse(m->r, mesh->node, NULL, "mesh: file or vertex is missing");
        return NULL;
    }
    if (read_surface(m, mesh, &s) && place_points(m, mesh, s.point, s.npoint))
        make_hull(m, mesh, &s);
    if (mesh->mesh) take_mass(mesh, &s);
    perp__surface_clear(&s);
    mesh->is_bad = !mesh->mesh;
    return mesh->mesh;
}

/* Geoms ---------------------------------------------------------------------------------------- */

static const int kinds[] = {PERP_SHAPE_PLANE,   PERP_SHAPE_FIELD,     PERP_SHAPE_SPHERE,
                            PERP_SHAPE_CAPSULE, PERP_SHAPE_ELLIPSOID, PERP_SHAPE_CYLINDER,
                            PERP_SHAPE_BOX,     PERP_SHAPE_MESH,      MJCF_SDF};

static void apply_geom(mjcf *m, const perp__xml_node *node, void *to)
{
    mjcf_geom *g = to;
    perp__robot_reader *r = m->r;
    int word = perp__read_word(r, node, "type",
                               "plane hfield sphere capsule ellipsoid cylinder box mesh sdf"),
        n = perp__read_numbers(r, node, "size", 1, 3, g->size);
    if (word >= 0) g->kind = kinds[word];
    if (n) g->nsize = n;
    if (perp__read_numbers(r, node, "fromto", 6, 6, g->fromto)) g->has_fromto = 1;
    perp__read_whole(r, node, "contype", &g->contype);
    perp__read_whole(r, node, "conaffinity", &g->conaffinity);
    perp__read_whole(r, node, "condim", &g->condim);
    perp__read_whole(r, node, "priority", &g->priority);
    perp__read_whole(r, node, "group", &g->group);
    perp__read_numbers(r, node, "friction", 1, 3, g->friction);
    if (perp__read_number(r, node, "mass", &g->mass)) g->has_mass = 1;
    perp__read_number(r, node, "density", &g->density);
    perp__read_number(r, node, "fitscale", &g->fitscale);
    mjcf_read_flag(m, node, "shellinertia", &g->is_shell);
    word = perp__read_word(r, node, "fluidshape", "none ellipsoid");
    if (word >= 0) g->is_wing = word;
    if (perp__xml_get(node, "mesh")) g->mesh = perp__xml_get(node, "mesh");
    if (perp__xml_get(node, "hfield")) g->hfield = perp__xml_get(node, "hfield");
    mjcf_read_pose(m, node, &g->pose);
}

/* How many sizes each kind has; with fromto its length is not among them. */
static int sizes_of(const mjcf_geom *g)
{
    switch (g->kind) {
    case PERP_SHAPE_SPHERE: return 1;
    case PERP_SHAPE_CAPSULE:
    case PERP_SHAPE_CYLINDER: return g->has_fromto ? 1 : 2;
    case PERP_SHAPE_BOX:
    case PERP_SHAPE_ELLIPSOID: return g->has_fromto ? 1 : 3;
    default: return 0;
    }
}

/* From two ends: z is along them. */
static void take_ends(mjcf *m, mjcf_geom *g)
{
    double z[3];
    int is_round = g->kind == PERP_SHAPE_CAPSULE || g->kind == PERP_SHAPE_CYLINDER;
    if (!is_round && g->kind != PERP_SHAPE_BOX && g->kind != PERP_SHAPE_ELLIPSOID) {
        perp__robot_refuse(m->r, g->node, "fromto",
                           "fromto is of a capsule, cylinder, ellipsoid or box");
        return;
    }
    for (int k = 0; k < 3; k++) {
        g->pose.p[k] = 0.5 * (g->fromto[k] + g->fromto[3 + k]);
        z[k] = g->fromto[k] - g->fromto[3 + k];
    }
    if (!mjcf_turn_z(z, g->pose.R))
        perp__robot_refuse(m->r, g->node, "fromto", "fromto: its ends are one point");
    g->size[is_round ? 1 : 2] = 0.5 * perp__length3(z);
    if (!is_round) g->size[1] = g->size[0];
}

/* A sphere, capsule, .. that names a mesh has its size and place from that. */
static int is_fitted(const mjcf_geom *g)
{
    return g->mesh && g->kind != PERP_SHAPE_MESH && sizes_of(g);
}

int mjcf_check_condim(mjcf *m, const perp__xml_node *node, int condim)
{
    return condim == 1 || condim == 3 || condim == 4 || condim == 6 ||
           perp__robot_refuse(m->r, node, "condim", "condim: 1, 3, 4 or 6 is expected");
}

static void check_geom(mjcf *m, mjcf_geom *g)
{
    int needed = is_fitted(g) ? 0 : sizes_of(g);
    if (g->has_fromto && is_fitted(g))
        perp__robot_refuse(m->r, g->node, "fromto", "fromto: the mesh gives the position");
    else if (g->has_fromto)
        take_ends(m, g);
    for (int k = 0; k < needed; k++)
        if (!(g->size[k] > 0)) {
            perp__robot_refuse(m->r, g->node, g->nsize ? "size" : NULL,
                               "geom: %d %s > 0 expected, a %s", needed,
                               needed == 1 ? "size is" : "sizes are",
                               perp_shape_summary((perp_shape_kind)g->kind));
            break;
        }
    mjcf_check_condim(m, g->node, g->condim);
    if (!(g->friction[0] >= 0 && g->friction[1] >= 0 && g->friction[2] >= 0))
        perp__robot_refuse(m->r, g->node, "friction", "friction: it is >= 0");
    const perp_bodies_options *o = &m->r->to->is.options;
    if (g->is_wing && (o->density > 0 || o->viscosity > 0))
        perp__robot_refuse(
            m->r, g->node, NULL,
            "geom: fluidshape ellipsoid is not to be had; a fluid drags the box of a "
            "body's inertia");
    if (g->mass < 0 || g->density < 0)
        perp__robot_refuse(m->r, g->node, NULL, "geom: mass and density are >= 0");
}

void mjcf_read_geom(mjcf *m, const perp__xml_node *node, int body, const perp__pose *frame,
                    int class)
{
    mjcf_geom *g = MJCF_ADD(m, geom);
    if (!g) return;
    *g = (mjcf_geom){.name = perp__xml_get(node, "name"),
                     .node = node,
                     .body = body,
                     .kind = PERP_SHAPE_SPHERE,
                     .contype = 1,
                     .conaffinity = 1,
                     .condim = 3,
                     .friction = {1, MJCF_TORSIONAL, MJCF_ROLLING},
                     .density = 1000,
                     .fitscale = 1,
                     .pose = perp__pose_none,
                     .shape = -1};
    mjcf_resolve(m, node, class, apply_geom, g);
    check_geom(m, g);
    perp__pose_multiply(frame, &g->pose, &g->pose);
}

/* The name of a mesh may come from a class. */
static int find_mesh(mjcf *m, const mjcf_geom *g)
{
    int k = MJCF_INDEX_OF(m, mesh, g->mesh);
    if (k >= 0) return k;
    perp__robot_refuse(m->r, g->node, g->mesh ? "mesh" : NULL, "geom: there is no mesh '%.60s'",
                       g->mesh ? g->mesh : "");
    return -1;
}

/* Half the sides of the box about a mesh, along `axes`, and the box's middle there. */
static void bound_mesh(const perp_mesh *mesh, const perp__pose *axes, double *half, double *middle)
{
    const double *point;
    int n = perp_mesh_points(mesh, &point);
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < n; i++) {
        double moved[3], x[3];
        perp__move3(point + 3 * i, -1, axes->p, moved);
        perp__rotate_back3(axes->R, moved, x);
        for (int k = 0; k < 3; k++) {
            low[k] = fmin(low[k], x[k]);
            high[k] = fmax(high[k], x[k]);
        }
    }
    for (int k = 0; k < 3; k++) {
        half[k] = 0.5 * (high[k] - low[k]);
        middle[k] = 0.5 * (high[k] + low[k]);
    }
}

/* MuJoCo's sizes of shapes for a box of half sides b: of the same inertia (fitaabb: about the mesh,
 * then the shape is about the box). */
static void fit_sizes(const mjcf *m, mjcf_geom *g, const double *b)
{
    double *size = g->size, across = m->fitaabb ? fmax(b[0], b[1]) : 0.5 * (b[0] + b[1]);
    memcpy(size, b, 3 * sizeof *b);
    if (g->kind == PERP_SHAPE_SPHERE)
        size[0] = m->fitaabb ? fmax(fmax(b[0], b[1]), b[2]) : (b[0] + b[1] + b[2]) / 3;
    if (g->kind == PERP_SHAPE_CAPSULE || g->kind == PERP_SHAPE_CYLINDER) {
        size[0] = across;
        size[1] = b[2];
    }
    if (g->kind == PERP_SHAPE_CAPSULE) size[1] -= m->fitaabb ? across : 0.5 * across;
    for (int k = 0; k < 3; k++) size[k] *= g->fitscale;
}

/* A shape fitted to a mesh: on the mesh's principal axes. It is then as if it had been written with
 * its sizes. */
static int fit_geom(mjcf *m, mjcf_geom *g)
{
    perp__pose axes = perp__pose_none;
    double half[3], middle[3] = {0, 0, 0};
    int k = find_mesh(m, g);
    const perp_mesh *hull = k >= 0 ? hull_of(m, &m->mesh[k]) : NULL;
    if (!hull) return 0;
    const mjcf_mesh *mesh = &m->mesh[k];
    if (!(mesh->weight > 0) || !perp__inertia_box(mesh->weight, mesh->moments, half, axes.R))
        return perp__robot_refuse(m->r, g->node, "mesh", "geom: the mesh has no volume to fit to");
    memcpy(axes.p, mesh->center, sizeof axes.p);
    if (m->fitaabb) bound_mesh(hull, &axes, half, middle);
    fit_sizes(m, g, half);
    if (g->kind == PERP_SHAPE_CAPSULE && !(g->size[1] > 0))
        return perp__robot_refuse(m->r, g->node, "type",
                                  "geom: the mesh is too short for a capsule");
    perp__rotate3(axes.R, middle, half);
    perp__move3(axes.p, 1, half, axes.p);
    perp__pose_multiply(&g->pose, &axes, &g->pose);
    g->mesh = NULL;
    return 1;
}

/* Its kind, sizes and mesh. Returns 0: it is not supported, which was reported. */
static int shape_of(mjcf *m, mjcf_geom *g, const char *why, perp_shape *shape)
{
    if (g->kind >= PERP_SHAPE_COUNT)
        return perp__robot_refuse(m->r, g->node, "type",
                                  "geom: distance fields that %s are not to be had", why);
    if (is_fitted(g) && !fit_geom(m, g)) return 0;
    *shape = (perp_shape){.kind = (perp_shape_kind)g->kind,
                          .mu = g->friction[0],
                          .torsional_friction = g->friction[1],
                          .rolling_friction = g->friction[2]};
    if (!perp__is_ground(shape)) memcpy(shape->size, g->size, sizeof shape->size);
    if (g->kind == PERP_SHAPE_FIELD) return (shape->field = mjcf_field_of(m, g)) != NULL;
    if (g->kind != PERP_SHAPE_MESH) return 1;
    memset(shape->size, 0, sizeof shape->size);
    int k = find_mesh(m, g);
    shape->mesh = k >= 0 ? hull_of(m, &m->mesh[k]) : NULL;
    return shape->mesh != NULL;
}

static void weigh_one(mjcf *m, mjcf_geom *g, const perp__pose *within, perp__mass *sum)
{
    perp_shape shape;
    double volume, center[3], I[6];
    if (g->kind == PERP_SHAPE_PLANE || g->kind == PERP_SHAPE_FIELD ||
        (g->has_mass ? g->mass : g->density) == 0)
        return;
    if (!shape_of(m, g, "weigh", &shape)) return;
    if (!g->is_shell) {
        perp__shape_mass(&shape, &volume, center, I);
    } else if (!perp__shell_mass(&shape, &volume, center, I)) {
        perp__robot_refuse(m->r, g->node, NULL,
                           g->kind == PERP_SHAPE_MESH
                               ? "geom: the mass of a mesh follows from its `inertia`"
                               : "geom: the mass of an ellipsoid's surface is not to be had; "
                                 "give the body an <inertial>");
        return;
    }
    if (g->kind == PERP_SHAPE_MESH) {
        const mjcf_mesh *mesh = &m->mesh[find_mesh(m, g)];
        volume = mesh->weight;
        memcpy(center, mesh->center, sizeof center);
        memcpy(I, mesh->moments, sizeof I);
    }
    double density = g->has_mass ? g->mass / volume : g->density;
    if (!(volume > 0) || !isfinite(density)) {
        perp__robot_refuse(m->r, g->node, NULL, "geom: it has no volume for its mass");
        return;
    }
    perp__pose pose;
    for (int k = 0; k < 6; k++) I[k] *= density;
    perp__pose_multiply(within, &g->pose, &pose);
    perp__mass_add(sum, &pose, density * volume, center, I);
}

void mjcf_weigh(mjcf *m, int first, const perp__pose *within, perp__mass *sum)
{
    for (int i = first; i < m->ngeom; i++) {
        mjcf_geom *g = &m->geom[i];
        if (g->group >= m->group_low && g->group <= m->group_high) weigh_one(m, g, within, sum);
    }
}

/* Shapes --------------------------------------------------------------------------------------- */

static void add_shape(mjcf *m, mjcf_geom *g)
{
    perp_shape shape;
    perp__pose pose;
    const mjcf_body *b = &m->body[g->body];
    int is_ground = g->kind == PERP_SHAPE_PLANE || g->kind == PERP_SHAPE_FIELD;
    if (is_ground && !b->is_static) {
        perp__robot_refuse(m->r, g->node, "type", "geom: a %s is of the world",
                           g->kind == PERP_SHAPE_PLANE ? "plane" : "height field");
        return;
    }
    if (!shape_of(m, g, "touch", &shape)) return;
    shape.body = is_ground ? 0 : b->link;
    perp__pose_multiply(is_ground ? &b->at : &b->within, &g->pose, &pose);
    memcpy(shape.position, pose.p, sizeof pose.p);
    perp__quaternion_of_rotation(pose.R, shape.rotation);
    perp_contact_material material = {.type = (unsigned)g->contype,
                                      .affinity = (unsigned)g->conaffinity,
                                      .priority = g->priority,
                                      .dimension = g->condim};
    g->shape = perp__add_shape(m->r, &shape, &material, g->name, g->node);
}

void mjcf_add_shapes(mjcf *m)
{
    for (int i = 0; i < m->ngeom && m->r->status != PERP_ERR_MEMORY; i++) {
        mjcf_geom *g = &m->geom[i];
        if (m->no_contact) continue;
        if (g->contype || g->conaffinity || g->is_paired)
            add_shape(m, g);
        else
            perp__robot_ignore(m->r, g->node, NULL,
                               "geom with contype 0 and conaffinity 0: collides with nothing");
    }
}
