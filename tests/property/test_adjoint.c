/* Derivatives of stretches of runs: forward against differences, backward against forward. */

#include "runs.h"
#include "outcomes.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

enum { MOST = 512 };

typedef struct course {
    const char *name, *text;
    long before, steps; /* before: taken with no derivatives */
    perp_integrator by;
    double d; /* of differences; 0: the run is too long for them */
} course;

#define BLOCK                                                                                      \
    "param m = 1.3, mu = 0.37\ninput u = sin(t)\nstate x = 0, v = 1\nvar f\nder(x) = v\n"          \
    "m*der(v) = u + f\n-mu*m*9.81 <= f <= mu*m*9.81 perp v\noutput power = f*v + u\n"              \
    "simulate to 1e9 step 0.01\n"

#define CART                                                                                       \
    "param M = 1, m = 0.3, l = 0.5\ninput F, G = 0.1*t\nstate x = 0, v = 0.1, a = 0.3, w = 0\n"    \
    "var f, n\nder(x) = v\nder(a) = w\n(M + m)*der(v) + m*l*(der(w)*cos(a) - w^2*sin(a)) = F + "   \
    "f\n"                                                                                          \
    "l*der(w) + der(v)*cos(a) = 9.81*sin(a) + G - n\n-0.4 <= f <= 0.4 perp v\n"                    \
    "0 <= n perp 0.6 - sin(a) >= 0\noutput tip = x + l*sin(a)\nsimulate to 1e9 step 0.01\n"

static const course courses[] = {
    {"block", BLOCK, 3, 120, PERP_BACKWARD_EULER, 1e-6},
    {"block by theta", BLOCK, 0, 120, PERP_THETA, 1e-6},
    {"cart and pendulum, not affine", CART, 2, 60, PERP_BACKWARD_EULER, 1e-6},
    {"plane friction, exact cone",
     "param mu = 0.3, m = 2\ninput a, b\nstate x = 0, y = 0, vx = 1, vy = 0.4\nvar fx, fy\n"
     "der(x) = vx\nder(y) = vy\nm*der(vx) = fx + a\nm*der(vy) = fy + b\n"
     "friction(f = [fx, fy], v = [vx, vy], bound = mu*m*9.81, facets = exact)\n"
     "simulate to 1e9 step 0.01\n",
     0, 40, PERP_BACKWARD_EULER, 1e-6},
    {"thirty masses in a row, sparse",
     "param k = 50, mu = 0.2\ninput F, G\nstate x[30] = 0, v[30] = 0.3\nvar f[30]\n"
     "for i in 1..30 {\nder(x[i]) = v[i]\n-mu <= f[i] <= mu perp v[i]\n}\n"
     "der(v[1]) = F + f[1] + k*(x[2] - x[1])\n"
     "for i in 2..29 {\nder(v[i]) = f[i] + k*(x[i + 1] - 2*x[i] + x[i - 1])\n}\n"
     "der(v[30]) = G + f[30] - k*(x[30] - x[29])\nsimulate to 1e9 step 0.01\n",
     1, 50, PERP_BACKWARD_EULER, 1e-6},
    {"ball, discrete",
     "param e = 0.7, g = 9.81\ninput a\nstate x = 0.3, v = 0\nvar p\nnext(x) = x + h*next(v)\n"
     "next(v) = v - h*(g - a) + p\n0 <= p perp next(v) + e*v >= 0 when x <= 0\n"
     "simulate to 1e9 step 0.005\n",
     0, 200, PERP_BACKWARD_EULER, 1e-7},
    {"block, so long that its parts are run again", BLOCK, 0, 150000, PERP_BACKWARD_EULER, 0},
    {"block through events", BLOCK, 3, 120, PERP_RADAU5, 1e-5},
    {"cart and pendulum with a stop, through events", CART, 2, 60, PERP_RADAU5, 1e-5},
    {"ball that slides while it bounces, pushed",
     "param g = 9.81, mu = 0.1, e = 0.7\ninput F, G\nstate z = 0.3, v = 0, x = 0, u = 10\nvar p, "
     "f\n"
     "der(z) = v\nder(v) = p - g + 0.3*F\nder(x) = u\nder(u) = f + G\n"
     "0 <= p perp v + e*pre(v) >= 0 when z <= 0\n-mu*p <= f <= mu*p perp u\noutput E = v^2/2 + "
     "g*z\n"
     "simulate to 1e9 step 0.01\n",
     2, 60, PERP_RADAU5, 1e-5},
    {"two elastic balls, one step ends at the impact",
     "param r = 0.1, k = 1\ninput F\nstate a = 0, b = 0.52, va = 1, vb = 0\nvar p\nder(a) = va\n"
     "der(b) = vb\nder(va) = -p + 0*F\nder(vb) = k*p\n"
     "0 <= p perp vb - va + pre(vb - va) >= 0 when b - a - 2*r <= 0\nsimulate to 1e9 step 0.01\n",
     0, 60, PERP_RADAU5, 0},
    {"masses on a belt through events, sparse",
     "param k = 50, mu = 0.2\ninput F, G\nstate x[8] = 0, v[8] = 0.3\nvar f[8]\n"
     "for i in 1..8 {\nder(x[i]) = v[i]\n-mu <= f[i] <= mu perp v[i]\n}\n"
     "der(v[1]) = F + f[1] + k*(x[2] - x[1])\n"
     "for i in 2..7 {\nder(v[i]) = f[i] + k*(x[i + 1] - 2*x[i] + x[i - 1])\n}\n"
     "der(v[8]) = G + f[8] - k*(x[8] - x[7])\nsimulate to 1e9 step 0.01\n",
     1, 50, PERP_RADAU5, 1e-5},
    {"block with vars that are assigned, through events",
     "param mu = 0.37\ninput u = sin(t)\nstate x = 0, v = 1\nvar f, e[9], s\nder(x) = v\n"
     "der(v) = u + f - 0.1*s\nfor i in 1..9 { e[i] = sin(i*x) }\ns = e[3]*e[2]\n"
     "-mu <= f <= mu perp v\nsimulate to 1e9 step 0.01\n",
     1, 50, PERP_RADAU5, 1e-5},
    {"block through events, parts are run again", BLOCK, 0, 30000, PERP_RADAU5, 0},
};

