/* The generators of draw_fc.h. */

#include "draw_fc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *draw_fc_class_name(draw_fc_class c)
{
    static const char *const names[] = {
#define DRAW_FC_NAME(name, text) #name,
        DRAW_FC_CLASSES(DRAW_FC_NAME)
#undef DRAW_FC_NAME
    };
    return names[c];
}

static double *at(drawn_fc *p, int i, int j)
{
    return &p->W[i + j * FC_ROWS];
}

static void start(drawn_fc *p, int d, int nc)
{
    memset(p, 0, sizeof *p);
    p->fc = (perp_fc){.dimension = d, .nc = nc, .q = p->q, .mu = p->mu, .W = p->W, .ldw = FC_ROWS};
    p->solvable = -1;
    p->wide_margin = 1;
}

static void draw_mu(draws *d, drawn_fc *p)
{
    static const double values[] = {0, 0.25, 0.5, 0.75, 1, 2};
    for (int c = 0; c < p->fc.nc; c++) p->mu[c] = values[draw_int(d, 0, 5)];
}

static void draw_q(draws *d, drawn_fc *p, int size)
{
    for (int i = 0; i < p->fc.dimension * p->fc.nc; i++)
        p->q[i] = draw_int(d, 0, 4) ? draw_int(d, -size, size) : 0;
}

/* W = J J' with J of `rank` columns of small integers; `add` on the diagonal. */
static void gram(draws *d, drawn_fc *p, int rank, int add)
{
    int n = p->fc.dimension * p->fc.nc, J[FC_ROWS][FC_ROWS];
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < rank; k++) J[i][k] = draw_int(d, -2, 2);
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            *at(p, i, j) = i == j ? add : 0;
            for (int k = 0; k < rank; k++) *at(p, i, j) += J[i][k] * J[j][k];
        }
    }
}

static int draw_rank(draws *d, const drawn_fc *p)
{
    int n = p->fc.dimension * p->fc.nc;
    return draw_int(d, 1, draw_int(d, 0, 1) ? n : (n + 1) / 2);
}

static void draw_sizes(draws *d, drawn_fc *p)
{
    start(p, draw_int(d, 2, 3), draw_int(d, 0, 2) ? draw_int(d, 1, 2) : draw_int(d, 1, FC_MAX - 1));
}

static void fc_findings(draws *d, drawn_fc *p)
{
    static const struct {
        int dimension;
        double W[9], q[3], mu;
    } list[] = {
        {3, {1}, {1}, 0},
        {3, {1}, {1}, 0.5},
        {3, {1}, {-1}, 0.5},
        {2, {1}, {1}, 0},
        {2, {1}, {-1}, 0.5},
        {3, {1, 0, 0, 0, 1, 0, 0, 0, 1}, {1}, 0},
        {3, {2, 0, 0, 0, 1, 0, 0, 0, 1}, {1, 1, 0}, 0},
        {2, {2, 0, 0, 1}, {1, 0}, 0},
        {2, {0}, {-1, 0}, 0.5},
        {3, {0}, {-1, 1, 0}, 0.5},
        {3, {0}, {0, 1, 0}, 0.5},
    };
    int k = draw_int(d, 0, (int)(sizeof list / sizeof *list) - 1), m = list[k].dimension;
    start(p, m, 1);
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) *at(p, i, j) = list[k].W[i * m + j];
        p->q[i] = list[k].q[i];
    }
    p->mu[0] = list[k].mu;
    p->solvable = list[k].W[0] > 0 || list[k].q[0] >= 0;
}

static void fc_gram(draws *d, drawn_fc *p)
{
    draw_sizes(d, p);
    gram(d, p, draw_rank(d, p), 0);
    draw_mu(d, p);
    draw_q(d, p, draw_int(d, 1, 9));
}

static void fc_apart(draws *d, drawn_fc *p)
{
    fc_gram(d, p);
    for (int c = 0; c < p->fc.nc; c++) p->q[c * p->fc.dimension] = draw_int(d, 0, 2);
    p->solvable = 1;
}

static void fc_frictionless(draws *d, drawn_fc *p)
{
    fc_gram(d, p);
    int n = p->fc.dimension * p->fc.nc;
    for (int i = 0; i < n && draw_int(d, 0, 1); i++) {
        for (int j = 0; j < n; j++) *at(p, i, j) = draw_int(d, -3, 3);
    }
    memset(p->mu, 0, sizeof p->mu);
}

