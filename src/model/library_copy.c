/* Files of perp's own library for editors, which open files: copies in the user's cache folder,
 * read-only, made when one is asked for. */

#include "base/base.h"
#include "base/input.h"
#include "external/compiler.h"

#include "perp/outline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int is_there(const char *path, const perp_outline_file *file)
{
    char *text = NULL;
    const char *why;
    size_t n;
    int same = perp__input_read(path, PERP__REGULAR, file->length, 0, &text, &n, &why) == PERP_OK &&
               n == file->length && memcmp(text, file->text, n) == 0;
    free(text);
    return same;
}

static int write_copy(const char *path, const perp_outline_file *file)
{
    return perp_file_write(path, file->text, file->length, NULL) == PERP_OK &&
           chmod(path, 0444) == 0;
}

char *perp_library_copy(const perp_outline_file *file)
{
    if (!file || !file->is_library) return NULL;
    char folder[PERP__FOLDER_ROOM];
    const char *slash = strrchr(file->name, '/'), *name = slash ? slash + 1 : file->name;
    if (perp__cache_folder(folder, NULL) != PERP_OK) return NULL;
    size_t room = strlen(folder) + strlen(perp_version()) + strlen(name) + 16;
    char *path = malloc(room);
    if (!path) return NULL;
    int n = snprintf(path, room, "%s/lib-%s", folder, perp_version());
    int ok = mkdir(path, 0700) == 0 || errno == EEXIST;
    snprintf(path + n, room - (size_t)n, "/%s", name);
    if (ok && (is_there(path, file) || write_copy(path, file)))
        return perp__hand_over(path);
    free(path);
    return NULL;
}
