/* expat, loaded when it is first asked for. Entities of a file's own are refused: no robot needs
 * them, and they can be made to grow without bound. */

#include "external/xml.h"

#include <string.h>

const char *perp__xml_get(const perp__xml_node *node, const char *attribute)
{
    for (int i = 0; i < node->nattribute; i++)
        if (strcmp(node->attribute[i].name, attribute) == 0) return node->attribute[i].value;
    return NULL;
}

/* The value of an attribute behind the `<` of its element; NULL: the text is not as it seems
 * (UTF-16). */
static const char *value_in(const perp__xml_node *node, const char *attribute)
{
    const char *at = node->file->text + node->offset, *end = node->file->text + node->file->length;
    size_t n = strlen(attribute);
    for (char quote = 0; at < end && (quote || *at != '>'); at++) {
        if (quote) {
            if (*at == quote) quote = 0;
            continue;
        }
        if ((size_t)(end - at) > n && strchr(" \t\r\n", *at) && memcmp(at + 1, attribute, n) == 0) {
            const char *rest = at + 1 + n;
            while (rest < end && strchr(" \t\r\n=", *rest)) rest++;
            if (rest < end && rest > at + 1 + n && (*rest == '"' || *rest == '\'')) return rest + 1;
        }
        if (*at == '"' || *at == '\'') quote = *at;
    }
    return NULL;
}

perp__place perp__xml_place(const perp__xml_node *node, const char *attribute)
{
    perp__place place = {node->file->name, node->line, node->column};
    const char *value = attribute ? value_in(node, attribute) : NULL;
    for (const char *at = node->file->text + node->offset; value && at < value; at++) {
        if (*at == '\n') {
            place.line++;
            place.column = 0;
        }
        if (((unsigned char)*at & 0xc0) != 0x80) place.column++;
    }
    return place;
}

#ifdef PERP_HAVE_EXPAT

#include "external/library.h"

#include <expat.h>

static struct {
    __typeof__(XML_ParserCreate) *create;
    __typeof__(XML_ParserFree) *destroy;
    __typeof__(XML_Parse) *parse;
    __typeof__(XML_SetUserData) *set_data;
    __typeof__(XML_SetElementHandler) *set_elements;
    __typeof__(XML_SetEntityDeclHandler) *set_entities;
    __typeof__(XML_StopParser) *stop;
    __typeof__(XML_GetErrorCode) *code;
    __typeof__(XML_ErrorString) *words;
    __typeof__(XML_GetCurrentLineNumber) *line;
    __typeof__(XML_GetCurrentColumnNumber) *column;
    __typeof__(XML_GetCurrentByteIndex) *offset;
} expat;

static perp_status load(void)
{
    static int state;
    const perp__library_symbol symbol[] = {{"XML_ParserCreate", &expat.create},
                                           {"XML_ParserFree", &expat.destroy},
                                           {"XML_Parse", &expat.parse},
                                           {"XML_SetUserData", &expat.set_data},
                                           {"XML_SetElementHandler", &expat.set_elements},
                                           {"XML_SetEntityDeclHandler", &expat.set_entities},
                                           {"XML_StopParser", &expat.stop},
                                           {"XML_GetErrorCode", &expat.code},
                                           {"XML_ErrorString", &expat.words},
                                           {"XML_GetCurrentLineNumber", &expat.line},
                                           {"XML_GetCurrentColumnNumber", &expat.column},
                                           {"XML_GetCurrentByteIndex", &expat.offset}};
    return perp__library_load(PERP_HAVE_EXPAT, sizeof symbol / sizeof *symbol, symbol, &state);
}

typedef struct reader {
    XML_Parser parser;
    perp__arena *arena;
    const perp__xml_file *file;
    perp__xml_node *root, *open;
    int depth;
    const char *fault; /* of ours; NULL: none */
} reader;

static void stop(reader *r, const char *fault)
{
    r->fault = fault;
    expat.stop(r->parser, XML_FALSE);
}

