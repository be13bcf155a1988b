/* The reader of contact problems in HDF5 files under arbitrary bytes. */

#include "cpu_limit.h"
#include "perp/fclib.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    limit_cpu();
    char path[64];
    snprintf(path, sizeof path, "/tmp/perp-fuzz-%ld.h5", (long)getpid());
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) abort();
    perp_diag diag = {0};
    perp_fclib *problem;
    perp_status status = perp_fclib_read(path, &problem, &diag);
    if ((status == PERP_OK) != (problem != NULL) || (status != PERP_OK && !diag.errors)) abort();
    if (problem && perp_fclib_problem_of(problem)->nc < 0) abort();
    perp_fclib_destroy(problem);
    perp_diag_clear(&diag);
    remove(path);
    return 0;
}

#include "replay.h"
