/* perp sweep: a model at many points; a journal of what is done, a table of all. */

#include "cli.h"
#include "journal.h"
#include "json.h"
#include "fingerprint.h"
#include "sweep.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct request {
    cli_args args;
    const char *file, *out, *shard;
    perp_sweep_options o;
    perp_sweep_run_options run;
    cli_list vary, keep, kept, set, input, folder, data; /* kept: the single ones of `keep` */
    int nodes;
    perp_plan_options plan;
    perp_dataset *recorded;
    double limit;
    int resume, merge, hdf5, quiet, as_json, rank,
        ranks; /* rank 0 writes, the others do jobs for it */
    cJSON *json;
} request;

#define INTO(field) CLI_INTO(request, field)

static const char *const designs[] = {
#define DESIGN(name, word, text) word,
    PERP_DESIGN_LIST(DESIGN) NULL
#undef DESIGN
};

static const char *const tasks[] = {
#define TASK(name, word, text) word,
    PERP_SWEEP_TASK_LIST(TASK) NULL
#undef TASK
};

static const cli_option options[] = {
    {"", "FILE.perp", NULL, INTO(file)},
    {"task", "NAME", "what is done at each point: simulate (default), plan or identify",
     INTO(o.task), .words = tasks},
    {"vary", "NAME=POINTS",
     "a parameter, initial value or constant input: LOW:HIGH:N, A,B,C, LOW:HIGH or a distribution; "
     "may be repeated",
     INTO(vary)},
    {"keep", "RESULT,...",
     "of each run: final, final(C), max(C), min(C), mean(C), rms(C), first(C where D = 2); C, D "
     "are "
     "columns of a row; may be repeated (default final). Of a plan also cost, horizon, a free "
     "parameter P; of an identification P, std_error(P), low(P), high(P), noise_factor",
     INTO(keep)},
    {"samples", "N",
     "draws of what has a distribution, at each combination of points (default 1000)",
     INTO(o.samples), .least = 1},
    {"design", "NAME", "how they are drawn; the list is below (default random)", INTO(o.design),
     .words = designs},
    {"seed", "N", "of the draws (default 1)", INTO(o.seed)},
    {"set", "NAME=VALUE", "the same at all points; may be repeated", INTO(set)},
    CLI_FOLDER_OPTION,
    {"input", "NAME=FILE[:COLUMN]", "an input from a CSV table; may be repeated", INTO(input)},
    {"from", "T", "start time [s] (default: the model's, else 0)", INTO(o.from)},
    {"to", "T", "end time [s] (default: the model's)", INTO(o.to)},
    {"step", "H", "step [s] (default: the model's)", INTO(o.step), .is_positive = 1},
    CLI_METHOD_OPTION,
    {"nodes", "N", "of plans (default: the model's, else 41)", INTO(nodes), .least = 2},
    {"data", "FILE|FOLDER",
     "identify: recorded runs, a CSV file or a folder of them, the same at all points; may be "
     "repeated",
     INTO(data)},
    {"o", "FOLDER", "for the journal and the table (default: only the summary is printed)",
     INTO(out)},
    {"resume", NULL, "go on with the journal in FOLDER", INTO(resume)},
    {"shard", "I/N", "only each Nth job, from the Ith (1 .. N): a part for each process or machine",
     INTO(shard)},
    {"merge", NULL, "make the table from the journals of all shards in FOLDER; needs no model",
     INTO(merge)},
    {"hdf5", NULL, "the numbers of the table as table.h5, too, for other programs", INTO(hdf5)},
    {"time-limit", "S", "begin no job after so many seconds", INTO(limit), .is_positive = 1},
    {"threads", "N", "default: one per processor; the numbers are the same", INTO(run.threads),
     .least = 1, .most = 256},
    {"quiet", NULL, "no summary or progress", INTO(quiet)},
    CLI_JSON_OPTION(request),
};

static void list_designs(void)
{
    printf("\ndesigns:\n");
    for (int k = 0; k < PERP_DESIGN_COUNT; k++)
        printf("  %-10s %s\n", perp_design_name((perp_design)k),
               perp_design_summary((perp_design)k));
    printf("\ndistributions:\n  uniform(low, high), loguniform(low, high), normal(mean, sd), "
           "lognormal(median, sd of the logarithm),\n  triangular(low, mode, high)\n");
}

