/* The way that a problem is solved, and its verdict: that of the contacts, and the equations from
 * the file's own matrices. */

#include "fclib/cones.h"
#include "base/tol.h"
#include "fclib/fclib.h"
#include "solve/pile.h"

#include <math.h>
#include <string.h>

enum {
    AUTO_PILE = 200,   /* contacts: fewer are quicker as blocks */
    AUTO_CONES = 100,  /* of a problem that is no pile */
    AUTO_SWEEPS = 2000 /* of a pile, before it is tried as a whole */
};
static const double CONES_TOL = 1e-6;

void perp_fclib_options_fill(perp_fclib_options *options, size_t size)
{
    const perp_fclib_options o = {.method = "auto", .threads = 1};
    perp__options_give(options, size, &o, sizeof o);
}

typedef struct solving {
    const perp_fclib_problem *p;
    perp_fclib_options o;
    perp__arena arena;
    double *r, *u, *v, *l; /* v and l: one array */
    int *place;            /* of a pile's velocities in v, perp__fclib_pile's */
    double *scale;         /* n: |terms| of u, where it was found without v and l; nullable */
    perp_fclib_info info;
    perp_diag *diag;
    perp_fclib_progress progress; /* the caller's, which o.progress asks */
    void *context;
    int is_stopped;
} solving;

static int ask(void *context, int iterations, double error)
{
    solving *s = context;
    s->is_stopped |= s->progress(s->context, iterations, error) != 0;
    return s->is_stopped;
}

/* v of the bodies to those of the file, and u. */
static void set_velocities(solving *s, const double *r, const double *v)
{
    for (int i = 0; i < s->p->M.columns; i++) s->v[i] = v[s->place[i]];
    perp__fclib_velocities(s->p, r, s->v, NULL, s->u);
}

static void keep(void *context, int iterations, const double *r, const double *v)
{
    solving *s = context;
    const perp_fclib_point point = {r, s->u, s->v, NULL};
    set_velocities(s, r, v);
    s->o.keep(s->context, iterations, &point);
}

/* petsc: by all its processes; nullable. */
static perp_status solve_pile(solving *s, const perp_pile *pile, const perp__petsc *petsc)
{
    perp_pile_options o = perp_pile_options_default();
    perp_pile_info info = {.size = sizeof info};
    double *v;
    PERP_TAKE(&s->arena, v, (size_t)pile->nbody * (size_t)pile->dof + 1);
    if (s->arena.failed) return PERP_ERR_MEMORY;
    if (s->o.tol > 0) o.tol = s->o.tol;
    if (s->o.max_iter > 0) o.max_iter = s->o.max_iter;
    o.warm_start = s->o.warm_start;
    o.threads = s->o.threads;
    o.progress = s->progress ? ask : NULL;
    o.context = s;
    s->o.tol = o.tol;
    perp_status status =
        petsc ? perp__pile_solve_ranks(petsc, pile, &o, s->o.keep ? keep : NULL, s->r, v, &info)
              : perp_pile_solve(pile, &o, s->r, v, &info);
    if (status != PERP_OK) return status;
    set_velocities(s, s->r, v);
    s->info = (perp_fclib_info){.outcome = info.outcome,
                                .method = petsc ? "petsc" : "pile",
                                .iterations = info.iterations,
                                .bodies = pile->nbody,
                                .error = info.error};
    return PERP_OK;
}

/* |q| + |W| |r| of each row. */
static double *terms_of(const perp_fc *fc, const double *r, perp__arena *arena)
{
    int d = fc->dimension;
    double *terms;
    PERP_TAKE(arena, terms, d * fc->nc + 1);
    for (int i = 0; terms && i < d * fc->nc; i++) terms[i] = fabs(fc->q[i]);
    for (int b = 0; terms && b < fc->nb; b++)
        for (int e = 0; e < d * d; e++)
            terms[fc->row[b] * d + e / d] += fabs(
                fc->block[(size_t)b * (size_t)(d * d) + (size_t)e] * r[fc->col[b] * d + e % d]);
    return terms;
}

