/* An identification by processes that have a folder in common and no launcher: `example_31_shards I N FOLDER`, begun N times, with I = 1 .. N,
 * at about the same time; without arguments it is the only one. */

#include <perp/identify.h>
#include <perp/ranks.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Five minutes without a word: the other is not there any more. */
static int waits(void *context, int shard, double seconds)
{
    (void)context;
    if (seconds > 300) fprintf(stderr, "shard %d says nothing\n", shard + 1);
    return seconds > 300;
}

int main(int argc, char **argv)
{
    int shard = argc > 3 ? atoi(argv[1]) - 1 : 0, shards = argc > 3 ? atoi(argv[2]) : 1;
    perp_diag diag = {0};
    perp_model *model = NULL;
    perp_dataset *data = NULL;
    perp_identify_options options;
    perp_identification answer = {.size = sizeof answer};
    perp_status status = PERP_OK;
    if (shards > 1) status = perp_ranks_join_folder(argv[3], shard, shards, 0, waits, NULL, &diag);
    int good = status == PERP_OK &&
               perp_model_load("examples/identify/block.perp", &model, &diag) == PERP_OK &&
               perp_dataset_create(&data) == PERP_OK &&
               perp_dataset_read(data, "examples/identify/block.csv", &diag) == PERP_OK &&
               perp_identify_options_default(model, &options, &diag) == PERP_OK;
    if (!good)
        perp_ranks_abort(1); /* the others would wait */
    else
        options.ranks = 1; /* alone this changes nothing */
    good = good && perp_identify(model, data, &options, &answer, &diag) == PERP_OK &&
           answer.outcome == PERP_SOLVED;
    if (good) {
        double mass = answer.parameter[0].value;
        good = fabs(mass - 1.3) < 0.01;
        if (shard == 0) printf("m = %.4f kg, by %d\n%s\n", mass, shards, good ? "ok" : "wrong");
        perp_identification_clear(&answer);
    }
    fputs(perp_diag_text(&diag), stderr);
    perp_ranks_leave();
    perp_dataset_destroy(data);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    return good ? 0 : 1;
}
