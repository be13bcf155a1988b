/* The block `identify { ... }` of a model: what is to be estimated from data, and how the data are
 * weighed.
 *
 *     identify {
 *         estimate mu, e                  # parameters; default: all that have a range
 *         measure  x noise 1e-3, v weight 2   # columns of the data that are compared with the model; default: all that match
 *         method predict                  # and horizon, starts, seed, step
 *     }
 *
 * The parser keeps the block's tokens (parse.c). This file reads them once all names are
 * declared. */

#ifndef PERP_SRC_IDENTIFY_BLOCK_H
#define PERP_SRC_IDENTIFY_BLOCK_H

#include "model/model.h"
#include "model/syntax.h"

/* One scalar that is measured. NaN: not said. */
typedef struct perp__measure {
    const char *name;
    double noise; /* standard deviation of a sample, in the column's unit */
    double weight;
} perp__measure;

struct perp__identify_block {
    int at; /* of the word identify; -1: the model has no block */
    int nparam, nmeasure;
    int *param; /* indices among the model's parameters */
    perp__measure *measure;
    perp__said method;
    double horizon, starts, seed, step; /* NaN: not said */
};

#endif
