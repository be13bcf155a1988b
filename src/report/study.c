/* The page of a sweep: its jobs as pictures, what each result owes to what varies, as numbers. */

#include "base/arena.h"
#include "base/sorted.h"
#include "base/text.h"
#include "perp/report.h"
#include "report/effects.h"
#include "report/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RESULTS = 12, MOST_AXES = 8, MOST_POINTS = 1500, MOST_LINES = 400, BARS = 24 };

typedef struct study {
    const perp_trajectory *table;
    perp__arena arena;
    int rows, naxis, nresult; /* axes are columns 1 .. naxis */
    int drawn, shown;         /* axes and results that are drawn */
    int *result;              /* their columns, `shown` of them chosen */
    int is_paired;            /* Saltelli's design, whole */
    char *is_drawn;           /* of each axis */
    perp__draws jobs;
    perp__effect *effect; /* [shown x naxis] */
    perp__index *first, *total;
} study;

/* What the comments say ------------------------------------------------------------------------ */

static const char *comment(const perp_trajectory *t, const char *word)
{
    size_t n = strlen(word);
    const char *line;
    for (int i = 0; (line = perp_trajectory_comment(t, i)); i++)
        if (strncmp(line, word, n) == 0 && line[n] == ' ') return line + n + 1;
    return NULL;
}

/* Behind the quote that ends a text of a JSON list. */
static const char *end_of_text(const char *at)
{
    while (*at && *at != '"') at += 1 + (*at == '\\' && at[1]);
    return *at ? at + 1 : at;
}

/* "NAME=1:2", "NAME=normal(..)" are drawn, "NAME=1:2:3" and "NAME=1,2" are points. */
static int is_drawn_text(const char *text, const char *end)
{
    int colons = 0, brackets = 0;
    for (; text < end; text++) {
        if (*text == '=') colons = brackets = 0; /* of the values, not of a name as x[1] */
        colons += *text == ':';
        brackets += *text == '(';
    }
    return brackets || colons == 1;
}

/* Texts in the JSON list of what varies, and (nullable) which of them are drawn. */
static int read_axes(const char *list, char *is_drawn)
{
    int n = 0;
    while ((list = strchr(list, '"'))) {
        const char *end = end_of_text(list + 1);
        if (is_drawn) is_drawn[n] = (char)is_drawn_text(list, end);
        n++;
        list = end;
    }
    return n;
}

static int count_axes(const perp_trajectory *t)
{
    const char *vary = comment(t, "vary"), *first = perp_trajectory_name(t, 0);
    int n = vary ? read_axes(vary, NULL) : 0;
    return n > 0 && first && strcmp(first, "job") == 0 && n + 3 < perp_trajectory_columns(t) ? n
                                                                                             : 0;
}

int perp_report_is_sweep(const perp_trajectory *table)
{
    return table && count_axes(table) > 0;
}

static const double *column(const study *s, int k)
{
    return perp_trajectory_column(s->table, k);
}

/* Choosing ------------------------------------------------------------------------------------- */

static perp_status choose(study *s, const perp_report_options *o, perp_diag *diag)
{
    int first = 1 + s->naxis;
    s->nresult = perp_trajectory_columns(s->table) - first - 2; /* behind them steps and error */
    s->drawn = s->naxis < MOST_AXES ? s->naxis : MOST_AXES;
    if (o->columns)
        s->shown = o->ncolumns;
    else if (s->nresult < MOST_RESULTS)
        s->shown = s->nresult;
    else
        s->shown = MOST_RESULTS;
    PERP_TAKE(&s->arena, s->result, s->shown + 1);
    if (s->arena.failed) return PERP_ERR_MEMORY;
    for (int i = 0; i < s->shown; i++) {
        s->result[i] = o->columns ? perp_trajectory_find(s->table, o->columns[i]) : first + i;
        if (s->result[i] < first || s->result[i] >= first + s->nresult)
            return perp__refuse(diag, PERP_ERR_DATA, perp__in(NULL),
                                "'%s' is no result of this sweep\n", o->columns[i]);
    }
    return PERP_OK;
}

static int is_design(const study *s, const char *name)
{
    const char *design = comment(s->table, "design");
    return design && strcmp(design, name) == 0;
}

/* All rows of a sample follow each other only where no job is missing. */
static int is_paired(const study *s)
{
    const double *job = column(s, 0);
    if (!is_design(s, "\"saltelli\"")) return 0;
    for (int i = 0; i < s->rows; i++)
        if (job[i] != i) return 0;
    return 1;
}

