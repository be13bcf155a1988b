/* A sweep: jobs by their number, done by threads with a model each, passed on in the order of
 * completion. */

#include "base/arena.h"
#include "base/parallel.h"
#include "base/words.h"
#include "model/model.h"
#include "external/ranks.h"
#include "sweep/axes.h"
#include "sweep/jobs.h"
#include "sweep/keep.h"
#include "sweep/task.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const perp__word design_rows[] = {
#define WORD(name, word, text) {word, text},
    PERP_DESIGN_LIST(WORD)
#undef WORD
};
static const perp__words designs = PERP_WORDS(design_rows);

PERP_WORD_FUNCTIONS(perp_design, perp_design, designs)
PERP_WORD_SUMMARY(perp_design, perp_design_summary, designs)

static const perp__word task_rows[] = {
#define WORD(name, word, text) {word, text},
    PERP_SWEEP_TASK_LIST(WORD)
#undef WORD
};
static const perp__words task_words = PERP_WORDS(task_rows);

PERP_WORD_FUNCTIONS(perp_sweep_task, perp_sweep_task, task_words)
PERP_WORD_SUMMARY(perp_sweep_task, perp_sweep_task_summary, task_words)

static const perp__task *const tasks[PERP_SWEEP_TASK_COUNT] = {
    [PERP_SWEEP_SIMULATE] = &perp__task_simulate,
    [PERP_SWEEP_PLAN] = &perp__task_plan,
    [PERP_SWEEP_IDENTIFY] = &perp__task_identify};

struct perp_sweep {
    perp__arena arena;
    perp_model *model;
    perp_sweep_options options;
    perp__axes axes;
    perp__keep *keep;
    int nkeep, needs_rows;
    const char **unit; /* of what varies */
};

void perp_sweep_options_fill(perp_sweep_options *options, size_t size)
{
    perp_sweep_options own = {.size = sizeof own,
                              .samples = 1000,
                              .seed = 1,
                              .from = (double)NAN,
                              .to = (double)NAN,
                              .step = (double)NAN,
                              .integrator = PERP_INTEGRATOR_COUNT};
    perp__options_give(options, size, &own, sizeof own);
}

void perp_sweep_run_options_fill(perp_sweep_run_options *options, size_t size)
{
    perp_sweep_run_options own = {.size = sizeof own, .shards = 1};
    perp__options_give(options, size, &own, sizeof own);
}

/* A job ---------------------------------------------------------------------------------------- */

void perp__worker_clear(perp__worker *w)
{
    perp_model_destroy(w->model);
    perp_diag_clear(&w->diag);
    free(w->kept);
    free(w->value);
    free(w->row);
}

int perp__worker_open(perp__worker *w, const perp_sweep *s)
{
    size_t n = (size_t)s->axes.n + (size_t)s->nkeep + 1;
    w->kept = malloc(n * sizeof *w->kept);
    w->value = malloc(n * sizeof *w->value);
    return w->kept && w->value && perp__model_clone(s->model, &w->model) == PERP_OK;
}

/* A parameter that the model's size depends on; NULL: the name is something else. */
static const perp__item *size_of(const perp_model *model, const char *name)
{
    perp_symbol_kind kind;
    int i, is_known = perp_model_find(model, name, &kind, &i);
    const perp__item *item = is_known && kind == PERP_PARAM ? &model->item[PERP_PARAM][i] : NULL;
    return item && item->is_structural ? item : NULL;
}

