/* perp solve: complementarity and friction problems from JSON files; programs and contact problems
 * of other files (solve_*.c). */

#include "cli.h"
#include "json.h"
#include "problem_fc.h"
#include "problem_lcp.h"
#include "program.h"
#include "solve.h"
#include "solve_fclib.h"
#include "solve_petsc.h"

#include "perp/mcp.h"
#include "perp/model.h"
#include "perp/petsc.h"
#include "perp/ranks.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SOLUTIONS = 1000 };

typedef struct request {
    cli_args args;
    const char *file, *method, *sol;
    int all, as_json;
    perp_program_options program;
    cli_contact_options contacts;
} request;

#define INTO(field) CLI_INTO(request, field)

static const cli_option options[] = {
    {"", "FILE", NULL, INTO(file), .needed = "which problem?"},
    {"method", "NAME|all",
     "one method, or a table of all that apply (default: auto); see perp solvers", INTO(method)},
    {"all-solutions", NULL, "every solution of a small linear problem: points, vertices, rays",
     INTO(all)},
    {"json", NULL, "print JSON", INTO(as_json)},
    {"tries", "N",
     "of a program in an .nl file: starts from which the best point is kept (default 1)",
     INTO(program.tries), .least = 1},
    {"seed", "N", "of its random starts (default 1)", INTO(program.seed)},
    {"global", NULL,
     "of one with linear rows and a convex quadratic objective: search all sides of its pairs, "
     "with a proof",
     INTO(program.global)},
    {"sol", "FILE.sol", "write its answer as modelling languages read it", INTO(sol),
     .is_output = 1, .endings = "sol *"},
    {"o", "FILE.h5",
     "of a friction problem: write it with its solution as the Friction Contact Library does",
     INTO(contacts.out), .is_output = 1, .endings = "h5 hdf5"},
    {"tol", "T", "of a friction problem: solved means error <= T (default 1e-8, without W 1e-6)",
     INTO(contacts.tol), .is_positive = 1, .most = 1e-2},
    {"max-iter", "N", "of a friction problem: iterations at most (default: the method's own)",
     INTO(contacts.max_iter), .least = 1},
    {"threads", "N",
     "of a large problem in an .h5 file; the numbers are the same for any (default 1)",
     INTO(contacts.threads), .least = 1, .most = 1024},
    {"warm", NULL, "of an .h5 file: begin at its solution", INTO(contacts.warm)},
};

const cli_command cli_command_solve = {
    .name = "solve",
    .usage = "FILE.json|FILE.nl|FILE.h5 [options]",
    .about =
        "Solve programs that AMPL, Pyomo or JuMP wrote (FILE.nl; docs/programs.md), and "
        "complementarity problems:\n"
        "{\"kind\": \"lcp\", \"M\": rows, \"q\": list}, the "
        "same with \"kind\": \"mlcp\" and \"free\":\n"
        "indices, \"lower\", \"upper\": bounds (null: none), nonlinear ones {\"kind\": "
        "\"ncp\", \"F\": [\"x1^2 - 2\"]}\n"
        "with the same bounds and \"start\",\n"
        "programs {\"kind\": \"mpcc\", \"objective\": .., \"G\": list, \"H\": list, "
        "\"constraints\": list} over 0 <= G perp H >= 0,\n"
        "or friction problems {\"kind\": \"fc\", ...} (docs/lcp-solvers.md, "
        "docs/friction-solvers.md); one object or a list.\n"
        "FILE.h5 is a friction problem of the Friction Contact Library: small, or of a million "
        "contacts (docs/scaling.md); mpirun -n N perp solve FILE.h5 --method petsc\n"
        "shares a pile among N processes. --method petsc-rsls and petsc-ssls are PETSc's SNES VI.\n"
        "The residual and the error (of each condition on its own scale, which decides) are "
        "recomputed by code\n"
        "that belongs to no solver.",
    .notes = "exit codes: 0 all solved (programs: stationary or better), 1 usage, 2 bad data, 3 "
             "some not solved, 4 file or memory",
    CLI_OPTIONS(options)};

struct output {
    cJSON *list; /* with --json */
    int one, failed;
};

/* Printing
 * ----------------------------------------------------------------------------------------- */

