/* The conditions are expressions of the model with the measured values in the places of symbols;
 * their coefficients are derivatives. */

#include "identify/samples.h"
#include "model/model.h"
#include "model/tape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void perp__samples_clear(perp__samples *x)
{
    free(x->condition);
    free(x->other);
    free(x->at_zero);
    free(x->slope);
    memset(x, 0, sizeof *x);
}

/* Symbols ------------------------------------------------------------------------------------- */

/* An input that has no column is what the model says it is. */
static int is_measured(const perp__sample_builder *b, int input)
{
    return b->study->run[0].input[input] || b->model->item[PERP_INPUT][input].expr < 0;
}

/* The step from a row to the next, by backward Euler: measured values are symbols, and so are the
 * parameters to estimate. */
static int make_instant(perp__sample_builder *b)
{
    perp_model *m = b->model;
    perp__graph *g = &m->graph;
    perp__scheme scheme = perp__scheme_make("backward-euler", 1);
    perp__instant *at = &b->at;
    int n = m->nsymbol, ns = m->nitem[PERP_STATE];
    if (!perp__instant_create(at, m, g, &scheme, n, n + ns)) return 0;
    at->start = perp__symbol(g, PERP__SYM_T_PRE);
    at->time[0] = perp__symbol(g, PERP__SYM_T);
    at->h = perp__symbol(g, PERP__SYM_H);
    at->theta = perp__const(g, scheme.theta);
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++) {
        int s = m->item[PERP_PARAM][i].symbol;
        at->known[s] = b->column[s] >= 0 ? perp__symbol(g, s) : perp__instant_param(at, i);
    }
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++) {
        int s = m->item[PERP_INPUT][i].symbol;
        at->input[i] = is_measured(b, i) ? perp__symbol(g, s + PERP__NOW) : -1;
        at->input_before[i] = perp__symbol(g, s + PERP__INPUT_PRE);
    }
    for (int i = 0; i < ns; i++) {
        at->state[i] = perp__symbol(g, m->item[PERP_STATE][i].symbol + PERP__NEXT);
        at->before[i] = perp__symbol(g, m->item[PERP_STATE][i].symbol + PERP__PRE);
    }
    for (int i = 0; i < m->nitem[PERP_VAR]; i++)
        at->var[i] = perp__symbol(g, m->item[PERP_VAR][i].symbol);
    return 1;
}

static int prepare_maps(perp__sample_builder *b)
{
    perp_model *m = b->model;
    size_t n = (size_t)m->nsymbol;
    b->zero = malloc(n * sizeof *b->zero);
    b->column = malloc(n * sizeof *b->column);
    if (!b->zero || !b->column) return 0;
    for (int s = 0; s < m->nsymbol; s++) b->column[s] = -1;
    for (int i = 0; i < b->study->np; i++)
        b->column[m->item[PERP_PARAM][b->study->param[i]].symbol] = i;
    for (int s = 0; s < m->nsymbol; s++)
        b->zero[s] = b->column[s] >= 0 ? perp__const(&m->graph, 0) : perp__symbol(&m->graph, s);
    return make_instant(b) && !m->graph.failed;
}

/* Conditions ---------------------------------------------------------------------------------- */

perp_expr perp__in_samples(perp__sample_builder *b, perp_expr e)
{
    return perp__instant_read(&b->at, e, PERP__AT_POINT, 0);
}

static perp_status not_affine(const perp__sample_builder *b, const perp_statement *s)
{
    return perp__refuse(b->study->diag, PERP_ERR_MODEL,
                        (perp__place){perp_model_file(b->study->model), s->line, s->column},
                        "method %s needs conditions that are affine in the parameters, "
                        "which this is not: %s\n",
                        perp_estimator_name(b->study->options.method), s->text);
}

