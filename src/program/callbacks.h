/* Programs by functions of the caller. */

#ifndef PERP_SRC_PROGRAM_CALLBACKS_H
#define PERP_SRC_PROGRAM_CALLBACKS_H

#include "perp/program.h"
#include "program/nl.h"

/* NULL: *status says why. */
perp__nl *perp__nl_of_callbacks(const perp_program_callbacks *callbacks, const char *name,
                                perp_status *status, perp_diag *diag);

/* How many numbers perp__callbacks_at gives: rows, the objective, entries of the Jacobian, the
 * gradient; and where these begin. */
int perp__callbacks_size(const perp__nl *nl);
int perp__callbacks_jacobian(const perp__nl *nl);
int perp__callbacks_gradient(const perp__nl *nl);
/* All of them at x. slopes: 0: without derivatives. Returns 0: not defined there, and all are
 * NaN. */
int perp__callbacks_at(const perp__nl *nl, const double *x, int slopes, double *all);

#endif
