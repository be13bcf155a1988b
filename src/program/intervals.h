/* What a row of a program can be at all, for variables within bounds: intervals through its
 * expression, rounded outward. */

#ifndef PERP_SRC_PROGRAM_INTERVALS_H
#define PERP_SRC_PROGRAM_INTERVALS_H

#include "program/nl.h"

typedef struct perp__interval {
    double lo, hi;
} perp__interval;

/* Of every node of the graph, for lo <= x <= hi (nvar); all: as many as there are nodes. */
void perp__intervals_of_nodes(const perp__nl *nl, const double *lo, const double *hi,
                              perp__interval *all);
/* Of row i, with its linear terms. */
perp__interval perp__interval_of_row(const perp__nl *nl, int i, const double *lo, const double *hi,
                                     const perp__interval *all);

#endif
