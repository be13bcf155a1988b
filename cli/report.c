/* perp report: runs in, pictures out. */

#include "cli.h"
#include "json.h"
#include "fingerprint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RUNS = 16, MAX_COLUMNS = 256 };

typedef struct request {
    cli_args args;
    cli_list run, folder;
    const char *html, *svg, *model, *log, *columns, *title;
    int as_json;
} request;

/* A run and what belongs to it. */
typedef struct loaded {
    perp_trajectory *trajectory, *log;
    perp_model *model;
} loaded;

#define INTO(field) CLI_INTO(request, field)

static const cli_option options[] = {
    {"", "RUN.csv", NULL, INTO(run), .needed = "which run?"},
    {"o", "OUT.html", "write a page: one file that needs nothing else; - is standard output",
     INTO(html), .is_output = 1, .endings = "html htm"},
    {"model", "FILE.perp",
     "the model of the runs (default: the one each run names, if it lies beside the run, "
     "unchanged)",
     INTO(model)},
    CLI_FOLDER_OPTION,
    {"log", "LOG.csv", "iterations of a planner, for the first run", INTO(log)},
    {"svg", "OUT.svg", "write the main plots as SVG; - is standard output", INTO(svg),
     .is_output = 1, .endings = "svg"},
    {"columns", "A,B,...", "show these columns, or arrays of them, only", INTO(columns)},
    {"title", "TEXT", "above the plots (default: the name of the run)", INTO(title)},
    CLI_JSON_OPTION(request),
};

const cli_command cli_command_report = {
    .name = "report",
    .usage = "RUN.csv [RUN2.csv ...] [options]",
    .about =
        "Show one run, or several over each other: every column over time, those of one unit "
        "together. The page (-o) also\n"
        "shows modes, friction against velocity, phase portraits, complementarity and, where "
        "the model has a draw block,\n"
        "the motion; for these it reads the model, with the parameters of the run. Of the table "
        "of a sweep: jobs as lines,\n"
        "results over what varies, main effects, Sobol's indices with intervals.",
    .notes = "examples:\n"
             "  perp simulate examples/notes/particle.perp -o particle.csv\n"
             "  perp report particle.csv --model examples/notes/particle.perp -o particle.html\n"
             "  perp report particle.csv --columns x,z --svg particle.svg\n"
             "  perp report study/table.csv -o study.html\n\n"
             "exit codes: 0 done, 1 usage, 2 bad model or data, 4 file or memory",
    CLI_OPTIONS(options)};

static int read_request(request *r)
{
    int code = cli_read(&r->args, r);
    if (code != CLI_DONE) return code;
    if (!r->svg && !r->html) return cli_ask(&r->args, "where to? -o OUT.html or --svg OUT.svg;");
    if (r->run.n <= MAX_RUNS) return CLI_DONE;
    cli_say("perp report: more than %d runs\n", MAX_RUNS);
    return CLI_USAGE;
}

