/* FMI 3.0 for co-simulation: the functions of the standard, over instance.c. */

#include "export/fmu/instance.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef PERP_FMI3_HEADER
#define PERP_FMI3_HEADER "export/fmu/fmi3.h"
#endif
#include PERP_FMI3_HEADER

/* The importer's object: an instance and its callbacks. */
typedef struct instance {
    perp__fmu *fmu;
    fmi3InstanceEnvironment environment;
    fmi3LogMessageCallback log;
    int may_return; /* before the end of a step */
} instance;

static void say(void *given, perp__fmu_status status, const char *text)
{
    const instance *i = given;
    const char *category = status == PERP__FMU_DISCARD ? "logStatusDiscard" : "logStatusError";
    if (i->log) i->log(i->environment, (fmi3Status)status, category, text);
}

static perp__fmu *fmu_of(fmi3Instance i)
{
    return i ? ((instance *)i)->fmu : NULL;
}

/* Does the call make sense at all? */
#define NEED(condition)                                                                            \
    if (!(condition)) return fmi3Error

const char *fmi3GetVersion(void)
{
    return "3.0";
}

fmi3Status fmi3SetDebugLogging(fmi3Instance i, fmi3Boolean on, size_t n,
                               const fmi3String categories[])
{
    (void)i;
    (void)on;
    (void)n;
    (void)categories;
    return fmi3OK;
}

static void refuse_kind(fmi3InstanceEnvironment environment, fmi3LogMessageCallback log)
{
    if (log) log(environment, fmi3Error, "logStatusError", "an FMU of perp is for co-simulation");
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources,
                                          fmi3Boolean visible, fmi3Boolean logging,
                                          fmi3InstanceEnvironment environment,
                                          fmi3LogMessageCallback log)
{
    (void)name;
    (void)token;
    (void)resources;
    (void)visible;
    (void)logging;
    refuse_kind(environment, log);
    return NULL;
}

fmi3Instance
fmi3InstantiateScheduledExecution(fmi3String name, fmi3String token, fmi3String resources,
                                  fmi3Boolean visible, fmi3Boolean logging,
                                  fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                  fmi3ClockUpdateCallback update, fmi3LockPreemptionCallback lock,
                                  fmi3UnlockPreemptionCallback unlock)
{
    (void)name;
    (void)token;
    (void)resources;
    (void)visible;
    (void)logging;
    (void)update;
    (void)lock;
    (void)unlock;
    refuse_kind(environment, log);
    return NULL;
}

fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources,
                                         fmi3Boolean visible, fmi3Boolean logging,
                                         fmi3Boolean event_mode, fmi3Boolean early,
                                         const fmi3ValueReference required[], size_t nrequired,
                                         fmi3InstanceEnvironment environment,
                                         fmi3LogMessageCallback log,
                                         fmi3IntermediateUpdateCallback update)
{
    (void)name;
    (void)visible;
    (void)logging;
    (void)event_mode;
    (void)required;
    (void)nrequired;
    (void)update;
    instance *i = calloc(1, sizeof *i);
    if (!i) return NULL;
    i->environment = environment;
    i->log = log;
    i->may_return = early;
    i->fmu = perp__fmu_open(resources, token, (perp__fmu_host){say, i});
    if (i->fmu) return i;
    free(i);
    return NULL;
}

void fmi3FreeInstance(fmi3Instance i)
{
    perp__fmu_close(fmu_of(i));
    free(i);
}

fmi3Status fmi3EnterInitializationMode(fmi3Instance i, fmi3Boolean has_tolerance,
                                       fmi3Float64 tolerance, fmi3Float64 start,
                                       fmi3Boolean has_stop, fmi3Float64 stop)
{
    (void)has_tolerance;
    (void)tolerance; /* steps are verified to the tolerance of the export */
    NEED(fmu_of(i));
    perp__fmu_status status = perp__fmu_setup(fmu_of(i), start, has_stop ? stop : (double)NAN);
    return (fmi3Status)(status == PERP__FMU_OK ? perp__fmu_initialize(fmu_of(i)) : status);
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance i)
{
    NEED(fmu_of(i));
    return (fmi3Status)perp__fmu_begin(fmu_of(i));
}

fmi3Status fmi3Terminate(fmi3Instance i)
{
    NEED(fmu_of(i));
    return fmi3OK;
}

fmi3Status fmi3Reset(fmi3Instance i)
{
    NEED(fmu_of(i));
    return (fmi3Status)perp__fmu_reset(fmu_of(i));
}

/* Variables: all are of 64 bits ---------------------------------------------------------------- */

