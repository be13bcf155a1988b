/* Trees of rigid bodies: what is known of each, the recursions over them, contacts between their
 * shapes. */

#ifndef PERP_SRC_BODIES_H
#define PERP_SRC_BODIES_H

#include "base/arena.h"
#include "base/base.h"
#include "base/pass.h"
#include "bodies/body_impacts.h"
#include "bodies/geometry.h"
#include "bodies/joints.h"
#include "perp/bodies.h"

#include <stdatomic.h>

/* Inertia of a rigid body about its origin, in its frame: mass, mass times centre, xx yy zz xy xz yz. */
typedef struct perp__inertia {
    double m, h[3], I[6];
} perp__inertia;

/* A body; vectors are in its own frame, pairs of them (angular, linear) at its origin. */
typedef struct perp__link {
    perp_body is;
    int q, v, nv;       /* where its joint's entries begin; how many velocities */
    double offset[9];   /* its rotation in the parent where q = 0 */
    double E[9], r[3];  /* rotation from its frame to the parent's; its origin there */
    double R[9], p[3];  /* the same to the world */
    double unit[6][3];  /* motion per unit of its kth velocity: a turn about this, */
    int is_shift[6];    /* or a shift along it */
    double world[6][3]; /* the same in world axes, at its origin */
    int tip, root; /* the last velocity on the way to it, -1: none; the body its tree begins with */
    perp__inertia own, whole;         /* whole: with all that hangs on it */
    double lever;                     /* length of its mass times centre */
    double vel[6], bend[6], whirl[6]; /* velocity; what it adds to the acceleration, to the force */
    double acc[6], force[6];
    double end[6]; /* velocity at the end of the step */
} perp__link;

static inline int perp__is_single(const perp__link *l)
{
    return l->is.joint == PERP_JOINT_HINGE || l->is.joint == PERP_JOINT_SLIDE;
}

/* Of a body's motion over a step: lengths of its velocity, and of its acceleration with what adds
 * to it. */
typedef struct perp__lengths {
    double spin, speed, turn, push;
    int links; /* on the longest way from the world through it to a tip */
} perp__lengths;

/* A contact's rows of J, (normal, t1, t2), at the velocities that move it. */
typedef struct perp__contact_rows {
    int n, first; /* how many entries; where they begin in `entry` */
    int tip[2];   /* of a contact: the last velocities that move its bodies */
    int tree[2];  /* roots of the trees of its two bodies, 0: the world */
} perp__contact_rows;

typedef struct perp__entry {
    int at;            /* which velocity */
    double J[3], Y[3]; /* of J', and of inv(L)' J' */
} perp__entry;

/* A moment of friction at a contact as a contact of the friction problem. Its tangents are
 * rotations of the bodies, about the normal or about the contact's tangents. Its normal has no
 * velocity and the impulse mu r_n of the contact: u_n = own (r_n - mu r_n of the contact). */
typedef struct perp__moment {
    int touch, rolls;
    double mu;  /* [m] */
    double own; /* of W: the mean of its tangents */
} perp__moment;

typedef struct perp__shape_pair {
    int shape[2];
    double gap; /* they are no nearer where the step begins; 0: not known */
} perp__shape_pair;

typedef struct perp__box {
    double low[3], high[3];
    int which;
} perp__box;

/* Pairs of boxes that meet. */
typedef struct perp__broad {
    perp__box *box; /* n; their order and axes change */
    perp__shape_pair *pair;
    int n, npair, cpair;
} perp__broad;

/* What of a shape does not change. */
typedef struct perp__form {
    double R[9], far;     /* its rotation in its body, how far it is from the body's origin */
    double extent, least; /* the radius of a ball about it; half of its least extent */
} perp__form;

/* The motion of a body at constant joint velocities: its angular velocity and the velocity of its
 * origin at the beginning, world axes; bounds of the angular speed, of the angular acceleration, of
 * the origin's acceleration. */
typedef struct perp__motion {
    double w[3], v[3], spin, turn, acc;
} perp__motion;

/* Positions q and the velocities v over h; each has another number. */
typedef struct perp__path {
    const double *q, *v;
    double h;
    long number;
} perp__path;

