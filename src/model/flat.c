/* A model as text without parts, loops and sums: what the graph holds, each name with its points
 * and brackets as underscores. Expressions that several conditions share are lets, so that a text
 * is no longer than its graph. */

#include "base/text.h"
#include "model/builder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 100, NAME_ROOM = 600 }; /* of an expression in one line */

typedef struct flat {
    const perp_model *model;
    perp__text text, body; /* the body has lets that come before it, and is put behind them */
    perp__arena arena;
    perp__names taken;
    const char **symbol; /* what each symbol is called: "x", "pre(x)", "der(x)" */
    int *uses;           /* number of uses of a node as an operand; 0: not visited */
    const char **let;    /* its name as a let; NULL: it is none */
    int in_guard;
    int failed;
} flat;

/* Names ---------------------------------------------------------------------------------------- */

/* One of the text, for "train[2].x": "train_2_x", and a stroke more where that is taken. */
static const char *plain_name(flat *f, const char *full)
{
    char name[NAME_ROOM];
    size_t n = 0;
    for (const char *s = full; *s && n + 20 < sizeof name; s++) {
        if (*s != ']') name[n++] = strchr(".[,", *s) ? '_' : *s;
    }
    for (name[n] = 0; perp__is_reserved(name) || perp__names_find(&f->taken, name) >= 0;) {
        name[n++] = '_';
        name[n] = 0;
        if (n + 1 == sizeof name) break;
    }
    const char *kept = perp__arena_string(&f->arena, name, n);
    if (!kept || !perp__names_add(&f->taken, kept, 0)) f->failed = 1;
    return kept ? kept : "";
}

static void call_symbol(flat *f, int symbol, const char *format, const char *name)
{
    char text[NAME_ROOM + 8];
    snprintf(text, sizeof text, format, name);
    f->symbol[symbol] = perp__arena_string(&f->arena, text, strlen(text));
    if (!f->symbol[symbol]) {
        f->failed = 1;
        f->symbol[symbol] = "";
    }
}

static void name_symbols(flat *f)
{
    const perp_model *m = f->model;
    call_symbol(f, PERP__SYM_T, "%s", "t");
    call_symbol(f, PERP__SYM_T_PRE, "pre(%s)", "t");
    call_symbol(f, PERP__SYM_H, "%s", "h");
    for (int kind = 0; kind < PERP_OUTPUT; kind++) {
        int n = kind == PERP_VAR ? m->nvar : m->nitem[kind];
        for (int i = 0; i < n && !f->failed; i++) {
            const perp__item *item = &m->item[kind][i];
            const char *name = plain_name(f, item->name);
            call_symbol(f, item->symbol, "%s", name);
            if (kind == PERP_INPUT) call_symbol(f, item->symbol + PERP__INPUT_PRE, "pre(%s)", name);
            if (kind != PERP_STATE) continue;
            call_symbol(f, item->symbol + PERP__DER, "der(%s)", name);
            call_symbol(f, item->symbol + PERP__NEXT, "next(%s)", name);
            call_symbol(f, item->symbol + PERP__PRE, "pre(%s)", name);
        }
    }
}

/* Expressions ---------------------------------------------------------------------------------- */

static void put_number(perp__text *t, double x)
{
    char number[PERP_NUMBER_SIZE];
    perp_number_write(fabs(x), number);
    perp__text_format(t, x < 0 ? "(-%s)" : "%s", number);
}

/* At the beginning of the step names alone are what they were then. */
static void put_symbol(flat *f, perp__text *t, int symbol)
{
    const char *name = f->symbol[symbol] ? f->symbol[symbol] : "?";
    size_t n = strlen(name);
    if (f->in_guard && strncmp(name, "pre(", 4) == 0)
        perp__text_bytes(t, name + 4, n - 5);
    else
        perp__text_put(t, name);
}

static void put(flat *f, perp__text *t, perp_expr e);

static void put_operand(flat *f, perp__text *t, perp_expr e)
{
    int op = f->model->graph.node[e].op,
        is_simple = op == PERP__SYMBOL || op == PERP__CONST || perp__op_text(op) || f->let[e];
    if (!is_simple) perp__text_put(t, "(");
    put(f, t, e);
    if (!is_simple) perp__text_put(t, ")");
}

