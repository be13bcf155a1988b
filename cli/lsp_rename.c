/* References and renaming, through all texts that use a name: the open ones, and the models in the
 * folders of the files that declare it. A new name is put in and everything is read again. A
 * changed meaning, or an error, refuses the rename. */

#include "base/input.h"
#include "lsp.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 300, MOST_BYTES = 1 << 22 };

/* A place in a file: of a declaration, or of a mention that means it. */
typedef struct spot {
    const char *path;
    int at, end;
} spot;

typedef struct spots {
    spot *item;
    int n, capacity;
} spots;

/* The texts that are looked at: copies of those that are open, and others. */
typedef struct family {
    lsp_server texts;
    spots declared, mentioned;
    int has_library, is_unknown; /* one is in perp's library; one has an unknown use */
} family;

static int has(const spots *s, const char *path, int at)
{
    for (int i = 0; i < s->n; i++)
        if (s->item[i].at == at && strcmp(s->item[i].path, path) == 0) return 1;
    return 0;
}

static void add(spots *s, const char *path, int at, int end)
{
    if (has(s, path, at)) return;
    if (s->n == s->capacity) {
        int capacity = 2 * s->capacity + 16;
        spot *more = realloc(s->item, (size_t)capacity * sizeof *more);
        if (!more) cli_exit_code(PERP_ERR_MEMORY);
        if (!more) return;
        s->item = more;
        s->capacity = capacity;
    }
    s->item[s->n++] = (spot){path, at, end};
}

/* Texts ---------------------------------------------------------------------------------------- */

static void add_file(family *f, const char *path)
{
    char *uri = lsp_uri_of_path(path);
    char *text = NULL;
    const char *why;
    size_t n = 0;
    perp_status status = uri && !lsp_find(&f->texts, uri)
                             ? perp__input_read(path, PERP__REGULAR, MOST_BYTES, 1, &text, &n, &why)
                             : PERP_ERR_FILE;
    if (status == PERP_ERR_MEMORY) cli_exit_code(status);
    if (status == PERP_OK && !memchr(text, 0, n)) lsp_open(&f->texts, uri, text);
    free(text);
    free(uri);
}

static void add_folder(family *f, const char *path)
{
    char name[CLI_PATH_ROOM];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    if (!slash || n + 258 > sizeof name) return;
    memcpy(name, path, n);
    name[n] = 0;
    DIR *folder = opendir(n ? name : "/");
    struct dirent *entry;
    for (int k = 0; folder && k < MOST_FILES && (entry = readdir(folder)); k++) {
        size_t length = strlen(entry->d_name);
        if (length < 6 || strcmp(entry->d_name + length - 5, ".perp") != 0) continue;
        snprintf(name + n, sizeof name - n, "/%s", entry->d_name);
        add_file(f, name);
    }
    if (folder) closedir(folder);
}

static void begin(family *f, const lsp_server *server, const lsp_place *p)
{
    *f = (family){.texts = {.folder = server->folder}};
    for (const lsp_document *d = server->first; d; d = d->next)
        lsp_open(&f->texts, d->uri, d->text);
    add_folder(f, p->document->path);
    for (int i = 1; i < perp_outline_files(p->outline); i++) {
        perp_outline_file used = perp_outline_get_file(p->outline, i);
        if (used.is_library) continue;
        add_file(f, used.name);
        add_folder(f, used.name);
    }
}

static void end(family *f)
{
    while (f->texts.first) lsp_close(&f->texts, f->texts.first);
    free(f->declared.item);
    free(f->mentioned.item);
}

/* The path of a file of an outline, as the documents have it; NULL: of the library. */
static const char *path_of(const family *f, const lsp_document *d, const perp_outline *o, int file)
{
    if (file == 0) return d->path;
    perp_outline_file used = perp_outline_get_file(o, file);
    if (used.is_library) return NULL;
    for (const lsp_document *other = f->texts.first; other; other = other->next)
        if (strcmp(other->path, used.name) == 0 || perp_file_is_same(other->path, used.name))
            return other->path;
    return used.name;
}

/* Those of all files of an outline; the caller frees. */
static const char **paths_of(const family *f, const lsp_document *d, const perp_outline *o)
{
    int n = perp_outline_files(o);
    const char **path = calloc((size_t)n, sizeof *path);
    if (!path) cli_exit_code(PERP_ERR_MEMORY);
    for (int i = 0; i < n && path; i++) path[i] = path_of(f, d, o, i);
    return path;
}

