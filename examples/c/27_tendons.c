/* Two fingers on one tendon, pulled by a stiff servo that is bounded to 6 N: the one with the softer spring closes first until its stop has it, then
 * the other goes on, and the servo's force is that of its spring. A drone hovers above, half of its weight on a balloon: two thrusters bear the rest. */

#include <perp/joints.h>

#include <math.h>
#include <stdio.h>

static perp_status describe(perp_bodies *bodies, perp_diag *diag)
{
    const int fingers[2] = {1, 2};
    const double half[2] = {0.5, 0.5};
    const perp_tendon both = {.n = 2, .body = fingers, .coefficient = half, .damping = 1};
    const perp_joint_law soft = {.range = {1, -1, 0.02}, .stiffness = 10}, hard = {.stiffness = 40};
    const perp_actuator servo = {
        .tendon = 1, .gear = 1, .gain = 1e6, .kp = 1e6, .kv = 1e4, .force_range = {1, -6, 6}};
    perp_actuator rotor = {.body = 3, .is_thruster = 1, .gear = 1, .gain = 1, .force = {0, 0, 1}};
    perp_status status = perp_bodies_add_tendon(bodies, &both, diag);
    if (status == PERP_OK) status = perp_bodies_set_joint(bodies, 1, &soft, diag);
    if (status == PERP_OK) status = perp_bodies_set_joint(bodies, 2, &hard, diag);
    if (status == PERP_OK) status = perp_bodies_add_actuator(bodies, &servo, diag);
    for (int i = 0; i < 2 && status == PERP_OK; i++) {
        rotor.point[0] = i ? 0.2 : -0.2;
        rotor.moment[2] = i ? 0.01 : -0.01; /* they turn against each other */
        status = perp_bodies_add_actuator(bodies, &rotor, diag);
    }
    return status;
}

int main(void)
{
    const perp_body body[3] = {
        {.joint = PERP_JOINT_SLIDE, .axis = {1, 0, 0}, .mass = 0.05, .damping = 1},
        {.joint = PERP_JOINT_SLIDE, .axis = {1, 0, 0}, .mass = 0.2, .damping = 4},
        {.joint = PERP_JOINT_FREE,
         .position = {0, 0, 2},
         .mass = 0.4,
         .inertia = {0.01, 0.01, 0.01},
         .gravity_compensation = 0.5}};
    const double control[3] = {0.03, 0.981, 0.981};
    perp_bodies_options options = perp_bodies_options_default();
    perp_diag diag = {0};
    perp_bodies *bodies = NULL;
    options.density = 1.2; /* air, in which nothing moves but the fingers */
    perp_status status = perp_bodies_create(body, 3, NULL, 0, &options, &bodies, &diag);
    if (status == PERP_OK) status = describe(bodies, &diag);
    if (status == PERP_OK) status = perp_bodies_set_control(bodies, control);
    perp_bodies_info info = {.size = sizeof info};
    for (int i = 0; i < 1000 && status == PERP_OK && info.outcome == PERP_SOLVED; i++)
        status = perp_bodies_step(bodies, &info, &diag);
    if (status == PERP_OK && info.outcome == PERP_SOLVED) {
        const double *q = perp_bodies_q(bodies), length = perp_bodies_tendon_length(bodies, 1);
        printf("fingers at %.6f and %.6f m, the tendon at %.6f m, the drone at %.6f m\n", q[0],
               q[1], length, q[4]);
        printf("%s\n", fabs(0.5 * 1e6 * (0.03 - length) - 40 * q[1]) < 1e-6 &&
                               fabs(q[0] - 0.02) < 1e-12 && fabs(q[4] - 2) < 1e-12
                           ? "ok"
                           : "failed");
    } else {
        fprintf(stderr, "%s\n", perp_diag_text(&diag));
    }
    perp_bodies_destroy(bodies);
    perp_diag_clear(&diag);
    return status != PERP_OK;
}
