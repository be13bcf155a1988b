/* Nonsmooth Gauss-Seidel over a contact graph (Jean and Moreau 1992), colour after colour. The
 * contacts of a colour share no body, so threads may take them in any order and the numbers are the
 * same. */

#include "base/parallel.h"
#include "solve/fc.h"
#include "solve/pile.h"

#include <string.h>

enum { COLOURS = 64, PIECE = 512 }; /* bits of a word; contacts that a thread takes at once */

/* Colours -------------------------------------------------------------------------------------- */

/* The first colour that neither body has yet; the last, which is done one by one, where they have
 * all. */
static int choose(const perp__pile *s, unsigned long long *used, int i)
{
    unsigned long long taken = 0;
    for (int side = 0; side < 2; side++) {
        int b = s->p->body[2 * (size_t)i + (size_t)side];
        if (b >= 0 && s->moves[b]) taken |= used[b];
    }
    int colour = 0;
    while (colour < COLOURS - 1 && taken >> colour & 1) colour++;
    for (int side = 0; side < 2; side++) {
        int b = s->p->body[2 * (size_t)i + (size_t)side];
        if (b >= 0) used[b] |= 1ULL << colour;
    }
    return colour;
}

int perp__pile_colour(perp__pile *s, perp__arena *arena)
{
    unsigned long long *used;
    char *colour;
    perp__arena scratch = {0};
    int nc = s->p->nc;
    PERP_TAKE(&scratch, used, s->p->nbody + 1);
    PERP_TAKE(&scratch, colour, nc + 1);
    PERP_TAKE(arena, s->first, COLOURS + 1);
    PERP_TAKE(arena, s->order, nc + 1);
    if (scratch.failed || arena->failed) {
        perp__arena_clear(&scratch);
        arena->failed = 1;
        return 0;
    }
    for (int i = 0; i < nc; i++) {
        colour[i] = (char)choose(s, used, i);
        s->first[colour[i] + 1]++;
        if (colour[i] >= s->ncolour) s->ncolour = colour[i] + 1;
    }
    s->is_serial = s->ncolour == COLOURS;
    for (int c = 0; c < COLOURS; c++) s->first[c + 1] += s->first[c];
    int at[COLOURS];
    memcpy(at, s->first, sizeof at);
    for (int i = 0; i < nc; i++) s->order[at[(int)colour[i]]++] = i;
    perp__arena_clear(&scratch);
    return 1;
}

/* One contact ---------------------------------------------------------------------------------- */

/* u += J v of one side. */
static inline void add_velocity(int d, int k, const double *J, const double *v, double *u)
{
    for (int a = 0; a < d; a++, J += k)
        for (int j = 0; j < k; j++) u[a] += J[j] * v[j];
}

/* v += inv(M) J' x of one side. A body that nothing moves has no colours: several threads may be at
 * it. */
static inline void push(const perp__pile *s, int d, int k, int b, const double *J, const double *x)
{
    double impulse[PERP_PILE_MAX_DOF] = {0}, *v = s->v + (size_t)b * (size_t)k;
    const double *m = s->own.inverse_mass + (size_t)b * (size_t)(k * k);
    if (!s->moves[b]) return;
    for (int a = 0; a < d; a++, J += k)
        for (int j = 0; j < k; j++) impulse[j] += J[j] * x[a];
    if (s->is_diagonal[b]) {
        for (int j = 0; j < k; j++) v[j] += m[j * k + j] * impulse[j];
        return;
    }
    for (int i = 0; i < k; i++, m += k)
        for (int j = 0; j < k; j++) v[i] += m[j] * impulse[j];
}

/* Solves contact i with the present velocities of its bodies. */
static inline void solve_contact(const perp__pile *s, int d, int k, int i)
{
    const perp_pile *p = &s->own;
    const int *body = p->body + 2 * (size_t)i;
    const double *J = perp__pile_jacobian(p, i, 0), *W = s->block + 9 * (size_t)i;
    double *r = s->r + (size_t)i * (size_t)d, unit = s->unit[i], x[3] = {0}, old[3] = {0},
           b[3] = {0};
    if (unit == 0) return;
    for (int a = 0; a < d; a++) {
        b[a] = p->bias ? p->bias[(size_t)i * (size_t)d + (size_t)a] : 0;
        x[a] = old[a] = r[a] * unit;
    }
    add_velocity(d, k, J, s->v + (size_t)body[0] * (size_t)k, b);
    if (body[1] >= 0) add_velocity(d, k, J + d * k, s->v + (size_t)body[1] * (size_t)k, b);
    for (int a = 0; a < 3; a++) b[a] -= W[3 * a] * x[0] + W[3 * a + 1] * x[1] + W[3 * a + 2] * x[2];
    perp__fc_contact(W, b, p->mu[i], x);
    for (int a = 0; a < d; a++) {
        old[a] = (x[a] - old[a]) / unit;
        r[a] = x[a] / unit;
    }
    if (old[0] == 0 && old[1] == 0 && old[2] == 0) return;
    push(s, d, k, body[0], J, old);
    if (body[1] >= 0) push(s, d, k, body[1], J + d * k, old);
}

/* Sweeps --------------------------------------------------------------------------------------- */

typedef struct piece_of {
    const perp__pile *s;
    int first, end;
} piece_of;

static void sweep_piece(void *context, int thread, int piece)
{
    const piece_of *of = context;
    int d = of->s->d, k = of->s->k, at = of->first + piece * PIECE,
        end = at + PIECE < of->end ? at + PIECE : of->end;
    (void)thread;
    for (; at < end; at++) {
        if (d == 3 && k == 6)
            solve_contact(of->s, 3, 6, at);
        else
            solve_contact(of->s, d, k, at);
    }
}

void perp__pile_sweep(const perp__pile *s)
{
    for (int c = 0; c < s->ncolour; c++) {
        piece_of of = {s, s->first[c], s->first[c + 1]};
        int n = of.end - of.first, pieces = (n + PIECE - 1) / PIECE,
            is_serial = (s->is_serial && c == s->ncolour - 1) || n < 8 * PIECE;
        perp__parallel(is_serial ? 1 : s->threads, pieces, sweep_piece, &of);
    }
}
