/* perp simulate: a model file in, a verified trajectory out. */

#include "cli.h"
#include "fingerprint.h"
#include "plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPT_TO,
    OPT_FROM,
    OPT_STEP,
    OPT_SET,
    OPT_INPUT,
    OPT_METHOD,
    OPT_THETA,
    OPT_SOLVER,
    OPT_O,
    OPT_EVERY,
    OPT_STREAM,
    OPT_REPORT,
    OPT_QUIET,
    OPT_NO_PLOT,
    OPT_HELP
};

static const old_option options[] = {
    {"to", "T", "end time [s] (default: the model's)"},
    {"from", "T", "start time [s] (default: the model's, else 0)"},
    {"step", "H", "step [s] (default: the model's)"},
    {"set", "NAME=VALUE", "a parameter, an initial value, or a constant input; may be repeated"},
    {"input", "NAME=FILE[:COLUMN]",
     "an input from a CSV table with a column t, linear between rows; may be repeated"},
    {"method", "NAME", "how time is stepped: backward-euler (default), theta, moreau"},
    {"theta", "X", "weight of the step's end for theta and moreau, 0.5..1 (default 0.5)"},
    {"solver", "NAME",
     "for the complementarity problem of a step: auto (default), lemke, ...; see perp solvers"},
    {"o", "OUT.csv",
     "write the trajectory; - is standard output (the summary then goes to standard error)"},
    {"every", "N", "write every Nth row, and the last"},
    {"stream", NULL,
     "write into OUT.csv itself, for a program that follows it; an earlier file is lost at once"},
    {"report", "OUT.html", "write a page that shows the run; see perp report"},
    {"quiet", NULL, "no summary, plot or progress"},
    {"no-plot", NULL, "no plot"},
    {"help", NULL, "this text"},
};

enum { NOPTIONS = sizeof options / sizeof *options, MAX_PLOTTED = 6 };

typedef struct request {
    const char *file, *out, *report, *method, *solver;
    double to, from, step, theta;
    long every;
    int quiet, plot, stream;
    cli_list set, input;
    int argc;
    char **argv;
} request;

static void print_help(void)
{
    printf("usage: perp simulate FILE.perp [options]\n\n"
           "Step the model from `from` to `to` and verify every step: the conditions as written in "
           "the model are evaluated\n"
           "after each solve, and a step that does not hold stops the run. A summary and a plot "
           "are printed; with -o every row\n"
           "goes to a CSV file: it takes its name when the run is complete; the rows of a run that "
           "stops early are in\nOUT.csv.partial.\n\n");
    cli_print_options(options, NOPTIONS);
    printf("\nexamples:\n"
           "  perp simulate examples/notes/particle.perp -o particle.csv\n"
           "  perp simulate examples/notes/sliding_traditional.perp --set mu=0.3 --to 10\n"
           "  perp simulate examples/mechanics/square.perp --report square.html\n"
           "  perp simulate examples/notes/sliding_traditional.perp --input u=force.csv\n\n"
           "exit codes: 0 done, 1 usage, 2 bad model or data, 3 no verified solution at some step "
           "(the rows so far are in OUT.csv.partial),\n"
           "4 file or memory, 130 interrupted (the same)\n");
}

/* Command line -------------------------------------------------------------------------------- */

static int read_every(const old_args *args, request *r)
{
    double x;
    if (!cli_number(args, OPT_EVERY, &x)) return 0;
    if (!(x >= 1 && x == floor(x) && x < 1e15)) {
        fprintf(stderr, "perp simulate: --every needs a whole number from 1 on, not '%s'\n",
                args->value);
        return 0;
    }
    r->every = (long)x;
    return 1;
}

