/* perp_export_fmu: the text of a model, what it names, its description, and the library that runs
 * it, in one file. */

#include "export/export.h"
#include "base/base.h"
#include "base/hash.h"
#include "base/input.h"
#include "base/installed.h"
#include "base/tol.h"
#include "model/library.h"
#include "model/model.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 1 << 28, NAME_MAX_LENGTH = 256 };

void perp_fmu_options_fill(perp_fmu_options *options, size_t size)
{
    perp_fmu_options own = {.size = sizeof own,
                            .version = 3,
                            .step = (double)NAN,
                            .to = (double)NAN,
                            .tol = PERP_TOL_STEP,
                            .integrator = PERP_INTEGRATOR_COUNT};
    perp__options_give(options, size, &own, sizeof own);
}

typedef struct job {
    const perp_model *model;
    perp_fmu_options o;
    perp__zip zip;
    perp__fmu_description d;
    perp__fmu_variable *variable;
    char identifier[NAME_MAX_LENGTH], token[40];
    size_t folder; /* characters of the model's folder in its path */
    perp_diag *diag;
} job;

static perp_status fail(job *j, perp_status status, const char *text, const char *name)
{
    return perp__refuse(j->diag, status, perp__in(j->model->source.name), text, name);
}

/* The run -------------------------------------------------------------------------------------- */

/* A run as the FMU will make it: does it begin? */
static perp_status try_run(job *j)
{
    perp_simulation_options o = perp_simulation_options_default(j->model);
    perp_simulation *sim = NULL;
    perp_simulate_task task = perp_model_simulate_task(j->model);
    if (j->o.integrator == PERP_INTEGRATOR_COUNT)
        j->o.integrator = task.method ? o.integrator : perp_simulation_recommend(j->model);
    if (j->o.integrator == PERP_INTEGRATOR_COUNT) return perp__out_of_memory(j->diag, "export");
    if (isnan(j->o.step)) j->o.step = o.step;
    if (isnan(j->o.to)) j->o.to = o.to;
    if (!(j->o.step > 0))
        return fail(j, PERP_ERR_ARG, "the model has no step for its runs; name one%s\n", "");
    j->d.from = o.from;
    o.step = j->o.step;
    o.to = isnan(j->o.to) ? o.from + o.step : j->o.to;
    o.integrator = j->o.integrator;
    o.tol = j->o.tol;
    const char **driven = NULL;
    j->variable = perp__fmu_variables(j->model, &o, &j->d.n);
    int ok = j->variable && perp__fmu_drive(j->variable, j->d.n, &o, &driven);
    perp_status status = ok ? perp_simulation_create(j->model, &o, &sim, j->diag)
                            : perp__out_of_memory(j->diag, "export");
    perp_simulation_destroy(sim);
    free(driven);
    return status;
}

/* Files ---------------------------------------------------------------------------------------- */

static void add_resource(job *j, const char *name, const void *bytes, size_t n)
{
    char path[1100];
    int length = snprintf(path, sizeof path, "resources/%s", name);
    if (length < (int)sizeof path)
        perp__zip_add(&j->zip, path, bytes, n);
    else
        j->zip.failed = 1;
}

/* The name in the model's folder of a file that the text names; NULL after saying that it lies
 * elsewhere. */
static const char *name_inside(job *j, const char *named, const char *path)
{
    const char *model = j->model->source.name, *name = path + j->folder;
    if (named[0] != '/' && !strstr(name, "..") && strncmp(path, model, j->folder) == 0) return name;
    fail(j, PERP_ERR_FILE, "'%s' lies outside of the model's folder, and an FMU cannot take it\n",
         named);
    return NULL;
}

/* The bytes of a file, malloc'ed; PERP_ERR_FILE: *why says why not. */
static perp_status read_bytes(job *j, const char *path, char **bytes, size_t *n, const char **why)
{
    perp_status status = perp__input_read(path, PERP__REGULAR, FILE_MAX, 0, bytes, n, why);
    if (status == PERP_ERR_MEMORY) return perp__out_of_memory(j->diag, "export");
    return status == PERP_ERR_DATA ? PERP_ERR_FILE : status;
}

static int is_library(const char *name)
{
    int found = 0;
    for (int k = 0; k < perp__nlibrary; k++) found |= strcmp(perp__library[k].file, name) == 0;
    return found;
}

/* The model and the files that it uses, as they were read. */
static perp_status add_texts(job *j)
{
    const perp__source *s = &j->model->source;
    int n = s->nfile ? s->nfile : 1;
    for (int k = 0; k < n; k++) {
        int at = k ? s->file[k].at : 0, end = k + 1 < n ? s->file[k + 1].at - 1 : s->length;
        const char *name = k ? s->file[k].name : NULL;
        if (k && is_library(name)) continue;
        name = k ? name_inside(j, "", name) : s->name + j->folder;
        if (!name) return PERP_ERR_FILE;
        add_resource(j, name, s->text + at, (size_t)(end - at));
    }
    return PERP_OK;
}

static int is_named_before(const perp__named_file *file)
{
    const perp__named_file *f = file->before;
    while (f && strcmp(f->path, file->path) != 0) f = f->before;
    return f != NULL;
}

static perp_status add_tables(job *j)
{
    perp_status status = PERP_OK;
    for (const perp__named_file *f = j->model->named_file; f && status == PERP_OK; f = f->before) {
        char *bytes = NULL;
        const char *why;
        size_t n = 0;
        if (is_named_before(f)) continue;
        const char *name = name_inside(j, f->name, f->path);
        status = name ? read_bytes(j, f->path, &bytes, &n, &why) : PERP_ERR_FILE;
        if (status == PERP_OK) add_resource(j, name, bytes, n);
        if (name && status == PERP_ERR_FILE)
            fail(j, status, "the table '%s' cannot be read any more\n", f->path);
        free(bytes);
    }
    return status;
}

