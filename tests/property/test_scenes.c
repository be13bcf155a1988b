/* Scenes with more contacts than the bodies can tell apart: every step has a solution, which is found and verified. */

#include "runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 20000 };

static void append(char *text, const char *format, double x)
{
    size_t used = strlen(text);
    snprintf(text + used, MOST - used, format, x);
}

/* "[value(0), value(1), ...]" */
static void list(char *text, int n, double (*value)(int))
{
    strcpy(text, "[");
    for (int i = 0; i < n; i++) append(text, i ? ", %.10g" : "%.10g", value(i));
    strcat(text, "]");
}

/* The scene with "@name" replaced by values[] = {name, value, ..., NULL}. */
static perp_model *scene(const char *name, const char *const *values)
{
    char path[1024], *text = calloc(MOST, 1);
    snprintf(path, sizeof path, "%s/tests/data/scenes/%s.perp", PERP_SOURCE_DIR, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(text);
    size_t used = 0;
    for (int c; (c = fgetc(file)) != EOF && used + 1 < MOST;) {
        char word[16] = "";
        if (c != '@') {
            text[used++] = (char)c;
            continue;
        }
        assert_int_equal(fscanf(file, "%15[a-zA-Z]", word), 1);
        int k = 0;
        while (values[k] && strcmp(values[k], word) != 0) k += 2;
        assert_non_null(values[k]);
        used += (size_t)snprintf(text + used, MOST - used, "%s", values[k + 1]);
    }
    fclose(file);
    perp_model *model = parse_model(text);
    free(text);
    return model;
}

static double level(int i)
{
    return i + 0.5;
}

/* Boxes on each other stay where they are. */
static void boxes_rest(const char *name, int boxes, const char *facets, long steps)
{
    char n[16], *levels = calloc(MOST, 1);
    snprintf(n, sizeof n, "%d", boxes);
    list(levels, boxes, level);
    const char *const values[] = {"n", n, "level", levels, "facets", facets, NULL};
    run r = run_model(scene(name, values), (double)steps * 5e-3, 5e-3);
    assert_int_equal(r.nrow, steps + 1);
    assert_near(last(&r, "top"), boxes - 0.5, 1e-7);
    assert_near(last(&r, "side"), 0, 1e-7);
    free(levels);
    free_run(&r);
}

static void a_stack_in_the_plane_rests(void **state)
{
    (void)state;
    boxes_rest("stack_plane", 26, "", 20);
    boxes_rest("stack_plane", 100, "", 3);
}

static void a_stack_in_space_rests(void **state)
{
    (void)state;
    boxes_rest("stack_space", 2, "4", 20);
    boxes_rest("stack_space", 2, "exact", 20);
    boxes_rest("stack_space", 10, "4", 1);
    boxes_rest("stack_space", 10, "exact", 3);
}

/* Discs in rows of four, each a little to a side. */
static double column(int i)
{
    return 0.23 * (i % 4 - 1.5) + 0.01 * sin(7.3 * i);
}

static double row(int i)
{
    return 0.12 + 0.23 * (i / 4) + 0.01 * sin(3.1 * i);
}

/* Discs fall into a box and come to rest on each other; no two overlap. */
static void a_heap_of_discs_comes_to_rest(void **state)
{
    (void)state;
    char *x = calloc(MOST, 1), *y = calloc(MOST, 1);
    list(x, 12, column);
    list(y, 12, row);
    const char *const values[] = {"n", "12", "W", "0.475", "x", x, "y", y, NULL};
    run r = run_model(scene("heap", values), 0.5, 2e-3);
    assert_int_equal(r.nrow, 251);
    for (int i = 1; i <= 12; i++)
        for (int j = i + 1; j <= 12; j++) {
            char a[4][16];
            for (int k = 0; k < 4; k++)
                snprintf(a[k], sizeof a[k], "%s[%d]", k % 2 ? "y" : "x", k < 2 ? i : j);
            assert_true(hypot(last(&r, a[2]) - last(&r, a[0]), last(&r, a[3]) - last(&r, a[1])) >
                        0.2 - 1e-7);
        }
    free(x);
    free(y);
    free_run(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_in_the_plane_rests),
        cmocka_unit_test(a_stack_in_space_rests),
        cmocka_unit_test(a_heap_of_discs_comes_to_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
