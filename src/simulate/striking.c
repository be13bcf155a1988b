/* The pairs of a model that can have impulses, read from their expressions: the force, its
 * friction, and the equations whose momentum it changes. Units tell which equations these are. */

#include "simulate/striking.h"

#include "base/tol.h"
#include "model/inspect.h"
#include "simulate/collocation.h"
#include "simulate/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct study {
    const perp_model *model;
    perp__strikings *of;
    int *var_of;        /* symbol of the model -> the var that it is, or -1 */
    int *state_of;      /* symbol -> the state whose value, now or before, it is, or -1 */
    int *rate_of;       /* symbol -> the state whose derivative it is, or -1 */
    char *velocity;     /* state: forces tell its rate */
    char *gap;          /* pair: 1 or 2, the side of positions alone */
    char *is_linear;    /* scratch of perp__positions_find */
    int *meant_by;      /* var -> the equation `var = ..`, or -1 */
    char *seen;         /* var: scratch */
    char *is_param;     /* symbol */
    char *placed;       /* state: scratch */
    char *at_rest;      /* node of the graph: it is 0 where all velocities are */
    double (*power)[6]; /* equation: powers of its unit, and its scale; scale 0: not known */
    perp__arena arena;
} study;

static void name_symbols(study *s)
{
    const perp_model *m = s->model;
    for (int k = 0; k < m->nsymbol; k++) s->var_of[k] = s->state_of[k] = s->rate_of[k] = -1;
    for (int v = 0; v < m->nitem[PERP_VAR]; v++) s->var_of[m->item[PERP_VAR][v].symbol] = v;
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++) s->is_param[m->item[PERP_PARAM][i].symbol] = 1;
    for (int i = 0; i < m->nitem[PERP_STATE]; i++) {
        int symbol = m->item[PERP_STATE][i].symbol;
        s->state_of[symbol + PERP__NOW] = s->state_of[symbol + PERP__PRE] = i;
        s->rate_of[symbol + PERP__DER] = i;
    }
}

static int var_of(const study *s, perp_expr e)
{
    const perp__node *node = &s->model->graph.node[e];
    return node->op == PERP__SYMBOL ? s->var_of[node->a] : -1;
}

/* The equations `var = ..` without a rate: what a velocity may be named by. */
static int find_meanings(study *s)
{
    const perp_model *m = s->model;
    for (int v = 0; v < m->nitem[PERP_VAR]; v++) s->meant_by[v] = -1;
    for (int i = 0; i < m->nequation; i++) {
        int n, has_rate = 0, v = var_of(s, m->equation[i].left),
               *reach = perp__graph_reach(&m->graph, &m->equation[i].right, 1, &n);
        if (!reach) return 0;
        for (int k = 0; k < n; k++) {
            const perp__node *node = &m->graph.node[reach[k]];
            has_rate |= node->op == PERP__SYMBOL && s->rate_of[node->a] >= 0;
        }
        free(reach);
        if (v >= 0 && !has_rate) s->meant_by[v] = i;
    }
    return 1;
}

/* Does an expression read a velocity, by way of vars that equations name? Returns -1 when memory is
 * out. */
static int reads_velocity(study *s, perp_expr e)
{
    const perp_model *m = s->model;
    int n, found = 0, *reach = perp__graph_reach(&m->graph, &e, 1, &n);
    if (!reach) return -1;
    for (int k = 0; k < n && found == 0; k++) {
        const perp__node *node = &m->graph.node[reach[k]];
        int state = node->op == PERP__SYMBOL ? s->state_of[node->a] : -1,
            v = node->op == PERP__SYMBOL ? s->var_of[node->a] : -1;
        found = state >= 0 && s->velocity[state];
        if (v < 0 || s->seen[v] || s->meant_by[v] < 0) continue;
        s->seen[v] = 1;
        found = reads_velocity(s, m->equation[s->meant_by[v]].right);
    }
    free(reach);
    return found;
}

/* When a force of this pair, on this side, is an impact in a step of fixed length. Returns -1 when
 * memory is out. */
static int when_by_steps(study *s, int p, int side)
{
    const perp__pair *pair = &s->model->pair[p];
    if (s->gap[p]) return s->gap[p] == 2 - side ? PERP__STRIKES_BY_GAP : PERP__STRIKES_NEVER;
    if (pair->guard < 0) return PERP__STRIKES_NEVER;
    memset(s->seen, 0, (size_t)s->model->nitem[PERP_VAR]);
    int reads = reads_velocity(s, side ? pair->a : pair->b);
    return reads > 0 ? PERP__STRIKES_BY_GUARD : reads;
}

