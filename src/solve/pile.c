/* Piles: checks, blocks of contacts, and the driver. It checks the error between sweeps and has the
 * answer judged (pile_verdict.c). */

#include "solve/pile.h"

#include "base/base.h"
#include "base/tol.h"
#include "solve/fc.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double TOL = 1e-6;

void perp_pile_options_fill(perp_pile_options *options, size_t size)
{
    const perp_pile_options o = {.tol = TOL, .max_iter = 100000, .threads = 1};
    perp__options_give(options, size, &o, sizeof o);
}

/* Checks --------------------------------------------------------------------------------------- */

static int is_shaped(const perp_pile *p)
{
    return (p->dimension == 2 || p->dimension == 3) && p->dof >= 1 && p->dof <= PERP_PILE_MAX_DOF &&
           p->nbody >= 0 && p->nc >= 0 && (p->nbody == 0 || (p->inverse_mass && p->velocity)) &&
           (p->nc == 0 || (p->body && p->jacobian && p->mu));
}

static int are_finite(size_t n, const double *x)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return 0;
    return 1;
}

/* Symmetric, with no diagonal entry below 0. */
static int is_inverse_mass(int k, const double *m)
{
    for (int i = 0; i < k; i++)
        for (int j = 0; j <= i; j++) {
            double size = sqrt(fabs(m[i * k + i])) * sqrt(fabs(m[j * k + j]));
            if (m[i * k + i] < 0 || fabs(m[i * k + j] - m[j * k + i]) > PERP_TOL_SAME * size ||
                fabs(m[i * k + j]) > (1 + PERP_TOL_SAME) * size)
                return 0;
        }
    return 1;
}

int perp__pile_is_sound(const perp_pile *p, const double *r)
{
    size_t d = (size_t)p->dimension, k = (size_t)p->dof, nc = (size_t)p->nc,
           nbody = (size_t)p->nbody;
    if (!are_finite(nbody * k * k, p->inverse_mass) || !are_finite(nbody * k, p->velocity) ||
        !are_finite(nc, p->mu) || !are_finite(nc * d, r) ||
        (p->bias && !are_finite(nc * d, p->bias)))
        return 0;
    for (int b = 0; b < p->nbody; b++)
        if (!is_inverse_mass(p->dof, p->inverse_mass + (size_t)b * k * k)) return 0;
    for (int i = 0; i < p->nc; i++) {
        const int *body = p->body + 2 * (size_t)i;
        int sides = body[1] < 0 ? 1 : 2;
        if (p->mu[i] < 0 || body[0] < 0 || body[0] >= p->nbody || body[1] < -1 ||
            body[1] >= p->nbody || body[0] == body[1] ||
            !are_finite((size_t)sides * d * k, perp__pile_jacobian(p, i, 0)))
            return 0;
    }
    return 1;
}

/* Blocks --------------------------------------------------------------------------------------- */

/* W_ii, the sum over both sides of J inv(M) J'; in the plane with a second tangent without
 * coupling. */
static void fill_block(const perp_pile *p, int i, double *W)
{
    int d = p->dimension, k = p->dof;
    memset(W, 0, 9 * sizeof *W);
    for (int side = 0; side < 2; side++) {
        int b = p->body[2 * (size_t)i + (size_t)side];
        const double *J = perp__pile_jacobian(p, i, side);
        for (int c = 0; c < d && b >= 0; c++) {
            double y[PERP_PILE_MAX_DOF];
            perp__pile_accelerate(p, b, J + c * k, y);
            for (int a = 0; a < d; a++)
                for (int j = 0; j < k; j++) W[3 * a + c] += J[a * k + j] * y[j];
        }
    }
    if (d == 2) W[8] = W[4];
}

