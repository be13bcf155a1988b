/* The paths of tendons in space: straight between sites, around spheres and cylinders by the
 * shortest way, over pulleys. Of each straight piece its ends, their bodies and its direction; so
 * the length and, by the motions of its ends, its derivative. A point on a surface moves with its
 * body: by the principle of least length it has no part in the derivative. */

#include "bodies/bodies.h"
#include "bodies/joints.h"
#include "bodies/space.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

/* Around a circle, in its plane ---------------------------------------------------------------- */

static double dot2(const double *x, const double *y)
{
    return x[0] * y[0] + x[1] * y[1];
}

static double cross2(const double *x, const double *y)
{
    return x[0] * y[1] - x[1] * y[0];
}

/* Do two segments meet? */
static int do_cross(const double *a, const double *b, const double *c, const double *d)
{
    double x[2] = {b[0] - a[0], b[1] - a[1]}, y[2] = {d[0] - c[0], d[1] - c[1]},
           z[2] = {c[0] - a[0], c[1] - a[1]}, det = cross2(x, y);
    if (fabs(det) < 1e-15) return 0;
    double s = cross2(z, y) / det, t = cross2(z, x) / det;
    return s >= 0 && s <= 1 && t >= 0 && t <= 1;
}

/* The path around a circle in one sense (1: that of the angles): its points of contact, the arc. */
typedef struct way {
    double p[2][2], arc;
    double turn; /* the angle from the first to the second, in that sense */
} way;

static way go_around(double d[2][2], double radius, int sense)
{
    way w = {.arc = 0};
    double angle[2];
    for (int k = 0; k < 2; k++) {
        double turn = acos(radius / sqrt(dot2(d[k], d[k])));
        angle[k] = atan2(d[k][1], d[k][0]) + (k ? -1 : 1) * sense * turn;
        w.p[k][0] = radius * cos(angle[k]);
        w.p[k][1] = radius * sin(angle[k]);
    }
    w.arc = fmod(sense * (angle[1] - angle[0]), 2 * PI);
    if (w.arc < 0) w.arc += 2 * PI;
    w.turn = sense * w.arc;
    w.arc *= radius;
    return w;
}

/* Of the segment's point that is nearest to the circle's centre. */
static void nearest_point(double d[2][2], double *out)
{
    double x[2] = {d[1][0] - d[0][0], d[1][1] - d[0][1]},
           t = fmin(fmax(-dot2(x, d[0]) / dot2(x, x), 0), 1);
    for (int k = 0; k < 2; k++) out[k] = d[0][k] + t * x[k];
}

/* Is the side behind the circle, as seen from both points: a direction between those away from
 * them? Where the centre is between the points, it is if the way in the sense of angles passes
 * there. */
static int is_behind(double d[2][2], const double *side)
{
    double det = cross2(d[0], d[1]);
    if (det == 0) return cross2(d[0], side) > 0;
    return -cross2(side, d[1]) / det > 0 && -cross2(d[0], side) / det > 0;
}

/* The longer path around the circle if `side` (nullable) is behind it; else the shorter one, if the
 * straight path would cut it. Returns 0 if it need not, or cannot. */
static int wrap_outside(double d[2][2], const double *side, double radius, way *out)
{
    double x[2];
    int near = cross2(d[0], d[1]) < 0 ? -1 : 1, is_far = side && is_behind(d, side);
    nearest_point(d, x);
    if (!is_far && dot2(x, x) > radius * radius) return 0;
    *out = go_around(d, radius, is_far ? -near : near);
    return !do_cross(d[0], out->p[0], d[1], out->p[1]);
}

/* Through the circle, a hole: it touches the rim at one point, as light does. With z the sine of
 * the angle there, each side's part of the angle between them is asin(z) - asin(z r/|d|). */
static int wrap_inside(double d[2][2], double radius, way *out)
{
    double x[2], length[2] = {sqrt(dot2(d[0], d[0])), sqrt(dot2(d[1], d[1]))},
                 cosine = dot2(d[0], d[1]) / (length[0] * length[1]), low = 0, high = 1 - 1e-7;
    nearest_point(d, x);
    if (dot2(x, x) <= radius * radius || cosine < -1 + 1e-15) return 0;
    double between = acos(fmin(cosine, 1)), a = radius / length[0], b = radius / length[1];
    for (int k = 0; k < 2; k++) x[k] = d[0][k] + d[1][k];
    double size = sqrt(dot2(x, x)), angle = atan2(x[1], x[0]);
    out->arc = out->turn = 0;
    if (cosine < 1 - 1e-15 && asin(a * high) + asin(b * high) - 2 * asin(high) + between <= 0) {
        for (int i = 0; i < 100; i++) {
            double z = 0.5 * (low + high);
            if (asin(a * z) + asin(b * z) - 2 * asin(z) + between > 0)
                low = z;
            else
                high = z;
        }
        double turn = asin(low) - asin(a * low);
        angle = atan2(d[0][1], d[0][0]) + (cross2(d[0], d[1]) > 0 ? turn : -turn);
    } else if (!(size > 0)) {
        return 0;
    }
    for (int k = 0; k < 2; k++) {
        out->p[k][0] = radius * cos(angle);
        out->p[k][1] = radius * sin(angle);
    }
    return 1;
}

