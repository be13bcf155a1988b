/* What MJCF says between bodies and joints: pairs of geoms, equalities, keyframes. */

#include "bodies/geometry.h"
#include "bodies/space.h"
#include "robots/mjcf.h"

#include <math.h>
#include <string.h>

/* Contact -------------------------------------------------------------------------------------- */

static mjcf_geom *geom_of(mjcf *m, const perp__xml_node *node, const char *attribute)
{
    int k = MJCF_FIND(m, node, attribute, geom);
    return k < 0 ? NULL : &m->geom[k];
}

void mjcf_read_contact(mjcf *m, const perp__xml_node *node)
{
    if (mjcf_is(node, "pair")) {
        mjcf_geom *x = geom_of(m, node, "geom1"), *y = geom_of(m, node, "geom2");
        if (x && y && x->body == y->body)
            perp__robot_refuse(m->r, node, NULL, "pair: geoms of two bodies are expected");
        if (x && y) x->is_paired = y->is_paired = 1;
    } else if (mjcf_is(node, "exclude")) {
        mjcf_check(m, node);
        int x = MJCF_FIND(m, node, "body1", body), y = MJCF_FIND(m, node, "body2", body);
        if (x >= 0 && y >= 0) perp__add_exclude(m->r, m->body[x].link, m->body[y].link);
    } else {
        perp__robot_refuse(m->r, node, NULL, "<%.60s>: not known in contact", node->name);
    }
}

typedef struct paired {
    int condim, nfriction;
    double friction[5];
} paired;

static void apply_pair(mjcf *m, const perp__xml_node *node, void *to)
{
    paired *p = to;
    perp__read_whole(m->r, node, "condim", &p->condim);
    int n = perp__read_numbers(m->r, node, "friction", 1, 5, p->friction);
    if (n) p->nfriction = n;
}

/* MuJoCo takes the default for the second direction if only the first is given. */
static void take_direction(mjcf *m, const perp__xml_node *node, paired *p, int second)
{
    double *f = p->friction;
    if (p->nfriction != second || f[second] == f[second - 1]) return;
    f[second] = f[second - 1];
    perp__robot_ignore(m->r, node, "friction",
                       "friction of pair: its %s number counts for both directions",
                       second == 1 ? "first" : "fourth");
}

static int check_pair(mjcf *m, const perp__xml_node *node, paired *p)
{
    double *f = p->friction;
    take_direction(m, node, p, 1);
    if (p->condim == 6) take_direction(m, node, p, 4);
    if (!mjcf_check_condim(m, node, p->condim)) return 0;
    if (f[0] != f[1] || (p->condim == 6 && f[3] != f[4]))
        return perp__robot_refuse(m->r, node, "friction",
                                  "friction: one coefficient for both directions is expected");
    for (int k = 0; k < 5; k++)
        if (!(f[k] >= 0)) return perp__robot_refuse(m->r, node, "friction", "friction: it is >= 0");
    return 1;
}

void mjcf_take_contact(mjcf *m, const perp__xml_node *node)
{
    /* what the geoms have does not count */
    paired p = {.condim = 3, .friction = {1, 1, MJCF_TORSIONAL, MJCF_ROLLING, MJCF_ROLLING}};
    if (!mjcf_is(node, "pair") || m->r->status != PERP_OK || m->no_contact) return;
    const mjcf_geom *x = geom_of(m, node, "geom1"), *y = geom_of(m, node, "geom2");
    mjcf_resolve(m, node, 0, apply_pair, &p);
    if (!x || !y || x->shape < 0 || y->shape < 0) return;
    if (!check_pair(m, node, &p)) return;
    if (perp__is_ground(&m->r->to->shape[x->shape]) && perp__is_ground(&m->r->to->shape[y->shape]))
        perp__robot_refuse(m->r, node, NULL, "pair: two planes do not collide");
    else if (m->r->to->shape[x->shape].body == m->r->to->shape[y->shape].body)
        perp__robot_refuse(m->r, node, NULL, "pair: geoms of two bodies are expected");
    else
        perp__add_pair(
            m->r, x->shape, y->shape, p.condim >= 3 ? p.friction[0] : 0,
            (double[2]){p.condim >= 4 ? p.friction[2] : 0, p.condim >= 6 ? p.friction[3] : 0});
}

/* Equality ------------------------------------------------------------------------------------- */

/* Two bodies; the second is the world if it is not named. Returns 0: they do not exist. */
static int two_bodies(mjcf *m, const perp__xml_node *node, int *body)
{
    body[0] = MJCF_FIND(m, node, "body1", body);
    body[1] = 0;
    if (perp__xml_get(node, "body2")) body[1] = MJCF_FIND(m, node, "body2", body);
    if (body[0] == body[1] && body[0] >= 0)
        return perp__robot_refuse(m->r, node, NULL, "%s: two bodies are expected", node->name);
    return body[0] >= 0 && body[1] >= 0;
}

