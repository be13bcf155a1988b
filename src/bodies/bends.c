/* The derivative of the row of a spatial tendon by q: second derivatives of its length. The length
 * around a circle is a function of the distances of both sites from its centre and of the angle
 * between them; that around a cylinder also of the rise. A piece's force may be moved along its
 * line: it acts at the site of the piece, on both bodies. */

#include "bodies/bodies.h"
#include "bodies/joints.h"
#include "bodies/space.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

/* Motions -------------------------------------------------------------------------------------- */

/* Velocity k, of a joint of link l: what turns or shifts with it. */
typedef struct direction {
    const perp__link *l;
    int k;
} direction;

static int does_carry(const perp_bodies *b, const direction *by, int body)
{
    int i = body;
    while (i && &b->link[i] != by->l) i = b->link[i].is.parent;
    return i != 0;
}

/* Of a point of a body. */
static void move_point(const perp_bodies *b, const direction *by, int body, const double *x,
                       double *out)
{
    memset(out, 0, 3 * sizeof *out);
    if (does_carry(b, by, body)) perp__point_motion(by->l, by->k, x, out);
}

static void turn(const perp_bodies *b, const direction *by, int body, double *out)
{
    memset(out, 0, 3 * sizeof *out);
    if (does_carry(b, by, body) && !by->l->is_shift[by->k])
        memcpy(out, by->l->world[by->k], 3 * sizeof *out);
}

/* By how much the motion of a body's point at x per unit of velocity k of link l changes, where x
 * changes by dx. A joint's own shifts do not turn with it. */
static void change_motion(const perp_bodies *b, const direction *by, const perp__link *l, int k,
                          const double *x, const double *dx, double *out)
{
    int body = (int)(l - b->link);
    double w[3], from[3], moved[3], axis[3];
    turn(b, by, body, w);
    perp__cross3(w, l->world[k], axis);
    memset(out, 0, 3 * sizeof *out);
    if (l->is_shift[k]) {
        if (by->l != l) memcpy(out, axis, sizeof axis);
        return;
    }
    move_point(b, by, body, l->p, moved);
    perp__move3(x, -1, l->p, from);
    perp__cross3(axis, from, out);
    perp__move3(dx, -1, moved, from);
    perp__cross3(l->world[k], from, moved);
    perp__move3(out, 1, moved, out);
}

/* The change of the row that a force along d on a body at x is, where these change by dd and dx. */
static void add_change(const perp_bodies *b, const direction *by, int body, double sign,
                       double d[2][3], double x[2][3], double *row)
{
    for (int i = body; i; i = b->link[i].is.parent)
        for (int k = 0; k < b->link[i].nv; k++) {
            double move[3], change[3];
            perp__point_motion(&b->link[i], k, x[0], move);
            change_motion(b, by, &b->link[i], k, x[0], x[1], change);
            row[b->link[i].v + k] += sign * (perp__dot3(d[1], move) + perp__dot3(d[0], change));
        }
}

/* Around a circle ------------------------------------------------------------------------------ */

/* Of the sites: distances a from the centre, unit vectors u towards them and e across, towards the
 * other; the angle between. The length's slopes and second derivatives by both distances and the
 * angle. */
typedef struct bow {
    double a[2], u[2][3], e[2][3], cosine, sine;
    double length, slope[3], second[3][3];
} bow;

/* The arc begins where the tangent from a site ends. */
static void wind(bow *w, double r, int is_near)
{
    double angle = atan2(w->sine, w->cosine), arc = is_near ? angle : 2 * PI - angle;
    for (int k = 0; k < 2; k++) {
        double a = w->a[k], t = sqrt(a * a - r * r);
        arc -= acos(r / a);
        w->length += t;
        w->slope[k] = t / a;
        w->second[k][k] = r * r / (a * a * t);
    }
    w->length += r * arc;
    w->slope[2] = is_near ? r : -r;
}

/* Through a ring, to the point at the angle theta from the first site: there the length is
 * stationary, and stays so. */
