/* Paths are made real once, so that a link stays a link. What is being written is known to a signal
 * handler. */

#define _XOPEN_SOURCE 700 /* realpath */

#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40 };

/* The first n bytes of a, then b. */
static char *join(const char *a, size_t n, const char *b)
{
    size_t size = strlen(b) + 1;
    char *out = malloc(n + size);
    if (!out) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(out, a, n);
    memcpy(out + n, b, size);
    return out;
}

/* realpath in memory of our own; NULL: errno says why. */
static char *resolve(const char *path)
{
    char *found = realpath(path, NULL), *own = found ? join("", 0, found) : NULL;
    int error = errno;
    (free)(found);
    errno = error;
    return own;
}

/* "FOLDER/NAME", where the folder is that of `path`: the bytes up to and with its last slash. */
static char *beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    return join(path, slash ? (size_t)(slash - path) + 1 : 0, name);
}

/* A file that is not there, in a folder that is. */
static char *real_path_of_new(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *folder = beside(path, "."), *real = folder ? resolve(folder) : NULL;
    char *start = real ? join(real, strlen(real) > 1 ? strlen(real) : 0, "/") : NULL;
    char *out = start ? join(start, strlen(start), name) : NULL;
    free(folder);
    free(real);
    free(start);
    return out;
}

