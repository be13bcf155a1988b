/* Internal: a table while it is read, for both formats. */

#ifndef PERP_SRC_TRAJECTORY_READER_H
#define PERP_SRC_TRAJECTORY_READER_H

#include "base/arena.h"
#include "base/base.h"
#include "trajectory/binary.h"
#include "trajectory/trajectory.h"

#include <stdio.h>

enum { MAX_ERRORS = 10 };

typedef struct named {
    const char *name;
    int column;
} named;

struct perp_trajectory {
    perp__arena arena; /* names, units, comments */
    int rows, columns;
    const char **name, **unit;
    named *by_name; /* the columns in the order of their names */
    double **value;
    int crows; /* room in every column */
    const char **comment;
    int ncomment, ccomment;
    int is_complete; /* the last line says so, and the number of rows is right */
};

typedef struct perp__reader {
    const char *name, *at, *end; /* the text that is left, or what is in the buffer of it */
    FILE *file;                  /* where more comes from; NULL: from nowhere */
    char *buffer;
    size_t capacity;
    long line;
    perp_trajectory *out;
    perp_diag *diag;
    int errors;
    size_t commented;  /* bytes that comments took */
    int ntext;         /* columns of text, behind those of the table */
    int has_end;       /* of the present line */
    int error;         /* errno of what ended the reading of the file */
    const char *why;   /* why the file could not be opened; NULL: it could */
    long long before;  /* bytes of the file before `start` */
    const char *start; /* of the buffer, or of the text */
    int is_binary;     /* the rows are numbers of 64 bits */
} perp__reader;

/* A fault in the present line; counted always, shown for the first few. */
#define FAULT(r, column, ...)                                                                      \
    do {                                                                                           \
        if (++(r)->errors <= MAX_ERRORS) {                                                         \
            perp__place in_file = {(r)->name, (r)->line, (long)(column)};                          \
            perp__refuse((r)->diag, PERP_ERR_DATA, in_file, __VA_ARGS__);                          \
            perp__diag_append((r)->diag, "\n");                                                    \
        }                                                                                          \
    } while (0)

/* Does this begin as a binary file does? */
int perp__is_binary(const char *first, const char *last);

/* Read on after the unread rest. Returns 0: r->error says why not. */
int perp__read_more(perp__reader *r);

/* Room for one more row; 0 when memory is out. */
int perp__grow_rows(perp_trajectory *t);

/* The rows of a binary file, from their mark to that of their end. Returns 0 when memory is out, or
 * r->error says. */
int perp__read_binary_rows(perp__reader *r);

#endif
