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

/* Everywhere -------------------------------------------------------------------------------------- */

/* Added or compared so that nothing is divided by 0; its inverse is finite. */
#define PERP_TINY 1e-300

/* Two numbers that were written apart, or summed apart as t0 + k h, are the same to this: some thousand roundings. */
#define PERP_TOL_SAME 1e-12

/* A quotient of lengths is a whole number when it is as near to one as this: steps of a run, ticks of an axis, nodes. */
#define PERP_TOL_WHOLE 1e-9

/* Below this reciprocal condition number nothing is known of a system's solution: the rounding unit. */
#define PERP_TOL_CONDITION 1e-16

/* model ------------------------------------------------------------------------------------------- */

/* Powers and factors of units agree to this; those that are written have few digits. */
#define PERP_TOL_UNIT 1e-9

/* A component of a facet's direction that is smaller is the rounding of a cosine of 90 degrees. */
#define PERP_TOL_FACET 1e-15

/* Two products cancel when their factors differ by no more: one rounding or two. */
#define PERP_TOL_CANCEL 1e-15

/* linalg ------------------------------------------------------------------------------------------ */

/* A pivot below this times the largest entry of its row or block: what rounding leaves of 0 in a few hundred eliminations. */
#define PERP_TOL_SINGULAR 1e-13

/* A diagonal entry of a step's sparse LU is the pivot where it is not below this part of the largest. With the library's 0.001 the
 * torques of a table at rest were off by 1e-9. */
#define PERP_PIVOT_SHARE 0.1

/* Former pivots serve while no column of the factors exceeds that of the matrix by more than the inverse: three digits are lost,
 * which the next iteration of Newton regains. */
#define PERP_TOL_GROWTH 1e-3

/* Rotations of Jacobi end when what is off the diagonal is below the rounding of what is on it. */
#define PERP_TOL_JACOBI 1e-17

/* solve ------------------------------------------------------------------------------------------- */

/* Principal pivoting: a value is negative when it is below minus this times its scale: rounding only. */
#define PERP_TOL_SIGN 1e-13

/* A diagonal pivot below this fraction of its column; a P-matrix has none, unless nearly singular. */
#define PERP_TOL_MURTY_PIVOT 1e-12

/* Least reciprocal condition of the rows of free variables, by which these are eliminated; else the pivots take them. */
#define PERP_TOL_FREE_ROWS 1e-12

/* A pair whose larger side is below this, relative, may turn either way: derivatives are of one side only. */
#define PERP_TOL_STRICT 1e-9

/* Classes: entries left over below this count as 0 in a matrix of largest entry 1. */
#define PERP_TOL_SEMIDEFINITE 1e-9

/* Classes: added to the diagonal, for M + eps I is a P-matrix for every eps > 0 where M is P0. */
#define PERP_TOL_P0 1e-8

/* Classes: a form may be negative by this in a matrix of largest entry 1. */
#define PERP_TOL_COPOSITIVE 1e-10

/* Newton's direction descends when the slope is below minus this times the merit: the rounding of a sum. */
#define PERP_TOL_DESCENT 1e-14

/* Added to Newton's matrix where it is singular, beside entries of size 1. */
#define PERP_NEWTON_SHIFT 1e-6

/* Part of the slope's promise that a step of a line search must keep (Nocedal and Wright: 1e-4). */
#define PERP_ARMIJO 1e-4

/* Newton's next target, of the residual, where what was reached does not satisfy the judge. */
#define PERP_NEWTON_AGAIN 1e-3

/* The step of a projected fixed point is not shortened below this times its start. */
#define PERP_RHO_LEAST 1e-8

/* A diagonal entry below this times the largest is replaced by that in the step of a projected fixed point. */
#define PERP_RHO_DIAGONAL 1e-12

/* The interior point method for linear problems ends: conditions at their rounding ... */
#define PERP_IPM_FEASIBLE 1e-13

/* ... and the mean product below that of two roundings, */
#define PERP_IPM_GAP 1e-18

