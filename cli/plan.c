/* perp plan: a model with a plan block in, a verified plan out. */

#include "cli.h"
#include "json.h"
#include "fingerprint.h"
#include "loop.h"
#include "plot.h"
#include "multipliers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PLOTTED = 6 };

typedef struct request {
    cli_args args;
    const char *file, *out, *log, *report, *guess, *gains;
    perp_plan_options o;
    const char *homotopy; /* NAME=VALUE */
    char homotopy_name[256];
    int quiet, plot, stream, as_json, multipliers;
    cli_multipliers found_multipliers;
    cli_list noise;
    int runs;
    cli_loop loop;
    cJSON *json;
    cli_list set, folder;
} request;

#define INTO(field)                         CLI_INTO(request, field)
#define WORD(name, word, ...)               word,
#define WEIGHTED(name, word, weighted, ...) weighted,
static const char is_weighted[] = {PERP_PLAN_METHOD_LIST(WEIGHTED)};
static const char *const methods[] = {PERP_PLAN_METHOD_LIST(WORD) NULL};
static const char *const treatments[] = {PERP_PLAN_PAIRS_LIST(WORD) NULL};
static const char *const backends[] = {PERP_PLAN_BACKEND_LIST(WORD) NULL};
static const char *const starts[] = {"model", "zeros", "random", NULL};
#undef WORD

static const cli_option options[] = {
    {"", "FILE.perp", NULL, INTO(file), .needed = "which model?"},
    {"nodes", "N", "number of nodes (default: the model's, else 41)", INTO(o.nodes), .least = 2,
     .most = 1e6},
    {"set", "NAME=VALUE", "a parameter or an initial value; may be repeated", INTO(set)},
    CLI_FOLDER_OPTION,
    {"method", "NAME", "of a step (default backward-euler):" PERP_PLAN_METHOD_LIST(CLI_SPACED),
     INTO(o.method), .words = methods},
    {"theta", "X", "weight of the step's end for theta, 0.5..1 (default 0.5)", INTO(o.theta),
     .least = 0.5, .most = 1},
    {"pairs", "NAME", "treatment of pairs: scholtes (default), products, l1, fischer-burmeister",
     INTO(o.pairs), .words = treatments, .what = "treatment of pairs"},
    {"relaxation", "EPS",
     "first EPS of the pairs' relaxation a b <= EPS (default 10; in balanced units a fifth)",
     INTO(o.relaxation), .is_positive = 1},
    {"relaxation-min", "EPS",
     "last EPS, after which one side of each pair is fixed at 0 (default 1e-7)",
     INTO(o.relaxation_min), .is_positive = 1},
    {"penalty", "W", "price on the products a b with --pairs l1 (default 0.1)", INTO(o.penalty),
     .is_positive = 1},
    {"tol", "EPS",
     "divide steps until motion and cost are right to EPS of their sizes (default: steps as asked "
     "for)",
     INTO(o.motion_tol), .is_positive = 1},
    {"max-steps", "N", "divide them into no more than N (default 1000)", INTO(o.most_steps),
     .least = 1},
    {"optimality", "EPS", "tolerance of the optimality conditions (default 1e-8)", INTO(o.tol),
     .is_positive = 1},
    {"backend", "NAME", "own (default): interior point by stages; ipopt, when this build has it",
     INTO(o.backend), .words = backends, .what = "back end"},
    {"start", "WHERE", "model (default: its guesses, else straight lines), zeros, random",
     INTO(o.start), .words = starts},
    {"guess", "FILE.csv", "start from a table, such as an earlier plan or a simulation",
     INTO(guess)},
    {"seed", "N", "seed of random starts (default 1)", INTO(o.seed)},
    {"tries", "N", "number of starts; the best plan is kept (default 1)", INTO(o.tries),
     .least = 1},
    {"restarts", "N", "at most so many further starts until a plan is stationary (default 4)",
     INTO(o.restarts)},
    {"threads", "N",
     "threads for several starts (default: one per processor; the answer is the same)",
     INTO(o.threads)},
    {"homotopy", "NAME=VALUE",
     "solve with this value of a parameter first, such as mu=0, then nearer and nearer to the "
     "model's",
     INTO(homotopy)},
    {"homotopy-steps", "N", "so many values of that parameter before the model's (default 4)",
     INTO(o.homotopy_steps), .least = 1},
    {"max-iter", "N", "limit of iterations of each solve (default 1000)", INTO(o.max_iter),
     .least = 1},
    {"o", "OUT.csv",
     "write the plan: the columns of a simulation, inputs, costates; - is standard output",
     INTO(out), .is_output = 1, .endings = "csv perpbin h5 *"},
    {"log", "FILE.csv", "write every iteration: cost, violations, relaxation", INTO(log),
     .is_output = 1, .endings = "csv perpbin h5 *"},
    {"stream", NULL, "write --log into its file row by row, for a program that reads along",
     INTO(stream)},
    {"report", "OUT.html", "write a page that shows the plan and its iterations; see perp report",
     INTO(report), .is_output = 1, .endings = "html htm"},
    {"multipliers", NULL,
     "print the multipliers of conditions and ranges, and the slope of the cost in each parameter",
     INTO(multipliers)},
    {"gains", "OUT.csv",
     "write feedback along the plan: a linear-quadratic regulator through its modes, a row a step",
     INTO(gains), .is_output = 1, .endings = "csv perpbin h5 *"},
    {"noise", "NAME=SD",
     "simulate the loop closed with that feedback: so far off the state begins, and is measured; "
     "may be repeated",
     INTO(noise)},
    {"runs", "N", "so many times with --noise (default 20)", INTO(runs), .least = 1, .most = 1e6},
    {"no-replay", NULL, "do not simulate with the inputs found", INTO(o.replay)},
    {"quiet", NULL, "no summary, plot or progress", INTO(quiet)},
    {"no-plot", NULL, "no plot", INTO(plot)},
    CLI_JSON_OPTION(request),
};

