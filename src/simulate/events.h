/* Internal: a method with inner points through the events of a model (docs/adr/019-events.md). */

#ifndef PERP_SRC_EVENTS_H
#define PERP_SRC_EVENTS_H

#include "simulate/run.h"
#include "simulate/saltation.h"

typedef struct perp__events perp__events;

/* Steps that were left to backward Euler: those that the method could not take, and some behind
 * each. */
enum { PERP__LEFT_REASONS = 12 };
typedef struct perp__events_left {
    /* in all, and of each reason; the first: behind one that was left, untried */
    long steps, by[PERP__LEFT_REASONS];
    int wait, next_wait; /* the next so many, too; and after the next failure */
    double t;            /* of the first: where, why, and the condition furthest off, or -1 */
    int why, worst;
} perp__events_left;

/* Is this a method for which events are located? */
int perp__events_wanted(const perp_model *model, perp_integrator integrator);

/* For the options of a simulation that wants it. What it cannot do is refused here. */
perp_status perp__events_create(const perp_model *model, const perp_simulation_options *options,
                                const perp__changes *changes, const perp__driven *driven,
                                perp__events **events, perp_diag *diag);
void perp__events_destroy(perp__events *events);

/* Another of the same problem, without what its steps left behind. */
perp_status perp__events_share(const perp__events *events, const perp_simulation_options *options,
                               const perp__driven *driven, perp__events **copy);

/* Impacts are noted there from now on. events NULL: nothing. */
void perp__events_report(perp__events *events, perp__impacts *impacts);
/* Looks for other solutions of its short steps; others NULL: not from now on. */
void perp__events_ask(perp__events *events, perp__others *others);

/* Propagates derivatives of the states from the start on; rows go into `run`. Returns 0 if memory
 * is out. */
int perp__events_follow(perp__events *events, const perp__followed *by, perp__sensitivity *run);

/* What a move of the states at the start of the last step is at its end. Returns 0: nothing
 * tells. */
int perp__events_carry(perp__events *events, const double *by, double *to);

/* Steps from now on are not followed; or they are again. */
void perp__events_pause(perp__events *events, int is_paused);

/* The same for a stretch in the place of that: along one direction, or, with `back`, noted there.
 * NULL when memory is out. And its end. */
perp__saltation *perp__events_begin_stretch(perp__events *events, const perp__followed *by,
                                            perp__sensitivity *run, perp__backward *back);
void perp__events_end_stretch(perp__events *events);

/* What that is, for snapshots; of a short step's problem by `pass_step`. */
void perp__events_pass(perp__events *events, perp__pass *pass,
                       void (*pass_step)(perp__step *step, perp__pass *pass));

/* The run begins again: nothing is known of the modes. NULL: nothing. */
void perp__events_forget(perp__events *events);

/* That, and nothing was counted. NULL: nothing. */
void perp__events_restart(perp__events *events);

/* From the states in the workspace at t0 to t1, every point verified. The end is then in the
 * workspace, as a step of backward Euler that ends there with the same slopes. */
perp__step_result perp__events_advance(perp_simulation *sim, double t0, double t1);

/* From now on, steps without events are solved to this accuracy and not judged. For references:
 * only their difference from the runs is printed. */
void perp__events_be_rough(perp__events *events, double accuracy);

/* From now on a step ends where its first piece ends: at an event, at a row of a table, or where a
 * longer one cannot be solved. The time goes to *end. NULL: no more. Without events: no effect. */
void perp__events_stop(perp__events *events, double *end);

/* From now on Newton's iteration may start from the extrapolation of the step before. That takes
 * fewer iterations, and the last bits depend on earlier steps. Returns 0 if memory is out. */
int perp__events_go_on(perp__events *events);

/* Of a step: all points'. And see perp__run_work. */
int perp__events_unknowns(const perp__events *events);
double perp__events_work(const perp__events *events);

/* Does a method that locates events fit the model: are its conditions met, and are there few pairs
 * and unknowns? Returns -1 if memory is out. */
int perp__events_fit(const perp_model *model);

/* Such a step is taken in so many parts. */
enum { PERP__EULER_PARTS = 16 };

/* Is the next step one that is left to backward Euler, after an earlier one? Counted. */
int perp__events_wait(perp__events *events);

/* A step cannot be taken: it is left to backward Euler. Counted, and nothing is known of the
 * modes. */
void perp__events_leave(perp__events *events);

/* The cost of a failed attempt, and that of the same step by backward Euler, in multiplications. */
void perp__events_weigh(perp__events *events, double trial, double step);

/* How many such steps there were; why and where the first. */
long perp__events_say_left(const perp_simulation *sim, perp_diag *diag);

#endif
