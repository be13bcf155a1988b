/* Internal: what reading a model without running it can find. Each finding is a message in a
 * perp__source of its own. */

#ifndef PERP_SRC_INSPECT_H
#define PERP_SRC_INSPECT_H

#include "model/model.h"

/* Units that do not match: both sides are named. */
int perp__inspect_units(const perp_model *model, perp__source *findings);

/* 1 if the units have the same dimension, and how many b are one a; 0 if they do not; -1 if one is empty or not
 * understood. */
int perp__unit_ratio(const char *a, const char *b, double *ratio);

/* Divisions, roots and logarithms whose argument can leave the domain. */
int perp__inspect_domains(const perp_model *model, perp__source *findings);

/* Parameters and inputs that nothing uses, and guards that never change. */
int perp__inspect_unused(const perp_model *model, perp__source *findings);

/* Roots of all conditions of the model, malloc'ed; NULL when memory is out. */
perp_expr *perp__condition_roots(const perp_model *model, int *n);

#endif
