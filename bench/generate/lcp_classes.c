#include "lcp_classes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *summary;
    int pairs;
} classes[] = {
#define LCP_CLASS(name, text, pairs, summary) {text, summary, pairs},
#include "lcp_classes.def"
#undef LCP_CLASS
};

const char *lcp_class_name(lcp_class c)
{
    return classes[c].name;
}

lcp_class lcp_class_find(const char *name)
{
    int c = 0;
    while (c < LCP_NCLASS && strcmp(name, lcp_class_name((lcp_class)c)) != 0) c++;
    return (lcp_class)c;
}

const char *lcp_class_summary(lcp_class c)
{
    return classes[c].summary;
}

int lcp_class_size(lcp_class c, int n)
{
    int pairs = classes[c].pairs;
    if (c == LCP_stack5 || c == LCP_stack20) return pairs;
    return n < pairs ? pairs : n / pairs * pairs;
}

typedef struct random_state {
    unsigned long long s;
} random_state;

static double uniform(random_state *g, double lo, double hi)
{
    g->s = g->s * 6364136223846793005ULL + 1442695040888963407ULL;
    return lo + (hi - lo) * (double)(g->s >> 11) * 0x1p-53;
}

static size_t at(int n, int i, int j)
{
    return (size_t)i + (size_t)j * (size_t)n;
}

/* Matrices of the known classes --------------------------------------------------------------- */

/* M += A A' with A n x k of entries in (-1, 1). */
static void add_gram(random_state *g, int n, int k, double *M)
{
    double *a = malloc((size_t)n * sizeof *a);
    for (int c = 0; c < k && a; c++) {
        for (int i = 0; i < n; i++) a[i] = uniform(g, -1, 1);
        for (int j = 0; j < n; j++) {
            for (int i = 0; i < n; i++) M[at(n, i, j)] += a[i] * a[j];
        }
    }
    free(a);
}

static void random_q(random_state *g, int n, double *q)
{
    for (int i = 0; i < n; i++) q[i] = uniform(g, -1, 1);
}

static void make_definite(random_state *g, int n, double *M, double *q)
{
    add_gram(g, n, n, M);
    for (int i = 0; i < n; i++) M[at(n, i, i)] += 0.1;
    random_q(g, n, q);
}

/* q = w - M z for complementary z, w. */
static void make_semidefinite(random_state *g, int n, double *M, double *q)
{
    add_gram(g, n, (n + 1) / 2, M);
    for (int i = 0; i < n; i++) {
        double z = uniform(g, -1, 1);
        if (z < 0) {
            q[i] -= z;
            continue;
        }
        for (int j = 0; j < n; j++) q[j] -= M[at(n, j, i)] * z;
    }
}

static void make_p_matrix(random_state *g, int n, double *M, double *q)
{
    size_t N = (size_t)n;
    make_definite(g, n, M, q);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            double skew = uniform(g, -1, 1) * n / 4;
            M[(size_t)i + (size_t)j * N] += skew;
            M[(size_t)j + (size_t)i * N] -= skew;
        }
    }
    for (int i = 0; i < n; i++) {
        double row = pow(10, uniform(g, -1, 1)), column = pow(10, uniform(g, -1, 1));
        for (int j = 0; j < n; j++) {
            M[(size_t)i + (size_t)j * N] *= row;
            M[(size_t)j + (size_t)i * N] *= column;
        }
        q[i] *= row;
    }
}

static void make_copositive(random_state *g, int n, double *M, double *q)
{
    int with_gram = uniform(g, 0, 1) < 0.5;
    if (with_gram) add_gram(g, n, (n + 1) / 2, M);
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < n; i++) {
            double x = uniform(g, 0, 1);
            M[at(n, i, j)] += i == j ? 0.1 + x : x > 0.5 ? x : 0;
        }
    }
    random_q(g, n, q);
}

/* Normal (Box and Muller 1958). */
static double normal(random_state *g)
{
    double radius = sqrt(-2 * log(uniform(g, 0x1p-53, 1)));
    return radius * cos(6.283185307179586 * uniform(g, 0, 1));
}

static void make_obstacle(random_state *g, int n, double *M, double *q)
{
    for (int i = 0; i < n; i++) {
        M[at(n, i, i)] = 2;
        if (i > 0) M[at(n, i, i - 1)] = M[at(n, i - 1, i)] = -1;
        q[i] = normal(g);
    }
}

static void make_murty(random_state *g, int n, double *M, double *q)
{
    int perturbed = uniform(g, 0, 1) < 0.5;
    for (int j = 0; j < n; j++) {
        for (int i = 0; i <= j; i++) M[at(n, i, j)] = i == j ? 1 : 2;
        q[j] = perturbed ? uniform(g, -2, 0) : -1;
    }
}

/* Contacts ------------------------------------------------------------------------------------ */

