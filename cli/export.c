/* perp export: a model as a file for other programs. */

#include "cli.h"
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct request {
    cli_args args;
    const char *file, *out, *library;
    const char *endings; /* of what is written; NULL: a folder */
    int is_code;         /* perp export c: C code, not an FMU */
    int is_part;         /* perp export perp: a robot file as a part of the language */
    int is_casadi;       /* perp export casadi: its conditions as C functions */
    const char *key, *contacts;
    int order; /* of derivatives for CasADi */
    perp_fmu_options o;
    cli_list set;
    int as_json, quiet;
} request;

#define INTO(field) CLI_INTO(request, field)

static const cli_option options[] = {
    {"", "FILE.perp", NULL, INTO(file), .needed = "which model?"},
    {"o", "FILE|DIR", "the functional mock-up unit, the C file for CasADi; of C code, the folder",
     INTO(out), .is_output = 1, .needed = "to which file (-o)?"},
    {"fmi", "2|3", "FMU: version of the standard (default 3)", INTO(o.version), .least = 2,
     .most = 3},
    {"set", "NAME=VALUE", "a parameter, an initial value, or a constant input; may be repeated",
     INTO(set)},
    {"step", "H", "step of the run inside [s] (default: the model's)", INTO(o.step),
     .is_positive = 1},
    {"to", "T", "FMU: end time that is proposed [s] (default: the model's)", INTO(o.to)},
    {"method", "NAME",
     "how time is stepped (default: as perp simulate; of C code, the model's, else backward-euler)",
     INTO(o.integrator), .words = cli_integrators},
    {"library", "FILE.so", "FMU: the library that goes into it (default: perp-fmu.so of this perp)",
     INTO(library)},
    {"order", "0|1|2", "CasADi: of derivatives (default 2)", INTO(order), .least = 0, .most = 2},
    {"key", "NAME", "robot: the keyframe where it starts", INTO(key)},
    {"contacts", "all|ground|none", "robot: which contacts (default all)", INTO(contacts)},
    {"quiet", NULL, "print nothing but what is wrong", INTO(quiet)},
    CLI_JSON_OPTION(request),
};

const cli_command cli_command_export = {
    .name = "export",
    .usage = "FILE.perp -o FILE.fmu [options]\n       perp export c FILE.perp -o DIR [options]\n   "
             "    perp export casadi FILE.perp -o FILE.c [--order 1] [--set NAME=VALUE]\n"
             "       perp export perp FILE.xml -o FILE.perp [--key NAME] [--contacts WHICH]",
    .about =
        "Write the model as a functional mock-up unit (FMU) for co-simulation, which other "
        "simulators import: its text, what it\n"
        "uses, and one library that runs it; nothing is compiled. Every step is verified as by "
        "perp simulate; one without a\n"
        "verified solution ends with Discard, and the importer gets the pair at fault.\n"
        "Or, with the word c before the file, as C99 for anything that has a compiler: a source, a "
        "header, and a program "
        "that runs\n"
        "them. It allocates nothing, needs libm alone, and verifies every step. docs/export.md.\n"
        "Or, with the word casadi, its equations, pairs and outputs with exact sparse derivatives, "
        "as C functions that CasADi loads.\n"
        "Or, with the word perp, a robot file (MJCF, URDF) as the part of the language that `robot "
        "NAME "
        "= \"FILE\"` takes. docs/robots.md.",
    .notes = "exit codes: 0 written, 1 usage, 2 bad model, 4 file or memory",
    CLI_OPTIONS(options)};

static void say_fmu(const request *r, const perp_model *model, cJSON *json)
{
    struct stat found;
    double size = stat(r->out, &found) == 0 ? (double)found.st_size : 0;
    if (json) {
        cli_json_add_text(json, "model", perp_model_name(model));
        cli_json_add_text(json, "file", r->out);
        cli_json_add_number(json, "fmi", r->o.version);
        cli_json_add_number(json, "bytes", size);
    } else if (!r->quiet) {
        printf("%s: FMI %d.0, co-simulation, %.2g MB\n", r->out, r->o.version, size / 1e6);
    }
}

static void say_code(const request *r, const perp_model *model, const perp_c_info *info,
                     cJSON *json)
{
    if (json) {
        cli_json_add_text(json, "model", perp_model_name(model));
        cli_json_add_text(json, "folder", r->out);
        cli_json_add_number(json, "unknowns", info->unknowns);
        cli_json_add_number(json, "pairs", info->pairs);
        cli_json_add_number(json, "pivots", info->pivots);
        cli_json_add_number(json, "statements", info->statements);
        cli_json_add_number(json, "bytes", (double)info->bytes);
        cli_json_add_number(json, "bytes_float", (double)info->bytes_float);
    } else if (!r->quiet) {
        printf("%s: C99, %d unknowns and %d pairs a step, at most %d pivots a problem, %d "
               "statements\n"
               "size of an instance: %zu bytes, of floats %zu\n",
               r->out, info->unknowns, info->pairs, info->pivots, info->statements, info->bytes,
               info->bytes_float);
    }
}

/* The word before the file. */
static void take_form(request *r)
{
    const char *word = r->args.argc > 1 ? r->args.argv[1] : "";
    r->is_code = strcmp(word, "c") == 0;
    r->is_part = strcmp(word, "perp") == 0;
    r->is_casadi = strcmp(word, "casadi") == 0;
    r->endings = "fmu";
    if (r->is_code) r->endings = NULL;
    if (r->is_part) r->endings = "perp";
    if (r->is_casadi) r->endings = "c";
    if (!r->is_code && !r->is_part && !r->is_casadi) return;
    r->args.argv[1] = r->args.argv[0];
    r->args.argv++;
    r->args.argc--;
}

