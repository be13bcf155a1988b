/* Writing CSV as rows come. */

#include "base/base.h"
#include "perp/trajectory.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct perp_trajectory_writer {
    FILE *file;
    char *path;
    int columns;
    long rows;
    int error; /* errno of the first failure, 0 while all is well */
};

static perp_status note_failure(perp_trajectory_writer *w)
{
    if (!w->error) w->error = errno ? errno : EIO;
    return PERP_ERR_FILE;
}

perp_status perp_trajectory_writer_create(const char *path, perp_trajectory_writer **out,
                                          perp_diag *diag)
{
    if (!out) return PERP_ERR_ARG;
    *out = NULL;
    if (!path) return PERP_ERR_ARG;
    int is_stdout = strcmp(path, "-") == 0;
    if (is_stdout) path = "standard output";
    perp_trajectory_writer *w = calloc(1, sizeof *w);
    if (w) w->path = malloc(strlen(path) + 1);
    if (!w || !w->path) {
        free(w);
        return perp__out_of_memory(diag, path);
    }
    strcpy(w->path, path);
    w->file = is_stdout ? stdout : fopen(path, "w");
    if (!w->file) {
        perp__diag_append(diag, "%s: cannot be written: %s\n", path, strerror(errno));
        if (diag) diag->errors++;
        free(w->path);
        free(w);
        return PERP_ERR_FILE;
    }
    *out = w;
    return PERP_OK;
}

perp_status perp_trajectory_writer_comment(perp_trajectory_writer *w, const char *text)
{
    if (!w || !text) return PERP_ERR_ARG;
    if (w->error) return PERP_ERR_FILE;
    while (*text) {
        int n = (int)strcspn(text, "\n");
        if (fprintf(w->file, n ? "# %.*s\n" : "#\n", n, text) < 0) return note_failure(w);
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
    if (!name[strspn(name, plain)]) return fputs(name, file) >= 0;
    int ok = fputc('"', file) != EOF;
    for (; ok && *name; name++)
        ok = (*name != '"' || fputc('"', file) != EOF) && fputc(*name, file) != EOF;
    return ok && fputc('"', file) != EOF;
}

perp_status perp_trajectory_writer_header(perp_trajectory_writer *w, int n,
                                          const char *const *names, const char *const *units)
{
    if (!w || n < 1 || !names || w->columns) return PERP_ERR_ARG;
    for (int i = 0; i < n; i++) {
        if (!names[i] || !names[i][0] || strpbrk(names[i], "\n\r")) return PERP_ERR_ARG;
    }
    if (w->error) return PERP_ERR_FILE;
    w->columns = n;
    for (int i = 0; i < n; i++) {
        if (units && units[i] && units[i][0] &&
            fprintf(w->file, "# unit %s = %s\n", names[i], units[i]) < 0)
            return note_failure(w);
    }
    for (int i = 0; i < n; i++) {
        if (!write_name(w->file, names[i]) || fputc(i + 1 < n ? ',' : '\n', w->file) == EOF)
            return note_failure(w);
    }
    return PERP_OK;
}

perp_status perp_trajectory_writer_row(perp_trajectory_writer *w, const double *values)
{
    if (!w || !values || !w->columns) return PERP_ERR_ARG;
    if (w->error) return PERP_ERR_FILE;
    char text[64 * PERP_NUMBER_SIZE];
    size_t n = 0;
    for (int i = 0; i < w->columns; i++) {
        int is_last = i + 1 == w->columns;
        n += (size_t)perp_number_write(values[i] == 0 ? 0 : values[i], text + n); /* also -0 */
        text[n++] = is_last ? '\n' : ',';
        if (!is_last && n + PERP_NUMBER_SIZE < sizeof text) continue;
        if (fwrite(text, 1, n, w->file) != n) return note_failure(w);
        n = 0;
    }
    w->rows++;
    return PERP_OK;
}

perp_status perp_trajectory_writer_close(perp_trajectory_writer *w, const char *stopped,
                                         perp_diag *diag)
{
    if (!w) return PERP_OK;
    if (!w->error) {
        int n = stopped ? (int)strcspn(stopped, "\n") : 0;
        int written = stopped ? fprintf(w->file, "# stopped: %.*s\n", n, stopped)
                              : fprintf(w->file, "# complete: %ld rows\n", w->rows);
        if (written < 0) note_failure(w);
    }
    errno = 0;
    if (fflush(w->file) != 0) note_failure(w);
    if (w->file != stdout && fclose(w->file) != 0) note_failure(w);
    int error = w->error;
    if (error) {
        perp__diag_append(diag, "%s: cannot be written: %s; the file is not complete\n", w->path,
                          strerror(error));
        if (diag) diag->errors++;
    }
    free(w->path);
    free(w);
    return error ? PERP_ERR_FILE : PERP_OK;
}