const cli_command cli_command_plan = {
    .name = "plan",
    .usage = "FILE.perp [options]",
    .about =
        "Find the inputs, the motion and the free values that the model's plan block asks for. The "
        "answer is called\n"
        "a plan only when every condition as written in the model holds, checked by code that "
        "belongs to no solver, and a\n"
        "minimum only when its first and second order are shown; docs/plan.md has the words.\n"
        "With -o every node goes to a CSV file; perp simulate --input NAME=OUT.csv replays it.",
    .notes = "examples:\n"
             "  perp plan examples/opty/push.perp -o push.csv\n"
             "  perp plan examples/opty/push.perp --nodes 320 --set mu=0.3\n"
             "  perp simulate examples/opty/push.perp --input F=push.csv --to 0.65 --step "
             "0.0166666666666666\n\n"
             "exit codes: 0 a plan that holds at its nodes, 1 usage, 2 bad model or data, 3 no "
             "plan was found,\n"
             "4 file or memory, 130 interrupted; the best iterate of 3 and 130 is in "
             "OUT.csv.partial, its page in "
             "OUT.partial.html",
    CLI_OPTIONS(options)};

/* The parameter of --homotopy and its first value. */
static int take_homotopy(request *r)
{
    const char *equals = strchr(r->homotopy, '='), *end = NULL;
    size_t n = equals ? (size_t)(equals - r->homotopy) : 0;
    if (n > 0 && n < sizeof r->homotopy_name)
        r->o.homotopy_from = perp_number_read(equals + 1, &end);
    if (!end || end == equals + 1 || *end || !isfinite(r->o.homotopy_from)) {
        cli_say("perp plan: --homotopy needs a parameter and its first value, mu=0, not '%s'\n",
                r->homotopy);
        return CLI_USAGE;
    }
    memcpy(r->homotopy_name, r->homotopy, n);
    r->homotopy_name[n] = '\0';
    r->o.homotopy = r->homotopy_name;
    return CLI_DONE;
}

/* The model's options, changed by those of the command line. */
static int take_options(const perp_model *model, request *r)
{
    r->o = perp_plan_options_default(model);
    cli_read_again(&r->args, r);
    if (cli_is_given(&r->args, "theta") && !is_weighted[r->o.method]) {
        cli_say("perp plan: --theta is for the method theta, not for %s\n",
                perp_plan_method_name(r->o.method));
        return CLI_USAGE;
    }
    if (r->homotopy) return take_homotopy(r);
    if (!cli_is_given(&r->args, "homotopy-steps")) return CLI_DONE;
    cli_say("perp plan: --homotopy-steps is for --homotopy NAME=VALUE\n");
    return CLI_USAGE;
}

/* Progress ------------------------------------------------------------------------------------ */

typedef struct watch {
    perp_trajectory_writer *log;
    int is_shown;
    double started, shown;
} watch;

static int on_progress(void *context, const perp_plan_progress *p)
{
    watch *u = context;
    double t = cli_now();
    if (u->log) {
        double row[] = {p->iteration,    strcmp(p->phase, "homotopy") != 0,
                        p->cost,         p->infeasibility,
                        p->stationarity, p->relaxation,
                        p->barrier,      p->step};
        perp_trajectory_writer_row(u->log, row);
    }
    if (u->is_shown && t - u->started > 0.3 && t - u->shown > 0.1) {
        fprintf(stderr, "\r  %s: iteration %d, cost %.6g, violation %.1e, relaxation %.1e   ",
                p->phase, p->iteration, p->cost, p->infeasibility, p->relaxation);
        fflush(stderr);
        u->shown = t;
    }
    return cli_is_interrupted();
}

