/* Internal: the state of a run, shared by the run itself (simulate.c), the changes between its
 * steps (live.c), snapshots (snapshot.c) and the checks before one (check.c). */

#ifndef PERP_SRC_RUN_H
#define PERP_SRC_RUN_H

#include "simulate/sensitivity.h"
#include "simulate/step.h"

/* Inputs that the caller sets. During a step they go in a line from what they were at its beginning
 * to what was set; by the step's tables. */
typedef struct perp__driven {
    int *slot;         /* of each input of the model: its place, or -1: it may not be set */
    double *held;      /* NaN: as the model says */
    double *from;      /* at the beginning of the step, which goes */
    double begin, end; /* from this time to this; a part of it may be in hand */
} perp__driven;

struct perp_simulation {
    const perp_model *model;
    perp_simulation_options options;
    perp__step step;
    perp__sensitivity *sensitivity;  /* NULL: derivatives are not followed */
    struct perp__events *events;     /* NULL: the method does not locate events (events.c) */
    struct perp__parts *parts;       /* NULL: steps are whole (parts.c) */
    struct perp__impulses *impulses; /* NULL: the method has none (impulses.c) */
    struct perp__impacts *impacts;   /* impacts.c */
    struct perp__course *course; /* NULL: no derivatives of a stretch are being taken (adjoint.c) */
    long nstep;                  /* steps taken, and whole ones that still fit */
    long done;
    double start;    /* steps have been whole since this time, */
    long since;      /* which was after so many */
    double *initial; /* states, then varied parameters, as at creation */
    perp__driven driven;
    perp__others others;
    int is_stopped;    /* options.stop ended the step in hand */
    int is_divided;    /* the step in hand failed as a whole, and was taken in halves */
    int is_moved;      /* a state was set since the last step */
    int was_moved;     /* or in this run, or the run was another's up to here: restored */
    double *before;    /* symbols as they were before the step: given back when it fails */
    double *beginning; /* symbols at the beginning of a part of it, for when it is taken again */
    int fewer;         /* times that a step which fails is halved, than is usual */
    double most_work; /* what steps may cost until they are stopped (perp__run_work); 0: anything */
    double residual;
    perp_simulation_summary summary;
    long (*sides)[4];
    const char **column_name, **column_unit;
    double *row; /* ncolumn: scratch */
    int ncolumn;
};

/* An input at a time of the present step, and its derivative: as it was set (driven NULL: none may
 * be), or as its table says; NaN if that has no value. hint: of the table. */
double perp__driven_value(const perp__driven *driven, const perp_model *model, int input, double t,
                          int *hint);
double perp__driven_slope(const perp__driven *driven, const perp_model *model, int input, double t,
                          int *hint);

/* The time after k steps, whole ones since sim->since. */
static inline double perp__run_time(const perp_simulation *sim, long k)
{
    return sim->start + (double)(k - sim->since) * sim->options.step;
}

/* Put the times and table values of a step from t0 to t1 into the workspace; the states become pre
 * states. */
void perp__run_begin_step(perp_simulation *sim, double t0, double t1, double h);

/* The model's symbols before the first step: parameters and initial states, NaN for the others. */
void perp__run_initial_symbols(const perp_simulation *sim, double *symbol);

/* The initial row: states known, nothing else. */
void perp__run_set_initial(perp_simulation *sim);

/* At the start `from` with these states and parameters, for so many steps; what steps before it
 * left behind is forgotten. */
void perp__run_restart(perp_simulation *sim, double from, long steps);

/* Is there an input that may be set, and is a function of time now? */
int perp__run_follows(const perp_simulation *sim);

/* Is there an input that the caller must set, and has not? Its index in the model, or -1. */
int perp__run_open_input(const perp_simulation *sim);

/* Parameter *i of this name, if a caller may differentiate by it, or set it. */
int perp__may_vary(const perp_model *model, const char *name, int *i);

/* The inputs and parameters that the options name, each once; *list is the caller's to free. */
perp_status perp__run_find_changes(perp_simulation *sim, perp__changes *changes, int **list,
                                   perp_diag *diag);

/* The names of the row's columns. Returns 0 when memory is out. */
int perp__run_name_columns(perp_simulation *sim);

/* Memory of a simulation whose model, options and step problem are there. */
perp_status perp__run_allocate(perp_simulation *sim);

typedef struct perp__impacts perp__impacts;
typedef struct perp__impulses perp__impulses;

/* Once the step problem exists; 0 when memory is out. Sums are over the parts of a step: started
 * with it, undone if it fails, and kept when a part begins that may be taken again. All but the
 * first two do nothing if the method has none. */
int perp__impulses_create(perp_simulation *sim);
void perp__impulses_destroy(perp__impulses *impulses);
void perp__impulses_begin(perp_simulation *sim);
void perp__impulses_add(perp_simulation *sim, double h);
void perp__impulses_undo(perp_simulation *sim);
void perp__impulses_keep(perp_simulation *sim);
void perp__impulses_go_back(perp_simulation *sim);
void perp__impulses_pass(perp_simulation *sim, perp__pass *pass);

/* The unit of a var times s; as snprintf. */
int perp__impulse_unit(const perp_model *model, int var, char *text, size_t size);

/* Whole steps of this length from a time to another. */
long perp__whole_steps(double from, double to, double step);

/* Are there derivatives by these parameters? */
perp_status perp__run_check_followed(const perp_simulation *sim, int n, const int *param,
                                     perp_diag *diag);

/* From the states in the workspace at t0 to t1, by the method of the run. */
perp__step_result perp__run_advance(perp_simulation *sim, double t0, double t1);

/* The cost of the steps so far, about: multiplications; a core makes about 1e9 a second.
 * The same on all machines. */
double perp__run_work(const perp_simulation *sim);

/* estimate.c: perp_simulation_estimate, with the work of its other runs (nullable), and what it
 * asks for given. */
perp_status perp__estimate(const perp_simulation *sim, int part, double *error, double *unsure,
                           double *growth, double *work, perp_diag *diag);

/* snapshot.c: throw away the caches of all steps of a run, between two of its steps: no bit of what
 * follows changes. PERP_ERR_MEMORY: the run is fit for perp_simulation_destroy only. */
perp_status perp__simulation_drop_caches(perp_simulation *sim);

/* Is the step in hand to end? Asked before each part of it. */
int perp__run_is_stopped(perp_simulation *sim);

/* One step, of length h, to time t. */
perp_status perp__run_step(perp_simulation *sim, double t, double h, perp_step_info *info,
                           perp_diag *diag);

/* A row's outputs where no step was taken yet, or a state was set: vars and what was before the
 * step have no value. */
void perp__run_begin_row(const perp_simulation *sim, double *row);

#endif
