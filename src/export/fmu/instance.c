/* A model as an importer of FMUs holds it: its variables before a run and in it, steps, and states
 * as bytes. */

#include "export/fmu/instance.h"
#include "base/base.h"
#include "base/input.h"
#include "export/export.h"
#include "model/instant.h"
#include "simulate/stepping.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_LENGTH = 1200, SETTINGS_MAX = 1 << 22 };

typedef enum phase { OPENED, INITIALIZING, STEPPING, FAILED } phase;

struct perp__fmu {
    perp__fmu_host host;
    char *folder;
    int is_ours;        /* the settings are of this version of perp */
    perp_setting *size; /* while the settings are read: what sizes follow from */
    int nsize;
    perp_model *model;
    perp_simulation *sim; /* from the end of the initialization on */
    perp_simulation_options o;
    char file[LINE_LENGTH], token[80];
    perp__fmu_variable *variable;
    int n;
    double *value;    /* what the importer set, of each variable; NaN */
    double *row;      /* of the run; the first column is NaN where it must be read again */
    long (*count)[4]; /* how often each pair had each of its sides */
    int *side;        /* those that it had in the last step, a bit each */
    double start, stop;
    perp_simulation
        *past;    /* a clone, for derivatives of the last step; NULL until they are asked for */
    char *before; /* the run where the last step began; NULL: there are no inputs */
    long whole;   /* internal steps of the last step; 0: it had a shorter one, or is not there */
    phase phase;
};

static void say(const perp__fmu *f, perp__fmu_status status, const char *format, ...)
    PERP_PRINTF(3, 4);

static void say(const perp__fmu *f, perp__fmu_status status, const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (n > 0 && n < (int)sizeof text && text[n - 1] == '\n') text[n - 1] = 0;
    if (f->host.say) f->host.say(f->host.given, status, text);
}

void *perp__fmu_given(const perp__fmu *f)
{
    return f->host.given;
}

perp__fmu_status perp__fmu_refuse(perp__fmu *f, size_t n, const char *call)
{
    if (n == 0) return PERP__FMU_OK;
    if (f) say(f, PERP__FMU_ERROR, "%s: an FMU of perp has no such variables or mode", call);
    return PERP__FMU_ERROR;
}

/* Opening -------------------------------------------------------------------------------------- */

static int digit(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c | 0x20) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* The path of file:/a, file:///a and file://host/a, with %20 and the like as what they stand for; a
 * path as it is. Ends with '/'. */
static char *path_of(const char *uri)
{
    int is_uri = strncmp(uri, "file:", 5) == 0;
    if (is_uri) uri += 5;
    if (is_uri && strncmp(uri, "//", 2) == 0) uri += 2 + strcspn(uri + 2, "/");
    char *path = malloc(strlen(uri) + 2), *to = path;
    if (!path) return NULL;
    for (; *uri; uri++) {
        int is_escape = is_uri && *uri == '%' && digit(uri[1]) >= 0 && digit(uri[2]) >= 0;
        *to++ = is_escape ? (char)(16 * digit(uri[1]) + digit(uri[2])) : *uri;
        if (is_escape) uri += 2;
    }
    if (to == path || to[-1] != '/') *to++ = '/';
    *to = 0;
    return path;
}

/* "word rest": the rest, NULL where the line begins with another word. */
static char *after(char *line, const char *word)
{
    size_t n = strlen(word);
    return strncmp(line, word, n) == 0 && line[n] == ' ' ? line + n + 1 : NULL;
}

/* folder and name, malloc'ed. */
static char *inside(const perp__fmu *f, const char *name)
{
    char *path = malloc(strlen(f->folder) + strlen(name) + 1);
    if (path) sprintf(path, "%s%s", f->folder, name);
    return path;
}

/* A name as it was before the export escaped it, in place; 0: it leaves the folder. */
static int take_name(char *name)
{
    char *to = name;
    for (const char *s = name; *s; s++) {
        int is_escape = *s == '%' && digit(s[1]) >= 0 && digit(s[2]) >= 0;
        *to++ = is_escape ? (char)(16 * digit(s[1]) + digit(s[2])) : *s;
        if (is_escape) s += 2;
    }
    *to = 0;
    return *name && *name != '/' && !strstr(name, "..");
}

