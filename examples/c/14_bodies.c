/* A ball thrown along the ground with backspin comes back: exact friction ends its slip at the speed of Coulomb's law, (5 v + 2 r w)/7, whatever the
 * friction coefficient. */

#include <perp/bodies.h>

#include <math.h>
#include <stdio.h>

int main(void)
{
    const double radius = 0.1, mass = 0.5, inertia = 0.4 * mass * radius * radius, speed = 4,
                 spin = -500;
    const perp_body ball = {.name = "ball",
                            .joint = PERP_JOINT_FREE,
                            .position = {0, 0, radius},
                            .mass = mass,
                            .inertia = {inertia, inertia, inertia}};
    const perp_shape shapes[] = {
        {.kind = PERP_SHAPE_PLANE, .mu = 0.3},
        {.body = 1, .kind = PERP_SHAPE_SPHERE, .size = {radius}},
    };
    const double v[6] = {speed, 0, 0, 0, spin, 0};
    perp_diag diag = {0};
    perp_bodies *bodies = NULL;
    perp_bodies_info info = {.size = sizeof info};
    double worst = 0, furthest = 0;
    perp_status status = perp_bodies_create(&ball, 1, shapes, 2, NULL, &bodies, &diag);
    if (status == PERP_OK) status = perp_bodies_set(bodies, NULL, v);
    while (status == PERP_OK && info.outcome == PERP_SOLVED && perp_bodies_time(bodies) < 8) {
        status = perp_bodies_step(bodies, &info, &diag);
        worst = fmax(worst, fmax(info.contact_error, info.newton_error));
        furthest = fmax(furthest, perp_bodies_q(bodies)[0]);
    }
    if (status == PERP_OK && info.outcome == PERP_SOLVED) {
        double end = perp_bodies_v(bodies)[0], exact = (5 * speed + 2 * radius * spin) / 7;
        printf(
            "furthest %.3f m, comes back with %.9f m/s (exact %.9f), every step verified to %.1e\n",
            furthest, end, exact, worst);
        printf("%s\n", fabs(end - exact) < 1e-8 ? "ok" : "failed");
    } else {
        fprintf(stderr, "%s\n", perp_diag_text(&diag));
    }
    perp_bodies_destroy(bodies);
    perp_diag_clear(&diag);
    return status != PERP_OK;
}
