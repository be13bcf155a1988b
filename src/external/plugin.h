/* Modules for libraries whose binary interfaces differ from machine to machine (MPI, PETSc). Each
 * is src/external/plugins/NAME.c, built as libperp-NAME.so if the library was there to build
 * against, and loaded at first use. */

#ifndef PERP_SRC_EXTERNAL_PLUGIN_H
#define PERP_SRC_EXTERNAL_PLUGIN_H

#include "base/base.h"
#include "external/library.h"

/* Load libperp-NAME.so of this version of perp, for good, and find its functions.
 * PERP_ERR_UNAVAILABLE: diag says what is missing, and that a build with `package` has it. *state
 * begins as 0. */
perp_status perp__plugin_load(const char *name, const char *package, size_t count,
                              const perp__library_symbol *symbol, int *state, perp_diag *diag);

#endif
