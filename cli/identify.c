/* perp identify: a model and recorded runs in, parameters with intervals and what the data cannot tell out. */

#include "cli.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPT_DATA,
    OPT_METHOD,
    OPT_ESTIMATE,
    OPT_SET,
    OPT_STARTS,
    OPT_HORIZON,
    OPT_STEP,
    OPT_DERIVATIVES,
    OPT_HUBER,
    OPT_SOFT_SIDES,
    OPT_SOFT_VARS,
    OPT_SLIDING,
    OPT_BOOTSTRAP,
    OPT_CONFIDENCE,
    OPT_SEED,
    OPT_THREADS,
    OPT_O,
    OPT_REPORT,
    OPT_QUIET,
    OPT_HELP
};

static const old_option options[] = {
    {"data", "FILE|FOLDER",
     "recorded runs: a CSV file with a column t, or a folder of them; may be repeated"},
    {"method", "NAME", "how to estimate (default: the model's, else predict); the list is below"},
    {"estimate", "NAME,...", "parameters (default: the model's, else all that have a range)"},
    {"set", "NAME=VALUE",
     "a parameter, also a start of the search, or an initial value; may be repeated"},
    {"starts", "N",
     "points of the ranges that are looked at (default: by the number of parameters)"},
    {"horizon", "N", "rows predicted from a measured one (default 0: the whole run)"},
    {"step", "H", "step of the simulation [s] (default: the model's, or the data's)"},
    {"derivatives", "KIND",
     "predict: exact (through the solved steps), differences, or auto (default: exact unless wide "
     "differences disagree)"},
    {"huber", "K", "residuals beyond K scales count linearly (default 0: all squared)"},
    {"soft-sides", "W",
     "implicit: second sides of pairs may be negative, at W times as much (default: none may)"},
    {"soft-vars", "W", "implicit: the same for first sides"},
    {"sliding", "W",
     "implicit: weight of gamma's second sides squared where the data's column sliding is 1"},
    {"bootstrap", "N", "intervals from N resampled sets of runs instead of from the curvature"},
    {"confidence", "P", "of the intervals (default 0.95)"},
    {"seed", "N", "of the bootstrap (default 1)"},
    {"threads", "N", "default: one per processor; the result is the same"},
    {"o", "REPORT.json",
     "write the whole result; - is standard output (the text then goes to standard error)"},
    {"report", "OUT.html",
     "write a page: the first run and, over it, what the estimates predict; see perp report"},
    {"quiet", NULL, "no text"},
    {"help", NULL, "this text"},
};

enum { NOPTIONS = sizeof options / sizeof *options };

typedef struct request {
    const char *file, *out, *report, *method, *estimate, *derivatives;
    cli_list data, set;
    int quiet;
    double number[NOPTIONS]; /* NaN: not given */
} request;

static void print_help(void)
{
    printf("usage: perp identify FILE.perp --data RUN.csv|FOLDER [options]\n\n"
           "Estimate the parameters that have a range (param mu = 0.5 in [0, 2]) from recorded "
           "runs. Columns are matched by "
           "name:\n"
           "a state's column gives the initial value and is compared, an input's drives the input, "
           "vars and outputs are "
           "compared;\n"
           "an empty field or nan is a missing sample. Printed are the estimates with standard "
           "errors and intervals (where these could be "
           "checked), what is left\n"
           "over, and what the data cannot tell.\n\n");
    cli_print_options(options, NOPTIONS);
    printf("\nmethods:\n");
    for (int k = 0; k < PERP_ESTIMATOR_COUNT; k++)
        printf("  %-10s %s\n", perp_estimator_name((perp_estimator)k),
               perp_estimator_summary((perp_estimator)k));
    printf("\nexamples:\n"
           "  perp identify examples/identify/block.perp --data examples/identify/block.csv\n"
           "  perp identify cube.perp --data tosses/ --huber 2 -o cube.json\n\n"
           "exit codes: 0 done (also when a parameter is not identifiable), 1 usage, 2 bad model "
           "or data, 3 no verified "
           "solution,\n"
           "4 file or memory, 130 interrupted: the best fit so far is printed\n");
}

