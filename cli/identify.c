/* perp identify: a model and recorded runs in, parameters with intervals and what the data cannot
 * tell out. */

#include "cli.h"
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct request {
    cli_args args;
    const char *file, *out, *report, *estimate, *shard;
    perp_identify_options o;
    char names[4096]; /* of `estimate`, which o.parameter points at */
    cli_list data, set, folder;
    int quiet, as_json, resume, rank, ranks; /* rank 0 prints and writes */
    int waits_for;                           /* the shard of the last waiting message */
    double interrupted;                      /* when */
    cJSON *json;
} request;

#define INTO(field) CLI_INTO(request, field)

static const char *const estimators[] = {
#define PERP_ESTIMATOR(name, suffix, summary) #name,
#include "perp/estimators.def"
#undef PERP_ESTIMATOR
    NULL};

#define SPACED(name, word, ...) " " word
static const char *const integrators[] = {
#define WORD(name, word, ...) word,
    PERP_INTEGRATOR_LIST(WORD) NULL
#undef WORD
};

static const char *const derivatives[] = {"auto", "exact", "differences", NULL};

static const cli_option options[] = {
    {"", "FILE.perp", NULL, INTO(file), .needed = "which model?"},
    {"data", "FILE|FOLDER",
     "recorded runs: a CSV file with a column t, or a folder of them; may be repeated", INTO(data),
     .needed = "which data?"},
    {"method", "NAME", "how to estimate (default: the model's, else predict); the list is below",
     INTO(o.method), .words = estimators},
    {"estimate", "NAME,...", "parameters (default: the model's, else all that have a range)",
     INTO(estimate)},
    {"set", "NAME=VALUE",
     "a parameter, also a start of the search, or an initial value; may be repeated", INTO(set)},
    CLI_FOLDER_OPTION,
    {"starts", "N",
     "points of the ranges that are looked at (default: by the number of parameters)",
     INTO(o.starts), .least = 1},
    {"max-iter", "N", "iterations from a start (default 100); 0 only looks at the starts",
     INTO(o.max_iter)},
    {"horizon", "N", "rows predicted from a measured one (default 0: the whole run)",
     INTO(o.horizon)},
    {"step", "H", "step of the simulation [s] (default: the model's, or the data's)", INTO(o.step)},
    {"integrator", "NAME",
     "predict: how time is stepped (default: the model's method, else one that fits "
     "it):" PERP_INTEGRATOR_LIST(SPACED),
     INTO(o.integrator), .words = integrators},
    {"derivatives", "KIND",
     "predict: exact (through the solved steps), differences, or auto (default: exact unless wide "
     "differences disagree)",
     INTO(o.derivatives), .words = derivatives, .what = "kind of derivatives"},
    {"huber", "K", "residuals beyond K scales count linearly (default 0: all squared)",
     INTO(o.huber)},
    {"soft-sides", "W",
     "implicit: second sides of pairs may be negative, at W times as much (default: none may)",
     INTO(o.soft_sides)},
    {"soft-vars", "W", "implicit: the same for first sides", INTO(o.soft_vars)},
    {"sliding", "W",
     "implicit: weight of gamma's second sides squared where the data's column sliding is 1",
     INTO(o.sliding)},
    {"bootstrap", "N", "intervals from N resampled sets of runs instead of from the curvature",
     INTO(o.bootstrap)},
    {"confidence", "P", "of the intervals (default 0.95)", INTO(o.confidence)},
    {"seed", "N", "of the bootstrap (default 1)", INTO(o.seed)},
    {"threads", "N", "default: one per processor; the result is the same", INTO(o.threads)},
    {"shard", "I/N",
     "predict the Ith part (1 .. N) of the recordings: one of N processes that are begun at about "
     "the same time and see the same REPORT.json.shards, a folder by which they share the work; "
     "the first writes the result, which is that of one process",
     INTO(shard)},
    {"resume", NULL,
     "with --shard: take the place of a process that is dead; it does the work again that was done",
     INTO(resume)},
    {"o", "REPORT.json",
     "write the whole result; - is standard output (the text then goes to standard error)",
     INTO(out), .is_output = 1, .endings = "json *"},
    {"report", "OUT.html",
     "write a page: the first run and, over it, what the estimates predict; see perp report",
     INTO(report), .is_output = 1, .endings = "html htm"},
    {"quiet", NULL, "no text", INTO(quiet)},
    CLI_JSON_OPTION(request),
};

