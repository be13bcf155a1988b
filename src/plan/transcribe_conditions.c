/* From the plan block to the program: ranges, conditions at nodes, costs. A condition on one
 * unknown becomes its bound, so that a value that is given is no unknown at all; others become
 * rows. */

#include "base/tol.h"
#include "plan/transcribe.h"

#include <math.h>

static void set_range(perp__program *g, int j, double lo, double hi)
{
    for (int k = 0; k < g->K; k++) {
        g->bound.wlo[(size_t)j * (size_t)g->K + (size_t)k] = lo;
        g->bound.whi[(size_t)j * (size_t)g->K + (size_t)k] = hi;
    }
}

/* A range that is written in the block. One that is not (-1) leaves lo and hi. */
static void read_range(perp__transcriber *t, int at, perp_expr lo_e, perp_expr hi_e, double *lo,
                       double *hi)
{
    if (lo_e < 0) return;
    *lo = perp__plan_number(t, lo_e);
    *hi = perp__plan_number(t, hi_e);
    if (isnan(*lo) || isnan(*hi))
        perp__plan_error(t, at, "a range must be of numbers that the plan does not choose");
    else if (*lo > *hi)
        perp__plan_error(t, at, "there is nothing in the range from %g to %g", *lo, *hi);
}

/* The same for a length of time. */
static void read_length(perp__transcriber *t, int at, perp_expr lo_e, perp_expr hi_e, double *lo,
                        double *hi)
{
    int errors = t->errors;
    read_range(t, at, lo_e, hi_e, lo, hi);
    *lo = fmax(*lo, 0);
    if (t->errors == errors && !(*hi > 0)) perp__plan_error(t, at, "a horizon must be positive");
}

static void range_of_point(perp__transcriber *t, int c)
{
    perp__program *g = t->program;
    const perp_model *m = t->model;
    int first = c * g->nb;
    for (int i = 0; i < g->ns; i++)
        set_range(g, first + i, m->item[PERP_STATE][i].lo, m->item[PERP_STATE][i].hi);
    for (int i = 0; i < g->nv; i++)
        set_range(g, first + g->nx + i, m->item[PERP_VAR][i].lo, m->item[PERP_VAR][i].hi);
    for (int i = 0; i < g->nsplit; i++) set_range(g, first + g->nx + g->nv + i, 0, INFINITY);
    for (int i = 0; i < g->corner.most; i++) set_range(g, first + g->corner.first + i, 0, 0);
    for (int i = 0; i < g->nu; i++) {
        const perp__item *item = &m->item[PERP_INPUT][g->input_item[i]];
        double lo = item->lo, hi = item->hi;
        for (int k = 0; k < t->block->nfree; k++) {
            const perp__plan_free *f = &t->block->free_[k];
            if (f->kind == PERP_INPUT && f->item == g->input_item[i])
                read_range(t, f->at, f->lo, f->hi, &lo, &hi);
        }
        if (g->held && c < g->npoint - 1) lo = hi = 0; /* no unknown */
        set_range(g, first + g->nx + g->nv + g->nsplit + i, lo, hi);
        if (g->nx > g->ns) set_range(g, first + g->ns + i, -INFINITY, INFINITY);
    }
}

/* The range of a free parameter or initial state: given with `free`, else the declaration's. */
static void range_of_free(perp__transcriber *t, perp_symbol_kind kind, int item, double *lo,
                          double *hi)
{
    *lo = t->model->item[kind][item].lo;
    *hi = t->model->item[kind][item].hi;
    for (int k = 0; k < t->block->nfree; k++) {
        const perp__plan_free *f = &t->block->free_[k];
        if (f->kind == kind && f->item == item) read_range(t, f->at, f->lo, f->hi, lo, hi);
    }
}

/* The length of a named phase: given, or its range. */
static void range_of_phase(perp__transcriber *t, int q, double *lo, double *hi)
{
    const perp__plan_phase *phase = &t->block->phase[q];
    if (phase->is_free) {
        read_length(t, phase->horizon_at, phase->lo, phase->hi, lo, hi);
        return;
    }
    *lo = *hi = perp__plan_number(t, phase->horizon);
    if (!(*lo > 0 && isfinite(*lo)))
        perp__plan_error(t, phase->horizon_at, "the length of phase '%s' must be a positive number",
                         phase->name);
}

