/* Notes 2.1 to 2.3 and 2.5: formulations of the sliding block with the velocity in its parts. */

#include "notes.h"
#include "support/support.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS = 30000 };
static const double h = 0.01, mug = 0.6 * 9.81; /* m = 1 */

/* v+ = sign(c) max(|c| - mu g h, 0): what friction leaves of c = v + u h. */
static double after_friction(double c)
{
    return copysign(fmax(fabs(c) - mug * h, 0), c);
}

/* A force that is beyond friction in most steps, below it in some. */
static double random_force(uint64_t *seed, double lo, double hi)
{
    double u = uniform(seed, lo, hi);
    return uniform(seed, 0, 1) < 0.3 ? 0.1 * u : u;
}

static void draw_forward(void)
{
    perp_model *model = load_model("examples/notes/sliding_forward.perp");
    set_value(model, "mu", 0.35); /* the block stops and starts again */
    run r = run_model(model, 0, 0);
    double *t = column(&r, "t"), *v = column(&r, "v"), *f = column(&r, "lambda");
    perp_axis time = {.label = "t", .unit = "s"};
    perp_series speed = {.label = "velocity", .x = t, .y = v, .n = (int)r.nrow, .color = 1};
    double ends[] = {0, 5}, bound[] = {0.35 * 9.81, 0.35 * 9.81};
    perp_series force[] = {
        {.label = "mu m g", .x = ends, .y = bound, .n = 2, .style = PERP_STYLE_GHOST, .color = 8},
        {.label = "friction", .x = t, .y = f, .n = (int)r.nrow, .color = 2}};
    perp_panel panels[] = {{.x = time,
                            .y = {.label = "v", .unit = "m/s"},
                            .series = &speed,
                            .nseries = 1,
                            .height = 180},
                           {.x = time,
                            .y = {.label = "lambda", .unit = "N"},
                            .series = force,
                            .nseries = 2,
                            .height = 180}};
    perp_figure figure = {
        .title = "Forwards case, m = 1 kg, mu = 0.35, u = 4 |sin 2t| N: friction is never negative",
        .panels = panels,
        .npanels = 2};
    save_figure(&figure, "notes-2.1-forward.svg");
    free_run(&r);
}

void forward(void)
{
    uint64_t seed = 21;
    double v = 1, lowest = 1e9, worst = 0;
    int stuck = 0;
    for (int k = 0; k < STEPS; k++) {
        double u = random_force(&seed, 0, 11), M = 1 / h, q = -v / h - u + mug, z[1], slack[1];
        small_lcp p = make_lcp(1, &M, &q);
        if (solve_by(PERP_LCP_LEMKE, &p, z, slack) != PERP_SOLVED)
            die("2.1: step %d is not solved", k);
        worst = fmax(worst, fabs(z[0] - after_friction(v + u * h)));
        lowest = fmin(lowest, mug - slack[0]);
        v = z[0];
        stuck += v == 0;
    }
    draw_forward();
    claim("2.1", "the LCP with M = 1/dt is Coulomb friction of a block that moves forward", HOLDS,
          worst < 1e-12, "notes-2.1-forward.svg",
          "v as by sign(c) max(|c| - mu g h, 0) to %.0e over %d random steps, %d of them sticking",
          worst, STEPS, stuck);
    claim("2.1 Remark 1", "friction is never negative although nothing says so", HOLDS,
          lowest >= -1e-10, "notes-2.1-forward.svg", "least lambda %.1e N over %d random steps",
          lowest, STEPS);
}

/* What 30 000 random steps of the direct formulation do. */
typedef struct record {
    double velocity, identity, printed_row; /* largest differences */
    int products, one_sign, stuck,
        turned; /* violations of Lemma 2.1, of "fictitious force"; steps */
} record;

static record direct_steps(void)
{
    uint64_t seed = 22;
    record r = {0};
    double vp = 1, vn = 0, rows[] = {1 / h, 0, 0, 1 / h};
    for (int k = 0; k < STEPS; k++) {
        double u = random_force(&seed, -40, 40), a = (vn - vp) / h - u, q[] = {a + mug, -a + mug},
               z[2], w[2];
        small_lcp p = make_lcp(2, rows, q);
        if (solve_by(PERP_LCP_LEMKE, &p, z, w) != PERP_SOLVED) die("2.2: step %d is not solved", k);
        double ln = mug - w[0], lp = mug - w[1], c = vp - vn + u * h, v = z[0] - z[1];
        r.velocity = fmax(r.velocity, fabs(v - after_friction(c)));
        r.identity = fmax(r.identity, fabs(v - 2 * (vp - vn) - 2 * u * h - (lp - ln) * h));
        r.printed_row = fmax(r.printed_row, fabs(w[1] - (z[0] / h + vp / h - vn / h + u + mug)));
        r.products += z[0] * z[1] != 0;
        r.one_sign += !(fmin(lp, ln) < 0 && fmax(lp, ln) > 0);
        r.stuck += v == 0;
        r.turned += v * (vp - vn) < 0;
        vp = z[0], vn = z[1];
    }
    return r;
}

