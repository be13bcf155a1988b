/* Internal: the step problem. One step asks for y = (states at its end, vars, splits) with
 *
 *     rows:       A y + c            c, and what of A is not constant, come from a tape at each step
 *     equations:  their rows are 0
 *     pairs p:    0 <= row a_p perp row b_p >= 0;  where its guard is off, row off_p is 0 instead
 *
 * A two-sided pair lo <= y <= hi perp e is two one-sided ones, with the splits s+, s- >= 0 as extra
 * unknowns:
 *
 *     e = s+ - s-,   0 <= y - lo  perp  s+ >= 0,   0 <= s-  perp  hi - y >= 0
 *
 * problem.c builds it from the model, step.c solves it (sparse.c where there are many unknowns),
 * sides.c chooses the complementary variables; cones.c takes the steps with exact friction cones
 * that step.c cannot. */

#ifndef PERP_SRC_STEP_H
#define PERP_SRC_STEP_H

#include "model/model.h"
#include "model/scheme.h"
#include "model/tape.h"
#include "base/pass.h"
#include "perp/simulate.h"

/* The first symbols of the workspace. */
enum { SYM_T, SYM_T_PRE, SYM_H, SYM_THETA, SYM_PRE };

typedef struct perp__rows {
    int a, b, off;
    int of; /* the model's pair */
} perp__rows;

/* An exact friction cone: its two equations, and five rows of its own: force (2), velocity (2),
 * bound. The bound is a multiple of its normal's side. */
typedef struct perp__cone {
    int equation, row;
    int pair, side; /* the normal: one of `pair`, or -1, and its side, 0 a or 1 b */
} perp__cone;

/* Layout: what the model, the method and the step's parameters fix. Runs share it (layout.c); nothing
 * writes to it once it is made. ------------------------------------------------------------------ */

/* Contacts stated by positions (contacts.c). */
typedef struct perp__gaps {
    int n;        /* pairs with a gap made of positions; 0 with theta = 1 */
    char *side;   /* pair of the model: 1 or 2 where its side a or b is such a gap */
    char *damped; /* equation of the model: it moves what such a gap reads; SYM_THETA weights it */
} perp__gaps;

/* What of a model a simulation may change between its steps: these parameters, and these inputs. */
typedef struct perp__changes {
    int nparam, ninput;
    const int *param, *input;
} perp__changes;

/* Parameters of the model that are symbols after the n others; all others are numbers. Values of
 * them alone, and in an affine model of the length of the step, have a tape of their own, evaluated
 * when they are set. */
typedef struct perp__varied {
    int n, *param;
    perp__tape tape;
    int nentry, *entry; /* nonzeros of A that come from it: its first outputs */
} perp__varied;

/* Vars that an equation sets (assigned.c), in an order in which none comes before what it is made
 * of. They are no unknowns; their values have symbols behind those of the unknowns. */
typedef struct perp__assigned {
    int n, *var, *equation; /* of the model */
    int nread;              /* the others are not read by any condition, nor by these */
    int root;               /* the first of their values among the roots of the conditions */
} perp__assigned;

/* The first symbols of the workspace: t, t_pre, h, theta, pre states, tables now and before,
 * unknowns, assigned vars; n in all. */
typedef struct perp__symbols {
    int pre, table, table_pre, y, n;
    int *var_at; /* var of the model -> its symbol, counted from y */
    int *var_of; /* nv: the var of the model that unknown nx + k is */
    perp__varied varied;
    perp__assigned assigned;
} perp__symbols;

/* The model's inputs that are tables, or set by the caller. If the model gives the latter as
 * functions of time, these are a tape: their values at the end of the step, and before it. */
typedef struct perp__tables {
    int n, *input;
    int *is_set;  /* n: may the caller set it? */
    int *formula; /* n: its first output of the tape, or -1 */
    perp__tape tape;
} perp__tables;

