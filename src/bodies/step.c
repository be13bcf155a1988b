/* A step: velocities without contacts, the friction problem, velocities with them; then the answer
 * is judged from the bodies' own motions and by inverse dynamics, and only then is the state
 * moved. */

#include "base/tol.h"
#include "bodies/bodies.h"
#include "bodies/space.h"
#include "solve/fc.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A velocity that dry friction holds changes by -v: what that asks of the others, from the mass
 * matrix, in b->next. */
static void stop_held(perp_bodies *b)
{
    int stops = 0;
    for (int k = 0; k < b->scene->nv; k++) {
        int above = b->scene->parent_of[k];
        b->up[k] = above >= 0 && perp__joints_hold(b, above) ? b->up[above] : above;
        stops |= perp__joints_hold(b, k) && b->v[k] != 0;
    }
    for (int k = 0; k < b->scene->nv && stops; k++)
        for (int j = k; j >= 0; j = b->scene->parent_of[j]) {
            double m = b->M[perp__mass_entry(b, k, j)];
            if (perp__joints_hold(b, k)) b->next[j] += m * b->v[k];
            if (j < k && perp__joints_hold(b, j)) b->next[k] += m * b->v[j];
        }
}

/* Velocities at the end of the step without contacts. Returns 0: M is not positive. */
static int move_freely(perp_bodies *b)
{
    double h = b->h;
    perp__bodies_mass(b, b->M);
    perp__joints_begin(b);
    for (int k = 0; k < b->scene->nv; k++) {
        double implicit = b->joints->implicit[k];
        b->M[perp__mass_entry(b, k, k)] += implicit;
        b->next[k] = h * (b->joints->push[k] - b->bias[k]) - implicit * b->v[k];
    }
    stop_held(b);
    if (!perp__bodies_factor(b, b->M, b->D)) return 0;
    perp__bodies_solve(b, b->M, b->D, b->next);
    for (int k = 0; k < b->scene->nv; k++) b->drift[k] = isinf(b->D[k]) ? 0 : b->next[k] + b->v[k];
    return 1;
}

/* The residual of Newton's law, in b->row, was the bias: adds the velocities without contacts for
 * it, by the present factors. */
static void bend(perp_bodies *b)
{
    for (int k = 0; k < b->scene->nv; k++) {
        b->bias[k] += b->row[k];
        b->row[k] *= -b->h;
    }
    perp__bodies_solve(b, b->M, b->D, b->row);
    for (int k = 0; k < b->scene->nv; k++) b->drift[k] += b->row[k];
}

static perp_fc friction_problem(const perp_bodies *b)
{
    return (perp_fc){.dimension = 3,
                     .nc = b->c->n,
                     .q = perp__contact_value(b, PERP__Q),
                     .mu = perp__contact_value(b, PERP__MU),
                     .block = b->c->block,
                     .row = b->c->row,
                     .col = b->c->column,
                     .nb = b->c->nblock};
}

static int make_solver(perp_bodies *b, const perp_fc *problem)
{
    if (b->solver && problem->nc <= b->c->solver_room) return 1;
    perp_fc_options o = perp_fc_options_default();
    perp_fc shape = {.dimension = 3, .nc = 2 * problem->nc, .nb = 4 * problem->nc * problem->nc};
    o.tol = b->scene->o.tol;
    o.aim = PERP__CLOSER;
    o.warm_start = 1;
    perp_fc_solver_destroy(b->solver);
    b->solver = NULL;
    b->c->solver_room = shape.nc;
    return perp_fc_solver_create(PERP_FC_AUTO, &shape, &o, &b->solver) == PERP_OK;
}

void perp__bodies_take_impulses(perp_bodies *b)
{
    const double *impulse = perp__contact_value(b, PERP__IMPULSE);
    int first_moment = perp__first_moment(b);
    b->work += 3.0 * b->c->nentry;
    memset(b->row, 0, (size_t)b->scene->nv * sizeof *b->row);
    for (int i = 0; i < b->c->n; i++) {
        const perp__contact_rows *row = &b->c->rows[i];
        if (i >= first_moment) {
            perp__moment_take(b, i - first_moment);
        } else if (i >= b->ntouch) {
            perp__law *law = &b->joints->row[i - b->ntouch];
            law->impulse = impulse[3 * i + (law->kind != PERP__LIMIT)];
        } else {
            memcpy(b->touch[i].impulse, impulse + 3 * i, sizeof b->touch[i].impulse);
        }
        for (int k = 0; k < row->n; k++) {
            const perp__entry *e = &b->c->entry[row->first + k];
            b->row[e->at] += perp__dot3(e->Y, impulse + 3 * i);
        }
    }
    perp__bodies_solve_down(b, b->M, b->D, b->row);
    for (int k = 0; k < b->scene->nv; k++) b->next[k] = b->joints->loose[k] + b->row[k];
    perp__equality_begin(b);
    perp__equality_project(b, b->next);
}

