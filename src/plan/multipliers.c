/* Multipliers of conditions and parameters: derivatives of the least cost, with the present sides
 * of pairs. */

#include "plan/plan.h"

#include "base/tol.h"
#include "model/plan_block.h"

#include <math.h>
#include <string.h>

/* A condition whose multiplier times its size is so many times what the cost is over the sizes of
 * the unknowns is held back by another. */
static const double LARGE = 100;

/* A parameter is moved by this share of itself, and twice that. Its slope exists if the cost is
 * smooth: second differences grow fourfold (three times is enough), or are less than SMALL of the
 * first ones. */
static const double MOVED = 1e-3, SMALL = 1e-2, FOURFOLD = 3;

/* Multipliers ---------------------------------------------------------------------------------- */

typedef struct finding {
    const perp_plan *plan;
    const perp__program *g;
    perp__multipliers *to;
    char *owned; /* nW: the bound is a pair's or a condition's */
    double most; /* of what is held, the largest size times its multiplier */
} finding;

static size_t at(const finding *u, int j, int k)
{
    return (size_t)j * (size_t)u->g->K + (size_t)k;
}

static void add(const finding *u, int entry, int node, double x)
{
    if (entry >= 0) u->to->value[(size_t)entry * (size_t)(u->g->K + 1) + (size_t)node] += x;
}

/* The slope that a bound balances at unknown i of (w, p); 0 if it is not at its lower or upper
 * bound. */
static double held_back(finding *u, size_t i, double x, double lo, double hi)
{
    const perp__kkt *kkt = u->plan->kkt;
    double slope = kkt->slope[i], near = PERP_PLAN_AT_BOUND * kkt->extent[i];
    if (!(slope > 0 && x <= lo + near) && !(slope < 0 && x >= hi - near)) return 0;
    u->most = fmax(u->most, fabs(slope) * kkt->extent[i]);
    return slope;
}

static void add_rows(finding *u)
{
    const perp__program *g = u->g;
    for (int i = 0; i < g->nrow; i++) {
        const perp__plan_row *row = &g->row[i];
        double sign = row->is_upper ? 1 : -1;
        for (int k = 0; k < g->K && row->condition >= 0; k++) {
            double lambda = u->plan->lambda[at(u, i, k)];
            add(u, row->condition, row->is_begin ? k : k + 1, sign * lambda);
            u->most = fmax(u->most, fabs(lambda) * u->plan->kkt->reach[at(u, i, k)]);
        }
    }
}

static void add_bounded(finding *u)
{
    const perp__program *g = u->g;
    const perp_plan *plan = u->plan;
    for (int i = 0; i < g->has.nbounded; i++) {
        const perp__plan_bounded *b = &g->has.bounded[i];
        if (b->w < 0 && b->p < 0 && b->lo == b->hi)
            add(u, b->condition, 0, plan->costate[(size_t)b->state * (size_t)(g->K + 1)]);
        if (b->p >= 0)
            add(u, b->condition, 0,
                held_back(u, plan->nW + (size_t)b->p, plan->p[b->p], b->lo, b->hi));
        for (int k = b->first; k < b->last && b->w >= 0; k++) {
            size_t j = at(u, b->w, k);
            double x = u->owned[j] ? 0 : held_back(u, j, plan->w[j], b->lo, b->hi);
            add(u, b->condition, k + 1, x);
            u->owned[j] |= x != 0;
        }
    }
}

/* Bounds that are sides of pairs are no ranges. */
static void own_sides(const finding *u)
{
    const perp__program *g = u->g;
    for (int i = 0; i < g->npair; i++)
        for (int side = 0; side < 2; side++)
            for (int k = 0; k < g->K && g->pair[i].w[side] >= 0; k++) {
                int held = u->plan->sides->side[at(u, i, k)];
                if (held == side || held == PERP__SIDE_OPEN)
                    u->owned[at(u, g->pair[i].w[side], k)] = 1;
            }
}

