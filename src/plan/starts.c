/* Starts of a plan, several at a time by threads. Each has a plan object of its own. Results and
 * progress are taken in the order of the starts. So both are the same for any number of threads. */

#include "base/tol.h"
#include "plan/plan.h"

#include "base/arena.h"
#include "base/parallel.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

typedef struct slot {
    struct starts *of;
    perp_plan *plan;
    perp_plan_result result;
    perp_plan_progress *log; /* while it is another's turn */
    int nlog, clog;
    int is_done;
    int is_motion; /* it is replayed; also where nobody asked */
} slot;

/* The n starts first .. first + n - 1, which run at the same time. Start first + i has slot i. */
typedef struct starts {
    perp_plan *plan; /* keeps the best; also the first slot's */
    perp_plan_options options;
    perp_plan_result *best;
    pthread_mutex_t lock;
    slot slot[MOST];
    int nslot, first, n;
    int tries; /* that are compared in any case */
    int turn;  /* slot that reports; those before it are taken */
    int taken; /* starts, over all waves */
    int iterations;
    int enough, stopped, failed;
    int is_idle, is_motion; /* the best plan does nothing; is replayed */
} starts;

void perp__plan_copy_answer(perp_plan *to, const perp_plan *from, int keep)
{
    size_t K = (size_t)to->program->K,
           n[] = {to->nW, to->nP, K, (size_t)to->program->nx * (K + 1), to->nR};
    double *now[] = {to->w, to->p, to->residual, to->costate, to->lambda},
           *other[] = {from->w, from->p, from->residual, from->costate, from->lambda};
    for (int i = 0; i < 5; i++)
        memcpy(keep ? to->kept[i] : now[i], keep ? other[i] : to->kept[i], n[i] * sizeof(double));
}

/* Plans that hold come before those that do not, and motions before plans of their mesh. Then the
 * cost decides, then the word. */
static int is_better(const slot *one, const starts *s)
{
    const perp_plan_result *a = &one->result, *b = s->best;
    int holds = perp_plan_holds(a->outcome), other = perp_plan_holds(b->outcome);
    if (!holds || !other) return holds;
    if (one->is_motion != s->is_motion) return one->is_motion;
    if (fabs(a->cost - b->cost) > PERP_PLAN_SAME_COST * fmax(fabs(a->cost), fabs(b->cost)))
        return a->cost < b->cost;
    return a->outcome < b->outcome;
}

/* Progress ------------------------------------------------------------------------------------ */

static void report(starts *s, perp_plan_progress p)
{
    p.iteration += s->iterations;
    if (!s->stopped) s->stopped = s->options.progress(s->options.context, &p) != 0;
}

static int is_over(const starts *s)
{
    return s->enough || s->stopped || s->failed;
}

static int on_progress(void *context, const perp_plan_progress *p)
{
    slot *me = context;
    starts *s = me->of;
    pthread_mutex_lock(&s->lock);
    if (!s->options.progress)
        ;
    else if (me == &s->slot[s->turn])
        report(s, *p);
    else if (perp__grow(&me->log, &me->clog, me->nlog + 1, sizeof *me->log))
        me->log[me->nlog++] = *p;
    else
        s->failed = 1;
    int over = is_over(s);
    pthread_mutex_unlock(&s->lock);
    return over;
}

/* Runs ---------------------------------------------------------------------------------------- */

/* What run `taken` came to. */
static void note(starts *s, const slot *one)
{
    perp_plan *plan = s->plan;
    if (!perp__grow(&plan->attempt.made, &plan->attempt.capacity, plan->attempt.n + 1,
                    sizeof *plan->attempt.made)) {
        s->failed = 1;
        return;
    }
    plan->attempt.made[plan->attempt.n++] =
        (perp_plan_attempt){perp__plan_start_name(plan, s->taken), one->result.outcome,
                            one->result.cost, one->plan->iterations};
}

static void take(starts *s, const slot *one)
{
    s->iterations += one->plan->iterations;
    s->plan->last.is_not_finite = one->plan->last.is_not_finite;
    note(s, one);
    if (s->taken++ == 0 || is_better(one, s)) {
        *s->best = one->result;
        s->is_idle = one->plan->last.is_idle;
        s->is_motion = one->is_motion;
        perp__plan_copy_answer(s->plan, one->plan, 1);
    }
    s->enough = s->taken >= s->tries && s->best->outcome <= PERP_PLAN_STATIONARY_B &&
                s->best->curvature >= 0 && !s->is_idle;
}

/* Take what is done, in order; the next one reports from now on. */
static void take_in_order(starts *s)
{
    for (; s->turn < s->n && !s->enough && !s->failed; s->turn++) {
        slot *next = &s->slot[s->turn];
        for (int i = 0; i < next->nlog; i++) report(s, next->log[i]);
        next->nlog = 0;
        if (!next->is_done) return;
        take(s, next);
    }
}

/* Where plans are compared: is this one the motion that its inputs make, and does it move? Returns
 * 0: memory. */
