/* One linear complementarity problem, w = M z + q, 0 <= z perp w >= 0: the sliding block of the LCP
 * notes 2.6 with m = h = 1, c = v + u. The solver's answer is checked by the residual, and a
 * problem without a solution is proved so.
 *
 * Prints the velocity after the step for several c beside sign(c) max(|c| - mu g, 0), then "ok". */

#include "perp/lcp.h"

#include <math.h>
#include <stdio.h>

int main(void)
{
    const double mu_m_g = 2;
    const double M[9] = {1, -1, -1, -1, 1, -1, 1, 1, 0}; /* column by column */
    double q[3], z[3], w[3];
    perp_lcp lcp = {.n = 3, .M = M, .ldm = 3, .q = q};
    perp_lcp_info info = {.size = sizeof info};
    perp_lcp_solver *solver;
    int right = 1;

    if (perp_lcp_solver_create(PERP_LCP_LEMKE, 3, NULL, &solver) != PERP_OK) return 1;
    for (double c = -5; c <= 5; c += 2.5) {
        q[0] = c, q[1] = -c, q[2] = mu_m_g;
        perp_lcp_solve(solver, &lcp, z, w, &info);
        double v = c + z[0] - z[1], exact = copysign(fmax(fabs(c) - mu_m_g, 0), c);
        printf("c = %4.1f: %s after %d pivots, residual %.1e, v = %g (exact %g)\n", c,
               perp_outcome_name(info.outcome), info.iterations, info.residual, v, exact);
        right = right && info.outcome == PERP_SOLVED && fabs(v - exact) < 1e-14;
    }

    /* direct formulation 2 (notes 2.5) has no solution: u is the proof, u >= 0, M'u <= 0, q'u < 0
     */
    const double M2[9] = {0, -1, -1, -1, 0, -1, 0, 0, 0};
    lcp.M = M2;
    q[0] = 1, q[1] = -1, q[2] = mu_m_g;
    perp_lcp_solve(solver, &lcp, z, w, &info);
    const double *u = perp_lcp_certificate(solver);
    printf("direct 2: %s", perp_outcome_name(info.outcome));
    if (u) printf(", because of u = (%g, %g, %g)", u[0], u[1], u[2]);
    printf("\n");
    right = right && info.outcome == PERP_INFEASIBLE && u && perp_lcp_is_infeasible(&lcp, u, 1e-12);

    perp_lcp_solver_destroy(solver);
    printf(right ? "ok\n" : "wrong\n");
    return !right;
}
