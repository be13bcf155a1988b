/* Impacts of bodies (docs/bodies.md). Two shapes have an impact where a contact of theirs closes,
 * and approached faster than the forces of one step give. A contact that is not yet closed when a
 * step ends, and still approaches so, has the rest of its impulse with the next step. */

#include "base/tol.h"
#include "bodies/bodies.h"
#include "bodies/space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const perp_impact nothing = {
    .pair = -1, .shape = {-1, -1}, .body = {-1, -1}, .point = {NAN, NAN, NAN}};

void perp__body_impacts_create(perp_bodies *b)
{
    b->impacts.largest = nothing;
}

void perp__body_impacts_clear(perp_bodies *b)
{
    free(b->impacts.impact);
    free(b->impacts.landing);
    free(b->impacts.begun);
}

void perp__body_impacts_forget(perp_bodies *b)
{
    b->impacts.n = b->impacts.nlanding = b->impacts.nbegun = 0;
}

void perp__body_impacts_restart(perp_bodies *b)
{
    perp__body_impacts_forget(b);
    b->impacts.count = 0;
    b->impacts.energy = b->impacts.all_terms = 0;
    b->impacts.largest = nothing;
}

void perp__body_impacts_pass(perp_bodies *b, perp__pass *pass)
{
    perp__body_impacts *x = &b->impacts;
    perp_impact *l = &x->largest;
    double *number[] = {&x->energy, &x->all_terms, &l->time,     &l->impulse, &l->friction,
                        &l->energy, &l->point[0],  &l->point[1], &l->point[2]};
    perp__pass_longs(pass, &x->count, 1);
    for (size_t k = 0; k < sizeof number / sizeof *number; k++)
        perp__pass_doubles(pass, number[k], 1);
    perp__pass_ints(pass, l->shape, 2, -1, b->scene->nshape - 1);
    perp__pass_ints(pass, l->body, 2, -1, b->scene->n - 1);
    int n = perp__pass_count(pass, x->nlanding, sizeof(double));
    if (pass->mode == PERP__LOOK && !perp__grow(&x->landing, &x->clanding, n, sizeof *x->landing)) {
        pass->is_full = 1;
        n = 0;
    }
    for (int k = 0; k < n; k++) {
        perp__landing *one = &x->landing[k];
        perp__pass_ints(pass, one->shape, 2, 0, b->scene->nshape - 1);
        perp__pass_doubles(pass, &one->time, 1);
        perp__pass_doubles(pass, &one->impulse, 1);
        perp__pass_doubles(pass, &one->energy, 1);
        perp__pass_doubles(pass, &one->terms, 1);
        perp__pass_doubles(pass, one->friction, 3);
        perp__pass_doubles(pass, one->point, 3);
    }
    if (pass->mode != PERP__LOAD) return;
    x->nlanding = n;
    x->n = x->nbegun = 0;
}

int perp__body_impacts_begin(perp_bodies *b)
{
    perp__body_impacts *x = &b->impacts;
    x->n = 0;
    x->terms = 0;
    x->nbegun = 0;
    if (!perp__grow(&x->begun, &x->cbegun, x->nlanding, sizeof *x->begun)) return 0;
    if (x->nlanding) memcpy(x->begun, x->landing, (size_t)x->nlanding * sizeof *x->begun);
    x->nbegun = x->nlanding;
    return 1;
}

void perp__body_impacts_go_back(perp_bodies *b)
{
    perp__body_impacts *x = &b->impacts;
    x->n = 0;
    x->terms = 0;
    if (x->nbegun) memcpy(x->landing, x->begun, (size_t)x->nbegun * sizeof *x->landing);
    x->nlanding = x->nbegun;
}

/* Contacts of a step --------------------------------------------------------------------------- */

/* Contact i's normal speed before the step, > 0: they approach. */
static double approach_of(const perp_bodies *b, int i)
{
    return -perp__contact_value(b, PERP__BEFORE)[3 * i];
}

/* The same after the step: of PERP__U, or of PERP__Q, which has no impulses. */
static double approach_after(const perp_bodies *b, int which, int i)
{
    return perp__contact_value(b, PERP__SHIFT)[3 * i] - perp__contact_value(b, which)[3 * i];
}

/* By how much the forces of the step alone make it approach faster; with the part that tells this
 * from an equal speed. */
static double own_speed(const perp_bodies *b, int i)
{
    double own = approach_after(b, PERP__Q, i) - approach_of(b, i);
    return own > 0 ? own * (1 + b->scene->o.tol) : 0;
}

/* Did the same contact have an impulse in the step before? */
static int was_closed(const perp_bodies *b, const perp_contact *t, int i)
{
    for (int n = 0, k = i < b->nbefore ? i : 0; n < b->nbefore; n++, k++) {
        if (k == b->nbefore) k = 0;
        const perp_contact *old = &b->before[k];
        if (old->feature == t->feature && old->shape[0] == t->shape[0] &&
            old->shape[1] == t->shape[1])
            return old->impulse[0] > 0;
    }
    return 0;
}

static perp__landing *landing_of(perp__body_impacts *x, const perp_contact *t)
{
    for (int k = 0; k < x->nlanding; k++)
        if (x->landing[k].shape[0] == t->shape[0] && x->landing[k].shape[1] == t->shape[1])
            return &x->landing[k];
    return NULL;
}

