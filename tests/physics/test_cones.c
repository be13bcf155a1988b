/* Exact friction cones at contacts that say the same thing several times over, by closed forms. */

#include "runs.h"
#include "simulate/run.h"
#include "outcomes.h"

static double speed_of(const run *r, long row, const char *vx, const char *vy)
{
    return hypot(at(r, row, vx), at(r, row, vy));
}

static long friction_problems(const run *r)
{
    return simulation_summary(r->sim).friction_problems;
}

static double worst_error(const run *r)
{
    return simulation_summary(r->sim).worst_error;
}

/* Backward Euler takes the push P = rate t at the end of each step: the speed after row k of a mass that starts to move where
 * its push exceeds what holds it. */
static double pushed_speed(double rate, double hold, double mass, double h, long k)
{
    double v = 0;
    for (long i = 1; i <= k; i++) v = fmax(0, v + h * (rate * h * (double)i - hold) / mass);
    return v;
}

static void table_on_four_legs_sticks_slides_straight_and_stops(void **state)
{
    (void)state;
    run r = run_model(load_model("mechanics/table.perp"), 0, 0);
    double most = 0.3 * 10 * 9.81, h = 2e-3;
    for (long i = 1; i < r.nrow; i++) {
        double t = at(&r, i, "t"), v = speed_of(&r, i, "v[1]", "v[2]");
        assert_near(at(&r, i, "aside"), 0, 1e-10);
        assert_near(at(&r, i, "w[3]"), 0, 1e-10);
        double weight = 0;
        for (int k = 1; k <= 4; k++) {
            char fn[8];
            snprintf(fn, sizeof fn, "fn[%d]", k);
            weight += at(&r, i, fn);
        }
        assert_near(weight, 10 * 9.81, 1e-6);
        if (20 * t < most) assert_near(v, 0, 1e-9);
        if (20 * t < most && t < 2) assert_near(at(&r, i, "friction"), 20 * t, 1e-6);
        if (20 * t > most && t < 2 - h / 2) {
            assert_near(at(&r, i, "friction"), most, 1e-6);
            assert_near(v, pushed_speed(20, most, 10, h, i), 1e-8);
        }
        if (t > 2.2) assert_near(v, 0, 1e-9);
    }
    assert_true(friction_problems(&r) < 10 &&
                worst_error(&r) <= 1e-9); /* 1500 steps, most in one mode */
    free_run(&r);
}

/* Three boxes on each other, four corners an interface; the lowest is pushed. First nothing moves, then all together, then the
 * upper two lag behind, and are dragged by mu g. */
static void stack_of_boxes_moves_together_and_then_parts(void **state)
{
    (void)state;
    const char *text =
        "param m = 2, mu = 0.3, g = 9.81, psi = 0.7\ninput P = 20*t\n"
        "state x[3] = 0, y[3] = 0, z[3] = 0, vx[3] = 0, vy[3] = 0, vz[3] = 0\n"
        "var fx[4,4], fy[4,4], fn[4,4], wx[4], wy[4], wz[4]\n"
        "der(x) = vx\nder(y) = vy\nder(z) = vz\n"
        "wx[1] = vx[1]\nwy[1] = vy[1]\nwz[1] = z[1]\n"
        "for i in 2..3 { wx[i] = vx[i] - vx[i-1]\n wy[i] = vy[i] - vy[i-1]\n wz[i] = z[i] - z[i-1] "
        "}\n"
        "wx[4] = 0\nwy[4] = 0\nwz[4] = 1\n" /* nothing on the top one */
        "for i in 1..3 {\n"
        "  m*der(vx[i]) = sum(j in 1..4, fx[i,j] - fx[i+1,j]) + P*cos(psi)*max(0, 2 - i)\n"
        "  m*der(vy[i]) = sum(j in 1..4, fy[i,j] - fy[i+1,j]) + P*sin(psi)*max(0, 2 - i)\n"
        "  m*der(vz[i]) = sum(j in 1..4, fn[i,j] - fn[i+1,j]) - m*g\n"
        "}\n"
        "for i in 1..4 { for j in 1..4 {\n"
        "  0 <= fn[i,j] perp wz[i] >= 0\n"
        "  friction(f = [fx[i,j], fy[i,j]], v = [wx[i], wy[i]], bound = mu*fn[i,j], facets = "
        "exact)\n"
        "} }\n"
        "simulate to 2.5 step 5e-3\n";
    run r = run_model(parse_model(text), 0, 0);
    double mg = 2 * 9.81, slide = 0.3 * 3 * mg, part = slide + 3 * 0.3 * mg, h = 5e-3, upper = 0,
           lower = 0;
    for (long i = 1; i < r.nrow; i++) {
        double P = 20 * at(&r, i, "t"), v1 = speed_of(&r, i, "vx[1]", "vy[1]"),
               v2 = speed_of(&r, i, "vx[2]", "vy[2]"), v3 = speed_of(&r, i, "vx[3]", "vy[3]");
        if (P < part)
            upper = lower = pushed_speed(20, slide, 6, h, i);
        else
            lower += h * (P - 5 * 0.3 * mg) / 2, upper += h * 0.3 * 9.81;
        assert_near(v1, lower, 1e-8);
        assert_near(v2, upper, 1e-8);
        assert_near(v3, upper, 1e-8);
    }
    assert_true(lower > upper + 1 && upper > 1 && friction_problems(&r) < 10 &&
                worst_error(&r) <= 1e-9);
    free_run(&r);
}

