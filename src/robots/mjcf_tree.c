/* The tree of an MJCF file before it is read: what it includes is put in place, what it replicates
 * is written out. */

#include "base/input.h"
#include "base/number.h"
#include "bodies/space.h"
#include "robots/mjcf.h"

#include <string.h>

/* Includes ------------------------------------------------------------------------------------- */

/* Beside the file that was asked for, else beside the one that includes it. */
static const char *include_path(mjcf *m, const perp__xml_node *node, const char *file)
{
    const char *path = perp__robot_path(m->r, m->root->file->name, NULL, file);
    if (!path || perp__input_is_there(path)) return path;
    const char *other = perp__robot_path(m->r, node->file->name, NULL, file);
    return other && perp__input_is_there(other) ? other : path;
}

/* The children of the included file's root; NULL: none, or the reason was reported. */
static perp__xml_node *included(mjcf *m, const perp__xml_node *node)
{
    const char *file = perp__xml_get(node, "file");
    if (!file) {
        perp__robot_refuse(m->r, node, NULL, "include: file is missing");
        return NULL;
    }
    const char *path = include_path(m, node, file);
    if (MJCF_INDEX_OF(m, included, path) >= 0) {
        perp__robot_refuse(m->r, node, "file", "%s is included already", path);
        return NULL;
    }
    const char **slot = path ? MJCF_ADD(m, included) : NULL;
    if (!slot) return NULL;
    *slot = path;
    perp__xml_node *root = perp__robot_tree(m->r, path, NULL, 0, node, "file");
    if (root && !mjcf_is(root, "mujoco") && !mjcf_is(root, "mujocoinclude"))
        perp__robot_refuse(m->r, root, NULL,
                           "<%.60s>: an included file begins with <mujoco> or "
                           "<mujocoinclude>",
                           root->name);
    return root ? root->child : NULL;
}

static void expand(mjcf *m, perp__xml_node *parent, int depth)
{
    if (depth > PERP__XML_DEPTH) {
        perp__robot_refuse(m->r, parent, NULL, "elements are nested too deeply");
        return;
    }
    for (perp__xml_node **link = &parent->child; *link && m->r->status != PERP_ERR_MEMORY;) {
        perp__xml_node *node = *link;
        if (!mjcf_is(node, "include")) {
            node->parent = parent;
            expand(m, node, depth + 1);
            link = &node->next;
            continue;
        }
        perp__xml_node *first = included(m, node), *last = first;
        while (last && last->next) last = last->next;
        if (last) last->next = node->next;
        *link = first ? first : node->next;
    }
}

void mjcf_include(mjcf *m, perp__xml_node *root)
{
    expand(m, root, 0);
}

/* Copies --------------------------------------------------------------------------------------- */

enum { MOST_ELEMENTS = 200000 }; /* of all copies */

static perp__xml_node *new_node(mjcf *m, const perp__xml_node *like, perp__xml_node *parent,
                                int nattribute)
{
    perp__xml_node *node;
    PERP_TAKE(&m->r->to->arena, node, 1);
    if (node) *node = *like;
    if (node) PERP_TAKE(&m->r->to->arena, node->attribute, nattribute + 1);
    if (!node || !node->attribute) {
        perp__robot_no_memory(m->r);
        return NULL;
    }
    node->parent = parent;
    node->child = node->last = node->next = NULL;
    return node;
}

static const char *join(mjcf *m, const char *a, const char *b)
{
    size_t size = strlen(a) + strlen(b) + 1;
    char *text;
    PERP_TAKE(&m->r->to->arena, text, size);
    if (text)
        snprintf(text, size, "%s%s", a, b);
    else
        perp__robot_no_memory(m->r);
    return text;
}

static void append(perp__xml_node *parent, perp__xml_node *child)
{
    if (parent->last)
        parent->last->next = child;
    else
        parent->child = child;
    parent->last = child;
}

/* The children of `from` once more, with `suffix` added to their names. Returns 0: memory is out,
 * or they are too many, which was reported. */