/* Unknown j of a point, at all points. */
static void add_range(finding *u, int entry, int j)
{
    const perp__program *g = u->g;
    for (int c = 0; c < g->npoint; c++)
        for (int k = 0; k < g->K; k++) {
            size_t i = at(u, c * g->nb + j, k);
            if (!u->owned[i])
                add(u, entry, k + 1,
                    held_back(u, i, u->plan->w[i], g->bound.wlo[i], g->bound.whi[i]));
        }
}

/* Has it a range, its own or one given with `free`? */
static int has_range(const perp_model *m, perp_symbol_kind kind, int i)
{
    const perp__item *item = &m->item[kind][i];
    int is_there = isfinite(item->lo) || isfinite(item->hi);
    for (int k = 0; k < m->plan->nfree; k++) {
        const perp__plan_free *f = &m->plan->free_[k];
        is_there |= f->kind == kind && f->item == i && f->lo >= 0;
    }
    return is_there;
}

/* An entry for the range of an item; -1: it has none. */
static int range_entry(const finding *u, perp_symbol_kind kind, int i)
{
    const perp_model *m = u->plan->model;
    if (!has_range(m, kind, i)) return -1;
    u->to->of[u->to->n] = (perp__priced){"range", m->item[kind][i].name, m->item[kind][i].at, 1};
    return u->to->n++;
}

static void add_ranges(finding *u)
{
    const perp__program *g = u->g;
    const perp__bounds *b = &g->bound;
    int inputs = g->nx + g->nv + g->nsplit;
    for (int i = 0; i < g->ns; i++) add_range(u, range_entry(u, PERP_STATE, i), i);
    for (int i = 0; i < g->nv; i++) add_range(u, range_entry(u, PERP_VAR, i), g->nx + i);
    for (int i = 0; i < g->nu; i++)
        add_range(u, range_entry(u, PERP_INPUT, g->input_item[i]), inputs + i);
    for (int i = 0; i < g->param.n; i++) {
        int p = g->param.p + i;
        add(u, range_entry(u, PERP_PARAM, g->param.item[i]), 0,
            held_back(u, u->plan->nW + (size_t)p, u->plan->p[p], b->plo[p], b->phi[p]));
    }
}

/* What the cost is over the sizes of the unknowns, by its slopes. */
static double size_of_cost(const perp_plan *plan)
{
    const perp__program *g = plan->program;
    const perp__kkt *kkt = plan->kkt;
    double sum = 0;
    for (size_t i = 0; i < plan->nP; i++) sum += fabs(g->cost.time[i]) * kkt->extent[plan->nW + i];
    for (int e = 0; e < g->grad.n; e++)
        for (int k = 0; k < g->K; k++) {
            long i = perp__program_place(g, g->grad.col[e], k);
            if (i >= 0)
                sum += fabs(kkt->grad[(size_t)e * (size_t)g->K + (size_t)k]) * kkt->extent[i];
        }
    return sum;
}

/* Room for all entries. Returns 0: memory. */
static int make_room(perp_plan *plan)
{
    const perp_model *m = plan->model;
    size_t most = (size_t)(m->plan->ncondition + m->nitem[PERP_STATE] + m->nvar +
                           m->nitem[PERP_INPUT] + m->nitem[PERP_PARAM]);
    perp__multipliers *to;
    if (plan->again.multipliers) return 1;
    if (!PERP_TAKE(&plan->arena, to, 1)) return 0;
    to->nvalue = most * (size_t)(plan->program->K + 1);
    PERP_TAKE(&plan->arena, to->of, most);
    PERP_TAKE(&plan->arena, to->value, to->nvalue);
    PERP_TAKE(&plan->arena, to->owned, plan->nW);
    if (plan->arena.failed) return 0;
    plan->again.multipliers = to;
    return 1;
}

static perp_status refuse(const perp_plan *plan, perp_diag *diag)
{
    return perp__refuse(diag, PERP_ERR_ARG, perp__in(plan->model->source.name),
                        "multipliers are those of a plan that is stationary, which this is not\n");
}

