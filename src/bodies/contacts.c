/* The friction problem of a step's contacts: rows of J from the motions of each chain of bodies, W
 * = J inv(M) J' in blocks from the tree's factors, q from the velocities without contacts. */

#include "bodies/bodies.h"
#include "bodies/space.h"

#include <stdlib.h>
#include <string.h>

void perp__point_motion(const perp__link *l, int k, const double *point, double *out)
{
    double from[3];
    if (l->is_shift[k]) {
        memcpy(out, l->world[k], sizeof l->world[k]);
        return;
    }
    perp__move3(point, -1, l->p, from);
    perp__cross3(l->world[k], from, out);
}

static int add_entries(perp_bodies *b, int n)
{
    /* one more: rows without entries begin somewhere, too, and NULL + 0 is undefined */
    if (!perp__grow(&b->c->entry, &b->c->centry, b->c->nentry + n + 1, sizeof *b->c->entry))
        return 0;
    b->c->nentry += n;
    return 1;
}

/* The last velocity that moves a body. */
static int tip_of(const perp_bodies *b, int body)
{
    int at = b->link[body].tip;
    return at >= 0 && isinf(b->D[at]) ? b->up[at] : at;
}

/* How many velocities two chains have; with `at` they are there, rising. */
static int merge(const perp_bodies *b, int x, int y, int n, perp__entry *at)
{
    int count = 0;
    while (x >= 0 || y >= 0) {
        int last = x > y ? x : y;
        count++;
        if (at) at[n - count] = (perp__entry){.at = last};
        x = x == last ? b->up[x] : x;
        y = y == last ? b->up[y] : y;
    }
    return count;
}

/* Y = inv(L)' J' of one contact. */
static void reduce(perp_bodies *b, const perp__contact_rows *row)
{
    int pairs = 0;
    perp__entry *e = b->c->entry + row->first;
    for (int i = 0; i < row->n; i++) memcpy(e[i].Y, e[i].J, sizeof e[i].Y);
    for (int k = row->n - 1; k >= 0; k--) {
        int j = b->up[e[k].at];
        double y[3];
        memcpy(y, e[k].Y, sizeof y);
        for (int i = k - 1; i >= 0 && j >= 0; i--) {
            if (e[i].at != j) continue; /* of the other body's chain */
            double l = b->M[perp__mass_entry(b, e[k].at, j)];
            for (int d = 0; d < 3 && l != 0; d++) e[i].Y[d] -= l * y[d];
            j = b->up[j];
            pairs++;
        }
    }
    b->work += 3 * pairs;
}

/* What moves the first body counts less, what moves both not at all. of: NULL, or the moment. */
static void move_entries(perp_bodies *b, perp__contact_rows *row, const perp_contact *t,
                         const perp__moment *of, int body, double sign)
{
    const double LEVEL = 1e-15; /* the cosine of two axes at right angles, rounded */
    const double none[3] = {0}, *direction[3] = {t->normal, t->tangent[0], t->tangent[1]};
    if (!row->n) return;
    if (of) direction[0] = none;
    if (of && !of->rolls) {
        direction[1] = t->normal;
        direction[2] = none;
    }
    perp__entry *e = b->c->entry + row->first + row->n - 1;
    for (int at = tip_of(b, body); at >= 0; at = b->up[at]) {
        double move[3];
        while (e->at != at) e--;
        const perp__link *l = &b->link[b->scene->body_of[at]];
        int k = at - l->v;
        if (of && l->is_shift[k]) continue; /* it turns nothing */
        if (of)
            memcpy(move, l->world[k], sizeof move);
        else
            perp__point_motion(l, k, t->point, move);
        for (int d = 0; d < 3; d++) {
            double part = perp__dot3(direction[d], move);
            if (!of || fabs(part) > LEVEL) e->J[d] += sign * part;
        }
    }
}

enum { NO_TIP = -2 }; /* of rows that are no contacts */

/* The entries of two chains, without J; often they are those of the row before. */
static int add_chains(perp_bodies *b, perp__contact_rows *row, const int *tip)
{
    const perp__contact_rows *last = row > b->c->rows ? row - 1 : row; /* its tips are none yet */
    int is_like = last->tip[0] == tip[0] && last->tip[1] == tip[1];
    row->tip[0] = tip[0];
    row->tip[1] = tip[1];
    row->n = is_like ? last->n : merge(b, tip[0], tip[1], 0, NULL);
    if (!add_entries(b, row->n)) return 0;
    perp__entry *e = b->c->entry + row->first;
    if (!is_like) merge(b, tip[0], tip[1], row->n, e);
    for (int k = 0; k < row->n && is_like; k++)
        e[k] = (perp__entry){.at = b->c->entry[last->first + k].at};
    return 1;
}

