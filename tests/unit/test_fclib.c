/* Files of contact problems: what is written is what is read, in every storage; local and global forms of one problem have one answer, with
 * multipliers too; the verdict is of the file's matrices; what is damaged is refused with its place. */

#include "cli.h"
#include "contacts.h"
#include "structures.h"
#include "unit.h"

#include "external/hdf5.h"
#include "perp/fclib.h"
#include "perp/pile.h"

#include <stdio.h>

enum { MOST = 1 << 16 };

/* A matrix by columns that owns its arrays. */
typedef struct owned {
    perp_fclib_matrix view;
    int *start, *row;
    double *value;
} owned;

/* Of dense columns with leading dimension ld, or of dense rows; zeros left out. */
static owned pack(int rows, int columns, const double *dense, int ld, int by_rows)
{
    owned A = {.start = calloc((size_t)columns + 1, sizeof(int)),
               .row = calloc((size_t)(rows * columns) + 1, sizeof(int)),
               .value = calloc((size_t)(rows * columns) + 1, sizeof(double))};
    int at = 0;
    for (int j = 0; j < columns; j++) {
        for (int i = 0; i < rows; i++) {
            double x = by_rows ? dense[i * ld + j] : dense[j * ld + i];
            if (x == 0) continue;
            A.row[at] = i;
            A.value[at++] = x;
        }
        A.start[j + 1] = at;
    }
    A.view = (perp_fclib_matrix){rows, columns, A.start, A.row, A.value};
    return A;
}

static void drop(owned *A)
{
    free(A->start);
    free(A->row);
    free(A->value);
}

/* Contacts of drawn bodies, as a local and as a global problem. */
typedef struct both {
    contacts c;
    owned W, M, H;
    double *zero;
    perp_fclib_problem local, global;
} both;

static both make(int d, int bodies, int nc, double mu, uint64_t seed)
{
    both b = {.c = contacts_create(d, bodies, nc, mu, 5, 0, seed)};
    const perp_fc *p = &b.c.problem;
    int n = d * nc;
    b.W = pack(n, n, b.c.dense.W, b.c.dense.ldw, 0);
    b.M = pack(p->nv, p->nv, p->M, p->ldm, 0);
    b.H = pack(p->nv, n, p->J, p->ldj, 1); /* J', so rows of it are columns of J */
    b.zero = calloc((size_t)p->nv + 1, sizeof(double));
    b.local = (perp_fclib_problem){
        .dimension = d, .nc = nc, .mu = p->mu, .W = b.W.view, .q = p->q, .title = "drawn"};
    b.global = (perp_fclib_problem){.dimension = d,
                                    .nc = nc,
                                    .mu = p->mu,
                                    .M = b.M.view,
                                    .H = b.H.view,
                                    .f = b.zero,
                                    .w = p->q};
    return b;
}

static void unmake(both *b)
{
    contacts_destroy(&b->c);
    drop(&b->W);
    drop(&b->M);
    drop(&b->H);
    free(b->zero);
}

static int same_matrix(const perp_fclib_matrix *A, const perp_fclib_matrix *B)
{
    if (!A->start || !B->start) return !A->start && !B->start;
    int n = A->start[A->columns];
    return A->rows == B->rows && A->columns == B->columns &&
           memcmp(A->start, B->start, ((size_t)A->columns + 1) * sizeof(int)) == 0 &&
           memcmp(A->row, B->row, (size_t)n * sizeof(int)) == 0 &&
           memcmp(A->value, B->value, (size_t)n * sizeof(double)) == 0;
}

static perp_fclib_info solve_it(const perp_fclib_problem *p, const char *method, double tol,
                                double *r, double *u, double *v, double *l)
{
    perp_fclib_options o = perp_fclib_options_default();
    perp_fclib_info info = {.size = sizeof info};
    perp_diag diag = {0};
    o.method = method, o.tol = tol;
    perp_status status = perp_fclib_solve(p, &o, r, u, v, l, &info, &diag);
    if (status != PERP_OK) fail_msg("%s: %s", perp_status_name(status), diag.text);
    perp_diag_clear(&diag);
    return info;
}

/* Files ------------------------------------------------------------------------------------------ */