static perp_status load_model(perp__fmu *f, char *name, perp_diag *diag)
{
    if (!take_name(name)) return PERP_ERR_DATA;
    char *path = inside(f, name);
    perp_model_options how = {.set = f->size, .nset = f->nsize};
    perp_status status =
        path ? perp__model_load(path, PERP__REGULAR, &how, &f->model, diag) : PERP_ERR_MEMORY;
    if (status == PERP_OK) f->o = perp_simulation_options_default(f->model);
    free(path);
    return status;
}

/* A parameter as the model was exported with: "NAME VALUE", which stays as long as the setting. 0:
 * it is none. */
static int read_change(char *text, perp_setting *to)
{
    char *space = strrchr(text, ' ');
    if (!space) return 0;
    *space = 0;
    *to = (perp_setting){text, perp_number_read(space + 1, NULL)};
    return 1;
}

static perp_status change(perp__fmu *f, char *text, perp_diag *diag)
{
    perp_setting s;
    if (!read_change(text, &s)) return PERP_ERR_DATA;
    return perp_model_set(f->model, s.name, s.value, diag);
}

/* One more for when the model is read. */
static perp_status add_size(perp__fmu *f, char *text)
{
    perp_setting *more = realloc(f->size, ((size_t)f->nsize + 1) * sizeof *more);
    if (!more) return PERP_ERR_MEMORY;
    f->size = more;
    return read_change(text, &f->size[f->nsize++]) ? PERP_OK : PERP_ERR_DATA;
}

/* The first line names the version, the last the token. What is between them is in any order behind
 * the model. */
static perp_status read_line(perp__fmu *f, char *line, perp_diag *diag)
{
    char *rest;
    if ((rest = after(line, "perp")) != NULL) {
        f->is_ours = !f->is_ours && strcmp(rest, perp_version()) == 0;
        return f->is_ours ? PERP_OK : PERP_ERR_DATA;
    }
    if (!f->is_ours || f->token[0]) return PERP_ERR_DATA;
    if ((rest = after(line, "model")) != NULL && !f->model) return load_model(f, rest, diag);
    if ((rest = after(line, "size")) != NULL && !f->model) return add_size(f, rest);
    if (!f->model) return PERP_ERR_DATA;
    if ((rest = after(line, "set")) != NULL) return change(f, rest, diag);
    if ((rest = after(line, "token")) != NULL) {
        snprintf(f->token, sizeof f->token, "%s", rest);
        return PERP_OK;
    }
    int ok = 0;
    if ((rest = after(line, "method")) != NULL) {
        f->o.integrator = perp_integrator_find(rest);
        ok = f->o.integrator < PERP_INTEGRATOR_COUNT;
    } else if ((rest = after(line, "step")) != NULL) {
        f->o.step = perp_number_read(rest, NULL);
        ok = isfinite(f->o.step) && f->o.step > 0;
    } else if ((rest = after(line, "tol")) != NULL) {
        f->o.tol = perp_number_read(rest, NULL);
        ok = isfinite(f->o.tol) && f->o.tol >= 0;
    }
    return ok ? PERP_OK : PERP_ERR_DATA;
}

/* resources/perp.txt and the model that it names. */
static perp_status read_settings(perp__fmu *f, perp_diag *diag)
{
    char *path = inside(f, PERP__FMU_SETTINGS), *text = NULL, *line, *end;
    size_t n = 0;
    const char *why;
    perp_status status =
        path ? perp__input_read(path, PERP__REGULAR, SETTINGS_MAX, 1, &text, &n, &why)
             : PERP_ERR_MEMORY;
    if (status == PERP_ERR_FILE || status == PERP_ERR_DATA)
        perp__refuse(diag, status, perp__in(path), "%s\n", why);
    for (line = text; status == PERP_OK && line < text + n; line = end + 1) {
        end = memchr(line, '\n', (size_t)(text + n - line));
        if (!end) break;
        *end = 0;
        status = read_line(f, line, diag);
        if (status == PERP_ERR_DATA && !diag->errors)
            perp__refuse(diag, status, perp__in(path), "'%.200s' says nothing to perp %s\n", line,
                         perp_version());
    }
    if (status == PERP_OK && (!f->model || !f->token[0]))
        status = perp__refuse(diag, PERP_ERR_DATA, perp__in(path),
                              f->model ? "it ends before its last line, the token\n"
                                       : "it names no model\n");
    free(f->size);
    f->size = NULL;
    f->nsize = 0;
    free(text);
    free(path);
    return status;
}

