/* A sweep by as many processes as began it: alone, or as `mpirun -n 4 example_29_ranks`. */

#include <perp/ranks.h>
#include <perp/sweep.h>

#include <stdio.h>

static perp_status take(void *context, const perp_sweep_result *result)
{
    long *verified = context;
    *verified += result->status == PERP_OK;
    return PERP_OK;
}

int main(void)
{
    static const char *const vary[] = {"mu=0.1:0.5:32"}, *const keep[] = {"final(x)"};
    perp_diag diag = {0};
    perp_model *model = NULL;
    perp_sweep *sweep = NULL;
    perp_status status = PERP_OK;
    long verified = 0;
    int rank = 0, ranks = 1;
    if (perp_ranks_launched() > 1) status = perp_ranks_join(&rank, &ranks, &diag);
    if (status == PERP_OK) status = perp_model_load("examples/notes/particle.perp", &model, &diag);
    perp_sweep_options o = perp_sweep_options_default();
    o.vary = vary, o.nvary = 1, o.keep = keep, o.nkeep = 1;
    if (status == PERP_OK) status = perp_sweep_create(model, &o, &sweep, &diag);
    if (perp_ranks_most(status !=
                        PERP_OK)) { /* one that cannot go on would keep the others waiting */
        fprintf(stderr, "%s%s\n", perp_diag_text(&diag), perp_status_message(status));
    } else {
        perp_sweep_run_options run = perp_sweep_run_options_default();
        run.ranks = 1; /* alone this changes nothing */
        status = perp_sweep_run(sweep, &run, take, &verified);
        if (rank == 0) printf("%ld runs by %d processes\n", verified, ranks);
        if (rank == 0) printf("%s\n", status == PERP_OK && verified == 32 ? "ok" : "failed");
    }
    perp_ranks_leave();
    perp_sweep_destroy(sweep);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    return status != PERP_OK;
}
