#include "spheres.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const double GRAVITY = 9.81, FRICTION = 0.5, STEP = 4e-3, DENSITY = 1, REST = 0.1,
                    SETTLED = 1e-2, SPACE = 2.21,
                    NEAR = 0.1; /* of centres at first; gaps that are contacts */

/* splitmix64 by Steele, Lea and Flood (2014). */
static double uniform(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

/* What moves. */
typedef struct scene {
    int n;
    double side;            /* period in x and y */
    double *radius, *x, *v; /* n; n x 3; n x 6 */
    int *head, *next, cells, layers;
    double cell;
} scene;

static void free_scene(scene *s)
{
    free(s->radius);
    free(s->x);
    free(s->v);
    free(s->head);
    free(s->next);
}

static int make_scene(scene *s, int n, int side, unsigned seed)
{
    uint64_t random = seed;
    size_t count = (size_t)n;
    *s = (scene){.n = n, .side = SPACE * side, .cells = (int)(SPACE * side / (2.2 + NEAR))};
    s->cell = s->side / s->cells;
    s->layers = n / (side * side) + 4;
    s->radius = malloc(count * sizeof *s->radius);
    s->x = malloc(3 * count * sizeof *s->x);
    s->v = calloc(6 * count, sizeof *s->v);
    s->head = malloc((size_t)(s->cells * s->cells * s->layers) * sizeof *s->head);
    s->next = malloc(count * sizeof *s->next);
    if (!s->radius || !s->x || !s->v || !s->head || !s->next) return 0;
    for (int i = 0; i < n; i++) {
        const int at[] = {i % side, i / side % side, i / (side * side)};
        s->radius[i] = 0.9 + 0.2 * uniform(&random);
        for (int a = 0; a < 3; a++)
            s->x[3 * i + a] = SPACE * (at[a] + 0.5) + 0.01 * (uniform(&random) - 0.5);
    }
    return 1;
}

/* Contacts -------------------------------------------------------------------------------------- */

typedef struct list {
    int n, room;
    int *body, *image; /* 2 each */
    double *normal;    /* 3 each, from the first body to the second */
    double *gap;
} list;

static int add(list *l, int i, int j, int px, int py, const double *normal, double gap)
{
    if (l->n == l->room) {
        size_t room = l->room ? 2 * (size_t)l->room : 1024;
        int *body = realloc(l->body, 2 * room * sizeof *body);
        if (body) l->body = body;
        int *image = realloc(l->image, 2 * room * sizeof *image);
        if (image) l->image = image;
        double *to = realloc(l->normal, 3 * room * sizeof *to);
        if (to) l->normal = to;
        double *gaps = realloc(l->gap, room * sizeof *gaps);
        if (gaps) l->gap = gaps;
        if (!body || !image || !to || !gaps) return 0;
        l->room = (int)room;
    }
    l->body[2 * l->n] = i, l->body[2 * l->n + 1] = j;
    l->image[2 * l->n] = px, l->image[2 * l->n + 1] = py;
    memcpy(l->normal + 3 * l->n, normal, 3 * sizeof *normal);
    l->gap[l->n++] = gap;
    return 1;
}

static void free_list(list *l)
{
    free(l->body);
    free(l->image);
    free(l->normal);
    free(l->gap);
}

static int wrap(int i, int n)
{
    return ((i % n) + n) % n;
}

static void cell_of(const scene *s, int i, int at[3])
{
    for (int a = 0; a < 3; a++) at[a] = (int)floor(s->x[3 * i + a] / s->cell);
    if (at[2] < 0) at[2] = 0;
    if (at[2] >= s->layers) at[2] = s->layers - 1;
}

static int *head_of(const scene *s, const int at[3])
{
    return &s->head[(at[2] * s->cells + wrap(at[1], s->cells)) * s->cells + wrap(at[0], s->cells)];
}

static void fill_cells(scene *s)
{
    int at[3];
    memset(s->head, -1, (size_t)(s->cells * s->cells * s->layers) * sizeof *s->head);
    for (int i = s->n - 1; i >= 0; i--) {
        cell_of(s, i, at);
        int *head = head_of(s, at);
        s->next[i] = *head, *head = i;
    }
}

/* The pair i < j, if it is near: by the period that is nearest. */
static int add_pair(const scene *s, list *l, int i, int j, double near)
{
    double d[3], length = 0;
    int period[2];
    for (int a = 0; a < 3; a++) {
        d[a] = s->x[3 * j + a] - s->x[3 * i + a];
        if (a < 2) {
            period[a] = -(int)floor(d[a] / s->side + 0.5);
            d[a] += period[a] * s->side;
        }
        length += d[a] * d[a];
    }
    length = sqrt(length);
    double gap = length - s->radius[i] - s->radius[j];
    if (gap > near) return 1;
    for (int a = 0; a < 3; a++) d[a] /= length;
    return add(l, i, j, period[0], period[1], d, gap);
}

static int find_contacts(scene *s, list *l, double near)
{
    int ok = 1;
    l->n = 0;
    fill_cells(s);
    for (int i = 0; i < s->n && ok; i++) {
        const double down[3] = {0, 0, -1};
        int at[3], to[3];
        cell_of(s, i, at);
        double floor_gap = s->x[3 * i + 2] - s->radius[i];
        if (floor_gap <= near) ok = add(l, i, -1, 0, 0, down, floor_gap);
        for (int c = 0; c < 27 && ok; c++) {
            to[0] = at[0] + c % 3 - 1, to[1] = at[1] + c / 3 % 3 - 1, to[2] = at[2] + c / 9 - 1;
            if (to[2] < 0 || to[2] >= s->layers) continue;
            for (int j = *head_of(s, to); j >= 0 && ok; j = s->next[j])
                if (j > i) ok = add_pair(s, l, i, j, near);
        }
    }
    return ok;
}

/* The problem of a step ------------------------------------------------------------------------- */

void spheres_free(spheres *s)
{
    free((void *)s->pile.inverse_mass);
    free((void *)s->pile.velocity);
    free((void *)s->pile.body);
    free((void *)s->pile.jacobian);
    free((void *)s->pile.bias);
    free((void *)s->pile.mu);
    free(s->r);
    free(s->image);
    *s = (spheres){0};
}

typedef struct arrays {
    double *inverse_mass, *velocity, *jacobian, *bias, *mu;
    int *body;
} arrays;

static int take_arrays(spheres *s, arrays *a, int nbody, int nc)
{
    size_t n = (size_t)nc + 1, b = (size_t)nbody + 1;
    *s = (spheres){.step = STEP};
    *a = (arrays){calloc(36 * b, sizeof(double)), malloc(6 * b * sizeof(double)),
                  calloc(36 * n, sizeof(double)), calloc(3 * n, sizeof(double)),
                  malloc(n * sizeof(double)),     malloc(2 * n * sizeof(int))};
    s->r = calloc(3 * n, sizeof(double));
    s->image = malloc(2 * n * sizeof(int));
    s->pile = (perp_pile){3,  6,       nbody,       a->inverse_mass, a->velocity,
                          nc, a->body, a->jacobian, a->bias,         a->mu};
    if (a->inverse_mass && a->velocity && a->jacobian && a->bias && a->mu && a->body && s->r &&
        s->image)
        return 1;
    spheres_free(s);
    return 0;
}

/* Two directions across a unit normal. */
static void tangents(const double *n, double t[2][3])
{
    int least = fabs(n[0]) < fabs(n[1]) ? 0 : 1;
    if (fabs(n[2]) < fabs(n[least])) least = 2;
    double e[3] = {0}, length = 0;
    e[least] = 1;
    for (int a = 0; a < 3; a++) {
        t[0][a] = n[(a + 1) % 3] * e[(a + 2) % 3] - n[(a + 2) % 3] * e[(a + 1) % 3];
        length += t[0][a] * t[0][a];
    }
    for (int a = 0; a < 3; a++) t[0][a] /= sqrt(length);
    for (int a = 0; a < 3; a++)
        t[1][a] = n[(a + 1) % 3] * t[0][(a + 2) % 3] - n[(a + 2) % 3] * t[0][(a + 1) % 3];
}

/* The row by which body velocities (v, omega) move the point at arm from the centre along e. */
static void fill_row(double *J, double sign, const double *arm, const double *e)
{
    for (int a = 0; a < 3; a++) {
        J[a] = sign * e[a];
        J[3 + a] = sign * (arm[(a + 1) % 3] * e[(a + 2) % 3] - arm[(a + 2) % 3] * e[(a + 1) % 3]);
    }
}

static void fill_contact(const scene *s, const list *l, int c, arrays *a)
{
    const double *n = l->normal + 3 * c;
    double t[2][3], arm[2][3];
    int i = l->body[2 * c], j = l->body[2 * c + 1];
    tangents(n, t);
    for (int k = 0; k < 3; k++)
        arm[0][k] = s->radius[i] * n[k], arm[1][k] = j < 0 ? 0 : -s->radius[j] * n[k];
    for (int row = 0; row < 3; row++) {
        const double *e = row == 0 ? n : t[row - 1];
        double *J = a->jacobian + 36 * (size_t)c + 6 * row;
        fill_row(J, -1, arm[0], e);
        if (j >= 0) fill_row(J + 18, 1, arm[1], e);
    }
    a->bias[3 * c] = (l->gap[c] > 0 ? l->gap[c] : REST * l->gap[c]) / STEP;
    a->mu[c] = FRICTION;
}

static int fill_problem(const scene *s, const list *l, spheres *out)
{
    arrays a;
    if (!take_arrays(out, &a, s->n, l->n)) return 0;
    for (int i = 0; i < s->n; i++) {
        double r = s->radius[i], m = DENSITY * 4 / 3 * 3.14159265358979323846 * r * r * r;
        for (int k = 0; k < 6; k++)
            a.inverse_mass[36 * (size_t)i + (size_t)(7 * k)] =
                k < 3 ? 1 / m : 1 / (0.4 * m * r * r);
        memcpy(a.velocity + 6 * (size_t)i, s->v + 6 * (size_t)i, 6 * sizeof(double));
        a.velocity[6 * (size_t)i + 2] -= GRAVITY * STEP;
    }
    memcpy(a.body, l->body, 2 * (size_t)l->n * sizeof(int));
    memcpy(out->image, l->image, 2 * (size_t)l->n * sizeof(int));
    for (int c = 0; c < l->n; c++) {
        fill_contact(s, l, c, &a);
        if (-l->gap[c] > out->penetration) out->penetration = -l->gap[c];
    }
    return 1;
}

/* Impulses of the contacts that the step before had, too. Both lists are sorted by the first body. */
static void match(const spheres *before, spheres *now)
{
    const int *old = before->pile.body, *new = now->pile.body;
    for (int c = 0, k = 0; c < now->pile.nc; c++) {
        while (k < before->pile.nc && old[2 * k] < new[2 * c]) k++;
        for (int e = k; e < before->pile.nc && old[2 * e] == new[2 * c]; e++)
            if (old[2 * e + 1] == new[2 * c + 1])
                now->r[3 * c] = before->r[3 * e]; /* tangents may have turned */
    }
}

static int step(scene *s, list *l, spheres *problem, int threads)
{
    spheres now;
    double *v = malloc(6 * (size_t)s->n * sizeof *v);
    if (!v || !find_contacts(s, l, NEAR) || !fill_problem(s, l, &now)) {
        free(v);
        return 0;
    }
    match(problem, &now);
    now.unsolved = problem->unsolved;
    spheres_free(problem);
    perp_pile_options o = perp_pile_options_default();
    perp_pile_info info = {.size = sizeof info};
    o.tol = SETTLED, o.max_iter = 100, o.warm_start = 1, o.threads = threads;
    perp_status status = perp_pile_solve(&now.pile, &o, now.r, v, &info);
    now.unsolved += info.outcome != PERP_SOLVED;
    for (int i = 0; i < s->n && status == PERP_OK; i++) {
        memcpy(s->v + 6 * i, v + 6 * i, 6 * sizeof *v);
        for (int a = 0; a < 3; a++) s->x[3 * i + a] += STEP * v[6 * i + a];
    }
    free(v);
    *problem = now;
    return status == PERP_OK;
}

int spheres_settle(int n, int side, int steps, int threads, unsigned seed, spheres *out)
{
    scene s;
    list l = {0};
    *out = (spheres){0};
    int ok = make_scene(&s, n, side, seed);
    for (int k = 0; k < steps && ok; k++) ok = step(&s, &l, out, threads);
    free_scene(&s);
    free_list(&l);
    if (!ok) spheres_free(out);
    return ok;
}

/* Copies ---------------------------------------------------------------------------------------- */

int spheres_repeat(const spheres *one, int nx, int ny, unsigned seed, spheres *out)
{
    const perp_pile *p = &one->pile;
    uint64_t random = seed;
    arrays a;
    size_t nb = (size_t)p->nbody, nc = (size_t)p->nc;
    if (!take_arrays(out, &a, p->nbody * nx * ny, p->nc * nx * ny)) return 0;
    out->penetration = one->penetration;
    for (int t = 0; t < nx * ny; t++) {
        size_t body = (size_t)t * nb, contact = (size_t)t * nc;
        memcpy(a.inverse_mass + 36 * body, p->inverse_mass, 36 * nb * sizeof(double));
        memcpy(a.velocity + 6 * body, p->velocity, 6 * nb * sizeof(double));
        memcpy(a.jacobian + 36 * contact, p->jacobian, 36 * nc * sizeof(double));
        memcpy(a.bias + 3 * contact, p->bias, 3 * nc * sizeof(double));
        memcpy(out->r + 3 * contact, one->r, 3 * nc * sizeof(double));
        memcpy(out->image + 2 * contact, one->image, 2 * nc * sizeof(int));
        for (size_t i = 0; i < nb; i++) {
            double lighter = 1 + 0.01 * uniform(&random);
            for (int e = 0; e < 36; e++) a.inverse_mass[36 * (body + i) + (size_t)e] *= lighter;
        }
        for (size_t c = 0; c < nc; c++) {
            int *to = a.body + 2 * (contact + c), second = p->body[2 * c + 1];
            int x = wrap(t % nx + one->image[2 * c], nx),
                y = wrap(t / nx + one->image[2 * c + 1], ny);
            to[0] = (int)body + p->body[2 * c];
            to[1] = second < 0 ? -1 : (int)((size_t)(y * nx + x) * nb) + second;
            a.mu[contact + c] = p->mu[c] * (1 - 0.01 * uniform(&random));
        }
    }
    return 1;
}
