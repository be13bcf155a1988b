/* MJCF, section by section: what others need first. */

#include "robots/mjcf.h"

#include <math.h>
#include <string.h>

/* Includes --------------------------------------------------------------------------------------------- */

static int exists(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file) fclose(file);
    return file != NULL;
}

/* Beside the file that was asked for, else beside the one that includes it. */
static const char *include_path(mjcf *m, const perp__xml_node *node, const char *file)
{
    const char *path = perp__robot_path(m->r, m->root->file->name, NULL, file);
    if (!path || exists(path)) return path;
    const char *other = perp__robot_path(m->r, node->file->name, NULL, file);
    return other && exists(other) ? other : path;
}

/* The children of the included file's root; NULL: there are none, or it is said why. */
static perp__xml_node *included(mjcf *m, const perp__xml_node *node)
{
    const char *file = perp__xml_get(node, "file");
    if (!file) {
        perp__robot_refuse(m->r, node, NULL, "include: file is missing");
        return NULL;
    }
    const char *path = include_path(m, node, file);
    for (int i = 0; path && i < m->nincluded; i++)
        if (strcmp(m->included[i], path) == 0) {
            perp__robot_refuse(m->r, node, "file", "%s is included already", path);
            return NULL;
        }
    const char **slot = path ? MJCF_ADD(m, included) : NULL;
    if (!slot) return NULL;
    *slot = path;
    perp__xml_node *root = perp__robot_tree(m->r, path, NULL, 0, node, "file");
    if (root && !mjcf_is(root, "mujoco") && !mjcf_is(root, "mujocoinclude"))
        perp__robot_refuse(m->r, root, NULL,
                           "<%.60s>: an included file begins with <mujoco> or "
                           "<mujocoinclude>",
                           root->name);
    return root ? root->child : NULL;
}

/* Put what is included in the place of each include. */
static void expand(mjcf *m, perp__xml_node *parent, int depth)
{
    if (depth > PERP__XML_DEPTH) {
        perp__robot_refuse(m->r, parent, NULL, "elements are nested too deeply");
        return;
    }
    for (perp__xml_node **link = &parent->child; *link && m->r->status != PERP_ERR_MEMORY;) {
        perp__xml_node *node = *link;
        if (!mjcf_is(node, "include")) {
            node->parent = parent;
            expand(m, node, depth + 1);
            link = &node->next;
            continue;
        }
        perp__xml_node *first = included(m, node), *last = first;
        while (last && last->next) last = last->next;
        if (last) last->next = node->next;
        *link = first ? first : node->next;
    }
}

/* Sections ---------------------------------------------------------------------------------------------- */

static void read_eulerseq(mjcf *m, const perp__xml_node *node)
{
    const char *seq = perp__xml_get(node, "eulerseq");
    if (!seq) return;
    if (strlen(seq) == 3 && strspn(seq, "xyzXYZ") == 3)
        m->eulerseq = seq;
    else
        perp__robot_refuse(m->r, node, "eulerseq",
                           "eulerseq: three of xyzXYZ are expected, not '%.20s'", seq);
}

static void refuse_if(mjcf *m, const perp__xml_node *node, const char *attribute, double allowed,
                      const char *why)
{
    double x = allowed;
    if (perp__read_numbers(m->r, node, attribute, 1, 3, &x) && x != allowed)
        perp__robot_refuse(m->r, node, attribute, "%s: %s", attribute, why);
}

static void refuse_true(mjcf *m, const perp__xml_node *node, const char *attribute, const char *why)
{
    int flag = 0;
    mjcf_read_flag(m, node, attribute, &flag);
    if (flag) perp__robot_refuse(m->r, node, attribute, "%s: %s", attribute, why);
}

static void read_compiler(mjcf *m, const perp__xml_node *node)
{
    mjcf_check(m, node);
    int word = perp__read_word(m->r, node, "angle", "radian degree");
    if (word >= 0) m->is_degree = word;
    word = perp__read_word(m->r, node, "coordinate", "local global");
    if (word > 0)
        perp__robot_refuse(m->r, node, "coordinate",
                           "coordinate: places are local; MuJoCo, too, "
                           "has no others any more");
    word = perp__read_word(m->r, node, "inertiafromgeom", "false true auto");
    if (word >= 0) m->inertiafromgeom = word;
    double range[2];
    if (perp__read_numbers(m->r, node, "inertiagrouprange", 2, 2, range)) {
        m->group_low = (int)fmax(fmin(range[0], 1e6), -1e6);
        m->group_high = (int)fmax(fmin(range[1], 1e6), -1e6);
    }
    mjcf_read_flag(m, node, "autolimits", &m->autolimits);
    mjcf_read_flag(m, node, "strippath", &m->strippath);
    read_eulerseq(m, node);
    if (perp__xml_get(node, "meshdir")) m->meshdir = perp__xml_get(node, "meshdir");
    if (perp__xml_get(node, "assetdir")) m->assetdir = perp__xml_get(node, "assetdir");
    perp__read_number(m->r, node, "boundmass", &m->boundmass);
    refuse_if(m, node, "boundinertia", 0, "inertias are taken as they are written");
    double total = -1;
    if (perp__read_number(m->r, node, "settotalmass", &total) && total > 0)
        perp__robot_refuse(m->r, node, "settotalmass",
                           "settotalmass: masses are taken as they are written");
    refuse_true(m, node, "alignfree", "free bodies keep the frame that is written");
}

