/* Signs are carried through the expressions: a root of what may be negative, a division by what may
 * be 0. */

#include "model/inspect.h"
#include "model/scheme.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

perp_expr *perp__condition_roots(const perp_model *m, int *n)
{
    perp_expr *roots =
        malloc((2 * (size_t)m->nequation + 5 * (size_t)m->npair + 1) * sizeof *roots);
    *n = 0;
    if (!roots) return NULL;
    for (int i = 0; i < m->nequation; i++) {
        roots[(*n)++] = m->equation[i].left;
        roots[(*n)++] = m->equation[i].right;
    }
    for (int i = 0; i < m->npair; i++) {
        const perp__pair *p = &m->pair[i];
        roots[(*n)++] = p->a;
        roots[(*n)++] = p->b;
        roots[(*n)++] = p->lo;
        roots[(*n)++] = p->hi;
        if (p->guard >= 0) roots[(*n)++] = p->guard;
    }
    return roots;
}

const perp__note *perp__note_of(const perp_model *m, perp_expr e)
{
    const perp__made *made = m->made;
    while (made && made->first > e) made = made->before;
    return made ? made->note : NULL;
}

/* Domains
 * ---------------------------------------------------------------------------------------------- */

/* What is known of a node's sign. */
typedef enum sign { SIGN_ANY, SIGN_NONNEGATIVE, SIGN_POSITIVE, SIGN_NEGATIVE } sign;

/* Between which numbers a node stays, as far as constants, parameters and clamps tell. */
typedef struct range {
    double lo, hi;
} range;

/* Of a node: all that is known. NaN: it has no such value. */
typedef struct fact {
    sign s;
    range r;
    /* its value if it is of constants and parameters alone; of states, too, at the start of a
     * run */
    double value, start;
} fact;

static sign sign_of_value(double x)
{
    if (x > 0) return SIGN_POSITIVE;
    if (x < 0) return SIGN_NEGATIVE;
    if (x == 0) return SIGN_NONNEGATIVE;
    return SIGN_ANY;
}

static int at_least_zero(sign s)
{
    return s == SIGN_NONNEGATIVE || s == SIGN_POSITIVE;
}

static sign of_magnitude(sign a)
{
    return a == SIGN_POSITIVE || a == SIGN_NEGATIVE ? SIGN_POSITIVE : SIGN_NONNEGATIVE;
}

static sign smaller(sign a, sign b)
{
    if (a == SIGN_POSITIVE && b == SIGN_POSITIVE) return SIGN_POSITIVE;
    return at_least_zero(a) && at_least_zero(b) ? SIGN_NONNEGATIVE : SIGN_ANY;
}

static sign larger(sign a, sign b)
{
    if (a == SIGN_POSITIVE || b == SIGN_POSITIVE) return SIGN_POSITIVE;
    return at_least_zero(a) || at_least_zero(b) ? SIGN_NONNEGATIVE : SIGN_ANY;
}