static void list_methods(void)
{
    printf("\nmethods:\n");
    for (int k = 0; k < PERP_ESTIMATOR_COUNT; k++)
        printf("  %-10s %s\n", perp_estimator_name((perp_estimator)k),
               perp_estimator_summary((perp_estimator)k));
}

const cli_command cli_command_identify = {
    .name = "identify",
    .usage = "FILE.perp --data RUN.csv|FOLDER [options]",
    .about = "Estimate the parameters that have a range (param mu = 0.5 in [0, 2]) from recorded "
             "runs. Columns are matched by name:\n"
             "a state's column gives the initial value and is compared, an input's drives the "
             "input, vars and outputs are compared;\n"
             "an empty field or nan is a missing sample. Printed are the estimates with standard "
             "errors and intervals (where these could be checked), the\n"
             "residuals, and what the data do not determine.",
    .list = list_methods,
    .notes = "examples:\n"
             "  perp identify examples/identify/block.perp --data examples/identify/block.csv\n"
             "  perp identify cube.perp --data tosses/ --huber 2 -o cube.json\n\n"
             "exit codes: 0 done (also when a parameter is not identifiable), 1 usage, 2 bad model "
             "or data, 3 no verified solution,\n"
             "4 file or memory, 130 interrupted: the best fit so far is printed, and written to "
             "OUT.json.partial, its page to OUT.partial.html",
    CLI_OPTIONS(options)};

/* "mu,m" replaces the list of parameters. */
static int take_estimate(request *r)
{
    perp_identify_options *o = &r->o;
    if (!r->estimate) return 1;
    snprintf(r->names, sizeof r->names, "%s", r->estimate);
    o->nparameter = 0;
    for (char *name = strtok(r->names, ","); name; name = strtok(NULL, ",")) {
        if (o->nparameter == PERP_IDENTIFY_MOST_PARAMETERS) {
            cli_say("perp identify: more than %d parameters\n", PERP_IDENTIFY_MOST_PARAMETERS);
            return 0;
        }
        o->parameter[o->nparameter++] = name;
    }
    return 1;
}

/* Text ---------------------------------------------------------------------------------------- */

static void print_parameters(FILE *out, const perp_identification *a, double confidence)
{
    fprintf(out, "\n  %-12s %12s %12s   %.3g %% interval\n", "parameter", "estimate", "std. error",
            100 * confidence);
    for (int i = 0; i < a->nparameter; i++) {
        const perp_estimate *e = &a->parameter[i];
        if (!e->identifiable)
            fprintf(out, "  %-12s %12s %12s   fits from %.6g to %.6g", e->name, "not known", "-",
                    e->low, e->high);
        else if (!e->has_interval)
            fprintf(out, "  %-12s %12.6g %12s   none", e->name, e->value, "-");
        else
            fprintf(out, "  %-12s %12.6g %12.2g   [%.6g, %.6g]", e->name, e->value, e->std_error,
                    e->low, e->high);
        fprintf(out, "%s%s\n", e->unit[0] ? "  " : "", e->unit);
    }
}

static void print_columns(FILE *out, const perp_identification *a)
{
    fprintf(out, "\n  %-12s %8s %8s %12s %12s %12s  residual (predicted - measured)\n", "column",
            "samples", "missing", "mean", "rms", "largest");
    for (int j = 0; j < a->ncolumn; j++) {
        const perp_fit_column *c = &a->column[j];
        fprintf(out, "  %-12s %8ld %8ld %12.3g %12.3g %12.3g  at t = %g", c->name, c->samples,
                c->missing, c->mean, c->rms, c->largest, c->largest_time);
        fprintf(out, "%s%s\n", c->unit[0] ? "  " : "", c->unit);
    }
}

