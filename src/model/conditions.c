/* Conditions to the model: equations, pairs and contacts with friction, element by element, loops
 * unrolled. */

#include "base/tol.h"
#include "model/builder.h"

#include <math.h>
#include <string.h>

enum { MAX_UNROLLED = 200000 };

/* Loops can multiply beyond what anybody means. */
int perp__unroll(perp__builder *b, const perp__statement *s, int n)
{
    if (b->unrolled > MAX_UNROLLED) return 0;
    b->unrolled += n;
    if (b->unrolled > MAX_UNROLLED)
        perp__error(b->source, s->at, s->end, "the %s unroll to more than %d conditions and names",
                    b->space->prefix && b->space->prefix[0] ? "parts" : "loops", MAX_UNROLLED);
    return b->unrolled <= MAX_UNROLLED;
}

/* What an instance's conditions are called: "train[2]: " and the text. */
static const char *of_instance(perp__builder *b, const char *text)
{
    if (!b->space->prefix || !b->space->prefix[0]) return text;
    size_t n = strlen(b->space->prefix), length = strlen(text);
    char *out = perp__arena_alloc(b->arena, n + length + 2);
    if (!out) {
        b->failed = 1;
        return text;
    }
    memcpy(out, b->space->prefix, n - 1);
    memcpy(out + n - 1, ": ", 2);
    memcpy(out + n + 1, text, length);
    return out;
}

/* Equations and pairs ------------------------------------------------------------------------- */

static void add_equations(perp__builder *b, const perp__statement *s)
{
    perp__value left = perp__lower_in(b, SCOPE_STEP, s->left),
                right = perp__lower_in(b, SCOPE_STEP, s->right), shape;
    if (!perp__common_shape(b, &left, &right, s->at, s->end, &shape) || b->failed ||
        !perp__unroll(b, s, shape.n))
        return;
    perp_model *m = b->model;
    const char *text = of_instance(b, perp__text_of(b, s->at, s->end));
    if (!perp__grow(&m->equation, &b->cequation, m->nequation + shape.n, sizeof *m->equation))
        b->failed = 1;
    for (int i = 0; i < shape.n && !b->failed; i++)
        m->equation[m->nequation++] = (perp__equation){
            perp__element(&left, i), perp__element(&right, i), s->at, text, -1, b->source->note};
}

/* `e0 <= e1` or `e1 >= e0` as the quantity that is not negative. */
static perp__value nonnegative(perp__builder *b, const perp__side *side)
{
    perp__value x = perp__lower(b, side->e[0]), y = perp__lower(b, side->e[1]);
    int at = side->e[0]->at, end = side->e[1]->end;
    return side->rel[0] == 'l' ? perp__elementwise(b, PERP__SUB, y, x, at, end)
                               : perp__elementwise(b, PERP__SUB, x, y, at, end);
}

static int is_zero(const perp__syntax *s)
{
    return s->kind == SYNTAX_NUMBER && s->number == 0;
}

/* What a side is called in reports: the part of it that is not the 0. */
static const char *side_text(perp__builder *b, const perp__side *side)
{
    const perp__syntax *e = side->n == 3 ? side->e[1] : NULL;
    if (side->n == 1 || (side->n == 2 && is_zero(side->e[1])))
        e = side->e[0];
    else if (side->n == 2 && is_zero(side->e[0]))
        e = side->e[1];
    return e ? perp__text_of(b, e->at, e->end)
             : perp__text_of(b, side->e[0]->at, side->e[side->n - 1]->end);
}

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The innermost loop that has the name text[0..n), or NULL. */
static const perp__turn *find_loop(const perp__builder *b, const char *text, size_t n)
{
    const perp__turn *turn = b->turn;
    while (turn && (strncmp(turn->name, text, n) != 0 || turn->name[n])) turn = turn->outer;
    return turn;
}

/* The number, without a zero behind it; returns its end. Conditions in loops are many: sprintf
 * would be half of this. */
static char *put_integer(char *end, int value)
{
    char digit[12];
    int n = 0;
    unsigned left = value < 0 ? 0u - (unsigned)value : (unsigned)value;
    do digit[n++] = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0) *end++ = '-';
    while (n) *end++ = digit[--n];
    return end;
}

