/* A model's equations and pairs as C functions that CasADi loads, with exact derivatives. */

#include <perp/export.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    const char *file = argc > 1 ? argv[1] : "/dev/null"; /* only tried */
    perp_diag diag = {0};
    perp_model *model = NULL;
    perp_casadi_info info = {.size = sizeof info};
    perp_casadi_options o = perp_casadi_options_default();
    o.order = 1;
    perp_status status = perp_model_load("examples/mechanics/square.perp", &model, &diag);
    if (status == PERP_OK) status = perp_export_casadi(model, &o, file, &info, &diag);
    if (status == PERP_OK)
        printf("ok: %d equations, %d pairs; %d functions, %d statements in all\n", info.equations,
               info.pairs, info.functions, info.statements);
    else
        fprintf(stderr, "%s%s\n", perp_diag_text(&diag), perp_status_message(status));
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    return status != PERP_OK;
}
