#define _XOPEN_SOURCE 700 /* realpath */

#include "base/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40 };

/* "FOLDER/NAME", where the folder is that of `path`: the bytes up to and with its last slash. */
static char *beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0, size = strlen(name) + 1;
    char *out = malloc(n + size);
    if (!out) return NULL;
    memcpy(out, path, n);
    memcpy(out + n, name, size);
    return out;
}

/* A file that is not there, in a folder that is. */
static char *real_path_of_new(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *folder = beside(path, "."), *real = folder ? realpath(folder, NULL) : NULL, *out = NULL;
    if (real && (out = malloc(strlen(real) + strlen(name) + 2)) != NULL) {
        strcpy(out, real);
        if (strcmp(real, "/") != 0) strcat(out, "/");
        strcat(out, name);
    }
    free(folder);
    free(real);
    return out;
}

char *perp__real_path(const char *path)
{
    char *at = beside("", path);
    for (int i = 0; at && i < MOST_LINKS; i++) {
        char target[4096], *next;
        next = realpath(at, NULL);
        if (next || errno != ENOENT) {
            free(at);
            return next;
        }
        ssize_t n = readlink(at, target, sizeof target - 1);
        if (n < 0) {
            next = real_path_of_new(at);
            free(at);
            return next;
        }
        target[n] = 0; /* a link to a file that is not there */
        next = beside(target[0] == '/' ? "" : at, target);
        free(at);
        at = next;
    }
    free(at);
    errno = at ? ELOOP : ENOMEM;
    return NULL;
}

/* The same name in the same folder, whatever the folder is called; both paths are real. */
static int is_same_name(const char *a, const char *b)
{
    struct stat x, y;
    char *folder_a = beside(a, "."), *folder_b = beside(b, ".");
    int same = folder_a && folder_b && strcmp(strrchr(a, '/'), strrchr(b, '/')) == 0 &&
               stat(folder_a, &x) == 0 && stat(folder_b, &y) == 0 && x.st_dev == y.st_dev &&
               x.st_ino == y.st_ino;
    free(folder_a);
    free(folder_b);
    return same;
}

int perp_file_is_same(const char *a, const char *b)
{
    struct stat x, y;
    if (!a || !b) return 0;
    int has_a = stat(a, &x) == 0, has_b = stat(b, &y) == 0;
    if (has_a || has_b) return has_a && has_b && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    char *real_a = perp__real_path(a), *real_b = perp__real_path(b);
    int same = real_a && real_b && is_same_name(real_a, real_b);
    free(real_a);
    free(real_b);
    return same;
}
