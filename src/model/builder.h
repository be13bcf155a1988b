/* Internal to src/model: the builder, which makes a model from its syntax tree.
 *
 * The file build.c declares the names and reads the blocks. Instances of parts are made in parts.c.
 * Used files are read in use.c. Expressions get into the graph in lower.c. Equations, pairs and
 * contacts are added in conditions.c. Contacts that pairs state are found in recognise.c. */

#ifndef PERP_SRC_BUILDER_H
#define PERP_SRC_BUILDER_H

#include "model/model.h"
#include "model/syntax.h"

enum { MAX_ELEMENTS = 1000000 };

/* What an expression may speak of, and which instant a name means. */
typedef enum perp__scope {
    SCOPE_PARAM, /* parameters only: defaults, sizes, ranges, initial values, the simulate block */
    SCOPE_INPUT, /* and t: functions of time */
    SCOPE_PRE,   /* the beginning of the step: pre(...), guards */
    SCOPE_STEP,  /* everything, at the end of the step: equations and pairs */
    SCOPE_OUTPUT /* the same, for reports */
} perp__scope;

/* What a declared name is besides an item of the model. */
enum { PERP__LET = PERP_SYMBOL_KINDS, PERP__SUM, PERP__PART, PERP__PARTS };

typedef struct perp__declared {
    const char *name; /* in full: "train[2].x" */
    int kind;         /* perp_symbol_kind, or one of those above */
    int ndim, dim[2], n;
    int first; /* index of its first item */
    int at, end;
    int is_known;                    /* a parameter is not, in its own value */
    struct perp__late *late;         /* of a let or a sum */
    const struct perp__space *space; /* of a part */
} perp__declared;

typedef struct perp__value {
    int ndim, dim[2], n; /* ndim 0: a scalar */
    perp_expr *e;
} perp__value;

/* A loop index and its value, and the loops around it. */
typedef struct perp__turn {
    const char *name;
    int value;
    const struct perp__turn *outer;
    int at; /* its name */
} perp__turn;

/* What a function was called with. */
typedef struct perp__bound {
    const char *name;
    perp__value value;
    const char *part; /* or the full name of a part; NULL */
    int at;           /* its name */
} perp__bound;

/* Names and what they mean: those of the model, of an instance of a part, of the lets of a used
 * file, or of a call. */
typedef struct perp__space {
    const char *prefix; /* of the names declared in it: "", "train[2]."; NULL: there are none */
    int file;           /* whose parts, functions and lets are known in it */
    const perp__statement *of; /* the part or the function; NULL */
    const perp__statement
        *given; /* an instance's arguments, of the space and turn in which it was made */
    const struct perp__space *outer; /* where the instance was made, or the function called; NULL */
    const perp__turn *turn;
    perp__note note;
    perp__bound *bound; /* of a call */
    int nbound;
} perp__space;

/* One += */
typedef struct perp__share {
    const perp__statement *s;
    const perp__space *space;
    const perp__turn *turn;
    struct perp__share *next;
    int first, n; /* elements of the sum */
} perp__share;

/* A let or a sum: lowered at each use, at the instant of the use. */
typedef struct perp__late {
    const char *name;
    const perp__syntax
        *s; /* of a let, with where it stands. An argument stands where the instance was made */
    const perp__space *space;
    const perp__turn *turn;
    const char *unit;                    /* of a sum; NULL: none */
    perp__share *first, **last;          /* of a sum */
    perp__value value[SCOPE_OUTPUT + 2]; /* by scope, the last inside pre() */
    char is_bad[SCOPE_OUTPUT + 2];       /* an error was reported */
    int is_busy;
    struct perp__late *under, *next; /* which one is being lowered with it; the one declared next */
} perp__late;

/* Which used file is the text of a robot. */
typedef struct perp__robot_use {
    const perp__statement *s;
    int file;
} perp__robot_use;

/* A file of the model: what it defines and uses. */
typedef struct perp__used {
    const char *name;
    const perp__statement *statements;
    const perp__statement *first_use; /* NULL: it uses no other */
    const perp__statement **defined;  /* parts and functions */
    int ndefined, cdefined;
    perp__names part, function; /* which of `defined` */
    int *uses, nuse, cuse;      /* places in perp__builder.used */
    int is_open;                /* what it uses is being read */
    perp__space space;          /* of its lets */
} perp__used;