static void put_node(flat *f, perp__text *t, perp_expr e)
{
    static const char *const sign[PERP__OP_COUNT] = {
        [PERP__ADD] = " + ", [PERP__SUB] = " - ", [PERP__MUL] = "*", [PERP__DIV] = "/",
        [PERP__POW] = "^",   [PERP__LE] = " <= ", [PERP__LT] = " < "};
    const perp__node *node = &f->model->graph.node[e];
    const char *word = perp__op_text(node->op);
    int jumps = node->op == PERP__LE || node->op == PERP__LT;
    if (node->op == PERP__CONST) {
        put_number(t, node->value);
    } else if (node->op == PERP__SYMBOL) {
        put_symbol(f, t, node->a);
    } else if (node->op == PERP__NEG) {
        perp__text_put(t, "-");
        put_operand(f, t, node->a);
    } else if (word) {
        perp__text_format(t, "%s(", word);
        put(f, t, node->a);
        if (perp__op_arity(node->op) == 2) perp__text_put(t, ", ");
        if (perp__op_arity(node->op) == 2) put(f, t, node->b);
        perp__text_put(t, ")");
    } else {
        if (jumps) perp__text_put(t, "choose(");
        put_operand(f, t, node->a);
        perp__text_put(t, sign[node->op] ? sign[node->op] : " ? ");
        put_operand(f, t, node->b);
        if (jumps) perp__text_put(t, ", 1, 0)");
    }
}

static void put(flat *f, perp__text *t, perp_expr e)
{
    if (f->let[e])
        perp__text_put(t, f->let[e]);
    else
        put_node(f, t, e);
}

/* Operands come before what they are in: one walk finds how large an expression is and which ones
 * are lets. */
static void find_lets(flat *f, const perp_expr *root, int nroot)
{
    char name[16];
    int nlet = 0;
    const perp__graph *g = &f->model->graph;
    int n, *reach = perp__graph_reach(g, root, nroot, &n),
           *size = calloc((size_t)g->count, sizeof *size);
    if (!reach || !size) f->failed = 1;
    for (int i = 0; i < n && !f->failed; i++) {
        const perp__node *node = &g->node[reach[i]];
        int arity = perp__op_arity(node->op);
        if (arity > 0) f->uses[node->a]++;
        if (arity > 1) f->uses[node->b]++;
    }
    for (int i = 0; i < nroot && !f->failed; i++) f->uses[root[i]]++;
    for (int i = 0; i < n && !f->failed; i++) {
        int e = reach[i], arity = perp__op_arity(g->node[e].op);
        const perp__node *node = &g->node[e];
        size[e] = 1;
        if (arity > 0) size[e] += size[node->a];
        if (arity > 1) size[e] += size[node->b];
        if (arity == 0 || (f->uses[e] < 2 && size[e] <= MOST_NODES)) continue;
        snprintf(name, sizeof name, "e%d", ++nlet);
        f->let[e] = plain_name(f, name);
        size[e] = 1;
    }
    for (int i = 0; i < n && !f->failed; i++) {
        if (!f->let[reach[i]]) continue;
        perp__text_format(&f->text, "let %s = ", f->let[reach[i]]);
        put_node(f, &f->text, reach[i]);
        perp__text_put(&f->text, "\n");
    }
    free(reach);
    free(size);
}

/* Declarations --------------------------------------------------------------------------------- */

static void put_ranges(flat *f, const perp__item *item)
{
    if (isfinite(item->lo) && isfinite(item->hi)) {
        perp__text_put(&f->text, "  in [");
        put(f, &f->text, item->of_params[0]);
        perp__text_put(&f->text, ", ");
        put(f, &f->text, item->of_params[1]);
        perp__text_put(&f->text, "]");
    }
    if (item->scale > 0) {
        perp__text_put(&f->text, " scale ");
        put(f, &f->text, item->of_params[2]);
    }
    if (item->unit[0]) perp__text_format(&f->text, "  \"%s\"", item->unit);
    perp__text_put(&f->text, "\n");
}

static void put_declarations(flat *f, perp_symbol_kind kind, const char *word)
{
    const perp_model *m = f->model;
    int n = kind == PERP_VAR ? m->nvar : m->nitem[kind];
    for (int i = 0; i < n; i++) {
        const perp__item *item = &m->item[kind][i];
        perp__text_format(&f->text, "%s %s", word, f->symbol[item->symbol]);
        if (item->table.n && item->table_column) {
            perp__text_format(&f->text, " = table(\"%s\", \"%s\")", item->table_file,
                              item->table_column);
        } else if (item->is_set && kind != PERP_INPUT) {
            perp__text_put(&f->text, " = ");
            put_number(&f->text, item->value);
        } else if (kind != PERP_VAR && (item->written >= 0 || item->expr >= 0)) {
            perp__text_put(&f->text, " = ");
            put(f, &f->text, item->written >= 0 ? item->written : item->expr);
        }
        put_ranges(f, item);
    }
}

