/* Programs in .nl files: for perp solve, and as the solver that a modelling language calls. */

#ifndef PERP_CLI_PROGRAM_H
#define PERP_CLI_PROGRAM_H

#include "solve.h"

#include "perp/program.h"

/* Does the name end in .nl? */
int cli_is_program(const char *file);

/* Solve one and print the answer. sol: also written there; nullable. Returns an exit code. */
int solve_program(const char *file, const char *sol, const perp_program_options *options,
                  output *out, perp_diag *diag);

/* What an answer says of a program's result: all but its name, its size and the time. */
void solve_fill(answer *a, const perp_program *program, const perp_program_result *r);

/* perp STUB -AMPL [key=value ..]: solve STUB.nl, write STUB.sol. */
int cli_is_ampl(int argc, char **argv);
int cli_ampl(int argc, char **argv);

#endif
