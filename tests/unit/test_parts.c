/* Parts, lets, sums, functions and used files: the same numbers as the model written out, and messages that name the instance. */

#include "model/draw_block.h"
#include "model/identify_block.h"
#include "model/plan_block.h"
#include "runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A model that begins so and goes on with pieces, numbered from 1 on, each with the number before it. */
static void expect_too_deep(const char *begin, const char *piece, int n, const char *said)
{
    size_t size = strlen(begin) + (size_t)n * (strlen(piece) + 20) + 20;
    char *text = malloc(size);
    assert_non_null(text);
    size_t at = (size_t)snprintf(text, size, "state x = 0\n%s", begin);
    for (int i = 1; i <= n; i++)
        at += (size_t)snprintf(text + at, size - at, piece, i, i - 1, i - 1);
    strcpy(text + at, "\n");
    refuse_model(text, said);
    free(text);
}

/* The last value of a column of a run over 0.5 s in steps of 0.01 s. */
static double end_of(const char *text, const char *column)
{
    run r = run_model(parse_model(text), 0.5, 0.01);
    double x = last(&r, column);
    free_run(&r);
    return x;
}

#define WRITTEN                                                                                    \
    "param k = 20\nstate x[3] = [0, 0.2, 0.5], v[3] = 0\nvar f[3]\nder(x) = v\n"                   \
    "2*der(v[1]) = k*(x[2] - x[1] - 0.1) + f[1]\n"                                                 \
    "2*der(v[2]) = -(k*(x[2] - x[1] - 0.1)) + k*(x[3] - x[2] - 0.1) + f[2]\n"                      \
    "2*der(v[3]) = -(k*(x[3] - x[2] - 0.1)) + f[3]\nfor i in 1..3 { -0.5 <= f[i] <= 0.5 perp "     \
    "v[i] }\n"

#define PARTS                                                                                      \
    "part Block(m = 1 \"kg\", bound = 0.5) {\n state x = 0, v = 0\n sum F\n var f\n der(x) = v\n"  \
    " m*der(v) = F + f\n -bound <= f <= bound perp v\n}\n"                                         \
    "part Spring(a, b, k = 20, length = 0.1) {\n let pull = k*(b.x - a.x - length)\n"              \
    " a.F += pull\n b.F += -pull\n}\n"

static void parts_are_the_model_written_out(void **state)
{
    (void)state;
    const char *chain = PARTS "param x0[3] = [0, 0.2, 0.5]\n"
                              "for i in 1..2 { Spring s(train[i], train[i + 1]) }\n"
                              "Block train[i in 1..3](m = 2, x = x0[i])\n";
    assert_true(fabs(end_of(WRITTEN, "x[2]") - end_of(chain, "train[2].x")) < 1e-13);
    assert_true(fabs(end_of(WRITTEN, "x[3]") - end_of(chain, "train[3].x")) < 1e-13);
    assert_true(fabs(end_of(chain, "train[3].x") - 0.5) > 1e-3);
}

static void instances_have_parameters_that_can_be_set(void **state)
{
    (void)state;
    perp_model *m =
        parse_model(PARTS "param w = 3\nBlock a(m = w)\nBlock b[i in 1..2](x = 0.5*i)\n");
    perp_symbol_kind kind;
    int i;
    assert_true(perp_model_find(m, "a.m", &kind, &i) && kind == PERP_PARAM);
    assert_true(perp_model_symbol(m, kind, i).value == 3);
    assert_int_equal(perp_model_set(m, "w", 4, NULL), PERP_OK);
    assert_true(perp_model_symbol(m, kind, i).value == 4); /* it follows what it was given */
    assert_true(perp_model_find(m, "b[2].x", &kind, &i) && kind == PERP_STATE);
    assert_true(perp_model_symbol(m, kind, i).value == 1);
    assert_string_equal(perp_model_pair(m, 2).text, "b[2]: -bound <= f <= bound perp v");
    assert_string_equal(perp_model_pair(m, 2).file, "test.perp");
    perp_model_destroy(m);
    m = load_model("parts/rectifier.perp");
    assert_string_equal(perp_model_pair(m, 0).file, "lib/electrical.perp");
    assert_true(perp_model_find(m, "up[1].threshold", &kind, &i) && kind == PERP_PARAM);
    assert_string_equal(perp_model_symbol(m, kind, i).file, "lib/electrical.perp");
    assert_string_equal(perp_model_symbol(m, PERP_PARAM, 1000).file, "");
    perp_model_destroy(m);
}

