/* Internal: some copies of a small affine model, stepped side by side. */

#ifndef PERP_SRC_LANES_H
#define PERP_SRC_LANES_H

#include "simulate/run.h"

enum { PERP__LANES = 64 }; /* at most, side by side */

typedef struct perp__lanes perp__lanes;

/* Room for copies of this simulation; *lanes NULL where its steps are not such that lanes can take
 * them. Returns 0 when memory is out. */
int perp__lanes_create(const perp_simulation *of, perp__lanes **lanes);
void perp__lanes_destroy(perp__lanes *lanes);

/* That many steps of these n copies. status[i] is that of copy i, diag[i] the message if it fails.
 * lanes NULL: one after the other. */
void perp__lanes_step(perp__lanes *lanes, perp_simulation *const *copy, int n, long steps,
                      perp_status *status, perp_diag *diag);

#endif
