/* Outlines: the mentions of names that the builder meets, and its knowledge of their declarations
 * at the end. Then it reads the text once more, muted: both branches of each `if`, and each part
 * and function by itself. So every text has its meaning. */

#include "model/builder.h"
#include "model/library.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct mention {
    int at, end, meant;
} mention;

typedef struct named {
    const char *name, *kind, *unit, *of;
    const perp__item *item; /* whose value it has; NULL */
    double value;
    int at, end, from, to; /* from, to: its scope */
} named;

struct perp_outline {
    perp_model *model; /* what was built of it, which the texts and names are of; no model to use */
    mention *mention;
    int nmention, cmention;
    named *name;
    int nname, cname;
    int failed;
};

/* Mentions ------------------------------------------------------------------------------------ */

/* What is known comes before what is not. */
static int by_place(const void *x, const void *y)
{
    const mention *a = x, *b = y;
    if (a->at != b->at) return a->at < b->at ? -1 : 1;
    return (a->meant < b->meant) - (a->meant > b->meant);
}

/* In order, each once; one that is known somewhere is not unknown. */
static void sort_mentions(perp_outline *o)
{
    int n = 0;
    if (o->nmention) qsort(o->mention, (size_t)o->nmention, sizeof *o->mention, by_place);
    for (int i = 0; i < o->nmention; i++) {
        const mention *last = n ? &o->mention[n - 1] : NULL, *m = &o->mention[i];
        if (last && last->at == m->at && (last->meant == m->meant || m->meant < 0)) continue;
        o->mention[n++] = *m;
    }
    o->nmention = n;
}

void perp__keep_mention(perp__builder *b, int at, int end, int meant)
{
    perp_outline *o = b->outline;
    if (o->nmention == o->cmention) sort_mentions(o); /* loops and instances say the same again */
    if (2 * o->nmention >= o->cmention &&
        !perp__grow(&o->mention, &o->cmention, 4 * o->nmention + 64, sizeof *o->mention)) {
        b->failed = 1;
        return;
    }
    o->mention[o->nmention++] = (mention){at, end, meant};
}

static int is_of_word(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c >= 0x80;
}

int perp__word_behind(const perp__builder *b, int at, const char *word)
{
    const char *text = b->source->text;
    int n = (int)strlen(word);
    for (int i = at; i + n <= b->source->length; i++) {
        if (text[i] == '#') i += (int)strcspn(text + i, "\n");
        if (strncmp(text + i, word, (size_t)n) == 0 && !is_of_word((unsigned char)text[i + n]) &&
            !(i > 0 && is_of_word((unsigned char)text[i - 1])))
            return i;
    }
    return at;
}

int perp__name_place(const perp__builder *b, const perp__syntax *s)
{
    if (!s->base) return s->at;
    return perp__word_behind(b, s->base->end, s->text);
}

/* Names --------------------------------------------------------------------------------------- */

static const char *const kinds[] = {"parameter", "input", "state",    "var",      "output",
                                    "let",       "sum",   "instance", "instances"};

static named *add_name(perp__builder *b, const char *name, const char *kind, int at, int end)
{
    perp_outline *o = b->outline;
    if (!perp__grow(&o->name, &o->cname, o->nname + 1, sizeof *o->name)) {
        b->failed = 1;
        return NULL;
    }
    named *n = &o->name[o->nname++];
    *n = (named){.name = name, .kind = kind, .unit = "", .value = NAN, .at = at, .end = end};
    n->from = n->to = -1;
    return n;
}

/* The name in full of the instance that a let or an argument stands for; NULL. */
static const char *stands_for(perp__builder *b, const perp__declared *d)
{
    const perp__late *late = d->late;
    if (d->kind != PERP__LET || !late->s) return NULL;
    perp__here before = perp__enter(b, late->space, late->turn);
    const perp__declared *part = perp__find_path(b, late->s, 1);
    perp__leave(b, before);
    return part && part->kind >= PERP__PART ? part->name : NULL;
}

/* What was declared, in parts once an instance. */
static void add_declared(perp__builder *b)
{
    for (int i = 0; i < b->nname && !b->failed; i++) {
        const perp__declared d = b->name[i];
        const char *of = d.kind == PERP__PART ? d.space->of->name : stands_for(b, &d),
                   *name = strchr(d.name, ':') ? strchr(d.name, ':') + 1 : d.name;
        named *n = add_name(b, name, kinds[d.kind], d.at, d.end);
        if (!n) return;
        n->of = of;
        if (d.kind == PERP__SUM && d.late->unit) n->unit = d.late->unit;
        if (d.kind >= PERP_SYMBOL_KINDS || d.n < 1) continue;
        const perp__item *item = perp__item_at(b, (perp_symbol_kind)d.kind, d.first);
        n->unit = item->unit;
        if (d.n == 1) n->value = item->value;
    }
}

