/* The mechanical examples and the bridge, by closed forms. */

#include "runs.h"
#include "outcomes.h"

static double parameter(const run *r, const char *name)
{
    perp_symbol_kind kind;
    int i;
    assert_true(perp_model_find(r->model, name, &kind, &i));
    return perp_model_symbol(r->model, kind, i).value;
}

static run run_with(const char *example, const char *name, double value, double to, double step)
{
    perp_model *model = load_model(example);
    if (name) set_value(model, name, value);
    return run_model(model, to, step);
}

static void incline_sticks_exactly_when_mu_is_at_least_tan_theta(void **state)
{
    (void)state;
    for (int k = -3; k <= 3; k++) {
        perp_model *model = load_model("mechanics/incline.perp");
        double theta = 0.4, mu = tan(theta) + 1e-6 * k;
        set_value(model, "theta", theta);
        set_value(model, "mu", mu);
        run r = run_model(model, 1, 1e-2);
        double exact = mu >= tan(theta) ? 0 : 9.81 * (sin(theta) - mu * cos(theta));
        assert_near(last(&r, "v"), exact, 1e-13);
        if (k > 0) assert_true(last(&r, "v") == 0 && last(&r, "s") == 0);
        free_run(&r);
    }
}

/* Slip is a harmonic about mu fn / k of amplitude w sqrt(m/k), which touches the belt's speed at
 * its top. */
static void conveyor_slips_in_a_harmonic_that_grazes_the_belt(void **state)
{
    (void)state;
    double before = 0;
    for (double h = 1e-3; h > 2e-4; h /= 2) {
        run r = run_with("mechanics/conveyor.perp", NULL, 0, 1.5, h);
        double w = parameter(&r, "w"),
               amplitude = w * sqrt(parameter(&r, "m") / parameter(&r, "k"));
        double centre = parameter(&r, "mu") * parameter(&r, "fn") / parameter(&r, "k"),
               highest = -1, first_slip = -1;
        for (long i = 1; i < r.nrow; i++) {
            if (first_slip < 0 && at(&r, i, "v") < w - 1e-9 && at(&r, i, "t") > 0.1)
                first_slip = at(&r, i, "t");
            if (first_slip > 0) highest = fmax(highest, at(&r, i, "x"));
        }
        double error = fabs(highest - (centre + amplitude));
        assert_true(error < 3 * h * w);
        if (before > 0) assert_true(error < 0.7 * before);
        before = error;
        double top = -1; /* the velocity one period on: just below the belt's */
        for (long i = 1; i < r.nrow; i++) {
            if (at(&r, i, "t") > first_slip + 0.5) top = fmax(top, at(&r, i, "v"));
        }
        assert_true(top <= w && top > w * (1 - 10 * h * 10));
        free_run(&r);
    }
}

static void stribeck_friction_gives_a_stick_slip_cycle_that_sticks_to_the_belt(void **state)
{
    (void)state;
    run r = run_with("mechanics/stribeck.perp", NULL, 0, 5, 0);
    int sticks = 0, phases = 0;
    for (long i = 1; i < r.nrow; i++) {
        double slower = exp(-fabs(at(&r, i, "slip")) / parameter(&r, "v_s")),
               mu =
                   parameter(&r, "mu_k") + (parameter(&r, "mu_s") - parameter(&r, "mu_k")) * slower;
        int stick = fabs(at(&r, i, "f")) < parameter(&r, "fn") * mu - 1e-9; /* below its bound */
        if (stick) assert_near(at(&r, i, "v"), parameter(&r, "w"), 1e-12);
        if (stick && i > 1 && fabs(at(&r, i - 1, "slip")) > 1e-9) phases++;
        sticks += stick;
    }
    assert_true(phases >= 5); /* again and again */
    assert_true(sticks > r.nrow / 4 && sticks < 3 * r.nrow / 4);
    assert_true(r.worst <= 1e-9);
    free_run(&r);
}

