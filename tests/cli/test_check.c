/* perp check: sizes, classes and warnings. */

#include "cli.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

/* Exit code 0 and a text in the output; `absent` (nullable) must not be there. */
static void expect(const char *model, const char *says, const char *absent)
{
    cli_result r = cli_run("check '%s'", cli_file("check.perp", model));
    if (r.code != 0 || !strstr(r.out, says))
        fail_msg("expected '%s' (exit code %d) in:\n%s%s\nfor:\n%s", says, r.code, r.out, r.err,
                 model);
    if (absent && strstr(r.out, absent))
        fail_msg("did not expect '%s' in:\n%s\nfor:\n%s", absent, r.out, model);
    cli_free(&r);
}

static void sizes_and_kind_are_told(void **state)
{
    (void)state;
    cli_result r = cli_run("check examples/notes/sliding_traditional.perp");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "continuous, 2 states, 3 vars, 1 input, 3 parameters"));
    assert_non_null(strstr(
        r.out,
        "5 unknowns, 2 equations, 3 complementarity pairs; affine with constant coefficients"));
    assert_non_null(
        strstr(r.out, "positive definite no, semidefinite yes, P no, P0 yes, copositive yes"));
    assert_non_null(strstr(r.out, "'lp' and 'ln' can grow together"));
    cli_free(&r);
    expect("state x = 1\nder(x) = -x^3\n", "nonlinear", NULL);
    expect("state x = 1, y = 1\nder(x) = -pre(y)*x\nder(y) = 0\n", "coefficients that change",
           NULL);
    expect("state x = 1, y = 1\nder(x) = -pre(y)*x\nder(y) = 0\n",
           "check.perp:2:1: coefficients change here: der(x) = -pre(y)*x", "der(y) = 0");
    expect("state x = 1\nvar f\nder(x) = f - 1\n0 <= f perp x >= 0\n", "exactly one solution",
           "warning:");
}

/* A size is set before the model is made, a part found in a folder, and a page knows the size of its run. */
static void sizes_and_folders_are_given(void **state)
{
    (void)state;
    char model[300], folder[300];
    snprintf(model, sizeof model, "%s",
             cli_file("size.perp", "use \"thing\"\nparam n = 2\nThing a[i in 1..n]\n"
                                   "simulate to 1 step 1\n"));
    snprintf(folder, sizeof folder, "%s/used", cli_folder());
    assert_true(mkdir(folder, 0700) == 0 || errno == EEXIST);
    cli_file("used/thing.perp", "part Thing { state x = 0\n der(x) = 1 }\n");
    cli_expect(0, "4 states", NULL, "check %s -I %s --set n=4", model, folder);
    cli_expect(2, NULL, "no file '", "check %s --set n=4", model);
    cli_expect(2, NULL, "no parameter and no state of the model matches 'q*'",
               "check %s -I %s --set 'q*=4'", model, folder);
    snprintf(model, sizeof model, "%s",
             cli_file("sized.perp", "param n = 2\nstate x[n] = 1\nvar f[n]\nder(x) = f\n"
                                    "-1 <= f <= 1 perp x\nsimulate to 1 step 1\n"));
    cli_expect(0, NULL, NULL, "simulate %s --quiet --set n=3 -o %s", model, cli_path("sized.csv"));
    cli_result r = cli_run("report %s -o %s", cli_path("sized.csv"), cli_path("sized.html"));
    assert_int_equal(r.code, 0);
    assert_string_equal(r.err, "");
    cli_free(&r);
    char used[300];
    snprintf(
        used, sizeof used, "%s",
        cli_file("far.perp", "use \"thing\"\nThing a\ndraw { circle at (a.x, 0) radius 1 }\n"));
    cli_expect(0, NULL, NULL, "simulate %s -I %s --to 1 --step 0.5 --quiet -o %s", used, folder,
               cli_path("far.csv"));
    cli_expect(0, NULL, "not shown", "report %s -o %s", cli_path("far.csv"), cli_path("far.html"));
    r = cli_run("report %s -I %s -o %s", cli_path("far.csv"), folder, cli_path("far.html"));
    assert_int_equal(r.code, 0);
    assert_string_equal(r.err, "");
    cli_free(&r);
    cli_expect(2, NULL, "no file '", "report %s --model %s -o %s", cli_path("far.csv"), used,
               cli_path("far.html"));
    cli_expect(0, NULL, NULL, "report %s --model %s -I %s -o %s", cli_path("far.csv"), used, folder,
               cli_path("far.html"));
}

