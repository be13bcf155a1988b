/* The verdict of a pile. Each contact is judged on scales of its own: the terms of its rows summed
 * over bodies, and the data, which these may exceed without bound if forces are not unique
 * (docs/adr/056-piles.md). From the caller's arrays alone. */

#include "base/holds.h"
#include "solve/fc.h"
#include "solve/pile.h"

#include <float.h>
#include <math.h>
#include <string.h>

void perp__pile_accelerate(const perp_pile *p, int b, const double *x, double *y)
{
    int k = p->dof;
    const double *row = p->inverse_mass + (size_t)b * (size_t)(k * k);
    for (int i = 0; i < k; i++, row += k) {
        double sum = 0;
        for (int j = 0; j < k; j++) sum += row[j] * x[j];
        y[i] = sum;
    }
}

/* The body at a side of contact i; -1: the ground. */
static int body_of(const perp_pile *p, int i, int side)
{
    return p->body[2 * (size_t)i + (size_t)side];
}

/* Data ----------------------------------------------------------------------------------------- */

/* The largest diagonal entry of J inv(M) J' of one side, of the rows that conditions speak of. */
static double diagonal_of(const perp_pile *p, int i, int side)
{
    int d = p->dimension, k = p->dof, b = body_of(p, i, side);
    double largest = 0, y[PERP_PILE_MAX_DOF];
    const double *J = perp__pile_jacobian(p, i, side);
    for (int a = 0; a < d && b >= 0 && (a == 0 || p->mu[i] > 0); a++, J += k) {
        double sum = 0;
        perp__pile_accelerate(p, b, J, y);
        for (int j = 0; j < k; j++) sum += J[j] * y[j];
        largest = fmax(largest, sum);
    }
    return largest;
}

/* Row a of J v + bias without contact forces; adds its |terms|. */
static double free_velocity(const perp_pile *p, int i, int a, double *terms)
{
    int k = p->dof;
    double u = p->bias ? p->bias[(size_t)i * (size_t)p->dimension + (size_t)a] : 0;
    *terms = fabs(u);
    for (int side = 0; side < 2; side++) {
        int b = body_of(p, i, side);
        const double *J = perp__pile_jacobian(p, i, side) + (size_t)(a * k);
        for (int j = 0; j < k && b >= 0; j++) {
            double x = J[j] * p->velocity[(size_t)b * (size_t)k + (size_t)j];
            u += x;
            *terms += fabs(x);
        }
    }
    return u;
}

/* Its size, of the rows that conditions speak of, or the first `rows` of them; 0 if it is
 * rounding. */
static double datum(const perp_pile *p, int i, int rows)
{
    double size[3] = {0}, terms;
    for (int a = 0; a < rows; a++) {
        size[a] = fabs(free_velocity(p, i, a, &terms));
        if (size[a] <= 4 * p->dof * DBL_EPSILON * terms) size[a] = 0;
    }
    return perp__fc_largest_row(rows, p->mu[i], size);
}

/* What contact i and body b can make of each other's data: at most the body's share in the contact
 * of the largest one. */
static double most_carried(const perp__pile_scales *s, const perp_pile *p, int i, int side,
                           double largest)
{
    return s->diagonal[i] > 0 ? diagonal_of(p, i, side) / s->diagonal[i] * largest : 0;
}

/* One pass in this order; did it change anything? Data in units in which each contact's diagonal is
 * 1. */
static int carry(const perp__pile_scales *s, const perp_pile *p, double *data, double *carried,
                 double largest, int is_backward)
{
    int changed = 0;
    for (int n = 0; n < p->nc; n++) {
        int i = is_backward ? p->nc - 1 - n : n;
        for (int side = 0; side < 2; side++) {
            int b = body_of(p, i, side);
            if (b < 0 || data[i] == carried[b]) continue;
            double most = most_carried(s, p, i, side, largest), from = fmin(carried[b], most),
                   to = fmin(data[i], most);
            if (from > data[i]) {
                data[i] = from;
                changed = 1;
            }
            if (to > carried[b]) {
                carried[b] = to;
                changed = 1;
            }
        }
    }
    return changed;
}