/* Two pads with bounds that are no forces of pairs, in one place: few unknowns, dense. */
static void two_pads_with_given_bounds_share_the_friction(void **state)
{
    (void)state;
    const char *text = "param m = 2, b = 3\ninput P = 8*t\nstate x = 0, y = 0, vx = 0, vy = 0\n"
                       "var f[2], k[2]\nder(x) = vx\nder(y) = vy\n"
                       "m*der(vx) = f[1] + k[1] + 0.6*P\nm*der(vy) = f[2] + k[2] + 0.8*P\n"
                       "friction(f = f, v = [vx, vy], bound = b)\n"
                       "friction(f = k, v = [vx, vy], bound = 2*b)\nsimulate to 2 step 1e-2\n";
    run r = run_model(parse_model(text), 0, 0);
    for (long i = 1; i < r.nrow; i++)
        assert_near(speed_of(&r, i, "vx", "vy"), pushed_speed(8, 9, 2, 1e-2, i), 1e-9);
    assert_true(speed_of(&r, r.nrow - 1, "vx", "vy") > 1 && r.worst <= 1e-9);
    free_run(&r);
}

/* A bound that falls below 0, where the cone's equation alone would have friction drive the block. */
static void a_bound_below_zero_has_no_solution(void **state)
{
    (void)state;
    perp_model *m = parse_model("input b = 1 - t\nstate x = 1, y = 0.5\nvar f[2]\n"
                                "der(x) = f[1]\nder(y) = f[2]\n"
                                "friction(f = f, v = [x, y], bound = b)\nsimulate to 2 step 0.1\n");
    perp_simulation_options o = perp_simulation_options_default(m);
    perp_simulation *sim;
    perp_diag diag = {0};
    assert_int_equal(perp_simulation_create(m, &o, &sim, NULL), PERP_OK);
    assert_int_equal(simulation_run(sim, NULL, NULL, &diag), PERP_ERR_NO_SOLUTION);
    assert_int_equal(simulation_summary(sim).steps, 10);
    assert_non_null(strstr(perp_diag_text(&diag), "friction(f = f, v = [x, y], bound = b)"));
    perp_diag_clear(&diag);
    perp_simulation_destroy(sim);
    perp_model_destroy(m);
}

/* Impulses under a guard (method moreau), the gap's velocity as first side, two contacts in one place: a block that slides on,
 * lands, and is stopped. */
