/* The friction problem of a step's contacts: rows of J from the motions of each chain of bodies, W = J inv(M) J' in blocks from the
 * tree's factors, q from the velocities without contacts. */

#include "bodies/bodies.h"
#include "bodies/space.h"

#include <stdlib.h>
#include <string.h>

void perp__point_motion(const perp__link *l, int k, const double *point, double *out)
{
    double from[3], local[3], move[3];
    perp__move3(point, -1, l->p, from);
    perp__rotate_back3(l->R, from, local);
    perp__cross3(l->S[k], local, move);
    perp__move3(move, 1, l->S[k] + 3, local);
    perp__rotate3(l->R, local, out);
}

double *perp__contact_value(const perp_bodies *b, int which)
{
    return b->c.value + (size_t)which * 3 * (size_t)b->ctouch;
}

static int by_place(const void *x, const void *y)
{
    return ((const perp__entry *)x)->at - ((const perp__entry *)y)->at;
}

/* The entries of all velocities that move a body, with a sign; what is there already is added to. */
static int add_chain(perp_bodies *b, perp__rows *row, int body, const perp_touch *t, double sign)
{
    const double *direction[3] = {t->normal, t->tangent[0], t->tangent[1]};
    for (int i = body; i; i = b->link[i].is.parent) {
        row->tree[sign > 0] = i;
        for (int k = 0; k < b->link[i].nv; k++) {
            int at = b->link[i].v + k, e = row->first;
            double move[3];
            while (e < b->c.nentry && b->c.entry[e].at != at) e++;
            if (e == b->c.nentry) {
                if (!perp__grow(&b->c.entry, &b->c.centry, b->c.nentry + 1, sizeof *b->c.entry))
                    return 0;
                b->c.entry[b->c.nentry++] = (perp__entry){.at = at};
            }
            perp__point_motion(&b->link[i], k, t->point, move);
            for (int d = 0; d < 3; d++) b->c.entry[e].J[d] += sign * perp__dot3(direction[d], move);
        }
    }
    return 1;
}

/* Y = inv(L)' J' of one contact. */
static void reduce(perp_bodies *b, const perp__rows *row)
{
    perp__entry *e = b->c.entry + row->first;
    size_t nv = (size_t)b->nv;
    for (int i = 0; i < row->n; i++) memcpy(e[i].Y, e[i].J, sizeof e[i].Y);
    for (int k = row->n - 1; k >= 0; k--) {
        int j = b->parent_of[e[k].at];
        for (int i = k - 1; i >= 0 && j >= 0; i--) {
            if (e[i].at != j) continue; /* of the other body's chain */
            double l = b->M[(size_t)e[k].at + (size_t)j * nv];
            for (int d = 0; d < 3; d++) e[i].Y[d] -= l * e[k].Y[d];
            j = b->parent_of[j];
        }
    }
}

static int make_rows(perp_bodies *b)
{
    b->c.nentry = 0;
    if (!perp__grow(&b->c.rows, &b->c.crows, b->ntouch, sizeof *b->c.rows)) return 0;
    for (int i = 0; i < b->ntouch; i++) {
        perp__rows *row = &b->c.rows[i];
        const perp_touch *t = &b->touch[i];
        *row = (perp__rows){.first = b->c.nentry};
        if (!add_chain(b, row, b->shape[t->shape[1]].body, t, 1) ||
            !add_chain(b, row, b->shape[t->shape[0]].body, t, -1))
            return 0;
        row->n = b->c.nentry - row->first;
        qsort(b->c.entry + row->first, (size_t)row->n, sizeof *b->c.entry, by_place);
        reduce(b, row);
    }
    return 1;
}

/* One block of W; 0: the contacts share no velocity. */
static int make_block(const perp_bodies *b, const perp__rows *x, const perp__rows *y, double *block)
{
    const perp__entry *p = b->c.entry + x->first, *pend = p + x->n, *q = b->c.entry + y->first,
                      *qend = q + y->n;
    int shared = 0;
    memset(block, 0, 9 * sizeof *block);
    while (p < pend && q < qend) {
        if (p->at == q->at) {
            double over = 1 / b->D[p->at];
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) block[3 * i + j] += p->Y[i] * q->Y[j] * over;
            shared = 1;
            p++, q++;
        } else if (p->at < q->at) {
            p++;
        } else {
            q++;
        }
    }
    return shared;
}

