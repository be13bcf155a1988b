/* The recorded tosses of a cube (ContactNets: Pfrommer, Halm, Posa, CoRL 2020) beside the kernel's, corners found from the shape. */

#include "scene.h"
#include "cube/tosses.h"
#include "support/verdicts.h"
#include "../../tests/support/outcomes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double FRAME = 1.0 / 148, HALF = 0.0524;

/* A cube of the published size and mass, as the tests of experiments/cube found it: mu, its mass centre, the inertia of a hollow one. */
static perp_bodies *cube_on_board(double step)
{
    const double m = 0.37, J = 1.13e-3;
    perp_bodies_options o = perp_bodies_options_default();
    perp_bodies *b = NULL;
    perp_body body = {.joint = PERP_JOINT_FREE,
                      .mass = m,
                      .center = {-0.0001, 0.0004, 0.0054},
                      .inertia = {J, J, J}};
    perp_shape shape[2] = {{.kind = PERP_SHAPE_PLANE, .mu = 0.174, .restitution = 0.125},
                           {.body = 1, .kind = PERP_SHAPE_BOX, .size = {HALF, HALF, HALF}}};
    o.step = step;
    perp_bodies_create(&body, 1, shape, 2, &o, &b, NULL);
    return b;
}

typedef struct rollouts {
    int n, refused;
    double position, turn, penetration;
} rollouts;

/* The angle between two quaternions [degrees]. */
static double apart(const double *a, const double *b)
{
    double dot = 0, aa = 0, bb = 0;
    for (int k = 0; k < 4; k++) dot += a[k] * b[k], aa += a[k] * a[k], bb += b[k] * b[k];
    return 2 * acos(fmin(1, fabs(dot) / sqrt(aa * bb))) * 180 / 3.14159265358979324;
}

/* From the first row on, `fine` steps a frame. */
static void roll_out(perp_bodies *b, const toss *t, int fine, rollouts *all)
{
    double position = 0, turn = 0;
    perp_diag diag = {0};
    if (perp_bodies_set(b, t->row, t->row + 7) != PERP_OK) return;
    for (int i = 0; i < t->rows; i++) {
        const double *row = t->row + TOSS_COLUMNS * i, *q = perp_bodies_q(b);
        for (int k = 0; i > 0 && k < fine; k++) {
            perp_bodies_info info = {.size = sizeof info};
            if (bodies_step(b, &info, &diag) == PERP_OK) {
                all->penetration = fmax(all->penetration, info.penetration);
                continue;
            }
            if (!all->refused++) printf("  %s", perp_diag_text(&diag));
            perp_diag_clear(&diag);
            return;
        }
        position += hypot(hypot(q[0] - row[0], q[1] - row[1]), q[2] - row[2]);
        turn += apart(q + 3, row + 3);
    }
    all->n++;
    all->position += position / t->rows / (2 * HALF) * 100;
    all->turn += turn / t->rows;
}

void recorded_tosses(const char *folder)
{
    tosses all = {0};
    printf("recorded tosses\n");
    if (!tosses_read(folder, TOSS_COLUMNS, &all)) {
        printf("  skipped: there are no data in %s\n", folder);
        return;
    }
    for (int fine = 1; fine <= 4; fine *= 2) {
        perp_bodies *b = cube_on_board(FRAME / fine);
        rollouts r = {0};
        char claim[200];
        for (int k = 0; b && k < all.n; k++)
            if (!all.toss[k].is_long) roll_out(b, &all.toss[k], fine, &r);
        printf("  %d steps a frame: %d tosses, %d refused; off by %.2f %% of the width, %.2f "
               "degrees; penetration %.1e m\n",
               fine, r.n, r.refused, r.position / r.n, r.turn / r.n, r.penetration);
        snprintf(
            claim, sizeof claim,
            "recorded tosses, %d steps a frame: every step verified, no penetration above 1e-6 m",
            fine);
        verdict(claim, r.n > 0 && !r.refused && r.penetration <= 1e-6);
        perp_bodies_destroy(b);
    }
    tosses_free(&all);
}