/* Where sizes depend on what varies, a model that has them. */
static perp_status fit(const perp_sweep *s, perp__worker *w, perp_diag *diag)
{
    perp_model *model = NULL;
    int n = 0, is_other = 0;
    if (!s->options.read) return PERP_OK; /* setting it refuses it */
    perp_setting *set = malloc((size_t)s->axes.n * sizeof *set);
    if (!set) return PERP_ERR_MEMORY;
    for (int i = 0; i < s->axes.n; i++) {
        const perp__item *item = size_of(w->model, s->axes.axis[i].name);
        if (!item) continue;
        is_other |= item->value != w->value[i];
        set[n++] = (perp_setting){s->axes.axis[i].name, w->value[i]};
    }
    perp_status status = PERP_OK;
    if (is_other) status = s->options.read(s->options.read_context, set, n, &model, diag);
    free(set);
    if (!model) return status;
    perp_model_destroy(w->model);
    w->model = model;
    return status;
}

/* The answer at the point that is w->value, not yet sought. */
static perp_status begin(const perp_sweep *s, perp__worker *w, perp__task_answer *answer,
                         perp_diag *diag)
{
    perp_status status = fit(s, w, diag);
    perp_model *model = w->model;
    for (int i = 0; i < s->axes.n && status == PERP_OK; i++)
        status = perp_model_set(model, s->axes.axis[i].name, w->value[i], diag);
    answer->task = tasks[s->options.task];
    return status == PERP_OK ? answer->task->create(&s->options, model, &answer->of, diag) : status;
}

static void end(perp__task_answer *answer)
{
    if (answer->of) answer->task->destroy(answer->of);
}

typedef struct taker {
    const perp_sweep *sweep;
    perp__kept *kept;
} taker;

static perp_status take_row(void *context, long step, const double *row)
{
    const taker *t = context;
    (void)step;
    for (int i = 0; i < t->sweep->nkeep; i++) perp__keep_take(&t->sweep->keep[i], &t->kept[i], row);
    return PERP_OK;
}

static perp_status run_to_end(const perp_sweep *s, perp__worker *w, const perp__task_answer *a,
                              perp__ending *ending)
{
    taker t = {s, w->kept};
    int n = a->task->columns(a->of);
    if (n > w->nrow) {
        double *more = realloc(w->row, (size_t)n * sizeof *more);
        if (!more) return PERP_ERR_MEMORY;
        w->row = more;
        w->nrow = n;
    }
    for (int i = 0; i < s->nkeep; i++)
        if (!perp__keep_begin(&s->keep[i], &w->kept[i], a))
            return perp__refuse(&w->diag, PERP_ERR_ARG, perp__in(NULL),
                                "'%s': there is no such column at this point\n", s->keep[i].text);
    perp_status status =
        a->task->run(a->of, s->needs_rows ? take_row : NULL, &t, w->row, ending, &w->diag);
    if (status != PERP_OK) return status;
    double *kept = w->value + s->axes.n;
    for (int i = 0; i < s->nkeep; i++)
        kept[i] = perp__keep_end(&s->keep[i], &w->kept[i], a, w->row);
    return PERP_OK;
}

static const char *outcome_of(const perp_sweep_result *r)
{
    if (r->verified) return "verified";
    if (r->status == PERP_OK) return "no solution";
    return "refused";
}

perp_sweep_result perp__do_job(const perp_sweep *s, perp__worker *w, long long job)
{
    perp__task_answer answer = {0};
    perp__ending ending = {0};
    perp_sweep_result result = {.size = sizeof result, .job = job, .value = w->value, .reason = ""};
    perp_diag_clear(&w->diag);
    perp__axes_at(&s->axes, job, w->value);
    for (int i = 0; i < s->nkeep; i++) w->value[s->axes.n + i] = (double)NAN;
    result.status = begin(s, w, &answer, &w->diag);
    if (result.status == PERP_OK) result.status = run_to_end(s, w, &answer, &ending);
    end(&answer);
    result.verified = result.status == PERP_OK;
    if (result.status == PERP_ERR_NO_SOLUTION) result.status = PERP_OK;
    result.steps = ending.steps;
    result.error = ending.error;
    result.outcome = ending.outcome ? ending.outcome : outcome_of(&result);
    if (!result.verified) {
        if (ending.reason)
            result.reason = ending.reason;
        else if (w->diag.text)
            result.reason = w->diag.text;
        else
            result.reason = perp_status_message(result.status);
        if (!ending.reason && w->diag.text) w->diag.text[strcspn(w->diag.text, "\n")] = 0;
    }
    return result;
}

