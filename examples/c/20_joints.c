/* A gripper of two coupled fingers with a stiff drive that is bounded to 20 N: it closes until a limit stops it, which takes what a spring of 2 N and
 * dry friction leave. With the drive off it stays there, exactly: the spring that opens it is weaker than the friction of 3 N. */

#include <perp/joints.h>

#include <math.h>
#include <stdio.h>

static perp_status describe(perp_bodies *bodies, perp_diag *diag)
{
    const perp_joint_law finger = {
        .range = {1, 0, 0.04}, .friction = 3, .stiffness = 50, .rest = 0};
    const perp_actuator drive = {
        .body = 1, .gear = 1, .gain = 1e7, .kp = 1e7, .kv = 1e5, .force_range = {1, -20, 20}};
    const perp_equality both = {.kind = PERP_EQUALITY_JOINT, .body = {2, 1}, .polynomial = {0, 1}};
    perp_status status = perp_bodies_set_joint(bodies, 1, &finger, diag);
    if (status == PERP_OK) status = perp_bodies_add_actuator(bodies, &drive, diag);
    if (status == PERP_OK) status = perp_bodies_add_equality(bodies, &both, diag);
    return status;
}

static perp_status run(perp_bodies *bodies, double control, double time, perp_diag *diag)
{
    perp_status status = perp_bodies_set_control(bodies, &control);
    double end = perp_bodies_time(bodies) + time;
    perp_bodies_info info = {.size = sizeof info};
    while (status == PERP_OK && info.outcome == PERP_SOLVED && perp_bodies_time(bodies) < end)
        status = perp_bodies_step(bodies, &info, diag);
    return perp_outcome_status(status, info.outcome);
}

int main(void)
{
    const perp_body finger = {.joint = PERP_JOINT_SLIDE, .axis = {1, 0, 0}, .mass = 0.1},
                    fingers[2] = {finger, finger};
    perp_diag diag = {0};
    perp_bodies *bodies = NULL;
    double limit[2] = {0}, friction[2] = {0}, drive = 0, closed = 0;
    perp_status status = perp_bodies_create(fingers, 2, NULL, 0, NULL, &bodies, &diag);
    if (status == PERP_OK) status = describe(bodies, &diag);
    if (status == PERP_OK) status = run(bodies, 0.1, 1, &diag); /* the limit is nearer */
    if (status == PERP_OK) {
        perp_bodies_joint_forces(bodies, limit, NULL, &drive);
        closed = perp_bodies_q(bodies)[0];
        printf("closed at %.9f m by %.6f N, the limit has %.6f N\n", closed, drive, -limit[0]);
        status = run(bodies, closed, 10, &diag); /* wanted where it is: no force of the drive */
    }
    if (status == PERP_OK) {
        const double *q = perp_bodies_q(bodies);
        perp_bodies_joint_forces(bodies, NULL, friction, NULL);
        printf("after 10 s moved by %.1e m, the other finger is off by %.1e m; friction %.6f N\n",
               fabs(q[0] - closed), fabs(q[1] - q[0]), friction[0]);
        printf("%s\n", fabs(closed - 0.04) < 1e-12 && fabs(drive - 20) < 1e-9 &&
                               fabs(q[0] - closed) < 1e-12 && fabs(q[1] - q[0]) < 1e-12
                           ? "ok"
                           : "failed");
    } else {
        fprintf(stderr, "%s\n", perp_diag_text(&diag));
    }
    perp_bodies_destroy(bodies);
    perp_diag_clear(&diag);
    return status != PERP_OK;
}
