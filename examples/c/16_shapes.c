/* A stone of your own shape: its hull, what it weighs, and where it touches a slab, on a corner and on a face. */

#include <perp/shapes.h>

#include <math.h>
#include <stdio.h>

static int describe(const char *how, const perp_shape *slab, const perp_shape *stone, double gap,
                    int corners)
{
    perp_contact touch[PERP_MANIFOLD];
    int count = 0;
    if (perp_shapes_contacts(slab, stone, 0.01, touch, &count) != PERP_OK) return 0;
    printf("%s: %d points\n", how, count);
    int ok = count == corners;
    for (int i = 0; i < count; i++) {
        printf("  at (%6.3f, %6.3f, %6.3f), gap %.6f m\n", touch[i].point[0], touch[i].point[1],
               touch[i].point[2], touch[i].gap);
        ok &= fabs(touch[i].gap - gap) < 1e-12 && fabs(touch[i].normal[2] - 1) < 1e-12;
    }
    return ok;
}

int main(void)
{
    const double corner[][3] = {{1, 0, 0},  {-1, 0, 0}, {0, 1, 0},    {0, -1, 0},
                                {0, 0, -1}, {0, 0, 1},  {0.1, 0.1, 0}}; /* the last is inside */
    perp_diag diag = {0};
    perp_mesh *octahedron = NULL;
    if (perp_mesh_hull(corner[0], 7, &octahedron, &diag) != PERP_OK) {
        fprintf(stderr, "%s", perp_diag_text(&diag));
        perp_diag_clear(&diag);
        return 1;
    }
    double mass, center[3], inertia[6];
    perp_mesh_mass(octahedron, &mass, center, inertia);
    printf("%d corners, %.6f kg, inertia %.6f kg m^2\n", perp_mesh_points(octahedron, NULL), mass,
           inertia[0]);
    int ok = fabs(mass - 4.0 / 3) < 1e-12 && fabs(inertia[0] - mass / 5) < 1e-12;

    const perp_shape slab = {.kind = PERP_SHAPE_BOX, .size = {3, 3, 0.5}, .position = {0, 0, -0.5}};
    perp_shape stone = {.kind = PERP_SHAPE_MESH, .mesh = octahedron, .position = {0, 0, 1.001}};
    ok &= describe("on a corner", &slab, &stone, 1e-3, 1);

    const double third = sqrt(1.0 / 3), scale = 1 / sqrt(2 - 2 * third);
    const double turn[] = {(1 - third) * scale, -third * scale, third * scale, 0};
    for (int i = 0; i < 4; i++) stone.rotation[i] = turn[i]; /* a face looks down */
    stone.position[2] = third - 1e-6;
    ok &= describe("on a face, pressed in", &slab, &stone, -1e-6, 3);
    perp_mesh_destroy(octahedron);
    printf("%s\n", ok ? "ok" : "failed");
    return !ok;
}
