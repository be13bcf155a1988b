/* perp_export_casadi: conditions of a model as C functions of CasADi's interface for external
 * functions, with derivatives of first and second order. A function is matrices of expressions in
 * the model's symbols, and its derivative such a function again. */

#include "base/base.h"
#include "base/text.h"
#include "export/code.h"
#include "export/export.h"
#include "model/emit.h"
#include "model/instant.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Functions ------------------------------------------------------------------------------------ */

enum { IN_T, IN_H, IN_BEFORE, IN_X, IN_DER, IN_Z, IN_U, IN_P, INPUTS };
static const char *const input_name[INPUTS] = {"t", "h", "before", "x", "der", "z", "u", "p"};

enum { MOST_NAME = 64 };

typedef struct entry {
    int64_t row;
    int column;
    perp_expr e;
} entry;

/* In the order of columns, each in that of rows. */
typedef struct matrix {
    char name[MOST_NAME];
    int64_t rows;
    int columns, n, capacity;
    entry *entry;
} matrix;

/* Of inputs first..first + count - 1, and `given`: the results of the original function, which
 * CasADi passes to its derivative as further inputs. They are not read. */
typedef struct function {
    char name[MOST_NAME];
    int first, count;
    int ngiven, nout;
    matrix *given, *out;
    perp__tape tape;
} function;

typedef struct writer {
    perp_model *model;
    perp__instant at;
    int size[INPUTS], *symbol[INPUTS]; /* of the inputs */
    int *input_of, *column_of;         /* by symbol: which input's which element; -1 */
    int nsymbol;
    function *function;
    int nfunction, cfunction;
    int **pattern, npattern,
        cpattern;   /* what was written: rows, columns, starts, rows of entries */
    double *number; /* results that are constants */
    int nnumber, cnumber;
    char name[PERP__IDENTIFIER];
    perp__text text;
    int failed;
} writer;

/* a, b and c one after the other. What has no room is left out. */
static void join(char name[MOST_NAME], const char *a, const char *b, const char *c)
{
    const char *part[] = {a, b, c};
    int n = 0;
    for (int i = 0; i < 3; i++)
        for (const char *p = part[i]; *p && n < MOST_NAME - 1; p++) name[n++] = *p;
    name[n] = 0;
}

static perp__graph *graph_of(writer *w)
{
    return &w->model->graph;
}

static int count_of(const writer *w, perp_symbol_kind kind)
{
    return w->model->nitem[kind];
}

static function *add_function(writer *w, const char *prefix, const char *name, int first, int count,
                              int ngiven, int nout)
{
    if (w->failed ||
        !perp__grow(&w->function, &w->cfunction, w->nfunction + 1, sizeof *w->function)) {
        w->failed = 1;
        return NULL;
    }
    function *f = &w->function[w->nfunction++];
    *f = (function){.first = first, .count = count, .ngiven = ngiven, .nout = nout};
    join(f->name, prefix, name, "");
    f->given = calloc((size_t)ngiven + 1, sizeof *f->given);
    f->out = calloc((size_t)nout + 1, sizeof *f->out);
    if (!f->given || !f->out) {
        w->failed = 1;
        return NULL;
    }
    return f;
}

static void add_entry(writer *w, matrix *m, int64_t row, int column, perp_expr e)
{
    if (w->failed || !perp__grow(&m->entry, &m->capacity, m->n + 1, sizeof *m->entry)) {
        w->failed = 1;
        return;
    }
    m->entry[m->n++] = (entry){row, column, e};
}

static matrix *set_column(matrix *m, const char *name, int rows)
{
    join(m->name, name, "", "");
    m->rows = rows;
    m->columns = 1;
    return m;
}

/* Inputs --------------------------------------------------------------------------------------- */

