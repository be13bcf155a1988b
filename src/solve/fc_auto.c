/* The method to use when you do not want to choose.
 *
 * Sweeps of nsgs first: they end the easy problems (weak coupling) and find most of the open
 * contacts. Then Newton (alart-curnier); when it stalls, more sweeps from the better point, and
 * again, with longer runs of sweeps each time. Newton alone solves 15 of the 16 stored problems,
 * sweeps alone 12, this 16, and all of the 8 variants of each but one or two of the rock pile's.
 * The driver returns the best iterate of all. */

#include "solve/fc.h"

#include <math.h>
#include <string.h>

/* Measured on the stored problems and 8 variants of each: without the first sweeps the tower of 570
 * takes four times longer, with 30 the capsules take twice as long. */
enum { FIRST = 10, SWEEPS = 30, STEPS = 50 };

void perp__fc_auto(perp__fc *fc)
{
    size_t bytes = (size_t)fc->n * sizeof(double);
    int limit = fc->max_iter ? fc->max_iter : 20000;
    double *kept = perp__fc_work(fc, 11), residual;
    fc->used = PERP_FC_NSGS;
    residual = perp__fc_sweeps(fc, limit < FIRST ? limit : FIRST);
    for (int round = 0; residual > fc->target && fc->iterations < limit; round++) {
        int left = limit - fc->iterations;
        memcpy(kept, fc->r, bytes);
        fc->used = PERP_FC_ALART_CURNIER;
        perp__fc_newton(fc, 0, NULL, 0, left < STEPS ? left : STEPS);
        double after = perp__fc_residual(fc);
        if (after <= fc->target || fc->out_of_memory) return;
        if (!(after < residual)) memcpy(fc->r, kept, bytes);
        left = limit - fc->iterations;
        int sweeps = SWEEPS + 5 * round;
        fc->used = PERP_FC_NSGS;
        residual = perp__fc_sweeps(fc, left < sweeps ? left : sweeps);
        if (!isfinite(residual)) return;
    }
}
