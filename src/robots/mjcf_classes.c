/* Default classes of MJCF; which attributes elements have; angles and rotations. */

#include "bodies/space.h"
#include "robots/mjcf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Attributes ----------------------------------------------------------------------------------- */

/* Words with a blank between. `soft` has no meaning where contact is rigid, `idle` no part in the
 * motion. */
typedef struct element {
    const char *name, *used, *soft, *idle;
} element;

#define TURNED "pos quat axisangle xyaxes zaxis euler"
#define DRIVE                                                                                      \
    "name class joint jointinparent gear ctrlrange ctrllimited forcerange forcelimited tendon "    \
    "site refsite body slidersite cranksite armature damping delay group"
#define STRAND                                                                                     \
    "name class limited range stiffness damping frictionloss armature springlength springyield "   \
    "actuatorfrcrange actuatorfrclimited"
#define STRAND_SOFT "margin solreflimit solimplimit solreffriction solimpfriction"
#define STRAND_IDLE "group user width material rgba"
#define DRIVE_IDLE  "user lengthrange cranklength nsample interp"

static const element elements[] = {
    {"compiler",
     "angle autolimits eulerseq coordinate meshdir assetdir strippath inertiafromgeom "
     "inertiagrouprange boundmass boundinertia balanceinertia settotalmass alignfree fitaabb",
     "",
     "texturedir discardvisual usethread fusestatic saveinertial savecompiled savecanonical "
     "exactmeshinertia convexhull"},
    {"option", "timestep gravity density viscosity wind actuatorgroupdisable",
     "impratio o_margin o_solref o_solimp o_friction cone jacobian solver iterations tolerance "
     "ls_iterations ls_tolerance noslip_iterations noslip_tolerance ccd_iterations ccd_tolerance "
     "sdf_iterations sdf_initpoints mpr_iterations mpr_tolerance apirate "
     "sleep_tolerance integrator",
     "magnetic collision"},
    {"flag",
     "constraint equality frictionloss limit contact passive spring damper gravity clampctrl "
     "filterparent actuation override",
     "warmstart refsafe eulerdamp nativeccd multiccd island midphase autoreset "
     "invdiscrete sleep diagexact speculative",
     "sensor energy fwdinv"},
    {"body", "name childclass mocap gravcomp " TURNED, "", "user sleep fuse simple"},
    {"frame", "name childclass " TURNED, "", ""},
    {"replicate", "count sep offset euler", "", ""},
    {"inertial", "mass diaginertia fullinertia " TURNED, "", ""},
    {"joint",
     "name class type axis pos range limited ref springref stiffness damping armature frictionloss "
     "springdamper springyield actuatorfrcrange actuatorfrclimited actuatorgravcomp align",
     "margin solreflimit solimplimit solreffriction solimpfriction", "group user"},
    {"freejoint", "name align", "", "group"},
    {"geom",
     "name class type size fromto contype conaffinity condim priority friction mass density group "
     "shellinertia mesh hfield fitscale fluidshape surfacevel adhesion " TURNED,
     "solmix solref solimp margin gap", "rgba material user fluidcoef castshadow"},
    {"site", "name class fromto " TURNED, "", "type size group material rgba user mesh"},
    {"mesh",
     "name class file vertex face scale refpos refquat inertia builtin content_type maxhullvert",
     "", "normal texcoord smoothnormal material params octree_maxdepth needsdf"},
    {"hfield", "name content_type file nrow ncol elevation size", "", ""},
    {"pair", "name class geom1 geom2 condim friction adhesion",
     "solref solreffriction solimp margin gap", ""},
    {"exclude", "name body1 body2", "", ""},
    {"equality", "active", "solref solimp", ""},
    {"connect", "name class active body1 body2 anchor site1 site2", "solref solimp", ""},
    {"weld", "name class active body1 body2 anchor relpose site1 site2",
     "solref solimp torquescale", ""},
    {"tendon", STRAND, STRAND_SOFT, STRAND_IDLE},
    {"fixed", STRAND, STRAND_SOFT, STRAND_IDLE},
    {"spatial", STRAND, STRAND_SOFT, STRAND_IDLE},
    {"motor", DRIVE, "", DRIVE_IDLE},
    {"position", DRIVE " kp kv dampratio timeconst inheritrange", "", DRIVE_IDLE},
    {"velocity", DRIVE " kv", "", DRIVE_IDLE},
    {"intvelocity", DRIVE " kp kv dampratio inheritrange actlimited actrange", "", DRIVE_IDLE},
    {"damper", DRIVE " kv", "", DRIVE_IDLE},
    {"cylinder", DRIVE " timeconst area diameter bias", "", DRIVE_IDLE},
    {"muscle",
     DRIVE " timeconst tausmooth range force scale lmin lmax vmax fpmax fvmax lengthrange", "",
     DRIVE_IDLE},
    {"general",
     DRIVE " dyntype gaintype biastype dynprm gainprm biasprm actdim actlimited actrange actearly "
           "lengthrange",
     "", DRIVE_IDLE},
    {"key", "name qpos qvel ctrl act", "", "time mpos mquat"},
};

