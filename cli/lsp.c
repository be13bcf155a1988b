/* perp lsp: a language server on standard input and output. Requests are answered in the order in
 * which they come; diagnostics follow when nothing waits to be read, or before a request. */

#include "lsp.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    cli_args args;
    cli_list folder;
    int is_stdio;
} request;

#define INTO(field) CLI_INTO(request, field)

static const cli_option options[] = {
    CLI_FOLDER_OPTION,
    {"stdio", NULL, "talk on standard input and output, which it does anyway", INTO(is_stdio)},
};

const cli_command cli_command_lsp = {
    .name = "lsp",
    .usage = "[options]",
    .about =
        "A language server (LSP 3.17) for editors, on standard input and output: what perp check "
        "finds and quick fixes,\n"
        "declarations with units and values, completion, definitions, references, renaming, and "
        "the style of perp fmt.\n"
        "It reads models and never runs them. editors/README.md says how editors start it.",
    .notes = "exit codes: 0 after shutdown and exit, 1 without shutdown, 4 file or memory",
    CLI_OPTIONS(options)};

void lsp_refuse(lsp_answer *answer, int error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(answer->message, sizeof answer->message, format, args);
    va_end(args);
    answer->error = error;
}

/* Notifications -------------------------------------------------------------------------------- */

static const char *text_in(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItem(object, name));
}

static const cJSON *document_in(const cJSON *params)
{
    return cJSON_GetObjectItem(params, "textDocument");
}

static void set_version(lsp_document *d, const cJSON *of)
{
    const cJSON *version = cJSON_GetObjectItem(of, "version");
    if (d && cJSON_IsNumber(version)) d->version = version->valuedouble;
}

static void did_open(lsp_server *server, const cJSON *params)
{
    const cJSON *of = document_in(params);
    const char *uri = text_in(of, "uri"), *text = text_in(of, "text");
    if (uri && text) set_version(lsp_open(server, uri, text), of);
}

/* The text with what stands in the range replaced. */
static void change_range(lsp_server *server, lsp_document *d, const cJSON *range, const char *text)
{
    size_t from = lsp_byte(d->text, d->length, cJSON_GetObjectItem(range, "start")),
           to = lsp_byte(d->text, d->length, cJSON_GetObjectItem(range, "end")), n = strlen(text);
    if (to < from) to = from;
    char *all = malloc(d->length - (to - from) + n + 1);
    if (!all) cli_exit_code(PERP_ERR_MEMORY);
    if (!all) return;
    memcpy(all, d->text, from);
    memcpy(all + from, text, n);
    memcpy(all + from + n, d->text + to, d->length - to + 1);
    lsp_set_text(server, d, all);
    free(all);
}

static void did_change(lsp_server *server, const cJSON *params)
{
    lsp_document *d = lsp_find(server, text_in(document_in(params), "uri"));
    const cJSON *change;
    if (!d) return;
    cJSON_ArrayForEach(change, cJSON_GetObjectItem(params, "contentChanges"))
    {
        const cJSON *range = cJSON_GetObjectItem(change, "range");
        const char *text = text_in(change, "text");
        if (text && cJSON_IsObject(range))
            change_range(server, d, range, text);
        else if (text)
            lsp_set_text(server, d, text);
    }
    set_version(d, document_in(params));
}

static void did_close(lsp_server *server, const cJSON *params)
{
    lsp_document *d = lsp_find(server, text_in(document_in(params), "uri"));
    if (!d) return;
    cJSON *message = cJSON_CreateObject(), *of = cJSON_AddObjectToObject(message, "params");
    cJSON_AddStringToObject(message, "method", "textDocument/publishDiagnostics");
    cJSON_AddStringToObject(of, "uri", d->uri);
    cJSON_AddArrayToObject(of, "diagnostics");
    lsp_write(message);
    lsp_close(server, d);
}

/* A file was saved, or changed by others: whatever uses it is looked at again. */
static void files_changed(lsp_server *server, const cJSON *params)
{
    (void)params;
    lsp_forget_outlines(server);
}

static void ignore(lsp_server *server, const cJSON *params)
{
    (void)server;
    (void)params;
}

/* Requests ------------------------------------------------------------------------------------- */

