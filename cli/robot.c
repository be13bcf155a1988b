/* perp check and perp simulate of robot files: what was read and what was not, and its motion. */

#include "robot.h"
#include "impacts.h"
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_is_robot(const char *file)
{
    static const char *const ends[] = {".xml", ".urdf", ".mjcf"};
    size_t n = strlen(file);
    for (int i = 0; i < 3; i++) {
        size_t tail = strlen(ends[i]);
        if (n > tail && strcmp(file + n - tail, ends[i]) == 0) return 1;
    }
    return 0;
}

/* An option that is given and not among these has no meaning for a robot. */
static int check_options(const cli_args *args, const char *const *allowed)
{
    const cli_command *c = args->command;
    for (int k = 0; k < c->noptions; k++) {
        const char *name = c->options[k].name;
        int known = !name[0];
        for (int i = 0; allowed[i]; i++) known |= strcmp(allowed[i], name) == 0;
        if (known || !cli_is_given(args, name)) continue;
        cli_say("perp %s: --%s is not for robot files\n", c->name, name);
        return CLI_USAGE;
    }
    return CLI_DONE;
}

/* perp check ----------------------------------------------------------------------------------- */

typedef struct counts {
    int bodies, joints, nq, nv, shapes, actuators, equalities, tendons;
} counts;

#define FIELD(field) CLI_JSON(counts, field)
static const cli_json_field count_fields[] = {FIELD(bodies),     FIELD(joints), FIELD(nq),
                                              FIELD(nv),         FIELD(shapes), FIELD(actuators),
                                              FIELD(equalities), FIELD(tendons)};
#undef FIELD

static counts count(const perp_robot_parts *p, const perp_bodies *b)
{
    counts n = {.bodies = p->nbody,
                .nq = perp_bodies_nq(b),
                .nv = perp_bodies_nv(b),
                .shapes = p->nshape,
                .actuators = p->nactuator,
                .equalities = p->nequality,
                .tendons = p->ntendon};
    for (int i = 0; i < p->nbody; i++) n.joints += p->body[i].joint != PERP_JOINT_FIXED;
    return n;
}

static void say_shape(const perp_robot *robot, int shape)
{
    perp_robot_parts p = *perp_robot_get_parts(robot);
    const char *name = p.shape_name[shape];
    int body = p.shape[shape].body;
    if (name && *name)
        cli_say("'%s'", name);
    else
        cli_say("shape %d", shape + 1);
    name = body ? p.body[body - 1].name : NULL;
    if (name && *name) cli_say(" of '%s'", name);
}

/* What a start was, and what was made of it. */
static void say_assembly(const perp_robot *robot, const perp_bodies *b, const perp_assembly *is,
                         const char *file)
{
    perp_robot_parts p = *perp_robot_get_parts(robot);
    int shape[2];
    double penetration;
    for (int k = 0; perp_bodies_excluded_pair(b, k, shape, &penetration); k++) {
        cli_say("%s: at the start ", file);
        say_shape(robot, shape[0]);
        cli_say(" and ");
        say_shape(robot, shape[1]);
        cli_say(" penetrate by %.3g m and cannot be separated nearby: their contacts are "
                "excluded\n",
                penetration);
    }
    if (is->penetration == 0 && is->limit == 0 && is->loop == 0) return;
    if (is->is_assembled && is->moved == 0) return; /* all of it had no room */
    const char *before = "";
    cli_say("%s: at the start ", file);
    if (is->tendon) {
        cli_say("tendon %d is past its limit by %.3g", is->tendon, is->limit);
        before = ", ";
    } else if (is->limit > 0) {
        const char *joint = p.joint[is->body - 1];
        cli_say("'%s' is past its limit by %.3g",
                joint && *joint ? joint : p.body[is->body - 1].name, is->limit);
        before = ", ";
    }
    if (is->loop > 0) {
        cli_say("%sa loop is open by %.3g", before, is->loop);
        before = ", ";
    }
    if (is->penetration > 0) {
        cli_say("%s", before);
        say_shape(robot, is->shape[0]);
        cli_say(" and ");
        say_shape(robot, is->shape[1]);
        cli_say(" penetrate by %.3g m", is->penetration);
    }
    if (is->is_assembled)
        cli_say(": moved to where all holds, by up to %.3g (m, rad)\n", is->moved);
    else
        cli_say("; nowhere near does all hold: the first step begins there\n");
}