static int wrap_circle(double d[2][2], const double *side, int is_inside, double radius, way *w)
{
    double x[2] = {d[1][0] - d[0][0], d[1][1] - d[0][1]}, rr = radius * radius;
    if (dot2(d[0], d[0]) < rr || dot2(d[1], d[1]) < rr || dot2(x, x) < 1e-15) return 0;
    return is_inside ? wrap_inside(d, radius, w) : wrap_outside(d, side, radius, w);
}

/* In space ------------------------------------------------------------------------------------- */

static int normalise(double *x)
{
    double length = perp__length3(x);
    for (int k = 0; k < 3 && length > 0; k++) x[k] /= length;
    return length > 1e-15;
}

/* Axes of the plane of a sphere's centre and two points. */
static void plane_of(double p[2][3], double axis[2][3])
{
    double normal[3], other[3] = {1, 1, 1};
    memcpy(axis[0], p[0], sizeof axis[0]);
    normalise(axis[0]);
    perp__cross3(p[0], p[1], normal);
    if (!normalise(normal)) { /* on one line: any plane */
        int most = 0;
        for (int k = 1; k < 3; k++)
            if (fabs(axis[0][k]) > fabs(axis[0][most])) most = k;
        other[most] = 0;
        perp__cross3(axis[0], other, normal);
        normalise(normal);
    }
    perp__cross3(normal, axis[0], axis[1]);
    normalise(axis[1]);
}

static void to_plane(double axis[2][3], const double *p, double *out)
{
    for (int k = 0; k < 2; k++) out[k] = perp__dot3(axis[k], p);
}

/* On a cylinder the way climbs evenly: a helix between straight lines. */
static void climb(double p[2][3], double d[2][2], const way *w, double out[2][3], double *arc)
{
    double straight[2];
    for (int k = 0; k < 2; k++) straight[k] = hypot(d[k][0] - w->p[k][0], d[k][1] - w->p[k][1]);
    double all = straight[0] + w->arc + straight[1], rise = p[1][2] - p[0][2];
    out[0][2] = p[0][2] + rise * straight[0] / all;
    out[1][2] = p[0][2] + rise * (straight[0] + w->arc) / all;
    *arc = hypot(w->arc, out[1][2] - out[0][2]);
}

/* Between two points (world) around or through a path's obstacle: its points of contact, the axis
 * and angle of rotation there (world), the length. Returns 0 if the obstacle is not touched; 2:
 * through. */
static int wrap(const perp_bodies *b, const perp_path_point *o, double x[2][3], double at[2][3],
                double turn[3], double *arc)
{
    const perp__link *l = &b->link[o->body];
    double own[9], R[9], center[3], from[3], p[2][3], side[3], axis[2][3] = {{1, 0, 0}, {0, 1, 0}},
                                                               d[2][2], flat[2], out[2][3] = {{0}};
    way w = {.arc = 0};
    perp__rotation_of(o->rotation, own);
    perp__multiply3(l->R, own, R);
    perp__place3(l->R, l->p, o->position, center);
    for (int k = 0; k < 2; k++) {
        perp__move3(x[k], -1, center, from);
        perp__rotate_back3(R, from, p[k]);
        if (perp__length3(p[k]) < 1e-15) return 0;
    }
    if (o->kind == PERP_PATH_SPHERE) plane_of(p, axis);
    for (int k = 0; k < 2; k++) to_plane(axis, p[k], d[k]);
    int is_inside = 0;
    if (o->has_side) {
        perp__place3(b->link[o->side_body].R, b->link[o->side_body].p, o->side, from);
        perp__move3(from, -1, center, from);
        perp__rotate_back3(R, from, side);
        to_plane(axis, side, flat);
        double length = hypot(flat[0], flat[1]);
        flat[0] = length > 1e-15 ? flat[0] / length : 1;
        flat[1] = length > 1e-15 ? flat[1] / length : 0;
        is_inside = perp__length3(side) < o->radius;
    }
    if (!wrap_circle(d, o->has_side ? flat : NULL, is_inside, o->radius, &w)) return 0;
    *arc = w.arc;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++) out[k][i] = axis[0][i] * w.p[k][0] + axis[1][i] * w.p[k][1];
    if (o->kind == PERP_PATH_CYLINDER) climb(p, d, &w, out, arc);
    for (int k = 0; k < 2; k++) perp__place3(R, center, out[k], at[k]);
    perp__cross3(axis[0], axis[1], from);
    perp__rotate3(R, from, turn);
    for (int i = 0; i < 3; i++) turn[i] *= w.turn;
    return 1 + is_inside;
}

