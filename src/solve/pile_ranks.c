/* A pile over processes. Rank 0 has the whole, partitions the graph of its bodies, and sends each
 * rank its contacts with their bodies. Bodies of several ranks are split: each rank has a share of
 * the mass, by its part of their contacts, and sweeps its own contacts with it (pile_sweep.c). Then
 * the velocity is the mean by shares, which is that of all impulses (mass splitting, Tonge,
 * Benevolenski and Voroshilov 2012; consensus). Rank 0 judges the whole at the end. Piles of one
 * rank are swept as perp_pile_solve does. docs/adr/090-piles-over-processes.md */

#include "perp/petsc.h"

#include "base/base.h"
#include "solve/fc.h"
#include "solve/pile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Among ranks ---------------------------------------------------------------------------------- */

/* The numbers of shared bodies, times `share` if given, become their sums over the ranks. */
static void add_up(const perp__pile_halo *h, perp__halo *halo, size_t width, const double *share,
                   double *x)
{
    for (size_t i = 0; i < (size_t)h->n; i++)
        for (size_t j = 0; j < width; j++)
            h->room[i * width + j] = x[(size_t)h->body[i] * width + j] * (share ? share[i] : 1);
    h->petsc->halo_sum(halo, h->room);
    for (size_t i = 0; i < (size_t)h->n; i++)
        memcpy(x + (size_t)h->body[i] * width, h->room + i * width, width * sizeof *x);
}

void perp__pile_meet(const perp__pile_halo *h, int k, double *v)
{
    if (h && h->petsc->size > 1) add_up(h, h->velocities, (size_t)k, h->share, v);
}

void perp__pile_sum_terms(const perp__pile_halo *h, int k, double *x)
{
    if (h && h->petsc->size > 1) add_up(h, h->terms, 2 * (size_t)k, NULL, x);
}

double perp__pile_sum(const perp__pile_halo *h, double x)
{
    return h ? h->petsc->sum(x) : x;
}

double perp__pile_most(const perp__pile_halo *h, double x)
{
    return h ? h->petsc->most(x) : x;
}

/* Parts ---------------------------------------------------------------------------------------- */

/* What a rank is sent: sizes first, then arrays by them. */
typedef struct sizes {
    int d, k, nbody, nc, nshared, own; /* own: shared bodies that no rank before has */
    int max_iter, threads;
    double tol;
} sizes;

typedef struct part {
    sizes n;
    perp__pile_part of;
    int *body, *shared, *number; /* number: of a shared body among all of them */
    double *whole_mass, *velocity, *jacobian, *bias, *mu, *r;
} part;

typedef struct array {
    void *at;
    size_t bytes;
} array;

enum { ARRAYS = 12 };

/* Places of the part's arrays that are sent. */
static void list_arrays(part *p, array *list)
{
    size_t d = (size_t)p->n.d, k = (size_t)p->n.k, nbody = (size_t)p->n.nbody, nc = (size_t)p->n.nc,
           real = sizeof(double), whole = sizeof(int);
    const array all[ARRAYS] = {{&p->body, 2 * nc * whole},
                               {&p->shared, (size_t)p->n.nshared * whole},
                               {&p->number, (size_t)p->n.nshared * whole},
                               {&p->of.contacts, nbody * whole},
                               {&p->whole_mass, nbody * k * k * real},
                               {&p->velocity, nbody * k * real},
                               {&p->jacobian, nc * 2 * d * k * real},
                               {&p->bias, nc * d * real},
                               {&p->mu, nc * real},
                               {&p->of.data, nc * real},
                               {&p->of.normal, nc * real},
                               {&p->r, nc * d * real}};
    memcpy(list, all, sizeof all);
}

static int take_part(part *p, perp__arena *arena)
{
    array list[ARRAYS];
    list_arrays(p, list);
    for (int a = 0; a < ARRAYS; a++) {
        char *bytes;
        PERP_TAKE(arena, bytes, list[a].bytes + 1);
        memcpy(list[a].at, &bytes, sizeof bytes);
    }
    return !arena->failed;
}