static int assemble(const perp_robot *robot, perp_bodies *b, const char *file, perp_diag *diag)
{
    perp_assembly is = {.size = sizeof is};
    perp_status status = perp_bodies_assemble(b, &is, diag);
    if (status == PERP_OK) say_assembly(robot, b, &is, file);
    return cli_exit_code(status);
}

static cJSON *text_or_null(const char *text)
{
    return text && *text ? cJSON_CreateString(text) : cJSON_CreateNull();
}

/* The pairs whose contacts were excluded; a shape or body without a name is null, and so is the
 * world. */
static void add_excluded(cJSON *o, const perp_robot *robot, const perp_bodies *b)
{
    perp_robot_parts p = *perp_robot_get_parts(robot);
    cJSON *list = cJSON_AddArrayToObject(o, "excluded");
    int shape[2];
    double penetration;
    for (int k = 0; perp_bodies_excluded_pair(b, k, shape, &penetration); k++) {
        cJSON *pair = cJSON_CreateObject();
        cJSON *shapes = cJSON_AddArrayToObject(pair, "shapes"),
              *bodies = cJSON_AddArrayToObject(pair, "bodies");
        for (int i = 0; i < 2; i++) {
            int body = p.shape[shape[i]].body;
            cJSON_AddItemToArray(shapes, text_or_null(p.shape_name[shape[i]]));
            cJSON_AddItemToArray(bodies, text_or_null(body ? p.body[body - 1].name : NULL));
        }
        cli_json_add_number(pair, "penetration", penetration);
        cJSON_AddItemToArray(list, pair);
    }
}

static const char *name_of(const perp_robot_parts *p)
{
    return *p->name ? p->name : "unnamed";
}

void cli_print_ignored(const perp_robot_ignored *note)
{
    printf("%s:%ld:%ld: ignored: %s", note->file, note->line, note->column, note->what);
    if (note->count > 1) printf(" (%d times)", note->count);
    printf("\n");
}

static void print_parts(const perp_robot *robot, const perp_robot_parts *p, const counts *n,
                        const char *file)
{
    perp_robot_ignored note;
    printf("%s (%s): bodies: %d, joints: %d (positions: %d, velocities: %d), shapes: %d, "
           "actuators: %d, "
           "equalities: %d",
           name_of(p), file, n->bodies, n->joints, n->nq, n->nv, n->shapes, n->actuators,
           n->equalities);
    printf(n->tendons ? ", tendons: %d\n" : "\n", n->tendons);
    printf("step %g s, gravity (%g, %g, %g) m/s^2\n", p->options.step, p->options.gravity[0],
           p->options.gravity[1], p->options.gravity[2]);
    if (p->options.density > 0 || p->options.viscosity > 0)
        printf(
            "in a fluid of %g kg/m^3 and %g Pa s: bodies are dragged as boxes of their inertia\n",
            p->options.density, p->options.viscosity);
    for (int k = 0; k < perp_robot_keys(robot); k++) printf("key: %s\n", perp_robot_key(robot, k));
    int k = 0;
    for (; perp_robot_note(robot, k, &note); k++) cli_print_ignored(&note);
    if (k)
        printf("%d %s ignored\n", k, k == 1 ? "kind of thing is" : "kinds of things are");
    else
        printf("nothing is ignored\n");
}

#define FIELD(field) CLI_JSON(perp_robot_ignored, field)
static const cli_json_field note_fields[] = {FIELD(file), FIELD(line), FIELD(column), FIELD(what),
                                             FIELD(count)};
#undef FIELD

void cli_add_ignored(cJSON *list, const perp_robot_ignored *note)
{
    cJSON *item = cJSON_CreateObject();
    cli_json_add(item, note_fields, CLI_JSON_COUNT(note_fields), note);
    cJSON_AddItemToArray(list, item);
}