static perp_status open_log(watch *u, const char *path, int in_place, perp_diag *diag)
{
    static const char *const names[] = {"iteration",    "refined",    "cost",    "infeasibility",
                                        "stationarity", "relaxation", "barrier", "step"};
    perp_status status = in_place ? perp_trajectory_writer_stream(path, &u->log, diag)
                                  : perp_trajectory_writer_create(path, &u->log, diag);
    if (status != PERP_OK) return status;
    perp_trajectory_writer_comment(u->log, "iterations of perp plan; refined = 1: sides fixed");
    return perp_trajectory_writer_header(u->log, 8, names, NULL);
}

/* Output -------------------------------------------------------------------------------------- */

/* "phase flight: 0.31 s to t = 0.31, nodes 1 to 20" */
static void phase_line(const perp_plan *plan, int i, char *text, size_t room)
{
    perp_plan_phase q = perp_plan_get_phase(plan, i);
    char number[16];
    snprintf(number, sizeof number, "%d", i + 1);
    snprintf(text, room, "phase %s: %.10g s to t = %.10g, nodes %d to %d%s",
             q.name[0] ? q.name : number, q.to - q.from, q.to, q.first + 1, q.last + 1,
             q.is_linked ? ", begins with a jump" : "");
}

static perp_status write_metadata(perp_trajectory_writer *w, const perp_model *model,
                                  const perp_plan *plan, const perp_plan_result *result,
                                  const request *r)
{
    char line[8192];
    perp_status status =
        cli_write_words(w, "command: perp", (const char *const *)r->args.argv, r->args.argc);
    snprintf(line, sizeof line, "model: %s (%s)\nplan: %s, cost %.17g, horizon %.17g",
             perp_model_name(model), perp_model_file(model),
             perp_plan_outcome_name(result->outcome), result->cost, result->horizon);
    perp_trajectory_writer_comment(w, line);
    cli_write_parameters(w, model);
    for (int i = 0; perp_plan_free_name(plan, i); i++) {
        snprintf(line, sizeof line, "free %s = %.17g", perp_plan_free_name(plan, i),
                 perp_plan_free_value(plan, i));
        perp_trajectory_writer_comment(w, line);
    }
    for (int i = 0; perp_plan_phases(plan) > 1 && i < perp_plan_phases(plan); i++) {
        phase_line(plan, i, line, sizeof line);
        perp_trajectory_writer_comment(w, line);
    }
    int first = 1 + perp_model_count(model, PERP_STATE) + perp_model_count(model, PERP_VAR),
        end = perp_plan_columns(plan) - 1 - perp_model_count(model, PERP_STATE) -
              perp_model_count(model, PERP_OUTPUT);
    for (int c = first; perp_plan_holds_inputs(plan) && c < end; c++) {
        snprintf(line, sizeof line, "held %s", perp_plan_column_name(plan, c));
        perp_trajectory_writer_comment(w, line); /* constant over the step that ends at the row */
    }
    if (perp_plan_points(plan) >
        1) { /* inputs: the polynomial through so many rows, for each step behind the first row */
        snprintf(line, sizeof line, "points %d", perp_plan_points(plan));
        perp_trajectory_writer_comment(w, line);
    }
    cli_multipliers_write(&r->found_multipliers, w);
    return status == PERP_OK ? cli_write_fingerprints(w, model) : status;
}

/* Write the plan. `rows` becomes the name of the file: `path`, or that of the partial file if the
 * plan does not hold. */
static perp_status write_plan(const perp_model *model, const perp_plan *plan,
                              const perp_plan_result *result, const request *r, const char *path,
                              int in_place, char *rows, perp_diag *diag)
{
    int n = perp_plan_columns(plan);
    const char **names = malloc((size_t)n * sizeof *names),
               **units = malloc((size_t)n * sizeof *units);
    double *row = malloc((size_t)n * sizeof *row);
    perp_trajectory_writer *w = NULL;
    perp_status status;
    if (!names || !units || !row)
        status = PERP_ERR_MEMORY;
    else if (in_place)
        status = perp_trajectory_writer_stream(path, &w, diag);
    else
        status = perp_trajectory_writer_create(path, &w, diag);
    for (int c = 0; c < n && status == PERP_OK; c++) {
        names[c] = perp_plan_column_name(plan, c);
        units[c] = perp_plan_column_unit(plan, c);
    }
    if (status == PERP_OK) {
        status = write_metadata(w, model, plan, result, r);
        const char *fault;
        if (status != PERP_OK)
            fault = perp_status_message(status);
        else if (perp_plan_holds(result->outcome))
            fault = NULL;
        else
            fault = perp_plan_outcome_message(result->outcome);
        perp_trajectory_writer_header(w, n, names, units);
        perp_plan_row(plan, 0, row);
        perp_trajectory_writer_row(w, row);
        for (int k = 0; k < (perp_plan_rows(plan) - 1) * perp_plan_points(plan); k++) {
            int points = perp_plan_points(plan);
            perp_plan_point_row(plan, k / points, k % points, row);
            perp_trajectory_writer_row(w, row);
        }
        snprintf(rows, CLI_PATH_ROOM, "%s", fault ? perp_trajectory_writer_partial(w) : path);
        perp_status closed = perp_trajectory_writer_close(w, fault, diag);
        if (status == PERP_OK) status = closed;
    }
    free(names);
    free(units);
    free(row);
    return status;
}

