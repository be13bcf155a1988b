/* Files of the Friction Contact Library: groups fclib_local and fclib_global with matrices,
 * vectors, info; group solution. Matrices come as triplets, by rows or by columns, and are kept by
 * columns. They are written by columns. */

#include "base/output.h"
#include "external/hdf5.h"
#include "fclib/fclib.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PATH_ROOM = 64, BY_COLUMNS = -1, BY_ROWS = -2 };

struct perp_fclib {
    perp__arena arena;
    perp_fclib_problem problem;
    const double *impulses;
    char title[256];
};

void perp_fclib_destroy(perp_fclib *file)
{
    if (!file) return;
    perp__arena arena = file->arena; /* which holds the file itself */
    perp__arena_clear(&arena);
}

const perp_fclib_problem *perp_fclib_problem_of(const perp_fclib *file)
{
    return &file->problem;
}

const double *perp_fclib_impulses(const perp_fclib *file)
{
    return file->impulses;
}

/* Reading -------------------------------------------------------------------------------------- */

typedef struct reader {
    perp__hdf5 *file;
    const char *name, *group; /* "fclib_local" */
    perp__arena *arena;
    perp_diag *diag;
    perp_status status; /* of the first fault */
} reader;

static const char *path_of(const reader *r, const char *part, const char *name,
                           char room[PATH_ROOM])
{
    snprintf(room, PATH_ROOM, "/%s/%s%s%s", r->group, part, *name ? "/" : "", name);
    return room;
}

static int fail(reader *r, perp_status status)
{
    if (r->status == PERP_OK) r->status = status;
    return 0;
}

static int one(reader *r, const char *part, const char *name, int *out)
{
    char path[PATH_ROOM];
    perp_status status = perp__hdf5_ints(r->file, path_of(r, part, name, path), 1, 0, out, r->diag);
    return status == PERP_OK || fail(r, status);
}

/* Has an array `count` entries, or more where FCLIB writes those of its room, too? */
static int is_long(reader *r, const char *part, const char *name, long long count, int or_more)
{
    char path[PATH_ROOM];
    long long n = perp__hdf5_count(r->file, path_of(r, part, name, path));
    perp__place place = perp__in(r->name);
    if (n == count || (or_more && n > count)) return 1;
    if (n == -1)
        return fail(
            r, perp__refuse(r->diag, PERP_ERR_DATA, place, "has no array of numbers '%s'\n", path));
    if (n < 0)
        return fail(r, perp__refuse(r->diag, PERP_ERR_DATA, place,
                                    "'%s' has entries that are not stored in this file\n", path));
    return fail(r, perp__refuse(r->diag, PERP_ERR_DATA, place,
                                "'%s' has %lld entries where %lld are needed\n", path, n, count));
}

/* The first `count`. */
static int *whole_numbers(reader *r, const char *part, const char *name, long long count)
{
    char path[PATH_ROOM];
    int *out;
    if (!is_long(r, part, name, count, 1)) return NULL;
    PERP_TAKE(r->arena, out, count + 1);
    perp_status status = r->arena->failed ? PERP_ERR_MEMORY
                                          : perp__hdf5_ints(r->file, path_of(r, part, name, path),
                                                            count, 1, out, r->diag);
    return status == PERP_OK ? out : (fail(r, status), NULL);
}

static double *numbers(reader *r, const char *part, const char *name, long long count, int or_more)
{
    char path[PATH_ROOM];
    double *out;
    if (!is_long(r, part, name, count, or_more)) return NULL;
    PERP_TAKE(r->arena, out, count + 1);
    perp_status status = r->arena->failed
                             ? PERP_ERR_MEMORY
                             : perp__hdf5_doubles(r->file, path_of(r, part, name, path), count,
                                                  or_more, out, r->diag);
    return status == PERP_OK ? out : (fail(r, status), NULL);
}

/* A vector has exactly as many entries. */
static const double *vector(reader *r, const char *name, int count)
{
    return numbers(r, "vectors", name, count, 0);
}

