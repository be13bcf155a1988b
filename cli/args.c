#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int edit_distance(const char *a, const char *b)
{
    enum { MAX = 40 };
    int na = (int)strlen(a), nb = (int)strlen(b), row[MAX + 1];
    if (na > MAX || nb > MAX) return MAX;
    for (int j = 0; j <= nb; j++) row[j] = j;
    for (int i = 1; i <= na; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[nb];
}

const char *cli_nearest(const char *word, const char *const *words, int n)
{
    const char *nearest = NULL;
    int best = (int)strlen(word) / 3 + 2;
    for (int i = 0; i < n; i++) {
        int d = edit_distance(word, words[i]);
        if (d < best) best = d, nearest = words[i];
    }
    return nearest;
}

static int find_option(const old_args *args, const char *name, size_t length)
{
    for (int i = 0; i < args->noptions; i++) {
        if (strlen(args->options[i].name) == length &&
            strncmp(args->options[i].name, name, length) == 0)
            return i;
    }
    return -1;
}

static int unknown_option(const old_args *args, const char *word)
{
    const char *names[64], *near;
    int n = 0;
    for (int i = 0; i < args->noptions && n < 64; i++) {
        if (strlen(args->options[i].name) > 1) names[n++] = args->options[i].name;
    }
    near = strncmp(word, "--", 2) == 0 ? cli_nearest(word + 2, names, n) : NULL;
    fprintf(stderr, "perp %s: unknown option '%s'", args->command, word);
    if (near) fprintf(stderr, "; did you mean '--%s'?", near);
    fprintf(stderr, "%s perp %s --help\n", near ? " See" : "; see", args->command);
    return CLI_BAD;
}

int cli_next(old_args *args)
{
    if (args->at >= args->argc) return CLI_END;
    char *word = args->argv[args->at++];
    args->value = word;
    int is_option = !args->only_operands && word[0] == '-' && word[1] != 0 &&
                    !(word[1] >= '0' && word[1] <= '9') && word[1] != '.';
    if (!is_option) return CLI_OPERAND;
    if (strcmp(word, "--") == 0) {
        args->only_operands = 1;
        return cli_next(args);
    }
    if (strcmp(word, "-h") == 0) return find_option(args, "help", 4);
    const char *name = word + (word[1] == '-' ? 2 : 1), *equals = strchr(name, '=');
    int k = find_option(args, name, equals ? (size_t)(equals - name) : strlen(name));
    if (k < 0) return unknown_option(args, word);
    if (!args->options[k].value) {
        if (!equals) return k;
        fprintf(stderr, "perp %s: '--%s' takes no value\n", args->command, args->options[k].name);
        return CLI_BAD;
    }
    if (equals)
        args->value = equals + 1;
    else if (args->at < args->argc)
        args->value = args->argv[args->at++];
    else {
        fprintf(stderr, "perp %s: '%s' needs a value: %s %s\n", args->command, word, word,
                args->options[k].value);
        return CLI_BAD;
    }
    return k;
}

int cli_keep(const old_args *args, cli_list *list)
{
    if (!list->item) list->item = malloc((size_t)args->argc * sizeof *list->item);
    if (list->item)
        list->item[list->n++] = args->value;
    else
        cli_exit_code(PERP_ERR_MEMORY);
    return list->item != NULL;
}

int cli_one_file(const old_args *args, const char **file)
{
    if (*file)
        fprintf(stderr, "perp %s: one file at a time: '%s' and '%s'\n", args->command, *file,
                args->value);
    else
        *file = args->value;
    return *file == args->value;
}

int cli_number(const old_args *args, int option, double *x)
{
    const char *rest;
    *x = perp_number_read(args->value, &rest);
    if (args->value[0] && *rest == 0 && isfinite(*x)) return 1;
    fprintf(stderr, "perp %s: --%s needs a number, not '%s'\n", args->command,
            args->options[option].name, args->value);
    return 0;
}

void cli_problem_place(char *text, size_t size, const char *file, int k)
{
    int n = snprintf(text, size, "%s, problem %d", file, k);
    if (n < 0 || (size_t)n >= size) snprintf(text, size, "problem %d", k);
}

void cli_print_options(const old_option *options, int n)
{
    for (int i = 0; i < n; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s%s", strlen(options[i].name) > 1 ? "--" : "-",
                 options[i].name, options[i].value ? " " : "",
                 options[i].value ? options[i].value : "");
        printf("  %-28s %s\n", left, options[i].help);
    }
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
        perp_status status = perp_model_set(model, name, value, diag);
        if (status != PERP_OK) return cli_exit_code(status);
    }
    return CLI_DONE;
}