static int may_share(const perp__rows *x, const perp__rows *y)
{
    for (int i = 0; i < 2; i++)
        if (x->tree[i] && (x->tree[i] == y->tree[0] || x->tree[i] == y->tree[1])) return 1;
    return 0;
}

static int grow_blocks(perp_bodies *b)
{
    return perp__grow(&b->c.block, &b->c.cblock, 9 * (b->c.nblock + 2), sizeof *b->c.block) &&
           perp__grow(&b->c.row, &b->c.crow, b->c.nblock + 2, sizeof *b->c.row) &&
           perp__grow(&b->c.column, &b->c.ccolumn, b->c.nblock + 2, sizeof *b->c.column);
}

static int make_blocks(perp_bodies *b)
{
    b->c.nblock = 0;
    for (int i = 0; i < b->ntouch; i++)
        for (int j = i; j < b->ntouch; j++) {
            if (!may_share(&b->c.rows[i], &b->c.rows[j])) continue;
            if (!grow_blocks(b)) return 0;
            double *one = b->c.block + 9 * (size_t)b->c.nblock, *other = one + 9;
            if (!make_block(b, &b->c.rows[i], &b->c.rows[j], one)) continue;
            int n = b->c.nblock++;
            b->c.row[n] = i, b->c.column[n] = j;
            if (i == j) continue;
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < 3; c++) other[3 * c + r] = one[3 * r + c];
            n = b->c.nblock++;
            b->c.row[n] = j, b->c.column[n] = i;
        }
    return 1;
}

/* Impulses of the step before at its contact between the same shapes that has the same feature, or that is nearest. */
static void guess(const perp_bodies *b, const perp_touch *t, double *impulse)
{
    double least = INFINITY;
    for (int d = 0; d < 3; d++) impulse[d] = 0;
    for (int k = 0; k < b->nbefore; k++) {
        const perp_touch *old = &b->before[k];
        double from[3];
        if (old->shape[0] != t->shape[0] || old->shape[1] != t->shape[1]) continue;
        perp__move3(old->point, -1, t->point, from);
        double distance = perp__dot3(from, from);
        if (old->feature == t->feature) distance = -1;
        if (distance >= least) continue;
        least = distance;
        memcpy(impulse, old->impulse, sizeof old->impulse);
    }
}

int perp__bodies_state_contacts(perp_bodies *b, const double *free_speed)
{
    int room = 3 * PERP__CONTACT_VALUES * b->ctouch;
    double *value = realloc(b->c.value, (size_t)room * sizeof *value + 1);
    if (!value) return 0;
    b->c.value = value;
    if (!make_rows(b) || !make_blocks(b)) return 0;
    double *q = perp__contact_value(b, PERP__Q), *shift = perp__contact_value(b, PERP__SHIFT),
           *impulse = perp__contact_value(b, PERP__IMPULSE), *mu = perp__contact_value(b, PERP__MU);
    for (int i = 0; i < b->ntouch; i++) {
        const perp__rows *row = &b->c.rows[i];
        const perp_touch *t = &b->touch[i];
        double before = 0;
        memset(q + 3 * i, 0, 3 * sizeof *q);
        for (int k = 0; k < row->n; k++) {
            const perp__entry *e = &b->c.entry[row->first + k];
            for (int d = 0; d < 3; d++) q[3 * i + d] += e->J[d] * free_speed[e->at];
            before += e->J[0] * b->v[e->at];
        }
        double e = fmax(b->shape[t->shape[0]].restitution, b->shape[t->shape[1]].restitution);
        int rebounds = e > 0 && before < -b->o.rebound && t->gap + b->o.step * q[3 * i] < 0;
        shift[3 * i] = rebounds ? e * before : t->gap / b->o.step;
        q[3 * i] += shift[3 * i];
        mu[i] = t->mu;
        guess(b, t, impulse + 3 * i);
    }
    return 1;
}
