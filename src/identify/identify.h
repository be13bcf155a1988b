/* Internal: shared by the estimators. identify.c checks options and data and makes a study of them.
 * An estimator searches the box of the parameters for the smallest cost. report.c assesses the
 * answer. */

#ifndef PERP_SRC_IDENTIFY_H
#define PERP_SRC_IDENTIFY_H

#include "base/base.h"
#include "perp/identify.h"

/* A measured column: where it stands in a row of the simulation, and how it is weighed. */
typedef struct perp__measured {
    const char *name, *unit;
    perp_symbol_kind kind;
    int index;     /* among the model's symbols of this kind */
    int sim;       /* column of a simulation's row */
    double scale;  /* a residual is (predicted - measured) / scale */
    int has_noise; /* scale is the noise of a sample */
    int moves;     /* its samples are not all the same */
    double size;   /* the largest sample */
} perp__measured;

/* One run; columns are NULL where the table has none. */
typedef struct perp__recording {
    const perp_trajectory *table;
    const char *name;
    int rows;
    const double *t;
    const double **state, **input; /* per state and input of the model */
    const double **measure;        /* per measured column; NaN: a missing sample */
    long *at;                      /* steps of the simulation from the first row to this one */
} perp__recording;

typedef struct perp__study {
    const perp_model *model;
    const perp_dataset *data;
    perp_identify_options options;
    int np, nm, nrun, nstate, ninput;
    int *param;             /* indices among the model's parameters */
    double *lo, *hi, *from; /* np: range, and the model's value within it */
    char *log_scale;        /* np: searched in the logarithm */
    char *depends; /* nstate: its initial value is written in terms of an estimated parameter, not
                      taken from the data */
    perp__measured *measured;
    perp__recording *run;
    double step;
    perp_integrator integrator;
    int parts, merged; /* a step is taken in so many; so many steps are one */
    int threads;
    perp_diag *diag;
} perp__study;

/* study.c */
/* The estimator and the derivatives are among those that there are; PERP_ERR_ARG after saying
 * so. */
perp_status perp__check_choices(const perp_identify_options *options, perp_diag *diag);

perp_status perp__study_create(perp__study *study, const perp_model *model,
                               const perp_dataset *data, const perp_identify_options *options,
                               perp_diag *diag);
void perp__study_clear(perp__study *study);
/* Is the value that state k has at a row no measurement? It is the model's own, at the first
 * row. */
int perp__starts_exactly(const perp__study *study, const perp__recording *run, int row, int k);
/* 0 when memory is out. */
int perp__set_parameters(const perp__study *study, perp_model *model, const double *theta);

/* predictor.c: the model run from the data's initial states. Residuals are ordered by run, row,
 * measured column; NaN where there is no sample. */
typedef struct perp__predictor perp__predictor;
perp_status perp__predictor_create(const perp__study *study, perp__predictor **out);
void perp__predictor_destroy(perp__predictor *predictor);
long perp__predictor_residuals(const perp__predictor *predictor);
/* PERP_OK, PERP_ERR_MEMORY, or another status where the model has no verified solution. The first
 * reason is kept. */
perp_status perp__predictor_evaluate(void *predictor, const double *theta, double *residual);
/* d residual / d theta, n x np, column-major, through the solved steps; the same statuses, where
 * they do not determine it. */
perp_status perp__predictor_differentiate(void *predictor, const double *theta, double *jacobian);
/* 1: only a few runs, spread over the data, so that a point is cheap to look at; 0: all. */
void perp__predictor_take_part(void *predictor, int part);
/* From now on predictions begin at the measured states plus sigma (for each state; kept by the
 * caller) times `sign`, times 1 or -1 at random for each prediction and state. NULL: at the
 * measured states. */
void perp__predictor_move_starts(void *predictor, const double *sigma, int sign, int draw);
const char *perp__predictor_fault(const perp__predictor *predictor);

/* least_squares.c: minimise sum rho(r_i(theta)) over the box, in coordinates z in [0, 1]. */
struct perp__minimum;
typedef struct perp__problem {
    int np;
    long n;
    const double *lo, *hi;
    const char *log_scale;
    double huber;         /* 0: squares */
    const double *weight; /* n: of each rho(r_i); NULL: 1 */
    double width;         /* of the differences, in units of a range */
    int fixed_width;      /* it stays narrow */
    perp_status (*evaluate)(void *context, const double *theta, double *residual);
    /* NULL, or exact derivatives with respect to theta; PERP_OK, or there are none: then
     * differences */
    perp_status (*differentiate)(void *context, const double *theta, double *jacobian);
    void *context;
    void (*take_part)(
        void *context,
        int part); /* NULL, or: from now on look at a part of the data (1), at all (0) */
    void (*minimise)(struct perp__problem *problem, struct perp__minimum *minimum); /* NULL:
                                                                        Levenberg-Marquardt */
    /* NULL, or options whose `progress` is called after each evaluation */
    const perp_identify_options *watch;
    perp_identify_progress so_far; /* counted here */
    /* PERP_OK; PERP_ERR_MEMORY or PERP_ERR_STOPPED: no point has a value from then on */
    perp_status status;
    double *trial, *up, *down; /* n each: work space */
    double *square;            /* two matrices and perp__invert_doubles, and */
    int *index;                /* 3 np: for the damped step */
} perp__problem;

