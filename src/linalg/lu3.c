#include "linalg/lu3.h"

#include <math.h>
#include <string.h>

/* The largest entry of w from (step, step) on goes there. */
static void pivot(double w[3][3], int step, perp__lu3 *lu)
{
    int row = step, column = step, index;
    double largest = -1, x;
    for (int i = step; i < 3; i++)
        for (int j = step; j < 3; j++)
            if (fabs(w[i][j]) > largest) {
                largest = fabs(w[i][j]);
                row = i;
                column = j;
            }
    for (int k = 0; k < 3 && row != step; k++) {
        x = w[step][k];
        w[step][k] = w[row][k];
        w[row][k] = x;
    }
    for (int k = 0; k < 3 && column != step; k++) {
        x = w[k][step];
        w[k][step] = w[k][column];
        w[k][column] = x;
    }
    index = lu->row[step];
    lu->row[step] = lu->row[row];
    lu->row[row] = index;
    index = lu->column[step];
    lu->column[step] = lu->column[column];
    lu->column[column] = index;
}

int perp__lu3_factor(const double *A, double floor, perp__lu3 *lu)
{
    double w[3][3];
    int replaced = 0;
    memcpy(w, A, sizeof w);
    for (int k = 0; k < 3; k++) lu->row[k] = lu->column[k] = k;
    for (int step = 0; step < 3; step++) {
        pivot(w, step, lu);
        if (!(fabs(w[step][step]) >= floor)) { /* or not a number */
            w[step][step] = w[step][step] < 0 ? -floor : floor;
            replaced++;
        }
        lu->over[step] = w[step][step] != 0 ? 1 / w[step][step] : 0;
        for (int i = step + 1; i < 3; i++) {
            w[i][step] *= lu->over[step];
            for (int j = step + 1; j < 3; j++) w[i][j] -= w[i][step] * w[step][j];
        }
    }
    lu->l10 = w[1][0];
    lu->l20 = w[2][0];
    lu->l21 = w[2][1];
    lu->u01 = w[0][1];
    lu->u02 = w[0][2];
    lu->u12 = w[1][2];
    return replaced;
}
