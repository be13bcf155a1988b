/* What acts in joints on its own: limits, dry friction, springs, actuators. Linear parts go into
 * the matrix of the step; what has corners is a row of its friction problem. */

#include "bodies/joints.h"
#include "bodies/bodies.h"
#include "bodies/space.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int perp__is_limit(const perp_range *r)
{
    return !r->limited ||
           (r->lower <= r->upper && r->lower < (double)INFINITY && r->upper > -(double)INFINITY);
}

int perp__is_interval(const perp_range *r)
{
    return !r->limited || (isfinite(r->lower + r->upper) && r->lower < r->upper);
}

/* Description ---------------------------------------------------------------------------------- */

static const char *law_fault(const perp__link *l, const perp_joint_law *law)
{
    int has = law->range.limited, is_ball = l->is.joint == PERP_JOINT_BALL;
    if (!l->nv) return "it does not move in its parent";
    if (law->stiffness != 0 && !perp__is_single(l)) return "springs are of hinges and slides";
    if (has && !perp__is_single(l) && !is_ball) return "a free body has no limits";
    if (has && is_ball && !(law->range.lower == 0 && law->range.upper > 0))
        return "a ball's lower limit is 0, its upper limit > 0";
    if (!perp__is_limit(&law->range)) return "its lower limit must not be above the upper one";
    if (!(law->friction >= 0) || !isfinite(law->friction)) return "its friction is >= 0";
    if (!(law->stiffness >= 0) || !isfinite(law->stiffness) || !isfinite(law->rest))
        return "stiffness is >= 0, the spring's rest is finite";
    return NULL;
}

/* Of one that pushes a body. */
static const char *push_fault(const perp_actuator *a)
{
    if (a->kp != 0 || a->kv != 0 || a->kp_per_control != 0 || a->kv_per_control != 0 ||
        a->muscle.force != 0)
        return "an actuator that pushes it has kp = kv = 0 and is no muscle";
    for (int k = 0; k < 3; k++)
        if (!isfinite(a->point[k] + a->force[k] + a->moment[k]))
            return "its actuator's point, force or moment is not finite";
    return NULL;
}

static const char *actuator_fault(const perp__link *l, const perp_actuator *a)
{
    if (a->is_thruster && push_fault(a)) return push_fault(a);
    if (!a->is_thruster && !a->tendon && !perp__is_single(l))
        return "an actuator is of a hinge or a slide";
    return perp__drive_fault(a);
}

static perp_status refuse(const perp_bodies *b, int body, const char *fault, perp_diag *diag)
{
    const char *name = b->link[body].is.name;
    return perp__refuse(diag, PERP_ERR_MODEL, perp__in(NULL), "body %d%s%s: %s\n", body,
                        name ? " " : "", name ? name : "", fault);
}

/* A ball's turn as what a limit bounds, by rising bodies; 0: memory is out. */
static int add_turn(perp_bodies *b, int body)
{
    perp__joints *j = b->joints;
    int place = 0;
    while (place < j->nturn && j->turn[place].ball < body) place++;
    if (place < j->nturn && j->turn[place].ball == body) return 1;
    perp__strand turn = {.ball = body, .n = 3};
    PERP_TAKE(&b->arena, turn.at, 3);
    PERP_TAKE(&b->arena, turn.c, 3);
    if (!turn.at || !turn.c || !perp__strands_room(b) ||
        !perp__grow(&j->turn, &j->cturn, j->nturn + 1, sizeof *j->turn))
        return 0;
    for (int k = 0; k < 3; k++) turn.at[k] = b->link[body].v + k;
    for (int i = j->nturn++; i > place; i--) j->turn[i] = j->turn[i - 1];
    j->turn[place] = turn;
    return 1;
}

int perp__joints_turns(perp_bodies *b)
{
    for (int i = 1; i < b->scene->n; i++) {
        int is_turn = b->link[i].is.joint == PERP_JOINT_BALL && b->joints->law[i].range.limited;
        if (is_turn && !add_turn(b, i)) return 0;
    }
    return 1;
}

perp_status perp_bodies_set_joint(perp_bodies *b, int body, const perp_joint_law *law,
                                  perp_diag *diag)
{
    if (!b || !law || body < 1 || body >= b->scene->n) return PERP_ERR_ARG;
    const char *fault = law_fault(&b->link[body], law);
    if (fault) return refuse(b, body, fault, diag);
    int is_turn = b->link[body].is.joint == PERP_JOINT_BALL && law->range.limited;
    if (is_turn && !add_turn(b, body)) return perp__out_of_memory(diag, "bodies");
    b->joints->law[body] = *law;
    b->settings = 0;
    return PERP_OK;
}

