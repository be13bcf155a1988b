/* Right answers of each engine, damaged in one condition: the verdict has to notice. Answers and scales are by hand; steps of bodies are in
 * test_damage_bodies. */

#include "damage.h"
#include "runs.h"

#include "model/model.h"
#include "simulate/step.h"
#include "solve/friction.c"
#include "solve/mcp.h"
#include "solve/pile.h"
#include "solve/solver.h"

enum { MOST = 9 };

/* Linear problems --------------------------------------------------------------------------------------------- */

/* A problem with its answer, and what of it is off by `by` times a scale: z or q of one row. The units of pairs are powers of ten. */
typedef struct linear {
    const char *name;
    int n, at, is_z;
    double M[9], q[3], z[3], lo[3], hi[3], unit[3];
    double sign; /* of the damage; 0: either */
} linear;

static double scale_of_row(const linear *l, int i)
{
    double S = fabs(l->q[i]);
    for (int j = 0; j < l->n; j++) S += fabs(l->M[i + 3 * j] * l->z[j]);
    return S;
}

static double linear_error_at(const linear *l, double by)
{
    static const double tol = 1e-10;
    double M[9], q[3], z[3], w[3], lo[3], hi[3], S = by * scale_of_row(l, l->at);
    for (int i = 0; i < l->n; i++) {
        for (int j = 0; j < l->n; j++) M[i + l->n * j] = l->unit[i] * l->M[i + 3 * j] * l->unit[j];
        q[i] = l->unit[i] * (l->q[i] + (l->is_z || i != l->at ? 0 : S));
        z[i] = (l->z[i] + (l->is_z && i == l->at ? S / l->M[4 * i] : 0)) / l->unit[i];
        lo[i] = l->lo[i] / l->unit[i], hi[i] = l->hi[i] / l->unit[i];
    }
    int has_bounds = isfinite(l->hi[0]) || l->lo[0] != 0;
    perp_lcp lcp = {.n = l->n, .M = M, .ldm = l->n, .q = q};
    if (has_bounds) lcp.lo = lo, lcp.hi = hi;
    perp_lcp_options o = perp_lcp_options_default(PERP_LCP_AUTO);
    perp_lcp_solver *s;
    o.mixed = has_bounds;
    o.tol = tol;
    assert_int_equal(perp_lcp_solver_create(PERP_LCP_AUTO, l->n, &o, &s), PERP_OK);
    assert_int_equal(perp_lcp_solve(s, &lcp, w, NULL, NULL), PERP_OK); /* its arrays are in use */
    memset(s->fine, 0, sizeof z);
    memcpy(s->z, z, sizeof(double) * (size_t)l->n);
    double error = perp__lcp_error(s, &lcp, z, w);
    memset(s->fine, 0, sizeof z);
    memcpy(s->z, z, sizeof(double) * (size_t)l->n);
    s->has_basis = 0;
    int is_taken = perp__lcp_verify(s, &lcp, 0);
    int is_mended = 0, is_right = 1; /* what is said to hold may be a better point than that */
    for (int i = 0; i < l->n; i++) {
        double right = l->z[i] / l->unit[i];
        is_mended |= s->z[i] != z[i];
        is_right &= !l->is_z || fabs(s->z[i] - right) <= 1e-9 * fmax(fabs(right), fabs(z[i]));
    }
    perp_lcp_solver_destroy(s);
    if (!is_taken) return error;
    return fabs(by) > tol && is_mended && is_right ? INFINITY : 0;
}

static double linear_error(const void *scene, double by)
{
    const linear *l = scene;
    if (l->sign != 0) return linear_error_at(l, l->sign * by);
    double more = linear_error_at(l, by), less = linear_error_at(l, -by);
    return by > 1e-10 ? fmin(more, less) : fmax(more, less);
}

#define NONE INFINITY
#define PURE                                                                                       \
    .M = {2, 1, 0, 1, 3, 1, 0, 1, 4}, .q = {-7, -7, 4}, .z = {2.8, 1.4, 0}, .hi = {NONE, NONE, NONE}
/* w = M z + q = (0, 0, 5.4); below, row 2 is degenerate. */
#define TIED                                                                                       \
    .M = {2, 1, 0, 1, 3, -1, 0, -1, 4}, .q = {-7, -7, 1.4}, .z = {2.8, 1.4, 0},                    \
    .hi = {NONE, NONE, NONE}
