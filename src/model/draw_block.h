/* draw { ... }: shapes whose places are expressions of the model, for the report. */

#ifndef PERP_SRC_DRAW_BLOCK_H
#define PERP_SRC_DRAW_BLOCK_H

#include "model/model.h"
#include "model/syntax.h"

/* Every shape: word, what its expressions are. */
#define PERP__SHAPE_LIST(X)                                                                        \
    X(BOX, "box")         /* x, y, width, height, angle */                                         \
    X(CIRCLE, "circle")   /* x, y, radius, angle */                                                \
    X(GROUND, "ground")   /* x, y, angle: the line through a point, hatched below */               \
    X(LINE, "line")       /* x, y, x, y */                                                         \
    X(POLYGON, "polygon") /* x, y, x, y, x, y, ... */                                              \
    X(FORCE, "force")     /* x, y, fx, fy, length of a unit (0: to fit) */

typedef enum perp__shape_kind {
#define PERP__SHAPE_ENUM(name, word) PERP__SHAPE_##name,
    PERP__SHAPE_LIST(PERP__SHAPE_ENUM)
#undef PERP__SHAPE_ENUM
        PERP__SHAPE_KINDS
} perp__shape_kind;

enum { PERP__SHAPE_MOST = 64 }; /* expressions of one shape */

typedef struct perp__shape {
    perp__shape_kind kind;
    int n;
    perp_expr *e;
} perp__shape;

struct builder;

/* Read the block onto model->shape; errors are recorded in the source. 0 when memory is out. */
int perp__read_draw(struct builder *builder, perp_model *model, const perp__statement *s);


#endif