/* Friction ------------------------------------------------------------------------------------- */

static int add_friction(study *s, perp__striking *x, perp_expr e, int direction, double sign)
{
    int v = var_of(s, e);
    if (v < 0 || x->n == PERP__FRICTION_VARS) return 0;
    x->friction[x->n] = v;
    x->direction[x->n] = direction;
    x->sign[x->n++] = sign;
    return 1;
}

/* A force of friction: a var, or the difference of two (the references' split). */
static int add_force(study *s, perp__striking *x, perp_expr e, int direction)
{
    const perp__node *node = &s->model->graph.node[e];
    if (node->op != PERP__SUB) return add_friction(s, x, e, direction, 1);
    return add_friction(s, x, node->a, direction, 1) && add_friction(s, x, node->b, direction, -1);
}

static void find_friction(study *s, perp__striking *x)
{
    const perp_model *m = s->model;
    for (int c = 0; c < m->ncontact && x->n >= 0; c++) {
        const perp__contact *contact = &m->contact[c];
        int ok = 1;
        if (contact->normal != x->pair) continue;
        for (int k = 0; k < contact->n && ok; k++) ok = add_force(s, x, contact->f[k], k);
        if (!ok) x->n = -1;
    }
}

/* Momentum ------------------------------------------------------------------------------------- */

/* The units of all equations: of the left side, else of the right one. */
static int find_units(study *s)
{
    const perp_model *m = s->model;
    perp_expr *e;
    char(*text)[PERP__UNIT_SIZE];
    PERP_TAKE(&s->arena, e, 2 * m->nequation + 1);
    PERP_TAKE(&s->arena, text, 2 * m->nequation + 1);
    if (s->arena.failed) return 0;
    for (int i = 0; i < m->nequation; i++) {
        e[2 * i] = m->equation[i].left;
        e[2 * i + 1] = m->equation[i].right;
    }
    if (!perp__units_of(m, e, 2 * m->nequation, text)) return 0;
    for (int i = 0; i < m->nequation; i++) {
        double *power = s->power[i];
        if (!perp__unit_powers(text[2 * i], power, &power[5]) &&
            !perp__unit_powers(text[2 * i + 1], power, &power[5]))
            power[5] = 0;
    }
    return 1;
}

/* The scale of the product of an equation's unit and a state's, if it is a power; else 0. */
static double power_of(const study *s, int equation, int state)
{
    static const double watt[5] = {2, 1, -3, 0, 0}; /* of m, kg, s, A, K */
    const char *unit = s->model->item[PERP_STATE][state].unit;
    const double *a = s->power[equation];
    double b[5], scale;
    if (a[5] == 0 || !unit || !perp__unit_powers(unit, b, &scale)) return 0;
    for (int k = 0; k < 5; k++)
        if (fabs(a[k] + b[k] - watt[k]) > PERP_TOL_UNIT) return 0;
    return a[5] * scale;
}

/* The one state whose momentum an equation is a balance of; -1: none, or several could be. */
static perp__balance balance_of(const study *s, int equation, const int *reach, int n)
{
    const perp__graph *g = &s->model->graph;
    perp__balance found = {equation, -1, 0, -1};
    int count = 0;
    for (int k = 0; k < n; k++) {
        int state = g->node[reach[k]].op == PERP__SYMBOL ? s->rate_of[g->node[reach[k]].a] : -1;
        if (found.of < 0) found.of = state;
        double scale = state < 0 ? 0 : power_of(s, equation, state);
        if (scale == 0) continue;
        found.state = state;
        found.scale = scale;
        count++;
    }
    if (count != 1) found.state = -1;
    return found;
}

/* The equations that read each var. next NULL: counted into start[var + 1]; else written. */
static int list_readers(study *s, int *next)
{
    const perp_model *m = s->model;
    for (int i = 0; i < m->nequation; i++) {
        perp_expr root[2] = {m->equation[i].left, m->equation[i].right};
        int n, *reach = perp__graph_reach(&m->graph, root, 2, &n);
        if (!reach) return 0;
        perp__balance of = next ? balance_of(s, i, reach, n) : (perp__balance){0, -1, 0, -1};
        for (int k = 0; k < n; k++) {
            const perp__node *node = &m->graph.node[reach[k]];
            int v = node->op == PERP__SYMBOL ? s->var_of[node->a] : -1;
            if (v >= 0 && next) s->of->balance[next[v]++] = of;
            if (v >= 0 && !next) s->of->start[v + 1]++;
        }
        free(reach);
    }
    return 1;
}