int perp__joints_kept(const perp_bodies *b)
{
    return 3 * b->scene->nv + b->joints->nu + PERP__OF_TENDON * b->joints->ntendon;
}

/* For nu actuators. */
static int make_room(perp__joints *j, int nu, int kept, int nv)
{
    return perp__grow(&j->actuator, &j->cactuator, nu, sizeof *j->actuator) &&
           perp__grow(&j->control, &j->ccontrol, nu, sizeof *j->control) &&
           perp__grow(&j->drive, &j->cdrive, nu, sizeof *j->drive) &&
           perp__grow(&j->act, &j->cact, 2 * nu, sizeof *j->act) &&
           perp__grow(&j->start, &j->cstart, 2 * nu, sizeof *j->start) &&
           perp__grow(&j->pull, &j->cpull, nu, sizeof *j->pull) &&
           perp__grow(&j->kept, &j->ckept, kept, sizeof *j->kept) &&
           perp__grow(&j->guess, &j->cguess, nv + nu, sizeof *j->guess);
}

int perp__joints_create(perp_bodies *b)
{
    perp__arena *a = &b->arena;
    int n = b->scene->n, nv = b->scene->nv;
    perp__joints *j;
    PERP_TAKE(a, j, 1);
    if (!j) return 0;
    b->joints = j;
    PERP_TAKE(a, j->law, n);
    PERP_TAKE(a, j->implicit, nv + 1);
    PERP_TAKE(a, j->push, nv + 1);
    PERP_TAKE(a, j->loose, nv + 1);
    PERP_TAKE(a, j->force, nv + 1);
    PERP_TAKE(a, j->size, nv + 1);
    PERP_TAKE(a, j->hold, nv + 1);
    PERP_TAKE(a, j->late, nv + 1);
    if (a->failed || !make_room(j, 0, 3 * nv + 1, nv + 1)) return 0;
    memset(j->kept, 0, (size_t)(3 * nv + 1) * sizeof *j->kept);
    memset(j->guess, 0, (size_t)(nv + 1) * sizeof *j->guess);
    for (int k = 0; k < nv; k++) j->late[k] = 1;
    return 1;
}

static int copy_tendons(perp_bodies *b, const perp__joints *from)
{
    perp__joints *j = b->joints;
    if (!perp__grow(&j->tendon, &j->ctendon, from->ntendon, sizeof *j->tendon) ||
        !perp__grow(&j->strand, &j->cstrand, from->ntendon, sizeof *j->strand))
        return 0;
    for (int i = 0; i < from->ntendon; i++) {
        if (!perp__strand_copy(b, &from->strand[i], &j->strand[i])) return 0;
        j->tendon[i] = from->tendon[i];
        j->ntendon++;
    }
    return 1;
}

int perp__joints_copy(perp_bodies *b, const perp_bodies *from)
{
    perp__joints *j = b->joints;
    const perp__joints *old = from->joints;
    size_t nu = (size_t)old->nu;
    memcpy(j->law, old->law, (size_t)b->scene->n * sizeof *j->law);
    if (!copy_tendons(b, old) || !perp__joints_turns(b) ||
        !make_room(j, old->nu, perp__joints_kept(from), b->scene->nv))
        return 0;
    j->nu = old->nu;
    if (!nu) return 1;
    memcpy(j->actuator, old->actuator, nu * sizeof *j->actuator);
    memcpy(j->start, old->start, 2 * nu * sizeof *j->start);
    memset(j->pull, 0, nu * sizeof *j->pull);
    return 1;
}

perp_status perp_bodies_add_actuator(perp_bodies *b, const perp_actuator *actuator, perp_diag *diag)
{
    if (!b || !actuator || !perp__scene_grows(b->scene, diag)) return PERP_ERR_ARG;
    perp__joints *j = b->joints;
    int tendon = actuator->tendon, need = j->nu + 1;
    if (tendon < 0 || tendon > j->ntendon || (tendon && actuator->is_thruster)) return PERP_ERR_ARG;
    int body = tendon ? b->scene->body_of[j->strand[tendon - 1].at[0]] : actuator->body;
    if (body < 1 || body >= b->scene->n) return PERP_ERR_ARG;
    const char *fault = actuator_fault(&b->link[body], actuator);
    if (fault) return refuse(b, body, fault, diag);
    if (!make_room(j, need, perp__joints_kept(b) + 1, b->scene->nv))
        return perp__out_of_memory(diag, "bodies");
    j->actuator[j->nu] = *actuator;
    j->actuator[j->nu].body = body;
    j->control[j->nu] = j->drive[j->nu] = 0;
    j->act[j->nu] = perp__within(0, &actuator->activation_range);
    j->start[2 * j->nu] = 0;
    j->start[2 * j->nu + 1] = j->act[j->nu];
    j->guess[b->scene->nv + j->nu] = (perp__guess){0};
    perp__scene_note(b->scene, &actuator->gear, 0, 1 + body + tendon);
    perp__scene_note(b->scene, &actuator->gear, 0, 1 + actuator->is_thruster);
    j->nu++;
    b->settings = 0;
    memset(j->kept + 3 * b->scene->nv, 0,
           (size_t)(perp__joints_kept(b) - 3 * b->scene->nv) * sizeof *j->kept);
    if (tendon) {
        b->equal->rows++;
        b->equal->soft++;
    }
    if (actuator->is_thruster) b->is_pushed = 1;
    return PERP_OK;
}

