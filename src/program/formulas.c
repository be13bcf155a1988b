/* Programs given by formulas in x1, x2, ..: a model of nothing but inputs and outputs, whose
 * expressions become rows. */

#include "model/model.h"
#include "program/program_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *formula(const perp_program_formulas *f, int i)
{
    return i < f->rows ? f->row[i] : f->objective;
}

static int count(const perp_program_formulas *f)
{
    return f->rows + (f->objective != NULL);
}

/* Each is one expression, and nothing but that. */
static perp_status check(const perp_program_formulas *f, const char *name, perp_diag *diag)
{
    perp_status status = PERP_OK;
    for (int i = 0; i < count(f) && status == PERP_OK; i++) {
        char place[300];
        if (!formula(f, i)) return PERP_ERR_ARG;
        if (i < f->rows)
            snprintf(place, sizeof place, "%.200s: row %d", name, i + 1);
        else
            snprintf(place, sizeof place, "%.200s: objective", name);
        status = perp_formula_check(formula(f, i), 0, place, diag);
    }
    return status;
}

/* "input x1" .., "output r1 = row" ..; NULL: memory. */
static char *model_text(const perp_program_formulas *f)
{
    size_t size = 64 + (size_t)f->variables * 24;
    for (int i = 0; i < count(f); i++) size += strlen(formula(f, i)) + 32;
    char *text = malloc(size), *end = text;
    if (!text) return NULL;
    end += sprintf(end, "model program\nvar unused\n0 = unused\n");
    for (int j = 0; j < f->variables; j++) end += sprintf(end, "input x%d\n", j + 1);
    for (int i = 0; i < count(f); i++)
        end += sprintf(end, "output r%d = %s\n", i + 1, formula(f, i));
    return text;
}

/* Symbols of the model to those of the program. What is not a variable has none (-1). */
static perp_expr *map_symbols(const perp_model *m, perp__graph *to, int n)
{
    perp_expr *map = malloc(((size_t)m->nsymbol + 1) * sizeof *map);
    for (int s = 0; s < m->nsymbol && map; s++) map[s] = -1;
    for (int j = 0; j < n && map; j++) map[m->item[PERP_INPUT][j].symbol] = perp__symbol(to, j);
    return map;
}

/* Row i must depend on nothing but variables. */
static perp_status check_symbols(const perp_model *m, const perp_expr *map, int i, const char *name,
                                 perp_diag *diag)
{
    int n, *reach = perp__graph_reach(&m->graph, &m->item[PERP_OUTPUT][i].expr, 1, &n);
    perp_status status = reach ? PERP_OK : perp__out_of_memory(diag, name);
    for (int k = 0; k < n && status == PERP_OK; k++) {
        const perp__node *node = &m->graph.node[reach[k]];
        if (node->op == PERP__SYMBOL && map[node->a] < 0)
            status = perp__refuse(diag, PERP_ERR_MODEL, perp__in(name),
                                  "formula %d depends on something else than x1, x2, ..\n", i + 1);
    }
    free(reach);
    return status;
}

static perp_status copy_rows(perp__nl *nl, const perp_model *m, perp_diag *diag)
{
    perp_status status = PERP_OK;
    perp_expr *map = map_symbols(m, &nl->graph, nl->nvar);
    if (!map) return perp__out_of_memory(diag, nl->name);
    for (int i = 0; i < nl->ncon + nl->nobj && status == PERP_OK; i++) {
        perp_expr *to = i < nl->ncon ? &nl->row[i] : &nl->objective[0];
        status = check_symbols(m, map, i, nl->name, diag);
        if (status == PERP_OK &&
            !perp__graph_copy(&nl->graph, &m->graph, &m->item[PERP_OUTPUT][i].expr, 1, map, to))
            status = perp__out_of_memory(diag, nl->name);
    }
    free(map);
    return status;
}

static double entry(const double *list, int i, double none)
{
    return list ? list[i] : none;
}

/* Bounds, starts and pairs. 0 after saying what is wrong. */
static int fill(perp__nl *nl, const perp_program_formulas *f, perp_diag *diag)
{
    for (int j = 0; j < nl->nvar; j++) {
        nl->lo[j] = entry(f->lo, j, -INFINITY);
        nl->hi[j] = entry(f->hi, j, INFINITY);
        nl->start[j] = entry(f->start, j, 0);
        if (isnan(nl->lo[j]) || isnan(nl->hi[j]) || !isfinite(nl->start[j])) {
            perp__refuse(diag, PERP_ERR_ARG, perp__in(nl->name),
                         "a bound or a start of x%d is no number\n", j + 1);
            return 0;
        }
    }
    for (int i = 0; i < nl->ncon; i++) {
        int j = nl->pairs.var[i] = f->complements ? f->complements[i] : -1;
        nl->rlo[i] = entry(f->row_lo, i, -INFINITY);
        nl->rhi[i] = entry(f->row_hi, i, INFINITY);
        if (j < 0) continue;
        if (j >= nl->nvar) {
            perp__refuse(diag, PERP_ERR_ARG, perp__in(nl->name),
                         "row %d complements x%d, which is none\n", i + 1, j + 1);
            return 0;
        }
        nl->pairs.n++;
        nl->pairs.lower[i] = isfinite(nl->lo[j]) != 0;
        nl->pairs.upper[i] = isfinite(nl->hi[j]) != 0;
        nl->rlo[i] = nl->pairs.upper[i] ? -INFINITY : 0;
        nl->rhi[i] = nl->pairs.lower[i] ? INFINITY : 0;
    }
    if (nl->nobj) nl->maximise[0] = f->maximise != 0;
    return 1;
}

perp__nl *perp__nl_of_formulas(const perp_program_formulas *f, const char *name,
                               perp_status *status, perp_diag *diag)
{
    perp_model *m = NULL;
    perp__nl *nl = NULL;
    char *text = NULL;
    *status = check(f, name, diag);
    if (*status != PERP_OK) return NULL;
    nl = calloc(1, sizeof *nl);
    text = model_text(f);
    if (!nl || !text || !(nl->name = perp__arena_string(&nl->arena, name, strlen(name))))
        *status = perp__out_of_memory(diag, name);
    if (*status == PERP_OK) *status = perp_model_parse(text, strlen(text), name, &m, diag);
    free(text);
    if (*status == PERP_OK) {
        nl->nvar = f->variables;
        nl->ncon = f->rows;
        nl->nobj = f->objective != NULL;
        if (!perp__nl_allocate(nl)) *status = perp__out_of_memory(diag, name);
    }
    if (*status == PERP_OK) *status = copy_rows(nl, m, diag);
    if (*status == PERP_OK && !fill(nl, f, diag)) *status = PERP_ERR_ARG;
    perp_model_destroy(m);
    if (*status == PERP_OK) return nl;
    perp__nl_destroy(nl);
    return NULL;
}
