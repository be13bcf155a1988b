/* perp simulate: a model file in, a verified trajectory out. */

#include "cli.h"
#include "json.h"
#include "fingerprint.h"
#include "impacts.h"
#include "plot.h"
#include "robot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PLOTTED = 6 };

typedef struct request {
    cli_args args;
    const char *file, *out, *report, *events, *from, *key;
    cli_start start; /* --from */
    cli_beginning beginning;
    int project;
    perp_simulation_options o;
    long every;
    int quiet, plot, stream, as_json, estimate;
    cJSON *json;
    cli_list set, input, folder;
    const char *sensitivity; /* names, with commas between them */
} request;

#define INTO(field) CLI_INTO(request, field)

#define WEIGHTED(name, word, weighted, ...) weighted,
static const char is_weighted[] = {PERP_INTEGRATOR_LIST(WEIGHTED)};

static const char *const solvers[] = {
#define PERP_LCP_METHOD(name, suffix, class, summary) #name,
#include "perp/solvers.def"
#undef PERP_LCP_METHOD
    NULL};

/* Of --estimate, and which part of the run's work it may cost. */
enum { SAMPLED = 1 };
static const char *const jits[] = {"off", "auto", "on", NULL};
static const char *const estimates[] = {"none", "sampled", "full", NULL};
static const int part_of_work[] = {0, 10, 2};

/* A difference that grows by more makes figures of it worthless. */
#define SENSITIVE 1e4

/* Of models, then of robot files. */
static const char *const methods[] = {
#define WORD(name, word, ...) word,
    PERP_INTEGRATOR_LIST(WORD) PERP_BODIES_METHOD_LIST(WORD)
#undef WORD
        NULL};

static const cli_option options[] = {
    {"", "FILE.perp", NULL, INTO(file), .needed = "which model?"},
    {"to", "T", "end time [s] (default: the model's)", INTO(o.to)},
    {"from", "T|RUN[:T]",
     "start time [s] (default: the model's, else 0); or the file of a run of this model, whose "
     "last row, or that at T, is the start",
     INTO(from)},
    {"step", "H", "step [s] (default: the model's)", INTO(o.step), .is_positive = 1},
    {"set", "NAME=VALUE", "a parameter, an initial value, or a constant input; may be repeated",
     INTO(set)},
    CLI_FOLDER_OPTION,
    {"input", "NAME=FILE[:COLUMN]",
     "an input from a CSV table with a column t, linear between rows; may be repeated",
     INTO(input)},
    {"method", "NAME",
     "how time is stepped (default: the model's, else one that fits it, see perp "
     "check):" PERP_INTEGRATOR_LIST(
         CLI_SPACED) "; of a robot file (default euler):" PERP_BODIES_METHOD_LIST(CLI_SPACED),
     INTO(o.integrator), .words = methods},
    {"theta", "X", "weight of the step's end for theta and moreau, 0.5..1 (default 0.5)",
     INTO(o.theta), .least = 0.5, .most = 1},
    {"tol", "X",
     "take each step in as many parts as keep the estimated error of each below X times the size "
     "of the states; 0 (default): whole steps",
     INTO(o.accuracy), .least = 0, .most = 0.1},
    {"solver", "NAME",
     "for the complementarity problem of a step: auto (default), lemke, ...; see perp solvers",
     INTO(o.solver), .words = solvers},
    {"jit", "HOW",
     "compile the expressions by cc or tcc, same results: off, auto (default: long runs only, "
     "where "
     "there is a compiler), on (docs/compiled.md)",
     INTO(o.jit), .words = jits},
    {"o", "OUT.csv",
     "write the trajectory; - is standard output (the summary then goes to standard error); "
     "OUT" PERP_BINARY_SUFFIX ": rows as numbers, for long runs; OUT.h5"
     ": HDF5, for other programs (docs/formats.md)",
     INTO(out), .is_output = 1, .endings = "csv perpbin h5 *"},
    {"every", "N", "write every Nth row, and the last", INTO(every), .least = 1},
    {"stream", NULL,
     "write into OUT.csv itself, for a program that follows it; an earlier file is lost at once",
     INTO(stream)},
    {"report", "OUT.html", "write a page that shows the run; see perp report", INTO(report),
     .is_output = 1, .endings = "html htm"},
    {"events", "OUT.csv",
     "write a row for each impact: time, contact, bodies, impulse, impulse of friction, energy "
     "lost (docs/formats.md)",
     INTO(events), .is_output = 1, .endings = "csv *"},
    {"estimate", "HOW",
     "estimate the error of the states at the end by other runs. sampled (default): a tenth of the "
     "cost of this run, for a short one up to 30 ms together with it, or a half. full: a half, or "
     "60 ms. none: no estimate",
     INTO(estimate), .words = estimates},
    {"sensitivity", "NAME,..",
     "further columns: the derivative of every column by these parameters, or initial values of "
     "states, as d(x)/d(mu); by way of impacts with radau5 (docs/derivatives.md)",
     INTO(sensitivity)},
    {"project", NULL,
     "begin at the nearest states that fulfil what states alone must: closed loops and their "
     "velocities, gaps and bounds that the start breaks; says what it moved",
     INTO(project)},
    {"key", "NAME", "of a robot file: begin at this keyframe", INTO(key)},
    {"quiet", NULL, "no summary, plot or progress", INTO(quiet)},
    {"no-plot", NULL, "no plot", INTO(plot)},
    CLI_JSON_OPTION(request),
};

const cli_command cli_command_simulate = {
    .name = "simulate",
    .usage = "FILE.perp [options]",
    .about = "Step the model from `from` to `to` and verify every step: the conditions as written "
             "in the model are evaluated\n"
             "after each solve, and a step that does not hold stops the run. A summary and a plot "
             "are printed; with -o every row\n"
             "goes to a CSV file: it takes its name when the run is complete; the rows of a run "
             "that stops early are in\n"
             "OUT.csv.partial, its page in OUT.partial.html.",
    .notes = "examples:\n"
             "  perp simulate examples/notes/particle.perp -o particle.csv\n"
             "  perp simulate examples/notes/sliding_traditional.perp --set mu=0.3 --to 10\n"
             "  perp simulate examples/mechanics/square.perp --report square.html\n"
             "  perp simulate examples/notes/sliding_traditional.perp --input u=force.csv\n"
             "  perp simulate examples/mechanics/isolator.perp --events impacts.csv\n"
             "  perp simulate examples/notes/particle.perp --from particle.csv --to 5\n"
             "  perp simulate examples/robots/arm.xml --key ready --to 2 -o arm.csv\n\n"
             "A robot file (.xml, .urdf) instead of a model is stepped as bodies with exact "
             "friction, for 1 s unless --to says otherwise;\n"
             "--set names its positions, velocities, or controls as NAME.u (docs/robots.md).\n\n"
             "exit codes: 0 done, 1 usage, 2 bad model or data, 3 no verified solution at some "
             "step (the rows so far are in OUT.csv.partial),\n"
             "4 file or memory, 130 interrupted (the same)",
    CLI_OPTIONS(options)};

/* The run ------------------------------------------------------------------------------------- */

