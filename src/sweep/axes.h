/* What varies in a sweep: axes of points and axes of distributions, and where on them a job is. */

#ifndef PERP_SRC_AXES_H
#define PERP_SRC_AXES_H

#include "base/arena.h"
#include "base/base.h"
#include "perp/sweep.h"

#include <stdint.h>

typedef struct perp__axis {
    const char *name, *text; /* text: as it was given */
    double *point;           /* n of them; NULL: drawn */
    long n;
    int distribution; /* a row of the table in axes.c */
    double a[3];      /* its arguments */
    int drawn;        /* which of the drawn ones it is */
} perp__axis;

typedef struct perp__axes {
    perp__axis *axis;
    int n, ndrawn;
    perp_design design;
    uint64_t seed;
    long samples; /* 1 where nothing is drawn */
    int block; /* jobs of a sample: 1, or of Saltelli's design two points and one for each axis */
    long long jobs; /* combinations of points times samples times block */
    uint64_t (
        *direction)[52]; /* of Sobol's sequence, for each drawn axis; twice in Saltelli's design */
} perp__axes;

/* Read "NAME=..." texts; what they point to lives in the arena. */
perp_status perp__axes_read(perp__axes *axes, const perp_sweep_options *options, perp__arena *arena,
                            perp_diag *diag);

/* The values of a job, one an axis. */
void perp__axes_at(const perp__axes *axes, long long job, double *value);

/* draw.c: numbers in (0, 1) that depend on what is given alone. */
double perp__draw(const perp__axes *axes, long sample, int drawn);
void perp__sobol_directions(uint64_t (*direction)[52], int n);
/* Four words that depend on a counter and a key: Philox 4x32-10 (Salmon and others 2011, section
 * 3.3). */
void perp__philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

#endif
