/* Multipliers of a plan in words, in tables and as JSON. */

#include "multipliers.h"

#include <stdlib.h>
#include <string.h>

perp_status cli_multipliers_find(cli_multipliers *of, const perp_model *model, perp_plan *plan,
                                 perp_diag *diag)
{
    int n = perp_model_count(model, PERP_PARAM);
    perp_status status = perp_plan_find_multipliers(plan, diag);
    *of = (cli_multipliers){model, plan, NULL};
    if (status != PERP_OK) return status == PERP_ERR_ARG ? PERP_OK : status;
    of->slope = malloc(((size_t)n + 1) * sizeof *of->slope);
    if (!of->slope) return PERP_ERR_MEMORY;
    for (int i = 0; i < n && status == PERP_OK; i++)
        status = perp_plan_cost_slope(plan, perp_model_symbol(model, PERP_PARAM, i).name,
                                      &of->slope[i], diag);
    return status;
}

void cli_multipliers_clear(cli_multipliers *of)
{
    free(of->slope);
    of->slope = NULL;
}

/* One line each: multipliers, then parameters. */
static void each_line(const cli_multipliers *of, void (*say)(void *context, const char *line),
                      void *context)
{
    char line[2048];
    for (int i = 0; of->slope && i < perp_plan_multipliers(of->plan); i++) {
        perp_plan_multiplier m = perp_plan_get_multiplier(of->plan, i);
        snprintf(line, sizeof line, "%s '%s' (%d:%d): %.10g%s", m.kind, m.text, m.line, m.column,
                 m.sum, m.sum == 0 ? "" : ", most at node ");
        if (m.sum != 0) snprintf(line + strlen(line), sizeof line - strlen(line), "%d", m.node + 1);
        say(context, line);
    }
    for (int i = 0; of->slope && i < perp_model_count(of->model, PERP_PARAM); i++) {
        snprintf(line, sizeof line, "parameter %s: %.10g",
                 perp_model_symbol(of->model, PERP_PARAM, i).name, of->slope[i]);
        say(context, line);
    }
}

static void print_line(void *context, const char *line)
{
    fprintf(context, "  %s\n", line);
}

void cli_multipliers_print(const cli_multipliers *of, FILE *out)
{
    if (!of->slope) return;
    fprintf(out, "multipliers: change of the cost per unit of the bound or parameter\n");
    each_line(of, print_line, out);
}

static void write_line(void *context, const char *line)
{
    char comment[2048 + 16];
    snprintf(comment, sizeof comment, "multiplier of %s", line);
    perp_trajectory_writer_comment(context, comment);
}

void cli_multipliers_write(const cli_multipliers *of, perp_trajectory_writer *w)
{
    each_line(of, write_line, w);
}

void cli_multipliers_add(const cli_multipliers *of, cJSON *to)
{
    if (!of->slope) return;
    cJSON *list = cJSON_AddArrayToObject(to, "multipliers"),
          *slopes = cJSON_AddObjectToObject(to, "slopes");
    for (int i = 0; i < perp_plan_multipliers(of->plan); i++) {
        perp_plan_multiplier m = perp_plan_get_multiplier(of->plan, i);
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "kind", m.kind);
        cJSON_AddStringToObject(one, "text", m.text);
        cJSON_AddNumberToObject(one, "line", m.line);
        cJSON_AddNumberToObject(one, "column", m.column);
        cli_json_add_number(one, "sum", m.sum);
        cJSON_AddNumberToObject(one, "node", m.node + 1);
        cJSON_AddItemToArray(list, one);
    }
    for (int i = 0; i < perp_model_count(of->model, PERP_PARAM); i++)
        cli_json_add_number(slopes, perp_model_symbol(of->model, PERP_PARAM, i).name, of->slope[i]);
}
