/* What is kept of an answer: single numbers of it, and of its rows the end, extremes, means, values
 * where a condition is first met. */

#ifndef PERP_SRC_KEEP_H
#define PERP_SRC_KEEP_H

#include "base/arena.h"
#include "base/base.h"
#include "sweep/task.h"

typedef enum perp__keep_kind {
    PERP__KEEP_FINAL,
    PERP__KEEP_MAX,
    PERP__KEEP_MIN,
    PERP__KEEP_MEAN,
    PERP__KEEP_RMS,
    PERP__KEEP_FIRST,
    PERP__KEEP_KINDS,
    PERP__KEEP_NUMBER = PERP__KEEP_KINDS /* "cost": it has no word */
} perp__keep_kind;

typedef enum perp__relation {
    PERP__EQUAL,
    PERP__LESS,
    PERP__LESS_EQUAL,
    PERP__MORE,
    PERP__MORE_EQUAL
} perp__relation;

typedef struct perp__keep {
    perp__keep_kind kind;
    const char *text, *unit; /* "max(x)" */
    const char *column,
        *where; /* names, column NULL: a single number; where: of PERP__KEEP_FIRST */
    perp__relation relation;
    double bound;
} perp__keep;

/* Of one run, for one kept value. */
typedef struct perp__kept {
    int column, where; /* in this answer's rows; of a single number, which it is */
    int is_found;
    double value;           /* so far */
    double from, before, t; /* the first time; the last row's value and time */
    double g,
        largest; /* of `where` less the bound: in the last row, the largest so far of either */
} perp__kept;

/* An answer of a task that is asked for its columns and numbers. */
typedef struct perp__task_answer {
    const perp__task *task;
    void *of;
} perp__task_answer;

/* Read "max(x)" or "cost"; "final" is all states, vars and outputs, NULL all single numbers, or
 * where there are none as "final"; *n of them. Texts live in the arena. */
perp_status perp__keep_read(const char *text, const perp_model *model,
                            const perp__task_answer *answer, perp__keep **list, int *n,
                            int *capacity, perp__arena *arena, perp_diag *diag);

/* Does it look at every row? */
int perp__keep_needs_rows(const perp__keep *keep);

/* Its position in this answer; 0: there is none of this name. */
int perp__keep_begin(const perp__keep *keep, perp__kept *kept, const perp__task_answer *answer);
void perp__keep_take(const perp__keep *keep, perp__kept *kept, const double *row);
double perp__keep_end(const perp__keep *keep, const perp__kept *kept,
                      const perp__task_answer *answer, const double *last);

#endif