/* Conditions ----------------------------------------------------------------------------------- */

static int is_joined(const flat *f, perp_expr e)
{
    int op = f->model->graph.node[e].op;
    return op == PERP__MIN || op == PERP__MAX;
}

/* g1 and g2 or g3, which group from the left: what is joined comes first. */
static void put_condition(flat *f, perp__text *t, perp_expr e)
{
    const perp__node *node = &f->model->graph.node[e];
    if (is_joined(f, e)) {
        int turned = is_joined(f, node->b);
        put_condition(f, t, turned ? node->b : node->a);
        perp__text_put(t, node->op == PERP__MIN ? " and " : " or ");
        put_condition(f, t, turned ? node->a : node->b);
    } else if (node->op == PERP__LE || node->op == PERP__LT) {
        put_operand(f, t, node->a);
        perp__text_put(t, node->op == PERP__LE ? " <= " : " < ");
        put_operand(f, t, node->b);
    } else {
        perp__text_put(t, "0.5 <= ");
        put_operand(f, t, e);
    }
}

static void put_guard(flat *f, perp__text *t, perp_expr guard)
{
    if (guard >= 0) {
        perp__text_put(t, " when ");
        f->in_guard = 1;
        put_condition(f, t, guard);
        f->in_guard = 0;
    }
    perp__text_put(t, "\n");
}

static void put_equation(flat *f, int i)
{
    put(f, &f->body, f->model->equation[i].left);
    perp__text_put(&f->body, " = ");
    put(f, &f->body, f->model->equation[i].right);
    perp__text_put(&f->body, "\n");
}

static void put_pair(flat *f, int i)
{
    const perp__pair *p = &f->model->pair[i];
    if (p->two_sided) {
        put(f, &f->body, p->lo);
        perp__text_put(&f->body, " <= ");
        put(f, &f->body, p->a);
        perp__text_put(&f->body, " <= ");
        put(f, &f->body, p->hi);
        perp__text_put(&f->body, " perp ");
        put(f, &f->body, p->b);
    } else {
        perp__text_put(&f->body, "0 <= ");
        put(f, &f->body, p->a);
        perp__text_put(&f->body, " perp ");
        put(f, &f->body, p->b);
        perp__text_put(&f->body, " >= 0");
    }
    put_guard(f, &f->body, p->guard);
}

static void put_both(flat *f, const char *word, const perp_expr *e, int n)
{
    perp__text_put(&f->body, word);
    put(f, &f->body, e[0]);
    if (n == 2) perp__text_put(&f->body, ", ");
    if (n == 2) put(f, &f->body, e[1]);
    perp__text_put(&f->body, "], ");
}

/* friction(...), which the next equations and pairs were made from; how many pairs. */
static int put_friction(flat *f, int i)
{
    const perp__contact *c = &f->model->contact[i];
    int n = 0;
    while (c->pair >= 0 && c->pair + n < f->model->npair &&
           f->model->pair[c->pair + n].contact == i)
        n++;
    put_both(f, "friction(f = [", c->f, c->n);
    put_both(f, "v = [", c->v, c->n);
    perp__text_put(&f->body, "bound = ");
    put(f, &f->body, c->bound);
    if (c->kind == PERP__CONTACT_FACETS) perp__text_format(&f->body, ", facets = %d", n - 1);
    perp__text_put(&f->body, ")");
    put_guard(f, &f->body, c->guard);
    return n;
}

/* In an order in which equations, pairs and contacts are each as they were. */
static void put_conditions(flat *f)
{
    const perp_model *m = f->model;
    int equation = 0, pair = 0;
    for (int c = 0; c < m->nfriction; c++) {
        const perp__contact *contact = &m->contact[c];
        while (equation < contact->equation) put_equation(f, equation++);
        while (pair < contact->pair) put_pair(f, pair++);
        pair += put_friction(f, c);
        if (contact->equation >= 0) equation += contact->n;
    }
    while (equation < m->nequation) put_equation(f, equation++);
    while (pair < m->npair) put_pair(f, pair++);
}

static void put_outputs(flat *f)
{
    for (int i = 0; i < f->model->nitem[PERP_OUTPUT]; i++) {
        const perp__item *item = &f->model->item[PERP_OUTPUT][i];
        perp__text_format(&f->body, "output %s = ", plain_name(f, item->name));
        put(f, &f->body, item->expr);
        if (item->unit[0]) perp__text_format(&f->body, "  \"%s\"", item->unit);
        perp__text_put(&f->body, "\n");
    }
}

