/* Processes that have a folder in common: each writes its words into one file there and reads
 * those of the others. A word counts once its sum holds. The files keep all words: a process
 * that takes the place of a dead one does its work again, and hears again what the dead one
 * heard. */

#include "external/ranks.h"

#include "base/base.h"
#include "base/hash.h"
#include "base/input.h"
#include "base/output.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 1024 };

/* Before the bytes of a word: how many, and a sum over the word's number, n and the bytes. */
typedef struct heading {
    uint64_t n, sum;
} heading;

static struct {
    char path[ROOM - 64];
    int shard, shards;
    int file;        /* of my words, locked while this process lives */
    uint64_t word;   /* the number of the next word */
    uint64_t before; /* words of mine that a dead process said */
    long long *at;   /* per shard: where its next word begins */
    double synced;   /* when my words were last known to be on the disc, by perp__now */
    perp_ranks_wait wait;
    void *context;
    int is_over;     /* no more words are exchanged */
    char fault[128]; /* the reason; "": another process has ended */
} here;

static const char *name_of_words(int shard, char room[ROOM])
{
    snprintf(room, ROOM, "%s/words-%d-of-%d", here.path, shard + 1, here.shards);
    return room;
}

static const char *name_of_end(char room[ROOM])
{
    snprintf(room, ROOM, "%s/ended", here.path);
    return room;
}

static int fail(const char *fault)
{
    if (!here.fault[0]) snprintf(here.fault, sizeof here.fault, "%s", fault);
    return 0;
}

static int fail_to_write(void)
{
    char text[sizeof here.fault];
    snprintf(text, sizeof text, "its words cannot be written: %s", strerror(errno));
    return fail(text);
}

/* Words in files ------------------------------------------------------------------------------- */

static uint64_t add_to_sum(uint64_t sum, const void *bytes, size_t n)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < n; i++) sum = perp__hash_byte(sum, byte[i]);
    return sum;
}

static uint64_t begin_sum(uint64_t word, uint64_t n)
{
    return add_to_sum(add_to_sum(PERP__HASH_OF_NOTHING, &word, sizeof word), &n, sizeof n);
}

