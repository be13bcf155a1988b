/* perp solve FILE.h5: contact problems in files of the Friction Contact Library, and friction
 * problems of JSON files written as such. */

#include "cli.h"
#include "problem_fc.h"
#include "solve_fclib.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_is_fclib(const char *file)
{
    static const char *const tail[] = {".h5", ".hdf5"};
    size_t n = strlen(file);
    for (int k = 0; k < 2; k++) {
        size_t m = strlen(tail[k]);
        if (n > m && strcmp(file + n - m, tail[k]) == 0) return 1;
    }
    return 0;
}

/* Progress ------------------------------------------------------------------------------------- */

typedef struct watch {
    int is_shown, was_shown, is_asked;
    double started;
    const perp_fclib_problem *p;
    const char *out; /* -o; nullable */
    int has_kept;
} watch;

static int look(void *context, int iterations, double error)
{
    watch *w = context;
    if (!w->is_asked) cli_catch_signals(); /* methods that never ask are ended by them */
    w->is_asked = 1;
    if (w->is_shown && cli_now() - w->started > 1) {
        fprintf(stderr, "\r  %d iterations, error %.2e, %.0f s ", iterations, error,
                cli_now() - w->started);
        w->was_shown = 1;
    }
    return cli_is_interrupted();
}

/* The iterate of a run of several processes, under the name of a stopped run: a process may be lost
 * at any time. */
static void keep(void *context, int iterations, const perp_fclib_point *point)
{
    watch *w = context;
    char room[CLI_PATH_ROOM];
    perp_diag diag = {0};
    const char *name = w->out ? cli_result_name(w->out, 1, room) : NULL;
    if (!name) return;
    if (perp_fclib_write(name, w->p, point, &diag) == PERP_OK) {
        cli_say("perp solve: the best of %d sweeps is in %s\n", iterations, name);
        w->has_kept = 1;
    } else {
        cli_print_diag(&diag, stderr);
        w->out = NULL; /* said once */
    }
    perp_diag_clear(&diag);
}

/* Where the answer itself is written. */
static void forget_kept(const watch *w)
{
    char room[CLI_PATH_ROOM];
    if (w->has_kept) remove(cli_result_name(w->out, 1, room));
}

/* Solving -------------------------------------------------------------------------------------- */

typedef struct values {
    double *r, *u, *v, *l; /* in one allocation */
    int n;
} values;

static int take_values(const perp_fclib_problem *p, values *to)
{
    size_t n = (size_t)p->nc * (size_t)p->dimension, nv = (size_t)perp_fclib_velocities(p),
           nl = (size_t)perp_fclib_multipliers(p);
    to->r = calloc(2 * n + nv + nl + 1, sizeof *to->r);
    if (!to->r) return 0;
    to->u = to->r + n;
    to->v = to->u + n;
    to->l = to->v + nv;
    to->n = (int)n;
    return 1;
}

static int write_answer(const char *path, int is_solved, const perp_fclib_problem *p,
                        const values *x, perp_diag *diag)
{
    char room[CLI_PATH_ROOM];
    const char *name = cli_result_name(path, !is_solved, room);
    const perp_fclib_point point = {x->r, x->u, x->v, x->l};
    if (!name) {
        cli_say("perp solve: -o %s: the name is too long\n", path);
        return CLI_USAGE;
    }
    perp_status status = perp_fclib_write(name, p, &point, diag);
    if (status == PERP_OK && !is_solved)
        cli_say("perp solve: not solved; what was found is in %s\n", name);
    return cli_exit_code(status);
}

/* One method; *is_taken: it is one for this problem. */
static int solve_by(const perp_fclib *file, const char *method, int table,
                    const cli_contact_options *given, const char *name, output *out, values *x,
                    int *is_taken, perp_diag *diag)
{
    const perp_fclib_problem *p = perp_fclib_problem_of(file);
    perp_fclib_options o = perp_fclib_options_default();
    perp_fclib_info info = {.size = sizeof info};
    watch w = {.is_shown = isatty(2), .started = cli_now(), .p = p, .out = given->out};
    o.method = method;
    o.tol = given->tol;
    o.max_iter = given->max_iter;
    o.threads = given->threads;
    o.warm_start = given->warm;
    o.progress = look;
    o.context = &w;
    o.keep = keep;
    if (given->warm)
        memcpy(x->r, perp_fclib_impulses(file), (size_t)x->n * sizeof *x->r);
    else
        memset(x->r, 0, (size_t)x->n * sizeof *x->r);
    perp_status status = perp_fclib_solve(p, &o, x->r, x->u, x->v, x->l, &info, diag);
    if (w.was_shown) fprintf(stderr, "\r%60s\r", "");
    if (status == PERP_OK && info.outcome == PERP_SOLVED) forget_kept(&w);
    *is_taken = status == PERP_OK;
    if (status != PERP_OK) return cli_exit_code(status);
    answer a = {.name = name,
                .outcome = perp_outcome_name(info.outcome),
                .method = table ? method : info.method,
                .z = x->r,
                .w = x->u,
                .n = x->n,
                .iterations = info.iterations,
                .residual = info.residual,
                .error = info.error,
                .has_error = 1,
                .time_us = 1e6 * (cli_now() - w.started)};
    solve_emit(out, &a, table);
    return info.outcome == PERP_SOLVED ? CLI_DONE : CLI_NO_SOLUTION;
}

