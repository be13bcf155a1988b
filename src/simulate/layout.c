/* The step problem of a model is made once for the same method, step and parameters, and kept by
 * the model. Simulations share the parts that are constant from then on, and have numbers of their
 * own. Threads may create simulations of one model. */

#include "simulate/step.h"

#include "model/machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A step without numbers, and what it was made of. */
struct perp__layout {
    atomic_int users; /* simulations, and the model while it keeps it */
    perp__step step;
    double *key;
    size_t nkey;
    perp_simulation_options made_with;
    perp__compiled *compiled; /* the tapes as machine code; NULL: they are interpreted */
    perp__layout *limit; /* that of perp__step_create_limit, once it was asked for; under the model's lock */
};

static void release(void *of)
{
    perp__layout *layout = of;
    if (!layout || atomic_fetch_sub(&layout->users, 1) > 1) return;
    release(layout->limit);
    perp__problem_clear(&layout->step);
    perp__compiled_release(layout->compiled);
    free(layout->key);
    free(layout);
}

/* A run whose expressions take less time than gcc: 0.2 ms an instruction, against 1 ns in each of
 * some 3 evaluations a step. */
enum { SHORT_RUN = 100000 };

static int is_to_be_compiled(const perp_simulation_options *o)
{
    return o->jit == PERP_JIT_ON ||
           (o->jit == PERP_JIT_AUTO && (o->to - o->from) / o->step >= SHORT_RUN);
}

/* All that the problem is made of and a model's user can change. NULL when memory is out. */
static double *make_key(const perp_model *m, const perp_simulation_options *o,
                        const perp__changes *c, size_t *n)
{
    int np = m->nitem[PERP_PARAM], nu = m->nitem[PERP_INPUT];
    double *key = malloc((5 + (size_t)c->nparam + 2 * (size_t)(np + nu)) * sizeof *key), *k = key;
    if (!key) return NULL;
    *k++ = is_to_be_compiled(o); /* first: perp__step_key */
    *k++ = o->integrator, *k++ = o->theta, *k++ = c->nparam;
    for (int i = 0; i < c->nparam; i++) *k++ = c->param[i];
    for (int i = 0; i < np; i++) {
        const perp__item *item = &m->item[PERP_PARAM][i];
        int is_number = item->is_set || item->expr < 0;
        for (int v = 0; v < c->nparam; v++) is_number &= c->param[v] != i;
        *k++ = is_number, *k++ = is_number ? item->value : 0;
    }
    for (int i = 0; i < nu; i++) {
        const perp__item *item = &m->item[PERP_INPUT][i];
        const perp__node *node = item->expr < 0 ? NULL : &m->graph.node[item->expr];
        int is_number = node && node->op == PERP__CONST;
        int is_set = 0;
        for (int v = 0; v < c->ninput; v++) is_set |= c->input[v] == i;
        *k++ = (item->table.n > 0 ? 2 : item->expr < 0 ? 3 : is_number) + 4 * is_set;
        *k++ = is_number ? node->value : 0;
    }
    *n = (size_t)(k - key);
    return key;
}

static perp__layout *find(const perp_model *m, const double *key, size_t nkey)
{
    pthread_mutex_lock(&m->common->lock);
    perp__layout *kept = m->common->kept;
    if (kept && (kept->nkey != nkey || memcmp(kept->key, key, nkey * sizeof *key) != 0))
        kept = NULL;
    if (kept) atomic_fetch_add(&kept->users, 1);
    pthread_mutex_unlock(&m->common->lock);
    return kept;
}

/* The model keeps the last. */
static void keep(const perp_model *m, perp__layout *layout)
{
    atomic_fetch_add(&layout->users, 1);
    pthread_mutex_lock(&m->common->lock);
    perp__layout *former = m->common->kept;
    m->common->kept = layout;
    m->common->release = release;
    pthread_mutex_unlock(&m->common->lock);
    release(former);
}

static perp__layout *make(const perp_model *m, const perp_simulation_options *o,
                          const perp__changes *changes, int is_limit)
{
    perp__layout *layout = calloc(1, sizeof *layout);
    if (!layout) return NULL;
    atomic_init(&layout->users, 1);
    layout->step.is_limit = is_limit;
    layout->step.scheme = perp__scheme_make(perp_integrator_name(o->integrator), o->theta);
    if (perp__problem_build(&layout->step, m, changes)) return layout;
    release(layout);
    return NULL;
}