/* CLI_DONE to go on, CLI_USAGE, or -1 when help was printed. */
static int read_request(int argc, char **argv, request *r)
{
    old_args args = {.argc = argc,
                     .argv = argv,
                     .at = 1,
                     .command = "simulate",
                     .options = options,
                     .noptions = NOPTIONS};
    *r = (request){.to = (double)NAN,
                   .from = (double)NAN,
                   .step = (double)NAN,
                   .theta = (double)NAN,
                   .every = 1,
                   .plot = 1,
                   .argc = argc,
                   .argv = argv};
    for (int k; (k = cli_next(&args)) != CLI_END;) {
        int ok = 1;
        switch (k) {
        case OPT_TO: ok = cli_number(&args, k, &r->to); break;
        case OPT_FROM: ok = cli_number(&args, k, &r->from); break;
        case OPT_STEP: ok = cli_number(&args, k, &r->step); break;
        case OPT_SET: ok = cli_keep(&args, &r->set); break;
        case OPT_INPUT: ok = cli_keep(&args, &r->input); break;
        case OPT_METHOD: r->method = args.value; break;
        case OPT_THETA: ok = cli_number(&args, k, &r->theta); break;
        case OPT_SOLVER: r->solver = args.value; break;
        case OPT_O: r->out = cli_is_standard_output(args.value) ? "-" : args.value; break;
        case OPT_EVERY: ok = read_every(&args, r); break;
        case OPT_STREAM: r->stream = 1; break;
        case OPT_REPORT: r->report = cli_is_standard_output(args.value) ? "-" : args.value; break;
        case OPT_QUIET: r->quiet = 1; break;
        case OPT_NO_PLOT: r->plot = 0; break;
        case OPT_HELP: print_help(); return -1;
        case CLI_OPERAND: ok = cli_one_file(&args, &r->file); break;
        default: return CLI_USAGE;
        }
        if (!ok) return CLI_USAGE;
    }
    if (!r->file) {
        fprintf(stderr, "perp simulate: which model? usage: perp simulate FILE.perp [options]; see "
                        "perp simulate --help\n");
        return CLI_USAGE;
    }
    if (!isnan(r->step) && !(r->step > 0)) {
        fprintf(stderr, "perp simulate: --step must be positive, not %g\n", r->step);
        return CLI_USAGE;
    }
    if (!isnan(r->theta) && !(r->theta >= 0.5 && r->theta <= 1)) {
        fprintf(stderr, "perp simulate: --theta must be from 0.5 to 1, not %g\n", r->theta);
        return CLI_USAGE;
    }
    if (r->method && perp_integrator_find(r->method) == PERP_INTEGRATOR_COUNT) {
        fprintf(stderr, "perp simulate: unknown method '%s'; there are:", r->method);
        for (int k = 0; k < PERP_INTEGRATOR_COUNT; k++)
            fprintf(stderr, " %s", perp_integrator_name((perp_integrator)k));
        fprintf(stderr, "\n");
        return CLI_USAGE;
    }
    if (r->solver && perp_method_find(r->solver) == PERP_METHOD_COUNT) {
        fprintf(stderr, "perp simulate: unknown solver '%s'; there are:", r->solver);
        for (int m = 0; m < PERP_METHOD_COUNT; m++)
            fprintf(stderr, " %s", perp_method_name((perp_method)m));
        fprintf(stderr, "\n");
        return CLI_USAGE;
    }
    return CLI_DONE;
}

/* The run ------------------------------------------------------------------------------------- */

typedef struct run {
    const request *request;
    perp_trajectory_writer *writer, *kept; /* kept: rows for the report where -o gives no file */
    char kept_path[4096];
    char rows[4096]; /* the file of -o, or the partial one */
    cli_plot *plot;
    int plotted[MAX_PLOTTED], nplotted;
    long steps, written; /* of the run; the last one in the file */
    double started, shown;
    int progress;
} run;

