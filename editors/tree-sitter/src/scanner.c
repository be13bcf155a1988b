/* The end of a statement: a newline outside of brackets. Inside of them, where one could be closed here, it is a blank. */

#include <tree_sitter/parser.h>

enum { NEWLINE, CLOSING_PARENTHESIS, CLOSING_BRACKET };

void *tree_sitter_perp_external_scanner_create(void)
{
    return 0;
}

void tree_sitter_perp_external_scanner_destroy(void *scanner)
{
    (void)scanner;
}

unsigned tree_sitter_perp_external_scanner_serialize(void *scanner, char *to)
{
    (void)scanner, (void)to;
    return 0;
}

void tree_sitter_perp_external_scanner_deserialize(void *scanner, const char *from, unsigned n)
{
    (void)scanner, (void)from, (void)n;
}

bool tree_sitter_perp_external_scanner_scan(void *scanner, TSLexer *lexer, const bool *valid)
{
    (void)scanner;
    if (!valid[NEWLINE] || valid[CLOSING_PARENTHESIS] || valid[CLOSING_BRACKET]) return false;
    while (lexer->lookahead == ' ' || lexer->lookahead == '\t' || lexer->lookahead == '\r') lexer->advance(lexer, true);
    if (lexer->lookahead != '\n') return false;
    lexer->advance(lexer, false);
    lexer->result_symbol = NEWLINE;
    return true;
}
