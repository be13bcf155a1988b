/* Files of an FMU beside the library, as both sides define them: the variables of a model and their
 * numbers, and the settings of the run in resources/perp.txt, one a line. */

#ifndef PERP_SRC_EXPORT_H
#define PERP_SRC_EXPORT_H

#include "perp/export.h"
#include "base/text.h"

typedef enum perp__fmu_role {
    PERP__FMU_TIME,
    PERP__FMU_CONSTANT,   /* a parameter that a size follows from */
    PERP__FMU_PARAMETER,  /* a number */
    PERP__FMU_CALCULATED, /* a parameter that follows from others */
    PERP__FMU_INPUT,
    PERP__FMU_STATE,
    PERP__FMU_OUTPUT,
    PERP__FMU_LOCAL,   /* vars, inputs that cannot be set, the residual */
    PERP__FMU_IMPULSE, /* of the var `index`, over the last step; by moreau */
    PERP__FMU_ROLES
} perp__fmu_role;

typedef struct perp__fmu_variable {
    const char *name, *unit;
    perp__fmu_role role;
    perp_symbol_kind kind; /* PERP_SYMBOL_KINDS: none of the model's */
    int index;
    double lo, hi;
} perp__fmu_variable;

/* The variables of an FMU, in one block by malloc. Their value references are their places. NULL
 * when memory is out. With a method that locates events, inputs that are functions of time or
 * tables cannot be set, and are none. By moreau forces have impulses: the rows of a run from
 * o->from, which ends after a step, are looked at. */
perp__fmu_variable *perp__fmu_variables(const perp_model *model, const perp_simulation_options *o,
                                        int *n);

/* Let the run's options name the inputs among them; names are in `list`, malloc'ed. Returns 0 when
 * memory is out. */
int perp__fmu_drive(const perp__fmu_variable *variable, int n, perp_simulation_options *options,
                    const char ***list);

/* code_names.c: the name of a model as a name of C. */
void perp__identifier(char *identifier, size_t room, const char *name);

#define PERP__FMU_SETTINGS "perp.txt"

/* A zip file with stored entries, in memory. */
typedef struct perp__zip {
    perp__text bytes;
    struct perp__zip_entry *entry;
    int nentry, centry;
    int failed; /* memory is out, or more than 4 GB */
} perp__zip;

/* Add a file; the name is copied. Errors are kept in `failed`. */
void perp__zip_add(perp__zip *zip, const char *name, const void *bytes, size_t n);
/* Append the directory. */
void perp__zip_end(perp__zip *zip);
void perp__zip_clear(perp__zip *zip);

/* modelDescription.xml. */
typedef struct perp__fmu_description {
    const perp_model *model;
    const perp__fmu_variable *variable;
    int n, version;
    const char *identifier, *token;
    double from, to, step;
} perp__fmu_description;
void perp__fmu_describe(const perp__fmu_description *d, perp__text *out);

#endif
