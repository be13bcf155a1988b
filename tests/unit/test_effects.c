/* What a sweep's results owe to what varies: indices and intervals beside closed forms, and the page that shows them. */

#include "unit.h"

#include "perp/perp.h"
#include "report/effects.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { AXES = 3, MOST = 20480 };

static const char three[] =
    "model three\nparam a = 0, b = 0, c = 0\nstate x = 0\nder(x) = a\nsimulate to 1 step 1\n";

/* Points of a sweep of three axes: x[axis][job], and the job. */
static double point[AXES][MOST], number[MOST], value[MOST];

static int take_points(const char *const vary[AXES], perp_design design, long samples,
                       unsigned long long seed)
{
    perp_model *model;
    perp_sweep *sweep;
    assert_int_equal(perp_model_parse(three, strlen(three), "three.perp", &model, NULL), PERP_OK);
    perp_sweep_options o = perp_sweep_options_default();
    o.vary = vary, o.nvary = AXES, o.design = design, o.samples = samples, o.seed = seed;
    assert_int_equal(perp_sweep_create(model, &o, &sweep, NULL), PERP_OK);
    int n = (int)perp_sweep_jobs(sweep);
    assert_true(n <= MOST);
    for (int job = 0; job < n; job++) {
        double x[AXES];
        assert_int_equal(perp_sweep_point(sweep, job, x), PERP_OK);
        for (int a = 0; a < AXES; a++) point[a][job] = x[a];
        number[job] = job;
    }
    perp_sweep_destroy(sweep);
    perp_model_destroy(model);
    return n;
}

/* Ishigami and Homma 1990, with a = 7, b = 0.1. */
static const char *const turn[AXES] = {"a=-3.141592653589793:3.141592653589793",
                                       "b=-3.141592653589793:3.141592653589793",
                                       "c=-3.141592653589793:3.141592653589793"};
static const double alone[AXES] = {0.31390519114781146, 0.4424111447900409, 0},
                    in_total[AXES] = {0.55758886, 0.4424111447900409, 0.24368366};

static void ishigami(int n)
{
    for (int i = 0; i < n; i++) {
        double s = sin(point[1][i]);
        value[i] = sin(point[0][i]) * (1 + 0.1 * pow(point[2][i], 4)) + 7 * s * s;
    }
}

static int holds(const perp__index *x, double truth)
{
    return x->low <= truth && truth <= x->high;
}

/* Sample k: point A, point B, and A with each axis of B in turn. */
static void saltellis_points_share_all_axes_but_one(void **state)
{
    (void)state;
    int n = take_points(turn, PERP_DESIGN_SALTELLI, 64, 3);
    assert_int_equal(n, 64 * 5);
    for (int k = 0; k < n; k += 5)
        for (int a = 0; a < AXES; a++) {
            assert_true(point[a][k] != point[a][k + 1]);
            for (int i = 0; i < AXES; i++)
                assert_true(point[a][k + 2 + i] == point[a][i == a ? k + 1 : k]);
        }
}

/* Means of 2048 samples are right to 0.02, and of 240 intervals of 95 % from 1024 samples as many hold (from 256 it is 214). */
static void indices_of_pairs_are_those_of_ishigami(void **state)
{
    (void)state;
    perp__index first[AXES], total[AXES];
    int held = 0, all = 0;
    ishigami(take_points(turn, PERP_DESIGN_SALTELLI, 2048, 1));
    perp__indices_find(value, 2048 * 5, AXES, first, total);
    for (int a = 0; a < AXES; a++) {
        assert_near(first[a].value, alone[a], 0.02);
        assert_near(total[a].value, in_total[a], 0.02);
        assert_true(first[a].high - first[a].low < 0.1);
    }
    for (unsigned seed = 1; seed <= 40; seed++) {
        int n = take_points(turn, PERP_DESIGN_SALTELLI, 1024, seed);
        ishigami(n);
        perp__indices_find(value, n, AXES, first, total);
        for (int a = 0; a < AXES; a++, all += 2)
            held += holds(&first[a], alone[a]) + holds(&total[a], in_total[a]);
    }
    if (held < 0.95 * all) fail_msg("%d of %d intervals hold", held, all);
    value[7] = (double)NAN; /* its sample does not count, the others do */
    perp__indices_find(value, 1024 * 5, AXES, first, total);
    assert_near(total[1].value, in_total[1], 0.1);
    perp__indices_find(value, 39 * 5, AXES, first, total); /* too few for an interval */
    assert_true(isnan(first[0].value) && isnan(total[0].high));
}