const cli_command cli_command_sweep = {
    .name = "sweep",
    .usage = "FILE.perp --vary NAME=POINTS [options]",
    .about =
        "Run the model at many points, or plan or identify with it, and keep of each what is "
        "asked "
        "for. Lists of points are "
        "combined with each other, and each\n"
        "combination with the same samples of what has a distribution. The numbers of a job depend "
        "on its index and the seed alone:\n"
        "any number of threads, shards, processes of mpirun and interruptions gives the same "
        "table. "
        "FOLDER/journal.jsonl "
        "has a line for each job as soon as\n"
        "it is done; FOLDER/table.csv, sorted by job, comes at the end (of many jobs also "
        "table.perpbin, its numbers). Runs that were refused are "
        "rows with a reason.",
    .list = list_designs,
    .notes =
        "examples:\n"
        "  perp sweep examples/notes/particle.perp --vary 'mu=0.1:0.9:9' --keep 'final(x),max(v)'\n"
        "  perp sweep block.perp --vary 'm=normal(1, 0.05)' --vary 'mu=0.2:0.5' --samples 10000 "
        "--design sobol -o out\n"
        "  perp sweep examples/control/push_wall.perp --task plan --vary m=0.5:2:7 -o plans\n"
        "  perp sweep block.perp --vary mu=0:1:1000001 -o out --shard 1/4; ...; perp sweep --merge "
        "-o out\n\n"
        "exit codes: 0 done (also with rows that were refused), 1 usage, 2 bad model or journal, "
        "4 file or memory,\n"
        "130 interrupted, or at the time limit: what is done is in the journal, --resume goes on",
    CLI_OPTIONS(options)};

/* Options -------------------------------------------------------------------------------------- */

static int say(const char *format, const char *word)
{
    cli_say("perp sweep: ");
    cli_say(format, word);
    cli_say("\n");
    return CLI_USAGE;
}

static int add(cli_list *list, char *item)
{
    const char **more = realloc(list->item, ((size_t)list->n + 1) * sizeof *more);
    if (!more || !item) {
        free(item);
        if (more) list->item = more;
        return 0;
    }
    list->item = more;
    list->item[list->n++] = item;
    return 1;
}

/* "final(x[1,2]),max(v)" at the commas outside parentheses. */
static int split_keep(request *r)
{
    for (int i = 0; i < r->keep.n; i++) {
        int depth = 0;
        for (const char *from = r->keep.item[i], *at = from;; at++) {
            depth += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
            if (*at && !(*at == ',' && depth <= 0)) continue;
            if (!add(&r->kept, strndup(from, (size_t)(at - from))))
                return cli_exit_code(PERP_ERR_MEMORY);
            if (!*at) break;
            from = at + 1;
        }
    }
    r->o.vary = r->vary.item;
    r->o.nvary = r->vary.n;
    r->o.keep = r->kept.item;
    r->o.nkeep = r->kept.n;
    return CLI_DONE;
}

/* Options of another task would do nothing. */
static int check_task(const request *r)
{
    static const struct {
        const char *name;
        unsigned of; /* bits of tasks */
    } some[] = {{"from", 1 << PERP_SWEEP_SIMULATE}, {"to", 1 << PERP_SWEEP_SIMULATE},
                {"step", 1 << PERP_SWEEP_SIMULATE}, {"method", 1 << PERP_SWEEP_SIMULATE},
                {"nodes", 1 << PERP_SWEEP_PLAN},    {"data", 1 << PERP_SWEEP_IDENTIFY}};
    const char *task = perp_sweep_task_name(r->o.task);
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        if (some[i].of & 1u << r->o.task || !cli_is_given(&r->args, some[i].name)) continue;
        cli_say("perp sweep: --%s is nothing of --task %s\n", some[i].name, task);
        return CLI_USAGE;
    }
    if (r->o.task == PERP_SWEEP_IDENTIFY && !r->data.n)
        return say("%s", "--task identify needs recorded runs: --data FILE|FOLDER");
    return CLI_DONE;
}

