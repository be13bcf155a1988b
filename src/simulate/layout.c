/* The step problem of a model is made once for the same method, step and parameters, and kept by
 * the model. Simulations share the parts that are constant from then on, and have numbers of their
 * own. Threads may create simulations of one model. */

#include "simulate/step.h"

#include "model/machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A layout, and what it was made of. */
typedef struct perp__shared {
    perp__layout *layout;
    atomic_int users; /* simulations, and the model while it keeps it */
    double *key;
    size_t nkey;
    perp_simulation_options made_with;
    perp__compiled *compiled; /* the tapes as machine code; NULL: they are interpreted */
    struct perp__shared
        *limit; /* of perp__step_create_limit, once asked for; under the model's lock */
} perp__shared;

static void release(void *of)
{
    perp__shared *shared = of;
    if (!shared || atomic_fetch_sub(&shared->users, 1) > 1) return;
    release(shared->limit);
    if (shared->layout) perp__problem_clear(shared->layout);
    free(shared->layout);
    perp__compiled_release(shared->compiled);
    free(shared->key);
    free(shared);
}

/* All that the problem is made of and a model's user can change. NULL when memory is out. */
static double *make_key(const perp_model *m, const perp_simulation_options *o,
                        const perp__changes *c, size_t *n)
{
    int np = m->nitem[PERP_PARAM], nu = m->nitem[PERP_INPUT];
    double *key = malloc((5 + (size_t)c->nparam + 2 * (size_t)(np + nu)) * sizeof *key), *k = key;
    if (!key) return NULL;
    *k++ = o->jit != PERP_JIT_OFF; /* first: perp__step_key */
    *k++ = o->integrator;
    *k++ = o->theta;
    *k++ = c->nparam;
    for (int i = 0; i < c->nparam; i++) *k++ = c->param[i];
    for (int i = 0; i < np; i++) {
        const perp__item *item = &m->item[PERP_PARAM][i];
        int is_number = item->is_set || item->expr < 0;
        for (int v = 0; v < c->nparam; v++) is_number &= c->param[v] != i;
        *k++ = is_number;
        *k++ = is_number ? item->value : 0;
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

static perp__shared *find(const perp_model *m, const double *key, size_t nkey)
{
    pthread_mutex_lock(&m->common->lock);
    perp__shared *kept = m->common->kept;
    if (kept && (kept->nkey != nkey || memcmp(kept->key, key, nkey * sizeof *key) != 0))
        kept = NULL;
    if (kept) atomic_fetch_add(&kept->users, 1);
    pthread_mutex_unlock(&m->common->lock);
    return kept;
}

/* The model keeps the last. */
static void keep(const perp_model *m, perp__shared *shared)
{
    atomic_fetch_add(&shared->users, 1);
    pthread_mutex_lock(&m->common->lock);
    perp__shared *former = m->common->kept;
    m->common->kept = shared;
    m->common->release = release;
    pthread_mutex_unlock(&m->common->lock);
    release(former);
}

static perp__shared *make(const perp_model *m, const perp_simulation_options *o,
                          const perp__changes *changes, int is_limit)
{
    perp__shared *shared = calloc(1, sizeof *shared);
    if (!shared) return NULL;
    atomic_init(&shared->users, 1);
    perp__layout *layout = shared->layout = calloc(1, sizeof *layout);
    if (layout) {
        layout->is_limit = is_limit;
        layout->scheme = perp__scheme_make(perp_integrator_name(o->integrator), o->theta);
        if (perp__problem_build(layout, m, changes)) return shared;
    }
    release(shared);
    return NULL;
}

/* Where there is no compiler, a run that does not insist is interpreted. */
static perp_status compile(perp__shared *shared, const perp_simulation_options *o, perp_diag *diag)
{
    enum { FEW = 200 }; /* instructions, which take no time */
    perp__layout *l = shared->layout;
    const perp__emitted tape[] = {
        {&l->tape.coefficients, perp__tape_instructions(&l->tape.coefficients, l->nrow)},
        {&l->tape.check, 0},
        {&l->tape.guards, 0},
        {&l->tape.outputs, 0}};
    enum { TAPES = sizeof tape / sizeof *tape };
    int must = o->jit == PERP_JIT_ON, count = 0;
    for (int i = 0; i < TAPES; i++) count += tape[i].tape->ncode;
    if (o->jit == PERP_JIT_OFF || (!must && count < FEW)) return PERP_OK;
    perp_status status = perp__machine_make(tape, TAPES, &shared->compiled, must ? diag : NULL);
    return status == PERP_ERR_UNAVAILABLE && !must ? PERP_OK : status;
}

static perp_status find_or_make(const perp_model *m, const perp_simulation_options *o,
                                const perp__changes *changes, perp__shared **shared,
                                perp_diag *diag)
{
    size_t n;
    double *key = make_key(m, o, changes, &n);
    *shared = key ? find(m, key, n) : NULL;
    if (*shared || !key) {
        free(key);
        return *shared ? PERP_OK : PERP_ERR_MEMORY;
    }
    *shared = make(m, o, changes, 0);
    perp_status status = *shared ? compile(*shared, o, diag) : PERP_ERR_MEMORY;
    if (status != PERP_OK) {
        release(*shared);
        free(key);
        return status;
    }
    (*shared)->key = key;
    (*shared)->nkey = n;
    (*shared)->made_with = *o;
    keep(m, *shared);
    return PERP_OK;
}

/* Takes over this use of the layout, also on failure. */
static perp_status make_step(perp__step *step, perp__shared *shared, const perp_model *model,
                             const perp_simulation_options *options)
{
    *step = (perp__step){.model = model,
                         .shared = shared,
                         .layout = shared->layout,
                         .method = options->solver,
                         .tol = options->tol,
                         .h = options->step};
    return perp__step_allocate(step);
}

perp_status perp__step_create(perp__step *step, const perp_model *model,
                              const perp_simulation_options *options, const perp__changes *changes,
                              perp_diag *diag)
{
    static const perp__changes none;
    perp__shared *shared;
    perp_status status = find_or_make(model, options, changes ? changes : &none, &shared, diag);
    memset(step, 0, sizeof *step);
    if (status == PERP_OK) status = make_step(step, shared, model, options);
    if (status != PERP_OK) return status;
    perp__step_take_parameters(step);
    perp__step_revalue(step);
    return PERP_OK;
}

perp_status perp__step_share(perp__step *step, const perp__step *of,
                             const perp_simulation_options *options)
{
    atomic_fetch_add(&of->shared->users, 1);
    return make_step(step, of->shared, of->model, options);
}

/* The limit ------------------------------------------------------------------------------------ */

/* Is the model what it was when the layout was made? Returns -1 when memory is out. */
static int is_as_it_was(const perp__step *s, const perp__changes *changes)
{
    const perp__shared *of = s->shared;
    size_t n;
    double *key = make_key(s->model, &of->made_with, changes, &n);
    int same = key ? n == of->nkey && memcmp(key, of->key, n * sizeof *key) == 0 : -1;
    free(key);
    return same;
}

/* The limit, kept by the layout that it belongs to; with one more user. NULL: it is not made. */
static perp__shared *find_limit(const perp__step *s)
{
    perp__common *common = s->model->common;
    pthread_mutex_lock(&common->lock);
    perp__shared *l = s->shared->limit;
    if (l) atomic_fetch_add(&l->users, 1);
    pthread_mutex_unlock(&common->lock);
    return l;
}

/* Where two threads make it, the one that is kept stands. NULL when memory is out. */
static perp__shared *make_limit(const perp__step *s, const perp__changes *changes)
{
    perp__common *common = s->model->common;
    perp__shared *whole = s->shared, *l = make(s->model, &whole->made_with, changes, 1);
    if (!l) return NULL;
    compile(l, &whole->made_with, NULL); /* where it cannot be, it is interpreted */
    pthread_mutex_lock(&common->lock);
    if (!whole->limit) {
        whole->limit = l;
        atomic_fetch_add(&l->users, 1);
    }
    pthread_mutex_unlock(&common->lock);
    return l;
}

/* What may change in a step, and room for its list, the caller's to free; NULL when memory is
 * out. */
static int *list_changes(const perp__step *s, perp__changes *changes)
{
    const perp__layout *l = s->layout;
    int *input = malloc(((size_t)l->table.n + 1) * sizeof *input), n = 0;
    for (int k = 0; input && k < l->table.n; k++)
        if (l->table.is_set[k]) input[n++] = l->table.input[k];
    *changes = (perp__changes){l->sym.varied.n, n, l->sym.varied.param, input};
    return input;
}

/* The same may change as in the whole; *l: its limit's layout, NULL without. */
static perp_status find_or_make_limit(const perp__step *s, perp__shared **l)
{
    perp__changes changes;
    *l = find_limit(s);
    if (*l) return PERP_OK;
    int *input = list_changes(s, &changes);
    if (!input) return PERP_ERR_MEMORY;
    int same = is_as_it_was(s, &changes);
    if (same > 0) *l = make_limit(s, &changes);
    free(input);
    if (*l) return PERP_OK;
    return same == 0 ? PERP_ERR_UNAVAILABLE : PERP_ERR_MEMORY;
}

perp_status perp__step_create_limit(perp__step *to, const perp__step *of, double h)
{
    perp__shared *l;
    perp_simulation_options o = {.tol = of->tol, .step = h, .solver = of->method};
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
    release(step->shared);
    memset(step, 0, sizeof *step);
}

const char *perp__step_compiler(const perp__step *step)
{
    const perp__compiled *compiled = step->shared->compiled;
    return compiled ? perp__compiled_by(compiled) : NULL;
}

const double *perp__step_key(const perp__step *step, size_t *n)
{
    *n = step->shared->nkey - 1;
    return step->shared->key + 1;
}

void perp__step_take_parameters(perp__step *s)
{
    const perp__varied *v = &s->layout->sym.varied;
    for (int k = 0; k < v->n; k++)
        s->ws[perp__step_parameter(s->layout, k)] = s->model->item[PERP_PARAM][v->param[k]].value;
}

void perp__step_put_varied(perp__step *s)
{
    const perp__layout *l = s->layout;
    const perp__varied *v = &l->sym.varied;
    s->ws[SYM_H] = s->h;
    perp__tape_eval(&v->tape, s->ws);
    for (int k = 0; k < v->nentry; k++) s->state.slopes.value[v->entry[k]] = s->ws[v->tape.out[k]];
    for (int i = l->sym.n; i < perp__tape_end(&v->tape); i++) /* data, as numbers are */
        s->cache.sizes.term[i] = (perp__terms){fabs(s->ws[i]), 0};
}

void perp__step_revalue(perp__step *s)
{
    perp__step_put_varied(s);
    perp__step_forget_factors(s);
}
