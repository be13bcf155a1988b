/// perp/plan.h - optimal control through stick, slip and impact: the model's conditions, pairs
/// included, are constraints of an optimisation over all nodes of a horizon at once,
///
///     minimise  sum of costs,   F(x_k-1, y_k) = 0,   0 <= a_i(y_k) perp b_i(y_k) >= 0,
///               bounds and conditions at nodes,      y_k = (states, vars, inputs) at node k.
///
/// The study is stated in the model's plan block (docs/plan.md). Pairs are relaxed to a b <= eps and
/// eps is driven down; in the end the sides seen are fixed and the answer is refined on them. A plan
/// is claimed only when the conditions as written hold, checked by code that belongs to no solver,
/// and a minimum only when its first and second order are shown. Typical use: options from the model,
/// create, solve, read rows, destroy.

#ifndef PERP_PLAN_H
#define PERP_PLAN_H

#include "perp/base.h"
#include "perp/model.h"
#include "perp/schemes.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How a step is discretised: everything at the step's end, as perp simulate does, with theta, or at
/// the points of Radau IIA; the list is include/perp/schemes.h.
typedef enum perp_plan_method {
#define PERP_PLAN_METHOD_ENUM(name, word, weighted, text) name,
    PERP_PLAN_METHOD_LIST(PERP_PLAN_METHOD_ENUM)
#undef PERP_PLAN_METHOD_ENUM
        PERP_PLAN_METHOD_COUNT
} perp_plan_method;

/// How a pair 0 <= a perp b >= 0 enters the program.
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

/// What solves the program.
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

/// What a plan came to, the best first; the last but of perp_plan_iterate. Words say what is known and no more: docs/plan.md.
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
/// 1 for the words of a plan whose conditions hold at its nodes: feasible on its mesh, or better.
PERP_API int perp_plan_holds(perp_plan_outcome outcome);

/// Where the iterations begin.
typedef enum perp_plan_start {
    PERP_PLAN_START_MODEL, ///< the plan block's guesses; where it is silent, straight lines and middles
    PERP_PLAN_START_ZEROS,
    PERP_PLAN_START_RANDOM ///< within the ranges, at most 10 in size, from `seed`
} perp_plan_start;

/// An iterate, as it is reported while the solver works.
typedef struct perp_plan_progress {
    const char *phase; ///< "homotopy", "sides fixed"
    int iteration;     ///< over all phases
    double cost;
    double infeasibility; ///< largest violation of the relaxed program's conditions
    double stationarity;  ///< slope of its Lagrangian
    double relaxation;    ///< of the pairs: a b <= relaxation
    double barrier, step;
} perp_plan_progress;

typedef struct perp_plan_options {
    size_t size;               ///< set by the default; says which fields the caller has
    int nodes;                 ///< from 2; default the model's, else 41
    perp_plan_method method;   ///< default the model's, else backward Euler
    double theta;              ///< of method theta: weight of the step's end, 0.5..1; default 0.5
    perp_plan_pairs pairs;     ///< default the model's, else Scholtes
    perp_plan_backend backend; ///< default own
    perp_plan_start start;     ///< default the model's guesses
    unsigned seed;             ///< of random starts; default 1
    double from;               ///< time of the first node; default 0
    double
        relaxation; ///< pairs are relaxed to a b <= eps; eps at first, default 10; a fifth of it in balanced units, docs/plan.md
    double
        relaxation_min; ///< eps at the end, before one side of each pair is fixed at 0; default 1e-7
    double penalty;     ///< weight of the l1 penalty; default 0.1
    double tol;         ///< of the conditions of a minimum; default 1e-8
    double verify_tol; ///< every condition as written holds to this, on its own scale; default 1e-6
    int max_iter;      ///< of a run of the solver; default 1000
    int tries;         ///< starts from which the best plan is kept; default 1
    int restarts;      ///< further starts while no plan is stationary; default 4
    int threads;       ///< of starts; 0 (default): one per processor; the answer is the same
    const char *
        homotopy; ///< at each start: homotopy in this parameter, from `homotopy_from` to its value,
                  ///< such as a coefficient of friction from 0; NULL (default): none
    double homotopy_from; ///< its first value
    int homotopy_steps; ///< values of it at which the relaxed program is solved, 1..100; default 4
    int refine; ///< 1: fix the smaller side of each pair at 0 and solve again (default); 0: do not
    int replay; ///< 1: simulate the inputs found, finer (default); 0: do not
    int (*progress)(void *context, const perp_plan_progress *progress); ///< not 0: stop; nullable
    void *context; ///< progress is called from one thread at a time, start by start in order
    double
        motion_tol; ///< steps are divided until the motion under the plan's inputs, integrated accurately, differs by less than this part
    ///< of the largest size of each state, and the cost by less than this part from one mesh to the next and from that of the motion; what
    ///< is not shown to is feasible on its mesh, whatever `replay` is. 0 (default): they are as asked for
    int most_steps; ///< ... but into no more than this; default 1000
} perp_plan_options;