/* Where the first der( and next( stand, or -1. */
typedef struct perp__first_rates {
    int der_at, next_at;
} perp__first_rates;

/* A full name at hand. */
typedef struct perp__full_name_room {
    char *text;
    int capacity;
} perp__full_name_room;

typedef struct builder {
    perp_model *model;
    const perp_model_options *how;
    perp_outline *outline; /* what mentions of names are kept in; NULL */
    perp__graph *graph;
    perp__source *source;
    perp__arena *arena;
    perp__declared *name;
    int nname, cname;
    perp__names name_of; /* which of `name` */
    double *symbol;      /* values of declared parameters; NaN for other symbols */
    int csymbol;
    int citem[PERP_SYMBOL_KINDS], cequation, cpair, ccontact;
    const perp__turn *turn;   /* the loops around what is at hand, in its space; NULL */
    const perp__space *space; /* whose names are meant */
    perp__space root;
    perp__used *used; /* by file; the first is the model */
    int nused, cused;
    perp__robot_use *robot;
    int nrobot, crobot;
    perp__full_name_room full;
    perp__late *late, **last_late, *busy;
    perp__share *share, **last_share;
    int is_declaring;   /* instances are made in the order of the text */
    int has_turn_names; /* lets stand in loops */
    int is_surveying;   /* both branches of an if are read: for outlines */
    int blocks_read;    /* a bit for each row of blocks.def; those in parts add to them */
    int inside;         /* how many loops, ifs and parts the statement at hand is in */
    perp__scope scope;
    perp__first_rates first;
    int unrolled;     /* conditions, turns of loops and names in parts so far */
    int terms;        /* of sums so far */
    int reads_inputs; /* the value of an input speaks of others */
    int in_pre;       /* inside pre() */
    int in_plan;      /* in a condition or a cost of the plan block */
    int depth;        /* of the expression at hand in those around it */
    int is_too_deep;  /* the one around all of them was refused for that */
    int failed;       /* memory */
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
perp__value perp__new_value(perp__builder *b, int ndim, int rows, int columns);
perp__value perp__number_value(perp__builder *b, double x);
perp__value perp__scalar_value(perp__builder *b, perp_expr e);

/* A whole number computed from parameters and loop indices, as an index or a size. 0 with an
 * error. */
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

/* A name declared in the present space, NULL if it is not known (yet). */
perp__declared *perp__find_declared(perp__builder *b, const char *name);

/* Its full name, "train[2].x", in the arena. NULL when memory is out. */
const char *perp__full_name(perp__builder *b, const char *name);

/* Enter one more name, of a statement; NULL with an error if it exists already. */
perp__declared *perp__declare_name(perp__builder *b, const perp__statement *s, const char *name,
                                   int kind);

/* A parameter with the value given, of the space and turn where the instance was made, instead of
 * its own; NULL: none is. */
void perp__declare_param_as(perp__builder *b, const perp__statement *s, const perp__syntax *given);

/* The numbers of elements that the statement declares. */
void perp__declare_sizes(perp__builder *b, const perp__statement *s, perp__declared *d);

/* One more term of a sum, or call of a function; 0 with an error when there are too many. */
int perp__count_term(perp__builder *b, const perp__syntax *s);

/* The error that the name in s is no WHAT that is known, with the nearest one that is. */
void perp__unknown_name(perp__builder *b, const perp__syntax *s, const char *what);

/* The first of n more symbols, without values. */
int perp__add_symbols(perp__builder *b, int n);

/* The source's bytes [at, end) with single blanks, in the arena. */
const char *perp__text_of(perp__builder *b, int at, int end);

/* Which elements an index means: of those of an array, first[k] .. first[k] + count[k] - 1 in
 * dimension k. */
typedef struct perp__picked {
    int ndim, dim[2]; /* the shape of what is picked */
    int first[2], count[2];
} perp__picked;
int perp__pick(perp__builder *b, const perp__syntax *s, const char *name, int ndim, const int *dim,
               perp__picked *p);

/* conditions.c: the condition that the statement is. */
void perp__add_condition(perp__builder *b, const perp__statement *s);

/* Count n more conditions, turns or instances; 0 when there are more than anybody means. */
int perp__unroll(perp__builder *b, const perp__statement *s, int n);

/* use.c: read the files that the model uses, and theirs. */
void perp__read_uses(perp__builder *b, const perp__statement *statements);

/* The part or function that is called so in the present space; NULL if none is, or several are,
 * with an error. *file is the one that defines it. */
void perp__declare_given(perp__builder *b, const perp__statement *s, const perp__syntax *given);
/* The part that the robot statement makes an instance of, and its file; NULL with an error. */
const perp__statement *perp__robot_part(perp__builder *b, const perp__statement *s, int *file);
const perp__statement *perp__find_definition(perp__builder *b, perp__statement_kind kind,
                                             const char *name, int at, int end, int *file);

/* parts.c ------------------------------------------------------------------------------------- */

/* Do this with each statement, also of the instances of parts, in the active branches of an `if`.
 * With `all`, for each index of each loop; else only for loops that make instances. */
void perp__visit(perp__builder *b, const perp__statement *s, int all,
                 void (*act)(perp__builder *, const perp__statement *));

/* What is lowered meanwhile is of this space and these turns. */
typedef struct perp__here {
    const perp__space *space;
    const perp__turn *turn;
    const perp__note *note;
} perp__here;
perp__here perp__enter(perp__builder *b, const perp__space *space, const perp__turn *turn);
void perp__leave(perp__builder *b, perp__here before);

/* The space of the names declared beside the arguments of an instance, and its value or start of
 * this name; NULL. */
const perp__syntax *perp__given(const perp__builder *b, const char *name);

void perp__declare_late(perp__builder *b, const perp__statement *s);

/* A let of the turns of loops at hand, the innermost first; NULL. */
perp__declared *perp__find_in_turns(perp__builder *b, const char *name);

/* A name without what tells it from its like: the number of its file, the turn of its loop. */
const char *perp__shown(const char *name);

void perp__add_share(perp__builder *b, const perp__statement *s);

/* When all is declared: which sum each += means. */
void perp__settle_shares(perp__builder *b);

/* Lower each let and sum that nothing used, for its errors. */
void perp__check_lates(perp__builder *b);

perp__value perp__lower_late(perp__builder *b, const perp__declared *d, const perp__syntax *s);

/* What the name or path s means; of an array of parts with an index the instance, of other arrays
 * the whole. NULL if there is none, with an error unless `quiet`. */
perp__declared *perp__find_path(perp__builder *b, const perp__syntax *s, int quiet);

/* outline.c: that the name at [at, end) means what is declared at `meant`; -1: not known. For
 * outlines alone. */
void perp__keep_mention(perp__builder *b, int at, int end, int meant);
static inline void perp__mention(perp__builder *b, int at, int end, int meant)
{
    if (b->outline) perp__keep_mention(b, at, end, meant);
}

/* Where the last name of the path s stands; the word behind this place. */
int perp__name_place(const perp__builder *b, const perp__syntax *s);
int perp__word_behind(const perp__builder *b, int at, const char *word);

/* What the builder knows of names when it is done; and of definitions that nothing uses, with
 * errors that are not said. `read` makes what these statements say. */
void perp__finish_outline(perp__builder *b, void (*read)(perp__builder *, const perp__statement *));

/* Are these nothing but parts, functions and lets? */
int perp__are_definitions(const perp__statement *statements);

/* lookup.c: lookup(table, x). */
perp__value perp__lower_lookup(perp__builder *b, const perp__syntax *s);

/* A function of the user's. */
perp__value perp__lower_function(perp__builder *b, const perp__syntax *s, const perp__statement *f,
                                 int file);

/* What the function at hand was called with by this name; NULL. */
static inline const perp__bound *perp__find_bound(const perp__builder *b, const char *name)
{
    for (int k = 0; k < b->space->nbound; k++) {
        if (perp__is_word(b->space->bound[k].name, name)) return &b->space->bound[k];
    }
    return NULL;
}

/* Without a normal yet. NULL when memory is out; valid until the next is added. */
perp__contact *perp__add_contact(perp__builder *b, perp__contact contact);

/* recognise.c: the normal of each contact, and the contacts that the pairs state without
 * friction(...). For a model that is complete; sets `failed` when memory is out. */
void perp__recognise_contacts(perp__builder *b);

#endif