static perp_status find_effects(study *s)
{
    int n = s->shown * s->naxis;
    PERP_TAKE(&s->arena, s->effect, n);
    PERP_TAKE(&s->arena, s->first, n);
    PERP_TAKE(&s->arena, s->total, n);
    if (s->arena.failed) return PERP_ERR_MEMORY;
    int drawn = 0;
    const char *samples = comment(s->table, "samples");
    PERP_TAKE(&s->arena, s->is_drawn, s->naxis);
    if (s->arena.failed) return PERP_ERR_MEMORY;
    read_axes(comment(s->table, "vary"), s->is_drawn);
    for (int a = 0; a < s->naxis; a++) drawn |= s->is_drawn[a];
    s->is_paired = is_paired(s);
    double each = samples ? perp_number_read(samples, NULL) : 0;
    if (s->is_paired) each *= s->naxis + 2; /* no two of a sample's jobs are alike */
    s->jobs = (perp__draws){.job = column(s, 0),
                            .n = s->rows,
                            .samples = drawn && each >= 1 && each < 2e9 ? (int)each : 0,
                            .is_even = is_design(s, "\"sobol\"")};
    for (int r = 0; r < s->shown; r++) {
        const double *y = column(s, s->result[r]);
        for (int a = 0; a < s->naxis; a++) {
            int k = r * s->naxis + a;
            if (!perp__effect_find(&s->jobs, column(s, 1 + a), s->is_drawn[a], y, &s->effect[k],
                                   &s->first[k]))
                return PERP_ERR_MEMORY;
        }
        if (s->is_paired)
            perp__indices_find(y, s->rows, s->naxis, s->first + r * s->naxis,
                               s->total + r * s->naxis);
    }
    return PERP_OK;
}

/* The figure ----------------------------------------------------------------------------------- */

static perp_axis axis_of(const study *s, int k)
{
    return (perp_axis){.label = perp_trajectory_name(s->table, k),
                       .unit = perp_trajectory_unit(s->table, k)};
}

/* `n` points in the arena; {0} when memory is out. */
static perp_series new_series(study *s, int n, perp_style style, int color)
{
    double *x = NULL;
    PERP_TAKE(&s->arena, x, 2 * (size_t)n + 1);
    return x ? (perp_series){.x = x, .y = x + n, .n = n, .style = style, .color = color}
             : (perp_series){0};
}

static void set_point(const perp_series *to, int i, double x, double y)
{
    if (!to->x) return;
    ((double *)to->x)[i] = x;
    ((double *)to->y)[i] = y;
}

static int count_drawn(const study *s, int most)
{
    int n = 0;
    for (int i = 0; i < s->rows; i++) n += perp__is_drawn(i, s->rows, most);
    return n;
}

static perp_series cloud_of(study *s, const double *x, const double *y)
{
    perp_series cloud = new_series(s, count_drawn(s, MOST_POINTS), PERP_STYLE_POINTS, 8);
    for (int i = 0, k = 0; i < s->rows; i++)
        if (perp__is_drawn(i, s->rows, MOST_POINTS)) set_point(&cloud, k++, x[i], y[i]);
    return cloud;
}

/* Means as a line, their intervals as strokes. */
static void draw_effect(study *s, const perp__effect *e, perp_series to[2])
{
    to[0] = new_series(s, e->n, PERP_STYLE_LINE_POINTS, 4);
    to[1] = new_series(s, 3 * e->n, PERP_STYLE_LINE, 4);
    for (int k = 0; k < e->n; k++) {
        set_point(&to[0], k, e->x[k], e->mean[k]);
        set_point(&to[1], 3 * k, e->x[k], e->mean[k] - e->error[k]);
        set_point(&to[1], 3 * k + 1, e->x[k], e->mean[k] + e->error[k]);
        set_point(&to[1], 3 * k + 2, (double)NAN, (double)NAN);
    }
}

static void range_of(const double *x, int n, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (int i = 0; i < n; i++) {
        if (!isfinite(x[i])) continue;
        *low = fmin(*low, x[i]);
        *high = fmax(*high, x[i]);
    }
}

static perp_series histogram_of(study *s, const double *x)
{
    double low, high;
    int count[BARS] = {0};
    range_of(x, s->rows, &low, &high);
    double width = high > low ? (high - low) / BARS : 1;
    for (int i = 0; i < s->rows; i++) {
        if (!isfinite(x[i])) continue;
        int k = (int)((x[i] - low) / width);
        count[k < BARS ? k : BARS - 1]++;
    }
    if (!(low <= high)) return (perp_series){.style = PERP_STYLE_LINE};
    perp_series bars = new_series(s, 2 * BARS + 2, PERP_STYLE_LINE, 1);
    set_point(&bars, 0, low, 0);
    for (int k = 0; k < BARS; k++) {
        set_point(&bars, 1 + 2 * k, low + k * width, count[k]);
        set_point(&bars, 2 + 2 * k, low + (k + 1) * width, count[k]);
    }
    set_point(&bars, 2 * BARS + 1, low + BARS * width, 0);
    return bars;
}