static sign sign_of_node(const perp__node *node, const fact *A, const fact *B)
{
    sign a = A->s, b = B->s;
    switch ((perp__op)node->op) {
#define PERP_FUNCTION(name, arity, text, value, derivative, terms, sign, ...)                      \
    PERP__CASE(PERP__##name, sign)
#include "model/ops.def"
    case PERP__SYMBOL: return node->a == PERP__SYM_H ? SIGN_POSITIVE : SIGN_ANY;
    case PERP__ADD:
        if (at_least_zero(a) && at_least_zero(b)) return larger(a, b);
        return a == SIGN_NEGATIVE && b == SIGN_NEGATIVE ? SIGN_NEGATIVE : SIGN_ANY;
    case PERP__SUB: return at_least_zero(a) && b == SIGN_NEGATIVE ? SIGN_POSITIVE : SIGN_ANY;
    case PERP__MUL:
    case PERP__DIV:
        if (node->op == PERP__MUL && node->a == node->b) return of_magnitude(a);
        if (a == SIGN_ANY || b == SIGN_ANY) return SIGN_ANY;
        if (a == SIGN_NONNEGATIVE || b == SIGN_NONNEGATIVE)
            return at_least_zero(a) && at_least_zero(b) ? SIGN_NONNEGATIVE : SIGN_ANY;
        return a == b ? SIGN_POSITIVE : SIGN_NEGATIVE;
    case PERP__NEG:
        if (a == SIGN_POSITIVE) return SIGN_NEGATIVE;
        if (a == SIGN_NEGATIVE) return SIGN_POSITIVE;
        return SIGN_ANY;
    case PERP__POW: return a == SIGN_POSITIVE ? SIGN_POSITIVE : SIGN_ANY;
    case PERP__CONST:
    case PERP__STEP:
    case PERP__LE:
    case PERP__LT:
    case PERP__OP_COUNT: break;
    }
    return SIGN_ANY;
}

static range range_of_node(const perp__node *node, range a, range b)
{
    switch (node->op) {
    case PERP__SIN:
    case PERP__COS:
    case PERP__TANH: return (range){-1, 1};
    case PERP__NEG: return (range){-a.hi, -a.lo};
    case PERP__MIN: return (range){fmin(a.lo, b.lo), fmin(a.hi, b.hi)};
    case PERP__MAX: return (range){fmax(a.lo, b.lo), fmax(a.hi, b.hi)};
    default: return (range){-INFINITY, INFINITY};
    }
}

/* The value of the operation, if the operands determine it. */
static double value_of_node(const perp__node *node, double a, double b)
{
    int arity = perp__op_arity(node->op);
    return (arity > 0 && isnan(a)) || (arity > 1 && isnan(b)) ? (double)NAN
                                                              : perp__apply(node->op, a, b);
}

/* What is known of a node, by what is of its operands. */
static fact fact_of_node(const perp__node *node, const fact *A, const fact *B, const double *known,
                         const double *start)
{
    fact f = {sign_of_node(node, A, B), range_of_node(node, A->r, B->r), (double)NAN, (double)NAN};
    if (node->op == PERP__CONST)
        f.value = f.start = node->value;
    else if (node->op == PERP__SYMBOL) {
        f.value = known[node->a];
        f.start = start[node->a];
    } else {
        f.value = value_of_node(node, A->value, B->value);
        f.start = value_of_node(node, A->start, B->start);
    }
    if (!isnan(f.value)) {
        f.s = sign_of_value(f.value);
        f.r = (range){f.value, f.value};
    }
    return f;
}

/* Parameters into `known`, states at the start besides into `start`; NaN: what is not known. */
static void find_values(const perp_model *m, double *known, double *start)
{
    for (int s = 0; s < m->nsymbol; s++) known[s] = start[s] = NAN;
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++) {
        const perp__item *item = &m->item[PERP_PARAM][i];
        known[item->symbol] = start[item->symbol] = item->value;
    }
    for (int i = 0; i < m->nitem[PERP_STATE]; i++) {
        const perp__item *item = &m->item[PERP_STATE][i];
        start[item->symbol + PERP__NOW] = start[item->symbol + PERP__NEXT] =
            start[item->symbol + PERP__PRE] = item->value;
    }
}

static int is_within_one(range r)
{
    return r.lo >= -1 && r.hi <= 1;
}

/* What the argument of a function, of this sign and range, may do that it must not; NULL:
 * nothing. */