static void show_progress(run *u, long step)
{
    double t = cli_now(), share = (double)step / (double)u->steps;
    if (t - u->started < 0.5 || t - u->shown < 0.1) return;
    int filled = (int)(share * 40);
    fprintf(stderr, "\r  [%.*s%*s] %3.0f %%  %.0f s left ", filled,
            "########################################", 40 - filled, "", 100 * share,
            share > 0 ? (t - u->started) * (1 - share) / share : 0);
    fflush(stderr);
    u->shown = t;
}

static perp_status write_row(run *u, long step, const double *row)
{
    perp_status status = PERP_OK;
    if (u->writer) status = perp_trajectory_writer_row(u->writer, row);
    if (u->kept && status == PERP_OK) status = perp_trajectory_writer_row(u->kept, row);
    if (status == PERP_OK) u->written = step;
    return status;
}

static perp_status take_row(void *context, long step, const double *row)
{
    run *u = context;
    double values[MAX_PLOTTED];
    if (u->plot) {
        for (int i = 0; i < u->nplotted; i++) values[i] = row[u->plotted[i]];
        cli_plot_add(u->plot, step, row[0], values);
    }
    if (u->progress && (step & 1023) == 0) show_progress(u, step);
    if (step % u->request->every == 0 || step == u->steps) {
        perp_status status = write_row(u, step, row);
        if (status != PERP_OK) return status;
    }
    return cli_is_interrupted() && step < u->steps ? PERP_ERR_STOPPED : PERP_OK;
}

/* After a run that stopped early: the row of its last step, if --every left it out. */
static void write_last_row(run *u, const perp_simulation *sim)
{
    long step = perp_simulation_get_summary(sim).steps;
    if (u->written == step || !(u->writer || u->kept)) return;
    double *row = malloc((size_t)perp_simulation_columns(sim) * sizeof *row);
    if (row) {
        perp_simulation_row(sim, row);
        write_row(u, step, row); /* closing tells if this fails */
    }
    free(row);
}

static const char *number(double x, char *text)
{
    perp_number_write(x, text);
    return text;
}

/* "# ..." lines that say what made the file. */
static perp_status write_metadata(perp_trajectory_writer *w, const perp_model *model,
                                  const perp_simulation_options *o, const request *r)
{
    char line[8192], a[PERP_NUMBER_SIZE], b[PERP_NUMBER_SIZE], c[PERP_NUMBER_SIZE];
    perp_status status = cli_write_words(w, "command: perp", (const char *const *)r->argv, r->argc);
    snprintf(line, sizeof line, "model: %s (%s, %s)\nfrom %s to %s step %s, %s, %s",
             perp_model_name(model), perp_model_file(model),
             perp_model_get_kind(model) == PERP_DISCRETE ? "discrete" : "continuous",
             number(o->from, a), number(o->to, b), number(o->step, c),
             perp_model_get_kind(model) == PERP_DISCRETE ? "as written"
                                                         : perp_integrator_name(o->integrator),
             perp_method_name(o->solver));
    perp_trajectory_writer_comment(w, line);
    for (int i = 0; i < perp_model_count(model, PERP_PARAM); i++) {
        perp_symbol s = perp_model_symbol(model, PERP_PARAM, i);
        snprintf(line, sizeof line, "param %s = %s%s%s", s.name, number(s.value, a),
                 s.unit[0] ? " " : "", s.unit);
        perp_trajectory_writer_comment(w, line);
    }
    for (int i = 0; status == PERP_OK && i < r->input.n; i++)
        status = cli_write_words(w, "input", &r->input.item[i], 1);
    return status == PERP_OK ? cli_write_fingerprints(w, model) : status;
}