/* Where there is no compiler, a run that does not insist is interpreted. */
static perp_status compile(perp__layout *layout, const perp_simulation_options *o, perp_diag *diag)
{
    enum { FEW = 200 }; /* instructions, which take no time */
    perp__step *s = &layout->step;
    const perp__emitted tape[] = {
        {&s->tape.coefficients, perp__tape_instructions(&s->tape.coefficients, s->nrow)},
        {&s->tape.check, 0},
        {&s->tape.guards, 0},
        {&s->tape.outputs, 0}};
    enum { TAPES = sizeof tape / sizeof *tape };
    int must = o->jit == PERP_JIT_ON, count = 0;
    for (int i = 0; i < TAPES; i++) count += tape[i].tape->ncode;
    if (!is_to_be_compiled(o) || (!must && count < FEW)) return PERP_OK;
    perp_status status = perp__machine_make(tape, TAPES, &layout->compiled, must ? diag : NULL);
    return status == PERP_ERR_UNAVAILABLE && !must ? PERP_OK : status;
}

static perp_status find_or_make(const perp_model *m, const perp_simulation_options *o,
                                const perp__changes *changes, perp__layout **layout,
                                perp_diag *diag)
{
    size_t n;
    double *key = make_key(m, o, changes, &n);
    *layout = key ? find(m, key, n) : NULL;
    if (*layout || !key) {
        free(key);
        return *layout ? PERP_OK : PERP_ERR_MEMORY;
    }
    *layout = make(m, o, changes, 0);
    perp_status status = *layout ? compile(*layout, o, diag) : PERP_ERR_MEMORY;
    if (status != PERP_OK) {
        release(*layout);
        free(key);
        return status;
    }
    (*layout)->key = key, (*layout)->nkey = n;
    (*layout)->made_with = *o;
    keep(m, *layout);
    return PERP_OK;
}

/* The numbers of one simulation. */
static int take_numbers(perp__step *s, const double *constant)
{
    const perp__tape *tapes[] = {&s->sym.varied.tape, &s->table.tape,  &s->tape.coefficients,
                                 &s->tape.check,      &s->tape.guards, &s->tape.outputs};
    size_t nonzeros = (size_t)s->row_start[s->nrow];
    s->c = calloc((size_t)s->nrow + 1, sizeof(double));
    s->value = malloc((nonzeros + 1) * sizeof(double));
    s->table.hint = calloc((size_t)s->table.n + 1, sizeof(int));
    s->ws = calloc((size_t)perp__tape_end(&s->tape.outputs) + 1, sizeof(double));
    if (!s->c || !s->value || !s->table.hint || !s->ws) return 0;
    if (nonzeros) memcpy(s->value, constant, nonzeros * sizeof(double));
    for (size_t i = 0; i < sizeof tapes / sizeof *tapes; i++)
        perp__tape_prepare(tapes[i], s->ws, 1);
    return perp__verdict_allocate(s);
}

/* Takes over this use of the layout, also on failure. */
static perp_status make_step(perp__step *step, perp__layout *layout, const perp_model *model,
                             const perp_simulation_options *options)
{
    *step = layout->step;
    step->tape.layout = layout;
    step->model = model;
    step->tol = options->tol;
    step->h = options->step;
    step->lcp.method = options->solver;
    step->value = NULL;
    if (!take_numbers(step, layout->step.value)) return PERP_ERR_MEMORY;
    return perp__step_allocate(step, options->solver);
}

perp_status perp__step_create(perp__step *step, const perp_model *model,
                              const perp_simulation_options *options, const perp__changes *changes,
                              perp_diag *diag)
{
    static const perp__changes none;
    perp__layout *layout;
    perp_status status = find_or_make(model, options, changes ? changes : &none, &layout, diag);
    memset(step, 0, sizeof *step);
    if (status == PERP_OK) status = make_step(step, layout, model, options);
    if (status != PERP_OK) return status;
    perp__step_take_parameters(step);
    perp__step_revalue(step);
    return PERP_OK;
}

perp_status perp__step_share(perp__step *step, const perp__step *of,
                             const perp_simulation_options *options)
{
    atomic_fetch_add(&of->tape.layout->users, 1);
    return make_step(step, of->tape.layout, of->model, options);
}

/* The limit ------------------------------------------------------------------------------------ */

