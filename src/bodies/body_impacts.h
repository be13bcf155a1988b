/* Internal: the impacts of bodies: counted always, listed for the last step. An impact is that of
 * two shapes: how their contact points share the impulse is not unique. */

#ifndef PERP_SRC_BODY_IMPACTS_H
#define PERP_SRC_BODY_IMPACTS_H

#include "base/pass.h"
#include "perp/bodies.h"

/* Two shapes that close: what their contacts have of the impact so far. */
typedef struct perp__landing {
    int shape[2];
    double time, impulse, energy, terms; /* terms: the |terms| of the energy */
    double friction[3], point[3];        /* N s, world axes; the sum of impulse times point */
} perp__landing;

typedef struct perp__body_impacts {
    perp_impact *impact; /* of the step in hand, or of the last one */
    int n, capacity;
    double terms; /* of their energies */
    /* Impacts that have begun, and the bodies still approach; the same where the step began. */
    perp__landing *landing, *begun;
    int nlanding, clanding, nbegun, cbegun;
    long count;
    double energy, all_terms; /* lost in all */
    perp_impact largest;
} perp__body_impacts;

void perp__body_impacts_create(perp_bodies *bodies);
void perp__body_impacts_clear(perp_bodies *bodies);

/* Nothing is known of the step before; the run begins again. */
void perp__body_impacts_forget(perp_bodies *bodies);
void perp__body_impacts_restart(perp_bodies *bodies);
/* For snapshots. */
void perp__body_impacts_pass(perp_bodies *bodies, perp__pass *pass);

/* A step begins, or is taken again from its beginning. 0: memory is out. */
int perp__body_impacts_begin(perp_bodies *bodies);
void perp__body_impacts_go_back(perp_bodies *bodies);
/* A part of it was solved, and ends at this time; nothing has moved yet. 0: memory is out. */
int perp__body_impacts_note(perp_bodies *bodies, double time);
/* It is verified. */
void perp__body_impacts_end(perp_bodies *bodies);

#endif
