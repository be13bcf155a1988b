/* modelDescription.xml of an FMU, by the schemas of FMI 2.0 and 3.0. What both say is written once:
 * attributes come from tables with a column for each version. */

#include "export/export.h"
#include "base/base.h"
#include "model/inspect.h"

#include <math.h>
#include <string.h>

static void put_text(perp__text *out, const char *name, const char *text)
{
    perp__text_format(out, " %s=\"", name);
    perp__text_xml(out, text);
    perp__text_put(out, "\"");
}

static void put_number(perp__text *out, const char *name, double x)
{
    char text[PERP_NUMBER_SIZE];
    perp_number_write(x, text);
    perp__text_format(out, " %s=\"%s\"", name, text);
}

/* Units --------------------------------------------------------------------------------------- */

/* FMI's base units have whole powers. */
static void put_unit(perp__text *out, const char *unit)
{
    static const char *const base[] = {"m", "kg", "s", "A", "K"};
    double power[5], scale;
    int known = perp__unit_powers(unit, power, &scale);
    for (int k = 0; k < 5 && known; k++) known = power[k] == floor(power[k]);
    perp__text_put(out, "    <Unit");
    put_text(out, "name", unit);
    if (!known) {
        perp__text_put(out, "/>\n");
        return;
    }
    perp__text_put(out, ">\n      <BaseUnit");
    for (int k = 0; k < 5; k++)
        if (power[k] != 0) perp__text_format(out, " %s=\"%d\"", base[k], (int)power[k]);
    if (strcmp(unit, "rad") == 0 || strcmp(unit, "deg") == 0) perp__text_put(out, " rad=\"1\"");
    if (scale != 1) put_number(out, "factor", scale);
    perp__text_put(out, "/>\n    </Unit>\n");
}

static int is_first_of_unit(const perp__fmu_description *d, int i)
{
    for (int k = 0; k < i; k++)
        if (strcmp(d->variable[k].unit, d->variable[i].unit) == 0) return 0;
    return d->variable[i].unit[0] != 0;
}

static void put_units(perp__text *out, const perp__fmu_description *d)
{
    perp__text_put(out, "  <UnitDefinitions>\n");
    for (int i = 0; i < d->n; i++)
        if (is_first_of_unit(d, i)) put_unit(out, d->variable[i].unit);
    perp__text_put(out, "  </UnitDefinitions>\n");
}

/* Variables ----------------------------------------------------------------------------------- */

static const struct {
    const char *causality, *variability, *initial;
} roles[PERP__FMU_ROLES] = {[PERP__FMU_TIME] = {"independent", "continuous", NULL},
                            [PERP__FMU_CONSTANT] = {"local", "constant", "exact"},
                            [PERP__FMU_PARAMETER] = {"parameter", "fixed", "exact"},
                            [PERP__FMU_CALCULATED] = {"calculatedParameter", "fixed", "calculated"},
                            [PERP__FMU_INPUT] = {"input", "continuous", NULL},
                            [PERP__FMU_STATE] = {"output", "continuous", "exact"},
                            [PERP__FMU_OUTPUT] = {"output", "continuous", "calculated"},
                            [PERP__FMU_LOCAL] = {"local", "continuous", "calculated"},
                            [PERP__FMU_IMPULSE] = {"local", "continuous", "calculated"}};

static int has_start(const perp__fmu_variable *v)
{
    return v->role == PERP__FMU_CONSTANT || v->role == PERP__FMU_PARAMETER ||
           v->role == PERP__FMU_STATE || v->role == PERP__FMU_INPUT;
}

static double start_of(const perp_model *model, const perp__fmu_variable *v)
{
    double value = perp_model_symbol(model, v->kind, v->index).value;
    return isfinite(value) ? value : fmin(fmax(0, v->lo), v->hi); /* an input */
}

static void put_roles(perp__text *out, const perp__fmu_variable *v, int i)
{
    put_text(out, "name", v->name);
    perp__text_format(out, " valueReference=\"%d\"", i);
    put_text(out, "causality", roles[v->role].causality);
    put_text(out, "variability", roles[v->role].variability);
    if (roles[v->role].initial) put_text(out, "initial", roles[v->role].initial);
}

static void put_real(perp__text *out, const perp_model *model, const perp__fmu_variable *v)
{
    if (v->unit[0]) put_text(out, "unit", v->unit);
    if (isfinite(v->lo)) put_number(out, "min", v->lo);
    if (isfinite(v->hi)) put_number(out, "max", v->hi);
    if (has_start(v)) put_number(out, "start", start_of(model, v));
}

static void put_variables(perp__text *out, const perp__fmu_description *d)
{
    perp__text_put(out, "  <ModelVariables>\n");
    for (int i = 0; i < d->n; i++) {
        const perp__fmu_variable *v = &d->variable[i];
        perp__text_format(out, "    <%s", d->version == 2 ? "ScalarVariable" : "Float64");
        put_roles(out, v, i);
        if (d->version == 2) perp__text_put(out, "><Real");
        put_real(out, d->model, v);
        perp__text_put(out, d->version == 2 ? "/></ScalarVariable>\n" : "/>\n");
    }
    perp__text_put(out, "  </ModelVariables>\n");
}

