/* An instance of an FMU, whatever the version of the standard: fmi2.c and fmi3.c say it in the
 * words of theirs. Functions that return a perp__fmu_status have told the importer what is
 * wrong. */

#ifndef PERP_SRC_FMU_INSTANCE_H
#define PERP_SRC_FMU_INSTANCE_H

#include <stddef.h>

/* As fmi2Status and fmi3Status count. */
typedef enum perp__fmu_status {
    PERP__FMU_OK,
    PERP__FMU_WARNING,
    PERP__FMU_DISCARD,
    PERP__FMU_ERROR,
    PERP__FMU_FATAL
} perp__fmu_status;

typedef struct perp__fmu perp__fmu;

/* Told what is wrong; `given` is the importer's. */
typedef struct perp__fmu_host {
    void (*say)(void *given, perp__fmu_status status, const char *text);
    void *given;
} perp__fmu_host;

/* folder: the FMU's resources, a path or a URI that begins with file:. token: that of its
 * description. NULL after saying why. */
perp__fmu *perp__fmu_open(const char *folder, const char *token, perp__fmu_host host);
void perp__fmu_close(perp__fmu *fmu);
void *perp__fmu_given(const perp__fmu *fmu);

/* Before the run: its times, stop NaN where the importer names none; the initialization; and its
 * end, where the run begins. */
perp__fmu_status perp__fmu_setup(perp__fmu *fmu, double start, double stop);
perp__fmu_status perp__fmu_initialize(perp__fmu *fmu);
perp__fmu_status perp__fmu_begin(perp__fmu *fmu);

/* From t by `length`; *reached: the time of the last verified step, also where there is no next
 * one. `early`: end after the internal step in which a contact or a friction force changes its
 * side. */
perp__fmu_status perp__fmu_step(perp__fmu *fmu, double t, double length, int early,
                                double *reached);
double perp__fmu_reached(const perp__fmu *fmu);

/* Derivatives of the variables `unknown` at the end of the last step, which held whole internal
 * steps, by the inputs `known` of that step, along `seed`, one for each known. In the
 * initialization: derivatives at the start by parameters, states and inputs. */
perp__fmu_status perp__fmu_derive(perp__fmu *fmu, const unsigned *unknown, size_t nunknown,
                                  const unsigned *known, size_t nknown, const double *seed,
                                  double *derivative);

/* As it was opened. */
perp__fmu_status perp__fmu_reset(perp__fmu *fmu);

perp__fmu_status perp__fmu_get(perp__fmu *fmu, const unsigned *reference, size_t n, double *value);
perp__fmu_status perp__fmu_set(perp__fmu *fmu, const unsigned *reference, size_t n,
                               const double *value);

/* The message for a call that our FMUs do not support; FMU_OK if it requests nothing (n = 0). */
perp__fmu_status perp__fmu_refuse(perp__fmu *fmu, size_t n, const char *call);

/* A state: bytes that can be stored in a file, allocated with malloc in *state, which may hold an
 * older one. Its size, restoring it, and a state from bytes. */
perp__fmu_status perp__fmu_keep(perp__fmu *fmu, void **state);
size_t perp__fmu_kept_size(const void *state);
perp__fmu_status perp__fmu_take(perp__fmu *fmu, const void *state);
perp__fmu_status perp__fmu_copy(perp__fmu *fmu, const void *bytes, size_t size, void **state);

#endif