static int add_touch(perp_bodies *b, perp__contact_rows *row, const perp_contact *t,
                     const perp__moment *of)
{
    int body[2], tip[2];
    for (int side = 0; side < 2; side++) {
        body[side] = b->scene->shape[t->shape[side]].body;
        tip[side] = tip_of(b, body[side]);
        row->tree[side] = b->link[body[side]].root;
    }
    if (!add_chains(b, row, tip)) return 0;
    for (int side = 0; side < 2; side++) move_entries(b, row, t, of, body[side], side ? 1 : -1);
    return 1;
}

/* The velocities that move a tendon, and those above them, are marked; how many. */
static int mark_tendon(perp_bodies *b, const perp__strand *s)
{
    int n = 0, *mark = b->joints->mark;
    memset(mark, 0, (size_t)b->scene->nv * sizeof *mark);
    for (int i = 0; i < s->n; i++) {
        int at = s->at[i];
        for (at = isinf(b->D[at]) ? b->up[at] : at; at >= 0 && !mark[at]; at = b->up[at]) {
            mark[at] = 1;
            n++;
        }
    }
    return n;
}

/* The row of a tendon. */
static int add_tendon(perp_bodies *b, perp__contact_rows *row, const perp__law *law)
{
    const perp__strand *s = perp__strand_of(b->joints, law->tendon);
    double *dense = b->joints->dense;
    row->n = mark_tendon(b, s);
    if (!add_entries(b, row->n)) return 0;
    memset(dense, 0, (size_t)b->scene->nv * sizeof *dense);
    for (int i = 0; i < s->n; i++) dense[s->at[i]] += s->c[i];
    perp__entry *e = b->c->entry + row->first;
    for (int at = 0, n = 0; at < b->scene->nv; at++) {
        if (!b->joints->mark[at]) continue;
        e[n] = (perp__entry){.at = at};
        e[n++].J[law->kind != PERP__LIMIT] = law->J * dense[at];
    }
    return 1;
}

/* The row of a joint: all velocities above it have a part in Y. */
static int add_law(perp_bodies *b, perp__contact_rows *row, const perp__law *law)
{
    row->tree[1] = law->tendon > 0 ? 0 : b->link[law->body].root;
    if (law->tendon) return add_tendon(b, row, law);
    row->n = merge(b, law->at, -1, 0, NULL);
    if (!add_entries(b, row->n)) return 0;
    merge(b, law->at, -1, row->n, b->c->entry + row->first);
    b->c->entry[b->c->nentry - 1].J[law->kind != PERP__LIMIT] = law->J;
    return 1;
}

/* The mean diagonal of W of a moment. */
static double moment_own(const perp_bodies *b, const perp__contact_rows *row, const perp__moment *m)
{
    double sum = 0;
    for (int k = 0; k < row->n; k++) {
        const perp__entry *e = &b->c->entry[row->first + k];
        sum += (e->Y[1] * e->Y[1] + e->Y[2] * e->Y[2]) * b->over[e->at];
    }
    return m->rolls ? 0.5 * sum : sum;
}

static int add_row(perp_bodies *b, perp__contact_rows *row, int i)
{
    if (i < b->ntouch) return add_touch(b, row, &b->touch[i], NULL);
    if (i < perp__first_moment(b)) return add_law(b, row, &b->joints->row[i - b->ntouch]);
    const perp__moment *m = &b->c->moment[i - perp__first_moment(b)];
    return add_touch(b, row, &b->touch[m->touch], m);
}

static int make_rows(perp_bodies *b)
{
    b->c->nentry = 0;
    if (!perp__grow(&b->c->rows, &b->c->crows, b->c->n, sizeof *b->c->rows)) return 0;
    for (int i = 0; i < b->c->n; i++) {
        perp__contact_rows *row = &b->c->rows[i];
        *row = (perp__contact_rows){.first = b->c->nentry, .tip = {NO_TIP, NO_TIP}};
        if (!add_row(b, row, i)) return 0;
        reduce(b, row);
    }
    for (int k = 0; k < b->c->nmoment; k++)
        b->c->moment[k].own =
            moment_own(b, &b->c->rows[perp__first_moment(b) + k], &b->c->moment[k]);
    return 1;
}

