/* Gains of a plan as a table; runs with noise, without feedback and with it. */

#include "loop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The simulator takes so many steps in one of the plan's. */
enum { FINER = 4 };

static const char *state_name(const cli_loop *u, int i)
{
    return perp_model_symbol(u->model, PERP_STATE, i).name;
}

static int first_input(const perp_plan *plan, const perp_model *model, int *nu)
{
    int ns = perp_model_count(model, PERP_STATE),
        first = 1 + ns + perp_model_count(model, PERP_VAR);
    *nu = perp_plan_columns(plan) - 1 - ns - perp_model_count(model, PERP_OUTPUT) - first;
    return first;
}

/* Table ---------------------------------------------------------------------------------------- */

static perp_status write_rows(perp_trajectory_writer *w, const perp_plan *plan, int ns, int nu,
                              int first, double *from, double *to, double *row)
{
    perp_status status = PERP_OK;
    for (int k = 0; k + 1 < perp_plan_rows(plan) && status == PERP_OK; k++) {
        perp_plan_row(plan, k, from);
        perp_plan_row(plan, k + 1, to);
        memcpy(row, from, (size_t)(1 + ns) * sizeof *row);
        memcpy(row + 1 + ns, to + first, (size_t)nu * sizeof *row);
        status = perp_plan_get_gain(plan, k, row + 1 + ns + nu, NULL, NULL);
        if (status == PERP_OK) status = perp_trajectory_writer_row(w, row);
    }
    return status;
}

perp_status cli_gains_write(const perp_model *model, const perp_plan *plan, const char *path,
                            perp_diag *diag)
{
    int ns = perp_model_count(model, PERP_STATE), nu, first = first_input(plan, model, &nu),
        n = 1 + ns + nu + nu * ns, columns = perp_plan_columns(plan);
    size_t width = sizeof "gain__";
    for (int i = 0; i < columns; i++) width += strlen(perp_plan_column_name(plan, i));
    char *text = malloc((size_t)(nu * ns + 1) * width);
    const char **name = malloc((size_t)n * sizeof *name);
    double *row = malloc((size_t)(n + 2 * columns) * sizeof *row);
    perp_trajectory_writer *w = NULL;
    perp_status status =
        text && name && row ? perp_trajectory_writer_create(path, &w, diag) : PERP_ERR_MEMORY;
    if (status == PERP_OK) {
        for (int i = 0; i <= ns; i++) name[i] = perp_plan_column_name(plan, i);
        for (int j = 0; j < nu; j++) name[1 + ns + j] = perp_plan_column_name(plan, first + j);
        for (int j = 0; j < nu; j++)
            for (int i = 0; i < ns; i++) {
                char *to = text + (size_t)(j * ns + i) * width;
                snprintf(to, width, "gain_%s_%s", name[1 + ns + j], name[1 + i]);
                name[1 + ns + nu + j * ns + i] = to;
            }
        perp_trajectory_writer_comment(w, "feedback: each input is that of the row less the sum of "
                                          "gain_INPUT_STATE times (state - that of the row), from "
                                          "the row's t to the next one's");
        status = perp_trajectory_writer_header(w, n, name, NULL);
        if (status == PERP_OK)
            status = write_rows(w, plan, ns, nu, first, row + n, row + n + columns, row);
        perp_status closed = perp_trajectory_writer_close(
            w, status == PERP_OK ? NULL : perp_status_message(status), diag);
        if (status == PERP_OK) status = closed;
    }
    free(text);
    free(name);
    free(row);
    return status;
}

/* Noise ---------------------------------------------------------------------------------------- */

/* A number of the normal distribution: of the sum of twelve uniform ones there is no tail, so by
 * Box and Muller (1958); bits by splitmix64. */
static double normal(unsigned long long *seed)
{
    double u[2];
    for (int i = 0; i < 2; i++) {
        unsigned long long z = *seed += 0x9e3779b97f4a7c15ULL;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        u[i] = ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
    }
    return sqrt(-2 * log(u[0])) * cos(6.283185307179586 * u[1]);
}

