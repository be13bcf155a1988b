/* The draw block, read from its tokens: shapes, one a line or between semicolons.
 *
 *     box at (x, y) size (width, height) [angle a]
 *     circle at (x, y) radius r [angle a]
 *     ground at y = 0      ground at (x, y) angle a
 *     line from (x, y) to (x, y)
 *     polygon (x, y), (x, y), (x, y), ...
 *     force at (x, y) = (fx, fy) [scale s]
 *
 * In space points have three coordinates, size too, and a box has `rotation q` or `rotation R`. A
 * point is also a vector: at p. Where a coordinate is an array, the shape is drawn once for each
 * element. */

#include "model/draw_block.h"
#include "model/block_reader.h"
#include "model/blocks.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

/* One shape as it is read: values that are numbers or arrays of one length. */
typedef struct reader {
    struct builder *builder;
    perp_model *model;
    perp__cursor in;                /* bad: the shape at hand */
    perp_expr *e[PERP__SHAPE_MOST]; /* elements of each value */
    int length[PERP__SHAPE_MOST];   /* 1, or `copies` */
    int n, copies;
    int failed; /* memory */
} reader;

/* Values -------------------------------------------------------------------------------------- */

static void push(reader *r, perp_expr *e, int n)
{
    r->e[r->n] = e;
    r->length[r->n++] = n;
}

static void push_number(reader *r, double x)
{
    perp_expr *e = perp__arena_alloc(&r->model->arena, sizeof *e);
    if (!e) {
        r->failed = r->in.bad = 1;
        return;
    }
    *e = perp__const(&r->model->graph, x);
    push(r, e, 1);
}

static void read_value(reader *r)
{
    if (r->in.bad) return;
    perp_expr *e = NULL;
    int n = 0;
    perp__syntax *s = perp__parse_expression(r->in.source, &r->model->arena, &r->in.token);
    if (!s || !perp__lower_block(r->builder, s, PERP__OF_NODE, &e, &n)) {
        r->in.bad = 1;
        return;
    }
    if (r->n == PERP__SHAPE_MOST || (n > 1 && r->copies > 1 && n != r->copies)) {
        if (r->n == PERP__SHAPE_MOST)
            perp__error(r->in.source, s->at, s->end, "a shape has at most %d corners",
                        PERP__SHAPE_MOST / 2);
        else
            perp__error(r->in.source, s->at, s->end,
                        "%d elements, but another value of this shape has %d", n, r->copies);
        r->in.bad = 1;
        return;
    }
    if (n > 1) r->copies = n;
    push(r, e, n);
}

/* The elements of a vector as single values. */
static int read_vector(reader *r)
{
    perp_expr *e = NULL;
    int n = 0;
    perp__syntax *s = perp__parse_expression(r->in.source, &r->model->arena, &r->in.token);
    if (!s || !perp__lower_block(r->builder, s, PERP__OF_NODE, &e, &n)) {
        r->in.bad = 1;
        return 0;
    }
    if (n > 9 || r->n + n > PERP__SHAPE_MOST) {
        perp__error(r->in.source, s->at, s->end, "a vector of %d elements has no place here", n);
        r->in.bad = 1;
        return 0;
    }
    for (int k = 0; k < n; k++) push(r, e + k, 1);
    return n;
}

/* (a, b), (a, b, c), or a vector of two or three elements. All shapes have as many coordinates. */
static void read_point(reader *r, const char *what)
{
    int n = 0, at = r->in.token->at;
    if (r->in.bad) return;
    if (perp__at_symbol(&r->in, '(')) {
        do {
            r->in.token++;
            read_value(r);
            n++;
        } while (!r->in.bad && n < 4 && perp__at_symbol(&r->in, ','));
        perp__expect_symbol(&r->in, ')', "',' or ')'");
    } else if (r->in.token->kind == TOKEN_NAME || perp__at_symbol(&r->in, '[')) {
        n = read_vector(r);
    } else {
        perp__expect(&r->in, what);
    }
    if (r->in.bad) return;
    int *in = &r->model->draw->drawn_in;
    if ((n == 2 || n == 3) && (*in == 0 || *in == n)) {
        *in = n;
        return;
    }
    r->in.bad = 1;
    if (*in)
        perp__error(r->in.source, at, r->in.token[-1].end,
                    "%d coordinates, but the drawing began with %d", n, *in);
    else
        perp__error(r->in.source, at, r->in.token[-1].end, "a point has two or three coordinates");
}

static int in_space(const reader *r)
{
    return !r->in.bad && r->model->draw->drawn_in == 3;
}

static void read_angle(reader *r)
{
    if (perp__take_word(&r->in, "angle"))
        read_value(r);
    else if (!r->in.bad)
        push_number(r, 0);
}

/* Shapes -------------------------------------------------------------------------------------- */

static void read_box(reader *r)
{
    perp__expect_word(&r->in, "at", "'at' and the centre: box at (x, y) size (w, h)");
    read_point(r, "'(' and the centre");
    perp__expect_word(&r->in, "size", "'size' and width and height: box at (x, y) size (w, h)");
    read_point(r, "'(' and the width");
    if (!in_space(r)) {
        read_angle(r);
    } else if (perp__take_word(&r->in, "rotation")) {
        int n = read_vector(r);
        if (!r->in.bad && n != 4 && n != 9)
            perp__error(r->in.source, r->in.token[-1].at, r->in.token[-1].end,
                        "a rotation is a quaternion of 4 elements or a matrix of 9, not %d", n);
        r->in.bad = r->in.bad || (n != 4 && n != 9);
    }
}

