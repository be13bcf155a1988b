/* Eliminates velocities and multipliers: K x = sign C r + g, u = W r + C' x + c, so u = (W + sign
 * C' inv(K) C) r + c + C' inv(K) g. The result is blocks of the contacts that a connected part of K
 * joins. */

#include "fclib/fclib.h"
#include "linalg/sparse_lu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double MOST_BYTES = 4e9; /* of blocks of W */

/* The equations -------------------------------------------------------------------------------- */

/* [M -G; G' 0] by rows. M and G are given by rows: MT, GT. */
static int stack(const perp_fclib_problem *p, perp__arena *arena, perp_fclib_matrix *K)
{
    perp_fclib_matrix MT, GT = {0};
    if (!perp__fclib_transpose(&p->M, arena, &MT)) return 0;
    if (!p->G.start) {
        *K = MT;
        return 1;
    }
    perp_fclib_matrix G; /* G by columns, sums made */
    if (!perp__fclib_transpose(&p->G, arena, &GT) || !perp__fclib_transpose(&GT, arena, &G))
        return 0;
    int nv = p->M.columns, nl = p->G.columns, *start, *row, at = 0;
    double *value;
    PERP_TAKE(arena, start, nv + nl + 1);
    PERP_TAKE(arena, row, MT.start[nv] + 2 * G.start[nl] + 1);
    PERP_TAKE(arena, value, MT.start[nv] + 2 * G.start[nl] + 1);
    if (arena->failed) return 0;
    for (int i = 0; i < nv + nl; i++) {
        start[i] = at;
        for (int e = i < nv ? MT.start[i] : 0; i < nv && e < MT.start[i + 1]; e++) {
            row[at] = MT.row[e];
            value[at++] = MT.value[e];
        }
        for (int e = i < nv ? GT.start[i] : 0; i < nv && e < GT.start[i + 1]; e++) {
            row[at] = nv + GT.row[e];
            value[at++] = -GT.value[e];
        }
        for (int e = i < nv ? 0 : G.start[i - nv]; i >= nv && e < G.start[i - nv + 1]; e++) {
            row[at] = G.row[e];
            value[at++] = G.value[e];
        }
    }
    start[nv + nl] = at;
    *K = (perp_fclib_matrix){nv + nl, nv + nl, start, row, value};
    return 1;
}

static int state_global(perp__fclib_system *s, perp__arena *arena)
{
    const perp_fclib_problem *p = s->p;
    int nv = p->M.columns, nl = s->nx - nv;
    s->sign = 1;
    s->c = p->w;
    s->C = p->H; /* its rows beyond nv have no entries */
    PERP_TAKE(arena, s->g, s->nx + 1);
    if (arena->failed) return 0;
    for (int i = 0; i < nv; i++) s->g[i] = p->f[i];
    for (int i = 0; i < nl; i++) s->g[nv + i] = -p->b[i];
    return stack(p, arena, &s->K);
}

static int state_local(perp__fclib_system *s, perp__arena *arena)
{
    const perp_fclib_problem *p = s->p;
    s->sign = -1;
    s->c = p->q;
    if (s->nx == 0) return 1;
    PERP_TAKE(arena, s->g, s->nx + 1);
    if (arena->failed) return 0;
    for (int i = 0; i < s->nx; i++) s->g[i] = -p->s[i];
    return perp__fclib_transpose(&p->V, arena, &s->C) && perp__fclib_transpose(&p->R, arena, &s->K);
}

perp_status perp__fclib_system_create(perp__fclib_system *s, const perp_fclib_problem *p,
                                      perp__arena *arena, perp_diag *diag)
{
    *s = (perp__fclib_system){.p = p,
                              .n = p->nc * p->dimension,
                              .nx = perp_fclib_velocities(p) + perp_fclib_multipliers(p)};
    int global = perp__fclib_is_global(p);
    if (!(global ? state_global(s, arena) : state_local(s, arena))) return PERP_ERR_MEMORY;
    if (s->nx == 0) return PERP_OK;
    PERP_TAKE(arena, s->rest, s->nx);
    if (arena->failed) return PERP_ERR_MEMORY;
    s->lu = perp__sparse_lu_create(s->nx, s->K.start, s->K.row);
    if (s->lu && perp__sparse_lu_factor(s->lu, s->K.value)) return PERP_OK;
    if (!s->lu || perp__sparse_lu_out_of_memory(s->lu)) return PERP_ERR_MEMORY;
    return perp__refuse(diag, PERP_ERR_DATA, perp__in(NULL),
                        global ? "the equations M v - G l = .. of the velocities are singular\n"
                               : "R, the matrix of the multipliers, is singular\n");
}

