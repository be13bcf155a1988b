/* libperp-mpi.so: processes that a launcher began together, by MPI. Plain types only cross its
 * border. Messages are bytes between processes of one build; 0 is returned where the library
 * reports an error, such as a process that has died. */

#include "plugin.h"

#include <mpi.h>

PERP_PLUGIN int perp_mpi_begin(int *rank, int *size);
PERP_PLUGIN int perp_mpi_end(void);
PERP_PLUGIN void perp_mpi_abort(int code);
PERP_PLUGIN int perp_mpi_send(int to, const void *bytes, int n);
PERP_PLUGIN int perp_mpi_probe(int *from, int *n);
PERP_PLUGIN int perp_mpi_receive(int from, void *bytes, int n);
PERP_PLUGIN int perp_mpi_gather(double *values, const int *count, const int *begin);
PERP_PLUGIN int perp_mpi_most(int *value);

enum { TAG = 1 };

int perp_mpi_begin(int *rank, int *size)
{
    int given;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS) return 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return MPI_Comm_rank(MPI_COMM_WORLD, rank) == MPI_SUCCESS &&
           MPI_Comm_size(MPI_COMM_WORLD, size) == MPI_SUCCESS && given >= MPI_THREAD_FUNNELED;
}

int perp_mpi_end(void)
{
    return MPI_Finalize() == MPI_SUCCESS;
}

void perp_mpi_abort(int code)
{
    MPI_Abort(MPI_COMM_WORLD, code);
}

int perp_mpi_send(int to, const void *bytes, int n)
{
    return MPI_Send(bytes, n, MPI_BYTE, to, TAG, MPI_COMM_WORLD) == MPI_SUCCESS;
}

/* From whom a message of how many bytes has come; *from < 0: there is none. */
int perp_mpi_probe(int *from, int *n)
{
    int is_there;
    MPI_Status status;
    *from = -1;
    if (MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &is_there, &status) != MPI_SUCCESS)
        return 0;
    if (!is_there) return 1;
    *from = status.MPI_SOURCE;
    return MPI_Get_count(&status, MPI_BYTE, n) == MPI_SUCCESS;
}

int perp_mpi_receive(int from, void *bytes, int n)
{
    return MPI_Recv(bytes, n, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
           MPI_SUCCESS;
}

/* Each has count[rank] values from begin[rank] on; then all have all. */
int perp_mpi_gather(double *values, const int *count, const int *begin)
{
    return MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, count, begin, MPI_DOUBLE,
                          MPI_COMM_WORLD) == MPI_SUCCESS;
}

/* The largest of all. */
int perp_mpi_most(int *value)
{
    return MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS;
}
