/* The feedback of a plan as a table, and the loop that is closed with it under noise: perp plan
 * --gains, --noise. */

#ifndef PERP_CLI_LOOP_H
#define PERP_CLI_LOOP_H

#include "cli.h"
#include "json.h"

#include <stdio.h>

typedef struct cli_loop {
    const perp_model *model;
    const perp_plan *plan;
    int ns, nu, runs;
    perp_integrator by; /* what runs are simulated by: backward Euler where any phase needs it */
    int ended[2];       /* runs that went through: without feedback, with */
    double *noise;      /* ns: standard deviations */
    double *off[2];     /* ns: the largest deviation at the end of those */
    perp_trajectory *worst[2]; /* the run that ended farthest off, by these; nullable */
    double worst_off[2];
} cli_loop;

/* A row a step: t where it begins, the states there, the inputs, and the gains. */
perp_status cli_gains_write(const perp_model *model, const perp_plan *plan, const char *path,
                            perp_diag *diag);

/* Read the noise, NAME=SD of states: so far off a run begins, and so far off is what is measured at
 * each node. An exit code after saying what is wrong, or CLI_DONE. */
int cli_loop_begin(cli_loop *loop, const perp_model *model, const perp_plan *plan,
                   const cli_list *noise, int runs);
/* Simulate a plan that has gains, each run without feedback and with it. Runs that stop are not
 * counted. */
perp_status cli_loop_run(cli_loop *loop, unsigned seed);
void cli_loop_clear(cli_loop *loop);
void cli_loop_print(const cli_loop *loop, FILE *out);
void cli_loop_add(const cli_loop *loop, cJSON *to);

#endif
