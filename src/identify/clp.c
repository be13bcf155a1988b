#include "identify/clp.h"

#ifdef PERP_HAVE_CLP

#include "base/library.h"

#include <Clp_C_Interface.h>
#include <pthread.h>
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
static int is_loaded;

static void load(void)
{
    const perp__symbol symbol[] = {{"Clp_newModel", &clp.create},
                                   {"Clp_deleteModel", &clp.destroy},
                                   {"Clp_setLogLevel", &clp.set_log_level},
                                   {"Clp_loadProblem", &clp.load},
                                   {"Clp_setOptimizationDirection", &clp.set_direction},
                                   {"Clp_primal", &clp.primal},
                                   {"Clp_status", &clp.status},
                                   {"Clp_getColSolution", &clp.solution}};
    is_loaded = perp__library_load(PERP_HAVE_CLP, sizeof symbol / sizeof *symbol, symbol);
}

int perp__lp_available(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_loaded;
}

int perp__lp_solve(const perp__lp *lp, double *x)
{
    if (!perp__lp_available()) return 0;
    perp__library_enter("Clp");
    Clp_Simplex *model = clp.create();
    if (!model) {
        perp__library_enter(NULL);
        return 0;
    }
    clp.set_log_level(model, 0);
    clp.load(model, lp->ncolumn, lp->nrow, lp->start, lp->index, lp->value, lp->lo, lp->hi,
             lp->cost, lp->row_lo, lp->row_hi);
    clp.set_direction(model, 1);
    clp.primal(model, 0);
    int optimal = clp.status(model) == 0;
    if (optimal) memcpy(x, clp.solution(model), (size_t)lp->ncolumn * sizeof(double));
    clp.destroy(model);
    perp__library_enter(NULL);
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
