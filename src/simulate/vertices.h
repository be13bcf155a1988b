/* Internal: the solutions of a small LCP that are determined, by all sets of positive z. */

#ifndef PERP_SRC_VERTICES_H
#define PERP_SRC_VERTICES_H

#include "perp/lcp.h"

enum { PERP__VERTICES_MOST = 6 };

/* The next solution from *set on, which is 0 at first; n <= PERP__VERTICES_MOST. w >= 0 holds up to
 * tol beside its |terms|. Returns 0: there is none. */
int perp__next_vertex(const perp_lcp *lcp, double tol, unsigned *set, double *z);

#endif