static void draw_direct(void)
{
    const double step = 0.05;
    perp_model *model = load_model("examples/notes/sliding_direct.perp");
    set_value(model, "mu", 0.2);
    run r = run_model(model, 0, step);
    double *t = column(&r, "t"), *vp = column(&r, "vp"), *vn = column(&r, "vn"),
           *lp = column(&r, "lp"), *ln = column(&r, "ln");
    perp_axis time = {.label = "t", .unit = "s"};
    for (long k = 0; k < r.nrow; k++) lp[k] *= step, ln[k] *= step;
    perp_series v[] = {{.label = "v+", .x = t, .y = vp, .n = (int)r.nrow},
                       {.label = "v-", .x = t, .y = vn, .n = (int)r.nrow}};
    perp_series f[] = {
        {.label = "friction -", .x = t, .y = ln, .n = (int)r.nrow},
        {.label = "friction +; a negative one is fictitious", .x = t, .y = lp, .n = (int)r.nrow}};
    perp_panel panels[] = {
        {.x = time, .y = {.label = "v", .unit = "m/s"}, .series = v, .nseries = 2, .height = 180},
        {.x = time,
         .y = {.label = "h lambda", .unit = "N s"},
         .series = f,
         .nseries = 2,
         .height = 180}};
    perp_figure figure = {.title =
                              "Direct formulation, m = 1 kg, mu = 0.2, u = 4 sin 2t N, h = 0.05 s",
                          .panels = panels,
                          .npanels = 2};
    save_figure(&figure, "notes-2.2-direct.svg");
    free_run(&r);
}

void direct(void)
{
    static const char figure[] = "notes-2.2-direct.svg";
    record r = direct_steps();
    draw_direct();
    claim("2.2", "the matrix form is Coulomb friction in both directions", HOLDS,
          r.velocity < 1e-12, figure,
          "v as by sign(c) max(|c| - mu g h, 0) to %.0e; %d steps stick, %d turn", r.velocity,
          r.stuck, r.turned);
    claim("2.2",
          "last scalar row as printed: lambda'+ = v+_{k+1}/dt + v+_k/dt - v-_k/dt + u + mu g",
          SLIPS, r.printed_row < 1e-6, NULL,
          "off by up to %.3g N; with v-_{k+1}, as in the matrix form, it holds", r.printed_row);
    claim("2.3 Lemma 2.1", "v+ v- = 0 in every step", HOLDS, r.products == 0, figure,
          "%d violations in %d random steps", r.products, STEPS);
    claim("2.3.2 (2)", "v_{k+1} = 2 v_k + 2 u dt + (lambda+ - lambda-) dt", HOLDS,
          r.identity < 1e-9, NULL, "largest difference %.0e over %d steps", r.identity, STEPS);
    claim("2.3.2", "one of the two forces is always positive, the other negative (fictitious)",
          HOLDS, r.one_sign == 0, figure, "%d exceptions in %d steps", r.one_sign, STEPS);
    double rows[] = {1, 0, 0, 1}, q[] = {-1, 1}, z[2], w[2]; /* dt = 1, v = 1, no forces */
    small_lcp p = make_lcp(2, rows, q);
    solve_by(PERP_LCP_LEMKE, &p, z, w);
    claim("2.3.2", "block with v = 1, mu = u = 0: the LCP gives lambda'+ = 1, a force lambda+ = -1",
          HOLDS, z[0] == 1 && z[1] == 0 && w[1] == 1, NULL, "v+ = %g, v- = %g, lambda'+ = %g", z[0],
          z[1], w[1]);
    perp_lcp_class c = {.size = sizeof c};
    perp_lcp lcp = view(&p);
    perp_lcp_classify(&lcp, &c);
    int count = all_solutions(&p, NULL).count;
    claim("2.3.2", "M is positive definite: one solution", HOLDS,
          c.positive_definite == 1 && count == 1, NULL,
          "positive definite %s; the search of all supports finds %d solution(s)",
          c.positive_definite ? "yes" : "no", count);
}

void direct_2(void)
{
    uint64_t seed = 25;
    double rows[] = {0, -1, 0, -1, 0, 0, -1, -1, 0};
    int proved = 0, found = 0, n = 1000;
    for (int k = 0; k < n; k++) {
        double c = uniform(&seed, -2, 2), q[] = {c, -c, 1}, z[3];
        small_lcp p = make_lcp(3, rows, q);
        perp_lcp lcp = view(&p);
        if (solve_by(PERP_LCP_LEMKE, &p, z, NULL) == PERP_INFEASIBLE)
            proved += perp_lcp_is_infeasible(&lcp, perp_lcp_certificate(solver_of(PERP_LCP_LEMKE)),
                                             1e-12);
        found += all_solutions(&p, NULL).count;
    }
    double q[] = {1, -1, 1};
    small_lcp p = make_lcp(3, rows, q);
    perp_lcp lcp = view(&p);
    perp_lcp_class type = {.size = sizeof type};
    perp_lcp_classify(&lcp, &type);
    claim("2.5", "M is no longer positive semidefinite", HOLDS, type.positive_semidefinite == 0,
          NULL, "classified: semidefinite %s", type.positive_semidefinite ? "yes" : "no");
    claim("2.5", "\"It also just doesn't work\"", HOLDS, proved == n && found == 0, NULL,
          "infeasible for every c = v + u h != 0: %d of %d random c proved by a vector u >= 0, M'u "
          "<= 0, q'u < 0 that is checked; "
          "the search of all supports finds %d solutions",
          proved, n, found);
}