/* A text at this turn of the loops around it: "r[i,3]" is "r[2,3]". */
static const char *at_this_turn(perp__builder *b, const char *text)
{
    enum { DIGITS = 11 };
    size_t words = 0, length = 0, n;
    if (!b->turn) return text;
    for (const char *c = text; *c; c++, length++) words += is_letter(c[0]) && !is_letter(c[1]);
    char *out = perp__arena_alloc(b->arena, length + DIGITS * words + 1), *end = out;
    if (!out) {
        b->failed = 1;
        return text;
    }
    for (; *text; text += n) {
        for (n = 0; is_letter(text[n]); n++) end[n] = text[n];
        const perp__turn *turn = n ? find_loop(b, text, n) : NULL;
        if (turn)
            end = put_integer(end, turn->value);
        else if (n)
            end += n;
        else {
            *end++ = text[0];
            n = 1;
        }
    }
    *end = 0;
    return out;
}

static int common_size(perp__builder *b, const perp__statement *s, const perp__value *v, int n,
                       int *size)
{
    perp__value shape = v[0];
    for (int i = 1; i < n; i++) {
        if (!perp__common_shape(b, &shape, &v[i], s->at, s->end, &shape)) return 0;
    }
    *size = shape.n;
    return 1;
}

static void add_pairs(perp__builder *b, const perp__statement *s)
{
    const perp__side *first = &s->side[0], *second = &s->side[1];
    if (second->n == 3 && first->n == 1) {
        first = &s->side[1];
        second = &s->side[0];
    }
    int two_sided = first->n == 3 && second->n == 1, size;
    if (!two_sided && (first->n != 2 || second->n != 2)) {
        perp__error(b->source, s->at, s->end,
                    "a pair is '0 <= a perp b >= 0' or 'lo <= y <= hi perp e'%s",
                    first->n + second->n == 3 ? "; one side here has no inequality" : "");
        return;
    }
    if (two_sided && first->rel[0] != first->rel[1]) {
        perp__error(b->source, first->e[0]->at, first->e[2]->end,
                    "both inequalities must point the same way: lo <= y <= hi");
        return;
    }
    b->scope = SCOPE_STEP;
    perp__value v[5]; /* a, b, lo, hi, guard */
    if (two_sided) {
        int up = first->rel[0] == 'l';
        v[0] = perp__lower(b, first->e[1]);
        v[1] = perp__lower(b, second->e[0]);
        v[2] = perp__lower(b, first->e[up ? 0 : 2]);
        v[3] = perp__lower(b, first->e[up ? 2 : 0]);
    } else {
        v[0] = nonnegative(b, first);
        v[1] = nonnegative(b, second);
        v[2] = v[3] = perp__number_value(b, 0);
    }
    v[4] = s->guard ? perp__lower_in(b, SCOPE_PRE, s->guard) : perp__number_value(b, 1);
    if (!common_size(b, s, v, 5, &size) || b->failed || !perp__unroll(b, s, size)) return;

    perp_model *m = b->model;
    if (!perp__grow(&m->pair, &b->cpair, m->npair + size, sizeof *m->pair)) {
        b->failed = 1;
        return;
    }
    const char *text = of_instance(b, perp__text_of(b, s->at, s->end)),
               *sides[2] = {of_instance(b, side_text(b, first)),
                            of_instance(b, side_text(b, second))},
               *shown[2] = {at_this_turn(b, sides[0]), at_this_turn(b, sides[1])};
    for (int i = 0; i < size; i++) {
        m->pair[m->npair++] = (perp__pair){two_sided,
                                           perp__element(&v[0], i),
                                           perp__element(&v[1], i),
                                           perp__element(&v[2], i),
                                           perp__element(&v[3], i),
                                           s->guard ? perp__element(&v[4], i) : -1,
                                           s->at,
                                           text,
                                           {sides[0], sides[1]},
                                           {shown[0], shown[1]},
                                           -1,
                                           b->source->note};
    }
}

/* Friction ------------------------------------------------------------------------------------ */

