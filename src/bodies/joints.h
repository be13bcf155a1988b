/* What acts in joints and between bodies: rows of joints in the step's friction problem, and
 * equalities that are eliminated from it. */

#ifndef PERP_SRC_JOINTS_H
#define PERP_SRC_JOINTS_H

#include "base/pass.h"
#include "perp/joints.h"

typedef enum perp__law_kind { PERP__LIMIT, PERP__DRY, PERP__DRIVE } perp__law_kind;

/* A row of a joint as a contact of the friction problem. A limit is a normal without friction. A
 * force bounded on both sides is a tangent with mu = 1, whose normal impulse is `bound` (its row
 * stands alone: u_n = own (r_n - bound)). */
typedef struct perp__law {
    perp__law_kind kind;
    int body, at; /* whose joint; the velocity; of a tendon those of its first joint */
    /* 0: of a joint; else the number of the tendon, from 1; of a ball's turn that from -1 down */
    int tendon;
    int kept;          /* where its impulse is kept for the next step */
    double J;          /* per unit of the velocity, or of the tendon's rate */
    double shift;      /* what u has beside the velocity */
    double bound;      /* of the impulse */
    double compliance; /* u = J v + shift + compliance impulse */
    double impulse;
} perp__law;

/* The piece on which a law with corners is taken within a step: the one at the end of the step
 * before, on which its answer must lie, or a row of the friction problem, which has them all. HELD:
 * dry friction holds, v+ = 0, or an actuator is within its bounds. LOW, HIGH: the force is its
 * lower, its upper bound. */
typedef enum perp__piece { PERP__HELD, PERP__LOW, PERP__HIGH, PERP__ROW } perp__piece;

typedef struct perp__guess {
    unsigned char is, next;    /* perp__piece: in this step; where the last one ended */
    unsigned char wait, given; /* it stays a row for so many steps; how many it was given last */
    unsigned char amended;     /* it became a row within this step */
} perp__guess;

/* A straight piece of a tendon: its ends in the world, their bodies, its direction over the
 * divisor. For the first of two pieces around an obstacle also: which one, whether through it, the
 * axis and angle of rotation there. */
typedef struct perp__piece_of_path {
    int body[2];
    double p[2][3], d[3], turn[3];
    const perp_path_point *around;
    int is_through;
} perp__piece_of_path;

/* What a tendon is to the step: the row of its rate. */
typedef struct perp__strand {
    int n, *at; /* velocities, rising in a path */
    double *c;  /* n: its rate is the sum of c v */
    int npath, npiece;
    const perp_path_point *path; /* NULL: c is what it is, the length the sum of c q */
    perp__piece_of_path *piece;
    int ball;      /* 0, or the body whose ball joint's turn it is: c is its axis */
    double length; /* of a path, where it was followed last; of a turn, its angle there */
} perp__strand;

/* The number of points of a part of a path in a drawing: of an obstacle 13, whether the path
 * touches it or not. */
static inline int perp__points_at(perp_path_kind kind)
{
    if (kind == PERP_PATH_PULLEY) return 0;
    return kind == PERP_PATH_SITE ? 1 : 13;
}

/* How many impulses are kept of a tendon: of its limits, of dry friction, of both ends of its
 * slack. */
enum { PERP__OF_TENDON = 5 };

/* The force of an actuator without its bounds, as it is within a step: force - kp length - kv rate;
 * `size`: the |terms| of its constant. */
typedef struct perp__line {
    double force, kp, kv, size;
} perp__line;

/* An actuator within a step: its line; its force at rest, without its bounds; its loss per unit of
 * its velocity; are there bounds that it may reach? */
typedef struct perp__pull {
    perp__line line;
    double wanted, slope;
    int is_bounded;
} perp__pull;

typedef struct perp__joints {
    perp_joint_law *law; /* of each body */
    perp_actuator *actuator;
    double *control, *drive; /* nu; drive: the force of the last step */
    double *act;             /* 2 nu: activations; where a step in parts began */
    double *start;           /* 2 nu: of a reset; controls, activations */
    perp__pull *pull;        /* nu: of the step in hand */
    int nu, cactuator, ccontrol, cdrive, cact, cstart, cpull;
    perp_tendon *tendon;
    perp__strand *strand; /* ntendon */
    int ntendon, ctendon, cstrand;
    perp__strand *turn; /* of balls that have a limit */
    int nturn, cturn;
    int *mark;               /* nv: scratch, where there are tendons */
    double *dense;           /* likewise */
    double *implicit, *push; /* nv: on the diagonal of M; forces that the step does not change */
    double *loose;           /* nv: velocities without contacts */
    /* nv: from halfway (0) to the end of the step (1), where a joint's forces are taken */
    double *late;
    double *force, *size; /* nv: of joints at the end of the step, and the sum of their |terms| */
    double *hold;         /* nv: forces of dry friction that holds, by inverse dynamics */
    perp__law *row;
    int nrow, crow;
    /* 3 of each velocity: its limits, dry friction; 1 of each actuator; 5 of each tendon */
    double *kept;
    int ckept;
    perp__guess *guess; /* of each velocity's dry friction, of each actuator */
    int cguess;
} perp__joints;