static cJSON *numbers(const double *x, int n)
{
    return x ? cJSON_CreateDoubleArray(x, n) : cJSON_CreateNull();
}

static cJSON *points_of(const answer *a, int rays)
{
    cJSON *list = cJSON_CreateArray();
    for (int k = 0; k < a->npoints; k++) {
        if ((a->points[k][2 * PERP_LCP_ENUMERATE_MAX] != 0) == rays)
            cJSON_AddItemToArray(list, numbers(a->points[k], a->n));
    }
    return list;
}

static int has_point(const answer *a)
{
    return a->holds || strcmp(a->outcome, "solved") == 0;
}

/* The places (from 1) that are marked. */
static cJSON *marked(const unsigned char *mark, int n)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < n; i++)
        if (mark[i]) cJSON_AddItemToArray(list, cJSON_CreateNumber(i + 1));
    return list;
}

static void emit_json(output *out, const answer *a)
{
    cJSON *o = cJSON_CreateObject();
    int solved = has_point(a);
    cJSON_AddStringToObject(o, "name", a->name);
    cJSON_AddStringToObject(o, "outcome", a->outcome);
    cJSON_AddStringToObject(o, "method", a->method);
    cJSON_AddItemToObject(o, "z", solved ? numbers(a->z, a->n) : cJSON_CreateNull());
    cJSON_AddItemToObject(o, "w", solved ? numbers(a->w, a->n) : cJSON_CreateNull());
    if (isfinite(a->residual))
        cJSON_AddNumberToObject(o, "residual", a->residual);
    else
        cJSON_AddNullToObject(o, "residual");
    if (a->has_error && isfinite(a->error)) cJSON_AddNumberToObject(o, "error", a->error);
    if (a->has_objective) cJSON_AddNumberToObject(o, "objective", a->objective);
    if (a->proof) {
        cJSON_AddStringToObject(o, "proof", a->proof);
        cJSON_AddItemToObject(
            o, "bound", isfinite(a->bound) ? cJSON_CreateNumber(a->bound) : cJSON_CreateNull());
        cJSON_AddItemToObject(
            o, "reach", isfinite(a->reach) ? cJSON_CreateNumber(a->reach) : cJSON_CreateNull());
        cJSON_AddNumberToObject(o, "sides", (double)a->sides);
    }
    cJSON_AddNumberToObject(o, "iterations", a->iterations);
    cJSON_AddNumberToObject(o, "time_us", a->time_us);
    if (a->rows) {
        cJSON_AddItemToObject(o, "conflicting_rows", marked(a->rows, a->nrow));
        cJSON_AddItemToObject(o, "conflicting_bounds", marked(a->bounds, a->n));
    }
    if (a->ray) cJSON_AddItemToObject(o, "ray", numbers(a->ray, a->n));
    if (a->points) {
        cJSON_AddItemToObject(o, "solutions", points_of(a, 0));
        cJSON_AddItemToObject(o, "rays", points_of(a, 1));
    }
    cJSON_AddItemToArray(out->list, o);
}

static void print_vector(const char *what, const double *x, int n)
{
    printf("  %s =", what);
    for (int i = 0; i < n && i < 24; i++) printf(" %.10g", x[i]);
    printf(n > 24 ? " ... (%d entries; --json prints all)\n" : "\n", n);
}

static void print_marked(const char *what, const unsigned char *mark, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (!mark[i]) continue;
        if (count == 0) printf("  %s", what);
        if (count < 24) printf(" %d", i + 1);
        count++;
    }
    if (count > 24)
        printf(" ... (%d; --json prints all)\n", count);
    else if (count)
        printf("\n");
}

/* What contradicts each other, or where there is no end. */
static void print_reason(const answer *a)
{
    if (a->rows) print_marked("contradict each other: rows", a->rows, a->nrow);
    if (a->rows) print_marked("with the bounds or sides of variables", a->bounds, a->n);
    if (a->ray) print_vector("ray", a->ray, a->n);
}

static void print_proof(const answer *a)
{
    if (isfinite(a->bound)) printf("  bound %.10g", a->bound);
    printf("%s%s; %ld choices of sides were solved\n", isfinite(a->bound) ? ": " : "  ",
           a->proof_text, a->sides);
    if (isfinite(a->bound) && isfinite(a->reach))
        printf("  of points within %g times 1 or the size of the best one's, where no bounds of "
               "variables follow\n",
               a->reach);
}

