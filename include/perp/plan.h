/// perp/plan.h - optimal control through stick, slip and impact. The model's conditions, pairs
/// included, are constraints of one program over all nodes of a horizon,
///
///     minimise  sum of costs,   F(x_k-1, y_k) = 0,   0 <= a_i(y_k) perp b_i(y_k) >= 0,
///               bounds and conditions at nodes,      y_k = (states, vars, inputs) at node k.
///
/// The model's plan block states the problem (docs/plan.md). Pairs are relaxed to a b <= eps, and
/// eps is driven down. At the end the active sides are fixed and the answer is refined on them. A
/// plan is claimed only if the conditions as written hold, by code that belongs to no solver. A
/// minimum is claimed only if its first and second order were shown.
///
/// Take options from the model, create, solve, read rows, destroy.

#ifndef PERP_PLAN_H
#define PERP_PLAN_H

#include "perp/base.h"
#include "perp/model.h"
#include "perp/schemes.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The discretisation of a step: everything at the step's end, as perp simulate does, with theta,
/// or at the points of Radau IIA. The list is include/perp/schemes.h.
typedef enum perp_plan_method {
#define PERP_PLAN_METHOD_ENUM(name, word, weighted, text) name,
    PERP_PLAN_METHOD_LIST(PERP_PLAN_METHOD_ENUM)
#undef PERP_PLAN_METHOD_ENUM
        PERP_PLAN_METHOD_COUNT
} perp_plan_method;

/// The form of a pair 0 <= a perp b >= 0 in the program.
#define PERP_PLAN_PAIRS_LIST(X)                                                                    \
    X(PERP_PLAN_SCHOLTES, "scholtes", "a, b >= 0 and a b <= eps, eps driven down")                 \
    X(PERP_PLAN_PRODUCTS, "products", "a, b >= 0 and a b <= 0 from the start")                     \
    X(PERP_PLAN_L1, "l1", "a, b >= 0 and a penalty on the sum of a b")                             \
    X(PERP_PLAN_FISCHER_BURMEISTER, "fischer-burmeister",                                          \
      "a + b = sqrt(a^2 + b^2 + 2 eps), eps driven down")

typedef enum perp_plan_pairs {
#define PERP_PLAN_PAIRS_ENUM(name, word, text) name,
    PERP_PLAN_PAIRS_LIST(PERP_PLAN_PAIRS_ENUM)
#undef PERP_PLAN_PAIRS_ENUM
        PERP_PLAN_PAIRS_COUNT
} perp_plan_pairs;

/// The solver of the program.
#define PERP_PLAN_BACKEND_LIST(X)                                                                  \
    X(PERP_PLAN_OWN, "own", "interior point by stages; time grows linearly with the nodes")        \
    X(PERP_PLAN_IPOPT, "ipopt", "IPOPT with exact derivatives, when this build has it")

typedef enum perp_plan_backend {
#define PERP_PLAN_BACKEND_ENUM(name, word, text) name,
    PERP_PLAN_BACKEND_LIST(PERP_PLAN_BACKEND_ENUM)
#undef PERP_PLAN_BACKEND_ENUM
        PERP_PLAN_BACKEND_COUNT
} perp_plan_backend;

/// Words such as "backward-euler".
PERP_API const char *perp_plan_method_name(perp_plan_method method);
PERP_API perp_plan_method perp_plan_method_find(const char *name);
PERP_API const char *perp_plan_pairs_name(perp_plan_pairs pairs);
PERP_API perp_plan_pairs perp_plan_pairs_find(const char *name);
PERP_API const char *perp_plan_backend_name(perp_plan_backend backend);
PERP_API perp_plan_backend perp_plan_backend_find(const char *name);

