/* Default tolerances, each with where the number comes from. */

#ifndef PERP_SRC_TOL_H
#define PERP_SRC_TOL_H

#include <math.h>

/* A solve is `solved` if each condition is violated by at most this times its own scale. Pivoting
 * reaches it on all contact problems. It is two digits below the tolerance of the peers (1e-8). */
#define PERP_TOL_SOLVED 1e-10

/* A nonlinear problem is solved if each condition is violated by at most this times its own scale.
 * Where Newton's method converges its last step goes far below, unless F itself is rounded more
 * coarsely. */
#define PERP_TOL_NONLINEAR 1e-9

/* A friction problem is solved when no contact's error is above this: what the published
 * comparisons ask for beside max|q|. Newton's last step usually goes far below. */
#define PERP_TOL_FRICTION 1e-8

/* The largest tolerance that options accept [of a condition's scale]: an answer to less than two
 * digits tells no active set. */
#define PERP_TOL_LARGEST 1e-2

/* An inner iteration ends at this share of the tolerance: its residual, in the problem's units,
 * must leave room for the verifier's own scale. */
#define PERP_TOL_INNER 0.01

/* Lexicographic ratio test: a basic variable counts as zero when its value is below this fraction
 * of the terms it is the difference of. Rounding in n <= 1000 pivots stays near n * 2e-16. A real
 * gap is rarely below 1e-10. */
#define PERP_TOL_TIE 1e-11

/* A pivot below this share of the largest entry of its column counts as zero. */
#define PERP_TOL_PIVOT 1e-11

/* Bound of the rounding in a sum, in units of 2^-53. The first-order bound is doubled for higher
 * orders, and doubled again because an unknown is itself the rounded result of a solve. */
#define PERP_ROUNDING 4.5e-16

/* A time step is accepted when every original condition holds to this, or to this times 1 + the
 * largest known term. */
#define PERP_TOL_STEP 1e-9

/* Impulses without restitution add no energy. More than this, beside the sum of the |terms| of
 * their work, is growth. Impulses are limits of two short steps: elastic impacts keep energy to
 * 1e-7. */
#define PERP_TOL_ENERGY 1e-6

/* The mode of the last step is kept if no inequality is violated by more than this, relative as
 * above. This is rounding only, so a mode is never kept where the true one differs. */
#define PERP_TOL_MODE 1e-13

/* Everywhere ----------------------------------------------------------------------------------- */

/* Added or compared so that nothing is divided by 0; its inverse is finite. */
#define PERP_TINY 1e-300

/* Larger numbers are not used: products and roots of what is measured could overflow. */
#define PERP_HUGE 1e300

/* Two numbers that were written apart, or summed apart as t0 + k h, are the same to this: some
 * thousand roundings. */
#define PERP_TOL_SAME 1e-12

/* A quotient of lengths is a whole number when it is as near to one as this: steps of a run, ticks
 * of an axis, nodes. */
#define PERP_TOL_WHOLE 1e-9

/* Below this reciprocal condition number nothing is known of a system's solution: the rounding
 * unit. */
#define PERP_TOL_CONDITION 1e-16

/* model ---------------------------------------------------------------------------------------- */

/* Powers and factors of units agree to this. Those that are written have few digits. */
#define PERP_TOL_UNIT 1e-9

/* A component of a facet's direction that is smaller is the rounding of a cosine of 90 degrees. */
#define PERP_TOL_FACET 1e-15

/* Two products cancel when their factors differ by no more: one rounding or two. */
#define PERP_TOL_CANCEL 1e-15

/* linalg --------------------------------------------------------------------------------------- */

/* A pivot below this times the largest entry of its row or block: what rounding leaves of 0 in a
 * few hundred eliminations. */
#define PERP_TOL_SINGULAR 1e-13

/* Sparse LU: a diagonal entry is the pivot if it is at least this part of the largest of its row.
 * With 0.001 the torques of a table at rest had errors of 1e-9. */
#define PERP_PIVOT_SHARE 0.1

/* Former pivots serve while no column of the factors exceeds that of the matrix by more than the
 * inverse of this. Three digits are lost, which the next Newton iteration regains. */
#define PERP_TOL_GROWTH 1e-3

/* Rotations of Jacobi end when what is off the diagonal is below the rounding of what is on it. */
#define PERP_TOL_JACOBI 1e-17

/* Iterative refinement of a regularised system ends when the residual is below this times the right
 * side. */
#define PERP_TOL_REFINED 1e-12

/* external ------------------------------------------------------------------------------------- */

/* IPOPT takes bounds from here on for none. */
#define PERP_NLP_INFINITE 1e19

/* ... and this is how we write none. */
#define PERP_NLP_UNBOUNDED 1e20