static void emit_text(const answer *a, int table)
{
    printf("%-24s %-12s %-16s residual %9.2e", a->name[0] ? a->name : "(unnamed)", a->outcome,
           a->method, a->residual);
    if (a->has_error) printf("  error %9.2e", a->error);
    printf("  %6d iterations  %10.2f us\n", a->iterations, a->time_us);
    if (table) return;
    if (has_point(a) && !a->points) {
        print_vector("z", a->z, a->n);
        if (a->w) print_vector("w", a->w, a->n);
        if (a->has_objective) printf("  objective %.10g\n", a->objective);
    }
    print_reason(a);
    if (a->proof) print_proof(a);
    for (int k = 0; k < a->npoints; k++)
        print_vector(a->points[k][2 * PERP_LCP_ENUMERATE_MAX] != 0 ? "ray" : "z", a->points[k],
                     a->n);
}

void solve_emit(output *out, const answer *a, int table)
{
    if (strcmp(a->outcome, "solved") != 0 && !a->is_stationary) out->failed = 1;
    if (out->list)
        emit_json(out, a);
    else
        emit_text(a, table);
}

/* Linear problems
 * ---------------------------------------------------------------------------------- */

typedef struct collection {
    answer *a;
} collection;

static int same_point(const double *x, const double *y, int n)
{
    for (int i = 0; i < n; i++) {
        if (fabs(x[i] - y[i]) > 1e-8 * fmax(fabs(x[i]), fabs(y[i]))) return 0;
    }
    return 1;
}

static int collect(void *context, const double *z, const double *w, int is_ray)
{
    answer *a = ((collection *)context)->a;
    for (int k = 0; k < a->npoints; k++) {
        if ((a->points[k][2 * PERP_LCP_ENUMERATE_MAX] != 0) == is_ray &&
            same_point(a->points[k], z, a->n))
            return 0;
    }
    double *point = a->points[a->npoints++];
    memcpy(point, z, (size_t)a->n * sizeof(double));
    memcpy(point + PERP_LCP_ENUMERATE_MAX, w, (size_t)a->n * sizeof(double));
    point[2 * PERP_LCP_ENUMERATE_MAX] = is_ray;
    return a->npoints == MAX_SOLUTIONS;
}

/* All solutions; free variables may be among them, other bounds not. */
static perp_status solve_by_search(const problem_lcp *p, answer *a, double *z, double *w)
{
    if (p->view.n > PERP_LCP_ENUMERATE_MAX) return PERP_ERR_DIM;
    a->points = malloc(MAX_SOLUTIONS * sizeof *a->points);
    if (!a->points) return PERP_ERR_MEMORY;
    collection c = {a};
    double start = cli_now();
    perp_lcp_enumerate(&p->view, p->is_free, collect, &c);
    a->time_us = 1e6 * (cli_now() - start);
    a->method = "enumerate";
    a->iterations = a->npoints;
    a->residual = (double)NAN;
    a->outcome = "no solution";
    if (a->npoints && a->points[0][2 * PERP_LCP_ENUMERATE_MAX] == 0) {
        memcpy(z, a->points[0], (size_t)a->n * sizeof(double));
        a->residual = perp_lcp_residual(&p->view, z, w);
        a->outcome = "solved"; /* the search judges its points */
    }
    return PERP_OK;
}

static perp_status solve_with(const problem_lcp *p, perp_lcp_method method, answer *a, double *z,
                              double *w)
{
    perp_lcp_solver *solver;
    perp_lcp_info info = {
        .size = sizeof info, .outcome = PERP_LIMIT, .residual = (double)NAN, .error = (double)NAN};
    a->method = perp_lcp_method_name(method);
    perp_lcp_options o = perp_lcp_options_default(method);
    o.mixed = p->view.lo != NULL;
    perp_status status = perp_lcp_solver_create(method, p->view.n, &o, &solver);
    if (status != PERP_OK) {
        cli_say("perp solve: %s: %s\n", a->method, perp_status_message(status));
        return status;
    }
    double start = cli_now();
    status = perp_lcp_solve(solver, &p->view, z, w, &info);
    a->time_us = 1e6 * (cli_now() - start);
    a->outcome = perp_outcome_name(info.outcome);
    a->iterations = info.iterations;
    a->residual = info.residual;
    a->error = info.error;
    a->has_error = 1;
    perp_lcp_solver_destroy(solver);
    return status;
}

