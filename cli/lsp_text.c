/* The language server's documents: texts, their paths, and places in them as editors count. */

#include "lsp.h"

#include <stdlib.h>
#include <string.h>

static char *copy(const char *text)
{
    size_t n = strlen(text);
    char *to = malloc(n + 1);
    if (!to) cli_exit_code(PERP_ERR_MEMORY);
    return to ? memcpy(to, text, n + 1) : NULL;
}

/* Paths ---------------------------------------------------------------------------------------- */

static int digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char *lsp_path_of_uri(const char *uri)
{
    static const char file[] = "file://";
    if (strncmp(uri, file, sizeof file - 1) != 0) return copy(uri);
    const char *s = strchr(uri + sizeof file - 1, '/'); /* behind a host, which is this one */
    char *path = copy(s ? s : "/"), *to = path;
    for (const char *p = path; p && *p; p++) {
        int is_coded = p[0] == '%' && digit(p[1]) >= 0 && digit(p[2]) >= 0,
            c = is_coded ? 16 * digit(p[1]) + digit(p[2]) : (unsigned char)*p;
        if (is_coded) p += 2;
        if (c) *to++ = (char)c;
    }
    if (path) *to = 0;
    return path;
}

char *lsp_uri_of_path(const char *path)
{
    static const char plain[] =
        "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
                      hex[] = "0123456789ABCDEF";
    if (path[0] != '/') return copy(path);
    char *uri = malloc(3 * strlen(path) + 8), *to = uri;
    if (!uri) cli_exit_code(PERP_ERR_MEMORY);
    if (!uri) return NULL;
    memcpy(to, "file://", 7);
    to += 7;
    for (const char *s = path; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (strchr(plain, *s)) {
            *to++ = *s;
        } else {
            *to++ = '%';
            *to++ = hex[c >> 4];
            *to++ = hex[c & 15];
        }
    }
    *to = 0;
    return uri;
}

/* Places --------------------------------------------------------------------------------------- */

static int continues(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* How many units of UTF-16 the character has that begins so. */
static int units(char c)
{
    return (unsigned char)c >= 0xF0 ? 2 : 1;
}

size_t lsp_line(const char *text, size_t length, long line)
{
    size_t at = 0;
    for (; line > 1; line--) {
        const char *end = memchr(text + at, '\n', length - at);
        if (!end) return length;
        at = (size_t)(end - text) + 1;
    }
    return at;
}

size_t lsp_after_characters(const char *text, size_t length, size_t from, long n)
{
    while (from < length && text[from] != '\n' && n > 0) {
        do from++;
        while (from < length && continues(text[from]));
        n--;
    }
    return from;
}

size_t lsp_byte(const char *text, size_t length, const cJSON *position)
{
    const cJSON *l = cJSON_GetObjectItem(position, "line"),
                *c = cJSON_GetObjectItem(position, "character");
    double line = cJSON_IsNumber(l) ? l->valuedouble : 0,
           left = cJSON_IsNumber(c) ? c->valuedouble : 0;
    size_t at = lsp_line(text, length, line < 1e9 ? (long)line + 1 : 1000000000);
    while (at < length && text[at] != '\n' && text[at] != '\r' && left >= units(text[at])) {
        left -= units(text[at]);
        do at++;
        while (at < length && continues(text[at]));
    }
    return at;
}

cJSON *lsp_position(const char *text, size_t length, size_t byte)
{
    int line = 0, character = 0;
    for (size_t i = 0; i < byte && i < length; i++) {
        if (text[i] == '\n') {
            line++;
            character = 0;
        } else if (!continues(text[i]))
            character += units(text[i]);
    }
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "line", line);
    cJSON_AddNumberToObject(o, "character", character);
    return o;
}

cJSON *lsp_range(const char *text, size_t length, size_t from, size_t to)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToObject(o, "start", lsp_position(text, length, from));
    cJSON_AddItemToObject(o, "end", lsp_position(text, length, to));
    return o;
}

/* Documents ------------------------------------------------------------------------------------ */

lsp_document *lsp_find(const lsp_server *server, const char *uri)
{
    lsp_document *d = server->first;
    while (d && uri && strcmp(d->uri, uri) != 0) d = d->next;
    return uri ? d : NULL;
}

lsp_document *lsp_open(lsp_server *server, const char *uri, const char *text)
{
    lsp_document *d = lsp_find(server, uri);
    if (!d) {
        d = calloc(1, sizeof *d);
        if (!d) cli_exit_code(PERP_ERR_MEMORY);
        if (!d) return NULL;
        d->next = server->first;
        server->first = d;
        d->uri = copy(uri);
        d->path = lsp_path_of_uri(uri);
    }
    lsp_set_text(server, d, text);
    return d;
}

void lsp_forget_outlines(lsp_server *server)
{
    for (lsp_document *d = server->first; d; d = d->next) {
        perp_outline_destroy(d->outline);
        d->outline = NULL;
        d->is_new = 1;
    }
}

void lsp_set_text(lsp_server *server, lsp_document *d, const char *text)
{
    char *own = copy(text); /* which may be a part of the old one */
    free(d->text);
    d->text = own;
    d->length = own ? strlen(own) : 0;
    lsp_forget_outlines(server);
}

void lsp_close(lsp_server *server, lsp_document *d)
{
    lsp_document **at = &server->first;
    while (*at != d) at = &(*at)->next;
    *at = d->next;
    perp_outline_destroy(d->outline);
    cJSON_Delete(d->diagnostics);
    free(d->uri);
    free(d->path);
    free(d->text);
    free(d);
    lsp_forget_outlines(server);
}

perp_model_options lsp_options(const lsp_server *server)
{
    int n = 0;
    for (const lsp_document *d = server->first; d; d = d->next) n++;
    perp_model_text *text = calloc((size_t)n + 1, sizeof *text);
    if (!text) cli_exit_code(PERP_ERR_MEMORY);
    n = 0;
    for (const lsp_document *d = server->first; d && text; d = d->next)
        text[n++] = (perp_model_text){d->path, d->text, d->length};
    return (perp_model_options){.folder = server->folder.item,
                                .nfolder = server->folder.n,
                                .text = text,
                                .ntext = text ? n : 0};
}

const perp_outline *lsp_outline(lsp_server *server, lsp_document *d, perp_diag *diag)
{
    if (d->outline && !diag) return d->outline;
    perp_diag own = {0};
    perp_model_options options = lsp_options(server);
    perp_outline_destroy(d->outline);
    d->outline = NULL;
    perp_status status =
        perp_outline_create(d->text, d->length, d->path, &options, &d->outline, diag ? diag : &own);
    cli_exit_code(status);
    d->errors = diag ? diag->errors : own.errors;
    perp_diag_clear(&own);
    free((void *)options.text);
    return d->outline;
}