/* No equation at all: the first row of the step is the contact's gap, 2 p = 4 - 10 t while that pushes, and the belt below moves at 3. */
static void a_contact_may_be_all_there_is(void **state)
{
    (void)state;
    run r = run_model(parse_model("var p, fx, fy\n0 <= 2*p - 4 + 10*t perp p >= 0\n"
                                  "friction(f = [fx, fy], v = [fx + 3, fy], bound = 0.5*p, "
                                  "facets = exact)\nsimulate to 1 step 0.125\n"),
                      0, 0);
    for (long k = 1; k < r.nrow; k++) {
        double p = fmax(0, 2 - 5 * at(&r, k, "t"));
        assert_near(at(&r, k, "p"), p, 1e-12);
        assert_near(at(&r, k, "fx"), -p / 2, 1e-12);
        assert_near(at(&r, k, "fy"), 0, 1e-12);
    }
    free_run(&r);
}

static void landing_on_two_contacts_with_impulses(void **state)
{
    (void)state;
    const char *text =
        "param m = 2, mu = 0.4, g = 9.81\nstate x = 0, y = 0, z = 0.2, vx = 1.2, vy = 1.6, vz = 0\n"
        "var p[2], fx[2], fy[2]\nder(x) = vx\nder(y) = vy\nder(z) = vz\n"
        "m*der(vx) = sum(fx)\nm*der(vy) = sum(fy)\nm*der(vz) = sum(p) - m*g\n"
        "for i in 1..2 {\n  0 <= p[i] perp vz + 0.5*pre(vz) >= 0 when z + h*vz <= 0\n"
        "  friction(f = [fx[i], fy[i]], v = [vx, vy], bound = mu*p[i], facets = exact) when z + "
        "h*vz <= 0\n}\n"
        "output side = 0.8*vx - 0.6*vy\n"
        "simulate { to 1\n step 1e-3\n method moreau }\n";
    run r = run_model(parse_model(text), 0, 0);
    double before = 2;
    for (long i = 1; i < r.nrow; i++) {
        double v = speed_of(&r, i, "vx", "vy");
        assert_near(at(&r, i, "side"), 0, 1e-9); /* straight */
        assert_true(v <= before + 1e-9);
        before = v;
    }
    assert_near(before, 0, 1e-9);
    free_run(&r);
}

/* The example cube, tossed at random, with exact cones: it lands on a face, where four corners say the same thing, and rests.
 * By
 * modes alone seeds 2, 3, 4, 6 and 8 ended with "no solution". */
static perp_model *cube_with(const char *facets)
{
    enum { LARGEST = 1 << 14 };
    static char text[LARGEST], changed[LARGEST + 64];
    FILE *file = fopen(PERP_SOURCE_DIR "/examples/mechanics/cube.perp", "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    char *at = strstr(text, "facets = 8)");
    assert_non_null(at);
    *at = 0;
    int n = snprintf(changed, sizeof changed, "%sfacets = %s)%s", text, facets,
                     at + strlen("facets = 8)"));
    assert_true(n > 0 && n < (int)sizeof changed);
    return parse_model(changed);
}

static double uniform(uint64_t *seed, double lo, double hi)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return lo + (hi - lo) * (double)(*seed >> 11) * 0x1p-53;
}

static void toss(perp_model *model, uint64_t seed)
{
    static const struct {
        const char *name;
        double size;
    } start[] = {{"q[1]", 1},   {"q[2]", 1},   {"q[3]", 1}, {"q[4]", 1}, {"v[1]", 1.5},
                 {"v[2]", 1.5}, {"v[3]", 0.5}, {"w[1]", 8}, {"w[2]", 8}, {"w[3]", 8}};
    for (size_t i = 0; i < sizeof start / sizeof *start; i++)
        set_value(model, start[i].name, uniform(&seed, -start[i].size, start[i].size));
}

static void tossed_cubes_come_to_rest_on_a_face(void **state)
{
    (void)state;
    static const char *const velocity[] = {"v[1]", "v[2]", "v[3]", "w[1]", "w[2]", "w[3]"};
    long problems = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        perp_model *model = cube_with("exact");
        toss(model, seed);
        run r = run_model(model, 1.6, 0);
        for (long i = 1; i < r.nrow; i++) assert_true(at(&r, i, "lowest") >= -1e-9);
        assert_near(last(&r, "p[3]"), 0.0524, 1e-8);
        for (int i = 0; i < 6; i++) assert_near(last(&r, velocity[i]), 0, 1e-8);
        assert_true(worst_error(&r) <= 1e-9);
        problems += friction_problems(&r);
        free_run(&r);
    }
    assert_true(problems > 0); /* impacts of edges and faces */
}

