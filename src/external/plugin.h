/* What is compiled against libraries whose binary interfaces differ from machine to machine (MPI, PETSc): a module of its own for each,
 * src/external/plugins/NAME.c, made as libperp-NAME.so where the library was there to build against, loaded when it is asked for. */

#ifndef PERP_SRC_EXTERNAL_PLUGIN_H
#define PERP_SRC_EXTERNAL_PLUGIN_H

#include "base/base.h"
#include "external/library.h"

/* Load libperp-NAME.so of this version of perp, for good, and find its functions. PERP_ERR_UNAVAILABLE: diag says what is missing, and that a build
 * with `package` has it. *state begins as 0. */
perp_status perp__plugin_load(const char *name, const char *package, size_t count,
                              const perp__library_symbol *symbol, int *state, perp_diag *diag);

#endif
