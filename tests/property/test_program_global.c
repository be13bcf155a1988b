/* The search over all sides: against every choice of sides solved by itself, and its bounds, proofs and refusals. */

#include "unit.h"

#include "perp/program.h"

#include <stdio.h>

static unsigned long long state_of_draw;

static int draw(int lo, int hi)
{
    state_of_draw = state_of_draw * 6364136223846793005ULL + 1442695040888963407ULL;
    return lo + (int)((state_of_draw >> 33) % (unsigned long long)(hi - lo + 1));
}

/* minimise f over x in [0, 10]^X and z, 0 <= z perp q + N x + M z >= 0, with whole coefficients; f linear or a sum of squares. */
enum { X = 3, PAIRS = 5, N = X + PAIRS, TEXT = 400 };
typedef struct drawn {
    char row[PAIRS][TEXT], objective[TEXT];
    const char *rows[PAIRS];
    double lo[N], hi[N], row_lo[PAIRS], row_hi[PAIRS];
    int complements[PAIRS];
} drawn;

static void draw_program(drawn *d, int seed)
{
    state_of_draw = (unsigned long long)seed * 77;
    for (int i = 0; i < PAIRS; i++) {
        int n = snprintf(d->row[i], TEXT, "%d", draw(-12, 7));
        for (int j = 0; j < N; j++) {
            int a = j == X + i ? draw(6, 10) : draw(0, 1) ? draw(-5, 5) : 0;
            n += snprintf(d->row[i] + n, (size_t)(TEXT - n), " + (%d)*x%d", a, j + 1);
        }
        d->rows[i] = d->row[i];
        d->complements[i] = X + i;
    }
    int n = snprintf(d->objective, TEXT, "1");
    for (int j = 0; j < N; j++) {
        d->lo[j] = 0, d->hi[j] = j < X ? 10 : (double)INFINITY;
        int c = draw(j < X ? -5 : 0, 7);
        n += snprintf(d->objective + n, (size_t)(TEXT - n),
                      seed % 2 ? " + (x%d - %d)^2" : " + x%d*(%d)", j + 1, c);
    }
}

static perp_program_result solve(const perp_program_formulas *f, int is_global,
                                 perp_program_proof *proof)
{
    perp_program *program;
    perp_program_result r = {.size = sizeof r};
    perp_diag diag = {0};
    perp_program_options o = perp_program_options_default();
    o.global = is_global;
    assert_int_equal(perp_program_create(f, "drawn", &program, &diag), PERP_OK);
    assert_int_equal(perp_program_solve(program, &o, &r, &diag), PERP_OK);
    *proof = perp_program_get_proof(program);
    perp_program_destroy(program);
    return r;
}

/* The least over all choices of sides, each a convex program. */
static double least_of_sides(drawn *d)
{
    double least = (double)INFINITY;
    for (int sides = 0; sides < 1 << PAIRS; sides++) {
        drawn part = *d;
        perp_program_proof proof;
        for (int i = 0; i < PAIRS; i++) {
            int is_row = sides >> i & 1;
            part.rows[i] = part.row[i];
            part.row_lo[i] = 0, part.row_hi[i] = is_row ? 0 : (double)INFINITY;
            if (!is_row) part.hi[X + i] = 0;
        }
        const perp_program_formulas f = {.variables = N,
                                         .lo = part.lo,
                                         .hi = part.hi,
                                         .objective = part.objective,
                                         .rows = PAIRS,
                                         .row = part.rows,
                                         .row_lo = part.row_lo,
                                         .row_hi = part.row_hi};
        perp_program_result r = solve(&f, 0, &proof);
        if (perp_plan_holds(r.outcome)) least = fmin(least, r.objective);
    }
    return least;
}

static void the_best_of_all_sides_is_found_and_proved(void **state)
{
    (void)state;
    int better = 0;
    for (int seed = 1; seed <= 24; seed++) {
        static drawn d;
        perp_program_proof proof, none;
        draw_program(&d, seed);
        const perp_program_formulas f = {.variables = N,
                                         .lo = d.lo,
                                         .hi = d.hi,
                                         .objective = d.objective,
                                         .rows = PAIRS,
                                         .row = d.rows,
                                         .complements = d.complements};
        perp_program_result local = solve(&f, 0, &none), r = solve(&f, 1, &proof);
        double least = least_of_sides(&d), slack = 1e-4 * (1 + fabs(least));
        assert_int_equal(none.word, PERP_PROGRAM_PROOF_NONE);
        assert_int_equal(proof.word, PERP_PROGRAM_PROOF_GLOBAL);
        assert_true(proof.sides > 0);
        if (!isfinite(least)) {
            assert_int_equal(r.outcome, PERP_PLAN_INFEASIBLE);
            continue;
        }
        assert_int_equal(r.outcome, PERP_PLAN_GLOBAL);
        assert_near(r.objective, least, slack);
        assert_true(proof.bound <= r.objective && proof.bound >= r.objective - slack);
        better += local.objective > least + slack;
    }
    assert_true(better > 0); /* or a local search would do */
}

