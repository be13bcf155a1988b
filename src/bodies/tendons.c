/* Tendons: sums of joints that are bounded, rub, give way and are pulled as one. What is linear in a tendon's length and rate is a row of the equalities that
 * gives way, so no gain is too stiff for a step; what has corners is a row of the friction problem. */

#include "bodies/bodies.h"
#include "bodies/joints.h"

#include <math.h>
#include <string.h>

/* Description ---------------------------------------------------------------------------------------- */

static const char *joints_fault(const perp_bodies *b, const perp_tendon *t)
{
    for (int i = 0; i < t->n; i++) {
        if (t->body[i] < 1 || t->body[i] >= b->n || !perp__is_single(&b->link[t->body[i]]))
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
    if (t->n < 1 || !t->body || !t->coefficient) return "a joint is expected";
    if (perp__is_no_range(t->lower, t->upper)) return "its lower limit must be below the upper one";
    if (!(t->friction >= 0) || !(t->stiffness >= 0) || !(t->damping >= 0) ||
        !isfinite(t->friction + t->stiffness + t->damping + t->rest))
        return "friction, stiffness and damping are >= 0, and all of it finite";
    return joints_fault(b, t);
}

static int copy_joints(perp_bodies *b, const perp_tendon *from, perp_tendon *to)
{
    int *body;
    double *coefficient;
    PERP_TAKE(&b->arena, body, from->n);
    PERP_TAKE(&b->arena, coefficient, from->n);
    if (!b->joints.mark) PERP_TAKE(&b->arena, b->joints.mark, b->nv + 1);
    if (!body || !coefficient || !b->joints.mark) return 0;
    memcpy(body, from->body, (size_t)from->n * sizeof *body);
    memcpy(coefficient, from->coefficient, (size_t)from->n * sizeof *coefficient);
    *to = *from;
    to->body = body;
    to->coefficient = coefficient;
    return 1;
}

perp_status perp_bodies_add_tendon(perp_bodies *b, const perp_tendon *tendon, perp_diag *diag)
{
    if (!b || !tendon) return PERP_ERR_ARG;
    perp__joints *j = &b->joints;
    const char *fault = fault_of(b, tendon);
    if (fault)
        return perp__refuse(diag, PERP_ERR_MODEL, perp__in(NULL), "tendon %d: %s\n", j->ntendon,
                            fault);
    if (!perp__grow(&j->tendon, &j->ctendon, j->ntendon + 1, sizeof *j->tendon) ||
        !perp__grow(&j->kept, &j->ckept, perp__joints_kept(b) + 3, sizeof *j->kept) ||
        !copy_joints(b, tendon, &j->tendon[j->ntendon]))
        return perp__out_of_memory(diag, "bodies");
    memset(j->kept + perp__joints_kept(b), 0, 3 * sizeof *j->kept);
    if (tendon->stiffness > 0 || tendon->damping > 0) b->equal.rows++, b->equal.soft++;
    j->ntendon++;
    return PERP_OK;
}

/* Lengths -------------------------------------------------------------------------------------------- */

static double sum_of(const perp_bodies *b, const perp_tendon *t, const double *x, int is_v)
{
    double sum = 0;
    for (int i = 0; i < t->n; i++) {
        const perp__link *l = &b->link[t->body[i]];
        sum += t->coefficient[i] * x[is_v ? l->v : l->q];
    }
    return sum;
}

double perp__tendon_length(const perp_bodies *b, int tendon)
{
    return sum_of(b, &b->joints.tendon[tendon - 1], b->here, 0);
}

double perp__tendon_rate(const perp_bodies *b, int tendon, const double *v)
{
    return sum_of(b, &b->joints.tendon[tendon - 1], v, 1);
}

double perp_bodies_tendon_length(const perp_bodies *b, int tendon)
{
    if (!b || tendon < 0 || tendon >= b->joints.ntendon) return (double)NAN;
    return sum_of(b, &b->joints.tendon[tendon], b->q, 0);
}

void perp__tendon_pull(const perp_bodies *b, int tendon, double force, double *tau)
{
    const perp_tendon *t = &b->joints.tendon[tendon - 1];
    for (int i = 0; i < t->n; i++) tau[b->link[t->body[i]].v] += t->coefficient[i] * force;
}

/* A step ----------------------------------------------------------------------------------------------- */

/* With r = h force, force = wanted - slope G v: G v - wanted/slope + r/(h slope) = 0. */
static void state_row(perp_bodies *b, int row, int tendon, double gear, double wanted, double slope)
{
    perp__equalities *e = &b->equal;
    perp__tendon_pull(b, tendon, gear, e->G + (size_t)row * (size_t)b->nv);
    e->error[row] = -b->o.step * wanted / slope;
    e->size[row] = fabs(e->error[row]);
    e->compliance[row] = 1 / (b->o.step * slope);
}

void perp__tendons_state(perp_bodies *b, int row)
{
    const perp__joints *j = &b->joints;
    for (int i = 0; i < j->ntendon; i++) {
        const perp_tendon *t = &j->tendon[i];
        double slope = t->damping + b->o.step * t->stiffness;
        if (slope > 0)
            state_row(b, row++, i + 1, 1, -t->stiffness * (perp__tendon_length(b, i + 1) - t->rest),
                      slope);
    }
    for (int i = 0; i < j->nu; i++)
        if (perp__drive_is_soft(b, i))
            state_row(b, row++, j->actuator[i].tendon, j->actuator[i].gear,
                      perp__drive_wanted(b, i), perp__drive_slope(b, &j->actuator[i]));
}

static perp__law law_of(const perp_bodies *b, int i, perp__law_kind kind, int kept)
{
    const perp_tendon *t = &b->joints.tendon[i];
    return (perp__law){.kind = kind,
                       .body = t->body[0],
                       .at = b->link[t->body[0]].v,
                       .tendon = i + 1,
                       .kept = 3 * b->nv + b->joints.nu + 3 * i + kept,
                       .J = 1};
}

int perp__tendons_dry(perp_bodies *b)
{
    for (int i = 0; i < b->joints.ntendon; i++) {
        perp__law row = law_of(b, i, PERP__DRY, 2);
        row.bound = b->o.step * b->joints.tendon[i].friction;
        if (row.bound > 0 && !perp__joints_add_row(b, row)) return 0;
    }
    return 1;
}

int perp__tendons_limits(perp_bodies *b, const double *v)
{
    int added = 0;
    for (int i = 0; i < b->joints.ntendon; i++) {
        const perp_tendon *t = &b->joints.tendon[i];
        double length = perp__tendon_length(b, i + 1), rate = perp__tendon_rate(b, i + 1, v);
        for (int side = 0; side < 2 && (t->lower != 0 || t->upper != 0); side++) {
            perp__law row = law_of(b, i, PERP__LIMIT, side);
            row.J = side ? -1 : 1;
            row.shift = row.J * (length - (side ? t->upper : t->lower)) / b->o.step;
            if (!(row.shift + row.J * rate < 0) || perp__joints_is_stated(&b->joints, row.kept))
                continue;
            if (!perp__joints_add_row(b, row)) return -1;
            added++;
        }
    }
    return added;
}

/* Verdict ------------------------------------------------------------------------------------------------ */

static void judge_pull(perp_bodies *b, const perp_tendon *t, double force, double size)
{
    for (int i = 0; i < t->n; i++) {
        int at = b->link[t->body[i]].v;
        b->joints.force[at] += t->coefficient[i] * force;
        b->joints.size[at] += fabs(t->coefficient[i]) * size;
    }
}

void perp__tendons_judge(perp_bodies *b, const double *v)
{
    for (int i = 0; i < b->joints.ntendon; i++) {
        const perp_tendon *t = &b->joints.tendon[i];
        double rate = perp__tendon_rate(b, i + 1, v),
               length = perp__tendon_length(b, i + 1) + b->o.step * rate;
        judge_pull(b, t, -t->stiffness * (length - t->rest) - t->damping * rate,
                   t->stiffness * (fabs(length) + fabs(t->rest)) + t->damping * fabs(rate));
    }
}

double perp__tendon_terms(const perp_bodies *b, int tendon)
{
    const perp_tendon *t = &b->joints.tendon[tendon - 1];
    double sum = 0;
    for (int i = 0; i < t->n; i++) {
        int at = b->link[t->body[i]].v;
        sum += fabs(t->coefficient[i]) * b->scale[at] * b->over[at];
    }
    return sum;
}

void perp__law_judge(perp_bodies *b, const perp__law *law, double force)
{
    if (law->tendon) {
        judge_pull(b, &b->joints.tendon[law->tendon - 1], force, fabs(force));
        return;
    }
    b->joints.force[law->at] += force;
    b->joints.size[law->at] += fabs(force);
}

void perp__tendon_judge_drive(perp_bodies *b, int tendon, double force, double size)
{
    judge_pull(b, &b->joints.tendon[tendon - 1], force, size);
}