/// The outcomes of a plan, the best first, except the last, which is for perp_plan_iterate.
/// docs/plan.md defines the words.
#define PERP_PLAN_OUTCOME_LIST(X)                                                                  \
    X(PERP_PLAN_GLOBAL, "global",                                                                  \
      "every condition as written holds, and no plan is cheaper: the program is convex")           \
    X(PERP_PLAN_LOCAL_MINIMUM, "local minimum",                                                    \
      "every condition as written holds, and no plan near it is cheaper: first and second order "  \
      "are shown")                                                                                 \
    X(PERP_PLAN_STATIONARY_S, "S-stationary",                                                      \
      "every condition as written holds, and to first order nothing lowers the cost, with pairs "  \
      "of both sides zero opened; the second order is not shown")                                  \
    X(PERP_PLAN_STATIONARY_B, "B-stationary",                                                      \
      "every condition as written holds, and no choice of sides for pairs of both sides zero "     \
      "lowers the cost; opened they would")                                                        \
    X(PERP_PLAN_FEASIBLE, "feasible",                                                              \
      "every condition as written holds; that no cheaper plan is near is not shown")               \
    X(PERP_PLAN_FEASIBLE_ON_MESH, "feasible on its mesh",                                          \
      "every condition as written holds at the nodes, but the motion under these inputs, "         \
      "simulated finer, is another one, or its cost is not shown to keep a tolerance that is "     \
      "asked for")                                                                                 \
    X(PERP_PLAN_LOCALLY_INFEASIBLE, "locally infeasible",                                          \
      "no plan was found; where the search ended, no small change brings the conditions nearer. "  \
      "This is no proof that there is none")                                                       \
    X(PERP_PLAN_INFEASIBLE, "infeasible", "no plan keeps all conditions: proved")                  \
    X(PERP_PLAN_LIMIT, "limit", "no plan that holds was found within the limit of iterations")     \
    X(PERP_PLAN_STOPPED, "stopped", "stopped by the caller; the best iterate so far")              \
    X(PERP_PLAN_ITERATING, "iterating",                                                            \
      "one step towards a plan: its conditions hold as far as their residuals say, no further")

typedef enum perp_plan_outcome {
#define PERP_PLAN_OUTCOME_ENUM(name, word, text) name,
    PERP_PLAN_OUTCOME_LIST(PERP_PLAN_OUTCOME_ENUM)
#undef PERP_PLAN_OUTCOME_ENUM
        PERP_PLAN_OUTCOME_COUNT
} perp_plan_outcome;

PERP_API const char *perp_plan_outcome_name(perp_plan_outcome outcome);
PERP_API const char *perp_plan_outcome_message(perp_plan_outcome outcome);
/// 1 for outcomes of a plan whose conditions hold at its nodes: feasible on its mesh, or better.
PERP_API int perp_plan_holds(perp_plan_outcome outcome);

/// The initial guess.
typedef enum perp_plan_start {
    /// The plan block's guesses; without one, straight lines and middles of ranges
    PERP_PLAN_START_MODEL,
    PERP_PLAN_START_ZEROS,
    PERP_PLAN_START_RANDOM ///< within the ranges, at most 10 in size, from `seed`
} perp_plan_start;

/// An iterate, reported during the solve.
typedef struct perp_plan_progress {
    const char *phase; ///< "homotopy", "sides fixed"
    int iteration;     ///< over all phases
    double cost;
    double infeasibility; ///< largest violation of the relaxed program's conditions
    double stationarity;  ///< gradient of its Lagrangian
    double relaxation;    ///< of the pairs: a b <= relaxation
    double barrier, step;
} perp_plan_progress;