int perp_bodies_nu(const perp_bodies *b)
{
    return b->joints->nu;
}

perp_status perp_bodies_set_control(perp_bodies *b, const double *u)
{
    if (!b || (!u && b->joints->nu)) return PERP_ERR_ARG;
    for (int i = 0; i < b->joints->nu; i++)
        if (!isfinite(u[i])) return PERP_ERR_ARG;
    for (int i = 0; i < b->joints->nu; i++) b->joints->control[i] = u[i];
    return PERP_OK;
}

/* A step --------------------------------------------------------------------------------------- */

/* The point of the forces of a joint with velocity k, with v at the step's end: its velocity, and
 * its position relative to `here`. Euler's rule: v, h v. The midpoint rule takes the mean of both
 * ends, and with `late` the end for the stiff part. */
static double speed_at(const perp_bodies *b, int k, double v)
{
    double late = b->joints->late[k];
    return 0.5 * (1 + late) * v + 0.5 * (1 - late) * b->v[k];
}

static double move_at(const perp_bodies *b, int k, double v)
{
    double late = b->joints->late[k];
    return b->h * (0.25 * (1 + 3 * late) * v - 0.25 * (1 - late) * b->v[k]);
}

/* What these change by per unit of v. */
static double speed_slope(const perp_bodies *b, int k)
{
    return 0.5 * (1 + b->joints->late[k]);
}

static double move_slope(const perp_bodies *b, int k)
{
    return b->h * 0.25 * (1 + 3 * b->joints->late[k]);
}

double perp__turn_of(const double *q, double axis[3])
{
    double sine = perp__length3(q + 1), sign = q[0] < 0 ? -1 : 1;
    for (int k = 0; k < 3; k++) axis[k] = sine > 0 ? sign * q[1 + k] / sine : 0;
    return 2 * atan2(sine, fabs(q[0]));
}

static void set_pull(perp_bodies *b, int i)
{
    const perp_actuator *a = &b->joints->actuator[i];
    const perp__link *l = &b->link[a->body];
    perp__pull *pull = &b->joints->pull[i];
    const perp__line *line = &pull->line;
    pull->wanted = line->force;
    pull->slope = 0;
    if (a->tendon) {
        pull->wanted -= line->kp * a->gear * perp__tendon_length(b, a->tendon);
        pull->slope = line->kv + b->h * line->kp;
    } else if (!a->is_thruster) {
        pull->wanted -= line->kp * a->gear * (b->here[l->q] + move_at(b, l->v, 0));
        pull->wanted -= line->kv * a->gear * speed_at(b, l->v, 0);
        pull->slope = line->kv * speed_slope(b, l->v) + line->kp * move_slope(b, l->v);
    }
    pull->is_bounded = a->force_range.limited && pull->slope > 0;
}

/* The actuator's force at v+, without its bounds. */
static double unbounded(const perp_bodies *b, int i, const double *v)
{
    const perp_actuator *a = &b->joints->actuator[i];
    const perp__pull *pull = &b->joints->pull[i];
    double rate = a->tendon ? perp__tendon_rate(b, a->tendon, v) : v[b->link[a->body].v];
    return pull->wanted - pull->slope * a->gear * rate;
}

int perp__drive_is_soft(const perp_bodies *b, int i)
{
    const perp__pull *pull = &b->joints->pull[i];
    int is_held = !pull->is_bounded || b->joints->guess[b->scene->nv + i].is == PERP__HELD;
    return b->joints->actuator[i].tendon && pull->slope > 0 && is_held;
}

/* Pieces --------------------------------------------------------------------------------------- */

static perp__piece slides(double v)
{
    if (v > 0) return PERP__LOW;
    return v < 0 ? PERP__HIGH : PERP__HELD;
}

