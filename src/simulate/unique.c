/* The forces that are not determined while all contacts are closed and stick: those in the null
 * space of the conditions that then hold, by elimination with complete pivoting. */

#include "base/tol.h"
#include "linalg/dense.h"
#include "simulate/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int is_var(const perp__step *s, perp_expr e)
{
    const perp__layout *l = s->layout;
    const perp__node *node = &s->model->graph.node[e];
    for (int k = 0; k < l->nv && node->op == PERP__SYMBOL; k++) {
        if (s->model->item[PERP_VAR][l->sym.var_of[k]].symbol == node->a) return 1;
    }
    return 0;
}

/* The row that is 0 in pair p while its contact is closed: the side that is no force; while it
 * sticks: no slip either way. */
static int closed_row(const perp__step *s, int p)
{
    const perp__layout *l = s->layout;
    const perp__pair *pair = &s->model->pair[l->pair[p].of];
    int second = p > 0 && l->pair[p - 1].of == l->pair[p].of;
    if (pair->two_sided) return second ? l->pair[p].a : l->pair[p].b;
    return is_var(s, pair->a) || !is_var(s, pair->b) ? l->pair[p].b : l->pair[p].a;
}

/* The conditions row by row, each of largest entry 1. Returns 0 if one is not finite. */
static int fill(const perp__step *s, const char *is_open, double *B)
{
    const perp__layout *l = s->layout;
    size_t ny = (size_t)l->ny;
    for (int i = 0; i < l->ny; i++) {
        int p = i - l->nequation, row = p < 0 ? i : closed_row(s, p);
        if (p >= 0 && is_open[l->pair[p].of]) row = l->pair[p].a + l->pair[p].b - row;
        int cone = i < l->nequation ? perp__cone_row(s, i) : -1;
        if (cone >= 0) row = cone + 2; /* a round cone that sticks: its two velocities are 0 */
        double largest = 0, *line = B + (size_t)i * ny;
        memcpy(line, s->cache.A + (size_t)row * ny, ny * sizeof *line);
        for (int j = 0; j < l->ny; j++) largest = fmax(largest, fabs(line[j]));
        if (!isfinite(largest)) return 0;
        for (int j = 0; j < l->ny && largest > 0; j++) line[j] /= largest;
    }
    return 1;
}

/* B becomes [U R] under a permutation of its columns, U unit upper triangular, by rows; returns the
 * rank. */
static int eliminate(int n, double *B, int *column)
{
    int rank = 0;
    for (int j = 0; j < n; j++) column[j] = j;
    for (; rank < n; rank++) {
        int row = rank, col = rank;
        for (int i = rank; i < n; i++) {
            for (int j = rank; j < n; j++) {
                if (fabs(B[i * n + j]) > fabs(B[row * n + col])) {
                    row = i;
                    col = j;
                }
            }
        }
        if (!(fabs(B[row * n + col]) > PERP_TOL_DEPENDS)) break;
        perp__exchange(n, B + row * n, B + rank * n, 1);
        perp__exchange(n, B + col, B + rank, n);
        int k = column[col];
        column[col] = column[rank];
        column[rank] = k;
        double pivot = B[rank * n + rank];
        for (int j = rank; j < n; j++) B[rank * n + j] /= pivot;
        for (int i = rank + 1; i < n; i++) {
            double f = B[i * n + rank];
            for (int j = rank; j < n && f != 0; j++) B[i * n + j] -= f * B[rank * n + j];
        }
    }
    return rank;
}

/* Mark the vars that move along a vector of the null space: the free column f is 1. */
static void mark(const perp__step *s, const double *B, const int *column, int rank, int f,
                 double *x, char *var)
{
    const perp__layout *l = s->layout;
    int n = l->ny;
    double largest = 1;
    for (int i = rank - 1; i >= 0; i--) {
        x[i] = -B[i * n + f];
        for (int j = i + 1; j < rank; j++) x[i] -= B[i * n + j] * x[j];
        largest = fmax(largest, fabs(x[i]));
    }
    for (int i = 0; i <= rank; i++) {
        int k = column[i < rank ? i : f] - l->nx;
        if (k >= 0 && k < l->nv && (i == rank || fabs(x[i]) > PERP_TOL_MOVES * largest))
            var[l->sym.var_of[k]] = 1;
    }
}

int perp__step_undetermined(const perp__step *s, const char *is_open, char *var)
{
    const perp__layout *l = s->layout;
    size_t ny = (size_t)l->ny;
    double *B = malloc((ny * ny + ny + 1) * sizeof *B);
    int *column = malloc((ny + 1) * sizeof *column), ok = B && column;
    memset(var, 0, (size_t)s->model->nitem[PERP_VAR]);
    if (ok && fill(s, is_open, B)) {
        int rank = eliminate(l->ny, B, column);
        for (int f = rank; f < l->ny; f++) mark(s, B, column, rank, f, B + ny * ny, var);
    }
    free(B);
    free(column);
    return ok;
}
