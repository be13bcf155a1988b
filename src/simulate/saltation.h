/* Internal: how a run through located events moves with parameters and initial states: the derivatives of its parts, and of the
 * times at which they end. */

#ifndef PERP_SRC_SALTATION_H
#define PERP_SRC_SALTATION_H

#include "simulate/collocation.h"
#include "simulate/sensitivity.h"

typedef struct perp__saltation perp__saltation;

/* Short steps are those of `probe`. NULL when memory is out. */
perp__saltation *perp__saltation_create(perp__collocation *at, perp__step probe[2],
                                        const perp__followed *by);
void perp__saltation_destroy(perp__saltation *saltation);

/* No time moves; and for snapshots. NULL: nothing. */
void perp__saltation_forget(perp__saltation *saltation);
void perp__saltation_pass(perp__saltation *saltation, perp__pass *pass);

/* The states before what follows, from the run's own derivatives; and back to those at the end of a step of the run, whose last part was a short
 * step or one in a mode. */
void perp__saltation_begin(perp__saltation *saltation, perp__sensitivity *run, int is_moved);
void perp__saltation_end(perp__saltation *saltation, perp__sensitivity *run, int is_short,
                         double step);

/* A step in a mode, as it was solved last. It ended where this row became 0 (-1: at a given time). */
void perp__saltation_step(perp__saltation *saltation, int row);

/* The last step, solved again (or not), did end where this row became 0. */
void perp__saltation_again(perp__saltation *saltation, int is_solved, int row);

/* Two short steps told what the states are just behind this time. */
void perp__saltation_jump(perp__saltation *saltation);

/* A short step was taken as a real one; where it ended at a given time, time moves no more. */
void perp__saltation_short(perp__saltation *saltation, int is_given);

#endif
