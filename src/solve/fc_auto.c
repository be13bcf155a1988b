/* The default method: a cascade.
 *
 * 1. Sweeps of nsgs. They solve the easy problems (weak coupling) and find most of the open
 *    contacts.
 * 2. Newton (alart-curnier). When it stalls, more sweeps from the better point, and again
 *    Newton; each time the runs of sweeps are longer.
 * 3. After two rounds without an answer, a new start from the interior point method. After long
 *    runs of that, proximal. After 20000 iterations, interior points from other starts in each
 *    round.
 *
 * Newton alone solves 15 of the 16 stored problems, sweeps alone 12, this 16. The driver returns
 * the best iterate of all. Fails: rarely. Seen with three times more contacts than the bodies
 * determine and masses of ratio 1e6: 3 of 180 random problems, 10 without the other starts. */

#include "base/tol.h"
#include "solve/fc.h"

#include <math.h>
#include <string.h>

/* Measured on the stored problems and 8 variants of each. Without the first sweeps the tower of 570
 * takes four times longer; with 30 the capsules take twice as long. 30 sweeps between Newton's runs
 * make the rock pile four times slower than 10, and so do other starts before iteration 13000. Of
 * the pile and 30 variants 21 are solved with 50 steps and 5 sweeps more in each round, 22 with 1
 * more, 24 with 70 steps and 1 more. */
enum {
    FIRST = 10,
    SWEEPS = 10,
    MORE = 1, /* sweeps in each further round */
    STEPS = 70,
    PROXIMAL_AFTER = 4000,
    PROXIMAL = 3000,
    IPM_ROUND = 1,
    IPM_STARTS = 40,
    RESTARTS_AFTER = 20000,
    LIMIT = 26000,
    IPM_STEPS = 60,
    ANEW = 200,       /* iterations of a new start after a guess */
    WARM = 6,         /* Newton's steps from a guess, */
    FROM_SETTLED = 3, /* from interior points that keep their pieces, */
    FROM_NEAR = 12    /* and from those that are near */
};

/* Newton's shift from here. */
static double first_shift(const perp__fc *fc)
{
    for (int k = 0; k < fc->n; k++) {
        if (fc->r[k] != 0) return PERP_FC_SHIFT_WARM;
    }
    return PERP_FC_SHIFT;
}

/* `most` of Newton's steps from here; 1 where nothing is left to do. */
static int newton_from_here(perp__fc *fc, int limit, double shift, int most)
{
    int left = limit - fc->iterations;
    fc->used = PERP_FC_ALART_CURNIER;
    if (perp__fc_residual(fc) <= fc->target) return 1;
    fc->shift = shift;
    perp__fc_newton(fc, 0, NULL, 0, left < most ? left : most);
    fc->shift = PERP_FC_SHIFT;
    return fc->best_residual <= fc->target || fc->out_of_memory;
}

/* From a guess Newton goes first, which stays near it, and then from interior points. It starts
 * from where they are settled for a few steps, from where they are slow, and from where they end.
 * Sweeps would spoil the guess. Returns 1 if it is done. */
static int step_from_guess(perp__fc *fc, int limit)
{
    int has_room = limit - fc->iterations > WARM + IPM_STEPS;
    if (newton_from_here(fc, limit, first_shift(fc), has_room ? WARM : FROM_NEAR)) return 1;
    if (fc->best_residual <= fc->tol) return 1;
    int begun = fc->iterations, goes_on = 1;
    for (perp__ipm_end end = PERP__IPM_SETTLED; goes_on; end++) {
        int left = IPM_STEPS - (fc->iterations - begun), start = end == PERP__IPM_SETTLED ? 0 : -1;
        goes_on = has_room && left > 0 && perp__fc_ipm_steps(fc, left, start, end);
        memcpy(fc->r, fc->best, (size_t)fc->n * sizeof(double));
        if (fc->out_of_memory) return 1;
        if (goes_on && end == PERP__IPM_SETTLED) {
            if (newton_from_here(fc, limit, PERP_FC_SHIFT_WARM, FROM_SETTLED)) return 1;
            if (fc->best_residual > fc->tol) continue;
        }
        if (newton_from_here(fc, limit, PERP_FC_SHIFT, FROM_NEAR)) return 1;
        goes_on &= fc->best_residual > fc->tol;
    }
    fc->target = fc->tol;
    return fc->best_residual <= fc->target;
}