/* Does a contact press against what nothing in it can move, since dry friction holds it? There is
 * no solution on these pieces then. */
static int is_blocked(const perp_bodies *b)
{
    const double *q = perp__contact_value(b, PERP__Q);
    for (int i = 0; i < b->ntouch; i++) {
        const perp__contact_rows *row = &b->c->rows[i];
        int moves = 0;
        for (int k = 0; k < row->n && !moves; k++) {
            const perp__entry *e = &b->c->entry[row->first + k];
            moves = e->J[0] != 0 || e->J[1] != 0 || e->J[2] != 0;
        }
        if (!moves && q[3 * i] < 0) return 1;
    }
    return 0;
}

/* Impulses, and what they add to the velocities. Where laws of joints are on pieces there may be no
 * solution: then it is not looked for for long. */
static perp_status touch_and_go(perp_bodies *b, perp_bodies_info *info)
{
    enum { BRIEF = 30, STILL = 300, MANY = 3000 };
    if (!perp__bodies_state_contacts(b, b->joints->loose)) return PERP_ERR_MEMORY;
    if (perp__joints_pieces(b) && is_blocked(b)) {
        info->outcome = PERP_LIMIT;
        info->contact_error = 1;
        return PERP_OK;
    }
    if (perp__rest_holds(b, info)) return PERP_OK;
    perp__fc_factors factors;
    if (!perp__bodies_state_blocks(b) || !perp__bodies_factor_contacts(b, &factors))
        return PERP_ERR_MEMORY;
    perp_fc problem = friction_problem(b);
    perp_fc_info solved = {.size = sizeof solved};
    if (!make_solver(b, &problem)) return PERP_ERR_MEMORY;
    perp_fc_solver_set_max_iter(b->solver, b->c->is_still           ? STILL
                                           : perp__joints_pieces(b) ? BRIEF
                                           : b->is_patient          ? 0
                                                                    : MANY);
    perp_status status = perp__fc_solve(b->solver, &problem, factors.start ? &factors : NULL,
                                        perp__contact_value(b, PERP__IMPULSE),
                                        perp__contact_value(b, PERP__U), &solved);
    if (status != PERP_OK) return status;
    info->outcome = solved.outcome;
    info->contact_error = solved.error;
    info->iterations += solved.iterations;
    b->work += solved.work;
    perp__bodies_take_impulses(b);
    if (solved.outcome == PERP_SOLVED) perp__rest_keep(b);
    return PERP_OK;
}

/* Limits are stated where they would be passed: without contacts first, then by what contacts and
 * others do. */
perp_status perp__bodies_act(perp_bodies *b, perp_bodies_info *info)
{
    size_t nv = (size_t)b->scene->nv;
    perp__equality_project(b, b->next);
    memcpy(b->joints->loose, b->next, nv * sizeof *b->next);
    perp__equality_begun(b);
    if (!perp__joints_state(b, b->next) || !perp__moments_state(b)) return PERP_ERR_MEMORY;
    b->c->n = perp__first_moment(b) + b->c->nmoment;
    b->c->nblock = 0;
    for (int added = b->c->n; added && info->outcome == PERP_SOLVED;) {
        perp_status status = touch_and_go(b, info);
        if (status != PERP_OK) return status;
        added = perp__joints_add_limits(b, b->next);
        if (added < 0) return PERP_ERR_MEMORY;
    }
    return PERP_OK;
}

/* Verdict -------------------------------------------------------------------------------------- */

/* Velocity of the second body's point less that of the first's, from the bodies' motions; the sum
 * of the |terms|. */
static double relative_velocity(const perp_bodies *b, const perp_contact *t, double *u)
{
    double terms = 0;
    memset(u, 0, 3 * sizeof *u);
    for (int side = 0; side < 2; side++) {
        int body = b->scene->shape[t->shape[side]].body;
        const perp__link *l = &b->link[body];
        double from[3], local[3], move[3];
        if (!body) continue;
        perp__move3(t->point, -1, l->p, from);
        perp__rotate_back3(l->R, from, local);
        perp__cross3(l->end, local, move);
        terms += perp__length3(move) + perp__length3(l->end + 3);
        perp__move3(move, 1, l->end + 3, local);
        perp__rotate3(l->R, local, move);
        perp__move3(u, side ? 1 : -1, move, u);
    }
    return terms;
}

