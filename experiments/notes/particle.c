/* Notes 2.7: a particle on the floor with friction, as a mixed problem in (vx, vz, lc, l+, l-, gamma). Forces are impulses. */

#include "notes.h"
#include "support/support.h"

#include <math.h>
#include <string.h>

static const double m = 10, mu = 0.1, g = 9.81, h = 1e-3;

enum { VX, VZ, LC, LP, LN, GAMMA, N };
static const unsigned char is_free[N] = {1, 1};

typedef struct variant {
    double constant; /* sign of the first block of the constant vector: -1 is right, +1 printed */
    int rows_of_D;   /* the compact form's D v instead of D'v */
    double e;        /* restitution */
} variant;

static small_lcp particle_problem(const double v[2], const double u[2], variant a)
{
    double rows[N * N] = {m, 0, 0, -1, 1, 0, 0,  m, -1, 0, 0, 0, 0, 1, 0,  0,  0,  0,
                          1, 0, 0, 0,  0, 1, -1, 0, 0,  0, 0, 1, 0, 0, mu, -1, -1, 0};
    double q[N] = {a.constant * (m * v[0] + u[0]), a.constant * (m * v[1] - m * g * h + u[1]),
                   a.e * v[1]};
    if (a.rows_of_D) { /* D = [1 -1; 0 0] */
        rows[LP * N + VX] = 1, rows[LP * N + VZ] = -1;
        rows[LN * N + VX] = 0, rows[LN * N + VZ] = 0;
    }
    return make_lcp(N, rows, q);
}

/* What Coulomb's law and Newton's impact law say. */
static void exact(const double v[2], const double u[2], double e, double *vx, double *vz,
                  double *normal)
{
    double free_vz = v[1] - g * h + u[1] / m, c = v[0] + u[0] / m;
    *vz = fmax(free_vz, -e * v[1]);
    *normal = m * (*vz - free_vz);
    *vx = copysign(fmax(fabs(c) - mu * *normal / m, 0), c);
}

/* In how many of n random contacts all solutions have the right velocity and normal impulse. */
static int count_right(variant a, int n)
{
    uint64_t seed = 27;
    int right = 0;
    for (int k = 0; k < n; k++) {
        double v[2] = {uniform(&seed, -1, 1), uniform(&seed, -3, 0)},
               u[2] = {uniform(&seed, -5, 5), 0}, vx, vz, normal;
        small_lcp p = particle_problem(v, u, a);
        solutions s = all_solutions(&p, is_free);
        exact(v, u, a.e, &vx, &vz, &normal);
        int good = s.count > 0;
        for (int i = 0; i < s.count; i++) {
            const double *z = s.z[i];
            good = good && fabs(z[VX] - vx) < 1e-9 && fabs(z[VZ] - vz) < 1e-9 &&
                   fabs(z[LC] - normal) < 1e-8;
        }
        right += good;
    }
    return right;
}

/* The mixed problem, step by step, beside the run of the model from the floor. Largest difference of all six unknowns,
 * l+ and l- through their difference. */
static double beside_the_model(void)
{
    perp_model *model = load_model("examples/notes/particle.perp");
    set_value(model, "z", 0);
    run r = run_model(model, 0, h);
    double v[2] = {1, 0}, u[2] = {0}, worst = 0;
    for (long k = 1; k < r.nrow; k++) {
        small_lcp p = particle_problem(v, u, (variant){.constant = -1});
        const double *z;
        solutions s = all_solutions(&p, is_free);
        if (s.count == 0) die("2.7: step %ld has no solution", k);
        z = s.z[0];
        double off[] = {z[VX] - at(&r, k, "vx"), z[VZ] - at(&r, k, "vz"),
                        z[LC] - h * at(&r, k, "p"), z[LP] - z[LN] - h * at(&r, k, "friction"),
                        z[GAMMA] - at(&r, k, "gamma")};
        for (int i = 0; i < 5; i++) worst = fmax(worst, fabs(off[i]));
        memcpy(v, z, sizeof v);
    }
    free_run(&r);
    return worst;
}

/* Belbute-Peres: Q x + p + G'z = 0, s = -G x + F z, z >= 0, s >= 0, s'z = 0, x = -v. Eliminating x:
 * s = (G inv(Q) G' + F) z + G inv(Q) p. */
static const double G[4][2] = {{0, 1}, {1, 0}, {-1, 0}, {0, 0}},
                    F[4][4] = {{0}, {0, 0, 0, 1}, {0, 0, 0, 1}, {mu, -1, -1, 0}};

static small_lcp belbute_peres(const double p[2])
{
    double rows[16], q[4];
    for (int i = 0; i < 4; i++) {
        q[i] = (G[i][0] * p[0] + G[i][1] * p[1]) / m;
        for (int j = 0; j < 4; j++)
            rows[4 * i + j] = (G[i][0] * G[j][0] + G[i][1] * G[j][1]) / m + F[i][j];
    }
    return make_lcp(4, rows, q);
}

