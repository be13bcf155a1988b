/* For test.mjs: the trees of files, a line each; 1 where one has an error. */

#include "tree_sitter/runtime.h"

#include <stdio.h>
#include <stdlib.h>

const TSLanguage *tree_sitter_perp(void);

static char text[1 << 22];

int main(int argc, char **argv)
{
    TSParser *parser = ts_parser_new();
    if (!ts_parser_set_language(parser, tree_sitter_perp())) return 2;
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (!file) return 2;
        size_t n = fread(text, 1, sizeof text, file);
        fclose(file);
        TSTree *tree = ts_parser_parse_string(parser, NULL, text, (unsigned)n);
        TSNode root = ts_tree_root_node(tree);
        char *shown = ts_node_string(root);
        printf("%d %s\n", ts_node_has_error(root), shown);
        free(shown);
        ts_tree_delete(tree);
    }
    ts_parser_delete(parser);
    return 0;
}
