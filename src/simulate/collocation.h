/* Internal: a step of a collocation method with the zero side of every pair fixed: equations and
 * zero sides at all points as one smooth system. events.c chooses the sides and finds where they
 * end (docs/adr/019-events.md). */

#ifndef PERP_SRC_COLLOCATION_H
#define PERP_SRC_COLLOCATION_H

#include "linalg/sparse_lu.h"
#include "base/arena.h"
#include "external/compiler.h"
#include "model/model.h"
#include "model/scheme.h"
#include "model/tape.h"

/* Which row of a pair is 0, and the other conditions on it. A two-sided pair lo <= a <= hi perp b
 * has all five. A one-sided pair is open with A (or off: the same), closed with B. A two-sided one
 * is off with A, between its bounds with B. */
enum {
    PERP__ROW_A,
    PERP__ROW_B,
    PERP__ROW_LO,         /* a - lo */
    PERP__ROW_HI,         /* hi - a */
    PERP__ROW_GUARD,      /* >= 0 where the guard holds */
    PERP__ROW_GUARD_RATE, /* h times the derivative of that */
    /* of a side made of positions: h times its derivative, and what takes back its drift */
    PERP__ROW_RATE,
    PERP__PAIR_ROWS
};

typedef enum perp__collocated {
    PERP__COLLOCATED,
    PERP__HAS_NO_VALUE,  /* a row, or a slope, is not a number */
    PERP__HAS_NO_MATRIX, /* the system is singular */
    PERP__HAS_NO_MEMORY,
    PERP__HAS_NO_END /* Newton's iteration does not converge */
} perp__collocated;

/* What was set, of inputs; and the parameters that may be: symbols behind all others. */
typedef struct perp__settable {
    const struct perp__driven *driven;
    int n, *param;
} perp__settable;

/* The matrix of the active rows and its factors: with many unknowns sparse, else dense. */
typedef struct perp__collocation_matrix {
    perp__sparse_lu *lu; /* NULL: dense */
    int *start, *column; /* sparse: the union of the patterns of all rows that can be active */
    double *value;
    double *dense;  /* n x n, column-major; LU in place */
    double *unit;   /* n: what each row was divided by */
    int *swap;      /* n */
    int has_pivots; /* sparse: those of the last factors may serve again */
} perp__collocation_matrix;

typedef struct perp__collocation perp__collocation;
struct perp__collocation {
    perp__collocation *of; /* whose rows these are, too; NULL: they are its own, */
    atomic_int users;      /* ... and those of so many */
    const perp_model *model;
    perp__scheme scheme;
    double step;   /* the usual length of one */
    int nx, nv, n; /* states, vars, unknowns: of each point the states, then the vars */
    int neq, nrow; /* rows of a point: the equations, then PERP__PAIR_ROWS of each pair */
    int ntable, *table, *hint; /* inputs that are tables, or may be set; */
    perp__settable may;        /* ... which, and parameters */
    int *state_of;             /* n: the state that each unknown is, or nx */
    int before, time, at_table, y,
        nsymbol; /* symbols: start, h; states before, times of points, tables at points, unknowns */
    perp__tape tape; /* the rows of all points, then the slopes that are not constant */
    int of_rows;     /* the number of its instructions that make the rows */
    int is_rough;    /* of a reference: rows need not be 0 but to so many roundings, */
    double roughly;
    double *terms; /* n: roundings of the terms of rows when factors were made */
    int *start, *column, nentry, *entry; /* of all rows */
    /* pair -> 1 or 2 where its side a or b is made of positions, and has a row of its rate */
    char * gap;
    const double *constant; /* the slopes that are */
    double *value, *ws;
    double
        *size; /* the caller's: the largest that each state has been; rounding is counted of that */
    double *row_of, *rest, *amount; /* n: residual; scratch */
    char *known;                    /* n: scratch */
    double leaves; /* the least share of a residual that an iteration by these factors left */
    /* of Newton's, so far, with factors of their own; with those of others; and directions that
     * were solved for */
    long iterations, again, along;
    int *active; /* n: the rows that are 0 */
    perp__collocation_matrix matrix;
    perp__compiled *compiled; /* the tape as machine code; NULL: it is interpreted */
    perp__arena arena;
};

/* Mark the states whose derivative stands in an equation with a var: these are velocities; the
 * others, positions. Returns 0 when memory is out. */
int perp__find_velocities(const perp_model *model, char *is_velocity);

/* Does an equation read positions alone, such as that of a closed loop? Returns -1 when memory is
 * out. */
int perp__holds_positions(const perp_model *model);

struct perp__changes;

/* NULL when memory is out. step: the usual length of one, by which drift is taken back; changes:
 * what may be set. */
perp__collocation *perp__collocation_create(const perp_model *model, const perp__scheme *scheme,
                                            double step, const struct perp__changes *changes);

/* Let its expressions run as machine code from now on; as perp__machine_make. Before others share
 * it. */
perp_status perp__collocation_compile(perp__collocation *at, perp_diag *diag);
/* Another for the same rows; it may outlive this one. */
perp__collocation *perp__collocation_share(perp__collocation *at);
void perp__collocation_destroy(perp__collocation *at);

/* The values of the parameters that may be set. */
void perp__collocation_put_parameters(perp__collocation *at, const double *value);

