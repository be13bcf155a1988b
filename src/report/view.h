/* What is shown of the runs: their times, and the columns grouped by unit. */

#ifndef PERP_SRC_VIEW_H
#define PERP_SRC_VIEW_H

#include "base/arena.h"
#include "perp/report.h"
#include "base/text.h"

/* A name that at least one run has a column of. */
typedef struct perp__shown_column {
    const char *name, *unit;
    int group;
} perp__shown_column;

typedef struct perp__view {
    perp__arena arena;
    int nruns;
    const perp_report_run *runs;
    const perp_motion *const *motion; /* nullable, entries too */
    int *time;                        /* per run: its column of times, or -1 */
    const char **problem;             /* per run: why it cannot be drawn, or NULL */
    const char **name;                /* per run */
    perp__shown_column *shown;
    int nshown, cshown;
    int left_out; /* columns that are not shown because there are too many */
    int ngroup;
    const char **unit; /* per group */
    int *column;       /* nruns x nshown: the run's column, or -1 */
} perp__view;

/* A run that cannot be drawn is reported in diag. PERP_OK, PERP_ERR_ARG, PERP_ERR_DATA (a named
 * column that no run has), PERP_ERR_MEMORY. Clear in every case. */
perp_status perp__view_make(perp__view *view, const perp_report_run *runs, int nruns,
                            const perp_report_options *options, perp_diag *diag);
void perp__view_clear(perp__view *view);

/* plots.c: the main plots as SVG. Nothing is appended where there is nothing to draw. PERP_OK,
 * PERP_ERR_MEMORY. */
perp_status perp__plots_svg(const perp__view *view, const perp_report_options *options,
                            int with_modes, perp__text *out);

/* svg.c: append the figure as SVG. PERP_OK, PERP_ERR_ARG, PERP_ERR_MEMORY. */
perp_status perp__figure_put(perp__text *out, const perp_figure *figure);

/* Values of shown column k of a run; NULL if it has none. */
const double *perp__view_values(const perp__view *view, int run, int k);
const double *perp__view_times(const perp__view *view, int run);

#endif
