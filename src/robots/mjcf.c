/* MJCF, section by section: what others need first. */

#include "robots/mjcf.h"

#include <math.h>
#include <string.h>

/* Sections ------------------------------------------------------------------------------------- */

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
    mjcf_read_flag(m, node, "fitaabb", &m->fitaabb);
    read_eulerseq(m, node);
    if (perp__xml_get(node, "meshdir")) m->meshdir = perp__xml_get(node, "meshdir");
    if (perp__xml_get(node, "assetdir")) m->assetdir = perp__xml_get(node, "assetdir");
    perp__read_number(m->r, node, "boundmass", &m->boundmass);
    perp__read_number(m->r, node, "boundinertia", &m->boundinertia);
    perp__read_number(m->r, node, "settotalmass", &m->total);
    mjcf_read_flag(m, node, "balanceinertia", &m->is_balanced);
    refuse_true(m, node, "alignfree", "free bodies keep the frame that is written");
    for (const perp__xml_node *child = node->child; child; child = child->next)
        perp__robot_ignore(m->r, child, NULL, "<%.60s>: has no part in the motion", child->name);
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
                 {"spring", &m->no_spring},
                 {"damper", &m->no_damper}};
    mjcf_check(m, node);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        int word = perp__read_word(m->r, node, flags[i].name, "enable disable");
        if (word >= 0) *flags[i].disabled = word;
    }
    int passive = perp__read_word(m->r, node, "passive", "enable disable");
    if (passive >= 0) m->no_spring = m->no_damper = passive;
    if (perp__read_word(m->r, node, "filterparent", "enable disable") > 0)
        perp__robot_refuse(m->r, node, "filterparent",
                           "filterparent: a body never collides with its parent");
    if (perp__read_word(m->r, node, "override", "disable enable") > 0)
        perp__robot_refuse(m->r, node, "override",
                           "override: contacts have the friction of their geoms and pairs");
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
    double group[31];
    int ngroup = perp__read_numbers(m->r, node, "actuatorgroupdisable", 0, 31, group);
    for (int i = 0; i < ngroup; i++)
        if (group[i] >= 0 && group[i] <= 30 && group[i] == floor(group[i]))
            m->no_group |= 1u << (int)group[i];
        else
            perp__robot_refuse(m->r, node, "actuatorgroupdisable",
                               "actuatorgroupdisable: numbers of groups from 0 to 30 are expected");
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
        else if (mjcf_is(child, "hfield"))
            mjcf_read_field(m, child);
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

/* Meshes that bend are looks; what else of deformable is soft. */
static int is_skin(const perp__xml_node *node)
{
    if (!mjcf_is(node, "deformable")) return 0;
    for (const perp__xml_node *child = node->child; child; child = child->next)
        if (!mjcf_is(child, "skin")) return 0;
    return 1;
}

const char *mjcf_reason_of(const mjcf_reason *known, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(known[i].name, name) == 0) return known[i].why;
    return NULL;
}

void mjcf_refuse_element(mjcf *m, const perp__xml_node *node)
{
    static const mjcf_reason known[] = {
        {"deformable", "soft bodies are not to be had"},
        {"flexcomp", "soft bodies are not to be had"},
        {"composite", "parts that are made up are not to be had; replicate is"},
        {"attach", "models within models are not to be had; include is"},
        {"extension", "programs of a model's own are not to be had"},
        {"plugin", "programs of a model's own are not to be had"}};
    const char *why = mjcf_reason_of(known, sizeof known / sizeof *known, node->name);
    if (!why) why = "not known, or not to be had, here";
    perp__robot_refuse(m->r, node, NULL, "<%.60s>: %s", node->name, why);
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
            if (!mjcf_is(node, ignored[i]) && !is_skin(node)) continue;
            known = 1;
            perp__robot_ignore(m->r, node, NULL, "<%s>: has no part in the motion", node->name);
        }
        if (!known) mjcf_refuse_element(m, node);
    }
}

static void read_all(mjcf *m)
{
    perp__robot_reader *r = m->r;
    perp__xml_node *root = m->root;
    const char *name = perp__xml_get(root, "model");
    if (name) r->to->is.name = perp__arena_string(&r->to->arena, name, strlen(name));
    mjcf_include(m, root);
    look_at_sections(m);
    each(m, "compiler", read_compiler);
    for (perp__xml_node *node = root->child; node; node = node->next)
        if (mjcf_is(node, "worldbody")) mjcf_replicate(m, node);
    each(m, "option", read_option);
    mjcf_read_classes(m);
    each(m, "asset", read_asset);
    each(m, "worldbody", mjcf_read_world);
    mjcf_scale_mass(m);
    if (r->status == PERP_OK && !r->to->is.nbody)
        perp__robot_refuse(r, root, NULL, "there is no body in <worldbody>");
    if (r->status == PERP_ERR_MEMORY || !m->nbody) return;
    if (r->status == PERP_OK) mjcf_keep_parents(m);
    each_child(m, "contact", mjcf_read_contact);
    mjcf_add_shapes(m);
    each_child(m, "contact", mjcf_take_contact);
    each_child(m, "tendon", mjcf_read_tendon);
    each_child(m, "equality", mjcf_read_equality);
    each_child(m, "actuator", mjcf_read_actuator);
    mjcf_bound_joints(m);
    mjcf_damp(m);
    mjcf_check_names(m);
    each_child(m, "keyframe", mjcf_read_key);
    if (m->no_gravity) memset(r->to->is.options.gravity, 0, sizeof r->to->is.options.gravity);
    if (m->no_spring && m->no_damper) r->to->is.options.density = r->to->is.options.viscosity = 0;
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
    mjcf_index *const index[] = {&m.of_class, &m.of_body, &m.of_joint,  &m.of_site,    &m.of_mesh,
                                 &m.of_field, &m.of_geom, &m.of_tendon, &m.of_included};
    read_all(&m);
    for (size_t i = 0; i < sizeof index / sizeof *index; i++) perp__names_clear(&index[i]->names);
}
