/* Bodies at rest repeat the last step. While the same contacts and rows of joints are there, the
 * impulses of the step before are tried first: velocities with them from the factors of M, and if
 * these have a small residual, Newton's step with the former W. Of W only its diagonal and a tree
 * of couplings are then stated, from which the verdict takes its scales. They are not larger than
 * those of all of W (docs/adr/094-what-rests.md, docs/adr/096-joints-that-rest.md). */

#include "base/holds.h"
#include "base/tol.h"
#include "bodies/bodies.h"
#include "bodies/space.h"
#include "linalg/block_lu.h"
#include "solve/fc.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Integers of each contact, which a row of a joint is, too; numbers of each. KEPT: which row of a
 * joint, perp__law.kept. */
enum { START, FROM, ORDER, PIECE, KEPT, INDICES };
enum {
    CHANGE = 0,
    MEAN = 3,
    DATA = 4,
    ROW = 5,
    LINK = 8,
    PATH = 17, /* while data are carried */
    GOOD = 18,
    FIRST = 21,
    NORMAL = 24,
    ROOT = 25, /* of MEAN */
    NUMBERS = 26
};

static int *index_of(const perp_bodies *b, int which)
{
    return b->rest->index + (size_t)which * (size_t)(b->c->n + 1);
}

static double *number_of(const perp_bodies *b, int first)
{
    return b->rest->value + (size_t)first * (size_t)b->c->n;
}

/* The columns of W's blocks by rows; these blocks; of Newton's matrix. */
static int *columns_of(const perp_bodies *b)
{
    return index_of(b, INDICES);
}

static double *kept_blocks(const perp_bodies *b)
{
    return number_of(b, NUMBERS);
}

static double *matrix_of(const perp_bodies *b)
{
    return kept_blocks(b) + 9 * (size_t)index_of(b, START)[b->c->n];
}

static const perp__law *law_of(const perp_bodies *b, int i)
{
    return i < b->ntouch ? NULL : &b->joints->row[i - b->ntouch];
}

static int make_factors_room(perp__rest *rest, int n)
{
    if (n <= rest->room) return 1;
    perp__block_lu_destroy(rest->lu);
    rest->lu = perp__block_lu_create(2 * n);
    rest->room = rest->lu ? 2 * n : 0;
    rest->is_ordered = 0;
    return rest->room > 0;
}

static int make_arrays_room(perp__rest *rest, int n, int nb)
{
    return perp__grow(&rest->index, &rest->cindex, INDICES * (n + 1) + 2 * nb,
                      sizeof *rest->index) &&
           perp__grow(&rest->value, &rest->cvalue, NUMBERS * n + 18 * nb, sizeof *rest->value);
}

void perp__rest_clear(perp_bodies *b)
{
    perp__block_lu_destroy(b->rest->lu);
    free(b->rest->index);
    free(b->rest->value);
}

/* Are the contacts those of the step before? */
static int is_same(const perp_bodies *b)
{
    if (b->ntouch != b->nbefore) return 0;
    for (int i = 0; i < b->ntouch; i++) {
        const perp_contact *t = &b->touch[i], *old = &b->before[i];
        if (t->shape[0] != old->shape[0] || t->shape[1] != old->shape[1] ||
            t->feature != old->feature)
            return 0;
    }
    return 1;
}

/* One contact is solved in closed form. */
static int may_rest(const perp_bodies *b)
{
    return !b->c->is_still && !b->c->nmoment && b->c->n > 1 && is_same(b);
}

/* Is what is kept of these rows of joints? */
static int is_kept(const perp_bodies *b)
{
    if (b->rest->n != b->c->n) return 0;
    for (int i = b->ntouch; i < b->c->n; i++)
        if (index_of(b, KEPT)[i] != law_of(b, i)->kept) return 0;
    return 1;
}

/* Scales --------------------------------------------------------------------------------------- */

static double mean_diagonal(const double *w)
{
    return (fabs(w[0]) + fabs(w[4]) + fabs(w[8])) / 3;
}

/* Of a block the largest entry that the conditions of its contacts see. */
static double coupling(const perp_bodies *b, int i, int j, const double *w)
{
    const double *mu = perp__contact_value(b, PERP__MU);
    int rows = mu[i] > 0 ? 3 : 1, columns = mu[j] > 0 ? 3 : 1;
    double most = 0;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) most = perp__larger(most, fabs(w[3 * r + c]));
    return most;
}

