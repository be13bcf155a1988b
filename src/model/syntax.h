/* The syntax tree of a model file, as the parser leaves it and the builder reads it. Everything
 * lives in one arena. */

#ifndef PERP_SRC_SYNTAX_H
#define PERP_SRC_SYNTAX_H

#include "model/source.h"

/* Tokens -------------------------------------------------------------------------------------- */

typedef enum perp__token_kind {
    TOKEN_END,
    TOKEN_NEWLINE,
    TOKEN_NUMBER,
    TOKEN_NAME,
    TOKEN_STRING,
    TOKEN_PERP, /* perp, complements, U+22A5 */
    TOKEN_LE,   /* <=, U+2264 */
    TOKEN_GE,   /* >=, U+2265 */
    TOKEN_DOTS, /* .. */
    TOKEN_ADD,  /* += */
    TOKEN_OTHER /* one of + - * / ^ @ ( ) [ ] { } , . = < > % : the character is `symbol` */
} perp__token_kind;

typedef struct perp__token {
    perp__token_kind kind;
    int at, end; /* bytes [at, end) */
    char symbol;
    double number;
    const char *text; /* name, or the inside of a string */
} perp__token;

/* Split the text from byte `first` on. The first token is a newline, the last TOKEN_END. NULL when
 * memory is out. */
perp__token *perp__lex(perp__source *source, perp__arena *arena, int first);

/* Expressions --------------------------------------------------------------------------------- */

typedef enum perp__syntax_kind {
    SYNTAX_NUMBER,
    SYNTAX_NAME,
    SYNTAX_INDEX,   /* text[item...] */
    SYNTAX_CALL,    /* text(item...) */
    SYNTAX_LIST,    /* [item...] */
    SYNTAX_NEG,     /* -item[0] */
    SYNTAX_POW,     /* item[0] ^ item[1] */
    SYNTAX_CHAIN,   /* item[0] op[1] item[1] op[2] ... with ops + - or * / @ */
    SYNTAX_SUM,     /* sum(text in item[0]..item[1], item[2]) */
    SYNTAX_COMPARE, /* item[0] op item[1], op one of '<' '>' 'l' (<=) 'g' (>=) */
    SYNTAX_LOGIC,   /* item[0] and/or item[1], op '&' or '|' */
    SYNTAX_RANGE,   /* item[0]..item[1] as an index; without items all, : */
    SYNTAX_STRING   /* "text" */
} perp__syntax_kind;

typedef struct perp__syntax perp__syntax;
struct perp__syntax {
    perp__syntax_kind kind;
    int at, end;
    double number;
    const char *text;
    perp__syntax *base; /* of a name or an index: base.text, a name of that part; NULL */
    int n;
    perp__syntax **item;
    char *op;  /* of a chain: n entries, the first unused; of compare and logic: one */
    int *opat; /* where each operator stands */
};

/* Statements ---------------------------------------------------------------------------------- */

typedef enum perp__statement_kind {
    STATEMENT_MODEL,
    STATEMENT_PARAM,
    STATEMENT_INPUT,
    STATEMENT_STATE,
    STATEMENT_VAR,
    STATEMENT_OUTPUT,
    STATEMENT_LET,
    STATEMENT_SUM,
    STATEMENT_EQUATION,
    STATEMENT_PAIR,
    STATEMENT_FRICTION,
    STATEMENT_FOR,
    STATEMENT_IF,
    STATEMENT_USE,
    STATEMENT_FUNCTION,
    STATEMENT_PART,
    STATEMENT_INSTANCE,
    STATEMENT_ADD,
    STATEMENT_SIMULATE,
    STATEMENT_BLOCK /* of blocks.def */
} perp__statement_kind;

/* One side of `side perp side`: e[0] rel[0] e[1] rel[1] e[2], with n = 1..3 expressions; rel 'l'
 * (<=) or 'g' (>=). */
typedef struct perp__side {
    int n;
    perp__syntax *e[3];
    char rel[2];
} perp__side;

typedef struct perp__statement perp__statement;
struct perp__statement {
    perp__statement_kind kind;
    int at, end;
    perp__statement *next;

    /* declarations: NAME[dims] = value in [lo, hi] scale s "unit"; for: NAME in lo..hi; model:
     * NAME */
    const char *name;
    int name_at, name_end;
    int ndim;
    perp__syntax *dim[2];
    perp__syntax *value, *lo, *hi, *scale;
    const char *unit;
    const char *table, *table_column; /* input NAME = table("file", "column") */
    int table_at, table_end;

    perp__syntax *left, *right;           /* equation; left += right */
    perp__side side[2];                   /* pair */
    perp__syntax *guard;                  /* pair ... when guard; if guard */
    perp__syntax *f, *v, *bound, *facets; /* friction; facets NULL: the exact cone */
    int r_at;                             /* friction: of an old r = .., which changes nothing; 0 */
    perp__statement *body, *otherwise;    /* for, part; if and its else */
    int body_end;                         /* for, part: behind the last brace */
    int makes;                            /* for, if: there are instances or += in it */

    /* function NAME(head) = value, part NAME(head) { body }; TYPE NAME[index in lo..hi](head),
     * where what is given stands in the head, with a name or without; use "TYPE" */
    const char *type, *index;
    perp__statement *head;
    /* robot NAME = "robot"(key = "key", contacts = "contacts", head), an instance; NULL: none */
    const char *robot, *key, *contacts;
    int robot_at, robot_end;

    perp__syntax *from, *to, *step; /* simulate */
    perp__said method;

    const perp__token *block; /* word { ... }: the first token behind the brace */
    int block_kind;           /* its row in blocks.def */
};

/* Parse the file that begins at byte `first`, to the end. All errors are recorded in the source.
 * NULL when memory is out or nothing was there. */
perp__statement *perp__parse(perp__source *source, perp__arena *arena, int first);

/* The words that begin statements: n of them, for messages. */
const char *const *perp__statement_words(int *n);

/* All words of the language, n of them. */
const char *const *perp__language_words(int *n);

/* One expression, or one operand of a product, from *token on, which moves behind it. NULL with an
 * error recorded. For the readers of blocks. */
perp__syntax *perp__parse_expression(perp__source *source, perp__arena *arena,
                                     const perp__token **token);
perp__syntax *perp__parse_primary(perp__source *source, perp__arena *arena,
                                  const perp__token **token);

/* Words that cannot be names of the user. */
int perp__is_reserved(const char *name);

/* "expected X, found Y" at a token; for the readers of blocks. */
void perp__expected(perp__source *source, const perp__token *token, const char *what);

#endif
