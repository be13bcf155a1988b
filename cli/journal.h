/* The journal of a sweep: a first line that says what is swept, then a line for each job that is
 * done, as JSON. Jobs come nearly in order (less than PERP_SWEEP_WINDOW of the shard apart), so it
 * is read in the order of jobs with little memory. */

#ifndef PERP_CLI_JOURNAL_H
#define PERP_CLI_JOURNAL_H

#include "perp/perp.h"

#include <cjson/cJSON.h>
#include <stdio.h>

/* A job that is done; what it points to is the journal's until the next call. */
typedef struct cli_job {
    long long job;
    const char *outcome, *reason; /* as of perp_sweep_result */
    long steps;
    double error;
    const double *value; /* one a column */
} cli_job;

typedef struct cli_journal {
    char *path;
    FILE *in;         /* read: the whole lines that were there when it was opened */
    long long length; /* bytes of them */
    int out;          /* written: a file descriptor; -1 */
    double synced;    /* when it was last known to be on the disc, by perp__now */
    cJSON *head;
    int shard, shards, ncolumn;
    long long next, line; /* the job of the shard that is read next; the last line read */
    char **ahead;         /* lines of later jobs, PERP_SWEEP_WINDOW of them */
    cJSON *last;          /* of the job returned last */
    double *value;
} cli_journal;

/* Say "FILE:LINE: .." on standard error, without a line that is 0; returns the status. */
perp_status cli_refuse(perp_status status, const char *file, long line, const char *format, ...);

/* Open a journal for reading. PERP_OK; PERP_ERR_FILE (also where there is none: errno is ENOENT);
 * PERP_ERR_DATA after saying what is wrong with it; PERP_ERR_MEMORY. */
perp_status cli_journal_read(cli_journal *journal, const char *path);

/* Go on writing one that was read (head NULL), or begin one with this head, which it then owns.
 * What is behind the last whole line goes. Refused while another process writes it. */
perp_status cli_journal_write(cli_journal *journal, const char *path, cJSON *head);

/* One line, handed to the system at once: a process that is killed loses only what it has not yet
 * given here. */
perp_status cli_journal_add(cli_journal *journal, const perp_sweep_result *result);

/* The job with this number, in ascending order of calls. Returns 1: found; 0: it is not in the
 * journal; -1: the journal is damaged (reported), or memory is out. */
int cli_journal_find(cli_journal *journal, long long job, cli_job *found);

void cli_journal_close(cli_journal *journal);

#endif