/* One block of W; how many velocities the contacts share. */
static int make_block(const perp_bodies *b, const perp__contact_rows *x,
                      const perp__contact_rows *y, double *block)
{
    const perp__entry *p = b->c->entry + x->first, *pend = p + x->n, *q = b->c->entry + y->first,
                      *qend = q + y->n;
    double sum[9] = {0};
    int shared = 0;
    while (p < pend && q < qend) {
        if (p->at == q->at) {
            double over = b->over[p->at];
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) sum[3 * i + j] += p->Y[i] * q->Y[j] * over;
            shared++;
            p++;
            q++;
        } else if (p->at < q->at) {
            p++;
        } else {
            q++;
        }
    }
    memcpy(block, sum, sizeof sum);
    return shared;
}

/* The same of a contact with itself. */
static int make_own_block(const perp_bodies *b, const perp__contact_rows *x, double *block)
{
    const perp__entry *e = b->c->entry + x->first;
    double sum[6] = {0};
    for (int k = 0; k < x->n; k++) {
        const double *Y = e[k].Y, over = b->over[e[k].at];
        sum[0] += Y[0] * Y[0] * over;
        sum[1] += Y[0] * Y[1] * over;
        sum[2] += Y[0] * Y[2] * over;
        sum[3] += Y[1] * Y[1] * over;
        sum[4] += Y[1] * Y[2] * over;
        sum[5] += Y[2] * Y[2] * over;
    }
    block[0] = sum[0];
    block[1] = block[3] = sum[1];
    block[2] = block[6] = sum[2];
    block[4] = sum[3];
    block[5] = block[7] = sum[4];
    block[8] = sum[5];
    return x->n;
}

static int may_share(const perp__contact_rows *x, const perp__contact_rows *y)
{
    for (int i = 0; i < 2; i++)
        if (x->tree[i] && (x->tree[i] == y->tree[0] || x->tree[i] == y->tree[1])) return 1;
    return 0;
}

static int grow_blocks(perp_bodies *b)
{
    return perp__grow(&b->c->block, &b->c->cblock, 9 * (b->c->nblock + 2), sizeof *b->c->block) &&
           perp__grow(&b->c->row, &b->c->crow, b->c->nblock + 2, sizeof *b->c->row) &&
           perp__grow(&b->c->column, &b->c->ccolumn, b->c->nblock + 2, sizeof *b->c->column);
}

/* What a joint's row has beside its velocity: compliance, and units for what stands alone. */
static void complete_law(perp_bodies *b, const perp__law *law, int i, double *block)
{
    double w = block[law->kind == PERP__LIMIT ? 0 : 4];
    if (law->kind == PERP__LIMIT) {
        block[0] += law->compliance;
        block[4] = block[8] = w;
        return;
    }
    block[0] = block[8] = w;
    block[4] += law->compliance;
    perp__contact_value(b, PERP__Q)[3 * i] = -w * law->bound;
}

/* The normal of a moment, which stands alone; what turns about no axis has units. */
static void complete_moment(const perp__moment *m, double *block)
{
    block[0] = m->own;
    if (!m->rolls) block[8] = m->own;
}

/* The bound of a moment is its contact's normal impulse: a row of W that has no like column. */
static void bound_moment(const perp_bodies *b, int i, int j, double *block)
{
    if (i < perp__first_moment(b)) return;
    const perp__moment *m = &b->c->moment[i - perp__first_moment(b)];
    if (m->touch == j) block[0] = -m->own * m->mu;
}

/* Less what the equalities take; 0: nothing. */
static int take_equalities(const perp_bodies *b, int i, int j, double *block)
{
    size_t rank = (size_t)b->equal->rank;
    const double *x = b->equal->Z + 3 * rank * (size_t)i, *y = b->equal->Z + 3 * rank * (size_t)j;
    double left[9];
    int is_any = 0;
    memcpy(left, block, sizeof left);
    for (size_t k = 0; k < rank; k++, x += 3, y += 3) {
        if ((x[0] == 0 && x[1] == 0 && x[2] == 0) || (y[0] == 0 && y[1] == 0 && y[2] == 0))
            continue;
        is_any = 1;
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) left[3 * r + c] -= x[r] * y[c];
    }
    memcpy(block, left, sizeof left);
    return is_any;
}

