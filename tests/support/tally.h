/* Counting words against the truth, and the list of faults that are known: a class x fault on the list must be found (so
 * that a cure deletes its line), any other must not occur. */

#ifndef PERP_TEST_TALLY_H
#define PERP_TEST_TALLY_H

#include "unit.h"

#include "perp/base.h"

#include <stdio.h>

/* In what way a word is false. */
#define FAULT_LIST(X)                                                                              \
    X(NONE, "solved, but there is no solution")                                                    \
    X(OWN, "solved, but a condition is broken on its own scale")                                   \
    X(DATA, "solved, but the terms are so large that the data are lost")                           \
    X(FEASIBLE, "infeasible, but there is a feasible point")                                       \
    X(REFUSED, "refused, but double precision decides a solution")                                 \
    X(MISSING, "a solution is missing from all solutions")                                         \
    X(EXTRA, "a point or ray among all solutions is none")                                         \
    X(BINARY, "another word after scaling by powers of two")                                       \
    X(BITS, "other numbers after scaling by powers of two")                                        \
    X(DECIMAL, "another word after scaling by powers of ten")
typedef enum fault {
#define FAULT_ENUM(name, text) FAULT_##name,
    FAULT_LIST(FAULT_ENUM)
#undef FAULT_ENUM
        FAULTS
} fault;

static const char *const fault_names[] = {
#define FAULT_NAME(name, text) #name,
    FAULT_LIST(FAULT_NAME)
#undef FAULT_NAME
};
static const char *const fault_texts[] = {
#define FAULT_TEXT(name, text) text,
    FAULT_LIST(FAULT_TEXT)
#undef FAULT_TEXT
};

/* A fault that the present code has. `rare`: only the full run (PERP_LONG=1) is sure to find it. */
typedef struct uncured {
    const char *class, *fault;
    int rare;
} uncured;

enum { TALLY_CLASSES = 32, TALLY_METHODS = 24 };

/* Words of each class x method. */
typedef struct tally {
    const char *what;
    int classes, methods;
    const char *class_name[TALLY_CLASSES], *method_name[TALLY_METHODS];
    long outcome[TALLY_CLASSES][TALLY_METHODS][PERP_OUTCOME_COUNT];
    long fault[TALLY_CLASSES][TALLY_METHODS][FAULTS];
    long missed[TALLY_CLASSES][TALLY_METHODS]; /* not solved though there is a solution: no fault */
    long near[TALLY_CLASSES]
             [TALLY_METHODS]; /* solved within the rule where there is none by less than rounding */
} tally;

static inline int is_long(void)
{
    const char *text = getenv("PERP_LONG");
    return text && text[0] != '0' && text[0] != 0;
}

static inline int is_full(void)
{
    return is_long() && strtol(getenv("PERP_LONG"), NULL, 10) == 1;
}

/* How many problems: PERP_LONG=1 takes 100 times as many, PERP_LONG=N N times. */
static inline long problems(long count)
{
    long factor = is_long() ? strtol(getenv("PERP_LONG"), NULL, 10) : 0;
    return factor > 1 ? count * factor : is_long() ? 100 * count : count;
}

static inline uint64_t seed_of_run(void)
{
    const char *text = getenv("PERP_SEED");
    return text ? strtoull(text, NULL, 10) : 1;
}

/* Count a fault; the first of a class x method x fault is printed, with the error of the answer (0: not a number's fault). */
static inline void add_fault(tally *t, int class, int method, fault f, unsigned long index,
                             double error, const char *problem)
{
    if (t->fault[class][method][f]++ == 0)
        printf("FALSE %s/%s, problem %lu of seed %llu: %s (error %.1e): %s\n", t->class_name[class],
               t->method_name[method], index, (unsigned long long)seed_of_run(), fault_texts[f],
               error, problem);
}

static inline void print_tally(const tally *t)
{
    printf("\n%s\n%-16s %-16s %8s %10s %6s %7s %6s %6s %6s  FALSE\n", t->what, "class", "method",
           "solved", "infeasible", "ray", "limit", "bad", "missed", "near");
    for (int c = 0; c < t->classes; c++) {
        for (int m = 0; m < t->methods; m++) {
            const long *o = t->outcome[c][m];
            long all = 0;
            for (int k = 0; k < PERP_OUTCOME_COUNT; k++) all += o[k];
            if (all == 0) continue;
            printf("%-16s %-16s %8ld %10ld %6ld %7ld %6ld %6ld %6ld ", t->class_name[c],
                   t->method_name[m], o[PERP_SOLVED], o[PERP_INFEASIBLE], o[PERP_RAY],
                   o[PERP_LIMIT], o[PERP_BAD_INPUT], t->missed[c][m], t->near[c][m]);
            for (int f = 0; f < FAULTS; f++) {
                if (t->fault[c][m][f]) printf(" %s %ld", fault_names[f], t->fault[c][m][f]);
            }
            printf("\n");
        }
    }
}

static inline const uncured *find_uncured(const uncured *list, size_t count, const char *class,
                                          const char *fault_name)
{
    for (size_t k = 0; k < count; k++) {
        if (strcmp(list[k].class, class) == 0 && strcmp(list[k].fault, fault_name) == 0)
            return &list[k];
    }
    return NULL;
}

/* Fails where a fault that is not listed occurs, or a listed one does not. */
static inline void check_tally(const tally *t, const uncured *list, size_t count)
{
    int wrong = 0;
    if (count == 0) printf("no fault is expected\n");
    print_tally(t);
    for (int c = 0; c < t->classes; c++) {
        for (int f = 0; f < FAULTS; f++) {
            long found = 0;
            for (int m = 0; m < t->methods; m++) found += t->fault[c][m][f];
            const uncured *known = find_uncured(list, count, t->class_name[c], fault_names[f]);
            if (found && known)
                printf("not yet cured: %s: %s (%ld)\n", t->class_name[c], fault_texts[f], found);
            if (found && !known) {
                printf("NEW FAULT: %s: %s (%ld)\n", t->class_name[c], fault_texts[f], found);
                wrong++;
            }
            if (!found && known && (!known->rare || is_full())) {
                printf("CURED: {\"%s\", \"%s\"} does not occur any more: delete its line\n",
                       t->class_name[c], fault_names[f]);
                wrong++;
            }
        }
    }
    fflush(stdout);
    if (wrong) fail_msg("%s: %d faults are not as listed", t->what, wrong);
}

#endif
