/* Equalities between bodies: rows G v + error/h = 0. They are eliminated from the step by a
 * Cholesky factor of G inv(M) G' with pivots, which leaves out rows that follow from others. The
 * friction problem has the inverse of M on the velocities that they allow. */

#include "base/words.h"
#include "bodies/bodies.h"
#include "bodies/joints.h"
#include "bodies/space.h"

#include <stdlib.h>
#include <string.h>

static const perp__word equality_rows[] = {
#define WORD(name, word, rows, text) {word, text},
    PERP_EQUALITY_LIST(WORD)
#undef WORD
};
static const perp__words equalities = PERP_WORDS(equality_rows);
PERP_WORD_FUNCTIONS(perp_equality_kind, perp_equality, equalities)
PERP_WORD_SUMMARY(perp_equality_kind, perp_equality_summary, equalities)

#define ROWS(name, word, rows, text) rows,
static const int rows_of[] = {PERP_EQUALITY_LIST(ROWS)};
#undef ROWS

/* Description ---------------------------------------------------------------------------------- */

static const char *fault_of(const perp_bodies *b, const perp_equality *e)
{
    if (e->kind < 0 || e->kind >= PERP_EQUALITY_COUNT) return "its kind is none";
    int is_tendon = e->kind == PERP_EQUALITY_TENDON, ntendon = b->joints->ntendon;
    if (is_tendon &&
        (e->body[0] < 1 || e->body[0] > ntendon || e->body[1] < 0 || e->body[1] > ntendon))
        return "there is no such tendon";
    for (int side = 0; side < 2 && !is_tendon; side++)
        if (e->body[side] < 0 || e->body[side] >= b->scene->n) return "there is no such body";
    if (e->body[0] == e->body[1])
        return is_tendon ? "two different tendons are expected"
                         : "two different bodies are expected";
    for (int k = 0; k < 5; k++)
        if (!isfinite(e->polynomial[k])) return "its polynomial is not finite";
    for (int k = 0; k < 6; k++)
        if (!isfinite(e->point[k / 3][k % 3])) return "a point is not finite";
    if (e->kind == PERP_EQUALITY_JOINT && (!perp__is_single(&b->link[e->body[0]]) ||
                                           (e->body[1] && !perp__is_single(&b->link[e->body[1]]))))
        return "its joints must be hinges or slides";
    return NULL;
}

static int take_rotation(double q[4])
{
    if (q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 0) q[0] = 1;
    return perp__quaternion_normalise(q);
}

perp_status perp_bodies_add_equality(perp_bodies *b, const perp_equality *equality, perp_diag *diag)
{
    if (!b || !equality || !perp__scene_grows(b->scene, diag)) return PERP_ERR_ARG;
    perp__equalities *all = b->equal;
    perp__scene *s = b->scene;
    perp_equality own = *equality;
    const char *fault = fault_of(b, &own);
    if (!fault && !take_rotation(own.rotation)) fault = "its rotation is no quaternion";
    if (fault)
        return perp__refuse(diag, PERP_ERR_MODEL, perp__in(NULL),
                            "equality %d of bodies %d and %d: %s\n", s->nequality, own.body[0],
                            own.body[1], fault);
    if (!perp__arena_grow(&s->arena, &s->equality, &s->cequality, s->nequality + 1,
                          sizeof *s->equality))
        return perp__out_of_memory(diag, "bodies");
    s->equality[s->nequality++] = own;
    all->rows += rows_of[own.kind];
    perp__scene_note(s, own.point[0], 6, (int)own.kind);
    perp__scene_note(s, own.rotation, 4, own.body[0]);
    perp__scene_note(s, own.polynomial, 5, own.body[1]);
    return PERP_OK;
}

/* Rows ----------------------------------------------------------------------------------------- */

static void world_point(const perp_bodies *b, const perp_equality *e, int side, double *p)
{
    const perp__link *l = &b->link[e->body[side]];
    perp__place3(l->R, l->p, e->point[side], p);
}

