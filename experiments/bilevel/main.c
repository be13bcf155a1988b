/* Notes 3.2.7, Remark 6, and the graphs missing in 3.2.8: the cost of one data point v = 1, v+ = 2, u = 2 as a function of mu, with
 * kinks and plateaus where the corrections say; gradient descent from either side of 7; and what the default method finds from any
 * start. Prints a line a claim, with a verdict; with --curves the three curves as CSV, with --figure as SVG.
 *
 *     experiment_bilevel MODEL POINT.csv [--curves | --figure OUT.svg] */

#include "perp/perp.h"
#include "support/verdicts.h"
#include "../../tests/support/outcomes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The three variants: A hard bounds, B soft nonnegativity of the second sides, C soft forces; weight 5. */
typedef struct study {
    perp_model *model;
    perp_dataset *data;
    perp_diag diag;
} study;

static double cost(study *s, char variant, double mu)
{
    perp_identify_options o;
    perp_identification a = {.size = sizeof a};
    double J = (double)NAN;
    if (perp_model_set(s->model, "mu", mu, &s->diag) != PERP_OK ||
        perp_identify_options_default(s->model, &o, &s->diag) != PERP_OK)
        return J;
    o.starts = 1;
    o.max_iter = 0;
    if (variant == 'B') o.soft_sides = 5;
    if (variant == 'C') o.soft_vars = 5;
    if (run_identify(s->model, s->data, &o, &a, &s->diag) != PERP_OK) return J;
    J = a.start[0].cost;
    perp_identification_clear(&a);
    return J;
}

/* Hard bounds, after the corrections. */
static double remark_6(double mu)
{
    if (mu <= 5.0 / 3) return (mu - 1) * (mu - 1);
    return mu <= 7 ? 3 * mu - (5 + mu) * (5 + mu) / 8 + 1 : 4;
}

static double slope(study *s, char variant, double mu)
{
    return (cost(s, variant, mu + 1e-5) - cost(s, variant, mu - 1e-5)) / 2e-5;
}

static double descend(study *s, double mu)
{
    for (int k = 0; k < 20000; k++) {
        double g = slope(s, 'A', mu);
        if (fabs(g) < 1e-9) break;
        mu -= 0.1 * g;
    }
    return mu;
}

static void hard_bounds(study *s)
{
    double worst = 0, gamma = 0;
    for (double mu = 0.05; mu < 12; mu += 0.05)
        worst = fmax(worst, fabs(cost(s, 'A', mu) - remark_6(mu)));
    for (double mu = 1.8; mu < 6.9; mu += 0.2)
        gamma = fmax(gamma, fabs(slope(s, 'A', mu) - (3 - (5 + mu) / 4)));
    printf("A, hard bounds: J differs from the formula by at most %.1e on (0, 12); dJ/dmu from "
           "gamma by %.1e\n",
           worst, gamma);
    verdict("J = (mu-1)^2 up to 5/3, 3 mu - (5+mu)^2/8 + 1 up to 7, then 4", worst < 1e-8);
    verdict("dJ/dmu = gamma = 3 - (5 + mu)/4 between 5/3 and 7", gamma < 1e-5);
    double below = descend(s, 6.99), above = descend(s, 7.01);
    printf("  gradient descent from 6.99 ends at %.6f, from 7.01 at %.6f\n", below, above);
    verdict("from 6.99 it converges to 1, from 7.01 it is stuck",
            fabs(below - 1) < 1e-4 && above == 7.01);
}

static void soft_bounds(study *s)
{
    double before = cost(s, 'B', 4.999), after = cost(s, 'B', 5.001), far = cost(s, 'B', 20);
    printf("B, soft nonnegativity (weight 5): J(4.999) = %.4f, J(5.001) = %.4f, J(20) = %.4f\n",
           before, after, far);
    verdict("plateau 3.5 from 5 on", fabs(after - 3.5) < 1e-6 && fabs(far - 3.5) < 1e-6);
    verdict("a jump of the slope or of J at 5",
            fabs(after - before) > 1e-2 || fabs(slope(s, 'B', 4.99) - slope(s, 'B', 5.01)) > 1e-2);
    double low = cost(s, 'C', 0.1), left = slope(s, 'C', 0.8), right = slope(s, 'C', 0.87),
           end = cost(s, 'C', 7.5);
    printf("C, soft forces (weight 5): J(0.1) = %.4f, slope %.4f before and %.4f behind 5/6, "
           "J(7.5) = %.4f\n",
           low, left, right, end);
    verdict("J(0.1) = 0.205", fabs(low - 0.205) < 1e-3);
    verdict("flat from 7 on", fabs(end - cost(s, 'C', 50)) < 1e-8);
}

