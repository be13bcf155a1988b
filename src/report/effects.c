/* Means over classes, Sobol's indices, intervals by leaving out a part of the jobs in turn. */

#include "report/effects.h"

#include "base/hash.h"
#include "base/memory.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Intervals: the delete-a-group jackknife (Shao and Tu, The Jackknife and Bootstrap, 1995, section
 * 2.3) over PARTS parts; Student's 97.5 % point of PARTS - 1 degrees of freedom. */
enum { PARTS = 20 };
static const double student = 2.093;

/* Numbers by place, so that neighbours in a design are not taken in step with it. */
static uint64_t mixed(int i)
{
    return perp__mixed((uint64_t)i + PERP__RANDOM_STEP);
}

/* Which part a sample is of. */
static int part_of(int sample)
{
    return (int)(mixed(sample) % PARTS);
}

int perp__is_drawn(int row, int rows, int most)
{
    return mixed(row) % (uint64_t)(rows > 0 ? rows : 1) < (uint64_t)most;
}

enum { COUNT, SUM, SQUARES, EACH, MOST_SUMS = EACH * (PERP__CLASSES + 1) };

/* The statistic of all sums and its interval, from the sums of each part, m of them. */
static perp__index jackknife(const double *sums, int m, double (*of)(const double *, int))
{
    double total[MOST_SUMS] = {0}, rest[MOST_SUMS], left[PARTS], mean = 0, squares = 0;
    for (int p = 0; p < PARTS; p++)
        for (int i = 0; i < m; i++) total[i] += sums[p * m + i];
    for (int p = 0; p < PARTS; p++) {
        for (int i = 0; i < m; i++) rest[i] = total[i] - sums[p * m + i];
        left[p] = of(rest, m);
        mean += left[p] / PARTS;
    }
    for (int p = 0; p < PARTS; p++) squares += (left[p] - mean) * (left[p] - mean);
    double value = of(total, m), half = student * sqrt((PARTS - 1.0) / PARTS * squares);
    return (perp__index){value, fmin(fmax(value - half, 0), 1), fmin(fmax(value + half, 0), 1)};
}

/* Classes -------------------------------------------------------------------------------------- */

/* y at an x and a sample: the mean of `count` jobs that differ in other points, and their
 * squares. */
typedef struct cell {
    double x, y, squares;
    int sample, count;
} cell;

static int by_place(const void *a, const void *b)
{
    const cell *p = a, *q = b;
    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    return (p->sample > q->sample) - (p->sample < q->sample);
}

/* Cells from rows, in order of x; y less `centre`, which keeps squares from cancelling. Only the
 * fullest cells stay: in the others a job is missing. */
static int gather(const perp__draws *jobs, const double *x, const double *y, double centre, cell *c)
{
    int n = 0, m = 0, kept = 0, fullest = 0;
    for (int i = 0; i < jobs->n; i++) {
        if (!isfinite(x[i]) || !isfinite(y[i])) continue;
        double v = y[i] - centre;
        int sample = jobs->samples ? (int)fmod(jobs->job[i], jobs->samples) : 0;
        c[n++] = (cell){x[i], v, v * v, sample, 1};
    }
    qsort(c, (size_t)n, sizeof *c, by_place);
    for (int i = 0; i < n; i++) {
        if (m && by_place(&c[m - 1], &c[i]) == 0) {
            c[m - 1].y += c[i].y;
            c[m - 1].squares += c[i].squares;
            c[m - 1].count++;
        } else {
            c[m++] = c[i];
        }
        if (c[m - 1].count > fullest) fullest = c[m - 1].count;
    }
    for (int i = 0; i < m; i++) {
        if (c[i].count < fullest) continue;
        c[kept] = c[i];
        c[kept++].y /= fullest;
    }
    return kept;
}

/* Class of each cell; returns their number. Points: one a value, at most PERP__CLASSES of them;
 * draws: by rank. */
static int classify(const cell *c, int n, int *class)
{
    enum { FEWEST = 8, RANKS = 16 }; /* cells in a class of ranks, classes of ranks */
    int values = 0;
    for (int i = 0; i < n; i++) {
        values += i == 0 || c[i].x != c[i - 1].x;
        class[i] = values - 1;
    }
    if (values <= PERP__CLASSES) return values;
    int most = n / FEWEST < RANKS ? n / FEWEST : RANKS;
    for (int i = 0; i < n; i++) { /* cells of the same x stay together */
        int ranked = (int)((long long)i * most / n);
        class[i] = i && c[i].x == c[i - 1].x ? class[i - 1] : ranked;
    }
    return most;
}

/* V(E[y | class]) / V(y), Sobol's index of first order. Sums: of the cells of each class, and of
 * all jobs. Chance alone makes the means of classes differ. With `chance` what it adds is taken
 * away, as in Kelley's epsilon squared (1935). */
static double share_between(const double *s, int m, int chance)
{
    double n = 0, sum = 0, squares = 0, between = 0;
    const double *jobs = s + m - EACH;
    int classes = 0;
    for (int k = 0; k < m - EACH; k += EACH) {
        if (s[k + COUNT] < 0.5) continue;
        n += s[k + COUNT];
        sum += s[k + SUM];
        squares += s[k + SQUARES];
        between += s[k + SUM] * s[k + SUM] / s[k + COUNT];
        classes++;
    }
    between -= sum * sum / n;
    double all = squares - sum * sum / n,
           within = chance && n > classes ? (all - between) / (n - classes) : 0,
           mean = jobs[SUM] / jobs[COUNT], variance = jobs[SQUARES] / jobs[COUNT] - mean * mean;
    return variance > 0 ? (between - (classes - 1) * within) / n / variance : (double)NAN;
}

