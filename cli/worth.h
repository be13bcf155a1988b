/* What a plan's conditions, ranges and the model's parameters are worth, as perp plan --multipliers says it. */

#ifndef PERP_CLI_WORTH_H
#define PERP_CLI_WORTH_H

#include "json.h"
#include "perp/perp.h"

#include <stdio.h>

typedef struct cli_worth {
    const perp_model *model;
    const perp_plan *plan;
    double *slope; /* of each parameter; NULL: there are none to say */
} cli_worth;

/* Find it. Where the plan is not stationary that is a message, and there is nothing to say. */
perp_status cli_worth_find(cli_worth *worth, const perp_model *model, perp_plan *plan,
                           perp_diag *diag);
void cli_worth_clear(cli_worth *worth);

void cli_worth_print(const cli_worth *worth, FILE *out);
/* Lines "worth .." at the head of a table. */
void cli_worth_write(const cli_worth *worth, perp_trajectory_writer *w);
/* "multipliers" and "slopes" of the result. */
void cli_worth_add(const cli_worth *worth, cJSON *to);

#endif
