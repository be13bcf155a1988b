/* The noise of each measured column, from its residuals. If columns are weighed by their spread,
 * one may be far noisier for its weight than another. The covariance of the parameters is then not
 * that of equal noise, but
 *
 *     A^-1 (sum over columns j of s_j^2 A_j) A^-1,    A = sum of A_j,  A_j = J_j' W J_j
 *
 * (White 1980, with one variance for each column). The degrees of freedom of s_j^2 are the column's
 * samples less its share of the parameters, trace A^-1 A_j. With Huber's loss s_j^2 is the mean
 * square of its slope psi(r) / 2. A is then the sum of the A_j times the share of residuals where
 * the slope still grows, the mean of psi' (Huber 1981, 7.6). */

#include "identify/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int column_of(const perp__noise *noise, long residual)
{
    return (int)(residual % noise->n);
}

static void gather(const perp__problem *p, const perp__minimum *m, perp__noise *noise)
{
    int np = p->np;
    for (long i = 0; i < p->n; i++) {
        double r = m->residual[i], k = p->huber;
        if (isnan(r)) continue;
        int is_far = k > 0 && fabs(r) > k, j = column_of(noise, i);
        double *A = noise->information + (size_t)(j * np * np);
        noise->variance[j] += is_far ? k * k : r * r;
        noise->dof[j] += 1;
        noise->share[j] += !is_far;
        for (int a = 0; a < np; a++) {
            double x = m->jacobian[i + (long)a * p->n];
            for (int b = 0; b < np; b++) A[a + b * np] += x * m->jacobian[i + (long)b * p->n];
        }
    }
    for (int j = 0; j < noise->n; j++) noise->share[j] /= fmax(noise->dof[j], 1);
}

void perp__noise_total(const perp__noise *noise, double *A)
{
    int square = noise->np * noise->np;
    for (int i = 0; i < square; i++) {
        A[i] = 0;
        for (int j = 0; j < noise->n; j++)
            A[i] += noise->share[j] * noise->information[j * square + i];
    }
}

double perp__noise_form(const perp__noise *noise, int column, const double *u, const double *v)
{
    int np = noise->np;
    const double *A = noise->information + (size_t)(column * np * np);
    double sum = 0;
    for (int b = 0; b < np; b++) {
        for (int a = 0; a < np && v[b] != 0; a++) sum += u[a] * A[a + b * np] * v[b];
    }
    return sum;
}

void perp__noise_divide(perp__noise *noise, int ndirection, const double *direction,
                        const double *value)
{
    double cost = 0, dof = 0;
    for (int j = 0; j < noise->n; j++) {
        for (int k = 0; k < ndirection; k++) {
            const double *v = direction + k * noise->np;
            noise->dof[j] -= noise->share[j] * perp__noise_form(noise, j, v, v) / value[k];
        }
        cost += noise->variance[j];
        dof += noise->dof[j];
    }
    for (int j = 0; j < noise->n; j++) {
        /* a column whose samples are all spent says nothing of its noise */
        if (noise->dof[j] < 0.5) {
            noise->variance[j] = dof > 0 ? cost / dof : 0;
            noise->dof[j] = fmax(dof, 1);
        } else
            noise->variance[j] /= noise->dof[j];
    }
}

int perp__noise_create(const perp__problem *p, const perp__minimum *m, int columns,
                       perp__noise *noise)
{
    size_t np = (size_t)p->np, n = (size_t)(columns > 0 ? columns : 1);
    *noise = (perp__noise){.n = (int)n, .np = p->np};
    noise->variance = calloc(3 * n + n * np * np, sizeof(double));
    if (!noise->variance) return 0;
    noise->dof = noise->variance + n;
    noise->share = noise->dof + n;
    noise->information = noise->share + n;
    gather(p, m, noise);
    return 1;
}

void perp__noise_clear(perp__noise *noise)
{
    free(noise->variance);
    memset(noise, 0, sizeof *noise);
}