static void square_lands_tips_and_rests_without_penetration(void **state)
{
    (void)state;
    run r = run_with("mechanics/square.perp", NULL, 0, 0, 0);
    double turned = 0;
    for (long i = 1; i < r.nrow; i++) {
        assert_true(at(&r, i, "lowest") >= -1e-9);
        if (i > 1) assert_true(at(&r, i, "energy") <= at(&r, i - 1, "energy") + 1e-9);
        turned = fmax(turned, at(&r, i, "th"));
    }
    assert_near(last(&r, "y"), 0.5, 1e-9);
    assert_near(last(&r, "vx"), 0, 1e-9);
    assert_near(last(&r, "om"), 0, 1e-9);
    assert_near(last(&r, "fn[3]") + last(&r, "fn[4]") + last(&r, "fn[1]") + last(&r, "fn[2]"), 9.81,
                1e-6);
    assert_true(turned >= 0.3);
    free_run(&r);
}

/* Side deviation at the end of a path at 22.5 degrees. */
static double deviation(const char *facets, double *along)
{
    char *text, path[1024];
    snprintf(path, sizeof path, "%s/examples/mechanics/plane.perp", PERP_SOURCE_DIR);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char source[4096] = {0}, changed[8400];
    assert_true(fread(source, 1, sizeof source - 1, file) > 100);
    fclose(file);
    text = strstr(source, "facets = exact");
    assert_non_null(text);
    *text = 0;
    snprintf(changed, sizeof changed, "%sfacets = %s%s", source, facets,
             text + strlen("facets = exact"));
    run r = run_model(parse_model(changed), 1.2, 1e-3);
    double d = fabs(last(&r, "aside"));
    *along = last(&r, "along");
    assert_true(r.worst <= 1e-9);
    free_run(&r);
    return d;
}

static void friction_in_the_plane_goes_straight_with_the_exact_cone(void **state)
{
    (void)state;
    double along, exact_stop = 2.3 * 2.3 / (2 * 0.3 * 9.81);
    double four = deviation("4", &along), five = deviation("5", &along),
           nine = deviation("9", &along), seventeen = deviation("17", &along);
    assert_true(four > 0.15);
    assert_true(five < four && nine < five && seventeen < nine);
    assert_near(deviation("exact", &along), 0, 1e-12);
    assert_near(along, exact_stop, 2.3 * 1e-3); /* O(h): v0 h / 2 */
}

static void disc_rolls_at_two_thirds_of_its_speed(void **state)
{
    (void)state;
    for (double mu = 0.1; mu < 1; mu += 0.2) {
        run r = run_with("mechanics/disc.perp", "mu", mu, 2, 0);
        assert_near(last(&r, "v"), 2, 1e-12);
        assert_near(last(&r, "slip"), 0, 1e-12);
        for (long i = 1; i < r.nrow; i++) { /* rolling starts at v0 / (3 mu g) */
            double t = at(&r, i, "t"), transition = 3 / (3 * mu * 9.81);
            if (t < transition - 2e-3) assert_true(at(&r, i, "slip") > 0);
            if (t > transition + 2e-3) assert_near(at(&r, i, "slip"), 0, 1e-12);
        }
        free_run(&r);
    }
}

static void stacked_blocks_stick_slide_and_part_at_the_right_forces(void **state)
{
    (void)state;
    run r = run_with("mechanics/stack.perp", NULL, 0, 0, 0);
    double g = 9.81, slide = 0.2 * 3 * g / 10,
           part = (0.2 * 3 * g + 0.4 * g * 3) / 10; /* times: F = 10 t */
    for (long i = 1; i < r.nrow; i++) {
        double t = at(&r, i, "t"), v1 = at(&r, i, "v1"), v2 = at(&r, i, "v2");
        if (t < slide - 1e-3) assert_true(v1 == 0 && v2 == 0);
        if (t > slide + 2e-3 && t < part - 1e-3) assert_true(v1 > 0 && near(v2, v1, 1e-13));
        if (t > part + 2e-3) assert_true(v2 < v1 - 1e-6);
    }
    free_run(&r);
}

