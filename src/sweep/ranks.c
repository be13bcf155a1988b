/* Jobs of a sweep done by other processes. A message to one of them is a list of numbers of jobs,
 * an empty one: no more. Its answer is a status, how many results, and these one after the other.
 * Its first answer, before any list, is empty. A list is as long as is done in some milliseconds,
 * and shorter towards the end, so that all end together. */

#include "sweep/jobs.h"

#include "base/arena.h"
#include "base/parallel.h"
#include "base/text.h"
#include "external/ranks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 256 }; /* jobs in a list */
static const double LIST_TIME_S = 0.02;
static const long PAUSE_NS = 200000; /* between two looks for messages */

typedef struct answer {
    long long count;
    int status;
} answer;

typedef struct packed {
    long long job;
    double error;
    long steps;
    int status, noutcome, nreason; /* bytes of the texts with their zeros, behind the values */
} packed;

static void pause_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

/* The one who hands out ------------------------------------------------------------------------ */

typedef struct hand {
    int is_idle, is_over, given; /* jobs in hand */
    double since, pace;          /* when they were given; seconds a job took last, 0: not known */
} hand;

typedef struct leader {
    perp__jobs *jobs;
    hand *hand; /* one a rank */
    int ranks, columns, over;
    double *value; /* of a result */
    char *in;      /* the answer that came last */
    int room;
} leader;

static int list_length(const leader *l, const hand *h, long long left)
{
    long long n = h->pace > 0 ? (long long)(LIST_TIME_S / h->pace) : 1;
    long long share = left / (2 * l->ranks), window = PERP_SWEEP_WINDOW / (2 * l->ranks);
    if (n > share) n = share;
    if (n > window) n = window;
    if (n < 1) return 1;
    if (n > MOST) return MOST;
    return (int)n;
}

/* Jobs for an idle process, or word that there are no more. */
static perp_status give(leader *l, int to)
{
    long long job[MOST], left = perp__jobs_left(l->jobs);
    hand *h = &l->hand[to];
    int n = left ? perp__jobs_take(l->jobs, list_length(l, h, left), job) : 0;
    if (!n && perp__jobs_left(l->jobs)) return PERP_OK; /* others must be done before */
    h->is_idle = 0;
    h->is_over = !n;
    h->given = n;
    h->since = perp__now();
    l->over += !n;
    return perp__ranks_send(to, job, (size_t)n * sizeof *job);
}

static void take_results(leader *l, answer a)
{
    const char *at = l->in + sizeof a;
    for (; a.count > 0; a.count--) {
        packed p;
        memcpy(&p, at, sizeof p);
        at += sizeof p;
        memcpy(l->value, at, (size_t)l->columns * sizeof *l->value);
        at += (size_t)l->columns * sizeof *l->value;
        perp_sweep_result result = {.job = p.job,
                                    .value = l->value,
                                    .status = (perp_status)p.status,
                                    .reason = at + p.noutcome,
                                    .steps = p.steps,
                                    .error = p.error,
                                    .outcome = at};
        at += p.noutcome + p.nreason;
        perp__jobs_give(l->jobs, &result);
    }
    if (a.status != PERP_OK) perp__jobs_fail(l->jobs, (perp_status)a.status);
}

static perp_status take_answer(leader *l, int from, size_t n)
{
    hand *h = &l->hand[from];
    answer a;
    if (!perp__grow(&l->in, &l->room, (int)n, 1)) return PERP_ERR_MEMORY;
    perp_status status = perp__ranks_receive(from, l->in, n);
    if (status != PERP_OK) return status;
    memcpy(&a, l->in, sizeof a);
    if (a.count) h->pace = (perp__now() - h->since) / (double)a.count;
    h->is_idle = 1;
    h->given = 0;
    take_results(l, a);
    return PERP_OK;
}

static perp_status look_round(leader *l)
{
    int from, idle = 0;
    size_t n;
    perp_status status = perp__ranks_probe(&from, &n);
    if (status == PERP_OK && from >= 0) status = take_answer(l, from, n);
    for (int i = 1; i < l->ranks && status == PERP_OK; i++)
        if (l->hand[i].is_idle) {
            status = give(l, i);
            idle++;
        }
    if (from < 0 && status == PERP_OK) {
        perp__jobs_left(l->jobs); /* asks whether to stop */
        pause_a_little();
    }
    return status;
}

