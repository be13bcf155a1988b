/* Claims of the experiments on data, judged a line each. */

#ifndef PERP_EXPERIMENT_VERDICTS_H
#define PERP_EXPERIMENT_VERDICTS_H

/* Claims that failed, and other faults that the caller adds; the exit code is failures != 0. */
extern int failures;

void verdict(const char *claim, int holds);

#endif
