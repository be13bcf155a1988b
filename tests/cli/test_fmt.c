/* perp fmt: one style, in which nothing but blanks is another. */

#include "cli.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

static void blanks_are_put_where_they_belong(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"m*der( v )=u+f", "m*der(v) = u + f\n"},
        {"x=-a* - b", "x = -a*-b\n"},
        {"-mu * m*g<=f<=mu*m*g perp v", "-mu*m*g <= f <= mu*m*g perp v\n"},
        {"0 <= a perp -b >= 0", "0 <= a perp -b >= 0\n"},
        {"x[ i + 1 ] = A[2, :] @ y[1 .. 3]", "x[i+1] = A[2,:] @ y[1..3]\n"},
        {"param A[2,2]=[[1,-2],[3,4e-3]]   \"m\" # size",
         "param A[2,2] = [[1, -2], [3, 4e-3]] \"m\"  # size\n"},
        {"for i in 1..3{\nx[i]=\ti\n}", "for i in 1..3 {\n    x[i] = i\n}\n"},
        {"part B( m=1 \"kg\",k ) {\n# one\n\n\n   state x=0\r\n}\n\n",
         "part B(m = 1 \"kg\", k) {\n    # one\n\n    state x = 0\n}\n"},
        {"simulate { to 3-1\n step 1\n method   backward-euler }",
         "simulate { to 3 - 1\n    step 1\n    method backward-euler }\n"},
        {"plan {\ncomplementarity fischer-burmeister\n}",
         "plan {\n    complementarity fischer-burmeister\n}\n"},
        {"method=a-b", "method = a - b\n"},
        {"a.F+=k*(b . x-a.x)", "a.F += k*(b.x - a.x)\n"},
        {"plan {\nat 50%:v<=1\nminimize time+2*end(x^2)\n}",
         "plan {\n    at 50%: v <= 1\n    minimize time + 2*end(x^2)\n}\n"},
        {"draw { box at (x,0.1) size (1,-z); circle at (x, y) radius 1 }",
         "draw { box at (x, 0.1) size (1, -z); circle at (x, y) radius 1 }\n"},
    };
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        char path[512];
        snprintf(path, sizeof path, "%s", cli_file("style.perp", pairs[k][0]));
        cli_expect(0, pairs[k][1], NULL, "fmt '%s' -o -", path);
        cli_expect(2, "", "not in the style", "fmt '%s' --check", path);
        cli_expect(0, "", NULL, "fmt '%s'", path);
        cli_expect(0, "", NULL, "fmt '%s' --check", path);
        char *now = cli_read(path);
        assert_string_equal(now, pairs[k][1]);
        free(now);
    }
}

/* The text without blanks at the ends of lines and runs of them; the caller frees it. */
static char *bare(const char *path)
{
    char *text = cli_read(path), *to = text;
    for (const char *s = text; *s; s++)
        if (*s != ' ' && *s != '\t' && !(*s == '\n' && (to == text || to[-1] == '\n'))) *to++ = *s;
    *to = 0;
    return text;
}

static void examples_say_the_same_in_it(void **state)
{
    (void)state;
    static const char *const files[] = {"examples/mechanics/cube.perp",
                                        "examples/parts/tower.perp",
                                        "examples/control/turbo.perp",
                                        "examples/identify/block.perp",
                                        "examples/notes/particle.perp",
                                        "examples/parts/rectifier.perp",
                                        "lib/planar.perp",
                                        "lib/electrical.perp"};
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        char out[512];
        snprintf(out, sizeof out, "%s", cli_path("example.perp"));
        cli_expect(0, "", NULL, "fmt %s -o '%s'", files[k], out);
        cli_expect(0, "", NULL, "fmt '%s' --check", out);
        char *before = bare(files[k]), *after = bare(out);
        assert_string_equal(before, after);
        free(before);
        free(after);
    }
}

static void what_cannot_be_formatted_is_left(void **state)
{
    (void)state;
    cli_expect(4, "", "no.perp", "fmt no.perp");
    cli_expect(1, "", "which model?", "fmt");
    const char *path = cli_file("open.perp", "model a\nparam x = 1 \"kg\n");
    cli_expect(0, "param x = 1 \"kg\n", NULL, "fmt '%s' -o -", path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blanks_are_put_where_they_belong),
                                       cmocka_unit_test(examples_say_the_same_in_it),
                                       cmocka_unit_test(what_cannot_be_formatted_is_left)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
