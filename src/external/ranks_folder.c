/* Processes that have a folder in common: what one tells all others is a file there, whole from the
 * moment that it has its name. Who has heard a word of all knows that all have heard the word
 * before it; only then its own goes. */

#include "external/ranks.h"

#include "base/base.h"
#include "base/input.h"
#include "base/output.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 1024 };

static struct {
    char path[ROOM - 64];
    int shard, shards;
    long word; /* number of the next message */
    perp_ranks_wait wait;
    void *context;
} here;

/* Names ---------------------------------------------------------------------------------------- */

static const char *name_of_word(int shard, long word, char room[ROOM])
{
    snprintf(room, ROOM, "%s/%d-of-%d.%ld", here.path, shard + 1, here.shards, word);
    return room;
}

static const char *name_of(const char *what, int shard, char room[ROOM])
{
    snprintf(room, ROOM, "%s/%s-%d-of-%d", here.path, what, shard + 1, here.shards);
    return room;
}

static const char *name_of_end(char room[ROOM])
{
    snprintf(room, ROOM, "%s/ended", here.path);
    return room;
}

/* Words ---------------------------------------------------------------------------------------- */

static void rest(double seconds)
{
    const struct timespec t = {0, (long)(1e9 * seconds)};
    nanosleep(&t, NULL);
}

/* The file of another, once it is there. NULL: the run has ended, or the caller does not want to
 * wait. */
static FILE *open_of(int shard, const char *name)
{
    const double LONGEST = 0.05;
    char room[ROOM];
    const char *why;
    FILE *file;
    double begun = perp__now();
    while (perp__input_open(name, PERP__REGULAR, SIZE_MAX, &file, &why) != PERP_OK) {
        double waited = perp__now() - begun;
        if ((errno != ENOENT && errno != ESTALE) || access(name_of_end(room), F_OK) == 0 ||
            (here.wait && here.wait(here.context, shard, waited)))
            return NULL;
        rest(waited < 8 * LONGEST ? 1e-4 + waited / 8 : LONGEST);
    }
    return file;
}

/* 0: it cannot be had, or has another size. */
static int hear(int from, void *bytes, size_t n)
{
    char room[ROOM], more;
    FILE *file = open_of(from, name_of_word(from, here.word, room));
    if (!file) return 0;
    int ok = fread(bytes, 1, n, file) == n && fread(&more, 1, 1, file) == 0 && !ferror(file);
    fclose(file);
    return ok;
}

static int write_word(const char *path, const void *bytes, size_t n)
{
    perp__output o;
    if (!perp__output_open(&o, path, 0)) return 0;
    o.is_brief = 1;
    int ok = fwrite(bytes, 1, n, o.file) == n;
    return perp__output_close(&o, ok ? PERP__REPLACE : PERP__DISCARD) && ok;
}

static int say(const void *bytes, size_t n)
{
    char room[ROOM];
    return write_word(name_of_word(here.shard, here.word, room), bytes, n);
}

/* All have heard the word before this one. */
static void go_on(void)
{
    char room[ROOM];
    if (here.word > 0) remove(name_of_word(here.shard, here.word - 1, room));
    here.word++;
}

static int gather(double *values, const int *count, const int *begin)
{
    int me = here.shard, ok = say(values + begin[me], (size_t)count[me] * sizeof *values);
    for (int i = 0; i < here.shards && ok; i++)
        if (i != me) ok = hear(i, values + begin[i], (size_t)count[i] * sizeof *values);
    if (ok) go_on();
    return ok;
}

static int most(int *value)
{
    int ok = say(value, sizeof *value), other;
    for (int i = 0; i < here.shards && ok; i++) {
        if (i == here.shard) continue;
        ok = hear(i, &other, sizeof other);
        if (ok && other > *value) *value = other;
    }
    if (ok) go_on();
    return ok;
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

/* The first one waits until nobody needs the folder any more, and takes it away. */
static int end(void)
{
    char room[ROOM];
    int ok = most(&(int){0});
    if (here.shard > 0) return ok && write_word(name_of("gone", here.shard, room), "", 0);
    for (int i = 1; i < here.shards && ok; i++) {
        FILE *file = open_of(i, name_of("gone", i, room));
        ok = file && fclose(file) == 0;
    }
    for (int i = 0; i < here.shards && ok; i++) {
        remove(name_of("gone", i, room));
        remove(name_of("shard", i, room));
        remove(name_of_word(i, here.word - 1, room));
    }
    if (ok) rmdir(here.path);
    return ok;
}

/* The others learn of it where they wait. */
static void abandon(int code)
{
    char room[ROOM];
    (void)code;
    write_word(name_of_end(room), "", 0);
}

const perp__speech perp__speech_of_folder = {end, abandon, send, probe, receive, gather, most};

perp_status perp__folder_begin(const char *path, int shard, int shards, perp_ranks_wait wait,
                               void *context, perp_diag *diag)
{
    char room[ROOM];
    if (strlen(path) >= sizeof here.path)
        return perp__refuse(diag, PERP_ERR_FILE, perp__in(path), "the path is too long\n");
    strcpy(here.path, path);
    here.shard = shard;
    here.shards = shards;
    here.word = 0;
    here.wait = wait;
    here.context = context;
    if (mkdir(path, 0777) != 0 && errno != EEXIST) return perp__cannot_write(diag, path);
    int is_first = perp__output_claim(name_of("shard", shard, room));
    if (!is_first && errno != EEXIST) return perp__cannot_write(diag, room);
    if (!is_first || access(name_of_end(room), F_OK) == 0)
        return perp__refuse(diag, PERP_ERR_FILE, perp__in(path),
                            "%d of %d has begun here before: it is at work, or that run has "
                            "ended and its folder is to be removed\n",
                            shard + 1, shards);
    return PERP_OK;
}
