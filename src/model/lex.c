/* Text to tokens. Keywords stay names here; the parser knows them. */

#include "base/tol.h"
#include "base/number.h"
#include "base/names.h"
#include "model/syntax.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINE = 1 << 16, MAX_NAME = 200 };

typedef struct lexer {
    perp__source *source;
    perp__arena *arena;
    perp__token *token;
    int n, capacity;
    int at;
    int failed;
    perp__token spare; /* when memory is out */
} lexer;

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

/* What can be seen, and the blank. */
static int is_plain(char c)
{
    return c >= 32 && c < 127;
}

/* Are all eight bytes from here on plain? Of one that is not, bit 7 is set in itself, in 32 less or
 * in 1 more. */
static int are_plain(const char *text)
{
    const uint64_t ones = UINT64_MAX / 255;
    uint64_t x;
    memcpy(&x, text, sizeof x);
    return ((x | (x - 32 * ones) | (x + ones)) & 128 * ones) == 0;
}

static perp__token *push(lexer *lex, perp__token_kind kind, int at, int end)
{
    if (!perp__grow(&lex->token, &lex->capacity, lex->n + 1, sizeof *lex->token)) {
        lex->failed = 1;
        lex->spare = (perp__token){.kind = kind};
        return &lex->spare;
    }
    lex->token[lex->n] = (perp__token){.kind = kind, .at = at, .end = end};
    return &lex->token[lex->n++];
}

/* Length and code of the UTF-8 character at `at`, or 0: also for overlong forms, surrogates and
 * what is above U+10FFFF. */
static int character(const perp__source *source, int at, unsigned long *code)
{
    static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char c = (unsigned char)source->text[at];
    int n = 0;
    if (c < 0x80)
        n = 1;
    else if ((c & 0xE0) == 0xC0)
        n = 2;
    else if ((c & 0xF0) == 0xE0)
        n = 3;
    else if ((c & 0xF8) == 0xF0)
        n = 4;
    if (n == 0 || at + n > source->length) return 0;
    *code = n == 1 ? c : c & (0x7Fu >> n);
    for (int i = 1; i < n; i++) {
        unsigned char next = (unsigned char)source->text[at + i];
        if ((next & 0xC0) != 0x80) return 0;
        *code = *code << 6 | (next & 0x3F);
    }
    return *code < least[n] || (*code >= 0xD800 && *code < 0xE000) || *code > 0x10FFFF ? 0 : n;
}

/* Characters that show as nothing, or turn the direction of what follows: text with them is not
 * what it looks like. */
static int is_invisible(unsigned long code)
{
    return (code >= 0x80 && code < 0xA0) || code == 0xAD || code == 0x34F || code == 0x61C ||
           (code >= 0x115F && code <= 0x1160) || (code >= 0x17B4 && code <= 0x17B5) ||
           (code >= 0x180B && code <= 0x180F) || (code >= 0x200B && code <= 0x200F) ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) ||
           code == 0x3164 || code == 0xFEFF || code == 0xFFA0 ||
           (code >= 0xFFF0 && code <= 0xFFFB) || (code >= 0xE0000 && code < 0xE1000);
}

/* Refuse what is not text, and lines that no person wrote, before anything else is said about them.
 */
static int check_text(perp__source *source, int begin)
{
    int line_start = begin;
    if (source->length >= PERP__MODEL_MAX) {
        perp__error(source, 0, 0, "the file has more than %d MB; this is no model",
                    PERP__MODEL_MAX >> 20);
        return 0;
    }
    for (int i = begin; i < source->length;) {
        int most = line_start + MAX_LINE, stop = most < source->length ? most : source->length - 1;
        while (i + 8 < stop && are_plain(source->text + i)) i += 8;
        while (i < stop && is_plain(source->text[i])) i++;
        unsigned long code = 0;
        unsigned char c = (unsigned char)source->text[i];
        int n = is_plain((char)c) ? 1 : character(source, i, &code);
        if (n == 0 || c == 127 || (c < 32 && c != '\n' && c != '\r' && c != '\t')) {
            perp__error(source, i, i, "not a text file: byte 0x%02X; a model is UTF-8 text", c);
            return 0;
        }
        if (code >= 0x80 && is_invisible(code) &&
            !(code == 0xFEFF && i == begin)) { /* a byte order mark may begin the file */
            perp__error(source, i, i + n,
                        "the character U+%04lX is invisible or turns the text round", code);
            return 0;
        }
        if (c == '\r' && i + 1 < source->length && !strchr("\r\n", source->text[i + 1])) {
            perp__error(source, i, i, "a carriage return alone; lines end with a line feed");
            return 0;
        }
        if (c == '\n') line_start = i + 1;
        i += n;
        if (i - line_start > MAX_LINE) {
            perp__error(source, line_start, line_start,
                        "the line is longer than %d bytes; a statement may go over several lines "
                        "inside brackets",
                        MAX_LINE);
            return 0;
        }
    }
    return 1;
}

