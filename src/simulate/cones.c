/* A linearised step with contacts, as a problem of perp/friction.h. Redundant contacts (the four
 * corners of a face at rest) make the matrix of every mode singular; the methods for friction
 * problems allow that.
 *
 * Friction is an exact cone, or a two-sided pair lo <= f <= hi perp v. The force of the pair is
 * f - (lo + hi)/2 and its bound (hi - lo)/2. A contact is one of three:
 *
 * 1. a pair with the friction whose bound is mu times the pair's force;
 * 2. a pair alone (mu = 0);
 * 3. friction with another bound. Its normal "force" r_n is then the bound itself, by u_n = w
 *    (r_n - bound).
 *
 * With the forces of all contacts given, the other conditions determine the unknowns,
 *
 *     T y = -c + E r,      u = B y + d = W r + q,      W = B inv(T) E,  q = d - B inv(T) c,
 *
 * W comes column by column from the factors of T, and y from r at the end. Open contacts are no
 * part of the problem until its answer closes them: nine in ten in a heap in which all pairs may
 * come into contact. */

#include "base/tol.h"
#include "linalg/invert.h"
#include "perp/friction.h"
#include "simulate/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The accuracy asked of the friction solver if rounding allows: with a tenth of the step's
 * tolerance tables need a quarter more problems, with a thousandth as many as with a
 * ten-thousandth. And the accuracy that it must reach. */
#define SHARE 1e-3
#define LEAST 1e-2

/* So many columns of W are solved for at once. */
enum { AT_ONCE = 4 };

enum { ITERATIONS = 1000 };

typedef struct contact {
    int pair, side; /* its normal, or -1; the side of the pair that is the force */
    /* its friction: a cone, or the first of the two pairs of lo <= f <= hi perp v; or -1 */
    int cone, line;
    double mu;
} contact;

struct perp__cones {
    contact *contact;
    int nc, nall;               /* those of the problem come first; all, the others are open */
    int *row;                   /* ny: the row of T for each condition; and as many, scratch */
    double *x;                  /* ny x AT_ONCE: right-hand sides and solutions */
    double *inverse, *T, *work; /* without sparse factors: ny x ny each; of perp__invert */
    int *index;

    int nb, cblock, *block_row, *block_column, crow, ccolumn;
    int *place, *diagonal; /* nc each: the blocks of the present column; of the diagonal */
    int *pair_of;          /* of each pair of the model: the first of the step */
    double *block, *q, *mu, *r, *u, *scale;
    perp_fc_solver *solver;
    int blocks; /* it was made for so many */
};

/* Memory -------------------------------------------------------------------------------------- */

static int allocate(perp__step *s)
{
    const perp__layout *l = s->layout;
    size_t ny = (size_t)l->ny, most = (size_t)(l->np + l->ncone) + 1;
    struct perp__cones *c = s->cache.cones = calloc(1, sizeof *c);
    if (!c) return 0;
    c->contact = malloc(most * sizeof *c->contact);
    c->row = calloc(2 * ny + 1, sizeof(int));
    c->x = malloc((AT_ONCE * ny + 1) * sizeof(double));
    c->q = calloc(11 * most, sizeof(double));
    c->place = malloc((2 * most + (size_t)s->model->npair) * sizeof(int));
    if (!c->contact || !c->row || !c->x || !c->q || !c->place) return 0;
    c->diagonal = c->place + most;
    c->pair_of = c->diagonal + most;
    for (int p = l->np - 1; p >= 0; p--) c->pair_of[l->pair[p].of] = p;
    c->r = c->q + 3 * most;
    c->u = c->r + 3 * most;
    c->mu = c->u + 3 * most;
    c->scale = c->mu + most;
    if (s->cache.sparse) return 1;
    c->inverse = malloc((2 * ny * ny + perp__invert_doubles(l->ny) + 1) * sizeof(double));
    c->index = malloc((3 * ny + 1) * sizeof(int));
    if (!c->inverse || !c->index) return 0;
    c->T = c->inverse + ny * ny;
    c->work = c->T + ny * ny;
    return 1;
}