static void slider_crank_keeps_its_loop_closed_and_turns(void **state)
{
    (void)state;
    run r = run_with("mechanics/slider_crank.perp", NULL, 0, 2.5, 0);
    for (long i = 1; i < r.nrow; i++) assert_near(at(&r, i, "closure"), 0, 1e-9);
    assert_true(last(&r, "th") > 6.3);
    for (long i = 1; i < r.nrow; i++) {
        double v = at(&r, i, "v"), f = at(&r, i, "f");
        if (v > 1e-6) assert_near(f, -1.5, 1e-9);
        if (v < -1e-6) assert_near(f, 1.5, 1e-9);
    }
    free_run(&r);
}

static void diode_bridge_rectifies(void **state)
{
    (void)state;
    run r = run_with("circuits/diode_bridge.perp", NULL, 0, 0, 0);
    double lowest = 1e9, highest = 0;
    for (long i = 1; i < r.nrow; i++) {
        double u = at(&r, i, "u");
        for (int d = 1; d <= 4; d++) {
            char name[8];
            snprintf(name, sizeof name, "i%d", d);
            assert_true(at(&r, i, name) >= -1e-9);
        }
        if (at(&r, i, "t") < 0.05) continue;
        lowest = fmin(lowest, u), highest = fmax(highest, u);
    }
    assert_true(highest < 10 && highest > 9.5);
    /* between peaks the capacitor alone feeds the load, for less than half a period */
    assert_true(lowest > highest * exp(-0.01 / (100 * 1e-3)) && lowest < highest);
    free_run(&r);
}

/* Painleve: for vx < 0, G(mu) = 1/m + l^2 cos (cos - mu sin) / J; below the critical mu the force
 * is bounded, above it only an impulse (a tangential impact) solves the step, and perp's answer
 * says which: the force grows like 1/h. */
static void painleve_rod_takes_a_bounded_force_or_an_impulse(void **state)
{
    (void)state;
    double critical = (1.0 / 3 + cos(1) * cos(1)) / (cos(1) * sin(1));
    for (int above = 0; above < 2; above++) {
        double p[2];
        for (int k = 0; k < 2; k++) {
            run r = run_with("mechanics/painleve.perp", "mu", critical + (above ? 0.1 : -0.1), 1e-3,
                             k ? 1e-5 : 1e-4);
            p[k] = at(&r, 1, "p");
            assert_true(p[k] > 0);
            free_run(&r);
        }
        if (above)
            assert_near(p[1] / p[0], 10, 0.1); /* an impulse over one step */
        else
            assert_near(p[1] / p[0], 1, 0.01);
    }
}

static void cube_toss_comes_to_rest_on_a_face(void **state)
{
    (void)state;
    run r = run_with("mechanics/cube.perp", NULL, 0, 0, 0);
    assert_near(last(&r, "p[3]"), 0.0524, 1e-9);
    for (long i = 1; i < r.nrow; i++) assert_true(at(&r, i, "lowest") >= -1e-9);
    const char *velocities[] = {"v[1]", "v[2]", "v[3]", "w[1]", "w[2]", "w[3]"};
    for (int k = 0; k < 6; k++) assert_near(last(&r, velocities[k]), 0, 1e-9);
    free_run(&r);
}

/* Recorded tosses (13 doubles a row: position, quaternion, velocity, angular velocity in the body)
 * start the model; where the data are there. The cube must come to rest on the floor as the
 * recorded one does. */
