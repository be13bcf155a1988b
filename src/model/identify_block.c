/* Reader of the identify block, a line at a time. */

#include "model/identify_block.h"
#include "model/block_reader.h"
#include "model/blocks.h"

#include <math.h>
#include <string.h>

typedef struct reader {
    perp_model *model;
    perp__identify_block *block;
    perp__cursor in;
} reader;

static double take_number(reader *r, const char *what)
{
    if (r->in.token->kind == TOKEN_NUMBER) return (r->in.token++)->number;
    perp__expect(&r->in, what);
    return NAN;
}

static double take_positive(reader *r, const char *what)
{
    const perp__token *t = r->in.token;
    double x = take_number(r, what);
    if (r->in.bad || (x > 0 && isfinite(x))) return x;
    perp__error(r->in.source, t->at, t->end, "expected %s", what);
    r->in.bad = 1;
    return NAN;
}

/* Names --------------------------------------------------------------------------------------- */

/* NAME, NAME[i] or NAME[i,j]; its last token, NULL with the error. */
static const perp__token *take_element(reader *r)
{
    if (r->in.token->kind != TOKEN_NAME) {
        perp__expect(&r->in, "a name");
        return NULL;
    }
    const perp__token *last = r->in.token++;
    if (!perp__at_symbol(&r->in, '[') || r->in.token->at != last->end) return last;
    while (!perp__at_symbol(&r->in, ']') && !perp__at_line_end(&r->in)) r->in.token++;
    if (perp__at_symbol(&r->in, ']')) return r->in.token++;
    perp__expect(&r->in, "']'");
    return NULL;
}

/* Elements with points between them, as the flattened items are called. The text lives in the
 * arena. */
static const char *take_name(reader *r, const perp__token **start)
{
    const perp__source *source = r->in.source;
    *start = r->in.token;
    const perp__token *last = take_element(r);
    while (last && perp__take_symbol(&r->in, '.')) last = take_element(r);
    if (!last) return NULL;
    char *name = perp__arena_string(&r->model->arena, source->text + (*start)->at,
                                    (size_t)(last->end - (*start)->at));
    int n = 0;
    for (const char *c = name; name && *c; c++) {
        if (*c != ' ') name[n++] = *c;
    }
    if (name) name[n] = 0;
    return name;
}

/* Is `item` the name itself, or an element of the array of that name? */
static int belongs_to(const char *item, const char *name)
{
    size_t n = strlen(name);
    return strncmp(item, name, n) == 0 && (item[n] == 0 || item[n] == '[');
}

static void unknown(reader *r, const perp__token *at, const char *name, const char *what,
                    perp_symbol_kind first, perp_symbol_kind last)
{
    char text[512];
    perp__unknown_symbol(r->model, what, name, first, last, text, sizeof text);
    perp__error(r->in.source, at->at, at->end, "%s", text);
    r->in.bad = 1;
}

/* Lines --------------------------------------------------------------------------------------- */

static int add_parameter(reader *r, int index, const perp__token *at)
{
    const perp__item *item = &r->model->item[PERP_PARAM][index];
    perp__identify_block *b = r->block;
    if (!(isfinite(item->lo) && isfinite(item->hi))) {
        perp__error(r->in.source, at->at, at->end,
                    "'%s' has no range; declare it as param %s = %g in [lo, hi]", item->name,
                    item->name, item->value);
        r->in.bad = 1;
    } else if (item->is_structural) {
        perp__error(r->in.source, at->at, at->end,
                    "'%s' sets the size of the model and cannot be estimated", item->name);
        r->in.bad = 1;
    }
    for (int i = 0; i < b->nparam; i++) {
        if (b->param[i] == index) return 1;
    }
    b->param[b->nparam++] = index;
    return 1;
}

static void read_estimate(reader *r)
{
    do {
        const perp__token *at;
        const char *name = take_name(r, &at);
        int found = 0;
        for (int i = 0; name && i < r->model->nitem[PERP_PARAM]; i++) {
            if (belongs_to(r->model->item[PERP_PARAM][i].name, name))
                found = add_parameter(r, i, at);
        }
        if (name && !found) unknown(r, at, name, "parameter", PERP_PARAM, PERP_PARAM);
    } while (perp__take_symbol(&r->in, ','));
}