static int open_model(perp__fmu *f)
{
    perp_diag diag = {0};
    perp_status status = read_settings(f, &diag);
    if (status == PERP_OK) {
        f->variable = perp__fmu_variables(f->model, &f->o, &f->n);
        size_t n = (size_t)f->n, pairs = (size_t)perp_model_pairs(f->model) + 1;
        f->value = f->variable ? malloc(2 * n * sizeof *f->value) : NULL;
        f->count = calloc(pairs, sizeof *f->count);
        f->side = calloc(pairs, sizeof *f->side);
        if (!f->value || !f->count || !f->side) status = PERP_ERR_MEMORY;
    }
    if (status == PERP_OK) {
        f->row = f->value + f->n;
        f->start = f->o.from;
        f->stop = (double)NAN;
        for (int i = 0; i < f->n; i++) f->value[i] = (double)NAN;
    } else {
        say(f, PERP__FMU_ERROR, "%s: %s", perp_status_message(status), perp_diag_text(&diag));
    }
    perp_diag_clear(&diag);
    return status == PERP_OK;
}

static void drop_run(perp__fmu *f)
{
    perp_simulation_destroy(f->sim);
    free(f->before);
    f->sim = NULL;
    f->before = NULL;
}

/* All but the folder and the importer. */
static void drop_model(perp__fmu *f)
{
    drop_run(f);
    perp_simulation_destroy(f->past);
    f->past = NULL;
    f->whole = 0;
    perp_model_destroy(f->model);
    free(f->variable);
    free(f->value);
    free(f->count);
    free(f->side);
    f->count = NULL;
    f->side = NULL;
    f->sim = NULL;
    f->model = NULL;
    f->variable = NULL;
    f->value = NULL;
    f->row = NULL;
    f->n = 0;
    f->is_ours = 0;
    f->token[0] = 0;
    f->phase = OPENED;
}

perp__fmu *perp__fmu_open(const char *folder, const char *token, perp__fmu_host host)
{
    perp__fmu *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->host = host;
    f->folder = folder ? path_of(folder) : NULL;
    int ok = f->folder && open_model(f);
    if (!folder) say(f, PERP__FMU_ERROR, "the importer does not say where the resources are");
    if (ok && (!token || strcmp(token, f->token) != 0)) {
        say(f, PERP__FMU_ERROR, "the token of the description is '%s', that of the resources '%s'",
            token ? token : "", f->token);
        ok = 0;
    }
    if (ok) return f;
    perp__fmu_close(f);
    return NULL;
}

void perp__fmu_close(perp__fmu *f)
{
    if (!f) return;
    drop_model(f);
    free(f->folder);
    free(f);
}

perp__fmu_status perp__fmu_reset(perp__fmu *f)
{
    drop_model(f);
    if (open_model(f)) return PERP__FMU_OK;
    f->phase = FAILED;
    return PERP__FMU_ERROR;
}

/* The run -------------------------------------------------------------------------------------- */

static perp__fmu_status expect(perp__fmu *f, phase wanted, const char *call)
{
    if (f->phase == wanted) return PERP__FMU_OK;
    say(f, PERP__FMU_ERROR, "%s: not now", call);
    return PERP__FMU_ERROR;
}

perp__fmu_status perp__fmu_setup(perp__fmu *f, double start, double stop)
{
    perp__fmu_status status = expect(f, OPENED, "the times of the run");
    if (status == PERP__FMU_OK) {
        f->start = start;
        f->stop = stop;
    }
    return status;
}

perp__fmu_status perp__fmu_initialize(perp__fmu *f)
{
    perp__fmu_status status = expect(f, OPENED, "EnterInitializationMode");
    if (status == PERP__FMU_OK) f->phase = INITIALIZING;
    return status;
}

/* A run to one of the ends that may serve: importers may go a rounding beyond theirs, and tables of
 * the model may end there. */
static perp_status create(perp__fmu *f, perp_diag *diag)
{
    enum { ENDS = 3 };
    double forever = f->start + 1e12 * f->o.step,
           ends[ENDS] = {isnan(f->stop) ? forever : f->stop + f->o.step,
                         isnan(f->stop) ? f->o.to : f->stop, f->o.to};
    perp_simulation_options o = f->o;
    const char **driven = NULL;
    int ok = perp__fmu_drive(f->variable, f->n, &o, &driven), inputs = o.ninput;
    perp_status status = ok ? PERP_ERR_DATA : PERP_ERR_MEMORY;
    for (int k = 0; k < ENDS && status == PERP_ERR_DATA; k++) {
        if (!(ends[k] > f->start)) continue;
        perp_diag_clear(diag);
        o.from = f->start;
        o.to = ends[k];
        status = perp_simulation_create(f->model, &o, &f->sim, diag);
    }
    free(driven);
    if (status == PERP_OK && inputs > 0) {
        f->before = malloc(perp_simulation_snapshot_size(f->sim));
        if (!f->before) status = PERP_ERR_MEMORY;
    }
    return status;
}

