#include "structures.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void structure_free(structure *s)
{
    const void *const all[] = {s->problem.mu,      s->problem.f,     s->problem.w,
                               s->problem.M.start, s->problem.M.row, s->problem.M.value,
                               s->problem.H.start, s->problem.H.row, s->problem.H.value};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        union { /* what the problem only reads is ours */
            const void *from;
            void *to;
        } p = {all[k]};
        free(p.to);
    }
    *s = (structure){0};
}

/* Arrays of a problem, before they are const. */
typedef struct arrays {
    int *m_start, *m_row, *h_start, *h_row;
    double *m_value, *h_value, *f, *w, *mu;
} arrays;

static int take(arrays *a, size_t nv, size_t nm, size_t nc, size_t nh)
{
    a->m_start = calloc(nv + 1, sizeof(int)), a->m_row = calloc(nm + 1, sizeof(int));
    a->h_start = calloc(3 * nc + 1, sizeof(int)), a->h_row = calloc(nh + 1, sizeof(int));
    a->m_value = calloc(nm + 1, sizeof(double)), a->h_value = calloc(nh + 1, sizeof(double));
    a->f = calloc(nv + 1, sizeof(double)), a->w = calloc(3 * nc + 1, sizeof(double));
    a->mu = calloc(nc + 1, sizeof(double));
    return a->m_start && a->m_row && a->h_start && a->h_row && a->m_value && a->h_value && a->f &&
           a->w && a->mu;
}

static void give(const arrays *a, int nv, int nc, const char *title, structure *out)
{
    out->problem = (perp_fclib_problem){.dimension = 3,
                                        .nc = nc,
                                        .mu = a->mu,
                                        .M = {nv, nv, a->m_start, a->m_row, a->m_value},
                                        .H = {nv, 3 * nc, a->h_start, a->h_row, a->h_value},
                                        .f = a->f,
                                        .w = a->w,
                                        .title = title};
}

/* Elastic block --------------------------------------------------------------------------------- */

/* Corner c of an element, 0 or 1 along axis a. */
static int corner(int c, int a)
{
    return c >> a & 1;
}

/* Stiffness of a trilinear element with sides h, by 2 x 2 x 2 points: K[8 x 3][8 x 3]. */
static void stiffness(double E, double nu, const double h[3], double K[24][24])
{
    const double lambda = E * nu / ((1 + nu) * (1 - 2 * nu)), G = E / (2 * (1 + nu)),
                 volume = h[0] * h[1] * h[2] / 8;
    memset(K, 0, 24 * sizeof *K);
    for (int g = 0; g < 8; g++) {
        double grad[8][3], x[3];
        for (int a = 0; a < 3; a++) x[a] = 0.5 + (corner(g, a) - 0.5) / sqrt(3);
        for (int c = 0; c < 8; c++)
            for (int a = 0; a < 3; a++) {
                grad[c][a] = (corner(c, a) ? 1 : -1) / h[a];
                for (int b = 0; b < 3; b++)
                    if (b != a) grad[c][a] *= corner(c, b) ? x[b] : 1 - x[b];
            }
        for (int c = 0; c < 8; c++)
            for (int e = 0; e < 8; e++) {
                double dot =
                    grad[c][0] * grad[e][0] + grad[c][1] * grad[e][1] + grad[c][2] * grad[e][2];
                for (int a = 0; a < 3; a++)
                    for (int b = 0; b < 3; b++)
                        K[3 * c + a][3 * e + b] +=
                            volume * (lambda * grad[c][a] * grad[e][b] +
                                      G * (grad[c][b] * grad[e][a] + (a == b ? dot : 0)));
            }
    }
}

typedef struct mesh {
    int n[3], nodes; /* elements; nodes that are free, those of the upper side not among them */
    double h[3], move[3];
    double *block; /* nodes x 27 x 9: by what the neighbour is beyond */
    double *f;
} mesh;

static int node(const mesh *m, int i, int j, int k)
{
    return (k * (m->n[1] + 1) + j) * (m->n[0] + 1) + i;
}

static void add_element(mesh *m, int i, int j, int k, double K[24][24])
{
    for (int c = 0; c < 8; c++) {
        int row = node(m, i + corner(c, 0), j + corner(c, 1), k + corner(c, 2));
        if (row >= m->nodes) continue;
        for (int e = 0; e < 8; e++) {
            int beyond[3], is_moved = k + corner(e, 2) == m->n[2];
            for (int a = 0; a < 3; a++) beyond[a] = 1 + corner(e, a) - corner(c, a);
            double *to = m->block + 9 * (27 * (size_t)row +
                                         (size_t)((beyond[2] * 3 + beyond[1]) * 3 + beyond[0]));
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++) {
                    double x = K[3 * c + a][3 * e + b];
                    if (is_moved)
                        m->f[3 * row + a] -= x * m->move[b];
                    else
                        to[3 * a + b] += x;
                }
        }
    }
}

