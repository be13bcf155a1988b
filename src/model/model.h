/* Internal: a model after the front end has read it. Engines read this; only model.c and the
 * builder write it.
 *
 * Every declared name is flattened to scalar items (r[2,1] is one). An item owns consecutive
 * symbols of the graph. A parameter or var owns one, an input two (its value at the end of the
 * step, and before it), a state four. */

#ifndef PERP_SRC_MODEL_H
#define PERP_SRC_MODEL_H

#include "base/input.h"
#include "model/graph.h"
#include "base/names.h"
#include "model/source.h"
#include "perp/outline.h"
#include "perp/robots.h"

#include <pthread.h>
#include <stdatomic.h>

enum { PERP__SYM_T, PERP__SYM_T_PRE, PERP__SYM_H, PERP__SYM_FIRST };

/* Offsets from an item's first symbol. */
enum { PERP__NOW = 0, PERP__INPUT_PRE = 1, PERP__DER = 1, PERP__NEXT = 2, PERP__PRE = 3 };

/* Samples of an input, linear between them. Or, after the first row, in pieces of a fixed number of
 * rows: the polynomial through them, kept within the range of the input, up to the last row (1: the
 * value over the whole piece). */
typedef struct perp__table {
    int n, points; /* of a piece; 0: linear */
    double lo, hi; /* the range, of pieces */
    double *time, *value;
    char *name;
} perp__table;

/* Nodes from the first on were made for this instance or call, NULL: for none; and those that were
 * made before. */
typedef struct perp__made {
    int first;
    const perp__note *note;
    struct perp__made *before;
} perp__made;

typedef struct perp__item {
    const char *name, *unit;
    int at, end;       /* where it was declared */
    int symbol;        /* its first */
    perp_expr written; /* of an input that uses earlier ones: with their symbols; else -1 */
    perp_expr expr;    /* parameter: default; state: initial value; input: function of t; output:
                       itself; -1 none */
    double value;      /* parameter, state */
    double lo, hi;
    double scale; /* the least size that it is judged by; 0: none was declared */
    perp_expr of_params
        [3];    /* lo, hi, scale as expressions of parameters; a constant: it does not follow */
    int is_set; /* value was given by perp_model_set */
    /* of an input as the model says; NULL: it says none, or was given another */
    const char *table_file, *table_column;
    int is_structural; /* a parameter that an index or a size was computed from */
    perp__table table; /* of an input; n = 0: none */
} perp__item;

typedef struct perp__equation {
    perp_expr left, right;
    int at;
    const char *text;
    int contact; /* it is one of the two that state this contact; -1 none */
    const perp__note *note; /* its instance; NULL */
} perp__equation;

/* 0 <= a perp b >= 0, or lo <= a <= hi perp b. Where the guard is 0 at the beginning of the step: a
 * = 0. */
typedef struct perp__pair {
    int two_sided;
    perp_expr a, b, lo, hi;
    perp_expr guard; /* -1 none */
    int at;
    const char *text, *side[2],
        *shown[2]; /* the sides as written, and with the values of loop indices */
    int contact;   /* it is one of the pairs that state this contact; -1 none */
    const perp__note *note;
} perp__pair;

/* A contact with Coulomb friction: |f| <= bound, and f = -bound v/|v| unless v = 0. How it is
 * stated: */
typedef enum perp__contact_kind {
    PERP__CONTACT_LINE,  /* one pair, -bound <= f <= bound perp v */
    /* three pairs: 0 <= p perp s + v >= 0, 0 <= q perp s - v >= 0 and 0 <= s perp bound - p - q >=
     * 0 with f = p - q */
    PERP__CONTACT_SPLIT,
    /* the pair of the slip speed s, one for each facet behind it, two equations */
    PERP__CONTACT_FACETS,
    PERP__CONTACT_CONE /* the exact cone: two equations */
} perp__contact_kind;

typedef struct perp__contact {
    perp__contact_kind kind;
    int n;                /* tangent directions, 1 or 2 */
    perp_expr f[2], v[2]; /* tangent forces and velocities; of one direction, twice the same */
    perp_expr bound;      /* mu times the normal force */
    perp_expr guard;      /* -1 none */
    /* The bound is a multiple, which reads no unknown, of this pair's side a or b (0, 1), in a
     * two-sided pair of a - lo or hi - a; -1 none */
    int normal, side;
    int pair, equation; /* the first that states it (of a split: the last), or -1 */
    int force[2];       /* of a split: the pairs of p and q */
    int at, r_at; /* of an old r = .., which changes nothing; 0 none */
    const char *text;
} perp__contact;

/* perp__plan_block and the like: model/<word>_block.h */
#define PERP_BLOCK(word, is_reserved) typedef struct perp__##word##_block perp__##word##_block;
#include "model/blocks.def"
#undef PERP_BLOCK

/* A function of the model's own that is called like one of the language. */
typedef struct perp__shadow {
    const char *name;
    int at, end;
    struct perp__shadow *next;
} perp__shadow;

/* A file that the text names, its path, and the one that was named before. */
typedef struct perp__named_file {
    const char *name, *path;
    struct perp__named_file *before;
} perp__named_file;

