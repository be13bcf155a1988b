/* Random numbers of the experiments: the same on every machine. */

#ifndef PERP_EXPERIMENT_RANDOM_H
#define PERP_EXPERIMENT_RANDOM_H

#include <stdint.h>

double uniform(uint64_t *seed, double lo, double hi);
double normal(uint64_t *seed);
double normal_of_twelve(uint64_t *seed); /* the sum of 12 uniform ones: nothing beyond 6 */

#endif
