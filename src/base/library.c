#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

int perp__library_load(const char *name, size_t count, const perp__symbol *symbol)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
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
