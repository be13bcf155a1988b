/* The generators of draw_lcp.h. */

#include "draw_lcp.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static uint64_t mix(uint64_t x) /* splitmix64 (Steele, Lea & Flood 2014) */
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

draws draws_of(uint64_t seed, unsigned stream, unsigned long index)
{
    return (draws){mix(mix(seed) ^ mix((uint64_t)stream << 40 ^ index)), 0};
}

static uint64_t next(draws *d)
{
    return mix(d->key ^ mix(d->counter++));
}

int draw_int(draws *d, int lo, int hi)
{
    return lo + (int)(next(d) % (uint64_t)((int64_t)hi - lo + 1));
}

double draw_uniform(draws *d, double lo, double hi)
{
    return lo + (hi - lo) * (double)(next(d) >> 11) / 9007199254740992.0;
}

const char *draw_class_name(draw_class c)
{
    static const char *const names[] = {
#define DRAW_NAME(name, text) #name,
        DRAW_LCP_CLASSES(DRAW_NAME)
#undef DRAW_NAME
    };
    return names[c];
}

static double *at(drawn_lcp *p, int i, int j)
{
    return &p->M[i + j * DRAW_MAX];
}

/* Mostly small sizes: elimination by hand is where words go wrong, and the oracle's cost grows as 2^n. */
static int draw_size(draws *d, int most)
{
    int n = draw_int(d, 1, 4);
    if (draw_int(d, 0, 4) == 0) n = draw_int(d, 4, 6);
    if (draw_int(d, 0, 59) == 0) n = 8;
    return n < most ? n : most;
}

static void start(drawn_lcp *p, int n)
{
    memset(p, 0, sizeof *p);
    p->lcp = (perp_lcp){.n = n, .M = p->M, .ldm = DRAW_MAX, .q = p->q};
    p->wide_margin = 1;
}

static void draw_q(draws *d, drawn_lcp *p, int size)
{
    for (int i = 0; i < p->lcp.n; i++) p->q[i] = draw_int(d, -size, size);
}

/* Fixed problems: each has been answered wrongly. */
static void findings(draws *d, drawn_lcp *p)
{
    static const struct {
        int n;
        double M[9], q[3]; /* by rows */
    } list[] = {
        {2, {2, -2, -2, 2}, {0, -2}},
        {2, {1, -1, -1, 1}, {0, -1}},
        {2, {1, -1, -1, 1}, {-1, 0}},
        {2, {1, -1, -1, 1}, {-1, -1}},
        {2, {1, -1, -1, 1}, {-1, 0.5}},
        {3, {1, 0, 0, 0, 2, 1, 0, 1, 2}, {1e13, -1, -1}},
        {2, {1, 0, 0, 0}, {-1e12, -1}},
        {1, {-1e11}, {-3e5}},
        {1, {0}, {-1e-11}},
        {2, {1e-8, 0, 0, 1e8}, {-1, -1}},
        {2, {1e-6, 0, 0, 1e7}, {-1, -1}},
        {2, {1e-13, 0, 0, 1}, {-1, -1}},
        {1, {1e-13}, {-1}},
        {2, {2e-8, 1, 1, 2e8}, {-1e-4, -1e4}},
        {2, {2e-12, 1, 1, 2e12}, {-1e-6, -1e6}},
        {1, {-1}, {1}},
        {1, {0}, {0}},
        {2, {0, 0, 0, 0}, {0, 0}},
    };
    int k = draw_int(d, 0, (int)(sizeof list / sizeof *list) - 1), n = list[k].n;
    start(p, n);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) *at(p, i, j) = list[k].M[i * n + j];
        p->q[i] = list[k].q[i];
    }
}

static void integer(draws *d, drawn_lcp *p)
{
    int size = draw_int(d, 1, 9);
    start(p, draw_size(d, DRAW_MAX));
    for (int i = 0; i < p->lcp.n; i++) {
        for (int j = 0; j < p->lcp.n; j++) *at(p, i, j) = draw_int(d, -size, size);
    }
    draw_q(d, p, size);
}

static void zeros(draws *d, drawn_lcp *p)
{
    integer(d, p);
    int keep = draw_int(d, 20, 60);
    for (int i = 0; i < p->lcp.n; i++) {
        for (int j = 0; j < p->lcp.n; j++) {
            if (draw_int(d, 0, 99) >= keep) *at(p, i, j) = 0;
        }
        if (draw_int(d, 0, 2) == 0) p->q[i] = draw_int(d, -1, 0);
    }
    if (draw_int(d, 0, 3) == 0) { /* an empty row */
        int i = draw_int(d, 0, p->lcp.n - 1);
        for (int j = 0; j < p->lcp.n; j++) *at(p, i, j) = 0;
    }
}