fmi3Status fmi3GetFloat64(fmi3Instance i, const fmi3ValueReference reference[], size_t n,
                          fmi3Float64 value[], size_t nvalue)
{
    NEED(fmu_of(i) && nvalue == n && (n == 0 || (reference && value)));
    return (fmi3Status)perp__fmu_get(fmu_of(i), reference, n, value);
}

fmi3Status fmi3SetFloat64(fmi3Instance i, const fmi3ValueReference reference[], size_t n,
                          const fmi3Float64 value[], size_t nvalue)
{
    NEED(fmu_of(i) && nvalue == n && (n == 0 || (reference && value)));
    return (fmi3Status)perp__fmu_set(fmu_of(i), reference, n, value);
}

fmi3Status fmi3GetDirectionalDerivative(fmi3Instance i, const fmi3ValueReference unknown[],
                                        size_t nunknown, const fmi3ValueReference known[],
                                        size_t nknown, const fmi3Float64 seed[], size_t nseed,
                                        fmi3Float64 derivative[], size_t nderivative)
{
    NEED(fmu_of(i) && unknown && known && seed && derivative);
    NEED(nseed == nknown && nderivative == nunknown);
    return (fmi3Status)perp__fmu_derive(fmu_of(i), unknown, nunknown, known, nknown, seed,
                                        derivative);
}

/* States: bytes that know their number --------------------------------------------------------- */

fmi3Status fmi3GetFMUState(fmi3Instance i, fmi3FMUState *state)
{
    NEED(fmu_of(i) && state);
    return (fmi3Status)perp__fmu_keep(fmu_of(i), state);
}

fmi3Status fmi3SetFMUState(fmi3Instance i, fmi3FMUState state)
{
    NEED(fmu_of(i) && state);
    return (fmi3Status)perp__fmu_take(fmu_of(i), state);
}

fmi3Status fmi3FreeFMUState(fmi3Instance i, fmi3FMUState *state)
{
    (void)i;
    NEED(state);
    free(*state);
    *state = NULL;
    return fmi3OK;
}

fmi3Status fmi3SerializedFMUStateSize(fmi3Instance i, fmi3FMUState state, size_t *size)
{
    NEED(fmu_of(i) && state && size);
    *size = perp__fmu_kept_size(state);
    return fmi3OK;
}

fmi3Status fmi3SerializeFMUState(fmi3Instance i, fmi3FMUState state, fmi3Byte bytes[], size_t size)
{
    NEED(fmu_of(i) && state && bytes && size >= perp__fmu_kept_size(state));
    memcpy(bytes, state, perp__fmu_kept_size(state));
    return fmi3OK;
}

fmi3Status fmi3DeserializeFMUState(fmi3Instance i, const fmi3Byte bytes[], size_t size,
                                   fmi3FMUState *state)
{
    NEED(fmu_of(i) && bytes && state);
    return (fmi3Status)perp__fmu_copy(fmu_of(i), bytes, size, state);
}

/* Steps ---------------------------------------------------------------------------------------- */

fmi3Status fmi3EnterStepMode(fmi3Instance i)
{
    return fmu_of(i) ? fmi3OK : fmi3Error;
}

fmi3Status fmi3DoStep(fmi3Instance i, fmi3Float64 t, fmi3Float64 length, fmi3Boolean no_return,
                      fmi3Boolean *event, fmi3Boolean *terminate, fmi3Boolean *early,
                      fmi3Float64 *reached)
{
    double last;
    (void)no_return;
    NEED(fmu_of(i));
    const instance *it = i;
    perp__fmu_status status = perp__fmu_step(it->fmu, t, length, it->may_return, &last);
    if (event) *event = fmi3False;
    if (terminate) *terminate = fmi3False;
    if (early) *early = status == PERP__FMU_OK && last < t + length - 1e-6 * length;
    if (reached) *reached = last;
    return (fmi3Status)status;
}

/* What these FMUs have not --------------------------------------------------------------------- */

