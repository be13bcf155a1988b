/* The readers of OBJ and STL under arbitrary bytes, and the hull of what they give. */

#include "cpu_limit.h"
#include "perp/shapes.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    limit_cpu();
    perp_diag diag = {0};
    perp_mesh *mesh;
    perp_status status = perp_mesh_parse((const char *)data, size, "fuzz", NULL, &mesh, &diag);
    if ((status == PERP_OK) != (mesh != NULL) || (status != PERP_OK && diag.errors == 0)) abort();
    perp_mesh_destroy(mesh);
    perp_diag_clear(&diag);
    return 0;
}

#include "replay.h"
