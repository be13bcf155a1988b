/* What the experiments on the reference documents share: claims with their verdicts, figures, runs of models, small
 * linear complementarity problems, random numbers (random.h). A fault (a model that does not load, no memory) ends the program
 * with a message: an experiment has no caller to hand it to. */

#ifndef PERP_EXPERIMENT_SUPPORT_H
#define PERP_EXPERIMENT_SUPPORT_H

#include "perp/perp.h"
#include "support/random.h"

/* Claims ------------------------------------------------------------------------------------------ */

/* What the list of corrections says of a claim as it is printed. */
typedef enum errata { HOLDS, SLIPS } errata;

/* Begin the study of a document: PROGRAM [FIGURES TABLE], the folder for figures and the file for the table of claims.
 * Without them nothing is written. */
void study_begin(const char *title, int argc, char **argv);

/* 1 where no figures and no table are asked for, as in the tests: long runs may then be cut short. */
int study_is_quick(void);

/* Print and record `section | claim | ours | verdict`. The experiment fails unless `holds` agrees with the errata.
 * figure: the file name of a saved figure; nullable. */
#if defined(__GNUC__)
__attribute__((format(printf, 6, 7)))
#endif
void claim(const char *section, const char *text, errata expected, int holds, const char *figure, const char *ours, ...);

/* A paragraph or a table (Markdown) below the claims. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void study_text(const char *format, ...);

/* Print the count and close the table. @return the exit code */
int study_end(void);

#if defined(__GNUC__)
__attribute__((format(printf, 1, 2), noreturn))
#endif
void die(const char *format, ...);
void *allocate(size_t bytes); /* zeroed */
double now_s(void);

/* Figures ----------------------------------------------------------------------------------------- */

/* Write docs/figures/NAME, when a folder was given. */
void save_figure(const perp_figure *figure, const char *name);

/* A figure of one panel with series. */
void save_plot(const char *name, const char *title, perp_axis x, perp_axis y,
               const perp_series *series, int nseries);

/* Runs of models ---------------------------------------------------------------------------------- */

/* A finished run: row k, column c is value[k * ncolumn + c]. */
typedef struct run {
    perp_model *model;
    perp_simulation *sim;
    int ncolumn;
    long nrow;
    double *value;
    double seconds; /* of the run itself */
    perp_simulation_summary summary;
} run;

perp_model *load_model(const char *path);
perp_model *parse_model(const char *text);
void set_value(perp_model *model, const char *name, double value);

/* Run a model (the run owns it then); `to` and `step` are the model's when they are not positive. */
run run_model(perp_model *model, double to, double step);
void free_run(run *r);
double *column(const run *r, const char *name); /* a copy of a column, owned by the run */
double at(const run *r, long row, const char *name);
double last(const run *r, const char *name);

/* Small linear problems --------------------------------------------------------------------------- */

enum { SMALL = 8, MOST_SOLUTIONS = 64 };

/* LCP with M written row by row. */
typedef struct small_lcp {
    int n;
    double M[SMALL * SMALL], q[SMALL]; /* column-major */
} small_lcp;

small_lcp make_lcp(int n, const double *rows, const double *q);
perp_lcp view(const small_lcp *p);

/* A solver that is kept; options are the defaults. */
perp_lcp_solver *solver_of(perp_lcp_method method);
perp_outcome solve_by(perp_lcp_method method, const small_lcp *p, double *z, double *w);

typedef struct solutions {
    int n, count, rays;
    double z[MOST_SOLUTIONS][SMALL], ray[MOST_SOLUTIONS][SMALL]; /* vertices once each, and rays */
} solutions;

/* All vertices and rays of the solution set. is_free: nullable. */
solutions all_solutions(const small_lcp *p, const unsigned char *is_free);

#endif
