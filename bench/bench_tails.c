/* Linear problems one by one, for counting the instructions of each: what `counted` runs. scripts/tails runs this
 * under callgrind.
 *
 *     bench_tails COUNT [CLASS...]          solves COUNT problems of each size of the classes, default all
 *     bench_tails --list COUNT [CLASS...]   their class and size, a line each, in the same order */

#include "generate/lcp_classes.h"
#include "perp/perp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Small ones, the kernels of one size, and what lies on both sides of a limit of the solvers: 8, 32, 64, 100, 200. */
static const int sizes[] = {1, 2, 3, 4, 8, 9, 16, 32, 33, 64, 65, 100, 101, 150, 200, 201, 300};

enum { NSIZE = sizeof sizes / sizeof *sizes };

typedef struct problem {
    perp_lcp_solver *solver;
    perp_lcp lcp;
    double *z;
    perp_lcp_info info;
} problem;

/* The name and the return of this function are the borders of what is counted. */
__attribute__((noinline)) void counted(problem *p);
void counted(problem *p)
{
    perp_lcp_solve(p->solver, &p->lcp, p->z, NULL, &p->info);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

static void fail(const char *what, const char *name, int n, int seed)
{
    fprintf(stderr, "bench_tails: %s: class %s, n = %d, seed %d\n", what, name, n, seed);
    exit(2);
}

static void solve(lcp_class c, int n, int seed)
{
    problem p = {.lcp = lcp_generate(c, n, (unsigned long long)seed),
                 .z = calloc((size_t)n, sizeof(double)),
                 .info = {.size = sizeof p.info}};
    const char *name = lcp_class_name(c);
    if (!p.lcp.M || !p.z || perp_lcp_solver_create(PERP_LCP_AUTO, n, NULL, &p.solver) != PERP_OK)
        fail("out of memory", name, n, seed);
    counted(&p);
    if (p.info.outcome != PERP_SOLVED) fail("not solved", name, n, seed);
    perp_lcp_solver_destroy(p.solver);
    free((void *)(size_t)p.lcp.M);
    free(p.z);
}

/* Each size of the class once: several of the list may give the same. */
static void go_through(lcp_class c, int count, int lists)
{
    for (int k = 0, last = 0; k < NSIZE; k++) {
        int n = lcp_class_size(c, sizes[k]);
        if (n == last) continue;
        last = n;
        for (int seed = 1; seed <= count; seed++) {
            if (lists)
                printf("%s %d\n", lcp_class_name(c), n);
            else
                solve(c, n, seed);
        }
    }
}

static int is_wanted(lcp_class c, int count, char **names)
{
    int found = count == 0;
    for (int i = 0; i < count; i++) found |= strcmp(names[i], lcp_class_name(c)) == 0;
    return found;
}

int main(int argc, char **argv)
{
    int lists = argc > 1 && strcmp(argv[1], "--list") == 0, first = 1 + lists;
    int count = argc > first ? atoi(argv[first]) : 0;
    if (count < 1) {
        fprintf(stderr, "bench_tails [--list] COUNT [CLASS...]\n");
        return 1;
    }
    for (int i = first + 1; i < argc; i++) {
        if (lcp_class_find(argv[i]) == LCP_NCLASS) {
            fprintf(stderr, "bench_tails: no class '%s'\n", argv[i]);
            return 1;
        }
    }
    for (int c = 0; c < LCP_NCLASS; c++) {
        if (is_wanted((lcp_class)c, argc - first - 1, argv + first + 1))
            go_through((lcp_class)c, count, lists);
    }
    return 0;
}
