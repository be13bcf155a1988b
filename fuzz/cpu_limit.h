/* An input ends the fuzzer when it takes this long, in time of the processor: libFuzzer's own -timeout counts time of the clock, which a busy machine
 * makes long. Replayed inputs are not limited. */

#ifndef PERP_FUZZ_CPU_LIMIT_H
#define PERP_FUZZ_CPU_LIMIT_H

enum { MOST_CPU_SECONDS = 20 };

#ifdef PERP_LIBFUZZER

#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static inline void cpu_spent(int signal)
{
    static const char said[] = "an input took more than its time of the processor\n";
    (void)signal;
    if (write(2, said, sizeof said - 1)) abort(); /* so that the input is kept */
    abort();
}

/* Begin to count anew. */
static inline void limit_cpu(void)
{
    struct itimerval t = {.it_value = {MOST_CPU_SECONDS, 0}};
    signal(SIGPROF, cpu_spent);
    setitimer(ITIMER_PROF, &t, NULL);
}

#else

static inline void limit_cpu(void) {}

#endif

#endif