/* Did the fit need steps that stand for a motion? */
static int has_steps(const perp_model *model, const perp_identification *a)
{
    return a->integrator != PERP_INTEGRATOR_COUNT && perp_model_get_kind(model) == PERP_CONTINUOUS;
}

/* What the error of the steps does to the estimates. */
static void print_time(FILE *out, const perp_model *model, const perp_identification *a)
{
    if (!has_steps(model, a)) return;
    if (isnan(a->time_shift))
        fprintf(out, "  error of the steps in time: not known\n");
    else
        fprintf(out,
                "  error of the steps in time: moves the estimates by up to %.2g of their "
                "standard errors\n",
                a->time_shift);
}

static void print_text(FILE *out, const perp_model *model, const perp_dataset *data,
                       const perp_identify_options *o, const perp_identification *a)
{
    int runs = perp_dataset_runs(data);
    if (a->interrupted) fprintf(out, "interrupted: the best fit so far, which is not judged\n");
    fprintf(out, "%s: %s on %d run%s, %ld samples, step %g s%s%s; %ld evaluations in %.2f s\n",
            perp_model_name(model), perp_estimator_name(a->method), runs, runs == 1 ? "" : "s",
            a->samples, a->step, has_steps(model, a) ? ", " : "",
            has_steps(model, a) ? perp_integrator_name(a->integrator) : "", a->evaluations,
            a->seconds);
    print_parameters(out, a, o->confidence);
    if (a->ncolumn) print_columns(out, a);
    if (!isnan(a->condition))
        fprintf(out, "\n  condition of the information matrix %.2g", a->condition);
    if (!isnan(a->noise_factor))
        fprintf(out, "; the residuals are %.3g scales (1 if the stated noise explains them)",
                a->noise_factor);
    fprintf(out, "\n");
    print_time(out, model, a);
    if (a->nfinding) fprintf(out, "\n");
    for (int k = 0; k < a->nfinding; k++) fprintf(out, "  - %s\n", a->finding[k]);
}

/* JSON ---------------------------------------------------------------------------------------- */

#define FIELD(field) CLI_JSON(perp_estimate, field)
#define FLAG(field)  CLI_JSON_AS(CLI_JSON_FLAG, perp_estimate, field)
static const cli_json_field parameter_fields[] = {
    FIELD(name),
    FIELD(unit),
    FLAG(identifiable),
    FLAG(has_interval),
    FIELD(value),
    FIELD(std_error),
    FIELD(low),
    FIELD(high),
    {"range_lo", offsetof(perp_estimate, lo), CLI_JSON_NUMBER},
    {"range_hi", offsetof(perp_estimate, hi), CLI_JSON_NUMBER},
    FLAG(at_bound)};
#undef FIELD
#undef FLAG
#define FIELD(field) CLI_JSON(perp_fit_column, field)
static const cli_json_field column_fields[] = {
    FIELD(name),        FIELD(unit),         FIELD(samples),    FIELD(missing),
    FIELD(scale),       FIELD(mean),         FIELD(rms),        FIELD(largest),
    FIELD(largest_run), FIELD(largest_time), FIELD(correlation)};
#undef FIELD
#define FIELD(field) CLI_JSON(perp_fit_start, field)
#define FLAG(field)  CLI_JSON_AS(CLI_JSON_FLAG, perp_fit_start, field)
static const cli_json_field start_fields[] = {FIELD(cost), FLAG(searched), FIELD(iterations),
                                              FLAG(is_cut), FLAG(flat)};
#undef FIELD
#undef FLAG
#define FIELD(field) CLI_JSON(perp_identification, field)
static const cli_json_field fit_fields[] = {FIELD(cost),    FIELD(noise_factor), FIELD(condition),
                                            FIELD(samples), FIELD(missing),      FIELD(evaluations),
                                            FIELD(step),    FIELD(time_shift),   FIELD(seconds)};
