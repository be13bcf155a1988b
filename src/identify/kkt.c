/* Estimator `kkt`: the bilevel formulation as one program through its optimality conditions (notes
 * section 4).
 *
 * The steps' own programs (inner.h) are replaced by the conditions for y to solve them. With rows r
 * = c(theta) + S(theta) y, multipliers l of the sides of pairs, and violations s of soft sides:
 *
 *     min over theta, y, r, l, s of  sum of r_e^2 + sum over pairs of r_a r_b + sum of weight s
 *     S' p = 0,   p_e = 2 r_e,   p_a = r_b - l_a,   p_b = r_a - l_b
 *     0 <= r_k + s_k,   0 <= l_k <= weight_k,   (r_k + s_k) l_k <= t,   s_k (weight_k - l_k) <= t
 *
 * IPOPT solves it for t from 1 to LAST (Scholtes 2001). Rows are in units of the equations' largest
 * constant, and each y_j in the one that makes its largest coefficient 1. So units do not change
 * IPOPT's input. If c and S are affine in theta, every function is a sum of products of two
 * variables. IPOPT's answer is verified. At its theta Lemke's method solves each step's program
 * anew, as `implicit` does. The two costs must agree, and neighbours of theta must not be better.
 * Each J_s is a least value and the program's point is feasible. So sums agree only if all steps
 * do. Fails: as implicit; from far off less often, because of the slopes for t > 0. Cost: sparse,
 * some hundred variables a step are no obstacle. But each start takes ten solutions. */

#include "base/tol.h"
#include "identify/inner.h"
#include "external/nlp.h"
#include "model/model.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The last t, IPOPT's tolerance beside t and at least, a neighbour's distance in parts of the
 * range, and the costs that are the same. */
#define LAST           1e-10
#define TOL_OF_PRODUCT 1e-3
#define TOL_LEAST      1e-9
#define BESIDE         1e-3
#define SAME           1e-6
#define FREE           PERP_NLP_UNBOUNDED

/* c x_a x_b in constraint `row` (-1: the cost); a or b -1: that factor is 1. */
typedef struct term {
    int row, a, b;
    double c;
} term;

typedef struct kkt {
    perp__inner inner; /* first: the search's context is this one */
    int np, n, m, nproduct, iterations;
    int nterm, room, failed;
    term *term;
    int *first; /* of the variables of each step; -1: a sample is missing */
    double *x, *xlo, *xhi, *lower, *upper, *glo, *ghi, *lambda;
    char *is_product; /* m */
    double *corner;   /* rows at the lower ends of the ranges, then their changes over each range */
    double R, *C;     /* units of rows, multipliers and slacks, and of y: powers of two */
} kkt;

static perp_status say(const perp__study *s, perp_status status, const char *what)
{
    return perp__refuse(s->diag, status, perp__in(perp_model_file(s->model)), "method kkt: %s\n",
                        what);
}

/* Functions of the program -------------------------------------------------------------------- */

static double product(const term *e, const double *x)
{
    return e->c * (e->a < 0 ? 1 : x[e->a]) * (e->b < 0 ? 1 : x[e->b]);
}

static int cost(void *context, const double *x, double *value)
{
    const kkt *k = context;
    *value = 0;
    for (const term *e = k->term; e < k->term + k->nterm; e++)
        if (e->row < 0) *value += product(e, x);
    return isfinite(*value);
}

static int cost_gradient(void *context, const double *x, double *value)
{
    const kkt *k = context;
    memset(value, 0, (size_t)k->n * sizeof *value);
    for (const term *e = k->term; e < k->term + k->nterm; e++) {
        if (e->row >= 0) continue;
        if (e->a >= 0) value[e->a] += e->c * (e->b < 0 ? 1 : x[e->b]);
        if (e->b >= 0) value[e->b] += e->c * (e->a < 0 ? 1 : x[e->a]);
    }
    return 1;
}

static int constraints(void *context, const double *x, double *value)
{
    const kkt *k = context;
    memset(value, 0, (size_t)k->m * sizeof *value);
    for (const term *e = k->term; e < k->term + k->nterm; e++)
        if (e->row >= 0) value[e->row] += product(e, x);
    return 1;
}

