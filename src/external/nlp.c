/* IPOPT's C interface, loaded when it is first asked for. */

#include "base/memory.h"
#include "base/tol.h"
#include "external/nlp.h"

#ifdef PERP_HAVE_IPOPT

#include "external/library.h"

#include <IpStdCInterface.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

/* The functions of IPOPT, which is loaded by the first solve: with its linear algebra that takes
 * longer than a whole simulation of a small model. */
static struct {
    __typeof__(CreateIpoptProblem) *create;
    __typeof__(FreeIpoptProblem) *destroy;
    __typeof__(AddIpoptStrOption) *set_word;
    __typeof__(AddIpoptNumOption) *set_number;
    __typeof__(AddIpoptIntOption) *set_integer;
    __typeof__(SetIntermediateCallback) *set_progress;
    __typeof__(IpoptSolve) *solve;
} ipopt;
static const char NAME[] = "IPOPT";

static perp_status load(void)
{
    static int state;
    const perp__library_symbol symbol[] = {{"CreateIpoptProblem", &ipopt.create},
                                           {"FreeIpoptProblem", &ipopt.destroy},
                                           {"AddIpoptStrOption", &ipopt.set_word},
                                           {"AddIpoptNumOption", &ipopt.set_number},
                                           {"AddIpoptIntOption", &ipopt.set_integer},
                                           {"SetIntermediateCallback", &ipopt.set_progress},
                                           {"IpoptSolve", &ipopt.solve}};
    return perp__library_load(PERP_HAVE_IPOPT, sizeof symbol / sizeof *symbol, symbol, &state);
}

int perp__nlp_available(void)
{
    return load() != PERP_ERR_UNAVAILABLE;
}

typedef struct call {
    const perp__nlp_problem *nlp;
    int stopped;
} call;

static Bool answer(int ok)
{
    perp__library_enter(NAME);
    return ok ? TRUE : FALSE;
}

/* The problem that a callback is about, in our own code until `answer`. */
static const perp__nlp_problem *own(UserDataPtr data)
{
    perp__library_enter(NULL);
    return ((call *)data)->nlp;
}

static Bool eval_f(Index n, Number *x, Bool is_new, Number *value, UserDataPtr data)
{
    const perp__nlp_problem *p = own(data);
    (void)n;
    (void)is_new;
    return answer(p->f(p->context, x, value) && isfinite(*value));
}

static Bool eval_gradient(Index n, Number *x, Bool is_new, Number *value, UserDataPtr data)
{
    const perp__nlp_problem *p = own(data);
    (void)n;
    (void)is_new;
    return answer(p->gradient(p->context, x, value));
}

static Bool eval_g(Index n, Number *x, Bool is_new, Index m, Number *value, UserDataPtr data)
{
    const perp__nlp_problem *p = own(data);
    (void)n;
    (void)is_new;
    (void)m;
    return answer(p->g(p->context, x, value));
}

static Bool eval_jacobian(Index n, Number *x, Bool is_new, Index m, Index count, Index *row,
                          Index *col, Number *value, UserDataPtr data)
{
    const perp__nlp_problem *p = own(data);
    (void)n;
    (void)is_new;
    (void)m;
    (void)count;
    return answer(p->jacobian(p->context, x, row, col, value));
}

static Bool eval_hessian(Index n, Number *x, Bool is_new, Number sigma, Index m, Number *lambda,
                         Bool is_new_lambda, Index count, Index *row, Index *col, Number *value,
                         UserDataPtr data)
{
    const perp__nlp_problem *p = own(data);
    (void)n;
    (void)is_new;
    (void)m;
    (void)is_new_lambda;
    (void)count;
    return answer(p->hessian(p->context, x, sigma, lambda, row, col, value));
}

static Bool report(Index mode, Index iteration, Number cost, Number primal, Number dual, Number mu,
                   Number norm, Number delta, Number alpha_dual, Number alpha, Index trials,
                   UserDataPtr data)
{
    call *c = data;
    const perp__nlp_problem *p = own(data);
    (void)mode;
    (void)norm;
    (void)delta;
    (void)alpha_dual;
    (void)trials;
    c->stopped = p->progress && !p->progress(p->context, iteration, cost, primal, dual, mu, alpha);
    return answer(!c->stopped);
}