/* The turn, in the world, that the second body is ahead of where the weld wants it. */
static void turn_ahead(const perp_bodies *b, const perp_equality *e, double *turn)
{
    const double *A = b->link[e->body[0]].R, *B = b->link[e->body[1]].R;
    double own[9], wanted[9], E[9], twice[3];
    perp__rotation_of(e->rotation, own);
    perp__multiply3(A, own, wanted);
    for (int i = 0; i < 3; i++) /* B wanted' */
        for (int j = 0; j < 3; j++) E[3 * i + j] = perp__dot3(B + 3 * i, wanted + 3 * j);
    twice[0] = E[7] - E[5];
    twice[1] = E[2] - E[6];
    twice[2] = E[3] - E[1];
    double sine = 0.5 * perp__length3(twice), cosine = 0.5 * (E[0] + E[4] + E[8] - 1),
           angle = atan2(sine, cosine), scale = sine > 1e-9 ? 0.5 * angle / sine : 0.5;
    for (int i = 0; i < 3; i++) turn[i] = scale * twice[i];
}

static double polynomial(const double *c, double x, double *slope)
{
    *slope = c[1] + x * (2 * c[2] + x * (3 * c[3] + x * 4 * c[4]));
    return c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * c[4])));
}

static double coupled(const perp_bodies *b, const perp_equality *e, double *slope)
{
    const perp__link *l = &b->link[e->body[1]];
    return polynomial(e->polynomial, e->body[1] ? b->here[l->q] : 0, slope);
}

/* The same of tendons; the length of the first. */
static double coupled_tendons(const perp_bodies *b, const perp_equality *e, double *slope,
                              double *length)
{
    *length = perp__tendon_length(b, e->body[0]);
    return polynomial(e->polynomial, e->body[1] ? perp__tendon_length(b, e->body[1]) : 0, slope);
}

static void state_tendon(perp_bodies *b, const perp_equality *e, int row)
{
    double slope, length, wanted = coupled_tendons(b, e, &slope, &length),
                          *G = b->equal->G + (size_t)row * (size_t)b->scene->nv;
    perp__tendon_pull(b, e->body[0], 1, G);
    if (e->body[1]) perp__tendon_pull(b, e->body[1], -slope, G);
    b->equal->error[row] = length - wanted;
    b->equal->size[row] = perp__tendon_length_terms(b, e->body[0]) + fabs(wanted);
    if (e->body[1]) b->equal->size[row] += fabs(slope) * perp__tendon_length_terms(b, e->body[1]);
}

static void state_joint(perp_bodies *b, const perp_equality *e, int row)
{
    double slope, wanted = coupled(b, e, &slope),
                  *G = b->equal->G + (size_t)row * (size_t)b->scene->nv,
                  x = b->here[b->link[e->body[0]].q];
    G[b->link[e->body[0]].v] = 1;
    if (e->body[1]) G[b->link[e->body[1]].v] = -slope;
    b->equal->error[row] = x - wanted;
    b->equal->size[row] = fabs(x) + fabs(wanted);
}

/* Rows of a body's motion, at a point or (is_turn) of its angular velocity. */
static void add_motion(perp_bodies *b, int body, const double *point, int is_turn, double sign,
                       int row)
{
    size_t nv = (size_t)b->scene->nv;
    for (int i = body; i; i = b->link[i].is.parent) {
        const perp__link *l = &b->link[i];
        for (int k = 0; k < l->nv; k++) {
            double move[3];
            if (is_turn && l->is_shift[k]) continue;
            if (is_turn)
                memcpy(move, l->world[k], sizeof move);
            else
                perp__point_motion(l, k, point, move);
            for (int d = 0; d < 3; d++)
                b->equal->G[(size_t)(row + d) * nv + (size_t)(l->v + k)] += sign * move[d];
        }
    }
}

static void state_points(perp_bodies *b, const perp_equality *e, int row)
{
    double p[2][3], turn[3];
    for (int side = 0; side < 2; side++) {
        world_point(b, e, side, p[side]);
        add_motion(b, e->body[side], p[side], 0, side ? 1 : -1, row);
    }
    double length = perp__length3(p[0]) + perp__length3(p[1]);
    for (int d = 0; d < 3; d++) {
        b->equal->error[row + d] = p[1][d] - p[0][d];
        b->equal->size[row + d] = length;
    }
    if (e->kind != PERP_EQUALITY_WELD) return;
    for (int side = 0; side < 2; side++)
        add_motion(b, e->body[side], NULL, 1, side ? 1 : -1, row + 3);
    turn_ahead(b, e, turn);
    for (int d = 0; d < 3; d++) {
        b->equal->error[row + 3 + d] = turn[d];
        b->equal->size[row + 3 + d] = 1;
    }
}

