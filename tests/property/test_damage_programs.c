/* Right answers of contact problems in files, of programs and of plans, damaged in one condition (test_damage): the verdict has to notice. */

#include "damage.h"
#include "runs.h"

#include "fclib/fclib.h"
#include "plan/plan.h"
#include "program/program_state.h"

/* Contact problems of files ------------------------------------------------------------------------------------ */

/* One contact, W = 2, with one multiplier, V = (1, 0, 0)', R = -3: u = W r + V l + q, 0 = V' r + R l + s. */
typedef struct number {
    const char *name;
    int at; /* of r, u, l */
    double scale;
} number;

/* Rows u_n: 4 + 1 + 5 + 0; u_t: 2 + 5 + 3; of the multiplier: 2 + 3 + 1. */
static const number numbers[] = {
    {"normal impulse", 0, 5},   {"friction", 1, 3.5}, {"friction across", 2, 1},
    {"normal velocity", 3, 10}, {"slip", 4, 7},       {"multiplier", 6, 2},
};

static double file_error(const void *scene, double by)
{
    const number *of = scene;
    static const int start[4] = {0, 1, 2, 3}, row[3] = {0, 1, 2}, one[2] = {0, 1};
    static const double W[3] = {2, 2, 2}, V[1] = {1}, R[1] = {-3}, q[3] = {-5, 5, 0.5}, s[1] = {1},
                        mu[1] = {0.5};
    const perp_fclib_problem p = {.dimension = 3,
                                  .nc = 1,
                                  .mu = mu,
                                  .W = {3, 3, start, row, W},
                                  .V = {3, 1, one, row, V},
                                  .R = {1, 1, one, row, R},
                                  .q = q,
                                  .s = s};
    double least = INFINITY, most = 0;
    for (int side = -1; side <= 1; side += 2) {
        double x[7] = {2, -1, 0, 0, 3, 0.5, 1}, room[8];
        x[of->at] += side * by * of->scale;
        double error = perp__fclib_violation(&p, x, x + 3, NULL, NULL, x + 6, room);
        least = fmin(least, error), most = fmax(most, error);
    }
    return by > 1e-6 ? least : most;
}

static void damaged_files_are_not_solved(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        expect_damage_seen("fclib", numbers[k].name, file_error, &numbers[k], 1e-6, NULL);
}

/* Programs ---------------------------------------------------------------------------------------------------- */

/* x1 x2 = 2, x1^2 + x2 >= 3, x1 in [0, 1], 0 <= x3 perp x2 - 2 >= 0, 0 <= x4 perp x1 + x4 - 1 >= 0; at (1, 2, 0.5, 0). */
typedef struct moved {
    const char *name;
    double along[4];
    double sign;
} moved;

static const moved moves[] = {
    {"an equation", {0, 4, 0, 0}, 0},
    {"an inequality", {-6 / 2.0, 12 / 2.0, 0, 0}, 1}, /* the equation is kept, and the bound */
    {"an upper bound", {2, -4, 0, 0}, 1},
    {"a pair's row", {-2, 4, 0, 0}, 1},
    {"a pair's variable, of which 1e-3 is the least scale", {0, 0, 0, -1e-3}, 1},
};

