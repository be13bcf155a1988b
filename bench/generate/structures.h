/* Large contact problems in the form of perp/fclib.h: an elastic block that is pressed on a rigid plane and pushed along it, and a wall of blocks. */

#ifndef PERP_GENERATE_STRUCTURES_H
#define PERP_GENERATE_STRUCTURES_H

#include "perp/fclib.h"

typedef struct structure {
    perp_fclib_problem problem; /* its arrays are its own */
} structure;

/* nx x ny x nz trilinear elements (E = 1 MPa, nu = 0.3, 10 cm wide) with a slightly round lower side; the upper one is moved down by 1 mm and
 * sideways by `push` of it. Unknowns are displacements [m], forces [N]; (nx + 1) (ny + 1) contacts. 0: memory, or too large. */
int structure_elastic(int nx, int ny, int nz, double push, double mu, structure *out);

/* A wall of `courses` courses of `length` blocks (40 x 20 x 20 cm, 2000 kg/m3) in running bond, four contacts a face, weight and `push` of it along the
 * wall, a tenth of that across; impulses of a step of 1 ms. 0: memory, or too large. */
int structure_wall(int length, int courses, double push, double mu, structure *out);

void structure_free(structure *s);

#endif
