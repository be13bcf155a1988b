/* Dynamic libraries on a host that has none. */

#ifndef PERP_PLAY_DLFCN_H
#define PERP_PLAY_DLFCN_H

#include <stddef.h>

enum { RTLD_NOW = 2, RTLD_LOCAL = 0 };

typedef struct Dl_info {
    const char *dli_fname;
} Dl_info;

static inline void *dlopen(const char *file, int how)
{
    (void)file, (void)how;
    return NULL;
}

static inline void *dlsym(void *library, const char *name)
{
    (void)library, (void)name;
    return NULL;
}

static inline int dladdr(const void *address, Dl_info *info)
{
    (void)address, (void)info;
    return 0;
}

static inline const char *dlerror(void)
{
    return NULL;
}

static inline int dlclose(void *library)
{
    return (void)library, 0;
}

#endif