static void recorded_tosses_start_the_cube(void **state)
{
    (void)state;
    FILE *data = fopen(PERP_SOURCE_DIR "/../shared/data/cube-tosses/tosses.f64", "rb");
    FILE *index = fopen(PERP_SOURCE_DIR "/../shared/data/cube-tosses/index.csv", "rb");
    if (!data || !index) {
        if (data) fclose(data);
        if (index) fclose(index);
        skip_because("no recorded tosses here");
    }
    static const char *const names[] = {"p[1]", "p[2]", "p[3]", "q[1]", "q[2]", "q[3]", "q[4]",
                                        "v[1]", "v[2]", "v[3]", "w[1]", "w[2]", "w[3]"};
    char line[256];
    int toss, first, used = 0;
    assert_non_null(fgets(line, sizeof line, index));
    while (used < 5 && fgets(line, sizeof line, index) &&
           sscanf(line, "%d,%d", &toss, &first) == 2) {
        double row[13];
        if (toss % 80 != 0) continue;
        assert_int_equal(fseek(data, (long)first * (long)sizeof row, SEEK_SET), 0);
        assert_int_equal(fread(row, sizeof *row, 13, data), 13);
        perp_model *model = load_model("mechanics/cube.perp");
        for (int k = 0; k < 13; k++) set_value(model, names[k], row[k]);
        run r = run_model(model, 2, 0);
        for (long i = 1; i < r.nrow; i++) assert_true(at(&r, i, "lowest") >= -1e-8);
        assert_near(last(&r, "p[3]"), 0.0524, 1e-6);
        for (int k = 7; k < 13; k++) assert_near(last(&r, names[k]), 0, 1e-6);
        free_run(&r);
        used++;
    }
    assert_true(used >= 3);
    fclose(data);
    fclose(index);
}

/* Many friction pairs take the sparse path; every block obeys Coulomb's law, and energy only falls
 * without the force. */
static void chain_of_blocks_obeys_coulomb_at_every_block(void **state)
{
    (void)state;
    perp_model *model = load_model("mechanics/chain.perp");
    set_value(model, "F", 0);
    for (int i = 1; i <= 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "ripple[%d]", i);
        set_value(model, name, sin(0.7 * i));
    }
    run r = run_model(model, 0.4, 1e-3);
    int cx = column_of(&r, "x[1]"), cv = column_of(&r, "v[1]"), cf = column_of(&r, "f[1]"),
        stuck = 0, slipping = 0;
    double before = 1e300;
    assert_true(r.worst <= 1e-9);
    for (long k = 1; k < r.nrow; k++) {
        const double *row = r.value + k * r.ncolumn;
        double energy = 0;
        for (int i = 0; i < 100; i++) {
            double v = row[cv + i], f = row[cf + i], bound = 0.3 * 9.81;
            assert_true(fabs(f) <= bound * (1 + 1e-12));
            if (v > 1e-9) assert_near(f, -bound, 1e-9);
            if (v < -1e-9) assert_near(f, bound, 1e-9);
            stuck += v == 0;
            slipping += fabs(v) > 1e-9;
            energy += v * v / 2 + (i ? 500 * pow(row[cx + i] - row[cx + i - 1], 2) : 0);
        }
        assert_true(energy <= before * (1 + 1e-12));
        before = energy;
    }
    assert_true(stuck > 1000 && slipping > 1000);
    free_run(&r);
}

/* 200 contacts in space with 8 facets each: 3600 unknowns, none of which the dense path could take. */
static void two_hundred_contacts_land_and_slide(void **state)
{
    (void)state;
    const char *text =
        "param n = 200, mu = 0.2, g = 9.81\n"
        "state x[n] = 0, y[n] = 0, z[n] = 0.01, vx[n] = 1, vy[n] = 0.5, vz[n] = 0\n"
        "var fx[n], fy[n], fn[n]\n"
        "der(x) = vx\nder(y) = vy\nder(z) = vz\nder(vx) = fx\nder(vy) = fy\nder(vz) = fn - g\n"
        "for i in 1..n {\n"
        "  0 <= fn[i] perp z[i] >= 0\n"
        "  friction(f = [fx[i], fy[i]], v = [vx[i], vy[i]], bound = mu*fn[i], facets = 8)\n"
        "}\nsimulate to 0.8 step 2e-3\n";
    run r = run_model(parse_model(text), 0, 0);
    int cz = column_of(&r, "z[1]"), cx = column_of(&r, "vx[1]"), cf = column_of(&r, "fn[1]");
    assert_true(r.worst <= 1e-9);
    for (long k = 1; k < r.nrow; k++) {
        for (int i = 0; i < 200; i += 37) {
            const double *row = r.value + k * r.ncolumn;
            assert_true(row[cz + i] >= -1e-12 && row[cf + i] >= 0);
            assert_true(row[cx + i] <= row[cx + i - r.ncolumn] + 1e-12); /* it only slows down */
        }
    }
    assert_true(last(&r, "vx[200]") == 0 && last(&r, "vy[200]") == 0); /* and stops */
    free_run(&r);
}

