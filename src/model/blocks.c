/* Which words begin a block, and who reads it: blocks.def. */

#include "model/blocks.h"
#include "base/names.h"

#define PERP_BLOCK(word, is_reserved)                                                              \
    static int has_##word(const perp_model *model)                                                 \
    {                                                                                              \
        return model->word != NULL;                                                                \
    }                                                                                              \
    static void clear_##word(perp_model *model)                                                    \
    {                                                                                              \
        perp__clear_##word(model->word);                                                           \
        model->word = NULL;                                                                        \
    }
#include "model/blocks.def"
#undef PERP_BLOCK

const perp__block_row perp__blocks[PERP__BLOCKS] = {
#define PERP_BLOCK(word, is_reserved)                                                              \
    {#word, is_reserved, has_##word, perp__read_##word, clear_##word},
#include "model/blocks.def"
#undef PERP_BLOCK
};

int perp__block_find(const char *word)
{
    int k = 0;
    while (k < PERP__BLOCKS && !perp__is_word(perp__blocks[k].word, word)) k++;
    return k;
}

int perp_model_has_block(const perp_model *model, const char *block)
{
    int k = model && block ? perp__block_find(block) : PERP__BLOCKS;
    return k < PERP__BLOCKS && perp__blocks[k].has(model);
}
