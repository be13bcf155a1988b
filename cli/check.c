/* perp check: what a model is, what its step's matrix promises, and what looks wrong, before
 * anything runs. */

#include "cli.h"
#include "json.h"
#include "robot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    cli_args args;
    const char *file;
    cli_list set, input, folder;
    perp_simulation_options o;
    int as_json, flat;
} request;

#define INTO(field) CLI_INTO(request, field)

static const cli_option options[] = {
    {"", "FILE.perp", NULL, INTO(file), .needed = "which model?"},
    {"set", "NAME=VALUE", "a parameter, an initial value, or a constant input; may be repeated",
     INTO(set)},
    CLI_FOLDER_OPTION,
    {"input", "NAME=FILE[:COLUMN]", "an input from a CSV table; may be repeated", INTO(input)},
    {"step", "H", "step [s] (default: the model's, else 1e-3)", INTO(o.step), .is_positive = 1},
    {"flat", NULL,
     "print the model without parts, loops and sums instead, as a model that gives the same "
     "numbers",
     INTO(flat)},
    CLI_JSON_OPTION(request),
};

const cli_command cli_command_check = {
    .name = "check",
    .usage = "FILE.perp [options]",
    .about = "Print the sizes and the kind of a step, the class of its complementarity matrix at "
             "the initial state and what that\n"
             "guarantees, and warnings: forces that cannot be unique, divisions and roots that may "
             "leave their domain, units that\n"
             "do not match, names that nothing uses, what the start breaks. With a plan block also "
             "the size of the plan.",
    .notes =
        "A robot file (.xml, .urdf) instead of a model: what it has, and what of it is ignored "
        "(docs/robots.md).\n\n"
        "exit codes: 0 the model can be run (also with warnings), 1 usage, 2 bad model, 4 "
        "file or memory",
    CLI_OPTIONS(options)};

#define FIELD(field) CLI_JSON(perp_check_report, field)
#define FLAG(field)  CLI_JSON_AS(CLI_JSON_FLAG, perp_check_report, field)
static const cli_json_field fields[] = {
    FIELD(unknowns),     FIELD(equations),
    FIELD(pairs),        FIELD(cones),
    FLAG(affine),        FLAG(constant),
    FIELD(coefficients), FIELD(changing),
    FIELD(active),       FIELD(warnings),
    FIELD(index),        FIELD(held_equations),
    FIELD(held_pairs),   CLI_JSON_AS(CLI_JSON_ANSWER, perp_check_report, unique)};
#undef FIELD
#undef FLAG

