/* One text for all tapes of a problem: `t0a` is what stands before the cut of the first, `t0b` the
 * rest. */

#include "model/machine.h"

#include <stdio.h>

perp_status perp__machine_make(const perp__emitted *tape, int n, perp__compiled **compiled,
                               perp_diag *diag)
{
    perp__text text = {0};
    *compiled = NULL;
    perp_status status = perp__emit(&text, "t", tape, n, NULL)
                             ? perp__compile(text.at, text.length, compiled, diag)
                             : PERP_ERR_MEMORY;
    perp__text_clear(&text);
    for (int i = 0; status == PERP_OK && i < n; i++) {
        tape[i].tape->cut = tape[i].cut;
        for (int part = 1; part >= 0; part--) {
            char name[16];
            snprintf(name, sizeof name, "t%d%c", i, 'a' + part);
            tape[i].tape->machine[part] = perp__compiled_find(*compiled, name);
        }
    }
    return status;
}