/* The library has a folder of its own for each kind of machine, and two names for this one. */
static perp_status add_library(job *j)
{
#if defined(__aarch64__)
    static const char machine[] = "aarch64-linux";
#else
    static const char machine[] = "x86_64-linux";
#endif
    char name[NAME_MAX_LENGTH + 40], *bytes = NULL;
    const char *why;
    size_t n = 0;
    perp_status status = read_bytes(j, j->o.library, &bytes, &n, &why);
    if (status == PERP_ERR_FILE) perp__refuse(j->diag, status, perp__in(j->o.library), "%s\n", why);
    snprintf(name, sizeof name, "binaries/%s/%s.so", j->o.version == 2 ? "linux64" : machine,
             j->identifier);
    if (status == PERP_OK) perp__zip_add(&j->zip, name, bytes, n);
    free(bytes);
    return status;
}

/* What was set: before the model is read (parameters that sizes follow from), or behind. */
static void put_changes(perp__text *out, const perp_model *m, int is_before)
{
    char number[PERP_NUMBER_SIZE];
    for (int kind = 0; kind < PERP_SYMBOL_KINDS; kind++)
        for (int i = 0; i < m->nitem[kind]; i++) {
            const perp__item *item = &m->item[kind][i];
            if (!item->is_set || item->is_structural != is_before) continue;
            perp_number_write(item->value, number);
            perp__text_format(out, "%s %s %s\n", is_before ? "size" : "set", item->name, number);
        }
}

/* FNV-1a of all that stands in the file so far. */
static void make_token(job *j, const char *settings)
{
    uint64_t hash = PERP__HASH_OF_NOTHING;
    for (size_t i = 0; i < j->zip.bytes.length; i++)
        hash = perp__hash_byte(hash, (unsigned char)j->zip.bytes.at[i]);
    for (const char *s = settings; *s; s++) hash = perp__hash_byte(hash, (unsigned char)*s);
    snprintf(j->token, sizeof j->token, "perp-%d-%016llx", j->o.version, (unsigned long long)hash);
}

/* A file's name on one line: control characters and % as %0a and the like. */
static void put_name(perp__text *out, const char *name)
{
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;
        perp__text_format(out, c < ' ' || c == '%' ? "%%%02x" : "%c", c);
    }
}

static perp_status add_settings(job *j)
{
    char step[PERP_NUMBER_SIZE], tol[PERP_NUMBER_SIZE];
    perp__text text = {0};
    perp_number_write(j->o.step, step);
    perp_number_write(j->o.tol, tol);
    perp__text_format(&text, "perp %s\n", perp_version());
    put_changes(&text, j->model, 1);
    perp__text_put(&text, "model ");
    put_name(&text, j->model->source.name + j->folder);
    perp__text_format(&text, "\nmethod %s\nstep %s\ntol %s\n",
                      perp_integrator_name(j->o.integrator), step, tol);
    put_changes(&text, j->model, 0);
    if (!text.failed) make_token(j, text.at);
    perp__text_format(&text, "token %s\n", j->token);
    if (!text.failed) add_resource(j, PERP__FMU_SETTINGS, text.at, text.length);
    int failed = text.failed;
    perp__text_clear(&text);
    return failed ? perp__out_of_memory(j->diag, "export") : PERP_OK;
}

static perp_status add_description(job *j)
{
    j->d.model = j->model;
    j->d.variable = j->variable;
    j->d.version = j->o.version;
    j->d.identifier = j->identifier;
    j->d.token = j->token;
    j->d.to = j->o.to;
    j->d.step = j->o.step;
    perp__text text = {0};
    perp__fmu_describe(&j->d, &text);
    int failed = text.failed;
    if (!failed) perp__zip_add(&j->zip, "modelDescription.xml", text.at, text.length);
    perp__text_clear(&text);
    return failed ? perp__out_of_memory(j->diag, "export") : PERP_OK;
}

perp_status perp_export_fmu(const perp_model *model, const perp_fmu_options *options,
                            const char *path, perp_diag *diag)
{
    job j = {.model = model, .diag = diag};
    char place[PERP__PATH_ROOM];
    perp_fmu_options_fill(&j.o, sizeof j.o);
    if (!model || !path || !perp__options_take(&j.o, sizeof j.o, options)) return PERP_ERR_ARG;
    if (j.o.version != 2 && j.o.version != 3)
        return fail(&j, PERP_ERR_ARG, "FMUs are of version 2 or 3%s\n", "");
    if (!j.o.library) j.o.library = perp__installed("perp-fmu.so", place);
    if (!j.o.library)
        return fail(
            &j, PERP_ERR_FILE,
            "perp-fmu.so is neither beside the program nor installed with perp; name it%s\n", "");
    const char *slash = strrchr(model->source.name, '/');
    j.folder = slash ? (size_t)(slash - model->source.name) + 1 : 0;
    perp__identifier(j.identifier, sizeof j.identifier, perp_model_name(model));
    perp_status status = try_run(&j);
    if (status == PERP_OK) status = add_texts(&j);
    if (status == PERP_OK) status = add_tables(&j);
    if (status == PERP_OK) status = add_settings(&j);
    if (status == PERP_OK) status = add_description(&j);
    if (status == PERP_OK) status = add_library(&j);
    if (status == PERP_OK) perp__zip_end(&j.zip);
    if (status == PERP_OK && j.zip.failed) status = perp__out_of_memory(diag, "export");
    if (status == PERP_OK) status = perp__text_write(&j.zip.bytes, path, diag);
    perp__zip_clear(&j.zip);
    free(j.variable);
    return status;
}
