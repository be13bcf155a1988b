/* The HTML page: the program that shows it (web/, embedded at build time) around the data, which
 * are one JSON object. Numbers are base64 of doubles, so that the page has the values of the run to
 * the last bit. */

#include "report/modes.h"
#include "report/motion.h"
#include "report/rows.h"
#include "base/text.h"
#include "report/thin.h"
#include "report/view.h"

#include "model/draw_block.h"
#include "report/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SPANS = 4000, BINS = 2000, MAX_NOTES = 20000, MAX_STILL_NOTES = 100, FRAMES = 2000 };

/* Numbers of all runs in a page, at 11 bytes each: it stays under 20 MB. */
enum { MAX_VALUES = 1400000, MAX_DRAWN = 300000 };

#ifdef PERP_HAVE_PAGE
/* Pieces of web/src/page.html; between them come what is seen without scripts, the data, and all
 * rows. */
extern const unsigned char perp__page_head[], perp__page_body[], perp__page_middle[],
    perp__page_tail[];
extern const size_t perp__page_head_size, perp__page_body_size, perp__page_middle_size,
    perp__page_tail_size;
#endif

int perp_report_has_page(void)
{
#ifdef PERP_HAVE_PAGE
    return 1;
#else
    return 0;
#endif
}

/* All rows of all runs, in blocks, and how long they may become. */
typedef struct stack {
    perp__text text;
    size_t most;
} stack;

/* What goes onto the page of one run. */
typedef struct sheet {
    const perp_report_run *run;
    const double *time;
    int rows, kept;
    int *row; /* the rows that are kept */
    double *gathered;
    perp__modes modes;
    stack *all;
} sheet;

static void key(perp__text *out, const char *name)
{
    perp__text_format(out, ",\"%s\":", name);
}

static void put_string(perp__text *out, const char *name, const char *value)
{
    key(out, name);
    if (value)
        perp__text_json(out, value);
    else
        perp__text_put(out, "null");
}

/* The kept rows of a column; null if there is no column. */
static void put_column(perp__text *out, sheet *s, const double *x)
{
    if (!x) {
        perp__text_put(out, "null");
        return;
    }
    for (int i = 0; i < s->kept; i++) s->gathered[i] = x[s->row[i]];
    perp__text_doubles(out, s->gathered, (size_t)s->kept);
}

/* Modes --------------------------------------------------------------------------------------- */

/* The mode that most of the rows first..last - 1 have. */
static int most_common(const signed char *mode, int first, int last)
{
    int count[PERP__MODES + 1] = {0}, best = 0;
    for (int i = first; i < last; i++) count[mode[i] + 1]++;
    for (int k = 1; k <= PERP__MODES; k++) {
        if (count[k] > count[best]) best = k;
    }
    return best - 1;
}

static int count_spans(const signed char *mode, int rows)
{
    int n = 1;
    for (int i = 2; i < rows; i++) n += mode[i] != mode[i - 1];
    return n;
}

/* Stretches of one mode: their ends, and one letter each. Row i is the step from row i - 1 to it.
 * Modes that change too often to be seen are replaced by the most common one of short stretches. */
static void put_spans(perp__text *out, const sheet *s, const signed char *mode)
{
    int is_coarse = count_spans(mode, s->rows) > MAX_SPANS, every = is_coarse ? s->rows / BINS : 1;
    double *end = malloc(((size_t)s->rows / (size_t)every + 2) * sizeof *end);
    char *word = malloc((size_t)s->rows / (size_t)every + 2);
    int n = 0;
    for (int i = 1; i < s->rows && end && word; i += every) {
        int next = i + every < s->rows ? i + every : s->rows, m = most_common(mode, i, next);
        char letter = (char)(m < 0 ? '-' : '0' + m);
        if (n == 0 || word[n - 1] != letter) word[n++] = letter;
        end[n - 1] = s->time[next - 1];
    }
    if (!end || !word) out->failed = 1;
    perp__text_format(out, "\"coarse\":%s,\"end\":", is_coarse ? "true" : "false");
    if (!out->failed) {
        word[n] = 0;
        perp__text_doubles(out, end, (size_t)n);
        put_string(out, "mode", word);
    }
    free(end);
    free(word);
}

