/* Default tolerances, each with where the number comes from. */

#ifndef PERP_SRC_TOL_H
#define PERP_SRC_TOL_H

/* A solve is `solved` when each condition is violated by at most this times its own scale: what pivoting reaches on all
 * contact problems, and two digits below what the peers are judged by (1e-8). */
#define PERP_TOL_SOLVED 1e-10

/* A nonlinear problem is solved when each condition is violated by at most this times its own scale: where Newton converges at all its last
 * step goes far below, unless F itself is rounded more coarsely. */
#define PERP_TOL_NONLINEAR 1e-9

/* A friction problem is solved when no contact's error is above this: what the published comparisons ask for beside max|q|.
 * Newton's last step usually goes far below. */
#define PERP_TOL_FRICTION 1e-8

/* Lexicographic ratio test: a basic variable counts as zero when its value is below this fraction
 * of the terms it is the difference of. Rounding in n <= 1000 pivots stays near n * 2e-16; a real
 * gap is rarely below 1e-10. */
#define PERP_TOL_TIE 1e-11

/* A pivot below this fraction of the largest entry of its column is taken for zero. */
#define PERP_TOL_PIVOT 1e-11

/* The bound of the rounding in a sum, by the first-order bound in units of 2^-53: twice, for what is of higher order, and
 * twice, since an unknown is itself the rounded result of a solve. */
#define PERP_ROUNDING 4.5e-16

/* A time step is accepted when every original condition holds to this, or to this times 1 + the
 * largest known term. */
#define PERP_TOL_STEP 1e-9

/* The mode of the last step is kept when no inequality is violated by more than this, relative as
 * above: rounding only, so that a mode is never kept where the true one differs. */
#define PERP_TOL_MODE 1e-13

#endif
