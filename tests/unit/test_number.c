/* Numbers as text: the nearest double is read, the shortest text is written, in every locale. */

#include "base/hash.h"
#include "base/number.h"
#include "base/sorted.h"
#include "base/powers_of_ten.h"
#include "base/text.h"
#include "cli.h"
#include "unit.h"

#include "perp/perp.h"

#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t seed = 88172645463325252u;

static uint64_t random_bits(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* The C library's reader is the judge; it must run in the C locale. */
static void check_read(const char *text)
{
    char *rest;
    const char *our_rest;
    double expected = strtod(text, &rest), x = perp_number_read(text, &our_rest);
    int same = memcmp(&x, &expected, sizeof x) == 0 || (isnan(x) && isnan(expected));
    if (!same || our_rest != rest)
        fail_msg("'%s': read %.17g up to '%s', expected %.17g up to '%s'", text, x, our_rest,
                 expected, rest);
}

static void a_nan_has_no_sign(void **state)
{
    (void)state;
    assert_false(signbit(perp_number_read("-nan", NULL)));
    assert_true(signbit(perp_number_read("-inf", NULL)));
    assert_true(signbit(perp_number_read("-0", NULL)));
}

static void reads_what_strtod_reads(void **state)
{
    (void)state;
    const char *texts[] = {"0",
                           "-0",
                           "1",
                           "0.1",
                           "1e23",
                           "8.5e22",
                           ".5",
                           "5.",
                           "-1.5e-5x",
                           "1,5",
                           "inf",
                           "-Infinity",
                           "infinit",
                           "nan",
                           "NAN(12_a)",
                           "nan(",
                           "",
                           "-",
                           ".",
                           "..1",
                           " \t\n\v\f\r1", /* blanks before a number */
                           "\r-2",
                           "1..2",
                           "+ 1",
                           " \t\n12 ",
                           "1e",
                           "1e+",
                           "1e5.5",
                           "4.9e-324",
                           "2.2250738585072011e-308",
                           "1.7976931348623157e308",
                           "1.7976931348623158e308",
                           "1.7976931348623159e308",
                           "1e309",
                           "2.4703282292062327208e-324",
                           "2.4703282292062328e-324",
                           "9007199254740993",
                           "9007199254740992.5",
                           "9007199254740993.00000000001",
                           "1e99999999999999999999",
                           "0e99999999999999",
                           "1e-99999999999999999999",
                           "0x",
                           "0x.p1",
                           "0x1p3",
                           "0x.8p-2",
                           "0x1.fffffffffffff8p0",
                           "0x1.00000000000008p0",
                           "0x1.000000000000080000001p0",
                           "0x1p-1074",
                           "0x1p-1075",
                           "0x1.8p-1075",
                           "0x1p99999999999999",
                           "0x123456789abcdef012345p-4"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check_read(texts[i]);
    double x;
    assert_int_equal(perp__number_read("12345", 3, &x), 3); /* no further than it is told */
    assert_true(x == 123);
    assert_true(perp_number_read(NULL, NULL) == 0);
}

/* The exact decimal text of the middle of two doubles, then a little more and a little less. */
static void reads_the_middle_of_two_doubles(void **state)
{
    (void)state;
    static char text[3000];
    for (int i = 0; i < 3000; i++) {
        uint64_t bits = random_bits() & (((uint64_t)1 << 52) - 1), above;
        bits |= (uint64_t)(i % 3 ? 963 + i % 120 : i % 5) << 52;
        double x, y;
        memcpy(&x, &bits, sizeof x);
        above = bits + 1;
        memcpy(&y, &above, sizeof y);
        int n = snprintf(text, sizeof text, "%.*Lf", i % 3 ? 120 : 1100,
                         ((long double)x + (long double)y) / 2);
        check_read(text);
        memset(text + n, '0', 600);
        strcpy(text + n + 600, "1");
        check_read(text);
        text[n + 600] = 0;
        check_read(text);
        for (n--; text[n] == '0'; n--) {
        }
        text[n]--;
        check_read(text);
    }
    strcpy(text, "9007199254740993.");
    memset(text + 17, '0', 1500);
    check_read(text);
    strcpy(text + 1517, "1");
    check_read(text);
    memset(text, '0', 1200);
    text[0] = '1';
    strcpy(text + 1200, "e-1199");
    check_read(text);
}

/* Every text of fewer digits is another number, and it is read back by us and by the C library. */
static void check_write(double x)
{
    char text[PERP_NUMBER_SIZE], digits[PERP_NUMBER_SIZE], fewer[40];
    int n = perp_number_write(x, text), significant = 0, zeros = 0;
    assert_int_equal(n, strlen(text));
    double back = strtod(text, NULL);
    if (memcmp(&back, &x, sizeof x) != 0) fail_msg("%.17g was written as %s", x, text);
    check_read(text);
    strcpy(digits, text);
    digits[strcspn(digits, "e")] = 0;
    for (const char *s = digits; *s; s++) {
        if (*s < (significant ? '0' : '1') || *s > '9') continue;
        significant++;
        zeros = *s == '0' ? zeros + 1 : 0;
    }
    snprintf(fewer, sizeof fewer, "%.*e", significant - zeros - 1, x);
    if (strtod(fewer, NULL) == x && strtod(fewer, NULL) != strtod(text, NULL))
        fail_msg("%s is nearer than %s", fewer, text);
    if (significant - zeros < 2) return;
    snprintf(fewer, sizeof fewer, "%.*e", significant - zeros - 2, x);
    if (strtod(fewer, NULL) == x) fail_msg("%s is shorter than %s", fewer, text);
}

static void writes_the_shortest_text_that_reads_back(void **state)
{
    (void)state;
    const struct {
        double x;
        const char *text;
    } cases[] = {{0, "0"},
                 {-0.0, "-0"},
                 {0.1, "0.1"},
                 {-2.75, "-2.75"},
                 {1e-4, "0.0001"},
                 {1e-5, "1e-05"},
                 {123456, "123456"},
                 {1e16, "10000000000000000"},
                 {1e17, "1e+17"},
                 {1e23, "1e+23"},
                 {9007199254740993e3, "9.007199254740993e+18"},
                 {5e-324, "5e-324"},
                 {2.2250738585072014e-308, "2.2250738585072014e-308"},
                 {1.7976931348623157e308, "1.7976931348623157e+308"},
                 {1.0 / 3, "0.3333333333333333"},
                 {9.5367431640625e-07, "9.5367431640625e-07"},
                 {(double)NAN, "nan"},
                 {-(double)INFINITY, "-inf"},
                 {2e-44, "2e-44"},
                 {1125899906842625.25, "1125899906842625.2"}, /* ties: to even */
                 {1125899906842625.75, "1125899906842625.8"},
                 {-1.2345e-7, "-1.2345e-07"},
                 {1e8, "100000000"},
                 {100000000.5, "100000000.5"},
                 {1234567.8, "1234567.8"},
                 {12345678.9, "12345678.9"},
                 {0.00012345678901234567, "0.00012345678901234567"},
                 {-1234567890123456.7, "-1234567890123456.8"},
                 {9.8813129168249309e-324, "1e-323"}};
    char text[PERP_NUMBER_SIZE];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        perp_number_write(cases[i].x, text);
        assert_string_equal(text, cases[i].text);
    }
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = random_bits(), fraction = ((uint64_t)1 << 52) - 1;
        if (i % 4 == 1) bits = (bits & fraction) | random_bits() % 3 << 52;
        if (i % 4 == 2) bits = (bits & fraction) | (973 + random_bits() % 100) << 52;
        if (i % 64 == 0) bits &= ~fraction; /* a power of two: the next double below is nearer */
        double x;
        memcpy(&x, &bits, sizeof x);
        if (i % 4 == 3) x = (double)(random_bits() % 100000000) / 1e5;
        if (i % 8 == 7) x = ldexp((double)(bits >> 11), (int)(bits % 21) - 10); /* also ties */
        if (isfinite(x)) check_write(x);
    }
}

