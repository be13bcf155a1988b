/* Tables whose rows are numbers: what is written, read back, cut short, or damaged at any byte. */

#include "cli.h"
#include "unit.h"

#include "perp/trajectory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"t", "r[1,2]", "v"}, *const units[] = {"s", NULL, "m/s"};
static const double rows[][3] = {{0, 1.0 / 3, -5e-324}, {0.1, (double)NAN, -0.0}, {0.2, 1e308, -2}};
enum { ROWS = 3, COLUMNS = 3 };

/* Begun with a comment, ended by another; stopped: nullable. */
static void write_table(const char *path, const char *stopped)
{
    perp_trajectory_writer *w;
    assert_int_equal(perp_trajectory_writer_create(path, &w, NULL), PERP_OK);
    assert_int_equal(perp_trajectory_writer_comment(w, "before"), PERP_OK);
    assert_int_equal(perp_trajectory_writer_header(w, COLUMNS, names, units), PERP_OK);
    for (int k = 0; k < ROWS; k++)
        assert_int_equal(perp_trajectory_writer_row(w, rows[k]), PERP_OK);
    assert_int_equal(perp_trajectory_writer_comment(w, "behind"), PERP_OK);
    assert_int_equal(perp_trajectory_writer_close(w, stopped, NULL), PERP_OK);
}

static char *written(size_t *length)
{
    write_table(cli_path("a.perpbin"), NULL);
    FILE *file = fopen(cli_path("a.perpbin"), "rb");
    char *bytes = malloc(4096);
    assert_true(file && bytes);
    *length = fread(bytes, 1, 4096, file);
    fclose(file);
    return bytes;
}

/* Where the first row begins. */
static size_t first_row(const char *bytes, size_t length)
{
    for (size_t i = 0; i + 8 <= length; i++)
        if (memcmp(bytes + i, "<rows:\xff\xff", 8) == 0) return i + 8;
    fail_msg("no mark of the rows");
    return 0;
}

static perp_status parse(const char *bytes, size_t length, perp_trajectory **t, perp_diag *diag)
{
    return perp_trajectory_parse(bytes, length, "a.perpbin", t, diag);
}

/* The first `n` rows of a table are those that were written. */
static void expect_rows(const perp_trajectory *t, int n)
{
    assert_int_equal(perp_trajectory_rows(t), n);
    assert_int_equal(perp_trajectory_columns(t), COLUMNS);
    for (int c = 0; c < COLUMNS; c++)
        for (int k = 0; k < n; k++) {
            double x = perp_trajectory_column(t, c)[k];
            assert_true(isnan(rows[k][c]) ? isnan(x) : x == rows[k][c]);
        }
}

static void both_formats_have_the_same_table(void **state)
{
    (void)state;
    perp_trajectory *text, *binary;
    write_table(cli_path("a.csv"), NULL);
    write_table(cli_path("a.perpbin"), NULL);
    assert_int_equal(perp_trajectory_read(cli_path("a.csv"), &text, NULL), PERP_OK);
    assert_int_equal(perp_trajectory_read(cli_path("a.perpbin"), &binary, NULL), PERP_OK);
    assert_true(perp_trajectory_is_complete(binary));
    expect_rows(text, ROWS);
    expect_rows(binary, ROWS);
    assert_false(signbit(perp_trajectory_column(binary, 2)[1]));
    for (int c = 0; c < COLUMNS; c++) {
        assert_string_equal(perp_trajectory_name(binary, c), names[c]);
        assert_string_equal(perp_trajectory_unit(binary, c), units[c] ? units[c] : "");
    }
    for (int i = 0; i == 0 || perp_trajectory_comment(text, i - 1); i++) {
        const char *a = perp_trajectory_comment(text, i), *b = perp_trajectory_comment(binary, i);
        assert_true(a ? b && strcmp(a, b) == 0 : !b);
    }
    perp_trajectory_destroy(text);
    perp_trajectory_destroy(binary);
}

