/* Verdicts that have to say no: a right answer is damaged in one condition by a part of that condition's own scale. Much less than the tolerance
 * holds, a little more does not, nor does anything larger. */

#ifndef PERP_TEST_DAMAGE_H
#define PERP_TEST_DAMAGE_H

#include "unit.h"

#include <stdio.h>

/* The error that a verdict gives a right answer whose condition is off by `by` of its scale; of either sign, unless the condition has one side. */
typedef double (*damaged_error)(const void *scene, double by);

/* A verdict that is known to be wrong: of which engine and condition, and why. It is counted, and has to be wrong still. */
typedef struct known_fault {
    const char *engine, *condition, *reason;
    int seen;
} known_fault;

static inline int *damaged_count(void)
{
    static int count;
    return &count;
}

/* What is wrong with the verdict, or NULL. */
static inline const char *damage_fault(damaged_error error, const void *scene, double tol,
                                       double *by, double *said)
{
    static const double wrong[] = {3, 1e2, 1e4, 1e6}, right[] = {0, 0.01};
    for (int k = 0; k < 2; k++) {
        *said = error(scene, *by = right[k] * tol);
        if (!(*said <= tol)) return "is refused";
    }
    for (int k = 0; k < 4; k++) {
        *said = error(scene, *by = wrong[k] * tol);
        if (!(*said > tol)) return "is accepted";
    }
    return NULL;
}

static inline void expect_damage_seen(const char *engine, const char *condition,
                                      damaged_error error, const void *scene, double tol,
                                      known_fault *known)
{
    double by, said;
    const char *fault = damage_fault(error, scene, tol, &by, &said);
    ++*damaged_count();
    for (known_fault *k = known; k && k->engine; k++)
        if (strcmp(k->engine, engine) == 0 && strcmp(k->condition, condition) == 0) {
            if (!fault)
                fail_msg("%s, %s: no fault any more; take it off the list", engine, condition);
            k->seen++;
            return;
        }
    if (fault)
        fail_msg("%s, %s: off by %.2g of its scale %s: error %.3g, tolerance %.2g", engine,
                 condition, by, fault, said, tol);
}

/* Every fault on the list was met. */
static inline void expect_faults_met(const known_fault *known)
{
    for (const known_fault *k = known; k && k->engine; k++)
        if (!k->seen) fail_msg("%s, %s was not tried", k->engine, k->condition);
    print_message("%d conditions damaged\n", *damaged_count());
}

#endif