/* 2^bits / 5^n or 5^n in parts of 32 bits, lowest first, cut off to its first 128 bits. */
static void check_power(const uint32_t *part, int n, int k)
{
    uint64_t word[3] = {0};
    int last = n - 1, shift = 0;
    while (last > 0 && part[last] == 0) last--;
    while (!(part[last] << shift >> 31)) shift++;
    for (int i = 0; i < 5; i++) {
        uint64_t x = last >= i ? part[last - i] : 0;
        if (i < 4)
            word[i / 2] |= x << (i % 2 ? 0 : 32);
        else
            word[2] = x;
    }
    uint64_t next = word[2] << 32, high = word[0], low = word[1];
    if (shift) {
        high = high << shift | low >> (64 - shift);
        low = low << shift | next >> (64 - shift);
    }
    assert_true(perp__power_of_ten[k - PERP__LEAST_POWER][0] == high);
    assert_true(perp__power_of_ten[k - PERP__LEAST_POWER][1] == low);
}

static void the_powers_of_ten_are_right(void **state)
{
    (void)state;
    enum { N = 40 };
    uint32_t up[N] = {1}, down[N] = {0};
    down[N - 1] = 1; /* 2^(32 (N - 1)); cutting off at each division is cutting off once */
    for (int k = 0; k <= 342; k++) {
        if (k <= PERP__LARGEST_POWER) check_power(up, N, k);
        check_power(down, N, -k);
        uint64_t carry = 0, rest = 0;
        for (int i = 0; i < N; i++) {
            carry += (uint64_t)up[i] * 5;
            up[i] = (uint32_t)carry;
            carry >>= 32;
        }
        for (int i = N - 1; i >= 0; i--) {
            rest = rest << 32 | down[i];
            down[i] = (uint32_t)(rest / 5);
            rest %= 5;
        }
    }
}

