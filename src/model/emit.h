/* A tape as C text: the instructions that perp__tape_eval follows, one statement each, for a compiler. Nothing of a model but its
 * arithmetic is in the text: values go by their slots in the workspace. */

#ifndef PERP_SRC_EMIT_H
#define PERP_SRC_EMIT_H

#include "base/text.h"
#include "model/tape.h"

/* What the functions of a text are made of: once, at its beginning. */
void perp__emit_head(perp__text *text);

/* `void NAMEa(double *w)`, `void NAMEb(double *w)`: the instructions before `cut` and from there on, of the workspace w.
 * They write the roots to their slots, what NAMEb takes from NAMEa, and the instructions i with is_read[i]. 0 when memory is out. */
int perp__emit_tape(perp__text *text, const char *name, const perp__tape *tape, int cut,
                    const char *is_read);

#endif
