/// perp/export.h - a model for other programs: a functional mock-up unit (FMU) for co-simulation, which tools such as Dymola,
/// Simulink or OpenModelica import (https://fmi-standard.org, versions 2.0 and 3.0); or C code that needs nothing but libm.
///
/// An FMU holds the text of the model, the files that it uses, and one library that serves every model: nothing is compiled. In it
/// the run is that of perp/simulate.h, each step verified; a step that has no verified solution ends with the standard's Discard.

#ifndef PERP_EXPORT_H
#define PERP_EXPORT_H

#include "perp/simulate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_fmu_options {
    size_t size; ///< set by the default; says which fields the caller has
    int version; ///< of the standard, 2 or 3; default 3
    const char *
        library; ///< the library for the FMU; default NULL: perp-fmu.so beside the program, or where perp is installed
    double step; ///< of the run inside [s]; default NaN: the model's
    double to;   ///< the end that is proposed [s]; default NaN: the model's
    double tol;  ///< of a step's conditions; default 1e-9
    perp_integrator
        integrator; ///< default PERP_INTEGRATOR_COUNT: the model's, else perp_simulation_recommend
} perp_fmu_options;

PERP_API void perp_fmu_options_fill(perp_fmu_options *options, size_t size);
static inline perp_fmu_options perp_fmu_options_default(void)
{
    perp_fmu_options options;
    perp_fmu_options_fill(&options, sizeof options);
    return options;
}

/// Write an FMU for co-simulation on 64-bit Linux. Variables are those of the model, one for each element: parameters that are numbers may be set before
/// a run begins, initial values of states too, inputs at all times; states and outputs are outputs, vars and the
/// residual are local. Parameters that a size follows from are constants. Methods that locate events (radau) take no inputs that are set: those of the
/// model must then have values. What perp_model_set changed is kept.
///
/// @param path  written whole or not at all
/// @return PERP_OK; PERP_ERR_ARG (diag: a version that is none, no step, an input without a value); what perp_simulation_create says
///         of the model; PERP_ERR_FILE (the library or a table cannot be read, or lies outside the model's folder; the file cannot be written); PERP_ERR_MEMORY
PERP_API perp_status perp_export_fmu(const perp_model *model, const perp_fmu_options *options,
                                     const char *path, perp_diag *diag);

typedef struct perp_c_options {
    size_t size;  ///< set by the default; says which fields the caller has
    double step;  ///< of the code [s]; default NaN: the model's
    double from;  ///< its start [s]; default NaN: the model's, else 0
    double theta; ///< for theta and moreau: weight of the step's end, 0.5..1; default 0.5
    double
        tol; ///< of a step's conditions; default 1e-9. Code of floats has 1e-4 where that is larger
    perp_integrator
        integrator; ///< one that locates no events; default PERP_INTEGRATOR_COUNT: the model's, else backward Euler
} perp_c_options;

PERP_API void perp_c_options_fill(perp_c_options *options, size_t size);
static inline perp_c_options perp_c_options_default(void)
{
    perp_c_options options;
    perp_c_options_fill(&options, sizeof options);
    return options;
}

/// What the code takes.
typedef struct perp_c_info {
    size_t size;         ///< sizeof of this struct, set by the caller
    int unknowns, pairs; ///< of a step
    int pivots;          ///< the most that a step's complementarity problem takes
    int statements;      ///< arithmetic of the model
    size_t bytes,
        bytes_float; ///< of one instance, where an int has 4 bytes, and the same of floats
} perp_c_info;

/// Write a model as C99: NAME.h, NAME.c, and NAME_main.c, a program that writes a run's rows, where NAME is the model's name as one of C. The code
/// allocates nothing and needs libm alone. Each step is solved by the method of a run, by the zero sides of the last step, else Lemke's
/// method on the eliminated problem; and verified by the conditions as they were written, or the state stays and the outcome
/// says why. All parameters that are numbers, and shape nothing, may be set at its start; inputs and states between steps.
///
/// @param folder  made if it is not there; each file is written whole or not at all
/// @param info    nullable
/// @return PERP_OK; PERP_ERR_ARG (no step, no such method); PERP_ERR_UNAVAILABLE (what C code does not have: exact friction cones, methods that
///         locate events, tables of higher degree, equations that depend on each other, more than 600 unknowns; diag names the place); what
///         perp_simulation_create says of the model; PERP_ERR_FILE; PERP_ERR_MEMORY
PERP_API perp_status perp_export_c(const perp_model *model, const perp_c_options *options,
                                   const char *folder, perp_c_info *info, perp_diag *diag);

typedef struct perp_casadi_options {
    size_t size; ///< set by the default; says which fields the caller has
    int order;   ///< of derivatives, 0..2; default 2. Second ones of robots are long
} perp_casadi_options;

PERP_API void perp_casadi_options_fill(perp_casadi_options *options, size_t size);
static inline perp_casadi_options perp_casadi_options_default(void)
{
    perp_casadi_options options;
    perp_casadi_options_fill(&options, sizeof options);
    return options;
}

/// What the file has.
typedef struct perp_casadi_info {
    size_t size;          ///< sizeof of this struct, set by the caller
    int equations, pairs; ///< rows of `residual` and of each side of `pairs`
    int functions;        ///< derivatives among them
    int statements;       ///< arithmetic of all
} perp_casadi_info;

/// Write what a model says as C functions of CasADi's interface for external functions, which CasADi loads once the file is compiled
/// (`cc -O2 -shared -fPIC NAME.c -lm`): NAME_residual, NAME_pairs, NAME_outputs of (t, h, before, x, der, z, u, p), NAME_start of p and NAME_parameters,
/// where NAME is the model's name as one of C. They are the conditions as they were written, at the end of a step from states `before`: 0 = r, and
/// lo <= a <= hi perp b, but a = 0 where `on` is 0. Derivatives, jac_NAME_residual and so on, are exact and sparse. The functions keep
/// no state: threads may share them. Elements are those of perp_model_symbol in their order, of p those that are numbers and shape nothing.
///
/// @param options  nullable: the default
/// @param path     written whole or not at all
/// @param info     nullable
/// @return PERP_OK; PERP_ERR_ARG (NULL, another order); PERP_ERR_UNAVAILABLE (too large: rows times unknowns beyond 1e9); PERP_ERR_FILE; PERP_ERR_MEMORY
PERP_API perp_status perp_export_casadi(const perp_model *model, const perp_casadi_options *options,
                                        const char *path, perp_casadi_info *info, perp_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