/* W_cc = 0 and nothing of W moves contact c: u_c = q_c whatever r is. */
static void fc_immobile(draws *d, drawn_fc *p)
{
    fc_gram(d, p);
    int m = p->fc.dimension, n = m * p->fc.nc, c = draw_int(d, 0, p->fc.nc - 1),
        all = draw_int(d, 0, 1);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            if (all || i / m == c || j / m == c) *at(p, i, j) = 0;
        }
    }
    for (int k = 0; k < p->fc.nc; k++) {
        if ((all || k == c) && p->q[k * m] < 0) p->solvable = 0;
    }
}

static void fc_plane(draws *d, drawn_fc *p)
{
    start(p, 2, draw_int(d, 1, 2));
    int n = 2 * p->fc.nc, kind = draw_int(d, 0, 2);
    gram(d, p, draw_rank(d, p), 0);
    for (int i = 0; i < n; i++) { /* 1: skew added, 2: any matrix */
        for (int j = 0; j < n; j++) {
            if (kind == 2) *at(p, i, j) = draw_int(d, -3, 3);
            if (kind == 1 && j < i) {
                int s = draw_int(d, -2, 2);
                *at(p, i, j) += s, *at(p, j, i) -= s;
            }
        }
    }
    draw_mu(d, p);
    draw_q(d, p, draw_int(d, 1, 9));
}

/* Choose r and u of every contact on or near the boundary, then q = u - W r. The triangle 3, 4, 5 keeps all exact. */
static void fc_boundary(draws *d, drawn_fc *p)
{
    draw_sizes(d, p);
    int m = p->fc.dimension, n = m * p->fc.nc;
    double r[FC_ROWS] = {0}, u[FC_ROWS] = {0};
    gram(d, p, draw_rank(d, p), draw_int(d, 0, 1));
    draw_mu(d, p);
    for (int c = 0; c < p->fc.nc; c++) {
        double *rc = r + m * c, *uc = u + m * c, x = m == 3 ? 3 : 5,
               sign = draw_int(d, 0, 1) ? 1 : -1,
               size = draw_int(d, 0, 3) ? 1 : ldexp(1, draw_int(d, -20, 20));
        int kind = draw_int(d, 0, 5);
        if (kind == 0) { /* apart, sliding over nothing */
            uc[0] = draw_int(d, 0, 2);
            for (int a = 1; a < m; a++) uc[a] = draw_int(d, -2, 2);
        }
        if (kind <= 1) continue; /* 1: the apex, r = u = 0 */
        rc[0] = 5 * size;
        if (kind == 2) continue; /* on the axis */
        rc[1] = size * p->mu[c] * sign * (kind == 3 ? 1 : x);
        if (kind == 3) continue; /* sticks inside */
        if (m == 3) rc[2] = 4 * size * p->mu[c];
        if (kind == 4) continue; /* sticks on the surface */
        uc[1] = -sign * x * size;
        if (m == 3) uc[2] = -4 * size;
    }
    for (int i = 0; i < n; i++) {
        p->q[i] = u[i];
        for (int j = 0; j < n; j++) p->q[i] -= *at(p, i, j) * r[j];
    }
    p->solvable = 1;
}

static void fc_bodies(draws *d, drawn_fc *p)
{
    draw_sizes(d, p);
    int n = p->fc.dimension * p->fc.nc, nv = draw_int(d, 1, 6);
    double J[FC_ROWS][6], mass[6], speed[6];
    for (int k = 0; k < nv; k++) {
        mass[k] = pow(10, draw_uniform(d, -2, 2));
        speed[k] = draw_uniform(d, -1, 1);
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < nv; k++) {
            J[i][k] = draw_uniform(d, -1, 1);
            p->q[i] += J[i][k] * speed[k];
        }
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < nv; k++) *at(p, i, j) += J[i][k] * J[j][k] / mass[k];
        }
    }
    for (int c = 0; c < p->fc.nc; c++) p->mu[c] = draw_int(d, 0, 3) ? draw_uniform(d, 0, 1) : 0;
    p->wide_margin = 0;
}