/* Add the condition `side` (perp other, or = 0) if it contains a parameter. */
static perp_status add_condition(perp__sample_builder *b, perp__samples *x, perp_expr side,
                                 perp_expr other, int is_equation, perp_statement s)
{
    perp__graph *g = &b->model->graph;
    int degree = perp__degree(g, side, b->column, NULL),
        other_degree = perp__degree(g, other, b->column, NULL);
    if (degree < 0 || other_degree < 0 || g->failed) return PERP_ERR_MEMORY;
    if (degree == 0) return PERP_OK;
    if (degree > 1 || other_degree > 0) return not_affine(b, &s);
    perp__sparse_row slope = {0};
    perp_expr *root = &b->root[b->nroot];
    int ok = perp__gradient(g, side, b->column, &slope);
    root[0] = other;
    perp__graph_copy(g, g, &side, 1, b->zero, &root[1]);
    for (int i = 0; i < x->np; i++) root[2 + i] = perp__const(g, 0);
    for (int k = 0; ok && k < slope.count; k++) root[2 + slope.column[k]] = slope.entry[k];
    perp__sparse_row_clear(&slope);
    b->nroot += 2 + x->np;
    x->condition[x->ncondition++] = (perp__condition){is_equation, s};
    return ok && !g->failed ? PERP_OK : PERP_ERR_MEMORY;
}

static perp_status add_pair(perp__sample_builder *b, perp__samples *x, int i)
{
    const perp__pair *p = &b->model->pair[i];
    perp_statement s = perp_model_pair(b->study->model, i);
    perp_expr a = perp__in_samples(b, p->a), e = perp__in_samples(b, p->b);
    const perp__graph *g = &b->model->graph;
    int first = perp__degree(g, a, b->column, NULL), second = 0, lo = 0, hi = 0;
    if (p->two_sided || p->guard >= 0) {
        second = perp__degree(g, e, b->column, NULL);
        if (p->two_sided) lo = perp__degree(g, perp__in_samples(b, p->lo), b->column, NULL);
        if (p->two_sided) hi = perp__degree(g, perp__in_samples(b, p->hi), b->column, NULL);
        if (first < 0 || second < 0 || lo < 0 || hi < 0 || g->failed) return PERP_ERR_MEMORY;
        return first || second || lo || hi ? not_affine(b, &s) : PERP_OK;
    }
    if (first < 0 || g->failed) return PERP_ERR_MEMORY;
    return first > 0 ? add_condition(b, x, a, e, 0, s) : add_condition(b, x, e, a, 0, s);
}

static perp_status collect_conditions(perp__sample_builder *b, perp__samples *x)
{
    const perp_model *m = b->model;
    size_t most = (size_t)(m->nequation + m->npair);
    perp_status status = PERP_OK;
    b->root = malloc((most * (size_t)(2 + x->np) + 1) * sizeof *b->root);
    x->condition = calloc(most + 1, sizeof *x->condition);
    if (!b->root || !x->condition) return PERP_ERR_MEMORY;
    for (int i = 0; i < m->nequation && status == PERP_OK; i++) {
        perp_expr side = perp__sub(&b->model->graph, perp__in_samples(b, m->equation[i].left),
                                   perp__in_samples(b, m->equation[i].right));
        status = add_condition(b, x, side, perp__const(&b->model->graph, 0), 1,
                               perp_model_equation(b->study->model, i));
    }
    for (int i = 0; i < m->npair && status == PERP_OK; i++) status = add_pair(b, x, i);
    if (status != PERP_OK || x->ncondition) return status;
    return perp__refuse(b->study->diag, PERP_ERR_MODEL, perp__in(perp_model_file(b->study->model)),
                        "no pair or equation contains the parameters that are estimated\n");
}

/* Data ---------------------------------------------------------------------------------------- */