static int check_options(request *r)
{
    if (r->merge) {
        if (!r->out) return say("%s", "--merge needs the folder: -o FOLDER");
        if (r->file || r->vary.n)
            return say("%s", "--merge reads what was done; it takes no model");
        return CLI_DONE;
    }
    if (!r->file) return cli_ask(&r->args, "which model?");
    if (!r->vary.n) return cli_ask(&r->args, "what varies? --vary NAME=LOW:HIGH:N");
    if (!r->out && (r->resume || r->shard))
        return say("--%s needs a folder: -o FOLDER", r->resume ? "resume" : "shard");
    if (r->hdf5 && (!r->out || r->shard))
        return say("%s", r->out ? "--hdf5 is for --merge, which makes the table of shards"
                                : "--hdf5 needs a folder: -o FOLDER");
    if (cli_is_dash(r->out)) return say("%s", "-o is a folder here");
    int code =
        r->shard ? cli_read_shard("sweep", r->shard, &r->run.shard, &r->run.shards) : CLI_DONE;
    if (code == CLI_DONE) code = check_task(r);
    return code == CLI_DONE ? split_keep(r) : code;
}

/* The journal's head --------------------------------------------------------------------------- */

static cJSON *texts(const char *const *item, int n)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < n; i++) cJSON_AddItemToArray(list, cJSON_CreateString(item[i]));
    return list;
}

static cJSON *columns(const perp_sweep *sweep, const char *(*of)(const perp_sweep *, int))
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < perp_sweep_columns(sweep); i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(of(sweep, i)));
    return list;
}

/* Of other tasks than runs: which, and what is theirs. */
static void add_task(cJSON *head, const request *r)
{
    char hash[17];
    if (r->o.task == PERP_SWEEP_SIMULATE) return;
    cJSON_AddStringToObject(head, "task", perp_sweep_task_name(r->o.task));
    if (r->nodes) cJSON_AddNumberToObject(head, "nodes", r->nodes);
    if (r->o.task != PERP_SWEEP_IDENTIFY) return;
    cJSON_AddItemToObject(head, "data", texts(r->data.item, r->data.n));
    cli_fingerprint_data(r->recorded, hash);
    cJSON_AddStringToObject(head, "data_files", hash);
}

/* All that the numbers depend on; two journals with the same head but for the shard are parts of
 * the same sweep. */
static cJSON *make_head(const request *r, const perp_model *model, const perp_sweep *sweep)
{
    cJSON *head = cJSON_CreateObject();
    char hash[17] = "", seed[24];
    cli_fingerprint(perp_model_file(model), hash);
    snprintf(seed, sizeof seed, "%llu", r->o.seed);
    cJSON_AddStringToObject(head, "perp", perp_version());
    cJSON_AddStringToObject(head, "model", perp_model_name(model));
    cJSON_AddStringToObject(head, "file", hash);
    cJSON_AddItemToObject(head, "vary", texts(r->o.vary, r->o.nvary));
    cJSON_AddItemToObject(head, "keep", texts(r->o.keep, r->o.nkeep));
    cJSON_AddNumberToObject(head, "samples", (double)r->o.samples);
    cJSON_AddStringToObject(head, "design", perp_design_name(r->o.design));
    cJSON_AddStringToObject(head, "seed", seed);
    cJSON_AddItemToObject(head, "set", texts(r->set.item, r->set.n));
    cJSON_AddItemToObject(head, "input", texts(r->input.item, r->input.n));
    cli_json_add_number(head, "from", r->o.from);
    cli_json_add_number(head, "to", r->o.to);
    cli_json_add_number(head, "step", r->o.step);
    cli_json_add_text(
        head, "method",
        r->o.integrator < PERP_INTEGRATOR_COUNT ? perp_integrator_name(r->o.integrator) : NULL);
    add_task(head, r);
    cJSON_AddNumberToObject(head, "jobs", (double)perp_sweep_jobs(sweep));
    cJSON_AddNumberToObject(head, "varied", perp_sweep_varied(sweep));
    cJSON_AddItemToObject(head, "columns", columns(sweep, perp_sweep_column_name));
    cJSON_AddItemToObject(head, "units", columns(sweep, perp_sweep_column_unit));
    cJSON_AddNumberToObject(head, "shard", r->run.shard);
    cJSON_AddNumberToObject(head, "shards", r->run.shards);
    return head;
}