/* Methods of one class do nothing for problems of the other. */
static int refuse_method(const char *where, const char *method, const char *class)
{
    cli_say("%s: this is a %s problem, and '%s' is no method for it; perp solvers lists them\n",
            where, class, method);
    return CLI_USAGE;
}

static int solve_linear(const cJSON *json, const char *file, const char *method, int all,
                        output *out, perp_diag *diag)
{
    problem_lcp p;
    int is_snes = cli_is_snes(method);
    if (is_snes && all) {
        cli_say("%s: --all-solutions and --method %s do not go together\n", file, method);
        return CLI_USAGE;
    }
    if (strcmp(method, "all") != 0 && !is_snes &&
        perp_lcp_method_find(method) == PERP_LCP_METHOD_COUNT)
        return refuse_method(file, method, "linear");
    perp_status status = problem_lcp_from_json(json, file, &p, diag);
    if (status != PERP_OK) {
        problem_lcp_clear(&p);
        return cli_exit_code(status);
    }
    int n = p.view.n, code = CLI_DONE, table = strcmp(method, "all") == 0;
    if (all && p.nbounded > 0) {
        cli_say("%s: --all-solutions takes free variables, but no other bounds\n", file);
        problem_lcp_clear(&p);
        return CLI_USAGE;
    }
    if (all && n > PERP_LCP_ENUMERATE_MAX)
        cli_say("%s: all solutions are searched for up to n = %d; this one has n = %d\n", file,
                PERP_LCP_ENUMERATE_MAX, n);
    double *z = calloc(2 * (size_t)n + 2, sizeof *z);
    if (!z)
        code = cli_exit_code(PERP_ERR_MEMORY);
    else if (is_snes)
        code = solve_petsc_linear(method, &p.view, p.name, z, z + n, out, diag);
    for (int m = 0; code == CLI_DONE && m < PERP_LCP_METHOD_COUNT; m++) {
        answer a = {.name = p.name,
                    .outcome = "limit",
                    .method = "",
                    .z = z,
                    .w = z + n,
                    .n = n,
                    .residual = (double)NAN};
        if (!table && strcmp(method, perp_lcp_method_name((perp_lcp_method)m)) != 0) continue;
        if (all) {
            status = solve_by_search(&p, &a, z, z + n);
            if (status != PERP_OK) {
                a.outcome = "limit";
                a.method = "enumerate";
            }
            if (all && a.npoints == MAX_SOLUTIONS)
                cli_say("%s: there may be more than these %d solutions and rays\n", file,
                        MAX_SOLUTIONS);
            m = PERP_LCP_METHOD_COUNT;
        } else {
            status = solve_with(&p, (perp_lcp_method)m, &a, z, z + n);
        }
        if (status == PERP_ERR_MEMORY)
            code = cli_exit_code(status);
        else
            solve_emit(out, &a, table);
        free(a.points);
    }
    free(z);
    problem_lcp_clear(&p);
    return code;
}

/* Friction problems
 * -------------------------------------------------------------------------------- */

