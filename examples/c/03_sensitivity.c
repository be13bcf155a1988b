/* How does the friction of a block change with the push on it? The sliding block's step as a linear
 * complementarity problem (forces 1 and 2 to the left and right, bound 3), solved, differentiated, and then for a
 * thousand pushes at once. */

#include "perp/lcp.h"

#include <stdio.h>

int main(void)
{
    enum { MANY = 1000 };
    const double M[] = {1, -1, -1, -1, 1, -1, 1, 1, 0}; /* column by column */
    double q[] = {3, -3, 2}, dq[] = {1, -1, 0}, z[3], dz[3];
    perp_lcp lcp = {.n = 3, .M = M, .ldm = 3, .q = q};
    perp_lcp_solver *solver;
    perp_lcp_info info = {.size = sizeof info};
    perp_lcp_sensitivity how;
    if (perp_lcp_solver_create(PERP_LCP_AUTO, 3, NULL, &solver) != PERP_OK) return 1;
    if (perp_lcp_solve(solver, &lcp, z, NULL, &info) != PERP_OK || info.outcome != PERP_SOLVED)
        return 1;
    if (perp_lcp_differentiate(solver, &lcp, &how) != PERP_OK) return 1;
    if (perp_lcp_jvp(solver, NULL, dq, dz) != PERP_OK) return 1;
    printf("pushed at 3: friction %g, its change per unit of push %g (%s)\n", z[0] - z[1],
           dz[0] - dz[1], how.strict ? "both directions" : "one-sided");
    perp_lcp_solver_destroy(solver);

    static double pushes[3 * MANY], answers[3 * MANY];
    for (int k = 0; k < MANY; k++) {
        double push = 6.0 * k / MANY - 3;
        pushes[3 * k] = push, pushes[3 * k + 1] = -push, pushes[3 * k + 2] = 2;
    }
    perp_lcp_batch_solver *batch;
    perp_lcp_batch problems = {.count = MANY, .n = 3, .M = M, .q = pushes, .shared_M = 1};
    int solved = 0, sliding = 0;
    if (perp_lcp_batch_solver_create(PERP_LCP_AUTO, 3, 0, NULL, &batch) != PERP_OK) return 1;
    if (perp_lcp_solve_batch(batch, &problems, answers, NULL, &solved) != PERP_OK) return 1;
    for (int k = 0; k < MANY; k++) sliding += answers[3 * k + 2] > 1e-12;
    printf("%d of %d pushes solved, %d of them make it slide\n", solved, MANY, sliding);
    perp_lcp_batch_solver_destroy(batch);
    if (solved == MANY && sliding > 300 && sliding < 350 && z[0] - z[1] == -2) printf("ok\n");
    return 0;
}
