/* Times on a machine that others use too: CPU time of this thread, the contestants in turn, the least and the median. */

#ifndef PERP_BENCH_TIMING_H
#define PERP_BENCH_TIMING_H

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* Seconds that this thread has computed; waiting, and what others compute, does not count. */
static inline double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of a clock on the wall: for what several threads do together. */
static inline double wall_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds that all threads have computed. */
static inline double process_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { TIMES_MOST = 256 };

typedef struct times {
    int n;
    double seconds[TIMES_MOST]; /* the first TIMES_MOST */
} times;

static inline void times_add(times *t, double seconds)
{
    if (t->n < TIMES_MOST) t->seconds[t->n++] = seconds;
}

static inline int times_compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Sorted from then on; NaN of none. */
static inline double times_median(times *t)
{
    if (t->n == 0) return (double)NAN;
    qsort(t->seconds, (size_t)t->n, sizeof *t->seconds, times_compare);
    return (t->seconds[(t->n - 1) / 2] + t->seconds[t->n / 2]) / 2;
}

static inline double times_least(times *t)
{
    times_median(t);
    return t->n ? t->seconds[0] : (double)NAN;
}

#endif
