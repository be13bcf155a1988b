/* build/bench_pairs: what it costs to find the pairs of n boxes that meet, of n bodies in a pile: the sweep and looking at every pair; median CPU
 * time of 11 runs, and whether both find as many. */

#include "bodies/bodies.h"
#include "timing.h"

#include <stdio.h>

static double uniform(unsigned long long *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*state >> 11) / 9007199254740992.0;
}

static int meet(const perp__box *a, const perp__box *b)
{
    for (int k = 0; k < 3; k++)
        if (a->low[k] > b->high[k] || b->low[k] > a->high[k]) return 0;
    return 1;
}

/* Boxes of half length 0.3 to 0.5 in a cube with room for one in each unit of volume. */
static void draw(perp__box *box, int n)
{
    unsigned long long seed = 1;
    double side = cbrt(n);
    for (int i = 0; i < n; i++) {
        box[i].which = i;
        for (int k = 0; k < 3; k++) {
            double x = side * uniform(&seed), half = 0.3 + 0.2 * uniform(&seed);
            box[i].low[k] = x - half, box[i].high[k] = x + half;
        }
    }
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int main(void)
{
    enum { RUNS = 11 };
    printf("%8s %10s %12s %16s\n", "bodies", "pairs", "sweep [us]", "every pair [us]");
    for (int n = 100; n <= 10000; n *= 10) {
        perp__broad b = {.n = n, .box = calloc((size_t)n, sizeof *b.box)};
        double time[RUNS], all;
        long expected = 0;
        if (!b.box) return 1;
        for (int k = 0; k < RUNS; k++) {
            draw(b.box, n);
            double start = cpu_now();
            if (!perp__broad_pairs(&b)) return 1;
            time[k] = 1e6 * (cpu_now() - start);
        }
        qsort(time, RUNS, sizeof *time, ascending);
        double start = cpu_now();
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++) expected += meet(&b.box[i], &b.box[j]);
        all = 1e6 * (cpu_now() - start);
        printf("%8d %10d %12.0f %16.0f%s\n", n, b.npair, time[RUNS / 2], all,
               expected == b.npair ? "" : "  DIFFERENT");
        free(b.box);
        free(b.pair);
        if (expected != b.npair) return 1;
    }
    return 0;
}
