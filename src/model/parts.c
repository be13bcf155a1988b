/* Parts: their instances, each a space of names of its own over the same statements; lets and sums,
 * lowered where they are used; functions. */

#include "model/builder.h"
#include "model/library.h"

#include <stdio.h>
#include <string.h>

enum { MOST_NESTED = 64, MOST_CHAIN = 400 };

/* Spaces -------------------------------------------------------------------------------------- */

/* Later messages and items belong to this instance or call. */
static void set_note(perp__builder *b, const perp__note *note)
{
    perp__made *last = b->model->made;
    b->source->note = note;
    if (last ? last->note == note : !note) return;
    if (!last || last->first < b->graph->count) {
        perp__made *next = perp__arena_alloc(b->arena, sizeof *next);
        if (!next) {
            b->failed = 1;
            return;
        }
        next->first = b->graph->count;
        next->before = last;
        b->model->made = last = next;
    }
    last->note = note;
}

perp__here perp__enter(perp__builder *b, const perp__space *space, const perp__turn *turn)
{
    perp__here before = {b->space, b->turn, b->source->note};
    b->space = space;
    b->turn = turn;
    set_note(b, space->note.name ? &space->note : NULL);
    return before;
}

void perp__leave(perp__builder *b, perp__here before)
{
    b->space = before.space;
    b->turn = before.turn;
    set_note(b, before.note);
}

/* Append to a text that ends at *n; 0 when there is no more room. */
static int append(char *text, size_t size, size_t *n, const char *more)
{
    size_t length = strlen(more);
    if (*n + length >= size) return 0;
    memcpy(text + *n, more, length + 1);
    *n += length;
    return 1;
}

static int append_index(char *text, size_t size, size_t *n, char before, int index)
{
    char buffer[16];
    snprintf(buffer, sizeof buffer, "%c%d", before, index);
    return append(text, size, n, buffer);
}

/* "[2,1]" for the turns of loops, the outermost first, and at last of an index. */
static int append_turns(char *text, size_t size, size_t *n, const perp__turn *turn)
{
    if (!turn) return 1;
    return append_turns(text, size, n, turn->outer) &&
           append_index(text, size, n, turn->outer ? ',' : '[', turn->value);
}

/* Declared so in full; NULL. */
static perp__declared *known(const perp__builder *b, const char *full)
{
    int i = perp__names_find(&b->name_of, full);
    return i >= 0 && b->name[i].is_known ? &b->name[i] : NULL;
}

/* Walks --------------------------------------------------------------------------------------- */

/* The first and last index; 0 with an error. */
static int bounds_of(perp__builder *b, const perp__statement *s, int *lo, int *hi)
{
    if (!perp__lower_integer(b, s->lo, "the first index", lo) ||
        !perp__lower_integer(b, s->hi, "the last index", hi))
        return 0;
    if (*hi - *lo >= MAX_ELEMENTS) {
        perp__error(b->source, s->at, s->end, "the loop is too large");
        return 0;
    }
    return 1;
}

/* One more turn around what is at hand. It stays when instances are made in it. */
static const perp__turn *new_turn(perp__builder *b, const char *name, int at, int value,
                                  perp__turn *local)
{
    perp__turn *turn = b->is_declaring ? perp__arena_alloc(b->arena, sizeof *turn) : local;
    if (!turn) {
        b->failed = 1;
        turn = local;
    }
    *turn = (perp__turn){name, value, b->turn, at};
    return turn;
}

static void visit_loop(perp__builder *b, const perp__statement *s, int all,
                       void (*act)(perp__builder *, const perp__statement *))
{
    int lo, hi;
    if (perp__find_declared(b, s->name)) {
        perp__error(b->source, s->name_at, s->name_end,
                    "the loop index '%s' is also a declared name", s->name);
        return;
    }
    if (!bounds_of(b, s, &lo, &hi)) return;
    const perp__turn *outer = b->turn;
    for (int i = lo;
         i <= hi && !b->failed && b->source->nerror < PERP__MOST_ERRORS && perp__unroll(b, s, 1);
         i++) {
        perp__turn local;
        b->turn = new_turn(b, s->name, s->name_at, i, &local);
        perp__visit(b, s->body, all, act);
        b->turn = outer;
    }
}

