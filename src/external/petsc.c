/* PETSc's table, from libperp-petsc.so; once a process. */

#include "external/petsc.h"

#include "external/plugin.h"
#include "perp/ranks.h"

static const perp__petsc *table;
static int is_over;

perp_status perp__petsc_begin(const perp__petsc **petsc, perp_diag *diag)
{
    static int state;
    static const perp__petsc *(*begin)(void);
    const perp__library_symbol symbol = {"perp_petsc_table", &begin};
    perp_status status = PERP_OK;
    if (!table && !is_over) {
        status = perp__plugin_load("petsc", "PETSc (petsc-dev)", 1, &symbol, &state, diag);
        if (status != PERP_OK) return status;
        table = begin();
    }
    if (!table || table->bytes != sizeof *table)
        return perp__refuse(diag, PERP_ERR_UNAVAILABLE, perp__in(NULL), "PETSc %s\n",
                            is_over ? "has ended in this process" : "cannot begin");
    if (table->size < perp_ranks_launched())
        return perp__refuse(diag, PERP_ERR_UNAVAILABLE, perp__in(NULL),
                            "the launcher began %d processes, but PETSc's MPI sees %d: it is the "
                            "launcher of another MPI\n",
                            perp_ranks_launched(), table->size);
    *petsc = table;
    return PERP_OK;
}

const perp__petsc *perp__petsc_begun(void)
{
    return table;
}

void perp__petsc_end(void)
{
    if (table) table->end();
    is_over = is_over || table;
    table = NULL;
}
