/* When does z solve the problem? Each condition is judged on scales of its own
 * (docs/adr/008-verdicts.md). The first is the terms of its row, S_i = |q_i| + sum |M_ij z_j|. The
 * second is the data, D_i = |q_i| + sum |M_ij| |q_j| / |M_jj|, which the terms of z may exceed
 * without bound if M is singular. Cases that plain sums leave open are decided by sums in twice the
 * precision and a direct solve on the basis. */

#include "base/tol.h"
#include "base/holds.h"
#include "base/twice.h"
#include "linalg/dense.h"
#include "linalg/simd.h"
#include "solve/determined.h"
#include "solve/solver.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Plain sums ----------------------------------------------------------------------------------- */

/* A judgement by plain sums, without bounds: it holds where excess <= 0. */
typedef struct judgement {
    double residual, error; /* max |min(z_i, w_i)|; max violation / S_i */
    /* max violation + rounding - tol |q_i|; more than 0, or NaN, where plain sums do not settle
     * it */
    double excess;
} judgement;

/* Of w_i, relative to S_i. */
static double rounding_of_sum(int n)
{
    return (n + 4) * (DBL_EPSILON / 2);
}

/* The same of sums in twice the precision. */
static double rounding_of_twice(double n)
{
    return (n + 4) * (n + 4) * (DBL_EPSILON * DBL_EPSILON);
}

/* w = M z + q, four columns at a time. Everywhere terms are added one after the other, so that
 * those of another connected component, which are 0, change no bit. */
static inline PERP_INLINE void product(const perp_lcp *lcp, int n, const double *z,
                                       double *restrict w)
{
    int j = 0;
    for (int i = 0; i < n; i++) w[i] = lcp->q[i];
    for (; j + 4 <= n; j += 4) {
        const double *a = perp__column(lcp, j), *b = perp__column(lcp, j + 1),
                     *c = perp__column(lcp, j + 2), *d = perp__column(lcp, j + 3);
        double za = z[j], zb = z[j + 1], zc = z[j + 2], zd = z[j + 3];
        if (za == 0 && zb == 0 && zc == 0 && zd == 0) continue;
        for (int i = 0; i < n; i++) w[i] = w[i] + a[i] * za + b[i] * zb + c[i] * zc + d[i] * zd;
    }
    for (; j < n; j++) {
        const double *a = perp__column(lcp, j);
        for (int i = 0; i < n; i++) w[i] += a[i] * z[j];
    }
}

/* The same, and the terms S. */
static inline PERP_INLINE void product_and_terms(const perp_lcp *lcp, int n, const double *z,
                                                 double *restrict w, double *restrict S)
{
    int j = 0;
    for (int i = 0; i < n; i++) {
        w[i] = lcp->q[i];
        S[i] = fabs(lcp->q[i]);
    }
    for (; j + 4 <= n; j += 4) {
        const double *a = perp__column(lcp, j), *b = perp__column(lcp, j + 1),
                     *c = perp__column(lcp, j + 2), *d = perp__column(lcp, j + 3);
        double za = z[j], zb = z[j + 1], zc = z[j + 2], zd = z[j + 3];
        if (za == 0 && zb == 0 && zc == 0 && zd == 0) continue;
        for (int i = 0; i < n; i++) {
            double ta = a[i] * za, tb = b[i] * zb, tc = c[i] * zc, td = d[i] * zd;
            w[i] = w[i] + ta + tb + tc + td;
            S[i] = S[i] + fabs(ta) + fabs(tb) + fabs(tc) + fabs(td);
        }
    }
    for (; j < n; j++) {
        const double *a = perp__column(lcp, j);
        for (int i = 0; i < n; i++) {
            double t = a[i] * z[j];
            w[i] += t;
            S[i] += fabs(t);
        }
    }
}

/* One row into the strands of a judgement, which keep the larger value. */
typedef struct strand {
    double residual, error, excess, sum; /* sum: 0, or NaN where a number is not finite */
} strand;

static inline PERP_INLINE double judge_row(strand *t, double z, double w, double S, double q,
                                           double rho, double tol)
{
    double r = fabs(z < w ? z : w), v = z > 0 ? fabs(w) : -w;
    double open = z < 0 || S < PERP__UNDERFLOW ? (double)INFINITY : v + (rho * S - tol * fabs(q));
    double e = v / S;
    t->residual = r > t->residual ? r : t->residual;
    t->error = e > t->error ? e : t->error;
    t->excess = open > t->excess ? open : t->excess;
    t->sum += S - S;
    return open;
}

static inline PERP_INLINE judgement judgement_of(strand t)
{
    int finite = t.sum == 0;
    return (judgement){finite ? t.residual : (double)NAN, t.error,
                       finite ? t.excess : (double)INFINITY};
}

/* Eight strands, which the compiler vectorises. open: the excess of each row. */
static inline PERP_INLINE judgement judge(const perp_lcp *lcp, int n, const double *z, double *w,
                                          double *S, double *restrict open, double tol)
{
    enum { STRANDS = 8 };
    double residual[STRANDS] = {0}, error[STRANDS] = {0}, excess[STRANDS] = {0}, sum[STRANDS] = {0};
    double rho = rounding_of_sum(n);
    int i = 0;
    product_and_terms(lcp, n, z, w, S);
    for (; i + STRANDS <= n; i += STRANDS) {
        for (int l = 0; l < STRANDS; l++) {
            double a = z[i + l], b = w[i + l], s = S[i + l], q = lcp->q[i + l];
            double r = fabs(a < b ? a : b), v = a > 0 ? fabs(b) : -b;
            double x = v + (rho * s - tol * fabs(q)), e = v / s;
            if (a < 0 || s < PERP__UNDERFLOW) x = (double)INFINITY;
            open[i + l] = x;
            residual[l] = r > residual[l] ? r : residual[l];
            error[l] = e > error[l] ? e : error[l];
            excess[l] = x > excess[l] ? x : excess[l];
            sum[l] += s - s;
        }
    }
    strand t = {residual[0], error[0], excess[0], sum[0]};
    for (int l = 1; l < STRANDS && l < n; l++) {
        t.residual = perp__larger(t.residual, residual[l]);
        t.error = perp__larger(t.error, error[l]);
        t.excess = perp__larger(t.excess, excess[l]);
        t.sum += sum[l];
    }
    for (; i < n; i++) open[i] = judge_row(&t, z[i], w[i], S[i], lcp->q[i], rho, tol);
    return judgement_of(t);
}

/* For n <= 3, rounded alike. */
static inline PERP_INLINE judgement judge_few(const perp_lcp *lcp, int n, const double *z,
                                              double *restrict w, double *restrict terms,
                                              double *restrict open, double tol)
{
    strand t = {0};
    const double *M = lcp->M;
    size_t ld = (size_t)lcp->ldm;
    for (int i = 0; i < n; i++, M++) {
        double x = lcp->q[i], S = fabs(x);
        for (int j = 0; j < n; j++) {
            double term = M[(size_t)j * ld] * z[j];
            x += term;
            S += fabs(term);
        }
        w[i] = x;
        terms[i] = S;
        open[i] = judge_row(&t, z[i], x, S, lcp->q[i], rounding_of_sum(n), tol);
    }
    return judgement_of(t);
}

/* The same, rounded alike, four rows at a time. */
typedef perp__four four;
#define ROWS(array)       (*(four *)(array))
#define GIVEN(array)      (*(const four *)(array))
#define LARGER_FOUR(x, y) PERP_IF((x) > (y), x, y)
enum { FOURS_UP_TO = 64 }; /* M is in the nearest cache: rows may be read across the columns */

typedef struct fours {
    four residual, error, excess; /* as in a judgement */
} fours;

static inline PERP_INLINE void judge_four_rows(fours *t, const four *z, const four *w,
                                               const four *S, const four *q, double rho, double tol,
                                               four *open)
{
    const four zero = (four){0}, infinite = zero + (double)INFINITY;
    four r = PERP_SIZE(PERP_IF(*z < *w, *z, *w)), v = PERP_IF(*z > zero, PERP_SIZE(*w), -*w);
    four e = v / *S, o = v + (rho * *S - tol * PERP_SIZE(*q));
    o = PERP_IF((*z >= zero) & (*S >= PERP__UNDERFLOW) & (*S <= DBL_MAX), o, infinite);
    t->residual = LARGER_FOUR(r, t->residual);
    t->error = LARGER_FOUR(e, t->error);
    t->excess = LARGER_FOUR(o, t->excess);
    *open = o;
}

static inline PERP_INLINE judgement judgement_of_fours(const fours *t)
{
    judgement j = {PERP_LANE(t->residual, 0), PERP_LANE(t->error, 0), PERP_LANE(t->excess, 0)};
    for (int l = 1; l < PERP_FOUR; l++) {
        j.residual = perp__larger(PERP_LANE(t->residual, l), j.residual);
        j.error = perp__larger(PERP_LANE(t->error, l), j.error);
        j.excess = perp__larger(PERP_LANE(t->excess, l), j.excess);
    }
    return j;
}