/* Locale ---------------------------------------------------------------------------------------- */

/* A locale with a decimal comma, made for the test where the system has none; 0 if that cannot be done. */
static int set_comma(void)
{
    char command[4096];
    const char *folder = cli_folder();
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
        snprintf(command, sizeof command,
                 "localedef --no-archive -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >/dev/null 2>&1",
                 folder);
        if (system(command) != 0) return 0;
        setenv("LOCPATH", folder, 1);
        if (!setlocale(LC_ALL, "de_DE.UTF-8")) return 0;
    }
    char text[16];
    snprintf(text, sizeof text, "%g", 0.5);
    return strcmp(text, "0,5") == 0;
}

static void check_model(void)
{
    const char *text = "param mu = 0.6 in [0.5, 2.5], m = 1.9 \"kg^1.5\"\nstate x = 2.75\n"
                       "der(x) = -mu*m\nsimulate to 4.5 step 0.5\n";
    perp_diag diag = {0};
    perp_model *m = NULL;
    if (perp_model_parse(text, strlen(text), "a.perp", &m, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    assert_true(perp_model_symbol(m, PERP_PARAM, 0).value == 0.6);
    assert_true(perp_model_symbol(m, PERP_PARAM, 1).value == 1.9);
    assert_true(perp_model_symbol(m, PERP_STATE, 0).value == 2.75);
    perp_simulate_task task = perp_model_simulate_task(m);
    assert_true(task.to == 4.5 && task.step == 0.5);
    perp_model_destroy(m);
    text = "param a = 1.5 in [2.5, 0.5]\nstate x = 0\nder(x) = a\nsimulate to 1 step 0.5\n";
    assert_int_equal(perp_model_parse(text, strlen(text), "a.perp", &m, &diag), PERP_ERR_MODEL);
    assert_non_null(strstr(perp_diag_text(&diag), "2.5 is not below 0.5")); /* in messages, too */
    perp_diag_clear(&diag);
}

static void check_table(void)
{
    const char *names[] = {"t", "x"}, *path = cli_path("comma.csv");
    const char *backwards = "t,F\n1.5,0\n0.5,0\n", *model = "input F\nstate x = 0\nder(x) = F\n";
    double row[] = {0.5, 2.75};
    perp_trajectory_writer *w;
    perp_trajectory *t;
    perp_model *m;
    perp_diag diag = {0};
    assert_int_equal(perp_trajectory_writer_create(path, &w, NULL), PERP_OK);
    perp_trajectory_writer_header(w, 2, names, NULL);
    perp_trajectory_writer_row(w, row);
    assert_int_equal(perp_trajectory_writer_close(w, NULL, NULL), PERP_OK);
    char *text = cli_read(path);
    assert_non_null(strstr(text, "t,x\n0.5,2.75\n"));
    free(text);
    assert_int_equal(perp_trajectory_read(path, &t, NULL), PERP_OK);
    assert_true(perp_trajectory_column(t, 1)[0] == 2.75);
    perp_trajectory_destroy(t);
    assert_int_equal(perp_trajectory_parse(backwards, strlen(backwards), "b", &t, NULL), PERP_OK);
    assert_int_equal(perp_model_parse(model, strlen(model), "a.perp", &m, NULL), PERP_OK);
    assert_int_equal(perp_model_set_input_table(m, "F", t, NULL, "b.csv", &diag), PERP_ERR_DATA);
    assert_non_null(strstr(perp_diag_text(&diag), "0.5 is not after 1.5"));
    perp_diag_clear(&diag);
    perp_trajectory_destroy(t);
    perp_model_destroy(m);
}

static void check_figure(void)
{
    double t[] = {0.5, 1.5, 2.5}, x[] = {0.25, 0.75, 1.25};
    perp_series series = {.label = "x", .x = t, .y = x, .n = 3};
    perp_panel panel = {.series = &series, .nseries = 1};
    perp_figure figure = {.panels = &panel, .npanels = 1};
    char *svg;
    size_t length;
    assert_int_equal(perp_figure_svg(&figure, &svg, &length), PERP_OK);
    for (const char *s = svg; (s = strchr(s, ',')) != NULL; s++) /* no number with a comma */
        assert_false(s[-1] >= '0' && s[-1] <= '9' && s[1] >= '0' && s[1] <= '9');
    assert_non_null(strstr(svg, ">1.5</text>"));
    free(svg);
}

static void a_decimal_comma_of_the_program_changes_nothing(void **state)
{
    (void)state;
    if (!set_comma()) {
        setlocale(LC_ALL, "C");
        skip_because("no locale with a decimal comma (Debian: locales)");
    }
    check_model();
    check_table();
    check_figure();
    char text[64];
    perp__format(text, sizeof text, "%.2f %g", 0.25, 1e-7);
    assert_string_equal(text, "0.25 1e-07");
    snprintf(text, sizeof text, "%g", 0.5);
    assert_string_equal(text, "0,5"); /* the program's locale is as it was */
    setlocale(LC_ALL, "C");
}

/* What reads or formats in the program's locale stands in number.c alone, and in text that is written as C. */
static void the_library_has_one_reader_and_one_writer(void **state)
{
    (void)state;
    assert_int_equal(system("cd '" PERP_SOURCE_DIR "' && ! grep -nE "
                            "'strto(d|f|ld)\\(|ato[fl]\\(|scanf\\(|[^_]v(sn|f|s)?printf\\(|"
                            "[^_]printf\\(.*%[-+#0-9.*]*[aefgAEFG]' "
                            "$(ls src/*/*.c | grep -v base/number.c) | grep -v ':  *\"' >&2"),
                     0);
}

/* Tenths are those of printf: ties, what is nearly one, signs, and what has no tenths. */
static void tenths_are_those_of_printf(void **state)
{
    static const double odd[] = {0,    -0.0,  0.05,  0.25, -0.25, 0.35,  0.65, 2.5,       9.95,
                                 0.04, -0.04, 99.95, 1e8,  2e8,   1e300, NAN,  -INFINITY, 0.15};
    int n = (int)(sizeof odd / sizeof *odd);
    (void)state;
    for (int k = 0; k < 200000; k++) {
        double x = k < n ? odd[k] : 0.05 * (rand() % 40000) * (rand() % 2 ? 1 : -1);
        char expected[400];
        perp__text text = {0};
        if (k >= n && k % 3 == 0) x = nextafter(x, k % 2 ? 1e9 : -1e9);
        if (k >= n && k % 3 == 1) x = 2000 * ((double)rand() / RAND_MAX - 0.5);
        perp__text_tenths(&text, x);
        snprintf(expected, sizeof expected, "%.1f", x);
        if (strcmp(text.at, expected) != 0) fail_msg("%.17g: %s, not %s", x, text.at, expected);
        perp__text_clear(&text);
    }
}

static void quantiles_are_linear_between_two_numbers(void **state)
{
    (void)state;
    double x[] = {4, -1, 2, 10};
    perp__sort(x, 4);
    assert_true(x[0] == -1 && x[1] == 2 && x[2] == 4 && x[3] == 10);
    assert_true(perp__quantile(x, 4, 0) == -1 && perp__quantile(x, 4, 1) == 10);
    assert_true(perp__quantile(x, 4, 0.5) == 3 && perp__quantile(x, 1, 0.7) == -1);
    assert_true(isnan(perp__quantile(x, 0, 0.5)));
}

/* The first two numbers of splitmix64 from seed 0, as published. */
static void a_counter_gives_the_numbers_of_splitmix64(void **state)
{
    (void)state;
    assert_true(perp__mixed(PERP__RANDOM_STEP) == UINT64_C(0xe220a8397b1dcdaf));
    assert_true(perp__mixed(2 * PERP__RANDOM_STEP) == UINT64_C(0x6e789e6aa1b965f4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_linear_between_two_numbers),
        cmocka_unit_test(a_counter_gives_the_numbers_of_splitmix64),
        cmocka_unit_test(reads_what_strtod_reads),
        cmocka_unit_test(a_nan_has_no_sign),
        cmocka_unit_test(reads_the_middle_of_two_doubles),
        cmocka_unit_test(writes_the_shortest_text_that_reads_back),
        cmocka_unit_test(the_powers_of_ten_are_right),
        cmocka_unit_test(a_decimal_comma_of_the_program_changes_nothing),
        cmocka_unit_test(the_library_has_one_reader_and_one_writer),
        cmocka_unit_test(tenths_are_those_of_printf),
    };
    return run_all(tests);
}