/* A var of the statement's own. Returns its expression. */
static perp_expr hidden_var(perp__builder *b, const perp__statement *s)
{
    perp_model *m = b->model;
    if (!perp__grow(&m->item[PERP_VAR], &b->citem[PERP_VAR], m->nitem[PERP_VAR] + 1,
                    sizeof(perp__item))) {
        b->failed = 1;
        return 0;
    }
    int symbol = perp__add_symbols(b, 1);
    m->item[PERP_VAR][m->nitem[PERP_VAR]++] = (perp__item){.name = "a facet of friction",
                                                           .unit = "",
                                                           .at = s->at,
                                                           .end = s->at + 8,
                                                           .symbol = symbol,
                                                           .expr = -1,
                                                           .value = NAN,
                                                           .lo = -INFINITY,
                                                           .hi = INFINITY};
    return perp__symbol(b->graph, symbol);
}

/* An equation that states the contact added last. */
static void push_equation(perp__builder *b, perp_expr left, perp_expr right)
{
    perp_model *m = b->model;
    const perp__contact *c = &m->contact[m->ncontact - 1];
    if (!perp__grow(&m->equation, &b->cequation, m->nequation + 1, sizeof *m->equation))
        b->failed = 1;
    else
        m->equation[m->nequation++] =
            (perp__equation){left, right, c->at, c->text, m->ncontact - 1, b->source->note};
}

/* A pair that states the contact added last, 0 <= x perp y >= 0 or -hi <= x <= hi perp y, with
 * names for its sides. */
static void push_pair(perp__builder *b, perp_expr x, perp_expr y, perp_expr hi, const char *a_name,
                      const char *b_name)
{
    perp_model *m = b->model;
    const perp__contact *c = &m->contact[m->ncontact - 1];
    if (!perp__grow(&m->pair, &b->cpair, m->npair + 1, sizeof *m->pair))
        b->failed = 1;
    else
        m->pair[m->npair++] = (perp__pair){c->kind == PERP__CONTACT_LINE,
                                           x,
                                           y,
                                           perp__neg(b->graph, hi),
                                           hi,
                                           c->guard,
                                           c->at,
                                           c->text,
                                           {a_name, b_name},
                                           {a_name, b_name},
                                           m->ncontact - 1,
                                           b->source->note};
}

/* k facets (Stewart and Trinkle 1996): f = sum beta_j d_j, 0 <= beta_j perp sigma + d_j.v >= 0,
 * 0 <= sigma perp bound - sum beta_j >= 0. sigma is the speed of slip. */
static void add_facets(perp__builder *b, const perp__statement *s, const perp__contact *c, int k)
{
    perp__graph *g = b->graph;
    perp_expr sigma = hidden_var(b, s), zero = perp__const(g, 0), total = zero,
              force[2] = {zero, zero};
    push_pair(b, sigma, zero, zero, "slip speed", "bound - friction");
    for (int j = 0; j < k && !b->failed; j++) {
        double angle = 2 * 3.14159265358979323846 * j / k, d[2] = {cos(angle), sin(angle)};
        perp_expr beta = hidden_var(b, s), slip = sigma;
        for (int i = 0; i < 2; i++) {
            perp_expr di = perp__const(g, fabs(d[i]) < PERP_TOL_FACET ? 0 : d[i]);
            force[i] = perp__add(g, force[i], perp__mul(g, di, beta));
            slip = perp__add(g, slip, perp__mul(g, di, c->v[i]));
        }
        total = perp__add(g, total, beta);
        push_pair(b, beta, slip, zero, "", "");
    }
    if (b->failed) return;
    b->model->pair[c->pair].b = perp__sub(g, c->bound, total);
    for (int i = 0; i < 2; i++) push_equation(b, c->f[i], force[i]);
}

/* The exact cone (Alart and Curnier 1991): f = P(f - r v), P the projection on the disc of radius
 * bound: f = w bound / max(bound, |w|), w = f - r v. Any r > 0 has the same solutions: 1/h here. */
static void add_exact_cone(perp__builder *b, const perp__contact *c)
{
    perp__graph *g = b->graph;
    perp_expr w[2], bound = c->bound,
                    r = perp__div(g, perp__const(g, 1), perp__symbol(g, PERP__SYM_H)),
                    square = perp__const(g, PERP_TINY); /* so that |w| has a derivative at 0 */
    if (c->guard >= 0) bound = perp__mul(g, bound, c->guard);
    for (int i = 0; i < 2; i++) {
        w[i] = perp__sub(g, c->f[i], perp__mul(g, r, c->v[i]));
        square = perp__add(g, square, perp__mul(g, w[i], w[i]));
    }
    perp_expr ratio =
        perp__div(g, bound, perp__binary(g, PERP__MAX, bound, perp__unary(g, PERP__SQRT, square)));
    for (int i = 0; i < 2; i++) push_equation(b, c->f[i], perp__mul(g, w[i], ratio));
}

