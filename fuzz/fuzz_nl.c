/* The reader of .nl files, text and binary, under arbitrary bytes. */

#include "cpu_limit.h"
#include "perp/program.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    limit_cpu();
    perp_diag diag = {0};
    perp_program *program;
    perp_status status = perp_program_parse((const char *)data, size, "fuzz.nl", &program, &diag);
    if ((status == PERP_OK) != (program != NULL) || (status == PERP_ERR_DATA && diag.errors == 0))
        abort();
    perp_program_destroy(program);
    perp_diag_clear(&diag);
    return 0;
}

#include "replay.h"
