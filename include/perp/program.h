/// perp/program.h - programs with complementarity, as modelling languages write them: minimise or maximise f(x) with
///
///     lo <= x <= hi,   rlo <= r(x) <= rhi,   and pairs such as   0 <= x_j - lo_j  perp  r_i(x) >= 0.
///
/// Come back here with an .nl file of AMPL, Pyomo or JuMP, or with formulas. Linear programs, linear and nonlinear complementarity problems go to the
/// methods that are made for them, all others to the interior point of perp/plan.h. A method's word is not taken: each condition
/// is computed anew from the file's own expressions and judged on a scale of its own, and the words are those of plans.

#ifndef PERP_PROGRAM_H
#define PERP_PROGRAM_H

#include "perp/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What a program is: name, word, sentence.
#define PERP_PROGRAM_CLASS_LIST(X)                                                                 \
    X(PERP_PROGRAM_LP, "lp", "linear program")                                                     \
    X(PERP_PROGRAM_QP, "qp", "quadratic program: linear rows, a quadratic objective")              \
    X(PERP_PROGRAM_NLP, "nlp", "nonlinear program, or equations")                                  \
    X(PERP_PROGRAM_LCP, "lcp", "linear complementarity problem: a row for each variable")          \
    X(PERP_PROGRAM_MCP, "mcp", "nonlinear complementarity problem: a row for each variable")       \
    X(PERP_PROGRAM_MPCC, "mpcc", "program with complementarity constraints")

typedef enum perp_program_class {
#define PERP_PROGRAM_CLASS_ENUM(name, word, text) name,
    PERP_PROGRAM_CLASS_LIST(PERP_PROGRAM_CLASS_ENUM)
#undef PERP_PROGRAM_CLASS_ENUM
        PERP_PROGRAM_CLASS_COUNT
} perp_program_class;

PERP_API const char *perp_program_class_name(perp_program_class kind);
PERP_API const char *perp_program_class_summary(perp_program_class kind);

typedef struct perp_program perp_program;

/// What is known of a program before it is solved.
typedef struct perp_program_size {
    perp_program_class kind;
    int variables, rows; ///< rows: those of pairs, too
    int objectives;      ///< of the file; one of them is solved for
    int pairs;
    long nonzeros; ///< linear terms of rows
} perp_program_size;