static void parts_nest_and_are_arguments_of_parts(void **state)
{
    (void)state;
    const char *text =
        "part Mass(m = 1) {\n state x = 0, v = 0\n sum F\n der(x) = v\n m*der(v) = F\n}\n"
        "part Pull(on, force) { on.F += force }\n"
        "part Pair(f) {\n Mass a\n Mass b(m = 3, x = 1)\n Pull p(a, f)\n Pull q(b, f)\n"
        " let apart = b.x - a.x\n}\n"
        "input u = 6\nPair one(u)\nPull more(one.b, 2*u)\nlet other = one\n"
        "output apart = other.apart, pre_apart = pre(one.apart), s = sum([one.a.v, one.b.v])\n";
    /* backward Euler: after n steps of h, x = a h^2 n (n + 1)/2; both have 6 m/s^2 */
    assert_true(fabs(end_of(text, "one.a.x") - 6 * 1e-4 * 50 * 51 / 2) < 1e-12);
    assert_true(fabs(end_of(text, "apart") - 1) < 1e-12);
    assert_true(fabs(end_of(text, "s") - 6) < 1e-12);
}

static void a_let_is_its_expression_at_the_instant_of_its_use(void **state)
{
    (void)state;
    /* theta: der(v) = -k x weighs x, a var of its own is taken at the end (docs/language.md) */
    const char *text =
        "let pull = -4*x\nlet double = 2*pull\nstate x = 1, v = 0, w = 0\nder(x) = v\n"
        "der(v) = pull\nder(w) = double - pull\nvar p\n0 <= p perp p - pre(pull) >= 0\n";
    const char *same = "state x = 1, v = 0, w = 0\nder(x) = v\nder(v) = -4*x\n"
                       "der(w) = 2*(-4*x) - (-4*x)\nvar p\n0 <= p perp p - pre(-4*x) >= 0\n";
    assert_true(end_of(text, "v") == end_of(same, "v"));
    assert_true(end_of(text, "w") == end_of(same, "w"));
}

static void functions_take_values_arrays_and_parts(void **state)
{
    (void)state;
    const char *text =
        "function clamp(x, lo, hi) = min(max(x, lo), hi)\n"
        "function twice(x) = 2*clamp(x, -1, 1)\nfunction first(x) = x[1] + second(rate(x))\n"
        "function second(x) = x[2]\n"
        "function rate(x) = der(x)\nfunction apart(a, b) = b.x - a.x\n"
        "part P { state x = 0\n der(x) = 1 }\nP a\nP b\nstate y[2] = [3, 5]\n"
        "der(y) = [0, twice(4)]\n"
        "output c = twice(7), f = first(y), d = apart(a, b), n = sum(i in 1..3, clamp(i, 2, 3))\n";
    assert_true(end_of(text, "c") == 2);
    assert_true(fabs(end_of(text, "f") - 5) < 1e-12);
    assert_true(end_of(text, "d") == 0);
    assert_true(end_of(text, "n") == 7);
}

static void a_structural_if_chooses_statements(void **state)
{
    (void)state;
    const char *text = "param n = 3, damped = %d\nstate x = 1\nsum r\n"
                       "if damped > 0 {\n param d = 2\n r += -d*x\n} else if n < 3 { r += 7 }\n"
                       "else { r += 1 }\nder(x) = r\n";
    char one[300], none[300];
    snprintf(one, sizeof one, text, 1);
    snprintf(none, sizeof none, text, 0);
    assert_true(fabs(end_of(one, "x") - pow(1 / 1.02, 50)) < 1e-12);
    assert_true(fabs(end_of(none, "x") - 1.5) < 1e-12);
    perp_model *m = parse_model(one);
    assert_int_equal(perp_model_set(m, "damped", 0, NULL), PERP_ERR_ARG);
    perp_model_destroy(m);
    m = parse_model(
        "part P(k) { param n = k\n state x[n] = 0\n der(x) = 1 }\nparam two = 2\nP p(two)\n");
    assert_int_equal(perp_model_set(m, "two", 3, NULL),
                     PERP_ERR_ARG); /* n would follow, the size not */
    perp_model_destroy(m);
    refuse_model("state x = 0\nder(x) = 1\nif x > 1 { der(x) = 2 }\n",
                 "m.perp:3:4: 'x' is a state");
}

