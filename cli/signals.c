/* Ctrl-C and its like: they end the process, or ask a run to stop. */

#include "cli.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void handle(void (*handler)(int));

static void say_why(int signal_number)
{
    const char *text = "";
    if (signal_number == SIGALRM)
        text = "perp: the time of --timeout is over\n";
    else if (signal_number == SIGXCPU)
        text = "perp: the limit of processor time is reached\n";
    ssize_t n = write(2, text, strlen(text));
    (void)n;
}

static void on_end(int signal_number)
{
    perp_file_abandon();
    if (!interrupted) say_why(signal_number);
    if (signal_number == SIGALRM || signal_number == SIGXCPU) _exit(CLI_INTERRUPTED);
    signal(signal_number, SIG_DFL);
    raise(signal_number); /* the default action, once this has returned */
}

static void on_interrupt(int signal_number)
{
    if (!interrupted) say_why(signal_number);
    interrupted = 1;
    handle(on_end); /* of a second one */
}

static void handle(void (*handler)(int))
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGALRM};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        sigaction(signals[i], NULL, &before);
        if (signals[i] == SIGHUP && before.sa_handler == SIG_IGN) continue; /* nohup */
        sigaction(signals[i], &action, NULL);
    }
}

void cli_clean_up_on_signals(void)
{
    handle(on_end);
}

void cli_catch_signals(void)
{
    handle(on_interrupt);
}

int cli_is_interrupted(void)
{
    return interrupted;
}

static struct timeval seconds_of(double t)
{
    const double LONGEST = 1e9;
    if (t > LONGEST) t = LONGEST;
    return (struct timeval){(time_t)t, (suseconds_t)(1e6 * (t - (double)(time_t)t))};
}

int cli_keep_to(const cli_budget *b)
{
    const double GRACE = 5; /* [s] for what does not ask whether to stop */
    const double MEGA = 1 << 20;
    if (b->seconds > 0) {
        double first = b->seconds < 1e-6 ? 1e-6 : b->seconds;
        struct itimerval timer = {seconds_of(GRACE), seconds_of(first)};
        setitimer(ITIMER_REAL, &timer, NULL);
    }
    if (!(b->megabytes > 0)) return 1;
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0) return 0;
    rlim_t bytes = b->megabytes < 1e12 ? (rlim_t)(b->megabytes * MEGA) : RLIM_INFINITY;
    if (limit.rlim_max != RLIM_INFINITY && bytes > limit.rlim_max) bytes = limit.rlim_max;
    limit.rlim_cur = bytes;
    return setrlimit(RLIMIT_AS, &limit) == 0;
}