/* Options that C code does not have. */
static int refuse_others(const request *r)
{
    const perp_fmu_options d = perp_fmu_options_default();
    const char *name = NULL;
    if (r->library)
        name = "--library";
    else if (r->o.version != d.version)
        name = "--fmi";
    else if (!isnan(r->o.to))
        name = "--to";
    const char *of_part = NULL;
    if (r->key)
        of_part = "--key";
    else if (r->contacts)
        of_part = "--contacts";
    if (of_part && !r->is_part)
        fprintf(stderr, "perp export: %s is for robot files: perp export perp FILE.xml\n", of_part);
    if (r->order != 2 && !r->is_casadi)
        fprintf(stderr, "perp export: --order is for CasADi: perp export casadi FILE.perp\n");
    if ((of_part && !r->is_part) || (r->order != 2 && !r->is_casadi)) return CLI_USAGE;
    int is_run = !isnan(r->o.step) || r->o.integrator != d.integrator;
    if ((r->is_part && (is_run || r->set.n)) || (r->is_casadi && is_run))
        name = "a setting of a run";
    if (!(r->is_code || r->is_part || r->is_casadi) || !name) return CLI_DONE;
    const char *what = "C code";
    if (r->is_part)
        what = "a part";
    else if (r->is_casadi)
        what = "a file for CasADi";
    fprintf(stderr, "perp export: %s is for FMUs; %s has no such thing\n", name, what);
    return CLI_USAGE;
}

static perp_status write_code(const request *r, const perp_model *model, perp_c_info *info,
                              perp_diag *diag)
{
    perp_c_options o = perp_c_options_default();
    o.step = r->o.step;
    o.integrator = r->o.integrator;
    return perp_export_c(model, &o, r->out, info, diag);
}

static perp_status write_casadi(const request *r, const perp_model *model, perp_casadi_info *info,
                                perp_diag *diag)
{
    perp_casadi_options o = perp_casadi_options_default();
    o.order = r->order;
    return perp_export_casadi(model, &o, r->out, info, diag);
}

static void say_casadi(const request *r, const perp_model *model, const perp_casadi_info *info,
                       cJSON *json)
{
    if (json) {
        cli_json_add_text(json, "model", perp_model_name(model));
        cli_json_add_text(json, "file", r->out);
        cli_json_add_number(json, "equations", info->equations);
        cli_json_add_number(json, "pairs", info->pairs);
        cli_json_add_number(json, "functions", info->functions);
        cli_json_add_number(json, "statements", info->statements);
    } else if (!r->quiet && !cli_is_dash(r->out)) {
        printf("%s: %d equations and %d pairs; %d functions with derivatives, %d statements\n",
               r->out, info->equations, info->pairs, info->functions, info->statements);
    }
}

static int export_part(const request *r, cJSON *json, perp_diag *diag)
{
    struct stat found;
    perp_status status = perp_model_write_robot(r->file, r->key, r->contacts, r->out, diag);
    if (status != PERP_OK) return cli_exit_code(status);
    double size = stat(r->out, &found) == 0 ? (double)found.st_size : 0;
    if (json) {
        cli_json_add_text(json, "model", r->file);
        cli_json_add_text(json, "file", r->out);
        cli_json_add_number(json, "bytes", size);
    } else if (!r->quiet && !cli_is_dash(r->out)) {
        printf("%s: a part of the language, %g bytes\n", r->out, size);
    }
    return CLI_DONE;
}

int perp__cmd_export(int argc, char **argv)
{
    request r = {
        .args = {&cli_command_export, argc, argv}, .o = perp_fmu_options_default(), .order = 2};
    perp_diag diag = {0};
    perp_model *model = NULL;
    perp_c_info info = {.size = sizeof info};
    perp_casadi_info casadi = {.size = sizeof casadi};
    take_form(&r);
    int code = cli_read(&r.args, &r);
    cJSON *json = code == CLI_DONE && r.as_json ? cli_json_begin("export") : NULL;
    r.o.library = r.library;
    if (code == CLI_DONE) code = refuse_others(&r);
    int has_model = !r.is_part;
    if (code == CLI_DONE && has_model)
        code = cli_load(r.file, "export", &r.set, &(cli_list){0}, &model, &diag);
    if (code == CLI_DONE) code = cli_check_outputs(&r.args, &r, model, &r.file, r.is_part);
    if (code == CLI_DONE) code = cli_check_ending("export", "-o", r.out, r.endings);
    if (code == CLI_DONE && r.is_part) code = export_part(&r, json, &diag);
    if (code == CLI_DONE && has_model) {
        perp_status status;
        if (r.is_code)
            status = write_code(&r, model, &info, &diag);
        else if (r.is_casadi)
            status = write_casadi(&r, model, &casadi, &diag);
        else
            status = perp_export_fmu(model, &r.o, r.out, &diag);
        int is_refused = status == PERP_ERR_ARG || status == PERP_ERR_UNAVAILABLE;
        code = is_refused ? CLI_BAD_INPUT : cli_exit_code(status);
    }
    if (code == CLI_DONE && r.is_code && has_model)
        say_code(&r, model, &info, json);
    else if (code == CLI_DONE && r.is_casadi)
        say_casadi(&r, model, &casadi, json);
    else if (code == CLI_DONE && has_model)
        say_fmu(&r, model, json);
    if (json) code = cli_json_end(json, code, &diag, stdout);
    fflush(stdout);
    cli_print_diag(&diag, stderr);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    free(r.set.item);
    return code;
}
