/* Sparse LU of random matrices, real and complex: solutions, singular matrices, sparse orders. */

#include "linalg/dense.h"
#include "linalg/sparse_lu.h"
#include "linalg/sparse_order.h"
#include "unit.h"

#include <complex.h>

enum { MOST = 40, ENTRIES = MOST * MOST };

static uint64_t seed = 11;

static double uniform(void)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return 2 * ((double)(seed >> 11) / 9007199254740992.0) - 1;
}

static int below(int n)
{
    int k = (int)(n * (uniform() + 1) / 2);
    return k < n ? k : n - 1;
}

/* A matrix by rows, with room for what is written to it. */
typedef struct matrix {
    int n, start[MOST + 1], column[ENTRIES];
    double value[ENTRIES];
    double complex z[ENTRIES];
} matrix;

static void shuffle(int n, int *order)
{
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = below(i + 1), t = order[i];
        order[i] = order[j], order[j] = t;
    }
}

/* Random entries with probability `part`, and a permutation, which makes it regular nearly always.
 * The columns of a row are in no order. */
static void draw(matrix *A, int n, double part)
{
    int row_of[MOST], columns[MOST], at = 0;
    A->n = n;
    shuffle(n, row_of);
    shuffle(n, columns);
    for (int i = 0; i < n; i++) {
        A->start[i] = at;
        for (int k = 0; k < n; k++) {
            int j = columns[k];
            if (row_of[j] != i && uniform() > 2 * part - 1) continue;
            A->column[at] = j;
            A->value[at] = row_of[j] == i ? 1.5 + uniform() : uniform();
            A->z[at] = CMPLX(A->value[at], uniform());
            at++;
        }
    }
    A->start[n] = at;
}

/* Is b - A x, or b - A' x, at most `share` of the terms of each row? */
static void assert_solves(const matrix *A, const double *x, const double *b, int transposed,
                          double share)
{
    double rest[MOST], terms[MOST];
    for (int i = 0; i < A->n; i++) rest[i] = b[i], terms[i] = fabs(b[i]);
    for (int i = 0; i < A->n; i++)
        for (int e = A->start[i]; e < A->start[i + 1]; e++) {
            int to = transposed ? A->column[e] : i, from = transposed ? i : A->column[e];
            rest[to] -= A->value[e] * x[from];
            terms[to] += fabs(A->value[e] * x[from]);
        }
    for (int i = 0; i < A->n; i++)
        if (!(fabs(rest[i]) <= share * terms[i]))
            fail_msg("n = %d: row %d lacks %.3g of %.3g", A->n, i, rest[i], terms[i]);
}

static perp__sparse_lu *create(const matrix *A)
{
    perp__sparse_lu *lu = perp__sparse_lu_create(A->n, A->start, A->column);
    assert_non_null(lu);
    return lu;
}

/* The pivot share bounds the growth of rounding errors. */
static void factors_solve_random_matrices(void **state)
{
    (void)state;
    static matrix A;
    for (int trial = 0; trial < 6000; trial++) {
        int n = trial % MOST;
        double b[MOST], x[MOST];
        draw(&A, n, (trial % 7 + 1) / (double)(n + 1));
        perp__sparse_lu *lu = create(&A);
        assert_true(perp__sparse_lu_factor(lu, A.value));
        for (int i = 0; i < n; i++) b[i] = uniform();
        memcpy(x, b, sizeof x);
        assert_true(perp__sparse_lu_solve(lu, x, 1));
        assert_solves(&A, x, b, 0, 1e-12);
        memcpy(x, b, sizeof x);
        assert_true(perp__sparse_lu_solve_transposed(lu, x));
        assert_solves(&A, x, b, 1, 1e-10);
        perp__sparse_lu_destroy(lu);
    }
}

/* A[i,j] times row[i] column[j]. */
static void scale(matrix *A, const double *row, const double *column)
{
    for (int i = 0; i < A->n; i++)
        for (int e = A->start[i]; e < A->start[i + 1]; e++)
            A->value[e] = A->value[e] * row[i] * column[A->column[e]];
}

/* Rows in any units give the same bits. */
static void units_of_rows_do_not_matter(void **state)
{
    (void)state;
    static matrix A;
    for (int trial = 0; trial < 2000; trial++) {
        int n = 1 + trial % (MOST - 1);
        double row[MOST], column[MOST], x[MOST], y[MOST];
        draw(&A, n, 3.0 / n);
        perp__sparse_lu *lu = create(&A);
        for (int i = 0; i < n; i++) {
            row[i] = ldexp(1, below(1300) - 650), column[i] = 1;
            x[i] = uniform(), y[i] = x[i] * row[i];
        }
        assert_true(perp__sparse_lu_factor(lu, A.value) && perp__sparse_lu_solve(lu, x, 1));
        scale(&A, row, column);
        assert_true(perp__sparse_lu_factor(lu, A.value) && perp__sparse_lu_solve(lu, y, 1));
        assert_memory_equal(x, y, (size_t)n * sizeof *x);
        perp__sparse_lu_destroy(lu);
    }
}

