/* The main plots of runs, as a figure. */

#include "base/base.h"
#include "report/modes.h"
#include "report/view.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

enum { KINDS = 4 }; /* of modes */

/* What the panels point at. */
typedef struct plots {
    perp__arena arena;
    perp_panel *panels;
    int npanels;
    perp_axis time;
} plots;

void perp_report_options_fill(perp_report_options *options, size_t size)
{
    perp_report_options own = {.max_columns = 40, .max_rows = 50000, .max_all = 200000000};
    perp__options_give(options, size, &own, sizeof own);
}

/* "v", or "v (second.csv)" where there are several runs */
static const char *label_of(plots *p, const perp__view *v, int run, const char *name)
{
    if (v->nruns == 1) return name;
    size_t size = strlen(name) + strlen(v->name[run]) + 4;
    char *label = perp__arena_alloc(&p->arena, size);
    if (!label) return name;
    snprintf(label, size, "%s (%s)", name, v->name[run]);
    return label;
}

static perp_series series_of(plots *p, const perp__view *v, int run, const char *name,
                             const double *values, int color)
{
    return (perp_series){.label = label_of(p, v, run, name),
                         .x = perp__view_times(v, run),
                         .y = values,
                         .n = perp_trajectory_rows(v->runs[run].trajectory),
                         .style = run ? PERP_STYLE_DASHED : PERP_STYLE_LINE,
                         .color = (v->nruns > 1 ? color * v->nruns + run : color) % 8 + 1};
}

static perp_panel *new_panel(plots *p, size_t nseries)
{
    perp_panel *panel = &p->panels[p->npanels];
    perp_series *series = perp__arena_alloc(&p->arena, nseries * sizeof *series);
    if (!series) return NULL;
    *panel = (perp_panel){.x = p->time, .series = series};
    p->npanels++;
    return panel;
}

static void add_group(plots *p, const perp__view *v, int group)
{
    perp_panel *panel = new_panel(p, (size_t)v->nshown * (size_t)v->nruns);
    if (!panel) return;
    perp_series *series = (perp_series *)panel->series;
    panel->y.unit = v->unit[group];
    for (int k = 0, color = 0; k < v->nshown; k++) {
        if (v->shown[k].group != group) continue;
        for (int r = 0; r < v->nruns; r++) {
            const double *values = perp__view_values(v, r, k);
            if (values && !v->problem[r])
                series[panel->nseries++] = series_of(p, v, r, v->shown[k].name, values, color);
        }
        color++;
    }
    if (panel->nseries == 0) p->npanels--;
}

static void add_residual(plots *p, const perp__view *v)
{
    perp_panel *panel = new_panel(p, (size_t)v->nruns);
    if (!panel) return;
    perp_series *series = (perp_series *)panel->series;
    panel->y = (perp_axis){.label = "residual", .scale = PERP_SCALE_LOG};
    panel->height = 150;
    for (int r = 0; r < v->nruns; r++) {
        const perp_trajectory *t = v->runs[r].trajectory;
        int c = perp_trajectory_find(t, "residual");
        if (c >= 0 && c != v->time[r] && !v->problem[r])
            series[panel->nseries++] =
                series_of(p, v, r, "residual", perp_trajectory_column(t, c), 0);
    }
    if (panel->nseries == 0) p->npanels--;
}

/* Modes: a panel for each kind of condition, a row for each condition of each run. */
static int count_kind(const perp__modes *modes, int nruns, const char *kind, int *spans)
{
    int n = 0;
    *spans = 0;
    for (int r = 0; r < nruns; r++) {
        for (int k = 0; k < modes[r].nstrip; k++) {
            const perp__mode_row *row = &modes[r].strip[k];
            if (strcmp(row->kind, kind) != 0) continue;
            for (int i = 1; i < modes[r].rows; i = perp__mode_end(row->mode, i, modes[r].rows))
                ++*spans;
            n++;
        }
    }
    return n;
}

static void add_spans(perp_strip *strip, const perp__mode_row *row, const double *time, int rows)
{
    for (int i = 1, end; i < rows; i = end) { /* row i is the step from i - 1 to i */
        end = perp__mode_end(row->mode, i, rows);
        if (row->mode[i] < 0) continue;
        ((perp_span *)strip->spans)[strip->nspans++] =
            (perp_span){time[i - 1], time[end - 1], strip->nrows, row->mode[i]};
    }
}