static void set_point(const mjcf *m, perp_equality *e, int side, int body, const double *point)
{
    perp__pose pose = perp__pose_none;
    memcpy(pose.p, point, sizeof pose.p);
    mjcf_in_link(m, body, &pose, &pose);
    e->body[side] = m->body[body].link;
    memcpy(e->point[side], pose.p, sizeof pose.p);
}

/* Where the second is as the first sees it, at the beginning. */
static perp__pose relative(const mjcf *m, const int *body)
{
    perp__pose back, out;
    perp__pose_inverse(&m->body[body[0]].at, &back);
    perp__pose_multiply(&back, &m->body[body[1]].at, &out);
    return out;
}

/* Bodies, points, and how the second is turned as the first sees it, by two sites. Returns 1: it
 * was so. */
static int by_sites(mjcf *m, const perp__xml_node *node, perp_equality *e)
{
    if (!perp__xml_get(node, "site1") && !perp__xml_get(node, "site2")) return 0;
    int x = MJCF_FIND(m, node, "site1", site), y = MJCF_FIND(m, node, "site2", site);
    if (x < 0 || y < 0) return 1;
    perp__pose back, turn;
    set_point(m, e, 0, m->site[x].body, m->site[x].pose.p);
    set_point(m, e, 1, m->site[y].body, m->site[y].pose.p);
    perp__pose_inverse(&m->site[y].pose, &back);
    perp__pose_multiply(&m->site[x].pose, &back, &turn);
    perp__quaternion_of_rotation(turn.R, e->rotation);
    return 1;
}

static void read_connect(mjcf *m, const perp__xml_node *node, perp_equality *e)
{
    int body[2];
    double anchor[3];
    e->kind = PERP_EQUALITY_CONNECT;
    if (by_sites(m, node, e) || !two_bodies(m, node, body)) return;
    if (!perp__read_numbers(m->r, node, "anchor", 3, 3, anchor)) {
        if (!perp__xml_get(node, "anchor"))
            perp__robot_refuse(m->r, node, NULL, "connect: anchor is missing");
        return;
    }
    perp__pose here = perp__pose_none, there, between = relative(m, body);
    memcpy(here.p, anchor, sizeof anchor);
    perp__pose_inverse(&between, &there);
    perp__pose_multiply(&there, &here, &here);
    set_point(m, e, 0, body[0], anchor);
    set_point(m, e, 1, body[1], here.p);
}

static void read_weld(mjcf *m, const perp__xml_node *node, perp_equality *e)
{
    int body[2];
    double anchor[3] = {0, 0, 0}, pose[7] = {0, 1, 0, 0, 0, 0, 0}, on_first[3];
    e->kind = PERP_EQUALITY_WELD;
    if (by_sites(m, node, e) || !two_bodies(m, node, body)) return;
    perp__read_numbers(m->r, node, "anchor", 3, 3, anchor);
    perp__read_numbers(m->r, node, "relpose", 7, 7, pose);
    if (perp__quaternion_normalise(pose + 3)) {
        memcpy(on_first, pose, sizeof on_first);
        memcpy(e->rotation, pose + 3, sizeof e->rotation);
    } else {
        perp__pose between = relative(m, body);
        perp__place3(between.R, between.p, anchor, on_first);
        perp__quaternion_of_rotation(between.R, e->rotation);
    }
    set_point(m, e, 0, body[0], on_first);
    set_point(m, e, 1, body[1], anchor);
}

int mjcf_single_joint(mjcf *m, const perp__xml_node *node, const char *attribute)
{
    int k = MJCF_FIND(m, node, attribute, joint);
    if (k < 0) return -1;
    perp_joint joint = m->r->to->body[m->joint[k].link - 1].joint;
    if (joint == PERP_JOINT_HINGE || joint == PERP_JOINT_SLIDE) return k;
    perp__robot_refuse(m->r, node, attribute, "%s: it is no hinge or slide", attribute);
    return -1;
}

/* y - y0 = sum a_k (x - x0)^k as a polynomial of x, by Horner. */
static void expand_polynomial(const double *a, double x0, double y0, double *out)
{
    memset(out, 0, 5 * sizeof *out);
    for (int k = 4; k >= 0; k--) {
        for (int i = 4; i >= 0; i--) out[i] = (i ? out[i - 1] : 0) - x0 * out[i];
        out[0] += a[k];
    }
    out[0] += y0;
}