static void put_strips(perp__text *out, const sheet *s)
{
    perp__text_put(out, ",\"strips\":[");
    for (int k = 0; k < s->modes.nstrip; k++) {
        const perp__mode_row *strip = &s->modes.strip[k];
        perp__text_put(out, k ? ",{" : "{");
        put_spans(out, s, strip->mode);
        put_string(out, "kind", strip->kind);
        put_string(out, "label", strip->label);
        key(out, "words");
        for (int w = 0; w < PERP__MODES; w++) {
            perp__text_put(out, w ? "," : "[");
            perp__text_json(out, strip->word[w]);
        }
        perp__text_put(out, "]}");
    }
    perp__text_format(out, "],\"stripsLeftOut\":%d", s->modes.left_out);
}

static void put_laws(perp__text *out, sheet *s)
{
    perp__text_put(out, ",\"laws\":[");
    for (int k = 0; k < s->modes.nlaw; k++) {
        const perp__friction_curve *law = &s->modes.law[k];
        perp__text_format(out, "%s{\"planar\":%s", k ? "," : "", law->is_planar ? "true" : "false");
        put_string(out, "label", law->label);
        put_string(out, "fUnit", law->f_unit);
        put_string(out, "vUnit", law->v_unit);
        key(out, "v");
        put_column(out, s, law->v);
        key(out, "f");
        put_column(out, s, law->f);
        key(out, "bound");
        put_column(out, s, law->bound);
        perp__text_put(out, "}");
    }
    perp__text_put(out, "]");
    key(out, "violation");
    put_column(out, s, s->modes.violation);
    key(out, "product");
    put_column(out, s, s->modes.product);
}

/* The drawing --------------------------------------------------------------------------------- */

/* One value over the frames; a number where it does not change. */
static void put_motion(perp__text *out, const double *x, int n)
{
    int is_constant = isfinite(x[0]);
    for (int i = 1; i < n && is_constant; i++) is_constant = x[i] == x[0];
    if (is_constant)
        perp__text_format(out, "%.9g", x[0]);
    else
        perp__text_doubles(out, x, (size_t)n);
}

static void put_shapes(perp__text *out, const perp__draw_block *d, const double *value, int frames)
{
    static const char *const word[] = {
#define PERP_SHAPE_WORD(name, text) text,
        PERP__SHAPE_LIST(PERP_SHAPE_WORD)
#undef PERP_SHAPE_WORD
    };
    perp__text_put(out, ",\"shapes\":[");
    for (int s = 0; s < d->nshape; s++) {
        perp__text_format(out, "%s{\"kind\":\"%s\",\"at\":[", s ? "," : "", word[d->shape[s].kind]);
        for (int k = 0; k < d->shape[s].n; k++, value += frames) {
            if (k) perp__text_put(out, ",");
            put_motion(out, value, frames);
        }
        perp__text_put(out, "]}");
    }
    perp__text_put(out, "]");
}

/* Vars have no value in the first row: what is drawn by them stands there as it does in the second
 * frame. */
static void stand_from_start(double *value, int n, int frames)
{
    for (int k = 0; k < n; k++) {
        double *x = value + (size_t)k * (size_t)frames;
        if (!isfinite(x[0])) x[0] = x[1];
    }
}

/* The shapes of the draw block at evenly spread rows. */
static int put_drawing(perp__text *out, const perp_model *m, const perp_trajectory *t, int time)
{
    const perp__draw_block *d = m->draw;
    int rows = perp_trajectory_rows(t), frames = rows < FRAMES ? rows : FRAMES, n = 0;
    for (int s = 0; s < d->nshape; s++) n += d->shape[s].n;
    if (frames > 2 && frames > MAX_DRAWN / (n + 1))
        frames = n < MAX_DRAWN / 2 ? MAX_DRAWN / (n + 1) : 2;
    perp_expr *e = malloc(((size_t)n + 1) * sizeof *e);
    double *value = malloc(((size_t)n + 1) * (size_t)(frames + 1) * sizeof *value);
    double *at = malloc(((size_t)n + 1) * sizeof *at);
    perp__evaluation r = {0};
    int ok = e && value && at;
    for (int s = 0, k = 0; s < d->nshape && ok; k += d->shape[s++].n)
        memcpy(e + k, d->shape[s].e, (size_t)d->shape[s].n * sizeof *e);
    ok = ok && perp__rows_make(&r, m, t, time, PERP__AT_ROW, e, n);
    for (int i = 0; i < frames && ok; i++) {
        int row = frames > 1 ? (int)((long long)(rows - 1) * i / (frames - 1)) : 0;
        perp__rows_get(&r, row, at);
        for (int k = 0; k < n; k++) value[k * frames + i] = at[k];
        value[n * frames + i] = r.time[row];
    }
    if (ok && frames > 1) stand_from_start(value, n, frames);
    if (ok) {
        key(out, "drawing");
        perp__text_format(out, "{\"space\":%s,\"t\":", d->drawn_in == 3 ? "true" : "false");
        perp__text_doubles(out, value + n * frames, (size_t)frames);
        put_shapes(out, d, value, frames);
        perp__text_put(out, "}");
    }
    perp__rows_clear(&r);
    free(e);
    free(at);
    free(value);
    return ok;
}