/* solve ---------------------------------------------------------------------------------------- */

/* Principal pivoting: a value is negative when it is below minus this times its scale: rounding
 * only. */
#define PERP_TOL_SIGN 1e-13

/* A diagonal pivot below this fraction of its column. A P-matrix has none, unless nearly
 * singular. */
#define PERP_TOL_MURTY_PIVOT 1e-12

/* Least reciprocal condition of the rows of free variables, by which these are eliminated. Else the
 * pivots take them. */
#define PERP_TOL_FREE_ROWS 1e-12

/* A pair whose larger side is below this, relative, may turn either way: derivatives are of one
 * side only. */
#define PERP_TOL_STRICT 1e-9

/* Classes: entries left over below this count as 0 in a matrix of largest entry 1. */
#define PERP_TOL_SEMIDEFINITE 1e-9

/* Classes: added to the diagonal, for M + eps I is a P-matrix for every eps > 0 where M is P0. */
#define PERP_TOL_P0 1e-8

/* Classes: a form may be negative by this in a matrix of largest entry 1. */
#define PERP_TOL_COPOSITIVE 1e-10

/* Newton's direction descends when the slope is below minus this times the merit: the rounding of a
 * sum. */
#define PERP_TOL_DESCENT 1e-14

/* Added to Newton's matrix if it is singular; its entries have size 1. */
#define PERP_NEWTON_SHIFT 1e-6

/* Part of the slope's promise that a step of a line search must keep (Nocedal and Wright: 1e-4). */
#define PERP_ARMIJO 1e-4

/* Newton's next target, of the residual, where what was reached does not satisfy the judge. */
#define PERP_NEWTON_AGAIN 1e-3

/* The step of a projected fixed point is not shortened below this times its start. */
#define PERP_RHO_LEAST 1e-8

/* Semismooth Newton on a linear problem ends at this residual beside 1 + max|q|, its rounding;
 * Fischer's function first where the basis is decided, and the direct solve on it does the rest. */
#define PERP_NEWTON_END      1e-14
#define PERP_NEWTON_ON_BASIS 1e-10

/* A diagonal entry below this times the largest is replaced by that in the step of a projected
 * fixed point. */
#define PERP_RHO_DIAGONAL 1e-12

/* The interior point method for linear problems ends: conditions at their rounding ... */
#define PERP_IPM_FEASIBLE 1e-13

/* ... and the mean product below that of two roundings, */
#define PERP_IPM_GAP 1e-18

/* ... or its steps have come to nothing. */
#define PERP_IPM_STEP 1e-12

/* Its first attempt ends here: the basis is decided, and the direct solve on it does the rest. */
#define PERP_IPM_GAP_ON_BASIS 1e-12

/* Its start, beside what the size of the problem suggests: solutions are mostly smaller. */
#define PERP_IPM_START 0.3

/* Proximal term of its third attempt, beside the largest diagonal entry. */
#define PERP_IPM_SHIFT 1e-6

/* Pivots of W + rho I, which is regular: only what has overflowed is smaller; */
#define PERP_FC_PIVOT_ADMM 1e-14

/* of W plus scalings of cones, whose condition grows without bound near the end. */
#define PERP_FC_PIVOT_IPM 1e-15

/* A cone for mu = 0 has no interior: the smallest mu of the interior point method. Newton then uses
 * the true one. */
#define PERP_FC_MU_LEAST 1e-3

/* That method ends when its steps are shorter, ... */
#define PERP_FC_STEP 1e-8

/* ... or its gap is below this times the square of the largest force. */
#define PERP_FC_GAP 1e-22

/* Where a diagonal of a scaled W is smaller, the step of the Alart-Curnier map is 1 instead of its
 * inverse. */
#define PERP_FC_DIAGONAL 1e-3

/* Newton's first shift of W, beside its diagonal; between half and twice little changes. From a
 * guess, which is near, it may be small: with 1e-5 stacks at rest take 4 steps, with this 1. */
#define PERP_FC_SHIFT      1e-3
#define PERP_FC_SHIFT_WARM 1e-7

/* A proximal step ends when Newton has made its residual smaller by this. */
#define PERP_FC_INNER 1e-3

/* The largest eigenvalue of W is known well enough when an iteration changes it by less. */
#define PERP_FC_SPECTRUM 1e-3

/* ADMM: least eigenvalue taken for rho. */
#define PERP_FC_RHO_LEAST 1e-3

/* The sliding force of one contact by Newton: its error is of the order of the square of the last
 * step. */
#define PERP_FC_SLIDE 1e-10

/* In a sweep, which changes all others: from the last sweep's force one step is mostly enough. */
#define PERP_FC_SLIDE_SWEEP 1e-2