/* The expressions of conditions and outputs, at the end of a step; the guards', at its beginning,
 * are written out. */
static perp_expr *roots_of(const perp_model *m, int *n)
{
    perp_expr *root = malloc(((size_t)m->nequation * 2 + (size_t)m->npair * 4 +
                              (size_t)m->nfriction * 6 + (size_t)m->nitem[PERP_OUTPUT] + 1) *
                             sizeof *root);
    *n = 0;
    for (int i = 0; i < m->nequation && root; i++) {
        if (m->equation[i].contact >= 0 && m->equation[i].contact < m->nfriction) continue;
        root[(*n)++] = m->equation[i].left;
        root[(*n)++] = m->equation[i].right;
    }
    for (int i = 0; i < m->npair && root; i++) {
        const perp__pair *p = &m->pair[i];
        if (p->contact >= 0 && p->contact < m->nfriction) continue;
        root[(*n)++] = p->a;
        root[(*n)++] = p->b;
        if (p->two_sided) root[(*n)++] = p->lo;
        if (p->two_sided) root[(*n)++] = p->hi;
    }
    for (int i = 0; i < m->nfriction && root; i++) {
        const perp__contact *c = &m->contact[i];
        for (int k = 0; k < c->n; k++) {
            root[(*n)++] = c->f[k];
            root[(*n)++] = c->v[k];
        }
        root[(*n)++] = c->bound;
    }
    for (int i = 0; i < m->nitem[PERP_OUTPUT] && root; i++)
        root[(*n)++] = m->item[PERP_OUTPUT][i].expr;
    return root;
}

static void put_setting(flat *f, const char *word, perp_expr e)
{
    if (e < 0) return;
    perp__text_format(&f->text, "%s", word);
    put(f, &f->text, e);
    perp__text_put(&f->text, "\n");
}

static void put_task(flat *f)
{
    const perp_model *m = f->model;
    if (m->from < 0 && m->to < 0 && m->step < 0 && !m->method.text && !m->plan) return;
    perp__text_put(&f->text, "simulate {\n");
    put_setting(f, "    from ", m->from);
    put_setting(f, "    to ", m->to);
    put_setting(f, "    step ", m->step);
    if (m->method.text) perp__text_format(&f->text, "    method %s\n", m->method.text);
    if (m->plan && !m->method.text) /* which models with plans are stepped by */
        perp__text_put(&f->text, "    method backward-euler\n");
    perp__text_put(&f->text, "}\n");
}

static void put_model(flat *f)
{
    const perp_model *m = f->model;
    int n;
    perp_expr *root = roots_of(m, &n);
    if (!root) f->failed = 1;
    perp__text_format(&f->text, "model %s\n\n", m->name[0] ? m->name : "flat");
    put_declarations(f, PERP_PARAM, "param");
    put_declarations(f, PERP_INPUT, "input");
    put_declarations(f, PERP_STATE, "state");
    put_declarations(f, PERP_VAR, "var");
    perp__text_put(&f->text, "\n");
    if (root) find_lets(f, root, n);
    if (!f->failed) put_conditions(f);
    if (!f->failed) put_outputs(f);
    if (f->body.at) perp__text_put(&f->text, f->body.at);
    perp__text_put(&f->text, "\n");
    memset(f->let, 0, (size_t)m->graph.count * sizeof *f->let);
    put_task(f);
    if (perp_model_has_block(m, "plan") || perp_model_has_block(m, "identify") ||
        perp_model_has_block(m, "draw"))
        perp__text_put(&f->text, "# Without the blocks plan, identify and draw.\n");
    free(root);
}

perp_status perp_model_write_flat(const perp_model *model, const char *path, perp_diag *diag)
{
    if (!model || !path) return PERP_ERR_ARG;
    flat f = {.model = model};
    size_t count = (size_t)model->graph.count;
    f.symbol = calloc((size_t)model->nsymbol, sizeof *f.symbol);
    f.uses = calloc(count, sizeof *f.uses);
    f.let = calloc(count, sizeof *f.let);
    f.failed = !f.symbol || !f.uses || !f.let;
    if (!f.failed) name_symbols(&f);
    if (!f.failed) put_model(&f);
    f.failed |= f.text.failed || f.body.failed || f.arena.failed;
    perp_status status = f.failed ? perp__out_of_memory(diag, model->source.name)
                                  : perp__text_write(&f.text, path, diag);
    perp__text_clear(&f.text);
    perp__text_clear(&f.body);
    perp__arena_clear(&f.arena);
    perp__names_clear(&f.taken);
    free(f.symbol);
    free(f.uses);
    free(f.let);
    return status;
}
