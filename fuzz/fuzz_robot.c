/* The readers of MJCF and URDF under arbitrary text: what is read makes a system or is refused with a reason, and a small system takes a step or says
 * why not. */

#include "cpu_limit.h"
#include "../tests/support/outcomes.h"
#include "perp/robots.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BODIES = 12, MOST_SHAPES = 12, STEPS = 3 };

static void use(const perp_robot *robot, perp_diag *diag)
{
    perp_robot_parts parts = *perp_robot_get_parts(robot);
    perp_bodies *b = NULL;
    perp_status status = perp_robot_create_bodies(robot, NULL, &b, diag);
    if ((status == PERP_OK) != (b != NULL) || (status != PERP_OK && !diag->errors)) abort();
    for (int k = 0; b && k < perp_robot_keys(robot); k++) perp_robot_set_key(robot, k, b);
    for (int k = 0; b && k < perp_bodies_nq(b); k++)
        if (!perp_robot_q_name(robot, k)) abort();
    if (b && parts.nbody <= MOST_BODIES && parts.nshape <= MOST_SHAPES)
        for (int i = 0; i < STEPS && bodies_step(b, NULL, diag) == PERP_OK; i++)
            for (int k = 0; k < perp_bodies_nq(b); k++)
                if (!isfinite(perp_bodies_q(b)[k])) abort();
    perp_bodies_destroy(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    limit_cpu();
    perp_diag diag = {0};
    perp_robot *robot;
    perp_robot_ignored note;
    perp_status status =
        perp_robot_parse((const char *)data, size, "fuzz/corpus/robot/fuzz.xml", &robot, &diag);
    if ((status == PERP_OK) != (robot != NULL) || (status != PERP_OK && !diag.errors)) abort();
    for (int k = 0; robot && perp_robot_note(robot, k, &note); k++)
        if (!note.what[0] || note.line < 1 || note.column < 1) abort();
    if (robot) use(robot, &diag);
    perp_robot_destroy(robot);
    perp_diag_clear(&diag);
    return 0;
}

#include "replay.h"