static void what_is_not_convex_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *objective;
        perp_program_proof_word word;
    } cases[] = {{"x1^2 + x2^2 - x1*x2", PERP_PROGRAM_PROOF_GLOBAL},
                 {"(x1 - x2)^2", PERP_PROGRAM_PROOF_GLOBAL}, /* semidefinite, in whole numbers */
                 {"0.1*x1^2 + 0.3*x2^2 + 0.1*x1*x2", PERP_PROGRAM_PROOF_GLOBAL},
                 {"x1*x2", PERP_PROGRAM_PROOF_SHAPE},
                 {"-abs(x1)", PERP_PROGRAM_PROOF_SHAPE}, /* second derivatives of pieces are 0 */
                 {"x1^2 + floor(x2)", PERP_PROGRAM_PROOF_SHAPE},
                 {"x1^2 + min(x2, 1)", PERP_PROGRAM_PROOF_SHAPE},
                 {"x1^2 - 0.001*x2^2", PERP_PROGRAM_PROOF_SHAPE},
                 {"x1^2 + x2^2 - 2.0000001*x1*x2", PERP_PROGRAM_PROOF_SHAPE},
                 {"x1^4 + x2", PERP_PROGRAM_PROOF_SHAPE},
                 {"exp(x1) + x2", PERP_PROGRAM_PROOF_SHAPE}};
    const double lo[] = {0, 0}, hi[] = {3, 3};
    const char *const row[] = {"x1 + x2 - 1"};
    const int complements[] = {0};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        perp_program_proof proof;
        perp_program_formulas f = {.variables = 2,
                                   .lo = lo,
                                   .hi = hi,
                                   .objective = cases[k].objective,
                                   .rows = 1,
                                   .row = row,
                                   .complements = complements};
        perp_program_result r = solve(&f, 1, &proof);
        if (proof.word != cases[k].word)
            fail_msg("%s: %s", cases[k].objective, perp_program_proof_word_name(proof.word));
        if (proof.word == PERP_PROGRAM_PROOF_SHAPE) assert_true(r.outcome != PERP_PLAN_GLOBAL);
        if (proof.word == PERP_PROGRAM_PROOF_SHAPE) assert_true(isinf(proof.bound));
    }
}

/* Rows that are not linear are refused; what is maximised has its bound above; what no side keeps is infeasible. */
static void words_and_bounds_are_those_of_the_program(void **state)
{
    (void)state;
    const double lo[] = {0, 0}, hi[] = {3, 5};
    const char *row[] = {"x1^2 + x2 - 1"};
    const int complements[] = {0};
    perp_program_proof proof;
    perp_program_formulas f = {.variables = 2,
                               .lo = lo,
                               .hi = hi,
                               .objective = "x1 + x2",
                               .maximise = 1,
                               .rows = 1,
                               .row = row,
                               .complements = complements};
    solve(&f, 1, &proof);
    assert_int_equal(proof.word, PERP_PROGRAM_PROOF_SHAPE);
    row[0] = "x1 - x2"; /* x1 = 0, x2 <= 0; x1 = x2; x1 = 3, x2 >= 3 */
    perp_program_result r = solve(&f, 1, &proof);
    assert_int_equal(r.outcome, PERP_PLAN_GLOBAL);
    assert_near(r.objective, 8, 1e-6);
    assert_true(proof.bound >= r.objective && proof.bound <= 8 + 1e-4);
    row[0] = "x1 + 1 + 0*x2";
    const double narrow[] = {3, 5}, wide[] = {1, 0};
    f.lo = wide,
    f.hi = narrow; /* at x1 = 3 the row is positive, at x1 = 1, too, but x2 has no part in it */
    assert_int_equal(solve(&f, 1, &proof).outcome, PERP_PLAN_GLOBAL);
    row[0] = "-x1 - 1";
    const double open[] = {INFINITY, 5};
    f.hi = open; /* the row is negative wherever x1 >= 1 */
    assert_int_equal(solve(&f, 1, &proof).outcome, PERP_PLAN_INFEASIBLE);
    assert_int_equal(proof.word, PERP_PROGRAM_PROOF_GLOBAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_of_all_sides_is_found_and_proved),
        cmocka_unit_test(what_is_not_convex_is_refused),
        cmocka_unit_test(words_and_bounds_are_those_of_the_program),
    };
    return run_all(tests);
}
