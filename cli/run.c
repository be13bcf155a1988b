/* What commands that run for a while share: a clock, the command line in a table's metadata. */

#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
