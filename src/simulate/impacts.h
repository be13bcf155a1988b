/* Internal: the impacts of a run: counted always, listed for the last step. The records of a step
 * are kept apart until it is verified, since parts of it may be taken again. */

#ifndef PERP_SRC_IMPACTS_H
#define PERP_SRC_IMPACTS_H

#include "simulate/run.h"

/* For a simulation that has its step problem. Returns 0 when memory is out. */
int perp__impacts_create(perp_simulation *sim);
void perp__impacts_destroy(perp__impacts *impacts);

/* The run begins again. */
void perp__impacts_restart(perp_simulation *sim);
/* What that is, for snapshots. */
void perp__impacts_pass(perp_simulation *sim, perp__pass *pass);

/* Places to go back to: the beginning of a step, of a part of one, of an attempt by events. */
typedef enum perp__impacts_place {
    PERP__IMPACTS_STEP,
    PERP__IMPACTS_PART,
    PERP__IMPACTS_EVENTS,
    PERP__IMPACTS_PLACES
} perp__impacts_place;
void perp__impacts_keep(perp_simulation *sim, perp__impacts_place place);
void perp__impacts_go_back(perp_simulation *sim, perp__impacts_place place);

/* A step begins at t, or was verified. */
void perp__impacts_begin(perp_simulation *sim, double t, double h);
void perp__impacts_end(perp_simulation *sim);
/* Was there no memory for a record of the step in hand? */
int perp__impacts_lack_memory(perp_simulation *sim);

/* Steps were taken that nobody looked at: from now on nothing is known. */
void perp__impacts_lose(perp_simulation *sim);

/* A step of fixed length h was solved; it is in the workspace. */
void perp__impacts_note_step(perp_simulation *sim, double h);

/* At time t the states `before` (nx) jumped to `after`. Two short steps of this length and half of
 * it, from `before`, say by which impulses. Nothing if impacts is NULL. Returns 0: the impulses add
 * energy, and by their laws they must not. */
int perp__impacts_note_jump(perp__impacts *impacts, double t, double h, const perp__step *whole,
                             const perp__step *half, const double *before, const double *after);

#endif