/* The run that the model, its times and inputs say. */
static perp_status start_run(perp__fmu *f, perp_diag *diag)
{
    perp_status status = create(f, diag);
    for (int i = 0; i < f->n && status == PERP_OK; i++)
        if (f->variable[i].role == PERP__FMU_INPUT && !isnan(f->value[i]))
            status = perp_simulation_set_input(f->sim, f->variable[i].index, f->value[i]);
    return status;
}

perp__fmu_status perp__fmu_begin(perp__fmu *f)
{
    perp_diag diag = {0};
    perp__fmu_status answer = expect(f, INITIALIZING, "ExitInitializationMode");
    if (answer != PERP__FMU_OK) return answer;
    perp_status status = start_run(f, &diag);
    if (status != PERP_OK)
        say(f, PERP__FMU_ERROR, "%s: %s", perp_status_message(status), perp_diag_text(&diag));
    perp_diag_clear(&diag);
    f->phase = status == PERP_OK ? STEPPING : FAILED;
    if (status == PERP_OK) f->row[0] = (double)NAN;
    return status == PERP_OK ? PERP__FMU_OK : PERP__FMU_ERROR;
}

double perp__fmu_reached(const perp__fmu *f)
{
    return f->sim ? perp_simulation_time(f->sim) : f->start;
}

/* Did a pair change its side in the last step: does it count on another than in the step before? */
static int sides_changed(perp__fmu *f)
{
    perp_simulation_summary s = {.size = sizeof s};
    perp_simulation_get_summary(f->sim, &s);
    int changed = 0;
    for (int i = 0; i < s.pairs; i++) {
        int now = 0;
        for (int k = 0; k < 4; k++) now |= (s.modes[i][k] > f->count[i][k]) << k;
        changed |= f->side[i] && now && now != f->side[i];
        if (now) f->side[i] = now;
        memcpy(f->count[i], s.modes[i], sizeof f->count[i]);
    }
    return changed;
}

static perp__fmu_status answer_step(perp__fmu *f, perp_status status, perp_diag *diag)
{
    if (status == PERP_OK) return PERP__FMU_OK;
    perp__fmu_status answer = status == PERP_ERR_NO_SOLUTION ? PERP__FMU_DISCARD : PERP__FMU_ERROR;
    say(f, answer, "t = %g s is the last good time: %s", perp_simulation_time(f->sim),
        perp_diag_text(diag));
    return answer;
}

perp__fmu_status perp__fmu_step(perp__fmu *f, double t, double length, int early, double *reached)
{
    perp_diag diag = {0};
    perp_status status = PERP_OK;
    *reached = perp__fmu_reached(f);
    if (expect(f, STEPPING, "DoStep") != PERP__FMU_OK) return PERP__FMU_ERROR;
    double now = *reached, to = now + length, near = 1e-6 * f->o.step;
    if (!(length > 0) || !(fabs(t - now) <= near + 1e-9 * fabs(now))) {
        say(f, PERP__FMU_ERROR, "a step from t = %.17g by %g s: the run is at t = %.17g", t, length,
            now);
        return PERP__FMU_ERROR;
    }
    f->row[0] = (double)NAN;
    if (f->before)
        perp_simulation_snapshot(f->sim, f->before, perp_simulation_snapshot_size(f->sim));
    if (!early) status = perp__run_until(f->sim, to, NULL, &diag);
    while (early && status == PERP_OK && now < to - near) {
        status = perp__run_until(f->sim, fmin(now + f->o.step, to), NULL, &diag);
        now = perp_simulation_time(f->sim);
        if (sides_changed(f)) break;
    }
    *reached = perp_simulation_time(f->sim);
    double steps = (*reached - (to - length)) / f->o.step, whole = round(steps);
    f->whole = status == PERP_OK && fabs(steps - whole) < 1e-6 ? (long)whole : 0;
    perp__fmu_status answer = answer_step(f, status, &diag);
    perp_diag_clear(&diag);
    return answer;
}

/* Variables ------------------------------------------------------------------------------------ */

/* Is it set once, before the run? */
static int stays(perp__fmu_role role)
{
    return role == PERP__FMU_PARAMETER || role == PERP__FMU_STATE;
}

