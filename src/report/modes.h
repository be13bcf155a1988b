/* Conditions of a model along a run, row by row. The tables tell which side of each pair is active
 * and which contacts stick or slip. They also tell how well complementarity holds. */

#ifndef PERP_SRC_MODES_H
#define PERP_SRC_MODES_H

#include "base/arena.h"
#include "perp/model.h"
#include "perp/trajectory.h"

enum { PERP__MODE_UNKNOWN = -1, PERP__MODES = 4, PERP__MAX_STRIPS = 24, PERP__MAX_LAWS = 6 };

/* One row of the strip under the plots. */
typedef struct perp__mode_row {
    const char *kind; /* "contact", "plane", "pair", "bounds": what the modes mean */
    const char *label;
    const char *word[PERP__MODES];
    signed char *mode; /* per row of the run: index of a word, or PERP__MODE_UNKNOWN */
} perp__mode_row;

/* A contact with Coulomb friction: -bound <= f <= bound against the velocity of slip; in the plane
 * their lengths. Columns as long as the run. */
typedef struct perp__friction_curve {
    const char *label, *f_unit, *v_unit; /* "" where the model does not tell */
    int is_planar;
    double *v, *f, *bound;
} perp__friction_curve;

typedef struct perp__modes {
    perp__arena arena;
    int rows, nstrip, nlaw;
    int left_out; /* rows of the strip that are too many to show */
    perp__mode_row strip[PERP__MAX_STRIPS];
    perp__friction_curve law[PERP__MAX_LAWS];
    double *violation, *product; /* largest over the pairs: natural map, and a*b; NULL: no pair */
} perp__modes;

/* The end of the stretch of one mode that begins at row i: the first row of another mode, or
 * `rows`. */
int perp__mode_end(const signed char *mode, int i, int rows);

/* 0 when memory is out. Clear in every case. */
int perp__modes_find(perp__modes *modes, const perp_model *model, const perp_trajectory *run,
                     int time);
void perp__modes_clear(perp__modes *modes);

#endif