/* Solve a step of length h from t0 and states x with row mode[p] of each pair 0, from what the
 * unknowns are now. */
perp__collocated perp__collocation_solve(perp__collocation *at, double t0, double h,
                                         const double *x, const char *mode);

/* For the step that was solved last with another length: on its own polynomial. And that step, from
 * there by the factors that there are: until rows are no more than so many roundings; 0: to
 * rounding. */
void perp__collocation_stretch(perp__collocation *at, double h);
perp__collocated perp__collocation_solve_again(perp__collocation *at, double h, double enough);

/* Steps up to here have nothing to do with the next: pivots are chosen anew. */
void perp__collocation_forget(perp__collocation *at);

/* All points of the unknowns at these states and vars, the start of Newton's iteration. Or, for a
 * step of length h from t0, on the polynomial of another step. That step is given by `begin` and
 * the states `before`, with these unknowns at its points (y: n). */
void perp__collocation_guess(perp__collocation *at, const double *x, const double *var);
void perp__collocation_continue(perp__collocation *at, double t0, double h, double begin,
                                double length, const double *before, const double *y);

/* All points at this instant: what the rows of sides and guards are at it. */
void perp__collocation_stand(perp__collocation *at, double t, const double *x, const double *var);

/* Beyond the step that was solved, by its slope and bend at its end. */
void perp__collocation_predict(perp__collocation *at, double h);

/* Row k of pair p at point c, and the sum of the |terms| of its linearisation. */
double perp__collocation_side(const perp__collocation *at, int c, int p, int k);
double perp__collocation_terms(const perp__collocation *at, int c, int p, int k);
/* The rounding of all rows of the solved step, as seen in this row, which is none of them: |A^-T
 * slope| eps times the largest terms. A solve leaves the rounding of each row in others. */
double perp__collocation_noise(perp__collocation *at, int c, int p, int k);

/* The same of row r. */
double perp__collocation_noise_of(perp__collocation *at, int r);

/* Do all slopes of this row by states vanish at the present points, though not near them? Example:
 * x^2 at 0. */
int perp__collocation_is_flat(perp__collocation *at, int c, int p, int k);

/* States and, behind them, vars at point c; the slope of state i there with the sum of its
 * |terms|. */
static inline const double *perp__collocation_point(const perp__collocation *at, int c)
{
    return at->ws + at->y + c * (at->nx + at->nv);
}
double perp__collocation_length(const perp__collocation *at);
double perp__collocation_slope(const perp__collocation *at, int c, int i, double *terms);

/* The sensitivity of a solved step: the derivatives of all rows by the symbols before the unknowns,
 * and by parameters behind them. A direction is a vector of that length. */
typedef struct perp__collocation_slopes {
    perp__collocation *at;
    int nparam;
    int nsymbol, *param; /* all that are symbols here: those, then others that may be set */
    perp__tape tape;
    int *start, *column;
    double *ws;
    double *unit; /* factors of the active rows; scratch behind them */
} perp__collocation_slopes;

/* Of these parameters of the model. NULL when memory is out. */
perp__collocation_slopes *perp__collocation_slopes_create(perp__collocation *at, const int *param,
                                                          int nparam);
void perp__collocation_slopes_destroy(perp__collocation_slopes *slopes);

static inline int perp__collocation_slopes_columns(const perp__collocation_slopes *slopes)
{
    return slopes->at->y + slopes->nparam;
}

/* Takes the step that was just solved, by the existing factors if they left less than this share of
 * a residual (0: by new ones). Returns 0 if its matrix is singular. */
int perp__collocation_slopes_take(perp__collocation_slopes *slopes, double enough);

/* The entries of a direction for the start's time, which moves by dt, and the length, by dh, and
 * what follows from them. Its other entries are the caller's: states before from at->before on,
 * parameters from at->y on. */
void perp__collocation_slopes_move(const perp__collocation_slopes *slopes, double dt, double dh,
                                   double *move);

/* How row r moves in this direction: without the unknowns, and by them; and the unknowns (n), 0 if
 * they are not finite. */
double perp__collocation_slopes_row(const perp__collocation_slopes *slopes, int r,
                                    const double *move);
double perp__collocation_row_by_unknowns(const perp__collocation *at, int r, const double *dy);
int perp__collocation_slopes_solve(perp__collocation_slopes *slopes, const double *move,
                                   double *dy);

/* Backward. eta (n), derivatives by the unknowns, becomes scratch; the derivatives by the
 * direction's entries are added. Likewise the derivative of row r, times a factor: by these
 * entries, and by the unknowns. */
int perp__collocation_slopes_back(perp__collocation_slopes *slopes, double *eta, double *move);
void perp__collocation_slopes_add(const perp__collocation_slopes *slopes, int r, double by,
                                  double *move);
void perp__collocation_add_unknowns(const perp__collocation *at, int r, double by, double *eta);

/* A step that was solved once, from its symbols (nsymbol) and active rows (n). */
void perp__collocation_put(perp__collocation *at, const double *symbol, const int *active);

/* The row of pair p at point c. */
static inline int perp__collocation_row(const perp__collocation *at, int c, int p, int k)
{
    return c * at->nrow + at->neq + PERP__PAIR_ROWS * p + k;
}

#endif