typedef struct perp__tapes {
    perp__tape
        coefficients; /* c (nrow), then the entries of A that are not constant; of a nonlinear step made of what `check` left */
    perp__tape check; /* left, right of each equation; a, b, lo, hi of each pair of the model; the
                          bounds of exact cones */
    perp__tape guards;  /* one per guarded pair of the model */
    perp__tape outputs; /* what rows report beside unknowns: the model's inputs and outputs */
    int *guard_of;      /* model pair -> output of the guards tape, or -1 */
} perp__tapes;

/* Some of the nonzeros, row by row. */
typedef struct perp__entries {
    int n, *row, *at;
} perp__entries;

/* What the verdicts know of the rows' structure. */
typedef struct perp__marks {
    char *is_rate;     /* nonzeros of equations: the unknown is a state whose derivative is there */
    int *equation;     /* nown: of the model */
    char *has_h;       /* nown: the row was multiplied by h */
    char *in_equation; /* ny */
    char *defined;     /* ny: a var that an equation defines, x = ... */
    char *is_side;     /* ny: stands alone as a side of a pair */
    int *defines;      /* nown: the unknown that it defines, or -1 */
    int *definition;   /* the equations that define one, in an order in which they can be used */
    int ndefined;
    int *force_of; /* 2 for each friction(...) of the model: the vars that are its forces, or -1 */
    int *before;   /* symbol -> the same state before the step, or -1 */
    int *defined_at; /* nown: where the entry of the unknown that it defines is, or -1 */
    perp__entries rate,
        force; /* entries by which states, and vars that no equation defines, are sized */
    int *stands_start, *stands_in; /* ny + 1; the rows that each unknown stands in */
    int reads_time;                /* do conditions, rows or guards read the time itself? */
} perp__marks;

typedef struct perp__layout {
    perp__scheme scheme;
    perp__gaps gaps;
    int is_limit; /* pre(x) is x: at an instant at which nothing jumps (perp__step_create_limit) */
    int nonlinear; /* rows are linearised at the present y, and h is a symbol: a step can be halved */
    int nx, nv, ny;                /* states, vars, all unknowns */
    int nown, nequation, np, nrow; /* rows up to nown - 1 are equations of the model, those up to
                                      nequation - 1 splits, then those of pairs, then of cones */
    perp__rows *pair;              /* np */
    perp__cone *cone;              /* ncone */
    int ncone;
    perp__symbols sym;
    perp__tables table;
    perp__tapes tape;
    int *row_start, *column; /* nrow + 1; the nonzeros of the rows */
    double *fixed;           /* the nonzeros that do not change; 0 for the others */
    int nentry, *entry;      /* nonzeros that come from the tape of coefficients */
    int constant;            /* there are none: the matrix does not change */
    int nrow_code; /* instructions of that tape that make the rows; the others make their slopes */
    perp__marks marks;
    double *declared; /* ny: the least size of an unknown, by its declaration; 0: none */
} perp__layout;

/* State: what a later step depends on, to the bit. It is what a snapshot holds (snapshot.c). ------ */

/* The conditions as they were written, at the point in the workspace (docs/adr/008-verdicts.md). */
typedef struct perp__verdict {
    double error;    /* the largest |violation| / scale: what decides */
    double breach;   /* the same of the inequalities alone: 0 in the right mode, but for rounding */
    double residual; /* the largest natural residual, absolute: for reading */
    int worst;  /* the condition with the largest error, equations first, then pairs; -1: none */
    double off; /* its natural residual */
} perp__verdict;

/* Nonzeros of the rows, at the present point or, with are_known, at a former one: Newton's iteration
 * begins with those. */
typedef struct perp__slopes {
    double *value;
    int are_known;
    double h, theta; /* with which they were made */
} perp__slopes;

/* Units of unknowns and rows: those of the first linearisation (perp__step_units). */
typedef struct perp__units {
    int are_known;
    double *value; /* ny + nrow */
} perp__units;