typedef struct perp__minimum {
    double *z, *theta;            /* np */
    double *residual;             /* n */
    double *jacobian;             /* n x np, column-major: d residual / d z */
    double cost;                  /* infinite: no value */
    int iterations, flat, is_cut; /* is_cut: ended by the limit of iterations */
} perp__minimum;

int perp__problem_allocate(perp__problem *problem);
void perp__problem_free(perp__problem *problem);
int perp__minimum_allocate(perp__minimum *minimum, const perp__problem *problem);
void perp__minimum_free(perp__minimum *minimum);
void perp__to_theta(const perp__problem *problem, const double *z, double *theta);
void perp__to_z(const perp__problem *problem, const double *theta, double *z);
double perp__cost_of(const perp__problem *problem, const double *residual);
double perp__cost_at(perp__problem *problem, const double *z, double *residual);
/* Levenberg-Marquardt from minimum->z, a point of the box. */
void perp__minimise(perp__problem *problem, perp__minimum *minimum, int max_iter, double tol);
/* One step from a flat point. The derivatives are differences over `width`, which are those of the
 * motion smoothed over it. The step's length is the best of several. Returns 1 if it lowered the
 * cost. */
int perp__move_smoothed(perp__problem *problem, perp__minimum *minimum, double width);
int perp__differentiate(perp__problem *problem, const perp__minimum *at, double *jacobian);
/* Set the width from the derivatives at a point (whose residual is filled in). It is narrow, unless
 * a wide difference disagrees with a narrow one. This happens where each sequence of contacts has a
 * valley of its own. */
void perp__choose_width(perp__problem *problem, perp__minimum *at);
int perp__looks_wide(const perp__problem *problem);
void perp__look_narrow(perp__problem *problem);
/* A = J' W J and g = J' W r with Huber's weights W. */
void perp__normal_equations(const perp__problem *problem, const perp__minimum *at, double *A,
                            double *g);

/* search.c: from many starts to the best minimum, differentiated. The starts go into the result. */
perp_status perp__search(const perp__study *study, perp__problem *problem, perp__minimum *best,
                         perp_identification *result);
/* PERP_ERR_STOPPED, after saying so: no point had a value when `progress` ended the search. */
perp_status perp__stopped(const perp__study *study);
/* How far above the least cost is the same, but for where a search ends; how many searches ended
 * there. */
double perp__same_cost(const perp__problem *problem, double least);
int perp__agreeing(const perp__problem *problem, const perp_identification *result, double least);

/* Does nothing depend on parameter i at the minimum? */
int perp__changes_nothing(const perp__problem *problem, const perp__minimum *minimum, int i);

/* report.c: intervals, left-overs and findings from the residuals and Jacobian at the estimate. dof
 * (np): degrees of freedom of each parameter's variance. */
perp_status perp__report(const perp__study *study, perp__problem *problem,
                         const perp__minimum *minimum, double *dof, perp_identification *result);
/* x with P(|T| <= x) = confidence, T of Student's distribution. */
double perp__student_quantile(double confidence, long dof);
/* bootstrap.c: standard errors and intervals from resampled runs, when the options ask for them. */
perp_status perp__bootstrap(const perp__study *study, perp__problem *problem,
                            const perp__minimum *best, perp_identification *result);
/* start_noise.c: the effect of noise in initial states of predictions on the estimates. Their
 * covariance grows, and findings report it. *is_biased: the estimates have an error, too. The
 * problem's context is a predictor. */
perp_status perp__start_noise(const perp__study *study, perp__problem *problem,
                              const perp__minimum *minimum, const double *dof, int *is_biased,
                              perp_identification *result);
/* What is found out about a fit before its intervals are judged, and by that. */
typedef struct perp__worth {
    int is_biased;   /* by the noise that predictions begin with */
    int is_off;      /* steps are too far from the motion; a finding says so */
    int is_no_noise; /* the residual */
} perp__worth;

/* time_error.c: what the error of the steps does to the estimates; findings say so. */
perp_status perp__time_error(const perp__study *study, const perp__problem *problem,
                             const perp__minimum *minimum, perp__worth *worth,
                             perp_identification *result);
/* interval.c: keeps the intervals where they were checked, else takes them back and says why. */
perp_status perp__judge_intervals(const perp__study *study, perp__problem *problem,
                                  const perp__minimum *minimum, perp__worth *worth,
                                  perp_identification *result);
/* d theta_i / d z_i */
double perp__slope(const perp__study *study, const double *theta, int i);
/* Standard errors and intervals of the parameters that are identifiable, from the covariance; dof:
 * of each variance. */
void perp__fill_intervals(const perp__study *study, const double *dof, perp_identification *result);
/* Add a sentence; 0 when memory is out. */
int perp__finding(perp_identification *result, const char *format, ...) PERP_PRINTF(2, 3);

/* An estimator fills the result from a study. */
typedef struct perp__estimator {
    perp_status (*run)(perp__study *study, perp_identification *result);
} perp__estimator;

#define PERP_ESTIMATOR(name, suffix, summary) extern const perp__estimator perp__estimator_##name;
#include "perp/estimators.def"
#undef PERP_ESTIMATOR

#endif
