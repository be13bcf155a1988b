/* The variables of an FMU. */

#include "export/export.h"
#include "model/model.h"
#include "simulate/events.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static perp__fmu_role role_of(const perp_model *m, perp_symbol_kind kind, int i, int locates)
{
    const perp__item *item = &m->item[kind][i];
    int is_number = perp__is_number(m, item);
    switch (kind) {
    case PERP_PARAM:
        if (item->is_structural) return PERP__FMU_CONSTANT;
        if (is_number) return PERP__FMU_PARAMETER;
        return PERP__FMU_CALCULATED;
    case PERP_INPUT:
        return locates && (item->table.n || !is_number) ? PERP__FMU_LOCAL : PERP__FMU_INPUT;
    case PERP_STATE: return PERP__FMU_STATE;
    case PERP_OUTPUT: return PERP__FMU_OUTPUT;
    case PERP_VAR:
    case PERP_SYMBOL_KINDS: break;
    }
    return PERP__FMU_LOCAL;
}

/* A run by moreau, whose forces have impulses; NULL by another method, or where it does not begin.
 * Returns 0: memory. */
static int begin_impulses(const perp_model *model, const perp_simulation_options *options,
                          perp_simulation **sim)
{
    perp_simulation_options o = *options;
    o.to = o.from + o.step;
    return o.integrator != PERP_MOREAU ||
           perp_simulation_create(model, &o, sim, NULL) != PERP_ERR_MEMORY;
}

/* How many impulses there are, and the room of their names and units. */
static int count_impulses(const perp_model *model, const perp_simulation *sim, size_t *room)
{
    int n = 0;
    *room = 0;
    for (int i = 0; sim && i < perp_model_count(model, PERP_VAR); i++) {
        int unit = perp_simulation_impulse_unit(sim, i, NULL, 0);
        if (unit < 0) continue;
        *room += strlen(perp_model_symbol(model, PERP_VAR, i).name) + sizeof "impulse()" +
                 (size_t)unit + 1;
        n++;
    }
    return n;
}

static void put_symbols(const perp_model *model, int locates, perp__fmu_variable *v)
{
    for (int kind = 0; kind < PERP_SYMBOL_KINDS; kind++)
        for (int i = 0; i < perp_model_count(model, (perp_symbol_kind)kind); i++) {
            perp_symbol s = perp_model_symbol(model, (perp_symbol_kind)kind, i);
            *v++ = (perp__fmu_variable){s.name,
                                        s.unit,
                                        role_of(model, (perp_symbol_kind)kind, i, locates),
                                        (perp_symbol_kind)kind,
                                        i,
                                        s.lo,
                                        s.hi};
        }
}

static perp__fmu_variable unbounded(const char *name, const char *unit, perp__fmu_role role,
                                    int index)
{
    return (perp__fmu_variable){
        name, unit, role, PERP_SYMBOL_KINDS, index, (double)-INFINITY, (double)INFINITY};
}

/* Names and units stand in `text`. */
static void put_impulses(const perp_model *model, const perp_simulation *sim, perp__fmu_variable *v,
                         char *text, size_t room)
{
    char *end = text + room;
    for (int i = 0; sim && i < perp_model_count(model, PERP_VAR); i++) {
        if (!perp_simulation_impulse(sim, i, NULL)) continue;
        const char *name = text, *of = perp_model_symbol(model, PERP_VAR, i).name;
        text += snprintf(text, (size_t)(end - text), "impulse(%s)", of) + 1;
        *v++ = unbounded(name, text, PERP__FMU_IMPULSE, i);
        text += perp_simulation_impulse_unit(sim, i, text, (size_t)(end - text)) + 1;
    }
}

perp__fmu_variable *perp__fmu_variables(const perp_model *model,
                                        const perp_simulation_options *options, int *n)
{
    int symbols = 0;
    size_t room;
    perp_simulation *sim = NULL;
    if (!begin_impulses(model, options, &sim)) return NULL;
    for (int kind = 0; kind < PERP_SYMBOL_KINDS; kind++)
        symbols += perp_model_count(model, (perp_symbol_kind)kind);
    *n = symbols + 2 + count_impulses(model, sim, &room);
    perp__fmu_variable *v = calloc(1, (size_t)*n * sizeof *v + room);
    if (v) {
        v[0] = unbounded("t", "s", PERP__FMU_TIME, 0);
        put_symbols(model, perp__events_wanted(model, options->integrator), v + 1);
        v[1 + symbols] = unbounded("residual", "", PERP__FMU_LOCAL, 1);
        put_impulses(model, sim, v + 2 + symbols, (char *)(v + *n), room);
    }
    perp_simulation_destroy(sim);
    return v;
}

int perp__fmu_drive(const perp__fmu_variable *variable, int n, perp_simulation_options *options,
                    const char ***list)
{
    const char **name = *list = malloc(((size_t)n + 1) * sizeof *name);
    if (!name) return 0;
    options->input = name;
    options->ninput = 0;
    for (int i = 0; i < n; i++)
        if (variable[i].role == PERP__FMU_INPUT) name[options->ninput++] = variable[i].name;
    return 1;
}