/* The same of a joint's row. b->scale is that of Newton's law. */
static double law_difference(const perp_bodies *b, int i)
{
    const perp__law *law = &b->joints->row[i - b->ntouch];
    int d = 3 * i + (law->kind != PERP__LIMIT);
    double moves = law->tendon ? perp__tendon_rate(b, law->tendon, b->next) : b->next[law->at],
           move = law->J * moves,
           off = fabs(move + law->compliance * law->impulse + law->shift -
                      perp__contact_value(b, PERP__U)[d]);
    if (isnan(off)) return INFINITY;
    double terms =
        law->tendon ? perp__tendon_terms(b, law->tendon) : b->scale[law->at] * b->over[law->at];
    if (off <= PERP__KINEMATIC_ROUNDING * b->h * terms) return 0;
    return off / (perp__contact_value(b, PERP__SCALE)[d] + fabs(move));
}

/* Do the bodies move at their contacts and joints as the friction problem says? The largest
 * difference beside the sum of the |terms| of u = W r + q. */
static double contact_difference(perp_bodies *b)
{
    const double *u = perp__contact_value(b, PERP__U), *q = perp__contact_value(b, PERP__Q),
                 *shift = perp__contact_value(b, PERP__SHIFT);
    double worst = 0, *scale = perp__contact_value(b, PERP__SCALE);
    const double *impulse = perp__contact_value(b, PERP__IMPULSE);
    for (int i = 0; i < 3 * b->c->n; i++) scale[i] = fabs(q[i]) + 2 * fabs(shift[i]);
    for (int k = 0; k < b->c->nblock; k++) {
        const double *W = b->c->block + 9 * (size_t)k, *r = impulse + 3 * b->c->column[k];
        for (int d = 0; d < 3; d++)
            scale[3 * b->c->row[k] + d] +=
                fabs(W[3 * d] * r[0]) + fabs(W[3 * d + 1] * r[1]) + fabs(W[3 * d + 2] * r[2]);
    }
    perp__bodies_velocities(b, b->next);
    b->work += 9.0 * b->c->nblock + 57.0 * b->ntouch; /* the scales, motions of two bodies */
    for (int i = 0; i < b->ntouch; i++) {
        const perp_contact *t = &b->touch[i];
        const double *direction[3] = {t->normal, t->tangent[0], t->tangent[1]};
        double move[3], most = fmax(scale[3 * i], fmax(scale[3 * i + 1], scale[3 * i + 2]));
        double rounding = PERP__KINEMATIC_ROUNDING * relative_velocity(b, t, move);
        for (int d = 0; d < 3; d++) {
            double off = fabs(perp__dot3(direction[d], move) + shift[3 * i + d] - u[3 * i + d]);
            if (isnan(off)) return INFINITY;
            if (off > rounding) worst = fmax(worst, off / most);
        }
    }
    for (int i = 0; i < b->joints->nrow; i++) worst = fmax(worst, law_difference(b, b->ntouch + i));
    return fmax(worst, perp__moments_difference(b));
}

/* Contact forces on the bodies: the moment about the origin of each, the force. */
static void load_bodies(perp_bodies *b)
{
    perp__pushes_load(b);
    for (int i = 0; i < b->ntouch; i++) {
        const perp_contact *t = &b->touch[i];
        double force[3] = {0}, from[3], moment[3];
        perp__move3(force, t->impulse[0] / b->h, t->normal, force);
        for (int k = 0; k < 2; k++)
            perp__move3(force, t->impulse[1 + k] / b->h, t->tangent[k], force);
        double turn[3] = {0};
        for (int k = 0; k < 3 && (t->torsional_friction > 0 || t->rolling_friction > 0); k++)
            perp__move3(turn, t->moment[k] / b->h, k ? t->tangent[k - 1] : t->normal, turn);
        for (int side = 0; side < 2; side++) {
            int body = b->scene->shape[t->shape[side]].body;
            double *load = b->load + 6 * body;
            if (!body) continue;
            perp__move3(t->point, -1, b->link[body].p, from);
            perp__cross3(from, force, moment);
            perp__move3(moment, 1, turn, moment);
            perp__move3(load, side ? 1 : -1, moment, load);
            perp__move3(load + 3, side ? 1 : -1, force, load + 3);
        }
    }
}

/* The motion of a body over the step, by lengths. rate: steps a second, fall: the length of
 * gravity. */
