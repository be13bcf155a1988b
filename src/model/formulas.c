/* Functions given as text: a model with nothing but equations 0 = F_i, its gradients, one tape. */

#include "base/base.h"
#include "model/model.h"
#include "model/syntax.h"
#include "model/tape.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct perp_formulas {
    int n, nnz;
    perp_model *model;
    perp__tape tape; /* F, then the entries of J in order of columns */
    double *ws, *out;
    perp__terms *terms; /* of each slot of ws */
    int is_evaluated;   /* ws and out are those of the symbols in ws */
    int *symbol;        /* n: of x_i */
    int *start, *row;   /* compressed columns */
};

static int is_join(const perp__token *t)
{
    return t->kind == TOKEN_LE || t->kind == TOKEN_GE ||
           (t->kind == TOKEN_OTHER && t->symbol == '=');
}

perp_status perp_formula_check(const char *text, int conditions, const char *name, perp_diag *diag)
{
    if (!text) return PERP_ERR_ARG;
    size_t length = strlen(text), line = strcspn(text, "\n\r#");
    perp__arena arena = {0};
    perp__source source = {.name = name ? name : "formula", .text = text, .length = (int)length};
    perp__token *tokens = length < PERP__MODEL_MAX ? perp__lex(&source, &arena, 0) : NULL;
    if (length >= PERP__MODEL_MAX)
        perp__error(&source, 0, 0, "a formula of more than %d MB", PERP__MODEL_MAX >> 20);
    else if (line < length)
        perp__error(&source, (int)line, (int)line, "a formula is one line, without a comment");
    for (const perp__token *t = tokens ? tokens + 1 : NULL; t && source.nerror == 0;) {
        int more = perp__parse_expression(&source, &arena, &t) && is_join(t) && conditions;
        if (more) {
            conditions = 2;
            t++;
            continue;
        }
        if (source.nerror == 0 && conditions == 1)
            perp__expected(&source, t, "<=, >= or =");
        else if (source.nerror == 0 && t->kind != TOKEN_NEWLINE)
            perp__expected(&source, t, "the end of the formula");
        break;
    }
    perp_status status = source.nerror ? PERP_ERR_MODEL : PERP_OK;
    perp__source_report(&source, diag);
    perp__source_clear(&source);
    if (arena.failed || (!tokens && status == PERP_OK))
        status = perp__out_of_memory(diag, source.name);
    perp__arena_clear(&arena);
    return status;
}

/* "model NAME", "var x1, ..", "0 = F1", .. */
static char *model_text(int n, const char *const *formulas)
{
    size_t size = 64 + (size_t)n * 40;
    for (int i = 0; i < n; i++) size += strlen(formulas[i]);
    char *text = malloc(size), *end = text;
    if (!text) return NULL;
    end += sprintf(end, "model formulas\nvar ");
    for (int i = 0; i < n; i++) end += sprintf(end, i ? ", x%d" : "x%d", i + 1);
    for (int i = 0; i < n; i++) end += sprintf(end, "\n0 = %s", formulas[i]);
    sprintf(end, "\n");
    return text;
}

/* Roots of the tape: functions, then J by columns. rows[i] is the gradient of F_i. */
static int gather_roots(perp_formulas *f, const perp__sparse_row *rows, perp_expr *roots)
{
    int e = 0;
    for (int i = 0; i < f->n; i++) {
        const perp__equation *q = &f->model->equation[i];
        roots[i] = perp__sub(&f->model->graph, q->right, q->left);
    }
    for (int j = 0; j < f->n; j++) {
        f->start[j] = e;
        for (int i = 0; i < f->n; i++) {
            for (int k = 0; k < rows[i].count; k++) {
                if (rows[i].column[k] != j) continue;
                f->row[e] = i;
                roots[f->n + e++] = rows[i].entry[k];
            }
        }
    }
    f->start[f->n] = e;
    return !f->model->graph.failed;
}

/* F_i must depend on nothing but x1, x2, ..: no time, step or parameter, which would have no
 * value. */
static perp_status check_names(const perp_formulas *f, const char *name, perp_diag *diag)
{
    const perp__graph *g = &f->model->graph;
    char *is_var = calloc((size_t)f->model->nsymbol + 1, 1);
    perp_status status = is_var ? PERP_OK : PERP_ERR_MEMORY;
    for (int i = 0; i < f->n && is_var; i++) is_var[f->model->item[PERP_VAR][i].symbol] = 1;
    for (int i = 0; i < f->n && status == PERP_OK; i++) {
        const perp_expr sides[] = {f->model->equation[i].left, f->model->equation[i].right};
        int count, *reach = perp__graph_reach(g, sides, 2, &count);
        if (!reach) status = PERP_ERR_MEMORY;
        for (int k = 0; k < count && status == PERP_OK; k++) {
            const perp__node *node = &g->node[reach[k]];
            if (node->op != PERP__SYMBOL || is_var[node->a]) continue;
            status =
                perp__refuse(diag, PERP_ERR_MODEL, perp__in(name),
                             "formula %d depends on something else than x1 .. x%d\n", i + 1, f->n);
        }
        free(reach);
    }
    free(is_var);
    return status;
}

