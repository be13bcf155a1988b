/* Used files: found beside the file that uses them or in the library of perp, read once each,
 * joined to the model's text. Also the meaning of a part's or function's name in each file. */

#include "base/input.h"
#include "model/builder.h"
#include "model/library.h"
#include "model/robot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The parts and functions of the file, and the files that it uses first, in one walk: the walk is
 * long, and each statement waits for memory. Returns 0 when memory is out. */
static int list_definitions(perp__builder *b, perp__used *file)
{
    for (const perp__statement *s = file->statements; s; s = s->next) {
        if (!file->first_use &&
            (s->kind == STATEMENT_USE || (s->kind == STATEMENT_INSTANCE && s->robot)))
            file->first_use = s;
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

/* The path of this name in a folder, given by n bytes that end with a slash. */
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
    const char *why;
    if (!path) return PERP_ERR_MEMORY;
    for (int i = 0; i < b->how->ntext; i++) {
        const perp_model_text *given = &b->how->text[i];
        if (strcmp(given->path, path) != 0 && !perp_file_is_same(given->path, path)) continue;
        *n = given->length;
        *text = malloc(*n + 1);
        if (*text) memcpy(*text, given->text, *n);
        return *text ? PERP_OK : PERP_ERR_MEMORY;
    }
    perp_status status = perp__input_read(path, PERP__REGULAR, PERP__MODEL_MAX, 1, text, n, &why);
    return status == PERP_ERR_DATA ? PERP_ERR_FILE : status;
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

static void check_used(perp__builder *b, const perp__statement *s);

/* The index of a file with this text, joined to the model's; `name` is kept. -1 with an error. */
static int join_file(perp__builder *b, const perp__statement *s, const char *name, const char *text,
                     size_t n)
{
    if (b->nused == MOST_FILES || (size_t)b->source->length + n + 2 > PERP__MODEL_MAX) {
        perp__error(
            b->source, s->robot ? s->robot_at : s->name_at, s->robot ? s->robot_end : s->name_end,
            "too much is used: more than %d files or %d MB", MOST_FILES, PERP__MODEL_MAX >> 20);
        return -1;
    }
    if (!perp__source_add(b->source, b->arena, name, text, n)) {
        b->failed = 1;
        return -1;
    }
    int first = b->source->length - (int)n;
    const perp__statement *statements = perp__parse(b->source, b->arena, first);
    int file = b->arena->failed ? -1 : add_file(b, name, statements);
    if (file >= 0) check_used(b, statements);
    if (file >= 0) read_uses_of(b, file);
    return file;
}

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
    file = join_file(b, s, name, text, n);
    free(text);
    return file;
}

/* Robots --------------------------------------------------------------------------------------- */

/* Each message of the diag, as one about the statement's file. */
static void say_robot(perp__builder *b, const perp__statement *s, const perp_diag *diag)
{
    size_t at = 0;
    perp_message m;
    while (perp_diag_next(diag, &at, &m)) {
        char place[32] = "";
        if (m.line) snprintf(place, sizeof place, ":%d:%d", m.line, m.column);
        perp__error(b->source, s->robot_at, s->robot_end, "%.*s%s%s%.*s", m.file ? m.nfile : 0,
                    m.file ? m.file : "", place, m.file ? ": " : "", m.ntext, m.text);
    }
}

static void keep_note(void *builder, const perp_robot_ignored *note)
{
    perp__builder *b = builder;
    perp_model *m = b->model;
    if (!perp__arena_grow(b->arena, &m->ignored, &m->cignored, m->nignored + 1, sizeof *m->ignored))
        return; /* the arena remembers */
    m->ignored[m->nignored] = *note;
    m->ignored[m->nignored].file = perp__arena_string(b->arena, note->file, strlen(note->file));
    m->ignored[m->nignored++].what = perp__arena_string(b->arena, note->what, strlen(note->what));
}

static void keep_ignored(perp__builder *b, const perp_robot *robot)
{
    perp_robot_ignored note;
    for (int k = 0; perp_robot_note(robot, k, &note); k++) keep_note(b, &note);
}

/* The text of the robot's part; where its file is not there but its text is, as in an FMU, that. */
static perp_status read_robot(perp__builder *b, const perp__statement *s, const char *path,
                              const char *name, perp__text *text, perp_diag *diag)
{
    perp_robot *robot = NULL;
    char part[256], *own = NULL;
    size_t n;
    perp__robot_how how = {s->key, s->contacts, keep_note, b};
    perp_status status = perp_robot_read(path, &robot, diag);
    perp__robot_part_name(path, part, sizeof part);
    if (status == PERP_OK) status = perp__robot_text(robot, path, part, &how, text, diag);
    if (status == PERP_OK) keep_ignored(b, robot);
    perp_robot_destroy(robot);
    if (status != PERP_ERR_FILE || read_regular(b, name, &own, &n) != PERP_OK) return status;
    perp__text_bytes(text, own, n);
    free(own);
    return text->failed ? PERP_ERR_MEMORY : PERP_OK;
}

/* The place of the robot's text among the files; -1 with an error. */
static int use_robot(perp__builder *b, int user, const perp__statement *s)
{
    const char *from = b->used[user].name, *slash = strrchr(from, '/');
    int folder = slash && s->robot[0] != '/' ? (int)(slash - from) + 1 : 0;
    size_t size = (size_t)folder + strlen(s->robot) + 12;
    if (s->key) size += strlen(s->key);
    if (s->contacts) size += strlen(s->contacts);
    char *path = perp__arena_alloc(b->arena, size), *name = perp__arena_alloc(b->arena, size);
    perp__text text = {0};
    perp_diag diag = {0};
    if (!path || !name) {
        b->failed = 1;
        return -1;
    }
    snprintf(path, size, "%.*s%s", folder, from, s->robot);
    snprintf(name, size, "%s%s%s%s%s.perp", path, s->key ? "." : "", s->key ? s->key : "",
             s->contacts ? "." : "", s->contacts ? s->contacts : "");
    int file = find_file(b, name);
    if (file >= 0) return file;
    perp_status status = read_robot(b, s, path, name, &text, &diag);
    if (status == PERP_OK)
        file = join_file(b, s, name, text.at, text.length);
    else if (status == PERP_ERR_MEMORY)
        b->failed = 1;
    else
        say_robot(b, s, &diag);
    perp__text_clear(&text);
    perp_diag_clear(&diag);
    return file;
}

static void read_robot_of(perp__builder *b, int user, const perp__statement *s)
{
    int file = use_robot(b, user, s);
    if (file < 0 || b->failed) return;
    if (!perp__arena_grow(b->arena, &b->robot, &b->crobot, b->nrobot + 1, sizeof *b->robot))
        b->failed = 1;
    else
        b->robot[b->nrobot++] = (perp__robot_use){s, file};
}

const perp__statement *perp__robot_part(perp__builder *b, const perp__statement *s, int *file)
{
    for (int i = 0; i < b->nrobot; i++) {
        const perp__used *used = &b->used[b->robot[i].file];
        if (b->robot[i].s != s || !used->ndefined) continue;
        *file = b->robot[i].file;
        return used->defined[0];
    }
    if (!perp__source_has_error(b->source, s->robot_at))
        perp__error(b->source, s->at, s->end,
                    "a robot stands in the model itself, not in a part, a loop or an if");
    return NULL;
}

static void read_uses_of(perp__builder *b, int user)
{
    for (const perp__statement *s = b->used[user].first_use; s && !b->failed; s = s->next) {
        if (s->robot) read_robot_of(b, user, s);
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

int perp_model_ignored(const perp_model *model, int k, perp_robot_ignored *ignored)
{
    if (k < 0 || k >= model->nignored) return 0;
    *ignored = model->ignored[k];
    return 1;
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
        if (other) {
            s = other;
            *file = here->uses[k];
        }
    }
    if (s) perp__mention(b, at, at + (int)strlen(name), s->name_at);
    return s;
}