/* The state that NAME=.. speaks of; -1: there is none. */
static int find_state(const cli_loop *u, const char *text)
{
    size_t n = strcspn(text, "=");
    for (int i = 0; i < u->ns; i++)
        if (strlen(state_name(u, i)) == n && strncmp(state_name(u, i), text, n) == 0) return i;
    return -1;
}

static int take_noise(cli_loop *u, const char *text)
{
    const char *equals = strchr(text, '='), *end = NULL;
    double value = equals ? perp_number_read(equals + 1, &end) : (double)NAN;
    int i = find_state(u, text);
    if (!equals || end == equals + 1 || *end || !(value >= 0 && isfinite(value))) {
        cli_say("perp plan: --noise needs a state and its standard deviation, x=0.01, not '%s'\n",
                text);
        return CLI_USAGE;
    }
    if (i < 0) {
        cli_say("perp plan: --noise: '%.*s' is no state of the model\n", (int)(equals - text),
                text);
        return CLI_USAGE;
    }
    u->noise[i] = value;
    return CLI_DONE;
}

int cli_loop_begin(cli_loop *u, const perp_model *model, const perp_plan *plan,
                   const cli_list *noise, int runs)
{
    int jumps = 0, code = CLI_DONE;
    *u = (cli_loop){
        .model = model, .plan = plan, .ns = perp_model_count(model, PERP_STATE), .runs = runs};
    size_t ns = (size_t)u->ns;
    if (noise->n == 0) return CLI_DONE;
    for (int q = 0; q < perp_plan_phases(plan); q++)
        jumps |= perp_plan_get_phase(plan, q).is_linked;
    if (jumps) {
        cli_say("perp plan: --noise: no loop is closed through the jumps between phases\n");
        return CLI_USAGE;
    }
    u->noise = calloc(3 * ns + 1, sizeof *u->noise);
    if (!u->noise) return cli_exit_code(PERP_ERR_MEMORY);
    u->off[0] = u->noise + ns;
    u->off[1] = u->off[0] + ns;
    for (int k = 0; k < noise->n && code == CLI_DONE; k++) code = take_noise(u, noise->item[k]);
    return code;
}

/* Runs ----------------------------------------------------------------------------------------- */

/* A run: states (x), inputs (u) and its rows, t, states and inputs. */
typedef struct one_run {
    cli_loop *loop;
    int closed, first, nrow;
    unsigned long long seed;
    double *x, *seen, *u, *plan_row, *row;
    const char **input; /* nu: names */
} one_run;

static void keep_row(one_run *r, double t)
{
    const cli_loop *u = r->loop;
    double *row = r->row + (size_t)r->nrow++ * (size_t)(1 + u->ns + u->nu);
    row[0] = t;
    memcpy(row + 1, r->x, (size_t)u->ns * sizeof *row);
    memcpy(row + 1 + u->ns, r->u, (size_t)u->nu * sizeof *row);
}

/* One step of the plan, with what is measured where it begins. */
static perp_status take_step(one_run *r, perp_simulation *sim, int k, double t)
{
    const cli_loop *u = r->loop;
    perp_status status = PERP_OK;
    for (int i = 0; i < u->ns; i++) {
        r->x[i] = perp_simulation_state(sim, i);
        r->seen[i] = r->x[i] + u->noise[i] * normal(&r->seed);
    }
    perp_plan_row(u->plan, k + 1, r->plan_row);
    double to = r->plan_row[0];
    memcpy(r->u, r->plan_row + r->first, (size_t)u->nu * sizeof *r->u);
    if (r->closed) status = perp_plan_feedback(u->plan, t + 1e-9 * (to - t), r->seen, r->u);
    for (int j = 0; j < u->nu && status == PERP_OK; j++)
        status = perp_simulation_set_input(sim, j, r->u[j]);
    keep_row(r, t);
    perp_step_info info = {.size = sizeof info};
    if (status == PERP_OK) status = perp_simulation_advance(sim, to, &info, NULL);
    return perp_outcome_status(status, info.outcome);
}