typedef struct run {
    const request *request;
    perp_trajectory_writer *writer, *kept; /* kept: rows for the report where -o gives no file */
    char kept_path[CLI_PATH_ROOM];
    /* room for the names of partial results */
    char rows[CLI_PATH_ROOM], page[CLI_PATH_ROOM], listed[CLI_PATH_ROOM];
    cli_plot *plot;
    int plotted[MAX_PLOTTED], nplotted;
    long steps, written; /* of the run; the last one in the file */
    double started, shown;
    int progress, is_paced;    /* is_paced: said how long it takes */
    struct followed *followed; /* NULL: no derivatives are wanted */
    struct impulses *impulses; /* NULL: the method has none */
    const perp_simulation *sim;
    cli_impact_list list;
    long *impacts; /* of each pair of the model, how many so far */
} run;

enum { LOOK = 1024, PACED_AFTER = 2, LONG = 3600 }; /* steps; seconds */

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

/* A run that will take hours says so, once. */
static void show_pace(run *u, long step)
{
    double passed = cli_now() - u->started, whole = passed / (double)step * (double)u->steps;
    if (passed < PACED_AFTER) return;
    u->is_paced = 1;
    if (whole < LONG || u->request->quiet) return;
    cli_say("%sperp simulate: %.3g steps take %.3g %s at this pace; Ctrl-C ends the run%s\n",
            u->progress ? "\r" : "", (double)u->steps,
            whole / (whole < 48 * LONG ? LONG : 24 * LONG), whole < 48 * LONG ? "hours" : "days",
            u->request->out ? " and keeps its rows" : "");
}

/* Derivatives --------------------------------------------------------------------------------- */

/* What --sensitivity names, and the columns that it adds: all but the time and the residual, by
 * each name. */
typedef struct followed {
    const perp_simulation *sim;
    char *text; /* the names, taken apart */
    const char **name;
    char **column, **unit; /* of the columns added; NULL: none yet */
    int n, ncolumn;
    double *slope, *row; /* derivatives of a row; a row with them behind it */
    double lost;         /* the time of the first row without them; NaN: there is none */
} followed;

/* "mu,r[2,3],m": a comma within brackets is part of a name. */
static int take_apart(char *text, const char **name)
{
    int n = 1, depth = 0;
    name[0] = text;
    for (char *at = text; *at; at++) {
        depth += (*at == '[') - (*at == ']');
        if (*at == ',' && depth == 0) {
            *at = 0;
            name[n++] = at + 1;
        }
    }
    return n;
}

static void free_followed(followed *f)
{
    for (int i = 0; f && f->column && i < f->n * f->ncolumn; i++) {
        free(f->column[i]);
        free(f->unit[i]);
    }
    if (f) {
        free(f->text);
        free(f->name);
        free(f->column);
        free(f->unit);
        free(f->slope);
        free(f->row);
    }
    free(f);
}

/* "(m/s)/(kg)" */
static char *quotient_unit(const char *of, const char *by)
{
    size_t size = strlen(of) + strlen(by) + 8;
    char *unit = malloc(size);
    if (!unit) return NULL;
    if (!by[0])
        snprintf(unit, size, "%s", of);
    else if (!of[0])
        snprintf(unit, size, "1/(%s)", by);
    else
        snprintf(unit, size, "(%s)/(%s)", of, by);
    return unit;
}

static const char *unit_of(const perp_model *model, const char *name)
{
    perp_symbol_kind kind;
    int i;
    return perp_model_find(model, name, &kind, &i) ? perp_model_symbol(model, kind, i).unit : "";
}

static int name_derivatives(followed *f, const perp_model *model)
{
    int ok = 1;
    for (int j = 0, k = 0; j < f->n; j++)
        for (int c = 1; c < f->ncolumn - 1; c++, k++) {
            const char *of = perp_simulation_column_name(f->sim, c);
            size_t size = strlen(of) + strlen(f->name[j]) + 8;
            f->column[k] = malloc(size);
            f->unit[k] =
                quotient_unit(perp_simulation_column_unit(f->sim, c), unit_of(model, f->name[j]));
            ok = ok && f->column[k] && f->unit[k];
            if (f->column[k]) snprintf(f->column[k], size, "d(%s)/d(%s)", of, f->name[j]);
        }
    return ok;
}

static perp_status follow(run *u, const perp_model *model, perp_simulation *sim, perp_diag *diag)
{
    const char *text = u->request->sensitivity;
    if (!text) return PERP_OK;
    followed *f = u->followed = calloc(1, sizeof *f);
    if (!f) return PERP_ERR_MEMORY;
    size_t size = strlen(text) + 1, columns = (size_t)perp_simulation_columns(sim);
    f->sim = sim;
    f->ncolumn = (int)columns;
    f->lost = (double)NAN;
    f->text = malloc(size);
    f->name = malloc(size * sizeof *f->name);
    if (!f->text || !f->name) return PERP_ERR_MEMORY;
    memcpy(f->text, text, size);
    f->n = take_apart(f->text, f->name);
    perp_status status = perp_simulation_follow(sim, f->n, f->name, diag);
    if (status != PERP_OK) return status;
    size_t all = columns * (size_t)f->n;
    f->column = calloc(all + 1, sizeof *f->column);
    f->unit = calloc(all + 1, sizeof *f->unit);
    f->slope = malloc((all + 1) * sizeof(double));
    f->row = malloc((all + columns) * sizeof(double));
    if (!f->column || !f->unit || !f->slope || !f->row) return PERP_ERR_MEMORY;
    return name_derivatives(f, model) ? PERP_OK : PERP_ERR_MEMORY;
}

/* The row with its derivatives, which are NaN where they are not known. */
static const double *with_derivatives(followed *f, const double *row)
{
    if (!f) return row;
    double *at = f->row + f->ncolumn;
    int known = perp_simulation_derivatives(f->sim, f->slope) == PERP_OK;
    if (!known && isnan(f->lost)) f->lost = row[0];
    memcpy(f->row, row, (size_t)f->ncolumn * sizeof *row);
    for (int j = 0; j < f->n; j++)
        for (int c = 1; c < f->ncolumn - 1; c++)
            *at++ = known ? f->slope[j * f->ncolumn + c] : (double)NAN;
    return f->row;
}

/* Impulses ------------------------------------------------------------------------------------ */

/* The columns that the method moreau adds, behind all others. */
typedef struct impulses {
    const perp_simulation *sim;
    int n, before; /* before: columns in front of them */
    int *var;
    char **column, **unit;
    double *row;
    double *largest, *time; /* of each, and when it was; NaN: no step was taken */
} impulses;

static void free_impulses(impulses *x)
{
    for (int k = 0; x && x->column && k < x->n; k++) {
        free(x->column[k]);
        free(x->unit[k]);
    }
    if (x) {
        free(x->var);
        free(x->column);
        free(x->unit);
        free(x->row);
        free(x->largest);
    }
    free(x);
}