/* Names of the tables that the page is made from: those of -o and --log, or temporary ones, removed
 * afterwards. */
typedef struct tables {
    char plan[CLI_PATH_ROOM], log[CLI_PATH_ROOM], page[CLI_PATH_ROOM];
    int plan_is_kept, log_is_kept;
} tables;

static void name_tables(tables *t, const request *r)
{
    const char *beside = !r->report || cli_is_dash(r->report) ? "perp-plan" : r->report;
    t->plan_is_kept = cli_is_plain_file(r->out);
    t->log_is_kept = r->log != NULL;
    if (t->plan_is_kept)
        snprintf(t->plan, sizeof t->plan, "%s", r->out);
    else
        snprintf(t->plan, sizeof t->plan, "%s.%ld.csv", beside, (long)getpid());
    if (t->log_is_kept)
        snprintf(t->log, sizeof t->log, "%s", r->log);
    else
        snprintf(t->log, sizeof t->log, "%s.%ld.log.csv", beside, (long)getpid());
}

/* The parameters of the model become the values found. */
static perp_status take_parameters(perp_model *model, const perp_plan *plan, perp_diag *diag)
{
    perp_status status = PERP_OK;
    for (int i = 0; status == PERP_OK && perp_plan_free_name(plan, i); i++)
        status = perp_model_set(model, perp_plan_free_name(plan, i), perp_plan_free_value(plan, i),
                                diag);
    return status;
}

/* Write the page of the plan to `page`. */
static perp_status write_report(const perp_model *model, const perp_plan *plan,
                                const perp_plan_result *result, const request *r, tables *t,
                                const char *page, perp_diag *diag)
{
    perp_status status = PERP_OK;
    char rows[CLI_PATH_ROOM];
    if (!t->plan_is_kept) status = write_plan(model, plan, result, r, t->plan, 1, rows, diag);
    const char *log = !r->log || cli_is_plain_file(r->log) ? t->log : NULL;
    if (status == PERP_OK) {
        perp_report_run more[] = {{"with feedback", r->loop.worst[1], model, NULL},
                                  {"without feedback", r->loop.worst[0], model, NULL}};
        int nmore = 1;
        if (!r->loop.worst[1])
            nmore = 0;
        else if (r->loop.worst[0])
            nmore = 2;
        status = cli_report_run(page, t->plan, log, model, more, nmore, NULL, NULL, diag);
    }
    return status;
}

static void remove_tables(const tables *t, const request *r)
{
    if (!r->report) return;
    if (!t->plan_is_kept) remove(t->plan);
    if (!t->log_is_kept) remove(t->log);
}

/* States, then inputs. */
static void print_plot(const perp_model *model, const perp_plan *plan, FILE *out)
{
    int ns = perp_model_count(model, PERP_STATE), nv = perp_model_count(model, PERP_VAR);
    int n = perp_plan_columns(plan), columns[MAX_PLOTTED], np = 0;
    int ni = n - 2 - 2 * ns - nv - perp_model_count(model, PERP_OUTPUT);
    const char *names[MAX_PLOTTED], *units[MAX_PLOTTED];
    double *row = malloc((size_t)n * sizeof *row), values[MAX_PLOTTED];
    for (int i = 0; i < ns + ni && np < MAX_PLOTTED; i++) columns[np++] = 1 + (i < ns ? i : i + nv);
    for (int i = 0; i < np; i++) {
        names[i] = perp_plan_column_name(plan, columns[i]);
        units[i] = perp_plan_column_unit(plan, columns[i]);
    }
    cli_plot *plot = cli_plot_create(np, names, units, perp_plan_rows(plan), out);
    for (int k = 0; k < perp_plan_rows(plan) && plot && row; k++) {
        perp_plan_row(plan, k, row);
        for (int i = 0; i < np; i++) values[i] = row[columns[i]];
        cli_plot_add(plot, k, row[0], values);
    }
    if (plot && row)
        cli_plot_print(plot, out, !cli_speaks_utf8());
    else
        cli_exit_code(PERP_ERR_MEMORY);
    cli_plot_destroy(plot);
    free(row);
}

