/* The blog on friction by a nonlinear program in each step, beside perp's step and a smoothed law.
 *
 *     experiment_blog [FIGURES TABLE]        from the root of the project
 *
 * Without arguments, as in the tests, the programs run on a fraction of the steps. Exit code 1 when a verdict is not the
 * one of the list of corrections. */

#include "blog.h"
#include "support/support.h"

int main(int argc, char **argv)
{
    study_begin("Coulomb friction by a nonlinear program in each step (blog)", argc, argv);
    exact_law();
    program_runs();
    smoothed_law();
    return study_end();
}
