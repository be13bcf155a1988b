/* The filter line search and the restoration of feasibility. */

#include "base/holds.h"
#include "base/tol.h"
#include "plan/ipm_state.h"

#include <float.h>
#include <string.h>

static const double GAMMA_THETA = 1e-5, GAMMA_PHI = 1e-8, ETA = 1e-4, S_THETA = 1.1, S_PHI = 2.3;
/* Not in the paper: nearer to the solution than this, differences of phi are rounding and do not
 * judge a step. */
static const double NEARBY = 1e-9;
/* A point stays two roundings inside its bounds; beside a bound of 0, of numbers of size
 * PERP_IPM_NEAR_ZERO. */
static const double INSIDE = 4e-16;
/* Steps are halved down to SHORTEST before restoration begins; those of restoration, which are
 * damped, to SHORTEST_DAMPED. */
static const double SHORTEST = 1e-13, SHORTEST_DAMPED = 1e-8;
/* Restoration: the slope's share that a step must keep, the first and largest damping, the barrier
 * relative to the violation, the violation that leaves nothing to restore, and the largest
 * multiplier that it returns. */
static const double ARMIJO_DAMPED = 1e-3, FIRST_DAMPING = 1e-2, MOST_DAMPING = 1e10,
                    BARRIER_SHARE = 1e-2, NOTHING_TO_RESTORE = 1e-8, MOST_MULTIPLIER = 1e3;

/* Filter -------------------------------------------------------------------------------------- */

void perp__ipm_reset_filter(perp__ipm *s)
{
    s->filter.n = 0;
}

static int filter_accepts(const perp__ipm *s, double theta, double phi)
{
    if (!(theta <= s->filter.theta_max) || !isfinite(phi)) return 0;
    for (int i = 0; i < s->filter.n; i++)
        if (theta >= s->filter.theta[i] && phi >= s->filter.phi[i]) return 0;
    return 1;
}

static void add_to_filter(perp__ipm *s, double theta, double phi)
{
    theta *= 1 - GAMMA_THETA;
    phi -= GAMMA_PHI * theta;
    int n = 0;
    for (int i = 0; i < s->filter.n; i++) { /* drop what the new entry dominates */
        if (s->filter.theta[i] >= theta && s->filter.phi[i] >= phi) continue;
        s->filter.theta[n] = s->filter.theta[i];
        s->filter.phi[n++] = s->filter.phi[i];
    }
    if (n == MAX_FILTER) n--;
    s->filter.theta[n] = theta;
    s->filter.phi[n++] = phi;
    s->filter.n = n;
}

/* The trial point. Rounding must not put it on a bound: it stays an ulp or two inside. */
static void move(perp__ipm *s, double alpha)
{
    for (size_t i = 0; i < s->n; i++) {
        double x = s->x[i] + alpha * s->d.x[i];
        if (s->is_free[i]) {
            double lo = s->lo[i] + INSIDE * perp__larger(PERP_IPM_NEAR_ZERO, fabs(s->lo[i]));
            double hi = s->hi[i] - INSIDE * perp__larger(PERP_IPM_NEAR_ZERO, fabs(s->hi[i]));
            if (x < lo && s->lo[i] > -UNBOUNDED) x = lo;
            if (x > hi && s->hi[i] < UNBOUNDED) x = hi;
        }
        s->trial.x[i] = x;
    }
}

void perp__ipm_adopt_trial(perp__ipm *s)
{
    double *x = s->x, *r = s->r, *c = s->c;
    s->x = s->trial.x;
    s->trial.x = x;
    s->r = s->trial.r;
    s->trial.r = r;
    s->c = s->trial.c;
    s->trial.c = c;
    s->cost = s->trial.cost;
}

/* Where a line search starts. */
typedef struct search {
    double theta, phi, slope;
} search;

/* Does a trial point satisfy the switching and Armijo conditions, or make enough progress? */
static int accept(perp__ipm *s, const search *from, double alpha, double theta_t, double phi_t,
                  int *is_descent)
{
    double theta = from->theta, phi = from->phi, slope = from->slope;
    double slack = 10 * DBL_EPSILON * fabs(phi);
    *is_descent = theta <= s->filter.theta_min && slope < 0 &&
                  alpha * pow(-slope, S_PHI) > pow(theta, S_THETA);
    /* so near the solution that differences of phi are rounding: Newton's step as it is */
    if (theta <= NEARBY && theta_t <= NEARBY && fabs(alpha * slope) <= NEARBY * (1 + fabs(phi)))
        return phi_t <= phi + NEARBY * (1 + fabs(phi));
    if (!filter_accepts(s, theta_t, phi_t)) return 0;
    if (*is_descent) return phi_t <= phi + ETA * alpha * slope + slack;
    return theta_t <= (1 - GAMMA_THETA) * theta || phi_t <= phi - GAMMA_PHI * theta + slack;
}

