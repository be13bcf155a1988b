/* Memory of a step: its state, and its cache, which may be thrown away. */

#include "simulate/step.h"

#include "linalg/invert.h"
#include "solve/solver.h"

#include <stdlib.h>
#include <string.h>

/* Unknowns from which a step is solved with sparse matrices: where the two cost the same on the
 * chain of blocks. */
enum { SPARSE_FROM = 24, SPARSE_FROM_NONLINEAR = 8 };

enum { MAX_MODES = 32, MAX_ELIMINATIONS = 8, MODE_BYTES = 1 << 26, DENSE_UP_TO = 600 };

static int is_sparse(const perp__layout *l)
{
    return l->ny >= (l->nonlinear ? SPARSE_FROM_NONLINEAR : SPARSE_FROM);
}

/* State ---------------------------------------------------------------------------------------- */

static int take_factored(perp__factored *f, const perp__layout *l)
{
    size_t ny = (size_t)l->ny, nonzeros = (size_t)l->row_start[l->nrow] + 1;
    f->value = calloc(2 * nonzeros + ny, sizeof(double));
    f->row = calloc(2 * ny + 1, sizeof(int));
    if (!f->value || !f->row) return 0;
    f->pivoted = f->value + nonzeros;
    f->factor = f->pivoted + nonzeros;
    f->singular = f->row + ny;
    f->are = PERP__NO_FACTORS;
    return 1;
}

static int take_state(perp__step_state *state, const perp__layout *l, const perp_model *m)
{
    size_t ny = (size_t)l->ny, np = (size_t)l->np, nrow = (size_t)l->nrow, nx = (size_t)l->nx,
           nonzeros = (size_t)l->row_start[nrow],
           roots = nrow + (size_t)(l->tape.check.nout + l->tape.guards.nout);
    state->slopes.value = malloc((nonzeros + 1) * sizeof(double));
    state->history = calloc(3 * ny + nrow + PERP__MOVES * nx + roots + 1, sizeof(double));
    state->on = calloc(4 * np + (size_t)m->npair + 1, 1);
    if (!state->slopes.value || !state->history || !state->on) return 0;
    if (nonzeros) memcpy(state->slopes.value, l->fixed, nonzeros * sizeof(double));
    state->units.value = state->history + ny;
    state->move = state->units.value + 2 * ny + nrow;
    state->rest.root = state->move + PERP__MOVES * nx;
    state->choice = state->on + np;
    state->z.on = state->choice + np;
    state->z.side = state->z.on + np;
    state->side_now = state->z.side + np;
    return !is_sparse(l) || take_factored(&state->factored, l);
}

static void free_state(perp__step_state *state)
{
    free(state->slopes.value);
    free(state->history);
    free(state->on);
    free(state->factored.value);
    free(state->factored.row);
}

/* Cache ---------------------------------------------------------------------------------------- */

/* One block each, when they are first used; it begins with T_inverse or S. */
int perp__step_has_elimination(perp__step *s, perp__elimination *e)
{
    const perp__layout *l = s->layout;
    size_t ny = (size_t)l->ny, np = (size_t)l->np;
    if (e->T_inverse) return 1;
    e->T_inverse = malloc((ny + np) * ny * sizeof(double) + (ny + np) * sizeof(int) + 2 * np + 1);
    if (!e->T_inverse) return !(s->cache.out_of_memory = 1);
    e->K = e->T_inverse + ny * ny;
    e->row = (int *)(e->K + np * ny);
    e->pair = e->row + ny;
    e->key = (char *)(e->pair + np);
    e->side = e->key + np;
    return 1;
}

int perp__step_has_mode(perp__step *s, perp__mode *m)
{
    const perp__layout *l = s->layout;
    size_t ny = (size_t)l->ny, np = (size_t)l->np, order = 2 * (ny + (size_t)l->marks.ndefined);
    if (m->S) return 1;
    m->S = malloc(ny * ny * sizeof(double) + (ny + order) * sizeof(int) + np + 1);
    if (!m->S) return !(s->cache.out_of_memory = 1);
    m->row = (int *)(m->S + ny * ny);
    m->order = m->row + ny;
    m->key = (char *)(m->order + order);
    return 1;
}

