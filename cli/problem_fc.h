/* Read friction problems from JSON: {"kind": "fc", "dimension": d, "contacts": nc, "mu": [nc], "q":
 * [d nc], "blocks": [[row, column, d*d values row by row], ...]}, or "W": [[...], ...] (rows) in
 * place of blocks. */

#ifndef PERP_CLI_PROBLEM_FC_H
#define PERP_CLI_PROBLEM_FC_H

#include "perp/friction.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A problem that owns its arrays. */
typedef struct problem_fc {
    perp_fc view;
    char name[128]; /* "" when the file has none */
    double *numbers;
    int *places;
} problem_fc;

/* From a cJSON object (as void *: this header needs no cJSON). `where` names the file in messages.
 * PERP_OK, PERP_ERR_DATA (diag says what), PERP_ERR_MEMORY */
perp_status problem_fc_from_json(const void *json, const char *where, problem_fc *out,
                                 perp_diag *diag);
/* From a file with one problem. PERP_ERR_FILE too. */
perp_status problem_fc_load(const char *path, problem_fc *out, perp_diag *diag);
void problem_fc_clear(problem_fc *problem);

#ifdef __cplusplus
}
#endif
#endif