/* A step that moved nothing: a step that asks the same of the same numbers has its answer. */
typedef struct perp__step_rest {
    int is_known;
    double *root; /* rows, then roots of the tapes of conditions and of guards, as they were then */
    perp__verdict verdict;
} perp__step_rest;

/* Of something that is tried in some steps only: failures, one after the other; steps until it is
 * tried again. */
typedef struct perp__patience {
    int failures, wait;
} perp__patience;

/* The most failures that count, of Newton beside cones and of rest: 2^n - 1 steps. */
enum { PERP__CONES_WAIT = 3, PERP__STANDING_WAIT = 6 };

/* The degree of the polynomial in time that guesses of states follow. */
enum { PERP__MOVES = 3 };

typedef struct perp__counts {
    long eliminations, cone_steps; /* steps solved by cones, halves included */
    double work; /* multiplications for all that was solved, about; the same on all machines */
} perp__counts;

/* The choice of sides for which a problem was eliminated last: tried first while guards stay. */
typedef struct perp__z_sides {
    int are_known;
    char *on, *side; /* np: guards; 0 if z is side a, 1 if side b, -1 without a guard */
} perp__z_sides;

/* The matrix of the sparse factors, and whether these are of the present mode. */
typedef struct perp__factored {
    enum { PERP__CURRENT, PERP__SLOPES_CHANGED, PERP__NO_FACTORS } are;
    int *row;          /* ny: the row that each condition has */
    int in_units;      /* in the units of unknowns and rows? */
    double *value;     /* the nonzeros */
    double *factor;    /* ny: by what each row was multiplied */
    double *pivoted;   /* where values change: the nonzeros that the pivots are of */
    int is_refactored; /* the factors are of others, with these pivots */
    double shift;      /* 0: modes are as they are; else this part of each force is in the
                              condition that determines it */
    int *singular;     /* ny: the rows of the last mode that was */
} perp__factored;

typedef struct perp__step_state {
    char *on, *choice; /* np: is the guard on; the side that was zero last */
    int are_closed;    /* was a contact stated by positions closed at the end of the last step? */
    perp__slopes slopes;
    perp__factored factored;
    perp__z_sides z;
    perp__units units;
    double *history; /* ny: the largest that each state has been in this run */
    char *side_now;  /* npair of the model: 0 a > 0, 1 both 0, 2 b > 0, 3 guard off */
    double *move;    /* PERP__MOVES times nx: what the last step moved, and its differences */
    int moves;       /* how many of these are known; the others are 0 */
    perp__step_rest rest;
    int redundant; /* the last step was solved by cones, with the sides of the one before */
    perp__patience beside_cones, standing; /* of Newton where cones went on; of rest (try_rest) */
    perp__counts count;
} perp__step_state;

/* Cache: what saves time, and scratch. It may be thrown away before any step (perp__step_drop_cache);
 * no bit of the run changes. ---------------------------------------------------------------------- */

/* A problem eliminated for one pattern of guards: T y + c_T = (0, z) with z the chosen side of each
 * active pair. */
typedef struct perp__elimination {
    int used;          /* is it there? */
    char *key;         /* np: is the pair's guard on? */
    char *side;        /* np: 0 if z is side a, 1 if side b */
    int nz;            /* active pairs */
    int *row;          /* ny: the rows of T; the last nz belong to the z */
    int *pair;         /* nz: which pair each z belongs to */
    double *T_inverse; /* ny x ny, column-major */
    double *K; /* nz x ny, column-major: W T^-1 for the other sides W; its last nz columns are M */
} perp__elimination;

/* The linear map of one mode: y = -S c_row. */
typedef struct perp__mode {
    int used, singular;
    char *key; /* np: 0 side a is zero, 1 side b is zero, 2 guard off */
    int *row;  /* ny */
    double *S; /* ny x ny, column-major */
    int *order,
        norder; /* what follows its solution (perp__step_settling), if the rows stay; -1: not known yet */
} perp__mode;