/* ... or its steps have come to nothing. */
#define PERP_IPM_STEP 1e-12

/* Proximal term of its second attempt, beside the largest diagonal entry. */
#define PERP_IPM_SHIFT 1e-6

/* Pivots of W + rho I, which is regular: only what has overflowed is smaller; */
#define PERP_FC_PIVOT_ADMM 1e-14

/* of W plus scalings of cones, whose condition grows without bound near the end. */
#define PERP_FC_PIVOT_IPM 1e-15

/* A cone for mu = 0 has no interior: the smallest mu of the interior point method. Newton then uses the true one. */
#define PERP_FC_MU_LEAST 1e-3

/* That method ends when its steps are shorter, ... */
#define PERP_FC_STEP 1e-8

/* ... or its gap is below this times the square of the largest force. */
#define PERP_FC_GAP 1e-22

/* Where a diagonal of a scaled W is smaller, the step of the Alart-Curnier map is 1 instead of its inverse. */
#define PERP_FC_DIAGONAL 1e-3

/* A proximal step ends when Newton has made its residual smaller by this. */
#define PERP_FC_INNER 1e-3

/* The largest eigenvalue of W is known well enough when an iteration changes it by less. */
#define PERP_FC_SPECTRUM 1e-3

/* ADMM: least eigenvalue taken for rho. */
#define PERP_FC_RHO_LEAST 1e-3

/* The sliding force of one contact by Newton: its error is of the order of the square of the last step. */
#define PERP_FC_SLIDE 1e-10

/* A contact's block is regular when its determinant is above this times the product of its diagonal. */
#define PERP_FC_STICK 1e-14

/* Sizes from this to its inverse can be multiplied with each other's roots and divided without overflow. */
#define PERP_LEAST_FACTOR 1e-280

/* simulate ---------------------------------------------------------------------------------------- */

/* A row, scaled to largest entry 1, whose remainder is smaller depends on the others: far above the rounding of 100 steps of
 * elimination, far below what a model means. */
#define PERP_TOL_DEPENDS 1e-10

/* An unknown moves along a direction of a null space when it has more than this part of its largest entry. */
#define PERP_TOL_MOVES 1e-7

/* Pairs with a smaller part of a certificate or ray are not named in the message. */
#define PERP_TOL_NAMED 1e-9

/* Couplings of normal and tangent below this part of the diagonal do not choose the units of a contact. */
#define PERP_TOL_COUPLED 1e-3

/* identify ---------------------------------------------------------------------------------------- */

/* A direction counts as not determined when its information is below this share of the largest: the differences that make
 * the Jacobian are good to 1e-5 of its entries, and information is their square. */
#define PERP_TOL_OPEN 1e-10

/* Newton for a quantile of the normal distribution ends at its rounding. */
#define PERP_TOL_QUANTILE 1e-14

/* A column whose spread is below this part of its largest entry does not move: its numbers are written with fewer digits. */
#define PERP_TOL_CONSTANT 1e-9

/* A Hessian is convex when no eigenvalue is below minus this, beside 1 and the largest: the accuracy of its derivatives. */
#define PERP_TOL_CONVEX 1e-9

/* The optimal face of a linear program reaches this far above the optimum, the tolerance of the simplex method. */
#define PERP_TOL_FACE 1e-9

/* ... and is one point along a parameter when it is narrower than this part of the range. */
#define PERP_TOL_POINT 1e-5

/* The answer of a linear program satisfies its conditions, recomputed, to this beside its largest unknown. */
#define PERP_TOL_PROGRAM 1e-6

/* A singular vector whose last entry is smaller gives no parameters: it is divided by that. */
#define PERP_TOL_LAST 1e-8

/* A second singular value below this, squared and beside the largest, is 0: a plane of parameters fits. */
#define PERP_TOL_PLANE 1e-12

/* A parameter is open when it has at least this part of the vectors that span such a plane. */
#define PERP_TOL_APART 1e-3

#endif