static perp__lengths net_lengths(const perp__link *l, double rate, double fall)
{
    double spin = perp__length3(l->vel), speed = perp__length3(l->vel + 3);
    return (perp__lengths){spin, speed, 2 * spin * rate + perp__length3(l->acc),
                           2 * speed * rate + perp__length3(l->acc + 3) + 2 * spin * speed + fall,
                           0};
}

/* The same as the sum of the |terms| that the joints on the way to it add, from that of its parent:
 * what cancels on the way is rounded, too. */
static perp__lengths summed_lengths(const perp_bodies *b, const perp__link *l, perp__lengths x)
{
    double reach = perp__length3(l->r), rate = 1 / b->h, spin = 0, speed = 0, turn = 0, push = 0;
    for (int k = 0; k < l->nv; k++) {
        double before = fabs(b->v[l->v + k]), after = fabs(b->next[l->v + k]);
        *(l->is_shift[k] ? &speed : &spin) += fmax(before, after);
        *(l->is_shift[k] ? &push : &turn) += (before + after) * rate;
    }
    x.push += reach * x.turn + push;
    x.turn += turn;
    x.speed += reach * x.spin + speed;
    x.spin += spin;
    x.turn += x.spin * spin;
    x.push += 2 * x.spin * x.speed + x.spin * speed + x.speed * spin;
    return x;
}

/* Add the |terms| of Newton's and Euler's law of a body over the step, (moments, forces): momentum
 * at both ends, forces of the motion, gravity. */
static void term_sizes(const perp__link *l, const perp__lengths *x, double size[2])
{
    double m = l->own.m, h = l->lever, I = l->own.I[0] + l->own.I[1] + l->own.I[2];
    size[0] += I * x->turn + h * x->push + x->spin * (I * x->spin + 2 * h * x->speed);
    size[1] += m * x->push + h * x->turn + x->spin * (m * x->speed + h * x->spin);
}

static void contact_sizes(const perp_bodies *b, double (*size)[2])
{
    for (int i = 0; i < b->ntouch; i++) {
        const perp_contact *t = &b->touch[i];
        double force = perp__length3(t->impulse) / b->h, turn = perp__length3(t->moment) / b->h;
        for (int side = 0; side < 2; side++) {
            int body = b->scene->shape[t->shape[side]].body;
            double from[3];
            if (!body) continue;
            perp__move3(t->point, -1, b->link[body].p, from);
            size[body][0] += perp__length3(from) * force + turn;
            size[body][1] += force;
        }
    }
}

/* Of each velocity's row the sum of its |terms|, with bodies that move by b->lengths under the
 * loads in b->size. */
static void sum_rows(perp_bodies *b, double *row)
{
    double(*sum)[2] = b->sum, rate = 1 / b->h;
    memcpy(sum, b->size, (size_t)b->scene->n * sizeof *sum);
    for (int i = 1; i < b->scene->n; i++) term_sizes(&b->link[i], &b->lengths[i], sum[i]);
    for (int i = b->scene->n - 1; i > 0; i--) {
        const perp__link *l = &b->link[i];
        for (int k = 0; k < l->nv; k++) {
            int at = l->v + k;
            double momentum = (fabs(b->next[at]) + fabs(b->v[at])) * rate;
            row[at] = sum[i][l->is_shift[k]] + b->joints->size[at] + l->is.armature * momentum;
        }
        if (!l->is.parent) continue;
        sum[l->is.parent][0] += sum[i][0] + perp__length3(l->r) * sum[i][1];
        sum[l->is.parent][1] += sum[i][1];
    }
}

/* In b->scale: what each row of Newton's law is judged beside. */
static void scale_rows(perp_bodies *b)
{
    double fall = perp__length3(b->gravity);
    contact_sizes(b, b->size);
    perp__pushes_size(b, b->size);
    for (int i = 1; i < b->scene->n; i++) b->lengths[i] = net_lengths(&b->link[i], 1 / b->h, fall);
    sum_rows(b, b->scale);
}

/* In b->rounding: by what rounding may move each row, an ulp or two of its |terms| a link. */
static void round_rows(perp_bodies *b)
{
    perp__lengths *lengths = b->lengths;
    lengths[0] = (perp__lengths){.push = perp__length3(b->gravity)};
    for (int i = 1; i < b->scene->n; i++) {
        lengths[i] = summed_lengths(b, &b->link[i], lengths[b->link[i].is.parent]);
        lengths[i].links++;
    }
    sum_rows(b, b->rounding);
    for (int i = b->scene->n - 1; i > 0; i--) {
        const perp__link *l = &b->link[i];
        for (int k = l->v; k < l->v + l->nv; k++)
            b->rounding[k] *= PERP_ROUNDING * lengths[i].links;
        if (l->is.parent && lengths[i].links > lengths[l->is.parent].links)
            lengths[l->is.parent].links = lengths[i].links;
    }
}

