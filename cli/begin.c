/* --from T|RUN[:T]: where a run starts, a time or a row of an earlier run. */

#include "cli.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What is wrong with the file. */
static void say(const char *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    cli_say("%s: ", file);
    cli_say_list(format, arguments);
    va_end(arguments);
}

static int is_number(const char *text, double *x)
{
    const char *end;
    *x = perp_number_read(text, &end);
    return end > text && !*end && isfinite(*x);
}

/* FILE or FILE:T, T a number; in start->file, and *at, NaN: the last row. Returns 0 when memory is
 * out. */
static int split(const char *from, cli_start *start, double *at)
{
    struct stat found;
    double t;
    *at = (double)NAN;
    start->file = malloc(strlen(from) + 1);
    if (!start->file) return 0;
    strcpy(start->file, from);
    char *colon = strrchr(start->file, ':');
    if (!colon || stat(from, &found) == 0 || !is_number(colon + 1, &t)) return 1;
    *colon = 0;
    *at = t;
    return 1;
}

/* The line "model: NAME (..." of another model is a reason to stop. */
static int is_of(const perp_trajectory *table, const perp_model *model, const char *file)
{
    const char *line, *name = perp_model_name(model);
    size_t n = strlen(name);
    for (int i = 0; (line = perp_trajectory_comment(table, i)); i++) {
        if (strncmp(line, "model: ", 7) != 0) continue;
        if (strncmp(line + 7, name, n) == 0 && strncmp(line + 7 + n, " (", 2) == 0) return 1;
        const char *end = strstr(line, " (");
        say(file, "this is a run of the model '%.*s', not of '%s'\n",
            (int)(end ? end - (line + 7) : 40), line + 7, name);
        return 0;
    }
    return 1; /* another program's */
}

/* The row to begin at, or -1 after saying why there is none. */
static int find_row(const perp_trajectory *table, const char *file, double at)
{
    int n = perp_trajectory_rows(table), c = perp_trajectory_find(table, "t");
    const double *t = c < 0 ? NULL : perp_trajectory_column(table, c);
    if (!t || n == 0) {
        say(file, "there is no %s to begin at\n", c < 0 ? "column 't'" : "row");
        return -1;
    }
    if (isnan(at) && !perp_trajectory_is_complete(table)) {
        say(file,
            "the run is not complete; to go on from one of its rows, name its time, such "
            "as --from %s:%.10g\n",
            file, t[n - 1]);
        return -1;
    }
    if (isnan(at)) return n - 1;
    double near = 1e-9 * fmax(fabs(at), t[n - 1] - t[0]);
    for (int i = n - 1; i >= 0; i--)
        if (fabs(t[i] - at) <= near) return i;
    say(file, "there is no row at t = %.10g; they go from %.10g to %.10g\n", at, t[0], t[n - 1]);
    return -1;
}

/* The states of a row as initial values. */
static int take_row(perp_model *model, const perp_trajectory *table, const char *file, int row,
                    perp_diag *diag)
{
    for (int i = 0; i < perp_model_count(model, PERP_STATE); i++) {
        const char *name = perp_model_symbol(model, PERP_STATE, i).name;
        int c = perp_trajectory_find(table, name);
        double x = c < 0 ? 0 : perp_trajectory_column(table, c)[row];
        if (c < 0 || !isfinite(x)) {
            say(file,
                c < 0 ? "there is no column '%s', a state of the model\n"
                      : "the state '%s' has no value in the row to begin at\n",
                name);
            return CLI_BAD_INPUT;
        }
        if (perp_model_set(model, name, x, diag) != PERP_OK) return CLI_FILE;
    }
    return CLI_DONE;
}

int cli_begin_at(perp_model *model, const char *command, const char *from, cli_start *start,
                 perp_diag *diag)
{
    struct stat found;
    double at;
    if (is_number(from, &start->time)) return CLI_DONE;
    if (!split(from, start, &at)) return cli_exit_code(PERP_ERR_MEMORY);
    if (stat(start->file, &found) != 0) {
        cli_say("perp %s: --from %s: neither a time nor the file of a run\n", command, from);
        return CLI_USAGE;
    }
    perp_status status = perp_trajectory_read(start->file, &start->table, diag);
    if (status != PERP_OK) return cli_exit_code(status);
    int row =
        is_of(start->table, model, start->file) ? find_row(start->table, start->file, at) : -1;
    if (row < 0) return CLI_BAD_INPUT;
    start->time =
        perp_trajectory_column(start->table, perp_trajectory_find(start->table, "t"))[row];
    return take_row(model, start->table, start->file, row, diag);
}

void cli_note_parameters(const perp_model *model, const cli_start *start)
{
    const char *line;
    for (int i = 0; start->table && (line = perp_trajectory_comment(start->table, i)); i++) {
        char name[256];
        const char *rest;
        int end = 0, k;
        perp_symbol_kind kind;
        if (sscanf(line, "param %255s = %n", name, &end) < 1 || end == 0) continue;
        double value = perp_number_read(line + end, &rest);
        if (rest == line + end) continue;
        if (!perp_model_find(model, name, &kind, &k) || kind != PERP_PARAM) continue;
        double now = perp_model_symbol(model, PERP_PARAM, k).value;
        if (fabs(now - value) > 1e-15 * fabs(value))
            cli_say("note: %s was %.10g in %s and is %.10g now\n", name, value, start->file, now);
    }
}

void cli_start_clear(cli_start *start)
{
    free(start->file);
    perp_trajectory_destroy(start->table);
}