static double program_error(const void *scene, double by)
{
    const moved *of = scene;
    static const double lo[] = {0, -(double)INFINITY, 0, 0},
                        hi[] = {1, INFINITY, INFINITY, INFINITY}, row_lo[] = {2, 3, 0, 0},
                        row_hi[] = {2, INFINITY, 0, 0};
    static const int complements[] = {-1, -1, 2, 3};
    static const char *const rows[] = {"x1*x2", "x1^2 + x2", "x2 - 2", "x1 + x4 - 1"};
    const perp_program_formulas f = {.variables = 4,
                                     .lo = lo,
                                     .hi = hi,
                                     .objective = "x1",
                                     .rows = 4,
                                     .row = rows,
                                     .row_lo = row_lo,
                                     .row_hi = row_hi,
                                     .complements = complements};
    double least = INFINITY, most = 0;
    for (int side = -1; side <= 1; side += 2) {
        static const double right[4] = {1, 2, 0.5, 0};
        perp_program *p;
        perp_program_result r = {.size = sizeof r};
        if (of->sign * side < 0) continue;
        assert_int_equal(perp_program_create(&f, "program", &p, NULL), PERP_OK);
        assert_int_equal(perp_program_solve(p, NULL, &r, NULL), PERP_OK); /* its arrays are there */
        for (int i = 0; i < 4; i++) p->x[i] = right[i] + side * by * of->along[i];
        perp__program_check(p, &r);
        assert_int_equal(perp__program_holds(p, &r), r.error <= p->options.tol);
        perp_program_destroy(p);
        least = fmin(least, r.error), most = fmax(most, r.error);
    }
    return by > 1e-6 ? least : most;
}

static void damaged_programs_do_not_hold(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof moves / sizeof *moves; k++)
        expect_damage_seen("program", moves[k].name, program_error, &moves[k], 1e-6, NULL);
}

/* Plans ------------------------------------------------------------------------------------------------------- */

/* Two steps of 1/2 s by backward Euler; unknowns x, v, f, u of each. A block with dry friction is pushed. */
static const char PLAN[] =
    "input u\nstate x = 0 in [-1, 0.75], v = 0\nvar f\nder(x) = v\nder(v) = u + f\n-1 <= f <= 1 "
    "perp v\n"
    "plan {\nfree u in [-3, 3]\nhorizon 1\nnodes 3\nminimize integral(u^2)\nx + v <= 1.75\n"
    "at end: x = 0.75\n}\n";

typedef struct planned {
    const char *name;
    double along[8]; /* x, v, f, u of step 0, then of step 1 */
    double sign;
} planned;

/* At (0.25, 0.5, -1, 2), (0.75, 1, -1, 2): v' = 1. */
static const planned plans[] = {
    {"a rate of position", {1 * 0.5}, 0},
    {"Newton's law by the input", {0, 0, 0, 4}, 0},
    {"friction beyond its bound", {0, 0, -2, 2}, 1},
    {"friction within its bound", {0, 0, 2, -2}, 1},
    {"a condition, a range and an end", {0, 0, 0, 0, 1.75, 3.5, 0, 7}, 1},
    {"an end", {0, 0, 0, 0, 1.5, 3, 0, 6}, -1},
};

static double plan_error(const void *scene, double by)
{
    const planned *of = scene;
    static const double right[8] = {0.25, 0.5, -1, 2, 0.75, 1, -1, 2};
    double least = INFINITY, most = 0;
    perp_model *m = parse_model(PLAN);
    perp_plan *plan;
    perp_plan_options o = perp_plan_options_default(m);
    assert_int_equal(perp_plan_create(m, &o, &plan, NULL), PERP_OK);
    const perp__program *g = plan->program;
    for (int side = -1; side <= 1; side += 2) {
        perp__plan_check check;
        if (of->sign * side < 0) continue;
        for (size_t k = 0; k < 2; k++)
            for (int i = 0; i < 4; i++) {
                int part = i < 3 ? i : g->nb - g->nu;
                plan->w[(size_t)part * 2 + k] =
                    right[4 * k + (size_t)i] + side * by * of->along[4 * k + (size_t)i];
            }
        assert_true(perp__plan_verify(g, plan->w, plan->p, &check, NULL));
        least = fmin(least, check.worst), most = fmax(most, check.worst);
    }
    perp_plan_destroy(plan);
    perp_model_destroy(m);
    return by > 1e-6 ? least : most;
}

static void damaged_plans_do_not_hold(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof plans / sizeof *plans; k++)
        expect_damage_seen("plan", plans[k].name, plan_error, &plans[k], 1e-6, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_files_are_not_solved),
        cmocka_unit_test(damaged_programs_do_not_hold),
        cmocka_unit_test(damaged_plans_do_not_hold),
    };
    return run_all(tests);
}
