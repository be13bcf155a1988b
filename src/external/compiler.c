/* A library is known by 128 bits of its text, the compiler's version and its options, in its name
 * and again inside. Behind its last byte stands a sum of all before: what a crash or a full disc
 * cut short is never loaded. */

#define _XOPEN_SOURCE 700 /* lstat */

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
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

extern char **environ;

enum { VERSION_ROOM = 128, KEY_ROOM = 33, LARGEST = 1 << 30 };

struct perp__compiled {
    void *library;
    char by[VERSION_ROOM];
};

/* What this machine's processor has more than all of its kind; "-w", which says nothing, where that
 * is nothing. */
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

/* Read a pipe to its end. The first line of it is kept, without its end. */
static void first_line(int from, char *line, size_t size)
{
    char rest[512];
    size_t n = 0;
    for (ssize_t got; (got = read(from, rest, sizeof rest)) != 0;) {
        if (got < 0 && errno != EINTR) break;
        for (ssize_t i = 0; i < got && n + 1 < size; i++) line[n++] = rest[i];
    }
    line[n] = 0;
    line[strcspn(line, "\r\n")] = 0;
}

/* Start it in a process group of its own, which a signal to this process ends. Returns 0: it could
 * not be started. */
static pid_t start(char *const *argument, int out)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    pid_t child = 0;
    if (posix_spawn_file_actions_init(&files) != 0) return 0;
    if (posix_spawnattr_init(&how) == 0) {
        if (posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP) != 0 ||
            posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) != 0 ||
            posix_spawn_file_actions_adddup2(&files, out, 1) != 0 ||
            posix_spawn_file_actions_adddup2(&files, out, 2) != 0 ||
            posix_spawnp(&child, argument[0], &files, &how, argument, environ) != 0)
            child = 0;
        posix_spawnattr_destroy(&how);
    }
    posix_spawn_file_actions_destroy(&files);
    return child;
}

/* SIGTERM lets a compiler remove its temporary files. SIGKILL follows. */
static void end_group(long by)
{
    const struct timespec pause = {0, 2000000};
    const int TRIES = 100;
    int is_ended = kill((pid_t)-by, SIGTERM) != 0;
    for (int i = 0; i < TRIES && !is_ended; i++) {
        siginfo_t info = {0};
        int code = waitid(P_PID, (id_t)by, &info, WEXITED | WNOHANG | WNOWAIT);
        is_ended = code != 0 || info.si_pid != 0;
        if (!is_ended) nanosleep(&pause, NULL);
    }
    kill((pid_t)-by, SIGKILL);
}

/* Run it to its end; `line` is the first that it prints. Its exit status; -1: it could not be
 * run. */
