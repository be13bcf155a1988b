/* Every word of every method for linear problems against exact arithmetic: "solved" must hold by each condition's own
 * scale and there must be a solution; "infeasible" must not have a feasible point; scaling must not change the word.
 * 1e4 problems; PERP_LONG=1: 1e6. PERP_SEED chooses others. */

#include "draw_lcp.h"
#include "exact.h"
#include "tally.h"

#include "perp/lcp.h"

/* Faults of the present code (class, fault, 1 where only the long run is sure to find it): each line goes with its cure. */
static const uncured faults[] = {
    {"findings", "NONE", 0},      {"findings", "OWN", 0},        {"integer", "OWN", 0},
    {"zeros", "OWN", 0},          {"large_integer", "OWN", 0},   {"gram", "NONE", 0},
    {"gram", "OWN", 0},           {"gram_skew", "NONE", 0},      {"gram_skew", "OWN", 0},
    {"gram_skew", "DATA", 1},     {"copositive", "NONE", 1},     {"copositive", "OWN", 0},
    {"copositive", "DATA", 1},    {"skew", "NONE", 1},           {"skew", "OWN", 0},
    {"repeated", "NONE", 0},      {"repeated", "OWN", 0},        {"infeasible", "NONE", 0},
    {"binary_scaled", "NONE", 0}, {"binary_scaled", "OWN", 0},   {"binary_scaled", "DATA", 1},
    {"decimal_scaled", "OWN", 0}, {"decimal_scaled", "DATA", 0}, {"decimal_scaled", "FEASIBLE", 1},
    {"beside", "NONE", 0},        {"beside", "OWN", 0},          {"beside", "DATA", 1},
    {"beside_weak", "OWN", 0},    {"beside_weak", "DATA", 0},    {"tiny", "OWN", 0},
    {"tiny", "DATA", 0},          {"scaled_p", "OWN", 0},        {"huge", "OWN", 0},
    {"huge", "DATA", 1},          {"boxes", "NONE", 1},          {"boxes", "OWN", 0},
    {"boxes_beside", "NONE", 0},  {"boxes_beside", "OWN", 0},    {"integer", "NONE", 1},
    {"integer", "DATA", 1},       {"zeros", "NONE", 1},          {"skew", "DATA", 1},
    {"repeated", "DATA", 1},      {"tiny", "FEASIBLE", 1},       {"huge", "FEASIBLE", 1},
};

/* One problem with what exact arithmetic says of it; asked for once, when first needed. */
typedef struct judged {
    drawn_lcp drawn;
    int class, solvable, feasible; /* -2: not asked yet */
    unsigned long index;
} judged;

static void draw(judged *p, int class, unsigned long index)
{
    draw_lcp((draw_class) class, seed_of_run(), index, &p->drawn);
    p->class = class;
    p->index = index;
    p->feasible = p->solvable = -2;
}

static int is_solvable(judged *p)
{
    if (p->solvable == -2) p->solvable = exact_has_solution(&p->drawn.lcp);
    return p->solvable;
}

/* Bounds: "infeasible" says that there is no solution. */
static int is_feasible(judged *p)
{
    if (p->feasible == -2)
        p->feasible = p->drawn.lcp.lo ? is_solvable(p) : exact_is_feasible(&p->drawn.lcp);
    return p->feasible;
}

static const double TOL =
    1e-10 * 1.001; /* the default of options.tol; the judge rounds its last division */
static const double DATA = 1e-6;

static void judge_word(tally *t, int method, judged *p, perp_outcome outcome, const double *z)
{
    char text[DRAW_JSON];
    int c = p->class, found = -1;
    double error = 0;
    t->outcome[c][method][outcome]++;
    if (outcome == PERP_SOLVED) {
        exact_error e = exact_lcp_error(&p->drawn.lcp, z);
        error = fmax(e.own, e.data);
        if (is_solvable(p) == 0 && p->drawn.wide_margin)
            found = FAULT_NONE;
        else if (!(e.own <= TOL))
            found = FAULT_OWN;
        else if (!(e.data <= DATA) && !exact_is_near_solution(&p->drawn.lcp, z, 1e-8))
            found = FAULT_DATA;
        else if (is_solvable(p) == 0)
            t->near[c][method]++;
    } else if (outcome == PERP_INFEASIBLE && is_feasible(p) == 1)
        found = FAULT_FEASIBLE;
    else if (is_solvable(p) == 1)
        t->missed[c][method]++;
    if (found >= 0)
        add_fault(t, c, method, (fault)found, p->index, error, draw_json(&p->drawn.lcp, text));
}

static void name_classes(tally *t)
{
    t->classes = DRAW_CLASSES;
    for (int c = 0; c < DRAW_CLASSES; c++) t->class_name[c] = draw_class_name((draw_class)c);
}

static perp_solver *solver_for(perp_method method, int mixed)
{
    perp_solver_options o = perp_solver_options_default(method);
    perp_solver *solver;
    o.mixed = mixed;
    perp_status status = perp_solver_create(method, DRAW_MAX, &o, &solver);
    if (status == PERP_ERR_UNAVAILABLE) return NULL;
    assert_int_equal(status, PERP_OK);
    return solver;
}

/* One in so many problems for the methods that take milliseconds. */
static unsigned long every(perp_method method)
{
    return method == PERP_METHOD_NLP ? 500 : 1;
}

static void every_word_is_true(void **state)
{
    (void)state;
    static tally t = {.what = "words of perp_lcp_solve", .methods = PERP_METHOD_COUNT};
    static judged p;
    perp_solver *solver[PERP_METHOD_COUNT][2];
    long each = problems(10000) / DRAW_CLASSES;
    name_classes(&t);
    for (int m = 0; m < PERP_METHOD_COUNT; m++) {
        t.method_name[m] = perp_method_name((perp_method)m);
        for (int mixed = 0; mixed < 2; mixed++)
            solver[m][mixed] = solver_for((perp_method)m, mixed);
    }
    printf("seed %llu, %ld problems of each class\n", (unsigned long long)seed_of_run(), each);
    for (int c = 0; c < DRAW_CLASSES; c++) {
        for (unsigned long k = 0; k < (unsigned long)each; k++) {
            draw(&p, c, k);
            for (int m = 0; m < PERP_METHOD_COUNT; m++) {
                double z[DRAW_MAX] = {0};
                perp_solve_info info;
                perp_solver *s = solver[m][p.drawn.lcp.lo != NULL];
                if (!s || k % every((perp_method)m)) continue;
                assert_int_equal(perp_lcp_solve(s, &p.drawn.lcp, z, NULL, &info), PERP_OK);
                judge_word(&t, m, &p, info.outcome, z);
            }
        }
    }
    for (int m = 0; m < PERP_METHOD_COUNT; m++) {
        for (int mixed = 0; mixed < 2; mixed++) perp_solver_destroy(solver[m][mixed]);
    }
    check_tally(&t, faults, sizeof faults / sizeof *faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_is_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