/* All jobs ------------------------------------------------------------------------------------- */

struct perp__jobs {
    const perp_sweep *sweep;
    perp_sweep_run_options o;
    perp_sweep_sink sink;
    void *context;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    long long next, first_open, n; /* jobs of the shard, from 0; first_open: not done yet */
    unsigned char is_done[PERP_SWEEP_WINDOW];
    int threads;
    perp_status status;
};

static void mark_done(perp__jobs *t, long long k)
{
    t->is_done[k % PERP_SWEEP_WINDOW] = 1;
    while (t->first_open < t->next && t->is_done[t->first_open % PERP_SWEEP_WINDOW])
        t->is_done[t->first_open++ % PERP_SWEEP_WINDOW] = 0;
    pthread_cond_broadcast(&t->moved);
}

static long long job_of(const perp__jobs *t, long long k)
{
    return t->o.shard + k * t->o.shards;
}

static void ask_to_stop(perp__jobs *t)
{
    if (t->status == PERP_OK && t->o.stop && t->o.stop(t->context)) t->status = PERP_ERR_STOPPED;
}

/* The next job to be done, in *k: 1; 0: there is none; -1: none before another is done. With the
 * lock held. */
static int next_job(perp__jobs *t, long long *k)
{
    while (t->status == PERP_OK && t->next < t->n) {
        if (t->next - t->first_open >= PERP_SWEEP_WINDOW) return -1;
        ask_to_stop(t);
        if (t->status != PERP_OK) break;
        *k = t->next++;
        if (!t->o.skip || !t->o.skip(t->context, job_of(t, *k))) return 1;
        mark_done(t, *k);
    }
    pthread_cond_broadcast(&t->moved);
    return 0;
}

/* The next job, where it may have to be waited for; 0: there is none. With the lock held. */
static int take_job(perp__jobs *t, long long *k)
{
    int found;
    while ((found = next_job(t, k)) < 0) pthread_cond_wait(&t->moved, &t->lock);
    return found;
}

/* With the lock held. */
static void take_result(perp__jobs *t, const perp_sweep_result *result)
{
    perp_status status = result->status == PERP_ERR_MEMORY ? result->status : PERP_OK;
    if (status == PERP_OK) status = t->sink(t->context, result);
    if (t->status == PERP_OK) t->status = status;
    mark_done(t, (result->job - t->o.shard) / t->o.shards);
}

static void work(void *context, int thread, int i)
{
    perp__jobs *t = context;
    perp__worker w = {0};
    long long k;
    (void)thread;
    (void)i;
    int ok = perp__worker_open(&w, t->sweep);
    pthread_mutex_lock(&t->lock);
    if (!ok && t->status == PERP_OK) t->status = PERP_ERR_MEMORY;
    while (take_job(t, &k)) {
        pthread_mutex_unlock(&t->lock);
        perp_sweep_result result = perp__do_job(t->sweep, &w, job_of(t, k));
        pthread_mutex_lock(&t->lock);
        take_result(t, &result);
    }
    pthread_mutex_unlock(&t->lock);
    perp__worker_clear(&w);
}

/* For those who do jobs elsewhere. */
int perp__jobs_columns(const perp__jobs *t)
{
    return perp_sweep_columns(t->sweep);
}

int perp__jobs_take(perp__jobs *t, int most, long long *job)
{
    int n = 0;
    long long k;
    pthread_mutex_lock(&t->lock);
    while (n < most && next_job(t, &k) > 0) job[n++] = job_of(t, k);
    pthread_mutex_unlock(&t->lock);
    return n;
}

void perp__jobs_give(perp__jobs *t, const perp_sweep_result *result)
{
    pthread_mutex_lock(&t->lock);
    take_result(t, result);
    pthread_mutex_unlock(&t->lock);
}

