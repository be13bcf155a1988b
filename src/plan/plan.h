/* Internal to src/plan: a plan while it is solved. plan.c is its public face, solve.c its phases. */

#ifndef PERP_SRC_PLAN_H
#define PERP_SRC_PLAN_H

#include "plan/kkt.h"
#include "plan/nlp.h"
#include "plan/verify.h"

/* How far the conditions of a program that is no model's are from holding at w, as perp__plan_verify. 0: memory. */
typedef struct perp__plan_judge {
    int (*at)(const void *context, const double *w, perp__plan_check *check);
    const void *context;
} perp__plan_judge;

/* What the starts of the last solve came to. */
typedef struct perp__attempts {
    perp_plan_attempt *made;
    int n, capacity;
} perp__attempts;

struct perp_plan {
    const perp_model *model;
    perp_plan_options options;
    perp__program *program;
    perp__ipm *ipm;
    perp__sides *sides;
    perp_plan *coarse;  /* of fewer steps, where there are many; nullable */
    perp_plan **easier; /* neasier: of the values of a homotopy's parameter, the last one first */
    int neasier;
    perp_model *own_model; /* of an easier plan: with its value */
    size_t nW, nP, nR;
    double *w, *p; /* the iterate */
    struct {
        double *w, *p;
    } from; /* where a phase starts */
    struct {
        double *w, *p, *lambda, *lower, *upper;
    } best; /* the best answer so far */
    struct {
        double *w, *p;
    } guess, initial; /* from a table; the model's guesses */
    int has_guess;
    perp__pairing pairing; /* which the last solve ended with, without a penalty */
    double *r, *lambda, *lower, *upper;
    double *direction; /* along which the cost falls */
    perp__kkt *kkt;
    double *residual, *costate; /* K; nx * (K + 1) */
    double *kept[4];            /* the best plan so far: w, p, residual, costate */
    double *symbol, *value;     /* of the model, for rows */
    char **costate_name;        /* nx */
    perp__plan_judge judge;     /* of a program that is no model's; else at is NULL */
    const char *phase;
    int iterations, stopped;
    struct {
        int is_b;          /* no choice of sides lowers the cost, though opening them would */
        int is_not_finite; /* the last run had no numbers to start from */
        int out_of_memory; /* a library had none */
    } last;                /* run */
    int is_idle;           /* the plan holds, and no state moves */
    perp__attempts attempt;
    perp__arena arena;
};

/* The search of plans for a program that was made by other means: one stage, no model. It takes the program over, and starts from
 * initial.w. NULL: memory. */
perp_plan *perp__plan_of_program(perp__program *program, const perp_plan_options *options,
                                 perp__plan_judge judge);
/* What run number `run` starts from, in words (ladder.c). */
const char *perp__plan_start_name(const perp_plan *plan, int run);
/* The initial guess of run number `run`: as the options ask, then the model's guesses, then random points; with many
 * nodes interpolated from the solution on a coarser mesh (coarse.c). */
void perp__plan_set_start(perp_plan *plan, int run);
/* Simulate with the guessed inputs; where that goes through, states and vars of w are its own. Where it
 * stops, diag says so. 0: memory. */
int perp__plan_guess_simulate(const perp_plan_options *options, const perp__program *program,
                              double *w, const double *p, perp_diag *diag);
/* All phases from where the plan stands. The outcome is in result; 0: memory. */
int perp__plan_run(perp_plan *plan, int start, perp_plan_result *result);
/* At a point whose derivatives were taken last (kkt), with biactive pairs open in plan->sides: 1: B-stationary; 0: a direction of
 * descent, with the sides that stay 0 along it in plan->sides; -1: neither is shown, or there is no Clp; -2: memory (certify.c). */
int perp__plan_certify(perp_plan *plan, double *direction);
/* Simulate with the inputs found, finer and by another method: `replay` and what belongs to it in result. */
perp_status perp__plan_replay(const perp_plan *plan, perp_plan_result *result, perp_diag *diag);
/* One start after another, several at a time by threads; the best is kept (starts.c). */
perp_status perp__plan_run_starts(perp_plan *plan, perp_plan_result *result);
/* Make plan->coarse where there are many steps. */
perp_status perp__plan_create_coarse(perp_plan *plan);
/* The initial guess interpolated from the solution of the coarser program; 0 if there is none. */
int perp__plan_start_coarse(perp_plan *plan, int run);
/* The same for a homotopy in a parameter (walk.c). */
perp_status perp__plan_create_easier(perp_plan *plan, perp_diag *diag);
int perp__plan_start_easier(perp_plan *plan, int start);
/* Homotopy: solve with pairs relaxed to a b <= eps for falling eps, down to `last`; from the start, or (goes_on) from
 * the present point. */
perp__ipm_result perp__plan_run_homotopy(perp_plan *plan, int start, double last, int goes_on);

#endif