static int jacobian(void *context, const double *x, int *row, int *col, double *value)
{
    const kkt *k = context;
    int at = 0;
    for (const term *e = k->term; e < k->term + k->nterm; e++) {
        for (int side = 0; e->row >= 0 && side < 2; side++) {
            int self = side ? e->b : e->a, other = side ? e->a : e->b;
            if (self < 0) continue;
            if (value)
                value[at] = e->c * (other < 0 ? 1 : x[other]);
            else {
                row[at] = e->row;
                col[at] = self;
            }
            at++;
        }
    }
    return 1;
}

static int hessian(void *context, const double *x, double sigma, const double *lambda, int *row,
                   int *col, double *value)
{
    const kkt *k = context;
    int at = 0;
    (void)x;
    for (const term *e = k->term; e < k->term + k->nterm; e++) {
        if (e->a < 0 || e->b < 0) continue;
        if (value)
            value[at] = (e->a == e->b ? 2 : 1) * e->c * (e->row < 0 ? sigma : lambda[e->row]);
        else {
            row[at] = e->a > e->b ? e->a : e->b;
            col[at] = e->a > e->b ? e->b : e->a;
        }
        at++;
    }
    return 1;
}

static int count_iterations(void *context, int iteration, double value, double infeasibility,
                            double dual, double mu, double alpha)
{
    kkt *k = context;
    (void)iteration;
    (void)value;
    (void)infeasibility;
    (void)dual;
    (void)mu;
    (void)alpha;
    k->iterations++;
    return 1;
}

static perp__nlp_problem program(kkt *k)
{
    perp__nlp_problem p = {.n = k->n,
                           .m = k->m,
                           .xlo = k->xlo,
                           .xhi = k->xhi,
                           .glo = k->glo,
                           .ghi = k->ghi,
                           .f = cost,
                           .gradient = cost_gradient,
                           .g = constraints,
                           .jacobian = jacobian,
                           .hessian = hessian,
                           .progress = count_iterations,
                           .context = k};
    for (const term *e = k->term; e < k->term + k->nterm; e++) {
        p.nhess += e->a >= 0 && e->b >= 0;
        if (e->row >= 0) p.njac += (e->a >= 0) + (e->b >= 0);
    }
    return p;
}

/* Building it --------------------------------------------------------------------------------- */

static void add(kkt *k, int row, double c, int a, int b)
{
    if (c == 0 || k->failed) return;
    if (k->nterm == k->room) {
        int room = 2 * k->room + 256;
        term *grown = realloc(k->term, (size_t)room * sizeof *grown);
        if (!grown) {
            k->failed = 1;
            return;
        }
        k->term = grown;
        k->room = room;
    }
    k->term[k->nterm++] = (term){row, a, b, c};
}

/* Variables of a step from its first on: y, rows, multipliers, slacks of the sides. */
static int step_size(const perp__inner *x)
{
    return x->ny + x->nrow + 4 * x->npair;
}

/* Add c * (coefficient j of row r) * x_a * (parameters), where coefficient 0 is the constant. */
static void add_coefficient(kkt *k, int row, double c, int r, int j, int a)
{
    const perp__inner *x = &k->inner;
    size_t size = (size_t)x->nrow * (size_t)(1 + x->ny), at = (size_t)(r * (1 + x->ny) + j);
    add(k, row, c * k->corner[at], a, -1);
    for (int i = 0; i < k->np; i++) add(k, row, c * k->corner[(size_t)(1 + i) * size + at], a, i);
}

static int bounded(kkt *k, double lo, double hi, int is_product)
{
    k->glo[k->m] = lo;
    k->ghi[k->m] = hi;
    k->is_product[k->m] = (char)is_product;
    k->nproduct += is_product;
    return k->m++;
}

/* r_k = c_k + S_k y for each row. */
static void define_rows(kkt *k, int y, int r)
{
    const perp__inner *x = &k->inner;
    for (int i = 0; i < x->nrow; i++) {
        int row = bounded(k, 0, 0, 0);
        add(k, row, -1, r + i, -1);
        add_coefficient(k, row, 1, i, 0, -1);
        for (int j = 0; j < x->ny; j++) add_coefficient(k, row, 1, i, 1 + j, y + j);
    }
}

