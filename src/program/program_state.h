/* Internal to src/program: a program while it is solved. programs.c is its public face. */

#ifndef PERP_SRC_PROGRAM_STATE_H
#define PERP_SRC_PROGRAM_STATE_H

#include "perp/program.h"
#include "program/nl.h"

struct perp_program {
    perp__nl *nl;
    perp_program_class kind;
    int objective; /* which is solved for; -1: none */
    perp__arena arena;
};

/* classes.c: what the program is, for the objective that is chosen. 0: memory. */
int perp__program_classify(perp_program *p);

#endif