/* What the name means -------------------------------------------------------------------------- */

/* The mention behind those at the place of mention i. */
static int behind_place(const perp_outline *o, int i)
{
    perp_outline_place at = perp_outline_get_mention(o, i).at, next = at;
    while (next.file == at.file && next.at == at.at && ++i < perp_outline_mentions(o))
        next = perp_outline_get_mention(o, i).at;
    return i;
}

/* Does one of the mentions from i to `last` mean one of the declarations? */
static int means_one(const family *f, const char **path, const perp_outline *o, int i, int last)
{
    for (; i < last; i++) {
        perp_outline_place meant = perp_outline_get_mention(o, i).meant;
        if (meant.file >= 0 && path[meant.file] && has(&f->declared, path[meant.file], meant.at))
            return 1;
    }
    return 0;
}

/* The declarations that mentions from i to `last` mean. */
static void add_declared(family *f, const char **path, const perp_outline *o, int i, int last)
{
    for (; i < last; i++) {
        perp_outline_place meant = perp_outline_get_mention(o, i).meant;
        f->has_library |= meant.file >= 0 && !path[meant.file];
        f->is_unknown |= meant.file < 0;
        if (meant.file >= 0 && path[meant.file])
            add(&f->declared, path[meant.file], meant.at, meant.end);
    }
}

/* One text: its mentions of the declarations, and the declarations that such a mention means as
 * well. */
static void gather_in(family *f, const lsp_document *d, const perp_outline *o)
{
    const char **path = paths_of(f, d, o);
    for (int i = 0, next; path && i < perp_outline_mentions(o); i = next) {
        perp_outline_place at = perp_outline_get_mention(o, i).at;
        next = behind_place(o, i);
        if (!path[at.file] || !means_one(f, path, o, i, next)) continue;
        add(&f->mentioned, path[at.file], at.at, at.end);
        add_declared(f, path, o, i, next);
    }
    free(path);
}

static void gather(family *f, const lsp_place *p)
{
    lsp_document *d = lsp_find(&f->texts, p->document->uri);
    const perp_outline *o = d ? lsp_outline(&f->texts, d, NULL) : NULL;
    const char **path = o ? paths_of(f, d, o) : NULL;
    int i = o ? lsp_mention_at(o, p->byte) : -1;
    if (i >= 0 && path) add_declared(f, path, o, i, behind_place(o, i));
    free(path);
    for (int before = -1; before != f->declared.n + f->mentioned.n;) {
        before = f->declared.n + f->mentioned.n;
        for (lsp_document *other = f->texts.first; other; other = other->next) {
            const perp_outline *its = lsp_outline(&f->texts, other, NULL);
            if (its) gather_in(f, other, its);
        }
    }
}

static int by_place(const void *x, const void *y)
{
    const spot *a = x, *b = y;
    int path = strcmp(a->path, b->path);
    return path ? path : (a->at > b->at) - (a->at < b->at);
}

/* The mentions in the order of files and places. */
static void sort(family *f)
{
    if (f->mentioned.n)
        qsort(f->mentioned.item, (size_t)f->mentioned.n, sizeof *f->mentioned.item, by_place);
}

static lsp_document *document_at(const family *f, const char *path)
{
    lsp_document *d = f->texts.first;
    while (d && strcmp(d->path, path) != 0) d = d->next;
    return d;
}

void lsp_refer(lsp_server *server, const cJSON *params, lsp_answer *answer)
{
    lsp_place p;
    family f;
    if (!lsp_place_of(server, params, &p, answer)) return;
    const cJSON *context = cJSON_GetObjectItem(params, "context");
    int with = !cJSON_IsFalse(cJSON_GetObjectItem(context, "includeDeclaration"));
    begin(&f, server, &p);
    gather(&f, &p);
    sort(&f);
    answer->result = cJSON_CreateArray();
    for (int i = 0; i < f.mentioned.n; i++) {
        const spot *s = &f.mentioned.item[i];
        const lsp_document *d = document_at(&f, s->path);
        if (!d || (!with && has(&f.declared, s->path, s->at))) continue;
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "uri", d->uri);
        cJSON_AddItemToObject(o, "range",
                              lsp_range(d->text, d->length, (size_t)s->at, (size_t)s->end));
        cJSON_AddItemToArray(answer->result, o);
    }
    end(&f);
}

