/* A problem whose matrix has several connected components is solved component by component, each
 * with limits of its own. Components share no entry, so the rest of the problem changes neither the
 * verdict nor a bit of the numbers of one. */

#include "solve/solver.h"

#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct perp__lcp_parts {
    double *M, *q, *lo, *hi;       /* the part at hand: n_max x n_max, n_max each */
    double *z, *ray, *certificate; /* of the whole */
    int *part;                     /* the least index of the part that i belongs to */
    int *row;                      /* the indices of the part at hand; 2 n_max */
    unsigned char *basis;
};

int perp__lcp_parts_create(perp_lcp_solver *s)
{
    size_t n = (size_t)s->n_max + 1;
    perp__lcp_parts *p = s->parts = calloc(1, sizeof *p);
    if (!p) return 0;
    p->M = malloc((n * n + 6 * n) * sizeof(double));
    p->part = malloc(3 * n * sizeof(int));
    p->basis = malloc(n);
    if (!p->M || !p->part || !p->basis) return 0;
    p->q = p->M + n * n;
    p->lo = p->q + n;
    p->hi = p->lo + n;
    p->z = p->hi + n;
    p->ray = p->z + n;
    p->certificate = p->ray + n;
    p->row = p->part + n;
    return 1;
}

void perp__lcp_parts_destroy(perp__lcp_parts *p)
{
    if (!p) return;
    free(p->M);
    free(p->part);
    free(p->basis);
    free(p);
}

/* From each index on to those that its column or row knows and nobody has reached yet, the first
 * reached first. A dense column ends it. */
int perp__lcp_parts_find(perp_lcp_solver *s, const perp_lcp *lcp)
{
    int n = lcp->n, left = n, parts = 0, *part = s->parts->part;
    int *reached = s->parts->row, *rest = reached + n;
    size_t ld = (size_t)lcp->ldm;
    for (int i = 0; i < n; i++) rest[i] = i;
    for (; left > 0; parts++) {
        int first = rest[0], next = 0, many = 1;
        part[first] = reached[0] = first;
        left--;
        memmove(rest, rest + 1, (size_t)left * sizeof *rest);
        while (next < many && left > 0) {
            int j = reached[next++], kept = 0;
            const double *column = perp__column(lcp, j), *row = lcp->M + j;
            for (int k = 0; k < left; k++) {
                int i = rest[k];
                if (perp__is_entry(column[i], row[(size_t)i * ld])) {
                    part[i] = first;
                    reached[many++] = i;
                } else
                    rest[kept++] = i;
            }
            left = kept;
        }
    }
    return parts;
}

/* The part that begins with `first`, as a problem of its own. */
static perp_lcp gather(perp__lcp_parts *p, const perp_lcp *lcp, int first)
{
    int m = 0;
    for (int i = first; i < lcp->n; i++) {
        if (p->part[i] == first) p->row[m++] = i;
    }
    for (int j = 0; j < m; j++) {
        const double *column = perp__column(lcp, p->row[j]);
        for (int i = 0; i < m; i++) p->M[i + j * m] = column[p->row[i]];
        p->q[j] = lcp->q[p->row[j]];
        if (lcp->lo) p->lo[j] = lcp->lo[p->row[j]];
        if (lcp->hi) p->hi[j] = lcp->hi[p->row[j]];
    }
    return (perp_lcp){m, p->M, m, p->q, lcp->lo ? p->lo : NULL, lcp->hi ? p->hi : NULL};
}

/* All else of the whole, of n, is 0. */
static void scatter(const perp__lcp_parts *p, int n, int m, const double *x, double *whole)
{
    memset(whole, 0, (size_t)n * sizeof *whole);
    for (int k = 0; k < m; k++) whole[p->row[k]] = x[k];
}

static void keep_answer(perp_lcp_solver *s, int n, int m, int *has_ray, int *has_certificate)
{
    perp__lcp_parts *p = s->parts;
    for (int k = 0; k < m; k++) {
        p->z[p->row[k]] = s->z[k];
        p->basis[p->row[k]] = s->basis[k];
    }
    if (s->has_ray && !*has_ray) {
        scatter(p, n, m, s->ray, p->ray);
        *has_ray = 1;
    }
    if (s->has_certificate) {
        scatter(p, n, m, s->certificate, p->certificate);
        *has_certificate = 1;
    }
}

/* The outcome that says most of the whole. */
static perp_outcome worse(perp_outcome a, perp_outcome b)
{
    static const int rank[PERP_OUTCOME_COUNT] = {
        [PERP_LIMIT] = 1, [PERP_RAY] = 2, [PERP_INFEASIBLE] = 3};
    return rank[b] > rank[a] ? b : a;
}

perp_outcome perp__lcp_parts_solve(perp_lcp_solver *s, const perp_lcp *lcp, perp_lcp_info *info)
{
    perp__lcp_parts *p = s->parts;
    size_t bytes = (size_t)lcp->n * sizeof(double);
    int has_ray = 0, has_certificate = 0;
    perp_outcome outcome = PERP_SOLVED;
    info->residual = info->error = 0;
    for (int i = 0; i < lcp->n; i++) p->z[i] = perp__clamp(lcp, i, 0);
    for (int i = 0; i < lcp->n && outcome != PERP_INFEASIBLE; i++) {
        if (p->part[i] != i) continue;
        perp_lcp part = gather(p, lcp, i);
        perp_lcp_info own = {.size = sizeof own, .iterations = 0};
        s->has_basis = s->has_ray = s->has_certificate = s->guessed = 0;
        outcome = worse(outcome, perp__lcp_solve_part(s, &part, &own));
        keep_answer(s, lcp->n, part.n, &has_ray, &has_certificate);
        info->iterations += own.iterations;
        if (i == 0 || own.method != PERP_LCP_LEMKE) info->method = own.method;
        if (!(own.residual <= info->residual)) info->residual = own.residual;
        if (!(own.error <= info->error)) info->error = own.error;
    }
    memcpy(s->z, p->z, bytes);
    if (has_ray) memcpy(s->ray, p->ray, bytes);
    if (has_certificate) memcpy(s->certificate, p->certificate, bytes);
    memcpy(s->basis, p->basis, (size_t)lcp->n);
    s->has_ray = has_ray && outcome != PERP_SOLVED;
    s->has_certificate = has_certificate;
    s->lu.n = -1;
    perp__lcp_terms(s, lcp); /* w, and what derivatives ask for */
    s->n = outcome == PERP_SOLVED ? lcp->n : -1;
    return outcome;
}
