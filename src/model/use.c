/* Used files: found beside the file that uses them or in the library of perp, read once each, joined to the model's text; and
 * which part or function a name means in which file. */

#include "model/builder.h"
#include "model/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_FILES = 100 };

static const perp__statement *defined_in(const perp__used *file, perp__statement_kind kind,
                                         const char *name)
{
    int k = perp__names_find(kind == STATEMENT_PART ? &file->part : &file->function, name);
    return k < 0 ? NULL : file->defined[k];
}

static int is_builtin(const char *name)
{
    int found = 0;
#define PERP_CALL(word, lower) found |= perp__is_word(name, #word);
#include "model/calls.def"
    for (int op = 0; op < PERP__OP_COUNT; op++)
        found |= perp__op_text(op) && perp__is_word(name, perp__op_text(op));
    return found;
}

/* The words that came later may be functions of a model's own; `perp check` says so. */
static void note_shadow(perp__builder *b, const perp__statement *s)
{
    if (s->kind != STATEMENT_FUNCTION || !is_builtin(s->name)) return;
    perp__shadow *shadow = perp__arena_alloc(b->arena, sizeof *shadow);
    if (!shadow) return; /* the arena remembers */
    *shadow = (perp__shadow){s->name, s->name_at, s->name_end, b->model->shadow};
    b->model->shadow = shadow;
}

/* The parts and functions of the file, and what it uses first, in one walk: it is long, and each statement waits for memory. 0 when
 * memory is out. */
static int list_definitions(perp__builder *b, perp__used *file)
{
    for (const perp__statement *s = file->statements; s; s = s->next) {
        if (s->kind == STATEMENT_USE && !file->first_use) file->first_use = s;
        if (s->kind != STATEMENT_PART && s->kind != STATEMENT_FUNCTION) continue;
        note_shadow(b, s);
        const perp__statement *twin = defined_in(file, s->kind, s->name);
        perp__place first = twin ? perp__source_place(b->source, twin->name_at) : perp__in("");
        perp__names *names = s->kind == STATEMENT_PART ? &file->part : &file->function;
        if (twin)
            perp__error(b->source, s->name_at, s->name_end, "'%s' is already defined at %ld:%ld",
                        s->name, first.line, first.column);
        else if (perp__arena_grow(b->arena, &file->defined, &file->cdefined, file->ndefined + 1,
                                  sizeof *file->defined) &&
                 perp__names_add(names, s->name, file->ndefined))
            file->defined[file->ndefined++] = s;
        else
            return 0;
    }
    return 1;
}

static int add_file(perp__builder *b, const char *name, const perp__statement *statements)
{
    if (!perp__grow(&b->used, &b->cused, b->nused + 1, sizeof *b->used)) {
        b->failed = 1;
        return -1;
    }
    char prefix[32];
    snprintf(prefix, sizeof prefix, "%d:", b->nused); /* no name of a user's begins so */
    perp__used *file = &b->used[b->nused];
    *file = (perp__used){.name = name, .statements = statements, .is_open = 1};
    file->space.file = b->nused;
    file->space.prefix = perp__arena_string(b->arena, prefix, strlen(prefix));
    if (!file->space.prefix || !list_definitions(b, file)) b->failed = 1;
    return b->nused++;
}

/* No file is read from outside the model's folder. */
static int is_inside(const char *name)
{
    return name[0] && name[0] != '/' && !strstr(name, "..") && !strchr(name, '\\');
}

/* The file of this name in a folder, of which n bytes count, with its last stroke. */
static char *path_in(perp__builder *b, const char *folder, size_t n, const char *name)
{
    const char *end = strstr(name, ".perp");
    size_t length = strlen(name);
    char *path = perp__arena_alloc(b->arena, n + length + 7);
    if (!path) {
        b->failed = 1;
        return NULL;
    }
    memcpy(path, folder, n);
    if (n && path[n - 1] != '/') path[n++] = '/';
    strcpy(path + n, name);
    if (!end || end[5]) strcpy(path + n + length, ".perp");
    return path;
}

static char *path_beside(perp__builder *b, const char *user, const char *name)
{
    const char *slash = strrchr(user, '/');
    return path_in(b, user, slash ? (size_t)(slash - user) + 1 : 0, name);
}

static perp_status read_regular(const perp__builder *b, const char *path, char **text, size_t *n)
{
    struct stat found;
    if (!path) return PERP_ERR_MEMORY;
    for (int i = 0; i < b->how->ntext; i++) {
        const perp_model_text *given = &b->how->text[i];
        if (strcmp(given->path, path) != 0 && !perp_file_is_same(given->path, path)) continue;
        *n = given->length;
        *text = malloc(*n + 1);
        if (*text) memcpy(*text, given->text, *n);
        return *text ? PERP_OK : PERP_ERR_MEMORY;
    }
    if (stat(path, &found) != 0 || !S_ISREG(found.st_mode)) return PERP_ERR_FILE;
    return perp__read_file(path, PERP__MODEL_MAX, text, n);
}

