/* Messages in pieces, for editors: severity, code, place and, where the message knows one, the word
 * to put there. */

#include "json.h"

#include <stdlib.h>
#include <string.h>

/* What a message begins with or has in it, and its code. */
static const struct {
    const char *has, *code;
} codes[] = {{"unknown ", "unknown-name"},
             {"expected ", "syntax"},
             {"is already de", "declared-twice"},
             {"units do not match", "units"},
             {"the unit '", "unknown-unit"},
             {" of a quantity in '", "units"},
             {"nothing uses", "unused"},
             {"comes before the function", "shadows"},
             {"not unique", "not-unique"},
             {"at the start", "start"},
             {"may become 0", "domain"},
             {"the argument of", "domain"},
             {"a mass below 0", "mass"},
             {"the guard ", "guard"},
             {"coefficients change", "coefficients"},
             {"need its own value", "circle"},
             {"contains itself", "circle"},
             {"calls itself", "circle"},
             {"files use each other", "circle"},
             {"no file '", "no-file"},
             {"equation", "count"}};

static const char *code_of(const char *text)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strstr(text, codes[i].has)) return codes[i].code;
    return "other";
}

/* "did you mean 'gamma'?" */
static void add_fix(cJSON *o, const char *text)
{
    static const char asked[] = "did you mean '";
    const char *word = strstr(text, asked), *end;
    if (!word) return;
    word += sizeof asked - 1;
    end = strstr(word, "'?");
    if (!end) return;
    char *copy = malloc((size_t)(end - word) + 1);
    if (copy) {
        memcpy(copy, word, (size_t)(end - word));
        copy[end - word] = 0;
    } else {
        cli_exit_code(PERP_ERR_MEMORY);
    }
    cli_json_add_text(o, "fix", copy);
    free(copy);
}

static cJSON *diagnostic(const perp_message *m, int is_error)
{
    static const char warning[] = "warning: ";
    char *file = m->file ? calloc((size_t)m->nfile + 1, 1) : NULL,
         *all = calloc((size_t)m->ntext + 1, 1);
    cJSON *o = cJSON_CreateObject();
    if (!all || (m->file && !file)) cli_exit_code(PERP_ERR_MEMORY); /* kept for the end */
    if (file) memcpy(file, m->file, (size_t)m->nfile);
    if (all) memcpy(all, m->text, (size_t)m->ntext);
    int is_warning = all && strncmp(all, warning, sizeof warning - 1) == 0;
    const char *text = all ? all + (is_warning ? sizeof warning - 1 : 0) : "";
    const char *severity = "note";
    if (is_warning)
        severity = "warning";
    else if (is_error)
        severity = "error";
    cJSON_AddStringToObject(o, "severity", severity);
    cJSON_AddStringToObject(o, "code", code_of(text));
    cli_json_add_text(o, "file", file);
    cJSON_AddNumberToObject(o, "line", m->line);
    cJSON_AddNumberToObject(o, "column", m->column);
    cJSON_AddNumberToObject(o, "length", m->length);
    cJSON_AddStringToObject(o, "message", text);
    add_fix(o, text);
    free(file);
    free(all);
    return o;
}

void cli_json_add_diagnostics(cJSON *object, const perp_diag *diag, int is_error)
{
    cJSON *list = cJSON_AddArrayToObject(object, "diagnostics");
    perp_message m;
    size_t at = 0;
    while (perp_diag_next(diag, &at, &m)) cJSON_AddItemToArray(list, diagnostic(&m, is_error));
}