/* A contact's block is regular when its determinant is above this times the product of its
 * diagonal. */
#define PERP_FC_STICK 1e-14

/* Sizes from this to its inverse can be multiplied with each other's roots and divided without
 * overflow. */
#define PERP_LEAST_FACTOR 1e-280

/* Data of a row can be squared and divided from this to its inverse. */
#define PERP_LEAST_ROOT 1e-150

/* Complete pivoting ends where all that is left is below this, in rows and columns of largest entry
 * 1. */
#define PERP_TOL_RANK 1e-11

/* Corrections of a solution on its basis have come to nothing: the next would be below the rounding
 * of its double. */
#define PERP_TOL_REFINED_LCP 1e-13

/* A z on its basis is beyond its bounds when by more than this times its size. */
#define PERP_TOL_OUTSIDE 1e-12

/* ... and is certain when it is known to nine digits. */
#define PERP_TOL_CERTAIN 1e-9

/* A z that was computed in twice the precision is 0 below this times its size. */
#define PERP_TOL_FINE_ZERO 1e-24

/* Terms of a ratio are at least this part of max|q|: what is smaller came from cancellation. */
#define PERP_TOL_TERMS 1e-3

/* Newton's second start divides by diagonals that are above this times the largest entry. */
#define PERP_NEWTON_DIAGONAL 1e-8

/* The interior point starts as far as max|q| over the largest diagonal says, or over this. */
#define PERP_IPM_LEAST_SCALE 1e-3

/* Least tolerance that IPOPT is asked for. */
#define PERP_NLP_TOL_LEAST 1e-12

/* ADMM: its proximal term beside rho (Acary and others), */
#define PERP_FC_ETA 1e-6

/* ... and rho's least value and the inverse of its largest. */
#define PERP_FC_RHO 1e-8

/* The proximal term of the proximal point method, at least and at most. */
#define PERP_FC_ALPHA_LEAST 1e-10
#define PERP_FC_ALPHA_MOST  1e3

/* Coefficients of friction that are larger have this one: its square must be a number. */
#define PERP_FC_MU_MOST 1e100

/* Impulses below this part of the largest are what underflow left of 0. */
#define PERP_FC_UNDERFLOW 1e-200

/* simulate ------------------------------------------------------------------------------------- */

/* A row, scaled to largest entry 1, depends on the others if its remainder is smaller. This is far
 * above the rounding of 100 elimination steps, and far below what a model means. */
#define PERP_TOL_DEPENDS 1e-10

/* An unknown moves along a direction of a null space when it has more than this part of its largest
 * entry. */
#define PERP_TOL_MOVES 1e-7

/* Pairs with a smaller part of a certificate or ray are not named in the message. */
#define PERP_TOL_NAMED 1e-9

/* Couplings of normal and tangent below this part of the diagonal do not choose the units of a
 * contact. */
#define PERP_TOL_COUPLED 1e-3

/* A line search of Newton ends when the step is shorter. */
#define PERP_STEP_SHORTEST 1e-4

/* So many roundings off, after a fall by this, the sizes of unknowns are computed: they may allow
 * more than the terms do. */
#define PERP_STEP_FAR  1e3
#define PERP_STEP_FELL 1e-8

/* A verdict this far below the tolerance leaves room for what rounding adds. It is sure of a
 * condition without a look at its terms. */
#define PERP_AMPLY 0.01

/* Rows that were linearised where an unknown was so many times what it is now have the rounding of
 * that. */
#define PERP_FAR 1e3

/* A full step across a kink may make the residual larger by this. */
#define PERP_STEP_WORSE 1e3

/* plan ----------------------------------------------------------------------------------------- */

/* An easier plan (fewer nodes, another method) is a start for the asked one when its conditions
 * hold to this. */
#define PERP_PLAN_USABLE 1e-3

/* Costs that differ by less, relative, are the same. */
#define PERP_PLAN_SAME_COST 1e-9

/* A cost that is higher by this share is another minimum. */
#define PERP_PLAN_DEARER 1e-3

/* A violation below this is nearly feasible [balanced units]: sides may be chosen there, and the
 * barrier lowered. */
#define PERP_PLAN_NEARLY_FEASIBLE 1e-2

/* The scale of a condition at a node is at least this share of its largest in the plan: terms
 * vanish where the motion rests. */
#define PERP_PLAN_LEAST_SCALE 1e-3

/* An unknown is at its bound, and a condition active, within this part of its size. */
#define PERP_PLAN_AT_BOUND 1e-6

/* A slope of the cost is 0 below this part of its terms. */
#define PERP_PLAN_STATIONARY 1e-5

/* An unknown below this part of its unit throughout is rounding. */
#define PERP_PLAN_NOISE 1e-9

