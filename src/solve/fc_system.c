/* Linear systems of the methods for friction problems: (A + B W) x = b, where A and B have a 3 x 3
 * block for each contact. Contacts that are not active keep the x that is given. Two ways, by what
 * the caller knows of W:
 *
 * - In impulses: the matrix has the blocks of W.
 * - In velocities: W = Y Y' + E, where Y says what moves at each contact and E joins few contacts
 *   (perp__fc_factors). With C = A + B E and s = Y' x the same x solves
 *
 *       (I + Y' inv(C) B Y) s = Y' inv(C) b,        x = inv(C) (b - B Y s).
 *
 *   A robot with 18 velocities and 30 contacts has 18 rows then, and not 90. It is the system of
 *   Newton's method on velocities (Castro et al. 2022, arXiv 2110.10107). Where C is small, s must
 *   have a small residual: its blocks are solved by their factors, not by inverses. */

#include "base/arena.h"
#include "base/base.h"
#include "linalg/lu3.h"
#include "solve/fc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct perp__fc_system {
    const perp__fc_factors *of; /* NULL: in impulses */
    perp__block_lu *lu;         /* of velocities, `room` groups */
    int n, room, nblock;        /* groups that the contacts move; blocks of Y */
    int *ints, *col, *place;    /* the arrays of integers; of these, pattern and where blocks go */
    double *reals, *value;      /* the arrays of numbers; the matrix, 9 an entry of the pattern */
    int cints, ccol, cplace, creals, cvalue, cC;
    int *local; /* of the caller's groups: the number here */
    int *start; /* n + 1: the pattern by rows */
    int *first; /* of a contact: its begin in `place`, by blocks of Y, row by row; behind these
                     those of a bounded contact with its bound's */
    int *begin, *block, *owner, *mark; /* blocks of Y by groups; of a block its contact */
    perp__lu3 *C;                      /* nc */
    double *H;                         /* 9 nc: inv(C) B */
    double *s, *right;                 /* 3 n; 3 nc */
    const double *A, *B;               /* of the last factors; B NULL: the identity */
    const int *active;
};

perp__fc_system *perp__fc_system_create(void)
{
    return calloc(1, sizeof(perp__fc_system));
}

void perp__fc_system_destroy(perp__fc_system *s)
{
    if (!s) return;
    void *all[] = {s->ints, s->col, s->place, s->reals, s->value, s->C};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
    perp__block_lu_destroy(s->lu);
    free(s);
}

/* 3 x 3, row by row ---------------------------------------------------------------------------- */

/* c += f a' b */
static inline void add_product(double f, const double *restrict a, const double *restrict b,
                               double *restrict c)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            c[3 * i + j] += f * (a[i] * b[j] + a[3 + i] * b[3 + j] + a[6 + i] * b[6 + j]);
}

/* y += f a x */
static inline void add_to(double f, const double *a, const double *x, double *y)
{
    for (int i = 0; i < 3; i++)
        y[i] += f * (a[3 * i] * x[0] + a[3 * i + 1] * x[1] + a[3 * i + 2] * x[2]);
}

/* y += f a' x */
static inline void add_back(double f, const double *a, const double *x, double *y)
{
    for (int i = 0; i < 3; i++) y[i] += f * (a[i] * x[0] + a[3 + i] * x[1] + a[6 + i] * x[2]);
}

/* W from its factors --------------------------------------------------------------------------- */

static int is_active(const perp__fc_system *y, int i)
{
    return !y->active || y->active[i];
}

/* The blocks of Y of contact i: from *at to the result. */
static inline int blocks_of(const perp__fc *fc, int i, int *at)
{
    const perp__fc_factors *of = fc->system->of;
    *at = of->start[fc->order[i]];
    return of->start[fc->order[i] + 1];
}

static inline int block_count(const perp__fc *fc, int i)
{
    const int *start = fc->system->of->start + fc->order[i];
    return start[1] - start[0];
}

/* The contact whose normal impulse bounds that of contact i, -1: none. */
static inline int bound_of(const perp__fc *fc, int i)
{
    int j = fc->system->of->bound[fc->order[i]];
    return j < 0 ? -1 : fc->place[j] - fc->first;
}