static void large_integer(draws *d, drawn_lcp *p)
{
    int size = draw_int(d, 1000, 1000000000);
    start(p, draw_size(d, 4));
    for (int i = 0; i < p->lcp.n; i++) {
        for (int j = 0; j < p->lcp.n; j++) *at(p, i, j) = draw_int(d, -size, size);
        p->q[i] = draw_int(d, -size, size);
    }
    p->wide_margin = 0;
}

/* M = A'A, A'(skew + positive semidefinite)A of rank below n, integers. */
static void product(draws *d, drawn_lcp *p, int skew)
{
    int n = draw_size(d, DRAW_MAX), rank = draw_int(d, n > 1 ? 1 : 0, n > 1 ? n - 1 : 1),
        A[DRAW_MAX][DRAW_MAX], B[DRAW_MAX][DRAW_MAX] = {{0}};
    start(p, n);
    for (int i = 0; i < rank; i++) {
        B[i][i] = skew ? draw_int(d, 0, 2) : 1;
        for (int j = 0; j < i && skew; j++) {
            B[i][j] = draw_int(d, -2, 2);
            B[j][i] = -B[i][j];
        }
        for (int j = 0; j < n; j++) A[i][j] = draw_int(d, -3, 3);
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < rank; k++) {
                for (int l = 0; l < rank; l++) *at(p, i, j) += A[k][i] * B[k][l] * A[l][j];
            }
        }
    }
    draw_q(d, p, draw_int(d, 1, 9));
    if (draw_int(d, 0, 1)) return;
    /* the right side in the range of M, moved by 0 or by little: on the edge between solvable and not */
    for (int i = 0; i < n; i++) p->q[i] = draw_int(d, 0, 3) == 0 ? draw_int(d, -1, 1) : 0;
    for (int j = 0; j < n; j++) {
        int z = draw_int(d, 0, 3);
        for (int i = 0; i < n; i++) p->q[i] -= *at(p, i, j) * z;
    }
}

static void gram(draws *d, drawn_lcp *p)
{
    product(d, p, 0);
}

static void gram_skew(draws *d, drawn_lcp *p)
{
    product(d, p, 1);
}

static void copositive(draws *d, drawn_lcp *p)
{
    product(d, p, draw_int(d, 0, 1));
    for (int i = 0; i < p->lcp.n; i++) {
        for (int j = 0; j < p->lcp.n; j++)
            *at(p, i, j) += draw_int(d, 0, 3) == 0 ? draw_int(d, 0, 3) : 0;
    }
}

static void skew(draws *d, drawn_lcp *p)
{
    integer(d, p);
    for (int i = 0; i < p->lcp.n; i++) {
        for (int j = 0; j < i; j++) *at(p, j, i) = -*at(p, i, j);
        *at(p, i, i) = 0;
    }
}

static void repeated(draws *d, drawn_lcp *p)
{
    integer(d, p);
    int n = p->lcp.n, from = draw_int(d, 0, n - 1), to = draw_int(d, 0, n - 1),
        factor = draw_int(d, -2, 2), what = draw_int(d, 0, 2);
    for (int k = 0; k < n; k++) {
        if (what != 1) *at(p, to, k) = factor * *at(p, from, k);
        if (what != 0) *at(p, k, to) = factor * *at(p, k, from);
    }
    if (draw_int(d, 0, 1)) p->q[to] = factor * p->q[from] - draw_int(d, 0, 1);
}

static void infeasible(draws *d, drawn_lcp *p)
{
    integer(d, p);
    int n = p->lcp.n, k = draw_int(d, 0, n - 1), u[DRAW_MAX];
    double q = draw_int(d, 1, 5);
    for (int i = 0; i < n; i++) u[i] = i == k ? 1 : draw_int(d, 0, 2);
    for (int i = 0; i < n; i++) q += i == k ? 0 : u[i] * p->q[i];
    p->q[k] = -q;
    int tight = draw_int(d, 0, 1); /* M'u = 0: solutions of M z + q = 0 at infinity */
    for (int j = 0; j < n; j++) {
        double sum = tight ? 0 : draw_int(d, 0, 2);
        for (int i = 0; i < n; i++) sum += i == k ? 0 : u[i] * *at(p, i, j);
        *at(p, k, j) = -sum;
    }
}

