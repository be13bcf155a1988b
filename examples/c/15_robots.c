/* A robot from a file: an arm with servos holds a pose over a table. What the file says and this library does not use is listed; every step is
 * verified. */

#include <perp/robots.h>

#include <math.h>
#include <stdio.h>

int main(void)
{
    perp_diag diag = {0};
    perp_robot *robot = NULL;
    perp_bodies *bodies = NULL;
    perp_bodies_info info = {.size = sizeof info};
    double worst = 0;
    perp_status status = perp_robot_read("examples/robots/arm.xml", &robot, &diag);
    if (status == PERP_ERR_UNAVAILABLE) {
        printf("%sok\n", perp_diag_text(&diag));
        perp_diag_clear(&diag);
        return 0;
    }
    if (status == PERP_OK) status = perp_robot_create_bodies(robot, NULL, &bodies, &diag);
    if (status == PERP_OK) status = perp_robot_set_key(robot, 0, bodies);
    while (status == PERP_OK && info.outcome == PERP_SOLVED && perp_bodies_time(bodies) < 2) {
        status = perp_bodies_step(bodies, &info, &diag);
        worst = fmax(worst, fmax(info.contact_error, info.newton_error));
    }
    if (status == PERP_OK && info.outcome == PERP_SOLVED) {
        perp_robot_parts parts = *perp_robot_get_parts(robot);
        perp_robot_ignored ignored;
        printf("%s: %d bodies, %d shapes, %d actuators, key %s\n", parts.name, parts.nbody,
               parts.nshape, parts.nactuator, perp_robot_key(robot, 0));
        for (int k = 0; perp_robot_note(robot, k, &ignored); k++)
            printf("%s:%ld: %s\n", ignored.file, ignored.line, ignored.what);
        int still = 1;
        for (int k = 0; k < perp_bodies_nv(bodies); k++)
            still &= fabs(perp_bodies_v(bodies)[k]) < 1e-9;
        for (int k = 0; k < 7; k++)
            printf("  %-14s %9.6f\n", perp_robot_q_name(robot, k), perp_bodies_q(bodies)[k]);
        printf("at rest %s, every step verified to %.1e\n%s\n", still ? "yes" : "no", worst,
               still ? "ok" : "failed");
    } else {
        fprintf(stderr, "%s", perp_diag_text(&diag));
    }
    perp_bodies_destroy(bodies);
    perp_robot_destroy(robot);
    perp_diag_clear(&diag);
    return status != PERP_OK;
}