/* What the dense path can use again: the last few eliminations and modes. */
typedef struct perp__dense_modes {
    char *key; /* np: guards and sides of the present mode */
    perp__elimination *elimination;
    perp__mode *mode, *current;
    int nelimination, nmode, next_elimination, next_mode;
} perp__dense_modes;

/* The complementarity problem of an elimination, and scratch for it. */
typedef struct perp__dense_lcp {
    perp_lcp_solver *solver;
    double *q, *z, *w, *work;
    double *matrix; /* ny x ny: one that is to be inverted, behind work */
    int *index;
} perp__dense_lcp;

/* Newton's iteration, whose steps are affine. */
typedef struct perp__newton {
    double *from;      /* ny: where the step starts; then 2 ny of scratch */
    double *at;        /* ny: the point that c is of */
    char *dependent;   /* nequation: rows dropped in a step; then ny of scratch */
    char *bad;         /* np: from the last failed choice of sides */
    int is_old;        /* the present step has the slopes of a former point */
    int has_full;      /* A as a full matrix is up to date */
    int sparse_only;   /* with contacts: the dense path is not to be tried */
    int contacts_next; /* where a mode is singular the dense path is tried after contacts */
    double *of;        /* the symbols that state.rest is of, from h up to the unknowns, */
    int is_noted;      /* if that was the last evaluation of the conditions */
} perp__newton;

/* By what conditions are judged at the present point. */
typedef struct perp__sizes {
    int has_terms;     /* terms are of the present point */
    perp__terms *term; /* by slot, up to the end of the check's tape */
    double *own;       /* ny: what the size of an unknown is judged by */
    double *of;        /* ny: what an unknown counts with among terms */
    double *scale;     /* nrow: sums of |terms| of the equations as written; data of rows */
    double *scratch;   /* ny */
    char *anchored;    /* nrow + ny: scratch */
    int *in_mode;      /* 2 ny + 2 nrow: scratch */
    int grown;         /* the unknown that perp__step_has_grown found furthest beyond its data, */
    double grown_to, beside; /* its value there, and the largest of these in its unit */
} perp__sizes;

typedef struct perp__step_cache {
    double *c; /* nrow: the rows at y = 0 */
    double *A; /* nrow x ny, row-major: the rows as a full matrix; NULL without the dense path */
    perp__dense_modes modes;
    perp__dense_lcp lcp;
    struct perp__sparse *sparse; /* sparse.c: tried first with many unknowns; else NULL */
    struct perp__cones *cones;   /* cones.c; NULL until it is needed */
    perp__newton newton;
    perp__sizes sizes;
    int *hint;         /* of each table of the layout: where its last value was found */
    int out_of_memory; /* somewhere in the present step */
} perp__step_cache;

/* Looks for other solutions of the steps of a run (step.c). */
typedef struct perp__others {
    double work;  /* of these looks, as counted for steps */
    int is_found; /* the step in hand has another verified solution, with other states */
} perp__others;

/* The step of one run. */
typedef struct perp__step {
    const perp_model *model;
    struct perp__shared *shared; /* layout.c: owns the layout */
    const perp__layout *layout;
    perp_lcp_method method;
    double tol;
    double h;         /* state: the length of whole steps */
    double *ws;       /* the workspace: symbols (state), then what tapes evaluate (cache) */
    int has_assigned; /* assigned vars have the values of the last evaluation of the conditions */
    perp__others *others; /* the run's; NULL: nobody asks */
    const char *held; /* pairs of the model whose guards are on, > 0, or off, < 0, whatever they say
                         (events.c); NULL: none */
    perp__step_state state;
    perp__step_cache cache;
} perp__step;

/* May a step that fails be taken in halves? A step of a discrete model is one: `next` has no half. */
static inline int perp__step_has_halves(const perp__step *step)
{
    return step->layout->nonlinear && step->model->kind == PERP_CONTINUOUS;
}