/* Data of all contacts, of the first `rows` of each, with what bodies carry. carried: nbody. */
static void fill_data(const perp__pile_scales *s, const perp_pile *p, int rows, double *data,
                      double *carried)
{
    double largest = 0;
    memset(carried, 0, (size_t)p->nbody * sizeof *carried);
    for (int i = 0; i < p->nc; i++) {
        double scale = s->diagonal[i] > 0 ? 1 / sqrt(s->diagonal[i]) : 1;
        data[i] = datum(p, i, rows) * scale;
        if (s->diagonal[i] > 0) largest = fmax(largest, data[i]);
    }
    for (int pass = 0; pass < 2 * p->nc && carry(s, p, data, carried, largest, pass % 2); pass++)
        continue;
    for (int i = 0; i < p->nc; i++) data[i] *= s->diagonal[i] > 0 ? sqrt(s->diagonal[i]) : 1;
}

/* 0: memory. */
static int fill_scales(perp__pile_scales *s, const perp_pile *p)
{
    double *carried;
    perp__arena scratch = {0};
    if (!PERP_TAKE(&scratch, carried, p->nbody + 1)) return 0;
    for (int i = 0; i < p->nc; i++) {
        for (int side = 0; side < 2; side++)
            if (body_of(p, i, side) >= 0) s->contacts[body_of(p, i, side)]++;
    }
    fill_data(s, p, p->dimension, s->data, carried);
    fill_data(s, p, 1, s->normal, carried);
    perp__arena_clear(&scratch);
    return 1;
}

int perp__pile_scales_create(perp__pile_scales *s, const perp_pile *p, const perp__pile_part *part,
                             perp__arena *arena)
{
    size_t n = (size_t)p->nc * (size_t)p->dimension, nbody = (size_t)p->nbody;
    PERP_TAKE(arena, s->data, p->nc + 1);
    PERP_TAKE(arena, s->normal, p->nc + 1);
    PERP_TAKE(arena, s->diagonal, p->nc + 1);
    PERP_TAKE(arena, s->sum, nbody * 2 * (size_t)p->dof + 1);
    PERP_TAKE(arena, s->contacts, nbody + 1);
    PERP_TAKE(arena, s->u, n + 1);
    PERP_TAKE(arena, s->S, n + 1);
    if (arena->failed) return 0;
    for (int i = 0; i < p->nc; i++) s->diagonal[i] = diagonal_of(p, i, 0) + diagonal_of(p, i, 1);
    if (part) {
        s->halo = &part->halo;
        memcpy(s->data, part->data, (size_t)p->nc * sizeof *s->data);
        memcpy(s->normal, part->normal, (size_t)p->nc * sizeof *s->normal);
        memcpy(s->contacts, part->contacts, nbody * sizeof *s->contacts);
    } else if (!fill_scales(s, p)) {
        arena->failed = 1;
    }
    return !arena->failed;
}

/* Judging -------------------------------------------------------------------------------------- */

/* J' r and |J'| |r| of all bodies. */
static void sum_forces(perp__pile_scales *s, const perp_pile *p, const double *r)
{
    int d = p->dimension, k = p->dof;
    memset(s->sum, 0, (size_t)p->nbody * 2 * (size_t)k * sizeof *s->sum);
    for (int i = 0; i < p->nc; i++)
        for (int side = 0; side < 2; side++) {
            int b = body_of(p, i, side);
            if (b < 0) continue;
            const double *J = perp__pile_jacobian(p, i, side), *ri = r + (size_t)i * (size_t)d;
            double *sum = s->sum + (size_t)b * 2 * (size_t)k;
            for (int a = 0; a < d; a++)
                for (int j = 0; j < k; j++) {
                    double x = *J++ * ri[a];
                    sum[j] += x;
                    sum[k + j] += fabs(x);
                }
        }
}

/* In their place: the velocity of each body, and the |terms| that impulses have in it. */
static void sum_velocities(perp__pile_scales *s, const perp_pile *p)
{
    int k = p->dof;
    for (int b = 0; b < p->nbody; b++) {
        double v[PERP_PILE_MAX_DOF], terms[PERP_PILE_MAX_DOF],
            *sum = s->sum + (size_t)b * 2 * (size_t)k;
        const double *row = p->inverse_mass + (size_t)b * (size_t)(k * k);
        for (int i = 0; i < k; i++, row += k) {
            v[i] = p->velocity[(size_t)b * (size_t)k + (size_t)i];
            terms[i] = 0;
            for (int j = 0; j < k; j++) {
                v[i] += row[j] * sum[j];
                terms[i] += fabs(row[j]) * sum[k + j];
            }
        }
        memcpy(sum, v, (size_t)k * sizeof *sum);
        memcpy(sum + k, terms, (size_t)k * sizeof *sum);
    }
}

