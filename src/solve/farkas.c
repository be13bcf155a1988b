/* A proof that no z >= 0 has M z + q >= 0 (Farkas): u >= 0 with M'u <= 0, q'u < 0. It holds
 * without rounding for the given numbers, or it does not count: the signs of the sums are those
 * of exact ones.
 *
 * Candidates, in the order of their cost:
 *
 * 1. a row that no z >= 0 can make nonnegative;
 * 2. the ray of z;
 * 3. u = nearest - q, with the point `nearest` of the cone { w - M z : w, z >= 0 } closest to q,
 *    by nonnegative least squares (Lawson & Hanson 1974, chapter 23).
 *
 * Each is tried unchanged, with its ratios rounded to fractions, and pushed off the sums that
 * should be 0. */

#include "base/tol.h"
#include "base/twice.h"
#include "linalg/dense.h"
#include "solve/solver.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Fractions. A ratio is one if it is within RATIO, the rounding of a solve, of a convergent. Its
 * denominator is at most MOST_DENOMINATOR, and the product of all at most MOST_COMMON, so that
 * integers stay far below 2^53. */
static const double RATIO = 1e-9, MOST_DENOMINATOR = 1e7, MOST_COMMON = 1e12;

/* Nearest point. A generator that gains less is not taken; entries below NOTHING relative to the
 * largest are 0. The push off the sums that should be 0 is PUSH of the largest: it costs that much
 * of q'u, and covers the rounding of ten digits. */
static const double GAIN = 1e-12, NOTHING = 1e-11, PUSH = 1e-6;

/* A nearest point within the root of this equals the target. */
static const double OFF = 1e-12;

/* Unknowns: a search takes some n^3 operations and more. */
enum { SEARCH_UP_TO = 200 };

/* Exact signs ---------------------------------------------------------------------------------- */

/* A sum of doubles without rounding, in terms that do not overlap (Shewchuk 1997): 2098 bits need
 * 40 of them. */
enum { PARTS = 48 };
typedef struct exact {
    double part[PARTS];
    int many;
    int is_lost; /* something was not finite, or fell below what a product keeps */
} exact;

static void add(exact *e, double x)
{
    int kept = 0;
    for (int k = 0; k < e->many; k++) {
        double sum = x + e->part[k], error = perp__sum_error(x, e->part[k], sum);
        if (error != 0) e->part[kept++] = error;
        x = sum;
    }
    if (!isfinite(x) || kept == PARTS) e->is_lost = 1;
    if (x != 0 && kept < PARTS) e->part[kept++] = x;
    e->many = kept;
}

static void add_product(exact *e, double a, double b)
{
    double p = a * b;
    if (a == 0 || b == 0) return;
    if (!(fabs(p) > PERP_LEAST_FACTOR && fabs(p) < PERP_HUGE)) e->is_lost = 1;
    add(e, perp__product_error(a, b, p));
    add(e, p);
}

/* Sign of the sum; *sign is not set if it is not known. */
static int sign_of(const exact *e, int *sign)
{
    double leading = e->many > 0 ? e->part[e->many - 1] : 0;
    *sign = (leading > 0) - (leading < 0);
    return !e->is_lost;
}

/* Sign of x'(a u), a a power of two; plain sums say it where they can. */
static int sign_of_product(int n, const double *x, const double *u, double a, int *sign)
{
    double sum = 0, terms = 0;
    for (int i = 0; i < n; i++) {
        double term = x[i] * (u[i] * a);
        sum += term;
        terms += fabs(term);
    }
    if (fabs(sum) > (n + 4) * DBL_EPSILON * terms + n * PERP_TINY && terms <= PERP_HUGE) {
        *sign = sum > 0 ? 1 : -1;
        return 1;
    }
    exact e = {.many = 0};
    for (int i = 0; i < n; i++) {
        if (u[i] > 0 && !(u[i] * a > 1e-290)) e.is_lost |= x[i] != 0;
        add_product(&e, x[i], u[i] * a);
    }
    return sign_of(&e, sign);
}

