/* What was said and how it ends: messages, exit codes, --set and --input. */

#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_problem_place(char *text, size_t size, const char *file, int k)
{
    int n = snprintf(text, size, "%s, problem %d", file, k);
    if (n < 0 || (size_t)n >= size) snprintf(text, size, "problem %d", k);
}

static int out_of_memory;

int cli_is_out_of_memory(void)
{
    return out_of_memory;
}

void cli_print_diag(const perp_diag *diag, FILE *out)
{
    fputs(perp_diag_text(diag), out);
    if (diag->lost) out_of_memory = 1;
}

int cli_exit_code(perp_status status)
{
    if (status == PERP_ERR_MEMORY) out_of_memory = 1;
    switch (status) {
    case PERP_OK: return CLI_DONE;
    case PERP_ERR_ARG:
    case PERP_ERR_UNAVAILABLE: return CLI_USAGE;
    case PERP_ERR_NO_SOLUTION: return CLI_NO_SOLUTION;
    case PERP_ERR_FILE:
    case PERP_ERR_MEMORY: return CLI_FILE;
    case PERP_ERR_STOPPED: return CLI_INTERRUPTED;
    default: return CLI_BAD_INPUT;
    }
}

/* Does the name match a pattern, in which * stands for any characters? */
static int matches(const char *pattern, const char *name)
{
    for (; *pattern && *pattern != '*'; pattern++, name++)
        if (*pattern != *name) return 0;
    if (!*pattern) return !*name;
    for (;; name++) {
        if (matches(pattern + 1, name)) return 1;
        if (!*name) return 0;
    }
}

/* All parameters and initial values that match. */
static int set_matching(perp_model *model, const char *command, const char *pattern, double value,
                        perp_diag *diag)
{
    static const perp_symbol_kind kinds[] = {PERP_PARAM, PERP_STATE};
    int found = 0;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < perp_model_count(model, kinds[k]); i++) {
            const char *name = perp_model_symbol(model, kinds[k], i).name;
            if (!matches(pattern, name)) continue;
            perp_status status = perp_model_set(model, name, value, diag);
            if (status != PERP_OK) return cli_exit_code(status);
            found++;
        }
    }
    if (found) return CLI_DONE;
    fprintf(stderr, "perp %s: --set %s: no parameter and no state of the model matches that\n",
            command, pattern);
    return CLI_BAD_INPUT;
}

int cli_set_all(perp_model *model, const char *command, const cli_list *settings, perp_diag *diag)
{
    for (int i = 0; i < settings->n; i++) {
        const char *setting = settings->item[i], *equals = strchr(setting, '=');
        char name[256];
        const char *rest;
        if (!equals || equals == setting || !equals[1]) {
            fprintf(stderr, "perp %s: --set needs NAME=VALUE, not '%s'\n", command, setting);
            return CLI_USAGE;
        }
        snprintf(name, sizeof name, "%.*s", (int)(equals - setting), setting);
        double value = perp_number_read(equals + 1, &rest);
        if (*rest) {
            fprintf(stderr, "perp %s: --set %s needs a number, not '%s'\n", command, name,
                    equals + 1);
            return CLI_USAGE;
        }
        int code = strchr(name, '*') ? set_matching(model, command, name, value, diag)
                                     : cli_exit_code(perp_model_set(model, name, value, diag));
        if (code != CLI_DONE) return code;
    }
    return CLI_DONE;
}
