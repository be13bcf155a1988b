/* Exact arithmetic for judging: whether an LCP has a solution, whether z >= 0, M z + q >= 0 is empty, all solutions,
 * and whether an answer holds. Every double is a fraction over a power of two, so all of this is decided on integers
 * of any length, to the last bit. Shares no code with src/. */

#ifndef PERP_TEST_EXACT_H
#define PERP_TEST_EXACT_H

#include "perp/friction.h"
#include "perp/lcp.h"

enum { EXACT_MAX = 10 }; /* pairs of a problem that is decided exactly */

/* Has the problem (pure, or with bounds: then each box counts twice in EXACT_MAX) a solution? 1 yes, 0 no, -1 too
 * large to say. */
int exact_has_solution(const perp_lcp *lcp);

/* Is there z >= 0 with M z + q >= 0? 1 yes, 0 no, -1 too large to say. Bounds are not read. */
int exact_is_feasible(const perp_lcp *lcp);

/* All vertices of the solution set of the pure problem, each once, then its extreme rays (entries sum to 1), rounded. */
typedef struct exact_set {
    int npoint, nray;
    int too_large; /* the numbers or the count: the lists are not complete */
    double point[256][EXACT_MAX], ray[256][EXACT_MAX];
    unsigned char from[256][256]; /* [r][p]: point p may go along ray r without end */
} exact_set;
void exact_solutions(const perp_lcp *lcp, const unsigned char *is_free, exact_set *out);

/* Is every z_i right to a relative `tolerance`, as a vertex of the solution set of the pure problem or on a ray from one? */
int exact_is_near_solution(const perp_lcp *lcp, const double *z, double tolerance);

/* How far an answer is from holding (n <= EXACT_MAX), each condition i on scales of its own,
 *     S_i = |q_i| + sum |M_ij z_j|  (backward error),   D_i = |q_i| + sum |M_ij| |q_j| / |M_jj|  (the data alone; where that is
 * nothing beside what the rows carry over that share unknowns with it, the data of its connected block, then these):
 * own = the largest violation / S_i, data = the largest violation / min(S_i, D_i), both of w = M z + q without rounding. */
typedef struct exact_error {
    double own, data; /* INFINITY where z is not finite or a condition without scale is broken */
    int at;           /* index of the condition that is worst by `own` */
} exact_error;
exact_error exact_lcp_error(const perp_lcp *lcp, const double *z);

/* Does double precision decide this vertex, rounded to doubles: are its terms not so large that the data are lost, nor so small
 * that they underflow? */
int exact_is_decidable(const perp_lcp *lcp, const double *vertex);

/* Is it still a vertex, to 1e-6 in each entry, when every entry of M and q is changed by its last bit, up or down? If not,
 * rounding of the data has made it. */
int exact_is_stable(const perp_lcp *lcp, const unsigned char *is_free, const double *vertex);

/* w_i = q_i + sum M_ij z_j, rounded once, and S_i. */
long double exact_row(const perp_lcp *lcp, int i, const double *z, long double *size);

/* The same judgement of contacts: 0 <= r_n perp u_n >= 0 and Coulomb's law, each side of a contact on scales of that contact,
 * S_u = |q_c| + sum |W_cj| |r_j| and S_r = S_u / |W_cc| (data: min with |q_c| + sum |W_cj| |q_j| / |W_jj|). Either of two ways
 * may show it: the distance of r from the projection of r - (S_r/S_u) u^ on the cone, or the law's conditions one by one (with
 * mu = 1e8, u^ = u + mu |u_T| e_n is 1e8 times the rounding of u). The problem must be dense. */
exact_error exact_fc_error(const perp_fc *problem, const double *r);

/* Has a friction problem in the plane (nc <= 2), or one without friction, a solution? 1 yes, 0 no, -1 cannot say. */
int exact_fc_has_solution(const perp_fc *problem);

#endif
