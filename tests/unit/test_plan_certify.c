/* B-stationarity is certified by branches, each a linear program: where one of them is not decided nothing is certified. */

#include "unit.h"

#include "external/lp.h"
#include "perp/perp.h"

static int calls, undecided; /* from this call on none is decided; 0: all are */

static perp_status solve_or_not(const perp__lp *lp, double *x, perp__lp_end *end)
{
    return ++calls >= undecided && undecided ? PERP_ERR_NO_SOLUTION
                                             : perp__lp_solve_with_end(lp, x, end);
}

#define perp__lp_solve_with_end solve_or_not
#include "plan/certify.c"

static int is_certified(const char *path)
{
    perp_program *program;
    perp_program_result r = {.size = sizeof r};
    calls = 0;
    assert_int_equal(perp_program_read(path, &program, NULL), PERP_OK);
    assert_int_equal(perp_program_solve(program, NULL, &r, NULL), PERP_OK);
    int is = strcmp(perp_program_word(program, &r), "B-stationary") == 0;
    perp_program_destroy(program);
    return is;
}

static void a_branch_that_is_not_decided_certifies_nothing(void **state)
{
    (void)state;
    const char *path = PERP_SOURCE_DIR "/tests/data/nl/b_not_s_6.nl";
    if (!perp__lp_available()) skip_because("there is no Clp");
    undecided = 0;
    assert_true(is_certified(path));
    int all = calls;
    assert_true(all > 2);
    for (undecided = 1; undecided <= all; undecided++)
        if (is_certified(path)) fail_msg("certified though program %d is not decided", undecided);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_branch_that_is_not_decided_certifies_nothing),
    };
    return run_all(tests);
}
