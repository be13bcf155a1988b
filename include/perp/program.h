/// perp/program.h - programs with complementarity, as modelling languages write them: minimise or maximise f(x) with
///
///     lo <= x <= hi,   rlo <= r(x) <= rhi,   and pairs such as   0 <= x_j - lo_j  perp  r_i(x) >= 0.
///
/// Come back here with an .nl file of AMPL, Pyomo or JuMP. Linear programs, linear and nonlinear complementarity problems go to the
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
PERP_API void perp_program_destroy(perp_program *program);

PERP_API perp_program_size perp_program_get_size(const perp_program *program);

#ifdef __cplusplus
}
#endif
#endif