static void fc_steep(draws *d, drawn_fc *p)
{
    static const double values[] = {1e3, 1e6, 1e8, 1e10, 1e12};
    if (draw_int(d, 0, 1))
        fc_gram(d, p);
    else
        fc_bodies(d, p);
    for (int c = 0; c < p->fc.nc; c++) p->mu[c] = values[draw_int(d, 0, 4)];
    p->wide_margin = 0;
}

static void any_plain(draws *d, drawn_fc *p)
{
    static void (*const kinds[])(draws *, drawn_fc *) = {
        fc_apart, fc_frictionless, fc_immobile, fc_plane, fc_gram, fc_boundary, fc_bodies};
    kinds[draw_int(d, 0, (int)(sizeof kinds / sizeof *kinds) - 1)](d, p);
}

/* Velocities of contact c times velocity[c], forces divided by force[c]. */
static void scale(drawn_fc *p, const double *velocity, const double *force)
{
    int m = p->fc.dimension, n = m * p->fc.nc;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) *at(p, i, j) *= velocity[i / m] * force[j / m];
        p->q[i] *= velocity[i / m];
    }
}

static void fc_binary_scaled(draws *d, drawn_fc *p)
{
    double velocity[FC_MAX], force[FC_MAX];
    any_plain(d, p);
    for (int c = 0; c < p->fc.nc; c++) {
        velocity[c] = ldexp(1, draw_int(d, -30, 30));
        force[c] = ldexp(1, draw_int(d, -30, 30));
    }
    scale(p, velocity, force);
}

static void fc_decimal_scaled(draws *d, drawn_fc *p)
{
    double velocity[FC_MAX], force[FC_MAX];
    any_plain(d, p);
    for (int c = 0; c < p->fc.nc; c++) {
        velocity[c] = pow(10, draw_int(d, -9, 9));
        force[c] = pow(10, draw_int(d, -9, 9));
    }
    scale(p, velocity, force);
    p->wide_margin = 0;
}

static void fc_beside(draws *d, drawn_fc *p)
{
    do any_plain(d, p);
    while (p->fc.nc == FC_MAX);
    int m = p->fc.dimension, c = p->fc.nc++;
    double w = draw_int(d, 0, 1) ? 1 : pow(10, draw_int(d, -3, 6)),
           size = pow(10, draw_int(d, 3, 14));
    for (int a = 0; a < m; a++) {
        *at(p, m * c + a, m * c + a) = w;
        p->q[m * c + a] = draw_int(d, -3, 3) * size;
    }
    p->mu[c] = draw_int(d, 0, 1) * 0.5;
}

static void fc_tiny(draws *d, drawn_fc *p)
{
    static const int powers[] = {-9, -12, -16, -20, -30, -100, -150, -200, -290};
    double velocity[FC_MAX], force[FC_MAX];
    any_plain(d, p);
    int k = draw_int(d, 0, 8), matrix = draw_int(d, 0, 1);
    for (int c = 0; c < p->fc.nc; c++) {
        velocity[c] = pow(10, powers[k]);
        force[c] = matrix ? 1 : pow(10, -powers[k]);
    }
    scale(p, velocity, force);
    p->wide_margin = 0;
}

void draw_fc(draw_fc_class c, uint64_t seed, unsigned long index, drawn_fc *out)
{
    static void (*const generators[])(draws *, drawn_fc *) = {
#define DRAW_FC_FUNCTION(name, text) name,
        DRAW_FC_CLASSES(DRAW_FC_FUNCTION)
#undef DRAW_FC_FUNCTION
    };
    draws d = draws_of(seed, 100 + (unsigned)c, index);
    generators[c](&d, out);
}

const char *draw_fc_json(const perp_fc *fc, char *text)
{
    int n = fc->dimension * fc->nc;
    int used = draw_print(text, DRAW_FC_JSON, 0,
                          "{\"kind\":\"fc\",\"dimension\":%d,\"contacts\":%d,\"W\":", fc->dimension,
                          fc->nc);
    used = draw_print_rows(text, DRAW_FC_JSON, used, fc->W, n, fc->ldw);
    used = draw_print(text, DRAW_FC_JSON, used, ",\"q\":");
    used = draw_print_list(text, DRAW_FC_JSON, used, fc->q, n, 1);
    used = draw_print(text, DRAW_FC_JSON, used, ",\"mu\":");
    used = draw_print_list(text, DRAW_FC_JSON, used, fc->mu, fc->nc, 1);
    draw_print(text, DRAW_FC_JSON, used, "}");
    return text;
}
