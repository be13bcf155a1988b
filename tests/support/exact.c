/* Integers of many limbs, fraction-free elimination on them, and what an LCP needs: null vectors of complementary
 * supports, a simplex method with Bland's rule, sums of products without rounding. */

#include "exact.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Integers
 * ------------------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 wide;

enum { LIMBS = 160, COLUMNS = EXACT_MAX + 2 };

/* sign * sum limb[k] 2^(64 k); n limbs, the last of which is not 0; 0 has n = 0. */
typedef struct big {
    int sign, n;
    uint64_t limb[LIMBS];
} big;

static int
    too_large; /* set when a number did not fit; read and reset by the functions of the header */

static void set_zero(big *a)
{
    a->sign = 1;
    a->n = 0;
}

static void copy(big *a, const big *b)
{
    a->sign = b->sign;
    a->n = b->n;
    memcpy(a->limb, b->limb, (size_t)b->n * sizeof *b->limb);
}

static void trim(big *a)
{
    while (a->n > 0 && a->limb[a->n - 1] == 0) a->n--;
}

/* The sign of a number: -1, 0, 1. */
static int sign(const big *a)
{
    return a->n == 0 ? 0 : a->sign;
}

static int compare_magnitude(const big *a, const big *b)
{
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    for (int k = a->n - 1; k >= 0; k--) {
        if (a->limb[k] != b->limb[k]) return a->limb[k] < b->limb[k] ? -1 : 1;
    }
    return 0;
}

/* out = |a| + |b|, sign that of a; out may be a or b. */
static void add_magnitude(big *out, const big *a, const big *b)
{
    if (a->n < b->n) {
        const big *t = a;
        int s = a->sign;
        a = b, b = t;
        out->sign = s;
    } else
        out->sign = a->sign;
    int n = a->n;
    uint64_t carry = 0;
    for (int k = 0; k < n; k++) {
        wide sum = (wide)a->limb[k] + (k < b->n ? b->limb[k] : 0) + carry;
        out->limb[k] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
    if (carry && n == LIMBS) too_large = 1;
    if (carry && n < LIMBS) out->limb[n++] = carry;
    out->n = n;
}

/* out = |a| - |b| where |a| >= |b|; out may be a or b. The sign is the caller's. */
static void subtract_magnitude(big *out, const big *a, const big *b)
{
    uint64_t borrow = 0;
    int n = a->n;
    for (int k = 0; k < n; k++) {
        wide take = (wide)(k < b->n ? b->limb[k] : 0) + borrow;
        borrow = a->limb[k] < take;
        out->limb[k] = (uint64_t)(a->limb[k] - take);
    }
    out->n = n;
    trim(out);
}

/* out = a + factor b with factor 1 or -1; out may be a or b. */
static void add(big *out, const big *a, const big *b, int factor)
{
    int sa = a->sign, sb = b->sign * factor;
    if (sa == sb) {
        add_magnitude(out, a, b);
        out->sign = sa;
    } else if (compare_magnitude(a, b) >= 0) {
        subtract_magnitude(out, a, b);
        out->sign = sa;
    } else {
        subtract_magnitude(out, b, a);
        out->sign = sb;
    }
}

/* out = a b; out is neither. */
static void multiply(big *out, const big *a, const big *b)
{
    int n = a->n + b->n;
    if (n > LIMBS) {
        too_large = 1;
        set_zero(out);
        return;
    }
    memset(out->limb, 0, (size_t)n * sizeof *out->limb);
    for (int i = 0; i < a->n; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < b->n; j++) {
            wide x = (wide)a->limb[i] * b->limb[j] + out->limb[i + j] + carry;
            out->limb[i + j] = (uint64_t)x;
            carry = (uint64_t)(x >> 64);
        }
        out->limb[i + b->n] = carry;
    }
    out->n = n;
    out->sign = a->sign * b->sign;
    trim(out);
}

static void shift_right(big *a, int bits)
{
    int limbs = bits / 64;
    bits %= 64;
    for (int k = 0; k + limbs < a->n; k++) {
        uint64_t high = k + limbs + 1 < a->n && bits ? a->limb[k + limbs + 1] << (64 - bits) : 0;
        a->limb[k] = a->limb[k + limbs] >> bits | high;
    }
    a->n = a->n > limbs ? a->n - limbs : 0;
    trim(a);
}

static void shift_left(big *a, int bits)
{
    int limbs = bits / 64, n = a->n;
    bits %= 64;
    if (n == 0) return;
    if (n + limbs + 1 > LIMBS) {
        too_large = 1;
        return;
    }
    a->limb[n] = 0;
    for (int k = n; k >= 0; k--) {
        uint64_t low = k > 0 && bits ? a->limb[k - 1] >> (64 - bits) : 0;
        a->limb[k + limbs] = (k < n ? a->limb[k] << bits : 0) | low;
    }
    memset(a->limb, 0, (size_t)limbs * sizeof *a->limb);
    a->n = n + limbs + 1;
    trim(a);
}

static int trailing_zeros(const big *a)
{
    int k = 0, bits = 0;
    while (a->limb[k] == 0) k++;
    while ((a->limb[k] >> bits & 1) == 0) bits++;
    return 64 * k + bits;
}

/* a = a / b where the division is known to leave nothing (Jebelean 1993: from the lowest limb upwards, by the inverse
 * of b modulo 2^64). */