static void add_piece(perp__strand *s, const int body[2], double p[2][3], double divisor)
{
    perp__piece_of_path *piece = &s->piece[s->npiece++];
    double length;
    memcpy(piece->body, body, sizeof piece->body);
    memcpy(piece->p, p, sizeof piece->p);
    piece->around = NULL;
    perp__move3(p[1], -1, p[0], piece->d);
    length = perp__length3(piece->d);
    s->length += length / divisor;
    for (int k = 0; k < 3; k++) piece->d[k] = length > 1e-15 ? piece->d[k] / (length * divisor) : 0;
}

static void site_in_world(const perp_bodies *b, const perp_path_point *at, double *p)
{
    perp__place3(b->link[at->body].R, b->link[at->body].p, at->position, p);
}

/* The row of its derivative: by how much its pieces lengthen per unit of each velocity. */
static void derive(perp_bodies *b, perp__strand *s)
{
    double *row = b->joints->dense;
    for (int i = 0; i < s->n; i++) row[s->at[i]] = 0;
    for (int i = 0; i < s->npiece; i++) {
        const perp__piece_of_path *piece = &s->piece[i];
        for (int side = 0; side < 2 && piece->body[0] != piece->body[1]; side++)
            for (int j = piece->body[side]; j; j = b->link[j].is.parent)
                for (int k = 0; k < b->link[j].nv; k++) {
                    double move[3];
                    perp__point_motion(&b->link[j], k, piece->p[side], move);
                    row[b->link[j].v + k] += (side ? 1 : -1) * perp__dot3(piece->d, move);
                }
    }
    for (int i = 0; i < s->n; i++) s->c[i] = row[s->at[i]];
}

void perp__path_follow(perp_bodies *b, perp__strand *s)
{
    double divisor = 1, x[2][3], at[2][3], turn[3], arc;
    s->npiece = 0;
    s->length = 0;
    for (int i = 0; i + 1 < s->npath; i++) {
        const perp_path_point *here = &s->path[i], *next = here + 1;
        if (here->kind == PERP_PATH_PULLEY) divisor = here->divisor;
        if (here->kind != PERP_PATH_SITE || next->kind == PERP_PATH_PULLEY) continue;
        const perp_path_point *end = next->kind == PERP_PATH_SITE ? next : next + 1;
        site_in_world(b, here, x[0]);
        site_in_world(b, end, x[1]);
        int wraps = end == next ? 0 : wrap(b, next, x, at, turn, &arc);
        if (wraps) {
            double first[2][3] = {{x[0][0], x[0][1], x[0][2]}, {at[0][0], at[0][1], at[0][2]}},
                   last[2][3] = {{at[1][0], at[1][1], at[1][2]}, {x[1][0], x[1][1], x[1][2]}};
            add_piece(s, (int[2]){here->body, next->body}, first, divisor);
            s->piece[s->npiece - 1].around = next;
            s->piece[s->npiece - 1].is_through = wraps == 2;
            memcpy(s->piece[s->npiece - 1].turn, turn, sizeof turn);
            s->length += arc / divisor;
            add_piece(s, (int[2]){next->body, end->body}, last, divisor);
        } else {
            add_piece(s, (int[2]){here->body, end->body}, x, divisor);
        }
    }
    derive(b, s);
}

/* A part s of the way around something, to which a piece leads. */
static void point_around(const perp_bodies *b, const perp__piece_of_path *piece, double s,
                         double *out)
{
    const perp_path_point *o = piece->around;
    double center[3], from[3], part[3], q[4], R[9], across[3];
    site_in_world(b, o, center);
    for (int k = 0; k < 3; k++) part[k] = s * piece->turn[k];
    perp__quaternion_of(part, q);
    perp__rotation_of(q, R);
    perp__move3(piece->p[1], -1, center, from);
    perp__place3(R, center, from, out);
    /* a helix climbs along what it turns about */
    double square = perp__dot3(piece->turn, piece->turn);
    perp__move3(piece[1].p[0], -1, piece->p[1], across);
    if (square > 0)
        perp__move3(out, s * perp__dot3(across, piece->turn) / square, piece->turn, out);
}

