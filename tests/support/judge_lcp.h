/* The judge of words about linear problems, for the tests that ask it: each solver alone, batches, scaled problems. */

#ifndef PERP_TEST_JUDGE_LCP_H
#define PERP_TEST_JUDGE_LCP_H

#include "draw_lcp.h"
#include "exact.h"
#include "tally.h"

#include "perp/lcp.h"

/* One problem with what exact arithmetic says of it; asked for once, when first needed. */
typedef struct judged {
    drawn_lcp drawn;
    int class, solvable, feasible; /* -2: not asked yet */
    unsigned long index;
} judged;

static inline void draw_judged(judged *p, int class, unsigned long index)
{
    draw_lcp((draw_class) class, seed_of_run(), index, &p->drawn);
    p->class = class;
    p->index = index;
    p->feasible = p->solvable = -2;
}

static inline int is_solvable(judged *p)
{
    if (p->solvable == -2) p->solvable = exact_has_solution(&p->drawn.lcp);
    return p->solvable;
}

/* Bounds: "infeasible" says that there is no solution. */
static inline int is_feasible(judged *p)
{
    if (p->feasible == -2)
        p->feasible = p->drawn.lcp.lo ? is_solvable(p) : exact_is_feasible(&p->drawn.lcp);
    return p->feasible;
}

static const double TOL =
    1e-10 * 1.001; /* the default of options.tol; the judge rounds its last division */
static const double DATA = 1e-6;

static inline void judge_word(tally *t, int method, judged *p, perp_outcome outcome,
                              const double *z)
{
    char text[DRAW_JSON];
    int c = p->class, found = -1;
    double error = 0;
    t->outcome[c][method][outcome]++;
    if (outcome == PERP_SOLVED) {
        exact_error e = exact_lcp_error(&p->drawn.lcp, z);
        error = fmax(e.own, e.data);
        if (is_solvable(p) == 0 && p->drawn.wide_margin)
            found = FAULT_NONE;
        else if (!(e.own <= TOL))
            found = FAULT_OWN;
        else if (!(e.data <= DATA) && !exact_is_near_solution(&p->drawn.lcp, z, 1e-8))
            found = FAULT_DATA;
        else if (is_solvable(p) == 0)
            t->near[c][method]++;
    } else if (outcome == PERP_INFEASIBLE && is_feasible(p) == 1)
        found = FAULT_FEASIBLE;
    else if (is_solvable(p) == 1)
        t->missed[c][method]++;
    if (found >= 0)
        add_fault(t, c, method, (fault)found, p->index, error, draw_json(&p->drawn.lcp, text));
}

/* Is there a vertex that double precision decides, and that rounding of the data has not made? Then it is no matter of rounding
 * that a complete method finds nothing. */
static inline int has_decidable_solution(judged *p)
{
    static const unsigned char no_free[DRAW_MAX];
    static exact_set truth;
    const perp_lcp *lcp = &p->drawn.lcp;
    if (lcp->lo || is_solvable(p) != 1) return 0;
    exact_solutions(lcp, no_free, &truth);
    for (int k = 0; k < truth.npoint; k++) {
        if (exact_is_decidable(lcp, truth.point[k]) &&
            exact_is_stable(lcp, no_free, truth.point[k]))
            return 1;
    }
    return 0;
}

static inline void judge_refusal(tally *t, int method, judged *p, perp_outcome outcome)
{
    char text[DRAW_JSON];
    if (outcome != PERP_SOLVED && has_decidable_solution(p))
        add_fault(t, p->class, method, FAULT_REFUSED, p->index, 0, draw_json(&p->drawn.lcp, text));
}

static inline void name_classes(tally *t)
{
    t->classes = DRAW_CLASSES;
    for (int c = 0; c < DRAW_CLASSES; c++) t->class_name[c] = draw_class_name((draw_class)c);
}

static inline perp_lcp_solver *solver_for(perp_lcp_method method, int mixed)
{
    perp_lcp_options o = perp_lcp_options_default(method);
    perp_lcp_solver *solver;
    o.mixed = mixed;
    perp_status status = perp_lcp_solver_create(method, DRAW_MAX, &o, &solver);
    if (status == PERP_ERR_UNAVAILABLE) return NULL;
    assert_int_equal(status, PERP_OK);
    return solver;
}

#endif