static void read_flags(mjcf *m, const perp__xml_node *node)
{
    const struct {
        const char *name;
        int *disabled;
    } flags[] = {{"constraint", &m->no_constraint},
                 {"equality", &m->no_equality},
                 {"frictionloss", &m->no_frictionloss},
                 {"limit", &m->no_limit},
                 {"contact", &m->no_contact},
                 {"gravity", &m->no_gravity},
                 {"clampctrl", &m->no_clampctrl},
                 {"actuation", &m->no_actuation},
                 {"passive", &m->no_passive},
                 {"spring", &m->no_passive},
                 {"damper", &m->no_passive}};
    mjcf_check(m, node);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        int word = perp__read_word(m->r, node, flags[i].name, "enable disable");
        if (word < 0) continue;
        if (word && i >= 9)
            perp__robot_refuse(m->r, node, flags[i].name, "%s: disable passive, both of them",
                               flags[i].name);
        else
            *flags[i].disabled = word;
    }
    if (perp__read_word(m->r, node, "filterparent", "enable disable") > 0)
        perp__robot_refuse(m->r, node, "filterparent",
                           "filterparent: a body never touches its parent");
    if (m->no_constraint) m->no_contact = m->no_equality = m->no_frictionloss = m->no_limit = 1;
}

static void read_option(mjcf *m, const perp__xml_node *node)
{
    perp_bodies_options *o = &m->r->to->is.options;
    mjcf_check(m, node);
    perp__read_number(m->r, node, "timestep", &o->step);
    perp__read_numbers(m->r, node, "gravity", 3, 3, o->gravity);
    perp__read_number(m->r, node, "density", &o->density);
    perp__read_number(m->r, node, "viscosity", &o->viscosity);
    perp__read_numbers(m->r, node, "wind", 3, 3, o->wind);
    if (o->density < 0 || o->viscosity < 0)
        perp__robot_refuse(m->r, node, NULL, "option: density and viscosity are >= 0");
    if (!(o->step > 0))
        perp__robot_refuse(m->r, node, "timestep", "timestep: a step > 0 s is expected");
    for (const perp__xml_node *child = node->child; child; child = child->next)
        if (mjcf_is(child, "flag"))
            read_flags(m, child);
        else
            perp__robot_refuse(m->r, child, NULL, "<%.60s>: not known in option", child->name);
}

static void read_asset(mjcf *m, const perp__xml_node *node)
{
    for (const perp__xml_node *child = node->child; child; child = child->next) {
        if (mjcf_is(child, "mesh"))
            mjcf_read_mesh(m, child);
        else
            perp__robot_ignore(m->r, child, NULL, "<%.60s>: has no part in the motion",
                               child->name);
    }
}

/* Every section may come several times. */
static void each(mjcf *m, const char *name, void (*read)(mjcf *, const perp__xml_node *))
{
    for (const perp__xml_node *node = m->root->child; node; node = node->next)
        if (mjcf_is(node, name) && m->r->status != PERP_ERR_MEMORY) read(m, node);
}

static void each_child(mjcf *m, const char *name, void (*read)(mjcf *, const perp__xml_node *))
{
    for (const perp__xml_node *node = m->root->child; node; node = node->next)
        for (const perp__xml_node *child = node->child; mjcf_is(node, name) && child;
             child = child->next)
            if (m->r->status != PERP_ERR_MEMORY) read(m, child);
}

static void look_at_sections(mjcf *m)
{
    static const char *const read[] = {"compiler", "option",   "default",  "asset",    "worldbody",
                                       "contact",  "equality", "actuator", "keyframe", "tendon"},
                             *const ignored[] = {"visual", "statistic", "size", "sensor", "custom"};
    for (const perp__xml_node *node = m->root->child; node; node = node->next) {
        int known = 0;
        for (size_t i = 0; i < sizeof read / sizeof *read; i++) known |= mjcf_is(node, read[i]);
        for (size_t i = 0; i < sizeof ignored / sizeof *ignored && !known; i++) {
            if (!mjcf_is(node, ignored[i])) continue;
            known = 1;
            perp__robot_ignore(m->r, node, NULL, "<%s>: has no part in the motion", node->name);
        }
        if (!known)
            perp__robot_refuse(m->r, node, NULL, "<%.60s>: not known, or not to be had, here",
                               node->name);
    }
}

void perp__read_mjcf(perp__robot_reader *r, perp__xml_node *root)
{
    mjcf m = {.r = r,
              .root = root,
              .is_degree = 1,
              .autolimits = 1,
              .inertiafromgeom = 2,
              .group_low = 0,
              .group_high = 5,
              .eulerseq = "xyz"};
    const char *name = perp__xml_get(root, "model");
    if (name) r->to->is.name = perp__arena_string(&r->to->arena, name, strlen(name));
    expand(&m, root, 0);
    look_at_sections(&m);
    each(&m, "compiler", read_compiler);
    each(&m, "option", read_option);
    mjcf_read_classes(&m);
    each(&m, "asset", read_asset);
    each(&m, "worldbody", mjcf_read_world);
    if (r->status == PERP_OK && !r->to->is.nbody)
        perp__robot_refuse(r, root, NULL, "there is no body in <worldbody>");
    if (r->status == PERP_ERR_MEMORY || !m.nbody) return;
    if (r->status == PERP_OK) mjcf_keep_parents(&m);
    each_child(&m, "contact", mjcf_read_contact);
    mjcf_add_shapes(&m);
    each_child(&m, "contact", mjcf_take_contact);
    each_child(&m, "equality", mjcf_read_equality);
    each_child(&m, "tendon", mjcf_read_tendon);
    each_child(&m, "actuator", mjcf_read_actuator);
    mjcf_bound_joints(&m);
    mjcf_damp(&m);
    each_child(&m, "keyframe", mjcf_read_key);
    if (m.no_gravity) memset(r->to->is.options.gravity, 0, sizeof r->to->is.options.gravity);
}
