/* Internal to src/plan: a plan while it is solved. plan.c is its public face, solve.c its
 * phases. */

#ifndef PERP_SRC_PLAN_H
#define PERP_SRC_PLAN_H

#include "plan/kkt.h"
#include "plan/nlp.h"
#include "plan/verify.h"

/* How far the conditions of a program that is no model's are from holding at w, as
 * perp__plan_verify. 0: memory. */
typedef struct perp__plan_judge {
    int (*at)(const void *context, const double *w, perp__plan_check *check);
    const void *context;
} perp__plan_judge;

/* A guess that was given row by row: parts of two-sided pairs are still missing. One that is the
 * plan on a coarser mesh. */
enum { PERP__GUESS_IN_ROWS = 2, PERP__GUESS_COARSER = 3 };

typedef struct perp__point {
    double *w, *p;
} perp__point;
typedef struct perp__answer {
    double *w, *p, *lambda, *lower, *upper;
} perp__answer;

/* What the starts of the last solve came to. */
typedef struct perp__attempts {
    perp_plan_attempt *made;
    int n, capacity;
} perp__attempts;

/* A condition or a range that has multipliers: its kind, text and place. */
typedef struct perp__priced {
    const char *kind, *text;
    int at, is_range;
} perp__priced;
typedef struct perp__multipliers {
    int n;
    perp__priced *of;
    double *value; /* (K + 1) a condition */
    size_t nvalue;
    char *owned; /* work */
} perp__multipliers;

/* Of each step: derivatives of the states at its end by those at its start (A) and the inputs (B),
 * and the gains. Row by row. */
typedef struct perp__gains {
    int is_there;
    size_t nA, nB; /* entries a step */
    double *A, *B, *gain;
    double *state, *input; /* deviations that count as much as each other */
} perp__gains;

/* For other sides, a few iterations in each step of a plan in a loop (spread.c). */
typedef struct perp__plan_search {
    int is_on, calls;
    int has_ended;     /* in this call */
    double relaxation; /* that it goes on from */
    double cost; /* of the plan beside it when it was last looked at; infinite: it had no step */
    perp__answer at;
} perp__plan_search;

/* Of a plan that is solved again. */
typedef struct perp__again {
    int has_answer;    /* w, p and lambda are one to go on from */
    int is_stationary; /* it is one whose multipliers mean something */
    int is_on;         /* a search goes on from it */
    int budget;        /* of iterations; 0: none */
    double cost;       /* the least since sides were searched */
    perp__plan_search search;
    double *seen; /* the model's states and parameters when they were looked at; NULL: no model */
    perp__multipliers *multipliers; /* once asked for */
    perp__gains *gains;             /* the same */
} perp__again;

struct perp_plan {
    const perp_model *model;
    perp_plan_options options;
    perp__program *program;
    perp__ipm *ipm;
    perp__sides *sides;
    perp_plan *coarse;  /* of fewer steps, where there are many; nullable */
    perp_plan *rough;   /* the same for one of the starts */
    perp_plan **easier; /* neasier: of the values of a homotopy's parameter, the last one first */
    int neasier;
    perp_model *own_model; /* of an easier plan: with its value */
    size_t nW, nP, nR;
    double *w, *p;     /* the iterate */
    perp__point from;  /* where a phase starts */
    perp__answer best; /* so far */
    struct {
        double *w, *p;
    } guess, initial;      /* from a table; the model's guesses */
    int has_guess;         /* 1, or one of these */
    perp__pairing pairing; /* which the last solve ended with, without a penalty */
    double *r, *lambda, *lower, *upper;
    double *direction; /* along which the cost falls */
    perp__kkt *kkt;
    double *residual, *costate; /* K; nx * (K + 1) */
    double *kept[5];            /* the best plan so far: w, p, residual, costate, lambda */
    double *symbol, *value;     /* of the model, for rows */
    char **costate_name;        /* nx */
    perp__plan_judge judge;     /* of a program that is no model's; else at is NULL */
    const char *phase;
    int iterations, stopped;
    perp__again again;
    struct {
        int is_b;          /* no choice of sides lowers the cost, though opening them would */
        int is_not_finite; /* the last run had no numbers to start from */
        int out_of_memory; /* a library had none */
        int is_idle;       /* the plan holds, and no state moves */
    } last;                /* run */
    /* than on the mesh before: inputs have more values; without, the cost tells nothing by how it
     * changed (refine.c) */
    int is_freer;
    /* of the cost, where the lengths of arcs were found to the last digits (arcs.c); else 0 */
    double arc_error;
    perp__attempts attempt;
    perp__arena arena;
};

/* The search of plans for a program that was made by other means: one stage, no model. It takes the
 * program over, and starts from initial.w. NULL: memory. */