/* The same of first order from any draws: 4096 to 0.03, and most of 120 intervals from 512. */
static void indices_of_draws_are_those_of_ishigami(void **state)
{
    (void)state;
    static const perp_design designs[] = {PERP_DESIGN_RANDOM, PERP_DESIGN_LHS, PERP_DESIGN_SOBOL};
    for (int d = 0; d < 3; d++) {
        perp__draws jobs = {.job = number, .is_even = designs[d] == PERP_DESIGN_SOBOL};
        perp__effect effect;
        perp__index first;
        int held = 0, all = 0;
        for (unsigned seed = 1; seed <= 41; seed++) {
            int is_last = seed == 41;
            jobs.n = jobs.samples = take_points(turn, designs[d], is_last ? 4096 : 512, seed);
            ishigami(jobs.n);
            for (int a = 0; a < AXES; a++) {
                assert_true(perp__effect_find(&jobs, point[a], 1, value, &effect, &first));
                if (is_last) assert_near(first.value, alone[a], 0.03);
                held += !is_last && holds(&first, alone[a]);
                all += !is_last;
            }
        }
        if (held < 0.85 * all) fail_msg("design %d: %d of %d intervals hold", d, held, all);
        assert_int_equal(effect.n, 16); /* of the last axis: its means do not differ */
        for (int k = 0; k < effect.n; k++)
            assert_near(effect.mean[k], 3.5, 5 * effect.error[k] / 1.96);
    }
}

/* y = 3 p + d at points p = 0, 1, 2, each with the same draws of d, and another axis that does nothing. */
static void points_and_draws_are_told_apart(void **state)
{
    (void)state;
    static const char *const vary[AXES] = {"a=0:2:3", "b=0:1", "c=1,5"};
    double of_points = 9 * 2.0 / 3, of_draws = 1.0 / 12, all = of_points + of_draws;
    int n = take_points(vary, PERP_DESIGN_RANDOM, 1000, 1);
    perp__draws jobs = {.job = number, .n = n, .samples = 1000};
    perp__effect effect;
    perp__index first;
    for (int i = 0; i < n; i++) value[i] = 1e6 + 3 * point[0][i] + point[1][i];
    assert_true(perp__effect_find(&jobs, point[0], 0, value, &effect, &first));
    assert_near(first.value, of_points / all, 1e-3);
    assert_true(holds(&first, of_points / all));
    assert_int_equal(effect.n, 3);
    assert_near(effect.mean[2] - effect.mean[0], 6, 1e-9);
    assert_true(perp__effect_find(&jobs, point[1], 1, value, &effect, &first));
    assert_near(first.value, of_draws / all, 1e-3); /* the points do not blur it */
    assert_true(holds(&first, of_draws / all));
    assert_true(perp__effect_find(&jobs, point[2], 0, value, &effect, &first));
    assert_near(first.value, 0, 1e-12);
    jobs.samples = 0; /* nothing is drawn: the grid is all there is */
    n = 0;
    for (int p = 0; p < 5; p++)
        for (int q = 0; q < 4; q++, n++)
            number[n] = n, point[0][n] = p, point[1][n] = q, value[n] = p * q;
    jobs.n = n;
    assert_true(perp__effect_find(&jobs, point[0], 0, value, &effect, &first));
    /* V(p E q) = 2 * 2.25, V(p q) = E p^2 E q^2 - (E p E q)^2 = 6 * 3.5 - 9 */
    assert_near(first.value, 4.5 / 12, 1e-12);
    assert_true(first.low == first.value && first.high == first.value);
    for (int i = 0; i < n; i++) value[i] = 2;
    assert_true(perp__effect_find(&jobs, point[0], 0, value, &effect, &first));
    assert_true(isnan(first.value)); /* there is no variance */
    for (int i = 0; i < n; i++) value[i] = (double)NAN;
    assert_true(perp__effect_find(&jobs, point[0], 0, value, &effect, &first));
    assert_int_equal(effect.n, 0);
}

