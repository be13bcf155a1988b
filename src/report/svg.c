/* Figures as SVG. Colours are classes of a style sheet in the file, so that it follows the reader's
 * light or dark scheme; sizes are pixels. */

#include "base/tol.h"
#include "base/text.h"
#include "report/ticks.h"
#include "report/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLORS = 8,
    LINE = 16, /* height of a line of text */
    ROW = 32,  /* of a row of a strip: its label and its bar */
    GAP = 14,  /* around panels */
    MAX_CELLS = 250000
};
static const double letter = 6.2; /* mean width of a letter */

/* Colours stand in rules, not in variables of CSS, which programs that convert SVG do not know. .s1
 * to .s8 are strokes, .f1 to .f8 fills. */
static const char style[] =
    "svg{font:11px system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif}\n"
    ".h{font-size:14px;font-weight:600}.p{font-weight:600}.g,.a{fill:none}"
    ".l{fill:none;stroke-width:1.5;stroke-linejoin:round}.d{stroke-dasharray:6 4}"
    ".w{stroke-width:6;opacity:.3;stroke-linecap:round}\n"
    ".b{fill:#fff}text{fill:#222}.m{fill:#666}.g{stroke:#e4e6ea}.a{stroke:#666}"
    ".s1{stroke:#1a5fb4}.f1{fill:#1a5fb4}.s2{stroke:#d27a12}.f2{fill:#d27a12}"
    ".s3{stroke:#98014c}.f3{fill:#98014c}.s4{stroke:#e94953}.f4{fill:#e94953}"
    ".s5{stroke:#172d92}.f5{fill:#172d92}.s6{stroke:#299ebd}.f6{fill:#299ebd}"
    ".s7{stroke:#85430e}.f7{fill:#85430e}.s8{stroke:#888e92}.f8{fill:#888e92}\n"
    "@media(prefers-color-scheme:dark){"
    ".b{fill:#15181d}text{fill:#e6e8eb}.m{fill:#a0a6ae}.g{stroke:#2c323a}.a{stroke:#a0a6ae}"
    ".s1{stroke:#74b3f8}.f1{fill:#74b3f8}.s2{stroke:#c8691c}.f2{fill:#c8691c}"
    ".s3{stroke:#dbe864}.f3{fill:#dbe864}.s4{stroke:#5a875b}.f4{fill:#5a875b}"
    ".s5{stroke:#26faec}.f5{fill:#26faec}.s6{stroke:#bb63ab}.f6{fill:#bb63ab}"
    ".s7{stroke:#a5e396}.f7{fill:#a5e396}.s8{stroke:#b29ea6}.f8{fill:#b29ea6}}\n";

/* Where a panel's axes stand, and what they span. */
typedef struct frame {
    double left, right, top, bottom;
    double x_lo, x_hi, y_lo, y_hi;
    perp_scale x_scale, y_scale;
} frame;

static double share(perp_scale scale, double lo, double hi, double v)
{
    if (scale == PERP_SCALE_LINEAR) return (v - lo) / (hi - lo);
    return v > lo ? log(v / lo) / log(hi / lo) : 0;
}

/* A share of the axis, cut off at 100 axis lengths: coordinates stay of a size that every viewer
 * draws. */
static double within(double share)
{
    return fmin(fmax(share, -100), 100);
}

static double to_x(const frame *f, double v)
{
    return f->left + within(share(f->x_scale, f->x_lo, f->x_hi, v)) * (f->right - f->left);
}

static double to_y(const frame *f, double v)
{
    return f->bottom - within(share(f->y_scale, f->y_lo, f->y_hi, v)) * (f->bottom - f->top);
}

