/* The energy balance of every mechanical example: what the masses and springs gain is what the forces do at the
 * points where they act, up to what backward Euler damps, which is known. The velocities of these points, and so the
 * signs and lever arms of every force, are worked out here and not taken from the model. */

#include "runs.h"
#include "outcomes.h"

#include <dirent.h>

/* One step of backward Euler: m v1 (v1 - v0) = (m v1^2 - m v0^2 + m (v1 - v0)^2)/2, which holds to the last digits, so
 * `gained + damped = work` does as well. */
typedef struct account {
    double gained, damped, work;
    double size; /* of the largest term */
} account;

/* The row before and the row after a step. */
typedef struct span {
    const run *r;
    long k;
    double h;
} span;

static double now(span s, const char *name)
{
    return at(s.r, s.k, name);
}

static double change(span s, const char *name)
{
    return at(s.r, s.k, name) - at(s.r, s.k - 1, name);
}

static const char *element(const char *name, int i)
{
    static char text[4][32];
    static int next;
    next = (next + 1) % 4;
    snprintf(text[next], sizeof text[next], "%s[%d]", name, i);
    return text[next];
}

static double item(span s, const char *name, int i)
{
    return now(s, element(name, i));
}

static double value_of(span s, const char *name)
{
    perp_symbol_kind kind;
    int i;
    assert_true(perp_model_find(s.r->model, name, &kind, &i));
    return perp_model_symbol(s.r->model, kind, i).value;
}

/* A store c x^2 / 2: of a mass (x its velocity) or a spring (x its extension). */
static void store(account *a, double c, double x1, double dx)
{
    a->gained += c * (x1 - dx / 2) * dx;
    a->damped += c * dx * dx / 2;
    a->size = fmax(a->size, c * x1 * x1);
}

static void mass(account *a, span s, double m, const char *v)
{
    store(a, m, now(s, v), change(s, v));
}

static void work(account *a, span s, double force, double velocity)
{
    a->work += s.h * force * velocity;
    a->size = fmax(a->size, fabs(s.h * force * velocity));
}

/* Dry friction takes energy, never gives it. */
static void friction(account *a, span s, double force, double slip)
{
    assert_true(force * slip <= 1e-9);
    work(a, s, force, slip);
}

static void chain(account *a, span s)
{
    double m = value_of(s, "m"), k = value_of(s, "k");
    int n = (int)value_of(s, "n");
    for (int i = 1; i <= n; i++) {
        mass(a, s, m, element("v", i));
        friction(a, s, item(s, "f", i), item(s, "v", i));
        if (i > 1)
            store(a, k, item(s, "x", i) - item(s, "x", i - 1),
                  change(s, element("x", i)) - change(s, element("x", i - 1)));
    }
    work(a, s, 40 * sin(3 * now(s, "t")), item(s, "v", 1));
}

static void conveyor(account *a, span s)
{
    double w = value_of(s, "w"), f = now(s, "f");
    mass(a, s, value_of(s, "m"), "v");
    store(a, value_of(s, "k"), now(s, "x"), change(s, "x"));
    friction(a, s, f, now(s, "v") - w);
    work(a, s, f, w); /* of the belt's motor */
}

static void disc(account *a, span s)
{
    double m = value_of(s, "m"), r = value_of(s, "r");
    mass(a, s, m, "v");
    mass(a, s, m * r * r / 2, "om");
    friction(a, s, now(s, "f"), now(s, "v") - r * now(s, "om"));
}

static void incline(account *a, span s)
{
    mass(a, s, value_of(s, "m"), "v");
    work(a, s, value_of(s, "m") * value_of(s, "g") * sin(value_of(s, "theta")), now(s, "v"));
    friction(a, s, now(s, "f"), now(s, "v"));
}

/* The rod's lower end is at (x - l cos th, y - l sin th); its force acts at the angle before the step. */
static void painleve(account *a, span s)
{
    double m = value_of(s, "m"), l = value_of(s, "l"), om = now(s, "om"),
           th = at(s.r, s.k - 1, "th");
    mass(a, s, m, "vx");
    mass(a, s, m, "vy");
    mass(a, s, m * l * l / 3, "om");
    work(a, s, -m * value_of(s, "g"), now(s, "vy"));
    work(a, s, now(s, "p"), now(s, "vy") - l * cos(th) * om);
    friction(a, s, now(s, "ft"), now(s, "vx") + l * sin(th) * om);
}

