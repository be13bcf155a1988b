/// perp/simulate.h - step a model through time. Each step is a complementarity problem, solved and
/// verified.
///
/// With backward Euler the unknowns of a step are y = (states at its end, vars). Every equation and
/// pair is taken at the end of the step, inputs included (u_{k+1} of the references):
///
///     F(y) = 0,   0 <= a_i(y) perp b_i(y) >= 0,     der(x) = (x - pre(x)) / h
///
/// After each step, code that belongs to no solver evaluates the conditions as they were written. A
/// step that does not hold is rejected. Typical use: options from the model, create, step until the
/// end, destroy; or perp_simulation_run.
///
/// A simulation is also a stepping interface. Between steps you read and set states, inputs and
/// parameters, end a step at any time, reset, take and restore snapshots, and clone. States, inputs
/// and parameters are named by their index in the model (perp_model_find), columns by their index
/// in a row (perp_simulation_find_column).

#ifndef PERP_SIMULATE_H
#define PERP_SIMULATE_H

#include "perp/base.h"
#include "perp/impact.h"
#include "perp/lcp.h"
#include "perp/model.h"
#include "perp/schemes.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How time is stepped. The list is include/perp/schemes.h. Discrete models have their own
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

/// Whether the expressions of a run are compiled to machine code: by cc or tcc in a process of its
/// own. The code is kept in the user's cache folder ($XDG_CACHE_HOME/perp or ~/.cache/perp, mode
/// 0700). Results are the same, bit for bit. docs/compiled.md
typedef enum perp_jit {
    PERP_JIT_OFF,  ///< no: expressions are interpreted, and the library starts no process
    PERP_JIT_AUTO, ///< in runs of 100 000 steps or more, if there is a compiler
    PERP_JIT_ON,   ///< yes, or creating the simulation fails
    PERP_JIT_COUNT
} perp_jit;

typedef struct perp_simulation_options {
    size_t size; ///< set by the default; says which fields the caller has
    double from; ///< start time [s]; default the model's, else 0
    double to;   ///< end time [s]; default the model's, else NaN: must be set
    double step; ///< step h > 0 [s]; default the model's, else NaN: must be set
    perp_integrator
        integrator; ///< default the model's, else backward Euler; see perp_simulation_recommend
    double theta;   ///< for theta and moreau: weight of the step's end, 0.5..1; default 0.5
    perp_lcp_method solver; ///< for the complementarity problem of a step
    /// A step is verified if each condition holds to tol on its own scale, the sum of its |terms|
    /// (docs/adr/008-verdicts.md): error <= tol. Default 1e-9.
    double tol;
    /// Names of the inputs that perp_simulation_set_input may set; nullable; read by create only.
    const char *const *input;
    int ninput; ///< how many; PERP_ALL: every input of the model; default 0
    /// Names of the parameters that perp_simulation_set_parameter may set; none that a size depends
    /// on.
    const char *const *parameter;
    int nparameter; ///< how many; PERP_ALL: every one whose value is a number; default 0
    /// 0 (default): whole steps. Else each step is divided into substeps. The estimated error of a
    /// substep in each state stays below accuracy times the size of the state: the largest value it
    /// had, or its change in a step. All substeps are verified. Below 1; 1e-6 is usual.
    double accuracy;
    perp_jit jit; ///< default PERP_JIT_OFF
    /// Nullable; asked before each substep. 1 ends the step with PERP_ERR_STOPPED, and the run
    /// stays at the last whole step. Clones and the runs of perp_simulation_estimate ask it, too.
    int (*stop)(void *context);
    void *stop_context; ///< must live as long as the simulation
} perp_simulation_options;

/// A count that stands for all there are.
enum { PERP_ALL = -1 };

/// The last step. Strings are owned by the simulation.
typedef struct perp_step_info {
    size_t size;          ///< sizeof of this struct, set by the caller
    long step;            ///< 1 for the first
    double time;          ///< at its end
    perp_outcome outcome; ///< PERP_SOLVED, or why not
    double residual;      ///< largest violation of the original conditions (natural map for pairs),
                          ///< absolute, for reading
    double error; ///< largest violation of a condition on its own scale, without unit; decides
    int solves;   ///< complementarity problems solved: 0 when the mode of the last step still held
} perp_step_info;