/* Slots of a cache whose entries have `bytes`; one is enough when nothing stays the same. */
static int slots(const perp__layout *l, size_t bytes, int most)
{
    size_t n = l->constant ? MODE_BYTES / (bytes + 1) : 1;
    if (n < 1) return 1;
    return n > (size_t)most ? most : (int)n;
}

static size_t work_doubles(const perp__layout *l)
{
    size_t sides = perp__sides_doubles(l->ny), invert = perp__invert_doubles(l->ny);
    return sides > invert ? sides : invert;
}

/* Its q has the rounding of the elimination, and the model's own conditions judge what answers
 * (verdict.c): rows of redundant contacts, which are nothing but that rounding, are no reason to
 * refuse (docs/adr/114-redundant-rows.md). */
static perp_status create_lcp(perp__step *s, perp_lcp_method method, const perp_lcp_options *o)
{
    perp_status status = perp_lcp_solver_create(method, s->layout->np, o, &s->cache.lcp.solver);
    if (status == PERP_OK) s->cache.lcp.solver->takes_rounded = 1;
    return status;
}

int perp__step_limit(perp__step *s, perp_lcp_method method, int iterations)
{
    perp_lcp_options o = perp_lcp_options_default(method);
    if (!s->cache.lcp.solver) return 1;
    o.max_iter = iterations;
    perp_lcp_solver_destroy(s->cache.lcp.solver);
    return create_lcp(s, method, &o) == PERP_OK;
}

/* Of the dense path. */
static int take_modes(perp__dense_modes *modes, const perp__layout *l)
{
    size_t bytes = (size_t)l->ny * (size_t)l->ny * sizeof(double);
    modes->nmode = slots(l, bytes, MAX_MODES);
    modes->nelimination = slots(l, 2 * bytes, MAX_ELIMINATIONS);
    modes->mode = calloc((size_t)modes->nmode, sizeof *modes->mode);
    modes->elimination = calloc((size_t)modes->nelimination, sizeof *modes->elimination);
    return modes->mode && modes->elimination;
}

static int take_lcp(perp__dense_lcp *lcp, const perp__layout *l)
{
    size_t ny = (size_t)l->ny, np = (size_t)l->np;
    lcp->q = calloc(3 * np + 1, sizeof(double));
    lcp->work = malloc((work_doubles(l) + ny * ny + 1) * sizeof(double));
    lcp->index = malloc((perp__sides_ints(l->ny, l->np) + 2 * ny + 1) * sizeof(int));
    if (!lcp->q || !lcp->work || !lcp->index) return 0;
    lcp->z = lcp->q + np;
    lcp->w = lcp->z + np;
    lcp->matrix = lcp->work + work_doubles(l);
    return 1;
}

static perp_status take_dense(perp__step *s)
{
    const perp__layout *l = s->layout;
    s->cache.A = malloc(((size_t)l->nrow * (size_t)l->ny + 1) * sizeof(double));
    if (!s->cache.A || !take_modes(&s->cache.modes, l) || !take_lcp(&s->cache.lcp, l))
        return PERP_ERR_MEMORY;
    return create_lcp(s, s->method, NULL);
}

static int take_newton(perp__step_cache *cache, const perp__layout *l)
{
    perp__newton *newton = &cache->newton;
    size_t ny = (size_t)l->ny, np = (size_t)l->np, symbols = (size_t)(l->sym.y + l->ny);
    newton->from = calloc(4 * ny + symbols + 1, sizeof(double));
    newton->dependent = calloc((size_t)l->nequation + ny + 2 * np + 1, 1);
    if (!newton->from || !newton->dependent) return 0;
    newton->at = newton->from + 3 * ny;
    newton->of = newton->at + ny;
    newton->bad = newton->dependent + l->nequation + ny;
    cache->modes.key = newton->bad + np;
    return 1;
}

static int take_sizes(perp__sizes *sizes, const perp__layout *l)
{
    size_t ny = (size_t)l->ny, nrow = (size_t)l->nrow;
    sizes->term = malloc(((size_t)perp__tape_end(&l->tape.check) + 1) * sizeof *sizes->term);
    sizes->own = calloc(3 * ny + nrow + 1, sizeof(double));
    sizes->anchored = malloc(nrow + ny + 1);
    sizes->in_mode = malloc((2 * ny + 2 * nrow + 1) * sizeof(int));
    if (!sizes->term || !sizes->own || !sizes->anchored || !sizes->in_mode) return 0;
    sizes->scratch = sizes->own + ny;
    sizes->of = sizes->scratch + ny;
    sizes->scale = sizes->of + ny;
    return 1;
}