/* The largest of b->row beside b->scale: as it is, or what of it is beyond rounding. What has
 * come to rest ends in numbers that have no digits. */
static double worst_row(const perp_bodies *b, int beyond_rounding)
{
    double worst = 0;
    for (int k = 0; k < b->scene->nv; k++) {
        double off = fabs(b->row[k]) - (beyond_rounding ? b->rounding[k] : 0);
        if (off > DBL_MIN) worst = fmax(worst, off / b->scale[k]);
    }
    return worst;
}

/* Newton's law over the step by inverse dynamics: the largest row beside the sum of its |terms|; in
 * b->row by what each is off. Where dry friction holds it is whatever the law asks for;
 * perp__joints_amend looks whether it may be. */
static double newton_difference(perp_bodies *b)
{
    double worst = 0;
    for (int k = 0; k < b->scene->nv; k++) b->acc[k] = (b->next[k] - b->v[k]) / b->h;
    for (int k = 0; k < b->scene->nv && perp__is_midpoint(b); k++)
        b->mean[k] = 0.5 * (b->v[k] + b->next[k]);
    if (perp__is_midpoint(b)) perp__bodies_carry(b, b->mean);
    load_bodies(b);
    memset(b->size, 0, (size_t)b->scene->n * sizeof *b->size);
    perp__joints_judge(b, b->next);
    perp__equality_load(b, b->size);
    perp__bodies_inverse(b, b->acc, b->load, b->row);
    scale_rows(b);
    for (int k = 0; k < b->scene->nv; k++) {
        double off = b->row[k] - b->joints->force[k];
        if (isnan(off)) return INFINITY;
        b->row[k] = 0;
        if (perp__joints_hold(b, k)) {
            b->joints->hold[k] = off;
            continue;
        }
        b->row[k] = off;
    }
    worst = worst_row(b, 0);
    if (worst > b->scene->o.tol) { /* first what is cheap and sure */
        round_rows(b);
        worst = worst_row(b, 1);
    }
    perp__equality_share(b);
    return fmax(worst, perp__joints_excess(b));
}

static int is_verified(const perp_bodies *b, const perp_bodies_info *info)
{
    return info->outcome == PERP_SOLVED && info->contact_error <= b->scene->o.tol &&
           info->newton_error <= b->scene->o.tol;
}

/* By how much Newton's law alone is off. */
static double judge(perp_bodies *b, perp_bodies_info *info)
{
    double off = newton_difference(b);
    info->newton_error = fmax(off, contact_difference(b));
    info->newton_error = fmax(info->newton_error, perp__equality_difference(b, b->next));
    return off;
}

static perp_status refuse(const perp_bodies *b, perp_bodies_info *info, perp_diag *diag)
{
    if (info->outcome == PERP_SOLVED) info->outcome = PERP_LIMIT;
    return perp__refuse(
        diag, PERP_ERR_NO_SOLUTION, perp__in(NULL),
        "step %ld, t = %g s: not verified: %d contacts hold to %.2g, Newton's law to "
        "%.2g, %.2g is asked for\n",
        b->steps + 1, b->time, b->ntouch, info->contact_error, info->newton_error, b->scene->o.tol);
}

/* An answer from the velocities in `drift`, judged; by how much Newton's law alone is off. */
static perp_status answer(perp_bodies *b, double *off, perp_bodies_info *info)
{
    memcpy(b->next, b->drift, (size_t)b->scene->nv * sizeof *b->next);
    perp_status status = perp__equality_state(b) ? perp__bodies_act(b, info) : PERP_ERR_MEMORY;
    if (status == PERP_OK) *off = judge(b, info);
    return status;
}

/* The midpoint rule's bias is that of the answer: the step is repeated with the last one's, as long
 * as that reduces the residual. The remainder adds up over steps. Without contacts, when a motion
 * keeps its energy, it must be nearly 0. */
static int is_to_repeat(const perp_bodies *b, double off, double before,
                        const perp_bodies_info *info)
{
    const double NOTHING = 1e-6;
    return perp__is_midpoint(b) && info->outcome == PERP_SOLVED &&
           off > (b->c->n ? PERP__CLOSER : NOTHING) * b->scene->o.tol && off < 0.5 * before;
}

