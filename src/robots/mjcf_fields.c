/* Height fields of MJCF: heights from the text, or from a file of MuJoCo's own format. They are
 * scaled to go from 0 to the third number of the size. */

#include "base/input.h"
#include "robots/mjcf.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 15 };

void mjcf_read_field(mjcf *m, const perp__xml_node *node)
{
    mjcf_field *f = MJCF_ADD(m, field);
    if (!f) return;
    *f = (mjcf_field){
        .name = perp__xml_get(node, "name"), .file = perp__xml_get(node, "file"), .node = node};
    mjcf_check(m, node);
    perp__read_whole(m->r, node, "nrow", &f->nrow);
    perp__read_whole(m->r, node, "ncol", &f->ncol);
    if (!perp__read_numbers(m->r, node, "size", 4, 4, f->size)) {
        if (!perp__xml_get(node, "size"))
            perp__robot_refuse(m->r, node, NULL, "hfield: size is missing");
    } else if (!(f->size[0] > 0 && f->size[1] > 0 && f->size[2] > 0 && f->size[3] > 0)) {
        perp__robot_refuse(m->r, node, "size", "size: four numbers > 0 are expected");
    }
    if (!f->name && f->file) f->name = mjcf_name_in_path(m, f->file);
}

static uint32_t word_at(const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static double *room_for(mjcf *m, const mjcf_field *f, const char *attribute)
{
    double *x;
    if (f->nrow < 2 || f->ncol < 2 || f->nrow > MOST || f->ncol > MOST) {
        perp__robot_refuse(m->r, f->node, attribute,
                           "hfield: from 2 to %d rows and columns are expected", MOST);
        return NULL;
    }
    PERP_TAKE(&m->r->to->arena, x, f->nrow * f->ncol);
    if (!x) perp__robot_no_memory(m->r);
    return x;
}

/* How many rows, how many columns, then a float of each height, little endian. */
static double *parse_bytes(mjcf *m, mjcf_field *f, const char *bytes, size_t n)
{
    if (n >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0) {
        perp__robot_refuse(m->r, f->node, "file",
                           "file: images are not read here; heights are, as `elevation` or as "
                           "numbers of rows, columns and floats of each");
        return NULL;
    }
    if (n >= 8) {
        uint32_t nrow = word_at(bytes), ncol = word_at(bytes + 4);
        f->nrow = nrow > MOST ? 0 : (int)nrow;
        f->ncol = ncol > MOST ? 0 : (int)ncol;
    }
    size_t expected = 8 + 4 * (size_t)f->nrow * (size_t)f->ncol;
    if (n < 8 || !f->nrow || !f->ncol || n != expected) {
        perp__robot_refuse(m->r, f->node, "file",
                           "file: it has %zu bytes; numbers of rows and columns and a float "
                           "of each height are expected",
                           n);
        return NULL;
    }
    double *x = room_for(m, f, "file");
    for (int i = 0; x && i < f->nrow * f->ncol; i++) {
        uint32_t bits = word_at(bytes + 8 + 4 * (size_t)i);
        float value;
        memcpy(&value, &bits, sizeof value);
        x[i] = (double)value;
        if (!isfinite(x[i])) {
            perp__robot_refuse(m->r, f->node, "file", "file: a height is no finite number");
            return NULL;
        }
    }
    return x;
}

static double *read_heights(mjcf *m, mjcf_field *f)
{
    const char *path = mjcf_asset_path(m, f->file);
    char *bytes = NULL;
    size_t n = 0;
    if (!path) return NULL;
    const char *why;
    perp_status status =
        perp__input_read(path, PERP__REGULAR, (size_t)1 << 30, 0, &bytes, &n, &why);
    double *x = NULL;
    if (status == PERP_ERR_MEMORY)
        perp__robot_no_memory(m->r);
    else if (status != PERP_OK)
        perp__robot_refuse(m->r, f->node, "file", "%s cannot be read: %s", path, why);
    else
        x = parse_bytes(m, f, bytes, n);
    free(bytes);
    return x;
}

static long long count_words(const char *text)
{
    long long n = 0;
    for (int was_space = 1; *text; text++) {
        int is_space = strchr(" \t\r\n", *text) != NULL;
        n += was_space && !is_space;
        was_space = is_space;
    }
    return n;
}

/* The text's first row is the last of the field. */
static double *inline_heights(mjcf *m, mjcf_field *f)
{
    const char *text = perp__xml_get(f->node, "elevation");
    int is_flat = !text;
    long long words = is_flat ? 0 : count_words(text), wanted = (long long)f->nrow * f->ncol;
    if (!is_flat && words < wanted) /* before memory for all is allocated */
    {
        perp__robot_refuse(m->r, f->node, "elevation", "elevation: %lld numbers, %lld expected",
                           words, wanted);
        return NULL;
    }
    if (is_flat && f->nrow >= 2 && f->nrow <= MOST && f->ncol >= 2 && f->ncol <= MOST)
        f->nrow = f->ncol = 2; /* the same surface, whatever memory the numbers ask for */
    double *x = room_for(m, f, NULL);
    int n = f->nrow * f->ncol;
    if (!x) return NULL;
    memset(x, 0, (size_t)n * sizeof *x);
    if (is_flat) return x;
    if (!perp__read_numbers(m->r, f->node, "elevation", n, n, x)) return NULL;
    for (int r = 0; r < f->nrow / 2; r++)
        for (int c = 0; c < f->ncol; c++) {
            double *a = &x[r * f->ncol + c], *b = &x[(f->nrow - 1 - r) * f->ncol + c], kept = *a;
            *a = *b;
            *b = kept;
        }
    return x;
}

static void scale(const mjcf_field *f, double *x)
{
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < f->nrow * f->ncol; i++) {
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    for (int i = 0; i < f->nrow * f->ncol; i++)
        x[i] = high > low ? f->size[2] * ((x[i] - low) / (high - low)) : 0;
}

const perp_field *mjcf_field_of(mjcf *m, const mjcf_geom *g)
{
    int k = MJCF_INDEX_OF(m, field, g->hfield);
    mjcf_field *f = k < 0 ? NULL : &m->field[k];
    if (!f) {
        perp__robot_refuse(m->r, g->node, g->hfield ? "hfield" : NULL,
                           "geom: there is no height field '%.60s'", g->hfield ? g->hfield : "");
        return NULL;
    }
    if (f->field || f->is_bad) return f->field;
    double *x = f->file ? read_heights(m, f) : inline_heights(m, f);
    f->is_bad = 1;
    if (!x || m->r->status != PERP_OK) return NULL;
    scale(f, x);
    perp_field *field;
    if (perp_field_create(x, f->ncol, f->nrow, f->size, &field, NULL) != PERP_OK) {
        perp__robot_no_memory(m->r);
        return NULL;
    }
    if (perp__add_field(m->r, field) < 0) return NULL;
    f->is_bad = 0;
    return f->field = field;
}