/* The scopes of all names at these places, where they have none yet. */
static void add_scope(perp_outline *o, int from, int to)
{
    for (int i = 0; i < o->nname; i++) {
        named *n = &o->name[i];
        if (n->from < 0 && n->at >= from && n->at < to) {
            n->from = from;
            n->to = to;
        }
    }
}

static void add_arguments(perp__builder *b, const perp__statement *head)
{
    for (const perp__statement *h = head; h; h = h->next)
        add_name(b, h->name, "argument", h->name_at, h->name_end);
}

/* Indices of loops and of arrays of instances; scopes of what is inside, the innermost first. */
static void add_indices(perp__builder *b, const perp__statement *s)
{
    for (; s && !b->failed; s = s->next) {
        if (s->kind != STATEMENT_PART) add_indices(b, s->body);
        add_indices(b, s->otherwise);
        int is_loop = s->kind == STATEMENT_FOR;
        if (!is_loop && !(s->kind == STATEMENT_INSTANCE && s->index)) continue;
        const char *name = is_loop ? s->name : s->index;
        int at = is_loop ? s->name_at : perp__word_behind(b, s->name_end, name),
            end = at + (int)strlen(name);
        named *n = add_name(b, name, "index", at, end);
        if (n) {
            n->from = s->at;
            n->to = is_loop ? s->body_end : s->end;
        }
        perp__mention(b, at, end, at);
    }
}

static void add_definition(perp__builder *b, const perp__statement *s)
{
    int is_part = s->kind == STATEMENT_PART;
    perp__mention(b, s->name_at, s->name_end, s->name_at);
    for (const perp__statement *h = s->head; h; h = h->next)
        perp__mention(b, h->name_at, h->name_end, h->name_at);
    if (is_part)
        add_indices(b, s->body);
    else
        add_arguments(b, s->head);
    add_scope(b->outline, s->name_end, is_part ? s->body_end : s->end);
    add_name(b, s->name, is_part ? "part" : "function", s->name_at, s->name_end);
}

/* What nothing uses --------------------------------------------------------------------------- */

int perp__are_definitions(const perp__statement *s)
{
    int n = 0;
    for (; s; s = s->next, n++) {
        if (s->kind != STATEMENT_PART && s->kind != STATEMENT_FUNCTION &&
            s->kind != STATEMENT_LET && s->kind != STATEMENT_USE)
            return 0;
    }
    return n > 0;
}

/* An instance of the part, "?Block", without arguments. */
static void make_alone(perp__builder *b, const perp__statement *part,
                       void (*read)(perp__builder *, const perp__statement *))
{
    perp__statement *s = perp__arena_alloc(b->arena, sizeof *s);
    char *name = perp__arena_alloc(b->arena, strlen(part->name) + 2);
    if (!s || !name) {
        b->failed = 1;
        return;
    }
    name[0] = '?';
    strcpy(name + 1, part->name);
    *s = (perp__statement){.kind = STATEMENT_INSTANCE,
                           .at = part->name_at,
                           .end = part->name_end,
                           .name = name,
                           .name_at = part->name_at,
                           .name_end = part->name_end,
                           .type = part->name};
    read(b, s);
}

/* A call of the function with numbers. */
static void call_alone(perp__builder *b, const perp__statement *f, int file)
{
    int n = 0;
    static perp__syntax one = {.kind = SYNTAX_NUMBER, .number = 1};
    for (const perp__statement *h = f->head; h; h = h->next) n++;
    perp__syntax call = {
        .kind = SYNTAX_CALL, .at = f->name_at, .end = f->name_end, .text = f->name, .n = n};
    PERP_TAKE(b->arena, call.item, n + 1);
    if (!call.item) b->failed = 1;
    for (int k = 0; k < n && call.item; k++) call.item[k] = &one;
    b->scope = SCOPE_OUTPUT;
    if (call.item) perp__lower_function(b, &call, f, file);
}

