/* A program as an .nl file has it, the format in which AMPL, Pyomo and JuMP hand problems to
 * solvers (D. M. Gay, "Writing .nl files", 2005): each row is an expression and, apart from it,
 * linear terms, so that what is linear costs 12 bytes a nonzero. */

#ifndef PERP_SRC_PROGRAM_NL_H
#define PERP_SRC_PROGRAM_NL_H

#include "base/arena.h"
#include "base/base.h"
#include "model/graph.h"

/* sum_k coefficient[k] x[var[k]] of each row, in the order of the variables; rows first, then
 * objectives. */
typedef struct perp__linear {
    int *first, *count; /* of each row, into the arrays */
    int *var;
    double *coefficient;
    int n, cvar, ccoefficient;
} perp__linear;

/* Row i complements variable var[i] (-1: it is an ordinary row). lower: 0 <= x - lo perp row >= 0;
 * upper: 0 <= hi - x perp row <= 0; both: lo <= x <= hi perp row; neither: row = 0. */
typedef struct perp__complements {
    int n, *var;
    char *lower, *upper;
} perp__complements;

typedef struct perp__nl {
    char *name;
    int nvar, ncon, nobj;
    int noption, option[9]; /* of the first line, which the .sol file repeats */
    double vbtol;
    perp__graph graph;           /* symbol i is variable i */
    perp_expr *row, *objective;  /* ncon, nobj: what is not in the linear terms */
    char *maximise;              /* nobj */
    double *lo, *hi, *rlo, *rhi; /* of variables and of rows */
    double *start;               /* nvar: 0 where the file has none */
    perp__complements pairs;
    perp__linear linear;
    const struct perp_program_callbacks
        *callbacks; /* rows and objective instead of expressions, or NULL */
    perp__arena arena;
} perp__nl;

/* Read the n bytes of a file called `name`. NULL with a message that names the segment and its line
 * (or byte, of a binary file); *status says why. */
perp__nl *perp__nl_read(const char *bytes, size_t n, const char *name, perp_status *status,
                        perp_diag *diag);
void perp__nl_destroy(perp__nl *nl);
/* The arrays for nvar, ncon and nobj, without terms and pairs. Returns 0: memory. */
int perp__nl_allocate(perp__nl *nl);

/* nl_lex.c: the marks of the format, text or binary. ------------------------------------------- */

typedef struct perp__nl_reader {
    perp__nl *nl;
    const char *begin, *at, *end;
    long line;
    const char *line_begin;
    int is_binary, is_swapped;
    char segment[32]; /* "segment C3", of messages */
    int *seen;        /* nvar: the row (from 1) in whose linear terms it was last */
    perp_expr *defined;
    int ndefined;
    struct perp__nl_frame *stack;
    int depth, cstack;
    perp_status status; /* not PERP_OK: an error was reported, and reading has stopped */
    perp_diag *diag;
} perp__nl_reader;

/* Say what is wrong where the reader stands, once. Returns 0. */
int perp__nl_fail(perp__nl_reader *r, const char *format, ...) PERP_PRINTF(2, 3);
int perp__nl_no_memory(perp__nl_reader *r);
/* Each returns 0 after an error. */
int perp__nl_mark(perp__nl_reader *r, char *mark); /* the letter of a segment or of an operand */
int perp__nl_int(perp__nl_reader *r, int lo, int hi, const char *what, int *x);
int perp__nl_number(perp__nl_reader *r, const char *what, double *x);
int perp__nl_short(perp__nl_reader *r, double *x); /* behind s: two bytes */
int perp__nl_name(perp__nl_reader *r, char *text, size_t size);
int perp__nl_end_of_line(perp__nl_reader *r); /* nothing but a comment follows */
/* The ten lines of the header, which are text in either format; *ndefined: of defined variables. */
int perp__nl_header(perp__nl_reader *r);

/* nl_expression.c: the expression that begins here, in prefix notation; -1 after an error. */
perp_expr perp__nl_expression(perp__nl_reader *r);

#endif
