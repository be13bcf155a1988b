/* Where perp-fmu.so is: beside what runs now, or where it is installed. */

#define _GNU_SOURCE /* dladdr */
#include "export/export.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef PERP_FMU_PLACE /* from the folder of programs; the build says what it installs */
#define PERP_FMU_PLACE "../lib/perp/perp-fmu.so"
#endif

/* The file in the folder of `self`, if it is there. */
static int is_beside(const char *self, const char *name, char path[PERP__PATH_ROOM])
{
    const char *slash = strrchr(self, '/');
    struct stat found;
    int n =
        slash ? snprintf(path, PERP__PATH_ROOM, "%.*s/%s", (int)(slash - self), self, name) : -1;
    return n > 0 && n < PERP__PATH_ROOM && stat(path, &found) == 0;
}

const char *perp__fmu_library(char path[PERP__PATH_ROOM])
{
    char self[PERP__PATH_ROOM];
    Dl_info here;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) self[n] = 0;
    if (n > 0 && (is_beside(self, "perp-fmu.so", path) || is_beside(self, PERP_FMU_PLACE, path)))
        return path;
    static const char anything; /* of libperp.so, where there is one */
    if (dladdr(&anything, &here) && here.dli_fname &&
        is_beside(here.dli_fname, "perp/perp-fmu.so", path))
        return path;
    return NULL;
}