static void divide_exactly(big *a, const big *b)
{
    if (a->n == 0 || (b->n == 1 && b->limb[0] == 1)) {
        a->sign *= b->sign;
        return;
    }
    big odd;
    int zeros = trailing_zeros(b);
    copy(&odd, b);
    shift_right(&odd, zeros);
    shift_right(a, zeros);
    uint64_t inverse = odd.limb[0]; /* right modulo 8; each line doubles the bits */
    for (int k = 0; k < 5; k++) inverse *= 2 - odd.limb[0] * inverse;
    int n = a->n - odd.n + 1;
    for (int k = 0; k < n; k++) {
        uint64_t digit = a->limb[k] * inverse, carry = 0, borrow = 0;
        for (int j = 0; j < odd.n && k + j < a->n; j++) {
            wide x = (wide)digit * odd.limb[j] + carry;
            carry = (uint64_t)(x >> 64);
            wide take = (wide)(uint64_t)x + borrow;
            borrow = a->limb[k + j] < take;
            a->limb[k + j] = (uint64_t)(a->limb[k + j] - take);
        }
        for (int j = k + odd.n; j < a->n && (carry || borrow); j++) {
            wide take = (wide)carry + borrow;
            carry = 0;
            borrow = a->limb[j] < take;
            a->limb[j] = (uint64_t)(a->limb[j] - take);
        }
        a->limb[k] = digit;
    }
    a->n = n > 0 ? n : 0;
    a->sign *= b->sign;
    trim(a);
}

/* A finite double as mantissa * 2^exponent; 0 has mantissa 0. */
static uint64_t mantissa_of(double x, int *exponent)
{
    int e;
    double f = frexp(fabs(x), &e);
    uint64_t m = (uint64_t)ldexp(f, 53);
    *exponent = e - 53;
    while (m && (m & 1) == 0) m >>= 1, ++*exponent;
    return m;
}

/* a 2^exponent, rounded; a long double's range holds every product of two doubles. */
static long double to_float(const big *a, int exponent)
{
    long double x = 0;
    for (int k = a->n - 1; k >= 0 && k >= a->n - 3; k--)
        x += ldexpl((long double)a->limb[k], 64 * k + exponent);
    return a->sign * x;
}

/* The problem in integers
 * ------------------------------------------------------------------------------- */

/* Pairs w = M z + q with all entries integers: row i of (M q) times 2^row[i], column j times 2^column[j]; column n is q.
 * Neither changes the sign of anything. The variable i is z_i >= 0 perp w_i >= 0, or, where free, any z_i with w_i = 0. */
typedef struct system {
    int n;
    int column[COLUMNS];
    unsigned char is_free[COLUMNS];
    big a[COLUMNS][COLUMNS];
} system;

static int lowest_exponent(int n, const double *x, size_t step, const int *more)
{
    int lowest = 1 << 20;
    for (int k = 0; k < n; k++) {
        int e;
        if (mantissa_of(x[(size_t)k * step], &e) == 0) continue;
        e += more ? more[k] : 0;
        if (e < lowest) lowest = e;
    }
    return lowest == 1 << 20 ? 0 : lowest;
}

/* x: n rows of n + 1 numbers, row by row. */
static void make_integers(system *s, int n, const double *x)
{
    s->n = n;
    memset(s->is_free, 0, sizeof s->is_free);
    for (int j = 0; j <= n; j++) s->column[j] = -lowest_exponent(n, x + j, (size_t)n + 1, NULL);
    for (int i = 0; i < n; i++) {
        const double *from = x + (size_t)i * (size_t)(n + 1);
        int row = -lowest_exponent(n + 1, from, 1, s->column), e;
        for (int j = 0; j <= n; j++) {
            uint64_t m = mantissa_of(from[j], &e);
            s->a[i][j] = (big){.sign = from[j] < 0 ? -1 : 1, .n = m != 0, .limb = {m}};
            if (m) shift_left(&s->a[i][j], e + row + s->column[j]);
        }
    }
}

/* The value of z_j in a null vector (x_0 .. x_n): x_j / x_n in the units of the problem. */
static double value_of(const system *s, const big *x, int j)
{
    long double numerator = to_float(&x[j], -64 * x[j].n),
                denominator = to_float(&x[s->n], -64 * x[s->n].n);
    int e = 64 * (x[j].n - x[s->n].n) + s->column[j] - s->column[s->n];
    return (double)ldexpl(numerator / denominator, e);
}

/* Null vectors
 * ------------------------------------------------------------------------------- */

/* Solve rows x = 0 for x in the given columns (others 0) by fraction-free Gauss-Jordan elimination. Returns the dimension
 * of the solutions; where it is 1, x is one of them. */