/* A shape where a path begins and ends. */
typedef struct perp__ends {
    long path;
    perp__placed at[2];
} perp__ends;

/* The arrays of perp__fc_factors; dense: orthonormal rows of the equalities, a row of Y. */
typedef struct perp__contact_factors {
    int *start, *group, *bound;
    double *block, *own, *share, *dense;
    int nblock, cstart, cgroup, cblock, cown, cbound, cshare, cdense;
} perp__contact_factors;

/* The friction problem of a step. */
typedef struct perp__contact_problem {
    perp__contact_rows *rows;
    perp__entry *entry;
    int n; /* contacts, then rows of joints, then moments of contacts */
    perp__moment *moment;
    int nmoment, cmoment;
    int is_still; /* not a step: contacts and limits alone, without friction, from rest */
    double yield; /* then: what the diagonal of W has beside its own, of it */
    int is_again; /* the same step once more: impulses are near those of the last answer */
    int crows, nentry, centry, nblock, cblock, crow, ccolumn, cvalue, solver_room;
    double *value, *block; /* value: perp__contact_value; block: of W */
    int *row, *column;     /* of the blocks */
    perp__contact_factors factors;
} perp__contact_problem;

/* A pair of shapes that is named, the smaller first. */
typedef struct perp__named_pair {
    int shape[2];
    double mu[3];
} perp__named_pair;

/* A pair that penetrates at the start of a mechanism and has no room to move apart: it is excluded
 * from contact. */
typedef struct perp__excluded_pair {
    int shape[2];
    double penetration;
} perp__excluded_pair;

/* What is kept of steps in which the same contacts are there: rest.c. */
typedef struct perp__rest {
    struct perp__block_lu *lu; /* Newton's matrix at the last answer, of `room` contacts at most */
    int n, room;               /* n: contacts that it is of; 0: none */
    int wait, given;           /* it is not tried for so many steps; for how many it was not last */
    int *index;                /* the arrays of rest.c */
    double *value;
    int cindex, cvalue;
    int is_made, is_ordered; /* lu has the factors; their order */
    int is_counted;          /* the work of these factors */
} perp__rest;

/* Multiply-adds of the recursions over all bodies. */
typedef struct perp__costs {
    double place, carry, velocities, inverse, mass, factor, solve; /* solve: with one factor */
} perp__costs;

/* Where a list has a pair of numbers: a hash table of places in it, from 1; 0: none. */
typedef struct perp__pair_index {
    int *place;
    int size; /* a power of two, or 0 */
} perp__pair_index;

typedef struct perp__filter {
    perp_contact_material *rule; /* of each shape; NULL: all have the usual one */
    perp__named_pair *pair;
    int (*apart)[2]; /* bodies */
    perp__pair_index of_pair, of_apart;
    perp__excluded_pair *excluded; /* sorted */
    int npair, cpair, napart, capart, nexcluded, cexcluded;
} perp__filter;

/* What systems share. Nothing writes to it once there are two (docs/explain/bodies-run.md). */
typedef struct perp__scene {
    perp__arena arena;
    atomic_int users;      /* systems that have it */
    atomic_int is_shared;  /* it was cloned: no tendon, actuator or loop is added */
    perp_bodies_options o; /* as given; gravity may be set, and is the system's */
    int n, nq, nv, nshape; /* n: bodies, with the world */
    int *parent_of;        /* of a velocity: the next one up its tree, -1 */
    int *body_of;          /* the body of a velocity */
    int *above;            /* the number of velocities above one, up its tree */
    size_t *mass_row;      /* the begin of a row of M, whose entries are those above, and its own */
    size_t nmass;          /* entries of M */
    int *tip;              /* of a body: the last velocity on the way to it, -1: none */
    int *place;            /* of a velocity: 3 times its group, and its column there */
    int ngroup;            /* a tree, a ball and a free body begin new groups */
    perp_shape *shape;     /* friction and restitution are the system's */
    perp__form *form;
    double thin; /* the least half length of all shapes */
    /* Of all bodies that hang on each other, and of the largest shape on one that moves: no point
     * is further from a joint. */
    double span;
    perp__costs cost;
    perp_equality *equality;
    int nequality, cequality;
    uint64_t digest; /* of all that decides the steps and is no setting */
} perp__scene;