/* Lengths of phases, and of the whole. */
/* A run between switches is at least this part of what it was when they were found: shorter, it
 * would be lost. */
static const double LEAST_RUN = 0.2;

static void range_of_horizon(perp__transcriber *t)
{
    perp__program *g = t->program;
    double lo = 0, hi = INFINITY;
    read_length(t, t->block->horizon_at, t->block->horizon_lo, t->block->horizon_hi, &lo, &hi);
    if (t->block->horizon >= 0 && !t->block->is_free) lo = hi = g->horizon;
    int is_sum = g->phase.nrun > 1 || g->phase.named;
    for (int q = 0; q < g->phase.nrun; q++) {
        double *least = &g->bound.plo[g->phase.run_p + q],
               *most = &g->bound.phi[g->phase.run_p + q];
        *least = is_sum ? 0 : lo;
        *most = hi;
        for (int k = g->phase.first[q]; k < g->phase.first[q + 1] && g->mesh.nrun; k++)
            *least += LEAST_RUN * g->mesh.length[k];
        if (g->phase.named) range_of_phase(t, q, least, most);
    }
    if (is_sum && (lo > 0 || isfinite(hi))) { /* their sum, as a row of the last step */
        perp_expr sum = perp__const(t->graph, 0);
        for (int q = 0; q < g->phase.nrun; q++)
            sum = perp__add(t->graph, sum,
                            perp__symbol(t->graph, g->nx + g->nw + g->phase.run_p + q));
        int row = perp__add_row(t, sum, -INFINITY, INFINITY, "horizon", t->block->horizon_at, -1);
        if (row < 0) return;
        g->bound.rlo[(size_t)(row + 1) * (size_t)g->K - 1] = lo;
        g->bound.rhi[(size_t)(row + 1) * (size_t)g->K - 1] = hi;
    }
}

void perp__transcribe_ranges(perp__transcriber *t)
{
    perp__program *g = t->program;
    for (int c = 0; c < g->npoint && !t->errors; c++) range_of_point(t, c);
    if (t->errors) return;
    range_of_horizon(t);
    for (int i = 0; i < g->param.n; i++)
        range_of_free(t, PERP_PARAM, g->param.item[i], &g->bound.plo[g->param.p + i],
                      &g->bound.phi[g->param.p + i]);
    for (int i = g->initial.distant; i < g->np; i++) {
        g->bound.plo[i] = -INFINITY;
        g->bound.phi[i] = INFINITY;
    }
    for (int i = 0; i < g->start.n; i++) {
        int of = g->start.item[i], is_input = of >= g->ns;
        range_of_free(t, is_input ? PERP_INPUT : PERP_STATE,
                      is_input ? g->input_item[of - g->ns] : of, &g->bound.plo[g->start.p + i],
                      &g->bound.phi[g->start.p + i]);
    }
}

/* Conditions ---------------------------------------------------------------------------------- */

int perp__plan_may_be_missed(const perp__plan_condition *c)
{
    return c->where != PLAN_ALWAYS && (c->where != PLAN_START || c->phase > 0);
}

/* The step whose end stands at a time, within first .. last - 1, or first - 1; -2 with an error. */
static int step_at_time(perp__transcriber *t, const perp__plan_condition *c, double time, int first,
                        int last)
{
    const perp__program *g = t->program;
    double slack = PERP_TOL_WHOLE * (1 + fabs(time));
    for (int q = 0; q < g->phase.nrun; q++) {
        if (g->bound.plo[g->phase.run_p + q] == g->bound.phi[g->phase.run_p + q]) continue;
        perp__plan_error(t, c->at,
                         "the horizon is free, so no node stands at a given time; write "
                         "'at 50%%:' for a share of the nodes");
        return -2;
    }
    for (int k = first; k < last; k++) {
        double start = perp__program_time(g, g->bound.plo, k),
               end = start + perp__program_step(g, g->bound.plo, k);
        if (fabs(start - time) <= slack) return k - 1;
        if (fabs(end - time) <= slack) return k;
        if (!(time > start && time < end)) continue;
        perp__plan_error(t, c->at,
                         "t = %g is between two nodes; choose the nodes so that it is one", time);
        return -2;
    }
    return last;
}

/* The step whose end is the node at a share of those that were asked for, within first .. last - 1,
 * or first - 1. */