typedef struct perp_plan_options {
    size_t size;               ///< set by the default; tells which fields the caller has
    int nodes;                 ///< from 2; default the model's, else 41
    perp_plan_method method;   ///< default the model's, else backward Euler
    double theta;              ///< of method theta: weight of the step's end, 0.5..1; default 0.5
    perp_plan_pairs pairs;     ///< default the model's, else Scholtes
    perp_plan_backend backend; ///< default own
    perp_plan_start start;     ///< default the model's guesses
    unsigned seed;             ///< of random starts; default 1
    double from;               ///< time of the first node; default 0
    /// First eps in a b <= eps; default 10; a fifth of it in balanced units (docs/plan.md)
    double relaxation;
    double relaxation_min; ///< last eps, before one side of each pair is fixed at 0; default 1e-7
    double penalty;     ///< weight of the l1 penalty; default 0.1
    double tol;         ///< of the conditions of a minimum; default 1e-8
    double verify_tol; ///< every condition as written holds to this, on its own scale; default 1e-6
    int max_iter;      ///< of a run of the solver; default 1000
    int tries;         ///< initial guesses; the best plan is kept; default 1
    int restarts;      ///< further initial guesses while no plan is stationary; default 4
    /// For initial guesses; 0 (default): one for each processor; the answer is the same
    int threads;
    /// From each initial guess: homotopy in this parameter, from `homotopy_from` to its value, such
    /// as a friction coefficient from 0. NULL (default): none
    const char * homotopy;
    double homotopy_from; ///< its first value
    /// Number of its values, 1..100; the relaxed program is solved at each; default 4
    int homotopy_steps;
    int refine; ///< 1: fix the smaller side of each pair at 0 and solve again (default); 0: do not
    int replay; ///< 1: simulate the inputs, finer (default); 0: do not
    int (*progress)(void *context, const perp_plan_progress *progress); ///< not 0: stop; nullable
    void *context; ///< progress is called from one thread at a time, guess by guess in order
    /// Steps are divided until two differences are below this share. One is that to the accurate
    /// motion under the plan's inputs, relative to the largest size of each state. The other is
    /// that of the cost, from one mesh to the next and to the accurate motion. A plan for which
    /// this was not shown is feasible on its mesh, whatever `replay` is. 0 (default): no step is
    /// divided
    double motion_tol;
    int most_steps; ///< at most this number of steps after dividing; default 1000
} perp_plan_options;

/// The result of a solve. Residuals are computed from the model's own expressions.
typedef struct perp_plan_result {
    size_t size; ///< sizeof of this struct, set by the caller
    perp_plan_outcome outcome;
    double cost;
    double horizon;
    int iterations;         ///< of the solver, over all phases and starts
    int starts;             ///< searches from an initial guess
    int rounds;             ///< times that the sides were fixed
    double complementarity; ///< error of the pairs, like all of these on its own scale
    double defect;          ///< of the equations
    double bounds;          ///< of ranges
    double conditions;      ///< of the plan block
    /// Gradient of the Lagrangian with the sides fixed, each entry relative to the size of its
    /// terms.
    double stationarity;
    int both_zero;          ///< pairs with both sides 0
    int weak; ///< 0: opening those pairs does not lower the cost (S-stationary). Else their number
    /// 1: along every direction that the active conditions leave, the cost rises to second order.
    /// -1: it falls along one that could not be followed. 0: not shown
    int curvature;
    int falls; ///< 1: only feasible, and the cost falls as a horizon without an end grows
    /// The outcome without the replay: `outcome` is this, or feasible on its mesh
    perp_plan_outcome on_mesh;
    /// Largest difference of a state to a finer simulation by another method, relative to the
    /// largest size of that state. Infinite: the simulation stopped. NaN: no replay
    double replay;
    int replay_state; ///< its state
    double replay_off;     ///< the same in the unit of that state
    const char *replay_by; ///< the integrator; NULL without a replay
    /// Change of the cost when the points of the plan are moved to the motion of its inputs and
    /// keep its conditions there. With pairs, or far from the motion, it is that of the end alone,
    /// to first order. It includes the error of the method's rule in the cost's integrals, where
    /// these are of states and inputs. NaN: there was no accurate motion
    double cost_error;
    int meshes;         ///< times that steps were divided (motion_tol)
    double cost_change; ///< of the last division; 0 without
    /// Of the steps: that of the options, or one of higher order (motion_tol)
    perp_plan_method method;
    /// Largest violation between nodes, relative to the size of its terms. It is of a condition
    /// without `at`, a range of a state or a gap. 0: none, or there was no replay
    double between;
} perp_plan_result;

typedef struct perp_plan perp_plan;

/// Options with the model's plan block filled in.
PERP_API void perp_plan_options_fill(perp_plan_options *options, size_t size,
                                     const perp_model *model);
static inline perp_plan_options perp_plan_options_default(const perp_model *model)
{
    perp_plan_options options;
    perp_plan_options_fill(&options, sizeof options, model);
    return options;
}