static double width_of(const char *text)
{
    double n = 0;
    for (; text && *text; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
    return letter * n;
}

/* Ranges -------------------------------------------------------------------------------------- */

static void axis_range(const perp_axis *axis, double *lo, double *hi, double room)
{
    int is_given = axis->lo < axis->hi;
    if (is_given) {
        *lo = axis->lo;
        *hi = axis->hi;
        return;
    }
    perp__range_finish(lo, hi, axis->scale, room);
}

static void panel_ranges(const perp_panel *p, frame *f)
{
    *f = (frame){.x_lo = INFINITY,
                 .x_hi = -INFINITY,
                 .y_lo = INFINITY,
                 .y_hi = -INFINITY,
                 .x_scale = p->x.scale,
                 .y_scale = p->y.scale};
    int lines_only = 1;
    for (int s = 0; s < p->nseries; s++) {
        const perp_series *series = &p->series[s];
        perp__range_add(&f->x_lo, &f->x_hi, f->x_scale, series->x, series->n);
        perp__range_add(&f->y_lo, &f->y_hi, f->y_scale, series->y, series->n);
        lines_only = lines_only && series->style != PERP_STYLE_POINTS;
    }
    for (int i = 0; p->strip && i < p->strip->nspans; i++) {
        f->x_lo = fmin(f->x_lo, p->strip->spans[i].from);
        f->x_hi = fmax(f->x_hi, p->strip->spans[i].to);
    }
    if (p->map) {
        *f = (frame){.x_lo = p->map->x_lo,
                     .x_hi = p->map->x_hi,
                     .y_lo = p->map->y_lo,
                     .y_hi = p->map->y_hi,
                     .x_scale = p->x.scale,
                     .y_scale = p->y.scale};
    }
    axis_range(&p->x, &f->x_lo, &f->x_hi, p->map || (lines_only && !p->is_square) ? 0 : 0.05);
    axis_range(&p->y, &f->y_lo, &f->y_hi, p->map ? 0 : 0.06);
}

/* A unit as long on x as on y: widen the range that is too narrow. */
static void make_square(frame *f)
{
    double sx = (f->x_hi - f->x_lo) / (f->right - f->left);
    double sy = (f->y_hi - f->y_lo) / (f->bottom - f->top);
    double more_x = fmax(0, sy - sx) * (f->right - f->left) / 2;
    double more_y = fmax(0, sx - sy) * (f->bottom - f->top) / 2;
    f->x_lo -= more_x;
    f->x_hi += more_x;
    f->y_lo -= more_y;
    f->y_hi += more_y;
}

/* Axes ---------------------------------------------------------------------------------------- */

static void put_label(perp__text *out, const char *label, const char *unit)
{
    perp__text_xml(out, label);
    if (unit && unit[0]) {
        perp__text_put(out, label && label[0] ? " [" : "[");
        perp__text_xml(out, unit);
        perp__text_put(out, "]");
    }
}

static int has_label(const perp_axis *axis)
{
    return (axis->label && axis->label[0]) || (axis->unit && axis->unit[0]);
}

static void draw_x_axis(perp__text *out, const frame *f, const perp_axis *axis)
{
    perp__ticks ticks;
    perp__ticks_make(&ticks, f->x_scale, f->x_lo, f->x_hi, (int)fmax(2, (f->right - f->left) / 90));
    for (int k = 0; k < ticks.n; k++) {
        double x = to_x(f, ticks.at[k]);
        perp__text_format(out, "<path class=\"g\" d=\"M%.1f %.1fV%.1f\"/>", x, f->top, f->bottom);
        perp__text_format(out,
                          "<text class=\"m\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s"
                          "</text>\n",
                          x, f->bottom + 14, ticks.label[k]);
    }
    if (!has_label(axis)) return;
    perp__text_format(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
                      (f->left + f->right) / 2, f->bottom + 29);
    put_label(out, axis->label, axis->unit);
    perp__text_put(out, "</text>\n");
}

static int y_target(const frame *f)
{
    return (int)fmax(2, (f->bottom - f->top) / (f->y_scale == PERP_SCALE_LOG ? 20 : 30));
}

static void draw_y_axis(perp__text *out, const frame *f, const perp_axis *axis, double edge)
{
    perp__ticks ticks;
    perp__ticks_make(&ticks, f->y_scale, f->y_lo, f->y_hi, y_target(f));
    for (int k = 0; k < ticks.n; k++) {
        double y = to_y(f, ticks.at[k]);
        perp__text_format(out, "<path class=\"g\" d=\"M%.1f %.1fH%.1f\"/>", f->left, y, f->right);
        perp__text_format(out,
                          "<text class=\"m\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                          f->left - 5, y + 4, ticks.label[k]);
    }
    if (!has_label(axis)) return;
    double x = edge + 10, y = (f->top + f->bottom) / 2;
    perp__text_format(
        out, "<text transform=\"translate(%.1f %.1f) rotate(-90)\" text-anchor=\"middle\">", x, y);
    put_label(out, axis->label, axis->unit);
    perp__text_put(out, "</text>\n");
}

static double y_axis_width(const frame *f, const perp_axis *axis)
{
    perp__ticks ticks;
    double widest = 0;
    perp__ticks_make(&ticks, f->y_scale, f->y_lo, f->y_hi, y_target(f));
    for (int k = 0; k < ticks.n; k++) widest = fmax(widest, width_of(ticks.label[k]));
    return widest + 10 + (has_label(axis) ? 16 : 0);
}

/* Series -------------------------------------------------------------------------------------- */

/* A line that is built point by point. Points in the same column of pixels are kept as their
 * first, lowest, highest and last one: no more can be seen. */
typedef struct pen {
    perp__text *out;
    int down;          /* a line is being drawn */
    int n;             /* points of the present column */
    double column;     /* in half pixels */
    double x[4], y[4]; /* first, lowest, highest, last */
    int order[4];
    int held; /* a point at the end of a level stretch is not written yet */
    double held_x, held_y;
} pen;

static void put_point(perp__text *out, char command, double x, double y)
{
    perp__text_bytes(out, &command, 1);
    perp__text_tenths(out, x);
    perp__text_bytes(out, " ", 1);
    perp__text_tenths(out, y);
}

static void pen_release(pen *p)
{
    if (p->held) put_point(p->out, 'L', p->held_x, p->held_y);
    p->held = 0;
}

/* Go on to a point; of a level stretch only the ends are written. */
static void pen_put(pen *p, double x, double y)
{
    if (p->down && fabs(y - p->held_y) < 0.05 && x >= p->held_x) {
        p->held = 1;
        p->held_x = x;
        return;
    }
    pen_release(p);
    put_point(p->out, p->down ? 'L' : 'M', x, y);
    p->down = 1;
    p->held_x = x;
    p->held_y = y;
}

static void pen_flush(pen *p)
{
    int wanted[4] = {0, 1, 2, 3}, count = p->n > 1 ? 4 : p->n;
    if (count == 4 && p->order[1] > p->order[2]) {
        wanted[1] = 2;
        wanted[2] = 1;
    }
    for (int k = 0; k < count; k++) {
        int i = wanted[k], before = k ? wanted[k - 1] : -1;
        if (before >= 0 && p->order[i] == p->order[before]) continue;
        pen_put(p, p->x[i], p->y[i]);
    }
    p->n = 0;
}

static void pen_add(pen *p, double x, double y)
{
    double column = floor(2 * x);
    if (p->n && column != p->column) pen_flush(p);
    p->column = column;
    for (int k = 0; k < 4; k++) {
        int takes = p->n == 0 || k == 3 || (k == 1 && y > p->y[1]) || (k == 2 && y < p->y[2]);
        if (!takes) continue;
        p->x[k] = x;
        p->y[k] = y;
        p->order[k] = p->n;
    }
    p->n++;
}

static void pen_lift(pen *p)
{
    pen_flush(p);
    pen_release(p);
    p->down = 0;
}

static void draw_line(perp__text *out, const frame *f, const perp_series *s, int color)
{
    static const char *const kind[] = {"", " d", "", "", " w"};
    pen p = {.out = out};
    perp__text_format(out, "<path class=\"l%s s%d\" d=\"", kind[s->style], color);
    for (int i = 0; i < s->n; i++) {
        if (isfinite(s->x[i]) && isfinite(s->y[i]))
            pen_add(&p, to_x(f, s->x[i]), to_y(f, s->y[i]));
        else
            pen_lift(&p);
    }
    pen_lift(&p);
    perp__text_put(out, "\"/>\n");
}

/* Points that would lie on the one before are left out. */
static void draw_points(perp__text *out, const frame *f, const perp_series *s, int color)
{
    double x = -1e9, y = -1e9;
    perp__text_format(out, "<path class=\"f%d\" d=\"", color);
    for (int i = 0; i < s->n; i++) {
        if (!isfinite(s->x[i]) || !isfinite(s->y[i])) continue;
        double px = to_x(f, s->x[i]), py = to_y(f, s->y[i]);
        if (fabs(px - x) < 0.3 && fabs(py - y) < 0.3) continue;
        perp__text_format(out, "M%.1f %.1fa2 2 0 1 0 4 0a2 2 0 1 0-4 0z", px - 2, py);
        x = px;
        y = py;
    }
    perp__text_put(out, "\"/>\n");
}

static int color_of(const perp_series *s, int place)
{
    return s->color > 0 ? (s->color - 1) % COLORS + 1 : place % COLORS + 1;
}

static void draw_series(perp__text *out, const frame *f, const perp_panel *panel, int clip)
{
    perp__text_format(out,
                      "<clipPath id=\"c%d\"><path d=\"M%.1f %.1fH%.1fV%.1fH%.1fz\"/></clipPath>"
                      "<g clip-path=\"url(#c%d)\">\n",
                      clip, f->left - 1, f->top - 1, f->right + 1, f->bottom + 1, f->left - 1,
                      clip);
    for (int pass = 0; pass < 2; pass++) { /* ghosts lie behind */
        for (int s = 0; s < panel->nseries; s++) {
            const perp_series *series = &panel->series[s];
            int color = color_of(series, s), is_ghost = series->style == PERP_STYLE_GHOST;
            if (is_ghost != (pass == 0)) continue;
            if (series->style != PERP_STYLE_POINTS) draw_line(out, f, series, color);
            if (series->style == PERP_STYLE_POINTS || series->style == PERP_STYLE_LINE_POINTS)
                draw_points(out, f, series, color);
        }
    }
    perp__text_put(out, "</g>\n");
}

/* Strips and maps ----------------------------------------------------------------------------- */

static void draw_strip(perp__text *out, const frame *f, const perp_strip *strip)
{
    for (int r = 0; r < strip->nrows; r++) {
        double y = f->top + ROW * r;
        perp__text_format(out, "<text x=\"%.1f\" y=\"%.1f\">", f->left, y + 12);
        perp__text_xml(out, strip->rows[r]);
        perp__text_put(out, "</text>\n");
    }
    for (int i = 0; i < strip->nspans; i++) {
        const perp_span *s = &strip->spans[i];
        double from = fmax(f->left, to_x(f, s->from)), to = fmin(f->right, to_x(f, s->to));
        if (!(to >= from)) continue;
        perp__text_format(out, "<path class=\"f%d\" d=\"M%.1f %.1fH%.1fv12H%.1fz\"><title>",
                          s->mode % COLORS + 1, from, f->top + ROW * s->row + 16,
                          fmax(to, from + 0.5), from);
        perp__text_xml(out, strip->modes[s->mode]);
        perp__text_format(out, ": %g to %g</title></path>\n", s->from, s->to);
    }
}

/* From dark blue over green to yellow, even in lightness. */
static void ramp(double u, int rgb[3])
{
    static const double at[6][3] = {{53, 42, 109},  {42, 94, 140},  {33, 145, 140},
                                    {82, 190, 112}, {180, 218, 70}, {250, 231, 60}};
    double x = fmin(fmax(u, 0), 1) * 5;
    int k = (int)fmin(floor(x), 4);
    for (int c = 0; c < 3; c++)
        rgb[c] = (int)(at[k][c] + (x - k) * (at[k + 1][c] - at[k][c]) + 0.5);
}

static void put_cell(perp__text *out, double u, double x, double y, double w, double h)
{
    int rgb[3];
    ramp(u, rgb);
    perp__text_format(out, "<path fill=\"#%02x%02x%02x\" d=\"M%.2f %.2fh%.2fv%.2fh%.2fz\"/>",
                      rgb[0], rgb[1], rgb[2], x, y, w, h, -w);
}

static void draw_map(perp__text *out, const frame *f, const perp_map *map)
{
    double lo = INFINITY, hi = -INFINITY, w = (f->right - f->left) / map->nx,
           h = (f->bottom - f->top) / map->ny;
    perp__range_add(&lo, &hi, PERP_SCALE_LINEAR, map->value, map->nx * map->ny);
    double scale = hi > lo ? 1 / (hi - lo) : 0;
    for (int j = 0; j < map->ny; j++) {
        for (int i = 0; i < map->nx; i++) {
            double v = map->value[j * map->nx + i];
            if (isfinite(v)) /* 0.3: no seams between cells */
                put_cell(out, (v - lo) * scale, f->left + i * w, f->bottom - (j + 1) * h, w + 0.3,
                         h + 0.3);
        }
        perp__text_put(out, "\n");
    }
    if (!(lo <= hi)) return;
    double y = f->top - 8, x = f->right - 120;
    for (int k = 0; k < 60; k++) put_cell(out, k / 59.0, x + k, y - 8, 1.3, 8);
    perp__text_format(out, "<text class=\"m\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", x - 5,
                      y);
    perp__text_xml(out, map->label);
    perp__text_format(out, " %.3g</text><text class=\"m\" x=\"%.1f\" y=\"%.1f\">%.3g</text>\n", lo,
                      x + 65, y, hi);
}

/* Panels -------------------------------------------------------------------------------------- */

typedef struct legend {
    perp__text *out; /* NULL: only measure */
    double left, right, x, y;
} legend;

static void legend_item(legend *l, const char *label, int color, const char *shape)
{
    double width = 26 + width_of(label) + 10;
    if (l->x + width > l->right && l->x > l->left) {
        l->x = l->left;
        l->y += LINE;
    }
    if (l->out) {
        perp__text_format(l->out, shape, color, l->x, l->y - 4);
        perp__text_format(l->out, "<text x=\"%.1f\" y=\"%.1f\">", l->x + 22, l->y);
        perp__text_xml(l->out, label);
        perp__text_put(l->out, "</text>\n");
    }
    l->x += width;
}

/* The legend from y on; returns where it ends. */
static double draw_legend(perp__text *out, const perp_panel *p, double left, double right, double y)
{
    static const char *const shape[] = {
        "<path class=\"l s%d\" d=\"M%.1f %.1fh17\"/>",
        "<path class=\"l d s%d\" d=\"M%.1f %.1fh17\"/>",
        "<path class=\"f%d\" d=\"M%.1f %.1fm5 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z\"/>",
        "<path class=\"l s%d\" d=\"M%.1f %.1fh17\"/>",
        "<path class=\"l w s%d\" d=\"M%.1f %.1fh17\"/>"};
    legend l = {out, left, right, left, y + 11};
    int n = 0;
    for (int s = 0; s < p->nseries; s++) {
        if (!p->series[s].label) continue;
        legend_item(&l, p->series[s].label, color_of(&p->series[s], s), shape[p->series[s].style]);
        n++;
    }
    for (int m = 0; p->strip && m < p->strip->nmodes; m++) {
        if (!p->strip->modes[m][0]) continue;
        legend_item(&l, p->strip->modes[m], m % COLORS + 1,
                    "<path class=\"f%d\" d=\"M%.1f %.1fm3-4h12v9h-12z\"/>");
        n++;
    }
    if (p->map) n++;
    return n ? l.y + 9 : y;
}

static int panel_height(const perp_panel *p)
{
    int strip = p->strip ? ROW * p->strip->nrows + 4 * LINE : 0;
    if (p->height) return p->height;
    if (strip) return strip;
    return 220;
}

static void draw_panel(perp__text *out, const perp_panel *p, int id, double edge, double right,
                       double top, double margin)
{
    frame f;
    panel_ranges(p, &f);
    f.left = edge + margin;
    f.right = right;
    f.bottom = top + panel_height(p) - (has_label(&p->x) ? 36 : 20);
    if (p->title && p->title[0]) {
        perp__text_format(out, "<text class=\"p\" x=\"%.1f\" y=\"%.1f\">", f.left, top + 11);
        perp__text_xml(out, p->title);
        perp__text_put(out, "</text>\n");
        top += LINE + 2;
    }
    f.top = fmin(draw_legend(out, p, f.left, right, top), f.bottom - 20);
    if (p->is_square) make_square(&f);
    if (p->map) draw_map(out, &f, p->map);
    draw_x_axis(out, &f, &p->x);
    if (p->strip) {
        draw_strip(out, &f, p->strip);
        return;
    }
    draw_y_axis(out, &f, &p->y, edge);
    draw_series(out, &f, p, id);
    perp__text_format(out, "<path class=\"a\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", f.left, f.top,
                      f.bottom, f.right);
}

/* Figures ------------------------------------------------------------------------------------- */

static int strip_is_valid(const perp_strip *s)
{
    if (s->nrows < 1 || s->nmodes < 1 || s->nmodes > COLORS || !s->rows || !s->modes) return 0;
    if (s->nspans < 0 || (s->nspans && !s->spans)) return 0;
    for (int i = 0; i < s->nspans; i++) {
        const perp_span *span = &s->spans[i];
        if (span->row < 0 || span->row >= s->nrows || span->mode < 0 || span->mode >= s->nmodes)
            return 0;
    }
    return 1;
}

static int map_is_valid(const perp_map *m)
{
    return m->value && m->nx > 0 && m->ny > 0 && m->nx <= MAX_CELLS / m->ny && m->x_lo < m->x_hi &&
           m->y_lo < m->y_hi;
}

static int axis_is_valid(const perp_axis *a)
{
    return fabs(a->lo) <= PERP_HUGE && fabs(a->hi) <= PERP_HUGE &&
           (a->scale == PERP_SCALE_LINEAR || !(a->lo < a->hi) || a->lo > 0);
}

static int panel_is_valid(const perp_panel *p)
{
    if (p->nseries < 0 || (p->nseries && !p->series) || p->height < 0) return 0;
    if (!axis_is_valid(&p->x) || !axis_is_valid(&p->y)) return 0;
    for (int s = 0; s < p->nseries; s++) {
        const perp_series *series = &p->series[s];
        if (series->n < 0 || (series->n && (!series->x || !series->y))) return 0;
        if ((unsigned)series->style > PERP_STYLE_GHOST) return 0;
    }
    return (!p->strip || strip_is_valid(p->strip)) && (!p->map || map_is_valid(p->map));
}

static int figure_is_valid(const perp_figure *f)
{
    if (!f || !f->panels || f->npanels < 1 || f->columns < 0) return 0;
    if (f->width && (f->width < 200 || f->width > 20000)) return 0;
    for (int i = 0; i < f->npanels; i++) {
        if (!panel_is_valid(&f->panels[i])) return 0;
    }
    return 1;
}

/* Panels of a column share the left margin, so that their time axes line up. */
static double column_margin(const perp_figure *figure, int column, int columns)
{
    double margin = 30;
    for (int i = column; i < figure->npanels; i += columns) {
        const perp_panel *p = &figure->panels[i];
        frame f;
        if (p->strip) continue;
        panel_ranges(p, &f);
        f.top = 0;
        f.bottom = panel_height(p) - 60;
        margin = fmax(margin, y_axis_width(&f, &p->y));
    }
    return margin;
}

static int row_height(const perp_figure *figure, int first, int columns)
{
    int height = 0;
    for (int i = first; i < first + columns && i < figure->npanels; i++) {
        int h = panel_height(&figure->panels[i]);
        if (h > height) height = h;
    }
    return height;
}

static void draw_figure(perp__text *out, const perp_figure *figure)
{
    int columns = figure->columns ? figure->columns : 1,
        width = figure->width ? figure->width : 800;
    if (columns > figure->npanels) columns = figure->npanels;
    int head = figure->title && figure->title[0] ? 28 : 0, height = head + GAP;
    for (int i = 0; i < figure->npanels; i += columns)
        height += row_height(figure, i, columns) + GAP;
    perp__text_format(out,
                      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                      "viewBox=\"0 0 %d %d\" role=\"img\">\n<style>%s</style>\n"
                      "<path class=\"b\" d=\"M0 0h%dv%dH0z\"/>\n",
                      width, height, width, height, style, width, height);
    if (head) {
        perp__text_format(out, "<text class=\"h\" x=\"%d\" y=\"24\">", GAP);
        perp__text_xml(out, figure->title);
        perp__text_put(out, "</text>\n");
    }
    double top = head + GAP, each = (double)(width - GAP) / columns;
    for (int i = 0; i < figure->npanels; i += columns) {
        for (int k = 0; k < columns && i + k < figure->npanels; k++)
            draw_panel(out, &figure->panels[i + k], i + k, GAP + each * k - GAP / 2.0,
                       each * (k + 1) - 4, top, column_margin(figure, k, columns));
        top += row_height(figure, i, columns) + GAP;
    }
    perp__text_put(out, "</svg>\n");
}

perp_status perp__figure_put(perp__text *out, const perp_figure *figure)
{
    if (!figure_is_valid(figure)) return PERP_ERR_ARG;
    draw_figure(out, figure);
    return out->failed ? PERP_ERR_MEMORY : PERP_OK;
}

perp_status perp_figure_svg(const perp_figure *figure, char **text, size_t *length)
{
    if (!text) return PERP_ERR_ARG;
    *text = NULL;
    if (length) *length = 0;
    perp__text out = {0};
    perp_status status = perp__figure_put(&out, figure);
    if (status != PERP_OK) {
        perp__text_clear(&out);
        return status;
    }
    *text = perp__hand_over(out.at);
    if (length) *length = out.length;
    return PERP_OK;
}

perp_status perp_figure_write_svg(const perp_figure *figure, const char *path, perp_diag *diag)
{
    if (!path) return PERP_ERR_ARG;
    perp__text out = {0};
    perp_status status = perp__figure_put(&out, figure);
    if (status == PERP_OK) status = perp__text_write(&out, path, diag);
    perp__text_clear(&out);
    return status;
}