/* With contacts: singular modes are shifted, and Newton's steps whole. */
static inline int perp__shifts_modes(const perp__step *step)
{
    return step->cache.sparse && step->cache.newton.sparse_only;
}

/* So many that elimination and pivoting cost more than shifted modes where contacts say the same
 * thing several times over? */
static inline int perp__has_many_contacts(const perp__step *step)
{
    enum { FEW = 8 };
    return step->cache.sparse && step->model->ncontact > FEW;
}

/* The row of force k (0, 1) of the exact cone that has this equation as its k-th, velocity k two
 * rows on; -1 if it belongs to none. */
static inline int perp__cone_row(const perp__step *step, int equation)
{
    const perp__layout *l = step->layout;
    if (equation >= l->nown || perp__cone_of(step->model, l->marks.equation[equation]) < 0)
        return -1;
    const perp__cone *cone = l->cone;
    while (equation > cone->equation + 1) cone++;
    return cone->row + equation - cone->equation;
}

/* problem.c: make the layout of a model, for layout->scheme and is_limit; 0 when memory is out. To be
 * cleared in every case. */
int perp__problem_build(perp__layout *layout, const perp_model *model,
                        const perp__changes *changes);
void perp__problem_clear(perp__layout *layout);

/* layout.c; the parameters that may change are symbols of the step, in the workspace from
 * perp__step_parameter(step, 0) on. */
perp_status perp__step_create(perp__step *step, const perp_model *model,
                              const perp_simulation_options *options, const perp__changes *changes,
                              perp_diag *diag);
/* What compiled its expressions; NULL: they are interpreted. */
const char *perp__step_compiler(const perp__step *step);
/* Another of the same problem, without what its steps left behind. */
perp_status perp__step_share(perp__step *step, const perp__step *of,
                             const perp_simulation_options *options);
/* Another, of length h, to judge instants by: in its conditions pre(x) is x. PERP_ERR_UNAVAILABLE:
 * the model has changed since the step was made. */
perp_status perp__step_create_limit(perp__step *step, const perp__step *of, double h);
void perp__step_clear(perp__step *step);

/* The row of an equation of the model; -1: it sets an assigned var. */
int perp__equation_row(const perp__layout *layout, int equation);

/* What the problem was made of: numbers. */
const double *perp__step_key(const perp__step *step, size_t *n);

/* The present values of the model's varied parameters; the values that depend on those in the
 * workspace, and on step->h; the same, and discards all factors. */
void perp__step_take_parameters(perp__step *step);
void perp__step_put_varied(perp__step *step);
void perp__step_revalue(perp__step *step);

/* The conditions as they were written, at the present symbols. */
void perp__step_evaluate(perp__step *step);

/* The bytes of all symbols up to the unknowns: from these a step begins. Assigned vars come after
 * them, and are what perp__step_assign made them last. */
static inline size_t perp__step_symbols(const perp__step *step)
{
    return (size_t)(step->layout->sym.y + step->layout->ny) * sizeof(double);
}

/* assigned.c: which they are. Returns 0 when memory is out. And (problem.c): put their values in
 * the workspace, after the evaluation of the conditions at the present point. */
int perp__assigned_find(perp__assigned *assigned, const perp_model *model);
void perp__step_assign(perp__step *step);

/* The rows and outputs of a step (nrow, one an output, then one an assigned var) in terms of the
 * workspace's symbols, and the states' initial values. These parameters of the model are further
 * symbols: perp__step_parameter(step, k) is that of param[k]. The graph is the caller's, also on
 * failure. bounds: those of the guards, nullable; the caller's, too. Returns 0 when memory is
 * out. */
int perp__step_formulas(const perp__step *step, const int *param, int nparam, perp__graph *graph,
                        perp_expr *row, perp_expr *output, perp_expr *initial,
                        perp__guard_bounds *bounds);
