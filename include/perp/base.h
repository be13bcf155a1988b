/// perp/base.h - shared by all modules: status codes, outcomes of a solve, and diagnostics for
/// users.
///
/// Two questions get two enums. perp_status (returned by functions): could the call be carried out?
/// perp_outcome (in an info struct): what is the mathematical answer? A solver that ends on a ray
/// has answered. Its status is PERP_OK.

#ifndef PERP_BASE_H
#define PERP_BASE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PERP_API __attribute__((visibility("default")))
#else
#define PERP_API
#endif

/// The one list of status codes: name, sentence. The enum, perp_status_name and perp_status_message
/// come from it.
#define PERP_STATUS_LIST(X)                                                                        \
    X(PERP_OK, "success")                                                                          \
    X(PERP_ERR_ARG, "an argument is null or out of its range")                                     \
    X(PERP_ERR_DIM, "a dimension does not fit what the object was created for")                    \
    X(PERP_ERR_MEMORY, "out of memory")                                                            \
    X(PERP_ERR_FILE, "a file cannot be read or written")                                           \
    X(PERP_ERR_MODEL, "the model is wrong; see the diagnostics")                                   \
    X(PERP_ERR_DATA, "the data are wrong; see the diagnostics")                                    \
    X(PERP_ERR_UNAVAILABLE, "not available in this build or on this machine")                      \
    X(PERP_ERR_NO_SOLUTION, "what was asked for does not exist here; see the diagnostics")         \
    X(PERP_ERR_STOPPED, "stopped by the caller")

typedef enum perp_status {
#define PERP_STATUS_ENUM(name, text) name,
    PERP_STATUS_LIST(PERP_STATUS_ENUM)
#undef PERP_STATUS_ENUM
        PERP_STATUS_COUNT
} perp_status;

/// The one list of outcomes of a complementarity solve: enum name, word, sentence.
#define PERP_OUTCOME_LIST(X)                                                                       \
    X(PERP_SOLVED, "solved", "a solution whose recomputed residual is within the tolerance")       \
    X(PERP_RAY, "ray",                                                                             \
      "pivoting ended on a ray: this method finds no solution, none is proved absent")             \
    X(PERP_INFEASIBLE, "infeasible", "no solution exists; the certificate proves it")              \
    X(PERP_LIMIT, "limit", "an iteration limit or the accuracy of the arithmetic was reached")     \
    X(PERP_BAD_INPUT, "bad input",                                                                 \
      "the problem has entries that are not finite, or inconsistent sizes or bounds")

typedef enum perp_outcome {
#define PERP_OUTCOME_ENUM(name, word, text) name,
    PERP_OUTCOME_LIST(PERP_OUTCOME_ENUM)
#undef PERP_OUTCOME_ENUM
        PERP_OUTCOME_COUNT
} perp_outcome;

/// The name of a value, such as "PERP_ERR_ARG", and its sentence; "unknown" and "" outside the
/// enum.
///
/// The same holds for all functions that name or summarise values of an enum. A function that finds
/// a value by its word returns the enum's _COUNT for an unknown word, or NULL.
PERP_API const char *perp_status_name(perp_status status);
PERP_API const char *perp_status_message(perp_status status);
PERP_API const char *perp_outcome_name(perp_outcome outcome);
PERP_API const char *perp_outcome_message(perp_outcome outcome);

/// The status of a call that must find a solution: PERP_ERR_NO_SOLUTION if `status` is PERP_OK and
/// `outcome` is not PERP_SOLVED, else `status`. Call it in a statement after the one that fills the
/// result: C evaluates arguments in any order.
PERP_API perp_status perp_outcome_status(perp_status status, perp_outcome outcome);

/// The one of n words that is nearest to `word` by edit distance; NULL if none is near.
PERP_API const char *perp_nearest(const char *word, const char *const *words, int n);

/// The message for an unknown word: "unknown method 'lemk'; did you mean 'lemke'? There are: lemke
/// pgs".
///
/// @param what  the kind of the word: "method"
/// @param word  nullable: "unknown method; there are: lemke pgs"
/// @param see   NULL: list the words; else where they are listed: "See perp solvers"; "": neither
/// @param text  size bytes; a longer text is cut
/// @return text
PERP_API const char *perp_unknown_word(const char *what, const char *word, const char *const *words,
                                       int n, const char *see, char *text, size_t size);

/// Limit the memory that the library allocates, in all threads. Beyond it calls fail with
/// PERP_ERR_MEMORY. Memory of other libraries is not counted: IPOPT, MUMPS, Clp, HDF5, expat.
///
/// @param bytes  the limit; 0: none, the default
PERP_API void perp_memory_limit(size_t bytes);

/// The bytes that the library has allocated and not freed.
PERP_API size_t perp_memory_held(void);

/// Version of the library, "major.minor.patch".
PERP_API const char *perp_version(void);

