/* What the readers of problem classes share with perp solve. */

#ifndef PERP_CLI_SOLVE_H
#define PERP_CLI_SOLVE_H

#include "perp/lcp.h"

/* One method's answer to one problem, whichever its class. */
typedef struct answer {
    const char *name, *outcome, *method;
    const double *z, *w; /* n each; w NULL: none */
    int n, iterations;
    double residual, time_us;
    double error; /* largest violation on its own scale */
    int has_error;
    int holds; /* z meets every condition, also where the outcome is another word than solved */
    int is_stationary; /* of a program: its word is one of a stationary point, or a better one */
    int has_objective;
    double objective;
    const char *proof; /* of a global search: its word and its sentence; NULL: none */
    const char *proof_text;
    double bound, reach;
    long sides;
    const unsigned char *rows,
        *bounds;       /* of a program that is infeasible: what contradicts each other; nullable */
    const double *ray; /* of one that is unbounded; nullable */
    int nrow;
    double (*points)[2 * PERP_LCP_ENUMERATE_MAX + 1]; /* z, w, is_ray */
    int npoints;
} answer;

typedef struct output output;

/* Print an answer, or add it to the list that is printed at the end. table: one line each. */
void solve_emit(output *out, const answer *a, int table);

/* solve_mpcc.c: minimise "objective" subject to 0 <= G_i perp H_i >= 0 and "constraints", all
 * formulas in x1, x2, .., by perp/program.h. json is a cJSON object. Returns an exit code. */
int solve_mpcc(const void *json, const char *file, const char *method, output *out,
               perp_diag *diag);

#endif
