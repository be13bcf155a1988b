/* Time of a step of the documents' problems by pivoting, prox and the nonlinear program, in one run.
 *
 *     experiment_speed [FIGURES TABLE]        from the root of the project
 *
 * Without arguments, as in the tests, fewer and smaller problems. Exit code 1 when a verdict is not the expected one. */

#include "support/boxes.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_N = CORNERS * BOXES * 6, METHODS = 6, PROBLEMS = 9, MOST_COUNT = 50 };

static const perp_lcp_method methods[METHODS] = {PERP_LCP_LEMKE, PERP_LCP_AUTO, PERP_LCP_BPP,
                                                 PERP_LCP_IPM,   PERP_LCP_PROX, PERP_LCP_NLP};

typedef struct problem_set {
    const char *name;
    int n, count;
    double *M, *q; /* count of each */
} problem_set;

static void make_small(problem_set *s, const char *name, int n, const double *rows,
                       const double *fixed, const double *with_c)
{
    uint64_t seed = 6;
    *s = (problem_set){.name = name, .n = n, .count = MOST_COUNT};
    s->M = allocate(sizeof *s->M * (size_t)(n * n * s->count)),
    s->q = allocate(sizeof *s->q * (size_t)(n * s->count));
    for (int k = 0; k < s->count; k++) {
        double c = uniform(&seed, -2, 2);
        for (int i = 0; i < n; i++) {
            s->q[k * n + i] = fixed[i] + c * with_c[i];
            for (int j = 0; j < n; j++) s->M[k * n * n + i + j * n] = rows[i * n + j];
        }
    }
}

static void make_stack(problem_set *s, const char *name, int boxes, int count)
{
    static contacts c;
    for (int k = 0; k < count; k++) {
        make_boxes(&c, name, boxes, CORNERS, 0.01 * (k + 1));
        if (k == 0) {
            int n = perp_fc_lcp_size(&c.problem, 4);
            *s = (problem_set){.name = name, .n = n, .count = count};
            s->M = allocate(sizeof *s->M * (size_t)(n * n * count)),
            s->q = allocate(sizeof *s->q * (size_t)(n * count));
        }
        if (perp_fc_to_lcp(&c.problem, 4, s->M + k * s->n * s->n, s->q + k * s->n) != PERP_OK)
            die("speed: no linear problem");
    }
}

typedef struct result {
    double seconds; /* a problem */
    int solved,
        worked; /* worked: of these problems, those that took more than one step for each pair */
} result;

/* Times are the best of several rounds over the problems; what counts as solved is verified by the driver. */
static result measure(const problem_set *s, perp_lcp_method method)
{
    result r = {.seconds = (double)INFINITY};
    perp_lcp_solver *solver;
    double z[MOST_N], begin = now_s();
    if (perp_lcp_solver_create(method, s->n, NULL, &solver) != PERP_OK)
        return (result){.seconds = (double)NAN};
    for (int round = 0; round < 20 && (round == 0 || now_s() - begin < 0.3); round++) {
        double start = now_s();
        r.solved = r.worked = 0;
        for (int k = 0; k < s->count; k++) {
            perp_lcp lcp = {
                .n = s->n, .M = s->M + k * s->n * s->n, .ldm = s->n, .q = s->q + k * s->n};
            perp_lcp_info info = {.size = sizeof info};
            perp_lcp_solve(solver, &lcp, z, NULL, &info);
            r.solved += info.outcome == PERP_SOLVED;
            r.worked += info.iterations > s->n; /* pairs that stand alone count one each */
        }
        r.seconds = fmin(r.seconds, (now_s() - start) / s->count);
    }
    perp_lcp_solver_destroy(solver);
    return r;
}

static int make_problems(problem_set *s)
{
    static const double direct[] = {1, 0, 0, 1}, direct_q[] = {1, 1}, direct_c[] = {-1, 1};
    static const double block[] = {1, -1, 1, -1, 1, 1, -1, -1, 0}, block_q[] = {0, 0, 1},
                        block_c[] = {1, -1, 0};
    static const double particle[] = {0.1, 0,    0,   0, 0,   0.1, -0.1, 1,
                                      0,   -0.1, 0.1, 1, 0.1, -1,  -1,   0},
                        particle_q[] = {-4, 0, 0, 0}, particle_c[] = {0, 1, -1, 0};
    int n = 0;
    make_small(&s[n++], "block, direct (notes 2.2)", 2, direct, direct_q, direct_c);
    make_small(&s[n++], "block, traditional (notes 2.6)", 3, block, block_q, block_c);
    make_small(&s[n++], "particle (notes 2.7, prox V.A, blog)", 4, particle, particle_q,
               particle_c);
    make_stack(&s[n++], "box, 4 contacts with 4 facets", 1, study_is_quick() ? 2 : 10);
    if (study_is_quick()) return n;
    make_stack(&s[n++], "2 boxes", 2, 5);
    make_stack(&s[n++], "3 boxes", 3, 5);
    make_stack(&s[n++], "5 boxes, 20 contacts", 5, 3);
    return n;
}