/* Coefficients of a shape: friction as in perp__named_pair, restitution. */
typedef struct perp__coefficients {
    double mu[3], restitution;
} perp__coefficients;

struct perp_bodies {
    perp__arena arena;
    perp__scene *scene;
    /* Settings: what a caller may change. With these, link[i].is; law, actuator and control of the
     * joints. */
    uint64_t
        settings; /* the digest of these and of filter, law, actuator in a snapshot; 0: unknown */
    double gravity[3];
    double *tau;
    perp__coefficients *surface; /* of each shape */
    perp__filter *filter;
    double *start; /* q, v of a reset */
    /* State: what a snapshot has. With these, rest; act, drive, kept, guess, row of the joints. */
    double *q, *v;
    double time, origin; /* origin: at step `since` */
    long steps, since;
    double *last; /* q, v where the step in hand, or its part, began */
    double *acc;  /* accelerations of the last step */
    double half;  /* `here` is so much later than q */
    double
        *here; /* positions where a step's forces act: q; of the midpoint rule q moved by v h/2 */
    int is_ahead; /* the next step's forces act at `here`, and no shape passes another on the way */
    int is_stepped; /* last and acc are those of the step that led here */
    perp_contact *touch,
        *before; /* of the state as it is, or of a step that was refused; of the last step */
    int ntouch, ctouch, nbefore, cbefore;
    perp__joints *joints;
    perp__rest *rest;
    perp__body_impacts impacts;
    /* Cache: it follows from the above, and may be thrown away between steps. */
    int is_found;     /* touch: found `here`, with the pairs of the broad phase; where is_ahead */
    int is_placed;    /* the bodies are `here` */
    perp__link *link; /* n; 0 is the world */
    perp__placed *placed; /* the shapes, at the begin of the step */
    perp__motion *motion; /* of each body, over it */
    double *travel;       /* how far each shape may come within it */
    perp__ends *ends;
    long paths;
    /* No pair has less way than this (perp__room), and no shape was thought to come less far. */
    double room;
    perp__broad broad;
    /* Of a body: the moment about its origin and the force that a step begins with, world axes. */
    double *outside;
    struct perp__box_of *box; /* of each body where there is a fluid; NULL */
    int is_pushed;            /* is there any such force? */
    /* The step in hand. */
    double h;      /* its length, or that of a part of it */
    int *up;       /* of a velocity: the next up its tree that dry friction does not hold */
    double *begun; /* where a step in parts began */
    double *mean;  /* velocities of its bias: v; of the midpoint rule those halfway */
    double *drift; /* velocities at its end without contacts and equalities */
    double *next, *bias, *load, *row, *scale, *M, *D,
        *over;         /* M: then its factors L, D of L' D L; 1/D */
    double *again;     /* room for another M */
    double (*size)[2]; /* of a body: sums of |terms| of its torque and force by loads, */
    double (*sum)[2];  /* and of all that hangs on it */
    perp__lengths *lengths;
    double *rounding; /* of a velocity's row of Newton's law (step.c) */
    perp__equalities *equal;
    perp__contact_problem *c;
    perp_fc_solver *solver;
    int is_patient; /* the friction solver may take as long as it can */
    double work;    /* multiply-adds */
    int is_crossed; /* the last try of a part: would it take a shape through another? */
    double impact;  /* then: the time within it up to which it would not */
    double elapsed; /* since the step began, where a part of it begins */
};

/* Where M, or its factor L, has row k and column j, which is k or above it. */
static inline size_t perp__mass_entry(const perp_bodies *b, int k, int j)
{
    return b->scene->mass_row[k] + (size_t)b->scene->above[j];
}

static inline int perp__is_midpoint(const perp_bodies *b)
{
    return b->scene->o.method == PERP_BODIES_MIDPOINT;
}

/* Does dry friction hold this velocity at 0? */
static inline int perp__joints_hold(const perp_bodies *b, int k)
{
    return b->joints->guess[k].is == PERP__HELD &&
           b->joints->law[b->scene->body_of[k]].friction > 0;
}