int perp__step_parameter(const perp__layout *layout, int k);

/* sides.c: choose z for every active pair so that T is nonsingular; side[p] is 0 or 1 on return.
 * Returns 0 if no choice makes it so: bad[p] = 1 for the pairs that could not be placed, or
 * *bad_row >= 0 for a row that depends on other fixed rows. work and iwork hold perp__sides_doubles
 * and perp__sides_ints. */
int perp__choose_sides(perp__step *step, const char *on, char *side, char *bad, int *bad_row,
                       double *work, int *iwork);
size_t perp__sides_doubles(int ny);

/* Units of the unknowns (ny), powers of two, and factors of the rows (nrow). With them the entries
 * of all rows are near 1: entry times the unknown's unit times the row's factor. Those of the first
 * linearisation. Decisions by size are made in them, so that they do not depend on the units of the
 * model. */
const double *perp__step_units(perp__step *step);
const double *perp__step_row_units(perp__step *step);
/* The largest unknown in its unit, above 0: what beside it is rounding is nothing. With no floor of
 * its own, which would be one size in metres and another in microns. */
double perp__step_reach(perp__step *step);
void perp__step_units_by_largest(perp__step *step); /* from now on, of the present entries */
size_t perp__sides_ints(int ny, int np);

/* step.c: solve one step for the symbols in the workspace. On PERP_SOLVED the unknowns are in the
 * workspace, verified. */
typedef enum perp__step_fault {
    PERP__FINE,
    PERP__NOT_FINITE,       /* a coefficient is not a number */
    PERP__SINGULAR,         /* no choice of sides */
    PERP__NO_ANSWER,        /* the solver's outcome tells */
    PERP__DIVERGED,         /* Newton's iteration did not converge */
    PERP__UNVERIFIED,       /* the solver's answer does not hold */
    PERP__UNDECIDED,        /* it holds only by numbers so large that rounding decides */
    PERP__BELOW_RESOLUTION, /* the first step moves nothing, though rates are not 0 */
    PERP__NOT_PASSED,       /* an event, or the time up to it (events.c) */
    PERP__UNRESOLVED,       /* parts of a step at their least length do not end (parts.c) */
    /* the conditions, linearised where Newton's iteration stands, have no solution */
    PERP__LINEARISED
} perp__step_fault;

/* marks.c: the last of a layout. 0 when memory is out. */
int perp__marks_allocate(perp__layout *layout, const perp_model *model);

/* Was unknown j declared, and as what? The others are parts of two-sided pairs and of friction. */
int perp__step_is_named(const perp__layout *layout, const perp_model *model, int j);
const perp__item *perp__step_item(const perp__layout *layout, const perp_model *model, int j);

perp__verdict perp__step_verify(perp__step *step);

/* The same of conditions that were evaluated. Equations that hold to `sure` by a cheap bound are not
 * looked into: what a solve is held to, or a value of the caller's. */
perp__verdict perp__step_judge_evaluated(perp__step *step);
perp__verdict perp__step_judge(perp__step *step, double sure);

/* The largest natural residual, each condition in the unit of its row: for Newton's line search.
 * After their evaluation. */
double perp__step_residual(perp__step *step);

/* The linearised rows. Is row r 0, or only >= 0, up to tol times the sum of its |terms|, or up to
 * rounding? That is cheap, and sure; else find what unknowns are judged by, then the row with its
 * scale and rounding. And the rounding that there is at least. */
double perp__step_row_rounding(const perp__step *step, int r);
int perp__step_row_holds(const perp__step *step, int r, double tol, int is_zero);
void perp__step_size(perp__step *step);
perp__amount perp__step_row_amount(const perp__step *step, int r, const double *y);

/* After the solution of the rows row[ny] of a mode (NULL: of others). Values that one of them holds
 * at a bound (a force at 0) are set there, then vars that equations define (x = ...) come from the
 * other unknowns. A solve leaves both with the rounding of the rows they are in. */
