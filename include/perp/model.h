/// perp/model.h - a system stated as equations and complementarity pairs, read from the model
/// language:
///
///     F(y) = 0,    0 <= a_i(y)  perp  b_i(y) >= 0,    lo_j(y) <= y_j <= hi_j(y)  perp  e_j(y)
///
/// with der(x) or next(x) of the states x, algebraic variables, inputs and parameters.
/// docs/language.md is the reference of the language. Load a model, set parameters, initial values
/// and inputs, then hand it to an engine (perp/simulate.h). A model is not changed by the engines.

#ifndef PERP_MODEL_H
#define PERP_MODEL_H

#include "perp/mcp.h"
#include "perp/robots.h"
#include "perp/trajectory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_model perp_model;

/// What a name stands for.
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
    int line, column; ///< where it was declared,
    const char *file; ///< in this text: of the model, or of a library or part that it uses
} perp_symbol;

/// A complementarity pair, or an equation, for reports.
typedef struct perp_statement {
    const char *text; ///< as written, on one line
    int line, column;
    const char *file; ///< of the model, or of a library or part that it uses
} perp_statement;

/// The `simulate` block of a model; NaN or NULL where it is silent.
typedef struct perp_simulate_task {
    double from, to, step; ///< [s]
    const char *method;    ///< "backward-euler"
} perp_simulate_task;