static const char *plural(int n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

static void print_sizes(const perp_model *model, const perp_check_report *r)
{
    int np = perp_model_count(model, PERP_PARAM), nu = perp_model_count(model, PERP_INPUT),
        nx = perp_model_count(model, PERP_STATE);
    int nv = perp_model_count(model, PERP_VAR);
    printf("%s (%s): %s, %d %s, %d %s, %d %s, %d %s\n", perp_model_name(model),
           perp_model_file(model),
           perp_model_get_kind(model) == PERP_DISCRETE ? "discrete" : "continuous", nx,
           plural(nx, "state", "states"), nv, plural(nv, "var", "vars"), nu,
           plural(nu, "input", "inputs"), np, plural(np, "parameter", "parameters"));
    const char *kind = "affine with coefficients that change from step to step";
    if (!r->affine)
        kind = "nonlinear: Newton's method on linearised steps";
    else if (r->constant)
        kind = "affine with constant coefficients: eliminated once a run";
    printf("a step: %d %s, %d %s, %d complementarity %s; %s\n", r->unknowns,
           plural(r->unknowns, "unknown", "unknowns"), r->equations,
           plural(r->equations, "equation", "equations"), r->pairs,
           plural(r->pairs, "pair", "pairs"), kind);
    printf("coefficients: %d, of which %d change\n", r->coefficients, r->changing);
    if (perp_model_get_kind(model) == PERP_DISCRETE) return;
    const char *named = perp_model_simulate_task(model).method,
               *fits = perp_integrator_name(cli_recommend(model));
    printf("method: %s", named ? named : fits);
    if (named && strcmp(named, fits) != 0) printf("; %s fits this model", fits);
    printf(named ? "\n" : ", which fits this model; it names none\n");
}

/* Of a model without a method, the one that fits it. */
static perp_integrator method_of(const perp_model *model, const perp_simulation_options *o)
{
    return perp_model_simulate_task(model).method ? o->integrator : cli_recommend(model);
}

enum { TOO_SHORT = 1000 }; /* times less than what the scales ask for */

/* How the step that is given is beside what the scales ask for. */
static const char *verdict(const perp_time_scales *scales, perp_integrator method, double step)
{
    const perp_step_advice *of = &scales->of[method];
    if (isnan(step)) return "not given";
    if (of->error > 0.1) return "too long";
    return step * TOO_SHORT < of->step && !scales->reads_time ? "much too short" : "fits";
}

static const char *kind_word(perp_motion_kind kind)
{
    static const char *const word[] = {"run", "swing", "decay", "growth"};
    return word[kind];
}

static void print_pair(const perp_model *model, perp_statement pair)
{
    if (strcmp(pair.file, perp_model_file(model)) == 0)
        printf(" (with the pair in line %d on its other side)", pair.line);
    else
        printf(" (with the pair in %s:%d, %s, on its other side)", pair.file, pair.line, pair.text);
}

static void print_scale(const perp_model *model, const perp_time_scale *scale)
{
    printf("a %s of %.3g s", kind_word(scale->kind), scale->time);
    if (scale->pair >= 0) print_pair(model, perp_model_pair(model, scale->pair));
}

static int is_same(const perp_time_scale *a, const perp_time_scale *b)
{
    return a->kind == b->kind && a->time == b->time && a->pair == b->pair;
}

static int is_changed(const perp_step_advice *of)
{
    return of->error > 1e-6;
}

/* What a step that is given does to the scale that it changes most. */
static void print_change(const perp_model *model, const perp_step_advice *of)
{
    if (!is_changed(of)) return;
    print_scale(model, &of->worst);
    if (of->error >= 1)
        printf(" is not followed; ");
    else
        printf(" changes by %.2g %% while it lasts; ", 100 * of->error);
}

/* What is asked of a step, and by what. */
static void print_advice(const perp_model *model, const perp_step_advice *of)
{
    if (isnan(of->step)) {
        printf("nothing was found that swings, decays or grows");
    } else if (of->asks.kind == PERP_MOTION_NONE) {
        printf("%g s would do, 1/100 of the run: nothing faster was found", of->step);
    } else {
        printf("%g s keeps ", of->step);
        if (is_changed(of) && is_same(&of->asks, &of->worst))
            printf("it");
        else
            print_scale(model, &of->asks);
        printf(" within 1 %%");
    }
}

/* One line: the step, beside what the scales ask for, and why. */
static void print_step(const perp_model *model, const perp_simulation_options *o,
                       const perp_time_scales *scales)
{
    if (perp_model_get_kind(model) == PERP_DISCRETE) return;
    if (scales->unknown) {
        printf("step: no time scale is known: %s\n", scales->unknown);
        return;
    }
    perp_integrator method = method_of(model, o), fits = cli_recommend(model);
    const perp_step_advice *of = &scales->of[method];
    const char *is = verdict(scales, method, o->step), *word = perp_integrator_name(method);
    printf("step: ");
    if (!isnan(o->step)) {
        printf(*is == 'f' ? "%g s %s %s; " : "%g s is %s for %s; ", o->step, is, word);
        print_change(model, of);
    }
    print_advice(model, of);
    if (isnan(o->step) && !isnan(of->step)) printf(" with %s", word);
    if (fits != method && !isnan(scales->of[fits].step))
        printf(" (%s: %g s)", perp_integrator_name(fits), scales->of[fits].step);
    printf("; linearised at the first step, without impacts%s\n",
           scales->reads_time ? " and functions of time" : "");
    if (method == PERP_THETA && scales->passed.kind && o->step > scales->passed.time) {
        printf("  theta makes ");
        print_scale(model, &scales->passed);
        printf(" ring; radau5 and backward-euler pass over it\n");
    }
}

/* Conditions on positions, for which a step has to find forces. */
static void print_index(const perp_check_report *r)
{
    int ne = r->held_equations, np = r->held_pairs;
    if (r->index < 3) return;
    printf("index: %d, of ", r->index);
    if (ne > 0) printf("%d %s%s", ne, plural(ne, "equation", "equations"), np > 0 ? " and " : "");
    if (np > 0) printf("%d %s", np, plural(np, "pair", "pairs"));
    printf(" that %s positions alone: derivatives of order %d tell the forces\n",
           plural(ne + np, "reads", "read"), r->index - 1);
}

static void print_matrix(const perp_check_report *r)
{
    const perp_lcp_class *M = &r->M;
    if (r->active < 0) {
        printf("M at the initial state: not formed (the step is singular there, or too large)\n");
        return;
    }
    if (r->active == 0) {
        printf("M at the initial state: empty, %s\n",
               r->cones ? "all friction is in exact cones" : "there is no pair");
        return;
    }
    printf("M at the initial state (%d x %d): symmetric %s, positive definite %s, semidefinite %s, "
           "P %s, P0 %s, copositive %s\n",
           r->active, r->active, cli_class_word(M->symmetric), cli_class_word(M->positive_definite),
           cli_class_word(M->positive_semidefinite), cli_class_word(M->p_matrix),
           cli_class_word(M->p0_matrix), cli_class_word(M->copositive));
    if (r->cones > 0)
        printf("  %d exact friction %s not in M, so it guarantees nothing\n", r->cones,
               plural(r->cones, "cone is", "cones are"));
    else if (M->positive_definite > 0 || M->p_matrix > 0)
        printf("  exactly one solution%s, whatever the forces\n",
               r->affine ? "" : " of the linearised step");
    else if (r->unique > 0)
        printf("  exactly one solution%s, whatever the forces: a two-sided pair is at one of its "
               "bounds or between them\n",
               r->affine ? "" : " of the linearised step");
    else if (M->positive_semidefinite > 0)
        printf("  a solution whenever the conditions can be met at all; Lemke's method finds it or "
               "proves there is none\n");
    else if (M->copositive > 0)
        printf("  Lemke's method finds a solution if the forces do not point into the constraints "
               "without way out\n");
    else
        printf("  no guarantee: there may be no solution, or several\n");
}

static void add_json(cJSON *o, const perp_model *model, const perp_check_report *r,
                     const perp_plan_size *plan)
{
    cJSON_AddStringToObject(o, "model", perp_model_name(model));
    cJSON_AddStringToObject(o, "file", perp_model_file(model));
    cli_json_add(o, fields, CLI_JSON_COUNT(fields), r);
    if (r->active > 0) cli_json_add_class(cJSON_AddObjectToObject(o, "M"), &r->M);
    if (plan->steps) cli_json_add_size(cJSON_AddObjectToObject(o, "plan"), plan);
    perp_robot_ignored note;
    cJSON *ignored = cJSON_AddArrayToObject(o, "ignored");
    for (int k = 0; perp_model_ignored(model, k, &note); k++) cli_add_ignored(ignored, &note);
}

static void add_pair(cJSON *o, perp_statement pair)
{
    cJSON_AddStringToObject(o, "other_side_in", pair.file);
    cJSON_AddNumberToObject(o, "other_side_of_line", pair.line);
}

static void add_scale(cJSON *o, const char *name, const perp_model *model,
                      const perp_time_scale *scale)
{
    if (scale->kind == PERP_MOTION_NONE) {
        cJSON_AddNullToObject(o, name);
        return;
    }
    cJSON *to = cJSON_AddObjectToObject(o, name);
    cJSON_AddStringToObject(to, "kind", kind_word(scale->kind));
    cli_json_add_number(to, "time", scale->time);
    if (scale->pair >= 0) add_pair(to, perp_model_pair(model, scale->pair));
}

static void add_advice(cJSON *o, const perp_model *model, const perp_time_scales *scales,
                       perp_integrator method)
{
    cJSON_AddStringToObject(o, "method", perp_integrator_name(method));
    cli_json_add_number(o, "step", scales->of[method].step);
    add_scale(o, "asked_by", model, &scales->of[method].asks);
}

static void add_scales(cJSON *json, const perp_model *model, const perp_simulation_options *o,
                       const perp_time_scales *scales)
{
    if (perp_model_get_kind(model) == PERP_DISCRETE) return;
    cJSON *to = cJSON_AddObjectToObject(json, "time_scales");
    perp_integrator method = method_of(model, o);
    cli_json_add_text(to, "unknown", scales->unknown);
    if (scales->unknown) return;
    add_scale(to, "swing", model, &scales->swing);
    add_scale(to, "decay", model, &scales->decay);
    add_scale(to, "growth", model, &scales->growth);
    cJSON_AddBoolToObject(to, "reads_time", scales->reads_time);
    cli_json_add_number(to, "horizon", scales->horizon);
    cli_json_add_number(to, "step", o->step);
    cJSON_AddStringToObject(to, "verdict", verdict(scales, method, o->step));
    cli_json_add_number(to, "error", scales->of[method].error);
    add_advice(cJSON_AddObjectToObject(to, "advice"), model, scales, method);
    add_advice(cJSON_AddObjectToObject(to, "fits"), model, scales, cli_recommend(model));
}

/* The plan block is transcribed, as perp plan does first. */
static int check_plan(const perp_model *model, perp_plan_size *size, perp_diag *diag)
{
    perp_plan *plan = NULL;
    if (!perp_model_has_block(model, "plan")) return CLI_DONE;
    perp_plan_options o = perp_plan_options_default(model);
    perp_status status = perp_plan_create(model, &o, &plan, diag);
    if (status == PERP_OK) *size = perp_plan_get_size(plan);
    perp_plan_destroy(plan);
    return status == PERP_ERR_ARG ? CLI_BAD_INPUT : cli_exit_code(status);
}

static void print_plan(const perp_model *model, const perp_plan_size *size)
{
    if (size->steps == 0) return;
    printf("the plan: %d %s (%s), %d unknowns, %d conditions, %d %s\n", size->steps,
           plural(size->steps, "step", "steps"),
           perp_plan_method_name(perp_plan_options_default(model).method), size->unknowns,
           size->rows, size->pairs, plural(size->pairs, "pair", "pairs"));
}

/* Inputs that a plan chooses or recorded runs have are looked at in the middle of their range. */
static int settle_inputs(perp_model *model, int *settled)
{
    *settled = 0;
    if (!perp_model_has_block(model, "plan") && !perp_model_has_block(model, "identify"))
        return CLI_DONE;
    *settled = perp_model_settle_inputs(model);
    if (*settled >= 0) return CLI_DONE;
    return cli_exit_code(PERP_ERR_MEMORY);
}

int cli_look(perp_model *model, perp_plan_size *plan, int *settled, perp_diag *diag)
{
    int code = check_plan(model, plan, diag);
    return code == CLI_DONE ? settle_inputs(model, settled) : code;
}

int perp__cmd_check(int argc, char **argv)
{
    request r = {.args = {&cli_command_check, argc, argv}};
    int code = cli_read(&r.args, &r);
    perp_diag diag = {0};
    perp_model *model = NULL;
    perp_check_report report = {.size = sizeof report};
    perp_time_scales scales = {.size = sizeof scales};
    perp_plan_size plan = {0};
    int settled = 0;
    if (code == CLI_DONE && cli_is_robot(r.file)) {
        code = cli_check_robot(&r.args, r.file, r.as_json);
        free(r.set.item);
        free(r.folder.item);
        free(r.input.item);
        return code;
    }
    cJSON *json = code == CLI_DONE && r.as_json && !r.flat ? cli_json_begin("check") : NULL;
    if (code == CLI_DONE) code = cli_load(r.file, "check", &r.set, &r.folder, &model, &diag);
    if (code == CLI_DONE) code = cli_apply_inputs(model, "check", &r.input, &diag);
    if (code == CLI_DONE && r.flat) code = cli_exit_code(perp_model_write_flat(model, "-", &diag));
    int looks = code == CLI_DONE && !r.flat;
    if (looks) code = cli_look(model, &plan, &settled, &diag);
    if (code == CLI_DONE && looks) {
        r.o = perp_simulation_options_default(model);
        cli_read_again(&r.args, &r);
        perp_status status = perp_check(model, &r.o, &report, &diag);
        code = status == PERP_ERR_ARG ? CLI_BAD_INPUT : cli_exit_code(status);
    }
    if (code == CLI_DONE && looks)
        code = cli_exit_code(perp_time_scales_find(model, &r.o, &scales, &diag));
    if (code == CLI_DONE && looks && r.as_json) {
        add_json(json, model, &report, &plan);
        add_scales(json, model, &r.o, &scales);
    } else if (code == CLI_DONE && looks) {
        print_sizes(model, &report);
        print_step(model, &r.o, &scales);
        print_index(&report);
        print_matrix(&report);
        print_plan(model, &plan);
        if (settled)
            printf("%d %s without a value: taken in the middle of the range\n", settled,
                   plural(settled, "input", "inputs"));
        perp_robot_ignored note;
        for (int k = 0; perp_model_ignored(model, k, &note); k++) cli_print_ignored(&note);
        printf("%d %s\n", report.warnings, plural(report.warnings, "warning", "warnings"));
    }
    if (json) cli_json_add_diagnostics(json, &diag, code != CLI_DONE);
    if (json) code = cli_json_end(json, code, &diag, stdout);
    fflush(stdout);
    cli_print_diag(&diag, code == CLI_DONE ? stdout : stderr);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    free(r.set.item);
    free(r.folder.item);
    free(r.input.item);
    return code;
}
