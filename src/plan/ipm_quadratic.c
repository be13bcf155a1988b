/* One step of a sequential quadratic method, with the linear systems of the interior point and no
 * barrier. The linearised conditions and the curvature of the Lagrangian make a quadratic program.
 * A primal-dual active set (Hintermueller, Ito and Kunisch 2003) finds its active inequalities,
 * starting from the last ones. At least one side of each pair stays active. */

#include "base/tol.h"
#include "plan/ipm_state.h"

#include <string.h>

/* In the units of the search, a bound is passed, and a multiplier of the wrong sign, from here
 * on. */
static const double PASSED = 1e-9, WRONG = 1e-9;
/* What a linear row may be missed by in a solution, where rows repeat each other. More is a
 * contradiction. */
static const double MISSED = 1e-8;
/* A length or a parameter within this distance of a bound counts as on it. It brings no
 * multipliers. */
static const double ON_BOUND = 1e-7;
/* Systems in which a pair whose other side would go below 0 takes that one for its own. Later it
 * keeps both. */
enum { MOST_SWAPPED = 4 };

static int is_equality(const perp__ipm *s, size_t i)
{
    return s->active.lo[i] == s->active.hi[i];
}

/* What holds a side of a pair: an unknown or a row, and the end of its range that is 0. */
typedef struct holder {
    size_t at;
    signed char end;
} holder;

static holder holder_of(const perp__ipm *s, const perp__plan_pair *pair, int side, int k)
{
    int is_row = pair->row[side] >= 0;
    size_t i = (size_t)(is_row ? pair->row[side] : pair->w[side]) * (size_t)s->K + (size_t)k;
    if (is_row) return (holder){s->nW + s->nP + i, -1};
    return (holder){i, pair->sign[side] > 0 ? -1 : 1};
}

static int holds(const perp__ipm *s, const signed char *held, holder h)
{
    return is_equality(s, h.at) || held[h.at] == h.end;
}

/* Held at first: a bound whose multiplier is larger than the distance to it, and the sides that are
 * given. */
static void begin(perp__ipm *s, const signed char *side, const double *lower, const double *upper)
{
    const perp__program *g = s->g;
    size_t n = s->nW + s->nP;
    for (size_t i = 0; i < s->n; i++) {
        const double *of = s->units.of;
        double x = i < n ? s->x[i] : s->r[i - n], to_lo = x - s->active.lo[i],
               to_hi = s->active.hi[i] - x;
        double zl = ON_BOUND;
        if (i >= n)
            zl = -s->lambda[i - n];
        else if (i < s->nW)
            zl = s->units.cost * lower[i] * of[i];
        double zu = ON_BOUND;
        if (i >= n)
            zu = s->lambda[i - n];
        else if (i < s->nW)
            zu = s->units.cost * upper[i] * of[i];
        s->active.held[i] = (signed char)(zl > 0 && zl > to_lo ? -1 : zu > 0 && zu > to_hi);
    }
    for (int i = 0; i < g->npair; i++)
        for (int k = 0; k < s->K; k++) {
            holder h = holder_of(s, &g->pair[i], side[(size_t)i * (size_t)s->K + (size_t)k], k);
            s->active.held[h.at] = h.end;
        }
}

/* Bounds in which what is held is fixed and all else is free, and the places of that. */
static void hold(perp__ipm *s)
{
    for (size_t i = 0; i < s->n; i++) {
        int held = s->active.held[i];
        s->lo[i] = s->hi[i] = held < 0 ? s->active.lo[i] : s->active.hi[i];
        if (held || is_equality(s, i)) continue;
        s->lo[i] = -UNBOUNDED;
        s->hi[i] = UNBOUNDED;
    }
    perp__ipm_place(s);
}

/* Solve with the active set. d.x: change of unknowns to their fixed or wanted values; d.lambda: the
 * multipliers themselves. The change of the rows' values is in system.res_c, the slope of the
 * Lagrangian there in system.res_x. Returns 0: there is no solution. */