/* What E has where the normals of contact i and of its bound j meet. */
static inline double bound_share(const perp__fc *fc, int i, int j)
{
    return -fc->scale[i] * fc->system->of->share[fc->order[i]] * fc->force[j];
}

/* s := Y' x of the contacts that are active, of those that are not, or of all (any < 0). */
static void carry_back(const perp__fc *fc, const double *x, int any, double *s)
{
    const perp__fc_system *y = fc->system;
    memset(s, 0, 3 * (size_t)y->n * sizeof *s);
    for (int i = 0, at; i < fc->nc; i++) {
        const double *xi = x + 3 * i;
        if ((any >= 0 && any != is_active(y, i)) || (xi[0] == 0 && xi[1] == 0 && xi[2] == 0))
            continue;
        for (int end = blocks_of(fc, i, &at); at < end; at++)
            add_back(fc->force[i], y->of->block + 9 * (size_t)at, xi,
                     s + 3 * (size_t)y->local[y->of->group[at]]);
    }
}

/* u_i += Y_i s */
static inline void carry_out(const perp__fc *fc, int i, const double *s, double *u)
{
    const perp__fc_system *y = fc->system;
    int at, end = blocks_of(fc, i, &at);
    for (; at < end; at++)
        add_to(fc->scale[i], y->of->block + 9 * (size_t)at,
               s + 3 * (size_t)y->local[y->of->group[at]], u);
}

/* u_i += E_ij x_j of the contact that bounds i */
static inline void add_bound(const perp__fc *fc, int i, const double *x, double *u)
{
    int j = bound_of(fc, i);
    if (j >= 0) u[0] += bound_share(fc, i, j) * x[3 * j];
}

int perp__fc_in_velocities(const perp__fc *fc)
{
    return fc->system->of != NULL;
}

void perp__fc_system_product(const perp__fc *fc, const double *x, double *u)
{
    carry_back(fc, x, -1, fc->system->s);
    memcpy(u, fc->q, (size_t)fc->n * sizeof *u);
    for (int i = 0; i < fc->nc; i++) {
        carry_out(fc, i, fc->system->s, u + 3 * i);
        add_bound(fc, i, x, u + 3 * i);
        add_to(fc->scale[i] * fc->force[i], fc->system->of->own + 9 * (size_t)fc->order[i],
               x + 3 * i, u + 3 * i);
    }
    *fc->products += 18.0 * fc->system->nblock;
}

/* Of each block of contact i: blocks that it meets, its own and those of its bound. */
static inline int places_of(const perp__fc *fc, int i)
{
    int j = bound_of(fc, i);
    return block_count(fc, i) + (j < 0 ? 0 : block_count(fc, j));
}

/* The pattern ---------------------------------------------------------------------------------- */

/* Numbers the groups that the contacts move, counts their blocks. Returns the number of pairs of
 * blocks that meet. */
static int number_groups(perp__fc *fc)
{
    perp__fc_system *y = fc->system;
    int pairs = 0;
    y->n = 0;
    for (int k = 0; k < y->of->ngroup; k++) y->local[k] = -1;
    for (int i = 0, at; i < fc->nc; i++) {
        y->first[i] = pairs;
        pairs += block_count(fc, i) * places_of(fc, i);
        for (int end = blocks_of(fc, i, &at); at < end; at++)
            if (y->local[y->of->group[at]] < 0) y->local[y->of->group[at]] = y->n++;
    }
    y->first[fc->nc] = pairs;
    return pairs;
}

/* The blocks of Y by groups. */
static void sort_blocks(perp__fc *fc)
{
    perp__fc_system *y = fc->system;
    int *begin = y->begin;
    memset(begin, 0, (size_t)(y->n + 2) * sizeof *begin);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0, at; i < fc->nc; i++)
            for (int end = blocks_of(fc, i, &at); at < end; at++) {
                int g = y->local[y->of->group[at]];
                if (!pass) {
                    begin[g + 2]++;
                    continue;
                }
                y->block[begin[g + 1]] = at;
                y->owner[begin[g + 1]++] = i;
            }
        for (int g = 0; g < y->n && !pass; g++) begin[g + 2] += begin[g + 1];
    }
}

