/* What the files of `perp lsp` share: documents, places in them, and the messages of the protocol
 * (Language Server Protocol 3.17, microsoft.github.io/language-server-protocol). */

#ifndef PERP_CLI_LSP_H
#define PERP_CLI_LSP_H

#include "json.h"

/* A text that the editor has open, or a file beside one. */
typedef struct lsp_document {
    char *uri, *path, *text; /* path: of a file; the uri of what is none */
    size_t length;
    double version;
    int is_new;            /* its diagnostics are not those of its text */
    perp_outline *outline; /* NULL: none was made of this text yet */
    int errors;            /* of the outline */
    cJSON *diagnostics;    /* those published last, with "fix" beside what the protocol has */
    struct lsp_document *next;
} lsp_document;

typedef struct lsp_server {
    lsp_document *first;
    cli_list folder; /* of -I */
    int is_initialized, is_shut_down;
} lsp_server;

/* What a request is answered with. */
typedef struct lsp_answer {
    cJSON *result; /* NULL: null */
    int error;     /* 0, or the protocol's number */
    char message[512];
} lsp_answer;

enum {
    LSP_PARSE = -32700,
    LSP_INVALID = -32600,
    LSP_UNKNOWN = -32601,
    LSP_PARAMS = -32602,
    LSP_EARLY = -32002,
    LSP_FAILED = -32803
};

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void lsp_refuse(lsp_answer *answer, int error, const char *format, ...);

/* lsp_wire.c: the bodies of messages, each behind its header. ---------------------------------- */

/* The next one, which the caller frees; NULL at the end of the input. What is no message is passed
 * over, and *error says so, with a body "" where nothing is left of it. */
char *lsp_read(int *error);
int lsp_is_idle(void); /* nothing waits to be read */
void lsp_write(cJSON *message); /* deletes it */

/* lsp_text.c: documents and places ------------------------------------------------------------- */

lsp_document *lsp_find(const lsp_server *server, const char *uri);
lsp_document *lsp_open(lsp_server *server, const char *uri, const char *text);
void lsp_close(lsp_server *server, lsp_document *document);

/* Replace the document's text by a copy of this one. Its results are discarded, and those of all
 * documents that may use it. */
void lsp_set_text(lsp_server *server, lsp_document *document, const char *text);
void lsp_forget_outlines(lsp_server *server);

/* The text's outline, made when it is first asked for; NULL when memory is out. */
const perp_outline *lsp_outline(lsp_server *server, lsp_document *document, perp_diag *diag);

/* The texts that are open, for reading models; the caller frees `text` of it. */
perp_model_options lsp_options(const lsp_server *server);

/* Between bytes of a text and the protocol's places, lines from 0 and units of UTF-16. What is
 * beyond a line or the text is its end. */
size_t lsp_byte(const char *text, size_t length, const cJSON *position);
cJSON *lsp_position(const char *text, size_t length, size_t byte);
cJSON *lsp_range(const char *text, size_t length, size_t from, size_t to);

/* Units of UTF-16 in the line's first n characters, and where line `line` (from 1) begins. */
size_t lsp_line(const char *text, size_t length, long line);
size_t lsp_after_characters(const char *text, size_t length, size_t from, long n);

char *lsp_uri_of_path(const char *path); /* the caller frees; NULL: memory */
char *lsp_path_of_uri(const char *uri);

/* lsp_names.c, lsp_rename.c: requests ---------------------------------------------------------- */

/* What stands in the text at the place that the params name. 0 with the answer refused where there
 * is no such document. */
typedef struct lsp_place {
    lsp_document *document;
    const perp_outline *outline;
    size_t byte;
} lsp_place;
int lsp_place_of(lsp_server *server, const cJSON *params, lsp_place *place, lsp_answer *answer);

/* The mention at a byte of the first file, or the one that ends there; -1: none. */
int lsp_mention_at(const perp_outline *outline, size_t byte);

void lsp_hover(lsp_server *server, const cJSON *params, lsp_answer *answer);
void lsp_complete(lsp_server *server, const cJSON *params, lsp_answer *answer);
void lsp_define(lsp_server *server, const cJSON *params, lsp_answer *answer);
void lsp_refer(lsp_server *server, const cJSON *params, lsp_answer *answer);
void lsp_prepare_rename(lsp_server *server, const cJSON *params, lsp_answer *answer);
void lsp_rename(lsp_server *server, const cJSON *params, lsp_answer *answer);

/* lsp_check.c: diagnostics, and what mends them */
void lsp_publish(lsp_server *server);
void lsp_act(lsp_server *server, const cJSON *params, lsp_answer *answer);

#endif