/* All rows ------------------------------------------------------------------------------------ */

/* A column in blocks behind what there is. Where they begin goes to the data. */
static void put_blocks(perp__text *out, const sheet *s, const double *x)
{
    if (!x) {
        perp__text_put(out, "null");
        return;
    }
    for (int i = 0; i < s->rows && s->all->text.length <= s->all->most; i += PERP__BLOCK_ROWS) {
        int left = s->rows - i;
        perp__text_format(out, "%s%zu", i ? "," : "[", s->all->text.length);
        perp__rows_put(&s->all->text, x + i, left < PERP__BLOCK_ROWS ? left : PERP__BLOCK_ROWS);
    }
    perp__text_format(out, ",%zu]", s->all->text.length);
}

/* All rows of a run that the page does not show in full, for zooming; omitted if they are too
 * many. */
static void put_all_rows(perp__text *out, const sheet *s, const perp__view *v, int r)
{
    size_t before = s->all->text.length, data = out->length;
    key(out, "all");
    perp__text_format(out, "{\"block\":%d,\"t\":", PERP__BLOCK_ROWS);
    put_blocks(out, s, s->time);
    perp__text_put(out, ",\"data\":[");
    for (int k = 0; k < v->nshown; k++) {
        if (k) perp__text_put(out, ",");
        put_blocks(out, s, perp__view_values(v, r, k));
    }
    perp__text_put(out, "]}");
    if (s->all->text.length <= s->all->most || out->failed) return;
    s->all->text.length = before;
    out->length = data;
    if (s->all->most) perp__text_format(out, ",\"tooMany\":%zu", s->all->most);
}

/* A run --------------------------------------------------------------------------------------- */

static void put_notes(perp__text *out, const perp_trajectory *t)
{
    const char *line;
    perp__text_put(out, ",\"notes\":[");
    for (int i = 0; i < MAX_NOTES && (line = perp_trajectory_comment(t, i)) != NULL; i++) {
        if (i) perp__text_put(out, ",");
        perp__text_json(out, line);
    }
    perp__text_put(out, "]");
}

static void put_names(perp__text *out, const char *what, const perp_model *m, perp_symbol_kind kind)
{
    key(out, what);
    for (int i = 0; i < perp_model_count(m, kind); i++) {
        perp__text_put(out, i ? "," : "[");
        perp__text_json(out, m->item[kind][i].name);
    }
    perp__text_put(out, perp_model_count(m, kind) ? "]" : "[]");
}

static void put_model(perp__text *out, const perp_model *m)
{
    key(out, "model");
    if (!m) {
        perp__text_put(out, "null");
        return;
    }
    perp__text_put(out, "{\"name\":");
    perp__text_json(out, m->name);
    put_string(out, "file", m->source.name);
    put_string(out, "text", m->source.text);
    put_names(out, "states", m, PERP_STATE);
    put_names(out, "vars", m, PERP_VAR);
    perp__text_put(out, "}");
}

/* All columns of a table that has no more rows than fit: the log of a planner. */
static void put_iterations(perp__text *out, const perp_trajectory *t)
{
    key(out, "iterations");
    if (!t) {
        perp__text_put(out, "null");
        return;
    }
    perp__text_put(out, "[");
    for (int c = 0; c < perp_trajectory_columns(t); c++) {
        perp__text_put(out, c ? ",{\"name\":" : "{\"name\":");
        perp__text_json(out, perp_trajectory_name(t, c));
        put_string(out, "unit", perp_trajectory_unit(t, c));
        key(out, "data");
        perp__text_doubles(out, perp_trajectory_column(t, c), (size_t)perp_trajectory_rows(t));
        perp__text_put(out, "}");
    }
    perp__text_put(out, "]");
}