/* What each start came to, where there was more than one: the same start and word are counted. */
static void print_attempts(FILE *out, const perp_plan *plan)
{
    int n = perp_plan_attempts(plan);
    if (n < 2) return;
    fprintf(out, "tried:");
    for (int i = 0, same; i < n; i += same) {
        perp_plan_attempt a = perp_plan_get_attempt(plan, i), b;
        for (same = 1; i + same < n; same++) {
            b = perp_plan_get_attempt(plan, i + same);
            if (strcmp(a.start, b.start) != 0 || a.outcome != b.outcome) break;
        }
        fprintf(out, "%s %s", i ? ";" : "", a.start);
        if (same > 1) fprintf(out, " (%d times)", same);
        fprintf(out, ": %s", perp_plan_outcome_name(a.outcome));
        for (int k = 0; k < same && perp_plan_holds(a.outcome); k++)
            fprintf(out, "%s %.6g", k ? "," : "", perp_plan_get_attempt(plan, i + k).cost);
    }
    fprintf(out, "\n");
}

/* Was the motion integrated with the inputs between nodes? */
static int is_accurate(const perp_plan_result *r)
{
    return perp_integrator_find(r->replay_by) == PERP_RADAU7;
}

static void print_summary(FILE *out, const perp_model *model, const perp_plan *plan,
                          const perp_plan_result *r, double seconds)
{
    char text[512];
    perp_plan_size size = perp_plan_get_size(plan);
    int holds = perp_plan_holds(r->outcome);
    fprintf(out, "%s: %d steps (%s), %d unknowns, %d conditions, %d pairs\n",
            perp_model_name(model), size.steps, perp_plan_method_name(r->method), size.unknowns,
            size.rows, size.pairs);
    const char *word = perp_plan_outcome_name(r->outcome),
               *there = perp_plan_outcome_name(r->on_mesh);
    if (r->outcome == PERP_PLAN_FEASIBLE_ON_MESH) fprintf(out, "%s (there: %s)", word, there);
    fprintf(out, "%s: cost %.10g, horizon %.10g s; %d iterations, %d start%s, %.3g s\n",
            r->outcome == PERP_PLAN_FEASIBLE_ON_MESH ? "" : word, r->cost, r->horizon,
            r->iterations, r->starts, r->starts == 1 ? "" : "s", seconds);
    print_attempts(out, plan);
    fprintf(out,
            "checked as written: equations %.1e, pairs %.1e, ranges %.1e, conditions of the plan "
            "%.1e\n",
            r->defect, r->complementarity, r->bounds, r->conditions);
    static const char *const curvatures[] = {"falls along a direction that could not be followed",
                                             "not shown", "rises"};
    if (holds) {
        fprintf(out, "stationarity %.1e", r->stationarity);
        if (r->on_mesh <= PERP_PLAN_STATIONARY_S)
            fprintf(out, "; second order: %s", curvatures[r->curvature + 1]);
        if (size.pairs && r->on_mesh <= PERP_PLAN_STATIONARY_B)
            fprintf(out, "; %d pair%s with both sides zero", r->both_zero,
                    r->both_zero == 1 ? "" : "s");
        fprintf(out, "\n");
    }
    if (r->meshes)
        fprintf(out, "%d mesh%s finer than asked for; the cost changed by %.1e with the last\n",
                r->meshes, r->meshes == 1 ? "" : "es", r->cost_change);
    if (r->replay_by && isfinite(r->replay))
        fprintf(out, "%s by %s%s: differs by %.2g of the largest size (%s)",
                is_accurate(r) ? "integrated" : "replayed", r->replay_by,
                is_accurate(r) ? "" : " at a quarter of the step", r->replay,
                perp_plan_column_name(plan, 1 + r->replay_state));
    if (r->replay_by && isfinite(r->replay) && isfinite(r->cost_error))
        fprintf(out, ", estimated effect on the cost %.1e", r->cost_error);
    if (r->replay_by && isfinite(r->replay)) fprintf(out, "\n");
    if (r->between > 0)
        fprintf(out, "between nodes: a condition is broken by %.1e of what it is made of\n",
                r->between);
    for (int i = 0; perp_plan_free_name(plan, i); i++)
        fprintf(out, "%s = %.10g\n", perp_plan_free_name(plan, i), perp_plan_free_value(plan, i));
    for (int i = 0; perp_plan_phases(plan) > 1 && i < perp_plan_phases(plan); i++) {
        phase_line(plan, i, text, sizeof text);
        fprintf(out, "%s\n", text);
    }
}

