/* Figures: what is drawn is what was given, and nothing given breaks the file. */

#include "perp/report.h"
#include "report/rows.h"
#include "report/thin.h"
#include "report/ticks.h"
#include "unit.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char *draw(const perp_panel *panel)
{
    perp_figure figure = {.title = "a & b", .panels = panel, .npanels = 1};
    char *text = NULL;
    size_t length = 0;
    assert_int_equal(perp_figure_svg(&figure, &text, &length), PERP_OK);
    assert_int_equal(length, strlen(text));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    return text;
}

/* The path of the first series. */
static const char *line(const char *svg)
{
    const char *at = strstr(svg, "<g clip-path");
    assert_non_null(at);
    at = strstr(at, " d=\"");
    assert_non_null(at);
    return at + 4;
}

/* How often a letter stands in a path. */
static int letters(const char *path, char letter)
{
    int n = 0;
    for (; *path && *path != '"'; path++) n += *path == letter;
    return n;
}

static void ticks_are_round_numbers_within_the_range(void **state)
{
    (void)state;
    perp__ticks t;
    perp__ticks_make(&t, PERP_SCALE_LINEAR, -0.31, 1.02, 7);
    assert_int_equal(t.n, 7);
    assert_string_equal(t.label[0], "-0.2");
    assert_string_equal(t.label[1], "0.0");
    assert_string_equal(t.label[6], "1.0");
    perp__ticks_make(&t, PERP_SCALE_LINEAR, 0, 3e6, 4);
    assert_string_equal(t.label[1], "1e6");
    perp__ticks_make(&t, PERP_SCALE_LINEAR, 0, 2.4e-7, 4);
    assert_string_equal(t.label[1], "1e-7");
    perp__ticks_make(&t, PERP_SCALE_LOG, 3e-16, 2e-3, 5);
    assert_true(t.n >= 4 && t.n <= 7);
    for (int k = 0; k < t.n; k++) assert_near(log10(t.at[k]), round(log10(t.at[k])), 1e-9);
    perp__ticks_make(&t, PERP_SCALE_LOG, 1.5, 60, 5);
    assert_string_equal(t.label[0], "2");
    assert_int_equal(t.n, 5); /* 2 5 10 20 50 */
    double lo = 5, hi = 5;
    perp__range_finish(&lo, &hi, PERP_SCALE_LINEAR, 0);
    assert_true(lo < 5 && hi > 5);
}

static void a_nan_interrupts_the_line(void **state)
{
    (void)state;
    double x[] = {0, 1, 2, 3, 4}, y[] = {1, 2, (double)NAN, 3, (double)INFINITY};
    perp_series s = {.label = "y", .x = x, .y = y, .n = 5};
    perp_panel panel = {.series = &s, .nseries = 1};
    char *svg = draw(&panel);
    assert_int_equal(letters(line(svg), 'M'), 2);
    assert_int_equal(letters(line(svg), 'L'), 1);
    free(svg);
}

static void long_series_are_thinned_and_keep_their_extremes(void **state)
{
    (void)state;
    enum { N = 200000 };
    double *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
    for (int i = 0; i < N; i++) x[i] = i, y[i] = sin(0.37 * i);
    y[77777] = 5;
    y[77778] = -7;
    perp_series s = {.x = x, .y = y, .n = N};
    perp_panel panel = {.series = &s, .nseries = 1, .y = {.lo = -7, .hi = 5}};
    char *svg = draw(&panel);
    assert_true(strlen(svg) < 120000);
    const char *path = line(svg);
    double top = 1e9, bottom = 0, px, py;
    for (; *path && *path != '"'; path++) {
        if ((*path == 'M' || *path == 'L') && sscanf(path + 1, "%lf %lf", &px, &py) == 2) {
            top = fmin(top, py);
            bottom = fmax(bottom, py);
        }
    }
    assert_true(bottom - top > 100); /* the two outliers span the panel */
    free(svg);
    free(x);
    free(y);
}