static int solve(perp__ipm *s)
{
    size_t n = s->nW + s->nP;
    double *step = s->soc.dx, *slope = s->system.res_x, *change = s->system.res_c;
    memset(step, 0, s->n * sizeof *step);
    memset(s->lambda, 0, s->m * sizeof *s->lambda);
    memset(change, 0, s->m * sizeof *change);
    memcpy(s->values.gradient, s->active.gradient, n * sizeof *s->values.gradient);
    for (size_t i = 0; i < n; i++)
        if (!s->is_free[i]) step[i] = s->lo[i] - s->x[i];
    perp__ipm_add_curvature(s, step, s->values.gradient);
    perp__ipm_add_product(s, step, change);
    for (size_t i = 0; i < s->m; i++)
        s->c[i] = s->place.r[i] < 0 ? 0 : s->r[i] + change[i] - s->lo[n + i];
    if (!perp__ipm_factor(s)) return 0;
    perp__ipm_direction(s, s->c);
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += s->d.x[i] = s->is_free[i] ? s->d.x[i] : step[i];
    for (size_t i = 0; i < s->m; i++)
        sum += s->d.lambda[i] = s->place.r[i] < 0 ? 0 : s->d.lambda[i];
    memset(change, 0, s->m * sizeof *change);
    perp__ipm_add_product(s, s->d.x, change);
    memcpy(slope, s->active.gradient, n * sizeof *slope);
    perp__ipm_add_curvature(s, s->d.x, slope);
    perp__ipm_add_transposed(s, s->d.lambda, slope);
    return isfinite(sum);
}

static double slope_of(const perp__ipm *s, size_t i)
{
    size_t n = s->nW + s->nP;
    return i < n ? s->system.res_x[i] : -s->d.lambda[i - n];
}

/* What is held next without regard to pairs. */
static signed char hold_next(const perp__ipm *s, size_t i)
{
    size_t n = s->nW + s->nP;
    double lo = s->active.lo[i], hi = s->active.hi[i], slope = slope_of(s, i);
    int held = s->active.held[i];
    if (held) return (signed char)(slope * held > WRONG ? 0 : held);
    double x = i < n ? s->x[i] + s->d.x[i] : s->r[i - n] + s->system.res_c[i - n];
    if (x < lo - PASSED * fmax(1, fabs(lo))) return -1;
    return x > hi + PASSED * fmax(1, fabs(hi));
}

/* A pair with one active side keeps it, or exchanges it for the other. If both would become
 * inactive, the side whose multiplier is less wrong stays. */
static void keep_pair(perp__ipm *s, holder a, holder b, int system)
{
    signed char *next = s->active.next;
    const signed char *held = s->active.held;
    int of_a = holds(s, held, a), of_b = holds(s, held, b);
    if (is_equality(s, a.at) || is_equality(s, b.at)) return;
    if (of_a && of_b) {
        if (holds(s, next, a) || holds(s, next, b)) return;
        holder stays = slope_of(s, a.at) * a.end < slope_of(s, b.at) * b.end ? a : b;
        next[stays.at] = stays.end;
        return;
    }
    holder one = of_a ? a : b, other = of_a ? b : a;
    if (!holds(s, next, other))
        next[one.at] = one.end;
    else if (system < MOST_SWAPPED)
        next[one.at] = 0;
}

/* 1: something else is held now. */
static int change_held(perp__ipm *s, int system)
{
    const perp__program *g = s->g;
    for (size_t i = 0; i < s->n; i++)
        s->active.next[i] = is_equality(s, i) ? s->active.held[i] : hold_next(s, i);
    for (int i = 0; i < g->npair; i++)
        for (int k = 0; k < s->K; k++)
            keep_pair(s, holder_of(s, &g->pair[i], 0, k), holder_of(s, &g->pair[i], 1, k), system);
    int changed = memcmp(s->active.held, s->active.next, s->n) != 0;
    memcpy(s->active.held, s->active.next, s->n);
    return changed;
}