static void need_hdf5(void)
{
    both b = make(2, 2, 1, 0.5, 1);
    perp_diag diag = {0};
    perp_status status = perp_fclib_write(cli_path("probe.h5"), &b.local, NULL, &diag);
    perp_diag_clear(&diag);
    unmake(&b);
    if (status == PERP_ERR_UNAVAILABLE) skip_because("HDF5 is not here");
    assert_int_equal(status, PERP_OK);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    need_hdf5();
    for (int k = 0; k < 4; k++) {
        both b = make(k % 2 ? 3 : 2, 3, 4, 0.3, 10 + (uint64_t)k);
        const perp_fclib_problem *p = k < 2 ? &b.local : &b.global;
        double r[12], u[12], v[18];
        for (int i = 0; i < 18; i++) v[i] = i;
        for (int i = 0; i < 12; i++) r[i] = 0.1 * i, u[i] = 1 - i;
        const perp_fclib_point point = {r, u, v, NULL};
        const char *path = cli_path("whole.h5");
        perp_fclib *file;
        assert_int_equal(perp_fclib_write(path, p, &point, NULL), PERP_OK);
        assert_int_equal(perp_fclib_read(path, &file, NULL), PERP_OK);
        const perp_fclib_problem *q = perp_fclib_problem_of(file);
        assert_int_equal(q->dimension, p->dimension);
        assert_int_equal(q->nc, 4);
        assert_true(same_matrix(&p->W, &q->W) && same_matrix(&p->M, &q->M) &&
                    same_matrix(&p->H, &q->H) && same_matrix(&p->V, &q->V));
        size_t n = 4 * (size_t)p->dimension * sizeof(double);
        assert_memory_equal(q->mu, p->mu, 4 * sizeof(double));
        if (k < 2) assert_memory_equal(q->q, p->q, n);
        if (k >= 2) assert_memory_equal(q->w, p->w, n);
        assert_memory_equal(perp_fclib_impulses(file), r, n);
        assert_string_equal(q->title, k < 2 ? "drawn" : "");
        perp_fclib_destroy(file);
        unmake(&b);
    }
}

/* The same matrix as triplets (columns in p, or as FCLIB's header says it, rows in p), by rows, by columns with room to spare. */
static void put_matrix(perp__hdf5 *to, const char *group, const double *dense, int rows,
                       int columns, int nz)
{
    enum { SPARE = 3 };
    static int p[MOST], i[MOST];
    static double x[MOST];
    char path[64];
    int at = 0, by_rows = nz == -2, lines = by_rows ? rows : columns;
    p[0] = 0;
    for (int k = 0; k < lines; k++) {
        for (int e = 0; e < (by_rows ? columns : rows); e++) {
            double value = by_rows ? dense[e * rows + k] : dense[k * rows + e];
            if (value == 0) continue;
            if (nz >= 0) p[at] = nz == 1 ? e : k;
            i[at] = nz == 1 ? k : e;
            x[at++] = value;
        }
        if (nz < 0) p[k + 1] = at;
    }
    int one[] = {at + SPARE, rows, columns, nz < 0 ? nz : at};
    const char *const name[] = {"nzmax", "m", "n", "nz"};
    for (int k = 0; k < 4; k++) {
        snprintf(path, sizeof path, "/%s/%s", group, name[k]);
        assert_int_equal(perp__hdf5_put_ints(to, path, 1, one + k, NULL), PERP_OK);
    }
    snprintf(path, sizeof path, "/%s/p", group);
    assert_int_equal(perp__hdf5_put_ints(to, path, nz < 0 ? lines + 1 : at, p, NULL), PERP_OK);
    snprintf(path, sizeof path, "/%s/i", group);
    assert_int_equal(perp__hdf5_put_ints(to, path, nz < 0 ? at + SPARE : at, i, NULL), PERP_OK);
    snprintf(path, sizeof path, "/%s/x", group);
    assert_int_equal(perp__hdf5_put_doubles(to, path, at + SPARE, x, NULL), PERP_OK);
}

static void every_storage_is_read(void **state)
{
    (void)state;
    need_hdf5();
    both b = make(3, 3, 3, 0.3, 5);
    const perp_fc *fc = &b.c.problem;
    int n = 9, nv = fc->nv, d = 3;
    double *M = calloc((size_t)(nv * nv), sizeof *M), *H = calloc((size_t)(nv * n), sizeof *H);
    assert_true(nv > n); /* rows and columns are told apart */
    for (int j = 0; j < nv; j++)
        for (int i = 0; i < nv; i++) M[j * nv + i] = fc->M[j * fc->ldm + i];
    for (int j = 0; j < n; j++)
        for (int i = 0; i < nv; i++) H[j * nv + i] = fc->J[i * fc->ldj + j];
    for (int nz = -2; nz < 2; nz++) {
        perp__hdf5 *to;
        perp_fclib *file;
        const char *path = cli_path("stored.h5");
        FILE *written = fopen(path, "w+");
        assert_non_null(written);
        assert_int_equal(perp__hdf5_create(written, path, &to, NULL), PERP_OK);
        put_matrix(to, "fclib_global/M", M, nv, nv, nz);
        put_matrix(to, "fclib_global/H", H, nv, n, nz);
        assert_int_equal(perp__hdf5_put_ints(to, "/fclib_global/spacedim", 1, &d, NULL), PERP_OK);
        assert_int_equal(perp__hdf5_put_doubles(to, "/fclib_global/vectors/mu", 3, fc->mu, NULL),
                         PERP_OK);
        assert_int_equal(perp__hdf5_put_doubles(to, "/fclib_global/vectors/w", n, fc->q, NULL),
                         PERP_OK);
        assert_int_equal(perp__hdf5_put_doubles(to, "/fclib_global/vectors/f", nv, b.zero, NULL),
                         PERP_OK);
        assert_int_equal(perp__hdf5_close(to, NULL), PERP_OK);
        fclose(written);
        assert_int_equal(perp_fclib_read(path, &file, NULL), PERP_OK);
        const perp_fclib_problem *p = perp_fclib_problem_of(file);
        assert_true(same_matrix(&p->M, &b.M.view) && same_matrix(&p->H, &b.H.view));
        assert_null(perp_fclib_impulses(file));
        perp_fclib_destroy(file);
    }
    free(M);
    free(H);
    unmake(&b);
}