/* The sweep ------------------------------------------------------------------------------------ */

typedef struct state {
    request *r;
    perp_sweep *sweep;
    cli_journal journal;
    char path[CLI_PATH_ROOM]; /* of the journal; "": none */
    cli_sweep_summary *summary;
    double started, shown;
    long long jobs, before, done; /* of this shard; done by an earlier process; by this one */
    int progress, is_damaged, is_late, is_told; /* is_told: the note about saved jobs was printed */
} state;

static void show_progress(state *s)
{
    double t = cli_now(), spent = t - s->started;
    if (!s->progress || spent < 0.5 || t - s->shown < 0.1) return;
    s->shown = t;
    double left = spent / (double)s->done * (double)(s->jobs - s->before - s->done);
    fprintf(stderr, "\r  %lld of %lld jobs, %.0f s left ", s->before + s->done, s->jobs, left);
    fflush(stderr);
}

static perp_status take(void *context, const perp_sweep_result *result)
{
    state *s = context;
    s->done++;
    cli_summary_add(s->summary, result->job, result->outcome, result->reason, result->value);
    show_progress(s);
    return s->path[0] ? cli_journal_add(&s->journal, result) : PERP_OK;
}

static int skip(void *context, long long job)
{
    state *s = context;
    cli_job found;
    int is_done = s->path[0] ? cli_journal_find(&s->journal, job, &found) : 0;
    s->is_damaged |= is_done < 0;
    if (is_done != 1) return 0;
    s->before++;
    cli_summary_add(s->summary, job, found.outcome, found.reason, found.value);
    return 1;
}

/* A launcher that ends its processes, as when one of them has died, leaves no time for more than
 * this. */
static void say_saved(state *s, const char *why)
{
    if (s->r->rank == 0 && !s->is_told)
        cli_say("perp sweep: %s; %lld of %lld jobs are done%s\n", why, s->before + s->done, s->jobs,
                s->path[0] ? " and in the journal, --resume goes on" : "; no -o, nothing is kept");
    s->is_told = 1;
}

static int stop(void *context)
{
    state *s = context;
    if (s->r->ranks > 1 && cli_is_interrupted()) say_saved(s, "told to stop");
    s->is_late = s->r->limit > 0 && cli_now() - s->started > s->r->limit;
    return cli_is_interrupted() || s->is_late || s->is_damaged;
}

/* Open the journal of this shard: a new one, or with --resume that of the same sweep. */
static perp_status open_journal(const request *r, cli_journal *j, const char *path, cJSON *head)
{
    if (mkdir(r->out, 0777) != 0 && errno != EEXIST) {
        cJSON_Delete(head);
        return cli_refuse(PERP_ERR_FILE, r->out, 0, "cannot be made: %s", strerror(errno));
    }
    perp_status status = cli_journal_read(j, path);
    if (status == PERP_ERR_FILE && errno == ENOENT) return cli_journal_write(j, path, head);
    if (status == PERP_OK && !r->resume)
        status = cli_refuse(PERP_ERR_ARG, path, 0,
                            "there is a sweep already: --resume goes on with it, another -o "
                            "begins anew");
    const char *other = status == PERP_OK ? cli_head_difference(j->head, head, 1) : NULL;
    if (other)
        status =
            cli_refuse(PERP_ERR_DATA, path, 0, "this is another sweep: '%s' was another", other);
    cJSON_Delete(head);
    return status == PERP_OK ? cli_journal_write(j, path, NULL) : status;
}

