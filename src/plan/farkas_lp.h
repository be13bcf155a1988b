/* Proofs that a linear program has no point: with multipliers u of its rows
 *
 *     sum u_i r_i(x) <= sum max(u_i row_lo_i, u_i row_hi_i)
 *
 * for all x that keep them. Where the left side is larger for every x within its bounds, there is
 * none (Farkas). */

#ifndef PERP_SRC_PLAN_FARKAS_LP_H
#define PERP_SRC_PLAN_FARKAS_LP_H

#include "external/lp.h"

/* The sides of a proof differ by this part of all terms, which is more than their rounding; of an
 * optimum, agree to it. */
#define PERP_PROOF_MARGIN 1e-9

/* sum_i u_i A_ij with the size of its terms; *is_exact where nothing was rounded. */
double perp__lp_column_sum(const perp__lp *lp, int j, const double *u, double *terms,
                           int *is_exact);
/* A x, with the size of its terms; both are 0 before. */
void perp__lp_row_sums(const perp__lp *lp, const double *x, double *sum, double *terms);
/* The least of s x for lo <= x <= hi, where s is known up to `slack`. */
double perp__lp_least_of(double s, double slack, double lo, double hi);
/* Let lo and hi (ncolumn), the bounds as given, have those that follow from rows where they are
 * open, widened by rounding. Returns 0: memory. */
int perp__lp_follow_rows(const perp__lp *lp, double *lo, double *hi);
/* The prices of the linear program whose rows may be missed, at a cost of 1 for each unit of a
 * miss. u: nrow. */
perp_status perp__lp_price_misses(const perp__lp *lp, double *u);
/* Do these multipliers prove that no x within the bounds lo .. hi satisfies the rows? They may have
 * either sign, and are tried in doubles or as small whole numbers, whose sums are exact. Then u are
 * the proving ones. */
int perp__lp_is_proof(const perp__lp *lp, const double *lo, const double *hi, double *u);
/* Clp says that there is no point: a proof is sought in these prices. u: nrow. Returns 1: it is
 * one; 0: it is not; -1: memory. */
int perp__lp_is_empty(const perp__lp *lp, double *u);
/* The same where x misses them by so little that Clp takes it for a point: in units of what it
 * misses, from there. */
int perp__lp_is_empty_near(const perp__lp *lp, const double *x, double *u);

#endif