/* In row g, whose first entry is the pattern's `row`th: where the blocks of contact j are, from
 * place[at] on. Returns the end of the pattern. */
static int add_places(perp__fc *fc, int row, int j, int at, int end)
{
    perp__fc_system *y = fc->system;
    int from;
    for (int to = blocks_of(fc, j, &from); from < to; from++) {
        int h = y->local[y->of->group[from]];
        if (y->mark[h] < row) {
            y->mark[h] = end;
            y->col[end++] = h;
        }
        y->place[at++] = y->mark[h];
    }
    return end;
}

static void find_pattern(perp__fc *fc)
{
    perp__fc_system *y = fc->system;
    int end = 0;
    for (int g = 0; g < y->n; g++) y->mark[g] = -1;
    for (int g = 0; g < y->n; g++) {
        int row = y->start[g] = end;
        y->mark[g] = end;
        y->col[end++] = g; /* the diagonal first */
        for (int k = y->begin[g]; k < y->begin[g + 1]; k++) {
            int i = y->owner[k], j = bound_of(fc, i);
            int at = y->first[i] + (y->block[k] - y->of->start[fc->order[i]]) * places_of(fc, i);
            end = add_places(fc, row, i, at, end);
            if (j >= 0) end = add_places(fc, row, j, at + block_count(fc, i), end);
        }
    }
    y->start[y->n] = end;
}

static int has_room(perp__fc_system *y, int n)
{
    if (y->lu && n <= y->room) return 1;
    perp__block_lu_destroy(y->lu);
    y->room = 2 * n;
    y->lu = perp__block_lu_create(y->room);
    return y->lu != NULL;
}

static void share_ints(perp__fc *fc)
{
    perp__fc_system *y = fc->system;
    int groups = y->of->ngroup;
    y->local = y->ints;
    y->first = y->local + groups;
    y->start = y->first + fc->nc + 1;
    y->begin = y->start + groups + 1;
    y->mark = y->begin + groups + 2;
    y->block = y->mark + groups;
    y->owner = y->block + y->nblock;
}

static void share_reals(perp__fc *fc)
{
    perp__fc_system *y = fc->system;
    y->H = y->reals;
    y->s = y->H + 3 * fc->n;
    y->right = y->s + 3 * y->n;
}

int perp__fc_system_begin(perp__fc *fc, const perp__fc_factors *factors)
{
    perp__fc_system *y = fc->system;
    y->of = factors;
    y->active = NULL;
    y->nblock = 0;
    if (!factors) return 1;
    for (int i = 0; i < fc->nc; i++) y->nblock += block_count(fc, i);
    if (!perp__grow(&y->ints, &y->cints, 4 * (factors->ngroup + 1) + fc->nc + 1 + 2 * y->nblock,
                    sizeof *y->ints))
        return 0;
    share_ints(fc);
    int pairs = number_groups(fc);
    if (!perp__grow(&y->place, &y->cplace, pairs + 1, sizeof *y->place) ||
        !perp__grow(&y->col, &y->ccol, pairs + y->n + 1, sizeof *y->col) ||
        !perp__grow(&y->reals, &y->creals, 4 * fc->n + 3 * y->n + 1, sizeof *y->reals) ||
        !perp__grow(&y->C, &y->cC, fc->nc + 1, sizeof *y->C))
        return 0;
    share_reals(fc);
    sort_blocks(fc);
    find_pattern(fc);
    return perp__grow(&y->value, &y->cvalue, 9 * y->start[y->n] + 1, sizeof *y->value) &&
           has_room(y, y->n) && perp__block_lu_order(y->lu, y->n, y->start, y->col, NULL);
}

int perp__fc_system_order(perp__fc *fc, const int *active)
{
    fc->system->active = active;
    if (perp__fc_in_velocities(fc)) return 1;
    int done = perp__block_lu_order(fc->lu, fc->nc, fc->start, fc->col, active);
    fc->out_of_memory |= !done;
    return done;
}

