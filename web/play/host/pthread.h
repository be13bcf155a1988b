/* POSIX threads on a host that has one: locks are open, no thread starts. What asks for threads works in its own. */

#ifndef PERP_PLAY_PTHREAD_H
#define PERP_PLAY_PTHREAD_H

#include <errno.h>
#include <sys/types.h>

#define PTHREAD_MUTEX_INITIALIZER                                                                  \
    {                                                                                              \
        {                                                                                          \
            {                                                                                      \
                0                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

static inline int pthread_create(pthread_t *id, const pthread_attr_t *how, void *(*work)(void *),
                                 void *argument)
{
    (void)id, (void)how, (void)work, (void)argument;
    return EAGAIN;
}

static inline int pthread_join(pthread_t id, void **result)
{
    (void)id, (void)result;
    return EINVAL;
}

static inline int pthread_mutex_init(pthread_mutex_t *lock, const pthread_mutexattr_t *how)
{
    (void)lock, (void)how;
    return 0;
}

static inline int pthread_cond_init(pthread_cond_t *event, const pthread_condattr_t *how)
{
    (void)event, (void)how;
    return 0;
}

static inline int pthread_cond_wait(pthread_cond_t *event, pthread_mutex_t *lock)
{
    (void)event, (void)lock;
    return 0;
}

static inline int pthread_mutex_lock(pthread_mutex_t *lock)
{
    return (void)lock, 0;
}
static inline int pthread_mutex_unlock(pthread_mutex_t *lock)
{
    return (void)lock, 0;
}
static inline int pthread_mutex_destroy(pthread_mutex_t *lock)
{
    return (void)lock, 0;
}
static inline int pthread_cond_broadcast(pthread_cond_t *event)
{
    return (void)event, 0;
}
static inline int pthread_cond_destroy(pthread_cond_t *event)
{
    return (void)event, 0;
}

#endif