/* A file in which one array is another; PERP_ERR_DATA and these words. */
static void expect_refused(const both *b, const char *array, long long count, const int *whole,
                           const double *numbers, const char *words)
{
    const perp_fclib_problem *p = &b->local;
    const char *path = cli_path("bad.h5");
    int n = p->dimension * p->nc, nz = -1, entries = p->W.start[n];
    const struct {
        const char *name;
        long long count;
        const int *whole;
        const double *numbers;
    } all[] = {{"/fclib_local/spacedim", 1, &p->dimension, NULL},
               {"/fclib_local/W/m", 1, &n, NULL},
               {"/fclib_local/W/n", 1, &n, NULL},
               {"/fclib_local/W/nz", 1, &nz, NULL},
               {"/fclib_local/W/p", n + 1, p->W.start, NULL},
               {"/fclib_local/W/i", entries, p->W.row, NULL},
               {"/fclib_local/W/x", entries, NULL, p->W.value},
               {"/fclib_local/vectors/mu", p->nc, NULL, p->mu},
               {"/fclib_local/vectors/q", n, NULL, p->q},
               {"/solution/r", n, NULL, p->q},
               {array, 0, NULL, NULL}}; /* what is not among them */
    perp__hdf5 *to;
    perp_fclib *file;
    perp_diag diag = {0};
    FILE *written = fopen(path, "w+");
    assert_non_null(written);
    assert_int_equal(perp__hdf5_create(written, path, &to, NULL), PERP_OK);
    int is_done = *array == 0;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        int is_it = strcmp(all[k].name, array) == 0 && !is_done;
        is_done |= is_it;
        long long m = is_it ? count : all[k].count;
        const int *w = is_it ? whole : all[k].whole;
        const double *x = is_it ? numbers : all[k].numbers;
        if (w) assert_int_equal(perp__hdf5_put_ints(to, all[k].name, m, w, NULL), PERP_OK);
        if (x) assert_int_equal(perp__hdf5_put_doubles(to, all[k].name, m, x, NULL), PERP_OK);
    }
    assert_int_equal(perp__hdf5_close(to, NULL), PERP_OK);
    fclose(written);
    perp_status status = perp_fclib_read(path, &file, &diag);
    if (!words) {
        assert_int_equal(status, PERP_OK);
        perp_fclib_destroy(file);
        return;
    }
    if (status != PERP_ERR_DATA || !strstr(diag.text, words) || !strstr(diag.text, "bad.h5: "))
        fail_msg("%s: '%s' is not in '%s'", perp_status_name(status), words,
                 diag.text ? diag.text : "");
    assert_null(file);
    perp_diag_clear(&diag);
}