typedef struct contact {
    int a, b; /* bodies, -1 the ground; the normal points from a to b */
    double ra[3], rb[3], normal[3], mu;
} contact;

typedef struct scene {
    int nb, nc, dimension, facets;
    double *inverse_mass, *inverse_inertia; /* nb */
    double *velocity;                       /* 6 nb: linear, angular */
    contact *contacts;
} scene;

static void cross(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

/* Row of the Jacobian of direction d at a contact, for body b (1) or a (0). */
static void jacobian(const contact *c, int of_b, const double *d, double *row)
{
    double sign = of_b ? 1 : -1;
    cross(of_b ? c->rb : c->ra, d, row + 3);
    for (int k = 0; k < 3; k++) row[k] = sign * d[k], row[3 + k] *= sign;
}

/* Direction `k` of contact c: 0 the normal, then the facets. */
static void direction(const scene *s, const contact *c, int k, double *d)
{
    double t1[3], t2[3], up[3] = {0, 0, 0};
    memcpy(d, c->normal, sizeof t1);
    if (k == 0) return;
    if (s->dimension == 2) { /* the plane is x, y */
        double sign = k == 1 ? 1 : -1;
        d[0] = sign * c->normal[1], d[1] = -sign * c->normal[0], d[2] = 0;
        return;
    }
    up[fabs(c->normal[0]) < 0.6 ? 0 : 1] = 1;
    cross(c->normal, up, t1);
    double length = sqrt(t1[0] * t1[0] + t1[1] * t1[1] + t1[2] * t1[2]);
    for (int i = 0; i < 3; i++) t1[i] /= length;
    cross(c->normal, t1, t2);
    double angle = 6.283185307179586 * (k - 1) / s->facets, ca = cos(angle), sa = sin(angle);
    for (int i = 0; i < 3; i++) d[i] = ca * t1[i] + sa * t2[i];
}

static double couple(const scene *s, int body, const double *x, const double *y)
{
    double linear = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
    double angular = x[3] * y[3] + x[4] * y[4] + x[5] * y[5];
    return s->inverse_mass[body] * linear + s->inverse_inertia[body] * angular;
}

/* Position in M of direction k of contact c: normals, then facets, then one gamma a contact. */
static int position(const scene *s, int c, int k)
{
    return k == 0 ? c : s->nc + c * s->facets + k - 1;
}

static void assemble(const scene *s, double *M, double *q)
{
    int nd = 1 + s->facets, n = s->nc * (nd + 1);
    for (int c = 0; c < s->nc; c++) {
        const contact *C = &s->contacts[c];
        int gamma = s->nc * nd + c;
        M[at(n, gamma, c)] = C->mu;
        for (int k = 0; k < nd; k++) {
            double d[3], rows[2][6];
            int row = position(s, c, k);
            direction(s, C, k, d);
            jacobian(C, 0, d, rows[0]);
            jacobian(C, 1, d, rows[1]);
            if (k > 0) {
                M[at(n, row, gamma)] = 1;
                M[at(n, gamma, row)] = -1;
            }
            const int bodies[2] = {C->a, C->b};
            for (int side = 0; side < 2; side++) {
                if (bodies[side] < 0) continue;
                for (int i = 0; i < 6; i++)
                    q[row] += rows[side][i] * s->velocity[6 * bodies[side] + i];
            }
            for (int o = 0; o < s->nc; o++) {
                const contact *O = &s->contacts[o];
                if (O->a != C->a && O->a != C->b && O->b != C->a && O->b != C->b) continue;
                for (int l = 0; l < nd; l++) {
                    double e[3], other[6], sum = 0;
                    direction(s, O, l, e);
                    for (int os = 0; os < 2; os++) {
                        int body = os ? O->b : O->a;
                        if (body < 0 || (body != C->a && body != C->b)) continue;
                        jacobian(O, os, e, other);
                        sum += couple(s, body, rows[body == C->b], other);
                    }
                    M[at(n, row, position(s, o, l))] = sum;
                }
            }
        }
    }
}

/* What falls on the ground, h g = 0.1, with some velocity of its own. */
static void random_velocities(random_state *g, scene *s)
{
    double most = uniform(g, 0, 1) < 0.3 ? 0 : uniform(g, 0, 0.5);
    int up = s->dimension == 2 ? 1 : 2;
    for (int b = 0; b < s->nb; b++) {
        double *v = s->velocity + 6 * b;
        for (int i = 0; i < 6; i++) {
            int in_plane = s->dimension == 3 || i < 2 || i == 5;
            v[i] = in_plane ? uniform(g, -most, most) : 0;
        }
        v[up] -= 0.1;
    }
}

static void random_body(random_state *g, scene *s, int b, double spread)
{
    double mass = pow(10, uniform(g, -spread / 2, spread / 2));
    s->inverse_mass[b] = 1 / mass;
    s->inverse_inertia[b] = 1 / (mass * uniform(g, 0.1, 0.3));
}

static void make_box(random_state *g, scene *s)
{
    double mu = uniform(g, 0, 1) < 0.1 ? 0 : uniform(g, 0.05, 1.2), height = uniform(g, 0.2, 1);
    s->nb = 1;
    random_body(g, s, 0, 0.5);
    for (int c = 0; c < s->nc; c++) {
        double along = s->nc > 1 ? -0.5 + (double)c / (s->nc - 1) : 0;
        contact *C = &s->contacts[c];
        *C = (contact){.a = -1, .b = 0, .mu = mu};
        C->normal[s->dimension - 1] = 1;
        C->rb[s->dimension - 1] = -height / 2;
        C->rb[0] = along;
        if (s->dimension == 3) { /* corners first, then points of the base */
            C->rb[0] = c < 4 ? (c & 1 ? 0.5 : -0.5) : uniform(g, -0.5, 0.5);
            C->rb[1] = c < 4 ? (c & 2 ? 0.4 : -0.4) : uniform(g, -0.4, 0.4);
        }
    }
}

static void make_stack(random_state *g, scene *s)
{
    double mu = uniform(g, 0.1, 1);
    s->nb = s->nc / 2;
    for (int b = 0; b < s->nb; b++) random_body(g, s, b, 0.3);
    for (int c = 0; c < s->nc; c++) {
        double x = c % 2 ? 0.5 : -0.5;
        s->contacts[c] = (contact){.a = c / 2 - 1, .b = c / 2, .mu = mu, .normal = {0, 1, 0}};
        s->contacts[c].ra[0] = s->contacts[c].rb[0] = x;
        s->contacts[c].ra[1] = 0.5, s->contacts[c].rb[1] = -0.5;
    }
}

static void make_graph(random_state *g, scene *s)
{
    s->nb = (s->nc + 1) / 2;
    for (int b = 0; b < s->nb; b++) random_body(g, s, b, 2);
    for (int c = 0; c < s->nc; c++) {
        contact *C = &s->contacts[c];
        double length = 0;
        *C = (contact){.a = (int)uniform(g, -1, s->nb),
                       .b = (int)uniform(g, 0, s->nb),
                       .mu = uniform(g, 0, 1)};
        if (C->a == C->b) C->a = -1;
        for (int k = 0; k < 3; k++) {
            C->ra[k] = uniform(g, -0.5, 0.5), C->rb[k] = uniform(g, -0.5, 0.5);
            C->normal[k] = uniform(g, -1, 1) + (k == 2 ? 1.2 : 0);
            length += C->normal[k] * C->normal[k];
        }
        for (int k = 0; k < 3; k++) C->normal[k] /= sqrt(length);
    }
}

static void make_scene(random_state *g, lcp_class kind, int n, double *M, double *q)
{
    scene s = {.dimension = kind == LCP_box || kind == LCP_stack5 || kind == LCP_stack20 ? 2 : 3};
    s.facets = s.dimension == 2 ? 2 : kind == LCP_box8 ? 8 : 4;
    s.nc = n / (s.facets + 2);
    size_t most = (size_t)s.nc + 1;
    s.inverse_mass = calloc(8 * most, sizeof(double));
    s.contacts = calloc(most, sizeof *s.contacts);
    if (s.inverse_mass && s.contacts) {
        s.inverse_inertia = s.inverse_mass + most;
        s.velocity = s.inverse_mass + 2 * most;
        if (kind == LCP_graph)
            make_graph(g, &s);
        else if (kind == LCP_stack5 || kind == LCP_stack20)
            make_stack(g, &s);
        else
            make_box(g, &s);
        random_velocities(g, &s);
        assemble(&s, M, q);
    }
    free(s.inverse_mass);
    free(s.contacts);
}

perp_lcp lcp_generate(lcp_class c, int n, unsigned long long seed)
{
    n = lcp_class_size(c, n);
    size_t N = (size_t)n;
    double *M = calloc(N * N + N + 1, sizeof *M), *q = M + N * N;
    random_state g = {seed * 2862933555777941757ULL + 3037000493ULL * (unsigned)c};
    if (!M) return (perp_lcp){0};
    for (int k = 0; k < 8; k++) uniform(&g, 0, 1);
    switch (c) {
    case LCP_definite: make_definite(&g, n, M, q); break;
    case LCP_semidefinite: make_semidefinite(&g, n, M, q); break;
    case LCP_p_matrix: make_p_matrix(&g, n, M, q); break;
    case LCP_copositive: make_copositive(&g, n, M, q); break;
    case LCP_murty: make_murty(&g, n, M, q); break;
    case LCP_obstacle: make_obstacle(&g, n, M, q); break;
    default: make_scene(&g, c, n, M, q);
    }
    return (perp_lcp){n, M, n > 1 ? n : 1, q, NULL, NULL};
}