perp_plan *perp__plan_of_program(perp__program *program, const perp_plan_options *options,
                                 perp__plan_judge judge);
/* What run number `run` starts from, in words (ladder.c). */
const char *perp__plan_start_name(const perp_plan *plan, int run);
/* Does run number `run` start far from the model's guess, so that its plan is one of many? */
int perp__plan_is_far(const perp_plan *plan, int run);
/* Does it start with contacts that are to be kept? */
int perp__plan_is_near(const perp_plan *plan, int run);
/* What run number `run` needs that other threads may not make. */
perp_status perp__plan_prepare_start(perp_plan *plan, int run);
/* The initial guess of run number `run`: as the options request, then the model's guesses, then
 * random points. With many nodes it is interpolated from the solution on a coarser mesh
 * (coarse.c). */
void perp__plan_set_start(perp_plan *plan, int run);
/* Simulate with the guessed inputs. Where that goes through, states and vars of w are its own.
 * Where it stops, diag says so. Returns 0: memory. */
int perp__plan_guess_simulate(const perp_plan_options *options, const perp__program *program,
                              double *w, const double *p, perp_diag *diag);
/* All phases from where the plan stands. The outcome is in result; 0: memory. */
int perp__plan_run(perp_plan *plan, int start, perp_plan_result *result);
/* At the point of the last derivatives (kkt), with biactive pairs open in plan->sides. Returns 1:
 * B-stationary; 0: a direction of descent, with the sides that stay 0 along it in plan->sides; -1:
 * neither was shown, or there is no Clp; -2: memory (certify.c). is_reduced: by reduced linear
 * programs, which are faster and may give another direction. */
int perp__plan_certify(perp_plan *plan, int is_reduced, double *direction);
/* From the last answer, which is the present point (solve.c). Returns 0: memory. */
int perp__plan_run_again(perp_plan *plan, perp_plan_result *result);
/* One step of a sequential quadratic method from there (solve.c). Returns 0: memory. */
int perp__plan_run_step(perp_plan *plan, perp_plan_result *result);
/* spread.c: a part of the search for other sides, if one is on. Returns 1: it is near a cheaper
 * plan: its point is the present one, the plan's is search.at. The second function exchanges the
 * two. The third follows a step, or none, with its cost: it begins a search if there is reason
 * to. */
int perp__plan_search_part(perp_plan *plan);
void perp__plan_swap_search(perp_plan *plan);
void perp__plan_watch_cost(perp_plan *plan, int has_step, double cost);
/* again.c: remember the model's values; start where another plan of the same program does; take
 * what was set in the model since. */
void perp__plan_look(perp_plan *plan);
void perp__plan_start_as(perp_plan *plan, const perp_plan *other);
perp_status perp__plan_follow_model(perp_plan *plan, perp_diag *diag);
/* What pairs are relaxed by at first where `relaxation` is meant in the units of the model: less in
 * balanced ones. */
double perp__plan_relaxation(const perp_plan *plan, double relaxation);
/* Solve with the present sides fixed. Pairs that are still relaxed start at a b <= `relaxation`,
 * which is lowered 10^4 times. Returns 1: solved, with the rows' values and *cost (solve.c). */
int perp__plan_solve_sides(perp_plan *plan, const char *phase, double relaxation, double *cost);
/* Keep the point and its multipliers as the best; back to what was kept. */
void perp__plan_keep_point(perp_plan *plan);
void perp__plan_recall_point(perp_plan *plan);
/* The states at the ends of steps by an accurate integration with the plan's inputs, each step in
 * `finer` parts: from the plan's start on, or each step from the plan's node. AT_POINTS: states and
 * vars at the points of the method, with one step to each. w: nW, the plan's except for these.
 * jump: ns * K, nullable, the largest change of a state within one of the finer steps, steps
 * adjacent. PERP_ERR_MODEL: the integrator does not accept the model; PERP_ERR_NO_SOLUTION: it
 * stops. */
enum { PERP__AT_POINTS = 0 };
perp_status perp__plan_integrate(const perp_plan *plan, int finer, int from_nodes, double *w,
                                 double *jump, perp_diag *diag);
/* Where state i at the end of step k is in w; the largest size of each state. */
size_t perp__plan_end(const perp__program *program, int i, int k);
void perp__plan_amplitudes(const perp_plan *plan, double *amplitude);
/* As perp_plan_phase_model, with the states before the phase from w. */
perp_status perp__plan_phase_model(const perp_plan *plan, const double *w, int phase,
                                   perp_model **model, perp_diag *diag);
/* The worst violation of conditions, ranges of states and gaps between points, that of each step,
 * and the violations of the block's conditions and then of states, steps adjacent (between.c).
 * of_step: K, off: (ncondition + ns) * K, to be grown, nullable. 0: memory. */