/* What several pairs may share is not unique; friction in one direction is. */
static void what_is_unique_is_told(void **state)
{
    (void)state;
    static const char *const told = "are not unique", *const one = "exactly one solution";
    expect("state v = 1\nvar f\nder(v) = f\n-2 <= f <= 2 perp v\n", one, told);
    expect("state v = 1\nvar f, g\nder(v) = f + g\n-2 <= f <= 2 perp v\n-1 <= g <= 1 perp v\n",
           told, one);
    expect("state v = 1, w = 1\nvar f, g\nder(v) = f + g\nder(w) = f - g\n-2 <= f <= 2 perp v\n"
           "-1 <= g <= 1 perp w\n",
           "a step", one); /* pushes what it should hold: f is against v, g with w */
    expect("state v = 1, w = 1\nvar f, g, n\nder(v) = f\nder(w) = g + n\n-2 <= f <= 2 perp v\n"
           "-n <= g <= n perp v + w\n0 <= n perp w >= 0\n",
           "a step", one); /* whose bounds are solved for is not decided */
    expect("state v[2] = 1\nvar f[2], k[2]\nder(v) = f + k\nfriction(f = f, v = v, bound = 1)\n"
           "friction(f = k, v = v, bound = 1)\n",
           told, one);
    static const char *const block = "use \"planar\"\nGround o\nBody b(z = %s, J = 0.01)\n"
                                     "PointLine l(o, b, -0.1, -0.05)\n%s"
                                     "PointLine r(o, b, 0.1, -0.05)\n";
    char text[400];
    snprintf(text, sizeof text, block, "0.05", "PointLine c(o, b, 0, -0.05)\n");
    expect(text, told, "at the start");
    snprintf(text, sizeof text, block, "0.02", "");
    expect(text, "at the start 'l.at: gap' is -0.03, below 0", NULL);
}

/* Round cones are outside M, and M of a nonlinear step is that of its linearisation. */
static void no_more_is_guaranteed_than_holds(void **state)
{
    (void)state;
    cli_result r = cli_run("check examples/mechanics/table.perp");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "4 exact friction cones are not in M, so it guarantees nothing"));
    assert_null(strstr(r.out, "exactly one"));
    cli_free(&r);
    expect("state x = 1\nvar f\nder(x) = f - 1 - x^3\n0 <= f perp x >= 0\n",
           "exactly one solution of the linearised step", NULL);
}

/* A block on two corners: which of them holds it against a push is open; what they carry of its weight is not. With one corner, or
 * on two blocks, nothing is. */
static void shared_friction_is_said_not_to_be_unique(void **state)
{
    (void)state;
    const char *block =
        "param M = 0.5, a = 0.2, J = 1/300, g = 9.81, mu = 0.4, s[2] = [-1, 1]\n"
        "input F = 0.5*sin(20*t)\nstate p[3] = [0, 0.1, 0], v[3] = 0\nvar gn[2], gt[2]\nder(p) = "
        "v\n"
        "M*der(v[1]) = sum(gt) + F\nM*der(v[2]) = sum(gn) - M*g\n"
        "J*der(v[3]) = sum(i in 1..2, (s[i]*a/2 + a/2*p[3])*gn[i] - (s[i]*a/2*p[3] - a/2)*gt[i])\n"
        "for i in 1..2 {\n0 <= gn[i] perp p[2] + s[i]*a/2*p[3] - a/2 >= 0\n"
        "-mu*gn[i] <= gt[i] <= mu*gn[i] perp v[1] - v[3]*(s[i]*a/2*p[3] - a/2)\n}\n"
        "simulate to 1 step 1e-3\n";
    expect(block, "'gt[1]', 'gt[2]' are not unique where all pairs are closed and stick",
           "'gn[1]'");
    expect("state v = 0, w = 0\nvar f, k\nder(v) = 1 + f\nder(w) = 1 + k - f\n-1 <= f <= 1 perp v\n"
           "-1 <= k <= 1 perp w\n",
           "0 warnings", "unique");
    cli_result r = cli_run("check examples/mechanics/cube.perp");
    assert_int_equal(r.code, 0);
    assert_null(strstr(r.out, "''"));
    assert_non_null(strstr(r.out, "'fn[1]', 'fn[2]', 'fn[3]', 'fn[4]' and others are not unique"));
    cli_free(&r);
    r = cli_run("check examples/mechanics/table.perp"); /* exact cones */
    assert_non_null(strstr(r.out, "'fn[4]' and others are not unique"));
    cli_free(&r);
}