static double draw(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 23) - 1;
}

/* A place to differentiate at, a direction, and weights. */
typedef struct place {
    perp_model *model;
    const course *of;
    int nx, nu, np, ncolumn;
    int input[4], parameter[4];
    double *value, *dvalue, dstate[MOST], dparameter[4];
    perp_run_stretch stretch;
} place;

/* Moved by h along the direction, and begun: `before` steps are behind it. */
static perp_simulation *begin(const place *p, double h)
{
    perp_simulation_options o = perp_simulation_options_default(p->model);
    perp_simulation *sim;
    perp_diag diag = {0};
    o.integrator = p->of->by, o.ninput = o.nparameter = PERP_ALL;
    if (perp_simulation_create(p->model, &o, &sim, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    for (long k = 0; k < p->of->before; k++) {
        for (int i = 0; i < p->nu; i++) perp_simulation_set_input(sim, p->input[i], 0.2);
        assert_int_equal(simulation_step(sim, NULL, NULL), PERP_OK);
    }
    for (int i = 0; i < p->nx && h != 0; i++)
        perp_simulation_set_state(sim, i, perp_simulation_state(sim, i) + h * p->dstate[i]);
    for (int i = 0; i < p->np && h != 0; i++)
        perp_simulation_set_parameter(sim, p->parameter[i],
                                      perp_simulation_parameter(sim, p->parameter[i]) +
                                          h * p->dparameter[i]);
    return sim;
}

static void make_place(place *p, const course *of)
{
    unsigned seed = 7;
    *p = (place){.of = of, .model = parse_model(of->text)};
    p->nx = perp_model_count(p->model, PERP_STATE), p->nu = perp_model_count(p->model, PERP_INPUT),
    p->np = perp_model_count(p->model, PERP_PARAM);
    assert_true(p->nx <= MOST && p->nu <= 4 && p->np <= 4);
    size_t values = (size_t)of->steps * (size_t)p->nu;
    p->value = malloc(2 * values * sizeof *p->value), p->dvalue = p->value + values;
    for (size_t k = 0; k < values; k++) p->value[k] = 4 * draw(&seed), p->dvalue[k] = draw(&seed);
    for (int i = 0; i < p->nx; i++) p->dstate[i] = draw(&seed);
    for (int i = 0; i < p->np; i++) p->dparameter[i] = 0.3 * draw(&seed), p->parameter[i] = i;
    for (int i = 0; i < p->nu; i++) p->input[i] = i;
    p->stretch = (perp_run_stretch){.size = sizeof p->stretch,
                                    .steps = of->steps,
                                    .ninput = p->nu,
                                    .input = p->input,
                                    .value = p->value,
                                    .nparameter = p->np,
                                    .parameter = p->parameter,
                                    .every_row = of->d > 0};
}

static double *rows_at(const place *p, double h)
{
    perp_simulation *sim = begin(p, h);
    int n = perp_simulation_columns(sim);
    double *row = malloc((size_t)p->of->steps * (size_t)n * sizeof *row);
    for (long k = 0; k < p->of->steps; k++) {
        for (int i = 0; i < p->nu; i++)
            perp_simulation_set_input(sim, i,
                                      p->value[k * p->nu + i] + h * p->dvalue[k * p->nu + i]);
        assert_int_equal(simulation_step(sim, NULL, NULL), PERP_OK);
        perp_simulation_row(sim, row + k * n);
    }
    perp_simulation_destroy(sim);
    return row;
}

static perp_run_change direction(const place *p)
{
    return (perp_run_change){(double *)p->dstate, (double *)p->dparameter, p->dvalue};
}

/* Derivatives of the rows that count; the simulation went on as it would have without them. */
static double *forward(const place *p, long *nrow, int *ncolumn)
{
    perp_simulation *sim = begin(p, 0);
    perp_diag diag = {0};
    perp_run_change change = direction(p);
    *ncolumn = perp_simulation_columns(sim), *nrow = p->stretch.every_row ? p->of->steps : 1;
    double *row = malloc((size_t)*nrow * (size_t)*ncolumn * sizeof *row);
    if (perp_simulation_jvp(sim, &p->stretch, &change, row, &diag) != PERP_OK)
        fail_msg("%s: %s", p->of->name, perp_diag_text(&diag));
    perp_simulation_destroy(sim);
    return row;
}

static void compare_with_differences(const place *p, const double *row, long nrow, int ncolumn)
{
    double d = p->of->d, worst = 0;
    long kinks = 0;
    double *a = rows_at(p, d), *b = rows_at(p, -d), *c = rows_at(p, 2 * d);
    double *e = rows_at(p, -2 * d);
    for (long i = 0; i < nrow * ncolumn; i++) {
        int column = (int)(i % ncolumn);
        if (column == 0 || column == ncolumn - 1) continue;
        double narrow = (a[i] - b[i]) / (2 * d), wide = (c[i] - e[i]) / (4 * d);
        double scale = 1 + fabs(narrow);
        if (fabs(narrow - wide) > 1e-6 * scale) {
            kinks++;
            continue;
        }
        /* forces at a stop by position are less exact than states */
        double size = column > p->nx && p->of->by == PERP_RADAU5 ? 10 * scale : scale;
        worst = fmax(worst, fabs(row[i] - (4 * narrow - wide) / 3) / size);
    }
    print_message("%-45s worst %.1e beside differences, %.2f %% at kinks\n", p->of->name, worst,
                  100.0 * (double)kinks / (double)(nrow * ncolumn));
    assert_true(worst < 2e-6 && kinks < nrow * ncolumn / 20);
    free(a), free(b), free(c), free(e);
}

/* weights' (derivative along the direction) = gradient' direction */
static void compare_backward(const place *p, const double *row, long nrow, int ncolumn)
{
    unsigned seed = 11;
    size_t n = (size_t)nrow * (size_t)ncolumn, values = (size_t)p->of->steps * (size_t)p->nu;
    double *weight = malloc(n * sizeof *weight), *value = malloc(values * sizeof *value);
    double state[MOST], parameter[4], left = 0, right = 0, size = 0;
    const perp_run_change gradient = {state, parameter, value};
    perp_simulation *sim = begin(p, 0), *other = begin(p, 0);
    perp_diag diag = {0};
    for (size_t i = 0; i < n; i++) {
        int column = (int)(i % (size_t)ncolumn);
        weight[i] = draw(&seed);
        if (column > 0 && column < ncolumn - 1)
            left += weight[i] * row[i], size += fabs(weight[i] * row[i]);
    }
    if (perp_simulation_vjp(sim, &p->stretch, weight, &gradient, &diag) != PERP_OK)
        fail_msg("%s: %s", p->of->name, perp_diag_text(&diag));
    for (int i = 0; i < p->nx; i++) right += state[i] * p->dstate[i];
    for (int i = 0; i < p->np; i++) right += parameter[i] * p->dparameter[i];
    for (size_t i = 0; i < values; i++) right += value[i] * p->dvalue[i];
    print_message("%-45s %.12g forward, %.12g backward\n", "", left, right);
    assert_near(left, right, 1e-9 * size);
    /* where the run is then */
    for (long k = 0; k < p->of->steps; k++) {
        for (int i = 0; i < p->nu; i++)
            perp_simulation_set_input(other, i, p->value[k * p->nu + i]);
        assert_int_equal(simulation_step(other, NULL, NULL), PERP_OK);
    }
    for (int i = 0; i < p->nx; i++)
        assert_near(perp_simulation_state(sim, i), perp_simulation_state(other, i), 1e-9);
    assert_true(perp_simulation_time(sim) == perp_simulation_time(other));
    perp_simulation_destroy(sim), perp_simulation_destroy(other);
    free(weight), free(value);
}

static void both_ways_agree_with_differences(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof courses / sizeof *courses; k++) {
        place p;
        long nrow;
        int ncolumn;
        make_place(&p, &courses[k]);
        double *row = forward(&p, &nrow, &ncolumn);
        if (courses[k].d > 0) compare_with_differences(&p, row, nrow, ncolumn);
        compare_backward(&p, row, nrow, ncolumn);
        free(row), free(p.value);
        perp_model_destroy(p.model);
    }
}

static void what_has_no_derivatives_says_so(void **state)
{
    (void)state;
    place p;
    double row[8], dx[2] = {1, 0};
    const perp_run_change change = {dx, NULL, NULL};
    make_place(&p, &courses[0]);
    perp_simulation_options o = perp_simulation_options_default(p.model);
    perp_simulation *sim;
    perp_diag diag = {0};
    o.to = 0.05;
    assert_int_equal(perp_simulation_create(p.model, &o, &sim, NULL), PERP_OK);
    perp_run_stretch s = {.size = sizeof s, .steps = 6};
    assert_int_equal(perp_simulation_jvp(sim, &s, &change, row, &diag), PERP_ERR_ARG);
    assert_non_null(strstr(perp_diag_text(&diag), "the run ends before"));
    s.steps = 3, s.ninput = 1, s.input = p.input;
    assert_int_equal(perp_simulation_vjp(sim, &s, row, &change, &diag), PERP_ERR_ARG);
    assert_non_null(strstr(perp_diag_text(&diag), "an input may not be set"));
    s.ninput = 0;
    assert_int_equal(perp_simulation_jvp(sim, &s, &change, row, &diag), PERP_OK);
    assert_near(row[1], 1, 1e-15);
    assert_int_equal(perp_simulation_steps(sim), 5);
    assert_near(perp_simulation_time(sim), 0.03, 1e-15);
    perp_simulation_destroy(sim);
    perp_diag_clear(&diag);
    free(p.value);
    perp_model_destroy(p.model);
}

/* Of a step whose sides do not determine it nothing is written that looks like a gradient. */
static void no_gradient_is_written_where_there_is_none(void **state)
{
    (void)state;
    double weight[8] = {0, 1}, dx[1] = {7};
    const perp_run_change gradient = {dx, NULL, NULL};
    perp_model *model = parse_model("state x = 1\nvar y\nder(x) = y\ny*abs(y) = 0*x\n");
    perp_simulation_options o = perp_simulation_options_default(model);
    perp_simulation *sim;
    perp_diag diag = {0};
    o.integrator = PERP_BACKWARD_EULER, o.to = 1, o.step = 0.1;
    assert_int_equal(perp_simulation_create(model, &o, &sim, NULL), PERP_OK);
    perp_run_stretch s = {.size = sizeof s, .steps = 2};
    assert_int_equal(perp_simulation_vjp(sim, &s, weight, &gradient, &diag), PERP_ERR_NO_SOLUTION);
    assert_non_null(strstr(perp_diag_text(&diag), "do not determine it"));
    assert_true(dx[0] == 7);
    perp_simulation_destroy(sim);
    perp_diag_clear(&diag);
    perp_model_destroy(model);
}

/* A thousand steps of twenty masses between springs with dry friction, each pushed by five inputs: the time of the gradient by all values of all inputs, of that of the steps. */
static void a_gradient_by_a_hundred_inputs_costs_few_runs(void **state)
{
    (void)state;
    enum { INPUTS = 100, STEPS = 1000, MASSES = 20, TIMES = 3 };
    static const perp_integrator methods[] = {PERP_BACKWARD_EULER, PERP_RADAU5};
    static double value[STEPS * INPUTS], gradient[STEPS * INPUTS], weight[256];
    char text[8192];
    int input[INPUTS], used = 0;
    unsigned seed = 3;
    for (int i = 0; i < INPUTS; i++) {
        input[i] = i;
        used += snprintf(text + used, sizeof text - (size_t)used, "input u%d = 0\n", i);
    }
    used +=
        snprintf(text + used, sizeof text - (size_t)used,
                 "state x[20] = 0, v[20] = 0\nvar f[20]\nder(x) = v\n-0.3 <= f <= 0.3 perp v\n");
    for (int k = 0; k < MASSES; k++)
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "der(v[%d]) = f[%d] - 9*x[%d] + x[%d] + u%d + u%d + u%d + u%d + 2*u%d\n",
                         k + 1, k + 1, k + 1, (k + 1) % MASSES + 1, 5 * k, 5 * k + 1, 5 * k + 2,
                         5 * k + 3, 5 * k + 4);
    snprintf(text + used, sizeof text - (size_t)used, "simulate to 1e9 step 0.01\n");
    for (int i = 0; i < STEPS * INPUTS; i++) value[i] = draw(&seed);
    perp_model *model = parse_model(text);
    for (int m = 0; m < 2; m++) {
        double least[2] = {1e9, 1e9};
        for (int k = 0; k < TIMES; k++) {
            perp_simulation_options o = perp_simulation_options_default(model);
            perp_simulation *sim;
            perp_diag diag = {0};
            o.integrator = methods[m], o.ninput = PERP_ALL;
            perp_run_stretch s = {
                .size = sizeof s, .steps = STEPS, .ninput = INPUTS, .input = input, .value = value};
            const perp_run_change change = {NULL, NULL, gradient};
            for (int is_gradient = 0; is_gradient < 2; is_gradient++) {
                assert_int_equal(perp_simulation_create(model, &o, &sim, &diag), PERP_OK);
                assert_true(perp_simulation_columns(sim) <= 256);
                weight[1] = 1; /* of x[1] in the last row */
                clock_t start = clock();
                for (long j = 0; j < STEPS && !is_gradient; j++) {
                    for (int i = 0; i < INPUTS; i++)
                        perp_simulation_set_input(sim, i, value[j * INPUTS + i]);
                    assert_int_equal(simulation_step(sim, NULL, NULL), PERP_OK);
                }
                if (is_gradient && perp_simulation_vjp(sim, &s, weight, &change, &diag) != PERP_OK)
                    fail_msg("%s", perp_diag_text(&diag));
                least[is_gradient] =
                    fmin(least[is_gradient], (double)(clock() - start) / CLOCKS_PER_SEC);
                perp_simulation_destroy(sim);
            }
        }
        print_message("%s: 1000 steps %.3g s, gradient by 100 inputs %.3g s: %.1f runs\n",
                      perp_integrator_name(methods[m]), least[0], least[1], least[1] / least[0]);
        assert_true(least[1] < 6 * least[0]);
    }
    perp_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways_agree_with_differences),
        cmocka_unit_test(a_gradient_by_a_hundred_inputs_costs_few_runs),
        cmocka_unit_test(what_has_no_derivatives_says_so),
        cmocka_unit_test(no_gradient_is_written_where_there_is_none),
    };
    return run_all(tests);
}