static char *page_of(const char *csv, const perp_report_options *o, perp_status expected)
{
    perp_trajectory *table;
    static const char path[] = "effects_page.html";
    assert_int_equal(perp_trajectory_parse(csv, strlen(csv), "table.csv", &table, NULL), PERP_OK);
    assert_int_equal(perp_report_write_sweep(table, o, path, NULL), expected);
    perp_trajectory_destroy(table);
    if (expected != PERP_OK) return NULL;
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 18);
    assert_non_null(file);
    assert_true(fread(text, 1, (1 << 18) - 1, file) > 0);
    fclose(file);
    remove(path);
    return text;
}

static void the_page_says_what_is_there(void **state)
{
    (void)state;
    static const char csv[] =
        "# model \"a<b\"\n# vary [\"x[1]=0:1:2\",\"k=1,2\"]\n# samples 1000\n# design \"random\"\n"
        "# text outcome\n# text reason\njob,x[1],k,max(y),other,steps,error,outcome,reason\n"
        "0,0,1,1,5,9,0,\"verified\",\n1,0,2,2,5,9,0,\"verified\",\n2,1,1,3,5,9,0,\"verified\",\n"
        "3,1,2,nan,nan,0,nan,\"refused\",\"so\"\n# complete: 4 rows\n";
    char *page = page_of(csv, NULL, PERP_OK);
    assert_non_null(strstr(page, "<h1>a&lt;b</h1>"));
    assert_non_null(strstr(page, "4 jobs. Varied: x[1]=0:1:2, k=1,2; design random."));
    assert_non_null(strstr(page, "<th>max(y)</th><td>3</td><td>1</td>"));
    assert_null(strstr(page, "nan"));
    assert_null(strstr(page, "not complete"));
    assert_non_null(strstr(page, "</html>"));
    free(page);
    perp_report_options o = perp_report_options_default();
    const char *some[] = {"other"}, *none[] = {"steps"};
    o.columns = some, o.ncolumns = 1, o.title = "a & b";
    page = page_of(csv, &o, PERP_OK);
    assert_non_null(strstr(page, "<h1>a &amp; b</h1>"));
    assert_null(strstr(page, "max(y)"));
    assert_non_null(strstr(page, "Shown are 1 of 2 results"));
    free(page);
    o.columns = none;
    page_of(csv, &o, PERP_ERR_DATA);
    page_of("t,x\n0,1\n", NULL, PERP_ERR_DATA);
    page_of("# vary [\"x=0:1:2\"]\nt,x,steps,error\n0,1,2,3\n", NULL, PERP_ERR_DATA);
    free(page_of("# vary [\"x=0:1\"]\njob,x,y,steps,error\n", NULL, PERP_OK)); /* no rows yet */
    assert_int_equal(perp_report_is_sweep(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(saltellis_points_share_all_axes_but_one),
                                       cmocka_unit_test(indices_of_pairs_are_those_of_ishigami),
                                       cmocka_unit_test(indices_of_draws_are_those_of_ishigami),
                                       cmocka_unit_test(points_and_draws_are_told_apart),
                                       cmocka_unit_test(the_page_says_what_is_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