/* Is the model what it was when the layout was made? Returns -1 when memory is out. */
static int is_as_it_was(const perp__step *s, const perp__changes *changes)
{
    const perp__layout *of = s->tape.layout;
    size_t n;
    double *key = make_key(s->model, &of->made_with, changes, &n);
    int same = key ? n == of->nkey && memcmp(key, of->key, n * sizeof *key) == 0 : -1;
    free(key);
    return same;
}

/* The limit, kept by the layout that it belongs to; with one more user. NULL: it is not made. */
static perp__layout *find_limit(const perp__step *s)
{
    perp__common *common = s->model->common;
    pthread_mutex_lock(&common->lock);
    perp__layout *l = s->tape.layout->limit;
    if (l) atomic_fetch_add(&l->users, 1);
    pthread_mutex_unlock(&common->lock);
    return l;
}

/* Where two threads make it, the one that is kept stands. NULL when memory is out. */
static perp__layout *make_limit(const perp__step *s, const perp__changes *changes)
{
    perp__common *common = s->model->common;
    perp__layout *whole = s->tape.layout, *l = make(s->model, &whole->made_with, changes, 1);
    if (!l) return NULL;
    compile(l, &whole->made_with, NULL); /* where it cannot be, it is interpreted */
    pthread_mutex_lock(&common->lock);
    if (!whole->limit) whole->limit = l, atomic_fetch_add(&l->users, 1);
    pthread_mutex_unlock(&common->lock);
    return l;
}

/* What may change in a step, and room for its list, the caller's to free; NULL when memory is
 * out. */
static int *list_changes(const perp__step *s, perp__changes *changes)
{
    int *input = malloc(((size_t)s->table.n + 1) * sizeof *input), n = 0;
    for (int k = 0; input && k < s->table.n; k++)
        if (s->table.is_set[k]) input[n++] = s->table.input[k];
    *changes = (perp__changes){s->sym.varied.n, n, s->sym.varied.param, input};
    return input;
}

/* The same may change as in the whole; *l: its limit's layout, NULL without. */
static perp_status find_or_make_limit(const perp__step *s, perp__layout **l)
{
    perp__changes changes;
    *l = find_limit(s);
    if (*l) return PERP_OK;
    int *input = list_changes(s, &changes);
    if (!input) return PERP_ERR_MEMORY;
    int same = is_as_it_was(s, &changes);
    if (same > 0) *l = make_limit(s, &changes);
    free(input);
    return *l ? PERP_OK : same == 0 ? PERP_ERR_UNAVAILABLE : PERP_ERR_MEMORY;
}

perp_status perp__step_create_limit(perp__step *to, const perp__step *of, double h)
{
    perp__layout *l;
    perp_simulation_options o = {.tol = of->tol, .step = h, .solver = of->lcp.method};
    memset(to, 0, sizeof *to);
    perp_status status = find_or_make_limit(of, &l);
    if (status == PERP_OK) status = make_step(to, l, of->model, &o);
    if (status != PERP_OK) return status;
    perp__step_take_parameters(to);
    perp__step_revalue(to);
    return PERP_OK;
}

void perp__step_clear(perp__step *step)
{
    perp__step_free(step);
    perp__verdict_free(step);
    free(step->table.hint);
    free(step->value);
    free(step->c);
    free(step->ws);
    release(step->tape.layout);
    memset(step, 0, sizeof *step);
}

const char *perp__step_compiler(const perp__step *step)
{
    const perp__compiled *compiled = step->tape.layout->compiled;
    return compiled ? perp__compiled_by(compiled) : NULL;
}

const double *perp__step_key(const perp__step *step, size_t *n)
{
    *n = step->tape.layout->nkey - 1;
    return step->tape.layout->key + 1;
}

void perp__step_take_parameters(perp__step *s)
{
    const perp__varied *v = &s->sym.varied;
    for (int k = 0; k < v->n; k++)
        s->ws[perp__step_parameter(s, k)] = s->model->item[PERP_PARAM][v->param[k]].value;
}

void perp__step_put_varied(perp__step *s)
{
    const perp__varied *v = &s->sym.varied;
    s->ws[SYM_H] = s->h;
    perp__tape_eval(&v->tape, s->ws);
    for (int k = 0; k < v->nentry; k++) s->value[v->entry[k]] = s->ws[v->tape.out[k]];
    for (int i = s->sym.n; i < perp__tape_end(&v->tape); i++) /* data, as numbers are */
        s->sizes.term[i] = (perp__terms){fabs(s->ws[i]), 0};
}

void perp__step_revalue(perp__step *s)
{
    perp__step_put_varied(s);
    perp__step_forget_factors(s);
}