static perp_status open_writer(const run *u, const char *path, int in_place,
                               perp_trajectory_writer **writer, const perp_model *model,
                               const perp_simulation *sim, const perp_simulation_options *o,
                               perp_diag *diag)
{
    int n = perp_simulation_columns(sim);
    const char **names = malloc((size_t)n * sizeof *names),
               **units = malloc((size_t)n * sizeof *units);
    perp_status status = !names || !units ? PERP_ERR_MEMORY
                         : in_place       ? perp_trajectory_writer_stream(path, writer, diag)
                                          : perp_trajectory_writer_create(path, writer, diag);
    for (int i = 0; i < n && status == PERP_OK; i++) {
        names[i] = perp_simulation_column_name(sim, i);
        units[i] = perp_simulation_column_unit(sim, i);
    }
    if (status == PERP_OK) {
        status = write_metadata(*writer, model, o, u->request);
        perp_trajectory_writer_header(*writer, n, names, units);
    }
    free(names);
    free(units);
    return status;
}

/* The trajectory, and the rows for the report where the trajectory is no file. */
static perp_status open_writers(run *u, const perp_model *model, const perp_simulation *sim,
                                const perp_simulation_options *o, perp_diag *diag)
{
    const request *r = u->request;
    perp_status status = PERP_OK;
    if (r->out) status = open_writer(u, r->out, r->stream, &u->writer, model, sim, o, diag);
    if (status != PERP_OK || !r->report || cli_is_plain_file(r->out)) return status;
    snprintf(u->kept_path, sizeof u->kept_path, "%s.%ld.csv",
             cli_is_dash(r->report) ? "perp-report" : r->report, (long)getpid());
    return open_writer(u, u->kept_path, 1, &u->kept, model, sim, o, diag);
}

/* With the reason why the run stopped, or NULL. */
static perp_status close_writers(run *u, const char *reason, perp_diag *diag)
{
    if (u->writer)
        snprintf(u->rows, sizeof u->rows, "%s",
                 reason ? perp_trajectory_writer_partial(u->writer) : u->request->out);
    perp_status status = perp_trajectory_writer_close(u->writer, reason, diag);
    perp_status kept = perp_trajectory_writer_close(u->kept, reason, diag);
    return status == PERP_OK ? kept : status;
}

/* States first, then outputs. */
static perp_status open_plot(run *u, const perp_model *model, const perp_simulation *sim,
                             const char **names, const char **units)
{
    int ns = perp_model_count(model, PERP_STATE), nv = perp_model_count(model, PERP_VAR),
        no = perp_model_count(model, PERP_OUTPUT);
    for (int i = 0; i < ns + no && u->nplotted < MAX_PLOTTED; i++)
        u->plotted[u->nplotted++] = 1 + (i < ns ? i : i + nv);
    for (int i = 0; i < u->nplotted; i++) {
        names[i] = perp_simulation_column_name(sim, u->plotted[i]);
        units[i] = perp_simulation_column_unit(sim, u->plotted[i]);
    }
    u->plot = cli_plot_create(u->nplotted, names, units, u->steps + 1);
    return u->plot ? PERP_OK : PERP_ERR_MEMORY;
}

/* Summary ------------------------------------------------------------------------------------- */