static int null_vector(const system *s, const int *rows, int nr, const int *columns, int nc, big *x)
{
    static big t[COLUMNS][COLUMNS], left, right, previous;
    int order[COLUMNS], rank = 0;
    for (int i = 0; i < nr; i++) {
        for (int j = 0; j < nc; j++) copy(&t[i][j], &s->a[rows[i]][columns[j]]);
    }
    for (int j = 0; j < nc; j++) order[j] = j;
    previous = (big){.sign = 1, .n = 1, .limb = {1}};
    for (; rank < nr && rank < nc; rank++) {
        int pr = -1, pc = -1; /* the shortest pivot */
        for (int i = rank; i < nr; i++) {
            for (int j = rank; j < nc; j++) {
                if (t[i][order[j]].n && (pr < 0 || t[i][order[j]].n < t[pr][order[pc]].n))
                    pr = i, pc = j;
            }
        }
        if (pr < 0) break;
        int swap = order[pc];
        order[pc] = order[rank], order[rank] = swap;
        for (int j = 0; j < nc && pr != rank; j++) {
            copy(&left, &t[pr][j]);
            copy(&t[pr][j], &t[rank][j]);
            copy(&t[rank][j], &left);
        }
        const big *pivot = &t[rank][order[rank]];
        for (int i = 0; i < nr; i++) {
            if (i == rank) continue;
            for (int j = nc - 1; j >= 0; j--) {
                int c = order[j];
                if (j == rank || (j < rank && j != i)) continue;
                multiply(&left, &t[i][c], pivot);
                multiply(&right, &t[i][order[rank]], &t[rank][c]);
                add(&left, &left, &right, -1);
                divide_exactly(&left, &previous);
                copy(&t[i][c], &left);
            }
            set_zero(&t[i][order[rank]]);
        }
        copy(&previous, pivot);
    }
    if (nc - rank != 1) return nc - rank;
    for (int j = 0; j <= s->n; j++) set_zero(&x[j]);
    copy(&x[columns[order[rank]]], &previous);
    for (int i = 0; i < rank; i++) {
        big *to = &x[columns[order[i]]];
        copy(to, &t[i][order[rank]]);
        to->sign = -to->sign;
    }
    return 1;
}

/* a_i x, exactly. */
static void row_times(const system *s, int i, const big *x, big *sum)
{
    static big term;
    set_zero(sum);
    for (int j = 0; j <= s->n; j++) {
        if (x[j].n == 0 || s->a[i][j].n == 0) continue;
        multiply(&term, &s->a[i][j], &x[j]);
        add(sum, sum, &term, 1);
    }
}

/* Solutions
 * ------------------------------------------------------------------------------- */

typedef struct visitor {
    const system *s;
    int rays;      /* 1: directions (q left out) */
    int with_free; /* 1: free columns belong to every support; 0: to some, which finds a solution wherever there is one */
    int first;     /* 1: stop at the first */
    int support[COLUMNS], ns; /* columns; the last is q unless rays */
    int rows[COLUMNS], nr;
    int found;
    big x[COLUMNS];
    exact_set *set; /* out, nullable */
    big (*kept)
        [COLUMNS]; /* of the points found so far: x, for the attachment of rays and against repetition */
} visitor;

/* Positive on the support (after a change of sign of all), and w >= 0. */
static int is_complementary(visitor *v)
{
    static big w;
    const system *s = v->s;
    int flip = v->rays ? 0 : sign(&v->x[s->n]);
    if (!v->rays && flip == 0) return 0;
    for (int k = 0; k < v->ns; k++) {
        int j = v->support[k], sj = sign(&v->x[j]);
        if (j < s->n && s->is_free[j]) continue;
        if (flip == 0) flip = sj;
        if (sj == 0 || sj != flip) return 0;
    }
    if (flip == 0) return 0; /* a line of free directions: no extreme ray */
    for (int j = 0; j <= s->n; j++) v->x[j].sign *= flip;
    for (int i = 0; i < s->n; i++) {
        row_times(s, i, v->x, &w);
        if (sign(&w) < 0) return 0;
    }
    return 1;
}

/* x and y the same up to a positive factor? The supports are the same. */
static int is_parallel(const system *s, const big *x, const big *y)
{
    static big a, b;
    int at = 0;
    while (at < s->n && x[at].n == 0) at++;
    if (x[s->n].n) at = s->n;
    for (int j = 0; j <= s->n; j++) {
        if ((x[j].n == 0) != (y[j].n == 0)) return 0;
        multiply(&a, &x[j], &y[at]);
        multiply(&b, &y[j], &x[at]);
        add(&a, &a, &b, -1);
        if (a.n) return 0;
    }
    return 1;
}

/* May the direction be added to the point? Neither is positive against the other's w. */
static int is_attached(const system *s, const big *direction, const big *point)
{
    static big w;
    for (int i = 0; i < s->n; i++) {
        row_times(s, i, direction, &w);
        if (sign(&w) && point[i].n) return 0;
        row_times(s, i, point, &w);
        if (sign(&w) && direction[i].n) return 0;
    }
    return 1;
}

static void keep_ray(visitor *v)
{
    exact_set *set = v->set;
    unsigned char from[256];
    int attached = 0;
    for (int k = 0; k < set->npoint; k++)
        attached += from[k] = (unsigned char)is_attached(v->s, v->x, v->kept[k]);
    if (!attached) return;
    double d[EXACT_MAX], sum = 0;
    long double largest = 0, entry[EXACT_MAX];
    for (int j = 0; j < v->s->n; j++) {
        entry[j] = to_float(&v->x[j], v->s->column[j] - 64 * v->x[v->support[0]].n);
        largest = fmaxl(largest, fabsl(entry[j]));
    }
    for (int j = 0; j < v->s->n; j++) d[j] = (double)(entry[j] / largest), sum += d[j];
    for (int j = 0; j < v->s->n; j++) d[j] /= sum;
    for (int k = 0; k < set->nray; k++) {
        int same = 1;
        for (int j = 0; j < v->s->n; j++) same &= fabs(set->ray[k][j] - d[j]) <= 1e-13 * fabs(d[j]);
        if (same) return;
    }
    if (set->nray == 256) {
        set->too_large = 1;
        return;
    }
    memcpy(set->from[set->nray], from, sizeof from);
    memcpy(set->ray[set->nray++], d, sizeof d);
}