/* Copies with what is beyond 1e19 made infinite in IPOPT's terms. */
static void copy_bounds(int n, const double *from, double *to)
{
    for (int i = 0; i < n; i++) {
        if (from[i] < -PERP_NLP_INFINITE)
            to[i] = -2 * PERP_NLP_INFINITE;
        else if (from[i] > PERP_NLP_INFINITE)
            to[i] = 2 * PERP_NLP_INFINITE;
        else
            to[i] = from[i];
    }
}

static void set_options(IpoptProblem problem, const perp__nlp_options *o)
{
    ipopt.set_integer(problem, "print_level", 0);
    ipopt.set_word(problem, "sb", "yes");
    ipopt.set_integer(problem, "max_iter", o->max_iter);
    ipopt.set_number(problem, "tol", o->tol);
    ipopt.set_number(problem, "compl_inf_tol", PERP_TOL_INNER * o->tol);
    ipopt.set_number(problem, "bound_relax_factor", 0); /* or bounds are not what they say */
    ipopt.set_word(problem, "honor_original_bounds", "yes");
    if (!o->is_warm) return;
    ipopt.set_word(problem, "warm_start_init_point", "yes");
    ipopt.set_number(problem, "warm_start_bound_push", 1e-6);
    ipopt.set_number(problem, "warm_start_mult_bound_push", 1e-6);
    ipopt.set_number(problem, "mu_init", 1e-4);
}

perp__nlp_status perp__nlp_solve(const perp__nlp_problem *nlp, const perp__nlp_options *o,
                                 double *x, double *lambda, double *lower, double *upper,
                                 double *cost)
{
    int n = nlp->n, m = nlp->m;
    perp_status loaded = load();
    if (loaded == PERP_ERR_MEMORY) return PERP__NLP_MEMORY;
    if (loaded != PERP_OK) return PERP__NLP_UNAVAILABLE;
    call c = {nlp, 0};
    double *bounds = malloc((2 * (size_t)n + 2 * (size_t)m + 1) * sizeof *bounds);
    if (!bounds) return PERP__NLP_MEMORY;
    double *xlo = bounds, *xhi = xlo + n, *glo = xhi + n, *ghi = glo + m;
    copy_bounds(n, nlp->xlo, xlo);
    copy_bounds(n, nlp->xhi, xhi);
    copy_bounds(m, nlp->glo, glo);
    copy_bounds(m, nlp->ghi, ghi);
    /* MUMPS, IPOPT's usual linear solver, is sequential code with globals: one problem at a time in
     * the whole process. */
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one);
    perp__library_enter(NAME);
    perp__library_watch();
    IpoptProblem problem = ipopt.create(n, xlo, xhi, m, glo, ghi, nlp->njac, nlp->nhess, 0, eval_f,
                                        eval_g, eval_gradient, eval_jacobian, eval_hessian);
    free(bounds); /* it keeps copies */
    enum ApplicationReturnStatus status = Insufficient_Memory;
    if (problem) {
        set_options(problem, o);
        ipopt.set_progress(problem, report);
        status = ipopt.solve(problem, x, NULL, cost, lambda, lower, upper, &c);
        ipopt.destroy(problem);
    }
    if (perp__library_lacked_memory()) status = Insufficient_Memory;
    perp__library_enter(NULL);
    pthread_mutex_unlock(&one);
    if (c.stopped) return PERP__NLP_STOPPED;
    if (status == Solve_Succeeded || status == Solved_To_Acceptable_Level) return PERP__NLP_SOLVED;
    if (status == Maximum_Iterations_Exceeded) return PERP__NLP_LIMIT;
    if (status == Insufficient_Memory) return PERP__NLP_MEMORY;
    return PERP__NLP_STALLED;
}

#else

int perp__nlp_available(void)
{
    return 0;
}

perp__nlp_status perp__nlp_solve(const perp__nlp_problem *nlp, const perp__nlp_options *o,
                                 double *x, double *lambda, double *lower, double *upper,
                                 double *cost)
{
    (void)nlp;
    (void)o;
    (void)x;
    (void)lambda;
    (void)lower;
    (void)upper;
    (void)cost;
    return PERP__NLP_UNAVAILABLE;
}

#endif
