/* Internal: a method with inner points through the events of a model (docs/adr/019-events.md). */

#ifndef PERP_SRC_EVENTS_H
#define PERP_SRC_EVENTS_H

#include "simulate/run.h"

typedef struct perp__events perp__events;

/* Is this a method for which events are located? */
int perp__events_wanted(const perp_model *model, perp_integrator integrator);

/* For the options of a simulation that wants it. What it cannot do is refused here. */
perp_status perp__events_create(const perp_model *model, const perp_simulation_options *options,
                                perp__events **events, perp_diag *diag);
void perp__events_destroy(perp__events *events);

/* Another of the same problem, without what its steps left behind. */
perp_status perp__events_share(const perp__events *events, const perp_simulation_options *options,
                               perp__events **copy);

/* From the start on, carry along how the states move. 0 when memory is out. */
int perp__events_follow(perp__events *events, const perp__followed *by);

/* What that is, for snapshots; of a short step's problem by `pass_step`. */
void perp__events_pass(perp__events *events, perp__pass *pass,
                       void (*pass_step)(perp__step *step, perp__pass *pass));

/* The run begins again: nothing is known of the modes. NULL: nothing. */
void perp__events_forget(perp__events *events);

/* From the states in the workspace at t0 to t1, every point verified. The end is then in the workspace, as a step of backward Euler
 * that ends there with the same slopes. */
perp__step_result perp__events_advance(perp_simulation *sim, double t0, double t1);

/* Why and where that failed, where the fault is PERP__NOT_PASSED. */
void perp__events_say(const perp_simulation *sim, perp_diag *diag);

/* How many events were located so far, and how many accumulations of them passed. */
void perp__events_count(const perp__events *events, long *located, long *passed);

#endif