static void an_input_may_come_from_a_table(void **state)
{
    (void)state;
    char model[1024], table[1024];
    strcpy(model, cli_file("input.perp", "input F\nstate x = 0\nder(x) = F\n"));
    strcpy(table, cli_file("short.csv", "t,F\n0,1\n0.5,2\n"));
    const struct {
        const char *option, *says;
        int code;
    } cases[] = {{"", "input 'F' has no value", 2},
                 {"--input F", "perp check: --input needs NAME=FILE.csv", 1},
                 {"--input G=%s", "perp check: --input G: the model has no input of this name", 1},
                 {"--input F=%s:G", "no column 'G'", 2},
                 {"--input F=%s", "1 state, 0 vars, 1 input", 0},
                 {"--input F=%s --step 0.6", "goes from t = 0 to 0.5, but the run needs it", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char option[64], file[1024];
        const char *at = strstr(cases[i].option, "%s");
        int before = at ? (int)(at - cases[i].option) : (int)strlen(cases[i].option);
        snprintf(option, sizeof option, "%.*s", before, cases[i].option);
        snprintf(file, sizeof file, "%s%s", at ? table : "", at ? at + 2 : "");
        cli_result r = cli_run("check '%s' %s%s", model, option, file);
        if (r.code != cases[i].code || !strstr(r.code ? r.err : r.out, cases[i].says))
            fail_msg("%s: exit code %d\n%s%s", cases[i].option, r.code, r.out, r.err);
        cli_free(&r);
    }
}

/* A plan chooses its inputs and recorded runs have theirs: the model can be checked without. */
static void a_study_may_leave_inputs_open(void **state)
{
    (void)state;
    const char *model = "input u in [1, 3]\nstate x = 1, v = 0\nder(x) = v\nder(v) = u*x\n";
    char text[512];
    snprintf(text, sizeof text,
             "%splan {\n horizon 1\n nodes 11\n minimize integral(u^2)\n at end: x = 2\n}\n",
             model);
    expect(text, "the plan: 10 steps (backward-euler), 30 unknowns, 20 conditions, 0 pairs", NULL);
    expect(text, "1 input without a value: taken in the middle of the range\n0 warnings", NULL);
    expect(text, "coefficients change here: der(v) = u*x", NULL); /* u is not taken as constant */
    snprintf(text, sizeof text, "param m = 1 in [0, 2]\n%sidentify {\n estimate m\n}\n", model);
    expect(text, "1 input without a value", "the plan");
    snprintf(text, sizeof text, "%splan {\n horizon 1\n minimize integral(y^2)\n}\n", model);
    cli_result r = cli_run("check '%s'", cli_file("open.perp", text));
    assert_int_equal(r.code, 2);
    assert_non_null(strstr(r.err, "open.perp:7:"));
    cli_free(&r);
    cli_expect(0, NULL, NULL, "check examples/opty/push.perp");
}

static void one_line_friction_is_not_suspected(void **state)
{
    (void)state;
    cli_result r = cli_run("check examples/notes/sliding_one_line.perp");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "0 warnings"));
    cli_free(&r);
}