static int symbol_of(const perp_model *m, int input, int i)
{
    switch (input) {
    case IN_T: return PERP__SYM_T;
    case IN_H: return PERP__SYM_H;
    case IN_BEFORE: return m->item[PERP_STATE][i].symbol + PERP__PRE;
    case IN_X: return m->item[PERP_STATE][i].symbol + PERP__NEXT;
    case IN_DER: return m->nsymbol + i;
    case IN_Z: return m->item[PERP_VAR][i].symbol;
    case IN_U: return m->item[PERP_INPUT][i].symbol + PERP__NOW;
    default: return m->item[PERP_PARAM][i].symbol;
    }
}

static int is_read(const perp_model *m, int input, int i)
{
    const perp__item *param = m->item[PERP_PARAM];
    return input != IN_P || (perp__is_number(m, &param[i]) && !param[i].is_structural);
}

static int find_inputs(writer *w)
{
    const perp_model *m = w->model;
    const int *n = m->nitem, ns = n[PERP_STATE],
              most[INPUTS] = {1, 1, ns, ns, ns, n[PERP_VAR], n[PERP_INPUT], n[PERP_PARAM]};
    w->nsymbol = m->nsymbol + ns;
    w->input_of = malloc((size_t)w->nsymbol * sizeof *w->input_of);
    w->column_of = malloc((size_t)w->nsymbol * sizeof *w->column_of);
    if (!w->input_of || !w->column_of) return 0;
    for (int s = 0; s < w->nsymbol; s++) w->input_of[s] = w->column_of[s] = -1;
    for (int k = 0; k < INPUTS; k++) {
        w->symbol[k] = malloc(((size_t)most[k] + 1) * sizeof *w->symbol[k]);
        if (!w->symbol[k]) return 0;
        for (int i = 0; i < most[k]; i++) {
            if (!is_read(m, k, i)) continue;
            int s = symbol_of(m, k, i);
            w->input_of[s] = k;
            w->column_of[s] = w->size[k];
            w->symbol[k][w->size[k]++] = s;
        }
    }
    return 1;
}

/* A step from `before`, over h to t: inputs are held in it. */
static int make_instant(writer *w)
{
    const perp_model *m = w->model;
    perp__graph *g = graph_of(w);
    perp__instant *at = &w->at;
    perp__scheme scheme = perp__scheme_make("backward-euler", 1);
    if (!perp__instant_create(at, m, g, &scheme, m->nsymbol, w->nsymbol)) return 0;
    at->time[0] = perp__symbol(g, PERP__SYM_T);
    at->h = perp__symbol(g, PERP__SYM_H);
    at->start = perp__sub(g, at->time[0], at->h);
    at->theta = perp__const(g, 1);
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++) {
        int s = m->item[PERP_PARAM][i].symbol;
        at->known[s] = w->input_of[s] == IN_P ? perp__symbol(g, s) : perp__instant_param(at, i);
    }
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++)
        at->input[i] = at->input_before[i] = perp__symbol(g, symbol_of(m, IN_U, i));
    for (int i = 0; i < m->nitem[PERP_STATE]; i++) {
        at->state[i] = perp__symbol(g, symbol_of(m, IN_X, i));
        at->before[i] = perp__symbol(g, symbol_of(m, IN_BEFORE, i));
    }
    for (int i = 0; i < m->nitem[PERP_VAR]; i++)
        at->var[i] = perp__symbol(g, symbol_of(m, IN_Z, i));
    return !g->failed;
}

/* What the model says -------------------------------------------------------------------------- */

static perp_expr read_at(writer *w, perp_expr e, perp__reading reading)
{
    return perp__instant_read(&w->at, e, reading, 0);
}

static void add_residual(writer *w)
{
    const perp_model *m = w->model;
    function *f = add_function(w, "", "residual", 0, INPUTS, 0, 1);
    if (!f) return;
    matrix *r = set_column(&f->out[0], "r", m->nequation);
    for (int i = 0; i < m->nequation; i++) {
        perp_expr left = read_at(w, m->equation[i].left, PERP__AT_RATES);
        add_entry(w, r, i, 0,
                  perp__sub(graph_of(w), left, read_at(w, m->equation[i].right, PERP__AT_RATES)));
    }
}

