/* The language front end under arbitrary bytes: parse, with an outline and without, and if that succeeds check it, prepare a run and take
 * a few steps, and plan it if it has a plan. With libFuzzer (make fuzz) coverage guides it; built plainly, the same file replays
 * the files it is given, as the tests do. */

#include "cpu_limit.h"
#include "../tests/support/outcomes.h"
#include "perp/perp.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MOST_UNKNOWNS = 30
}; /* of a model that is run and planned: the language is at test, and larger ones take seconds */

static int is_small(const perp_model *model)
{
    return perp_model_equations(model) + perp_model_pairs(model) <= MOST_UNKNOWNS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    limit_cpu();
    perp_diag diag = {0};
    perp_model *model;
    perp_outline *outline;
    if (perp_outline_create((const char *)data, size, "fuzz.perp", NULL, &outline, NULL) == PERP_OK)
        perp_outline_destroy(outline);
    if (perp_model_parse((const char *)data, size, "fuzz.perp", &model, &diag) == PERP_OK) {
        perp_simulation_options o = perp_simulation_options_default(model);
        perp_simulation *sim = NULL;
        o.from = 0;
        o.to = 0.3;
        o.step = 0.1;
        perp_check_report report = {.size = sizeof report};
        if (is_small(model)) perp_check(model, &o, &report, &diag);
        if (is_small(model) && perp_simulation_create(model, &o, &sim, &diag) == PERP_OK)
            simulation_run(sim, NULL, NULL, &diag);
        perp_simulation_destroy(sim);
    }
    if (model && is_small(model)) {
        perp_plan_options po = perp_plan_options_default(model);
        perp_plan_result result = {.size = sizeof result};
        perp_plan *plan = NULL;
        po.nodes = 4;
        po.max_iter = 5;
        po.restarts = 0;
        po.refine = size % 8 == 0; /* slower */
        if (size % 5 == 0 && perp_model_count(model, PERP_PARAM) > 0)
            po.homotopy = perp_model_symbol(model, PERP_PARAM, 0).name;
        if (perp_plan_create(model, &po, &plan, &diag) == PERP_OK)
            perp_plan_solve(plan, &result, &diag);
        perp_plan_destroy(plan);
    }
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    return 0;
}

#include "replay.h"