static void units_that_do_not_match_are_named(void **state)
{
    (void)state;
    const char *head =
        "param m = 1 \"kg\", g = 9.81 \"m/s^2\", k = 3 \"N/m\"\nstate x = 0 \"m\", v = 0 \"m/s\"\n";
    const struct {
        const char *rest, *says;
    } bad[] = {
        {"der(x) = v\nm*der(v) = -k*x - g\n", "units do not match in a sum: 'N' and 'm s^-2'"},
        {"der(x) = x\nm*der(v) = -k*x - m*g\n",
         "units do not match across the equation: 'm s^-1' and 'm'"},
        {"var f \"N\"\nder(x) = v\nm*der(v) = f - k*x - m*g\n-g <= f <= m*g perp v\n",
         "with the lower bound: 'N' and 'm s^-2'"},
        {"der(x) = v\nm*der(v) = -k*x - m*g*cos(x)\n", "cos of a quantity in 'm'"},
        {"param q = 1 \"furlong\"\nder(x) = v + 0*q\nm*der(v) = -k*x - m*g\n",
         "the unit 'furlong' is not known"},
        {"param q = 1 \"m/s2\"\nder(x) = v + 0*q\nm*der(v) = -k*x - m*g\n",
         "the unit 'm/s2' is not known, so it is not checked; a power is written ^"}};
    char model[1024];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(model, sizeof model, "%s%s", head, bad[i].rest);
        expect(model, bad[i].says, NULL);
    }
    snprintf(model, sizeof model,
             "%sder(x) = v\nm*der(v) = -k*x - m*g + 0.5*m*v^2/sqrt(x^2 + (2*h*v)^2 + 1)\n", head);
    expect(model, "0 warnings", "warning:"); /* J/m is N; plain numbers agree with everything */
    snprintf(model, sizeof model, "%sder(x) = v\nm*der(v) = -2*k*x - m*g\n", head);
    expect(model, "0 warnings", "warning:");
}

/* That for which it was written, not the first of its kind. */
static void warnings_in_parts_name_the_instance(void **state)
{
    (void)state;
#define SPRINGS                                                                                    \
    "param q = 2 \"1/s^2\", w = 1 \"1/s\"\npart B(k) {\nstate x = 1 \"m\", v = 0 \"m/s\"\n"        \
    "der(x) = v\nder(v) = -k*x\n}\nB a(q)\nB b[i in 1..2](%s)\n"
    char model[1024];
    snprintf(model, sizeof model, SPRINGS, "choose(i > 1, w, q)");
    expect(
        model,
        ":5:1: warning: units do not match across the equation: 'm s^-2' and 'm s^-1'; in b[2] (",
        "in b[1]");
    snprintf(model, sizeof model, SPRINGS, "q");
    expect(model, "1 warning", "units do not");
    expect("part C {\nstate x = 1 \"m\"\nlet y = x + t\nder(x) = -y\n}\npart D { C c }\nD d\n",
           ":3:11: warning: units do not match in a sum: 'm' and 's'; in d.c (", NULL);
    expect("part C {\nstate x = 1 \"m\"\nder(x) = -2*f(x)\n}\nfunction f(x) = x + t\nC one\n",
           "in a sum: 'm' and 's'; in f (", NULL);
    expect("part C {\nstate x = 1 \"m\"\nder(x) = -2*f(x)\n}\nfunction f(x) = x + t\nC one\n",
           "in one (", NULL);
    expect("part C(k) {\nstate x = 1 \"m\"\nparam c = 1 \"m/s\"\nder(x) = -c*sin(k*x)\n}\nparam k "
           "= 1 \"1/m\"\nC a(k)\nC "
           "b(1)\n",
           "sin of a quantity in 'm'; in b (", "in a (");
    expect("part C(k) {\nstate x = 1\nder(x) = -x/k\n}\nC a(2)\nstate y = 1\nder(y) = 0\nC b(y)\n",
           ":3:12: warning: the divisor may become 0; in b (", NULL);
    expect("part C(k) {\nstate x = 1\nvar p\nder(x) = p - 1\n0 <= p perp x >= 0 when k > 0\n}\n"
           "C a(t)\nC b(2)\n",
           ":5:1: warning: the guard always holds; in b (", NULL);
    expect(
        "part C(k) {\nstate x = k\nvar p\nder(x) = p - 1\n0 <= p perp x >= 0\n}\nC a(1)\nC b(-1)\n",
        "to that at once, whatever force that takes; in b (", NULL);
    expect("part C {\nstate v = 0 \"m/s\"\nsum F \"m/s^2\"\nder(v) = F\n}\n"
           "part S(c) { c.F += 2*c.v }\nC c\nS s(c)\n",
           "with the sum 'c.F' that it is added to: 'm s^-1' and 'm s^-2'; in s (", NULL);
}