/* Renaming ------------------------------------------------------------------------------------- */

static int is_name(const char *s)
{
    for (const char *c = s; *c; c++) {
        int letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_' ||
                     (unsigned char)*c >= 0x80;
        if (!letter && !(c > s && *c >= '0' && *c <= '9')) return 0;
    }
    return s[0] && strlen(s) <= 200;
}

/* Why the name at hand cannot be renamed, whatever its new one is; 1: it can. */
static int may_rename(const family *f, const lsp_place *p, lsp_answer *answer)
{
    if (lsp_mention_at(p->outline, p->byte) < 0)
        lsp_refuse(answer, LSP_FAILED, "there is no name of the model's here");
    else if (f->has_library)
        lsp_refuse(answer, LSP_FAILED, "the name is one of perp's own library");
    else if (f->is_unknown)
        lsp_refuse(answer, LSP_FAILED,
                   "what this name means is not known: no part is given here yet");
    return !answer->error;
}

void lsp_prepare_rename(lsp_server *server, const cJSON *params, lsp_answer *answer)
{
    lsp_place p;
    family f;
    if (!lsp_place_of(server, params, &p, answer)) return;
    begin(&f, server, &p);
    gather(&f, &p);
    if (may_rename(&f, &p, answer)) {
        perp_outline_place at =
            perp_outline_get_mention(p.outline, lsp_mention_at(p.outline, p.byte)).at;
        answer->result =
            lsp_range(p.document->text, p.document->length, (size_t)at.at, (size_t)at.end);
    }
    end(&f);
}

/* Where a byte of the file stands when all mentions have the new name. */
static int moved(const family *f, const char *path, int at, int longer)
{
    int by = 0;
    for (int i = 0; i < f->mentioned.n && path; i++)
        if (strcmp(f->mentioned.item[i].path, path) == 0 && f->mentioned.item[i].at < at)
            by += longer;
    return at + by;
}

/* Put the new name into all texts of the other family, which has the same ones. */
static void put_name(const family *f, family *renamed, const char *name)
{
    size_t n = strlen(name);
    for (const lsp_document *d = f->texts.first; d; d = d->next) {
        char *all = malloc(d->length + (size_t)f->mentioned.n * n + 1), *to = all;
        int at = 0;
        if (!all) cli_exit_code(PERP_ERR_MEMORY);
        for (int i = 0; i < f->mentioned.n && all; i++) {
            const spot *s = &f->mentioned.item[i];
            if (strcmp(s->path, d->path) != 0) continue;
            memcpy(to, d->text + at, (size_t)(s->at - at));
            to += s->at - at;
            memcpy(to, name, n);
            to += n;
            at = s->end;
        }
        if (!all) continue;
        strcpy(to, d->text + at);
        lsp_open(&renamed->texts, d->uri, all);
        free(all);
    }
}

/* Does this mention in the text as it was have its like in the new one? */
static int is_alike(const family *f, const char **path, const perp_outline *was,
                    const perp_outline *is, int i, int longer)
{
    perp_outline_mention a = perp_outline_get_mention(was, i), b = perp_outline_get_mention(is, i);
    if (a.at.file != b.at.file || a.meant.file != b.meant.file) return 0;
    if (moved(f, path[a.at.file], a.at.at, longer) != b.at.at) return 0;
    return a.meant.file < 0 || moved(f, path[a.meant.file], a.meant.at, longer) == b.meant.at;
}

static int are_alike(const family *f, const lsp_document *d, const perp_outline *was,
                     const perp_outline *is, int longer)
{
    int n = perp_outline_mentions(was), same = is && perp_outline_mentions(is) == n;
    const char **path = paths_of(f, d, was);
    for (int i = 0; same && path && i < n; i++) same = is_alike(f, path, was, is, i, longer);
    free(path);
    return same && path;
}

static void refuse_at(const lsp_document *d, int byte, const char *why, lsp_answer *answer)
{
    cJSON *at = lsp_position(d->text, d->length, (size_t)byte);
    lsp_refuse(answer, LSP_FAILED, "%s:%d: %s", d->path,
               cJSON_GetObjectItem(at, "line")->valueint + 1, why);
    cJSON_Delete(at);
}