/* Adds the energy that a row's impulse r took: minus its work at the mean of the velocities before
 * and after. row: of the friction problem; from: its first direction that counts. */
static void lose(const perp_bodies *b, int row, int from, const double *r, perp__landing *to)
{
    const double *after = perp__contact_value(b, PERP__U) + 3 * row,
                 *shift = perp__contact_value(b, PERP__SHIFT) + 3 * row;
    double before[3];
    perp__bodies_touch_speed(b, row, b->v, before);
    for (int d = from; d < 3; d++) {
        double old = before[d] - shift[d], new = after[d] - shift[d];
        to->energy -= r[d] * (old + new) / 2;
        to->terms += fabs(r[d]) * (fabs(old) + fabs(new)) / 2;
    }
}

static void add_contact(const perp_bodies *b, int i, perp__landing *to)
{
    const perp_contact *t = &b->touch[i];
    to->impulse += t->impulse[0];
    perp__move3(to->point, t->impulse[0], t->point, to->point);
    for (int d = 0; d < 2; d++)
        perp__move3(to->friction, t->impulse[1 + d], t->tangent[d], to->friction);
    lose(b, i, 0, t->impulse, to);
    for (int k = 0; k < b->c->nmoment; k++) {
        const perp__moment *m = &b->c->moment[k];
        const double turn[3] = {0, t->moment[m->rolls ? 1 : 0], m->rolls ? t->moment[2] : 0};
        if (m->touch == i) lose(b, perp__first_moment(b) + k, 1, turn, to);
    }
}

/* Records -------------------------------------------------------------------------------------- */

static int record(perp_bodies *b, const perp__landing *of)
{
    perp__body_impacts *x = &b->impacts;
    if (!perp__grow(&x->impact, &x->capacity, x->n + 1, sizeof *x->impact)) return 0;
    perp_impact *impact = &x->impact[x->n++];
    *impact = nothing;
    impact->time = of->time;
    impact->impulse = of->impulse;
    impact->friction = perp__length3(of->friction);
    impact->energy = perp__beyond_tol(of->energy, of->terms, b->scene->o.tol);
    for (int side = 0; side < 2; side++) {
        impact->shape[side] = of->shape[side];
        impact->body[side] = b->scene->shape[of->shape[side]].body;
    }
    for (int d = 0; d < 3; d++) impact->point[d] = of->point[d] / of->impulse;
    x->terms += of->terms;
    return 1;
}

/* Does a contact of these shapes that has an impulse still approach when the step ends? */
static int is_open(const perp_bodies *b, const perp__landing *of)
{
    for (int i = 0; i < b->ntouch; i++) {
        const perp_contact *t = &b->touch[i];
        if (t->shape[0] != of->shape[0] || t->shape[1] != of->shape[1] || !(t->impulse[0] > 0))
            continue;
        if (approach_after(b, PERP__U, i) > own_speed(b, i)) return 1;
    }
    return 0;
}

/* Of the landings, the first nold began with the step before: they end. The others end if they
 * can. */
static int finish(perp_bodies *b, int nold)
{
    perp__body_impacts *x = &b->impacts;
    int n = 0;
    for (int k = 0; k < x->nlanding; k++) {
        perp__landing one = x->landing[k];
        if (k >= nold && is_open(b, &one))
            x->landing[n++] = one;
        else if (!record(b, &one))
            return 0;
    }
    x->nlanding = n;
    return 1;
}

int perp__body_impacts_note(perp_bodies *b, double time)
{
    perp__body_impacts *x = &b->impacts;
    int nold = x->nlanding;
    for (int i = 0; i < b->ntouch; i++) {
        const perp_contact *t = &b->touch[i];
        if (!(t->impulse[0] > 0) || !(approach_of(b, i) > own_speed(b, i))) continue;
        perp__landing *to = landing_of(x, t);
        if ((!to || to >= x->landing + nold) && was_closed(b, t, i)) continue;
        if (!to) {
            if (!perp__grow(&x->landing, &x->clanding, x->nlanding + 1, sizeof *x->landing))
                return 0;
            to = &x->landing[x->nlanding++];
            *to = (perp__landing){.shape = {t->shape[0], t->shape[1]}, .time = time};
        }
        add_contact(b, i, to);
    }
    return x->nlanding == 0 || finish(b, nold);
}

void perp__body_impacts_end(perp_bodies *b)
{
    perp__body_impacts *x = &b->impacts;
    x->all_terms += x->terms;
    for (int k = 0; k < x->n; k++) {
        x->energy += x->impact[k].energy;
        if (x->count++ == 0 || x->impact[k].impulse > x->largest.impulse) x->largest = x->impact[k];
    }
}

int perp_bodies_impacts(const perp_bodies *b, const perp_impact **impact)
{
    if (impact) *impact = b ? b->impacts.impact : NULL;
    return b ? b->impacts.n : 0;
}

long perp_bodies_impact_count(const perp_bodies *b, perp_impact *largest, double *energy)
{
    if (largest) *largest = b ? b->impacts.largest : nothing;
    if (energy) *energy = 0;
    if (!b) return 0;
    const perp__body_impacts *x = &b->impacts;
    if (energy) *energy = perp__beyond_tol(x->energy, x->all_terms, b->scene->o.tol);
    return x->count;
}
