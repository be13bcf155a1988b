/* The draw block of a model. */

#include "model/draw_block.h"
#include "unit.h"

#include <stdio.h>

#define HEAD                                                                                       \
    "param a = 0.5\nstate x = 1, y = 2\nvar r[3]\nder(x) = y\nder(y) = sum(r)\nfor i in 1..3 { "   \
    "r[i] = i }\n"

static perp_model *parse(const char *block, perp_diag *diag)
{
    char text[1024];
    perp_model *model;
    snprintf(text, sizeof text, "%s%s\nsimulate to 1 step 0.1\n", HEAD, block);
    perp_model_parse(text, strlen(text), "d.perp", &model, diag);
    return model;
}

static void shapes_are_read_in_order(void **state)
{
    (void)state;
    perp_diag diag = {0};
    perp_model *m =
        parse("draw {\n ground at y = a; box at (x, y) size (2*a, a) angle x/2\n"
              " circle at (x, 0) radius a # wheel\n line from (0, 0) to (x, y)\n"
              " polygon (0, 0), (1, 0), (x, y)\n force at (x, y) = (r[1], 0) scale 2\n}",
              &diag);
    if (!m) fail_msg("%s", perp_diag_text(&diag));
    const struct {
        perp__shape_kind kind;
        int n;
    } expected[] = {{PERP__SHAPE_GROUND, 3}, {PERP__SHAPE_BOX, 5},     {PERP__SHAPE_CIRCLE, 4},
                    {PERP__SHAPE_LINE, 4},   {PERP__SHAPE_POLYGON, 6}, {PERP__SHAPE_FORCE, 5}};
    assert_int_equal(m->draw->nshape, 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(m->draw->shape[i].kind, expected[i].kind);
        assert_int_equal(m->draw->shape[i].n, expected[i].n);
    }
    perp_model_destroy(m);
    m = parse("", &diag);
    assert_null(m->draw);
    assert_false(perp_model_has_block(m, "draw"));
    perp_model_destroy(m);
    perp_diag_clear(&diag);
}

static void arrays_draw_a_shape_for_each_element(void **state)
{
    (void)state;
    perp_diag diag = {0};
    perp_model *m = parse("draw { force at (x + r, y) = (r, 1) }", &diag);
    if (!m) fail_msg("%s", perp_diag_text(&diag));
    assert_int_equal(m->draw->nshape, 3);
    assert_true(m->draw->shape[0].e[0] != m->draw->shape[1].e[0]);
    assert_true(m->draw->shape[0].e[1] == m->draw->shape[1].e[1]);
    perp_model_destroy(m);
    perp_diag_clear(&diag);
}

static void drawings_in_space_have_vectors_and_rotations(void **state)
{
    (void)state;
    perp_diag diag = {0};
    perp_model *m =
        parse("param q[4] = [1, 0, 0, 0]\ndraw {\n ground at z = 0\n"
              " box at r + 2*r size (1, 2, 3) rotation q\n circle at (x, y, a) radius 1\n"
              " force at r = [0, 0, x] }",
              &diag);
    if (!m) fail_msg("%s", perp_diag_text(&diag));
    assert_int_equal(m->draw->drawn_in, 3);
    assert_int_equal(m->draw->nshape, 4);
    assert_int_equal(m->draw->shape[1].n, 10);
    assert_int_equal(m->draw->shape[2].n, 4);
    assert_int_equal(m->draw->shape[3].n, 7);
    perp_model_destroy(m);
    perp_diag_clear(&diag);
}

static void draw_stays_a_name(void **state)
{
    (void)state;
    perp_diag diag = {0};
    perp_model *m =
        parse("param draw = 3\noutput z = draw + 1\ndraw { line from (0, 0) to (draw, 1) }", &diag);
    if (!m) fail_msg("%s", perp_diag_text(&diag));
    assert_int_equal(m->draw->nshape, 1);
    perp_model_destroy(m);
    perp_diag_clear(&diag);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    const struct {
        const char *block, *says;
    } bad[] = {
        {"draw { hox at (x, y) }",
         "d.perp:7:8: expected a shape: box, circle, ground, line, polygon or force, found 'hox'"},
        {"draw { box at (x, q) size (1, 1) }", "unknown name 'q'"},
        {"draw { box at (x, y) }", "expected 'size'"},
        {"draw { box at (x, y, 1) size (1, 1) }", "2 coordinates, but the drawing began with 3"},
        {"draw { line from (0, 0) to (1, 1)\nline from (0, 0, 0) to (1, 1, 1) }",
         "3 coordinates, but the drawing began with 2"},
        {"draw { box at (x, y, 1) size (1, 1, 1) rotation r }",
         "a quaternion of 4 elements or a matrix of 9, not 3"},
        {"draw { box at (x, y, 1) size (1, 1, 1) angle 1 }", "found 'angle'"},
        {"draw { line from (x) to (y) }", "a point has two or three coordinates"},
        {"draw { ground at (x, y, 1) }", "in space the ground is level"},
        {"draw { box at x size (1, 1) }", "a point has two or three coordinates"},
        {"draw { box at 1 size (1, 1) }", "expected '(' and the centre, found '1'"},
        {"draw { polygon (0, 0), (1, 0) }", "a polygon has three or more"},
        {"draw { ground y = 0 }", "expected 'at'"},
        {"draw { force at (x, y) (1, 0) }", "expected '=' and the force"},
        {"draw { force at (r, y) = ([1, 2], 0) }",
         "2 elements, but another value of this shape has 3"},
        {"draw { circle at (x, y) radius a b }", "expected the end of the line or ';', found 'b'"},
        {"draw { circle at (x, y) radius\n}", "expected an expression, found the end of the line"},
        {"draw { line from (0, 0) to (1, 1) }\ndraw { line from (0, 0) to (1, 1) }",
         "the model has one draw block already"},
        {"draw { line from (0, 0) to (1, 1)\n", "'}' at the end of the block"},
        {"for i in 1..2 { draw { line from (0, 0) to (1, 1) } }", ""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        perp_diag diag = {0};
        perp_model *m = parse(bad[i].block, &diag);
        if (m || !strstr(perp_diag_text(&diag), bad[i].says))
            fail_msg("expected '%s' for:\n%s\nfound:\n%s", bad[i].says, bad[i].block,
                     perp_diag_text(&diag));
        perp_diag_clear(&diag);
    }
}

static void all_mistakes_of_a_block_are_found(void **state)
{
    (void)state;
    perp_diag diag = {0};
    assert_null(parse("draw {\n box at x\n circle at (q, 0) radius 1\n}", &diag));
    assert_non_null(strstr(diag.text, "d.perp:8:9: a point has two or three"));
    assert_non_null(strstr(diag.text, "d.perp:9:13: unknown name 'q'"));
    perp_diag_clear(&diag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_read_in_order),
        cmocka_unit_test(arrays_draw_a_shape_for_each_element),
        cmocka_unit_test(drawings_in_space_have_vectors_and_rotations),
        cmocka_unit_test(draw_stays_a_name),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(all_mistakes_of_a_block_are_found),
    };
    return run_all(tests);
}