/// The summary of a run.
typedef struct perp_simulation_summary {
    size_t size;          ///< sizeof of this struct, set by the caller
    long steps;           ///< verified steps
    double time;          ///< reached
    perp_outcome outcome; ///< of the last step that was tried: PERP_SOLVED, or why the run stopped
    double worst_residual;
    long worst_step;
    double worst_error; ///< the largest perp_step_info.error
    long solves;        ///< complementarity problems solved; the other steps kept their mode
    /// Steps, or parts of halved ones, with exact friction cones that were solved as a problem of
    /// perp/friction.h because no mode was regular
    long friction_problems;
    long eliminations; ///< 1 when the coefficients are constant
    int pairs;
    const long (
        *modes)[4]; ///< per pair, steps with: first expression > 0; both 0; second > 0; guard
                    ///< off. Two-sided: at lo; between; at hi; guard off
    long divided;   ///< steps that had no verified solution as a whole and were taken in halves,
                    ///< down to h/1024; 0 of a discrete model, whose steps have no half.
    /// Steps that are known to have another verified solution, with other states. The run took one
    /// of several. Only perp_simulation_run looks for them, in linear steps of up to 6 pairs: at the
    /// first one, and then within 1 % of its work. A 0 does not say that all steps have one solution.
    long not_unique;
    double not_unique_at; ///< the end of the first of these steps [s]
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

/// The method that fits a model, which `perp simulate` takes if neither the model nor the command
/// line names one (perp_simulation_options_default gives backward Euler):
///
/// - radau5, if the model has no exact friction cones, no condition that reads h, at most 12 pairs
///   and at most 200 states and vars;
/// - else theta, if the model has neither pairs nor cones;
/// - else backward Euler, also for discrete models, models with a plan block, and NULL.
///
/// @return PERP_INTEGRATOR_COUNT: out of memory
/// @see docs/adr/026, docs/accuracy.md
PERP_API perp_integrator perp_simulation_recommend(const perp_model *model);

/// Prepare a run: build the step problem and check it at the initial state. All memory is allocated
/// here. A later simulation of the same model with the same step, method, parameters and inputs
/// shares the problem. Threads may create simulations of one model at once.
///
/// @param model  must outlive the simulation; later perp_model_set calls do not reach it
/// @return PERP_OK; PERP_ERR_ARG (step or times out of range, a name of the options that the model
///         lacks); PERP_ERR_MODEL (division by zero at the initial state, structurally singular);
///         PERP_ERR_DATA (an input without a value, a table that ends before the run);
///         PERP_ERR_UNAVAILABLE (PERP_JIT_ON, and nothing can be compiled here: diag says why);
///         PERP_ERR_MEMORY
PERP_API perp_status perp_simulation_create(const perp_model *model,
                                            const perp_simulation_options *options,
                                            perp_simulation **simulation, perp_diag *diag);
PERP_API void perp_simulation_destroy(perp_simulation *simulation);

/// The name of the compiler that made the run's code; NULL: expressions are interpreted, or NULL
/// was given.
PERP_API const char *perp_simulation_compiler(const perp_simulation *simulation);

/// Number of whole steps that fit between `from` and `to`. After a shorter step
/// (perp_simulation_advance): the steps taken so far and the whole ones that fit from there.
PERP_API long perp_simulation_steps(const perp_simulation *simulation);

/// How this run steps time: the options' method. PERP_INTEGRATOR_COUNT for NULL.
PERP_API perp_integrator perp_simulation_method(const perp_simulation *simulation);

/// Number of steps so far that a Radau method could not take and left to its fallback: backward
/// Euler with 16 substeps, order 1. It includes steps skipped by the back-off after a failure. With
/// an accuracy, counts substeps. 0 for other methods and NULL.
///
/// @param diag  nullable; appended: why, for the first of them
PERP_API long perp_simulation_fallback_steps(const perp_simulation *simulation, perp_diag *diag);

/// Fallback steps by cause. Iterate cause = 0, 1, .. until *words is NULL. The last cause is
/// "skipped by back-off".
///
/// @param words  nullable; the cause in words
PERP_API long perp_simulation_fallback_cause(const perp_simulation *simulation, int cause,
                                             const char **words);

/// Number of substeps taken so far by a run with an accuracy; 0 for others and NULL.
///
/// @param shortest    nullable; the length of the shortest [s]; NaN: there is none
/// @param unresolved  nullable; substeps of 1e-9 of a step (the shortest there are) whose error may
///         be larger than it should
PERP_API long perp_simulation_substeps(const perp_simulation *simulation, double *shortest,
                                       long *unresolved);

/// Take one step.
///
/// Allocates nothing, with these exceptions:
///
/// - a message;
/// - room for an active set that is new in the run;
/// - the first solves with exact friction cones or without open contacts;
/// - sparse factors with more fill than before.
///
/// @param info  its outcome is PERP_SOLVED, or the step is rejected: diag names step, time, outcome
///         and the pairs at fault, and the state stays at the last verified step
/// @return PERP_OK; PERP_ERR_ARG (NULL, info->size, or the run has ended: perp_simulation_steps
///         were taken); PERP_ERR_MEMORY; PERP_ERR_DATA (an input is not finite); PERP_ERR_STOPPED
///         (options.stop asked)
PERP_API perp_status perp_simulation_step(perp_simulation *simulation, perp_step_info *info,
                                          perp_diag *diag);

/// Columns of a row: t, states, vars, inputs, outputs, residual, as in a plan.
PERP_API int perp_simulation_columns(const perp_simulation *simulation);
PERP_API const char *perp_simulation_column_name(const perp_simulation *simulation, int column);
PERP_API const char *perp_simulation_column_unit(const perp_simulation *simulation, int column);

/// The column of this name, such as a force; -1: there is none, or NULL.
PERP_API int perp_simulation_find_column(const perp_simulation *simulation, const char *name);

/// The current row. At the start and after perp_simulation_set_state: the states, NaN for what has
/// no value yet. Allocates nothing.
///
/// @param row  perp_simulation_columns entries
PERP_API void perp_simulation_row(const perp_simulation *simulation, double *row);

/// One entry of the current row; NaN outside the columns. States and vars cost nothing; an output
/// costs the evaluation of all outputs. Allocates nothing.
PERP_API double perp_simulation_value(const perp_simulation *simulation, int column);

/// The impulse of a force over the last step (method moreau, whose impacts have a law).
///
/// It is the mean force, which is the column, times the length of the step, summed over substeps.
/// It exists for a var that is an expression of a pair by itself, or a force of friction(...), if
/// an equation with a derivative reads it. Allocates nothing. See docs/adr/050.
///
/// @param var      index among the model's vars (perp_model_find)
/// @param impulse  nullable; out [unit of the var, times s]; NaN before the first step, or after a
///         state was set
/// @return 1; 0: this var has no impulse, or the method is another
PERP_API int perp_simulation_impulse(const perp_simulation *simulation, int var, double *impulse);

/// The unit of an impulse: "N s" for a force in "N", "s kg m/s^2" for one in "kg m/s^2".
///
/// @param text  room for `size` bytes; a longer unit is cut
/// @return the length of the unit without the final zero; -1: that var has no impulse
PERP_API int perp_simulation_impulse_unit(const perp_simulation *simulation, int var, char *text,
                                          size_t size);

/// The impacts of the last step, in the order of time. They stay until the next call that changes
/// the simulation. Read them after each step, or in the row function of perp_simulation_run.
///
/// Methods that locate events (Radau) have an impact where velocities jump at an instant. Each pair
/// 0 <= force perp .. >= 0 whose force has an impulse there has a record. Impacts that accumulate,
/// as of a ball that comes to rest, are passed together once they follow within 2e-4 of a step.
/// These do not count.
///
/// A step of fixed length (backward Euler, theta, moreau) does not tell an impulse from a force.
/// There a contact that closes has an impact if its velocity of approach exceeds what the forces of
/// one step give. It approached at the beginning of the step before, or that step had an impact.
/// The impulse is force times step. It includes other forces' share of the step. Two kinds of pairs
/// count: 0 <= force perp gap >= 0 with a gap of positions, and guarded pairs of a velocity. A gap
/// closes with one step, and its velocity vanishes with the next. The impulse is that of both. The
/// record comes with the second. At the start, and where a state was set, tol decides what is
/// closed: the guard is on, the gap is 0, the velocity does not approach.
///
/// Steps of models with `next`, and steps of perp_batch_step, have none.
///
/// @param impact  nullable; out: the records, owned by the simulation
/// @return their number; 0 for NULL
/// @see docs/accuracy.md
PERP_API int perp_simulation_impacts(const perp_simulation *simulation, const perp_impact **impact);

/// The number of impacts since the start.
///
/// @param largest  nullable; out: the one of the largest impulse; its pair is -1 if there was none
/// @param energy   nullable; out: the sum of the energies lost [J]; NaN: one is not known; 0: less
///                 than tol beside its terms
/// @return -1: not known, after perp_batch_step; 0 for NULL
PERP_API long perp_simulation_impact_count(const perp_simulation *simulation, perp_impact *largest,
                                           double *energy);

/// The contact of a pair, by the name of its force, which is a column: "up", "floor.at.fn". NULL:
/// the pair can have no impacts.
PERP_API const char *perp_simulation_impact_name(const perp_simulation *simulation, int pair);

/// The unit of a pair's impulses, as perp_simulation_impulse_unit. @return -1: it can have none
PERP_API int perp_simulation_impact_unit(const perp_simulation *simulation, int pair, char *text,
                                         size_t size);

/// The bodies that a pair's force acts on, "cart, pole". They are instances of parts whose
/// equations read it. A model without parts has none: "".
///
/// @param text  room for `size` bytes; longer text is cut
/// @return the length of the text without the final zero; -1: the pair can have no impacts
PERP_API int perp_simulation_impact_bodies(const perp_simulation *simulation, int pair, char *text,
                                           size_t size);

/// The time that was reached [s]; NaN for NULL.
PERP_API double perp_simulation_time(const perp_simulation *simulation);

/// A state now, by its index in the model, in its unit; NaN where there is none.
PERP_API double perp_simulation_state(const perp_simulation *simulation, int state);

/// Set a state. The run continues from there. Vars and outputs have no value until the next step,
/// which starts from the last forces. Allocates nothing.
///
/// @return PERP_OK; PERP_ERR_ARG (no such state, or the value is not finite)
PERP_API perp_status perp_simulation_set_state(perp_simulation *simulation, int state,
                                               double value);

/// Count the conditions that the present states violate whatever the forces are. The next step
/// would repair them by a jump:
///
/// - equations without vars and rates (a closed loop, rolling), and the rates of those made of
///   positions;
/// - negative gaps, and positions outside their bounds.
///
/// Each is a warning in diag, with its position and violation. A velocity into a closed contact is
/// an impact and violates nothing.
///
/// @param diag  nullable
/// @return their number; -1: out of memory; 0 for NULL
PERP_API int perp_simulation_inspect_start(const perp_simulation *simulation, perp_diag *diag);

/// Move the states to the nearest ones that satisfy these conditions: first positions, then
/// velocities. The distance is the sum of squares of changes, each relative to the declared scale
/// of the state, else to the largest state of the same unit. Call it at the start or after
/// perp_simulation_set_state. docs/adr/043.
///
/// @param moved  nullable; the change of each state, all 0 if nothing was violated
/// @return PERP_OK; PERP_ERR_NO_SOLUTION (none was found nearby: diag names the conditions, and
///         nothing moved); PERP_ERR_MEMORY; PERP_ERR_ARG (NULL)
PERP_API perp_status perp_simulation_project(perp_simulation *simulation, double *moved,
                                             perp_diag *diag);

/// The value that an input was set to; NaN: it follows the model, or may not be set.
PERP_API double perp_simulation_input(const perp_simulation *simulation, int input);

/// Set the value of an input at the end of the next step, and from then on. Within the step the
/// input is linear between its last value and this one, as in a table. So the rows of such a run
/// repeat it (perp simulate --input). If the model gives no value, the first one set holds at the
/// start, too.
///
/// A method that locates events takes no function of time for an input that may be set. Set it
/// before the first step, unless it has a table or is a constant. Allocates nothing.
///
/// @param input  index in the model, of an input that the options name
/// @param value  in the input's unit; NaN: the input follows the model again
/// @return PERP_OK; PERP_ERR_ARG (no input that may be set, or infinite)
PERP_API perp_status perp_simulation_set_input(perp_simulation *simulation, int input,
                                               double value);

/// The present value of a parameter that may be set; NaN for others.
PERP_API double perp_simulation_parameter(const perp_simulation *simulation, int parameter);

/// Set a parameter from here on, and what follows from it. Initial values stay. Matrices that the
/// run keeps are made again. Allocates nothing.
///
/// @param parameter  index in the model, of a parameter that the options name
/// @return PERP_OK; PERP_ERR_ARG (no parameter that may be set, or the value is not finite)
PERP_API perp_status perp_simulation_set_parameter(perp_simulation *simulation, int parameter,
                                                   double value);

/// Step until time `to`: whole steps, then a shorter one if `to` lies between two.
///
/// From then on whole steps are counted from `to`. Does nothing if `to` is the present time, up to
/// rounding. Allocates as perp_simulation_step.
///
/// @param to    from the present time to the options' `to` [s]
/// @param info  of the last step; not PERP_SOLVED: the run is at the last verified step
/// @return as perp_simulation_step; PERP_ERR_ARG also for a `to` out of range
PERP_API perp_status perp_simulation_advance(perp_simulation *simulation, double to,
                                             perp_step_info *info, perp_diag *diag);

/// Go back to the start. States, parameters and inputs are those of perp_simulation_create, the
/// summary is empty, and the run repeats itself to the last bit. NULL: nothing. Allocates nothing.
PERP_API void perp_simulation_reset(perp_simulation *simulation);

/// Size of a snapshot [bytes], the same at all times of a simulation; 0 for NULL.
PERP_API size_t perp_simulation_snapshot_size(const perp_simulation *simulation);

/// Write everything that decides what follows: time, states, vars, parameters, inputs that were
/// set, the summary, and the initial guesses of the solvers. Allocates nothing.
///
/// @param bytes  at least perp_simulation_snapshot_size
/// @return PERP_OK; PERP_ERR_ARG (size is too small)
PERP_API perp_status perp_simulation_snapshot(const perp_simulation *simulation, void *bytes,
                                              size_t size);

/// Continue from a snapshot of this simulation or of a compatible one. The run continues to the
/// bit.
///
/// Compatible are simulations of the same model text with the same options, numeric parameters,
/// input tables and followed names (`from` and `to` may differ). A snapshot belongs to one version
/// of perp and one kind of machine. Matrices are made again when they are needed. May allocate room
/// for active sets that are new to this simulation.
///
/// @return PERP_OK; PERP_ERR_DATA (diag says why the bytes do not fit; nothing was changed);
///         PERP_ERR_ARG (NULL); PERP_ERR_MEMORY (only perp_simulation_reset or another restore may
///         follow)
PERP_API perp_status perp_simulation_restore(perp_simulation *simulation, const void *bytes,
                                             size_t size, perp_diag *diag);

/// Another simulation in the same state, which continues on its own. The model is shared. Much
/// cheaper than perp_simulation_create.
///
/// @return PERP_OK; PERP_ERR_ARG (NULL); PERP_ERR_MEMORY
PERP_API perp_status perp_simulation_clone(const perp_simulation *simulation,
                                           perp_simulation **clone, perp_diag *diag);

/// Propagate the derivatives of the run with respect to parameters and initial values of states,
/// from now on. Call before the first step. With fixed steps these are the derivatives of each
/// solved step with its guards and active set, a smooth function of the states before it and of the
/// parameters. With methods that end steps at events they are those of the run, the change of the
/// event times included (docs/derivatives.md).
///
/// @param name  n names of parameters or states
/// @return PERP_OK; PERP_ERR_ARG (diag names what cannot be followed: neither a parameter nor a
///         state, one that sets the model's size, one that a function of time of a settable input
///         depends on; or steps were taken); PERP_ERR_MEMORY
PERP_API perp_status perp_simulation_follow(perp_simulation *simulation, int n,
                                            const char *const *name, perp_diag *diag);

/// Derivatives of the current row (perp_simulation_row) with respect to what is followed. A state
/// whose initial value was set does not depend on parameters at the start. A state that is set
/// later depends on nothing. Allocates nothing.
///
/// @param derivative  perp_simulation_columns rows, a column for each name, column-major; NaN for
///         what has no value
/// @return PERP_OK; PERP_ERR_NO_SOLUTION (the active set of a step did not determine it, as with
///         redundant contacts; what ended a step does not change with time; or a step was rejected)
PERP_API perp_status perp_simulation_derivatives(const perp_simulation *simulation,
                                                 double *derivative);

/// The kinds of derivatives by a name, from worse to better.
typedef enum perp_derivative_kind {
    PERP_DERIVATIVE_NONE, ///< a step did not determine them
    /// Both expressions of a pair were 0, or a guard was on its bound. The derivatives belong to
    /// one active set, and may hold neither for an increase nor for a decrease. With fixed steps
    /// also: directional, and a guard has switched.
    PERP_DERIVATIVE_UNKNOWN_DIRECTION,
    /// Directional, for an increase. Both expressions of a pair were 0, or a guard was on its
    /// bound. Or the row lies on an event, which comes later after an increase.
    PERP_DERIVATIVE_INCREASE,
    PERP_DERIVATIVE_DECREASE, ///< the same for a decrease
    /// Of the steps as taken, not of the motion. With fixed steps a guard has switched, as at an
    /// impact. With any steps a choose, floor, mod or sign jumped, and its switch moves.
    PERP_DERIVATIVE_OF_STEPS,
    PERP_DERIVATIVE_DIFFERENTIABLE, ///< none of these
    PERP_DERIVATIVE_KIND_COUNT
} perp_derivative_kind;

/// "differentiable", "for an increase", ..; perp_derivative_kind_find gives
/// PERP_DERIVATIVE_KIND_COUNT for an unknown word.
PERP_API const char *perp_derivative_kind_name(perp_derivative_kind kind);
PERP_API perp_derivative_kind perp_derivative_kind_find(const char *name);

/// The kind of the derivatives with respect to the k-th followed name. Allocates nothing.
///
/// Both expressions of a pair may be 0, as of a block at its friction bound or a contact without
/// force. The motion may then change one way with an increase and another way with a decrease; the
/// derivatives are those of one direction.
///
/// @param since  nullable; the time since when they are of this kind [s]; NaN for differentiable
///         ones
/// @return PERP_DERIVATIVE_KIND_COUNT: nothing is followed, or there is no such name
PERP_API perp_derivative_kind perp_simulation_derivative_kind(const perp_simulation *simulation,
                                                              int k, double *since);

/// A stretch: the next steps of a simulation, which are differentiated. It begins at the present
/// state with the present parameters. Each listed input is set before each step, as by
/// perp_simulation_set_input.
typedef struct perp_run_stretch {
    size_t size;         ///< sizeof(perp_run_stretch)
    long steps;          ///< whole ones; 0, for perp_simulation_jvp alone: the row where the run is
    int ninput;          ///< how many inputs
    const int *input;    ///< their indices in the model; the options of creation name them
    const double *value; ///< steps by ninput, row by row; NULL: what they were set to stays
    int nparameter;      ///< how many parameters
    const int *parameter; ///< their indices in the model
    int every_row;        ///< 1: the rows after all steps count, 0: the last one
    /// Nullable, out. perp_simulation_jvp: the kind of the derivatives of the last row along the
    /// change. perp_simulation_vjp: the kind of the gradient, see there.
    perp_derivative_kind *kind;
} perp_run_stretch;

/// A change of what a stretch begins with, or the gradient by it. The three are independent:
/// initial values that follow from parameters do not change with them.
typedef struct perp_run_change {
    double *state;     ///< at the beginning, one a state of the model; NULL: 0, or not wanted
    double *parameter; ///< one a parameter of the stretch; nullable
    double *value;     ///< of inputs, steps by ninput; nullable
} perp_run_change;

/// Take the steps of a stretch and the derivative of their rows along a change (Jacobian times
/// vector), as perp_simulation_follow defines it.
///
/// With fixed steps it is that of the steps as taken. With methods that locate events it is that of
/// the run, and the stretch begins at a fixed time. Each step costs one more solve with its
/// factors. After a stretch through events, the simulation's own derivatives are unknown.
///
/// With steps = 0 it is the derivative of the present row. Inputs change by their values there.
/// Vars, and outputs that read them, have no derivative (NaN).
///
/// @param row  out, perp_simulation_columns entries of the last row, with every_row of each step;
///         NaN for entries without a value
/// @return PERP_OK; PERP_ERR_ARG (diag says why: substeps, an input that may not be set, too many
///         steps); PERP_ERR_NO_SOLUTION (a step was rejected, or its active set did not determine
///         it); PERP_ERR_DATA; PERP_ERR_MEMORY
PERP_API perp_status perp_simulation_jvp(perp_simulation *simulation,
                                         const perp_run_stretch *stretch,
                                         const perp_run_change *change, double *row,
                                         perp_diag *diag);

/// Take the steps of a stretch and the gradient of a weighted sum of their rows' entries (vector
/// times Jacobian), by a reverse pass.
///
/// The simulation is then at the end of the stretch. Up to 16 MB of steps are stored. Longer
/// stretches store snapshots, as many as the square root of their steps, and run one part at a time
/// again. The cost is two to three times the steps, for any number of states, inputs and
/// parameters.
///
/// `kind` of the stretch tells where the gradient holds:
///
/// - differentiable: for changes of either sign;
/// - of the steps: the same, with fixed steps, and a guard has switched;
/// - for an increase, for a decrease: for a step along the gradient, or against it (a descent).
///   Both expressions of a pair were 0, or a guard was on its bound;
/// - of unknown direction: it may hold for neither; use perp_simulation_jvp along a change.
///
/// Finding the kind takes the stretch once or twice more, forward.
///
/// @param weight    perp_simulation_columns entries of the last row, with every_row of all; those
///         of time and residual are not read
/// @param gradient  out; what is not NULL is written
/// @return as perp_simulation_jvp; after a failure the simulation may be anywhere within the
///         stretch, and the gradient with respect to inputs is undefined
PERP_API perp_status perp_simulation_vjp(perp_simulation *simulation,
                                         const perp_run_stretch *stretch, const double *weight,
                                         const perp_run_change *gradient, perp_diag *diag);

/// The summary so far; `modes` points into the simulation.
/// @return PERP_OK; PERP_ERR_ARG (NULL, summary->size)
PERP_API perp_status perp_simulation_get_summary(const perp_simulation *simulation,
                                                 perp_simulation_summary *summary);

/// Estimate the error of the present states, as their distance to the exact motion. The estimate
/// compares the run with reference solutions. If radau5 fits the model (perp_simulation_recommend),
/// these are runs by radau7 with an accuracy, each more accurate than the last. Else it is the same
/// run with longer steps. The run must start at the model's initial state, with nothing set.
/// Allocates. Repeated calls give the same numbers.
///
/// @param part    budget: the reference solutions may cost 1/part of this run; 10 is usual. Budgets
///         are counted in multiplications. Below them, 1e7 (about 10 ms) together with the run are
///         always allowed, 3.2e7 for a first reference solution, and 6e7 with part below 10
/// @param error   a state each, in its unit: an estimate if it exceeds three times `unsure`; else
///         the error is below the sum of both
/// @param unsure  a state each: the largest error of the estimate
/// @param growth  nullable; how much a difference of two motions grows until now, each state on its
///         own scale. Above 1e4 or so no estimate is useful, since no reference solution follows
///         the motion
/// @return PERP_OK; PERP_ERR_ARG (diag says why nothing is known: a discrete model, inputs that may
///         be set, states that were set or restored, too few steps); PERP_ERR_NO_SOLUTION (a
///         reference solution would exceed the budget, or was rejected: diag); PERP_ERR_MEMORY
PERP_API perp_status perp_simulation_estimate(const perp_simulation *simulation, int part,
                                              double *error, double *unsure, double *growth,
                                              perp_diag *diag);

/// Called with each row, the initial one included. Return PERP_OK to go on; anything else stops the
/// run with it.
typedef perp_status (*perp_row_fn)(void *context, long step, const double *row);

/// The whole run: step until the end, a step without a verified solution, or until the sink says
/// stop.
///
/// @param sink     nullable
/// @param summary  as perp_simulation_get_summary; its outcome is PERP_SOLVED if every step is
///         verified
/// @return as perp_simulation_step, or what the sink returned
PERP_API perp_status perp_simulation_run(perp_simulation *simulation, perp_row_fn sink,
                                         void *context, perp_simulation_summary *summary,
                                         perp_diag *diag);

/// The results of perp_check.
typedef struct perp_check_report {
    size_t size;      ///< sizeof of this struct, set by the caller
    int unknowns;     ///< of a step: new states, vars, and two for each two-sided pair
    int equations;    ///< of a step
    int pairs;        ///< of a step, one-sided
    int cones;        ///< exact friction cones of a step; they are not in M
    int affine;       ///< 1 if a step is affine in its unknowns; else Newton's method is used
    int constant;     ///< 1 if its coefficients stay the same during a run
    int coefficients; ///< nonzero coefficients of a step
    int changing;     ///< of these, those that change from step to step
    int active;       ///< size of M: the pairs, all guards taken as on; -1 if M could not be formed
    perp_lcp_class M; ///< class of the matrix of the complementarity problem at the initial state
    int warnings;     ///< number of warnings in diag
    /// 1: the (linearised) step has exactly one solution for any data. Two-sided pairs may be at
    /// the lower bound, between, or at the upper one. 0: it has not. The value is -1 if undecided:
    /// cones, bounds that are solved for, or more than 12 pairs.
    int unique;
    /// The index of equations and pairs that read states alone. It is one more than the number of
    /// derivatives until a force appears: 2 for speeds, 3 for positions. 0: there are none.
    int index;
    int held_equations, held_pairs; ///< those of that index
} perp_check_report;

/// Check a model: the sizes and the kind of a step, and the class of its matrix at the initial
/// state.
///
/// Warnings are in diag with their positions: forces that cannot be unique, divisions and roots
/// that may leave their domain, units that do not match, names that nothing uses. The check refuses
/// everything that perp_simulation_create refuses.
///
/// @param options  nullable: the model's; a missing end time or step is taken as 1 and 1e-3
PERP_API perp_status perp_check(const perp_model *model, const perp_simulation_options *options,
                                perp_check_report *report, perp_diag *diag);

/// The kind of a mode exp(a t) of the linearised motion. It swings if the imaginary part of a is
/// the larger one, else it decays or grows.
typedef enum perp_motion_kind {
    PERP_MOTION_NONE,
    PERP_MOTION_SWING,
    PERP_MOTION_DECAY,
    PERP_MOTION_GROWTH
} perp_motion_kind;

typedef struct perp_time_scale {
    perp_motion_kind kind;
    double time; ///< the period of a swing, else 1/|a| [s]; NaN: there is none
    /// -1: in the contact mode of the first step; else with this pair of the model alone in its
    /// other mode, as a contact that closes
    int pair;
} perp_time_scale;

/// A method, and the steps that resolve a model's time scales.
typedef struct perp_step_advice {
    double
        step; ///< the longest of 1, 2 or 5 times a power of ten that changes each scale by at most
              ///< 1 % and is at most 1/100 of the run [s]
    perp_time_scale asks; ///< the scale that asks for it; of no kind: the length of the run does
    /// The largest relative change of a scale by options.step; 1: a scale is not resolved
    double error;
    perp_time_scale worst; ///< that scale
} perp_step_advice;

/// The time scales of a model, linearised at its first step: what is known of the smooth parts of
/// its motion there. Impacts, functions of time, and later changes of the model are not in it.
typedef struct perp_time_scales {
    size_t size;         ///< sizeof of this struct, set by the caller
    const char *unknown; ///< NULL; else why nothing is known, and the rest is NaN and of no kind
    perp_time_scale swing, decay, growth; ///< the fastest of each kind
    perp_time_scale
        passed; ///< the fastest decay that is over within 1/1000 of the run; methods but theta may
                ///< step over it
    double horizon; ///< of the run [s]; NaN: not given
    int reads_time; ///< 1: the model has inputs or functions of time, with time scales of their own
    perp_step_advice of[PERP_INTEGRATOR_COUNT];
} perp_time_scales;

/// The error of steps of each method in a motion exp(a t) over its duration T, relative:
///
///     backward Euler        (|a| h) |a| T / 2
///     theta = 1/2           (|a| h)^2 |a| T / 12
///     Radau, s points       s! (s-1)! / ((2s)! (2s-1)!) (|a| h)^(2s-1) |a| T
///
/// (Hairer, Wanner, Solving Ordinary Differential Equations II, IV.3). The numbers a come from the
/// derivative of a step of backward Euler, taken with two step lengths. Only numbers that both
/// find, with |a| h below 1e4, are used.
///
/// @param options  nullable: the model's; a missing step is taken as 1e-3
/// @return PERP_OK, also if nothing is known; PERP_ERR_ARG, PERP_ERR_MEMORY
PERP_API perp_status perp_time_scales_find(const perp_model *model,
                                           const perp_simulation_options *options,
                                           perp_time_scales *scales, perp_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
