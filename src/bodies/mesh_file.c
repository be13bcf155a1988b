/* Points of Wavefront OBJ and STL files. */

#include "base/base.h"
#include "base/arena.h"
#include "base/number.h"
#include "bodies/geometry.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 30, HEAD = 84, TRIANGLE = 50 };

typedef struct reader {
    const char *name, *at, *end;
    long line;
    double *x;
    int n, capacity; /* points */
    double scale[3];
    perp_diag *diag;
} reader;

static perp_status keep(reader *r, const double *x)
{
    if (!perp__grow(&r->x, &r->capacity, 3 * r->n + 3, sizeof *r->x))
        return perp__out_of_memory(r->diag, r->name);
    for (int k = 0; k < 3; k++) r->x[3 * r->n + k] = x[k] * r->scale[k];
    r->n++;
    return PERP_OK;
}

/* Binary STL: a head of 80 bytes, how many triangles, and of each the normal, three corners, two bytes; little endian. */
static float number_at(const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes;
    uint32_t bits = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static size_t triangles(const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes + 80;
    return b[0] | (size_t)b[1] << 8 | (size_t)b[2] << 16 | (size_t)b[3] << 24;
}

static int is_binary(const char *bytes, size_t length)
{
    if (length < HEAD) return 0;
    return length == HEAD + TRIANGLE * triangles(bytes) ||
           memchr(bytes, 0, length) != NULL; /* no text, then */
}

static perp_status read_binary(reader *r, size_t length)
{
    size_t n = triangles(r->at);
    if (length < HEAD + TRIANGLE * n)
        return perp__refuse(r->diag, PERP_ERR_DATA, perp__in(r->name),
                            "binary STL of %zu triangles needs %zu bytes, there are %zu\n", n,
                            HEAD + TRIANGLE * n, length);
    for (size_t i = 0; i < 3 * n; i++) {
        const char *corner = r->at + HEAD + TRIANGLE * (i / 3) + 12 * (i % 3 + 1);
        double x[3];
        for (int k = 0; k < 3; k++) x[k] = (double)number_at(corner + 4 * k);
        if (!isfinite(x[0] + x[1] + x[2]))
            return perp__refuse(r->diag, PERP_ERR_DATA, perp__in(r->name),
                                "triangle %zu has a corner that is not finite\n", i / 3 + 1);
        perp_status status = keep(r, x);
        if (status != PERP_OK) return status;
    }
    return PERP_OK;
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static int begins_with(const reader *r, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(r->end - r->at) > n && memcmp(r->at, word, n) == 0 && is_blank(r->at[n]);
}

static perp_status read_point(reader *r)
{
    const char *line = r->at;
    double x[3];
    while (r->at < r->end && !is_blank(*r->at)) r->at++; /* the word */
    for (int k = 0; k < 3; k++) {
        while (r->at < r->end && is_blank(*r->at)) r->at++;
        size_t n = perp__number_read(r->at, (size_t)(r->end - r->at), &x[k]);
        if (!n || !isfinite(x[k]))
            return perp__refuse(r->diag, PERP_ERR_DATA,
                                (perp__place){r->name, r->line, (long)(r->at - line) + 1},
                                "a point has three finite numbers\n");
        r->at += n;
    }
    return keep(r, x);
}

/* The lines `v x y z` of OBJ, `vertex x y z` of STL. */
static perp_status read_text(reader *r)
{
    for (r->line = 1; r->at < r->end; r->line++) {
        while (r->at < r->end && is_blank(*r->at)) r->at++;
        if (begins_with(r, "v") || begins_with(r, "vertex")) {
            perp_status status = read_point(r);
            if (status != PERP_OK) return status;
        }
        const char *next = memchr(r->at, '\n', (size_t)(r->end - r->at));
        r->at = next ? next + 1 : r->end;
    }
    return PERP_OK;
}

perp_status perp_mesh_parse(const char *bytes, size_t length, const char *name,
                            const double scale[3], perp_mesh **mesh, perp_diag *diag)
{
    if (!mesh) return PERP_ERR_ARG;
    *mesh = NULL;
    if (!bytes || (scale && !isfinite(scale[0] + scale[1] + scale[2]))) return PERP_ERR_ARG;
    reader r = {.name = name, .at = bytes, .end = bytes + length, .diag = diag};
    for (int k = 0; k < 3; k++) r.scale[k] = scale ? scale[k] : 1;
    perp_status status = is_binary(bytes, length) ? read_binary(&r, length) : read_text(&r);
    if (status == PERP_OK && r.n < 4)
        status =
            perp__refuse(diag, PERP_ERR_DATA, perp__in(name),
                         "%d points: a mesh has lines `v x y z` (OBJ) or triangles (STL), of at "
                         "least four points\n",
                         r.n);
    if (status == PERP_OK) status = perp_mesh_hull(r.x, r.n, mesh, diag);
    free(r.x);
    return status;
}

perp_status perp_mesh_read(const char *path, const double scale[3], perp_mesh **mesh,
                           perp_diag *diag)
{
    char *bytes;
    size_t length;
    if (!mesh) return PERP_ERR_ARG;
    *mesh = NULL;
    if (!path) return PERP_ERR_ARG;
    perp_status status = perp__read_bytes(path, MOST_BYTES, &bytes, &length);
    if (status == PERP_ERR_MEMORY) perp__out_of_memory(diag, path);
    if (status == PERP_ERR_FILE)
        perp__refuse(diag, PERP_ERR_FILE, perp__in(path), "cannot be read: %s\n", strerror(errno));
    if (status == PERP_OK)
        status = perp_mesh_parse(bytes ? bytes : "", length, path, scale, mesh, diag);
    free(bytes);
    return status;
}