int perp_lcp_is_infeasible(const perp_lcp *lcp, const double *u, double tol)
{
    int sign, exponent;
    double largest = 0;
    (void)tol;
    for (int i = 0; i < lcp->n; i++) {
        if (!(u[i] >= 0) || isinf(u[i])) return 0;
        largest = fmax(largest, u[i]);
    }
    frexp(largest, &exponent); /* u is used with its largest entry near 1 */
    double a = ldexp(1, exponent < -1000 ? 1000 : -exponent);
    if (!sign_of_product(lcp->n, lcp->q, u, a, &sign) || sign >= 0) return 0;
    for (int j = 0; j < lcp->n; j++) {
        if (!sign_of_product(lcp->n, perp__column(lcp, j), u, a, &sign) || sign > 0) return 0;
    }
    return 1;
}

/* Candidates ----------------------------------------------------------------------------------- */

/* The fraction near x > 0 of least denominator, up to `most`; 0 where none is within RATIO x. */
static double denominator_of(double x, double most)
{
    double p0 = 0, q0 = 1, p = 1, q = 0, rest = x;
    for (int k = 0; k < 40; k++) {
        double a = floor(rest), next_p = a * p + p0, next_q = a * q + q0;
        if (next_q > most) return 0;
        p0 = p;
        q0 = q;
        p = next_p;
        q = next_q;
        if (fabs(x - p / q) <= RATIO * x) return q;
        rest = 1 / (rest - a);
        if (!isfinite(rest)) return 0;
    }
    return 0;
}

static double common_divisor(double a, double b)
{
    while (b > 0) {
        double r = fmod(a, b);
        a = b;
        b = r;
    }
    return a;
}

/* u with its ratios to u_base as fractions, times the common denominator: integers. Returns 0 where
 * that is too large. */
static int round_to_integers(int n, const double *u, double base, double *out)
{
    double common = 1;
    for (int i = 0; i < n; i++) {
        if (u[i] == 0) continue;
        double d = denominator_of(u[i] / base, MOST_DENOMINATOR);
        if (d == 0) return 0;
        common *= d / common_divisor(common, d);
        if (common > MOST_COMMON) return 0;
    }
    for (int i = 0; i < n; i++) {
        out[i] = nearbyint(u[i] / base * common);
        if (out[i] > 0x1p53) return 0;
    }
    return 1;
}

/* Is certificate, or what it rounds to, a proof? Then it is left there. */
static int proves(perp_lcp_solver *s, const perp_lcp *lcp)
{
    int n = lcp->n;
    double *u = s->certificate, *rounded = s->low, largest = 0, least = (double)INFINITY;
    if (perp_lcp_is_infeasible(lcp, u, 0)) return 1;
    for (int i = 0; i < n; i++) largest = fmax(largest, u[i]);
    if (!(largest > 0) || isinf(largest)) return 0;
    for (int i = 0; i < n; i++) {
        if (u[i] > 0) least = fmin(least, u[i]);
    }
    for (int k = 0; k < 2; k++) {
        if (!round_to_integers(n, u, k == 0 ? least : largest, rounded) ||
            !perp_lcp_is_infeasible(lcp, rounded, 0))
            continue;
        memcpy(u, rounded, (size_t)n * sizeof *u);
        return 1;
    }
    return 0;
}

/* Row i alone: q_i < 0 and nothing positive in it. */
static int row_proves(perp_lcp_solver *s, const perp_lcp *lcp, int i)
{
    if (!(lcp->q[i] < 0)) return 0;
    for (int j = 0; j < lcp->n; j++) {
        if (perp__column(lcp, j)[i] > 0) return 0;
    }
    memset(s->certificate, 0, (size_t)lcp->n * sizeof(double));
    s->certificate[i] = 1;
    return 1;
}

/* Nonnegative least squares -------------------------------------------------------------------- */

/* The problem with rows and columns scaled near 1, and the point that is to be reached, q or w at
 * some z, to 1. */
typedef struct scaled {
    const perp_lcp *lcp;
    const double *target;
    double *R, *C;                /* powers of two; 0: the row is not looked at */
    double unit;                  /* largest |R target| */
    const unsigned char *is_open; /* nullable: the z that may change either way */
    int equations;                /* ... and w of these has to be 0 */
} scaled;

/* Generators: the unit vectors, the columns of -M, those of M where z may become less. */
static int is_there(const scaled *p, int k)
{
    int n = p->lcp->n, is_open = p->is_open && p->is_open[k % n];
    return k < n ? p->R[k] != 0 && !(is_open && p->equations) : k < 2 * n || is_open;
}

