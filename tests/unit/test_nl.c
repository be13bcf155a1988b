/* The reader of .nl files: what it makes of them, in both formats, and what it says of those that are wrong. */

#include "unit.h"

#include "program/nl.h"
#include "perp/program.h"

#include <stdio.h>

#define DATA     PERP_SOURCE_DIR "/tests/data/nl/"
#define EXAMPLES PERP_SOURCE_DIR "/examples/programs/"

static perp__nl *parse(const char *text, size_t n)
{
    perp_status status;
    perp_diag diag = {0};
    perp__nl *nl = perp__nl_read(text, n, "test.nl", &status, &diag);
    if (!nl) print_message("%s", perp_diag_text(&diag));
    assert_non_null(nl);
    perp_diag_clear(&diag);
    return nl;
}

static perp__nl *load(const char *name)
{
    char path[512], bytes[1 << 14];
    snprintf(path, sizeof path, DATA "%s", name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        snprintf(path, sizeof path, EXAMPLES "%s", name);
        file = fopen(path, "rb");
    }
    assert_non_null(file);
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return parse(bytes, n);
}

/* Row (or objective, behind them) i at x: its expression and its linear terms. */
static double value_of(const perp__nl *nl, int i, const double *x)
{
    double sum;
    perp_expr e = i < nl->ncon ? nl->row[i] : nl->objective[i - nl->ncon];
    assert_true(perp__graph_value(&nl->graph, e, x, &sum));
    for (int k = 0; k < nl->linear.count[i]; k++) {
        int at = nl->linear.first[i] + k;
        sum += nl->linear.coefficient[at] * x[nl->linear.var[at]];
    }
    return sum;
}

static void the_parts_of_a_file_are_read(void **state)
{
    (void)state;
    perp__nl *nl = load("toll.nl");
    const double x[] = {1.5, 0.75, 0.25, 3.25};
    assert_int_equal(nl->nvar, 4);
    assert_int_equal(nl->ncon, 3);
    assert_int_equal(nl->nobj, 1);
    assert_int_equal(nl->pairs.n, 2);
    assert_int_equal(nl->pairs.var[0], -1);
    assert_int_equal(nl->pairs.var[1], 1);
    assert_true(nl->pairs.lower[2] && !nl->pairs.upper[2]);
    assert_true(nl->maximise[0]);
    assert_near(nl->rlo[0], 1, 0);
    assert_near(nl->rhi[0], 1, 0);
    assert_near(nl->lo[2], 0, 0);
    assert_true(isinf(nl->lo[3]) && isinf(nl->hi[3]));
    assert_near(nl->start[3], 2, 0);
    assert_near(value_of(nl, 0, x), 1, 0);
    assert_near(value_of(nl, 1, x), 1 + 1.5 + 0.75 - 3.25, 0);
    assert_near(value_of(nl, 3, x), 1.5 * 0.75, 0);
    perp__nl_destroy(nl);
}

static void both_sides_of_a_variable_may_be_complemented(void **state)
{
    (void)state;
    perp__nl *nl = load("dry_friction.nl");
    assert_true(nl->pairs.lower[0] && nl->pairs.upper[0]);
    assert_true(isinf(nl->rlo[0]) && isinf(nl->rhi[0]));
    perp__nl_destroy(nl);
}

static double all_functions(double x)
{
    double sum = tanh(x) + tan(x) + sqrt(x) + sinh(x) + sin(x) + log10(x) + log(x) + exp(x) +
                 cosh(x) + cos(x) + atan(x) + asinh(x) + atanh(x) + asin(x) + acos(x) + fabs(x);
    sum += acosh(x + 1) + atan2(x, 2) + fmin(x, 0.3) + fmax(x, 0.3) + fmax(x - 0.2, 0);
    return sum + x * x * x + pow(2, x) - x / 3 + pow(x, 2.5);
}

static void functions_have_their_values(void **state)
{
    (void)state;
    perp__nl *nl = load("functions.nl");
    for (double x = 0.1; x < 0.95; x += 0.1)
        assert_near(value_of(nl, 0, &x), all_functions(x), 1e-14 * all_functions(x));
    perp__nl_destroy(nl);
}

