/* Geoms and meshes of MJCF: shapes of those that may touch, masses of those that weigh. */

#include "bodies/space.h"
#include "robots/mjcf.h"

#include <math.h>
#include <string.h>

/* Meshes --------------------------------------------------------------------------------------------------- */

enum { CONVEX, EXACT, LEGACY, SHELL };

static const char *name_in_path(mjcf *m, const char *file)
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
}

void mjcf_read_mesh(mjcf *m, const perp__xml_node *node)
{
    mjcf_mesh *mesh = MJCF_ADD(m, mesh);
    if (!mesh) return;
    *mesh = (mjcf_mesh){
        .name = perp__xml_get(node, "name"), .node = node, .scale = {1, 1, 1}, .refquat = {1}};
    mjcf_resolve(m, node, 0, apply_mesh, mesh);
    if (!mesh->name && mesh->file) mesh->name = name_in_path(m, mesh->file);
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

static double *copy(mjcf *m, const double *from, int n)
{
    double *x;
    PERP_TAKE(&m->r->to->arena, x, n + 1);
    if (!x) perp__robot_no_memory(m->r);
    if (x && from) memcpy(x, from, (size_t)n * sizeof *x);
    return x;
}

/* The points of a mesh's text, or of its file. */
static double *points_of(mjcf *m, const mjcf_mesh *mesh, int *npoint)
{
    double *x;
    if (mesh->vertex_of) {
        int n = count_numbers(perp__xml_get(mesh->node, "vertex"));
        x = copy(m, NULL, n);
        if (!x || !perp__read_numbers(m->r, mesh->node, "vertex", 12, n, x)) return NULL;
        *npoint = n / 3;
        return x;
    }
    const char *folder = m->meshdir ? m->meshdir : m->assetdir, *file = mesh->file,
               *slash = strrchr(file, '/');
    const char *path = perp__robot_path(m->r, m->root->file->name, folder,
                                        m->strippath && slash ? slash + 1 : file);
    perp_mesh *raw = NULL;
    perp_diag diag = {0};
    if (!path) return NULL;
    perp_status status = perp_mesh_read(path, NULL, &raw, &diag);
    if (status == PERP_ERR_MEMORY) perp__robot_no_memory(m->r);
    if (status != PERP_OK && status != PERP_ERR_MEMORY)
        perp__robot_refuse(m->r, mesh->node, "file", "%.*s",
                           (int)strcspn(perp_diag_text(&diag), "\n"), perp_diag_text(&diag));
    perp_diag_clear(&diag);
    if (status != PERP_OK) return NULL;
    const double *corner;
    *npoint = perp_mesh_points(raw, &corner);
    x = copy(m, corner, 3 * *npoint);
    perp_mesh_destroy(raw);
    return x;
}

/* The hull, read when it is first needed; NULL: it cannot be, which was said. */
static perp_mesh *hull_of(mjcf *m, mjcf_mesh *mesh)
{
    int n = 0;
    perp_diag diag = {0};
    if (mesh->mesh || mesh->is_bad) return mesh->mesh;
    mesh->is_bad = 1;
    if (!mesh->file && !mesh->vertex_of) {
        perp__robot_refuse(m->r, mesh->node, NULL, "mesh: file or vertex is missing");
        return NULL;
    }
    double *x = points_of(m, mesh, &n);
    if (!x || !place_points(m, mesh, x, n)) return NULL;
    perp_status status = perp_mesh_hull(x, n, &mesh->mesh, &diag);
    if (status == PERP_ERR_MEMORY)
        perp__robot_no_memory(m->r);
    else if (status != PERP_OK)
        perp__robot_refuse(m->r, mesh->node, NULL, "mesh: %.*s",
                           (int)strcspn(perp_diag_text(&diag), "\n"),
                           diag.errors ? perp_diag_text(&diag) : perp_status_message(status));
    perp_diag_clear(&diag);
    if (status == PERP_OK && perp__add_mesh(m->r, mesh->mesh) < 0) mesh->mesh = NULL;
    mesh->is_bad = !mesh->mesh;
    return mesh->mesh;
}

/* Geoms ----------------------------------------------------------------------------------------------------- */

static const int kinds[] = {PERP_SHAPE_PLANE,   MJCF_HFIELD,          PERP_SHAPE_SPHERE,
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
    mjcf_read_flag(m, node, "shellinertia", &g->is_shell);
    if (perp__xml_get(node, "mesh")) g->mesh = perp__xml_get(node, "mesh");
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

static void check_geom(mjcf *m, mjcf_geom *g)
{
    int needed = sizes_of(g);
    if (g->has_fromto) take_ends(m, g);
    for (int k = 0; k < needed; k++)
        if (!(g->size[k] > 0)) {
            perp__robot_refuse(m->r, g->node, g->nsize ? "size" : NULL,
                               "geom: %d %s > 0 expected, a %s", needed,
                               needed == 1 ? "size is" : "sizes are",
                               perp_shape_summary((perp_shape_kind)g->kind));
            break;
        }
    if (g->condim != 1 && g->condim != 3 && g->condim != 4 && g->condim != 6)
        perp__robot_refuse(m->r, g->node, "condim", "condim: 1, 3, 4 or 6 is expected");
    if (g->friction[0] < 0) perp__robot_refuse(m->r, g->node, "friction", "friction: it is >= 0");
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
                     .friction = {1, 0.005, 0.0001},
                     .density = 1000,
                     .pose = perp__pose_none,
                     .shape = -1};
    mjcf_resolve(m, node, class, apply_geom, g);
    check_geom(m, g);
    perp__pose_multiply(frame, &g->pose, &g->pose);
}

/* The name of a mesh may come from a class. */
static int find_mesh(mjcf *m, const mjcf_geom *g)
{
    for (int i = 0; i < m->nmesh; i++)
        if (g->mesh && m->mesh[i].name && strcmp(m->mesh[i].name, g->mesh) == 0) return i;
    perp__robot_refuse(m->r, g->node, g->mesh ? "mesh" : NULL, "geom: there is no mesh '%.60s'",
                       g->mesh ? g->mesh : "");
    return -1;
}

/* Its kind and sizes; what it is of, with its mesh. 0: it is none of ours, which was said. */
static int shape_of(mjcf *m, const mjcf_geom *g, const char *why, perp_shape *shape)
{
    if (g->kind >= PERP_SHAPE_COUNT)
        return perp__robot_refuse(m->r, g->node, "type", "geom: %s that %s are not to be had",
                                  g->kind == MJCF_HFIELD ? "height fields" : "distance fields",
                                  why);
    *shape = (perp_shape){.kind = (perp_shape_kind)g->kind, .mu = g->friction[0]};
    if (g->kind != PERP_SHAPE_PLANE) memcpy(shape->size, g->size, sizeof shape->size);
    if (g->mesh && g->kind != PERP_SHAPE_MESH)
        return perp__robot_refuse(m->r, g->node, "mesh",
                                  "geom: shapes that are fitted to a mesh are not to be had");
    if (g->kind != PERP_SHAPE_MESH) return 1;
    memset(shape->size, 0, sizeof shape->size);
    int k = find_mesh(m, g);
    shape->mesh = k >= 0 ? hull_of(m, &m->mesh[k]) : NULL;
    return shape->mesh != NULL;
}

static void weigh_one(mjcf *m, const mjcf_geom *g, const perp__pose *within, perp__mass *sum)
{
    perp_shape shape;
    double volume, center[3], I[6];
    int is_mesh = g->kind == PERP_SHAPE_MESH;
    if (g->kind == PERP_SHAPE_PLANE || (g->has_mass ? g->mass : g->density) == 0) return;
    if (!shape_of(m, g, "weigh", &shape)) return;
    int mesh = is_mesh ? find_mesh(m, g) : -1;
    if (g->is_shell || (is_mesh && mesh >= 0 && m->mesh[mesh].inertia == SHELL)) {
        perp__robot_refuse(m->r, g->node, NULL,
                           "geom: the mass of a shell is not to be had; give "
                           "the body an <inertial>");
        return;
    }
    if (is_mesh && mesh >= 0 && m->mesh[mesh].inertia != CONVEX) {
        perp__robot_refuse(m->r, g->node, "mesh",
                           "geom: a mesh weighs what its convex hull does (inertia=\"convex\"); "
                           "else give the body an <inertial>");
        return;
    }
    perp__shape_mass(&shape, &volume, center, I);
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
        const mjcf_geom *g = &m->geom[i];
        if (g->group >= m->group_low && g->group <= m->group_high) weigh_one(m, g, within, sum);
    }
}

