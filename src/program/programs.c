/* The public face of programs: words, reading, sizes. */

#include "program/program_state.h"

#include "base/input.h"
#include "base/tol.h"
#include "base/words.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW(name, word, text) {word, text},
static const perp__word class_rows[] = {PERP_PROGRAM_CLASS_LIST(ROW)};
static const perp__words classes = PERP_WORDS(class_rows);

PERP_WORD_SUMMARY(perp_program_class, perp_program_class_summary, classes)

const char *perp_program_class_name(perp_program_class kind)
{
    return perp__word_name(&classes, (int)kind);
}

static const perp__word proof_rows[] = {PERP_PROGRAM_PROOF_LIST(ROW)};
static const perp__words proofs = PERP_WORDS(proof_rows);

PERP_WORD_SUMMARY(perp_program_proof_word, perp_program_proof_word_summary, proofs)

const char *perp_program_proof_word_name(perp_program_proof_word word)
{
    return perp__word_name(&proofs, (int)word);
}

/* Files ---------------------------------------------------------------------------------------- */

perp_status perp_program_read(const char *path, perp_program **program, perp_diag *diag)
{
    enum { MOST = 1 << 30 };
    char *bytes = NULL, *name;
    size_t n, length;
    if (!path || !program) return PERP_ERR_ARG;
    *program = NULL;
    length = strlen(path);
    name = malloc(length + 4);
    if (!name) return perp__out_of_memory(diag, path);
    int has_ending = length > 3 && strcmp(path + length - 3, ".nl") == 0;
    snprintf(name, length + 4, "%s%s", path, has_ending ? "" : ".nl");
    const char *why;
    perp_status status = perp__input_read(name, PERP__REGULAR, MOST, 0, &bytes, &n, &why);
    if (status == PERP_ERR_MEMORY) perp__out_of_memory(diag, name);
    if (status == PERP_ERR_FILE || status == PERP_ERR_DATA)
        perp__refuse(diag, status, perp__in(name), "cannot be read: %s\n", why);
    if (status == PERP_OK) status = perp_program_parse(bytes, n, name, program, diag);
    free(bytes);
    free(name);
    return status;
}

/* What is solved for, from 1; 0: nothing. Returns 0: memory. */
static int choose_objective(perp_program *p, int objective)
{
    p->objective = objective <= p->nl->nobj ? objective - 1 : -1;
    p->sign = p->objective >= 0 && p->nl->maximise[p->objective] ? -1 : 1;
    return perp__program_classify(p);
}

static int take_arrays(perp_program *p)
{
    PERP_TAKE(&p->arena, p->x, p->nl->nvar);
    PERP_TAKE(&p->arena, p->dual, p->nl->ncon);
    PERP_TAKE(&p->arena, p->ray, p->nl->nvar);
    PERP_TAKE(&p->arena, p->row_conflicts, p->nl->ncon + 1);
    PERP_TAKE(&p->arena, p->bound_conflicts, p->nl->nvar + 1);
    return !p->arena.failed;
}

/* What was read becomes a program, or the end of it. */
static perp_status take_over(perp__nl *nl, perp_status status, const char *name,
                             perp_program **program, perp_diag *diag)
{
    if (!nl) return status;
    perp_program *p = calloc(1, sizeof *p);
    if (!p) perp__nl_destroy(nl);
    if (p) p->nl = nl;
    if (p) p->last.outcome = PERP_PLAN_LIMIT;
    if (!p || !take_arrays(p) || !choose_objective(p, 1)) {
        perp_program_destroy(p);
        return perp__out_of_memory(diag, name);
    }
    *program = p;
    return PERP_OK;
}

perp_status perp_program_parse(const char *bytes, size_t n, const char *name,
                               perp_program **program, perp_diag *diag)
{
    perp_status status;
    if (!program) return PERP_ERR_ARG;
    *program = NULL;
    if (!bytes || n > INT_MAX) return PERP_ERR_ARG;
    if (!name) name = "program";
    perp__nl *nl = perp__nl_read(bytes, n, name, &status, diag);
    return take_over(nl, status, name, program, diag);
}

perp_status perp_program_create(const perp_program_formulas *formulas, const char *name,
                                perp_program **program, perp_diag *diag)
{
    perp_status status;
    if (!program) return PERP_ERR_ARG;
    *program = NULL;
    if (!formulas || formulas->variables < 0 || formulas->rows < 0 ||
        (formulas->rows > 0 && !formulas->row))
        return PERP_ERR_ARG;
    if (!name) name = "program";
    perp__nl *nl = perp__nl_of_formulas(formulas, name, &status, diag);
    return take_over(nl, status, name, program, diag);
}

perp_status perp_program_create_callbacks(const perp_program_callbacks *callbacks, const char *name,
                                          perp_program **program, perp_diag *diag)
{
    perp_status status;
    if (!program) return PERP_ERR_ARG;
    *program = NULL;
    if (!callbacks) return PERP_ERR_ARG;
    if (!name) name = "program";
    perp__nl *nl = perp__nl_of_callbacks(callbacks, name, &status, diag);
    return take_over(nl, status, name, program, diag);
}

void perp_program_destroy(perp_program *p)
{
    if (!p) return;
    perp__judge_clear(&p->judge);
    perp__functions_clear(&p->functions);
    perp__nl_destroy(p->nl);
    perp__arena_clear(&p->arena);
    free(p);
}

