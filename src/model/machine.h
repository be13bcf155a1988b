/* Tapes as machine code: the same bits as by interpretation. */

#ifndef PERP_SRC_MACHINE_H
#define PERP_SRC_MACHINE_H

#include "external/compiler.h"
#include "model/tape.h"

typedef struct perp__machine_tape {
    perp__tape *tape;
    int cut; /* perp__tape_eval_part begins or ends there as well */
} perp__machine_tape;

/* Compile n tapes of one workspace and let them be run so. They then leave there their roots and what others of them read, nothing
 * else (perp__tape_complete). *compiled must outlive their evaluation; the caller releases it. As perp__compile. */
perp_status perp__machine_make(const perp__machine_tape *tape, int n, perp__compiled **compiled,
                               perp_diag *diag);

#endif