/* Choose the rows so that every column that is shown keeps its extremes. */
static int choose_rows(sheet *s, const perp__view *v, int r, const double *residual, int most)
{
    size_t room = (size_t)v->nshown + 3 + 3 * PERP__MAX_LAWS;
    const double **column = malloc(room * sizeof *column);
    int n = 0;
    if (!column) return 0;
    for (int k = 0; k < v->nshown; k++) {
        const double *x = perp__view_values(v, r, k);
        if (x) column[n++] = x;
    }
    if (residual) column[n++] = residual;
    if (s->modes.violation) column[n++] = s->modes.violation;
    for (int k = 0; k < s->modes.nlaw; k++) {
        column[n++] = s->modes.law[k].v;
        column[n++] = s->modes.law[k].f;
    }
    int each = MAX_VALUES / v->nruns / (n + 3 + s->modes.nlaw); /* time, product, bounds */
    if (most > each) most = each > 2 ? each : 2;
    s->row = perp__thin(column, n, s->rows, most, &s->kept);
    s->gathered = malloc(((size_t)s->kept + 1) * sizeof *s->gathered);
    free(column);
    return s->row && s->gathered;
}

static int put_values(perp__text *out, stack *all, const perp__view *v, int r, int most)
{
    const perp_report_run *run = &v->runs[r];
    sheet s = {.run = run, .rows = perp_trajectory_rows(run->trajectory), .all = all};
    s.time = perp__view_times(v, r);
    const double *residual =
        perp_trajectory_column(run->trajectory, perp_trajectory_find(run->trajectory, "residual"));
    int ok = !run->model || perp__modes_find(&s.modes, run->model, run->trajectory, v->time[r]);
    ok = ok && choose_rows(&s, v, r, residual, most);
    if (ok) {
        perp__text_format(out, ",\"kept\":%d,\"t\":", s.kept);
        put_column(out, &s, s.time);
        perp__text_put(out, ",\"data\":[");
        for (int k = 0; k < v->nshown; k++) {
            if (k) perp__text_put(out, ",");
            put_column(out, &s, perp__view_values(v, r, k));
        }
        perp__text_put(out, "]");
        key(out, "residual");
        put_column(out, &s, residual);
        if (s.kept < s.rows) put_all_rows(out, &s, v, r);
        put_strips(out, &s);
        put_laws(out, &s);
        if (run->model && run->model->draw && run->model->draw->nshape)
            ok = put_drawing(out, run->model, run->trajectory, v->time[r]);
        if (v->motion && v->motion[r]) {
            key(out, "motion");
            perp__motion_put(out, v->motion[r]);
        }
    }
    free(s.row);
    free(s.gathered);
    perp__modes_clear(&s.modes);
    return ok;
}

static int put_run(perp__text *out, stack *all, const perp__view *v, int r, int most)
{
    const perp_report_run *run = &v->runs[r];
    const perp_trajectory *t = run->trajectory;
    int ok = 1;
    perp__text_format(out, "{\"rows\":%d,\"complete\":%s", perp_trajectory_rows(t),
                      perp_trajectory_is_complete(t) ? "true" : "false");
    put_string(out, "name", v->name[r]);
    put_string(out, "problem", v->problem[r]);
    put_string(out, "time", perp_trajectory_name(t, v->time[r]));
    put_string(out, "timeUnit", perp_trajectory_unit(t, v->time[r]));
    put_notes(out, t);
    put_model(out, run->model);
    put_iterations(out, run->iterations);
    if (!v->problem[r]) ok = put_values(out, all, v, r, most);
    perp__text_put(out, "}");
    return ok;
}

/* The page ------------------------------------------------------------------------------------ */

