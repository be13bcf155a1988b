/* Files that are written whole or not at all: under another name beside the file, which is taken over at the
 * end. perp_file_write and perp_file_is_same of perp/base.h are in output.c as well. */

#ifndef PERP_SRC_OUTPUT_H
#define PERP_SRC_OUTPUT_H

#include "base/base.h"

/* The file that a path stands for, also where there is none yet: links are followed, of the file and of its
 * folder. The caller frees it; NULL: errno says why. */
char *perp__real_path(const char *path);

#endif