static int find_balances(study *s)
{
    int nvar = s->model->nitem[PERP_VAR], *start = s->of->start, *next;
    PERP_TAKE(&s->arena, next, nvar + 1);
    if (s->arena.failed || !list_readers(s, NULL)) return 0;
    for (int v = 0; v < nvar; v++) {
        next[v] = start[v];
        start[v + 1] += start[v];
    }
    PERP_TAKE(&s->of->arena, s->of->balance, start[nvar] + 1);
    return !s->of->arena.failed && list_readers(s, next);
}

static int has_balances(const perp__strikings *of, int var)
{
    int ok = of->start[var] < of->start[var + 1];
    for (int k = of->start[var]; k < of->start[var + 1]; k++) ok = ok && of->balance[k].state >= 0;
    return ok;
}

/* All ------------------------------------------------------------------------------------------ */

static int take_memory(study *s)
{
    const perp_model *m = s->model;
    perp__strikings *of = s->of;
    PERP_TAKE(&of->arena, of->pair, m->npair + 1);
    PERP_TAKE(&of->arena, of->of, m->npair + 1);
    PERP_TAKE(&of->arena, of->start, m->nitem[PERP_VAR] + 2);
    PERP_TAKE(&s->arena, s->var_of, m->nsymbol + 1);
    PERP_TAKE(&s->arena, s->state_of, m->nsymbol + 1);
    PERP_TAKE(&s->arena, s->rate_of, m->nsymbol + 1);
    PERP_TAKE(&s->arena, s->velocity, m->nitem[PERP_STATE] + 1);
    PERP_TAKE(&s->arena, s->gap, m->npair + 1);
    PERP_TAKE(&s->arena, s->is_linear, m->nequation + 1);
    PERP_TAKE(&s->arena, s->meant_by, m->nitem[PERP_VAR] + 1);
    PERP_TAKE(&s->arena, s->seen, m->nitem[PERP_VAR] + 1);
    PERP_TAKE(&s->arena, s->power, m->nequation + 1);
    PERP_TAKE(&s->arena, s->is_param, m->nsymbol + 1);
    PERP_TAKE(&s->arena, s->placed, m->nitem[PERP_STATE] + 1);
    PERP_TAKE(&s->arena, s->at_rest, m->graph.count + 1);
    return !of->arena.failed && !s->arena.failed;
}

/* Adds a one-sided pair that is no friction law and has a var as a side. If both sides are vars,
 * the force is not the gap, else the first. Returns 0 when memory is out. */
static int add_pair(study *s, int p)
{
    const perp__pair *pair = &s->model->pair[p];
    s->of->of[p] = -1;
    if (pair->two_sided || pair->contact >= 0) return 1;
    int side = var_of(s, pair->a) < 0 || s->gap[p] == 1, v = var_of(s, side ? pair->b : pair->a);
    if (v < 0) return 1;
    int when = when_by_steps(s, p, side);
    perp__striking *x = &s->of->pair[s->of->of[p] = s->of->n++];
    *x = (perp__striking){.pair = p, .side = side, .var = v, .when = (perp__strikes)when};
    find_friction(s, x);
    return when >= 0;
}

/* Energy --------------------------------------------------------------------------------------- */

/* Does an impulse of the contact change the velocity? */
static int is_moved_by(const study *s, const perp__striking *x, int state)
{
    const perp__strikings *of = s->of;
    int found = 0;
    for (int k = -1; k < x->n && !found; k++) {
        int v = k < 0 ? x->var : x->friction[k];
        for (int j = of->start[v]; j < of->start[v + 1]; j++)
            found |= of->balance[j].state == state;
    }
    return found;
}

/* Is a node 0 where all velocities are? Its operands are known. */
static int is_zero_at_rest(const study *s, const perp__node *node)
{
    const char *zero = s->at_rest;
    switch (node->op) {
    case PERP__CONST: return node->value == 0;
    case PERP__SYMBOL: {
        int state = s->state_of[node->a];
        return state >= 0 ? s->velocity[state] : !s->is_param[node->a];
    }
    case PERP__ADD:
    case PERP__SUB: return zero[node->a] && zero[node->b];
    case PERP__MUL: return zero[node->a] || zero[node->b];
    case PERP__DIV:
    case PERP__NEG: return zero[node->a];
    default: return 0;
    }
}

static int is_closed_in(study *s, const perp__striking *x, perp_expr e, int vanishes);