/* S' p = 0. */
static void add_stationarity(kkt *k, int step, int r, int multiplier)
{
    const perp__inner *x = &k->inner;
    for (int j = 0; j < x->ny; j++) {
        int row = bounded(k, 0, 0, 0), sides = x->nequation;
        for (int i = 0; i < sides; i++) add_coefficient(k, row, 2, i, 1 + j, r + i);
        for (int i = 0; i < 2 * x->npair; i++) {
            int other = i % 2 ? i - 1 : i + 1;
            add_coefficient(k, row, 1, sides + i, 1 + j, r + sides + other);
            add_coefficient(k, row, -1, sides + i, 1 + j, multiplier + i);
            if (i % 2)
                add_coefficient(k, row, 2 * perp__inner_sliding(x, step, i / 2), sides + i, 1 + j,
                                r + sides + i);
        }
    }
}

static void add_side(kkt *k, int side, int multiplier, int slack, double weight)
{
    int is_soft = weight > 0, row;
    k->xlo[multiplier] = 0;
    k->xhi[multiplier] = is_soft ? weight : FREE;
    k->xlo[slack] = 0;
    k->xhi[slack] = is_soft ? FREE : 0;
    row = bounded(k, -FREE, 1, 1);
    add(k, row, 1, side, multiplier);
    if (!is_soft) {
        k->xlo[side] = 0;
        return;
    }
    add(k, row, 1, slack, multiplier);
    row = bounded(k, -FREE, 1, 1);
    add(k, row, weight, slack, -1);
    add(k, row, -1, slack, multiplier);
    row = bounded(k, 0, FREE, 0);
    add(k, row, 1, side, -1);
    add(k, row, 1, slack, -1);
    add(k, -1, weight, slack, -1);
}

/* The rows at the corners of the box, in the model's units. Returns 0: a sample is missing. */
static int read_corners(kkt *k, int step)
{
    const perp__study *s = k->inner.study;
    double theta[PERP_IDENTIFY_MOST_PARAMETERS];
    size_t size = (size_t)k->inner.nrow * (size_t)(1 + k->inner.ny);
    memcpy(theta, s->lo, (size_t)k->np * sizeof(double));
    for (int i = -1; i < k->np; i++) {
        double *to = k->corner + (size_t)(1 + i) * size;
        if (i >= 0) theta[i] = s->hi[i];
        perp__inner_rows(&k->inner, step, theta);
        for (size_t j = 0; j < size; j++) {
            to[j] = k->inner.row[j] - (i >= 0 ? k->corner[j] : 0);
            if (!isfinite(to[j])) return 0;
        }
        if (i >= 0) theta[i] = s->lo[i];
    }
    return 1;
}

/* The least power of two above x > 0. */
static double power_beyond(double x)
{
    int exponent;
    frexp(x, &exponent);
    return ldexp(1, exponent);
}

/* From the equations' largest constant (their squares are the cost; where that is rounding, the
 * sides'), and the largest coefficient of each y. */
static void choose_units(kkt *k)
{
    const perp__inner *x = &k->inner;
    int width = 1 + x->ny, size = x->nrow * width, entries = (1 + k->np) * size;
    double side = 0;
    for (int s = 0; s < x->nstep; s++) {
        if (!read_corners(k, s)) continue;
        for (int i = 0; i < entries; i++) {
            double *most = &side;
            if (i % width)
                most = &k->C[i % width - 1];
            else if (i % size < x->nequation * width)
                most = &k->R;
            *most = fmax(*most, fabs(k->corner[i]));
        }
    }
    if (k->R <= 16 * DBL_EPSILON * side) k->R = side;
    k->R = k->R > 0 ? power_beyond(k->R) : 1;
    for (int j = 0; j < x->ny; j++) k->C[j] = k->C[j] > 0 ? k->R / power_beyond(k->C[j]) : k->R;
}

static void to_units(kkt *k)
{
    int width = 1 + k->inner.ny, entries = (1 + k->np) * k->inner.nrow * width;
    for (int i = 0; i < entries; i++)
        k->corner[i] = k->corner[i] / k->R * (i % width ? k->C[i % width - 1] : 1);
}

