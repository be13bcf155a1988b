/* perp solve, kind mpcc: a program with complementarity constraints as a plan of one step. Every pair determines
 * one of its variables, the others are inputs of the plan; perp/plan.h solves and verifies. */

#include "cli.h"
#include "problem_lcp.h"
#include "solve.h"

#include "perp/plan.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 100 };

typedef struct program {
    const char *file;
    const cJSON *objective, *G, *H, *constraints;
    int n, m;              /* variables, pairs */
    char is_var[MOST + 1]; /* x_i is determined by a pair */
} program;

static int refuse(const program *p, const char *what)
{
    fprintf(stderr, "%s: %s\n", p->file, what);
    return CLI_BAD_INPUT;
}

/* The index of the next x1, x2, .. in the text; 0: no more. Moves on behind it. */
static int next_variable(const char **text)
{
    for (const char *s = *text; *s; s++) {
        int starts = *s == 'x' && isdigit((unsigned char)s[1]) &&
                     (s == *text || !isalnum((unsigned char)s[-1]));
        if (!starts) continue;
        long k = strtol(s + 1, (char **)(size_t)text, 10);
        return k > MOST ? MOST + 1 : (int)k;
    }
    return 0;
}

static int count_variables(program *p, const cJSON *list)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        const char *text = cJSON_GetStringValue(item);
        if (!text) return 0;
        for (int k; (k = next_variable(&text)) > 0;) p->n = k > p->n ? k : p->n;
    }
    return p->n <= MOST;
}

/* A variable of each pair that no other pair has. */
static int choose_vars(program *p)
{
    for (int i = 0; i < p->m; i++) {
        const char *sides[2] = {cJSON_GetStringValue(cJSON_GetArrayItem(p->H, i)),
                                cJSON_GetStringValue(cJSON_GetArrayItem(p->G, i))};
        int chosen = 0;
        for (int s = 0; s < 2 && !chosen; s++) {
            for (int k; !chosen && (k = next_variable(&sides[s])) > 0;)
                chosen = p->is_var[k] ? 0 : k;
        }
        if (!chosen) return 0;
        p->is_var[chosen] = 1;
    }
    return 1;
}

/* A constraint is a condition, or an expression that must not be negative. */
static int is_joined(const char *text)
{
    return strpbrk(text, "<>=") || strstr(text, "\u2264") || strstr(text, "\u2265");
}

/* Only expressions may go into the model's text: nothing that declares or reads. */
static int check_list(const program *p, const char *key, const cJSON *list, perp_diag *diag)
{
    const cJSON *item;
    int i = 0;
    cJSON_ArrayForEach(item, list)
    {
        char where[1024];
        const char *text = cJSON_GetStringValue(item);
        int joined = list == p->constraints && is_joined(text);
        snprintf(where, sizeof where, "%s: \"%s\"[%d]", p->file, key, i++);
        perp_status status = perp_formula_check(text, joined, where, diag);
        if (status != PERP_OK) return cli_exit_code(status);
    }
    return CLI_DONE;
}

static int check_formulas(const program *p, perp_diag *diag)
{
    char where[1024];
    snprintf(where, sizeof where, "%s: \"objective\"", p->file);
    int code = cli_exit_code(perp_formula_check(p->objective->valuestring, 0, where, diag));
    if (code == CLI_DONE) code = check_list(p, "G", p->G, diag);
    if (code == CLI_DONE) code = check_list(p, "H", p->H, diag);
    return code == CLI_DONE ? check_list(p, "constraints", p->constraints, diag) : code;
}

static int read_program(const cJSON *json, program *p)
{
    p->objective = cJSON_GetObjectItem(json, "objective");
    p->G = cJSON_GetObjectItem(json, "G"), p->H = cJSON_GetObjectItem(json, "H");
    p->constraints = cJSON_GetObjectItem(json, "constraints");
    p->m = cJSON_GetArraySize(p->G);
    if (!cJSON_IsString(p->objective))
        return refuse(p, "\"objective\" must be a formula in x1, x2, ..");
    if (!cJSON_IsArray(p->G) || !cJSON_IsArray(p->H) || cJSON_GetArraySize(p->H) != p->m ||
        p->m == 0)
        return refuse(p, "\"G\" and \"H\" must be lists of as many formulas");
    if (p->constraints && !cJSON_IsArray(p->constraints))
        return refuse(p, "\"constraints\" must be a list of formulas: \"x1 + x2 <= 1\"");
    const char *text = p->objective->valuestring;
    for (int k; (k = next_variable(&text)) > 0;) p->n = k > p->n ? k : p->n;
    if (!count_variables(p, p->G) || !count_variables(p, p->H) ||
        !count_variables(p, p->constraints))
        return refuse(p, "expected formulas in x1 .. x100");
    return choose_vars(p) ? CLI_DONE : refuse(p, "each pair must have a variable of its own");
}