/* A matrix as it stands in the file. */
typedef struct stored {
    int m, n, nz; /* nz: entries of a triplet, or BY_COLUMNS, BY_ROWS */
    const int *p, *i;
    const double *x;
} stored;

static int refuse_matrix(reader *r, const char *name, const char *what)
{
    return fail(r, perp__refuse(r->diag, PERP_ERR_DATA, perp__in(r->name), "/%s/%s: %s\n", r->group,
                                name, what));
}

/* Pointers go up from 0 and indices are below `most`. */
static int are_sound(int count, const int *pointer, const int *index, int most)
{
    if (pointer[0] != 0) return 0;
    for (int j = 0; j < count; j++)
        if (pointer[j + 1] < pointer[j]) return 0;
    for (int e = 0; e < pointer[count]; e++)
        if (index[e] < 0 || index[e] >= most) return 0;
    return 1;
}

static int are_below(int count, const int *index, int most)
{
    for (int e = 0; e < count; e++)
        if (index[e] < 0 || index[e] >= most) return 0;
    return 1;
}

/* A triplet has its columns in p and its rows in i, as in CSparse and Siconos. The header of FCLIB
 * states the opposite, which is taken if it alone fits. */
static int take_triplet(reader *r, const char *name, const stored *s, perp_fclib_matrix *out)
{
    const int *column = s->p, *row = s->i;
    if (!are_below(s->nz, column, s->n) || !are_below(s->nz, row, s->m)) {
        column = s->i;
        row = s->p;
    }
    if (!are_below(s->nz, column, s->n) || !are_below(s->nz, row, s->m))
        return refuse_matrix(r, name, "an entry is outside the matrix");
    int *start, *to;
    double *value;
    PERP_TAKE(r->arena, start, s->n + 2);
    PERP_TAKE(r->arena, to, s->nz + 1);
    PERP_TAKE(r->arena, value, s->nz + 1);
    if (r->arena->failed) return fail(r, PERP_ERR_MEMORY);
    for (int e = 0; e < s->nz; e++) start[column[e] + 2]++;
    for (int j = 0; j < s->n; j++) start[j + 2] += start[j + 1];
    for (int e = 0; e < s->nz; e++) {
        int at = start[column[e] + 1]++;
        to[at] = row[e];
        value[at] = s->x[e];
    }
    *out = (perp_fclib_matrix){s->m, s->n, start, to, value};
    return 1;
}

static int take_compressed(reader *r, const char *name, const stored *s, perp_fclib_matrix *out)
{
    int by_rows = s->nz == BY_ROWS, count = by_rows ? s->m : s->n;
    if (!are_sound(count, s->p, s->i, by_rows ? s->n : s->m))
        return refuse_matrix(r, name, "its pointers go back, or an entry is outside the matrix");
    perp_fclib_matrix as_is = {by_rows ? s->n : s->m, count, s->p, s->i, s->x};
    if (!by_rows)
        *out = as_is;
    else if (!perp__fclib_transpose(&as_is, r->arena, out))
        return fail(r, PERP_ERR_MEMORY);
    return 1;
}

static int matrix(reader *r, const char *name, perp_fclib_matrix *out)
{
    stored s = {0};
    if (!one(r, name, "m", &s.m) || !one(r, name, "n", &s.n) || !one(r, name, "nz", &s.nz))
        return 0;
    if (s.m < 0 || s.n < 0 || s.m == INT_MAX || s.n == INT_MAX)
        return refuse_matrix(r, name, "has a size out of range");
    if (s.nz < BY_ROWS)
        return refuse_matrix(r, name,
                             "nz must be -1 (by columns), -2 (by rows) or a number of triplets");
    int pointers = s.nz;
    if (s.nz == BY_COLUMNS)
        pointers = s.n + 1;
    else if (s.nz == BY_ROWS)
        pointers = s.m + 1;
    s.p = whole_numbers(r, name, "p", pointers);
    if (!s.p) return 0;
    int entries = s.nz >= 0 ? s.nz : s.p[pointers - 1];
    if (entries < 0) return refuse_matrix(r, name, "its pointers go back");
    s.i = whole_numbers(r, name, "i", entries);
    s.x = s.i ? numbers(r, name, "x", entries, 1) : NULL;
    if (!s.x) return 0;
    return s.nz >= 0 ? take_triplet(r, name, &s, out) : take_compressed(r, name, &s, out);
}

