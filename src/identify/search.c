/* Many starts: the cost has flat regions (where everything sticks) and several valleys (one for
 * each sequence of contacts). So a search from one point may stop anywhere. The cost is evaluated
 * at the model's own values and at points spread over the box. Searches from the best of them run
 * until two agree on the least. */

#include "base/hash.h"
#include "base/tol.h"
#include "identify/identify.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    AGREE = 2,    /* searches that end at the least cost are enough */
    SEARCHES = 2, /* else there are as many, */
    MORE = 6,     /* and more where simulations are short */
    BESIDE =
        4, /* and as many from beside a best that one alone has found, where the cost is smooth */
    HOPS = 8,       /* a parameter, that find nothing better, where the cost jumps */
    HOP_STEPS = 15, /* iterations of each */
    HOPPING = 400,  /* evaluations a parameter where simulations are short */
    SHORT = 160     /* steps of all runs */
};

/* The k-th point of a Kronecker sequence (Roberts 2018), k from 0; in one dimension equally
 * spaced. */
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

/* The next start. NULL when memory is out. */
static perp_fit_start *add_start(const perp__study *s, perp_identification *result)
{
    perp_fit_start *start = &result->start[result->nstart];
    start->from = calloc(2 * (size_t)s->np, sizeof(double));
    if (!start->from) return NULL;
    start->to = start->from + s->np;
    result->nstart++;
    return start;
}

static int allocate_starts(const perp__study *s, perp_identification *result, int n)
{
    result->start = calloc((size_t)n + BESIDE, sizeof *result->start);
    for (int k = 0; k < n && result->start; k++)
        if (!add_start(s, result)) return 0;
    return result->start != NULL;
}

static void minimise(const perp__study *s, perp__problem *p, perp__minimum *m)
{
    if (p->minimise)
        p->minimise(p, m);
    else
        perp__minimise(p, m, s->options.max_iter, s->options.tol);
}

/* Where nothing depends on the parameters (all contacts stick): the motion smoothed over less and
 * less of the range. */
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

/* A number of tries, of longer simulations fewer. */
static int affordable(const perp__study *s, int tries)
{
    double steps = 1;
    for (int r = 0; r < s->nrun; r++) steps += (double)s->run[r].at[s->run[r].rows - 1];
    return (int)(tries * fmin(1, SHORT / steps));
}

/* Wide differences look over the jumps of the cost and end between them: the last part follows the
 * derivatives proper. */
static void polish(const perp__study *s, perp__problem *p, perp__minimum *m)
{
    double width = p->width;
    int before = m->iterations;
    if (!perp__looks_wide(p) || !isfinite(m->cost) || affordable(s, MORE) == 0) return;
    perp__look_narrow(p);
    minimise(s, p, m);
    m->iterations += before;
    p->width = width;
}