static int solve_friction(const cJSON *json, const char *file, const request *given, output *out,
                          perp_diag *diag)
{
    const char *method = given->method;
    perp_fc_options o = perp_fc_options_default();
    if (given->contacts.tol > 0) o.tol = given->contacts.tol;
    o.max_iter = given->contacts.max_iter;
    problem_fc p;
    if (strcmp(method, "all") != 0 && perp_fc_method_find(method) == PERP_FC_METHOD_COUNT)
        return refuse_method(file, method, "friction");
    perp_status status = problem_fc_from_json(json, file, &p, diag);
    if (status != PERP_OK) return cli_exit_code(status);
    int n = p.view.dimension * p.view.nc, code = CLI_DONE, table = strcmp(method, "all") == 0;
    double *r = calloc(2 * (size_t)n + 2, sizeof *r);
    if (!r) code = cli_exit_code(PERP_ERR_MEMORY);
    for (int m = 0; r && m < PERP_FC_METHOD_COUNT; m++) {
        perp_fc_solver *solver;
        perp_fc_info info = {.size = sizeof info, .outcome = PERP_LIMIT};
        if (!table && strcmp(method, perp_fc_method_name((perp_fc_method)m)) != 0) continue;
        status = perp_fc_solver_create((perp_fc_method)m, &p.view, &o, &solver);
        if (status != PERP_OK) {
            cli_say("%s: %s: %s\n", file, perp_fc_method_name((perp_fc_method)m),
                    perp_status_message(status));
            cli_exit_code(status);
            out->failed = 1;
            continue;
        }
        memset(r, 0, (size_t)n * sizeof *r);
        double start = cli_now();
        cli_exit_code(perp_fc_solve(solver, &p.view, r, r + n, &info));
        answer a = {.name = p.name,
                    .outcome = perp_outcome_name(info.outcome),
                    .method = perp_fc_method_name((perp_fc_method)m),
                    .z = r,
                    .w = r + n,
                    .n = n,
                    .iterations = info.iterations,
                    .residual = info.residual,
                    .error = info.error,
                    .has_error = 1,
                    .time_us = 1e6 * (cli_now() - start)};
        solve_emit(out, &a, table);
        perp_fc_solver_destroy(solver);
        if (given->contacts.out)
            code = solve_write_fclib(given->contacts.out, info.outcome == PERP_SOLVED, &p.view,
                                     p.name, r, r + n, diag);
    }
    free(r);
    problem_fc_clear(&p);
    return code;
}

/* Nonlinear problems
 * ------------------------------------------------------------------------------- */

/* The formulas of "F"; NULL after saying what is wrong. */
static perp_formulas *read_formulas(const cJSON *json, const char *file, int *code, perp_diag *diag)
{
    const cJSON *F = cJSON_GetObjectItem(json, "F"), *item;
    int n = cJSON_GetArraySize(F), i = 0;
    const char **text = calloc((size_t)n + 1, sizeof *text);
    perp_formulas *formulas = NULL;
    const cJSON *count = cJSON_GetObjectItem(json, "n");
    *code = CLI_BAD_INPUT;
    cJSON_ArrayForEach(item, F) if (text) text[i++] = cJSON_GetStringValue(item);
    for (i = 0; i < n && text && text[i]; i++) continue;
    if (!text)
        *code = cli_exit_code(PERP_ERR_MEMORY);
    else if (!cJSON_IsArray(F) || n == 0 || i < n)
        cli_say("%s: \"F\" must be a list of formulas in x1, x2, ..: \"3*x1^2 + x2 - 1\"\n", file);
    else if (count && !(cJSON_IsNumber(count) && count->valuedouble == n))
        cli_say("%s: \"n\" is not the number of formulas, %d\n", file, n);
    else
        *code = cli_exit_code(perp_formulas_create(n, text, file, &formulas, diag));
    free(text);
    return formulas;
}

/* The guess: "start", else zeros. */
static int read_start(const cJSON *json, const char *file, int n, double *z)
{
    const cJSON *list = cJSON_GetObjectItem(json, "start"), *item;
    int k = 0;
    if (!list) return 1;
    cJSON_ArrayForEach(item, list)
    {
        if (k < n && cJSON_IsNumber(item) && isfinite(item->valuedouble)) {
            z[k] = item->valuedouble;
            k++;
        }
    }
    if (k == n && cJSON_IsArray(list) && cJSON_GetArraySize(list) == n) return 1;
    cli_say("%s: \"start\" must be a list of %d numbers\n", file, n);
    return 0;
}