/* joint of equality has other attributes than that of a body. */
static const element couple = {"joint", "name class active joint1 joint2 polycoef", "solref solimp",
                               ""};

static const element couple_tendons = {"tendon", "name class active tendon1 tendon2 polycoef",
                                       "solref solimp", ""};

static const element strands[] = {{"joint", "joint coef", "", ""},
                                  {"site", "site", "", ""},
                                  {"geom", "geom sidesite", "", ""},
                                  {"pulley", "divisor", "", ""}};

static int has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ' ') && (!at[n] || at[n] == ' ')) return 1;
    return 0;
}

/* What would change the motion if it were not 0. */
static void check_zero(mjcf *m, const perp__xml_node *node, const char *attribute)
{
    static const mjcf_reason known[] = {
        {"surfacevel", "surfaces that run are not to be had"},
        {"adhesion", "contacts that pull are not to be had"},
        {"springyield", "springs that give way for good are not to be had"}};
    double x[6] = {0};
    const char *why = mjcf_reason_of(known, sizeof known / sizeof *known, attribute);
    if (!why) return;
    perp__read_numbers(m->r, node, attribute, 1, 6, x);
    for (int k = 0; k < 6; k++)
        if (x[k] != 0) {
            perp__robot_refuse(m->r, node, attribute, "%s: %s", attribute, why);
            return;
        }
}

/* Margins and gaps say where soft forces begin. */
static const char *reason_of(const char *attribute)
{
    if (strcmp(attribute, "margin") == 0 || strcmp(attribute, "gap") == 0)
        return "forces begin where shapes meet, limits and lengths end";
    if (strcmp(attribute, "integrator") == 0) return "a step has methods of its own (--method)";
    return "contacts and laws are exact here";
}

void mjcf_check(mjcf *m, const perp__xml_node *node)
{
    const element *e = NULL;
    for (size_t i = 0; i < sizeof elements / sizeof *elements && !e; i++)
        if (mjcf_is(node, elements[i].name)) e = &elements[i];
    int is_equality = node->parent && mjcf_is(node->parent, "equality");
    if (is_equality && mjcf_is(node, "joint")) e = &couple;
    if (is_equality && mjcf_is(node, "tendon")) e = &couple_tendons;
    int is_strand =
        node->parent && (mjcf_is(node->parent, "fixed") || mjcf_is(node->parent, "spatial"));
    for (size_t i = 0; i < sizeof strands / sizeof *strands && is_strand; i++)
        if (mjcf_is(node, strands[i].name)) e = &strands[i];
    for (int i = 0; e && i < node->nattribute; i++) {
        const char *name = node->attribute[i].name;
        if (has_word(e->used, name))
            check_zero(m, node, name);
        else if (has_word(e->soft, name))
            perp__robot_ignore(m->r, node, name, "%s of %s: %s", name, node->name, reason_of(name));
        else if (has_word(e->idle, name))
            perp__robot_ignore(m->r, node, name, "%s of %s: has no part in the motion", name,
                               node->name);
        else
            perp__robot_refuse(m->r, node, name, "%.60s: not known of <%s>", name, node->name);
    }
}

/* Classes -------------------------------------------------------------------------------------- */