static int run(char *const *argument, char *line, size_t size)
{
    int ends[2], status = -1;
    line[0] = 0;
    if (pipe(ends) != 0) return -1;
    for (int i = 0; i < 2; i++) fcntl(ends[i], F_SETFD, FD_CLOEXEC); /* other processes */
    pid_t child = start(argument, ends[1]);
    perp__output_by(child, end_group);
    close(ends[1]);
    if (child) first_line(ends[0], line, size);
    close(ends[0]);
    while (child && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    perp__output_by(0, NULL);
    return child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
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

/* The sum that stands behind n bytes, as text. */
static void write_sum(const char *bytes, size_t n, char sum[KEY_ROOM])
{
    key k = {PERP__HASH_OF_NOTHING, n};
    add_to_key(&k, bytes, n);
    snprintf(sum, KEY_ROOM, "%016" PRIx64 "%016" PRIx64, k.a, k.b);
}

/* The file is this user's, nobody else may write to it, and it is as it was made. */
static int is_whole(const char *path)
{
    const char *why;
    char *bytes = NULL, sum[KEY_ROOM];
    size_t n = 0;
    struct stat is;
    int ok = lstat(path, &is) == 0 && S_ISREG(is.st_mode) && is.st_uid == geteuid() &&
             !(is.st_mode & 022) &&
             perp__input_read(path, PERP__REGULAR, LARGEST, 0, &bytes, &n, &why) == PERP_OK &&
             n > KEY_ROOM - 1;
    if (ok) write_sum(bytes, n - (KEY_ROOM - 1), sum);
    ok = ok && memcmp(bytes + n - (KEY_ROOM - 1), sum, KEY_ROOM - 1) == 0;
    free(bytes);
    return ok;
}

/* What was kept, if it is what its name says. */
static void *open_library(const char *path, const char *name)
{
    void *library = is_whole(path) ? perp__library_open(path) : NULL;
    const char *inside = library ? dlsym(library, "perp_key") : NULL;
    if (inside && memcmp(inside, name, KEY_ROOM) == 0) return library;
    if (library) dlclose(library);
    return NULL;
}

/* A compilation -------------------------------------------------------------------------------- */

/* Its files, in the cache: what the compiler reads and what it writes. */
typedef struct work {
    char *c, *so;
    int place[2]; /* where a signal finds them */
} work;

static char *name_in(const char *folder, int k, const char *suffix)
{
    char *name = malloc(PATH_MAX);
    if (name) snprintf(name, PATH_MAX, "%s/make-%ld-%d%s", folder, (long)getpid(), k, suffix);
    return name;
}

static void end(work *w)
{
    char *const file[2] = {w->c, w->so};
    for (int i = 0; i < 2; i++) {
        if (file[i]) unlink(file[i]);
        perp__output_forget(file[i], w->place[i]);
    }
}

static int begin(work *w, const char *cache)
{
    enum { MOST = 10000 };
    int k = 0, is_ours = 0;
    *w = (work){NULL, NULL, {0, 0}};
    for (; k < MOST && !is_ours; k++) {
        free(w->c);
        if (!(w->c = name_in(cache, k, ".c"))) break;
        is_ours = perp__output_claim(w->c);
        if (!is_ours && errno != EEXIST) break;
    }
    if (is_ours) w->so = name_in(cache, k - 1, ".so");
    if (!is_ours) free(w->c);
    if (!is_ours) return 0;
    w->place[0] = perp__output_know(w->c);
    w->place[1] = perp__output_know(w->so);
    if (!w->so) end(w);
    return w->so != NULL;
}

/* The available compiler, and its version text. NULL: there is none. */
static const char *find_compiler(char version[VERSION_ROOM])
{
    static const char *const asks[] = {"--version", "-v"};
    for (size_t i = 0; i < 2 * sizeof compilers / sizeof *compilers; i++) {
        const char *ask[] = {compilers[i / 2], asks[i % 2], NULL};
        if (run((char *const *)ask, version, VERSION_ROOM) == 0 && version[0])
            return compilers[i / 2];
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

static int compile(const work *w, const char *compiler, char *said, size_t size)
{
    const char *argument[OPTIONS + 6] = {compiler};
    list_options(argument + 1);
    argument[OPTIONS + 1] = "-o";
    argument[OPTIONS + 2] = w->so;
    argument[OPTIONS + 3] = w->c;
    argument[OPTIONS + 4] = "-lm";
    return run((char *const *)argument, said, size) == 0;
}

/* What the compiler made, with its sum, under its name. NULL, or why not. */
static const char *keep(const work *w, const char *path)
{
    const char *why = "what the compiler made cannot be loaded";
    char *bytes = NULL, sum[KEY_ROOM];
    size_t n = 0;
    perp__output o;
    struct stat is;
    int is_of_others = lstat(path, &is) == 0 && (!S_ISREG(is.st_mode) || is.st_uid != geteuid());
    if (is_of_others) unlink(path); /* a replaced file keeps its owner */
    perp_status status = perp__input_read(w->so, PERP__REGULAR, LARGEST, 0, &bytes, &n, &why);
    if (status == PERP_ERR_MEMORY) why = perp_status_message(status);
    int is_open = status == PERP_OK && perp__output_open(&o, path, 0);
    if (is_open) {
        write_sum(bytes, n, sum);
        int ok = fchmod(fileno(o.file), 0600) == 0 && fwrite(bytes, 1, n, o.file) == n &&
                 fputs(sum, o.file) >= 0;
        int error = errno;
        if (perp__output_close(&o, ok ? PERP__REPLACE : PERP__DISCARD) && ok) why = NULL;
        if (!ok) errno = error;
    }
    if (status == PERP_OK && why) why = strerror(errno ? errno : EIO);
    free(bytes);
    return why;
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
    if (compile(w, compiler, said, sizeof said)) {
        const char *why = keep(w, path);
        void *library = why ? NULL : open_library(path, name);
        if (!library) no_folder(diag, path, why ? why : "what the compiler made cannot be loaded");
        return library;
    }
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
    const char *compiler = find_compiler(made->by);
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