static int solve_nonlinear(const cJSON *json, const char *file, const char *method, output *out,
                           perp_diag *diag)
{
    int code, table = strcmp(method, "all") == 0;
    char name[128];
    int is_snes = cli_is_snes(method);
    if (!table && !is_snes && perp_mcp_method_find(method) == PERP_MCP_METHOD_COUNT)
        return refuse_method(file, method, "nonlinear");
    perp_formulas *formulas = read_formulas(json, file, &code, diag);
    if (!formulas) return code;
    perp_mcp p = perp_formulas_mcp(formulas);
    double *z = calloc(5 * (size_t)p.n, sizeof *z), *guess = z + 2 * p.n, *lo = guess + p.n,
           *hi = lo + p.n;
    problem_name(json, name, sizeof name);
    for (int i = 0; z && i < p.n; i++) hi[i] = (double)INFINITY;
    if (!z)
        code = cli_exit_code(PERP_ERR_MEMORY);
    else if (!read_start(json, file, p.n, guess))
        code = CLI_BAD_INPUT;
    else
        code = cli_exit_code(problem_bounds(json, p.n, lo, hi, file, diag));
    p.lo = lo;
    p.hi = hi;
    if (code == CLI_DONE && is_snes) {
        memcpy(z, guess, (size_t)p.n * sizeof *z);
        code = solve_petsc(method, &p, name, z, z + p.n, out, diag);
    }
    for (int m = 0; code == CLI_DONE && m < PERP_MCP_METHOD_COUNT; m++) {
        perp_mcp_solver *solver;
        perp_mcp_info info = {.size = sizeof info};
        const char *word = perp_mcp_method_name((perp_mcp_method)m);
        if (!table && strcmp(method, word) != 0) continue;
        perp_status status = perp_mcp_solver_create((perp_mcp_method)m, &p, NULL, &solver);
        if (status != PERP_OK) {
            cli_say("%s: %s: %s\n", file, word, perp_status_message(status));
            code = cli_exit_code(status);
            break;
        }
        memcpy(z, guess, (size_t)p.n * sizeof *z);
        double start = cli_now();
        cli_exit_code(perp_mcp_solve(solver, &p, z, z + p.n, &info));
        answer a = {.name = name,
                    .outcome = perp_outcome_name(info.outcome),
                    .method = word,
                    .z = z,
                    .w = z + p.n,
                    .n = p.n,
                    .iterations = info.iterations,
                    .residual = info.residual,
                    .error = info.error,
                    .has_error = 1,
                    .time_us = 1e6 * (cli_now() - start)};
        solve_emit(out, &a, table);
        perp_mcp_solver_destroy(solver);
    }
    free(z);
    perp_formulas_destroy(formulas);
    return code;
}

/* Command
 * ------------------------------------------------------------------------------------------ */

/* Is it a method for problems of some class? CLI_USAGE after saying that it is not. */
static int check_method(const char *method)
{
    enum { MOST = PERP_LCP_METHOD_COUNT + PERP_FC_METHOD_COUNT + PERP_MCP_METHOD_COUNT + 6 };
    const char *known[MOST] = {"all", "pile", "cones", "petsc", "petsc-rsls", "petsc-ssls"};
    char text[256];
    int n = 6;
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++)
        known[n++] = perp_lcp_method_name((perp_lcp_method)m);
    for (int m = 0; m < PERP_FC_METHOD_COUNT; m++)
        known[n++] = perp_fc_method_name((perp_fc_method)m);
    for (int m = 0; m < PERP_MCP_METHOD_COUNT; m++)
        known[n++] = perp_mcp_method_name((perp_mcp_method)m);
    for (int k = 0; k < n; k++) {
        if (strcmp(method, known[k]) == 0) return CLI_DONE;
    }
    if (!cli_speaks()) return CLI_USAGE;
    cli_say("perp solve: %s\n",
            perp_unknown_word("method", method, known, n, "perp solvers", text, sizeof text));
    return CLI_USAGE;
}