typedef struct perp__plan_gap {
    double error, off, time; /* error: relative to its parts there */
    int step, at;            /* at: in the model's text */
    const char *text;
} perp__plan_gap;
int perp__plan_look_between(const perp_plan *plan, double *of_step, double *off,
                            perp__plan_gap *worst);
/* How much larger the integrals of the cost are than the method's rule has them, on the polynomials
 * of the steps. NaN: they speak of vars or rates, which have no values between; and the sum of the
 * sizes of what the rule counts. Returns 0: memory. */
int perp__plan_quadrature(const perp_plan *plan, double *off, double *counted);
/* Simulate with the inputs found, finer and by another method: `replay` and what belongs to it in
 * result. */
perp_status perp__plan_replay(const perp_plan *plan, perp_plan_result *result, perp_diag *diag);
/* cost_error of the result, where more than slopes is needed. The plan stays as it is
 * (correct.c). */
perp_status perp__plan_correct(perp_plan *plan, perp_plan_result *result);
/* One start after another, several at a time by threads. The best is kept (starts.c). */
perp_status perp__plan_run_starts(perp_plan *plan, perp_plan_result *result);
/* A plan on a mesh; NULL: as the options ask. */
perp_status perp__plan_create_on(const perp_model *model, const perp_plan_options *options,
                                 const perp__mesh *mesh, perp_plan **plan, perp_diag *diag);
/* Chosen input j a part of the way through step k. */
double perp__plan_input(const perp_plan *plan, int j, int k, double share);
/* Unknown j of a point at a share of step k. And the unknown of `from` that corresponds to unknown
 * j of a point of `to`: methods differ in copies of inputs. */
double perp__plan_unknown_at(const perp_plan *plan, int j, int k, double share);
int perp__plan_same_unknown(const perp__program *to, int j, const perp__program *from);
/* What was set since the plan was made holds on the new mesh, too. */
void perp__plan_keep_settings(perp_plan *to, const perp_plan *from);
/* The plan becomes the finer one, which becomes what it was. Its options but the method, and what
 * it has tried, stay. */
void perp__plan_exchange(perp_plan *plan, perp_plan *finer);
/* If inputs are at ends of their ranges nearly throughout: a plan of arcs at these, with lengths as
 * exact as the tolerance requires (arcs.c). Returns 1: the plan is that; 0: there is none; -1:
 * memory. */
int perp__plan_find_arcs(perp_plan *plan, perp_plan_result *result);
/* The lengths of runs by Newton's iteration to the last digits, with fixed inputs, and multipliers
 * except those of inputs (lengths.c). Returns 1: solved; 0: not, or a bound is active; -1: memory.
 * abnormal: 1 or -1 if there are more conditions than lengths, as where a motion is the only one.
 * Multipliers are then not determined and may be unbounded: they are taken large, with this sign
 * (0: they are determined). */
int perp__plan_solve_lengths(perp_plan *plan, int abnormal);
/* What the present point is with the multipliers it has (solve.c). Returns 0: memory. */
int perp__plan_judge_point(perp_plan *plan, perp_plan_result *result);
/* Divide the steps of a plan that holds until its motion is accurate to options.motion_tol, as far
 * as that goes (refine.c). */
perp_status perp__plan_refine(perp_plan *plan, perp_plan_result *result);
/* A cost that is not shown to stay as it is, to options.motion_tol, is one of its mesh (refine.c).
 * Before the rule's part is in cost_error. */
perp_status perp__plan_judge_cost(const perp_plan *plan, perp_plan_result *result, perp_diag *diag);
/* Copy a plan's answer to the kept one, or the kept one to where answers are read. */
void perp__plan_copy_answer(perp_plan *to, const perp_plan *from, int keep);
/* Make plan->coarse where there are many steps. */
perp_status perp__plan_create_coarse(perp_plan *plan);
/* The initial guess interpolated from the solution of the coarser program; 0 if there is none. */
int perp__plan_start_coarse(perp_plan *plan, perp_plan *coarse, int run);
/* Plans for which one of a quarter of the steps is another initial guess; make that. */
int perp__plan_may_be_coarse(const perp_plan *plan);
perp_status perp__plan_create_rough(perp_plan *plan);
/* The same for a homotopy in a parameter (walk.c). */
perp_status perp__plan_create_easier(perp_plan *plan, perp_diag *diag);
int perp__plan_start_easier(perp_plan *plan, int start);
/* Homotopy: solve with pairs relaxed to a b <= eps for falling eps, down to `last`. From the start,
 * or from the present point, which solves the program with a little less eps, or one nearby. */
enum { PERP__FROM_START, PERP__GOES_ON, PERP__NEARBY, PERP__IN_PARTS };
perp__ipm_result perp__plan_run_homotopy(perp_plan *plan, int start, double last, int goes_on);

#endif
