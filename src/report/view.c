/* Columns are grouped in the order of the first run. */

#include "base/base.h"
#include "base/number.h"
#include "report/view.h"
#include "trajectory/trajectory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char residual[] = "residual";

/* Runs ---------------------------------------------------------------------------------------- */

static int time_column(const perp_trajectory *t)
{
    int column = perp_trajectory_find(t, "t");
    return column >= 0 ? column : 0;
}

/* Why a run cannot be drawn, or NULL. */
static const char *find_problem(perp__arena *arena, const perp_trajectory *t, int time)
{
    char text[256] = "";
    int n = perp_trajectory_rows(t);
    const double *at = perp_trajectory_column(t, time);
    const char *name = perp_trajectory_name(t, time);
    if (perp_trajectory_columns(t) < 2)
        snprintf(text, sizeof text, "it has no column besides '%.60s'", name);
    else if (n == 0)
        snprintf(text, sizeof text, "it has no rows");
    for (int i = 0; i < n && !text[0]; i++) {
        if (!isfinite(at[i]))
            snprintf(text, sizeof text,
                     "row %d: '%.60s' is not a finite number, so nothing can be "
                     "drawn over it",
                     i + 1, name);
        else if (i && !(at[i] > at[i - 1]))
            perp__format(text, sizeof text, "row %d: '%.60s' does not increase: %g after %g", i + 1,
                         name, at[i], at[i - 1]);
    }
    return text[0] ? perp__arena_string(arena, text, strlen(text)) : NULL;
}

static int read_runs(perp__view *v)
{
    size_t n = (size_t)v->nruns;
    v->time = perp__arena_alloc(&v->arena, n * sizeof *v->time);
    v->problem = perp__arena_alloc(&v->arena, n * sizeof *v->problem);
    v->name = perp__arena_alloc(&v->arena, n * sizeof *v->name);
    if (!v->time || !v->problem || !v->name) return 0;
    for (int r = 0; r < v->nruns; r++) {
        char number[32];
        snprintf(number, sizeof number, "run %d", r + 1);
        v->name[r] = v->runs[r].name ? v->runs[r].name
                                     : perp__arena_string(&v->arena, number, strlen(number));
        v->time[r] = time_column(v->runs[r].trajectory);
        v->problem[r] = find_problem(&v->arena, v->runs[r].trajectory, v->time[r]);
    }
    return 1;
}

/* Columns ------------------------------------------------------------------------------------- */

/* A table without units may hold anything, so the name alone decides. */
static int agree(const char *unit, const char *other)
{
    return !unit[0] || !other[0] || strcmp(unit, other) == 0;
}

static int find_shown(const perp__view *v, const char *name, const char *unit)
{
    for (int k = 0; k < v->nshown; k++) {
        if (strcmp(v->shown[k].name, name) == 0 && agree(v->shown[k].unit, unit)) return k;
    }
    return -1;
}

/* "fn" asks for fn and for fn[1], fn[2], ... */
static int asks_for(const char *wish, const char *name)
{
    size_t n = strlen(wish);
    return strncmp(wish, name, n) == 0 && (name[n] == 0 || name[n] == '[');
}

static int is_wanted(const perp_report_options *o, const char *name)
{
    for (int i = 0; i < o->ncolumns; i++) {
        if (asks_for(o->columns[i], name)) return 1;
    }
    return !o->columns;
}

/* Elements of an array have one name up to the bracket. */
static int same_array(const char *a, const char *b)
{
    size_t n = strcspn(a, "[");
    return n == strcspn(b, "[") && strncmp(a, b, n) == 0;
}

/* How many columns right before this one belong to its array. */
static int place_in_array(const perp_trajectory *t, int column)
{
    int c = column;
    const char *name = perp_trajectory_name(t, column);
    while (c > 0 && same_array(perp_trajectory_name(t, c - 1), name)) c--;
    return column - c;
}

/* Of each array the first so many elements are shown, so that every array is seen. */
static int elements_that_fit(const perp_trajectory *t, int most)
{
    int n = perp_trajectory_columns(t), each = most;
    while (each > 1) {
        int total = 0;
        for (int c = 0; c < n; c++) total += place_in_array(t, c) < each;
        if (total <= most + 2) break; /* the time and the residual are not counted */
        each--;
    }
    return each;
}