static void damage_is_refused_with_its_place(void **state)
{
    (void)state;
    need_hdf5();
    both b = make(2, 3, 3, 0.3, 6);
    int n = 6, entries = b.local.W.start[n], five = 5, minus = -1, many = INT32_MAX, seven = 7;
    int *p = malloc(((size_t)n + 1) * sizeof *p), *i = malloc((size_t)entries * sizeof *i);
    double bad[6] = {1, 2, (double)NAN, 3, 4, 5}, low[3] = {0.5, -0.1, 0};
    memcpy(i, b.local.W.row, (size_t)entries * sizeof *i);
    memcpy(p, b.local.W.start, ((size_t)n + 1) * sizeof *p);
    expect_refused(&b, "", 0, NULL, NULL, NULL);
    expect_refused(&b, "/fclib_local/spacedim", 0, NULL, NULL, "has no '/fclib_local/spacedim'");
    expect_refused(&b, "/fclib_local/spacedim", 1, &five, NULL, "spacedim is 5");
    expect_refused(&b, "/fclib_local/W/x", 0, NULL, NULL, "no array of numbers '/fclib_local/W/x'");
    expect_refused(&b, "/fclib_local/W/x", entries - 1, NULL, b.local.W.value, "entries where");
    expect_refused(&b, "/fclib_local/W/m", 1, &minus, NULL, "/fclib_local/W: has a size");
    expect_refused(&b, "/fclib_local/W/n", 1, &many, NULL, "/fclib_local/W: has a size");
    expect_refused(&b, "/fclib_local/W/n", 1, &seven, NULL, "'/fclib_local/W/p'");
    expect_refused(&b, "/fclib_local/W/m", 1, &five, NULL, "outside the matrix");
    expect_refused(&b, "/fclib_local/W/m", 1, &seven, NULL, "W is 7 x 6");
    expect_refused(&b, "/fclib_local/W/m", 1, NULL, low, "must be an array of whole numbers");
    minus = -3;
    expect_refused(&b, "/fclib_local/W/nz", 1, &minus, NULL, "nz must be -1");
    i[1] = 6;
    expect_refused(&b, "/fclib_local/W/i", entries, i, NULL, "outside the matrix");
    i[1] = -1;
    expect_refused(&b, "/fclib_local/W/i", entries, i, NULL, "outside the matrix");
    p[2] = -5;
    expect_refused(&b, "/fclib_local/W/p", n + 1, p, NULL, "pointers go back");
    p[n] = -2;
    expect_refused(&b, "/fclib_local/W/p", n + 1, p, NULL, "pointers go back");
    expect_refused(&b, "/fclib_local/vectors/q", 6, NULL, bad, "q has an entry that is not finite");
    expect_refused(&b, "/fclib_local/vectors/q", 5, NULL, bad, "entries where 6 are needed");
    expect_refused(&b, "/fclib_local/vectors/mu", 3, NULL, low, "mu[1] is -0.1");
    expect_refused(&b, "/solution/r", 6, NULL, bad, "'/solution/r' has an entry");
    expect_refused(&b, "/solution/r", 3, NULL, low, "'/solution/r' has 3 entries");
    int one = 1;
    expect_refused(&b, "/fclib_local/R", 1, &one, NULL,
                   "has '/fclib_local/R', but no '/fclib_local/V'");
    expect_refused(&b, "/fclib_local/vectors/s", 1, NULL, low, "'/fclib_local/vectors/s', but no");
    expect_refused(&b, "/fclib_global/W", 1, &one, NULL, "both fclib_local and fclib_global");
    perp_fclib *file;
    perp_diag diag = {0};
    assert_int_equal(perp_fclib_read(cli_file("text.h5", "no HDF5"), &file, &diag), PERP_ERR_DATA);
    assert_non_null(strstr(diag.text, "text.h5: is no HDF5 file"));
    assert_int_equal(perp_fclib_read(cli_path("none.h5"), &file, &diag), PERP_ERR_FILE);
    assert_non_null(strstr(diag.text, "none.h5: cannot be read"));
    perp_diag_clear(&diag);
    free(p);
    free(i);
    unmake(&b);
}

/* Arrays of 2e9 entries and more of which nothing is stored, numbers of 2e9 bytes, values in another file, by external storage and by an
 * external link: refused before memory is taken. */
static void what_is_not_in_the_file_is_refused(void **state)
{
    (void)state;
    need_hdf5();
    static const char *const name[] = {"sizes_without_values", "packed_without_values",
                                       "values_elsewhere", "value_of_another_file", "huge_numbers"};
    static const char *const words[] = {"/W/p' has entries that are not stored in this file",
                                        "/W/x' has entries that are not stored in this file",
                                        "/q' has entries that are not stored in this file",
                                        "no array of numbers '/fclib_global/M/x'",
                                        "'/solution/r' must be an array of numbers"};
    for (int k = 0; k < 5; k++) {
        char path[512];
        perp_fclib *file;
        perp_diag diag = {0};
        snprintf(path, sizeof path, PERP_SOURCE_DIR "/tests/data/fclib/%s.h5", name[k]);
        assert_int_equal(perp_fclib_read(path, &file, &diag), PERP_ERR_DATA);
        assert_non_null(strstr(diag.text, words[k]));
        perp_diag_clear(&diag);
    }
}

/* What a terminal would take for orders is not in a title. */
static void titles_are_plain_text(void **state)
{
    (void)state;
    need_hdf5();
    both b = make(2, 2, 1, 0.5, 1);
    perp_fclib *file;
    b.local.title = "a\x1b[2Jb\nc";
    assert_int_equal(perp_fclib_write(cli_path("title.h5"), &b.local, NULL, NULL), PERP_OK);
    assert_int_equal(perp_fclib_read(cli_path("title.h5"), &file, NULL), PERP_OK);
    assert_string_equal(perp_fclib_problem_of(file)->title, "a [2Jb c");
    perp_fclib_destroy(file);
    unmake(&b);
}

