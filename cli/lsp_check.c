/* The language server's diagnostics, those of `perp check --json`, and the changes that mend
 * them. */

#include "lsp.h"

#include <stdlib.h>
#include <string.h>

/* Warnings about a text without errors, as perp check has them. */
static void look_closer(lsp_server *server, const lsp_document *d, perp_diag *diag)
{
    perp_model_options options = lsp_options(server);
    perp_model *model = NULL;
    perp_plan_size plan = {0};
    perp_check_report report = {.size = sizeof report};
    int settled;
    perp_status status = perp_model_parse_with(d->text, d->length, d->path, &options, &model, NULL);
    free((void *)options.text);
    if (status == PERP_OK && cli_look(model, &plan, &settled, diag) == CLI_DONE) {
        perp_simulation_options o = perp_simulation_options_default(model);
        perp_check(model, &o, &report, diag);
    }
    perp_model_destroy(model); /* none of a file of parts */
}

static double number_in(const cJSON *o, const char *name)
{
    const cJSON *x = cJSON_GetObjectItem(o, name);
    return cJSON_IsNumber(x) ? x->valuedouble : 0;
}

static const char *text_in(const cJSON *o, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItem(o, name));
}

/* A message about another file stands at the text's beginning, with that place. */
static cJSON *diagnostic(const lsp_document *d, const cJSON *found)
{
    const char *file = text_in(found, "file"), *severity = text_in(found, "severity"),
               *said = text_in(found, "message"), *fix = text_in(found, "fix");
    long line = (long)number_in(found, "line"), column = (long)number_in(found, "column"),
         n = (long)number_in(found, "length");
    int is_here = !file || strcmp(file, d->path) == 0;
    size_t start = lsp_line(d->text, d->length, is_here ? line : 1),
           from = is_here ? lsp_after_characters(d->text, d->length, start, column - 1) : start,
           to = is_here && column > 0
                    ? lsp_after_characters(d->text, d->length, from, n > 0 ? n : 1)
                    : lsp_after_characters(d->text, d->length, start, 1 << 20);
    char *message = malloc((file ? strlen(file) : 0) + (said ? strlen(said) : 0) + 64);
    cJSON *o = cJSON_CreateObject();
    if (!message) cli_exit_code(PERP_ERR_MEMORY);
    if (message && is_here) strcpy(message, said ? said : "");
    if (message && !is_here)
        sprintf(message, "%s:%ld:%ld: %s", file, line, column, said ? said : "");
    cJSON_AddItemToObject(o, "range", lsp_range(d->text, d->length, from, to));
    cJSON_AddNumberToObject(o, "severity", severity && strcmp(severity, "error") == 0 ? 1 : 2);
    cJSON_AddStringToObject(o, "code", text_in(found, "code"));
    cJSON_AddStringToObject(o, "source", "perp");
    cli_json_add_text(o, "message", message);
    if (fix && is_here) {
        cJSON *data = cJSON_AddObjectToObject(o, "data");
        cJSON_AddStringToObject(data, "fix", fix);
    }
    free(message);
    return o;
}

static void publish(lsp_server *server, lsp_document *d)
{
    perp_diag diag = {0};
    d->is_new = 0;
    if (lsp_outline(server, d, &diag) && d->errors == 0) look_closer(server, d, &diag);
    cJSON *all = cJSON_CreateObject(), *found;
    cli_json_add_diagnostics(all, &diag, d->errors > 0);
    if (diag.lost) cli_exit_code(PERP_ERR_MEMORY);
    perp_diag_clear(&diag);
    cJSON *list = cJSON_CreateArray();
    cJSON_ArrayForEach(found, cJSON_GetObjectItem(all, "diagnostics"))
    {
        const char *severity = text_in(found, "severity");
        if (severity && strcmp(severity, "note") != 0)
            cJSON_AddItemToArray(list, diagnostic(d, found));
    }
    cJSON_Delete(all);
    cJSON *message = cJSON_CreateObject(), *params = cJSON_AddObjectToObject(message, "params");
    cJSON_AddStringToObject(message, "method", "textDocument/publishDiagnostics");
    cJSON_AddStringToObject(params, "uri", d->uri);
    cJSON_AddNumberToObject(params, "version", d->version);
    cJSON_AddItemToObject(params, "diagnostics", cJSON_Duplicate(list, 1));
    cJSON_Delete(d->diagnostics);
    d->diagnostics = list;
    lsp_write(message);
}

void lsp_publish(lsp_server *server)
{
    for (lsp_document *d = server->first; d; d = d->next)
        if (d->is_new && !cli_is_out_of_memory()) publish(server, d);
}

/* Do two ranges of the protocol intersect? */
static int is_before(const cJSON *a, const cJSON *b)
{
    double la = number_in(a, "line"), lb = number_in(b, "line");
    return la < lb || (la <= lb && number_in(a, "character") < number_in(b, "character"));
}

static int touch(const cJSON *a, const cJSON *b)
{
    return !is_before(cJSON_GetObjectItem(a, "end"), cJSON_GetObjectItem(b, "start")) &&
           !is_before(cJSON_GetObjectItem(b, "end"), cJSON_GetObjectItem(a, "start"));
}

static cJSON *action(const lsp_document *d, const cJSON *found, const char *fix)
{
    char title[300];
    snprintf(title, sizeof title, "Change to '%s'", fix);
    cJSON *o = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(o, "diagnostics");
    cJSON_AddStringToObject(o, "title", title);
    cJSON_AddStringToObject(o, "kind", "quickfix");
    cJSON_AddItemToArray(list, cJSON_Duplicate(found, 1));
    cJSON *changes = cJSON_AddObjectToObject(cJSON_AddObjectToObject(o, "edit"), "changes"),
          *edits = cJSON_AddArrayToObject(changes, d->uri), *edit = cJSON_CreateObject();
    cJSON_AddItemToObject(edit, "range", cJSON_Duplicate(cJSON_GetObjectItem(found, "range"), 1));
    cJSON_AddStringToObject(edit, "newText", fix);
    cJSON_AddItemToArray(edits, edit);
    return o;
}

void lsp_act(lsp_server *server, const cJSON *params, lsp_answer *answer)
{
    const lsp_document *d =
        lsp_find(server, text_in(cJSON_GetObjectItem(params, "textDocument"), "uri"));
    const cJSON *range = cJSON_GetObjectItem(params, "range"), *found;
    if (!d || !cJSON_IsObject(range)) {
        lsp_refuse(answer, LSP_PARAMS, d ? "no range is given" : "no such document is open");
        return;
    }
    answer->result = cJSON_CreateArray();
    cJSON_ArrayForEach(found, d->diagnostics)
    {
        const char *fix = text_in(cJSON_GetObjectItem(found, "data"), "fix");
        if (fix && touch(range, cJSON_GetObjectItem(found, "range")))
            cJSON_AddItemToArray(answer->result, action(d, found, fix));
    }
}
