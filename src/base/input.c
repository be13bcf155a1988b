/* Files are opened without waiting, looked at, and then read to their end or to the caller's
 * bound. */

#include "base/input.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static perp_status refuse(int error, const char **why)
{
    if (error == ENOMEM) return PERP_ERR_MEMORY;
    *why = error ? strerror(error) : "it cannot be read";
    return PERP_ERR_FILE;
}

static perp_status refuse_size(size_t most, const char **why)
{
    static _Thread_local char said[64];
    const size_t MEGA = (size_t)1 << 20;
    snprintf(said, sizeof said, "the file has more than %zu %s", most < MEGA ? most : most / MEGA,
             most < MEGA ? "bytes" : "MB");
    *why = said;
    return PERP_ERR_DATA;
}

/* Of a descriptor that was just opened. */
static perp_status look(int fd, perp__input_kind kind, size_t most, const char **why)
{
    struct stat is;
    if (fstat(fd, &is) != 0) return refuse(errno, why);
    if (S_ISREG(is.st_mode))
        return (unsigned long long)is.st_size > most ? refuse_size(most, why) : PERP_OK;
    if (kind == PERP__STREAM) return S_ISDIR(is.st_mode) ? refuse(EISDIR, why) : PERP_OK;
    *why = "it is no regular file";
    errno = EINVAL;
    return PERP_ERR_FILE;
}

perp_status perp__input_descriptor(const char *path, perp__input_kind kind, size_t most, int *fd,
                                   const char **why)
{
    /* without O_NONBLOCK a pipe is waited for, until somebody writes */
    const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | (kind == PERP__STREAM ? 0 : O_NONBLOCK);
    *fd = open(path, flags);
    if (*fd < 0) return refuse(errno, why);
    perp_status status = look(*fd, kind, most, why);
    if (status != PERP_OK) {
        close(*fd);
        *fd = -1;
    }
    return status;
}

perp_status perp__input_open(const char *path, perp__input_kind kind, size_t most, FILE **file,
                             const char **why)
{
    int fd;
    *file = NULL;
    if (kind == PERP__STREAM && strcmp(path, "-") == 0) {
        *file = stdin;
        return PERP_OK;
    }
    perp_status status = perp__input_descriptor(path, kind, most, &fd, why);
    if (status == PERP_OK && !(*file = fdopen(fd, "rb"))) {
        status = refuse(errno, why);
        close(fd);
    }
    return status;
}

void perp__input_close(FILE *file)
{
    if (file && file != stdin) fclose(file);
}

/* One byte more than `most` shows that there are more. The zero behind them has its own. */
static perp_status read_all(FILE *file, size_t most, int is_text, char **bytes, size_t *n,
                            const char **why)
{
    size_t capacity = 0, limit = most < SIZE_MAX ? most + 1 : most;
    int goes_on;
    do {
        if (*n == capacity) {
            capacity = capacity < limit / 2 ? 2 * capacity + 8192 : limit;
            if (capacity > limit) capacity = limit;
            char *more = realloc(*bytes, capacity + 1);
            if (!more) return PERP_ERR_MEMORY;
            *bytes = more;
        }
        errno = 0;
        size_t got = fread(*bytes + *n, 1, capacity - *n, file);
        if (ferror(file)) return refuse(errno, why);
        goes_on = !is_text || !memchr(*bytes + *n, 0, got);
        *n += got;
        if (*n > most) return refuse_size(most, why);
    } while (goes_on && !feof(file));
    (*bytes)[*n] = 0;
    return PERP_OK;
}

perp_status perp__input_read(const char *path, perp__input_kind kind, size_t most, int is_text,
                             char **bytes, size_t *n, const char **why)
{
    FILE *file;
    *bytes = NULL;
    *n = 0;
    perp_status status = perp__input_open(path, kind, most, &file, why);
    if (status == PERP_OK) status = read_all(file, most, is_text, bytes, n, why);
    perp__input_close(file);
    return status;
}

int perp__input_is_there(const char *path)
{
    struct stat is;
    return stat(path, &is) == 0 && S_ISREG(is.st_mode) && access(path, R_OK) == 0;
}
