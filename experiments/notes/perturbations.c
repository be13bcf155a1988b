/* Notes 3.2: what errors in M and q do to sticking. The traditional problem with v = 0, u = 1, mu = 2 (m = h = g = 1); velocities come
 * from the true dynamics, v+ = v + u + l+ - l-. */

#include "notes.h"
#include "support/support.h"

#include <math.h>
#include <string.h>

enum { ENTRIES = 12, VALUES = 21, DRAWS = 20000, SDS = 6 };

static const char *const names[ENTRIES] = {"M11", "M12", "M13", "M21", "M22", "M23",
                                           "M31", "M32", "M33", "q1",  "q2",  "q3"};
static const double exact[ENTRIES] = {1,  -1, 1, -1, 1,  1,
                                      -1, -1, 0, 1,  -1, 2}; /* M by rows, then q for u = 1 */

typedef struct answer {
    perp_outcome outcome;
    double v, gamma;
} answer;

static answer solve_entries(const double *entry, double u)
{
    double z[3];
    small_lcp p = make_lcp(3, entry, entry + 9);
    answer a = {.outcome = solve_by(PERP_LCP_LEMKE, &p, z, NULL)};
    if (a.outcome == PERP_SOLVED) a.v = u + z[0] - z[1], a.gamma = z[2];
    return a;
}

static int sticks(answer a)
{
    return a.outcome == PERP_SOLVED && fabs(a.v) < 1e-9;
}

static double velocity(const double *z)
{
    return 1 + z[0] - z[1];
}

/* With q2 + d the velocity of the only solution is d for d > 0 and d/2 for d < 0: how many of the 20 values are so? */
static int slips_as_proved(void)
{
    int proved = 0;
    for (int k = 0; k < VALUES; k++) {
        double d = -1 + 0.1 * k, q[] = {1, -1 + d, 2};
        small_lcp p = make_lcp(3, exact, q);
        solutions s = all_solutions(&p, NULL);
        proved += k != VALUES / 2 && s.count == 1 && s.rays == 0 &&
                  fabs(velocity(s.z[0]) - (d > 0 ? d : d / 2)) < 1e-9;
    }
    return proved;
}

/* At how many values of entry e has the problem a solution, vertices and rays included, that slips? */
static int others_slip(int e)
{
    int count = 0;
    for (int k = 0; k < VALUES; k++) {
        double entry[ENTRIES];
        int slip = 0;
        memcpy(entry, exact, sizeof entry);
        entry[e] += k == VALUES / 2 ? 0 : -1 + 0.1 * k;
        small_lcp p = make_lcp(3, entry, entry + 9);
        solutions s = all_solutions(&p, NULL);
        for (int i = 0; i < s.count; i++) slip |= fabs(velocity(s.z[i])) > 1e-9;
        for (int i = 0; i < s.rays; i++) slip |= fabs(s.ray[i][0] - s.ray[i][1]) > 1e-9;
        count += slip;
    }
    return count;
}