static void plane(account *a, span s)
{
    mass(a, s, value_of(s, "m"), "vx");
    mass(a, s, value_of(s, "m"), "vy");
    a->work += s.h * (now(s, "fx") * now(s, "vx") + now(s, "fy") * now(s, "vy"));
    assert_true(now(s, "fx") * now(s, "vx") + now(s, "fy") * now(s, "vy") <= 1e-9);
}

/* The rod's force is along it: on the slider s (x - r cos th, .), and the opposite on the pin at r (cos th, sin th), whose
 * velocity is r om (-sin th, cos th). */
static void slider_crank(account *a, span s)
{
    double r = value_of(s, "r"), x = now(s, "x"), th = now(s, "th"), om = now(s, "om");
    double rod[2] = {x - r * cos(th), -r * sin(th)};
    mass(a, s, value_of(s, "J"), "om");
    mass(a, s, value_of(s, "m"), "v");
    work(a, s, value_of(s, "torque") - value_of(s, "c") * om, om);
    friction(a, s, now(s, "f"), now(s, "v"));
    work(a, s, now(s, "s"), rod[0] * now(s, "v"));
    work(a, s, -now(s, "s"), r * om * (-rod[0] * sin(th) + rod[1] * cos(th)));
}

static void isolator(account *a, span s)
{
    double v = now(s, "v"), stops = now(s, "left") - now(s, "right");
    mass(a, s, value_of(s, "m"), "v");
    store(a, value_of(s, "k"), now(s, "x"), change(s, "x"));
    work(a, s, 15 * sin(18 * now(s, "t")) - value_of(s, "c") * v + stops, v);
}

static void square(account *a, span s)
{
    static const double side[4][2] = {{0.5, 0.5}, {-0.5, 0.5}, {-0.5, -0.5}, {0.5, -0.5}};
    double m = value_of(s, "m"), th = now(s, "th"), om = now(s, "om");
    mass(a, s, m, "vx");
    mass(a, s, m, "vy");
    mass(a, s, m / 6, "om"); /* of a square of side 1 */
    work(a, s, -m * value_of(s, "g"), now(s, "vy"));
    for (int i = 0; i < 4; i++) {
        double rx = side[i][0] * cos(th) - side[i][1] * sin(th),
               ry = side[i][0] * sin(th) + side[i][1] * cos(th);
        work(a, s, item(s, "fn", i + 1), now(s, "vy") + om * rx);
        friction(a, s, item(s, "ft", i + 1), now(s, "vx") - om * ry);
    }
}

static void stack(account *a, span s)
{
    mass(a, s, value_of(s, "m1"), "v1");
    mass(a, s, value_of(s, "m2"), "v2");
    work(a, s, 10 * now(s, "t"), now(s, "v1"));
    friction(a, s, now(s, "f1"), now(s, "v1"));
    friction(a, s, now(s, "f2"), now(s, "v2") - now(s, "v1"));
}

static void stribeck(account *a, span s)
{
    conveyor(a, s);
}

/* v' = R v with the unit quaternion of the row, by v' = v + 2 u x (u x v + w v). */
static void rotate(span s, const double *v, double *out)
{
    double q[4], c[3], size = 0;
    for (int i = 0; i < 4; i++) q[i] = item(s, "q", i + 1), size += q[i] * q[i];
    for (int i = 0; i < 4; i++) q[i] /= sqrt(size);
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        c[i] = q[1 + j] * v[k] - q[1 + k] * v[j] + q[0] * v[i];
    }
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] = v[i] + 2 * (q[1 + j] * c[k] - q[1 + k] * c[j]);
    }
}

/* The velocity of the point at `offset` in the body: v + o x r. */
static void point_velocity(span s, const double *offset, double *r, double *u)
{
    double w[3], o[3];
    for (int i = 0; i < 3; i++) w[i] = item(s, "w", i + 1);
    rotate(s, w, o);
    rotate(s, offset, r);
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        u[i] = item(s, "v", i + 1) + o[j] * r[k] - o[k] * r[j];
    }
}

