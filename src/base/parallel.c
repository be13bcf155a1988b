/* POSIX threads that take the next job from a common counter. */

#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { MOST = 256 };

typedef struct team {
    atomic_int next;
    int n;
    void (*job)(void *context, int thread, int i);
    void *context;
} team;

typedef struct member {
    team *of;
    int thread;
    pthread_t id;
} member;

static void *work(void *argument)
{
    const member *me = argument;
    team *of = me->of;
    for (int i; (i = atomic_fetch_add(&of->next, 1)) < of->n;) of->job(of->context, me->thread, i);
    return NULL;
}

int perp__processors(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    if (n < 1) return 1;
    if (n > MOST) return MOST;
    return (int)n;
}

void perp__parallel(int threads, int n, void (*job)(void *context, int thread, int i),
                    void *context)
{
    team t = {.n = n, .job = job, .context = context};
    member one[MOST];
    int started = 1;
    atomic_init(&t.next, 0);
    if (threads > n) threads = n;
    if (threads > MOST) threads = MOST;
    one[0] = (member){.of = &t, .thread = 0};
    for (; started < threads; started++) {
        one[started] = (member){.of = &t, .thread = started};
        if (pthread_create(&one[started].id, NULL, work, &one[started]) != 0) break;
    }
    work(&one[0]);
    for (int i = 1; i < started; i++) pthread_join(one[i].id, NULL);
}
