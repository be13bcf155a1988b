/* Modules of perp beside the command or where they are installed. Their version is that of the
 * library, or they are not taken. */

#ifdef __SANITIZE_ADDRESS__
#define _GNU_SOURCE /* dladdr, RTLD_NEXT */
#endif
#include "external/plugin.h"

#include "base/installed.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* PERP_OK: the module loads, and is of this version of perp. *why: what the loader said, or we
 * say. */
static perp_status look(const char *path, const char **why)
{
    const char *version = NULL;
    const perp__library_symbol symbol = {"perp_plugin_version", &version};
    int state = 0;
    perp_status status = perp__library_load(path, 1, &symbol, &state);
    *why = status == PERP_ERR_UNAVAILABLE ? dlerror() : "it is of another version of perp";
    if (status == PERP_OK && strcmp(version, perp_version()) != 0) status = PERP_ERR_UNAVAILABLE;
    return status;
}

perp_status perp__plugin_load(const char *name, const char *package, size_t count,
                              const perp__library_symbol *symbol, int *state, perp_diag *diag)
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

#ifdef __SANITIZE_ADDRESS__
/* Modules of MPI stay, so that what they keep has their names. What perp itself closes is
 * closed. */
__attribute__((visibility("default"))) int dlclose(void *module)
{
    static const char here = 0;
    Dl_info caller, own;
    int (*closes)(void *);
    void *found = dlsym(RTLD_NEXT, "dlclose");
    int is_ours = dladdr(__builtin_return_address(0), &caller) && dladdr(&here, &own) &&
                  caller.dli_fbase == own.dli_fbase;
    memcpy(&closes, &found, sizeof closes);
    return is_ours && found ? closes(module) : 0;
}

/* The checker's account of what it was told to leave would be read as an answer. */
__attribute__((visibility("default"))) const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
    return "print_suppressions=0";
}

/* Memory that MPI and PETSc keep to the end of a process is no leak of ours. Nor is that of
 * vasprintf, which we never call and where the checker sees no caller. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libmpi\nleak:libopen-pal\nleak:libopen-rte\nleak:libpmix\nleak:libprrte\nleak:mca_"
           "\nleak:libhwloc\nleak:libevent\n"
           "leak:libpetsc\nleak:libfabric\nleak:libucs\nleak:libucp\nleak:libuct\nleak:"
           "libucm\nleak:libibverbs\nleak:libpsm\n"
           "leak:vasprintf\nleak:libopencl\nleak:libOpenCL\nleak:libpciaccess\nleak:libcuda\nleak:"
           "libnl\nleak:librdmacm\n";
}
#endif