static void move_part(const perp__petsc *petsc, part *p, int to)
{
    array list[ARRAYS];
    list_arrays(p, list);
    for (int a = 0; a < ARRAYS; a++) {
        void *bytes;
        memcpy(&bytes, list[a].at, sizeof bytes);
        if (petsc->rank == 0)
            petsc->send(to, list[a].bytes, bytes);
        else
            petsc->receive(0, list[a].bytes, bytes);
    }
}

/* Shares of masses, by contacts, and the halo's room. Returns 0: memory. */
static int split_bodies(const perp__petsc *petsc, part *p, perp__arena *arena)
{
    size_t k = (size_t)p->n.k, square = k * k;
    perp__pile_halo *h = &p->of.halo;
    int *mine;
    PERP_TAKE(arena, mine, p->n.nbody + 1);
    PERP_TAKE(arena, p->of.inverse_mass, (size_t)p->n.nbody * square + 1);
    PERP_TAKE(arena, h->share, p->n.nshared + 1);
    PERP_TAKE(arena, h->room, 2 * k * (size_t)p->n.nshared + 1);
    if (arena->failed) return 0;
    for (int i = 0; i < 2 * p->n.nc; i++)
        if (p->body[i] >= 0) mine[p->body[i]]++;
    memcpy(p->of.inverse_mass, p->whole_mass, (size_t)p->n.nbody * square * sizeof(double));
    for (int i = 0; i < p->n.nshared; i++) {
        int b = p->shared[i];
        h->share[i] = (double)mine[b] / p->of.contacts[b];
        for (size_t e = 0; e < square; e++)
            p->of.inverse_mass[(size_t)b * square + e] /= h->share[i];
    }
    h->petsc = petsc;
    h->n = p->n.nshared;
    h->body = p->shared;
    p->of.pile = (perp_pile){.dimension = p->n.d,
                             .dof = p->n.k,
                             .nbody = p->n.nbody,
                             .inverse_mass = p->whole_mass,
                             .velocity = p->velocity,
                             .nc = p->n.nc,
                             .body = p->body,
                             .jacobian = p->jacobian,
                             .bias = p->bias,
                             .mu = p->mu};
    return 1;
}

/* All ranks, each with its part; ok: it has it. */
static perp_status solve_part(const perp__petsc *petsc, part *p, int ok, perp_pile_info *info,
                              perp__arena *arena)
{
    const perp_pile_options o = {
        .tol = p->n.tol, .max_iter = p->n.max_iter, .warm_start = 1, .threads = p->n.threads};
    perp__pile_halo *h = &p->of.halo;
    ok = ok && split_bodies(petsc, p, arena);
    if (petsc->sum(!ok) > 0) return PERP_ERR_MEMORY;
    if (petsc->size > 1) {
        h->velocities = petsc->halo_create(p->n.k, p->n.own, p->n.nshared, p->number);
        h->terms = petsc->halo_create(2 * p->n.k, p->n.own, p->n.nshared, p->number);
    }
    perp_status status = perp__pile_solve_part(&p->of, &o, p->r, info);
    petsc->halo_destroy(h->velocities);
    petsc->halo_destroy(h->terms);
    return status;
}

/* Ranks above 0 -------------------------------------------------------------------------------- */

enum { GO_ON, KEEP, STOP }; /* what rank 0 says between sweeps */
enum { NO_ROOM = -1 };      /* and in the place of a dimension */

static int between(void *context, int iterations, double error, const double *r)
{
    part *p = context;
    const perp__petsc *petsc = p->of.halo.petsc;
    int word;
    (void)iterations;
    (void)error;
    petsc->broadcast(sizeof word, &word);
    if (word == KEEP) petsc->send(0, (size_t)p->n.nc * (size_t)p->n.d * sizeof *r, r);
    return word == STOP;
}