static void add_parts(cJSON *o, const perp_robot *robot, const perp_robot_parts *p, const counts *n,
                      const char *file)
{
    perp_robot_ignored note;
    cli_json_add_text(o, "model", p->name);
    cli_json_add_text(o, "file", file);
    cli_json_add(o, count_fields, CLI_JSON_COUNT(count_fields), n);
    cJSON *keys = cJSON_AddArrayToObject(o, "keys");
    for (int k = 0; k < perp_robot_keys(robot); k++)
        cJSON_AddItemToArray(keys, cJSON_CreateString(perp_robot_key(robot, k)));
    cJSON *ignored = cJSON_AddArrayToObject(o, "ignored");
    for (int k = 0; perp_robot_note(robot, k, &note); k++) cli_add_ignored(ignored, &note);
}

static perp_status load(const char *file, const perp_bodies_options *options, perp_robot **robot,
                        perp_bodies **bodies, perp_diag *diag)
{
    perp_status status = perp_robot_read(file, robot, diag);
    return status == PERP_OK ? perp_robot_create_bodies(*robot, options, bodies, diag) : status;
}

/* What every command ends with. */
static int finish(cJSON *json, int code, perp_diag *diag, perp_bodies *bodies, perp_robot *robot,
                  FILE *out)
{
    if (json) code = cli_json_end(json, code, diag, out);
    fflush(stdout);
    cli_print_diag(diag, stderr);
    perp_bodies_destroy(bodies);
    perp_robot_destroy(robot);
    perp_diag_clear(diag);
    return code;
}

int cli_check_robot(const cli_args *args, const char *file, int as_json)
{
    static const char *const allowed[] = {"json", NULL};
    perp_diag diag = {0};
    perp_robot *robot = NULL;
    perp_bodies *bodies = NULL;
    int code = check_options(args, allowed);
    if (code != CLI_DONE) return code;
    cJSON *json = as_json ? cli_json_begin("check") : NULL;
    perp_status status = load(file, NULL, &robot, &bodies, &diag);
    code = cli_file_code(status);
    if (status == PERP_OK) {
        perp_robot_parts p = *perp_robot_get_parts(robot);
        counts n = count(&p, bodies);
        if (json)
            add_parts(json, robot, &p, &n, file);
        else
            print_parts(robot, &p, &n, file);
        code = assemble(robot, bodies, file, &diag);
        if (json) add_excluded(json, robot, bodies);
    }
    if (json) cli_json_add_diagnostics(json, &diag, code != CLI_DONE);
    return finish(json, code, &diag, bodies, robot, stdout);
}

/* perp simulate -------------------------------------------------------------------------------- */

typedef struct result {
    long steps, divided; /* divided: taken in substeps */
    double time, step, contact_error, newton_error, penetration, seconds;
    int contacts; /* the most of any step */
} result;

#define FIELD(field) CLI_JSON(result, field)
static const cli_json_field result_fields[] = {
    FIELD(steps),       FIELD(time),    FIELD(step),     FIELD(contact_error), FIELD(newton_error),
    FIELD(penetration), FIELD(seconds), FIELD(contacts), FIELD(divided)};
#undef FIELD

/* t, q, v, activations, how many contacts, the larger of the two errors. */
enum { MORE_COLUMNS = 3, NAME_ROOM = 256 };

static int count_activations(const perp_robot_parts *p)
{
    int n = 0;
    for (int i = 0; i < p->nactuator; i++) n += p->actuator[i].activation != PERP_ACTIVATION_NONE;
    return n;
}

/* "lift.act"; of one without a name "actuator2.act". Returns 0: it has no activation. */
static int name_activation(const perp_robot_parts *p, int i, char *name, size_t size)
{
    const char *own = p->actuator_name[i];
    if (p->actuator[i].activation == PERP_ACTIVATION_NONE) return 0;
    if (own && *own)
        snprintf(name, size, "%s.act", own);
    else
        snprintf(name, size, "actuator%d.act", i + 1);
    return 1;
}

static const char *unit_of(perp_joint joint, int k, int is_v)
{
    if (joint == PERP_JOINT_HINGE) return is_v ? "rad/s" : "rad";
    if (joint == PERP_JOINT_SLIDE || (joint == PERP_JOINT_FREE && k < 3)) return is_v ? "m/s" : "m";
    return is_v ? "rad/s" : NULL;
}

