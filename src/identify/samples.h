/* Single steps of the data as conditions on the parameters. They are every one-sided pair or
 * equation of the model with an estimated parameter, at the measured states, vars and inputs of
 * each step, as an affine function of theta:
 *
 *     0 <= a_s  perp  x_s + g_s' theta >= 0      or      x_s + g_s' theta = 0
 */

#ifndef PERP_SRC_SAMPLES_H
#define PERP_SRC_SAMPLES_H

#include "identify/identify.h"
#include "model/instant.h"

/* A model of one's own, whose graph may grow, and what its symbols become. */
typedef struct perp__sample_builder {
    const perp__study *study;
    perp_model *model;
    perp__instant
        at; /* of its own symbols: states before and at the end of a step, what is measured */
    perp_expr *zero;    /* estimated parameters become 0 */
    int *column;        /* symbol -> estimated parameter, or -1 */
    const char *solved; /* symbol -> 1 if it is solved for and need not be measured; nullable */
    perp_expr *root;
    int nroot;
} perp__sample_builder;

perp_status perp__builder_create(const perp__study *study, perp__sample_builder *builder);
void perp__builder_clear(perp__sample_builder *builder);
perp_expr perp__in_samples(perp__sample_builder *builder, perp_expr e);

/* Values of the model's symbols over one step, from row i - 1 to row i of a run, `stride` apart;
 * NaN where nothing was measured. */
void perp__fill_step(const perp__sample_builder *builder, const perp__recording *run, int i,
                     double *symbol, int stride);

/* PERP_ERR_DATA, with the name, if the roots need a quantity that was measured at none of n
 * steps. */
perp_status perp__check_measured(const perp__sample_builder *builder, const double *ws, int n);

typedef struct perp__condition {
    int is_equation;
    perp_statement statement;
} perp__condition;

typedef struct perp__samples {
    int n;          /* steps with everything measured */
    int ncondition; /* conditions of a step */
    int np;
    perp__condition *condition;
    double *other;   /* a: [condition * n + sample]; 0 for equations */
    double *at_zero; /* x, alike */
    double *slope;   /* g: [(condition * np + parameter) * n + sample] */
} perp__samples;

/* PERP_OK; PERP_ERR_DATA (a quantity that is needed is not measured: named), PERP_ERR_MODEL (a
 * condition is not affine in the parameters), PERP_ERR_MEMORY. */
perp_status perp__samples_create(const perp__study *study, perp__samples *samples);
void perp__samples_clear(perp__samples *samples);

/* The condition's side that depends on theta. */
double perp__samples_value(const perp__samples *samples, int condition, int sample,
                           const double *theta);

/* Estimates and their intervals without a covariance; shared by lp and svd. Returns 0 when memory
 * is out. */
int perp__samples_report(const perp__study *study, const perp__samples *samples,
                         const double *theta, perp_identification *result);

#endif
