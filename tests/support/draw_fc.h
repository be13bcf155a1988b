/* Drawn contact problems for the judge in tests/property, boundary points included: apex, axis and surface of the cone,
 * contacts that move apart, no friction, no mobility, redundant contacts, numbers of every size. */

#ifndef PERP_TEST_DRAW_FC_H
#define PERP_TEST_DRAW_FC_H

#include "draw_lcp.h"

#include "perp/friction.h"

enum { FC_MAX = 5, FC_ROWS = 3 * FC_MAX };

#define DRAW_FC_CLASSES(X)                                                                         \
    X(fc_findings, "the problems of the list of faults of 0.1.0")                                  \
    X(fc_apart, "q_n >= 0: r = 0 is a solution; zeros included")                                   \
    X(fc_frictionless, "mu = 0, any W of small integers")                                          \
    X(fc_immobile, "W = 0, or a contact without mobility")                                         \
    X(fc_plane, "small integers in the plane, decided exactly")                                    \
    X(fc_gram, "W = J J' of lower rank, small integers, any q")                                    \
    X(fc_boundary, "a solution on the boundary of the cone, exact: apex, axis, surface, u = 0")    \
    X(fc_bodies, "W = J inv(M) J', q in its range, redundant contacts")                            \
    X(fc_steep, "mu of 1e3 .. 1e12")                                                               \
    X(fc_binary_scaled,                                                                            \
      "one of the above, forces and velocities of a contact times powers of two")                  \
    X(fc_decimal_scaled, "one of the above, times powers of ten, 1e-9 .. 1e9")                     \
    X(fc_beside, "one of the above beside an unconnected contact with large numbers")              \
    X(fc_tiny, "one of the above times 1e-12 .. 1e-290")

typedef enum draw_fc_class {
#define DRAW_FC_ENUM(name, text) DRAW_##name,
    DRAW_FC_CLASSES(DRAW_FC_ENUM)
#undef DRAW_FC_ENUM
        DRAW_FC_CLASSES_COUNT
} draw_fc_class;

const char *draw_fc_class_name(draw_fc_class c);

/* A problem with its own arrays; fc points into it, so it must not be copied. */
typedef struct drawn_fc {
    perp_fc fc;
    double W[FC_ROWS * FC_ROWS], q[FC_ROWS], mu[FC_MAX];
    int solvable;    /* 1: a solution is known, 0: there is none; -1: ask exact_fc_has_solution */
    int wide_margin; /* as in drawn_lcp */
} drawn_fc;

void draw_fc(draw_fc_class c, uint64_t seed, unsigned long index, drawn_fc *out);

/* One line of JSON that `perp solve` reads, in DRAW_FC_JSON characters. */
enum { DRAW_FC_JSON = 16384 };
const char *draw_fc_json(const perp_fc *fc, char *text);

#endif
