/* Initial guesses of a plan, one after the other. The first is the requested one. Then comes the
 * model's guess: with the cost weighed more, with free lengths fixed at first, and shaken. Next are
 * a random point and the solution on a coarse mesh. The last are the motion of the guessed inputs,
 * with its contacts, and random points. */

#include "model/plan_block.h"
#include "plan/plan.h"

#include <math.h>
#include <string.h>

typedef enum rung {
    ASKED,
    COST_FIRST,
    LENGTHS_HELD,
    SHAKEN,
    A_RANDOM,
    ANOTHER_RANDOM, /* without lengths: the fifth is the last that is tried by default */
    COARSE,
    SIMULATED,
    RANDOM /* from there on */
} rung;

/* Of an unknown's unit: a guess shaken, the ends of a random point, and in balanced units. */
static const double SHAKE = 0.1, FAR = 10, FAR_IF_BALANCED = 20;

/* Is there such a start for this plan? */
static int has_rung(const perp_plan *plan, rung way)
{
    const perp__plan_block *b = plan->model ? plan->model->plan : NULL;
    switch (way) {
    case LENGTHS_HELD: return plan->program->phase.nrun > 0;
    case ANOTHER_RANDOM: return plan->program->phase.nrun == 0;
    case COARSE: return b && perp__plan_may_be_coarse(plan);
    case SIMULATED:
        return b && plan->program->ns > 0 && plan->model->kind != PERP_DISCRETE && !b->simulates &&
               !b->nlink && !b->nparam;
    default: return 1;
    }
}

static rung rung_of(const perp_plan *plan, int run)
{
    rung way = ASKED;
    for (; way < RANDOM; way++)
        if (has_rung(plan, way) && run-- == 0) break;
    return way;
}

const char *perp__plan_start_name(const perp_plan *plan, int run)
{
    static const char *const asked[] = {"the model's guess", "zeros", "a random point"};
    switch (rung_of(plan, run)) {
    case COST_FIRST: return "the model's guess, the cost before the barrier";
    case LENGTHS_HELD: return "the model's guess, lengths held at first";
    case SHAKEN: return "the model's guess, shaken";
    case COARSE: return "the plan on a coarse mesh";
    case SIMULATED: return "the motion of the guessed inputs";
    case A_RANDOM:
    case ANOTHER_RANDOM:
    case RANDOM: return "a random point";
    default: return plan->has_guess ? "the table" : asked[plan->options.start];
    }
}

static int is_a_random_point(rung way)
{
    return way == A_RANDOM || way == ANOTHER_RANDOM || way == RANDOM;
}

int perp__plan_is_far(const perp_plan *plan, int run)
{
    rung way = rung_of(plan, run);
    int is_random =
        way == ASKED && !plan->has_guess && plan->options.start == PERP_PLAN_START_RANDOM;
    return is_random || way == SHAKEN || is_a_random_point(way);
}

int perp__plan_is_near(const perp_plan *plan, int run)
{
    int is_near = plan->has_guess || plan->program->has.guards;
    return (run == 0 && is_near) || rung_of(plan, run) == SIMULATED;
}

perp_status perp__plan_prepare_start(perp_plan *plan, int run)
{
    return rung_of(plan, run) == COARSE && !plan->rough ? perp__plan_create_rough(plan) : PERP_OK;
}

static double uniform(unsigned long long *state, double lo, double hi)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return lo + (hi - lo) * (double)(*state >> 11) / 9007199254740992.0;
}

static double within(double x, double lo, double hi)
{
    return fmax(lo, fmin(hi, x));
}

/* Find a motion of the guessed lengths first: a free horizon may shrink faster than a motion is
 * found. */
static void hold_lengths(perp_plan *plan, int run)
{
    const perp__program *g = plan->program;
    double *lo = plan->best.p, *hi = plan->from.p; /* which no search needs yet */
    for (int q = 0; q < g->phase.nrun; q++) {
        size_t at = (size_t)(g->phase.run_p + q);
        lo[q] = g->bound.plo[at];
        hi[q] = g->bound.phi[at];
        g->bound.plo[at] = g->bound.phi[at] = plan->p[at];
    }
    perp__plan_run_homotopy(plan, run, plan->options.relaxation_min, 0);
    for (int q = 0; q < g->phase.nrun; q++) {
        size_t at = (size_t)(g->phase.run_p + q);
        g->bound.plo[at] = lo[q];
        g->bound.phi[at] = hi[q];
    }
}

/* The guess's states and forces become those of a simulation with its inputs, where that goes
 * through. */
static void simulate(perp_plan *plan)
{
    perp__program *g = plan->program;
    if (!perp__plan_guess_simulate(&plan->options, g, plan->w, plan->p, NULL) ||
        !perp__program_guess_cones(g, 0, plan->w, plan->p) ||
        (g->has.guards && !perp__program_guess_parts(g, plan->w, plan->p)))
        plan->last.out_of_memory = 1;
}

void perp__plan_set_start(perp_plan *plan, int run)
{
    perp_plan_start start = plan->options.start;
    unsigned long long state = plan->options.seed + 1000003ULL * (unsigned)run;
    const perp__program *g = plan->program;
    size_t K = (size_t)g->K;
    rung way = rung_of(plan, run);
    if (way != ASKED)
        start = is_a_random_point(way) ? PERP_PLAN_START_RANDOM : PERP_PLAN_START_MODEL;
    perp__program_treat_cones(plan->program,
                              way == COST_FIRST ? PERP__CONES_SOFT : PERP__CONES_SMOOTH);
    if (perp__plan_start_easier(plan, run)) return;
    if (run == 0 && plan->has_guess) {
        memcpy(plan->w, plan->guess.w, plan->nW * sizeof *plan->w);
        memcpy(plan->p, plan->guess.p, plan->nP * sizeof *plan->p);
        return;
    }
    if (perp__plan_start_coarse(plan, way == COARSE ? plan->rough : plan->coarse, run)) return;
    memcpy(plan->w, plan->initial.w, plan->nW * sizeof *plan->w);
    memcpy(plan->p, plan->initial.p, plan->nP * sizeof *plan->p);
    for (size_t i = 0; i < plan->nW + plan->nP && (start != PERP_PLAN_START_MODEL || way == SHAKEN);
         i++) {
        int is_p = i >= plan->nW;
        size_t j = is_p ? i - plan->nW : i;
        double lo = is_p ? plan->pairing.bound->plo[j] : plan->pairing.bound->wlo[j],
               hi = is_p ? plan->pairing.bound->phi[j] : plan->pairing.bound->whi[j];
        double *x = is_p ? &plan->p[j] : &plan->w[j], unit = is_p ? g->unit.p[j] : g->unit.w[j / K],
               far = (g->unit.are_balanced ? FAR_IF_BALANCED : FAR) * unit;
        if (way == SHAKEN)
            *x += uniform(&state, -SHAKE, SHAKE) * unit;
        else
            *x =
                start == PERP_PLAN_START_ZEROS ? 0 : uniform(&state, fmax(lo, -far), fmin(hi, far));
        *x = within(*x, lo, hi);
    }
    if (way == LENGTHS_HELD) hold_lengths(plan, run);
    if (way == SIMULATED) simulate(plan);
}
