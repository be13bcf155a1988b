/* Which side of each pair is the complementary variable z? The rows of the equations and of the
 * chosen sides must be linearly independent: a transversal of the pairs that is a basis. It is
 * found greedily, first sides first, since those are the forces and then M is the Delassus
 * matrix. If the greedy choice fails, augmenting paths of matroid intersection find it (Edmonds;
 * Schrijver, Combinatorial Optimization, 41.2). */

#include "base/tol.h"
#include "simulate/step.h"

#include <math.h>
#include <string.h>

/* Rows reduced one after the other. combo[k] writes reduced row k in terms of the rows taken so
 * far. */
typedef struct basis {
    int n, count;
    double *row;   /* count x n, pivot entry 1 */
    double *combo; /* count x n */
    int *pivot;    /* column */
    int *owner;    /* 2 * pair + side of the row, or -1 for an equation */
    double *x, *coefficient;
    const double
        *unit; /* n: every row is multiplied by these, so that unknowns in small units count */
} basis;

/* Reduce a row of A by the basis; x gets what remains, coefficient[k] how much of taken row k it
 * contains. Returns the column of the largest remainder, or -1 if the row depends on the basis. */
static int reduce(basis *b, const double *row)
{
    int n = b->n, column = -1;
    double scale = 0, largest = PERP_TOL_DEPENDS;
    for (int j = 0; j < n; j++) b->x[j] = row[j] * b->unit[j];
    for (int j = 0; j < n; j++) scale = fmax(scale, fabs(b->x[j]));
    for (int j = 0; j < n; j++) b->x[j] = scale > 0 ? b->x[j] / scale : 0;
    memset(b->coefficient, 0, (size_t)n * sizeof(double));
    for (int k = 0; k < b->count; k++) {
        double f = b->x[b->pivot[k]];
        if (f == 0) continue;
        const double *r = b->row + (size_t)k * (size_t)n, *combo = b->combo + (size_t)k * (size_t)n;
        for (int j = 0; j < n; j++) b->x[j] -= f * r[j];
        b->x[b->pivot[k]] = 0;
        for (int j = 0; j <= k; j++) b->coefficient[j] += f * combo[j];
    }
    for (int j = 0; j < n; j++) {
        if (fabs(b->x[j]) > largest) {
            largest = fabs(b->x[j]);
            column = j;
        }
    }
    return column;
}

/* Take a row into the basis if it is independent. */
static int take(basis *b, const double *row, int owner)
{
    int column = b->count < b->n ? reduce(b, row) : -1, n = b->n, k = b->count;
    if (column < 0) return 0;
    double *r = b->row + (size_t)k * (size_t)n, *combo = b->combo + (size_t)k * (size_t)n,
           p = b->x[column];
    for (int j = 0; j < n; j++) {
        r[j] = b->x[j] / p;
        combo[j] = -b->coefficient[j] / p;
    }
    combo[k] = 1 / p;
    b->pivot[k] = column;
    b->owner[k] = owner;
    b->count++;
    return 1;
}

static const double *row_of(const perp__step *s, int element)
{
    const perp__layout *l = s->layout;
    const perp__rows *pair = &l->pair[element / 2];
    return s->cache.A + (size_t)(element % 2 ? pair->b : pair->a) * (size_t)l->ny;
}

/* Equations, switched-off pairs and the sides chosen so far; side -1 is none. The first dependent
 * fixed row in *bad. */
static int rebuild(basis *b, const perp__step *s, const char *on, const char *side, int *bad)
{
    const perp__layout *l = s->layout;
    b->count = 0;
    *bad = -1;
    for (int i = 0; i < l->nequation; i++) {
        int dependent = !take(b, s->cache.A + (size_t)i * (size_t)l->ny, -1);
        s->cache.newton.dependent[i] = (char)dependent;
        if (dependent && !l->nonlinear && *bad < 0) *bad = i;
    }
    for (int p = 0; p < l->np; p++) {
        if (!on[p] && !take(b, s->cache.A + (size_t)l->pair[p].off * (size_t)l->ny, -1) && *bad < 0)
            *bad = l->pair[p].off;
    }
    for (int p = 0; p < l->np; p++) {
        if (on[p] && side[p] >= 0) take(b, row_of(s, 2 * p + side[p]), 2 * p + side[p]);
    }
    return *bad < 0;
}