/* Does the condition of an `if` hold? It is one of parameters. -1 with an error. */
static int holds(perp__builder *b, const perp__statement *s)
{
    int errors = b->source->nerror;
    perp__value v = perp__lower_in(b, SCOPE_PARAM, s->guard);
    if (b->source->nerror > errors || b->failed || !v.e) return -1;
    double x = perp__constant_value(b, v.e[0], 1);
    if (v.ndim || x != x) {
        perp__error(b->source, s->guard->at, s->guard->end,
                    "the condition of an if must compare numbers");
        return -1;
    }
    return x > 0;
}

/* The full name of the instance that the statement makes at the turns at hand; 0 with an error. */
static int instance_name(perp__builder *b, const perp__statement *s, char *name, size_t size)
{
    size_t n = 0;
    name[0] = 0;
    if (append(name, size, &n, b->space->prefix) && append(name, size, &n, s->name) &&
        append_turns(name, size, &n, b->turn) && (!b->turn || append(name, size, &n, "]")))
        return 1;
    perp__error(b->source, s->at, s->end, "the full name of '%s' is longer than %d characters",
                s->name, MOST_CHAIN);
    return 0;
}

static int declare_array(perp__builder *b, const perp__statement *s);
static const perp__space *make_instance(perp__builder *b, const perp__statement *s,
                                        const char *name);
static void make_inside(perp__builder *b, const perp__space *space);
static void check_given(perp__builder *b, const perp__space *space, const perp__statement *s);

static void visit_instance(perp__builder *b, const perp__statement *s, int all,
                           void (*act)(perp__builder *, const perp__statement *))
{
    char name[MOST_CHAIN];
    const perp__space *space = NULL;
    if (!instance_name(b, s, name, sizeof name)) return;
    int i = b->is_declaring && !b->is_surveying ? -1 : perp__names_find(&b->name_of, name);
    int is_new = b->is_declaring && i < 0;
    if (is_new)
        space = make_instance(b, s, name);
    else if (i >= 0 && b->name[i].kind == PERP__PART)
        space = b->name[i].space;
    if (!space || b->failed) return;
    perp__here before = perp__enter(b, space, NULL);
    if (is_new) make_inside(b, space);
    perp__visit(b, space->of->body, all, act);
    perp__leave(b, before);
    if (is_new) check_given(b, space, s);
}

static void visit_instances(perp__builder *b, const perp__statement *s, int all,
                            void (*act)(perp__builder *, const perp__statement *))
{
    int lo, hi;
    if (!s->index) {
        visit_instance(b, s, all, act);
        return;
    }
    if (!bounds_of(b, s, &lo, &hi)) return;
    if (hi < lo && b->is_declaring) declare_array(b, s);
    const perp__turn *outer = b->turn;
    int index_at = b->outline ? perp__word_behind(b, s->name_end, s->index) : s->at;
    for (int i = lo; i <= hi && !b->failed && b->source->nerror < PERP__MOST_ERRORS; i++) {
        perp__turn local;
        b->turn = new_turn(b, s->index, index_at, i, &local);
        visit_instance(b, s, all, act);
        b->turn = outer;
    }
}

void perp__visit(perp__builder *b, const perp__statement *s, int all,
                 void (*act)(perp__builder *, const perp__statement *))
{
    b->inside++;
    for (; s && !b->failed; s = s->next) {
        int branch = s->kind == STATEMENT_IF ? holds(b, s) : 0;
        if (s->kind == STATEMENT_IF && (branch > 0 || b->is_surveying))
            perp__visit(b, s->body, all, act);
        if (s->kind == STATEMENT_IF && (branch == 0 || b->is_surveying))
            perp__visit(b, s->otherwise, all, act);
        if (s->kind == STATEMENT_IF) continue;
        if (s->kind == STATEMENT_FOR && (all || s->makes))
            visit_loop(b, s, all, act);
        else if (s->kind == STATEMENT_INSTANCE)
            visit_instances(b, s, all, act);
        else
            act(b, s);
    }
    b->inside--;
}

/* Instances ----------------------------------------------------------------------------------- */

/* The n-th argument, or the one of this name; NULL. */
static const perp__statement *argument(const perp__statement *given, const char *name, int n)
{
    for (; given; given = given->next, n--) {
        if (given->name ? perp__is_word(given->name, name) : n == 0) return given;
    }
    return NULL;
}

const perp__syntax *perp__given(const perp__builder *b, const char *name)
{
    const perp__statement *a = argument(b->space->given, name, -1);
    return a ? a->value : NULL;
}