static void keep_point(visitor *v)
{
    exact_set *set = v->set;
    for (int k = 0; k < set->npoint; k++) {
        if (is_parallel(v->s, v->x, v->kept[k])) return;
    }
    if (set->npoint == 256) {
        set->too_large = 1;
        return;
    }
    for (int j = 0; j <= v->s->n; j++) copy(&v->kept[set->npoint][j], &v->x[j]);
    for (int j = 0; j < v->s->n; j++) set->point[set->npoint][j] = value_of(v->s, v->x, j);
    set->npoint++;
}

/* The present rows leave one direction: judge it. They leave more: one further row w_i = 0. */
static void try_rows(visitor *v, int from, int before)
{
    int nullity = null_vector(v->s, v->rows, v->nr, v->support, v->ns, v->x);
    if (nullity == 0 || nullity >= before) return;
    if (nullity == 1) {
        if (!is_complementary(v)) return;
        v->found++;
        if (v->set && v->rays)
            keep_ray(v);
        else if (v->set)
            keep_point(v);
        return;
    }
    for (int i = from; i < v->s->n; i++) {
        int used = 0;
        for (int k = 0; k < v->nr; k++) used |= v->rows[k] == i;
        if (used) continue;
        v->rows[v->nr++] = i;
        try_rows(v, i + 1, nullity);
        v->nr--;
        if (v->first && v->found) return;
    }
}

static void visit(visitor *v)
{
    const system *s = v->s;
    for (unsigned subset = 0; subset < 1u << s->n && !(v->first && v->found); subset++) {
        int skip = 0;
        v->ns = v->nr = 0;
        for (int i = 0; i < s->n; i++) {
            int in = (int)(subset >> i & 1);
            skip |= v->with_free && s->is_free[i] && !in;
            if (in) v->support[v->ns++] = i;
            if (in || s->is_free[i]) v->rows[v->nr++] = i;
        }
        if (skip || (v->rays && v->ns == 0)) continue;
        if (!v->rays) v->support[v->ns++] = s->n;
        try_rows(v, 0, v->ns + 1);
    }
}

static double entry(const perp_lcp *lcp, int i, int j)
{
    return lcp->M[(size_t)i + (size_t)j * (size_t)lcp->ldm];
}

static int rows_of(const perp_lcp *lcp, system *s)
{
    double x[COLUMNS * COLUMNS];
    int n = lcp->n;
    if (n > EXACT_MAX) return 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) x[i * (n + 1) + j] = entry(lcp, i, j);
        x[i * (n + 1) + n] = lcp->q[i];
    }
    make_integers(s, n, x);
    return !too_large;
}

/* A problem with bounds as a system without: z = lo + y, or hi - y; a box has a second pair v >= 0 perp hi - lo - y >= 0
 * whose v is taken from w. The shifts q + M lo must be exact in double: the generators see to that. 0: too large. */
static int bounded_rows_of(const perp_lcp *lcp, system *s)
{
    double x[COLUMNS * COLUMNS] = {0}, flip[COLUMNS], shift[COLUMNS];
    unsigned char is_free[COLUMNS] = {0};
    int n = lcp->n, m = n, box[COLUMNS];
    if (n > EXACT_MAX) return 0;
    for (int i = 0; i < n; i++) {
        double lo = lcp->lo ? lcp->lo[i] : 0, hi = lcp->hi ? lcp->hi[i] : (double)INFINITY;
        flip[i] = isfinite(lo) ? 1 : -1;
        shift[i] = isfinite(lo) ? lo : isfinite(hi) ? hi : 0;
        is_free[i] = !isfinite(lo) && !isfinite(hi);
        box[i] = isfinite(lo) && isfinite(hi) ? m++ : -1;
    }
    if (m > EXACT_MAX) return 0;
    for (int i = 0; i < n; i++) {
        double q = lcp->q[i];
        for (int j = 0; j < n; j++) {
            x[i * (m + 1) + j] = flip[i] * flip[j] * entry(lcp, i, j);
            q += entry(lcp, i, j) * shift[j];
        }
        x[i * (m + 1) + m] = flip[i] * q;
        if (box[i] < 0) continue;
        x[i * (m + 1) + box[i]] = 1;
        x[box[i] * (m + 1) + i] = -1;
        x[box[i] * (m + 1) + m] = lcp->hi[i] - lcp->lo[i];
    }
    make_integers(s, m, x);
    memcpy(s->is_free, is_free, sizeof is_free);
    return !too_large;
}

int exact_has_solution(const perp_lcp *lcp)
{
    static system s;
    static visitor v;
    too_large = 0;
    if (!(lcp->lo || lcp->hi ? bounded_rows_of(lcp, &s) : rows_of(lcp, &s))) return -1;
    v = (visitor){.s = &s, .first = 1};
    visit(&v);
    return too_large ? -1 : v.found > 0;
}