/* Entry i of generator k. */
static double generator(const scaled *p, int k, int i)
{
    int n = p->lcp->n, j = k % n;
    if (k < n) return i == k ? 1.0 : 0.0;
    double x = perp__column(p->lcp, j)[i] * p->R[i] * p->C[j];
    return k < 2 * n ? -x : x;
}

/* g'x of generator k, x given as R x. */
static double inner(const scaled *p, int k, const double *x)
{
    enum { STRANDS = 4 };
    int n = p->lcp->n, i = 0, j = k % n;
    if (k < n) return x[k] / p->R[k];
    const double *column = perp__column(p->lcp, j);
    double sum[STRANDS] = {0};
    for (; i + STRANDS <= n; i += STRANDS) {
        for (int l = 0; l < STRANDS; l++) sum[l] += column[i + l] * x[i + l];
    }
    for (; i < n; i++) sum[0] += column[i] * x[i];
    double product = (sum[0] + sum[1] + sum[2] + sum[3]) * p->C[j];
    return k < 2 * n ? -product : product;
}

static double given(const scaled *p, int i)
{
    return p->target[i] * p->R[i] / p->unit;
}

/* One more generator in the normal equations, which stay factored: L in s->lu.values, what they ask
 * in s->fine. Returns 0 if it depends on those before. */
static int take(perp_lcp_solver *s, const scaled *p, int k, int m)
{
    int n = p->lcp->n;
    double *L = s->lu.values, *row = s->w2, *x = s->along;
    size_t ld = (size_t)n;
    for (int i = 0; i < n; i++) x[i] = given(p, i) * p->R[i];
    s->fine[m] = inner(p, k, x);
    for (int i = 0; i < n; i++) x[i] = generator(p, k, i) * p->R[i];
    double square = inner(p, k, x), pivot = square;
    for (int a = 0; a < m; a++) row[a] = inner(p, s->lu.rows[a], x);
    for (int a = 0; a < m; a++) {
        const double *column = L + (size_t)a * ld;
        double f = row[a] /= column[a];
        for (int i = a + 1; i < m; i++) row[i] -= f * column[i];
        L[(size_t)m + (size_t)a * ld] = f;
        pivot -= f * f;
    }
    if (!(pivot > PERP_TOL_SINGULAR * square)) return 0;
    L[(size_t)m + (size_t)m * ld] = sqrt(pivot);
    s->lu.rows[m] = k;
    return 1;
}

/* Generator r of m leaves: the rows below move up, and rotations of two columns make them a
 * triangle again. */
static void leave(perp_lcp_solver *s, int n, int m, int r, double *x)
{
    size_t ld = (size_t)n;
    for (int a = r; a + 1 < m; a++) {
        s->lu.rows[a] = s->lu.rows[a + 1];
        x[a] = x[a + 1];
        s->fine[a] = s->fine[a + 1];
        for (int c = 0; c <= a + 1; c++) {
            double *column = s->lu.values + (size_t)c * ld;
            column[a] = column[a + 1];
        }
    }
    for (int k = r; k + 1 < m; k++) {
        double *left = s->lu.values + (size_t)k * ld, *right = left + ld;
        double size = hypot(left[k], right[k]), c = left[k] / size, f = right[k] / size;
        for (int i = k; i + 1 < m; i++) {
            double a = left[i], b = right[i];
            left[i] = c * a + f * b;
            right[i] = c * b - f * a;
        }
    }
}

static void least_squares(const perp_lcp_solver *s, int n, int m, double *x)
{
    memcpy(x, s->fine, (size_t)m * sizeof *x);
    perp__cholesky_solve(m, s->lu.values, n, x);
}

/* u += generator k times f */
static void add_generator(const scaled *p, int k, double f, double *u)
{
    int n = p->lcp->n;
    if (k < n) u[k] += f;
    for (int i = 0; i < n && k >= n; i++) u[i] += f * generator(p, k, i);
}

/* u = nearest - target for the weights x of m generators. */
static void difference(const perp_lcp_solver *s, const scaled *p, int m, const double *x, double *u)
{
    for (int i = 0; i < p->lcp->n; i++) u[i] = -given(p, i);
    for (int a = 0; a < m; a++) add_generator(p, s->lu.rows[a], x[a], u);
}