static void add_json(const request *r, const perp_plan *plan, const perp_plan_result *result,
                     double seconds, const char *rows, const char *page)
{
#define FIELD(field) CLI_JSON(perp_plan_result, field)
    static const cli_json_field fields[] = {
        FIELD(cost),         FIELD(horizon),         FIELD(iterations),  FIELD(starts),
        FIELD(defect),       FIELD(complementarity), FIELD(bounds),      FIELD(conditions),
        FIELD(stationarity), FIELD(curvature),       FIELD(both_zero),   FIELD(replay),
        FIELD(replay_by),    FIELD(meshes),          FIELD(cost_change), FIELD(cost_error),
        FIELD(between)};
#undef FIELD
    cJSON *o = r->json, *freed, *tried;
    perp_plan_size size = perp_plan_get_size(plan);
    cJSON_AddStringToObject(o, "outcome", perp_plan_outcome_name(result->outcome));
    cJSON_AddStringToObject(o, "on_mesh", perp_plan_outcome_name(result->on_mesh));
    cJSON_AddStringToObject(o, "method", perp_plan_method_name(result->method));
    cJSON_AddBoolToObject(o, "holds", perp_plan_holds(result->outcome));
    cli_json_add(o, fields, CLI_JSON_COUNT(fields), result);
    cli_json_add_size(cJSON_AddObjectToObject(o, "size"), &size);
    tried = cJSON_AddArrayToObject(o, "tried");
    for (int i = 0; i < perp_plan_attempts(plan); i++) {
        perp_plan_attempt a = perp_plan_get_attempt(plan, i);
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "start", a.start);
        cJSON_AddStringToObject(one, "outcome", perp_plan_outcome_name(a.outcome));
        cli_json_add_number(one, "cost", a.cost);
        cJSON_AddItemToArray(tried, one);
    }
    freed = cJSON_AddObjectToObject(o, "free");
    for (int i = 0; perp_plan_free_name(plan, i); i++)
        cli_json_add_number(freed, perp_plan_free_name(plan, i), perp_plan_free_value(plan, i));
    cli_multipliers_add(&r->found_multipliers, o);
    cli_loop_add(&r->loop, o);
    cli_json_add_number(o, "seconds", seconds);
    cli_json_add_text(o, "plan", rows[0] ? rows : NULL);
    cli_json_add_text(o, "page", page);
}

/* Replay -------------------------------------------------------------------------------------- */

typedef struct replay {
    const perp_plan *plan;
    const perp_trajectory *inputs;
    perp_plan_phase phase;
    double *row;
    int nx, worst_state;
    double worst;
    long steps;
} replay;

static perp_status compare_row(void *context, long step, const double *row)
{
    replay *u = context;
    if (step > u->phase.last - u->phase.first) return PERP_OK;
    if (step == 0) return PERP_OK; /* where a phase begins, a link may have changed the states */
    perp_plan_row(u->plan, u->phase.first + (int)step, u->row);
    for (int i = 1; i <= u->nx; i++) {
        double d = fabs(row[i] - u->row[i]);
        if (!(d <= u->worst)) {
            u->worst = d;
            u->worst_state = i;
        }
    }
    u->steps = u->phase.first + step;
    return PERP_OK;
}

/* The plan's columns t and inputs as a table. NULL when memory is out. */
static perp_trajectory *input_table(const perp_plan *plan, int first, int n, double *row)
{
    int rows = perp_plan_rows(plan), columns = n + 1;
    size_t room = (size_t)(rows + 2) * (size_t)columns * 320, length = 0;
    char *text = malloc(room);
    perp_trajectory *table = NULL;
    if (!text) return NULL;
    length += (size_t)snprintf(text, room, "t");
    for (int i = 0; i < n; i++)
        length += (size_t)snprintf(text + length, room - length, ",%s",
                                   perp_plan_column_name(plan, first + i));
    double before = -INFINITY;
    for (int k = 0; k < rows; k++) {
        perp_plan_row(plan, k, row);
        if (!(row[0] > before)) continue; /* a phase of no length */
        before = row[0];
        text[length++] = '\n';
        length += (size_t)perp_number_write(row[0], text + length);
        for (int i = 0; i < n; i++) {
            text[length++] = ',';
            length += (size_t)perp_number_write(row[first + i], text + length);
        }
    }
    length += (size_t)snprintf(text + length, room - length, "\n");
    perp_trajectory_parse(text, length, "the plan", &table, NULL);
    free(text);
    return table;
}