/* Where the states of a run go. */
typedef struct states {
    perp_trajectory_writer *writer, *kept; /* kept: rows for the page where -o gives no file */
    char kept_path[CLI_PATH_ROOM];
    const char *rows; /* the file that the page is made of */
    perp_motion *motion;
    perp_robot_parts parts;
    double *row;
    cli_impact_list list;
    char listed[CLI_PATH_ROOM]; /* the file of --events */
} states;

static perp_status write_header(perp_trajectory_writer *w, const perp_robot *robot,
                                const perp_bodies *b, const char *file)
{
    perp_robot_parts p = *perp_robot_get_parts(robot);
    int nq = perp_bodies_nq(b), nv = perp_bodies_nv(b), na = count_activations(&p),
        n = nq + nv + na + MORE_COLUMNS;
    const char **name = malloc(2 * (size_t)n * sizeof *name), **unit = name + n;
    char line[CLI_PATH_ROOM + 32], (*act)[NAME_ROOM] = malloc((size_t)(na + 1) * sizeof *act);
    if (!name || !act) {
        free(name);
        free(act);
        return PERP_ERR_MEMORY;
    }
    for (int k = 0; k < n; k++) unit[k] = NULL;
    name[0] = "t";
    unit[0] = "s";
    for (int k = 0; k < nq; k++) name[1 + k] = perp_robot_q_name(robot, k);
    for (int k = 0; k < nv; k++) name[1 + nq + k] = perp_robot_v_name(robot, k);
    for (int i = 0; i < p.nbody; i++) {
        int q = perp_bodies_q_of(b, i + 1), v = perp_bodies_v_of(b, i + 1);
        perp_joint joint = p.body[i].joint;
        int one = joint == PERP_JOINT_HINGE || joint == PERP_JOINT_SLIDE;
        for (int k = 0; q >= 0 && k < (one ? 1 : 3); k++) {
            unit[1 + q + k] = unit_of(joint, k, 0);
            unit[1 + nq + v + k] = unit_of(joint, k, 1);
        }
        for (int k = 3; joint == PERP_JOINT_FREE && k < 6; k++)
            unit[1 + nq + v + k] = unit_of(joint, k, 1);
    }
    for (int i = 0, k = 0; k < na; i++)
        if (name_activation(&p, i, act[k], sizeof act[k])) {
            name[1 + nq + nv + k] = act[k];
            k++;
        }
    name[n - 2] = "contacts";
    name[n - 1] = "residual";
    snprintf(line, sizeof line, "robot %s", file);
    perp_trajectory_writer_comment(w, line);
    perp_status status = perp_trajectory_writer_header(w, n, name, unit);
    free(name);
    free(act);
    return status;
}

static perp_status write_row(states *s, const perp_bodies *b, const perp_bodies_info *info)
{
    int nq = perp_bodies_nq(b), nv = perp_bodies_nv(b), n = 1 + nq + nv;
    double *row = s->row;
    row[0] = perp_bodies_time(b);
    memcpy(row + 1, perp_bodies_q(b), (size_t)nq * sizeof *row);
    memcpy(row + 1 + nq, perp_bodies_v(b), (size_t)nv * sizeof *row);
    for (int i = 0; i < s->parts.nactuator; i++)
        if (s->parts.actuator[i].activation) row[n++] = perp_bodies_activation(b)[i];
    row[n++] = info->contacts;
    row[n] = info->step ? fmax(info->contact_error, info->newton_error) : (double)NAN;
    perp_status status = s->writer ? perp_trajectory_writer_row(s->writer, row) : PERP_OK;
    return status == PERP_OK && s->kept ? perp_trajectory_writer_row(s->kept, row) : status;
}

/* Where a name of --set is: q, v or, as NAME.u, a control, as NAME.act an activation; NULL:
 * nowhere. x has nq, nv, nu, nu numbers. */