static double percent(long part, long whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* One line a statement: the pairs of an array or a loop are counted together. */
static void print_pairs(FILE *out, const perp_model *model, const perp_simulation_summary *s)
{
    long *at = malloc(((size_t)s->pairs + 1) * sizeof *at); /* the statement's place */
    if (!at) cli_exit_code(PERP_ERR_MEMORY);
    for (int i = 0; at && i < s->pairs; i++) {
        perp_statement pair = perp_model_pair(model, i);
        at[i] = (long)pair.line << 20 | pair.column; /* a line has 2^16 bytes at most */
    }
    for (int i = 0, k; at && i < s->pairs; i++) {
        for (k = 0; k < i && at[k] != at[i]; k++) {
        }
        if (k < i) continue;
        perp_statement pair = perp_model_pair(model, i);
        const char *a = perp_model_pair_side(model, i, 0), *b = perp_model_pair_side(model, i, 1);
        long n[4] = {0}, total = 0;
        for (int j = i; j < s->pairs; j++) {
            if (at[j] != at[i] || strcmp(perp_model_pair_side(model, j, 0), a) != 0) continue;
            for (k = 0; k < 4; k++) n[k] += s->sides[j][k];
            total += s->steps;
        }
        fprintf(out, "  line %-3d %s\n          ", pair.line, pair.text);
        if (perp_model_pair_is_two_sided(model, i))
            fprintf(out,
                    "%s at its lower bound %.1f %%, between %.1f %%, at its upper bound %.1f %%", a,
                    percent(n[0], total), percent(n[1], total), percent(n[2], total));
        else
            fprintf(out, "%s > 0 %.1f %%, both zero %.1f %%, %s > 0 %.1f %%", a,
                    percent(n[0], total), percent(n[1], total), b, percent(n[2], total));
        fprintf(out, n[3] ? ", guard off %.1f %%\n" : "\n", percent(n[3], total));
    }
    free(at);
}

static void print_summary(FILE *out, const perp_model *model, const perp_simulation *sim,
                          const perp_simulation_options *o, const request *r, double seconds,
                          const char *rows, int are_written)
{
    perp_simulation_summary s = perp_simulation_get_summary(sim);
    fprintf(out, "%s: %ld steps of %g s to t = %g s", perp_model_name(model), s.steps, o->step,
            s.time);
    if (s.steps == perp_simulation_steps(sim) && fabs(s.time - o->to) > 1e-9 * (1 + fabs(o->to)))
        fprintf(out, ", the last whole step before %g", o->to);
    if (s.steps) fprintf(out, ", %.2f us a step", 1e6 * seconds / (double)s.steps);
    if (s.steps)
        fprintf(out,
                "\nevery step verified: worst residual %.2g (step %ld), worst error %.2g; %ld "
                "steps kept their mode, "
                "%ld problem%s solved",
                s.worst_residual, s.worst_step, s.worst_error,
                s.steps - s.solves > 0 ? s.steps - s.solves : 0, s.solves,
                s.solves == 1 ? "" : "s");
    fprintf(out, "\n");
    if (s.steps && s.pairs) print_pairs(out, model, &s);
    if (!r->out && !r->report)
        fprintf(out, "no trajectory was written; -o OUT.csv writes one\n");
    else if (rows[0] && !cli_is_dash(rows) && are_written)
        fprintf(out, "trajectory: %s\n", rows);
    if (r->report && are_written && !cli_is_dash(r->report))
        fprintf(out, "report: %s\n", r->report);
}

/* Options that would change nothing are refused. */
static int check_method(const perp_model *model, const perp_simulation_options *o, const request *r)
{
    const char *given = r->method ? "--method" : "--theta";
    if (!r->method && isnan(r->theta)) return CLI_DONE;
    if (perp_model_get_kind(model) == PERP_DISCRETE) {
        fprintf(stderr,
                "perp simulate: %s: the model is discrete (next), its steps are as written\n",
                given);
        return CLI_USAGE;
    }
    if (!isnan(r->theta) && o->integrator == PERP_BACKWARD_EULER) {
        fprintf(stderr, "perp simulate: --theta is for the methods theta and moreau, not for %s\n",
                perp_integrator_name(o->integrator));
        return CLI_USAGE;
    }
    return CLI_DONE;
}

/* Everything after the model is loaded and set. */
static int simulate(perp_model *model, const request *r, perp_diag *diag)
{
    perp_simulation_options o = perp_simulation_options_default(model);
    int step_is_the_files = isnan(r->step) && isnan(r->to) && isnan(r->from);
    if (!isnan(r->to)) o.to = r->to;
    if (!isnan(r->from)) o.from = r->from;
    if (!isnan(r->step)) o.step = r->step;
    if (r->method) o.integrator = perp_integrator_find(r->method);
    if (!isnan(r->theta)) o.theta = r->theta;
    if (r->solver) o.solver = perp_method_find(r->solver);

    if (check_method(model, &o, r) != CLI_DONE) return CLI_USAGE;
    perp_simulation *sim = NULL;
    if (r->report && !perp_report_has_page()) /* before the work */
        return cli_exit_code(perp_report_write_html(NULL, 0, NULL, r->report, diag));
    perp_status status = perp_simulation_create(model, &o, &sim, diag);
    if (status == PERP_ERR_ARG)
        return step_is_the_files && !isnan(o.to) && !isnan(o.step) ? CLI_BAD_INPUT : CLI_USAGE;
    if (status != PERP_OK) return cli_exit_code(status);

    const char *names[MAX_PLOTTED], *units[MAX_PLOTTED];
    run u = {.request = r,
             .steps = perp_simulation_steps(sim),
             .written = -1,
             .started = cli_now(),
             .progress = !r->quiet && isatty(2)};
    cli_catch_signals();
    status = open_writers(&u, model, sim, &o, diag);
    if (status == PERP_OK && !r->quiet && r->plot) status = open_plot(&u, model, sim, names, units);
    double start = cli_now();
    if (status == PERP_OK) status = perp_simulation_run(sim, take_row, &u, diag);
    double seconds = cli_now() - start;
    if (status != PERP_OK) write_last_row(&u, sim);
    if (u.progress && u.shown > 0) fprintf(stderr, "\r%72s\r", "");

    char reason[256] = "";
    perp_simulation_summary s = perp_simulation_get_summary(sim);
    if (status == PERP_ERR_STOPPED)
        snprintf(reason, sizeof reason, "interrupted after step %ld", s.steps);
    else if (status != PERP_OK)
        snprintf(reason, sizeof reason, "%.250s", perp_diag_text(diag));
    perp_status closed = close_writers(&u, status == PERP_OK ? NULL : reason, diag);
    if (status == PERP_OK || closed != PERP_OK) status = closed;
    if (r->report && status != PERP_ERR_FILE && status != PERP_ERR_MEMORY) {
        perp_status reported =
            cli_report_run(r->report, u.kept ? u.kept_path : u.rows, NULL, model, diag);
        if (status == PERP_OK) status = reported;
    }
    if (u.kept) remove(u.kept_path);
    if (!r->quiet && (u.written >= 0 || !r->out)) {
        FILE *out = cli_is_dash(r->out) || cli_is_dash(r->report) ? stderr : stdout;
        print_summary(out, model, sim, &o, r, seconds, u.rows, status != PERP_ERR_FILE);
        if (u.plot && s.steps) cli_plot_print(u.plot, out, !cli_speaks_utf8());
    }
    if (status == PERP_ERR_STOPPED)
        fprintf(stderr, "perp simulate: interrupted after step %ld; the rows so far are kept\n",
                s.steps);
    cli_plot_destroy(u.plot);
    perp_simulation_destroy(sim);
    return cli_exit_code(status);
}

static int check_outputs(const perp_model *model, const request *r)
{
    const cli_output output[] = {{"-o", r->out}, {"--report", r->report}};
    return cli_check_outputs("simulate", output, 2, model, NULL, 0);
}

int perp__cmd_simulate(int argc, char **argv)
{
    request r;
    perp_diag diag = {0};
    perp_model *model = NULL;
    int code = read_request(argc, argv, &r);
    if (code == CLI_DONE) code = cli_exit_code(perp_model_load(r.file, &model, &diag));
    if (code == CLI_DONE) code = cli_set_all(model, "simulate", &r.set, &diag);
    if (code == CLI_DONE) code = check_outputs(model, &r); /* before the model's own tables are */
    if (code == CLI_DONE) code = cli_apply_inputs(model, "simulate", &r.input, &diag);
    if (code == CLI_DONE) code = check_outputs(model, &r); /* replaced, and after */
    if (code == CLI_DONE) code = simulate(model, &r, &diag);
    fflush(stdout);
    cli_print_diag(&diag, stderr);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    free(r.set.item);
    free(r.input.item);
    return code < 0 ? CLI_DONE : code;
}