static void add_node(mjcf *m, int class, perp__xml_node *node)
{
    mjcf_class *c = &m->class[class];
    if (perp__arena_grow(&m->r->to->arena, &c->node, &c->cnode, c->nnode + 1, sizeof *c->node))
        c->node[c->nnode++] = node;
    else
        perp__robot_no_memory(m->r);
}

/* Elements that no robot of this kernel has may have defaults. They are refused where they are
 * used. */
static void check_defaults(mjcf *m, const perp__xml_node *node)
{
    static const char *const other[] = {"light",       "camera", "material", "texture",
                                        "orientation", "pid",    "adhesion", "dcmotor"};
    for (const perp__xml_node *child = node->child; child; child = child->next) {
        int known = mjcf_is(child, "default");
        for (size_t i = 0; i < sizeof other / sizeof *other; i++) known |= mjcf_is(child, other[i]);
        if (known) continue;
        for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
            known |= mjcf_is(child, elements[i].name);
        if (!known)
            perp__robot_refuse(m->r, child, NULL, "<%.60s>: not known in default", child->name);
        mjcf_check(m, child);
    }
}

static void read_class(mjcf *m, perp__xml_node *node, int parent)
{
    const char *name = perp__xml_get(node, "class");
    if (!name && parent >= 0) {
        perp__robot_refuse(m->r, node, NULL, "default: class is missing");
        return;
    }
    int k = name ? MJCF_INDEX_OF(m, class, name) : 0;
    if (parent >= 0 && k >= 0) {
        perp__robot_refuse(m->r, node, "class", "class '%.60s' is there already", name);
        return;
    }
    if (k < 0 && parent < 0) { /* the first may be called otherwise than main */
        if (m->class[0].is_begun)
            perp__robot_refuse(m->r, node, "class", "the outermost class is '%.60s'",
                               m->class[0].name);
        m->class[0].name = name;
        perp__names_clear(&m->of_class.names);
        m->of_class.n = k = 0;
    }
    if (k < 0) {
        mjcf_class *class = MJCF_ADD(m, class);
        if (!class) return;
        *class = (mjcf_class){
            .name = name, .parent = parent, .nparent = parent < 0 ? 0 : m->class[parent].nnode};
        k = m->nclass - 1;
    }
    m->class[k].is_begun = 1;
    for (perp__xml_node *child = node->child; child; child = child->next)
        if (!mjcf_is(child, "default")) add_node(m, k, child);
    check_defaults(m, node);
    for (perp__xml_node *child = node->child; child; child = child->next)
        if (mjcf_is(child, "default") && m->r->status != PERP_ERR_MEMORY) read_class(m, child, k);
}

void mjcf_read_classes(mjcf *m)
{
    mjcf_class *first = MJCF_ADD(m, class);
    if (!first) return;
    *first = (mjcf_class){.name = "main", .parent = -1};
    for (perp__xml_node *node = m->root->child; node; node = node->next)
        if (mjcf_is(node, "default") && m->r->status != PERP_ERR_MEMORY) read_class(m, node, -1);
}

int mjcf_class_of(mjcf *m, const perp__xml_node *node, int inherited)
{
    const char *attribute =
                   mjcf_is(node, "body") || mjcf_is(node, "frame") ? "childclass" : "class",
               *name = perp__xml_get(node, attribute);
    if (!name) return inherited;
    int k = MJCF_INDEX_OF(m, class, name);
    if (k < 0) perp__robot_refuse(m->r, node, attribute, "there is no class '%.60s'", name);
    return k < 0 ? inherited : k;
}

