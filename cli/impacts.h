/* The impacts of a run: the lines of the summary, the object of --json, the file of --events. */

#ifndef PERP_CLI_IMPACTS_H
#define PERP_CLI_IMPACTS_H

#include "base/output.h"
#include "json.h"

/* An impact in words. bodies: "" where none is known. */
typedef struct cli_impact {
    perp_impact is;
    const char *contact, *bodies, *unit;
} cli_impact;

/* All of a run. energy: lost in all [J]; NaN: not known. */
typedef struct cli_impacts {
    long count;
    double energy;
    cli_impact largest;
} cli_impacts;

/* Where the impacts of a run go, one by one: the file of --events, an array of --json. Either may
 * be absent. The object of --json takes the array. */
typedef struct cli_impact_list {
    perp__output events;
    cJSON *json;
} cli_impact_list;

/* "29 impacts, the largest 3.1 N s at t = 0.42 s (up)", on a line of its own. Nothing of none. */
void cli_impacts_print(FILE *out, const cli_impacts *impacts);
cJSON *cli_impacts_json(const cli_impacts *impacts, cli_impact_list *list);

/* The CSV file of --events, complete or absent. A run that stops early leaves OUT.csv.partial. */
perp_status cli_events_open(perp__output *file, const char *path, perp_diag *diag);
perp_status cli_events_close(perp__output *file, const char *path, int is_whole, perp_diag *diag);

int cli_impact_list_is_wanted(const cli_impact_list *list);
void cli_impact_list_add(cli_impact_list *list, const cli_impact *impact);

#endif