static double *place_of(const perp_robot *robot, const perp_bodies *b, const char *name, size_t n,
                        double *x)
{
    perp_robot_parts p = *perp_robot_get_parts(robot);
    int nq = perp_bodies_nq(b), nv = perp_bodies_nv(b);
    for (int k = 0; k < nq + nv; k++) {
        const char *other = k < nq ? perp_robot_q_name(robot, k) : perp_robot_v_name(robot, k - nq);
        if (strlen(other) == n && memcmp(other, name, n) == 0) return &x[k];
    }
    for (int k = 0; k < p.nactuator && n > 2 && memcmp(name + n - 2, ".u", 2) == 0; k++) {
        const char *other = p.actuator_name[k];
        if (other && strlen(other) == n - 2 && memcmp(other, name, n - 2) == 0)
            return &x[nq + nv + k];
    }
    for (int k = 0; k < p.nactuator; k++) {
        char other[NAME_ROOM];
        if (name_activation(&p, k, other, sizeof other) && strlen(other) == n &&
            memcmp(other, name, n) == 0)
            return &x[nq + nv + p.nactuator + k];
    }
    return NULL;
}

static int set_one(const perp_robot *robot, const perp_bodies *b, const char *setting, double *x)
{
    const char *equals = strchr(setting, '='), *rest = NULL;
    double value = equals ? perp_number_read(equals + 1, &rest) : 0;
    if (!equals || rest == equals + 1 || *rest || !isfinite(value)) {
        cli_say("perp simulate: --set needs NAME=NUMBER, not '%s'\n", setting);
        return CLI_USAGE;
    }
    double *at = place_of(robot, b, setting, (size_t)(equals - setting), x);
    if (!at)
        cli_say("perp simulate: --set %s: the robot has no position, velocity, control (NAME.u) or "
                "activation (NAME.act) of this name; there are:",
                setting);
    for (int k = 0; !at && k < perp_bodies_nq(b); k++) cli_say(" %s", perp_robot_q_name(robot, k));
    if (!at) cli_say("\n");
    if (at) *at = value;
    return at ? CLI_DONE : CLI_USAGE;
}

static int find_key(const perp_robot *robot, const char *name)
{
    for (int k = 0; k < perp_robot_keys(robot); k++)
        if (strcmp(perp_robot_key(robot, k), name) == 0) return k;
    cli_say("perp simulate: --key %s: there is no keyframe of this name%s", name,
            perp_robot_keys(robot) ? "; there are:" : "");
    for (int k = 0; k < perp_robot_keys(robot); k++) cli_say(" %s", perp_robot_key(robot, k));
    cli_say("\n");
    return -1;
}

/* The start: the file's, a keyframe's, then what is set. */
static int begin(const cli_robot_run *run, const perp_robot *robot, perp_bodies *b)
{
    int nq = perp_bodies_nq(b), nv = perp_bodies_nv(b), nu = perp_bodies_nu(b), code = CLI_DONE;
    int key = run->key ? find_key(robot, run->key) : -1;
    if (run->key && key < 0) return CLI_USAGE;
    double *x = calloc((size_t)(nq + nv + 2 * nu + 1), sizeof *x);
    if (!x) return cli_exit_code(PERP_ERR_MEMORY);
    if (key >= 0) perp_robot_set_key(robot, key, b);
    if (nu) memcpy(x + nq + nv + nu, perp_bodies_activation(b), (size_t)nu * sizeof *x);
    if (key >= 0) memcpy(x + nq + nv, perp_robot_key_control(robot, key), (size_t)nu * sizeof *x);
    memcpy(x, perp_bodies_q(b), (size_t)nq * sizeof *x);
    memcpy(x + nq, perp_bodies_v(b), (size_t)nv * sizeof *x);
    for (int i = 0; i < run->set->n && code == CLI_DONE; i++)
        code = set_one(robot, b, run->set->item[i], x);
    if (code == CLI_DONE && perp_bodies_set(b, x, x + nq) != PERP_OK) {
        cli_say("perp simulate: --set: a rotation of length 0\n");
        code = CLI_USAGE;
    }
    if (code == CLI_DONE && nu) perp_bodies_set_control(b, x + nq + nv);
    if (code == CLI_DONE && nu) perp_bodies_set_activation(b, x + nq + nv + nu);
    free(x);
    return code;
}

/* Impacts -------------------------------------------------------------------------------------- */

enum { WORDS_ROOM = 512 };

static void add_name(char *text, const char *name, const char *kind, int number)
{
    size_t n = strlen(text);
    const char *before = n ? ", " : "";
    if (name && *name)
        snprintf(text + n, WORDS_ROOM - n, "%s%s", before, name);
    else
        snprintf(text + n, WORDS_ROOM - n, "%s%s %d", before, kind, number);
}