/* The library that has a part of this name; NULL. */
static const char *library_with(const char *part)
{
    char line[MOST_CHAIN];
    snprintf(line, sizeof line, "\npart %s", part);
    size_t n = strlen(line);
    for (int k = 0; k < perp__nlibrary; k++) {
        const char *at = perp__library[k].text;
        while ((at = strstr(at, line)) != NULL && at[n] != ' ' && at[n] != '(') at += n;
        if (at) return perp__library[k].name;
    }
    return NULL;
}

/* Say that there is no such statement, as the parser says it. The parts that are known in the file
 * count as well. */
static void unknown_part(perp__builder *b, const perp__statement *s)
{
    enum { MOST = 100 };
    const char *candidate[MOST], *library = library_with(s->type);
    char text[512];
    int n, k = 0, length = (int)strlen(s->type);
    if (library) {
        perp__error(b->source, s->at, s->at + length,
                    "no part '%s' here; one is in the library \"%s\": use \"%s\"", s->type, library,
                    library);
        return;
    }
    const char *const *words = perp__statement_words(&n);
    while (k < n) {
        candidate[k] = words[k];
        k++;
    }
    for (int f = 0; f < b->nused; f++) {
        for (const perp__statement *d = b->used[f].statements; d && k < MOST; d = d->next) {
            if (d->kind == STATEMENT_PART) candidate[k++] = d->name;
        }
    }
    perp__error(b->source, s->at, s->at + length, "%s",
                perp_unknown_word("statement", s->type, candidate, k, k > n ? "" : NULL, text,
                                  sizeof text));
}

/* Is the part at hand inside an instance of itself? Says so, with the parts between. */
static int is_endless(perp__builder *b, const perp__statement *s, const perp__statement *part)
{
    char chain[MOST_CHAIN];
    size_t n = 0;
    int depth = 0, found = 0;
    append(chain, sizeof chain, &n, part->name);
    for (const perp__space *at = b->space; at && at->of && !found; at = at->outer, depth++) {
        append(chain, sizeof chain, &n, " in ");
        append(chain, sizeof chain, &n, at->of->name);
        found = at->of == part;
    }
    if (found)
        perp__error(b->source, s->at, s->end, "the part '%s' contains itself: %s", part->name,
                    chain);
    else if (depth >= MOST_NESTED)
        perp__error(b->source, s->at, s->end, "more than %d parts inside each other", MOST_NESTED);
    return found || depth >= MOST_NESTED;
}

/* The array that the instance is an element of, once. 0 with an error. */
static int declare_array(perp__builder *b, const perp__statement *s)
{
    const perp__declared *d = perp__find_declared(b, s->name);
    if (d && d->kind == PERP__PARTS && d->at == s->name_at) return 1;
    const char *name = perp__full_name(b, s->name);
    return name && perp__declare_name(b, s, name, PERP__PARTS);
}

static const perp__space *make_instance(perp__builder *b, const perp__statement *s,
                                        const char *name)
{
    int file;
    int type_end = s->at + (int)strlen(s->type);
    const perp__statement *part =
        s->robot ? perp__robot_part(b, s, &file)
                 : perp__find_definition(b, STATEMENT_PART, s->type, s->at, type_end, &file);
    if (!part) {
        if (!s->robot && !perp__source_has_error(b->source, s->at)) unknown_part(b, s);
        return NULL;
    }
    if (is_endless(b, s, part) || !perp__unroll(b, s, 1) || (b->turn && !declare_array(b, s)))
        return NULL;
    size_t n = strlen(name);
    perp__space *space = perp__arena_alloc(b->arena, sizeof *space);
    char *prefix = perp__arena_alloc(b->arena, n + 2),
         *full = perp__arena_string(b->arena, name, n);
    perp__declared *d = space && prefix && full ? perp__declare_name(b, s, full, PERP__PART) : NULL;
    if (!space || !prefix || !full) b->failed = 1;
    if (!d) return NULL;
    memcpy(prefix, name, n);
    prefix[n] = '.';
    *space = (perp__space){.prefix = prefix,
                           .file = file,
                           .of = part,
                           .given = s->head,
                           .outer = b->space,
                           .turn = b->turn,
                           .note = {full, s->at, b->space->note.name ? &b->space->note : NULL}};
    d->space = space;
    return space;
}

static perp__late *new_late(perp__builder *b, perp__declared *d)
{
    perp__late *late = d ? perp__arena_alloc(b->arena, sizeof *late) : NULL;
    if (d && !late) b->failed = 1;
    if (!late) return NULL;
    late->name = d->name;
    late->last = &late->first;
    d->late = late;
    *b->last_late = late;
    b->last_late = &late->next;
    return late;
}