/* The point, its bounds and its derivatives. Returns 0: they are not finite. */
static int linearise(perp__ipm *s, const perp__bounds *bound, const double *lambda, const double *w,
                     const double *p)
{
    size_t n = s->nW + s->nP;
    s->pairing = (perp__pairing){.bound = bound};
    perp__ipm_read_bounds(s);
    memcpy(s->active.lo, s->lo, s->n * sizeof *s->lo);
    memcpy(s->active.hi, s->hi, s->n * sizeof *s->hi);
    memcpy(s->x, w, s->nW * sizeof *s->x);
    memcpy(s->x + s->nW, p, s->nP * sizeof *s->x);
    for (size_t i = 0; i < n && s->g->unit.differ; i++) s->x[i] /= s->units.of[i];
    if (!(s->units.cost > 0)) s->units.cost = 1;
    for (size_t i = 0; i < s->m; i++) {
        s->x[n + i] = 0;
        s->lambda[i] = perp__ipm_is_off(s, i) ? 0 : s->units.cost * lambda[i] * s->units.of[n + i];
    }
    if (!perp__ipm_values(s, s->x, s->r, s->c, &s->cost)) return 0;
    perp__ipm_derivatives(s, s->lambda, s->units.cost);
    perp__ipm_cost_gradient(s, s->active.gradient);
    return 1;
}

/* Are the linearised rows that are held at their bounds? */
static int keeps_rows(const perp__ipm *s)
{
    double most = 0;
    for (size_t i = 0; i < s->m; i++) {
        double bound = s->lo[s->nW + s->nP + i];
        if (s->place.r[i] < 0) continue;
        double size = fmax(1, fmax(fabs(s->r[i]), fabs(s->system.res_c[i])));
        most = perp__ipm_worse(most, (s->r[i] + s->system.res_c[i] - bound) / size);
    }
    return most <= MISSED;
}

/* The answer of the quadratic program as the program has it, within its bounds to the last
 * digit. */
static void hand_over(const perp__ipm *s, signed char *side, perp__ipm_iterate *out)
{
    const perp__program *g = s->g;
    const double *of = s->units.of;
    for (size_t i = 0; i < s->nW + s->nP; i++) {
        double x = fmin(fmax(s->x[i] + s->d.x[i], s->active.lo[i]), s->active.hi[i]) * of[i];
        if (i >= s->nW) {
            out->p[i - s->nW] = x;
            continue;
        }
        double z = is_equality(s, i) ? 0 : s->system.res_x[i] / (s->units.cost * of[i]);
        out->w[i] = x;
        out->lower[i] = s->active.held[i] < 0 ? fmax(z, 0) : 0;
        out->upper[i] = s->active.held[i] > 0 ? fmax(-z, 0) : 0;
    }
    for (size_t i = 0; i < s->m; i++)
        out->lambda[i] = s->d.lambda[i] / (s->units.cost * of[s->nW + s->nP + i]);
    for (int i = 0; i < g->npair; i++)
        for (int k = 0; k < s->K; k++)
            side[(size_t)i * (size_t)s->K + (size_t)k] =
                !holds(s, s->active.held, holder_of(s, &g->pair[i], 0, k));
}

int perp__ipm_quadratic(perp__ipm *s, const perp__bounds *bound, signed char *side, int most,
                        perp__ipm_iterate *at)
{
    if (!linearise(s, bound, at->lambda, at->w, at->p)) return 0;
    begin(s, side, at->lower, at->upper);
    for (int system = 1; system <= most; system++) {
        hold(s);
        if (!solve(s)) return 0;
        if (change_held(s, system)) continue;
        if (!keeps_rows(s)) return 0;
        hand_over(s, side, at);
        return system;
    }
    return 0;
}
