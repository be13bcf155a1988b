/* Records as JSON, by tables of their fields. */

#include "json.h"

#include "base/text.h"
#include "cli.h"
#include "problem_lcp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

cJSON *cli_json_begin(const char *command)
{
    problem_json_watch();
    cJSON *o = cJSON_CreateObject();
    if (!o) cli_exit_code(PERP_ERR_MEMORY); /* and the command ends so, whatever it prints */
    cJSON_AddStringToObject(o, "perp", perp_version());
    cJSON_AddStringToObject(o, "command", command);
    return o;
}

void cli_json_add_size(cJSON *object, const perp_plan_size *size)
{
#define FIELD(field) CLI_JSON(perp_plan_size, field)
    static const cli_json_field fields[] = {FIELD(steps), FIELD(unknowns), FIELD(rows),
                                            FIELD(pairs), FIELD(jacobian), FIELD(hessian)};
#undef FIELD
    cli_json_add(object, fields, CLI_JSON_COUNT(fields), size);
}

void cli_json_add_class(cJSON *object, const perp_lcp_class *M)
{
#define FIELD(field) CLI_JSON_AS(CLI_JSON_ANSWER, perp_lcp_class, field)
    static const cli_json_field fields[] = {
        FIELD(symmetric), FIELD(positive_definite), FIELD(positive_semidefinite),
        FIELD(p_matrix),  FIELD(p0_matrix),         FIELD(copositive),
        FIELD(z_matrix)};
#undef FIELD
    cli_json_add(object, fields, CLI_JSON_COUNT(fields), M);
}

void cli_json_add_text(cJSON *object, const char *name, const char *text)
{
    if (text)
        cJSON_AddStringToObject(object, name, text);
    else
        cJSON_AddNullToObject(object, name);
}

void cli_json_add_number(cJSON *object, const char *name, double x)
{
    if (isfinite(x))
        cJSON_AddNumberToObject(object, name, x);
    else
        cJSON_AddNullToObject(object, name);
}

void cli_json_add(cJSON *object, const cli_json_field *field, int n, const void *record)
{
    for (; n > 0; n--, field++) {
        const char *at = (const char *)record + field->at;
        const char *text;
        double x;
        int k;
        long l;
        switch (field->type) {
        case CLI_JSON_TEXT:
            memcpy(&text, at, sizeof text);
            cli_json_add_text(object, field->name, text);
            break;
        case CLI_JSON_NUMBER:
            memcpy(&x, at, sizeof x);
            cli_json_add_number(object, field->name, x);
            break;
        case CLI_JSON_LONG:
            memcpy(&l, at, sizeof l);
            cJSON_AddNumberToObject(object, field->name, (double)l);
            break;
        case CLI_JSON_INT:
            memcpy(&k, at, sizeof k);
            cJSON_AddNumberToObject(object, field->name, k);
            break;
        case CLI_JSON_FLAG:
        case CLI_JSON_ANSWER:
            memcpy(&k, at, sizeof k);
            if (k < 0 && field->type == CLI_JSON_ANSWER)
                cJSON_AddNullToObject(object, field->name);
            else
                cJSON_AddBoolToObject(object, field->name, k != 0);
        }
    }
}

char *cli_json_print(const cJSON *item, int on_one_line)
{
    char *bytes = on_one_line ? cJSON_PrintUnformatted(item) : cJSON_Print(item);
    perp__text text = {0};
    if (bytes) perp__text_utf8(&text, bytes);
    free(bytes);
    if (text.failed) perp__text_clear(&text);
    return text.at;
}

char *cli_json_text(cJSON *object)
{
    char *text = problem_json_failed() ? NULL : cli_json_print(object, 0);
    size_t n = text ? strlen(text) : 0;
    char *line = text ? realloc(text, n + 2) : NULL;
    if (line) memcpy(line + n, "\n", 2);
    if (!line) free(text);
    cJSON_Delete(object);
    return line;
}

static void add_lines(cJSON *list, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        char *line = calloc(n + 1, 1);
        if (!line) cli_exit_code(PERP_ERR_MEMORY);
        if (line) memcpy(line, text, n);
        if (n && line) cJSON_AddItemToArray(list, cJSON_CreateString(line));
        free(line);
        text += n + (text[n] == '\n');
    }
}

cJSON *cli_json_lines(const char *text)
{
    cJSON *list = cJSON_CreateArray();
    add_lines(list, text);
    return list;
}

int cli_json_end(cJSON *object, int code, perp_diag *diag, FILE *out)
{
    cJSON_AddNumberToObject(object, "exit", code);
    cJSON *messages = cli_json_lines(perp_diag_text(diag));
    add_lines(messages, cli_said());
    cJSON_AddItemToObject(object, "messages", messages);
    if (diag->lost) cli_exit_code(PERP_ERR_MEMORY);
    perp_diag_clear(diag);
    char *text = cli_json_text(object);
    if (!text) code = cli_exit_code(PERP_ERR_MEMORY);
    if (text && !cli_is_out_of_memory()) fputs(text, out);
    free(text);
    return code;
}
