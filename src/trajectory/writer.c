/* Writing tables as rows come: as text, or as numbers, of perp's own or HDF5's, where the name says
 * so. */

#include "base/output.h"
#include "base/text.h"
#include "external/hdf5.h"
#include "perp/trajectory.h"
#include "trajectory/binary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Rows are written in blocks to files that show when they are whole, at once to pipes and
 * terminals. */
enum { BLOCK = 1 << 16 };

struct perp_trajectory_writer {
    perp__output out;
    char *path; /* for messages */
    int columns, ntext;
    const char *const *text; /* names, until the header is written */
    long rows;
    int error;              /* errno of the first failure, 0 while all is well */
    int used;               /* bytes of `block`, the rows that are not yet in out.file */
    int is_binary, has_end; /* has_end: of the rows */
    uint64_t sum;           /* over the numbers of a binary file */
    perp__hdf5 *h5;         /* NULL: it is no HDF5 file */
    perp__text about;       /* its comments */
    char block[BLOCK];
};

static perp_status note_failure(perp_trajectory_writer *w)
{
    if (!w->error) w->error = errno ? errno : EIO;
    return PERP_ERR_FILE;
}

static int flush(perp_trajectory_writer *w)
{
    size_t n = (size_t)w->used;
    w->used = 0;
    if (w->h5)
        return n == 0 || perp__hdf5_add_rows(w->h5, (int)(n / sizeof(double)) / w->columns,
                                             (const void *)w->block, NULL) == PERP_OK;
    return fwrite(w->block, 1, n, w->out.file) == n;
}

static void destroy(perp_trajectory_writer *w)
{
    perp__text_clear(&w->about);
    free(w->path);
    free(w);
}

static int ends_so(const char *path, const char *suffix)
{
    size_t n = strlen(path), tail = strlen(suffix);
    return n > tail && strcmp(path + n - tail, suffix) == 0;
}

/* 8 bytes into the block; 0: the file cannot be written. */
static int put_word(perp_trajectory_writer *w, uint64_t word)
{
    if (w->used + 8 > BLOCK && !flush(w)) return 0;
    perp__put_word(w->block + w->used, word);
    w->used += 8;
    return 1;
}

/* Rows before it; behind those of a binary file, once, the mark of their end. */
static int end_rows(perp_trajectory_writer *w)
{
    int is_end = w->is_binary && w->columns && !w->has_end;
    w->has_end |= is_end;
    return (!is_end || (put_word(w, PERP__END_MARK) && put_word(w, w->sum))) && flush(w);
}

/* HDF5's library writes under the name that the file has until it is whole. */
static perp_status open_hdf5(perp_trajectory_writer *w, perp_diag *diag)
{
    perp_status status = PERP_OK;
    perp__text_format(&w->about, "perp %s\n", PERP_VERSION);
    if (!w->out.part)
        status = perp__refuse(diag, PERP_ERR_FILE, perp__in(w->path),
                              "HDF5 is written to a file, not to a pipe or device\n");
    if (status == PERP_OK) status = perp__hdf5_create(w->out.file, w->path, &w->h5, diag);
    if (status == PERP_OK) return PERP_OK;
    perp__output_close(&w->out, PERP__DISCARD);
    destroy(w);
    return status;
}

/* Names, units, and the array of rows. */
static perp_status begin_hdf5(perp_trajectory_writer *w, int n, const char *const *names,
                              const char *const *units)
{
    int words = BLOCK / (int)sizeof(double);
    const char **all = calloc((size_t)n, sizeof *all);
    if (!all) return PERP_ERR_MEMORY;
    for (int i = 0; i < n; i++) all[i] = units && units[i] ? units[i] : "";
    perp_status status = perp__hdf5_put_texts(w->h5, "/columns", n, names, NULL);
    if (status == PERP_OK) status = perp__hdf5_put_texts(w->h5, "/units", n, all, NULL);
    if (status == PERP_OK)
        status = perp__hdf5_begin_rows(w->h5, "/rows", n, n < words ? words / n : 1, NULL);
    free(all);
    w->columns = n;
    return status == PERP_ERR_FILE ? note_failure(w) : status;
}

static int put_hdf5_row(perp_trajectory_writer *w, const double *values)
{
    int size = w->columns * (int)sizeof *values;
    if (size > BLOCK) return perp__hdf5_add_rows(w->h5, 1, values, NULL) == PERP_OK;
    if (w->used + size > BLOCK && !flush(w)) return 0;
    memcpy(w->block + w->used, values, (size_t)size);
    w->used += size;
    return 1;
}

