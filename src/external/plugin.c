/* Modules of perp beside the command or where they are installed; their version is that of the library, or they are not taken. */

#include "external/plugin.h"

#include "base/installed.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* PERP_OK: the module loads, and is of this version of perp. *why: what the loader said, or we say. */
static perp_status look(const char *path, const char **why)
{
    const char *version = NULL;
    const perp__symbol symbol = {"perp_plugin_version", &version};
    int state = 0;
    perp_status status = perp__library_load(path, 1, &symbol, &state);
    *why = status == PERP_ERR_UNAVAILABLE ? dlerror() : "it is of another version of perp";
    if (status == PERP_OK && strcmp(version, perp_version()) != 0) status = PERP_ERR_UNAVAILABLE;
    return status;
}

perp_status perp__plugin_load(const char *name, const char *package, size_t count,
                              const perp__symbol *symbol, int *state, perp_diag *diag)
{
    char file[64], path[PERP__PATH_ROOM];
    const char *why;
    snprintf(file, sizeof file, "libperp-%s.so", name);
    if (!perp__installed(file, path))
        return perp__refuse(diag, PERP_ERR_UNAVAILABLE, perp__in(NULL),
                            "%s is not there: a build of perp makes it where %s is installed\n",
                            file, package);
    perp_status status = look(path, &why);
    if (status == PERP_OK) status = perp__library_load(path, count, symbol, state);
    if (status != PERP_ERR_UNAVAILABLE) return status;
    return perp__refuse(diag, status, perp__in(path),
                        "cannot be used: %s; it needs %s and perp %s\n",
                        why ? why : "it does not load", package, perp_version());
}
