/* What the language server says of names: hover, definition, completion. */

#include "lsp.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_VALUES = 4, LONGEST_NAME = 512 };

int lsp_mention_at(const perp_outline *outline, size_t byte)
{
    int behind = -1;
    for (int i = 0; i < perp_outline_mentions(outline); i++) {
        perp_outline_place at = perp_outline_get_mention(outline, i).at;
        if (at.file != 0 || (size_t)at.at > byte || (size_t)at.end < byte) continue;
        if ((size_t)at.end > byte) return i;
        behind = i;
    }
    return behind;
}

/* The next mention at the same place; -1: no other. */
static int next_meaning(const perp_outline *outline, int i)
{
    if (i + 1 >= perp_outline_mentions(outline)) return -1;
    perp_outline_place a = perp_outline_get_mention(outline, i).at,
                       b = perp_outline_get_mention(outline, i + 1).at;
    return a.file == b.file && a.at == b.at ? i + 1 : -1;
}

/* The first mention at the place of this one. */
static int first_meaning(const perp_outline *outline, int i)
{
    while (i > 0 && next_meaning(outline, i - 1) == i) i--;
    return i;
}

/* Text that grows ------------------------------------------------------------------------------ */

typedef struct text {
    char *s;
    size_t n, capacity;
} text;

static void put(text *t, const char *s, size_t n)
{
    if (t->n + n + 1 > t->capacity) {
        size_t capacity = 2 * (t->n + n) + 256;
        char *more = realloc(t->s, capacity);
        if (!more) cli_exit_code(PERP_ERR_MEMORY);
        if (!more) return;
        t->s = more;
        t->capacity = capacity;
    }
    memcpy(t->s + t->n, s, n);
    t->n += n;
    t->s[t->n] = 0;
}

static void say(text *t, const char *s)
{
    put(t, s, strlen(s));
}

/* Hover ---------------------------------------------------------------------------------------- */

/* The line around a byte, without blanks around it and the brace that opens a part. */
static void put_line(text *t, const perp_outline_file *f, size_t at)
{
    size_t from = at, to = at;
    while (from > 0 && f->text[from - 1] != '\n') from--;
    while (to < f->length && f->text[to] != '\n') to++;
    while (from < to && isspace((unsigned char)f->text[from])) from++;
    while (to > from && (isspace((unsigned char)f->text[to - 1]) || f->text[to - 1] == '{')) to--;
    put(t, f->text + from, to - from);
}

/* The comment that stands in the lines above, without its signs. */
static void put_comment(text *t, const perp_outline_file *f, size_t at)
{
    size_t line = at, first;
    while (line > 0 && f->text[line - 1] != '\n') line--;
    for (first = line; first > 0;) {
        size_t above = first - 1, word;
        while (above > 0 && f->text[above - 1] != '\n') above--;
        for (word = above; f->text[word] == ' ' || f->text[word] == '\t'; word++) continue;
        if (f->text[word] != '#') break;
        first = above;
    }
    for (size_t i = first; i < line;) {
        while (i < line && (f->text[i] == ' ' || f->text[i] == '\t' || f->text[i] == '#')) i++;
        size_t end = i;
        while (end < line && f->text[end] != '\n') end++;
        if (end > i) say(t, "\n");
        put(t, f->text + i, end - i);
        i = end + 1;
    }
    if (first < line) say(t, "\n");
}

static int is_at(perp_outline_place a, perp_outline_place b)
{
    return a.file == b.file && a.at == b.at;
}

