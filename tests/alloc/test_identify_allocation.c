/* Memory: when any single allocation of an identification fails, it says so, gives no other answer, and leaks nothing. */

#include "failing_malloc.h"
#include "unit.h"

#include "perp/perp.h"
#include "outcomes.h"

#include <math.h>
#include <string.h>

static const char block[] =
    "param mu = 0.3 in [0, 1], m = 1 in [0.5, 2]\ninput u = 0\nstate v = 1\nvar f\n"
    "m*der(v) = u + f\n-mu*m <= f <= mu*m perp v\nsimulate to 1 step 0.1\n";
static const char ball[] =
    "param e = 0.5 in [0, 1]\nstate v = 0, x = 0.1\nvar p\nder(x) = v\nder(v) = -9.81 + p\n"
    "0 <= p perp v + e*pre(v) >= 0 when x <= 0\nsimulate to 0.5 step 0.05\n";
static const char pairs[] =
    "param mu = 1 in [0.01, 20]\ninput u\nstate v = 0\nvar lp, ln, gamma\nnext(v) = v + u + lp - "
    "ln\n"
    "0 <= lp perp gamma + v + u + lp - ln >= 0\n0 <= ln perp gamma - v - u - lp + ln >= 0\n"
    "0 <= gamma perp mu - lp - ln >= 0\n";
static const char motion[] = "t,v,u\n0,1,0\n0.1,0.97,1\n0.2,1.01,2\n0.3,1.13,0\n0.4,1.11,0\n"
                             "0.5,1.08,0\n0.6,1.04,1\n0.7,1.12,0\n";
static const char fall[] = "t,x,v\n0,0.1,0\n0.05,0.075,-0.5\n0.1,0.03,-1\n0.15,-0.04,-1.4\n"
                           "0.2,0.01,0.8\n0.25,0.05,0.31\n0.3,0.06,-0.2\n0.35,0.04,-0.6\n";
static const char forces[] = "t,v,u,lp,ln,gamma\n0,1,0,0,0,0\n1,2,2,0,1,0\n2,0.5,-0.5,0,1,0\n"
                             "3,0.5,1,0,1,0\n4,0,0,0,0.5,0\n";

typedef struct story {
    const char *model, *data;
    perp_estimator method;
    int bootstrap;
} story;

static double expected[12]; /* of the story without failures: values, and intervals */
static int nexpected;

static void keep_answer(const perp_identification *r)
{
    nexpected = r->nparameter;
    for (int i = 0; i < r->nparameter; i++) {
        expected[3 * i] = r->parameter[i].value;
        expected[3 * i + 1] = r->parameter[i].low;
        expected[3 * i + 2] = r->parameter[i].std_error;
    }
}

static int is_expected(const perp_identification *r)
{
    int same = r->nparameter == nexpected;
    for (int i = 0; i < r->nparameter && same; i++) {
        const double now[] = {r->parameter[i].value, r->parameter[i].low,
                              r->parameter[i].std_error};
        same = memcmp(now, expected + 3 * i, sizeof now) == 0;
    }
    return same;
}

static perp_status read_all(const story *s, perp_model **model, perp_dataset *data, perp_diag *diag)
{
    perp_status status = perp_model_parse(s->model, strlen(s->model), "m.perp", model, diag);
    for (int r = 0; r < (s->bootstrap ? 5 : 1) && status == PERP_OK; r++) {
        perp_trajectory *table = NULL;
        status = perp_trajectory_parse(s->data, strlen(s->data), "d.csv", &table, diag);
        if (status == PERP_OK) status = perp_dataset_add(data, table, "d.csv", diag);
    }
    return status;
}

/* Everything a user does; `same`: the answer is that without failures. */
typedef struct told_story {
    const story *of;
    int keep, same;
} told_story;

static perp_status identify_it(void *given, perp_diag *diag)
{
    told_story *it = given;
    const story *s = it->of;
    perp_model *model = NULL;
    perp_dataset *data = NULL;
    perp_identify_options o;
    perp_identification r = {.size = sizeof r, .nparameter = 0};
    perp_status status = perp_dataset_create(&data);
    if (status != PERP_OK) diag->errors++; /* it has no diag */
    if (status == PERP_OK) status = read_all(s, &model, data, diag);
    if (status == PERP_OK) status = perp_identify_options_default(model, &o, diag);
    if (status == PERP_OK) {
        o.threads = 1, o.starts = 2, o.max_iter = 2;
        o.method = s->method, o.bootstrap = s->bootstrap;
        status = run_identify(model, data, &o, &r, diag);
    }
    if (status == PERP_OK && it->keep) keep_answer(&r);
    it->same = status == PERP_OK && is_expected(&r);
    perp_identification_clear(&r);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
    return status;
}

/* Fail every `every`-th allocation. */
static void fail_each(const story *s, int every)
{
    perp_diag said = {0};
    told_story it = {.of = s, .keep = 1};
    int lost = 0;
    long k = 1;
    perp_status status = identify_it(&it, &said);
    if (status == PERP_ERR_UNAVAILABLE) {
        perp_diag_clear(&said);
        skip_because("no Clp in this build");
    }
    if (status != PERP_OK) fail_msg("%s", perp_diag_text(&said));
    perp_diag_clear(&said);
    it.keep = 0;
    every *= (int)next_failure();
    for (told t = {.reached = 1}; t.reached; k += every) {
        t = tell(k, identify_it, &it);
        if (t.status == PERP_OK && !it.same) fail_msg("allocation %ld failed: another answer", k);
        if (t.status != PERP_OK && !t.errors) fail_msg("allocation %ld failed without a word", k);
        lost += t.status == PERP_OK && t.reached;
    }
    print_message("%ld allocations, %d of those tried not needed\n", k - every, lost);
}

static void predict_answers_right_or_says_that_memory_is_out(void **state)
{
    (void)state;
    fail_each(&(story){block, motion, PERP_ESTIMATOR_PREDICT, 0}, 1);
    fail_each(&(story){ball, fall, PERP_ESTIMATOR_PREDICT, 0}, 1);
    fail_each(&(story){block, motion, PERP_ESTIMATOR_PREDICT, 10}, 97);
}

static void the_other_methods_do_too(void **state)
{
    (void)state;
    fail_each(&(story){pairs, motion, PERP_ESTIMATOR_IMPLICIT, 0}, 1);
    fail_each(&(story){pairs, motion, PERP_ESTIMATOR_KKT, 0}, 7);
    fail_each(&(story){pairs, forces, PERP_ESTIMATOR_SVD, 0}, 1);
    fail_each(&(story){pairs, forces, PERP_ESTIMATOR_PENALTY, 0}, 1);
    fail_each(&(story){pairs, forces, PERP_ESTIMATOR_LP, 0}, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predict_answers_right_or_says_that_memory_is_out),
        cmocka_unit_test(the_other_methods_do_too),
    };
    return run_all(tests);
}