void exact_solutions(const perp_lcp *lcp, const unsigned char *is_free, exact_set *out)
{
    static system s;
    static visitor v;
    static big kept[256][COLUMNS];
    out->npoint = out->nray = too_large = 0;
    out->too_large = !rows_of(lcp, &s);
    if (out->too_large) return;
    if (is_free) memcpy(s.is_free, is_free, (size_t)lcp->n);
    v = (visitor){.s = &s, .with_free = 1, .set = out, .kept = kept};
    visit(&v);
    v.rays = 1;
    visit(&v);
    out->too_large |= too_large;
}

/* Is z right to a relative tolerance as p + t r, t >= 0 by the largest entry of r? r: NULL for p alone. */
static int is_near(int n, const double *z, const double *p, const double *r, double tolerance)
{
    int k = 0;
    for (int i = 1; r && i < n; i++) k = r[i] > r[k] ? i : k;
    double t = r ? fmax((z[k] - p[k]) / r[k], 0) : 0;
    for (int i = 0; i < n; i++) {
        double x = p[i] + (r ? t * r[i] : 0);
        if (!(fabs(z[i] - x) <= tolerance * fabs(x))) return 0;
    }
    return 1;
}

int exact_is_near_solution(const perp_lcp *lcp, const double *z, double tolerance)
{
    static exact_set set;
    if (lcp->n > EXACT_MAX) return 0;
    exact_solutions(lcp, NULL, &set);
    for (int k = 0; k < set.npoint; k++) {
        if (is_near(lcp->n, z, set.point[k], NULL, tolerance)) return 1;
        for (int r = 0; r < set.nray; r++) {
            if (set.from[r][k] && is_near(lcp->n, z, set.point[k], set.ray[r], tolerance)) return 1;
        }
    }
    return 0;
}

/* Feasibility
 * ------------------------------------------------------------------------------- */

/* Basic variables as functions of the others, all over one positive denominator:
 * x_basic[i] = (t[i][0] x_other[0] + ... + t[i][n] x_other[n] + t[i][n+1]) / d. */
typedef struct dictionary {
    int n;
    int basic[COLUMNS], other[COLUMNS]; /* labels: z_j is j, w_i is n + i, the artificial one 2 n */
    big t[COLUMNS][COLUMNS], d;
} dictionary;

static void pivot(dictionary *p, int r, int c)
{
    static big left, right, d;
    int n = p->n, label = p->basic[r], s = p->t[r][c].sign;
    copy(&d, &p->t[r][c]);
    for (int i = 0; i < n; i++) {
        if (i == r) continue;
        for (int j = 0; j < n + 2; j++) {
            if (j == c) continue;
            multiply(&left, &p->t[i][j], &d);
            multiply(&right, &p->t[i][c], &p->t[r][j]);
            add(&left, &left, &right, -1);
            divide_exactly(&left, &p->d);
            copy(&p->t[i][j], &left);
        }
    }
    for (int j = 0; j < n + 2; j++) p->t[r][j].sign *= -1;
    copy(&p->t[r][c], &p->d);
    copy(&p->d, &d);
    p->basic[r] = p->other[c];
    p->other[c] = label;
    if (s > 0) return;
    p->d.sign *= -1;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n + 2; j++) p->t[i][j].sign *= -1;
    }
}

/* The row that limits column c first; ties by the smallest label, the artificial variable before all. */
static int leaving(const dictionary *p, int c)
{
    static big left, right;
    int n = p->n, best = -1;
    for (int i = 0; i < n; i++) {
        if (sign(&p->t[i][c]) >= 0) continue;
        if (best < 0) {
            best = i;
            continue;
        }
        multiply(&left, &p->t[i][n + 1], &p->t[best][c]);
        multiply(&right, &p->t[best][n + 1], &p->t[i][c]);
        add(&left, &left, &right, -1); /* negative coefficients: > 0 where row i comes first */
        int order = sign(&left), artificial = p->basic[i] == 2 * n || p->basic[best] == 2 * n;
        if (order == 0)
            order = artificial ? (p->basic[i] == 2 * n ? 1 : -1)
                               : (p->basic[i] < p->basic[best] ? 1 : -1);
        if (order > 0) best = i;
    }
    return best;
}

int exact_is_feasible(const perp_lcp *lcp)
{
    static system s;
    static dictionary p;
    static big difference;
    int n = lcp->n, least = -1;
    too_large = 0;
    if (!rows_of(lcp, &s)) return -1;
    p.n = n;
    p.d = (big){.sign = 1, .n = 1, .limb = {1}};
    for (int i = 0; i < n; i++) {
        p.basic[i] = n + i;
        p.other[i] = i;
        for (int j = 0; j < n; j++) copy(&p.t[i][j], &s.a[i][j]);
        p.t[i][n] = p.d;
        copy(&p.t[i][n + 1], &s.a[i][n]);
        if (least >= 0) add(&difference, &p.t[i][n + 1], &p.t[least][n + 1], -1);
        if (least < 0 || sign(&difference) < 0) least = i;
    }
    if (n == 0 || sign(&p.t[least][n + 1]) >= 0) return 1;
    p.other[n] = 2 * n;
    for (int r = least, c = n;;) { /* the artificial variable enters, then falls */
        pivot(&p, r, c);
        int row = -1;
        for (int i = 0; i < n; i++) row = p.basic[i] == 2 * n ? i : row;
        if (too_large) return -1;
        if (row < 0 || sign(&p.t[row][n + 1]) == 0) return 1;
        c = -1;
        for (int j = 0; j <= n; j++) {
            if (sign(&p.t[row][j]) < 0 && (c < 0 || p.other[j] < p.other[c])) c = j;
        }
        if (c < 0) return 0;
        r = leaving(&p, c);
    }
}