/* "train[2].m = 2 kg" for the first instances of it. */
static void put_values(text *t, const perp_outline *outline, perp_outline_place declared)
{
    int n = 0;
    for (int i = 0; i < perp_outline_names(outline); i++) {
        perp_outline_name name = perp_outline_get_name(outline, i);
        if (!is_at(name.at, declared) || name.name[0] == '?' || (isnan(name.value) && !name.of))
            continue;
        char number[PERP_NUMBER_SIZE];
        if (n++ >= SHOWN_VALUES) continue;
        say(t, "\n\n`");
        say(t, name.name);
        if (isnan(name.value)) {
            say(t, strcmp(name.kind, "instance") == 0 ? "` is a " : "` is ");
            say(t, name.of);
            continue;
        }
        perp_number_write(name.value, number);
        say(t, strcmp(name.kind, "state") == 0 ? "` begins at " : "` = ");
        say(t, number);
        say(t, name.unit[0] ? " " : "");
        say(t, name.unit);
    }
    if (n > SHOWN_VALUES) say(t, "\n\n...");
}

static void put_declaration(text *t, const perp_outline *outline, perp_outline_place declared)
{
    perp_outline_file f = perp_outline_get_file(outline, declared.file);
    const char *kind = "name", *unit = "";
    for (int i = 0; i < perp_outline_names(outline); i++) {
        perp_outline_name name = perp_outline_get_name(outline, i);
        if (is_at(name.at, declared)) {
            kind = name.kind;
            unit = name.unit;
        }
    }
    say(t, t->n ? "\n\n---\n\n```perp\n" : "```perp\n");
    put_line(t, &f, (size_t)declared.at);
    say(t, "\n```\n");
    say(t, kind);
    if (unit[0]) {
        say(t, " in ");
        say(t, unit);
    }
    if (declared.file > 0) {
        say(t, ", ");
        say(t, f.name);
    }
    say(t, "\n");
    put_comment(t, &f, (size_t)declared.at);
    put_values(t, outline, declared);
}

void lsp_hover(lsp_server *server, const cJSON *params, lsp_answer *answer)
{
    lsp_place p;
    if (!lsp_place_of(server, params, &p, answer)) return;
    int i = lsp_mention_at(p.outline, p.byte);
    text t = {0};
    if (i < 0) return;
    perp_outline_place at = perp_outline_get_mention(p.outline, i).at;
    for (int k = first_meaning(p.outline, i); k >= 0; k = next_meaning(p.outline, k)) {
        perp_outline_place meant = perp_outline_get_mention(p.outline, k).meant;
        if (meant.file >= 0) put_declaration(&t, p.outline, meant);
    }
    if (t.s) {
        answer->result = cJSON_CreateObject();
        cJSON *contents = cJSON_AddObjectToObject(answer->result, "contents");
        cJSON_AddStringToObject(contents, "kind", "markdown");
        cJSON_AddStringToObject(contents, "value", t.s);
        cJSON_AddItemToObject(
            answer->result, "range",
            lsp_range(p.document->text, p.document->length, (size_t)at.at, (size_t)at.end));
    }
    free(t.s);
}

/* Definition ----------------------------------------------------------------------------------- */

void lsp_define(lsp_server *server, const cJSON *params, lsp_answer *answer)
{
    lsp_place p;
    if (!lsp_place_of(server, params, &p, answer)) return;
    answer->result = cJSON_CreateArray();
    int i = lsp_mention_at(p.outline, p.byte);
    for (int k = i < 0 ? -1 : first_meaning(p.outline, i); k >= 0; k = next_meaning(p.outline, k)) {
        perp_outline_place meant = perp_outline_get_mention(p.outline, k).meant;
        if (meant.file < 0) continue;
        perp_outline_file f = perp_outline_get_file(p.outline, meant.file);
        char *copy = f.is_library ? perp_library_copy(&f) : NULL;
        if (f.is_library && !copy) continue;
        char *uri = meant.file ? lsp_uri_of_path(copy ? copy : f.name) : NULL;
        free(copy);
        cJSON *at = cJSON_CreateObject();
        cJSON_AddStringToObject(at, "uri", uri ? uri : p.document->uri);
        cJSON_AddItemToObject(at, "range",
                              lsp_range(f.text, f.length, (size_t)meant.at, (size_t)meant.end));
        cJSON_AddItemToArray(answer->result, at);
        free(uri);
    }
}

