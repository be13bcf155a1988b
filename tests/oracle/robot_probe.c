/* What the kernel makes of a robot file, as numbers for tests/oracle/robots.py: what was read, and for each line "q.. v.." of standard input M, the
 * bias force, poses, Jacobians at a point of each body, and contacts of a step that begins there. */

#include "perp/robots.h"
#include "../support/outcomes.h"

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

static void print_tendons(perp_bodies *b, const perp_robot_parts *parts, double *J, int nv)
{
    for (int i = 0; i < parts->ntendon; i++) {
        double length = perp_bodies_tendon_length(b, i + 1);
        perp_bodies_tendon_jacobian(b, i + 1, J);
        print("length", &length, 1);
        print("moment", J, nv);
    }
}

static void print_touches(perp_bodies *b, const perp_robot_parts *parts, perp_diag *diag)
{
    const perp_contact *t;
    perp_bodies_info info = {.size = sizeof info, .substeps = 1};
    bodies_step(b, &info, diag); /* refused where bodies overlap: they are found all the same */
    printf("parts %d\n", info.substeps);
    int n = perp_bodies_contacts(b, &t);
    for (int i = 0; i < n; i++) {
        const char *x = parts->shape_name[t[i].shape[0]], *y = parts->shape_name[t[i].shape[1]];
        double out[10] = {
            t[i].point[0],           t[i].point[1],        t[i].point[2], t[i].normal[0],
            t[i].normal[1],          t[i].normal[2],       t[i].gap,      t[i].mu,
            t[i].torsional_friction, t[i].rolling_friction};
        printf("touch %s %s", x ? x : "-", y ? y : "-");
        print("", out, 10);
    }
}

static void print_law(const perp_robot_parts *parts, int i)
{
    const perp_joint_law *law = &parts->law[i];
    const perp_body *body = &parts->body[i];
    double x[] = {law->range.lower, law->range.upper, law->rest,     law->stiffness,
                  law->friction,    body->damping,    body->armature};
    print(perp_joint_name(body->joint), x, 7);
}

static void print_tendon(const perp_tendon *t, int nbody)
{
    double x[] = {t->range.lower, t->range.upper, t->rest,   t->rest + t->slack,
                  t->stiffness,   t->friction,    t->damping};
    print("tendon", x, 7);
    for (int body = 1; body <= nbody; body++)
        for (int i = 0; i < t->n; i++)
            if (t->body[i] == body) print("strand", &t->coefficient[i], 1);
}

static void print_drive(const perp_actuator *a)
{
    double x[] = {a->gear,
                  a->gain,
                  a->bias,
                  a->kp,
                  a->kv,
                  a->force_range.lower,
                  a->force_range.upper,
                  a->control_range.lower,
                  a->control_range.upper,
                  a->tendon,
                  a->is_thruster},
           y[] = {a->body,     a->point[0], a->point[1],  a->point[2],  a->force[0],
                  a->force[1], a->force[2], a->moment[0], a->moment[1], a->moment[2]};
    const perp_muscle *m = &a->muscle;
    double act[] = {a->kp_per_control,
                    a->kv_per_control,
                    a->activation,
                    a->rise,
                    a->fall,
                    a->smooth,
                    a->activation_range.lower,
                    a->activation_range.upper,
                    a->is_early,
                    m->force,
                    m->range[0],
                    m->range[1],
                    m->lmin,
                    m->lmax,
                    m->vmax,
                    m->fpmax,
                    m->fvmax,
                    m->length[0],
                    m->length[1]};
    print("drive", x, 11);
    print("act", act, 19);
    if (a->is_thruster) print("push", y, 10);
}

static void print_keys(const perp_robot *robot, perp_bodies *b)
{
    for (int k = 0; k < perp_robot_keys(robot); k++) {
        perp_robot_set_key(robot, k, b);
        print("key_q", perp_bodies_q(b), perp_bodies_nq(b));
        print("key_v", perp_bodies_v(b), perp_bodies_nv(b));
        print("key_u", perp_robot_key_control(robot, k), perp_bodies_nu(b));
        print("key_act", perp_bodies_activation(b), perp_bodies_nu(b));
    }
}

/* What was read, up to a line "read". */
static void print_parts(const perp_robot *robot, const perp_robot_parts *p, perp_bodies *b)
{
    const perp_bodies_options *o = &p->options;
    double options[] = {o->step,      o->gravity[0], o->gravity[1], o->gravity[2], o->density,
                        o->viscosity, o->wind[0],    o->wind[1],    o->wind[2]};
    print("q0", perp_bodies_q(b), perp_bodies_nq(b));
    print("option", options, 9);
    for (int i = 0; i < p->nbody; i++) {
        const double mass[] = {p->body[i].mass, p->body[i].gravity_compensation};
        print_law(p, i);
        printf("mass %s", p->body[i].name ? p->body[i].name : "-");
        print("", mass, 2);
    }
    for (int i = 0; i < p->ntendon; i++) print_tendon(&p->tendon[i], p->nbody);
    for (int i = 0; i < p->nactuator; i++) print_drive(&p->actuator[i]);
    for (int i = 0; i < p->nequality; i++) {
        const perp_equality *e = &p->equality[i];
        double x[13] = {e->body[0], e->body[1]};
        for (int k = 0; k < 11; k++)
            x[2 + k] = k < 6 ? e->point[k / 3][k % 3] : e->polynomial[k - 6];
        print(e->kind == PERP_EQUALITY_JOINT    ? "coupling"
              : e->kind == PERP_EQUALITY_TENDON ? "tied"
                                                : perp_equality_name(e->kind),
              x, 13);
    }
    print_keys(robot, b);
    printf("read\n");
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
    perp_robot_parts parts = *perp_robot_get_parts(robot);
    int nq = perp_bodies_nq(b), nv = perp_bodies_nv(b), ok = 1;
    double *x = malloc(((size_t)(nq + 2 * nv + nv * nv) + 3 * (size_t)nv + 1) * sizeof *x),
           *c = x + nq + nv, *M = c + nv, *J = M + nv * nv;
    print_parts(robot, &parts, b);
    fflush(stdout);
    while (x && ok && nv) { /* what does not move has no states */
        for (int i = 0; i < nq + nv && ok; i++) ok = scanf("%lf", &x[i]) == 1;
        if (!ok) break;
        perp_bodies_set(b, x, x + nq);
        perp_bodies_dynamics(b, M, c);
        print("M", M, nv * nv);
        print("c", c, nv);
        print_bodies(b, &parts, J, nv);
        print_tendons(b, &parts, J, nv);
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
