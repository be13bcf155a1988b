/* Points and triangles of Wavefront OBJ and STL files. */

#include "base/base.h"
#include "base/arena.h"
#include "base/input.h"
#include "base/number.h"
#include "bodies/geometry.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 30, HEAD = 84, TRIANGLE = 50 };

typedef struct reader {
    const char *name, *at, *end;
    long line;
    perp__surface is;
    int cpoint, ccorner;
    int wants_triangles, is_stl;
    double scale[3];
    perp_diag *diag;
} reader;

static perp_status keep(reader *r, const double *x)
{
    perp__surface *s = &r->is;
    if (!perp__grow(&s->point, &r->cpoint, 3 * s->npoint + 3, sizeof *s->point))
        return perp__out_of_memory(r->diag, r->name);
    for (int k = 0; k < 3; k++) s->point[3 * s->npoint + k] = x[k] * r->scale[k];
    s->npoint++;
    return PERP_OK;
}

static perp_status keep_triangle(reader *r, int a, int b, int c)
{
    perp__surface *s = &r->is;
    if (!perp__grow(&s->corner, &r->ccorner, 3 * s->ntriangle + 3, sizeof *s->corner))
        return perp__out_of_memory(r->diag, r->name);
    int *corner = s->corner + 3 * s->ntriangle++;
    corner[0] = a;
    corner[1] = b;
    corner[2] = c;
    return PERP_OK;
}

/* STL has no other points than corners, three by three. */
static perp_status keep_stl_triangles(reader *r)
{
    perp_status status = PERP_OK;
    for (int i = 0; i + 2 < r->is.npoint && r->wants_triangles && status == PERP_OK; i += 3)
        status = keep_triangle(r, i, i + 1, i + 2);
    return status;
}

/* Binary STL: a head of 80 bytes, how many triangles, and of each the normal, three corners, two
 * bytes; little endian. */
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

/* The number of a corner, `7/1/3` or, counted back, `-1`; from 0. Returns -1: it names no point. */
static int read_corner(reader *r)
{
    long k = 0;
    int is_back = *r->at == '-';
    for (r->at += is_back; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        k = k > r->is.npoint ? k : 10 * k + (*r->at - '0');
    while (r->at < r->end && !is_blank(*r->at) && *r->at != '\n') r->at++;
    return k < 1 || k > r->is.npoint ? -1 : (int)(is_back ? r->is.npoint - k : k - 1);
}

/* `f 1 2 3 ..`: triangles from its first corner. */
static perp_status read_face(reader *r)
{
    const char *line = r->at;
    int first = -1, last = -1, n = 0;
    for (r->at++;; n++) {
        while (r->at < r->end && is_blank(*r->at)) r->at++;
        if (r->at == r->end || *r->at == '\n') return PERP_OK;
        long column = (long)(r->at - line) + 1;
        int k = read_corner(r);
        if (k < 0)
            return perp__refuse(r->diag, PERP_ERR_DATA, (perp__place){r->name, r->line, column},
                                "a corner of a face is one of the %d points before it\n",
                                r->is.npoint);
        perp_status status = n >= 2 ? keep_triangle(r, first, last, k) : PERP_OK;
        if (status != PERP_OK) return status;
        if (n == 0) first = k;
        last = k;
    }
}

/* The lines `v x y z`, `f a b c` of OBJ, `vertex x y z` of STL. */
static perp_status read_text(reader *r)
{
    for (r->line = 1; r->at < r->end; r->line++) {
        while (r->at < r->end && is_blank(*r->at)) r->at++;
        perp_status status = PERP_OK;
        r->is_stl |= begins_with(r, "vertex");
        if (begins_with(r, "v") || begins_with(r, "vertex"))
            status = read_point(r);
        else if (r->wants_triangles && begins_with(r, "f"))
            status = read_face(r);
        if (status != PERP_OK) return status;
        const char *next = memchr(r->at, '\n', (size_t)(r->end - r->at));
        r->at = next ? next + 1 : r->end;
    }
    return PERP_OK;
}

static perp_status parse(reader *r, size_t length)
{
    int is_stl = is_binary(r->at, length);
    perp_status status = is_stl ? read_binary(r, length) : read_text(r);
    if (status == PERP_OK && r->is.npoint < 4)
        status =
            perp__refuse(r->diag, PERP_ERR_DATA, perp__in(r->name),
                         "%d points: a mesh has lines `v x y z` (OBJ) or triangles (STL), of at "
                         "least four points\n",
                         r->is.npoint);
    if (status == PERP_OK && (is_stl || r->is_stl)) status = keep_stl_triangles(r);
    return status;
}

void perp__surface_clear(perp__surface *surface)
{
    free(surface->point);
    free(surface->corner);
    *surface = (perp__surface){0};
}

perp_status perp_mesh_parse(const char *bytes, size_t length, const char *name,
                            const double scale[3], perp_mesh **mesh, perp_diag *diag)
{
    if (!mesh) return PERP_ERR_ARG;
    *mesh = NULL;
    if (!bytes || (scale && !isfinite(scale[0] + scale[1] + scale[2]))) return PERP_ERR_ARG;
    reader r = {.name = name, .at = bytes, .end = bytes + length, .diag = diag};
    for (int k = 0; k < 3; k++) r.scale[k] = scale ? scale[k] : 1;
    perp_status status = parse(&r, length);
    if (status == PERP_OK) status = perp_mesh_hull(r.is.point, r.is.npoint, mesh, diag);
    perp__surface_clear(&r.is);
    return status;
}

static perp_status read_file(const char *path, char **bytes, size_t *length, perp_diag *diag)
{
    const char *why;
    perp_status status = perp__input_read(path, PERP__REGULAR, MOST_BYTES, 0, bytes, length, &why);
    if (status == PERP_ERR_MEMORY) perp__out_of_memory(diag, path);
    if (status == PERP_ERR_FILE || status == PERP_ERR_DATA)
        perp__refuse(diag, status, perp__in(path), "cannot be read: %s\n", why);
    return status;
}

perp_status perp__surface_read(const char *path, perp__surface *surface, perp_diag *diag)
{
    char *bytes;
    size_t length;
    *surface = (perp__surface){0};
    perp_status status = read_file(path, &bytes, &length, diag);
    if (status != PERP_OK) return status;
    reader r = {.name = path, .wants_triangles = 1, .scale = {1, 1, 1}, .diag = diag};
    r.at = bytes ? bytes : "";
    r.end = r.at + length;
    status = parse(&r, length);
    *surface = r.is;
    if (status != PERP_OK) perp__surface_clear(surface);
    free(bytes);
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
    perp_status status = read_file(path, &bytes, &length, diag);
    if (status == PERP_OK)
        status = perp_mesh_parse(bytes ? bytes : "", length, path, scale, mesh, diag);
    free(bytes);
    return status;
}
