/// perp/model.h - a system of equations and complementarity pairs, read from the model language:
///
///     F(y) = 0,    0 <= a_i(y)  perp  b_i(y) >= 0,    lo_j(y) <= y_j <= hi_j(y)  perp  e_j(y)
///
/// with der(x) or next(x) of the states x, algebraic variables, inputs and parameters.
///
/// docs/language.md is the reference of the language. Load a model, set parameters, initial values
/// and inputs, then hand it to an engine (perp/simulate.h). Engines do not change a model.

#ifndef PERP_MODEL_H
#define PERP_MODEL_H

#include "perp/mcp.h"
#include "perp/robots.h"
#include "perp/trajectory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_model perp_model;

/// The kind of a name.
typedef enum perp_symbol_kind {
    PERP_PARAM,
    PERP_INPUT,
    PERP_STATE,
    PERP_VAR,
    PERP_OUTPUT,
    PERP_SYMBOL_KINDS
} perp_symbol_kind;

/// How time runs in a model: der() makes it continuous, next() discrete.
typedef enum perp_model_kind { PERP_CONTINUOUS, PERP_DISCRETE } perp_model_kind;

/// A declared name, in the order of declaration within its kind. Strings are owned by the model.
typedef struct perp_symbol {
    const char *name;
    const char *unit; ///< "" if none
    double value;     ///< parameter: its value; state: its initial value; others: NaN
    double lo, hi;    ///< range given by `in [lo, hi]`; -inf, inf if none
    int line, column; ///< of the declaration,
    const char *file; ///< in this file: the model's, or that of a library or part that it uses
} perp_symbol;

/// A complementarity pair, or an equation, for reports.
typedef struct perp_statement {
    const char *text; ///< as written, on one line
    int line, column;
    const char *file; ///< of the model, or of a library or part that it uses
} perp_statement;

/// The `simulate` block of a model; NaN or NULL for values that it does not give.
typedef struct perp_simulate_task {
    double from, to, step; ///< [s]
    const char *method;    ///< "backward-euler"
} perp_simulate_task;

