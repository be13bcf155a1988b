#include "random.h"

#include <math.h>

double uniform(uint64_t *seed, double lo, double hi)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return lo + (hi - lo) * (double)(*seed >> 11) * 0x1p-53;
}

double normal(uint64_t *seed)
{
    double r = sqrt(-2 * log(1 - uniform(seed, 0, 1)));
    return r * cos(8 * atan(1) * uniform(seed, 0, 1));
}

double normal_of_twelve(uint64_t *seed)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += uniform(seed, 0, 1);
    return sum;
}
