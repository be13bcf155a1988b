/* Clp's C interface, loaded when it is first asked for. */

#include "external/lp.h"

#ifdef PERP_HAVE_CLP

#include "external/library.h"

#include <Clp_C_Interface.h>
#include <string.h>

/* What is called of Clp, loaded by the first program. */
static struct {
    __typeof__(Clp_newModel) *create;
    __typeof__(Clp_deleteModel) *destroy;
    __typeof__(Clp_setLogLevel) *set_log_level;
    __typeof__(Clp_loadProblem) *load;
    __typeof__(Clp_setOptimizationDirection) *set_direction;
    __typeof__(Clp_primal) *primal;
    __typeof__(Clp_status) *status;
    __typeof__(Clp_getColSolution) *solution;
} clp;

static perp_status load(void)
{
    static int state;
    const perp__symbol symbol[] = {{"Clp_newModel", &clp.create},
                                   {"Clp_deleteModel", &clp.destroy},
                                   {"Clp_setLogLevel", &clp.set_log_level},
                                   {"Clp_loadProblem", &clp.load},
                                   {"Clp_setOptimizationDirection", &clp.set_direction},
                                   {"Clp_primal", &clp.primal},
                                   {"Clp_status", &clp.status},
                                   {"Clp_getColSolution", &clp.solution}};
    return perp__library_load(PERP_HAVE_CLP, sizeof symbol / sizeof *symbol, symbol, &state);
}

int perp__lp_available(void)
{
    return load() != PERP_ERR_UNAVAILABLE;
}

perp_status perp__lp_solve(const perp__lp *lp, double *x)
{
    perp_status status = load();
    if (status != PERP_OK) return status;
    perp__library_enter("Clp");
    perp__library_watch();
    Clp_Simplex *model = clp.create();
    if (!model) {
        perp__library_enter(NULL);
        return PERP_ERR_MEMORY;
    }
    clp.set_log_level(model, 0);
    clp.load(model, lp->ncolumn, lp->nrow, lp->start, lp->index, lp->value, lp->lo, lp->hi,
             lp->cost, lp->row_lo, lp->row_hi);
    clp.set_direction(model, 1);
    clp.primal(model, 0);
    int optimal = clp.status(model) == 0;
    if (optimal) memcpy(x, clp.solution(model), (size_t)lp->ncolumn * sizeof(double));
    clp.destroy(model);
    status = perp__library_lacked_memory() ? PERP_ERR_MEMORY
             : optimal                     ? PERP_OK
                                           : PERP_ERR_NO_SOLUTION;
    perp__library_enter(NULL);
    return status;
}

#else

int perp__lp_available(void)
{
    return 0;
}

perp_status perp__lp_solve(const perp__lp *lp, double *x)
{
    (void)lp;
    (void)x;
    return PERP_ERR_UNAVAILABLE;
}

#endif