/* Is the rate of a position made of such velocities? */
static int is_placed_in(study *s, const perp__striking *x, int state)
{
    const perp_model *m = s->model;
    int ok = 1, found = 0, symbol = m->item[PERP_STATE][state].symbol;
    if (s->placed[state]) return 1;
    s->placed[state] = 1;
    for (int i = 0; i < m->nequation && ok > 0; i++) {
        perp_expr root[2] = {m->equation[i].left, m->equation[i].right};
        int n, reads = 0, *reach = perp__graph_reach(&m->graph, root, 2, &n);
        if (!reach) return -1;
        for (int k = 0; k < n; k++) {
            const perp__node *node = &m->graph.node[reach[k]];
            reads |= node->op == PERP__SYMBOL && node->a == symbol + PERP__DER;
        }
        free(reach);
        found |= reads;
        for (int side = 0; side < 2 && reads && ok > 0; side++)
            ok = is_closed_in(s, x, root[side], 1);
    }
    return ok > 0 ? found : ok;
}

/* Is an expression made of parameters, of velocities that the contact's impulses change, and of
 * positions whose rates are? Not of velocities before the step, nor of what moves by itself.
 * vanishes: it must be 0 where all velocities are. Returns -1 when memory is out. */
static int is_closed_in(study *s, const perp__striking *x, perp_expr e, int vanishes)
{
    const perp_model *m = s->model;
    int n, ok = 1, *reach = perp__graph_reach(&m->graph, &e, 1, &n);
    if (!reach) return -1;
    for (int k = 0; k < n && ok > 0; k++) {
        const perp__node *node = &m->graph.node[reach[k]];
        s->at_rest[reach[k]] = (char)is_zero_at_rest(s, node);
        if (node->op != PERP__SYMBOL || s->is_param[node->a]) continue;
        int state = s->state_of[node->a], rate = s->rate_of[node->a], v = s->var_of[node->a];
        int is_now = state >= 0 && node->a == m->item[PERP_STATE][state].symbol + PERP__NOW;
        if (state >= 0 && s->velocity[state])
            ok = is_now && is_moved_by(s, x, state);
        else if (state >= 0)
            ok = is_placed_in(s, x, state);
        else if (rate >= 0)
            ok = !s->velocity[rate];
        else if (v < 0 || s->meant_by[v] < 0)
            ok = 0;
        else if (!s->seen[v]) {
            s->seen[v] = 1;
            ok = is_closed_in(s, x, m->equation[s->meant_by[v]].right, 1);
        }
    }
    free(reach);
    return ok > 0 && vanishes ? s->at_rest[e] : ok;
}

/* Of a contact with known energy. Returns -1 when memory is out. */
static int loses(study *s, const perp__striking *x)
{
    const perp_model *m = s->model;
    const perp__pair *pair = &m->pair[x->pair];
    memset(s->seen, 0, (size_t)m->nitem[PERP_VAR]);
    memset(s->placed, 0, (size_t)m->nitem[PERP_STATE]);
    int ok = is_closed_in(s, x, x->side ? pair->a : pair->b, x->when != PERP__STRIKES_BY_GAP);
    for (int c = 0; c < m->ncontact; c++)
        for (int k = 0; k < m->contact[c].n && m->contact[c].normal == x->pair && ok > 0; k++)
            ok = is_closed_in(s, x, m->contact[c].v[k], 1);
    return ok;
}

/* Returns 0 when memory is out. */
static int find_energies(study *s)
{
    perp__strikings *of = s->of;
    for (int i = 0; i < of->n; i++) {
        perp__striking *x = &of->pair[i];
        x->has_energy = x->n >= 0 && has_balances(of, x->var);
        for (int k = 0; k < x->n; k++) x->has_energy &= has_balances(of, x->friction[k]);
        x->loses = x->has_energy ? loses(s, x) : 0;
        if (x->loses < 0) return 0;
    }
    return 1;
}

int perp__strikings_find(perp__strikings *of, const perp_model *m)
{
    study s = {.model = m, .of = of};
    *of = (perp__strikings){.n = 0};
    int ok = take_memory(&s);
    for (int p = 0; ok && p < m->npair; p++) of->of[p] = -1;
    if (ok && m->npair > 0 && m->kind == PERP_CONTINUOUS) {
        name_symbols(&s);
        ok = perp__find_velocities(m, s.velocity) && find_meanings(&s) &&
             perp__positions_find(m, s.gap, s.is_linear);
        for (int p = 0; ok && p < m->npair; p++) ok = add_pair(&s, p);
        ok = ok && (of->n == 0 || (find_units(&s) && find_balances(&s) && find_energies(&s)));
    }
    perp__arena_clear(&s.arena);
    return ok;
}

void perp__strikings_clear(perp__strikings *of)
{
    perp__arena_clear(&of->arena);
}