static void any_plain(draws *d, drawn_lcp *p)
{
    static void (*const kinds[])(draws *, drawn_lcp *) = {integer,    zeros, gram,     gram_skew,
                                                          copositive, skew,  repeated, infeasible};
    kinds[draw_int(d, 0, (int)(sizeof kinds / sizeof *kinds) - 1)](d, p);
}

/* Row i (q too) times row[i], column j times column[j]. */
static void scale(drawn_lcp *p, const double *row, const double *column)
{
    for (int i = 0; i < p->lcp.n; i++) {
        for (int j = 0; j < p->lcp.n; j++) *at(p, i, j) *= row[i] * column[j];
        p->q[i] *= row[i];
    }
}

static void binary_scaled(draws *d, drawn_lcp *p)
{
    double row[DRAW_MAX], column[DRAW_MAX];
    any_plain(d, p);
    for (int i = 0; i < p->lcp.n; i++) {
        row[i] = ldexp(1, draw_int(d, -40, 40));
        column[i] = ldexp(1, draw_int(d, -40, 40));
    }
    scale(p, row, column);
}

static void decimal_scaled(draws *d, drawn_lcp *p)
{
    double row[DRAW_MAX], column[DRAW_MAX];
    any_plain(d, p);
    for (int i = 0; i < p->lcp.n; i++) {
        row[i] = pow(10, draw_int(d, -12, 12));
        column[i] = pow(10, draw_int(d, -12, 12));
    }
    scale(p, row, column);
    p->wide_margin = 0; /* rounding may move a solution out of reach */
}

/* One more pair of 1e3 .. 1e15, of any sign, with or without a solution of its own. */
static int add_large(draws *d, drawn_lcp *p)
{
    int n = p->lcp.n < DRAW_MAX ? p->lcp.n++ : DRAW_MAX - 1;
    for (int k = 0; k < p->lcp.n; k++) *at(p, k, n) = *at(p, n, k) = 0;
    *at(p, n, n) = draw_int(d, 0, 2) ? 1 : pow(10, draw_int(d, -3, 9));
    p->q[n] = (draw_int(d, 0, 1) ? 1 : -1) * draw_int(d, 1, 9) * pow(10, draw_int(d, 3, 15));
    return n;
}

static void beside(draws *d, drawn_lcp *p)
{
    any_plain(d, p);
    add_large(d, p);
}

static void beside_weak(draws *d, drawn_lcp *p)
{
    any_plain(d, p);
    int n = add_large(d, p), k = draw_int(d, 0, n > 0 ? n - 1 : 0);
    if (k != n) *at(p, k, n) = draw_int(d, -1, 1) * ldexp(1, draw_int(d, -60, 0));
    if (k != n && draw_int(d, 0, 1)) *at(p, n, k) = draw_int(d, -1, 1);
    p->wide_margin = 0;
}

static void tiny(draws *d, drawn_lcp *p)
{
    static const int powers[] = {-9, -11, -12, -13, -16, -20, -30, -100, -150, -200, -290};
    double row[DRAW_MAX], column[DRAW_MAX];
    any_plain(d, p);
    int k = draw_int(d, 0, (int)(sizeof powers / sizeof *powers) - 1), matrix = draw_int(d, 0, 1);
    for (int i = 0; i < p->lcp.n; i++) {
        row[i] = pow(10, powers[k]);
        column[i] = matrix ? 1 : pow(10, -powers[k]); /* 0: only q is small */
    }
    scale(p, row, column);
    p->wide_margin = 0;
}

static void scaled_p(draws *d, drawn_lcp *p)
{
    int n = draw_size(d, 6), range = draw_int(d, 1, 8);
    double row[DRAW_MAX], column[DRAW_MAX];
    start(p, n);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            int a = draw_int(d, -2, 2), b = draw_int(d, 0, 1) ? a : draw_int(d, -2, 2);
            *at(p, i, j) = a, *at(p, j, i) = b;
        }
    }
    for (int i = 0; i < n; i++) { /* strictly dominant by rows: a P-matrix */
        double sum = draw_int(d, 1, 3);
        for (int j = 0; j < n; j++) sum += j == i ? 0 : fabs(*at(p, i, j));
        *at(p, i, i) = sum;
        int k = draw_int(d, -range, range);
        row[i] = pow(10, k);
        column[i] = draw_int(d, 0, 1) ? row[i] : pow(10, draw_int(d, -range, range));
    }
    draw_q(d, p, 9);
    scale(p, row, column);
    for (int i = 0; i < n; i++) p->q[i] = draw_int(d, 0, 1) ? p->q[i] : draw_int(d, -3, 3);
    p->wide_margin = 0;
}

