/* What bodies do, as a page: a ball is thrown at a tower of boxes, and OUT.html shows it - play it, turn it, follow a body, see the forces and
 * their cones, slow down where contacts change.
 *
 *     example_24_motion OUT.csv OUT.html
 */

#include <perp/bodies.h>
#include <perp/report.h>
#include <perp/trajectory.h>

#include <stdio.h>

enum { BOXES = 6, BALL = BOXES, STEPS = 600 };

static perp_status make_tower(perp_bodies **tower, perp_diag *diag)
{
    perp_body body[BOXES + 1];
    perp_shape shape[BOXES + 2] = {{.kind = PERP_SHAPE_PLANE, .mu = 0.6}};
    for (int i = 0; i < BOXES; i++) {
        body[i] =
            (perp_body){.joint = PERP_JOINT_FREE, .mass = 1, .position = {0, 0, 0.1 + 0.2 * i}};
        for (int k = 0; k < 3; k++) body[i].inertia[k] = 0.04 / 6;
        shape[1 + i] =
            (perp_shape){.body = 1 + i, .kind = PERP_SHAPE_BOX, .size = {0.1, 0.1, 0.1}, .mu = 0.6};
    }
    body[BALL] = (perp_body){.joint = PERP_JOINT_FREE,
                             .mass = 2,
                             .inertia = {0.008, 0.008, 0.008},
                             .position = {-2, 0.02, 0.9}};
    shape[1 + BALL] =
        (perp_shape){.body = 1 + BALL, .kind = PERP_SHAPE_SPHERE, .size = {0.1}, .mu = 0.6};
    perp_bodies_options o = perp_bodies_options_default();
    o.step = 0.002;
    perp_status status = perp_bodies_create(body, BOXES + 1, shape, BOXES + 2, &o, tower, diag);
    if (status != PERP_OK) return status;
    double v[6 * (BOXES + 1)] = {0};
    v[6 * BALL] = 6, v[6 * BALL + 2] = 1;
    return perp_bodies_set(*tower, NULL, v);
}

/* The page has rows beside the motion: here the height of the uppermost box and the energy. */
static perp_status begin_rows(const char *path, perp_trajectory_writer **rows, perp_diag *diag)
{
    static const char *const names[] = {"t", "top", "energy"}, *const units[] = {"s", "m", "J"};
    perp_status status = perp_trajectory_writer_create(path, rows, diag);
    return status == PERP_OK ? perp_trajectory_writer_header(*rows, 3, names, units) : status;
}

static perp_status take(perp_bodies *tower, perp_motion *motion, perp_trajectory_writer *rows)
{
    double p[3], row[3];
    perp_bodies_pose(tower, BOXES, p, NULL);
    row[0] = perp_bodies_time(tower), row[1] = p[2];
    perp_bodies_energy(tower, &row[2], NULL);
    perp_status status = perp_motion_add(motion, tower);
    return status == PERP_OK && rows ? perp_trajectory_writer_row(rows, row) : status;
}

static perp_status write_page(const perp_motion *motion, const char *csv, const char *html,
                              perp_diag *diag)
{
    perp_report_run run = {.name = "tower"};
    perp_report_options o = perp_report_options_default();
    perp_trajectory *rows = NULL;
    perp_status status = perp_trajectory_read(csv, &rows, diag);
    run.trajectory = rows;
    o.motion = &motion;
    if (status == PERP_OK) status = perp_report_write_html(&run, 1, &o, html, diag);
    perp_trajectory_destroy(rows);
    return status;
}

int main(int argc, char **argv)
{
    perp_bodies *tower = NULL;
    perp_motion *motion = NULL;
    perp_trajectory_writer *rows = NULL;
    perp_diag diag = {0};
    int has_files = argc == 3 && perp_report_has_page();
    perp_status status = make_tower(&tower, &diag);
    if (status == PERP_OK) status = perp_motion_create(tower, &motion);
    if (status == PERP_OK && has_files) status = begin_rows(argv[1], &rows, &diag);
    if (status == PERP_OK) status = take(tower, motion, rows);
    perp_bodies_info info = {.size = sizeof info};
    for (int k = 0; k < STEPS && status == PERP_OK; k++) {
        status = perp_bodies_step(tower, &info, &diag);
        status = perp_outcome_status(status, info.outcome);
        if (status == PERP_OK) status = take(tower, motion, rows);
    }
    perp_status closed =
        perp_trajectory_writer_close(rows, status == PERP_OK ? NULL : "the motion ended", &diag);
    if (status == PERP_OK) status = closed;
    if (status == PERP_OK && has_files) status = write_page(motion, argv[1], argv[2], &diag);
    if (status == PERP_OK)
        printf("%d frames of %d bodies; the uppermost box ends at a height of %.2f m\n",
               perp_motion_frames(motion, NULL), BOXES + 1,
               perp_bodies_q(tower)[7 * (BOXES - 1) + 2]);
    if (status != PERP_OK) fprintf(stderr, "%s\n", perp_diag_text(&diag));
    perp_motion_destroy(motion);
    perp_bodies_destroy(tower);
    perp_diag_clear(&diag);
    printf("%s\n", status == PERP_OK ? "ok" : "failed");
    return status != PERP_OK;
}