static double step_at_share(const perp__program *g, double share, int first, int last)
{
    const int *of = g->mesh.first;
    int from = 0, to = g->mesh.base;
    while (of[from] < first) from++;
    while (of[to] > last) to--;
    double node = from + floor(share * (to - from) + 0.5);
    if (node >= from && node <= to) return of[(int)node] - 1;
    if (node < from) return first - 2;
    return last;
}

/* The step whose end a condition is about, of steps first .. last - 1; -1 with an error. */
static int step_of(perp__transcriber *t, const perp__plan_condition *c, int first, int last)
{
    if (c->where == PLAN_END) return last - 1;
    double place = perp__plan_number(t, c->place), step;
    if (isnan(place)) {
        perp__plan_error(
            t, c->at, "the place of '%s' must be a number that the plan does not choose", c->text);
        return -1;
    }
    if (c->where == PLAN_SHARE)
        step = step_at_share(t->program, place / 100, first, last);
    else
        step = step_at_time(t, c, place, first, last);
    if (step >= first && step < last) return (int)step;
    if (step != -2) {
        const char *reason = "this is outside the phase";
        if (step == first - 1)
            reason = "this is the start: write 'at start:'";
        else if (c->phase < 0)
            reason = "this is outside the horizon";
        perp__plan_error(t, c->at, "%s", reason);
    }
    return -1;
}

static void intersect(perp__transcriber *t, const perp__plan_condition *c, double *wlo, double *whi,
                      double lo, double hi)
{
    double slack = PERP_TOL_SAME * (1 + fabs(lo));
    if (lo == hi && lo >= *wlo - slack && lo <= *whi + slack) {
        *wlo = *whi = lo;
        return;
    }
    if (lo > *wlo) *wlo = lo;
    if (hi < *whi) *whi = hi;
    if (!(*wlo <= *whi))
        perp__plan_error(t, c->at,
                         "'%s' contradicts a range or another condition: it leaves "
                         "nothing between %g and %g",
                         c->text, *wlo, *whi);
}

/* Is e an unknown of the step, or a state of the step before (then *before is 1)? Its index in w,
 * or -1. */
static int unknown_index(const perp__transcriber *t, perp_expr e, int *before)
{
    const perp__program *g = t->program;
    const perp__node *node = &t->graph->node[e];
    *before = node->op == PERP__SYMBOL && node->a < g->nx;
    if (*before) return (g->npoint - 1) * g->nb + node->a;
    return node->op == PERP__SYMBOL && node->a < g->nx + g->nw ? node->a - g->nx : -1;
}

static int is_begin(const perp__transcriber *t)
{
    return t->reading == PERP__AT_START || t->reading == PERP__AT_BEGIN;
}

/* Remember which condition a bound is of. */
static void note_bounded(perp__transcriber *t, perp__plan_bounded bounded)
{
    perp__program *g = t->program;
    if (perp__arena_grow(&g->arena, &g->has.bounded, &g->has.cbounded, g->has.nbounded + 1,
                         sizeof *g->has.bounded))
        g->has.bounded[g->has.nbounded++] = bounded;
    else
        t->failed = 1;
}

/* A row of steps first .. last - 1. */
static void add_general(perp__transcriber *t, const perp__plan_condition *c, int index, perp_expr e,
                        double lo, double hi, int first, int last)
{
    perp__program *g = t->program;
    int row = perp__add_row(t, e, lo, hi, c->text, c->at, index);
    if (row >= 0) g->row[row].is_begin = (char)is_begin(t);
    for (int k = 0; k < g->K && row >= 0; k++) {
        if (k >= first && k < last) continue;
        g->bound.rlo[(size_t)row * (size_t)g->K + (size_t)k] = -INFINITY;
        g->bound.rhi[(size_t)row * (size_t)g->K + (size_t)k] = INFINITY;
    }
}

/* A condition at a node that may be missed: e + unit (below - above), at a price of below +
 * above. */