static perp_status add_impulse(impulses *x, const perp_model *model, int var)
{
    const char *of = perp_model_symbol(model, PERP_VAR, var).name;
    size_t length = strlen(of) + sizeof "impulse()",
           room = (size_t)perp_simulation_impulse_unit(x->sim, var, NULL, 0) + 1;
    char *name = malloc(length), *unit = malloc(room);
    if (name) snprintf(name, length, "impulse(%s)", of);
    if (unit) perp_simulation_impulse_unit(x->sim, var, unit, room);
    x->column[x->n] = name;
    x->unit[x->n] = unit;
    x->largest[x->n] = x->time[x->n] = (double)NAN;
    x->var[x->n++] = var;
    return name && unit ? PERP_OK : PERP_ERR_MEMORY;
}

static perp_status find_impulses(run *u, const perp_model *model, const perp_simulation *sim)
{
    int nvar = perp_model_count(model, PERP_VAR);
    size_t n = (size_t)nvar + 1, columns = (size_t)perp_simulation_columns(sim);
    perp_status status = PERP_OK;
    if (perp_simulation_method(sim) != PERP_MOREAU) return PERP_OK;
    impulses *x = u->impulses = calloc(1, sizeof *x);
    if (!x) return PERP_ERR_MEMORY;
    x->sim = sim;
    x->before = (int)columns + (u->followed ? u->followed->n * ((int)columns - 2) : 0);
    x->var = malloc(n * sizeof *x->var);
    x->row = malloc(((size_t)x->before + n) * sizeof(double));
    x->column = calloc(n, sizeof *x->column);
    x->unit = calloc(n, sizeof *x->unit);
    x->largest = malloc(2 * n * sizeof(double));
    x->time = x->largest + n;
    if (!x->var || !x->row || !x->column || !x->unit || !x->largest) return PERP_ERR_MEMORY;
    for (int v = 0; v < nvar && status == PERP_OK; v++)
        if (perp_simulation_impulse(sim, v, NULL)) status = add_impulse(x, model, v);
    return status;
}

/* By more than rounding: which of several is the largest is the same on all machines. */
static int is_larger(double x, double y)
{
    return fabs(x) > fabs(y) * (1 + 1e-6);
}

static void note_impulses(impulses *x, double t)
{
    for (int k = 0; x && k < x->n; k++) {
        double impulse;
        perp_simulation_impulse(x->sim, x->var[k], &impulse);
        if (isnan(impulse) || (!isnan(x->time[k]) && !is_larger(impulse, x->largest[k]))) continue;
        x->largest[k] = impulse;
        x->time[k] = t;
    }
}

static void print_impulses(FILE *out, const impulses *x)
{
    int most = 0;
    if (!x || x->n == 0 || isnan(x->time[0])) return;
    for (int k = 1; k < x->n; k++)
        if (is_larger(x->largest[k], x->largest[most])) most = k;
    fprintf(out, "largest in a step: %s %.4g%s%s at t = %g\n", x->column[most], x->largest[most],
            x->unit[most][0] ? " " : "", x->unit[most], x->time[most]);
}

/* Null without. */
static cJSON *impulses_json(const impulses *x)
{
    if (!x) return cJSON_CreateNull();
    cJSON *list = cJSON_CreateArray();
    for (int k = 0; k < x->n; k++) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "column", x->column[k]);
        cJSON_AddStringToObject(o, "unit", x->unit[k]);
        cli_json_add_number(o, "largest", x->largest[k]);
        cli_json_add_number(o, "time", x->time[k]);
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

static const double *with_impulses(impulses *x, const double *row)
{
    if (!x) return row;
    memcpy(x->row, row, (size_t)x->before * sizeof *row);
    for (int k = 0; k < x->n; k++)
        perp_simulation_impulse(x->sim, x->var[k], &x->row[x->before + k]);
    return x->row;
}

static perp_status write_row(run *u, long step, const double *row)
{
    perp_status status = PERP_OK;
    row = with_impulses(u->impulses, with_derivatives(u->followed, row));
    if (u->writer) status = perp_trajectory_writer_row(u->writer, row);
    if (u->kept && status == PERP_OK) status = perp_trajectory_writer_row(u->kept, row);
    if (status == PERP_OK) u->written = step;
    return status;
}

/* An impact in words, the texts in `room`. */
enum { WORDS_ROOM = 256 };
static cli_impact in_words(const perp_simulation *sim, const perp_impact *impact,
                           char room[2][WORDS_ROOM])
{
    const char *name = perp_simulation_impact_name(sim, impact->pair);
    room[0][0] = room[1][0] = 0;
    perp_simulation_impact_bodies(sim, impact->pair, room[0], WORDS_ROOM);
    perp_simulation_impact_unit(sim, impact->pair, room[1], WORDS_ROOM);
    return (cli_impact){*impact, name ? name : "", room[0], room[1]};
}

static void take_impacts(run *u)
{
    const perp_impact *impact;
    char room[2][WORDS_ROOM];
    int n = perp_simulation_impacts(u->sim, &impact);
    for (int k = 0; k < n; k++) {
        u->impacts[impact[k].pair]++;
        if (!cli_impact_list_is_wanted(&u->list)) continue;
        cli_impact x = in_words(u->sim, &impact[k], room);
        cli_impact_list_add(&u->list, &x);
    }
}

static cli_impacts impacts_of(const perp_simulation *sim, char room[2][WORDS_ROOM])
{
    cli_impacts x;
    perp_impact largest;
    x.count = perp_simulation_impact_count(sim, &largest, &x.energy);
    x.largest = in_words(sim, &largest, room);
    return x;
}

static perp_status take_row(void *context, long step, const double *row)
{
    run *u = context;
    double values[MAX_PLOTTED];
    note_impulses(u->impulses, row[0]);
    if (step > 0) take_impacts(u);
    if (u->plot) {
        for (int i = 0; i < u->nplotted; i++) values[i] = row[u->plotted[i]];
        cli_plot_add(u->plot, step, row[0], values);
    }
    if (step % LOOK == 0 && step > 0) {
        if (!u->is_paced) show_pace(u, step);
        if (u->progress) show_progress(u, step);
    }
    if (step % u->request->every == 0 || step == u->steps) {
        perp_status status = write_row(u, step, row);
        if (status != PERP_OK) return status;
    }
    return cli_is_interrupted() && step < u->steps ? PERP_ERR_STOPPED : PERP_OK;
}

static perp_simulation_summary summary_of(const perp_simulation *sim)
{
    perp_simulation_summary s = {.size = sizeof s};
    perp_simulation_get_summary(sim, &s);
    return s;
}

/* After a run that stopped early: the row of its last step, if --every left it out. */
static void write_last_row(run *u, const perp_simulation *sim)
{
    long step = summary_of(sim).steps;
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
    perp_status status =
        cli_write_words(w, "command: perp", (const char *const *)r->args.argv, r->args.argc);
    snprintf(line, sizeof line, "model: %s (%s, %s)\nfrom %s to %s step %s, %s, %s",
             perp_model_name(model), perp_model_file(model),
             perp_model_get_kind(model) == PERP_DISCRETE ? "discrete" : "continuous",
             number(o->from, a), number(o->to, b), number(o->step, c),
             perp_model_get_kind(model) == PERP_DISCRETE ? "as written"
                                                         : perp_integrator_name(o->integrator),
             perp_lcp_method_name(o->solver));
    perp_trajectory_writer_comment(w, line);
    cli_write_parameters(w, model);
    char *moved = cli_moved_text(&r->beginning, model);
    if (moved) perp_trajectory_writer_comment(w, moved);
    free(moved);
    for (int i = 0; status == PERP_OK && i < r->input.n; i++)
        status = cli_write_words(w, "input", &r->input.item[i], 1);
    return status == PERP_OK ? cli_write_fingerprints(w, model) : status;
}