/* z_0 at its upper bound, z_1 between, z_2 at its lower one with w_2 = 0. */
#define BOXED                                                                                      \
    .M = {2, 1, 0, 1, 3, 1, 0, 1, 4}, .q = {-9, -5.5, 2.5}, .z = {2, 1.5, -1}, .lo = {0, 0, -1},   \
    .hi = {2, 5, 3}
#define PLAIN .unit = {1, 1, 1}
#define MIXED .unit = {1, 1e5, 1e-4}

static const linear linears[] = {
    {"z_0", 3, 0, 1, PURE, PLAIN, .sign = 0},
    {"z_1", 3, 1, 1, PURE, PLAIN, .sign = 0},
    {"z_0 in other units", 3, 0, 1, PURE, MIXED, .sign = 0},
    {"z_1 in other units", 3, 1, 1, PURE, MIXED, .sign = 0},
    {"q_0", 3, 0, 0, PURE, PLAIN, .sign = 0},
    {"q_1 in other units", 3, 1, 0, PURE, MIXED, .sign = 0},
    {"w_2 below 0", 3, 2, 0, TIED, PLAIN, .sign = -1},
    {"w_2 below 0 in other units", 3, 2, 0, TIED, MIXED, .sign = -1},
    {"z_2 above 0 beside w_2", 3, 2, 1, PURE, PLAIN, .sign = 1},
};

static void damaged_lcps_are_not_solved(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof linears / sizeof *linears; k++)
        expect_damage_seen("lcp", linears[k].name, linear_error, &linears[k], 1e-10, NULL);
}

static const linear boxes[] = {
    {"z_1 between bounds", 3, 1, 1, BOXED, PLAIN, .sign = 0},
    {"z_1 between bounds in other units", 3, 1, 1, BOXED, MIXED, .sign = 0},
    {"q_1", 3, 1, 0, BOXED, PLAIN, .sign = 0},
    {"w_2 below 0 at the lower bound", 3, 2, 0, BOXED, PLAIN, .sign = -1},
    {"z_0 below its upper bound", 3, 0, 1, BOXED, PLAIN, .sign = -1},
};

static void damaged_boxes_are_not_solved(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof boxes / sizeof *boxes; k++)
        expect_damage_seen("boxes", boxes[k].name, linear_error, &boxes[k], 1e-10, NULL);
}

/* Nonlinear problems ------------------------------------------------------------------------------------------ */

/* F = (z_0^3 + z_1 - 9, z_0 z_1 - 2, z_2 + z_0 - 2), 0 at (2, 1, 0), where z_2 is at its bound; c is added. */
static int nonlinear(void *context, const double *z, double *w)
{
    const double *c = context;
    w[0] = z[0] * z[0] * z[0] + z[1] - 9 + c[0];
    w[1] = z[0] * z[1] - 2 + c[1];
    w[2] = z[2] + z[0] - 2 + c[2];
    return 0;
}

static int nonlinear_slope(void *context, const double *z, double *J)
{
    (void)context;
    const double rows[9] = {3 * z[0] * z[0], z[1], 1, 1, z[0], 0, 0, 0, 1};
    memcpy(J, rows, sizeof rows);
    return 0;
}

typedef struct point {
    const char *name;
    int at, is_z;
    double scale, sign; /* scale: of w for a damage of 1 */
} point;

static int no_steps(perp_mcp_solver *s)
{
    (void)s;
    return 0;
}

static double nonlinear_error(const void *scene, double by)
{
    const point *of = scene;
    double least = INFINITY, most = 0;
    for (int side = -1; side <= 1; side += 2) {
        double c[3] = {0}, z[3] = {2, 1, 0};
        if (of->sign * side < 0) continue;
        (of->is_z ? z : c)[of->at] += side * by * of->scale;
        perp_mcp p = {.n = 3, .F = nonlinear, .J = nonlinear_slope, .context = c};
        perp_mcp_solver *s;
        perp_mcp_info info = {.size = sizeof info};
        assert_int_equal(perp_mcp_solver_create(PERP_MCP_AUTO, &p, NULL, &s), PERP_OK);
        assert_int_equal(perp__mcp_solve_by(s, &p, no_steps, z, NULL, &info), PERP_OK);
        assert_int_equal(info.outcome == PERP_SOLVED, info.error <= 1e-9);
        int is_mended = of->is_z && z[0] == 2 && z[1] == 1 && z[2] == 0;
        if (by > 1e-9 && info.outcome == PERP_SOLVED && is_mended) info.error = INFINITY;
        perp_mcp_solver_destroy(s);
        least = fmin(least, info.error), most = fmax(most, info.error);
    }
    return by > 1e-9 ? least : most;
}

