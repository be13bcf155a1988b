/* Ranges and tick marks of an axis. */

#ifndef PERP_SRC_TICKS_H
#define PERP_SRC_TICKS_H

#include "perp/report.h"

enum { PERP__MAX_TICKS = 24 };

typedef struct perp__ticks {
    int n;
    double at[PERP__MAX_TICKS];
    char label[PERP__MAX_TICKS][24];
} perp__ticks;

/* Marks at 1, 2 or 5 times a power of ten; about `target` of them. On a logarithmic axis at powers
 * of ten, and at 2 and 5 times them where the range is short. */
void perp__ticks_make(perp__ticks *ticks, perp_scale scale, double lo, double hi, int target);

/* Widen lo..hi (inf, -inf: nothing yet) so that it holds the finite values; on a logarithmic axis
 * the positive ones. */
void perp__range_add(double *lo, double *hi, perp_scale scale, const double *x, int n);

/* Make a range fit to draw: not empty, and with some room (a share of it) at both ends. */
void perp__range_finish(double *lo, double *hi, perp_scale scale, double room);

#endif