static perp_status solve_blocks(solving *s, perp_fc_method method)
{
    perp__fclib_system system;
    perp_fc fc;
    perp_fc_options o = perp_fc_options_default();
    perp_fc_solver *solver = NULL;
    perp_fc_info info = {.size = sizeof info};
    if (s->o.tol > 0) o.tol = s->o.tol;
    o.max_iter = s->o.max_iter;
    o.warm_start = s->o.warm_start;
    s->o.tol = o.tol;
    perp_status status = perp__fclib_system_create(&system, s->p, &s->arena, s->diag);
    if (status == PERP_OK) status = perp__fclib_blocks(&system, &s->arena, &fc, s->diag);
    if (status == PERP_OK) status = perp_fc_solver_create(method, &fc, &o, &solver);
    if (status == PERP_OK) status = perp_fc_solve(solver, &fc, s->r, s->u, &info);
    if (status == PERP_OK) {
        s->info = (perp_fclib_info){.outcome = info.outcome,
                                    .method = perp_fc_method_name(info.method),
                                    .iterations = info.iterations,
                                    .error = info.error};
        if (!perp__fclib_eliminated(&system, s->r, s->v)) s->info.error = (double)INFINITY;
        s->scale = terms_of(&fc, s->r, &s->arena);
        if (!s->scale) status = PERP_ERR_MEMORY;
    }
    perp_fc_solver_destroy(solver);
    perp__fclib_system_clear(&system);
    return status;
}

/* `pile` where the problem is one. PERP_ERR_DATA: it is none for this method, and *why says so. */
static perp_status solve_cones(solving *s, const perp_pile *pile, const char **why)
{
    double tol = s->o.tol;
    if (!(tol > 0)) s->o.tol = CONES_TOL;
    perp_status status = perp__cones_solve(s->p, pile, &s->o, s->r, s->v, s->l, &s->info, why);
    if (status == PERP_OK) perp__fclib_velocities(s->p, s->r, s->v, s->l, s->u);
    if (status != PERP_OK) s->o.tol = tol;
    return status;
}

static perp_status solve_named(solving *s)
{
    perp_fc_method method = perp_fc_method_find(s->o.method);
    if (method == PERP_FC_METHOD_COUNT)
        return perp__refuse(s->diag, PERP_ERR_ARG, perp__in(NULL),
                            "method '%s' is not known for contact problems\n", s->o.method);
    return solve_blocks(s, method);
}

/* A pile by sweeps; where they take long, as a whole, if its factors allow that; else by more of
 * them. */
static perp_status solve_pile_or_cones(solving *s, const perp_pile *pile)
{
    int most = s->o.max_iter, swept;
    const char *why;
    s->o.max_iter = most > 0 && most < AUTO_SWEEPS ? most : AUTO_SWEEPS;
    perp_status status = solve_pile(s, pile, NULL);
    swept = s->info.iterations;
    if (status != PERP_OK || s->info.outcome != PERP_LIMIT || s->is_stopped ||
        most == s->o.max_iter)
        return status;
    s->o.warm_start = 1;
    s->o.max_iter = most > 0 ? most - swept : 0;
    status = solve_cones(s, pile, &why);
    if (status == PERP_ERR_DATA || status == PERP_ERR_UNAVAILABLE)
        status = solve_pile(s, pile, NULL);
    if (status == PERP_OK) s->info.iterations += swept;
    return status;
}

static perp_status solve_auto(solving *s)
{
    perp_pile pile;
    const char *why;
    perp_status status = PERP_ERR_DATA;
    if (s->p->nc > AUTO_PILE) {
        status = perp__fclib_pile(s->p, &s->arena, &pile, &s->place, &why);
        if (status == PERP_OK) return solve_pile_or_cones(s, &pile);
    }
    if (status == PERP_ERR_DATA && s->p->nc > AUTO_CONES) status = solve_cones(s, NULL, &why);
    if (status != PERP_ERR_DATA && status != PERP_ERR_UNAVAILABLE) return status;
    return solve_named(s);
}

static perp_status solve_with_method(solving *s)
{
    int is_petsc = strcmp(s->o.method, "petsc") == 0,
        is_pile = is_petsc || strcmp(s->o.method, "pile") == 0,
        is_cones = strcmp(s->o.method, "cones") == 0;
    const perp__petsc *petsc = NULL;
    perp_pile pile;
    const char *why;
    if (strcmp(s->o.method, "auto") == 0) return solve_auto(s);
    if (!is_pile && !is_cones) return solve_named(s);
    perp_status status = is_petsc ? perp__petsc_begin(&petsc, s->diag) : PERP_OK;
    if (status != PERP_OK) return status;
    status = perp__fclib_pile(s->p, &s->arena, &pile, &s->place, &why);
    if (is_pile && status == PERP_OK) return solve_pile(s, &pile, petsc);
    if (is_pile && status == PERP_ERR_DATA)
        return perp__refuse(s->diag, status, perp__in(NULL),
                            "the problem is no pile of bodies: %s\n", why);
    if (status != PERP_OK && status != PERP_ERR_DATA) return status;
    status = solve_cones(s, status == PERP_OK ? &pile : NULL, &why);
    if (status == PERP_ERR_UNAVAILABLE)
        return perp__refuse(s->diag, status, perp__in(NULL),
                            "method 'cones' needs sparse factors (MUMPS), which are not here\n");
    if (status == PERP_ERR_DATA)
        return perp__refuse(s->diag, status, perp__in(NULL),
                            "the problem is none for method 'cones': %s\n", why);
    return status;
}