/* The same of a normal row: of the other's friction what its normal impulse allows. */
static double normal_coupling(const perp_bodies *b, int j, const double *w)
{
    double mu = perp__contact_value(b, PERP__MU)[j];
    return perp__larger(fabs(w[0]), perp__smaller(mu, 1) * perp__larger(fabs(w[1]), fabs(w[2])));
}

static double own_data(const perp_bodies *b, int i)
{
    const double *q = perp__contact_value(b, PERP__Q) + 3 * i;
    const double size[3] = {fabs(q[0]), fabs(q[1]), fabs(q[2])};
    return perp__fc_largest_row(3, perp__contact_value(b, PERP__MU)[i], size);
}

/* Data of contact i: its own, or the share that passes the coupling with j of those on the path
 * from j on; most[i] is the largest of them. */
static void carry(const perp_bodies *b, int i, int j, double coupled, double *data)
{
    const double *root = number_of(b, ROOT);
    double *most = number_of(b, PATH);
    most[i] = perp__larger(most[i], most[j]);
    double carried = coupled / (root[i] * root[j]) * most[i];
    data[i] = perp__larger(data[i], perp__smaller(data[j], carried));
}

/* In DATA the data of each contact, relative to the root of its diagonal, as the friction solver
 * has it (friction.c), but along a tree only. Returns 0 if a contact moves nothing. */
static int find_data(perp_bodies *b)
{
    const int *from = index_of(b, FROM), *order = index_of(b, ORDER);
    double *mean = number_of(b, MEAN), *root = number_of(b, ROOT), *data = number_of(b, DATA),
           *link = number_of(b, LINK), *most = number_of(b, PATH);
    for (int i = 0; i < b->c->n; i++) {
        mean[i] = mean_diagonal(b->c->block + 9 * (size_t)i);
        if (!(mean[i] > DBL_MIN)) return 0;
        root[i] = sqrt(mean[i]);
        most[i] = data[i] = own_data(b, i) / root[i];
    }
    for (int k = 0; k < b->c->n; k++) {
        int i = order[k], j = from[i];
        if (j < 0) continue;
        double *block = link + 9 * (size_t)i;
        if (perp__bodies_block(b, i, j, block)) carry(b, i, j, coupling(b, i, j, block), data);
    }
    return 1;
}

/* In NORMAL the same of normal rows, by what presses. After find_data. */
static void find_normal_data(perp_bodies *b)
{
    const int *from = index_of(b, FROM), *order = index_of(b, ORDER);
    const double *q = perp__contact_value(b, PERP__Q), *r = perp__contact_value(b, PERP__IMPULSE),
                 *root = number_of(b, ROOT), *link = number_of(b, LINK);
    double *data = number_of(b, NORMAL), *most = number_of(b, PATH);
    for (int i = 0; i < b->c->n; i++)
        most[i] = data[i] = r[3 * i] > 0 ? fabs(q[3 * i]) / root[i] : 0;
    for (int k = 0; k < b->c->n; k++) {
        int i = order[k], j = from[i];
        if (j >= 0) carry(b, i, j, normal_coupling(b, j, link + 9 * (size_t)i), data);
    }
    for (int i = 0; i < b->c->n; i++) data[i] = perp__larger(data[i], fabs(q[3 * i]) / root[i]);
}

static void add_terms(const double *w, int row_step, int step, const double *r, double *row)
{
    for (int d = 0; d < 3; d++, w += row_step)
        row[d] += fabs(w[0] * r[0]) + fabs(w[step] * r[1]) + fabs(w[2 * step] * r[2]);
}

/* In ROW |terms| of u = W r + q: of the diagonal and along the tree. */
static void sum_terms(const perp_bodies *b)
{
    const double *q = perp__contact_value(b, PERP__Q), *r = perp__contact_value(b, PERP__IMPULSE);
    const int *from = index_of(b, FROM);
    double *row = number_of(b, ROW);
    for (int k = 0; k < 3 * b->c->n; k++) row[k] = fabs(q[k]);
    for (int i = 0; i < b->c->n; i++) {
        const double *link = number_of(b, LINK) + 9 * (size_t)i;
        add_terms(b->c->block + 9 * (size_t)i, 3, 1, r + 3 * i, row + 3 * i);
        if (from[i] < 0) continue;
        add_terms(link, 3, 1, r + 3 * from[i], row + 3 * i);
        add_terms(link, 1, 3, r + 3 * i, row + 3 * from[i]);
    }
}

