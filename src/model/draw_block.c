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
#include "model/plan_block.h"

#include "base/arena.h"

#include <string.h>

/* One shape as it is read: values that are numbers or arrays of one length. */
typedef struct reader {
    struct builder *builder;
    perp_model *model;
    perp__source *source;
    const perp__token *token;
    perp_expr *e[PERP__SHAPE_MOST]; /* elements of each value */
    int length[PERP__SHAPE_MOST];   /* 1, or `copies` */
    int n, copies;
    int bad;    /* the shape at hand has an error */
    int failed; /* memory */
} reader;

/* Tokens -------------------------------------------------------------------------------------- */

static int at_symbol(const reader *r, char symbol)
{
    return r->token->kind == TOKEN_OTHER && r->token->symbol == symbol;
}

static int take_word(reader *r, const char *word)
{
    int is = !r->bad && r->token->kind == TOKEN_NAME && strcmp(r->token->text, word) == 0;
    r->token += is;
    return is;
}

static void expected(reader *r, const char *what)
{
    if (!r->bad) perp__expected(r->source, r->token, what);
    r->bad = 1;
}

static void expect_symbol(reader *r, char symbol, const char *what)
{
    if (r->bad) return;
    if (at_symbol(r, symbol))
        r->token++;
    else
        expected(r, what);
}

static void expect_word(reader *r, const char *word, const char *what)
{
    if (!take_word(r, word)) expected(r, what);
}

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
        r->failed = r->bad = 1;
        return;
    }
    *e = perp__const(&r->model->graph, x);
    push(r, e, 1);
}

