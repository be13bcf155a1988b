/* A plan as a program over stages. Step k of K has the unknowns w_k (states, vars, parts of split
 * pairs and inputs, at each point of the step). Global unknowns p (lengths of the horizon's runs,
 * free parameters, free initial states) are shared by all. Stage k speaks of w_k, p and the states
 * at the end of step k - 1 only:
 *
 *     minimise  sum_k f_k + time_weight' p
 *     rlo <= r_k(pre_k, w_k, p) <= rhi,   wlo <= w <= whi,   plo <= p <= phi,    pre_k = states of w_k-1
 *
 * Arrays over stages are structure of arrays: entry i of stage k is at [i * K + k]. */

#ifndef PERP_SRC_PROGRAM_H
#define PERP_SRC_PROGRAM_H

#include "model/model.h"
#include "model/scheme.h"
#include "model/tape.h"
#include "perp/plan.h"

/* The rows and sides of a pair: sign * (w - offset) if that is one unknown (row is -1 then), else a
 * row (w is -1). */
typedef struct perp__plan_pair {
    int w[2], row[2];
    double sign[2], offset[2];
    double scale; /* of the first side: the width of its range where that is below 1, else 1 */
    int product;  /* row of a b <= eps; -1 if the relaxation has none */
    int pair;     /* of the model */
    int point;
    int parts; /* of a two-sided pair: the row that its second side has its parts in; else -1 */
    int half;  /* of a two-sided pair: 0 at lo, 1 at hi */
    /* Of a switched pair: the pair of its guard's parts, inactive if the second of these is 0, or
     * -1; the first row of the products that must be 0 (perp__kept); the unknown by which its
     * second side falls short of 0 */
    int switched, kept, minus;
    int is_guard; /* of the pair behind it */
    /* an exact friction cone (cones.c), whose unknowns are d[2] and, as w[1], s; and its rows: */
    int is_cone;
    int force[2], slip[2], speed; /* f + bound d, v - s d, s - |v| */
} perp__plan_pair;

/* The products that must be 0 in a switched pair, a row each, since each product is of another
 * kind: the first side and above, it and minus, minus and below, minus and plus. */
enum { PERP__KEPT = 4 };

/* A corner of a cost or condition that is an unknown: corners.c. */
typedef struct perp__plan_corner {
    perp_expr e;     /* of the program's graph */
    int w, row[2];   /* the unknown; the rows that hold it */
    int point, sign; /* 1: it is the larger of two, -1: the smaller */
} perp__plan_corner;

enum {
    PERP__OF_MODEL = -1, /* of steps */
    PERP__OF_START = -2, /* of an initial value */
    PERP__OF_CORNER = -3 /* of an unknown that stands for a corner */
};

/* A condition of the plan at a node, however it entered, for reports. */
typedef struct perp__plan_row {
    const char *text;
    int at;        /* in the model's text */
    int condition; /* of the plan block, or one of these */
    int is_affine; /* in all unknowns together but given lengths of runs */
    char is_upper; /* its right side less its left */
    char is_begin; /* it speaks of where the step begins */
} perp__plan_row;

/* A condition of the block that bounds unknown w at steps first .. last - 1, or p (else -1), or a
 * given initial value (both -1). */
typedef struct perp__plan_bounded {
    int condition, w, p, state, first, last;
    double lo, hi;
} perp__plan_bounded;

/* Entries of a sparse matrix, or of a gradient (row 0), each a root of the derivatives' tape, or -1
 * and constant. */
typedef struct perp__stage_entries {
    int n, capacity;
    int *row, *col, *root;
    double *value; /* where constant */
} perp__stage_entries;

/* Items of the model that the plan chooses, and where their values are in p. */
typedef struct perp__chosen {
    int n, *item, p;
    double *lo, *hi; /* of free parameters: their ranges, once one is set; else NaN */
} perp__chosen;

/* Of w and of rows at each step, of p. */
typedef struct perp__bounds {
    double *wlo, *whi, *rlo, *rhi, *plo, *phi;
} perp__bounds;

/* What a solve makes of pairs: sides that are fixed by their bounds, a b <= relaxation, a price on
 * a b. */
typedef struct perp__pairing {
    const perp__bounds *bound; /* the program's, or those with sides fixed */
    double relaxation, penalty;
} perp__pairing;

/* What is added to the rows and the cost of a program of one stage without states besides
 * expressions, by functions of somebody else. What is not defined is NaN. */
