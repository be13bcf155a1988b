/* The examples from the LCP notes and the blog, by their numbers. */

#include "runs.h"
#include "outcomes.h"

#include <stdio.h>

/* ERRATA "One NLP per step": touchdown, impact, sliding, stop. */
static const double stop_x = 0.609683996;

static void particle_lands_slides_and_sticks(void **state)
{
    (void)state;
    const char *models[] = {"notes/particle.perp", "blog/particle.perp"};
    for (int k = 0; k < 2; k++) {
        run r = run_model(load_model(models[k]), 0, 0);
        assert_int_equal(r.nrow, 1201);
        assert_near(last(&r, "x"), stop_x, 6e-4);
        for (long i = 0; i < r.nrow; i++) {
            if (at(&r, i, "t") >= 1.03) assert_near(at(&r, i, "vx"), 0, 1e-12);
        }
        assert_true(last(&r, "vx") == 0); /* not creep: zero */
        assert_true(r.worst <= 1e-9);
        free_run(&r);
    }
}

static void particle_at_position_level_equals_the_exact_moreau_step(void **state)
{
    (void)state;
    run r = run_model(load_model("blog/particle.perp"), 0, 0);
    assert_near(last(&r, "x"), 0.609184110, 1e-9);
    for (long i = 0; i < r.nrow; i++) assert_true(at(&r, i, "z") >= -1e-15);
    free_run(&r);
}

static void halving_the_step_halves_the_particles_error(void **state)
{
    (void)state;
    const char *models[] = {"notes/particle.perp", "blog/particle.perp"};
    for (int k = 0; k < 2; k++) {
        double before = 0;
        for (double h = 4e-3; h > 2e-4; h /= 2) {
            run r = run_model(load_model(models[k]), 1.2, h);
            double error = last(&r, "x") - stop_x;
            if (before != 0) assert_near(before / error, 2, 0.02);
            before = error;
            free_run(&r);
        }
    }
}

/* Newton's law: each bounce leaves e times the speed, so e^2 times the height. */
static void restitution_gives_the_heights_of_bounces(void **state)
{
    (void)state;
    double before[3] = {0};
    for (double h = 1e-3; h > 1e-4; h /= 4) {
        perp_model *model = load_model("notes/particle.perp");
        set_value(model, "e", 0.5);
        set_value(model, "vx", 0);
        run r = run_model(model, 1.8, h);
        double top = 0;
        int bounce = -1;
        for (long i = 1; i < r.nrow; i++) { /* heights of the flights between bounces */
            if (at(&r, i - 1, "vz") < 0 && at(&r, i, "vz") > 0) bounce++, top = 0;
            top = fmax(top, at(&r, i, "z"));
            if (bounce >= 0 && bounce < 2 && at(&r, i - 1, "vz") > 0 && at(&r, i, "vz") <= 0) {
                double exact = pow(0.25, bounce + 1), error = fabs(top - exact);
                assert_true(
                    error <
                    6 * h); /* the impact speed is known to g h, the height to a few times v h */
                before[bounce] = error;
            }
        }
        assert_true(bounce >= 2);
        free_run(&r);
    }
    assert_true(before[0] < 1e-3);
}

static void falling_block_lands_and_rests_at_zero(void **state)
{
    (void)state;
    run r = run_model(load_model("notes/falling_block.perp"), 0, 0);
    for (long i = 0; i < r.nrow; i++) {
        assert_true(at(&r, i, "x") >= -1e-12);
        if (at(&r, i, "t") < 0.46) continue;
        assert_near(at(&r, i, "x"), 0, 1e-12);
        assert_near(at(&r, i, "v"), 0, 1e-12);
        assert_near(at(&r, i, "lambda"), 9.81, 1e-9);
    }
    free_run(&r);
}

/* Formulations of one block under random forces --------------------------------------------------
 */

enum { STEPS = 30000 };
static const double h = 1e-3, mu = 0.6, g = 9.81;

static double uniform(uint64_t *seed, double lo, double hi)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return lo + (hi - lo) * (double)(*seed >> 11) * 0x1p-53;
}

