/* The terminal's plot: each bin keeps the least and largest value of its rows; drawn in braille, or in plain letters. */

#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 64, BINS = 2 * CELLS, LINES = 3, DOTS = 4 * LINES };

/* Smallest and largest value of one series within one bin; NaN while it has none. */
typedef struct bin {
    double lo, hi;
} bin;

struct cli_plot {
    int nseries;
    const char *const *names, *const *units;
    long rows;
    double first, last; /* times */
    int any;
    bin *bins; /* nseries x BINS */
};

cli_plot *cli_plot_create(int nseries, const char *const *names, const char *const *units,
                          long rows)
{
    cli_plot *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    *p =
        (cli_plot){.nseries = nseries, .names = names, .units = units, .rows = rows > 1 ? rows : 1};
    p->bins = malloc(((size_t)nseries * BINS + 1) * sizeof *p->bins);
    if (!p->bins) {
        free(p);
        return NULL;
    }
    for (int i = 0; i < nseries * BINS; i++) p->bins[i] = (bin){(double)NAN, (double)NAN};
    return p;
}

void cli_plot_destroy(cli_plot *p)
{
    if (p) free(p->bins);
    free(p);
}

void cli_plot_add(cli_plot *p, long row, double t, const double *values)
{
    long k = (long)((double)row * BINS / (double)p->rows);
    if (k >= BINS) k = BINS - 1;
    if (!p->any) p->first = t;
    p->any = 1;
    p->last = t;
    for (int s = 0; s < p->nseries; s++) {
        bin *b = &p->bins[s * BINS + k];
        if (!isfinite(values[s])) continue;
        b->lo = fmin(b->lo, values[s]); /* fmin ignores a NaN */
        b->hi = fmax(b->hi, values[s]);
    }
}

static void extremes(const bin *bins, double *lo, double *hi)
{
    *lo = *hi = (double)NAN;
    for (int k = 0; k < BINS; k++) *lo = fmin(*lo, bins[k].lo), *hi = fmax(*hi, bins[k].hi);
}

/* Level of a value: 0 at the bottom, DOTS - 1 at the top. Halves, so that no difference overflows.
 */
static int level(double x, double lo, double hi)
{
    double range = hi / 2 - lo / 2;
    int is_constant = !(range > 0.5e-12 * fmax(fabs(lo), fabs(hi)));
    return !is_constant ? (int)floor((x / 2 - lo / 2) / range * (DOTS - 1) + 0.5) : DOTS / 2;
}

/* Mark the dots of one series; bins without data take the last value, so that short runs make a
 * line. */
static void mark(const bin *bins, double lo, double hi, char dots[DOTS][BINS])
{
    memset(dots, 0, DOTS * BINS);
    int before = -1;
    for (int k = 0; k < BINS; k++) {
        if (isnan(bins[k].lo)) continue;
        int bottom = level(bins[k].lo, lo, hi), top = level(bins[k].hi, lo, hi);
        if (before >= 0 && before < bottom) bottom = before + 1;
        if (before >= 0 && before > top) top = before - 1;
        before = level(bins[k].hi, lo, hi);
        for (int d = bottom; d <= top; d++) dots[d][k] = 1;
    }
}

static void print_braille(FILE *out, char dots[DOTS][BINS], int line)
{
    static const int bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    for (int c = 0; c < CELLS; c++) {
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

static void print_plain(FILE *out, char dots[DOTS][BINS], int line)
{
    for (int c = 0; c < CELLS; c++) {
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
        fputc(upper && lower ? '|' : upper ? '\'' : lower ? '.' : ' ', out);
    }
}

void cli_plot_print(const cli_plot *p, FILE *out, int plain)
{
    char dots[DOTS][BINS];
    for (int s = 0; s < p->nseries; s++) {
        double lo, hi;
        extremes(p->bins + (size_t)s * BINS, &lo, &hi);
        fprintf(out, "\n  %s%s%s%s\n", p->names[s], p->units[s][0] ? " [" : "", p->units[s],
                p->units[s][0] ? "]" : "");
        if (isnan(lo)) {
            fprintf(out, "             no values\n");
            continue;
        }
        mark(p->bins + (size_t)s * BINS, lo, hi, dots);
        for (int line = 0; line < LINES; line++) {
            if (line == 0 || line == LINES - 1)
                fprintf(out, "%11.4g %s", line ? lo : hi, plain ? "|" : "\u2502");
            else
                fprintf(out, "%11s %s", "", plain ? "|" : "\u2502");
            if (plain)
                print_plain(out, dots, line);
            else
                print_braille(out, dots, line);
            fputc('\n', out);
        }
    }
    if (p->any)
        fprintf(out, "%12s %-*.4g%*.4g\n", "t [s]", CELLS / 2, p->first, CELLS / 2, p->last);
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