/* Judging an answer
 * ------------------------------------------------------------------------------- */

/* sum += a b, times 2^-base. */
static void add_product(big *sum, double a, double b, int base)
{
    int ea, eb;
    uint64_t ma = mantissa_of(a, &ea), mb = mantissa_of(b, &eb);
    if (!ma || !mb) return;
    wide m = (wide)ma * mb;
    static big term;
    term.sign = (a < 0) == (b < 0) ? 1 : -1;
    term.limb[0] = (uint64_t)m, term.limb[1] = (uint64_t)(m >> 64);
    term.n = 2;
    trim(&term);
    shift_left(&term, ea + eb - base);
    add(sum, sum, &term, 1);
}

/* w_i = q_i + sum M_ij z_j rounded once; S_i = the sum of the sizes. */
long double exact_row(const perp_lcp *lcp, int i, const double *z, long double *size)
{
    static big sum;
    enum { BASE = -2200 }; /* below the smallest product of two doubles */
    int base = 4000, e, ez;
    set_zero(&sum);
    *size = fabsl((long double)lcp->q[i]);
    if (mantissa_of(lcp->q[i], &e) && e < base) base = e;
    for (int j = 0; j < lcp->n; j++) {
        if (!mantissa_of(entry(lcp, i, j), &e) || !mantissa_of(z[j], &ez)) continue;
        *size += fabsl((long double)entry(lcp, i, j) * z[j]);
        if (e + ez < base) base = e + ez;
    }
    if (base < BASE) base = BASE;
    add_product(&sum, lcp->q[i], 1, base);
    for (int j = 0; j < lcp->n; j++) add_product(&sum, entry(lcp, i, j), z[j], base);
    return to_float(&sum, base);
}

/* What the data D of other rows make of row i by way of its unknowns: z_j has the size that the row of its diagonal gives it,
 * else the least of the rows that have data. */
static long double carried_data(const perp_lcp *lcp, int i, const long double *D)
{
    long double sum = 0;
    for (int j = 0; j < lcp->n; j++) {
        long double m = fabsl((long double)entry(lcp, i, j)), size = INFINITY,
                    own = fabsl((long double)entry(lcp, j, j));
        if (m > 0 && own > 0 && D[j] > 0) size = D[j] / own;
        for (int k = 0; k < lcp->n && m > 0 && size > LDBL_MAX; k++) {
            long double other = fabsl((long double)entry(lcp, k, j));
            if (k != i && other > 0 && D[k] > 0) size = fminl(size, D[k] / other);
        }
        if (size <= LDBL_MAX) sum += m * size;
    }
    return sum;
}

/* What the data say of the size of each row: D_i, and where that is nothing - 0, or lost beside what the unknowns that the row
 * shares with others carry over to it - then that, from row to row. */
static void data_scales(const perp_lcp *lcp, long double *D)
{
    int n = lcp->n, done[EXACT_MAX] = {0};
    for (int i = 0; i < n; i++) {
        D[i] = fabsl((long double)lcp->q[i]);
        for (int j = 0; j < n; j++) {
            long double m = fabsl((long double)entry(lcp, j, j)), q = fabsl((long double)lcp->q[j]);
            if (m > 0) D[i] += fabsl((long double)entry(lcp, i, j)) * (q / m);
        }
    }
    for (int level = 0; level < n; level++) {
        long double found[EXACT_MAX];
        for (int i = 0; i < n; i++) found[i] = done[i] ? 0 : carried_data(lcp, i, D);
        for (int i = 0; i < n; i++) {
            if (!(found[i] > 0 && D[i] <= DBL_EPSILON / 2 * found[i])) continue;
            D[i] = found[i], done[i] = 1;
        }
    }
}

/* The violation of one pair in the unit of w: lo <= z <= hi with w of the right sign. z counts as on a bound as far as it
 * moves w by no more than the violation that is then reported; m = |M_ii| carries it over. */
static long double pair_violation(double lo, double hi, double z, long double w, long double m)
{
    long double below = (long double)z - lo, above = (long double)hi - z;
    long double outside = fmaxl(0, fmaxl(-below, -above));
    if (outside > 0 && m == 0) return INFINITY;
    long double off =
        w > 0 ? fabsl(below) : fabsl(above); /* the way to the bound that this sign of w asks for */
    long double pair = w == 0 || off == 0 ? 0 : m > 0 ? fminl(fabsl(w), m * off) : fabsl(w);
    return fmaxl(outside > 0 ? m * outside : 0, pair);
}

exact_error exact_lcp_error(const perp_lcp *lcp, const double *z)
{
    exact_error e = {0, 0, 0};
    long double D[EXACT_MAX];
    too_large = 0;
    for (int i = 0; i < lcp->n; i++) {
        if (!isfinite(z[i])) return (exact_error){INFINITY, INFINITY, i};
    }
    data_scales(lcp, D);
    for (int i = 0; i < lcp->n; i++) {
        long double size, w = exact_row(lcp, i, z, &size), data = D[i];
        double lo = lcp->lo ? lcp->lo[i] : 0, hi = lcp->hi ? lcp->hi[i] : (double)INFINITY;
        long double bad = pair_violation(lo, hi, z[i], w, fabsl((long double)entry(lcp, i, i)));
        if (bad == 0) continue;
        double own = size > 0 ? (double)(bad / size) : (double)INFINITY;
        if (data == 0 || data > size || lcp->lo || lcp->hi) data = size;
        if (own > e.own) e.own = own, e.at = i;
        e.data = fmax(e.data, data > 0 ? (double)(bad / data) : (double)INFINITY);
    }
    if (too_large) e.own = e.data = INFINITY;
    return e;
}

