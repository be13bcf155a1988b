/* What a command found as JSON: records by tables of their fields, one object on standard output
 * with --json. */

#ifndef PERP_CLI_JSON_H
#define PERP_CLI_JSON_H

#include "cli.h"
#include "perp/perp.h"

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdio.h>

typedef enum cli_json_type {
    CLI_JSON_TEXT,
    CLI_JSON_NUMBER, /* null if not finite */
    CLI_JSON_INT,
    CLI_JSON_LONG,
    CLI_JSON_FLAG,  /* an int: true or false */
    CLI_JSON_ANSWER /* an int: true, false, or null below 0 */
} cli_json_type;

typedef struct cli_json_field {
    const char *name;
    size_t at;
    cli_json_type type;
} cli_json_field;

#define CLI_JSON(record, field)                                                                    \
    {                                                                                              \
#field, offsetof(record, field),                                                              \
     _Generic(((record *)0)->field,                                                                \
         const char *: CLI_JSON_TEXT,                                                              \
         char *: CLI_JSON_TEXT,                                                                    \
         double: CLI_JSON_NUMBER,                                                                  \
         int: CLI_JSON_INT,                                                                        \
         long: CLI_JSON_LONG)    \
    }
#define CLI_JSON_AS(type, record, field)                                                           \
    {                                                                                              \
#field, offsetof(record, field), type                                                      \
    }
#define CLI_JSON_COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

/* An object with the version and this command. From here on lost memory is noticed; cJSON omits
 * what it has no room for, and the rest looks whole. */
cJSON *cli_json_begin(const char *command);

/* Add these fields of the record to the object. */
void cli_json_add(cJSON *object, const cli_json_field *field, int n, const void *record);
void cli_json_add_size(cJSON *object, const perp_plan_size *size);
void cli_json_add_class(cJSON *object, const perp_lcp_class *M);
void cli_json_add_text(cJSON *object, const char *name, const char *text); /* nullable */
void cli_json_add_number(cJSON *object, const char *name, double x); /* null if not finite */

/* The text with a line's end; NULL where memory ran out. The caller frees; the object is
 * deleted. */
char *cli_json_text(cJSON *object);

/* JSON as UTF-8 (RFC 8259), whatever bytes file names and messages have; malloc'ed, NULL: no
 * memory. */
char *cli_json_print(const cJSON *item, int on_one_line);

/* "diagnostics": the messages in pieces: severity, code, file, line, column, length, message, and a
 * fix if one is known. is_error: a message that is no warning is an error, else a note. */
void cli_json_add_diagnostics(cJSON *object, const perp_diag *diag, int is_error);

/* With --json at a command's end: "exit", and "messages", a line each of what would have gone to
 * standard error; printed to `out`. Returns the exit code: `code`, or CLI_FILE without memory. */
int cli_json_end(cJSON *object, int code, perp_diag *diag, FILE *out);

/* The lines of a text as a list of strings. */
cJSON *cli_json_lines(const char *text);

/* "start": how many conditions it broke, and by how much states were moved. */
void cli_add_start(cJSON *object, const cli_beginning *start, const perp_model *model);

#endif