/* Unknowns in units up to 1e280 apart, of full matrices, whose rows tell what the units are. */
static void units_of_columns_do_not_matter(void **state)
{
    (void)state;
    static matrix A, scaled;
    for (int trial = 0; trial < 1000; trial++) {
        int n = 1 + trial % 12;
        double row[MOST], column[MOST], x[MOST], b[MOST];
        draw(&A, n, 1);
        scaled = A;
        for (int i = 0; i < n; i++) {
            row[i] = pow(10, 10 * uniform()), column[i] = pow(10, 140 * uniform());
            b[i] = uniform(), x[i] = b[i] * row[i];
        }
        scale(&scaled, row, column);
        perp__sparse_lu *lu = create(&scaled);
        assert_true(perp__sparse_lu_factor(lu, scaled.value) && perp__sparse_lu_solve(lu, x, 1));
        for (int i = 0; i < n; i++) x[i] *= column[i];
        assert_solves(&A, x, b, 0, 1e-12);
        perp__sparse_lu_destroy(lu);
    }
}

/* As many edges as nodes of a graph, 1 and -1 in a row each: the rows are dependent, and elimination
 * has no rounding. */
static void draw_graph(matrix *A, int n)
{
    A->n = n;
    for (int i = 0; i < n; i++) {
        int from = below(n), to = (from + 1 + below(n - 1)) % n;
        A->start[i] = 2 * i;
        A->column[2 * i] = from, A->column[2 * i + 1] = to;
        A->value[2 * i] = 1, A->value[2 * i + 1] = -1;
    }
    A->start[n] = 2 * n;
}

/* Rows depend on each other; a row is empty; a column is empty. */
static void singular_matrices_are_refused(void **state)
{
    (void)state;
    static matrix A;
    for (int trial = 0; trial < 3000; trial++) {
        int n = 2 + trial % (MOST - 2), bad = below(n);
        double b[MOST] = {0};
        if (trial % 3 == 0)
            draw_graph(&A, n);
        else
            draw(&A, n, 3.0 / n);
        for (int i = 0; i < n; i++)
            for (int e = A.start[i]; e < A.start[i + 1]; e++)
                if ((trial % 3 == 1 && i == bad) || (trial % 3 == 2 && A.column[e] == bad))
                    A.value[e] = 0;
        perp__sparse_lu *lu = create(&A);
        assert_false(perp__sparse_lu_factor(lu, A.value));
        assert_false(perp__sparse_lu_out_of_memory(lu));
        assert_false(perp__sparse_lu_refactor(lu, A.value));
        assert_false(perp__sparse_lu_solve(lu, b, 1));
        perp__sparse_lu_destroy(lu);
    }
}

/* n = 0; one entry: 0, 4, NaN, infinity; an empty pattern. */
static void small_cases_are_right(void **state)
{
    (void)state;
    static matrix A;
    double x[2] = {3, 5};
    perp__sparse_lu *lu = create(&A); /* n = 0 */
    assert_true(perp__sparse_lu_factor(lu, A.value) && perp__sparse_lu_refactor(lu, A.value));
    assert_true(perp__sparse_lu_solve(lu, x, 1) && perp__sparse_lu_solve_transposed(lu, x));
    perp__sparse_lu_destroy(lu);
    A.n = 1, A.start[1] = 1, A.value[0] = 0;
    lu = create(&A);
    assert_false(perp__sparse_lu_factor(lu, A.value));
    A.value[0] = 4;
    assert_true(perp__sparse_lu_factor(lu, A.value) && perp__sparse_lu_solve(lu, x, 1));
    assert_true(x[0] == 0.75);
    A.value[0] = 0;
    assert_false(perp__sparse_lu_refactor(lu, A.value));
    A.value[0] = (double)NAN;
    assert_false(perp__sparse_lu_factor(lu, A.value));
    A.value[0] = (double)INFINITY;
    assert_false(perp__sparse_lu_factor(lu, A.value));
    perp__sparse_lu_destroy(lu);
    A.start[1] = 0; /* no entry at all */
    lu = create(&A);
    assert_false(perp__sparse_lu_factor(lu, A.value));
    perp__sparse_lu_destroy(lu);
}