/* A cube that slides on a face is slowed by mu g, by each kind of friction. */
static void what_lies_on_a_face_slides(void **state)
{
    (void)state;
    static const char *const facets[] = {"exact", "4", "8"};
    for (int k = 0; k < 3; k++) {
        perp_model *model = cube_with(facets[k]);
        const double q[4] = {1, 0, 0, 0};
        char name[8];
        for (int i = 0; i < 4; i++)
            snprintf(name, sizeof name, "q[%d]", i + 1), set_value(model, name, q[i]);
        for (int i = 0; i < 3; i++)
            snprintf(name, sizeof name, "w[%d]", i + 1), set_value(model, name, 0);
        set_value(model, "p[3]", 0.0524);
        run r = run_model(model, 0.1, 0);
        assert_near(last(&r, "v[1]"), 0.6 - 0.18 * 9.81 * 0.1 * 0.6 / hypot(0.6, 0.2), 0.02);
        free_run(&r);
    }
}

/* The start of a recorded toss (13 doubles a row). 0 where the data are not there. */
static int recorded_start(int number, double *row)
{
    FILE *data = fopen(PERP_SOURCE_DIR "/../shared/data/cube-tosses/tosses.f64", "rb");
    FILE *index = fopen(PERP_SOURCE_DIR "/../shared/data/cube-tosses/index.csv", "rb");
    char line[256];
    int toss = -1, first = 0, found = 0;
    while (data && index && toss != number && fgets(line, sizeof line, index)) {
        if (sscanf(line, "%d,%d", &toss, &first) != 2) toss = -1;
    }
    if (toss == number && number >= 0)
        found = fseek(data, (long)first * 13 * (long)sizeof *row, SEEK_SET) == 0 &&
                fread(row, sizeof *row, 13, data) == 13;
    if (data) fclose(data);
    if (index) fclose(index);
    return found;
}

/* Tosses that were hard: 376 once left its rest with 1e11 m/s in a step said to be verified, 230 with 1e49, 36 and 254 need the
 * contact forces to the last digits. */
static void recorded_tosses_that_were_hard_come_to_rest(void **state)
{
    (void)state;
    static const char *const names[] = {"p[1]", "p[2]", "p[3]", "q[1]", "q[2]", "q[3]", "q[4]",
                                        "v[1]", "v[2]", "v[3]", "w[1]", "w[2]", "w[3]"};
    static const int numbers[] = {36, 230, 254, 336, 376};
    for (int k = 0; k < 5; k++) {
        double start[13];
        if (!recorded_start(numbers[k], start)) skip_because("no recorded tosses here");
        perp_model *model = cube_with("exact");
        for (int i = 0; i < 13; i++) set_value(model, names[i], start[i]);
        run r = run_model(model, 2.5, 0);
        assert_near(last(&r, "p[3]"), 0.0524, 1e-8);
        for (int i = 7; i < 13; i++) assert_near(last(&r, names[i]), 0, 1e-8);
        assert_true(worst_error(&r) <= 1e-9 && r.worst <= 1e-8);
        free_run(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_on_four_legs_sticks_slides_straight_and_stops),
        cmocka_unit_test(stack_of_boxes_moves_together_and_then_parts),
        cmocka_unit_test(two_pads_with_given_bounds_share_the_friction),
        cmocka_unit_test(a_bound_below_zero_has_no_solution),
        cmocka_unit_test(a_contact_may_be_all_there_is),
        cmocka_unit_test(landing_on_two_contacts_with_impulses),
        cmocka_unit_test(tossed_cubes_come_to_rest_on_a_face),
        cmocka_unit_test(what_lies_on_a_face_slides),
        cmocka_unit_test(recorded_tosses_that_were_hard_come_to_rest),
    };
    return run_all(tests);
}
