/* Ctrl-C and its like: they end the process, or ask a run to stop. */

#include "cli.h"

#include <signal.h>

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

static void on_end(int signal_number)
{
    perp_file_abandon();
    raise(signal_number); /* the default action, once this has returned */
}

static void handle(void (*handler)(int))
{
    const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | (int)SA_RESETHAND},
                     before;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < 3; i++) {
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