void perp__cones_free(perp__step *s)
{
    struct perp__cones *c = s->cache.cones;
    if (!c) return;
    perp_fc_solver_destroy(c->solver);
    free(c->contact);
    free(c->row);
    free(c->x);
    free(c->q);
    free(c->place);
    free(c->inverse);
    free(c->index);
    free(c->block_row);
    free(c->block_column);
    free(c->block);
    free(c);
    s->cache.cones = NULL;
}

static perp_fc view(const struct perp__cones *c)
{
    return (perp_fc){.dimension = 3,
                     .nc = c->nc,
                     .q = c->q,
                     .mu = c->mu,
                     .block = c->block,
                     .row = c->block_row,
                     .col = c->block_column,
                     .nb = c->nb};
}

/* A solver for the largest problem so far. */
static int prepare_solver(perp__step *s)
{
    const perp__layout *l = s->layout;
    struct perp__cones *c = s->cache.cones;
    if (c->solver && c->nb <= c->blocks) return 1;
    perp_fc shape = view(c);
    perp_fc_options options = perp_fc_options_default();
    options.tol = LEAST * s->tol;
    options.aim = SHARE / LEAST;
    options.max_iter = ITERATIONS;
    options.warm_start = 1;
    shape.nc = l->np + l->ncone;
    perp_fc_solver_destroy(c->solver);
    c->solver = NULL;
    c->blocks = c->nb;
    if (perp_fc_solver_create(PERP_FC_AUTO, &shape, &options, &c->solver) != PERP_OK)
        s->cache.out_of_memory = 1;
    return c->solver != NULL;
}

/* Rows ---------------------------------------------------------------------------------------- */

/* Row r without its constant, at x. */
static double product(const perp__step *s, int r, const double *x)
{
    const perp__layout *l = s->layout;
    double sum = 0;
    for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++)
        sum += s->state.slopes.value[k] * x[l->column[k]];
    return sum;
}

static double entry(const perp__step *s, int r, int column)
{
    const perp__layout *l = s->layout;
    for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++) {
        if (l->column[k] == column) return s->state.slopes.value[k];
    }
    return 0;
}

static int side_row(const perp__step *s, int pair, int side)
{
    const perp__layout *l = s->layout;
    return side ? l->pair[pair].b : l->pair[pair].a;
}

/* A var alone, as forces are written? */
static int is_var(const perp__step *s, int row)
{
    const perp__layout *l = s->layout;
    int k = l->row_start[row];
    return l->row_start[row + 1] == k + 1 && l->column[k] >= l->nx;
}

/* Contacts ------------------------------------------------------------------------------------ */

static int has_friction(const contact *k)
{
    return k->cone >= 0 || k->line >= 0;
}

/* The rows whose mean is the bound of the friction. Returns how many. */
static int bound_rows(const perp__step *s, const contact *k, int row[2])
{
    const perp__layout *l = s->layout;
    if (k->cone >= 0) {
        row[0] = l->cone[k->cone].row + 4;
        return 1;
    }
    row[0] = l->pair[k->line].a;
    row[1] = l->pair[k->line + 1].b;
    return 2;
}

/* By what the normal's row is multiplied in the bound; negative or no number where that cannot be a
 * coefficient of friction now. */
static double multiple(const perp__step *s, const contact *k, int normal)
{
    const perp__layout *l = s->layout;
    int row[2], n = bound_rows(s, k, row), first = l->row_start[normal];
    double sum = 0;
    if (first == l->row_start[normal + 1]) return -1;
    for (int i = 0; i < n; i++) sum += entry(s, row[i], l->column[first]);
    return sum / n / s->state.slopes.value[first];
}