/* With each law of a joint on one of its pieces, then with those as rows that the answer
 * contradicts; if it does not hold, with all. */
static perp_status settle(perp_bodies *b, perp_bodies_info *info)
{
    double before = INFINITY, off = INFINITY;
    perp__bodies_carry(b, b->mean);
    perp__joints_place(b);
    perp__bodies_inverse(b, NULL, perp__pushes(b), b->bias);
    perp__joints_guess(b);
    b->c->is_again = 0;
    for (int amended = 1, again = 0; amended || again;) {
        info->outcome = PERP_SOLVED;
        if (again)
            bend(b);
        else if (!move_freely(b)) {
            info->outcome = PERP_LIMIT;
            return PERP_OK;
        }
        perp_status status = answer(b, &off, info);
        if (status != PERP_OK) return status;
        amended = info->outcome == PERP_SOLVED ? perp__joints_amend(b, b->next, 0) : 0;
        again = b->c->is_again = !amended && is_to_repeat(b, off, before, info);
        before = again ? off : (double)INFINITY;
        if (!amended && !again && !is_verified(b, info))
            amended = perp__joints_amend(b, b->next, 1);
    }
    return PERP_OK;
}

/* The touches of the last step, and memory for the next ones. */
static void keep_touches(perp_bodies *b)
{
    perp_contact *touch = b->before;
    int capacity = b->cbefore;
    b->before = b->touch;
    b->cbefore = b->ctouch;
    b->nbefore = b->ntouch;
    b->touch = touch;
    b->ctouch = capacity;
}

static perp_status refuse_overlap(const perp_bodies *b, const perp_contact *t,
                                  perp_bodies_info *info, perp_diag *diag)
{
    info->outcome = PERP_LIMIT;
    return perp__refuse(
        diag, PERP_ERR_NO_SOLUTION, perp__in(NULL),
        "step %ld, t = %g s: not verified: at its end shapes %d and %d (from 0) overlap "
        "by %.3g m, and cannot be moved apart\n",
        b->steps + 1, b->time, t->shape[0], t->shape[1], -t->gap);
}

static perp_status refuse_correction(const perp_bodies *b, double penetration,
                                     perp_bodies_info *info, perp_diag *diag)
{
    info->outcome = PERP_LIMIT;
    return perp__refuse(diag, PERP_ERR_NO_SOLUTION, perp__in(NULL),
                        "step %ld, t = %g s: not verified: taking back a penetration of %.3g m "
                        "would move a body by more than %d times as much\n",
                        b->steps + 1, b->time, penetration, PERP__LEVER);
}

/* Where the next step's forces act. */
static void put_here(perp_bodies *b, double half)
{
    b->half = half;
    if (!perp__is_midpoint(b)) return;
    memcpy(b->here, b->q, (size_t)b->scene->nq * sizeof *b->q);
    perp__bodies_move(b, b->v, half, b->here);
}

/* Velocities halfway, as if they changed as in the last step. */
static void guess_mean(perp_bodies *b)
{
    const double *last = b->is_stepped ? b->last + b->scene->nq : b->v;
    for (int k = 0; k < b->scene->nv && perp__is_midpoint(b); k++)
        b->mean[k] = b->v[k] + 0.5 * (b->v[k] - last[k]);
}

/* A step that takes a shape through another may be made up to b->impact. */
static perp_status refuse_crossing(perp_bodies *b, const int *shape, perp_bodies_info *info,
                                   perp_diag *diag)
{
    info->outcome = PERP_LIMIT;
    b->is_crossed = 1;
    return perp__refuse(diag, PERP_ERR_NO_SOLUTION, perp__in(NULL),
                        "step %ld, t = %g s: not verified: %.3g s later shapes %d and %d (from 0) "
                        "would pass through each other\n",
                        b->steps + 1, b->time, b->impact, shape[0], shape[1]);
}

/* Does the step in hand take no shape through another? */
static perp_status look_along(perp_bodies *b, perp_bodies_info *info, perp_diag *diag)
{
    int shape[2], clear = perp__step_is_clear(b, &b->impact, shape);
    if (clear < 0) return perp__out_of_memory(diag, "bodies");
    return clear ? PERP_OK : refuse_crossing(b, shape, info, diag);
}

/* Contacts of the state: where the next step's forces act. Of the midpoint rule no shape passes
 * another on the way there. */
