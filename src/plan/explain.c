/* Why a plan is infeasible. The conditions at nodes become soft, and the sum of their violations is
 * minimised (l1), each relative to the size of its own terms. Active conditions with a nonzero
 * multiplier at that minimum are named. */

#include "external/lp.h"
#include "model/plan_block.h"
#include "plan/nlp.h"

#include <math.h>
#include <string.h>

/* A condition is missed by more than this part of its terms. One with a larger multiplier, in its
 * own unit, holds the misses where they are. */
static const double MISSED = 1e-4, PULLS = 1e-4;
/* Of a phase's guessed length: what is shorter has collapsed; what is nearer to the end of its
 * range is there. */
static const double COLLAPSED = 1e-3, AT_BOUND = 1e-4;

#define BY_PROOF                                                                                   \
    "no plan with these nodes keeps all conditions, by proof: those that are linear contradict "   \
    "each other"

typedef struct explainer {
    perp__program *g;
    perp__ipm *ipm;
    double *w, *p, *guess;   /* guess: of p */
    double *miss;            /* by condition of the block: the size of its terms */
    int is_proved, by_proof; /* by_proof: what is in conflict is what stands in the proof */
    char *in_row, *in_bound; /* of the proof: perp__plan_is_infeasible */
    perp_diag *diag;
} explainer;

static void say_place(const explainer *u, int at)
{
    perp__place place = perp__source_place(&u->g->model->source, at);
    perp__diag_append(u->diag, "%s:%ld:%ld: ", place.file, place.line, place.column);
}

/* Beside the size of its terms. */
static double missed_by(const explainer *u, int i)
{
    size_t K = (size_t)u->g->K,
           at = (size_t)(u->g->soft.w + 2 * i) * K + (size_t)u->g->soft.step[i];
    return fmax(u->w[at], u->w[at + K]);
}

static int say_missed(const explainer *u)
{
    const perp__plan_block *b = u->g->model->plan;
    int missed = 0;
    for (int i = 0; i < u->g->soft.n; i++) {
        const perp__plan_condition *c = &b->condition[u->g->soft.condition[i]];
        if (missed_by(u, i) < MISSED) continue;
        if (!missed++)
            perp__refuse(u->diag, PERP_OK, perp__in(u->g->model->source.name),
                         u->is_proved
                             ? BY_PROOF "; the nearest one found misses\n"
                             : "no plan was found that keeps all conditions. Where the search "
                               "ended no small change brings them nearer, which is no proof that "
                               "there is none; the nearest one found misses\n");
        say_place(u, c->at);
        perp__diag_append(u->diag, "'%s' by %.4g\n", c->text,
                          u->miss[u->g->soft.condition[i]] * missed_by(u, i));
    }
    return missed;
}

/* Is the lower (upper: 1) bound of an unknown active with a multiplier, or does it stand in the
 * proof? */
static int pulls_at(const explainer *u, size_t at, int upper)
{
    const double *of = upper ? perp__ipm_upper(u->ipm) : perp__ipm_lower(u->ipm);
    if (u->by_proof) return u->in_bound[at] == (upper ? PERP__AT_UPPER : PERP__AT_LOWER);
    return of[at] * u->g->unit.w[at / (size_t)u->g->K] > PULLS;
}

/* At how many steps the ends of a range do. */
static void say_range(const explainer *u, const perp__item *item, int first)
{
    const perp__program *g = u->g;
    int at_lo = 0, at_hi = 0;
    for (int c = 0; c < g->npoint; c++)
        for (int k = 0; k < g->K; k++) {
            size_t j = (size_t)(c * g->nb + first), at = j * (size_t)g->K + (size_t)k;
            at_lo += pulls_at(u, at, 0) && isfinite(item->lo);
            at_hi += pulls_at(u, at, 1) && isfinite(item->hi);
        }
    if (at_lo + at_hi == 0) return;
    say_place(u, item->at);
    perp__diag_append(u->diag, "the range of '%s': ", item->name);
    if (at_lo)
        perp__diag_append(u->diag, "at %g in %d of %d steps", item->lo, at_lo, g->K * g->npoint);
    if (at_hi)
        perp__diag_append(u->diag, "%sat %g in %d of %d steps", at_lo ? ", " : "", item->hi, at_hi,
                          g->K * g->npoint);
    perp__diag_append(u->diag, "\n");
}

/* Is the length of phase q at the end of its range? */
static int is_at_bound(const explainer *u, int q)
{
    const perp__program *g = u->g;
    double x = u->p[g->phase.run_p + q], slack = AT_BOUND * u->guess[g->phase.run_p + q];
    return x - g->bound.plo[g->phase.run_p + q] <= slack ||
           g->bound.phi[g->phase.run_p + q] - x <= slack;
}

