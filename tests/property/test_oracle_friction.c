/* Every word of every method for contacts against a judge in exact sums: "solved" must be Coulomb's law on scales of each
 * contact, and there must be a solution. 1e4 problems; PERP_LONG=1: 1e6. PERP_SEED chooses others. */

#include "draw_fc.h"
#include "exact.h"
#include "tally.h"

#include "perp/friction.h"

/* The default of options.tol, and a factor for the choice of the norm of a block. */
static const double TOL = 4e-8, DATA = 1e-6;

static void judge_word(tally *t, int class, unsigned long index, int method, drawn_fc *p,
                       perp_outcome outcome, const double *r)
{
    char text[DRAW_FC_JSON];
    int found = -1;
    double error = 0;
    t->outcome[class][method][outcome]++;
    if (outcome == PERP_SOLVED) {
        exact_error e = exact_fc_error(&p->fc, r);
        error = fmax(e.own, e.data);
        if (p->solvable == 0 && p->wide_margin)
            found = FAULT_NONE;
        else if (!(e.own <= TOL))
            found = FAULT_OWN;
        else if (!(e.data <= DATA))
            found = FAULT_DATA;
        else if (p->solvable == 0)
            t->near[class][method]++;
    } else if (outcome == PERP_INFEASIBLE && p->solvable == 1)
        found = FAULT_FEASIBLE;
    else if (p->solvable == 1)
        t->missed[class][method]++;
    if (found >= 0)
        add_fault(t, class, method, (fault)found, index, error, draw_fc_json(&p->fc, text));
}

/* Reaching the default limits takes nearly all of the time: 1 in 10 problems of the long run does. */
static perp_fc_solver *solver_for(int method, int dimension, int is_patient)
{
    perp_fc shape = {.dimension = dimension, .nc = FC_MAX};
    perp_fc_options o = perp_fc_options_default();
    perp_fc_solver *solver;
    if (!is_patient) o.max_iter = 500;
    assert_int_equal(perp_fc_solver_create((perp_fc_method)method, &shape, &o, &solver), PERP_OK);
    return solver;
}

static void every_word_is_true(void **state)
{
    (void)state;
    static tally t = {.what = "words of perp_fc_solve",
                      .classes = DRAW_FC_CLASSES_COUNT,
                      .methods = PERP_FC_METHOD_COUNT};
    static drawn_fc p;
    perp_fc_solver *solver[PERP_FC_METHOD_COUNT][4];
    long each = problems(10000) / DRAW_FC_CLASSES_COUNT;
    for (int c = 0; c < t.classes; c++) t.class_name[c] = draw_fc_class_name((draw_fc_class)c);
    for (int m = 0; m < t.methods; m++) {
        t.method_name[m] = perp_fc_method_name((perp_fc_method)m);
        for (int k = 0; k < 4; k++) solver[m][k] = solver_for(m, 2 + k % 2, k / 2);
    }
    printf("seed %llu, %ld problems of each class\n", (unsigned long long)seed_of_run(), each);
    for (int c = 0; c < t.classes; c++) {
        for (long k = 0; k < each; k++) {
            draw_fc((draw_fc_class)c, seed_of_run(), (unsigned long)k, &p);
            if (p.solvable < 0) p.solvable = exact_fc_has_solution(&p.fc);
            int kind = p.fc.dimension - 2 + (is_long() && k % 10 == 0 ? 2 : 0);
            for (int m = 0; m < t.methods; m++) {
                double r[FC_ROWS] = {0};
                perp_fc_info info;
                assert_int_equal(perp_fc_solve(solver[m][kind], &p.fc, r, NULL, &info), PERP_OK);
                judge_word(&t, c, (unsigned long)k, m, &p, info.outcome, r);
            }
        }
    }
    for (int m = 0; m < t.methods; m++) {
        for (int k = 0; k < 4; k++) perp_fc_solver_destroy(solver[m][k]);
    }
    check_tally(&t, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_is_true),
    };
    return run_all(tests);
}
