/* Every word of perp_lcp_solve_batch against exact arithmetic, in all arrangements, with lanes that are full and not; and the
 * numbers of each problem against those of a solve of its own.
 * 1e4 problems; PERP_LONG=1: 1e6. PERP_SEED chooses others. */

#include "judge_lcp.h"

/* Faults of the present code (class, fault, 1 where only the long run is sure to find it): each line goes with its cure. */
static const uncured faults[] = {
    {"none", "NONE", 0},
};

enum { LARGEST = 6, BATCH = 37, CLASSES = DRAW_boxes };

/* What is called, one row of the table each; soa: interleaved, a structure of arrays. */
static const struct {
    const char *name;
    perp_lcp_method method;
    int interleaved, shared;
} calls[] = {
    {"auto", PERP_LCP_AUTO, 0, 0},
    {"auto-soa", PERP_LCP_AUTO, 1, 0},
    {"auto-shared", PERP_LCP_AUTO, 0, 1},
    {"lemke", PERP_LCP_LEMKE, 0, 0},
    {"lemke-soa", PERP_LCP_LEMKE, 1, 0},
    {"lemke-shared", PERP_LCP_LEMKE, 0, 1},
    {"lemke-soa-shared", PERP_LCP_LEMKE, 1, 1},
    {"bpp", PERP_LCP_BPP, 0, 0},
    {"bpp-shared", PERP_LCP_BPP, 0, 1},
    {"fb", PERP_LCP_FB, 0, 0},
};
enum { CALLS = sizeof calls / sizeof *calls };

/* Problems of one size and class, waiting for a batch. */
typedef struct group {
    int count;
    judged problem[BATCH];
} group;

/* Entry e of problem k of `count`, each of `size` entries. */
static size_t place(int e, int k, int count, int size, int interleaved)
{
    return interleaved ? (size_t)e * (size_t)count + (size_t)k
                       : (size_t)k * (size_t)size + (size_t)e;
}

/* With a shared M all problems get that of the first: they are other problems then, whose M and q may be in units far apart,
 * so that a solution is near where there is none. */
static void share(group *g)
{
    int class = g->problem[0].class, is_scaled = class == DRAW_binary_scaled ||
                                                 class == DRAW_beside || class == DRAW_tiny ||
                                                 class == DRAW_huge;
    for (int k = 1; k < g->count; k++) {
        memcpy(g->problem[k].drawn.M, g->problem[0].drawn.M, sizeof g->problem[k].drawn.M);
        g->problem[k].solvable = g->problem[k].feasible = -2;
        g->problem[k].drawn.wide_margin &= g->problem[0].drawn.wide_margin && !is_scaled;
    }
}

/* Each problem has the word of a solve of its own, and its numbers to the bit. */
static void compare_with_single(const judged *p, int call, perp_outcome outcome, const double *z)
{
    static perp_lcp_solver *solver[CALLS];
    double single[LARGEST] = {0};
    perp_lcp_info info = {.size = sizeof info};
    if (!solver[call]) solver[call] = solver_for(calls[call].method, 0);
    assert_int_equal(perp_lcp_solve(solver[call], &p->drawn.lcp, single, NULL, &info), PERP_OK);
    if (info.outcome != outcome || memcmp(single, z, (size_t)p->drawn.lcp.n * sizeof *z) != 0)
        fail_msg("%s %lu, %s: a batch says %s, a solve of its own %s", draw_class_name(p->class),
                 p->index, calls[call].name, perp_outcome_name(outcome),
                 perp_outcome_name(info.outcome));
}

static void solve(tally *t, int call, perp_lcp_batch_solver *solver, group *g)
{
    static double M[BATCH * LARGEST * LARGEST], q[BATCH * LARGEST], z[BATCH * LARGEST];
    int n = g->problem[0].drawn.lcp.n, in = calls[call].interleaved, solved, words = 0;
    perp_outcome outcome[BATCH];
    for (int k = 0; k < g->count; k++) {
        const perp_lcp *lcp = &g->problem[k].drawn.lcp;
        for (int e = 0; e < n * n; e++) {
            double x = lcp->M[e % n + e / n * lcp->ldm];
            if (calls[call].shared)
                M[e] = x; /* the same of all */
            else
                M[place(e, k, g->count, n * n, in)] = x;
        }
        for (int e = 0; e < n; e++) q[place(e, k, g->count, n, in)] = lcp->q[e];
    }
    perp_lcp_batch batch = {.count = g->count,
                            .n = n,
                            .M = M,
                            .q = q,
                            .shared_M = calls[call].shared,
                            .interleaved = in};
    assert_int_equal(perp_lcp_solve_batch(solver, &batch, z, outcome, &solved), PERP_OK);
    for (int k = 0; k < g->count; k++) {
        double own[LARGEST];
        for (int e = 0; e < n; e++) own[e] = z[place(e, k, g->count, n, in)];
        words += outcome[k] == PERP_SOLVED;
        judge_word(t, call, &g->problem[k], outcome[k], own);
        if (!calls[call].shared) compare_with_single(&g->problem[k], call, outcome[k], own);
    }
    assert_int_equal(words, solved);
}

static void solve_all(tally *t, perp_lcp_batch_solver *const *solver, group *g)
{
    if (g->count == 0) return;
    for (int shared = 0; shared < 2; shared++) {
        if (shared) share(g);
        for (int call = 0; call < CALLS; call++) {
            if (calls[call].shared == shared) solve(t, call, solver[call], g);
        }
    }
    g->count = 0;
}

static void every_word_is_true(void **state)
{
    (void)state;
    static tally t = {.what = "words of perp_lcp_solve_batch", .methods = CALLS};
    static group groups[LARGEST + 1];
    static judged p;
    perp_lcp_batch_solver *solver[CALLS];
    long each = problems(10000) / CLASSES;
    name_classes(&t);
    for (int k = 0; k < CALLS; k++) {
        t.method_name[k] = calls[k].name;
        assert_int_equal(
            perp_lcp_batch_solver_create(calls[k].method, LARGEST, 1, NULL, &solver[k]), PERP_OK);
    }
    printf("seed %llu, %ld problems of each class\n", (unsigned long long)seed_of_run(), each);
    for (int c = 0; c < CLASSES; c++) {
        for (unsigned long k = 0; k < (unsigned long)each; k++) {
            draw_judged(&p, c, k);
            if (p.drawn.lcp.n > LARGEST) continue;
            group *g = &groups[p.drawn.lcp.n];
            draw_judged(&g->problem[g->count++], c, k);
            if (g->count == BATCH) solve_all(&t, solver, g);
        }
        for (int n = 1; n <= LARGEST; n++) solve_all(&t, solver, &groups[n]);
    }
    for (int k = 0; k < CALLS; k++) perp_lcp_batch_solver_destroy(solver[k]);
    check_tally(&t, faults, sizeof faults / sizeof *faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_is_true),
    };
    return run_all(tests);
}
