/* Preloaded by scripts/torture: the allocation number PERP_FAIL_AT fails, counted from 1, with PERP_FAIL_ALL all after it as well; the number of them and whose it was (perp: the
 * command itself and what it calls for its own data; library: IPOPT, MUMPS, BLAS and their like) go to the file PERP_FAIL_LOG.
 * PERP_FAIL_SITES: a file for the number of the first allocation of each call stack. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *(*real_malloc)(size_t), *(*real_calloc)(size_t, size_t), *(*real_realloc)(void *, size_t);
static atomic_long count;
static long fail_at;
static const char *whose = "none";
static int is_counting, is_lasting;

/* dlsym may allocate before the real functions are known. */
static char first_bytes[1 << 16];
static size_t first_used;

static void *first(size_t size)
{
    void *p = first_bytes + first_used;
    first_used += (size + 15) / 16 * 16;
    if (first_used > sizeof first_bytes) _exit(99);
    return p;
}

static int is_first(const void *p)
{
    return (const char *)p >= first_bytes && (const char *)p < first_bytes + sizeof first_bytes;
}

static void find_real(void)
{
    static int is_finding;
    if (real_realloc || is_finding) return;
    is_finding = 1;
    *(void **)&real_malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&real_calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&real_realloc = dlsym(RTLD_NEXT, "realloc");
    is_finding = 0;
}

static int is_own(const void *caller)
{
    static const char *const own[] = {"/perp", "/libc.so", "/libcjson."};
    Dl_info info;
    if (!dladdr(caller, &info)) return 0;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strstr(info.dli_fname, own[i]) || strcmp(info.dli_fname, "perp") == 0) return 1;
    return 0;
}

/* Call stacks that were there already, by a hash of their innermost frames: 0 is an empty place. */
enum { FRAMES = 18, STACKS = 1 << 18 }; /* two or three frames are of this file */
static unsigned long long stack_hash[STACKS];
static FILE *sites;

static void note_site(long k)
{
    static _Thread_local int is_inside; /* what the unwinder itself allocates */
    if (!sites || is_inside) return;
    is_inside = 1;
    void *frame[FRAMES];
    int n = backtrace(frame, FRAMES);
    unsigned long long hash = 14695981039346656037ULL;
    for (int i = 0; i < n; i++) hash = (hash ^ (size_t)frame[i]) * 1099511628211ULL;
    hash |= 1;
    size_t at = hash >> 20 & (STACKS - 1);
    for (int i = 0; stack_hash[at] && stack_hash[at] != hash && i < STACKS; i++)
        at = (at + 1) & (STACKS - 1);
    if (!stack_hash[at]) {
        stack_hash[at] = hash;
        fprintf(sites, "%ld\n", k);
    }
    is_inside = 0;
}

static int fails(const void *caller)
{
    if (!is_counting) return 0;
    long k = atomic_fetch_add(&count, 1) + 1;
    note_site(k);
    if (k != fail_at && !(is_lasting && fail_at > 0 && k > fail_at)) return 0;
    if (k == fail_at) whose = is_own(caller) ? "perp" : "library";
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    find_real();
    if (!real_malloc) return first(size);
    return fails(__builtin_return_address(0)) ? NULL : real_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    find_real();
    if (!real_calloc) return first(n * size);
    return fails(__builtin_return_address(0)) ? NULL : real_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    find_real();
    if (is_first(old)) {
        void *p = malloc(size);
        return p ? memcpy(p, old, size) : NULL;
    }
    return fails(__builtin_return_address(0)) ? NULL : real_realloc(old, size);
}

/* From the start of the program, not of the loader. */
__attribute__((constructor)) static void start(void)
{
    const char *k = getenv("PERP_FAIL_AT");
    find_real();
    fail_at = k ? atol(k) : 0;
    is_lasting = getenv("PERP_FAIL_ALL") != NULL;
    const char *path = getenv("PERP_FAIL_SITES");
    void *frame[1];
    if (path) backtrace(frame, 1); /* its first call loads a library */
    sites = path ? fopen(path, "we") : NULL;
    is_counting = 1;
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("PERP_FAIL_LOG");
    char line[64];
    is_counting = 0;
    if (sites) fclose(sites);
    int n = snprintf(line, sizeof line, "%ld %s\n", atomic_load(&count), whose);
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
    if (fd < 0 || write(fd, line, (size_t)n) != n) return;
    close(fd);
}