/* Friction by sign(v): the cure stands in perp check and in the message of the step that fails. Of t, inputs and pre(..) it is none. */
static void friction_by_sign_has_a_cure(void **state)
{
    (void)state;
    static const char *const jumps[] = {"sign(v)", "2*sign(abs(v) - f)", "sign(der(v))"},
                             *const none[] = {"sign(2 - t)", "sign(pre(v))", "sign(k)*abs(v)"};
    const char *cure = "jumps at 0, where no step may hold; Coulomb friction";
    char text[256];
    for (int i = 0; i < 6; i++) {
        snprintf(text, sizeof text, "param k = 1\nstate v = 1\nvar f\nder(v) = f\nf = -3*%s + k\n",
                 i < 3 ? jumps[i] : none[i - 3]);
        expect(text, i < 3 ? cure : "1 state", i < 3 ? NULL : cure);
    }
    cli_expect(
        3, NULL, "sign.perp:2:13: sign(..) of what is solved for jumps at 0", "simulate '%s'",
        cli_file("sign.perp", "state v = 1\nder(v) = -3*sign(v)\nsimulate to 1 step 0.01\n"));
}

/* A guard that holds only where something is 0 that is never below it; not one that is 0 in a region, or that changes its sign. */
static void guards_that_only_touch_are_named(void **state)
{
    (void)state;
    static const char *const touch[] = {"(x - 1)^2 <= 0",   "(x - v)*(x - v) <= 0 and t >= 0",
                                        "norm(x, v) <= 0",  "0 >= abs(x)",
                                        "-(x - 1)^4 >= 0",  "(x - 1)^2 + v^2 <= 0",
                                        "3*(x - 1)^2 <= 0", "0 >= (x - 1)^2/3",
                                        "abs(x)^3 <= 0",    "abs(x)*v^2 <= 0"};
    static const char *const cross[] = {"x <= 1",         "x^2 <= 1",           "x^2 >= 0",
                                        "max(x, 0) <= 0", "max(x, 0)^2 <= 0",   "x^3 <= 0",
                                        "1 - x^2 <= 0",   "x^2 - v^2 <= 0",     "x^2 < 0",
                                        "-2*x^2 <= 0",    "abs(x)*v <= 0",      "(x - 1)^2/3 <= 1",
                                        "x^2/(-3) <= 0",  "x <= 1 and k^2 <= 0"};
    char model[256];
    for (size_t i = 0; i < sizeof touch / sizeof *touch + sizeof cross / sizeof *cross; i++) {
        size_t n = sizeof touch / sizeof *touch;
        const char *says = "holds only where a square or a size is 0";
        snprintf(model, sizeof model,
                 "param k = 0\nstate x = 2, v = 0\nvar p\nder(x) = v\nder(v) = p - 1 + k\n"
                 "0 <= p perp v >= 0 when %s\n",
                 i < n ? touch[i] : cross[i - n]);
        expect(model, i < n ? says : "warning", i < n ? NULL : says);
    }
}

/* What is shared within a guard is looked at once: here there are 2^60 ways to it. */
static void a_guard_is_looked_through_once(void **state)
{
    (void)state;
    char model[4096] = "param k = 0\nstate x = 2, v = 0\nvar p\nlet y0 = abs(x) + v^2\n";
    size_t n = strlen(model);
    for (int i = 1; i <= 60; i++)
        n += (size_t)snprintf(model + n, sizeof model - n, "let y%d = 3*y%d + y%d/7\n", i, i - 1,
                              i - 1);
    snprintf(model + n, sizeof model - n,
             "der(x) = v\nder(v) = p - 1 + k\n0 <= p perp v >= 0 when y60 <= 0\n");
    expect(model, "holds only where a square or a size is 0", NULL);
}