/* A row of panels for each result: its histogram, then it over each axis. */
static perp_status put_figure(study *s, perp__text *out)
{
    enum { PANEL = 260, EACH = 3 };
    int columns = 1 + s->drawn, n = s->shown * columns;
    perp_panel *panel = NULL;
    perp_series *series = NULL;
    PERP_TAKE(&s->arena, panel, n);
    PERP_TAKE(&s->arena, series, (size_t)n * EACH);
    if (s->arena.failed) return PERP_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        int r = i / columns, a = i % columns - 1;
        const double *y = column(s, s->result[r]);
        perp_series *mine = series + (size_t)i * EACH;
        panel[i] = (perp_panel){.series = mine, .nseries = a < 0 ? 1 : EACH};
        panel[i].x = axis_of(s, a < 0 ? s->result[r] : 1 + a);
        panel[i].y = a < 0 ? (perp_axis){.label = "jobs"} : axis_of(s, s->result[r]);
        if (a < 0) {
            mine[0] = histogram_of(s, y);
        } else {
            mine[0] = cloud_of(s, column(s, 1 + a), y);
            draw_effect(s, &s->effect[r * s->naxis + a], mine + 1);
        }
    }
    if (s->arena.failed) return PERP_ERR_MEMORY;
    perp_figure figure = {
        .panels = panel, .npanels = n, .columns = columns, .width = PANEL * columns + 40};
    return perp__figure_put(out, &figure);
}

/* Parallel coordinates ------------------------------------------------------------------------- */

/* From violet over green to yellow, as lightness that grows. */
static void put_color(perp__text *out, double share)
{
    perp__text_format(out, "hsl(%.0f 65%% %.0f%%)", 285 - 230 * share, 38 + 18 * share);
}

static void put_ends(perp__text *out, double x, double low, double high, const char *name)
{
    perp__text_format(out, "<path class=\"axis\" d=\"M%.1f 34V250\"/><text x=\"%.1f\" y=\"14\">", x,
                      x);
    perp__text_xml(out, name);
    perp__text_format(out,
                      "</text><text class=\"m\" x=\"%.1f\" y=\"28\">%.4g</text>"
                      "<text class=\"m\" x=\"%.1f\" y=\"264\">%.4g</text>\n",
                      x, high, x, low);
}

static perp_status put_parallel(study *s, perp__text *out)
{
    int n = s->drawn + s->shown, width = 110 * n + 20, count = count_drawn(s, MOST_LINES);
    double *low = NULL, *high = NULL;
    int *which = NULL;
    PERP_TAKE(&s->arena, low, n);
    PERP_TAKE(&s->arena, high, n);
    PERP_TAKE(&s->arena, which, n);
    if (s->arena.failed) return PERP_ERR_MEMORY;
    for (int k = 0; k < n; k++) {
        which[k] = k < s->drawn ? 1 + k : s->result[k - s->drawn];
        range_of(column(s, which[k]), s->rows, &low[k], &high[k]);
    }
    perp__text_format(out,
                      "<svg class=\"lines\" width=\"%d\" height=\"272\" viewBox=\"0 0 %d 272\" "
                      "role=\"img\" aria-label=\"jobs as lines over all columns\">\n",
                      width, width);
    for (int i = 0; i < s->rows; i++) {
        if (!perp__is_drawn(i, s->rows, MOST_LINES)) continue;
        double by = column(s, s->result[0])[i], span = high[s->drawn] - low[s->drawn];
        perp__text_put(out, "<path class=\"job\" stroke=\"");
        put_color(out, isfinite(by) && span > 0 ? (by - low[s->drawn]) / span : 0.5);
        perp__text_put(out, "\" d=\"");
        int is_open = 0;
        for (int k = 0; k < n; k++) {
            double v = column(s, which[k])[i], of = high[k] - low[k];
            if (isfinite(v))
                perp__text_format(out, "%c%d %.1f", is_open ? 'L' : 'M', 65 + 110 * k,
                                  250 - 216 * (of > 0 ? (v - low[k]) / of : 0.5));
            is_open = isfinite(v);
        }
        perp__text_put(out, "\"/>\n");
    }
    for (int k = 0; k < n; k++)
        put_ends(out, 65 + 110 * k, low[k], high[k], perp_trajectory_name(s->table, which[k]));
    perp__text_put(out, "</svg>\n<p class=\"m\">Colour: ");
    perp__text_xml(out, perp_trajectory_name(s->table, s->result[0]));
    perp__text_put(out, ", from violet (low) to yellow (high).");
    if (count < s->rows) perp__text_format(out, " %d of the jobs are drawn.", count);
    perp__text_put(out, "</p>\n");
    return PERP_OK;
}