/* Try x + alpha dx; `full` is what the conditions of descent are judged by. */
static int try_step(perp__ipm *s, const search *from, double alpha, double full, double *theta_t,
                    int *is_descent)
{
    move(s, alpha);
    *theta_t = UNBOUNDED;
    if (!perp__ipm_values(s, s->trial.x, s->trial.r, s->trial.c, &s->trial.cost)) return 0;
    *theta_t = perp__ipm_norm1(s->trial.c, s->m);
    return accept(s, from, full, *theta_t, perp__ipm_barrier(s, s->trial.x, s->trial.cost),
                  is_descent);
}

/* Second-order corrections: solve again for the violation that the step leaves behind. */
static int correct_step(perp__ipm *s, const search *from, double alpha, double tau, int *is_descent)
{
    double last = from->theta, step = alpha, theta_t;
    memcpy(s->soc.c, s->c, s->m * sizeof *s->soc.c);
    memcpy(s->soc.dx, s->d.x, s->n * sizeof *s->soc.dx);
    memcpy(s->soc.dlambda, s->d.lambda, s->m * sizeof *s->soc.dlambda);
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < s->m; i++) s->soc.c[i] = step * s->soc.c[i] + s->trial.c[i];
        perp__ipm_direction(s, s->soc.c);
        step = perp__ipm_longest_primal(s, tau, 1);
        if (try_step(s, from, step, alpha, &theta_t, is_descent)) return 1;
        if (!(theta_t <= 0.99 * last)) break;
        last = theta_t;
    }
    memcpy(s->d.x, s->soc.dx, s->n * sizeof *s->soc.dx);
    memcpy(s->d.lambda, s->soc.dlambda, s->m * sizeof *s->soc.dlambda);
    perp__ipm_bound_multiplier_steps(s);
    return 0;
}

/* Where the cost is not convex the full step is short, as what was added to the diagonal makes it:
 * double it as long as that pays. The trial point is at its end. */
static double lengthen(perp__ipm *s, const search *from, double tau, int *is_descent)
{
    enum { MOST_DOUBLED = 6 };
    double alpha = 1, most = perp__ipm_longest_primal(s, tau, 1 << MOST_DOUBLED), theta;
    double best = perp__ipm_barrier(s, s->trial.x, s->trial.cost);
    for (int was = *is_descent; 2 * alpha <= most; alpha *= 2) {
        double phi = best;
        int ok = try_step(s, from, 2 * alpha, 2 * alpha, &theta, is_descent);
        if (ok) phi = perp__ipm_barrier(s, s->trial.x, s->trial.cost);
        if (ok && phi < best) {
            best = phi;
            was = *is_descent;
            continue;
        }
        try_step(s, from, alpha, alpha, &theta, is_descent);
        *is_descent = was;
        break;
    }
    return alpha;
}

/* Take a step along the direction, with second-order corrections of the first try. The length, or
 * 0. */
double perp__ipm_line_search(perp__ipm *s, double tau)
{
    double alpha = perp__ipm_longest_primal(s, tau, 1), theta_t = 0, slope = 0;
    int is_descent = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->is_free[i]) continue;
        /* the slope of the barrier function alone: without the multipliers' part */
        slope += perp__ipm_barrier_slope(s, i) * s->d.x[i];
    }
    /* remove lambda'(J dx - ds) = -lambda' c (1 up to the linear solve) */
    for (size_t i = 0; i < s->m; i++) s->system.res_c[i] = 0;
    perp__ipm_add_product(s, s->d.x, s->system.res_c);
    for (size_t i = 0; i < s->m; i++)
        if (s->place.r[i] >= 0)
            slope -= s->lambda[i] * (s->system.res_c[i] - s->d.x[s->nW + s->nP + i]);
    search from = {perp__ipm_norm1(s->c, s->m), perp__ipm_barrier(s, s->x, s->cost), slope};
    for (int try = 0; try < 40 && alpha > SHORTEST; try++, alpha *= 0.5) {
        int ok = try_step(s, &from, alpha, alpha, &theta_t, &is_descent), corrected = !ok;
        if (!ok && try == 0 && theta_t >= from.theta)
            ok = correct_step(s, &from, alpha, tau, &is_descent);
        if (!ok) continue;
        if (alpha == 1 && try == 0 && s->delta.w > 0 && s->g->npair == 0 && !corrected)
            alpha = lengthen(s, &from, tau, &is_descent);
        if (!is_descent) add_to_filter(s, from.theta, from.phi);
        return alpha;
    }
    return 0;
}