/* Shapes ------------------------------------------------------------------------------------------------------ */

static void add_shape(mjcf *m, mjcf_geom *g)
{
    perp_shape shape;
    perp__pose pose;
    const mjcf_body *b = &m->body[g->body];
    int is_plane = g->kind == PERP_SHAPE_PLANE;
    if (is_plane && !b->is_static) {
        perp__robot_refuse(m->r, g->node, "type", "geom: a plane is of the world");
        return;
    }
    if (!shape_of(m, g, "touch", &shape)) return;
    shape.body = is_plane ? 0 : b->link;
    perp__pose_multiply(is_plane ? &b->at : &b->within, &g->pose, &pose);
    memcpy(shape.position, pose.p, sizeof pose.p);
    perp__quaternion_of_rotation(pose.R, shape.rotation);
    if (g->condim > 3)
        perp__robot_ignore(m->r, g->node, "condim",
                           "condim %d of geom: taken as 3, without torsional "
                           "and rolling friction",
                           g->condim);
    perp_touch_rule rule = {.type = (unsigned)g->contype,
                            .affinity = (unsigned)g->conaffinity,
                            .priority = g->priority,
                            .dimension = g->condim == 1 ? 1 : 3};
    g->shape = perp__add_shape(m->r, &shape, &rule, g->name, g->node);
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
                               "geom with contype 0 and conaffinity 0: touches "
                               "nothing");
    }
}