/* What sizes and branches depend on is set before they are made; afterwards it is what it is. */
static void sizes_are_set_when_the_model_is_read(void **state)
{
    (void)state;
    const char *text = "param n = 2, two = 2*n\npart B(m = 1, e = 0) {\n state v = 1\n if e > 0 { "
                       "m*der(v) = -v }\n else { m*der(v) = -2*v }\n}\n"
                       "B b[i in 1..n]\nstate z[two] = 3\nder(z) = 0\n";
    perp_setting set[] = {{"n", 7},      {"b[*].e", 1}, {"n", 3},
                          {"b[2].v", 5}, {"*[4]", 6},   {"b[3].m", 2}};
    perp_model_options o = {.set = set, .nset = 6};
    perp_diag diag = {0};
    perp_model *m;
    assert_int_equal(perp_model_parse_with(text, strlen(text), "m.perp", &o, &m, &diag), PERP_OK);
    assert_int_equal(perp_model_count(m, PERP_STATE), 9);
    assert_int_equal(perp_model_set(m, "n", 3, NULL), PERP_OK);
    assert_int_equal(perp_model_set(m, "n", 4, &diag), PERP_ERR_ARG);
    assert_non_null(strstr(perp_diag_text(&diag), "'n' sets the size of the model; give it when"));
    assert_string_equal(perp_model_equation(m, 1).text, "b[2]: m*der(v) = -v");
    run r = run_model(m, 0.01, 0.01);
    assert_true(fabs(last(&r, "b[2].v") - 5 / 1.01) < 1e-13);
    assert_true(fabs(last(&r, "b[3].v") - 1 / 1.005) < 1e-13);
    assert_true(last(&r, "z[4]") == 6 && last(&r, "z[6]") == 3);
    free_run(&r);
    const char *wrong[] = {"q", "*.q", "m"};
    for (int k = 0; k < 3; k++) {
        perp_setting other = {wrong[k], 1};
        o = (perp_model_options){.set = &other, .nset = 1};
        assert_int_equal(perp_model_parse_with(text, strlen(text), "m.perp", &o, &m, NULL),
                         k == 1 ? PERP_ERR_MODEL : PERP_ERR_ARG);
        assert_null(m);
    }
    perp_diag_clear(&diag);
}

static void arrays_have_slices_and_products(void **state)
{
    (void)state;
    const char *fine =
        "param A = [[1, 2, 3], [4, 5, 6]]\nstate x = [1, 2, 3]\nder(x) = 0\nlet B = A @ "
        "transpose(A)\n"
        "let y = A @ x, z = cross(x, [0, 1, 0])\nlet C = A[:,2..3]\noutput b = B[2,1], c = y[2], "
        "s = sum(A[2,:]), d = x @ x, e = C[2,1], r = sum(x[2..3]), g = z[1], k = cross([1, 2], [3, "
        "4])\n";
    assert_true(end_of(fine, "b") == 32 && end_of(fine, "c") == 32 && end_of(fine, "s") == 15);
    assert_true(end_of(fine, "d") == 14 && end_of(fine, "e") == 5 && end_of(fine, "r") == 5);
    assert_true(end_of(fine, "g") == -3 && end_of(fine, "k") == -2);
    refuse_model(
        "param A = [[1, 2], [3, 4]]\nstate x = [1, 2, 3]\nder(x) = A @ x\n",
        "m.perp:3:12: the sizes do not fit a matrix product: 2 x 2 elements and 3 elements");
    refuse_model("state x = [1, 2, 3]\nder(x) = x[2..4]\n", "index 4 of 'x' is outside 1..3");
    refuse_model("state x = [1, 2, 3]\nder(x) = x[3..2]\n", "no index is from 3 to 2");
}

static void what_jumps_takes_what_is_known(void **state)
{
    (void)state;
    const char *text =
        "state x = 0\nder(x) = choose(mod(t, 0.1) < 0.045, 1, 0) + floor(0.2 + pre(x))\n";
    assert_true(fabs(end_of(text, "x") - 0.25) <
                0.011); /* 5 steps of 10 within a period, up to rounding of t */
    refuse_model("state x = 0\nder(x) = floor(x)\n", "floor jumps, and 'x' is solved for");
    refuse_model("state x = 0\nvar y\ny = x\nder(x) = choose(y > 0, 1, 2)\n",
                 "choose jumps, and 'y' is solved for");
    refuse_model("state x = 0\nder(x) = choose(1, 1, 2)\n", "expected a condition, such as x < y");
    assert_true(end_of("state x = 3\nder(x) = 0\noutput y = mod(-x, 2)\n", "y") == 1);
}

static void new_words_are_names_elsewhere(void **state)
{
    (void)state;
    const char *text = "state part = 1, function = 2, use = 0, floor = 0\nvar let, choose, if\n"
                       "der(part) = let - function\nder(function) = choose\nder(use) = part\n"
                       "der(floor) = if\nlet = 2*part\nchoose = let - part\nif = choose\n";
    const char *same = "state a = 1, b = 2, c = 0, d = 0\nvar l, s, i\nder(a) = l - b\nder(b) = s\n"
                       "der(c) = a\nder(d) = i\nl = 2*a\ns = l - a\ni = s\n";
    assert_true(end_of(text, "use") == end_of(same, "c"));
    assert_true(end_of(text, "floor") == end_of(same, "d"));
}

