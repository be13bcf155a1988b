/* auto - Lemke first; what it leaves without an answer is searched completely when it is small (n <= 8:
 * beyond that a refusal would take seconds). The driver verifies.
 *
 * Cost: that of lemke, and of enumerate where lemke fails. */

#include "solve/solver.h"

enum { SEARCH_UP_TO = 8 };

static size_t auto_doubles(int n)
{
    return perp__lemke.doubles(n);
}

static size_t auto_ints(int n)
{
    return perp__lemke.ints(n);
}

static perp_outcome auto_solve(perp_solver *s, const perp_lcp *lcp, double *z, int *iterations)
{
    perp_outcome outcome = perp__lemke.solve(s, lcp, z, iterations);
    if (outcome == PERP_SOLVED || lcp->n > SEARCH_UP_TO) return outcome;
    int searched;
    perp_outcome found = perp__enumerate.solve(s, lcp, z, &searched);
    return found == PERP_SOLVED ? found : outcome;
}

const perp__solver perp__auto = {auto_doubles, auto_ints, auto_solve};