/* Moves u off the generators to which it should be orthogonal: u += d with g'd = 1e-6 for the
 * columns of -M, e'd = 0 for the units. */
static void push(perp_lcp_solver *s, const scaled *p, int m, double *x, double *u)
{
    int n = p->lcp->n;
    double size = 0;
    for (int i = 0; i < n; i++) size = fmax(size, u[i]);
    for (int a = 0; a < m; a++) x[a] = s->lu.rows[a] < n ? 0 : PUSH * size;
    perp__cholesky_solve(m, s->lu.values, n, x);
    for (int a = 0; a < m; a++) add_generator(p, s->lu.rows[a], x[a], u);
}

/* The generator that u = nearest - target asks for most; -1 where none gains. */
static int most_wanted(const perp_lcp_solver *s, const scaled *p, int m, const double *u)
{
    int n = p->lcp->n, best = -1;
    double largest = GAIN, *x = s->along;
    for (int i = 0; i < n; i++) x[i] = u[i] * p->R[i];
    for (int k = 0; k < (p->is_open ? 3 : 2) * n; k++) {
        int is_in = 0;
        double gain = is_there(p, k) ? -inner(p, k, x) : 0;
        if (!(gain > largest)) continue;
        for (int a = 0; a < m; a++) is_in |= s->lu.rows[a] == k;
        if (!is_in) {
            largest = gain;
            best = k;
        }
    }
    return best;
}

/* The generators that span nearest into rows, their number; -1 where they are dependent. */
static int nearest(perp_lcp_solver *s, const scaled *p)
{
    int n = p->lcp->n, m = 0, limit = 3 * n + 10;
    double *x = s->scratch, *next = s->w2, *u = s->certificate; /* x: weights of rows[] */
    for (int step = 0; step < limit; step++) {
        difference(s, p, m, x, u);
        int best = most_wanted(s, p, m, u);
        if (best < 0 || m == n) break;
        if (!take(s, p, best, m)) return -1;
        x[m++] = 0;
        while (m > 0) {
            double length = 1;
            int leaving = -1;
            least_squares(s, n, m, next);
            for (int a = 0; a < m; a++) {
                if (next[a] > 0) continue;
                double ratio = x[a] / (x[a] - next[a]);
                if (leaving < 0 || ratio < length) {
                    length = ratio;
                    leaving = a;
                }
            }
            if (leaving < 0) break;
            for (int a = 0; a < m; a++) x[a] += length * (next[a] - x[a]);
            leave(s, n, m--, leaving, x);
        }
        if (m > 0) memcpy(x, next, (size_t)m * sizeof *x);
    }
    return m;
}

/* u in the problem's own rows, what is nothing beside the largest put to 0. */
static void unscale(const scaled *p, const double *u, double *out)
{
    double size = 0;
    for (int i = 0; i < p->lcp->n; i++) size = fmax(size, u[i]);
    for (int i = 0; i < p->lcp->n; i++) out[i] = u[i] > NOTHING * size ? u[i] * p->R[i] : 0;
}

static int search_proves(perp_lcp_solver *s, const perp_lcp *lcp)
{
    int n = lcp->n;
    scaled p = {lcp, lcp->q, s->lu.row_scale, s->lu.column_scale, 0, NULL, 0};
    double *u = s->data, *x = s->correction;
    size_t bytes = (size_t)n * sizeof(double);
    for (int i = 0; i < n; i++) p.R[i] = p.C[i] = 1;
    perp__equilibrate(n, lcp->M, lcp->ldm, p.R, p.C);
    for (int i = 0; i < n; i++) p.unit = fmax(p.unit, fabs(lcp->q[i] * p.R[i]));
    if (!(p.unit > 0) || isinf(p.unit)) return 0;
    int m = nearest(s, &p);
    if (m < 0) return 0;
    memcpy(u, s->certificate, bytes);
    /* ratios are simplest either in the scaled rows or in the problem's own */
    unscale(&p, u, s->certificate);
    if (proves(s, lcp)) return 1;
    if (m == 0) return 0;
    push(s, &p, m, x, u);
    unscale(&p, u, s->certificate);
    return perp_lcp_is_infeasible(lcp, s->certificate, 0);
}