static int copy_children(mjcf *m, const perp__xml_node *from, perp__xml_node *to,
                         const char *suffix)
{
    for (const perp__xml_node *child = from->child; child; child = child->next) {
        if (++m->ncopied > MOST_ELEMENTS)
            return perp__robot_refuse(
                m->r, child, NULL, "replicate: copies have more than %d elements", MOST_ELEMENTS);
        perp__xml_node *copy = new_node(m, child, to, child->nattribute);
        if (!copy) return 0;
        for (int i = 0; i < child->nattribute; i++) {
            copy->attribute[i] = child->attribute[i];
            if (strcmp(child->attribute[i].name, "name") == 0)
                copy->attribute[i].value = join(m, child->attribute[i].value, suffix);
            if (!copy->attribute[i].value) return 0;
        }
        append(to, copy);
        if (!copy_children(m, child, copy, suffix)) return 0;
    }
    return 1;
}

/* The kth copy: a frame that is turned k times as far, and moved by an offset in each frame before
 * it. */
static perp__xml_node *copy_frame(mjcf *m, const perp__xml_node *node, const double *pos,
                                  const double *euler, const char *suffix)
{
    char text[2][120];
    perp__xml_node *frame = new_node(m, node, node->parent, 2);
    if (!frame) return NULL;
    perp__format(text[0], sizeof text[0], "%.17g %.17g %.17g", pos[0], pos[1], pos[2]);
    perp__format(text[1], sizeof text[1], "%.17g %.17g %.17g", euler[0], euler[1], euler[2]);
    frame->name = "frame";
    frame->nattribute = 2;
    for (int i = 0; i < 2; i++) {
        frame->attribute[i].name = i ? "euler" : "pos";
        frame->attribute[i].value = join(m, text[i], "");
    }
    int ok = frame->attribute[0].value && frame->attribute[1].value &&
             copy_children(m, node, frame, suffix);
    return ok ? frame : NULL;
}

/* Frames in place of a <replicate>; NULL: none, or the reason was reported. */
static perp__xml_node *copies_of(mjcf *m, const perp__xml_node *node)
{
    perp__xml_node all = {0};
    double offset[3] = {0, 0, 0}, euler[3] = {0, 0, 0}, moved[3];
    int count = 0;
    const char *sep = perp__xml_get(node, "sep");
    mjcf_check(m, node);
    perp__read_numbers(m->r, node, "offset", 3, 3, offset);
    perp__read_numbers(m->r, node, "euler", 3, 3, euler);
    if (!perp__read_whole(m->r, node, "count", &count) || count < 1) {
        perp__robot_refuse(m->r, node, NULL, "replicate: a count of 1 or more is expected");
        return NULL;
    }
    perp__pose pose = perp__pose_none;
    for (int k = 0; k < count; k++) {
        char number[40], digits[40];
        double turn[3] = {k * euler[0], k * euler[1], k * euler[2]};
        int width = snprintf(digits, sizeof digits, "%d", count);
        snprintf(number, sizeof number, "%0*d", width, k);
        const char *suffix = join(m, sep ? sep : "", number);
        perp__xml_node *frame = suffix ? copy_frame(m, node, pose.p, turn, suffix) : NULL;
        if (!frame) return NULL;
        append(&all, frame);
        mjcf_read_rotation(m, frame, pose.R);
        perp__rotate3(pose.R, offset, moved);
        perp__move3(pose.p, 1, moved, pose.p);
    }
    return all.child;
}

void mjcf_replicate(mjcf *m, perp__xml_node *parent)
{
    for (perp__xml_node **link = &parent->child; *link && m->r->status != PERP_ERR_MEMORY;) {
        perp__xml_node *node = *link;
        mjcf_replicate(m, node);
        if (!mjcf_is(node, "replicate")) {
            link = &node->next;
            continue;
        }
        perp__xml_node *first = copies_of(m, node), *last = first;
        while (last && last->next) last = last->next;
        if (last) last->next = node->next;
        *link = first ? first : node->next;
        if (last) link = &last->next;
    }
}