static int solve_one(const cJSON *json, const char *file, const request *given, output *out,
                     perp_diag *diag)
{
    const char *method = given->method;
    int all = given->all;
    const cJSON *word = cJSON_GetObjectItem(json, "kind");
    const char *kind = word ? cJSON_GetStringValue(word) : "lcp";
    if (!kind) {
        cli_say("%s: \"kind\" must be a text: lcp, mlcp, ncp, mpcc or fc\n", file);
        return CLI_BAD_INPUT;
    }
    int is_fc = strcmp(kind, "fc") == 0, is_ncp = strcmp(kind, "ncp") == 0;
    int is_mpcc = strcmp(kind, "mpcc") == 0;
    if ((is_fc || is_ncp || is_mpcc) && all) {
        const char *what = "an optimisation";
        if (is_fc)
            what = "a friction";
        else if (is_ncp)
            what = "a nonlinear";
        cli_say("%s: --all-solutions is for linear problems, this is %s problem\n", file, what);
        return CLI_USAGE;
    }
    int is_linear = strcmp(kind, "lcp") == 0 || strcmp(kind, "mlcp") == 0;
    if (!is_fc && (given->contacts.out || given->contacts.tol > 0 || given->contacts.max_iter)) {
        cli_say("%s: --tol, --max-iter and -o are of friction problems\n", file);
        return CLI_USAGE;
    }
    if (!is_fc && !is_ncp && !is_mpcc && !is_linear) {
        cli_say("%s: kind '%s' is not known; expected lcp, mlcp, ncp, mpcc or fc\n", file, kind);
        return CLI_BAD_INPUT;
    }
    int code = cli_check_keys(json, kind, file);
    if (code != CLI_DONE) return code;
    if (is_mpcc) return solve_mpcc(json, file, method, out, diag);
    if (is_ncp) return solve_nonlinear(json, file, method, out, diag);
    if (is_fc) return solve_friction(json, file, given, out, diag);
    return solve_linear(json, file, method, all, out, diag);
}

/* CLI_USAGE after saying which options are of other files. */
static int check_options(const request *r, int is_program, int is_fclib)
{
    if (!is_program && (r->sol || cli_is_given(&r->args, "tries") ||
                        cli_is_given(&r->args, "seed") || r->program.global))
        return cli_ask(&r->args,
                       "--tries, --seed, --global and --sol are of programs in .nl files;");
    if (!is_fclib && (r->contacts.warm || cli_is_given(&r->args, "threads")))
        return cli_ask(&r->args, "--threads and --warm are of contact problems in .h5 files;");
    if (is_program && (r->contacts.out || r->contacts.tol > 0 || r->contacts.max_iter))
        return cli_ask(&r->args, "--tol, --max-iter and -o are of friction problems;");
    if (is_fclib && r->all)
        return cli_ask(&r->args, "--all-solutions is of linear problems in .json files;");
    if (r->contacts.out && strcmp(r->method, "all") == 0)
        return cli_ask(&r->args, "-o writes the answer of one method;");
    if (r->contacts.out && !cli_is_fclib(r->contacts.out))
        return cli_ask(&r->args, "-o writes HDF5; its file must end in .h5 or .hdf5;");
    return cli_check_outputs(&r->args, r, NULL, &r->file, 1);
}

/* A problem, or each of a list. */
static int solve_json(const request *r, const cJSON *json, output *out, perp_diag *diag)
{
    const cJSON *item;
    char where[1024];
    int k = 0, code = CLI_DONE;
    if (out->one) return solve_one(json, r->file, r, out, diag);
    if (r->contacts.out && cJSON_GetArraySize(json) != 1) {
        cli_say("%s: -o writes one problem, and this is a list of %d\n", r->file,
                cJSON_GetArraySize(json));
        return CLI_USAGE;
    }
    cJSON_ArrayForEach(item, json)
    {
        cli_problem_place(where, sizeof where, r->file, ++k);
        if (code == CLI_DONE) code = solve_one(item, where, r, out, diag);
    }
    return code;
}

/* Processes of one launcher solve one problem by one method; those above rank 0 are done with it
 * here. */
static int join(const request *r, int *rank)
{
    if (!cli_is_petsc(r->method)) return cli_refuse_ranks("solve");
    perp_diag diag = {0};
    perp_status status = perp_petsc_begin(rank, NULL, &diag);
    int is_alone = perp_ranks_launched() < 2,
        code = status == PERP_ERR_UNAVAILABLE && !is_alone ? CLI_BAD_INPUT : cli_exit_code(status);
    cli_print_diag(&diag, stderr);
    perp_diag_clear(&diag);
    cli_catch_signals(); /* rank 0 ends all of them */
    if (code == CLI_DONE) perp_petsc_serve();
    return code;
}

