/* The terminal's plot: each bin keeps the least and largest value of its rows; drawn in braille, or
 * in plain letters. */

#define _DEFAULT_SOURCE /* struct winsize */

#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    CELLS = 64, /* where there is no terminal */
    LEAST_CELLS = 16,
    MOST_CELLS = 240,
    MOST_BINS = 2 * MOST_CELLS,
    LABEL = 13, /* columns before the cells */
    LINES = 3,
    DOTS = 4 * LINES
};

/* Smallest and largest value of one series within one bin; NaN while it has none. */
typedef struct bin {
    double lo, hi;
} bin;

struct cli_plot {
    int nseries, cells, nbin; /* cells of a line; two bins each */
    const char *const *names, *const *units;
    long rows;
    double first, last; /* times */
    int any;
    bin *bins; /* nseries x nbin */
    char has_row[MOST_BINS];
};

/* What fits into the width of the terminal. */
static int cells_of(FILE *out)
{
    struct winsize size;
    if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return CELLS;
    int cells = size.ws_col - LABEL - 1;
    if (cells < LEAST_CELLS) return LEAST_CELLS;
    if (cells > MOST_CELLS) return MOST_CELLS;
    return cells;
}

cli_plot *cli_plot_create(int nseries, const char *const *names, const char *const *units,
                          long rows, FILE *out)
{
    cli_plot *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    int cells = cells_of(out);
    *p = (cli_plot){.nseries = nseries,
                    .cells = cells,
                    .nbin = 2 * cells,
                    .names = names,
                    .units = units,
                    .rows = rows > 1 ? rows : 1};
    p->bins = malloc(((size_t)nseries * (size_t)p->nbin + 1) * sizeof *p->bins);
    if (!p->bins) {
        free(p);
        return NULL;
    }
    for (int i = 0; i < nseries * p->nbin; i++) p->bins[i] = (bin){(double)NAN, (double)NAN};
    return p;
}

void cli_plot_destroy(cli_plot *p)
{
    if (p) free(p->bins);
    free(p);
}

void cli_plot_add(cli_plot *p, long row, double t, const double *values)
{
    double end = (double)(p->rows > 1 ? p->rows - 1 : 1); /* the last row is in the last bin */
    long k = (long)floor((double)row / end * (p->nbin - 1) + 0.5);
    if (k >= p->nbin) k = p->nbin - 1;
    p->has_row[k] = 1;
    if (!p->any) p->first = t;
    p->any = 1;
    p->last = t;
    for (int s = 0; s < p->nseries; s++) {
        bin *b = &p->bins[s * p->nbin + k];
        if (!isfinite(values[s])) continue;
        b->lo = fmin(b->lo, values[s]); /* fmin ignores a NaN */
        b->hi = fmax(b->hi, values[s]);
    }
}

static void extremes(const bin *bins, int n, double *lo, double *hi)
{
    *lo = *hi = (double)NAN;
    for (int k = 0; k < n; k++) {
        *lo = fmin(*lo, bins[k].lo);
        *hi = fmax(*hi, bins[k].hi);
    }
}

/* Level of a value: 0 at the bottom, DOTS - 1 at the top. Halves, so that no difference overflows.
 */
static int level(double x, double lo, double hi)
{
    double range = hi / 2 - lo / 2;
    int is_constant = !(range > 0.5e-12 * fmax(fabs(lo), fabs(hi)));
    return !is_constant ? (int)floor((x / 2 - lo / 2) / range * (DOTS - 1) + 0.5) : DOTS / 2;
}

typedef char canvas[DOTS][MOST_BINS];

/* Mark the dots of one series: a line through its bins. Those without rows lie on the way to the
 * next; rows without a value break it. */
static void mark(const cli_plot *p, const bin *bins, double lo, double hi, canvas dots)
{
    memset(dots, 0, sizeof(canvas));
    int last = -1, before = 0; /* the bin before, and the level at which it ends */
    for (int k = 0; k < p->nbin; k++) {
        if (isnan(bins[k].lo) && p->has_row[k]) last = -1;
        if (isnan(bins[k].lo)) continue;
        int bottom = level(bins[k].lo, lo, hi), top = level(bins[k].hi, lo, hi);
        int begins = before;
        if (last < 0 || before < bottom)
            begins = bottom;
        else if (before > top)
            begins = top;
        for (int j = last < 0 ? k : last + 1; j <= k; j++) {
            int gap = last < 0 ? 1 : k - last;
            int from = last < 0 ? begins : before + (begins - before) * (j - 1 - last) / gap;
            int to = last < 0 ? begins : before + (begins - before) * (j - last) / gap;
            int step = to > from ? 1 : -1;
            for (int d = from == to ? to : from + step; d != to + step; d += step) dots[d][j] = 1;
        }
        for (int d = bottom; d <= top; d++) dots[d][k] = 1;
        before = level(bins[k].hi, lo, hi);
        last = k;
    }
}

static void print_braille(FILE *out, int cells, canvas dots, int line)
{
    static const int bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    for (int c = 0; c < cells; c++) {
        int code = 0x2800;
        for (int y = 0; y < 4; y++) {
            for (int x = 0; x < 2; x++) {
                if (dots[DOTS - 1 - (4 * line + y)][2 * c + x]) code |= bit[y][x];
            }
        }
        fprintf(out, "%c%c%c", 0xE0 | code >> 12, 0x80 | ((code >> 6) & 0x3F),
                0x80 | (code & 0x3F));
    }
}

static void print_plain(FILE *out, int cells, canvas dots, int line)
{
    for (int c = 0; c < cells; c++) {
        int upper = 0, lower = 0;
        for (int x = 0; x < 2; x++) {
            for (int y = 0; y < 4; y++) {
                if (!dots[DOTS - 1 - (4 * line + y)][2 * c + x]) continue;
                if (y < 2)
                    upper = 1;
                else
                    lower = 1;
            }
        }
        char dot = ' ';
        if (upper && lower)
            dot = '|';
        else if (upper)
            dot = '\'';
        else if (lower)
            dot = '.';
        fputc(dot, out);
    }
}

void cli_plot_print(const cli_plot *p, FILE *out, int plain)
{
    canvas dots;
    for (int s = 0; s < p->nseries; s++) {
        double lo, hi;
        const bin *bins = p->bins + (size_t)s * (size_t)p->nbin;
        extremes(bins, p->nbin, &lo, &hi);
        fprintf(out, "\n  %s%s%s%s\n", p->names[s], p->units[s][0] ? " [" : "", p->units[s],
                p->units[s][0] ? "]" : "");
        if (isnan(lo)) {
            fprintf(out, "             no values\n");
            continue;
        }
        mark(p, bins, lo, hi, dots);
        for (int line = 0; line < LINES; line++) {
            if (line == 0 || line == LINES - 1)
                fprintf(out, "%11.4g %s", line ? lo : hi, plain ? "|" : "\u2502");
            else
                fprintf(out, "%11s %s", "", plain ? "|" : "\u2502");
            if (plain)
                print_plain(out, p->cells, dots, line);
            else
                print_braille(out, p->cells, dots, line);
            fputc('\n', out);
        }
    }
    if (p->any)
        fprintf(out, "%12s %-*.4g%*.4g\n", "t [s]", p->cells / 2, p->first, p->cells / 2, p->last);
}

int cli_speaks_utf8(void)
{
    const char *names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (int i = 0; i < 3; i++) {
        const char *value = getenv(names[i]);
        if (value && value[0])
            return strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "UTF8") ||
                   strstr(value, "utf-8");
    }
    return 0;
}