void perp__step_settle(perp__step *step, const int *row);

/* The same as a list: the row and the unknown of each substitution, in order (2 * (ny + ndefined)
 * ints). How many is returned. Writes over the unknowns. */
int perp__step_settling(perp__step *step, const int *row, int *order);

/* perp__step_settle, where rows stay by this list of n, which is for these rows and no others; n <
 * 0: it is made. */
void perp__step_settle_again(perp__step *step, const int *row, int *order, int *n);

/* Is all that forces move 0, but for what the solution of a mode leaves, and not all of it
 * exactly? */
int perp__step_stands(perp__step *step);

/* Have vars, forces among them, another value than at the start? By more than rounding. */
int perp__step_is_loaded_anew(perp__step *step, const double *start);

/* Put 0 there, the other states where that leaves them, and into lack (ny) what the equations of
 * forces lack. Returns the largest. */
double perp__step_stand(perp__step *step, double *lack);

/* The vars that equations define (x = ...), from their rows as linearised now. Returns whether one
 * changed. */
int perp__step_define(perp__step *step);

/* After a solved step from the states `start`: does none move, although a rate is not 0? Then each
 * increment was lost beside the state that it is added to. */
int perp__step_moves_nothing(perp__step *step, const double *start);

/* After perp__step_verify: are there unknowns so much larger than all data that rounding decides?
 * Then nothing is verified. */
int perp__step_has_grown(perp__step *step);
/* The item of sizes.grown; NULL: it is none of the model's. */
const perp__item *perp__step_grown(const perp__step *step);

/* Does an equation of the model only miss a scale, since all its terms vanish with one unknown? The
 * name of that, and the scale with which the equation would hold at the present point, no more than
 * the unknown's usual size; else NULL. */
const char *perp__step_unscaled(perp__step *step, int condition, double *scale);

typedef struct perp__step_result {
    perp_outcome outcome;
    perp__step_fault fault;
    double residual, error, off;
    int solves;
    int worst; /* the model's condition with the largest error: equations first, then pairs */
    const char *unscaled; /* perp__step_unscaled of that; NULL: more is wrong */
    double scale;
    const double *certificate; /* nz of the elimination; nullable */
    const perp__elimination *elimination;
} perp__step_result;

/* unique.c: var[k] = 1 for the vars that the conditions leave open while all contacts are closed and stick, but for the pairs that are open. Needs
 * the dense rows, evaluated. 0 when memory is out. */
int perp__step_undetermined(const perp__step *step, const char *is_open, char *var);

/* contacts.c: find the contacts stated by positions. 0 when memory is out. And: does one of them carry a force in the
 * step that was solved last? */
int perp__contacts_find(perp__layout *layout, const perp_model *model);
int perp__contacts_closed(const perp__step *step);
/* For all methods: which side of each pair, 1 or 2, contains positions alone (side: npair), and
 * which equations do (nequation). Returns 0 when memory is out. */
int perp__positions_find(const perp_model *model, char *side, char *equation);

/* sparse.c: the matrix of modes, and a step by switching sides until none is violated. */
int perp__sparse_allocate(perp__step *step);
void perp__sparse_free(perp__step *step);
int perp__sparse_factor_again(perp__step *step);     /* from the state; 0 when memory is out */
void perp__sparse_forget(perp__step *step);          /* the factors */
int perp__sparse_is_shifted(const perp__step *step); /* is the present mode? */

/* Forces for which nothing moves; 0: not found. choice: np, takes the sides that the mode had. */
int perp__sparse_stand(perp__step *step, char *choice);
void perp__sparse_slopes_changed(perp__step *step);
void perp__sparse_pass(perp__step *step, perp__pass *pass);
/* Bring the factors up to the sides in `choice` and the guards in `on`. Returns 0 if that matrix is
 * singular. */
