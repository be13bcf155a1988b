/* The journal of a sweep, line by line. */

#include "journal.h"

#include "base/base.h"
#include "base/hash.h"
#include "base/input.h"
#include "base/output.h"
#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

perp_status cli_refuse(perp_status status, const char *file, long line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    cli_say("%s:", file);
    if (line) cli_say("%ld:", line);
    cli_say(" ");
    cli_say_list(format, arguments);
    cli_say("\n");
    va_end(arguments);
    return status;
}

/* Reading -------------------------------------------------------------------------------------- */

static perp_status damaged(cli_journal *j, const char *what)
{
    return cli_refuse(PERP_ERR_DATA, j->path, (long)j->line, "%s", what);
}

/* Bytes up to and with the last line's end. */
static long long whole_lines(int file)
{
    enum { BLOCK = 1 << 14 };
    char block[BLOCK];
    struct stat found;
    if (fstat(file, &found) != 0) return -1;
    long long at = found.st_size;
    while (at > 0) {
        size_t n = at < BLOCK ? (size_t)at : BLOCK;
        if (pread(file, block, n, at - (long long)n) != (ssize_t)n) return -1;
        for (size_t i = n; i > 0; i--)
            if (block[i - 1] == '\n') return at - (long long)(n - i);
        at -= (long long)n;
    }
    return 0;
}

/* The next line without its end, malloc'ed; NULL behind the last. */
static char *next_line(cli_journal *j)
{
    char *line = NULL;
    size_t room = 0;
    if (ftello(j->in) >= j->length) return NULL;
    ssize_t n = getline(&line, &room, j->in);
    if (n < 0) {
        free(line);
        return NULL;
    }
    j->line++;
    if (n && line[n - 1] == '\n') line[n - 1] = 0;
    return line;
}

static int whole_number(const cJSON *object, const char *name, double least)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) && item->valuedouble >= least &&
           item->valuedouble == floor(item->valuedouble);
}

static double number(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

static const char *text(const cJSON *object, const char *name)
{
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return value ? value : "";
}

/* The end of a line, ","sum":"16 digits"}", holds for all before it. */
enum { SUM = 26 };

static void print_sum(const char *line, size_t n, char end[SUM + 1])
{
    uint64_t sum = PERP__HASH_OF_NOTHING;
    for (size_t i = 0; i < n; i++) sum = perp__hash_byte(sum, (unsigned char)line[i]);
    snprintf(end, SUM + 1, ",\"sum\":\"%016" PRIx64 "\"}", sum);
}

/* The line as it was written; NULL behind the last one, or after saying that it is not
 * (*is_wrong). */
static char *next_true_line(cli_journal *j, int *is_wrong)
{
    char end[SUM + 1], *line = next_line(j);
    size_t n = line ? strlen(line) : 0;
    if (n >= SUM) print_sum(line, n - SUM, end);
    if (!line || (n >= SUM && strcmp(line + n - SUM, end) == 0)) return line;
    int is_other = j->line == 1 && !strstr(line, "\"sum\"");
    damaged(j, is_other ? "this is no journal of a sweep"
                        : "the line is not as it was written: its sum differs. Without it and "
                          "those behind it --resume does their jobs again");
    *is_wrong = 1;
    free(line);
    return NULL;
}

static perp_status read_head(cli_journal *j)
{
    int is_wrong = 0;
    char *line = next_true_line(j, &is_wrong);
    if (is_wrong) return PERP_ERR_DATA;
    j->head = line ? cJSON_Parse(line) : NULL;
    cJSON_DeleteItemFromObjectCaseSensitive(j->head, "sum");
    free(line);
    int is_one = j->head && whole_number(j->head, "jobs", 1) && whole_number(j->head, "shard", 0) &&
                 whole_number(j->head, "shards", 1) &&
                 cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(j->head, "columns"));
    if (!is_one) return damaged(j, "this is no journal of a sweep");
    j->shard = (int)number(j->head, "shard");
    j->shards = (int)number(j->head, "shards");
    j->ncolumn = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(j->head, "columns"));
    j->ahead = calloc(PERP_SWEEP_WINDOW, sizeof *j->ahead);
    j->value = malloc(((size_t)j->ncolumn + 1) * sizeof *j->value);
    return j->ahead && j->value ? PERP_OK : PERP_ERR_MEMORY;
}