/* A mass matrix that depends on the state: the pendulum on a cart keeps its energy under the midpoint rule. */
static void state_dependent_mass_keeps_the_energy(void **state)
{
    (void)state;
    const char *text =
        "param M = 2, m = 1, l = 0.5, g = 9.81\nstate x = 0, th = 2, v = 0, w = 0\n"
        "der(x) = v\nder(th) = w\n(M + m)*der(v) + m*l*cos(th)*der(w) = m*l*sin(th)*w^2\n"
        "cos(th)*der(v) + l*der(w) = -g*sin(th)\n"
        "output E = (M + m)*v^2/2 + m*l*cos(th)*v*w + m*l^2*w^2/2 - m*g*l*cos(th)\n"
        "simulate { to 2\n step 1e-3\n method theta }\n";
    run r = run_model(parse_model(text), 0, 0);
    double lowest = 1e9, highest = -1e9;
    for (long k = 1; k < r.nrow; k++)
        lowest = fmin(lowest, at(&r, k, "E")), highest = fmax(highest, at(&r, k, "E"));
    assert_true(highest - lowest < 1e-4);
    assert_near(highest, -9.81 * 0.5 * cos(2), 1e-4);
    free_run(&r);
}

/* Bouncing balls ----------------------------------------------------------------------------------
 */

static const char ball[] =
    "param m = 2, g = 9.81, e = %g\nstate z = 1, v = 0\nvar p\nder(z) = v\nm*der(v) = p - m*g\n"
    "0 <= p perp v + e*pre(v) >= 0 when z + h*v <= 0\noutput E = m*v^2/2 + m*g*z\n"
    "simulate { to %g\n step %g\n method moreau }\n";

static run bounce(double e, double to, double h)
{
    char text[1024];
    snprintf(text, sizeof text, ball, e, to, h);
    return run_model(parse_model(text), 0, 0);
}

static void moreau_bounces_to_the_right_heights(void **state)
{
    (void)state;
    for (double h = 4e-3; h > 4e-4; h /= 2) {
        for (double e = 0; e <= 1; e += 0.5) {
            run r = bounce(e, 1.3, h);
            double top = 0, t1 = sqrt(2 / 9.81); /* of the first flight after the impact */
            for (long i = 1; i < r.nrow; i++) {
                if (at(&r, i, "t") > t1 + h && at(&r, i, "t") < t1 * (1 + 2 * e) - 2 * h)
                    top = fmax(top, at(&r, i, "z"));
            }
            assert_near(top, e * e, 5 * h);
            double impulse =
                0; /* the force is newtons, and its impulse (1 + e) m v, whatever h is */
            for (long i = 1; i < r.nrow && impulse == 0; i++) impulse = h * at(&r, i, "p");
            assert_near(impulse, (1 + e) * 2 * sqrt(2 * 9.81), 2 * 9.81 * 2 * h * 2);
            free_run(&r);
        }
    }
}

static void moreau_gains_no_energy_over_1e5_steps(void **state)
{
    (void)state;
    for (double e = 0; e <= 1; e += 0.5) {
        perp_diag diag = {0};
        char text[1024];
        double row[8];
        snprintf(text, sizeof text, ball, e, 1000.0, 1e-2);
        perp_model *model = parse_model(text);
        perp_simulation *sim;
        assert_int_equal(perp_simulation_create(model, NULL, &sim, &diag), PERP_OK);
        double highest = 2 * 9.81;
        for (long k = 0; k < 100000; k++) {
            assert_int_equal(simulation_step(sim, NULL, &diag), PERP_OK);
            perp_simulation_row(sim, row);
            assert_true(row[4] <= highest * (1 + 1e-11));
            if (e < 1) highest = fmax(row[4], highest * (1 - 1e-12)); /* never above what it was */
        }
        if (e == 1) assert_near(row[4], 2 * 9.81, 1e-9);
        perp_simulation_destroy(sim);
        perp_model_destroy(model);
    }
}