static void say_horizon(const explainer *u)
{
    const perp__program *g = u->g;
    const perp__plan_block *b = g->model->plan;
    double T = 0;
    int bounds = 0;
    for (int q = 0; q < g->phase.nrun; q++) {
        T += u->p[g->phase.run_p + q];
        bounds += is_at_bound(u, q);
    }
    if (b->horizon >= 0 && !b->is_free) {
        say_place(u, b->horizon_at);
        perp__diag_append(u->diag, "the horizon of %.9g\n", g->horizon);
    } else if (b->is_free && bounds) {
        say_place(u, b->horizon_at);
        perp__diag_append(u->diag, "the range of the horizon, which is %g\n", T);
    }
    for (int q = 0; q < g->phase.named; q++) {
        const perp__plan_phase *phase = &b->phase[q];
        if (!phase->horizon_at || !is_at_bound(u, q)) continue;
        say_place(u, phase->horizon_at);
        perp__diag_append(u->diag, "the horizon of phase '%s', which is %g\n", phase->name,
                          u->p[g->phase.run_p + q]);
    }
}

/* Did the search shrink a free horizon to almost 0? There no input moves anything, so local
 * infeasibility says nothing about longer horizons. Returns 1: a message says so. */
static int say_collapsed(const explainer *u)
{
    const perp__program *g = u->g;
    for (int q = 0; q < g->phase.nrun; q++) {
        double length = u->p[g->phase.run_p + q];
        if (!(length < COLLAPSED * u->guess[g->phase.run_p + q])) continue;
        say_place(u, g->model->plan->at);
        perp__diag_append(u->diag,
                          "the search ended where %s takes %.3g s, in which nothing moves; a "
                          "least horizon, or another guess, keeps it from there\n",
                          g->phase.n > 1 ? "a phase" : "the plan", length);
        return 1;
    }
    return 0;
}

/* At how many steps a condition that entered as bounds does. */
static int pulls_as_bound(const explainer *u, int condition)
{
    const perp__program *g = u->g;
    int pulls = 0;
    for (int i = 0; i < g->has.nbounded; i++) {
        const perp__plan_bounded *b = &g->has.bounded[i];
        for (int k = b->first; k < b->last && b->w >= 0 && b->condition == condition; k++) {
            size_t at = (size_t)b->w * (size_t)g->K + (size_t)k;
            pulls += (isfinite(b->lo) && g->bound.wlo[at] == b->lo && pulls_at(u, at, 0)) ||
                     (isfinite(b->hi) && g->bound.whi[at] == b->hi && pulls_at(u, at, 1));
        }
    }
    return pulls;
}

/* Conditions of the plan block that hold and are active with a multiplier, or stand in the
 * proof. */
static void say_conditions(const explainer *u)
{
    const perp__program *g = u->g;
    const perp__plan_block *b = g->model->plan;
    const double *lambda = perp__ipm_lambda(u->ipm);
    for (int i = 0; i < b->ncondition; i++) {
        int pulls = pulls_as_bound(u, i), missed = 0;
        for (int r = 0; r < g->nrow; r++)
            for (int k = 0; k < g->K && g->row[r].condition == i; k++) {
                size_t at = (size_t)r * (size_t)g->K + (size_t)k;
                pulls += u->by_proof ? u->in_row[at] : fabs(lambda[at]) * g->unit.r[r] > PULLS;
            }
        for (int s = 0; s < g->soft.n; s++)
            missed |= g->soft.condition[s] == i && missed_by(u, s) >= MISSED;
        if (!pulls || missed) continue;
        say_place(u, b->condition[i].at);
        perp__diag_append(u->diag, "'%s'\n", b->condition[i].text);
    }
}

static void say_conflict(const explainer *u)
{
    const perp__program *g = u->g;
    const perp_model *m = g->model;
    perp__diag_append(u->diag, "%s: in conflict with\n", m->source.name);
    say_horizon(u);
    for (int i = 0; i < g->ns; i++) say_range(u, &m->item[PERP_STATE][i], i);
    for (int i = 0; i < m->nvar; i++) say_range(u, &m->item[PERP_VAR][i], g->nx + i);
    for (int i = 0; i < g->nu; i++)
        say_range(u, &m->item[PERP_INPUT][g->input_item[i]], g->nx + g->nv + g->nsplit + i);
    say_conditions(u);
}

/* The sizes of the conditions' terms, by a program in which a miss has no size yet. Returns 0:
 * memory. */
