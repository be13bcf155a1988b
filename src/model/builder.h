/* Internal to src/model: the builder, which makes a model from its syntax tree. build.c declares the names and reads the blocks,
 * lower.c puts expressions into the graph, conditions.c adds equations, pairs and contacts, recognise.c the contacts
 * that pairs state. */

#ifndef PERP_SRC_BUILDER_H
#define PERP_SRC_BUILDER_H

#include "model/model.h"
#include "model/syntax.h"

enum { MAX_ELEMENTS = 1000000, MAX_LOOPS = 16 };

/* What an expression may speak of, and which instant a name means. */
typedef enum perp__scope {
    SCOPE_PARAM, /* parameters only: defaults, sizes, ranges, initial values, the simulate block */
    SCOPE_INPUT, /* and t: functions of time */
    SCOPE_PRE,   /* the beginning of the step: pre(...), guards */
    SCOPE_STEP,  /* everything, at the end of the step: equations and pairs */
    SCOPE_OUTPUT /* the same, for reports */
} perp__scope;

typedef struct perp__declared {
    const char *name;
    perp_symbol_kind kind;
    int ndim, dim[2], n;
    int first; /* index of its first item */
    int at, end;
    int is_known; /* a parameter is not, in its own value */
} perp__declared;

typedef struct perp__value {
    int ndim, dim[2], n; /* ndim 0: a scalar */
    perp_expr *e;
} perp__value;

typedef struct builder {
    perp_model *model;
    perp__graph *graph;
    perp__source *source;
    perp__arena *arena;
    perp__declared *name;
    int nname, cname;
    perp__names name_of; /* which of `name` */
    double *symbol;      /* values of parameters as they are declared; NaN for other symbols */
    int csymbol;
    int citem[PERP_SYMBOL_KINDS], cequation, cpair, ccontact;
    struct {
        const char *name;
        int value;
    } loop[MAX_LOOPS];
    int nloop;
    perp__scope scope;
    int der_at, next_at; /* where the first der( and next( stand, or -1 */
    int unrolled;        /* conditions and turns of loops so far */
    int terms;           /* of sums so far */
    int in_pre;          /* inside pre() */
    int failed;          /* memory */
} perp__builder;

static inline perp__item *perp__item_at(const perp__builder *b, perp_symbol_kind kind, int i)
{
    return &b->model->item[kind][i];
}

static inline perp_expr perp__element(const perp__value *v, int i)
{
    return v->e ? v->e[v->n == 1 ? 0 : i] : 0;
}

static inline int perp__is_declaration(perp__statement_kind kind)
{
    return kind >= STATEMENT_PARAM && kind <= STATEMENT_OUTPUT;
}

/* lower.c: expressions. What goes wrong is recorded in the source, or is `failed`. */
perp__value perp__lower(perp__builder *b, const perp__syntax *s); /* in the present scope */
perp__value perp__lower_in(perp__builder *b, perp__scope where, const perp__syntax *s);
perp__value perp__number_value(perp__builder *b, double x);
perp__value perp__scalar_value(perp__builder *b, perp_expr e);

/* A whole number computed from parameters and loop indices, as an index or a size. 0 with an error. */
int perp__lower_integer(perp__builder *b, const perp__syntax *s, const char *what, int *result);

/* Value of an expression of parameters, by their declared values; NaN if it has others. Parameters
 * that a size depends on (structural) cannot be changed later and are marked. */
double perp__constant_value(perp__builder *b, perp_expr e, int structural);

/* Element by element: equal shapes, or a scalar with anything; an error at [at, end) otherwise. */
perp__value perp__elementwise(perp__builder *b, int op, perp__value x, perp__value y, int at,
                              int end);
int perp__common_shape(perp__builder *b, const perp__value *x, const perp__value *y, int at,
                       int end, perp__value *shape);
void perp__shape_text(const perp__value *v, char *buffer, size_t size);

/* A declared name, NULL if it is not known (yet). */
perp__declared *perp__find_declared(const perp__builder *b, const char *name);

/* The error that the name in s is no WHAT that is known, with the nearest one that is. */
void perp__unknown_name(perp__builder *b, const perp__syntax *s, const char *what);

/* The first of n more symbols, without values. */
int perp__add_symbols(perp__builder *b, int n);

/* The source's bytes [at, end) with single blanks, in the arena. */
const char *perp__text_of(perp__builder *b, int at, int end);

/* conditions.c: the conditions among the statements, loops unrolled. */
void perp__add_conditions(perp__builder *b, const perp__statement *s);

/* Without a normal yet. NULL when memory is out; valid until the next is added. */
perp__contact *perp__add_contact(perp__builder *b, perp__contact contact);

/* recognise.c: the normal of each contact, and the contacts that the pairs state without friction(...). For a model that is
 * complete; sets `failed` when memory is out. */
void perp__recognise_contacts(perp__builder *b);

#endif
