/// perp/outline.h - the names of a model's text, their positions and meanings, for editors (perp
/// lsp).
///
/// A text with errors has an outline, too, of the part that could be read. Parts are read once for
/// each instance, so `b.x` in a part means the names of the part that was given for b. Parts and
/// functions that nothing uses are read by themselves; their arguments are unknown there.

#ifndef PERP_OUTLINE_H
#define PERP_OUTLINE_H

#include "perp/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_outline perp_outline;

/// Bytes [at, end) of a file.
typedef struct perp_outline_place {
    int file; ///< -1: nowhere
    int at, end;
} perp_outline_place;

/// A file of the text: the first is the text itself, the others are the files that it uses.
typedef struct perp_outline_file {
    const char *name; ///< as in messages
    const char *text; ///< `length` bytes
    size_t length;
    int is_library; ///< a part of libperp, not a file
} perp_outline_file;

/// A declaration; in a part one for each instance, all at the same position. The outline owns its
/// strings.
typedef struct perp_outline_name {
    /// In full, "train[2].x"; of a part without instances it begins with '?', its part and a point
    const char * name;
    /// "parameter", "input", "state", "var", "output", "let", "sum", "instance", "instances" (an
    /// array of them), "function", "part", "index", "argument"
    const char * kind;
    const char *unit; ///< "" if none
    /// Of an instance its part. Of a let or an argument that stands for an instance, the full name
    /// of the instance. Else NULL.
    const char * of;
    /// The value of a parameter, or the initial value of a state, with one element, if the text is
    /// a model; else NaN.
    double value;
    perp_outline_place at; ///< the name, at its declaration
    /// The part, function or loop in which it is known without a prefix; else the whole file
    perp_outline_place scope;
} perp_outline_name;

/// A name in the text, including its declaration.
typedef struct perp_outline_mention {
    perp_outline_place at;
    /// Its declaration; a mention of several declarations is listed once for each
    perp_outline_place meant;
} perp_outline_mention;

/// Read a text as perp_model_parse_with does, and keep its outline. A file of parts, functions and
/// lets alone is no error.
///
/// @param name     the file's name; used files and tables lie beside it
/// @param options  nullable
/// @param diag     nullable; the errors of the text
/// @return PERP_OK, also for a text with errors; PERP_ERR_ARG, PERP_ERR_MODEL (too large),
///         PERP_ERR_MEMORY
PERP_API perp_status perp_outline_create(const char *text, size_t length, const char *name,
                                         const perp_model_options *options, perp_outline **outline,
                                         perp_diag *diag);
PERP_API void perp_outline_destroy(perp_outline *outline);

PERP_API int perp_outline_files(const perp_outline *outline);
PERP_API perp_outline_file perp_outline_get_file(const perp_outline *outline, int i);

PERP_API int perp_outline_names(const perp_outline *outline);
PERP_API perp_outline_name perp_outline_get_name(const perp_outline *outline, int i);

/// In the order of the text.
PERP_API int perp_outline_mentions(const perp_outline *outline);
PERP_API perp_outline_mention perp_outline_get_mention(const perp_outline *outline, int i);

/// The words of the language, functions included, and the names of perp's own library for `use`. A
/// word with several kinds is listed for each.
PERP_API const char *const *perp_language_words(int *n);
PERP_API const char *perp_library_name(int i); ///< NULL after the last

/// The path at which a file of perp's own library can be opened. It is a read-only copy in the
/// user's cache folder ($XDG_CACHE_HOME/perp, ~/.cache/perp; mode 0700). The function makes it if
/// it is missing or differs.
///
/// @return the path, which the caller frees by free(); NULL: the file is not of the library, no
///         folder belongs to the user alone, or no memory
PERP_API char *perp_library_copy(const perp_outline_file *file);

#ifdef __cplusplus
}
#endif
#endif