perp_program_size perp_program_get_size(const perp_program *p)
{
    const perp__nl *nl = p->nl;
    perp_program_size size = {p->kind, nl->nvar, nl->ncon, nl->nobj, nl->pairs.n, 0};
    for (int i = 0; i < nl->ncon; i++) size.nonzeros += nl->linear.count[i];
    if (nl->callbacks) size.nonzeros = nl->callbacks->row_start[nl->ncon];
    return size;
}

/* Solving -------------------------------------------------------------------------------------- */

void perp_program_options_fill(perp_program_options *options, size_t size)
{
    perp_program_options own = {
        .tol = 1e-6, .max_iter = 1000, .tries = 1, .restarts = 3, .seed = 1, .objective = 1};
    perp__options_give(options, size, &own, sizeof own);
}

const double *perp_program_point(const perp_program *p)
{
    return p->x;
}

const double *perp_program_duals(const perp_program *p)
{
    return p->dual;
}

const unsigned char *perp_program_conflicting_rows(const perp_program *p)
{
    return p->last.outcome == PERP_PLAN_INFEASIBLE ? p->row_conflicts : NULL;
}

const unsigned char *perp_program_conflicting_bounds(const perp_program *p)
{
    return p->last.outcome == PERP_PLAN_INFEASIBLE ? p->bound_conflicts : NULL;
}

const double *perp_program_ray(const perp_program *p)
{
    return p->last.is_unbounded ? p->ray : NULL;
}

perp_program_proof perp_program_get_proof(const perp_program *p)
{
    return p->proof;
}

void perp__program_check(perp_program *p, perp_program_result *result)
{
    perp__judgement j = perp__judge_point(&p->judge, p->x);
    result->rows = j.rows;
    result->pairs = j.pairs;
    result->bounds = j.bounds;
    result->error = j.worst;
    result->worst_row = j.worst_row;
    result->worst_variable = j.worst_variable;
    result->objective = perp__judge_objective(&p->judge, p->objective, p->x);
}

int perp__program_holds(const perp_program *p, const perp_program_result *result)
{
    return result->error <= p->options.tol;
}

/* The judge and the functions, for the objective that is chosen. Returns 0: memory. */
static int prepare(perp_program *p, int objective)
{
    if (!p->judge.ws && !perp__judge_create(&p->judge, &p->arena, p->nl)) return 0;
    if (!choose_objective(p, objective)) return 0;
    if (p->functions.nl && p->functions.objective == p->objective) return 1;
    perp__functions_clear(&p->functions);
    return perp__functions_create(&p->functions, &p->arena, p->nl, p->objective);
}

static perp_status solve(perp_program *p, perp_program_result *result)
{
    perp_status status = PERP_ERR_UNAVAILABLE;
    int is_equilibrium = p->kind == PERP_PROGRAM_LCP || p->kind == PERP_PROGRAM_MCP;
    if (p->kind == PERP_PROGRAM_LP) status = perp__program_solve_linear(p, result);
    if (p->kind == PERP_PROGRAM_LP && status != PERP_ERR_UNAVAILABLE) return status;
    if (is_equilibrium) {
        status = perp__program_solve_equilibrium(p, result);
        if (status == PERP_ERR_MEMORY || result->outcome != PERP_PLAN_LIMIT) return status;
    }
    status = perp__program_search(p, result);
    if (status == PERP_OK && is_equilibrium && perp_plan_holds(result->outcome))
        status = perp__program_judge_equilibrium(p, result);
    if (status != PERP_OK) return status;
    int infeasible = perp__program_is_infeasible(p, perp_plan_holds(result->outcome));
    if (infeasible > 0) result->outcome = PERP_PLAN_INFEASIBLE;
    return infeasible < 0 ? PERP_ERR_MEMORY : PERP_OK;
}

perp_status perp_program_solve(perp_program *p, const perp_program_options *options,
                               perp_program_result *result, perp_diag *diag)
{
    if (!p || !result || !PERP__FITS(result)) return PERP_ERR_ARG;
    perp_program_options_fill(&p->options, sizeof p->options);
    if (!perp__options_take(&p->options, sizeof p->options, options)) return PERP_ERR_ARG;
    const perp_program_options *o = &p->options;
    if (!(o->tol > 0 && o->tol <= PERP_TOL_LARGEST) || o->max_iter < 1 || o->tries < 1 ||
        o->restarts < 0 || o->objective < 0 || o->global < 0 || o->global > 1)
        return PERP_ERR_ARG;
    p->last =
        (perp_program_result){.outcome = PERP_PLAN_LIMIT, .worst_row = -1, .worst_variable = -1};
    p->proof = (perp_program_proof){0};
    memset(p->row_conflicts, 0, (size_t)p->nl->ncon);
    memset(p->bound_conflicts, 0, (size_t)p->nl->nvar);
    perp_status status = prepare(p, o->objective) ? solve(p, &p->last) : PERP_ERR_MEMORY;
    if (status == PERP_OK && o->global && !p->last.is_unbounded)
        status = perp__program_prove(p, &p->last);
    perp__result_give(result, &p->last, sizeof p->last);
    if (status == PERP_ERR_MEMORY) return perp__out_of_memory(diag, p->nl->name);
    if (status == PERP_ERR_DIM)
        perp__refuse(diag, status, perp__in(p->nl->name),
                     "%d variables and %d pairs are more than the search takes\n", p->nl->nvar,
                     p->nl->pairs.n);
    return status;
}