static int compile(perp_formulas *f)
{
    size_t n = (size_t)f->n;
    perp__graph *g = &f->model->graph;
    perp__sparse_row *rows = calloc(n, sizeof *rows);
    int *column = malloc((size_t)f->model->nsymbol * sizeof *column), ok = rows && column;
    perp_expr *roots = NULL;
    f->symbol = malloc(n * sizeof(int));
    f->start = malloc((n + 1) * sizeof(int));
    ok = ok && f->symbol && f->start;
    for (int s = 0; s < f->model->nsymbol && ok; s++) column[s] = -1;
    for (int i = 0; i < f->n && ok; i++) {
        f->symbol[i] = f->model->item[PERP_VAR][i].symbol;
        column[f->symbol[i]] = i;
    }
    for (int i = 0; i < f->n && ok; i++) {
        const perp__equation *q = &f->model->equation[i];
        ok = perp__gradient(g, perp__sub(g, q->right, q->left), column, &rows[i]);
        f->nnz += rows[i].count;
    }
    if (ok) {
        f->row = malloc(((size_t)f->nnz + 1) * sizeof(int));
        roots = malloc((n + (size_t)f->nnz) * sizeof *roots);
        ok = f->row && roots && gather_roots(f, rows, roots) &&
             perp__tape_compile(&f->tape, g, roots, f->n + f->nnz, f->model->nsymbol);
    }
    if (ok) {
        f->ws = calloc((size_t)perp__tape_end(&f->tape) + 1, sizeof(double));
        f->out = malloc((n + (size_t)f->nnz) * sizeof(double));
        f->terms = calloc((size_t)perp__tape_end(&f->tape) + 1, sizeof *f->terms);
        ok = f->ws && f->out && f->terms;
    }
    if (ok) perp__tape_prepare(&f->tape, f->ws, 1);
    for (size_t i = 0; i < n && rows; i++) perp__sparse_row_clear(&rows[i]);
    free(rows);
    free(column);
    free(roots);
    return ok;
}

perp_status perp_formulas_create(int n, const char *const *formulas, const char *name,
                                 perp_formulas **out, perp_diag *diag)
{
    if (!out) return PERP_ERR_ARG;
    *out = NULL;
    if (n < 1 || !formulas) return PERP_ERR_ARG;
    for (int i = 0; i < n; i++) {
        if (!formulas[i]) return PERP_ERR_ARG;
    }
    for (int i = 0; i < n; i++) {
        char place[1024];
        snprintf(place, sizeof place, "%s: formula %d", name ? name : "formulas", i + 1);
        perp_status status = perp_formula_check(formulas[i], 0, place, diag);
        if (status != PERP_OK) return status;
    }
    perp_formulas *f = calloc(1, sizeof *f);
    char *text = model_text(n, formulas);
    perp_status status = f && text ? PERP_OK : PERP_ERR_MEMORY;
    if (status == PERP_OK) {
        f->n = n;
        status = perp_model_parse(text, strlen(text), name ? name : "formulas", &f->model, diag);
    }
    free(text);
    if (status == PERP_OK &&
        (f->model->nequation != n || f->model->nitem[PERP_VAR] != n || f->model->npair > 0))
        status = PERP_ERR_MODEL; /* a formula that is more than one expression */
    if (status == PERP_OK) status = check_names(f, name ? name : "formulas", diag);
    if (status == PERP_OK && !compile(f)) status = PERP_ERR_MEMORY;
    if (status != PERP_OK) {
        perp_formulas_destroy(f);
        return status;
    }
    *out = f;
    return PERP_OK;
}

void perp_formulas_destroy(perp_formulas *f)
{
    if (!f) return;
    perp__tape_clear(&f->tape);
    perp_model_destroy(f->model);
    free(f->ws);
    free(f->terms);
    free(f->out);
    free(f->symbol);
    free(f->start);
    free(f->row);
    free(f);
}

static int evaluate(perp_formulas *f, const double *z, int first, int count, double *values)
{
    int ok = 1, is_known = f->is_evaluated; /* J where F was, as solvers ask for them */
    for (int i = 0; i < f->n; i++) {
        is_known = is_known && memcmp(&f->ws[f->symbol[i]], &z[i], sizeof *z) == 0;
        f->ws[f->symbol[i]] = z[i];
    }
    if (!is_known) perp__tape_get(&f->tape, f->ws, f->out);
    f->is_evaluated = 1;
    for (int i = 0; i < count; i++) {
        values[i] = f->out[first + i];
        ok = ok && isfinite(values[i]);
    }
    return ok ? 0 : 1;
}

static int evaluate_F(void *context, const double *z, double *w)
{
    perp_formulas *f = context;
    return evaluate(f, z, 0, f->n, w);
}

static int evaluate_J(void *context, const double *z, double *values)
{
    perp_formulas *f = context;
    return evaluate(f, z, f->n, f->nnz, values);
}

/* The z_i are exact. */
static int evaluate_rounding(void *context, const double *z, double *bounds)
{
    perp_formulas *f = context;
    int ok = evaluate(f, z, 0, f->n, bounds) == 0;
    perp__tape_complete(&f->tape, f->ws);
    for (int i = 0; i < f->n; i++)
        f->terms[f->symbol[i]] = (perp__terms){.scale = fabs(z[i]), .rounding = 0};
    perp__tape_terms(&f->tape, f->ws, NULL, f->terms);
    for (int i = 0; i < f->n; i++) {
        bounds[i] = f->terms[f->tape.out[i]].rounding * (DBL_EPSILON / 2);
        ok = ok && isfinite(bounds[i]);
    }
    return ok ? 0 : 1;
}

perp_mcp perp_formulas_mcp(perp_formulas *f)
{
    return (perp_mcp){.n = f->n,
                      .F = evaluate_F,
                      .J = evaluate_J,
                      .context = f,
                      .column_start = f->start,
                      .row = f->row,
                      .rounding = evaluate_rounding};
}
