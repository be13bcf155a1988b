/* The table of a sweep, from the journals of its shards. */

#include "cli.h"
#include "sweep.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_journal_path(const char *folder, int shard, int shards, char *path)
{
    if (shards == 1)
        snprintf(path, CLI_PATH_ROOM, "%s/journal.jsonl", folder);
    else
        snprintf(path, CLI_PATH_ROOM, "%s/journal-%d-of-%d.jsonl", folder, shard + 1, shards);
}

const char *cli_head_difference(const cJSON *a, const cJSON *b, int is_same_shard)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, a)
    {
        if (!is_same_shard && strcmp(item->string, "shard") == 0) continue;
        if (!cJSON_Compare(item, cJSON_GetObjectItemCaseSensitive(b, item->string), 1))
            return item->string;
    }
    return cJSON_GetArraySize(a) == cJSON_GetArraySize(b) ? NULL : "keys";
}

/* The journals of a folder --------------------------------------------------------------------- */

typedef struct folder {
    cli_journal *journal;
    int n;
} folder;

/* How many shards the folder has journals of, 1: one of the whole; 0: none, or of several kinds;
 * -1: no folder. */
static int count_shards(const char *path)
{
    int n = 0, mixed = 0;
    DIR *dir = opendir(path);
    const struct dirent *entry;
    if (!dir) {
        cli_refuse(PERP_ERR_FILE, path, 0, "cannot be read: %s", strerror(errno));
        return -1;
    }
    while ((entry = readdir(dir))) {
        int shard, shards = 0, end = 0;
        if (strcmp(entry->d_name, "journal.jsonl") == 0)
            shards = 1;
        else if (sscanf(entry->d_name, "journal-%d-of-%d.jsonl%n", &shard, &shards, &end) != 2 ||
                 !end || entry->d_name[end])
            continue;
        mixed |= n && shards != n;
        n = shards;
    }
    closedir(dir);
    if (mixed || n < 1)
        cli_refuse(PERP_ERR_DATA, path, 0,
                   mixed ? "there are journals of different sweeps"
                         : "there is no journal of a sweep");
    return mixed || n < 1 ? 0 : n;
}

static void close_folder(folder *f)
{
    for (int i = 0; i < f->n; i++) cli_journal_close(&f->journal[i]);
    free(f->journal);
}

static perp_status open_folder(folder *f, const char *path)
{
    char name[CLI_PATH_ROOM];
    int n = count_shards(path);
    perp_status status = PERP_OK;
    if (n < 1) return n < 0 ? PERP_ERR_FILE : PERP_ERR_DATA;
    f->journal = calloc((size_t)n, sizeof *f->journal);
    if (!f->journal) return PERP_ERR_MEMORY;
    for (; f->n < n && status == PERP_OK; f->n++) {
        cli_journal_path(path, f->n, n, name);
        cli_journal *j = &f->journal[f->n];
        status = cli_journal_read(j, name);
        if (status == PERP_ERR_FILE && errno == ENOENT)
            cli_refuse(status, name, 0, "this shard has no journal");
        const char *other = NULL;
        if (status == PERP_OK) other = cli_head_difference(f->journal[0].head, j->head, 0);
        if (status == PERP_OK && (other || j->shard != f->n || j->shards != n))
            status = cli_refuse(PERP_ERR_DATA, name, 0,
                                "this is another sweep than in the first shard: '%s'",
                                other ? other : "shard");
    }
    return status;
}

/* The table ------------------------------------------------------------------------------------ */

/* As text with its words; the numbers alone of many jobs, and as HDF5 where that is asked for
 * (NULL: not). */
enum { COPIES = 2 };
typedef struct tables {
    perp_trajectory_writer *text, *numbers[COPIES];
    char path[COPIES][CLI_PATH_ROOM]; /* of the numbers */
} tables;

enum { MANY = 100000 };

static const char *const texts[] = {"outcome", "reason"};
enum { TEXTS = 2, OURS = 3 }; /* job, steps, error: numbers beside the columns of the sweep */

/* What is swept, as comments; not which shards and processes did it. */
static perp_status write_comments(perp_trajectory_writer *w, const cJSON *head)
{
    static const char *const told[] = {"model", "vary",   "keep",  "samples", "design",
                                       "seed",  "set",    "input", "from",    "to",
                                       "step",  "method", "task",  "nodes",   "data"};
    perp_status status = PERP_OK;
    for (size_t i = 0; i < sizeof told / sizeof *told && status == PERP_OK; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(head, told[i]);
        if (!item || cJSON_IsNull(item)) continue;
        char *text = cJSON_PrintUnformatted(item);
        const char *word[] = {text};
        status = text ? cli_write_words(w, told[i], word, 1) : PERP_ERR_MEMORY;
        cJSON_free(text);
    }
    return status;
}

