/* Runs for other rooms: a step that has no verified solution is a status, which ends what goes on
 * beside it. */

#ifndef PERP_SRC_STEPPING_H
#define PERP_SRC_STEPPING_H

#include "perp/simulate.h"

/* perp_simulation_step, _advance and _run with a step that has no verified solution as the status
 * PERP_ERR_NO_SOLUTION. info: nullable. */
perp_status perp__run_next(perp_simulation *sim, perp_step_info *info, perp_diag *diag);
perp_status perp__run_until(perp_simulation *sim, double to, perp_step_info *info, perp_diag *diag);
perp_status perp__run_whole(perp_simulation *sim, perp_row_fn sink, void *context, perp_diag *diag);

/* For the public functions: no solution is an outcome, and the status is PERP_OK. */
perp_status perp__run_outcome(perp_status status, perp_outcome *outcome);

#endif
