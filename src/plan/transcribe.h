/* Internal to src/plan: the model's statements as expressions of a program's graph. */

#ifndef PERP_SRC_TRANSCRIBE_H
#define PERP_SRC_TRANSCRIBE_H

#include "model/instant.h"
#include "model/plan_block.h"
#include "plan/program.h"

typedef struct perp__transcriber {
    perp__program *program;
    const perp_model *model;
    const perp__plan_block *block;
    const double *miss; /* perp__program_options */
    perp__graph *graph;
    perp_diag *diag;
    perp__instant at;
    const perp_expr *map; /* model symbol -> expression, at the instant that was set last */
    perp_expr *initial;   /* ns: initial value, of parameters outside of phases */
    perp_expr *row;       /* rows so far */
    perp_expr cost;       /* of a stage */
    int crow, cpair, crinfo;
    int *column_of;        /* symbol -> column of the derivatives or -1; NULL: not asked for yet */
    perp__reading reading; /* the instant that was set last */
    int values_only;       /* perp__program_options */
    int errors;
    int failed; /* memory */
} perp__transcriber;

/* Fill the program's graph, rows, pairs and bounds. */
void perp__transcribe(perp__transcriber *t);

/* Set the map for point c, and translate an expression of the model with it. */
void perp__set_instant(perp__transcriber *t, perp__reading reading, int c);
perp_expr perp__translate(perp__transcriber *t, perp_expr e);
/* The same, with an error at a place of the text where e speaks of what the instant does not
 * have. */
perp_expr perp__translate_at(perp__transcriber *t, perp_expr e, int at);

#define PERP__NOT_AT_START                                                                         \
    "at the start only states have a value: vars, inputs (where no pre() of one is written) and "  \
    "der() belong to steps"

/* An error at a place in the model's text. */
void perp__plan_error(perp__transcriber *t, int at, const char *format, ...) PERP_PRINTF(3, 4);

/* A condition at a node that the soft program lets go: all but those of the plan's start. */
int perp__plan_may_be_missed(const perp__plan_condition *condition);

/* The number that an expression of parameters has; NaN if it depends on anything else. */
double perp__plan_number(perp__transcriber *t, perp_expr e);

/* transcribe_conditions.c: bounds, conditions at nodes and costs. */
void perp__transcribe_ranges(perp__transcriber *t);
void perp__transcribe_conditions(perp__transcriber *t);
void perp__transcribe_costs(perp__transcriber *t);

/* A new row lo <= e <= hi at every step; its index, or -1 when memory is out. */
int perp__add_row(perp__transcriber *t, perp_expr e, double lo, double hi, const char *text, int at,
                  int condition);

/* What the guard and the second side of a pair that is switched are the differences of. */
enum { PERP__GUARD_PARTS = 4 };

/* Unknown j of point c. */
perp_expr perp__plan_unknown(perp__transcriber *t, int c, int j);
enum {
    PERP__CONE_UNKNOWNS = 3
}; /* d[2], s: the last unknowns of a point that stand for pairs, cone behind cone */
/* cones.c: how many exact friction cones a model has; their rows and pairs at a point, whose
 * unknowns begin at *split. */
int perp__plan_cones(const perp_model *model);
void perp__transcribe_cones(perp__transcriber *t, int point, int *split);

/* corners.c: the number of non-differentiable points in the costs and conditions of a block; each
 * may become an unknown of a point (-1: memory; is_weighted: integrals are of states between the
 * ends of a step). `e` is minimised `weight` times, or bounded from above (1) or below (-1), at a
 * point of steps first .. last - 1, with unknowns for those that bend upwards. */
int perp__plan_corners(const perp_model *m, int is_weighted);
perp_expr perp__lift_corners(perp__transcriber *t, perp_expr e, double weight, const char *text,
                             int at, int point, int first, int last);

/* One side of a pair, `e` >= 0: a bound if it is sign (unknown - offset), else (unknown -1) a
 * row. */
void perp__add_side(perp__transcriber *t, perp__plan_pair *pair, int side, perp_expr e,
                    const perp__pair *of, double sign, perp_expr unknown, double offset);
/* The row or the cost that holds a pair together. Then the pair itself is one of the program's. */
void perp__join_sides(perp__transcriber *t, perp__plan_pair *pair, perp_expr a, perp_expr b,
                      const perp__pair *of);
/* The product alone: at most the relaxation, or priced. */
void perp__bound_product(perp__transcriber *t, perp__plan_pair *pair, perp_expr product,
                         const perp__pair *of);
void perp__push_pair(perp__transcriber *t, perp__plan_pair pair);

/* Take the derivatives of the rows and the cost, and compile all. Returns 0: memory. (program.c) */
int perp__program_compile(perp__transcriber *t);

#endif
