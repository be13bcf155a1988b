/* perp_export_c: a model as one source and one header of C99. What a model says becomes statements
 * (model/emit.c) and tables. The step that is the same for all (code/step.c) stands behind them. */

#include "export/code.h"
#include "base/base.h"
#include "export/export.h"
#include "base/installed.h"
#include "base/output.h"
#include "base/tol.h"
#include "model/emit.h"
#include "simulate/run.h"
#include "simulate/stepping.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void perp_c_options_fill(perp_c_options *options, size_t size)
{
    perp_c_options own = {.size = sizeof own,
                          .step = (double)NAN,
                          .from = (double)NAN,
                          .theta = 0.5,
                          .tol = PERP_TOL_STEP,
                          .integrator = PERP_INTEGRATOR_COUNT};
    perp__options_give(options, size, &own, sizeof own);
}

/* What is refused ------------------------------------------------------------------------------ */

static perp_status refuse_at(const perp__code *c, int at, const char *what, const char *name)
{
    perp__place place = perp__source_place(&c->model->source, at);
    return perp__refuse(c->diag, PERP_ERR_UNAVAILABLE, place, what, name);
}

static perp_status check_method(perp__code *c)
{
    const perp_model *m = c->model;
    int is_named = c->o.integrator != PERP_INTEGRATOR_COUNT;
    if (!is_named) c->o.integrator = perp_simulation_options_default(m).integrator;
    if ((unsigned)c->o.integrator >= PERP_INTEGRATOR_COUNT)
        return perp__refuse(c->diag, PERP_ERR_ARG, perp__in(m->source.name),
                            "there is no such method\n");
    const char *word = perp_integrator_name(c->o.integrator);
    if (m->kind == PERP_DISCRETE || perp__scheme_make(word, 1).npoint == 1) return PERP_OK;
    perp__place place =
        is_named ? perp__in(m->source.name) : perp__said_place(&m->source, m->method);
    return perp__refuse(c->diag, PERP_ERR_UNAVAILABLE, place,
                        "method %s locates events, which C code does not; choose one with "
                        "--method: backward-euler theta moreau\n",
                        word);
}

static perp_status check_model(const perp__code *c)
{
    const perp_model *m = c->model;
    for (int i = 0; i < m->nfriction; i++)
        if (m->contact[i].kind == PERP__CONTACT_CONE)
            return refuse_at(c, m->contact[i].at,
                             "C code has no exact friction cones; state this friction with facets "
                             "(facets = 8)%s\n",
                             "");
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++)
        if (m->item[PERP_INPUT][i].table.points)
            return refuse_at(c, m->item[PERP_INPUT][i].at,
                             "input '%s' is a table of pieces of higher degree, which C code does "
                             "not have; it takes tables that are linear between their rows\n",
                             m->item[PERP_INPUT][i].name);
    return PERP_OK;
}

/* The problem ---------------------------------------------------------------------------------- */

/* The step problem with all parameters as symbols and all inputs to be set, as a run has it. */
static perp_status make_problem(perp__code *c)
{
    perp_simulation_options o = perp_simulation_options_default(c->model);
    if (!isnan(c->o.step)) o.step = c->o.step;
    if (!isnan(c->o.from)) o.from = c->o.from;
    if (!(o.step > 0))
        return perp__refuse(c->diag, PERP_ERR_ARG, perp__in(c->model->source.name),
                            "the model has no step for its runs; name one\n");
    o.to = o.from + o.step;
    o.integrator = c->o.integrator;
    o.tol = c->o.tol;
    o.theta = c->o.theta;
    o.ninput = o.nparameter = PERP_ALL;
    c->o.step = o.step;
    c->o.from = o.from;
    return perp_simulation_create(c->model, &o, &c->sim, c->diag);
}

/* Sides to eliminate to, units, and where Newton's iteration first begins, by the first step: of
 * the model as it is now. Where that has no solution (an input is still to be set), at its
 * beginning. */
static perp_status look_at_first_step(perp__code *c)
{
    perp__step *s = &c->sim->step;
    perp_diag ignored = {0};
    int bad_row, ny = s->layout->ny;
    double h = c->o.step, start = c->o.from;
    c->side = calloc((size_t)s->layout->np + 1, 1);
    c->first = calloc((size_t)ny + 1, sizeof *c->first);
    if (!c->side || !c->first) return perp__out_of_memory(c->diag, "export");
    if (!s->cache.A)
        return perp__refuse(c->diag, PERP_ERR_UNAVAILABLE, perp__in(c->model->source.name),
                            "a step has %d unknowns; C code, whose matrices are dense, takes up to "
                            "600\n",
                            ny);
    perp_status status = perp__run_next(c->sim, NULL, &ignored);
    perp_diag_clear(&ignored);
    if (status == PERP_ERR_MEMORY) return perp__out_of_memory(c->diag, "export");
    if (status != PERP_OK) perp__run_begin_step(c->sim, start, start + h, h);
    for (int i = 0; i < s->layout->sym.n; i++)
        if (!isfinite(s->ws[i])) s->ws[i] = 0;
    memcpy(c->first, s->ws + s->layout->sym.y, (size_t)ny * sizeof *c->first);
    const perp__elimination *e = perp__step_prepare(s, 1, &bad_row);
    if (s->cache.out_of_memory) return perp__out_of_memory(c->diag, "export");
    for (int p = 0; e && p < s->layout->np; p++) c->side[p] = e->side[p];
    if (e && !memchr(s->cache.newton.dependent, 1, (size_t)s->layout->nequation)) return PERP_OK;
    for (int i = 0; e && i < s->layout->nown; i++)
        if (s->cache.newton.dependent[i])
            return refuse_at(c, c->model->equation[s->layout->marks.equation[i]].at,
                             "this equation depends on the others, for which C code has no "
                             "method%s\n",
                             "");
    for (int p = 0; !e && p < s->layout->np; p++)
        if (s->cache.newton.bad[p])
            return refuse_at(c, c->model->pair[s->layout->pair[p].of].at,
                             "with all guards on, the equations and a side of each pair do not "
                             "determine a step; this pair cannot be placed%s\n",
                             "");
    return perp__refuse(c->diag, PERP_ERR_UNAVAILABLE, perp__in(c->model->source.name),
                        "a step is singular, for which C code has no method\n");
}