/* The equations of the file. Then u is what its matrices make of r, v and l. */
static perp_status judge(solving *s)
{
    const perp_fclib_problem *p = s->p;
    double *room;
    int n = p->nc * p->dimension, nx = perp_fclib_velocities(p) + perp_fclib_multipliers(p);
    PERP_TAKE(&s->arena, room, 2 * ((size_t)n + (size_t)nx) + 1);
    if (s->arena.failed) return PERP_ERR_MEMORY;
    if (s->info.outcome == PERP_BAD_INPUT) return PERP_OK;
    s->info.equations = perp__fclib_violation(p, s->r, s->u, s->scale, s->v, s->l, room);
    s->info.error = fmax(s->info.error, s->info.equations);
    if (isnan(s->info.error)) s->info.error = (double)INFINITY;
    if (s->info.outcome == PERP_SOLVED && !(s->info.error <= s->o.tol))
        s->info.outcome = PERP_LIMIT;
    perp__fclib_velocities(p, s->r, s->v, s->l, s->u);
    s->info.residual = perp__fclib_residual(p, s->r, s->u);
    return PERP_OK;
}

static perp_status solve(solving *s)
{
    const perp_fclib_problem *p = s->p;
    int n = p->nc * p->dimension, nv = perp_fclib_velocities(p), nl = perp_fclib_multipliers(p);
    double *none = s->r; /* of no contacts r may be NULL */
    PERP_TAKE(&s->arena, s->u, n + 1);
    PERP_TAKE(&s->arena, s->v, nv + nl + 1);
    if (!none) PERP_TAKE(&s->arena, s->r, 1);
    if (s->arena.failed) return PERP_ERR_MEMORY;
    s->l = s->v + nv;
    for (int i = 0; i < n && !s->o.warm_start; i++) s->r[i] = 0;
    for (int i = 0; i < n; i++)
        if (!isfinite(s->r[i]))
            return perp__refuse(s->diag, PERP_ERR_DATA, perp__in(NULL),
                                "the guess of r has an entry that is not finite\n");
    perp_status status = solve_with_method(s);
    return status == PERP_OK ? judge(s) : status;
}

static void give(double *to, const double *from, int n)
{
    if (to && n > 0) memcpy(to, from, (size_t)n * sizeof *to);
}

perp_status perp_fclib_solve(const perp_fclib_problem *problem, const perp_fclib_options *options,
                             double *r, double *u, double *v, double *l, perp_fclib_info *info,
                             perp_diag *diag)
{
    perp_fclib_options o = {.method = "auto", .threads = 1};
    if (!PERP__FITS(info) || !problem || !perp__options_take(&o, sizeof o, options) || !o.method ||
        !(o.tol >= 0) || o.tol > PERP_TOL_LARGEST || o.max_iter < 0 || o.threads < 1 ||
        (problem->nc > 0 && !r))
        return PERP_ERR_ARG;
    if (!perp__fclib_is_shaped(problem, diag)) return PERP_ERR_ARG;
    solving s = {.p = problem,
                 .o = o,
                 .r = r,
                 .diag = diag,
                 .info = {.outcome = PERP_BAD_INPUT,
                          .method = "",
                          .residual = (double)NAN,
                          .error = (double)INFINITY}};
    s.progress = o.progress;
    s.context = o.context;
    if (o.progress) {
        s.o.progress = ask;
        s.o.context = &s;
    }
    perp_status status = solve(&s);
    if (status == PERP_OK) {
        give(u, s.u, problem->nc * problem->dimension);
        give(v, s.v, perp_fclib_velocities(problem));
        give(l, s.l, perp_fclib_multipliers(problem));
    }
    perp__result_give(info, &s.info, sizeof s.info);
    perp__arena_clear(&s.arena);
    return status == PERP_ERR_MEMORY ? perp__out_of_memory(diag, NULL) : status;
}