static int is_variable(perp__fmu *f, unsigned reference)
{
    if (reference < (unsigned)f->n) return 1;
    say(f, PERP__FMU_ERROR, "there is no variable %u", reference);
    return 0;
}

/* The place of a variable in a row of the run: t, states, vars, inputs, outputs, residual. */
static int column_of(const perp__fmu *f, const perp__fmu_variable *v)
{
    static const perp_symbol_kind order[] = {PERP_STATE, PERP_VAR, PERP_INPUT, PERP_OUTPUT};
    int column = 1;
    if (v->kind == PERP_SYMBOL_KINDS)
        return v->role == PERP__FMU_TIME ? 0 : perp_simulation_columns(f->sim) - 1;
    for (int k = 0; order[k] != v->kind; k++) column += perp_model_count(f->model, order[k]);
    return column + v->index;
}

static double value_before(const perp__fmu *f, int i)
{
    const perp__fmu_variable *v = &f->variable[i];
    if (v->role == PERP__FMU_TIME) return f->start;
    if (v->kind == PERP_SYMBOL_KINDS) return (double)NAN;
    return perp_model_symbol(f->model, v->kind, v->index).value;
}

static double value_of(perp__fmu *f, int i)
{
    const perp__fmu_variable *v = &f->variable[i];
    if (v->role == PERP__FMU_INPUT && !isnan(f->value[i])) return f->value[i];
    if (!f->sim || v->kind == PERP_PARAM) return value_before(f, i);
    if (v->role == PERP__FMU_IMPULSE) {
        double impulse;
        return perp_simulation_impulse(f->sim, v->index, &impulse) ? impulse : (double)NAN;
    }
    if (isnan(f->row[0])) perp_simulation_row(f->sim, f->row);
    return f->row[column_of(f, v)];
}

perp__fmu_status perp__fmu_get(perp__fmu *f, const unsigned *reference, size_t n, double *value)
{
    for (size_t k = 0; k < n; k++) {
        if (!is_variable(f, reference[k])) return PERP__FMU_ERROR;
        value[k] = value_of(f, (int)reference[k]);
    }
    return PERP__FMU_OK;
}

static perp_status set_one(perp__fmu *f, int i, double value, perp_diag *diag)
{
    const perp__fmu_variable *v = &f->variable[i];
    perp_status status = PERP_ERR_ARG;
    if (isfinite(value) && v->role == PERP__FMU_INPUT)
        status = f->sim ? perp_simulation_set_input(f->sim, v->index, value) : PERP_OK;
    else if (isfinite(value) && stays(v->role) && !f->sim)
        status = perp_model_set(f->model, v->name, value, diag);
    if (status == PERP_OK) f->value[i] = value;
    return status;
}

perp__fmu_status perp__fmu_set(perp__fmu *f, const unsigned *reference, size_t n,
                               const double *value)
{
    perp_diag diag = {0};
    perp_status status = PERP_OK;
    for (size_t k = 0; k < n && status == PERP_OK; k++) {
        if (!is_variable(f, reference[k])) return PERP__FMU_ERROR;
        status = set_one(f, (int)reference[k], value[k], &diag);
        if (status != PERP_OK)
            say(f, PERP__FMU_ERROR, "'%s' cannot be set to %g%s: %s",
                f->variable[reference[k]].name, value[k], f->sim ? " while the run goes on" : "",
                perp_diag_text(&diag));
    }
    perp_diag_clear(&diag);
    return status == PERP_OK ? PERP__FMU_OK : PERP__FMU_ERROR;
}

/* Derivatives ---------------------------------------------------------------------------------- */

/* Along the seeds, the same in all steps: rows of inputs are steps by inputs. NULL when memory is
 * out, or a known one is no input. */
static double *move_inputs(const perp__fmu *f, const unsigned *known, size_t n, const double *seed,
                           int *input)
{
    double *move = malloc((size_t)f->whole * n * sizeof *move + 1);
    for (size_t k = 0; k < n && move; k++) {
        int is_input = known[k] < (unsigned)f->n && f->variable[known[k]].role == PERP__FMU_INPUT;
        input[k] = is_input ? f->variable[known[k]].index : 0;
        for (long step = 0; step < f->whole; step++) move[(size_t)step * n + k] = seed[k];
        if (is_input) continue;
        free(move);
        move = NULL;
    }
    return move;
}