static perp_expr soften(perp__transcriber *t, perp_expr e, int index, int step)
{
    perp__program *g = t->program;
    perp__graph *graph = t->graph;
    int at = g->soft.w + 2 * g->soft.n;
    if (g->soft.n && g->soft.condition[g->soft.n - 1] == index) at -= 2; /* its other bound */
    perp_expr below = perp__symbol(graph, g->nx + at), above = perp__symbol(graph, g->nx + at + 1);
    if (at == g->soft.w + 2 * g->soft.n) {
        g->soft.condition[g->soft.n] = index;
        g->soft.step[g->soft.n++] = step;
        g->bound.whi[(size_t)at * (size_t)g->K + (size_t)step] = INFINITY;
        g->bound.whi[(size_t)(at + 1) * (size_t)g->K + (size_t)step] = INFINITY;
        t->cost = perp__add(graph, t->cost, perp__add(graph, below, above));
    }
    perp_expr unit = perp__const(graph, t->miss ? t->miss[index] : 1);
    return perp__add(graph, e, perp__mul(graph, unit, perp__sub(graph, below, above)));
}

/* lo <= e <= hi by numbers at steps first .. last - 1: a bound where e is an unknown, else a
 * row. */
static void add_numbers(perp__transcriber *t, const perp__plan_condition *c, int index, perp_expr e,
                        double lo, double hi, int first, int last)
{
    perp__program *g = t->program;
    int before, j = unknown_index(t, e, &before);
    if (before && first == 0) j = -1; /* an initial state */
    if (g->nw > g->soft.w && perp__plan_may_be_missed(c)) {
        e = soften(t, e, index, first);
        j = -1;
    }
    if (j < 0) {
        add_general(t, c, index, e, lo, hi, first, last);
        return;
    }
    for (int k = first; k < last; k++) {
        size_t at = (size_t)j * (size_t)g->K + (size_t)(k - before);
        int errors = t->errors;
        intersect(t, c, &g->bound.wlo[at], &g->bound.whi[at], lo, hi);
        if (t->errors > errors) return;
    }
    note_bounded(t, (perp__plan_bounded){.condition = index,
                                         .w = j,
                                         .p = -1,
                                         .first = first - before,
                                         .last = last - before,
                                         .lo = lo,
                                         .hi = hi});
}

/* A condition whose corners are unknowns, each of its sides by itself. Returns 0: it has none that
 * may be. */
static int add_lifted(perp__transcriber *t, const perp__plan_condition *c, int index, perp_expr e,
                      const perp_expr *side, const double *bound, int point, int first, int last)
{
    perp_expr of[2] = {-1, -1};
    int found = 0;
    for (int k = 0; k < 2 && t->program->corner.most > 0 && c->lo != c->hi; k++) {
        if (side[k] < 0) continue;
        perp_expr whole = isnan(bound[k]) ? perp__sub(t->graph, e, side[k]) : e;
        of[k] = perp__lift_corners(t, whole, k ? 1 : -1, c->text, c->at, point, first, last);
        found |= of[k] != whole;
    }
    for (int k = 0; k < 2 && found && !t->errors; k++) {
        double at = isnan(bound[k]) ? 0 : bound[k];
        if (side[k] >= 0)
            add_numbers(t, c, index, of[k], k ? (double)-INFINITY : at, k ? at : (double)INFINITY,
                        first, last);
    }
    return found;
}

/* lo <= e <= hi at a point of steps first .. last - 1, with the map set. */
static void add_condition(perp__transcriber *t, const perp__plan_condition *c, int index, int point,
                          int first, int last)
{
    perp__program *g = t->program;
    perp__graph *graph = t->graph;
    perp_expr e = perp__translate(t, c->e), side[2] = {-1, -1};
    double bound[2] = {-INFINITY, INFINITY};
    int numbers = 1;
    for (int k = 0; k < 2; k++) {
        perp_expr given = k ? c->hi : c->lo;
        if (given < 0) continue;
        side[k] = perp__translate(t, given);
        bound[k] = perp__plan_number(t, given);
        if (isnan(bound[k])) numbers = 0;
    }
    if (add_lifted(t, c, index, e, side, bound, point, first, last)) return;
    if (numbers) {
        add_numbers(t, c, index, e, bound[0], bound[1], first, last);
        return;
    }
    if (g->nw > g->soft.w && perp__plan_may_be_missed(c)) e = soften(t, e, index, first);
    if (c->lo == c->hi) {
        add_general(t, c, index, perp__sub(graph, e, side[0]), 0, 0, first, last);
    } else {
        if (side[0] >= 0)
            add_general(t, c, index, perp__sub(graph, e, side[0]), 0, INFINITY, first, last);
        if (side[1] >= 0)
            add_general(t, c, index, perp__sub(graph, side[1], e), 0, INFINITY, first, last);
        if (side[1] >= 0 && !t->failed) g->row[g->nrow - 1].is_upper = 1;
    }
}