/* The part with its head, as it is written. */
static const char *signature(perp__builder *b, const perp__statement *part)
{
    int end = part->name_end;
    for (const perp__statement *h = part->head; h; h = h->next) end = h->end;
    while (part->head && end < part->end && b->source->text[end - 1] != ')') end++;
    return perp__text_of(b, part->name_at, end);
}

/* What the head of the part takes: a parameter where it has a value of its own, else a name for the
 * argument. */
static void make_inside(perp__builder *b, const perp__space *space)
{
    int k = 0;
    for (const perp__statement *s = space->of->head; s && !b->failed; s = s->next, k++) {
        const perp__statement *given = argument(space->given, s->name, k);
        if (s->value) {
            perp__declare_param_as(b, s, given ? given->value : NULL);
        } else if (!given) {
            b->source->note = space->note.outer;
            perp__error(b->source, space->note.at, space->note.at, "%s needs '%s': it is %s",
                        space->of->name, s->name, signature(b, space->of));
            b->source->note = &space->note;
        }
        const char *name = s->value ? NULL : perp__full_name(b, s->name);
        perp__late *late = name ? new_late(b, perp__declare_name(b, s, name, PERP__LET)) : NULL;
        if (!late) continue;
        late->s = given ? given->value : NULL;
        late->space = space->outer;
        late->turn = space->turn;
        if (!given) memset(late->is_bad, 1, sizeof late->is_bad); /* said above */
    }
}

/* An input of the part that is given is what is given. */
void perp__declare_given(perp__builder *b, const perp__statement *s, const perp__syntax *given)
{
    const char *name = perp__full_name(b, s->name);
    perp__late *late = name ? new_late(b, perp__declare_name(b, s, name, PERP__LET)) : NULL;
    if (!late) return;
    late->s = given;
    late->space = b->space->outer;
    late->turn = b->space->turn;
}

/* Every argument must have found its name. */
static void check_given(perp__builder *b, const perp__space *space, const perp__statement *s)
{
    int n = 0, k = 0;
    for (const perp__statement *h = space->of->head; h; h = h->next) n++;
    for (const perp__statement *a = s->head; a && !b->failed; a = a->next, k++) {
        if (!a->name) {
            if (k >= n)
                perp__error(b->source, a->value->at, a->end, "%s takes %d argument%s: it is %s",
                            s->type, n, n == 1 ? "" : "s", signature(b, space->of));
            continue;
        }
        const perp__statement *h = space->of->head;
        int i = 0;
        while (h && !perp__is_word(h->name, a->name)) {
            h = h->next;
            i++;
        }
        perp__here before = perp__enter(b, space, NULL);
        const perp__declared *d = perp__find_declared(b, a->name);
        if (h || d) perp__mention(b, a->name_at, a->name_end, h ? h->name_at : d->at);
        perp__syntax name = {
            .kind = SYNTAX_NAME, .at = a->name_at, .end = a->name_end, .text = a->name};
        int is_input = d && d->kind == PERP__LET && d->late->s == a->value;
        if (!h && !is_input && !(d && d->kind == PERP_STATE)) {
            b->source->note = before.note;
            perp__unknown_name(b, &name, "parameter, state or input");
        }
        perp__leave(b, before);
        if (argument(s->head, a->name, h ? i : -1) != a)
            perp__error(b->source, a->name_at, a->name_end, "'%s' is given twice", a->name);
    }
}

/* Lets and sums ------------------------------------------------------------------------------- */

/* "train[2].128[3]:u": a let of a turn of the loop whose index stands at byte 128. Returns 0 when
 * there is no room. */
static int name_in_turn(const perp__builder *b, const perp__turn *turn, const char *name,
                        char *full, size_t size)
{
    char at[16];
    size_t n = 0;
    snprintf(at, sizeof at, "%d", turn->at);
    full[0] = 0;
    return append(full, size, &n, b->space->prefix) && append(full, size, &n, at) &&
           append_turns(full, size, &n, turn) && append(full, size, &n, "]:") &&
           append(full, size, &n, name);
}