/* Terms of the rows, linearised: 25 + 24 + 1, 2 + 2 + 2, 2 + 2. */
static const point points[] = {
    {"row 0", 0, 0, 50, 0},      {"row 1", 1, 0, 6, 0}, {"w_2 below 0", 2, 0, 4, -1},
    {"z_0", 0, 1, 50 / 12.0, 0}, {"z_1", 1, 1, 50, 0},  {"z_2 beside w_2", 2, 1, 4, 1},
};

static void damaged_mcps_are_not_solved(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof points / sizeof *points; k++)
        expect_damage_seen("mcp", points[k].name, nonlinear_error, &points[k], 1e-9, NULL);
}

/* Friction ---------------------------------------------------------------------------------------------------- */

/* Three contacts with W = 2: one is open; one slides, r = (2, -1, 0), u = (0, 3, 0); one sticks, r = (2, -1/4, -1/10). */
static const double FC_Q[9] = {3, 1, 0, -4, 5, 0, -4, 0.5, 0.2},
                    FC_R[9] = {0, 0, 0, 2, -1, 0, 2, -0.25, -0.1}, FC_MU[3] = {0.5, 0.5, 0.5};

typedef struct impulse {
    const char *name;
    int at, is_q;
    double scale, sign;
} impulse;

/* Scales: terms of a contact's rows (8 or 7), over W for impulses. */
static const impulse impulses[] = {
    {"an impulse that opens", 0, 0, 1.5, 1},
    {"normal impulse of what slides", 3, 0, 4, 0},
    {"friction of what slides, too little", 4, 0, 4, 1},
    {"friction of what slides, turned", 5, 0, 4, 0},
    {"normal impulse of what sticks", 6, 0, 4, 0},
    {"friction of what sticks", 7, 0, 4, 0},
    {"friction of what sticks, across", 8, 0, 4, 0},
    {"normal velocity of what slides", 3, 1, 8, 0},
    {"normal velocity of what sticks", 6, 1, 8, 0},
    {"slip of what sticks", 7, 1, 8, 0},
    {"slip across of what sticks", 8, 1, 8, 0},
};

static double friction_error(const void *scene, double by)
{
    const impulse *of = scene;
    double least = INFINITY, most = 0, W[81] = {0};
    for (int i = 0; i < 9; i++) W[10 * i] = 2;
    for (int side = -1; side <= 1; side += 2) {
        double q[9], r[9], start[9];
        if (of->sign * side < 0) continue;
        memcpy(q, FC_Q, sizeof q);
        memcpy(r, FC_R, sizeof r);
        memcpy(start, FC_R, sizeof start);
        (of->is_q ? q : r)[of->at] += side * by * of->scale;
        perp_fc p = {.dimension = 3, .nc = 3, .q = q, .mu = FC_MU, .W = W, .ldw = 9}, view = p;
        perp_fc_solver *s;
        perp_fc_options o = perp_fc_options_default();
        o.tol = 1e-8;
        assert_int_equal(perp_fc_solver_create(PERP_FC_AUTO, &p, &o, &s), PERP_OK);
        assert_true(dense_view(s, &view) && load(s, &view, start));
        double error = judge(s, &view, r);
        if (by > 1e-8 && (memcmp(r, FC_R, sizeof r) == 0) != of->is_q)
            error = INFINITY; /* mended */
        perp_fc_solver_destroy(s);
        least = fmin(least, error), most = fmax(most, error);
    }
    return by > 1e-8 ? least : most;
}

static void damaged_friction_is_not_solved(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof impulses / sizeof *impulses; k++)
        expect_damage_seen("friction", impulses[k].name, friction_error, &impulses[k], 1e-8, NULL);
}

