/* Two ways to step: a body that turns about its middle axis, which it leaves and comes back to turned over, again and again. The midpoint rule keeps
 * its energy and its momentum; the default, of order 1, does not. */

#include <perp/bodies.h>

#include <math.h>
#include <stdio.h>

static const double I[3] = {0.5, 1, 1.4};

static perp_status make_top(perp_bodies_method method, perp_bodies **top, perp_diag *diag)
{
    perp_body body = {.joint = PERP_JOINT_FREE, .mass = 2, .inertia = {I[0], I[1], I[2]}};
    perp_bodies_options o = perp_bodies_options_default();
    o.method = method;
    o.gravity[2] = 0;
    perp_status status = perp_bodies_create(&body, 1, NULL, 0, &o, top, diag);
    const double v[6] = {0, 0, 0, 1e-3, 5, 1e-3};
    if (status == PERP_OK) status = perp_bodies_set(*top, NULL, v);
    return status;
}

/* Energy, and the component of the momentum along the axis about which it began to turn, in the world. */
static void look(perp_bodies *top, double *energy, double *momentum)
{
    double R[9];
    perp_bodies_energy(top, energy, NULL);
    perp_bodies_pose(top, 1, NULL, R);
    *momentum = 0;
    for (int k = 0; k < 3; k++) *momentum += R[3 + k] * I[k] * perp_bodies_v(top)[3 + k];
}

int main(void)
{
    double lost[PERP_BODIES_METHOD_COUNT] = {0};
    perp_diag diag = {0};
    perp_status status = PERP_OK;
    for (int m = 0; m < PERP_BODIES_METHOD_COUNT && status == PERP_OK; m++) {
        perp_bodies_method method = (perp_bodies_method)m;
        perp_bodies *top = NULL;
        double begin[2], end[2];
        status = make_top(method, &top, &diag);
        if (status == PERP_OK) look(top, &begin[0], &begin[1]);
        perp_bodies_info info = {.size = sizeof info};
        for (int i = 0; i < 10000 && status == PERP_OK && info.outcome == PERP_SOLVED; i++)
            status = perp_bodies_step(top, &info, &diag);
        if (status == PERP_OK && info.outcome == PERP_SOLVED) {
            look(top, &end[0], &end[1]);
            lost[m] = fabs(end[0] / begin[0] - 1);
            printf(
                "%s (%s): after 20 s the energy is off by %.1e of itself, the momentum by %.1e\n",
                perp_bodies_method_name(method), perp_bodies_method_summary(method), lost[m],
                fabs(end[1] / begin[1] - 1));
        }
        perp_bodies_destroy(top);
    }
    if (status != PERP_OK) fprintf(stderr, "%s\n", perp_diag_text(&diag));
    perp_diag_clear(&diag);
    int ok =
        status == PERP_OK && lost[PERP_BODIES_MIDPOINT] < 1e-10 && lost[PERP_BODIES_EULER] > 1e-3;
    printf("%s\n", ok ? "ok" : "failed");
    return !ok;
}