/* In the arena; NULL with an error. */
static const char *full_name_in_turn(perp__builder *b, const perp__statement *s)
{
    char full[MOST_CHAIN];
    const char *name = NULL;
    b->has_turn_names = 1;
    for (const perp__turn *turn = b->turn; turn; turn = turn->outer)
        if (perp__is_word(turn->name, s->name))
            perp__error(b->source, s->name_at, s->name_end, "'%s' is the index of the loop",
                        s->name);
    if (!name_in_turn(b, b->turn, s->name, full, sizeof full))
        perp__error(b->source, s->at, s->end, "the full name of '%s' is longer than %d characters",
                    s->name, MOST_CHAIN);
    else if (!(name = perp__arena_string(b->arena, full, strlen(full))))
        b->failed = 1;
    return name;
}

perp__declared *perp__find_in_turns(perp__builder *b, const char *name)
{
    perp__declared *d = NULL;
    char full[MOST_CHAIN];
    for (const perp__turn *turn = b->turn; turn && !d; turn = turn->outer)
        if (name_in_turn(b, turn, name, full, sizeof full)) d = known(b, full);
    return d;
}

void perp__declare_late(perp__builder *b, const perp__statement *s)
{
    int is_let = s->kind == STATEMENT_LET;
    perp__declared size = {0};
    if (!is_let) perp__declare_sizes(b, s, &size);
    if (!is_let && b->space != &b->root && !perp__unroll(b, s, size.n - 1)) return;
    const char *name = b->turn ? full_name_in_turn(b, s) : perp__full_name(b, s->name);
    perp__declared *d =
        name ? perp__declare_name(b, s, name, is_let ? PERP__LET : PERP__SUM) : NULL;
    perp__late *late = new_late(b, d);
    if (!late) return;
    if (!is_let) {
        d->ndim = size.ndim;
        d->n = size.n;
        memcpy(d->dim, size.dim, sizeof d->dim);
    }
    late->s = s->value;
    late->unit = s->unit;
    late->space = b->space;
    late->turn = b->turn;
}

void perp__add_share(perp__builder *b, const perp__statement *s)
{
    perp__share *share = perp__arena_alloc(b->arena, sizeof *share);
    if (!share) {
        b->failed = 1;
        return;
    }
    *share = (perp__share){.s = s, .space = b->space, .turn = b->turn};
    *b->last_share = share;
    b->last_share = &share->next;
}

static void settle_share(perp__builder *b, perp__share *share)
{
    const perp__syntax *s = share->s->left;
    if (s->kind != SYNTAX_NAME && s->kind != SYNTAX_INDEX) {
        perp__error(b->source, s->at, s->end, "expected the name of a sum before +=");
        return;
    }
    const perp__declared *d = perp__find_path(b, s, 0);
    if (b->outline && (!d || b->is_surveying)) perp__lower_in(b, SCOPE_STEP, share->s->right);
    if (!d) return;
    if (d->kind != PERP__SUM) {
        perp__error(b->source, s->at, s->end,
                    "'%s' is no sum; only to a sum can be added with +=", d->name);
        return;
    }
    share->n = d->n;
    if (s->kind == SYNTAX_INDEX) {
        perp__picked p;
        if (!perp__pick(b, s, d->name, d->ndim, d->dim, &p)) return;
        if (p.count[0] * p.count[1] != 1) {
            perp__error(b->source, s->at, s->end, "expected one element of '%s', or all", d->name);
            return;
        }
        share->n = 1;
        share->first = d->ndim == 1 ? p.first[0] : p.first[0] * d->dim[1] + p.first[1];
    }
    share->next = NULL;
    *d->late->last = share;
    d->late->last = &share->next;
}

void perp__settle_shares(perp__builder *b)
{
    perp__share *share = b->share;
    b->share = NULL;
    b->last_share = &b->share;
    for (perp__share *next; share && !b->failed; share = next) {
        next = share->next;
        perp__here before = perp__enter(b, share->space, share->turn);
        settle_share(b, share);
        perp__leave(b, before);
    }
}

/* For the check of units. */
static void keep_added(perp__builder *b, const perp__declared *d, perp_expr e, int at)
{
    if (!d->late->unit || b->scope != SCOPE_STEP) return;
    perp__added *added = perp__arena_alloc(b->arena, sizeof *added);
    if (!added) {
        b->failed = 1;
        return;
    }
    *added = (perp__added){e, d->name, d->late->unit, at, b->source->note, b->model->added};
    b->model->added = added;
}