void perp__joints_forget(perp_bodies *b)
{
    perp__joints *j = b->joints;
    memset(j->guess, 0, (size_t)(b->scene->nv + j->nu) * sizeof *j->guess);
    for (int k = 0; k < b->scene->nv; k++) j->guess[k].next = (unsigned char)slides(b->v[k]);
}

void perp__joints_place(perp_bodies *b)
{
    perp__joints *j = b->joints;
    perp__tendons_place(b);
    for (int i = 0; i < j->nturn; i++) {
        perp__strand *s = &j->turn[i];
        s->length = perp__turn_of(b->here + b->link[s->ball].q, s->c);
    }
    for (int i = 0; i < j->nu; i++) j->pull[i].line = perp__drive_line(b, i);
}

void perp__joints_still(perp_bodies *b)
{
    perp__joints_place(b);
    for (int i = 0; i < b->joints->nu; i++) set_pull(b, i);
    for (int k = 0; k < b->scene->nv + b->joints->nu; k++) b->joints->guess[k].is = PERP__ROW;
    memcpy(b->up, b->scene->parent_of, (size_t)b->scene->nv * sizeof *b->up);
}

void perp__joints_guess(perp_bodies *b)
{
    perp__joints *j = b->joints;
    for (int k = 0; k < b->scene->nv + j->nu; k++) {
        perp__guess *guess = &j->guess[k];
        guess->is = guess->wait ? PERP__ROW : guess->next;
        guess->amended = 0;
        guess->wait = (unsigned char)(guess->wait - (guess->wait > 0));
    }
    for (int k = 0; k < b->scene->nv; k++) { /* a limit that pushes needs a velocity to push */
        const perp__link *l = &b->link[b->scene->body_of[k]];
        int is_ball = l->is.joint == PERP_JOINT_BALL, at = is_ball ? l->v : k;
        if (j->kept[3 * at] > 0 || j->kept[3 * at + 1] > 0) j->guess[k].is = PERP__ROW;
    }
}

/* Is the answer on the piece? For dry friction within the accuracy of the friction solver: if
 * contacts leave a joint no motion, the rest of it has no sign. */
static int is_on_piece(const perp_bodies *b, int k, const double *v)
{
    const perp__joints *j = b->joints;
    int i = k - b->scene->nv;
    perp__piece is = (perp__piece)j->guess[k].is;
    if (i < 0) {
        double near = PERP__CLOSER * b->scene->o.tol * b->scale[k],
               f = j->law[b->scene->body_of[k]].friction;
        if (is == PERP__HELD) return fabs(j->hold[k]) <= f + near;
        return (is == PERP__LOW ? v[k] : -v[k]) >= -near * b->h * b->over[k];
    }
    double force = unbounded(b, i, v), lower = j->actuator[i].force_range.lower,
           upper = j->actuator[i].force_range.upper;
    if (is == PERP__LOW) return force <= lower;
    return is == PERP__HIGH ? force >= upper : force >= lower && force <= upper;
}

static int is_piece(const perp_bodies *b, int k)
{
    const perp__joints *j = b->joints;
    if (j->guess[k].is == PERP__ROW) return 0;
    return k < b->scene->nv ? j->law[b->scene->body_of[k]].friction > 0
                            : j->pull[k - b->scene->nv].is_bounded;
}

int perp__joints_pieces(const perp_bodies *b)
{
    int n = 0;
    for (int k = 0; k < b->scene->nv + b->joints->nu; k++) n += is_piece(b, k);
    return n;
}

double perp__joints_excess(const perp_bodies *b)
{
    double worst = 0;
    for (int k = 0; k < b->scene->nv; k++) {
        double over = perp__joints_hold(b, k)
                          ? fabs(b->joints->hold[k]) - b->joints->law[b->scene->body_of[k]].friction
                          : 0;
        if (over > 0) worst = fmax(worst, over / b->scale[k]);
    }
    return worst;
}

int perp__joints_amend(perp_bodies *b, const double *v, int is_all)
{
    perp__joints *j = b->joints;
    int changed = 0;
    for (int k = 0; k < b->scene->nv + j->nu; k++) {
        if (!is_piece(b, k) || (!is_all && is_on_piece(b, k, v))) continue;
        j->guess[k].is = PERP__ROW;
        j->guess[k].amended = 1;
        changed++;
    }
    return changed;
}

/* Where a law ends. One that had to become a row and ends on the piece that was guessed stays a row
 * for twice as long as the last time. */
static void set_next(perp__guess *guess, perp__piece next)
{
    enum { MOST = 64 };
    if (guess->amended && guess->next == next)
        guess->wait = guess->given =
            (unsigned char)(guess->given < MOST / 2 ? 2 * guess->given + 1 : MOST);
    else if (guess->is != PERP__ROW)
        guess->given = 0;
    guess->next = (unsigned char)next;
}

