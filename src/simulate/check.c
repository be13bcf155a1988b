/* perp_check: what can be said about a model without running it. */

#include "base/tol.h"
#include "model/inspect.h"
#include "simulate/starts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_UNIQUE = 12 };

/* Has one weighed sum of two gaps the same value, not 0, whatever moves, as that of two stops of
 * one piston does? Then they are never 0 at once. Two points give the weight, a third one shows
 * that the sum is no other there: gaps that are looked at are affine. Returns -1: memory. */
static int are_apart(const perp_model *m, perp_expr g, perp_expr k)
{
    enum { POINTS = 3 };
    double *symbol = malloc(((size_t)m->nsymbol + 1) * sizeof *symbol), a[POINTS], b[POINTS];
    int ok = symbol != NULL;
    for (int point = 0; ok && point < POINTS; point++) {
        for (int i = 0; i < m->nsymbol; i++) /* without a pattern */
            symbol[i] = 1 + fmod(0.7548776662 * (i + 1) + 0.5698402910 * point * (i + 2), 1);
        for (int i = 0; i < m->nitem[PERP_PARAM]; i++)
            symbol[m->item[PERP_PARAM][i].symbol] = m->item[PERP_PARAM][i].value;
        ok = perp__graph_value(&m->graph, g, symbol, &a[point]) &&
             perp__graph_value(&m->graph, k, symbol, &b[point]);
    }
    free(symbol);
    if (!ok) return -1;
    double w = (a[0] - a[1]) / (b[1] - b[0]), rounding = 0, sum[POINTS];
    for (int point = 0; point < POINTS; point++) {
        sum[point] = a[point] + w * b[point];
        rounding = fmax(rounding, PERP_TOL_DEPENDS * (fabs(a[point]) + fabs(w * b[point])));
    }
    return fabs(sum[0]) > rounding && fabs(sum[2] - sum[0]) <= rounding;
}

/* The expression of a one-sided pair's other side; -1: it is two-sided. */
static perp_expr gap_of(const perp__pair *pair, int side)
{
    if (pair->two_sided) return -1;
    return side ? pair->a : pair->b;
}

/* Of two stops that cannot both be reached the second becomes open. Two forces that can grow
 * together without changing what they act on: M_ii d_i + M_ij d_j = 0 and M_ji d_i + M_jj d_j = 0
 * with d > 0. Two-sided friction written as two forces does so while it sticks. */
static perp_status warn_not_unique(const perp_simulation *sim, const perp__elimination *e,
                                   const double *M, char *is_open, perp__source *findings)
{
    const perp__step *s = &sim->step;
    int n = e->nz;
    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j < n; j++) {
            double a = M[i + i * n], b = M[i + j * n], c = M[j + i * n], d = M[j + j * n];
            double tol = PERP_TOL_DEPENDS * fmax(fabs(a), fabs(d));
            if (!(a > 0 && d > 0) || fabs(a * d - b * c) > tol * fmax(a, d) || !(b < 0 && c < 0))
                continue;
            const perp__pair *p = &sim->model->pair[s->layout->pair[e->pair[i]].of],
                             *q = &sim->model->pair[s->layout->pair[e->pair[j]].of];
            int side_p = e->side[e->pair[i]], side_q = e->side[e->pair[j]], apart = 0;
            const char *first = p->side[side_p], *second = q->side[side_q];
            if (!first[0] || !second[0]) continue; /* made by friction(...), no column of a run */
            perp_expr g = gap_of(p, side_p), k = gap_of(q, side_q);
            if (g >= 0 && k >= 0) apart = are_apart(sim->model, g, k);
            if (apart < 0) return PERP_ERR_MEMORY;
            if (apart) {
                is_open[s->layout->pair[e->pair[j]].of] = 1;
                continue;
            }
            perp__error(findings, p->at, p->at,
                        "warning: '%s' and '%s' can grow together without changing the motion, so "
                        "they are not unique where "
                        "both act (two-sided friction while it sticks); compare their net effect",
                        first, second);
        }
    }
    return PERP_OK;
}

/* The determinant of the rows and columns of M that are in `in`; scratch has n x n. */
static double minor(const double *M, int n, unsigned in, double *scratch)
{
    int at[MOST_UNIQUE], k = 0;
    double det = 1;
    for (int i = 0; i < n; i++)
        if (in >> i & 1) at[k++] = i;
    for (int j = 0; j < k; j++)
        for (int i = 0; i < k; i++) scratch[i + j * k] = M[at[i] + at[j] * n];
    for (int c = 0; c < k; c++) {
        int p = c;
        for (int i = c + 1; i < k; i++)
            if (fabs(scratch[i + c * k]) > fabs(scratch[p + c * k])) p = i;
        double size = 0, pivot = scratch[p + c * k];
        for (int i = 0; i < k; i++) size = fmax(size, fabs(M[at[i] + at[c] * n]));
        if (!(fabs(pivot) > PERP_TOL_DEPENDS * size)) return 0;
        for (int j = 0; j < k && p != c; j++) {
            double kept = scratch[p + j * k];
            scratch[p + j * k] = scratch[c + j * k];
            scratch[c + j * k] = kept;
        }
        det *= p == c ? pivot : -pivot;
        for (int i = c + 1; i < k; i++) {
            double by = scratch[i + c * k] / pivot;
            for (int j = c; j < k; j++) scratch[i + j * k] -= by * scratch[c + j * k];
        }
    }
    return det;
}