static perp_status look_from(perp_bodies *b, perp_bodies_info *info, perp_diag *diag)
{
    int shape[2], clear = 1;
    keep_touches(b);
    if (perp__is_midpoint(b)) clear = perp__way_is_clear(b, 0.5 * b->h, &b->impact, shape);
    if (clear < 0) return perp__out_of_memory(diag, "bodies");
    b->impact *= 2; /* half of the step goes there */
    if (!clear) return refuse_crossing(b, shape, info, diag);
    put_here(b, 0.5 * b->h);
    perp__bodies_place(b, b->here);
    return perp__bodies_find_touches(b) ? PERP_OK : perp__out_of_memory(diag, "bodies");
}

/* The contacts that the last step found ahead. */
static perp_status find_again(perp_bodies *b, perp_diag *diag)
{
    double work = b->work; /* it was counted then */
    perp__bodies_place(b, b->here);
    int ok = perp__bodies_find_touches(b);
    b->work = work;
    return ok ? PERP_OK : perp__out_of_memory(diag, "bodies");
}

/* To the end of the step, or of a part of it. Its end looks as far ahead as a whole one reaches. */
static perp_status go_on(perp_bodies *b, perp_bodies_info *info, perp_diag *diag)
{
    size_t nq = (size_t)b->scene->nq, nv = (size_t)b->scene->nv;
    double h = b->h;
    double moved_for = 0;
    int worst;
    memcpy(b->last, b->q, nq * sizeof *b->q);
    memcpy(b->last + nq, b->v, nv * sizeof *b->v);
    perp__joints_keep(b, b->next);
    perp__bodies_move(b, perp__is_midpoint(b) ? b->mean : b->next, b->h, b->q);
    memcpy(b->v, b->next, nv * sizeof *b->v);
    b->h = b->scene->o.step;
    int pair[2], clear = 1;
    double at;
    keep_touches(b);
    if (perp__is_midpoint(b)) clear = perp__way_is_clear(b, 0.5 * b->scene->o.step, &at, pair);
    put_here(b, clear > 0 ? 0.5 * b->scene->o.step : 0);
    perp_status status = clear < 0
                             ? PERP_ERR_MEMORY
                             : perp__bodies_look_ahead(b, &info->penetration, &moved_for, &worst);
    if (status == PERP_OK && worst >= 0)
        status = refuse_overlap(b, &b->touch[worst], info, diag);
    else if (status == PERP_OK && !perp__correction_is_small(b, h, moved_for))
        status = refuse_correction(b, moved_for, info, diag);
    else if (status != PERP_OK)
        status = perp__out_of_memory(diag, "bodies");
    b->is_stepped = status == PERP_OK;
    b->is_ahead = b->is_found = status == PERP_OK && clear;
    if (status == PERP_OK) {
        perp__activations_move(b, h);
        return status;
    }
    memcpy(b->q, b->last, nq * sizeof *b->q);
    memcpy(b->v, b->last + nq, nv * sizeof *b->v);
    return status;
}

/* From where the state is by b->h. */
static perp_status make_part(perp_bodies *b, perp_bodies_info *info, perp_diag *diag)
{
    *info = (perp_bodies_info){.step = b->steps + 1, .outcome = PERP_SOLVED, .substeps = 1};
    perp_status status = PERP_OK;
    b->is_crossed = 0;
    if (!b->is_ahead)
        status = look_from(b, info, diag);
    else if (!b->is_found)
        status = find_again(b, diag);
    else if (!b->is_placed)
        perp__bodies_place(b, b->here);
    if (status != PERP_OK) return status;
    guess_mean(b);
    b->is_ahead = b->is_stepped = 0;
    info->contacts = b->ntouch;
    status = settle(b, info);
    if (status == PERP_ERR_MEMORY) return perp__out_of_memory(diag, "bodies");
    if (status != PERP_OK) return status;
    if (!is_verified(b, info)) return refuse(b, info, diag);
    status = look_along(b, info, diag);
    if (status == PERP_OK && !perp__body_impacts_note(b, b->time + b->elapsed + b->h))
        return perp__out_of_memory(diag, "bodies");
    return status == PERP_OK ? go_on(b, info, diag) : status;
}

static void add_part(perp_bodies_info *all, const perp_bodies_info *part)
{
    all->outcome = part->outcome;
    all->contacts = part->contacts;
    all->penetration = part->penetration;
    all->contact_error = fmax(all->contact_error, part->contact_error);
    all->newton_error = fmax(all->newton_error, part->newton_error);
}

