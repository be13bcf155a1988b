/* Tendons: sums of joints, or paths through space, with limits, friction, compliance and actuation
 * of the whole. Laws linear in a tendon's length and rate are a compliant row of the equalities, so
 * no gain is too stiff for a step. Laws with corners are a row of the friction problem. */

#include "bodies/bodies.h"
#include "bodies/joints.h"
#include "bodies/space.h"

#include <math.h>
#include <string.h>

/* Description ---------------------------------------------------------------------------------- */

static const char *joints_fault(const perp_bodies *b, const perp_tendon *t)
{
    for (int i = 0; i < t->n; i++) {
        if (t->body[i] < 1 || t->body[i] >= b->scene->n || !perp__is_single(&b->link[t->body[i]]))
            return "a tendon is of hinges and slides";
        if (t->coefficient[i] == 0 || !isfinite(t->coefficient[i]))
            return "a coefficient is finite and not 0";
        for (int k = 0; k < i; k++)
            if (t->body[k] == t->body[i]) return "each joint is named once";
    }
    return NULL;
}

static const char *fault_of(const perp_bodies *b, const perp_tendon *t)
{
    int has_joints = t->n > 0 && t->body && t->coefficient, has_path = t->npath > 0 && t->path;
    if (t->n < 0 || t->npath < 0 || has_joints == has_path)
        return "joints or a path through space are expected";
    if (!perp__is_limit(&t->range)) return "its lower limit must not be above the upper one";
    if (!(t->friction >= 0) || !(t->stiffness >= 0) || !(t->damping >= 0) || !(t->slack >= 0) ||
        !isfinite(t->friction + t->stiffness + t->damping + t->rest + t->slack))
        return "friction, stiffness, damping and slack are >= 0, and all of it finite";
    return has_path ? perp__path_fault(b, t->path, t->npath) : joints_fault(b, t);
}

static int take_joints(perp_bodies *b, const perp_tendon *t, perp__strand *s)
{
    s->n = t->n;
    PERP_TAKE(&b->scene->arena, s->at, t->n);
    PERP_TAKE(&b->arena, s->c, t->n);
    if (!s->at || !s->c) return 0;
    for (int i = 0; i < t->n; i++) {
        s->at[i] = b->link[t->body[i]].v;
        s->c[i] = t->coefficient[i];
    }
    return 1;
}

static int take_path(perp_bodies *b, const perp_tendon *t, perp__strand *s)
{
    perp_path_point *path;
    int *mark = b->joints->mark, n = perp__path_velocities(b, t->path, t->npath, mark);
    PERP_TAKE(&b->scene->arena, path, t->npath);
    PERP_TAKE(&b->scene->arena, s->at, n + 1);
    PERP_TAKE(&b->arena, s->piece, t->npath);
    PERP_TAKE(&b->arena, s->c, n + 1);
    if (!path || !s->piece || !s->at || !s->c) return 0;
    for (int i = 0; i < t->npath; i++) {
        path[i] = t->path[i];
        if (!perp__quaternion_normalise(path[i].rotation)) path[i].rotation[0] = 1;
    }
    for (int k = 0; k < b->scene->nv; k++)
        if (mark[k]) s->at[s->n++] = k;
    s->path = path;
    s->npath = t->npath;
    return 1;
}

int perp__strand_copy(perp_bodies *b, const perp__strand *from, perp__strand *to)
{
    *to = *from;
    PERP_TAKE(&b->arena, to->c, from->n + 1);
    if (from->path) PERP_TAKE(&b->arena, to->piece, from->npath);
    if (!to->c || (from->path && !to->piece)) return 0;
    memcpy(to->c, from->c, (size_t)from->n * sizeof *to->c);
    return perp__strands_room(b);
}

int perp__strands_room(perp_bodies *b)
{
    perp__joints *j = b->joints;
    if (!j->mark) PERP_TAKE(&b->arena, j->mark, b->scene->nv + 1);
    if (!j->dense) PERP_TAKE(&b->arena, j->dense, b->scene->nv + 1);
    return j->mark && j->dense;
}