double *perp__path_points(const perp_bodies *b, const perp__strand *s, double *out)
{
    const perp__piece_of_path *piece = s->piece;
    for (int i = 0; i < s->npath; i++) {
        const perp_path_point *here = &s->path[i];
        int n = perp__points_at(here->kind);
        if (here->kind == PERP_PATH_SITE) {
            site_in_world(b, here, out);
            piece += i + 1 < s->npath && here[1].kind == PERP_PATH_SITE;
        } else if (here->kind != PERP_PATH_PULLEY) {
            int wraps = piece->around == here;
            double d[3];
            perp__move3(piece->p[1], -1, piece->p[0], d);
            for (int k = 0; k < n; k++) {
                if (wraps)
                    point_around(b, piece, k / (n - 1.0), out + 3 * k);
                else
                    perp__move3(piece->p[0], k / (n - 1.0), d, out + 3 * k);
            }
            piece += 1 + wraps;
        }
        out += 3 * n;
    }
    return out;
}

/* Tension pulls the ends of each piece to each other: forces on bodies, and their sizes. */
void perp__path_load(perp_bodies *b, const perp__strand *s, double force, double size)
{
    for (int i = 0; i < s->npiece; i++) {
        const perp__piece_of_path *piece = &s->piece[i];
        double pull = perp__length3(piece->d) * size;
        for (int side = 0; side < 2; side++) {
            int body = piece->body[side];
            double *load = b->load + 6 * body, from[3], moment[3];
            perp__move3(piece->p[side], -1, b->link[body].p, from);
            perp__cross3(from, piece->d, moment);
            perp__move3(load, (side ? 1 : -1) * force, moment, load);
            perp__move3(load + 3, (side ? 1 : -1) * force, piece->d, load + 3);
            b->size[body][0] += perp__length3(from) * pull;
            b->size[body][1] += pull;
        }
    }
}

/* Description ---------------------------------------------------------------------------------- */

static const char *point_fault(const perp_bodies *b, const perp_path_point *x)
{
    if (x->kind == PERP_PATH_PULLEY)
        return x->divisor > 0 && isfinite(x->divisor) ? NULL : "a pulley's divisor is > 0";
    if (x->body < 0 || x->body >= b->scene->n ||
        (x->has_side && (x->side_body < 0 || x->side_body >= b->scene->n)))
        return "there is no such body on its path";
    for (int k = 0; k < 3; k++)
        if (!isfinite(x->position[k] + (x->has_side ? x->side[k] : 0)))
            return "a point of its path is not finite";
    if (x->kind == PERP_PATH_SITE) return NULL;
    if (x->kind != PERP_PATH_SPHERE && x->kind != PERP_PATH_CYLINDER)
        return "a point of its path is none";
    return x->radius > 0 && isfinite(x->radius) ? NULL : "what it wraps has a radius > 0";
}

const char *perp__path_fault(const perp_bodies *b, const perp_path_point *path, int n)
{
    int last = PERP_PATH_PULLEY, straight = 0;
    for (int i = 0; i < n; i++) {
        const char *fault = point_fault(b, &path[i]);
        int kind = path[i].kind, is_round = kind == PERP_PATH_SPHERE || kind == PERP_PATH_CYLINDER;
        if (fault) return fault;
        if (is_round &&
            (last != PERP_PATH_SITE || i + 1 == n || path[i + 1].kind != PERP_PATH_SITE))
            return "what it wraps is between two sites";
        if (kind == PERP_PATH_PULLEY && i && last == PERP_PATH_PULLEY)
            return "two pulleys follow each other";
        straight += kind == PERP_PATH_SITE && last != PERP_PATH_PULLEY;
        last = kind;
    }
    if (!straight) return "its path needs two sites";
    return last == PERP_PATH_PULLEY ? "a pulley ends it" : NULL;
}

/* Velocities that move a point of the path are marked; how many. */
int perp__path_velocities(const perp_bodies *b, const perp_path_point *path, int n, int *mark)
{
    int count = 0;
    memset(mark, 0, (size_t)b->scene->nv * sizeof *mark);
    for (int i = 0; i < n; i++)
        for (int k = b->link[path[i].body].tip;
             path[i].kind != PERP_PATH_PULLEY && k >= 0 && !mark[k]; k = b->scene->parent_of[k]) {
            mark[k] = 1;
            count++;
        }
    return count;
}
