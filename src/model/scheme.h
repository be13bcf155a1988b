/* Internal: the numbers of a method of time stepping, from its row in include/perp/schemes.h. */

#ifndef PERP_SRC_SCHEME_H
#define PERP_SRC_SCHEME_H

enum { PERP__MOST_POINTS = 4 };

typedef struct perp__scheme {
    int npoint;
    int is_weighted; /* equations with a derivative stand between the step's start and end: */
    double theta;    /* ... at this weight of the end; else 1 */
    double c[PERP__MOST_POINTS], b[PERP__MOST_POINTS]; /* points and weights */
    double D[PERP__MOST_POINTS]
            [PERP__MOST_POINTS +
             1]; /* h times the slope at each point, of the values at start and points */
} perp__scheme;

/* The method of this name, which must exist; theta counts if the method is weighted. */
perp__scheme perp__scheme_make(const char *word, double theta);

/* The value a part s of the way through the step, of the polynomial through the points alone. */
double perp__scheme_between(const perp__scheme *scheme, const double *value, double s);
/* The same of the polynomial through the step's start, too: a state. */
double perp__scheme_through(const perp__scheme *scheme, double before, const double *value,
                            double s);

/* What the start and the values at the points, or these alone, count at that place. */
void perp__scheme_basis(const perp__scheme *scheme, double s, double *through, double *between);

#endif