/* Factors -------------------------------------------------------------------------------------- */

static int allocate(perp_bodies *b)
{
    perp__equalities *e = b->equal;
    size_t rows = (size_t)e->rows, nv = (size_t)b->scene->nv;
    if (e->crows == e->rows) return 1;
    perp__equality_clear(b);
    double *all = calloc(rows * (2 * nv + rows + 6), sizeof *all);
    e->order = calloc(rows, sizeof *e->order);
    e->G = all;
    if (!all || !e->order) return 0;
    e->Y = e->G + rows * nv;
    e->factor = e->Y + rows * nv;
    e->error = e->factor + rows * rows;
    e->size = e->error + rows;
    e->impulse = e->size + rows;
    e->begun = e->impulse + rows;
    e->unit = e->begun + rows;
    e->compliance = e->unit + rows;
    e->crows = e->rows;
    return 1;
}

/* x' inv(D) y */
static double product(const perp_bodies *b, const double *x, const double *y)
{
    double sum = 0;
    for (int k = 0; k < b->scene->nv; k++) sum += x[k] * y[k] * b->over[k];
    return sum;
}

/* Of each row its equality's largest diagonal entry of G inv(M) G': what its pivot is measured
 * by. */
static void set_units(perp_bodies *b)
{
    perp__equalities *all = b->equal;
    size_t nv = (size_t)b->scene->nv;
    for (int i = 0, row = 0; i < b->scene->nequality; row += rows_of[b->scene->equality[i++].kind])
        for (int half = 0; half < rows_of[b->scene->equality[i].kind]; half += 3) {
            int n = rows_of[b->scene->equality[i].kind] < 3 ? 1 : 3;
            double most = 0;
            for (int d = 0; d < n; d++) {
                const double *Y = all->Y + (size_t)(row + half + d) * nv;
                most = fmax(most, product(b, Y, Y));
            }
            for (int d = 0; d < n; d++) all->unit[row + half + d] = most;
        }
    for (int row = all->rows - all->soft; row < all->rows; row++) {
        const double *Y = all->Y + (size_t)row * nv;
        all->unit[row] = product(b, Y, Y) + all->compliance[row];
    }
}

/* Cholesky with pivots: the remainder of a row that follows from others is rounding. */
static void factorise(perp_bodies *b)
{
    const double LEAST = 1e-11; /* of its own unit */
    perp__equalities *e = b->equal;
    size_t n = (size_t)e->rows, nv = (size_t)b->scene->nv;
    double *F = e->factor;
    for (int i = 0; i < e->rows; i++) e->order[i] = i;
    for (e->rank = 0; e->rank < e->rows; e->rank++) {
        int k = e->rank, best = -1;
        double most = LEAST;
        for (int i = k; i < e->rows; i++) {
            const double *Y = e->Y + (size_t)e->order[i] * nv;
            double left = product(b, Y, Y) + e->compliance[e->order[i]];
            for (int j = 0; j < k; j++)
                left -= F[(size_t)i * n + (size_t)j] * F[(size_t)i * n + (size_t)j];
            if (!(left > most * e->unit[e->order[i]])) continue;
            most = left / e->unit[e->order[i]];
            best = i;
        }
        if (best < 0) return;
        int order = e->order[k];
        e->order[k] = e->order[best];
        e->order[best] = order;
        for (int j = 0; j < k; j++) {
            double swap = F[(size_t)k * n + (size_t)j];
            F[(size_t)k * n + (size_t)j] = F[(size_t)best * n + (size_t)j];
            F[(size_t)best * n + (size_t)j] = swap;
        }
        const double *pivot = e->Y + (size_t)e->order[k] * nv;
        double diagonal = sqrt(most * e->unit[e->order[k]]);
        F[(size_t)k * n + (size_t)k] = diagonal;
        for (int i = k + 1; i < e->rows; i++) {
            double sum = product(b, pivot, e->Y + (size_t)e->order[i] * nv);
            for (int j = 0; j < k; j++)
                sum -= F[(size_t)i * n + (size_t)j] * F[(size_t)k * n + (size_t)j];
            F[(size_t)i * n + (size_t)k] = sum / diagonal;
        }
    }
}

