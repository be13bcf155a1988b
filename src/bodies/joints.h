/* What acts in joints and between bodies: rows of joints in the step's friction problem, and equalities that are eliminated from it. */

#ifndef PERP_SRC_JOINTS_H
#define PERP_SRC_JOINTS_H

#include "perp/joints.h"

typedef enum perp__law_kind { PERP__LIMIT, PERP__DRY, PERP__DRIVE } perp__law_kind;

/* A row of a joint as a contact of the friction problem. A limit is a normal without friction. What is bounded on both sides is a
 * tangent, whose normal impulse is `bound` (its row stands alone: u_n = own (r_n - bound)), with mu = 1. */
typedef struct perp__law {
    perp__law_kind kind;
    int body, at;      /* whose joint; the velocity */
    int kept;          /* where its impulse is kept for the next step */
    double J;          /* per unit of the velocity */
    double shift;      /* what u has beside the velocity */
    double bound;      /* of the impulse */
    double compliance; /* u = J v + shift + compliance impulse */
    double impulse;
} perp__law;

typedef struct perp__joints {
    perp_joint_law *law; /* of each body */
    perp_actuator *actuator;
    double *control, *drive; /* nu; drive: the force of the last step */
    int nu, cactuator, ccontrol, cdrive;
    double *implicit, *push; /* nv: on the diagonal of M; forces that the step does not change */
    double *loose;           /* nv: velocities without contacts */
    double *force, *size; /* nv: of joints at the end of the step, and the sum of their |terms| */
    perp__law *row;
    int nrow, crow;
    double *kept; /* 3 of each velocity: its limits, dry friction; 1 of each actuator */
    int ckept;
} perp__joints;

/* Equalities: rows G v + error/h = 0, of which `rank` are kept, in order of elimination. */
typedef struct perp__equalities {
    perp_equality *is;
    int n, c, rows, rank, crows;
    double *G, *Y;           /* rows x nv, row by row; Y = inv(L)' G' */
    double *error, *impulse; /* rows */
    double *begun;           /* rows: impulses without contacts */
    double *size;            /* of a row: the sum of the |terms| of its error of position */
    double *unit;            /* of a row: what a pivot is beside; then room */
    double *factor;          /* rows x rows, row by row: lower, of kept rows of G inv(M) G' */
    int *order;              /* the kept rows first */
    double *Z;               /* of each contact rank x 3: Z Z' is taken off W */
    int cZ;
} perp__equalities;

/* joints.c. The diagonal and the forces of the step that is to be made. */
void perp__joints_begin(perp_bodies *b);
/* Rows of dry friction and bounded actuators, and of limits that v would pass. 0: memory is out. */
int perp__joints_state(perp_bodies *b, const double *v);
/* Rows of limits that v passes and that are not there yet; how many, -1: memory is out. */
int perp__joints_add_limits(perp_bodies *b, const double *v);
/* In j.force, j.size: what acts in the joints at the velocities v of the end of the step, by definition. */
void perp__joints_judge(perp_bodies *b, const double *v);
/* Impulses of the rows, kept for the next step. */
void perp__joints_keep(perp_bodies *b);
void perp__joints_destroy(perp_bodies *b);

/* equality.c. Rows and factors at the begin of the step; 0: memory is out. */
int perp__equality_state(perp_bodies *b);
/* v such that the kept rows hold; impulses are added. */
void perp__equality_project(perp_bodies *b, double *v);
/* Impulses so far are those without contacts; from these on again. */
void perp__equality_begun(perp_bodies *b);
void perp__equality_begin(perp_bodies *b);
/* Z of all rows of the friction problem; 0: memory is out. */
int perp__equality_reduce(perp_bodies *b);
/* Moments, forces on the bodies added to b->load, of joints to j.force, their sizes to `size` of bodies and j.size. */
void perp__equality_load(perp_bodies *b, double (*size)[2]);
/* The largest row at the end of the step, beside the sum of its |terms|; bodies move as v says. */
double perp__equality_difference(perp_bodies *b, const double *v);
void perp__equality_clear(perp_bodies *b); /* room for rows */
void perp__equality_destroy(perp_bodies *b);

#endif
