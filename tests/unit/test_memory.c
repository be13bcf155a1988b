/* The memory that the library holds: counted, given back, and bounded by perp_memory_limit. */

#include "unit.h"

#include "base/memory.h"
#include "perp/perp.h"

#include <stdint.h>
#include <string.h>

static const char slide[] = "model slide\nparam mu = 0.3\nstate x = 0, v = 1\nvar f\nder(x) = v\n"
                            "der(v) = f\n-mu*9.81 <= f <= mu*9.81 perp v\n"
                            "simulate to 0.1 step 0.01\n";

/* Parse, simulate and draw; the first status that is not PERP_OK. The picture is its caller's. */
static perp_status run_slide(char **svg)
{
    perp_model *model = NULL;
    perp_simulation *sim = NULL;
    perp_step_info info = {.size = sizeof info};
    perp_diag diag = {0};
    const double t[2] = {0, 1};
    perp_series series = {.x = t, .y = t, .n = 2};
    perp_panel panel = {.series = &series, .nseries = 1};
    perp_figure figure = {.panels = &panel, .npanels = 1};
    perp_status status = perp_model_parse(slide, strlen(slide), "m", &model, &diag);
    if (status == PERP_OK) status = perp_simulation_create(model, NULL, &sim, &diag);
    for (int i = 0; i < 5 && status == PERP_OK; i++)
        status = perp_simulation_step(sim, &info, &diag);
    if (status == PERP_OK) status = perp_figure_svg(&figure, svg, NULL);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    return status;
}

/* What the caller of the library frees is no longer its own. */
static void what_is_held_is_given_back(void **state)
{
    (void)state;
    size_t before = perp_memory_held();
    perp_model *model;
    assert_int_equal(perp_model_parse(slide, strlen(slide), "m", &model, NULL), PERP_OK);
    assert_true(perp_memory_held() > before + 1000);
    perp_model_destroy(model);
    for (int i = 0; i < 3; i++) {
        char *svg = NULL;
        assert_int_equal(run_slide(&svg), PERP_OK);
        free(svg);
        assert_int_equal(perp_memory_held(), before);
    }
}

static void growth_and_shrinking_are_counted(void **state)
{
    (void)state;
    size_t before = perp_memory_held();
    char *memory = perp__calloc(10, 100);
    assert_true(perp_memory_held() >= before + 1000);
    memory = perp__realloc(memory, 100000);
    assert_true(perp_memory_held() >= before + 100000);
    memory = perp__realloc(memory, 10);
    assert_true(perp_memory_held() < before + 100000);
    perp__free(memory);
    perp__free(NULL);
    assert_int_equal(perp_memory_held(), before);
    assert_null(perp__calloc(SIZE_MAX / 8, 16));
    assert_int_equal(perp_memory_held(), before);
}

/* With each limit up to what the run needs: PERP_OK or PERP_ERR_MEMORY, nothing beyond it,
 * nothing lost. */
static void no_run_passes_the_limit(void **state)
{
    (void)state;
    size_t before = perp_memory_held(), room = 500;
    int refused = 0;
    perp_status status;
    do {
        char *svg = NULL;
        perp_memory_limit(before + room);
        status = run_slide(&svg);
        perp_memory_limit(0);
        assert_true(status == PERP_OK || status == PERP_ERR_MEMORY);
        free(svg);
        assert_int_equal(perp_memory_held(), before);
        refused += status != PERP_OK;
        room += room / 16;
    } while (status != PERP_OK);
    assert_true(refused > 10);
    print_message("a run needs about %zu bytes\n", room);
}

static void an_allocation_beyond_the_limit_fails_and_one_within_it_does_not(void **state)
{
    (void)state;
    perp_memory_limit(perp_memory_held() + 10000);
    char *fits = perp__malloc(9000), *none = perp__malloc(9000);
    assert_non_null(fits);
    assert_null(none);
    assert_null(perp__realloc(fits, 20000)); /* what was there stays */
    memset(fits, 1, 9000);
    perp__free(fits);
    fits = perp__malloc(9000);
    assert_non_null(fits);
    perp_memory_limit(0);
    fits = perp__realloc(fits, 20000);
    assert_non_null(fits);
    perp__free(fits);
}

/* Free bodies: their mass matrix has blocks, and so has their memory. 8 times as many hold 8
 * times as much. */
static void bodies_hold_memory_in_proportion(void **state)
{
    (void)state;
    size_t held[2];
    for (int k = 0; k < 2; k++) {
        int n = k ? 8000 : 1000;
        perp_body *body = test_calloc((size_t)n, sizeof *body);
        perp_bodies *b;
        for (int i = 0; i < n; i++)
            body[i] = (perp_body){.joint = PERP_JOINT_FREE,
                                  .position = {i, 0, 0},
                                  .mass = 1,
                                  .inertia = {1, 1, 1}};
        size_t before = perp_memory_held();
        assert_int_equal(perp_bodies_create(body, n, NULL, 0, NULL, &b, NULL), PERP_OK);
        held[k] = perp_memory_held() - before;
        perp_bodies_destroy(b);
        assert_int_equal(perp_memory_held(), before);
        test_free(body);
    }
    assert_true(held[1] < 9 * held[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_held_is_given_back),
        cmocka_unit_test(growth_and_shrinking_are_counted),
        cmocka_unit_test(no_run_passes_the_limit),
        cmocka_unit_test(an_allocation_beyond_the_limit_fails_and_one_within_it_does_not),
        cmocka_unit_test(bodies_hold_memory_in_proportion),
    };
    return run_all(tests);
}