/* scene.c. Of what was checked; NULL: memory is out. Another system has it; one has it no more. */
perp__scene *perp__scene_create(const perp_body *body, int nbody, const perp_shape *shape,
                                int nshape, const perp_bodies_options *options);
perp__scene *perp__scene_share(perp__scene *scene);
void perp__scene_release(perp__scene *scene);
/* Entries of q and v of a joint. */
int perp__joint_nq(perp_joint joint);
int perp__joint_nv(perp_joint joint);
/* Numbers that decide the steps, and what they are of. */
void perp__scene_note(perp__scene *scene, const double *x, int n, int what);
/* May tendons, actuators and loops be added? Else it is refused. */
int perp__scene_grows(const perp__scene *scene, perp_diag *diag);

/* build.c. A system of a scene, at rest, without contacts; settings, links and joints are not
 * there. NULL: memory is out. */
perp_bodies *perp__bodies_of(perp__scene *scene);
/* What follows from mass, centre and inertia of a body. */
void perp__link_weigh(perp__link *l);
/* snapshot.c. Between steps: what follows from settings and state is found again. */
void perp__bodies_drop_cache(perp_bodies *b);

/* Nothing is known of the step before. */
void perp__bodies_forget(perp_bodies *b);

/* dynamics.c. Positions of all bodies from q; velocities from v. */
void perp__bodies_place(perp_bodies *b, const double *q);
/* Velocities of all bodies from v, and what they alone ask for in the inverse dynamics, which are
 * of these velocities until it is called again. */
void perp__bodies_carry(perp_bodies *b, const double *v);
/* tau = M a + c(q, v); a NULL: 0. With force (nullable): six on each body, taken off: the moment
 * about its origin and the force, world axes. */
void perp__bodies_inverse(perp_bodies *b, const double *a, const double *force, double *tau);
/* On and below the diagonal, where the tree has no zeros: entries by perp__mass_entry. */
void perp__bodies_mass(perp_bodies *b, double *M);
/* All of it, nv x nv. */
void perp__bodies_full_mass(perp_bodies *b, double *M);
/* M = L' D L with the zeros of the tree (Featherstone 2008, 6.5), in place: L strictly below the
 * diagonal. up: of each velocity the next one above it that is not held. D: in, infinite of a
 * velocity that is held, else 0. Returns 0: M is not positive. Then x = inv(M) x. */
int perp__tree_factor(const perp__scene *scene, const int *up, double *M, double *D);
void perp__tree_solve(const perp__scene *scene, const int *up, const double *L, const double *D,
                      double *x);
/* The same with b->up, where dry friction holds joints. */
int perp__bodies_factor(perp_bodies *b, double *M, double *D);
void perp__bodies_solve(perp_bodies *b, const double *L, const double *D, double *x);
/* x = inv(L) inv(D) x */
void perp__bodies_solve_down(perp_bodies *b, const double *L, const double *D, double *x);
/* Velocities of all bodies from v, in `end`. */
void perp__bodies_velocities(perp_bodies *b, const double *v);
/* q moved by v over h; rotations by the exponential map, of the midpoint rule by Cayley's. */
void perp__bodies_move(const perp_bodies *b, const double *v, double h, double *q);

/* Velocity, in the world, of a point there per unit of a body's kth velocity. */
void perp__point_motion(const perp__link *l, int k, const double *point, double *out);

/* contacts.c: J and the data of the contacts' law, from b->touch and b->joints->row at the
 * velocities v without contacts; then W, or only its diagonal blocks. Returns 0 if memory is
 * out. */
int perp__bodies_state_contacts(perp_bodies *b, const double *free);
int perp__bodies_state_blocks(perp_bodies *b);
int perp__bodies_state_own_blocks(perp_bodies *b);
/* The block (i, j) of W; 0: it is 0. */
int perp__bodies_block(perp_bodies *b, int i, int j, double *block);
/* factors.c. W as Y Y' + E once its blocks are stated, in arrays of b; start NULL where equalities
 * with compliance leave none. 0: memory is out. */