static perp_status take_path(cli_journal *j, const char *path)
{
    if (!j->path) {
        j->path = malloc(strlen(path) + 1);
        if (j->path) strcpy(j->path, path);
    }
    return j->path ? PERP_OK : PERP_ERR_MEMORY;
}

perp_status cli_journal_read(cli_journal *j, const char *path)
{
    *j = (cli_journal){.out = -1};
    if (take_path(j, path) != PERP_OK) return PERP_ERR_MEMORY;
    const char *why;
    perp_status opened = perp__input_open(path, PERP__REGULAR, SIZE_MAX, &j->in, &why);
    if (opened == PERP_ERR_MEMORY || (opened == PERP_ERR_FILE && errno == ENOENT)) return opened;
    j->length = j->in ? whole_lines(fileno(j->in)) : -1;
    if (j->length == 0) { /* killed before its first line was written */
        fclose(j->in);
        j->in = NULL;
        errno = ENOENT;
        return PERP_ERR_FILE;
    }
    if (j->length < 0)
        return cli_refuse(PERP_ERR_FILE, path, 0, "cannot be read: %s", strerror(errno));
    return read_head(j);
}

/* Which job of the shard this line is of, from 0; -1: none. */
static long long place_of(const cli_journal *j, const cJSON *object)
{
    if (!whole_number(object, "job", j->shard)) return -1;
    long long job = (long long)number(object, "job") - j->shard;
    return job % j->shards ? -1 : job / j->shards;
}

static int take(cli_journal *j, cJSON *object, cli_job *found)
{
    const cJSON *values = cJSON_GetObjectItemCaseSensitive(object, "value"), *item;
    int n = 0;
    cJSON_Delete(j->last);
    j->last = object;
    cJSON_ArrayForEach(item, values)
    {
        if (n < j->ncolumn) j->value[n] = cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
        n++;
    }
    if (n != j->ncolumn || !text(object, "outcome")[0]) {
        damaged(j, "this is no job of the sweep");
        return -1;
    }
    *found = (cli_job){.job = (long long)number(object, "job"),
                       .outcome = text(object, "outcome"),
                       .reason = text(object, "reason"),
                       .steps = (long)number(object, "steps"),
                       .error = number(object, "error"),
                       .value = j->value};
    return 1;
}

/* Read on until the place is found. */
static int search(cli_journal *j, long long place, cli_job *found)
{
    int is_wrong = 0;
    for (char *line; (line = next_true_line(j, &is_wrong));) {
        cJSON *object = cJSON_Parse(line);
        long long k = object ? place_of(j, object) : -1;
        if (k < 0 || k >= place + PERP_SWEEP_WINDOW) {
            damaged(j, k < 0 ? "this is no job of the sweep" : "jobs are missing before this one");
            cJSON_Delete(object);
            free(line);
            return -1;
        }
        if (k == place) {
            free(line);
            return take(j, object, found);
        }
        cJSON_Delete(object);
        char **slot = &j->ahead[k % PERP_SWEEP_WINDOW];
        if (k < place || *slot) /* done twice: the first one counts */
            free(line);
        else
            *slot = line;
    }
    return is_wrong ? -1 : 0;
}

int cli_journal_find(cli_journal *j, long long job, cli_job *found)
{
    if (!j->in) return 0;
    long long place = (job - j->shard) / j->shards;
    for (; j->next < place; j->next++) { /* of jobs that were not asked for */
        char **slot = &j->ahead[j->next % PERP_SWEEP_WINDOW];
        free(*slot);
        *slot = NULL;
    }
    char **slot = &j->ahead[place % PERP_SWEEP_WINDOW];
    if (!*slot) return search(j, place, found);
    cJSON *object = cJSON_Parse(*slot);
    free(*slot);
    *slot = NULL;
    return object ? take(j, object, found) : -1;
}

/* Writing -------------------------------------------------------------------------------------- */

static perp_status cannot_write(cli_journal *j)
{
    return cli_refuse(PERP_ERR_FILE, j->path, 0, "cannot be written: %s", strerror(errno));
}

static perp_status write_line(cli_journal *j, const char *line, size_t length)
{
    while (length) {
        ssize_t n = write(j->out, line, length);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return cannot_write(j);
        line += n;
        length -= (size_t)n;
    }
    return PERP_OK;
}

