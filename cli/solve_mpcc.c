/* perp solve, kind mpcc: a program with complementarity constraints by formulas, solved by
 * perp/program.h. A side that is no bare variable gets a slack variable, x_n+1 and so on, which the
 * other side complements. */

#include "cli.h"
#include "problem_lcp.h"
#include "program.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 100000 };

typedef struct program {
    const char *file;
    const cJSON *objective, *G, *H, *constraints;
    int n, m;  /* variables of the formulas, pairs */
    int slack; /* variables so far, with those of pairs */
    int nrow, most;
    char **row; /* most */
    double *row_lo, *row_hi, *lo;
    int *complements;
    int failed; /* memory */
} program;

static int refuse(const program *p, const char *what)
{
    cli_say("%s: %s\n", p->file, what);
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
    p->G = cJSON_GetObjectItem(json, "G");
    p->H = cJSON_GetObjectItem(json, "H");
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
    if (p->n > MOST || !count_variables(p, p->G) || !count_variables(p, p->H) ||
        !count_variables(p, p->constraints))
        return refuse(p, "expected formulas in x1 .. x100000");
    return CLI_DONE;
}

/* Rows ----------------------------------------------------------------------------------------- */

/* left - right between lo and hi, complementing a variable (from 0; -1: none). */
static void add_row(program *p, const char *left, size_t length, const char *right,
                    size_t right_length, double lo, double hi, int complements)
{
    size_t room = length + right_length + 16;
    char *text = p->failed ? NULL : malloc(room);
    if (!text || p->nrow == p->most) {
        free(text);
        p->failed = 1;
        return;
    }
    snprintf(text, room, right_length ? "(%.*s) - (%.*s)" : "%.*s", (int)length, left,
             (int)right_length, right);
    p->row_lo[p->nrow] = lo;
    p->row_hi[p->nrow] = hi;
    p->complements[p->nrow] = complements;
    p->row[p->nrow++] = text;
}

/* The next comparison in the text, and how long it is; NULL: none. */
static const char *next_comparison(const char *text, size_t *length)
{
    static const char *const words[] = {"<=", ">=", "\u2264", "\u2265", "="};
    for (; *text; text++)
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
            *length = strlen(words[k]);
            if (strncmp(text, words[k], *length) == 0) return text;
        }
    return NULL;
}

/* a <= b = c ..: a row for each comparison. One expression must not be negative. */
static void add_constraint(program *p, const char *text)
{
    size_t length, next_length;
    const char *at = next_comparison(text, &length), *left = text;
    if (!at) add_row(p, text, strlen(text), "", 0, 0, INFINITY, -1);
    while (at) {
        const char *right = at + length, *next = next_comparison(right, &next_length);
        size_t until = next ? (size_t)(next - right) : strlen(right);
        int is_less = *at == '<' || strncmp(at, "\u2264", 3) == 0, is_equal = *at == '=';
        add_row(p, left, (size_t)(at - left), right, until, is_less ? -INFINITY : 0,
                is_less || is_equal ? 0 : INFINITY, -1);
        left = right;
        at = next;
        length = next_length;
    }
}

/* The variable (from 0) that a side is, if it is nothing else and has no pair; -1. */
static int bare_variable(const program *p, const char *text)
{
    char *end;
    while (isspace((unsigned char)*text)) text++;
    if (*text != 'x' || !isdigit((unsigned char)text[1])) return -1;
    long k = strtol(text + 1, &end, 10);
    while (isspace((unsigned char)*end)) end++;
    return *end || k < 1 || k > p->n || isfinite(p->lo[k - 1]) ? -1 : (int)k - 1;
}

static void add_pair(program *p, const char *G, const char *H)
{
    int j = bare_variable(p, G);
    const char *other = H;
    if (j < 0 && (j = bare_variable(p, H)) >= 0) other = G;
    if (j < 0) {
        char slack[16];
        j = p->slack++;
        int length = snprintf(slack, sizeof slack, "x%d", j + 1);
        add_row(p, G, strlen(G), slack, (size_t)length, 0, 0, -1);
    }
    p->lo[j] = 0;
    add_row(p, other, strlen(other), "", 0, 0, INFINITY, j);
}

static int count_comparisons(const char *text)
{
    int n = 0;
    size_t length;
    for (const char *at = next_comparison(text, &length); at;
         at = next_comparison(at + length, &length))
        n++;
    return n > 0 ? n : 1;
}

static void make_rows(program *p)
{
    const cJSON *item;
    p->slack = p->n;
    p->most = 2 * p->m;
    cJSON_ArrayForEach(item, p->constraints) p->most += count_comparisons(item->valuestring);
    size_t most = (size_t)p->most + 1, n = (size_t)(p->n + p->m) + 1;
    p->row = calloc(most, sizeof *p->row);
    p->row_lo = calloc(2 * most, sizeof *p->row_lo);
    p->lo = calloc(n, sizeof *p->lo);
    p->complements = calloc(most, sizeof *p->complements);
    p->failed = !p->row || !p->row_lo || !p->lo || !p->complements;
    if (p->failed) return;
    p->row_hi = p->row_lo + most;
    for (size_t j = 0; j < n; j++) p->lo[j] = -INFINITY;
    for (int i = 0; i < p->m; i++)
        add_pair(p, cJSON_GetArrayItem(p->G, i)->valuestring,
                 cJSON_GetArrayItem(p->H, i)->valuestring);
    cJSON_ArrayForEach(item, p->constraints) add_constraint(p, item->valuestring);
}

static void clear(program *p)
{
    for (int i = 0; i < p->nrow; i++) free(p->row[i]);
    free(p->row);
    free(p->row_lo);
    free(p->lo);
    free(p->complements);
}

static perp_status create(program *p, perp_program **solver, perp_diag *diag)
{
    make_rows(p);
    const perp_program_formulas f = {.variables = p->slack,
                                     .lo = p->lo,
                                     .objective = p->objective->valuestring,
                                     .rows = p->nrow,
                                     .row = (const char *const *)p->row,
                                     .row_lo = p->row_lo,
                                     .row_hi = p->row_hi,
                                     .complements = p->complements};
    return p->failed ? PERP_ERR_MEMORY : perp_program_create(&f, p->file, solver, diag);
}

int solve_mpcc(const void *json, const char *file, const char *method, output *out, perp_diag *diag)
{
    program p = {.file = file};
    char name[128];
    perp_program *solver = NULL;
    perp_program_result r = {.size = sizeof r};
    perp_program_options o = perp_program_options_default();
    if (strcmp(method, "auto") != 0 && strcmp(method, "all") != 0) {
        cli_say("%s: this is an optimisation problem, which has one method: no method '%s'\n", file,
                method);
        return CLI_USAGE;
    }
    int code = read_program(json, &p);
    if (code == CLI_DONE) code = check_formulas(&p, diag);
    if (code != CLI_DONE) return code;
    problem_name(json, name, sizeof name);
    double start = cli_now();
    o.tries = 4; /* such programs have several minima */
    perp_status status = create(&p, &solver, diag);
    if (status == PERP_OK) status = perp_program_solve(solver, &o, &r, diag);
    if (status == PERP_OK) {
        answer a = {.name = name, .n = p.n};
        solve_fill(&a, solver, &r);
        a.rows = a.bounds = NULL;
        a.ray = NULL; /* of rows that the file does not have */
        a.time_us = 1e6 * (cli_now() - start);
        solve_emit(out, &a, 0);
    }
    perp_program_destroy(solver);
    clear(&p);
    return cli_exit_code(status);
}