/* Completion ----------------------------------------------------------------------------------- */

static int is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Is the byte in a comment (1), or in a string (2) that `use` stands before (3)? */
static int is_apart(const lsp_document *d, size_t byte)
{
    size_t at = byte;
    while (at > 0 && d->text[at - 1] != '\n') at--;
    int in_string = 0, is_use = strncmp(d->text + at + strspn(d->text + at, " \t"), "use", 3) == 0;
    for (; at < byte; at++) {
        if (d->text[at] == '"') in_string = !in_string;
        if (d->text[at] == '#' && !in_string) return 1;
    }
    return in_string ? 2 + is_use : 0;
}

/* Where the path before the name at `byte` begins, `train[2].` of `train[2].x`; `byte` where there
 * is none. */
static size_t path_start(const char *s, size_t byte)
{
    size_t at = byte;
    while (at > 0 && s[at - 1] == '.' && !(at > 1 && s[at - 2] == '.')) {
        size_t part = at - 1, depth = 0;
        if (part > 0 && s[part - 1] == ']') {
            do {
                part--;
                depth += s[part] == ']';
                depth -= s[part] == '[';
            } while (part > 0 && depth > 0 && s[part - 1] != '\n');
        }
        size_t name = part;
        while (name > 0 && is_of_name(s[name - 1])) name--;
        if (name == part) break;
        at = name;
    }
    return at;
}

static int holds(perp_outline_place scope, size_t byte)
{
    return scope.file == 0 && (size_t)scope.at <= byte && byte <= (size_t)scope.end;
}

/* The last name of a full one: "x" of "train[2].x", "s" of "s[1]". Its length. */
static const char *last_name(const char *full, size_t *n)
{
    const char *dot = strrchr(full, '.'), *s = dot ? dot + 1 : full;
    *n = strcspn(s, "[");
    return s;
}

static int is_called(const char *full, const char *name, size_t n)
{
    size_t length;
    const char *last = last_name(full, &length);
    return length == n && strncmp(last, name, n) == 0;
}

static int is_kind(const perp_outline_name *name, const char *kind)
{
    return strcmp(name->kind, kind) == 0;
}

/* Is the byte in a part or a function, which sees no names of the model? */
static int is_inside(const perp_outline *outline, size_t byte)
{
    for (int i = 0; i < perp_outline_names(outline); i++) {
        perp_outline_name name = perp_outline_get_name(outline, i);
        int is_own = name.at.file == 0 && strchr(name.name, '.') != NULL;
        if ((is_own || is_kind(&name, "argument")) && holds(name.scope, byte)) return 1;
    }
    return 0;
}

static int is_seen(const perp_outline_name *name, size_t byte, int inside)
{
    int is_definition = is_kind(name, "part") || is_kind(name, "function");
    if (name->at.file > 0)
        return is_definition || (is_kind(name, "let") && !strchr(name->name, '.'));
    if (!holds(name->scope, byte)) return 0;
    return is_definition || !inside || name->scope.at > 0;
}

/* One more step of a path: the full name of the instance that `word` is in `within` ("": at the
 * byte itself); 0: none. */
static int step_into(const perp_outline *outline, size_t byte, const char *word, size_t n,
                     char *within)
{
    size_t length = strlen(within);
    int inside = is_inside(outline, byte);
    for (int i = 0; i < perp_outline_names(outline); i++) {
        perp_outline_name name = perp_outline_get_name(outline, i);
        const char *full = is_kind(&name, "instance") ? name.name : name.of;
        int is_there =
            length ? strncmp(name.name, within, length) == 0 && !strchr(name.name + length, '.')
                   : is_seen(&name, byte, inside);
        if (!full || !is_there || !is_called(name.name, word, n)) continue;
        if (strlen(full) + 8 >= LONGEST_NAME) return 0;
        strcpy(within, full);
        for (int k = 0; k < perp_outline_names(outline); k++) { /* of an array the first */
            perp_outline_name other = perp_outline_get_name(outline, k);
            if (!is_kind(&other, "instances") || strcmp(other.name, full) != 0) continue;
            strcat(within, "[1]");
            break;
        }
        strcat(within, ".");
        return 1;
    }
    return 0;
}

