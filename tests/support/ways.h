/* A chain of bodies, and a tendon through space over them with all that it can go by. */

#ifndef PERP_TEST_WAYS_H
#define PERP_TEST_WAYS_H

#include "perp/bodies.h"
#include "perp/joints.h"

/* A free body, one that turns on it, one that slides on that. */
enum { CHAIN = 3, CHAIN_NQ = 9, CHAIN_NV = 8 };
static const perp_body chain[CHAIN] = {
    {.joint = PERP_JOINT_FREE, .mass = 1, .inertia = {0.1, 0.2, 0.3}, .position = {0, 0, 1}},
    {.parent = 1,
     .joint = PERP_JOINT_HINGE,
     .axis = {0.1, 1, 0.2},
     .mass = 1,
     .position = {0.5, 0, 0}},
    {.parent = 2,
     .joint = PERP_JOINT_SLIDE,
     .axis = {1, 0.3, 0},
     .mass = 1,
     .position = {0.4, 0, 0}}};

static const perp_path_point ways[] = {
    {.position = {-0.2, 0.1, 1.3}},
    {.kind = PERP_PATH_SPHERE, .body = 1, .radius = 0.1, .position = {0.2, 0, 0.1}},
    {.body = 2, .position = {0, 0, 0.2}},
    {.kind = PERP_PATH_CYLINDER,
     .body = 2,
     .radius = 0.08,
     .rotation = {1, 0.8, 0.1, 0},
     .position = {0.2, 0, 0.1},
     .has_side = 1,
     .side_body = 2,
     .side = {0.2, 0.1, -0.1}},
    {.body = 3, .position = {0.3, 0.02, 0}},
    {.kind = PERP_PATH_PULLEY, .divisor = 3},
    {.body = 3, .position = {0.3, 0.1, 0}},
    {.kind = PERP_PATH_SPHERE, /* a ring */
     .body = 1,
     .radius = 0.1,
     .position = {0.2, 0, 0.1},
     .has_side = 1,
     .side_body = 1,
     .side = {0.2, 0, 0.12}},
    {.position = {-0.3, 0.4, 0.2}}};
enum { NWAY = sizeof ways / sizeof *ways };

#endif