/// Read a model file. Every error of the file is reported: file:line:column, the line, a caret,
/// what was expected and the nearest known name.
///
/// @param path   file name, "-" for standard input; tables named in the model are looked for beside it
/// @param model  NULL on error
/// @param diag   nullable
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_FILE, PERP_ERR_MODEL, PERP_ERR_DATA (a table named in
/// the model), PERP_ERR_MEMORY
PERP_API perp_status perp_model_load(const char *path, perp_model **model, perp_diag *diag);

/// The same from text in memory; `name` stands for the file name in messages.
PERP_API perp_status perp_model_parse(const char *text, size_t length, const char *name,
                                      perp_model **model, perp_diag *diag);
PERP_API void perp_model_destroy(perp_model *model);

/// A value for a name, as for perp_model_set.
typedef struct perp_setting {
    const char *name;
    double value;
} perp_setting;

/// A text that stands for a file, as it will be when an editor has saved it.
typedef struct perp_model_text {
    const char *path, *text;
    size_t length;
} perp_model_text;

/// How a model is read; all zero: as perp_model_load reads it.
typedef struct perp_model_options {
    /// Values that hold from the start, the later before the earlier: also of parameters that a size, an index or an `if` depends
    /// on, which perp_model_set cannot change any more.
    const perp_setting *set;
    int nset;
    const char *const *
        folder; ///< where `use` looks behind the folder of the file that uses, before perp's library
    int nfolder;
    const perp_model_text *text; ///< what `use` takes instead of these files
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

/// Write the model as a text without parts, loops and sums, as it is set now: names are train_2_x for train[2].x, what several conditions
/// share is a let. It has the conditions, declarations, outputs and the simulate block, and gives the same numbers; no plan, identify
/// and draw blocks. A table keeps its name, and is looked for beside the new file.
///
/// @param path  "-" is standard output
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_FILE, PERP_ERR_MEMORY
PERP_API perp_status perp_model_write_flat(const perp_model *model, const char *path,
                                           perp_diag *diag);

/// Write what `robot NAME = "FILE"(key = "KEY", touch = "TOUCH")` makes an instance of (docs/language.md): the bodies, joints, laws and contacts of a
/// robot file (perp/robots.h) as one part, with the file's numbers as parameters. To be read, changed, and used as any file of parts.
///
/// @param file   MJCF or URDF
/// @param key    a keyframe, where it starts; nullable: where the file does
/// @param touch  "all", "ground", "none": which contacts; nullable: all
/// @param path   "-" is standard output
/// @return PERP_OK, PERP_ERR_ARG, as perp_robot_read, PERP_ERR_MODEL also where there are no equations of it (diag: what, with its place),
///         PERP_ERR_FILE, PERP_ERR_MEMORY
PERP_API perp_status perp_model_write_robot(const char *file, const char *key, const char *touch,
                                            const char *path, perp_diag *diag);

/// What robot files of the model hold that has no part in it: the kth, views of the model's. @return 1; 0: there are no more
PERP_API int perp_model_ignored(const perp_model *model, int k, perp_robot_ignored *ignored);

PERP_API const char *perp_model_name(const perp_model *model);
PERP_API const char *perp_model_file(const perp_model *model);
/// The text of the model's own file, as it was read; no zero stands behind it.
PERP_API const char *perp_model_source(const perp_model *model, size_t *length);
PERP_API perp_model_kind perp_model_get_kind(const perp_model *model);
PERP_API perp_simulate_task perp_model_simulate_task(const perp_model *model);

PERP_API int perp_model_count(const perp_model *model, perp_symbol_kind kind);
PERP_API perp_symbol perp_model_symbol(const perp_model *model, perp_symbol_kind kind, int i);

/// Find a name. @return 1 and the kind and index (each nullable), or 0
PERP_API int perp_model_find(const perp_model *model, const char *name, perp_symbol_kind *kind,
                             int *index);

PERP_API int perp_model_equations(const perp_model *model);
PERP_API perp_statement perp_model_equation(const perp_model *model, int i);
PERP_API int perp_model_pairs(const perp_model *model);
PERP_API perp_statement perp_model_pair(const perp_model *model, int i);
/// The text of the two sides of pair i: "lp", "gamma + v"; a two-sided pair gives the bounded
/// quantity and the other.
PERP_API const char *perp_model_pair_side(const perp_model *model, int i, int side);
/// 1 if pair i is two-sided, lo <= y <= hi perp e.
PERP_API int perp_model_pair_is_two_sided(const perp_model *model, int i);

/// Give a parameter a value, a state an initial value, or an input a constant value. Values of
/// other parameters, initial values, ranges and scales that are written in terms of it follow.
///
/// @param name  in which * stands for any characters: all parameters and initial values that match
/// @return PERP_OK, PERP_ERR_ARG (unknown name: diag names the nearest; a var or output; a parameter that a size depends on, where
/// it has another value; not finite; a range becomes empty or a scale not positive: nothing was set), PERP_ERR_MODEL (nothing matches), PERP_ERR_MEMORY
PERP_API perp_status perp_model_set(perp_model *model, const char *name, double value,
                                    perp_diag *diag);

/// Take an input from a table by linear interpolation over its column "t".
///
/// @param column  the values' column; NULL: the input's own name
/// @param name    of the table in messages (its file name)
/// @return PERP_OK, PERP_ERR_ARG (not an input), PERP_ERR_DATA (no such column, no "t", times not increasing,
///         values not finite, fewer than two rows, another unit than the model's), PERP_ERR_MEMORY
PERP_API perp_status perp_model_set_input_table(perp_model *model, const char *input,
                                                const perp_trajectory *table, const char *column,
                                                const char *name, perp_diag *diag);

/// Has the model a block of this word: "plan", "identify", "draw"? With the first two it may leave inputs without a value: a plan
/// chooses them, recorded runs have them.
PERP_API int perp_model_has_block(const perp_model *model, const char *block);

/// Give every input without a value the middle of its range, 0 where it has none: enough to look at the model.
///
/// @return how many; -1 when memory is out
PERP_API int perp_model_settle_inputs(perp_model *model);

/// The name of the table that an input comes from (its file name), NULL if it has none or there is
/// no such input.
PERP_API const char *perp_model_input_table(const perp_model *model, int input);

/// Is the text one expression of the model language, on one line, and nothing else? Before text from elsewhere is put into a model:
/// an expression declares nothing and reads no file.
///
/// @param conditions  1: expressions joined by <=, >= or =, at least two
/// @param name        for messages
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_MODEL (diag says where it stops being one), PERP_ERR_MEMORY
PERP_API perp_status perp_formula_check(const char *text, int conditions, const char *name,
                                        perp_diag *diag);

/// n functions of n variables x1 .. xn, each an expression of the model language: the F of perp/mcp.h, with its
/// exact derivative.
typedef struct perp_formulas perp_formulas;

/// Read them.
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

/// The problem 0 <= x perp F(x) >= 0, with J in compressed columns. Valid while the formulas live; set lo and hi
/// as you like. Evaluates in memory of the formulas: one thread at a time.
PERP_API perp_mcp perp_formulas_mcp(perp_formulas *formulas);

#ifdef __cplusplus
}
#endif
#endif
