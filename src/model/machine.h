/* Tapes as machine code: the same bits as by interpretation. */

#ifndef PERP_SRC_MACHINE_H
#define PERP_SRC_MACHINE_H

#include "external/compiler.h"
#include "model/emit.h"

/* Compile n tapes of one workspace and let them be run so. They then leave there their roots and
 * what others of them read, nothing else (perp__tape_complete). *compiled must outlive their
 * evaluation; the caller releases it. As perp__compile. */
perp_status perp__machine_make(const perp__emitted *tape, int n, perp__compiled **compiled,
                               perp_diag *diag);

#endif