/// Numbers as text, with a decimal point in every locale.
///
/// Read the number at the start of the text, rounded correctly, as strtod does in the C locale. It
/// may have blanks, a sign, digits with a point and an exponent, or hexadecimal digits after 0x. It
/// may also be inf or nan; a nan has no sign.
///
/// @param rest  nullable; the end of the number; `text` itself if there is none
/// @return the number; 0 if there is none; infinite if it is too large
PERP_API double perp_number_read(const char *text, const char **rest);

/// Write the shortest text that reads back as x, in the layout of printf's %.17g: 0.1, 1e-05, nan,
/// -inf.
///
/// @param text  PERP_NUMBER_SIZE bytes
/// @return the length
PERP_API int perp_number_write(double x, char *text);
enum { PERP_NUMBER_SIZE = 32 };

/// NULL: an argument may be NULL only if it is called nullable. A function that returns a status
/// answers PERP_ERR_ARG otherwise. A query that returns its answer must not get NULL
/// (perp_model_count, perp_lcp_residual). _destroy and _clear accept NULL.

/// Options: every options struct begins with its size in the compiled program. Its default function
/// sets the size: perp_X_options_default, from the exported perp_X_options_fill. A library with
/// more fields takes their defaults. A library with fewer fields refuses unknown ones with
/// PERP_ERR_ARG, and also a struct that no default filled. NULL stands for the defaults.

/// Results: every struct that a function fills begins with its size in the compiled program. The
/// program sets it: `perp_lcp_info info = {sizeof info};`. The library fills no more than that. A
/// missing size is PERP_ERR_ARG. "No solution" is an outcome in the result, and its status is
/// PERP_OK.

/// Diagnostics: sentences for the user, one or more lines each, in the order of their discovery.
///
/// Start from `perp_diag diag = {0};` and pass it (or NULL) to functions that read files or build
/// models. Print `text`, and release it with perp_diag_clear. Out of memory shortens the text and
/// sets `lost`. The count stays right.
typedef struct perp_diag {
    char *text;      ///< all messages, each ending in a newline; NULL while there is none
    size_t length;   ///< bytes in text, without the final zero
    size_t capacity; ///< bytes allocated
    int errors;      ///< errors reported, including those that are missing in the text
    int lost;        ///< pieces of text that are missing because memory was out
} perp_diag;

/// Release the text and reset to {0}. NULL is fine.
PERP_API void perp_diag_clear(perp_diag *diag);

/// The text, or "" when there is none. NULL is fine.
PERP_API const char *perp_diag_text(const perp_diag *diag);

/// One message of a perp_diag: views of its text, without a final zero.
typedef struct perp_message {
    const char *file; ///< NULL: no file
    const char *text; ///< "unknown name 'gama'; did you mean 'gamma'?"
    int nfile, ntext; ///< their lengths
    int line, column; ///< from 1, columns in characters; 0: the whole file, or the whole line
    int length;       ///< characters of the marked text; 0: no line was shown
} perp_message;

/// The message that begins at byte *at of the text. Begin with *at = 0; it moves to the next
/// message.
///
/// @return 1, or 0 after the last message
PERP_API int perp_diag_next(const perp_diag *diag, size_t *at, perp_message *message);

/// The library whose code this thread runs for perp ("IPOPT", "Clp"), or NULL.
///
/// Such a library may end the process when memory is out: by abort, exit or a bad address. A
/// handler of SIGABRT, SIGSEGV or exit can tell the cause with this function.
PERP_API const char *perp_library_running(void);

/// The i-th file (from 0) that perp loads when it first needs it: an external library, a plugin,
/// the part for FMUs. This call loads nothing.
///
/// @param name  the file's name
/// @param path  its absolute name; "" if it is not found
/// @return PERP_OK, PERP_ERR_ARG (there are only i), PERP_ERR_DIM (a name is cut)
PERP_API perp_status perp_library_file(int i, char *name, size_t name_room, char *path,
                                       size_t path_room);

/// 1 if two paths are the same file, or will be once it is written. Links and other spellings of a
/// path count.
PERP_API int perp_file_is_same(const char *a, const char *b);

/// Write a whole file, or leave the old one unchanged.
///
/// The text goes to another file beside it, which is renamed at the end. Links and the mode of the
/// file stay. Devices and pipes are written directly; "-" is standard output.
///
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_FILE (diag says why), PERP_ERR_MEMORY
PERP_API perp_status perp_file_write(const char *path, const char *text, size_t length,
                                     perp_diag *diag);

/// Remove the unfinished files of all threads. The files that they were to replace stay.
///
/// This is for a signal handler that then ends the process. It is async-signal-safe. Later writes
/// are lost.
PERP_API void perp_file_abandon(void);

#ifdef __cplusplus
}
#endif
#endif
