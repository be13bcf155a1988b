/* What are the mass and the friction of a block, from its recorded motion? Prints the estimates, their intervals and what the data
 * leave open.   example_06_identify [MODEL DATA] */

#include "perp/perp.h"

#include <math.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    const char *file = argc > 2 ? argv[1] : "examples/identify/block.perp",
               *recorded = argc > 2 ? argv[2] : "examples/identify/block.csv";
    perp_diag diag = {0};
    perp_model *model = NULL;
    perp_dataset *data = NULL;
    perp_identify_options options;
    perp_identification answer = {.size = sizeof answer};
    int good = perp_model_load(file, &model, &diag) == PERP_OK &&
               perp_dataset_create(&data) == PERP_OK &&
               perp_dataset_read(data, recorded, &diag) == PERP_OK &&
               perp_identify_options_default(model, &options, &diag) == PERP_OK &&
               perp_identify(model, data, &options, &answer, &diag) == PERP_OK &&
               answer.outcome == PERP_SOLVED;
    if (good) {
        for (int i = 0; i < answer.nparameter; i++) {
            const perp_estimate *e = &answer.parameter[i];
            printf("%-3s = %.4f +- %.4f, %g %% within [%.4f, %.4f]%s\n", e->name, e->value,
                   e->std_error, 100 * options.confidence, e->low, e->high,
                   e->identifiable ? "" : ": not identifiable");
        }
        for (int k = 0; k < answer.nfinding; k++) printf("- %s\n", answer.finding[k]);
        good = fabs(answer.parameter[0].value - 1.3) < 0.01 &&
               fabs(answer.parameter[1].value - 0.37) < 0.005;
        printf("%s: the block weighs 1.3 kg and its mu is 0.37\n", good ? "ok" : "wrong");
        perp_identification_clear(&answer);
    }
    fputs(perp_diag_text(&diag), stderr);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    return good ? 0 : 1;
}