static const char *warning_of(int op, sign a, range r)
{
    switch ((perp__op)op) {
#define PERP_OP(name, arity) case PERP__##name:
#define PERP_FUNCTION(name, arity, text, value, derivative, terms, sign, unit, warning, fault)     \
    PERP__CASE(PERP__##name, warning)
#include "model/ops.def"
    case PERP__OP_COUNT: break;
    }
    return NULL;
}

static int is_square(const perp__node *node)
{
    return node->op == PERP__MUL && node->a == node->b;
}

/* Is it a sum of squares, as norm makes it, with the square of x? Each is 0 if the sum is. */
static int has_square(const perp__graph *g, perp_expr sum, perp_expr x)
{
    int found = perp__is_const(g, x, 0);
    const perp__node *node = &g->node[sum];
    while (node->op == PERP__ADD) {
        const perp__node *a = &g->node[node->a], *b = &g->node[node->b];
        const perp__node *term = a->op == PERP__ADD ? b : a;
        if (!is_square(term)) return 0;
        found |= term->a == x;
        node = term == a ? b : a;
    }
    return is_square(node) && (found || node->a == x);
}

/* A direction, x/norm(x, ..), of two points that are apart when a run begins. It is never large,
 * and has no value only where they coincide exactly (docs/adr/108). */
static int is_direction(const perp__graph *g, const perp__node *node, const fact *divisor)
{
    const perp__node *length = &g->node[node->b];
    perp_expr x = node->a;
    for (const perp__node *n = &g->node[x];; n = &g->node[x]) { /* without its sign and number */
        if (n->op == PERP__NEG)
            x = n->a;
        else if (n->op == PERP__MUL && g->node[n->a].op == PERP__CONST)
            x = n->b;
        else if (n->op == PERP__MUL && g->node[n->b].op == PERP__CONST)
            x = n->a;
        else
            break;
    }
    return length->op == PERP__SQRT && divisor->start > 0 && has_square(g, length->a, x);
}

/* What node e may do that it must not, with what is known of its operands. */
static void warn_of_domain(const perp_model *m, perp_expr e, const fact *A, const fact *B,
                           perp__source *findings)
{
    const perp__node *node = &m->graph.node[e];
    const char *warning = warning_of(node->op, A->s, A->r);
    int at = node->source, divides = node->op == PERP__DIV && B->s != SIGN_POSITIVE &&
                                     B->s != SIGN_NEGATIVE && !is_direction(&m->graph, node, B);
    if (!divides && !warning) return;
    findings->note = perp__note_of(m, e);
    if (divides) perp__error(findings, at, at, "warning: the divisor may become 0");
    if (warning)
        perp__error(findings, at, at, "warning: the argument of %s may %s", perp__op_text(node->op),
                    warning);
    findings->note = NULL;
}

int perp__inspect_domains(const perp_model *m, perp__source *findings)
{
    int nroot, n;
    perp_expr *roots = perp__condition_roots(m, &nroot);
    int *reach = roots ? perp__graph_reach(&m->graph, roots, nroot, &n) : NULL;
    fact *f = reach ? malloc(((size_t)n + 1) * sizeof *f) : NULL;
    double *known = f ? malloc((2 * (size_t)m->nsymbol + 1) * sizeof *known) : NULL;
    if (known) find_values(m, known, known + m->nsymbol);
    for (int k = 0; known && k < n; k++) {
        const perp__node *node = &m->graph.node[reach[k]];
        const fact *A = &f[perp__operand_place(reach, n, k, 0)],
                   *B = &f[perp__operand_place(reach, n, k, 1)];
        static const fact none = {SIGN_ANY, {-INFINITY, INFINITY}, (double)NAN, (double)NAN};
        int arity = perp__op_arity(node->op);
        if (arity < 2) B = &none;
        if (arity < 1) A = &none;
        f[k] = fact_of_node(node, A, B, known, known + m->nsymbol);
        if (node->source >= 0 && arity > 0) warn_of_domain(m, reach[k], A, B, findings);
    }
    int ok = known != NULL;
    free(roots);
    free(reach);
    free(f);
    free(known);
    return ok;
}

/* Jumps ---------------------------------------------------------------------------------------- */

static int is_solved_for(const perp_model *m, int symbol)
{
    for (int i = 0; i < m->nitem[PERP_VAR]; i++)
        if (m->item[PERP_VAR][i].symbol == symbol) return 1;
    for (int i = 0; i < m->nitem[PERP_STATE]; i++) {
        int of = symbol - m->item[PERP_STATE][i].symbol;
        if (of >= PERP__NOW && of <= PERP__NEXT) return 1;
    }
    return 0;
}

int perp__find_jump(const perp_model *m)
{
    int nroot, n, found = -1;
    perp_expr *roots = perp__condition_roots(m, &nroot);
    int *reach = roots ? perp__graph_reach(&m->graph, roots, nroot, &n) : NULL;
    char *moves = reach ? malloc((size_t)n + 1) : NULL;
    for (int k = 0; moves && k < n; k++) {
        const perp__node *node = &m->graph.node[reach[k]];
        int arity = perp__op_arity(node->op);
        moves[k] = node->op == PERP__SYMBOL && is_solved_for(m, node->a);
        for (int j = 0; j < arity; j++) moves[k] |= moves[perp__operand_place(reach, n, k, j)];
        if (node->op == PERP__SIGN && moves[k] && node->source >= 0 && found < 0)
            found = node->source;
    }
    free(moves);
    free(reach);
    free(roots);
    return found;
}

/* Guards --------------------------------------------------------------------------------------- */

/* Traits of the expressions within a guard. A distance is a square, an even power, a size or a
 * root, or a sum, product or multiple of such. It has no negative values, and is 0 where all its
 * parts are. An expression with a max, min or step may be 0 in a region. */
enum { VARIES = 1, HAS_REGIONS = 2, IS_POSITIVE = 4, IS_DISTANCE = 8 };

/* The traits of one expression, from those of its operands. */
static int traits_of(const perp__graph *g, const perp__node *node, int A, int B,
                     const double *symbol)
{
    int of = (A | B) & (VARIES | HAS_REGIONS), is = 0;
    switch ((int)node->op) {
    case PERP__CONST: return node->value > 0 ? IS_POSITIVE : 0;
    case PERP__SYMBOL: return isnan(symbol[node->a]) ? VARIES : 0;
    case PERP__MAX:
    case PERP__MIN:
    case PERP__STEP: return of | HAS_REGIONS;
    case PERP__ADD: is = A & B & IS_DISTANCE; break;
    case PERP__MUL:
        is = node->a == node->b ||
             ((A & (IS_POSITIVE | IS_DISTANCE)) && (B & (IS_POSITIVE | IS_DISTANCE)));
        break;
    case PERP__DIV: is = (A & IS_DISTANCE) && (B & IS_POSITIVE); break;
    case PERP__POW:
        is = (B & IS_POSITIVE) && ((A & IS_DISTANCE) || fmod(g->node[node->b].value, 2) == 0);
        break;
    case PERP__ABS:
    case PERP__SQRT: is = 1; break;
    default: break;
    }
    return is ? of | IS_DISTANCE : of;
}

/* A comparison that holds only where a distance is 0, as (x - c)^2 <= 0. A motion that passes
 * through meets it for an instant, which steps may miss. Excluded are distances that are 0 in a
 * region, as max(x, 0), which may be meant, and those of parameters alone. */
static int only_touches(const perp__graph *g, const int *reach, const int *traits, int n, int k)
{
    const perp__node *node = &g->node[reach[k]];
    int side = -1;
    if (node->op != PERP__LE) return 0;
    if (perp__is_const(g, node->b, 0)) side = perp__operand_place(reach, n, k, 0);
    if (perp__is_const(g, node->a, 0) && g->node[node->b].op == PERP__NEG)
        side = perp__operand_place(reach, n, perp__operand_place(reach, n, k, 1), 0);
    return side >= 0 &&
           (traits[side] & (VARIES | HAS_REGIONS | IS_DISTANCE)) == (VARIES | IS_DISTANCE);
}

/* A guard of parameters alone is always on or always off. A guard that holds at a distance of 0 is
 * rarely met. Returns 0: memory. */
static int inspect_guard(const perp_model *m, const perp__pair *pair, const double *symbol,
                         perp__source *findings)
{
    const perp__graph *g = &m->graph;
    int n, touches = 0, varies = 0;
    double value;
    int *reach = perp__graph_reach(g, &pair->guard, 1, &n);
    int *traits = reach ? malloc((size_t)n * sizeof *traits) : NULL;
    int ok = traits && perp__graph_value(g, pair->guard, symbol, &value);
    for (int k = 0; ok && k < n; k++) {
        const perp__node *node = &g->node[reach[k]];
        int arity = perp__op_arity(node->op);
        traits[k] = traits_of(g, node, arity > 0 ? traits[perp__operand_place(reach, n, k, 0)] : 0,
                              arity > 1 ? traits[perp__operand_place(reach, n, k, 1)] : 0, symbol);
        touches |= only_touches(g, reach, traits, n, k);
        varies |= traits[k] & VARIES;
    }
    free(reach);
    free(traits);
    findings->note = pair->note;
    if (touches)
        perp__error(findings, pair->at, pair->at,
                    "warning: a comparison of the guard holds only where a square or a size is 0: "
                    "what passes through there may be met or missed; compare what is squared, "
                    "which changes its sign");
    if (ok && !varies)
        perp__error(findings, pair->at, pair->at, "warning: the guard %s",
                    value > 0 ? "always holds" : "never holds: the pair is out of reach");
    findings->note = NULL;
    return ok;
}

static int inspect_guards(const perp_model *m, perp__source *findings)
{
    double *symbol = malloc((size_t)m->nsymbol * sizeof *symbol);
    int ok = symbol != NULL;
    for (int s = 0; ok && s < m->nsymbol; s++) symbol[s] = NAN;
    for (int i = 0; ok && i < m->nitem[PERP_PARAM]; i++)
        symbol[m->item[PERP_PARAM][i].symbol] = m->item[PERP_PARAM][i].value;
    for (int i = 0; ok && i < m->npair; i++)
        if (m->pair[i].guard >= 0) ok = inspect_guard(m, &m->pair[i], symbol, findings);
    free(symbol);
    return ok;
}

/* Unused names and shadowed ones
 * ---------------------------------------------------------------------------------------------- */

int perp__inspect_unused(const perp_model *m, perp__source *findings)
{
    char *used = calloc((size_t)m->nsymbol + 1, 1);
    if (!used) return 0;
    for (int i = 0; i < m->graph.count; i++) {
        if (m->graph.node[i].op == PERP__SYMBOL) used[m->graph.node[i].a] = 1;
    }
    for (int kind = PERP_PARAM; kind <= PERP_INPUT; kind++) {
        for (int i = 0; i < m->nitem[kind]; i++) {
            const perp__item *item = &m->item[kind][i];
            int is_used =
                used[item->symbol] || (kind == PERP_INPUT && used[item->symbol + PERP__INPUT_PRE]);
            if (!is_used && !item->is_structural && perp__source_file(findings, item->at) == 0)
                perp__error(findings, item->at, item->end, "warning: nothing uses '%s'",
                            item->name); /* the parts of a library need not use all they can take */
        }
    }
    free(used);
    for (const perp__shadow *s = m->shadow; s; s = s->next)
        perp__error(findings, s->at, s->end,
                    "warning: '%s' of this model comes before the function of the language",
                    s->name);
    for (int i = 0; i < m->ncontact; i++)
        if (m->contact[i].r_at)
            perp__error(findings, m->contact[i].r_at, m->contact[i].r_at,
                        "warning: 'r' of friction changes nothing and is not used; leave it out");
    return inspect_guards(m, findings);
}

perp_status perp__check_steps(const perp_model *m, perp__said said, const char *method,
                              double accuracy, perp_diag *diag)
{
    if (m->kind != PERP_DISCRETE) return PERP_OK;
    int is_models = said.text && strcmp(said.text, method) == 0;
    if (perp__scheme_make(method, 1).npoint > 1)
        return perp__refuse(diag, is_models ? PERP_ERR_MODEL : PERP_ERR_ARG,
                            is_models ? perp__said_place(&m->source, said)
                                      : perp__in(m->source.name),
                            "method %s is for rates (der); the model is discrete (next), its steps "
                            "are those of its equations\n",
                            method);
    if (!(accuracy > 0)) return PERP_OK;
    return perp__refuse(diag, PERP_ERR_ARG, perp__in(m->source.name),
                        "the steps of a discrete model are those of its equations; they have no "
                        "accuracy\n");
}