/* The last step once more, with the derivative of its row. */
static perp_status repeat(perp__fmu *f, int n, const int *input, double *move, double *row,
                          perp_diag *diag)
{
    const perp_run_stretch stretch = {
        .size = sizeof stretch, .steps = f->whole, .ninput = n, .input = input};
    const perp_run_change change = {.value = move};
    perp_status status = f->past ? PERP_OK : perp_simulation_clone(f->sim, &f->past, diag);
    if (status == PERP_OK)
        status = perp_simulation_restore(f->past, f->before, perp_simulation_snapshot_size(f->past),
                                         diag);
    if (status == PERP_OK) status = perp_simulation_jvp(f->past, &stretch, &change, row, diag);
    return status;
}

/* What of the start is moved, in the order of the known ones. */
typedef struct moved {
    int nparameter, ninput;
    int *parameter, *input; /* indices */
    const char **name;      /* of the parameters */
    double *of_parameter, *of_input, *of_state, *matrix;
    double *of_all; /* parameters of the model, also those that follow from others */
} moved;

static void clear_moved(moved *m)
{
    free(m->parameter);
    free(m->input);
    free(m->name);
    free(m->of_parameter);
    free(m->of_input);
    free(m->of_state);
    free(m->matrix);
    free(m->of_all);
}

static perp_status sort_known(const perp__fmu *f, const unsigned *known, size_t n,
                              const double *seed, moved *m)
{
    size_t columns = (size_t)perp_simulation_columns(f->sim);
    m->parameter = malloc((n + 1) * sizeof(int));
    m->input = malloc((n + 1) * sizeof(int));
    m->name = malloc((n + 1) * sizeof *m->name);
    m->of_parameter = malloc((n + 1) * sizeof(double));
    m->of_input = malloc((n + 1) * sizeof(double));
    m->of_state = calloc(columns, sizeof(double));
    m->matrix = malloc((n * columns + 1) * sizeof(double));
    if (!m->parameter || !m->input || !m->name || !m->of_parameter || !m->of_input ||
        !m->of_state || !m->matrix)
        return PERP_ERR_MEMORY;
    for (size_t k = 0; k < n; k++) {
        if (known[k] >= (unsigned)f->n) return PERP_ERR_ARG;
        const perp__fmu_variable *v = &f->variable[known[k]];
        if (v->role == PERP__FMU_STATE) {
            m->of_state[v->index] += seed[k];
        } else if (v->role == PERP__FMU_PARAMETER) {
            m->name[m->nparameter] = v->name;
            m->parameter[m->nparameter] = v->index;
            m->of_parameter[m->nparameter++] = seed[k];
        } else if (v->role == PERP__FMU_INPUT) {
            m->input[m->ninput] = v->index;
            m->of_input[m->ninput++] = seed[k];
        } else {
            return PERP_ERR_ARG;
        }
    }
    return PERP_OK;
}

/* The row of the start along the seeds: initial states that were not set follow from parameters. */
static perp_status move_start(perp__fmu *f, moved *m, double *row, perp_diag *diag)
{
    int columns = perp_simulation_columns(f->sim), nx = perp_model_count(f->model, PERP_STATE);
    perp_status status = PERP_OK;
    if (m->nparameter > 0) status = perp_simulation_follow(f->sim, m->nparameter, m->name, diag);
    if (status == PERP_OK && m->nparameter > 0)
        status = perp_simulation_derivatives(f->sim, m->matrix);
    for (int k = 0; k < m->nparameter && status == PERP_OK; k++)
        for (int i = 0; i < nx; i++)
            m->of_state[i] += m->matrix[k * columns + 1 + i] * m->of_parameter[k];
    const perp_run_stretch none = {.size = sizeof none,
                                   .ninput = m->ninput,
                                   .input = m->input,
                                   .nparameter = m->nparameter,
                                   .parameter = m->parameter};
    const perp_run_change change = {
        .state = m->of_state, .parameter = m->of_parameter, .value = m->of_input};
    return status == PERP_OK ? perp_simulation_jvp(f->sim, &none, &change, row, diag) : status;
}

static perp_status move_parameters(const perp__fmu *f, moved *m)
{
    size_t n = (size_t)perp_model_count(f->model, PERP_PARAM);
    double *seed = calloc(2 * n + 1, sizeof *seed);
    if (!seed) return PERP_ERR_MEMORY;
    for (int k = 0; k < m->nparameter; k++) seed[m->parameter[k]] += m->of_parameter[k];
    m->of_all = seed;
    return perp__params_move(f->model, seed, seed + n) ? PERP_OK : PERP_ERR_MEMORY;
}

