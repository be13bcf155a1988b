/* Internal: what a model says of its impacts: which pairs can have some, by which vars, and whose
 * momentum these change. */

#ifndef PERP_SRC_STRIKING_H
#define PERP_SRC_STRIKING_H

#include "base/arena.h"
#include "model/model.h"

/* In a step of fixed length a force that begins to act is an impact only if the pair's other side
 * was free to be negative before: */
typedef enum perp__strikes {
    PERP__STRIKES_NEVER,
    PERP__STRIKES_BY_GUARD, /* a velocity, while the guard was off */
    PERP__STRIKES_BY_GAP    /* the rate of a gap, while the gap was open */
} perp__strikes;

/* Most impulses of friction of one contact: two directions, each one var or a difference of two. */
enum { PERP__FRICTION_VARS = 4 };

/* A pair that can have impulses. */
typedef struct perp__striking {
    int pair, side;     /* of the model; side: 0 or 1, whose expression is the force */
    int var;            /* of the model: the force */
    perp__strikes when; /* by steps of fixed length */
    /* vars of its friction, the direction (0, 1) and sign of each; n = -1: friction that is not
     * understood */
    int n, friction[PERP__FRICTION_VARS], direction[PERP__FRICTION_VARS];
    double sign[PERP__FRICTION_VARS];
    int has_energy; /* the momentum of each of its vars is known */
    /* Its impulses add no energy, together with others of this kind: no restitution, and all
     * velocities at the contact are those that its impulses change. */
    int loses;
} perp__striking;

/* An equation that reads a force. It is a balance of momentum if its unit times that of one state
 * whose rate it has is a power: `state`, else -1. scale: of that unit in W. */
typedef struct perp__balance {
    int equation, state;
    double scale;
    int of; /* the first state whose rate it has, -1: none */
} perp__balance;

typedef struct perp__strikings {
    int n;
    perp__striking *pair;
    int *of;    /* pair of the model -> which of them, or -1 */
    int *start; /* var of the model -> its first balance, behind them the end */
    perp__balance *balance;
    perp__arena arena;
} perp__strikings;

/* Returns 0 when memory is out; clear in every case. */
int perp__strikings_find(perp__strikings *strikings, const perp_model *model);
void perp__strikings_clear(perp__strikings *strikings);

#endif
