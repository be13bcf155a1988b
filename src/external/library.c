/* dlopen by versioned names, once for all threads; which library runs is kept for each thread. */

#include "external/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

static _Thread_local const char *running;

const char *perp_library_running(void)
{
    return running;
}

void perp__library_enter(const char *name)
{
    running = name;
}

/* A failing allocation leaves its mark in errno, which nothing that succeeds takes away. */
void perp__library_watch(void)
{
    errno = 0;
}

int perp__library_lacked_memory(void)
{
    return errno == ENOMEM;
}

static perp_status load(const char *name, size_t count, const perp__symbol *symbol)
{
    perp__library_enter(name);
    perp__library_watch();
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL); /* which runs code of its own */
    int lacked = perp__library_lacked_memory();
    perp__library_enter(NULL);
    if (!library) return lacked ? PERP_ERR_MEMORY : PERP_ERR_UNAVAILABLE;
    for (size_t i = 0; i < count; i++) {
        void *found = dlsym(library, symbol[i].name);
        if (!found) {
            dlclose(library);
            return PERP_ERR_UNAVAILABLE;
        }
        memcpy(symbol[i].function, &found, sizeof found); /* C has no cast for this; POSIX has */
    }
    return PERP_OK;
}

perp_status perp__library_load(const char *name, size_t count, const perp__symbol *symbol,
                               int *state)
{
    enum { IS_LOADED = 1, IS_NOT_THERE };
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one);
    perp_status status = *state == IS_LOADED      ? PERP_OK
                         : *state == IS_NOT_THERE ? PERP_ERR_UNAVAILABLE
                                                  : load(name, count, symbol);
    if (status == PERP_OK) *state = IS_LOADED;
    if (status == PERP_ERR_UNAVAILABLE) *state = IS_NOT_THERE;
    pthread_mutex_unlock(&one);
    return status;
}