static int is_two_sided(const perp__step *s, int p)
{
    return s->model->pair[s->layout->pair[p].of].two_sided;
}

/* The friction k joins the pair that is its normal, with this side the force, where that is on and
 * no other's. */
static void add_friction(perp__step *s, contact k, int pair, int side)
{
    struct perp__cones *c = s->cache.cones;
    int is_contact = pair >= 0 && s->state.on[pair] && !is_two_sided(s, pair);
    contact *normal = is_contact ? &c->contact[c->place[pair]] : NULL;
    int is_free = normal && !has_friction(normal);
    double mu = is_free ? multiple(s, &k, side_row(s, pair, side)) : -1;
    int joins = mu >= 0 && isfinite(mu);
    k.pair = joins ? pair : -1;
    k.side = joins ? side : 0;
    k.mu = joins ? mu : 1;
    if (joins)
        *normal = k;
    else
        c->contact[c->nall++] = k;
}

/* The pair of the step that is the normal of line p, and its side; -1 if there is none. */
static int normal_of(const perp__step *s, int p, int *side)
{
    const perp_model *m = s->model;
    int of = m->pair[s->layout->pair[p].of].contact;
    const perp__contact *said = of >= 0 ? &m->contact[of] : NULL;
    if (!said || said->normal < 0 || m->pair[said->normal].two_sided) return -1;
    *side = said->side;
    return s->cache.cones->pair_of[said->normal];
}

/* All pairs that are on, then friction, each joined to its normal. */
static void list_contacts(perp__step *s)
{
    const perp__layout *l = s->layout;
    struct perp__cones *c = s->cache.cones;
    c->nall = 0;
    for (int p = 0; p < l->np; p++) {
        c->place[p] = c->nall;
        if (!s->state.on[p] || is_two_sided(s, p)) continue;
        int side = !is_var(s, l->pair[p].a) && is_var(s, l->pair[p].b);
        c->contact[c->nall++] = (contact){p, side, -1, -1, 0};
    }
    for (int i = 0; i < l->ncone; i++)
        add_friction(s, (contact){.cone = i, .line = -1}, l->cone[i].pair, l->cone[i].side);
    for (int p = 0; p < l->np; p++) {
        int side = 0, is_line = is_two_sided(s, p);
        if (is_line && s->state.on[p])
            add_friction(s, (contact){.cone = -1, .line = p}, normal_of(s, p, &side), side);
        p += is_line;
    }
}

/* The row of T for each condition. Are they what they were? */
static int list_rows(perp__step *s)
{
    const perp__layout *l = s->layout;
    struct perp__cones *c = s->cache.cones;
    size_t bytes = (size_t)l->ny * sizeof(int);
    int *row = c->row + l->ny;
    for (int i = 0; i < l->nequation; i++) row[i] = i;
    for (int i = 0; i < l->ncone; i++)
        for (int k = 0; k < 2; k++) row[l->cone[i].equation + k] = l->cone[i].row + k;
    for (int p = 0; p < l->np; p++) row[l->nequation + p] = l->pair[p].off;
    for (int i = 0; i < c->nall; i++) {
        const contact *k = &c->contact[i];
        if (k->pair >= 0) row[l->nequation + k->pair] = side_row(s, k->pair, k->side);
        if (k->line >= 0) row[l->nequation + k->line] = l->pair[k->line].a; /* f - lo */
    }
    int is_same = memcmp(c->row, row, bytes) == 0;
    memcpy(c->row, row, bytes);
    return is_same;
}

static int factor_T(perp__step *s, int has_pivots)
{
    const perp__layout *l = s->layout;
    struct perp__cones *c = s->cache.cones;
    int is_same = list_rows(s);
    if (s->cache.sparse) return perp__sparse_factor(s, c->row, has_pivots && is_same);
    size_t ny = (size_t)l->ny;
    memset(c->T, 0, ny * ny * sizeof(double));
    for (size_t i = 0; i < ny; i++)
        for (int k = l->row_start[c->row[i]]; k < l->row_start[c->row[i] + 1]; k++)
            c->T[i * ny + (size_t)l->column[k]] = s->state.slopes.value[k];
    return perp__invert(l->ny, c->T, l->ny, perp__step_units(s), c->inverse, c->work, c->index);
}

