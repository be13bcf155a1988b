/* Internal: how a run through located events moves with parameters and initial states: the
 * derivatives of its parts, and of the times at which they end. */

#ifndef PERP_SRC_SALTATION_H
#define PERP_SRC_SALTATION_H

#include "simulate/backward.h"

typedef struct perp__saltation perp__saltation;

/* Short steps are those of `probe`; rows go into `run`. back: nullable; if given, nothing is
 * propagated and all is recorded there. Returns NULL if memory is out. */
perp__saltation *perp__saltation_create(perp__collocation *at, perp__step probe[2],
                                        const perp__followed *by, perp__sensitivity *run,
                                        perp__backward *back);
void perp__saltation_destroy(perp__saltation *saltation);

/* No time moves; and for snapshots. NULL: nothing. */
void perp__saltation_forget(perp__saltation *saltation);
void perp__saltation_pass(perp__saltation *saltation, perp__pass *pass);

/* Of one direction: the parameters' part; how what the tables were set to moves, last and before
 * that. Kept by the caller. */
void perp__saltation_direct(perp__saltation *saltation, const double *seed, const double *now,
                            const double *before);

/* The states before the next step, from the run's own derivatives. And back to those at the end of
 * a step of the run, whose last part was a short step or one in a mode. */
void perp__saltation_begin(perp__saltation *saltation, int is_moved, int is_start);
void perp__saltation_end(perp__saltation *saltation, int is_short, double step);

/* The step is left to another method, from its beginning. NULL: nothing. */
void perp__saltation_leave(perp__saltation *saltation);

/* A step in a mode, as it was solved last. It ended where this row became 0 (-1: at a given time).
 * tied: the row is of a side of this pair, whose guard reached its bound at the same time (-1:
 * none). */
void perp__saltation_step(perp__saltation *saltation, int row, int tied);

/* What a move of the states at the start of the last step is at its end. Returns 0: nothing
 * tells. */
int perp__saltation_carry(perp__saltation *saltation, const double *by, double *to);

/* The last step, solved again (or not), did end where this row became 0. */
void perp__saltation_again(perp__saltation *saltation, int is_solved, int row);

/* Two short steps told what the states are just behind this time. */
void perp__saltation_jump(perp__saltation *saltation);
/* Did states jump there? A direction that does where they do not is met by one side of a pair
 * alone. */
void perp__saltation_settle(perp__saltation *saltation, int has_jumped);

/* A short step was taken as a real one; where it ended at a given time, time moves no more. */
void perp__saltation_short(perp__saltation *saltation, int is_given);

#endif
