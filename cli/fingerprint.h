/* The files that a run was made from, with hashes in its comments. */

#ifndef PERP_CLI_FINGERPRINT_H
#define PERP_CLI_FINGERPRINT_H

#include "perp/perp.h"

/* A comment "file HASH PATH" for the model's file and each of its tables; pipes have none. */
perp_status cli_write_fingerprints(perp_trajectory_writer *writer, const perp_model *model);

/* The hash of a file's bytes, "" where it cannot be read or is none. */
int cli_fingerprint(const char *path, char text[17]);

/* Of the hashes of all recordings, in their order. */
void cli_fingerprint_data(const perp_dataset *data, char text[17]);

/* The present path of a file that a run names: beside the CSV file, a regular file with the hash
 * that the run has for it. Returns 0: there is none. */
int cli_find_file(const perp_trajectory *run, const char *csv, const char *path, char *found,
                  size_t size);

/* Has the file the hash of one that the run was made from? */
int cli_is_recorded(const perp_trajectory *run, const char *path);

/* A setting "NAME=FILE[:COLUMN]" with the present path of the file; 0 as above. */
int cli_find_input(const perp_trajectory *run, const char *csv, const char *setting, char *found,
                   size_t size);

#endif