static void add_pairs(writer *w)
{
    static const char *const name[] = {"a", "b", "lo", "hi", "on"};
    const perp_model *m = w->model;
    perp__graph *g = graph_of(w);
    function *f = add_function(w, "", "pairs", 0, INPUTS, 0, 5);
    for (int k = 0; f && k < 5; k++) {
        matrix *side = set_column(&f->out[k], name[k], m->npair);
        for (int i = 0; i < m->npair; i++) {
            const perp__pair *p = &m->pair[i];
            const perp_expr one_sided[] = {p->a, p->b, -1, -1, p->guard},
                            two_sided[] = {p->a, p->b, p->lo, p->hi, p->guard};
            perp_expr e = (p->two_sided ? two_sided : one_sided)[k];
            if (e >= 0)
                e = read_at(w, e, k == 4 ? PERP__AT_START : PERP__AT_RATES);
            else
                e = perp__const(g, k == 4);
            if (k == 3 && !p->two_sided) e = perp__const(g, INFINITY);
            add_entry(w, side, i, 0, e);
        }
    }
}

static void add_outputs(writer *w)
{
    const perp_model *m = w->model;
    perp__reading reading = m->kind == PERP_DISCRETE ? PERP__AT_ROW : PERP__AT_RATES;
    function *f = add_function(w, "", "outputs", 0, INPUTS, 0, 1);
    if (!f) return;
    matrix *y = set_column(&f->out[0], "y", m->nitem[PERP_OUTPUT]);
    for (int i = 0; i < m->nitem[PERP_OUTPUT]; i++)
        add_entry(w, y, i, 0, read_at(w, m->item[PERP_OUTPUT][i].expr, reading));
}

/* Initial states, by the parameters. */
static void add_start(writer *w)
{
    const perp_model *m = w->model;
    perp__graph *g = graph_of(w);
    function *f = add_function(w, "", "start", IN_P, 1, 0, 1);
    if (!f) return;
    matrix *x = set_column(&f->out[0], "x", m->nitem[PERP_STATE]);
    for (int i = 0; i < m->nitem[PERP_STATE]; i++) {
        const perp__item *state = &m->item[PERP_STATE][i];
        perp_expr e = perp__const(g, state->value);
        if (!state->is_set && state->expr >= 0)
            perp__graph_copy(g, g, &state->expr, 1, w->at.known, &e);
        add_entry(w, x, i, 0, e);
    }
}

static void add_parameters(writer *w)
{
    const perp_model *m = w->model;
    function *f = add_function(w, "", "parameters", 0, 0, 0, 1);
    if (!f) return;
    matrix *p = set_column(&f->out[0], "p", w->size[IN_P]);
    for (int i = 0, n = 0; i < m->nitem[PERP_PARAM]; i++)
        if (w->input_of[m->item[PERP_PARAM][i].symbol] == IN_P)
            add_entry(w, p, n++, 0, perp__const(graph_of(w), m->item[PERP_PARAM][i].value));
}

/* Derivatives ---------------------------------------------------------------------------------- */