perp__contact *perp__add_contact(perp__builder *b, perp__contact contact)
{
    perp_model *m = b->model;
    if (!perp__grow(&m->contact, &b->ccontact, m->ncontact + 1, sizeof *m->contact)) {
        b->failed = 1;
        return NULL;
    }
    contact.normal = -1;
    m->contact[m->ncontact] = contact;
    return &m->contact[m->ncontact++];
}

/* The numbers of directions and elements, and of facets (0: exact). 0 with an error. */
static int check_friction(perp__builder *b, const perp__statement *s, const perp__value *v,
                          int *facets)
{
    const perp__value *f = &v[0], *speed = &v[1], *bound = &v[2], *guard = &v[3];
    *facets = 0;
    if (b->failed || !f->e || !speed->e || !bound->e) return 0;
    if (f->n != speed->n || f->n > 2 || bound->n != 1 || guard->n != 1) {
        perp__error(b->source, s->at, s->end,
                    "friction acts in one direction or two: f and v have one or two elements each, "
                    "bound has one");
        return 0;
    }
    if (s->facets &&
        (!perp__lower_integer(b, s->facets, "facets", facets) || *facets < 3 || *facets > 1000)) {
        perp__error(b->source, s->facets->at, s->facets->end,
                    "facets must be a whole number from 3 to 1000, or exact");
        return 0;
    }
    return perp__unroll(b, s, *facets + 2);
}

static void add_friction(perp__builder *b, const perp__statement *s)
{
    perp__value value[4];
    value[0] = perp__lower_in(b, SCOPE_STEP, s->f);
    value[1] = perp__lower(b, s->v);
    value[2] = perp__lower(b, s->bound);
    value[3] = s->guard ? perp__lower_in(b, SCOPE_PRE, s->guard) : (perp__value){.n = 1};
    int facets;
    if (!check_friction(b, s, value, &facets)) return;
    const perp__value *f = &value[0], *v = &value[1];
    perp__contact_kind kind = PERP__CONTACT_CONE;
    if (f->n == 1)
        kind = PERP__CONTACT_LINE;
    else if (facets)
        kind = PERP__CONTACT_FACETS;
    const perp__contact *c = perp__add_contact(
        b, (perp__contact){.kind = kind,
                           .n = f->n,
                           .f = {f->e[0], f->e[f->n - 1]},
                           .v = {v->e[0], v->e[f->n - 1]},
                           .bound = value[2].e[0],
                           .guard = s->guard ? perp__element(&value[3], 0) : -1,
                           .pair = kind == PERP__CONTACT_CONE ? -1 : b->model->npair,
                           .equation = kind == PERP__CONTACT_LINE ? -1 : b->model->nequation,
                           .at = s->at,
                           .r_at = s->r_at,
                           .text = of_instance(b, perp__text_of(b, s->at, s->end))});
    if (!c) return;
    if (kind == PERP__CONTACT_LINE)
        push_pair(b, c->f[0], c->v[0], c->bound, "friction", "slip");
    else if (kind == PERP__CONTACT_FACETS)
        add_facets(b, s, c, facets);
    else
        add_exact_cone(b, c);
}

void perp__add_condition(perp__builder *b, const perp__statement *s)
{
    if (s->kind == STATEMENT_EQUATION)
        add_equations(b, s);
    else if (s->kind == STATEMENT_PAIR)
        add_pairs(b, s);
    else if (s->kind == STATEMENT_FRICTION)
        add_friction(b, s);
    else if (b->turn && (perp__is_declaration(s->kind) || s->kind == STATEMENT_SUM ||
                         s->kind == STATEMENT_SIMULATE || s->kind == STATEMENT_PART ||
                         s->kind == STATEMENT_FUNCTION || s->kind == STATEMENT_USE ||
                         s->kind == STATEMENT_MODEL || s->kind == STATEMENT_BLOCK))
        perp__error(b->source, s->at, s->end,
                    "only equations, pairs, parts, lets, += and loops can stand in a loop");
}