static void report(const request *r, const perp_sweep *sweep, const state *s, perp_status status,
                   const char *journal, const char *table)
{
    double seconds = cli_now() - s->started;
    if (s->shown > 0) fprintf(stderr, "\r%60s\r", "");
    if (r->json) {
        const char *outcome;
        if (status == PERP_OK)
            outcome = "done";
        else if (s->is_late)
            outcome = "time limit";
        else if (status == PERP_ERR_STOPPED)
            outcome = "interrupted";
        else
            outcome = perp_status_message(status);
        cli_json_add_text(r->json, "outcome", outcome);
        cJSON_AddNumberToObject(r->json, "jobs", (double)perp_sweep_jobs(sweep));
        cli_json_add_number(r->json, "seconds", seconds);
        cli_summary_json(s->summary, r->json);
        cli_json_add_text(r->json, "journal", journal);
        cli_json_add_text(r->json, "table", table);
        return;
    }
    if (r->quiet) return;
    printf("%s%s%lld of %lld jobs", r->shard ? "shard " : "", r->shard ? r->shard : "",
           s->before + s->done, s->jobs);
    if (s->before) printf(", %lld of them before", s->before);
    printf("; %.1f s, %.0f jobs a second\n", seconds, seconds > 0 ? (double)s->done / seconds : 0);
    cli_summary_print(s->summary);
    if (journal) printf("journal: %s\n", journal);
    if (table) printf("table: %s\n", table);
    if (r->shard && status == PERP_OK)
        printf("when all shards are done: perp sweep --merge -o %s\n", r->out);
    if (status == PERP_ERR_STOPPED && !s->is_damaged)
        cli_say("perp sweep: %s after %lld of %lld jobs%s\n",
                s->is_late ? "the time limit came" : "interrupted", s->before + s->done, s->jobs,
                journal ? "; --resume goes on" : "; no -o, nothing is kept");
}

/* The model at a point that its size depends on. */
static perp_status read_at(void *context, const perp_setting *set, int nset, perp_model **model,
                           perp_diag *diag)
{
    const request *r = context;
    int code = cli_load_at(r->file, "sweep", &r->set, set, nset, &r->folder, model, diag);
    if (code == CLI_DONE) code = cli_apply_inputs(*model, "sweep", &r->input, diag);
    if (code == CLI_DONE) return PERP_OK;
    perp_model_destroy(*model);
    *model = NULL;
    return cli_is_out_of_memory() ? PERP_ERR_MEMORY : PERP_ERR_MODEL;
}

/* What the task is given besides the model. */
static int take_task(request *r, const perp_model *model, perp_diag *diag)
{
    perp_status status = PERP_OK;
    if (r->o.task == PERP_SWEEP_SIMULATE && !perp_model_simulate_task(model).method &&
        !cli_is_given(&r->args, "method"))
        r->o.integrator = cli_recommend(model); /* as perp simulate */
    if (r->nodes) {
        r->plan = perp_plan_options_default(model);
        r->plan.nodes = r->nodes;
        r->o.plan = &r->plan;
    }
    if (r->o.task == PERP_SWEEP_IDENTIFY) status = perp_dataset_create(&r->recorded);
    for (int i = 0; i < r->data.n && status == PERP_OK; i++)
        status = perp_dataset_read(r->recorded, r->data.item[i], diag);
    r->o.data = r->recorded;
    return cli_exit_code(status);
}

/* The sweep, and the journal of its shard. */
static int prepare(state *s, const perp_model *model, perp_diag *diag)
{
    request *r = s->r;
    r->o.read = read_at;
    r->o.read_context = r;
    perp_status status = perp_sweep_create(model, &r->o, &s->sweep, diag);
    if (status != PERP_OK) return status == PERP_ERR_ARG ? CLI_USAGE : cli_exit_code(status);
    s->summary = cli_summary_create(perp_sweep_jobs(s->sweep), s->sweep);
    s->jobs = (perp_sweep_jobs(s->sweep) - r->run.shard + r->run.shards - 1) / r->run.shards;
    if (!s->summary) return cli_exit_code(PERP_ERR_MEMORY);
    if (!r->out || r->rank > 0) return CLI_DONE;
    cli_journal_path(r->out, r->run.shard, r->run.shards, s->path);
    status = open_journal(r, &s->journal, s->path, make_head(r, model, s->sweep));
    return status == PERP_ERR_ARG ? CLI_USAGE : cli_exit_code(status);
}

