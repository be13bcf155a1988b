/* Independent jobs on several threads. Jobs are handed out as threads come free. So a job must not
 * depend on which thread does it or what that thread did before. */

#ifndef PERP_SRC_PARALLEL_H
#define PERP_SRC_PARALLEL_H

/* Number of processors that this process can use, at least 1. */
int perp__processors(void);

/* Do job(context, thread, i) for i = 0 .. n-1, thread = 0 .. threads-1. Threads that cannot be
 * started are done without. */
void perp__parallel(int threads, int n, void (*job)(void *context, int thread, int i),
                    void *context);

#endif
