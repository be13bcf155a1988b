/* Many copies of a system, stepped by threads. What a thread writes while it steps a copy belongs
 * to that copy, or is on its own stack: there is no lock and no common counter within a block. */

#include "base/parallel.h"
#include "bodies/bodies.h"
#include "perp/bodies_batch.h"

#include <stdlib.h>
#include <string.h>

/* How the last call ended for a copy. Written once a call. */
typedef struct ending {
    perp_status status;
    perp_bodies_info info;
    perp_diag diag; /* empty between calls */
} ending;

struct perp_bodies_batch {
    int count, threads;
    perp_bodies **copy;
    ending *end; /* count */
};

/* A call: what its threads read. */
typedef struct call {
    const perp_bodies_batch *of;
    perp_bodies_arrays x;
    long steps;
    int nblock;
} call;

perp_status perp_bodies_batch_create(const perp_bodies *bodies, int count, int threads,
                                     perp_bodies_batch **out, perp_diag *diag)
{
    if (!out) return PERP_ERR_ARG;
    *out = NULL;
    if (!bodies || count < 1 || threads < 0) return PERP_ERR_ARG;
    perp_bodies_batch *b = calloc(1, sizeof *b);
    if (!b) return perp__out_of_memory(diag, "bodies");
    b->count = count;
    b->threads = threads ? threads : perp__processors();
    b->copy = calloc((size_t)count, sizeof(perp_bodies *));
    b->end = calloc((size_t)count, sizeof *b->end);
    perp_status status = b->copy && b->end ? PERP_OK : perp__out_of_memory(diag, "bodies");
    for (int i = 0; i < count && status == PERP_OK; i++)
        status = perp_bodies_clone(bodies, &b->copy[i], diag);
    if (status == PERP_OK)
        *out = b;
    else
        perp_bodies_batch_destroy(b);
    return status;
}

void perp_bodies_batch_destroy(perp_bodies_batch *b)
{
    if (!b) return;
    for (int i = 0; b->copy && i < b->count; i++) perp_bodies_destroy(b->copy[i]);
    free(b->copy);
    free(b->end);
    free(b);
}

int perp_bodies_batch_count(const perp_bodies_batch *b)
{
    return b ? b->count : 0;
}

perp_bodies *perp_bodies_batch_at(perp_bodies_batch *b, int i)
{
    return b && i >= 0 && i < b->count ? b->copy[i] : NULL;
}

/* Rows ----------------------------------------------------------------------------------------- */

/* Row i of an array of n columns; NULL: there is no array, or none of its entries is to be set,
 * since all are those of `now`. */
static const double *other_row(const double *array, int i, int n, const double *now)
{
    const double *row = array ? array + (size_t)i * (size_t)n : NULL;
    if (!row || n == 0 || memcmp(row, now, (size_t)n * sizeof *row) == 0) return NULL;
    return row;
}

static void write_row(double *array, int i, int n, const double *now)
{
    if (array && n) memcpy(array + (size_t)i * (size_t)n, now, (size_t)n * sizeof *now);
}

/* Set copy i from its rows. Returns the array that cannot be set; NULL: none. */
static const char *take_rows(perp_bodies *b, const perp_bodies_arrays *x, int i)
{
    int nq = b->scene->nq, nv = b->scene->nv, nu = b->joints->nu;
    const double *q = other_row(x->q, i, nq, b->q), *v = other_row(x->v, i, nv, b->v),
                 *act = other_row(x->activation, i, nu, b->joints->act),
                 *u = other_row(x->control, i, nu, b->joints->control),
                 *tau = other_row(x->force, i, nv, b->tau),
                 *gravity = other_row(x->gravity, i, 3, b->gravity);
    if (q && perp_bodies_set(b, q, NULL) != PERP_OK) return "q";
    if (v && perp_bodies_set(b, NULL, v) != PERP_OK) return "v";
    if (act && perp_bodies_set_activation(b, act) != PERP_OK) return "activation";
    if (u && perp_bodies_set_control(b, u) != PERP_OK) return "control";
    if (tau && perp_bodies_set_force(b, tau) != PERP_OK) return "force";
    return gravity && perp_bodies_set_gravity(b, gravity) != PERP_OK ? "gravity" : NULL;
}

static void give_rows(const perp_bodies *b, const perp_bodies_arrays *x, int i)
{
    write_row(x->q, i, b->scene->nq, b->q);
    write_row(x->v, i, b->scene->nv, b->v);
    write_row(x->activation, i, b->joints->nu, b->joints->act);
    write_row(x->time, i, 1, &b->time);
}

static perp_status refuse_row(perp_diag *diag, const char *array)
{
    return perp__refuse(diag, PERP_ERR_ARG, perp__in(NULL),
                        "a row of %s has a number that is not finite, or a quaternion of length "
                        "0\n",
                        array);
}