/// What was found. Residuals are computed from the model's own expressions.
typedef struct perp_plan_result {
    size_t size; ///< sizeof of this struct, set by the caller
    perp_plan_outcome outcome;
    double cost;
    double horizon;
    int iterations;         ///< of the solver, over all phases and starts
    int starts;             ///< runs from a start
    int rounds;             ///< times the sides were fixed
    double complementarity; ///< error of the pairs, as all of these on its own scale
    double defect;          ///< of the equations
    double bounds;          ///< of ranges
    double conditions;      ///< of the plan block
    double stationarity;    ///< slope of the Lagrangian with the sides fixed, each of its entries
                            ///< relative to the terms it is made of
    int both_zero;          ///< pairs with both sides 0
    int weak; ///< 0: opening those pairs does not lower the cost (S-stationary). Else their number
    int curvature; ///< 1: along every direction that the active conditions leave, the cost rises to
        ///< second order; -1: it falls along one that could not be followed; 0: not shown
    int falls; ///< 1: feasible only, and the cost falls as a horizon without an end grows
    perp_plan_outcome
        on_mesh;      ///< the word without the replay: `outcome` is this, or feasible on its mesh
    double replay;    ///< largest difference of a state to a finer simulation by another method,
                      ///< relative to the largest size of that state; infinite where the simulation
                      ///< stopped; NaN without a replay
    int replay_state; ///< the state it is of
    double replay_off;     ///< and the difference in its unit
    const char *replay_by; ///< the integrator; NULL without a replay
    double
        cost_error; ///< what the cost changes by when the plan's points are brought to the motion that its inputs make, and keep its conditions
    ///< there; with pairs, or far from it, what slopes say of the end alone; NaN where there was no accurate motion. With what the
    ///< method's rule leaves out of the cost's integrals, where these are of states and inputs
    int meshes;         ///< times that steps were divided (motion_tol)
    double cost_change; ///< of the last of these; 0 without
    perp_plan_method
        method; ///< of the steps: that of the options, or one of higher order (motion_tol)
    double
        between; ///< the most that a condition without `at`, a range of a state or a gap is broken by between nodes, relative to what it is
                 ///< the difference of; 0: none is, or no replay was asked for
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

/// Transcribe the model's plan block and derive it; allocate everything.
///
/// @param model  must outlive the plan. Initial values that are set in it later take effect at the next solve; a solve after a
/// parameter was set is refused: see perp_plan_set_parameter
/// @return PERP_OK, PERP_ERR_ARG (options out of range), PERP_ERR_MODEL (no plan block, or one that
/// cannot be transcribed, or a guess that is no finite number: diag says where), PERP_ERR_FILE and PERP_ERR_DATA (the table of guesses),
/// PERP_ERR_UNAVAILABLE (no such back end in this build), PERP_ERR_MEMORY
PERP_API perp_status perp_plan_create(const perp_model *model, const perp_plan_options *options,
                                      perp_plan **plan, perp_diag *diag);
PERP_API void perp_plan_destroy(perp_plan *plan);

/// Start from a table, such as an earlier plan or a simulation: columns named like states, vars and
/// inputs, over its time, which is stretched to the horizon; a free horizon starts at the table's
/// length, a phase at that of its share of the rows. What has no column keeps the model's guess. A column that is taken has a
/// finite number in each row; vars and inputs may be without one in the first.
///
/// @param name  of the table in messages
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_DATA (no "t", times not increasing, no column of the
/// model's, a value that is no finite number: diag has its name and row), PERP_ERR_MEMORY
PERP_API perp_status perp_plan_set_guess(perp_plan *plan, const perp_trajectory *table,
                                         const char *name, perp_diag *diag);

/// Start from arrays: states, vars and inputs at a node as perp_plan_row has them (NaN: as it is now; what comes behind the
/// inputs is not read). In order of the nodes; inner points of a step follow.
///
/// @return PERP_OK, PERP_ERR_ARG (also of a value that is infinite: nothing is changed)
PERP_API perp_status perp_plan_set_guess_row(perp_plan *plan, int node, const double *row);

/// Solve. Not finding a plan is an outcome, not an error; diag then says what is known about it.
///
/// @return PERP_OK, PERP_ERR_ARG (a parameter of the model was set since), PERP_ERR_MEMORY
PERP_API perp_status perp_plan_solve(perp_plan *plan, perp_plan_result *result, perp_diag *diag);

/// In a control loop: state i (as the model counts them) begins at this value from now on.
///
/// @return PERP_OK, PERP_ERR_ARG: outside of its range, chosen by the plan, or given by a condition at the start
PERP_API perp_status perp_plan_set_state(perp_plan *plan, int state, double value, perp_diag *diag);

/// A parameter that the plan block calls free is given this value, until another one; NaN: it is free again.
///
/// @return PERP_OK, PERP_ERR_ARG: not free, or outside of its range
PERP_API perp_status perp_plan_set_parameter(perp_plan *plan, const char *name, double value,
                                             perp_diag *diag);

/// The multiplier (shadow price) of a condition of the plan block or of a range: the change of the cost per
/// unit of the active bound, to first order.
typedef struct perp_plan_multiplier {
    const char *kind; ///< "condition" or "range"
    const char *text; ///< the condition as written; of a range, whose it is
    int line, column; ///< where it stands in the model's text
    int node;         ///< where it is largest
    double sum;       ///< over all nodes; of a range, with both its ends moved apart by 1
} perp_plan_multiplier;

/// Find the multipliers of the last answer, for the functions below: of conditions, then of ranges. Those of equations with a
/// derivative are the costates. Where they are large against each other, so that they may be one choice of many, diag says so.
///
/// @return PERP_OK, PERP_ERR_ARG (there is no answer that is stationary), PERP_ERR_MEMORY
PERP_API perp_status perp_plan_find_multipliers(perp_plan *plan, perp_diag *diag);
/// How many there are; 0 before they were found.
PERP_API int perp_plan_multipliers(const perp_plan *plan);
/// @param i  from 0; out of range: kind "", sum NaN
PERP_API perp_plan_multiplier perp_plan_get_multiplier(const perp_plan *plan, int i);
/// That of one node; NaN where i or node is out of range.
PERP_API double perp_plan_multiplier_at(const perp_plan *plan, int i, int node);

/// The change of the last answer's cost with a parameter of the model, d cost / d parameter, to first order and as long as pairs
/// keep their sides. Of a parameter that the plan chooses, 0 within its range.
///
/// @param slope  out; NaN where the plan's program has no derivative by the parameter: one that counts something, or is at a kink
/// @return PERP_OK, PERP_ERR_ARG (no such parameter; no answer that is stationary), PERP_ERR_MEMORY
PERP_API perp_status perp_plan_cost_slope(perp_plan *plan, const char *parameter, double *slope,
                                          perp_diag *diag);

/// What deviations from the plan count.
typedef struct perp_plan_gain_options {
    size_t size; ///< set by the default
    const double *
        state; ///< of each state, > 0: the deviation that counts 1 while the plan lasts; NULL, and NaN for one of them
               ///< (default): a tenth of its largest size in the plan
    const double
        *input; ///< the same of each chosen input; default: half its range, or its largest size
    double end; ///< so many times as much count deviations of the states at the end; default 1
} perp_plan_gain_options;

PERP_API void perp_plan_gain_options_fill(perp_plan_gain_options *options, size_t size);
static inline perp_plan_gain_options perp_plan_gain_options_default(void)
{
    perp_plan_gain_options options;
    perp_plan_gain_options_fill(&options, sizeof options);
    return options;
}

/// Find the feedback along the last answer, u = u_k - gain_k (x - x_k): each step is linearised with the sides that its pairs have,
/// contacts that are made or left in it included, and the linear-quadratic regulator taken backwards over the steps. An input that is at an end of its range has no gain there; where a phase begins with a jump, x is the state before it.
///
/// @param options  NULL: the defaults
/// @return PERP_OK, PERP_ERR_ARG (no answer that holds), PERP_ERR_MODEL (a step whose equations have no derivative: diag names it),
/// PERP_ERR_NO_SOLUTION, PERP_ERR_MEMORY
PERP_API perp_status perp_plan_find_gains(perp_plan *plan, const perp_plan_gain_options *options,
                                          perp_diag *diag);
/// Those of a step, row by row.
///
/// @param gain  chosen inputs x states; nullable, as A and B are
/// @param A     states x states: of the states at the end of the step by those at its start
/// @param B     states x inputs: by inputs that change for all of the step
/// @return PERP_OK, PERP_ERR_ARG (no gains, no such step)
PERP_API perp_status perp_plan_get_gain(const perp_plan *plan, int step, double *gain, double *A,
                                        double *B);
/// The chosen inputs for a state at time t, kept within their ranges. Between nodes the plan's states are taken straight; before its start and after
/// its end the first and last count. Allocates nothing.
///
/// @return PERP_OK, PERP_ERR_ARG (no gains)
PERP_API perp_status perp_plan_feedback(const perp_plan *plan, double t, const double *state,
                                        double *input);

/// Move the last answer so many steps earlier; the last step is repeated.
///
/// @return PERP_OK, PERP_ERR_ARG: there is no answer, or its steps were divided (motion_tol)
PERP_API perp_status perp_plan_shift(perp_plan *plan, int steps);

/// Solve again from the last answer, its multipliers and the sides of its pairs; other sides are searched where these have become
/// dearer. One start, no replay and no test of the second order, so that `S-stationary` is the best word unless the program is
/// convex; every condition is verified as in perp_plan_solve. Where nothing is found (limit), the next call goes on from there.
///
/// @param max_iter  iterations in all, which bounds the time; 0: no limit but the options'
/// @return PERP_OK, PERP_ERR_ARG (no plan was found before; a parameter of the model was set), PERP_ERR_MEMORY
PERP_API perp_status perp_plan_solve_again(perp_plan *plan, int max_iter, perp_plan_result *result,
                                           perp_diag *diag);

/// Real-time iteration (Diehl, Bock and Schloeder 2005): one step from the last answer, for a control loop in which the state changes little from
/// call to call. The conditions are linearised there, once, and the quadratic program that they make with the curvature of the Lagrangian is
/// solved with each pair on one of its sides, at first on those of the last answer; `iterations` are the linear systems that took, at most 12 (with a search 29).
/// Inputs keep their ranges, and everything linear holds; what else is still missed stands in the residuals of the result, which are
/// computed as in any solve. The word is that of perp_plan_solve_again where every condition holds, else `iterating`, and `limit` where the
/// quadratic program has no solution or its step misses more than there was missing: the answer is then as it was, and perp_plan_solve_again
/// may find one. Called again with nothing changed it converges like Newton's method. Sides are changed where the quadratic program
/// says so. Where there was no step, or the plan has become a fifth dearer than it has been, other sides are searched beside it, five iterations
/// of the search in each of the next calls (at most 20), until a step from there is cheaper: then that is the answer. No call takes more than those
/// and two quadratic programs.
///
/// @return PERP_OK, PERP_ERR_ARG (no plan was found before; a parameter of the model was set), PERP_ERR_MODEL (a pair is switched by
/// `when`), PERP_ERR_MEMORY
PERP_API perp_status perp_plan_iterate(perp_plan *plan, perp_plan_result *result, perp_diag *diag);

/// A start that the last solve has tried, and what came of it: starts are tried in order until one of them ends well.
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

/// Rows of the answer, one a node. Columns: t, states, vars, inputs that are chosen, outputs,
/// residual, and the costates: the change of the cost with the state at that node. In the first row
/// vars have no value (NaN), and inputs that of the first step
/// (with theta, a value of their own).
PERP_API int perp_plan_rows(const perp_plan *plan);
PERP_API int perp_plan_columns(const perp_plan *plan);
PERP_API const char *perp_plan_column_name(const perp_plan *plan, int column);
PERP_API const char *perp_plan_column_unit(const perp_plan *plan, int column);
/// @param row  perp_plan_columns entries
PERP_API void perp_plan_row(const perp_plan *plan, int node, double *row);

/// Points of a step at which there is a row: 1, its end; with "radau3" and the like, unless inputs are held, 2 and more. Inputs are the
/// polynomial through these points, kept within their ranges.
PERP_API int perp_plan_points(const perp_plan *plan);
/// A row at point 0 .. perp_plan_points - 1 of step 0 .. rows - 2; the last point is the node behind the step. At the others there are no
/// residual and no costates (NaN).
///
/// @param row  perp_plan_columns entries
PERP_API void perp_plan_point_row(const perp_plan *plan, int step, int point, double *row);

/// 1 if an input has one value over each step (backward Euler, or "inputs held"): row k has that of the step before it.
PERP_API int perp_plan_holds_inputs(const perp_plan *plan);

/// A phase of the plan: steps of equal length, unless they were divided (motion_tol). Without phases there is one; where nodes were moved
/// to switches, one between any two of these.
typedef struct perp_plan_phase {
    const char *name; ///< "" where the plan block gives none
    int first, last;  ///< nodes; the last of a phase is the first of the next
    double from, to;  ///< time
    int is_linked;    ///< a state jumps where it begins
} perp_plan_phase;

PERP_API int perp_plan_phases(const perp_plan *plan);
PERP_API perp_plan_phase perp_plan_get_phase(const perp_plan *plan, int i);

/// A model from which phase i can be simulated: the plan's, with the parameters of the phase, free
/// ones with the values found, and as initial values the states where it begins, behind its links.
///
/// @param model  out: the caller destroys it
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_MEMORY, or what perp_model_set says
PERP_API perp_status perp_plan_phase_model(const perp_plan *plan, int i, perp_model **model,
                                           perp_diag *diag);

/// Free parameters of the plan and their values; the name is NULL when i is out of range.
PERP_API const char *perp_plan_free_name(const perp_plan *plan, int i);
PERP_API double perp_plan_free_value(const perp_plan *plan, int i);

#ifdef __cplusplus
}
#endif
#endif