static int put_data(perp__text *out, stack *all, const perp__view *v, const perp_report_options *o)
{
    int ok = 1, most = o->max_rows / v->nruns;
    perp__text_put(out, "{\"perp\":");
    perp__text_json(out, perp_version());
    const char *title = "perp report";
    if (o->title)
        title = o->title;
    else if (v->nruns == 1)
        title = v->name[0];
    put_string(out, "title", title);
    perp__text_format(out, ",\"leftOut\":%d,\"columns\":[", v->left_out);
    for (int k = 0; k < v->nshown; k++) {
        perp__text_format(out, "%s{\"group\":%d", k ? "," : "", v->shown[k].group);
        put_string(out, "name", v->shown[k].name);
        put_string(out, "unit", v->shown[k].unit);
        perp__text_put(out, "}");
    }
    perp__text_put(out, "],\"runs\":[");
    for (int r = 0; r < v->nruns && ok; r++) {
        if (r) perp__text_put(out, ",");
        ok = put_run(out, all, v, r, most < 100 ? 100 : most);
    }
    perp__text_put(out, "]}");
    return ok && !out->failed && !all->text.failed;
}

/* What is seen where scripts are off: what made the runs, and the columns over time. */
static perp_status put_still(perp__text *out, const perp__view *v, const perp_report_options *o)
{
    perp__text svg = {0};
    const char *line;
    for (int r = 0; r < v->nruns; r++) {
        const perp_trajectory *t = v->runs[r].trajectory;
        perp__text_put(out, "<h2>");
        perp__text_xml(out, v->name[r]);
        perp__text_put(out, "</h2><pre>");
        for (int i = 0; i < MAX_STILL_NOTES && (line = perp_trajectory_comment(t, i)); i++) {
            perp__text_xml(out, line);
            perp__text_put(out, "\n");
        }
        perp__text_put(out, "</pre>");
    }
    perp_status status = perp__plots_svg(v, o, 0, &svg);
    if (svg.at) perp__text_bytes(out, svg.at, svg.length);
    perp__text_clear(&svg);
    return out->failed ? PERP_ERR_MEMORY : status;
}

#ifdef PERP_HAVE_PAGE
static perp_status write_page(const perp__text *still, const perp__text *data,
                              const perp__text *all, const char *path, perp_diag *diag)
{
    perp__text page = {0};
    perp__text_bytes(&page, (const char *)perp__page_head, perp__page_head_size);
    perp__text_bytes(&page, still->at, still->length);
    perp__text_bytes(&page, (const char *)perp__page_body, perp__page_body_size);
    perp__text_bytes(&page, data->at, data->length);
    perp__text_bytes(&page, (const char *)perp__page_middle, perp__page_middle_size);
    perp__text_bytes(&page, all->at, all->length);
    perp__text_bytes(&page, (const char *)perp__page_tail, perp__page_tail_size);
    perp_status status = perp__text_write(&page, path, diag);
    perp__text_clear(&page);
    return status;
}
#else
static perp_status write_page(const perp__text *still, const perp__text *data,
                              const perp__text *all, const char *path, perp_diag *diag)
{
    (void)still;
    (void)data;
    (void)all;
    (void)path;
    return perp__refuse(diag, PERP_ERR_UNAVAILABLE, perp__in(NULL),
                        "this build has no page: it was built without node. Run scripts/setup, "
                        "which installs nodejs, npm and the page's packages, then cmake "
                        "--preset release and make build. --svg works without\n");
}
#endif

perp_status perp_report_write_html(const perp_report_run *runs, int nruns,
                                   const perp_report_options *options, const char *path,
                                   perp_diag *diag)
{
    perp_report_options o = perp_report_options_default();
    if (!path || !perp__options_take(&o, sizeof o, options) || o.max_rows < 2) return PERP_ERR_ARG;
    if (!perp_report_has_page()) return write_page(NULL, NULL, NULL, path, diag);
    perp__view view;
    perp__text still = {0}, data = {0};
    stack all = {.most = o.max_all};
    perp_status status = perp__view_make(&view, runs, nruns, &o, diag);
    if (status == PERP_OK) status = put_still(&still, &view, &o);
    if (status == PERP_OK && !put_data(&data, &all, &view, &o)) status = PERP_ERR_MEMORY;
    if (status == PERP_OK) status = write_page(&still, &data, &all.text, path, diag);
    perp__text_clear(&still);
    perp__text_clear(&data);
    perp__text_clear(&all.text);
    perp__view_clear(&view);
    return status;
}