/* u of a contact or a joint's row from b->next; the largest sum of |terms|. */
static double velocity_of(const perp_bodies *b, int i, double *u)
{
    double terms = perp__bodies_touch_speed(b, i, b->next, u);
    const perp__law *law = law_of(b, i);
    if (!law || law->kind == PERP__LIMIT) return terms;
    double given = law->compliance * law->impulse;
    u[0] = b->c->block[9 * (size_t)i] *
           (perp__contact_value(b, PERP__IMPULSE)[3 * i] - law->bound); /* it stands alone */
    u[1] += given;
    return terms + fabs(given);
}

/* The largest error of a contact or a row. */
static double judge(perp_bodies *b)
{
    const double *mu = perp__contact_value(b, PERP__MU), *root = number_of(b, ROOT),
                 *data = number_of(b, DATA), *normal = number_of(b, NORMAL),
                 *row = number_of(b, ROW), *q = perp__contact_value(b, PERP__Q),
                 *r = perp__contact_value(b, PERP__IMPULSE);
    double *u = perp__contact_value(b, PERP__U);
    double worst = 0;
    b->work += 3.0 * b->c->nentry + 27.0 * b->c->n; /* u, its |terms| */
    sum_terms(b);
    for (int i = 0; i < b->c->n; i++) {
        const double *w = b->c->block + 9 * (size_t)i;
        double terms = velocity_of(b, i, u + 3 * i);
        perp__fc_scale s = perp__fc_scale_of(3, mu[i], row + 3 * i, q + 3 * i, normal[i] * root[i],
                                             data[i] * root[i]);
        double rounding = (b->c->rows[i].n + 2) * (DBL_EPSILON / 2) * terms;
        if (perp__fc_is_rough(&s, rounding, rounding, b->scene->o.tol)) return INFINITY;
        double size = perp__larger(fabs(w[0]), perp__larger(fabs(w[4]), fabs(w[8])));
        worst = perp__worse(worst, perp__fc_contact_error(3, mu[i], r + 3 * i, u + 3 * i, &s, size,
                                                          b->scene->o.tol));
    }
    return worst;
}

/* Newton's step -------------------------------------------------------------------------------- */

/* The map of contact i in impulses, and where wanted its derivatives. */
static int map(const perp_bodies *b, int i, const double *own, double *F, double *A, double *B)
{
    const double *u = perp__contact_value(b, PERP__U) + 3 * i;
    double w[9], v[3], mean = number_of(b, MEAN)[i];
    for (int e = 0; e < 9; e++) w[e] = own[e] / mean;
    for (int d = 0; d < 3; d++) v[d] = u[d] / mean;
    return perp__fc_map(w, perp__contact_value(b, PERP__MU)[i],
                        perp__contact_value(b, PERP__IMPULSE) + 3 * i, v, F, A, B);
}

static const double *kept_own(const perp_bodies *b, int i)
{
    const int *start = index_of(b, START), *col = columns_of(b);
    int k = start[i];
    while (col[k] != i) k++;
    return kept_blocks(b) + 9 * (size_t)k;
}

/* Relative to the diagonal of W: larger than in the friction solver, since here velocities have the
 * rounding of gaps, which must not be turned into impulses. With 1e-5 tall stacks need several
 * steps. */
static const double SHIFT = 1e-6;

/* Newton's matrix A + B (W + shift), in impulses, of W as it was kept. Its factors are
 * made where they are needed: while bodies move that is seldom. */
static void linearise(perp_bodies *b)
{
    const int *start = index_of(b, START), *col = columns_of(b);
    const double *W = kept_blocks(b), *mean = number_of(b, MEAN);
    double *J = matrix_of(b);
    int *piece = index_of(b, PIECE);
    b->rest->is_ordered &= b->rest->n > 0;
    for (int i = 0; i < b->c->n; i++) {
        double F[3], A[9], B[9];
        int closed = map(b, i, kept_own(b, i), F, A, B);
        b->rest->is_ordered &= closed == (piece[i] != PERP__OPEN);
        piece[i] = perp__fc_piece(closed, A);
        for (int k = start[i]; k < start[i + 1]; k++) {
            double *to = J + 9 * (size_t)k;
            perp__multiply3(B, W + 9 * (size_t)k, to);
            for (int e = 0; e < 9; e++) to[e] /= mean[i];
            for (int e = 0; e < 9 && col[k] == i; e++) to[e] += A[e] + SHIFT * B[e];
        }
    }
    b->work += 27.0 * start[b->c->n];
    b->rest->n = b->c->n;
    b->rest->is_made = b->rest->is_counted = 0;
}