/* Equalities: rows G v + error/h = 0, `rank` of them kept, in order of elimination. The last
 * `soft` of them are compliant, G v + error/h + compliance impulse = 0: the laws of tendons that
 * are linear in length and rate. An inactive row is 0. */
typedef struct perp__equalities {
    int rows, soft, rank, crows;
    double *G, *Y;           /* rows x nv, row by row; Y = inv(L)' G' */
    double *error, *impulse; /* rows */
    double *begun;           /* rows: impulses without contacts */
    double *compliance;      /* rows: 0 of equalities */
    double *size;            /* of a row: the sum of the |terms| of its error of position */
    double *unit;            /* of a row: what a pivot is beside; then room */
    double *factor;          /* rows x rows, row by row: lower, of kept rows of G inv(M) G' */
    int *order;              /* the kept rows first */
    double *Z;               /* of each contact rank x 3: Z Z' is taken off W */
    int cZ;
} perp__equalities;

/* x clamped to the range. */
static inline double perp__within(double x, const perp_range *range)
{
    if (!range->limited) return x;
    if (x < range->lower) return range->lower;
    return x > range->upper ? range->upper : x;
}

static inline perp__strand *perp__strand_of(const perp__joints *j, int tendon)
{
    return tendon > 0 ? &j->strand[tendon - 1] : &j->turn[-tendon - 1];
}

/* joints.c. By how much a quaternion turns, 0 to pi, and about which axis; 0 of one that does not
 * turn. */
double perp__turn_of(const double *q, double axis[3]);
/* Are the limits none that can be? How many impulses are kept. */
int perp__is_limit(const perp_range *r); /* none, or lower <= upper; one of them may be infinite */
int perp__is_interval(const perp_range *r); /* none, or lower < upper, both finite */
int perp__joints_kept(const perp_bodies *b);
/* Tendons, turns of balls and lines of actuators are those of where the bodies are placed: once a
 * step, before perp__pushes and perp__joints_begin. */
void perp__joints_place(perp_bodies *b);
/* Nothing but limits acts, until pieces are guessed again. */
void perp__joints_still(perp_bodies *b);
/* Pieces are guessed from the step before; from v alone. */
void perp__joints_guess(perp_bodies *b);
void perp__joints_forget(perp_bodies *b);
/* How many laws are on pieces. */
int perp__joints_pieces(const perp_bodies *b);
/* By how much more than its bound dry friction would have to hold, beside the |terms| of Newton's
 * law: the largest. */
double perp__joints_excess(const perp_bodies *b);
/* What the answer does not lie on, or (is_all) every piece, becomes a row; how many did. */
int perp__joints_amend(perp_bodies *b, const double *v, int is_all);
/* The diagonal and the forces of the step that is to be made. */
void perp__joints_begin(perp_bodies *b);
/* Rows of dry friction and bounded actuators that enter as rows, and of limits that v would
 * violate. Returns 0 if memory is out. */
int perp__joints_state(perp_bodies *b, const double *v);
/* Rows of limits that v passes and that are not there yet; how many, -1: memory is out. */
int perp__joints_add_limits(perp_bodies *b, const double *v);
/* In j.force, j.size: what acts in the joints at the velocities v of the end of the step, by
 * definition. */
void perp__joints_judge(perp_bodies *b, const double *v);
/* Impulses, and pieces by the velocities at the end, kept for the next step. */
void perp__joints_keep(perp_bodies *b, const double *v);
void perp__joints_destroy(perp_bodies *b);
/* Room for velocities and bodies; then laws, actuators and tendons are those of another system. 0:
 * memory is out. */
int perp__joints_create(perp_bodies *b);
int perp__joints_copy(perp_bodies *b, const perp_bodies *from);
/* What is settings, what is state of them. Balls whose limits were read have their rows; 0: memory
 * is out. */
void perp__joints_pass_settings(perp_bodies *b, perp__pass *pass);
void perp__joints_pass(perp_bodies *b, perp__pass *pass);
int perp__joints_turns(perp_bodies *b);
int perp__strand_copy(perp_bodies *b, const perp__strand *from, perp__strand *to);

