/* A library is known by 128 bits of its text, the compiler's version and its options, in its name and again inside. It is written
 * under another name, and renamed. */

#define _XOPEN_SOURCE 700 /* mkdtemp, lstat */

#include "external/compiler.h"

#include "base/hash.h"
#include "base/input.h"
#include "base/output.h"
#include "external/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

extern char **environ;

enum { VERSION_ROOM = 128, KEY_ROOM = 33 };

struct perp__compiled {
    void *library;
    char by[VERSION_ROOM];
};

/* What this machine's processor has more than all of its kind; "-w", which says nothing, where that is nothing. */
static const char *processor(void)
{
#if defined(__GNUC__) && defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return "-mavx2";
#endif
    return "-w";
}

enum { OPTIONS = 9 };

static void list_options(const char *option[OPTIONS])
{
    static const char *const all[] = {
        "-O1",
        "-fPIC",
        "-shared",
        "-w",
        "-ffp-contract=off",
        "-fno-math-errno",
        "-fno-builtin-sin", /* no sincos: it need not agree to the last bit */
        "-fno-builtin-cos"};
    memcpy(option, all, sizeof all);
    option[OPTIONS - 1] = processor();
}

static const char *const compilers[] = {"cc", "tcc"};

/* A process ------------------------------------------------------------------------------------ */

/* Run it to its end; what it prints goes to the file `to`. Its exit status; -1: it could not be run. */
static int run(char *const *argument, const char *to)
{
    posix_spawn_file_actions_t files;
    pid_t child;
    int status = -1;
    if (posix_spawn_file_actions_init(&files) != 0) return -1;
    if (posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) == 0 &&
        posix_spawn_file_actions_addopen(&files, 1, to, O_WRONLY | O_CREAT | O_TRUNC, 0600) == 0 &&
        posix_spawn_file_actions_adddup2(&files, 1, 2) == 0 &&
        posix_spawnp(&child, argument[0], &files, NULL, argument, environ) == 0) {
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
        status = status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    posix_spawn_file_actions_destroy(&files);
    return status;
}

/* The first line of a file, without its end. */
static void first_line(const char *path, char *line, size_t size)
{
    FILE *file;
    const char *why;
    line[0] = 0;
    if (perp__input_open(path, PERP__REGULAR, SIZE_MAX, &file, &why) != PERP_OK) return;
    if (!fgets(line, (int)size, file)) line[0] = 0;
    line[strcspn(line, "\r\n")] = 0;
    perp__input_close(file);
}

/* Folders -------------------------------------------------------------------------------------- */

static perp_status no_folder(perp_diag *diag, const char *folder, const char *why)
{
    return perp__refuse(diag, PERP_ERR_UNAVAILABLE, perp__in(folder),
                        "compiled expressions are kept here: %s", why);
}

static int make_folder(const char *folder)
{
    return mkdir(folder, 0700) == 0 || errno == EEXIST;
}

perp_status perp__cache_folder(char folder[PERP__FOLDER_ROOM], perp_diag *diag)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int is_given = cache && cache[0] == '/';
    if (!is_given && !(home && home[0] == '/'))
        return no_folder(diag, NULL, "there is neither XDG_CACHE_HOME nor HOME");
    int n = is_given ? snprintf(folder, PERP__FOLDER_ROOM, "%s", cache)
                     : snprintf(folder, PERP__FOLDER_ROOM, "%s/.cache", home);
    if (n < 0 || n + 6 > PERP__FOLDER_ROOM)
        return no_folder(diag, NULL, "the name of the folder is too long");
    int ok = make_folder(folder);
    memcpy(folder + n, "/perp", 6);
    struct stat is;
    if (!ok || !make_folder(folder) || lstat(folder, &is) != 0)
        return no_folder(diag, folder, strerror(errno));
    if (!S_ISDIR(is.st_mode) || is.st_uid != geteuid() || (is.st_mode & 077))
        return no_folder(diag, folder,
                         "it must be a folder of your own that nobody else may enter (mode 0700)");
    return PERP_OK;
}

/* Keys ----------------------------------------------------------------------------------------- */

/* Two sums of FNV's kind, the second over what the first makes of each byte. */
typedef struct key {
    uint64_t a, b;
} key;

static void add_to_key(key *k, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        k->a = perp__hash_byte(k->a, (unsigned char)text[i]);
        k->b = (k->b ^ (k->a >> 29)) * UINT64_C(0x9e3779b97f4a7c15) + (unsigned char)text[i];
    }
}

static void write_key(const char *text, size_t length, const char *version, char name[KEY_ROOM])
{
    key k = {PERP__HASH_OF_NOTHING, (uint64_t)length};
    const char *option[OPTIONS];
    list_options(option);
    for (size_t i = 0; i < OPTIONS; i++) add_to_key(&k, option[i], strlen(option[i]) + 1);
    add_to_key(&k, version, strlen(version) + 1);
    add_to_key(&k, text, length);
    snprintf(name, KEY_ROOM, "%016" PRIx64 "%016" PRIx64, k.a, k.b);
}