/* An entry that fills in, far below others of its row, is no rounding error: 1e-100 beside 1e200. */
static void small_entries_without_cancellation_are_pivots(void **state)
{
    (void)state;
    static matrix A = {.n = 3, .start = {0, 2, 4, 6}, .column = {0, 1, 0, 1, 1, 2}};
    double x[3] = {0, 1e200, 1};
    A.value[0] = -1e300, A.value[1] = 1, A.value[2] = 1e200, A.value[3] = 0;
    A.value[4] = -1e-300, A.value[5] = 1;
    perp__sparse_lu *lu = create(&A);
    assert_true(perp__sparse_lu_factor(lu, A.value) && perp__sparse_lu_solve(lu, x, 1));
    assert_near(x[0], 1, 1e-15);
    assert_near(x[1] / 1e300, 1, 1e-15);
    assert_near(x[2], 2, 1e-15);
    perp__sparse_lu_destroy(lu);
}

/* The diagonal is the pivot down to the share of the largest, else the largest is. */
static void pivots_keep_to_their_share(void **state)
{
    (void)state;
    static matrix A = {.n = 2, .start = {0, 2, 4}, .column = {0, 1, 0, 1}};
    static const double small[] = {0.25, 1e-14};
    for (int k = 0; k < 2; k++) {
        double x[2] = {1 + small[k], 3}; /* of (1, 1) */
        A.value[0] = small[k], A.value[1] = A.value[2] = 1, A.value[3] = 2;
        perp__sparse_lu *lu = create(&A);
        assert_true(perp__sparse_lu_factor(lu, A.value) && perp__sparse_lu_solve(lu, x, 1));
        assert_near(x[0], 1, 1e-15);
        assert_near(x[1], 1, 1e-15);
        perp__sparse_lu_destroy(lu);
    }
}

/* The same values give the same bits. Other values are solved or refused. An entry that was 0 and
 * is not any more is refused. */
static void pivots_serve_again(void **state)
{
    (void)state;
    static matrix A;
    int served = 0;
    for (int trial = 0; trial < 2000; trial++) {
        int n = 1 + trial % (MOST - 1);
        double b[MOST], x[MOST], y[MOST];
        draw(&A, n, 3.0 / n);
        perp__sparse_lu *lu = create(&A);
        assert_false(perp__sparse_lu_refactor(lu, A.value));
        assert_true(perp__sparse_lu_factor(lu, A.value));
        for (int i = 0; i < n; i++) b[i] = uniform();
        memcpy(x, b, sizeof x), memcpy(y, b, sizeof y);
        assert_true(perp__sparse_lu_solve(lu, x, 1) && perp__sparse_lu_refactor(lu, A.value));
        assert_true(perp__sparse_lu_solve(lu, y, 1));
        assert_memory_equal(x, y, (size_t)n * sizeof *x);
        for (int e = 0; e < A.start[n]; e++) A.value[e] *= 1 + 0.3 * uniform();
        if (perp__sparse_lu_refactor(lu, A.value)) {
            memcpy(x, b, sizeof x);
            assert_true(perp__sparse_lu_solve(lu, x, 1));
            assert_solves(&A, x, b, 0, 1e-9);
            served++;
        }
        int e = below(A.start[n]);
        double value = A.value[e];
        A.value[e] = 0;
        if (perp__sparse_lu_factor(lu, A.value)) {
            A.value[e] = value;
            assert_false(perp__sparse_lu_refactor(lu, A.value));
            assert_false(perp__sparse_lu_solve(lu, x, 1));
        }
        perp__sparse_lu_destroy(lu);
    }
    assert_in_range(served, 1800, 2000);
}

/* Several right sides at once give the bits of each alone. */
static void right_sides_are_solved_together(void **state)
{
    (void)state;
    static matrix A;
    for (int trial = 0; trial < 200; trial++) {
        int n = 1 + trial % (MOST - 1), count = trial % 10;
        double x[10 * MOST], y[10 * MOST];
        draw(&A, n, 3.0 / n);
        perp__sparse_lu *lu = create(&A);
        assert_true(perp__sparse_lu_factor(lu, A.value));
        for (int i = 0; i < n * count; i++) x[i] = y[i] = uniform();
        assert_true(perp__sparse_lu_solve(lu, x, count));
        for (int k = 0; k < count; k++) assert_true(perp__sparse_lu_solve(lu, y + k * n, 1));
        assert_memory_equal(x, y, (size_t)(n * count) * sizeof *x);
        perp__sparse_lu_destroy(lu);
    }
}