static void add_step(kkt *k, int step)
{
    const perp__inner *x = &k->inner;
    k->first[step] = -1;
    if (!read_corners(k, step)) return;
    to_units(k);
    int y = k->n, r = y + x->ny, side = r + x->nequation, multiplier = r + x->nrow,
        slack = multiplier + 2 * x->npair;
    k->first[step] = y;
    k->n += step_size(x);
    for (int i = y; i < k->n; i++) {
        k->xlo[i] = -FREE;
        k->xhi[i] = FREE;
    }
    define_rows(k, y, r);
    add_stationarity(k, step, r, multiplier);
    for (int i = 0; i < x->nequation; i++) add(k, -1, 1, r + i, r + i);
    for (int i = 0; i < x->npair; i++) {
        int a = side + 2 * i, b = a + 1;
        add(k, -1, 1, a, b);
        add(k, -1, perp__inner_sliding(x, step, i), b, b);
    }
    for (int i = 0; i < 2 * x->npair; i++)
        add_side(k, side + i, multiplier + i, slack + i, perp__inner_soft(x, i) / k->R);
}

static int allocate(kkt *k)
{
    const perp__inner *x = &k->inner;
    size_t step = (size_t)x->nstep, n = (size_t)k->np + step * (size_t)step_size(x),
           m = step * (size_t)(x->nrow + x->ny + 6 * x->npair);
    k->x = calloc(5 * n + 3 * m + (size_t)x->ny + 1, sizeof(double));
    k->first = malloc((step + 1) * sizeof *k->first);
    k->is_product = malloc(m + 1);
    k->corner =
        malloc((size_t)(1 + k->np) * (size_t)x->nrow * (size_t)(1 + x->ny) * sizeof(double) + 1);
    if (!k->x || !k->first || !k->is_product || !k->corner) return 0;
    k->xlo = k->x + n;
    k->xhi = k->xlo + n;
    k->lower = k->xhi + n;
    k->upper = k->lower + n;
    k->glo = k->upper + n;
    k->ghi = k->glo + m;
    k->lambda = k->ghi + m;
    k->C = k->lambda + m;
    return 1;
}

static perp_status check_affine(const kkt *k)
{
    const perp__sample_builder *b = &k->inner.b;
    for (int i = 0; i < b->nroot; i++) {
        int degree = perp__degree(&b->model->graph, b->root[i], b->column, NULL);
        if (degree < 0) return PERP_ERR_MEMORY;
        if (degree > 1)
            return say(k->inner.study, PERP_ERR_MODEL,
                       "needs conditions that are affine in the parameters; use implicit");
    }
    return PERP_OK;
}

static perp_status build(kkt *k)
{
    perp_status status = check_affine(k);
    if (status != PERP_OK) return status;
    k->np = k->inner.study->np;
    if (!allocate(k)) return PERP_ERR_MEMORY;
    k->n = k->np; /* the parameters, in units of their ranges */
    for (int i = 0; i < k->np; i++) {
        k->xlo[i] = 0;
        k->xhi[i] = 1;
    }
    choose_units(k);
    for (int s = 0; s < k->inner.nstep; s++) add_step(k, s);
    return k->failed ? PERP_ERR_MEMORY : PERP_OK;
}

static void clear(kkt *k)
{
    perp__inner_clear(&k->inner);
    free(k->term);
    free(k->first);
    free(k->x);
    free(k->is_product);
    free(k->corner);
}

/* Solving it ---------------------------------------------------------------------------------- */