static perp__piece piece_of(double force, const perp_range *is)
{
    if (force <= is->lower) return PERP__LOW;
    return force >= is->upper ? PERP__HIGH : PERP__HELD;
}

/* Of dry friction, per unit of its bound. */
static double slide_of(int piece)
{
    return piece == PERP__LOW ? -1 : piece == PERP__HIGH;
}

static double constant_of(const perp_actuator *a, int piece)
{
    if (piece == PERP__LOW) return a->force_range.lower;
    return piece == PERP__HIGH ? a->force_range.upper
                               : 0.5 * (a->force_range.lower + a->force_range.upper);
}

/* An actuator's constant force, and its slope on the diagonal; of tendons those that have no slope
 * in this step. */
static void begin_drive(perp_bodies *b, int i)
{
    perp__joints *j = b->joints;
    const perp_actuator *a = &j->actuator[i];
    const perp__pull *pull = &j->pull[i];
    int at = b->link[a->body].v, piece = j->guess[b->scene->nv + i].is;
    double force = pull->wanted;
    if (pull->is_bounded && piece != PERP__HELD)
        force = constant_of(a, piece);
    else if (!pull->is_bounded)
        force = perp__within(force, &a->force_range);
    if (!pull->is_bounded || piece == PERP__HELD)
        j->implicit[at] += b->h * a->gear * a->gear * pull->slope;
    if (a->tendon)
        perp__tendon_pull(b, a->tendon, a->gear * force, j->push);
    else
        j->push[at] += a->gear * force;
}

/* Of the midpoint rule: s/(1 + s), where s is what the joint's forces add to its mass by Euler's
 * rule, beside that. It goes with h, so that the order stays 2, and where s is large the step is
 * Euler's: nothing rings. */
static void set_late(perp_bodies *b)
{
    perp__joints *j = b->joints;
    double h = b->h, *s = j->late;
    for (int i = 1; i < b->scene->n; i++) {
        const perp__link *l = &b->link[i];
        for (int k = l->v; k < l->v + l->nv; k++) s[k] = h * l->is.damping;
        if (j->law[i].stiffness != 0) s[l->v] += h * h * j->law[i].stiffness;
    }
    for (int i = 0; i < j->nu; i++) {
        const perp_actuator *a = &j->actuator[i];
        if (a->tendon || a->is_thruster) continue;
        const perp__line *line = &j->pull[i].line;
        s[b->link[a->body].v] += h * a->gear * a->gear * (line->kv + h * line->kp);
    }
    for (int k = 0; k < b->scene->nv; k++) s[k] /= s[k] + b->M[perp__mass_entry(b, k, k)];
}

void perp__joints_begin(perp_bodies *b)
{
    perp__joints *j = b->joints;
    double h = b->h;
    if (perp__is_midpoint(b)) set_late(b);
    for (int i = 0; i < j->nu; i++) set_pull(b, i);
    for (int i = 1; i < b->scene->n; i++) {
        const perp__link *l = &b->link[i];
        const perp_joint_law *law = &j->law[i];
        for (int k = l->v; k < l->v + l->nv; k++) {
            j->implicit[k] = h * l->is.damping * speed_slope(b, k);
            j->push[k] = b->tau[k] - l->is.damping * speed_at(b, k, 0);
            if (law->friction > 0) j->push[k] += slide_of(j->guess[k].is) * law->friction;
        }
        if (law->stiffness == 0) continue;
        j->implicit[l->v] += h * move_slope(b, l->v) * law->stiffness;
        j->push[l->v] -= law->stiffness * (b->here[l->q] + move_at(b, l->v, 0) - law->rest);
    }
    for (int i = 0; i < j->nu; i++)
        if (!j->actuator[i].is_thruster && !perp__drive_is_soft(b, i)) begin_drive(b, i);
}

double perp__push_force(const perp_bodies *b, int i)
{
    const perp_actuator *a = &b->joints->actuator[i];
    return a->gear * perp__within(b->joints->pull[i].line.force, &a->force_range);
}

int perp__joints_add_row(perp_bodies *b, perp__law row)
{
    perp__joints *j = b->joints;
    if (!perp__grow(&j->row, &j->crow, j->nrow + 1, sizeof *j->row)) return 0;
    row.impulse = b->c->is_still ? 0 : j->kept[row.kept];
    if (row.kind != PERP__LIMIT) row.impulse = fmin(fmax(row.impulse, -row.bound), row.bound);
    j->row[j->nrow++] = row;
    return 1;
}