static int solve_all(const perp_fclib *file, const cli_contact_options *given, const char *name,
                     output *out, values *x, perp_diag *diag)
{
    int any = 0, code = CLI_DONE;
    perp_diag said = {0}; /* of a method that does not take the problem */
    for (int m = -2; m < (int)PERP_FC_METHOD_COUNT && !cli_is_interrupted(); m++) {
        const char *method;
        if (m == -2)
            method = "pile";
        else if (m == -1)
            method = "cones";
        else
            method = perp_fc_method_name((perp_fc_method)m);
        int is_taken;
        perp_diag_clear(&said);
        code = solve_by(file, method, 1, given, name, out, x, &is_taken, &said);
        any |= is_taken;
        if (!is_taken && code != CLI_BAD_INPUT && code != CLI_USAGE) break;
        code = CLI_DONE; /* output knows what failed */
    }
    if (any && code == CLI_DONE) {
        perp_diag_clear(&said);
        return CLI_DONE;
    }
    perp_diag_clear(diag);
    *diag = said; /* what the last one said */
    return code == CLI_DONE && !cli_is_interrupted() ? CLI_BAD_INPUT : code;
}

/* Is it a method for contacts? */
static int is_method(const char *method)
{
    return cli_is_petsc(method) || strcmp(method, "all") == 0 || strcmp(method, "pile") == 0 ||
           strcmp(method, "cones") == 0 || perp_fc_method_find(method) != PERP_FC_METHOD_COUNT;
}

int solve_fclib(const char *path, const char *method, const cli_contact_options *given, output *out,
                perp_diag *diag)
{
    perp_fclib *file = NULL;
    values x = {0};
    if (!is_method(method)) {
        cli_say("%s: this is a friction problem, and '%s' is no method for it; perp solvers lists "
                "them\n",
                path, method);
        return CLI_USAGE;
    }
    int code = cli_file_code(perp_fclib_read(path, &file, diag)), is_taken = 0;
    const perp_fclib_problem *p = file ? perp_fclib_problem_of(file) : NULL;
    const char *name = p && p->title && *p->title ? p->title : path;
    if (code == CLI_DONE && given->warm && !perp_fclib_impulses(file)) {
        cli_say("%s: --warm begins at the file's solution, and it has none\n", path);
        code = CLI_BAD_INPUT;
    }
    if (code == CLI_DONE && !take_values(p, &x)) code = cli_exit_code(PERP_ERR_MEMORY);
    if (code == CLI_DONE && strcmp(method, "all") == 0) {
        code = solve_all(file, given, name, out, &x, diag);
    } else if (code == CLI_DONE) {
        code = solve_by(file, method, 0, given, name, out, &x, &is_taken, diag);
        if (is_taken && given->out) {
            int written = write_answer(given->out, code == CLI_DONE, p, &x, diag);
            if (written != CLI_DONE) code = written;
        }
    }
    if (cli_is_interrupted()) code = CLI_INTERRUPTED;
    free(x.r);
    perp_fclib_destroy(file);
    return code == CLI_NO_SOLUTION ? CLI_DONE : code; /* output knows */
}

/* Friction problems of JSON -------------------------------------------------------------------- */

/* W by columns, from blocks in any order, or dense. All in one allocation each; 0: memory. */
typedef struct columns {
    int *start, *row;
    double *value;
} columns;

static int fill_columns(const perp_fc *fc, columns *to)
{
    size_t d = (size_t)fc->dimension, n = d * (size_t)fc->nc,
           entries = fc->W ? n * n : (size_t)fc->nb * d * d;
    to->start = calloc(n + 2, sizeof *to->start);
    to->row = calloc(entries + 1, sizeof *to->row);
    to->value = calloc(entries + 1, sizeof *to->value);
    if (!to->start || !to->row || !to->value) return 0;
    for (size_t e = 0; e < entries; e++) {
        size_t j = fc->W ? e / n : (size_t)fc->col[e / (d * d)] * d + e % d;
        to->start[j + 2]++;
    }
    for (size_t j = 0; j < n; j++) to->start[j + 2] += to->start[j + 1];
    for (size_t e = 0; e < entries; e++) {
        size_t block = fc->W ? 0 : e / (d * d),
               j = fc->W ? e / n : (size_t)fc->col[block] * d + e % d,
               i = fc->W ? e % n : (size_t)fc->row[block] * d + e / d % d;
        int at = to->start[j + 1]++;
        to->row[at] = (int)i;
        to->value[at] = fc->W ? fc->W[j * (size_t)fc->ldw + i] : fc->block[e];
    }
    return 1;
}

int solve_write_fclib(const char *path, int is_solved, const perp_fc *fc, const char *name,
                      double *r, double *u, perp_diag *diag)
{
    columns c = {0};
    int n = fc->dimension * fc->nc, code;
    const values x = {r, u, NULL, NULL, n};
    if (fill_columns(fc, &c)) {
        const perp_fclib_problem p = {.dimension = fc->dimension,
                                      .nc = fc->nc,
                                      .mu = fc->mu,
                                      .W = {n, n, c.start, c.row, c.value},
                                      .q = fc->q,
                                      .title = name};
        code = write_answer(path, is_solved, &p, &x, diag);
    } else {
        code = cli_exit_code(PERP_ERR_MEMORY);
    }
    free(c.start);
    free(c.row);
    free(c.value);
    return code;
}
