/* Reports conditions that the start violates by itself, or, with --project, moves the start to the
 * nearest that violates none. */

#include "cli.h"
#include "json.h"

#include <stdio.h>
#include <stdlib.h>

/* The states of the model begin where the simulation is, which is made again from there. */
static perp_status begin_there(perp_model *model, const perp_simulation_options *o,
                               perp_simulation **sim, perp_diag *diag)
{
    perp_status status = PERP_OK;
    for (int i = 0; i < perp_model_count(model, PERP_STATE) && status == PERP_OK; i++) {
        perp_symbol state = perp_model_symbol(model, PERP_STATE, i);
        double x = perp_simulation_state(*sim, i);
        if (x != state.value) status = perp_model_set(model, state.name, x, diag);
    }
    perp_simulation_destroy(*sim);
    *sim = NULL;
    return status == PERP_OK ? perp_simulation_create(model, o, sim, diag) : status;
}

perp_status cli_begin_right(perp_model *model, const perp_simulation_options *o, int project,
                            perp_simulation **sim, cli_beginning *start, perp_diag *diag)
{
    int n = perp_model_count(model, PERP_STATE);
    start->broken = perp_simulation_inspect_start(*sim, &start->found);
    if (start->broken < 0) return PERP_ERR_MEMORY;
    if (!project || start->broken == 0) return PERP_OK;
    start->moved = malloc(((size_t)n + 1) * sizeof *start->moved);
    if (!start->moved) return PERP_ERR_MEMORY;
    perp_status status = perp_simulation_project(*sim, start->moved, diag);
    return status == PERP_OK ? begin_there(model, o, sim, diag) : status;
}

void cli_warn_of_start(const cli_beginning *start, const char *command)
{
    if (start->broken <= 0) return;
    cli_print_diag(&start->found, stderr);
    if (!start->moved)
        cli_say("perp %s: --project begins at the nearest states that fulfil %s\n", command,
                start->broken == 1 ? "this" : "these");
}

char *cli_moved_text(const cli_beginning *start, const perp_model *model)
{
    char *text = NULL;
    size_t size;
    FILE *out = start->moved ? open_memstream(&text, &size) : NULL;
    if (!out) return NULL;
    fprintf(out, "start moved to the nearest states that fulfil what states alone must:");
    for (int i = 0, is_later = 0; i < perp_model_count(model, PERP_STATE); i++) {
        perp_symbol state = perp_model_symbol(model, PERP_STATE, i);
        if (start->moved[i] == 0) continue;
        fprintf(out, "%s %s by %.6g to %.6g%s%s", is_later ? "," : "", state.name, start->moved[i],
                state.value, state.unit[0] ? " " : "", state.unit);
        is_later = 1;
    }
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

void cli_add_start(cJSON *object, const cli_beginning *start, const perp_model *model)
{
    cJSON *o = cJSON_AddObjectToObject(object, "start"), *moved = NULL;
    cJSON_AddNumberToObject(o, "broken", start->broken);
    cJSON_AddItemToObject(o, "messages", cli_json_lines(perp_diag_text(&start->found)));
    if (start->moved)
        moved = cJSON_AddObjectToObject(o, "moved");
    else
        cJSON_AddNullToObject(o, "moved");
    for (int i = 0; moved && i < perp_model_count(model, PERP_STATE); i++)
        if (start->moved[i] != 0)
            cJSON_AddNumberToObject(moved, perp_model_symbol(model, PERP_STATE, i).name,
                                    start->moved[i]);
}

void cli_beginning_clear(cli_beginning *start)
{
    free(start->moved);
    perp_diag_clear(&start->found);
}