/* Restoration --------------------------------------------------------------------------------- */

/* What restoration brings down: |c|^2 / 2 and the barrier of the bounds. */
static double violation(const perp__ipm *s, const double *x, const double *c)
{
    double sum = 0;
    for (size_t i = 0; i < s->m; i++) sum += c[i] * c[i];
    return 0.5 * sum + perp__ipm_barrier(s, x, 0);
}

/* A Levenberg-Marquardt step for it: rows enter as -(J dx - ds + c - lambda) = 0, so lambda is the
 * remaining c. Returns 0 if the matrix is singular. */
static int feasibility_step(perp__ipm *s, double zeta)
{
    memset(s->lambda, 0, s->m * sizeof *s->lambda);
    perp__ipm_derivatives(s, NULL, 0);
    memset(s->values.gradient, 0, (s->nW + s->nP) * sizeof *s->values.gradient);
    for (size_t i = 0; i < s->n; i++) {
        double scale = fmax(1, fabs(s->x[i])), to_lo = s->x[i] - s->lo[i],
               to_hi = s->hi[i] - s->x[i];
        s->sigma[i] = PERP_IPM_LEAST_DIAGONAL;
        if (!s->is_free[i]) continue;
        s->sigma[i] = zeta / (scale * scale);
        if (s->lo[i] > -UNBOUNDED) s->sigma[i] += s->mu / (to_lo * to_lo);
        if (s->hi[i] < UNBOUNDED) s->sigma[i] += s->mu / (to_hi * to_hi);
    }
    s->delta.w = 0;
    s->delta.c = 1;
    if (perp__ipm_factor_once(s) < 0) return 0;
    perp__ipm_direction(s, s->c);
    return 1;
}

/* One damped step of restoration; 0 when no step helps at this damping. */
static int damped_step(perp__ipm *s, double zeta)
{
    double before = violation(s, s->x, s->c), slope = 0;
    if (!feasibility_step(s, zeta)) return 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->is_free[i]) slope -= s->sigma[i] * s->d.x[i] * s->d.x[i];
    for (size_t i = 0; i < s->m; i++)
        slope -= (s->c[i] - s->d.lambda[i]) * (s->c[i] - s->d.lambda[i]);
    double alpha = perp__ipm_longest_primal(s, 0.95, 1);
    for (int try = 0; try < 12 && alpha > SHORTEST_DAMPED; try++, alpha *= 0.3) {
        move(s, alpha);
        if (!perp__ipm_values(s, s->trial.x, s->trial.r, s->trial.c, &s->trial.cost)) continue;
        if (violation(s, s->trial.x, s->trial.c) > before + ARMIJO_DAMPED * alpha * slope) continue;
        perp__ipm_adopt_trial(s);
        return alpha > 0.5 ? 2 : 1;
    }
    return 0;
}

/* Bring the violation down until the filter takes the point again. Returns 0 if that fails. */
int perp__ipm_restore(perp__ipm *s)
{
    double before = perp__ipm_norm1(s->c, s->m), mu = s->mu, zeta = FIRST_DAMPING,
           weight = fmin(mu, BARRIER_SHARE * before);
    double most = weight;
    int found = 0;
    if (before < NOTHING_TO_RESTORE) return 0;
    add_to_filter(s, before, perp__ipm_barrier(s, s->x, s->cost));
    for (int round = 0; round < 200 && !found && zeta < MOST_DAMPING; round++) {
        s->mu = weight;
        s->restorations++;
        int taken = damped_step(s, zeta);
        s->mu = mu;
        weight = fmin(most, weight * (taken == 2 ? 0.3 : 1.5));
        if (taken == 2)
            zeta *= 0.2;
        else if (taken)
            zeta *= 1;
        else
            zeta *= 10;
        double theta = perp__ipm_norm1(s->c, s->m);
        if (perp__ipm_report(s, perp__ipm_norm_inf(s->c, s->m), NAN, 0)) return 0;
        found = taken && theta < 0.1 * before &&
                filter_accepts(s, theta, perp__ipm_barrier(s, s->x, s->cost));
    }
    memset(s->lambda, 0, s->m * sizeof *s->lambda);
    for (size_t i = 0; i < s->n; i++) {
        if (s->zl[i] > 0) s->zl[i] = fmin(MOST_MULTIPLIER, s->mu / (s->x[i] - s->lo[i]));
        if (s->zu[i] > 0) s->zu[i] = fmin(MOST_MULTIPLIER, s->mu / (s->hi[i] - s->x[i]));
    }
    return found;
}