/* What decides the steps. */
static void note(perp__scene *scene, const perp_tendon *t, const perp__strand *s)
{
    const double number[] = {t->range.lower, t->range.upper, t->friction, t->stiffness,
                             t->damping,     t->rest,        t->slack};
    perp__scene_note(scene, number, (int)(sizeof number / sizeof *number), t->range.limited);
    if (!s->path) perp__scene_note(scene, s->c, s->n, s->at[0]);
    for (int i = 0; i < s->npath; i++) {
        const perp_path_point *x = &s->path[i];
        perp__scene_note(scene, x->position, 3, (int)x->kind);
        perp__scene_note(scene, x->rotation, 4, x->body);
        perp__scene_note(scene, &x->radius, 1, x->has_side);
        perp__scene_note(scene, x->side, 3, x->side_body);
        perp__scene_note(scene, &x->divisor, 1, 0);
    }
}

static int take_strand(perp_bodies *b, const perp_tendon *t, perp__strand *s)
{
    *s = (perp__strand){0};
    return perp__strands_room(b) && (t->npath ? take_path(b, t, s) : take_joints(b, t, s));
}

perp_status perp_bodies_add_tendon(perp_bodies *b, const perp_tendon *tendon, perp_diag *diag)
{
    if (!b || !tendon) return PERP_ERR_ARG;
    perp__joints *j = b->joints;
    if (!perp__scene_grows(b->scene, diag)) return PERP_ERR_ARG;
    const char *fault = fault_of(b, tendon);
    if (!fault && perp__grow(&j->tendon, &j->ctendon, j->ntendon + 1, sizeof *j->tendon) &&
        perp__grow(&j->strand, &j->cstrand, j->ntendon + 1, sizeof *j->strand) &&
        perp__grow(&j->kept, &j->ckept, perp__joints_kept(b) + PERP__OF_TENDON, sizeof *j->kept) &&
        take_strand(b, tendon, &j->strand[j->ntendon])) {
        if (!j->strand[j->ntendon].n) fault = "nothing on its path moves";
    } else if (!fault) {
        return perp__out_of_memory(diag, "bodies");
    }
    if (fault)
        return perp__refuse(diag, PERP_ERR_MODEL, perp__in(NULL), "tendon %d: %s\n", j->ntendon + 1,
                            fault);
    memset(j->kept + perp__joints_kept(b), 0, PERP__OF_TENDON * sizeof *j->kept);
    j->tendon[j->ntendon] = *tendon;
    j->tendon[j->ntendon].path = NULL; /* the caller's; ours belongs to the strand */
    j->tendon[j->ntendon].body = NULL;
    j->tendon[j->ntendon].coefficient = NULL;
    if ((tendon->stiffness > 0 && tendon->slack == 0) || tendon->damping > 0) {
        b->equal->rows++;
        b->equal->soft++;
    }
    note(b->scene, tendon, &j->strand[j->ntendon]);
    j->ntendon++;
    return PERP_OK;
}

/* Lengths -------------------------------------------------------------------------------------- */

void perp__tendons_place(perp_bodies *b)
{
    for (int i = 0; i < b->joints->ntendon; i++)
        if (b->joints->strand[i].path) perp__path_follow(b, &b->joints->strand[i]);
}

/* Of joints: at q. */
static double length_at(const perp_bodies *b, const perp__strand *s, const double *q)
{
    double sum = 0;
    for (int i = 0; i < s->n && !s->path && !s->ball; i++)
        sum += s->c[i] * q[b->link[b->scene->body_of[s->at[i]]].q];
    return s->path || s->ball ? s->length : sum;
}

double perp__tendon_length(const perp_bodies *b, int tendon)
{
    return length_at(b, perp__strand_of(b->joints, tendon), b->here);
}

