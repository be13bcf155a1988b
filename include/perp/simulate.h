/// perp/simulate.h - a model stepped through time, each step a complementarity problem that is
/// solved and verified.
///
/// With backward Euler the unknowns of a step are y = (states at its end, vars); every equation and
/// pair is taken at the end of the step, inputs included (their u_{k+1}):
///
///     F(y) = 0,   0 <= a_i(y) perp b_i(y) >= 0,     der(x) = (x - pre(x)) / h
///
/// After each step the conditions as they were written are evaluated by code that belongs to no
/// solver, and a step that does not hold is refused. Typical use: options from the model, create,
/// step until done, destroy; or perp_simulate.

#ifndef PERP_SIMULATE_H
#define PERP_SIMULATE_H

#include "perp/base.h"
#include "perp/lcp.h"
#include "perp/model.h"
#include "perp/schemes.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How time is stepped; the list is include/perp/schemes.h. Discrete models have their own
/// difference equations and ignore it.
typedef enum perp_integrator {
#define PERP_INTEGRATOR_ENUM(name, word, weighted, text) name,
    PERP_INTEGRATOR_LIST(PERP_INTEGRATOR_ENUM)
#undef PERP_INTEGRATOR_ENUM
        PERP_INTEGRATOR_COUNT
} perp_integrator;

/// "backward-euler" and the like; perp_integrator_find gives PERP_INTEGRATOR_COUNT for an unknown
/// word.
PERP_API const char *perp_integrator_name(perp_integrator integrator);
PERP_API perp_integrator perp_integrator_find(const char *name);

typedef struct perp_simulation_options {
    size_t size;                ///< set by the default; says which fields the caller has
    double from;                ///< start time [s]; default the model's, else 0
    double to;                  ///< end time [s]; default the model's, else NaN: must be set
    double step;                ///< step h > 0 [s]; default the model's, else NaN: must be set
    perp_integrator integrator; ///< default the model's, else backward Euler
    double theta;           ///< for theta and moreau: weight of the step's end, 0.5..1; default 0.5
    perp_lcp_method solver; ///< for the complementarity problem of a step
    double
        tol; ///< a step is verified when each condition holds to tol on its own scale, the sum of its |terms|
    ///< (docs/adr/008-verdicts.md): error <= tol; default 1e-9
} perp_simulation_options;

/// What the last step was. Strings are owned by the simulation.
typedef struct perp_step_info {
    long step;            ///< 1 for the first
    double time;          ///< at its end
    perp_outcome outcome; ///< PERP_SOLVED, or why not
    double residual;      ///< largest violation of the original conditions (natural map for pairs),
                          ///< absolute, for reading
    double error; ///< largest violation of a condition on its own scale, without unit: what decides
    int solves;   ///< complementarity problems solved: 0 when the mode of the last step still held
} perp_step_info;

/// What a run did.
typedef struct perp_simulation_summary {
    long steps;  ///< verified steps
    double time; ///< reached
    double worst_residual;
    long worst_step;
    double worst_error;     ///< the largest perp_step_info.error
    long solves;            ///< complementarity problems solved; the other steps kept their mode
    long friction_problems; ///< steps, or parts of halved ones, with exact friction cones that were
                            ///< solved as a problem of perp/friction.h because no mode was regular
    long eliminations;      ///< 1 when the coefficients are constant
    int pairs;
    const long (*sides)[4]; ///< per pair, steps with: first side > 0; both 0; second side > 0;
                            ///< guard off. Two-sided: at lo; between; at hi; guard off
} perp_simulation_summary;

typedef struct perp_simulation perp_simulation;

/// Options with the model's own simulate block filled in.
PERP_API void perp_simulation_options_fill(perp_simulation_options *options, size_t size,
                                           const perp_model *model);
static inline perp_simulation_options perp_simulation_options_default(const perp_model *model)
{
    perp_simulation_options options;
    perp_simulation_options_fill(&options, sizeof options, model);
    return options;
}

/// Prepare a run: build the step problem, or take the one that the model keeps of an earlier simulation with the same step, method,
/// parameters and inputs; check it at the initial state; allocate. Threads may create simulations of one model at once.
///
/// @param model  must outlive the simulation; later perp_model_set calls do not reach it
/// @return PERP_OK, PERP_ERR_ARG (step or times out of range), PERP_ERR_MODEL (not affine, division by zero at the
///         initial state, structurally singular), PERP_ERR_DATA (an input without a value, a table that ends before
///         the run), PERP_ERR_MEMORY
PERP_API perp_status perp_simulation_create(const perp_model *model,
                                            const perp_simulation_options *options,
                                            perp_simulation **simulation, perp_diag *diag);