/* Those of the unknown ones; an input's or a parameter's is its seed. */
static perp_status read_moved(perp__fmu *f, const unsigned *unknown, size_t n, const double *row,
                              const moved *m, double *derivative)
{
    int parameters = perp_model_count(f->model, PERP_PARAM);
    for (size_t k = 0; k < n; k++) {
        const perp__fmu_variable *v = is_variable(f, unknown[k]) ? &f->variable[unknown[k]] : NULL;
        if (!v || v->role == PERP__FMU_CONSTANT || v->role == PERP__FMU_IMPULSE)
            return PERP_ERR_ARG;
        derivative[k] =
            v->kind == PERP_PARAM ? m->of_all[parameters + v->index] : row[column_of(f, v)];
        for (int i = 0; i < m->ninput && v->role == PERP__FMU_INPUT; i++)
            if (m->input[i] == v->index) derivative[k] = m->of_input[i];
        if (isfinite(derivative[k])) continue;
        say(f, PERP__FMU_ERROR, "'%s' has no %s, so no derivative", v->name,
            v->kind == PERP_PARAM ? "finite slope" : "value before the first step");
        return PERP_ERR_ARG;
    }
    return PERP_OK;
}

static perp__fmu_status derive_start(perp__fmu *f, const unsigned *unknown, size_t nunknown,
                                     const unsigned *known, size_t nknown, const double *seed,
                                     double *derivative)
{
    perp_diag diag = {0};
    moved m = {0};
    double *row = NULL;
    perp_status status = start_run(f, &diag);
    if (status == PERP_OK) {
        row = malloc((size_t)perp_simulation_columns(f->sim) * sizeof *row);
        status = row ? sort_known(f, known, nknown, seed, &m) : PERP_ERR_MEMORY;
    }
    if (status == PERP_OK) status = move_start(f, &m, row, &diag);
    if (status == PERP_OK) status = move_parameters(f, &m);
    if (status == PERP_OK) status = read_moved(f, unknown, nunknown, row, &m, derivative);
    if (status != PERP_OK)
        say(f, PERP__FMU_ERROR, "no derivative of these by these at the start: %s%s",
            perp_status_message(status), perp_diag_text(&diag));
    perp_diag_clear(&diag);
    clear_moved(&m);
    free(row);
    drop_run(f);
    return status == PERP_OK ? PERP__FMU_OK : PERP__FMU_ERROR;
}

perp__fmu_status perp__fmu_derive(perp__fmu *f, const unsigned *unknown, size_t nunknown,
                                  const unsigned *known, size_t nknown, const double *seed,
                                  double *derivative)
{
    perp_diag diag = {0};
    if (f->phase == INITIALIZING)
        return derive_start(f, unknown, nunknown, known, nknown, seed, derivative);
    if (!f->sim || !f->before || f->whole == 0) {
        say(f, PERP__FMU_ERROR,
            "derivatives are those of a step of whole internal steps by inputs, "
            "and there is none");
        return PERP__FMU_ERROR;
    }
    int *input = malloc((nknown + 1) * sizeof *input);
    double *row = malloc((size_t)perp_simulation_columns(f->sim) * sizeof *row),
           *move = input && row ? move_inputs(f, known, nknown, seed, input) : NULL;
    perp_status status = move ? repeat(f, (int)nknown, input, move, row, &diag) : PERP_ERR_ARG;
    for (size_t k = 0; k < nunknown && status == PERP_OK; k++) {
        const perp__fmu_variable *v = is_variable(f, unknown[k]) ? &f->variable[unknown[k]] : NULL;
        if (!v || v->kind == PERP_PARAM || v->role == PERP__FMU_IMPULSE) status = PERP_ERR_ARG;
        if (status == PERP_OK) derivative[k] = row[column_of(f, v)];
    }
    if (status != PERP_OK)
        say(f, PERP__FMU_ERROR, "no derivative of these by these: %s%s",
            perp_status_message(status), perp_diag_text(&diag));
    perp_diag_clear(&diag);
    free(input);
    free(row);
    free(move);
    return status == PERP_OK ? PERP__FMU_OK : PERP__FMU_ERROR;
}

/* States --------------------------------------------------------------------------------------- */

/* What the bytes of a state begin with. Then come `n` values and the snapshot. */
typedef struct head {
    char magic[8], token[80];
    size_t size; /* of all */
    double start, stop;
    int n, phase;
} head;

