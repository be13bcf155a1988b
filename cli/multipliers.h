/* Multipliers of a plan's conditions and ranges, and the cost's slope in each parameter: perp plan
 * --multipliers. */

#ifndef PERP_CLI_MULTIPLIERS_H
#define PERP_CLI_MULTIPLIERS_H

#include "json.h"
#include "perp/perp.h"

#include <stdio.h>

typedef struct cli_multipliers {
    const perp_model *model;
    const perp_plan *plan;
    double *slope; /* of each parameter; NULL: there are none to say */
} cli_multipliers;

/* Find it. Where the plan is not stationary that is a message, and there is nothing to say. */
perp_status cli_multipliers_find(cli_multipliers *of, const perp_model *model, perp_plan *plan,
                                 perp_diag *diag);
void cli_multipliers_clear(cli_multipliers *of);

void cli_multipliers_print(const cli_multipliers *of, FILE *out);
/* Lines "multiplier of .." at the head of a table. */
void cli_multipliers_write(const cli_multipliers *of, perp_trajectory_writer *w);
/* "multipliers" and "slopes" of the result. */
void cli_multipliers_add(const cli_multipliers *of, cJSON *to);

#endif