/* Do these pairs put a two-sided one at both of its bounds? It is y - lo perp e + s and then s perp
 * hi - y. Pair i has its z, side e->side, above 0 if it is in `in`. */
static int is_at_both(const perp__step *s, const perp__elimination *e, unsigned in)
{
    const perp__layout *l = s->layout;
    for (int i = 0; i + 1 < e->nz; i++) {
        for (int j = i + 1; j < e->nz; j++) {
            int p = e->pair[i], q = e->pair[j];
            int zero_p = (in >> i & 1) ? !e->side[p] : e->side[p],
                zero_q = (in >> j & 1) ? !e->side[q] : e->side[q];
            int lower = p < q ? zero_p : zero_q, upper = p < q ? zero_q : zero_p;
            if (l->pair[p].of == l->pair[q].of && lower == 0 && upper == 1) return 1;
        }
    }
    return 0;
}

/* Do the bounds of two-sided pairs read nothing that is solved for, and does none that parameters
 * tell cross the other? Returns -1: memory. */
static int are_bounds_known(const perp_model *m)
{
    double *symbol = malloc(((size_t)m->nsymbol + 1) * sizeof *symbol), value[2];
    int known = symbol ? 1 : -1;
    for (int i = 0; symbol && i < m->nsymbol; i++) symbol[i] = NAN;
    for (int i = 0; symbol && i < m->nitem[PERP_PARAM]; i++)
        symbol[m->item[PERP_PARAM][i].symbol] = m->item[PERP_PARAM][i].value;
    for (int i = 0; i < m->npair && known > 0; i++) {
        const perp__pair *p = &m->pair[i];
        perp_expr bound[2] = {p->lo, p->hi};
        if (!p->two_sided) continue;
        int n = 0, *reach = perp__graph_reach(&m->graph, bound, 2, &n);
        if (!reach || !perp__graph_value(&m->graph, p->lo, symbol, &value[0]) ||
            !perp__graph_value(&m->graph, p->hi, symbol, &value[1]))
            known = -1;
        else if (value[0] > value[1])
            known = 0;
        for (int k = 0; reach && k < n; k++) {
            const perp__node *node = &m->graph.node[reach[k]];
            if (node->op != PERP__SYMBOL) continue;
            for (int v = 0; v < m->nitem[PERP_VAR]; v++)
                if (m->item[PERP_VAR][v].symbol == node->a) known = 0;
            for (int v = 0; v < m->nitem[PERP_STATE]; v++) {
                int offset = node->a - m->item[PERP_STATE][v].symbol;
                if (offset >= PERP__NOW && offset <= PERP__NEXT) known = 0;
            }
        }
        free(reach);
    }
    free(symbol);
    return known;
}

/* One solution whatever the data: the determinants of all cases that there are have one sign
 * (Robinson, Normal maps induced by linear transformations, Math. Oper. Res. 17, 1992). A two-sided
 * pair is two one-sided ones here, which cannot both be at their bound. -1: not known. */
static perp_status find_unique(const perp_simulation *sim, const perp__elimination *e,
                               const double *M, int *unique)
{
    const perp__step *s = &sim->step;
    double scratch[MOST_UNIQUE * MOST_UNIQUE];
    *unique = -1;
    if (s->layout->ncone || e->nz > MOST_UNIQUE) return PERP_OK;
    int known = are_bounds_known(sim->model);
    if (known < 0) return PERP_ERR_MEMORY;
    *unique = known ? 1 : -1;
    for (unsigned in = 1; in < 1u << e->nz && *unique == 1; in++)
        if (!is_at_both(s, e, in) && !(minor(M, e->nz, in, scratch) > 0)) *unique = 0;
    return PERP_OK;
}

/* If a body has more contacts than degrees of freedom, the forces are not unique: two corners of
 * one block share the friction that holds it. The solver's choice may jump from step to step. */