int mjcf_is_actuator(const perp__xml_node *node)
{
    static const char *const known[] = {"motor",  "position", "velocity", "intvelocity",
                                        "damper", "cylinder", "muscle",   "general"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (mjcf_is(node, known[i])) return 1;
    return 0;
}

void mjcf_refuse_actuator(mjcf *m, const perp__xml_node *node)
{
    static const mjcf_reason known[] = {
        {"adhesion", "a body that sticks to others is not supported"},
        {"plugin", "a program's own laws are not to be had"},
        {"pid", "servos with an integral of their error are not to be had"},
        {"orientation", "servos of balls are not to be had"},
        {"dcmotor", "the currents of motors are not to be had"}};
    const char *why = mjcf_reason_of(known, sizeof known / sizeof *known, node->name);
    perp__robot_refuse(m->r, node, NULL, "<%.60s>: %s", node->name,
                       why ? why : "not known in actuator");
}

/* The actuators are one kind with several names. Tendons have one default, and so have
 * equalities. */
static int is_alike(const perp__xml_node *a, const perp__xml_node *b)
{
    if (b->parent && mjcf_is(b->parent, "equality")) return mjcf_is(a, "equality");
    return mjcf_is(a, b->name) || (mjcf_is_actuator(a) && mjcf_is_actuator(b)) ||
           (mjcf_is(a, "tendon") && (mjcf_is(b, "fixed") || mjcf_is(b, "spatial")));
}

static void resolve_class(mjcf *m, const perp__xml_node *node, int class, int nnode,
                          mjcf_apply *apply, void *to)
{
    if (class < 0) return;
    const mjcf_class *c = &m->class[class];
    resolve_class(m, node, c->parent, c->nparent, apply, to);
    for (int i = 0; i < nnode; i++)
        if (is_alike(c->node[i], node)) apply(m, c->node[i], to);
}

void mjcf_resolve(mjcf *m, const perp__xml_node *node, int class, mjcf_apply *apply, void *to)
{
    mjcf_check(m, node);
    int k = mjcf_class_of(m, node, class);
    resolve_class(m, node, k, m->class[k].nnode, apply, to);
    apply(m, node, to);
}

/* Values --------------------------------------------------------------------------------------- */

void mjcf_read_flag(mjcf *m, const perp__xml_node *node, const char *attribute, int *flag)
{
    int word = perp__read_word(m->r, node, attribute, "false true");
    if (word >= 0) *flag = word;
}

void mjcf_read_auto(mjcf *m, const perp__xml_node *node, const char *attribute, int *flag)
{
    if (!perp__xml_get(node, attribute)) return;
    int word = perp__read_word(m->r, node, attribute, "false true auto");
    *flag = word == 2 ? -1 : word > 0;
}

double mjcf_angle(const mjcf *m, double x)
{
    return m->is_degree ? x * (3.14159265358979323846 / 180) : x;
}

static void turn_about(const double *axis, double angle, double *R)
{
    double turn[3], q[4], length = perp__length3(axis);
    for (int k = 0; k < 3; k++) turn[k] = length > 0 ? axis[k] / length * angle : 0;
    perp__quaternion_of(turn, q);
    perp__rotation_of(q, R);
}

/* Small letters turn about axes that turn along, capitals about those of the parent. */
static void turn_euler(const mjcf *m, const double *angle, double *R)
{
    memcpy(R, perp__pose_none.R, sizeof perp__pose_none.R);
    for (int i = 0; i < 3; i++) {
        char c = m->eulerseq[i];
        int is_fixed = c < 'a', k = c - (is_fixed ? 'X' : 'x');
        double axis[3] = {k == 0, k == 1, k == 2}, one[9], out[9];
        turn_about(axis, mjcf_angle(m, angle[i]), one);
        perp__multiply3(is_fixed ? one : R, is_fixed ? R : one, out);
        memcpy(R, out, sizeof out);
    }
}

int mjcf_turn_z(const double *z, double *R)
{
    const double up[3] = {0, 0, 1}, side[3] = {1, 0, 0};
    double axis[3], length = perp__length3(z);
    if (!(length > 0)) return 0;
    perp__cross3(up, z, axis);
    double sine = perp__length3(axis);
    turn_about(sine > 1e-10 * length ? axis : side, atan2(sine, z[2]), R);
    return 1;
}

static int turn_axes(const double *given, double *R)
{
    double x[3], y[3], z[3], length = perp__length3(given);
    if (!(length > 0)) return 0;
    for (int k = 0; k < 3; k++) x[k] = given[k] / length;
    perp__move3(given + 3, -perp__dot3(x, given + 3), x, y);
    double across = perp__length3(y);
    if (!(across > 0)) return 0;
    for (int k = 0; k < 3; k++) y[k] /= across;
    perp__cross3(x, y, z);
    for (int k = 0; k < 3; k++) {
        R[3 * k] = x[k];
        R[3 * k + 1] = y[k];
        R[3 * k + 2] = z[k];
    }
    return 1;
}

static int turn_quaternion(const double *given, double *R)
{
    double q[4] = {given[0], given[1], given[2], given[3]};
    if (!perp__quaternion_normalise(q)) return 0;
    perp__rotation_of(q, R);
    return 1;
}

void mjcf_read_rotation(mjcf *m, const perp__xml_node *node, double *R)
{
    static const char *const name[] = {"quat", "axisangle", "euler", "xyaxes", "zaxis"};
    static const int count[] = {4, 4, 3, 6, 3};
    const char *given = NULL;
    for (int i = 0; i < 5; i++) {
        double x[6];
        int ok = 1;
        if (!perp__xml_get(node, name[i])) continue;
        if (given)
            perp__robot_refuse(m->r, node, name[i], "%s and %s: one rotation is expected", given,
                               name[i]);
        given = name[i];
        if (!perp__read_numbers(m->r, node, name[i], count[i], count[i], x)) continue;
        if (i == 0) ok = turn_quaternion(x, R);
        if (i == 1) {
            ok = perp__length3(x) > 0;
            turn_about(x, mjcf_angle(m, x[3]), R);
        }
        if (i == 2) turn_euler(m, x, R);
        if (i == 3) ok = turn_axes(x, R);
        if (i == 4) ok = mjcf_turn_z(x, R);
        if (!ok) perp__robot_refuse(m->r, node, name[i], "%s: it has no direction", name[i]);
    }
}

void mjcf_read_pose(mjcf *m, const perp__xml_node *node, perp__pose *pose)
{
    perp__read_numbers(m->r, node, "pos", 3, 3, pose->p);
    mjcf_read_rotation(m, node, pose->R);
}

int mjcf_index_of(mjcf *m, mjcf_index *index, const void *list, int n, size_t size,
                  const char *name)
{
    perp__names *names = &index->names;
    for (; name && index->n < n; index->n++) {
        const char *next;
        memcpy(&next, (const char *)list + (size_t)index->n * size, sizeof next);
        if (!next || perp__names_find(names, next) >= 0) continue;
        if (perp__names_add(names, next, index->n)) continue;
        perp__robot_no_memory(m->r);
        return -1;
    }
    return name ? perp__names_find(names, name) : -1;
}

int mjcf_find(mjcf *m, const perp__xml_node *node, const char *attribute, const char *what,
              int index)
{
    const char *wanted = perp__xml_get(node, attribute);
    if (!wanted)
        perp__robot_refuse(m->r, node, NULL, "%s: %s is missing", node->name, attribute);
    else if (index < 0)
        perp__robot_refuse(m->r, node, attribute, "there is no %s '%.60s'", what, wanted);
    return index;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const mjcf_named *)a)->name, ((const mjcf_named *)b)->name);
}

