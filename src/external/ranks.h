/* What the processes that have joined (perp/ranks.h) say to each other. All from the thread that
 * joined; PERP_ERR_UNAVAILABLE: another process cannot be reached any more. */

#ifndef PERP_SRC_EXTERNAL_RANKS_H
#define PERP_SRC_EXTERNAL_RANKS_H

#include "perp/ranks.h"

/* How they speak. 0 is returned where another cannot be reached any more. */
typedef struct perp__speech {
    int (*end)(void);
    void (*abort)(int code);
    int (*send)(int to, const void *bytes, int n);
    int (*probe)(int *from, int *n);
    int (*receive)(int from, void *bytes, int n);
    int (*gather)(double *values, const int *count, const int *begin);
    int (*most)(int *value);
    const char *(*fault)(void); /* nullable; "": another process has ended */
} perp__speech;

/* ranks_folder.c: by files in a folder, to all others alone. */
extern const perp__speech perp__speech_of_folder;
perp_status perp__folder_begin(const char *path, int shard, int shards, int resume,
                               perp_ranks_wait wait, void *context, perp_diag *diag);

/* Why another process cannot be reached any more. */
const char *perp__ranks_fault(void);

/* This process's number, and how many have joined: 0 of 1 before. */
int perp__rank(void);
int perp__ranks(void);

/* Bytes to another. */
perp_status perp__ranks_send(int to, const void *bytes, size_t n);

/* From whom a message of how many bytes has come, without waiting; *from is -1 where none has. */
perp_status perp__ranks_probe(int *from, size_t *n);
perp_status perp__ranks_receive(int from, void *bytes, size_t n);

/* Called by all: each has the values from begin[rank] to begin[rank + 1], and all have all of them
 * afterwards. */
perp_status perp__ranks_gather(double *values, const int *begin);

#endif
