/* Notes 3.1.1 to 3.1.3, with their corrections: the direct formulation with actual and with slack friction, two ReLUs, and what a
 * structured basis of M can represent. Prints a line a claim, with a verdict.
 *
 *     experiment_direct MODEL */

#include "perp/perp.h"
#include "support/random.h"
#include "support/verdicts.h"
#include "../../tests/support/outcomes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double relu(double x)
{
    return fmax(0, x);
}

/* v+ of the block, mu m g = 1, c = v + u. */
static double next_velocity(double c)
{
    return c > 0 ? relu(c - 1) : -relu(-c - 1);
}

/* Rows of one step each, with actual or slack friction. */
static perp_dataset *draw(int n, int slack, perp_diag *diag)
{
    perp_dataset *data;
    uint64_t state = 5;
    if (perp_dataset_create(&data) != PERP_OK) return NULL;
    for (int k = 0; k < n; k++) {
        double v = uniform(&state, -2, 2), u = uniform(&state, -2, 2), c = v + u,
               next = next_velocity(c);
        double plus = relu(next - c),
               minus = relu(c - next); /* actual friction forward and backward */
        double l1 = slack ? relu(next) - c + 1 : plus, l2 = slack ? relu(-next) + c + 1 : minus;
        char text[400];
        int length = snprintf(
            text, sizeof text,
            "t,v,u,l1,l2,xp,xm\n0,%.17g,0,0,0,0,0\n1,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", v,
            next, u, l1, l2, relu(next), relu(-next));
        perp_trajectory *table;
        if (perp_trajectory_parse(text, (size_t)length, "point", &table, diag) != PERP_OK ||
            perp_dataset_add(data, table, "point", diag) != PERP_OK) {
            perp_dataset_destroy(data);
            return NULL;
        }
    }
    return data;
}

/* Worst entry against the truth of the slack formulation, and the cost. */
static int fit(const perp_model *model, int n, int slack, double *worst, double *cost,
               perp_diag *diag)
{
    static const struct {
        const char *name;
        double value;
    } truth[] = {{"G[1,1]", 1}, {"G[1,2]", 0},  {"G[2,1]", 0},  {"G[2,2]", 1},  {"W[1,1]", 1},
                 {"W[1,2]", 1}, {"W[1,3]", -1}, {"W[2,1]", -1}, {"W[2,2]", -1}, {"W[2,3]", -1}};
    perp_dataset *data = draw(n, slack, diag);
    perp_identify_options o;
    perp_identification a = {.size = sizeof a};
    *worst = *cost = 0;
    if (!data || perp_identify_options_default(model, &o, diag) != PERP_OK) return 0;
    int ok = run_identify(model, data, &o, &a, diag) == PERP_OK;
    perp_dataset_destroy(data);
    if (!ok) return 0;
    for (int i = 0; i < a.nparameter; i++) {
        for (int k = 0; k < 10; k++) {
            if (strcmp(truth[k].name, a.parameter[i].name) == 0)
                *worst = fmax(*worst, fabs(a.parameter[i].value - truth[k].value));
        }
    }
    *cost = a.cost;
    perp_identification_clear(&a);
    return 1;
}

static void direct(const perp_model *model, perp_diag *diag)
{
    double worst, cost;
    int ok = fit(model, 60, 1, &worst, &cost, diag);
    printf("3.1.2, slack friction, 60 points: worst entry off by %.1e, cost %.1e\n", worst, cost);
    verdict("the penalty method recovers W and G = I of the slack formulation", ok && worst < 1e-5);
    ok = fit(model, 60, 0, &worst, &cost, diag);
    printf("3.1.1, actual friction, 60 points: what is left over costs %.3f\n", cost);
    verdict("with actual friction no affine map with these conditions fits (2.5 is infeasible for "
            "c != 0)",
            ok && cost > 0.1);
}

/* Against the traditional formulation, solved. */
static void two_relus(void)
{
    static const double M[9] = {1, -1, -1, -1, 1, -1, 1, 1, 0};
    double worst = 0;
    uint64_t state = 9;
    perp_lcp_solver *solver;
    if (perp_lcp_solver_create(PERP_LCP_LEMKE, 3, NULL, &solver) != PERP_OK) return;
    for (int k = 0; k < 30000; k++) {
        double c = uniform(&state, -4, 4), q[3] = {c, -c, 1}, l[3];
        perp_lcp lcp = {.n = 3, .M = M, .ldm = 3, .q = q};
        perp_lcp_info info = {.size = sizeof info};
        int solved =
            perp_lcp_solve(solver, &lcp, l, NULL, &info) == PERP_OK && info.outcome == PERP_SOLVED;
        worst = fmax(worst, solved ? fabs(relu(c - 1) - relu(-c - 1) - (c + l[0] - l[1])) : 1);
    }
    perp_lcp_solver_destroy(solver);
    printf("Remark 4: relu(c - mu) - relu(-c - mu) against the solved steps, 30000 draws: off by "
           "%.1e\n",
           worst);
    verdict("two ReLUs represent the map, sticking included", worst < 1e-12);
}

/* M = v v' + skew: column-major. */
static void structure(void)
{
    const double M[9] = {1, -1, -1, -1, 1, -1, 1, 1, 0}, v[3] = {-1, 1, 0};
    double skew = 0, apart = 0;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            double rest = M[i + 3 * j] - v[i] * v[j], mirrored = M[j + 3 * i] - v[j] * v[i];
            skew = fmax(skew, fabs(rest + mirrored));
            apart += 0.25 * (M[i + 3 * j] - M[j + 3 * i]) * (M[i + 3 * j] - M[j + 3 * i]);
        }
    }
    perp_lcp_class class = {.size = sizeof class};
    perp_lcp lcp = {.n = 3, .M = M, .ldm = 3};
    int ok = perp_lcp_classify(&lcp, &class) == PERP_OK;
    printf("3.1.3: M - v v' is skew up to %g; the nearest symmetric matrix is %.3f away\n", skew,
           sqrt(apart));
    verdict("M = v v' + skew with v = (-1, 1, 0), so M is positive semidefinite",
            skew == 0 && ok && class.positive_semidefinite > 0);
    verdict("only a symmetric G cannot represent it", apart > 1);
}

int main(int argc, char **argv)
{
    perp_diag diag = {0};
    perp_model *model = NULL;
    if (argc < 2) {
        fprintf(stderr, "usage: experiment_direct MODEL\n");
        return 1;
    }
    if (perp_model_load(argv[1], &model, &diag) == PERP_OK) {
        direct(model, &diag);
        two_relus();
        structure();
    }
    fputs(perp_diag_text(&diag), stderr);
    failures += diag.errors;
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    return failures != 0;
}