/* The bytes as docs/formats.md has them. */
static void the_bytes_are_those_of_the_format(void **state)
{
    (void)state;
    static const char one[] = "# unit x = m\nx\n<rows:\xff\xff"
                              "\0\0\0\0\0\0\xf8\x3f"
                              "\0\0\0\0\0\0\xf8\x7f"
                              "/rows>\xff\xff"
                              "\xfa\xe5\x17\x45\x63\x95\xdf\x2e"
                              "#\n# complete: 2 rows\n";
    char head[64], bytes[256];
    size_t length = (size_t)snprintf(head, sizeof head, "# perpbin 1\n# perp %s\n", perp_version());
    const char *name = "x", *unit = "m";
    double x = 1.5, nan = -(double)NAN;
    perp_trajectory_writer *w;
    assert_int_equal(perp_trajectory_writer_create(cli_path("b.perpbin"), &w, NULL), PERP_OK);
    assert_int_equal(perp_trajectory_writer_texts(w, 1, &name), PERP_ERR_ARG);
    assert_int_equal(perp_trajectory_writer_header(w, 1, &name, &unit), PERP_OK);
    assert_int_equal(perp_trajectory_writer_row(w, &x), PERP_OK);
    assert_int_equal(perp_trajectory_writer_row(w, &nan), PERP_OK);
    assert_int_equal(perp_trajectory_writer_comment(w, "\n"), PERP_OK);
    assert_int_equal(perp_trajectory_writer_row(w, &x), PERP_ERR_ARG); /* the rows have ended */
    assert_int_equal(perp_trajectory_writer_close(w, NULL, NULL), PERP_OK);
    FILE *file = fopen(cli_path("b.perpbin"), "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_int_equal(n, length + sizeof one - 1);
    assert_memory_equal(bytes, head, length);
    assert_memory_equal(bytes + length, one, sizeof one - 1);
}

static void a_cut_file_has_its_whole_rows(void **state)
{
    (void)state;
    size_t length;
    char *bytes = written(&length);
    size_t first = first_row(bytes, length), end = first + sizeof rows;
    for (size_t n = first - 8; n < length; n++) {
        perp_trajectory *t;
        perp_diag diag = {0};
        char *part = malloc(n); /* a read behind its end would show */
        assert_non_null(part);
        memcpy(part, bytes, n);
        if (parse(part, n, &t, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
        free(part);
        int whole = n < first ? 0 : n > end ? ROWS : (int)((n - first) / sizeof *rows);
        expect_rows(t, whole);
        assert_int_equal(perp_trajectory_is_complete(t), n + 1 == length);
        int is_cut = n < end + 16 && (n < first || (n - first) % sizeof *rows != 0);
        if ((strstr(perp_diag_text(&diag), "cut off at byte") != NULL) != is_cut)
            fail_msg("%zu: %s", n, perp_diag_text(&diag));
        perp_diag_clear(&diag);
        perp_trajectory_destroy(t);
    }
    free(bytes);
}

/* Marks, numbers and the sum: no bit that turns is passed over; of the text, none harms the rows. */
static void every_bit_that_turns_is_seen(void **state)
{
    (void)state;
    size_t length;
    char *bytes = written(&length);
    size_t first = first_row(bytes, length), end = first + sizeof rows + 16;
    for (size_t bit = 0; bit < 8 * length; bit++) {
        perp_trajectory *t;
        perp_diag diag = {0};
        size_t at = bit / 8;
        bytes[at] = (char)(bytes[at] ^ 1 << bit % 8);
        perp_status status = parse(bytes, length, &t, &diag);
        if (at >= first - 8 && at < end &&
            (status != PERP_ERR_DATA || !strstr(perp_diag_text(&diag), "a.perpbin: byte ")))
            fail_msg("bit %zu of byte %zu: %s", bit % 8, at, perp_diag_text(&diag));
        if (status == PERP_OK && perp_trajectory_columns(t) == COLUMNS) expect_rows(t, ROWS);
        assert_int_equal(status == PERP_OK, diag.errors == 0);
        bytes[at] = (char)(bytes[at] ^ 1 << bit % 8);
        perp_diag_clear(&diag);
        perp_trajectory_destroy(t);
    }
    free(bytes);
}

static void what_is_wrong_is_said_with_its_byte(void **state)
{
    (void)state;
#define ONE  "\0\0\0\0\0\0\xf0\x3f"
#define SUM  "\0\0\xd6\xaf\x4b\x55\x87\xd8" /* of one 1 */
#define HEAD "# perpbin 1\nx\n"
    static const struct {
        const char *bytes;
        size_t length;
        const char *says;
    } cases[] = {
#define CASE(bytes, says) {bytes, sizeof bytes - 1, says}
        CASE("# perpbin 2\nx\n", "a.perpbin:1:1: '# perpbin 2': this version of perp reads"),
        CASE("# perpbin 1\n", "no header row"),
        CASE("# perpbin 1\nx,,\n<rows:\xff\xff", "a.perpbin:2:3: column 2 has no name"),
        CASE(HEAD "\xff\xff:swor<\x3f\xf0\0\0\0\0\0\0",
             "byte 14: the numbers have their bytes from high to low"),
        CASE(HEAD "1\n2\n3\n4\n5\n", "byte 14: expected the mark of the rows"),
        CASE("# perpbin 1\r\nx\r\n<rows:\xff\xff" ONE "/rows>\xff\xff"
             "\r\n------",
             "byte 40: damaged: the sum over the 1 rows"),
        CASE(HEAD "<rows:\xff\xff" ONE "/rows>\xff\xff" ONE,
             "byte 38: damaged: the sum over the 1 rows before this byte"),
        CASE(HEAD "<rows:\xff\xff" ONE "/rows>\xff\xff" SUM "# complete: 2147483647123 rows\n",
             "says that it has 2147483647"),
        CASE(HEAD "<rows:\xff\xff" ONE "/rows>\xff\xff" SUM "# complete: 2 rows\n",
             "says that it has 2 rows, but there are 1"),
        CASE(HEAD "<rows:\xff\xff" ONE "/rows>\xff\xff" SUM "1\n",
             "expected a line that starts with #"),
        CASE(HEAD "<rows:\xff\xff" ONE "/rows>\xff\xff" SUM "# a\0b\n", "not a text file"),
        CASE("# perpbin 1\n# text w\nx,w\n<rows:\xff\xff", "columns of text are in CSV files only"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        perp_diag diag = {0};
        perp_trajectory *t;
        perp_status status = parse(cases[i].bytes, cases[i].length, &t, &diag);
        if (status != PERP_ERR_DATA || !strstr(perp_diag_text(&diag), cases[i].says))
            fail_msg("%zu: expected '%s', got %s: %s", i, cases[i].says, perp_status_name(status),
                     perp_diag_text(&diag));
        assert_null(t);
        assert_int_equal(diag.errors, 1);
        perp_diag_clear(&diag);
    }
}

/* Other programs write other nan: each is no value. */
static void nan_of_any_bits_is_nan(void **state)
{
    (void)state;
    size_t length;
    char *bytes = written(&length);
    size_t first = first_row(bytes, length);
    const unsigned char payload[] = {0x17, 0, 0, 0xab, 0, 0, 0xf4, 0x7f};
    perp_trajectory *t;
    memcpy(bytes + first, payload, 8);
    assert_int_equal(parse(bytes, first + 24, &t, NULL),
                     PERP_OK); /* without the sum, which would not fit */
    double x = perp_trajectory_column(t, 0)[0], nan = (double)NAN;
    assert_memory_equal(&x, &nan, sizeof x);
    perp_trajectory_destroy(t);
    free(bytes);
}

static void a_stopped_table_is_a_partial_file(void **state)
{
    (void)state;
    perp_trajectory *t;
    write_table(cli_path("c.perpbin"), "no solution");
    assert_int_equal(perp_trajectory_read(cli_path("c.perpbin"), &t, NULL), PERP_ERR_FILE);
    assert_int_equal(perp_trajectory_read(cli_path("c.perpbin.partial"), &t, NULL), PERP_OK);
    expect_rows(t, ROWS);
    assert_false(perp_trajectory_is_complete(t));
    int n = 0;
    while (perp_trajectory_comment(t, n)) n++;
    assert_string_equal(perp_trajectory_comment(t, n - 1), "stopped: no solution");
    perp_trajectory_destroy(t);
}

/* Through blocks of the file, with rows longer than one. */
static void long_tables_come_back_to_the_last_bit(void **state)
{
    (void)state;
    static const int shapes[][2] = {{1, 30000}, {7, 5000}, {9001, 11}};
    for (int s = 0; s < 3; s++) {
        int n = shapes[s][0], m = shapes[s][1];
        char(*label)[12] = malloc(12 * (size_t)n);
        const char **name = malloc((size_t)n * sizeof *name);
        double *row = malloc((size_t)n * sizeof *row);
        perp_trajectory_writer *w;
        perp_trajectory *t;
        assert_true(label && name && row);
        for (int c = 0; c < n; c++) {
            snprintf(label[c], sizeof label[c], "c%d", c);
            name[c] = label[c];
        }
        assert_int_equal(perp_trajectory_writer_create(cli_path("d.perpbin"), &w, NULL), PERP_OK);
        assert_int_equal(perp_trajectory_writer_header(w, n, name, NULL), PERP_OK);
        for (int k = 0; k < m; k++) {
            for (int c = 0; c < n; c++) row[c] = (k + 1) / (c + 3.0);
            assert_int_equal(perp_trajectory_writer_row(w, row), PERP_OK);
        }
        assert_int_equal(perp_trajectory_writer_close(w, NULL, NULL), PERP_OK);
        assert_int_equal(perp_trajectory_read(cli_path("d.perpbin"), &t, NULL), PERP_OK);
        assert_int_equal(perp_trajectory_rows(t), m);
        assert_true(perp_trajectory_is_complete(t));
        for (int c = 0; c < n; c++)
            for (int k = 0; k < m; k++)
                assert_true(perp_trajectory_column(t, c)[k] == (k + 1) / (c + 3.0));
        perp_trajectory_destroy(t);
        free(label);
        free(name);
        free(row);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_formats_have_the_same_table),
        cmocka_unit_test(the_bytes_are_those_of_the_format),
        cmocka_unit_test(a_cut_file_has_its_whole_rows),
        cmocka_unit_test(every_bit_that_turns_is_seen),
        cmocka_unit_test(what_is_wrong_is_said_with_its_byte),
        cmocka_unit_test(nan_of_any_bits_is_nan),
        cmocka_unit_test(a_stopped_table_is_a_partial_file),
        cmocka_unit_test(long_tables_come_back_to_the_last_bit),
    };
    return run_all(tests);
}