/* Command line -------------------------------------------------------------------------------- */

/* CLI_DONE to go on, CLI_USAGE, CLI_FILE without memory, or -1 when help was printed. */
static int read_request(int argc, char **argv, request *r)
{
    old_args args = {.argc = argc,
                     .argv = argv,
                     .at = 1,
                     .command = "identify",
                     .options = options,
                     .noptions = NOPTIONS};
    *r = (request){.file = NULL};
    for (int k = 0; k < NOPTIONS; k++) r->number[k] = NAN;
    for (int k; (k = cli_next(&args)) != CLI_END;) {
        int ok = 1;
        switch (k) {
        case OPT_DATA:
            if (!cli_keep(&args, &r->data)) return CLI_FILE;
            break;
        case OPT_SET:
            if (!cli_keep(&args, &r->set)) return CLI_FILE;
            break;
        case OPT_METHOD: r->method = args.value; break;
        case OPT_DERIVATIVES: r->derivatives = args.value; break;
        case OPT_ESTIMATE: r->estimate = args.value; break;
        case OPT_O: r->out = args.value; break;
        case OPT_REPORT: r->report = args.value; break;
        case OPT_QUIET: r->quiet = 1; break;
        case OPT_HELP: print_help(); return -1;
        case CLI_BAD: return CLI_USAGE;
        case CLI_OPERAND: ok = cli_one_file(&args, &r->file); break;
        default: ok = cli_number(&args, k, &r->number[k]); break;
        }
        if (!ok) return CLI_USAGE;
    }
    if (r->file && r->data.n) return CLI_DONE;
    fprintf(stderr,
            "perp identify: %s usage: perp identify FILE.perp --data RUN.csv; see perp identify "
            "--help\n",
            r->file ? "which data?" : "which model?");
    return CLI_USAGE;
}

static int take_whole(const request *r, int option, int least, int *to)
{
    double x = r->number[option];
    if (isnan(x)) return 1;
    *to = x >= least && x <= 1e9 ? (int)x : -1;
    if (*to == x) return 1;
    fprintf(stderr, "perp identify: --%s needs a whole number from %d on, not %g\n",
            options[option].name, least, x);
    return 0;
}

/* "mu,m" replaces the list of parameters; `names` keeps the text. */
static int take_estimate(const request *r, char *names, size_t size, perp_identify_options *o)
{
    if (!r->estimate) return 1;
    snprintf(names, size, "%s", r->estimate);
    o->nparameter = 0;
    for (char *name = strtok(names, ","); name; name = strtok(NULL, ",")) {
        if (o->nparameter == PERP_IDENTIFY_MOST_PARAMETERS) {
            fprintf(stderr, "perp identify: more than %d parameters\n",
                    PERP_IDENTIFY_MOST_PARAMETERS);
            return 0;
        }
        o->parameter[o->nparameter++] = name;
    }
    return 1;
}