static void messages_name_the_instance(void **state)
{
    (void)state;
    refuse_model(PARTS "Block b\nSpring s[i in 1..2](b, c)\n", "m.perp:15:24: unknown name 'c'");
    refuse_model(
        "part P(a) {\n state x = 0\n der(x) = a.y + z\n}\npart Q { P p(q) \n P q(p) }\nQ one\n",
        "m.perp:3:17: unknown name 'z'; in one.p (m.perp:5:10), in one (m.perp:7:1)");
    refuse_model("part P { var y\n y = }\nP a\n", "m.perp:2:6: expected an expression");
    refuse_model("part P { var y }\nP a\nstate x = 0\nder(x) = 1\n", "var 'a.y' is never used");
    refuse_model(PARTS "Block b(mass = 2)\n",
                 "m.perp:14:9: unknown parameter, state or input 'mass'");
    refuse_model(PARTS "Block b(1, 2, 3)\n", "m.perp:14:15: Block takes 2 arguments: it is Block(");
    refuse_model(PARTS "Block b(m = 1, m = 2)\n", "m.perp:14:16: 'm' is given twice");
    refuse_model(PARTS "Block b\nSpring s(b)\n",
                 "m.perp:15:1: Spring needs 'b': it is Spring(a, b");
    refuse_model(PARTS "Block b\nBlock b\n", "m.perp:15:7: 'b' is already declared at 14:7");
    refuse_model(PARTS "Block b\nBlocc c\n", "unknown statement 'Blocc'; did you mean 'Block'?");
    refuse_model(PARTS "Block b\nb.x += 1\n", "'b.x' is no sum; only to a sum");
    refuse_model(PARTS "Block b\nb.F += [1, 2]\n", "what is added to 'b.F' is 2 elements");
    refuse_model(PARTS "Block b\nb.F += 1 when b.x > 0\n", "what is added has no guard");
    refuse_model(PARTS "Block b[i in 1..2]\nvar y\ny = b.x\n",
                 "'b' is an array of parts; which one?");
    refuse_model(PARTS "Block b[i in 1..2]\nvar y\ny = b[3].x\n", "there is no part 'b[3]'");
    refuse_model(PARTS "Block b\nvar y\ny = b.z\n", "m.perp:16:7: unknown name of Block 'z'");
    refuse_model(PARTS "Block b\nvar y\ny = b\n", "'b' is a part; name what you mean of it: b.x");
    refuse_model(
        "param q = 1\npart P { state x = 0\n der(x) = q }\nP a\n",
        "m.perp:3:11: unknown name 'q'; the part 'P' sees what it is given, not the model's "
        "'q'; in a (m.perp:4:1)");
    refuse_model("part P { simulate to 1 step 1 }\nP a\n", "cannot stand in a part");
    refuse_model("state y = 0\nder(y) = 1\nfor i in 1..2 { part P { state x = 0 } }\n",
                 "only equations, pairs, parts, lets, += and loops can stand in a loop");
    refuse_model("for i in 1..2 { P p }\nP p\npart P { state x = 0\n der(x) = 1 }\n",
                 "'p' is already declared at 1:19");
}

/* What a loop's turn calls something is its own. */
static void lets_in_loops_are_of_their_turn(void **state)
{
    (void)state;
    const char *text = "param n = 3\nstate x[n] = 1\n"
                       "for i in 1..n { let k = 10*i, u = k*x[i]\n der(x[i]) = -u }\n";
    const char *same = "state x[3] = 1\nfor i in 1..3 { der(x[i]) = -10*i*x[i] }\n";
    assert_true(end_of(text, "x[3]") == end_of(same, "x[3]"));
    assert_true(end_of(text, "x[1]") == end_of(same, "x[1]"));
    text = "let u = 5\nstate x[2] = 0, y = 0\nfor i in 1..2 { let u = i\n for j in i..i { let w = "
           "u*j\n der(x[j]) = w } }\nfor i in 1..2 { let u = 7 }\nder(y) = u\n";
    assert_true(fabs(end_of(text, "x[2]") - 0.5 * 4) < 1e-9 &&
                fabs(end_of(text, "y") - 0.5 * 5) < 1e-9);
    text = "part P(k) { state x = 0\n for i in 1..1 { let u = k*i\n der(x) = u } }\n"
           "for i in 1..3 { let u = 2*i\n P p(u) }\nstate z = 0\n"
           "for i in 1..3 { let q = p[i]\n if i > 2 { der(z) = q.x - q.x + i } }\n";
    assert_true(fabs(end_of(text, "p[3].x") - 0.5 * 6) < 1e-9 &&
                fabs(end_of(text, "z") - 0.5 * 3) < 1e-9);
    refuse_model("state x[2] = 0\nfor i in 1..2 { let u = i\n der(x[i]) = u }\noutput y = u\n",
                 "m.perp:4:12: unknown name 'u'\n");
    refuse_model("state x = 0\nder(x) = 1\nfor i in 1..2 { let u = 1\n let u = 2 }\n",
                 "m.perp:4:6: 'u' is already declared at 3:21");
    refuse_model("state x = 0\nder(x) = 1\nfor i in 1..2 { let i = 1 }\n",
                 "m.perp:3:21: 'i' is the index of the loop");
    refuse_model("state x = 0\nder(x) = 1\nfor i in 1..2 { let u = i*z }\n",
                 "m.perp:3:27: unknown name 'z'");
    refuse_model("state x = 0\nder(x) = a\nfor i in 1..1 { let a = b, b = a }\n",
                 "m.perp:3:32: 'a' needs its own value: a in b in a");
}

