/* Shared by both formats: the tree of a file, numbers and words of attributes, messages with
 * positions. */

#include "base/input.h"
#include "base/number.h"
#include "robots/robots.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 28, SAID = 400 };

int perp__robot_no_memory(perp__robot_reader *r)
{
    if (r->status != PERP_ERR_MEMORY) r->status = perp__out_of_memory(r->diag, "robot");
    return 0;
}

/* What was met first is what is returned, but no memory is more. */
static int fail(perp__robot_reader *r, perp_status status)
{
    if (r->status == PERP_OK || status == PERP_ERR_MEMORY) r->status = status;
    return 0;
}

int perp__robot_refuse(perp__robot_reader *r, const perp__xml_node *node, const char *attribute,
                       const char *format, ...)
{
    char text[SAID];
    va_list args;
    if (r->status == PERP_ERR_MEMORY) return 0; /* what is missing may be so for that */
    va_start(args, format);
    perp__vformat(text, sizeof text, format, args);
    va_end(args);
    perp__refuse(r->diag, PERP_ERR_MODEL, perp__xml_place(node, attribute), "%s\n", text);
    r->nwrong++;
    return fail(r, PERP_ERR_MODEL);
}

void perp__robot_ignore(perp__robot_reader *r, const perp__xml_node *node, const char *attribute,
                        const char *format, ...)
{
    char text[SAID];
    va_list args;
    va_start(args, format);
    perp__vformat(text, sizeof text, format, args);
    va_end(args);
    perp_robot *to = r->to;
    int k = perp__names_find(&r->notes, text);
    if (k >= 0) {
        to->note[k].count++;
        return;
    }
    perp__place place = perp__xml_place(node, attribute);
    if (!perp__arena_grow(&to->arena, &to->note, &to->cnote, to->nnote + 1, sizeof *to->note)) {
        perp__robot_no_memory(r);
        return;
    }
    perp_robot_ignored note = {.file =
                                   perp__arena_string(&to->arena, place.file, strlen(place.file)),
                               .line = place.line,
                               .column = place.column,
                               .what = perp__arena_string(&to->arena, text, strlen(text)),
                               .count = 1};
    if (!note.file || !note.what || !perp__names_add(&r->notes, note.what, to->nnote))
        perp__robot_no_memory(r);
    else
        to->note[to->nnote++] = note;
}

/* Files ---------------------------------------------------------------------------------------- */

const char *perp__robot_path(perp__robot_reader *r, const char *from, const char *folder,
                             const char *file)
{
    const char *slash = strrchr(from, '/');
    int base =
            slash && file[0] != '/' && (!folder || folder[0] != '/') ? (int)(slash - from) + 1 : 0,
        has_folder = folder && folder[0] && file[0] != '/';
    size_t size = (size_t)base + (has_folder ? strlen(folder) : 0) + strlen(file) + 2;
    char *path;
    PERP_TAKE(&r->to->arena, path, size);
    if (!path) {
        perp__robot_no_memory(r);
        return NULL;
    }
    snprintf(path, size, "%.*s%s%s%s", base, from, has_folder ? folder : "",
             has_folder && folder[strlen(folder) - 1] != '/' ? "/" : "", file);
    return path;
}

static char *read_text(perp__robot_reader *r, const char *path, size_t *length,
                       const perp__xml_node *from, const char *attribute)
{
    char *text = NULL;
    const char *why;
    perp_status status = perp__input_read(path, PERP__REGULAR, MOST_BYTES, 0, &text, length, &why);
    if (status == PERP_OK && text) return text;
    free(text);
    perp__place place = from ? perp__xml_place(from, attribute) : perp__in(path);
    if (status == PERP_OK) return calloc(1, 1);
    if (status == PERP_ERR_MEMORY) return NULL;
    perp__refuse(r->diag, status, place, "%s%scannot be read: %s\n", from ? path : "",
                 from ? " " : "", why);
    fail(r, status);
    return NULL;
}

perp__xml_node *perp__robot_tree(perp__robot_reader *r, const char *path, const char *text,
                                 size_t length, const perp__xml_node *from, const char *attribute)
{
    perp__xml_file *file;
    perp__xml_node *root = NULL;
    PERP_TAKE(&r->to->arena, file, 1);
    if (!file || !perp__grow(&r->text, &r->ctext, r->ntext + 1, sizeof *r->text)) {
        perp__robot_no_memory(r);
        return NULL;
    }
    if (!text) {
        char *own = read_text(r, path, &length, from, attribute);
        if (!own && r->status == PERP_OK) perp__robot_no_memory(r);
        if (!own) return NULL;
        r->text[r->ntext++] = own;
        text = own;
    }
    *file = (perp__xml_file){path, text, length};
    perp_status status = perp__xml_read(&r->to->arena, file, &root, r->diag);
    if (status != PERP_OK) fail(r, status);
    return root;
}