/* asinh by a formula that keeps its digits for large negative arguments, too. */
static void inverse_hyperbolic_functions_are_odd(void **state)
{
    (void)state;
    static const char text[] =
        "g3 1 1 0\n 1 1 0\n 1 0\n 0 0\n 1 0 0\n 0 0 0 1\n 0 0 0 0 0\n 0 0\n 0 "
        "0\n 0 0 0 0 0\nC0\no50\nv0\nr\n3\nb\n3\n";
    perp__nl *nl = parse(text, sizeof text - 1);
    for (double x = 1e-8; x < 1e9; x *= 10) {
        double minus = -x;
        assert_near(value_of(nl, 0, &x), asinh(x), 1e-6 * asinh(x));
        assert_near(value_of(nl, 0, &minus), -asinh(x), 1e-6 * asinh(x));
    }
    perp__nl_destroy(nl);
}

static int is_same(const perp__nl *a, const perp__nl *b)
{
    double x[] = {0.3, 0.4, 0.6};
    if (a->nvar != b->nvar || a->ncon != b->ncon || a->nobj != b->nobj) return 0;
    for (int i = 0; i < a->ncon + a->nobj; i++)
        if (value_of(a, i, x) != value_of(b, i, x)) return 0;
    for (int i = 0; i < a->ncon; i++)
        if (a->rlo[i] != b->rlo[i] || a->rhi[i] != b->rhi[i] || a->pairs.var[i] != b->pairs.var[i])
            return 0;
    for (int j = 0; j < a->nvar; j++)
        if (a->lo[j] != b->lo[j] || a->hi[j] != b->hi[j] || a->start[j] != b->start[j]) return 0;
    return 1;
}

static void binary_files_of_either_order_are_as_text(void **state)
{
    (void)state;
    static const char *const names[] = {"functions", "rosenbrock", "market"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char file[64];
        snprintf(file, sizeof file, "%s.nl", names[i]);
        perp__nl *text = load(file);
        snprintf(file, sizeof file, "%s_little.nl", names[i]);
        perp__nl *little = load(file);
        snprintf(file, sizeof file, "%s_big.nl", names[i]);
        perp__nl *big = load(file);
        assert_true(is_same(text, little));
        assert_true(is_same(text, big));
        perp__nl_destroy(text);
        perp__nl_destroy(little);
        perp__nl_destroy(big);
    }
}

#define HEAD(vars, rows, objectives, rest)                                                         \
    "g3 1 1 0\n " vars " " rows " " objectives                                                     \
    "\n 1 1\n 0 0\n 1 0 0\n 0 0 0 1\n 0 0 0 0 0\n 1 0\n 0 0\n" rest
#define ONE HEAD("1", "1", "1", " 1 0 0 0 0\n")

static const struct {
    const char *text, *says;
} wrong[] = {
    {"", "test.nl:1:1: header: an .nl file begins with g (text) or b (binary)"},
    {"g3 1 1\n", "1:7: header: expected an option, a whole number"},
    {"g3 1 1 0\n 4 x\n", "test.nl:2:4: header: expected a count, a whole number"},
    {"g3 1 1 0\n 999999 0 0\n", "are more than 21 bytes hold"},
    {"g3 1 1 0\n 1 0 0\n 0 0\n 0 0\n 1 0\n 0 0 0 1\n 2 0 0 0 0\n", "header: 2 binary variables"},
    {HEAD("1", "0", "0", " 0 0 0 0 0\n"), "ends without segment b"},
    {ONE "C0\no99\n", "test.nl:12:4: segment C0: there is no operator o99"},
    {ONE "C0\no35\n", "segment C0: operator o35, if, has no derivative"},
    {ONE "C1\n", "row is 1; expected 0 to 0"},
    {ONE "C0\nv1\n", "variable v1 is used before its segment V1"},
    {ONE "C0\nv7\n", "a variable is 7; expected 0 to 1"},
    {ONE "C0\nn1 2\n", "test.nl:12:4: segment C0: expected the end of the line"},
    {ONE "C0\nx\n", "expected an operator (o), a variable (v) or a constant (n)"},
    {ONE "C0\nnnan\n", "a constant is not a number"},
    {ONE "C0\nn1e999\n", "a constant is not finite"},
    {ONE "C0\no0\nn1\n", "the file ends within this segment"},
    {ONE "J0 2\n", "a number of terms is 2; expected 0 to 1"},
    {ONE "J0 1\n0 1\nJ0 1\n", "segment J0: this segment is there twice"},
    {ONE "r\n5 1 1\nb\n3\n", "row 0 complements the lower bound of v0, which has none"},
    {ONE "r\n9\n", "test.nl:12:1: segment r: expected the kind of a bound, 0 to 5"},
    {ONE "b\n5 1 1\n", "segment b: expected the kind of a bound, 0 to 4"},
    {ONE "r\n3\nb\n2 inf\n", "a bound is infinite on the wrong side"},
    {ONE "q\n", "'q' behind it begins no segment"},
    {ONE "F0 1 2 f\n", "an imported function"},
    {ONE "L0\n", "a logical constraint"},
};