#undef FIELD

/* Items of `size` bytes, an object each. */
static cJSON *list_json(const cli_json_field *field, int n, const void *item, int items,
                        size_t size)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < items; i++) {
        cJSON *o = cJSON_CreateObject();
        cli_json_add(o, field, n, (const char *)item + (size_t)i * size);
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

static cJSON *starts_json(const perp_identification *a)
{
    cJSON *list = cJSON_CreateArray();
    for (int k = 0; k < a->nstart; k++) {
        const perp_fit_start *s = &a->start[k];
        cJSON *o = cJSON_CreateObject();
        cJSON_AddItemToObject(o, "from", cJSON_CreateDoubleArray(s->from, a->nparameter));
        cJSON_AddItemToObject(o, "to", cJSON_CreateDoubleArray(s->to, a->nparameter));
        cli_json_add(o, start_fields, CLI_JSON_COUNT(start_fields), s);
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

static cJSON *covariance_json(const perp_identification *a)
{
    cJSON *rows = cJSON_CreateArray();
    int n = a->covariance ? a->nparameter : 0;
    for (int i = 0; i < n; i++) {
        cJSON *row = cJSON_CreateArray();
        for (int j = 0; j < n; j++) {
            double x = a->covariance[i + j * n];
            cJSON_AddItemToArray(row, isfinite(x) ? cJSON_CreateNumber(x) : cJSON_CreateNull());
        }
        cJSON_AddItemToArray(rows, row);
    }
    return rows;
}

/* All of it goes into `root`, which is returned. */
static cJSON *report_json(cJSON *root, const perp_model *model, const perp_dataset *data,
                          const perp_identify_options *o, const perp_identification *a)
{
    cJSON *runs = cJSON_CreateArray(), *findings = cJSON_CreateArray();
    cJSON_AddStringToObject(root, "model", perp_model_name(model));
    cJSON_AddStringToObject(root, "file", perp_model_file(model));
    cJSON_AddStringToObject(root, "method", perp_estimator_name(a->method));
    cli_json_add_text(root, "integrator",
                      has_steps(model, a) ? perp_integrator_name(a->integrator) : NULL);
    for (int r = 0; r < perp_dataset_runs(data); r++)
        cJSON_AddItemToArray(runs, cJSON_CreateString(perp_dataset_name(data, r)));
    for (int k = 0; k < a->nfinding; k++)
        cJSON_AddItemToArray(findings, cJSON_CreateString(a->finding[k]));
    cJSON_AddItemToObject(root, "runs", runs);
    cJSON_AddBoolToObject(root, "interrupted", a->interrupted);
    cli_json_add_number(root, "confidence", o->confidence);
    cJSON_AddItemToObject(root, "parameters",
                          list_json(parameter_fields, CLI_JSON_COUNT(parameter_fields),
                                    a->parameter, a->nparameter, sizeof *a->parameter));
    cJSON_AddItemToObject(root, "covariance", covariance_json(a));
    cJSON_AddItemToObject(root, "findings", findings);
    cJSON_AddItemToObject(root, "columns",
                          list_json(column_fields, CLI_JSON_COUNT(column_fields), a->column,
                                    a->ncolumn, sizeof *a->column));
    cJSON_AddItemToObject(root, "starts", starts_json(a));
    cli_json_add(root, fit_fields, CLI_JSON_COUNT(fit_fields), a);
    return root;
}

static int write_report(const char *path, cJSON *root, perp_diag *diag)
{
    char *text = cli_json_text(root);
    perp_status status = PERP_ERR_MEMORY;
    if (text)
        status = perp_file_write(path, text, strlen(text), diag);
    else
        cli_say("perp identify: %s\n", perp_status_message(status));
    free(text);
    return cli_exit_code(status);
}

/* --------------------------------------------------------------------------------------------- */

/* The exit code; without memory also for the message, says so itself. */
static int exit_code(const perp_diag *diag, perp_status status)
{
    if (status == PERP_ERR_MEMORY && !perp_diag_text(diag)[0])
        cli_say("perp identify: %s\n", perp_status_message(status));
    return cli_exit_code(status);
}

/* A line on a terminal that is written over. */
typedef struct watch {
    double said; /* when */
    int is_on;
} watch;

/* Says how far the search is; not 0 after Ctrl-C. */
static int show_progress(void *context, const perp_identify_progress *p)
{
    watch *w = context;
    double now = cli_now();
    if (w->is_on && now - w->said > 0.2) {
        fprintf(stderr, "\rperp identify: search %d, %ld evaluations, cost %.6g\033[K", p->searches,
                p->evaluations, p->cost);
        w->said = now;
    }
    return cli_is_interrupted();
}

/* Between processes that share a folder: report who is waited for. After Ctrl-C all agree to end
 * when those that predict have done so. A process that has gone is not waited for. */
static int wait_for_shard(void *context, int shard, double seconds)
{
    const double UNTIL_SAID = 10, LONGEST = 5;
    request *r = context;
    if (seconds > UNTIL_SAID && r->waits_for != shard + 1) {
        cli_say("perp identify: shard %s waits for %d/%d; where that process is dead, begin it "
                "again with --resume\n",
                r->shard, shard + 1, r->ranks);
        r->waits_for = shard + 1;
    }
    if (!cli_is_interrupted()) return 0;
    if (!(r->interrupted > 0)) r->interrupted = cli_now();
    return cli_now() - r->interrupted > LONGEST;
}

/* The processes of a launcher, or of a folder. */
static int join(request *r, perp_diag *diag)
{
    char folder[CLI_PATH_ROOM];
    if (r->resume && !r->shard) {
        cli_say("perp identify: --resume needs --shard I/N\n");
        return CLI_USAGE;
    }
    if (!r->shard) return cli_join_ranks("identify", "", &r->rank, &r->ranks, diag);
    int code = cli_read_shard("identify", r->shard, &r->rank, &r->ranks);
    if (code != CLI_DONE || r->ranks == 1) return code;
    if (perp_ranks_launched() > 1) return cli_refuse_ranks("identify --shard");
    if (!cli_is_plain_file(r->out)) {
        cli_say("perp identify: --shard needs -o REPORT.json\n");
        return CLI_USAGE;
    }
    if (snprintf(folder, sizeof folder, "%s.shards", r->out) >= (int)sizeof folder) {
        cli_say("perp identify: %s: the name is too long\n", r->out);
        return CLI_FILE;
    }
    return cli_exit_code(
        perp_ranks_join_folder(folder, r->rank, r->ranks, r->resume, wait_for_shard, r, diag));
}

static int identify(perp_model *model, const perp_dataset *data, request *r, perp_diag *diag)
{
    perp_identification a = {.size = sizeof a};
    perp_status status = perp_identify_options_default(model, &r->o, diag);
    if (status != PERP_OK)
        return status == PERP_ERR_MEMORY ? exit_code(diag, status) : CLI_BAD_INPUT;
    cli_read_again(&r->args, r);
    if (!take_estimate(r)) return CLI_USAGE;
    if (r->rank > 0) {
        r->quiet = 1;
        r->out = r->report = NULL;
    }
    perp_identify_options o = r->o;
    watch w = {.said = cli_now(), .is_on = !r->quiet && isatty(STDERR_FILENO)};
    double begun = w.said;
    o.progress = show_progress;
    o.progress_context = &w;
    o.ranks = r->ranks > 1;
    cli_catch_signals();
    status = perp_identify(model, data, &o, &a, diag);
    if (status == PERP_OK) status = perp_outcome_status(status, a.outcome);
    if (w.said > begun) fprintf(stderr, "\r\033[K");
    if (r->ranks > 1 && (status == PERP_ERR_MEMORY || status == PERP_ERR_UNAVAILABLE)) {
        if (status == PERP_ERR_MEMORY || !perp_diag_text(diag)[0])
            cli_say("perp identify: %s\n", status == PERP_ERR_MEMORY ? perp_status_message(status)
                                                                     : "another process has ended");
        perp_ranks_abort(CLI_FILE); /* the others would wait */
    }
    if (status == PERP_ERR_STOPPED) return CLI_INTERRUPTED;
    if (status == PERP_ERR_UNAVAILABLE && r->ranks > 1) return CLI_FILE;
    if (status != PERP_OK) return exit_code(diag, status);
    FILE *out = cli_text_stream(r->out, r->report);
    if (!r->quiet) print_text(out, model, data, &o, &a);
    if (r->json) report_json(r->json, model, data, &o, &a);
    char room[CLI_PATH_ROOM];
    int code = CLI_DONE;
    if (r->out)
        code = write_report(cli_result_name(r->out, a.interrupted, room),
                            report_json(cli_json_begin("identify"), model, data, &o, &a), diag);
    if (code == CLI_DONE && r->report) {
        const char *page = cli_result_name(r->report, a.interrupted, room);
        code = exit_code(diag, cli_report_fit(page, model, data, &a, diag));
    }
    if (code == CLI_DONE && a.interrupted) {
        if (cli_is_plain_file(r->out))
            cli_say("perp identify: interrupted; the best fit so far is in %s.partial\n", r->out);
        code = CLI_INTERRUPTED;
    }
    perp_identification_clear(&a);
    return code;
}

/* Of the files read, those of `data`, which is nullable. */
static int check_outputs(const perp_model *model, const perp_dataset *data, const request *r)
{
    int n = perp_dataset_runs(data);
    const char **read = malloc(((size_t)n + 1) * sizeof *read);
    for (int i = 0; read && i < n; i++) read[i] = perp_dataset_name(data, i);
    int code = read ? cli_check_outputs(&r->args, r, model, read, n) : CLI_FILE;
    if (!read) cli_say("perp identify: %s\n", perp_status_message(PERP_ERR_MEMORY));
    free(read);
    return code;
}

/* The model and the recorded runs; and what is to be written can be. */
static int prepare(request *r, perp_model **model, perp_dataset **data, perp_diag *diag)
{
    int code = cli_load(r->file, "identify", &r->set, &r->folder, model, diag);
    if (code == CLI_DONE) code = check_outputs(*model, NULL, r);
    if (code == CLI_DONE && r->report && !perp_report_has_page()) /* before the work */
        code = exit_code(diag, perp_report_write_html(NULL, 0, NULL, r->report, diag));
    if (code == CLI_DONE) code = exit_code(diag, perp_dataset_create(data));
    for (int i = 0; i < r->data.n && code == CLI_DONE; i++)
        code = exit_code(diag, perp_dataset_read(*data, r->data.item[i], diag));
    return code == CLI_DONE ? check_outputs(*model, *data, r) : code;
}

int perp__cmd_identify(int argc, char **argv)
{
    request r = {.args = {&cli_command_identify, argc, argv}};
    int code = cli_read(&r.args, &r);
    perp_diag diag = {0};
    perp_model *model = NULL;
    perp_dataset *data = NULL;
    if (code == CLI_DONE && r.as_json) {
        r.json = cli_json_begin("identify");
        r.quiet = 1;
    }
    int is_run = code == CLI_DONE;
    if (is_run) code = join(&r, &diag);
    int is_joined = is_run && code == CLI_DONE;
    if (is_joined) code = prepare(&r, &model, &data, &diag);
    if (is_joined) code = perp_ranks_most(code);
    if (is_joined && code == CLI_DONE) code = identify(model, data, &r, &diag);
    perp_ranks_leave();
    if (r.json && r.rank == 0)
        code = cli_json_end(r.json, code, &diag, cli_text_stream(r.out, r.report));
    if (r.json && r.rank > 0) cJSON_Delete(r.json);
    fflush(stdout);
    cli_print_diag(&diag, stderr);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    free(r.data.item);
    free(r.set.item);
    free(r.folder.item);
    return code;
}
