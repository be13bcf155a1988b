/* The plan { ... } block of a model: what is minimised over which horizon, subject to which
 * conditions. Read by plan_block.c from the block's tokens; src/plan turns it into a program. All
 * expressions live in the model's graph. */

#ifndef PERP_SRC_PLAN_BLOCK_H
#define PERP_SRC_PLAN_BLOCK_H

#include "model/model.h"
#include "model/syntax.h"

typedef enum perp__plan_where {
    PLAN_START,
    PLAN_END,
    PLAN_SHARE, /* at `place` percent of the nodes */
    PLAN_TIME,  /* at t = `place` */
    PLAN_ALWAYS
} perp__plan_where;

/* phase NAME { ... }: a part of the horizon with nodes of its own. What follows says `phase` where
 * it stands in one; -1 elsewhere. */
typedef struct perp__plan_phase {
    const char *name;
    int at, end;
    int is_free;                      /* its length is chosen; also without a horizon */
    perp_expr horizon, lo, hi, nodes; /* -1 where silent */
    int horizon_at, nodes_at;
} perp__plan_phase;

/* The value of a parameter within a phase. */
typedef struct perp__plan_param {
    int phase, item;
    perp_expr e;
} perp__plan_param;

/* A state where phase `phase` begins, in terms of the states before. */
typedef struct perp__plan_link {
    int phase, state;
    perp_expr e;
    int at, end;
} perp__plan_link;

/* lo <= e <= hi at a node; lo = hi for an equation; -1 where there is no bound. */
typedef struct perp__plan_condition {
    int phase;
    perp__plan_where where;
    perp_expr place;
    perp_expr e, lo, hi;
    int at, end;
    const char *text;
} perp__plan_condition;

typedef enum perp__plan_cost_kind {
    PLAN_COST_TIME,
    PLAN_COST_INTEGRAL,
    PLAN_COST_END,
    PLAN_COST_AT /* at a node */
} perp__plan_cost_kind;

typedef struct perp__plan_cost {
    int phase;
    perp__plan_cost_kind kind;
    perp_expr weight, e; /* of time: its power, or -1 */
    perp__plan_where where;
    perp_expr place;
    int at;
} perp__plan_cost;

/* A parameter, an input with a value of its own, or the initial value of a state, that the plan
 * chooses. */
typedef struct perp__plan_free {
    perp_symbol_kind kind;
    int item;
    perp_expr lo, hi; /* -1: the item's own range */
    int at;
} perp__plan_free;

/* Starting values of a state, var or input over time, or of a free parameter. */
typedef struct perp__plan_guess {
    int phase;
    perp_symbol_kind kind;
    int item;
    perp_expr e;
    int at;
} perp__plan_guess;

/* start(..) or end(..) of a state, which the symbol stands for. */
typedef struct perp__plan_distant {
    int is_end, state, symbol;
} perp__plan_distant;

struct perp__plan_block {
    int at;
    int holds_inputs;                                       /* an input is constant over a step */
    int is_free;                                            /* the horizon is chosen */
    perp_expr horizon, horizon_lo, horizon_hi, nodes, runs; /* -1 where silent */
    int horizon_at, nodes_at, runs_at;
    int simulates, simulates_at; /* states and vars start from a simulation */
    const char *table;           /* of guesses; nullable */
    int table_at;
    perp__plan_cost *cost;
    perp__plan_condition *condition;
    perp__plan_free *free_;
    perp__plan_guess *guess;
    perp__plan_phase *phase;
    perp__plan_param *param;
    perp__plan_link *link;
    struct {
        perp__plan_distant *of;
        int n, capacity;
    } distant;
    int ncost, ncondition, nfree, nguess, nphase, nparam, nlink;
    int ccost, ccondition, cfree, cguess, cphase, cparam, clink;
    perp__said method, complementarity;
};

#endif
