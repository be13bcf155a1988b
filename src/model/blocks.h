/* Internal: the rows of blocks.def as functions. */

#ifndef PERP_SRC_BLOCKS_H
#define PERP_SRC_BLOCKS_H

#include "model/model.h"
#include "model/syntax.h"

struct builder;

/* read: the block that the statement holds, which is the model's first of this word. Errors in the
 * text are recorded in the source; 0 when memory is out. */
typedef struct perp__block_row {
    const char *word;
    int is_reserved;
    int (*has)(const perp_model *model);
    int (*read)(struct builder *builder, perp_model *model, const perp__statement *s);
    void (*clear)(perp_model *model);
} perp__block_row;

enum {
#define PERP_BLOCK(word, is_reserved) PERP__BLOCK_##word,
#include "model/blocks.def"
#undef PERP_BLOCK
    PERP__BLOCKS
};

extern const perp__block_row perp__blocks[PERP__BLOCKS];

#define PERP_BLOCK(word, is_reserved)                                                              \
    int perp__read_##word(struct builder *builder, perp_model *model, const perp__statement *s);   \
    void perp__clear_##word(perp__##word##_block *block); /* frees it; NULL is fine */
#include "model/blocks.def"
#undef PERP_BLOCK

/* The place in perp__blocks of a word; PERP__BLOCKS where there is none. */
int perp__block_find(const char *word);

/* What build.c gives the readers of blocks ---------------------------------------------------- */

/* What an expression may speak of; in a plan's conditions and costs also of states at its start and
 * end. */
enum { PERP__OF_PARAMS, PERP__OF_TIME, PERP__OF_NODE, PERP__OF_PLAN };

/* The elements of an expression, in the arena: n of them. 0 with an error recorded, or memory out.
 */
int perp__lower_block(struct builder *b, const perp__syntax *s, int scope, perp_expr **e, int *n);

/* The path of a file that is named from the model's folder. NULL: memory. */
const char *perp__beside(struct builder *b, const char *name);

/* The items a name stands for: a kind, the first item, and how many. 0 with an error recorded. */
int perp__find_block(struct builder *b, const perp__syntax *s, perp_symbol_kind *kind, int *first,
                     int *n);

#endif
