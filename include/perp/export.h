/// perp/export.h - a model for other programs: a functional mock-up unit (FMU) for co-simulation, which tools such as Dymola,
/// Simulink or OpenModelica import. https://fmi-standard.org, versions 2.0 and 3.0.
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

#ifdef __cplusplus
}
#endif
#endif