struct perp__fc_factors;
int perp__bodies_factor_contacts(perp_bodies *b, struct perp__fc_factors *factors);
void perp__contact_factors_clear(perp__contact_factors *f);
/* u = J v + SHIFT of touch i. Returns the largest sum of |terms| of a row. */
double perp__bodies_touch_speed(const perp_bodies *b, int i, const double *v, double *u);
/* Of contact i: SHIFT is the part of q besides the velocity: gap/h, the restitution, a drive's;
 * MU[i]; BEFORE[3 i]: of a contact, the normal velocity before the step. */
enum {
    PERP__Q,
    PERP__IMPULSE,
    PERP__U,
    PERP__SHIFT,
    PERP__SCALE,
    PERP__MU,
    PERP__BEFORE,
    PERP__CONTACT_VALUES
};
static inline double *perp__contact_value(const perp_bodies *b, int which)
{
    return b->c->n ? b->c->value + (size_t)which * 3 * (size_t)b->c->n
                   : b->c->value; /* NULL + 0 is undefined */
}

/* Where moments begin in the friction problem: behind contacts and rows of joints. */
static inline int perp__first_moment(const perp_bodies *b)
{
    return b->ntouch + b->joints->nrow;
}

/* moments.c. Moments of friction of the step's contacts, in b->c->moment; 0: memory is out. */
int perp__moments_state(perp_bodies *b);
/* The kth moment's impulses, from b->next, on the touch; they are projected onto its disc. */
void perp__moment_take(perp_bodies *b, int k);
/* Do the bodies, which move as b->next says, turn as the friction problem says, and do its moments
 * obey the law? The largest error beside the |terms|. */
double perp__moments_difference(const perp_bodies *b);

/* filter.c: may two shapes be in contact, and with which coefficients of friction, sliding,
 * spinning, rolling? */
int perp__bodies_may_touch(const perp_bodies *b, int i, int j);
void perp__bodies_friction(const perp_bodies *b, int i, int j, double mu[3]);
int perp__bodies_is_named(const perp_bodies *b, int i, int j);
int perp__bodies_exclude(perp_bodies *b,
                         const perp_contact *t); /* they do not touch any more; 0: memory is out */
int perp__filter_rules(perp_bodies *b);          /* each shape has one; 0: memory is out */
void perp__filter_usual(perp_bodies *b);         /* all have the usual one */
int perp__filter_index(perp_bodies *b);          /* after lists were read; 0: memory is out */
int perp__filter_copy(perp_bodies *b, const perp__filter *from); /* 0: memory is out */
void perp__filter_destroy(perp_bodies *b);
/* Settings changed: what was found where the last step ended does not hold. */
void perp__bodies_look_again(perp_bodies *b);

/* broad.c: the pairs of boxes that meet, each once, the smaller index first, in any order; 0:
 * memory is out. */
int perp__broad_pairs(perp__broad *b);
/* pushes.c: forces on bodies that the step takes from its beginning, with the present
 * poses and velocities (perp__bodies_carry): in b->outside; NULL: there are none. */
typedef struct perp__box_of perp__box_of;
int perp__pushes_create(perp_bodies *b);        /* 0: memory is out */
void perp__pushes_weigh(perp_bodies *b, int i); /* after body i was weighed */
const double *perp__pushes(perp_bodies *b);
void perp__pushes_load(const perp_bodies *b); /* b->load is these, or 0 */
void perp__pushes_size(const perp_bodies *b, double (*size)[2]);
double perp__push_force(const perp_bodies *b, int i); /* joints.c: of an actuator that pushes */

/* apart.c: contacts of the state where a step ended, after penetrations were removed. The sum of
 * penetrations before that [m], the deepest remaining one, and its contact if it is too deep, else
 * -1. */
perp_status perp__bodies_look_ahead(perp_bodies *b, double *overlap, double *moved_for, int *worst);
/* The deepest penetration of the contacts found, above the tolerated one, and its contact; 0, -1:
 * none is deeper. */
