/* A program by functions in C with sparse derivatives: the largest rectangle 2 x by 2 y under the curve y = exp(-x^2) in which a cable that is
 * only ever pulled, z, holds the corner:
 *
 *     maximise 4 x y - z^2   where   y <= exp(-x^2),   0 <= z perp z - (x - 1/2) >= 0
 *
 * Prints the answer and what is known of it, then "ok". */

#include "perp/program.h"

#include <math.h>
#include <stdio.h>

static int values(void *context, const double *v, double *row, double *objective)
{
    (void)context;
    row[0] = exp(-v[0] * v[0]) - v[1];
    row[1] = v[2] - v[0] + 0.5;
    *objective = 4 * v[0] * v[1] - v[2] * v[2];
    return 0;
}

static int slopes(void *context, const double *v, double *jacobian, double *gradient)
{
    (void)context;
    jacobian[0] = -2 * v[0] * exp(-v[0] * v[0]), jacobian[1] = -1;
    jacobian[2] = -1, jacobian[3] = 1;
    gradient[0] = 4 * v[1], gradient[1] = 4 * v[0], gradient[2] = -2 * v[2];
    return 0;
}

static int hessian(void *context, const double *v, double sigma, const double *multiplier,
                   double *entries)
{
    (void)context;
    entries[0] = multiplier[0] * (4 * v[0] * v[0] - 2) * exp(-v[0] * v[0]);
    entries[1] = 4 * sigma;
    entries[2] = -2 * sigma;
    return 0;
}

int main(void)
{
    static const int row_start[] = {0, 2, 4}, column[] = {0, 1, 0, 2}, complements[] = {-1, 2},
                     hessian_row[] = {0, 1, 2}, hessian_column[] = {0, 0, 2};
    const double lo[] = {0, 0, 0}, start[] = {1, 0.1, 0.1}, row_lo[] = {0, 0};
    const perp_program_callbacks rectangle = {.variables = 3,
                                              .lo = lo,
                                              .start = start,
                                              .has_objective = 1,
                                              .maximise = 1,
                                              .rows = 2,
                                              .row_lo = row_lo,
                                              .complements = complements,
                                              .row_start = row_start,
                                              .column = column,
                                              .curvatures = 3,
                                              .hessian_row = hessian_row,
                                              .hessian_column = hessian_column,
                                              .values = values,
                                              .slopes = slopes,
                                              .hessian = hessian};
    perp_program *program;
    perp_program_result r = {.size = sizeof r};
    perp_diag diag = {0};

    if (perp_program_create_callbacks(&rectangle, "rectangle", &program, &diag) != PERP_OK ||
        perp_program_solve(program, NULL, &r, &diag) != PERP_OK) {
        fputs(perp_diag_text(&diag), stderr);
        return 1;
    }
    const double *v = perp_program_point(program);
    printf("%s: %.6f by %.6f, cable %.6f\n", perp_program_word(program, &r), 2 * v[0], v[1], v[2]);
    /* on the curve, and z = x - 1/2: the derivative of 4 x exp(-x^2) - (x - 1/2)^2 is 0 */
    double slope = 4 * (1 - 2 * v[0] * v[0]) * exp(-v[0] * v[0]) - 2 * (v[0] - 0.5);
    int right = r.outcome == PERP_PLAN_LOCAL_MINIMUM && fabs(slope) < 1e-4 &&
                fabs(v[1] - exp(-v[0] * v[0])) < 1e-6;
    perp_program_destroy(program);
    if (!right) return 1;
    printf("ok\n");
    return 0;
}