static const char magic[8] = "perpfmu";

static size_t values_size(const perp__fmu *f)
{
    return (size_t)f->n * sizeof *f->value;
}

perp__fmu_status perp__fmu_keep(perp__fmu *f, void **state)
{
    size_t snapshot = perp_simulation_snapshot_size(f->sim), values = values_size(f);
    head h = {.size = sizeof h + values + snapshot, .start = f->start, .stop = f->stop};
    h.n = f->n;
    h.phase = (int)f->phase;
    memcpy(h.magic, magic, sizeof magic);
    memcpy(h.token, f->token, sizeof h.token);
    char *bytes = realloc(*state, h.size);
    if (!bytes) {
        say(f, PERP__FMU_ERROR, "memory is out");
        return PERP__FMU_ERROR;
    }
    *state = bytes;
    memcpy(bytes, &h, sizeof h);
    memcpy(bytes + sizeof h, f->value, values);
    if (f->sim) perp_simulation_snapshot(f->sim, bytes + sizeof h + values, snapshot);
    return PERP__FMU_OK;
}

size_t perp__fmu_kept_size(const void *state)
{
    head h;
    memcpy(&h, state, sizeof h);
    return h.size;
}

perp__fmu_status perp__fmu_copy(perp__fmu *f, const void *bytes, size_t size, void **state)
{
    char *copy = NULL;
    if (size >= sizeof(head) && memcmp(bytes, magic, sizeof magic) == 0 &&
        perp__fmu_kept_size(bytes) == size)
        copy = realloc(*state, size);
    if (!copy) {
        say(f, PERP__FMU_ERROR, "these bytes are no state, or memory is out");
        return PERP__FMU_ERROR;
    }
    *state = memcpy(copy, bytes, size);
    return PERP__FMU_OK;
}

/* Does the run that there is begin as that of the state? */
static int begins_alike(const perp__fmu *f, const head *h, const char *values)
{
    if (!f->sim || h->start != f->start) return 0;
    for (int i = 0; i < f->n; i++)
        if (stays(f->variable[i].role) &&
            memcmp(values + (size_t)i * sizeof *f->value, &f->value[i], sizeof *f->value) != 0)
            return 0;
    return 1;
}

/* Open the model again, and bring it to where the state was taken. */
static perp__fmu_status begin_as(perp__fmu *f, const head *h, const char *values)
{
    perp__fmu_status status = perp__fmu_reset(f);
    for (unsigned i = 0; i < (unsigned)h->n && status == PERP__FMU_OK; i++) {
        double value;
        memcpy(&value, values + i * sizeof value, sizeof value);
        if (!isnan(value)) status = perp__fmu_set(f, &i, 1, &value);
    }
    if (status == PERP__FMU_OK) status = perp__fmu_setup(f, h->start, h->stop);
    if (status == PERP__FMU_OK && h->phase >= INITIALIZING) status = perp__fmu_initialize(f);
    if (status == PERP__FMU_OK && h->phase == STEPPING) status = perp__fmu_begin(f);
    return status;
}

perp__fmu_status perp__fmu_take(perp__fmu *f, const void *state)
{
    head h;
    const char *values = (const char *)state + sizeof h;
    perp_diag diag = {0};
    perp__fmu_status status = PERP__FMU_OK;
    memcpy(&h, state, sizeof h);
    if (memcmp(h.token, f->token, sizeof h.token) != 0 || h.n != f->n || h.phase < OPENED ||
        h.phase > STEPPING || h.size < sizeof h + values_size(f)) {
        say(f, PERP__FMU_ERROR, "this is no state of this FMU");
        return PERP__FMU_ERROR;
    }
    if (h.phase != STEPPING || !begins_alike(f, &h, values)) status = begin_as(f, &h, values);
    if (status != PERP__FMU_OK || h.phase != STEPPING) return status;
    size_t snapshot = h.size - sizeof h - values_size(f);
    perp_status restored =
        perp_simulation_restore(f->sim, values + values_size(f), snapshot, &diag);
    memcpy(f->value, values, values_size(f));
    f->row[0] = (double)NAN;
    f->whole = 0;
    f->phase = restored == PERP_OK ? STEPPING : FAILED;
    if (restored != PERP_OK) say(f, PERP__FMU_ERROR, "%s", perp_diag_text(&diag));
    perp_diag_clear(&diag);
    return restored == PERP_OK ? PERP__FMU_OK : PERP__FMU_ERROR;
}