/* Cut anywhere, a file is refused or, cut in what nobody reads, the same. */
static void no_cut_file_crashes(void **state)
{
    (void)state;
    need_hdf5();
    both b = make(3, 3, 4, 0.3, 8);
    const char *path = cli_path("cut.h5");
    static char bytes[1 << 18];
    assert_int_equal(perp_fclib_write(path, &b.local, NULL, NULL), PERP_OK);
    FILE *f = fopen(path, "rb");
    size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_true(size > 1000 && size < sizeof bytes);
    for (size_t n = 0; n < size; n += 1 + size / 97) {
        perp_fclib *file;
        f = fopen(path, "wb");
        assert_int_equal(fwrite(bytes, 1, n, f), n);
        fclose(f);
        assert_int_equal(perp_fclib_read(path, &file, NULL), PERP_ERR_DATA);
    }
    unmake(&b);
}

/* Answers ---------------------------------------------------------------------------------------- */

/* Of `cones`. */
static int has_factors(void)
{
    static const int start[] = {0, 1, 2}, row[] = {0, 1};
    static const double one[] = {1, 1}, mu[] = {0.5}, none[] = {0, 0};
    const perp_fclib_problem p = {.dimension = 2,
                                  .nc = 1,
                                  .mu = mu,
                                  .M = {2, 2, start, row, one},
                                  .H = {2, 2, start, row, one},
                                  .f = none,
                                  .w = none};
    perp_fclib_options o = perp_fclib_options_default();
    double r[2];
    o.method = "cones";
    return perp_fclib_solve(&p, &o, r, NULL, NULL, NULL, NULL, NULL) != PERP_ERR_UNAVAILABLE;
}

static void local_and_global_have_one_answer(void **state)
{
    (void)state;
    for (int k = 0; k < 12; k++) {
        int d = k % 2 ? 3 : 2, nc = 2 + k, n = d * nc;
        both b = make(d, 4, nc, k % 3 ? 0.4 : 0, 100 + (uint64_t)k);
        double *x = calloc(6 * (size_t)n + 3 * (size_t)b.c.problem.nv, sizeof *x), *r = x,
               *u = x + n, *v = x + 4 * n;
        const char *const method[] = {"auto", "pile", "nsgs", "cones"};
        double first[64];
        for (int m = 0; m < (has_factors() ? 4 : 3); m++) {
            perp_fclib_info info = solve_it(&b.global, method[m], 1e-9, r, u, v, NULL);
            assert_int_equal(info.outcome, PERP_SOLVED);
            assert_true(info.error <= 1e-9 && info.equations <= 1e-12);
            assert_int_equal(m == 1 || m == 3, info.bodies > 0);
            assert_true(perp_fc_residual(&b.c.dense, r, u + n) < 1e-6);
            for (int i = 0; i < n; i++)
                assert_near(u[i], u[n + i], 1e-9); /* H' v + w and W r + q */
            for (int i = 0; m == 0 && i < n; i++) first[i] = u[i];
            for (int i = 0; i < n && k % 3 == 0; i++) /* with friction they need not be unique */
                assert_near(u[i], first[i], 1e-6);
        }
        perp_fclib_info info = solve_it(&b.local, "auto", 1e-9, r, u, NULL, NULL);
        assert_int_equal(info.outcome, PERP_SOLVED);
        for (int i = 0; i < n && k % 3 == 0; i++) assert_near(u[i], first[i], 1e-6);
        free(x);
        unmake(&b);
    }
}

/* Two masses on a line glued by G' v + b = 0: they press the ground as one. And the same as V, R, s. */
static void multipliers_join_what_they_say(void **state)
{
    (void)state;
    const int two[] = {0, 1, 2}, diagonal[] = {0, 1}, h_start[] = {0, 1, 1}, g_start[] = {0, 2},
              zero[] = {0}, both_rows[] = {0, 1};
    const double mass[] = {2, 3}, one[] = {1}, join[] = {1, -1}, f[] = {-2, -3}, none[] = {0, 0},
                 mu[] = {0.5}, gap[] = {0.5};
    const perp_fclib_problem global = {.dimension = 2,
                                       .nc = 1,
                                       .mu = mu,
                                       .M = {2, 2, two, diagonal, mass},
                                       .H = {2, 2, h_start, zero, one},
                                       .G = {2, 1, g_start, both_rows, join},
                                       .f = f,
                                       .w = none,
                                       .b = gap};
    double r[2], u[2], v[2], l[1];
    perp_fclib_info info = solve_it(&global, "auto", 0, r, u, v, l);
    assert_int_equal(info.outcome, PERP_SOLVED);
    /* v1 = 0, v1 - v2 = -0.5; 3 v2 = -l - 3; 0 = r + l - 2 */
    assert_near(v[0], 0, 1e-14);
    assert_near(v[1], 0.5, 1e-14);
    assert_near(l[0], -4.5, 1e-13);
    assert_near(r[0], 6.5, 1e-13);
    if (has_factors()) {
        info = solve_it(&global, "cones", 1e-9, r, u, v, l);
        assert_int_equal(info.outcome, PERP_SOLVED);
        assert_true(info.equations < 1e-12);
        assert_near(v[0], 0, 1e-9);
        assert_near(v[1], 0.5, 1e-9);
        assert_near(l[0], -4.5, 1e-8);
        assert_near(r[0], 6.5, 1e-8);
    }
    /* the local one with R = -1: l = V' r + s, u = W r + V l + q with W = 1, V = 2, q = -3, s = 0 */
    const int w_start[] = {0, 1, 2}, v_start[] = {0, 1}, r_start[] = {0, 1};
    const double w[] = {1, 1}, V[] = {2}, R[] = {-1}, q[] = {-10, 0}, s[] = {1};
    const perp_fclib_problem local = {.dimension = 2,
                                      .nc = 1,
                                      .mu = mu,
                                      .W = {2, 2, w_start, both_rows, w},
                                      .V = {2, 1, v_start, zero, V},
                                      .R = {1, 1, r_start, zero, R},
                                      .q = q,
                                      .s = s};
    info = solve_it(&local, "auto", 0, r, u, NULL, l);
    assert_int_equal(info.outcome, PERP_SOLVED);
    assert_near(r[0], 1.6, 1e-13); /* r + 2 (2 r + 1) - 10 = 0 */
    assert_near(l[0], 4.2, 1e-13);
    assert_near(u[0], 0, 1e-13);
    assert_true(info.equations < 1e-14);
}

