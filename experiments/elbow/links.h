/* Whole tosses of the body of two links (links.perp). */

#ifndef PERP_EXPERIMENT_LINKS_H
#define PERP_EXPERIMENT_LINKS_H

#include "tosses.h"

/* Friction from predictions of 10 rows, its cost on other tosses beside that of the published value, and errors of whole
 * rollouts; printed. 1 if the estimate predicts the other tosses no worse, 0 if worse, -1 on failure. */
int links_study(perp_model *model, const tosses *all, double published, int quick, perp_diag *diag);

#endif