/* inv(T) x in place, of `count` columns. */
static int solve_T(perp__step *s, double *x, int count)
{
    struct perp__cones *c = s->cache.cones;
    if (s->cache.sparse) return perp__sparse_solve_rows(s, x, count);
    size_t ny = (size_t)s->layout->ny;
    for (double *end = x + (size_t)count * ny; x < end; x += ny) {
        memset(c->work, 0, ny * sizeof(double));
        for (size_t k = 0; k < ny; k++)
            for (size_t i = 0; i < ny && x[k] != 0; i++)
                c->work[i] += c->inverse[k * ny + i] * x[k];
        memcpy(x, c->work, ny * sizeof(double));
    }
    return 1;
}

/* The condition whose right-hand side is force d (normal, t1, t2) of contact i; -1 if it has
 * none. */
static int condition_of(const perp__step *s, const contact *k, int d)
{
    const perp__layout *l = s->layout;
    if (d == 0) return k->pair >= 0 ? l->nequation + k->pair : -1;
    if (k->line >= 0) return d == 1 ? l->nequation + k->line : -1;
    return k->cone >= 0 ? l->cone[k->cone].equation + d - 1 : -1;
}

/* Adds force d of size r to the right-hand side x; of a line, f - lo = t + bound. Returns 0 where
 * nothing takes it. */
static int add_force(const perp__step *s, const contact *k, int d, double r, double *x)
{
    int condition = condition_of(s, k, d), bounds = d == 0 && k->line >= 0;
    if (condition >= 0) x[condition] += r;
    if (bounds) x[s->layout->nequation + k->line] += k->mu * r;
    return condition >= 0 || bounds;
}

/* The rows whose mean is velocity d; of a normal without a pair: the bound. Returns how many. */
static int velocity_rows(const perp__step *s, const contact *k, int d, int row[2])
{
    const perp__layout *l = s->layout;
    if (d == 0 && k->pair < 0) return bound_rows(s, k, row);
    if (d == 0) {
        row[0] = side_row(s, k->pair, !k->side);
        return 1;
    }
    if (k->line >= 0 && d == 1) {
        row[0] = l->pair[k->line].b;
        return 1;
    } /* s+, where s- = 0 */
    if (k->cone >= 0) {
        row[0] = l->cone[k->cone].row + 1 + d;
        return 1;
    }
    return 0;
}

/* The mean of n rows at x, with their constants. */
static double mean(const perp__step *s, const int *row, int n, const double *x)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += s->cache.c[row[i]] + product(s, row[i], x);
    return n > 1 ? sum / n : sum;
}

/* Force d at y. */
static double force_at(const perp__step *s, const contact *k, int d, const double *y)
{
    int row[2] = {0, 0}, condition = condition_of(s, k, d);
    if (k->line >= 0 && d == 1) {
        bound_rows(s, k, row);
        return (mean(s, row, 1, y) - mean(s, row + 1, 1, y)) / 2;
    }
    if (condition >= 0) return mean(s, &s->cache.cones->row[condition], 1, y);
    return d == 0 ? mean(s, row, velocity_rows(s, k, 0, row), y) : 0;
}

/* Open contacts -------------------------------------------------------------------------------- */

/* Is contact k closed, or would it penetrate, at the present y? */
static int is_closed(const perp__step *s, const contact *k)
{
    const double *y = s->ws + s->layout->sym.y;
    if (k->pair < 0) return 1;
    int force = side_row(s, k->pair, k->side), gap = side_row(s, k->pair, !k->side);
    return mean(s, &force, 1, y) > 0 || !(mean(s, &gap, 1, y) > 0);
}