static void add_to_sum(perp__builder *b, const perp__declared *d, const perp__share *share,
                       perp__value *sum)
{
    const perp__syntax *s = share->s->right;
    int errors = b->source->nerror;
    perp__value v = perp__lower(b, s);
    if (b->source->nerror > errors || b->failed || !v.e) return;
    int whole = v.ndim == d->ndim && v.dim[0] == d->dim[0] && v.dim[1] == d->dim[1];
    if (share->n == d->n && !share->first && d->ndim && share->s->left->kind == SYNTAX_NAME
            ? !whole
            : v.ndim) {
        char is[64];
        perp__shape_text(&v, is, sizeof is);
        perp__error(b->source, s->at, s->end, "what is added to '%s' is %s; expected %d", d->name,
                    is, share->n);
        return;
    }
    for (int i = 0; i < share->n; i++) {
        perp_expr *e = &sum->e[share->first + i];
        keep_added(b, d, v.e[i], s->at);
        b->graph->source = s->at;
        *e = *e < 0 ? v.e[i] : perp__add(b->graph, *e, v.e[i]);
        b->graph->source = -1;
    }
}

static perp__value lower_sum_of(perp__builder *b, const perp__declared *d)
{
    perp__value sum = perp__new_value(b, d->ndim, d->dim[0], d->dim[1]);
    for (int i = 0; i < sum.n && sum.e; i++) sum.e[i] = -1;
    for (const perp__share *share = d->late->first; share && sum.e && !b->failed;
         share = share->next) {
        perp__here before = perp__enter(b, share->space, share->turn);
        add_to_sum(b, d, share, &sum);
        perp__leave(b, before);
    }
    for (int i = 0; i < sum.n && sum.e; i++) {
        if (sum.e[i] < 0) sum.e[i] = perp__const(b->graph, 0);
    }
    return sum;
}

const char *perp__shown(const char *name)
{
    const char *colon = strchr(name, ':');
    return colon ? colon + 1 : name;
}

/* "a in b in a": the lets that need each other's value. */
static void say_circle(perp__builder *b, const perp__late *late, const perp__syntax *s)
{
    char chain[MOST_CHAIN];
    size_t n = 0;
    append(chain, sizeof chain, &n, perp__shown(late->name));
    for (const perp__late *at = b->busy; at && at != late; at = at->under) {
        append(chain, sizeof chain, &n, " in ");
        append(chain, sizeof chain, &n, perp__shown(at->name));
    }
    append(chain, sizeof chain, &n, " in ");
    append(chain, sizeof chain, &n, perp__shown(late->name));
    perp__error(b->source, s->at, s->end, "'%s' needs its own value: %s", perp__shown(late->name),
                chain);
}

perp__value perp__lower_late(perp__builder *b, const perp__declared *declared,
                             const perp__syntax *s)
{
    const perp__declared d = *declared; /* the table of names may move */
    perp__late *late = d.late;
    const perp__value nothing = {0, {1, 1}, 1, NULL};
    int slot = b->in_pre ? SCOPE_OUTPUT + 1 : (int)b->scope, errors = b->source->nerror;
    if (late->is_bad[slot] || late->value[slot].e) return late->value[slot];
    late->value[slot] = nothing;
    if (late->is_busy) {
        say_circle(b, late, s);
        return nothing;
    }
    if (d.kind == PERP__SUM && b->scope < SCOPE_PRE) {
        perp__error(b->source, s->at, s->end, "'%s' is a sum; it has no value here", d.name);
        return nothing;
    }
    late->is_busy = 1;
    late->under = b->busy;
    b->busy = late;
    perp__here before = perp__enter(b, late->space, late->turn);
    perp__value v = d.kind == PERP__SUM ? lower_sum_of(b, &d) : perp__lower(b, late->s);
    perp__leave(b, before);
    b->busy = late->under;
    late->is_busy = 0;
    late->is_bad[slot] = b->source->nerror > errors || !v.e;
    return late->value[slot] = late->is_bad[slot] ? nothing : v;
}

void perp__check_lates(perp__builder *b)
{
    for (perp__late *late = b->late; late && !b->failed && b->source->nerror < PERP__MOST_ERRORS;
         late = late->next) {
        int is_used = 0;
        for (int k = 0; k < SCOPE_OUTPUT + 2; k++) is_used |= late->value[k].e || late->is_bad[k];
        const perp__declared *d = &b->name[perp__names_find(&b->name_of, late->name)];
        if (is_used) continue;
        perp__here before = perp__enter(b, late->space, late->turn);
        const perp__declared *part = late->s ? perp__find_path(b, late->s, 1) : NULL;
        int is_part = part && part->kind >= PERP__PART;
        b->scope = SCOPE_OUTPUT;
        perp__syntax here = {.kind = SYNTAX_NAME, .at = d->at, .end = d->end, .text = late->name};
        if (!is_part) perp__lower_late(b, d, &here);
        perp__leave(b, before);
    }
}

