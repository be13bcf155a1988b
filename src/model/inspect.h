/* Internal: what reading a model without running it can find. Each finding is a message in a
 * perp__source of its own. */

#ifndef PERP_SRC_INSPECT_H
#define PERP_SRC_INSPECT_H

#include "model/model.h"

/* The instance or call that a node was first made for; NULL: none. */
const perp__note *perp__note_of(const perp_model *model, perp_expr e);

/* Units that do not match: both sides are named. */
int perp__inspect_units(const perp_model *model, perp__source *findings);

/* The units of n expressions as far as the declared ones tell: "" where they do not. 0 when memory
 * is out. */
enum { PERP__UNIT_SIZE = 80 };
int perp__units_of(const perp_model *model, const perp_expr *expressions, int n,
                   char (*unit)[PERP__UNIT_SIZE]);

/* The powers of m, kg, s, A, K and the factor of a unit; 0: it is none that is known. */
int perp__unit_powers(const char *text, double power[5], double *scale);

/* The unit of a table's column must be that of the model. An empty or unknown unit is accepted.
 * PERP_ERR_DATA with a message. */
perp_status perp__check_unit(const perp_trajectory *table, int column, const char *ours,
                             const char *file, perp_diag *diag);

/* Divisions, roots and logarithms whose argument can leave the domain. */
int perp__inspect_domains(const perp_model *model, perp__source *findings);

/* sign(..) of an unknown, in a condition: where the argument passes 0 the condition jumps, and no
 * step may exist there. -1: none, or no memory; else the position of the first one in the
 * source. */
#define PERP__JUMP_CURE                                                                            \
    "sign(..) of what is solved for jumps at 0, where no step may hold; Coulomb friction f of at " \
    "most F against v is the pair -F <= f <= F perp v"
int perp__find_jump(const perp_model *model);

/* Parameters and inputs that nothing uses, and guards that never change. */
int perp__inspect_unused(const perp_model *model, perp__source *findings);

/* The conditions that read only states, or quantities that follow from them, of the highest level:
 * the number of derivatives until a force appears. Of a gap of positions 2, of a speed 1; 0: there
 * are none. 0 when memory is out. */
typedef struct perp__held {
    int level, nequation, npair;
} perp__held;
int perp__find_held(const perp_model *model, perp__held *held);

/* Are these steps for such a model? A discrete one has no rates for the points of a method, and no
 * accuracy. PERP_ERR_ARG with a message, PERP_ERR_MODEL if the model itself names the method. */
perp_status perp__check_steps(const perp_model *model, perp__said said, const char *method,
                              double accuracy, perp_diag *diag);

/* Roots of all conditions of the model, malloc'ed; NULL when memory is out. */
perp_expr *perp__condition_roots(const perp_model *model, int *n);

#endif