/* Simulate phase q from where it begins; inputs: columns first .. first + ni - 1 of the plan. */
static perp_status replay_phase(replay *u, int q, int first, int ni, const perp_plan_options *o,
                                perp_diag *diag)
{
    perp_model *model = NULL;
    perp_simulation *sim = NULL;
    u->phase = perp_plan_get_phase(u->plan, q);
    double T = u->phase.to - u->phase.from, step = T / (u->phase.last - u->phase.first);
    if (!(u->phase.from + step > u->phase.from)) return PERP_OK; /* of no length */
    perp_status status = perp_plan_phase_model(u->plan, q, &model, diag);
    for (int i = 0; i < ni && status == PERP_OK; i++)
        status = perp_model_set_input_table(model, perp_plan_column_name(u->plan, first + i),
                                            u->inputs, NULL, "the plan", diag);
    if (status == PERP_OK) {
        perp_simulation_options so = perp_simulation_options_default(model);
        so.from = u->phase.from;
        so.to = u->phase.from + T * (1 + 1e-12); /* rounding must not cost the last step */
        so.step = step;
        so.integrator = perp_integrator_find(perp_plan_method_name(o->method));
        so.theta = o->theta;
        status = perp_simulation_create(model, &so, &sim, diag);
    }
    perp_simulation_summary done = {.size = sizeof done};
    if (status == PERP_OK) status = perp_simulation_run(sim, compare_row, u, &done, diag);
    status = perp_outcome_status(status, done.outcome);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    return status;
}

/* Simulate with the inputs found, by the plan's own method where the simulator has it, and say how
 * far the states come apart, phase by phase. */
static perp_status print_replay(FILE *out, const perp_model *model, const perp_plan *plan,
                                const perp_plan_options *o)
{
    if (o->method != PERP_PLAN_BACKWARD_EULER && o->method != PERP_PLAN_THETA)
        return PERP_OK; /* the inputs at inner points are in no table */
    int ns = perp_model_count(model, PERP_STATE), n = perp_plan_columns(plan);
    int first = 1 + ns + perp_model_count(model, PERP_VAR),
        ni = n - 1 - first - ns - perp_model_count(model, PERP_OUTPUT);
    int phases = perp_plan_phases(plan);
    replay u = {.plan = plan, .nx = ns, .row = malloc((size_t)n * sizeof *u.row)};
    perp_diag diag = {0};
    perp_trajectory *table = u.row ? input_table(plan, first, ni, u.row) : NULL;
    perp_status status = table ? PERP_OK : PERP_ERR_MEMORY;
    u.inputs = table;
    for (int q = 0; q < phases && status == PERP_OK; q++)
        status = replay_phase(&u, q, first, ni, o, &diag);
    if (status == PERP_OK)
        fprintf(
            out,
            "replayed%s on its mesh: a simulation with these inputs differs by at most %.1e (%s)\n",
            phases > 1 ? " phase by phase" : "", u.worst,
            u.worst > 0 ? perp_plan_column_name(plan, u.worst_state) : "no state");
    else if (status != PERP_ERR_MEMORY)
        fprintf(out, "replayed on its mesh: the simulation ended after step %ld: %s", u.steps,
                perp_diag_text(&diag));
    perp_trajectory_destroy(table);
    perp_diag_clear(&diag);
    free(u.row);
    return status == PERP_ERR_MEMORY ? status : PERP_OK;
}

/* The command --------------------------------------------------------------------------------- */

static perp_status set_guess(perp_plan *plan, const char *file, perp_diag *diag)
{
    perp_trajectory *table = NULL;
    perp_status status = perp_trajectory_read(file, &table, diag);
    if (status == PERP_OK) status = perp_plan_set_guess(plan, table, file, diag);
    perp_trajectory_destroy(table);
    return status;
}

/* Close the log: complete if the search ended by itself, with or without a plan; else partial. */
static perp_status close_log(watch *u, tables *t, perp_status status,
                             const perp_plan_result *result, perp_diag *diag)
{
    const char *reason = NULL;
    if (status != PERP_OK)
        reason = perp_status_message(status);
    else if (result->outcome == PERP_PLAN_STOPPED)
        reason = perp_plan_outcome_message(result->outcome);
    if (u->log && reason)
        snprintf(t->log, sizeof t->log, "%s", perp_trajectory_writer_partial(u->log));
    return perp_trajectory_writer_close(u->log, reason, diag);
}

/* Gains, and the loop closed with them. */
static perp_status find_feedback(const perp_model *model, perp_plan *plan, request *r,
                                 perp_diag *diag)
{
    perp_status status = perp_plan_find_gains(plan, NULL, diag);
    if (status == PERP_OK && r->gains) status = cli_gains_write(model, plan, r->gains, diag);
    if (status == PERP_OK && r->noise.n) status = cli_loop_run(&r->loop, r->o.seed);
    return status;
}

/* The table, named `rows` then, and the page. */
static perp_status write_results(perp_model *model, perp_plan *plan, const perp_plan_result *result,
                                 request *r, tables *t, char *rows, const char **page,
                                 perp_diag *diag)
{
    perp_status status = take_parameters(model, plan, diag);
    if (status == PERP_OK && r->multipliers)
        status = cli_multipliers_find(&r->found_multipliers, model, plan, diag);
    if (status == PERP_OK && perp_plan_holds(result->outcome) && (r->gains || r->noise.n))
        status = find_feedback(model, plan, r, diag);
    if (status == PERP_OK && r->out)
        status = write_plan(model, plan, result, r, r->out, 0, rows, diag);
    if (t->plan_is_kept) memcpy(t->plan, rows, sizeof t->plan);
    if (status != PERP_OK || !*page) return status;
    *page = cli_result_name(*page, !perp_plan_holds(result->outcome), t->page);
    return write_report(model, plan, result, r, t, *page, diag);
}

