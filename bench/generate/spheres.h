/* Piles of spheres: a layer that settles on the ground between periodic sides, step by step with perp_pile_solve, and copies of it
 * beside each other. */

#ifndef PERP_GENERATE_SPHERES_H
#define PERP_GENERATE_SPHERES_H

#include "perp/pile.h"

/* The problem of one step; its arrays are its own. */
typedef struct spheres {
    perp_pile pile;
    double *r; /* nc x 3: the impulses that were found last, where there are any */
    int *
        image; /* nc x 2: how many periods the second body is beyond the first's copy, in x and y */
    double step, penetration; /* s; the deepest one [m] */
    int unsolved;         /* steps of the settling that were not solved to its tolerance */
} spheres;

/* n spheres of radii 0.9 to 1.1, density 1, gravity 9.81, friction 0.5, dropped as a loose lattice over a square of side x side spheres,
 * after so many steps. 0: memory. */
int spheres_settle(int n, int side, int steps, int threads, unsigned seed, spheres *out);

/* nx x ny copies side by side, whose weights and friction differ by up to 1 %, drawn. 0: memory. */
int spheres_repeat(const spheres *one, int nx, int ny, unsigned seed, spheres *out);

void spheres_free(spheres *s);

#endif