/* Run by a method, from the text of an example or a model. */
static run run_by(perp_model *model, perp_integrator integrator)
{
    perp_diag diag = {0};
    run r = {.model = model};
    perp_simulation_options o = perp_simulation_options_default(model);
    o.integrator = integrator;
    if (perp_simulation_create(model, &o, &r.sim, &diag) != PERP_OK ||
        (r.ncolumn = perp_simulation_columns(r.sim),
         simulation_run(r.sim, keep_row, &r, &diag) != PERP_OK))
        fail_msg("%s", perp_diag_text(&diag));
    return r;
}

/* Nothing says that the ball bounces: it does not, wherever in the step it lands; a guard that is on changes nothing. */
static void a_dead_contact_does_not_rebound(void **state)
{
    (void)state;
    static const char *const guards[] = {"", " when t >= 0"}, *const gaps[] = {"z", "gap"};
    for (int k = 0; k < 80; k++) {
        char text[512];
        double h = 1e-3;
        snprintf(text, sizeof text,
                 "param m = 2, g = 9.81\nstate z = %.17g, v = 0\nvar p, gap\nder(z) = v\n"
                 "m*der(v) = p - m*g\ngap = z\n0 <= p perp %s >= 0%s\n"
                 "output E = m*v^2/2 + m*g*z\nsimulate to 0.6 step %g\n",
                 1 + 3.7e-4 * (k / 4), gaps[k % 2], guards[k / 2 % 2], h);
        run r = run_by(parse_model(text), k % 3 ? PERP_THETA : PERP_MOREAU);
        double momentum = 0;
        for (long i = 1; i < r.nrow; i++) {
            assert_true(at(&r, i, "v") <= 0);
            assert_true(at(&r, i, "E") <= at(&r, i - 1, "E") + 1e-12);
            momentum += h * (at(&r, i, "p") - 2 * 9.81);
            assert_near(momentum, 2 * at(&r, i, "v"), 1e-9);
        }
        assert_true(last(&r, "z") == 0 && last(&r, "v") == 0);
        assert_near(last(&r, "p"), 2 * 9.81, 1e-9);
        free_run(&r);
    }
}

/* What the square gains in all steps in which its energy grows, tossed in the k-th way. */
static double gain_of_toss(int k, perp_integrator integrator)
{
    perp_model *model = load_model("mechanics/square.perp");
    double gain = 0;
    set_value(model, "th", 0.1 + 0.13 * k);
    set_value(model, "y", 1.2 + 0.07 * k);
    set_value(model, "om", 3 - 0.6 * k);
    run r = run_by(model, integrator);
    for (long i = 1; i < r.nrow; i++) {
        assert_true(at(&r, i, "lowest") >= -1e-9);
        gain += fmax(at(&r, i, "energy") - at(&r, i - 1, "energy"), 0);
    }
    assert_near(last(&r, "om"), 0, 1e-9);
    free_run(&r);
    return gain;
}

/* A corner that turns about the floor gains a little, of second order in h, with backward Euler too; impacts gain nothing. */
static void tosses_gain_no_more_with_theta_than_with_backward_euler(void **state)
{
    (void)state;
    for (int k = 0; k < 12; k++) {
        double theta = gain_of_toss(k, k % 2 ? PERP_THETA : PERP_MOREAU),
               euler = gain_of_toss(k, PERP_BACKWARD_EULER);
        if (!(theta <= 1.1 * euler + 1e-4) || theta > 2e-3)
            fail_msg("toss %d gains %g J, with backward Euler %g", k, theta, euler);
    }
}