/* Impulses of the last part, as if the whole step had been like it. */
static void stretch_impulses(perp_bodies *b, double parts)
{
    for (int i = 0; i < b->nbefore; i++)
        for (int d = 0; d < 3; d++) {
            b->before[i].impulse[d] *= parts;
            b->before[i].moment[d] *= parts;
        }
    for (int k = 0; k < perp__joints_kept(b); k++) b->joints->kept[k] *= parts;
}

/* A part of the step, up to each impact that it would miss; *last: the length of the last piece. */
static perp_status make_pieces(perp_bodies *b, double length, double *last, perp_bodies_info *all,
                               perp_diag *diag)
{
    enum { MOST_PIECES = 64 };
    const double LEAST = 1e-9; /* of the step */
    double left = length, piece = length;
    int again = 0;
    for (int n = 0; left > LEAST * b->scene->o.step; n++) {
        perp_bodies_info info;
        if (perp__is_midpoint(b) && piece != b->scene->o.step)
            b->is_ahead = 0; /* another half way */
        b->h = piece;
        perp_status status = make_part(b, &info, diag);
        all->iterations += info.iterations;
        if (status == PERP_ERR_NO_SOLUTION && b->is_crossed && n < MOST_PIECES &&
            b->impact > LEAST * b->scene->o.step) {
            perp_diag_clear(diag);
            piece =
                again++ ? fmin(b->impact, 0.5 * piece) : b->impact; /* it moves with the piece */
            continue;
        }
        add_part(all, &info);
        if (status != PERP_OK) return status;
        *last = piece;
        all->substeps++;
        b->elapsed += piece;
        left -= piece;
        piece = left;
        again = 0;
    }
    return PERP_OK;
}

/* The step in parts, each verified; where one is not the state is what it was. */
static perp_status make_parts(perp_bodies *b, int parts, perp_bodies_info *info, perp_diag *diag)
{
    size_t nq = (size_t)b->scene->nq, nv = (size_t)b->scene->nv;
    double last = b->scene->o.step;
    perp_status status = PERP_OK;
    memcpy(b->begun, b->q, nq * sizeof *b->q);
    memcpy(b->begun + nq, b->v, nv * sizeof *b->v);
    perp__activations_keep(b);
    info->step = b->steps + 1;
    info->substeps = 0;
    b->elapsed = 0;
    for (int k = 0; k < parts && status == PERP_OK; k++)
        status = make_pieces(b, b->scene->o.step / parts, &last, info, diag);
    b->h = b->scene->o.step;
    if (info->substeps != 1) b->is_stepped = 0;
    if (status == PERP_OK) {
        if (info->substeps > 1) stretch_impulses(b, b->scene->o.step / last);
        return status;
    }
    b->is_ahead = 0;
    perp__body_impacts_go_back(b);
    memcpy(b->q, b->begun, nq * sizeof *b->q);
    memcpy(b->v, b->begun + nq, nv * sizeof *b->v);
    perp__activations_back(b);
    return status;
}

/* The whole step, in pieces if it would cross a contact. If it has no verified answer, which may
 * happen with many redundant contacts in stick and slip, in parts; then the whole with all the
 * iterations of the solver. */
perp_status perp_bodies_step(perp_bodies *b, perp_bodies_info *info, perp_diag *diag)
{
    enum { MOST_PARTS = 64 };
    perp_bodies_info again = {0};
    if (!b || !info || !PERP__FITS(info)) return PERP_ERR_ARG;
    *info = (perp_bodies_info){.size = info->size};
    b->work = 0;
    if (!perp__body_impacts_begin(b)) return perp__out_of_memory(diag, "bodies");
    perp_status status = make_parts(b, 1, info, diag);
    for (int parts = 2; status == PERP_ERR_NO_SOLUTION && parts <= 2 * MOST_PARTS; parts *= 2) {
        again = *info;
        again.contact_error = again.newton_error = 0;
        b->is_patient = parts > MOST_PARTS;
        status = make_parts(b, b->is_patient ? 1 : parts, &again, NULL);
        b->is_patient = 0;
        if (status == PERP_OK) *info = again;
        info->iterations = again.iterations;
    }
    info->work = b->work;
    if (status == PERP_ERR_MEMORY && again.step) return perp__out_of_memory(diag, "bodies");
    if (status == PERP_ERR_NO_SOLUTION) {
        if (info->outcome == PERP_SOLVED) info->outcome = PERP_LIMIT;
        return PERP_OK;
    }
    if (status != PERP_OK) return status;
    if (again.step) perp_diag_clear(diag);
    perp__body_impacts_end(b);
    b->steps++;
    info->time = b->time = b->origin + (double)(b->steps - b->since) * b->h;
    return status;
}
