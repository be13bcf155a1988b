/* Drawn linear complementarity problems for the judges in tests/property: the classes on which words have been false,
 * zeros and ties included. Problem k of a class depends on (seed, class, k) alone. */

#ifndef PERP_TEST_DRAW_LCP_H
#define PERP_TEST_DRAW_LCP_H

#include "perp/lcp.h"

#include <stdint.h>

enum { DRAW_MAX = 8 };

/* Random numbers that depend on a key and a counter only. */
typedef struct draws {
    uint64_t key, counter;
} draws;
draws draws_of(uint64_t seed, unsigned stream, unsigned long index);
int draw_int(draws *d, int lo, int hi); /* lo..hi, both included */
double draw_uniform(draws *d, double lo, double hi);

#define DRAW_LCP_CLASSES(X)                                                                        \
    X(findings, "the problems of the list of faults of 0.1.0")                                     \
    X(integer, "small integers, n = 1..6")                                                         \
    X(zeros, "integers with many zeros, ties and empty rows")                                      \
    X(large_integer, "integers up to 1e9")                                                         \
    X(gram, "A'A of lower rank, any q")                                                            \
    X(gram_skew, "A'BA with B positive semidefinite plus skew, lower rank")                        \
    X(copositive, "copositive-plus: A'A plus nonnegative, with zero rows")                         \
    X(skew, "M = -M'")                                                                             \
    X(repeated, "rows or columns repeated")                                                        \
    X(infeasible, "u >= 0, M'u <= 0, q'u < 0 by construction")                                     \
    X(binary_scaled, "one of the above, rows and columns times powers of two")                     \
    X(decimal_scaled, "one of the above, rows and columns times powers of ten, 1e-12 .. 1e12")     \
    X(beside, "one of the above beside an unconnected large number")                               \
    X(beside_weak, "one of the above, weakly connected to a large number")                         \
    X(tiny, "one of the above times 1e-12 .. 1e-300")                                              \
    X(scaled_p, "D P D with P a P-matrix, D over 16 decades")                                      \
    X(huge, "numbers whose solution leaves the range of double or comes near it")                  \
    X(boxes, "integers with bounds of every kind")                                                 \
    X(boxes_beside, "the same beside a large number")

typedef enum draw_class {
#define DRAW_ENUM(name, text) DRAW_##name,
    DRAW_LCP_CLASSES(DRAW_ENUM)
#undef DRAW_ENUM
        DRAW_CLASSES
} draw_class;

const char *draw_class_name(draw_class c);

/* A problem with its own arrays; lcp points into it, so it must not be copied. */
typedef struct drawn_lcp {
    perp_lcp lcp;
    double M[DRAW_MAX * DRAW_MAX], q[DRAW_MAX], lo[DRAW_MAX], hi[DRAW_MAX];
    int wide_margin; /* 1: where there is no solution none comes near, so "solved" is false whatever is tolerated */
} drawn_lcp;

void draw_lcp(draw_class c, uint64_t seed, unsigned long index, drawn_lcp *out);

/* One line of JSON that `perp solve` reads; `text` has room for DRAW_JSON characters. */
enum { DRAW_JSON = 4096 };
const char *draw_json(const perp_lcp *lcp, char *text);

/* Pieces of JSON behind the `used` characters in `text`, which has room for `size`: how many are used then. A list takes each step-th
 * number and null for what is not finite; rows are those of a square matrix. */
int draw_print(char *text, int size, int used, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int draw_print_list(char *text, int size, int used, const double *x, int n, int step);
int draw_print_rows(char *text, int size, int used, const double *A, int n, int ld);

#endif
