/* Shared libraries by absolute names, loaded once for all threads. Each thread knows which library
 * it runs. */

#include "external/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifndef PERP_LIBRARY_NAMES /* the build says what it found, and where */
#define PERP_LIBRARY_NAMES   ""
#define PERP_LIBRARY_FOLDERS "/usr/local/lib:/usr/lib64:/usr/lib:/lib"
#endif

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

/* The file in one of the absolute folders of a list "FOLDER:FOLDER". */
static int is_in(const char *folders, const char *name, char path[PERP__PATH_ROOM])
{
    while (folders && *folders) {
        int length = (int)strcspn(folders, ":");
        struct stat found;
        int n = *folders == '/' ? snprintf(path, PERP__PATH_ROOM, "%.*s/%s", length, folders, name)
                                : -1;
        if (n > 0 && n < PERP__PATH_ROOM && stat(path, &found) == 0 && S_ISREG(found.st_mode))
            return 1;
        folders += length + (folders[length] == ':');
    }
    return 0;
}

const char *perp__library_find(const char *name, char path[PERP__PATH_ROOM])
{
    return is_in(getenv("LD_LIBRARY_PATH"), name, path) || is_in(PERP_LIBRARY_FOLDERS, name, path)
               ? path
               : NULL;
}

/* The part `i` of a list "NAME:NAME", or NULL. */
static const char *part(const char *list, int i, int *length)
{
    for (; *list; list += *length + (list[*length] == ':')) {
        *length = (int)strcspn(list, ":");
        if (i-- == 0) return list;
    }
    return NULL;
}

perp_status perp_library_file(int i, char *name, size_t name_room, char *path, size_t path_room)
{
    static const char own[] = "libperp-mpi.so:libperp-petsc.so:perp-fmu.so";
    char file[64], found[PERP__PATH_ROOM];
    const char *place = NULL;
    int length, n = 0;
    if (i < 0 || !name || !path) return PERP_ERR_ARG;
    while (part(PERP_LIBRARY_NAMES, n, &length)) n++;
    const char *of = i < n ? part(PERP_LIBRARY_NAMES, i, &length) : part(own, i - n, &length);
    if (!of) return PERP_ERR_ARG;
    snprintf(file, sizeof file, "%.*s", length, of);
    place = i < n ? perp__library_find(file, found) : perp__installed(file, found);
    int is_short = (size_t)snprintf(name, name_room, "%s", file) >= name_room;
    is_short |= (size_t)snprintf(path, path_room, "%s", place ? place : "") >= path_room;
    return is_short ? PERP_ERR_DIM : PERP_OK;
}

void *perp__library_open(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static perp_status load(const char *name, size_t count, const perp__library_symbol *symbol)
{
    char path[PERP__PATH_ROOM];
    const char *place = *name == '/' ? name : perp__library_find(name, path);
    if (!place) return PERP_ERR_UNAVAILABLE;
    perp__library_enter(name);
    perp__library_watch();
    void *library = perp__library_open(place); /* which runs code of its own */
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

perp_status perp__library_load(const char *name, size_t count, const perp__library_symbol *symbol,
                               int *state)
{
    enum { IS_LOADED = 1, IS_NOT_THERE };
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one);
    perp_status status;
    if (*state == IS_LOADED)
        status = PERP_OK;
    else if (*state == IS_NOT_THERE)
        status = PERP_ERR_UNAVAILABLE;
    else
        status = load(name, count, symbol);
    if (status == PERP_OK) *state = IS_LOADED;
    if (status == PERP_ERR_UNAVAILABLE) *state = IS_NOT_THERE;
    pthread_mutex_unlock(&one);
    return status;
}