#define NOT(name, n, ...)                                                                          \
    fmi3Status name(fmi3Instance i, __VA_ARGS__)                                                   \
    {                                                                                              \
        return (fmi3Status)perp__fmu_refuse(fmu_of(i), n, #name);                                  \
    }
#define NO_MODE(name)                                                                              \
    fmi3Status name(fmi3Instance i)                                                                \
    {                                                                                              \
        return (fmi3Status)perp__fmu_refuse(fmu_of(i), 1, #name);                                  \
    }
#define NO_VALUES(Type)                                                                            \
    NOT(fmi3Get##Type, n, const fmi3ValueReference r[], size_t n, fmi3##Type v[], size_t nv)       \
    NOT(fmi3Set##Type, n, const fmi3ValueReference r[], size_t n, const fmi3##Type v[], size_t nv)
#pragma GCC diagnostic ignored "-Wunused-parameter"
NO_VALUES(Float32)
NO_VALUES(Int8)
NO_VALUES(UInt8)
NO_VALUES(Int16)
NO_VALUES(UInt16)
NO_VALUES(Int32)
NO_VALUES(UInt32)
NO_VALUES(Int64)
NO_VALUES(UInt64)
NO_VALUES(Boolean)
NO_VALUES(String)
NOT(fmi3GetBinary, n, const fmi3ValueReference r[], size_t n, size_t s[], fmi3Binary v[], size_t nv)
NOT(fmi3SetBinary, n, const fmi3ValueReference r[], size_t n, const size_t s[],
    const fmi3Binary v[], size_t nv)
NOT(fmi3GetClock, n, const fmi3ValueReference r[], size_t n, fmi3Clock v[])
NOT(fmi3SetClock, n, const fmi3ValueReference r[], size_t n, const fmi3Clock v[])
NOT(fmi3GetNumberOfVariableDependencies, 1, fmi3ValueReference r, size_t *n)
NOT(fmi3GetVariableDependencies, n, fmi3ValueReference r, size_t e[], fmi3ValueReference of[],
    size_t f[], fmi3DependencyKind kind[], size_t n)
NOT(fmi3GetAdjointDerivative, n, const fmi3ValueReference u[], size_t n,
    const fmi3ValueReference k[], size_t nk, const fmi3Float64 seed[], size_t nseed,
    fmi3Float64 v[], size_t nv)
NOT(fmi3GetIntervalDecimal, n, const fmi3ValueReference r[], size_t n, fmi3Float64 v[],
    fmi3IntervalQualifier q[])
NOT(fmi3GetIntervalFraction, n, const fmi3ValueReference r[], size_t n, fmi3UInt64 c[],
    fmi3UInt64 s[], fmi3IntervalQualifier q[])
NOT(fmi3GetShiftDecimal, n, const fmi3ValueReference r[], size_t n, fmi3Float64 v[])
NOT(fmi3GetShiftFraction, n, const fmi3ValueReference r[], size_t n, fmi3UInt64 c[], fmi3UInt64 s[])
NOT(fmi3SetIntervalDecimal, n, const fmi3ValueReference r[], size_t n, const fmi3Float64 v[])
NOT(fmi3SetIntervalFraction, n, const fmi3ValueReference r[], size_t n, const fmi3UInt64 c[],
    const fmi3UInt64 s[])
NOT(fmi3SetShiftDecimal, n, const fmi3ValueReference r[], size_t n, const fmi3Float64 v[])
NOT(fmi3SetShiftFraction, n, const fmi3ValueReference r[], size_t n, const fmi3UInt64 c[],
    const fmi3UInt64 s[])
NOT(fmi3UpdateDiscreteStates, 1, fmi3Boolean *again, fmi3Boolean *terminate, fmi3Boolean *nominals,
    fmi3Boolean *values, fmi3Boolean *has_next, fmi3Float64 *next)
NOT(fmi3CompletedIntegratorStep, 1, fmi3Boolean last, fmi3Boolean *event, fmi3Boolean *terminate)
NOT(fmi3SetTime, 1, fmi3Float64 t)
NOT(fmi3SetContinuousStates, 1, const fmi3Float64 x[], size_t n)
NOT(fmi3GetContinuousStateDerivatives, 1, fmi3Float64 x[], size_t n)
NOT(fmi3GetEventIndicators, 1, fmi3Float64 x[], size_t n)
NOT(fmi3GetContinuousStates, 1, fmi3Float64 x[], size_t n)
NOT(fmi3GetNominalsOfContinuousStates, 1, fmi3Float64 x[], size_t n)
NOT(fmi3GetNumberOfEventIndicators, 1, size_t *n)
NOT(fmi3GetNumberOfContinuousStates, 1, size_t *n)
NOT(fmi3GetOutputDerivatives, n, const fmi3ValueReference r[], size_t n, const fmi3Int32 order[],
    fmi3Float64 v[], size_t nv)
NOT(fmi3ActivateModelPartition, 1, fmi3ValueReference clock, fmi3Float64 t)
NO_MODE(fmi3EnterEventMode)
NO_MODE(fmi3EnterConfigurationMode)
NO_MODE(fmi3ExitConfigurationMode)
NO_MODE(fmi3EvaluateDiscreteStates)
NO_MODE(fmi3EnterContinuousTimeMode)
