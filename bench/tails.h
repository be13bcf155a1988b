/* Figures of many steps: the mean, the median, the tail; gravity that turns. */

#ifndef PERP_BENCH_TAILS_H
#define PERP_BENCH_TAILS_H

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
    printf("  %-22s mean %9.1f  median %9.1f  p99.9 %9.1f  worst %9.1f %s\n", what, sum / (double)n,
           x[n / 2], x[n - 1 - n / 1000], x[n - 1], unit);
}

#endif