int perp__pile_reorder(perp__pile *s, perp__arena *arena)
{
    const perp_pile *p = s->p;
    size_t d = (size_t)s->d, J = 2 * d * (size_t)s->k, nc = (size_t)p->nc;
    double *jacobian, *bias = NULL, *mu;
    int *body;
    PERP_TAKE(arena, jacobian, nc * J + 1);
    PERP_TAKE(arena, mu, nc + 1);
    PERP_TAKE(arena, body, 2 * nc + 1);
    if (p->bias) PERP_TAKE(arena, bias, nc * d + 1);
    if (arena->failed) return 0;
    for (size_t i = 0; i < nc; i++) {
        size_t from = (size_t)s->order[i];
        int sides = p->body[2 * from + 1] < 0 ? 1 : 2;
        memcpy(jacobian + i * J, p->jacobian + from * J, J / 2 * (size_t)sides * sizeof *jacobian);
        memcpy(body + 2 * i, p->body + 2 * from, 2 * sizeof *body);
        if (bias) memcpy(bias + i * d, p->bias + from * d, d * sizeof *bias);
        mu[i] = p->mu[from];
    }
    s->own = *p;
    s->own.jacobian = jacobian;
    s->own.body = body;
    s->own.bias = bias;
    s->own.mu = mu;
    return 1;
}

/* In the contact's unit, a power of two: the largest of its diagonal is from 1/2 to 1. */
static int fill_blocks(perp__pile *s)
{
    for (int i = 0; i < s->p->nc; i++) {
        double *W = s->block + 9 * (size_t)i, most;
        int exponent;
        fill_block(&s->own, i, W);
        most = fmax(W[0], fmax(W[4], W[8]));
        if (!are_finite(9, W)) return 0;
        if (!(most > 0)) continue;
        frexp(most, &exponent);
        s->unit[i] = ldexp(1, exponent);
        if (!(s->unit[i] > 0) || !isfinite(s->unit[i])) return 0;
        for (int e = 0; e < 9; e++) W[e] /= s->unit[i];
    }
    return 1;
}

static void look_at_bodies(perp__pile *s)
{
    size_t k = (size_t)s->k;
    for (int b = 0; b < s->p->nbody; b++) {
        const double *m = s->p->inverse_mass + (size_t)b * k * k;
        s->is_diagonal[b] = 1;
        for (size_t e = 0; e < k * k; e++) {
            if (m[e] != 0) s->moves[b] = 1;
            if (m[e] != 0 && e % (k + 1) != 0) s->is_diagonal[b] = 0;
        }
    }
}

void perp__pile_velocities(perp__pile *s)
{
    const perp_pile *p = &s->own;
    int d = s->d, k = s->k;
    memset(s->v, 0, (size_t)p->nbody * (size_t)k * sizeof *s->v);
    for (int i = 0; i < p->nc; i++)
        for (int side = 0; side < 2; side++) {
            int b = p->body[2 * (size_t)i + (size_t)side];
            const double *J = perp__pile_jacobian(p, i, side), *r = s->r + (size_t)i * (size_t)d;
            for (int a = 0; a < d && b >= 0; a++)
                for (int j = 0; j < k; j++) s->v[(size_t)b * (size_t)k + (size_t)j] += *J++ * r[a];
        }
    for (int b = 0; b < p->nbody; b++) {
        double y[PERP_PILE_MAX_DOF], *v = s->v + (size_t)b * (size_t)k;
        perp__pile_accelerate(p, b, v, y);
        for (int j = 0; j < k; j++) v[j] = p->velocity[(size_t)b * (size_t)k + (size_t)j] + y[j];
    }
    perp__pile_meet(s->halo, k, s->v);
}

/* Driver --------------------------------------------------------------------------------------- */

typedef struct solving {
    perp__pile s;
    perp__pile_scales scales;
    const perp__pile_part *part; /* nullable */
    const perp_pile_options *o;
    perp__arena arena;
    double *best; /* nc x d: the iterate with the least error, in the cones */
    double *look; /* nc x d */
    double error; /* of the last look */
    perp__pile_directions along;
    perp_pile_info info;
} solving;

/* Of what lasts as long as the solve. */
static size_t bytes_of(const perp_pile *p)
{
    size_t nc = (size_t)p->nc, n = nc * (size_t)p->dimension, nbody = (size_t)p->nbody;
    size_t own = 2 * n * (size_t)p->dof + (p->bias ? n : 0); /* Jacobians and bias, once more */
    return (own + 13 * nc + 7 * n + 5 * nbody * (size_t)p->dof) * sizeof(double) +
           (3 * nc + nbody) * sizeof(int) + 2 * nbody;
}