/* w and S of four rows, m in their first column: += the terms of four columns. */
static inline PERP_INLINE void add_columns(const double *m, size_t ld, const double *z, four *w,
                                           four *S)
{
    for (int j = 0; j < 4; j++) {
        four term = GIVEN(m + (size_t)j * ld) * z[j];
        *w = *w + term;
        *S = *S + PERP_SIZE(term);
    }
}

/* n >= 4; the last four may have been among those before. More than 16 columns: those that four
 * zeros multiply are left out. */
static inline PERP_INLINE judgement judge_fours(const perp_lcp *lcp, int n, const double *z,
                                                double *w, double *S, double *open, double tol)
{
    fours t = {(four){0}, (four){0}, (four){0}};
    double rho = rounding_of_sum(n);
    size_t ld = (size_t)lcp->ldm;
    int used[FOURS_UP_TO / 4], many = 0;
    for (int j = 0; n > 16 && j + 4 <= n; j += 4) {
        used[many] = j;
        many += (z[j] != 0) | (z[j + 1] != 0) | (z[j + 2] != 0) | (z[j + 3] != 0);
    }
    for (int i = 0; i < n; i += PERP_FOUR) {
        if (i + PERP_FOUR > n) i = n - PERP_FOUR;
        four q = GIVEN(lcp->q + i), x = q, s = PERP_SIZE(q), y = GIVEN(z + i), o;
        const double *m = lcp->M + i;
        for (int j = 0; n <= 16 && j + 4 <= n; j += 4)
            add_columns(m + (size_t)j * ld, ld, z + j, &x, &s);
        for (int k = 0; k < many; k++)
            add_columns(m + (size_t)used[k] * ld, ld, z + used[k], &x, &s);
        for (int j = n / 4 * 4; j < n; j++) {
            four a = GIVEN(m + (size_t)j * ld) * z[j];
            x = x + a;
            s = s + PERP_SIZE(a);
        }
        judge_four_rows(&t, &y, &x, &s, &q, rho, tol, &o);
        ROWS(w + i) = x;
        ROWS(S + i) = s;
        ROWS(open + i) = o;
    }
    return judgement_of_fours(&t);
}

/* max |min(z_i, w_i)|; NaN where something is not finite. */
static inline PERP_INLINE double pure_residual(int n, const double *z, const double *w)
{
    enum { STRANDS = 8 };
    double most[STRANDS] = {0}, sum[STRANDS] = {0};
    int i = 0;
    for (; i + STRANDS <= n; i += STRANDS) {
        for (int l = 0; l < STRANDS; l++) {
            double a = z[i + l], b = w[i + l], r = fabs(a < b ? a : b);
            most[l] = r > most[l] ? r : most[l];
            sum[l] += (a - a) + (b - b); /* 0, or NaN where one is not finite */
        }
    }
    for (int l = 0; i < n; i++, l++) {
        double a = z[i], b = w[i], r = fabs(a < b ? a : b);
        most[l] = r > most[l] ? r : most[l];
        sum[l] += (a - a) + (b - b);
    }
    int strands = n < STRANDS ? n : STRANDS;
    for (int l = 1; l < strands; l++) {
        most[0] = most[l] > most[0] ? most[l] : most[0];
        sum[0] += sum[l];
    }
    return isnan(sum[0]) ? (double)NAN : most[0];
}

static inline PERP_INLINE double check(const perp_lcp *lcp, int n, const double *z, double *w)
{
    product(lcp, n, z, w);
    return pure_residual(n, z, w);
}

/* The same for n <= 4, rounded alike. */
static inline PERP_INLINE double check_few(const perp_lcp *lcp, int n, const double *z,
                                           double *restrict w)
{
    double most = 0, sum = 0;
    const double *M = lcp->M;
    size_t ld = (size_t)lcp->ldm;
    for (int i = 0; i < n; i++, M++) {
        double x = lcp->q[i], y = z[i];
        for (int j = 0; j < n; j++) x += M[(size_t)j * ld] * z[j];
        double r = fabs(y < x ? y : x);
        w[i] = x;
        most = r > most ? r : most;
        sum += (y - y) + (x - x);
    }
    return isnan(sum) ? (double)NAN : most;
}

/* D += what the data `own` of each row make of the unknown on its diagonal. */
static inline PERP_INLINE void spread_data(const perp_lcp *lcp, int n, const double *own,
                                           double *restrict D)
{
    for (int j = 0; j < n; j++) {
        const double *column = perp__column(lcp, j);
        double x = own[j] / fabs(column[j]);
        if (!(x > 0 && x <= DBL_MAX)) continue;
        for (int i = 0; i < n; i++) D[i] += fabs(column[i]) * x;
    }
}

/* w of z + fine in twice the precision, rounded at the end. low: n, scratch. */
static inline PERP_INLINE void product_in_twice(const perp_lcp *lcp, int n, const double *z,
                                                const double *fine, double *restrict w,
                                                double *restrict S, double *restrict low)
{
    for (int i = 0; i < n; i++) {
        w[i] = lcp->q[i];
        S[i] = fabs(lcp->q[i]);
        low[i] = 0;
    }
    for (int j = 0; j < n; j++) {
        const double *column = perp__column(lcp, j);
        double x = z[j], y = fine[j];
        for (int i = 0; i < n && x != 0; i++) {
            double p = column[i] * x, sum = w[i] + p;
            low[i] += perp__product_error(column[i], x, p) + perp__sum_error(w[i], p, sum) +
                      column[i] * y;
            w[i] = sum;
            S[i] += fabs(p);
        }
    }
    for (int i = 0; i < n; i++) w[i] += low[i];
}

/* Leaves the judgement of s->z in the solver, but for the excess, which is returned. */
static inline PERP_INLINE double leave(perp_lcp_solver *s, judgement j)
{
    s->residual = j.residual;
    s->error = j.error;
    return j.excess;
}
#define JUDGE(judge, n) leave(s, judge(lcp, n, s->z, s->w, s->terms, s->low, s->options.tol))

/* Small ones with loops of known length. */
#define VERSION(isa, target)                                                                       \
    target static double judge_3_##isa(perp_lcp_solver *s, const perp_lcp *lcp)                    \
    {                                                                                              \
        return JUDGE(judge_few, 3);                                                                \
    }                                                                                              \
    target static double judge_4_##isa(perp_lcp_solver *s, const perp_lcp *lcp)                    \
    {                                                                                              \
        return JUDGE(judge_fours, 4);                                                              \
    }                                                                                              \
    target static double judge_##isa(perp_lcp_solver *s, const perp_lcp *lcp)                      \
    {                                                                                              \
        switch (lcp->n) {                                                                          \
        case 1: return JUDGE(judge_few, 1);                                                        \
        case 2: return JUDGE(judge_few, 2);                                                        \
        case 8: return JUDGE(judge_fours, 8);                                                      \
        case 16: return JUDGE(judge_fours, 16);                                                    \
        default:                                                                                   \
            return lcp->n > 0 && lcp->n <= FOURS_UP_TO ? JUDGE(judge_fours, lcp->n)                \
                                                       : JUDGE(judge, lcp->n);                     \
        }                                                                                          \
    }                                                                                              \
    target static double check_##isa(const perp_lcp *lcp, const double *z, double *w)              \
    {                                                                                              \
        switch (lcp->n) {                                                                          \
        case 3: return check_few(lcp, 3, z, w);                                                    \
        case 4: return check_few(lcp, 4, z, w);                                                    \
        case 8: return check(lcp, 8, z, w);                                                        \
        case 16: return check(lcp, 16, z, w);                                                      \
        default: return check(lcp, lcp->n, z, w);                                                  \
        }                                                                                          \
    }                                                                                              \
    target static void terms_##isa(const perp_lcp *lcp, const double *z, double *w, double *S)     \
    {                                                                                              \
        switch (lcp->n) {                                                                          \
        case 3: product_and_terms(lcp, 3, z, w, S); break;                                         \
        case 4: product_and_terms(lcp, 4, z, w, S); break;                                         \
        default: product_and_terms(lcp, lcp->n, z, w, S);                                          \
        }                                                                                          \
    }                                                                                              \
    target static void spread_##isa(const perp_lcp *lcp, const double *own, double *D)             \
    {                                                                                              \
        spread_data(lcp, lcp->n, own, D);                                                          \
    }                                                                                              \
    target static void twice_##isa(const perp_lcp *lcp, const double *z, const double *fine,       \
                                   double *w, double *S, double *low)                              \
    {                                                                                              \
        product_in_twice(lcp, lcp->n, z, fine, w, S, low);                                         \
    }

PERP_ISA_LIST(VERSION)
#undef VERSION

