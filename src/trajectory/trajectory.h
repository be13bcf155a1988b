/* Internal: what messages say of the columns of a table. */

#ifndef PERP_SRC_TRAJECTORY_H
#define PERP_SRC_TRAJECTORY_H

#include "base/input.h"
#include "perp/trajectory.h"

/* perp_trajectory_read of what a caller (PERP__STREAM) or a file (PERP__REGULAR) names. */
perp_status perp__trajectory_read(const char *path, perp__input_kind kind, perp_trajectory **out,
                                  perp_diag *diag);

/* " a, b, c" and the end of the line: the first 64 names. */
void perp__list_columns(perp_diag *diag, const perp_trajectory *table);

#endif
