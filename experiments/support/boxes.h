/* A particle, a box and a stack of boxes on a rough floor, one step of 10 ms, the top pushed aside. */

#ifndef PERP_EXPERIMENT_BOXES_H
#define PERP_EXPERIMENT_BOXES_H

#include "perp/perp.h"

enum { BOXES = 5, CORNERS = 4, MOST_V = 6 * BOXES, MOST_R = 3 * CORNERS * BOXES }; /* the most */

typedef struct contacts {
    const char *name;
    perp_fc problem;
    double M[MOST_V * MOST_V], J[MOST_R * MOST_V], W[MOST_R * MOST_R], q[MOST_R],
        mu[CORNERS * BOXES];
    double weight; /* W_nn of a contact */
} contacts;

/* `boxes` on each other, each with `corners` contacts below (1: a particle), pushed to the speed `push` [m/s]. */
void make_boxes(contacts *c, const char *name, int boxes, int corners, double push);

#endif
