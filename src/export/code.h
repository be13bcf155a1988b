/* Internal: a model on its way into C text. */

#ifndef PERP_SRC_CODE_H
#define PERP_SRC_CODE_H

#include "base/text.h"
#include "perp/export.h"
#include "simulate/run.h"

enum { PERP__IDENTIFIER = 256 };

typedef struct perp__code {
    const perp_model *model;
    perp_c_options o;
    char name[PERP__IDENTIFIER]; /* what all names begin with */
    perp_simulation *sim;        /* whose step is written */
    perp__tape initial;          /* the states' initial values */
    char *side;                  /* of each pair of the step: which side is eliminated to */
    double *first;               /* ny: where the first step's Newton iteration begins */
    perp_c_info info;
    perp_diag *diag;
} perp__code;

/* code_text.c: the header, the source, and a program that runs them. Returns 0 when memory is
 * out. */
int perp__code_write(perp__code *c, perp__text *header, perp__text *source, perp__text *program);

/* code_names.c: one C name for each of n names, malloc'ed, one after the other with a zero after
 * each. Other characters become _, and a repeated name gets a number. NULL when memory is out. */
char *perp__code_names(const char *const *name, int n);

/* code_pairs.c: for code in floats, take_gaps of step.c, which evaluates rows made of positions in
 * pairs of floats, and what it calls. How many rows. plain: the lines of conditions that stay
 * floats, since some function has no pair. place: of slots in the workspace. */
int perp__code_pairs(const perp__code *c, const int *place, perp__text *to, perp__text *plain);

/* The same for every model: step.c, and pairs.c, which stands before it where there are pairs. */
extern const unsigned char perp__step_text[], perp__pairs_text[];

#endif