/* Paths --------------------------------------------------------------------------------------- */

static int is_path(const perp__syntax *s)
{
    return s->kind == SYNTAX_NAME || s->kind == SYNTAX_INDEX;
}

static perp__declared *find_path(perp__builder *b, const perp__syntax *s, int quiet, int depth);

/* A let that is a name of a part, or an argument, is that part. */
static perp__declared *behind_let(perp__builder *b, perp__declared *d, int depth)
{
    if (!d->late->s || !is_path(d->late->s) || depth > MOST_NESTED) return d;
    const char *name = d->name;
    perp__here before = perp__enter(b, d->late->space, d->late->turn);
    perp__declared *part = find_path(b, d->late->s, 1, depth + 1);
    perp__leave(b, before);
    return part && part->kind >= PERP__PART ? part : known(b, name);
}

static inline perp__declared *behind(perp__builder *b, perp__declared *d, int depth)
{
    return d && d->kind == PERP__LET ? behind_let(b, d, depth) : d;
}

/* A constant of the file at hand, or of one that it uses. */
static perp__declared *find_constant(perp__builder *b, const char *name, int at)
{
    char full[MOST_CHAIN];
    const perp__used *used = &b->used[b->space->file];
    for (int k = -1; k < used->nuse; k++) {
        int file = k < 0 ? b->space->file : used->uses[k];
        if (file == 0) continue;
        snprintf(full, sizeof full, "%s%s", b->used[file].space.prefix, name);
        perp__declared *d = known(b, full);
        if (d) perp__mention(b, at, at + (int)strlen(name), d->at);
        if (d) return d;
    }
    return NULL;
}

/* Say that the part has no such name. */
static void unknown_member(perp__builder *b, const perp__syntax *s, const perp__space *part)
{
    char what[300];
    perp__here before = perp__enter(b, part, NULL);
    b->source->note = before.note;
    snprintf(what, sizeof what, "name of %s", part->of->name);
    perp__syntax name = *s;
    name.at = s->end - (int)strlen(s->text) > s->base->end ? s->end - (int)strlen(s->text) : s->at;
    perp__unknown_name(b, &name, what);
    perp__leave(b, before);
}

static void mention(perp__builder *b, const perp__syntax *s, const perp__declared *d)
{
    if (!b->outline) return;
    int at = perp__name_place(b, s);
    perp__keep_mention(b, at, at + (int)strlen(s->text), d ? d->at : -1);
}

static perp__declared *member(perp__builder *b, const perp__syntax *s, int quiet, int depth)
{
    perp__declared *part = find_path(b, s->base, quiet, depth + 1);
    if (!part || part->kind != PERP__PART) mention(b, s, NULL);
    if (!part) return NULL;
    const perp__late *late = part->kind == PERP__LET ? part->late : NULL;
    if (late && (!late->s || is_path(late->s))) { /* what it stands for may be at fault */
        perp__here before = perp__enter(b, late->space, late->turn);
        int found = late->s && find_path(b, late->s, quiet, depth + 1);
        perp__leave(b, before);
        if (!found) return NULL;
    }
    if (part->kind != PERP__PART) {
        if (!quiet)
            perp__error(b->source, s->base->at, s->base->end,
                        part->kind == PERP__PARTS ? "'%s' is an array of parts; which one? %s[1]"
                                                  : "'%s' is no part and has no names in it",
                        part->name, part->name);
        return NULL;
    }
    const perp__space *space = part->space;
    perp__here before = perp__enter(b, space, NULL);
    perp__declared *d = perp__find_declared(b, s->text);
    mention(b, s, d);
    d = behind(b, d, depth);
    perp__leave(b, before);
    if (!d && !quiet) unknown_member(b, s, space);
    return d;
}

/* The instance of an array that the index means. */
static perp__declared *element(perp__builder *b, const perp__syntax *s, const perp__declared *array,
                               int quiet)
{
    char full[MOST_CHAIN];
    size_t n = 0;
    int ok = append(full, sizeof full, &n, array->name);
    for (int k = 0; k < s->n; k++) {
        int index;
        if (!perp__lower_integer(b, s->item[k], "an index", &index)) return NULL;
        ok = ok && append_index(full, sizeof full, &n, k ? ',' : '[', index);
    }
    perp__declared *d = ok && append(full, sizeof full, &n, "]") ? known(b, full) : NULL;
    if (!d && !quiet) perp__error(b->source, s->at, s->end, "there is no part '%s'", full);
    return d;
}