/* The factors of the matrix, where they are not there; their work counts once, also where the cache
 * was dropped. 0: memory is out. */
static int have_factors(perp_bodies *b)
{
    perp__rest *rest = b->rest;
    const int *start = index_of(b, START), *col = columns_of(b);
    if (rest->is_made) return 1;
    if (!make_factors_room(rest, b->c->n)) return 0;
    if (!rest->is_ordered &&
        !perp__block_lu_order(rest->lu, b->c->n, start, col, index_of(b, PIECE)))
        return 0;
    perp__block_lu_factor(rest->lu, start, col, matrix_of(b), PERP_TOL_SINGULAR);
    double work = perp__block_lu_work(rest->lu);
    if (!rest->is_counted) b->work += work;
    return rest->is_ordered = rest->is_counted = rest->is_made = 1;
}

/* In CHANGE -F, of what opens the whole step. Does each contact do what the matrix has it do? */
static int take_map(perp_bodies *b)
{
    const int *piece = index_of(b, PIECE);
    double A[9], B[9];
    int is_same_piece = 1;
    for (int i = 0; i < b->c->n; i++) {
        double *F = number_of(b, CHANGE) + 3 * i;
        int closed = map(b, i, b->c->block + 9 * (size_t)i, F, A, B);
        is_same_piece &= perp__fc_piece(closed, A) == piece[i];
        for (int d = 0; d < 3; d++) F[d] = -F[d];
    }
    return is_same_piece;
}

/* What opens acts on the others no more. */
static void let_go(perp_bodies *b)
{
    const int *start = index_of(b, START), *col = columns_of(b), *piece = index_of(b, PIECE);
    double *change = number_of(b, CHANGE);
    for (int i = 0; i < b->c->n; i++) {
        if (piece[i] == PERP__OPEN) continue;
        for (int k = start[i]; k < start[i + 1]; k++) {
            const double *J = matrix_of(b) + 9 * (size_t)k, *x = change + 3 * (size_t)col[k];
            if (piece[col[k]] != PERP__OPEN || (x[0] == 0 && x[1] == 0 && x[2] == 0)) continue;
            for (int d = 0; d < 3; d++)
                change[3 * i + d] -= J[3 * d] * x[0] + J[3 * d + 1] * x[1] + J[3 * d + 2] * x[2];
        }
    }
}

/* A step of Newton. */
static void correct(perp_bodies *b)
{
    double *change = number_of(b, CHANGE), *r = perp__contact_value(b, PERP__IMPULSE);
    let_go(b);
    perp__block_lu_solve(b->rest->lu, change);
    b->work += perp__block_lu_work(b->rest->lu);
    for (int i = 0; i < b->c->n; i++) {
        for (int d = 0; d < 3; d++) r[3 * i + d] += change[3 * i + d];
        perp__fc_snap(3, perp__contact_value(b, PERP__MU)[i], r + 3 * i);
    }
}

/* The steps in which it is tried again: a failure costs more each time. */
static int fail(perp__rest *rest)
{
    enum { MOST = 64 };
    rest->n = 0;
    rest->wait = rest->given = rest->given < MOST / 2 ? 2 * rest->given + 1 : MOST;
    return 0;
}

static void store(const perp_bodies *b, int to)
{
    memcpy(number_of(b, to), perp__contact_value(b, PERP__IMPULSE),
           3 * (size_t)b->c->n * sizeof(double));
}

static void take_back(const perp_bodies *b, int from)
{
    memcpy(perp__contact_value(b, PERP__IMPULSE), number_of(b, from),
           3 * (size_t)b->c->n * sizeof(double));
}

static double try_impulses(perp_bodies *b)
{
    perp__bodies_take_impulses(b);
    return judge(b);
}

