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
                perp_fc_info info = {.size = sizeof info};
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

/* Rows (normal, t1, t2) of a corner of a box, by the velocity of its centre and its rotation, all three times `sign`. */
static void add_corner(double *J, int rows, int contact, int box, const double *x, double sign)
{
    static const int axis[3] = {2, 0, 1};
    for (int a = 0; a < 3; a++) {
        int e = axis[a], f = (e + 1) % 3, g = (e + 2) % 3;
        double *row = J + 3 * contact + a;
        row[(size_t)rows * (size_t)(6 * box + e)] += sign;
        row[(size_t)rows * (size_t)(6 * box + 3 + f)] += sign * x[g];
        row[(size_t)rows * (size_t)(6 * box + 3 + g)] -= sign * x[f];
    }
}

/* Boxes of masses of ratio 100 on each other, four corners a face, that fall together, tilted: only the floor has data. */
static perp_fc tower(int height, uint64_t seed, double *M, double *J, double *q, double *mu)
{
    draws d = draws_of(seed, 77, (unsigned long)height);
    int nc = 4 * height, rows = 3 * nc, nv = 6 * height;
    double tilt = draw_uniform(&d, 0, 0.3), friction = draw_uniform(&d, 0.2, 1);
    memset(M, 0, (size_t)(nv * nv) * sizeof *M);
    memset(J, 0, (size_t)(rows * nv) * sizeof *J);
    for (int b = 0; b < height; b++) {
        double mass = pow(10, draw_uniform(&d, -1, 1));
        for (int k = 0; k < 6; k++) M[(6 * b + k) * (nv + 1)] = k < 3 ? mass : mass / 6;
        for (int c = 4 * b; c < 4 * b + 4; c++) {
            double x[3] = {c % 2 ? 0.5 : -0.5, c % 4 < 2 ? 0.5 : -0.5, -0.5};
            add_corner(J, rows, c, b, x, 1);
            x[2] = 0.5;
            if (b) add_corner(J, rows, c, b - 1, x, -1);
            mu[c] = friction;
        }
    }
    memset(q, 0, (size_t)rows * sizeof *q);
    for (int c = 0; c < 4; c++) q[3 * c] = -0.0196, q[3 * c + 1] = 0.0196 * tilt;
    return (perp_fc){.dimension = 3,
                     .nc = nc,
                     .q = q,
                     .mu = mu,
                     .M = M,
                     .ldm = nv,
                     .J = J,
                     .ldj = rows,
                     .nv = nv};
}

static void towers_are_decided_however_high(void **state)
{
    (void)state;
    enum { HIGHEST = 30, ROWS = 12 * HIGHEST, VELOCITIES = 6 * HIGHEST };
    static double M[VELOCITIES * VELOCITIES], J[ROWS * VELOCITIES], W[ROWS * ROWS], q[ROWS],
        mu[4 * HIGHEST];
    int stands = 0, stood = 0;
    for (int height = 2; height <= HIGHEST; height++) {
        perp_fc problem = tower(height, seed_of_run(), M, J, q, mu);
        perp_fc_solver *solver;
        perp_fc_info info = {.size = sizeof info};
        double r[ROWS] = {0};
        assert_int_equal(perp_fc_solver_create(PERP_FC_AUTO, &problem, NULL, &solver), PERP_OK);
        assert_int_equal(perp_fc_solve(solver, &problem, r, NULL, &info), PERP_OK);
        perp_fc_solver_destroy(solver);
        stands += q[1] <= mu[0] * -q[0];
        stood += info.outcome == PERP_SOLVED && q[1] <= mu[0] * -q[0];
        if (info.outcome != PERP_SOLVED) continue;
        problem.W = W, problem.ldw = 3 * problem.nc;
        assert_int_equal(perp_fc_delassus(&(perp_fc){.dimension = 3,
                                                     .nc = problem.nc,
                                                     .M = M,
                                                     .ldm = problem.nv,
                                                     .J = J,
                                                     .ldj = problem.ldj,
                                                     .nv = problem.nv},
                                          W, problem.ldw),
                         PERP_OK);
        exact_error e = exact_fc_error(&problem, r);
        if (!(e.own <= TOL && e.data <= DATA))
            fail_msg("%d boxes: error %g of the terms, %g of the data", height, e.own, e.data);
    }
    printf("%d of %d towers inside their cones\n", stood, stands);
    assert_true(stands > HIGHEST / 3 && stood == stands);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(towers_are_decided_however_high),
        cmocka_unit_test(every_word_is_true),
    };
    return run_all(tests);
}