/* An elastic block on a plane, some of it sliding, some sticking, some not in touch: velocities of contacts are unique, and perp/friction.h finds
 * them from W; its verdict takes the forces found without. */
static void elastic_bodies_need_no_w(void **state)
{
    (void)state;
    if (!has_factors()) skip_because("MUMPS is not here");
    structure s;
    double *x = calloc(4 * 108, sizeof *x), *r = x, *u = x + 108, *own = u + 108, *y = own + 108;
    int open = 0, slide = 0, stick = 0;
    assert_true(structure_elastic(5, 5, 3, 0.3, 0.3, &s));
    perp_fclib_info info = solve_it(&s.problem, "cones", 1e-7, r, u, NULL, NULL);
    assert_int_equal(info.outcome, PERP_SOLVED);
    assert_string_equal(info.method, "cones");
    assert_true(info.iterations < 200 && info.bodies == 0);
    assert_int_equal(solve_it(&s.problem, "alart-curnier", 1e-9, y, own, NULL, NULL).outcome,
                     PERP_SOLVED);
    for (int i = 0; i < 36; i++) {
        double t = hypot(u[3 * i + 1], u[3 * i + 2]);
        open += r[3 * i] == 0, slide += r[3 * i] > 0 && t > 1e-7,
            stick += r[3 * i] > 0 && t <= 1e-7;
        for (int a = 0; a < 3; a++) assert_near(u[3 * i + a], own[3 * i + a], 1e-8);
    }
    assert_true(open > 0 && slide > 0 && stick > 0);
    perp_fclib_options o = perp_fclib_options_default();
    o.method = "nsgs", o.tol = 1e-6, o.warm_start = 1;
    memcpy(y, r, 108 * sizeof *y);
    assert_int_equal(perp_fclib_solve(&s.problem, &o, y, NULL, NULL, NULL, &info, NULL), PERP_OK);
    assert_int_equal(info.outcome, PERP_SOLVED);
    assert_int_equal(info.iterations, 0); /* judged, and nothing to do */
    o.method = "cones", o.warm_start = 0, o.max_iter = 3;
    assert_int_equal(perp_fclib_solve(&s.problem, &o, y, NULL, NULL, NULL, &info, NULL), PERP_OK);
    assert_int_equal(info.outcome, PERP_LIMIT);
    assert_true(info.error > 1e-6);
    o.max_iter = 0, o.warm_start = 1;
    memcpy(y, r, 108 * sizeof *y);
    assert_int_equal(perp_fclib_solve(&s.problem, &o, y, NULL, NULL, NULL, &info, NULL), PERP_OK);
    assert_int_equal(info.outcome, PERP_SOLVED);
    assert_int_equal(info.iterations, 0);
    free(x);
    structure_free(&s);
}

/* A wall that is pushed along: forces are not unique; the verdict is that of a pile. In other units and on two threads the same. */
static void walls_are_solved_as_a_whole(void **state)
{
    (void)state;
    if (!has_factors()) skip_because("MUMPS is not here");
    structure s;
    assert_true(structure_wall(6, 5, 0.2, 0.6, &s));
    int n = 3 * s.problem.nc;
    double *x = calloc(3 * (size_t)n, sizeof *x), *y = x + n, *u = y + n;
    perp_fclib_info info = solve_it(&s.problem, "cones", 1e-7, x, u, NULL, NULL);
    assert_int_equal(info.outcome, PERP_SOLVED);
    assert_true(info.bodies > 30);
    perp_fclib_options o = perp_fclib_options_default();
    o.method = "pile", o.tol = 1e-6, o.warm_start = 1;
    memcpy(y, x, (size_t)n * sizeof *y);
    assert_int_equal(perp_fclib_solve(&s.problem, &o, y, NULL, NULL, NULL, &info, NULL), PERP_OK);
    assert_int_equal(info.outcome, PERP_SOLVED);
    assert_int_equal(info.iterations, 0);
    o.method = "cones", o.warm_start = 0, o.tol = 1e-7, o.threads = 2;
    assert_int_equal(perp_fclib_solve(&s.problem, &o, y, NULL, NULL, NULL, &info, NULL), PERP_OK);
    assert_memory_equal(x, y, (size_t)n * sizeof *x);
    free(x);
    structure_free(&s);
}