/* At the start: conditions that fix a state were read with the layout. A range of a free one
 * narrows its bounds. The rest are rows of the first step. */
static void add_start(perp__transcriber *t, const perp__plan_condition *c, int index)
{
    perp__program *g = t->program;
    const perp__node *node = &t->model->graph.node[c->e];
    double lo = c->lo >= 0 ? perp__plan_number(t, c->lo) : (double)-INFINITY,
           hi = c->hi >= 0 ? perp__plan_number(t, c->hi) : (double)INFINITY;
    for (int i = 0; i < g->ns && node->op == PERP__SYMBOL && !isnan(lo) && !isnan(hi); i++) {
        if (node->a != t->model->item[PERP_STATE][i].symbol) continue;
        if (g->initial.p[i] >= 0)
            intersect(t, c, &g->bound.plo[g->initial.p[i]], &g->bound.phi[g->initial.p[i]], lo, hi);
        else if (!(g->initial.x[i] >= lo && g->initial.x[i] <= hi))
            perp__plan_error(t, c->at, "'%s' contradicts another condition at the start", c->text);
        note_bounded(
            t,
            (perp__plan_bounded){
                .condition = index, .w = -1, .p = g->initial.p[i], .state = i, .lo = lo, .hi = hi});
        return;
    }
    add_condition(t, c, index, t->program->npoint - 1, 0, 1);
}

/* Does everything in the condition have a value at the present instant? */
static int is_meant(perp__transcriber *t, const perp__plan_condition *c)
{
    return perp__instant_has(&t->at, t->map, c->e) &&
           (c->lo < 0 || perp__instant_has(&t->at, t->map, c->lo)) &&
           (c->hi < 0 || perp__instant_has(&t->at, t->map, c->hi));
}

/* A condition without `at`, where phases begin: there it is of states, and inputs that have a
 * value, but not of the step. */
static void add_where_phases_begin(perp__transcriber *t, const perp__plan_condition *c, int index)
{
    perp__program *g = t->program;
    perp__set_instant(t, PERP__AT_BEGIN, 0);
    g->has.first[index] = (char)is_meant(t, c);
    for (int q = 0; q < g->phase.n && !t->failed; q++) {
        if (!perp__program_holds_first(g, index, q)) continue;
        if (q == 0)
            add_start(t, c, index);
        else
            add_condition(t, c, index, g->npoint - 1, g->phase.first[q], g->phase.first[q] + 1);
    }
}

/* Initial values that follow free parameters. Those that do not are within the range of the
 * state. */
static void add_initial_values(perp__transcriber *t)
{
    const perp__program *g = t->program;
    for (int i = 0; i < g->ns && !t->failed; i++) {
        const perp__item *item = &t->model->item[PERP_STATE][i];
        perp__plan_condition c = {.text = item->name, .at = item->at};
        perp_expr x = perp__symbol(t->graph, i);
        if (g->initial.p[i] < 0 && !(g->initial.x[i] >= item->lo && g->initial.x[i] <= item->hi))
            perp__plan_error(t, item->at, "'%s' begins at %g, outside of its range", item->name,
                             g->initial.x[i]);
        else if (g->initial.p[i] >= 0 && g->initial.given[i])
            add_general(t, &c, PERP__OF_START, perp__sub(t->graph, x, t->initial[i]), 0, 0, 0, 1);
    }
}

/* What a link gives is within the state's range, too. */
static void add_ranges_behind_links(perp__transcriber *t)
{
    const perp__program *g = t->program;
    for (int j = 0; j < t->block->nlink && !t->failed; j++) {
        const perp__plan_link *link = &t->block->link[j];
        const perp__item *item = &t->model->item[PERP_STATE][link->state];
        perp__plan_condition c = {.text = item->name, .at = link->at};
        int first = g->phase.first[link->phase];
        if (isfinite(item->lo) || isfinite(item->hi))
            add_general(t, &c, -1, t->at.before[link->state], item->lo, item->hi, first, first + 1);
    }
}