/* actuators.c. What is wrong with an actuator beside what it is of; NULL: nothing. */
const char *perp__drive_fault(const perp_actuator *a);
/* What stands for its control in the force; its line from where the step begins. */
double perp__drive_input(const perp_bodies *b, int i);
perp__line perp__drive_line(const perp_bodies *b, int i);
/* Activations go on by h; are kept; go back to what was kept. */
void perp__activations_move(perp_bodies *b, double h);
void perp__activations_keep(perp_bodies *b);
void perp__activations_back(perp_bodies *b);

/* paths.c. Its pieces, length and row where the bodies are placed; forces of the bodies from a
 * tension -force, of |terms| `size` large. */
void perp__path_follow(perp_bodies *b, perp__strand *s);
void perp__path_load(perp_bodies *b, const perp__strand *s, double force, double size);
/* Points on it where it was followed, three numbers each, perp__points_at of each part; the place
 * behind them. */
double *perp__path_points(const perp_bodies *b, const perp__strand *s, double *points);
const char *perp__path_fault(const perp_bodies *b, const perp_path_point *path, int n);
/* Velocities that move a point of it are marked; how many. */
int perp__path_velocities(const perp_bodies *b, const perp_path_point *path, int n, int *mark);

/* bends.c. Where it was followed, the change of its row, of s->n entries, per unit along velocity
 * `at`; 0: its way is not unique there. */
int perp__path_bend(perp_bodies *b, const perp__strand *s, int at, double *change);

/* tendons.c. Room for rows of several velocities; 0: memory is out. */
int perp__strands_room(perp_bodies *b);
/* Tendons through space are followed from where the bodies are placed. */
void perp__tendons_place(perp_bodies *b);
/* The length of a tendon (from 1) at q, its rate at v, and its part of the velocities' forces,
 * `force` long. */
double perp__tendon_length(const perp_bodies *b, int tendon);
double perp__tendon_rate(const perp_bodies *b, int tendon, const double *v);
/* The sums of the |terms| that its length and its rate are made of. */
double perp__tendon_length_terms(const perp_bodies *b, int tendon);
double perp__tendon_rate_terms(const perp_bodies *b, int tendon, const double *v);
void perp__tendon_pull(const perp_bodies *b, int tendon, double force, double *tau);
/* Rows of the equalities that give way: springs of tendons, and their actuators that are within
 * their bounds. */
void perp__tendons_state(perp_bodies *b, int row);
/* Rows of dry friction; of limits that v passes, how many. 0, -1: memory is out. */
int perp__tendons_dry(perp_bodies *b);
int perp__tendons_limits(perp_bodies *b, const double *v);
/* In j.force, j.size: springs at the velocities v of the step's end. */
void perp__tendons_judge(perp_bodies *b, const double *v);
/* Beside what the |terms| of Newton's law, in b->scale, move its rate. */
double perp__tendon_terms(const perp_bodies *b, int tendon);
/* A force along a row's velocity or tendon; the same of an actuator of a tendon, of |terms| `size`
 * large. */
void perp__law_judge(perp_bodies *b, const perp__law *law, double force);
void perp__tendon_judge_drive(perp_bodies *b, int tendon, double force, double size);

/* joints.c, for tendons: one row more; is it there? Is an actuator a row of the equalities? */
int perp__joints_add_row(perp_bodies *b, perp__law row);
int perp__joints_is_stated(const perp__joints *j, int kept);
int perp__drive_is_soft(const perp_bodies *b, int i);

/* equality.c. Rows and factors at the begin of the step; 0: memory is out. */
int perp__equality_state(perp_bodies *b);
/* v such that the kept rows hold; impulses are added. */
void perp__equality_project(perp_bodies *b, double *v);
/* Impulses so far are those without contacts; from these on again. */
void perp__equality_begun(perp_bodies *b);
void perp__equality_begin(perp_bodies *b);
/* Z of all rows of the friction problem; 0: memory is out. */
int perp__equality_reduce(perp_bodies *b);
/* Moments, forces on the bodies added to b->load, of joints to j.force, their sizes to `size` of
 * bodies and j.size. */
void perp__equality_load(perp_bodies *b, double (*size)[2]);
/* Two joints held by dry friction have no row between them. The impulse of their equality is the
 * least by which both are within their bounds, and the holding forces (j.hold) are less by that. */
void perp__equality_share(perp_bodies *b);
/* The largest row at the end of the step, beside the sum of its |terms|; bodies move as v says. */
double perp__equality_difference(perp_bodies *b, const double *v);
void perp__equality_clear(perp_bodies *b); /* room for rows */
void perp__equality_destroy(perp_bodies *b);

#endif
