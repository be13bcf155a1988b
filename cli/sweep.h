/* What sweeps come to: the table from their journals, a summary. */

#ifndef PERP_CLI_SWEEP_H
#define PERP_CLI_SWEEP_H

#include "journal.h"
#include "perp/perp.h"

/* FOLDER/journal.jsonl, or FOLDER/journal-I-of-N.jsonl; `path` has CLI_PATH_ROOM bytes. */
void cli_journal_path(const char *folder, int shard, int shards, char *path);

/* A key in which two heads differ, NULL: none; their shard may, unless is_same_shard. */
const char *cli_head_difference(const cJSON *a, const cJSON *b, int is_same_shard);

/* Write FOLDER/table.csv from the journals in the folder, in constant memory; its name in `path`.
 * Above 100000 jobs also FOLDER/table.perpbin with its numbers, and table.h5 on request. All jobs
 * must be there (PERP_ERR_DATA names missing ones), unless it is not complete: then it is
 * FOLDER/table.csv.partial. */
perp_status cli_write_table(const char *folder, int is_complete, int has_hdf5, char *path,
                            perp_diag *diag);

/* How many jobs ended how, and quantiles of columns; of more than 65536 jobs those of every Kth. */
typedef struct cli_sweep_summary cli_sweep_summary;
cli_sweep_summary *cli_summary_create(long long jobs, const perp_sweep *sweep); /* NULL: memory */
void cli_summary_destroy(cli_sweep_summary *summary);
void cli_summary_add(cli_sweep_summary *summary, long long job, const char *outcome,
                     const char *reason, const double *value);
void cli_summary_print(cli_sweep_summary *summary);
void cli_summary_json(cli_sweep_summary *summary, cJSON *object);

#endif