/* Is a name called so in the text that is not known, and might be this one? */
static int has_unknown(const perp_outline *o, const char *name, size_t n, int *byte)
{
    for (int i = 0; i < perp_outline_mentions(o); i++) {
        perp_outline_mention m = perp_outline_get_mention(o, i);
        perp_outline_file file = perp_outline_get_file(o, m.at.file);
        if (m.meant.file >= 0 || m.at.file > 0 || (size_t)(m.at.end - m.at.at) != n) continue;
        *byte = m.at.at;
        if (strncmp(file.text + m.at.at, name, n) == 0) return 1;
    }
    return 0;
}

static int is_concerned(const family *f, const lsp_document *d, const perp_outline *o)
{
    const char **path = paths_of(f, d, o);
    int found = path && means_one(f, path, o, 0, perp_outline_mentions(o));
    free(path);
    return found;
}

/* A text that speaks of the name, before and after; refuses where anything else changes. */
static void compare_text(family *f, lsp_document *d, const perp_outline *was, family *renamed,
                         const char *old, size_t n, int longer, lsp_answer *answer)
{
    lsp_document *other = lsp_find(&renamed->texts, d->uri);
    perp_diag diag = {0};
    perp_message m;
    size_t at = 0;
    int byte;
    if (d->errors)
        lsp_refuse(answer, LSP_FAILED, "%s has errors, which come first", d->path);
    else if (has_unknown(was, old, n, &byte))
        refuse_at(d, byte,
                  "this may be the same name, of a part that is not given yet; make one first",
                  answer);
    if (answer->error || !other) return;
    const perp_outline *is = lsp_outline(&renamed->texts, other, &diag);
    if (diag.errors && perp_diag_next(&diag, &at, &m))
        lsp_refuse(answer, LSP_FAILED, "with that name there is an error: %.*s",
                   m.ntext > 400 ? 400 : m.ntext, m.text);
    else if (!are_alike(f, d, was, is, longer))
        lsp_refuse(answer, LSP_FAILED, "names would mean something else with that name");
    perp_diag_clear(&diag);
}

static void compare(family *f, family *renamed, const char *old, size_t n, int longer,
                    lsp_answer *answer)
{
    for (lsp_document *d = f->texts.first; d && !answer->error; d = d->next) {
        const perp_outline *was = lsp_outline(&f->texts, d, NULL);
        if (was && is_concerned(f, d, was))
            compare_text(f, d, was, renamed, old, n, longer, answer);
    }
}

static void add_edits(const family *f, const char *name, cJSON *changes)
{
    for (int i = 0; i < f->mentioned.n; i++) {
        const spot *s = &f->mentioned.item[i];
        const lsp_document *d = document_at(f, s->path);
        if (!d) continue;
        cJSON *list = cJSON_GetObjectItemCaseSensitive(changes, d->uri);
        if (!list) list = cJSON_AddArrayToObject(changes, d->uri);
        cJSON *edit = cJSON_CreateObject();
        cJSON_AddItemToObject(edit, "range",
                              lsp_range(d->text, d->length, (size_t)s->at, (size_t)s->end));
        cJSON_AddStringToObject(edit, "newText", name);
        cJSON_AddItemToArray(list, edit);
    }
}

void lsp_rename(lsp_server *server, const cJSON *params, lsp_answer *answer)
{
    lsp_place p;
    family f, renamed = {.texts = {.folder = server->folder}};
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(params, "newName"));
    if (!lsp_place_of(server, params, &p, answer)) return;
    if (!name || !is_name(name)) {
        lsp_refuse(answer, LSP_PARAMS,
                   "'%.100s' is no name: letters, digits and _, the first no digit",
                   name ? name : "");
        return;
    }
    begin(&f, server, &p);
    gather(&f, &p);
    sort(&f);
    if (may_rename(&f, &p, answer)) {
        perp_outline_place at =
            perp_outline_get_mention(p.outline, lsp_mention_at(p.outline, p.byte)).at;
        int n = at.end - at.at;
        put_name(&f, &renamed, name);
        compare(&f, &renamed, p.document->text + at.at, (size_t)n, (int)strlen(name) - n, answer);
    }
    if (!answer->error) {
        answer->result = cJSON_CreateObject();
        add_edits(&f, name, cJSON_AddObjectToObject(answer->result, "changes"));
    }
    end(&renamed);
    end(&f);
}