static void answers_do_not_depend_on_units_and_threads(void **state)
{
    (void)state;
    both b = make(3, 30, 60, 0.5, 77);
    double *x = calloc(4 * 180, sizeof *x), *y = x + 180;
    double *mass = malloc((size_t)b.M.start[b.M.view.columns] * sizeof *mass);
    perp_fclib_options o = perp_fclib_options_default();
    perp_fclib_info one = {.size = sizeof one}, two = {.size = sizeof two};
    o.method = "pile";
    assert_int_equal(perp_fclib_solve(&b.global, &o, x, NULL, NULL, NULL, &one, NULL), PERP_OK);
    assert_int_equal(one.outcome, PERP_SOLVED);
    o.threads = 2;
    assert_int_equal(perp_fclib_solve(&b.global, &o, y, NULL, NULL, NULL, &two, NULL), PERP_OK);
    assert_memory_equal(x, y, 180 * sizeof *x);
    for (int e = 0; e < b.M.start[b.M.view.columns]; e++) mass[e] = b.M.value[e] * 0x1p30;
    perp_fclib_problem heavy = b.global;
    heavy.M.value = mass;
    assert_int_equal(perp_fclib_solve(&heavy, &o, y, NULL, NULL, NULL, &two, NULL), PERP_OK);
    assert_int_equal(two.iterations, one.iterations);
    for (int i = 0; i < 180; i++) assert_true(y[i] == x[i] * 0x1p30);
    free(mass);
    free(x);
    unmake(&b);
}

static void bad_problems_are_refused(void **state)
{
    (void)state;
    both b = make(2, 3, 3, 0.3, 9);
    double r[6] = {0}, zero[9] = {0};
    perp_fclib_options o = perp_fclib_options_default();
    perp_diag diag = {0};
    const struct {
        const char *method, *words;
        perp_status status;
        int is_local;
    } cases[] = {{"pile", "no pile of bodies: it is local", PERP_ERR_DATA, 1},
                 {"sor", "method 'sor' is not known", PERP_ERR_ARG, 1},
                 {"cones", "none for method 'cones': it is local", PERP_ERR_DATA, 1}};
    for (int k = 0; k < 3; k++) {
        o.method = cases[k].method;
        assert_int_equal(perp_fclib_solve(&b.local, &o, r, NULL, NULL, NULL, NULL, &diag),
                         cases[k].status);
        assert_non_null(strstr(diag.text, cases[k].words));
        perp_diag_clear(&diag);
    }
    o.method = "auto";
    perp_fclib_problem p = b.global; /* no mass: v is not determined */
    double *value = calloc((size_t)b.M.start[9] + 1, sizeof *value);
    p.M.value = value;
    assert_int_equal(perp_fclib_solve(&p, &o, r, NULL, NULL, NULL, NULL, &diag), PERP_ERR_DATA);
    assert_non_null(strstr(diag.text, "singular"));
    perp_diag_clear(&diag);
    free(value);
    int *none = calloc(10, sizeof *none); /* and without entries */
    p.M.value = b.M.value, p.M.start = none;
    assert_int_equal(perp_fclib_solve(&p, &o, r, NULL, NULL, NULL, NULL, &diag), PERP_ERR_DATA);
    assert_non_null(strstr(diag.text, "singular"));
    perp_diag_clear(&diag);
    free(none);
    structure elastic; /* M is not symmetric, or a mass is less than nothing */
    assert_true(structure_elastic(1, 1, 1, 0, 0.3, &elastic));
    int entries = elastic.problem.M.start[12];
    double *skew = malloc((size_t)entries * sizeof *skew), force[12] = {0};
    for (int k = 0; k < 2 && has_factors(); k++) {
        for (int e = 0; e < entries; e++) skew[e] = elastic.problem.M.value[e] * (k ? -1 : 1);
        if (k == 0) skew[1] *= 1.001; /* row 1 of column 0 */
        p = elastic.problem, p.M.value = skew, o.method = "cones";
        assert_int_equal(perp_fclib_solve(&p, &o, force, NULL, NULL, NULL, NULL, &diag),
                         PERP_ERR_DATA);
        assert_non_null(strstr(diag.text, "not symmetric and positive definite"));
        perp_diag_clear(&diag);
    }
    free(skew);
    structure_free(&elastic);
    o.method = "auto";
    p = b.global, p.f = NULL;
    assert_int_equal(perp_fclib_solve(&p, &o, r, NULL, NULL, NULL, NULL, &diag), PERP_ERR_ARG);
    assert_non_null(strstr(diag.text, "f is missing"));
    perp_diag_clear(&diag);
    p = b.local, p.W.columns = 5;
    assert_int_equal(perp_fclib_solve(&p, &o, r, NULL, NULL, NULL, NULL, &diag), PERP_ERR_ARG);
    assert_non_null(strstr(diag.text, "W is 6 x 5 where 6 x 6 is needed"));
    perp_diag_clear(&diag);
    p = b.local, p.M = b.M.view;
    assert_int_equal(perp_fclib_solve(&p, &o, r, NULL, NULL, NULL, NULL, &diag), PERP_ERR_ARG);
    perp_diag_clear(&diag);
    o.warm_start = 1, r[3] = (double)INFINITY;
    assert_int_equal(perp_fclib_solve(&b.local, &o, r, NULL, NULL, NULL, NULL, &diag),
                     PERP_ERR_DATA);
    perp_diag_clear(&diag);
    p = (perp_fclib_problem){.dimension = 3, .W = {0, 0, (int[]){0}, NULL, NULL}};
    perp_fclib_info info = {.size = sizeof info}; /* no contacts at all */
    assert_int_equal(perp_fclib_solve(&p, NULL, NULL, NULL, NULL, NULL, &info, NULL), PERP_OK);
    assert_int_equal(info.outcome, PERP_SOLVED);
    (void)zero;
    unmake(&b);
}