int perp__joints_is_stated(const perp__joints *j, int kept)
{
    for (int i = 0; i < j->nrow; i++)
        if (j->row[i].kept == kept) return 1;
    return 0;
}

/* A ball turns by no more than its limit, about the axis that it is turned about where the step
 * begins. */
static int add_turn_limits(perp_bodies *b, const double *v)
{
    int added = 0;
    for (int i = 0; i < b->joints->nturn; i++) {
        const perp__strand *s = &b->joints->turn[i];
        const perp_range *range = &b->joints->law[s->ball].range;
        double gap = range->upper - s->length;
        int at = s->at[0], kept = 3 * at + 1;
        if (!range->limited || !(gap / b->h - perp__tendon_rate(b, -i - 1, v) < 0) ||
            perp__joints_is_stated(b->joints, kept))
            continue;
        perp__law row = {.kind = PERP__LIMIT,
                         .body = s->ball,
                         .at = at,
                         .tendon = -i - 1,
                         .kept = kept,
                         .J = -1,
                         .shift = gap / b->h};
        if (!perp__joints_add_row(b, row)) return -1;
        added++;
    }
    return added;
}

int perp__joints_add_limits(perp_bodies *b, const double *v)
{
    perp__joints *j = b->joints;
    int added = 0;
    for (int i = 1; i < b->scene->n; i++) {
        const perp__link *l = &b->link[i];
        const perp_joint_law *law = &j->law[i];
        if (!law->range.limited || !perp__is_single(l)) continue;
        for (int side = 0; side < 2; side++) {
            double sign = side ? -1 : 1,
                   gap = sign * (b->here[l->q] - (side ? law->range.upper : law->range.lower));
            if (!(gap / b->h + sign * v[l->v] < 0) || perp__joints_is_stated(j, 3 * l->v + side))
                continue;
            perp__law row = {.kind = PERP__LIMIT,
                             .body = i,
                             .at = l->v,
                             .kept = 3 * l->v + side,
                             .J = sign,
                             .shift = gap / b->h};
            if (!perp__joints_add_row(b, row)) return -1;
            added++;
        }
    }
    int more = perp__tendons_limits(b, v), turns = more < 0 ? -1 : add_turn_limits(b, v);
    return turns < 0 ? -1 : added + more + turns;
}

/* With r = h (force - mean): 0 = u = J v + (mean - wanted + r/h)/slope where the force is within
 * its bounds. */
static int add_drive(perp_bodies *b, int i)
{
    const perp_actuator *a = &b->joints->actuator[i];
    const perp__pull *pull = &b->joints->pull[i];
    double s = pull->slope, h = b->h, mean = 0.5 * (a->force_range.lower + a->force_range.upper);
    perp__law row = {.kind = PERP__DRIVE,
                     .body = a->body,
                     .at = b->link[a->body].v,
                     .tendon = a->tendon,
                     .kept = 3 * b->scene->nv + i,
                     .J = a->gear,
                     .shift = (mean - pull->wanted) / s,
                     .bound = 0.5 * h * (a->force_range.upper - a->force_range.lower),
                     .compliance = 1 / (h * s)};
    return perp__joints_add_row(b, row);
}

int perp__joints_state(perp_bodies *b, const double *v)
{
    perp__joints *j = b->joints;
    j->nrow = 0;
    for (int i = 1; i < b->scene->n && !b->c->is_still; i++) {
        const perp__link *l = &b->link[i];
        for (int k = l->v; k < l->v + l->nv && j->law[i].friction > 0; k++)
            if (j->guess[k].is == PERP__ROW &&
                !perp__joints_add_row(b, (perp__law){.kind = PERP__DRY,
                                                     .body = i,
                                                     .at = k,
                                                     .kept = 3 * k + 2,
                                                     .J = 1,
                                                     .bound = b->h * j->law[i].friction}))
                return 0;
    }
    for (int i = 0; i < j->nu && !b->c->is_still; i++)
        if (j->pull[i].is_bounded && j->guess[b->scene->nv + i].is == PERP__ROW && !add_drive(b, i))
            return 0;
    if (!b->c->is_still && !perp__tendons_dry(b)) return 0;
    return perp__joints_add_limits(b, v) >= 0;
}

/* The impulse of dry friction that is no row. */
static double dry_impulse(const perp_bodies *b, int k, double friction)
{
    const perp__joints *j = b->joints;
    double force = j->guess[k].is == PERP__HELD ? fmin(fmax(j->hold[k], -friction), friction)
                                                : slide_of(j->guess[k].is) * friction;
    return b->h * force;
}

