/* The parts of the prox paper (Schindler, Nguyen & Trinkle 2011), one file each. */

#ifndef PERP_EXPERIMENT_PROX_H
#define PERP_EXPERIMENT_PROX_H

#include "support/support.h"

void equivalence(void); /* IV */
void point_mass(void);  /* V.A */
void strategies(void);  /* V.A: the choice of r, which the paper leaves open */
void painleve(void);    /* V.B */

/* A fixed-point iteration x <- f(x) as the paper draws it: the function, the line of unit slope, the staircase. */
typedef double (*scalar_fn)(const double *p, double x);

enum { STAIRS = 64, CURVE = 201 };
typedef struct staircase {
    double x[CURVE], f[CURVE], line[2], stair_x[STAIRS], stair_y[STAIRS];
    perp_series series[3];
    perp_panel panel;
} staircase;

/* `steps` iterations from x0, as long as they stay within lo..hi. */
void draw_staircase(staircase *s, const char *title, scalar_fn f, const double *p, double lo,
                    double hi, double x0, int steps, const char *label);

#endif