static void read_couple(mjcf *m, const perp__xml_node *node, perp_equality *e)
{
    double a[5] = {0, 1, 0, 0, 0}, x0 = 0;
    e->kind = PERP_EQUALITY_JOINT;
    int y = mjcf_single_joint(m, node, "joint1"), x = -1;
    if (perp__xml_get(node, "joint2")) {
        x = mjcf_single_joint(m, node, "joint2");
        if (x < 0) return;
    }
    perp__read_numbers(m->r, node, "polycoef", 1, 5, a);
    if (y < 0) return;
    if (x == y) {
        perp__robot_refuse(m->r, node, "joint2", "joint: two joints are expected");
        return;
    }
    e->body[0] = m->joint[y].link;
    e->body[1] = x < 0 ? 0 : m->joint[x].link;
    if (x >= 0) x0 = m->r->to->ref[e->body[1] - 1];
    if (x < 0) a[1] = a[2] = a[3] = a[4] = 0;
    expand_polynomial(a, x0, m->r->to->ref[e->body[0] - 1], e->polynomial);
}

/* The length of a tendon is `slope` times the sum of these, each a joint's q less its ref. */
typedef struct terms {
    int n, link[2];
    double coefficient[2];
} terms;

/* Adds a tendon's joints; 0: they are too many. */
static int add_terms(const mjcf *m, int tendon, double slope, terms *sum)
{
    const perp_tendon *t = &m->r->to->tendon[m->tendon[tendon].number - 1];
    for (int i = 0; i < t->n && slope != 0; i++) {
        int k = 0;
        while (k < sum->n && sum->link[k] != t->body[i]) k++;
        if (k == 2) return 0;
        if (k == sum->n) {
            sum->link[sum->n++] = t->body[i];
            sum->coefficient[k] = 0;
        }
        sum->coefficient[k] += slope * t->coefficient[i];
    }
    return 1;
}

/* Tendons: l1 - l1_0 = sum a_k (l2 - l2_0)^k, with the initial lengths. Those of joints are sums of
 * refs. Those through space are found after the whole file was read. */
static void couple_tendons(mjcf *m, int first, int second, const double *a, perp_equality *e)
{
    e->kind = PERP_EQUALITY_TENDON;
    e->body[0] = m->tendon[first].number;
    e->body[1] = second < 0 ? 0 : m->tendon[second].number;
    memcpy(e->polynomial, a, sizeof e->polynomial);
}

/* If it is of two joints, one is a polynomial of the other. */
static void read_tendons(mjcf *m, const perp__xml_node *node, perp_equality *e)
{
    const double *ref = m->r->to->ref;
    double a[5] = {0, 1, 0, 0, 0};
    terms sum = {0};
    int first = MJCF_FIND(m, node, "tendon1", tendon),
        has_second = perp__xml_get(node, "tendon2") != NULL,
        second = has_second ? MJCF_FIND(m, node, "tendon2", tendon) : -1;
    perp__read_numbers(m->r, node, "polycoef", 1, 5, a);
    if (first < 0 || (has_second && second < 0) || m->r->status != PERP_OK) return;
    if (first == second) {
        perp__robot_refuse(m->r, node, "tendon2", "tendon: two tendons are expected");
        return;
    }
    if (!m->tendon[first].number || (has_second && !m->tendon[second].number)) {
        perp__robot_refuse(m->r, node, NULL, "tendon: nothing changes the length of one of them");
        return;
    }
    if (!has_second) a[1] = a[2] = a[3] = a[4] = 0;
    int is_space = m->tendon[first].is_spatial || (has_second && m->tendon[second].is_spatial),
        is_line = a[2] == 0 && a[3] == 0 && a[4] == 0,
        ok = !is_space && is_line && add_terms(m, first, 1, &sum) &&
             (!has_second || add_terms(m, second, -a[1], &sum));
    if (!ok || !sum.n || sum.coefficient[0] == 0 || (sum.n == 2 && sum.coefficient[1] == 0)) {
        couple_tendons(m, first, second, a, e);
        return;
    }
    double c = sum.coefficient[0], line[5] = {a[0] / c};
    e->kind = PERP_EQUALITY_JOINT;
    e->body[0] = sum.link[0];
    if (sum.n == 2) {
        e->body[1] = sum.link[1];
        line[1] = -sum.coefficient[1] / c;
    }
    expand_polynomial(line, sum.n == 2 ? ref[sum.link[1] - 1] : 0, ref[sum.link[0] - 1],
                      e->polynomial);
}

void mjcf_place_couples(mjcf *m, const double *length)
{
    perp_robot *to = m->r->to;
    for (int i = 0; i < to->is.nequality; i++) {
        perp_equality *e = &to->equality[i];
        double a[5];
        if (e->kind != PERP_EQUALITY_TENDON) continue;
        memcpy(a, e->polynomial, sizeof a);
        expand_polynomial(a, e->body[1] ? length[e->body[1] - 1] : 0, length[e->body[0] - 1],
                          e->polynomial);
    }
}

static void apply_active(mjcf *m, const perp__xml_node *node, void *to)
{
    mjcf_read_flag(m, node, "active", to);
}