/* The same contacts as points of mass 1/2 on the ground. */
static double pile_error(const void *scene, double by)
{
    const impulse *of = scene;
    double least = INFINITY, most = 0, mass[27] = {0}, J[54] = {0};
    const int body[6] = {0, -1, 1, -1, 2, -1};
    for (int i = 0; i < 9; i++) mass[9 * (i / 3) + 4 * (i % 3)] = 2;
    for (int i = 0; i < 9; i++) J[18 * (i / 3) + 4 * (i % 3)] = 1;
    for (int side = -1; side <= 1; side += 2) {
        double q[9], r[9];
        int worst;
        if (of->sign * side < 0) continue;
        memcpy(q, FC_Q, sizeof q);
        memcpy(r, FC_R, sizeof r);
        (of->is_q ? q : r)[of->at] += side * by * of->scale;
        perp_pile p = {.dimension = 3,
                       .dof = 3,
                       .nbody = 3,
                       .inverse_mass = mass,
                       .velocity = q,
                       .nc = 3,
                       .body = body,
                       .jacobian = J,
                       .mu = FC_MU};
        perp__arena arena = {0};
        perp__pile_scales scales = {0};
        assert_true(perp__pile_scales_create(&scales, &p, NULL, &arena));
        double error = perp__pile_judge(&scales, &p, 1e-6, r, &worst);
        if (by > 1e-6 && (memcmp(r, FC_R, sizeof r) == 0) != of->is_q)
            error = INFINITY; /* mended */
        perp__arena_clear(&arena);
        least = fmin(least, error), most = fmax(most, error);
    }
    return by > 1e-6 ? least : most;
}

static void damaged_piles_are_not_solved(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof impulses / sizeof *impulses; k++)
        expect_damage_seen("pile", impulses[k].name, pile_error, &impulses[k], 1e-6, NULL);
}

/* Steps of the language --------------------------------------------------------------------------------------- */

/* A step of 0.1 s: states before, unknowns after it (states, then vars), and what they are damaged along, per unit of `by`. */
typedef struct language {
    const char *name, *text;
    double before[MOST], after[MOST], along[MOST], sign, along_before[MOST];
} language;

#define RESTS                                                                                      \
    "param m = 2, g = 9.81\nstate z = 0, v = 0\nvar p\nder(z) = v\nm*der(v) = p - m*g\n"           \
    "0 <= p perp z >= 0\nsimulate to 1 step 0.1\n",                                                \
        {0, 0},                                                                                    \
    {                                                                                              \
        0, 0, 19.62                                                                                \
    }
/* It falls for a step, to the floor or from high above. */
#define FALLS(z)                                                                                   \
    "param m = 2, g = 9.81\nstate z = 0, v = 0\nvar p\nder(z) = v\nm*der(v) = p - m*g\n"           \
    "0 <= p perp z >= 0\nsimulate to 1 step 0.1\n",                                                \
        {(z) + 0.0981, 0},                                                                         \
    {                                                                                              \
        z, -0.981, 0                                                                               \
    }
#define SLIDES                                                                                     \
    "param m = 2, F = 3\nstate x = 0, v = 1\nvar f\nder(x) = v\nm*der(v) = f\n"                    \
    "-F <= f <= F perp v\nsimulate to 1 step 0.1\n",                                               \
        {0, 1},                                                                                    \
    {                                                                                              \
        0.085, 0.85, -3                                                                            \
    }
#define STICKS                                                                                     \
    "param m = 2, F = 3\nstate x = 0, v = 0\nvar f\nder(x) = v\nm*der(v) = 2 + f\n"                \
    "-F <= f <= F perp v\nsimulate to 1 step 0.1\n",                                               \
        {0, 0},                                                                                    \
    {                                                                                              \
        0, 0, -2                                                                                   \
    }
#define DISC                                                                                       \
    "param F = 5\nstate v[2] = [1, 0]\nvar f[2]\nder(v[1]) = f[1]\nder(v[2]) = f[2]\n"             \
    "friction(f = f, v = v, bound = F, facets = exact)\nsimulate to 1 step 0.1\n",                 \
        {1, 0},                                                                                    \
    {                                                                                              \
        0.5, 0, -5, 0                                                                              \
    }
#define HELD_BY_DISC                                                                               \
    "param F = 5\nstate v[2] = [0, 0]\nvar f[2]\nder(v[1]) = 3 + f[1]\nder(v[2]) = 1 + f[2]\n"     \
    "friction(f = f, v = v, bound = F, facets = exact)\nsimulate to 1 step 0.1\n",                 \
        {0, 0},                                                                                    \
    {                                                                                              \
        0, 0, -3, -1                                                                               \
    }
#define AT_BOUND_OF_DISC                                                                           \
    "param F = 5\nstate v[2] = [0, 0]\nvar f[2]\nder(v[1]) = 3 + f[1]\nder(v[2]) = 4 + f[2]\n"     \
    "friction(f = f, v = v, bound = F, facets = exact)\nsimulate to 1 step 0.1\n",                 \
        {0, 0},                                                                                    \
    {                                                                                              \
        0, 0, -3, -4                                                                               \
    }
#define CURVED                                                                                     \
    "state x = 1\nvar y\nder(x) = 0\ny^3 = 8\nsimulate to 1 step 0.1\n", {1},                      \
    {                                                                                              \
        1, 2                                                                                       \
    }

