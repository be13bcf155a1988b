/* Many starts: the cost has flat places (where everything sticks) and several valleys (each sequence of contacts its own),
 * so a search from one point may stop anywhere. The cost is looked at in the model's own values and in points
 * spread over the box, and searched from the best of them. */

#include "identify/identify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEARCHED = 2 }; /* points that are searched from */

/* The k-th point of a Kronecker sequence (Roberts 2018), k from 0; in one dimension equally spaced. */
static void spread_point(int np, int k, int n, double *z)
{
    double phi = 2;
    if (np == 1) {
        z[0] = (k + 0.5) / n;
        return;
    }
    for (int i = 0; i < 60; i++) phi = pow(1 + phi, 1.0 / (np + 1));
    for (int i = 0; i < np; i++) {
        double x = 0.5 + (k + 1) * pow(1 / phi, i + 1);
        z[i] = x - floor(x);
    }
}

static int number_of_starts(const perp__study *s)
{
    if (s->options.starts) return s->options.starts;
    int n = 8 * s->np + 1;
    return n < 49 ? n : 49;
}

static int allocate_starts(const perp__study *s, perp_identification *result, int n)
{
    result->start = calloc((size_t)n, sizeof *result->start);
    for (int k = 0; k < n && result->start; k++) {
        perp_fit_start *start = &result->start[k];
        start->from = calloc(2 * (size_t)s->np, sizeof(double));
        if (!start->from) return 0;
        start->to = start->from + s->np;
        result->nstart++;
    }
    return result->start != NULL;
}

static void minimise(const perp__study *s, perp__problem *p, perp__minimum *m)
{
    if (p->minimise)
        p->minimise(p, m);
    else
        perp__minimise(p, m, s->options.max_iter, s->options.tol);
}

/* Where nothing depends on the parameters (all contacts stick): the motion smoothed over less and less of the range. */
static void leave_flat(const perp__study *s, perp__problem *p, perp__minimum *m)
{
    static const double widths[] = {0.8, 0.4, 0.2, 0.1};
    for (int k = 0; k < 4 && m->flat; k++) {
        if (!perp__move_smoothed(p, m, widths[k])) continue;
        int before = m->iterations;
        minimise(s, p, m);
        m->iterations += before + 1;
    }
}

static void search_from(const perp__study *s, perp__problem *p, perp__minimum *m,
                        perp_fit_start *start)
{
    perp__to_z(p, start->from, m->z);
    minimise(s, p, m);
    if (m->flat && m->cost > 0) leave_flat(s, p, m);
    memcpy(start->to, m->theta, (size_t)s->np * sizeof(double));
    start->cost = m->cost;
    start->iterations = m->iterations;
    start->flat = m->flat;
}

/* The model's own values, then points of the box; on a part of the data where that is enough. */
static void look_at_points(const perp__study *s, perp__problem *p, perp__minimum *m,
                           perp_identification *result)
{
    if (p->take_part) p->take_part(p->context, 1);
    for (int k = 0; k < result->nstart; k++) {
        perp_fit_start *start = &result->start[k];
        if (k == 0)
            perp__to_z(p, s->from, m->z);
        else
            spread_point(s->np, k - 1, result->nstart - 1, m->z);
        perp__to_theta(p, m->z, start->from);
        memcpy(start->to, start->from, (size_t)s->np * sizeof(double));
        start->cost = perp__cost_at(p, m->z, m->residual);
    }
    if (p->take_part) p->take_part(p->context, 0);
}

/* The point with the lowest cost that was not searched from; -1 none. */
static int best_untouched(const perp_identification *result, const char *searched)
{
    int best = -1;
    for (int k = 0; k < result->nstart; k++) {
        if (searched[k] || !isfinite(result->start[k].cost)) continue;
        if (best < 0 || result->start[k].cost < result->start[best].cost) best = k;
    }
    return best;
}

static void keep_better(const perp__problem *p, const perp__minimum *m, perp__minimum *best)
{
    if (!(m->cost < best->cost)) return;
    size_t np = (size_t)p->np, n = (size_t)p->n;
    memcpy(best->z, m->z, (2 * np + n + np * n) * sizeof(double));
    best->cost = m->cost, best->iterations = m->iterations, best->flat = m->flat;
}

static void search_all(const perp__study *s, perp__problem *p, perp__minimum *m,
                       perp__minimum *best, perp_identification *result, char *searched)
{
    look_at_points(s, p, m, result);
    int first = best_untouched(result, searched);
    if (first < 0) return;
    perp__to_z(p, result->start[first].from, m->z);
    if (!p->fixed_width && isfinite(perp__cost_at(p, m->z, m->residual))) perp__choose_width(p, m);
    for (int i = 0, k; i < SEARCHED && (k = best_untouched(result, searched)) >= 0; i++) {
        searched[k] = 1;
        search_from(s, p, m, &result->start[k]);
        keep_better(p, m, best);
    }
}

perp_status perp__search(const perp__study *s, perp__problem *p, perp__minimum *best,
                         perp_identification *result)
{
    perp__minimum m = {0};
    int n = number_of_starts(s);
    char *searched = calloc((size_t)n, 1);
    int ok = searched && allocate_starts(s, result, n) && perp__minimum_allocate(&m, p);
    if (ok) search_all(s, p, &m, best, result, searched);
    int known = !ok || !isfinite(best->cost) || perp__differentiate(p, best, best->jacobian);
    perp__minimum_free(&m);
    free(searched);
    if (ok && !known) {
        perp__diag_append(
            s->diag,
            "%s: the model has a solution at the estimate, but not beside it: how well "
            "the parameters are known cannot be said\n",
            perp_model_file(s->model));
        if (s->diag) s->diag->errors++;
        return PERP_ERR_NO_SOLUTION;
    }
    return ok ? PERP_OK : PERP_ERR_MEMORY;
}