static void reflect(bow *w, double r, double theta)
{
    double by[3][3] = {{0}}, own[3] = {0}, along = 0; /* by theta: with each, twice */
    double angle[2] = {theta, atan2(w->sine, w->cosine) - theta};
    for (int k = 0; k < 2; k++) {
        double a = w->a[k], l = sqrt(a * a + r * r - 2 * a * r * cos(angle[k])),
               far = (a - r * cos(angle[k])) / l, round = a * r * sin(angle[k]) / l,
               mixed = (r * sin(angle[k]) - far * round) / l,
               bent = (a * r * cos(angle[k]) - round * round) / l;
        w->length += l;
        w->slope[k] = far;
        by[k][k] = (1 - far * far) / l;
        along += bent;
        own[k] = k ? -mixed : mixed;
        if (!k) continue;
        w->slope[2] = round;
        by[k][2] = by[2][k] = mixed;
        by[2][2] = bent;
        own[2] = -bent;
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) w->second[i][j] = by[i][j] - own[i] * own[j] / along;
}

/* x: the sites, rim: where the first piece meets the circle, from its centre. */
static bow bow_of(double x[2][3], const double *rim, double r, int is_through)
{
    bow w = {.length = 0};
    for (int k = 0; k < 2; k++) {
        w.a[k] = perp__length3(x[k]);
        for (int i = 0; i < 3; i++) w.u[k][i] = x[k][i] / w.a[k];
    }
    w.cosine = perp__dot3(w.u[0], w.u[1]);
    for (int k = 0; k < 2; k++) {
        perp__move3(w.u[1 - k], -w.cosine, w.u[k], w.e[k]);
        w.sine = perp__length3(w.e[k]);
        for (int i = 0; i < 3; i++) w.e[k][i] /= w.sine;
    }
    double theta = atan2(perp__dot3(rim, w.e[0]), perp__dot3(rim, w.u[0]));
    if (is_through)
        reflect(&w, r, theta);
    else
        wind(&w, r, theta > 0);
    return w;
}

/* The length's gradient by site k, and its change where the sites change by dx. */
static void gradient(const bow *w, int k, double dx[2][3], double g[2][3])
{
    double a = w->a[k], dy[3] = {perp__dot3(w->u[0], dx[0]), perp__dot3(w->u[1], dx[1]), 0},
           slope[3] = {0}, du[2][3];
    for (int i = 0; i < 2; i++) {
        dy[2] -= perp__dot3(w->e[i], dx[i]) / w->a[i];
        for (int j = 0; j < 3; j++) du[i][j] = (dx[i][j] - w->u[i][j] * dy[i]) / w->a[i];
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) slope[i] += w->second[i][j] * dy[j];
    for (int i = 0; i < 3; i++) {
        double de = (du[1 - k][i] + w->sine * dy[2] * w->u[k][i] - w->cosine * du[k][i] -
                     w->cosine * dy[2] * w->e[k][i]) /
                    w->sine;
        g[0][i] = w->slope[k] * w->u[k][i] - w->slope[2] * w->e[k][i] / a;
        g[1][i] = slope[k] * w->u[k][i] + w->slope[k] * du[k][i] - slope[2] * w->e[k][i] / a -
                  w->slope[2] * (de - w->e[k][i] * dy[k] / a) / a;
    }
}

/* The same along a cylinder, which is climbed evenly: of hypot(length, rise). */
static void climb(const bow *w, double rise, double climbed, double dx[2][3], double g[2][2][3])
{
    double length = hypot(w->length, rise), flat = w->length / length, steep = rise / length,
           more = 0;
    for (int k = 0; k < 2; k++) more += perp__dot3(g[k][0], dx[k]);
    double all = flat * more + steep * climbed, dflat = (more - flat * all) / length,
           dsteep = (climbed - steep * all) / length;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 2; i++) {
            g[k][1][i] = flat * g[k][1][i] + dflat * g[k][0][i];
            g[k][0][i] *= flat;
        }
        g[k][0][2] = k ? steep : -steep;
        g[k][1][2] = k ? dsteep : -dsteep;
    }
}