long long perp__jobs_left(perp__jobs *t)
{
    pthread_mutex_lock(&t->lock);
    ask_to_stop(t);
    long long n = t->status == PERP_OK ? t->n - t->next : 0;
    pthread_mutex_unlock(&t->lock);
    return n;
}

void perp__jobs_fail(perp__jobs *t, perp_status status)
{
    pthread_mutex_lock(&t->lock);
    if (t->status == PERP_OK) t->status = status;
    pthread_cond_broadcast(&t->moved);
    pthread_mutex_unlock(&t->lock);
}

static void *work_all(void *jobs)
{
    perp__jobs *t = jobs;
    perp__parallel(t->threads, t->threads, work, t);
    return NULL;
}

/* Jobs are done by threads here, and handed out to the other processes by this thread, the one that
 * joined them. */
static perp_status share(perp__jobs *t)
{
    pthread_t here;
    if (pthread_create(&here, NULL, work_all, t) != 0) return PERP_ERR_MEMORY;
    perp_status status = perp__ranks_lead(t);
    if (status != PERP_OK) perp__jobs_fail(t, status);
    pthread_join(here, NULL);
    return PERP_OK;
}

perp_status perp_sweep_run(const perp_sweep *sweep, const perp_sweep_run_options *options,
                           perp_sweep_sink sink, void *context)
{
    perp_sweep_run_options o = perp_sweep_run_options_default();
    if (!perp__options_take(&o, sizeof o, options) || !sweep || !sink) return PERP_ERR_ARG;
    if (o.shards < 1 || o.shard < 0 || o.shard >= o.shards || o.threads < 0) return PERP_ERR_ARG;
    int is_shared = o.ranks && perp__ranks() > 1, threads = o.threads;
    if (!threads) threads = is_shared ? 1 : perp__processors();
    if (is_shared && perp__rank() > 0) return perp__ranks_follow(sweep, threads, o.stop, context);
    perp__jobs *t = calloc(1, sizeof *t);
    if (!t) return PERP_ERR_MEMORY;
    t->sweep = sweep;
    t->o = o;
    t->sink = sink;
    t->context = context;
    t->threads = threads;
    t->n = (sweep->axes.jobs - o.shard + o.shards - 1) / o.shards;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->moved, NULL);
    perp_status status = PERP_OK;
    if (is_shared)
        status = share(t);
    else
        work_all(t);
    if (status == PERP_OK) status = t->status;
    pthread_cond_destroy(&t->moved);
    pthread_mutex_destroy(&t->lock);
    free(t);
    return status;
}

/* What is asked for ---------------------------------------------------------------------------- */

static perp_status read_units(perp_sweep *s)
{
    PERP_TAKE(&s->arena, s->unit, s->axes.n);
    for (int i = 0; i < s->axes.n && !s->arena.failed; i++) {
        perp_symbol_kind kind;
        int index;
        const char *unit = "";
        if (perp_model_find(s->model, s->axes.axis[i].name, &kind, &index))
            unit = perp_model_symbol(s->model, kind, index).unit;
        s->unit[i] = perp__arena_string(&s->arena, unit, strlen(unit));
    }
    return s->arena.failed ? PERP_ERR_MEMORY : PERP_OK;
}

static perp_status read_keeps(perp_sweep *s, const perp_model *model,
                              const perp__task_answer *answer, perp_diag *diag)
{
    static const char *const all[] = {NULL};
    int capacity = 0, n = s->options.nkeep ? s->options.nkeep : 1;
    const char *const *text = s->options.nkeep ? s->options.keep : all;
    perp_status status = PERP_OK;
    for (int i = 0; i < n && status == PERP_OK; i++)
        status = perp__keep_read(text[i], model, answer, &s->keep, &s->nkeep, &capacity, &s->arena,
                                 diag);
    for (int i = 0; i < s->nkeep; i++) s->needs_rows |= perp__keep_needs_rows(&s->keep[i]);
    return status;
}

