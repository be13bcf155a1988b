/* The C interface of FMI 3.0, written from the standard (sections 2.2, 3.2, 4.2 and 5.2).
 * The test fmpy.sh compiles fmi3.c with the standard's own headers, where these can be had. They
 * then stand in place of this one. */

#ifndef PERP_SRC_FMU_FMI3_H
#define PERP_SRC_FMU_FMI3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FMI3_Export __attribute__((visibility("default")))

typedef void *fmi3Instance, *fmi3InstanceEnvironment, *fmi3FMUState;
typedef uint32_t fmi3ValueReference;
typedef float fmi3Float32;
typedef double fmi3Float64;
typedef int8_t fmi3Int8;
typedef uint8_t fmi3UInt8, fmi3Byte;
typedef int16_t fmi3Int16;
typedef uint16_t fmi3UInt16;
typedef int32_t fmi3Int32;
typedef uint32_t fmi3UInt32;
typedef int64_t fmi3Int64;
typedef uint64_t fmi3UInt64;
typedef bool fmi3Boolean, fmi3Clock;
typedef char fmi3Char;
typedef const fmi3Char *fmi3String;
typedef const fmi3Byte *fmi3Binary;
#define fmi3True  true
#define fmi3False false

typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef enum {
    fmi3Independent,
    fmi3Constant,
    fmi3Fixed,
    fmi3Tunable,
    fmi3Discrete,
    fmi3Dependent
} fmi3DependencyKind;
typedef enum {
    fmi3IntervalNotYetKnown,
    fmi3IntervalUnchanged,
    fmi3IntervalChanged
} fmi3IntervalQualifier;

typedef void (*fmi3LogMessageCallback)(fmi3InstanceEnvironment, fmi3Status, fmi3String, fmi3String);
typedef void (*fmi3IntermediateUpdateCallback)(fmi3InstanceEnvironment, fmi3Float64, fmi3Boolean,
                                               fmi3Boolean, fmi3Boolean, fmi3Boolean, fmi3Boolean *,
                                               fmi3Float64 *);
typedef void (*fmi3ClockUpdateCallback)(fmi3InstanceEnvironment);
typedef void (*fmi3LockPreemptionCallback)(void);
typedef void (*fmi3UnlockPreemptionCallback)(void);

#define FMI3_STATUS(name, ...) FMI3_Export fmi3Status name(fmi3Instance, __VA_ARGS__)
#define FMI3_MODE(name)        FMI3_Export fmi3Status name(fmi3Instance)
#define FMI3_REFERENCES        const fmi3ValueReference[], size_t

FMI3_Export const char *fmi3GetVersion(void);
FMI3_STATUS(fmi3SetDebugLogging, fmi3Boolean, size_t, const fmi3String[]);
FMI3_Export fmi3Instance fmi3InstantiateModelExchange(fmi3String, fmi3String, fmi3String,
                                                      fmi3Boolean, fmi3Boolean,
                                                      fmi3InstanceEnvironment,
                                                      fmi3LogMessageCallback);
FMI3_Export fmi3Instance fmi3InstantiateCoSimulation(fmi3String, fmi3String, fmi3String,
                                                     fmi3Boolean, fmi3Boolean, fmi3Boolean,
                                                     fmi3Boolean, const fmi3ValueReference[],
                                                     size_t, fmi3InstanceEnvironment,
                                                     fmi3LogMessageCallback,
                                                     fmi3IntermediateUpdateCallback);
FMI3_Export fmi3Instance fmi3InstantiateScheduledExecution(
    fmi3String, fmi3String, fmi3String, fmi3Boolean, fmi3Boolean, fmi3InstanceEnvironment,
    fmi3LogMessageCallback, fmi3ClockUpdateCallback, fmi3LockPreemptionCallback,
    fmi3UnlockPreemptionCallback);
FMI3_Export void fmi3FreeInstance(fmi3Instance);
FMI3_STATUS(fmi3EnterInitializationMode, fmi3Boolean, fmi3Float64, fmi3Float64, fmi3Boolean,
            fmi3Float64);
