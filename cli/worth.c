/* Multipliers of a plan in words, in tables and as JSON. */

#include "worth.h"

#include <stdlib.h>
#include <string.h>

perp_status cli_worth_find(cli_worth *worth, const perp_model *model, perp_plan *plan,
                           perp_diag *diag)
{
    int n = perp_model_count(model, PERP_PARAM);
    perp_status status = perp_plan_find_multipliers(plan, diag);
    *worth = (cli_worth){model, plan, NULL};
    if (status != PERP_OK) return status == PERP_ERR_ARG ? PERP_OK : status;
    worth->slope = malloc(((size_t)n + 1) * sizeof *worth->slope);
    if (!worth->slope) return PERP_ERR_MEMORY;
    for (int i = 0; i < n && status == PERP_OK; i++)
        status = perp_plan_cost_slope(plan, perp_model_symbol(model, PERP_PARAM, i).name,
                                      &worth->slope[i], diag);
    return status;
}

void cli_worth_clear(cli_worth *worth)
{
    free(worth->slope);
    worth->slope = NULL;
}

/* One line each: multipliers, then parameters. */
static void each_line(const cli_worth *worth, void (*say)(void *context, const char *line),
                      void *context)
{
    char line[2048];
    for (int i = 0; worth->slope && i < perp_plan_multipliers(worth->plan); i++) {
        perp_plan_multiplier m = perp_plan_get_multiplier(worth->plan, i);
        snprintf(line, sizeof line, "%s '%s' (%d:%d): %.10g%s", m.kind, m.text, m.line, m.column,
                 m.sum, m.sum == 0 ? "" : ", most at node ");
        if (m.sum != 0) snprintf(line + strlen(line), sizeof line - strlen(line), "%d", m.node + 1);
        say(context, line);
    }
    for (int i = 0; worth->slope && i < perp_model_count(worth->model, PERP_PARAM); i++) {
        snprintf(line, sizeof line, "parameter %s: %.10g",
                 perp_model_symbol(worth->model, PERP_PARAM, i).name, worth->slope[i]);
        say(context, line);
    }
}

static void print_line(void *context, const char *line)
{
    fprintf(context, "  %s\n", line);
}

void cli_worth_print(const cli_worth *worth, FILE *out)
{
    if (!worth->slope) return;
    fprintf(out, "worth, as the change of the cost with\n");
    each_line(worth, print_line, out);
}

static void write_line(void *context, const char *line)
{
    char comment[2048 + 8];
    snprintf(comment, sizeof comment, "worth %s", line);
    perp_trajectory_writer_comment(context, comment);
}

void cli_worth_write(const cli_worth *worth, perp_trajectory_writer *w)
{
    each_line(worth, write_line, w);
}

void cli_worth_add(const cli_worth *worth, cJSON *to)
{
    if (!worth->slope) return;
    cJSON *list = cJSON_AddArrayToObject(to, "multipliers"),
          *slopes = cJSON_AddObjectToObject(to, "slopes");
    for (int i = 0; i < perp_plan_multipliers(worth->plan); i++) {
        perp_plan_multiplier m = perp_plan_get_multiplier(worth->plan, i);
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "kind", m.kind);
        cJSON_AddStringToObject(one, "text", m.text);
        cJSON_AddNumberToObject(one, "line", m.line);
        cJSON_AddNumberToObject(one, "column", m.column);
        cli_json_add_number(one, "sum", m.sum);
        cJSON_AddNumberToObject(one, "node", m.node + 1);
        cJSON_AddItemToArray(list, one);
    }
    for (int i = 0; i < perp_model_count(worth->model, PERP_PARAM); i++)
        cli_json_add_number(slopes, perp_model_symbol(worth->model, PERP_PARAM, i).name,
                            worth->slope[i]);
}