static void what_is_wrong_is_said_with_its_segment_and_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        perp_status status;
        perp_diag diag = {0};
        perp__nl *nl =
            perp__nl_read(wrong[i].text, strlen(wrong[i].text), "test.nl", &status, &diag);
        assert_null(nl);
        assert_int_equal(status, PERP_ERR_DATA);
        assert_int_equal(diag.errors, 1);
        if (!strstr(perp_diag_text(&diag), wrong[i].says))
            fail_msg("'%s' is not in: %s", wrong[i].says, perp_diag_text(&diag));
        perp_diag_clear(&diag);
    }
}

/* A file that ends early is refused, wherever; of a binary one the byte is named. */
static void every_beginning_of_a_file_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"rosenbrock.nl", "rosenbrock_little.nl",
                                        "rosenbrock_big.nl"};
    for (int f = 0; f < 3; f++) {
        char path[512], bytes[4096];
        snprintf(path, sizeof path, DATA "%s", names[f]);
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        size_t n = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        const char *bounds = strstr(bytes, "\nb");
        size_t least = f == 0 ? (size_t)(bounds - bytes) : n;
        for (size_t k = 0; k < least; k++) {
            perp_status status;
            perp_diag diag = {0};
            assert_null(perp__nl_read(bytes, k, "short.nl", &status, &diag));
            assert_int_equal(status, PERP_ERR_DATA);
            perp_diag_clear(&diag);
        }
    }
}

static void classes_are_recognised(void **state)
{
    (void)state;
    static const struct {
        const char *folder, *file;
        perp_program_class kind;
    } cases[] = {{DATA, "linear", PERP_PROGRAM_LP},        {DATA, "quadratic", PERP_PROGRAM_QP},
                 {DATA, "hs71", PERP_PROGRAM_NLP},         {DATA, "cournot", PERP_PROGRAM_LCP},
                 {DATA, "dry_friction", PERP_PROGRAM_LCP}, {EXAMPLES, "market", PERP_PROGRAM_MCP},
                 {EXAMPLES, "toll", PERP_PROGRAM_MPCC},    {DATA, "rosenbrock", PERP_PROGRAM_NLP}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[512];
        perp_program *program;
        perp_diag diag = {0};
        snprintf(path, sizeof path, "%s%s", cases[i].folder, cases[i].file); /* without .nl */
        assert_int_equal(perp_program_read(path, &program, &diag), PERP_OK);
        if (perp_program_get_size(program).kind != cases[i].kind)
            fail_msg("%s is taken for %s", cases[i].file,
                     perp_program_class_name(perp_program_get_size(program).kind));
        perp_program_destroy(program);
    }
}

static void a_file_that_is_not_there_is_named(void **state)
{
    (void)state;
    perp_program *program;
    perp_diag diag = {0};
    assert_int_equal(perp_program_read("no/such/stub", &program, &diag), PERP_ERR_FILE);
    assert_null(program);
    assert_non_null(strstr(perp_diag_text(&diag), "no/such/stub.nl: cannot be read"));
    perp_diag_clear(&diag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_of_a_file_are_read),
        cmocka_unit_test(both_sides_of_a_variable_may_be_complemented),
        cmocka_unit_test(functions_have_their_values),
        cmocka_unit_test(inverse_hyperbolic_functions_are_odd),
        cmocka_unit_test(binary_files_of_either_order_are_as_text),
        cmocka_unit_test(what_is_wrong_is_said_with_its_segment_and_line),
        cmocka_unit_test(every_beginning_of_a_file_is_refused),
        cmocka_unit_test(classes_are_recognised),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
    };
    return run_all(tests);
}
