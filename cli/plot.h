/* A small line plot for the terminal, fed row by row and kept in a fixed number of bins. */

#ifndef PERP_CLI_PLOT_H
#define PERP_CLI_PLOT_H

#include <stdio.h>

typedef struct cli_plot cli_plot;

/* `rows` is how many rows will come; they are split into the bins evenly. `out`: where it will be
 * drawn, as wide as that terminal. NULL when memory is out. */
cli_plot *cli_plot_create(int nseries, const char *const *names, const char *const *units,
                          long rows, FILE *out);
void cli_plot_destroy(cli_plot *plot);

/* Row number `row` (from 0), with the value of each series. */
void cli_plot_add(cli_plot *plot, long row, double t, const double *values);

/* Draw all series over time. Braille dots, or ASCII when `plain`. */
void cli_plot_print(const cli_plot *plot, FILE *out, int plain);

/* Does the terminal take more than ASCII, by the locale's name? */
int cli_speaks_utf8(void);

#endif
