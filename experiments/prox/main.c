/* "Understanding the difference between prox and complementarity formulations" (IROS 2011): every claim run and judged.
 *
 *     experiment_prox [FIGURES TABLE]        from the root of the project
 *
 * Exit code 1 when a verdict is not the one of the list of corrections. */

#include "prox.h"

int main(int argc, char **argv)
{
    study_begin("Prox and complementarity (IROS 2011)", argc, argv);
    equivalence();
    point_mass();
    strategies();
    painleve();
    return study_end();
}