/* Whatever the start, the default method finds mu = 1. */
static void any_start(study *s)
{
    const double starts[] = {0.01, 0.1, 0.9, 2.5, 6.99, 7.01, 30, 100};
    double worst = 0;
    for (int k = 0; k < 8; k++) {
        perp_identify_options o;
        perp_identification a = {.size = sizeof a};
        if (perp_model_set(s->model, "mu", starts[k], &s->diag) != PERP_OK ||
            perp_identify_options_default(s->model, &o, &s->diag) != PERP_OK)
            return;
        o.method = PERP_ESTIMATOR_PREDICT;
        if (run_identify(s->model, s->data, &o, &a, &s->diag) != PERP_OK) return;
        worst = fmax(worst, fabs(a.parameter[0].value - 1));
        perp_identification_clear(&a);
    }
    printf("predict from 8 starts in [0.01, 100]: mu = 1 within %.1e\n", worst);
    verdict("the default method recovers mu = 1 from any start", worst < 1e-6);
}

/* J over mu ---------------------------------------------------------------------------------------- */

enum { POINTS = 180 };

typedef struct curves {
    double mu[POINTS], J[3][POINTS], law[POINTS];
} curves;

static void draw_curves(study *s, curves *c)
{
    for (int k = 0; k < POINTS; k++) {
        c->mu[k] = 0.05 * (k + 1);
        c->law[k] = remark_6(c->mu[k]);
        for (int v = 0; v < 3; v++) c->J[v][k] = cost(s, "ABC"[v], c -> mu[k]);
    }
}

static void print_curves(const curves *c)
{
    printf("mu,A,B,C\n");
    for (int k = 0; k < POINTS; k++)
        printf("%g,%.9g,%.9g,%.9g\n", c->mu[k], c->J[0][k], c->J[1][k], c->J[2][k]);
}

static void write_figure(const curves *c, const char *path, perp_diag *diag)
{
    static const char *const titles[] = {"A: hard nonnegativity, hard forces",
                                         "B: soft nonnegativity (weight 5), hard forces",
                                         "C: hard nonnegativity, soft forces (weight 5)"};
    perp_series series[3][2];
    perp_panel panel[3];
    for (int v = 0; v < 3; v++) {
        series[v][0] = (perp_series){.label = "formula of Remark 6, corrected",
                                     .x = c->mu,
                                     .y = c->law,
                                     .n = POINTS,
                                     .style = PERP_STYLE_GHOST,
                                     .color = 2};
        series[v][1] =
            (perp_series){.label = "J, solved", .x = c->mu, .y = c->J[v], .n = POINTS, .color = 1};
        panel[v] = (perp_panel){.title = titles[v],
                                .x = {.label = "friction coefficient mu", .lo = 0, .hi = 9},
                                .y = {.label = "cost J", .lo = 0, .hi = 4.5},
                                .series = v ? &series[v][1] : series[v],
                                .nseries = v ? 1 : 2};
    }
    perp_figure figure = {.title = "Cost of one data point, v = 1, next v = 2, u = 2 (notes 3.2.8)",
                          .panels = panel,
                          .npanels = 3};
    if (perp_figure_write_svg(&figure, path, diag) != PERP_OK) failures++;
}

int main(int argc, char **argv)
{
    study s = {0};
    if (argc < 3) {
        fprintf(stderr,
                "usage: experiment_bilevel MODEL POINT.csv [--curves | --figure OUT.svg]\n");
        return 1;
    }
    if (perp_model_load(argv[1], &s.model, &s.diag) == PERP_OK &&
        perp_dataset_create(&s.data) == PERP_OK &&
        perp_dataset_read(s.data, argv[2], &s.diag) == PERP_OK) {
        curves c;
        if (argc > 3) draw_curves(&s, &c);
        if (argc > 4 && strcmp(argv[3], "--figure") == 0) {
            write_figure(&c, argv[4], &s.diag);
        } else if (argc > 3) {
            print_curves(&c);
        } else {
            hard_bounds(&s);
            soft_bounds(&s);
            any_start(&s);
        }
    }
    fputs(perp_diag_text(&s.diag), stderr);
    failures += s.diag.errors;
    perp_dataset_destroy(s.data);
    perp_model_destroy(s.model);
    perp_diag_clear(&s.diag);
    return failures != 0;
}