static void add_kind(plots *p, const perp__view *v, const perp__modes *modes, const char *kind,
                     const char *const *words)
{
    int nspans, n = count_kind(modes, v->nruns, kind, &nspans);
    if (!n) return;
    perp_strip *strip = perp__arena_alloc(&p->arena, sizeof *strip);
    const char **rows = perp__arena_alloc(&p->arena, (size_t)n * sizeof *rows);
    perp_span *spans = perp__arena_alloc(&p->arena, ((size_t)nspans + 1) * sizeof *spans);
    if (!strip || !rows || !spans) return;
    *strip = (perp_strip){.rows = rows, .modes = words, .nmodes = PERP__MODES, .spans = spans};
    for (int r = 0; r < v->nruns; r++) {
        for (int k = 0; k < modes[r].nstrip; k++) {
            const perp__mode_row *row = &modes[r].strip[k];
            if (strcmp(row->kind, kind) != 0) continue;
            rows[strip->nrows] = label_of(p, v, r, row->label);
            add_spans(strip, row, perp__view_times(v, r), modes[r].rows);
            strip->nrows++;
        }
    }
    p->panels[p->npanels++] = (perp_panel){.x = p->time, .strip = strip};
}

static perp_status add_modes(plots *p, const perp__view *v, perp__modes *modes)
{
    static const struct {
        const char *kind, *word[PERP__MODES];
    } kinds[KINDS] = {
        {"contact", {"stick", "slip +", "slip \xE2\x88\x92", "free"}},
        {"plane", {"stick", "slip", "", "free"}},
        {"pair", {"first side > 0", "both zero", "second side > 0", "guard off"}},
        {"bounds", {"at its lower bound", "between", "at its upper bound", "guard off"}}};
    for (int r = 0; r < v->nruns; r++) {
        const perp_report_run *run = &v->runs[r];
        if (run->model && !v->problem[r] &&
            !perp__modes_find(&modes[r], run->model, run->trajectory, v->time[r]))
            return PERP_ERR_MEMORY;
    }
    for (int k = 0; k < KINDS; k++) add_kind(p, v, modes, kinds[k].kind, kinds[k].word);
    return PERP_OK;
}

perp_status perp__plots_svg(const perp__view *v, const perp_report_options *o, int with_modes,
                            perp__text *out)
{
    plots p = {.panels = calloc((size_t)v->ngroup + 2 + KINDS, sizeof(perp_panel))};
    perp__modes *modes = calloc((size_t)v->nruns, sizeof *modes);
    perp_status status = p.panels && modes ? PERP_OK : PERP_ERR_MEMORY;
    const perp_trajectory *first = v->runs[0].trajectory;
    p.time = (perp_axis){.label = perp_trajectory_name(first, v->time[0]),
                         .unit = perp_trajectory_unit(first, v->time[0])};
    for (int g = 0; g < v->ngroup && status == PERP_OK; g++) add_group(&p, v, g);
    if (status == PERP_OK && !o->columns && with_modes) status = add_modes(&p, v, modes);
    if (status == PERP_OK && !o->columns) add_residual(&p, v);
    if (p.arena.failed) status = PERP_ERR_MEMORY;
    if (status == PERP_OK && p.npanels) {
        const char *title = NULL;
        if (o->title)
            title = o->title;
        else if (v->nruns == 1)
            title = v->name[0];
        perp_figure figure = {.title = title, .panels = p.panels, .npanels = p.npanels};
        status = perp__figure_put(out, &figure);
    }
    for (int r = 0; r < v->nruns && modes; r++) perp__modes_clear(&modes[r]);
    free(modes);
    perp__arena_clear(&p.arena);
    free(p.panels);
    return status;
}

perp_status perp_report_write_svg(const perp_report_run *runs, int nruns,
                                  const perp_report_options *options, const char *path,
                                  perp_diag *diag)
{
    perp_report_options o = perp_report_options_default();
    if (!path || !perp__options_take(&o, sizeof o, options)) return PERP_ERR_ARG;
    perp__view view;
    perp__text text = {0};
    perp_status status = perp__view_make(&view, runs, nruns, &o, diag);
    if (status == PERP_OK) status = perp__plots_svg(&view, &o, 1, &text);
    if (status == PERP_OK && !text.at)
        status = perp__refuse(diag, PERP_ERR_DATA, perp__in(NULL), "there is nothing to draw\n");
    if (status == PERP_OK) status = perp__text_write(&text, path, diag);
    perp__text_clear(&text);
    perp__view_clear(&view);
    return status;
}
