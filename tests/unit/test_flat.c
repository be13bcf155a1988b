/* Flat texts: every example's is a model that gives the same rows, bit for bit; names, guards and settings. */

#define _XOPEN_SOURCE 700 /* nftw */

#include "cli.h"
#include "unit.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perp/simulate.h"
#include "outcomes.h"

enum { MOST_STEPS = 60 };

static int compared;

static perp_model *load(const char *path)
{
    perp_diag diag = {0};
    perp_model *model;
    if (perp_model_load(path, &model, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    perp_diag_clear(&diag);
    assert_true(perp_model_settle_inputs(model) >= 0);
    return model;
}

static perp_simulation *simulation_of(const perp_model *model)
{
    perp_simulation_options o = perp_simulation_options_default(model);
    perp_simulation *s = NULL;
    if (isnan(perp_model_simulate_task(model).step)) o.step = 1e-3;
    o.from = isnan(o.from) ? 0 : o.from;
    o.to = o.from + MOST_STEPS * o.step;
    if (!perp_model_simulate_task(model).method) o.integrator = perp_simulation_recommend(model);
    if (perp_simulation_create(model, &o, &s, NULL) != PERP_OK) return NULL;
    return s;
}

/* Steps both until one has no solution, which the other has not either. */
static void compare(const char *path, const perp_model *a, const perp_model *b)
{
    perp_simulation *x = simulation_of(a), *y = simulation_of(b);
    if (!x != !y) fail_msg("%s: only one can be simulated", path);
    int n = x ? perp_simulation_columns(x) : 0, ok = x != NULL;
    double *p = calloc((size_t)n + 1, sizeof *p), *q = calloc((size_t)n + 1, sizeof *q);
    if (x && n != perp_simulation_columns(y)) fail_msg("%s: other columns", path);
    /* Their derivatives are summed in another order: what shares lets is met in the order of its use. */
    double rounding = strstr(path, "/table.perp") ? 1e-7 /* four legs: forces are not unique */
                      : strstr(path, "/crouch.perp") || strstr(path, "/jump.perp") ||
                              strstr(path, "/shaker.perp") || strstr(path, "/finger.perp") ||
                              strstr(path, "/cube.perp")
                          ? 1e-9
                          : 0;
    for (int k = 0; k < MOST_STEPS && ok; k++) {
        double largest = 0;
        perp_simulation_row(x, p);
        perp_simulation_row(y, q);
        for (int i = 0; i < n; i++) largest = fmax(largest, fabs(p[i]));
        for (int i = 0; i < n; i++)
            if (!(fabs(p[i] - q[i]) <= rounding * largest || (isnan(p[i]) && isnan(q[i]))))
                fail_msg("%s, row %d: %s is %.17g, flat %.17g", path, k,
                         perp_simulation_column_name(x, i), p[i], q[i]);
        ok = simulation_step(x, NULL, NULL) == PERP_OK;
        if (ok != (simulation_step(y, NULL, NULL) == PERP_OK))
            fail_msg("%s: step %d of one", path, k);
        compared += ok;
    }
    free(p);
    free(q);
    perp_simulation_destroy(x);
    perp_simulation_destroy(y);
}

static int compare_flat(const char *path, const struct stat *of, int type, struct FTW *at)
{
    (void)of;
    size_t n = strlen(path);
    if (type != FTW_F || n < 5 || strcmp(path + n - 5, ".perp") != 0) return 0;
    char flat[4096];
    snprintf(flat, sizeof flat, "%.*szz_flat.perp", at->base,
             path); /* beside it, as its tables are */
    perp_model *model = load(path), *other;
    assert_int_equal(perp_model_write_flat(model, flat, NULL), PERP_OK);
    other = load(flat);
    remove(flat);
    assert_true(perp_model_get_kind(model) == perp_model_get_kind(other));
    compare(path, model, other);
    perp_model_destroy(model);
    perp_model_destroy(other);
    return 0;
}

static void examples_give_the_same_rows(void **state)
{
    (void)state;
    char command[5000];
    snprintf(command, sizeof command, "cp -r '%s/examples' '%s'", PERP_SOURCE_DIR, cli_folder());
    assert_int_equal(system(command), 0);
    assert_int_equal(nftw(cli_path("examples"), compare_flat, 16, FTW_PHYS), 0);
    assert_true(compared > 1000);
}

static char *flat_text(const char *text, const char *set, double value)
{
    perp_model *model;
    perp_diag diag = {0};
    if (perp_model_parse(text, strlen(text), "m.perp", &model, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    if (set) assert_int_equal(perp_model_set(model, set, value, NULL), PERP_OK);
    assert_int_equal(perp_model_write_flat(model, cli_path("flat.txt"), NULL), PERP_OK);
    perp_model_destroy(model);
    FILE *file = fopen(cli_path("flat.txt"), "rb");
    char *all = calloc(1, 10000);
    assert_non_null(file);
    assert_true(fread(all, 1, 9999, file) > 0);
    fclose(file);
    remove(cli_path("flat.txt"));
    if (perp_model_parse(all, strlen(all), "flat.perp", &model, &diag) != PERP_OK)
        fail_msg("%s in\n%s", perp_diag_text(&diag), all);
    perp_model_destroy(model);
    return all;
}

static void expect(const char *text, const char *set, double value, const char *says)
{
    char *flat = flat_text(text, set, value);
    if (!strstr(flat, says)) fail_msg("expected '%s' in:\n%s", says, flat);
    free(flat);
}

static void names_are_plain_and_their_own(void **state)
{
    (void)state;
    expect("part A { state x = 1\n der(x) = -x }\nA a[i in 1..2]\nparam a_1_x = 3, e1 = 4\n"
           "output z = a_1_x + a[1].x\n",
           NULL, 0, "state a_1_x_ = 1");
    expect("state x[2,2] = 1\nder(x) = -x*exp(-x[1,2])\n", NULL, 0, "let e1 = exp(-x_1_2)");
    expect("param e1 = 2\nstate x[2] = e1\nder(x) = -exp(-x[1])\n", NULL, 0, "let e1_ = ");
}

static void what_is_set_stays(void **state)
{
    (void)state;
    static const char *const text =
        "param m = 2 in [1, 3] \"kg\", k = 2*m\nstate x = k\nder(x) = -m*x\n";
    expect(text, NULL, 0, "param k = 2*m");
    expect(text, "m", 2.5, "param m = 2.5  in [1, 3]  \"kg\"");
    expect(text, "x", -7, "state x = (-7)");
}

static void conditions_keep_their_kind(void **state)
{
    (void)state;
    static const char *const ball =
        "param e = 0.5\nstate z = 1, v = 0\nvar p\nder(z) = v\nder(v) = p - 9.81\n"
        "0 <= p perp v + e*pre(v) >= 0 when z <= 0 or v < 0 and t > 1\n";
    expect(ball, NULL, 0, " when z <= 0 or v < 0 and 1 < t");
    expect(ball, NULL, 0, "pre(v)");
    static const char *const puck =
        "state v[2] = 1\nvar f[2]\nder(v) = f\nfriction(f = f, v = v, bound = 2";
    char text[300];
    snprintf(text, sizeof text, "%s, facets = 8)\n", puck);
    expect(text, NULL, 0, "friction(f = [f_1, f_2], v = [v_1, v_2], bound = 2, facets = 8)");
    snprintf(text, sizeof text, "%s)\n", puck);
    expect(text, NULL, 0, "bound = 2)");
    expect("state x = 1\nder(x) = choose(pre(x) < 0.5 and t < 1, 1, mod(t, 2))*x\n", NULL, 0,
           "choose(");
    expect("state x = 1\nnext(x) = 0.5*x + h\n", NULL, 0, "next(x) = ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_give_the_same_rows),
        cmocka_unit_test(names_are_plain_and_their_own),
        cmocka_unit_test(what_is_set_stays),
        cmocka_unit_test(conditions_keep_their_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