static void lex_number(lexer *lex)
{
    const char *s = lex->source->text;
    int length = lex->source->length, at = lex->at, i = at;
    while (i < length && is_digit(s[i])) i++;
    if (i < length && s[i] == '.' && !(i + 1 < length && s[i + 1] == '.')) {
        i++;
        while (i < length && is_digit(s[i])) i++;
    }
    if (i < length && (s[i] == 'e' || s[i] == 'E')) {
        int j = i + 1;
        if (j < length && (s[j] == '+' || s[j] == '-')) j++;
        if (j < length && is_digit(s[j])) {
            while (j < length && is_digit(s[j])) j++;
            i = j;
        }
    }
    int end = i;
    while (end < length && (is_letter(s[end]) || is_digit(s[end]))) end++;
    perp__token *token = push(lex, TOKEN_NUMBER, at, end);
    if (end > i || i - at >= 400)
        perp__error(lex->source, at, end,
                    "'%.*s' is not a number; names begin with a letter, products need *",
                    end - at > 40 ? 40 : end - at, s + at);
    else {
        perp__number_read(s + at, (size_t)(i - at), &token->number);
        if (token->number > PERP_HUGE)
            perp__error(lex->source, at, end, "the number %.*s is too large", i - at, s + at);
    }
    lex->at = end;
}

/* One of the signs for perp, <= and >=. The text ends in a zero. */
static int is_sign(const char *s)
{
    return (unsigned char)*s == 0xE2 &&
           (strncmp(s, "\xE2\x8A\xA5", 3) == 0 || strncmp(s, "\xE2\x89\xA4", 3) == 0 ||
            strncmp(s, "\xE2\x89\xA5", 3) == 0);
}

/* Characters that look like a blank or a sign of the language and are none. Others beyond ASCII are
 * letters. */
static const struct twin {
    unsigned long first, last;
    char is;
} twins[] = {
    {0xA0, 0xA0, ' '},     {0xD7, 0xD7, '*'},     {0xF7, 0xF7, '/'},     {0x1680, 0x1680, ' '},
    {0x2000, 0x200A, ' '}, {0x2010, 0x2015, '-'}, {0x2018, 0x201B, '"'}, {0x201C, 0x201F, '"'},
    {0x202F, 0x202F, ' '}, {0x2044, 0x2044, '/'}, {0x205F, 0x205F, ' '}, {0x2212, 0x2212, '-'},
    {0x2215, 0x2215, '/'}, {0x2219, 0x2219, '*'}, {0x22C5, 0x22C5, '*'}, {0x3000, 0x3000, ' '}};

/* What the character at `at` looks like; NULL: like itself. */
static const struct twin *twin_at(const perp__source *source, int at)
{
    unsigned long code;
    if ((unsigned char)source->text[at] < 0xC2 || !character(source, at, &code)) return NULL;
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++)
        if (code >= twins[i].first && code <= twins[i].last) return &twins[i];
    return NULL;
}

/* Say so, and go on as if it were meant. */
static void lex_twin(lexer *lex, char is)
{
    unsigned long code = 0;
    int at = lex->at, n = character(lex->source, at, &code);
    const char *reason = "a quotation mark of another kind; write \"";
    if (is == ' ')
        reason = "a blank of another kind; write a plain one";
    else if (is == '-')
        reason = "no minus of the language; write -";
    else if (is == '*')
        reason = "no sign of the language; a product is written *";
    else if (is == '/')
        reason = "no sign of the language; a quotient is written /";
    perp__error(lex->source, at, at, "the character U+%04lX is %s", code, reason);
    if (is != ' ' && is != '"') push(lex, TOKEN_OTHER, at, at + n)->symbol = is;
    lex->at += n;
}