/* What a lookup makes, in the unit of its table, and the one that was made before. */
typedef struct perp__looked {
    perp_expr e;
    const char *unit;
    struct perp__looked *before;
} perp__looked;

/* What a += adds to a sum, which has a unit, and the one that was added before. */
typedef struct perp__added {
    perp_expr e;
    const char *sum, *unit;
    int at;
    const perp__note *note;
    struct perp__added *before;
} perp__added;

/* What the copies of a model have in common beside its text: how many there are, and what an engine
 * keeps for next time. */
typedef struct perp__common {
    atomic_int users;
    pthread_mutex_t lock; /* of what follows */
    void *kept;
    void (*release)(void *kept);
} perp__common;

/* Once it is built only perp_model_set and similar calls change a model. So threads may share it. A
 * copy has a graph and items of its own, which such calls change. It shares all else with the
 * original. */
struct perp_model {
    perp__graph graph;
    perp__item *item[PERP_SYMBOL_KINDS];
    double from_value, to_value, step_value; /* of the simulate block, as the parameters are; NaN */

    perp__common *common; /* counts the users of what follows */
    perp__arena arena;
    perp__source source;
    const char *name;
    perp_model_kind kind;
    perp__names item_of; /* by name: its index times PERP_SYMBOL_KINDS, and its kind */
    int nitem[PERP_SYMBOL_KINDS];
    int nsymbol;
    perp__equation *equation;
    perp__pair *pair;
    perp__contact *contact;
    int nequation, npair, ncontact;
    /* the first contacts were stated by friction(...), the others recognised (recognise.c) */
    int nfriction;
    int nvar; /* declared vars; items behind them were made by friction(...) and are not reported */
    perp_expr from, to, step; /* of the simulate block; -1 */
    perp__said method;
    perp__shadow *shadow;                                         /* the latest first */
    perp__looked *looked;                                         /* the latest first */
    perp__added *added;                                           /* the latest first */
    perp__made *made;                                            /* the latest first */
    perp__named_file *named_file;                                 /* tables, the latest first */
    perp_robot_ignored *ignored;                                  /* of robot files */
    int nignored, cignored;
#define PERP_BLOCK(word, is_reserved) perp__##word##_block *word; /* NULL: no such block */
#include "model/blocks.def"
#undef PERP_BLOCK
};

/* Is it a number, that follows from nothing? */
static inline int perp__is_number(const perp_model *model, const perp__item *item)
{
    return item->is_set || item->expr < 0 || model->graph.node[item->expr].op == PERP__CONST;
}

/* The exact cone that an equation states; -1 none. */
static inline int perp__cone_of(const perp_model *model, int equation)
{
    int i = model->equation[equation].contact;
    return i >= 0 && model->contact[i].kind == PERP__CONTACT_CONE ? i : -1;
}

/* Read the syntax tree of model->source into the model. Returns 0 if there are errors (recorded in
 * the source). What names mean is kept in the outline, which is nullable. */
int perp__build(perp_model *model, const perp_model_options *how, perp_outline *outline);

/* perp_model_parse_with. With an outline, which keeps the meanings of names, there is a model for
 * texts with errors, too, and never a usable one. */
perp_status perp__model_read(const char *text, size_t length, const char *name,
                             const perp_model_options *how, perp_outline *outline, perp_model **out,
                             perp_diag *diag);

/* perp_model_load_with of what a caller (PERP__STREAM) or a file (PERP__REGULAR) names. */
perp_status perp__model_load(const char *path, perp__input_kind kind, const perp_model_options *how,
                             perp_model **out, perp_diag *diag);

/* Every unknown is used, and unknowns and conditions pair off one to one. Errors are recorded in
 * the source. Returns 0 when memory is out. */
int perp__check_count(perp_model *model);

/* Values of all symbols that are known before a run: parameters; the others are NaN. `symbol` has
 * nsymbol entries. Also refreshes the values of the items and of the simulate block. Returns 0 when
 * memory is out. */
int perp__model_values(perp_model *model, double *symbol);

/* Inputs that are written in terms of earlier ones become functions of t and parameters. Returns 0
 * when memory is out. */
int perp__follow_inputs(perp_model *model);

/* perp_unknown_word for a name of the model, with the nearest one of these kinds. */
const char *perp__unknown_symbol(const perp_model *model, const char *what, const char *name,
                                 perp_symbol_kind first, perp_symbol_kind last, char *text,
                                 size_t size);

/* A model of its own with the present values. Later changes in one do not affect the other, and
 * either may be destroyed first. */
perp_status perp__model_clone(const perp_model *model, perp_model **out);

/* The input's table becomes a copy of these samples. Returns 0 when memory is out. */
int perp__item_set_table(perp__item *item, const double *time, const double *value, int n,
                         const char *name);

/* The same of n = 1 + points * pieces samples. */
int perp__item_set_pieces(perp__item *item, const double *time, const double *value, int n,
                          int points, const char *name);

/* The table's value at t, which must lie within it up to rounding, else NaN. *hint (in, out) is the
 * last interval. */
double perp__table_value(const perp__table *table, double t, int *hint);
double perp__table_slope(const perp__table *table, double t, int *hint);

#endif