static void check_names(mjcf *m, const void *list, int n, size_t size, const char *what)
{
    mjcf_named *all;
    int have = 0;
    PERP_TAKE(&m->r->to->arena, all, n + 1);
    for (int i = 0; all && i < n; i++) {
        memcpy(&all[have], (const char *)list + (size_t)i * size, sizeof *all);
        have += all[have].name != NULL;
    }
    if (all) qsort(all, (size_t)have, sizeof *all, by_name);
    for (int i = 1; all && i < have; i++)
        if (strcmp(all[i].name, all[i - 1].name) == 0) {
            perp__place x = perp__xml_place(all[i].node, "name"),
                        y = perp__xml_place(all[i - 1].node, "name");
            int is_first = y.line < x.line || (y.line == x.line && y.column < x.column);
            perp__robot_refuse(m->r, all[is_first ? i : i - 1].node, "name",
                               "%s '%.60s' is there already, in line %ld", what, all[i].name,
                               is_first ? y.line : x.line);
        }
}

void mjcf_check_names(mjcf *m)
{
#define CHECK(list) check_names(m, m->list, m->n##list, sizeof *m->list, #list)
    CHECK(body);
    CHECK(joint);
    CHECK(geom);
    CHECK(site);
    CHECK(mesh);
    CHECK(tendon);
    check_names(m, m->drive, m->ndrive, sizeof *m->drive, "actuator");
#undef CHECK
}