int perp__sparse_factor_mode(perp__step *step);
/* y of the present mode, from its rows alone; 0 if it is singular. */
int perp__sparse_apply_mode(perp__step *step);
perp__step_result perp__sparse_solve(perp__step *step);
int perp__sparse_solve_rows(perp__step *step, double *x,
                            int count); /* by the factors, in place: ny x count */
int perp__sparse_solve_columns(perp__step *step, double *x); /* by the transposed ones */
int perp__sparse_refine(perp__step *step); /* once, by the factors of the last mode */

/* Factors the matrix that has this row for each condition (ny; each must be one that the condition
 * can take). It uses the pivots of the last factors if they are of the same rows (has_pivots) and
 * good enough. Returns 0 if it is singular. */
int perp__sparse_factor(perp__step *step, const int *row, int has_pivots);

/* cones.c: one linearised step by perp/friction.h. Goes to the solution of the conditions
 * linearised at the present y, or near it if not *solved; 0 if there is nowhere to go. The answer is
 * not verified. again: the same step in time as the last call, whose pivots may serve. */
int perp__cones_step(perp__step *step, int again, int *solved);
void perp__cones_free(perp__step *step);

/* Take the room of a place of the caches. Returns 0 when memory is out. */
int perp__step_has_mode(perp__step *step, perp__mode *mode);
int perp__step_has_elimination(perp__step *step, perp__elimination *elimination);

/* state.c: state and cache of a step whose layout is there; PERP_ERR_MEMORY when memory is out. To be
 * freed in every case. */
perp_status perp__step_allocate(perp__step *step);
void perp__step_free(perp__step *step);

/* Nothing in the cache is of the present state any more: as after perp__step_drop_cache, but its
 * memory stays. */
void perp__step_stale(perp__step *step);

/* Throw the cache away, between two steps. PERP_ERR_MEMORY: it could not be taken anew, and the step
 * is fit for perp__step_free only. */
perp_status perp__step_drop_cache(perp__step *step);

/* From now on a problem may take so many pivots or iterations of each method. 0 when memory is out. */
int perp__step_limit(perp__step *step, perp_lcp_method method, int iterations);
void perp__step_fill(perp__step *step); /* the full matrix from the nonzeros, for the dense path */

perp__step_result perp__step_solve(perp__step *step);

/* Discards the data of earlier steps: the next one is solved as if it were the first; or only the
 * matrices, as for other values of parameters. */
void perp__step_forget(perp__step *step);
void perp__step_forget_factors(perp__step *step);

/* For derivatives of a solved step (sensitivity.c): linearise a step that is not affine at its
 * solution; and the linear map of the present sides, dense. NULL: singular, or there is no dense
 * path. */
void perp__step_linearise(perp__step *step);
const perp__mode *perp__step_mode(perp__step *step);

/* simulate.c: after perp_model_set, takes the values of the parameters that may change, and gives
 * the messages that creation would have given. */
perp_status perp__simulation_revalue(perp_simulation *simulation, double from, long steps,
                                     perp_diag *diag);

/* simulate.c: another simulation of its model, in whose first step there is no need to look for
 * sides that determine it. */
perp_status perp__simulation_create_like(const perp_simulation *simulation,
                                         const perp_simulation_options *options,
                                         perp_simulation **like, perp_diag *diag);

/* simulate.c: restarts at time `from` for so many steps, with the initial states and input tables
 * that the model has now; its parameters stay those of the creation. */
void perp__simulation_restart(perp_simulation *simulation, double from, long steps);

/* on: np, which guards would be on in a step that begins at t with the present states. scratch:
 * nx. */
void perp__step_guards(perp__step *step, double t, char *on, double *scratch);

/* For the checks: evaluate everything at the present symbols and eliminate, with all guards on if
 * asked. NULL if no sides could be chosen; then step->newton.bad and *bad_row tell which pairs or
 * which row. */
perp__elimination *perp__step_prepare(perp__step *step, int all_on, int *bad_row);

#endif