static void units_of_a_plan_are_checked(void **state)
{
    (void)state;
    const char *head = "param g = 9.81 \"m/s^2\"\ninput u in [-1, 1] \"m/s^2\"\n"
                       "state x = 0 \"m\", v = 0 \"m/s\"\nder(x) = v\nder(v) = u\nplan {\n";
    const struct {
        const char *lines, *says;
    } bad[] = {
        {"horizon 2\nat end: x = v\n",
         ":8:9: warning: units do not match across the condition: 'm' and 'm s^-1'"},
        {"horizon 2\nv <= 2*x\n", ":8:1: warning: units do not match with the upper bound"},
        {"horizon 2\n-u <= v <= 3\n", ":8:1: warning: units do not match with the lower bound"},
        {"horizon 2\nminimize integral(u^2 + x^2)\n",
         ":8:23: warning: units do not match in a sum"},
        {"horizon 2\nat end: v = start(x)\n", "units do not match across the condition"},
        {"horizon g\n", ":7:1: warning: units do not match with a time: 's' and 'm s^-2'"},
        {"phase a {\nhorizon 1\nnodes 3\n}\nlink: x = pre(v)\nphase b {\nhorizon 1\nnodes 3\n}\n",
         ":11:7: warning: units do not match across the link: 'm' and 'm s^-1'"}};
    char model[1024];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(model, sizeof model, "%s%s}\n", head, bad[i].lines);
        expect(model, bad[i].says, NULL);
    }
    snprintf(model, sizeof model,
             "%shorizon 2\nminimize integral(u^2) + 3*time + at(50%%, x^2)\nat end: x = start(x) + "
             "v*t, v = 0\n"
             "-2*g <= (u - pre(u)) <= g\n}\n",
             head);
    expect(model, "0 warnings", "warning:");
}

static void domains_are_watched(void **state)
{
    (void)state;
    expect("state x = 1\nder(x) = 1/x\n", "2:11: warning: the divisor may become 0", NULL);
    expect("state x = 1\nder(x) = 1/(1 + x^2)\n", "0 warnings", "divisor");
    expect("param a = 2\nstate x = 1\nder(x) = x/a + 1/exp(x) + 1/max(x, 1)\n", "0 warnings",
           "divisor");
    expect("state x = 1\nder(x) = sqrt(x) + log(x)\n", "the argument of sqrt may become negative",
           NULL);
    expect("state x = 1\nder(x) = sqrt(x^2) + log(1 + abs(x))\n", "0 warnings", "argument");
    expect("state x = 1\nder(x) = acos(x)\n", "the argument of acos may leave -1..1", NULL);
    expect("param a = 2\nstate x = 1\nder(x) = acos(max(-1, min(1, a*x))) + asin(-sin(x))\n",
           "0 warnings", "argument");
    expect("state x = 1\nder(x) = acos(max(-1, min(1.5, x)))\n", "may leave -1..1", NULL);
    expect("state x = 1\nder(x) = asin(min(1, x))\n", "may leave -1..1", NULL);
}

/* x/norm(x, ..) is at most 1 in size; other quotients of lengths are watched, and so is a direction that begins without a length. */
static void directions_of_places_that_are_apart_are_no_warning(void **state)
{
    (void)state;
    const char *with = "state x = 3, y = 4, z = 0\nder(x) = 0\nder(y) = 0\n";
    const struct {
        const char *rate, *says, *absent;
    } rates[] = {
        {"x/norm(x, y)", "0 warnings", "divisor"},
        {"-2*y/norm(x, y, z)", "0 warnings", "divisor"},
        {"(y - x)/norm(y - x)", "0 warnings", "divisor"},
        {"1/norm(x, y)", "3:10: warning: the divisor may become 0", NULL},
        {"z/norm(x, y)", "3:10: warning: the divisor may become 0", NULL},
        {"x/norm(x, y)^3", "the divisor may become 0", NULL},
        {"x/(x^2 + y^2)", "the divisor may become 0", NULL},
        {"x/sqrt(x^2 - y^2 + 10)", "the divisor may become 0", NULL},
        {"x/sqrt(x^2 + y)", "the divisor may become 0", NULL},
        {"1/pre(x)", "the divisor may become 0", NULL},
    };
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        char model[256];
        snprintf(model, sizeof model, "param k = 1\n%sder(z) = k + %s\n", with, rates[i].rate);
        const char *says = rates[i].says;
        expect(model, strstr(says, "divisor") ? "warning: the divisor may become 0" : says,
               rates[i].absent);
    }
    expect("state x = 1\nvar u, w\nder(x) = u/norm(u, w)\nu = 2 - x\nw = x - 2\n",
           "the divisor may become 0", NULL); /* nothing says where vars begin */
    /* what parameters alone make is known */
    expect("param a = 1, b = 3, c = [[1, 0], [0, 1]]\nstate x = 1\n"
           "der(x) = x/(a - b) + x/norm(c[1,1] - c[2,1], c[1,2] - c[2,2]) + sqrt(b - a)\n",
           "0 warnings", "warning:");
}