static void initialize(lsp_server *server, const cJSON *params, lsp_answer *answer)
{
    (void)params;
    if (server->is_initialized) {
        lsp_refuse(answer, LSP_INVALID, "initialized already");
        return;
    }
    server->is_initialized = 1;
    answer->result = cJSON_CreateObject();
    cJSON *can = cJSON_AddObjectToObject(answer->result, "capabilities"),
          *sync = cJSON_AddObjectToObject(can, "textDocumentSync");
    cJSON_AddStringToObject(can, "positionEncoding", "utf-16");
    cJSON_AddTrueToObject(sync, "openClose");
    cJSON_AddNumberToObject(sync, "change", 1); /* whole texts */
    cJSON_AddTrueToObject(sync, "save");
    cJSON_AddTrueToObject(can, "hoverProvider");
    cJSON_AddTrueToObject(can, "definitionProvider");
    cJSON_AddTrueToObject(can, "referencesProvider");
    cJSON_AddTrueToObject(can, "documentFormattingProvider");
    cJSON *rename = cJSON_AddObjectToObject(can, "renameProvider");
    cJSON_AddTrueToObject(rename, "prepareProvider");
    cJSON *complete = cJSON_AddObjectToObject(can, "completionProvider"),
          *triggers = cJSON_AddArrayToObject(complete, "triggerCharacters");
    cJSON_AddItemToArray(triggers, cJSON_CreateString("."));
    cJSON *act = cJSON_AddObjectToObject(can, "codeActionProvider"),
          *kinds = cJSON_AddArrayToObject(act, "codeActionKinds");
    cJSON_AddItemToArray(kinds, cJSON_CreateString("quickfix"));
    cJSON *info = cJSON_AddObjectToObject(answer->result, "serverInfo");
    cJSON_AddStringToObject(info, "name", "perp");
    cJSON_AddStringToObject(info, "version", perp_version());
}

static void shut_down(lsp_server *server, const cJSON *params, lsp_answer *answer)
{
    (void)params;
    (void)answer;
    server->is_shut_down = 1;
}

/* One edit of the whole text, or none if it has the style. */
static void format(lsp_server *server, const cJSON *params, lsp_answer *answer)
{
    lsp_document *d = lsp_find(server, text_in(document_in(params), "uri"));
    if (!d) {
        lsp_refuse(answer, LSP_PARAMS, "no such document is open");
        return;
    }
    size_t n;
    char *text = cli_format(d->text, &n);
    if (!text) {
        lsp_refuse(answer, LSP_FAILED,
                   "left as it is: there is text in it that is none of a model");
        return;
    }
    answer->result = cJSON_CreateArray();
    if (strcmp(text, d->text) != 0) {
        cJSON *edit = cJSON_CreateObject();
        cJSON_AddItemToObject(edit, "range", lsp_range(d->text, d->length, 0, d->length));
        cJSON_AddStringToObject(edit, "newText", text);
        cJSON_AddItemToArray(answer->result, edit);
    }
    free(text);
}

int lsp_place_of(lsp_server *server, const cJSON *params, lsp_place *place, lsp_answer *answer)
{
    lsp_document *d = lsp_find(server, text_in(document_in(params), "uri"));
    const cJSON *position = cJSON_GetObjectItem(params, "position");
    if (!d)
        lsp_refuse(answer, LSP_PARAMS, "no such document is open");
    else if (!cJSON_IsObject(position))
        lsp_refuse(answer, LSP_PARAMS, "no position is given");
    if (answer->error) return 0;
    *place = (lsp_place){d, lsp_outline(server, d, NULL), lsp_byte(d->text, d->length, position)};
    return place->outline != NULL;
}

/* Messages ------------------------------------------------------------------------------------- */