/* 1: found. It is sought to the last digits, so that limits are not passed, a body that slides to a
 * halt has its velocity, and no small impulse sets bodies in motion in the next step. If no step
 * comes nearer, a good enough one is taken. */
static int search(perp_bodies *b, double *error, int *iterations)
{
    enum { MOST = 3, ANEW = 2 };
    const double CLOSE = 1e-2,
                 EXACT = 1e-5; /* of tol, beside scales that are smaller than those of all of W */
    double before = INFINITY, last = INFINITY;
    int left = ANEW, is_good = 0;
    for (int pass = 0;; pass++) {
        *error = try_impulses(b);
        int was_good = is_good, is_near = *error <= CLOSE * b->scene->o.tol;
        if (is_near && (*error <= EXACT * b->scene->o.tol || *error > 0.5 * last)) return 1;
        if (is_near) {
            is_good = 1;
            store(b, GOOD);
        }
        if (pass == MOST || (was_good && !is_near)) break;
        int is_changed = !take_map(b);
        if (is_changed ? left-- == 0 : !(*error < before)) break;
        if (is_changed) linearise(b);
        if (!have_factors(b)) break;
        correct(b);
        before = is_changed ? (double)INFINITY : *error;
        last = *error;
        ++*iterations;
    }
    if (!is_good) return 0;
    take_back(b, GOOD);
    *error = try_impulses(b);
    return *error <= CLOSE * b->scene->o.tol;
}

int perp__rest_holds(perp_bodies *b, perp_bodies_info *info)
{
    perp__rest *rest = b->rest;
    double error;
    if (b->c->is_still) return 0;
    if (!may_rest(b)) return rest->n = 0;
    if (rest->wait) {
        rest->wait--;
        return 0;
    }
    if (!is_kept(b)) return 0;
    if (!perp__bodies_state_own_blocks(b) || !find_data(b)) return 0;
    store(b, FIRST);
    for (int i = 0; i < b->c->n; i++)
        perp__fc_snap(3, perp__contact_value(b, PERP__MU)[i],
                      perp__contact_value(b, PERP__IMPULSE) + 3 * i);
    find_normal_data(b);
    if (!search(b, &error, &info->iterations)) {
        take_back(b, FIRST); /* the guess of the friction solver */
        return fail(rest);
    }
    info->outcome = PERP_SOLVED;
    info->contact_error = error;
    rest->given = 0;
    return 1;
}

/* What is kept --------------------------------------------------------------------------------- */

/* The blocks by rows, columns rising, as stated: `at` is the index. */
static void sort_blocks(const perp_bodies *b, int *start, int *col, int *at)
{
    int n = b->c->n;
    memset(start, 0, (size_t)(n + 1) * sizeof *start);
    for (int k = 0; k < b->c->nblock; k++) start[b->c->row[k] + 1]++;
    for (int i = 0; i < n; i++) start[i + 1] += start[i];
    for (int k = 0; k < b->c->nblock; k++) {
        int place = start[b->c->row[k]]++;
        at[place] = k;
        col[place] = b->c->column[k];
    }
    for (int i = n; i > 0; i--) start[i] = start[i - 1];
    start[0] = 0;
}

/* From which of the contacts before i in the tree most comes. */
static int strongest(const perp_bodies *b, int i, const int *start, const int *col, const int *at)
{
    const int *from = index_of(b, FROM);
    const double *r = perp__contact_value(b, PERP__IMPULSE);
    double most = -1;
    int best = -1;
    for (int k = start[i]; k < start[i + 1]; k++) {
        double row[3] = {0};
        if (from[col[k]] < -1 || col[k] == i) continue;
        add_terms(b->c->block + 9 * (size_t)at[k], 3, 1, r + 3 * col[k], row);
        double terms = perp__larger(row[0], perp__larger(row[1], row[2]));
        if (terms > most) {
            most = terms;
            best = col[k];
        }
    }
    return best;
}

