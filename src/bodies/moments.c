/* Torsional and rolling friction: moments at contacts, bounded by the normal force. Each is a
 * contact of the step's friction problem. Its normal impulse is mu r_n of its contact
 * (docs/adr/097-torsional-and-rolling-friction.md). */

#include "base/holds.h"
#include "bodies/bodies.h"
#include "bodies/space.h"
#include "solve/fc.h"

#include <math.h>
#include <string.h>

static int add_moment(perp_bodies *b, int touch, int rolls, double mu)
{
    if (!(mu > 0)) return 1;
    if (!perp__grow(&b->c->moment, &b->c->cmoment, b->c->nmoment + 1, sizeof *b->c->moment))
        return 0;
    b->c->moment[b->c->nmoment++] = (perp__moment){.touch = touch, .rolls = rolls, .mu = mu};
    return 1;
}

int perp__moments_state(perp_bodies *b)
{
    b->c->nmoment = 0;
    for (int i = 0; i < b->ntouch && !b->c->is_still; i++)
        if (!add_moment(b, i, 0, b->touch[i].torsional_friction) ||
            !add_moment(b, i, 1, b->touch[i].rolling_friction))
            return 0;
    return 1;
}

/* Where the kth moment is in the friction problem. */
static int place_of(const perp_bodies *b, int k)
{
    return 3 * (perp__first_moment(b) + k);
}

void perp__moment_take(perp_bodies *b, int k)
{
    const perp__moment *m = &b->c->moment[k];
    perp_contact *t = &b->touch[m->touch];
    double *r = perp__contact_value(b, PERP__IMPULSE) + place_of(b, k);
    r[0] = m->mu * t->impulse[0];
    perp__fc_snap(3, 1, r);
    if (m->rolls)
        memcpy(t->moment + 1, r + 1, 2 * sizeof *r);
    else
        t->moment[0] = r[1];
}

/* Angular velocity of the second body less that of the first, from the bodies' motions; the sum of
 * the |terms|. */
static double relative_turn(const perp_bodies *b, const perp_contact *t, double *turn)
{
    double terms = 0;
    memset(turn, 0, 3 * sizeof *turn);
    for (int side = 0; side < 2; side++) {
        const perp__link *l = &b->link[b->scene->shape[t->shape[side]].body];
        double move[3];
        perp__rotate3(l->R, l->end, move);
        terms += perp__length3(move);
        perp__move3(turn, side ? 1 : -1, move, turn);
    }
    return terms;
}

/* The law of a moment at the angular velocities w of its axes, S: the |terms| of them. */
static double law_error(const perp_bodies *b, const perp__moment *m, const double *w, double S)
{
    const perp_contact *t = &b->touch[m->touch];
    const double r[3] = {m->mu * t->impulse[0], t->moment[m->rolls ? 1 : 0],
                         m->rolls ? t->moment[2] : 0},
                 u[3] = {0, w[0], w[1]};
    if (perp__length(r[1], r[2]) > r[0] * (1 + b->scene->o.tol)) return INFINITY;
    if (!(S > 0) || !(m->own > 0)) return 0; /* nothing turns there */
    double R = fmin(S / m->own, PERP_FC_GROWTH * r[0]);
    return r[0] > 0 ? perp__error_contact(1, r, u, S, R) : 0;
}

double perp__moments_difference(const perp_bodies *b)
{
    const double *speed = perp__contact_value(b, PERP__U),
                 *scale = perp__contact_value(b, PERP__SCALE);
    double worst = 0;
    for (int k = 0; k < b->c->nmoment; k++) {
        const perp__moment *m = &b->c->moment[k];
        const perp_contact *t = &b->touch[m->touch];
        const double *axis[2] = {m->rolls ? t->tangent[0] : t->normal, t->tangent[1]},
                     *u = speed + place_of(b, k) + 1, *S = scale + place_of(b, k);
        double turn[3], w[2] = {0}, rounding = PERP__KINEMATIC_ROUNDING * relative_turn(b, t, turn),
                        most = fmax(S[0], fmax(S[1], S[2]));
        for (int d = 0; d < 1 + m->rolls; d++) {
            w[d] = perp__dot3(axis[d], turn);
            double off = fabs(w[d] - u[d]);
            if (isnan(off)) return INFINITY;
            if (off > rounding) worst = fmax(worst, off / most);
        }
        worst = perp__worse(worst, law_error(b, m, w, most));
    }
    return worst;
}