PERP_API void perp_simulation_destroy(perp_simulation *simulation);

/// Number of steps from `from` to `to`: the whole steps that fit.
PERP_API long perp_simulation_steps(const perp_simulation *simulation);

/// Take one step. Allocates nothing (except for a message when it fails, room for a mode when the run first meets one, and the
/// first times that exact friction cones are solved as a friction problem).
///
/// @return PERP_OK; PERP_ERR_ARG (the run has ended: perp_simulation_steps were taken); PERP_ERR_MEMORY;
///         PERP_ERR_NO_SOLUTION (diag names step, time, outcome and the pairs at fault; the state stays at the last
///         verified step); PERP_ERR_DATA (an input is not finite)
PERP_API perp_status perp_simulation_step(perp_simulation *simulation, perp_step_info *info,
                                          perp_diag *diag);

/// Columns of a row: t, states, vars, outputs, residual.
PERP_API int perp_simulation_columns(const perp_simulation *simulation);
PERP_API const char *perp_simulation_column_name(const perp_simulation *simulation, int column);
PERP_API const char *perp_simulation_column_unit(const perp_simulation *simulation, int column);

/// The current row. At the start: the initial state, NaN for what has no value yet. Allocates
/// nothing.
///
/// @param row  perp_simulation_columns entries
PERP_API void perp_simulation_row(const perp_simulation *simulation, double *row);

/// From now on, carry along how the run moves with parameters of the model: the derivatives of each solved step with its
/// guards, and the side of every pair that is 0, as they are (a solved step is then a smooth function of the states before
/// it and of the parameters). Call before the first step.
///
/// @param parameter  n names
/// @return PERP_OK, PERP_ERR_ARG (a name that is no parameter, or sets the model's size: named; steps were taken), PERP_ERR_MEMORY
PERP_API perp_status perp_simulation_follow(perp_simulation *simulation, int n,
                                            const char *const *parameter, perp_diag *diag);

/// Derivatives of the current row (perp_simulation_row) with respect to the parameters followed. A state whose initial
/// value was set does not depend on them at the start. Allocates nothing.
///
/// @param derivative  perp_simulation_columns rows, a column for each parameter, column-major; NaN for what has no value
/// @return PERP_OK; PERP_ERR_NO_SOLUTION where the sides in force at a step did not determine it (redundant contacts), or a step failed
PERP_API perp_status perp_simulation_derivatives(const perp_simulation *simulation,
                                                 double *derivative);

/// What was done so far; `sides` points into the simulation.
PERP_API perp_simulation_summary perp_simulation_get_summary(const perp_simulation *simulation);

/// Called with each row, the initial one included. Return PERP_OK to go on; anything else stops the
/// run with it.
typedef perp_status (*perp_row_fn)(void *context, long step, const double *row);

/// The whole run: step until the end, a fault, or until the sink says stop.
///
/// @param sink  nullable
PERP_API perp_status perp_simulation_run(perp_simulation *simulation, perp_row_fn sink,
                                         void *context, perp_diag *diag);

/// What perp_check found out about a model without running it.
typedef struct perp_check_report {
    int unknowns;  ///< of a step: new states, vars, and two for each two-sided pair
    int equations; ///< of a step
    int pairs;     ///< of a step, one-sided
    int cones;     ///< round friction cones of a step; they are not in M
    int affine;    ///< 1 if a step is affine in its unknowns; else Newton's method is used
    int constant;  ///< 1 if its coefficients stay the same during a run
    int coefficients,
        changing;     ///< nonzero coefficients of a step, and those that change from step to step
    int active;       ///< size of M: the pairs, all guards taken as on; -1 if M could not be formed
    perp_lcp_class M; ///< class of the matrix of the complementarity problem at the initial state
    int warnings;     ///< number of warnings in diag
} perp_check_report;

/// Check a model: the sizes and the kind of a step, the class of its matrix at the initial state,
/// and in diag warnings with their places: forces that cannot be unique, divisions and roots that
/// may leave their domain, units that do not match, names that nothing uses. Everything
/// perp_simulation_create refuses is refused here, too.
///
/// @param options  nullable: the model's; a missing end time or step is taken as 1 and 1e-3
PERP_API perp_status perp_check(const perp_model *model, const perp_simulation_options *options,
                                perp_check_report *report, perp_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