/* "floor, shape 2" and "world, cup", the texts in `room`. */
static cli_impact in_words(const perp_robot_parts *p, const perp_impact *impact,
                           char room[2][WORDS_ROOM])
{
    room[0][0] = room[1][0] = 0;
    for (int side = 0; side < 2 && impact->shape[0] >= 0; side++) {
        int shape = impact->shape[side], body = impact->body[side];
        add_name(room[0], p->shape_name[shape], "shape", shape + 1);
        add_name(room[1], body ? p->body[body - 1].name : "world", "body", body);
    }
    return (cli_impact){*impact, room[0], room[1], "N s"};
}

static void take_impacts(states *s, const perp_bodies *b)
{
    const perp_impact *impact;
    char room[2][WORDS_ROOM];
    int n = cli_impact_list_is_wanted(&s->list) ? perp_bodies_impacts(b, &impact) : 0;
    for (int k = 0; k < n; k++) {
        cli_impact x = in_words(&s->parts, &impact[k], room);
        cli_impact_list_add(&s->list, &x);
    }
}

static cli_impacts impacts_of(const perp_robot *robot, const perp_bodies *b,
                              char room[2][WORDS_ROOM])
{
    cli_impacts x;
    perp_impact largest;
    x.count = perp_bodies_impact_count(b, &largest, &x.energy);
    x.largest = in_words(perp_robot_get_parts(robot), &largest, room);
    return x;
}

static perp_status step_on(const cli_robot_run *run, perp_bodies *b, states *s, result *r,
                           perp_diag *diag)
{
    perp_bodies_info info = {.size = sizeof info};
    long steps = lround(run->to / r->step);
    perp_status status = write_row(s, b, &info);
    if (status == PERP_OK && s->motion) status = perp_motion_add(s->motion, b);
    for (long k = 1; k <= steps && status == PERP_OK; k++) {
        if (cli_is_interrupted()) return PERP_ERR_STOPPED;
        status = perp_bodies_step(b, &info, diag);
        status = perp_outcome_status(status, info.outcome);
        if (status != PERP_OK) break;
        r->steps = k;
        r->time = info.time;
        r->contact_error = fmax(r->contact_error, info.contact_error);
        r->newton_error = fmax(r->newton_error, info.newton_error);
        r->penetration = fmax(r->penetration, info.penetration);
        r->divided += info.substeps > 1;
        if (info.contacts > r->contacts) r->contacts = info.contacts;
        take_impacts(s, b);
        if (s->motion) status = perp_motion_add(s->motion, b);
        if (status == PERP_OK && (k % run->every == 0 || k == steps))
            status = write_row(s, b, &info);
    }
    return status;
}

static void print_result(const cli_robot_run *run, const perp_robot *robot, const perp_bodies *b,
                         const result *r, const states *s, perp_status status)
{
    char room[2][WORDS_ROOM];
    cli_impacts impacts = impacts_of(robot, b, room);
    FILE *out = cli_text_stream(run->out, run->report);
    perp_robot_parts p = *perp_robot_get_parts(robot);
    perp_robot_ignored note;
    int ignored = 0;
    while (perp_robot_note(robot, ignored, &note)) ignored++;
    fprintf(out, "%s (%s): bodies: %d, velocities: %d, shapes: %d\n", name_of(&p), run->file,
            p.nbody, perp_bodies_nv(b), p.nshape);
    fprintf(
        out,
        "%ld steps of %g s to t = %g s%s%s%s: each verified, laws of contacts and joints to %.1e, "
        "Newton's law to %.1e; %d contacts at most, penetration %.1e m; %.3g s\n",
        r->steps, r->step, r->time, status == PERP_OK ? "" : ", where it stopped",
        run->method ? ", method " : "",
        run->method ? perp_bodies_method_name((perp_bodies_method)run->method) : "",
        r->contact_error, r->newton_error, r->contacts, r->penetration, r->seconds);
    cli_impacts_print(out, &impacts);
    if (r->divided)
        fprintf(out,
                "%ld of them were divided into substeps, at impacts or as they were rejected\n",
                r->divided);
    if (ignored)
        fprintf(out, "%d kinds of things in the file are ignored: perp check lists them\n",
                ignored);
    if (run->out && !cli_is_dash(run->out) && status == PERP_OK)
        fprintf(out, "rows: %s\n", run->out);
    if (s->listed[0] && !cli_is_dash(run->events)) fprintf(out, "impacts: %s\n", s->listed);
    if (run->report && !cli_is_dash(run->report) && status == PERP_OK)
        fprintf(out, "report: %s\n", run->report);
}