perp_status perp_bodies_batch_set(perp_bodies_batch *b, const perp_bodies_arrays *arrays,
                                  perp_diag *diag)
{
    perp_bodies_arrays x = {0};
    if (!b || !arrays || !perp__options_take(&x, sizeof x, arrays)) return PERP_ERR_ARG;
    for (int i = 0; i < b->count; i++) {
        const char *fault = take_rows(b->copy[i], &x, i);
        perp_diag own = {0};
        if (!fault) continue;
        refuse_row(&own, fault);
        perp__refuse(diag, PERP_ERR_ARG, perp__in(NULL), "copy %d: %s", i, perp_diag_text(&own));
        perp_diag_clear(&own);
        return PERP_ERR_ARG;
    }
    return PERP_OK;
}

perp_status perp_bodies_batch_get(const perp_bodies_batch *b, const perp_bodies_arrays *arrays)
{
    perp_bodies_arrays x = {0};
    if (!b || !arrays || !perp__options_take(&x, sizeof x, arrays)) return PERP_ERR_ARG;
    for (int i = 0; i < b->count; i++) give_rows(b->copy[i], &x, i);
    return PERP_OK;
}

/* Steps ---------------------------------------------------------------------------------------- */

/* All of a call for copy i. */
static void step_copy(const call *c, int i)
{
    perp_bodies *b = c->of->copy[i];
    ending end = {.info = {.size = sizeof end.info}};
    const char *fault = take_rows(b, &c->x, i);
    if (fault) end.status = refuse_row(&end.diag, fault);
    for (long k = 0; k < c->steps && end.status == PERP_OK && end.info.outcome == PERP_SOLVED; k++)
        end.status = perp_bodies_step(b, &end.info, &end.diag);
    if (!fault) give_rows(b, &c->x, i);
    c->of->end[i] = end;
}

/* The first copy of a block. */
static int first_of(const call *c, int block)
{
    return (int)((long long)c->of->count * block / c->nblock);
}

/* Copies of a block are neighbours: threads write to neighbouring rows only at its two ends. */
static void step_block(void *context, int thread, int block)
{
    const call *c = context;
    (void)thread;
    for (int i = first_of(c, block); i < first_of(c, block + 1); i++) step_copy(c, i);
}

/* Did a copy come to the end of its steps? */
static int is_done(const ending *end)
{
    return end->status == PERP_OK && end->info.outcome == PERP_SOLVED;
}

/* What the first copy said that did not; what is kept of all is forgotten. */
static perp_status sum_up(perp_bodies_batch *b, int *solved, perp_diag *diag)
{
    perp_status status = PERP_OK;
    int failed = 0;
    *solved = 0;
    for (int i = 0; i < b->count; i++) {
        ending *end = &b->end[i];
        perp_status is = end->status;
        *solved += is_done(end);
        if (!is_done(end) && !failed++ && is == PERP_ERR_MEMORY)
            perp__out_of_memory(diag, "bodies");
        else if (!is_done(end) && failed == 1)
            perp__refuse(diag, is == PERP_OK ? PERP_ERR_NO_SOLUTION : is, perp__in(NULL),
                         "copy %d: %s", i, perp_diag_text(&end->diag));
        if (status == PERP_OK) status = is;
        perp_diag_clear(&end->diag);
    }
    return status;
}

perp_status perp_bodies_batch_step(perp_bodies_batch *b, long steps,
                                   const perp_bodies_arrays *arrays, int *solved, perp_diag *diag)
{
    enum { BLOCKS = 8 }; /* a thread: the last to finish has at most 1/8 of its work alone */
    call c = {.of = b, .steps = steps};
    if (!b || steps < 0 || !solved || !perp__options_take(&c.x, sizeof c.x, arrays))
        return PERP_ERR_ARG;
    c.nblock = b->count;
    if (b->count / BLOCKS > b->threads) c.nblock = BLOCKS * b->threads;
    perp__parallel(b->threads, c.nblock, step_block, &c);
    return sum_up(b, solved, diag);
}

perp_status perp_bodies_batch_status(const perp_bodies_batch *b, int i, perp_bodies_info *info)
{
    if (!b || i < 0 || i >= b->count || !PERP__FITS(info)) return PERP_ERR_ARG;
    if (info) perp__result_give(info, &b->end[i].info, sizeof b->end[i].info);
    return b->end[i].status;
}

void perp_bodies_batch_reset(perp_bodies_batch *b, const unsigned char *which)
{
    for (int i = 0; b && i < b->count; i++)
        if (!which || which[i]) perp_bodies_reset(b->copy[i]);
}