/* One of two stops is out of reach; not those that close on each other, or stand at one place. */
static void stops_that_are_apart_share_nothing(void **state)
{
    (void)state;
    const char *with = "param s = 2\nstate x = 1, v = 0\nvar p, q, r\nder(x) = v\n"
                       "der(v) = p - q + r - 1\n0 <= p perp x >= 0\n";
    const struct {
        const char *gap, *third, *says, *absent;
    } cases[] = {
        {"s - x", "r = 0", "0 warnings", "warning:"},
        {"s/2 - x/2", "r = 0", "0 warnings", "warning:"},
        {"s - x", "-1 <= r <= 1 perp v", "'q' and 'r' can grow together", "'p' and 'q'"},
        {"s - x - t", "r = 0", "'p' and 'q' can grow together", NULL},
        {"s - x - 0.01*t", "r = 0", "'p' and 'q' can grow together", NULL},
        {"s - 2 - x", "r = 0", "'p' and 'q' can grow together", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char model[400];
        snprintf(model, sizeof model, "%s0 <= q perp %s >= 0\n%s\n", with, cases[i].gap,
                 cases[i].third);
        expect(model, cases[i].says, cases[i].absent);
    }
}

static void what_begins_where_it_may_not_be_is_told(void **state)
{
    (void)state;
#define FALL "state y = %s, v = 0\nvar N\nder(y) = v\nder(v) = N - 9.81\n0 <= y - 1 perp N >= 0"
    char text[512];
    snprintf(text, sizeof text, FALL "\n", "0.5");
    expect(text, "5:1: warning: at the start 'y - 1' is -0.5, below 0", NULL);
    strcat(text, "state far = 1e12\nder(far) = 0\n"); /* what is large elsewhere hides nothing */
    expect(text, "at the start 'y - 1' is -0.5, below 0", NULL);
    snprintf(text, sizeof text, FALL "\n", "1");
    expect(text, "0 warnings", "at the start");
    snprintf(text, sizeof text, FALL " when y > 3\n", "0.5"); /* it is not in force yet */
    expect(text, "1 complementarity pair", "at the start");
    expect("state y = 2, v = 0\nvar f\nder(y) = v\nder(v) = f\n-1 <= y <= 1 perp -f\n",
           "at the start 'y' is 2, above 1", NULL);
    expect("state v = 2\nvar f\nder(v) = f\n-1 <= f <= 1 perp v\n", "complementarity pair",
           "at the start");
#undef FALL
}

static void the_index_of_what_holds_positions_is_told(void **state)
{
    (void)state;
#define MOTION                                                                                     \
    "state x = 1, y = 0, vx = 0, vy = 0\nvar s\nder(x) = vx\nder(y) = vy\nder(vx) = s*x\nder(vy) " \
    "= s*y - 9.81\n"
    expect(MOTION "x^2 + y^2 = 1\n", "index: 3, of 1 equation that reads positions alone", NULL);
    expect(MOTION "var r\nr = x^2 + y^2\n0 <= s perp r >= 1\n", "index: 3, of 1 pair that reads",
           NULL);
    expect(MOTION "x*vx + y*vy = 0\n", "a step:", "index:");
    expect(MOTION "x^2 + y^2 = 1 + 1e-3*s\n", "a step:", "index:"); /* it gives */
    expect("use \"planar\"\nGround g\nBody b(x = 1)\nPin p(g, b, 0, 0, -1, 0)\n",
           "index: 3, of 2 equations", NULL);
    expect("state a = 0, b = 0, c = 0\nvar f\nder(a) = b\nder(b) = c\nder(c) = f\na = sin(t)\n",
           "index: 4, of 1 equation", NULL);
#undef MOTION
}

static void unused_names_are_told(void **state)
{
    (void)state;
    expect("param a = 1, b = 2\ninput u = t\nstate x = a\nder(x) = 1\n",
           "warning: nothing uses 'b'", "nothing uses 'a'");
    expect("param a = 1, b = 2\ninput u = t\nstate x = a\nder(x) = 1\n",
           "warning: nothing uses 'u'", NULL);
    expect("use \"planar\"\nGround g\nBody b(z = 1)\nPointLine p(g, b)\n", "0 warnings", NULL);
    expect("function mod(a, b) = a\nstate x = 0\nder(x) = mod(1, 2)\n",
           "warning: 'mod' of this model comes before the function of the language", NULL);
    expect("function f(a, b) = a\nstate x = 0\nder(x) = f(1, 2)\n", "0 warnings", "comes before");
    expect("state v[2] = 1\nvar f[2]\nder(v) = f\nfriction(f = f, v = v, bound = 1, r = 5)\n",
           ":4:35: warning: 'r' of friction changes nothing", NULL);
    expect("param m = 1 \"kg\"\nstate v = [1, 0] \"m/s\"\nvar f[2] \"N\"\nm*der(v) = f\n"
           "friction(f = f, v = v, bound = 2)\n",
           "0 warnings", NULL);
    expect("param w = 1 \"m\"\nstate v = [1, 0]\nvar f[2] \"N\"\nder(v) = f\n"
           "friction(f = f, v = v, bound = w)\n",
           "units do not match with the bound: 'N' and 'm'", NULL);
}

static void faults_are_those_of_simulate(void **state)
{
    (void)state;
    cli_result r = cli_run("check '%s'", cli_file("bad.perp", "state x = 0\nder(x) = y\n"));
    assert_int_equal(r.code, 2);
    assert_non_null(strstr(r.err, "unknown name 'y'"));
    cli_free(&r);
    cli_expect(1, NULL, NULL, "check");
    cli_expect(1, NULL, "did you mean 'mu'?", "check examples/notes/particle.perp --set nu=1");
    cli_expect(0, NULL, NULL, "check --help");
}

static void masses_below_zero_and_crossed_bounds_are_told(void **state)
{
    (void)state;
    const char *mass = "'m' is -1 here: a mass below 0 moves against the force";
    expect("param m = -1\nstate v = 1\nm*der(v) = -v\n", mass, NULL);
    expect("param m = -1\nstate v = 1\nder(v)*m = -v\n", mass, NULL);
    expect("param m = 1\nstate v = 1\nm*der(v) = -v\n", "0 warnings", "below 0");
    expect("param k = -1\nstate v = 1\nder(v) = k*v\n", "0 warnings", "below 0");
    const char *crossed = "the lower bound of 'f' is 2, above the upper one, 1";
    expect("param b = 1\nstate v = 1\nvar f\nder(v) = f\n2*b <= f <= b perp v\n", crossed, NULL);
    expect("param b = 1\nstate v = 1\nvar f\nder(v) = f\n-b <= f <= b perp v\n", "step",
           "above the upper");
    /* of which nothing is said to have one solution */
    expect("param b = -1\nstate v = 1\nvar f\nder(v) = f\n-b <= f <= b perp v\n",
           "above the upper one", "exactly one solution");
    expect("param b = 1\nstate v = 1\nvar f\nder(v) = f\n-b <= f <= b perp v\n",
           "exactly one solution", "warning:");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_kind_are_told),
        cmocka_unit_test(sizes_and_folders_are_given),
        cmocka_unit_test(what_is_unique_is_told),
        cmocka_unit_test(no_more_is_guaranteed_than_holds),
        cmocka_unit_test(shared_friction_is_said_not_to_be_unique),
        cmocka_unit_test(an_input_may_come_from_a_table),
        cmocka_unit_test(a_study_may_leave_inputs_open),
        cmocka_unit_test(one_line_friction_is_not_suspected),
        cmocka_unit_test(units_that_do_not_match_are_named),
        cmocka_unit_test(warnings_in_parts_name_the_instance),
        cmocka_unit_test(guards_that_only_touch_are_named),
        cmocka_unit_test(a_guard_is_looked_through_once),
        cmocka_unit_test(units_of_a_plan_are_checked),
        cmocka_unit_test(domains_are_watched),
        cmocka_unit_test(friction_by_sign_has_a_cure),
        cmocka_unit_test(directions_of_places_that_are_apart_are_no_warning),
        cmocka_unit_test(stops_that_are_apart_share_nothing),
        cmocka_unit_test(what_begins_where_it_may_not_be_is_told),
        cmocka_unit_test(the_index_of_what_holds_positions_is_told),
        cmocka_unit_test(unused_names_are_told),
        cmocka_unit_test(masses_below_zero_and_crossed_bounds_are_told),
        cmocka_unit_test(faults_are_those_of_simulate),
    };
    return run_all(tests);
}