/* Guards have brackets; without them `and` and `or` are taken from the left. */
static void guards_have_brackets(void **state)
{
    (void)state;
    static const struct {
        const char *guard;
        int holds;
    } cases[] = {{"a < 1 or b > 0 and c > 0", 0},
                 {"a < 1 or (b > 0 and c > 0)", 1},
                 {"(a < 1 or b > 0) and c > 0", 0},
                 {"((a + 1)*2 < 9 and (c < 1))", 1},
                 {"(a) < 1 and max(a, (b)) > 0", 1},
                 {"(choose(a < 1, 1, 2)) < 2", 1},
                 {"(choose((a < 1 or c > 0) and b > 5, 1, 2) < 2 or c > 0)", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "param a = 0, b = 1, c = 0\nstate x = 0, y = 0\nder(x) = choose(%s, 1, 0)\n"
                 "if %s { der(y) = 1 } else { der(y) = 0 }\n",
                 cases[i].guard, cases[i].guard);
        assert_true(fabs(end_of(text, "x") - 0.5 * cases[i].holds) < 1e-9);
        assert_true(fabs(end_of(text, "y") - 0.5 * cases[i].holds) < 1e-9);
    }
    refuse_model("param a = 1\nif (a > 0 { state x = 0 }\n",
                 "expected 'and', 'or' or ')', found '{'");
    refuse_model("param a = 1\nif (a) { state x = 0 }\n", "expected <=, <, >= or >, found '{'");
    expect_too_deep("state x = 0\nder(x) = choose(", "(", 300, "more than 200 nested brackets");
}

/* What a stranger writes first. */
static void messages_say_how_it_is_written(void **state)
{
    (void)state;
#define X "state x = 1\nder(x) = -x\n"
    refuse_model(X "output y = (x + 1)[1]\n", "found '['; elements are taken of names: let y = ..");
    refuse_model(X "output y = if x > 1 then 2 else 3\n", "one of two is choose(x < 1, a, b)");
    refuse_model(X "output y = x == 2\n", "an equation has one =, a guard <= or >=");
    refuse_model(X "dx/dt = 2\n", "unknown name 'dx'; a derivative is written der(x)");
    refuse_model(X "ddt(x) = 2\n", "unknown function 'ddt'; a derivative is written der(x)");
    refuse_model(X "output y = sum(i = 1..3, i)\n",
                 "expected 'in' and the range: sum(i in 1..4, x[i])");
    refuse_model(X "let f(z) = 2*z\n", "with arguments it is a function, found '('");
    refuse_model(X "function f(z) = 2*x\noutput y = f(1)\n",
                 "unknown name 'x'; the function 'f' sees what it is given, not the model's 'x'");
    refuse_model(X "function f(z) = 2*z\noutput y = f\n", "'f' is a function, f(..)");
    refuse_model(X "part P { }\noutput y = P\n", "'P' is a part, and a line 'P NAME' makes");
    refuse_model(X "part P { }\nP p[3]\n", "an array of parts names its index: P p[i in 1..4]");
    refuse_model(X "part P { }\nP p[i in 1..0]\noutput y = p[1].x\n", "there is no part 'p[1]'");
    refuse_model(X "Spring s(1)\n", "one is in the library \"planar\": use \"planar\"");
    refuse_model("param n = 0\nstate x[n] = 1\n", "the size of 'x' is 0; a size is from 1 to");
    refuse_model(X "param c = []\n", "an empty list; expected one element or more");
    refuse_model("state x\xC2\xA0= 1\nder(x) = -x\n",
                 "m.perp:1:8: the character U+00A0 is a blank of another kind; write a plain one");
    refuse_model("state x = 1\nder(x) = \xE2\x88\x92x\n",
                 "m.perp:2:10: the character U+2212 is no minus of the language; write -");
    refuse_model("state x = 1\rder(x) = -x\r", "m.perp:1:12: a carriage return alone");
    refuse_model(X "for i in 1..1e10 { }\n", "the last index must be a whole number below 1e9");
    refuse_model("part P(m) { state v = 1\n der(v) = m }\nP p(1)\noutput y = p.w\n",
                 "unknown name of P 'w'; there are: m v\n");
    refuse_model(X
                 "if x { state y = 0\n der(y) = 1 }\n", /* what is in the braces is not looked at */
                 "m.perp:3:6: expected <=, <, >= or >, found '{'\n");
}