void perp__fclib_system_clear(perp__fclib_system *s)
{
    perp__sparse_lu_destroy(s->lu);
    s->lu = NULL;
}

/* x = inv(K) b, with one refinement; b is overwritten. */
static int solve(perp__fclib_system *s, double *b, double *x)
{
    size_t bytes = (size_t)s->nx * sizeof *b;
    memcpy(x, b, bytes);
    if (!perp__sparse_lu_solve(s->lu, x, 1)) return 0;
    for (int i = 0; i < s->nx; i++)
        for (int e = s->K.start[i]; e < s->K.start[i + 1]; e++)
            b[i] -= s->K.value[e] * x[s->K.row[e]];
    if (!perp__sparse_lu_solve(s->lu, b, 1)) return 0;
    for (int i = 0; i < s->nx; i++) x[i] += b[i];
    return 1;
}

int perp__fclib_eliminated(perp__fclib_system *s, const double *r, double *x)
{
    if (s->nx == 0) return 1;
    memcpy(s->rest, s->g, (size_t)s->nx * sizeof *s->rest);
    perp__fclib_add(&s->C, s->sign, r, s->rest, NULL);
    return solve(s, s->rest, x);
}

/* Which contacts are joined -------------------------------------------------------------------- */

static int root_of(int *parent, int i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

/* The contacts of each connected part of K: of[part] at start[part] .. start[part + 1] - 1. */
typedef struct parts {
    int n, *part, *start, *contact;
} parts;

static int find_parts(const perp__fclib_system *s, perp__arena *arena, parts *out)
{
    int *parent, nc = s->p->nc, d = s->p->dimension, n = s->nx, *last;
    PERP_TAKE(arena, parent, n + 1);
    PERP_TAKE(arena, out->part, n + 1);
    PERP_TAKE(arena, out->start, n + 2);
    PERP_TAKE(arena, last, n + 1);
    if (arena->failed) return 0;
    for (int i = 0; i < n; i++) parent[i] = i;
    for (int i = 0; i < n; i++)
        for (int e = s->K.start[i]; e < s->K.start[i + 1]; e++)
            parent[root_of(parent, i)] = root_of(parent, s->K.row[e]);
    for (int i = 0; i < n; i++)
        if (root_of(parent, i) == i) out->part[i] = out->n++;
    for (int i = 0; i < n; i++) out->part[i] = out->part[root_of(parent, i)];
    for (int fill = 0; fill < 2; fill++) { /* count, then list */
        for (int k = 0; k < out->n; k++) last[k] = -1;
        for (int c = 0; c < nc; c++)
            for (int e = s->C.start[c * d]; e < s->C.start[c * d + d]; e++) {
                int k = out->part[s->C.row[e]];
                if (last[k] == c) continue;
                last[k] = c;
                if (fill)
                    out->contact[out->start[k + 1]++] = c;
                else
                    out->start[k + 2]++;
            }
        if (fill) break;
        for (int k = 0; k < out->n; k++) out->start[k + 2] += out->start[k + 1];
        PERP_TAKE(arena, out->contact, out->start[out->n + 1] + 1);
        if (arena->failed) return 0;
    }
    return 1;
}

/* The contacts joined with contact c, each once, c among them where it moves anything; seen: nc, of
 * the last contact that saw each. */
static int joined(const perp__fclib_system *s, const parts *of, int c, int *seen, int *out)
{
    int n = 0, d = s->p->dimension;
    for (int e = s->C.start[c * d]; e < s->C.start[c * d + d]; e++) {
        int k = of->part[s->C.row[e]];
        for (int at = of->start[k]; at < of->start[k + 1]; at++) {
            int other = of->contact[at];
            if (seen[other] == c) continue;
            seen[other] = c;
            out[n++] = other;
        }
    }
    return n;
}

/* Blocks --------------------------------------------------------------------------------------- */

/* Blocks of the contacts that column contact c has entries with in W; `value` NULL: counts only. */
static int own_blocks(const perp_fclib_matrix *W, int d, int c, int *place, int *row, double *value)
{
    int n = 0;
    for (int b = 0; b < d; b++)
        for (int e = W->start[c * d + b]; e < W->start[c * d + b + 1]; e++) {
            int i = W->row[e] / d, a = W->row[e] % d;
            if (place[i] < 0) {
                place[i] = n;
                row[n++] = i;
            }
            if (value) value[(place[i] * d + a) * d + b] += W->value[e];
        }
    for (int k = 0; k < n; k++) place[row[k]] = -1;
    return n;
}

/* The d x d blocks of column contact c with the `n` contacts of `row`. */
static int joined_blocks(perp__fclib_system *s, int c, int n, const int *row, double *x,
                         double *value)
{
    int d = s->p->dimension;
    for (int b = 0; b < d; b++) {
        memset(s->rest, 0, (size_t)s->nx * sizeof *s->rest);
        for (int e = s->C.start[c * d + b]; e < s->C.start[c * d + b + 1]; e++)
            s->rest[s->C.row[e]] += s->sign * s->C.value[e];
        if (!solve(s, s->rest, x)) return 0;
        for (int k = 0; k < n; k++)
            for (int a = 0; a < d; a++) {
                int j = row[k] * d + a;
                double sum = 0;
                for (int e = s->C.start[j]; e < s->C.start[j + 1]; e++)
                    sum += s->C.value[e] * x[s->C.row[e]];
                value[(k * d + a) * d + b] = sum;
            }
    }
    return 1;
}

/* Room for what is gone through contact by contact. */
typedef struct scratch {
    parts of;
    int *seen, *place, *list;
    double *x;
} scratch;

static int take_scratch(const perp__fclib_system *s, perp__arena *arena, scratch *t)
{
    int nc = s->p->nc;
    PERP_TAKE(arena, t->seen, nc + 1);
    PERP_TAKE(arena, t->place, nc + 1);
    PERP_TAKE(arena, t->list, nc + 1);
    PERP_TAKE(arena, t->x, s->nx + 1);
    if (arena->failed || (s->nx > 0 && !find_parts(s, arena, &t->of))) return 0;
    for (int c = 0; c < nc; c++) t->place[c] = t->seen[c] = -1;
    return 1;
}

/* How many, or more than `most`: in a body that is one they are as many as the square of its
 * contacts. */
static double count_blocks(const perp__fclib_system *s, scratch *t, double most)
{
    double n = 0;
    for (int c = 0; c < s->p->nc && n <= most; c++) {
        if (s->p->W.start) n += own_blocks(&s->p->W, s->p->dimension, c, t->place, t->list, NULL);
        if (s->nx > 0) n += joined(s, &t->of, c, t->seen, t->list);
    }
    for (int c = 0; c < s->p->nc; c++) t->seen[c] = -1;
    return n;
}

static int fill_blocks(perp__fclib_system *s, scratch *t, int *row, int *col, double *value)
{
    int d = s->p->dimension, nb = 0;
    for (int c = 0; c < s->p->nc; c++)
        for (int kind = 0; kind < 2; kind++) {
            int n = 0;
            double *to = value + (size_t)nb * (size_t)(d * d);
            if (kind == 0 && s->p->W.start) n = own_blocks(&s->p->W, d, c, t->place, row + nb, to);
            if (kind == 1 && s->nx > 0) {
                n = joined(s, &t->of, c, t->seen, row + nb);
                if (!joined_blocks(s, c, n, row + nb, t->x, to)) return -1;
            }
            for (int k = 0; k < n; k++) col[nb + k] = c;
            nb += n;
        }
    return nb;
}

perp_status perp__fclib_blocks(perp__fclib_system *s, perp__arena *arena, perp_fc *out,
                               perp_diag *diag)
{
    int d = s->p->dimension, *row, *col;
    double *value, *q;
    scratch t = {0};
    if (!take_scratch(s, arena, &t)) return PERP_ERR_MEMORY;
    double most = MOST_BYTES / (d * d * (double)sizeof(double)), count = count_blocks(s, &t, most);
    if (count > most)
        return perp__refuse(diag, PERP_ERR_DATA, perp__in(NULL),
                            "W of these %d contacts takes more than %.0f GB; only global problems "
                            "with a symmetric, positive definite M are solved without it\n",
                            s->p->nc, MOST_BYTES / 1e9);
    PERP_TAKE(arena, row, (size_t)count + 1);
    PERP_TAKE(arena, col, (size_t)count + 1);
    PERP_TAKE(arena, value, (size_t)count * (size_t)(d * d) + 1);
    PERP_TAKE(arena, q, s->n + 1);
    if (arena->failed) return PERP_ERR_MEMORY;
    int nb = fill_blocks(s, &t, row, col, value);
    for (int i = 0; i < s->n; i++) q[i] = s->c[i];
    if (nb >= 0 && s->nx > 0) {
        memcpy(s->rest, s->g, (size_t)s->nx * sizeof *s->rest);
        if (!solve(s, s->rest, t.x)) nb = -1;
        perp__fclib_add_transposed(&s->C, 1, t.x, q, NULL);
    }
    if (nb < 0)
        return perp__refuse(diag, PERP_ERR_DATA, perp__in(NULL),
                            "the equations of velocities and multipliers cannot be solved\n");
    *out = (perp_fc){.dimension = d,
                     .nc = s->p->nc,
                     .q = q,
                     .mu = s->p->mu,
                     .block = value,
                     .row = row,
                     .col = col,
                     .nb = nb};
    return PERP_OK;
}
