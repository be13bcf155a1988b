/* Nonsmooth nonlinear conjugate gradients over sweeps (Silcowitz, Niebe and Erleben 2010). The
 * change by a sweep is the descent g. With Fletcher and Reeves' share beta = |g|^2 / |g before|^2
 * of the last direction p, r += beta p and p = beta p + g. If the descent grows, beta > 1, the
 * method restarts. Velocities are affine in impulses and are updated the same way. |g|^2 is that of
 * the contacts' own masses, summed in pieces, so that threads change no bit. */

#include "base/parallel.h"
#include "solve/pile.h"

#include <string.h>

enum { PIECE = 4096 }; /* contacts, or bodies, that a thread takes at once */

int perp__pile_directions_create(perp__pile_directions *a, const perp__pile *s, perp__arena *arena)
{
    size_t n = (size_t)s->p->nc * (size_t)s->d, nv = (size_t)s->p->nbody * (size_t)s->k;
    a->s = s;
    PERP_TAKE(arena, a->r_before, n + 1);
    PERP_TAKE(arena, a->r_along, n + 1);
    PERP_TAKE(arena, a->v_before, nv + 1);
    PERP_TAKE(arena, a->v_along, nv + 1);
    PERP_TAKE(arena, a->part, s->p->nc / PIECE + 1);
    return !arena->failed;
}

void perp__pile_directions_forget(perp__pile_directions *a)
{
    a->size = 0;
}

void perp__pile_directions_before(perp__pile_directions *a)
{
    const perp__pile *s = a->s;
    memcpy(a->r_before, s->r, (size_t)s->p->nc * (size_t)s->d * sizeof *s->r);
    memcpy(a->v_before, s->v, (size_t)s->p->nbody * (size_t)s->k * sizeof *s->v);
}

static int pieces(int n)
{
    return (n + PIECE - 1) / PIECE;
}

static void measure(void *context, int thread, int piece)
{
    perp__pile_directions *a = context;
    const perp__pile *s = a->s;
    int first = piece * PIECE, end = first + PIECE < s->p->nc ? first + PIECE : s->p->nc;
    double size = 0;
    (void)thread;
    for (int i = first; i < end; i++) {
        double sum = 0;
        for (size_t e = (size_t)i * (size_t)s->d; e < ((size_t)i + 1) * (size_t)s->d; e++)
            sum += (s->r[e] - a->r_before[e]) * (s->r[e] - a->r_before[e]);
        size += sum * s->unit[i];
    }
    a->part[piece] = size;
}

/* x += beta p, p = beta p + (x - before) for entries first .. end - 1. */
static void go_along(const perp__pile_directions *a, size_t first, size_t end, double *x,
                     const double *before, double *along)
{
    for (size_t e = first; e < end; e++) {
        double step = a->beta * along[e];
        along[e] = step + x[e] - before[e];
        x[e] += step;
    }
}

static void move_contacts(void *context, int thread, int piece)
{
    const perp__pile_directions *a = context;
    size_t d = (size_t)a->s->d, n = (size_t)a->s->p->nc * d, first = (size_t)piece * PIECE * d,
           end = first + PIECE * d;
    (void)thread;
    go_along(a, first, end < n ? end : n, a->s->r, a->r_before, a->r_along);
}

static void move_bodies(void *context, int thread, int piece)
{
    const perp__pile_directions *a = context;
    size_t k = (size_t)a->s->k, n = (size_t)a->s->p->nbody * k, first = (size_t)piece * PIECE * k,
           end = first + PIECE * k;
    (void)thread;
    go_along(a, first, end < n ? end : n, a->s->v, a->v_before, a->v_along);
}

void perp__pile_directions_after(perp__pile_directions *a)
{
    const perp__pile *s = a->s;
    int n = pieces(s->p->nc);
    double before = a->size;
    perp__parallel(s->threads, n, measure, a);
    a->size = 0;
    for (int k = 0; k < n; k++) a->size += a->part[k];
    a->size = perp__pile_sum(s->halo, a->size);
    a->beta = before > 0 && a->size <= before ? a->size / before : 0;
    if (before > 0 && a->size > before) { /* begin anew with the next sweep */
        memset(a->r_along, 0, (size_t)s->p->nc * (size_t)s->d * sizeof *a->r_along);
        memset(a->v_along, 0, (size_t)s->p->nbody * (size_t)s->k * sizeof *a->v_along);
        return;
    }
    perp__parallel(s->threads, n, move_contacts, a);
    perp__parallel(s->threads, pieces(s->p->nbody), move_bodies, a);
}