static void XMLCALL begin(void *data, const XML_Char *name, const XML_Char **attribute)
{
    reader *r = data;
    if (++r->depth > PERP__XML_DEPTH) {
        stop(r, "elements are nested too deeply");
        return;
    }
    int n = 0;
    while (attribute[2 * n]) n++;
    perp__xml_node *node;
    PERP_TAKE(r->arena, node, 1);
    if (!node) {
        stop(r, "");
        return;
    }
    PERP_TAKE(r->arena, node->attribute, n + 1);
    node->name = perp__arena_string(r->arena, name, strlen(name));
    for (int i = 0; i < n && !r->arena->failed; i++) {
        const char *key = attribute[2 * i], *value = attribute[2 * i + 1];
        node->attribute[i].name = perp__arena_string(r->arena, key, strlen(key));
        node->attribute[i].value = perp__arena_string(r->arena, value, strlen(value));
    }
    if (r->arena->failed) {
        stop(r, "");
        return;
    }
    node->nattribute = n;
    node->file = r->file;
    node->line = (long)expat.line(r->parser);
    node->column = (long)expat.column(r->parser) + 1;
    node->offset = (size_t)expat.offset(r->parser);
    node->parent = r->open;
    if (r->open && r->open->last) r->open->last->next = node;
    if (r->open && !r->open->child) r->open->child = node;
    if (r->open) r->open->last = node;
    if (!r->root) r->root = node;
    r->open = node;
}

static void XMLCALL end(void *data, const XML_Char *name)
{
    reader *r = data;
    (void)name;
    r->depth--;
    if (r->open) r->open = r->open->parent;
}

static void XMLCALL entity(void *data, const XML_Char *name, int is_parameter,
                           const XML_Char *value, int length, const XML_Char *base,
                           const XML_Char *system, const XML_Char *public_id,
                           const XML_Char *notation)
{
    (void)name;
    (void)is_parameter;
    (void)value;
    (void)length;
    (void)base;
    (void)system;
    (void)public_id;
    (void)notation;
    stop(data, "entities that a file declares itself are not read");
}

static int parse(reader *r)
{
    const size_t MOST = 1 << 24;
    const char *at = r->file->text, *last = at + r->file->length;
    for (;;) {
        size_t n = (size_t)(last - at) < MOST ? (size_t)(last - at) : MOST;
        int is_final = at + n == last;
        if (expat.parse(r->parser, at, (int)n, is_final) == XML_STATUS_ERROR) return 0;
        if (is_final) return 1;
        at += n;
    }
}

perp_status perp__xml_read(perp__arena *arena, const perp__xml_file *file, perp__xml_node **root,
                           perp_diag *diag)
{
    *root = NULL;
    perp_status status = load();
    if (status == PERP_ERR_UNAVAILABLE)
        return perp__refuse(
            diag, status, perp__in(file->name),
            "files of XML are read by expat, which is not installed (" PERP_HAVE_EXPAT ")\n");
    reader r = {.arena = arena, .file = file};
    if (status == PERP_OK) {
        perp__library_enter("expat");
        r.parser = expat.create(NULL);
    }
    if (!r.parser) {
        perp__library_enter(NULL);
        return perp__out_of_memory(diag, file->name);
    }
    expat.set_data(r.parser, &r);
    expat.set_elements(r.parser, begin, end);
    expat.set_entities(r.parser, entity);
    if (parse(&r)) {
        *root = r.root;
    } else {
        enum XML_Error code = expat.code(r.parser);
        perp__place place = {file->name, (long)expat.line(r.parser),
                             (long)expat.column(r.parser) + 1};
        if (arena->failed || code == XML_ERROR_NO_MEMORY)
            status = perp__out_of_memory(diag, file->name);
        else
            status = perp__refuse(diag, PERP_ERR_DATA, place, "%s\n",
                                  r.fault ? r.fault : expat.words(code));
    }
    expat.destroy(r.parser);
    perp__library_enter(NULL);
    return status;
}

#else

perp_status perp__xml_read(perp__arena *arena, const perp__xml_file *file, perp__xml_node **root,
                           perp_diag *diag)
{
    (void)arena;
    *root = NULL;
    return perp__refuse(diag, PERP_ERR_UNAVAILABLE, perp__in(file->name),
                        "this build reads no files of XML: it was made without expat "
                        "(libexpat1-dev)\n");
}

#endif