/* Along the floor theta is 1/2 also in contact: the spring keeps its energy to rounding, and backward Euler does not. */
static void a_spring_on_the_floor_keeps_its_energy_with_theta(void **state)
{
    (void)state;
    const char *text =
        "param m = 1, k = 100, g = 9.81\nstate x = 0.1, z = 0, vx = 0, vz = 0\nvar p\n"
        "der(x) = vx\nder(z) = vz\nm*der(vx) = -k*x\nm*der(vz) = p - m*g\n"
        "0 <= p perp z >= 0\noutput E = m*vx^2/2 + k*x^2/2\nsimulate to 5 step 1e-2\n";
    run r = run_by(parse_model(text), PERP_THETA);
    assert_near(last(&r, "E"), 0.5, 1e-11);
    assert_near(last(&r, "p"), 9.81, 1e-9);
    free_run(&r);
}

static void theta_one_half_is_second_order_and_one_is_first(void **state)
{
    (void)state;
    const char *text = "state x = 1, v = 0\nder(x) = v\nder(v) = -4*sin(x)\nsimulate { to 1\n step "
                       "%g\n method theta }\n";
    for (int half = 0; half < 2; half++) {
        double error[3], reference = 0;
        for (int k = 0; k < 4; k++) {
            char source[256];
            perp_diag diag = {0};
            snprintf(source, sizeof source, text, k == 3 ? 1e-5 : 0.01 / (1 << k));
            perp_model *model = parse_model(source);
            perp_simulation_options o = perp_simulation_options_default(model);
            o.theta = half || k == 3 ? 0.5 : 1;
            perp_simulation *sim;
            double row[4];
            assert_int_equal(perp_simulation_create(model, &o, &sim, &diag), PERP_OK);
            assert_int_equal(simulation_run(sim, NULL, NULL, &diag), PERP_OK);
            perp_simulation_row(sim, row);
            if (k == 3)
                reference = row[1];
            else
                error[k] = row[1];
            perp_simulation_destroy(sim);
            perp_model_destroy(model);
        }
        double ratio = (error[0] - reference) / (error[1] - reference);
        assert_near(ratio, half ? 4 : 2, half ? 0.05 : 0.05);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(incline_sticks_exactly_when_mu_is_at_least_tan_theta),
        cmocka_unit_test(conveyor_slips_in_a_harmonic_that_grazes_the_belt),
        cmocka_unit_test(stribeck_friction_gives_a_stick_slip_cycle_that_sticks_to_the_belt),
        cmocka_unit_test(square_lands_tips_and_rests_without_penetration),
        cmocka_unit_test(friction_in_the_plane_goes_straight_with_the_exact_cone),
        cmocka_unit_test(disc_rolls_at_two_thirds_of_its_speed),
        cmocka_unit_test(stacked_blocks_stick_slide_and_part_at_the_right_forces),
        cmocka_unit_test(slider_crank_keeps_its_loop_closed_and_turns),
        cmocka_unit_test(diode_bridge_rectifies),
        cmocka_unit_test(painleve_rod_takes_a_bounded_force_or_an_impulse),
        cmocka_unit_test(cube_toss_comes_to_rest_on_a_face),
        cmocka_unit_test(recorded_tosses_start_the_cube),
        cmocka_unit_test(chain_of_blocks_obeys_coulomb_at_every_block),
        cmocka_unit_test(two_hundred_contacts_land_and_slide),
        cmocka_unit_test(state_dependent_mass_keeps_the_energy),
        cmocka_unit_test(moreau_bounces_to_the_right_heights),
        cmocka_unit_test(moreau_gains_no_energy_over_1e5_steps),
        cmocka_unit_test(a_dead_contact_does_not_rebound),
        cmocka_unit_test(tosses_gain_no_more_with_theta_than_with_backward_euler),
        cmocka_unit_test(a_spring_on_the_floor_keeps_its_energy_with_theta),
        cmocka_unit_test(theta_one_half_is_second_order_and_one_is_first),
    };
    return run_all(tests);
}