/* A page has fewer rows: the ends, and every peak and trough of any column. */
static void a_page_keeps_the_extremes_of_each_column(void **state)
{
    (void)state;
    enum { ROWS = 5000, MOST = 100 };
    static double x[ROWS], y[ROWS];
    const double *const column[] = {x, y};
    for (int k = 0; k < 200; k++) {
        int kept, peaks[4], found = 0; /* of x: high, low; of y: high, low */
        for (int i = 0; i < ROWS; i++) x[i] = sin(i), y[i] = i % 7 == 0 ? (double)NAN : cos(i);
        for (int p = 0; p < 4; p++) peaks[p] = 1 + (k * 977 + p * 1237) % (ROWS - 2);
        x[peaks[0]] = 3, x[peaks[1]] = -3, y[peaks[2]] = 3, y[peaks[3]] = -3;
        int *row = perp__thin(column, 2, ROWS, MOST, &kept);
        assert_non_null(row);
        assert_in_range(kept, MOST - 10, MOST); /* as many as may be: 4 more at most a stretch */
        assert_true(row[0] == 0 && row[kept - 1] == ROWS - 1);
        for (int i = 0; i < kept; i++) {
            assert_true(i == 0 || row[i] > row[i - 1]);
            for (int p = 0; p < 4; p++) found += row[i] == peaks[p];
        }
        assert_int_equal(found, 4);
        free(row);
    }
    int all, *row = perp__thin(column, 2, MOST, MOST, &all);
    assert_int_equal(all, MOST); /* few enough: every row */
    free(row);
}

/* Never more than 12 letters a value, and next to none where the value goes on as before. */
static void rows_are_short(void **state)
{
    (void)state;
    enum { ROWS = PERP__BLOCK_ROWS };
    static double x[ROWS];
    static const double most[] = {12, 1, 1, 8};
    for (int kind = 0; kind < 4; kind++) {
        uint64_t bits = 7;
        for (int i = 0; i < ROWS; i++) {
            bits = bits * 6364136223846793005u + 1442695040888963407u;
            memcpy(&x[i], &bits, sizeof bits);
            if (kind == 1) x[i] = 0.1;
            if (kind == 2) x[i] = 4096 + i * 0x1p-20;
            if (kind == 3) x[i] = sin(0.001 * i);
        }
        perp__text text = {0};
        perp__rows_put(&text, x, ROWS);
        assert_int_equal(text.failed, 0);
        assert_true((double)text.length <= most[kind] * ROWS);
        perp__text_clear(&text);
    }
}

static void texts_are_escaped(void **state)
{
    (void)state;
    double x[] = {0, 1}, y[] = {0, 1};
    perp_series s = {.label = "<script>alert(1)</script>", .x = x, .y = y, .n = 2};
    perp_panel panel = {.title = "\"q\" & \xFF", .series = &s, .nseries = 1};
    char *svg = draw(&panel);
    assert_null(strstr(svg, "<script"));
    assert_non_null(strstr(svg, "&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert_non_null(strstr(svg, "a &amp; b"));
    assert_null(strstr(svg, "\xFF"));
    free(svg);
}

static void values_without_a_logarithm_lie_on_the_lower_edge(void **state)
{
    (void)state;
    double x[] = {0, 1, 2}, y[] = {1e-12, 0, 1e-3};
    perp_series s = {.x = x, .y = y, .n = 3};
    perp_panel panel = {.y = {.scale = PERP_SCALE_LOG}, .series = &s, .nseries = 1};
    char *svg = draw(&panel);
    double px, py[3];
    assert_int_equal(
        sscanf(line(svg), "M%lf %lfL%lf %lfL%lf %lf", &px, &py[0], &px, &py[1], &px, &py[2]), 6);
    assert_true(py[1] > py[0] && py[0] > py[2]);
    free(svg);
}

static void any_finite_values_can_be_drawn(void **state)
{
    (void)state;
    const double odd[] = {0,     1e308, -1e308, 5e-324,   -5e-324,   1e-310, 1,
                          1e300, -1,    1e16,   1e16 + 2, 123456789, 1e-5};
    enum { N = sizeof odd / sizeof *odd };
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            for (int scale = 0; scale < 4; scale++) {
                double x[] = {odd[j], odd[i], 0.5 * odd[i]}, y[] = {odd[i], odd[j], odd[i]};
                perp_series s = {
                    .label = "y", .x = x, .y = y, .n = 3, .style = PERP_STYLE_LINE_POINTS};
                perp_panel panel = {.x = {.scale = (perp_scale)(scale & 1)},
                                    .y = {.scale = (perp_scale)(scale >> 1)},
                                    .series = &s,
                                    .nseries = 1};
                char *svg = draw(&panel);
                assert_true(strlen(svg) < 12000);
                free(svg);
            }
        }
    }
}

