/* A model, "---", a recorded run: parameters from arbitrary columns. With libFuzzer (make fuzz FUZZ=identify) coverage guides it;
 * built plainly, the same file replays the files it is given. */

#include "cpu_limit.h"
#include "parts.h"
#include "../tests/support/outcomes.h"
#include "perp/perp.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_ROWS = 40 };

static void identify(const perp_model *model, const perp_dataset *runs, perp_diag *diag)
{
    perp_identify_options o;
    perp_identification found = {.size = sizeof found};
    if (perp_identify_options_default(model, &o, diag) != PERP_OK) return;
    o.starts = 1;
    o.max_iter = 3;
    if (run_identify(model, runs, &o, &found, diag) == PERP_OK) perp_identification_clear(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    limit_cpu();
    const char *run;
    size_t nrun, n = first_part((const char *)data, size, &run, &nrun);
    perp_diag diag = {0};
    perp_model *model = NULL;
    perp_trajectory *table = NULL;
    perp_dataset *runs = NULL;
    perp_status status = perp_model_parse((const char *)data, n, "fuzz.perp", &model, &diag);
    if (status == PERP_OK) status = perp_trajectory_parse(run, nrun, "run.csv", &table, &diag);
    if (status == PERP_OK) status = perp_dataset_create(&runs);
    if (status == PERP_OK && perp_trajectory_rows(table) <= MOST_ROWS) {
        status = perp_dataset_add(runs, table, "run.csv", &diag); /* takes the table over */
        table = NULL;
        if (status == PERP_OK) identify(model, runs, &diag);
    }
    perp_dataset_destroy(runs);
    perp_trajectory_destroy(table);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    return 0;
}

#include "replay.h"