static perp_status open_writer(const cli_robot_run *run, const perp_robot *robot,
                               const perp_bodies *b, const char *path, int stream,
                               perp_trajectory_writer **w, perp_diag *diag)
{
    perp_status status = stream ? perp_trajectory_writer_stream(path, w, diag)
                                : perp_trajectory_writer_create(path, w, diag);
    return status == PERP_OK ? write_header(*w, robot, b, run->file) : status;
}

/* The rows, and what a page needs beside them. */
static perp_status open_states(const cli_robot_run *run, const perp_robot *robot,
                               const perp_bodies *b, states *s, perp_diag *diag)
{
    perp_status status = PERP_OK;
    s->parts = *perp_robot_get_parts(robot);
    s->row = malloc((size_t)(perp_bodies_nq(b) + perp_bodies_nv(b) + count_activations(&s->parts) +
                             MORE_COLUMNS) *
                    sizeof *s->row);
    if (!s->row) return PERP_ERR_MEMORY;
    s->rows = run->out;
    if (run->out) status = open_writer(run, robot, b, run->out, run->stream, &s->writer, diag);
    if (status == PERP_OK && run->events)
        status = cli_events_open(&s->list.events, run->events, diag);
    if (status != PERP_OK || !run->report) return status;
    status = perp_motion_create(b, &s->motion);
    if (status != PERP_OK || cli_is_plain_file(run->out)) return status;
    snprintf(s->kept_path, sizeof s->kept_path, "%s.%ld.csv",
             cli_is_dash(run->report) ? "perp-report" : run->report, (long)getpid());
    s->rows = s->kept_path;
    return open_writer(run, robot, b, s->kept_path, 1, &s->kept, diag);
}

/* The end of the rows, and the page: of a run that stopped, of its rows so far. */
static perp_status close_states(const cli_robot_run *run, const char *name, states *s,
                                perp_status status, perp_diag *diag)
{
    char reason[256] = "interrupted", page[CLI_PATH_ROOM], partial[CLI_PATH_ROOM];
    int is_whole = status == PERP_OK;
    if (status != PERP_ERR_STOPPED) snprintf(reason, sizeof reason, "%.250s", perp_diag_text(diag));
    if (!is_whole && s->writer && !s->kept) {
        snprintf(partial, sizeof partial, "%s", perp_trajectory_writer_partial(s->writer));
        s->rows = partial;
    }
    perp_status closed[3];
    if (s->list.events.file)
        snprintf(s->listed, sizeof s->listed, "%s",
                 is_whole || !s->list.events.partial ? run->events : s->list.events.partial);
    closed[0] = perp_trajectory_writer_close(s->writer, is_whole ? NULL : reason, diag);
    closed[1] = perp_trajectory_writer_close(s->kept, is_whole ? NULL : reason, diag);
    closed[2] = cli_events_close(&s->list.events, run->events, is_whole, diag);
    for (int k = 0; k < 3; k++)
        if (is_whole && closed[k] != PERP_OK) status = closed[k];
    if (s->motion && perp_motion_frames(s->motion, NULL) && status != PERP_ERR_FILE &&
        status != PERP_ERR_MEMORY) {
        const char *html = cli_result_name(run->report, !is_whole, page);
        perp_status shown =
            cli_report_run(html, s->rows, NULL, NULL, NULL, 0, name, s->motion, diag);
        if (status == PERP_OK) status = shown;
    }
    if (s->kept) remove(s->kept_path);
    return status;
}

/* The states of a run, if they are wanted, and how it ended. */
static perp_status simulate(const cli_robot_run *run, const perp_robot *robot, perp_bodies *b,
                            result *r, states *s, perp_diag *diag)
{
    perp_status status = open_states(run, robot, b, s, diag);
    double start = cli_now();
    if (status == PERP_OK) status = step_on(run, b, s, r, diag);
    r->seconds = cli_now() - start;
    perp_robot_parts p = *perp_robot_get_parts(robot);
    status = close_states(run, name_of(&p), s, status, diag);
    free(s->row);
    perp_motion_destroy(s->motion);
    return status;
}