int perp__bodies_block(perp_bodies *b, int i, int j, double *block)
{
    int shared = i == j ? make_own_block(b, &b->c->rows[i], block)
                        : make_block(b, &b->c->rows[i], &b->c->rows[j], block);
    b->work += (i == j ? 6 : 9) * shared;
    if (i == j && i >= perp__first_moment(b))
        complete_moment(&b->c->moment[i - perp__first_moment(b)], block);
    else if (i == j && i >= b->ntouch)
        complete_law(b, &b->joints->row[i - b->ntouch], i, block);
    return (b->equal->rank && take_equalities(b, i, j, block)) || shared > 0;
}

int perp__bodies_state_own_blocks(perp_bodies *b)
{
    b->c->nblock = 0;
    for (int i = 0; i < b->c->n; i++) {
        if (!grow_blocks(b)) return 0;
        perp__bodies_block(b, i, i, b->c->block + 9 * (size_t)i);
        b->c->row[i] = b->c->column[i] = i;
        b->c->nblock++;
    }
    return 1;
}

int perp__bodies_state_blocks(perp_bodies *b)
{
    b->c->nblock = 0;
    for (int i = 0; i < b->c->n; i++)
        for (int j = i; j < b->c->n; j++) {
            if (!b->equal->rank && !b->joints->ntendon &&
                !may_share(&b->c->rows[i], &b->c->rows[j]))
                continue;
            if (!grow_blocks(b)) return 0;
            double *one = b->c->block + 9 * (size_t)b->c->nblock, *other = one + 9;
            if (!perp__bodies_block(b, i, j, one)) continue;
            for (int d = 0; d < 3 && i == j && b->c->is_still; d++) one[4 * d] *= 1 + b->c->yield;
            int n = b->c->nblock++;
            b->c->row[n] = i;
            b->c->column[n] = j;
            if (i == j) continue;
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < 3; c++) other[3 * c + r] = one[3 * r + c];
            bound_moment(b, j, i, other);
            n = b->c->nblock++;
            b->c->row[n] = j;
            b->c->column[n] = i;
        }
    return 1;
}

/* Impulses and moments of the last answer. Or of the step before, at its contact between the same
 * shapes with the same feature, which mostly is at the same point, or else at the nearest one. */
static void guess(const perp_bodies *b, int i, double *impulse)
{
    perp_contact *t = &b->touch[i];
    double least = INFINITY;
    for (int d = 0; d < 3; d++) impulse[d] = b->c->is_again ? t->impulse[d] : 0;
    if (b->c->is_again) return;
    for (int d = 0; d < 3; d++) t->moment[d] = 0;
    for (int n = 0, k = i < b->nbefore ? i : 0; n < b->nbefore && least >= 0; n++, k++) {
        if (k == b->nbefore) k = 0;
        const perp_contact *old = &b->before[k];
        double from[3];
        if (old->shape[0] != t->shape[0] || old->shape[1] != t->shape[1]) continue;
        perp__move3(old->point, -1, t->point, from);
        double distance = perp__dot3(from, from);
        if (old->feature == t->feature) distance = -1;
        if (distance >= least) continue;
        least = distance;
        memcpy(impulse, old->impulse, sizeof old->impulse);
        memcpy(t->moment, old->moment, sizeof old->moment);
    }
}

/* q = J v + shift; the normal speed before the step. */
static double add_speed(const perp_bodies *b, int i, const double *v, double *q)
{
    const perp__contact_rows *row = &b->c->rows[i];
    double before = 0;
    for (int k = 0; k < row->n; k++) {
        const perp__entry *e = &b->c->entry[row->first + k];
        for (int d = 0; d < 3; d++) q[d] += e->J[d] * v[e->at];
        before += e->J[0] * b->v[e->at];
    }
    return before;
}

double perp__bodies_touch_speed(const perp_bodies *b, int i, const double *v, double *u)
{
    const perp__contact_rows *row = &b->c->rows[i];
    double terms[3];
    memcpy(u, perp__contact_value(b, PERP__SHIFT) + 3 * i, 3 * sizeof *u);
    for (int d = 0; d < 3; d++) terms[d] = fabs(u[d]);
    for (int k = 0; k < row->n; k++) {
        const perp__entry *e = &b->c->entry[row->first + k];
        for (int d = 0; d < 3; d++) {
            double part = e->J[d] * v[e->at];
            u[d] += part;
            terms[d] += fabs(part);
        }
    }
    double most = terms[0];
    for (int d = 1; d < 3; d++)
        if (terms[d] > most) most = terms[d];
    return most;
}