static void strips_and_maps_are_drawn(void **state)
{
    (void)state;
    const char *rows[] = {"block"}, *modes[] = {"stick", "slip"};
    perp_span spans[] = {{0, 1, 0, 0}, {1, 3, 0, 1}};
    perp_strip strip = {rows, 1, modes, 2, spans, 2};
    perp_panel panel = {.x = {.label = "t", .unit = "s"}, .strip = &strip};
    char *svg = draw(&panel);
    assert_non_null(strstr(svg, "<title>slip: 1 to 3</title>"));
    free(svg);
    double value[] = {0, 1, 2, 3, (double)NAN, 5};
    perp_map map = {.value = value, .nx = 3, .ny = 2, .x_hi = 1, .y_hi = 1, .label = "w"};
    panel = (perp_panel){.map = &map};
    svg = draw(&panel);
    assert_non_null(strstr(svg, "#352a6d")); /* the lowest */
    assert_non_null(strstr(svg, "#fae73c")); /* the highest */
    free(svg);
    spans[1].mode = 2;
    panel = (perp_panel){.strip = &strip};
    perp_figure figure = {.panels = &panel, .npanels = 1};
    assert_int_equal(perp_figure_svg(&figure, &svg, NULL), PERP_ERR_ARG);
}

static void what_cannot_be_drawn_is_refused(void **state)
{
    (void)state;
    char *text;
    perp_series s = {.n = 3};
    perp_panel panel = {.series = &s, .nseries = 1};
    perp_figure figure = {.panels = &panel, .npanels = 1};
    assert_int_equal(perp_figure_svg(NULL, &text, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_figure_svg(&figure, &text, NULL), PERP_ERR_ARG);
    assert_null(text);
    s.n = 0; /* an empty series is an empty panel */
    assert_int_equal(perp_figure_svg(&figure, &text, NULL), PERP_OK);
    free(text);
    figure.width = 20;
    assert_int_equal(perp_figure_svg(&figure, &text, NULL), PERP_ERR_ARG);
    figure.width = 0;
    perp_diag diag = {0};
    assert_int_equal(perp_figure_write_svg(&figure, "/no/such/folder/x.svg", &diag), PERP_ERR_FILE);
    assert_non_null(strstr(perp_diag_text(&diag), "/no/such/folder/x.svg: cannot be written"));
    perp_diag_clear(&diag);
}

static void a_pipe_is_written_to_not_replaced(void **state)
{
    (void)state;
    double x[] = {0, 1};
    perp_series s = {.x = x, .y = x, .n = 2};
    perp_panel panel = {.series = &s, .nseries = 1};
    perp_figure figure = {.panels = &panel, .npanels = 1};
    char path[512], text[64] = "";
    snprintf(path, sizeof path, PERP_BUILD_DIR "/pipe.%ld", (long)getpid());
    assert_int_equal(mkfifo(path, 0600), 0);
    int end = open(path, O_RDONLY | O_NONBLOCK);
    assert_int_equal(perp_figure_write_svg(&figure, path, NULL), PERP_OK);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    assert_true(read(end, text, 5) == 5);
    assert_string_equal(text, "<svg ");
    close(end);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_are_round_numbers_within_the_range),
        cmocka_unit_test(a_nan_interrupts_the_line),
        cmocka_unit_test(long_series_are_thinned_and_keep_their_extremes),
        cmocka_unit_test(a_page_keeps_the_extremes_of_each_column),
        cmocka_unit_test(rows_are_short),
        cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(values_without_a_logarithm_lie_on_the_lower_edge),
        cmocka_unit_test(any_finite_values_can_be_drawn),
        cmocka_unit_test(strips_and_maps_are_drawn),
        cmocka_unit_test(what_cannot_be_drawn_is_refused),
        cmocka_unit_test(a_pipe_is_written_to_not_replaced),
    };
    return run_all(tests);
}
