/* Read complementarity problems from JSON: {"name", "kind": "lcp" | "mlcp", "n", "M": rows, "q",
 * "free": indices from 0, "lower": list, "upper": list}; null in a list of bounds is an infinite
 * one. */

#ifndef PERP_CLI_PROBLEM_LCP_H
#define PERP_CLI_PROBLEM_LCP_H

#include "perp/lcp.h"

/* A problem that owns its arrays. */
typedef struct problem_lcp {
    perp_lcp view;
    char name[128];
    int nfree, nbounded;    /* free variables; other bounds than 0 and infinity */
    unsigned char *is_free; /* n */
    double *numbers; /* M, q, lo, hi; view.lo and view.hi are NULL where all are 0 and infinity */
} problem_lcp;

/* The "name" of a cJSON object, "" without one; control characters become question marks. */
void problem_name(const void *json, char *name, size_t size);

/* "lower" and "upper" of a cJSON object into lo and hi (n each), which stay unchanged if a list is
 * missing. */
perp_status problem_bounds(const void *json, int n, double *lo, double *hi, const char *where,
                           perp_diag *diag);

/* From a cJSON object (as void *). `where` names the file in messages. PERP_OK, PERP_ERR_DATA,
 * PERP_ERR_MEMORY */
perp_status problem_lcp_from_json(const void *json, const char *where, problem_lcp *out,
                                  perp_diag *diag);
void problem_lcp_clear(problem_lcp *problem);

/* A parsed file: cJSON's value as void *, NULL after saying what is wrong. Free with
 * problem_json_free. */
void *problem_json_load(const char *path, perp_status *status, perp_diag *diag);
void problem_json_free(void *json);

/* Has cJSON ever been without memory since the first load, or since it was watched? It leaves out
 * what it has no room for. */
void problem_json_watch(void);
int problem_json_failed(void);

#endif