static int find_motion(const starts *s, slot *me)
{
    perp_plan_result result = me->result;
    me->is_motion = 1;
    if (s->tries < 2 || !s->options.replay || me->plan->program->npair == 0 ||
        !perp_plan_holds(result.outcome))
        return 1;
    if (perp__plan_replay(me->plan, &result, NULL) != PERP_OK) return 0;
    me->is_motion = result.outcome != PERP_PLAN_FEASIBLE_ON_MESH && !me->plan->last.is_idle;
    return 1;
}

static void job(void *context, int thread, int i)
{
    starts *s = context;
    slot *me = &s->slot[i];
    (void)thread;
    pthread_mutex_lock(&s->lock);
    int over = is_over(s);
    pthread_mutex_unlock(&s->lock);
    if (over) return;
    me->plan->iterations = me->plan->stopped = 0;
    memset(&me->result, 0, sizeof me->result);
    perp__plan_set_start(me->plan, s->first + i);
    int ok = perp__plan_run(me->plan, s->first + i, &me->result) && find_motion(s, me);
    pthread_mutex_lock(&s->lock);
    if (ok)
        me->is_done = 1;
    else
        s->failed = 1;
    take_in_order(s);
    pthread_mutex_unlock(&s->lock);
}

/* NULL: as the options ask */
static const perp__mesh *mesh_of(const perp_plan *plan)
{
    const perp__program *g = plan->program;
    return g->mesh.base == g->K && !g->mesh.nrun ? NULL : &g->mesh;
}

/* A plan for slot i, which starts from the same table. */
static perp_status add_slot(starts *s, int i)
{
    slot *one = &s->slot[i];
    perp_status status = PERP_OK;
    if (i == 0)
        one->plan = s->plan;
    else
        status =
            perp__plan_create_on(s->plan->model, &s->options, mesh_of(s->plan), &one->plan, NULL);
    if (status != PERP_OK) return status;
    one->of = s;
    one->plan->options.progress = on_progress;
    one->plan->options.context = one;
    one->plan->has_guess = s->plan->has_guess;
    if (i > 0) {
        perp__plan_start_as(one->plan, s->plan);
        memcpy(one->plan->guess.w, s->plan->guess.w, s->plan->nW * sizeof *one->plan->guess.w);
        memcpy(one->plan->guess.p, s->plan->guess.p, s->plan->nP * sizeof *one->plan->guess.p);
    }
    s->nslot++;
    return PERP_OK;
}

/* The tries asked for, then restarts while no plan is stationary. */
static perp_status run_waves(starts *s)
{
    const perp_plan_options *o = &s->options;
    int most = o->tries + o->restarts, threads = o->threads ? o->threads : perp__processors();
    if (o->backend == PERP_PLAN_IPOPT) threads = 1; /* its linear solver has global state */
    if (threads > MOST) threads = MOST;
    for (; s->first < most && !is_over(s); s->first += s->n) {
        s->n = (s->first < s->tries ? s->tries : most) - s->first;
        if (s->n > threads) s->n = threads;
        for (int i = s->nslot; i < s->n; i++) {
            perp_status status = add_slot(s, i);
            if (status != PERP_OK) return status;
        }
        for (int i = 0; i < s->n; i++) {
            s->slot[i].is_done = s->slot[i].nlog = 0;
            perp_status status = perp__plan_prepare_start(s->slot[i].plan, s->first + i);
            if (status != PERP_OK) return status;
        }
        s->turn = 0;
        perp__parallel(threads, s->n, job, s);
    }
    return s->failed ? PERP_ERR_MEMORY : PERP_OK;
}

/* The requested number. A random start of a plan with pairs ends in one of many plans. It is
 * compared with those from the model's guess, unless no further start is allowed. */
static int least_tries(const perp_plan *plan)
{
    enum { COMPARED = 3 };
    const perp_plan_options *o = &plan->options;
    if (plan->program->npair == 0 || plan->has_guess || o->start != PERP_PLAN_START_RANDOM)
        return o->tries;
    int most = o->tries + o->restarts;
    if (o->tries >= COMPARED) return o->tries;
    if (most < COMPARED) return most;
    return COMPARED;
}

perp_status perp__plan_run_starts(perp_plan *plan, perp_plan_result *result)
{
    starts *s = calloc(1, sizeof *s);
    if (!s) return PERP_ERR_MEMORY;
    s->plan = plan;
    s->options = plan->options;
    s->best = result;
    s->tries = least_tries(plan);
    plan->attempt.n = 0;
    pthread_mutex_init(&s->lock, NULL);
    *result = (perp_plan_result){.outcome = PERP_PLAN_LIMIT};
    perp_status status = run_waves(s);
    plan->options = s->options;
    plan->iterations = s->iterations;
    plan->last.is_idle = s->is_idle;
    plan->stopped = s->stopped;
    if (status == PERP_OK) perp__plan_copy_answer(plan, plan, 0);
    if (s->stopped) result->outcome = PERP_PLAN_STOPPED;
    result->starts = s->taken;
    result->iterations = s->iterations;
    for (int i = 0; i < MOST; i++) {
        if (i > 0) perp_plan_destroy(s->slot[i].plan);
        free(s->slot[i].log);
    }
    pthread_mutex_destroy(&s->lock);
    free(s);
    return status;
}
