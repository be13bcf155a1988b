/* Robot files (MJCF, URDF) where a command takes a model: perp check and perp simulate. */

#ifndef PERP_CLI_ROBOT_H
#define PERP_CLI_ROBOT_H

#include "cli.h"
#include "json.h"

/* By its name: .xml, .urdf, .mjcf. */
int cli_is_robot(const char *file);

/* What of `perp simulate` there is for a robot. */
typedef struct cli_robot_run {
    const cli_args *args;
    const void *request;
    const char *file, *out, *report, *key, *events;
    const cli_list *set;
    double to, step; /* NaN: not given */
    int method;      /* < 0: one of models */
    long every;
    int quiet, as_json, stream;
} cli_robot_run;

/* "FILE:LINE:COLUMN: ignored: what (2 times)" */
void cli_print_ignored(const perp_robot_ignored *note);
void cli_add_ignored(cJSON *list, const perp_robot_ignored *note);

/* The whole command, messages included; its exit code. */
int cli_check_robot(const cli_args *args, const char *file, int as_json);
int cli_simulate_robot(const cli_robot_run *run);

#endif