static const struct {
    const char *method;
    void (*notice)(lsp_server *server, const cJSON *params);
    void (*answer)(lsp_server *server, const cJSON *params, lsp_answer *answer);
} methods[] = {{"initialize", NULL, initialize},
               {"shutdown", NULL, shut_down},
               {"textDocument/didOpen", did_open, NULL},
               {"textDocument/didChange", did_change, NULL},
               {"textDocument/didClose", did_close, NULL},
               {"textDocument/didSave", files_changed, NULL},
               {"workspace/didChangeWatchedFiles", files_changed, NULL},
               {"initialized", ignore, NULL},
               {"textDocument/codeAction", NULL, lsp_act},
               {"textDocument/hover", NULL, lsp_hover},
               {"textDocument/completion", NULL, lsp_complete},
               {"textDocument/definition", NULL, lsp_define},
               {"textDocument/references", NULL, lsp_refer},
               {"textDocument/prepareRename", NULL, lsp_prepare_rename},
               {"textDocument/rename", NULL, lsp_rename},
               {"textDocument/formatting", NULL, format}};

static void reply(const cJSON *id, lsp_answer *answer)
{
    cJSON *message = cJSON_CreateObject();
    cJSON_AddItemToObject(message, "id", id ? cJSON_Duplicate(id, 1) : cJSON_CreateNull());
    if (answer->error) {
        cJSON *error = cJSON_AddObjectToObject(message, "error");
        cJSON_AddNumberToObject(error, "code", answer->error);
        cJSON_AddStringToObject(error, "message", answer->message);
        cJSON_Delete(answer->result);
    } else {
        cJSON_AddItemToObject(message, "result",
                              answer->result ? answer->result : cJSON_CreateNull());
    }
    lsp_write(message);
}

static void answer_request(lsp_server *server, size_t row, const cJSON *params, lsp_answer *answer)
{
    enum { N = sizeof methods / sizeof *methods };
    if (server->is_shut_down)
        lsp_refuse(answer, LSP_INVALID, "the server was shut down");
    else if (!server->is_initialized && row != 0)
        lsp_refuse(answer, LSP_EARLY, "initialize comes first");
    else if (row == N || !methods[row].answer)
        lsp_refuse(answer, LSP_UNKNOWN, "no such request");
    else
        methods[row].answer(server, params, answer);
}

/* 1: the editor is done. */
static int handle(lsp_server *server, const cJSON *message)
{
    enum { N = sizeof methods / sizeof *methods };
    const char *method = text_in(message, "method");
    const cJSON *id = cJSON_GetObjectItem(message, "id"),
                *params = cJSON_GetObjectItem(message, "params");
    lsp_answer answer = {0};
    size_t row = 0;
    int is_request = cJSON_IsString(id) || cJSON_IsNumber(id);
    while (row < N && method && strcmp(methods[row].method, method) != 0) row++;
    if (!method && !is_request) {
        lsp_refuse(&answer, LSP_INVALID, "no message of the protocol");
        reply(NULL, &answer);
    } else if (method && is_request) {
        if (server->is_initialized && !server->is_shut_down) lsp_publish(server);
        answer_request(server, row, params, &answer);
        reply(id, &answer);
    } else if (method && strcmp(method, "exit") == 0) {
        return 1;
    } else if (method && row < N && methods[row].notice && server->is_initialized &&
               !server->is_shut_down) {
        methods[row].notice(server, params);
    }
    return 0; /* else an answer, to nothing that was asked, or a notice of no matter */
}

int perp__cmd_lsp(int argc, char **argv)
{
    request r = {.args = {&cli_command_lsp, argc, argv}};
    int code = cli_read(&r.args, &r), error, is_done = code != CLI_DONE;
    lsp_server server = {.folder = r.folder};
    char *body;
    if (!is_done) cJSON_Delete(cli_json_begin("lsp")); /* from here on memory is watched */
    while (!is_done && !cli_is_out_of_memory() && (body = lsp_read(&error))) {
        cJSON *message = error ? NULL : cJSON_Parse(body);
        if (message) {
            is_done = handle(&server, message);
        } else {
            lsp_answer answer = {0};
            lsp_refuse(&answer, error ? error : LSP_PARSE,
                       error == LSP_INVALID
                           ? "a message of more than 128 MB was passed over"
                           : "this is no message: expected Content-Length, and JSON");
            reply(NULL, &answer);
        }
        cJSON_Delete(message);
        free(body);
        if (lsp_is_idle()) lsp_publish(&server);
    }
    if (code == CLI_DONE) code = server.is_shut_down ? CLI_DONE : CLI_USAGE;
    while (server.first) lsp_close(&server, server.first);
    free(r.folder.item);
    return code;
}
