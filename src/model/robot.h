/* Internal: a robot file as a part of the language, text that is then read as all text is. */

#ifndef PERP_SRC_ROBOT_H
#define PERP_SRC_ROBOT_H

#include "base/text.h"
#include "perp/robots.h"

/* What `robot NAME = "FILE"(..)` says beside values of parameters; each NULL: not said. */
typedef struct perp__robot_how {
    const char *key;      /* the keyframe whose q and v it starts from */
    const char *contacts; /* which contacts: all, ground, none */
    /* an omitted element; nullable */
    void (*ignore)(void *context, const perp_robot_ignored *note);
    void *context;
} perp__robot_how;

/* A file that uses space and has one part, called `part`. @return PERP_OK; PERP_ERR_MODEL (what has
 * no place in the language: diag); PERP_ERR_MEMORY */
perp_status perp__robot_text(const perp_robot *robot, const char *file, const char *part,
                             const perp__robot_how *how, perp__text *text, perp_diag *diag);

/* An identifier of a name of a file: "arm" of "robots/arm.xml". */
void perp__robot_part_name(const char *file, char *name, size_t size);

#endif
