/* A model for other simulators: a functional mock-up unit of the particle, with another friction. */

#include <perp/export.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    const char *file = argc > 1 ? argv[1] : "/dev/null"; /* only tried */
    perp_diag diag = {0};
    perp_model *model = NULL;
    perp_status status = perp_model_load("examples/notes/particle.perp", &model, &diag);
    if (status == PERP_OK) status = perp_model_set(model, "mu", 0.3, &diag);
    perp_fmu_options o = perp_fmu_options_default();
    o.version = 2;
    if (status == PERP_OK) status = perp_export_fmu(model, &o, file, &diag);
    if (status == PERP_OK)
        printf("ok: %s\n", file);
    else
        fprintf(stderr, "%s%s\n", perp_diag_text(&diag), perp_status_message(status));
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    return status != PERP_OK;
}