/* Forces per step, some far above friction, some below; as a table over the ends of the steps. */
static perp_trajectory *random_forces(double *u, double lo, double hi)
{
    uint64_t seed = 20261121;
    char *text = malloc((size_t)(STEPS + 2) * 64);
    int n = sprintf(text, "t,u\n");
    perp_diag diag = {0};
    perp_trajectory *table;
    for (int k = 0; k <= STEPS; k++) {
        u[k] = uniform(&seed, lo, hi) * (uniform(&seed, 0, 1) < 0.3 ? 0.2 : 1);
        n += sprintf(text + n, "%.17g,%.17g\n", k * h, u[k]);
    }
    if (perp_trajectory_parse(text, (size_t)n, "forces", &table, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    free(text);
    return table;
}

static run run_with_forces(const char *name, const perp_trajectory *forces)
{
    perp_diag diag = {0};
    perp_model *model = load_model(name);
    if (perp_model_set_input_table(model, "u", forces, NULL, "forces", &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return run_model(model, STEPS * h, h);
}

static void formulations_agree_over_random_forces(void **state)
{
    (void)state;
    const char *names[] = {"notes/sliding_traditional.perp", "notes/sliding_direct.perp",
                           "notes/sliding_mixed.perp", "notes/sliding_one_line.perp"};
    double *u = malloc((STEPS + 1) * sizeof *u);
    perp_trajectory *forces = random_forces(u, -40, 40);
    run r[4];
    for (int f = 0; f < 4; f++) r[f] = run_with_forces(names[f], forces);
    int stuck = 0, turned = 0;
    for (int f = 0; f < 4; f++) {
        int cv = column_of(&r[f], "v");
        assert_int_equal(r[f].nrow, STEPS + 1);
        assert_true(r[f].worst <= 1e-9);
        for (long k = 1; k < r[f].nrow; k++) {
            double before = r[f].value[(k - 1) * r[f].ncolumn + cv],
                   v = r[f].value[k * r[f].ncolumn + cv];
            double c = before + u[k] * h, exact = copysign(fmax(fabs(c) - mu * g * h, 0), c);
            assert_near(v, exact, 1e-12);
            assert_near(v, r[0].value[k * r[0].ncolumn + column_of(&r[0], "v")], 1e-12);
            stuck += v == 0;
            turned += before * v < 0;
        }
    }
    assert_true(stuck > 100 && turned > 100); /* the forces did exercise the law */
    int vp = column_of(&r[1], "vp"), vn = column_of(&r[1], "vn");
    for (long k = 0; k < r[1].nrow; k++) /* Lemma 2.1 */
        assert_true(r[1].value[k * r[1].ncolumn + vp] * r[1].value[k * r[1].ncolumn + vn] == 0);
    for (int f = 0; f < 4; f++) free_run(&r[f]);
    perp_trajectory_destroy(forces);
    free(u);
}

static void forward_formulation_agrees_where_the_block_moves_forward(void **state)
{
    (void)state;
    double *u = malloc((STEPS + 1) * sizeof *u);
    perp_trajectory *forces = random_forces(u, 0, 11);
    run forward = run_with_forces("notes/sliding_forward.perp", forces);
    run traditional = run_with_forces("notes/sliding_traditional.perp", forces);
    int stuck = 0;
    for (long k = 1; k < forward.nrow; k++) {
        assert_near(at(&forward, k, "v"), at(&traditional, k, "v"), 1e-12);
        assert_true(at(&forward, k, "lambda") >= -1e-12); /* Remark 1 */
        stuck += at(&forward, k, "v") == 0;
    }
    assert_true(stuck > 100);
    free_run(&forward);
    free_run(&traditional);
    perp_trajectory_destroy(forces);
    free(u);
}

static void direct_2_has_no_solution_and_says_so(void **state)
{
    (void)state;
    for (int moving = 0; moving < 2; moving++) {
        perp_diag diag = {0};
        perp_model *model = load_model("notes/sliding_direct2.perp");
        set_value(model, "vp", moving);
        perp_simulation *sim;
        perp_step_info info = {.size = sizeof info};
        assert_int_equal(perp_simulation_create(model, NULL, &sim, &diag), PERP_OK);
        perp_status status = simulation_step(sim, &info, &diag);
        if (moving) {
            assert_int_equal(status, PERP_ERR_NO_SOLUTION);
            assert_int_equal(info.outcome, PERP_INFEASIBLE);
            assert_non_null(strstr(diag.text, "no solution at step 1"));
            assert_non_null(strstr(diag.text, "0 <= ln perp next(vn) >= 0"));
        } else {
            assert_int_equal(status, PERP_OK); /* v + u = 0: everything is zero */
        }
        perp_simulation_destroy(sim);
        perp_model_destroy(model);
        perp_diag_clear(&diag);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(particle_lands_slides_and_sticks),
        cmocka_unit_test(particle_at_position_level_equals_the_exact_moreau_step),
        cmocka_unit_test(halving_the_step_halves_the_particles_error),
        cmocka_unit_test(restitution_gives_the_heights_of_bounces),
        cmocka_unit_test(falling_block_lands_and_rests_at_zero),
        cmocka_unit_test(formulations_agree_over_random_forces),
        cmocka_unit_test(forward_formulation_agrees_where_the_block_moves_forward),
        cmocka_unit_test(direct_2_has_no_solution_and_says_so),
    };
    return run_all(tests);
}