static void huge(draws *d, drawn_lcp *p)
{
    static const int powers[] = {-300, -200, -160, -100, 0, 100, 150, 200, 290};
    double row[DRAW_MAX], column[DRAW_MAX];
    any_plain(d, p);
    for (int i = 0; i < p->lcp.n; i++) {
        row[i] = pow(10, powers[draw_int(d, 0, 8)]);
        column[i] = draw_int(d, 0, 2) ? 1 : 1e-5;
        if (row[i] > 1) p->q[i] *= draw_int(d, 0, 1) ? 1 : 1e-200;
    }
    scale(p, row, column);
    p->wide_margin = 0;
}

static void boxes(draws *d, drawn_lcp *p)
{
    do any_plain(d, p);
    while (p->lcp.n > 4);
    p->lcp.lo = p->lo, p->lcp.hi = p->hi;
    for (int i = 0; i < p->lcp.n; i++) {
        int kind = draw_int(d, 0, 5);
        p->lo[i] = kind == 1 || kind == 2 ? (double)-INFINITY
                   : kind == 0            ? 0.0
                                          : (double)draw_int(d, -3, 3);
        p->hi[i] = kind == 1 || kind == 0 || kind == 3 ? (double)INFINITY
                   : kind == 2                         ? (double)draw_int(d, -3, 3)
                                                       : p->lo[i] + draw_int(d, 0, 4);
    }
}

static void boxes_beside(draws *d, drawn_lcp *p)
{
    boxes(d, p);
    int n = add_large(d, p);
    p->lo[n] = 0;
    p->hi[n] = draw_int(d, 0, 1) ? (double)INFINITY : 1000.0;
}

void draw_lcp(draw_class c, uint64_t seed, unsigned long index, drawn_lcp *out)
{
    static void (*const generators[])(draws *, drawn_lcp *) = {
#define DRAW_FUNCTION(name, text) name,
        DRAW_LCP_CLASSES(DRAW_FUNCTION)
#undef DRAW_FUNCTION
    };
    draws d = draws_of(seed, (unsigned)c, index);
    generators[c](&d, out);
}

int draw_print(char *text, int size, int used, const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    used += vsnprintf(text + used, (size_t)(size - used), format, rest);
    va_end(rest);
    return used;
}

int draw_print_list(char *text, int size, int used, const double *x, int n, int step)
{
    for (int i = 0; i < n; i++) {
        used = draw_print(text, size, used, i ? "," : "[");
        used = isfinite(x[i * step]) ? draw_print(text, size, used, "%.17g", x[i * step])
                                     : draw_print(text, size, used, "null");
    }
    return draw_print(text, size, used, "]");
}

int draw_print_rows(char *text, int size, int used, const double *A, int n, int ld)
{
    for (int i = 0; i < n; i++) {
        used = draw_print(text, size, used, i ? "," : "[");
        used = draw_print_list(text, size, used, A + i, n, ld);
    }
    return draw_print(text, size, used, "]");
}

const char *draw_json(const perp_lcp *lcp, char *text)
{
    int used = draw_print(text, DRAW_JSON, 0, "{\"kind\":\"lcp\",\"M\":");
    used = draw_print_rows(text, DRAW_JSON, used, lcp->M, lcp->n, lcp->ldm);
    used = draw_print(text, DRAW_JSON, used, ",\"q\":");
    used = draw_print_list(text, DRAW_JSON, used, lcp->q, lcp->n, 1);
    if (lcp->lo) {
        used = draw_print(text, DRAW_JSON, used, ",\"lower\":");
        used = draw_print_list(text, DRAW_JSON, used, lcp->lo, lcp->n, 1);
        used = draw_print(text, DRAW_JSON, used, ",\"upper\":");
        used = draw_print_list(text, DRAW_JSON, used, lcp->hi, lcp->n, 1);
    }
    draw_print(text, DRAW_JSON, used, "}");
    return text;
}