/* Initial states in terms of the parameters, as a tape behind all others. */
static perp_status make_initial(perp__code *c)
{
    const perp__step *s = &c->sim->step;
    perp__graph graph = {0};
    size_t rows = (size_t)s->layout->nrow + 1,
           outputs = (size_t)s->layout->tape.outputs.nout + (size_t)s->layout->sym.assigned.n + 1;
    perp_expr *row = malloc((rows + outputs + (size_t)s->layout->nx) * sizeof *row);
    int ok = row != NULL;
    if (ok) {
        perp_expr *initial = row + rows + outputs;
        ok = perp__step_formulas(s, s->layout->sym.varied.param, s->layout->sym.varied.n, &graph,
                                 row, row + rows, initial, NULL);
        for (int i = 0; ok && i < s->layout->nx; i++) { /* what was set follows from nothing */
            const perp__item *state = &c->model->item[PERP_STATE][i];
            if (state->is_set) initial[i] = perp__const(&graph, state->value);
        }
        ok = ok && perp__tape_compile(&c->initial, &graph, initial, s->layout->nx,
                                      perp__tape_end(&s->layout->tape.outputs));
    }
    perp__graph_clear(&graph);
    free(row);
    return ok ? PERP_OK : perp__out_of_memory(c->diag, "export");
}

/* Files ---------------------------------------------------------------------------------------- */

/* All of them or none. */
static perp_status write_texts(const perp__code *c, const char *folder, const perp__text *text,
                               const char *const *end, int n)
{
    enum { MOST = 3 };
    char path[PERP__PATH_ROOM];
    perp__output output[MOST];
    int opened = 0, ok = 1, error = 0;
    for (; opened < n && ok; opened += ok) {
        const perp__text *t = &text[opened];
        int length = snprintf(path, sizeof path, "%s/%s%s", folder, c->name, end[opened]);
        errno = ENAMETOOLONG;
        ok = length > 0 && length < (int)sizeof path && perp__output_open(&output[opened], path, 0);
        error = errno;
        if (!ok) break;
        if (fwrite(t->at, 1, t->length, output[opened].file) != t->length) {
            ok = 0;
            error = errno;
            opened++;
        }
    }
    if (perp__output_close_all(output, opened, ok ? PERP__REPLACE : PERP__DISCARD) && ok)
        return PERP_OK;
    if (!ok) errno = error;
    return perp__cannot_write(c->diag, path);
}

static perp_status write_files(perp__code *c, const char *folder)
{
    static const char *const end[] = {".h", ".c", "_main.c"};
    perp__text text[3] = {{0}};
    perp_status status = PERP_OK;
    int is_made = 0;
    if (!perp__code_write(c, &text[0], &text[1], &text[2]) || text[0].failed || text[1].failed ||
        text[2].failed)
        status = perp__out_of_memory(c->diag, "export");
    else if (mkdir(folder, 0777) == 0)
        is_made = 1;
    else if (errno != EEXIST)
        status = perp__refuse(c->diag, PERP_ERR_FILE, perp__in(folder), "%s\n", strerror(errno));
    if (status == PERP_OK) status = write_texts(c, folder, text, end, 3);
    if (status != PERP_OK && is_made) rmdir(folder);
    for (int i = 0; i < 3; i++) perp__text_clear(&text[i]);
    return status;
}

perp_status perp_export_c(const perp_model *model, const perp_c_options *options,
                          const char *folder, perp_c_info *info, perp_diag *diag)
{
    perp__code c = {.model = model, .diag = diag};
    perp_c_options_fill(&c.o, sizeof c.o);
    if (!model || !folder || !PERP__FITS(info) || !perp__options_take(&c.o, sizeof c.o, options))
        return PERP_ERR_ARG;
    perp__identifier(c.name, sizeof c.name, perp_model_name(model));
    perp_status status = check_method(&c);
    if (status == PERP_OK) status = check_model(&c);
    if (status == PERP_OK) status = make_problem(&c);
    if (status == PERP_OK) status = look_at_first_step(&c);
    if (status == PERP_OK) status = make_initial(&c);
    if (status == PERP_OK) status = write_files(&c, folder);
    if (status == PERP_OK && info) {
        c.info.size = info->size;
        *info = c.info;
    }
    perp__tape_clear(&c.initial);
    perp_simulation_destroy(c.sim);
    free(c.side);
    free(c.first);
    return status;
}
