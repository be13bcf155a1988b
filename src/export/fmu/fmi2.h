/* The C interface of FMI 2.0 for co-simulation, written from the standard (section 2.1, 2.2 and
 * 4.2). The test fmpy.sh compiles fmi2.c with the standard's own headers, where these can be had.
 * They then stand in place of this one. */

#ifndef PERP_SRC_FMU_FMI2_H
#define PERP_SRC_FMU_FMI2_H

#include <stddef.h>

#define FMI2_Export __attribute__((visibility("default")))

typedef void *fmi2Component, *fmi2ComponentEnvironment, *fmi2FMUstate;
typedef unsigned fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer, fmi2Boolean;
typedef char fmi2Char, fmi2Byte;
typedef const fmi2Char *fmi2String;
#define fmi2True  1
#define fmi2False 0

typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum {
    fmi2DoStepStatus,
    fmi2PendingStatus,
    fmi2LastSuccessfulTime,
    fmi2Terminated
} fmi2StatusKind;

typedef struct {
    void (*logger)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
    void *(*allocateMemory)(size_t, size_t);
    void (*freeMemory)(void *);
    void (*stepFinished)(fmi2ComponentEnvironment, fmi2Status);
    fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;

#define FMI2_FUNCTION(type, name, ...) FMI2_Export type name(__VA_ARGS__);
FMI2_FUNCTION(const char *, fmi2GetTypesPlatform, void)
FMI2_FUNCTION(const char *, fmi2GetVersion, void)
FMI2_FUNCTION(fmi2Status, fmi2SetDebugLogging, fmi2Component, fmi2Boolean, size_t,
              const fmi2String[])
FMI2_FUNCTION(fmi2Component, fmi2Instantiate, fmi2String, fmi2Type, fmi2String, fmi2String,
              const fmi2CallbackFunctions *, fmi2Boolean, fmi2Boolean)
FMI2_FUNCTION(void, fmi2FreeInstance, fmi2Component)
FMI2_FUNCTION(fmi2Status, fmi2SetupExperiment, fmi2Component, fmi2Boolean, fmi2Real, fmi2Real,
              fmi2Boolean, fmi2Real)
FMI2_FUNCTION(fmi2Status, fmi2EnterInitializationMode, fmi2Component)
FMI2_FUNCTION(fmi2Status, fmi2ExitInitializationMode, fmi2Component)
FMI2_FUNCTION(fmi2Status, fmi2Terminate, fmi2Component)
FMI2_FUNCTION(fmi2Status, fmi2Reset, fmi2Component)
#define FMI2_VALUES(Type)                                                                          \
    FMI2_FUNCTION(fmi2Status, fmi2Get##Type, fmi2Component, const fmi2ValueReference[], size_t,    \
                  fmi2##Type[])                                                                    \
    FMI2_FUNCTION(fmi2Status, fmi2Set##Type, fmi2Component, const fmi2ValueReference[], size_t,    \
                  const fmi2##Type[])
FMI2_VALUES(Real)
FMI2_VALUES(Integer)
FMI2_VALUES(Boolean)
FMI2_VALUES(String)
FMI2_FUNCTION(fmi2Status, fmi2GetFMUstate, fmi2Component, fmi2FMUstate *)
FMI2_FUNCTION(fmi2Status, fmi2SetFMUstate, fmi2Component, fmi2FMUstate)
FMI2_FUNCTION(fmi2Status, fmi2FreeFMUstate, fmi2Component, fmi2FMUstate *)
FMI2_FUNCTION(fmi2Status, fmi2SerializedFMUstateSize, fmi2Component, fmi2FMUstate, size_t *)
FMI2_FUNCTION(fmi2Status, fmi2SerializeFMUstate, fmi2Component, fmi2FMUstate, fmi2Byte[], size_t)
FMI2_FUNCTION(fmi2Status, fmi2DeSerializeFMUstate, fmi2Component, const fmi2Byte[], size_t,
              fmi2FMUstate *)
FMI2_FUNCTION(fmi2Status, fmi2GetDirectionalDerivative, fmi2Component, const fmi2ValueReference[],
              size_t, const fmi2ValueReference[], size_t, const fmi2Real[], fmi2Real[])
FMI2_FUNCTION(fmi2Status, fmi2SetRealInputDerivatives, fmi2Component, const fmi2ValueReference[],
              size_t, const fmi2Integer[], const fmi2Real[])
FMI2_FUNCTION(fmi2Status, fmi2GetRealOutputDerivatives, fmi2Component, const fmi2ValueReference[],
              size_t, const fmi2Integer[], fmi2Real[])
FMI2_FUNCTION(fmi2Status, fmi2DoStep, fmi2Component, fmi2Real, fmi2Real, fmi2Boolean)
FMI2_FUNCTION(fmi2Status, fmi2CancelStep, fmi2Component)
FMI2_FUNCTION(fmi2Status, fmi2GetStatus, fmi2Component, fmi2StatusKind, fmi2Status *)
FMI2_FUNCTION(fmi2Status, fmi2GetRealStatus, fmi2Component, fmi2StatusKind, fmi2Real *)
FMI2_FUNCTION(fmi2Status, fmi2GetIntegerStatus, fmi2Component, fmi2StatusKind, fmi2Integer *)
FMI2_FUNCTION(fmi2Status, fmi2GetBooleanStatus, fmi2Component, fmi2StatusKind, fmi2Boolean *)
FMI2_FUNCTION(fmi2Status, fmi2GetStringStatus, fmi2Component, fmi2StatusKind, fmi2String *)

#endif