/* Two pieces and what is between them. */
static void bend_around(const perp_bodies *b, const direction *by, const perp__piece_of_path *piece,
                        double *row)
{
    const perp_path_point *o = piece->around;
    const perp__link *l = &b->link[o->body];
    double own[9], R[9], center[3], w[3], x[2][3], dx[2][3], rim[3], from[3], other[3], g[2][2][3],
        site[2][2][3], scale = perp__length3(piece->d);
    perp__rotation_of(o->rotation, own);
    perp__multiply3(l->R, own, R);
    perp__place3(l->R, l->p, o->position, center);
    turn(b, by, o->body, w);
    for (int k = 0; k < 2; k++) {
        memcpy(site[k][0], piece[k].p[k], sizeof site[k][0]);
        move_point(b, by, piece[k].body[k], site[k][0], site[k][1]);
        move_point(b, by, o->body, site[k][0], other);
        perp__move3(site[k][1], -1, other, from);
        perp__rotate_back3(R, from, dx[k]);
        perp__move3(site[k][0], -1, center, from);
        perp__rotate_back3(R, from, x[k]);
    }
    perp__move3(piece->p[1], -1, center, from);
    perp__rotate_back3(R, from, rim);
    double rise = x[1][2] - x[0][2], climbed = dx[1][2] - dx[0][2];
    int is_cylinder = o->kind == PERP_PATH_CYLINDER;
    for (int k = 0; k < 2 && is_cylinder; k++) x[k][2] = dx[k][2] = rim[2] = 0;
    bow way = bow_of(x, rim, o->radius, piece->is_through);
    for (int k = 0; k < 2; k++) gradient(&way, k, dx, g[k]);
    if (is_cylinder) climb(&way, rise, climbed, dx, g);
    for (int k = 0; k < 2;
         k++) { /* the site lengthens it along its gradient, what it wraps the other way */
        double d[2][3], turned[3];
        perp__rotate3(R, g[k][0], d[0]);
        perp__rotate3(R, g[k][1], d[1]);
        perp__cross3(w, d[0], turned);
        perp__move3(d[1], 1, turned, d[1]);
        add_change(b, by, piece[k].body[k], scale, d, site[k], row);
        add_change(b, by, o->body, -scale, d, site[k], row);
    }
}

static void bend_straight(const perp_bodies *b, const direction *by,
                          const perp__piece_of_path *piece, double *row)
{
    double scale = perp__length3(piece->d), from[3], d[2][3], site[2][2][3];
    if (piece->body[0] == piece->body[1]) return;
    for (int k = 0; k < 2; k++) {
        memcpy(site[k][0], piece->p[k], sizeof site[k][0]);
        move_point(b, by, piece->body[k], site[k][0], site[k][1]);
    }
    perp__move3(site[1][0], -1, site[0][0], from);
    double length = perp__length3(from);
    for (int i = 0; i < 3; i++) d[0][i] = piece->d[i] / scale;
    perp__move3(site[1][1], -1, site[0][1], from);
    perp__move3(from, -perp__dot3(from, d[0]), d[0], d[1]);
    for (int i = 0; i < 3; i++) d[1][i] /= length;
    for (int k = 0; k < 2; k++)
        add_change(b, by, piece->body[k], k ? scale : -scale, d, site[k], row);
}

int perp__path_bend(perp_bodies *b, const perp__strand *s, int at, double *change)
{
    const perp__link *l = &b->link[b->scene->body_of[at]];
    const direction by = {l, at - l->v};
    double *row = b->joints->dense;
    int is_finite = 1;
    for (int i = 0; i < s->n; i++) row[s->at[i]] = 0;
    for (int i = 0; i < s->npiece; i += s->piece[i].around ? 2 : 1) {
        if (s->piece[i].around)
            bend_around(b, &by, &s->piece[i], row);
        else
            bend_straight(b, &by, &s->piece[i], row);
    }
    for (int i = 0; i < s->n; i++) {
        change[i] = row[s->at[i]];
        is_finite &= isfinite(change[i]) != 0;
    }
    return is_finite;
}