/* Values of one step, from row i - 1 to row i; NaN where nothing was measured. */
void perp__fill_step(const perp__sample_builder *b, const perp__recording *r, int i, double *symbol,
                     int stride)
{
    const perp_model *m = b->model;
    symbol[PERP__SYM_T * stride] = r->t[i];
    symbol[PERP__SYM_T_PRE * stride] = r->t[i - 1];
    symbol[PERP__SYM_H * stride] = r->t[i] - r->t[i - 1];
    for (int k = 0; k < m->nitem[PERP_STATE]; k++) {
        double *x = symbol + m->item[PERP_STATE][k].symbol * stride;
        x[PERP__NEXT * stride] = r->state[k] ? r->state[k][i] : (double)NAN;
        x[PERP__PRE * stride] = r->state[k] ? r->state[k][i - 1] : (double)NAN;
    }
    for (int k = 0; k < m->nitem[PERP_INPUT]; k++) {
        double *x = symbol + m->item[PERP_INPUT][k].symbol * stride;
        x[PERP__NOW * stride] = r->input[k] ? r->input[k][i] : (double)NAN;
        x[PERP__INPUT_PRE * stride] = r->input[k] ? r->input[k][i - 1] : (double)NAN;
    }
    for (int k = 0; k < m->nvar; k++) {
        int c = perp_trajectory_find(r->table, m->item[PERP_VAR][k].name);
        symbol[m->item[PERP_VAR][k].symbol * stride] =
            c < 0 ? (double)NAN : perp_trajectory_column(r->table, c)[i];
    }
}

/* The first quantity that the conditions need and no run has. */
static const char *find_unmeasured(const perp__sample_builder *b, const double *ws, int n,
                                   const int *reach, int count)
{
    const perp_model *m = b->model;
    for (int k = 0; k < count; k++) {
        const perp__node *node = &m->graph.node[reach[k]];
        int missing = 0;
        if (node->op != PERP__SYMBOL || b->column[node->a] >= 0 ||
            (b->solved && b->solved[node->a]))
            continue;
        for (int s = 0; s < n; s++) missing += isnan(ws[(size_t)node->a * (size_t)n + (size_t)s]);
        if (missing < n) continue;
        for (int kind = 0; kind < PERP_SYMBOL_KINDS; kind++) {
            for (int i = 0; i < m->nitem[kind]; i++) {
                int first = m->item[kind][i].symbol, size = kind == PERP_STATE ? 4 : 1;
                if (kind == PERP_INPUT) size = 2;
                if (node->a >= first && node->a < first + size) return m->item[kind][i].name;
            }
        }
    }
    return NULL;
}

perp_status perp__check_measured(const perp__sample_builder *b, const double *ws, int n)
{
    int count;
    int *reach = perp__graph_reach(&b->model->graph, b->root, b->nroot, &count);
    if (!reach) return PERP_ERR_MEMORY;
    const char *name = find_unmeasured(b, ws, n, reach, count);
    free(reach);
    if (!name) return PERP_OK;
    return perp__refuse(
        b->study->diag, PERP_ERR_DATA, perp__in(NULL),
        "method %s needs every quantity of a condition to be measured; no run has a column '%s'\n",
        perp_estimator_name(b->study->options.method), name);
}

/* Keep the steps whose values are all numbers. */
static void keep_complete(const perp__sample_builder *b, const perp__tape *tape, const double *ws,
                          int n, perp__samples *x)
{
    for (int s = 0; s < n; s++) {
        int complete = 1;
        for (int r = 0; r < b->nroot; r++)
            complete &= isfinite(ws[(size_t)tape->out[r] * (size_t)n + (size_t)s]) != 0;
        if (complete) x->n++;
    }
    int at = 0;
    for (int s = 0; s < n; s++) {
        int complete = 1;
        for (int r = 0; r < b->nroot; r++)
            complete &= isfinite(ws[(size_t)tape->out[r] * (size_t)n + (size_t)s]) != 0;
        if (!complete) continue;
        for (int c = 0; c < x->ncondition; c++) {
            const int *out = tape->out + c * (2 + x->np);
            x->other[c * x->n + at] = ws[(size_t)out[0] * (size_t)n + (size_t)s];
            x->at_zero[c * x->n + at] = ws[(size_t)out[1] * (size_t)n + (size_t)s];
            for (int k = 0; k < x->np; k++)
                x->slope[(c * x->np + k) * x->n + at] =
                    ws[(size_t)out[2 + k] * (size_t)n + (size_t)s];
        }
        at++;
    }
}