/* Tables --------------------------------------------------------------------------------------- */

static void put_cell(perp__text *out, double x)
{
    if (isnan(x))
        perp__text_put(out, "<td>-</td>");
    else
        perp__text_format(out, "<td>%.5g</td>", x);
}

static void put_name(perp__text *out, const study *s, int k, const char *more)
{
    perp__text_put(out, "<tr><th>");
    perp__text_xml(out, perp_trajectory_name(s->table, k));
    const char *unit = perp_trajectory_unit(s->table, k);
    if (unit && unit[0]) {
        perp__text_put(out, " <span class=\"m\">");
        perp__text_xml(out, unit);
        perp__text_put(out, "</span>");
    }
    perp__text_put(out, more);
    perp__text_put(out, "</th>");
}

static void put_quantiles(const study *s, perp__text *out, int k, double *sorted)
{
    static const double share[] = {0, 0.05, 0.5, 0.95, 1};
    const double *x = column(s, k);
    int n = 0;
    double sum = 0;
    for (int i = 0; i < s->rows; i++)
        if (isfinite(x[i])) sum += sorted[n++] = x[i];
    perp__sort(sorted, (size_t)n);
    put_name(out, s, k, "");
    perp__text_format(out, "<td>%d</td>", n);
    for (int q = 0; q < 5; q++) put_cell(out, perp__quantile(sorted, (size_t)n, share[q]));
    put_cell(out, n ? sum / n : (double)NAN);
    perp__text_put(out, "</tr>\n");
}

static perp_status put_summary(const study *s, perp__text *out)
{
    double *sorted = malloc(((size_t)s->rows + 1) * sizeof *sorted);
    if (!sorted) return PERP_ERR_MEMORY;
    perp__text_put(out, "<table><tr><th></th><td>values</td><td>low</td><td>5 %</td><td>median</td>"
                        "<td>95 %</td><td>high</td><td>mean</td></tr>\n");
    for (int a = 0; a < s->naxis; a++) put_quantiles(s, out, 1 + a, sorted);
    for (int r = 0; r < s->shown; r++) put_quantiles(s, out, s->result[r], sorted);
    perp__text_put(out, "</table>\n");
    free(sorted);
    return PERP_OK;
}

static void put_index(perp__text *out, const perp__index *x)
{
    if (isnan(x->value))
        perp__text_put(out, "<td>-</td>");
    else
        perp__text_format(out,
                          "<td><span class=\"bar\" style=\"width:%.0fpx\"></span>%.3f "
                          "<span class=\"m\">[%.3f, %.3f]</span></td>",
                          60 * fmin(fmax(x->value, 0), 1), x->value, x->low, x->high);
}

static void put_indices(const study *s, perp__text *out)
{
    perp__text_put(out, "<table><tr><th></th>");
    for (int a = 0; a < s->naxis; a++) {
        perp__text_put(out, "<td>");
        perp__text_xml(out, perp_trajectory_name(s->table, 1 + a));
        perp__text_put(out, "</td>");
    }
    perp__text_put(out, "</tr>\n");
    for (int r = 0; r < s->shown; r++)
        for (int which = 0; which < 1 + s->is_paired; which++) {
            const char *share = ", alone";
            if (!s->is_paired)
                share = "";
            else if (which)
                share = ", in total";
            put_name(out, s, s->result[r], share);
            for (int a = 0; a < s->naxis; a++)
                put_index(out, (which ? s->total : s->first) + r * s->naxis + a);
            perp__text_put(out, "</tr>\n");
        }
    perp__text_put(out, "</table>\n");
}

/* The page ------------------------------------------------------------------------------------- */

