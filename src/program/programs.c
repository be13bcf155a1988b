/* The public face of programs: words, reading, sizes. */

#include "program/program_state.h"

#include "base/words.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW(name, word, text) {word, text},
static const perp__word class_rows[] = {PERP_PROGRAM_CLASS_LIST(ROW)};
static const perp__words classes = PERP_WORDS(class_rows);

PERP_WORD_SUMMARY(perp_program_class, perp_program_class_summary, classes)

const char *perp_program_class_name(perp_program_class kind)
{
    return perp__word_name(&classes, (int)kind);
}

/* Files ----------------------------------------------------------------------------------------- */

/* All bytes of a file, zeros too. 0: errno says why not. */
static int read_bytes(const char *path, char **bytes, size_t *n)
{
    enum { FIRST = 1 << 16 };
    FILE *file = fopen(path, "rb");
    size_t capacity = FIRST;
    *n = 0;
    *bytes = file ? malloc(capacity) : NULL;
    while (*bytes) {
        size_t got = fread(*bytes + *n, 1, capacity - *n, file);
        *n += got;
        if (*n < capacity) break;
        if (capacity > INT_MAX / 2) { /* what has no end, such as a device */
            errno = EFBIG;
            break;
        }
        char *more = realloc(*bytes, capacity *= 2);
        if (!more) free(*bytes);
        *bytes = more;
    }
    int ok = *bytes && !ferror(file) && *n < capacity, why = errno;
    if (file) fclose(file);
    errno = file && !*bytes ? ENOMEM : why;
    return ok;
}

perp_status perp_program_read(const char *path, perp_program **program, perp_diag *diag)
{
    char *bytes = NULL, *name;
    size_t n, length;
    if (!path || !program) return PERP_ERR_ARG;
    *program = NULL;
    length = strlen(path);
    name = malloc(length + 4);
    if (!name) return perp__out_of_memory(diag, path);
    int has_ending = length > 3 && strcmp(path + length - 3, ".nl") == 0;
    snprintf(name, length + 4, "%s%s", path, has_ending ? "" : ".nl");
    perp_status status = PERP_OK;
    errno = 0;
    if (!read_bytes(name, &bytes, &n))
        status = errno == ENOMEM ? perp__out_of_memory(diag, name)
                                 : perp__refuse(diag, PERP_ERR_FILE, perp__in(name),
                                                "cannot be read: %s\n", strerror(errno));
    if (status == PERP_OK) status = perp_program_parse(bytes, n, name, program, diag);
    free(bytes);
    free(name);
    return status;
}

perp_status perp_program_parse(const char *bytes, size_t n, const char *name,
                               perp_program **program, perp_diag *diag)
{
    perp_status status;
    if (!program) return PERP_ERR_ARG;
    *program = NULL;
    if (!bytes || n > INT_MAX) return PERP_ERR_ARG;
    perp_program *p = calloc(1, sizeof *p);
    if (!p) return perp__out_of_memory(diag, name);
    p->nl = perp__nl_read(bytes, n, name ? name : "program", &status, diag);
    if (p->nl) p->objective = p->nl->nobj > 0 ? 0 : -1;
    if (p->nl && !perp__program_classify(p)) status = perp__out_of_memory(diag, name);
    if (status == PERP_OK)
        *program = p;
    else
        perp_program_destroy(p);
    return status;
}

void perp_program_destroy(perp_program *p)
{
    if (!p) return;
    perp__nl_destroy(p->nl);
    perp__arena_clear(&p->arena);
    free(p);
}

perp_program_size perp_program_get_size(const perp_program *p)
{
    const perp__nl *nl = p->nl;
    perp_program_size size = {p->kind, nl->nvar, nl->ncon, nl->nobj, nl->pairs.n, 0};
    for (int i = 0; i < nl->ncon; i++) size.nonzeros += nl->linear.count[i];
    return size;
}
