/* HDF5 files of plain arrays: whole numbers, numbers, short texts, each by its path
 * ("/group/name"). The library is loaded when it is first asked for. One thread at a time is in
 * it. */

#ifndef PERP_SRC_EXTERNAL_HDF5_H
#define PERP_SRC_EXTERNAL_HDF5_H

#include "base/base.h"

#include <stdio.h>

typedef struct perp__hdf5 perp__hdf5;

/* Open for reading. PERP_ERR_FILE, PERP_ERR_DATA (no HDF5 file), PERP_ERR_UNAVAILABLE (diag says
 * which library lacks), PERP_ERR_MEMORY. */
perp_status perp__hdf5_open(const char *path, perp__hdf5 **file, perp_diag *diag);

/* Into an empty file, open for reading and writing, which stays the caller's; `name` is what
 * messages call it. */
perp_status perp__hdf5_create(FILE *to, const char *name, perp__hdf5 **file, perp_diag *diag);

/* Close; of a file that was written PERP_ERR_FILE where not all of it could be written, errno says
 * why. NULL: PERP_OK. */
perp_status perp__hdf5_close(perp__hdf5 *file, perp_diag *diag);

/* Is there a group or an array of this path? */
int perp__hdf5_has(perp__hdf5 *file, const char *path);

/* How many entries an array has; -1: there is no array of numbers of this path; -2: this file has
 * no values of it. */
long long perp__hdf5_count(perp__hdf5 *file, const char *path);

/* The first `count` entries of an array that has as many, or_more; PERP_ERR_DATA says what it is
 * instead. */
perp_status perp__hdf5_ints(perp__hdf5 *file, const char *path, long long count, int or_more,
                            int *out, perp_diag *diag);
perp_status perp__hdf5_doubles(perp__hdf5 *file, const char *path, long long count, int or_more,
                               double *out, perp_diag *diag);

/* A text of fixed length, cut to `size` - 1 bytes; "": there is none. */
void perp__hdf5_text(perp__hdf5 *file, const char *path, size_t size, char *out);

/* Groups on the way are made. */
perp_status perp__hdf5_put_ints(perp__hdf5 *file, const char *path, long long count,
                                const int *value, perp_diag *diag);
perp_status perp__hdf5_put_doubles(perp__hdf5 *file, const char *path, long long count,
                                   const double *value, perp_diag *diag);
perp_status perp__hdf5_put_text(perp__hdf5 *file, const char *path, const char *text,
                                perp_diag *diag);
perp_status perp__hdf5_put_texts(perp__hdf5 *file, const char *path, int n, const char *const *text,
                                 perp_diag *diag);

/* An array of rows that grows, one of them in a file: it is made, and rows are put behind those
 * that are there. `block` rows are stored together. */
perp_status perp__hdf5_begin_rows(perp__hdf5 *file, const char *path, int columns, int block,
                                  perp_diag *diag);
perp_status perp__hdf5_add_rows(perp__hdf5 *file, int n, const double *value, perp_diag *diag);

#endif
