/* Internal: the noise of each measured column, from its residuals. */

#ifndef PERP_SRC_NOISE_H
#define PERP_SRC_NOISE_H

#include "identify/identify.h"

typedef struct perp__noise {
    int n, np;
    double *variance; /* n: of a residual; before perp__noise_divide the sum of its costs */
    double *dof;      /* n: degrees of freedom of the variance; before, the number of samples */
    double *share;    /* n: of the residuals that count with their square; 1 but for Huber's loss */
    double *information; /* n x np x np: J'J of the column's residuals */
} perp__noise;

/* Residuals go round the columns; none: all are of one kind. Returns 0 when memory is out. */
int perp__noise_create(const perp__problem *problem, const perp__minimum *minimum, int columns,
                       perp__noise *noise);
void perp__noise_clear(perp__noise *noise);
/* Variances from sums; direction and value: eigenvectors (np each) and eigenvalues of the
 * information that was spent. */
void perp__noise_divide(perp__noise *noise, int ndirection, const double *direction,
                        const double *value);
/* The sum of the columns' A_j times their shares, np x np: the curvature of half the cost. */
void perp__noise_total(const perp__noise *noise, double *A);
/* u' A_j v */
double perp__noise_form(const perp__noise *noise, int column, const double *u, const double *v);

#endif
