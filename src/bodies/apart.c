/* Penetrations at the end of a step are removed by the least motion in the metric of the mass
 * matrix: the friction problem of their contacts and limits without friction, from rest. Positions
 * change, velocities do not, so nothing gains speed. */

#include "bodies/bodies.h"
#include "bodies/space.h"

#include <math.h>
#include <string.h>

/* Relative to the smaller shape's least half length. Penetrations up to this come from curved
 * motion within a step, and the velocities of the next step remove them. */
static const double LITTLE = 1e-5;

/* So many times as much is no step's end. */
static const double DEEP = 1e4;

double perp__bodies_little(const perp_bodies *b, const perp_contact *t)
{
    return LITTLE * fmin(b->scene->form[t->shape[0]].least, b->scene->form[t->shape[1]].least);
}

/* The deepest penetration above the tolerated one, and its contact; 0, -1: none is deeper. */
double perp__bodies_deepest(const perp_bodies *b, int *which)
{
    double most = 1;
    *which = -1;
    for (int i = 0; i < b->ntouch; i++) {
        double depth = -b->touch[i].gap / perp__bodies_little(b, &b->touch[i]);
        if (depth > most) {
            most = depth;
            *which = i;
        }
    }
    return *which < 0 ? 0 : most;
}

/* The largest speed of a point of a shape at the velocities in b->next. */
static double fastest_point(perp_bodies *b)
{
    double most = 0;
    perp__bodies_velocities(b, b->next);
    for (int i = 0; i < b->scene->nshape; i++) {
        const double *end = b->link[b->scene->shape[i].body].end;
        if (!b->scene->shape[i].body) continue;
        most = fmax(most, perp__length3(end + 3) + perp__length3(end) * (b->scene->form[i].far +
                                                                         b->scene->form[i].extent));
    }
    return most;
}

/* One motion by the present contacts. It need not be exact, since contacts are found again and show
 * the residual. A body held between others may have no room along their normals: then every contact
 * yields a little. */
static perp_status move_apart(perp_bodies *b, double yield, double turn, double way, int *is_moved)
{
    const double NEAR = 1e-3;
    perp_bodies_info info = {.size = sizeof info, .outcome = PERP_SOLVED};
    *is_moved = 0;
    perp__joints_still(b);
    perp__bodies_mass(b, b->M);
    if (!perp__bodies_factor(b, b->M, b->D)) return PERP_OK;
    memset(b->next, 0, (size_t)b->scene->nv * sizeof *b->next);
    if (!perp__equality_state(b)) return PERP_ERR_MEMORY;
    b->c->yield = yield;
    perp_status status = perp__bodies_act(b, &info);
    *is_moved = status == PERP_OK && info.contact_error <= NEAR;
    double h = b->h;
    for (int k = 0; k < b->scene->nv && *is_moved; k++) h = fmin(h, turn / fabs(b->next[k]));
    if (*is_moved && isfinite(way)) h = fmin(h, way / fastest_point(b));
    if (*is_moved) perp__bodies_move(b, b->next, h, b->here);
    return status;
}

perp_status perp__bodies_move_apart(perp_bodies *b, double turn, double way, int *is_moved)
{
    const double YIELD = 1e-2;
    b->c->is_still = 1;
    perp_status status = move_apart(b, 0, turn, way, is_moved);
    if (status == PERP_OK && !*is_moved) status = move_apart(b, YIELD, turn, way, is_moved);
    b->c->is_still = 0;
    return status;
}

double perp__bodies_penetration(const perp_bodies *b)
{
    double most = 0;
    for (int i = 0; i < b->ntouch; i++) most = fmax(most, -b->touch[i].gap);
    return most;
}

/* The step's end goes with the positions where the next one's forces act. */
static void follow(perp_bodies *b)
{
    if (!perp__is_midpoint(b)) return;
    memcpy(b->q, b->here, (size_t)b->scene->nq * sizeof *b->q);
    perp__bodies_move(b, b->v, -b->half, b->q);
}

/* The sum of all penetrations. */
static double sum_penetrations(const perp_bodies *b)
{
    double sum = 0;
    for (int i = 0; i < b->ntouch; i++) sum += fmax(0, -b->touch[i].gap);
    return sum;
}

perp_status perp__bodies_look_ahead(perp_bodies *b, double *overlap, double *moved_for, int *worst)
{
    enum { MOST = 30 };
    const double BETTER = 0.7;
    double before = INFINITY;
    *overlap = 0;
    *worst = -1;
    for (int pass = 0;; pass++) {
        perp__bodies_place(b, b->here);
        if (!perp__bodies_find_touches(b)) return PERP_ERR_MEMORY;
        double depth = perp__bodies_deepest(b, worst);
        if (!pass) *moved_for = sum_penetrations(b);
        if (depth == 0 || pass == MOST || (depth <= DEEP && depth > BETTER * before)) {
            *overlap = perp__bodies_penetration(b);
            if (depth <= DEEP) *worst = -1;
            if (pass) follow(b);
            return PERP_OK;
        }
        before = depth;
        int is_moved;
        perp_status status = perp__bodies_move_apart(
            b, INFINITY, PERP__LEVER * perp__bodies_penetration(b), &is_moved);
        if (status != PERP_OK) return status;
    }
}
