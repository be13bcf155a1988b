/* The recorded tosses (../shared/data/cube-tosses, README there) and errors of open-loop rollouts on them. */

#ifndef PERP_EXPERIMENT_TOSSES_H
#define PERP_EXPERIMENT_TOSSES_H

#include "perp/perp.h"

enum { TOSS_COLUMNS = 13 }; /* p (3), q (4), v (3), w (3) */

typedef struct toss {
    int rows, is_long;
    int contact; /* first row that touches the board; 0: not known */
    double *row; /* rows x columns */
} toss;

typedef struct tosses {
    int n;
    toss *toss;
    double *memory;
} tosses;

/* Rows of `columns` numbers, of which 3 to 6 are a quaternion. 0 when the files are not there or are not what the README says. */
int tosses_read(const char *folder, int columns, tosses *all);
void tosses_free(tosses *all);

/* What flies free: until it touches the board, p + R d is a parabola, with d the mass centre seen from the cube's centre. The
 * least squares d [m, body frame] and g [m/s^2], with standard errors, over the tosses with use[k]. Returns the rows used, 0
 * when there are too few. */
typedef struct toss_flight {
    double d[3], g, error[4]; /* the errors of d, then of g */
} toss_flight;
int toss_fly(const tosses *all, const char *use, toss_flight *flight);

/* What the columns of a toss are in the model; columns 0 to 6 are a place and a quaternion. */
typedef struct toss_body {
    int columns, hinge; /* hinge: column of an angle; 0: none */
    const char *const *name;
    double width; /* that errors of position are given in [m] */
} toss_body;
extern const toss_body toss_cube;

/* Add a toss to the data as a run with the columns of the model: states, and the unit quaternion as n1..n4. */
perp_status toss_add(const toss_body *body, perp_dataset *data, const toss *of, const char *name,
                     perp_diag *diag);

typedef struct toss_error {
    double position; /* mean over the rows of |p_sim - p_data|, in % of the width */
    double rotation; /* mean over the rows of the angle between them, in degrees */
    double hinge;    /* mean over the rows of the hinge's error, in degrees */
} toss_error;

/* Simulate from row 0, one step a frame. */
perp_status toss_simulate(const toss_body *body, perp_model *model, const toss *of,
                          toss_error *error, perp_diag *diag);

#endif
