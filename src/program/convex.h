/* Proofs that a quadratic form is convex: for the numbers as given, not for what rounding makes of them. */

#ifndef PERP_SRC_PROGRAM_CONVEX_H
#define PERP_SRC_PROGRAM_CONVEX_H

/* Is it shown that x'Qx - sum_j weight[j] x_j^2 >= 0 for all x? Q: n x n, symmetric. weight: n, out: positive where Q is definite, 0 where it
 * is semidefinite. 0: it is not shown; -1: memory. */
int perp__is_convex(int n, const double *Q, double *weight);

#endif