static int collect_columns(perp__view *v, const perp_report_options *o)
{
    for (int r = 0; r < v->nruns; r++) {
        const perp_trajectory *t = v->runs[r].trajectory;
        int each = elements_that_fit(t, o->max_columns);
        for (int c = 0; c < perp_trajectory_columns(t); c++) {
            const char *name = perp_trajectory_name(t, c), *unit = perp_trajectory_unit(t, c);
            if (c == v->time[r] || !is_wanted(o, name)) continue;
            int known = find_shown(v, name, unit);
            if (known >= 0) {
                if (unit[0]) v->shown[known].unit = unit;
                continue;
            }
            if (!o->columns && strcmp(name, residual) == 0) continue;
            if (!o->columns && (v->nshown >= o->max_columns || place_in_array(t, c) >= each)) {
                v->left_out++;
                continue;
            }
            if (!perp__grow(&v->shown, &v->cshown, v->nshown + 1, sizeof *v->shown)) return 0;
            v->shown[v->nshown++] = (perp__shown_column){name, unit, -1};
        }
    }
    return 1;
}

static perp_status check_wishes(const perp__view *v, const perp_report_options *o, perp_diag *diag)
{
    perp_status status = PERP_OK;
    for (int i = 0; i < o->ncolumns; i++) {
        int found = 0;
        for (int k = 0; k < v->nshown && !found; k++)
            found = asks_for(o->columns[i], v->shown[k].name);
        if (found) continue;
        status = perp__refuse(diag, PERP_ERR_DATA, perp__in(NULL),
                              "no run has a column '%s'; there are:", o->columns[i]);
        perp__list_columns(diag, v->runs[0].trajectory);
    }
    return status;
}

static int group_columns(perp__view *v)
{
    size_t nshown = (size_t)v->nshown, nruns = (size_t)v->nruns;
    v->unit = perp__arena_alloc(&v->arena, nshown * sizeof *v->unit + 1);
    v->column = perp__arena_alloc(&v->arena, nruns * nshown * sizeof *v->column + 1);
    if (!v->unit || !v->column) return 0;
    for (int k = 0; k < v->nshown; k++) {
        int g = 0;
        while (g < v->ngroup && strcmp(v->unit[g], v->shown[k].unit) != 0) g++;
        if (g == v->ngroup) v->unit[v->ngroup++] = v->shown[k].unit;
        v->shown[k].group = g;
    }
    for (int r = 0; r < v->nruns; r++) {
        for (int k = 0; k < v->nshown; k++) {
            const perp_trajectory *t = v->runs[r].trajectory;
            int c = perp_trajectory_find(t, v->shown[k].name);
            int is_same = c >= 0 && agree(perp_trajectory_unit(t, c), v->shown[k].unit);
            v->column[r * v->nshown + k] = is_same ? c : -1;
        }
    }
    return 1;
}

static int are_valid(const perp_report_run *runs, int nruns, const perp_report_options *o)
{
    if (!runs || nruns < 1 || nruns > 1000 || o->ncolumns < 0 || o->max_columns < 1) return 0;
    for (int r = 0; r < nruns; r++) {
        if (!runs[r].trajectory) return 0;
    }
    return !o->ncolumns || o->columns;
}

perp_status perp__view_make(perp__view *v, const perp_report_run *runs, int nruns,
                            const perp_report_options *options, perp_diag *diag)
{
    *v = (perp__view){.runs = runs, .nruns = nruns, .motion = options->motion};
    if (!are_valid(runs, nruns, options)) return PERP_ERR_ARG;
    if (!read_runs(v) || !collect_columns(v, options)) return PERP_ERR_MEMORY;
    perp_status status = check_wishes(v, options, diag);
    if (status == PERP_OK && !group_columns(v)) status = PERP_ERR_MEMORY;
    for (int r = 0; r < nruns && status == PERP_OK; r++) {
        if (v->problem[r]) perp__diag_append(diag, "%s: %s\n", v->name[r], v->problem[r]);
    }
    return v->arena.failed ? PERP_ERR_MEMORY : status;
}

void perp__view_clear(perp__view *v)
{
    free(v->shown);
    perp__arena_clear(&v->arena);
}

const double *perp__view_values(const perp__view *v, int run, int k)
{
    return perp_trajectory_column(v->runs[run].trajectory, v->column[run * v->nshown + k]);
}

const double *perp__view_times(const perp__view *v, int run)
{
    return perp_trajectory_column(v->runs[run].trajectory, v->time[run]);
}