static int solve(const request *r)
{
    perp_diag diag = {0};
    perp_status status = PERP_OK;
    int is_program = cli_is_program(r->file), is_fclib = cli_is_fclib(r->file),
        is_json = !is_program && !is_fclib;
    int code = check_options(r, is_program, is_fclib);
    if (code != CLI_DONE) return code;
    cJSON *json = is_json ? problem_json_load(r->file, &status, &diag) : cJSON_CreateArray();
    code = json ? CLI_DONE : cli_exit_code(status);
    output out = {.list = json && r->as_json ? cJSON_CreateArray() : NULL,
                  .one = !is_json || (json && !cJSON_IsArray(json))};
    if (json && r->as_json && !out.list) code = cli_exit_code(PERP_ERR_MEMORY);
    if (code == CLI_DONE && is_program)
        code = solve_program(r->file, r->sol, &r->program, &out, &diag);
    else if (code == CLI_DONE && is_fclib)
        code = solve_fclib(r->file, r->method, &r->contacts, &out, &diag);
    else if (code == CLI_DONE)
        code = solve_json(r, json, &out, &diag);
    if (out.list) {
        const cJSON *what =
            out.one && cJSON_GetArraySize(out.list) == 1 ? out.list->child : out.list;
        char *text = cli_json_print(what, 0);
        if (!text || problem_json_failed()) code = cli_exit_code(PERP_ERR_MEMORY);
        if (code == CLI_DONE && !cli_is_out_of_memory()) printf("%s\n", text);
        free(text);
        cJSON_Delete(out.list);
    }
    fflush(stdout);
    cli_print_diag(&diag, stderr);
    perp_diag_clear(&diag);
    problem_json_free(json);
    return code == CLI_DONE && out.failed ? CLI_NO_SOLUTION : code;
}

int perp__cmd_solve(int argc, char **argv)
{
    request r = {.args = {&cli_command_solve, argc, argv},
                 .method = "auto",
                 .program = perp_program_options_default(),
                 .contacts = {.threads = 1}};
    int code = cli_read(&r.args, &r), rank = 0;
    if (code == CLI_DONE) code = check_method(r.method);
    if (code == CLI_DONE) code = join(&r, &rank);
    if (code != CLI_DONE || rank > 0) return code;
    code = solve(&r);
    perp_petsc_end();
    return code;
}

/* Solvers -------------------------------------------------------------------------------------- */

typedef struct solvers_request {
    int as_json;
} solvers_request;

static const cli_option solvers_options[] = {
    CLI_JSON_OPTION(solvers_request),
};

const cli_command cli_command_solvers = {.name = "solvers",
                                         .usage = "[--json]",
                                         .about = "List the methods that perp solve knows.",
                                         .notes = "exit codes: 0 done, 1 usage, 4 memory",
                                         CLI_OPTIONS(solvers_options)};

static void list_solver(cJSON *list, const char *name, const char *summary)
{
    if (!list) {
        printf("  %-16s %s\n", name, summary);
        return;
    }
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "name", name);
    cJSON_AddStringToObject(o, "summary", summary);
    cJSON_AddItemToArray(list, o);
}

static cJSON *begin_list(cJSON *json, const char *key, const char *heading)
{
    if (!json) printf("%s:\n", heading);
    return json ? cJSON_AddArrayToObject(json, key) : NULL;
}

int perp__cmd_solvers(int argc, char **argv)
{
    solvers_request r = {0};
    int code = cli_read(&(cli_args){&cli_command_solvers, argc, argv}, &r);
    if (code != CLI_DONE) return code;
    perp_diag diag = {0};
    cJSON *json = r.as_json ? cli_json_begin("solvers") : NULL,
          *list = begin_list(json, "lcp", "linear complementarity (lcp, mlcp)");
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++)
        list_solver(list, perp_lcp_method_name((perp_lcp_method)m),
                    perp_lcp_method_summary((perp_lcp_method)m));
    list = begin_list(json, "mcp", "nonlinear complementarity (ncp, and mcp of the library)");
    for (int m = 0; m < PERP_MCP_METHOD_COUNT; m++)
        list_solver(list, perp_mcp_method_name((perp_mcp_method)m),
                    perp_mcp_method_summary((perp_mcp_method)m));
    list = begin_list(json, "fc", "contacts with friction (fc)");
    for (int m = 0; m < PERP_FC_METHOD_COUNT; m++)
        list_solver(list, perp_fc_method_name((perp_fc_method)m),
                    perp_fc_method_summary((perp_fc_method)m));
    return json ? cli_json_end(json, code, &diag, stdout) : code;
}
