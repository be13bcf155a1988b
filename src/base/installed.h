/* Modules of perp that are files of their own: where they are. */

#ifndef PERP_SRC_INSTALLED_H
#define PERP_SRC_INSTALLED_H

enum { PERP__PATH_ROOM = 4096 };

/* The path of a file of this build or installation: beside the command, in the install's lib/perp,
 * or beside libperp.so and in perp/ there. Never in the current folder. NULL: nowhere. */
const char *perp__installed(const char *name, char path[PERP__PATH_ROOM]);

#endif
