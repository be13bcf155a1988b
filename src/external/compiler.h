/* C text to functions, by the machine's own compiler: cc, else tcc, in a process of its own, and
 * only where a host asked for it. What was made is kept in the user's cache folder,
 * $XDG_CACHE_HOME/perp or ~/.cache/perp, which may be emptied at any time. */

#ifndef PERP_SRC_EXTERNAL_COMPILER_H
#define PERP_SRC_EXTERNAL_COMPILER_H

#include "base/base.h"

#include <limits.h>

/* That folder, made if it is missing; refused if it is not the user's alone. */
enum { PERP__FOLDER_ROOM = PATH_MAX - 64 };
perp_status perp__cache_folder(char folder[PERP__FOLDER_ROOM], perp_diag *diag);

typedef struct perp__compiled perp__compiled;

/* Compile, or take what was kept of the same text by the same compiler. Values of doubles are those
 * of IEEE arithmetic, operation by operation. PERP_ERR_UNAVAILABLE: there is no compiler, or no
 * folder to keep it in, or it does not compile: diag says which. */
perp_status perp__compile(const char *text, size_t length, perp__compiled **compiled,
                          perp_diag *diag);

/* A function of the text; NULL: there is none. Valid until the last user of the text has released
 * it. */
typedef void perp__compiled_function(double *ws);
perp__compiled_function *perp__compiled_find(const perp__compiled *compiled, const char *name);
void perp__compiled_release(perp__compiled *compiled);

/* The first line of what the compiler says of its version. */
const char *perp__compiled_by(const perp__compiled *compiled);

#endif