static int allocate(solving *u)
{
    perp__pile *s = &u->s;
    size_t nc = (size_t)s->p->nc, nbody = (size_t)s->p->nbody, n = nc * (size_t)s->d;
    u->info.bytes = bytes_of(s->p);
    PERP_TAKE(&u->arena, s->r, n + 1);
    PERP_TAKE(&u->arena, s->v, nbody * (size_t)s->k + 1);
    PERP_TAKE(&u->arena, s->block, 9 * nc + 1);
    PERP_TAKE(&u->arena, s->unit, nc + 1);
    PERP_TAKE(&u->arena, s->moves, nbody + 1);
    PERP_TAKE(&u->arena, s->is_diagonal, nbody + 1);
    PERP_TAKE(&u->arena, u->best, n + 1);
    PERP_TAKE(&u->arena, u->look, n + 1);
    return perp__pile_directions_create(&u->along, s, &u->arena);
}

/* Impulses to the caller's order and back. */
static void put_back(const perp__pile *s, double *r)
{
    size_t d = (size_t)s->d;
    for (int i = 0; i < s->p->nc; i++)
        memcpy(r + (size_t)s->order[i] * d, s->r + (size_t)i * d, d * sizeof *r);
}

static void take_over(perp__pile *s, const double *r)
{
    size_t d = (size_t)s->d;
    for (int i = 0; i < s->p->nc; i++)
        memcpy(s->r + (size_t)i * d, r + (size_t)s->order[i] * d, d * sizeof *r);
}

/* Judge the iterate where its cones are; keep the best. 1: it is solved. */
static int look(solving *u)
{
    int worst;
    size_t bytes = (size_t)u->s.p->nc * (size_t)u->s.d * sizeof *u->look;
    put_back(&u->s, u->look);
    double error = perp__pile_judge(&u->scales, u->s.p, u->o->tol, u->look, &worst);
    u->error = error;
    if (!(error >= u->info.error)) {
        u->info.error = error;
        u->info.worst = worst;
        memcpy(u->best, u->look, bytes);
    }
    return error <= u->o->tol;
}

/* To be done between sweeps: is that the end? */
static int is_over(const solving *u)
{
    if (u->part)
        return u->part->between(u->part->context, u->info.iterations, u->info.error, u->best);
    return u->o->progress && u->o->progress(u->o->context, u->info.iterations, u->info.error);
}

/* Sweeps with conjugate directions; plain ones for a while if the error did not fall by a fifth
 * between two checks. */
static void sweep_until_solved(solving *u)
{
    enum { FIRST_LOOKS = 100, PLAIN = 100 };
    int next = 1, gap = 10, plain_until = 0, plain = PLAIN;
    double before = (double)INFINITY;
    while (u->info.iterations < u->o->max_iter) {
        int is_plain = u->info.iterations < plain_until;
        if (!is_plain) perp__pile_directions_before(&u->along);
        perp__pile_sweep(&u->s);
        perp__pile_meet(u->s.halo, u->s.k, u->s.v);
        if (++u->info.iterations < next && u->info.iterations < u->o->max_iter) {
            if (!is_plain) perp__pile_directions_after(&u->along);
            continue;
        }
        if (look(u) || is_over(u)) break;
        perp__pile_velocities(&u->s);
        if (!is_plain && u->info.iterations > FIRST_LOOKS && !(u->error < 0.8 * before)) {
            plain_until = u->info.iterations + plain;
            plain += plain / 2;
            perp__pile_directions_forget(&u->along);
        } else if (!is_plain) {
            perp__pile_directions_after(&u->along);
        }
        before = u->error;
        next = u->info.iterations + gap;
        if (gap < 100) gap += 10;
    }
}

static double residual_of(const solving *u, double *u_of)
{
    const perp_pile *p = u->s.p;
    const perp_fc view = {.dimension = p->dimension, .nc = p->nc, .mu = p->mu};
    return perp__fc_residual_of(&view, u->best, u_of);
}