/* Would contact k penetrate, by more than rounding? */
static int overlaps(const perp__step *s, const contact *k)
{
    return k->pair >= 0 &&
           !perp__step_row_holds(s, side_row(s, k->pair, !k->side), PERP_TOL_MODE, 0);
}

/* Takes into the problem what `belongs` says of those that are not. Returns how many. */
static int take_in(perp__step *s, int (*belongs)(const perp__step *s, const contact *k))
{
    struct perp__cones *c = s->cache.cones;
    int before = c->nc;
    for (int i = before; i < c->nall; i++) {
        contact k = c->contact[i];
        if (!belongs(s, &k)) continue;
        c->contact[i] = c->contact[c->nc];
        c->contact[c->nc++] = k;
    }
    return c->nc - before;
}

/* The problem --------------------------------------------------------------------------------- */

/* The block of contacts i, j, with j the present column; a new one if it is not there. */
static double *block_of(perp__step *s, int i, int j)
{
    struct perp__cones *c = s->cache.cones;
    if (c->place[i] >= 0) return c->block + 9 * (size_t)c->place[i];
    int n = c->nb + 1;
    if (!perp__grow(&c->block, &c->cblock, 9 * n, sizeof(double)) ||
        !perp__grow(&c->block_row, &c->crow, n, sizeof(int)) ||
        !perp__grow(&c->block_column, &c->ccolumn, n, sizeof(int))) {
        s->cache.out_of_memory = 1;
        return NULL;
    }
    c->place[i] = c->nb;
    c->nb = n;
    c->block_row[n - 1] = i;
    c->block_column[n - 1] = j;
    return memset(c->block + 9 * (size_t)(n - 1), 0, 9 * sizeof(double));
}

/* Column (j, d) of W, from the unknowns that its force moves. */
static int put_column(perp__step *s, int j, int d, const double *x)
{
    struct perp__cones *c = s->cache.cones;
    for (int i = 0; i < c->nc; i++) {
        for (int e = 0; e < 3; e++) {
            int row[2] = {0, 0}, n = velocity_rows(s, &c->contact[i], e, row);
            double u = n > 0 ? product(s, row[0], x) : 0;
            if (n > 1) u = (u + product(s, row[1], x)) / 2;
            if (u == 0) continue;
            double *block = block_of(s, i, j);
            if (!block) return 0;
            block[3 * e + d] = u;
        }
    }
    return 1;
}

/* Begin the columns of contact j by the block of its diagonal. */
static int begin_columns(perp__step *s, int j)
{
    struct perp__cones *c = s->cache.cones;
    for (int i = 0; i < c->nc; i++) c->place[i] = -1;
    if (!block_of(s, j, j)) return 0;
    c->diagonal[j] = c->place[j];
    return 1;
}

static int form_W(perp__step *s)
{
    const perp__layout *l = s->layout;
    struct perp__cones *c = s->cache.cones;
    int column[AT_ONCE], n = 0, begun = 0;
    c->nb = 0;
    for (int k = 0; k < 3 * c->nc; k++) {
        double *x = c->x + (size_t)n * (size_t)l->ny;
        memset(x, 0, (size_t)l->ny * sizeof(double));
        if (add_force(s, &c->contact[k / 3], k % 3, 1, x)) column[n++] = k;
        if (n < AT_ONCE && k < 3 * c->nc - 1) continue;
        if (!solve_T(s, c->x, n)) return 0;
        for (int i = 0; i < n; i++) {
            int j = column[i] / 3, d = column[i] % 3;
            for (; begun <= j; begun++)
                if (!begin_columns(s, begun)) return 0;
            if (!put_column(s, j, d, c->x + (size_t)i * (size_t)l->ny)) return 0;
        }
        n = 0;
    }
    return 1;
}