static void read_circle(reader *r)
{
    perp__expect_word(&r->in, "at", "'at' and the centre: circle at (x, y) radius r");
    read_point(r, "'(' and the centre");
    perp__expect_word(&r->in, "radius", "'radius': circle at (x, y) radius r");
    read_value(r);
    if (!in_space(r)) read_angle(r);
}

static void read_ground(reader *r)
{
    perp__expect_word(&r->in, "at", "'at': ground at y = 0, or ground at (x, y) angle a");
    if (!r->in.bad && perp__at_symbol(&r->in, '(')) {
        const perp__token *point = r->in.token;
        read_point(r, "'('");
        if (in_space(r)) {
            r->in.token = point;
            perp__expect(&r->in, "the name of the height: in space the ground is level");
        }
        read_angle(r);
        return;
    }
    if (!r->in.bad && r->in.token->kind != TOKEN_NAME)
        perp__expect(&r->in, "the name of the height: ground at y = 0");
    if (r->in.bad) return;
    r->in.token++;
    perp__expect_symbol(&r->in, '=', "'=' and the height: ground at y = 0");
    if (!r->in.bad) push_number(r, 0);
    read_value(r);
    if (!r->in.bad) push_number(r, 0);
}

static void read_line(reader *r)
{
    perp__expect_word(&r->in, "from", "'from': line from (x, y) to (x, y)");
    read_point(r, "'(' and a point");
    perp__expect_word(&r->in, "to", "'to': line from (x, y) to (x, y)");
    read_point(r, "'(' and a point");
}

static void read_polygon(reader *r)
{
    read_point(r, "'(' and a corner: polygon (x, y), (x, y), (x, y)");
    while (!r->in.bad && perp__at_symbol(&r->in, ',')) {
        r->in.token++;
        read_point(r, "'(' and a corner");
    }
    if (!r->in.bad && r->n < 3 * r->model->draw->drawn_in)
        perp__expect(&r->in, "',' and another corner: a polygon has three or more");
}

static void read_force(reader *r)
{
    perp__expect_word(&r->in, "at", "'at' and a point: force at (x, y) = (fx, fy)");
    read_point(r, "'(' and the point where it acts");
    perp__expect_symbol(&r->in, '=', "'=' and the force: force at (x, y) = (fx, fy)");
    read_point(r, "'(' and the force's components");
    if (perp__take_word(&r->in, "scale"))
        read_value(r);
    else if (!r->in.bad)
        push_number(r, 0);
}

/* One shape for each element. */
static void store(reader *r, perp__shape_kind kind)
{
    perp__draw_block *d = r->model->draw;
    for (int copy = 0; copy < r->copies && !r->failed; copy++) {
        perp_expr *e = perp__arena_alloc(&r->model->arena, (size_t)r->n * sizeof *e + 1);
        if (!e || !perp__grow(&d->shape, &d->cshape, d->nshape + 1, sizeof *d->shape)) {
            r->failed = 1;
            return;
        }
        for (int k = 0; k < r->n; k++) e[k] = r->e[k][r->length[k] == 1 ? 0 : copy];
        d->shape[d->nshape++] = (perp__shape){kind, r->n, e};
    }
}

static void read_shape(reader *r)
{
    static const struct {
        const char *word;
        void (*read)(reader *);
    } shapes[] = {{"box", read_box},   {"circle", read_circle},   {"ground", read_ground},
                  {"line", read_line}, {"polygon", read_polygon}, {"force", read_force}};
    r->n = r->in.bad = 0;
    r->copies = 1;
    int kind = 0;
    while (kind < PERP__SHAPE_KINDS && !perp__take_word(&r->in, shapes[kind].word)) kind++;
    if (kind == PERP__SHAPE_KINDS)
        perp__expect(&r->in, "a shape: box, circle, ground, line, polygon or force");
    else
        shapes[kind].read(r);
    if (!r->in.bad && r->in.token->kind != TOKEN_NEWLINE && !perp__at_symbol(&r->in, ';') &&
        !perp__at_symbol(&r->in, '}'))
        perp__expect(&r->in, "the end of the line or ';'");
    if (!r->in.bad) store(r, (perp__shape_kind)kind);
}

int perp__read_draw(struct builder *builder, perp_model *model, const perp__statement *s)
{
    reader r = {
        .builder = builder, .model = model, .in = {.source = &model->source, .token = s->block}};
    if (!model->draw) model->draw = calloc(1, sizeof *model->draw); /* that of a part adds to it */
    if (!model->draw) return 0;
    while (r.in.token && !perp__at_symbol(&r.in, '}') && !r.failed) {
        if (r.in.token->kind == TOKEN_NEWLINE || perp__at_symbol(&r.in, ';')) {
            r.in.token++;
            continue;
        }
        read_shape(&r);
        if (r.in.bad) perp__skip_line(&r.in);
        if (r.in.token->kind == TOKEN_END) break;
    }
    return !r.failed;
}

void perp__clear_draw(perp__draw_block *block)
{
    if (block) free(block->shape);
    free(block);
}