void perp__joints_keep(perp_bodies *b, const double *v)
{
    perp__joints *j = b->joints;
    const int nv = b->scene->nv, *body_of = b->scene->body_of;
    double h = b->h;
    memset(j->kept, 0, (size_t)perp__joints_kept(b) * sizeof *j->kept);
    for (int i = 0; i < j->nrow; i++) j->kept[j->row[i].kept] = j->row[i].impulse;
    for (int k = 0; k < nv; k++) {
        double f = j->law[body_of[k]].friction, *impulse = &j->kept[3 * k + 2];
        if (!(f > 0)) continue;
        if (j->guess[k].is != PERP__ROW) *impulse = dry_impulse(b, k, f);
        set_next(&j->guess[k], piece_of(*impulse, &(perp_range){1, -h * f, h * f}));
    }
    for (int i = 0; i < j->nu; i++) {
        const perp_actuator *a = &j->actuator[i];
        if (!j->pull[i].is_bounded) continue;
        set_next(&j->guess[nv + i], piece_of(unbounded(b, i, v), &a->force_range));
        if (j->guess[nv + i].is != PERP__ROW)
            j->kept[3 * nv + i] =
                h * (j->drive[i] - 0.5 * (a->force_range.lower + a->force_range.upper));
    }
}

/* Verdict -------------------------------------------------------------------------------------- */

static void judge_force(perp__joints *j, int at, double force)
{
    j->force[at] += force;
    j->size[at] += fabs(force);
}

static void judge_actuator(perp_bodies *b, int i, double x, double v)
{
    perp__joints *j = b->joints;
    const perp_actuator *a = &j->actuator[i];
    perp__line line = j->pull[i].line;
    if (a->muscle.force == 0) { /* again, by its definition */
        double u = a->activation ? perp__drive_input(b, i)
                                 : perp__within(j->control[i], &a->control_range);
        line.force = a->gain * u + a->bias;
        line.kp = a->kp + u * a->kp_per_control;
        line.kv = a->kv + u * a->kv_per_control;
        line.size = fabs(a->gain * u) + fabs(a->bias);
    }
    double force = line.force - line.kp * a->gear * x - line.kv * a->gear * v;
    double size =
        fabs(a->gear) * (line.size + fabs(line.kp * a->gear * x) + fabs(line.kv * a->gear * v));
    int at = b->link[a->body].v;
    j->drive[i] = perp__within(force, &a->force_range);
    if (a->is_thruster) return; /* it is one of the forces on bodies */
    if (a->tendon) {
        perp__tendon_judge_drive(b, a->tendon, a->gear * j->drive[i], size);
        return;
    }
    j->force[at] += a->gear * j->drive[i];
    j->size[at] += size;
}

void perp__joints_judge(perp_bodies *b, const double *v)
{
    perp__joints *j = b->joints;
    double h = b->h;
    for (int i = 1; i < b->scene->n; i++) {
        const perp__link *l = &b->link[i];
        double friction = j->law[i].friction;
        for (int k = l->v; k < l->v + l->nv; k++) {
            double damped = l->is.damping * speed_at(b, k, v[k]),
                   dry = friction > 0 ? slide_of(j->guess[k].is) * friction : 0;
            j->force[k] = b->tau[k] - damped + dry;
            j->size[k] = fabs(b->tau[k]) + fabs(damped) + fabs(dry);
        }
        if (j->law[i].stiffness == 0) continue;
        judge_force(j, l->v, -j->law[i].stiffness * (b->here[l->q] + move_at(b, l->v, v[l->v])));
        judge_force(j, l->v, j->law[i].stiffness * j->law[i].rest);
    }
    for (int i = 0; i < j->nu; i++) {
        const perp__link *l = &b->link[j->actuator[i].body];
        int tendon = j->actuator[i].tendon, is_single = !tendon && !j->actuator[i].is_thruster;
        double rate = tendon      ? perp__tendon_rate(b, tendon, v)
                      : is_single ? speed_at(b, l->v, v[l->v])
                                  : 0,
               x = tendon      ? perp__tendon_length(b, tendon) + h * rate
                   : is_single ? b->here[l->q] + move_at(b, l->v, v[l->v])
                               : 0;
        judge_actuator(b, i, x, rate);
    }
    perp__tendons_judge(b, v);
    for (int i = 0; i < j->nrow; i++) /* a drive's is known by its definition */
        if (j->row[i].kind != PERP__DRIVE)
            perp__law_judge(b, &j->row[i], j->row[i].J * j->row[i].impulse / h);
}

