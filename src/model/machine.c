/* One text for all tapes of a problem: `t0a` is what stands before the cut of the first, `t0b` the rest. */

#include "model/machine.h"

#include "model/emit.h"

#include <stdio.h>
#include <stdlib.h>

/* Of the instructions of one tape, those whose value another takes. */
static void find_read(const perp__machine_tape *tape, int n, const perp__tape *of, char *is_read)
{
    int first = of->first + of->nconst;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < tape[k].tape->ncode + tape[k].tape->nout && tape[k].tape != of; i++) {
            const perp__tape *by = tape[k].tape;
            int a = i < by->ncode ? by->code[i].a : by->out[i - by->ncode],
                b = i < by->ncode ? by->code[i].b : a;
            if (a >= first && a - first < of->ncode) is_read[a - first] = 1;
            if (b >= first && b - first < of->ncode) is_read[b - first] = 1;
        }
}

/* The text of all; 0 when memory is out. */
static int emit(perp__text *text, const perp__machine_tape *tape, int n)
{
    int ok = 1;
    perp__emit_head(text);
    for (int i = 0; ok && i < n; i++) {
        char name[16], *is_read = calloc((size_t)tape[i].tape->ncode + 1, 1);
        snprintf(name, sizeof name, "t%d", i);
        if (is_read) find_read(tape, n, tape[i].tape, is_read);
        ok = is_read && perp__emit_tape(text, name, tape[i].tape, tape[i].cut, is_read);
        free(is_read);
    }
    return ok;
}

perp_status perp__machine_make(const perp__machine_tape *tape, int n, perp__compiled **compiled,
                               perp_diag *diag)
{
    perp__text text = {0};
    *compiled = NULL;
    perp_status status = emit(&text, tape, n) ? perp__compile(text.at, text.length, compiled, diag)
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