static perp_status take_cache(perp__step *s)
{
    const perp__layout *l = s->layout;
    s->cache = (perp__step_cache){0};
    s->cache.c = calloc((size_t)l->nrow + 1, sizeof(double));
    s->cache.hint = calloc((size_t)l->table.n + 1, sizeof(int));
    if (!s->cache.c || !s->cache.hint || !take_newton(&s->cache, l) ||
        !take_sizes(&s->cache.sizes, l))
        return PERP_ERR_MEMORY;
    if (is_sparse(l) && !perp__sparse_allocate(s)) return PERP_ERR_MEMORY;
    return is_sparse(l) && l->ny > DENSE_UP_TO ? PERP_OK : take_dense(s);
}

static void free_modes(perp__dense_modes *modes)
{
    for (int i = 0; modes->mode && i < modes->nmode; i++) free(modes->mode[i].S);
    for (int i = 0; modes->elimination && i < modes->nelimination; i++)
        free(modes->elimination[i].T_inverse);
    free(modes->mode);
    free(modes->elimination);
}

static void free_cache(perp__step *s)
{
    free_modes(&s->cache.modes);
    free(s->cache.lcp.q);
    free(s->cache.lcp.work);
    free(s->cache.lcp.index);
    free(s->cache.A);
    free(s->cache.c);
    free(s->cache.hint);
    free(s->cache.newton.from);
    free(s->cache.newton.dependent);
    perp_lcp_solver_destroy(s->cache.lcp.solver);
    perp__sparse_free(s);
    perp__cones_free(s);
    free(s->cache.sizes.term);
    free(s->cache.sizes.own);
    free(s->cache.sizes.anchored);
    free(s->cache.sizes.in_mode);
    s->cache = (perp__step_cache){0};
}

/* Both ----------------------------------------------------------------------------------------- */

/* The workspace behind the symbols: the constants of the tapes. */
static void prepare_tapes(perp__step *s)
{
    const perp__layout *l = s->layout;
    const perp__tape *tapes[] = {&l->sym.varied.tape, &l->table.tape,  &l->tape.coefficients,
                                 &l->tape.check,      &l->tape.guards, &l->tape.outputs};
    for (size_t i = 0; i < sizeof tapes / sizeof *tapes; i++)
        perp__tape_prepare(tapes[i], s->ws, 1);
}

perp_status perp__step_allocate(perp__step *s)
{
    const perp__layout *l = s->layout;
    s->ws = calloc((size_t)perp__tape_end(&l->tape.outputs) + 1, sizeof(double));
    if (!s->ws || !take_state(&s->state, l, s->model)) return PERP_ERR_MEMORY;
    prepare_tapes(s);
    return take_cache(s);
}

void perp__step_free(perp__step *s)
{
    free_cache(s);
    free_state(&s->state);
    free(s->ws);
}

void perp__step_stale(perp__step *s)
{
    perp__dense_modes *modes = &s->cache.modes;
    for (int i = 0; modes->mode && i < modes->nmode; i++) modes->mode[i].used = 0;
    for (int i = 0; modes->elimination && i < modes->nelimination; i++)
        modes->elimination[i].used = 0;
    modes->current = NULL;
    modes->next_mode = modes->next_elimination = 0;
    s->cache.newton.has_full = s->cache.newton.is_noted = 0;
    s->cache.sizes.has_terms = 0;
}

perp_status perp__step_drop_cache(perp__step *s)
{
    const perp__layout *l = s->layout;
    int first = perp__step_parameter(l, l->sym.varied.n), end = perp__tape_end(&l->tape.outputs);
    free_cache(s);
    memset(s->ws + first, 0xff, (size_t)(end - first) * sizeof(double)); /* NaN */
    prepare_tapes(s);
    perp_status status = take_cache(s);
    if (status != PERP_OK) return status;
    perp__step_put_varied(s);
    return perp__sparse_factor_again(s) ? PERP_OK : PERP_ERR_MEMORY;
}