/* A tree over the contacts that blocks join, from the one with the most data on: ORDER, FROM. */
static void plant(const perp_bodies *b, const int *start, const int *col, const int *at)
{
    int n = b->c->n, end = 0, *from = index_of(b, FROM), *order = index_of(b, ORDER);
    const double *data = number_of(b, DATA);
    enum { QUEUED = -2, UNSEEN = -3 };
    for (int i = 0; i < n; i++) from[i] = UNSEEN;
    for (int next = 0; next < n;) {
        int root = -1;
        for (int i = 0; i < n; i++)
            if (from[i] == UNSEEN && (root < 0 || data[i] > data[root])) root = i;
        order[end++] = root;
        for (; next < end; next++) {
            int i = order[next];
            from[i] = i == root ? -1 : strongest(b, i, start, col, at);
            for (int k = start[i]; k < start[i + 1]; k++) {
                if (from[col[k]] != UNSEEN) continue;
                from[col[k]] = QUEUED;
                order[end++] = col[k];
            }
        }
    }
}

/* Of each contact the mean of its diagonal; its data alone. Returns 0: one moves nothing. */
static int take_diagonals(const perp_bodies *b)
{
    double *mean = number_of(b, MEAN), *data = number_of(b, DATA);
    for (int i = 0; i < b->c->n; i++) mean[i] = 0;
    for (int k = 0; k < b->c->nblock; k++)
        if (b->c->row[k] == b->c->column[k])
            mean[b->c->row[k]] = mean_diagonal(b->c->block + 9 * (size_t)k);
    for (int i = 0; i < b->c->n; i++) {
        if (!(mean[i] > DBL_MIN)) return 0;
        data[i] = own_data(b, i) / sqrt(mean[i]);
    }
    return 1;
}

void perp__rest_keep(perp_bodies *b)
{
    perp__rest *rest = b->rest;
    if (!may_rest(b) || rest->wait) return;
    rest->n = 0;
    if (!make_arrays_room(rest, b->c->n, b->c->nblock) || !take_diagonals(b)) return;
    int *start = index_of(b, START), *col = columns_of(b), *at = col + b->c->nblock;
    sort_blocks(b, start, col, at);
    plant(b, start, col, at);
    for (int k = 0; k < b->c->nblock; k++)
        memcpy(kept_blocks(b) + 9 * (size_t)k, b->c->block + 9 * (size_t)at[k], 9 * sizeof(double));
    for (int i = 0; i < b->c->n; i++)
        index_of(b, KEPT)[i] = i < b->ntouch ? -1 : law_of(b, i)->kept;
    linearise(b);
}

/* Snapshots ------------------------------------------------------------------------------------ */

/* Do the begins of n rows, as bytes, rise from 0 to nb? */
static int do_rise(const unsigned char *at, int n, int nb)
{
    int last = 0, next = 0;
    for (int i = 0; i <= n; i++, last = next) {
        memcpy(&next, at + (size_t)i * sizeof next, sizeof next);
        if (next < last || (i == 0 && next) || next > nb) return 0;
    }
    return next == nb;
}

static void pass_kept(perp__rest *rest, perp__pass *pass, int n, int nb)
{
    static const int least[INDICES] = {[FROM] = -1, [PIECE] = INT_MIN, [KEPT] = -1};
    const int most[INDICES] = {nb, n - 1, n - 1, INT_MAX, INT_MAX};
    int *index = rest->index;
    double *kept = rest->value + (size_t)NUMBERS * (size_t)n;
    if (pass->mode == PERP__LOOK && !do_rise(pass->at, n, nb)) pass->is_bad = 1;
    for (int which = 0; which < INDICES; which++, index += n + 1)
        perp__pass_ints(pass, index, (size_t)(n + (which == START)), least[which], most[which]);
    perp__pass_ints(pass, index, (size_t)nb, 0, n - 1);
    perp__pass_doubles(pass, kept, 18 * (size_t)nb);
}

/* Factors are made again where they are needed: from the same numbers in the same order. */
void perp__rest_pass(perp_bodies *b, perp__pass *pass)
{
    perp__rest *rest = b->rest;
    int n = perp__pass_count(pass, rest->n, 5 * sizeof(int));
    int nb = perp__pass_count(pass, rest->n ? rest->index[rest->n] : 0, 18 * sizeof(double));
    perp__pass_ints(pass, &rest->wait, 1, 0, INT_MAX);
    perp__pass_ints(pass, &rest->given, 1, 0, INT_MAX);
    perp__pass_ints(pass, &rest->is_counted, 1, 0, 1);
    if (pass->mode == PERP__LOOK && n && !make_arrays_room(rest, n, nb)) pass->is_full = 1;
    if (pass->mode == PERP__LOAD) rest->n = n;
    if (n && !pass->is_full) pass_kept(rest, pass, n, nb);
}