/* Slopes of cost + lambda'r at the answer, and the sides of its pairs. */
static void evaluate(perp_plan *plan)
{
    double cost;
    perp__program_values(plan->program, NULL, plan->w, plan->p, plan->r, &cost);
    perp__sides_choose(plan->sides, plan->w, plan->r);
    perp__sides_treat(plan->sides, plan->w, plan->r, PERP_PLAN_BOTH_ZERO, PERP__SIDE_OPEN);
    plan->pairing.bound = perp__sides_fix(plan->sides);
    perp__kkt_evaluate(plan->kkt, plan->w, plan->p, plan->lambda);
    plan->pairing.bound = &plan->program->bound;
}

perp_status perp_plan_find_multipliers(perp_plan *plan, perp_diag *diag)
{
    if (!plan) return PERP_ERR_ARG;
    if (!plan->again.is_stationary) return refuse(plan, diag);
    if (!make_room(plan)) return PERP_ERR_MEMORY;
    const perp__program *g = plan->program;
    const perp__plan_block *b = plan->model->plan;
    perp__multipliers *to = plan->again.multipliers;
    finding u = {plan, g, to, to->owned, 0};
    evaluate(plan);
    memset(to->owned, 0, plan->nW);
    for (to->n = 0; to->n < b->ncondition; to->n++)
        to->of[to->n] =
            (perp__priced){"condition", b->condition[to->n].text, b->condition[to->n].at, 0};
    memset(to->value, 0, to->nvalue * sizeof *to->value);
    add_rows(&u);
    own_sides(&u);
    add_bounded(&u);
    add_ranges(&u);
    if (u.most > LARGE * size_of_cost(plan))
        perp__diag_append(diag,
                          "%s: multipliers are large against each other, as where conditions and "
                          "ranges say the same thing: they are one choice of many then, and a "
                          "single one need not be its effect on the cost\n",
                          plan->model->source.name);
    return PERP_OK;
}

int perp_plan_multipliers(const perp_plan *plan)
{
    return plan && plan->again.multipliers ? plan->again.multipliers->n : 0;
}

perp_plan_multiplier perp_plan_get_multiplier(const perp_plan *plan, int i)
{
    perp_plan_multiplier m = {"", "", 0, 0, 0, (double)NAN};
    if (i < 0 || i >= perp_plan_multipliers(plan)) return m;
    const perp__priced *of = &plan->again.multipliers->of[i];
    perp__place place = perp__source_place(&plan->model->source, of->at);
    double most = -1;
    m = (perp_plan_multiplier){of->kind, of->text, (int)place.line, (int)place.column, 0, 0};
    for (int k = 0; k <= plan->program->K; k++) {
        double x = perp_plan_multiplier_at(plan, i, k);
        m.sum += of->is_range ? -fabs(x) : x;
        if (fabs(x) > most) {
            most = fabs(x);
            m.node = k;
        }
    }
    return m;
}

double perp_plan_multiplier_at(const perp_plan *plan, int i, int node)
{
    if (i < 0 || i >= perp_plan_multipliers(plan) || node < 0 || node > plan->program->K)
        return (double)NAN;
    return plan->again.multipliers
        ->value[(size_t)i * (size_t)(plan->program->K + 1) + (size_t)node];
}

/* Parameters ----------------------------------------------------------------------------------- */

/* The plan's program with another value of a parameter. NULL: there is none of the same shape;
 * *status is PERP_ERR_MEMORY where that is why. */
static perp__program *moved_program(const perp_plan *plan, const char *name, double value,
                                    perp_model **model, perp_status *status)
{
    const perp__program *g = plan->program;
    const perp_plan_options *po = &plan->options;
    perp__program_options o = {.steps = po->nodes - 1,
                               .method = po->method,
                               .theta = po->theta,
                               .pairs = po->pairs,
                               .from = po->from,
                               .mesh = &g->mesh,
                               .values_only = 1};
    perp__program *moved = NULL;
    *status = perp__model_clone(plan->model, model);
    if (*status == PERP_OK) *status = perp_model_set(*model, name, value, NULL);
    if (*status == PERP_OK) moved = perp__program_create(*model, &o, status, NULL);
    if (!moved) return NULL;
    for (int i = 0; i < g->ns; i++)
        if (g->initial.is_set[i]) moved->initial.x[i] = g->initial.x[i];
    if (moved->K == g->K && moved->nw == g->nw && moved->np == g->np && moved->nrow == g->nrow &&
        moved->npair == g->npair)
        return moved;
    perp__program_destroy(moved);
    return NULL;
}