/* The plan ends before a table does. */
static void add_ends_of_tables(perp__transcriber *t)
{
    const perp__program *g = t->program;
    for (int i = 0; i < t->model->nitem[PERP_INPUT] && !t->failed; i++) {
        const perp__item *item = &t->model->item[PERP_INPUT][i];
        if (!item->table.n || perp__program_input(g, i) >= 0) continue;
        double last = item->table.time[item->table.n - 1],
               end = perp__program_time(g, g->bound.plo, g->K - 1) +
                     perp__program_step(g, g->bound.plo, g->K - 1);
        perp__plan_condition c = {.text = item->name, .at = item->at};
        if (end > last + PERP_TOL_WHOLE * (last - item->table.time[0]))
            perp__plan_error(t, item->at, "the table of '%s' ends at t = %g, the plan at %g",
                             item->name, last, end);
        else if (g->phase.nrun)
            add_general(t, &c, -1, t->at.time[g->npoint - 1], -INFINITY, last, g->K - 1, g->K);
    }
}

/* What start(..) and end(..) of states are. */
static void add_distant_states(perp__transcriber *t)
{
    const perp__program *g = t->program;
    for (int i = 0; i < t->block->distant.n && !t->failed; i++) {
        const perp__plan_distant *d = &t->block->distant.of[i];
        const perp__item *item = &t->model->item[PERP_STATE][d->state];
        perp__plan_condition c = {.text = item->name, .at = item->at};
        perp_expr x = d->is_end ? t->at.state[(g->npoint - 1) * g->ns + d->state]
                                : perp__symbol(t->graph, d->state),
                  e = perp__sub(t->graph, x, t->at.known[d->symbol]);
        int k = d->is_end ? g->K - 1 : 0;
        add_general(t, &c, -1, e, 0, 0, k, k + 1);
    }
}

void perp__transcribe_conditions(perp__transcriber *t)
{
    const perp__program *g = t->program;
    add_distant_states(t);
    add_initial_values(t);
    add_ranges_behind_links(t);
    add_ends_of_tables(t);
    for (int i = 0; i < t->block->ncondition && !t->failed && t->errors < 10; i++) {
        const perp__plan_condition *c = &t->block->condition[i];
        int start = c->where == PLAN_START, always = c->where == PLAN_ALWAYS;
        int first = c->phase < 0 ? 0 : g->phase.first[c->phase],
            last = c->phase < 0 ? g->K : g->phase.first[c->phase + 1];
        for (int point = always || start ? 0 : g->npoint - 1; point < g->npoint; point++) {
            perp__set_instant(t, start ? PERP__AT_START : PERP__AT_ROW, point);
            if (!is_meant(t, c)) {
                perp__plan_error(t, c->at, "%s", PERP__NOT_AT_START);
                break;
            }
            if (start && first == 0) {
                add_start(t, c, i);
                break;
            }
            int step;
            if (start)
                step = first;
            else if (always)
                step = -1;
            else
                step = step_of(t, c, first, last);
            if (always)
                add_condition(t, c, i, point, first, last);
            else if (step >= 0)
                add_condition(t, c, i, start ? g->npoint - 1 : point, step, step + 1);
            if (start) break;
        }
        if (always && !t->errors) add_where_phases_begin(t, c, i);
    }
}

/* Costs --------------------------------------------------------------------------------------- */

/* A power of the plan's length, or the phase's. */
static void add_power_of_time(perp__transcriber *t, const perp__plan_cost *cost, double weight)
{
    perp__program *g = t->program;
    perp__graph *graph = t->graph;
    double power = cost->e < 0 ? 1 : perp__plan_number(t, cost->e);
    perp_expr length = perp__const(graph, 0);
    if (isnan(power)) {
        perp__plan_error(t, cost->at,
                         "a power of time must be a number that the plan does not choose");
        return;
    }
    if (!g->phase.nrun) g->cost.fixed += weight * pow(g->horizon, power);
    for (int q = 0; q < g->phase.nrun; q++) {
        if (cost->phase >= 0 && cost->phase != q) continue;
        if (power == 1) g->cost.time[g->phase.run_p + q] += weight;
        length = perp__add(graph, length, perp__symbol(graph, g->nx + g->nw + g->phase.run_p + q));
    }
    if (power == 1 || !g->phase.nrun) return;
    perp_expr e = perp__binary(graph, PERP__POW, length, perp__const(graph, power)),
              end = perp__mul(graph, perp__const(graph, weight), perp__symbol(graph, g->sym.end));
    t->cost = perp__add(graph, t->cost, perp__mul(graph, end, e));
}