static const char style[] =
    "body{font:14px system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif;"
    "margin:24px;color:#222;background:#fff}h1{font-size:20px}h2{font-size:16px;margin-top:28px}"
    "table{border-collapse:collapse}th,td{padding:2px 10px;text-align:right;font-weight:400}"
    "th{text-align:left}tr+tr{border-top:1px solid #e4e6ea}div{overflow-x:auto}.m{color:#666}"
    ".bar{display:inline-block;height:8px;background:#1a5fb4;margin-right:6px}"
    ".lines text{text-anchor:middle;font-size:11px;fill:currentColor}.axis{stroke:#888}"
    ".job{fill:none;stroke-width:1;opacity:.5}"
    "@media(prefers-color-scheme:dark){body{color:#e6e8eb;background:#15181d}"
    "tr+tr{border-color:#2c323a}.m{color:#a0a6ae}.bar{background:#74b3f8}}";

/* A word or a list of a comment without the signs of JSON. */
static void put_plain(perp__text *out, const char *text)
{
    int is_list = text && *text == '[';
    for (text += is_list; text && *text && !(is_list && *text == ']' && !text[1]); text++) {
        char one[2] = {*text, 0};
        if (*text == '"' || (*text == '\\' && text[1] == '"')) continue;
        if (strchr("<>&", *text))
            perp__text_xml(out, one);
        else
            perp__text_bytes(out, one, 1);
        if (*text == ',' && text[1] == '"') perp__text_put(out, " ");
    }
}

static void put_head(const study *s, perp__text *out, const char *title)
{
    const char *model = comment(s->table, "model");
    perp__text_put(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                        "<meta name=\"viewport\" content=\"width=device-width\"><title>");
    perp__text_xml(out, title ? title : "a sweep");
    perp__text_format(out, "</title><style>%s</style></head><body>\n<h1>", style);
    if (title)
        perp__text_xml(out, title);
    else
        put_plain(out, model ? model : "a sweep");
    perp__text_format(out, "</h1>\n<p>%d jobs", s->rows);
    if (!perp_trajectory_is_complete(s->table)) perp__text_put(out, "; the sweep is not complete");
    perp__text_put(out, ". Varied: ");
    put_plain(out, comment(s->table, "vary"));
    perp__text_put(out, "; design ");
    put_plain(out, comment(s->table, "design"));
    perp__text_put(out, ".</p>\n");
    if (s->shown < s->nresult || s->drawn < s->naxis)
        perp__text_format(out,
                          "<p class=\"m\">Shown are %d of %d results, drawn %d of %d that "
                          "vary.</p>\n",
                          s->shown, s->nresult, s->drawn, s->naxis);
}

static const char about_indices[] =
    "Which part of a result's variance goes with one thing that varies, as it varied here, and its "
    "interval of 95 %. ";
static const char about_first[] = "First order, from means of classes; what works only together "
                                  "with others is in none. The design "
                                  "saltelli gives indices in total, too.";
static const char about_pairs[] =
    "Alone: first order; in total: with all that it does together with others.";

static perp_status put_page(study *s, perp__text *out, const char *title)
{
    put_head(s, out, title);
    perp_status status = put_summary(s, out);
    perp__text_put(out, "<h2>Sobol's indices</h2>\n<div>");
    put_indices(s, out);
    perp__text_format(out, "</div><p class=\"m\">%s%s</p>\n<h2>Jobs</h2>\n<div>", about_indices,
                      s->is_paired ? about_pairs : about_first);
    if (status == PERP_OK) status = put_parallel(s, out);
    perp__text_put(out, "</div><h2>Results</h2>\n<div>");
    if (status == PERP_OK) status = put_figure(s, out);
    perp__text_put(
        out, "</div><p class=\"m\">Points: jobs; lines: means of classes of what varies, with "
             "their intervals of 95 %.</p>\n</body></html>\n");
    return status == PERP_OK && out->failed ? PERP_ERR_MEMORY : status;
}

perp_status perp_report_write_sweep(const perp_trajectory *table,
                                    const perp_report_options *options, const char *path,
                                    perp_diag *diag)
{
    perp_report_options o = perp_report_options_default();
    perp__text out = {0};
    if (!table || !path || !perp__options_take(&o, sizeof o, options)) return PERP_ERR_ARG;
    study s = {.table = table, .rows = perp_trajectory_rows(table), .naxis = count_axes(table)};
    if (!s.naxis || o.ncolumns < 0)
        return perp__refuse(diag, PERP_ERR_DATA, perp__in(NULL), "this is no table of a sweep\n");
    perp_status status = choose(&s, &o, diag);
    if (status == PERP_OK) status = find_effects(&s);
    if (status == PERP_OK) status = put_page(&s, &out, o.title);
    if (status == PERP_OK) status = perp__text_write(&out, path, diag);
    if (status == PERP_ERR_MEMORY) perp__out_of_memory(diag, path);
    perp__text_clear(&out);
    perp__arena_clear(&s.arena);
    return status;
}