/* Factors -------------------------------------------------------------------------------------- */

/* The blocks of A + B W in fc->jacobian. */
static void state_in_impulses(perp__fc *fc)
{
    const perp__fc_system *y = fc->system;
    perp__fc_count(fc, y->B ? 3 : 1);
    for (int i = 0; i < fc->nc; i++) {
        if (!is_active(y, i)) continue;
        for (int k = fc->start[i]; k < fc->start[i + 1]; k++) {
            const double *w = fc->block + 9 * (size_t)k;
            double *J = fc->jacobian + 9 * (size_t)k;
            if (y->B)
                perp__multiply3(y->B + 9 * (size_t)i, w, J);
            else
                memcpy(J, w, 9 * sizeof *J);
            for (int e = 0; e < 9 && fc->col[k] == i; e++) J[e] += y->A[9 * (size_t)i + (size_t)e];
        }
    }
}

/* C and inv(C) B of contact i. */
static void condense(perp__fc *fc, int i, double tiny)
{
    perp__fc_system *y = fc->system;
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const double *B = y->B ? y->B + 9 * (size_t)i : one,
                 *own = y->of->own + 9 * (size_t)fc->order[i];
    double C[9], f = fc->scale[i] * fc->force[i], size = 0;
    perp__multiply3(B, own, C);
    for (int e = 0; e < 9; e++) {
        C[e] = f * C[e] + y->A[9 * (size_t)i + (size_t)e];
        size = fmax(size, fabs(C[e]));
    }
    perp__lu3_factor(C, tiny * size, &y->C[i]);
    for (int column = 0; column < 3; column++) {
        double x[3] = {B[column], B[3 + column], B[6 + column]};
        perp__lu3_solve(&y->C[i], x);
        for (int d = 0; d < 3; d++) y->H[9 * i + 3 * d + column] = x[d];
    }
}

/* value += f Y_i' K Y_j at the places of i's blocks from place[at] on, `wide` a row. */
static void add_contact(perp__fc *fc, int i, int j, const double *K, double f, int at, int wide)
{
    perp__fc_system *y = fc->system;
    int row, rows = blocks_of(fc, i, &row), column, columns = blocks_of(fc, j, &column);
    for (int l = column; l < columns; l++) {
        double KY[9];
        perp__multiply3(K, y->of->block + 9 * (size_t)l, KY);
        for (int k = row; k < rows; k++)
            add_product(f, y->of->block + 9 * (size_t)k, KY,
                        y->value + 9 * (size_t)y->place[at + (k - row) * wide + l - column]);
    }
    *fc->products += 27.0 * (columns - column) * (1 + rows - row);
}

/* inv(C_i) B_i E_ij H_j, less: what the bound of i brings. */
static void bound_block(const perp__fc *fc, int i, int j, double *K)
{
    double E = bound_share(fc, i, j);
    const double *Hi = fc->system->H + 9 * (size_t)i, *Hj = fc->system->H + 9 * (size_t)j;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) K[3 * a + b] = -Hi[3 * a] * E * Hj[b];
}

static void state_in_velocities(perp__fc *fc, double tiny)
{
    perp__fc_system *y = fc->system;
    memset(y->value, 0, 9 * (size_t)y->start[y->n] * sizeof *y->value);
    for (int g = 0; g < y->n; g++)
        for (int d = 0; d < 3; d++) y->value[9 * (size_t)y->start[g] + 4 * (size_t)d] = 1;
    for (int i = 0; i < fc->nc; i++)
        if (is_active(y, i)) condense(fc, i, tiny);
    for (int i = 0; i < fc->nc; i++) {
        double K[9];
        int j = bound_of(fc, i), wide = places_of(fc, i);
        if (!is_active(y, i)) continue;
        double f = fc->force[i];
        add_contact(fc, i, i, y->H + 9 * (size_t)i, f * fc->scale[i], y->first[i], wide);
        if (j < 0 || !is_active(y, j)) continue;
        bound_block(fc, i, j, K);
        add_contact(fc, i, j, K, f * fc->scale[j], y->first[i] + block_count(fc, i), wide);
    }
}