static void draw(const problem_set *s, int count, result r[PROBLEMS][METHODS])
{
    static double x[PROBLEMS], y[METHODS][PROBLEMS];
    static char label[METHODS][48];
    perp_series series[METHODS];
    for (int m = 0; m < METHODS; m++) {
        int all = 0;
        for (int k = 0; k < count; k++) {
            x[k] = s[k].n, y[m][k] = 1e6 * r[k][m].seconds;
            all += r[k][m].solved == s[k].count;
        }
        snprintf(label[m], sizeof label[m], "%s (%d of %d)", perp_lcp_method_name(methods[m]), all,
                 count);
        series[m] = (perp_series){
            .label = label[m], .x = x, .y = y[m], .n = count, .style = PERP_STYLE_LINE_POINTS};
    }
    save_plot("speed.svg",
              "Time of a step; in brackets: kinds of problems that the method solves entirely",
              (perp_axis){.label = "unknowns n", .scale = PERP_SCALE_LOG},
              (perp_axis){.label = "time", .unit = "us", .scale = PERP_SCALE_LOG}, series, METHODS);
}

/* The same boxes with exact cones, as the prox paper states them: microseconds and count of solved. */
static void cones(int boxes, int count)
{
    static const perp_fc_method cone_methods[] = {PERP_FC_PROX, PERP_FC_NSGS, PERP_FC_AUTO};
    static contacts c;
    study_text("| %d | %d ", boxes, 3 * CORNERS * boxes);
    for (int m = 0; m < 3; m++) {
        double r[MOST_R], seconds = 0;
        int solved = 0;
        for (int k = 0; k < count; k++) {
            perp_fc_solver *solver;
            perp_fc_info info = {.size = sizeof info};
            make_boxes(&c, "", boxes, CORNERS, 0.01 * (k + 1));
            if (perp_fc_solver_create(cone_methods[m], &c.problem, NULL, &solver) != PERP_OK)
                die("speed: no solver");
            double start = now_s();
            perp_fc_solve(solver, &c.problem, r, NULL, &info);
            seconds += (now_s() - start) / count;
            solved += info.outcome == PERP_SOLVED;
            perp_fc_solver_destroy(solver);
        }
        study_text("| %.3g", 1e6 * seconds);
        if (solved < count) study_text(" *%d/%d*", solved, count);
        study_text(" ");
    }
    study_text("|\n");
}

int main(int argc, char **argv)
{
    static problem_set s[PROBLEMS];
    static result r[PROBLEMS][METHODS];
    study_begin("Time of a step: pivoting, prox, nonlinear program", argc, argv);
    int count = make_problems(s), pivoting = 0, all = 0;
    double least = (double)INFINITY;
    study_text("Microseconds a problem, solved from scratch. A run of a model keeps its mode from "
               "step to step and is faster. *k/n*: solved k of n.\n\n| problem | n ");
    for (int m = 0; m < METHODS; m++) study_text("| %s ", perp_lcp_method_name(methods[m]));
    study_text("|\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (int k = 0; k < count; k++) {
        study_text("| %s | %d ", s[k].name, s[k].n);
        for (int m = 0; m < METHODS; m++) {
            r[k][m] = measure(&s[k], methods[m]);
            study_text("| %.3g", 1e6 * r[k][m].seconds);
            if (r[k][m].solved < s[k].count) study_text(" *%d/%d*", r[k][m].solved, s[k].count);
            study_text(" ");
        }
        study_text("|\n");
        pivoting += r[k][0].solved, all += s[k].count;
        if (r[k][METHODS - 1].worked && isfinite(r[k][METHODS - 1].seconds))
            least = fmin(least, r[k][METHODS - 1].seconds / r[k][0].seconds);
    }
    draw(s, count, r);
    claim("prox VI", "pivoting finds the solutions that exist", HOLDS, pivoting == all, "speed.svg",
          "lemke solves %d of %d, all verified", pivoting, all);
    if (isfinite(least))
        claim("blog", "\"IPOPT is not really the right solver for this\"", HOLDS, least > 10,
              "speed.svg", "at least %.0f times the time of lemke", least);
    if (count > 4)
        study_text("\nLemke's time from one box to five grows as n^%.1f (the prox paper: "
                   "approximately cubic).\n",
                   log(r[count - 1][0].seconds / r[3][0].seconds) /
                       log((double)s[count - 1].n / s[3].n));
    study_text("\nThe same boxes with exact cones, to a residual of 1e-8, microseconds:\n\n| boxes "
               "| n | prox (adaptive) | nsgs | auto |\n"
               "| --- | --- | --- | --- | --- |\n");
    for (int boxes = 1; boxes <= (study_is_quick() ? 1 : BOXES); boxes += 2) cones(boxes, 5);
    for (int k = 0; k < count; k++) free(s[k].M), free(s[k].q);
    return study_end();
}