/* A shortest exchange that places one more pair. Elements 2p + side; from[] holds the path back. */
static int augment(basis *b, const perp__step *s, const char *on, char *side, int *queue, int *from)
{
    int elements = 2 * s->layout->np, head = 0, tail = 0;
    for (int e = 0; e < elements; e++) from[e] = -2;
    for (int e = 0; e < elements; e++) { /* sources: independent of all that is chosen */
        if (!on[e / 2] || side[e / 2] == e % 2) continue;
        if (b->count < b->n && reduce(b, row_of(s, e)) >= 0) {
            from[e] = -1;
            queue[tail++] = e;
        }
    }
    while (head < tail) {
        int e = queue[head++], p = e / 2;
        if (side[p] < 0) { /* sink: flip along the path */
            for (; e >= 0; e = from[e]) side[e / 2] = (char)(e % 2);
            return 1;
        }
        int out =
            2 * p +
            side[p]; /* e replaces the other side of its pair; who can take that one's place? */
        int k = 0;
        while (k < b->count && b->owner[k] != out) k++;
        for (int next = 0; next < elements; next++) {
            if (!on[next / 2] || side[next / 2] == next % 2 || from[next] != -2) continue;
            int independent = reduce(b, row_of(s, next)) >= 0;
            if (!independent && fabs(b->coefficient[k]) < PERP_TOL_DEPENDS) continue;
            from[next] = e;
            queue[tail++] = next;
        }
    }
    return 0;
}

size_t perp__sides_doubles(int ny)
{
    return 2 * (size_t)ny * (size_t)ny + 2 * (size_t)ny;
}

size_t perp__sides_ints(int ny, int np)
{
    return 2 * (size_t)ny + 4 * (size_t)np;
}

/* A Newton step may have equations that depend on each other although they are consistent: friction
 * at more contacts than a body has ways to slide. Such a row is dropped, and an unknown that
 * nothing else determines keeps its value. */
static void freeze_dependent_rows(const perp__step *s, const basis *b)
{
    const perp__layout *l = s->layout;
    char *taken = s->cache.newton.dependent + l->nequation;
    int column = 0;
    memset(taken, 0, (size_t)l->ny);
    for (int k = 0; k < b->count; k++) taken[b->pivot[k]] = 1;
    for (int i = 0; i < l->nequation; i++) {
        if (!s->cache.newton.dependent[i]) continue;
        while (taken[column]) column++;
        double *row = s->cache.A + (size_t)i * (size_t)l->ny;
        memset(row, 0, (size_t)l->ny * sizeof(double));
        row[column] = 1;
        s->cache.c[i] = -s->ws[l->sym.y + column];
        taken[column++] = 1;
    }
}

/* Exponents that make the entries of a spanning tree of each component 1. Later additions to them
 * then do not depend on the units of the model. */
static void begin_units(const perp__step *s, double *unit, double *row, int *queue)
{
    const perp__layout *l = s->layout;
    for (int j = 0; j < l->ny; j++) unit[j] = (double)NAN;
    for (int r = 0; r < l->nrow; r++) row[r] = (double)NAN;
    for (int root = 0; root < l->ny; root++) {
        int n = 0;
        if (!isnan(unit[root])) continue;
        unit[root] = 0;
        queue[n++] = root;
        for (int i = 0; i < n; i++) {
            for (int at = l->marks.stands_start[queue[i]]; at < l->marks.stands_start[queue[i] + 1];
                 at++) {
                int r = l->marks.stands_in[at], e;
                for (int k = l->row_start[r]; k < l->row_start[r + 1] && isnan(row[r]); k++)
                    if (l->column[k] == queue[i] && s->state.slopes.value[k] != 0) {
                        frexp(s->state.slopes.value[k], &e);
                        row[r] = -(e + unit[queue[i]]);
                    }
                for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++) {
                    int j = l->column[k];
                    if (isnan(row[r]) || !isnan(unit[j]) || s->state.slopes.value[k] == 0) continue;
                    frexp(s->state.slopes.value[k], &e);
                    unit[j] = -(e + row[r]);
                    queue[n++] = j;
                }
            }
        }
    }
    for (int r = 0; r < l->nrow; r++)
        if (isnan(row[r])) row[r] = 0;
}

/* Units of the unknowns and factors of the rows, powers of two, with which the entries of all rows
 * are near 1: means of exponents, taken in turn (Curtis and Reid 1972). */
