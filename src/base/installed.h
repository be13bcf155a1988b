/* Modules of perp that are files of their own: where they are. */

#ifndef PERP_SRC_INSTALLED_H
#define PERP_SRC_INSTALLED_H

enum { PERP__PATH_ROOM = 4096 };

/* Where a file is that was built or installed with what runs now: beside the command, in the install's lib/perp, or beside libperp.so and in
 * perp/ there; never in the current folder. NULL: nowhere. */
const char *perp__installed(const char *name, char path[PERP__PATH_ROOM]);

#endif
