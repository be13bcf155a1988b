/* Where the parts of perp are that are files of their own. */

#define _GNU_SOURCE /* dladdr */
#include "base/installed.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef PERP_MODULE_PLACE /* from the folder of programs; the build says what it installs */
#define PERP_MODULE_PLACE "../lib/perp"
#endif

/* The file in the folder of `self` or, as "/FOLDER", below it, if it is there. */
static int is_beside(const char *self, const char *folder, const char *name,
                     char path[PERP__PATH_ROOM])
{
    const char *slash = strrchr(self, '/');
    struct stat found;
    int n = slash ? snprintf(path, PERP__PATH_ROOM, "%.*s%s/%s", (int)(slash - self), self, folder,
                             name)
                  : -1;
    return n > 0 && n < PERP__PATH_ROOM && stat(path, &found) == 0;
}

const char *perp__installed(const char *name, char path[PERP__PATH_ROOM])
{
    char self[PERP__PATH_ROOM];
    Dl_info here;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) self[n] = 0;
    if (n > 0 &&
        (is_beside(self, "", name, path) || is_beside(self, "/" PERP_MODULE_PLACE, name, path)))
        return path;
    static const char anything; /* of libperp.so, where there is one */
    if (dladdr(&anything, &here) && here.dli_fname && here.dli_fname[0] == '/' &&
        (is_beside(here.dli_fname, "", name, path) ||
         is_beside(here.dli_fname, "/perp", name, path)))
        return path;
    return NULL;
}
