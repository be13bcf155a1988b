/* Proofs that a quadratic form is convex: for the numbers as given, not for what rounding makes of
 * them. */

#ifndef PERP_SRC_PROGRAM_CONVEX_H
#define PERP_SRC_PROGRAM_CONVEX_H

/* Was x'Qx - sum_j weight[j] x_j^2 >= 0 shown for all x? Q: n x n, symmetric. weight: n, out:
 * positive if Q is definite, 0 if it is semidefinite. Returns 0: not shown; -1: memory. */
int perp__is_convex(int n, const double *Q, double *weight);

#endif