static int end_hdf5(perp_trajectory_writer *w)
{
    int ok = flush(w) && !w->about.failed &&
             perp__hdf5_put_text(w->h5, "/about", w->about.at, NULL) == PERP_OK;
    perp_status status = perp__hdf5_close(w->h5, NULL);
    w->h5 = NULL;
    return ok && status == PERP_OK;
}

static perp_status create(const char *path, int in_place, perp_trajectory_writer **out,
                          perp_diag *diag)
{
    if (!out) return PERP_ERR_ARG;
    *out = NULL;
    if (!path) return PERP_ERR_ARG;
    const char *name = strcmp(path, "-") == 0 ? "standard output" : path;
    perp_trajectory_writer *w = calloc(1, sizeof *w);
    if (w) w->path = malloc(strlen(name) + 1);
    if (!w || !w->path) {
        free(w);
        return perp__out_of_memory(diag, name);
    }
    strcpy(w->path, name);
    if (!perp__output_open(&w->out, path, in_place)) {
        destroy(w);
        return perp__cannot_write(diag, name);
    }
    w->is_binary = ends_so(path, PERP_BINARY_SUFFIX);
    if (ends_so(path, ".h5")) {
        perp_status status = open_hdf5(w, diag);
        if (status == PERP_OK) *out = w;
        return status;
    }
    if ((w->is_binary && fputs(PERP__BINARY "\n", w->out.file) < 0) ||
        fprintf(w->out.file, "# perp %s\n", PERP_VERSION) < 0)
        note_failure(w);
    *out = w;
    return PERP_OK;
}

perp_status perp_trajectory_writer_create(const char *path, perp_trajectory_writer **out,
                                          perp_diag *diag)
{
    return create(path, 0, out, diag);
}

perp_status perp_trajectory_writer_stream(const char *path, perp_trajectory_writer **out,
                                          perp_diag *diag)
{
    return create(path, 1, out, diag);
}

const char *perp_trajectory_writer_partial(const perp_trajectory_writer *w)
{
    return w ? w->out.partial : NULL;
}

perp_status perp_trajectory_writer_comment(perp_trajectory_writer *w, const char *text)
{
    if (!w || !text) return PERP_ERR_ARG;
    if (w->error) return PERP_ERR_FILE;
    if (w->h5) {
        perp__text_format(&w->about, "%s\n", text);
        return w->about.failed ? PERP_ERR_MEMORY : PERP_OK;
    }
    if (!end_rows(w)) return note_failure(w);
    while (*text) {
        int n = (int)strcspn(text, "\n");
        if (fprintf(w->out.file, n ? "# %.*s\n" : "#\n", n, text) < 0) return note_failure(w);
        text += n + (text[n] == '\n');
    }
    return PERP_OK;
}

/* A name stands in quotes where it has anything but letters, digits and these signs: r[2,1] does.
 */
static int write_name(FILE *file, const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_.[]()-+*/^%";
    return name[strspn(name, plain)] ? perp__output_quoted(file, name) : fputs(name, file) >= 0;
}

perp_status perp_trajectory_writer_header(perp_trajectory_writer *w, int n,
                                          const char *const *names, const char *const *units)
{
    if (!w || n < 1 || !names || w->columns) return PERP_ERR_ARG;
    for (int i = 0; i < n; i++) {
        if (!names[i] || !names[i][0] || strpbrk(names[i], "\n\r")) return PERP_ERR_ARG;
    }
    if (w->error) return PERP_ERR_FILE;
    if (w->h5) return begin_hdf5(w, n, names, units);
    for (int i = 0; i < w->ntext; i++)
        if (fprintf(w->out.file, "# text %s\n", w->text[i]) < 0) return note_failure(w);
    w->columns = n;
    for (int i = 0; i < n; i++) {
        if (units && units[i] && units[i][0] &&
            fprintf(w->out.file, "# unit %s = %s\n", names[i], units[i]) < 0)
            return note_failure(w);
    }
    for (int i = 0; i < n + w->ntext; i++) {
        if ((i && fputc(',', w->out.file) == EOF) ||
            !write_name(w->out.file, i < n ? names[i] : w->text[i - n]))
            return note_failure(w);
    }
    int ok = fputc('\n', w->out.file) != EOF && (!w->is_binary || put_word(w, PERP__ROWS_MARK));
    return ok ? PERP_OK : note_failure(w);
}