int perp__equality_state(perp_bodies *b)
{
    perp__equalities *e = b->equal;
    size_t rows = (size_t)e->rows, nv = (size_t)b->scene->nv;
    e->rank = 0;
    if (!e->rows) return 1;
    if (!allocate(b)) return 0;
    memset(e->G, 0, rows * nv * sizeof *e->G);
    memset(e->impulse, 0, rows * sizeof *e->impulse);
    memset(e->compliance, 0, rows * sizeof *e->compliance);
    for (int i = 0, row = 0; i < b->scene->nequality; row += rows_of[b->scene->equality[i++].kind])
        if (b->scene->equality[i].kind == PERP_EQUALITY_JOINT)
            state_joint(b, &b->scene->equality[i], row);
        else if (b->scene->equality[i].kind == PERP_EQUALITY_TENDON)
            state_tendon(b, &b->scene->equality[i], row);
        else
            state_points(b, &b->scene->equality[i], row);
    if (e->soft && !b->c->is_still) perp__tendons_state(b, e->rows - e->soft);
    memcpy(e->Y, e->G, rows * nv * sizeof *e->G);
    for (size_t i = 0; i < rows; i++)
        for (int k = b->scene->nv - 1; k >= 0; k--) {
            double y = e->Y[i * nv + (size_t)k];
            for (int j = y == 0 || isinf(b->D[k]) ? -1 : b->up[k]; j >= 0; j = b->up[j])
                e->Y[i * nv + (size_t)j] -= b->M[perp__mass_entry(b, k, j)] * y;
        }
    set_units(b);
    factorise(b);
    return 1;
}

/* The step ------------------------------------------------------------------------------------- */

/* x = inv(F F') x of the kept rows. */
static void solve(const perp__equalities *e, double *x)
{
    size_t n = (size_t)e->rows;
    for (int i = 0; i < e->rank; i++) {
        for (int j = 0; j < i; j++) x[i] -= e->factor[(size_t)i * n + (size_t)j] * x[j];
        x[i] /= e->factor[(size_t)i * n + (size_t)i];
    }
    for (int i = e->rank - 1; i >= 0; i--) {
        for (int j = i + 1; j < e->rank; j++) x[i] -= e->factor[(size_t)j * n + (size_t)i] * x[j];
        x[i] /= e->factor[(size_t)i * n + (size_t)i];
    }
}

void perp__equality_project(perp_bodies *b, double *v)
{
    perp__equalities *e = b->equal;
    size_t nv = (size_t)b->scene->nv;
    double *x = e->unit; /* its use is over */
    for (int pass = 0; pass < 2 && e->rank; pass++) {
        for (int i = 0; i < e->rank; i++) {
            const double *G = e->G + (size_t)e->order[i] * nv;
            int row = e->order[i];
            x[i] = -e->error[row] / b->h - e->compliance[row] * e->impulse[row];
            for (size_t k = 0; k < nv; k++) x[i] -= G[k] * v[k];
        }
        solve(e, x);
        memset(b->row, 0, nv * sizeof *b->row);
        for (int i = 0; i < e->rank; i++) {
            const double *Y = e->Y + (size_t)e->order[i] * nv;
            e->impulse[e->order[i]] += x[i];
            for (size_t k = 0; k < nv; k++) b->row[k] += Y[k] * x[i];
        }
        perp__bodies_solve_down(b, b->M, b->D, b->row);
        for (size_t k = 0; k < nv; k++) v[k] += b->row[k];
    }
}

void perp__equality_begun(perp_bodies *b)
{
    for (int i = 0; i < b->equal->rows; i++) b->equal->begun[i] = b->equal->impulse[i];
}

void perp__equality_begin(perp_bodies *b)
{
    for (int i = 0; i < b->equal->rows; i++) b->equal->impulse[i] = b->equal->begun[i];
}