/* factor times the cost's expression at the instant that was set last, a point of steps first ..
 * last - 1; weight: a number of its sign. */
static void add_cost(perp__transcriber *t, const perp__plan_cost *cost, perp_expr factor,
                     double weight, int point, int first, int last)
{
    perp_expr e = perp__translate_at(t, cost->e, cost->at);
    e = perp__lift_corners(t, e, weight, "minimize", cost->at, point, first, last);
    t->cost = perp__add(t->graph, t->cost, perp__mul(t->graph, factor, e));
}

/* What is minimised at a node. Its step is marked by the next of the marks. */
static void add_cost_at(perp__transcriber *t, const perp__plan_cost *cost, double weight, int *next)
{
    perp__program *g = t->program;
    int is_start = cost->where == PLAN_START,
        first = cost->phase < 0 ? 0 : g->phase.first[cost->phase],
        last = cost->phase < 0 ? g->K : g->phase.first[cost->phase + 1];
    perp__plan_condition c = {.phase = cost->phase,
                              .where = cost->where,
                              .place = cost->place,
                              .at = cost->at,
                              .text = "at"};
    int step = is_start ? first : step_of(t, &c, first, last);
    if (step < 0) return;
    perp__set_instant(t, is_start ? PERP__AT_START : PERP__AT_ROW, g->npoint - 1);
    perp_expr w = perp__mul(t->graph, perp__const(t->graph, weight),
                            perp__symbol(t->graph, g->sym.mark + *next));
    g->cost.mark[(*next)++] = step;
    add_cost(t, cost, w, weight, g->npoint - 1, step, step + 1);
}

static void add_end(perp__transcriber *t, const perp__plan_cost *cost, double weight)
{
    const perp__program *g = t->program;
    perp__set_instant(t, PERP__AT_ROW, g->npoint - 1);
    int end = cost->phase < 0 ? g->sym.end : g->sym.last + cost->phase,
        last = cost->phase < 0 ? g->K : g->phase.first[cost->phase + 1];
    perp_expr w = perp__mul(t->graph, perp__const(t->graph, weight), perp__symbol(t->graph, end));
    add_cost(t, cost, w, weight, g->npoint - 1, last - 1, last);
}

static void add_integral(perp__transcriber *t, const perp__plan_cost *cost, double weight)
{
    const perp__program *g = t->program;
    perp__graph *graph = t->graph;
    int first = cost->phase < 0 ? 0 : g->phase.first[cost->phase],
        last = cost->phase < 0 ? g->K : g->phase.first[cost->phase + 1];
    perp_expr w = perp__mul(graph, perp__const(graph, weight), t->at.h);
    if (cost->phase >= 0) w = perp__mul(graph, w, perp__symbol(graph, g->sym.in + cost->phase));
    for (int c = 0; c < g->npoint && !t->errors; c++) {
        perp__set_instant(t, g->scheme.theta < 1 ? PERP__AT_WEIGHTED : PERP__AT_ROW, c);
        perp_expr part = perp__mul(graph, perp__const(graph, g->scheme.b[c]), w);
        add_cost(t, cost, part, g->scheme.b[c] * weight, c, first, last);
    }
}

void perp__transcribe_costs(perp__transcriber *t)
{
    const perp__program *g = t->program;
    int next = 0;
    for (int i = 0; i < t->block->ncost && !t->failed && g->nw == g->soft.w; i++) {
        const perp__plan_cost *cost = &t->block->cost[i];
        double weight = perp__plan_number(t, cost->weight);
        if (isnan(weight)) {
            perp__plan_error(t, cost->at,
                             "a weight in 'minimize' must be a number that the "
                             "plan does not choose");
            return;
        }
        switch (cost->kind) {
        case PLAN_COST_TIME: add_power_of_time(t, cost, weight); break;
        case PLAN_COST_INTEGRAL: add_integral(t, cost, weight); break;
        case PLAN_COST_END: add_end(t, cost, weight); break;
        case PLAN_COST_AT: add_cost_at(t, cost, weight, &next); break;
        }
    }
}