char *perp__real_path(const char *path)
{
    char *at = join("", 0, path);
    for (int i = 0; at && i < MOST_LINKS; i++) {
        char target[4096], *next;
        next = resolve(at);
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
        next = target[0] == '/' ? join("", 0, target) : beside(at, target);
        free(at);
        at = next;
    }
    int error = at ? ELOOP : ENOMEM;
    free(at);
    errno = error;
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

/* Temporary files ------------------------------------------------------------------------------ */

/* The names of those that may be there: what a signal handler removes. Who takes a name out owns
 * it. */
enum { MOST_PARTS = 64 };
static _Atomic(char *) parts[MOST_PARTS];

int perp__output_know(char *path)
{
    int place = 0;
    for (; path && place < MOST_PARTS; place++) {
        char *none = NULL;
        if (atomic_compare_exchange_strong(&parts[place], &none, path)) return place;
    }
    return MOST_PARTS; /* it is not known, and stays after a signal */
}

/* While a handler has the name it is not freed: the process is about to end. */
void perp__output_forget(char *path, int place)
{
    char *part = path;
    if (!path || place == MOST_PARTS || atomic_compare_exchange_strong(&parts[place], &part, NULL))
        free(path);
}

static atomic_long group;
static void (*_Atomic end_of_group)(long);

void perp__output_by(long id, void (*end)(long))
{
    if (end) atomic_store(&end_of_group, end);
    atomic_store(&group, id);
}

static void forget_part(perp__output *o)
{
    perp__output_forget(o->part, o->place);
    o->part = NULL;
}

void perp_file_abandon(void)
{
    int error = errno;
    long by = atomic_load(&group);
    void (*end)(long) = atomic_load(&end_of_group);
    if (by > 1 && end) end(by);
    for (int i = 0; i < MOST_PARTS; i++) {
        char *part = atomic_exchange(&parts[i], NULL), *none = NULL; /* no thread frees it now */
        if (!part) continue;
        unlink(part);
        atomic_compare_exchange_strong(&parts[i], &none, part);
    }
    errno = error;
}

/* Writing -------------------------------------------------------------------------------------- */

static void clear(perp__output *o)
{
    forget_part(o);
    free(o->real);
    free(o->partial);
    *o = (perp__output){0};
}

/* Open a new file beside `real` whose name is put at o->part; -1: errno says why not. */
static int open_part(perp__output *o)
{
    enum { MOST = 10000, SHOWN = 200 };
    const char *name = strrchr(o->real, '/') + 1;
    char part[SHOWN + 64];
    int fd = -1;
    for (int k = 0; fd < 0 && k < MOST; k++) {
        snprintf(part, sizeof part, "%.*s.%ld-%d.part", SHOWN, name, (long)getpid(), k);
        forget_part(o);
        o->part = beside(o->real, part);
        if (!o->part) return -1;
        o->place = perp__output_know(o->part); /* before it is there */
        fd = open(o->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST) return -1;
    }
    return fd;
}

/* The owner, as far as that is permitted, and then the mode of the file that is replaced. */
static void take_over(int fd, const struct stat *before)
{
    int is_ours = fchown(fd, before->st_uid, before->st_gid) == 0 ||
                  fchown(fd, (uid_t)-1, before->st_gid) == 0;
    fchmod(fd, before->st_mode & (is_ours ? 0777 : 0707)); /* no rights to another group */
}

static int open_beside(perp__output *o, const char *path, const struct stat *before)
{
    o->real = perp__real_path(path);
    if (!o->real || (before && access(o->real, W_OK) != 0)) return 0;
    o->partial = join(o->real, strlen(o->real), ".partial");
    int fd = o->partial ? open_part(o) : -1;
    if (fd < 0) return 0;
    if (before) take_over(fd, before);
    o->file = fdopen(fd, "w");
    if (o->file) return 1;
    int error = errno;
    close(fd);
    remove(o->part);
    errno = error;
    return 0;
}

static int open_in_place(perp__output *o, const char *path)
{
    o->partial = join("", 0, path);
    if (o->partial) o->file = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    return o->file != NULL;
}

int perp__output_open(perp__output *o, const char *path, int in_place)
{
    struct stat before;
    *o = (perp__output){0};
    int is_there = stat(path, &before) == 0;
    if (strcmp(path, "-") == 0 || (is_there && !S_ISREG(before.st_mode))) in_place = 1;
    if (in_place ? open_in_place(o, path) : open_beside(o, path, is_there ? &before : NULL))
        return 1;
    int error = errno;
    clear(o);
    errno = error;
    return 0;
}

/* Flush and close. Returns 0: it could not be written, errno says why. A name that replaces another
 * is given only to bytes that are on the disc. */
static int finish(perp__output *o, perp__output_end end)
{
    errno = 0;
    int ok = !ferror(o->file);
    if (fflush(o->file) != 0) ok = 0;
    int is_kept = o->part && end != PERP__DISCARD && !o->is_brief;
    if (ok && is_kept && fsync(fileno(o->file)) != 0 && errno != EINVAL && errno != ENOSYS) ok = 0;
    int error = errno;
    if (o->file != stdout && fclose(o->file) != 0 && ok) {
        ok = 0;
        error = errno;
    }
    errno = error;
    return ok;
}

/* The name, or none. */
static int settle(perp__output *o, int is_kept, perp__output_end end)
{
    int ok = 1;
    if (o->part && is_kept) ok = rename(o->part, end == PERP__PARTIAL ? o->partial : o->real) == 0;
    int error = errno;
    if (o->part && !(is_kept && ok)) remove(o->part);
    clear(o);
    errno = error;
    return ok;
}

int perp__output_close_all(perp__output *o, int n, perp__output_end end)
{
    int ok = 1, error = 0;
    for (int i = 0; i < n; i++)
        if (!finish(&o[i], end) && ok) {
            ok = 0;
            error = errno;
        }
    int is_kept = ok && end != PERP__DISCARD;
    for (int i = 0; i < n; i++)
        if (!settle(&o[i], is_kept, end) && ok) {
            ok = 0;
            error = errno;
        }
    errno = error;
    return ok;
}

int perp__output_close(perp__output *o, perp__output_end end)
{
    return perp__output_close_all(o, 1, end);
}

int perp__output_keep(const char *path)
{
    struct stat is;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0 || (fstat(fd, &is) == 0 && S_ISREG(is.st_mode))) return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

int perp__output_claim(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return fd >= 0 && close(fd) == 0;
}

int perp__output_quoted(FILE *file, const char *text)
{
    int ok = fputc('"', file) != EOF;
    for (; ok && *text; text++)
        ok = (*text != '"' || fputc('"', file) != EOF) &&
             fputc(*text == '\n' || *text == '\r' ? ' ' : *text, file) != EOF;
    return ok && fputc('"', file) != EOF;
}

perp_status perp__cannot_write(perp_diag *diag, const char *path)
{
    int error = errno ? errno : EIO;
    if (error == ENOMEM) return perp__out_of_memory(diag, path);
    return perp__refuse(diag, PERP_ERR_FILE, perp__in(path), "cannot be written: %s\n",
                        strerror(error));
}

perp_status perp_file_write(const char *path, const char *text, size_t length, perp_diag *diag)
{
    perp__output o;
    if (!path || !text) return PERP_ERR_ARG;
    const char *name = strcmp(path, "-") == 0 ? "standard output" : path;
    if (!perp__output_open(&o, path, 0)) return perp__cannot_write(diag, name);
    errno = 0;
    int ok = fwrite(text, 1, length, o.file) == length, error = errno;
    if (perp__output_close(&o, ok ? PERP__REPLACE : PERP__DISCARD) && ok) return PERP_OK;
    if (!ok) errno = error;
    return perp__cannot_write(diag, name);
}