/* Of one contact: Z = inv(F) Y of the kept rows times its own. */
static void reduce(const perp_bodies *b, const perp__contact_rows *rows, double *Z)
{
    const perp__equalities *e = b->equal;
    size_t n = (size_t)e->rows;
    for (int r = 0; r < e->rank; r++) {
        const double *Y = e->Y + (size_t)e->order[r] * (size_t)b->scene->nv,
                     *F = e->factor + (size_t)r * n;
        double sum[3] = {0};
        for (int k = 0; k < rows->n; k++) {
            const perp__entry *entry = &b->c->entry[rows->first + k];
            double y = Y[entry->at], over = b->over[entry->at];
            for (int d = 0; d < 3 && y != 0; d++) sum[d] += y * entry->Y[d] * over;
        }
        for (int j = 0; j < r; j++)
            for (int d = 0; d < 3; d++) sum[d] -= F[j] * Z[3 * j + d];
        for (int d = 0; d < 3; d++) Z[3 * r + d] = sum[d] / F[r];
    }
}

int perp__equality_reduce(perp_bodies *b)
{
    perp__equalities *e = b->equal;
    if (!e->rank) return 1;
    if (!perp__grow(&e->Z, &e->cZ, 3 * e->rank * b->c->n + 1, sizeof *e->Z)) return 0;
    for (int i = 0; i < b->c->n; i++)
        reduce(b, &b->c->rows[i], e->Z + 3 * (size_t)e->rank * (size_t)i);
    return 1;
}

/* Verdict -------------------------------------------------------------------------------------- */

static void load_points(perp_bodies *b, const perp_equality *e, const double *impulse,
                        double (*size)[2])
{
    double force[3], turn[3] = {0}, p[3], from[3], moment[3], h = b->h;
    for (int d = 0; d < 3; d++) force[d] = impulse[d] / h;
    for (int d = 0; d < 3 && e->kind == PERP_EQUALITY_WELD; d++) turn[d] = impulse[3 + d] / h;
    for (int side = 0; side < 2; side++) {
        int body = e->body[side];
        double *load = b->load + 6 * body, sign = side ? 1 : -1;
        world_point(b, e, side, p);
        perp__move3(p, -1, b->link[body].p, from);
        perp__cross3(from, force, moment);
        perp__move3(load, sign, moment, load);
        perp__move3(load, sign, turn, load);
        perp__move3(load + 3, sign, force, load + 3);
        size[body][0] += perp__length3(from) * perp__length3(force) + perp__length3(turn);
        size[body][1] += perp__length3(force);
    }
}

void perp__equality_load(perp_bodies *b, double (*size)[2])
{
    perp__equalities *all = b->equal;
    for (int i = 0, row = 0; i < b->scene->nequality;
         row += rows_of[b->scene->equality[i++].kind]) {
        const perp_equality *e = &b->scene->equality[i];
        double slope, length, force = all->impulse[row] / b->h;
        if (e->kind == PERP_EQUALITY_TENDON) {
            coupled_tendons(b, e, &slope, &length);
            perp__tendon_judge_drive(b, e->body[0], force, fabs(force));
            if (e->body[1])
                perp__tendon_judge_drive(b, e->body[1], -slope * force, fabs(slope * force));
            continue;
        }
        if (e->kind != PERP_EQUALITY_JOINT) {
            load_points(b, e, all->impulse + row, size);
            continue;
        }
        coupled(b, e, &slope);
        for (int side = 0; side < 2; side++) {
            double part = (side ? -slope : 1) * force;
            if (!e->body[side]) continue;
            b->joints->force[b->link[e->body[side]].v] += part;
            b->joints->size[b->link[e->body[side]].v] += fabs(part);
        }
    }
}

/* Shrinks low..high to where |force - slope x| <= bound. */
static void shrink(double force, double slope, double bound, double *low, double *high)
{
    if (slope == 0) return;
    double x = (force - bound) / slope, y = (force + bound) / slope;
    *low = fmax(*low, fmin(x, y));
    *high = fmin(*high, fmax(x, y));
}

