/* FMI 2.0.4 for co-simulation: the functions of the standard, over instance.c. */

#include "export/fmu/instance.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef PERP_FMI2_HEADER
#define PERP_FMI2_HEADER "export/fmu/fmi2.h"
#endif
#include PERP_FMI2_HEADER

/* The importer's object: an instance and its callbacks. */
typedef struct instance {
    perp__fmu *fmu;
    const fmi2CallbackFunctions *callbacks;
    char *name;
} instance;

static void say(void *given, perp__fmu_status status, const char *text)
{
    const instance *i = given;
    const char *category = status == PERP__FMU_DISCARD ? "logStatusDiscard" : "logStatusError";
    if (i->callbacks && i->callbacks->logger)
        i->callbacks->logger(i->callbacks->componentEnvironment, i->name, (fmi2Status)status,
                             category, "%s", text);
}

static perp__fmu *fmu_of(fmi2Component c)
{
    return c ? ((instance *)c)->fmu : NULL;
}

/* Does the call make sense at all? */
#define NEED(condition)                                                                            \
    if (!(condition)) return fmi2Error

const char *fmi2GetTypesPlatform(void)
{
    return "default";
}

const char *fmi2GetVersion(void)
{
    return "2.0";
}

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n,
                               const fmi2String categories[])
{
    (void)c;
    (void)on;
    (void)n;
    (void)categories;
    return fmi2OK;
}

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                              const fmi2CallbackFunctions *callbacks, fmi2Boolean visible,
                              fmi2Boolean logging)
{
    (void)visible;
    (void)logging;
    instance *i = calloc(1, sizeof *i);
    if (!i) return NULL;
    i->callbacks = callbacks;
    i->name = name ? malloc(strlen(name) + 1) : NULL;
    if (i->name) strcpy(i->name, name);
    perp__fmu_host host = {say, i};
    if (type == fmi2CoSimulation)
        i->fmu = perp__fmu_open(resources, guid, host);
    else
        say(i, PERP__FMU_ERROR, "an FMU of perp is for co-simulation");
    if (i->fmu) return i;
    fmi2FreeInstance(i);
    return NULL;
}

void fmi2FreeInstance(fmi2Component c)
{
    instance *i = c;
    if (!i) return;
    perp__fmu_close(i->fmu);
    free(i->name);
    free(i);
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean has_tolerance, fmi2Real tolerance,
                               fmi2Real start, fmi2Boolean has_stop, fmi2Real stop)
{
    (void)has_tolerance;
    (void)tolerance; /* steps are verified to the tolerance of the export */
    NEED(fmu_of(c));
    return (fmi2Status)perp__fmu_setup(fmu_of(c), start, has_stop ? stop : (double)NAN);
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    NEED(fmu_of(c));
    return (fmi2Status)perp__fmu_initialize(fmu_of(c));
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    NEED(fmu_of(c));
    return (fmi2Status)perp__fmu_begin(fmu_of(c));
}

fmi2Status fmi2Terminate(fmi2Component c)
{
    NEED(fmu_of(c));
    return fmi2OK;
}

fmi2Status fmi2Reset(fmi2Component c)
{
    NEED(fmu_of(c));
    return (fmi2Status)perp__fmu_reset(fmu_of(c));
}

/* Variables: all are reals --------------------------------------------------------------------- */

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference reference[], size_t n,
                       fmi2Real value[])
{
    NEED(fmu_of(c) && (n == 0 || (reference && value)));
    return (fmi2Status)perp__fmu_get(fmu_of(c), reference, n, value);
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference reference[], size_t n,
                       const fmi2Real value[])
{
    NEED(fmu_of(c) && (n == 0 || (reference && value)));
    return (fmi2Status)perp__fmu_set(fmu_of(c), reference, n, value);
}