static perp_status open_writer(const run *u, const char *path, int in_place,
                               perp_trajectory_writer **writer, const perp_model *model,
                               const perp_simulation *sim, const perp_simulation_options *o,
                               perp_diag *diag)
{
    const followed *f = u->followed;
    const impulses *x = u->impulses;
    int of_run = perp_simulation_columns(sim), others = of_run + (f ? f->n * (of_run - 2) : 0);
    int n = others + (x ? x->n : 0);
    const char **names = malloc((size_t)n * sizeof *names),
               **units = malloc((size_t)n * sizeof *units);
    perp_status status;
    if (!names || !units)
        status = PERP_ERR_MEMORY;
    else if (in_place)
        status = perp_trajectory_writer_stream(path, writer, diag);
    else
        status = perp_trajectory_writer_create(path, writer, diag);
    for (int i = 0; i < n && status == PERP_OK; i++) {
        if (i < of_run)
            names[i] = perp_simulation_column_name(sim, i);
        else if (i < others)
            names[i] = f->column[i - of_run];
        else
            names[i] = x->column[i - others];
        if (i < of_run)
            units[i] = perp_simulation_column_unit(sim, i);
        else if (i < others)
            units[i] = f->unit[i - of_run];
        else
            units[i] = x->unit[i - others];
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
    if (status == PERP_OK && r->events) status = cli_events_open(&u->list.events, r->events, diag);
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
    if (u->list.events.file)
        snprintf(u->listed, sizeof u->listed, "%s",
                 reason && u->list.events.partial ? u->list.events.partial : u->request->events);
    perp_status status = perp_trajectory_writer_close(u->writer, reason, diag);
    perp_status kept = perp_trajectory_writer_close(u->kept, reason, diag);
    perp_status listed = cli_events_close(&u->list.events, u->request->events, !reason, diag);
    if (status == PERP_OK) status = kept;
    return status == PERP_OK ? listed : status;
}

/* States first, then outputs. */
static perp_status open_plot(run *u, const perp_model *model, const perp_simulation *sim,
                             const char **names, const char **units)
{
    int ns = perp_model_count(model, PERP_STATE),
        nv = perp_model_count(model, PERP_VAR) + perp_model_count(model, PERP_INPUT),
        no = perp_model_count(model, PERP_OUTPUT);
    for (int i = 0; i < ns + no && u->nplotted < MAX_PLOTTED; i++)
        u->plotted[u->nplotted++] = 1 + (i < ns ? i : i + nv);
    for (int i = 0; i < u->nplotted; i++) {
        names[i] = perp_simulation_column_name(sim, u->plotted[i]);
        units[i] = perp_simulation_column_unit(sim, u->plotted[i]);
    }
    u->plot = cli_plot_create(u->nplotted, names, units, u->steps + 1,
                              cli_text_stream(u->request->out, u->request->report));
    return u->plot ? PERP_OK : PERP_ERR_MEMORY;
}

/* Does the model, or the command line, say how time is stepped? */
static int is_named(const perp_model *model, const request *r)
{
    return perp_model_simulate_task(model).method || cli_is_given(&r->args, "method");
}

/* Summary ------------------------------------------------------------------------------------- */

static double percent(long part, long whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static int is_same_place(const perp_statement *a, const perp_statement *b)
{
    return a->line == b->line && a->column == b->column && strcmp(a->file, b->file) == 0;
}

/* One line a statement: the pairs of an array or a loop are counted together. */
static void print_pairs(FILE *out, const perp_model *model, const perp_simulation_summary *s,
                        const long *impacts)
{
    perp_statement *at = malloc(((size_t)s->pairs + 1) * sizeof *at);
    if (!at) cli_exit_code(PERP_ERR_MEMORY);
    for (int i = 0; at && i < s->pairs; i++) {
        at[i] = perp_model_pair(model, i);
    }
    for (int i = 0, k; at && i < s->pairs; i++) {
        for (k = 0; k < i && !is_same_place(&at[k], &at[i]); k++) {
        }
        if (k < i) continue;
        perp_statement pair = at[i];
        const char *a = perp_model_pair_side(model, i, 0), *b = perp_model_pair_side(model, i, 1);
        long n[4] = {0}, total = 0, struck = 0;
        for (int j = i; j < s->pairs; j++) {
            if (!is_same_place(&at[j], &at[i]) || strcmp(perp_model_pair_side(model, j, 0), a) != 0)
                continue;
            for (k = 0; k < 4; k++) n[k] += s->modes[j][k];
            total += s->steps;
            struck += impacts[j];
        }
        if (strcmp(pair.file, perp_model_file(model)) == 0)
            fprintf(out, "  line %-3d %s\n          ", pair.line, pair.text);
        else
            fprintf(out, "  %s:%d %s\n          ", pair.file, pair.line, pair.text);
        if (perp_model_pair_is_two_sided(model, i))
            fprintf(out,
                    "%s at its lower bound %.1f %%, between %.1f %%, at its upper bound %.1f %%", a,
                    percent(n[0], total), percent(n[1], total), percent(n[2], total));
        else
            fprintf(out, "%s > 0 %.1f %%, both zero %.1f %%, %s > 0 %.1f %%", a,
                    percent(n[0], total), percent(n[1], total), b, percent(n[2], total));
        if (n[3]) fprintf(out, ", guard off %.1f %%", percent(n[3], total));
        if (struck) fprintf(out, ", %ld impact%s", struck, struck == 1 ? "" : "s");
        fprintf(out, "\n");
    }
    free(at);
}

/* Else the error is below the sum of both. */
static int is_figure(double error, double unsure)
{
    return error > 3 * unsure;
}

/* "x 3e-4 m, v < 1e-9 m/s": what the error of each state is, or is below; of many those that are
 * largest. */
static void print_errors(FILE *out, const perp_model *model, int n, const double *error,
                         const double *unsure)
{
    double least = 0;
    int is_later = 0;
    for (int k = 0, above = n; above > MAX_PLOTTED && k < 2000; k++) {
        above = 0;
        least = ldexp(1, k - 1000);
        for (int i = 0; i < n; i++) above += error[i] + unsure[i] >= least;
    }
    for (int i = 0; i < n; i++) {
        perp_symbol state = perp_model_symbol(model, PERP_STATE, i);
        int is_known = is_figure(error[i], unsure[i]);
        if (error[i] + unsure[i] < least) continue;
        fprintf(out, "%s %s %s%.1e%s%s", is_later ? "," : "", state.name, is_known ? "" : "< ",
                is_known ? error[i] : error[i] + unsure[i], state.unit[0] ? " " : "", state.unit);
        is_later = 1;
    }
    if (least > 0) fprintf(out, "%s < %.1e", is_later ? "; of the others" : " of all", least);
}

/* How far the states at the end are from the motion: perp_simulation_estimate. */
typedef struct end_error {
    int n; /* states; -1: nobody asks */
    double growth, *error, *unsure;
    char unknown[512]; /* why there is none; "": there is */
} end_error;

static int is_sensitive(const end_error *e)
{
    return e->growth > SENSITIVE;
}

static void find_error(end_error *e, const perp_model *model, const perp_simulation *sim, int how)
{
    int n = perp_model_count(model, PERP_STATE);
    perp_diag diag = {0};
    e->error = malloc(2 * (size_t)n * sizeof *e->error);
    if (!e->error) cli_exit_code(PERP_ERR_MEMORY);
    if (!e->error) return;
    e->n = n;
    e->unsure = e->error + n;
    perp_status status =
        perp_simulation_estimate(sim, part_of_work[how], e->error, e->unsure, &e->growth, &diag);
    if (status == PERP_ERR_MEMORY) cli_exit_code(status);
    if (status != PERP_OK) {
        const char *why = perp_diag_text(&diag);
        snprintf(e->unknown, sizeof e->unknown, "%.*s%s", (int)strcspn(why, "\n"), why,
                 status == PERP_ERR_NO_SOLUTION && how == SAMPLED ? "; see --estimate full" : "");
    }
    perp_diag_clear(&diag);
}

/* A line of text without its end; the caller frees. NULL: memory is out. */
static char *error_text(const end_error *e, const perp_model *model,
                        const perp_simulation_options *o)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fprintf(out, "error at the end:");
    if (e->unknown[0])
        fprintf(out, " not known: %s", e->unknown);
    else if (is_sensitive(e))
        fprintf(out,
                " sensitive: growth %.0e; what differs a little at the start, or is rounded on "
                "the way, differs by so many times as much at the end",
                e->growth);
    else
        print_errors(out, model, e->n, e->error, e->unsure);
    perp_integrator fits = cli_recommend(model);
    if (fits != o->integrator && fits != PERP_BACKWARD_EULER && o->integrator < PERP_RADAU3)
        fprintf(out, "; --method %s fits this model better", perp_integrator_name(fits));
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

/* Null where nobody asks. Of a sensitive motion there are no figures. */
static cJSON *error_json(const end_error *e, const perp_model *model)
{
    if (e->n < 0) return cJSON_CreateNull();
    cJSON *o = cJSON_CreateObject(), *states = cJSON_AddArrayToObject(o, "states");
    cli_json_add_text(o, "unknown", e->unknown[0] ? e->unknown : NULL);
    cli_json_add_number(o, "growth", e->unknown[0] ? (double)NAN : e->growth);
    for (int i = 0; i < e->n && !e->unknown[0] && !is_sensitive(e); i++) {
        perp_symbol state = perp_model_symbol(model, PERP_STATE, i);
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "name", state.name);
        cJSON_AddStringToObject(one, "unit", state.unit);
        cli_json_add_number(one, "error",
                            is_figure(e->error[i], e->unsure[i]) ? e->error[i] : (double)NAN);
        cli_json_add_number(one, "below", e->error[i] + e->unsure[i]);
        cJSON_AddItemToArray(states, one);
    }
    return o;
}

static void comment(const run *u, const char *text)
{
    if (u->writer) perp_trajectory_writer_comment(u->writer, text);
    if (u->kept) perp_trajectory_writer_comment(u->kept, text);
}

/* "3 steps left to backward-euler by radau5, of order 1: 2 contacts do not come to rest, 1 ..": a
 * line without its end, which the caller frees. NULL: there are none, or memory is out. */
static char *left_text(const perp_simulation *sim)
{
    char *text = NULL;
    size_t size;
    const char *words;
    long n = perp_simulation_fallback_steps(sim, NULL);
    FILE *out = n ? open_memstream(&text, &size) : NULL;
    if (!out) return NULL;
    fprintf(out, "%ld step%s left to backward-euler by %s, of order 1:", n, n == 1 ? "" : "s",
            perp_integrator_name(perp_simulation_method(sim)));
    for (int k = 0, is_later = 0;; k++) {
        long count = perp_simulation_fallback_cause(sim, k, &words);
        if (!words) break;
        if (count == 0) continue;
        fprintf(out, "%s %ld where %.*s", is_later ? "," : "", count, (int)strcspn(words, ";"),
                words);
        is_later = 1;
    }
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

/* Steps that are of another order than the method's. */
static void note_left(const run *u, const perp_simulation *sim)
{
    char *text = left_text(sim);
    if (text) comment(u, text);
    free(text);
}

/* For the summary, or --json; where --estimate is given, in the files, too. The text is NULL where
 * nobody asks, or memory is out. */
static char *estimate(const run *u, const perp_model *model, const perp_simulation *sim,
                      const perp_simulation_options *o, end_error *e)
{
    const request *r = u->request;
    if (!r->estimate || (r->quiet && !r->as_json) || !summary_of(sim).steps ||
        !perp_model_count(model, PERP_STATE))
        return NULL;
    int is_given = cli_is_given(&r->args, "estimate");
    if (perp_model_get_kind(model) == PERP_DISCRETE && !is_given) return NULL;
    find_error(e, model, sim, r->estimate);
    char *text = error_text(e, model, o);
    if (!text) cli_exit_code(PERP_ERR_MEMORY);
    if (text && is_given) comment(u, text);
    return text;
}

/* What derivatives are where they are not those of the motion. */
static void print_steps(FILE *out, const perp_simulation *sim, const followed *f)
{
    double since = (double)INFINITY, at;
    int n = 0;
    for (int k = 0; k < f->n; k++) {
        if (perp_simulation_derivative_kind(sim, k, &at) != PERP_DERIVATIVE_OF_STEPS) continue;
        since = fmin(since, at);
        n++;
    }
    if (!n) return;
    fprintf(out, "derivatives");
    for (int k = 0, said = 0; k < f->n && n < f->n; k++)
        if (perp_simulation_derivative_kind(sim, k, NULL) == PERP_DERIVATIVE_OF_STEPS)
            fprintf(out, "%s%s", said++ ? ", " : " by ", f->name[k]);
    fprintf(out,
            ": from t = %g on of the steps, not of the motion: a guard switches there, or choose, "
            "floor, mod or sign jump, and these miss that it is sooner or later%s\n",
            since,
            perp_simulation_method(sim) < PERP_RADAU3
                ? "; through guards --method radau5 has those of the motion"
                : "");
}

/* ... or not those both ways. */
static void print_kinds(FILE *out, const perp_simulation *sim, const followed *f)
{
    print_steps(out, sim, f);
    for (int k = 0; k < f->n; k++) {
        double since;
        perp_derivative_kind kind = perp_simulation_derivative_kind(sim, k, &since);
        if (kind > PERP_DERIVATIVE_NONE && kind < PERP_DERIVATIVE_OF_STEPS)
            fprintf(out,
                    kind == PERP_DERIVATIVE_UNKNOWN_DIRECTION
                        ? "derivatives by %s: from t = %g on not known (%s): both sides of a pair "
                          "are 0 there, a guard is on its bound, or impacts coincide\n"
                        : "derivatives by %s: from t = %g on one-sided, %s: both sides of a pair "
                          "are 0 there, a guard is on its bound, or the row falls on an event\n",
                    f->name[k], since, perp_derivative_kind_name(kind));
    }
}

/* ... and from where on they are not known. */
static void print_derivatives(FILE *out, const perp_simulation *sim, const followed *f)
{
    if (f) print_kinds(out, sim, f);
    if (f && !isnan(f->lost))
        fprintf(out,
                "derivatives: none from t = %g on: the sides in force there do not determine them, "
                "or an event there moves infinitely fast\n",
                f->lost);
}

/* A method that nobody named. */
static void print_method(FILE *out, const perp_model *model, const perp_simulation *sim,
                         const request *r)
{
    if (is_named(model, r) || perp_model_get_kind(model) == PERP_DISCRETE) return;
    fprintf(out, "method: %s, which fits this model; it names none\n",
            perp_integrator_name(perp_simulation_method(sim)));
}

static void print_parts(FILE *out, const perp_simulation *sim, const perp_simulation_options *o)
{
    double shortest;
    long unresolved, n = perp_simulation_substeps(sim, &shortest, &unresolved);
    if (!n) return;
    fprintf(out, "each part to %g of the states, as estimated: %ld parts, the shortest %.2g s",
            o->accuracy, n, shortest);
    if (unresolved) fprintf(out, "; %ld of them could not be made short enough", unresolved);
    fprintf(out, "\n");
}

static void print_divided(FILE *out, const perp_simulation_summary *s)
{
    if (s->divided == 0) return;
    fprintf(out, "%ld step%s had no verified solution as a whole and %s taken in halves\n",
            s->divided, s->divided == 1 ? "" : "s", s->divided == 1 ? "was" : "were");
}

static void print_not_unique(FILE *out, const perp_simulation_summary *s)
{
    if (s->not_unique == 0) return;
    fprintf(out,
            "not unique: %ld of the steps that were looked at %s another verified solution, with "
            "other states; the first: at t = %.6g s\n",
            s->not_unique, s->not_unique == 1 ? "has" : "have", s->not_unique_at);
}

/* Steps that the method left to another: those that it could not take, and some behind each. */
static void print_left(FILE *out, const perp_simulation *sim)
{
    perp_diag diag = {0};
    char *text = left_text(sim);
    perp_simulation_fallback_steps(sim, &diag);
    if (text)
        fprintf(out, "%s; the first: %s", text,
                perp_diag_text(&diag)[0] ? perp_diag_text(&diag) : "not known\n");
    free(text);
    perp_diag_clear(&diag);
}

static void print_summary(FILE *out, const perp_model *model, const perp_simulation *sim,
                          const perp_simulation_options *o, const run *u, double seconds,
                          const char *page, int are_written)
{
    const request *r = u->request;
    const char *rows = u->rows;
    char room[2][WORDS_ROOM];
    cli_impacts impacts = impacts_of(sim, room);
    perp_simulation_summary s = summary_of(sim);
    fprintf(out, "%s: %ld steps of %g s to t = %g s", perp_model_name(model), s.steps, o->step,
            s.time);
    if (s.steps == perp_simulation_steps(sim) && fabs(s.time - o->to) > 1e-9 * (1 + fabs(o->to)))
        fprintf(out, ", the last whole step before %g", o->to);
    if (s.steps) fprintf(out, ", %.2f us a step", 1e6 * seconds / (double)s.steps);
    if (perp_simulation_compiler(sim))
        fprintf(out, ", compiled by %s", perp_simulation_compiler(sim));
    if (s.steps)
        fprintf(out,
                "\nevery step verified: worst residual %.2g (step %ld), worst error %.2g; %ld "
                "steps kept their mode, "
                "%ld problem%s solved",
                s.worst_residual, s.worst_step, s.worst_error,
                s.steps - s.solves > 0 ? s.steps - s.solves : 0, s.solves,
                s.solves == 1 ? "" : "s");
    fprintf(out, "\n");
    cli_impacts_print(out, &impacts);
    char *moved = cli_moved_text(&r->beginning, model);
    if (moved) fprintf(out, "%s\n", moved);
    free(moved);
    if (s.steps) print_method(out, model, sim, r);
    if (s.steps) print_parts(out, sim, o);
    if (s.steps) print_left(out, sim);
    print_divided(out, &s);
    print_not_unique(out, &s);
    if (s.steps && s.pairs) print_pairs(out, model, &s, u->impacts);
    if (!r->out && !r->report)
        fprintf(out, "no trajectory was written; -o OUT.csv writes one\n");
    else if (rows[0] && !cli_is_dash(rows) && are_written)
        fprintf(out, "trajectory: %s\n", rows);
    if (r->events && are_written && !cli_is_dash(r->events))
        fprintf(out, "impacts: %s\n", u->listed);
    if (r->report && are_written && !cli_is_dash(r->report)) fprintf(out, "report: %s\n", page);
}

static cJSON *pairs_json(const perp_model *model, const perp_simulation_summary *s,
                         const long *impacts)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < s->pairs; i++) {
        perp_statement pair = perp_model_pair(model, i);
        int is_two_sided = perp_model_pair_is_two_sided(model, i);
        static const char *const words[2][4] = {{"first", "both_zero", "second", "off"},
                                                {"at_lower", "between", "at_upper", "off"}};
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "file", pair.file);
        cJSON_AddNumberToObject(o, "line", pair.line);
        cJSON_AddStringToObject(o, "text", pair.text);
        cJSON_AddNumberToObject(o, "impacts", (double)impacts[i]);
        for (int k = 0; k < 4; k++)
            cJSON_AddNumberToObject(o, words[is_two_sided][k], (double)s->modes[i][k]);
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

/* Causes of steps that were left to backward Euler, and how many there were of each. */
static cJSON *causes_json(const perp_simulation *sim)
{
    cJSON *o = cJSON_CreateObject();
    const char *words;
    for (int k = 0;; k++) {
        long n = perp_simulation_fallback_cause(sim, k, &words);
        char cause[128];
        if (!words) return o;
        snprintf(cause, sizeof cause, "%.*s", (int)strcspn(words, ";"), words);
        if (n) cJSON_AddNumberToObject(o, cause, (double)n);
    }
}

/* Of --tol; null without. */
static cJSON *parts_json(const perp_simulation *sim)
{
    double shortest;
    long unresolved, n = perp_simulation_substeps(sim, &shortest, &unresolved);
    if (!n) return cJSON_CreateNull();
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "count", (double)n);
    cli_json_add_number(o, "shortest", shortest);
    cJSON_AddNumberToObject(o, "unresolved", (double)unresolved);
    return o;
}

