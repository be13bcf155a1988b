/* W of the contacts as Y Y' + E, for solvers that work with the velocities of the joints: Y from
 * the tree's factors M = L' D L, in groups of three velocities; E is what rows of joints and
 * moments have beside their motion (perp__fc_factors). */

#include "bodies/bodies.h"
#include "bodies/space.h"
#include "solve/fc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of velocity `at` the root of 1/D: 0 where dry friction holds it. */
static double root_over(const perp_bodies *b, int at)
{
    return sqrt(b->over[at]);
}

/* In row[k] of `dense` kept row k of the equalities, inv(F) Y inv(D)^1/2: these are orthonormal. */
static void state_loops(const perp_bodies *b, double *dense)
{
    const perp__equalities *e = b->equal;
    size_t n = (size_t)e->rows, nv = (size_t)b->scene->nv;
    for (int r = 0; r < e->rank; r++) {
        const double *Y = e->Y + (size_t)e->order[r] * nv, *F = e->factor + (size_t)r * n;
        double *Q = dense + (size_t)r * nv;
        for (size_t k = 0; k < nv; k++) {
            Q[k] = Y[k] * root_over(b, (int)k);
            for (int j = 0; j < r; j++) Q[k] -= F[j] * dense[(size_t)j * nv + k];
            Q[k] /= F[r];
        }
    }
}

/* Row i of Y, three numbers a velocity: its own entries, less what the loops take. */
static void state_row(const perp_bodies *b, int i, const double *loops, double *row)
{
    const perp__contact_rows *r = &b->c->rows[i];
    size_t nv = (size_t)b->scene->nv, rank = (size_t)b->equal->rank;
    memset(row, 0, 3 * nv * sizeof *row);
    for (int k = 0; k < r->n; k++) {
        const perp__entry *e = &b->c->entry[r->first + k];
        perp__move3(row + 3 * e->at, root_over(b, e->at), e->Y, row + 3 * e->at);
    }
    const double *Z = b->equal->Z + 3 * rank * (size_t)i;
    for (size_t q = 0; q < rank; q++)
        for (size_t k = 0; k < nv; k++)
            perp__move3(row + 3 * k, -loops[q * nv + k], Z + 3 * q, row + 3 * k);
}

/* One more block, 0. Returns 0: memory is out. */
static int add_block(perp__contact_factors *f, int group)
{
    int n = f->nblock;
    if (!perp__grow(&f->group, &f->cgroup, n + 1, sizeof *f->group) ||
        !perp__grow(&f->block, &f->cblock, 9 * (n + 1), sizeof *f->block))
        return 0;
    memset(f->block + 9 * (size_t)n, 0, 9 * sizeof *f->block);
    f->group[f->nblock++] = group;
    return 1;
}

/* Entry `y` of a row of Y at a velocity; *last: the group of the last block of the row. */
static int add_entry(const perp_bodies *b, perp__contact_factors *f, int at, const double *y,
                     int *last)
{
    int place = b->scene->place[at], column = place % 3;
    if (y[0] == 0 && y[1] == 0 && y[2] == 0) return 1;
    if (*last != place / 3 && !add_block(f, *last = place / 3)) return 0;
    for (int d = 0; d < 3; d++)
        f->block[9 * (size_t)(f->nblock - 1) + (size_t)(3 * d + column)] = y[d];
    return 1;
}

static int add_rows(const perp_bodies *b, perp__contact_factors *f)
{
    int nv = b->scene->nv, has_loops = b->equal->rank > 0;
    double *loops = f->dense, *row = loops + (size_t)b->equal->rank * (size_t)nv;
    if (has_loops) state_loops(b, loops);
    for (int i = 0; i < b->c->n; i++) {
        const perp__contact_rows *r = &b->c->rows[i];
        int last = -1, ok = 1;
        f->start[i] = f->nblock;
        if (has_loops) state_row(b, i, loops, row);
        for (int k = 0; k < nv && has_loops && ok; k++) ok = add_entry(b, f, k, row + 3 * k, &last);
        for (int k = 0; k < r->n && !has_loops && ok; k++) {
            const perp__entry *e = &b->c->entry[r->first + k];
            double y[3] = {0};
            perp__move3(y, root_over(b, e->at), e->Y, y);
            ok = add_entry(b, f, e->at, y, &last);
        }
        if (!ok) return 0;
    }
    f->start[b->c->n] = f->nblock;
    return 1;
}

/* E of contact i, whose block of W is w: for shapes none, or what a step that moves apart adds. */
static void state_own(const perp_bodies *b, const perp__contact_factors *f, int i, const double *w,
                      double *own)
{
    if (i < b->ntouch) {
        for (int d = 0; d < 3 && b->c->is_still; d++)
            own[4 * d] = w[4 * d] * (b->c->yield / (1 + b->c->yield));
        return;
    }
    memcpy(own, w, 9 * sizeof *own);
    for (int k = f->start[i]; k < f->start[i + 1]; k++) {
        const double *y = f->block + 9 * (size_t)k;
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) own[3 * r + c] -= perp__dot3(y + 3 * r, y + 3 * c);
    }
}

static void state_rest(const perp_bodies *b, perp__contact_factors *f)
{
    memset(f->own, 0, 9 * (size_t)b->c->n * sizeof *f->own);
    for (int k = 0; k < b->c->nblock; k++)
        if (b->c->row[k] == b->c->column[k])
            state_own(b, f, b->c->row[k], b->c->block + 9 * (size_t)k,
                      f->own + 9 * (size_t)b->c->row[k]);
    for (int i = 0; i < b->c->n; i++) {
        int k = i - perp__first_moment(b);
        const perp__moment *moment = k < 0 ? NULL : &b->c->moment[k];
        f->share[i] = moment ? moment->own * moment->mu : 0;
        f->bound[i] = f->share[i] != 0 ? moment->touch : -1;
    }
}

/* Have the equalities no compliance, so that what they take off is a projection? */
static int are_rigid(const perp__equalities *e)
{
    for (int r = 0; r < e->rank; r++)
        if (e->compliance[e->order[r]] != 0) return 0;
    return 1;
}

int perp__bodies_factor_contacts(perp_bodies *b, perp__fc_factors *factors)
{
    perp__contact_factors *f = &b->c->factors;
    int n = b->c->n;
    *factors = (perp__fc_factors){0};
    if (!are_rigid(b->equal)) return 1;
    f->nblock = 0;
    if (!perp__grow(&f->start, &f->cstart, n + 1, sizeof *f->start) ||
        !perp__grow(&f->bound, &f->cbound, n + 1, sizeof *f->bound) ||
        !perp__grow(&f->share, &f->cshare, n + 1, sizeof *f->share) ||
        !perp__grow(&f->own, &f->cown, 9 * n + 1, sizeof *f->own) ||
        !perp__grow(&f->dense, &f->cdense, (b->equal->rank + 3) * b->scene->nv + 1,
                    sizeof *f->dense))
        return 0;
    if (!add_rows(b, f)) return 0;
    state_rest(b, f);
    b->work += 9.0 * f->nblock;
    *factors = (perp__fc_factors){.ngroup = b->scene->ngroup,
                                  .start = f->start,
                                  .group = f->group,
                                  .block = f->block,
                                  .own = f->own,
                                  .bound = f->bound,
                                  .share = f->share};
    return 1;
}

void perp__contact_factors_clear(perp__contact_factors *f)
{
    void *all[] = {f->start, f->group, f->block, f->own, f->bound, f->share, f->dense};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
}