/* Columns of M; it is symmetric: rows are columns. */
static void fill_stiffness(const mesh *m, arrays *to)
{
    int at = 0, n0 = m->n[0] + 1, n1 = m->n[1] + 1;
    for (int j = 0; j < 3 * m->nodes; j++) {
        int from = j / 3, i[3] = {from % n0, from / n0 % n1, from / n0 / n1};
        to->m_start[j] = at;
        for (int q = 0; q < 27; q++) {
            int x = i[0] + q % 3 - 1, y = i[1] + q / 3 % 3 - 1, z = i[2] + q / 9 - 1;
            if (x < 0 || x >= n0 || y < 0 || y >= n1 || z < 0 || z >= m->n[2]) continue;
            for (int b = 0; b < 3; b++) {
                to->m_row[at] = 3 * node(m, x, y, z) + b;
                to->m_value[at++] =
                    m->block[9 * (27 * (size_t)from + (size_t)q) + (size_t)(3 * (j % 3) + b)];
            }
        }
    }
    to->m_start[3 * m->nodes] = at;
}

int structure_elastic(int nx, int ny, int nz, double push, double mu, structure *out)
{
    mesh m = {.n = {nx, ny, nz}, .move = {0.001 * push, 0, -0.001}};
    arrays to = {0};
    double K[24][24], side = 0.1, nodes = (nx + 1.0) * (ny + 1.0) * nz;
    int nc = (nx + 1) * (ny + 1), is_done = 0;
    if (nx < 1 || ny < 1 || nz < 1 || 81 * 3 * nodes > INT_MAX) return 0;
    for (int a = 0; a < 3; a++) m.h[a] = side / nx;
    m.nodes = (int)nodes;
    m.block = calloc(9 * 27 * (size_t)m.nodes, sizeof *m.block);
    if (take(&to, 3 * (size_t)m.nodes, 81 * 3 * (size_t)m.nodes, (size_t)nc, 3 * (size_t)nc) &&
        m.block) {
        m.f = to.f;
        stiffness(1e6, 0.3, m.h, K);
        for (int k = 0; k < nz; k++)
            for (int j = 0; j < ny; j++)
                for (int i = 0; i < nx; i++) add_element(&m, i, j, k, K);
        fill_stiffness(&m, &to);
        for (int c = 0; c < nc; c++) { /* a node of the lower side: normal z, then x, y */
            static const int axis[] = {2, 0, 1};
            double x = (c % (nx + 1)) / (double)nx - 0.5, y = (c / (nx + 1)) / (double)ny - 0.5;
            to.mu[c] = mu;
            to.w[3 * c] = 0.0015 * (x * x + y * y);
            for (int a = 0; a < 3; a++)
                to.h_start[3 * c + a] = 3 * c + a, to.h_row[3 * c + a] = 3 * c + axis[a],
                                   to.h_value[3 * c + a] = 1;
        }
        to.h_start[3 * nc] = 3 * nc;
        is_done = 1;
    }
    give(&to, 3 * m.nodes, nc, "an elastic block on a plane", out);
    free(m.block);
    if (!is_done) structure_free(out);
    return is_done;
}

/* Wall ------------------------------------------------------------------------------------------ */

static const double LONG = 0.4, DEEP = 0.2, HIGH = 0.2;

/* Block k of a course, from x[0] to x[1]: every other course begins and ends with half a block. */
static int ends(int length, int course, int k, double x[2])
{
    int n = length + course % 2;
    x[0] = course % 2 ? fmax(0, (k - 0.5) * LONG) : k * LONG;
    x[1] = course % 2 ? fmin(length * LONG, (k + 0.5) * LONG) : (k + 1) * LONG;
    return k < n;
}

typedef struct wall {
    arrays to;
    int length, nc, entries, is_counted;
} wall;

/* The first block of a course. */
static int first_of(const wall *w, int course)
{
    return course * w->length + course / 2;
}

/* Column `a` of a contact at p: the direction as a force on block b, or with sign -1 against it. */
static void push_on(wall *w, int b, double sign, const double centre[3], const double p[3],
                    int axis)
{
    double n[3] = {axis == 0, axis == 1, axis == 2}, x[3], all[6];
    for (int a = 0; a < 3; a++) x[a] = p[a] - centre[a];
    for (int a = 0; a < 3; a++) {
        all[a] = sign * n[a];
        all[3 + a] = sign * (x[(a + 1) % 3] * n[(a + 2) % 3] - x[(a + 2) % 3] * n[(a + 1) % 3]);
    }
    for (int k = 0; k < 6; k++)
        if (all[k] != 0) {
            w->to.h_row[w->entries] = 6 * b + k;
            w->to.h_value[w->entries++] = all[k];
        }
}

