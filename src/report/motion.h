/* What bodies did, frame by frame, as the page shows it. */

#ifndef PERP_SRC_MOTION_H
#define PERP_SRC_MOTION_H

#include "base/text.h"
#include "perp/report.h"

/* Numbers of a pose, position and quaternion; of a contact: point, normal, force on the second
 * body, friction coefficient. */
enum { PERP__POSE = 7, PERP__CONTACT = 10 };

typedef struct perp__frame {
    double t;
    long step;    /* counted from the first state */
    int first, n; /* contacts; n = -1: they were not kept */
} perp__frame;

/* Changes between two states: pairs of shapes whose contact begins or ends, slips or sticks, with
 * their normal impulses. For a begin the impulse of the next step is included: an impact takes two
 * steps. */
typedef struct perp__event {
    double t, impulse;
    int begin, end, slip, stick;
} perp__event;

/* Two shapes that press on each other. */
typedef struct perp__press {
    int shape[2], slips, is_new; /* since the state before */
    double impulse;
} perp__press;

struct perp_motion {
    int nbody, nshape; /* the world is body 0, so nbody >= 1 */
    int *body_of;      /* of a shape */
    perp__text shapes; /* names of bodies, meshes, shapes, tendons: JSON */
    int npoint;        /* of tendons through space */
    size_t size;       /* of a frame: PERP__POSE x nbody and 3 x npoint */
    double unit;       /* of positions [m]: what is between two is rounded */
    int most, nframe, cframe;
    long every, touch_every, steps;
    perp__frame *frame;
    double *pose;   /* size x nframe */
    float *contact; /* PERP__CONTACT x ncontact */
    int ncontact, ccontact;
    perp__event *event;
    int nevent;
    perp__press *press, *before; /* of the last state, of the one before */
    int npress, nbefore, cpress, cbefore;
};

/* A motion of shapes and points of tendons. Names (nullable, entries too) are of the bodies, the
 * world first. NULL: memory is out. */
perp_motion *perp__motion_make(const perp_shape *shape, int nshape, const char *const *name,
                               int nbody, int npoint);

/* The poses of the next frame and the points after them, to be filled. The latest frame is dropped
 * if it is not one that stays. NULL: memory is out. */
double *perp__motion_next(perp_motion *m, double t);

/* position and rotation, row by row, as a pose; its quaternion is the nearer one to that of
 * `before` (nullable). */
void perp__motion_pose(double *pose, const double *before, const double *position,
                       const double *rotation);

void perp__motion_put(perp__text *out, const perp_motion *m);

#endif
