/* Sweeps: points by the index of a job, what is kept of a run, the same numbers whoever does the jobs. */

#include "unit.h"

#include "perp/perp.h"
#include "sweep/axes.h"
#include "outcomes.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

static const char line_text[] =
    "model line\nparam a = 1 \"m/s\"\nparam b = 2*a \"m/s\"\nstate x = 0 "
    "\"m\", y = b*1 \"m\"\nder(x) = a\nder(y) = b\noutput d = x - 0.5\nsimulate "
    "to 1 step 0.125\n";

static perp_model *model_of(const char *text)
{
    perp_model *model;
    perp_diag diag = {0};
    if (perp_model_parse(text, strlen(text), "test.perp", &model, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return model;
}

static perp_sweep *sweep_of(const perp_model *model, const perp_sweep_options *o)
{
    perp_sweep *sweep;
    perp_diag diag = {0};
    if (perp_sweep_create(model, o, &sweep, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return sweep;
}

/* Salmon and others' own test vectors (kat_vectors of Random123). */
static void words_are_those_of_philox(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                 {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                  {0xffffffff, 0xffffffff},
                  {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                 {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                  {0xa4093822, 0x299f31d0},
                  {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
    for (int i = 0; i < 3; i++) {
        uint32_t out[4];
        perp__philox(known[i].counter, known[i].key, out);
        assert_memory_equal(out, known[i].out, sizeof out);
    }
}

/* How many of the first n draws of an axis lie in each of n equal parts: one each. */
static void expect_one_each(const perp__axes *axes, int drawn, int n)
{
    char hit[1024] = {0};
    for (int i = 0; i < n; i++) {
        double u = perp__draw(axes, i, drawn);
        int part = (int)(u * n);
        assert_true(u > 0 && u < 1);
        assert_int_equal(hit[part]++, 0);
    }
}

static void strata_have_a_draw_each(void **state)
{
    (void)state;
    enum { AXES = 40, N = 512 };
    static uint64_t direction[AXES][52];
    perp__sobol_directions(direction, AXES);
    for (int seed = 1; seed <= 3; seed++) {
        perp__axes sobol = {.ndrawn = AXES,
                            .design = PERP_DESIGN_SOBOL,
                            .seed = (uint64_t)seed,
                            .samples = N,
                            .direction = direction},
                   lhs = {.ndrawn = AXES,
                          .design = PERP_DESIGN_LHS,
                          .seed = (uint64_t)seed,
                          .samples = 509};
        for (int k = 0; k < AXES; k++) {
            expect_one_each(&sobol, k, N);
            expect_one_each(&lhs, k, 509);
        }
        /* The first two axes are a (0, 2)-sequence: one of 64 points in each box 2^-a x 2^-(6-a). */
        for (int a = 0; a <= 6; a++) {
            char hit[64] = {0};
            for (int i = 0; i < 64; i++) {
                int p = (int)(perp__draw(&sobol, i, 0) * (1 << a)),
                    q = (int)(perp__draw(&sobol, i, 1) * (1 << (6 - a)));
                assert_int_equal(hit[p << (6 - a) | q]++, 0);
            }
        }
    }
    /* Property A of twelve axes: 2^12 points, one in each half-cube. */
    perp__axes sobol = {
        .design = PERP_DESIGN_SOBOL, .seed = 5, .samples = 4096, .direction = direction};
    static char corner[4096];
    for (int i = 0; i < 4096; i++) {
        int at = 0;
        for (int k = 0; k < 12; k++) at |= (perp__draw(&sobol, i, k) >= 0.5) << k;
        assert_int_equal(corner[at]++, 0);
    }
}

static void distributions_have_their_moments(void **state)
{
    (void)state;
    enum { N = 4096 };
    static const struct {
        const char *vary;
        double mean, sd;
    } known[] = {{"a=2:5", 3.5, 0.86602540378443865},
                 {"a=uniform(-1, 3)", 1, 1.1547005383792515},
                 {"a=normal(10, 0.5)", 10, 0.5},
                 {"a=lognormal(2, 0.25)", 2.0634868149, 0.5241102},
                 {"a=loguniform(1, 100)", 21.4975759, 24.9615},
                 {"a=triangular(0, 1, 3)", 1.3333333, 0.6236095644623236}};
    perp_model *model = model_of(line_text);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        perp_sweep_options o = perp_sweep_options_default();
        o.vary = &known[k].vary, o.nvary = 1, o.samples = N, o.design = PERP_DESIGN_SOBOL;
        perp_sweep *sweep = sweep_of(model, &o);
        double sum = 0, squares = 0, x;
        for (int i = 0; i < N; i++) {
            assert_int_equal(perp_sweep_point(sweep, i, &x), PERP_OK);
            sum += x, squares += x * x;
        }
        double mean = sum / N, sd = sqrt(squares / N - mean * mean);
        if (fabs(mean - known[k].mean) > 3e-3 * fabs(known[k].mean) ||
            fabs(sd - known[k].sd) > 5e-3 * known[k].sd)
            fail_msg("%s: mean %.10g, sd %.10g", known[k].vary, mean, sd);
        assert_int_equal(perp_sweep_point(sweep, N, &x), PERP_ERR_ARG);
        perp_sweep_destroy(sweep);
    }
    perp_model_destroy(model);
}

/* The results of a sweep, by job. */
typedef struct table {
    int n, columns;
    double value[256][8];
    char reason[256][200];
    perp_status status[256];
    int count;
} table;

static perp_status take(void *context, const perp_sweep_result *r)
{
    table *t = context;
    memcpy(t->value[r->job], r->value, (size_t)t->columns * sizeof(double));
    snprintf(t->reason[r->job], sizeof t->reason[0], "%s", r->reason);
    t->status[r->job] = r->status == PERP_OK && !r->verified ? PERP_ERR_NO_SOLUTION : r->status;
    t->count++;
    return PERP_OK;
}

static void what_is_kept_is_right(void **state)
{
    (void)state;
    static const char *const vary[] = {"a=0.5,1,2"}, *const keep[] = {"final(y)",
                                                                      "max(x)",
                                                                      "min(d)",
                                                                      "mean(x)",
                                                                      "rms(x)",
                                                                      "first(t where x = 0.3)",
                                                                      "first( x where t >= 0.5 )"};
    perp_model *model = model_of(line_text);
    perp_sweep_options o = perp_sweep_options_default();
    o.vary = vary, o.nvary = 1, o.keep = keep, o.nkeep = 7;
    perp_sweep *sweep = sweep_of(model, &o);
    table t = {.columns = perp_sweep_columns(sweep)};
    assert_int_equal(t.columns, 8);
    assert_int_equal((int)perp_sweep_jobs(sweep), 3);
    assert_string_equal(perp_sweep_column_name(sweep, 2), "max(x)");
    assert_string_equal(perp_sweep_column_unit(sweep, 2), "m");
    assert_string_equal(perp_sweep_column_unit(sweep, 0), "m/s");
    assert_int_equal(perp_sweep_run(sweep, NULL, take, &t), PERP_OK);
    for (int i = 0; i < 3; i++) {
        double a = t.value[i][0],
               expected[] = {a, 4 * a, a, -0.5, a / 2, a / sqrt(3), 0.3 / a, a / 2};
        assert_int_equal(t.status[i], PERP_OK);
        for (int k = 0; k < 8; k++)
            if (fabs(t.value[i][k] - expected[k]) > 1e-12)
                fail_msg("a = %g: %s = %.17g, expected %.17g", a, perp_sweep_column_name(sweep, k),
                         t.value[i][k], expected[k]);
    }
    perp_sweep_destroy(sweep);
    o.nkeep = 0;
    sweep = sweep_of(model, &o);
    assert_int_equal(perp_sweep_columns(sweep), 4); /* a, x, y, d */
    assert_string_equal(perp_sweep_column_name(sweep, 3), "final(d)");
    perp_sweep_destroy(sweep);
    perp_model_destroy(model);
}

static int is_odd(void *context, long long job)
{
    (void)context;
    return job % 2 == 1;
}

static int count_down(void *context)
{
    return ((table *)context)->count >= 5;
}

static void jobs_do_not_depend_on_who_does_them(void **state)
{
    (void)state;
    static const char *const vary[] = {"a=normal(1, 0.1)", "y=0:1:4", "b=1:2"}, *const keep[] = {
                                                                                    "final(x)",
                                                                                    "mean(y)"};
    perp_model *model = model_of(line_text);
    perp_sweep_options o = perp_sweep_options_default();
    o.vary = vary, o.nvary = 3, o.keep = keep, o.nkeep = 2, o.samples = 50;
    perp_sweep *sweep = sweep_of(model, &o);
    static table one, other;
    one.columns = other.columns = 5;
    assert_int_equal((int)perp_sweep_jobs(sweep), 200);
    perp_sweep_run_options r = perp_sweep_run_options_default();
    r.threads = 1;
    assert_int_equal(perp_sweep_run(sweep, &r, take, &one), PERP_OK);
    assert_int_equal(one.count, 200);
    r.threads = 7;
    r.shards = 3;
    for (r.shard = 2; r.shard >= 0; r.shard--)
        assert_int_equal(perp_sweep_run(sweep, &r, take, &other), PERP_OK);
    assert_int_equal(other.count, 200);
    assert_memory_equal(one.value, other.value, sizeof one.value);
    for (int i = 0; i < 50; i++) { /* the same samples at each combination of points */
        assert_true(one.value[i][0] == one.value[150 + i][0]);
        assert_true(one.value[i][1] == 0 && one.value[150 + i][1] == 1);
    }
    r = perp_sweep_run_options_default();
    other.count = 0;
    r.skip = is_odd;
    assert_int_equal(perp_sweep_run(sweep, &r, take, &other), PERP_OK);
    assert_int_equal(other.count, 100);
    other.count = 0;
    r.skip = NULL, r.stop = count_down, r.threads = 2;
    assert_int_equal(perp_sweep_run(sweep, &r, take, &other), PERP_ERR_STOPPED);
    assert_in_range(other.count, 5, 6);
    r.shard = 1;
    assert_int_equal(perp_sweep_run(sweep, &r, take, &other), PERP_ERR_ARG);
    perp_sweep_destroy(sweep);
    perp_model_destroy(model);
}

/* A point that cannot be is a row with its reason; the others are done. */
static void refused_points_are_results(void **state)
{
    (void)state;
    static const char text[] = "model fall\nparam m = 1, k = 1\nstate v = 0\nm*der(v) = -1 + k/m\n"
                               "var p\n0 <= p perp v + 2 - 0*p >= 0\nsimulate to 1 step 0.1\n";
    static const char *const vary[] = {"m=1,0,2"}, *const keep[] = {"final(v)"};
    perp_model *model = model_of(text);
    perp_sweep_options o = perp_sweep_options_default();
    o.vary = vary, o.nvary = 1, o.keep = keep, o.nkeep = 1;
    perp_sweep *sweep = sweep_of(model, &o);
    table t = {.columns = 2};
    assert_int_equal(perp_sweep_run(sweep, NULL, take, &t), PERP_OK);
    assert_int_equal(t.status[0], PERP_OK);
    assert_int_equal(t.status[2], PERP_OK);
    assert_true(t.status[1] != PERP_OK && t.reason[1][0] && !strchr(t.reason[1], '\n'));
    assert_true(isnan(t.value[1][1]));
    perp_sweep_destroy(sweep);
    perp_model_destroy(model);
}

static void texts_that_are_wrong_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *vary, *keep, *says;
    } wrong[] = {{"a", "final", "NAME=LOW:HIGH:N"},
                 {"=1:2", "final", "NAME=LOW:HIGH:N"},
                 {"a=", "final", "a number or a distribution"},
                 {"a=1:2:1", "final", "whole number from 2 on"},
                 {"a=1:2:2.5", "final", "whole number"},
                 {"a=2:1", "final", "LOW < HIGH"},
                 {"a=1:x", "final", "LOW:HIGH"},
                 {"a=1,2,", "final", "a number is expected after ','"},
                 {"a=1:2:3 4", "final", "more than was expected"},
                 {"a=norml(1, 2)", "final", "did you mean 'normal'"},
                 {"a=normal(1)", "final", "normal(mean, sd) is expected, with sd > 0"},
                 {"a=normal(1, -2)", "final", "sd > 0"},
                 {"a=triangular(1, 0, 2)", "final", "low <= mode <= high"},
                 {"a=loguniform(0, 2)", "final", "0 < low < high"},
                 {"a=nan,1", "final", "unknown distribution 'nan'"},
                 {"aa=1:2", "final", "unknown"},
                 {"a=1:2", "finl(x)", "did you mean 'final'"},
                 {"a=1:2", "max", "a column in parentheses"},
                 {"a=1:2", "max(z)", "unknown column 'z'"},
                 {"a=1:2", "first(t)", "a condition is expected"},
                 {"a=1:2", "max(x where t = 1)", "only first"},
                 {"a=1:2", "first(t where x == 1)", "a condition such as"},
                 {"a=1:2", "first(t where x = one)", "a number is expected at the end"},
                 {"a=1:2", "first(t where q = 1)", "unknown column 'q'"}};
    perp_model *model = model_of(line_text);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        perp_sweep_options o = perp_sweep_options_default();
        perp_sweep *sweep = NULL;
        perp_diag diag = {0};
        o.vary = &wrong[k].vary, o.nvary = 1, o.keep = &wrong[k].keep, o.nkeep = 1;
        perp_status status = perp_sweep_create(model, &o, &sweep, &diag);
        if (status != PERP_ERR_ARG || !strstr(perp_diag_text(&diag), wrong[k].says))
            fail_msg("%s, %s: status %d, %s", wrong[k].vary, wrong[k].keep, (int)status,
                     perp_diag_text(&diag));
        assert_null(sweep);
        perp_diag_clear(&diag);
    }
    static const char *const twice[] = {"a=1:2", "a=3,4"}, *const many[] = {"a=0:1:100000000",
                                                                            "b=0:1:100000000",
                                                                            "x=0:1:100"};
    perp_sweep_options o = perp_sweep_options_default();
    perp_sweep *sweep;
    perp_diag diag = {0};
    o.vary = twice, o.nvary = 2;
    assert_int_equal(perp_sweep_create(model, &o, &sweep, &diag), PERP_ERR_ARG);
    assert_non_null(strstr(perp_diag_text(&diag), "'a' varies twice"));
    o.vary = many, o.nvary = 3;
    assert_int_equal(perp_sweep_create(model, &o, &sweep, &diag), PERP_ERR_ARG);
    assert_non_null(strstr(perp_diag_text(&diag), "1e+18 jobs"));
    o.nvary = 0;
    assert_int_equal(perp_sweep_create(model, &o, &sweep, &diag), PERP_ERR_ARG);
    perp_diag_clear(&diag);
    perp_sweep_destroy(NULL);
    assert_int_equal((int)perp_sweep_jobs(NULL), 0);
    perp_model_destroy(model);
}

/* A slide that is moved by 1 m in 2 s, which takes at least 1 m/s^2. */
static const char slide_text[] =
    "model slide\nparam m = 1 \"kg\"\ninput u in [-8, 8] \"N\"\nstate x = 0 \"m\", v = 0 \"m/s\"\n"
    "der(x) = v\nm*der(v) = u\nplan {\n horizon 2\n nodes 11\n minimize integral(u^2)\n at end: x "
    "= "
    "1, "
    "v = 0\n}\n";

/* Least work against inertia goes with the square of the mass; each plan is the one that perp_plan_solve finds, bit for bit. */
static void a_job_may_be_a_plan(void **state)
{
    (void)state;
    static const char *const vary[] = {"m=1,2,3,9"}, *const keep[] = {"cost", "max(u)", "final(x)",
                                                                      "first(t where x >= 0.5)"};
    perp_model *model = model_of(slide_text);
    perp_sweep_options o = perp_sweep_options_default();
    o.task = PERP_SWEEP_PLAN, o.vary = vary, o.nvary = 1, o.keep = keep, o.nkeep = 4;
    perp_sweep *sweep = sweep_of(model, &o);
    static table got;
    got = (table){.columns = perp_sweep_columns(sweep)};
    perp_sweep_run_options run = perp_sweep_run_options_default();
    run.threads = 3;
    assert_int_equal(perp_sweep_get_task(sweep), PERP_SWEEP_PLAN);
    assert_int_equal(perp_sweep_run(sweep, &run, take, &got), PERP_OK);
    for (int i = 0; i < 3; i++) {
        perp_plan *plan;
        perp_plan_result alone = {.size = sizeof alone};
        perp_plan_options p = perp_plan_options_default(model);
        p.threads = 1;
        assert_int_equal(perp_model_set(model, "m", got.value[i][0], NULL), PERP_OK);
        assert_int_equal(perp_plan_create(model, &p, &plan, NULL), PERP_OK);
        assert_int_equal(perp_plan_solve(plan, &alone, NULL), PERP_OK);
        perp_plan_destroy(plan);
        assert_true(got.value[i][1] == alone.cost);
        assert_near(got.value[i][1] / got.value[0][1], got.value[i][0] * got.value[i][0], 1e-6);
        assert_near(got.value[i][3], 1, 1e-9);
        assert_true(got.value[i][4] > 0.8 && got.value[i][4] < 1.2);
        assert_int_equal(got.status[i], PERP_OK);
    }
    assert_true(got.value[2][2] < 8); /* within the motor's reach, 9 kg in 2 s are not */
    assert_int_equal(got.status[3], PERP_ERR_NO_SOLUTION);
    assert_true(isnan(got.value[3][1]) && isnan(got.value[3][3]));
    assert_true(got.value[3][0] == 9);
    perp_sweep_destroy(sweep);
    o.nkeep = 0; /* all single numbers */
    sweep = sweep_of(model, &o);
    assert_int_equal(perp_sweep_columns(sweep), 3);
    assert_string_equal(perp_sweep_column_name(sweep, 2), "horizon");
    assert_string_equal(perp_sweep_column_unit(sweep, 2), "s");
    perp_sweep_destroy(sweep);
    perp_plan_options fewer = perp_plan_options_default(model);
    fewer.nodes = 1;
    o.plan = &fewer;
    assert_int_equal(perp_sweep_create(model, &o, &sweep, NULL), PERP_ERR_MODEL);
    perp_model_destroy(model);
}

/* x = k t, measured with two errors that cancel: k is what is known, and where it is measured twice as fast, half of it. */
static void a_job_may_be_an_identification(void **state)
{
    (void)state;
    static const char text[] =
        "model line\nparam k = 1 in [0, 9], c = 1\nparam idle = 1 in [0, 2]\nstate x = 0 "
        "\"m\"\nder(x) = c*k\nidentify {\n estimate k\n measure x noise 0.1\n}\n"
        "simulate to 2 step 0.5 method backward-euler\n",
                      csv[] = "t,x\n0,0\n0.5,1\n1,2.1\n1.5,2.9\n2,4\n";
    static const char *const vary[] = {"c=1,2,0"}, *const keep[] = {"k", "std_error(k)",
                                                                    "noise_factor"};
    perp_model *model = model_of(text);
    perp_trajectory *recorded;
    perp_dataset *data;
    assert_int_equal(perp_trajectory_parse(csv, strlen(csv), "line.csv", &recorded, NULL), PERP_OK);
    assert_int_equal(perp_dataset_create(&data), PERP_OK);
    assert_int_equal(perp_dataset_add(data, recorded, "line.csv", NULL), PERP_OK);
    perp_sweep_options o = perp_sweep_options_default();
    o.task = PERP_SWEEP_IDENTIFY, o.vary = vary, o.nvary = 1, o.keep = keep, o.nkeep = 3;
    perp_sweep *sweep = NULL;
    assert_int_equal(perp_sweep_create(model, &o, &sweep, NULL), PERP_ERR_ARG); /* from what? */
    o.data = data;
    sweep = sweep_of(model, &o);
    static table got;
    got = (table){.columns = perp_sweep_columns(sweep)};
    assert_int_equal(perp_sweep_run(sweep, NULL, take, &got), PERP_OK);
    /* least squares of x = c k t, weights alike: k = sum t x / sum t^2 / c */
    double best = (0.5 * 1 + 1 * 2.1 + 1.5 * 2.9 + 2 * 4) / (0.25 + 1 + 2.25 + 4);
    for (int i = 0; i < 2; i++) {
        perp_identify_options alone;
        perp_identification a = {.size = sizeof a};
        assert_int_equal(perp_model_set(model, "c", i + 1, NULL), PERP_OK);
        assert_int_equal(perp_identify_options_default(model, &alone, NULL), PERP_OK);
        assert_int_equal(run_identify(model, data, &alone, &a, NULL), PERP_OK);
        assert_near(got.value[i][1], best / (i + 1), 1e-6);
        assert_true(got.value[i][1] == a.parameter[0].value);
        assert_int_equal(isnan(got.value[i][2]), isnan(a.parameter[0].std_error));
        assert_true(got.value[i][3] == a.noise_factor);
        perp_identification_clear(&a);
    }
    assert_true(isnan(got.value[2][1])); /* c = 0: nothing moves with k */
    assert_int_equal(got.status[2], PERP_OK);
    perp_sweep_destroy(sweep);
    static const char *const wrong[] = {"final(x)"};
    perp_diag diag = {0};
    o.keep = wrong, o.nkeep = 1;
    assert_int_equal(perp_sweep_create(model, &o, &sweep, &diag), PERP_ERR_ARG);
    assert_non_null(strstr(perp_diag_text(&diag), "no columns over time"));
    perp_diag_clear(&diag);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_are_those_of_philox),
                                       cmocka_unit_test(strata_have_a_draw_each),
                                       cmocka_unit_test(distributions_have_their_moments),
                                       cmocka_unit_test(what_is_kept_is_right),
                                       cmocka_unit_test(jobs_do_not_depend_on_who_does_them),
                                       cmocka_unit_test(refused_points_are_results),
                                       cmocka_unit_test(a_job_may_be_a_plan),
                                       cmocka_unit_test(a_job_may_be_an_identification),
                                       cmocka_unit_test(texts_that_are_wrong_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
