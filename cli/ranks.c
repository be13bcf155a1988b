/* A command among several processes that a launcher began: it shares its work with them, or it is
 * refused. N copies would each do all of it and write the same files. */

#include "cli.h"

#include <stdio.h>
#include <stdlib.h>

int cli_speaks(void)
{
    static const char *const name[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
                                       "SLURM_PROCID"};
    if (perp_ranks_launched() < 2) return 1;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        const char *text = getenv(name[i]);
        if (text) return atoi(text) == 0;
    }
    return 1;
}

int cli_refuse_ranks(const char *command)
{
    int n = perp_ranks_launched();
    if (n < 2) return CLI_DONE;
    if (!cli_speaks()) return CLI_BAD_INPUT;
    cli_say(
        "perp %s: one of %d processes that a launcher began, each of which would do the same: this "
        "command runs as one process\n",
        command, n);
    return CLI_BAD_INPUT;
}

int cli_read_shard(const char *command, const char *text, int *shard, int *shards)
{
    int end = 0;
    if (sscanf(text, "%d/%d%n", shard, shards, &end) == 2 && !text[end] && *shard >= 1 &&
        *shard <= *shards) {
        --*shard;
        return CLI_DONE;
    }
    cli_say("perp %s: --shard %s: I/N is expected, with 1 <= I <= N, such as 1/4\n", command, text);
    return CLI_USAGE;
}

int cli_join_ranks(const char *command, const char *instead, int *rank, int *ranks, perp_diag *diag)
{
    int n = perp_ranks_launched();
    *rank = 0;
    *ranks = 1;
    if (n < 2) return CLI_DONE;
    perp_status status = perp_ranks_join(rank, ranks, diag);
    if (status == PERP_OK) return CLI_DONE;
    cli_say("perp %s: one of %d processes that a launcher began, which cannot share the work%s\n",
            command, n, instead);
    return status == PERP_ERR_UNAVAILABLE ? CLI_BAD_INPUT : cli_exit_code(status);
}