static void read_measure(reader *r)
{
    perp__identify_block *b = r->block;
    do {
        const perp__token *at;
        const char *name = take_name(r, &at);
        perp__measure m = {NULL, NAN, NAN};
        int first = b->nmeasure;
        for (int k = PERP_STATE; name && k <= PERP_OUTPUT; k++) {
            for (int i = 0; i < perp_model_count(r->model, (perp_symbol_kind)k); i++) {
                m.name = r->model->item[k][i].name;
                if (belongs_to(m.name, name)) b->measure[b->nmeasure++] = m;
            }
        }
        if (name && b->nmeasure == first)
            unknown(r, at, name, "state, var or output", PERP_STATE, PERP_OUTPUT);
        for (int i = 0; i < first && !r->in.bad; i++) {
            if (!belongs_to(b->measure[i].name, name)) continue;
            perp__error(r->in.source, at->at, at->end, "'%s' is measured twice",
                        b->measure[i].name);
            r->in.bad = 1;
        }
        if (perp__take_word(&r->in, "noise"))
            m.noise = take_positive(r, "the standard deviation of a sample, a positive number");
        else if (perp__take_word(&r->in, "weight"))
            m.weight = take_positive(r, "the weight, a positive number");
        for (int i = first; i < b->nmeasure; i++) {
            b->measure[i].noise = m.noise;
            b->measure[i].weight = m.weight;
        }
        if (r->in.bad) b->nmeasure = first;
    } while (perp__take_symbol(&r->in, ','));
}

static void read_whole(reader *r, double *to, double least, const char *what)
{
    const perp__token *t = r->in.token;
    *to = take_number(r, what);
    if (r->in.bad || (*to >= least && *to == floor(*to) && *to < 1e9)) return;
    perp__error(r->in.source, t->at, t->end, "expected %s", what);
    r->in.bad = 1;
}

static void read_line(reader *r)
{
    perp__identify_block *b = r->block;
    if (perp__take_word(&r->in, "estimate"))
        read_estimate(r);
    else if (perp__take_word(&r->in, "measure"))
        read_measure(r);
    else if (perp__take_word(&r->in, "method")) {
        if (r->in.token->kind == TOKEN_NAME) {
            b->method = (perp__said){r->in.token->text, r->in.token->at};
            r->in.token++;
        } else
            perp__expect(&r->in, "a method, such as predict");
    } else if (perp__take_word(&r->in, "horizon"))
        read_whole(r, &b->horizon, 0, "a whole number of rows to predict (0: the whole run)");
    else if (perp__take_word(&r->in, "starts"))
        read_whole(r, &b->starts, 1, "a whole number of starts, from 1");
    else if (perp__take_word(&r->in, "seed"))
        read_whole(r, &b->seed, 0, "a whole number");
    else if (perp__take_word(&r->in, "step"))
        b->step = take_positive(r, "the step, a positive number");
    else
        perp__expect(&r->in, "estimate, measure, method, horizon, starts, seed, step or '}'");
    if (!perp__at_line_end(&r->in)) perp__expect(&r->in, "',' or the end of the line");
    perp__skip_line(&r->in);
    r->in.bad = 0;
}

static int allocate_block(perp_model *m, perp__identify_block *b)
{
    size_t np = (size_t)m->nitem[PERP_PARAM] + 1, nm = 1;
    for (int k = PERP_STATE; k <= PERP_OUTPUT; k++) nm += (size_t)m->nitem[k];
    b->param = perp__arena_alloc(&m->arena, np * sizeof *b->param);
    b->measure =
        perp__arena_alloc(&m->arena, 2 * nm * sizeof *b->measure); /* room for one line too many */
    return b->param && b->measure;
}

void perp__clear_identify(perp__identify_block *b)
{
    (void)b; /* it is in the model's arena */
}

int perp__read_identify(struct builder *builder, perp_model *model, const perp__statement *s)
{
    (void)builder;
    perp__identify_block *b = perp__arena_alloc(&model->arena, sizeof *b);
    if (!b || !allocate_block(model, b)) return 0;
    b->at = s->at;
    b->horizon = b->starts = b->seed = b->step = NAN;
    model->identify = b;
    reader r = {.model = model, .block = b, .in = {.source = &model->source, .token = s->block}};
    while (!perp__at_symbol(&r.in, '}') && r.in.token->kind != TOKEN_END) {
        if (r.in.token->kind == TOKEN_NEWLINE)
            r.in.token++;
        else
            read_line(&r);
    }
    return !model->arena.failed;
}
