#include "base/library.h"

#include "perp/base.h"

#include <dlfcn.h>
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

int perp__library_load(const char *name, size_t count, const perp__symbol *symbol)
{
    perp__library_enter(name);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL); /* which runs code of its own */
    perp__library_enter(NULL);
    if (!library) return 0;
    for (size_t i = 0; i < count; i++) {
        void *found = dlsym(library, symbol[i].name);
        if (!found) {
            dlclose(library);
            return 0;
        }
        memcpy(symbol[i].function, &found, sizeof found); /* C has no cast for this; POSIX has */
    }
    return 1;
}