/// Read an .nl file, text or binary, of either byte order.
///
/// @param path  with or without the ending .nl
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_FILE, PERP_ERR_DATA (diag names the segment and the line, or the byte of a binary
///         file), PERP_ERR_MEMORY
PERP_API perp_status perp_program_read(const char *path, perp_program **program, perp_diag *diag);

/// The same from memory.
///
/// @param name  of the file in messages
PERP_API perp_status perp_program_parse(const char *bytes, size_t n, const char *name,
                                        perp_program **program, perp_diag *diag);

/// A program by formulas in x1, x2, .., as the model language has them: "x1^2 + exp(x2) - 3". Derivatives are taken of them.
typedef struct perp_program_formulas {
    int variables;
    const double *lo, *hi, *start; ///< of variables; NULL: none, none, 0
    const char *objective;         ///< NULL: none
    int maximise;                  ///< 1: it is maximised
    int rows;
    const char *const *row;
    const double *row_lo, *row_hi; ///< of rows that complement nothing; NULL: none
    const int *
        complements; ///< of each row, the variable (from 0) whose finite bounds it complements: row >= 0 where the variable
                     ///< is at its lower bound, <= 0 at its upper, else 0; -1: none. NULL: none
} perp_program_formulas;

/// Nothing that is given is needed afterwards.
///
/// @param name  in messages
/// @return PERP_OK, PERP_ERR_ARG (a count below 0, a formula that is NULL, a variable that is none), PERP_ERR_MODEL (diag names the
///         formula), PERP_ERR_MEMORY
PERP_API perp_status perp_program_create(const perp_program_formulas *formulas, const char *name,
                                         perp_program **program, perp_diag *diag);

/// A program by functions of the caller, with sparse derivatives. Each function returns 0; anything else says that it is not defined at
/// x, and a shorter step is tried. They must be smooth where they are defined.
typedef struct perp_program_callbacks {
    int variables;
    const double *lo, *hi, *start; ///< of variables; NULL: none, none, 0
    int has_objective, maximise;   ///< 1: there is one; it is maximised
    int rows;
    const double *row_lo, *row_hi; ///< of rows that complement nothing; NULL: none
    const int *complements;        ///< of rows, as in perp_program_formulas
    const int *row_start,
        *column;    ///< the Jacobian by rows: rows + 1; columns (from 0) ascending in each row
    int curvatures; ///< entries of the Hessian's lower triangle, row by row, columns ascending
    const int *hessian_row, *hessian_column; ///< hessian_row >= hessian_column
    void *context; ///< handed to the functions; must stay with the program
    /// Rows, and the objective, which is NULL where there is none.
    int (*values)(void *context, const double *x, double *row, double *objective);
    /// Entries of the Jacobian, and the objective's gradient (variables), which is NULL where there is none.
    int (*slopes)(void *context, const double *x, double *jacobian, double *gradient);
    /// Entries of the Hessian of sigma objective + sum_i multiplier[i] row_i.
    int (*hessian)(void *context, const double *x, double sigma, const double *multiplier,
                   double *entries);
} perp_program_callbacks;

/// Arrays are copied; the context and the functions must stay. Each condition is judged as that of a linear row by the derivatives at
/// the point: on the scale sum_j |J_ij x_j| + |row_i - sum_j J_ij x_j|.
///
/// @param name  in messages
/// @return PERP_OK, PERP_ERR_ARG (diag says what: a count below 0, a place outside, columns that do not ascend, a function that is missing),
///         PERP_ERR_MEMORY
PERP_API perp_status perp_program_create_callbacks(const perp_program_callbacks *callbacks,
                                                   const char *name, perp_program **program,
                                                   perp_diag *diag);
PERP_API void perp_program_destroy(perp_program *program);

PERP_API perp_program_size perp_program_get_size(const perp_program *program);

/// Fill with perp_program_options_default, then change what you need.
typedef struct perp_program_options {
    size_t size;   ///< set by the default; says which fields the caller has
    double tol;    ///< every condition holds to this, on its own scale. (0, 1e-2], default 1e-6
    int max_iter;  ///< of a run of the search; default 1000
    int tries;     ///< starts from which the best point is kept; default 1
    int restarts;  ///< further starts while no point is stationary; default 3
    unsigned seed; ///< of the random starts, which are all but the first two; default 1
    int objective; ///< which objective of the file, from 1; 0: none, any point that keeps the conditions; default 1
    int global; ///< 1: where rows are linear and the objective is linear or convex quadratic, all choices of sides are searched for a
        ///< better point, with a proof (perp_program_get_proof); for up to about 20 pairs. default 0
} perp_program_options;

PERP_API void perp_program_options_fill(perp_program_options *options, size_t size);
static inline perp_program_options perp_program_options_default(void)
{
    perp_program_options options;
    perp_program_options_fill(&options, sizeof options);
    return options;
}

/// What was found.
typedef struct perp_program_result {
    size_t size;               ///< sizeof of this struct, set by the caller
    perp_plan_outcome outcome; ///< global, of a complementarity problem: solved
    double objective;          ///< of the file, at the point, computed anew
    const char *method;        ///< "clp", "lcp", "mcp", or "search": the interior point of plans
    int iterations, starts;
    double error;                  ///< of the worst condition, on its own scale
    double rows, pairs, bounds;    ///< and of the worst of each kind
    int worst_row, worst_variable; ///< which it is, from 0; -1
    double
        stationarity; ///< of a search: slope of the Lagrangian, each entry relative to the terms it is made of
    int both_zero, weak; ///< pairs with both sides 0; those that opened lower the objective
    int curvature;       ///< as in perp_plan_result
    int is_unbounded; ///< a ray was shown along which all conditions hold and the objective improves for ever
} perp_program_result;

/// Solve. Not finding a point is an outcome, not an error.
///
/// @param options  nullable: the defaults
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_MEMORY, PERP_ERR_DIM (more than 46000 unknowns, and no class but any),
///         PERP_ERR_UNAVAILABLE (a library is not there)
PERP_API perp_status perp_program_solve(perp_program *program, const perp_program_options *options,
                                        perp_program_result *result, perp_diag *diag);

/// The point found, and the change of the objective with the bound that a row is at; of variables and rows, in the order of
/// the file. Valid until the next solve; 0 before the first.
PERP_API const double *perp_program_point(const perp_program *program);
PERP_API const double *perp_program_duals(const perp_program *program);

/// What a search over all choices of sides came to: name, word, sentence.
#define PERP_PROGRAM_PROOF_LIST(X)                                                                 \
    X(PERP_PROGRAM_PROOF_NONE, "none", "not asked for")                                            \
    X(PERP_PROGRAM_PROOF_GLOBAL, "global",                                                         \
      "no point is better by more than tol of the terms of the objective, or there is none")       \
    X(PERP_PROGRAM_PROOF_LIMIT, "limit", "a gap is left between the best point and the bound")     \
    X(PERP_PROGRAM_PROOF_SHAPE, "shape",                                                           \
      "no proof is tried: rows are not linear, or the objective is not shown to be convex "        \
      "quadratic")

typedef enum perp_program_proof_word {
#define PERP_PROGRAM_PROOF_ENUM(name, word, text) name,
    PERP_PROGRAM_PROOF_LIST(PERP_PROGRAM_PROOF_ENUM)
#undef PERP_PROGRAM_PROOF_ENUM
        PERP_PROGRAM_PROOF_COUNT
} perp_program_proof_word;

typedef struct perp_program_proof {
    perp_program_proof_word word;
    double
        bound; ///< no point has a lower (maximised: higher) objective; an infinity where nothing is known
    double
        reach; ///< where no bounds of variables follow, points up to this times 1 or the size of the best point's are meant;
               ///< INFINITY: all points
    long sides; ///< programs that were solved, each for some choice of sides
} perp_program_proof;

/// Of the last solve with options.global; its word is none before.
PERP_API perp_program_proof perp_program_get_proof(const perp_program *program);
PERP_API const char *perp_program_proof_word_name(perp_program_proof_word word);
PERP_API const char *perp_program_proof_word_summary(perp_program_proof_word word);

/// The word of the outcome: that of plans, "solved" for a complementarity problem, "unbounded" where a ray was shown.
PERP_API const char *perp_program_word(const perp_program *program,
                                       const perp_program_result *result);

/// After `infeasible`: which rows, and which variables with their bounds or sides, contradict each other: 1 where one stands in the proof, beside
/// bounds that follow from rows. After `unbounded`: the ray. NULL after all else. Valid until the next solve.
PERP_API const unsigned char *perp_program_conflicting_rows(const perp_program *program);
PERP_API const unsigned char *perp_program_conflicting_bounds(const perp_program *program);
PERP_API const double *perp_program_ray(const perp_program *program);

/// The code of a .sol file: 0 stationary or better, 100 feasible, 200 infeasible, proved, 300 unbounded, 400 nothing was found.
PERP_API int perp_program_sol_code(const perp_program_result *result);

/// Write the answer as a .sol file, whole or not at all.
///
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_FILE, PERP_ERR_MEMORY
PERP_API perp_status perp_program_write_sol(const perp_program *program,
                                            const perp_program_result *result, const char *path,
                                            perp_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