static int find_misses(explainer *u, const perp__program *hard, const perp__program_options *o,
                       perp_status *status)
{
    int n = hard->model->plan->ncondition;
    perp__program *g = perp__program_create(hard->model, o, status, NULL);
    perp__arena arena = {0};
    double *w, *p;
    if (!g) return 0;
    PERP_TAKE(&arena, w, (size_t)g->nw * (size_t)g->K);
    PERP_TAKE(&arena, p, g->np);
    int ok = !arena.failed && perp__program_guess(hard, w, p, NULL) == PERP_OK &&
             perp__program_size_conditions(g, w, p, u->miss);
    for (int i = 0; i < n; i++)
        if (!(u->miss[i] > 0)) u->miss[i] = 1;
    perp__arena_clear(&arena);
    perp__program_destroy(g);
    return ok;
}

/* Without Clp the multipliers are those of the least miss with the conditions that are not linear
 * left out. Returns 0: memory. */
static int find_proof(explainer *u, const perp__program *hard, const perp__ipm_options *options,
                      perp__arena *arena)
{
    perp__program *g = u->g;
    size_t K = (size_t)g->K, rows = (size_t)g->nrow * K;
    perp__bounds bound = g->bound;
    perp__ipm_options o = *options;
    double *w, *p;
    int by_clp = perp__lp_available();
    PERP_TAKE(arena, u->in_row, rows);
    PERP_TAKE(arena, u->in_bound, (size_t)g->nw * K + (size_t)g->np);
    PERP_TAKE(arena, w, (size_t)g->nw * K);
    PERP_TAKE(arena, p, g->np);
    PERP_TAKE(arena, bound.rlo, rows);
    PERP_TAKE(arena, bound.rhi, rows);
    if (arena->failed || perp__program_guess(hard, w, p, NULL) != PERP_OK) return 0;
    for (size_t i = 0; i < rows; i++) {
        int is_in = g->row[i / K].is_affine;
        bound.rlo[i] = is_in ? g->bound.rlo[i] : -(double)INFINITY;
        bound.rhi[i] = is_in ? g->bound.rhi[i] : (double)INFINITY;
    }
    o.bound = &bound;
    if (!by_clp) perp__ipm_solve(u->ipm, &o, w, p);
    u->is_proved = perp__plan_is_infeasible(g, &bound, by_clp ? NULL : perp__ipm_lambda(u->ipm),
                                            u->in_row, u->in_bound);
    return u->is_proved >= 0;
}

/* Of the soft program u->g. */
static int explain(explainer *u, const perp__program *hard, const perp__ipm_options *options,
                   int only_proof, perp__arena *arena)
{
    const perp__program *g = u->g;
    u->ipm = perp__ipm_create(arena, u->g);
    PERP_TAKE(arena, u->w, (size_t)g->nw * (size_t)g->K);
    PERP_TAKE(arena, u->p, g->np);
    PERP_TAKE(arena, u->guess, g->np);
    if (arena->failed || /* hard's unknowns come first */
        perp__program_guess(hard, u->w, u->p, NULL) != PERP_OK ||
        !perp__program_find_units(u->g, u->w, u->p))
        return -1;
    if (g->np > 0) memcpy(u->guess, u->p, (size_t)g->np * sizeof *u->guess);
    if (!find_proof(u, hard, options, arena)) return -1;
    if (only_proof && !u->is_proved) return 0;
    perp__ipm_result run = perp__ipm_solve(u->ipm, options, u->w, u->p);
    int missed = run.status == IPM_SOLVED && (u->is_proved || !say_collapsed(u)) &&
                 say_missed(u); /* no claim from a run that got stuck */
    u->by_proof = u->is_proved && !missed;
    if (u->by_proof) perp__refuse(u->diag, PERP_OK, perp__in(g->model->source.name), BY_PROOF "\n");
    if (missed || u->is_proved) say_conflict(u);
    return u->is_proved ? 2 : missed > 0;
}

int perp__plan_explain(const perp__program *hard, const perp__program_options *options,
                       const perp__ipm_options *ipm_options, int only_proof, perp_diag *diag)
{
    perp__program_options o = *options;
    perp_status status = PERP_ERR_MEMORY;
    explainer u = {.diag = diag};
    perp__arena arena = {0};
    int result = -1;
    PERP_TAKE(&arena, u.miss, hard->model->plan->ncondition);
    o.soft = 1;
    if (!arena.failed && find_misses(&u, hard, &o, &status)) {
        o.miss = u.miss;
        u.g = perp__program_create(hard->model, &o, &status, NULL);
    }
    if (u.g)
        result = explain(&u, hard, ipm_options, only_proof, &arena);
    else if (status != PERP_ERR_MEMORY && status != PERP_OK)
        result = 0;
    perp__ipm_destroy(u.ipm);
    perp__arena_clear(&arena);
    perp__program_destroy(u.g);
    return result;
}