static perp_status warn_not_shared(const perp_simulation *sim, const char *is_open,
                                   perp__source *findings)
{
    enum { SHOWN = 4 };
    const perp_model *m = sim->model;
    char *var = malloc((size_t)m->nitem[PERP_VAR] + 1), names[256] = "";
    int count = 0, at = -1;
    size_t used = 0;
    if (!var || !perp__step_undetermined(&sim->step, is_open, var)) {
        free(var);
        return PERP_ERR_MEMORY;
    }
    for (int v = 0; v < m->nvar; v++) {
        const perp__item *item = &m->item[PERP_VAR][v];
        if (!var[v]) continue;
        if (at < 0) at = item->at;
        if (count++ < SHOWN && used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s'%s'", used ? ", " : "",
                                     item->name);
    }
    free(var);
    if (count > 1)
        perp__error(
            findings, at, at,
            "warning: %s%s are not unique where all pairs are closed and stick: how they share the "
            "load is not "
            "determined, and at rest they may jump from step to step; compare their net effect",
            names, count > SHOWN ? " and others" : "");
    return PERP_OK;
}

/* M at the initial state, and what it is. */
static perp_status check_matrix(perp_simulation *sim, perp_check_report *report,
                                perp__source *findings)
{
    perp__step *s = &sim->step;
    int bad_row;
    report->active = report->unique = -1;
    if (!s->cache.A || sim->nstep == 0) return PERP_OK;
    perp__run_begin_step(sim, sim->options.from, perp__run_time(sim, 1), sim->options.step);
    for (int i = 0; i < s->layout->ny; i++) {
        double *y = &s->ws[s->layout->sym.y + i];
        if (!isfinite(*y)) *y = 0;
    }
    const perp__elimination *e = perp__step_prepare(s, 1, &bad_row);
    perp_status status = !e && s->cache.out_of_memory ? PERP_ERR_MEMORY : PERP_OK;
    if (e) {
        const double *M = e->K + (size_t)(s->layout->ny - e->nz) * (size_t)e->nz;
        perp_lcp lcp = {e->nz, M, e->nz > 1 ? e->nz : 1, NULL, NULL, NULL};
        report->active = e->nz;
        status = perp_lcp_classify(&lcp, &report->M);
        if (status == PERP_OK) status = find_unique(sim, e, M, &report->unique);
        int before = findings->nerror;
        char *is_open = calloc((size_t)sim->model->npair + 1, 1);
        if (!is_open) status = PERP_ERR_MEMORY;
        if (status == PERP_OK) status = warn_not_unique(sim, e, M, is_open, findings);
        if (status == PERP_OK && findings->nerror == before)
            status = warn_not_shared(sim, is_open, findings);
        free(is_open);
    }
    perp__run_set_initial(sim);
    return status;
}

/* Say in which statements coefficients change, the first few. */
static void note_changing(const perp_simulation *sim, perp_diag *diag)
{
    enum { SHOWN = 5 };
    const perp__step *s = &sim->step;
    const perp_model *m = sim->model;
    const char *last = NULL;
    int row = 0, said = 0;
    for (int k = 0; k < s->layout->nentry && said <= SHOWN; k++) {
        while (s->layout->row_start[row + 1] <= s->layout->entry[k]) row++;
        int pair = -1, split = row - s->layout->nown;
        for (int p = 0; p < s->layout->np && row >= s->layout->nequation; p++) {
            if (s->layout->pair[p].a == row || s->layout->pair[p].b == row ||
                s->layout->pair[p].off == row)
                pair = s->layout->pair[p].of;
        }
        for (int i = 0; i < m->npair && row >= s->layout->nown && pair < 0; i++) {
            if (m->pair[i].two_sided && split-- == 0) pair = i;
        }
        perp_statement at = pair < 0 ? perp_model_equation(m, s->layout->marks.equation[row])
                                     : perp_model_pair(m, pair);
        if (at.text == last) continue;
        last = at.text;
        if (said++ < SHOWN)
            perp__diag_append(diag, "%s:%d:%d: coefficients change here: %s\n", at.file, at.line,
                              at.column, at.text);
        else
            perp__diag_append(diag, "%s: and in more places\n", m->source.name);
    }
}

/* Those of the conditions; the rows of exact cones repeat them. */
static void count_coefficients(const perp__step *s, perp_check_report *report)
{
    const perp__layout *l = s->layout;
    report->coefficients = l->row_start[l->ncone ? l->cone[0].row : l->nrow];
    for (int k = 0; k < l->nentry; k++) report->changing += l->entry[k] < report->coefficients;
}

/* The parameter that an expression is; NULL: it is another thing. */
static const perp__item *param_of(const perp_model *m, perp_expr e)
{
    const perp__node *node = &m->graph.node[e];
    for (int i = 0; node->op == PERP__SYMBOL && i < m->nitem[PERP_PARAM]; i++)
        if (m->item[PERP_PARAM][i].symbol == node->a) return &m->item[PERP_PARAM][i];
    return NULL;
}