static perp__declared *find_path(perp__builder *b, const perp__syntax *s, int quiet, int depth)
{
    if (!is_path(s)) return NULL;
    if (depth > MOST_NESTED) {
        if (!quiet)
            perp__error(b->source, s->at, s->end, "more than %d names inside each other",
                        MOST_NESTED);
        return NULL;
    }
    perp__declared *d;
    const perp__bound *bound = s->base ? NULL : perp__find_bound(b, s->text);
    if (bound) perp__mention(b, s->at, s->at + (int)strlen(s->text), bound->at);
    if (s->base)
        d = member(b, s, quiet, depth);
    else if (bound && bound->part)
        d = known(b, bound->part);
    else if (bound) {
        if (!quiet)
            perp__error(b->source, s->at, s->end, "'%s' is no part and has no names in it",
                        s->text);
        return NULL;
    } else {
        d = perp__find_declared(b, s->text);
        if (d) mention(b, s, d);
        d = behind(b, d, depth);
    }
    if (!d && !s->base) d = find_constant(b, s->text, s->at);
    if (!d && !s->base && !quiet) perp__unknown_name(b, s, "name");
    return d && d->kind == PERP__PARTS && s->kind == SYNTAX_INDEX ? element(b, s, d, quiet) : d;
}

perp__declared *perp__find_path(perp__builder *b, const perp__syntax *s, int quiet)
{
    if (is_path(s) && !s->base && !b->space->nbound) { /* mostly an item of the model */
        perp__declared *d = perp__find_declared(b, s->text);
        if (d && d->kind < PERP__LET) {
            perp__mention(b, s->at, s->at + (int)strlen(s->text), d->at);
            return d;
        }
    }
    return find_path(b, s, quiet, 0);
}

/* Functions ----------------------------------------------------------------------------------- */

/* Does f call itself? Says so, with the functions between. */
static int calls_itself(perp__builder *b, const perp__syntax *s, const perp__statement *f)
{
    char chain[MOST_CHAIN];
    size_t n = 0;
    int found = 0;
    const perp__space *around = b->space;
    while (around && !around->prefix && around->of != f) around = around->outer;
    if (!around || around->prefix) return 0;
    append(chain, sizeof chain, &n, f->name);
    for (const perp__space *at = b->space; !found; at = at->outer) {
        append(chain, sizeof chain, &n, " in ");
        append(chain, sizeof chain, &n, at->of->name);
        found = at->of == f;
    }
    perp__error(b->source, s->at, s->end, "the function '%s' calls itself: %s", f->name, chain);
    return 1;
}

perp__value perp__lower_function(perp__builder *b, const perp__syntax *s, const perp__statement *f,
                                 int file)
{
    const perp__value nothing = {0, {1, 1}, 1, NULL};
    int n = 0, k = 0, errors = b->source->nerror;
    for (const perp__statement *h = f->head; h; h = h->next) n++;
    if (s->n != n) {
        perp__error(b->source, s->at, s->end, "%s takes %d argument%s, not %d", f->name, n,
                    n == 1 ? "" : "s", s->n);
        return nothing;
    }
    if (calls_itself(b, s, f) || !perp__count_term(b, s)) return nothing;
    perp__bound *bound = perp__arena_alloc(b->arena, ((size_t)n + 1) * sizeof *bound);
    perp__space *call = perp__arena_alloc(b->arena, sizeof *call);
    if (!bound || !call) b->failed = 1;
    for (const perp__statement *h = f->head; h && bound; h = h->next, k++) {
        const perp__declared *d = perp__find_path(b, s->item[k], 1);
        bound[k].name = h->name;
        bound[k].at = h->name_at;
        if (d && d->kind >= PERP__PART)
            bound[k].part = d->name;
        else
            bound[k].value = perp__lower(b, s->item[k]);
    }
    if (b->failed || b->source->nerror > errors) return nothing;
    *call = (perp__space){.file = file,
                          .of = f,
                          .outer = b->space,
                          .note = {f->name, s->at, b->source->note},
                          .bound = bound,
                          .nbound = n};
    perp__here before = perp__enter(b, call, NULL);
    perp__value v = perp__lower(b, f->value);
    perp__leave(b, before);
    return v;
}