static void read_value(reader *r)
{
    if (r->bad) return;
    perp_expr *e = NULL;
    int n = 0;
    perp__syntax *s = perp__parse_expression(r->source, &r->model->arena, &r->token);
    if (!s || !perp__lower_block(r->builder, s, PERP__OF_NODE, &e, &n)) {
        r->bad = 1;
        return;
    }
    if (r->n == PERP__SHAPE_MOST || (n > 1 && r->copies > 1 && n != r->copies)) {
        if (r->n == PERP__SHAPE_MOST)
            perp__error(r->source, s->at, s->end, "a shape has at most %d corners",
                        PERP__SHAPE_MOST / 2);
        else
            perp__error(r->source, s->at, s->end,
                        "%d elements, but another value of this shape has %d", n, r->copies);
        r->bad = 1;
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
    perp__syntax *s = perp__parse_expression(r->source, &r->model->arena, &r->token);
    if (!s || !perp__lower_block(r->builder, s, PERP__OF_NODE, &e, &n)) {
        r->bad = 1;
        return 0;
    }
    if (n > 9 || r->n + n > PERP__SHAPE_MOST) {
        perp__error(r->source, s->at, s->end, "a vector of %d elements has no place here", n);
        r->bad = 1;
        return 0;
    }
    for (int k = 0; k < n; k++) push(r, e + k, 1);
    return n;
}

/* (a, b), (a, b, c), or a vector of two or three elements. All shapes have as many coordinates. */
static void read_point(reader *r, const char *what)
{
    int n = 0, at = r->token->at;
    if (r->bad) return;
    if (at_symbol(r, '(')) {
        do {
            r->token++;
            read_value(r);
            n++;
        } while (!r->bad && n < 4 && at_symbol(r, ','));
        expect_symbol(r, ')', "',' or ')'");
    } else if (r->token->kind == TOKEN_NAME || at_symbol(r, '[')) {
        n = read_vector(r);
    } else {
        expected(r, what);
    }
    if (r->bad) return;
    int *in = &r->model->drawn_in;
    if ((n == 2 || n == 3) && (*in == 0 || *in == n)) {
        *in = n;
        return;
    }
    r->bad = 1;
    if (*in)
        perp__error(r->source, at, r->token[-1].end,
                    "%d coordinates, but the drawing began with %d", n, *in);
    else
        perp__error(r->source, at, r->token[-1].end, "a point has two or three coordinates");
}

static int in_space(const reader *r)
{
    return !r->bad && r->model->drawn_in == 3;
}

static void read_angle(reader *r)
{
    if (take_word(r, "angle"))
        read_value(r);
    else if (!r->bad)
        push_number(r, 0);
}

/* Shapes -------------------------------------------------------------------------------------- */

static void read_box(reader *r)
{
    expect_word(r, "at", "'at' and the centre: box at (x, y) size (w, h)");
    read_point(r, "'(' and the centre");
    expect_word(r, "size", "'size' and width and height: box at (x, y) size (w, h)");
    read_point(r, "'(' and the width");
    if (!in_space(r)) {
        read_angle(r);
    } else if (take_word(r, "rotation")) {
        int n = read_vector(r);
        if (!r->bad && n != 4 && n != 9)
            perp__error(r->source, r->token[-1].at, r->token[-1].end,
                        "a rotation is a quaternion of 4 elements or a matrix of 9, not %d", n);
        r->bad = r->bad || (n != 4 && n != 9);
    }
}

static void read_circle(reader *r)
{
    expect_word(r, "at", "'at' and the centre: circle at (x, y) radius r");
    read_point(r, "'(' and the centre");
    expect_word(r, "radius", "'radius': circle at (x, y) radius r");
    read_value(r);
    if (!in_space(r)) read_angle(r);
}

static void read_ground(reader *r)
{
    expect_word(r, "at", "'at': ground at y = 0, or ground at (x, y) angle a");
    if (!r->bad && at_symbol(r, '(')) {
        const perp__token *point = r->token;
        read_point(r, "'('");
        if (in_space(r)) {
            r->token = point;
            expected(r, "the name of the height: in space the ground is level");
        }
        read_angle(r);
        return;
    }
    if (!r->bad && r->token->kind != TOKEN_NAME)
        expected(r, "the name of the height: ground at y = 0");
    if (r->bad) return;
    r->token++;
    expect_symbol(r, '=', "'=' and the height: ground at y = 0");
    if (!r->bad) push_number(r, 0);
    read_value(r);
    if (!r->bad) push_number(r, 0);
}

static void read_line(reader *r)
{
    expect_word(r, "from", "'from': line from (x, y) to (x, y)");
    read_point(r, "'(' and a point");
    expect_word(r, "to", "'to': line from (x, y) to (x, y)");
    read_point(r, "'(' and a point");
}

static void read_polygon(reader *r)
{
    read_point(r, "'(' and a corner: polygon (x, y), (x, y), (x, y)");
    while (!r->bad && at_symbol(r, ',')) {
        r->token++;
        read_point(r, "'(' and a corner");
    }
    if (!r->bad && r->n < 3 * r->model->drawn_in)
        expected(r, "',' and another corner: a polygon has three or more");
}

static void read_force(reader *r)
{
    expect_word(r, "at", "'at' and a point: force at (x, y) = (fx, fy)");
    read_point(r, "'(' and the point where it acts");
    expect_symbol(r, '=', "'=' and the force: force at (x, y) = (fx, fy)");
    read_point(r, "'(' and the force's components");
    if (take_word(r, "scale"))
        read_value(r);
    else if (!r->bad)
        push_number(r, 0);
}

/* One shape for each element. */
static void store(reader *r, perp__shape_kind kind)
{
    perp_model *m = r->model;
    for (int copy = 0; copy < r->copies && !r->failed; copy++) {
        perp_expr *e = perp__arena_alloc(&m->arena, (size_t)r->n * sizeof *e + 1);
        if (!e || !perp__grow(&m->shape, &m->cshape, m->nshape + 1, sizeof *m->shape)) {
            r->failed = 1;
            return;
        }
        for (int k = 0; k < r->n; k++) e[k] = r->e[k][r->length[k] == 1 ? 0 : copy];
        m->shape[m->nshape++] = (perp__shape){kind, r->n, e};
    }
}

static void read_shape(reader *r)
{
    static const struct {
        const char *word;
        void (*read)(reader *);
    } shapes[] = {{"box", read_box},   {"circle", read_circle},   {"ground", read_ground},
                  {"line", read_line}, {"polygon", read_polygon}, {"force", read_force}};
    r->n = r->bad = 0;
    r->copies = 1;
    int kind = 0;
    while (kind < PERP__SHAPE_KINDS && !take_word(r, shapes[kind].word)) kind++;
    if (kind == PERP__SHAPE_KINDS)
        expected(r, "a shape: box, circle, ground, line, polygon or force");
    else
        shapes[kind].read(r);
    if (!r->bad && r->token->kind != TOKEN_NEWLINE && !at_symbol(r, ';') && !at_symbol(r, '}'))
        expected(r, "the end of the line or ';'");
    if (!r->bad) store(r, (perp__shape_kind)kind);
}

int perp__read_draw(struct builder *builder, perp_model *model, const perp__statement *s)
{
    reader r = {.builder = builder, .model = model, .source = &model->source, .token = s->block};
    if (model->nshape) {
        perp__error(r.source, s->at, s->at + 4, "a model has one draw block");
        return 1;
    }
    while (r.token && !at_symbol(&r, '}') && !r.failed) {
        if (r.token->kind == TOKEN_NEWLINE || at_symbol(&r, ';')) {
            r.token++;
            continue;
        }
        read_shape(&r);
        while (r.bad && r.token->kind != TOKEN_NEWLINE && r.token->kind != TOKEN_END &&
               !at_symbol(&r, '}'))
            r.token++;
        if (r.token->kind == TOKEN_END) break;
    }
    return !r.failed;
}
