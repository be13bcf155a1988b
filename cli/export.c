/* perp export: a model as a file for other programs. */

#include "cli.h"
#include "json.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct request {
    cli_args args;
    const char *file, *out, *library;
    perp_fmu_options o;
    cli_list set;
    int as_json, quiet;
} request;

#define INTO(field) CLI_INTO(request, field)

static const cli_option options[] = {
    {"", "FILE.perp", NULL, INTO(file), .needed = "which model?"},
    {"o", "FILE.fmu", "the functional mock-up unit", INTO(out), .is_output = 1,
     .needed = "to which file (-o)?"},
    {"fmi", "2|3", "version of the standard (default 3)", INTO(o.version), .least = 2, .most = 3},
    {"set", "NAME=VALUE", "a parameter, an initial value, or a constant input; may be repeated",
     INTO(set)},
    {"step", "H", "step of the run inside [s] (default: the model's)", INTO(o.step),
     .is_positive = 1},
    {"to", "T", "end time that is proposed [s] (default: the model's)", INTO(o.to)},
    {"method", "NAME", "how time is stepped (default: as perp simulate)", INTO(o.integrator),
     .words = cli_integrators},
    {"library", "FILE.so", "the library that goes into it (default: perp-fmu.so of this perp)",
     INTO(library)},
    {"quiet", NULL, "print nothing but what is wrong", INTO(quiet)},
    CLI_JSON_OPTION(request),
};

const cli_command cli_command_export = {
    .name = "export",
    .usage = "FILE.perp -o FILE.fmu [options]",
    .about =
        "Write the model as a functional mock-up unit (FMU) for co-simulation, which other "
        "simulators import: its text, what it\n"
        "uses, and one library that runs it; nothing is compiled. Every step is verified as by "
        "perp simulate; one without a\n"
        "verified solution ends with Discard, and the importer is told the pair at fault. "
        "docs/export.md.",
    .notes = "exit codes: 0 written, 1 usage, 2 bad model, 4 file or memory",
    CLI_OPTIONS(options)};

static void say(const request *r, const perp_model *model, cJSON *json)
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

int perp__cmd_export(int argc, char **argv)
{
    request r = {.args = {&cli_command_export, argc, argv}, .o = perp_fmu_options_default()};
    perp_diag diag = {0};
    perp_model *model = NULL;
    int code = cli_read(&r.args, &r);
    cJSON *json = code == CLI_DONE && r.as_json ? cli_json_begin("export") : NULL;
    r.o.library = r.library;
    if (code == CLI_DONE) code = cli_exit_code(perp_model_load(r.file, &model, &diag));
    if (code == CLI_DONE) code = cli_set_all(model, "export", &r.set, &diag);
    if (code == CLI_DONE) code = cli_check_outputs(&r.args, &r, model, NULL, 0);
    if (code == CLI_DONE) {
        perp_status status = perp_export_fmu(model, &r.o, r.out, &diag);
        code = status == PERP_ERR_ARG ? CLI_BAD_INPUT : cli_exit_code(status);
    }
    if (code == CLI_DONE) say(&r, model, json);
    if (json) code = cli_json_end(json, code, &diag, stdout);
    fflush(stdout);
    cli_print_diag(&diag, stderr);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    free(r.set.item);
    return code;
}
