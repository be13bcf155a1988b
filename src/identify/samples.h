/* Single steps of the data as conditions on the parameters: every one-sided pair or equation of the model that contains an
 * estimated parameter, evaluated at the measured states, vars and inputs of each step, as an affine function of theta:
 *
 *     0 <= a_s  perp  x_s + g_s' theta >= 0      or      x_s + g_s' theta = 0
 */

#ifndef PERP_SRC_SAMPLES_H
#define PERP_SRC_SAMPLES_H

#include "identify/identify.h"

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

/* PERP_OK; PERP_ERR_DATA (a quantity that is needed is not measured: named), PERP_ERR_MODEL (a condition is not affine in
 * the parameters), PERP_ERR_MEMORY. */
perp_status perp__samples_create(const perp__study *study, perp__samples *samples);
void perp__samples_clear(perp__samples *samples);

/* The condition's side that depends on theta. */
double perp__samples_value(const perp__samples *samples, int condition, int sample,
                           const double *theta);

/* Estimates and their intervals without a covariance; shared by lp and svd. 0 when memory is out. */
int perp__samples_report(const perp__study *study, const perp__samples *samples,
                         const double *theta, perp_identification *result);

#endif