/* Beside [re -im; im re] by dense factors. */
static void complex_matrices_are_solved(void **state)
{
    (void)state;
    static matrix A;
    static double full[4 * ENTRIES];
    for (int trial = 0; trial < 1000; trial++) {
        int n = trial % MOST, m = 2 * n, swap[2 * MOST];
        double complex x[MOST];
        double y[2 * MOST];
        draw(&A, n, 3.0 / (n + 1));
        memset(full, 0, sizeof full);
        for (int i = 0; i < n; i++)
            for (int e = A.start[i]; e < A.start[i + 1]; e++) {
                int j = A.column[e], r = trial % 2 ? j : i, c = trial % 2 ? i : j;
                full[r + c * m] = full[r + n + (c + n) * m] = creal(A.z[e]);
                full[r + n + c * m] = cimag(A.z[e]), full[r + (c + n) * m] = -cimag(A.z[e]);
            }
        for (int i = 0; i < n; i++) {
            y[i] = uniform(), y[n + i] = uniform();
            x[i] = CMPLX(y[i], y[n + i]);
        }
        assert_int_equal(perp__lu(m, full, m, swap), 0);
        perp__lu_solve(m, full, m, swap, y);
        perp__sparse_zlu *lu = perp__sparse_zlu_create(n, A.start, A.column);
        assert_non_null(lu);
        assert_true(perp__sparse_zlu_factor(lu, A.z));
        if (trial % 3 == 0) assert_true(perp__sparse_zlu_refactor(lu, A.z));
        assert_true(trial % 2 ? perp__sparse_zlu_solve_transposed(lu, x)
                              : perp__sparse_zlu_solve(lu, x, 1));
        double most = 1;
        for (int i = 0; i < m; i++) most = fmax(most, fabs(y[i]));
        for (int i = 0; i < n; i++) {
            assert_near(creal(x[i]), y[i], 1e-9 * most);
            assert_near(cimag(x[i]), y[n + i], 1e-9 * most);
        }
        for (int e = A.start[0]; n > 0 && e < A.start[1]; e++) A.z[e] = 0;
        assert_int_equal(perp__sparse_zlu_factor(lu, A.z), n == 0);
        assert_false(perp__sparse_zlu_out_of_memory(lu));
        perp__sparse_zlu_destroy(lu);
    }
}

/* Orders --------------------------------------------------------------------------------------- */

typedef struct found {
    perp__sparse_order order;
    int row[1000], column[1000], block[1001];
} found;

static void find(int n, const int *start, const int *column, found *f)
{
    f->order.row = f->row, f->order.column = f->column, f->order.block = f->block;
    assert_true(perp__sparse_order_find(n, start, column, &f->order));
    char rows[1000] = {0}, columns[1000] = {0};
    for (int k = 0; k < n; k++) rows[f->row[k]] = columns[f->column[k]] = 1;
    for (int k = 0; k < n; k++) assert_true(rows[k] && columns[k]);
    assert_int_equal(f->block[f->order.nblock], n);
}

/* A permuted triangular matrix has blocks of one row each, and rows need earlier rows only. */
static void triangles_are_found(void **state)
{
    (void)state;
    static matrix A;
    static found f;
    for (int trial = 0; trial < 500; trial++) {
        int n = trial % MOST, row[MOST], column[MOST], place[MOST], at = 0;
        shuffle(n, row), shuffle(n, column);
        for (int i = 0; i < n; i++) {
            A.start[i] = at;
            for (int j = 0; j <= row[i]; j++)
                if (j == row[i] || below(3) == 0) A.column[at++] = column[j];
        }
        A.start[n] = at;
        find(n, A.start, A.column, &f);
        assert_int_equal(f.order.nblock, n);
        assert_int_equal(f.order.rank, n);
        for (int k = 0; k < n; k++) place[f.column[k]] = k;
        for (int k = 0; k < n; k++)
            for (int e = A.start[f.row[k]]; e < A.start[f.row[k] + 1]; e++)
                assert_true(place[A.column[e]] <= k);
    }
}

/* Rows with entries in fewer columns than there are rows. */
static void structural_ranks_are_found(void **state)
{
    (void)state;
    static matrix A;
    static found f;
    for (int trial = 0; trial < 500; trial++) {
        int n = 1 + trial % (MOST - 1), few = below(n + 1), narrow = below(few + 1), row[MOST],
            at = 0;
        shuffle(n, row); /* `few` rows have `narrow` columns, the others all of them */
        for (int i = 0; i < n; i++) {
            A.start[i] = at;
            for (int j = 0; j < (row[i] < few ? narrow : n); j++) A.column[at++] = j;
        }
        A.start[n] = at;
        find(n, A.start, A.column, &f);
        assert_int_equal(f.order.rank, n - few + narrow);
    }
}