static void centre_of(const double x[2], int course, double centre[3])
{
    centre[0] = 0.5 * (x[0] + x[1]), centre[1] = 0.5 * DEEP, centre[2] = (course + 0.5) * HIGH;
}

/* Four contacts at the corners of a face across `normal`, which presses block `upper` along it and `lower` (-1: the ground) against it. */
static void face(wall *w, int normal, const double lo[3], const double hi[3], int upper,
                 const double *upper_centre, int lower, const double *lower_centre, double mu)
{
    int t = (normal + 1) % 3, s = (normal + 2) % 3;
    for (int k = 0; k < 4; k++, w->nc++) {
        double p[3];
        if (!w->is_counted) continue;
        p[normal] = lo[normal], p[t] = k & 1 ? hi[t] : lo[t], p[s] = k & 2 ? hi[s] : lo[s];
        w->to.mu[w->nc] = mu;
        for (int a = 0; a < 3; a++) {
            int axis = (normal + a) % 3;
            w->to.h_start[3 * w->nc + a] = w->entries;
            push_on(w, upper, 1, upper_centre, p, axis);
            if (lower >= 0) push_on(w, lower, -1, lower_centre, p, axis);
        }
    }
}

static void all_faces(wall *w, int courses, double mu)
{
    w->nc = 0;
    for (int j = 0; j < courses; j++) {
        double x[2], y[2], centre[3], other[3];
        for (int k = 0; ends(w->length, j, k, x); k++) {
            int b = first_of(w, j) + k;
            double lo[3] = {x[0], 0, j * HIGH}, hi[3] = {x[1], DEEP, (j + 1) * HIGH};
            centre_of(x, j, centre);
            if (j == 0) face(w, 2, lo, hi, b, centre, -1, NULL, mu);
            for (int l = 0; j > 0 && ends(w->length, j - 1, l, y); l++) { /* those below */
                double from[3] = {fmax(x[0], y[0]), 0, j * HIGH},
                       to[3] = {fmin(x[1], y[1]), DEEP, j * HIGH};
                if (l < k - 2) l = k - 2;
                if (l > k + 1) break;
                ends(w->length, j - 1, l, y);
                from[0] = fmax(x[0], y[0]), to[0] = fmin(x[1], y[1]);
                if (!(to[0] > from[0] + 0.1 * LONG)) continue;
                centre_of(y, j - 1, other);
                face(w, 2, from, to, b, centre, first_of(w, j - 1) + l, other, mu);
            }
            if (k > 0 && ends(w->length, j, k - 1, y)) { /* the one before */
                centre_of(y, j, other);
                face(w, 0, lo, hi, b, centre, b - 1, other, mu);
            }
        }
    }
}

static void fill_bodies(wall *w, int courses, double push)
{
    const double STEP = 1e-3, G = 9.81, DENSITY = 2000;
    double x[2];
    for (int j = 0; j < courses; j++)
        for (int k = 0; ends(w->length, j, k, x); k++) {
            size_t at = 6 * (size_t)(first_of(w, j) + k);
            double a = x[1] - x[0], m = DENSITY * a * DEEP * HIGH;
            double all[6] = {m,
                             m,
                             m,
                             m * (DEEP * DEEP + HIGH * HIGH) / 12,
                             m * (a * a + HIGH * HIGH) / 12,
                             m * (a * a + DEEP * DEEP) / 12};
            for (size_t i = 0; i < 6; i++) {
                w->to.m_start[at + i] = w->to.m_row[at + i] = (int)(at + i);
                w->to.m_value[at + i] = all[i];
            }
            w->to.f[at] = push * m * G * STEP, w->to.f[at + 1] = 0.1 * push * m * G * STEP,
            w->to.f[at + 2] = -m * G * STEP;
            w->to.m_start[at + 6] = (int)at + 6;
        }
}

int structure_wall(int length, int courses, double push, double mu, structure *out)
{
    wall w = {.length = length};
    if (length < 1 || courses < 1 || (length + 1.0) * courses * 12 * 3 * 8 > INT_MAX) return 0;
    all_faces(&w, courses, mu); /* counts */
    size_t nv = 6 * (size_t)first_of(&w, courses), nc = (size_t)w.nc;
    if (!take(&w.to, nv, nv, nc, 3 * 2 * 6 * nc)) {
        give(&w.to, 0, 0, NULL, out);
        structure_free(out);
        return 0;
    }
    w.is_counted = 1;
    all_faces(&w, courses, mu);
    w.to.h_start[3 * nc] = w.entries;
    fill_bodies(&w, courses, push);
    give(&w.to, (int)nv, w.nc, "a wall", out);
    return 1;
}