/* In how many of n random contacts v = -x = inv(Q)(p + G'z) is right; sign = 1: p = M v + dt f. */
static int count_belbute_peres(double sign, int n)
{
    uint64_t seed = 28;
    int right = 0;
    for (int k = 0; k < n; k++) {
        double v[2] = {uniform(&seed, -1, 1), uniform(&seed, -3, 0)},
               u[2] = {uniform(&seed, -5, 5), 0}, z[4], vx, vz, normal;
        double p[2] = {sign * (m * v[0] + u[0]), sign * (m * v[1] - m * g * h)}, found[2];
        small_lcp lcp = belbute_peres(p);
        if (solve_by(PERP_LCP_LEMKE, &lcp, z, NULL) != PERP_SOLVED) continue;
        for (int i = 0; i < 2; i++) {
            found[i] = p[i] / m;
            for (int j = 0; j < 4; j++) found[i] += G[j][i] * z[j] / m;
        }
        exact(v, u, 0, &vx, &vz, &normal);
        right += fabs(found[0] - vx) < 1e-9 && fabs(found[1] - vz) < 1e-9;
    }
    return right;
}

static void export_belbute_peres(void)
{
    double p[2] = {m * 1, -m * g * h};
    small_lcp lcp = belbute_peres(p);
    study_text(
        "\nThe matrices of Belbute-Peres (2.7) for m = 10 kg, mu = 0.1, v = (1, 0) m/s, h = 1e-3 "
        "s: "
        "Q = diag(%g, %g), p = (%g, %g), G = [0 1; 1 0; -1 0; 0 0], F = [0 0 0 0; 0 0 0 1; 0 0 0 "
        "1; %g -1 -1 0]. "
        "Without x, as input for `perp solve`:\n\n```json\n{\"M\": [",
        m, m, p[0], p[1], F[3][0]);
    for (int i = 0; i < 4; i++) {
        study_text("%s[", i ? ", " : "");
        for (int j = 0; j < 4; j++) study_text("%s%g", j ? ", " : "", lcp.M[i + 4 * j]);
        study_text("]");
    }
    study_text("],\n \"q\": [%g, %g, %g, %g]}\n```\n", lcp.q[0], lcp.q[1], lcp.q[2], lcp.q[3]);
}

/* Bounces of the model with e = 0.5, and the particle of the blog. */
static void draw(void)
{
    run r[2];
    for (int k = 0; k < 2; k++) {
        perp_model *model = load_model("examples/notes/particle.perp");
        set_value(model, "e", k ? 0.5 : 0);
        r[k] = run_model(model, 1.8, h);
    }
    perp_series z[2], v[2];
    static const char *const names[] = {"e = 0", "e = 0.5"};
    for (int k = 0; k < 2; k++) {
        double *t = column(&r[k], "t");
        z[k] =
            (perp_series){.label = names[k], .x = t, .y = column(&r[k], "z"), .n = (int)r[k].nrow};
        v[k] =
            (perp_series){.label = names[k], .x = t, .y = column(&r[k], "vx"), .n = (int)r[k].nrow};
    }
    perp_axis time = {.label = "t", .unit = "s"};
    perp_panel panels[] = {
        {.x = time,
         .y = {.label = "height z", .unit = "m"},
         .series = z,
         .nseries = 2,
         .height = 180},
        {.x = time, .y = {.label = "vx", .unit = "m/s"}, .series = v, .nseries = 2, .height = 180}};
    perp_figure figure = {.title = "Falling particle: every impact brakes the sliding",
                          .panels = panels,
                          .npanels = 2};
    save_figure(&figure, "notes-2.7-particle.svg");
    for (int k = 0; k < 2; k++) free_run(&r[k]);
}

void particle(void)
{
    static const char figure[] = "notes-2.7-particle.svg";
    int n = 500, printed = count_right((variant){.constant = 1}, n),
        right = count_right((variant){.constant = -1}, n),
        with_D = count_right((variant){.constant = -1, .rows_of_D = 1}, n),
        bounces = count_right((variant){.constant = -1, .e = 0.5}, n);
    double worst = beside_the_model(), up[2] = {0.5, 1}, u[2] = {0};
    draw();
    claim("2.7", "constant vector M v_k + (0, -mg) + u", SLIPS, printed == n, NULL,
          "right in %d of %d random contacts", printed, n);
    claim("2.7 corrected", "constant vector -(M v_k + (0, -mg) + u)", HOLDS,
          right == n && worst < 1e-9, figure,
          "right in %d of %d; all six unknowns as in the model's run to %.0e", right, n, worst);
    claim("2.7", "compact form: gamma e + D v", SLIPS, with_D == n, NULL,
          "right in %d of %d; with D'v in %d", with_D, n, right);
    claim("2.7", "a constant c in the second row gives restitution", HOLDS, bounces == n, figure,
          "c = e v_n, e = 0.5: v_n+ = -e v_n in %d of %d", bounces, n);
    small_lcp p = particle_problem(up, u, (variant){.constant = -1});
    solutions s = all_solutions(&p, is_free);
    int along = s.rays > 0;
    for (int k = 0; k < s.rays; k++) along = along && fabs(s.ray[k][GAMMA] - 1) < 1e-9;
    claim("2.7 corrected", "in the air gamma is unbounded", HOLDS, along, NULL,
          "the search of all supports finds %d ray(s), along gamma", s.rays);
    printed = count_belbute_peres(-1, n), right = count_belbute_peres(1, n);
    claim("2.7 Belbute-Peres", "x = -v, q = -M v_k + (0, mg) - u", SLIPS, printed == n, NULL,
          "right in %d of %d random contacts", printed, n);
    claim("2.7 Belbute-Peres, corrected", "q = +(M v_k + dt f); G and F as printed", HOLDS,
          right == n, NULL, "right in %d of %d", right, n);
    export_belbute_peres();
}