/* Attributes ----------------------------------------------------------------------------------- */

static int is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

int perp__read_numbers(perp__robot_reader *r, const perp__xml_node *node, const char *attribute,
                       int least, int most, double *x)
{
    const char *text = perp__xml_get(node, attribute);
    double value;
    int n = 0;
    if (!text) return 0;
    const char *end = text + strlen(text);
    for (const char *at = text;;) {
        while (is_space(*at)) at++;
        if (!*at) break;
        size_t took = perp__number_read(at, (size_t)(end - at), &value);
        if (!took || !isfinite(value) || (at[took] && !is_space(at[took])))
            return perp__robot_refuse(r, node, attribute, "%s: '%.40s' is no finite number",
                                      attribute, at);
        if (n == most)
            return perp__robot_refuse(r, node, attribute, "%s: more than %d %s", attribute, most,
                                      most == 1 ? "number" : "numbers");
        x[n++] = value;
        at += took;
    }
    if (n < least)
        return perp__robot_refuse(r, node, attribute, "%s: %d %s, %d expected", attribute, n,
                                  n == 1 ? "number" : "numbers", least);
    return n;
}

int perp__read_number(perp__robot_reader *r, const perp__xml_node *node, const char *attribute,
                      double *x)
{
    return perp__read_numbers(r, node, attribute, 1, 1, x);
}

int perp__read_whole(perp__robot_reader *r, const perp__xml_node *node, const char *attribute,
                     int *x)
{
    double value;
    if (!perp__read_number(r, node, attribute, &value)) return 0;
    if (value != floor(value) || fabs(value) > INT_MAX)
        return perp__robot_refuse(r, node, attribute, "%s: a whole number is expected", attribute);
    *x = (int)value;
    return 1;
}

int perp__read_word(perp__robot_reader *r, const perp__xml_node *node, const char *attribute,
                    const char *words)
{
    const char *text = perp__xml_get(node, attribute);
    if (!text) return -1;
    int k = 0;
    for (const char *at = words; *at; k++) {
        size_t n = strcspn(at, " ");
        if (strlen(text) == n && memcmp(at, text, n) == 0) return k;
        at += n + (at[n] == ' ');
    }
    perp__robot_refuse(r, node, attribute, "%s: '%.60s' is none of: %s", attribute, text, words);
    return -1;
}

/* The whole ------------------------------------------------------------------------------------ */

static perp_status read_robot(const char *path, const char *text, size_t length, perp_robot **robot,
                              perp_diag *diag)
{
    perp_diag own = {0};
    perp__robot_reader r = {.to = calloc(1, sizeof(perp_robot)), .diag = diag ? diag : &own};
    *robot = NULL;
    if (!r.to) return perp__out_of_memory(diag, path);
    r.to->is.options = perp_bodies_options_default();
    r.to->is.name = "";
    const char *name = perp__arena_string(&r.to->arena, path, strlen(path));
    perp__xml_node *root = name ? perp__robot_tree(&r, name, text, length, NULL, NULL) : NULL;
    if (!name) perp__robot_no_memory(&r);
    if (root && strcmp(root->name, "mujoco") == 0)
        perp__read_mjcf(&r, root);
    else if (root && strcmp(root->name, "robot") == 0)
        perp__read_urdf(&r, root);
    else if (root)
        perp__robot_refuse(&r, root, NULL,
                           "<%.60s>: a file begins with <mujoco> (MJCF) or <robot> "
                           "(URDF)",
                           root->name);
    if (r.status == PERP_OK && !perp__finish_robot(&r)) perp__robot_no_memory(&r);
    if (r.status == PERP_OK && r.to->arena.failed) perp__robot_no_memory(&r);
    for (int i = 0; i < r.ntext; i++) free(r.text[i]);
    free(r.text);
    perp__names_clear(&r.notes);
    perp_diag_clear(&own);
    if (r.status == PERP_OK) perp__robot_put_parts(r.to);
    if (r.status == PERP_OK)
        *robot = r.to;
    else
        perp_robot_destroy(r.to);
    return r.status;
}

perp_status perp_robot_read(const char *path, perp_robot **robot, perp_diag *diag)
{
    if (!robot) return PERP_ERR_ARG;
    *robot = NULL;
    return path ? read_robot(path, NULL, 0, robot, diag) : PERP_ERR_ARG;
}

perp_status perp_robot_parse(const char *text, size_t length, const char *name, perp_robot **robot,
                             perp_diag *diag)
{
    if (!robot) return PERP_ERR_ARG;
    *robot = NULL;
    return text && name ? read_robot(name, text, length, robot, diag) : PERP_ERR_ARG;
}
