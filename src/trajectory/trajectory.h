/* Internal: what messages say of the columns of a table. */

#ifndef PERP_SRC_TRAJECTORY_H
#define PERP_SRC_TRAJECTORY_H

#include "perp/trajectory.h"

/* " a, b, c" and the end of the line: the first 64 names. */
void perp__list_columns(perp_diag *diag, const perp_trajectory *table);

#endif
