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
    __typeof__(Clp_setMaximumIterations) *set_most;
    __typeof__(Clp_primal) *primal;
    __typeof__(Clp_initialSolve) *reduced;
    __typeof__(Clp_status) *status;
    __typeof__(Clp_getColSolution) *solution;
    __typeof__(Clp_getRowPrice) *price;
    __typeof__(Clp_unboundedRay) *unbounded;
    __typeof__(Clp_freeRay) *free_ray;
} clp;

static perp_status load(void)
{
    static int state;
    const perp__library_symbol symbol[] = {{"Clp_newModel", &clp.create},
                                           {"Clp_deleteModel", &clp.destroy},
                                           {"Clp_setLogLevel", &clp.set_log_level},
                                           {"Clp_loadProblem", &clp.load},
                                           {"Clp_setOptimizationDirection", &clp.set_direction},
                                           {"Clp_setMaximumIterations", &clp.set_most},
                                           {"Clp_primal", &clp.primal},
                                           {"Clp_initialSolve", &clp.reduced},
                                           {"Clp_status", &clp.status},
                                           {"Clp_getColSolution", &clp.solution},
                                           {"Clp_getRowPrice", &clp.price},
                                           {"Clp_unboundedRay", &clp.unbounded},
                                           {"Clp_freeRay", &clp.free_ray}};
    return perp__library_load(PERP_HAVE_CLP, sizeof symbol / sizeof *symbol, symbol, &state);
}

int perp__lp_available(void)
{
    return load() != PERP_ERR_UNAVAILABLE;
}

static void take_end(Clp_Simplex *model, const perp__lp *lp, perp__lp_end *end)
{
    enum { OPTIMAL, INFEASIBLE, UNBOUNDED, LIMIT };
    int status = clp.status(model);
    if (status == OPTIMAL && end->price)
        memcpy(end->price, clp.price(model), (size_t)lp->nrow * sizeof *end->price);
    end->is_infeasible = status == INFEASIBLE;
    end->is_cut = status == LIMIT;
    double *ray = status == UNBOUNDED ? clp.unbounded(model) : NULL;
    end->is_unbounded = ray != NULL;
    if (ray && end->unbounded)
        memcpy(end->unbounded, ray, (size_t)lp->ncolumn * sizeof *end->unbounded);
    if (ray) clp.free_ray(model, ray);
}

perp_status perp__lp_solve(const perp__lp *lp, double *x)
{
    return perp__lp_solve_with_end(lp, x, NULL);
}

perp_status perp__lp_solve_with_end(const perp__lp *lp, double *x, perp__lp_end *end)
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
    if (lp->most > 0) clp.set_most(model, lp->most);
    if (lp->is_reduced)
        clp.reduced(model);
    else
        clp.primal(model, 0);
    int optimal = clp.status(model) == 0;
    if (optimal) memcpy(x, clp.solution(model), (size_t)lp->ncolumn * sizeof(double));
    if (end) take_end(model, lp, end);
    clp.destroy(model);
    if (perp__library_lacked_memory())
        status = PERP_ERR_MEMORY;
    else if (optimal)
        status = PERP_OK;
    else
        status = PERP_ERR_NO_SOLUTION;
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
    return perp__lp_solve_with_end(lp, x, NULL);
}

perp_status perp__lp_solve_with_end(const perp__lp *lp, double *x, perp__lp_end *end)
{
    (void)lp;
    (void)x;
    (void)end;
    return PERP_ERR_UNAVAILABLE;
}

#endif