static int take_options(const request *r, char *names, size_t size, perp_identify_options *o)
{
    const double *x = r->number;
    int seed = (int)o->seed;
    if (!take_whole(r, OPT_STARTS, 1, &o->starts) || !take_whole(r, OPT_HORIZON, 0, &o->horizon) ||
        !take_whole(r, OPT_BOOTSTRAP, 0, &o->bootstrap) ||
        !take_whole(r, OPT_THREADS, 0, &o->threads) || !take_whole(r, OPT_SEED, 0, &seed) ||
        !take_estimate(r, names, size, o))
        return 0;
    o->seed = (unsigned long long)seed;
    if (!isnan(x[OPT_STEP])) o->step = x[OPT_STEP];
    if (!isnan(x[OPT_HUBER])) o->huber = x[OPT_HUBER];
    if (!isnan(x[OPT_SOFT_SIDES])) o->soft_sides = x[OPT_SOFT_SIDES];
    if (!isnan(x[OPT_SOFT_VARS])) o->soft_vars = x[OPT_SOFT_VARS];
    if (!isnan(x[OPT_SLIDING])) o->sliding = x[OPT_SLIDING];
    if (!isnan(x[OPT_CONFIDENCE])) o->confidence = x[OPT_CONFIDENCE];
    if (r->derivatives) o->derivatives = perp_derivatives_find(r->derivatives);
    if (o->derivatives == PERP_DERIVATIVES_COUNT) {
        fprintf(stderr, "perp identify: --derivatives is auto, exact or differences, not '%s'\n",
                r->derivatives);
        return 0;
    }
    if (!r->method) return 1;
    o->method = perp_estimator_find(r->method);
    if (o->method != PERP_ESTIMATOR_COUNT) return 1;
    fprintf(stderr, "perp identify: unknown method '%s'; there are:", r->method);
    for (int k = 0; k < PERP_ESTIMATOR_COUNT; k++)
        fprintf(stderr, " %s", perp_estimator_name((perp_estimator)k));
    fprintf(stderr, "\n");
    return 0;
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
    fprintf(out, "\n  %-12s %8s %8s %12s %12s %12s  left over (predicted - measured)\n", "column",
            "samples", "missing", "mean", "rms", "largest");
    for (int j = 0; j < a->ncolumn; j++) {
        const perp_fit_column *c = &a->column[j];
        fprintf(out, "  %-12s %8ld %8ld %12.3g %12.3g %12.3g  at t = %g", c->name, c->samples,
                c->missing, c->mean, c->rms, c->largest, c->largest_time);
        fprintf(out, "%s%s\n", c->unit[0] ? "  " : "", c->unit);
    }
}

static void print_text(FILE *out, const perp_model *model, const perp_dataset *data,
                       const perp_identify_options *o, const perp_identification *a)
{
    int runs = perp_dataset_runs(data);
    if (a->interrupted) fprintf(out, "interrupted: the best fit so far, which is not judged\n");
    fprintf(out, "%s: %s on %d run%s, %ld samples, step %g s; %ld evaluations in %.2f s\n",
            perp_model_name(model), perp_estimator_name(a->method), runs, runs == 1 ? "" : "s",
            a->samples, a->step, a->evaluations, a->seconds);
    print_parameters(out, a, o->confidence);
    if (a->ncolumn) print_columns(out, a);
    if (!isnan(a->condition))
        fprintf(out, "\n  condition of the information matrix %.2g", a->condition);
    if (!isnan(a->noise_factor))
        fprintf(out, "; left over are %.3g scales (1 where the stated noise explains it)",
                a->noise_factor);
    fprintf(out, "\n");
    if (a->nfinding) fprintf(out, "\n");
    for (int k = 0; k < a->nfinding; k++) fprintf(out, "  - %s\n", a->finding[k]);
}

/* JSON ---------------------------------------------------------------------------------------- */

/* cJSON leaves out what it has no memory for, and the rest looks whole: allocations are watched. */
static int json_failed;

static void *json_malloc(size_t size)
{
    void *memory = malloc(size);
    json_failed |= !memory;
    return memory;
}

static void add_number(cJSON *to, const char *name, double x)
{
    if (isfinite(x))
        cJSON_AddNumberToObject(to, name, x);
    else
        cJSON_AddNullToObject(to, name);
}

static cJSON *parameters_json(const perp_identification *a)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < a->nparameter; i++) {
        const perp_estimate *e = &a->parameter[i];
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "name", e->name);
        cJSON_AddStringToObject(o, "unit", e->unit);
        cJSON_AddBoolToObject(o, "identifiable", e->identifiable);
        cJSON_AddBoolToObject(o, "has_interval", e->has_interval);
        add_number(o, "value", e->value);
        add_number(o, "std_error", e->std_error);
        add_number(o, "low", e->low);
        add_number(o, "high", e->high);
        add_number(o, "range_lo", e->lo);
        add_number(o, "range_hi", e->hi);
        cJSON_AddBoolToObject(o, "at_bound", e->at_bound);
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

