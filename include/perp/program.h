/// perp/program.h - programs with complementarity, as modelling languages write them: minimise or
/// maximise f(x) with
///
///     lo <= x <= hi,   rlo <= r(x) <= rhi,   and pairs such as   0 <= x_j - lo_j  perp  r_i(x) >= 0.
///
/// Use it for an .nl file of AMPL, Pyomo or JuMP, or for formulas. Linear programs, linear and
/// nonlinear complementarity problems have their own methods. All others go to the interior point
/// of perp/plan.h. Each condition is verified anew from the file's own expressions, on a scale of
/// its own. The outcomes are those of plans.

#ifndef PERP_PROGRAM_H
#define PERP_PROGRAM_H

#include "perp/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The classes of programs: name, word, sentence.
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

/// The size of a program before it is solved.
typedef struct perp_program_size {
    perp_program_class kind;
    int variables, rows; ///< rows: including those of pairs
    int objectives;      ///< of the file; one of them is used
    int pairs;
    long nonzeros; ///< linear terms of rows
} perp_program_size;

/// Read an .nl file, text or binary, of either byte order.
///
/// @param path  with or without the suffix .nl
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_FILE, PERP_ERR_DATA (diag names the segment and the
///         line, or the byte of a binary file), PERP_ERR_MEMORY
PERP_API perp_status perp_program_read(const char *path, perp_program **program, perp_diag *diag);

/// The same from memory.
///
/// @param name  of the file in messages
PERP_API perp_status perp_program_parse(const char *bytes, size_t n, const char *name,
                                        perp_program **program, perp_diag *diag);

/// A program by formulas in x1, x2, .., as in the model language: "x1^2 + exp(x2) - 3". perp
/// differentiates them.
typedef struct perp_program_formulas {
    int variables;
    const double *lo, *hi, *start; ///< of variables; NULL: none, none, 0
    const char *objective;         ///< NULL: none
    int maximise;                  ///< 1: it is maximised
    int rows;
    const char *const *row;
    const double *row_lo, *row_hi; ///< of rows without a complement; NULL: none
    /// Of each row the variable (from 0) whose finite bounds it complements; -1: none. NULL: none.
    /// The row is >= 0 where the variable is at its lower bound, <= 0 at its upper, else 0.
    const int * complements;
} perp_program_formulas;

/// Make a program. The arguments are not needed afterwards.
///
/// @param name  in messages
/// @return PERP_OK, PERP_ERR_ARG (a count below 0, a NULL formula, an unknown variable),
///         PERP_ERR_MODEL (diag names the formula), PERP_ERR_MEMORY
PERP_API perp_status perp_program_create(const perp_program_formulas *formulas, const char *name,
                                         perp_program **program, perp_diag *diag);

/// A program by functions of the caller, with sparse derivatives. Each function returns 0. Anything
/// else means that it is not defined at x, and a shorter step is tried. They must be smooth in
/// their domain.
typedef struct perp_program_callbacks {
    int variables;
    const double *lo, *hi, *start; ///< of variables; NULL: none, none, 0
    int has_objective, maximise;   ///< 1: there is one; it is maximised
    int rows;
    const double *row_lo, *row_hi; ///< of rows without a complement; NULL: none
    const int *complements;        ///< of rows, as in perp_program_formulas
    const int *row_start,
        *column;    ///< the Jacobian by rows: rows + 1; columns (from 0) ascending in each row
    int curvatures; ///< entries of the Hessian's lower triangle, row by row, columns ascending
    const int *hessian_row, *hessian_column; ///< hessian_row >= hessian_column
    void *context; ///< passed to the functions; must outlive the program
    /// Values of the rows, and of the objective; NULL without one.
    int (*values)(void *context, const double *x, double *row, double *objective);
    /// Entries of the Jacobian, and the objective's gradient (variables); NULL without an
    /// objective.
    int (*slopes)(void *context, const double *x, double *jacobian, double *gradient);
    /// Entries of the Hessian of sigma objective + sum_i multiplier[i] row_i.
    int (*hessian)(void *context, const double *x, double sigma, const double *multiplier,
                   double *entries);
} perp_program_callbacks;

/// Make a program. Arrays are copied. The context and the functions must outlive it. Each condition
/// is judged like a linear row with the derivatives at the point, on the scale sum_j |J_ij x_j| +
/// |row_i - sum_j J_ij x_j|.
///
/// @param name  in messages
/// @return PERP_OK, PERP_ERR_MEMORY, PERP_ERR_ARG (diag says why: a count below 0, an index out of
///         range, columns that do not ascend, a missing function)
PERP_API perp_status perp_program_create_callbacks(const perp_program_callbacks *callbacks,
                                                   const char *name, perp_program **program,
                                                   perp_diag *diag);
PERP_API void perp_program_destroy(perp_program *program);

PERP_API perp_program_size perp_program_get_size(const perp_program *program);

/// Fill with perp_program_options_default, then change what you need.
typedef struct perp_program_options {
    size_t size;   ///< set by the default; tells which fields the caller has
    double tol;    ///< every condition holds to this, on its own scale. (0, 1e-2], default 1e-6
    int max_iter;  ///< of a run of the search; default 1000
    int tries;     ///< initial guesses; the best point is kept; default 1
    int restarts;  ///< further initial guesses while no point is stationary; default 3
    unsigned seed; ///< of random initial guesses, which are all but the first two; default 1
    int objective; ///< which objective of the file, from 1; 0: none, any feasible point; default 1
    /// 1: search all choices of sides for a better point, with a proof (perp_program_get_proof). It
    /// needs linear rows and an objective that is linear or convex quadratic, and is for up to
    /// about 20 pairs. Default 0
    int global;
} perp_program_options;

PERP_API void perp_program_options_fill(perp_program_options *options, size_t size);
static inline perp_program_options perp_program_options_default(void)
{
    perp_program_options options;
    perp_program_options_fill(&options, sizeof options);
    return options;
}

/// The result of a solve.
typedef struct perp_program_result {
    size_t size;               ///< sizeof of this struct, set by the caller
    perp_plan_outcome outcome; ///< of a complementarity problem: global stands for solved
    double objective;          ///< of the file, at the point, recomputed
    const char *method;        ///< "clp", "lcp", "mcp", or "search": the interior point of plans
    int iterations, starts;
    double error;                  ///< of the worst condition, on its own scale
    double rows, pairs, bounds;    ///< of the worst condition of each kind
    int worst_row, worst_variable; ///< the worst ones, from 0; -1: none
    /// Of a search: gradient of the Lagrangian, each entry relative to the size of its terms
    double stationarity;
    int both_zero, weak; ///< pairs with both sides 0; those that lower the objective if opened
    int curvature;       ///< as in perp_plan_result
    /// A ray was found along which all conditions hold and the objective improves without limit
    int is_unbounded;
} perp_program_result;

/// Solve. "No point found" is an outcome, not an error.
///
/// @param options  nullable: the defaults
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_MEMORY, PERP_ERR_DIM (more than 46000 unknowns of class
///         any), PERP_ERR_UNAVAILABLE (a library is missing)
PERP_API perp_status perp_program_solve(perp_program *program, const perp_program_options *options,
                                        perp_program_result *result, perp_diag *diag);

/// The point of the last solve, and the derivatives of the objective by the bounds that rows are
/// at; of variables and rows, in the order of the file. Valid until the next solve; 0 before the
/// first.
PERP_API const double *perp_program_point(const perp_program *program);
PERP_API const double *perp_program_duals(const perp_program *program);

/// Results of a search over all choices of sides: name, word, sentence.
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
    double bound; ///< no point has a lower (maximised: higher) objective; infinite if unknown
    /// Without bounds of variables only points up to this times the size of the best point (at
    /// least 1) are covered; INFINITY: all points.
    double reach;
    long sides; ///< solved programs, each for one choice of sides
} perp_program_proof;

/// The proof of the last solve with options.global. Its word is none before.
PERP_API perp_program_proof perp_program_get_proof(const perp_program *program);
PERP_API const char *perp_program_proof_word_name(perp_program_proof_word word);
PERP_API const char *perp_program_proof_word_summary(perp_program_proof_word word);

/// The outcome in a word: that of plans, "solved" for a complementarity problem, "unbounded" if a
/// ray was found.
PERP_API const char *perp_program_word(const perp_program *program,
                                       const perp_program_result *result);

/// After `infeasible`: 1 for each row, and each variable with its bounds or sides, in the
/// contradiction. Bounds that follow from rows take part in it. After `unbounded`: the ray. NULL
/// otherwise. Valid until the next solve.
PERP_API const unsigned char *perp_program_conflicting_rows(const perp_program *program);
PERP_API const unsigned char *perp_program_conflicting_bounds(const perp_program *program);
PERP_API const double *perp_program_ray(const perp_program *program);

/// The code of a .sol file: 0 stationary or better, 100 feasible, 200 infeasible (proved), 300
/// unbounded, 400 no point found.
PERP_API int perp_program_sol_code(const perp_program_result *result);

/// Write the answer as a .sol file, complete or absent.
///
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_FILE, PERP_ERR_MEMORY
PERP_API perp_status perp_program_write_sol(const perp_program *program,
                                            const perp_program_result *result, const char *path,
                                            perp_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