/* The gap of a contact. A penetration within what the poses are known to is none: else a contact
 * that no velocity opens would be asked for one. */
static double known_gap(const perp_bodies *b, const perp_contact *t)
{
    double size = perp__length3(t->point);
    if (!(t->gap < 0)) return t->gap;
    for (int side = 0; side < 2; side++) {
        const perp__form *form = &b->scene->form[t->shape[side]];
        size += perp__length3(b->link[b->scene->shape[t->shape[side]].body].p) + form->far;
        if (isfinite(form->extent)) size += form->extent;
    }
    return -t->gap <= PERP__KINEMATIC_ROUNDING * size ? 0 : t->gap;
}

static void state_touch(perp_bodies *b, int i, const double *free_speed)
{
    perp_contact *t = &b->touch[i];
    double *q = perp__contact_value(b, PERP__Q) + 3 * i,
           *shift = perp__contact_value(b, PERP__SHIFT) + 3 * i,
           before = add_speed(b, i, free_speed, q), gap = known_gap(b, t),
           e = fmax(b->surface[t->shape[0]].restitution, b->surface[t->shape[1]].restitution);
    int rebounds = !b->c->is_still && e > 0 && before < -b->scene->o.restitution_threshold &&
                   gap + b->h * q[0] < 0;
    /* what overlaps by more is moved apart where the step has ended: within it no velocity is needed */
    int is_deep = -gap > perp__bodies_little(b, t) && !b->c->is_still;
    shift[0] = rebounds ? e * before : is_deep ? 0 : gap / b->h;
    q[0] += shift[0];
    perp__contact_value(b, PERP__BEFORE)[3 * i] = before;
    if (b->c->is_still) return;
    perp__contact_value(b, PERP__MU)[i] = t->mu;
    guess(b, i, perp__contact_value(b, PERP__IMPULSE) + 3 * i);
}

static void state_law(perp_bodies *b, int i, const double *free_speed)
{
    const perp__law *law = &b->joints->row[i - b->ntouch];
    int d = law->kind != PERP__LIMIT;
    double *impulse = perp__contact_value(b, PERP__IMPULSE) + 3 * i;
    add_speed(b, i, free_speed, perp__contact_value(b, PERP__Q) + 3 * i);
    perp__contact_value(b, PERP__SHIFT)[3 * i + d] = law->shift;
    perp__contact_value(b, PERP__Q)[3 * i + d] += law->shift;
    perp__contact_value(b, PERP__MU)[i] = d;
    impulse[0] = law->bound;
    impulse[d] = law->impulse;
}

static void state_moment(perp_bodies *b, int i, const double *free_speed)
{
    const perp__moment *m = &b->c->moment[i - perp__first_moment(b)];
    const double *guessed = b->touch[m->touch].moment;
    double *impulse = perp__contact_value(b, PERP__IMPULSE);
    add_speed(b, i, free_speed, perp__contact_value(b, PERP__Q) + 3 * i);
    perp__contact_value(b, PERP__MU)[i] = 1;
    impulse[3 * i] = m->mu * impulse[3 * m->touch];
    for (int d = 1; d < (m->rolls ? 3 : 2); d++) impulse[3 * i + d] = guessed[m->rolls ? d : 0];
}

int perp__bodies_state_contacts(perp_bodies *b, const double *free_speed)
{
    b->c->n = perp__first_moment(b) + b->c->nmoment;
    int need = 3 * PERP__CONTACT_VALUES * b->c->n;
    if (!perp__grow(&b->c->value, &b->c->cvalue, need, sizeof *b->c->value)) return 0;
    memset(b->c->value, 0, (size_t)need * sizeof *b->c->value);
    if (!make_rows(b) || !perp__equality_reduce(b)) return 0;
    b->work += (15.0 + 3) * b->c->nentry; /* J, J v */
    for (int i = 0; i < b->ntouch; i++) state_touch(b, i, free_speed);
    for (int i = b->ntouch; i < perp__first_moment(b); i++) state_law(b, i, free_speed);
    for (int i = perp__first_moment(b); i < b->c->n; i++) state_moment(b, i, free_speed);
    return 1;
}
