/* Generated linear complementarity problems, for benchmarks and tests: random matrices of the known
 * classes, and contact problems with friction pyramids (Anitescu and Potra 1997),
 *
 *     M = [ N'A N   N'A D   0 ]      q = [ N'v ]
 *         [ D'A N   D'A D   E ]          [ D'v ]
 *         [  mu      -E'    0 ]          [  0  ]
 *
 * with A the inverse mass matrix and v the free velocity. All have a solution. */

#ifndef PERP_BENCH_LCP_CLASSES_H
#define PERP_BENCH_LCP_CLASSES_H

#include "perp/lcp.h"

typedef enum lcp_class {
#define LCP_CLASS(name, text, pairs, summary) LCP_##name,
#include "lcp_classes.def"
#undef LCP_CLASS
    LCP_NCLASS
} lcp_class;

const char *lcp_class_name(lcp_class c);
const char *lcp_class_summary(lcp_class c);
/* LCP_NCLASS for an unknown name. */
lcp_class lcp_class_find(const char *name);

/* The size of a problem of about n pairs: what lcp_generate makes. stack5 and stack20 have one
 * size each. */
int lcp_class_size(lcp_class c, int n);

/* A problem of lcp_class_size(c, n) pairs; the same for the same seed. M and q are one block that
 * the caller frees as (void *)lcp.M. M is NULL when out of memory. */
perp_lcp lcp_generate(lcp_class c, int n, unsigned long long seed);

#endif
