/* Processes that share their work: those of one launcher, through libperp-mpi.so, or those of one
 * folder (ranks_folder.c). */

#include "external/ranks.h"

#include "external/plugin.h"

#include <limits.h>
#include <stdlib.h>

static perp__speech speech;
static int rank, size = 1, is_joined;

int perp__rank(void)
{
    return rank;
}

int perp__ranks(void)
{
    return size;
}

int perp_ranks_launched(void)
{
    static const char *const name[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE",
                                       "SLURM_STEP_NUM_TASKS"};
    int most = 1;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        const char *text = getenv(name[i]);
        int n = text ? atoi(text) : 0;
        if (n > most) most = n;
    }
    return most;
}

static perp_status load(int (**begin)(int *, int *), perp_diag *diag)
{
    static int state;
    static int (*mpi_begin)(int *, int *);
    static perp__speech mpi;
    const perp__library_symbol symbol[] = {
        {"perp_mpi_begin", &mpi_begin},   {"perp_mpi_end", &mpi.end},
        {"perp_mpi_abort", &mpi.abort},   {"perp_mpi_send", &mpi.send},
        {"perp_mpi_probe", &mpi.probe},   {"perp_mpi_receive", &mpi.receive},
        {"perp_mpi_gather", &mpi.gather}, {"perp_mpi_most", &mpi.most}};
    perp_status status = perp__plugin_load("mpi", "MPI (libopenmpi-dev)",
                                           sizeof symbol / sizeof *symbol, symbol, &state, diag);
    *begin = mpi_begin;
    speech = mpi;
    return status;
}

perp_status perp_ranks_join(int *my_rank, int *count, perp_diag *diag)
{
    int (*begin)(int *, int *);
    if (!my_rank || !count || is_joined) return PERP_ERR_ARG;
    perp_status status = load(&begin, diag);
    if (status != PERP_OK) return status;
    if (!begin(&rank, &size))
        return perp__refuse(diag, PERP_ERR_UNAVAILABLE, perp__in(NULL), "MPI cannot begin\n");
    is_joined = 1;
    if (size < perp_ranks_launched()) {
        perp__refuse(
            diag, PERP_ERR_UNAVAILABLE, perp__in(NULL),
            "the launcher began %d processes, but MPI sees %d: it is the launcher of another MPI "
            "than that of libperp-mpi.so\n",
            perp_ranks_launched(), size);
        perp_ranks_leave();
        return PERP_ERR_UNAVAILABLE;
    }
    *my_rank = rank;
    *count = size;
    return PERP_OK;
}

perp_status perp_ranks_join_folder(const char *folder, int shard, int shards, int resume,
                                   perp_ranks_wait wait, void *context, perp_diag *diag)
{
    if (!folder || !folder[0] || shard < 0 || shard >= shards || is_joined) return PERP_ERR_ARG;
    perp_status status = perp__folder_begin(folder, shard, shards, resume, wait, context, diag);
    if (status != PERP_OK) return status;
    speech = perp__speech_of_folder;
    rank = shard;
    size = shards;
    is_joined = 1;
    return PERP_OK;
}

void perp_ranks_leave(void)
{
    if (is_joined) speech.end();
    rank = 0;
    size = 1;
    is_joined = 0;
}

void perp_ranks_abort(int exit_code)
{
    if (is_joined) speech.abort(exit_code);
}

const char *perp__ranks_fault(void)
{
    const char *text = speech.fault ? speech.fault() : "";
    return text[0] ? text : "another process has ended";
}

static perp_status is_done(int ok)
{
    return ok ? PERP_OK : PERP_ERR_UNAVAILABLE;
}

perp_status perp__ranks_send(int to, const void *bytes, size_t n)
{
    return is_done(n <= INT_MAX && speech.send(to, bytes, (int)n));
}

perp_status perp__ranks_probe(int *from, size_t *n)
{
    int found = 0;
    perp_status status = is_done(speech.probe(from, &found));
    *n = (size_t)found;
    return status;
}

perp_status perp__ranks_receive(int from, void *bytes, size_t n)
{
    return is_done(n <= INT_MAX && speech.receive(from, bytes, (int)n));
}

perp_status perp__ranks_gather(double *values, const int *begin)
{
    int *count = malloc((size_t)size * sizeof *count);
    if (!count) return PERP_ERR_MEMORY;
    for (int i = 0; i < size; i++) count[i] = begin[i + 1] - begin[i];
    perp_status status = is_done(speech.gather(values, count, begin));
    free(count);
    return status;
}

int perp_ranks_most(int value)
{
    if (is_joined) speech.most(&value);
    return value;
}