/* A body with feet: its weight, and the forces at the feet. */
static void body(account *a, span s, const double *J, const double (*foot)[3], int n)
{
    double m = value_of(s, "m"), r[3], u[3];
    for (int i = 0; i < 3; i++) {
        mass(a, s, m, element("v", i + 1));
        mass(a, s, J[i], element("w", i + 1));
    }
    work(a, s, -m * value_of(s, "g"), item(s, "v", 3));
    for (int i = 0; i < n; i++) {
        point_velocity(s, foot[i], r, u);
        double fx = item(s, "fx", i + 1), fy = item(s, "fy", i + 1);
        assert_near(item(s, "p", 3) + r[2], fmax(item(s, "p", 3) + r[2], 0), 1e-8);
        assert_true(fx * u[0] + fy * u[1] <= 1e-9 * (1 + fabs(fx) + fabs(fy)));
        work(a, s, item(s, "fn", i + 1), u[2]);
        a->work += s.h * (fx * u[0] + fy * u[1]);
    }
}

static void cube(account *a, span s)
{
    double c = value_of(s, "a"), foot[8][3], J = value_of(s, "J"), inertia[3] = {J, J, J};
    for (int i = 0; i < 8; i++) {
        foot[i][0] = i & 4 ? -c : c;
        foot[i][1] = i & 2 ? -c : c;
        foot[i][2] = i & 1 ? -c : c;
    }
    body(a, s, inertia, (const double(*)[3])foot, 8);
}

static void table(account *a, span s)
{
    static const double foot[4][3] = {
        {0.6, 0.4, -0.7}, {0.6, -0.4, -0.7}, {-0.6, 0.4, -0.7}, {-0.6, -0.4, -0.7}};
    static const double J[3] = {0.9, 1.5, 2}, top[3] = {0, 0, 0.05};
    double t = now(s, "t"), push = 10 * t * (1 + (t < 2) - (t > 2)), psi = value_of(s, "psi"), r[3],
           u[3];
    body(a, s, J, foot, 4);
    point_velocity(s, top, r, u);
    work(a, s, push, u[0] * cos(psi) + u[1] * sin(psi));
}

static void falling_block(account *a, span s)
{
    mass(a, s, value_of(s, "m"), "v");
    work(a, s, now(s, "lambda") - value_of(s, "m") * value_of(s, "g"), now(s, "v"));
}

static void particle(account *a, span s)
{
    mass(a, s, value_of(s, "m"), "vx");
    mass(a, s, value_of(s, "m"), "vz");
    work(a, s, now(s, "p") - value_of(s, "m") * value_of(s, "g"), now(s, "vz"));
    friction(a, s, now(s, "lp") - now(s, "ln"), now(s, "vx"));
}

/* The balance of each step, to rounding. That the rod of the crank does no work as h -> 0 is a test of its own. */
static const struct {
    const char *file;
    void (*step)(account *, span);
    double h;
} examples[] = {
    {"mechanics/chain.perp", chain, 4e-3},
    {"mechanics/conveyor.perp", conveyor, 1e-3},
    {"mechanics/cube.perp", cube, 2e-3},
    {"mechanics/disc.perp", disc, 1e-3},
    {"mechanics/incline.perp", incline, 1e-3},
    {"mechanics/painleve.perp", painleve, 1e-4},
    {"mechanics/plane.perp", plane, 1e-3},
    {"mechanics/slider_crank.perp", slider_crank, 1e-3},
    {"mechanics/square.perp", square, 1e-3},
    {"mechanics/isolator.perp", isolator, 1e-3},
    {"mechanics/stack.perp", stack, 1e-3},
    {"mechanics/stribeck.perp", stribeck, 1e-3},
    {"mechanics/table.perp", table, 2e-3},
    {"notes/falling_block.perp", falling_block, 1e-3},
    {"notes/particle.perp", particle, 1e-3},
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

static void what_is_stored_and_damped_is_what_the_forces_do(void **state)
{
    (void)state;
    for (int e = 0; e < EXAMPLES; e++) {
        run r = run_model(load_model(examples[e].file), 0, examples[e].h);
        assert_true(r.nrow > 100);
        for (long k = 1; k < r.nrow; k++) {
            account a = {.size = 1e-3};
            examples[e].step(&a, (span){&r, k, examples[e].h});
            if (!near(a.gained + a.damped, a.work, 1e-7 * a.size))
                fail_msg("%s, step %ld: stored %g and damped %g, but the forces did %g",
                         examples[e].file, k, a.gained, a.damped, a.work);
        }
        free_run(&r);
    }
}

/* An example that is added has to bring its balance. */
static void every_mechanical_example_has_a_balance(void **state)
{
    (void)state;
    DIR *folder = opendir(PERP_SOURCE_DIR "/examples/mechanics");
    int files = 0;
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const char *end = strrchr(entry->d_name, '.');
        char name[300];
        int found = 0;
        if (!end || strcmp(end, ".perp") != 0) continue;
        snprintf(name, sizeof name, "mechanics/%s", entry->d_name);
        for (int e = 0; e < EXAMPLES; e++) found |= strcmp(examples[e].file, name) == 0;
        if (!found) fail_msg("%s has no energy balance in this file", name);
        files++;
    }
    closedir(folder);
    assert_true(files >= 12);
}

