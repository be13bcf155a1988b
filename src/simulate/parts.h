/* Internal: steps in parts as long as an accuracy allows (parts.c). All but create do nothing where
 * none was asked for. */

#ifndef PERP_SRC_PARTS_H
#define PERP_SRC_PARTS_H

#include "simulate/run.h"

typedef struct perp__parts perp__parts;

/* For a simulation that has its step problem and events; the options say whether. */
perp_status perp__parts_create(perp_simulation *sim);
void perp__parts_destroy(perp__parts *parts);

/* The run begins again. */
void perp__parts_restart(perp_simulation *sim);

/* What that is, for snapshots. */
void perp__parts_pass(perp_simulation *sim, perp__pass *pass);

/* From the states in the workspace at t0 to t1. */
perp__step_result perp__parts_advance(perp_simulation *sim, double t0, double t1);

/* For a run that locates events and is a reference, from the next restart on. Steps are rough where
 * they may be. The run is stopped early if it will cost more than sim->most_work. Derivatives go
 * along its halves, if it has any now. Returns 0 if memory is out. */
int perp__parts_refer(perp_simulation *sim);

/* From now on the estimated error of halves is added to direction j, the last but one that follows
 * a reference, which so is its own error. With random signs it is added to the last: the result if
 * signs carry no information. */
void perp__parts_add_to(perp_simulation *sim, int j);

/* The sum of the errors of parts as they were estimated, each of the largest that a state has
 * been. */
double perp__parts_error(const perp_simulation *sim);

/* Parts taken that the method left to backward Euler, or a half of them. */
long perp__parts_left(const perp_simulation *sim);

/* The largest that each state has been. */
const double *perp__parts_largest(const perp_simulation *sim);

#endif