static perp_status write_head(const tables *t, const cJSON *head)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(head, "columns"),
                *unit = cJSON_GetObjectItemCaseSensitive(head, "units");
    int n = cJSON_GetArraySize(name), all = n + OURS;
    const char **names = calloc(2 * (size_t)all, sizeof *names), **units = names + all;
    if (!names) return PERP_ERR_MEMORY;
    name = name->child;
    unit = unit ? unit->child : NULL;
    names[0] = "job";
    names[n + 1] = "steps";
    names[n + 2] = "error";
    for (int i = 1; i <= n; i++, name = name->next, unit = unit ? unit->next : NULL) {
        names[i] = cJSON_GetStringValue(name);
        units[i] = cJSON_GetStringValue(unit);
    }
    perp_status status = write_comments(t->text, head);
    if (status == PERP_OK) status = perp_trajectory_writer_texts(t->text, TEXTS, texts);
    if (status == PERP_OK) status = perp_trajectory_writer_header(t->text, all, names, units);
    for (int i = 0; i < COPIES; i++) {
        if (!t->numbers[i]) continue;
        if (status == PERP_OK) status = write_comments(t->numbers[i], head);
        if (status == PERP_OK)
            status = perp_trajectory_writer_header(t->numbers[i], all, names, units);
    }
    free(names);
    return status;
}

static perp_status write_job(const tables *t, const cli_job *job, int n, double *row)
{
    const char *const text[TEXTS] = {job->outcome, job->reason};
    row[0] = (double)job->job;
    memcpy(row + 1, job->value, (size_t)n * sizeof *row);
    row[n + 1] = (double)job->steps;
    row[n + 2] = job->error;
    perp_status status = perp_trajectory_writer_row_texts(t->text, row, text);
    for (int i = 0; i < COPIES && status == PERP_OK; i++)
        if (t->numbers[i]) status = perp_trajectory_writer_row(t->numbers[i], row);
    return status;
}

/* Rows of all jobs, in order; how many are there, and the first that is not, -1. */
static perp_status write_rows(const folder *f, const tables *t, long long jobs, long long *written,
                              long long *missing)
{
    cli_job found;
    perp_status status = PERP_OK;
    double *row = malloc(((size_t)f->journal->ncolumn + OURS) * sizeof *row);
    if (!row) return PERP_ERR_MEMORY;
    *written = 0;
    *missing = -1;
    for (long long job = 0; job < jobs && status == PERP_OK; job++) {
        cli_journal *j = &f->journal[job % f->n];
        int is_there = cli_journal_find(j, job, &found);
        if (is_there < 0) status = PERP_ERR_DATA;
        if (is_there > 0) status = write_job(t, &found, j->ncolumn, row);
        if (is_there == 0 && *missing < 0) *missing = job;
        *written += is_there > 0;
    }
    free(row);
    return status;
}

static perp_status create_tables(tables *t, const char *path, const char *table, long long jobs,
                                 int has_hdf5, perp_diag *diag)
{
    static const char *const suffix[COPIES] = {PERP_BINARY_SUFFIX, ".h5"};
    const int is_wanted[COPIES] = {jobs > MANY, has_hdf5};
    perp_status status = perp_trajectory_writer_create(table, &t->text, diag);
    for (int i = 0; i < COPIES; i++) {
        snprintf(t->path[i], sizeof t->path[i], "%s/table%s", path, suffix[i]);
        if (status == PERP_OK && is_wanted[i])
            status = perp_trajectory_writer_create(t->path[i], &t->numbers[i], diag);
    }
    return status;
}

perp_status cli_write_table(const char *path, int is_complete, int has_hdf5, char *table,
                            perp_diag *diag)
{
    folder f = {0};
    tables t = {0};
    char reason[128] = "";
    long long missing = -1, written = 0, jobs = 0;
    snprintf(table, CLI_PATH_ROOM, "%s/table.csv", path);
    perp_status status = open_folder(&f, path);
    if (status == PERP_OK) {
        jobs = (long long)cJSON_GetNumberValue(
            cJSON_GetObjectItemCaseSensitive(f.journal[0].head, "jobs"));
        status = create_tables(&t, path, table, jobs, has_hdf5, diag);
    }
    if (status == PERP_OK) status = write_head(&t, f.journal[0].head);
    if (status == PERP_OK) status = write_rows(&f, &t, jobs, &written, &missing);
    if (status == PERP_OK && missing >= 0) {
        snprintf(reason, sizeof reason,
                 "%lld of %lld jobs are done; job %lld is the first that is not", written, jobs,
                 missing);
        if (is_complete) status = cli_refuse(PERP_ERR_DATA, path, 0, "%s", reason);
    }
    if (status != PERP_OK) snprintf(reason, sizeof reason, "%s", perp_status_message(status));
    if (reason[0] && t.text)
        snprintf(table, CLI_PATH_ROOM, "%s", perp_trajectory_writer_partial(t.text));
    perp_status closed = perp_trajectory_writer_close(t.text, reason[0] ? reason : NULL, diag);
    if (status == PERP_OK) status = closed;
    for (int i = 0; i < COPIES; i++) {
        closed = perp_trajectory_writer_close(t.numbers[i], reason[0] ? reason : NULL, diag);
        if (status == PERP_OK) status = closed;
    }
    if (status != PERP_OK) table[0] = 0;
    close_folder(&f);
    return status;
}
