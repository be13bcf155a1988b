/* The mass centre from free flights (tosses.h). Each coordinate of p = p0 + v0 t - g t^2/2 (upward only) - R d is linear in what
 * is not known; a straight line in t is taken out of every term first, so that p0 and v0 of each toss need not be solved for. */

#include "tosses.h"

#include <math.h>
#include <string.h>

#define FRAME (1.0 / 148)

enum { FEWEST = 8, MOST = 200, TERMS = 4 };

/* Column c of the rotation of body vectors that q stands for. */
static void rotate(const double *q, int c, double *r)
{
    double n = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3], e[3] = {0, 0, 0}, t[3];
    const double *u = q + 1;
    e[c] = 1;
    for (int k = 0; k < 3; k++)
        t[k] = 2 * (u[(k + 1) % 3] * e[(k + 2) % 3] - u[(k + 2) % 3] * e[(k + 1) % 3]) / n;
    for (int k = 0; k < 3; k++)
        r[k] =
            e[k] + q[0] * t[k] + u[(k + 1) % 3] * t[(k + 2) % 3] - u[(k + 2) % 3] * t[(k + 1) % 3];
}

/* Take the best line off m equally spaced numbers. */
static void take_line_off(double *y, int m)
{
    double mean = 0, slope = 0, squares = 0, middle = 0.5 * (m - 1);
    for (int i = 0; i < m; i++) mean += y[i] / m;
    for (int i = 0; i < m; i++)
        slope += (i - middle) * y[i], squares += (i - middle) * (i - middle);
    for (int i = 0; i < m; i++) y[i] -= mean + slope / squares * (i - middle);
}

/* Normal equations A x = b of one toss, added; *left: squares of what is to be explained. */
static int add_flight(const toss *t, double A[TERMS][TERMS], double *b, double *left)
{
    double term[TERMS + 1][3][MOST];
    int m = t->contact - 2 < t->rows ? t->contact - 2 : t->rows;
    if (m > MOST) m = MOST;
    if (m < FEWEST) return 0;
    for (int i = 0; i < m; i++) {
        const double *row = t->row + i * TOSS_COLUMNS;
        double r[3], s = i * FRAME;
        for (int c = 0; c < 3; c++) {
            rotate(row + 3, c, r);
            for (int k = 0; k < 3; k++) term[c][k][i] = -r[k];
            term[3][c][i] = c == 2 ? -0.5 * s * s : 0;
            term[4][c][i] = row[c];
        }
    }
    for (int k = 0; k < 3; k++) {
        for (int j = 0; j <= TERMS; j++) take_line_off(term[j][k], m);
        for (int i = 0; i < m; i++) {
            double y = term[TERMS][k][i];
            *left += y * y;
            for (int a = 0; a < TERMS; a++) {
                b[a] += term[a][k][i] * y;
                for (int c = 0; c < TERMS; c++) A[a][c] += term[a][k][i] * term[c][k][i];
            }
        }
    }
    return m;
}

/* A becomes its inverse (Gauss-Jordan; A is positive definite). 0 if it is singular. */
static int invert(double A[TERMS][TERMS])
{
    for (int p = 0; p < TERMS; p++) {
        double pivot = A[p][p];
        if (!(pivot > 0)) return 0;
        A[p][p] = 1;
        for (int c = 0; c < TERMS; c++) A[p][c] /= pivot;
        for (int r = 0; r < TERMS; r++) {
            double f = A[r][p];
            if (r == p) continue;
            A[r][p] = 0;
            for (int c = 0; c < TERMS; c++) A[r][c] -= f * A[p][c];
        }
    }
    return 1;
}

int toss_fly(const tosses *all, const char *use, toss_flight *flight)
{
    double A[TERMS][TERMS] = {{0}}, b[TERMS] = {0}, x[TERMS] = {0}, left = 0;
    int rows = 0, flights = 0;
    for (int k = 0; k < all->n; k++) {
        int m = use[k] && !all->toss[k].is_long ? add_flight(&all->toss[k], A, b, &left) : 0;
        rows += m, flights += m > 0;
    }
    if (!invert(A)) return 0;
    for (int a = 0; a < TERMS; a++) {
        for (int c = 0; c < TERMS; c++) x[a] += A[a][c] * b[c];
        left -= x[a] * b[a];
    }
    double variance = left / (3 * rows - 6 * flights - TERMS);
    memcpy(flight->d, x, sizeof flight->d);
    flight->g = x[3];
    for (int a = 0; a < TERMS; a++) flight->error[a] = sqrt(variance * A[a][a]);
    return rows;
}