static int sweep_all(state *s, perp_diag *diag)
{
    request *r = s->r;
    char table[CLI_PATH_ROOM] = "";
    r->run.skip = skip;
    r->run.stop = stop;
    r->run.ranks = r->ranks > 1;
    s->started = cli_now();
    cli_catch_signals();
    perp_status status = perp_sweep_run(s->sweep, &r->run, take, s);
    if (status == PERP_ERR_UNAVAILABLE) say_saved(s, "another process has ended");
    if (r->ranks > 1 && (status == PERP_ERR_UNAVAILABLE || status == PERP_ERR_MEMORY))
        perp_ranks_abort(CLI_FILE);
    if (r->rank > 0) return cli_exit_code(status);
    if (s->is_damaged) status = PERP_ERR_DATA;
    cli_journal_close(&s->journal);
    if (s->path[0] && !r->shard && (status == PERP_OK || status == PERP_ERR_STOPPED)) {
        perp_status written = cli_write_table(r->out, status == PERP_OK, r->hdf5, table, diag);
        if (written != PERP_OK) status = written;
    }
    report(r, s->sweep, s, status, s->path[0] ? s->path : NULL, table[0] ? table : NULL);
    return status == PERP_ERR_ARG ? CLI_USAGE : cli_exit_code(status);
}

static int merge(const request *r, perp_diag *diag)
{
    char table[CLI_PATH_ROOM] = "";
    int code = cli_exit_code(cli_write_table(r->out, 1, r->hdf5, table, diag));
    if (r->json) cli_json_add_text(r->json, "table", table[0] ? table : NULL);
    if (code == CLI_DONE && !r->json && !r->quiet) printf("table: %s\n", table);
    return code;
}

int perp__cmd_sweep(int argc, char **argv)
{
    request r = {.args = {&cli_command_sweep, argc, argv},
                 .o = perp_sweep_options_default(),
                 .run = perp_sweep_run_options_default()};
    perp_diag diag = {0};
    perp_model *model = NULL;
    int code = cli_read(&r.args, &r);
    if (code == CLI_DONE && r.as_json) {
        r.json = cli_json_begin("sweep");
        r.quiet = 1;
    }
    if (code == CLI_DONE) code = check_options(&r);
    if (code == CLI_DONE && r.merge) code = cli_refuse_ranks("sweep --merge");
    int is_run = code == CLI_DONE && !r.merge;
    if (is_run && !r.shard)
        code =
            cli_join_ranks("sweep", "; or give each its own --shard I/N", &r.rank, &r.ranks, &diag);
    state s = {.r = &r, .journal = {.out = -1}, .progress = !r.quiet && isatty(2)};
    if (is_run && code == CLI_DONE) {
        code = cli_load(r.file, "sweep", &r.set, &r.folder, &model, &diag);
        if (code == CLI_DONE) code = cli_apply_inputs(model, "sweep", &r.input, &diag);
        if (code == CLI_DONE) code = take_task(&r, model, &diag);
        if (code == CLI_DONE) code = prepare(&s, model, &diag);
        code = perp_ranks_most(code);
        if (code == CLI_DONE) code = sweep_all(&s, &diag);
    } else if (code == CLI_DONE) {
        code = merge(&r, &diag);
    }
    cli_journal_close(&s.journal);
    cli_summary_destroy(s.summary);
    perp_sweep_destroy(s.sweep);
    perp_ranks_leave();
    if (r.json && r.rank == 0) code = cli_json_end(r.json, code, &diag, stdout);
    if (r.json && r.rank > 0) cJSON_Delete(r.json);
    fflush(stdout);
    cli_print_diag(&diag, stderr);
    perp_model_destroy(model);
    perp_dataset_destroy(r.recorded);
    perp_diag_clear(&diag);
    for (int i = 0; i < r.kept.n; i++) free((void *)r.kept.item[i]);
    free(r.kept.item);
    free(r.vary.item);
    free(r.keep.item);
    free(r.set.item);
    free(r.folder.item);
    free(r.input.item);
    free(r.data.item);
    return code;
}