FMI3_MODE(fmi3ExitInitializationMode);
FMI3_MODE(fmi3EnterEventMode);
FMI3_MODE(fmi3Terminate);
FMI3_MODE(fmi3Reset);
#define FMI3_VALUES(Type)                                                                          \
    FMI3_STATUS(fmi3Get##Type, FMI3_REFERENCES, fmi3##Type[], size_t);                             \
    FMI3_STATUS(fmi3Set##Type, FMI3_REFERENCES, const fmi3##Type[], size_t)
FMI3_VALUES(Float32);
FMI3_VALUES(Float64);
FMI3_VALUES(Int8);
FMI3_VALUES(UInt8);
FMI3_VALUES(Int16);
FMI3_VALUES(UInt16);
FMI3_VALUES(Int32);
FMI3_VALUES(UInt32);
FMI3_VALUES(Int64);
FMI3_VALUES(UInt64);
FMI3_VALUES(Boolean);
FMI3_VALUES(String);
FMI3_STATUS(fmi3GetBinary, FMI3_REFERENCES, size_t[], fmi3Binary[], size_t);
FMI3_STATUS(fmi3SetBinary, FMI3_REFERENCES, const size_t[], const fmi3Binary[], size_t);
FMI3_STATUS(fmi3GetClock, FMI3_REFERENCES, fmi3Clock[]);
FMI3_STATUS(fmi3SetClock, FMI3_REFERENCES, const fmi3Clock[]);
FMI3_STATUS(fmi3GetNumberOfVariableDependencies, fmi3ValueReference, size_t *);
FMI3_STATUS(fmi3GetVariableDependencies, fmi3ValueReference, size_t[], fmi3ValueReference[],
            size_t[], fmi3DependencyKind[], size_t);
FMI3_STATUS(fmi3GetFMUState, fmi3FMUState *);
FMI3_STATUS(fmi3SetFMUState, fmi3FMUState);
FMI3_STATUS(fmi3FreeFMUState, fmi3FMUState *);
FMI3_STATUS(fmi3SerializedFMUStateSize, fmi3FMUState, size_t *);
FMI3_STATUS(fmi3SerializeFMUState, fmi3FMUState, fmi3Byte[], size_t);
FMI3_STATUS(fmi3DeserializeFMUState, const fmi3Byte[], size_t, fmi3FMUState *);
FMI3_STATUS(fmi3GetDirectionalDerivative, FMI3_REFERENCES, FMI3_REFERENCES, const fmi3Float64[],
            size_t, fmi3Float64[], size_t);
FMI3_STATUS(fmi3GetAdjointDerivative, FMI3_REFERENCES, FMI3_REFERENCES, const fmi3Float64[], size_t,
            fmi3Float64[], size_t);
FMI3_MODE(fmi3EnterConfigurationMode);
FMI3_MODE(fmi3ExitConfigurationMode);
FMI3_STATUS(fmi3GetIntervalDecimal, FMI3_REFERENCES, fmi3Float64[], fmi3IntervalQualifier[]);
FMI3_STATUS(fmi3GetIntervalFraction, FMI3_REFERENCES, fmi3UInt64[], fmi3UInt64[],
            fmi3IntervalQualifier[]);
FMI3_STATUS(fmi3GetShiftDecimal, FMI3_REFERENCES, fmi3Float64[]);
FMI3_STATUS(fmi3GetShiftFraction, FMI3_REFERENCES, fmi3UInt64[], fmi3UInt64[]);
FMI3_STATUS(fmi3SetIntervalDecimal, FMI3_REFERENCES, const fmi3Float64[]);
FMI3_STATUS(fmi3SetIntervalFraction, FMI3_REFERENCES, const fmi3UInt64[], const fmi3UInt64[]);
FMI3_STATUS(fmi3SetShiftDecimal, FMI3_REFERENCES, const fmi3Float64[]);
FMI3_STATUS(fmi3SetShiftFraction, FMI3_REFERENCES, const fmi3UInt64[], const fmi3UInt64[]);
FMI3_MODE(fmi3EvaluateDiscreteStates);
FMI3_STATUS(fmi3UpdateDiscreteStates, fmi3Boolean *, fmi3Boolean *, fmi3Boolean *, fmi3Boolean *,
            fmi3Boolean *, fmi3Float64 *);
FMI3_MODE(fmi3EnterContinuousTimeMode);
FMI3_STATUS(fmi3CompletedIntegratorStep, fmi3Boolean, fmi3Boolean *, fmi3Boolean *);
FMI3_STATUS(fmi3SetTime, fmi3Float64);
FMI3_STATUS(fmi3SetContinuousStates, const fmi3Float64[], size_t);
FMI3_STATUS(fmi3GetContinuousStateDerivatives, fmi3Float64[], size_t);
FMI3_STATUS(fmi3GetEventIndicators, fmi3Float64[], size_t);
FMI3_STATUS(fmi3GetContinuousStates, fmi3Float64[], size_t);
FMI3_STATUS(fmi3GetNominalsOfContinuousStates, fmi3Float64[], size_t);
FMI3_STATUS(fmi3GetNumberOfEventIndicators, size_t *);
FMI3_STATUS(fmi3GetNumberOfContinuousStates, size_t *);
FMI3_MODE(fmi3EnterStepMode);
FMI3_STATUS(fmi3GetOutputDerivatives, FMI3_REFERENCES, const fmi3Int32[], fmi3Float64[], size_t);
FMI3_STATUS(fmi3DoStep, fmi3Float64, fmi3Float64, fmi3Boolean, fmi3Boolean *, fmi3Boolean *,
            fmi3Boolean *, fmi3Float64 *);
FMI3_STATUS(fmi3ActivateModelPartition, fmi3ValueReference, fmi3Float64);

#endif