/* The prefix of the names that the path leads to, "train[1].". Returns 0: to none. */
static int follow(const perp_outline *outline, const char *s, size_t from, size_t to, size_t byte,
                  char *within)
{
    within[0] = 0;
    while (from < to) {
        size_t n = 0, depth = 0;
        while (is_of_name(s[from + n])) n++;
        if (!step_into(outline, byte, s + from, n, within)) return 0;
        for (from += n; from < to && (s[from] != '.' || depth); from++) {
            depth += s[from] == '[';
            depth -= s[from] == ']';
        }
        from++;
    }
    return 1;
}

static void offer(cJSON *list, const char *label, size_t n, int kind, const char *detail)
{
    char name[LONGEST_NAME];
    const cJSON *item;
    if (n >= sizeof name || label[0] == '?') return;
    memcpy(name, label, n);
    name[n] = 0;
    cJSON_ArrayForEach(item, list)
    {
        if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(item, "label")), name) == 0) return;
    }
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "label", name);
    cJSON_AddNumberToObject(o, "kind", kind);
    if (detail[0]) cJSON_AddStringToObject(o, "detail", detail);
    cJSON_AddItemToArray(list, o);
}

/* The protocol's number for what a name is. */
static int item_kind(const perp_outline_name *name)
{
    enum { FUNCTION = 3, FIELD = 5, VARIABLE = 6, CLASS = 7, CONSTANT = 21 };
    if (is_kind(name, "function")) return FUNCTION;
    if (is_kind(name, "part")) return CLASS;
    if (is_kind(name, "parameter")) return CONSTANT;
    if (strchr(name->name, '.')) return FIELD;
    return VARIABLE;
}

static void offer_name(cJSON *list, const perp_outline_name *name)
{
    char detail[LONGEST_NAME];
    size_t n;
    const char *last = last_name(name->name, &n);
    snprintf(detail, sizeof detail, "%s%s%s%s%s", name->kind, name->unit[0] ? " in " : "",
             name->unit, name->of ? " " : "", name->of ? name->of : "");
    offer(list, last, n, item_kind(name), detail);
}

static void offer_all(cJSON *list, const perp_outline *outline, size_t byte, const char *within)
{
    size_t length = strlen(within);
    int inside = is_inside(outline, byte);
    for (int i = 0; i < perp_outline_names(outline); i++) {
        perp_outline_name name = perp_outline_get_name(outline, i);
        int is_member =
            length && strncmp(name.name, within, length) == 0 && !strchr(name.name + length, '.');
        if (length ? is_member : is_seen(&name, byte, inside)) offer_name(list, &name);
    }
}

void lsp_complete(lsp_server *server, const cJSON *params, lsp_answer *answer)
{
    enum { MODULE = 9, KEYWORD = 14 };
    lsp_place p;
    if (!lsp_place_of(server, params, &p, answer)) return;
    const char *s = p.document->text, *library;
    char within[LONGEST_NAME];
    int apart = is_apart(p.document, p.byte), n;
    size_t name = p.byte;
    answer->result = cJSON_CreateArray();
    for (int i = 0; apart == 3 && (library = perp_library_name(i)); i++)
        offer(answer->result, library, strlen(library), MODULE, "library");
    if (apart) return;
    while (name > 0 && is_of_name(s[name - 1])) name--;
    size_t path = path_start(s, name);
    if (path < name ? follow(p.outline, s, path, name - 1, p.byte, within) : (within[0] = 0, 1))
        offer_all(answer->result, p.outline, p.byte, within);
    const char *const *word = perp_language_words(&n);
    for (int i = 0; i < n && path == name; i++)
        offer(answer->result, word[i], strlen(word[i]), KEYWORD, "");
}
