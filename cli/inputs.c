/* What a command reads besides the model: --input NAME=FILE[:COLUMN]. */

#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A setting "NAME=FILE[:COLUMN]" in a copy that `name` owns. */
typedef struct table_setting {
    char *name, *file, *column; /* NULL without a column */
} table_setting;

/* A colon belongs to the file's name where a folder or the name of an existing file goes on behind
 * it. Returns 0 when memory is out. */
static int split_setting(const char *setting, table_setting *s)
{
    size_t size = strlen(setting) + 1;
    struct stat found;
    *s = (table_setting){.name = malloc(size)};
    if (!s->name) return 0;
    memcpy(s->name, setting, size);
    s->file = strchr(s->name, '=');
    if (s->file) *s->file++ = 0;
    char *colon = s->file ? strrchr(s->file, ':') : NULL;
    if (!colon || strchr(colon, '/') || stat(s->file, &found) == 0) return 1;
    *colon = 0;
    s->column = colon + 1;
    return 1;
}

static int say_no_input(const perp_model *model, const char *command, const char *name)
{
    cli_say("perp %s: --input %s: the model has no input of this name", command, name);
    for (int k = 0; k < perp_model_count(model, PERP_INPUT); k++)
        cli_say("%s %s", k ? "," : "; it has:", perp_model_symbol(model, PERP_INPUT, k).name);
    cli_say("\n");
    return CLI_USAGE;
}

static int apply_input(perp_model *model, const char *command, const char *setting,
                       const table_setting *s, perp_diag *diag)
{
    perp_symbol_kind kind;
    if (!s->file || !s->file[0] || (s->column && !s->column[0])) {
        cli_say("perp %s: --input needs NAME=FILE.csv or NAME=FILE.csv:COLUMN, not '%s'\n", command,
                setting);
        return CLI_USAGE;
    }
    if (!perp_model_find(model, s->name, &kind, NULL) || kind != PERP_INPUT)
        return say_no_input(model, command, s->name);
    perp_trajectory *table;
    perp_status status = perp_trajectory_read(s->file, &table, diag);
    if (status == PERP_OK)
        status = perp_model_set_input_table(model, s->name, table, s->column, s->file, diag);
    perp_trajectory_destroy(table);
    return cli_exit_code(status);
}

int cli_apply_inputs(perp_model *model, const char *command, const cli_list *settings,
                     perp_diag *diag)
{
    int code = CLI_DONE;
    for (int i = 0; code == CLI_DONE && i < settings->n; i++) {
        table_setting s;
        if (!split_setting(settings->item[i], &s)) {
            return cli_exit_code(PERP_ERR_MEMORY);
        }
        code = apply_input(model, command, settings->item[i], &s, diag);
        free(s.name);
    }
    return code;
}