typedef struct perp__external {
    int njac, ngrad,
        nhess; /* entries, each at another place than those of expressions; rows ascend */
    int *jac_row, *grad_col;
    const int *jac_col, *hess_row, *hess_col;
    void *context;
    void (*add_values)(void *context, const double *w, double *rows, double *cost);
    void (*slopes)(void *context, const double *w, double *jac, double *grad);
    void (*curvatures)(void *context, const double *w, const double *lambda, double sigma,
                       double *hess);
    int *jac_at, grad_at, hess_at; /* where they are among all; filled by perp__program_compile */
    double *jac;                   /* njac: work */
} perp__external;

/* How the steps that were asked for are divided, and at which of them runs of free length begin. */
typedef struct perp__mesh {
    int base;       /* steps asked for */
    int *first;     /* base + 1: the first step of each */
    double *part;   /* a step: its length, as a part of the one asked for */
    int nrun, *cut; /* nrun + 1: the first step of each run; none: those of the block */
    double *length; /* a step: its length, where there are runs */
    int holds;      /* inputs are held, though the block does not ask for that */
    int is_exact;   /* the equations of steps to the last digits */
} perp__mesh;

typedef struct perp__program {
    const perp_model *model;
    perp__scheme scheme;
    perp_plan_pairs pairs;

    /* layout */
    int K; /* steps */
    perp__mesh mesh;
    int npoint, nb;         /* points a step; unknowns a point */
    int held;               /* inputs are constant over a step: those of the last point count */
    int nx, nv, nsplit, nu; /* the parts of a point, in this order */
    int ns; /* states of the model: the first of the nx. With theta the others are copies of the
                     inputs, for the next step */
    int nw, np, nrow, npair;
    struct {
        int n, w; /* conditions that may be missed, by w[soft.w + 2 i] below or [.. + 1] above */
        int *condition, *step;
    } soft;
    struct {
        int n, most, first; /* most a point, whose unknowns begin at first of a point's */
        perp__plan_corner *of;
    } corner;
    struct {
        int n, *first;       /* n + 1: first step of each; one where none is asked for */
        int named;           /* n where they are named in the block, else 0 */
        int nrun, run_p;     /* their lengths in p; none for one that is fixed */
        double *step, *frac; /* n * K: step length, and time at its start, per unit of each phase */
    } phase;
    double from, horizon; /* start time; its length where fixed, or guessed */
    int *input_item;      /* nu: which inputs are chosen */
    perp__chosen param, start; /* free parameters; free initial states; item is the state */
    struct {
        char *rate; /* nequation: it has der(..) */
        /* conditions of the block: one without `at` that speaks of nothing but what the first node
         * has, too */
        char * first;
        perp__plan_bounded *bounded;
        int nbounded, cbounded;
        int model_row, model_end; /* the rows of the model's equations and pairs */
        int guards;               /* pairs that are switched by `when` */
    } has;
    perp__plan_pair *pair;
    perp__plan_row *row;

    /* numbers */
    struct {
        double *x;    /* nx: initial states where fixed */
        int *p;       /* nx: place in p, or -1 */
        char *given;  /* ns: at the model's initial value... */
        char *is_set; /* ns: ...or, set later, at x */
        int distant;  /* place in p of what start(..) and end(..) of states are */
    } initial;
    perp__bounds bound;
    struct {
        double *time;     /* np: weights */
        double fixed;     /* of a horizon that is given */
        int nmark, *mark; /* costs at a node: the step */
        int varies;       /* expressions of it depend on unknowns, if only by jumps */
    } cost;
    struct {
        double *w, *p, *r; /* nw, np, nrow: units in which the search sees them, 1 unless... */
        int differ;        /* ...they are far from 1 */
        int are_balanced;  /* ...or are found all at once: ADR 075 */
    } unit;

    /* functions */
    struct { /* symbols of the tapes: pre, w, p, then in this order */
        int step, frac;
        int in, begin, last; /* phase.named: 1 in a phase, in its first step, in its last */
        int mark;            /* cost.nmark: 1 in the step */
        int end, relaxation, penalty;
        int slip, ncone; /* a cone of the model: the unit of its speed of slip */
        int lambda, sigma, n;
        int ncol; /* nx + nw + np: derivatives are taken with respect to the first ncol symbols */
    } sym;
    struct {
        perp__graph graph;
        perp__tape values;      /* rows, cost */
        perp__tape derivatives; /* changing entries of J, gradient of the cost, Hessian of L */
        double *ws;             /* of a chunk of stages */
    } tape;
    perp__stage_entries jac, grad, hess; /* hess.row >= hess.col */
    perp__external *external;            /* or NULL */
    int is_affine, is_quadratic;         /* the rows; then the cost, in all unknowns together */
    int has_kinks;                       /* rows or cost have a corner or a jump somewhere */
    perp__arena arena;
} perp__program;

