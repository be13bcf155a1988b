/* Files that are complete or absent. They are written under another name in the same folder and
 * renamed at the end. The file output.c has perp_file_write, _is_same and _abandon, too. */

#ifndef PERP_SRC_OUTPUT_H
#define PERP_SRC_OUTPUT_H

#include "base/base.h"

#include <stdio.h>

/* The file that a path stands for, also where there is none yet: links are followed, of the file
 * and of its folder. The caller frees it; NULL: errno says why. */
char *perp__real_path(const char *path);

/* A file while it is written. */
typedef struct perp__output {
    FILE *file;
    char *real,
        *part;     /* the file it is to be, and the one it is until then; NULL: written in place */
    char *partial; /* the name of what was not written to its end */
    int place;     /* of `part` among the names that perp_file_abandon knows */
    /* set by who writes what no crash has to leave whole: it is not waited for until it is on the
     * disc */
    int is_brief;
} perp__output;

typedef enum perp__output_end { PERP__REPLACE, PERP__PARTIAL, PERP__DISCARD } perp__output_end;

/* Begin to write. A regular file gets another name in its folder, with the mode and, where
 * permitted, the owner of the old file. Other files ("-" is standard output), and all files with
 * `in_place`, are written in place. Returns 0: errno says why not. */
int perp__output_open(perp__output *output, const char *path, int in_place);

/* Flush, close, and give the file its name, that of a partial file, or none; what was written in
 * place stays. A file that could not be written has none. Clears the output. Returns 0: errno says
 * why not. */
int perp__output_close(perp__output *output, perp__output_end end);

/* The same of n files: they get their names when all are on the disc, or none of them does. */
int perp__output_close_all(perp__output *output, int n, perp__output_end end);

/* A file of whole lines to go on with: a regular file, made where there is none, for reading and
 * writing. Returns -1: errno says why not. */
int perp__output_keep(const char *path);

/* Make an empty file. Returns 0: errno says why not; EEXIST: another process was first. */
int perp__output_claim(const char *path);

/* A file that perp_file_abandon is to remove, by a malloc'ed name (NULL is fine): its place; and no
 * longer, which frees the name. */
int perp__output_know(char *path);
void perp__output_forget(char *path, int place);

/* A process group that writes such files; 0: none. perp_file_abandon calls `end` for it before it
 * removes them, maybe in a signal's handler. */
void perp__output_by(long group, void (*end)(long group));

/* Write a text as a field of CSV, on one line: in quotes, those in it twice, and a blank for the
 * end of a line. Returns 0 where that fails. */
int perp__output_quoted(FILE *file, const char *text);

/* Say that the file could not be written, from errno; returns PERP_ERR_FILE, or PERP_ERR_MEMORY. */
perp_status perp__cannot_write(perp_diag *diag, const char *path);

#endif
