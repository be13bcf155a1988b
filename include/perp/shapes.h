/// perp/shapes.h - shapes, and the contacts between two of them.
///
/// The signed distance of two convex shapes A and B is
///
///     d = max over unit vectors n of  (min of n'b over B - max of n'a over A)
///
/// Above 0 it is the distance of their nearest points. Below 0 it is the distance that B must move
/// along n to separate from A. The vector n, from A to B, is the contact's normal. Where faces and
/// edges meet, a contact is a manifold. It has up to 8 points, the corners of the common area of
/// the faces, each with its own gap.
///
/// Pairs of spheres, capsules and planes have closed forms. Boxes are separated by their axes
/// (Gottschalk, Lin, Manocha 1996). Other shapes use the algorithm of Gilbert, Johnson, Keerthi
/// 1988, and where they penetrate the expanding polytope of van den Bergen 2001. Lengths are in m.
/// No system of bodies (perp/bodies.h) is needed.

#ifndef PERP_SHAPES_H
#define PERP_SHAPES_H

#include "perp/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The shapes: name, word, meaning of `size`.
#define PERP_SHAPE_LIST(X)                                                                         \
    X(PERP_SHAPE_PLANE, "plane",                                                                   \
      "none: the half-space below z = 0 of its frame; of the world only")                          \
    X(PERP_SHAPE_SPHERE, "sphere", "radius")                                                       \
    X(PERP_SHAPE_CAPSULE, "capsule",                                                               \
      "radius, half of its length between the centres of its ends, along z")                       \
    X(PERP_SHAPE_BOX, "box", "half of its lengths along x, y, z")                                  \
    X(PERP_SHAPE_CYLINDER, "cylinder", "radius, half of its length, along z")                      \
    X(PERP_SHAPE_ELLIPSOID, "ellipsoid", "half of its axes along x, y, z")                         \
    X(PERP_SHAPE_MESH, "mesh", "none: the convex hull `mesh`")                                     \
    X(PERP_SHAPE_FIELD, "field", "none: what is below the heights of `field`; of the world only")

typedef enum perp_shape_kind {
#define PERP_SHAPE_ENUM(name, word, text) name,
    PERP_SHAPE_LIST(PERP_SHAPE_ENUM)
#undef PERP_SHAPE_ENUM
        PERP_SHAPE_COUNT
} perp_shape_kind;

PERP_API const char *perp_shape_name(perp_shape_kind kind);
PERP_API const char *perp_shape_summary(perp_shape_kind kind);
PERP_API perp_shape_kind perp_shape_find(const char *name);

/// The convex hull of points: corners, flat faces, volume. It never changes; many shapes and
/// threads may share it.
typedef struct perp_mesh perp_mesh;

/// The hull of npoint points, 3 numbers each. A point within 1e-10 of its size of a face is not a
/// corner.
///
/// @return PERP_OK; PERP_ERR_ARG (NULL, fewer than 4, not finite); PERP_ERR_MODEL (diag: they lie
///         in one plane, to 1e-8 of their size, or their inertia is not finite); PERP_ERR_MEMORY
PERP_API perp_status perp_mesh_hull(const double *point, int npoint, perp_mesh **mesh,
                                    perp_diag *diag);

/// The hull of the points of a file: Wavefront OBJ (its `v` lines) or STL (binary or text),
/// recognised by content.
///
/// @param scale  3 factors of x, y, z; nullable: 1
/// @return as perp_mesh_hull, and PERP_ERR_FILE (it cannot be read), PERP_ERR_DATA (diag has file
///         and line, or what is missing)
PERP_API perp_status perp_mesh_read(const char *path, const double scale[3], perp_mesh **mesh,
                                    perp_diag *diag);

/// The same for a text or bytes; `name` is used in messages, nullable.
PERP_API perp_status perp_mesh_parse(const char *bytes, size_t length, const char *name,
                                     const double scale[3], perp_mesh **mesh, perp_diag *diag);

PERP_API void perp_mesh_destroy(perp_mesh *mesh);

/// The corners of a hull, 3 numbers each, in their given order; owned by the mesh. @return their
/// number
PERP_API int perp_mesh_points(const perp_mesh *mesh, const double **point);

