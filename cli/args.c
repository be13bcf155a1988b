/* Messages and exit codes, --set and --input. */

#include "cli.h"
#include "robot.h"

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

/* All messages so far; without memory they are not kept. */
static char *said;
static size_t said_length;

static void keep(const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *longer = n >= 0 ? realloc(said, said_length + (size_t)n + 1) : NULL;
    if (!longer) return;
    said = longer;
    vsnprintf(said + said_length, (size_t)n + 1, format, arguments);
    said_length += (size_t)n;
}

void cli_say_list(const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    vfprintf(stderr, format, again);
    va_end(again);
    keep(format, arguments);
}

void cli_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    cli_say_list(format, arguments);
    va_end(arguments);
}

const char *cli_said(void)
{
    return said ? said : "";
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

int cli_file_code(perp_status status)
{
    return status == PERP_ERR_UNAVAILABLE ? CLI_FILE : cli_exit_code(status);
}

/* "NAME=VALUE"; the name is the caller's to free. */
static int read_setting(const char *command, const char *setting, char **name, double *value)
{
    const char *equals = strchr(setting, '='), *rest;
    if (!equals || equals == setting || !equals[1]) {
        cli_say("perp %s: --set needs NAME=VALUE, not '%s'\n", command, setting);
        return CLI_USAGE;
    }
    size_t n = (size_t)(equals - setting);
    *name = malloc(n + 1);
    if (!*name) return cli_exit_code(PERP_ERR_MEMORY);
    memcpy(*name, setting, n);
    (*name)[n] = 0;
    *value = perp_number_read(equals + 1, &rest);
    if (!*rest) return CLI_DONE;
    cli_say("perp %s: --set %s needs a number, not '%s'\n", command, *name, equals + 1);
    return CLI_USAGE;
}

int cli_set_all(perp_model *model, const char *command, const cli_list *settings, perp_diag *diag)
{
    int code = CLI_DONE;
    for (int i = 0; i < settings->n && code == CLI_DONE; i++) {
        char *name = NULL;
        double value;
        code = read_setting(command, settings->item[i], &name, &value);
        if (code == CLI_DONE) code = cli_exit_code(perp_model_set(model, name, value, diag));
        free(name);
    }
    return code;
}

int cli_load_at(const char *file, const char *command, const cli_list *settings,
                const perp_setting *at, int nat, const cli_list *folders, perp_model **model,
                perp_diag *diag)
{
    int code = CLI_DONE, n = settings->n;
    if (cli_is_robot(file)) {
        cli_say("perp %s: %s is a robot file: check and simulate take it; elsewhere a model with "
                "robot NAME = \"FILE\" does (docs/robots.md)\n",
                command, file);
        return CLI_BAD_INPUT;
    }
    perp_setting *set = calloc((size_t)n + (size_t)nat + 1, sizeof *set);
    if (!set) return cli_exit_code(PERP_ERR_MEMORY);
    if (nat) memcpy(set + n, at, (size_t)nat * sizeof *at);
    for (int i = 0; i < n && code == CLI_DONE; i++)
        code = read_setting(command, settings->item[i], (char **)&set[i].name, &set[i].value);
    perp_model_options o = {
        .set = set, .nset = n + nat, .folder = folders->item, .nfolder = folders->n};
    if (code == CLI_DONE) code = cli_exit_code(perp_model_load_with(file, &o, model, diag));
    for (int i = 0; i < n; i++) free((char *)set[i].name);
    free(set);
    return code;
}

int cli_load(const char *file, const char *command, const cli_list *settings,
             const cli_list *folders, perp_model **model, perp_diag *diag)
{
    return cli_load_at(file, command, settings, NULL, 0, folders, model, diag);
}
