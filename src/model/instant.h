/* Internal: a model at a point of time, the one way in for every engine. An engine that forms
 * conditions puts expressions in place of the model's symbols (perp__instant), one that evaluates
 * them puts numbers (perp__put_numbers). The meaning of a bare name, der(x) and pre(x) at an
 * instant is defined here and nowhere else. */

#ifndef PERP_SRC_INSTANT_H
#define PERP_SRC_INSTANT_H

#include "model/model.h"
#include "model/scheme.h"

/* How an expression of the model is read at a point of a step. */
typedef enum perp__reading {
    PERP__AT_RATES,    /* as AT_WEIGHTED, to take a row apart: der(x) is a symbol of its own */
    /* equations with a derivative: t, inputs and states lie between the start and the point, by
     * theta */
    PERP__AT_WEIGHTED,
    /* other conditions: at the point; but a bare state of a discrete model is the one before the
     * step */
    PERP__AT_POINT,
    PERP__AT_ROW,   /* outputs, costs, conditions of a plan: a bare state is the one of the row */
    PERP__AT_START, /* at the start of the step: what is known before it */
    /* the same at a node before which there is no step: h and pre() have no value */
    PERP__AT_BEGIN,
    PERP__READINGS
} perp__reading;

/* Where expressions come from. The engine fills the arrays after perp__instant_create. */
typedef struct perp__instant {
    const perp_model *model;
    perp__graph *graph;
    perp__scheme scheme;
    perp_expr h, start;                /* length of the step, time at its start */
    perp_expr time[PERP__MOST_POINTS]; /* at its points */
    perp_expr theta;                   /* weight of the point */
    perp_expr *known;  /* model symbol -> what stands for it at all instants (parameters), or -1 */
    perp_expr *before; /* states at the start of the step */
    perp_expr *state, *var;  /* at point c: [c * count + i] */
    perp_expr *input_before; /* -1: has no value */
    perp_expr *input; /* at point c, as states; -1: its function of t, then before the step, too */
    int rate; /* symbol of the first state's derivative in the graph; those of the others follow */
    int *rate_column;         /* symbol of the graph -> state whose derivative it is, or -1 */
    perp_expr *without_rates; /* symbol of the graph -> itself, 0 for derivatives */
    /* pre(x) is the value just before the point, not that at the start: that of the point, where
     * nothing jumps */
    int is_limit;
    /* slopes are sums of differences of a state from the start of the step. So a large state costs
     * them no digits */
    int by_differences;
    int point;          /* which all that follows is for */
    perp_expr *map[PERP__READINGS];
    char is_made[PERP__READINGS];
    perp_expr *copy
        [PERP__READINGS]
        /* node of the model -> what it is there, or -1; of a graph that is strict. NULL: not used
         * yet */
        [2];
} perp__instant;

/* rate: the first of one symbol for each state, all free; symbols: the number of symbols of the
 * graph, these included. Returns 0 when memory is out; clear in every case. */
int perp__instant_create(perp__instant *at, const perp_model *model, perp__graph *graph,
                         const perp__scheme *scheme, int rate, int symbols);
void perp__instant_clear(perp__instant *at);

/* Parameter i of the model, if it is not chosen: its number, or what it is written in. Those before
 * it must be known. */
perp_expr perp__instant_param(perp__instant *at, int i);

/* Derivatives of parameters that follow from others, by those that are numbers. move and seed have
 * one entry a parameter. Entries of the numbers are their seeds. At the present values. Returns 0
 * when memory is out. */
int perp__params_move(const perp_model *model, const double *seed, double *move);

/* What stands for each symbol of the model at a point; -1: it has no value there. Made when it is
 * first asked for. */
const perp_expr *perp__instant_map(perp__instant *at, perp__reading reading, int point);

/* An expression of the model there; out of memory is in the graph's `failed`. */
perp_expr perp__instant_read(perp__instant *at, perp_expr e, perp__reading reading, int point);

/* h times the slope of state i at a point: sum_j D[point][j] x_j. */
perp_expr perp__instant_slope(const perp__instant *at, int i, int point);

/* Has everything in e a value by this map? (Out of memory: 1.) */
int perp__instant_has(perp__instant *at, const perp_expr *map, perp_expr e);

/* left - right of an equation as a row of the graph. If it is affine in derivatives, R0 + sum C_i
 * der(x_i), the row is h R0 + sum C_i (h slope_i). Without the division a state at rest keeps its
 * last bit. `rates` (nullable, set; the caller clears it) gets the states whose derivatives are
 * there. Returns the degree in them, -1: memory. */
int perp__instant_row(perp__instant *at, const perp__equation *equation, int point, perp_expr *row,
                      perp__sparse_row *rates);

/* Numbers -------------------------------------------------------------------------------------- */

/* Where numbers come from; NaN: not known. */
typedef struct perp__numbers {
    double start, time, h, theta;
    double (*value)(const void *context, perp_symbol_kind kind, int i, int is_before);
    double (*slope)(const void *context, int i); /* NULL: the difference over h */
    const void *context;
} perp__numbers;

/* Times, inputs, states and vars into the model's symbols; parameters are not touched. */
void perp__put_numbers(const perp_model *model, const perp__numbers *from, perp__reading reading,
                       double *symbol);

/* What tables and functions of time say the inputs are at t, into their symbols PERP__NOW or
 * PERP__INPUT_PRE; NaN for those that have neither. The parameters are there; value: scratch,
 * graph.count. */
void perp__put_inputs(const perp_model *model, double t, int offset, double *symbol, double *value);

#endif
