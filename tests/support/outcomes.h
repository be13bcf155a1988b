/* Calls whose "no solution" is an outcome, for tests that expect success or one failure. Here it is the
 * status PERP_ERR_NO_SOLUTION, so that an assertion on the status sees it. info, result: nullable. */

#ifndef PERP_TEST_OUTCOMES_H
#define PERP_TEST_OUTCOMES_H

#include "perp/perp.h"

static inline perp_status simulation_step(perp_simulation *sim, perp_step_info *info,
                                          perp_diag *diag)
{
    perp_step_info own = {.size = sizeof own}, *to = info ? info : &own;
    perp_status status = perp_simulation_step(sim, to, diag);
    return perp_outcome_status(status, to->outcome);
}

static inline perp_status simulation_advance(perp_simulation *sim, double t, perp_step_info *info,
                                             perp_diag *diag)
{
    perp_step_info own = {.size = sizeof own}, *to = info ? info : &own;
    perp_status status = perp_simulation_advance(sim, t, to, diag);
    return perp_outcome_status(status, to->outcome);
}

static inline perp_status simulation_run(perp_simulation *sim, perp_row_fn sink, void *context,
                                         perp_diag *diag)
{
    perp_simulation_summary to = {.size = sizeof to};
    perp_status status = perp_simulation_run(sim, sink, context, &to, diag);
    return perp_outcome_status(status, to.outcome);
}

static inline perp_simulation_summary simulation_summary(const perp_simulation *sim)
{
    perp_simulation_summary to = {.size = sizeof to};
    perp_simulation_get_summary(sim, &to);
    return to;
}

static inline perp_status bodies_step(perp_bodies *b, perp_bodies_info *info, perp_diag *diag)
{
    perp_bodies_info own = {.size = sizeof own}, *to = info ? info : &own;
    perp_status status = perp_bodies_step(b, to, diag);
    return perp_outcome_status(status, to->outcome);
}

static inline perp_status batch_status(const perp_batch *b, int i)
{
    perp_outcome outcome = PERP_SOLVED;
    perp_status status = perp_batch_status(b, i, &outcome);
    return perp_outcome_status(status, outcome);
}

static inline perp_status batch_step(perp_batch *b, long steps, perp_diag *diag)
{
    int solved = 0;
    perp_status status = perp_batch_step(b, steps, &solved, diag);
    return perp_outcome_status(status, solved == perp_batch_count(b) ? PERP_SOLVED : PERP_LIMIT);
}

static inline perp_status run_identify(const perp_model *model, const perp_dataset *data,
                                       const perp_identify_options *options,
                                       perp_identification *result, perp_diag *diag)
{
    if (result) result->size = sizeof *result;
    perp_status status = perp_identify(model, data, options, result, diag);
    return status == PERP_OK ? perp_outcome_status(status, result->outcome) : status;
}

#endif
