/* What readers of blocks share. */

#include "model/block_reader.h"

#include <string.h>

int perp__at_symbol(const perp__cursor *p, char symbol)
{
    return p->token->kind == TOKEN_OTHER && p->token->symbol == symbol;
}

int perp__at_word(const perp__cursor *p, const char *word)
{
    return p->token->kind == TOKEN_NAME && strcmp(p->token->text, word) == 0;
}

int perp__at_line_end(const perp__cursor *p)
{
    return p->token->kind == TOKEN_NEWLINE || p->token->kind == TOKEN_END ||
           perp__at_symbol(p, '}');
}

int perp__take_symbol(perp__cursor *p, char symbol)
{
    int found = !p->bad && perp__at_symbol(p, symbol);
    p->token += found;
    return found;
}

int perp__take_word(perp__cursor *p, const char *word)
{
    int found = !p->bad && perp__at_word(p, word);
    p->token += found;
    return found;
}

void perp__expect(perp__cursor *p, const char *what)
{
    if (!p->bad) perp__expected(p->source, p->token, what);
    p->bad = 1;
}

void perp__expect_symbol(perp__cursor *p, char symbol, const char *what)
{
    if (!perp__take_symbol(p, symbol)) perp__expect(p, what);
}

void perp__expect_word(perp__cursor *p, const char *word, const char *what)
{
    if (!perp__take_word(p, word)) perp__expect(p, what);
}

void perp__skip_line(perp__cursor *p)
{
    while (!perp__at_line_end(p)) p->token++;
}