/* By radau5, or by backward Euler where that is not for the model. */
static perp_status make_simulation(const one_run *r, perp_plan_phase phase, perp_model *m,
                                   perp_simulation **sim)
{
    cli_loop *u = r->loop;
    perp_simulation_options o = perp_simulation_options_default(m);
    o.from = phase.from;
    o.to = phase.to;
    o.step = (phase.to - phase.from) / (FINER * (phase.last - phase.first));
    o.integrator = PERP_RADAU5;
    o.input = r->input;
    o.ninput = u->nu;
    perp_status status = perp_simulation_create(m, &o, sim, NULL);
    if (status == PERP_OK || status == PERP_ERR_MEMORY) return status;
    o.integrator = u->by = PERP_BACKWARD_EULER;
    return perp_simulation_create(m, &o, sim, NULL);
}

static perp_status run_phase(one_run *r, int q)
{
    const cli_loop *u = r->loop;
    perp_plan_phase phase = perp_plan_get_phase(u->plan, q);
    perp_model *m = NULL;
    perp_simulation *sim = NULL;
    perp_status status = perp_plan_phase_model(u->plan, q, &m, NULL);
    for (int j = 0; j < u->nu && status == PERP_OK; j++) /* set before each step */
        status = perp_model_set(m, r->input[j], 0, NULL);
    if (status == PERP_OK) status = make_simulation(r, phase, m, &sim);
    for (int i = 0; i < u->ns && status == PERP_OK; i++)
        status = perp_simulation_set_state(sim, i, r->x[i]);
    double t = phase.from;
    for (int k = phase.first; k < phase.last && status == PERP_OK; k++) {
        status = take_step(r, sim, k, t);
        t = r->plan_row[0];
    }
    for (int i = 0; i < u->ns && status == PERP_OK; i++) r->x[i] = perp_simulation_state(sim, i);
    perp_simulation_destroy(sim);
    perp_model_destroy(m);
    return status;
}

/* The rows as a table; NULL: memory. */
static perp_trajectory *table_of(const one_run *r)
{
    const cli_loop *u = r->loop;
    int n = 1 + u->ns + u->nu;
    size_t room = (size_t)(r->nrow + 1) * (size_t)n * 320, length = 0;
    char *text = malloc(room);
    perp_trajectory *table = NULL;
    for (int c = 0; c < n && text; c++)
        length += (size_t)snprintf(
            text + length, room - length, "%s%s", c ? "," : "",
            perp_plan_column_name(u->plan, c <= u->ns ? c : r->first + c - 1 - u->ns));
    for (int k = 0; k < r->nrow * n && text; k++) {
        text[length++] = k % n ? ',' : '\n';
        length += (size_t)perp_number_write(r->row[k], text + length);
    }
    if (text) perp_trajectory_parse(text, length, "closed loop", &table, NULL);
    free(text);
    return table;
}

/* The largest final error of a run. */
static void note_end(one_run *r)
{
    cli_loop *u = r->loop;
    double size = 0;
    perp_plan_row(u->plan, perp_plan_rows(u->plan) - 1, r->plan_row);
    for (int i = 0; i < u->ns; i++) {
        double d = fabs(r->x[i] - r->plan_row[1 + i]);
        u->off[r->closed][i] = fmax(u->off[r->closed][i], d);
        size += u->noise[i] > 0 ? d / u->noise[i] : 0;
    }
    u->ended[r->closed]++;
    if (u->worst[r->closed] && !(size > u->worst_off[r->closed])) return;
    perp_trajectory_destroy(u->worst[r->closed]);
    u->worst[r->closed] = table_of(r);
    u->worst_off[r->closed] = size;
}