static void parts_draw_themselves(void **state)
{
    (void)state;
    perp_model *m =
        parse_model("part P { state x = 0\n der(x) = 1\n draw { circle at (x, 0) radius 1 } }\n"
                    "P p[i in 1..3]\ndraw { ground at z = 0 }\n");
    assert_int_equal(m->draw->nshape, 4);
    assert_true(m->draw->shape[0].e[0] != m->draw->shape[1].e[0]);
    perp_model_destroy(m);
    refuse_model("state x = 0\nder(x) = 1\ndraw { ground at z = 0 }\ndraw { ground at z = 0 }\n",
                 "m.perp:4:1: the model has one draw block already");
}

static void circles_are_named(void **state)
{
    (void)state;
    refuse_model("part A { A x }\nA a\n", "m.perp:1:10: the part 'A' contains itself: A in A");
    refuse_model("part A { B x }\npart B { A y }\nA a\n",
                 "the part 'A' contains itself: A in B in A");
    refuse_model("state x = 0\nlet a = b + 1\nlet b = a\nder(x) = a\n",
                 "'a' needs its own value: a in b in a");
    refuse_model("state x = 0\nsum F\nlet a = F\nF += 2*a\nder(x) = F\n",
                 "'F' needs its own value");
    refuse_model("state x = 0\nlet a = b\nlet b = a\nder(x) = a\n", "needs its own value");
    refuse_model("function f(x) = g(x)\nfunction g(x) = f(x)\nstate x = 0\nder(x) = f(x)\n",
                 "the function 'f' calls itself: f in g in f");
    refuse_model("part P(a) { let b = a.b }\nP p(q)\nP q(p)\nstate x = 0\nder(x) = p.b\n",
                 "needs its own value");
    refuse_model("function f(b) = b.x\nstate z = 0\nder(z) = f(z)\n",
                 "m.perp:1:17: 'b' is no part and has no names in it; in f (m.perp:3:10)");
    refuse_model("function g = 3\n", "m.perp:1:12: expected '(', found '='");
    refuse_model("part P\n{\n}\n", "m.perp:1:7: expected '{' and the statements of the part");
    refuse_model("part P { state x = 0\nder(x) = 1\nlet y = x }\nP p(y = 1)\n",
                 "unknown parameter, state or input 'y'\n");
    refuse_model("state z = 0\nder(z) = choose(z, 1, 2)\n", "m.perp:2:17: expected a condition");
    expect_too_deep("der(x) = x", ".x", 100, "more than 64 names inside each other");
    expect_too_deep("let a0 = 1\nder(x) = a3000\n", "let a%d = a%d + 1\n", 3000,
                    "more than 4000 expressions inside each other");
    expect_too_deep("function f0(x) = x\nder(x) = f2000(x)\n",
                    "function f%d(x) = f%d(x) + f%d(x)\n", 2000,
                    "more than 4000 expressions inside each other");
    char deep[4000] = "part P0 { state x = 0\n der(x) = 1 }\n", line[60];
    for (int i = 1; i < 40; i++) {
        snprintf(line, sizeof line, "part P%d { P%d a\n P%d b }\n", i, i - 1, i - 1);
        strcat(deep, line);
    }
    strcat(deep, "P39 p\n");
    refuse_model("part A { state x[1000] = 0\nder(x) = 1 }\nA b[i in 1..100000]\n",
                 "unroll to more than 200000 conditions and names");
    refuse_model(deep, "unroll to more than");
    strcpy(deep, "function f0(x) = x\n");
    for (int i = 1; i < 40; i++) {
        snprintf(line, sizeof line, "function f%d(x) = f%d(x) + f%d(x)\n", i, i - 1, i - 1);
        strcat(deep, line);
    }
    strcat(deep, "state x = 0\nder(x) = f39(x)\n");
    refuse_model(deep, "terms in all, calls among them");
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* What loading a model of this text says; "" where it loads. */
static const char *said_of(const char *folder, const char *text, char *said, size_t size)
{
    char path[300];
    perp_diag diag = {0};
    perp_model *model;
    write_file(folder, "m.perp", text);
    snprintf(path, sizeof path, "%s/m.perp", folder);
    perp_model_load(path, &model, &diag);
    snprintf(said, size, "%s", model ? "" : perp_diag_text(&diag));
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    return said;
}

static void expect_said(const char *folder, const char *text, const char *expected)
{
    char said[2000];
    if (!strstr(said_of(folder, text, said, sizeof said), expected) || !expected[0] != !said[0])
        fail_msg("%s\nexpected '%s' in\n%s", text, expected, said);
}

/* Feedback, functions of time, and none: then it is an input. */
#define DRIVEN "part M { input u in [0, 9]\nstate x = 1\nlet twice = 2*u\nder(x) = twice }\n"

static void inputs_that_are_given_are_what_is_given(void **state)
{
    (void)state;
    const double growth = pow(1 / (1 - 0.02), 50);
    assert_near(end_of(DRIVEN "M m(u = m.x)\n", "m.x"), growth, 1e-9);
    assert_near(end_of(DRIVEN "M m[i in 1..2](u = m[3 - i].x)\n", "m[2].x"), growth, 1e-9);
    assert_near(end_of(DRIVEN "input w = 3\nM m(u = w)\n", "m.x"), 4, 1e-12);
    perp_model *model = parse_model(DRIVEN "M a(u = 1)\nM b\n");
    assert_int_equal(perp_model_count(model, PERP_INPUT), 1);
    perp_model_destroy(model);
    refuse_model(DRIVEN "M m(twice = 2)\n", "unknown parameter, state or input 'twice'");
    refuse_model(DRIVEN "M m(u = y)\n", "unknown name 'y'");
    refuse_model(DRIVEN "M m(u = 1, u = 2)\n", "'u' is given twice");
    refuse_model(DRIVEN "M m(u = \"fast\")\n", "expected an expression");
}

static void files_are_used(void **state)
{
    (void)state;
    char folder[] = "/tmp/perp_parts_XXXXXX", command[64];
    assert_non_null(mkdtemp(folder));
    write_file(folder, "a.perp", "use \"b\"\nlet c = 2\npart P { state x = 0\n der(x) = f(c) }\n");
    write_file(folder, "b.perp", "function f(x) = x + c\nlet c = 40\n");
    expect_said(folder, "use \"a\"\nuse \"a\"\nP p\nlet d = c\n", "");
    expect_said(folder, "use \"a\"\nP p\nvar y\ny = f(1)\n",
                "unknown function 'f'"); /* b's, not a's */
    expect_said(folder, "use \"a\"\npart P { state y = 0\n der(y) = 1 }\nP p\nvar y\ny = p.y\n",
                "");
    expect_said(folder, "use \"a\"\nP p\nvar y\ny = p.x + f\n", "m.perp:4:11: unknown name 'f'");
    write_file(folder, "bad.perp", "part P { state x = 0\n der(x) = q }\n");
    expect_said(folder, "use \"bad\"\nP one\n", "/bad.perp:2:11: unknown name 'q'; in one (");
    expect_said(folder, "use \"bad\"\nP one\n", "m.perp:2:1)");
    expect_said(folder, "use \"a\"\nuse \"bad\"\nP one\n", "'P' is in both");
    write_file(folder, "b.perp", "use \"a\"\nfunction f(x) = x\n");
    expect_said(folder, "use \"a\"\nP p\n", "/b.perp:1:5: files use each other: ");
    write_file(folder, "s.perp", "use \"m\"\n");
    expect_said(folder, "use \"s\"\n", "files use each other: ");
    write_file(folder, "v.perp", "var x\n");
    expect_said(folder, "use \"v\"\n",
                "/v.perp:1:5: a file that is used has parts, functions and lets alone");
    expect_said(folder, "use \"../b\"\n", "m.perp:1:5: '../b' is outside of the model's folder");
    expect_said(folder, "use \"/etc/passwd\"\n", "is outside of the model's folder");
    expect_said(
        folder, "use planar\n",
        "m.perp:1:5: expected a library or a file in quotes, such as \"planar\", found 'planar'");
    expect_said(folder, "use \"frictoin\"\n", "did you mean 'friction'?");
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* Beside the file that uses first, then in the folders in their order, then in the library. */
static void files_are_found_in_folders(void **state)
{
    (void)state;
    char one[] = "/tmp/perp_parts_XXXXXX", two[] = "/tmp/perp_parts_XXXXXX", command[100];
    assert_non_null(mkdtemp(one));
    assert_non_null(mkdtemp(two));
    write_file(one, "a.perp", "use \"b\"\nlet n = f(1)\n");
    write_file(two, "a.perp", "let n = 1\n");
    write_file(two, "b.perp", "function f(x) = x + 4\n");
    write_file(two, "control.perp", "let g = 9\n");
    const char *text = "use \"a\"\nuse \"control\"\nstate x = n + g\nder(x) = 0\n",
               *folder[] = {"/nowhere", one, two};
    perp_model_options o = {.folder = folder, .nfolder = 3};
    perp_model *m;
    assert_int_equal(perp_model_parse_with(text, strlen(text), "m.perp", &o, &m, NULL), PERP_OK);
    assert_true(perp_model_symbol(m, PERP_STATE, 0).value == 14);
    perp_model_destroy(m);
    refuse_model(text, "no file 'a.perp'");
    snprintf(command, sizeof command, "rm -r %s %s", one, two);
    assert_int_equal(system(command), 0);
}

static void a_thousand_instances_compile_in_a_second(void **state)
{
    (void)state;
    perp_model *m =
        parse_model(PARTS "Block b[i in 1..1000](x = 0.1*i)\n"
                          "for i in 1..999 { Spring s(b[i], b[i + 1]) }\nb[1000].F += 3\n");
    assert_int_equal(perp_model_count(m, PERP_STATE), 2000);
    assert_int_equal(perp_model_pairs(m), 1000);
    perp_model_destroy(m);
}

/* Each turn of the sum would say another index: it ends behind a hundred. */
static void a_sum_of_errors_ends(void **state)
{
    (void)state;
    const char *text = "state x[9] = 1\nder(x) = -x\n"
                       "output y = sum(j in 1..90000, x[j + 9])\nsimulate to 1 step 0.1\n";
    perp_diag diag = {0};
    perp_model *model;
    assert_int_equal(perp_model_parse(text, strlen(text), "sum.perp", &model, &diag),
                     PERP_ERR_MODEL);
    assert_non_null(strstr(perp_diag_text(&diag), "sum.perp:3:"));
    assert_in_range(diag.errors, 100, 110);
    perp_diag_clear(&diag);
}

static void blocks_speak_of_names_of_instances(void **state)
{
    (void)state;
    perp_model *m =
        parse_model("part P { param k = 2 in [1, 3], w[2] = 1\n state x[2] = 1\n input u in [-1, "
                    "1]\n der(x) = -k*x + u\n}\n"
                    "part Q { P p[i in 1..2] }\nQ q\nP p\n"
                    "identify {\n estimate q.p[2].k, p.k\n measure q.p[1].x[2] noise 0.1, p.x\n}\n"
                    "plan {\n horizon 1\n nodes 3\n minimize p.k*integral(p.u^2) + "
                    "q.p[1].w[2]*time\n free q.p[2].k\n"
                    " at end: q.p[1].x[2] = 0\n guess q.p[2].u = 0.5\n}\n");
    const perp__identify_block *b = m->identify;
    assert_int_equal(b->nparam, 2);
    assert_string_equal(m->item[PERP_PARAM][b->param[0]].name, "q.p[2].k");
    assert_string_equal(m->item[PERP_PARAM][b->param[1]].name, "p.k");
    assert_int_equal(b->nmeasure, 3);
    assert_string_equal(b->measure[0].name, "q.p[1].x[2]");
    assert_true(b->measure[0].noise == 0.1 && isnan(b->measure[1].noise));
    assert_string_equal(b->measure[2].name, "p.x[2]");
    assert_true(m->plan->ncost == 2 && m->plan->nfree == 1 && m->plan->nguess == 1);
    perp_model_destroy(m);
    refuse_model("part P { state x = 1\n der(x) = -x }\nP p\nidentify { measure p.q }\n",
                 "m.perp:4:20: unknown state, var or output 'p.q'");
    refuse_model("part P { state x = 1\n der(x) = -x }\nP p\nidentify { measure p. }\n",
                 "expected a name, found '}'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_of_errors_ends),
        cmocka_unit_test(parts_are_the_model_written_out),
        cmocka_unit_test(instances_have_parameters_that_can_be_set),
        cmocka_unit_test(parts_nest_and_are_arguments_of_parts),
        cmocka_unit_test(a_let_is_its_expression_at_the_instant_of_its_use),
        cmocka_unit_test(functions_take_values_arrays_and_parts),
        cmocka_unit_test(a_structural_if_chooses_statements),
        cmocka_unit_test(sizes_are_set_when_the_model_is_read),
        cmocka_unit_test(arrays_have_slices_and_products),
        cmocka_unit_test(what_jumps_takes_what_is_known),
        cmocka_unit_test(new_words_are_names_elsewhere),
        cmocka_unit_test(messages_name_the_instance),
        cmocka_unit_test(lets_in_loops_are_of_their_turn),
        cmocka_unit_test(guards_have_brackets),
        cmocka_unit_test(messages_say_how_it_is_written),
        cmocka_unit_test(parts_draw_themselves),
        cmocka_unit_test(circles_are_named),
        cmocka_unit_test(inputs_that_are_given_are_what_is_given),
        cmocka_unit_test(files_are_used),
        cmocka_unit_test(files_are_found_in_folders),
        cmocka_unit_test(blocks_speak_of_names_of_instances),
        cmocka_unit_test(a_thousand_instances_compile_in_a_second),
    };
    return run_all(tests);
}
