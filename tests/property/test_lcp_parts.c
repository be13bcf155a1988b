/* Problems that share no unknown, in one matrix with their rows mixed: each has the verdict and, to the bit, the numbers that it has
 * alone; a proof or a ray of one is one of all. */

#include "judge_lcp.h"

enum { PARTS = 4, LARGEST = PARTS * DRAW_MAX };

/* What became of one solve. */
typedef struct answer {
    perp_outcome outcome;
    int n;
    double z[LARGEST], w[LARGEST];
    unsigned char basis[LARGEST];
} answer;

static void solve(perp_lcp_solver *solver, const perp_lcp *lcp, answer *a)
{
    perp_lcp_info info = {.size = sizeof info};
    memset(a, 0, sizeof *a);
    a->n = lcp->n;
    assert_int_equal(perp_lcp_solve(solver, lcp, a->z, a->w, &info), PERP_OK);
    a->outcome = info.outcome;
    if (a->outcome != PERP_SOLVED) return;
    assert_true(info.error <= 1e-10);
    memcpy(a->basis, perp_lcp_basis(solver), (size_t)lcp->n);
}

/* Row i of part p is row place[p][i] of the whole. */
typedef struct whole {
    perp_lcp lcp;
    int place[PARTS][DRAW_MAX];
    double M[LARGEST * LARGEST], q[LARGEST], lo[LARGEST], hi[LARGEST];
} whole;

static void put_together(const judged *part, int many, whole *w)
{
    int next[PARTS] = {0}, n = 0, any = 1, has_bounds = part[0].drawn.lcp.lo != NULL;
    memset(w, 0, sizeof *w);
    for (int k = 0; any; k++) { /* one row of each in turn, the third part's in pairs */
        any = 0;
        for (int p = 0; p < many; p++) {
            for (int t = 0; t < (p == 2 ? 2 : 1); t++) {
                if (next[p] < part[p].drawn.lcp.n) w->place[p][next[p]++] = n++, any = 1;
            }
        }
    }
    w->lcp = (perp_lcp){n, w->M, n, w->q, has_bounds ? w->lo : NULL, has_bounds ? w->hi : NULL};
    for (int p = 0; p < many; p++) {
        const perp_lcp *lcp = &part[p].drawn.lcp;
        for (int j = 0; j < lcp->n; j++) {
            int to = w->place[p][j];
            for (int i = 0; i < lcp->n; i++)
                w->M[w->place[p][i] + to * n] = lcp->M[i + j * lcp->ldm];
            w->q[to] = lcp->q[j];
            w->lo[to] = lcp->lo ? lcp->lo[j] : 0,
            w->hi[to] = lcp->hi ? lcp->hi[j] : (double)INFINITY;
        }
    }
}

static void compare(const whole *w, const answer *all, const judged *part, const answer *alone,
                    int many, perp_lcp_method method)
{
    int solved = 1, infeasible = 0;
    for (int p = 0; p < many; p++) {
        solved &= alone[p].outcome == PERP_SOLVED;
        infeasible |= alone[p].outcome == PERP_INFEASIBLE;
    }
    if ((all->outcome == PERP_SOLVED) != solved || (all->outcome == PERP_INFEASIBLE) != infeasible)
        fail_msg("%s, %s %lu and %d more: %s together", perp_lcp_method_name(method),
                 draw_class_name(part[0].class), part[0].index, many - 1,
                 perp_outcome_name(all->outcome));
    for (int p = 0; p < many && solved; p++) {
        for (int i = 0; i < alone[p].n; i++) {
            int at = w->place[p][i];
            if (memcmp(&all->z[at], &alone[p].z[i], sizeof(double)) != 0 ||
                all->w[at] != alone[p].w[i] || all->basis[at] != alone[p].basis[i])
                fail_msg("%s, %s %lu as part %d: z[%d] = %.17g alone, %.17g beside others",
                         perp_lcp_method_name(method), draw_class_name(part[p].class),
                         part[p].index, p, i, alone[p].z[i], all->z[at]);
        }
    }
}

static void check_proof(const perp_lcp_solver *solver, const whole *w, const answer *all)
{
    if (all->outcome != PERP_INFEASIBLE) return;
    const double *u = perp_lcp_certificate(solver);
    if (!w->lcp.lo) assert_true(u && perp_lcp_is_infeasible(&w->lcp, u, 0));
}

static void what_stands_beside_a_part_changes_nothing(void **state)
{
    (void)state;
    static judged part[PARTS];
    static answer alone[PARTS], all;
    static whole w;
    long each = problems(1500) / DRAW_CLASSES, infeasible = 0, solved = 0;
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
        for (int mixed = 0; mixed < 2; mixed++) {
            perp_lcp_options o = perp_lcp_options_default((perp_lcp_method)m);
            perp_lcp_solver *solver;
            o.mixed = mixed;
            if (m == PERP_LCP_NLP || m == PERP_LCP_ENUMERATE) continue; /* slow; up to 20 pairs */
            assert_int_equal(perp_lcp_solver_create((perp_lcp_method)m, LARGEST, &o, &solver),
                             PERP_OK);
            for (int k = 0; k < each * DRAW_CLASSES; k++) {
                int many = 2 + k % 3, c = k % DRAW_CLASSES;
                for (int p = 0; p < many;
                     p++) { /* one class beside another that has bounds, too, or not */
                    do
                        draw_judged(&part[p], (c + 5 * p) % DRAW_CLASSES,
                                    (unsigned long)(k + 977 * p));
                    while ((part[p].drawn.lcp.lo != NULL) != mixed &&
                           (c = (c + 1) % DRAW_CLASSES, 1));
                    solve(solver, &part[p].drawn.lcp, &alone[p]);
                }
                put_together(part, many, &w);
                solve(solver, &w.lcp, &all);
                compare(&w, &all, part, alone, many, (perp_lcp_method)m);
                check_proof(solver, &w, &all);
                infeasible += all.outcome == PERP_INFEASIBLE, solved += all.outcome == PERP_SOLVED;
            }
            perp_lcp_solver_destroy(solver);
        }
    }
    printf("together: %ld solved, %ld infeasible\n", solved, infeasible);
    assert_true(solved > 1000 && infeasible > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_stands_beside_a_part_changes_nothing),
    };
    return run_all(tests);
}
