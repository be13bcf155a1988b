/* Many copies of a box that is pushed over a floor, each by another force and with another gravity: threads step them, and each moves as it
 * would alone. */

#include <perp/bodies_batch.h>

#include <math.h>
#include <stdio.h>

enum { COUNT = 8, STEPS = 500 };

static perp_status create_box(perp_bodies **box, perp_diag *diag)
{
    const double a = 0.1, inertia = 2.0 / 3 * a * a;
    const perp_body body = {.joint = PERP_JOINT_FREE,
                            .position = {0, 0, a},
                            .mass = 1,
                            .inertia = {inertia, inertia, inertia}};
    const perp_shape shape[] = {
        {.kind = PERP_SHAPE_PLANE, .mu = 0.5},
        {.body = 1, .kind = PERP_SHAPE_BOX, .size = {a, a, a}, .mu = 0.5},
    };
    return perp_bodies_create(&body, 1, shape, 2, NULL, box, diag);
}

int main(void)
{
    double q[7 * COUNT], force[6 * COUNT] = {0}, gravity[3 * COUNT] = {0}, worst = 0;
    perp_diag diag = {0};
    perp_bodies *box = NULL;
    perp_bodies_batch *batch = NULL;
    perp_bodies_arrays x = {sizeof x, .q = q, .force = force, .gravity = gravity};
    int solved = 0;
    perp_status status = create_box(&box, &diag);
    if (status == PERP_OK) status = perp_bodies_batch_create(box, COUNT, 0, &batch, &diag);
    if (status == PERP_OK) status = perp_bodies_batch_get(batch, &x);
    for (int i = 0; i < COUNT; i++) {
        force[6 * i] = i;
        gravity[3 * i + 2] = i % 2 ? -9.81 : -1.62; /* on the Earth, on the Moon */
    }
    if (status == PERP_OK) status = perp_bodies_batch_step(batch, STEPS, &x, &solved, &diag);
    for (int i = 0; i < COUNT && status == PERP_OK; i++) {
        double a = fmax(force[6 * i] + 0.5 * gravity[3 * i + 2], 0), h = 0.002;
        double closed = 0.5 * a * h * h * STEPS * (STEPS + 1); /* of the step's own scheme */
        printf("pushed by %d N, gravity %5.2f: moved %8.5f m\n", i, gravity[3 * i + 2], q[7 * i]);
        worst = fmax(worst, fabs(q[7 * i] - closed));
    }
    printf("%s", perp_diag_text(&diag));
    printf("%d copies solved, error %.0e m\n", solved, worst);
    printf("%s\n", status == PERP_OK && solved == COUNT && worst < 1e-7 ? "ok" : "failed");
    perp_bodies_batch_destroy(batch);
    perp_bodies_destroy(box);
    perp_diag_clear(&diag);
    return status != PERP_OK;
}