perp_status perp__ranks_lead(perp__jobs *jobs)
{
    leader l = {
        .jobs = jobs, .ranks = perp__ranks(), .columns = perp__jobs_columns(jobs), .over = 1};
    l.hand = calloc((size_t)l.ranks, sizeof *l.hand);
    l.value = malloc((size_t)l.columns * sizeof *l.value);
    perp_status status = l.hand && l.value ? PERP_OK : PERP_ERR_MEMORY;
    while (status == PERP_OK && l.over < l.ranks) status = look_round(&l);
    free(l.hand);
    free(l.value);
    free(l.in);
    return status;
}

/* Those who do them ---------------------------------------------------------------------------- */

typedef struct follower {
    const perp_sweep *sweep;
    perp__worker *worker; /* one a thread */
    int threads, columns, failed, stopped;
    int (*stop)(void *context);
    void *context;
    const long long *job;
    pthread_mutex_t lock; /* of `stop` and what is below */
    perp__text out;       /* room for the answer, then results */
    answer answer;
} follower;

/* With the lock held. */
static int append(follower *f, const perp_sweep_result *r)
{
    packed p = {.job = r->job,
                .error = r->error,
                .steps = r->steps,
                .status = (int)r->status,
                .noutcome = (int)strlen(r->outcome) + 1,
                .nreason = (int)strlen(r->reason) + 1};
    perp__text_bytes(&f->out, (const char *)&p, sizeof p);
    perp__text_bytes(&f->out, (const char *)r->value, (size_t)f->columns * sizeof *r->value);
    perp__text_bytes(&f->out, r->outcome, (size_t)p.noutcome);
    perp__text_bytes(&f->out, r->reason, (size_t)p.nreason);
    f->answer.count += !f->out.failed;
    return !f->out.failed;
}

static void do_listed(void *context, int thread, int i)
{
    follower *f = context;
    pthread_mutex_lock(&f->lock);
    f->stopped |= f->stop && f->stop(f->context);
    int go_on = !f->stopped && !f->failed;
    pthread_mutex_unlock(&f->lock);
    if (!go_on) return;
    perp_sweep_result result = perp__do_job(f->sweep, &f->worker[thread], f->job[i]);
    pthread_mutex_lock(&f->lock);
    if (!append(f, &result)) f->failed = 1;
    pthread_mutex_unlock(&f->lock);
}

static perp_status send_answer(follower *f)
{
    if (f->failed)
        f->answer.status = PERP_ERR_MEMORY;
    else if (f->stopped)
        f->answer.status = PERP_ERR_STOPPED;
    else
        f->answer.status = PERP_OK;
    memcpy(f->out.at, &f->answer, sizeof f->answer);
    return perp__ranks_send(0, f->out.at, f->out.length);
}

/* The next list; *n: its length. */
static perp_status await(long long *job, int *n)
{
    int from = -1;
    size_t length = 0;
    perp_status status = PERP_OK;
    while (status == PERP_OK && from < 0) {
        status = perp__ranks_probe(&from, &length);
        if (from < 0) pause_a_little();
    }
    *n = (int)(length / sizeof *job);
    return status == PERP_OK ? perp__ranks_receive(from, job, length) : status;
}

static perp_status follow(follower *f)
{
    long long job[MOST];
    int n = 1;
    perp_status status = PERP_OK;
    f->job = job;
    while (status == PERP_OK && n) {
        status = send_answer(f);
        if (status == PERP_OK) status = await(job, &n);
        f->out.length = sizeof f->answer;
        f->answer = (answer){0};
        if (status == PERP_OK) perp__parallel(f->threads, n, do_listed, f);
    }
    return status;
}

perp_status perp__ranks_follow(const perp_sweep *sweep, int threads, int (*stop)(void *context),
                               void *context)
{
    follower f = {.sweep = sweep,
                  .threads = threads,
                  .columns = perp_sweep_columns(sweep),
                  .stop = stop,
                  .context = context};
    perp_status status = PERP_ERR_MEMORY;
    f.worker = calloc((size_t)threads, sizeof *f.worker);
    perp__text_bytes(&f.out, (const char *)&f.answer, sizeof f.answer);
    if (!f.worker || f.out.failed) goto done;
    pthread_mutex_init(&f.lock, NULL);
    for (int i = 0; i < threads; i++) f.failed |= !perp__worker_open(&f.worker[i], sweep);
    status = follow(&f);
    pthread_mutex_destroy(&f.lock);
done:
    for (int i = 0; f.worker && i < threads; i++) perp__worker_clear(&f.worker[i]);
    free(f.worker);
    perp__text_clear(&f.out);
    return status;
}
