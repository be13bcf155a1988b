/* draw { ... }: shapes whose places are expressions of the model, for the report. */

#ifndef PERP_SRC_DRAW_BLOCK_H
#define PERP_SRC_DRAW_BLOCK_H

#include "model/model.h"
#include "model/syntax.h"

/* Every shape: word, what its expressions are in the plane; and in space, where points are x, y,
 * z. */
#define PERP__SHAPE_LIST(X)                                                                        \
    X(BOX, "box") /* point, width, height, angle; point, three sizes, then nothing, a        \
                             quaternion (scalar first) or a matrix (body to world, row by row) */     \
    X(CIRCLE, "circle") /* point, radius, angle; point, radius: a ball */                          \
    X(GROUND,                                                                                      \
      "ground")     /* x, y, angle: the line through a point, hatched below; in space y is     \
                             the height */   \
    X(LINE, "line") /* point, point */                                                             \
    X(POLYGON, "polygon") /* point, point, point, ... */                                           \
    X(FORCE, "force")     /* point, components, length of a unit (0: to fit) */

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

struct perp__draw_block {
    perp__shape *shape;
    int nshape, cshape;
    int drawn_in; /* 2 or 3 dimensions; 0 while no shape has said */
};

#endif