/// Read a model file.
///
/// Every error of the file is reported: file:line:column, the line, a caret, what was expected and
/// the nearest known name.
///
/// @param path   file name, "-" for standard input; tables named in the model lie beside it
/// @param model  NULL on error
/// @param diag   nullable
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_FILE, PERP_ERR_MODEL, PERP_ERR_DATA (a table named in
///         the model), PERP_ERR_MEMORY
PERP_API perp_status perp_model_load(const char *path, perp_model **model, perp_diag *diag);

/// The same for text in memory; `name` is the file name in messages.
PERP_API perp_status perp_model_parse(const char *text, size_t length, const char *name,
                                      perp_model **model, perp_diag *diag);
PERP_API void perp_model_destroy(perp_model *model);

/// A value for a name, as for perp_model_set.
typedef struct perp_setting {
    const char *name;
    double value;
} perp_setting;

/// A text in place of a file, as an editor will save it.
typedef struct perp_model_text {
    const char *path, *text;
    size_t length;
} perp_model_text;

/// How to read a model; all zero: as perp_model_load reads it.
typedef struct perp_model_options {
    /// Values that hold from the start; later ones take precedence. They may be parameters that a
    /// size, an index or an `if` depends on, which perp_model_set cannot change any more.
    const perp_setting *set;
    int nset;
    const char *const *
        folder; ///< where `use` looks after the folder of the file that uses, before perp's library
    int nfolder;
    const perp_model_text *text; ///< texts that `use` takes instead of files
    int ntext;
} perp_model_options;

/// perp_model_load and perp_model_parse with options.
///
/// @param options  nullable
/// @return as those, and PERP_ERR_ARG, PERP_ERR_MODEL where a setting names nothing that can be set
PERP_API perp_status perp_model_load_with(const char *path, const perp_model_options *options,
                                          perp_model **model, perp_diag *diag);
PERP_API perp_status perp_model_parse_with(const char *text, size_t length, const char *name,
                                           const perp_model_options *options, perp_model **model,
                                           perp_diag *diag);

/// Write the model as a text without parts, loops and sums, with its present values.
///
/// Names become train_2_x for train[2].x. Expressions that several conditions share become a let.
/// The text has the conditions, declarations, outputs and the simulate block, and gives the same
/// numbers. It has no plan, identify and draw blocks. A table keeps its name and must lie beside
/// the new file.
///
/// @param path  "-" is standard output
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_FILE, PERP_ERR_MEMORY
PERP_API perp_status perp_model_write_flat(const perp_model *model, const char *path,
                                           perp_diag *diag);

/// Write the part whose instance `robot NAME = "FILE"(key = "KEY", contacts = "TOUCH")` makes
/// (docs/language.md).
///
/// The part holds the bodies, joints, laws and contacts of a robot file (perp/robots.h), with the
/// file's numbers as parameters. You may read it, change it, and use it like any file of parts.
///
/// @param file   MJCF or URDF
/// @param key    nullable; the keyframe of the initial state
/// @param touch  nullable (all); which contacts: "all", "ground", "none"
/// @param path   "-" is standard output
/// @return PERP_OK, PERP_ERR_ARG, as perp_robot_read, PERP_ERR_FILE, PERP_ERR_MEMORY;
///         PERP_ERR_MODEL also for an element without equations (diag names it with its position)
PERP_API perp_status perp_model_write_robot(const char *file, const char *key, const char *touch,
                                            const char *path, perp_diag *diag);

/// The kth ignored element of the model's robot files, as views of the model. @return 1; 0 after
/// the last one
PERP_API int perp_model_ignored(const perp_model *model, int k, perp_robot_ignored *ignored);

PERP_API const char *perp_model_name(const perp_model *model);
PERP_API const char *perp_model_file(const perp_model *model);
/// The text of the model's own file, as it was read. It does not end with a zero.
PERP_API const char *perp_model_source(const perp_model *model, size_t *length);
PERP_API perp_model_kind perp_model_get_kind(const perp_model *model);
PERP_API perp_simulate_task perp_model_simulate_task(const perp_model *model);

PERP_API int perp_model_count(const perp_model *model, perp_symbol_kind kind);
PERP_API perp_symbol perp_model_symbol(const perp_model *model, perp_symbol_kind kind, int i);

/// Find a name. @return 1 with the kind and index (each nullable), or 0
PERP_API int perp_model_find(const perp_model *model, const char *name, perp_symbol_kind *kind,
                             int *index);

PERP_API int perp_model_equations(const perp_model *model);
PERP_API perp_statement perp_model_equation(const perp_model *model, int i);
PERP_API int perp_model_pairs(const perp_model *model);
PERP_API perp_statement perp_model_pair(const perp_model *model, int i);
/// The text of the two sides of pair i: "lp", "gamma + v". Of a two-sided pair they are the bounded
/// quantity and the other.
PERP_API const char *perp_model_pair_side(const perp_model *model, int i, int side);
/// 1 if pair i is two-sided, lo <= y <= hi perp e.
PERP_API int perp_model_pair_is_two_sided(const perp_model *model, int i);

/// Give a parameter a value, a state an initial value, or an input a constant value.
///
/// Values of other parameters, initial values, ranges and scales that are written in terms of it
/// follow.
///
/// @param name  with * for any characters: all parameters and initial values that match
/// @return PERP_OK; PERP_ERR_MODEL (nothing matches); PERP_ERR_MEMORY; PERP_ERR_ARG (nothing was
///         set): an unknown name (diag names the nearest); a var or output; a parameter that a size
///         depends on, with another value; a number that is not finite; an empty range; a scale
///         that is not positive
PERP_API perp_status perp_model_set(perp_model *model, const char *name, double value,
                                    perp_diag *diag);

/// Take an input from a table by linear interpolation over its column "t".
///
/// @param column  the values' column; NULL: the input's own name
/// @param name    of the table in messages (its file name)
/// @return PERP_OK, PERP_ERR_ARG (not an input), PERP_ERR_DATA (no such column, no "t", times not
///         increasing, values not finite, fewer than two rows, another unit than the model's),
///         PERP_ERR_MEMORY
PERP_API perp_status perp_model_set_input_table(perp_model *model, const char *input,
                                                const perp_trajectory *table, const char *column,
                                                const char *name, perp_diag *diag);

/// 1 if the model has a block of this word: "plan", "identify", "draw". With the first two it may
/// leave inputs without a value: a plan chooses them, and recorded runs give them.
PERP_API int perp_model_has_block(const perp_model *model, const char *block);

/// Give every input without a value the middle of its range, or 0 without a range. Use it to look
/// at a model.
///
/// @return the number of such inputs; -1 when memory is out
PERP_API int perp_model_settle_inputs(perp_model *model);

/// The name of an input's table (its file name); NULL if it has none or there is no such input.
PERP_API const char *perp_model_input_table(const perp_model *model, int input);

/// Check that a text is one expression of the model language on one line. Do this before you put
/// text from elsewhere into a model: an expression declares nothing and reads no file.
///
/// @param conditions  1: at least two expressions joined by <=, >= or =
/// @param name        for messages
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_MODEL (diag says where it stops being one),
///         PERP_ERR_MEMORY
PERP_API perp_status perp_formula_check(const char *text, int conditions, const char *name,
                                        perp_diag *diag);

/// n functions of n variables x1 .. xn, each an expression of the model language. They are the F of
/// perp/mcp.h, with its exact derivative.
typedef struct perp_formulas perp_formulas;

/// Read the functions.
///
/// @param n         >= 1
/// @param formulas  n expressions, one line each
/// @param name      for messages, which count the functions as lines from 3 on
/// @param out       NULL on error
/// @param diag      nullable
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_MODEL, PERP_ERR_MEMORY
PERP_API perp_status perp_formulas_create(int n, const char *const *formulas, const char *name,
                                          perp_formulas **out, perp_diag *diag);
PERP_API void perp_formulas_destroy(perp_formulas *formulas);

/// The problem 0 <= x perp F(x) >= 0, with J in compressed columns. It is valid while the formulas
/// live; set lo and hi as you like. It evaluates in memory of the formulas: one thread at a time.
PERP_API perp_mcp perp_formulas_mcp(perp_formulas *formulas);

#ifdef __cplusplus
}
#endif
#endif