static void survey(perp__builder *b, void (*read)(perp__builder *, const perp__statement *))
{
    perp__source *source = b->source;
    int nmessage = source->nmessage, nerror = source->nerror;
    source->nerror = 0;
    b->is_surveying = 1;
    for (int k = 0; k < b->nused && !b->failed; k++) {
        for (int i = 0; i < b->used[k].ndefined && !b->failed; i++) {
            const perp__statement *s = b->used[k].defined[i];
            perp__here before = perp__enter(b, k ? &b->used[k].space : &b->root, NULL);
            source->nerror = 0;
            if (s->kind == STATEMENT_PART)
                make_alone(b, s, read);
            else
                call_alone(b, s, k);
            perp__leave(b, before);
        }
    }
    source->nerror = 0;
    perp__here before = perp__enter(b, &b->root, NULL);
    if (!b->failed && b->nused) read(b, b->used[0].statements);
    perp__leave(b, before);
    b->is_surveying = 0;
    for (int i = nmessage; i < source->nmessage; i++) free(source->message[i].text);
    source->nmessage = nmessage;
    source->nerror = nerror;
}

void perp__finish_outline(perp__builder *b, void (*read)(perp__builder *, const perp__statement *))
{
    perp_outline *o = b->outline;
    double *symbol = malloc(((size_t)b->model->nsymbol + 1) * sizeof *symbol);
    if (!symbol || (!b->source->nerror && !perp__model_values(b->model, symbol))) b->failed = 1;
    free(symbol);
    survey(b, read);
    add_declared(b);
    for (int k = 0; k < b->nused && !b->failed; k++) {
        for (int i = 0; i < b->used[k].ndefined && !b->failed; i++)
            add_definition(b, b->used[k].defined[i]);
        add_indices(b, b->used[k].statements);
    }
    sort_mentions(o);
}

/* The public face ----------------------------------------------------------------------------- */

perp_status perp_outline_create(const char *text, size_t length, const char *name,
                                const perp_model_options *options, perp_outline **out,
                                perp_diag *diag)
{
    if (!out) return PERP_ERR_ARG;
    *out = NULL;
    if (!text || !name) return PERP_ERR_ARG;
    perp_outline *o = calloc(1, sizeof *o);
    if (!o) return perp__out_of_memory(diag, name);
    perp_status status = perp__model_read(text, length, name, options, o, &o->model, diag);
    if (status == PERP_ERR_MODEL && o->model) status = PERP_OK;
    if (status == PERP_OK)
        *out = o;
    else
        perp_outline_destroy(o);
    return status;
}

void perp_outline_destroy(perp_outline *outline)
{
    if (!outline) return;
    perp_model_destroy(outline->model);
    free(outline->mention);
    free(outline->name);
    free(outline);
}

int perp_outline_files(const perp_outline *outline)
{
    int n = outline->model->source.nfile;
    return n ? n : 1;
}

static int first_byte(const perp__source *source, int file)
{
    return source->nfile ? source->file[file].at : 0;
}

perp_outline_file perp_outline_get_file(const perp_outline *outline, int i)
{
    const perp__source *source = &outline->model->source;
    int at = first_byte(source, i),
        end = i + 1 < source->nfile ? source->file[i + 1].at - 1 : source->length;
    perp_outline_file file = {source->nfile ? source->file[i].name : source->name,
                              source->text + at, (size_t)(end - at), 0};
    for (int k = 0; k < perp__nlibrary; k++) file.is_library |= file.name == perp__library[k].file;
    return file;
}

static perp_outline_place place_of(const perp_outline *outline, int at, int end)
{
    const perp__source *source = &outline->model->source;
    if (at < 0) return (perp_outline_place){-1, 0, 0};
    int file = perp__source_file(source, at), first = first_byte(source, file);
    return (perp_outline_place){file, at - first, end - first};
}

int perp_outline_names(const perp_outline *outline)
{
    return outline->nname;
}

perp_outline_name perp_outline_get_name(const perp_outline *outline, int i)
{
    const named *n = &outline->name[i];
    perp_outline_name name = {.name = n->name,
                              .kind = n->kind,
                              .unit = n->unit,
                              .of = n->of,
                              .value = n->value,
                              .at = place_of(outline, n->at, n->end)};
    name.scope = place_of(outline, n->from, n->to);
    if (n->from < 0)
        name.scope = (perp_outline_place){name.at.file, 0,
                                          (int)perp_outline_get_file(outline, name.at.file).length};
    return name;
}

int perp_outline_mentions(const perp_outline *outline)
{
    return outline->nmention;
}

perp_outline_mention perp_outline_get_mention(const perp_outline *outline, int i)
{
    const mention *m = &outline->mention[i];
    return (perp_outline_mention){place_of(outline, m->at, m->end),
                                  place_of(outline, m->meant, m->meant + m->end - m->at)};
}

const char *const *perp_language_words(int *n)
{
    return perp__language_words(n);
}

const char *perp_library_name(int i)
{
    return i >= 0 && i < perp__nlibrary ? perp__library[i].name : NULL;
}
