/// perp/outline.h - where the names of a model's text stand and what each means, for editors (perp lsp).
///
/// A text with errors has an outline, too: of what is understood. The parts that a model makes are read as they are made, so that
/// `b.x` in a part means the names of those that the part is given; parts and functions that nothing uses are read by themselves,
/// and what depends on their arguments is not known there.

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

/// A file of the text: the first is the text itself, the others are what it uses.
typedef struct perp_outline_file {
    const char *name; ///< as in messages
    const char *text; ///< `length` bytes
    size_t length;
    int is_library; ///< it is a part of libperp and no file
} perp_outline_file;

/// A declaration; in a part one for each instance of it, all at the same place. Strings are owned by the outline.
typedef struct perp_outline_name {
    const char *
        name; ///< in full, "train[2].x"; one of a part that is never made begins with '?', its part and a point
    const char *
        kind; ///< "parameter", "input", "state", "var", "output", "let", "sum", "instance", "instances" (an array of them),
              ///< "function", "part", "index", "argument"
    const char *unit; ///< "" if none
    const char *
        of; ///< of an instance its part; of a let or an argument that stands for an instance, its name in full; else NULL
    double
        value; ///< of a parameter, or the initial value of a state, with one element, where the text is a model; else NaN
    perp_outline_place at; ///< the name, where it is declared
    perp_outline_place
        scope; ///< the part, function or loop in which it is known by itself; else the whole file
} perp_outline_name;

/// A name in the text, where it is declared too.
typedef struct perp_outline_mention {
    perp_outline_place at;
    perp_outline_place
        meant; ///< where it is declared; one mention may mean several declarations and is there for each
} perp_outline_mention;

/// Read a text as perp_model_parse_with does, and keep its outline. A file of parts, functions and lets alone is no error.
///
/// @param name     the file's name, beside which used files and tables are looked for
/// @param options  nullable
/// @param diag     nullable; the errors of the text
/// @return PERP_OK, also where the text has errors; PERP_ERR_ARG, PERP_ERR_MODEL (too large), PERP_ERR_MEMORY
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

/// The words of the language, the functions among them (a word that is several things is there for each), and the names of perp's own library for `use`.
PERP_API const char *const *perp_language_words(int *n);
PERP_API const char *perp_library_name(int i); ///< NULL behind the last

/// Where a file of perp's own library can be opened: a read-only copy in the user's cache folder ($XDG_CACHE_HOME/perp, ~/.cache/perp; mode 0700),
/// made where it is not there or is another text.
///
/// @return the path, which the caller frees; NULL: the file is none of the library, there is no folder that is the user's alone, or no memory
PERP_API char *perp_library_copy(const perp_outline_file *file);

#ifdef __cplusplus
}
#endif
#endif