double perp__tendon_length_terms(const perp_bodies *b, int tendon)
{
    const perp__strand *s = perp__strand_of(b->joints, tendon);
    double sum = 0;
    if (s->path || s->ball) return fabs(s->length);
    for (int i = 0; i < s->n; i++)
        sum += fabs(s->c[i] * b->here[b->link[b->scene->body_of[s->at[i]]].q]);
    return sum;
}

double perp__tendon_rate_terms(const perp_bodies *b, int tendon, const double *v)
{
    const perp__strand *s = perp__strand_of(b->joints, tendon);
    double sum = 0;
    for (int i = 0; i < s->n; i++) sum += fabs(s->c[i] * v[s->at[i]]);
    return sum;
}

double perp__tendon_rate(const perp_bodies *b, int tendon, const double *v)
{
    const perp__strand *s = perp__strand_of(b->joints, tendon);
    double sum = 0;
    for (int i = 0; i < s->n; i++) sum += s->c[i] * v[s->at[i]];
    return sum;
}

double perp_bodies_tendon_length(perp_bodies *b, int tendon)
{
    if (!b || tendon < 1 || tendon > b->joints->ntendon) return (double)NAN;
    perp__strand *s = &b->joints->strand[tendon - 1];
    if (s->path) {
        perp__bodies_place(b, b->q);
        perp__path_follow(b, s);
    }
    return length_at(b, s, b->q);
}

perp_status perp_bodies_tendon_jacobian(perp_bodies *b, int tendon, double *J)
{
    if (!b || !J || isnan(perp_bodies_tendon_length(b, tendon))) return PERP_ERR_ARG;
    const perp__strand *s = &b->joints->strand[tendon - 1];
    memset(J, 0, (size_t)b->scene->nv * sizeof *J);
    for (int i = 0; i < s->n; i++) J[s->at[i]] = s->c[i];
    return PERP_OK;
}

void perp__tendon_pull(const perp_bodies *b, int tendon, double force, double *tau)
{
    const perp__strand *s = &b->joints->strand[tendon - 1];
    for (int i = 0; i < s->n; i++) tau[s->at[i]] += s->c[i] * force;
}

/* A step --------------------------------------------------------------------------------------- */

/* With r = h force, force = wanted - slope G v: G v - wanted/slope + r/(h slope) = 0. */
static void state_row(perp_bodies *b, int row, int tendon, double gear, double wanted, double slope)
{
    perp__equalities *e = b->equal;
    perp__tendon_pull(b, tendon, gear, e->G + (size_t)row * (size_t)b->scene->nv);
    e->error[row] = -b->h * wanted / slope;
    e->size[row] = fabs(e->error[row]);
    e->compliance[row] = 1 / (b->h * slope);
}

void perp__tendons_state(perp_bodies *b, int row)
{
    const perp__joints *j = b->joints;
    for (int i = 0; i < j->ntendon; i++) {
        const perp_tendon *t = &j->tendon[i];
        double stiffness = t->slack > 0 ? 0 : t->stiffness, slope = t->damping + b->h * stiffness;
        if (slope > 0)
            state_row(b, row++, i + 1, 1, -stiffness * (perp__tendon_length(b, i + 1) - t->rest),
                      slope);
    }
    for (int i = 0; i < j->nu; i++)
        if (perp__drive_is_soft(b, i))
            state_row(b, row++, j->actuator[i].tendon, j->actuator[i].gear, j->pull[i].wanted,
                      j->pull[i].slope);
}

static perp__law law_of(const perp_bodies *b, int i, perp__law_kind kind, int kept)
{
    int at = b->joints->strand[i].at[0];
    return (perp__law){.kind = kind,
                       .body = b->scene->body_of[at],
                       .at = at,
                       .tendon = i + 1,
                       .kept = 3 * b->scene->nv + b->joints->nu + PERP__OF_TENDON * i + kept,
                       .J = 1};
}