/* What bounds of unknowns lo <= x <= hi add: their slopes times the one that holds. */
static double worth_of_bounds(const double *slope, const double *lo, const double *hi, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double bound = slope[i] > 0 ? lo[i] : hi[i];
        if (isfinite(bound)) sum += slope[i] * bound;
    }
    return sum;
}

/* The Lagrangian of a program at the answer, with its bounds. r: room for its rows. NaN: memory. */
static double lagrangian(const perp_plan *plan, perp__program *g, double *r)
{
    const double *slope = plan->kkt->slope;
    double value = NAN;
    perp__arena arena = {0};
    perp__sides *sides = perp__sides_create(&arena, g);
    if (sides) {
        size_t npair = (size_t)g->npair * (size_t)g->K;
        if (npair) memcpy(sides->side, plan->sides->side, npair);
        const perp__bounds *b = perp__sides_fix(sides);
        perp__program_values(g, NULL, plan->w, plan->p, r, &value);
        for (size_t i = 0; i < plan->nR; i++) {
            double lambda = plan->lambda[i], bound = lambda > 0 ? b->rhi[i] : b->rlo[i];
            if (lambda != 0) value += lambda * (r[i] - (isfinite(bound) ? bound : 0));
        }
        value += worth_of_bounds(slope, b->wlo, b->whi, plan->nW) +
                 worth_of_bounds(slope + plan->nW, b->plo, b->phi, plan->nP);
    }
    perp__arena_clear(&arena);
    return value;
}

/* The Lagrangian with another value of a parameter; NaN where there is none. Returns 0: memory. */
static int moved_lagrangian(const perp_plan *plan, const char *name, double value, double *r,
                            double *L)
{
    perp_model *model = NULL;
    perp_status status;
    perp__program *moved = moved_program(plan, name, value, &model, &status);
    *L = (double)NAN;
    if (moved) *L = lagrangian(plan, moved, r);
    perp__program_destroy(moved);
    perp_model_destroy(model);
    return status != PERP_ERR_MEMORY;
}

/* The slope from values at -2, -1, 0, 1, 2 moves of size d; NaN where there is a kink. */
static double slope_of(const double L[5], double d)
{
    double first = fabs(L[3] - L[2]) + fabs(L[2] - L[1]), near = fabs(L[3] - 2 * L[2] + L[1]),
           far = fabs(L[4] - 2 * L[2] + L[0]);
    if (near > SMALL * first && !(far > FOURFOLD * near)) return (double)NAN;
    return (8 * (L[3] - L[1]) - (L[4] - L[0])) / (12 * d);
}

perp_status perp_plan_cost_slope(perp_plan *plan, const char *name, double *slope, perp_diag *diag)
{
    perp_symbol_kind kind;
    int item, free = 0;
    if (!plan || !name || !slope) return PERP_ERR_ARG;
    *slope = (double)NAN;
    if (!plan->again.is_stationary) return refuse(plan, diag);
    const perp__program *g = plan->program;
    if (!perp_model_find(plan->model, name, &kind, &item) || kind != PERP_PARAM)
        return perp__refuse(diag, PERP_ERR_ARG, perp__in(plan->model->source.name),
                            "'%s' is no parameter\n", name);
    evaluate(plan);
    for (; free < g->param.n; free++)
        if (g->param.item[free] == item) {
            *slope = plan->kkt->slope[plan->nW + (size_t)(g->param.p + free)];
            return PERP_OK;
        }
    double x = plan->model->item[PERP_PARAM][item].value, d = MOVED * (x != 0 ? fabs(x) : 1), L[5];
    int ok = 1;
    for (int i = 0; i < 5 && ok; i++)
        ok = moved_lagrangian(plan, name, x + (i - 2) * d, plan->r, &L[i]);
    if (!ok) return PERP_ERR_MEMORY;
    *slope = slope_of(L, d);
    return PERP_OK;
}