void mjcf_read_equality(mjcf *m, const perp__xml_node *node)
{
    static const struct {
        const char *name;
        void (*read)(mjcf *, const perp__xml_node *, perp_equality *);
    } known[] = {{"connect", read_connect},
                 {"weld", read_weld},
                 {"joint", read_couple},
                 {"tendon", read_tendons}};
    perp_equality e = {0};
    int active = 1, n = m->r->diag->errors;
    mjcf_resolve(m, node, 0, apply_active, &active);
    if (!active || m->no_equality) {
        perp__robot_ignore(m->r, node, NULL, "<%.60s> of equality: it is not active", node->name);
        return;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!mjcf_is(node, known[i].name)) continue;
        known[i].read(m, node, &e);
        if (m->r->diag->errors > n) return;
        if (e.body[0] != e.body[1])
            perp__add_equality(m->r, &e);
        else if (e.body[0] || m->r->status == PERP_OK) /* else what it names was wrong */
            perp__robot_refuse(m->r, node, NULL, "%s: two bodies are expected", node->name);
        return;
    }
    perp__robot_refuse(m->r, node, NULL, "<%.60s> of equality is not to be had", node->name);
}

/* Keyframes ------------------------------------------------------------------------------------ */

/* q where the file begins. */
static void first_q(const mjcf *m, double *q)
{
    const perp_robot *to = m->r->to;
    int k = 0;
    for (int i = 0; i < to->is.nbody; i++) {
        const perp_body *is = &to->body[i];
        if (is->joint == PERP_JOINT_HINGE || is->joint == PERP_JOINT_SLIDE) q[k++] = to->ref[i];
        if (is->joint == PERP_JOINT_FREE)
            for (int d = 0; d < 3; d++) q[k++] = is->position[d];
        if (is->joint != PERP_JOINT_FREE && is->joint != PERP_JOINT_BALL) continue;
        for (int d = 0; d < 4; d++)
            q[k++] = is->joint == PERP_JOINT_FREE ? is->rotation[d] : d == 0;
    }
}

static int count_entries(const mjcf *m, int is_v)
{
    static const int sizes[][2] = {
#define SIZE(name, word, nq, nv, text) {nq, nv},
        PERP_JOINT_LIST(SIZE)
#undef SIZE
    };
    int n = 0;
    for (int i = 0; i < m->r->to->is.nbody; i++) n += sizes[m->r->to->body[i].joint][is_v];
    return n;
}

/* Exactly n numbers, where there are any. */
static double *key_numbers(mjcf *m, const perp__xml_node *node, const char *attribute, int n)
{
    double *x;
    PERP_TAKE(&m->r->to->arena, x, n + 1);
    if (!x) {
        perp__robot_no_memory(m->r);
        return NULL;
    }
    if (n && strcmp(attribute, "qpos") == 0) first_q(m, x);
    if (perp__xml_get(node, attribute) && perp__xml_get(node, attribute)[0])
        perp__read_numbers(m->r, node, attribute, n, n, x);
    return x;
}

/* Activations are those of the actuators that have one, in their order. */
static double *key_activations(mjcf *m, const perp__xml_node *node)
{
    const perp_robot *to = m->r->to;
    double *act = NULL;
    int n = 0;
    for (int i = 0; i < to->is.nactuator; i++) n += to->actuator[i].activation != 0;
    double *given = key_numbers(m, node, "act", n);
    if (given) PERP_TAKE(&m->r->to->arena, act, to->is.nactuator + 1);
    if (!act) {
        perp__robot_no_memory(m->r);
        return NULL;
    }
    for (int i = 0; i < to->is.nactuator; i++) act[i] = to->actuator[i].activation ? *given++ : 0;
    return act;
}

void mjcf_read_key(mjcf *m, const perp__xml_node *node)
{
    perp_robot *to = m->r->to;
    if (!mjcf_is(node, "key")) {
        perp__robot_refuse(m->r, node, NULL, "<%.60s>: key is expected", node->name);
        return;
    }
    mjcf_check(m, node);
    if (m->r->status != PERP_OK) return; /* how many numbers it needs is not known */
    const char *name = perp__xml_get(node, "name");
    perp__key key = {.name = name ? name : "",
                     .q = key_numbers(m, node, "qpos", count_entries(m, 0)),
                     .v = key_numbers(m, node, "qvel", count_entries(m, 1)),
                     .u = key_numbers(m, node, "ctrl", to->is.nactuator),
                     .act = key_activations(m, node)};
    if (m->r->status == PERP_ERR_MEMORY) return;
    if (perp__arena_grow(&to->arena, &to->key, &to->ckey, to->nkey + 1, sizeof *to->key))
        to->key[to->nkey++] = key;
    else
        perp__robot_no_memory(m->r);
}