static int has(const reader *r, const char *name)
{
    char path[PATH_ROOM];
    return perp__hdf5_has(r->file, path_of(r, name, "", path));
}

/* An array is there for nothing where `needed` is missing. */
static int is_alone(reader *r, const char *part, const char *name, const char *needed)
{
    char path[PATH_ROOM];
    if (!perp__hdf5_has(r->file, path_of(r, part, name, path))) return 0;
    perp__refuse(r->diag, PERP_ERR_DATA, perp__in(r->name), "has '%s', but no '/%s/%s'\n", path,
                 r->group, needed);
    return !fail(r, PERP_ERR_DATA);
}

/* The number of contacts of n rows. */
static int count_contacts(reader *r, perp_fclib_problem *p, const char *name, int n)
{
    if (p->dimension != 2 && p->dimension != 3)
        return fail(r, perp__refuse(r->diag, PERP_ERR_DATA, perp__in(r->name),
                                    "/%s/spacedim is %d; it must be 2 or 3\n", r->group,
                                    p->dimension));
    if (n % p->dimension != 0) return refuse_matrix(r, name, "its size is no multiple of spacedim");
    p->nc = n / p->dimension;
    return 1;
}

static int read_local(reader *r, perp_fclib_problem *p)
{
    if (!one(r, "spacedim", "", &p->dimension) || !matrix(r, "W", &p->W) ||
        !count_contacts(r, p, "W", p->W.columns))
        return 0;
    if (!has(r, "V") && (is_alone(r, "R", "", "V") || is_alone(r, "vectors", "s", "V"))) return 0;
    if (has(r, "V") && (!matrix(r, "V", &p->V) || !matrix(r, "R", &p->R))) return 0;
    p->mu = vector(r, "mu", p->nc);
    p->q = p->mu ? vector(r, "q", p->W.columns) : NULL;
    if (p->V.start && p->q) p->s = vector(r, "s", p->V.columns);
    return r->status == PERP_OK;
}

static int read_global(reader *r, perp_fclib_problem *p)
{
    if (!one(r, "spacedim", "", &p->dimension) || !matrix(r, "M", &p->M) ||
        !matrix(r, "H", &p->H) || !count_contacts(r, p, "H", p->H.columns))
        return 0;
    if (!has(r, "G") && is_alone(r, "vectors", "b", "G")) return 0;
    if (has(r, "G") && !matrix(r, "G", &p->G)) return 0;
    p->mu = vector(r, "mu", p->nc);
    p->f = p->mu ? vector(r, "f", p->M.columns) : NULL;
    p->w = p->f ? vector(r, "w", p->H.columns) : NULL;
    if (p->G.start && p->w) p->b = vector(r, "b", p->G.columns);
    return r->status == PERP_OK;
}

/* Which problem it is; the status says if there is none. */
static perp_status read_problem(reader *r, perp_fclib *file)
{
    static const char *const known[] = {"fclib_local", "fclib_global"};
    char path[PATH_ROOM];
    if (perp__hdf5_has(r->file, "/fclib_local") && perp__hdf5_has(r->file, "/fclib_global"))
        return perp__refuse(r->diag, PERP_ERR_DATA, perp__in(r->name),
                            "has both fclib_local and fclib_global: which problem is meant?\n");
    for (int k = 0; k < 2; k++) {
        r->group = known[k];
        snprintf(path, sizeof path, "/%s", r->group);
        if (!perp__hdf5_has(r->file, path)) continue;
        if (!(k == 0 ? read_local(r, &file->problem) : read_global(r, &file->problem)))
            return r->status;
        perp__hdf5_text(r->file, path_of(r, "info", "title", path), sizeof file->title,
                        file->title);
        for (char *c = file->title; *c; c++) /* it is printed */
            if ((unsigned char)*c < ' ' || *c == 0x7f) *c = ' ';
        file->problem.title = file->title;
        return PERP_OK;
    }
    if (perp__hdf5_has(r->file, "/fclib_global_rolling"))
        return perp__refuse(r->diag, PERP_ERR_DATA, perp__in(r->name),
                            "is a problem with rolling friction, which perp does not solve\n");
    return perp__refuse(r->diag, PERP_ERR_DATA, perp__in(r->name),
                        "has no group fclib_local or fclib_global\n");
}