void perp__equality_share(perp_bodies *b)
{
    perp__equalities *all = b->equal;
    perp__joints *j = b->joints;
    for (int i = 0, row = 0; i < b->scene->nequality;
         row += rows_of[b->scene->equality[i++].kind]) {
        const perp_equality *e = &b->scene->equality[i];
        if (e->kind != PERP_EQUALITY_JOINT || !e->body[1]) continue;
        int x = b->link[e->body[0]].v, y = b->link[e->body[1]].v;
        double slope, low = -(double)INFINITY, high = (double)INFINITY;
        if (!perp__joints_hold(b, x) || !perp__joints_hold(b, y)) continue;
        coupled(b, e, &slope);
        shrink(j->hold[x], 1, j->law[e->body[0]].friction, &low, &high);
        shrink(j->hold[y], -slope, j->law[e->body[1]].friction, &low, &high);
        double force = fmin(fmax(0, low), high);
        if (!(low <= high)) continue; /* no share does: they become rows */
        j->hold[x] -= force;
        j->hold[y] += slope * force;
        all->impulse[row] += b->h * force;
    }
}

/* Of the bodies' motions: velocity of a point, or angular, in the world. */
static double relative(const perp_bodies *b, const perp_equality *e, int is_turn, double *u)
{
    double size = 0;
    memset(u, 0, 3 * sizeof *u);
    for (int side = 0; side < 2; side++) {
        const perp__link *l = &b->link[e->body[side]];
        double local[3], move[3];
        perp__cross3(l->end, e->point[side], local);
        perp__move3(local, 1, l->end + 3, local);
        perp__rotate3(l->R, is_turn ? l->end : local, move);
        perp__move3(u, side ? 1 : -1, move, u);
        size += perp__length3(move);
    }
    return size;
}

static double largest(const perp_bodies *b, const double *u, int n, double speed, int row)
{
    double worst = 0, h = b->h;
    for (int d = 0; d < n; d++) {
        double off = fabs(u[d] + b->equal->error[row + d] / h),
               size = speed + fabs(b->equal->error[row + d] / h) + b->equal->size[row + d] / h;
        if (isnan(off)) return INFINITY;
        if (off > 0) worst = fmax(worst, off / size);
    }
    return worst;
}

double perp__equality_difference(perp_bodies *b, const double *v)
{
    double worst = 0, u[3], slope;
    if (b->scene->nequality) perp__bodies_velocities(b, v);
    for (int i = 0, row = 0; i < b->scene->nequality;
         row += rows_of[b->scene->equality[i++].kind]) {
        const perp_equality *e = &b->scene->equality[i];
        if (e->kind == PERP_EQUALITY_TENDON) {
            coupled_tendons(b, e, &slope, &u[1]);
            double x = perp__tendon_rate(b, e->body[0], v),
                   y = e->body[1] ? slope * perp__tendon_rate(b, e->body[1], v) : 0;
            u[0] = x - y;
            double terms = perp__tendon_rate_terms(b, e->body[0], v);
            if (e->body[1]) terms += fabs(slope) * perp__tendon_rate_terms(b, e->body[1], v);
            worst = fmax(worst, largest(b, u, 1, terms, row));
            continue;
        }
        if (e->kind == PERP_EQUALITY_JOINT) {
            coupled(b, e, &slope);
            double x = v[b->link[e->body[0]].v],
                   y = e->body[1] ? slope * v[b->link[e->body[1]].v] : 0;
            u[0] = x - y;
            worst = fmax(worst, largest(b, u, 1, fabs(x) + fabs(y), row));
            continue;
        }
        double speed = relative(b, e, 0, u);
        worst = fmax(worst, largest(b, u, 3, speed, row));
        if (e->kind != PERP_EQUALITY_WELD) continue;
        speed = relative(b, e, 1, u);
        worst = fmax(worst, largest(b, u, 3, speed, row + 3));
    }
    return worst;
}

void perp__equality_clear(perp_bodies *b)
{
    free(b->equal->G);
    free(b->equal->order);
    b->equal->G = NULL;
    b->equal->order = NULL;
    b->equal->crows = 0;
}

void perp__equality_destroy(perp_bodies *b)
{
    perp__equality_clear(b);
    free(b->equal->Z);
}
