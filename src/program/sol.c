/* Answers as .sol files, which modelling languages read: the message, the options of the .nl file,
 * multipliers of rows, values of variables, and a code by hundreds (D. M. Gay, "Hooking your solver
 * to AMPL", 1997). */

#include "program/program_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOLVED = 0, UNCERTAIN = 100, INFEASIBLE = 200, UNBOUNDED = 300, LIMIT = 400 };

int perp_program_sol_code(const perp_program_result *result)
{
    if (result->is_unbounded) return UNBOUNDED;
    if (result->outcome == PERP_PLAN_INFEASIBLE) return INFEASIBLE;
    if (!perp_plan_holds(result->outcome)) return LIMIT;
    return result->outcome <= PERP_PLAN_STATIONARY_B ? SOLVED : UNCERTAIN;
}

const char *perp_program_word(const perp_program *p, const perp_program_result *result)
{
    int is_equilibrium = p->kind == PERP_PROGRAM_LCP || p->kind == PERP_PROGRAM_MCP;
    if (result->is_unbounded) return "unbounded";
    return is_equilibrium && result->outcome == PERP_PLAN_GLOBAL
               ? "solved"
               : perp_plan_outcome_name(result->outcome);
}

/* Text that grows; failed once memory was out. */
typedef struct text {
    char *bytes;
    int n, capacity, failed;
} text;

static void put(text *t, const char *bytes)
{
    size_t length = strlen(bytes);
    t->failed |= !perp__grow(&t->bytes, &t->capacity, t->n + (int)length + 1, 1);
    if (t->failed) return;
    memcpy(t->bytes + t->n, bytes, length + 1);
    t->n += (int)length;
}

static void put_int(text *t, int x)
{
    char line[32];
    snprintf(line, sizeof line, "%d\n", x);
    put(t, line);
}

static void put_numbers(text *t, const double *x, int n)
{
    char number[PERP_NUMBER_SIZE];
    for (int i = 0; i < n; i++) {
        perp_number_write(x[i], number);
        put(t, number);
        put(t, "\n");
    }
}

static void put_options(text *t, const perp__nl *nl)
{
    put(t, "\nOptions\n");
    put_int(t, nl->noption);
    for (int i = 0; i < nl->noption; i++) put_int(t, nl->option[i]);
    if (nl->noption > 1 && nl->option[1] == 3) put_numbers(t, &nl->vbtol, 1);
}

perp_status perp_program_write_sol(const perp_program *p, const perp_program_result *result,
                                   const char *path, perp_diag *diag)
{
    if (!p || !result || !path) return PERP_ERR_ARG;
    const perp__nl *nl = p->nl;
    text t = {0};
    char message[200], objective[PERP_NUMBER_SIZE];
    perp_number_write(result->objective, objective);
    snprintf(message, sizeof message, "perp %s: %s; objective %s\n%d iterations, %s\n",
             perp_version(), perp_program_word(p, result), objective, result->iterations,
             result->method);
    put(&t, message);
    put_options(&t, nl);
    put_int(&t, nl->ncon);
    put_int(&t, nl->ncon);
    put_int(&t, nl->nvar);
    put_int(&t, nl->nvar);
    put_numbers(&t, p->dual, nl->ncon);
    put_numbers(&t, p->x, nl->nvar);
    snprintf(message, sizeof message, "objno %d %d\n", p->objective, perp_program_sol_code(result));
    put(&t, message);
    perp_status status = t.failed ? perp__out_of_memory(diag, path)
                                  : perp_file_write(path, t.bytes, (size_t)t.n, diag);
    free(t.bytes);
    return status;
}
