/* A model, "---", a guess as a table: a plan that starts from arbitrary columns, and is written. What is said to hold has finite
 * numbers. With libFuzzer (make fuzz FUZZ=plan) coverage guides it; built plainly, the same file replays the files it is given. */

#include "cpu_limit.h"
#include "parts.h"
#include "perp/perp.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rows(const perp_plan *plan)
{
    int n = perp_plan_columns(plan);
    double *row = malloc((size_t)n * sizeof *row);
    for (int k = 0; row && k < perp_plan_rows(plan); k++) {
        perp_plan_row(plan, k, row);
        for (int c = 0; c < n; c++) {
            if (row[c] - row[c] == 0) continue;
            fprintf(stderr, "not finite: %s\n", perp_plan_column_name(plan, c));
            abort();
        }
    }
    free(row);
}

static void plan_from(const perp_model *model, const char *guess, size_t n, perp_diag *diag)
{
    perp_plan_options o = perp_plan_options_default(model);
    perp_plan_result result = {.size = sizeof result};
    perp_plan *plan = NULL;
    perp_trajectory *table = NULL;
    o.nodes = 4;
    o.max_iter = 5;
    o.restarts = o.refine = o.replay = 0;
    perp_status status = perp_plan_create(model, &o, &plan, diag);
    if (status == PERP_OK && n) {
        status = perp_trajectory_parse(guess, n, "guess.csv", &table, diag);
        if (status == PERP_OK) status = perp_plan_set_guess(plan, table, "guess.csv", diag);
    }
    if (status == PERP_OK && perp_plan_solve(plan, &result, diag) == PERP_OK &&
        perp_plan_holds(result.outcome))
        check_rows(plan);
    perp_trajectory_destroy(table);
    perp_plan_destroy(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    limit_cpu();
    const char *guess;
    size_t nguess, n = first_part((const char *)data, size, &guess, &nguess);
    perp_diag diag = {0};
    perp_model *model = NULL;
    if (perp_model_parse((const char *)data, n, "fuzz.perp", &model, &diag) == PERP_OK)
        plan_from(model, guess, nguess, &diag);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    return 0;
}

#include "replay.h"
