/* Nonlinear programs by IPOPT, whose header nlp.c alone includes:
 *
 *     minimize f(x)   subject to   glo <= g(x) <= ghi,   xlo <= x <= xhi
 *
 * Without it in the build (PERP_HAVE_IPOPT, the name of its file, undefined) or on this machine
 * there are none. Its word is not taken: callers verify. */

#ifndef PERP_SRC_EXTERNAL_NLP_H
#define PERP_SRC_EXTERNAL_NLP_H

/* Callbacks return 0 where a function is not defined at x. Sparse derivatives are asked for their
 * places first (value == NULL), then for their values in the same order. */
typedef struct perp__nlp_problem {
    int n, m, njac, nhess;
    const double *xlo, *xhi, *glo,
        *ghi; /* n, n, m, m; beyond PERP_NLP_INFINITE there is no bound */
    int (*f)(void *context, const double *x, double *value);
    int (*gradient)(void *context, const double *x, double *value);
    int (*g)(void *context, const double *x, double *value);
    int (*jacobian)(void *context, const double *x, int *row, int *col, double *value);
    int (*hessian)(void *context, const double *x, double sigma, const double *lambda, int *row,
                   int *col, double *value); /* lower triangle of sigma f + lambda'g */
    int (*progress)(void *context, int iteration, double cost, double infeasibility, double dual,
                    double mu, double alpha); /* nullable; 0 stops */
    void *context;
} perp__nlp_problem;

typedef struct perp__nlp_options {
    double tol;
    int max_iter;
    int is_warm; /* x and the multipliers are those of a solve of nearly the same program */
} perp__nlp_options;

typedef enum perp__nlp_status {
    PERP__NLP_SOLVED,
    PERP__NLP_LIMIT,
    PERP__NLP_STALLED,
    PERP__NLP_STOPPED,
    PERP__NLP_MEMORY,
    PERP__NLP_UNAVAILABLE
} perp__nlp_status;

/* The first call loads the library; without memory for that, perp__nlp_solve says so. */
int perp__nlp_available(void);

/* x: in guess, out; lambda (m), lower, upper (n): multipliers, in if is_warm, out. Allocates inside
 * the library. */
perp__nlp_status perp__nlp_solve(const perp__nlp_problem *nlp, const perp__nlp_options *options,
                                 double *x, double *lambda, double *lower, double *upper,
                                 double *cost);

#endif