static int plan_model(perp_model *model, request *r, perp_diag *diag)
{
    int code = take_options(model, r);
    if (code != CLI_DONE) return code;
    perp_plan_options o = r->o;
    watch u = {.is_shown = !r->quiet && isatty(2), .started = cli_now()};
    perp_plan *plan = NULL;
    perp_plan_result result = {.size = sizeof result};
    o.progress = on_progress;
    o.context = &u;
    perp_status status = perp_plan_create(model, &o, &plan, diag);
    tables t = {.plan_is_kept = 0};
    char rows[CLI_PATH_ROOM] = "";
    if (r->log || r->report) name_tables(&t, r);
    if (status == PERP_OK && r->guess) status = set_guess(plan, r->guess, diag);
    if (status == PERP_OK && (r->log || r->report))
        status = open_log(&u, t.log, r->stream || !r->log, diag);
    code = status != PERP_OK ? cli_exit_code(status)
                             : cli_loop_begin(&r->loop, model, plan, &r->noise, r->runs);
    if (code != CLI_DONE) {
        perp_trajectory_writer_close(u.log, perp_status_message(status), NULL);
        remove_tables(&t, r);
        cli_loop_clear(&r->loop);
        perp_plan_destroy(plan);
        return code;
    }
    cli_catch_signals();
    double start = cli_now();
    status = perp_plan_solve(plan, &result, diag);
    double seconds = cli_now() - start;
    if (u.shown > 0) fprintf(stderr, "\r%78s\r", "");
    perp_status closed = close_log(&u, &t, status, &result, diag);
    if (status == PERP_OK) status = closed;
    const char *page = r->report;
    if (status == PERP_OK) status = write_results(model, plan, &result, r, &t, rows, &page, diag);
    remove_tables(&t, r);
    code = cli_exit_code(status);
    if (status == PERP_OK) {
        FILE *out = cli_text_stream(r->out, r->report);
        int holds = perp_plan_holds(result.outcome);
        if (r->json) add_json(r, plan, &result, seconds, rows, page);
        if (!r->quiet) print_summary(out, model, plan, &result, seconds);
        if (!r->quiet) {
            cli_multipliers_print(&r->found_multipliers, out);
            cli_loop_print(&r->loop, out);
        }
        if (!r->quiet && r->out && out == stdout) fprintf(out, "plan: %s\n", rows);
        if (!r->quiet && r->report && !cli_is_dash(r->report)) fprintf(out, "report: %s\n", page);
        if (!r->quiet && r->plot && holds) print_plot(model, plan, out);
        if (!r->quiet && o.replay && holds && result.meshes == 0) /* steps are of equal length */
            cli_exit_code(print_replay(out, model, plan,
                                       &o)); /* remembers a lack of memory for the exit code */
        if (result.outcome == PERP_PLAN_STOPPED)
            cli_say("perp plan: interrupted; this is the best iterate so far\n");
        if (result.outcome == PERP_PLAN_STOPPED)
            code = CLI_INTERRUPTED;
        else if (holds)
            code = CLI_DONE;
        else
            code = CLI_NO_SOLUTION;
    }
    cli_multipliers_clear(&r->found_multipliers);
    cli_loop_clear(&r->loop);
    perp_plan_destroy(plan);
    return code;
}

int perp__cmd_plan(int argc, char **argv)
{
    request r = {.args = {&cli_command_plan, argc, argv}, .plot = 1, .runs = 20};
    perp_diag diag = {0};
    perp_model *model = NULL;
    int code = cli_read(&r.args, &r);
    if (code == CLI_DONE) code = cli_refuse_ranks("plan");
    if (code == CLI_DONE && r.as_json) {
        r.json = cli_json_begin("plan");
        r.quiet = 1;
    }
    if (code == CLI_DONE) code = cli_load(r.file, "plan", &r.set, &r.folder, &model, &diag);
    if (code == CLI_DONE) code = cli_check_outputs(&r.args, &r, model, &r.guess, 1);
    if (code == CLI_DONE && r.report && !perp_report_has_page()) /* said before the search */
        code = cli_exit_code(perp_report_write_html(NULL, 0, NULL, r.report, &diag));
    if (code == CLI_DONE) code = plan_model(model, &r, &diag);
    if (r.json) code = cli_json_end(r.json, code, &diag, cli_text_stream(r.out, r.report));
    fflush(stdout);
    cli_print_diag(&diag, stderr);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    free(r.set.item);
    free(r.folder.item);
    free(r.noise.item);
    return code;
}