static void the_command_reads_and_writes(void **state)
{
    (void)state;
    need_hdf5();
    static const char block[] = "{\"name\": \"box\", \"kind\": \"fc\", \"dimension\": 2, "
                                "\"contacts\": 1, \"W\": [[1, 0], [0, 1]], "
                                "\"q\": [-1, 0.7], \"mu\": [0.5]}";
    char json[512], h5[512]; /* cli_path keeps a few names only */
    snprintf(json, sizeof json, "%s", cli_file("box.json", block));
    snprintf(h5, sizeof h5, "%s", cli_path("box.h5"));
    cli_expect(0, "solved", NULL, "solve '%s' -o '%s'", json, h5);
    cli_expect(0, "box ", NULL, "solve '%s'", h5);
    cli_expect(0, "solved", NULL, "solve '%s' --warm", h5);
    cli_expect(0, "nsgs", NULL, "solve '%s' --method all", h5);
    cli_expect(2, NULL, "none for method 'cones': it is local", "solve '%s' --method cones", h5);
    cli_expect(2, NULL, "no pile of bodies: it is local", "solve '%s' --method pile", h5);
    cli_expect(1, NULL, "'lemke' is no method for it", "solve '%s' --method lemke", h5);
    cli_expect(1, NULL, "must end in .h5", "solve '%s' -o '%s'", json, cli_path("box.csv"));
    cli_expect(1, NULL, "would overwrite", "solve '%s' -o '%s'", h5, h5);
    cli_expect(1, NULL, ".h5 files", "solve '%s' --warm", json);
    cli_expect(3, "limit", "not solved; what was found is in", "solve '%s' -o '%s'",
               cli_file("none.json", "{\"kind\": \"fc\", \"dimension\": 2, \"contacts\": 1, \"W\": "
                                     "[[0, 0], [0, 0]], \"q\": [-1, 0], \"mu\": [0.5]}"),
               cli_path("early.h5"));
    perp_fclib *file;
    assert_int_equal(perp_fclib_read(cli_path("early.h5.partial"), &file, NULL), PERP_OK);
    perp_fclib_destroy(file);
    assert_int_equal(perp_fclib_read(cli_path("early.h5"), &file, NULL), PERP_ERR_FILE);
    cli_expect(2, NULL, "is no HDF5 file", "solve '%s'", cli_file("not.h5", block));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(every_storage_is_read),
        cmocka_unit_test(damage_is_refused_with_its_place),
        cmocka_unit_test(what_is_not_in_the_file_is_refused),
        cmocka_unit_test(titles_are_plain_text),
        cmocka_unit_test(no_cut_file_crashes),
        cmocka_unit_test(local_and_global_have_one_answer),
        cmocka_unit_test(multipliers_join_what_they_say),
        cmocka_unit_test(elastic_bodies_need_no_w),
        cmocka_unit_test(walls_are_solved_as_a_whole),
        cmocka_unit_test(answers_do_not_depend_on_units_and_threads),
        cmocka_unit_test(bad_problems_are_refused),
        cmocka_unit_test(the_command_reads_and_writes),
    };
    return run_all(tests);
}