static const struct {
    double (*judge[3])(perp_lcp_solver *s, const perp_lcp *lcp); /* n = 3, 4, others */
    double (*check)(const perp_lcp *lcp, const double *z, double *w);
    void (*terms)(const perp_lcp *lcp, const double *z, double *w, double *S);
    void (*spread)(const perp_lcp *lcp, const double *own, double *D);
    void (*twice)(const perp_lcp *lcp, const double *z, const double *fine, double *w, double *S,
                  double *low);
} kernel[] = {
#define VERSION(isa, target)                                                                       \
    {{judge_3_##isa, judge_4_##isa, judge_##isa},                                                  \
     check_##isa,                                                                                  \
     terms_##isa,                                                                                  \
     spread_##isa,                                                                                 \
     twice_##isa},
    PERP_ISA_LIST(VERSION)
#undef VERSION
};

/* Residual ------------------------------------------------------------------------------------- */

/* Row i of w, rounded as in product. */
static double row_of_w(const perp_lcp *lcp, const double *z, int i)
{
    double sum = lcp->q[i];
    for (int j = 0; j < lcp->n; j++) sum += perp__column(lcp, j)[i] * z[j];
    return sum;
}

static double residual_of(const perp_lcp *lcp, const double *z, const double *w)
{
    double residual = 0, sum = 0;
    for (int i = 0; i < lcp->n; i++) {
        double r = fabs(perp__natural(z[i], w[i], perp__lo(lcp, i), perp__hi(lcp, i)));
        residual = r > residual ? r : residual;
        sum += (z[i] - z[i]) + (w[i] - w[i]); /* 0, or NaN where one is not finite */
    }
    return isnan(sum) ? (double)NAN : residual;
}

static double residual_and_w(int isa, const perp_lcp *lcp, const double *z, double *w)
{
    double residual = kernel[isa].check(lcp, z, w);
    return lcp->lo || lcp->hi ? residual_of(lcp, z, w) : residual;
}

double perp_lcp_residual(const perp_lcp *lcp, const double *z, double *w)
{
    if (w) return residual_and_w(perp__isa(), lcp, z, w);
    double residual = 0;
    for (int i = 0; i < lcp->n; i++) {
        double sum = row_of_w(lcp, z, i), lo = perp__lo(lcp, i), hi = perp__hi(lcp, i);
        perp_lcp row = {1, NULL, 1, NULL, &lo, &hi};
        double r = residual_of(&row, &z[i], &sum);
        if (!(r <= residual)) residual = r;
        if (isnan(residual)) return residual;
    }
    return residual;
}

/* Own scales ----------------------------------------------------------------------------------- */

/* Is the sum of row i, of terms S, spoilt by terms that underflow? A 0 made so is no 0. */
static inline int is_lost(const perp_lcp *lcp, const double *z, int i, double S)
{
    if (!(S < PERP__UNDERFLOW)) return 0;
    const double *row = lcp->M + i;
    for (int j = 0; j < lcp->n; j++, row += lcp->ldm) {
        if (z[j] != 0 && *row != 0) return 1;
    }
    return 0;
}

/* How far w_i is from what z_i asks of it: 0 where z_i is inside its bounds, one sign at a bound,
 * anything where they meet. Below 0: by how much it is right. */
static inline double distance(const perp_lcp *lcp, int i, double z, double w)
{
    if (!lcp->lo && !lcp->hi) {
        if (z > 0) return fabs(w);
        if (z < 0) return (double)NAN;
        return -w;
    }
    int at_lo = z <= perp__lo(lcp, i), at_hi = z >= perp__hi(lcp, i);
    if (at_lo && at_hi) return -fabs(w);
    if (at_lo) return -w;
    if (at_hi) return w;
    return fabs(w);
}

static inline double violation(const perp_lcp *lcp, int i, double z, double w)
{
    double d = distance(lcp, i, z, w);
    return d < 0 ? 0 : d;
}

/* The size that the data give z_j: those of its own row, where that has it, else the least of the
 * rows that do. */
static double size_by_data(const perp_lcp *lcp, int j, const double *D)
{
    const double *column = perp__column(lcp, j);
    double size = (double)INFINITY;
    if (column[j] != 0 && D[j] > 0) return D[j] / fabs(column[j]);
    for (int i = 0; i < lcp->n; i++) {
        double x = D[i] > 0 ? D[i] / fabs(column[i]) : (double)INFINITY;
        size = x < size ? x : size;
    }
    return size;
}

/* Rows that have terms and no data get those of the rows that determine their unknowns, level by
 * level. size: n. */
static void carry_data(const perp_lcp *lcp, const double *terms, double *D, double *size)
{
    int changed = 0;
    for (int i = 0; i < lcp->n; i++) changed |= D[i] == 0 && terms[i] > 0;
    while (changed) {
        changed = 0;
        for (int j = 0; j < lcp->n; j++) size[j] = -1; /* not known yet */
        for (int i = 0; i < lcp->n; i++) {
            double sum = 0;
            for (int j = 0; j < lcp->n && D[i] == 0 && terms[i] > 0; j++) {
                double m = fabs(perp__column(lcp, j)[i]);
                if (m == 0) continue;
                if (size[j] < 0) size[j] = size_by_data(lcp, j, D);
                if (m * size[j] <= DBL_MAX) sum += m * size[j];
            }
            if (sum > 0) {
                D[i] = -sum;
                changed = 1;
            } /* of the next level */
        }
        for (int i = 0; i < lcp->n; i++) D[i] = fabs(D[i]);
    }
}

/* What is given in each row: q, and z on bounds that are not 0. */
static void find_own_data(const perp_lcp *lcp, const double *z, double *own)
{
    int n = lcp->n;
    for (int i = 0; i < n; i++) own[i] = fabs(lcp->q[i]);
    for (int j = 0; j < n && (lcp->lo || lcp->hi); j++) {
        const double *column = perp__column(lcp, j);
        if (z[j] == 0 || (z[j] > perp__lo(lcp, j) && z[j] < perp__hi(lcp, j))) continue;
        for (int i = 0; i < n; i++) own[i] += fabs(column[i] * z[j]);
    }
}

/* D: that, and what it makes of the others. After the terms. */
static void find_data(perp_lcp_solver *s, const perp_lcp *lcp, const double *z)
{
    find_own_data(lcp, z, s->scratch);
    memcpy(s->data, s->scratch, (size_t)lcp->n * sizeof *s->data);
    kernel[s->isa].spread(lcp, s->scratch, s->data);
}

static void find_all_data(perp_lcp_solver *s, const perp_lcp *lcp, const double *z)
{
    find_data(s, lcp, z);
    carry_data(lcp, s->terms, s->data, s->scratch);
}

void perp__lcp_data(perp_lcp_solver *s, const perp_lcp *lcp)
{
    for (int i = 0; i < lcp->n; i++) s->terms[i] = 1;
    find_all_data(s, lcp, s->z);
}

/* Has row i data of its own, as find_data counts them? */
static int has_data(const perp_lcp *lcp, const double *z, int i)
{
    for (int j = 0; j < lcp->n; j++) {
        const double *column = perp__column(lcp, j);
        int on_bound = z[j] != 0 && (z[j] <= perp__lo(lcp, j) || z[j] >= perp__hi(lcp, j));
        if (column[i] != 0 && (on_bound || (lcp->q[j] != 0 && column[j] != 0))) return 1;
    }
    return lcp->q[i] != 0;
}

/* Times the rounding of a sum: methods' own rounding is less. */
#define MORE_THAN_ROUNDING 100

/* The scale for a violation of row i that is more than rounding, for S and D separately. If only
 * the data of others are known, it is the least of the row's terms that they imply: a bound on one
 * of them leaves the others free to grow. */
static double least_data(const perp_lcp *lcp, const double *z, const double *D, int i)
{
    double least = (double)INFINITY;
    if (has_data(lcp, z, i)) return least;
    for (int j = 0; j < lcp->n; j++) {
        double m = z[j] != 0 ? fabs(perp__column(lcp, j)[i]) : 0;
        if (m > 0) least = fmin(least, m * size_by_data(lcp, j, D));
    }
    return least;
}

/* Do plain sums settle it, by the data of other rows too? w, the terms and the data are known. */
static int holds_by_data(perp_lcp_solver *s, const perp_lcp *lcp)
{
    double rho = rounding_of_sum(lcp->n), tol = s->options.tol;
    s->error = 0;
    for (int i = 0; i < lcp->n; i++) {
        double v = violation(lcp, i, s->z[i], s->w[i]), S = s->terms[i], D = s->data[i];
        if (!(S <= DBL_MAX) || !(v + rho * S <= tol * (S < D ? S : D)) || is_lost(lcp, s->z, i, S))
            return 0;
        if (v > MORE_THAN_ROUNDING * rho * S && v > tol * least_data(lcp, s->z, s->data, i))
            return 0;
        if (v > s->error * S) s->error = v / S;
    }
    return 1;
}

int perp__lcp_needs_fine(const perp_lcp_solver *s, int n)
{
    int is_refined = 0, is_coarse = 0;
    for (int i = 0; i < n; i++) {
        double S = s->terms[i];
        is_refined |= s->fine[i] != 0;
        is_coarse |= DBL_EPSILON * S > s->options.tol * (s->data[i] < S ? s->data[i] : S);
    }
    return is_refined && is_coarse;
}

/* The largest violation of z + fine by sums in twice the precision, which leave w in place. It is
 * relative to the terms of the row, and to the data if these are less; if z alone is too coarse, to
 * the row's own q, or up to rounding. Infinite as soon as a row's own terms show that it is more
 * than `most`. */
static double judge_in_twice(perp_lcp_solver *s, const perp_lcp *lcp, const double *z, double *w,
                             double most)
{
    double error = 0, rho = rounding_of_twice(lcp->n);
    kernel[s->isa].twice(lcp, z, s->fine, w, s->terms, s->low);
    for (int i = 0; i < lcp->n && most <= DBL_MAX; i++) {
        double S = s->terms[i];
        if (S > 0 && !(distance(lcp, i, z[i], w[i]) <= 2 * most * S)) return (double)INFINITY;
    }
    find_all_data(s, lcp, z);
    int is_fine = perp__lcp_needs_fine(s, lcp->n);
    for (int i = 0; i < lcp->n; i++) {
        double S = s->terms[i], v = distance(lcp, i, z[i], w[i]) + rho * S;
        double D = s->data[i], scale = D < S ? D : S;
        double own = perp__larger(fabs(lcp->q[i]), 8 * rho / s->options.tol * S);
        if (!(S <= DBL_MAX) || is_lost(lcp, z, i, S)) return (double)INFINITY;
        if (S == 0) continue;
        if (v > MORE_THAN_ROUNDING * rounding_of_sum(lcp->n) * S)
            scale = fmin(scale, least_data(lcp, z, s->data, i));
        perp__amount off = {v <= 0 ? 0 : v, is_fine && own < scale ? own : scale, 0};
        error = perp__worse(error, perp__error_zero(off));
    }
    return error;
}

double perp__lcp_error(perp_lcp_solver *s, const perp_lcp *lcp, const double *z, double *w)
{
    return judge_in_twice(s, lcp, z, w, (double)INFINITY);
}

void perp__lcp_product(perp_lcp_solver *s, const perp_lcp *lcp, const double *z, double *w)
{
    kernel[s->isa].twice(lcp, z, s->fine, w, s->terms, s->low);
}

void perp__lcp_terms(perp_lcp_solver *s, const perp_lcp *lcp)
{
    kernel[s->isa].terms(lcp, s->z, s->w, s->terms);
}

double perp__lcp_size(const perp_lcp_solver *s, const perp_lcp *lcp, int i)
{
    const double *column = perp__column(lcp, i);
    double weight = 0;
    for (int k = 0; k < lcp->n; k++) {
        double x = fabs(column[k]) / s->terms[k];
        if (x > weight) weight = x;
    }
    return 1 / weight;
}

/* Is |x| more than `factor` of that size, which is at most terms_i / |M_ii|? NaN is. */
static inline int is_beyond(const perp_lcp_solver *s, const perp_lcp *lcp, int i, double x,
                            double factor)
{
    double own = fabs(perp__column(lcp, i)[i]);
    if (x == 0 || fabs(x) * own > 2 * factor * s->terms[i]) return x != 0;
    return !(fabs(x) <= factor * perp__lcp_size(s, lcp, i));
}

/* Basis ---------------------------------------------------------------------------------------- */

void perp__lcp_basis_of_point(perp_lcp_solver *s, const perp_lcp *lcp)
{
    for (int i = 0; i < lcp->n; i++) {
        double room = s->z[i] - perp__lo(lcp, i);
        if (lcp->hi) room = fmin(room, lcp->hi[i] - s->z[i]);
        double w = fabs(s->w[i]), own = fabs(perp__column(lcp, i)[i]);
        s->basis[i] = room > 0 && (own * room >= w || /* the size is at most terms/own */
                                   room / perp__lcp_size(s, lcp, i) >= w / s->terms[i]);
    }
}

static inline PERP_INLINE int gather(perp_lcp_solver *s, const perp_lcp *lcp,
                                     const unsigned char *basis)
{
    int nb = 0;
    for (int i = 0; i < lcp->n; i++) {
        if (basis[i]) s->lu.rows[nb++] = i;
    }
    for (int j = 0; j < nb; j++) {
        const double *column = perp__column(lcp, s->lu.rows[j]);
        double *factor = s->lu.values + (size_t)j * (size_t)nb;
        for (int i = 0; i < nb; i++) factor[i] = column[s->lu.rows[i]];
    }
    return nb;
}

int perp__lcp_gather_basis(perp_lcp_solver *s, const perp_lcp *lcp)
{
    return gather(s, lcp, s->basis);
}

/* Largest |entry| of row or column i in the scales of the other side. */
static double largest_entry(int n, const double *M, int ldm, int by_row, int i, const double *other)
{
    double largest = 0;
    for (int j = 0; j < n; j++) {
        size_t at =
            by_row ? (size_t)j * (size_t)ldm + (size_t)i : (size_t)i * (size_t)ldm + (size_t)j;
        double x = fabs(M[at]) * other[j];
        largest = x > largest ? x : largest;
    }
    return largest;
}

/* Scales that are not known (0) from those that are, from row to column to row. */
static void find_scales(int n, const double *M, int ldm, double *R, double *C)
{
    for (int found = 1; found;) {
        found = 0;
        for (int k = 0; k < 2 * n; k++) {
            int by_row = k < n, i = by_row ? k : k - n;
            double *scale = by_row ? &R[i] : &C[i];
            if (*scale != 0) continue;
            double largest = largest_entry(n, M, ldm, by_row, i, by_row ? C : R);
            if (!(largest > PERP_TINY && largest < PERP_HUGE)) continue;
            *scale = 1 / perp__power_below(largest);
            found = 1;
        }
    }
    for (int i = 0; i < n; i++) {
        R[i] = R[i] == 0 ? 1 : R[i];
        C[i] = C[i] == 0 ? 1 : C[i];
    }
}

void perp__equilibrate(int n, const double *M, int ldm, double *R, double *C)
{
    enum { PASSES = 24 };
    find_scales(n, M, ldm, R, C);
    for (int pass = 0, moved = 0; pass < PASSES; pass++) {
        int by_row = pass % 2 == 0;
        if (by_row && pass > 0 && !moved) break;
        if (by_row) moved = 0;
        for (int i = 0; i < n; i++) {
            double largest = largest_entry(n, M, ldm, by_row, i, by_row ? C : R);
            double *scale = by_row ? &R[i] : &C[i];
            int exponent;
            frexp(largest * *scale, &exponent);
            if (largest == 0 || exponent / 2 == 0) continue;
            *scale = ldexp(*scale, -(exponent / 2));
            moved = 1;
        }
    }
}

/* M_bb with rows and columns scaled by powers of two. After the terms. */
static int gather_scaled(perp_lcp_solver *s, const perp_lcp *lcp, const unsigned char *basis)
{
    int nb = gather(s, lcp, basis);
    for (int k = 0; k < nb; k++) {
        double S = s->terms[s->lu.rows[k]], size = perp__lcp_size(s, lcp, s->lu.rows[k]);
        s->lu.row_scale[k] = S > PERP_TINY && S < PERP_HUGE ? 1 / perp__power_below(S) : 0;
        s->lu.column_scale[k] = size > PERP_TINY && size < PERP_HUGE ? perp__power_below(size) : 0;
    }
    perp__equilibrate(nb, s->lu.values, nb, s->lu.row_scale, s->lu.column_scale);
    for (int j = 0; j < nb; j++) {
        double *column = s->lu.values + (size_t)j * (size_t)nb;
        for (int i = 0; i < nb; i++) column[i] *= s->lu.row_scale[i] * s->lu.column_scale[j];
    }
    return nb;
}

static int factor(perp_lcp_solver *s, const perp_lcp *lcp, const unsigned char *basis)
{
    int nb = gather_scaled(s, lcp, basis);
    s->lu.n = perp__lu(nb, s->lu.values, nb > 0 ? nb : 1, s->lu.swap) == 0 ? nb : -1;
    s->lu.rank = nb;
    return s->lu.n >= 0;
}

int perp__lcp_factor_basis(perp_lcp_solver *s, const perp_lcp *lcp)
{
    return factor(s, lcp, s->basis);
}

void perp__lcp_solve_basis(const perp_lcp_solver *s, double *x)
{
    for (int k = 0; k < s->lu.n; k++) x[k] *= s->lu.row_scale[k];
    perp__lu_solve(s->lu.n, s->lu.values, s->lu.n > 0 ? s->lu.n : 1, s->lu.swap, x);
    for (int k = 0; k < s->lu.n; k++) x[k] *= s->lu.column_scale[k];
}

/* A pivot of the scaled M_bb that is nothing but rounding: a consistent system may still be solved
 * by it. */
static int has_lost_pivot(const perp_lcp_solver *s)
{
    size_t nb = (size_t)s->lu.n;
    for (size_t k = 0; k < nb; k++) {
        if (fabs(s->lu.values[k + k * nb]) <= 4 * DBL_EPSILON) return 1;
    }
    return 0;
}

/* max |x_i| */
static double largest_of(int n, const double *x)
{
    four most = (four){0};
    double largest = 0;
    int i = 0;
    for (; i + PERP_FOUR <= n; i += PERP_FOUR) {
        four size = PERP_SIZE(GIVEN(x + i));
        most = LARGER_FOUR(size, most);
    }
    for (int l = 0; l < PERP_FOUR; l++) largest = perp__larger(PERP_LANE(most, l), largest);
    for (; i < n; i++) largest = perp__larger(fabs(x[i]), largest);
    return largest;
}

/* Where M_bb is singular: elimination with complete pivoting, to the rank. Row k of it is swap[k],
 * column k is order[k]. */
static void factor_to_rank(perp_lcp_solver *s, const perp_lcp *lcp, const unsigned char *basis)
{
    int nb = gather_scaled(s, lcp, basis), r = 0;
    double *A = s->lu.values;
    size_t ld = (size_t)nb;
    for (int i = 0; i < nb; i++) s->lu.swap[i] = s->lu.order[i] = i;
    for (; r < nb; r++) {
        int pi = r, pj = r;
        double largest = 0;
        for (int j = r; j < nb; j++) {
            double size = largest_of(nb - r, A + (size_t)r + (size_t)j * ld);
            if (size > largest) {
                largest = size;
                pj = j;
            }
        }
        if (!(largest > PERP_TOL_RANK)) break;
        while (fabs(A[(size_t)pi + (size_t)pj * ld]) != largest) pi++;
        perp__exchange(nb, A + r, A + pi, nb);
        perp__exchange(nb, A + (size_t)r * ld, A + (size_t)pj * ld, 1);
        int t = s->lu.swap[r], u = s->lu.order[r];
        s->lu.swap[r] = s->lu.swap[pi];
        s->lu.swap[pi] = t;
        s->lu.order[r] = s->lu.order[pj];
        s->lu.order[pj] = u;
        const double *pivots = A + (size_t)r * ld;
        for (int i = r + 1; i < nb; i++) A[(size_t)i + (size_t)r * ld] /= pivots[r];
        for (int j = r + 1; j < nb; j++) {
            double *column = A + (size_t)j * ld, f = column[r];
            for (int i = r + 1; i < nb && f != 0; i++) column[i] -= f * pivots[i];
        }
    }
    s->lu.n = nb;
    s->lu.rank = r;
}

/* The independent columns of that for the independent rows; the others are 0. y: nrows, scratch. */
static void solve_to_rank(const perp_lcp_solver *s, double *x, double *y)
{
    size_t ld = (size_t)s->lu.n;
    for (int k = 0; k < s->lu.rank; k++) y[k] = x[s->lu.swap[k]] * s->lu.row_scale[s->lu.swap[k]];
    for (int k = 0; k < s->lu.rank; k++) {
        const double *column = s->lu.values + (size_t)k * ld;
        for (int i = k + 1; i < s->lu.rank; i++) y[i] -= column[i] * y[k];
    }
    for (int k = s->lu.rank - 1; k >= 0; k--) {
        const double *column = s->lu.values + (size_t)k * ld;
        y[k] /= column[k];
        for (int i = 0; i < k; i++) y[i] -= column[i] * y[k];
    }
    for (int k = 0; k < s->lu.n; k++) x[k] = 0;
    for (int k = 0; k < s->lu.rank; k++)
        x[s->lu.order[k]] = y[k] * s->lu.column_scale[s->lu.order[k]];
}

/* Lost data ------------------------------------------------------------------------------------ */

static int is_between(const perp_lcp *lcp, int i, double z)
{
    return z > perp__lo(lcp, i) && z < perp__hi(lcp, i);
}

/* s->part: the rows whose z_i is between its bounds, and which are in one system with a needy
 * one. */
static void mark_parts(perp_lcp_solver *s, const perp_lcp *lcp, const double *z)
{
    int n = lcp->n, *parent = s->lu.order, *is_wanted = s->lu.swap;
    for (int i = 0; i < n; i++) {
        parent[i] = i;
        is_wanted[i] = 0;
        s->part[i] = (unsigned char)is_between(lcp, i, z[i]);
    }
    for (int by_needy = 0; by_needy < 2; by_needy++) {
        for (int j = 0; j < n; j++) {
            const double *column = perp__column(lcp, j);
            for (int i = 0; i < n && s->part[j]; i++) {
                if (column[i] == 0) continue;
                if (by_needy && s->needy[i]) is_wanted[perp__find_part(parent, j)] = 1;
                if (!by_needy && s->part[i])
                    parent[perp__find_part(parent, i)] = perp__find_part(parent, j);
            }
        }
    }
    for (int i = 0; i < n; i++) s->part[i] &= is_wanted[perp__find_part(parent, i)] != 0;
}

/* The most by which x, of the unknowns of lu.rows, would move needy rows and those without data,
 * relative to their terms. Infinite if it might turn a sign that z has right. After find_needy. */
static double largest_move(const perp_lcp_solver *s, const perp_lcp *lcp, const double *z,
                           const double *x)
{
    double most = 0;
    for (int i = 0; i < lcp->n; i++) {
        double sum = 0, own = s->scratch[i];
        for (int k = 0; k < s->lu.n && (s->needy[i] || !s->part[i]); k++)
            sum += fabs(perp__column(lcp, s->lu.rows[k])[i] * x[k]);
        if (s->needy[i] || own == 0)
            most = sum > 0 ? perp__worse(most, sum / s->terms[i]) : most;
        else if (sum > 0 && !(distance(lcp, i, z[i], s->w2[i]) + sum <= s->options.tol * own))
            return (double)INFINITY;
    }
    return most;
}

/* Do the rows that z leaves free determine the terms of needy ones, whatever signs rounding has:
 * all alike, alternating, and as drawn? */
static int is_determined(perp_lcp_solver *s, const perp_lcp *lcp, const double *z)
{
    double rho = rounding_of_sum(lcp->n), *x = s->correction;
    mark_parts(s, lcp, z);
    int is_so = factor(s, lcp, s->part) && !has_lost_pivot(s);
    for (int trial = 0; trial < PERP__SIGN_TRIALS && is_so; trial++) {
        uint32_t draw = perp__first_draw(trial);
        for (int k = 0; k < s->lu.n; k++) {
            int i = s->lu.rows[k];
            x[k] = perp__with_sign(trial, i, fabs(s->w2[i]) + rho * s->terms[i], &draw);
        }
        perp__lcp_solve_basis(s, x);
        is_so = largest_move(s, lcp, z, x) <= PERP__MOST_MOVED;
    }
    s->lu.n = -1;
    return is_so;
}

/* Where is z + fine not shown to hold beside each row's own data, by sums in twice the precision?
 * Into s->needy; returns how many. */
static int find_needy(perp_lcp_solver *s, const perp_lcp *lcp, const double *z, double strict)
{
    double rho = rounding_of_twice(lcp->n), *own = s->scratch;
    int many = 0;
    kernel[s->isa].twice(lcp, z, s->fine, s->w2, s->terms, s->correction);
    find_own_data(lcp, z, own);
    for (int i = 0; i < lcp->n; i++) {
        double S = s->terms[i], v = distance(lcp, i, z[i], s->w2[i]);
        int holds =
            S == 0 || v + rho * S <= s->options.tol * own[i] || (own[i] == 0 && v <= strict * S);
        s->needy[i] = !holds;
        many += !holds;
    }
    return many;
}

/* Without bounds: is row i, with this residual, violated by next to nothing relative to its own
 * data? */
static int is_seen(const perp_lcp_solver *s, const perp_lcp *lcp, int i, double off)
{
    return off + rounding_of_sum(lcp->n) * s->terms[i] <=
           PERP__LCP_SEEN * s->options.tol * fabs(lcp->q[i]);
}

/* Or by rounding alone? */
static int is_noise(const perp_lcp_solver *s, const perp_lcp *lcp, int i, double off)
{
    return off <= PERP__LCP_NOISE * rounding_of_sum(lcp->n) * s->terms[i];
}

/* A residual of `most` of the terms: is it more than a small part of the data of some row, in its
 * terms? */
static int may_hide_data(const perp_lcp_solver *s, const perp_lcp *lcp, double most)
{
    for (int i = 0; i < lcp->n && most > 0; i++) {
        if (lcp->q[i] != 0 && most * s->terms[i] > s->options.tol * fabs(lcp->q[i])) return 1;
    }
    return 0;
}

/* What the data of rows with z > 0 make of each row, one by one. */
static void find_asked(perp_lcp_solver *s, const perp_lcp *lcp, const double *z, double *D)
{
    double *own = s->scratch;
    for (int i = 0; i < lcp->n; i++) {
        D[i] = fabs(lcp->q[i]);
        own[i] = z[i] > 0 ? D[i] : 0;
    }
    kernel[s->isa].spread(lcp, own, D);
}

/* The terms of what they make together, of as many as are independent. */
static void find_asked_together(perp_lcp_solver *s, const perp_lcp *lcp, const double *z, double *D)
{
    double *x = s->correction;
    for (int i = 0; i < lcp->n; i++) s->part[i] = z[i] > 0;
    factor_to_rank(s, lcp, s->part);
    for (int k = 0; k < s->lu.n; k++) x[k] = lcp->q[s->lu.rows[k]];
    solve_to_rank(s, x, s->scratch);
    for (int i = 0; i < lcp->n; i++) D[i] = fabs(lcp->q[i]);
    for (int k = 0; k < s->lu.n; k++) {
        const double *column = perp__column(lcp, s->lu.rows[k]);
        for (int i = 0; i < lcp->n; i++) D[i] += fabs(column[i] * x[k]);
    }
    s->lu.n = -1;
}

/* Are the terms of needy rows such as D asks for? What has such is not needy any more. */
static int are_asked_by(perp_lcp_solver *s, int n, const double *D)
{
    int any = 0;
    for (int i = 0; i < n; i++) {
        s->needy[i] &= !(s->terms[i] <= PERP__LCP_GROWTH * D[i]);
        any |= s->needy[i];
    }
    return !any;
}

/* Without bounds: are needy rows broken by rounding alone? By at most `most` of their terms. After
 * find_needy. */
static int are_noise(perp_lcp_solver *s, const perp_lcp *lcp, const double *z, double *most)
{
    *most = 0;
    for (int i = 0; i < lcp->n; i++) {
        double off = distance(lcp, i, z[i], s->w2[i]);
        s->needy[i] &= !is_seen(s, lcp, i, off);
        if (s->needy[i] && !is_noise(s, lcp, i, off)) return 0;
        if (s->needy[i] && off > *most * s->terms[i]) *most = off / s->terms[i];
    }
    return 1;
}

/* Are their terms asked for by the data of rows with z > 0, one by one or together? After
 * are_noise. */
static int are_asked(perp_lcp_solver *s, const perp_lcp *lcp, const double *z)
{
    find_asked(s, lcp, z, s->low);
    carry_data(lcp, s->terms, s->low, s->scratch);
    return are_asked_by(s, lcp->n, s->low);
}

static int are_asked_together(perp_lcp_solver *s, const perp_lcp *lcp, const double *z)
{
    find_asked_together(s, lcp, z, s->low);
    return are_asked_by(s, lcp->n, s->low);
}

/* With bounds: are they broken by rounding alone, and their terms determined? The data of a row at
 * a bound, whose sign is asked for, decide it whatever determines z. */
static int are_determined(perp_lcp_solver *s, const perp_lcp *lcp, const double *z, int regular)
{
    double rho = rounding_of_sum(lcp->n), tol = s->options.tol;
    int is_lost = 0; /* some row has data that rounding hides */
    for (int i = 0; i < lcp->n; i++) is_lost |= s->needy[i] && s->scratch[i] > 0;
    for (int i = 0; i < lcp->n; i++) {
        double off = distance(lcp, i, z[i], s->w2[i]), S = s->terms[i], own = s->scratch[i];
        int is_free = is_between(lcp, i, z[i]);
        if (s->needy[i] && !(off <= MORE_THAN_ROUNDING * rho * S)) return 0;
        if (!is_free && is_lost && (regular ? s->needy[i] : !(off + rho * S <= tol * own)))
            return 0;
        if (is_free && !s->basis[i]) regular = 0;
    }
    return regular || is_determined(s, lcp, z);
}

/* For z (+ fine, if the basis is regular and gave it) that holds on the scales of terms and of the
 * terms that others' data imply. Does each row hold relative to its own data? Or, if it is violated
 * by rounding alone, are its terms determined or, without bounds, asked for? Else z may be so large
 * that it hides these data (docs/adr/106-lost-data.md, 114-redundant-rows.md). */
static int keeps_data(perp_lcp_solver *s, const perp_lcp *lcp, const double *z, int regular)
{
    double most;
    if (find_needy(s, lcp, z, regular ? PERP__STRICT : 0) == 0) return 1;
    if (lcp->lo || lcp->hi) return are_determined(s, lcp, z, regular);
    if (s->takes_rounded) return 1;
    if (!are_noise(s, lcp, z, &most)) return 0;
    if (!are_asked(s, lcp, z) && !are_asked_together(s, lcp, z)) return 0;
    return !may_hide_data(s, lcp, most) || !perp__lcp_is_contradicted(s, lcp, z);
}

int perp__lcp_keeps_data(perp_lcp_solver *s, const perp_lcp *lcp, const double *z)
{
    return keeps_data(s, lcp, z, 1);
}

/* Finishing ------------------------------------------------------------------------------------ */

/* z2: what is not basic, on the bound its w points to. */
static void snap(perp_lcp_solver *s, const perp_lcp *lcp)
{
    for (int i = 0; i < lcp->n; i++) {
        double lo = perp__lo(lcp, i), hi = perp__hi(lcp, i);
        int to_lo = s->w[i] > 0 || (s->w[i] == 0 && s->z[i] - lo <= hi - s->z[i]);
        if (s->basis[i])
            s->z2[i] = s->z[i];
        else if (!isfinite(hi) || (to_lo && isfinite(lo)))
            s->z2[i] = lo;
        else
            s->z2[i] = hi;
        if (!isfinite(s->z2[i])) s->z2[i] = 0;
    }
}

/* z2 + fine := the solution on the basis, by corrections with residuals in twice the precision.
 * Returns 1 if these fell to nothing, each relative to its own z_i: then M_bb is regular, and z2 is
 * its solution. */
static int refine(perp_lcp_solver *s, const perp_lcp *lcp, int full)
{
    enum { ROUNDS = 8 };
    double *x = s->correction, last = (double)INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        double change = 0;
        for (int k = 0; k < s->lu.n; k++) x[k] = s->w2[s->lu.rows[k]];
        if (full)
            perp__lcp_solve_basis(s, x);
        else
            solve_to_rank(s, x, s->scratch);
        for (int k = 0; k < s->lu.n; k++) {
            double *z = &s->z2[s->lu.rows[k]], *fine = &s->fine[s->lu.rows[k]], d = *fine - x[k];
            double sum = *z + d;
            *fine = perp__sum_error(*z, d, sum);
            *z = sum;
            if (is_beyond(s, lcp, s->lu.rows[k], x[k], PERP_TOL_REFINED_LCP))
                change = perp__worse(change, fabs(x[k]) / fabs(sum));
        }
        kernel[s->isa].twice(lcp, s->z2, s->fine, s->w2, s->terms, s->low);
        if (change <= PERP_TOL_CERTAIN && round > 0) return full;
        if (!(change < 0.1 * last)) return 0;
        last = change;
    }
    return 0;
}

/* What the basis got wrong changes sides: z2 outside its bounds, w of the wrong sign. Returns 0
 * where there is nothing. */
static int mark_wrong(perp_lcp_solver *s, const perp_lcp *lcp)
{
    int many = 0;
    for (int i = 0; i < lcp->n; i++) {
        double z = s->z2[i], off = fmax(perp__lo(lcp, i) - z, z - perp__hi(lcp, i));
        double v = s->basis[i] ? 0 : violation(lcp, i, z, s->w2[i]);
        s->wrong[i] =
            (unsigned char)(s->basis[i] ? off > 0 && is_beyond(s, lcp, i, off, PERP_TOL_OUTSIDE)
                                        : v > s->options.tol * s->terms[i]);
        many += s->wrong[i];
    }
    return many;
}

/* Is each z_i on the basis right to 1e-9, whatever sums in twice the precision round? With X, the
 * inverse that the factors are, |z - z*| <= |X| (|r| + rho S) + |X M_bb - I| |z - z*| (Krawczyk
 * 1969). That is too much where M_bb is regular only by digits that are lost in the sums. */
static int is_certain(perp_lcp_solver *s, const perp_lcp *lcp)
{
    int nb = s->lu.n;
    double rho = rounding_of_twice(lcp->n), worst = 0;
    double *x = s->correction, *off = s->scratch, *bound = s->low;
    memset(off, 0, (size_t)nb * sizeof *off);
    memset(bound, 0, (size_t)nb * sizeof *bound);
    for (int j = 0; j < nb; j++) {
        int row = s->lu.rows[j];
        double unit = s->lu.column_scale[j];
        for (int k = 0; k < nb; k++) x[k] = perp__column(lcp, row)[s->lu.rows[k]] * unit;
        perp__lcp_solve_basis(s, x);
        for (int k = 0; k < nb; k++)
            off[k] += fabs(x[k] - (k == j ? unit : 0)) / s->lu.column_scale[k];
        for (int k = 0; k < nb; k++) x[k] = k == j ? fabs(s->w2[row]) + rho * s->terms[row] : 0;
        perp__lcp_solve_basis(s, x);
        for (int k = 0; k < nb; k++) bound[k] += fabs(x[k]);
    }
    for (int k = 0; k < nb; k++) worst = perp__larger(bound[k] / s->lu.column_scale[k], worst);
    for (int k = 0; k < nb; k++) {
        double z = fabs(s->z2[s->lu.rows[k]]),
               error = bound[k] + 2 * off[k] * s->lu.column_scale[k] * worst;
        double least =
            z > 0 ? PERP_TOL_CERTAIN * z : PERP__STRICT * perp__lcp_size(s, lcp, s->lu.rows[k]);
        if (!(off[k] <= 0.5 && error <= least)) return 0;
    }
    return 1;
}

/* Where rows live on digits that doubles have lost, z2 + fine must hold to such digits in every
 * row, and be certain. */
static int holds_in_lost_digits(perp_lcp_solver *s, const perp_lcp *lcp)
{
    for (int i = 0; i < lcp->n; i++) {
        if (!(distance(lcp, i, s->z2[i], s->w2[i]) <= PERP__STRICT * s->terms[i])) return 0;
    }
    return is_certain(s, lcp);
}

/* Moves z2 between its bounds, judges it, and z2 + fine, which it is rounded from, where M_bb is
 * regular. */
static double error_within_bounds(perp_lcp_solver *s, const perp_lcp *lcp, int regular)
{
    if (!regular) memset(s->fine, 0, (size_t)lcp->n * sizeof *s->fine);
    for (int i = 0; i < lcp->n; i++) {
        double z = is_beyond(s, lcp, i, s->z2[i], PERP_TOL_FINE_ZERO) ? s->z2[i] : 0;
        z = perp__clamp(lcp, i, regular ? z : s->z2[i]);
        if (z != s->z2[i] || !s->basis[i]) s->fine[i] = 0;
        s->z2[i] = z;
    }
    return judge_in_twice(s, lcp, s->z2, s->w2, s->options.tol);
}

/* Does z2 + fine, within its bounds, hold beside each row's own data? */
static int is_exact(perp_lcp_solver *s, const perp_lcp *lcp)
{
    for (int i = 0; i < lcp->n; i++)
        if (s->z2[i] != perp__clamp(lcp, i, s->z2[i])) return 0;
    return find_needy(s, lcp, s->z2, PERP__STRICT) == 0;
}

/* Is z2 the answer? */
static int is_settled(perp_lcp_solver *s, const perp_lcp *lcp, int regular)
{
    int is_kept = !regular && is_exact(s, lcp);
    double error = error_within_bounds(s, lcp, regular), tol = s->options.tol;
    if (!(error <= tol)) return 0;
    if (perp__lcp_needs_fine(s, lcp->n)) {
        refine(s, lcp, 1);
        error = error_within_bounds(s, lcp, 1);
        if (!(error <= tol && holds_in_lost_digits(s, lcp))) return 0;
    }
    if (!is_kept && !keeps_data(s, lcp, s->z2, regular)) return 0;
    memcpy(s->z, s->z2, (size_t)lcp->n * sizeof *s->z);
    s->error = error;
    s->residual = residual_and_w(s->isa, lcp, s->z, s->w);
    return 1;
}

/* z2 + fine := the solution on the basis, if M_bb is shown regular. */
static int solve_on_regular_basis(perp_lcp_solver *s, const perp_lcp *lcp)
{
    if (!perp__lcp_factor_basis(s, lcp) || has_lost_pivot(s)) return 0;
    memset(s->fine, 0, (size_t)lcp->n * sizeof *s->fine);
    snap(s, lcp);
    for (int i = 0; i < lcp->n; i++) s->z2[i] = s->basis[i] ? 0 : s->z2[i];
    perp__lcp_product(s, lcp, s->z2, s->w2);
    return refine(s, lcp, 1);
}

/* The same; where M_bb is singular, from the point at hand to a solution. Returns 1 where M_bb is
 * shown regular. */
static int solve_on_basis(perp_lcp_solver *s, const perp_lcp *lcp)
{
    if (solve_on_regular_basis(s, lcp)) return 1;
    memset(s->fine, 0, (size_t)lcp->n * sizeof *s->fine);
    snap(s, lcp);
    perp__lcp_product(s, lcp, s->z2, s->w2);
    factor_to_rank(s, lcp, s->basis);
    refine(s, lcp, 0);
    s->lu.n = -1;
    return 0;
}

/* Does the solution on the point's basis, which is regular, hold beside each row's own data? Then
 * these contradict nothing. It is left in z2 + fine. */
static int is_exact_on_basis(perp_lcp_solver *s, const perp_lcp *lcp)
{
    if (!s->has_basis) perp__lcp_basis_of_point(s, lcp);
    return solve_on_regular_basis(s, lcp) && is_exact(s, lcp);
}

/* Does s->z keep data, as far as that is seen without factors? */
static int keeps_data_plainly(perp_lcp_solver *s, const perp_lcp *lcp)
{
    double most;
    if (find_needy(s, lcp, s->z, 0) == 0 || s->takes_rounded) return 1;
    return are_noise(s, lcp, s->z, &most) && are_asked(s, lcp, s->z) &&
           !(may_hide_data(s, lcp, most) && perp__lcp_may_be_contradicted(s, lcp, s->z));
}

/* Of s->z alone, without fine; or the basis gives a better answer, which takes its place. Searches
 * for a contradiction come last. */
static int keeps_data_of(perp_lcp_solver *s, const perp_lcp *lcp)
{
    size_t bytes = (size_t)lcp->n * sizeof *s->fine;
    memset(s->fine, 0, bytes);
    if (lcp->lo || lcp->hi) return keeps_data(s, lcp, s->z, 0);
    if (keeps_data_plainly(s, lcp)) return 1;
    if (is_exact_on_basis(s, lcp) && is_settled(s, lcp, 1)) return 1;
    memset(s->fine, 0, bytes);
    return keeps_data(s, lcp, s->z, 0);
}

/* From the point at hand: its active set, then the direct solve on it, which may be wrong a few
 * times. */
static int settle(perp_lcp_solver *s, const perp_lcp *lcp)
{
    enum { ROUNDS = 4 };
    if (!s->has_basis) perp__lcp_basis_of_point(s, lcp);
    s->has_basis = 1;
    memset(s->fine, 0, (size_t)lcp->n * sizeof *s->fine);
    s->error = judge_in_twice(s, lcp, s->z, s->w, (double)INFINITY);
    s->residual = residual_and_w(s->isa, lcp, s->z, s->w);
    if (s->error <= s->options.tol && keeps_data_of(s, lcp)) return 1;
    for (int round = 0; round < ROUNDS; round++) {
        snap(s, lcp);
        memset(s->fine, 0, (size_t)lcp->n * sizeof *s->fine);
        if (is_settled(s, lcp, 0)) return 1;
        int regular = solve_on_basis(s, lcp), many = mark_wrong(s, lcp);
        if (is_settled(s, lcp, regular)) return 1;
        if (many == 0) break;
        for (int i = 0; i < lcp->n; i++) s->basis[i] ^= s->wrong[i];
    }
    return 0;
}

/* Leaves in `low` what is open in each row: <= 0 where its own data settle it. */
static inline int is_plain(perp_lcp_solver *s, const perp_lcp *lcp)
{
    unsigned which = (unsigned)lcp->n - 3U;
    which = which < 2 ? which : 2;
    return kernel[s->isa].judge[which](s, lcp) <= 0;
}

/* z_i that are below the rounding of their own rows, or of their data D if these are given, are 0:
 * a row of such z_i alone has no scale. */
static int drop_noise(perp_lcp_solver *s, const perp_lcp *lcp, const double *D)
{
    int many = 0;
    double noise = 4 * rounding_of_sum(lcp->n);
    for (int i = 0; i < lcp->n; i++) {
        if (s->z[i] == 0) continue;
        double own = fabs(perp__column(lcp, i)[i] * s->z[i]), S = s->terms[i];
        int is_lost = own > 0 && own <= noise * (D && D[i] > S ? D[i] : S);
        if (is_lost) s->z[i] = 0;
        many += is_lost;
    }
    return many;
}

/* A column that brought a row its data, and the size that they give its unknown: often enough for
 * the next row too. */
typedef struct giver {
    const double *column;
    double size;
} giver;

/* D with what the data of other rows make of their unknowns, with z (nullable) if these are not 0,
 * until that is enough. */
static double carried_to(const perp_lcp *lcp, int i, double D, const double *data, const double *z,
                         double enough, giver *last)
{
    if (last->column) {
        double sum = D + fabs(last->column[i]) * last->size;
        if (sum >= enough) return sum;
    }
    for (int j = 0; j < lcp->n && !(D >= enough); j++) {
        const double *column = perp__column(lcp, j);
        if (data[j] == 0 || column[i] == 0 || (z && !(z[j] > 0))) continue;
        double size = fabs(data[j]) / fabs(column[j]);
        if (!(size <= DBL_MAX)) continue;
        D += fabs(column[i]) * size;
        *last = (giver){column, size};
    }
    return D;
}

static int find_used(int n, const double *z, int *used)
{
    int many = 0;
    for (int j = 0; j < n; j++) {
        used[many] = j;
        many += z[j] != 0;
    }
    return many;
}

/* Has row i an entry in one of these columns? Its sum of 0 terms was spoilt by underflow then. */
static int has_entry(const perp_lcp *lcp, int i, int many, const int *columns)
{
    for (int k = 0; k < many; k++) {
        if (perp__column(lcp, columns[k])[i] != 0) return 1;
    }
    return 0;
}

/* Row i, open by its own data: is it broken by rounding alone, and its terms asked for by what
 * others give it? As few of these as it takes. used: -1, or how many z are not 0, in lu.order. */
static inline int row_holds(const perp_lcp_solver *s, const perp_lcp *lcp, int i, giver *last,
                            int *used, int *hides)
{
    double S = s->terms[i], own = fabs(lcp->q[i]), open = s->low[i], tol = s->options.tol;
    if (!(open <= DBL_MAX)) {
        if (*used < 0) *used = find_used(lcp->n, s->z, s->lu.order);
        return S == 0 && s->z[i] >= 0 && !has_entry(lcp, i, *used, s->lu.order);
    }
    double off = open + tol * own, enough = perp__larger(off / tol, S / PERP__LCP_GROWTH);
    double most = perp__larger((PERP__LCP_NOISE + 1) * rounding_of_sum(lcp->n) * S,
                               PERP__LCP_SEEN * tol * own);
    if (s->takes_rounded) {
        most = off;
        enough = off / tol;
    }
    if (!(off <= most && enough <= S)) return 0;
    *hides |= own > 0;
    enough *= 1 + 4 * DBL_EPSILON;
    return carried_to(lcp, i, own, lcp->q, s->takes_rounded ? NULL : s->z, enough, last) >= enough;
}

/* Where rounding may hide a datum: is it no more than rounding? */
static PERP_APART int is_rounding(perp_lcp_solver *s, const perp_lcp *lcp)
{
    size_t bytes = (size_t)lcp->n * sizeof *s->fine;
    memset(s->fine, 0, bytes);
    kernel[s->isa].twice(lcp, s->z, s->fine, s->w2, s->terms, s->low);
    if (!perp__lcp_may_be_contradicted(s, lcp, s->z)) return 1;
    if (!s->has_certificate && is_exact_on_basis(s, lcp)) return 1;
    memset(s->fine, 0, bytes);
    kernel[s->isa].twice(lcp, s->z, s->fine, s->w2, s->terms, s->low);
    return !perp__lcp_is_contradicted(s, lcp, s->z);
}

static int rows_hold(perp_lcp_solver *s, const perp_lcp *lcp)
{
    giver last = {NULL, 0};
    int used = -1, hides = 0; /* rounding may hide a datum */
    for (int i = 0; i < lcp->n; i++) {
        if (!(s->low[i] <= 0) && !row_holds(s, lcp, i, &last, &used, &hides)) return 0;
    }
    return !hides || s->takes_rounded || is_rounding(s, lcp);
}

/* Do all rows hold by what others give them, where rows that have none get some level by level?
 * Less than is found by what follows, at less cost. */
static int hold_by_levels(perp_lcp_solver *s, const perp_lcp *lcp)
{
    double rho = rounding_of_sum(lcp->n), tol = s->options.tol;
    giver last = {NULL, 0};
    int before, many = 0, hides = 0;
    for (int i = 0; i < lcp->n; i++) {
        if (!(s->low[i] <= 0)) s->lu.order[many++] = i;
    }
    if (!s->takes_rounded) find_asked(s, lcp, s->z, s->data);
    do {
        before = many;
        many = 0;
        for (int k = 0; k < before; k++) {
            int i = s->lu.order[k];
            double D = s->data[i], S = s->terms[i];
            double off = violation(lcp, i, s->z[i], s->w[i]) + rho * S;
            double enough =
                2 * perp__larger(off / tol, s->takes_rounded ? 0 : S / PERP__LCP_GROWTH);
            const double *z = s->takes_rounded ? NULL : s->z;
            s->low[i] = D > 0 || S == 0 ? D : carried_to(lcp, i, 0, s->data, z, enough, &last);
        }
        for (int k = 0; k < before; k++) {
            int i = s->lu.order[k];
            double S = s->terms[i], D = s->low[i], v = violation(lcp, i, s->z[i], s->w[i]);
            int is_small = is_noise(s, lcp, i, v) || is_seen(s, lcp, i, v);
            if (s->takes_rounded)
                is_small = s->data[i] != 0 || v + rho * S <= MORE_THAN_ROUNDING * rho * S;
            s->data[i] = D;
            if (!is_small) return 0;
            hides |= lcp->q[i] != 0;
            if (D == 0 && S > 0)
                s->lu.order[many++] = i;
            else if (!(v + rho * S <= tol * (S < D ? S : D)) ||
                     !(s->takes_rounded || S <= PERP__LCP_GROWTH * D) || is_lost(lcp, s->z, i, S))
                return 0;
        }
    } while (many > 0 && many < before);
    return many == 0 && (!hides || s->takes_rounded || is_rounding(s, lcp));
}

/* Do all rows hold by q alone? */
static int hold_in_bounds(perp_lcp_solver *s, const perp_lcp *lcp)
{
    double rho = rounding_of_sum(lcp->n), tol = s->options.tol, error = 0;
    for (int i = 0; i < lcp->n; i++) {
        double v = violation(lcp, i, s->z[i], s->w[i]), S = s->terms[i];
        if (!(v + rho * S <= tol * fabs(lcp->q[i])) || S < PERP__UNDERFLOW) return 0;
        if (v > error * S) error = v / S;
    }
    s->error = error;
    return 1;
}

static inline PERP_INLINE int is_shown(perp_lcp_solver *s, const perp_lcp *lcp)
{
    return is_plain(s, lcp) || rows_hold(s, lcp);
}

int perp__lcp_is_shown(perp_lcp_solver *s, const perp_lcp *lcp)
{
    return is_shown(s, lcp);
}

/* x := inv(M_bb) q_b for the nb rows of lu.rows. The pivots lie on the diagonal, so that powers of
 * two in the units change no digit. If nothing but rounding is left of a pivot, x is 0. */
static void solve_in_order(perp_lcp_solver *s, const perp_lcp *lcp, int nb, double *restrict x)
{
    size_t ld = (size_t)nb;
    double *restrict A = s->lu.values;
    for (int k = 0; k < nb; k++) x[k] = lcp->q[s->lu.rows[k]];
    for (int k = 0; k < nb; k++) {
        const double *pivots = A + (size_t)k * ld;
        double whole = fabs(perp__column(lcp, s->lu.rows[k])[s->lu.rows[k]]);
        double inverse = fabs(pivots[k]) > PERP_TOL_RANK * whole ? 1 / pivots[k] : 0;
        for (int j = k + 1; j <= nb; j++) {
            double *restrict column = j < nb ? A + (size_t)j * ld : x, f = column[k] * inverse;
            column[k] = f;
            for (int i = k + 1; i < nb && f != 0; i++) column[i] -= f * pivots[i];
        }
    }
    for (int k = nb - 1; k >= 0; k--) {
        for (int j = k + 1; j < nb; j++) x[k] -= A[(size_t)k + (size_t)j * ld] * x[j];
    }
}

/* For a point that is no answer (w and the terms are known): is it one with its active set, by
 * plain sums and one direct solve? Rows where w excludes z_i = 0 are active too. If not, the point
 * is unchanged. */
static int is_shown_on_basis(perp_lcp_solver *s, const perp_lcp *lcp)
{
    size_t bytes = (size_t)lcp->n * sizeof *s->z;
    perp__lcp_basis_of_point(s, lcp);
    for (int i = 0; i < lcp->n; i++)
        s->basis[i] |= s->z[i] == 0 && -s->w[i] > s->options.tol * s->terms[i];
    int nb = perp__lcp_gather_basis(s, lcp);
    solve_in_order(s, lcp, nb, s->scratch);
    memcpy(s->z2, s->z, bytes);
    memset(s->z, 0, bytes);
    for (int k = 0; k < nb; k++) s->z[s->lu.rows[k]] = s->scratch[k] < 0 ? -s->scratch[k] : 0;
    s->has_basis = is_shown(s, lcp);
    if (s->has_basis) return 1;
    memcpy(s->z, s->z2, bytes);
    is_plain(s, lcp);
    return 0;
}

/* By plain sums and what the data of other rows give, without bounds; what takes longest comes
 * last. */
static int holds_by_others(perp_lcp_solver *s, const perp_lcp *lcp)
{
    for (int i = 0; i < lcp->n; i++) {
        if (!(s->terms[i] <= DBL_MAX)) return 0;
    }
    find_data(s, lcp, s->z);
    if (drop_noise(s, lcp, s->data) && perp__lcp_is_shown(s, lcp)) return 1;
    if (hold_by_levels(s, lcp)) return 1;
    find_all_data(s, lcp, s->z);
    if (drop_noise(s, lcp, s->data) && perp__lcp_is_shown(s, lcp)) return 1;
    return holds_by_data(s, lcp) && keeps_data_of(s, lcp);
}

/* A point that is refused though its residual is a small part of its terms: the largest residual
 * relative to a row's own data. */
static double error_of_data(const perp_lcp_solver *s, const perp_lcp *lcp)
{
    double error = 0;
    for (int i = 0; i < lcp->n; i++) {
        double v = violation(lcp, i, s->z[i], s->w[i]);
        if (v > error * fabs(lcp->q[i])) error = v / fabs(lcp->q[i]);
    }
    return error > s->options.tol ? error : (double)INFINITY;
}

int perp__lcp_verify(perp_lcp_solver *s, const perp_lcp *lcp, int is_guess)
{
    if (!lcp->lo && !lcp->hi) {
        if (is_shown(s, lcp) || (drop_noise(s, lcp, NULL) && perp__lcp_is_shown(s, lcp))) return 1;
        int is_off = !s->has_basis && s->error > s->options.tol;
        if (is_off && is_shown_on_basis(s, lcp)) return 1;
        if (is_off && is_guess) return 0;
        if (holds_by_others(s, lcp)) return 1;
    }
    for (int i = 0; i < lcp->n; i++) s->z[i] = perp__clamp(lcp, i, isfinite(s->z[i]) ? s->z[i] : 0);
    perp__lcp_terms(s, lcp);
    s->residual = residual_of(lcp, s->z, s->w);
    if ((lcp->lo || lcp->hi) && hold_in_bounds(s, lcp)) return 1;
    find_all_data(s, lcp, s->z);
    if ((holds_by_data(s, lcp) && keeps_data_of(s, lcp)) || settle(s, lcp)) return 1;
    if (s->error <= s->options.tol) s->error = error_of_data(s, lcp);
    return 0;
}