static const language languages[] = {
    {"Newton's law at rest", RESTS, {0, 0, 39.24}, 0, {0}},
    {"gap above 0 beside a force", RESTS, {0.1962, 1.962, 39.24}, 1, {0}},
    {"gap below 0", RESTS, {0.1962, 1.962, 39.24}, -1, {0}},
    {"gap below 0 without a force", FALLS(0), {-0.1962, 0, 0}, 1, {-0.1962, 0}},
    {"a force that pulls", FALLS(1), {-0.1962, -1.962, -39.24}, 1, {0}},
    {"position of what slides", SLIDES, {0.17, 0, 0}, 0, {0}},
    {"Newton's law of what slides", SLIDES, {0.03, 0.3, 0}, 0, {0}},
    {"friction beyond its bound", SLIDES, {-0.03, -0.3, -6}, 1, {0}},
    {"friction within its bound", SLIDES, {0.03, 0.3, 6}, 1, {0}},
    {"velocity of what sticks", STICKS, {0.02, 0.2, 4}, 0, {0}},
    {"Newton's law of what sticks", STICKS, {0, 0, 4}, 0, {0}},
    {"friction of a disc beyond its bound", DISC, {-1, 0, -10, 0}, 1, {0}},
    {"friction of a disc within its bound", DISC, {1, 0, 10, 0}, 1, {0}},
    {"friction of a disc turned", DISC, {0, 1, 0, 10}, 0, {0}},
    {"Newton's law beside a disc", DISC, {1, 0, 0, 0}, 0, {0}},
    {"slip of what a disc holds", HELD_BY_DISC, {0.6, 0, 6, 0}, 0, {0}},
    {"slip across of what a disc holds", HELD_BY_DISC, {0, 0.6, 0, 6}, 0, {0}},
    {"friction of a disc beyond its bound at rest",
     AT_BOUND_OF_DISC,
     {0, 0, -6, -8},
     1,
     {0.6, 0.8}},
    {"an equation that is curved", CURVED, {0, 32 / 12.0}, 0, {0}},
};

static double language_error(const void *scene, double by)
{
    const language *of = scene;
    double least = INFINITY, most = 0;
    for (int side = -1; side <= 1; side += 2) {
        if (of->sign * side < 0) continue;
        perp_model *model = parse_model(of->text);
        perp_simulation_options o = perp_simulation_options_default(model);
        perp__step s = {0};
        o.integrator = PERP_BACKWARD_EULER;
        assert_int_equal(perp__step_create(&s, model, &o, NULL, NULL), PERP_OK);
        assert_true(s.layout->ny <= MOST);
        s.ws[SYM_H] = 0.1;
        for (int i = 0; i < s.layout->nx; i++)
            s.ws[s.layout->sym.pre + i] = of->before[i] + side * by * of->along_before[i];
        for (int i = 0; i < s.layout->ny; i++) s.ws[s.layout->sym.y + i] = of->after[i];
        perp__step_linearise(&s);
        perp__step_units(&s);
        for (int i = 0; i < s.layout->ny; i++)
            s.ws[s.layout->sym.y + i] += side * by * of->along[i];
        double error = perp__step_verify(&s).error;
        least = fmin(least, error), most = fmax(most, error);
        perp__step_clear(&s);
        perp_model_destroy(model);
    }
    return by > 1e-9 ? least : most;
}

static double step_tol(void)
{
    perp_model *model = parse_model("state x = 1\nder(x) = 0\nsimulate to 1 step 0.1\n");
    perp_simulation_options o = perp_simulation_options_default(model);
    perp__step s = {0};
    assert_int_equal(perp__step_create(&s, model, &o, NULL, NULL), PERP_OK);
    double tol = s.tol;
    perp__step_clear(&s);
    perp_model_destroy(model);
    return tol;
}

static void damaged_steps_are_not_verified(void **state)
{
    (void)state;
    double tol = step_tol();
    for (size_t k = 0; k < sizeof languages / sizeof *languages; k++)
        expect_damage_seen("step", languages[k].name, language_error, &languages[k], tol, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_lcps_are_not_solved),
        cmocka_unit_test(damaged_boxes_are_not_solved),
        cmocka_unit_test(damaged_mcps_are_not_solved),
        cmocka_unit_test(damaged_friction_is_not_solved),
        cmocka_unit_test(damaged_piles_are_not_solved),
        cmocka_unit_test(damaged_steps_are_not_verified),
    };
    return run_all(tests);
}