static void lex_name(lexer *lex)
{
    const char *s = lex->source->text;
    int at = lex->at, i = at;
    while (i < lex->source->length && (is_letter(s[i]) || is_digit(s[i]))) {
        if ((unsigned char)s[i] >= 0x80 && (is_sign(s + i) || twin_at(lex->source, i))) break;
        i++;
    }
    lex->at = i;
    if (i - at > MAX_NAME) {
        perp__error(lex->source, at, at, "a name of %d characters; at most %d are allowed", i - at,
                    MAX_NAME);
        i = at + MAX_NAME;
    }
    perp__token *token = push(lex, TOKEN_NAME, at, i);
    token->text = perp__arena_string(lex->arena, s + at, (size_t)(i - at));
    if (!token->text) {
        token->text = "";
        lex->failed = 1;
    }
    if (perp__is_word(token->text, "perp") || perp__is_word(token->text, "complements"))
        token->kind = TOKEN_PERP;
}

static void lex_string(lexer *lex)
{
    const char *s = lex->source->text;
    int at = lex->at, i = at + 1;
    while (i < lex->source->length && s[i] != '"' && s[i] != '\n') i++;
    int closed = i < lex->source->length && s[i] == '"';
    if (!closed)
        perp__error(lex->source, at, i,
                    "the string is not closed; expected \" before the end of the line");
    perp__token *token = push(lex, TOKEN_STRING, at, closed ? i + 1 : i);
    token->text = perp__arena_string(lex->arena, s + at + 1, (size_t)(i - at - 1));
    if (!token->text) {
        token->text = "";
        lex->failed = 1;
    }
    lex->at = closed ? i + 1 : i;
}

static void lex_symbol(lexer *lex)
{
    static const struct {
        const char *text;
        perp__token_kind kind;
    } longer[] = {{"<=", TOKEN_LE},          {">=", TOKEN_GE},
                  {"..", TOKEN_DOTS},        {"\xE2\x8A\xA5", TOKEN_PERP},
                  {"+=", TOKEN_ADD},         {"\xE2\x89\xA4", TOKEN_LE},
                  {"\xE2\x89\xA5", TOKEN_GE}};
    const char *s = lex->source->text + lex->at;
    int left = lex->source->length - lex->at;
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
        int n = (int)strlen(longer[i].text);
        if (n <= left && strncmp(s, longer[i].text, (size_t)n) == 0) {
            push(lex, longer[i].kind, lex->at, lex->at + n);
            lex->at += n;
            return;
        }
    }
    if (strchr("+-*/^@()[]{},.=<>%:;", *s)) {
        push(lex, TOKEN_OTHER, lex->at, lex->at + 1)->symbol = *s;
    } else {
        perp__error(lex->source, lex->at, lex->at, "the character '%c' has no meaning here%s", *s,
                    *s == '\'' ? "; a derivative is written der(x)" : "");
    }
    lex->at++;
}

static int starts(const lexer *lex, const char *text)
{
    int n = (int)strlen(text);
    return lex->at + n <= lex->source->length &&
           strncmp(lex->source->text + lex->at, text, (size_t)n) == 0;
}

perp__token *perp__lex(perp__source *source, perp__arena *arena, int first)
{
    lexer lex = {.source = source, .arena = arena, .at = first};
    const char *s = source->text;
    int length = check_text(source, first) ? source->length : 0;
    if (starts(&lex, "\xEF\xBB\xBF")) lex.at += 3; /* byte order mark */
    push(&lex, TOKEN_NEWLINE, first, first);       /* so that every token has one before it */

    while (lex.at < length && !lex.failed) {
        char c = s[lex.at];
        const struct twin *twin = twin_at(source, lex.at);
        if (c == '#') {
            while (lex.at < length && s[lex.at] != '\n') lex.at++;
        } else if (c == '\n') {
            push(&lex, TOKEN_NEWLINE, lex.at, lex.at + 1);
            lex.at++;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            lex.at++;
        } else if (is_digit(c) || (c == '.' && lex.at + 1 < length && is_digit(s[lex.at + 1]))) {
            lex_number(&lex);
        } else if (c == '"') {
            lex_string(&lex);
        } else if (twin) {
            lex_twin(&lex, twin->is);
        } else if (is_sign(s + lex.at)) {
            lex_symbol(&lex);
        } else if (is_letter(c)) {
            lex_name(&lex);
        } else {
            lex_symbol(&lex);
        }
    }
    push(&lex, TOKEN_NEWLINE, source->length, source->length);
    push(&lex, TOKEN_END, source->length, source->length);

    perp__token *tokens =
        lex.failed ? NULL : perp__arena_alloc(arena, (size_t)lex.n * sizeof *tokens);
    if (tokens) memcpy(tokens, lex.token, (size_t)lex.n * sizeof *tokens);
    if (lex.failed) arena->failed = 1;
    free(lex.token);
    return tokens;
}
