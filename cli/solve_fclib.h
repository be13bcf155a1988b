/* Contact problems in HDF5 files, for perp solve. */

#ifndef PERP_CLI_SOLVE_FCLIB_H
#define PERP_CLI_SOLVE_FCLIB_H

#include "solve.h"

#include "perp/friction.h"

#include <string.h>

/* What the command line says of contact problems. */
typedef struct cli_contact_options {
    double tol; /* 0: the method's own */
    int max_iter, threads, warm;
    const char *out; /* nullable */
} cli_contact_options;

/* Does the name end in .h5 or .hdf5? */
int cli_is_fclib(const char *file);

/* Is it the method of several processes? */
static inline int cli_is_petsc(const char *method)
{
    return strcmp(method, "petsc") == 0;
}

/* Solve one, print the answer, and write it where -o says. Returns an exit code; what was not
 * solved is known to `out`. */
int solve_fclib(const char *path, const char *method, const cli_contact_options *given, output *out,
                perp_diag *diag);

/* Write a friction problem with its solution (n entries each). Returns an exit code. */
int solve_write_fclib(const char *path, int is_solved, const perp_fc *fc, const char *name,
                      double *r, double *u, perp_diag *diag);

#endif