/* Each entry alone, in 21 values from -1 to 1 about its own. */
static void sweep(void)
{
    static perp_span spans[ENTRIES * VALUES];
    int others[ENTRIES], as_said = 0;
    int all = 0, half = 0, lost[ENTRIES] = {0}, lost_gamma[ENTRIES] = {0};
    for (int e = 0; e < ENTRIES; e++) {
        for (int k = 0; k < VALUES; k++) {
            double entry[ENTRIES], d = -1 + 0.1 * k;
            memcpy(entry, exact, sizeof entry);
            entry[e] += k == VALUES / 2 ? 0 : d;
            answer a = solve_entries(entry, 1);
            int rests = a.outcome == PERP_SOLVED && fabs(a.gamma) < 1e-9;
            lost[e] += !sticks(a), lost_gamma[e] += !rests;
            spans[e * VALUES + k] = (perp_span){.from = d - 0.05,
                                                .to = d + 0.05,
                                                .row = e,
                                                .mode = sticks(a)                  ? 0
                                                        : rests                    ? 1
                                                        : a.outcome == PERP_SOLVED ? 2
                                                                                   : 3};
        }
        all += lost[e] == 0;
        others[e] = others_slip(e);
        as_said += lost[e] > 0 || others[e] == (e == 0 || e == 3 || e == 8 ? VALUES / 2 : 0);
        half += lost_gamma[e] == VALUES / 2 && (e == 1 || e == 4 || e == 9 || e == 10);
    }
    static const char *const modes[] = {"v = 0 exactly", "moves with gamma = 0",
                                        "moves with gamma > 0", "no solution found"};
    perp_strip strip = {.rows = names,
                        .nrows = ENTRIES,
                        .modes = modes,
                        .nmodes = 4,
                        .spans = spans,
                        .nspans = ENTRIES * VALUES};
    perp_panel panel = {.x = {.label = "added to the entry"}, .strip = &strip};
    perp_figure figure = {.title =
                              "One wrong entry: does the block still stick? (v = 0, u = 1, mu = 2)",
                          .panels = &panel,
                          .npanels = 1};
    save_figure(&figure, "notes-3.2-sweep.svg");
    claim("3.2", "with a single wrong entry of M or q the solution is usually stable", HOLDS,
          all == 8, "notes-3.2-sweep.svg",
          "the solution that Lemke's method gives sticks exactly at all %d values for %d of 12 "
          "entries",
          VALUES, all);
    claim(
        "3.2 added",
        "for M11, M21 and M33 other solutions than Lemke's slip at 10 of 21 values, for the other "
        "five none",
        HOLDS, as_said == ENTRIES, NULL,
        "values at which the search of all supports finds one that slips: M11 %d, M21 %d, M33 %d; "
        "M13 %d, M23 %d, M31 %d, M32 %d, q3 %d",
        others[0], others[3], others[8], others[2], others[5], others[6], others[7], others[11]);
    claim("3.2 added", "for q1, q2, M12, M22 gamma = 0 is lost in half of the range", HOLDS,
          half == 4, "notes-3.2-sweep.svg", "at %d of %d values for %d of these four entries",
          VALUES / 2, VALUES, half);
    int proved = slips_as_proved();
    claim("3.2 added", "exact sticking is lost at 10 values by q1 and M12, at 20 by q2 and M22",
          HOLDS, lost[9] == 10 && lost[1] == 10 && lost[10] == 20 && lost[4] == 20 && proved == 20,
          "notes-3.2-sweep.svg",
          "q1 %d, M12 %d, q2 %d, M22 %d of 21; with q2 + d the only solution has the velocity d "
          "for d > 0 and d/2 "
          "for d < 0, at %d of 20 values",
          lost[9], lost[1], lost[10], lost[4], proved);
}

typedef struct noise {
    double sticks, rests; /* fractions of the draws: v = 0; gamma = 0 */
    double solved, mean_v;
} noise;

static noise draw_noise(double sd, double u)
{
    uint64_t seed = 32;
    noise n = {0};
    for (int k = 0; k < DRAWS; k++) {
        double entry[ENTRIES];
        for (int e = 0; e < ENTRIES; e++)
            entry[e] = (e < 9 || e == 11 || u > 0 ? exact[e] : 0) + sd * normal(&seed);
        answer a = solve_entries(entry, u);
        if (a.outcome != PERP_SOLVED) continue;
        n.solved += 1.0 / DRAWS;
        n.sticks += sticks(a) / (double)DRAWS;
        n.rests += (a.gamma == 0) / (double)DRAWS;
        n.mean_v += fabs(a.v);
    }
    n.mean_v /= n.solved * DRAWS;
    return n;
}

static void gaussian(void)
{
    static const double sd[SDS] = {0.001, 0.01, 0.03, 0.1, 0.2, 0.3};
    double stick[SDS], rest[SDS], speed[SDS], most = 0, lo = 1, hi = 0;
    for (int k = 0; k < SDS; k++) {
        noise n = draw_noise(sd[k], 1);
        stick[k] = 100 * n.sticks, rest[k] = 100 * n.rests, speed[k] = n.mean_v;
        most = fmax(most, n.sticks);
        lo = fmin(lo, n.rests), hi = fmax(hi, n.rests);
    }
    perp_series series[] = {{.label = "v = 0",
                             .x = sd,
                             .y = stick,
                             .n = SDS,
                             .style = PERP_STYLE_LINE_POINTS,
                             .color = 1},
                            {.label = "gamma = 0",
                             .x = sd,
                             .y = rest,
                             .n = SDS,
                             .style = PERP_STYLE_LINE_POINTS,
                             .color = 2}};
    perp_series mean = {.label = "mean |v|",
                        .x = sd,
                        .y = speed,
                        .n = SDS,
                        .style = PERP_STYLE_LINE_POINTS,
                        .color = 3};
    perp_axis x = {.label = "standard deviation of the noise", .scale = PERP_SCALE_LOG};
    perp_panel panels[] = {{.x = x,
                            .y = {.label = "draws", .unit = "%", .lo = -5, .hi = 100},
                            .series = series,
                            .nseries = 2},
                           {.x = x,
                            .y = {.label = "|v|", .unit = "m/s", .scale = PERP_SCALE_LOG},
                            .series = &mean,
                            .nseries = 1}};
    perp_figure figure = {.title = "Noise on all entries, v = 0, u = 1, mu = 2",
                          .panels = panels,
                          .npanels = 2,
                          .columns = 2};
    save_figure(&figure, "notes-3.2-noise.svg");
    claim("3.2", "random noise on all entries breaks sticking", HOLDS, most == 0,
          "notes-3.2-noise.svg", "%.2f %% of %d draws stick at any of the %d sizes of noise",
          100 * most, DRAWS, SDS);
    claim("3.2 added", "gamma = 0 in 50-58 % of the draws, so gamma = 0 does not mean v = 0", HOLDS,
          lo >= 0.49 && hi <= 0.59, "notes-3.2-noise.svg", "%.1f to %.1f %%", 100 * lo, 100 * hi);
    noise still = draw_noise(0.1, 0);
    claim("3.2", "u = 0: now and then right, when all of q is positive by chance", HOLDS,
          fabs(still.sticks - 0.25) < 0.02, NULL, "%.1f %% stick (q1, q2 > 0: 25 %%)",
          100 * still.sticks);
}

