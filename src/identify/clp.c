#include "identify/clp.h"

#ifdef PERP_HAVE_CLP

#include <Clp_C_Interface.h>
#include <string.h>

int perp__lp_available(void)
{
    return 1;
}

int perp__lp_solve(const perp__lp *lp, double *x)
{
    Clp_Simplex *model = Clp_newModel();
    if (!model) return 0;
    Clp_setLogLevel(model, 0);
    Clp_loadProblem(model, lp->ncolumn, lp->nrow, lp->start, lp->index, lp->value, lp->lo, lp->hi,
                    lp->cost, lp->row_lo, lp->row_hi);
    Clp_setOptimizationDirection(model, 1);
    Clp_primal(model, 0);
    int optimal = Clp_status(model) == 0;
    if (optimal) memcpy(x, Clp_getColSolution(model), (size_t)lp->ncolumn * sizeof(double));
    Clp_deleteModel(model);
    return optimal;
}

#else

int perp__lp_available(void)
{
    return 0;
}

int perp__lp_solve(const perp__lp *lp, double *x)
{
    (void)lp;
    (void)x;
    return 0;
}

#endif