int exact_is_decidable(const perp_lcp *lcp, const double *vertex)
{
    exact_error e =
        exact_lcp_error(lcp, vertex); /* of the rounded vertex: growth shows in `data` */
    for (int i = 0; i < lcp->n; i++) {
        long double S;
        exact_row(lcp, i, vertex, &S);
        if (S > 0 && S < 1e-290L) return 0;
    }
    return e.own <= 1e-13 && e.data <= 1e-8;
}

/* x and its neighbour up or down, by turns that nothing else follows. */
static double neighbour(double x, uint64_t *turn)
{
    *turn = *turn * 6364136223846793005u + 1442695040888963407u;
    return x == 0 ? 0 : nextafter(x, *turn >> 63 ? HUGE_VAL : -HUGE_VAL);
}

int exact_is_stable(const perp_lcp *lcp, const unsigned char *is_free, const double *vertex)
{
    enum { TRIES = 20 };
    static exact_set set;
    double M[EXACT_MAX * EXACT_MAX], q[EXACT_MAX];
    uint64_t turn = 1;
    int n = lcp->n, found = 1;
    for (int k = 0; k < TRIES && found; k++) {
        perp_lcp near = {.n = n, .M = M, .ldm = n, .q = q};
        for (int i = 0; i < n; i++) {
            q[i] = neighbour(lcp->q[i], &turn);
            for (int j = 0; j < n; j++) M[i + n * j] = neighbour(lcp->M[i + lcp->ldm * j], &turn);
        }
        exact_solutions(&near, is_free, &set);
        found = 0;
        for (int p = 0; p < set.npoint && !found; p++) {
            found = 1;
            for (int i = 0; i < n; i++)
                found &= fabs(set.point[p][i] - vertex[i]) <= 1e-6 * fabs(vertex[i]);
        }
    }
    return found;
}

/* Contacts
 * ------------------------------------------------------------------------------- */

/* Length of a vector, or of the block of W of contacts c and j. */
static long double length(const long double *x, int n)
{
    long double sum = 0;
    for (int i = 0; i < n; i++) sum = hypotl(sum, x[i]);
    return sum;
}

static long double block_size(const perp_fc *p, int c, int j)
{
    long double x[9];
    int d = p->dimension, n = 0;
    for (int a = 0; a < d; a++) {
        for (int b = 0; b < d; b++)
            x[n++] = p->W[(size_t)(d * c + a) + (size_t)(d * j + b) * (size_t)p->ldw];
    }
    return length(x, n);
}

static long double q_size(const perp_fc *p, int c)
{
    long double x[3];
    for (int a = 0; a < p->dimension; a++) x[a] = p->q[p->dimension * c + a];
    return length(x, p->dimension);
}

/* What the data say of the size of u of contact c; where that is nothing, what the contact shares with others. */
static long double contact_data(const perp_fc *p, int c)
{
    long double sum = q_size(p, c);
    for (int j = 0; j < p->nc; j++) {
        long double own = block_size(p, j, j);
        if (own > 0) sum += block_size(p, c, j) * (q_size(p, j) / own);
    }
    for (int j = 0; j < p->nc && sum == 0; j++) {
        for (int k = 0; k < p->nc; k++) {
            long double other = block_size(p, k, j);
            if (other > 0) sum = fmaxl(sum, q_size(p, k) * (block_size(p, c, j) / other));
        }
    }
    return sum;
}

/* |r - P_K(r - x)| for the cone |r_T| <= mu r_n, by the angle of the point in the half plane (normal, |tangent|). */
static long double cone_distance(int d, long double mu, const long double *r, const long double *x)
{
    long double y[3], t, n, p[3] = {0}, off[3];
    for (int a = 0; a < d; a++) y[a] = r[a] - x[a];
    t = length(y + 1, d - 1), n = y[0];
    if (t <= mu * n)
        memcpy(p, y, sizeof p);
    else if (mu * t > -n) { /* onto the surface; below the polar cone: the apex */
        long double along = (n + mu * t) / (1 + mu * mu);
        p[0] = along;
        for (int a = 1; a < d; a++) p[a] = t > 0 ? mu * along * (y[a] / t) : 0;
    }
    for (int a = 0; a < d; a++) off[a] = r[a] - p[a];
    return length(off, d);
}

/* The law in one map: r = P_K(r - u^ / size of W_cc). Relative to S_r. */
static long double map_error(int d, long double mu, const long double *r, const long double *u,
                             long double scale, long double own)
{
    long double x[3];
    if (!(1e-10L * length(r, d) * own <= scale))
        return INFINITY; /* r - x would lose x; own = 0: no map */
    if (own == 0) return INFINITY;
    for (int a = 0; a < d; a++) x[a] = u[a] / own;
    x[0] += mu * length(u + 1, d - 1) / own;
    return cone_distance(d, mu, r, x) / (scale / own);
}