/* The factor that makes u_n comparable with u_T (one is often a gap, the other a velocity): the
 * block's n-t part becomes symmetric, or, if there is none, its diagonal even. */
static double normal_scale(const double *block)
{
    double tangent = (block[4] + block[8]) / 2, normal = fabs(block[0]);
    double nt = block[1] * block[1] + block[2] * block[2],
           tn = block[1] * block[3] + block[2] * block[6];
    double even = normal > 0 && tangent > 0 ? tangent / normal : 1;
    if (tn > 0 && sqrt(nt) > PERP_TOL_COUPLED * normal) return tn / nt;
    return even;
}

/* Multiplies the rows of W by 1/h, as the equation of the exact cone does by default, and those of
 * u_n to fit; missing rows of a contact get a diagonal. */
static void scale_W(perp__step *s)
{
    struct perp__cones *c = s->cache.cones;
    double rate = 1 / s->ws[SYM_H];
    for (int i = 0; i < c->nc; i++) {
        const contact *k = &c->contact[i];
        double *diagonal = c->block + 9 * (size_t)c->diagonal[i];
        if (k->line >= 0) diagonal[8] = diagonal[4];
        double tangent = (diagonal[4] + diagonal[8]) / 2;
        c->scale[i] = k->pair < 0 ? -rate * tangent : 1;
        if (k->pair >= 0 && has_friction(k)) c->scale[i] = rate * normal_scale(diagonal);
    }
    for (int b = 0; b < c->nb; b++) {
        double *block = c->block + 9 * (size_t)b;
        for (int e = 0; e < 9; e++) block[e] *= e < 3 ? c->scale[c->block_row[b]] : rate;
    }
    for (int i = 0; i < c->nc; i++) {
        const contact *k = &c->contact[i];
        double *diagonal = c->block + 9 * (size_t)c->diagonal[i];
        if (k->pair < 0) diagonal[0] += (diagonal[4] + diagonal[8]) / 2;
        if (!has_friction(k)) diagonal[4] = diagonal[8] = diagonal[0] > 0 ? diagonal[0] : 1;
    }
}

/* q in the units of W, mu, and the present forces as a guess. */
static int form_q(perp__step *s)
{
    const perp__layout *l = s->layout;
    struct perp__cones *c = s->cache.cones;
    const double *y = s->ws + l->sym.y, rate = 1 / s->ws[SYM_H];
    for (int i = 0; i < l->ny; i++) c->x[i] = -s->cache.c[c->row[i]];
    if (!solve_T(s, c->x, 1)) return 0;
    for (int i = 0; i < c->nc; i++) {
        const contact *k = &c->contact[i];
        c->mu[i] = k->mu;
        for (int d = 0; d < 3; d++) {
            int row[2] = {0, 0}, n = velocity_rows(s, k, d, row);
            c->q[3 * i + d] = mean(s, row, n, c->x) * (d ? rate : c->scale[i]);
            c->r[3 * i + d] = force_at(s, k, d, y);
        }
    }
    return 1;
}

static int form_problem(perp__step *s)
{
    if (!form_W(s)) return 0;
    scale_W(s);
    return form_q(s);
}

/* The sides of contact i that are zero, with this force and velocity. */
static void take_mode(perp__step *s, int i, const double *r, const double *u)
{
    const contact *k = &s->cache.cones->contact[i];
    if (k->pair >= 0) s->state.choice[k->pair] = (char)(r[0] > u[0] ? !k->side : k->side);
    if (k->line < 0) return;
    double bound = k->mu * r[0];
    s->state.choice[k->line] = bound + r[1] > u[1];
    s->state.choice[k->line + 1] = !(bound - r[1] > -u[1]);
}