/* The last relaxation of a search near a plan. */
#define PERP_PLAN_LAST_NEARBY 1e-5

/* A relaxation that begins at what the guess violates begins here at least. */
#define PERP_PLAN_RELAXED 1e-4

/* A solve that goes on from the last one moves its start so far into the bounds. */
#define PERP_PLAN_PUSH_WARM 1e-4

/* The larger side of a pair with both sides zero. */
#define PERP_PLAN_BOTH_ZERO 1e-5

/* With some sides fixed, the relaxation of the others is lowered by this. */
#define PERP_PLAN_LOWERED 1e-4

/* A bound is a room away from an unknown when farther than this times the unknown's extent. */
#define PERP_PLAN_ROOM 1e-6

/* On the diagonal of what nothing determines: a value that the inertia counts as positive. */
#define PERP_IPM_LEAST_DIAGONAL 1e-20

/* The start is a stationary point when its gradient is below this part of what curvature makes of
 * it nearby. */
#define PERP_IPM_STATIONARY 1e-3

/* Rounding beside a bound of 0 is that of numbers of this size. */
#define PERP_IPM_NEAR_ZERO 1e-3

/* Interior points of a step end when the mean product of the slacks is below this times the first.
 * The smaller slack of a pair is then far below the other. They also end when they advance by less
 * than this. */
#define PERP_INSIDE_GAP  1e-14
#define PERP_INSIDE_STEP 1e-4

/* identify ------------------------------------------------------------------------------------- */

/* Quotients of intervals are whole numbers of steps, and degrees of freedom whole numbers, to
 * this. */
#define PERP_TOL_STEPS 1e-6

/* A cost that rises by less than this part of the least, or by the second where that is 0, has not
 * risen. */
#define PERP_TOL_FLAT       1e-9
#define PERP_TOL_FLAT_LEAST 1e-12

/* A column fits without noise when its residuals are below this part of its scale. */
#define PERP_TOL_NOISELESS 1e-6

/* Damping of least squares at the start, and in the wide search along the undamped direction. */
#define PERP_DAMPING_FIRST 1e-3
#define PERP_DAMPING_LEAST 1e-6

/* Minima are the same when their costs differ by less than this of the variance: a fiftieth is far
 * within the noise. */
#define PERP_SAME_COST         0.02
#define PERP_SAME_COST_LEAST   1e-14
#define PERP_SAME_COST_ROUNDED 1e-6 /* what minimisation leaves of it */

/* One of two fits is better when its cost is less by so many variances of the noise. */
#define PERP_BETTER_FIT 10

/* An interval is at least as wide as this part of the range when another minimum is looked for
 * outside. */
#define PERP_TOL_NARROW 1e-6

/* Fits of the bootstrap's sets need not be better: their spread is far larger. */
#define PERP_TOL_BOOTSTRAP 1e-6

/* A direction counts as not determined if its information is below this share of the largest. The
 * differences of the Jacobian are good to 1e-5 of its entries, and information is their square. */
#define PERP_TOL_OPEN 1e-10

/* Newton for a quantile of the normal distribution ends at its rounding. */
#define PERP_TOL_QUANTILE 1e-14

/* A column whose spread is below this part of its largest entry does not move: its numbers are
 * written with fewer digits. */
#define PERP_TOL_CONSTANT 1e-9

/* A Hessian is convex when no eigenvalue is below minus this, beside 1 and the largest: the
 * accuracy of its derivatives. */
#define PERP_TOL_CONVEX 1e-9

/* The optimal face of a linear program reaches this far above the optimum, the tolerance of the
 * simplex method. */
#define PERP_TOL_FACE 1e-9

/* ... and is one point along a parameter when it is narrower than this part of the range. */
#define PERP_TOL_POINT 1e-5

/* The answer of a linear program satisfies its conditions, recomputed, to this beside its largest
 * unknown. */
#define PERP_TOL_PROGRAM 1e-6

/* A singular vector whose last entry is smaller gives no parameters: it is divided by that. */
#define PERP_TOL_LAST 1e-8

/* A second singular value below this, squared and beside the largest, is 0: a plane of parameters
 * fits. */
#define PERP_TOL_PLANE 1e-12

/* A parameter is open when it has at least this part of the vectors that span such a plane. */
#define PERP_TOL_APART 1e-3

/* report --------------------------------------------------------------------------------------- */

/* Two rows are a step apart when their times are, to this part of the step: times may be written
 * with few digits. */
#define PERP_TOL_SAME_STEP 1e-3

/* A sum that is verified to tol beside its |terms|: less is 0. */
static inline double perp__beyond_tol(double value, double terms, double tol)
{
    return fabs(value) <= tol * terms ? 0 : value;
}

#endif