/* One run; one that stops is not counted. */
static perp_status run_once(one_run *r, unsigned long long seed)
{
    cli_loop *u = r->loop;
    perp_status status = PERP_OK;
    r->seed = seed;
    r->nrow = 0;
    perp_plan_row(u->plan, 0, r->plan_row);
    for (int i = 0; i < u->ns; i++) r->x[i] = r->plan_row[1 + i] + u->noise[i] * normal(&r->seed);
    for (int q = 0; q < perp_plan_phases(u->plan) && status == PERP_OK; q++)
        status = run_phase(r, q);
    if (status == PERP_ERR_MEMORY) return status;
    perp_plan_row(u->plan, perp_plan_rows(u->plan) - 1, r->plan_row);
    keep_row(r, r->plan_row[0]);
    if (status == PERP_OK) note_end(r);
    return PERP_OK;
}

perp_status cli_loop_run(cli_loop *u, unsigned seed)
{
    size_t ns = (size_t)u->ns, columns = (size_t)perp_plan_columns(u->plan);
    one_run r = {.loop = u, .first = first_input(u->plan, u->model, &u->nu)};
    size_t nu = (size_t)u->nu, rows = (size_t)perp_plan_rows(u->plan) + 1;
    double *work = calloc(2 * ns + nu + columns + rows * (1 + ns + nu), sizeof *work);
    r.input = calloc(nu + 1, sizeof *r.input);
    perp_status status = work && r.input ? PERP_OK : PERP_ERR_MEMORY;
    for (int j = 0; j < u->nu && status == PERP_OK; j++)
        r.input[j] = perp_plan_column_name(u->plan, r.first + j);
    u->by = PERP_RADAU5;
    r.x = work;
    r.seen = work + ns;
    r.u = work + 2 * ns;
    r.plan_row = r.u + nu;
    r.row = r.plan_row + columns;
    for (int i = 0; i < 2 * u->runs && status == PERP_OK; i++) {
        r.closed = i & 1;
        status = run_once(&r, seed * 1000003ULL + (unsigned long long)(i / 2));
    }
    free(r.input);
    free(work);
    return status;
}

void cli_loop_clear(cli_loop *u)
{
    perp_trajectory_destroy(u->worst[0]);
    perp_trajectory_destroy(u->worst[1]);
    free(u->noise);
    u->noise = NULL;
}

void cli_loop_print(const cli_loop *u, FILE *out)
{
    static const char *const how[] = {"without feedback", "with feedback"};
    if (!u->noise) return;
    fprintf(out, "noise: simulated by %s, %d steps in one of the plan's\n",
            perp_integrator_name(u->by), FINER);
    for (int closed = 0; closed < 2; closed++) {
        fprintf(out, "%s, %d of %d runs with noise went through; largest error at the end",
                how[closed], u->ended[closed], u->runs);
        for (int i = 0; i < u->ns; i++)
            fprintf(out, "%s %s %.3g", i ? "," : "", state_name(u, i), u->off[closed][i]);
        fprintf(out, "\n");
    }
}

void cli_loop_add(const cli_loop *u, cJSON *to)
{
    if (!u->noise) return;
    cJSON *loop = cJSON_AddObjectToObject(to, "loop");
    cJSON_AddNumberToObject(loop, "runs", u->runs);
    cJSON_AddStringToObject(loop, "method", perp_integrator_name(u->by));
    static const char *const how[] = {"without_feedback", "with_feedback"};
    for (int closed = 0; closed < 2; closed++) {
        cJSON *one = cJSON_AddObjectToObject(loop, how[closed]),
              *off = cJSON_AddObjectToObject(one, "off");
        cJSON_AddNumberToObject(one, "ended", u->ended[closed]);
        for (int i = 0; i < u->ns; i++)
            cli_json_add_number(off, state_name(u, i), u->off[closed][i]);
    }
}