/* One problem. */
static void serve_part(const perp__petsc *petsc)
{
    perp__arena arena = {0};
    part p = {0};
    perp_pile_info info = {.size = sizeof info};
    petsc->receive(0, sizeof p.n, &p.n);
    int ok = p.n.d != NO_ROOM;
    if (ok) {
        ok = take_part(&p, &arena);
        petsc->send(0, sizeof ok, &ok);
    }
    if (ok) move_part(petsc, &p, 0);
    p.of.between = between;
    p.of.context = &p;
    if (solve_part(petsc, &p, ok, &info, &arena) == PERP_OK)
        petsc->send(0, (size_t)p.n.nc * (size_t)p.n.d * sizeof *p.r, p.r);
    perp__arena_clear(&arena);
}

/* Rank 0: dividing ----------------------------------------------------------------------------- */

typedef struct whole {
    const perp__petsc *petsc;
    const perp_pile *p;
    const perp_pile_options *o;
    perp__pile_keep keep;
    double *r, *v; /* the caller's */
    perp__arena arena;
    perp__pile_scales scales;
    int *rank;            /* nc: whose contact it is */
    int *first, *order;   /* those of rank q are order[first[q]] .. in their order */
    int *ranks;           /* nbody: number of ranks with contacts on it; 0: fixed */
    int *number;          /* nbody: of shared ones */
    int *own;             /* of each rank, the number of bodies for which it is the first */
    int *local;           /* nbody: place in the part that is made, -1: not in it */
    double *found, *room; /* nc x d */
    double next, gap;     /* when it is kept again, and how long that was [s] */
    part mine;
} whole;

static int moves(const perp_pile *p, int b)
{
    size_t square = (size_t)(p->dof * p->dof);
    for (size_t e = 0; b >= 0 && e < square; e++)
        if (p->inverse_mass[(size_t)b * square + e] != 0) return 1;
    return 0;
}

/* Both bodies of contact i if it is an edge of the graph: neither is missing or fixed. */
static int is_edge(const whole *w, int i)
{
    const int *body = w->p->body + 2 * (size_t)i;
    return body[1] >= 0 && w->local[body[0]] && w->local[body[1]];
}

