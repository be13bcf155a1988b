/* Modes, friction laws and complementarity of runs, found from the model. */

#include "report/modes.h"
#include "runs.h"
#include "outcomes.h"

/* A run as a report reads it: through CSV, with `every`th row kept. The model stays the run's. */
static perp_trajectory *table_of(const run *r, int every)
{
    size_t room = (size_t)(r->nrow + 2) * (size_t)r->ncolumn * 64 + 1000;
    char *csv = malloc(room);
    int n = sprintf(csv, "# from 0 to 1 step %.17g, backward-euler, auto\n",
                    perp_model_simulate_task(r->model).step);
    for (int c = 0; c < r->ncolumn; c++)
        n += sprintf(csv + n, "\"%s\"%c", perp_simulation_column_name(r->sim, c),
                     c + 1 < r->ncolumn ? ',' : '\n');
    for (long i = 0; i < r->nrow; i += every) {
        for (int c = 0; c < r->ncolumn; c++)
            n += sprintf(csv + n, "%.17g%c", r->value[i * r->ncolumn + c],
                         c + 1 < r->ncolumn ? ',' : '\n');
    }
    perp_trajectory *t;
    perp_diag diag = {0};
    if (perp_trajectory_parse(csv, (size_t)n, "run", &t, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    free(csv);
    return t;
}

static long count(const perp__modes *m, const char *label, int mode)
{
    for (int s = 0; s < m->nstrip; s++) {
        if (strcmp(m->strip[s].label, label) != 0) continue;
        long n = 0;
        for (int i = 0; i < m->rows; i++) n += m->strip[s].mode[i] == mode;
        return n;
    }
    for (int s = 0; s < m->nstrip; s++) printf("  there is '%s'\n", m->strip[s].label);
    fail_msg("no strip '%s'", label);
    return 0;
}

static double largest(const double *x, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, x[i]);
    return most;
}

typedef struct found {
    run r;
    perp_trajectory *table;
    perp__modes modes;
} found;

static found find(perp_model *model, int every)
{
    found f = {.r = run_model(model, 0, 0)};
    f.table = table_of(&f.r, every);
    assert_int_equal(perp__modes_find(&f.modes, model, f.table, 0), 1);
    return f;
}

static void drop(found *f)
{
    perp__modes_clear(&f->modes);
    perp_trajectory_destroy(f->table);
    free_run(&f->r);
}

static void coulomb_in_one_line_sticks_and_slips_as_counted(void **state)
{
    (void)state;
    found f = find(load_model("notes/sliding_one_line.perp"), 1);
    const long *sides = simulation_summary(f.r.sim).modes[0];
    assert_int_equal(f.modes.nstrip, 1);
    assert_int_equal(count(&f.modes, "f", 0), sides[1]);           /* stick: between the bounds */
    assert_int_equal(count(&f.modes, "f", 1), sides[0]);           /* slip +: at the lower bound */
    assert_int_equal(count(&f.modes, "f", PERP__MODE_UNKNOWN), 1); /* the initial row */
    assert_int_equal(f.modes.nlaw, 1);
    assert_near(f.modes.law[0].bound[10], 0.6 * 9.81, 1e-12);
    assert_true(largest(f.modes.violation, f.modes.rows) <= 1e-9);
    drop(&f);
}

/* Three pairs that state friction are one contact, with the force and velocity of the one line. */
static void friction_by_three_pairs_is_recognised(void **state)
{
    (void)state;
    found a = find(load_model("notes/sliding_traditional.perp"), 1),
          b = find(load_model("notes/sliding_one_line.perp"), 1);
    assert_int_equal(a.modes.nstrip, 1);
    assert_int_equal(a.modes.nlaw, 1);
    assert_string_equal(a.modes.law[0].label, "lp \xE2\x88\x92 ln");
    for (int i = 1; i < a.modes.rows; i++) {
        assert_near(a.modes.law[0].f[i], b.modes.law[0].f[i], 1e-9);
        assert_near(a.modes.law[0].v[i], b.modes.law[0].v[i], 1e-9);
        assert_near(a.modes.law[0].bound[i], b.modes.law[0].bound[i], 1e-9);
        assert_int_equal(a.modes.strip[0].mode[i], b.modes.strip[0].mode[i]);
    }
    drop(&a);
    drop(&b);
}

static void sides_are_those_of_the_summary(void **state)
{
    (void)state;
    found f = find(load_model("mechanics/square.perp"), 1);
    const long(*sides)[4] = simulation_summary(f.r.sim).modes;
    for (int i = 0; i < 4; i++) {
        char label[64];
        snprintf(label, sizeof label, "fn[%d] \xE2\x9F\x82 gap[%d]", i + 1, i + 1);
        for (int k = 0; k < 4; k++) /* the pairs of fn and of ft take turns */
            assert_int_equal(count(&f.modes, label, k), sides[2 * i][k]);
    }
    drop(&f);
    f = find(load_model("notes/particle.perp"), 1);
    sides = simulation_summary(f.r.sim).modes;
    assert_int_equal(count(&f.modes, "p \xE2\x9F\x82 vz + e*pre(vz)", 0), sides[0][0]);
    assert_int_equal(count(&f.modes, "p \xE2\x9F\x82 vz + e*pre(vz)", 3), sides[0][3]);
    assert_int_equal(count(&f.modes, "lp \xE2\x88\x92 ln", 3), sides[0][3]); /* in the air: free */
    drop(&f);
}

static void friction_in_the_plane_is_shown_by_lengths(void **state)
{
    (void)state;
    found f = find(load_model("mechanics/plane.perp"), 1);
    assert_int_equal(f.modes.nlaw, 1);
    assert_int_equal(f.modes.law[0].is_planar, 1);
    assert_string_equal(f.modes.law[0].label, "fx, fy");
    for (int i = 1; i < f.modes.rows; i++)
        assert_true(f.modes.law[0].f[i] <= f.modes.law[0].bound[i] + 1e-6);
    assert_true(count(&f.modes, "fx, fy", 1) > 500);
    drop(&f);
}

/* What needs the step before is not guessed from rows further apart. */
static void rows_that_were_left_out_are_not_guessed(void **state)
{
    (void)state;
    found f = find(load_model("notes/particle.perp"), 10);
    assert_int_equal(count(&f.modes, "p \xE2\x9F\x82 vz + e*pre(vz)", PERP__MODE_UNKNOWN),
                     f.modes.rows);
    drop(&f);
    f = find(load_model("notes/sliding_one_line.perp"), 10); /* needs no step before */
    assert_int_equal(count(&f.modes, "f", PERP__MODE_UNKNOWN), 1);
    drop(&f);
}

static void a_wrong_run_shows_its_violation(void **state)
{
    (void)state;
    perp_model *model = parse_model("state x = 1\nvar p\nder(x) = p - 1\n0 <= p perp x >= 0\n"
                                    "simulate to 1 step 0.5\n");
    const char *csv = "t,x,p\n0,1,nan\n0.5,0.5,2\n1,-3,0\n";
    perp_trajectory *t;
    assert_int_equal(perp_trajectory_parse(csv, strlen(csv), "run", &t, NULL), PERP_OK);
    perp__modes m;
    assert_int_equal(perp__modes_find(&m, model, t, 0), 1);
    assert_near(m.violation[1], 0.5, 0);
    assert_near(m.product[1], 1, 0);
    assert_near(m.violation[2], 3, 0);
    perp__modes_clear(&m);
    perp_trajectory_destroy(t);
    perp_model_destroy(model);
}

/* -2 <= f <= 0 perp w: at the lower bound (0), between (1) or at the upper one (2), where w decides, and where it is zero f itself;
 * both within 1e-9, the end of which counts. */
static void two_sided_pairs_have_three_sides(void **state)
{
    (void)state;
    const struct {
        double f, w;
        int side;
    } rows[] = {{-2, 1, 0}, {-2, 0, 0},     {-2 + 5e-10, 0, 0}, {-2 + 2e-9, 0, 1},
                {-1, 0, 1}, {-1, 5e-10, 1}, {-2e-9, 0, 1},      {-1e-9, 0, 2},
                {0, 0, 2},  {0, -1, 2},     {0, -2e-9, 2},      {-1, 2e-9, 0}};
    char csv[1024] = "t,w,f\n0,1,nan\n";
    int n = (int)(sizeof rows / sizeof *rows);
    for (int k = 0; k < n; k++)
        snprintf(csv + strlen(csv), sizeof csv - strlen(csv), "%.1f,%.17g,%.17g\n", 0.5 * (k + 1),
                 rows[k].w, rows[k].f);
    perp_model *model = parse_model("state w = 1\nvar f\nder(w) = f\n-2 <= f <= 0 perp w\n"
                                    "simulate to 6 step 0.5\n");
    perp_trajectory *t;
    assert_int_equal(perp_trajectory_parse(csv, strlen(csv), "run", &t, NULL), PERP_OK);
    perp__modes m;
    assert_int_equal(perp__modes_find(&m, model, t, 0), 1);
    assert_int_equal(m.nstrip, 1);
    for (int k = 0; k < n; k++) {
        if (m.strip[0].mode[k + 1] != rows[k].side)
            fail_msg("f = %g, w = %g: side %d, expected %d", rows[k].f, rows[k].w,
                     m.strip[0].mode[k + 1], rows[k].side);
    }
    perp__modes_clear(&m);
    perp_trajectory_destroy(t);
    perp_model_destroy(model);
}

/* A plan has its inputs as columns; they replace the function of time that the model gives. */
static void inputs_that_are_columns_are_used(void **state)
{
    (void)state;
    perp_model *model = parse_model("state x = 1\nvar p\ninput u = 5\nder(x) = p - 1\n"
                                    "0 <= p perp x + u >= 0\nsimulate to 1 step 0.5\n");
    const char *csv = "t,x,p,u\n0,1,nan,0\n0.5,0.5,2,-0.5\n";
    perp_trajectory *t;
    assert_int_equal(perp_trajectory_parse(csv, strlen(csv), "run", &t, NULL), PERP_OK);
    perp__modes m;
    assert_int_equal(perp__modes_find(&m, model, t, 0), 1);
    assert_near(m.violation[1], 0, 0);
    perp__modes_clear(&m);
    perp_trajectory_destroy(t);
    perp_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coulomb_in_one_line_sticks_and_slips_as_counted),
        cmocka_unit_test(friction_by_three_pairs_is_recognised),
        cmocka_unit_test(sides_are_those_of_the_summary),
        cmocka_unit_test(friction_in_the_plane_is_shown_by_lengths),
        cmocka_unit_test(rows_that_were_left_out_are_not_guessed),
        cmocka_unit_test(a_wrong_run_shows_its_violation),
        cmocka_unit_test(two_sided_pairs_have_three_sides),
        cmocka_unit_test(inputs_that_are_columns_are_used),
    };
    return run_all(tests);
}