/* From the start at r to the best iterate. */
static void iterate(solving *u, const double *r)
{
    perp__pile *s = &u->s;
    u->info.outcome = PERP_LIMIT;
    u->info.colours = s->ncolour;
    take_over(s, r);
    perp__pile_velocities(s);
    if (!look(u)) sweep_until_solved(u);
}

/* 0: memory. */
static int prepare(solving *u)
{
    perp__pile *s = &u->s;
    if (!allocate(u)) return 0;
    look_at_bodies(s);
    return perp__pile_colour(s, &u->arena) && perp__pile_reorder(s, &u->arena) &&
           perp__pile_scales_create(&u->scales, s->p, u->part, &u->arena);
}

static perp_status solve(solving *u, const perp_pile *p, double *r, double *v)
{
    perp__pile *s = &u->s;
    size_t n = (size_t)p->nc * (size_t)p->dimension;
    if (!u->o->warm_start) memset(r, 0, n * sizeof *r);
    if (!perp__pile_is_sound(p, r)) return PERP_OK;
    if (!prepare(u)) return PERP_ERR_MEMORY;
    if (!fill_blocks(s)) return PERP_OK;
    iterate(u, r);
    memcpy(r, u->best, n * sizeof *r);
    u->info.error = perp__pile_judge(&u->scales, p, u->o->tol, r, &u->info.worst);
    u->info.residual = residual_of(u, u->scales.u);
    if (u->info.error <= u->o->tol) u->info.outcome = PERP_SOLVED;
    take_over(s, r);
    perp__pile_velocities(s);
    if (v) memcpy(v, s->v, (size_t)p->nbody * (size_t)p->dof * sizeof *v);
    return PERP_OK;
}

/* One that cannot go on takes all others with it before they wait for it. */
static perp_status solve_part(solving *u, double *r)
{
    perp__pile *s = &u->s;
    const perp__pile_halo *halo = &u->part->halo;
    if (perp__pile_sum(halo, !prepare(u)) > 0) return PERP_ERR_MEMORY;
    s->own.inverse_mass = u->part->inverse_mass;
    if (perp__pile_sum(halo, !fill_blocks(s)) > 0) return PERP_OK;
    iterate(u, r);
    memcpy(r, u->best, (size_t)s->p->nc * (size_t)s->d * sizeof *r);
    return PERP_OK;
}

perp_status perp__pile_solve_part(const perp__pile_part *part, const perp_pile_options *options,
                                  double *r, perp_pile_info *info)
{
    const perp_pile *p = &part->pile;
    solving u = {.s = {.p = p,
                       .d = p->dimension,
                       .k = p->dof,
                       .threads = options->threads,
                       .halo = &part->halo},
                 .part = part,
                 .o = options,
                 .info = {.outcome = PERP_BAD_INPUT, .error = (double)INFINITY, .worst = -1}};
    perp_status status = solve_part(&u, r);
    perp__arena_clear(&u.arena);
    perp__result_give(info, &u.info, sizeof u.info);
    return status;
}

perp_status perp_pile_solve(const perp_pile *problem, const perp_pile_options *options, double *r,
                            double *v, perp_pile_info *info)
{
    perp_pile_options o = {.tol = TOL, .max_iter = 100000, .threads = 1};
    if (!PERP__FITS(info) || !problem || !is_shaped(problem) || (problem->nc > 0 && !r) ||
        !perp__options_take(&o, sizeof o, options) || !(o.tol > 0 && o.tol <= PERP_TOL_LARGEST) ||
        o.max_iter < 1 || o.threads < 1)
        return PERP_ERR_ARG;
    solving u = {
        .s = {.p = problem, .d = problem->dimension, .k = problem->dof, .threads = o.threads},
        .o = &o,
        .info = {.outcome = PERP_BAD_INPUT,
                 .residual = (double)NAN,
                 .error = (double)INFINITY,
                 .worst = -1}};
    double none; /* of no contacts r may be NULL */
    perp_status status = solve(&u, problem, r ? r : &none, v);
    perp__arena_clear(&u.arena);
    perp__result_give(info, &u.info, sizeof u.info);
    return status;
}
