/* The variables of an FMU. */

#include "export/export.h"
#include "model/model.h"
#include "simulate/events.h"

#include <math.h>
#include <stdlib.h>

static perp__fmu_role role_of(const perp_model *m, perp_symbol_kind kind, int i, int locates)
{
    const perp__item *item = &m->item[kind][i];
    int is_number = perp__is_number(m, item);
    switch (kind) {
    case PERP_PARAM:
        return item->is_structural ? PERP__FMU_CONSTANT
               : is_number         ? PERP__FMU_PARAMETER
                                   : PERP__FMU_CALCULATED;
    case PERP_INPUT:
        return locates && (item->table.n || !is_number) ? PERP__FMU_LOCAL : PERP__FMU_INPUT;
    case PERP_STATE: return PERP__FMU_STATE;
    case PERP_OUTPUT: return PERP__FMU_OUTPUT;
    case PERP_VAR:
    case PERP_SYMBOL_KINDS: break;
    }
    return PERP__FMU_LOCAL;
}

perp__fmu_variable *perp__fmu_variables(const perp_model *model, perp_integrator integrator, int *n)
{
    int count = 2, locates = perp__events_wanted(model, integrator);
    for (int kind = 0; kind < PERP_SYMBOL_KINDS; kind++)
        count += perp_model_count(model, (perp_symbol_kind)kind);
    perp__fmu_variable *variable = calloc((size_t)count, sizeof *variable), *v = variable;
    *n = count;
    if (!variable) return NULL;
    *v++ = (perp__fmu_variable){
        "t", "s", PERP__FMU_TIME, PERP_SYMBOL_KINDS, 0, (double)-INFINITY, (double)INFINITY};
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
    *v = (perp__fmu_variable){
        "residual", "", PERP__FMU_LOCAL, PERP_SYMBOL_KINDS, 1, (double)-INFINITY, (double)INFINITY};
    return variable;
}

int perp__fmu_drive(const perp__fmu_variable *variable, int n, perp_simulation_options *options,
                    const char ***list)
{
    const char **name = *list = malloc(((size_t)n + 1) * sizeof *name);
    if (!name) return 0;
    options->input = name, options->ninput = 0;
    for (int i = 0; i < n; i++)
        if (variable[i].role == PERP__FMU_INPUT) name[options->ninput++] = variable[i].name;
    return 1;
}
