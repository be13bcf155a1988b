/* A scene: bodies and shapes, what drives them, what is looked at after each step and claimed at the end. The table of all is in main.c. */

#ifndef PERP_EXPERIMENT_SCENE_H
#define PERP_EXPERIMENT_SCENE_H

#include "perp/perp.h"

enum { BODIES = 256, SHAPES = BODIES + 8, MESHES = 128, NUMBERS = 16 };

typedef struct scene scene;
struct scene {
    const char *name;
    perp_body body[BODIES];
    perp_shape shape[SHAPES];
    perp_mesh *mesh[MESHES];
    int nbody, nshape, nmesh, steps;
    perp_bodies_options o;
    double v[6 * BODIES], x[NUMBERS];      /* initial velocities; what the functions below keep */
    void (*drive)(scene *, perp_bodies *); /* forces, actuators; once; nullable, as all of them */
    void (*look)(scene *, perp_bodies *, int step); /* after step 1, 2, .. */
    void (*judge)(scene *, perp_bodies *);
};

/* What a scene has of shapes. A rotation is a quaternion, or NULL: none; inertias are those of homogeneous bodies. */
void add_ground(scene *s, double mu);
void add_wall(scene *s, const double *place, double turn,
              double mu); /* into direction (cos, sin) of the turn */
void add_box(scene *s, const double *half, const double *place, const double *rotation, double mass,
             double mu);
void add_ball(scene *s, double radius, const double *place, double mass, double mu);
/* A sphere more on the last body, at `place` in its frame. */
void add_knob(scene *s, double radius, const double *place, double mu, double restitution);

double body_speed(const perp_bodies *b, int body); /* of free body `body`, from 0, of its origin */
double energy_of(perp_bodies *b);

/* A number beside what it should be: printed, and judged. */
void compare(const scene *s, const char *what, double value, double expected, double tolerance);
void at_most(const scene *s, const char *what, double value, double most);
void at_least(const scene *s, const char *what, double value, double least);

/* The scenes, by theme. p: what varies. */
void thrown_box(scene *s, double p), boxes_in_a_bin(scene *s, double n), cards(scene *s, double p),
    boxes_stacked(scene *s, double n), balls_666(scene *s, double restitution);
void arch(scene *s, double stones), thin_arch(scene *s, double of_least),
    overhang(scene *s, double of_limit), ladder(scene *s, double of_limit);
void incline(scene *s, double of_cone), backspin(scene *s, double p), turntable(scene *s, double p),
    balls_on_a_plate(scene *s, double direction), disc(scene *s, double p);
void cradle(scene *s, double gap), bouncing(scene *s, double p), rod(scene *s, double mu),
    woodpecker(scene *s, double p);
void pinched(scene *s, double of_limit), pressing_arm(scene *s, double is_flat);
void sixteen_ways(scene *s, double of_cone);

/* Recorded tosses beside the kernel's; folder of the data. */
void recorded_tosses(const char *folder);

/* A planned jump beside the kernel's; folder of its files, examples/robots. */
void planned_jump(const char *folder);

#endif
