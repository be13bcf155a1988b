/* Internal: derivatives of the next steps of a run, forward and backward. */

#ifndef PERP_SRC_ADJOINT_H
#define PERP_SRC_ADJOINT_H

#include "simulate/run.h"

typedef struct perp__course perp__course;

/* The step, or part of one, in the workspace was solved. Nothing where no derivatives are being
 * taken. */
void perp__course_note(perp_simulation *sim);

#endif