double perp__bodies_deepest(const perp_bodies *b, int *which);
/* One motion of `here` by the contacts, limits and equalities there: no coordinate by more than
 * `turn`, no point of a shape by more than `way` [m]. */
perp_status perp__bodies_move_apart(perp_bodies *b, double turn, double way, int *is_moved);
/* The deepest penetration of the contacts that were found [m]; 0: none. */
double perp__bodies_penetration(const perp_bodies *b);

/* swept.c: the verdict on the motion of a step, by code of its own. Are the positions those of
 * b->last moved by the step's velocities, and every shape within PERP__LEVER times the penetration
 * of there? */
int perp__correction_is_small(const perp_bodies *b, double h, double penetration);
/* The motions of all bodies at the joint velocities v over h, from where they are placed. */
void perp__motions(perp_bodies *b, const double *v, double h);
/* How far any point of a shape comes by these. */
double perp__travel(const perp_bodies *b, int shape, double h);
perp__path perp__path_of(perp_bodies *b, const double *q, const double *v, double h);
/* The relative motion that a pair whose ends are apart may make within a step without a crossing:
 * beyond the gap it goes in and out. */
double perp__room(const perp_bodies *b, const perp__shape_pair *pair);
/* Along a path with the motions found last, does the pair stay apart, up to a penetration of tol,
 * or that of the beginning? n: an axis that may show it, nullable. Returns 0: no, or it is not
 * known, from *at on, if that is asked for. */
int perp__sweep(const perp_bodies *b, const perp__path *path, int i, int j, double tol,
                const double *n, double *at);
/* How far apart the pair is along n at a time of a path. */
double perp__apart_after(const perp_bodies *b, const perp__path *path, int i, int j, double t,
                         const double *n);
/* Does the step to b->next take no shape through another? Returns 0: not this pair, from the time
 * *at of it on; -1: memory is out. */
int perp__step_is_clear(perp_bodies *b, double *at, int *shape);
/* The same of the way from the state at its velocities over h. */
int perp__way_is_clear(perp_bodies *b, double h, double *at, int *shape);
/* Penetration within a step that is let be, beside the smaller shape's least half length. */
#define PERP__CROSSED 1e-2
/* Points of a shape may be moved by this times the penetration that is taken back: a contact acts
 * on a lever. */
#define PERP__LEVER 10
/* What a pose or a motion is known to, beside the sum of the terms that it is made of. */
#define PERP__KINEMATIC_ROUNDING 1e-14
/* Penetration that velocities remove. */
double perp__bodies_little(const perp_bodies *b, const perp_contact *t);

/* rest.c. Do the impulses of the step before hold, or nearly, so that they are mended by Newton's
 * matrix as it was? Then they, u and b->next are the answer, and the blocks those of the diagonal.
 * The problem is stated but for its blocks. */
int perp__rest_holds(perp_bodies *b, perp_bodies_info *info);
/* After an answer of the friction solver: Newton's matrix for the next steps. */
void perp__rest_keep(perp_bodies *b);
void perp__rest_clear(perp_bodies *b); /* room */
void perp__rest_pass(perp_bodies *b, perp__pass *pass);

/* Relative to tol: the friction solver aims below the requirement. Newton's last step gives it, and
 * bodies at rest stay at rest. */
#define PERP__CLOSER 1e-3

/* step.c: b->next becomes the velocities with the impulses. */
void perp__bodies_take_impulses(perp_bodies *b);
/* step.c: velocities in b->next become those with equalities, contacts and joints. */
perp_status perp__bodies_act(perp_bodies *b, perp_bodies_info *info);

/* Pairs that come near each other from the positions q by the joint velocities v over h; 0: memory
 * is out. */
int perp__bodies_near_pairs(perp_bodies *b, const double *q, const double *v, double h);
/* Pairs of the step in hand, with those that shapes reach by the joint velocities v over h; 0:
 * memory is out. */
int perp__bodies_reach_pairs(perp_bodies *b, const double *v, double h);
int perp__bodies_are_far(const perp_bodies *b, int i, int j, double margin);
/* All contacts with a gap that may close within h; in b->touch. Returns 0 if memory is out. */
int perp__bodies_find_touches(perp_bodies *b);

#endif