int perp__tendons_dry(perp_bodies *b)
{
    for (int i = 0; i < b->joints->ntendon; i++) {
        perp__law row = law_of(b, i, PERP__DRY, 2);
        row.bound = b->h * b->joints->tendon[i].friction;
        if (row.bound > 0 && !perp__joints_add_row(b, row)) return 0;
    }
    return 1;
}

/* A bound, or a compliant one: as a limit, J (length - bound) + compliance h^2 force >= 0. Returns
 * 1 if it was added, -1 if memory is out. */
static int add_bound(perp_bodies *b, int i, int kept, double J, double bound, double stiffness,
                     const double *v)
{
    double h = b->h;
    perp__law row = law_of(b, i, PERP__LIMIT, kept);
    row.J = J;
    row.shift = J * (perp__tendon_length(b, i + 1) - bound) / h;
    if (stiffness > 0) row.compliance = 1 / (h * h * stiffness);
    if (!(row.shift + J * perp__tendon_rate(b, i + 1, v) < 0) ||
        perp__joints_is_stated(b->joints, row.kept))
        return 0;
    return perp__joints_add_row(b, row) ? 1 : -1;
}

/* A spring with slack is bounds that give way. */
int perp__tendons_limits(perp_bodies *b, const double *v)
{
    int added = 0;
    for (int i = 0; i < b->joints->ntendon; i++) {
        const perp_tendon *t = &b->joints->tendon[i];
        int has_limits = t->range.limited,
            has_slack = t->slack > 0 && t->stiffness > 0 && !b->c->is_still;
        for (int side = 0; side < 2; side++) {
            double J = side ? -1 : 1;
            int limit = has_limits
                            ? add_bound(b, i, side, J, side ? t->range.upper : t->range.lower, 0, v)
                            : 0,
                spring = has_slack ? add_bound(b, i, 3 + side, J, t->rest + side * t->slack,
                                               t->stiffness, v)
                                   : 0;
            if (limit < 0 || spring < 0) return -1;
            added += limit + spring;
        }
    }
    return added;
}

/* Verdict -------------------------------------------------------------------------------------- */

/* Of joints it acts in them, through space on the bodies at the ends of its pieces. */
static void judge_pull(perp_bodies *b, int tendon, double force, double size)
{
    const perp__strand *s = perp__strand_of(b->joints, tendon);
    if (s->path) {
        perp__path_load(b, s, force, size);
        return;
    }
    for (int k = 0; k < s->n; k++) {
        b->joints->force[s->at[k]] += s->c[k] * force;
        b->joints->size[s->at[k]] += fabs(s->c[k]) * size;
    }
}

void perp__tendons_judge(perp_bodies *b, const double *v)
{
    for (int i = 0; i < b->joints->ntendon; i++) {
        const perp_tendon *t = &b->joints->tendon[i];
        double stiffness = t->slack > 0 ? 0 : t->stiffness, rate = perp__tendon_rate(b, i + 1, v),
               length = perp__tendon_length(b, i + 1) + b->h * rate;
        judge_pull(b, i + 1, -stiffness * (length - t->rest) - t->damping * rate,
                   stiffness * (fabs(length) + fabs(t->rest)) + t->damping * fabs(rate));
    }
}

double perp__tendon_terms(const perp_bodies *b, int tendon)
{
    const perp__strand *s = perp__strand_of(b->joints, tendon);
    double sum = 0;
    for (int i = 0; i < s->n; i++) sum += fabs(s->c[i]) * b->scale[s->at[i]] * b->over[s->at[i]];
    return sum;
}

void perp__law_judge(perp_bodies *b, const perp__law *law, double force)
{
    if (law->tendon) {
        judge_pull(b, law->tendon, force, fabs(force));
        return;
    }
    b->joints->force[law->at] += force;
    b->joints->size[law->at] += fabs(force);
}

void perp__tendon_judge_drive(perp_bodies *b, int tendon, double force, double size)
{
    judge_pull(b, tendon, force, size);
}