/// Transcribe the model's plan block and differentiate it. Allocates all memory.
///
/// @param model  must outlive the plan. Initial values that are set later take effect at the next
///         solve. A solve after a parameter was set is refused: see perp_plan_set_parameter
/// @return PERP_OK, PERP_ERR_ARG (options out of range), PERP_ERR_MODEL (no plan block, or one that
///         cannot be transcribed, or a guess that is not finite: diag names the position),
///         PERP_ERR_FILE and PERP_ERR_DATA (the table of guesses), PERP_ERR_UNAVAILABLE (no such
///         back end in this build), PERP_ERR_MEMORY
PERP_API perp_status perp_plan_create(const perp_model *model, const perp_plan_options *options,
                                      perp_plan **plan, perp_diag *diag);
PERP_API void perp_plan_destroy(perp_plan *plan);

/// Start from a table, such as an earlier plan or a simulation, with columns named like states,
/// vars and inputs.
///
/// Its time is stretched to the horizon. A free horizon starts at the table's length, a phase at
/// the length of its share of the rows. States, vars and inputs without a column keep the model's
/// guess. A column that is used has a finite number in each row; vars and inputs may lack one in
/// the first.
///
/// @param name  of the table in messages
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_MEMORY, PERP_ERR_DATA (no "t", times not increasing, no
///         column of the model's, a value that is not finite: diag has its name and row)
PERP_API perp_status perp_plan_set_guess(perp_plan *plan, const perp_trajectory *table,
                                         const char *name, perp_diag *diag);

/// Start from arrays: states, vars and inputs at a node in the order of perp_plan_row. NaN:
/// unchanged. Entries after the inputs are not read. Call it in the order of the nodes; inner
/// points of a step follow.
///
/// @return PERP_OK, PERP_ERR_ARG (also for an infinite value: nothing is changed)
PERP_API perp_status perp_plan_set_guess_row(perp_plan *plan, int node, const double *row);

/// Solve. "No plan found" is an outcome, not an error; diag then says what is known about it.
///
/// @return PERP_OK, PERP_ERR_ARG (a parameter of the model was set since), PERP_ERR_MEMORY
PERP_API perp_status perp_plan_solve(perp_plan *plan, perp_plan_result *result, perp_diag *diag);

/// In a control loop: state i (in the model's order) begins at this value from now on.
///
/// @return PERP_OK, PERP_ERR_ARG: outside of its range, chosen by the plan, or given by a condition
///         at the start
PERP_API perp_status perp_plan_set_state(perp_plan *plan, int state, double value, perp_diag *diag);

/// Fix a parameter that the plan block calls free at this value, until another call; NaN: it is
/// free again.
///
/// @return PERP_OK, PERP_ERR_ARG: not free, or outside of its range
PERP_API perp_status perp_plan_set_parameter(perp_plan *plan, const char *name, double value,
                                             perp_diag *diag);

/// The multiplier (shadow price) of a condition of the plan block or of a range: the change of the
/// cost per unit of the active bound, to first order.
typedef struct perp_plan_multiplier {
    const char *kind; ///< "condition" or "range"
    const char *text; ///< the condition as written; of a range, its name
    int line, column; ///< its position in the model's text
    int node;         ///< the node of the largest one
    double sum;       ///< over all nodes; of a range, for moving both its ends apart by 1
} perp_plan_multiplier;

/// Find the multipliers of the last answer, for the functions below: of conditions, then of ranges.
/// Those of equations with a derivative are the costates. If some are large relative to others,
/// they may be one choice of many, and diag says so.
///
/// @return PERP_OK, PERP_ERR_ARG (there is no stationary answer), PERP_ERR_MEMORY
PERP_API perp_status perp_plan_find_multipliers(perp_plan *plan, perp_diag *diag);
/// The number of multipliers; 0 before they were found.
PERP_API int perp_plan_multipliers(const perp_plan *plan);
/// @param i  from 0; out of range: kind "", sum NaN
PERP_API perp_plan_multiplier perp_plan_get_multiplier(const perp_plan *plan, int i);
/// The multiplier at one node; NaN if i or node is out of range.
PERP_API double perp_plan_multiplier_at(const perp_plan *plan, int i, int node);

/// The derivative of the last answer's cost by a parameter of the model, while pairs keep their
/// sides. For a parameter that the plan chooses it is 0 within its range.
///
/// @param slope  out; NaN if the program has no derivative by the parameter, such as one that
///         counts something, or at a non-differentiable point
/// @return PERP_OK, PERP_ERR_ARG (no such parameter; no stationary answer), PERP_ERR_MEMORY
PERP_API perp_status perp_plan_cost_slope(perp_plan *plan, const char *parameter, double *slope,
                                          perp_diag *diag);

/// Weights of deviations from the plan.
typedef struct perp_plan_gain_options {
    size_t size; ///< set by the default
    /// Of each state, > 0: the deviation with weight 1 during the plan. NULL, or NaN for one of
    /// them (default): a tenth of its largest size in the plan
    const double * state;
    /// The same of each chosen input; default: half its range, or its largest size
    const double *input;
    double end; ///< factor of the weights of states at the end; default 1
} perp_plan_gain_options;

PERP_API void perp_plan_gain_options_fill(perp_plan_gain_options *options, size_t size);
static inline perp_plan_gain_options perp_plan_gain_options_default(void)
{
    perp_plan_gain_options options;
    perp_plan_gain_options_fill(&options, sizeof options);
    return options;
}

/// Find the feedback along the last answer, u = u_k - gain_k (x - x_k).
///
/// Each step is linearised with the active sides of its pairs, including contacts that begin or end
/// in it. The linear-quadratic regulator then runs backwards over the steps. An input at an end of
/// its range has no gain there. If a phase begins with a jump, x is the state before it.
///
/// @param options  NULL: the defaults
/// @return PERP_OK, PERP_ERR_ARG (no answer that holds), PERP_ERR_MODEL (a step whose equations
///         have no derivative: diag names it), PERP_ERR_NO_SOLUTION, PERP_ERR_MEMORY
PERP_API perp_status perp_plan_find_gains(perp_plan *plan, const perp_plan_gain_options *options,
                                          perp_diag *diag);
/// The gains of a step, row by row.
///
/// @param gain  chosen inputs x states; nullable, like A and B
/// @param A     states x states: of the states at the end of the step by those at its start
/// @param B     states x inputs: by inputs that change for the whole step
/// @return PERP_OK, PERP_ERR_ARG (no gains, no such step)
PERP_API perp_status perp_plan_get_gain(const perp_plan *plan, int step, double *gain, double *A,
                                        double *B);
/// The chosen inputs for a state at time t, kept within their ranges. Between nodes the plan's
/// states are linear. Before its start and after its end the first and the last count. Allocates
/// nothing.
///
/// @return PERP_OK, PERP_ERR_ARG (no gains)
PERP_API perp_status perp_plan_feedback(const perp_plan *plan, double t, const double *state,
                                        double *input);

/// Move the last answer by `steps` steps earlier. The last step is repeated.
///
/// @return PERP_OK, PERP_ERR_ARG: there is no answer, or its steps were divided (motion_tol)
PERP_API perp_status perp_plan_shift(perp_plan *plan, int steps);

/// Solve again from the last answer, its multipliers and the sides of its pairs. If these have
/// become more expensive, other sides are searched.
///
/// It uses one initial guess, no replay and no test of the second order. So `S-stationary` is the
/// best outcome unless the program is convex. Every condition is verified as in perp_plan_solve.
/// After `limit` the next call continues.
///
/// @param max_iter  iterations in all, which bounds the time; 0: only the options' limit
/// @return PERP_OK, PERP_ERR_ARG (no plan was found before; a parameter of the model was set),
///         PERP_ERR_MEMORY
PERP_API perp_status perp_plan_solve_again(perp_plan *plan, int max_iter, perp_plan_result *result,
                                           perp_diag *diag);

/// Real-time iteration (Diehl, Bock and Schloeder 2005): one step from the last answer, for a
/// control loop in which the state changes little from call to call.
///
/// The conditions are linearised there, once. With the curvature of the Lagrangian they make a
/// quadratic program. It is solved with each pair on one of its sides, at first on those of the
/// last answer. Sides are changed if the quadratic program asks for it. `iterations` counts its
/// linear systems, at most 12 (with a search 29). Inputs keep their ranges, and everything linear
/// holds. Other violations are in the residuals of the result, computed as in any solve.
///
/// If every condition holds, the outcome is that of perp_plan_solve_again, else `iterating`. It is
/// `limit` if the quadratic program has no solution, or if its step increases the violation. The
/// answer is then unchanged, and perp_plan_solve_again may find one. Repeated calls without changes
/// converge like Newton's method.
///
/// If there was no step, or the cost has grown by a fifth, other sides are searched beside it. The
/// search takes five iterations in each of the next calls (at most 20). When a step from there is
/// cheaper, it becomes the answer. No call takes more than those and two quadratic programs.
///
/// @return PERP_OK, PERP_ERR_ARG (no plan was found before; a parameter of the model was set),
///         PERP_ERR_MODEL (a pair is switched by `when`), PERP_ERR_MEMORY
PERP_API perp_status perp_plan_iterate(perp_plan *plan, perp_plan_result *result, perp_diag *diag);

/// An initial guess of the last solve and its outcome. Guesses are tried in order until one
/// succeeds.
typedef struct perp_plan_attempt {
    const char *start;         ///< in words: "the model's guess"
    perp_plan_outcome outcome; ///< before the replay
    double cost;
    int iterations;
} perp_plan_attempt;

PERP_API int perp_plan_attempts(const perp_plan *plan);
/// @param i  from 0; out of range: outcome limit, cost NaN
PERP_API perp_plan_attempt perp_plan_get_attempt(const perp_plan *plan, int i);

/// Size of the program: unknowns, rows of conditions, entries of its derivatives.
typedef struct perp_plan_size {
    int steps, unknowns, rows, pairs;
    long jacobian, hessian;
} perp_plan_size;
PERP_API perp_plan_size perp_plan_get_size(const perp_plan *plan);

/// Rows of the answer, one a node. Columns: t, states, vars, chosen inputs, outputs, residual, and
/// the costates, which are the derivatives of the cost by the state at that node. In the first row
/// vars have no value (NaN). Its inputs are those of the first step (with theta, a value of their
/// own).
PERP_API int perp_plan_rows(const perp_plan *plan);
PERP_API int perp_plan_columns(const perp_plan *plan);
PERP_API const char *perp_plan_column_name(const perp_plan *plan, int column);
PERP_API const char *perp_plan_column_unit(const perp_plan *plan, int column);
/// @param row  perp_plan_columns entries
PERP_API void perp_plan_row(const perp_plan *plan, int node, double *row);

/// Points of a step that have a row. 1: its end. With "radau3" and the like, unless inputs are
/// held, 2 and more. Inputs are the polynomial through these points, kept within their ranges.
PERP_API int perp_plan_points(const perp_plan *plan);
/// A row at point 0 .. perp_plan_points - 1 of step 0 .. rows - 2. The last point is the node at
/// the end of the step. The others have no residual and no costates (NaN).
///
/// @param row  perp_plan_columns entries
PERP_API void perp_plan_point_row(const perp_plan *plan, int step, int point, double *row);

/// 1 if an input has one value over each step (backward Euler, or "inputs held"): row k has that of
/// the step before it.
PERP_API int perp_plan_holds_inputs(const perp_plan *plan);

/// A phase of the plan: steps of equal length, unless they were divided (motion_tol). Without
/// phases there is one. If nodes were moved to switches, there is one between any two of these.
typedef struct perp_plan_phase {
    const char *name; ///< "" if the plan block gives none
    int first, last;  ///< nodes; the last of a phase is the first of the next
    double from, to;  ///< time
    int is_linked;    ///< a state jumps at its begin
} perp_plan_phase;

PERP_API int perp_plan_phases(const perp_plan *plan);
PERP_API perp_plan_phase perp_plan_get_phase(const perp_plan *plan, int i);

/// A model for a simulation of phase i: the plan's, with the parameters of the phase and the free
/// ones of the answer. Its initial values are the states at the begin of the phase, after its
/// links.
///
/// @param model  out: the caller destroys it
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_MEMORY, or the status of perp_model_set
PERP_API perp_status perp_plan_phase_model(const perp_plan *plan, int i, perp_model **model,
                                           perp_diag *diag);

/// Free parameters of the plan and their values. The name is NULL when i is out of range.
PERP_API const char *perp_plan_free_name(const perp_plan *plan, int i);
PERP_API double perp_plan_free_value(const perp_plan *plan, int i);

#ifdef __cplusplus
}
#endif
#endif
