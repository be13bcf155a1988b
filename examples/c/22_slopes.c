/* Derivatives of a step: an arm of two links is driven to a pose in one second by controls that are found by Newton's method for each step, from
 * what the step's end says of them. */

#include <perp/joints.h>

#include <math.h>
#include <stdio.h>

static const double target[2] = {0.8, -1.2};

static perp_status make_arm(perp_bodies **arm, perp_diag *diag)
{
    perp_body link[2] = {0};
    for (int i = 0; i < 2; i++)
        link[i] = (perp_body){.parent = i,
                              .joint = PERP_JOINT_HINGE,
                              .position = {0, 0, i ? -0.4 : 0},
                              .axis = {0, 1, 0},
                              .mass = 1,
                              .center = {0, 0, -0.2},
                              .inertia = {0.014, 0.014, 0.001},
                              .damping = 0.1};
    perp_status status = perp_bodies_create(link, 2, NULL, 0, NULL, arm, diag);
    for (int i = 1; i <= 2 && status == PERP_OK; i++)
        status =
            perp_bodies_add_actuator(*arm, &(perp_actuator){.body = i, .gear = 1, .gain = 1}, diag);
    return status;
}

/* The controls with which the step ends with velocities `wanted`: the step is linear in them, so one correction is enough. */
static perp_status step_to(perp_bodies *arm, const double *wanted, double *u, perp_diag *diag)
{
    const double q[2] = {perp_bodies_q(arm)[0], perp_bodies_q(arm)[1]},
                 v[2] = {perp_bodies_v(arm)[0], perp_bodies_v(arm)[1]};
    double du[4];
    perp_bodies_info info = {.size = sizeof info};
    perp_status status = perp_bodies_step(arm, &info, diag);
    if (status == PERP_OK) status = perp_bodies_step_derivatives(arm, NULL, NULL, du, diag);
    if (status != PERP_OK) return status;
    double det = du[0] * du[3] - du[1] * du[2], off[2];
    for (int i = 0; i < 2; i++) off[i] = wanted[i] - perp_bodies_v(arm)[i];
    u[0] += (du[3] * off[0] - du[2] * off[1]) / det;
    u[1] += (du[0] * off[1] - du[1] * off[0]) / det;
    perp_bodies_set(arm, q, v);
    perp_bodies_set_control(arm, u);
    status = perp_bodies_step(arm, &info, diag);
    return perp_outcome_status(status, info.outcome);
}

int main(void)
{
    perp_diag diag = {0};
    perp_bodies *arm = NULL;
    double u[2] = {0}, worst = 0, wanted[2];
    const double h = 0.002, pi = acos(-1);
    perp_status status = make_arm(&arm, &diag);
    for (int k = 1; k <= 500 && status == PERP_OK; k++) {
        for (int i = 0; i < 2; i++) wanted[i] = target[i] * (1 - cos(2 * pi * k * h));
        status = step_to(arm, wanted, u, &diag);
        for (int i = 0; i < 2; i++) worst = fmax(worst, fabs(perp_bodies_v(arm)[i] - wanted[i]));
    }
    if (status == PERP_OK) {
        const double *q = perp_bodies_q(arm);
        printf("at %.6f, %.6f; velocities off by at most %.0e; at rest with %.4f, %.4f N m\n", q[0],
               q[1], worst, u[0], u[1]);
        printf("%s\n", worst < 1e-12 && fabs(q[0] - target[0]) < 1e-9 ? "ok" : "failed");
    } else {
        fprintf(stderr, "%s\n", perp_diag_text(&diag));
    }
    perp_bodies_destroy(arm);
    perp_diag_clear(&diag);
    return status != PERP_OK;
}