static perp_status read_impulses(reader *r, perp_fclib *file)
{
    int n = file->problem.nc * file->problem.dimension;
    double *out;
    if (!perp__hdf5_has(r->file, "/solution/r")) return PERP_OK;
    PERP_TAKE(r->arena, out, n + 1);
    if (r->arena->failed) return PERP_ERR_MEMORY;
    perp_status status = perp__hdf5_doubles(r->file, "/solution/r", n, 0, out, r->diag);
    for (int i = 0; status == PERP_OK && i < n; i++)
        if (!isfinite(out[i]))
            status = perp__refuse(r->diag, PERP_ERR_DATA, perp__in(r->name),
                                  "'/solution/r' has an entry that is not finite\n");
    if (status == PERP_OK) file->impulses = out;
    return status;
}

/* Sizes and entries of all of it. Its words get the name of the file. */
static perp_status check(const reader *r, const perp_fclib *file)
{
    perp_diag said = {0};
    perp_status status = PERP_OK;
    if (!perp__fclib_is_shaped(&file->problem, &said))
        status = perp__refuse(r->diag, PERP_ERR_DATA, perp__in(r->name), "/%s: %s", r->group,
                              said.text ? said.text : "");
    perp_diag_clear(&said);
    return status;
}

perp_status perp_fclib_read(const char *path, perp_fclib **out, perp_diag *diag)
{
    if (out) *out = NULL;
    if (!path || !out) return PERP_ERR_ARG;
    perp__arena arena = {0};
    perp_fclib *file;
    reader r = {.name = path, .arena = &arena, .diag = diag};
    PERP_TAKE(&arena, file, 1);
    perp_status status = file ? perp__hdf5_open(path, &r.file, diag) : PERP_ERR_MEMORY;
    if (status == PERP_OK) {
        status = read_problem(&r, file);
        if (status == PERP_OK) status = check(&r, file);
        if (status == PERP_OK) status = read_impulses(&r, file);
        perp__hdf5_close(r.file, NULL);
    }
    if (status != PERP_OK) {
        perp__arena_clear(&arena);
        return status == PERP_ERR_MEMORY ? perp__out_of_memory(diag, path) : status;
    }
    file->arena = arena;
    *out = file;
    return PERP_OK;
}

/* Writing -------------------------------------------------------------------------------------- */

typedef struct writer {
    perp__hdf5 *file;
    const char *group;
    perp_diag *diag;
    perp_status status; /* of the first fault; nothing is written after it */
} writer;

static void put_ints(writer *w, const char *part, const char *name, long long n, const int *x)
{
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "/%s/%s%s%s", w->group, part, *name ? "/" : "", name);
    if (w->status == PERP_OK) w->status = perp__hdf5_put_ints(w->file, path, n, x, w->diag);
}

static void put_doubles(writer *w, const char *part, const char *name, long long n, const double *x)
{
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "/%s/%s/%s", w->group, part, name);
    if (w->status == PERP_OK) w->status = perp__hdf5_put_doubles(w->file, path, n, x, w->diag);
}

static void put_matrix(writer *w, const char *name, const perp_fclib_matrix *A)
{
    static const int by_columns = BY_COLUMNS, no_row = 0;
    static const double no_value = 0;
    if (!A->start) return;
    int entries = A->start[A->columns];
    put_ints(w, name, "nzmax", 1, &entries);
    put_ints(w, name, "m", 1, &A->rows);
    put_ints(w, name, "n", 1, &A->columns);
    put_ints(w, name, "nz", 1, &by_columns);
    put_ints(w, name, "p", A->columns + 1, A->start);
    put_ints(w, name, "i", entries, entries > 0 ? A->row : &no_row);
    put_doubles(w, name, "x", entries, entries > 0 ? A->value : &no_value);
}