/* The same of one that is open, and slides at this y. */
static void take_open_mode(perp__step *s, int i, const double *y)
{
    static const double none[3] = {0, 0, 0};
    const contact *k = &s->cache.cones->contact[i];
    double u[3] = {1, 0, 0};
    if (k->line >= 0) u[1] = mean(s, &s->layout->pair[k->line].b, 1, y);
    take_mode(s, i, none, u);
}

/* s+ has a velocity that may be of both signs: s+ and s- are its parts. */
static void split_velocity(perp__step *s, const contact *k, double *y)
{
    const perp__layout *l = s->layout;
    double *plus = &y[l->column[l->row_start[l->pair[k->line].b]]],
           *minus = &y[l->column[l->row_start[l->pair[k->line + 1].a]]], v = *plus;
    *plus = v > 0 ? v : 0;
    *minus = v < 0 ? -v : 0;
}

/* y refined once, where a row of T does not hold to what is asked of the forces. */
static int refine(perp__step *s, double *y, const double *force)
{
    const perp__layout *l = s->layout;
    struct perp__cones *c = s->cache.cones;
    int holds = 1;
    for (int i = 0; i < l->ny; i++) {
        int r = c->row[i];
        double terms = fabs(s->cache.c[r]) + fabs(force[i]);
        for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++)
            terms += fabs(s->state.slopes.value[k] * y[l->column[k]]);
        c->x[i] = s->cache.c[r] + product(s, r, y) - force[i];
        holds &= fabs(c->x[i]) <= SHARE * s->tol * terms;
    }
    if (holds) return 1;
    if (!solve_T(s, c->x, 1)) return 0;
    for (int i = 0; i < l->ny; i++) y[i] -= c->x[i];
    return 1;
}

/* y from the forces; the sides that are zero are the mode. */
static int take_forces(perp__step *s)
{
    const perp__layout *l = s->layout;
    struct perp__cones *c = s->cache.cones;
    double *y = s->ws + l->sym.y, *force = s->cache.sizes.scratch;
    memset(force, 0, (size_t)l->ny * sizeof *force);
    for (int i = 0; i < c->nc; i++) {
        for (int d = 0; d < 3; d++) add_force(s, &c->contact[i], d, c->r[3 * i + d], force);
        take_mode(s, i, c->r + 3 * i, c->u + 3 * i);
    }
    for (int i = 0; i < l->ny; i++) y[i] = force[i] - s->cache.c[c->row[i]];
    if (!solve_T(s, y, 1)) return 0;
    if (!refine(s, y, force)) return 0;
    for (int i = c->nc; i < c->nall; i++) take_open_mode(s, i, y);
    for (int i = 0; i < c->nall; i++)
        if (c->contact[i].line >= 0) split_velocity(s, &c->contact[i], y);
    return 1;
}

/* The problem of the contacts that are in it, solved; its answer in y. */
static int solve_problem(perp__step *s, int *solved)
{
    struct perp__cones *c = s->cache.cones;
    perp_fc_info info = {.size = sizeof info};
    if (!form_problem(s) || !prepare_solver(s)) return 0;
    perp_fc problem = view(c);
    if (perp_fc_solve(c->solver, &problem, c->r, c->u, &info) != PERP_OK) {
        s->cache.out_of_memory = 1;
        return 0;
    }
    double n = 3.0 * problem.nc;
    s->state.count.work += info.iterations * 20.0 * c->nb + info.factorizations * n * n * n / 3;
    *solved = info.outcome == PERP_SOLVED;
    return info.outcome != PERP_BAD_INPUT && take_forces(s);
}

int perp__cones_step(perp__step *s, int again, int *solved)
{
    if (!s->cache.cones && !allocate(s)) {
        perp__cones_free(s);
        s->cache.out_of_memory = 1;
        return 0;
    }
    list_contacts(s);
    s->cache.cones->nc = 0;
    take_in(s, is_closed);
    if (!factor_T(s, again)) return 0;
    do {
        if (!solve_problem(s, solved)) return 0;
    } while (take_in(s, overlaps));
    return 1;
}