/* The text of the file that is used, malloc'ed, and its name; NULL with an error. */
static char *read_used(perp__builder *b, const perp__statement *s, const char **name, size_t *n)
{
    int k = 0;
    char *text = NULL;
    perp_status status = read_regular(b, *name, &text, n);
    for (int i = 0; i < b->how->nfolder && status == PERP_ERR_FILE; i++) {
        char *other = path_in(b, b->how->folder[i], strlen(b->how->folder[i]), s->type);
        status = other ? read_regular(b, other, &text, n) : PERP_ERR_MEMORY;
        if (status == PERP_OK) *name = other;
    }
    if (status == PERP_OK) return text;
    while (k < perp__nlibrary && strcmp(perp__library[k].name, s->type) != 0) k++;
    if (status == PERP_ERR_FILE && k < perp__nlibrary) {
        const char *own = perp__library[k].text;
        *n = perp__library[k].length;
        text = malloc(*n + 1);
        if (text) memcpy(text, own, *n);
        *name = perp__library[k].file;
    }
    if (!text && (status == PERP_ERR_MEMORY || k < perp__nlibrary || !*name))
        b->failed = 1;
    else if (!text) {
        const char *words[MOST_FILES];
        char said[512];
        for (int i = 0; i < perp__nlibrary && i < MOST_FILES; i++) words[i] = perp__library[i].name;
        perp__error(
            b->source, s->name_at, s->name_end, "no file '%s', and %s", *name,
            perp_unknown_word("library", s->type, words, perp__nlibrary, NULL, said, sizeof said));
    }
    return text;
}

/* "a uses b, b uses a" */
static void say_circle(perp__builder *b, const perp__statement *s, int file)
{
    char chain[400];
    size_t n = 0;
    for (int k = file; k < b->nused; k++) {
        if (!b->used[k].is_open) continue;
        size_t length = strlen(b->used[k].name);
        if (n + length + 10 > sizeof chain) break;
        n += (size_t)snprintf(chain + n, sizeof chain - n, "%s uses ", b->used[k].name);
    }
    perp__error(b->source, s->name_at, s->name_end, "files use each other: %s%s", chain,
                b->used[file].name);
}

static int find_file(const perp__builder *b, const char *name)
{
    int k = 0;
    while (k < b->nused && strcmp(b->used[k].name, name) != 0) k++;
    return k < b->nused ? k : -1;
}

static void read_uses_of(perp__builder *b, int user);

/* Only definitions can be used. */
static void check_used(perp__builder *b, const perp__statement *s)
{
    for (; s; s = s->next) {
        if (s->kind == STATEMENT_PART || s->kind == STATEMENT_FUNCTION ||
            s->kind == STATEMENT_LET || s->kind == STATEMENT_USE)
            continue;
        perp__error(b->source, s->at, s->end,
                    "a file that is used has parts, functions and lets alone");
    }
}

/* The place of the file that the statement uses, read when it is met first; -1 with an error. */
static int use_file(perp__builder *b, int user, const perp__statement *s)
{
    if (!is_inside(s->type)) {
        perp__error(b->source, s->name_at, s->name_end,
                    "'%s' is outside of the model's folder; expected a file in it, or a library",
                    s->type);
        return -1;
    }
    const char *name = path_beside(b, b->used[user].name, s->type);
    int file = name ? find_file(b, name) : -1;
    size_t n = 0;
    char *text = file < 0 && name ? read_used(b, s, &name, &n) : NULL;
    if (file < 0 && text) file = find_file(b, name); /* a library by its own name */
    if (file >= 0) {
        free(text);
        if (b->used[file].is_open) say_circle(b, s, file);
        return b->used[file].is_open ? -1 : file;
    }
    if (!text) return -1;
    if (b->nused == MOST_FILES || (size_t)b->source->length + n + 2 > PERP__MODEL_MAX)
        perp__error(b->source, s->name_at, s->name_end,
                    "too much is used: more than %d files or %d MB", MOST_FILES,
                    PERP__MODEL_MAX >> 20);
    else if (!perp__source_add(b->source, b->arena, name, text, n))
        b->failed = 1;
    else {
        int first = b->source->length - (int)n;
        const perp__statement *statements = perp__parse(b->source, b->arena, first);
        if (!b->arena->failed) file = add_file(b, name, statements);
        if (file >= 0) check_used(b, statements);
        if (file >= 0) read_uses_of(b, file);
    }
    free(text);
    return file;
}

static void read_uses_of(perp__builder *b, int user)
{
    for (const perp__statement *s = b->used[user].first_use; s && !b->failed; s = s->next) {
        if (s->kind != STATEMENT_USE) continue;
        int file = use_file(b, user, s);
        perp__used *u = &b->used[user];
        if (file < 0 ||
            !perp__arena_grow(b->arena, &u->uses, &u->cuse, u->nuse + 1, sizeof *u->uses))
            continue;
        u->uses[u->nuse++] = file;
    }
    b->used[user].is_open = 0;
}

void perp__read_uses(perp__builder *b, const perp__statement *statements)
{
    if (add_file(b, b->source->name, statements) == 0) read_uses_of(b, 0);
}

/* Definitions --------------------------------------------------------------------------------- */

const perp__statement *perp__find_definition(perp__builder *b, perp__statement_kind kind,
                                             const char *name, int at, int end, int *file)
{
    const perp__used *here = &b->used[b->space->file];
    *file = b->space->file;
    if (!here->ndefined && !here->nuse) return NULL;
    const perp__statement *s = defined_in(here, kind, name);
    for (int k = 0; k < here->nuse && (!s || *file != b->space->file); k++) {
        const perp__statement *other = defined_in(&b->used[here->uses[k]], kind, name);
        if (s && other && other != s) {
            perp__error(b->source, at, end, "'%s' is in both %s and %s", name, b->used[*file].name,
                        b->used[here->uses[k]].name);
            return NULL;
        }
        if (other) s = other, *file = here->uses[k];
    }
    if (s) perp__mention(b, at, at + (int)strlen(name), s->name_at);
    return s;
}
