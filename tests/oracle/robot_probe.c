/* What the kernel makes of a robot file, as numbers for tests/oracle/robots.py: for each line "q.. v.." of standard input M, the bias force,
 * poses, Jacobians at a point of each body, and contacts of a step that begins there. */

#include "perp/robots.h"

#include <stdio.h>
#include <stdlib.h>

static void print(const char *name, const double *x, int n)
{
    printf("%s", name);
    for (int i = 0; i < n; i++) printf(" %.17g", x[i]);
    printf("\n");
}

static void print_bodies(perp_bodies *b, const perp_robot_parts *parts, double *J, int nv)
{
    for (int i = 1; i <= parts->nbody; i++) {
        const double point[3] = {0.1, 0.2, 0.3};
        double pose[12];
        const char *name = parts->body[i - 1].name;
        perp_bodies_pose(b, i, pose, pose + 3);
        perp_bodies_jacobian(b, i, point, J);
        printf("body %s\n", name ? name : "-");
        print("pose", pose, 12);
        print("J", J, 3 * nv);
    }
}

static void print_touches(perp_bodies *b, const perp_robot_parts *parts, perp_diag *diag)
{
    const perp_touch *t;
    if (perp_bodies_step(b, NULL, diag) != PERP_OK) fprintf(stderr, "%s", perp_diag_text(diag));
    int n = perp_bodies_touches(b, &t);
    for (int i = 0; i < n; i++) {
        const char *x = parts->shape_name[t[i].shape[0]], *y = parts->shape_name[t[i].shape[1]];
        double out[8] = {t[i].point[0],  t[i].point[1],  t[i].point[2], t[i].normal[0],
                         t[i].normal[1], t[i].normal[2], t[i].gap,      t[i].mu};
        printf("touch %s %s", x ? x : "-", y ? y : "-");
        print("", out, 8);
    }
}

int main(int argc, char **argv)
{
    perp_diag diag = {0};
    perp_robot *robot = NULL;
    perp_bodies *b = NULL;
    if (argc < 2 || perp_robot_read(argv[1], &robot, &diag) != PERP_OK ||
        perp_robot_create_bodies(robot, NULL, &b, &diag) != PERP_OK) {
        fprintf(stderr, "%s", perp_diag_text(&diag));
        perp_diag_clear(&diag);
        perp_robot_destroy(robot);
        return 1;
    }
    perp_robot_parts parts = perp_robot_get_parts(robot);
    int nq = perp_bodies_nq(b), nv = perp_bodies_nv(b), ok = 1;
    double *x = malloc(((size_t)(nq + 2 * nv + nv * nv) + 3 * (size_t)nv + 1) * sizeof *x),
           *c = x + nq + nv, *M = c + nv, *J = M + nv * nv;
    print("q0", perp_bodies_q(b), nq);
    fflush(stdout);
    while (x && ok) {
        for (int i = 0; i < nq + nv && ok; i++) ok = scanf("%lf", &x[i]) == 1;
        if (!ok) break;
        perp_bodies_set(b, x, x + nq);
        perp_bodies_dynamics(b, M, c);
        print("M", M, nv * nv);
        print("c", c, nv);
        print_bodies(b, &parts, J, nv);
        print_touches(b, &parts, &diag);
        printf("end\n");
        fflush(stdout);
    }
    free(x);
    perp_bodies_destroy(b);
    perp_robot_destroy(robot);
    perp_diag_clear(&diag);
    return 0;
}
