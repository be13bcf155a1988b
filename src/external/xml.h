/* XML files as trees of elements with their positions, by expat, which is loaded at first use. */

#ifndef PERP_SRC_EXTERNAL_XML_H
#define PERP_SRC_EXTERNAL_XML_H

#include "base/arena.h"
#include "base/base.h"

typedef struct perp__xml_attribute {
    const char *name, *value;
} perp__xml_attribute;

/* A text that was read. */
typedef struct perp__xml_file {
    const char *name, *text;
    size_t length;
} perp__xml_file;

typedef struct perp__xml_node {
    const char *name;
    perp__xml_attribute *attribute;
    int nattribute;
    struct perp__xml_node *parent, *child, *last, *next; /* last: of its children */
    const perp__xml_file *file;
    long line, column; /* of its `<`, from 1 */
    size_t offset;
} perp__xml_node;

/* Elements deeper than this are refused: readers go down by recursion. */
enum { PERP__XML_DEPTH = 200 };

/* The tree of a text. All that it holds is the arena's, but file->text, which has to last as long.
 * PERP_ERR_DATA: diag says where and what; PERP_ERR_UNAVAILABLE: there is no expat, and diag says
 * so. */
perp_status perp__xml_read(perp__arena *arena, const perp__xml_file *file, perp__xml_node **root,
                           perp_diag *diag);

/* NULL: it has none. */
const char *perp__xml_get(const perp__xml_node *node, const char *attribute);

/* Where an element begins, or an attribute's value (NULL: the element). */
perp__place perp__xml_place(const perp__xml_node *node, const char *attribute);

#endif