/* A point that rounding breaks ----------------------------------------------------------------- */

static void scale_by_terms(perp_lcp_solver *s, scaled *p)
{
    int n = p->lcp->n;
    for (int i = 0; i < n; i++) {
        double S = s->terms[i];
        p->R[i] = S > PERP_TINY && S < PERP_HUGE ? 1 / perp__power_below(S) : 0;
    }
    for (int j = 0; j < n; j++) {
        const double *column = perp__column(p->lcp, j);
        double largest = 0;
        for (int i = 0; i < n; i++) largest = fmax(largest, fabs(column[i] * p->R[i]));
        p->C[j] = largest > PERP_TINY && largest < PERP_HUGE ? 1 / perp__power_below(largest) : 0;
    }
}

static void scale_by_entries(scaled *p)
{
    for (int i = 0; i < p->lcp->n; i++) p->R[i] = p->C[i] = 1;
    perp__equilibrate(p->lcp->n, p->lcp->M, p->lcp->ldm, p->R, p->C);
}

/* Rows that z leaves far from 0, as s->needy says, are not looked at. Returns 0 where the others
 * leave nothing. */
static int look_near(const perp_lcp_solver *s, scaled *p)
{
    p->unit = 0;
    for (int i = 0; i < p->lcp->n; i++) {
        if (!s->needy[i]) p->R[i] = 0;
        p->unit = fmax(p->unit, fabs(p->target[i] * p->R[i]));
    }
    return p->unit > PERP_TINY && p->unit < PERP_HUGE;
}

/* Is the nearest point so far off that no rounding of the terms explains it, whatever z is near? */
static int is_beyond_rounding(const perp_lcp_solver *s, const scaled *p)
{
    const double *u = s->certificate;
    double off = 0, terms = 0;
    for (int i = 0; i < p->lcp->n; i++) {
        off -= u[i] * p->target[i] * p->R[i];
        terms += fabs(u[i]) * s->terms[i] * p->R[i];
    }
    return off > PERP__LCP_ROUNDINGS * (DBL_EPSILON / 2) * terms;
}

/* Do the rows that are looked at leave something of the target? */
static int is_off(perp_lcp_solver *s, const scaled *p)
{
    double square = 0;
    if (nearest(s, p) < 0) return 0;
    for (int i = 0; i < p->lcp->n; i++) square += s->certificate[i] * s->certificate[i];
    return square > OFF;
}

/* Takes the residual of the target as the target: then small parts of it have their digits. */
static int look_again(perp_lcp_solver *s, scaled *p)
{
    double unit = p->unit;
    if (nearest(s, p) < 0) return 0;
    p->unit = 0;
    for (int i = 0; i < p->lcp->n; i++) {
        s->target[i] = p->R[i] != 0 ? -s->certificate[i] * unit / p->R[i] : 0;
        p->unit = fmax(p->unit, fabs(s->target[i] * p->R[i]));
    }
    return p->unit > PERP_TINY;
}

/* Does u prove it, or that of as few rows as it takes (deletion filter, Chinneck and Dravnieks
 * 1991)? These have ratios of integers where M has integers. */
static int rows_prove(perp_lcp_solver *s, scaled *p)
{
    enum { FILTER_UP_TO = 16 };
    int n = p->lcp->n;
    if (!look_again(s, p) || !is_off(s, p)) return 0;
    unscale(p, s->certificate, s->certificate);
    if (proves(s, p->lcp)) return 1;
    for (int i = 0; i < n && n <= FILTER_UP_TO; i++) {
        double R = p->R[i];
        p->R[i] = 0;
        if (R != 0 && !is_off(s, p)) p->R[i] = R;
    }
    if (n > FILTER_UP_TO || !is_off(s, p)) return 0;
    unscale(p, s->certificate, s->certificate);
    return proves(s, p->lcp);
}

/* By more than the tolerance of the data that stand in it? */
static int is_wide(const perp_lcp_solver *s, const perp_lcp *lcp)
{
    double sum = 0, terms = 0;
    for (int i = 0; i < lcp->n; i++) {
        double term = lcp->q[i] * s->certificate[i];
        sum += term;
        terms += fabs(term);
    }
    return -sum > s->options.tol * terms;
}