static void search_from(const perp__study *s, perp__problem *p, perp__minimum *m,
                        perp_fit_start *start)
{
    p->so_far.searches++;
    perp__to_z(p, start->from, m->z);
    minimise(s, p, m);
    if (m->flat && m->cost > 0) leave_flat(s, p, m);
    polish(s, p, m);
    memcpy(start->to, m->theta, (size_t)s->np * sizeof(double));
    start->cost = m->cost;
    start->iterations = m->iterations;
    start->flat = m->flat;
    start->is_cut = m->is_cut;
    start->searched = 1;
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
static int best_untouched(const perp_identification *result)
{
    int best = -1;
    for (int k = 0; k < result->nstart; k++) {
        if (result->start[k].searched || !isfinite(result->start[k].cost)) continue;
        if (best < 0 || result->start[k].cost < result->start[best].cost) best = k;
    }
    return best;
}

static int keep_better(perp__problem *p, const perp__minimum *m, perp__minimum *best)
{
    if (!(m->cost < best->cost)) return 0;
    size_t np = (size_t)p->np, n = (size_t)p->n;
    memcpy(best->z, m->z, (2 * np + n + np * n) * sizeof(double));
    best->cost = m->cost;
    best->iterations = m->iterations;
    best->flat = m->flat;
    best->is_cut = m->is_cut;
    p->so_far.cost = fmin(p->so_far.cost, m->cost);
    return 1;
}

double perp__same_cost(const perp__problem *p, double least)
{
    double dof = fmax(1, (double)(p->n - p->np));
    return PERP_SAME_COST * least / dof + PERP_SAME_COST_ROUNDED * least / dof +
           PERP_SAME_COST_LEAST * dof;
}

int perp__agreeing(const perp__problem *p, const perp_identification *result, double least)
{
    int n = 0;
    for (int k = 0; k < result->nstart; k++)
        n +=
            result->start[k].searched && result->start[k].cost <= least + perp__same_cost(p, least);
    return n;
}

static void search_all(const perp__study *s, perp__problem *p, perp__minimum *m,
                       perp__minimum *best, perp_identification *result)
{
    int most = SEARCHES + affordable(s, MORE);
    look_at_points(s, p, m, result);
    int first = best_untouched(result);
    if (first < 0) return;
    perp__to_z(p, result->start[first].from, m->z);
    if (!p->fixed_width && isfinite(perp__cost_at(p, m->z, m->residual))) perp__choose_width(p, m);
    for (int i = 0, k; i < most && (k = best_untouched(result)) >= 0; i++) {
        search_from(s, p, m, &result->start[k]);
        keep_better(p, m, best);
        if (perp__agreeing(p, result, best->cost) >= AGREE) break;
    }
}

/* A random number in [-1, 1). */
static double draw(uint64_t *state)
{
    *state += PERP__RANDOM_STEP;
    return (double)(perp__mixed(*state) >> 11) / 4503599627370496.0 - 1;
}

/* A best that one search alone found, since the others ended on flat places: do searches from
 * beside it come back to it? */
static int search_beside(const perp__study *s, perp__problem *p, perp__minimum *m,
                         perp__minimum *best, perp_identification *result)
{
    uint64_t state = 2;
    for (int k = 0; k < BESIDE && perp__agreeing(p, result, best->cost) == 1; k++) {
        perp_fit_start *start = add_start(s, result);
        if (!start) return 0;
        for (int i = 0; i < p->np; i++) m->z[i] = fmin(fmax(best->z[i] + 0.1 * draw(&state), 0), 1);
        perp__to_theta(p, m->z, start->from);
        search_from(s, p, m, start);
        keep_better(p, m, best);
    }
    return 1;
}

/* The first value of parameter i (in z) on the way to `end` where the cost is not what it is at the
 * best; NaN: there is none. */
static double find_edge(perp__problem *p, const perp__minimum *best, int i, double end, double *z)
{
    double same = best->cost + perp__same_cost(p, best->cost), inside = best->z[i], outside = end;
    memcpy(z, best->z, (size_t)p->np * sizeof(double));
    z[i] = end;
    if (perp__cost_at(p, z, p->trial) <= same) return NAN;
    for (int k = 0; k < 20; k++) {
        z[i] = 0.5 * (inside + outside);
        if (perp__cost_at(p, z, p->trial) <= same)
            inside = z[i];
        else
            outside = z[i];
    }
    return outside;
}

/* A parameter on which nothing depends here (a contact sticks) has an edge behind which something
 * does, and the best point may lie there. So searches start just behind it. */
static int cross_edges(const perp__study *s, perp__problem *p, perp__minimum *m,
                       perp__minimum *best)
{
    double z[PERP_IDENTIFY_MOST_PARAMETERS];
    int better = 0;
    perp__look_narrow(p);
    if (s->options.max_iter == 0 || !isfinite(best->cost) ||
        !perp__differentiate(p, best, best->jacobian))
        return 0;
    for (int k = 0; k < 2 * p->np && !better; k++) {
        if (!perp__changes_nothing(p, best, k / 2)) continue;
        double edge = find_edge(p, best, k / 2, k % 2, z);
        if (isnan(edge)) continue;
        z[k / 2] = edge;
        memcpy(m->z, z, (size_t)p->np * sizeof(double));
        minimise(s, p, m);
        double dof = fmax(1, (double)(p->n - p->np)), told = 4 * best->cost / dof;
        better = m->cost < best->cost - told && keep_better(p, m, best);
    }
    return better;
}

/* If the cost jumps, each sequence of contacts has a valley of its own, and better ones lie near
 * the best point. So searches start from random points near it, ever nearer, until a fixed number
 * in a row found none. */
static void hop(const perp__study *s, perp__problem *p, perp__minimum *m, perp__minimum *best)
{
    uint64_t state = 1;
    int np = p->np, tries = HOPS * np, most = s->options.max_iter;
    long last = p->so_far.evaluations + affordable(s, HOPPING) * np;
    perp__look_narrow(p);
    if (most == 0 || !isfinite(best->cost)) return;
    for (int k = 0; k < tries && p->so_far.evaluations < last && p->status == PERP_OK; k++) {
        double share = 0.2 * pow(0.02, (double)(k % tries) / tries);
        for (int i = 0; i < np; i++) m->z[i] = fmin(fmax(best->z[i] + share * draw(&state), 0), 1);
        perp__minimise(p, m, most < HOP_STEPS ? most : HOP_STEPS, s->options.tol);
        int is_better = m->cost < best->cost - perp__same_cost(p, best->cost);
        if (keep_better(p, m, best) && is_better) k = -1;
    }
    memcpy(m->z, best->z, (size_t)np * sizeof(double)); /* it may have been cut short */
    minimise(s, p, m);
    best->is_cut = m->is_cut;
    keep_better(p, m, best);
}

perp_status perp__stopped(const perp__study *s)
{
    return perp__refuse(s->diag, PERP_ERR_STOPPED, perp__in(NULL),
                        "interrupted before any point had a fit\n");
}

perp_status perp__search(const perp__study *s, perp__problem *p, perp__minimum *best,
                         perp_identification *result)
{
    perp__minimum m = {0};
    int n = number_of_starts(s);
    int ok = allocate_starts(s, result, n) && perp__minimum_allocate(&m, p);
    if (ok) search_all(s, p, &m, best, result);
    int jumps = perp__looks_wide(p);
    if (ok && !jumps && n > 1 && s->options.max_iter > 0)
        ok = search_beside(s, p, &m, best, result);
    if (ok && jumps) hop(s, p, &m, best);
    if (ok && jumps && cross_edges(s, p, &m, best)) hop(s, p, &m, best);
    perp__look_narrow(p);
    int known = !ok || !isfinite(best->cost) || perp__differentiate(p, best, best->jacobian);
    perp__minimum_free(&m);
    if (!ok || p->status == PERP_ERR_MEMORY) return PERP_ERR_MEMORY;
    if (p->status == PERP_ERR_UNAVAILABLE) return p->status; /* another process has ended */
    result->interrupted = p->status == PERP_ERR_STOPPED;
    if (known || result->interrupted) return PERP_OK;
    return perp__refuse(s->diag, PERP_ERR_NO_SOLUTION, perp__in(perp_model_file(s->model)),
                        "the model has a solution at the estimate, but not beside it: how well "
                        "the parameters are known cannot be said\n");
}