/* Cut "a,b,c" at its commas. */
static int split(char *list, const char **part)
{
    int n = 0;
    for (char *at = list; at && n < MAX_COLUMNS;) {
        char *comma = at;
        for (int depth = 0; *comma && (depth || *comma != ','); comma++)
            depth +=
                (*comma == '[' || *comma == '(') - (*comma == ']' || *comma == ')'); /* r[2,1] */
        part[n++] = at;
        at = *comma ? comma + 1 : NULL;
        *comma = 0;
    }
    return n;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The model of a run --------------------------------------------------------------------------- */

/* "# model: NAME (FILE, continuous)" or "# model: NAME (FILE)": FILE, or 0. */
static int model_file(const perp_trajectory *t, char *file, size_t size)
{
    const char *line;
    for (int i = 0; (line = perp_trajectory_comment(t, i)) != NULL; i++) {
        const char *open = strncmp(line, "model: ", 7) == 0 ? strstr(line, " (") : NULL;
        const char *end = open ? strrchr(open, ',') : NULL;
        if (open && !end) end = strrchr(open, ')');
        if (!end) continue;
        snprintf(file, size, "%.*s", (int)(end - open - 2), open + 2);
        return 1;
    }
    return 0;
}

/* "NAME = VALUE UNIT", as the run has it; 0: it is something else. */
static int read_parameter(const char *text, char name[256], double *value)
{
    const char *equals = strstr(text, " = ");
    if (!equals || equals - text >= 256) return 0;
    snprintf(name, 256, "%.*s", (int)(equals - text), text);
    *value = perp_number_read(equals + 3, NULL);
    return 1;
}

/* "# param" of the run onto the model; "# free" where a plan found the value. */
static void set_parameter(perp_model *model, const char *text, const char *run)
{
    char name[256];
    double value;
    perp_symbol_kind kind;
    int i;
    if (!read_parameter(text, name, &value)) return;
    int is_known = perp_model_find(model, name, &kind, &i);
    if (is_known && kind == PERP_STATE) return; /* a free initial value: the run has it */
    if (!is_known || kind != PERP_PARAM) {
        cli_say("perp report: %s has a parameter '%s' that the model does not have\n", run, name);
        return;
    }
    perp_diag diag = {0};
    if (perp_model_symbol(model, kind, i).value != value &&
        cli_exit_code(perp_model_set(model, name, value, &diag)) != CLI_DONE)
        cli_print_diag(&diag, stderr);
    perp_diag_clear(&diag);
}

/* The model's parameters that were others in the run. Their number, or -1 when memory is out;
 * set[k].name is the model's. */
static int list_others(const perp_model *model, const perp_trajectory *run, perp_setting **set)
{
    const char *line;
    int n = 0, most = perp_model_count(model, PERP_PARAM);
    *set = calloc((size_t)most + 1, sizeof **set);
    for (int c = 0; *set && n < most && (line = perp_trajectory_comment(run, c)); c++) {
        char name[256];
        double value;
        perp_symbol_kind kind;
        int i;
        if (strncmp(line, "param ", 6) != 0 || !read_parameter(line + 6, name, &value) ||
            !perp_model_find(model, name, &kind, &i) || kind != PERP_PARAM)
            continue;
        perp_symbol known = perp_model_symbol(model, kind, i);
        if (known.value != value) (*set)[n++] = (perp_setting){known.name, value};
    }
    return *set ? n : -1;
}

/* The model as it was in the run: sizes follow its parameters. */
static perp_status load_as_run(const char *file, const cli_list *folder, const perp_trajectory *run,
                               perp_model **model, perp_diag *diag)
{
    perp_model *plain;
    perp_setting *set = NULL;
    perp_model_options o = {.folder = folder->item, .nfolder = folder->n};
    perp_status status = perp_model_load_with(file, &o, &plain, diag);
    if (status != PERP_OK) return status;
    int n = list_others(plain, run, &set);
    o.set = set;
    o.nset = n;
    if (n > 0) {
        status = perp_model_load_with(file, &o, model, diag);
        perp_model_destroy(plain);
    } else {
        *model = plain;
    }
    free(set);
    return n < 0 ? PERP_ERR_MEMORY : status;
}

/* "# input NAME=FILE[:COLUMN]" of the run onto the model, if the file is the one that the run was
 * made from. */
static void set_input(perp_model *model, const loaded *l, const char *csv, const char *text)
{
    perp_diag diag = {0};
    char found[8192];
    const char *setting = found;
    cli_list settings = {&setting, 1};
    if (cli_find_input(l->trajectory, csv, text, found, sizeof found))
        cli_apply_inputs(model, "report", &settings, &diag); /* says what is wrong */
    else
        cli_say("perp report: %s: the table of --input %s is not beside it, or was changed\n",
                base_name(csv), text);
    cli_print_diag(&diag, stderr);
    perp_diag_clear(&diag);
}

/* Are the tables that the model names those of the run? */
static int has_tables_of(const perp_model *model, const perp_trajectory *run)
{
    for (int i = 0; i < perp_model_count(model, PERP_INPUT); i++) {
        const char *table = perp_model_input_table(model, i);
        if (table && !cli_is_recorded(run, table)) return 0;
    }
    return 1;
}

/* The model that a run names: only the very text of the run, and without a message about another
 * file. *model is NULL if there is none. PERP_OK or PERP_ERR_MEMORY */
static perp_status find_model(const loaded *l, const cli_list *folder, const char *csv,
                              const char *file, perp_model **model)
{
    char found[8192];
    perp_diag silent = {0};
    perp_status status = PERP_OK;
    if (cli_find_file(l->trajectory, csv, file, found, sizeof found))
        status = load_as_run(found, folder, l->trajectory, model, &silent);
    if (*model && (status != PERP_OK || !has_tables_of(*model, l->trajectory))) {
        perp_model_destroy(*model);
        *model = NULL;
    }
    perp_diag_clear(&silent);
    return status == PERP_ERR_MEMORY ? status : PERP_OK;
}

static perp_status load_model(loaded *l, const request *r, const char *csv, perp_diag *diag)
{
    char file[4096] = "";
    const char *line;
    if (!r->model && !model_file(l->trajectory, file, sizeof file)) return PERP_OK;
    perp_status status = r->model
                             ? load_as_run(r->model, &r->folder, l->trajectory, &l->model, diag)
                             : find_model(l, &r->folder, csv, file, &l->model);
    if (status != PERP_OK) return status;
    if (!l->model) {
        cli_say("perp report: %s: its model %s is not beside it, or was changed since the run, so "
                "modes "
                "and friction are not "
                "shown; --model FILE names it\n",
                base_name(csv), file);
        return PERP_OK;
    }
    for (int i = 0; (line = perp_trajectory_comment(l->trajectory, i)); i++) {
        if (strncmp(line, "param ", 6) == 0) set_parameter(l->model, line + 6, base_name(csv));
        if (strncmp(line, "free ", 5) == 0) set_parameter(l->model, line + 5, base_name(csv));
        if (strncmp(line, "input ", 6) == 0) set_input(l->model, l, csv, line + 6);
    }
    return PERP_OK;
}

/* A page must not take the place of what it is made from. */
static int check_outputs(const request *r, const loaded *input)
{
    const char *read[] = {r->model, r->log};
    int code = cli_check_outputs(&r->args, r, NULL, read, 2);
    if (code == CLI_DONE) code = cli_check_outputs(&r->args, r, NULL, r->run.item, r->run.n);
    for (int i = 0; i < r->run.n && code == CLI_DONE; i++) {
        if (input[i].model) code = cli_check_outputs(&r->args, r, input[i].model, NULL, 0);
    }
    return code;
}

static perp_status load(loaded *l, const request *r, int i, perp_diag *diag)
{
    size_t n = strlen(r->run.item[i]);
    if (n > 5 && strcmp(r->run.item[i] + n - 5, ".perp") == 0) {
        cli_say("perp report: %s is a model; perp simulate %s -o run.csv makes a run of it\n",
                r->run.item[i], r->run.item[i]);
        return PERP_ERR_ARG;
    }
    perp_status status = perp_trajectory_read(r->run.item[i], &l->trajectory, diag);
    if (status == PERP_OK) status = load_model(l, r, r->run.item[i], diag);
    if (status == PERP_OK && r->log && i == 0) status = perp_trajectory_read(r->log, &l->log, diag);
    return status;
}

/* ---------------------------------------------------------------------------------------------- */

/* The table of a sweep has a page of its own. */
static perp_status report_sweep(const request *r, const perp_report_run *run,
                                const perp_report_options *o, perp_diag *diag)
{
    if (r->run.n == 1 && !r->svg && !r->model && !r->log)
        return perp_report_write_sweep(run->trajectory, o, r->html, diag);
    cli_say("perp report: %s is the table of a sweep: alone, with -o OUT.html\n", run->name);
    return PERP_ERR_ARG;
}

static perp_status report(const request *r, const perp_report_run *runs, perp_diag *diag)
{
    const char *columns[MAX_COLUMNS];
    perp_report_options o = perp_report_options_default();
    perp_status status = PERP_OK;
    o.title = r->title;
    if (r->columns) {
        o.ncolumns = split((char *)r->columns, columns);
        o.columns = columns;
    }
    for (int i = 0; i < r->run.n; i++)
        if (perp_report_is_sweep(runs[i].trajectory)) return report_sweep(r, &runs[i], &o, diag);
    if (r->svg) status = perp_report_write_svg(runs, r->run.n, &o, r->svg, diag);
    if (r->html && r->svg && status == PERP_OK) perp_diag_clear(diag); /* said again below */
    if (r->html && status == PERP_OK)
        status = perp_report_write_html(runs, r->run.n, &o, r->html, diag);
    return status;
}

static int print_json(const request *r, int code, perp_diag *diag)
{
    cJSON *o = cli_json_begin("report"), *list = cJSON_AddArrayToObject(o, "runs");
    for (int i = 0; i < r->run.n; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(r->run.item[i]));
    cli_json_add_text(o, "page", r->html);
    cli_json_add_text(o, "svg", r->svg);
    return cli_json_end(o, code, diag, cli_text_stream(r->html, r->svg));
}

perp_status cli_report_run(const char *html, const char *csv, const char *log,
                           const perp_model *model, const perp_report_run *more, int nmore,
                           const char *name, const perp_motion *motion, perp_diag *diag)
{
    perp_report_options o = perp_report_options_default();
    const perp_motion **motions = calloc((size_t)nmore + 1, sizeof *motions);
    perp_trajectory *trajectory = NULL, *iterations = NULL;
    perp_report_run *run = malloc(((size_t)nmore + 1) * sizeof *run);
    perp_status status = PERP_OK;
    if (!run || !motions) {
        free(run);
        free(motions);
        return PERP_ERR_MEMORY;
    }
    motions[0] = motion;
    o.motion = motions;
    status = perp_trajectory_read(csv, &trajectory, diag);
    if (status == PERP_OK && log) status = perp_trajectory_read(log, &iterations, diag);
    const char *shown_name;
    if (name)
        shown_name = name;
    else if (model)
        shown_name = perp_model_name(model);
    else
        shown_name = base_name(csv);
    run[0] = (perp_report_run){shown_name, trajectory, model, iterations};
    for (int i = 0; i < nmore; i++) run[1 + i] = more[i];
    if (status == PERP_OK) status = perp_report_write_html(run, 1 + nmore, &o, html, diag);
    perp_trajectory_destroy(trajectory);
    perp_trajectory_destroy(iterations);
    free(run);
    free(motions);
    return status;
}

int perp__cmd_report(int argc, char **argv)
{
    request r = {.args = {&cli_command_report, argc, argv}};
    int code = read_request(&r);
    if (code != CLI_DONE) {
        free(r.run.item);
        free(r.folder.item);
        return code;
    }
    perp_diag diag = {0};
    loaded input[MAX_RUNS] = {{0}};
    perp_report_run runs[MAX_RUNS] = {{0}};
    perp_status status = PERP_OK;
    for (int i = 0; i < r.run.n && status == PERP_OK; i++) {
        status = load(&input[i], &r, i, &diag);
        runs[i] = (perp_report_run){base_name(r.run.item[i]), input[i].trajectory, input[i].model,
                                    input[i].log};
    }
    code = cli_exit_code(status);
    if (!r.as_json) {
        cli_print_diag(&diag, stderr);
        perp_diag_clear(&diag);
    }
    if (code == CLI_DONE) code = check_outputs(&r, input);
    if (code == CLI_DONE) code = cli_exit_code(report(&r, runs, &diag));
    if (r.as_json) code = print_json(&r, code, &diag);
    cli_print_diag(&diag, stderr);
    perp_diag_clear(&diag);
    for (int i = 0; i < r.run.n; i++) {
        perp_trajectory_destroy(input[i].trajectory);
        perp_trajectory_destroy(input[i].log);
        perp_model_destroy(input[i].model);
    }
    free(r.run.item);
    free(r.folder.item);
    return code;
}