/* Structure ----------------------------------------------------------------------------------- */

static int is_output(const perp__fmu_variable *v)
{
    return v->role == PERP__FMU_STATE || v->role == PERP__FMU_OUTPUT;
}

static int is_unknown_at_first(const perp__fmu_variable *v)
{
    return v->role == PERP__FMU_OUTPUT || v->role == PERP__FMU_CALCULATED;
}

/* FMI 2 counts variables from 1. */
static void put_list(perp__text *out, const perp__fmu_description *d, const char *element,
                     int (*belongs)(const perp__fmu_variable *))
{
    for (int i = 0; i < d->n; i++) {
        if (!belongs(&d->variable[i])) continue;
        perp__text_format(out,
                          d->version == 2 ? "      <%s index=\"%d\"/>\n"
                                          : "    <%s valueReference=\"%d\"/>\n",
                          element, d->version == 2 ? i + 1 : i);
    }
}

static int has_any(const perp__fmu_description *d, int (*belongs)(const perp__fmu_variable *))
{
    int any = 0;
    for (int i = 0; i < d->n; i++) any |= belongs(&d->variable[i]);
    return any;
}

static void put_structure(perp__text *out, const perp__fmu_description *d)
{
    static const struct {
        const char *list, *element;
        int (*belongs)(const perp__fmu_variable *);
    } parts[] = {{"Outputs", "Output", is_output},
                 {"InitialUnknowns", "InitialUnknown", is_unknown_at_first}};
    perp__text_put(out, "  <ModelStructure>\n");
    for (int k = 0; k < 2; k++) {
        if (!has_any(d, parts[k].belongs)) continue;
        if (d->version == 2) perp__text_format(out, "    <%s>\n", parts[k].list);
        put_list(out, d, d->version == 2 ? "Unknown" : parts[k].element, parts[k].belongs);
        if (d->version == 2) perp__text_format(out, "    </%s>\n", parts[k].list);
    }
    perp__text_put(out, "  </ModelStructure>\n");
}

/* The whole ----------------------------------------------------------------------------------- */

static int is_impulse(const perp__fmu_variable *v)
{
    return v->role == PERP__FMU_IMPULSE;
}

/* "impulse(p)" is no structured name. */
static void put_head(perp__text *out, const perp__fmu_description *d)
{
    int two = d->version == 2;
    perp__text_put(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fmiModelDescription");
    put_text(out, "fmiVersion", two ? "2.0" : "3.0");
    put_text(out, "modelName", perp_model_name(d->model));
    put_text(out, two ? "guid" : "instantiationToken", d->token);
    perp__text_format(out, " generationTool=\"perp %s\" variableNamingConvention=\"%s\"%s>\n",
                      perp_version(), has_any(d, is_impulse) ? "flat" : "structured",
                      two ? " numberOfEventIndicators=\"0\"" : "");
}

static void put_interface(perp__text *out, const perp__fmu_description *d)
{
    perp__text_put(out, "  <CoSimulation");
    put_text(out, "modelIdentifier", d->identifier);
    perp__text_put(out, " canHandleVariableCommunicationStepSize=\"true\"");
    if (d->version == 2) {
        perp__text_put(out,
                       " canNotUseMemoryManagementFunctions=\"true\" canGetAndSetFMUstate=\"true\""
                       " canSerializeFMUstate=\"true\" providesDirectionalDerivative=\"true\"/>\n");
        return;
    }
    perp__text_put(out, " canGetAndSetFMUState=\"true\" canSerializeFMUState=\"true\""
                        " providesDirectionalDerivatives=\"true\""
                        " mightReturnEarlyFromDoStep=\"true\"");
    put_number(out, "fixedInternalStepSize", d->step);
    perp__text_put(out, "/>\n");
}

static void put_experiment(perp__text *out, const perp__fmu_description *d)
{
    perp__text_put(out, "  <DefaultExperiment");
    put_number(out, "startTime", d->from);
    if (isfinite(d->to)) put_number(out, "stopTime", d->to);
    put_number(out, "stepSize", d->step);
    perp__text_put(out, "/>\n");
}

static void put_categories(perp__text *out)
{
    perp__text_put(out, "  <LogCategories>\n    <Category name=\"logStatusError\"/>\n"
                        "    <Category name=\"logStatusDiscard\"/>\n  </LogCategories>\n");
}

void perp__fmu_describe(const perp__fmu_description *d, perp__text *out)
{
    put_head(out, d);
    put_interface(out, d);
    put_units(out, d);
    put_categories(out);
    put_experiment(out, d);
    put_variables(out, d);
    put_structure(out, d);
    perp__text_put(out, "</fmiModelDescription>\n");
}