static int is_rate(const perp_model *m, perp_expr e)
{
    const perp__node *node = &m->graph.node[e];
    for (int i = 0; node->op == PERP__SYMBOL && i < m->nitem[PERP_STATE]; i++)
        if (m->item[PERP_STATE][i].symbol + PERP__DER == node->a) return 1;
    return 0;
}

/* A mass below 0, m*der(v), pulls back what is pushed. */
static void inspect_masses(const perp_model *m, perp__source *findings)
{
    for (int i = 0; i < m->nequation; i++) {
        const perp__node *left = &m->graph.node[m->equation[i].left];
        if (left->op != PERP__MUL) continue;
        const perp__item *mass = NULL;
        if (is_rate(m, left->b))
            mass = param_of(m, left->a);
        else if (is_rate(m, left->a))
            mass = param_of(m, left->b);
        if (mass && mass->value < 0)
            perp__error(findings, m->equation[i].at, m->equation[i].at,
                        "warning: '%s' is %g here: a mass below 0 moves against the force",
                        mass->name, mass->value);
    }
}

/* Parameters, initial values and constant inputs outside of their ranges. */
static void inspect_ranges(const perp_model *m, perp__source *findings)
{
    for (int kind = PERP_PARAM; kind <= PERP_STATE; kind++)
        for (int i = 0; i < m->nitem[kind]; i++) {
            const perp__item *item = &m->item[kind][i];
            double value = item->value;
            if (kind == PERP_INPUT) {
                if (item->expr < 0 || m->graph.node[item->expr].op != PERP__CONST) continue;
                value = m->graph.node[item->expr].value;
            }
            if (value < item->lo || value > item->hi)
                perp__error(findings, item->at, item->end,
                            "warning: '%s' is %g here, outside of its range [%g, %g]", item->name,
                            value, item->lo, item->hi);
        }
}

/* Conditions that the initial state alone breaks, such as a body that begins inside a wall. Returns
 * 0: memory. */
static int inspect_start(const perp_simulation *sim, perp__source *findings)
{
    perp__starts starts;
    int ok = perp__starts_create(&starts, sim);
    if (ok) perp__starts_evaluate(&starts, sim->initial);
    if (ok) perp__starts_tell(&starts, 1, findings);
    perp__starts_clear(&starts);
    return ok;
}

perp_status perp_check(const perp_model *model, const perp_simulation_options *options,
                       perp_check_report *report, perp_diag *diag)
{
    if (!model || !report || !PERP__FITS(report)) return PERP_ERR_ARG;
    *report = (perp_check_report){.size = report->size, .M = {.size = sizeof report->M}};
    perp_simulation_options o = perp_simulation_options_default(model);
    if (!perp__options_take(&o, sizeof o, options)) return PERP_ERR_ARG;
    if (isnan(o.step)) o.step = 1e-3;
    if (isnan(o.to)) o.to = o.from + o.step; /* one step is all that is looked at */
    perp_simulation *sim;
    perp_status status = perp_simulation_create(model, &o, &sim, diag);
    if (status != PERP_OK) return status;

    perp__source findings = model->source;
    findings.message = NULL;
    findings.nmessage = findings.capacity = findings.nerror = 0;
    report->unknowns = sim->step.layout->ny + sim->step.layout->sym.assigned.n;
    report->equations = sim->step.layout->nequation + sim->step.layout->sym.assigned.n;
    report->pairs = sim->step.layout->np;
    report->cones = sim->step.layout->ncone;
    report->affine = !sim->step.layout->nonlinear;
    report->constant = sim->step.layout->constant;
    count_coefficients(&sim->step, report);
    perp__held held;
    int has_held = perp__find_held(model, &held);
    if (held.level > 0) report->index = held.level + 1;
    report->held_equations = held.nequation;
    report->held_pairs = held.npair;
    status = check_matrix(sim, report, &findings);
    inspect_masses(model, &findings);
    inspect_ranges(model, &findings);
    if (!has_held || !perp__inspect_units(model, &findings) ||
        !perp__inspect_domains(model, &findings) || !perp__inspect_unused(model, &findings) ||
        !inspect_start(sim, &findings) || perp__source_lost(&findings))
        status = PERP_ERR_MEMORY;
    int jump = perp__find_jump(model);
    if (jump >= 0) perp__error(&findings, jump, jump, "warning: " PERP__JUMP_CURE);
    report->warnings = findings.nerror;
    int errors = diag ? diag->errors : 0;
    note_changing(sim, diag);
    perp__source_report(&findings, diag);
    if (diag) diag->errors = errors; /* these are warnings */
    if (status == PERP_ERR_MEMORY) perp__out_of_memory(diag, model->source.name);
    perp__source_clear(&findings);
    perp_simulation_destroy(sim);
    return status;
}