/* 0: there are fewer bytes. */
static int read_at(int file, long long at, void *bytes, size_t n)
{
    for (char *to = bytes; n;) {
        ssize_t got = pread(file, to, n, at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return 0;
        to += got;
        at += got;
        n -= (size_t)got;
    }
    return 1;
}

/* The bytes of one of my words are written; where they are `expected` (nullable), if they are. */
static int is_whole(long long at, heading h, uint64_t word, const char *expected)
{
    char part[4096];
    uint64_t sum = begin_sum(word, h.n);
    for (uint64_t i = 0; i < h.n;) {
        size_t n = h.n - i < sizeof part ? (size_t)(h.n - i) : sizeof part;
        if (!read_at(here.file, at + (long long)i, part, n)) return 0;
        if (expected && memcmp(expected + i, part, n) != 0) return 0;
        sum = add_to_sum(sum, part, n);
        i += n;
    }
    return sum == h.sum;
}

/* Count the words that a dead process said. What is behind the last whole one goes. */
static int find_before(void)
{
    long long at = 0;
    heading h;
    here.before = 0;
    while (read_at(here.file, at, &h, sizeof h) &&
           is_whole(at + (long long)sizeof h, h, here.before, NULL)) {
        at += (long long)(sizeof h + h.n);
        here.before++;
    }
    return ftruncate(here.file, at) == 0;
}

static int write_all(const void *bytes, size_t n)
{
    long long *at = &here.at[here.shard];
    for (const char *from = bytes; n;) {
        ssize_t given = pwrite(here.file, from, n, *at);
        if (given < 0 && errno == EINTR) continue;
        if (given < 0) return fail_to_write();
        from += given;
        *at += given;
        n -= (size_t)given;
    }
    return 1;
}

/* At intervals, and at the end. */
static int keep_on_disc(double interval)
{
    double now = perp__now();
    if (now < here.synced + interval) return 1;
    here.synced = now;
    return fsync(here.file) == 0 || errno == EINVAL ? 1 : fail_to_write();
}

/* A word of a dead process that this one says again: it is the same. */
static int say_again(const void *bytes, size_t n)
{
    heading h;
    long long *at = &here.at[here.shard];
    if (!read_at(here.file, *at, &h, sizeof h) || h.n != n ||
        !is_whole(*at + (long long)sizeof h, h, here.word, bytes))
        return fail("the process before this one came to other numbers: its options, data or "
                    "machine differ");
    *at += (long long)(sizeof h + n);
    return 1;
}

static int say(const void *bytes, size_t n)
{
    const double INTERVAL = 5; /* [s] */
    heading h = {.n = n, .sum = add_to_sum(begin_sum(here.word, n), bytes, n)};
    if (here.word < here.before) return say_again(bytes, n);
    return write_all(&h, sizeof h) && write_all(bytes, n) && keep_on_disc(INTERVAL);
}

/* The next word of a shard. 0: it is not there yet; -1: it has another length. */
static int read_word(int shard, void *bytes, size_t n)
{
    char room[ROOM];
    const char *why;
    int file, found = 0;
    heading h;
    long long *at = &here.at[shard];
    if (perp__input_descriptor(name_of_words(shard, room), PERP__REGULAR, SIZE_MAX, &file, &why) !=
        PERP_OK)
        return errno == ENOENT || errno == ESTALE ? 0 : -1;
    if (read_at(file, *at, &h, sizeof h) && h.sum) {
        if (h.n != n)
            found = -1;
        else if (read_at(file, *at + (long long)sizeof h, bytes, n))
            found = add_to_sum(begin_sum(here.word, n), bytes, n) == h.sum;
    }
    close(file);
    if (found == 1) *at += (long long)(sizeof h + n);
    return found;
}

static void rest(double seconds)
{
    const struct timespec t = {0, (long)(1e9 * seconds)};
    nanosleep(&t, NULL);
}

/* 0: the run has ended, the caller does not want to wait, or the word has another length. */
static int hear(int from, void *bytes, size_t n)
{
    const double LONGEST = 0.05; /* [s] */
    char room[ROOM];
    double begun = perp__now();
    for (;;) {
        int found = read_word(from, bytes, n);
        if (found > 0) return 1;
        if (found < 0)
            return fail("another process says something else: its options or data differ");
        double waited = perp__now() - begun;
        if (access(name_of_end(room), F_OK) == 0 ||
            (here.wait && here.wait(here.context, from, waited)))
            return 0;
        rest(waited < 8 * LONGEST ? 1e-4 + waited / 8 : LONGEST);
    }
}

/* What the processes say ----------------------------------------------------------------------- */

/* All have said the word and heard it, or this process says no more. */
static int go_on(int ok)
{
    here.word += ok != 0;
    here.is_over |= !ok;
    return ok;
}

static int gather(double *values, const int *count, const int *begin)
{
    int me = here.shard,
        ok = !here.is_over && say(values + begin[me], (size_t)count[me] * sizeof *values);
    for (int i = 0; i < here.shards && ok; i++)
        if (i != me) ok = hear(i, values + begin[i], (size_t)count[i] * sizeof *values);
    return go_on(ok);
}

static int say_value(int *value)
{
    if (here.word < here.before) return read_word(here.shard, value, sizeof *value) == 1;
    return say(value, sizeof *value);
}

/* A value may come from outside, as a Ctrl-C: that of a dead process holds. */
static int most(int *value)
{
    int ok = !here.is_over && say_value(value), other;
    for (int i = 0; i < here.shards && ok; i++) {
        if (i == here.shard) continue;
        ok = hear(i, &other, sizeof other);
        if (ok && other > *value) *value = other;
    }
    return go_on(ok);
}

static int send(int to, const void *bytes, int n)
{
    (void)to;
    (void)bytes;
    (void)n;
    return 0; /* to one alone: not here */
}

static int probe(int *from, int *n)
{
    (void)from;
    (void)n;
    return 0;
}

static int receive(int from, void *bytes, int n)
{
    (void)from;
    (void)bytes;
    (void)n;
    return 0;
}

/* Begin and end -------------------------------------------------------------------------------- */

static void let_go(void)
{
    if (here.file >= 0) close(here.file);
    free(here.at);
    here.file = -1;
    here.at = NULL;
}

static void clear_folder(void)
{
    char room[ROOM];
    remove(name_of_end(room));
    for (int i = 0; i < here.shards; i++) remove(name_of_words(i, room));
    rmdir(here.path);
}

/* At once by another name: a process that dies here leaves the whole folder, by which it can be
 * resumed, or none. */
static void remove_folder(void)
{
    char was[sizeof here.path];
    strcpy(was, here.path);
    strncat(here.path, "~", sizeof here.path - strlen(here.path) - 1);
    clear_folder(); /* of such a process */
    if (rename(was, here.path) == 0) clear_folder();
}

/* The last word of the others says that they have heard all. Then the first one takes the folder
 * away. */
static int end(void)
{
    int ok = most(&(int){0}), is_first = here.shard == 0;
    if (ok && !is_first) ok = say("", 0);
    for (int i = 1; i < here.shards && ok && is_first; i++) ok = hear(i, "", 0);
    keep_on_disc(0);
    if (ok && is_first) remove_folder();
    let_go();
    return ok;
}

/* The others learn of it where they wait. But one that has not yet taken the place of a dead one
 * ends alone. */
static void abandon(int code)
{
    char room[ROOM];
    (void)code;
    here.is_over = 1;
    if (here.word >= here.before) perp__output_claim(name_of_end(room));
}

static const char *fault(void)
{
    return here.fault;
}

const perp__speech perp__speech_of_folder = {.end = end,
                                             .abort = abandon,
                                             .send = send,
                                             .probe = probe,
                                             .receive = receive,
                                             .gather = gather,
                                             .most = most,
                                             .fault = fault};

/* My words: a file that another process neither writes nor has written, or with `resume` one
 * that a dead process has. */
static perp_status open_words(int resume, perp_diag *diag)
{
    char room[ROOM];
    const char *path = name_of_words(here.shard, room);
    if (!resume && !perp__output_claim(path)) {
        if (errno != EEXIST) return perp__cannot_write(diag, path);
        return perp__refuse(diag, PERP_ERR_FILE, perp__in(here.path),
                            "%d of %d has begun here before: where that process is dead --resume "
                            "takes its place; another run needs the folder removed\n",
                            here.shard + 1, here.shards);
    }
    here.file = perp__output_keep(path);
    if (here.file < 0) return perp__cannot_write(diag, path);
    if (flock(here.file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return perp__refuse(diag, PERP_ERR_FILE, perp__in(here.path), "%d of %d is at work\n",
                            here.shard + 1, here.shards);
    return find_before() ? PERP_OK : perp__cannot_write(diag, path);
}

/* With `resume` an earlier end is forgotten. */
static perp_status open_folder(int resume, perp_diag *diag)
{
    char room[ROOM];
    if (mkdir(here.path, 0777) != 0 && errno != EEXIST) return perp__cannot_write(diag, here.path);
    perp_status status = open_words(resume, diag);
    if (status != PERP_OK) return status;
    if (resume) remove(name_of_end(room));
    if (access(name_of_end(room), F_OK) != 0) return PERP_OK;
    return perp__refuse(diag, PERP_ERR_FILE, perp__in(here.path),
                        "that run has ended: --resume goes on with it, another run needs the "
                        "folder removed\n");
}

perp_status perp__folder_begin(const char *path, int shard, int shards, int resume,
                               perp_ranks_wait wait, void *context, perp_diag *diag)
{
    if (strlen(path) + 1 >= sizeof here.path)
        return perp__refuse(diag, PERP_ERR_FILE, perp__in(path), "the path is too long\n");
    strcpy(here.path, path);
    here.shard = shard;
    here.shards = shards;
    here.wait = wait;
    here.context = context;
    here.file = -1;
    here.word = 0;
    here.is_over = 0;
    here.fault[0] = 0;
    here.synced = perp__now();
    here.at = calloc((size_t)shards, sizeof *here.at);
    perp_status status = here.at ? open_folder(resume, diag) : PERP_ERR_MEMORY;
    if (status != PERP_OK) let_go();
    return status;
}