static int by_size(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Rows of neighbours, ascending, each once; start: nbody + 2, neighbour: 2 nc. */
static void fill_graph(const whole *w, int *start, int *neighbour)
{
    const perp_pile *p = w->p;
    int at = 0;
    for (int i = 0; i < p->nc; i++)
        for (int side = 0; side < 2 && is_edge(w, i); side++)
            start[p->body[2 * (size_t)i + (size_t)side] + 2]++;
    for (int b = 0; b < p->nbody; b++) start[b + 2] += start[b + 1];
    for (int i = 0; i < p->nc; i++)
        for (int side = 0; side < 2 && is_edge(w, i); side++)
            neighbour[start[p->body[2 * (size_t)i + (size_t)side] + 1]++] =
                p->body[2 * (size_t)i + (size_t)!side];
    for (int b = 0, end, from = 0; b < p->nbody; b++, from = end) {
        end = start[b + 1];
        qsort(neighbour + from, (size_t)(end - from), sizeof *neighbour, by_size);
        start[b] = at;
        for (int e = from; e < end; e++)
            if (e == from || neighbour[e] != neighbour[e - 1]) neighbour[at++] = neighbour[e];
    }
    start[p->nbody] = at;
}

/* Whose contact i is, by the parts of its bodies: of two, in turns, so that no rank has more of
 * what lies between. */
static int rank_of(const whole *w, const int *part_of, int i)
{
    const int *body = w->p->body + 2 * (size_t)i;
    if (!is_edge(w, i)) return part_of[w->local[body[0]] || body[1] < 0 ? body[0] : body[1]];
    int a = part_of[body[0]], b = part_of[body[1]];
    return ((a + b) % 2 == 0) == (a < b) ? a : b;
}

static int divide(whole *w)
{
    const perp_pile *p = w->p;
    perp__arena scratch = {0};
    int *start, *neighbour, *weight, *part_of, size = w->petsc->size;
    PERP_TAKE(&scratch, start, p->nbody + 2);
    PERP_TAKE(&scratch, neighbour, 2 * (size_t)p->nc + 1);
    PERP_TAKE(&scratch, weight, p->nbody + 1);
    PERP_TAKE(&scratch, part_of, p->nbody + 1);
    if (!scratch.failed) {
        for (int b = 0; b < p->nbody; b++) {
            w->local[b] = moves(p, b);
            weight[b] = w->local[b] ? w->scales.contacts[b] + 1 : 0;
        }
        fill_graph(w, start, neighbour);
        if (size > 1) w->petsc->divide(p->nbody, start, neighbour, weight, size, part_of);
        for (int i = 0; i < p->nc; i++) {
            w->rank[i] = rank_of(w, part_of, i);
            w->first[w->rank[i] + 1]++;
        }
        for (int q = 0; q < size; q++) w->first[q + 1] += w->first[q];
    }
    perp__arena_clear(&scratch);
    return !scratch.failed;
}

/* Contacts of each rank, and the bodies of several ranks, numbered by the first of these. */
static void count_shared(whole *w, int *last)
{
    const perp_pile *p = w->p;
    int size = w->petsc->size, n = 0;
    for (int i = 0; i < p->nc; i++) w->order[w->first[w->rank[i]]++] = i;
    for (int q = size; q > 0; q--) w->first[q] = w->first[q - 1];
    w->first[0] = 0;
    for (int pass = 0; pass < 2; pass++) {
        memset(last, -1, (size_t)p->nbody * sizeof *last);
        for (int q = 0; q < size; q++)
            for (int e = 2 * w->first[q]; e < 2 * w->first[q + 1]; e++) {
                int b = p->body[2 * (size_t)w->order[e / 2] + (size_t)(e % 2)];
                if (b < 0 || !w->local[b] || last[b] == q) continue;
                if (pass == 0) w->ranks[b]++;
                if (pass == 1 && w->ranks[b] > 1 && last[b] < 0) {
                    w->number[b] = n++;
                    w->own[q]++;
                }
                last[b] = q;
            }
    }
    memset(w->local, -1, (size_t)p->nbody * sizeof *w->local);
}

static int prepare(whole *w)
{
    const perp_pile *p = w->p;
    PERP_TAKE(&w->arena, w->rank, p->nc + 1);
    PERP_TAKE(&w->arena, w->order, p->nc + 1);
    PERP_TAKE(&w->arena, w->first, w->petsc->size + 2);
    PERP_TAKE(&w->arena, w->own, w->petsc->size + 1);
    PERP_TAKE(&w->arena, w->ranks, p->nbody + 1);
    PERP_TAKE(&w->arena, w->number, p->nbody + 1);
    PERP_TAKE(&w->arena, w->local, p->nbody + 1);
    PERP_TAKE(&w->arena, w->found, (size_t)p->nc * (size_t)p->dimension + 1);
    PERP_TAKE(&w->arena, w->room, (size_t)p->nc * (size_t)p->dimension + 1);
    int *last;
    PERP_TAKE(&w->arena, last, p->nbody + 1);
    if (w->arena.failed || !perp__pile_scales_create(&w->scales, p, NULL, &w->arena) || !divide(w))
        return 0;
    count_shared(w, last);
    return 1;
}

/* Rank 0: parts -------------------------------------------------------------------------------- */

/* Sizes of rank q's part; its bodies get their places. */
static void size_part(whole *w, int q, sizes *n)
{
    const perp_pile *p = w->p;
    *n = (sizes){.d = p->dimension,
                 .k = p->dof,
                 .nc = w->first[q + 1] - w->first[q],
                 .own = w->own[q],
                 .max_iter = w->o->max_iter,
                 .threads = w->o->threads,
                 .tol = w->o->tol};
    for (int e = 2 * w->first[q]; e < 2 * w->first[q + 1]; e++) {
        int b = p->body[2 * (size_t)w->order[e / 2] + (size_t)(e % 2)];
        if (b < 0 || w->local[b] >= 0) continue;
        w->local[b] = n->nbody++;
        n->nshared += w->ranks[b] > 1;
    }
}

static void copy(double *to, size_t at, const double *from, size_t from_at, size_t n)
{
    memcpy(to + at * n, from + from_at * n, n * sizeof *to);
}

static void fill_contact(const whole *w, int from, int at, part *q)
{
    const perp_pile *p = w->p;
    size_t f = (size_t)from, t = (size_t)at, d = (size_t)p->dimension, J = 2 * d * (size_t)p->dof;
    int sides = p->body[2 * f + 1] < 0 ? 1 : 2;
    for (size_t s = 0; s < 2; s++)
        q->body[2 * t + s] = p->body[2 * f + s] < 0 ? -1 : w->local[p->body[2 * f + s]];
    memcpy(q->jacobian + t * J, p->jacobian + f * J, J / 2 * (size_t)sides * sizeof(double));
    if (p->bias) copy(q->bias, t, p->bias, f, d);
    copy(q->r, t, w->r, f, d);
    q->mu[t] = p->mu[f];
    q->of.data[t] = w->scales.data[f];
    q->of.normal[t] = w->scales.normal[f];
}

/* Its arrays; its bodies lose their places. */
static void fill_part(whole *w, int q, part *to)
{
    const perp_pile *p = w->p;
    size_t k = (size_t)p->dof;
    int nshared = 0;
    for (int i = w->first[q]; i < w->first[q + 1]; i++)
        fill_contact(w, w->order[i], i - w->first[q], to);
    for (int e = 2 * w->first[q]; e < 2 * w->first[q + 1]; e++) {
        int b = p->body[2 * (size_t)w->order[e / 2] + (size_t)(e % 2)],
            at = b < 0 ? -1 : w->local[b];
        if (at < 0) continue;
        w->local[b] = -1;
        copy(to->whole_mass, (size_t)at, p->inverse_mass, (size_t)b, k * k);
        copy(to->velocity, (size_t)at, p->velocity, (size_t)b, k);
        to->of.contacts[at] = w->scales.contacts[b];
        if (w->ranks[b] < 2) continue;
        to->shared[nshared] = at;
        to->number[nshared++] = w->number[b];
    }
}

/* The part of rank q. Returns 0 if memory is out; the rank is told so instead of sizes. */
static int make_part(whole *w, int q, part *to, perp__arena *arena)
{
    size_part(w, q, &to->n);
    if (!take_part(to, arena)) {
        to->n.d = NO_ROOM;
        return 0;
    }
    fill_part(w, q, to);
    return 1;
}

/* To the other ranks, one after the other. */
static void hand_out(whole *w)
{
    for (int q = 1; q < w->petsc->size; q++) {
        perp__arena scratch = {0};
        part to = {0};
        int ok = make_part(w, q, &to, &scratch);
        w->petsc->send(q, sizeof to.n, &to.n);
        if (ok) w->petsc->receive(q, sizeof ok, &ok);
        if (ok) move_part(w->petsc, &to, q);
        perp__arena_clear(&scratch);
    }
}

/* Impulses of all ranks, `mine` those of this one, into r in the caller's order. */
static void gather(whole *w, const double *mine, double *r)
{
    size_t d = (size_t)w->p->dimension;
    for (int q = 0; q < w->petsc->size; q++) {
        size_t n = (size_t)(w->first[q + 1] - w->first[q]);
        if (q > 0) w->petsc->receive(q, n * d * sizeof *r, w->room);
        for (size_t i = 0; i < n; i++)
            copy(r, (size_t)w->order[(size_t)w->first[q] + i], q > 0 ? w->room : mine, i, d);
    }
}

/* Rank 0: driver ------------------------------------------------------------------------------- */

/* Velocities of all bodies at r. */
static void set_velocities(const whole *w, double *r, double *v)
{
    const perp_pile *p = w->p;
    perp__pile s = {.p = p, .own = *p, .d = p->dimension, .k = p->dof, .r = r, .v = v};
    perp__pile_velocities(&s);
}

/* The best answer so far is passed to the caller after a second, two more, four more, .. a minute,
 * and so that it takes a twentieth of the time. */
static int direct(void *context, int iterations, double error, const double *r)
{
    whole *w = context;
    int word = GO_ON;
    if (w->o->progress && w->o->progress(w->o->context, iterations, error))
        word = STOP;
    else if (w->keep && perp__now() > w->next)
        word = KEEP;
    w->petsc->broadcast(sizeof word, &word);
    if (word == KEEP) {
        double started = perp__now();
        gather(w, r, w->found);
        set_velocities(w, w->found, w->v);
        w->keep(w->o->context, iterations, w->found, w->v);
        w->gap = fmax(fmin(2 * w->gap, 60), 20 * (perp__now() - started));
        w->next = perp__now() + w->gap;
    }
    return word == STOP;
}

/* The verdict, and velocities, of the whole. */
static void judge(whole *w, perp_pile_info *info)
{
    const perp_pile *p = w->p;
    const perp_fc view = {.dimension = p->dimension, .nc = p->nc, .mu = p->mu};
    info->error = perp__pile_judge(&w->scales, p, w->o->tol, w->r, &info->worst);
    info->residual = perp__fc_residual_of(&view, w->r, w->scales.u);
    info->outcome = info->error <= w->o->tol ? PERP_SOLVED : PERP_LIMIT;
    set_velocities(w, w->r, w->v);
}

static perp_status solve(whole *w, perp_pile_info *info)
{
    int is_more = 1;
    perp__arena scratch = {0};
    if (!prepare(w)) return PERP_ERR_MEMORY;
    w->petsc->broadcast(sizeof is_more, &is_more);
    hand_out(w);
    int ok = make_part(w, 0, &w->mine, &scratch);
    w->mine.of.between = direct;
    w->mine.of.context = w;
    perp_status status = solve_part(w->petsc, &w->mine, ok, info, &scratch);
    if (status == PERP_OK) {
        gather(w, w->mine.r, w->r);
        if (info->outcome != PERP_BAD_INPUT) judge(w, info);
    }
    perp__arena_clear(&scratch);
    return status;
}

perp_status perp__pile_solve_ranks(const perp__petsc *petsc, const perp_pile *p,
                                   const perp_pile_options *options, perp__pile_keep keep,
                                   double *r, double *v, perp_pile_info *info)
{
    whole w = {.petsc = petsc, .p = p, .o = options, .keep = keep, .r = r, .v = v, .gap = 1};
    w.next = perp__now() + w.gap;
    *info = (perp_pile_info){.size = info->size,
                             .outcome = PERP_BAD_INPUT,
                             .residual = (double)NAN,
                             .error = (double)INFINITY,
                             .worst = -1};
    if (!options->warm_start) memset(r, 0, (size_t)p->nc * (size_t)p->dimension * sizeof *r);
    perp_status status = perp__pile_is_sound(p, r) ? solve(&w, info) : PERP_OK;
    perp__arena_clear(&w.arena);
    return status;
}

/* Public --------------------------------------------------------------------------------------- */

perp_status perp_petsc_begin(int *rank, int *size, perp_diag *diag)
{
    const perp__petsc *petsc;
    perp_status status = perp__petsc_begin(&petsc, diag);
    if (status != PERP_OK) return status;
    if (rank) *rank = petsc->rank;
    if (size) *size = petsc->size;
    return PERP_OK;
}

void perp_petsc_serve(void)
{
    const perp__petsc *petsc = perp__petsc_begun();
    int is_more = 1;
    if (!petsc || petsc->rank == 0) return;
    while (petsc->broadcast(sizeof is_more, &is_more), is_more) serve_part(petsc);
    perp__petsc_end();
}

void perp_petsc_end(void)
{
    const perp__petsc *petsc = perp__petsc_begun();
    int is_more = 0;
    if (!petsc || petsc->rank > 0) return;
    petsc->broadcast(sizeof is_more, &is_more);
    perp__petsc_end();
}