/* The n bytes of a line but its end, for which it has room. What is written is on the disc every
 * few seconds, and when the journal is closed. */
static perp_status write_with_sum(cli_journal *j, char *line, size_t n)
{
    const double INTERVAL = 5; /* [s] */
    char end[SUM + 1];
    print_sum(line, n, end);
    memcpy(line + n, end, SUM);
    line[n + SUM] = '\n';
    perp_status status = write_line(j, line, n + SUM + 1);
    double now = perp__now();
    if (status != PERP_OK || now < j->synced + INTERVAL) return status;
    j->synced = now;
    return fsync(j->out) == 0 || errno == EINVAL ? PERP_OK : cannot_write(j);
}

perp_status cli_journal_write(cli_journal *j, const char *path, cJSON *head)
{
    int is_new = !j->in;
    if (is_new) {
        *j = (cli_journal){.path = j->path, .head = head, .out = -1};
        j->ncolumn = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(head, "columns"));
    }
    if (take_path(j, path) != PERP_OK) return PERP_ERR_MEMORY;
    j->out = perp__output_keep(path);
    if (j->out < 0) return cannot_write(j);
    if (flock(j->out, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return cli_refuse(PERP_ERR_FILE, path, 0, "another sweep is writing this journal");
    if (is_new && whole_lines(j->out) > 0)
        return cli_refuse(PERP_ERR_FILE, path, 0, "another sweep has begun it");
    if (ftruncate(j->out, j->length) != 0 || lseek(j->out, 0, SEEK_END) < 0) /* part of a line */
        return cannot_write(j);
    if (!is_new) return PERP_OK;
    char *text = cJSON_PrintUnformatted(head), *line = NULL;
    size_t n = text ? strlen(text) - 1 : 0; /* the last brace is of the sum */
    if (text) line = malloc(n + SUM + 1);
    if (line) memcpy(line, text, n);
    perp_status status = line ? write_with_sum(j, line, n) : PERP_ERR_MEMORY;
    cJSON_free(text);
    free(line);
    return status;
}

/* JSON has no nan, and its numbers may be too large. */
static int print_number(double x, char *to)
{
    if (isnan(x)) return sprintf(to, "null");
    if (isinf(x)) return sprintf(to, x > 0 ? "1e999" : "-1e999");
    return perp_number_write(x, to);
}

/* `from` in quotes; at most 6 bytes each. */
static int print_text(const char *from, char *to)
{
    char *end = to;
    *end++ = '"';
    for (; *from; from++) {
        unsigned char c = (unsigned char)*from;
        if (c == '"' || c == '\\') *end++ = '\\';
        if (c < ' ')
            end += sprintf(end, "\\u%04x", c);
        else
            *end++ = (char)c;
    }
    *end++ = '"';
    return (int)(end - to);
}

perp_status cli_journal_add(cli_journal *j, const perp_sweep_result *r)
{
    enum { REST = 256 };
    size_t n = strlen(r->reason), room = REST + 6 * n + (size_t)j->ncolumn * PERP_NUMBER_SIZE;
    char *line = malloc(room), *end = line;
    if (!line) return PERP_ERR_MEMORY;
    end += sprintf(end, "{\"job\":%lld,\"outcome\":\"%s\",\"steps\":%ld,\"error\":", r->job,
                   r->outcome, r->steps);
    end += print_number(r->error, end);
    end += sprintf(end, ",\"value\":[");
    for (int i = 0; i < j->ncolumn; i++) {
        if (i) *end++ = ',';
        end += print_number(r->value[i], end);
    }
    *end++ = ']';
    if (n) {
        end += sprintf(end, ",\"reason\":");
        end += print_text(r->reason, end);
    }
    perp_status status = write_with_sum(j, line, (size_t)(end - line));
    free(line);
    return status;
}

void cli_journal_close(cli_journal *j)
{
    for (int k = 0; j->ahead && k < PERP_SWEEP_WINDOW; k++) free(j->ahead[k]);
    if (j->in) fclose(j->in);
    if (j->out >= 0) {
        fsync(j->out);
        close(j->out);
    }
    free(j->ahead);
    free(j->value);
    free(j->path);
    cJSON_Delete(j->last);
    cJSON_Delete(j->head);
    *j = (cli_journal){.out = -1};
}