/// The corners of the kth flat face of a hull, from 0, counterclockwise from outside, as indices of
/// its points. Owned by the mesh.
///
/// @param corner  nullable
/// @return their number, 3 or more; 0: there is no such face
PERP_API int perp_mesh_face(const perp_mesh *mesh, int k, const int **corner);

/// The mass of a hull of density 1 kg/m^3, its centre of mass, and its inertia about it (xx, yy,
/// zz, xy, xz, yz). Each nullable.
PERP_API void perp_mesh_mass(const perp_mesh *mesh, double *mass, double center[3],
                             double inertia[6]);

/// Heights over a grid in the x-y plane of a frame, solid below. It never changes; many shapes and
/// threads may share it.
typedef struct perp_field perp_field;

/// nx by ny heights, evenly spaced: height[i + j nx] is at x = -half[0] + 2 half[0] i/(nx - 1), y
/// likewise.
///
/// Each cell is two triangles, divided from (i, j) to (i + 1, j + 1). Contacts are with the
/// surface. The sides have none.
///
/// @param height  nx ny [m], copied; nx and ny from 2 to 32768
/// @param half    > 0 [m]
/// @return PERP_OK; PERP_ERR_ARG (NULL, sizes, not finite); PERP_ERR_MEMORY
PERP_API perp_status perp_field_create(const double *height, int nx, int ny, const double half[2],
                                       perp_field **field, perp_diag *diag);
PERP_API void perp_field_destroy(perp_field *field);

/// The heights, owned by the field; their numbers along x and y; half its sides. Each nullable.
/// @return the number of heights
PERP_API int perp_field_heights(const perp_field *field, const double **height, int n[2],
                                double half[2]);

/// A shape of a body. Some shapes make no contacts with each other: shapes of one body, of a body
/// and its parent (unless that is the world), and of the world.
typedef struct perp_shape {
    int body; ///< 0: the world
    perp_shape_kind kind;
    double size[3];        ///< [m], > 0
    double position[3];    ///< in the body's frame
    double rotation[4];    ///< quaternion; all 0: none
    double mu;             ///< friction coefficient, >= 0; of two shapes the larger counts
    double restitution;    ///< Newton's, 0..1; of two shapes the larger counts
    const perp_mesh *mesh; ///< of a PERP_SHAPE_MESH; the caller's, must outlive the shape
    double torsional_friction; ///< coefficient, >= 0 [m]; of two shapes the larger counts
    double rolling_friction;   ///< coefficient, >= 0 [m]; of two shapes the larger counts
    const perp_field *field; ///< of a PERP_SHAPE_FIELD; the caller's, must outlive the shape
} perp_shape;

/// A contact point of two shapes, with its impulses.
typedef struct perp_contact {
    int shape[2];     ///< indices of the description
    double point[3];  ///< in the world, midway between the surfaces
    double normal[3]; ///< unit, from the first shape to the second
    double gap;       ///< distance along it, < 0: they penetrate [m]
    double tangent[2][3];
    double mu;
    double impulse[3]; ///< of the last step on the second body: along normal and tangents [N s]
    int feature;       ///< equal for the same corners and edges of the two shapes
    double torsional_friction, rolling_friction; ///< coefficients [m]
    /// Of the last step on the second body: of torsional friction about the normal, of rolling
    /// friction about the tangents [N m s].
    double moment [3];
} perp_contact;

/// The largest number of contacts of one manifold; with a height field a system has all of them.
enum { PERP_MANIFOLD = 8 };

/// The contacts where two shapes are nearer than `margin`. Positions and rotations are those in the
/// world.
///
/// Sets point, normal, gap, tangents and feature of each. The least gap is the signed distance.
/// Where a face is preferred to an edge it is accurate to 1e-4 of the smaller shape's least size.
///
/// @param contact  PERP_MANIFOLD of them
/// @param count    out: their number
/// @return PERP_OK; PERP_ERR_MEMORY; PERP_ERR_ARG (NULL, sizes <= 0, not finite, a missing mesh,
///         two planes or height fields)
PERP_API perp_status perp_shapes_contacts(const perp_shape *a, const perp_shape *b, double margin,
                                          perp_contact *contact, int *count);

#ifdef __cplusplus
}
#endif
#endif