static double share_of_draws(const double *s, int m)
{
    return share_between(s, m, 1);
}

/* The same samples at each point, or draws that fill the space evenly: means of classes differ by
 * little that is chance. */
static double share_of_points(const double *s, int m)
{
    return share_between(s, m, 0);
}

static void take_effect(perp__effect *e, const cell *c, int n, const int *class, double centre)
{
    double sum[PERP__CLASSES] = {0}, squares[PERP__CLASSES] = {0}, x[PERP__CLASSES] = {0};
    int count[PERP__CLASSES] = {0}, kept = 0;
    for (int i = 0; i < n; i++) {
        int k = class[i];
        count[k]++;
        x[k] += c[i].x;
        sum[k] += c[i].y;
        squares[k] += c[i].y * c[i].y;
    }
    for (int k = 0; k < e->n; k++) {
        if (!count[k]) continue; /* of ranks that one value takes in */
        double m = count[k], mean = sum[k] / m,
               variance = m > 1 ? fmax(squares[k] - m * mean * mean, 0) / (m - 1) : (double)NAN;
        e->x[kept] = x[k] / m;
        e->mean[kept] = centre + mean;
        e->error[kept++] = 1.96 * sqrt(variance / m);
    }
    e->n = kept;
}

static perp__index find_index(const perp__draws *jobs, int is_drawn, const cell *c, int n,
                              const int *class, int classes)
{
    double sums[PARTS * MOST_SUMS] = {0};
    int m = EACH * (classes + 1), whole = jobs->samples == 0;
    for (int i = 0; i < n; i++) {
        double *part = sums + m * part_of(whole ? i : c[i].sample), *s = part + EACH * class[i],
               *all = part + m - EACH;
        s[COUNT] += 1;
        s[SUM] += c[i].y;
        s[SQUARES] += c[i].y * c[i].y;
        all[COUNT] += c[i].count;
        all[SUM] += c[i].y * c[i].count;
        all[SQUARES] += c[i].squares;
    }
    perp__index found =
        jackknife(sums, m, is_drawn && !jobs->is_even ? share_of_draws : share_of_points);
    if (whole) found.low = found.high = found.value; /* nothing is drawn: these are all points */
    return found;
}

static double mean_of(const double *y, int n)
{
    double sum = 0;
    int count = 0;
    for (int i = 0; i < n; i++)
        if (isfinite(y[i])) {
            sum += y[i];
            count++;
        }
    return count ? sum / count : 0;
}

int perp__effect_find(const perp__draws *jobs, const double *x, int is_drawn, const double *y,
                      perp__effect *effect, perp__index *first)
{
    double centre = mean_of(y, jobs->n);
    cell *c = malloc(((size_t)jobs->n + 1) * sizeof *c);
    int *class = malloc(((size_t)jobs->n + 1) * sizeof *class);
    int ok = c && class, n = ok ? gather(jobs, x, y, centre, c) : 0;
    *effect = (perp__effect){.n = ok ? classify(c, n, class) : 0};
    *first = (perp__index){(double)NAN, (double)NAN, (double)NAN};
    if (effect->n > 1 && (!jobs->samples || n >= 2 * PARTS))
        *first = find_index(jobs, is_drawn, c, n, class, effect->n);
    if (ok) take_effect(effect, c, n, class, centre);
    free(class);
    free(c);
    return ok;
}

/* Saltelli's design ---------------------------------------------------------------------------- */

enum { SAMPLES, OF_A, SQUARES_A, PRODUCTS, STEPS, TERMS };

static double variance(const double *s)
{
    double mean = s[OF_A] / (2 * s[SAMPLES]);
    return s[SQUARES_A] / (2 * s[SAMPLES]) - mean * mean;
}

/* Saltelli and others, Variance based sensitivity analysis of model output, 2010, table 2, (b). */
static double of_first(const double *s, int m)
{
    (void)m;
    return s[PRODUCTS] / s[SAMPLES] / variance(s);
}

/* Jansen, Analysis of variance designs for model output, 1999: table 2, (f). */
static double of_total(const double *s, int m)
{
    (void)m;
    return s[STEPS] / (2 * s[SAMPLES]) / variance(s);
}

static int is_whole(const double *y, int rows)
{
    for (int b = 0; b < rows; b++)
        if (!isfinite(y[b])) return 0;
    return 1;
}

void perp__indices_find(const double *y, int n, int d, perp__index *first, perp__index *total)
{
    double centre = 0, count = 0;
    int rows = d + 2;
    for (int k = 0; k + rows <= n; k += rows)
        if (is_whole(y + k, rows)) {
            centre += 0.5 * (y[k] + y[k + 1]);
            count++;
        }
    if (count > 0) centre /= count;
    for (int i = 0; i < d; i++) {
        double sums[PARTS * TERMS] = {0};
        for (int k = 0; k + rows <= n; k += rows) {
            if (!is_whole(y + k, rows)) continue;
            double a = y[k] - centre, b = y[k + 1] - centre, ab = y[k + 2 + i] - centre;
            double *s = sums + TERMS * part_of(k / rows);
            s[SAMPLES] += 1;
            s[OF_A] += a + b;
            s[SQUARES_A] += a * a + b * b;
            s[PRODUCTS] += b * (ab - a);
            s[STEPS] += (a - ab) * (a - ab);
        }
        first[i] = jackknife(sums, TERMS, of_first);
        total[i] = jackknife(sums, TERMS, of_total);
        if (count < 2 * PARTS)
            first[i] = total[i] = (perp__index){(double)NAN, (double)NAN, (double)NAN};
    }
}
