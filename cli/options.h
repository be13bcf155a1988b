/* The options of a command: one row of a table each, with the destination of its value. The table
 * gives parsing, --help, suggestions, and messages for a value that is missing, not a number, out
 * of range, or unknown. */

#ifndef PERP_CLI_OPTIONS_H
#define PERP_CLI_OPTIONS_H

#include "perp/perp.h"

#include <stddef.h>

/* How a value is read follows from the type of its destination. */
typedef enum cli_type { CLI_TEXT, CLI_LIST, CLI_NUMBER, CLI_WHOLE } cli_type;

/* Values of an option that may be repeated; the caller frees item. */
typedef struct cli_list {
    const char **item;
    int n;
} cli_list;

/* The destination: a field of the command's struct. const char *: the text; cli_list: one more
 * text; double: a finite number; an integer: a whole number, or the index of one of `words`. */
#define CLI_INTO(request, field)                                                                   \
    .at = offsetof(request, field), .size = sizeof((request *)0)->field,                           \
    .type = _Generic(((request *)0)->field,                                                        \
        const char *: CLI_TEXT,                                                                    \
        cli_list: CLI_LIST,                                                                        \
        double: CLI_NUMBER,                                                                        \
        int: CLI_WHOLE,                                                                            \
        unsigned: CLI_WHOLE,                                                                       \
        long: CLI_WHOLE,                                                                           \
        unsigned long long: CLI_WHOLE)

/* "to" is --to; one letter is -o; "" is the operand, and "no-plot" sets its destination to 0, where
 * other flags set it to 1. `value` names what follows, NULL for a flag. --help is in every
 * table. */
typedef struct cli_option {
    const char *name, *value, *help;
    size_t at, size;
    cli_type type;
    const char *needed;       /* the question if it is missing: "which model?" */
    int is_output;            /* a file to be written: every name of standard output becomes "-" */
    const char *endings;      /* of an output's name: "csv h5"; "*": also those of no format */
    int is_positive;          /* > 0 */
    double least, most;       /* else least <= x <= most; most 0: no bound but that of the type */
    const char *const *words; /* what it may be, NULL at the end */
    const char *what;         /* such a word is; NULL: as the option's name */
} cli_option;

/* --json of a request with an int `as_json`. */
#define CLI_JSON_OPTION(request)                                                                   \
    {                                                                                              \
        "json", NULL, "print one JSON object instead of text (docs/json.md)",                      \
            CLI_INTO(request, as_json)                                                             \
    }

typedef struct cli_command {
    const char *name, *usage;  /* "plan", "FILE.perp [options]" */
    const char *about, *notes; /* --help: before and after the options; notes NULL: none */
    void (*list)(void);        /* prints more between options and notes; nullable */
    const cli_option *options;
    int noptions;
} cli_command;

/* --timeout and --max-memory, which every command has; their destinations are not in its
 * request. */
enum { CLI_COMMON = 2 };
extern const cli_option cli_common[CLI_COMMON];

/* The k-th option of a command, with those that all have; NULL behind the last. */
const cli_option *cli_option_of(const cli_command *command, int k);

#define CLI_OPTIONS(table) .options = (table), .noptions = sizeof(table) / sizeof *(table)

/* A command line of a command. */
typedef struct cli_args {
    const cli_command *command;
    int argc;
    char **argv; /* from the command's name on */
} cli_args;

enum { CLI_HELPED = -1 };

/* Read all options and operands into *request. CLI_DONE to continue, CLI_HELPED after --help, else
 * the exit code after a message. --flag=value and --flag value are the same; "--" ends the options,
 * -h is --help; negative numbers are values. */
int cli_read(const cli_args *args, void *request);

/* The given values once more, over defaults that came later; lists stay unchanged. */
void cli_read_again(const cli_args *args, void *request);

int cli_is_given(const cli_args *args, const char *name);

/* "perp plan: QUESTION usage: .."; CLI_USAGE */
int cli_ask(const cli_args *args, const char *question);

/* Before the work: CLI_USAGE with a message if an output is the model's file, that of one of its
 * tables, one of those in `read` (NULLs are none), or another output. The same if its name has a
 * wrong ending. CLI_FILE if its folder does not exist. A device may be several. The model is
 * nullable. */
int cli_check_outputs(const cli_args *args, const void *request, const perp_model *model,
                      const char *const *read, int nread);

/* CLI_USAGE with a message if this name has an ending that is not one of `endings` (NULL: any).
 * Devices and "-" have none. */
int cli_check_ending(const char *command, const char *option, const char *path,
                     const char *endings);

#endif