void perp__fc_system_factor(perp__fc *fc, const double *A, const double *B, double tiny)
{
    perp__fc_system *y = fc->system;
    y->A = A;
    y->B = B;
    fc->factorizations++;
    if (perp__fc_in_velocities(fc)) {
        state_in_velocities(fc, tiny);
        perp__block_lu_factor(y->lu, y->start, y->col, y->value, tiny);
        *fc->products += perp__block_lu_work(y->lu);
        return;
    }
    state_in_impulses(fc);
    perp__block_lu_factor(fc->lu, fc->start, fc->col, fc->jacobian, tiny);
}

/* Solutions ------------------------------------------------------------------------------------ */

static void solve_in_impulses(perp__fc *fc, double *x)
{
    const perp__fc_system *y = fc->system;
    for (int i = 0; i < fc->nc && y->active; i++) {
        if (!is_active(y, i)) continue;
        for (int k = fc->start[i]; k < fc->start[i + 1]; k++)
            if (!is_active(y, fc->col[k]))
                add_to(-1, fc->jacobian + 9 * (size_t)k, x + 3 * (size_t)fc->col[k], x + 3 * i);
    }
    perp__block_lu_solve(fc->lu, x);
}

/* x_i -= B_i u */
static void take_off(const perp__fc *fc, int i, const double *u, double *x)
{
    const double *B = fc->system->B;
    if (B)
        add_to(-1, B + 9 * (size_t)i, u, x);
    else
        for (int d = 0; d < 3; d++) x[d] -= u[d];
}

/* x := inv(C) (x - B (w + E x)) of the active contacts, w = Y s or NULL: 0. A contact that bounds
 * others comes before these. */
static void back_substitute(const perp__fc *fc, const double *s, const double *right, double *x)
{
    const perp__fc_system *y = fc->system;
    for (int bounded = 0; bounded < 2; bounded++)
        for (int i = 0; i < fc->nc; i++) {
            double u[3] = {0}, b[3];
            if (!is_active(y, i) || (y->of->bound[fc->order[i]] >= 0) != bounded) continue;
            memcpy(b, right + 3 * i, sizeof b);
            if (s) carry_out(fc, i, s, u);
            if (bounded) add_bound(fc, i, x, u);
            if (s || bounded) take_off(fc, i, u, b);
            perp__lu3_solve(&y->C[i], b);
            memcpy(x + 3 * i, b, sizeof b);
        }
}

/* x of the active contacts for the right sides `right`; x of the others stands. */
static void solve_once(perp__fc *fc, const double *right, double *x)
{
    perp__fc_system *y = fc->system;
    back_substitute(fc, NULL, right, x);
    carry_back(fc, x, 1, y->s);
    perp__block_lu_solve(y->lu, y->s);
    back_substitute(fc, y->s, right, x);
}

/* right -= B Y Y' x of the x that are given, for the active contacts. */
static void take_given(perp__fc *fc, const double *x, double *right)
{
    perp__fc_system *y = fc->system;
    if (!y->active) return;
    carry_back(fc, x, 0, y->s);
    for (int i = 0; i < fc->nc; i++) {
        double u[3] = {0};
        if (!is_active(y, i)) continue;
        carry_out(fc, i, y->s, u);
        take_off(fc, i, u, right + 3 * i);
    }
}

static void solve_in_velocities(perp__fc *fc, double *x)
{
    perp__fc_system *y = fc->system;
    for (int i = 0; i < fc->nc; i++) {
        memcpy(y->right + 3 * i, x + 3 * i, 3 * sizeof *x);
        if (is_active(y, i)) memset(x + 3 * i, 0, 3 * sizeof *x);
    }
    take_given(fc, x, y->right);
    solve_once(fc, y->right, x);
    *fc->products += perp__block_lu_work(y->lu);
}

void perp__fc_system_solve(perp__fc *fc, double *x)
{
    if (perp__fc_in_velocities(fc))
        solve_in_velocities(fc, x);
    else
        solve_in_impulses(fc, x);
}
