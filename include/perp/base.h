/// perp/base.h - what every module shares: status codes, outcomes of a solve, and diagnostics a
/// user can act on.
///
/// Two questions get two enums. perp_status (returned by functions): could the call be carried out?
/// perp_outcome (in an info struct): what did the mathematics say? A solver that ends on a ray has
/// answered; that is PERP_OK.

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

/// Names such as "PERP_ERR_ARG" and sentences; "unknown" and "" for values outside the enum. This holds for all
/// functions of the library that name or summarise the values of an enum; those that find one by its word give the
/// enum's _COUNT for an unknown word, or NULL.
PERP_API const char *perp_status_name(perp_status status);
PERP_API const char *perp_status_message(perp_status status);
PERP_API const char *perp_outcome_name(perp_outcome outcome);
PERP_API const char *perp_outcome_message(perp_outcome outcome);

/// The one of n words that is nearest to `word` by edit distance, NULL where none is near.
PERP_API const char *perp_nearest(const char *word, const char *const *words, int n);

/// Say that a word is unknown: "unknown method 'lemk'; did you mean 'lemke'? There are: lemke pgs".
///
/// @param what  what the word should be: "method"
/// @param word  nullable: "unknown method; there are: lemke pgs"
/// @param see   where the words are listed, for "See perp solvers" instead of them; "" for neither, NULL for the words
/// @param text  size bytes, cut where it is longer
/// @return text
PERP_API const char *perp_unknown_word(const char *what, const char *word, const char *const *words,
                                       int n, const char *see, char *text, size_t size);

/// Version of the library, "major.minor.patch".
PERP_API const char *perp_version(void);

/// Numbers as text, with a decimal point in every locale.
///
/// Read the number at the start of the text as strtod does in the C locale, rounded correctly: blanks, a sign,
/// digits with a point and an exponent, hexadecimal digits behind 0x, inf or nan.
///
/// @param rest  nullable; where the number ends, `text` itself where there is none
/// @return the number, 0 where there is none; too large is infinite
PERP_API double perp_number_read(const char *text, const char **rest);

/// Write the shortest text that reads back as x, laid out as printf's %.17g does: 0.1, 1e-05, nan, -inf.
///
/// @param text  PERP_NUMBER_SIZE bytes
/// @return the length
PERP_API int perp_number_write(double x, char *text);
enum { PERP_NUMBER_SIZE = 32 };

/// NULL: what is not called nullable is needed. A function that returns a status answers PERP_ERR_ARG where it is NULL; one
/// that returns an answer (a query: perp_model_count, perp_lcp_residual) must not be given it. _destroy and _clear take it.

/// Options: every struct of them begins with its size in the program that was compiled, which its default function sets
/// (perp_X_options_default, from perp_X_options_fill, the one that the library exports). A library with more fields takes
/// their defaults; one with fewer refuses what it does not know: PERP_ERR_ARG, as for options that no default filled. NULL
/// for options is the defaults everywhere.

/// Results: every struct that a function fills begins with its size in the program that was compiled, which
/// the program sets: `perp_lcp_info info = {sizeof info};`. The library fills no more than that; a size that
/// is missing is PERP_ERR_ARG. "No solution" is an outcome in the result, and the status is PERP_OK.

/// Diagnostics: sentences for the user, one or more lines each, in the order they were found. Start
/// from `perp_diag diag = {0};`, pass it (or NULL) to functions that read files or build models,
/// print `text`, and release it with perp_diag_clear. Out of memory shortens the text, and `lost` says so; it never
/// shortens the count.
typedef struct perp_diag {
    char *text;      ///< all messages, each ending in a newline; NULL while there is none
    size_t length;   ///< bytes in text, without the final zero
    size_t capacity; ///< bytes allocated
    int errors;      ///< number of errors reported, also those that are no longer in the text
    int lost;        ///< pieces of text that memory had no room for
} perp_diag;

/// Release the text and reset to {0}. NULL is fine.
PERP_API void perp_diag_clear(perp_diag *diag);

/// The text, or "" when there is none. NULL is fine.
PERP_API const char *perp_diag_text(const perp_diag *diag);

/// One message of a perp_diag: views of its text, which do not end with a zero.
typedef struct perp_message {
    const char *file; ///< NULL: it is about no file
    const char *text; ///< "unknown name 'gama'; did you mean 'gamma'?"
    int nfile, ntext; ///< their lengths
    int line, column; ///< from 1, columns in characters; 0: the whole file, or line
    int length;       ///< characters that are meant; 0 where no line was shown
} perp_message;

/// The message that begins at byte *at of the text; *at moves behind it. Begin with 0.
///
/// @return 1, or 0 when there is no more
PERP_API int perp_diag_next(const perp_diag *diag, size_t *at, perp_message *message);

/// The library whose code this thread runs for perp ("IPOPT", "Clp"), or NULL. Where memory is out these may end the
/// process, by abort, by exit or by a bad address: a handler of SIGABRT, SIGSEGV or exit can tell by this whose end it is.
PERP_API const char *perp_library_running(void);

/// The i-th file (from 0) that perp loads when it is first needed: a library of others, a plugin, the part for FMUs. Nothing is loaded.
///
/// @param name  the file's name
/// @param path  its absolute name, from which it would be loaded; "" where it is not found
/// @return PERP_OK, PERP_ERR_ARG (there are only i), PERP_ERR_DIM (a name is cut)
PERP_API perp_status perp_library_file(int i, char *name, size_t name_room, char *path,
                                       size_t path_room);

/// 1 if two paths are the same file, or would be once it is written: links and other spellings of a path.
PERP_API int perp_file_is_same(const char *a, const char *b);

/// Write a whole file, or leave what was there: the text goes to another file beside it, which takes its name at the
/// end. Links stay, and the mode of the file; devices and pipes are written to, "-" is standard output.
///
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_FILE (diag says why), PERP_ERR_MEMORY
PERP_API perp_status perp_file_write(const char *path, const char *text, size_t length,
                                     perp_diag *diag);

/// Remove the files that are being written under another name, of all threads; what they were to replace stays. For a
/// signal handler that then ends the process: async-signal-safe, and what is still written after it is lost.
PERP_API void perp_file_abandon(void);

#ifdef __cplusplus
}
#endif
#endif
