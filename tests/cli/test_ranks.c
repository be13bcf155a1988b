/* Under a launcher of several processes a command shares its work with them or is refused; it never does all of it in each. */

#include "cli.h"
#include "unit.h"

#include "perp/perp.h"

#include <stdlib.h>
#include <string.h>

static void a_launcher_is_known_by_what_it_says(void **state)
{
    (void)state;
    assert_int_equal(perp_ranks_launched(), 1);
    setenv("PMI_SIZE", "1", 1);
    assert_int_equal(perp_ranks_launched(), 1);
    setenv("PMI_SIZE", "3", 1);
    assert_int_equal(perp_ranks_launched(), 3);
    unsetenv("PMI_SIZE");
}

static void commands_of_one_process_are_refused_under_a_launcher(void **state)
{
    (void)state;
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    cli_expect(2, NULL, "one of 4 processes", "simulate examples/notes/particle.perp");
    cli_expect(2, NULL, "one of 4 processes", "plan examples/opty/push.perp");
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    cli_expect(0, "verified", NULL, "simulate examples/notes/particle.perp --to 0.1");
    unsetenv("OMPI_COMM_WORLD_SIZE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launcher_is_known_by_what_it_says),
        cmocka_unit_test(commands_of_one_process_are_refused_under_a_launcher),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