/* Entries of the factor of a symmetric pattern, by elimination of sets. */
static long fill_of(int n, const int *start, const int *column, const int *order)
{
    static char full[1000][1000];
    int place[1000];
    long count = 0;
    memset(full, 0, sizeof full);
    for (int k = 0; k < n; k++) place[order[k]] = k;
    for (int i = 0; i < n; i++)
        for (int e = start[i]; e < start[i + 1]; e++) full[place[i]][place[column[e]]] = 1;
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++) {
            if (!full[i][k]) continue;
            count++;
            for (int j = k + 1; j < n; j++) full[i][j] = (char)(full[i][j] | full[k][j]);
        }
    return count;
}

/* A square grid of 31 x 31 points, numbered at random. Natural order fills 29 000 entries, this one 10 004. */
static void grids_fill_little(void **state)
{
    (void)state;
    enum { SIDE = 31, N = SIDE * SIDE };
    static int number[N], point[N], start[N + 1], column[5 * N];
    static found f;
    int at = 0;
    for (int i = 0; i < N; i++) number[i] = i;
    for (int i = N - 1; i > 0; i--) {
        int j = below(i + 1), t = number[i];
        number[i] = number[j], number[j] = t;
    }
    for (int i = 0; i < N; i++) point[number[i]] = i;
    for (int i = 0; i < N; i++) {
        int x = point[i] % SIDE, y = point[i] / SIDE;
        start[i] = at;
        column[at++] = i;
        if (x > 0) column[at++] = number[point[i] - 1];
        if (x < SIDE - 1) column[at++] = number[point[i] + 1];
        if (y > 0) column[at++] = number[point[i] - SIDE];
        if (y < SIDE - 1) column[at++] = number[point[i] + SIDE];
    }
    start[N] = at;
    find(N, start, column, &f);
    assert_int_equal(f.order.nblock, 1);
    long fill = fill_of(N, start, column, f.row);
    if (fill > 10500) fail_msg("%ld entries below the diagonal", fill);
}

/* An arrow matrix does not fill if its hub comes last. With 200 spokes the hub is a dense row. */
static void arrows_do_not_fill(void **state)
{
    (void)state;
    static int start[202], column[700];
    static found f;
    for (int n = 4; n <= 201; n += 197) {
        int at = 0;
        for (int i = 0; i < n; i++) {
            start[i] = at;
            column[at++] = i;
            for (int j = 0; j < n; j++)
                if (j != i && (i == 2 || j == 2)) column[at++] = j;
        }
        start[n] = at;
        find(n, start, column, &f);
        assert_int_equal(fill_of(n, start, column, f.row), n - 1);
    }
}

/* The diagonal of an arrow matrix is kept as pivots while others are at most ten times larger: each of
 * them fills nothing. */
static void factors_fill_little(void **state)
{
    (void)state;
    static int start[101], column[400];
    static double value[400];
    int n = 100, at = 0;
    for (int i = 0; i < n; i++) {
        start[i] = at;
        for (int j = 0; j < n; j++) {
            if (j != i && i != 2 && j != 2) continue;
            column[at] = j;
            value[at++] = i == j ? 1 : 9;
        }
    }
    start[n] = at;
    perp__sparse_lu *lu = perp__sparse_lu_create(n, start, column);
    assert_non_null(lu);
    assert_true(perp__sparse_lu_factor(lu, value));
    assert_int_equal(perp__sparse_lu_fill(lu), at);
    perp__sparse_lu_destroy(lu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_solve_random_matrices),
        cmocka_unit_test(units_of_rows_do_not_matter),
        cmocka_unit_test(units_of_columns_do_not_matter),
        cmocka_unit_test(singular_matrices_are_refused),
        cmocka_unit_test(small_cases_are_right),
        cmocka_unit_test(small_entries_without_cancellation_are_pivots),
        cmocka_unit_test(pivots_keep_to_their_share),
        cmocka_unit_test(pivots_serve_again),
        cmocka_unit_test(right_sides_are_solved_together),
        cmocka_unit_test(complex_matrices_are_solved),
        cmocka_unit_test(triangles_are_found),
        cmocka_unit_test(structural_ranks_are_found),
        cmocka_unit_test(grids_fill_little),
        cmocka_unit_test(arrows_do_not_fill),
        cmocka_unit_test(factors_fill_little)};
    return run_all(tests);
}
