/* The LCP notes of 2019, simulation part: every claim run and judged.
 *
 *     experiment_notes [FIGURES TABLE]        from the root of the project
 *
 * Exit code 1 when a verdict is not the one of the list of corrections. */

#include "notes.h"
#include "support/support.h"

int main(int argc, char **argv)
{
    study_begin("LCP notes (2019)", argc, argv);
    falling_block();
    forward();
    direct();
    plane();
    direct_2();
    traditional();
    mixed();
    particle();
    polygon();
    perturbations();
    return study_end();
}