/* Sweeps and Newton in turn from here, interior points and proximal, until `limit` iterations are
 * done. */
static void cascade(perp__fc *fc, int limit)
{
    size_t bytes = (size_t)fc->n * sizeof(double);
    int proximal_after = PROXIMAL_AFTER, start = 0;
    double *kept = perp__fc_work(fc, 11), residual;
    fc->used = PERP_FC_NSGS;
    residual = perp__fc_sweeps(fc, limit < FIRST ? limit : FIRST);
    for (int round = 0; residual > fc->target && fc->iterations < limit; round++) {
        int left = limit - fc->iterations;
        memcpy(kept, fc->r, bytes);
        fc->used = PERP_FC_ALART_CURNIER;
        perp__fc_newton(fc, 0, NULL, 0, left < STEPS ? left : STEPS);
        if (fc->best_residual <= fc->target || fc->out_of_memory) return;
        double after = perp__fc_residual(fc);
        fc->is_stuck = 1;
        if (!(after < residual)) memcpy(fc->r, kept, bytes);
        left = limit - fc->iterations;
        int sweeps = start < 2 ? SWEEPS + MORE * round : SWEEPS;
        fc->used = PERP_FC_NSGS;
        residual = perp__fc_sweeps(fc, left < sweeps ? left : sweeps);
        if (!isfinite(residual)) {
            memcpy(fc->r, fc->best, bytes);
            residual = perp__fc_residual(fc);
        }
        if ((round == IPM_ROUND || (fc->iterations > RESTARTS_AFTER && start < IPM_STARTS)) &&
            residual > fc->target && limit - fc->iterations > IPM_STEPS) {
            double before = fc->best_residual;
            perp__fc_ipm_steps(fc, IPM_STEPS, start++, PERP__IPM_SLOW);
            if (fc->out_of_memory) return;
            if (fc->best_residual < before) memcpy(fc->r, fc->best, bytes);
            residual = perp__fc_residual(fc);
        }
        if (start < 2 && fc->iterations > proximal_after && residual > fc->target) {
            left = limit - fc->iterations;
            perp__fc_proximal_steps(fc, left < PROXIMAL ? left : PROXIMAL);
            residual = perp__fc_residual(fc);
            proximal_after = fc->iterations + PROXIMAL_AFTER;
            if (fc->out_of_memory || !isfinite(residual)) return;
        }
    }
}

/* Near the point where a guess has led every way may end in the same place. Others: Newton from the
 * guess with the shift of any start, all from no forces, Newton from there. Returns 1: it is
 * done. */
static int start_anew(perp__fc *fc, const double *guess, int limit)
{
    for (int way = 0; way < 3; way++) {
        if (limit - fc->iterations <= 2 * ANEW) return 0;
        for (int k = 0; k < fc->n; k++) fc->r[k] = way ? 0 : guess[k];
        fc->is_stuck = 0;
        if (way == 1) {
            cascade(fc, fc->iterations + ANEW);
        } else {
            fc->used = PERP_FC_ALART_CURNIER;
            perp__fc_newton(fc, 0, NULL, 0, ANEW);
        }
        if (fc->best_residual <= fc->target || fc->out_of_memory) return 1;
    }
    return 0;
}

void perp__fc_auto(perp__fc *fc)
{
    size_t bytes = (size_t)fc->n * sizeof(double);
    int limit = fc->max_iter ? fc->max_iter : LIMIT;
    double *guess = perp__fc_work(fc, 15);
    memcpy(guess, fc->r, bytes);
    if (fc->options->warm_start && (step_from_guess(fc, limit) || start_anew(fc, guess, limit)))
        return;
    memcpy(fc->r, fc->best, bytes);
    fc->is_stuck = 0;
    cascade(fc, limit);
}
