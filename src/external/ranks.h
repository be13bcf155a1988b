/* What the processes that have joined (perp/ranks.h) say to each other. All from the thread that joined; PERP_ERR_UNAVAILABLE: another process
 * cannot be reached any more. */

#ifndef PERP_SRC_EXTERNAL_RANKS_H
#define PERP_SRC_EXTERNAL_RANKS_H

#include "perp/ranks.h"

/* This process's number, and how many have joined: 0 of 1 before. */
int perp__rank(void);
int perp__ranks(void);

/* Bytes to another. */
perp_status perp__ranks_send(int to, const void *bytes, size_t n);

/* From whom a message of how many bytes has come, without waiting; *from is -1 where none has. */
perp_status perp__ranks_probe(int *from, size_t *n);
perp_status perp__ranks_receive(int from, void *bytes, size_t n);

/* Called by all: each has the values from begin[rank] to begin[rank + 1], and all have all of them afterwards. */
perp_status perp__ranks_gather(double *values, const int *begin);

#endif
