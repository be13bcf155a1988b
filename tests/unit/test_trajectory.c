/* CSV: what is read, what is refused with which words, what is written. */

#include "cli.h"
#include "unit.h"

#include "perp/trajectory.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static perp_trajectory *parse(const char *text)
{
    perp_diag diag = {0};
    perp_trajectory *t;
    if (perp_trajectory_parse(text, strlen(text), "t.csv", &t, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return t;
}

static void reads_names_units_values_and_comments(void **state)
{
    (void)state;
    perp_trajectory *t =
        parse("# perp 0\n# unit v = m/s\n# unit = x\n# unit w = m\nt,\"r[2,1]\", v\n0,1,2\n\n 0.5 "
              ",nan,\n1,-inf,4e-3\n# complete: 3 rows\n");
    assert_int_equal(perp_trajectory_rows(t), 3);
    assert_int_equal(perp_trajectory_columns(t), 3);
    assert_string_equal(perp_trajectory_name(t, 1), "r[2,1]");
    assert_string_equal(perp_trajectory_unit(t, 2), "m/s");
    assert_string_equal(perp_trajectory_unit(t, 0), "");
    assert_int_equal(perp_trajectory_find(t, "v"), 2);
    assert_int_equal(perp_trajectory_find(t, "w"), -1);
    const double *v = perp_trajectory_column(t, 2);
    assert_true(v[0] == 2 && isnan(v[1]) && v[2] == 4e-3);
    assert_true(isinf(perp_trajectory_column(t, 1)[2]));
    assert_true(perp_trajectory_is_complete(t));
    assert_string_equal(perp_trajectory_comment(t, 0), "perp 0");
    assert_null(perp_trajectory_comment(t, 99));
    assert_null(perp_trajectory_column(t, 3));
    perp_trajectory_destroy(t);
}

static void reads_what_other_programs_write(void **state)
{
    (void)state;
    perp_trajectory *t =
        parse("\xEF\xBB\xBFt,u\r\n0,1\r\n1,2"); /* byte order mark, CRLF, no newline at the end */
    assert_int_equal(perp_trajectory_rows(t), 2);
    assert_string_equal(perp_trajectory_name(t, 0), "t");
    assert_true(perp_trajectory_column(t, 1)[1] == 2);
    assert_false(perp_trajectory_is_complete(t));
    perp_trajectory_destroy(t);
    t = parse("\"t\" , \"5\"\" disc\",v\n\"0\",\"\" , \"2\"\n"); /* quotes, some doubled */
    assert_string_equal(perp_trajectory_name(t, 1), "5\" disc");
    assert_true(isnan(perp_trajectory_column(t, 1)[0]));
    assert_true(perp_trajectory_column(t, 2)[0] == 2);
    perp_trajectory_destroy(t);
}

static void refuses_with_place_and_reason(void **state)
{
    (void)state;
    const struct {
        const char *text, *says;
    } cases[] = {
        {"", "t.csv:1:1: the file has no header row"},
        {"# only this\n", "no header row"},
        {"1,2\n3,4\n", "t.csv:1:1: expected a header row"},
        {"t,,u\n", "t.csv:1:3: column 2 has no name"},
        {"t,u\n0,\33[31m\n", "t.csv:2:3: '?[31m' is not a number (column u)"},
        {"t;u\n0;1\n", "t.csv:1:2: columns are separated by commas, not by semicolons"},
        {"t\tu\n0\t1\n", "t.csv:1:2: columns are separated by commas, not by tabs"},
        {"t,u\r0,1\r", "t.csv:1:4: a carriage return inside a line; lines end with LF or CRLF"},
        {"t,u,t\n", "t.csv:1:5: the column name 't' appears twice"},
        {"b,a,b,a\n", "t.csv:1:5: the column name 'b' appears twice\nt.csv:1:7: the column"},
        {"t,u\n0,1,2\n", "t.csv:2:1: 3 fields; the header has 2"},
        {"t,u\n0\n", "t.csv:2:1: 1 fields; the header has 2"},
        {"t,u\n0,x\n", "t.csv:2:3: 'x' is not a number (column u)"},
        {"t,u\n0, \"1\"5\n", "t.csv:2:3: text after the closing quote (column u)"},
        {"t,u\n0,\"1\" \"5\"\n", "t.csv:2:3: text after the closing quote (column u)"},
        {"t,u\n0,\"1\n", "t.csv:2:3: the quote is not closed (column u)"},
        {"t,u\n0,\"\n", "t.csv:2:3: the quote is not closed (column u)"},
        {"t,u\n0,\"1\"\"\"\n", "'1\"\"' is not a number"},
        {"t,\"u\"v\n", "t.csv:1:3: text after the closing quote (column 2)"},
        {"t,\"u,v\n", "t.csv:1:3: the quote is not closed (column 2)"},
        {"t,\"\"\n", "t.csv:1:3: column 2 has no name"},
        {"t\n0\n1\n# complete: 3 rows\n",
         "t.csv:4:1: the file says that it has 3 rows, but there are 2 above this line"},
        {"t\n0\n1\n# complete: 1 rows\n", "has 1 rows, but there are 2"},
        {"t\n0\n# complete: 1 rows\n1\n", "t.csv:4:1: a row behind the line that says"},
        {"t,u\n0,1e\n", "'1e' is not a number"},
        {"t,u\n0,0x10\n", "t.csv:2:3: '0x10' is not a number (column u)"},
        {"t,u\n0,-0X1p3 \n", "'-0X1p3' is not a number"},
        {"t,u\n0,1 2\n", "'1 2' is not a number"},
        {"t,u\n0,111111111111111111111111111111111111111111111111111111111111111111111\n",
         "is not a number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        perp_diag diag = {0};
        perp_trajectory *t;
        perp_status status =
            perp_trajectory_parse(cases[i].text, strlen(cases[i].text), "t.csv", &t, &diag);
        if (status != PERP_ERR_DATA || !strstr(perp_diag_text(&diag), cases[i].says))
            fail_msg("%s\nexpected '%s', got %s: %s", cases[i].text, cases[i].says,
                     perp_status_name(status), perp_diag_text(&diag));
        assert_null(t);
        if (strstr(cases[i].says, "separated by"))
            assert_null(strstr(perp_diag_text(&diag), "csv:2:"));
        perp_diag_clear(&diag);
    }
    perp_trajectory *t;
    const char *binary[] = {"t\0,u\n0,1\n", "t,u\n0\0,1\n", "# \0\nt,u0,1\n"};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(perp_trajectory_parse(binary[i], 9, "t.csv", &t, NULL), PERP_ERR_DATA);
    assert_int_equal(perp_trajectory_read("/nonexistent", &t, NULL), PERP_ERR_FILE);
    assert_int_equal(perp_trajectory_read(NULL, &t, NULL), PERP_ERR_ARG);
}

/* A file of ours, cut off anywhere, has the whole rows before the cut: no number is shortened. */
static void a_cut_file_has_its_whole_rows(void **state)
{
    (void)state;
    const char *text = "# perp 0.1.0\n# unit x = m\nt,x\n0,1.25\n0.125,-3.0625e-12\n0.25,nan\n"
                       "# complete: 3 rows\n";
    perp_trajectory *whole = parse(text);
    assert_true(perp_trajectory_is_complete(whole));
    size_t header = (size_t)(strstr(text, "t,x\n") + 4 - text);
    for (size_t n = header; n < strlen(text); n++) {
        perp_trajectory *t;
        perp_diag diag = {0};
        assert_int_equal(perp_trajectory_parse(text, n, "t.csv", &t, &diag), PERP_OK);
        int rows = -1; /* lines with an end */
        for (size_t i = header - 1; i < n; i++) rows += text[i] == '\n';
        if (rows > 3) rows = 3;
        assert_int_equal(perp_trajectory_rows(t), rows);
        for (int c = 0; c < 2 && rows; c++)
            assert_memory_equal(perp_trajectory_column(t, c), perp_trajectory_column(whole, c),
                                (size_t)rows * sizeof(double));
        assert_int_equal(perp_trajectory_is_complete(t), n + 1 == strlen(text));
        int is_cut = rows < 3 && text[n - 1] != '\n';
        assert_int_equal(strstr(perp_diag_text(&diag), "the last line is cut off") != NULL, is_cut);
        perp_diag_clear(&diag);
        perp_trajectory_destroy(t);
    }
    perp_trajectory_destroy(whole);
}

/* Other programs leave out the end of the last line: it is a row if it can be one. */
static void the_last_line_of_another_program_is_kept_if_it_is_whole(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int rows;
    } cases[] = {{"t,u\n0,1\n1,2", 2},
                 {"t,u\n0,1\n1,", 2},
                 {"t,u\n0,1\n1", 1},
                 {"t,u\n0,1\n1,2e", 1},
                 {"t,u\n0,1\n1,\"2", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        perp_trajectory *t;
        perp_diag diag = {0};
        assert_int_equal(
            perp_trajectory_parse(cases[i].text, strlen(cases[i].text), "t.csv", &t, &diag),
            PERP_OK);
        assert_int_equal(perp_trajectory_rows(t), cases[i].rows);
        assert_string_equal(
            perp_diag_text(&diag),
            cases[i].rows == 2 ? "" : "t.csv:3: the last line is cut off; it is left out\n");
        assert_int_equal(diag.errors, 0);
        perp_diag_clear(&diag);
        perp_trajectory_destroy(t);
    }
}

/* A header of 200000 names with a unit each; the last name is a given one. */
static char *wide_table(const char *last, size_t *length)
{
    enum { COLUMNS = 200000 };
    char *text = malloc(40 * COLUMNS), *end = text;
    assert_non_null(text);
    for (int c = 0; c < COLUMNS; c++) end += sprintf(end, "# unit c%d = m\n", c);
    for (int c = 0; c + 1 < COLUMNS; c++) end += sprintf(end, "c%d,", c);
    end += sprintf(end, "%s\n0", last);
    for (int c = 1; c < COLUMNS; c++) end += sprintf(end, ",%d", c);
    *length = (size_t)(end - text);
    return text;
}

static void many_columns_are_read_at_once(void **state)
{
    (void)state;
    size_t length;
    char *text = wide_table("last", &length);
    perp_trajectory *t;
    perp_diag diag = {0};
    clock_t start = clock();
    assert_int_equal(perp_trajectory_parse(text, length, "t.csv", &t, &diag), PERP_OK);
    assert_int_equal(perp_trajectory_columns(t), 200000);
    assert_int_equal(perp_trajectory_find(t, "c123456"), 123456);
    assert_int_equal(perp_trajectory_find(t, "last"), 199999);
    assert_int_equal(perp_trajectory_find(t, "c"), -1);
    assert_int_equal(perp_trajectory_find(t, "c1999999"), -1);
    assert_string_equal(perp_trajectory_unit(t, 199998), "m");
    assert_string_equal(perp_trajectory_unit(t, 199999), "");
    perp_trajectory_destroy(t);
    free(text);
    text = wide_table("c7", &length);
    assert_int_equal(perp_trajectory_parse(text, length, "t.csv", &t, &diag), PERP_ERR_DATA);
    assert_non_null(strstr(diag.text, "the column name 'c7' appears twice"));
    assert_int_equal(diag.errors, 1);
    perp_diag_clear(&diag);
    free(text);
    text = calloc(1, 1000004); /* a name of 1 MB is not repeated in every message */
    assert_non_null(text);
    memset(text, 'x', 1000000);
    strcpy(text + 1000000, "\ny\n");
    assert_int_equal(perp_trajectory_parse(text, 1000003, "t.csv", &t, &diag), PERP_ERR_DATA);
    assert_true(diag.length < 200);
    perp_diag_clear(&diag);
    free(text);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (seconds > 5) fail_msg("%g s", seconds); /* comparing all pairs of names takes minutes */
}

static void all_faults_of_the_first_lines_are_reported(void **state)
{
    (void)state;
    perp_diag diag = {0};
    perp_trajectory *t;
    const char *text = "t,u\n0,a\n1,b\n2,3\n3\n";
    assert_int_equal(perp_trajectory_parse(text, strlen(text), "t.csv", &t, &diag), PERP_ERR_DATA);
    assert_int_equal(diag.errors, 3);
    assert_non_null(strstr(diag.text, "t.csv:5:1"));
    perp_diag_clear(&diag);
}

static void write_bytes(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

/* Files are read in blocks, a text at once: the same comes of both, wherever a block ends. */
static void a_file_is_what_its_text_is(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE + 100), *end = text;
    assert_non_null(text);
    for (int columns = 1; columns <= 60000; columns = 7 * columns + 3) { /* lines up to 680 kB */
        end = text;
        for (int c = 0; c < columns; c++) end += sprintf(end, "c%d,", c);
        end[-1] = '\n';
        for (int r = 0; end < text + SIZE - 14 * columns && r < 40000; r++) {
            for (int c = 0; c < columns; c++) end += sprintf(end, "%d.%d,", r * c % 977, r);
            end[-1] = '\n';
        }
        size_t length = (size_t)(end - text);
        perp_trajectory *from_text, *from_file;
        write_bytes(cli_path("blocks.csv"), text, length);
        assert_int_equal(perp_trajectory_parse(text, length, "t", &from_text, NULL), PERP_OK);
        assert_int_equal(perp_trajectory_read(cli_path("blocks.csv"), &from_file, NULL), PERP_OK);
        int rows = perp_trajectory_rows(from_text);
        assert_int_equal(perp_trajectory_rows(from_file), rows);
        assert_int_equal(perp_trajectory_columns(from_file), columns);
        for (int c = 0; c < columns; c++) {
            assert_string_equal(perp_trajectory_name(from_file, c),
                                perp_trajectory_name(from_text, c));
            assert_memory_equal(perp_trajectory_column(from_file, c),
                                perp_trajectory_column(from_text, c), (size_t)rows * 8);
        }
        perp_trajectory_destroy(from_text);
        perp_trajectory_destroy(from_file);
    }
    perp_trajectory *none;
    perp_diag diag = {0};
    memset(text, 'x', SIZE);
    text[SIZE / 2] = 0; /* read no further than this block */
    write_bytes(cli_path("blocks.csv"), text, SIZE);
    assert_int_equal(perp_trajectory_read(cli_path("blocks.csv"), &none, &diag), PERP_ERR_DATA);
    assert_non_null(strstr(perp_diag_text(&diag), "blocks.csv:1:524289: not a text file"));
    perp_diag_clear(&diag);
    assert_int_equal(perp_trajectory_read(cli_folder(), &none, &diag), PERP_ERR_FILE);
    assert_non_null(strstr(perp_diag_text(&diag), "Is a directory"));
    assert_int_equal(diag.errors, 1);
    assert_null(none);
    perp_diag_clear(&diag);
    free(text);
}

static void what_is_written_is_read_back_to_the_last_bit(void **state)
{
    (void)state;
    const char *path = cli_path("written.csv");
    const char *names[] = {"#t", "r[1,2]", "5\""}, *bad[] = {"t", "a\nb", "c"},
               *units[] = {"s", NULL, "m/s"};
    const double row[] = {0.1, 1.0 / 3, -5e-324}, second[] = {0.2, (double)NAN, -0.0};
    perp_trajectory_writer *w;
    perp_trajectory *t;
    assert_int_equal(perp_trajectory_writer_create(path, &w, NULL), PERP_OK);
    assert_int_equal(perp_trajectory_writer_comment(w, "first\nsecond"), PERP_OK);
    assert_int_equal(perp_trajectory_writer_row(w, row), PERP_ERR_ARG); /* no header yet */
    assert_int_equal(perp_trajectory_writer_header(w, 3, bad, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_trajectory_writer_header(w, 3, names, units), PERP_OK);
    assert_int_equal(perp_trajectory_writer_header(w, 3, names, units), PERP_ERR_ARG);
    assert_int_equal(perp_trajectory_writer_row(w, row), PERP_OK);
    assert_int_equal(perp_trajectory_writer_row(w, second), PERP_OK);
    assert_int_equal(perp_trajectory_writer_comment(w, "behind the rows"), PERP_OK);
    assert_int_equal(perp_trajectory_writer_close(w, NULL, NULL), PERP_OK);
    assert_int_equal(perp_trajectory_read(path, &t, NULL), PERP_OK);
    assert_int_equal(perp_trajectory_rows(t), 2);
    assert_string_equal(perp_trajectory_name(t, 0), "#t");
    assert_string_equal(perp_trajectory_name(t, 1), "r[1,2]");
    assert_string_equal(perp_trajectory_name(t, 2), "5\"");
    assert_string_equal(perp_trajectory_unit(t, 2), "m/s");
    for (int c = 0; c < 3; c++) assert_true(perp_trajectory_column(t, c)[0] == row[c]);
    assert_true(isnan(perp_trajectory_column(t, 1)[1]));
    assert_true(perp_trajectory_is_complete(t));
    perp_trajectory_destroy(t);
}

static void a_stopped_file_says_so_and_a_full_disk_is_an_error(void **state)
{
    (void)state;
    const char *path = cli_path("stopped.csv"), *partial = cli_path("stopped.csv.partial");
    const char *names[] = {"t"};
    perp_trajectory_writer *w;
    perp_diag diag = {0};
    assert_int_equal(perp_trajectory_writer_create(path, &w, NULL), PERP_OK);
    assert_int_equal(perp_trajectory_writer_header(w, 1, names, NULL), PERP_OK);
    cli_file("stopped.csv", "earlier");
    assert_int_equal(perp_trajectory_writer_close(w, "no solution\nmore", &diag), PERP_OK);
    assert_non_null(strstr(perp_diag_text(&diag), "stopped.csv.partial; the earlier file is kept"));
    char *text = cli_read(partial);
    assert_non_null(strstr(text, "\nt\n# stopped: no solution\n"));
    free(text);
    text = cli_read(path);
    assert_string_equal(text, "earlier");
    free(text);
    assert_int_equal(perp_trajectory_writer_create("/dev/full", &w, &diag), PERP_OK);
    assert_int_equal(perp_trajectory_writer_header(w, 1, names, NULL), PERP_OK);
    assert_int_equal(perp_trajectory_writer_close(w, NULL, &diag), PERP_ERR_FILE);
    assert_non_null(strstr(perp_diag_text(&diag), "/dev/full: cannot be written"));
    perp_diag_clear(&diag);
    assert_int_equal(perp_trajectory_writer_create("/nonexistent/x", &w, &diag), PERP_ERR_FILE);
    perp_diag_clear(&diag);
    assert_int_equal(perp_trajectory_writer_close(NULL, NULL, NULL), PERP_OK);
}

/* As a signal handler does before the process ends. */
static void abandoned_files_are_gone_and_the_earlier_stays(void **state)
{
    (void)state;
    char name[] = "/tmp/perp_abandonXXXXXX", file[64], pattern[80];
    assert_non_null(mkdtemp(name));
    snprintf(file, sizeof file, "%s/rows.csv", name);
    snprintf(pattern, sizeof pattern, "%s/*", name);
    assert_int_equal(perp_file_write(file, "earlier", 7, NULL), PERP_OK);
    perp_file_abandon(); /* nothing is being written */
    perp_trajectory_writer *w[70];
    for (int i = 0; i < 70; i++)
        assert_int_equal(perp_trajectory_writer_create(file, &w[i], NULL), PERP_OK);
    for (int i = 0; i < 40; i++)
        assert_int_equal(perp_trajectory_writer_close(w[i], "stopped", NULL), PERP_OK);
    for (int i = 0; i < 40; i++)
        assert_int_equal(perp_trajectory_writer_create(file, &w[i], NULL), PERP_OK);
    perp_file_abandon();
    glob_t found;
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 2 + 6); /* 64 are known at a time */
    assert_string_equal(found.gl_pathv[0], file);
    for (int i = 0; i < 70; i++) perp_trajectory_writer_close(w[i], "stopped", NULL);
    globfree(&found);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 2); /* rows.csv and rows.csv.partial */
    for (size_t i = 0; i < found.gl_pathc; i++) unlink(found.gl_pathv[i]);
    globfree(&found);
    assert_int_equal(rmdir(name), 0);
}

/* Words at the end of rows, in quotes, are passed over; a field of them that is missing or not closed is seen. */
static void columns_of_text_are_passed_over(void **state)
{
    (void)state;
    static const char *const names[] = {"job", "x[1,2]"}, *const texts[] = {"outcome", "why, not"},
                             *const first[] = {"verified", NULL},
                             *const second[] = {"refused", "line 1,\nsaid \"no\""};
    const double row[] = {0, 1.5};
    const char *path = cli_path("texts.csv");
    perp_trajectory_writer *w;
    perp_trajectory *t;
    perp_diag diag = {0};
    assert_int_equal(perp_trajectory_writer_create(path, &w, NULL), PERP_OK);
    assert_int_equal(perp_trajectory_writer_texts(w, 1, (const char *const[]){"a\nb"}),
                     PERP_ERR_ARG);
    assert_int_equal(perp_trajectory_writer_texts(w, 2, texts), PERP_OK);
    assert_int_equal(perp_trajectory_writer_header(w, 2, names, NULL), PERP_OK);
    assert_int_equal(perp_trajectory_writer_texts(w, 2, texts), PERP_ERR_ARG);
    assert_int_equal(perp_trajectory_writer_row_texts(w, row, first), PERP_OK);
    assert_int_equal(perp_trajectory_writer_row_texts(w, row, second), PERP_OK);
    assert_int_equal(perp_trajectory_writer_row(w, row), PERP_OK);
    assert_int_equal(perp_trajectory_writer_close(w, NULL, NULL), PERP_OK);
    char *text = cli_read(path);
    assert_non_null(
        strstr(text, "\njob,x[1,2],outcome,\"why, not\"\n0,1.5,\"verified\",\n0,1.5,"
                     "\"refused\",\"line 1, said \"\"no\"\"\"\n0,1.5,,\n# complete: 3 rows\n") ||
                strstr(text,
                       "\njob,\"x[1,2]\",outcome,\"why, not\"\n0,1.5,\"verified\",\n0,1.5,"
                       "\"refused\",\"line 1, said \"\"no\"\"\"\n0,1.5,,\n# complete: 3 rows\n")
            ? text
            : NULL);
    free(text);
    assert_int_equal(perp_trajectory_read(path, &t, NULL), PERP_OK);
    assert_int_equal(perp_trajectory_columns(t), 2);
    assert_int_equal(perp_trajectory_rows(t), 3);
    assert_int_equal(perp_trajectory_find(t, "outcome"), -1);
    assert_true(perp_trajectory_column(t, 1)[2] == 1.5 && perp_trajectory_is_complete(t));
    perp_trajectory_destroy(t);
    static const char *const wrong[] = {"# text w\nt,w\n0\n", "# text w\nt,w\n0,\"a\n",
                                        "# text w\nt,w\n0,a,b\n", "# text w\nw,t\na,0\n",
                                        "t,w\n0,a\n"};
    for (int k = 0; k < 5; k++)
        assert_int_equal(perp_trajectory_parse(wrong[k], strlen(wrong[k]), "x", &t, &diag),
                         PERP_ERR_DATA);
    perp_diag_clear(&diag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_names_units_values_and_comments),
        cmocka_unit_test(reads_what_other_programs_write),
        cmocka_unit_test(a_cut_file_has_its_whole_rows),
        cmocka_unit_test(the_last_line_of_another_program_is_kept_if_it_is_whole),
        cmocka_unit_test(refuses_with_place_and_reason),
        cmocka_unit_test(many_columns_are_read_at_once),
        cmocka_unit_test(all_faults_of_the_first_lines_are_reported),
        cmocka_unit_test(a_file_is_what_its_text_is),
        cmocka_unit_test(what_is_written_is_read_back_to_the_last_bit),
        cmocka_unit_test(a_stopped_file_says_so_and_a_full_disk_is_an_error),
        cmocka_unit_test(columns_of_text_are_passed_over),
        cmocka_unit_test(abandoned_files_are_gone_and_the_earlier_stays),
    };
    return run_all(tests);
}