/* 3.2.1: -eps in the first entry of q, v = u = 0. */
static void bias(void)
{
    double mu = 2, off = 0, printed = 0, corrected = 0;
    for (int k = 1; k <= 20; k++) {
        double eps = 0.1 * k, q[] = {-eps, 0, mu};
        small_lcp p = make_lcp(3, exact, q);
        solutions s = all_solutions(&p, NULL);
        if (s.count == 0) off = (double)INFINITY;
        for (int i = 0; i < s.count; i++) {
            const double *z = s.z[i];
            off = fmax(off, fmax(fabs(z[0] - z[1] - eps / 2), fabs(z[2] - eps / 2)));
            printed = fmax(printed, fmax(fabs(z[0] - mu), fabs(z[1])));
            corrected = fmax(
                corrected, fmax(fabs(z[0] - (mu + eps / 2) / 2), fabs(z[1] - (mu - eps / 2) / 2)));
        }
    }
    claim("3.2.1", "an error -eps in q1 gives v = gamma = eps/2", HOLDS, off < 1e-9, NULL,
          "all solutions, eps = 0.1..2: to %.0e", off);
    claim("3.2.1", "with l+ = mu m g, l- = 0", SLIPS, printed < 1e-6, NULL, "off by up to %.3g",
          printed);
    claim("3.2.1 corrected", "l+ = (mu + eps/2)/2, l- = (mu - eps/2)/2", HOLDS, corrected < 1e-9,
          NULL, "to %.0e", corrected);
}

/* 3.2.2: a1 u and -a2 u in q. */
static void antisymmetric(void)
{
    uint64_t seed = 322;
    double gamma = 0, velocity = 0;
    int stuck = 0, tried = 0, other = 0, others = 0, lost = 0, losses = 0, n = 2000;
    for (int k = 0; k < n; k++) {
        double a1 = uniform(&seed, 0.5, 1.5), a2 = uniform(&seed, 0.5, 1.5),
               u = uniform(&seed, 0.1, 0.5) * (k % 2 ? 1 : -1), v, q[] = {a1 * u, -a2 * u, 2};
        small_lcp p = make_lcp(3, exact, q);
        solutions s = all_solutions(&p, NULL);
        if (s.count == 0) velocity = (double)INFINITY;
        for (int i = 0; i < s.count; i++) {
            const double *z = s.z[i];
            v = u + z[0] - z[1];
            gamma = fmax(gamma, fabs(z[2] - fmax(0, (a2 - a1) * u / 2)));
            if (u > 0)
                velocity = fmax(velocity, fabs(v - u * (a2 > a1 ? 1 - (a1 + a2) / 2 : 1 - a2)));
            if (u > 0 && a1 >= a2) tried++, stuck += fabs(v) < 1e-9;
            if (u > 0 && a2 > a1) losses++, lost += z[2] > 0;
            if (u < 0 && a1 > a2) others++, other += z[2] > 0;
        }
    }
    claim("3.2.2", "if a2 > a1 we no longer have sticking (u > 0)", HOLDS, lost == losses, NULL,
          "gamma > 0 in %d of %d", lost, losses);
    claim("3.2.2", "if u is negative we lose sticking the other way", HOLDS, other == others, NULL,
          "a1 > a2: gamma > 0 in %d of %d", other, others);
    claim("3.2.2", "else sticking is kept", SLIPS, stuck == tried, NULL,
          "a1 >= a2, u > 0: v = 0 in %d of %d", stuck, tried);
    claim("3.2.2 corrected",
          "gamma = max(0, (a2 - a1) u/2); v+ = u (1 - (a1 + a2)/2) if a2 > a1, else u (1 - a2)",
          HOLDS, gamma < 1e-9 && velocity < 1e-9, NULL,
          "all solutions of %d random problems: to %.0e and %.0e", n, gamma, velocity);
}

void perturbations(void)
{
    sweep();
    gaussian();
    bias();
    antisymmetric();
}