/* Append to a growing text; NULL when memory is out. */
static char *append(char *text, const char *format, const char *word, int k)
{
    size_t length = text ? strlen(text) : 0, more = strlen(format) + (word ? strlen(word) : 0) + 32;
    char *longer = realloc(text, length + more);
    if (!longer) {
        free(text);
        return NULL;
    }
    if (word)
        snprintf(longer + length, more, format, word);
    else
        snprintf(longer + length, more, format, k);
    return longer;
}

static char *model_text(const program *p)
{
    char *text = append(NULL, "model program\n", "", 0);
    const cJSON *item;
    for (int k = 1; k <= p->n && text; k++)
        text = append(text, p->is_var[k] ? "var x%d\n" : "input x%d\n", NULL, k);
    for (int i = 0; i < p->m && text; i++) {
        text = append(text, "0 <= %s", cJSON_GetArrayItem(p->G, i)->valuestring, 0);
        if (text)
            text = append(text, " perp %s >= 0\n", cJSON_GetArrayItem(p->H, i)->valuestring, 0);
    }
    if (text)
        text = append(text, "plan {\n horizon 1\n nodes 2\n minimize end(%s)\n",
                      p->objective->valuestring, 0);
    cJSON_ArrayForEach(item, p->constraints)
    {
        const char *c = cJSON_GetStringValue(item);
        if (text) text = append(text, is_joined(c) ? " at end: %s\n" : " at end: %s >= 0\n", c, 0);
    }
    return text ? append(text, "}\n", "", 0) : NULL;
}

/* The last row of the plan, in the order of the variables. */
static void read_answer(const perp_plan *plan, int n, double *row, double *x)
{
    perp_plan_row(plan, perp_plan_rows(plan) - 1, row);
    for (int c = 0; c < perp_plan_columns(plan); c++) {
        int k = 0;
        if (sscanf(perp_plan_column_name(plan, c), "x%d", &k) == 1 && k >= 1 && k <= n)
            x[k - 1] = row[c];
    }
}

int solve_mpcc(const void *json, const char *file, const char *method, output *out, perp_diag *diag)
{
    program p = {.file = file};
    char name[128];
    perp_model *model = NULL;
    perp_plan *plan = NULL;
    perp_plan_result r;
    if (strcmp(method, "auto") != 0 && strcmp(method, "all") != 0) {
        fprintf(stderr,
                "%s: this is an optimisation problem, which perp plan solves: no method '%s'\n",
                file, method);
        return CLI_USAGE;
    }
    int code = read_program(json, &p);
    if (code == CLI_DONE) code = check_formulas(&p, diag);
    if (code != CLI_DONE) return code;
    problem_name(json, name, sizeof name);
    char *text = model_text(&p);
    double start = cli_now(), *x = NULL;
    perp_status status =
        text ? perp_model_parse(text, strlen(text), file, &model, diag) : PERP_ERR_MEMORY;
    if (status == PERP_OK) {
        perp_plan_options o = perp_plan_options_default(model);
        o.tries = 4; /* such programs have several minima */
        o.replay = 0;
        status = perp_plan_create(model, &o, &plan, diag);
    }
    if (status == PERP_OK) x = calloc((size_t)(p.n + perp_plan_columns(plan)), sizeof *x);
    if (status == PERP_OK && !x) status = PERP_ERR_MEMORY;
    if (status == PERP_OK) status = perp_plan_solve(plan, &r, diag);
    if (status == PERP_OK) {
        read_answer(plan, p.n, x + p.n, x);
        answer a = {.name = name,
                    .outcome = perp_plan_outcome_name(r.outcome),
                    .method = "plan",
                    .z = x,
                    .n = p.n,
                    .iterations = r.iterations,
                    .residual =
                        fmax(r.complementarity, fmax(r.defect, fmax(r.bounds, r.conditions))),
                    .time_us = 1e6 * (cli_now() - start),
                    .holds = perp_plan_holds(r.outcome),
                    .is_stationary = r.outcome <= PERP_PLAN_STATIONARY_B,
                    .has_objective = 1,
                    .objective = r.cost};
        solve_emit(out, &a, 0);
    }
    free(x);
    free(text);
    perp_plan_destroy(plan);
    perp_model_destroy(model);
    return cli_exit_code(status);
}