/* By each name of --sensitivity, what its derivatives are; null without. */
static cJSON *sensitivity_json(const perp_simulation *sim, const followed *f)
{
    if (!f) return cJSON_CreateNull();
    cJSON *list = cJSON_CreateArray();
    for (int k = 0; k < f->n; k++) {
        double since = (double)NAN;
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "name", f->name[k]);
        cJSON_AddStringToObject(
            o, "kind", perp_derivative_kind_name(perp_simulation_derivative_kind(sim, k, &since)));
        cli_json_add_number(o, "since", since);
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

static void add_json(run *u, const perp_model *model, const perp_simulation *sim,
                     const end_error *e, perp_status status, double seconds, const char *page)
{
    const request *r = u->request;
    const followed *f = u->followed;
    const impulses *x = u->impulses;
    const char *rows = u->rows;
    char room[2][WORDS_ROOM];
    cli_impacts impacts = impacts_of(sim, room);
#define FIELD(field) CLI_JSON(perp_simulation_summary, field)
    static const cli_json_field fields[] = {
        FIELD(steps),       FIELD(time),   FIELD(worst_residual),    FIELD(worst_step),
        FIELD(worst_error), FIELD(solves), FIELD(friction_problems), FIELD(divided),
        FIELD(not_unique)};
#undef FIELD
    perp_simulation_summary s = summary_of(sim);
    cJSON_AddStringToObject(r->json, "model", perp_model_name(model));
    cJSON_AddStringToObject(r->json, "file", perp_model_file(model));
    const char *outcome;
    if (status == PERP_OK)
        outcome = "verified";
    else if (status == PERP_ERR_STOPPED)
        outcome = "interrupted";
    else if (status == PERP_ERR_NO_SOLUTION)
        outcome = "no solution";
    else
        outcome = perp_status_message(status);
    cJSON_AddStringToObject(r->json, "outcome", outcome);
    cli_json_add(r->json, fields, CLI_JSON_COUNT(fields), &s);
    cli_json_add_number(r->json, "step", r->o.step);
    cJSON_AddStringToObject(r->json, "method", perp_integrator_name(perp_simulation_method(sim)));
    cJSON_AddNumberToObject(r->json, "fallback_steps",
                            (double)perp_simulation_fallback_steps(sim, NULL));
    cJSON_AddItemToObject(r->json, "fallback_causes", causes_json(sim));
    cli_add_start(r->json, &r->beginning, model);
    cli_json_add_number(r->json, "seconds", seconds);
    cJSON_AddItemToObject(r->json, "pairs", pairs_json(model, &s, u->impacts));
    cJSON_AddItemToObject(r->json, "sensitivity", sensitivity_json(sim, f));
    cJSON_AddItemToObject(r->json, "impulses", impulses_json(x));
    cJSON_AddItemToObject(r->json, "impacts", cli_impacts_json(&impacts, &u->list));
    cli_json_add_text(r->json, "events", r->events ? u->listed : NULL);
    cJSON_AddItemToObject(r->json, "substeps", parts_json(sim));
    cJSON_AddItemToObject(r->json, "error_at_end", error_json(e, model));
    cli_json_add_text(r->json, "trajectory", rows[0] ? rows : NULL);
    cli_json_add_text(r->json, "page", page);
}

/* Options that would change nothing are refused. */
static int check_additions(const request *r)
{
    if (r->sensitivity && !r->out && !r->report) {
        cli_say("perp simulate: --sensitivity adds columns to a trajectory, and none is "
                "written; add -o OUT.csv\n");
        return CLI_USAGE;
    }
    int is_wanted = cli_is_given(&r->args, "estimate") && r->estimate;
    if (!is_wanted || r->as_json || !r->quiet) return CLI_DONE;
    cli_say("perp simulate: --estimate is a line of the summary, which --quiet leaves out\n");
    return CLI_USAGE;
}

static int check_method(const perp_model *model, const perp_simulation_options *o, const request *r)
{
    int has_theta = cli_is_given(&r->args, "theta"), has_method = cli_is_given(&r->args, "method");
    if (!has_method && !has_theta) return CLI_DONE;
    if (perp_model_get_kind(model) == PERP_DISCRETE) {
        cli_say("perp simulate: %s: the model is discrete (next), its steps are as written\n",
                has_method ? "--method" : "--theta");
        return CLI_USAGE;
    }
    if (has_theta && !is_weighted[o->integrator]) {
        cli_say("perp simulate: --theta is for the methods theta and moreau, not for %s\n",
                perp_integrator_name(o->integrator));
        return CLI_USAGE;
    }
    return CLI_DONE;
}

/* Why the rows end where they do; "" for a whole run. */
static void say_reason(char *reason, size_t size, perp_status status, long steps,
                       const perp_diag *diag)
{
    reason[0] = 0;
    if (status == PERP_ERR_STOPPED)
        snprintf(reason, size, "interrupted after step %ld", steps);
    else if (status != PERP_OK)
        snprintf(reason, size, "%.250s", perp_diag_text(diag));
}

/* What is to be differentiated by is none of the model. */
static int give_up(run *u, perp_simulation *sim, perp_status status)
{
    free_followed(u->followed);
    free_impulses(u->impulses);
    free(u->impacts);
    perp_simulation_destroy(sim);
    return status == PERP_ERR_ARG ? CLI_USAGE : cli_exit_code(status);
}

/* The page of a run that ended so; its status, or why there is no page. */
static perp_status write_page(const run *u, const perp_model *model, const char *page,
                              perp_status status, perp_diag *diag)
{
    if (!u->request->report || status == PERP_ERR_FILE || status == PERP_ERR_MEMORY) return status;
    perp_status reported = cli_report_run(page, u->kept ? u->kept_path : u->rows, NULL, model, NULL,
                                          0, NULL, NULL, diag);
    return status == PERP_OK ? reported : status;
}

static void print_all(const run *u, const perp_model *model, const perp_simulation *sim,
                      const perp_simulation_options *o, double seconds, const char *page,
                      perp_status status, const char *accuracy)
{
    FILE *out = cli_text_stream(u->request->out, u->request->report);
    print_summary(out, model, sim, o, u, seconds, page, status != PERP_ERR_FILE);
    print_derivatives(out, sim, u->followed);
    print_impulses(out, u->impulses);
    if (accuracy) fprintf(out, "%s\n", accuracy);
    if (u->plot && summary_of(sim).steps) cli_plot_print(u->plot, out, !cli_speaks_utf8());
}

static int is_interrupted(void *context)
{
    (void)context;
    return cli_is_interrupted();
}

/* A simulation whose start was looked at. */
static perp_status create(perp_model *model, request *r, perp_simulation **sim, perp_diag *diag)
{
    perp_status status = perp_simulation_create(model, &r->o, sim, diag);
    if (status != PERP_OK) return status;
    status = cli_begin_right(model, &r->o, r->project, sim, &r->beginning, diag);
    if (status == PERP_OK && !r->json) cli_warn_of_start(&r->beginning, "simulate");
    if (status != PERP_OK) {
        perp_simulation_destroy(*sim);
        *sim = NULL;
    }
    return status;
}

/* Everything after the model is loaded and set. */
static int simulate(perp_model *model, request *r, perp_diag *diag)
{
    r->o = perp_simulation_options_default(model);
    r->o.jit = PERP_JIT_AUTO;
    if (!is_named(model, r)) r->o.integrator = cli_recommend(model);
    cli_read_again(&r->args, r);
    if (r->from) r->o.from = r->start.time;
    r->o.stop = is_interrupted;
    const perp_simulation_options o = r->o;
    int step_is_the_files = !cli_is_given(&r->args, "step") && !cli_is_given(&r->args, "to") &&
                            !cli_is_given(&r->args, "from");

    if (check_method(model, &o, r) != CLI_DONE || check_additions(r) != CLI_DONE) return CLI_USAGE;
    perp_simulation *sim = NULL;
    if (r->report && !perp_report_has_page()) /* before the work */
        return cli_exit_code(perp_report_write_html(NULL, 0, NULL, r->report, diag));
    perp_status status = create(model, r, &sim, diag);
    if (status == PERP_ERR_ARG)
        return step_is_the_files && !isnan(o.to) && !isnan(o.step) ? CLI_BAD_INPUT : CLI_USAGE;
    if (status != PERP_OK) return cli_exit_code(status);

    const char *names[MAX_PLOTTED], *units[MAX_PLOTTED];
    run u = {.request = r,
             .sim = sim,
             .impacts = calloc((size_t)perp_model_pairs(model) + 1, sizeof *u.impacts),
             .steps = perp_simulation_steps(sim),
             .written = -1,
             .started = cli_now(),
             .progress = !r->quiet && isatty(2)};
    status = u.impacts ? follow(&u, model, sim, diag) : PERP_ERR_MEMORY;
    if (status == PERP_OK) status = find_impulses(&u, model, sim);
    if (status != PERP_OK) return give_up(&u, sim, status);
    if (r->json) u.list.json = cJSON_CreateArray();
    cli_catch_signals();
    status = open_writers(&u, model, sim, &o, diag);
    if (status == PERP_OK && !r->quiet && r->plot) status = open_plot(&u, model, sim, names, units);
    double start = cli_now();
    perp_simulation_summary done = {.size = sizeof done};
    if (status == PERP_OK) status = perp_simulation_run(sim, take_row, &u, &done, diag);
    status = perp_outcome_status(status, done.outcome);
    double seconds = cli_now() - start;
    if (status != PERP_OK) write_last_row(&u, sim);
    if (u.progress && u.shown > 0) fprintf(stderr, "\r%72s\r", "");

    char reason[256];
    perp_simulation_summary s = summary_of(sim);
    say_reason(reason, sizeof reason, status, s.steps, diag);
    note_left(&u, sim);
    end_error error = {.n = -1};
    char *accuracy = status == PERP_OK ? estimate(&u, model, sim, &o, &error) : NULL;
    perp_status closed = close_writers(&u, status == PERP_OK ? NULL : reason, diag);
    if (status == PERP_OK || closed != PERP_OK) status = closed;
    const char *page = r->report ? cli_result_name(r->report, status != PERP_OK, u.page) : NULL;
    status = write_page(&u, model, page, status, diag);
    if (u.kept) remove(u.kept_path);
    if (!r->quiet && (u.written >= 0 || !r->out))
        print_all(&u, model, sim, &o, seconds, page, status, accuracy);
    if (r->json) add_json(&u, model, sim, &error, status, seconds, page);
    if (status == PERP_ERR_STOPPED)
        cli_say("perp simulate: interrupted after step %ld%s\n", s.steps,
                r->out ? "; the rows so far are kept" : "");
    cli_plot_destroy(u.plot);
    free(accuracy);
    free(error.error);
    free_followed(u.followed);
    free_impulses(u.impulses);
    free(u.impacts);
    if (u.list.json) cJSON_Delete(u.list.json); /* the playground has no JSON */
    perp_simulation_destroy(sim);
    return cli_exit_code(status);
}

static int check_outputs(const perp_model *model, const request *r)
{
    return cli_check_outputs(&r->args, r, model, (const char *const *)&r->start.file, 1);
}

/* A robot file instead of a model. */
static int simulate_robot(request *r)
{
    cli_robot_run robot = {.args = &r->args,
                           .request = r,
                           .file = r->file,
                           .out = r->out,
                           .report = r->report,
                           .key = r->key,
                           .events = r->events,
                           .set = &r->set,
                           .to = cli_is_given(&r->args, "to") ? r->o.to : (double)NAN,
                           .step = cli_is_given(&r->args, "step") ? r->o.step : (double)NAN,
                           .method = cli_is_given(&r->args, "method")
                                         ? (int)r->o.integrator - PERP_INTEGRATOR_COUNT
                                         : PERP_BODIES_EULER,
                           .every = r->every,
                           .quiet = r->quiet,
                           .as_json = r->as_json,
                           .stream = r->stream};
    int code = cli_simulate_robot(&robot);
    free(r->set.item);
    free(r->folder.item);
    free(r->input.item);
    return code;
}

int perp__cmd_simulate(int argc, char **argv)
{
    request r = {
        .args = {&cli_command_simulate, argc, argv}, .every = 1, .plot = 1, .estimate = SAMPLED};
    perp_diag diag = {0};
    perp_model *model = NULL;
    int code = cli_read(&r.args, &r);
    if (code == CLI_DONE) code = cli_refuse_ranks("simulate");
    if (code == CLI_DONE && cli_is_robot(r.file)) return simulate_robot(&r);
    if (code == CLI_DONE && r.key) {
        cli_say("perp simulate: --key is for robot files\n");
        code = CLI_USAGE;
    }
    if (code == CLI_DONE && cli_is_given(&r.args, "method") &&
        r.o.integrator >= PERP_INTEGRATOR_COUNT) {
        cli_say("perp simulate: --method %s is for robot files\n", methods[r.o.integrator]);
        code = CLI_USAGE;
    }
    if (code == CLI_DONE && r.as_json) {
        r.json = cli_json_begin("simulate");
        r.quiet = 1;
    }
    if (code == CLI_DONE) code = cli_load(r.file, "simulate", &r.set, &r.folder, &model, &diag);
    if (code == CLI_DONE && r.from) code = cli_begin_at(model, "simulate", r.from, &r.start, &diag);
    if (code == CLI_DONE && r.from) code = cli_set_all(model, "simulate", &r.set, &diag);
    if (code == CLI_DONE && !r.quiet) cli_note_parameters(model, &r.start);
    if (code == CLI_DONE) code = check_outputs(model, &r); /* before the model's own tables are */
    if (code == CLI_DONE) code = cli_apply_inputs(model, "simulate", &r.input, &diag);
    if (code == CLI_DONE) code = check_outputs(model, &r); /* replaced, and after */
    if (code == CLI_DONE) code = simulate(model, &r, &diag);
    if (r.json) code = cli_json_end(r.json, code, &diag, cli_text_stream(r.out, r.report));
    fflush(stdout);
    cli_print_diag(&diag, stderr);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    cli_start_clear(&r.start);
    cli_beginning_clear(&r.beginning);
    free(r.set.item);
    free(r.folder.item);
    free(r.input.item);
    return code;
}