/* The law's conditions one by one. Each pair asks for one of two: the smaller error counts. */
static long double law_error(int d, long double mu, const long double *r, const long double *u,
                             long double scale, long double own)
{
    long double force = scale / own, slip = length(u + 1, d - 1), size = length(r, d),
                apart[3] = {0};
    if (own == 0) force = size; /* nothing else gives it a scale */
    if (force == 0) force = 1;  /* r = 0 */
    long double worst = fmaxl(-r[0] / force, -u[0] / scale);
    worst = fmaxl(worst, fminl(fabsl(r[0]) / force, fabsl(u[0]) / scale));
    long double slant =
        hypotl(1, mu); /* a tangential distance to the surface is this times the distance */
    worst = fmaxl(worst, (length(r + 1, d - 1) - mu * r[0]) / slant / force);
    for (int a = 1; a < d; a++) apart[a] = r[a] + (slip > 0 ? mu * r[0] * (u[a] / slip) : 0);
    return fmaxl(worst, fminl(slip / scale, length(apart, d) / slant / force));
}

static long double contact_error(int d, long double mu, const long double *r, const long double *u,
                                 long double scale, long double own)
{
    int is_zero = 1, is_apart = u[0] >= 0;
    for (int a = 0; a < d; a++) is_zero &= r[a] == 0;
    if (is_zero && is_apart) return 0;
    if (scale == 0)
        return length(u, d) > 0 || length(r + 1, d - 1) > mu * r[0] ? (long double)INFINITY : 0;
    return fminl(map_error(d, mu, r, u, scale, own), law_error(d, mu, r, u, scale, own));
}

exact_error exact_fc_error(const perp_fc *p, const double *r)
{
    exact_error e = {0, 0, 0};
    int d = p->dimension, n = d * p->nc;
    perp_lcp rows = {.n = n, .M = p->W, .ldm = p->ldw, .q = p->q};
    too_large = 0;
    for (int i = 0; i < n; i++) {
        if (!isfinite(r[i])) return (exact_error){INFINITY, INFINITY, i / d};
    }
    for (int c = 0; c < p->nc; c++) {
        long double u[3] = {0}, x[3] = {0}, size, scale = q_size(p, c), own = block_size(p, c, c),
                    data = contact_data(p, c);
        for (int a = 0; a < d; a++) {
            u[a] = exact_row(&rows, d * c + a, r, &size);
            x[a] = r[d * c + a];
        }
        for (int j = 0; j < p->nc; j++) {
            long double rj[3] = {0};
            for (int a = 0; a < d; a++) rj[a] = r[d * j + a];
            scale += block_size(p, c, j) * length(rj, d);
        }
        double error = (double)contact_error(d, p->mu[c], x, u, scale, own);
        if (error > e.own) e.own = error, e.at = c;
        if (data == 0 || data > scale) data = scale;
        e.data = fmax(e.data, (double)contact_error(d, p->mu[c], x, u, data, own));
    }
    if (too_large) e.own = e.data = INFINITY;
    return e;
}

/* In the plane Coulomb's law is an LCP of (r_n, r_+, r_-, gamma) a contact with r_T = r_+ - r_-:
 * 0 <= r_n perp u_n, 0 <= r_+ perp u_T + gamma, 0 <= r_- perp gamma - u_T, 0 <= gamma perp mu r_n - r_+ - r_-. */
static int plane_has_solution(const perp_fc *p)
{
    static const int from[4] = {0, 1, 1, -1}; /* row of u, its sign */
    static const double signs[4] = {1, 1, -1, 0};
    double M[64] = {0}, q[8] = {0};
    int m = 4 * p->nc;
    for (int i = 0; i < m; i++) {
        int c = i / 4, a = i % 4;
        if (a < 3) q[i] = signs[a] * p->q[2 * c + from[a]];
        for (int j = 0; j < m; j++) {
            int k = j / 4, b = j % 4;
            if (a < 3 && b < 3)
                M[i + m * j] =
                    signs[a] * signs[b] *
                    p->W[(size_t)(2 * c + from[a]) + (size_t)(2 * k + from[b]) * (size_t)p->ldw];
            if (c == k && (a == 1 || a == 2) && b == 3) M[i + m * j] = 1;
            if (c == k && a == 3 && b < 3) M[i + m * j] = b == 0 ? p->mu[c] : -1;
        }
    }
    perp_lcp lcp = {.n = m, .M = M, .ldm = m, .q = q};
    return exact_has_solution(&lcp);
}

int exact_fc_has_solution(const perp_fc *p)
{
    int d = p->dimension, is_frictionless = 1, is_apart = 1;
    for (int c = 0; c < p->nc; c++) {
        is_frictionless &= p->mu[c] == 0;
        is_apart &= p->q[d * c] >= 0;
    }
    if (is_apart) return 1; /* r = 0 */
    if (is_frictionless && p->nc <= EXACT_MAX) {
        double M[EXACT_MAX * EXACT_MAX], q[EXACT_MAX];
        for (int i = 0; i < p->nc; i++) {
            q[i] = p->q[d * i];
            for (int j = 0; j < p->nc; j++)
                M[i + p->nc * j] = p->W[(size_t)(d * i) + (size_t)(d * j) * (size_t)p->ldw];
        }
        perp_lcp lcp = {.n = p->nc, .M = M, .ldm = p->nc, .q = q};
        return exact_has_solution(&lcp);
    }
    return d == 2 && p->nc <= 2 ? plane_has_solution(p) : -1;
}
