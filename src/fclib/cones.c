/* Contact problems without W. Alternating directions bring the forces near, and Newton's method on
 * the augmented Lagrangian ends them. If it fails, more of the former follow. */

#include "fclib/cones.h"
#include "solve/fc.h"

#include <math.h>
#include <string.h>

enum { FIRST = 400, NEWTON = 30, MOST = 20000 };

typedef struct iterate {
    double *x, *v, *z, *y, *x_try, *v_try;
} iterate;

static int take(const perp__fclib_cones *s, perp__arena *arena, iterate *at, perp__cones_run *run)
{
    PERP_TAKE(arena, at->x, s->m + 1);
    PERP_TAKE(arena, at->z, s->m + 1);
    PERP_TAKE(arena, at->y, s->m + 1);
    PERP_TAKE(arena, at->x_try, s->m + 1);
    PERP_TAKE(arena, at->v, s->nv + 1);
    PERP_TAKE(arena, at->v_try, s->nv + 1);
    PERP_TAKE(arena, run->best, s->m + 1);
    PERP_TAKE(arena, run->trial, s->m + 1);
    return !arena->failed;
}

static int is_over(const perp__cones_run *run)
{
    return run->error <= run->tol || run->is_stopped || run->iterations >= run->max_iter;
}

/* Rounds of ADMM, each longer than the last, and Newton's method from what they found: a step of it
 * costs as much as dozens of theirs. */
static perp_status go(perp__fclib_cones *s, perp__cones_run *run, iterate *at)
{
    double rho = 1;
    perp_status status = PERP_OK;
    for (int limit = FIRST; status == PERP_OK && !is_over(run); limit *= 2) {
        if (limit > run->max_iter - run->iterations) limit = run->max_iter - run->iterations;
        status = perp__cones_admm(s, run, limit, &rho, at->x, at->v, at->z, at->y);
        if (status == PERP_OK) status = perp__cones_look(s, run, at->x, at->v_try);
        if (status != PERP_OK || is_over(run)) break;
        memcpy(at->x_try, at->x, (size_t)s->m * sizeof *at->x);
        memcpy(at->v_try, at->v, (size_t)s->nv * sizeof *at->v);
        status = perp__cones_newton(s, run, NEWTON, at->x_try, at->v_try);
    }
    return status;
}

static perp_status solve(perp__fclib_cones *s, perp__cones_run *run, perp__arena *arena, double *r,
                         double *v, double *l)
{
    iterate at;
    perp_status status = perp__cones_scales(s, arena);
    if (status != PERP_OK) return status;
    if (!take(s, arena, &at, run)) return PERP_ERR_MEMORY;
    memcpy(at.x, r, (size_t)s->n * sizeof *r);
    status = perp__cones_motion(s, r, at.v, at.x + s->n);
    if (status != PERP_OK) return status;
    perp__cones_velocities(s, at.v, at.z);
    memcpy(run->best, at.x, (size_t)s->m * sizeof *r);
    for (int i = 0; i < s->nc; i++)
        perp__fc_snap(s->d, s->p->mu[i], run->best + (size_t)i * (size_t)s->d);
    run->error = perp__cones_error(s, run->tol, run->best, at.z);
    status = go(s, run, &at);
    if (status != PERP_OK) return status;
    memcpy(r, run->best, (size_t)s->n * sizeof *r);
    memcpy(l, run->best + s->n, (size_t)s->nl * sizeof *l);
    return perp__cones_motion(s, r, v, l);
}

perp_status perp__cones_solve(const perp_fclib_problem *p, const perp_pile *pile,
                              const perp_fclib_options *o, double *r, double *v, double *l,
                              perp_fclib_info *info, const char **why)
{
    perp__fclib_cones s;
    perp__arena arena = {0};
    perp__cones_run run = {.max_iter = o->max_iter > 0 ? o->max_iter : MOST,
                           .tol = o->tol,
                           .progress = o->progress,
                           .context = o->context,
                           .error = (double)INFINITY};
    perp_status status = perp__cones_create(&s, p, pile, o->threads, &arena, why);
    if (status == PERP_OK) status = solve(&s, &run, &arena, r, v, l);
    *info = (perp_fclib_info){.size = info->size,
                              .outcome = run.error <= o->tol ? PERP_SOLVED : PERP_LIMIT,
                              .method = "cones",
                              .iterations = run.iterations,
                              .bodies = pile ? pile->nbody : 0,
                              .error = run.error};
    perp__cones_clear(&s);
    perp__arena_clear(&arena);
    return status;
}