/* What was kept, if it is what its name says. */
static void *open_library(const char *path, const char *name)
{
    void *library = perp__library_open(path);
    const char *inside = library ? dlsym(library, "perp_key") : NULL;
    if (inside && memcmp(inside, name, KEY_ROOM) == 0) return library;
    if (library) dlclose(library);
    return NULL;
}

/* A compilation -------------------------------------------------------------------------------- */

typedef struct work {
    char folder[PERP__FOLDER_ROOM + 16]; /* of its own, inside the cache */
    char c[PATH_MAX], so[PATH_MAX], log[PATH_MAX];
} work;

static int begin(work *w, const char *cache)
{
    snprintf(w->folder, sizeof w->folder, "%s/make-XXXXXX", cache);
    if (!mkdtemp(w->folder)) return 0;
    snprintf(w->c, sizeof w->c, "%s/code.c", w->folder);
    snprintf(w->so, sizeof w->so, "%s/code.so", w->folder);
    snprintf(w->log, sizeof w->log, "%s/log", w->folder);
    return 1;
}

static void end(const work *w)
{
    unlink(w->c), unlink(w->so), unlink(w->log);
    rmdir(w->folder);
}

/* The compiler that is there, and what it says of itself. NULL: none is. */
static const char *find_compiler(const work *w, char version[VERSION_ROOM])
{
    static const char *const asks[] = {"--version", "-v"};
    for (size_t i = 0; i < 2 * sizeof compilers / sizeof *compilers; i++) {
        const char *ask[] = {compilers[i / 2], asks[i % 2], NULL};
        if (run((char *const *)ask, w->log) != 0) continue;
        first_line(w->log, version, VERSION_ROOM);
        if (version[0]) return compilers[i / 2];
    }
    return NULL;
}

static int write_text(const work *w, const char *text, size_t length, const char *name)
{
    perp__output o;
    if (!perp__output_open(&o, w->c, 1)) return 0;
    int ok = fprintf(o.file, "const char perp_key[] = \"%s\";\n", name) > 0 &&
             fwrite(text, 1, length, o.file) == length;
    return perp__output_close(&o, PERP__REPLACE) && ok;
}

static int compile(const work *w, const char *compiler)
{
    const char *argument[OPTIONS + 6] = {compiler};
    list_options(argument + 1);
    argument[OPTIONS + 1] = "-o", argument[OPTIONS + 2] = w->so, argument[OPTIONS + 3] = w->c,
                       argument[OPTIONS + 4] = "-lm";
    return run((char *const *)argument, w->log) == 0;
}

/* Into the cache, and open. */
static void *make(const work *w, const char *compiler, const char *text, size_t length,
                  const char *name, const char *path, perp_diag *diag)
{
    char said[256];
    if (!write_text(w, text, length, name)) {
        no_folder(diag, w->c, strerror(errno));
        return NULL;
    }
    if (compile(w, compiler) && rename(w->so, path) == 0) {
        void *library = open_library(path, name);
        if (!library) no_folder(diag, path, "what the compiler made cannot be loaded");
        return library;
    }
    first_line(w->log, said, sizeof said);
    perp__refuse(diag, PERP_ERR_UNAVAILABLE, perp__in(NULL),
                 "%s does not compile the expressions%s%s", compiler, said[0] ? ": " : "", said);
    return NULL;
}

perp_status perp__compile(const char *text, size_t length, perp__compiled **compiled,
                          perp_diag *diag)
{
    char cache[PERP__FOLDER_ROOM], path[PATH_MAX], name[KEY_ROOM];
    work w;
    perp__compiled *made = *compiled = NULL;
    if (FLT_EVAL_METHOD != 0)
        return perp__refuse(diag, PERP_ERR_UNAVAILABLE, perp__in(NULL),
                            "this machine computes doubles with more digits than they have: "
                            "expressions are not compiled");
    perp_status status = perp__cache_folder(cache, diag);
    if (status != PERP_OK) return status;
    if (!(made = calloc(1, sizeof *made))) return PERP_ERR_MEMORY;
    if (!begin(&w, cache)) {
        free(made);
        return no_folder(diag, cache, strerror(errno));
    }
    const char *compiler = find_compiler(&w, made->by);
    if (compiler) {
        write_key(text, length, made->by, name);
        snprintf(path, sizeof path, "%s/%s.so", cache, name);
        made->library = open_library(path, name);
        if (!made->library) made->library = make(&w, compiler, text, length, name, path, diag);
    } else
        perp__refuse(diag, PERP_ERR_UNAVAILABLE, perp__in(NULL),
                     "there is no compiler: neither cc nor tcc");
    end(&w);
    if (made->library) {
        *compiled = made;
        return PERP_OK;
    }
    free(made);
    return PERP_ERR_UNAVAILABLE;
}

perp__compiled_function *perp__compiled_find(const perp__compiled *compiled, const char *name)
{
    perp__compiled_function *found;
    void *at = dlsym(compiled->library, name);
    memcpy(&found, &at, sizeof found); /* C has no cast for this; POSIX has */
    return found;
}

const char *perp__compiled_by(const perp__compiled *compiled)
{
    return compiled->by;
}

void perp__compiled_release(perp__compiled *compiled)
{
    if (!compiled) return;
    dlclose(compiled->library);
    free(compiled);
}