perp_status perp_bodies_joint_forces(const perp_bodies *b, double *limit, double *friction,
                                     double *actuator)
{
    if (!b) return PERP_ERR_ARG;
    const double *kept = b->joints->kept;
    for (int k = 0; k < b->scene->nv; k++) {
        if (limit) limit[k] = (kept[3 * k] - kept[3 * k + 1]) / b->h;
        if (friction) friction[k] = kept[3 * k + 2] / b->h;
    }
    for (int i = 0; i < b->joints->nu && actuator; i++) actuator[i] = b->joints->drive[i];
    return PERP_OK;
}

/* Snapshots ------------------------------------------------------------------------------------ */

static void pass_range(perp__pass *pass, perp_range *range)
{
    perp__pass_ints(pass, &range->limited, 1, INT_MIN, INT_MAX);
    perp__pass_doubles(pass, &range->lower, 1);
    perp__pass_doubles(pass, &range->upper, 1);
}

/* All of it but what it is of. */
static void pass_actuator(perp__pass *pass, perp_actuator *a)
{
    double *number[] = {&a->gear, &a->gain,           &a->bias,           &a->kp,     &a->kv,
                        &a->rise, &a->kp_per_control, &a->kv_per_control, &a->smooth, &a->fall};
    for (size_t k = 0; k < sizeof number / sizeof *number; k++)
        perp__pass_doubles(pass, number[k], 1);
    pass_range(pass, &a->force_range);
    pass_range(pass, &a->control_range);
    pass_range(pass, &a->activation_range);
    perp__pass_doubles(pass, a->point, 3);
    perp__pass_doubles(pass, a->force, 3);
    perp__pass_doubles(pass, a->moment, 3);
    perp__pass_bytes(pass, &a->muscle, sizeof a->muscle);
    perp__pass_ints(pass, (int *)&a->activation, 1, PERP_ACTIVATION_NONE, PERP_ACTIVATION_MUSCLE);
    perp__pass_ints(pass, &a->is_early, 1, INT_MIN, INT_MAX);
}

void perp__joints_pass_settings(perp_bodies *b, perp__pass *pass)
{
    perp__joints *j = b->joints;
    for (int i = 1; i < b->scene->n; i++) {
        perp_joint_law *law = &j->law[i];
        if (!b->link[i].nv) continue;
        pass_range(pass, &law->range);
        perp__pass_doubles(pass, &law->friction, 1);
        perp__pass_doubles(pass, &law->stiffness, 1);
        perp__pass_doubles(pass, &law->rest, 1);
    }
    for (int i = 0; i < j->nu; i++) pass_actuator(pass, &j->actuator[i]);
}

static void pass_row(const perp_bodies *b, perp__pass *pass, perp__law *law)
{
    const perp__joints *j = b->joints;
    double *number[] = {&law->J, &law->shift, &law->bound, &law->compliance, &law->impulse};
    perp__pass_ints(pass, (int *)&law->kind, 1, PERP__LIMIT, PERP__DRIVE);
    perp__pass_ints(pass, &law->body, 1, 1, b->scene->n - 1);
    perp__pass_ints(pass, &law->at, 1, 0, b->scene->nv - 1);
    perp__pass_ints(pass, &law->tendon, 1, -b->scene->n, j->ntendon);
    perp__pass_ints(pass, &law->kept, 1, 0, perp__joints_kept(b) - 1);
    for (size_t k = 0; k < sizeof number / sizeof *number; k++)
        perp__pass_doubles(pass, number[k], 1);
}

void perp__joints_pass(perp_bodies *b, perp__pass *pass)
{
    perp__joints *j = b->joints;
    int nrow = perp__pass_count(pass, j->nrow, sizeof(double));
    perp__pass_doubles(pass, j->control, (size_t)j->nu);
    perp__pass_doubles(pass, j->act, (size_t)j->nu);
    perp__pass_doubles(pass, j->drive, (size_t)j->nu);
    perp__pass_doubles(pass, j->kept, (size_t)perp__joints_kept(b));
    perp__pass_bytes(pass, j->guess, (size_t)(b->scene->nv + j->nu) * sizeof *j->guess);
    if (pass->mode == PERP__LOOK && !perp__grow(&j->row, &j->crow, nrow, sizeof *j->row)) {
        pass->is_full = 1;
        nrow = 0;
    }
    for (int i = 0; i < nrow; i++) pass_row(b, pass, &j->row[i]);
    if (pass->mode == PERP__LOAD) j->nrow = nrow;
}

void perp__joints_destroy(perp_bodies *b)
{
    free(b->joints->actuator);
    free(b->joints->tendon);
    free(b->joints->strand);
    free(b->joints->control);
    free(b->joints->drive);
    free(b->joints->act);
    free(b->joints->start);
    free(b->joints->turn);
    free(b->joints->pull);
    free(b->joints->row);
    free(b->joints->kept);
    free(b->joints->guess);
}