static void put_problem(writer *w, const perp_fclib_problem *p)
{
    int n = p->nc * p->dimension, nv = perp_fclib_velocities(p), nl = perp_fclib_multipliers(p);
    int global = perp__fclib_is_global(p);
    w->group = global ? "fclib_global" : "fclib_local";
    put_ints(w, "spacedim", "", 1, &p->dimension);
    put_matrix(w, "W", &p->W);
    put_matrix(w, "V", &p->V);
    put_matrix(w, "R", &p->R);
    put_matrix(w, "M", &p->M);
    put_matrix(w, "H", &p->H);
    put_matrix(w, "G", &p->G);
    put_doubles(w, "vectors", "mu", p->nc, p->mu);
    if (global) {
        put_doubles(w, "vectors", "f", nv, p->f);
        put_doubles(w, "vectors", "w", n, p->w);
        if (p->G.start) put_doubles(w, "vectors", "b", nl, p->b);
    } else {
        put_doubles(w, "vectors", "q", n, p->q);
        if (p->V.start) put_doubles(w, "vectors", "s", nl, p->s);
    }
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "/%s/info/title", w->group);
    if (p->title && *p->title && w->status == PERP_OK)
        w->status = perp__hdf5_put_text(w->file, path, p->title, w->diag);
}

/* Where there are none, FCLIB has no array. */
static void put_point(writer *w, const char *name, int n, const double *x)
{
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "/solution/%s", name);
    if (n > 0 && w->status == PERP_OK)
        w->status = perp__hdf5_put_doubles(w->file, path, n, x, w->diag);
}

static perp_status write_all(FILE *to, const char *name, const perp_fclib_problem *p,
                             const perp_fclib_point *solution, perp_diag *diag)
{
    writer w = {.diag = diag};
    w.status = perp__hdf5_create(to, name, &w.file, diag);
    if (w.status != PERP_OK) return w.status;
    put_problem(&w, p);
    if (solution) {
        int n = p->nc * p->dimension;
        put_point(&w, "r", n, solution->r);
        put_point(&w, "u", n, solution->u);
        put_point(&w, "v", perp_fclib_velocities(p), solution->v);
        put_point(&w, "l", perp_fclib_multipliers(p), solution->l);
    }
    perp_status closed = perp__hdf5_close(w.file, w.status == PERP_OK ? diag : NULL);
    return w.status == PERP_OK ? closed : w.status;
}

static int is_point(const perp_fclib_problem *p, const perp_fclib_point *s)
{
    return !s || ((p->nc == 0 || (s->r && s->u)) && (perp_fclib_velocities(p) == 0 || s->v) &&
                  (perp_fclib_multipliers(p) == 0 || s->l));
}

perp_status perp_fclib_write(const char *path, const perp_fclib_problem *problem,
                             const perp_fclib_point *solution, perp_diag *diag)
{
    if (!path || !problem || !perp__fclib_is_shaped(problem, diag) || !is_point(problem, solution))
        return PERP_ERR_ARG;
    perp__output output;
    if (!perp__output_open(&output, path, 0)) return perp__cannot_write(diag, path);
    if (!output.part) {
        perp__output_close(&output, PERP__DISCARD);
        return perp__refuse(diag, PERP_ERR_FILE, perp__in(path),
                            "an HDF5 file can only be written where files are\n");
    }
    perp_status status = write_all(output.file, path, problem, solution, diag);
    if (!perp__output_close(&output, status == PERP_OK ? PERP__REPLACE : PERP__DISCARD) &&
        status == PERP_OK)
        return perp__cannot_write(diag, path);
    return status == PERP_ERR_MEMORY ? perp__out_of_memory(diag, path) : status;
}
