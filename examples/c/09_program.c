/* A bilevel program: a toll t on one of two roads, f1 and f2 travellers on them, each on a quickest road (time u):
 *
 *     maximise t f1   where   f1 + f2 = 1,   0 <= f1 perp 1 + t + f1 - u >= 0,   0 <= f2 perp 3 + f2 - u >= 0
 *
 * with x1 .. x4 = t, f1, f2, u. Prints the answer and what is known of it, then "ok". */

#include "perp/program.h"

#include <math.h>
#include <stdio.h>

int main(void)
{
    const double lo[] = {0, 0, 0, -INFINITY}, all[] = {1, 0, 0};
    const char *const rows[] = {"x2 + x3", "1 + x1 + x2 - x4", "3 + x3 - x4"};
    const int complements[] = {-1, 1, 2};
    const perp_program_formulas toll = {.variables = 4,
                                        .lo = lo,
                                        .objective = "x1*x2",
                                        .maximise = 1,
                                        .rows = 3,
                                        .row = rows,
                                        .row_lo = all,
                                        .row_hi = all,
                                        .complements = complements};
    perp_program *program;
    perp_program_result r = {.size = sizeof r};
    perp_diag diag = {0};

    if (perp_program_create(&toll, "toll", &program, &diag) != PERP_OK ||
        perp_program_solve(program, NULL, &r, &diag) != PERP_OK) {
        fputs(perp_diag_text(&diag), stderr);
        return 1;
    }
    const double *x = perp_program_point(program);
    printf("%s: revenue %.6f at a toll of %.6f, %.1f %% on that road\n",
           perp_program_word(program, &r), r.objective, x[0], 100 * x[1]);
    int right = r.outcome == PERP_PLAN_LOCAL_MINIMUM && fabs(r.objective - 1.125) < 1e-7;
    perp_program_destroy(program);
    if (!right) return 1;
    printf("ok\n");
    return 0;
}