static perp_status evaluate_steps(perp__sample_builder *b, perp__samples *x)
{
    const perp__study *s = b->study;
    perp__tape tape = {0};
    int n = 0, at = 0;
    for (int r = 0; r < s->nrun; r++) n += s->run[r].rows - 1;
    size_t size = (size_t)x->ncondition * (size_t)n + 1;
    x->other = malloc(size * sizeof(double));
    x->at_zero = malloc(size * sizeof(double));
    x->slope = malloc(size * (size_t)x->np * sizeof(double));
    int ok = x->other && x->at_zero && x->slope &&
             perp__tape_compile(&tape, &b->model->graph, b->root, b->nroot, b->model->nsymbol);
    double *ws = ok ? calloc((size_t)perp__tape_end(&tape) * (size_t)n + 1, sizeof *ws) : NULL;
    perp_status status = ws ? PERP_OK : PERP_ERR_MEMORY;
    if (ws) {
        perp__tape_prepare(&tape, ws, n);
        for (int r = 0; r < s->nrun; r++) {
            for (int i = 1; i < s->run[r].rows; i++)
                perp__fill_step(b, &s->run[r], i, ws + at++, n);
        }
        status = perp__check_measured(b, ws, n);
        perp__tape_eval_many(&tape, ws, n);
        keep_complete(b, &tape, ws, n, x);
    }
    free(ws);
    perp__tape_clear(&tape);
    return status;
}

perp_status perp__builder_create(const perp__study *study, perp__sample_builder *b)
{
    *b = (perp__sample_builder){.study = study};
    perp_status status = perp__model_clone(study->model, &b->model);
    if (status == PERP_OK && !prepare_maps(b)) status = PERP_ERR_MEMORY;
    if (status != PERP_OK) perp__builder_clear(b);
    return status;
}

void perp__builder_clear(perp__sample_builder *b)
{
    perp__instant_clear(&b->at);
    free(b->zero);
    free(b->column);
    free(b->root);
    perp_model_destroy(b->model);
    *b = (perp__sample_builder){.study = NULL};
}

perp_status perp__samples_create(const perp__study *study, perp__samples *x)
{
    perp__sample_builder b;
    *x = (perp__samples){.np = study->np};
    perp_status status = perp__builder_create(study, &b);
    if (status != PERP_OK) return status;
    status = collect_conditions(&b, x);
    if (status == PERP_OK) status = evaluate_steps(&b, x);
    if (status == PERP_OK && x->n == 0)
        status = perp__refuse(study->diag, PERP_ERR_DATA, perp__in(NULL),
                              "no step of the data has all that is needed\n");
    if (status != PERP_OK) perp__samples_clear(x);
    perp__builder_clear(&b);
    return status;
}

double perp__samples_value(const perp__samples *x, int condition, int sample, const double *theta)
{
    double value = x->at_zero[condition * x->n + sample];
    for (int k = 0; k < x->np; k++)
        value += x->slope[(condition * x->np + k) * x->n + sample] * theta[k];
    return value;
}

int perp__samples_report(const perp__study *s, const perp__samples *x, const double *theta,
                         perp_identification *result)
{
    size_t np = (size_t)s->np;
    result->parameter = calloc(np, sizeof *result->parameter);
    result->covariance = malloc(np * np * sizeof(double));
    if (!result->parameter || !result->covariance) return 0;
    result->nparameter = s->np;
    for (size_t i = 0; i < np * np; i++) result->covariance[i] = NAN;
    for (int i = 0; i < s->np; i++) {
        perp_symbol symbol = perp_model_symbol(s->model, PERP_PARAM, s->param[i]);
        result->parameter[i] = (perp_estimate){.name = symbol.name,
                                               .unit = symbol.unit,
                                               .value = theta[i],
                                               .lo = s->lo[i],
                                               .hi = s->hi[i],
                                               .std_error = NAN,
                                               .low = theta[i],
                                               .high = theta[i],
                                               .identifiable = 1};
    }
    result->samples = (long)x->n * x->ncondition;
    result->condition = NAN;
    result->noise_factor = NAN;
    return 1;
}