/* Towards 0, by what may be rounding; NaN where either is beyond the range of double. */
static double beyond(double x, double rounding)
{
    if (!(rounding <= DBL_MAX)) return NAN;
    if (fabs(x) <= rounding) return 0;
    if (x > 0) return x - rounding;
    return x + rounding;
}

/* u of row a of contact i, without what may be rounding of the data; S: what it is and what
 * impulses add to it. */
static void sum_row(perp__pile_scales *s, const perp_pile *p, int i, int a)
{
    int k = p->dof;
    size_t at = (size_t)i * (size_t)p->dimension + (size_t)a;
    double terms, u = p->bias ? p->bias[at] : 0, S = fabs(free_velocity(p, i, a, &terms));
    for (int side = 0; side < 2; side++) {
        int b = body_of(p, i, side);
        if (b < 0) continue;
        const double *J = perp__pile_jacobian(p, i, side) + (size_t)(a * k),
                     *v = s->sum + (size_t)b * 2 * (size_t)k;
        for (int j = 0; j < k; j++) {
            u += J[j] * v[j];
            S += fabs(J[j]) * v[k + j];
        }
    }
    s->u[at] = beyond(u, 4 * k * DBL_EPSILON * terms);
    s->S[at] = S;
}

/* u and S of each contact at r. */
static void sum_all(perp__pile_scales *s, const perp_pile *p, const double *r)
{
    sum_forces(s, p, r);
    perp__pile_sum_terms(s->halo, p->dof, s->sum);
    sum_velocities(s, p);
    for (int i = 0; i < p->nc; i++)
        for (int a = 0; a < p->dimension; a++) sum_row(s, p, i, a);
}

/* The scales of contact i. What may be rounding of the data is not in u. */
static perp__fc_scale scale_of(const perp__pile_scales *s, const perp_pile *p, int i)
{
    const double none[3] = {0};
    int d = p->dimension;
    return perp__fc_scale_of(d, p->mu[i], s->S + (size_t)i * (size_t)d, none, s->normal[i],
                             s->data[i]);
}

/* 0 for impulses that are 0 if not for rounding, and for those that move nothing; how many. */
static int open_contacts(const perp__pile_scales *s, const perp_pile *p, double tol, double *r)
{
    int d = p->dimension, opened = 0;
    for (int i = 0; i < p->nc; i++) {
        double *ri = r + (size_t)i * (size_t)d, u = s->u[(size_t)i * (size_t)d];
        if (!(ri[0] > 0) || (s->diagonal[i] > 0 &&
                             !perp__fc_opens(s->diagonal[i], ri[0], u, scale_of(s, p, i), tol)))
            continue;
        memset(ri, 0, (size_t)d * sizeof *ri);
        opened++;
    }
    return opened;
}

/* Rounding in the sums of a contact's rows, relative to their terms: d for each contact of its
 * busier body, then inv(M) and J. */
static double rounding_of(const perp_pile *p, const int *contacts, int i)
{
    int busy = 0;
    for (int side = 0; side < 2; side++)
        if (body_of(p, i, side) >= 0 && contacts[body_of(p, i, side)] > busy)
            busy = contacts[body_of(p, i, side)];
    return (double)(p->dimension * busy + 3 * p->dof + 4) * (DBL_EPSILON / 2);
}

double perp__pile_judge(perp__pile_scales *s, const perp_pile *p, double tol, double *r, int *worst)
{
    int d = p->dimension;
    double error = 0;
    *worst = -1;
    for (int i = 0; i < p->nc; i++) perp__fc_snap(d, p->mu[i], r + (size_t)i * (size_t)d);
    sum_all(s, p, r);
    if (perp__pile_sum(s->halo, open_contacts(s, p, tol, r)) > 0) sum_all(s, p, r);
    for (int i = 0; i < p->nc; i++) {
        const double *ri = r + (size_t)i * (size_t)d, *ui = s->u + (size_t)i * (size_t)d;
        perp__fc_scale scale = scale_of(s, p, i);
        double rounding = rounding_of(p, s->contacts, i), S = s->S[(size_t)i * (size_t)d];
        double e = perp__fc_is_rough(&scale, rounding * scale.terms, rounding * S, tol)
                       ? (double)INFINITY
                       : perp__fc_contact_error(d, p->mu[i], ri, ui, &scale, s->diagonal[i], tol);
        if (perp__worse(error, e) > error) {
            error = perp__worse(error, e);
            *worst = i;
        }
    }
    return perp__pile_most(s->halo, error);
}