/* The closure (x - r cos th)^2 + (r sin th)^2 = l^2 has the gradient 2 (x - r cos th) in x and 2 x r sin th in th: the
 * rod's force acts on both with one sign and does no work. Without drive, damping and friction the energy stays. */
static void slider_crank_keeps_its_energy(void **state)
{
    (void)state;
    perp_model *model = load_model("mechanics/slider_crank.perp");
    double r = 0.1, th = 0.5, om = 5, x = r * cos(th) + sqrt(0.09 - pow(r * sin(th), 2));
    const char *off[] = {"mu", "c", "torque"};
    for (int k = 0; k < 3; k++) set_value(model, off[k], 0);
    set_value(model, "om", om);
    set_value(model, "v", -x * r * sin(th) * om / (x - r * cos(th)));
    perp_diag diag = {0};
    perp_simulation_options o = perp_simulation_options_default(model);
    o.integrator = PERP_THETA;
    run free_motion = {.model = model};
    assert_int_equal(perp_simulation_create(model, &o, &free_motion.sim, &diag), PERP_OK);
    free_motion.ncolumn = perp_simulation_columns(free_motion.sim);
    assert_int_equal(simulation_run(free_motion.sim, keep_row, &free_motion, &diag), PERP_OK);
    double first = 0.1 * om * om / 2 + 0.25 * pow(at(&free_motion, 0, "v"), 2);
    assert_near(first, 1.27414, 1e-5);
    for (long k = 1; k < free_motion.nrow; k++)
        assert_near(0.05 * pow(at(&free_motion, k, "om"), 2) +
                        0.25 * pow(at(&free_motion, k, "v"), 2),
                    first, 1e-6);
    assert_true(last(&free_motion, "th") > 6.3); /* through every angle */
    free_run(&free_motion);
}

/* The rod does no work as h -> 0: what it does in a run falls with h. */
static void the_rod_of_the_crank_does_no_work(void **state)
{
    (void)state;
    double before = 0, h = 2e-3;
    for (int n = 0; n < 2; n++, h /= 2) {
        run r = run_model(load_model("mechanics/slider_crank.perp"), 2, h);
        double sum = 0;
        for (long k = 1; k < r.nrow; k++) {
            double th = at(&r, k, "th"), x = at(&r, k, "x");
            sum += h * at(&r, k, "s") *
                   ((x - 0.1 * cos(th)) * at(&r, k, "v") + x * 0.1 * sin(th) * at(&r, k, "om"));
        }
        assert_true(fabs(sum) < 2 * h);
        if (n) assert_true(fabs(sum) < 0.6 * before);
        before = fabs(sum);
        free_run(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_stored_and_damped_is_what_the_forces_do),
        cmocka_unit_test(every_mechanical_example_has_a_balance),
        cmocka_unit_test(slider_crank_keeps_its_energy),
        cmocka_unit_test(the_rod_of_the_crank_does_no_work),
    };
    return run_all(tests);
}
