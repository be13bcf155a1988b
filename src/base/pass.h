/* Internal: all data of a run, listed once for every use of a snapshot: to count its bytes, to
 * write them, to check whether they can be read, to read them. */

#ifndef PERP_SRC_PASS_H
#define PERP_SRC_PASS_H

#include <stddef.h>
#include <stdint.h>

typedef struct perp__pass {
    enum { PERP__COUNT, PERP__SAVE, PERP__LOOK, PERP__LOAD } mode;
    unsigned char *at; /* the next byte; of PERP__COUNT unused */
    size_t n;          /* bytes passed */
    int is_bad;        /* PERP__LOOK: a number out of its range; PERP__LOAD: out of memory */
    int is_full;       /* PERP__LOOK, where it makes room: out of memory */
    size_t most;       /* PERP__LOOK: bytes that there are, where counts are among them */
} perp__pass;

/* data NULL: zeros, which nothing reads. */
void perp__pass_bytes(perp__pass *pass, void *data, size_t size);
void perp__pass_doubles(perp__pass *pass, double *x, size_t n);
void perp__pass_longs(perp__pass *pass, long *x, size_t n);
/* From lo to hi each. */
void perp__pass_ints(perp__pass *pass, int *x, size_t n, int lo, int hi);
void perp__pass_chars(perp__pass *pass, char *x, size_t n, int lo, int hi);

/* An int that is made of others, such as a pointer's index: what was saved is returned, when saving
 * x. */
int perp__pass_int(perp__pass *pass, int x, int lo, int hi);

/* How many items follow, of `size` bytes at least: no more than there are bytes. */
int perp__pass_count(perp__pass *pass, int n, size_t size);

/* A sum that changes with any byte. */
uint64_t perp__digest(uint64_t sum, const void *data, size_t size);

#endif