/* The solutions of the steps' programs at theta: a point that satisfies everything. */
static void start_at(kkt *k, const double *theta)
{
    perp__inner *x = &k->inner;
    const perp__study *s = x->study;
    for (int i = 0; i < k->np; i++) k->x[i] = (theta[i] - s->lo[i]) / (s->hi[i] - s->lo[i]);
    for (int step = 0; step < x->nstep; step++) {
        if (k->first[step] < 0) continue;
        double *y = k->x + k->first[step], *r = y + x->ny, *multiplier = r + x->nrow;
        const double *slack = x->z + 2 * x->ny, *z = x->z;
        perp__inner_solve(x, step, theta);
        for (int j = 0; j < x->ny; j++) y[j] = z[j] - z[x->ny + j];
        for (int i = 0; i < x->nrow; i++) {
            const double *row = x->row + (size_t)i * (size_t)(1 + x->ny);
            r[i] = row[0];
            for (int j = 0; j < x->ny; j++) r[i] += row[1 + j] * y[j];
            r[i] /= k->R;
        }
        for (int j = 0; j < x->ny; j++) y[j] /= k->C[j];
        for (int i = 0; i < 2 * x->npair; i++) {
            multiplier[i] = z[2 * x->ny + x->nslack + i] / k->R;
            multiplier[2 * x->npair + i] = perp__inner_soft(x, i) > 0 ? *slack++ / k->R : 0;
        }
    }
}

/* Its cost, in the model's units; NaN on failure. */
static double solve_program(kkt *k)
{
    perp__nlp_problem p = program(k);
    double value = (double)NAN;
    for (double t = 1; t > 0.5 * LAST; t /= 10) {
        for (int i = 0; i < k->m; i++)
            if (k->is_product[i]) k->ghi[i] = t;
        perp__nlp_options o = {.tol = fmax(TOL_LEAST, TOL_OF_PRODUCT * t),
                               .max_iter = 10 * k->inner.study->options.max_iter,
                               .is_warm = t < 1};
        if (perp__nlp_solve(&p, &o, k->x, k->lambda, k->lower, k->upper, &value) ==
            PERP__NLP_MEMORY)
            k->failed = 1;
    }
    return value * k->R * k->R;
}

/* No neighbour along a parameter is better. */
static int is_least(perp__problem *p, const perp__minimum *m, double error)
{
    double z[PERP_IDENTIFY_MOST_PARAMETERS];
    for (int i = 0; i < 2 * p->np; i++) {
        memcpy(z, m->z, (size_t)p->np * sizeof(double));
        z[i / 2] = fmin(1, fmax(0, z[i / 2] + (i % 2 ? BESIDE : -BESIDE)));
        if (perp__cost_at(p, z, p->trial) < m->cost - error) return 0;
    }
    return 1;
}

static void minimise(perp__problem *p, perp__minimum *m)
{
    kkt *k = p->context;
    const perp__study *s = k->inner.study;
    m->cost = perp__cost_at(p, m->z, m->residual);
    m->iterations = m->flat = k->iterations = 0;
    perp__to_theta(p, m->z, m->theta);
    if (!isfinite(m->cost) || s->options.max_iter == 0) return;
    start_at(k, m->theta);
    double value = solve_program(k);
    if (k->failed) p->status = PERP_ERR_MEMORY;
    m->iterations = k->iterations;
    for (int i = 0; i < k->np; i++)
        m->theta[i] = s->lo[i] + (s->hi[i] - s->lo[i]) * fmin(1, fmax(0, k->x[i]));
    perp__to_z(p, m->theta, m->z);
    m->cost = perp__cost_at(p, m->z, m->residual);
    double error = SAME * m->cost + 10 * LAST * k->nproduct * k->R * k->R;
    if (fabs(value - m->cost) <= error && is_least(p, m, error)) return;
    m->cost = INFINITY;
    k->inner.why = "IPOPT's points do not hold: the steps' own programs have other costs there, "
                   "or neighbours are better; use implicit";
}

static perp_status run(perp__study *s, perp_identification *result)
{
    kkt k = {0};
    if (!perp__nlp_available())
        return say(s, PERP_ERR_UNAVAILABLE,
                   "there is no IPOPT here: install coinor-libipopt-dev and build again; implicit "
                   "finds the same");
    if (s->options.huber > 0)
        return say(s, PERP_ERR_ARG, "has squares only: no huber; implicit has it");
    perp_status status = perp__inner_create(s, &k.inner);
    if (status == PERP_OK) status = build(&k);
    if (status == PERP_OK) status = perp__inner_search(&k.inner, s, minimise, result);
    clear(&k);
    return status;
}

const perp__estimator perp__estimator_kkt = {run};
