/* Impulses of the method moreau (docs/adr/050). For each var that is a force of a pair or of
 * friction: the sum of force times length over the parts of a step. */

#include "simulate/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct perp__impulses {
    char *has; /* var: it has one */
    /* var: of the last step; behind them, at the beginning of the part in hand, and of the step */
    double *last;
    int is_summed; /* steps may be taken in parts; else each is one */
};

static void mark(perp__impulses *x, const perp_model *m, perp_expr e)
{
    const perp__node *node = e < 0 ? NULL : &m->graph.node[e];
    for (int v = 0; node && node->op == PERP__SYMBOL && v < m->nitem[PERP_VAR]; v++)
        x->has[v] |= m->item[PERP_VAR][v].symbol == node->a;
}

/* Do the states move with it: does an equation with a derivative read it? */
static int moves_states(const perp__step *s, int var)
{
    const perp__layout *l = s->layout;
    for (int i = 0; i < l->nown; i++)
        for (int k = l->row_start[i]; l->marks.has_h[i] && k < l->row_start[i + 1]; k++)
            if (l->column[k] == l->sym.var_at[var]) return 1;
    return 0;
}

int perp__impulses_create(perp_simulation *sim)
{
    const perp_model *m = sim->model;
    size_t n = (size_t)m->nitem[PERP_VAR];
    if (sim->options.integrator != PERP_MOREAU) return 1;
    perp__impulses *x = sim->impulses = calloc(1, sizeof *x);
    if (!x) return 0;
    x->has = calloc(n + 1, 1);
    x->last = malloc((3 * n + 1) * sizeof *x->last);
    if (!x->has || !x->last) return 0;
    x->is_summed = sim->step.layout->nonlinear || sim->options.accuracy > 0;
    for (int p = 0; p < m->npair; p++) {
        mark(x, m, m->pair[p].a);
        mark(x, m, m->pair[p].b);
    }
    for (int c = 0; c < m->ncontact; c++)
        for (int k = 0; k < m->contact[c].n; k++) mark(x, m, m->contact[c].f[k]);
    for (size_t v = 0; v < n; v++) x->has[v] = x->has[v] && moves_states(&sim->step, (int)v);
    for (size_t i = 0; i < 3 * n; i++) x->last[i] = (double)NAN;
    return 1;
}

void perp__impulses_destroy(perp__impulses *x)
{
    if (x) {
        free(x->has);
        free(x->last);
    }
    free(x);
}

void perp__impulses_begin(perp_simulation *sim)
{
    perp__impulses *x = sim->impulses;
    size_t n = (size_t)sim->model->nitem[PERP_VAR];
    if (!x || !x->is_summed) return;
    memcpy(x->last + 2 * n, x->last, n * sizeof(double));
    for (size_t v = 0; v < n; v++) x->last[v] = 0;
}

void perp__impulses_add(perp_simulation *sim, double h)
{
    perp__impulses *x = sim->impulses;
    const double *y = sim->step.ws + sim->step.layout->sym.y;
    for (int v = 0; x && x->is_summed && v < sim->model->nitem[PERP_VAR]; v++)
        if (x->has[v]) x->last[v] += h * y[sim->step.layout->sym.var_at[v]];
}

static void copy(perp_simulation *sim, int to, int from)
{
    size_t n = (size_t)sim->model->nitem[PERP_VAR];
    double *last = sim->impulses ? sim->impulses->last : NULL;
    if (last && n) memcpy(last + (size_t)to * n, last + (size_t)from * n, n * sizeof *last);
}

void perp__impulses_keep(perp_simulation *sim)
{
    copy(sim, 1, 0);
}

void perp__impulses_go_back(perp_simulation *sim)
{
    copy(sim, 0, 1);
}

void perp__impulses_undo(perp_simulation *sim)
{
    copy(sim, 0, 2);
}

void perp__impulses_pass(perp_simulation *sim, perp__pass *pass)
{
    if (sim->impulses)
        perp__pass_doubles(pass, sim->impulses->last, (size_t)sim->model->nitem[PERP_VAR]);
}

int perp_simulation_impulse(const perp_simulation *sim, int var, double *impulse)
{
    const perp__impulses *x = sim ? sim->impulses : NULL;
    if (!x || var < 0 || var >= sim->model->nitem[PERP_VAR] || !x->has[var]) return 0;
    const perp__step *s = &sim->step;
    if (!impulse) return 1;
    *impulse = x->is_summed ? x->last[var]
                            : s->ws[SYM_H] * s->ws[s->layout->sym.y + s->layout->sym.var_at[var]];
    if (sim->is_moved || sim->done == 0) *impulse = (double)NAN;
    return 1;
}

int perp__impulse_unit(const perp_model *model, int var, char *text, size_t size)
{
    const char *unit = perp_model_symbol(model, PERP_VAR, var).unit;
    return strchr(unit, '/') ? snprintf(text, size, "s %s", unit)
                             : snprintf(text, size, "%s%ss", unit, unit[0] ? " " : "");
}

int perp_simulation_impulse_unit(const perp_simulation *sim, int var, char *text, size_t size)
{
    return perp_simulation_impulse(sim, var, NULL) ? perp__impulse_unit(sim->model, var, text, size)
                                                   : -1;
}
