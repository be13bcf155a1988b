/* Internal: the sensitivity of the solution of each step to parameters of the model, propagated
 * along a run.
 *
 * While the guards and the zero side of every pair stay what they are, a solved step is a root y of
 * the rows r of its mode,
 *
 *     r(y, x, p) = 0     (x the states before it, p the parameters)
 *
 * so that dy/dp = -(dr/dy)^-1 (dr/dx dx/dp + dr/dp), with the matrix of the step's own solve. If a
 * change of p moves the step into another mode, this is the derivative on the present side of the
 * kink. */

#ifndef PERP_SRC_SENSITIVITY_H
#define PERP_SRC_SENSITIVITY_H

#include "base/pass.h"
#include "simulate/step.h"

typedef struct perp__sensitivity perp__sensitivity;

/* The variables of differentiation: parameters of the model, then initial values of states. given:
 * symbols of the step whose derivatives are set before each step. */
typedef struct perp__followed {
    int nparam, nstate, ngiven;
    const int *param, *state, *given;
    /* of fixed steps: guards that are on their bounds count as sides of their pairs */
    int tells_bounds;
    int is_one;       /* one direction, whose part of the parameters is perp__sensitivity_seed */
    int is_untold;    /* signs of valid changes are not asked for, and three digits are enough */
    const int *place; /* the caller's order: which of these the k-th is; NULL: the same */
} perp__followed;

/* NULL when memory is out. */
perp__sensitivity *perp__sensitivity_create(perp__step *step, const perp__followed *by);
perp__followed perp__sensitivity_followed(const perp__sensitivity *sensitivity);
void perp__sensitivity_destroy(perp__sensitivity *sensitivity);

/* Put in the values that the parameters have now. NULL: nothing. */
void perp__sensitivity_revalue(perp__sensitivity *sensitivity);

/* The state was set: it depends on no parameter any more. NULL: nothing. */
void perp__sensitivity_set(perp__sensitivity *sensitivity, int state);

/* The same of another simulation of the problem; and what it knows, for snapshots. */
perp__sensitivity *perp__sensitivity_clone(const perp__sensitivity *sensitivity, perp__step *step);
void perp__sensitivity_pass(perp__sensitivity *sensitivity, perp__pass *pass);

/* At the initial state; a state whose initial value was set does not depend on parameters. */
void perp__sensitivity_restart(perp__sensitivity *sensitivity);

/* The step whose solution is in the workspace. */
void perp__sensitivity_advance(perp__sensitivity *sensitivity);

/* For another engine of the same run (saltation.c), derivatives by rows, one a direction. Of the
 * present states and of the given symbols, to be read and written; of all vars of the model; and to
 * replace them by those of a point, with the outputs there. */
double *perp__sensitivity_states(perp__sensitivity *sensitivity);
double *perp__sensitivity_given(perp__sensitivity *sensitivity);
void perp__sensitivity_vars(const perp__sensitivity *sensitivity, double *var);

/* Outputs where the run is, from its states and what is given as they move there; NaN where vars
 * that no step has made go in. */
void perp__sensitivity_here(perp__sensitivity *sensitivity);
void perp__sensitivity_put(perp__sensitivity *sensitivity, const double *before,
                           const double *state, const double *var);
int perp__sensitivity_known(const perp__sensitivity *sensitivity);
void perp__sensitivity_trust(perp__sensitivity *sensitivity); /* what was put in is known */

double *perp__sensitivity_seed(perp__sensitivity *sensitivity);

/* The derivatives of the states at the end of the step in the workspace by those before it, nx x nx
 * by rows, on the sides step->on and step->choice, whether or not its solution is there. All states
 * are followed, and no parameter. NULL: those sides do not determine it. */
const double *perp__sensitivity_of_sides(perp__sensitivity *sensitivity);

/* The transpose of perp__sensitivity_advance, for the step whose solution and sides are in the
 * workspace. weight: of the columns of its row (nullable). state: of the states at its end, then of
 * those before it. Those of the followed parameters are added, those of the given symbols set.
 * Returns 0 if the step's sides do not determine it. */
int perp__sensitivity_back(perp__sensitivity *sensitivity, const double *weight, double *state,
                           double *param, double *given);

/* The transpose of perp__sensitivity_put, for the row in the workspace. From the weights of its
 * columns, derivatives by the unknowns are set, and those by the states before it, too. Those by
 * the followed parameters are added, those by the given symbols set. */
void perp__sensitivity_back_row(perp__sensitivity *sensitivity, const double *weight,
                                double *unknown, double *before, double *param, double *given);

/* What derivatives in direction j of the caller's are, since when; and that they hold for a change
 * of one sign at most: bits PERP__NOT_UP, PERP__NOT_DOWN. */
enum { PERP__NOT_UP = 1, PERP__NOT_DOWN = 2 };
perp_derivative_kind perp__sensitivity_kind(const perp__sensitivity *sensitivity, int j,
                                            double *since);
void perp__sensitivity_doubt(perp__sensitivity *sensitivity, int j, int bits, double t);
int perp__sensitivity_doubts(const perp__sensitivity *sensitivity, int j);
void perp__sensitivity_forget_doubts(perp__sensitivity *sensitivity);

/* The same of the present row alone; from now on of all that follow, too; of no row. */
void perp__sensitivity_doubt_row(perp__sensitivity *sensitivity, int j, int bits);
void perp__sensitivity_keep_row(perp__sensitivity *sensitivity);
void perp__sensitivity_next_row(perp__sensitivity *sensitivity);

/* The signs of a change that violate a side that is 0, must be >= 0 and has this derivative; size:
 * of its terms. */
static inline int perp__against(double moves, double size)
{
    if (moves < -1e-9 * size) return PERP__NOT_UP;
    return moves > 1e-9 * size ? PERP__NOT_DOWN : 0;
}

/* A step failed, perhaps after a part of it: until the next restart there are none. */
void perp__sensitivity_lose(perp__sensitivity *sensitivity);

/* Derivatives of the columns of a row (perp_simulation_row) by the parameters: entry c + j *
 * ncolumn is that of column c by the j-th. NaN if the row has no value. Returns 0 if a step since
 * the restart did not determine them. */
int perp__sensitivity_get(const perp__sensitivity *sensitivity, double *derivative, int ncolumn);

#endif