/* Rows that z leaves near 0 into s->needy; by how many roundings of its terms is one off at
 * most? */
static double find_near(perp_lcp_solver *s, const perp_lcp *lcp, const double *z)
{
    double most = 0;
    for (int i = 0; i < lcp->n; i++) {
        double w = s->w2[i], S = s->terms[i] * (DBL_EPSILON / 2), off = z[i] > 0 ? fabs(w) : -w;
        s->needy[i] = (unsigned char)(z[i] > 0 || w <= s->options.tol * s->terms[i]);
        if (off > most * S) most = off / S;
    }
    return most;
}

/* Of these, those with short entries: numbers that are meant, not computed. How many? */
static int keep_short(perp_lcp_solver *s, const perp_lcp *lcp)
{
    int many = 0;
    for (int i = 0; i < lcp->n; i++) {
        for (int j = 0; j < lcp->n && s->needy[i]; j++)
            s->needy[i] = (unsigned char)perp__is_short(perp__column(lcp, j)[i]);
        many += s->needy[i];
    }
    return many;
}

/* What is near z, with s->part: which z may change either way. */
static scaled near_point(perp_lcp_solver *s, const perp_lcp *lcp, const double *z)
{
    memcpy(s->target, s->w2, (size_t)lcp->n * sizeof *s->target);
    for (int i = 0; i < lcp->n; i++) s->part[i] = z[i] > 0;
    return (scaled){lcp, s->target, s->lu.row_scale, s->lu.column_scale, 0, s->part, 0};
}

int perp__lcp_is_disproved(perp_lcp_solver *s, const perp_lcp *lcp, const double *z)
{
    scaled p = near_point(s, lcp, z);
    int attempts = find_near(s, lcp, z) > 0 && keep_short(s, lcp) > 1 ? 2 : 0;
    for (int by_entries = 0; by_entries < attempts && !s->has_certificate; by_entries++) {
        if (by_entries)
            scale_by_entries(&p);
        else
            scale_by_terms(s, &p);
        s->has_certificate = look_near(s, &p) && rows_prove(s, &p) && is_wide(s, lcp);
    }
    s->lu.n = -1;
    return s->has_certificate;
}

int perp__lcp_may_be_contradicted(perp_lcp_solver *s, const perp_lcp *lcp, const double *z)
{
    return s->has_certificate || (lcp->n <= SEARCH_UP_TO && find_near(s, lcp, z) > 0);
}

int perp__lcp_is_contradicted(perp_lcp_solver *s, const perp_lcp *lcp, const double *z)
{
    int is_so = 0;
    if (s->has_certificate || lcp->n > SEARCH_UP_TO) return s->has_certificate;
    scaled p = near_point(s, lcp, z);
    if (find_near(s, lcp, z) > PERP__LCP_ROUNDINGS) {
        p.equations = 1;
        scale_by_terms(s, &p);
        is_so = look_near(s, &p) && nearest(s, &p) >= 0 && is_beyond_rounding(s, &p);
        memcpy(s->w2, s->target, (size_t)lcp->n * sizeof *s->w2);
    }
    return perp__lcp_is_disproved(s, lcp, z) || is_so;
}

/* In the units at hand; the ray belongs to them. */
static int find_proof(perp_lcp_solver *s, const perp_lcp *lcp, int search)
{
    for (int i = 0; i < lcp->n; i++) {
        if (row_proves(s, lcp, i)) return 1;
    }
    for (int i = 0; i < lcp->n && s->has_ray; i++) s->certificate[i] = fmax(s->ray[i], 0);
    if (s->has_ray && proves(s, lcp)) return 1;
    return search && lcp->n <= SEARCH_UP_TO && search_proves(s, lcp);
}

int perp__lcp_prove(perp_lcp_solver *s, const perp_lcp *lcp, int search)
{
    if (s->has_certificate) return 1;
    perp_lcp own = perp__own_units(s, lcp);
    perp__to_own_units(s, lcp->n, s->ray);
    int found = find_proof(s, &own, search);
    perp__from_own_units(s, lcp->n, s->ray);
    for (int i = 0; i < lcp->n && found && s->own.R; i++) s->certificate[i] *= s->own.R[i];
    s->has_certificate = found && perp_lcp_is_infeasible(lcp, s->certificate, 0);
    return s->has_certificate;
}