static void add_impacts(cJSON *json, const perp_robot *robot, const perp_bodies *b, states *s)
{
    char room[2][WORDS_ROOM];
    cli_impacts impacts = impacts_of(robot, b, room);
    cJSON_AddItemToObject(json, "impacts", cli_impacts_json(&impacts, &s->list));
    cli_json_add_text(json, "events", s->listed[0] ? s->listed : NULL);
}

static int check_method(const cli_robot_run *run)
{
    if (run->method >= 0) return CLI_DONE;
    cli_say("perp simulate: --method of a robot file is one of:");
    for (int k = 0; k < PERP_BODIES_METHOD_COUNT; k++)
        cli_say(" %s", perp_bodies_method_name((perp_bodies_method)k));
    cli_say("\n");
    return CLI_USAGE;
}

int cli_simulate_robot(const cli_robot_run *run)
{
    static const char *const allowed[] = {"to",     "step",   "set",     "o",   "every",
                                          "quiet",  "json",   "no-plot", "key", "stream",
                                          "report", "method", "events",  NULL};
    perp_diag diag = {0};
    perp_robot *robot = NULL;
    perp_bodies *bodies = NULL;
    cli_robot_run own = *run;
    result r = {0};
    int code = check_options(run->args, allowed);
    if (code == CLI_DONE) code = check_method(run);
    if (code == CLI_DONE && run->report && !perp_report_has_page()) { /* before the work */
        code = cli_exit_code(perp_report_write_html(NULL, 0, NULL, run->report, &diag));
        return finish(NULL, code, &diag, NULL, NULL, stdout);
    }
    if (code == CLI_DONE) code = cli_check_outputs(run->args, run->request, NULL, &run->file, 1);
    if (code != CLI_DONE) return code;
    if (!isfinite(own.to)) own.to = 1;
    cJSON *json = run->as_json ? cli_json_begin("simulate") : NULL;
    perp_status status = perp_robot_read(run->file, &robot, &diag);
    if (status == PERP_OK) {
        perp_bodies_options o = perp_robot_get_parts(robot)->options;
        if (isfinite(run->step)) o.step = run->step;
        o.method = (perp_bodies_method)run->method;
        r.step = o.step;
        status = perp_robot_create_bodies(robot, &o, &bodies, &diag);
    }
    code = cli_file_code(status);
    if (code == CLI_DONE && !(own.to > 0 && own.to / r.step < 1e15)) {
        cli_say("perp simulate: --to: a time > 0 is expected\n");
        code = CLI_USAGE;
    }
    if (code == CLI_DONE) code = begin(&own, robot, bodies);
    if (code == CLI_DONE) code = assemble(robot, bodies, run->file, &diag);
    if (code == CLI_DONE) {
        cli_catch_signals();
        states s = {.list.json = json ? cJSON_CreateArray() : NULL};
        status = simulate(&own, robot, bodies, &r, &s, &diag);
        code = cli_exit_code(status);
        if (!run->quiet && !json && status != PERP_ERR_FILE)
            print_result(&own, robot, bodies, &r, &s, status);
        if (json) {
            cli_json_add_text(json, "model", perp_robot_get_parts(robot)->name);
            cli_json_add_text(json, "file", run->file);
            const char *outcome = "no solution";
            if (status == PERP_OK)
                outcome = "verified";
            else if (status == PERP_ERR_STOPPED)
                outcome = "interrupted";
            cli_json_add_text(json, "outcome", outcome);
            cli_json_add(json, result_fields, CLI_JSON_COUNT(result_fields), &r);
            cli_json_add_text(json, "method",
                              perp_bodies_method_name((perp_bodies_method)run->method));
            cli_json_add_text(json, "trajectory", run->out);
            add_impacts(json, robot, bodies, &s);
            add_excluded(json, robot, bodies);
        }
    }
    return finish(json, code, &diag, bodies, robot, cli_text_stream(run->out, run->report));
}
