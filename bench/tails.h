/* Figures of many steps: the mean, the median, the tail; gravity that turns. */

#ifndef PERP_BENCH_TAILS_H
#define PERP_BENCH_TAILS_H

#include "perp/bodies.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TILT_EVERY = 50 };

/* Uniform in 0..1 (Knuth's MMIX, its upper 53 bits). */
static inline double uniform(unsigned long long *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* Gravity turned by up to `degrees` about an axis in the plane. */
static inline void tilt(double degrees, unsigned long long *state, double gravity[3])
{
    double angle = degrees * uniform(state) * 3.14159265358979 / 180,
           about = 6.28318530717959 * uniform(state);
    gravity[0] = 9.81 * sin(angle) * cos(about);
    gravity[1] = 9.81 * sin(angle) * sin(about);
    gravity[2] = -9.81 * cos(angle);
}

static inline int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Sorts x. */
static inline void print_sorted(const char *what, double *x, long n, const char *unit)
{
    double sum = 0;
    for (long i = 0; i < n; i++) sum += x[i];
    qsort(x, (size_t)n, sizeof *x, ascending);
    double median = x[n / 2], tail = x[n - 1 - n / 1000];
    printf("  %-22s mean %9.1f  median %9.1f  p99.9 %9.1f  worst %9.1f %s", what, sum / (double)n,
           median, tail, x[n - 1], unit);
    if (median > 0) printf(" (p99.9 is %.1f medians)", tail / median);
    printf("\n");
}

/* Of each step its CPU time, its work and the friction solver's iterations; the step with the most work. */
typedef struct tails {
    double *time, *work, *iterations;
    long n;
    perp_bodies_info dearest;
    int more, last; /* contacts that it has more than the step before; contacts of the last step */
} tails;

static inline tails make_tails(long most)
{
    tails t = {0};
    double **all[] = {&t.time, &t.work, &t.iterations};
    for (int k = 0; k < 3; k++)
        if (!(*all[k] = calloc((size_t)most, sizeof(double)))) exit(2);
    return t;
}

static inline void note_step(tails *t, double seconds, const perp_bodies_info *info)
{
    t->time[t->n] = 1e6 * seconds;
    t->work[t->n] = info->work;
    t->iterations[t->n++] = info->iterations;
    if (t->n == 1 || info->work > t->dearest.work) {
        t->dearest = *info;
        t->more = info->contacts - t->last;
    }
    t->last = info->contacts;
}

static inline void print_tails(const tails *t, int is_turned)
{
    const perp_bodies_info *i = &t->dearest;
    printf(
        "  most work in step %ld: %d contacts, %+d since the step before; %d iterations, %d part%s",
        i->step, i->contacts, t->more, i->iterations, i->substeps, i->substeps > 1 ? "s" : "");
    if (is_turned) printf("; %ld steps since gravity turned", (i->step - 1) % TILT_EVERY);
    printf("\n");
    print_sorted("time", t->time, t->n, "us");
    print_sorted("work", t->work, t->n, "multiply-adds");
    print_sorted("iterations", t->iterations, t->n, "");
}

static inline void free_tails(tails *t)
{
    free(t->time);
    free(t->work);
    free(t->iterations);
}

#endif