static void find_units(const perp__step *s, double *unit, double *row, int *first)
{
    const perp__layout *l = s->layout;
    enum { SWEEPS = 10 };
    double *count = row + l->nrow;
    int *first_row = first + l->ny;
    begin_units(s, unit, row, first);
    for (int j = 0; j < l->ny; j++) {
        first[j] = (int)unit[j];
        unit[j] = 0;
    }
    for (int r = 0; r < l->nrow; r++) first_row[r] = (int)row[r];
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int r = 0; r < l->nrow; r++) {
            int begin = l->row_start[r], end = l->row_start[r + 1], n = 0, e;
            row[r] = 0;
            for (int k = begin; k < end; k++) {
                int j = l->column[k];
                if (s->state.slopes.value[k] == 0) continue;
                frexp(s->state.slopes.value[k], &e);
                row[r] -= e + first[j] + first_row[r] + unit[j];
                n++;
            }
            if (n > 0) row[r] /= n;
        }
        for (int j = 0; j < l->ny; j++) unit[j] = count[j] = 0;
        for (int r = 0; r < l->nrow; r++) {
            for (int k = l->row_start[r], e; k < l->row_start[r + 1]; k++) {
                int j = l->column[k];
                if (s->state.slopes.value[k] == 0) continue;
                frexp(s->state.slopes.value[k], &e);
                unit[j] -= e + first[j] + first_row[r] + row[r];
                count[j]++;
            }
        }
        for (int j = 0; j < l->ny; j++)
            if (count[j] > 0) unit[j] /= count[j];
    }
    for (int j = 0; j < l->ny; j++) unit[j] = ldexp(1, first[j] + (int)lround(unit[j]));
    for (int r = 0; r < l->nrow; r++) row[r] = ldexp(1, first_row[r] + (int)lround(row[r]));
}

/* The same by the largest entry of each row and column (Ruiz 2001): a mean is led astray by an
 * entry that passes through 0. */
void perp__step_units_by_largest(perp__step *s)
{
    const perp__layout *l = s->layout;
    enum { SWEEPS = 20 };
    double *unit = s->state.units.value, *row = unit + l->ny, *largest = row + l->nrow;
    for (int i = 0; i < l->ny + l->nrow; i++) unit[i] = 1;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        memset(largest, 0, (size_t)l->ny * sizeof(double));
        for (int r = 0; r < l->nrow; r++) {
            double most = 0;
            for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++) {
                double x = fabs(s->state.slopes.value[k]) * unit[l->column[k]] * row[r];
                most = fmax(most, x);
                largest[l->column[k]] = fmax(largest[l->column[k]], x);
            }
            if (most > 0 && isfinite(most)) row[r] /= sqrt(most);
        }
        for (int j = 0; j < l->ny; j++)
            if (largest[j] > 0 && isfinite(largest[j])) unit[j] /= sqrt(largest[j]);
    }
    for (int i = 0; i < l->ny + l->nrow; i++) unit[i] = ldexp(1, (int)lround(log2(unit[i])));
    s->state.units.are_known = 1;
}

const double *perp__step_units(perp__step *s)
{
    if (!s->state.units.are_known)
        find_units(s, s->state.units.value, s->state.units.value + s->layout->ny,
                   s->cache.sizes.in_mode);
    s->state.units.are_known = 1;
    return s->state.units.value;
}

const double *perp__step_row_units(perp__step *s)
{
    return perp__step_units(s) + s->layout->ny;
}

int perp__choose_sides(perp__step *s, const char *on, char *side, char *bad, int *bad_row,
                       double *work, int *iwork)
{
    const perp__layout *l = s->layout;
    size_t n = (size_t)l->ny;
    int *queue = iwork + 2 * n, *from = queue + 2 * l->np, missing = 0;
    basis b = {.n = l->ny,
               .row = work,
               .combo = work + n * n,
               .x = work + 2 * n * n,
               .coefficient = work + 2 * n * n + n,
               .pivot = iwork,
               .owner = iwork + n,
               .unit = perp__step_units(s)};
    memset(b.combo, 0, n * n * sizeof(double));
    memset(side, -1, (size_t)l->np);
    memset(bad, 0, (size_t)l->np);
    if (!rebuild(&b, s, on, side, bad_row)) return 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int p = 0; p < l->np; p++) {
            if (on[p] && side[p] < 0 && take(&b, row_of(s, 2 * p + pass), 2 * p + pass))
                side[p] = (char)pass;
        }
    }
    for (int p = 0; p < l->np; p++) missing += on[p] && side[p] < 0;
    while (missing > 0) {
        int ignored;
        rebuild(&b, s, on, side, &ignored);
        if (!augment(&b, s, on, side, queue, from)) break;
        missing--;
    }
    for (int p = 0; p < l->np; p++) bad[p] = (char)(on[p] && side[p] < 0);
    if (missing == 0 && b.count < l->ny) {
        int ignored;
        rebuild(&b, s, on, side, &ignored);
        freeze_dependent_rows(s, &b);
    }
    return missing == 0;
}