perp_status perp_trajectory_writer_texts(perp_trajectory_writer *w, int n, const char *const *names)
{
    if (!w || n < 0 || (n && (!names || w->is_binary || w->h5)) || w->columns) return PERP_ERR_ARG;
    for (int i = 0; i < n; i++)
        if (!names[i] || !names[i][0] || strpbrk(names[i], "\n\r")) return PERP_ERR_ARG;
    w->ntext = n;
    w->text = names;
    return PERP_OK;
}

/* A text in quotes, on one line; nothing for "". */
static int write_text(perp_trajectory_writer *w, const char *text)
{
    return !text || !*text || perp__output_quoted(w->out.file, text);
}

static int put_words(perp_trajectory_writer *w, const double *values)
{
    for (int i = 0; i < w->columns; i++) {
        uint64_t word = perp__word_of(values[i]);
        if (!put_word(w, word)) return 0;
        w->sum = perp__add_word(w->sum, word);
    }
    return 1;
}

static int put_digits(perp_trajectory_writer *w, const double *values)
{
    int n = w->columns, more = n + w->ntext;
    for (int i = 0; i < n; i++) {
        if (w->used + PERP_NUMBER_SIZE >= BLOCK && !flush(w)) return 0;
        char *to = w->block + w->used;
        int size = perp_number_write(values[i] == 0 ? 0 : values[i], to); /* also -0 */
        to[size] = i + 1 < more ? ',' : '\n';
        w->used += size + 1;
    }
    return 1;
}

static perp_status write_numbers(perp_trajectory_writer *w, const double *values)
{
    if (!w || !values || !w->columns || w->has_end) return PERP_ERR_ARG;
    if (w->error) return PERP_ERR_FILE;
    int ok;
    if (w->h5)
        ok = put_hdf5_row(w, values);
    else if (w->is_binary)
        ok = put_words(w, values);
    else
        ok = put_digits(w, values);
    if (!ok || (!w->h5 && !w->out.part && !flush(w))) return note_failure(w);
    return PERP_OK;
}

perp_status perp_trajectory_writer_row_texts(perp_trajectory_writer *w, const double *values,
                                             const char *const *texts)
{
    perp_status status = write_numbers(w, values);
    if (status != PERP_OK) return status;
    int ok = !w->ntext || flush(w);
    for (int i = 0; i < w->ntext && ok; i++)
        ok = write_text(w, texts ? texts[i] : "") &&
             fputc(i + 1 < w->ntext ? ',' : '\n', w->out.file) != EOF;
    w->rows++;
    return ok ? PERP_OK : note_failure(w);
}

perp_status perp_trajectory_writer_row(perp_trajectory_writer *w, const double *values)
{
    return perp_trajectory_writer_row_texts(w, values, NULL);
}

/* Where the rows of a run that stopped are, unless they are where they were to be. */
static void say_partial(const perp_trajectory_writer *w, perp_diag *diag)
{
    if (!w->out.part) return;
    perp__diag_append(diag, "%s: the rows so far are in %s%s\n", w->path, w->out.partial,
                      access(w->out.real, F_OK) == 0 ? "; the earlier file is kept" : "");
}

perp_status perp_trajectory_writer_close(perp_trajectory_writer *w, const char *stopped,
                                         perp_diag *diag)
{
    if (!w) return PERP_OK;
    int n = stopped ? (int)strcspn(stopped, "\n") : 0;
    if (w->h5) {
        if (stopped)
            perp__text_format(&w->about, "stopped: %.*s\n", n, stopped);
        else
            perp__text_format(&w->about, "complete: %ld rows\n", w->rows);
        if (!end_hdf5(w)) note_failure(w);
    } else if (!w->error) {
        int written;
        if (!end_rows(w))
            written = -1;
        else if (stopped)
            written = fprintf(w->out.file, "# stopped: %.*s\n", n, stopped);
        else
            written = fprintf(w->out.file, "# complete: %ld rows\n", w->rows);
        if (written < 0) note_failure(w);
    }
    perp_diag said = {0};
    if (stopped) say_partial(w, &said);
    perp__output_end end = PERP__REPLACE;
    if (w->error)
        end = PERP__DISCARD;
    else if (stopped)
        end = PERP__PARTIAL;
    if (!perp__output_close(&w->out, end)) note_failure(w);
    perp_status status = PERP_OK;
    errno = w->error;
    if (w->error)
        status = perp__cannot_write(diag, w->path);
    else if (said.text)
        perp__diag_append(diag, "%s", perp_diag_text(&said));
    if (diag) diag->lost += said.lost;
    perp_diag_clear(&said);
    destroy(w);
    return status;
}
