/* perp solve --method petsc-rsls, petsc-ssls. */

#include "solve_petsc.h"

#include "cli.h"

#include "perp/petsc.h"

#include <stdlib.h>
#include <string.h>

int cli_is_snes(const char *method)
{
    return strcmp(method, "petsc-rsls") == 0 || strcmp(method, "petsc-ssls") == 0;
}

int solve_petsc(const char *method, const perp_mcp *p, const char *name, double *z, double *w,
                output *out, perp_diag *diag)
{
    perp_mcp_info info = {.size = sizeof info};
    double start = cli_now();
    perp_status status =
        perp_petsc_mcp(strcmp(method, "petsc-ssls") == 0 ? PERP_PETSC_SSLS : PERP_PETSC_RSLS, p,
                       NULL, z, w, &info, diag);
    if (status != PERP_OK) return cli_exit_code(status);
    answer a = {.name = name,
                .outcome = perp_outcome_name(info.outcome),
                .method = method,
                .z = z,
                .w = w,
                .n = p->n,
                .iterations = info.iterations,
                .residual = info.residual,
                .error = info.error,
                .has_error = 1,
                .time_us = 1e6 * (cli_now() - start)};
    solve_emit(out, &a, 0);
    return CLI_DONE;
}

/* M by columns, without its zeros. */
typedef struct columns {
    const perp_lcp *p;
    int *start, *row; /* in one allocation */
    double *value;
} columns;

static int evaluate(void *context, const double *z, double *w)
{
    const columns *c = context;
    memcpy(w, c->p->q, (size_t)c->p->n * sizeof *w);
    for (int j = 0; j < c->p->n; j++)
        for (int e = c->start[j]; e < c->start[j + 1]; e++) w[c->row[e]] += c->value[e] * z[j];
    return 0;
}

static int derive(void *context, const double *z, double *values)
{
    const columns *c = context;
    (void)z;
    memcpy(values, c->value, (size_t)c->start[c->p->n] * sizeof *values);
    return 0;
}

static int fill(columns *c)
{
    size_t n = (size_t)c->p->n;
    c->start = calloc(n + 1 + n * n, sizeof *c->start);
    c->value = calloc(n * n + 1, sizeof *c->value);
    if (!c->start || !c->value) return 0;
    c->row = c->start + n + 1;
    for (int j = 0, e = 0; j < c->p->n; j++) {
        for (int i = 0; i < c->p->n; i++) {
            double x = c->p->M[(size_t)j * (size_t)c->p->ldm + (size_t)i];
            if (x != 0) {
                c->row[e] = i;
                c->value[e++] = x;
            }
        }
        c->start[j + 1] = e;
    }
    return 1;
}

int solve_petsc_linear(const char *method, const perp_lcp *p, const char *name, double *z,
                       double *w, output *out, perp_diag *diag)
{
    columns c = {.p = p};
    int code;
    if (!fill(&c)) {
        code = cli_exit_code(PERP_ERR_MEMORY);
    } else {
        const perp_mcp mcp = {.n = p->n,
                              .lo = p->lo,
                              .hi = p->hi,
                              .F = evaluate,
                              .J = derive,
                              .context = &c,
                              .column_start = c.start,
                              .row = c.row};
        code = solve_petsc(method, &mcp, name, z, w, out, diag);
    }
    free(c.start);
    free(c.value);
    return code;
}
