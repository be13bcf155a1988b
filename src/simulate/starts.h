/* Internal: conditions on the states alone, before any step. They are: equations without force and
 * rate, such as a closed loop; the rates of those in positions; gaps (docs/adr/043-starts.md). */

#ifndef PERP_SRC_STARTS_H
#define PERP_SRC_STARTS_H

#include "model/tape.h"
#include "simulate/run.h"

typedef enum perp__start_kind {
    PERP__START_EQUATION, /* it is 0 */
    PERP__START_RATE,     /* the derivative of such an equation by the time is 0 */
    /* the lower bound of a pair is not above the upper one: nothing moves that here */
    PERP__START_WIDTH,
    PERP__START_SIDE,  /* the side of a pair is >= 0 */
    PERP__START_LOWER, /* what stands between bounds is above the lower, */
    PERP__START_UPPER  /* ... below the upper one */
} perp__start_kind;

typedef struct perp__start_row {
    perp__start_kind kind;
    int of, side;    /* of the model: the equation, or the pair and its side */
    int guard;       /* root of the pair's guard, or -1 */
    int bound;       /* root of the bound, or bounds, that its message names, or -1 */
    int moves_rates; /* reads a state whose rate the others do not tell: a velocity */
} perp__start_row;

/* Rows are the first roots of the tape. Row r has the slopes start[r] .. start[r + 1] - 1, by
 * states column[], which are the last. A row whose value is not a number reads something that the
 * states do not determine; it is not asked for. */
typedef struct perp__starts {
    const perp_simulation *sim;
    int n, nx;
    perp__start_row *row;
    int *start, *column, first_slope;
    char *is_velocity; /* nx: only forces tell its rate */
    /* nx: declared, else the largest that a state of the same unit is at the start, else 1 */
    double * size;
    perp__tape tape;
    double *ws; /* the model's symbols first */
    perp__terms *term;
    perp__arena arena;
} perp__starts;

/* For the states, parameters and inputs that a simulation has now. Returns 0 when memory is out;
 * clear in every case. */
int perp__starts_create(perp__starts *starts, const perp_simulation *sim);
void perp__starts_clear(perp__starts *starts);

/* Evaluate at these states (nx). */
void perp__starts_evaluate(perp__starts *starts, const double *x);

/* Row r there; NaN: it is not asked for. Its residual, >= 0, and its scale: the sum of its |terms|,
 * and of the terms with states of their typical sizes. */
double perp__starts_value(const perp__starts *starts, int r);
double perp__starts_lack(const perp__starts *starts, int r);
double perp__starts_scale(const perp__starts *starts, int r);

/* Is it broken by more than rounding? */
int perp__starts_is_broken(const perp__starts *starts, int r);
static inline int perp__starts_is_equation(const perp__starts *starts, int r)
{
    return starts->row[r].kind <= PERP__START_RATE;
}

/* A warning at its place for each row that is broken; impacts (a velocity of a closed contact) only
 * if asked. How many. */
int perp__starts_tell(const perp__starts *starts, int with_impacts, perp__source *findings);

#endif
