/// perp/export.h - a model for other programs: a functional mock-up unit, C code, or functions for
/// CasADi.
///
/// A functional mock-up unit (FMU) is for co-simulation. Tools such as Dymola, Simulink or
/// OpenModelica import it (https://fmi-standard.org, versions 2.0 and 3.0). It holds the text of
/// the model, the files that it uses, and one library that serves every model: nothing is compiled.
/// Its run is that of perp/simulate.h, with each step verified. A step without a verified solution
/// ends with the standard's Discard. C code needs nothing but libm.

#ifndef PERP_EXPORT_H
#define PERP_EXPORT_H

#include "perp/simulate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_fmu_options {
    size_t size; ///< set by the default; tells which fields the caller has
    int version; ///< of the standard, 2 or 3; default 3
    /// The library for the FMU; default NULL: perp-fmu.so beside the program, or in the
    /// installation
    const char * library;
    double step; ///< of the internal run [s]; default NaN: the model's
    double to;   ///< the proposed end [s]; default NaN: the model's
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

/// Write an FMU for co-simulation on 64-bit Linux.
///
/// Its variables are those of the model, one for each element. Parameters that are numbers, and
/// initial values of states, may be set before a run; inputs at all times. States and outputs are
/// outputs; vars and the residual are local. Parameters that a size follows from are constants.
/// Methods that locate events (radau) accept no inputs from outside: those of the model must have
/// values. Values from perp_model_set are kept.
///
/// @param path  complete or absent
/// @return PERP_OK; PERP_ERR_ARG (diag: an unknown version, no step, an input without a value); the
///         status of perp_simulation_create; PERP_ERR_FILE (the library or a table cannot be read,
///         or lies outside the model's folder; the file cannot be written); PERP_ERR_MEMORY
PERP_API perp_status perp_export_fmu(const perp_model *model, const perp_fmu_options *options,
                                     const char *path, perp_diag *diag);

typedef struct perp_c_options {
    size_t size;  ///< set by the default; tells which fields the caller has
    double step;  ///< of the code [s]; default NaN: the model's
    double from;  ///< its start [s]; default NaN: the model's, else 0
    double theta; ///< for theta and moreau: weight of the step's end, 0.5..1; default 0.5
    double tol; ///< of a step's conditions; default 1e-9. Code of floats has at least 1e-4
    /// One that locates no events; default PERP_INTEGRATOR_COUNT: the model's, else backward Euler
    perp_integrator integrator;
} perp_c_options;

PERP_API void perp_c_options_fill(perp_c_options *options, size_t size);
static inline perp_c_options perp_c_options_default(void)
{
    perp_c_options options;
    perp_c_options_fill(&options, sizeof options);
    return options;
}

/// The size of the code.
typedef struct perp_c_info {
    size_t size;         ///< sizeof of this struct, set by the caller
    int unknowns, pairs; ///< of a step
    int pivots;          ///< the most of a step's complementarity problem
    int statements;      ///< arithmetic of the model
    size_t bytes, bytes_float; ///< of one instance with ints of 4 bytes, and the same with floats
} perp_c_info;

/// Write a model as C99: NAME.h, NAME.c, and NAME_main.c, a program that writes the rows of a run.
/// NAME is the model's name as a C identifier.
///
/// The code allocates nothing and needs only libm. Each step is solved by the method of a run: by
/// the zero sides of the last step, else by Lemke's method on the eliminated problem. It is
/// verified by the conditions as written; else the state stays and the outcome says why. Parameters
/// that are numbers and shape nothing may be set at the start; inputs and states between steps.
///
/// @param folder  made if it is missing; each file is complete or absent
/// @param info    nullable
/// @return PERP_OK; PERP_ERR_ARG (no step, no such method); PERP_ERR_UNAVAILABLE (not supported in
///         C code: exact friction cones, methods that locate events, tables of higher degree,
///         equations that depend on each other, more than 600 unknowns; diag names the position);
///         the status of perp_simulation_create; PERP_ERR_FILE; PERP_ERR_MEMORY
PERP_API perp_status perp_export_c(const perp_model *model, const perp_c_options *options,
                                   const char *folder, perp_c_info *info, perp_diag *diag);

typedef struct perp_casadi_options {
    size_t size; ///< set by the default; tells which fields the caller has
    int order;   ///< of derivatives, 0..2; default 2. Second ones of robots are long
} perp_casadi_options;

PERP_API void perp_casadi_options_fill(perp_casadi_options *options, size_t size);
static inline perp_casadi_options perp_casadi_options_default(void)
{
    perp_casadi_options options;
    perp_casadi_options_fill(&options, sizeof options);
    return options;
}

/// The contents of the file.
typedef struct perp_casadi_info {
    size_t size;          ///< sizeof of this struct, set by the caller
    int equations, pairs; ///< rows of `residual` and of each side of `pairs`
    int functions;        ///< derivatives among them
    int statements;       ///< arithmetic of all functions
} perp_casadi_info;

/// Write the conditions of a model as C functions of CasADi's interface for external functions.
/// CasADi loads the compiled file (`cc -O2 -shared -fPIC NAME.c -lm`).
///
/// NAME is the model's name as a C identifier. NAME_residual, NAME_pairs and NAME_outputs take (t,
/// h, before, x, der, z, u, p), NAME_start takes p, and there is NAME_parameters. They are the
/// conditions as written, at the end of a step from states `before`: 0 = r, and lo <= a <= hi perp
/// b. If `on` is 0 the pair is a = 0.
///
/// Derivatives, jac_NAME_residual and so on, are exact and sparse. The functions have no state:
/// threads may share them. Elements are in the order of perp_model_symbol; p has those that are
/// numbers and shape nothing.
///
/// @param options  nullable: the default
/// @param path     complete or absent
/// @param info     nullable
/// @return PERP_OK; PERP_ERR_ARG (NULL, another order); PERP_ERR_UNAVAILABLE (too large: rows times
///         unknowns beyond 1e9); PERP_ERR_FILE; PERP_ERR_MEMORY
PERP_API perp_status perp_export_casadi(const perp_model *model, const perp_casadi_options *options,
                                        const char *path, perp_casadi_info *info, perp_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
