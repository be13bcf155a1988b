/* A tape as C text: the instructions that perp__tape_eval follows, one statement each, for a
 * compiler. Nothing of a model but its arithmetic is in the text: values go by their slots in the
 * workspace. */

#ifndef PERP_SRC_EMIT_H
#define PERP_SRC_EMIT_H

#include "base/text.h"
#include "model/tape.h"

/* A tape, and where its evaluation may stop and go on (perp__tape_eval_part). */
typedef struct perp__emitted {
    perp__tape *tape;
    int cut;
} perp__emitted;

/* Code that leaves perp (src/export): of type `real`, functions of libm by MATH(name), constants as
 * R(number), nothing but what is read later in the workspace. NULL in its place: for perp's own
 * use, doubles in the slots of the tapes. */
typedef struct perp__emit_style {
    int *place; /* slot -> its place in the workspace, or -1 yet. Those of the symbols are given */
    int nplace; /* places in use */
} perp__emit_style;

/* The text for n tapes of one workspace, in the order of evaluation: declarations, then
 * `void NAME0a(w)`, `void NAME0b(w)` and so on. These are the instructions of a tape before its cut
 * and after it. They write roots, and values that the other tapes and the second part read. Returns
 * 0 when memory is out. */
int perp__emit(perp__text *text, const char *name, const perp__emitted *emitted, int n,
               perp__emit_style *style);

/* A number for the code of a style. */
void perp__emit_number(perp__text *text, double x);

#endif