static int by_place(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    if (a->column != b->column) return a->column < b->column ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* d out/d inputs into to[0 .. count - 1]. The others are of what is given, and have no entries. */
static void derive_matrix(writer *w, const function *f, const matrix *out, matrix *to)
{
    for (int i = 0; i < f->count + f->ngiven; i++) {
        const char *by = i < f->count ? input_name[f->first + i] : f->given[i - f->count].name;
        join(to[i].name, "jac_", out->name, "_");
        join(to[i].name, to[i].name, by, "");
        to[i].rows = out->rows * out->columns;
        to[i].columns = i < f->count
                            ? w->size[f->first + i]
                            : (int)(f->given[i - f->count].rows * f->given[i - f->count].columns);
    }
    int *all = malloc((size_t)w->nsymbol * sizeof *all);
    for (int s = 0; all && s < w->nsymbol; s++) all[s] = w->input_of[s] >= 0 ? s : -1;
    for (int k = 0; all && k < out->n && !w->failed; k++) {
        const entry *e = &out->entry[k];
        perp__sparse_row row = {0};
        if (!perp__gradient(graph_of(w), e->e, all, &row)) w->failed = 1;
        for (int j = 0; j < row.count; j++) {
            int s = row.column[j], i = w->input_of[s] - f->first;
            if (i >= 0 && i < f->count)
                add_entry(w, &to[i], e->row + out->rows * e->column, w->column_of[s], row.entry[j]);
        }
        perp__sparse_row_clear(&row);
    }
    for (int i = 0; i < f->count; i++)
        if (to[i].n) qsort(to[i].entry, (size_t)to[i].n, sizeof *to[i].entry, by_place);
    w->failed |= !all;
    free(all);
}

/* CasADi finds the derivative of a function by its name. */
static void derive(writer *w, int which)
{
    const function of = w->function[which];
    int nin = of.count + of.ngiven;
    function *f =
        add_function(w, "jac_", of.name, of.first, of.count, of.ngiven + of.nout, of.nout * nin);
    if (!f) return;
    for (int i = 0; i < f->ngiven; i++) {
        const matrix *from = i < of.ngiven ? &of.given[i] : &of.out[i - of.ngiven];
        matrix *given = &f->given[i];
        given->rows = from->rows;
        given->columns = from->columns;
        join(given->name, i < of.ngiven ? "" : "out_", from->name, "");
    }
    for (int k = 0; k < of.nout; k++) derive_matrix(w, &of, &of.out[k], f->out + k * nin);
}

/* Text ----------------------------------------------------------------------------------------- */

/* The number of a pattern, which is written when it is met first: of a matrix without entries the
 * same, whatever its name. */
static int pattern_of(writer *w, const matrix *m, int is_dense)
{
    int n = is_dense ? 0 : m->n, length = 2 + m->columns + 1 + n;
    int *x = malloc((size_t)length * sizeof *x);
    if (!x || !perp__grow(&w->pattern, &w->cpattern, w->npattern + 1, sizeof *w->pattern)) {
        free(x);
        w->failed = 1;
        return 0;
    }
    if (is_dense) length = 3;
    x[0] = (int)m->rows;
    x[1] = m->columns;
    x[2] = is_dense;
    for (int c = 0, k = 0; !is_dense && c < m->columns; c++) {
        for (; k < n && m->entry[k].column == c; k++) x[3 + m->columns + k] = (int)m->entry[k].row;
        x[3 + c] = k;
    }
    for (int i = 0; i < w->npattern; i++)
        if (w->pattern[i][0] == length &&
            memcmp(w->pattern[i] + 1, x, (size_t)length * sizeof *x) == 0) {
            free(x);
            return i;
        }
    int *kept = malloc(((size_t)length + 1) * sizeof *kept);
    if (!kept) {
        free(x);
        w->failed = 1;
        return 0;
    }
    kept[0] = length;
    memcpy(kept + 1, x, (size_t)length * sizeof *x);
    free(x);
    w->pattern[w->npattern] = kept;
    perp__text_format(&w->text, "static const casadi_int pattern%d[%d] = {", w->npattern, length);
    for (int i = 0; i < length; i++)
        perp__text_format(&w->text, i % 24 ? " %d," : "\n    %d,", kept[1 + i]);
    perp__text_put(&w->text, "};\n");
    return w->npattern++;
}

static void put_list(writer *w, const char *what, int k, const int *x, int n)
{
    perp__text_format(&w->text, "static const int %s%d[%d] = {", what, k, n ? n : 1);
    if (n == 0) perp__text_put(&w->text, "0");
    for (int i = 0; i < n; i++) perp__text_format(&w->text, i % 24 ? " %d," : "\n    %d,", x[i]);
    perp__text_put(&w->text, "};\n");
}

/* Where a result stands in the workspace; below 0 the number -1 - it. */
static int place_of(writer *w, const perp__tape *tape, int slot, const int *place)
{
    int constant = slot - tape->first;
    if (constant < 0 || constant >= tape->nconst) return place[slot];
    if (!perp__grow(&w->number, &w->cnumber, w->nnumber + 1, sizeof *w->number)) {
        w->failed = 1;
        return 0;
    }
    w->number[w->nnumber++] = tape->constant[constant];
    return -w->nnumber;
}

static void put_patterns(writer *w, int k, const char *what, const int *x, int n)
{
    perp__text_format(&w->text, "static const casadi_int *const %s%d[%d] = {", what, k, n ? n : 1);
    if (n == 0) perp__text_put(&w->text, "0");
    for (int i = 0; i < n; i++)
        perp__text_format(&w->text, i % 12 ? " pattern%d," : "\n    pattern%d,", x[i]);
    perp__text_put(&w->text, "};\n");
}

/* What CasADi asks of a function. */
static void put_interface(writer *w, int k, int nplace)
{
    const function *f = &w->function[k];
    perp__text *t = &w->text;
    const char *before = "", *name = f->name;
    if (strncmp(name, "jac_jac_", 8) == 0) {
        before = "jac_jac_";
        name += 8;
    } else if (strncmp(name, "jac_", 4) == 0) {
        before = "jac_";
        name += 4;
    }
    char own[2 * MOST_NAME + PERP__IDENTIFIER];
    snprintf(own, sizeof own, "%s%s_%s", before, w->name, name);
    perp__text_format(t, "\nSYMBOL casadi_int %s_n_in(void)\n{\n    return %d;\n}\n\n", own,
                      f->count + f->ngiven);
    perp__text_format(t, "SYMBOL casadi_int %s_n_out(void)\n{\n    return %d;\n}\n\n", own,
                      f->nout);
    perp__text_format(t, "SYMBOL const char *%s_name_in(casadi_int i)\n{\n", own);
    perp__text_format(t, "    return i >= 0 && i < %d ? input_name%d[i] : 0;\n}\n\n",
                      f->count + f->ngiven, k);
    perp__text_format(t, "SYMBOL const char *%s_name_out(casadi_int i)\n{\n", own);
    perp__text_format(t, "    return i >= 0 && i < %d ? output_name%d[i] : 0;\n}\n\n", f->nout, k);
    perp__text_format(t, "SYMBOL const casadi_int *%s_sparsity_in(casadi_int i)\n{\n", own);
    perp__text_format(t, "    return i >= 0 && i < %d ? input%d[i] : 0;\n}\n\n",
                      f->count + f->ngiven, k);
    perp__text_format(t, "SYMBOL const casadi_int *%s_sparsity_out(casadi_int i)\n{\n", own);
    perp__text_format(t, "    return i >= 0 && i < %d ? output%d[i] : 0;\n}\n\n", f->nout, k);
    perp__text_format(
        t,
        "SYMBOL int %s_work(casadi_int *arg, casadi_int *res, casadi_int *iw, casadi_int *w)\n{\n"
        "    if (arg) *arg = %d;\n    if (res) *res = %d;\n    if (iw) *iw = 0;\n    if (w) *w = "
        "%d;\n    return 0;\n}\n\n",
        own, f->count + f->ngiven, f->nout, nplace);
    perp__text_format(
        t,
        "SYMBOL int %s(const real **arg, real **res, casadi_int *iw, real *w, int mem)\n{\n"
        "    (void)iw, (void)mem;\n    read(arg, w, %d, %d);\n    function%db(w);\n"
        "    write(res, w, output%d, %d, at%d);\n    return 0;\n}\n",
        own, f->first, f->count, k, k, f->nout, k);
}

static void put_names(writer *w, int k, const char *what, int n,
                      const char *(*name)(const function *, int))
{
    perp__text_format(&w->text, "static const char *const %s_name%d[%d] = {", what, k, n ? n : 1);
    if (n == 0) perp__text_put(&w->text, "0");
    for (int i = 0; i < n; i++)
        perp__text_format(&w->text, i % 6 ? " \"%s\"," : "\n    \"%s\",", name(&w->function[k], i));
    perp__text_put(&w->text, "};\n");
}

static const char *name_in(const function *f, int i)
{
    return i < f->count ? input_name[f->first + i] : f->given[i - f->count].name;
}

static const char *name_out(const function *f, int i)
{
    return f->out[i].name;
}

static void put_tables(writer *w, int k, const int *place)
{
    const function *f = &w->function[k];
    int nin = f->count + f->ngiven, n = 0;
    int *x = malloc(((size_t)f->tape.nout + (size_t)nin + (size_t)f->nout + 1) * sizeof *x);
    if (!x) {
        w->failed = 1;
        return;
    }
    for (int i = 0; i < f->count; i++)
        x[i] = pattern_of(w, &(matrix){.rows = w->size[f->first + i], .columns = 1},
                          w->size[f->first + i] > 0);
    for (int i = f->count; i < nin; i++) x[i] = pattern_of(w, &f->given[i - f->count], 0);
    put_patterns(w, k, "input", x, nin);
    for (int i = 0; i < f->nout; i++) x[i] = pattern_of(w, &f->out[i], 0);
    put_patterns(w, k, "output", x, f->nout);
    for (int i = 0; i < f->tape.nout; i++) x[n++] = place_of(w, &f->tape, f->tape.out[i], place);
    put_list(w, "at", k, x, n);
    put_names(w, k, "input", nin, name_in);
    put_names(w, k, "output", f->nout, name_out);
    free(x);
}

/* A comment has no end but its own. */
static void put_comment(writer *w, const char *text)
{
    for (const char *p = text; *p; p++)
        perp__text_format(&w->text, "%c",
                          (*p == '/' && p > text && p[-1] == '*') || *p == '\\' ? '_' : *p);
}

/* Elements by name and unit, in their order. */
static void put_elements(writer *w, const char *what, perp_symbol_kind kind)
{
    perp__text_format(&w->text, "\n * %s:", what);
    for (int i = 0, n = 0; i < count_of(w, kind); i++) {
        const perp__item *item = &w->model->item[kind][i];
        if (kind == PERP_PARAM && w->input_of[item->symbol] != IN_P) continue;
        perp__text_put(&w->text, n++ ? ", " : " ");
        if (n % 12 == 0) perp__text_put(&w->text, "\n *     ");
        put_comment(w, item->name);
        if (!item->unit || !*item->unit) continue;
        perp__text_put(&w->text, " [");
        put_comment(w, item->unit);
        perp__text_put(&w->text, "]");
    }
}

static void put_head(writer *w)
{
    perp__text *t = &w->text;
    perp__text_format(t,
                      "/* Conditions of a model and their derivatives as functions for CasADi's "
                      "`external`, made by perp %s.\n *\n",
                      perp_version());
    perp__text_format(t, " *     cc -O2 -shared -fPIC %s.c -lm -o %s.so\n", w->name, w->name);
    perp__text_format(t, " *     residual = casadi.external('%s_residual', './%s.so')\n *\n",
                      w->name, w->name);
    perp__text_put(t, " * residual: 0 = r. pairs: lo <= a <= hi perp b: b >= 0 where a = lo, <= 0 "
                      "where a = hi, else 0; where `on` is 0, a = 0 instead. outputs: y.\n"
                      " * Of a step from `before` over h to t with states x, their derivatives der "
                      "(by backward Euler (x - before)/h), vars z, inputs u, parameters p.\n *");
    put_elements(w, "states x", PERP_STATE);
    put_elements(w, "vars z", PERP_VAR);
    put_elements(w, "inputs u", PERP_INPUT);
    put_elements(w, "parameters p", PERP_PARAM);
    put_elements(w, "outputs y", PERP_OUTPUT);
    perp__text_put(
        t, " */\n\n#include <math.h>\n\n#ifndef casadi_real\n#define casadi_real "
           "double\n#endif\n#ifndef casadi_int\n#define casadi_int long long int\n#endif\n"
           "#if defined(_WIN32)\n#define SYMBOL __declspec(dllexport)\n#elif "
           "defined(__GNUC__)\n#define SYMBOL "
           "__attribute__((visibility(\"default\")))\n#else\n#define SYMBOL\n#endif\n\n"
           "typedef casadi_real real;\n#define R(x) ((real)(x))\n#define MATH(name) name\n\n");
}

static void put_common(writer *w)
{
    perp__text_put(&w->text, "static const real number[] = {");
    for (int i = 0; i < w->nnumber; i++) {
        perp__text_put(&w->text, i % 8 ? " " : "\n    ");
        perp__emit_number(&w->text, w->number[i]);
        perp__text_put(&w->text, ",");
    }
    perp__text_put(&w->text, w->nnumber ? "};\n" : "0};\n");
    put_list(w, "size", 0, w->size, INPUTS);
    perp__text_put(
        &w->text,
        "\n/* Inputs first .. first + n - 1 to their places; one that is not there is 0. */\n"
        "static void read(const real **arg, real *w, int first, int n)\n{\n"
        "    for (int i = 0; i < first; i++) w += size0[i];\n"
        "    for (int i = 0; i < n; i++)\n"
        "        for (int k = 0; k < size0[first + i]; k++) *w++ = arg[i] ? arg[i][k] : "
        "R(0);\n}\n\n"
        "static void write(real **res, const real *w, const casadi_int *const *pattern, int n, "
        "const int *at)\n{\n"
        "    for (int i = 0; i < n; i++) {\n"
        "        casadi_int entries = pattern[i][2 + pattern[i][1]];\n"
        "        for (casadi_int k = 0; k < entries; k++, at++)\n"
        "            if (res[i]) res[i][k] = *at < 0 ? number[-1 - *at] : w[*at];\n"
        "    }\n}\n");
}

/* Tapes ---------------------------------------------------------------------------------------- */

static int compile(writer *w, int k, int first)
{
    function *f = &w->function[k];
    int n = 0, ok;
    for (int i = 0; i < f->nout; i++) n += f->out[i].n;
    perp_expr *root = malloc(((size_t)n + 1) * sizeof *root);
    if (!root) return 0;
    n = 0;
    for (int i = 0; i < f->nout; i++)
        for (int j = 0; j < f->out[i].n; j++) root[n++] = f->out[i].entry[j].e;
    ok = perp__tape_compile(&f->tape, graph_of(w), root, n, first);
    free(root);
    return ok;
}

static int write_text(writer *w, perp_casadi_info *info)
{
    int first = w->nsymbol, ok = 1, n = w->nfunction;
    perp__emitted *emitted = calloc((size_t)n + 1, sizeof *emitted);
    perp__emit_style style = {0};
    for (int k = 0; k < n && ok && emitted; k++) {
        ok = compile(w, k, first);
        first = perp__tape_end(&w->function[k].tape);
        emitted[k].tape = &w->function[k].tape;
        info->statements += w->function[k].tape.ncode;
    }
    style.place = malloc(((size_t)first + 1) * sizeof *style.place);
    ok = ok && emitted && style.place;
    if (ok) {
        for (int s = 0; s < first; s++) style.place[s] = -1;
        for (int k = 0; k < INPUTS; k++)
            for (int i = 0; i < w->size[k]; i++) style.place[w->symbol[k][i]] = style.nplace++;
        put_head(w);
        ok = perp__emit(&w->text, "function", emitted, n, &style);
        for (int k = 0; k < n && ok; k++) put_tables(w, k, style.place);
        put_common(w);
        for (int k = 0; k < n && ok; k++) put_interface(w, k, style.nplace);
    }
    free(emitted);
    free(style.place);
    return ok && !w->failed && !w->text.failed;
}

/* ---------------------------------------------------------------------------------------------- */

/* Rows of a second derivative are numbered by an int. */
static int is_too_large(const writer *w)
{
    const perp_model *m = w->model;
    double rows = fmax(m->nequation, fmax(m->npair, m->nitem[PERP_OUTPUT])), most = 1;
    for (int k = 0; k < INPUTS; k++) most = fmax(most, w->size[k]);
    return rows * most > 1e9 || most * most > 1e9;
}

static perp_status make(writer *w, int order, perp_casadi_info *info, perp_diag *diag)
{
    if (!find_inputs(w)) return perp__out_of_memory(diag, "export");
    if (is_too_large(w))
        return perp__refuse(diag, PERP_ERR_UNAVAILABLE, perp__in(w->model->source.name),
                            "the model has too many unknowns for tables of its derivatives\n");
    if (!make_instant(w)) return perp__out_of_memory(diag, "export");
    add_residual(w);
    add_pairs(w);
    add_outputs(w);
    add_start(w);
    for (int done = 0, first = 0; done < order; done++) {
        int end = w->nfunction;
        for (int k = first; k < end && !w->failed; k++) derive(w, k);
        first = end;
    }
    add_parameters(w);
    if (w->failed || graph_of(w)->failed || !write_text(w, info))
        return perp__out_of_memory(diag, "export");
    info->equations = w->model->nequation;
    info->pairs = w->model->npair;
    info->functions = w->nfunction;
    return PERP_OK;
}

static void clear(writer *w)
{
    for (int k = 0; k < w->nfunction; k++) {
        function *f = &w->function[k];
        for (int i = 0; f->out && i < f->nout; i++) free(f->out[i].entry);
        free(f->out);
        free(f->given);
        perp__tape_clear(&f->tape);
    }
    for (int k = 0; k < INPUTS; k++) free(w->symbol[k]);
    for (int i = 0; i < w->npattern; i++) free(w->pattern[i]);
    free(w->function);
    free(w->pattern);
    free(w->number);
    free(w->input_of);
    free(w->column_of);
    perp__instant_clear(&w->at);
    perp__text_clear(&w->text);
    perp_model_destroy(w->model);
}

void perp_casadi_options_fill(perp_casadi_options *options, size_t size)
{
    perp_casadi_options own = {.size = sizeof own, .order = 2};
    perp__options_give(options, size, &own, sizeof own);
}

perp_status perp_export_casadi(const perp_model *model, const perp_casadi_options *options,
                               const char *path, perp_casadi_info *info, perp_diag *diag)
{
    writer w = {0};
    perp_casadi_info own = {.size = sizeof own};
    perp_casadi_options o;
    perp_casadi_options_fill(&o, sizeof o);
    if (!model || !path || !PERP__FITS(info) || !perp__options_take(&o, sizeof o, options))
        return PERP_ERR_ARG;
    if (o.order < 0 || o.order > 2)
        return perp__refuse(diag, PERP_ERR_ARG, perp__in(NULL),
                            "derivatives of order 0, 1 or 2 are expected\n");
    perp_status status = perp__model_clone(model, &w.model);
    if (status != PERP_OK) return perp__out_of_memory(diag, "export");
    perp__identifier(w.name, sizeof w.name, perp_model_name(model));
    status = make(&w, o.order, &own, diag);
    if (status == PERP_OK) status = perp__text_write(&w.text, path, diag);
    if (status == PERP_OK && info) {
        own.size = info->size;
        *info = own;
    }
    clear(&w);
    return status;
}
