/* What commands that run for a while share: signals, a clock, the command line in a table's metadata. */

#include "cli.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

double cli_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

perp_integrator cli_recommend(const perp_model *model)
{
    perp_integrator fits = perp_simulation_recommend(model);
    if (fits < PERP_INTEGRATOR_COUNT) return fits;
    cli_exit_code(PERP_ERR_MEMORY);
    return PERP_BACKWARD_EULER;
}

int cli_is_dash(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

FILE *cli_text_stream(const char *out, const char *page)
{
    return cli_is_dash(out) || cli_is_dash(page) ? stderr : stdout;
}

void cli_write_parameters(perp_trajectory_writer *w, const perp_model *model)
{
    char line[8192], value[PERP_NUMBER_SIZE];
    for (int i = 0; i < perp_model_count(model, PERP_PARAM); i++) {
        perp_symbol s = perp_model_symbol(model, PERP_PARAM, i);
        perp_number_write(s.value, value);
        snprintf(line, sizeof line, "param %s = %s%s%s", s.name, value, s.unit[0] ? " " : "",
                 s.unit);
        perp_trajectory_writer_comment(w, line);
    }
}

perp_status cli_write_words(perp_trajectory_writer *w, const char *what, const char *const *word,
                            int n)
{
    size_t size = strlen(what) + 1;
    for (int i = 0; i < n; i++) size += strlen(word[i]) + 1;
    char *line = malloc(size), *end = line;
    if (!line) return PERP_ERR_MEMORY;
    end += sprintf(end, "%s", what);
    for (int i = 0; i < n; i++) end += sprintf(end, " %s", word[i]);
    perp_status status = perp_trajectory_writer_comment(w, line);
    free(line);
    return status;
}