static cJSON *columns_json(const perp_identification *a)
{
    cJSON *list = cJSON_CreateArray();
    for (int j = 0; j < a->ncolumn; j++) {
        const perp_fit_column *c = &a->column[j];
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "name", c->name);
        cJSON_AddStringToObject(o, "unit", c->unit);
        add_number(o, "samples", (double)c->samples);
        add_number(o, "missing", (double)c->missing);
        add_number(o, "scale", c->scale);
        add_number(o, "mean", c->mean);
        add_number(o, "rms", c->rms);
        add_number(o, "largest", c->largest);
        add_number(o, "largest_run", c->largest_run);
        add_number(o, "largest_time", c->largest_time);
        add_number(o, "correlation", c->correlation);
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
        add_number(o, "cost", s->cost);
        cJSON_AddBoolToObject(o, "searched", s->searched);
        add_number(o, "iterations", s->iterations);
        cJSON_AddBoolToObject(o, "is_cut", s->is_cut);
        cJSON_AddBoolToObject(o, "flat", s->flat);
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

static cJSON *report_json(const perp_model *model, const perp_dataset *data,
                          const perp_identify_options *o, const perp_identification *a)
{
    cJSON_InitHooks(&(cJSON_Hooks){json_malloc, free});
    json_failed = 0;
    cJSON *root = cJSON_CreateObject(), *runs = cJSON_CreateArray(),
          *findings = cJSON_CreateArray();
    cJSON_AddStringToObject(root, "perp", perp_version());
    cJSON_AddStringToObject(root, "model", perp_model_name(model));
    cJSON_AddStringToObject(root, "file", perp_model_file(model));
    cJSON_AddStringToObject(root, "method", perp_estimator_name(a->method));
    for (int r = 0; r < perp_dataset_runs(data); r++)
        cJSON_AddItemToArray(runs, cJSON_CreateString(perp_dataset_name(data, r)));
    for (int k = 0; k < a->nfinding; k++)
        cJSON_AddItemToArray(findings, cJSON_CreateString(a->finding[k]));
    cJSON_AddItemToObject(root, "runs", runs);
    cJSON_AddBoolToObject(root, "interrupted", a->interrupted);
    add_number(root, "confidence", o->confidence);
    cJSON_AddItemToObject(root, "parameters", parameters_json(a));
    cJSON_AddItemToObject(root, "covariance", covariance_json(a));
    cJSON_AddItemToObject(root, "findings", findings);
    cJSON_AddItemToObject(root, "columns", columns_json(a));
    cJSON_AddItemToObject(root, "starts", starts_json(a));
    add_number(root, "cost", a->cost);
    add_number(root, "noise_factor", a->noise_factor);
    add_number(root, "condition", a->condition);
    add_number(root, "samples", (double)a->samples);
    add_number(root, "missing", (double)a->missing);
    add_number(root, "evaluations", (double)a->evaluations);
    add_number(root, "step", a->step);
    add_number(root, "seconds", a->seconds);
    return root;
}

static int write_report(const char *path, cJSON *root, perp_diag *diag)
{
    char *text = json_failed ? NULL : cJSON_Print(root);
    perp_status status = PERP_ERR_MEMORY;
    size_t n = text ? strlen(text) : 0;
    char *line = text ? malloc(n + 2) : NULL;
    if (line) {
        memcpy(line, text, n);
        strcpy(line + n, "\n");
        status = perp_file_write(cli_is_standard_output(path) ? "-" : path, line, n + 1, diag);
    } else {
        fprintf(stderr, "perp identify: %s\n", perp_status_message(status));
    }
    free(line);
    cJSON_free(text);
    cJSON_Delete(root);
    return cli_exit_code(status);
}

/* --------------------------------------------------------------------------------------------- */

/* The exit code; without memory also for the message, says so itself. */
static int exit_code(const perp_diag *diag, perp_status status)
{
    if (status == PERP_ERR_MEMORY && !perp_diag_text(diag)[0])
        fprintf(stderr, "perp identify: %s\n", perp_status_message(status));
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

static int identify(perp_model *model, const perp_dataset *data, const request *r, perp_diag *diag)
{
    perp_identify_options o;
    perp_identification a;
    char names[4096];
    perp_status status = perp_identify_options_default(model, &o, diag);
    if (status != PERP_OK)
        return status == PERP_ERR_MEMORY ? exit_code(diag, status) : CLI_BAD_INPUT;
    if (!take_options(r, names, sizeof names, &o)) return CLI_USAGE;
    watch w = {.said = cli_now(), .is_on = !r->quiet && isatty(STDERR_FILENO)};
    double begun = w.said;
    o.progress = show_progress, o.progress_context = &w;
    cli_catch_signals();
    status = perp_identify(model, data, &o, &a, diag);
    if (w.said > begun) fprintf(stderr, "\r\033[K");
    if (status == PERP_ERR_STOPPED) return CLI_INTERRUPTED;
    if (status != PERP_OK) return exit_code(diag, status);
    int is_busy = (r->out && cli_is_standard_output(r->out)) ||
                  (r->report && cli_is_standard_output(r->report));
    FILE *out = is_busy ? stderr : stdout;
    if (!r->quiet) print_text(out, model, data, &o, &a);
    int code = r->out ? write_report(r->out, report_json(model, data, &o, &a), diag) : CLI_DONE;
    if (code == CLI_DONE && r->report)
        code = exit_code(diag, cli_report_fit(r->report, model, data, &a, diag));
    if (code == CLI_DONE && a.interrupted) code = CLI_INTERRUPTED;
    perp_identification_clear(&a);
    return code;
}

/* Of the files read, those of `data`, which is nullable. */
static int check_outputs(const perp_model *model, const perp_dataset *data, const request *r)
{
    const cli_output output[] = {{"-o", r->out}, {"--report", r->report}};
    int n = perp_dataset_runs(data);
    const char **read = malloc(((size_t)n + 1) * sizeof *read);
    for (int i = 0; read && i < n; i++) read[i] = perp_dataset_name(data, i);
    int code = read ? cli_check_outputs("identify", output, 2, model, read, n) : CLI_FILE;
    if (!read) fprintf(stderr, "perp identify: %s\n", perp_status_message(PERP_ERR_MEMORY));
    free(read);
    return code;
}

int perp__cmd_identify(int argc, char **argv)
{
    request r;
    int code = read_request(argc, argv, &r);
    if (code) {
        free(r.data.item);
        free(r.set.item);
        return code < 0 ? CLI_DONE : code;
    }
    perp_diag diag = {0};
    perp_model *model = NULL;
    perp_dataset *data = NULL;
    code = exit_code(&diag, perp_model_load(r.file, &model, &diag));
    if (code == CLI_DONE) code = cli_set_all(model, "identify", &r.set, &diag);
    if (code == CLI_DONE) code = check_outputs(model, NULL, &r);
    if (code == CLI_DONE && r.report && !perp_report_has_page()) /* before the work */
        code = exit_code(&diag, perp_report_write_html(NULL, 0, NULL, r.report, &diag));
    if (code == CLI_DONE) code = exit_code(&diag, perp_dataset_create(&data));
    for (int i = 0; i < r.data.n && code == CLI_DONE; i++)
        code = exit_code(&diag, perp_dataset_read(data, r.data.item[i], &diag));
    if (code == CLI_DONE) code = check_outputs(model, data, &r);
    if (code == CLI_DONE) code = identify(model, data, &r, &diag);
    fflush(stdout);
    cli_print_diag(&diag, stderr);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    free(r.data.item);
    free(r.set.item);
    return code;
}
