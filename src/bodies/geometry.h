/* Shapes at places in the world: supports, separation, faces that meet. Nothing here knows of
 * bodies. */

#ifndef PERP_SRC_GEOMETRY_H
#define PERP_SRC_GEOMETRY_H

#include "perp/shapes.h"

/* A flat face of a hull: its corners counterclockwise from outside, corner[first .. first + n);
 * normal'x <= offset. */
typedef struct perp__face {
    double normal[3], offset;
    int first, n;
} perp__face;

struct perp_mesh {
    double *point; /* corners: 3 npoint */
    int *corner;   /* of all faces */
    perp__face *face;
    int npoint, nface;
    double radius; /* of the ball about the frame's origin */
    double size;   /* half of the least of its three extents */
    double mass, center[3], inertia[6];
};

/* mesh_file.c: all of a file's points, and its triangles, counterclockwise from outside; OBJ may
 * have none. */
typedef struct perp__surface {
    double *point; /* 3 npoint */
    int *corner;   /* 3 ntriangle */
    int npoint, ntriangle;
} perp__surface;
perp_status perp__surface_read(const char *path, perp__surface *surface, perp_diag *diag);
void perp__surface_clear(perp__surface *surface);

struct perp_field {
    double *height; /* n[0] along x, for each of n[1] along y */
    int n[2];
    double half[2], cell[2], low, high;
};

/* A shape's pose in the world. */
typedef struct perp__placed {
    const perp_shape *shape;
    double R[9], p[3];
} perp__placed;

/* The radius of a ball about a shape's origin; of a plane infinite. Half of its least extent. */
double perp__shape_extent(const perp_shape *s);
double perp__shape_least(const perp_shape *s);
/* What is wrong with a shape's kind, sizes, mesh, place; NULL: nothing. */
const char *perp__shape_fault(const perp_shape *s);
/* The core of a shape: spheres and capsules are a point and a segment with a ball of this radius
 * about each point. */
double perp__shape_round(const perp_shape *s);
/* The core's point furthest in direction d, less the shape's origin. */
void perp__shape_support(const perp__placed *s, const double *d, double *x);

/* convex.c. How far two cores are apart, and along which n. */
typedef struct perp__separation {
    double n[3], distance;
    double x[3]; /* the first core's nearest point, less its origin */
} perp__separation;
void perp__separate(const perp__placed *a, const perp__placed *b, perp__separation *s);
/* How far along n, for any n. */
double perp__apart(const perp__placed *a, const perp__placed *b, const double *n);

/* manifold.c: contacts nearer than `margin`, at most PERP_MANIFOLD. How many. */
int perp__touch_convex(const perp__placed *a, const perp__placed *b, double margin,
                       perp_contact *touch);
/* The face of `reference` most along n against the facing part of `other`; touches have `sign` n as
 * normal. */
int perp__touch_face(const perp__placed *reference, const perp__placed *other, const double *n,
                     double sign, double margin, perp_contact *touch);
int perp__touch_plane(const perp__placed *plane, const perp__placed *b, double margin,
                      perp_contact *touch);
/* boxes.c */
int perp__touch_boxes(const perp__placed *a, const perp__placed *b, double margin,
                      perp_contact *touch);
/* field.c: all contacts of a height field with another shape, into *touch from `first` on, which
 * has `room` and grows; normals towards the field. Returns their number, or -1 if memory is out. */
int perp__touch_field(const perp__placed *field, const perp__placed *other, double margin,
                      perp_contact **touch, int *room, int first);
/* A triangle of a height field and what is below it, as a mesh about the middle of the triangle. */
typedef struct perp__prism {
    perp_mesh mesh;
    perp_shape shape;
    perp__placed placed;
    double point[18], middle[3], top[3][3], normal[3]; /* middle, top, normal: the field's frame */
    perp__face face[5];
    int tag;
} perp__prism;
/* The one on side `which` (0, 1) of the diagonal of cell (i, j), `depth` deep below the lowest
 * corner. */
void perp__field_prism(const perp__placed *field, int i, int j, int which, double depth,
                       perp__prism *p);
/* The cells where another shape may be within margin, and how low it is there, in the field's
 * frame; 0: none. */
int perp__field_cells(const perp__placed *field, const perp__placed *other, double margin,
                      int from[2], int to[2], double *lowest);
/* Both are of the world only. */
static inline int perp__is_ground(const perp_shape *s)
{
    return s->kind == PERP_SHAPE_PLANE || s->kind == PERP_SHAPE_FIELD;
}
/* At most PERP_MANIFOLD of n touches, in their order: the deepest, then always the one farthest
 * from those. May be in place. */
int perp__thin_touches(const perp_contact *t, int n, perp_contact *out);
/* shapes.c: two shapes in the order of their kinds, but height fields. */
int perp__touch_shapes(const perp__placed *a, const perp__placed *b, double margin,
                       perp_contact *touch);

#endif