typedef struct perp__program_options {
    int steps;
    perp_plan_method method;
    double theta; /* of the method of this name */
    perp_plan_pairs pairs;
    double from;
    const perp__mesh *mesh; /* of the steps; NULL: as asked for */
    int soft; /* conditions at nodes may be missed, and by how much is all that is minimised */
    const double *miss; /* by condition of the block: the unit of a miss; NULL: 1 */
    int values_only;    /* no derivatives will be asked for */
} perp__program_options;

/* Transcribe the model's plan block. NULL with messages in diag; *status says why. */
perp__program *perp__program_create(const perp_model *model, const perp__program_options *options,
                                    perp_status *status, perp_diag *diag);
void perp__program_destroy(perp__program *program);

/* The model's guesses at all nodes, or its bounds' middles, or 0. w: nw * K, p: np. PERP_ERR_MODEL:
 * a guess is no finite number, which diag (nullable) says. */
perp_status perp__program_guess(const perp__program *program, double *w, double *p,
                                perp_diag *diag);

/* What state distant[i] of the block is at the plan's start or end. */
double perp__program_distant(const perp__program *program, const double *w, const double *p, int i);
/* All of them into p. */
void perp__program_set_distant(const perp__program *program, const double *w, double *p);

/* The same from a table's columns over its time, where it has them. name: of the table in messages.
 * PERP_ERR_DATA: it has none, or a value in one is no finite number. */
perp_status perp__program_guess_table(perp__program *program, const perp_trajectory *table,
                                      const char *name, double *w, double *p, perp_diag *diag);

/* The parts of two-sided pairs, by what their conditions make of w. Returns 0: memory. */
int perp__program_guess_parts(perp__program *program, double *w, const double *p);
/* The directions and speeds of slip of exact friction cones, by the slip and force in w, smoothed
 * by eps. Returns 0: memory. */
int perp__program_guess_cones(perp__program *program, double eps, double *w, const double *p);
/* The unknowns that stand for corners are what they stand for. r: room for the rows. */
void perp__program_close_corners(perp__program *program, double *w, const double *p, double *r);
int perp__program_has_cones(const perp__program *program);
/* What relaxed cones are (cones.c), by the program's bounds. */
typedef enum perp__cone_law { PERP__CONES_SMOOTH, PERP__CONES_SOFT } perp__cone_law;
void perp__program_treat_cones(perp__program *program, perp__cone_law as);

/* The sizes of the terms of a soft program's conditions, each the largest of what size[] has and
 * its rows at a guess. Returns 0: memory. */
int perp__program_size_conditions(perp__program *program, const double *w, const double *p,
                                  double *size);
/* Choose units by the sizes that unknowns and rows have at a guess. Returns 0: memory. */
int perp__program_find_units(perp__program *program, const double *w, const double *p);
/* The rows' values, in place, as the search sees them. */
void perp__program_rows_in_units(const perp__program *program, double *r);

/* Index of column `col` of the derivatives at step k in (w, p); -1: a given initial state. */
long perp__program_place(const perp__program *program, int col, int k);

/* Rows r (nrow * K) and the cost. pairing: NULL is 0 and 0. */
void perp__program_values(perp__program *program, const perp__pairing *pairing, const double *w,
                          const double *p, double *r, double *cost);

/* Entries of J (njac * K), of the cost's gradient (ngrad * K), and of the Hessian of
 * sigma * cost + lambda'r (nhess * K; NULL: not wanted). */
void perp__program_derivatives(perp__program *program, const perp__pairing *pairing,
                               const double *w, const double *p, const double *lambda, double sigma,
                               double *jac, double *grad, double *hess);

/* Does a condition without `at`, of a phase or -1, hold where phase q begins? Not where that is the
 * end of the step before, as seen from there. */
int perp__program_holds_first(const perp__program *program, int condition, int q);

/* Which of the chosen inputs is input `item` of the model; -1: none. */
int perp__program_input(const perp__program *program, int item);
/* The phase of step k. */
int perp__program_phase(const perp__program *program, int k);
/* State i at the start of step k, before a link. */
double perp__program_pre(const perp__program *program, const double *w, const double *p, int i,
                         int k);
/* Length of step k, and the time at its start. */
double perp__program_step(const perp__program *program, const double *p, int k);
double perp__program_time(const perp__program *program, const double *p, int k);

#endif