static perp_status prepare(perp_sweep *s, perp_diag *diag)
{
    perp__worker w = {0};
    perp__task_answer answer = {0};
    perp_status status = perp__worker_open(&w, s) ? PERP_OK : PERP_ERR_MEMORY;
    if (status == PERP_OK) {
        perp__axes_at(&s->axes, 0, w.value);
        status = begin(s, &w, &answer, diag);
    }
    if (status == PERP_OK) status = read_keeps(s, w.model, &answer, diag);
    end(&answer);
    perp__worker_clear(&w);
    return status;
}

perp_status perp_sweep_create(const perp_model *model, const perp_sweep_options *options,
                              perp_sweep **sweep, perp_diag *diag)
{
    perp_sweep_options o = perp_sweep_options_default();
    if (!sweep) return PERP_ERR_ARG;
    *sweep = NULL;
    if (!model || !perp__options_take(&o, sizeof o, options)) return PERP_ERR_ARG;
    if (o.nvary < 0 || o.nkeep < 0 || (o.nvary && !o.vary) || (o.nkeep && !o.keep) ||
        o.samples < 1 || o.design < 0 || o.design >= PERP_DESIGN_COUNT || o.integrator < 0 ||
        o.integrator > PERP_INTEGRATOR_COUNT || o.task < 0 || o.task >= PERP_SWEEP_TASK_COUNT ||
        (o.task == PERP_SWEEP_IDENTIFY) != (o.data != NULL))
        return PERP_ERR_ARG;
    if (!o.nvary)
        return perp__refuse(diag, PERP_ERR_ARG, perp__in(NULL),
                            "a sweep needs something that varies, such as mu=0.1:0.9:17\n");
    perp_sweep *s = calloc(1, sizeof *s);
    if (!s) return perp__out_of_memory(diag, perp_model_name(model));
    s->options = o;
    perp_status status = perp__model_clone(model, &s->model);
    if (status == PERP_OK) status = perp__axes_read(&s->axes, &o, &s->arena, diag);
    if (status == PERP_OK) status = read_units(s);
    if (status == PERP_OK) status = prepare(s, diag);
    if (status == PERP_ERR_MEMORY) perp__out_of_memory(diag, perp_model_name(model));
    if (status != PERP_OK) {
        perp_sweep_destroy(s);
        return status;
    }
    *sweep = s;
    return PERP_OK;
}

void perp_sweep_destroy(perp_sweep *s)
{
    if (!s) return;
    perp_model_destroy(s->model);
    perp__arena_clear(&s->arena);
    free(s);
}

long long perp_sweep_jobs(const perp_sweep *s)
{
    return s ? s->axes.jobs : 0;
}

perp_sweep_task perp_sweep_get_task(const perp_sweep *s)
{
    return s ? s->options.task : PERP_SWEEP_SIMULATE;
}

int perp_sweep_varied(const perp_sweep *s)
{
    return s->axes.n;
}

int perp_sweep_columns(const perp_sweep *s)
{
    return s->axes.n + s->nkeep;
}

const char *perp_sweep_column_name(const perp_sweep *s, int column)
{
    if (column < 0 || column >= perp_sweep_columns(s)) return NULL;
    return column < s->axes.n ? s->axes.axis[column].name : s->keep[column - s->axes.n].text;
}

const char *perp_sweep_column_unit(const perp_sweep *s, int column)
{
    if (column < 0 || column >= perp_sweep_columns(s)) return NULL;
    return column < s->axes.n ? s->unit[column] : s->keep[column - s->axes.n].unit;
}

perp_status perp_sweep_point(const perp_sweep *s, long long job, double *value)
{
    if (!s || !value || job < 0 || job >= s->axes.jobs) return PERP_ERR_ARG;
    perp__axes_at(&s->axes, job, value);
    return PERP_OK;
}