#define OTHER(Type)                                                                                \
    fmi2Status fmi2Get##Type(fmi2Component c, const fmi2ValueReference reference[], size_t n,      \
                             fmi2##Type value[])                                                   \
    {                                                                                              \
        (void)reference, (void)value;                                                              \
        return (fmi2Status)perp__fmu_refuse(fmu_of(c), n, "fmi2Get" #Type);                        \
    }                                                                                              \
    fmi2Status fmi2Set##Type(fmi2Component c, const fmi2ValueReference reference[], size_t n,      \
                             const fmi2##Type value[])                                             \
    {                                                                                              \
        (void)reference, (void)value;                                                              \
        return (fmi2Status)perp__fmu_refuse(fmu_of(c), n, "fmi2Set" #Type);                        \
    }
OTHER(Integer)
OTHER(Boolean)
OTHER(String)

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknown[],
                                        size_t nunknown, const fmi2ValueReference known[],
                                        size_t nknown, const fmi2Real seed[], fmi2Real derivative[])
{
    NEED(fmu_of(c) && unknown && known && seed && derivative);
    return (fmi2Status)perp__fmu_derive(fmu_of(c), unknown, nunknown, known, nknown, seed,
                                        derivative);
}

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference reference[],
                                       size_t n, const fmi2Integer order[], const fmi2Real value[])
{
    (void)reference;
    (void)order;
    (void)value;
    return (fmi2Status)perp__fmu_refuse(fmu_of(c), n, "fmi2SetRealInputDerivatives");
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference reference[],
                                        size_t n, const fmi2Integer order[], fmi2Real value[])
{
    (void)reference;
    (void)order;
    (void)value;
    return (fmi2Status)perp__fmu_refuse(fmu_of(c), n, "fmi2GetRealOutputDerivatives");
}

/* States: bytes behind their number ------------------------------------------------------------ */

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    NEED(fmu_of(c) && state);
    return (fmi2Status)perp__fmu_keep(fmu_of(c), state);
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state)
{
    NEED(fmu_of(c) && state);
    return (fmi2Status)perp__fmu_take(fmu_of(c), state);
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    (void)c;
    NEED(state);
    free(*state);
    *state = NULL;
    return fmi2OK;
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    NEED(fmu_of(c) && state && size);
    *size = perp__fmu_kept_size(state);
    return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
{
    NEED(fmu_of(c) && state && bytes && size >= perp__fmu_kept_size(state));
    memcpy(bytes, state, perp__fmu_kept_size(state));
    return fmi2OK;
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size,
                                   fmi2FMUstate *state)
{
    NEED(fmu_of(c) && bytes && state);
    return (fmi2Status)perp__fmu_copy(fmu_of(c), bytes, size, state);
}

/* Steps ---------------------------------------------------------------------------------------- */

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real length, fmi2Boolean no_return)
{
    double reached;
    (void)no_return;
    NEED(fmu_of(c));
    return (fmi2Status)perp__fmu_step(fmu_of(c), t, length, 0, &reached);
}

fmi2Status fmi2CancelStep(fmi2Component c)
{
    return (fmi2Status)perp__fmu_refuse(fmu_of(c), 1, "fmi2CancelStep");
}

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value)
{
    (void)kind;
    (void)value;
    return (fmi2Status)(fmu_of(c) ? PERP__FMU_DISCARD : PERP__FMU_ERROR);
}

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    NEED(fmu_of(c) && value);
    if (kind != fmi2LastSuccessfulTime) return fmi2Discard;
    *value = perp__fmu_reached(fmu_of(c));
    return fmi2OK;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value)
{
    (void)kind;
    (void)value;
    return fmu_of(c) ? fmi2Discard : fmi2Error;
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value)
{
    NEED(fmu_of(c) && value);
    if (kind != fmi2Terminated) return fmi2Discard;
    *value = fmi2False;
    return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind kind, fmi2String *value)
{
    (void)kind;
    (void)value;
    return fmu_of(c) ? fmi2Discard : fmi2Error;
}
