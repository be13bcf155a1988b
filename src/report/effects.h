/* The effect of each varied quantity on a column of results: means over its classes, and Sobol's
 * indices of first order and in total, with intervals. */

#ifndef PERP_SRC_EFFECTS_H
#define PERP_SRC_EFFECTS_H

enum { PERP__CLASSES = 32 };

/* How the jobs of a sweep hang together: those of the same job modulo `samples` have the same
 * draws. */
typedef struct perp__draws {
    const double *job;
    int n;       /* rows */
    int samples; /* 0: nothing is drawn */
    int is_even; /* the draws fill the space evenly: Sobol's sequence */
} perp__draws;

/* Means of y over classes of x: its values where it takes points, or there are few of them, else
 * ranks. */
typedef struct perp__effect {
    int n; /* classes; 0: too few rows */
    double x[PERP__CLASSES], mean[PERP__CLASSES];
    double error
        [PERP__CLASSES]; /* half the width of the mean's interval of 95 %; NaN: there is none */
} perp__effect;

/* A share of the variance of y, with its interval of 95 %; NaN: not known. */
typedef struct perp__index {
    double value, low, high;
} perp__index;

/* The effect of x on y; x is an axis of points or (is_drawn) of draws. A sample with a row that is
 * missing or not finite at an x does not count there. Returns 0: memory. */
int perp__effect_find(const perp__draws *jobs, const double *x, int is_drawn, const double *y,
                      perp__effect *effect, perp__index *first);

/* Is a row one of about `most` that are drawn? No design is in step with them. */
int perp__is_drawn(int row, int rows, int most);

/* The design saltelli: row (d + 2) k + b is sample k at the point A (b = 0), B (b = 1), or A with
 * axis b - 2 of B. A sample with a row that is not finite does not count. `first` and `total` have
 * d entries. */
void perp__indices_find(const double *y, int n, int d, perp__index *first, perp__index *total);

#endif
