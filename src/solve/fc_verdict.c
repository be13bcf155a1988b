/* Residual and verdict of friction problems. Each contact is judged on scales of its own
 * (docs/adr/008-verdicts.md): the terms of its rows, S_i = |q_i| + sum |W_ij| |r_j|, and the data
 * D_i, which these may exceed without bound if W is singular. */

#include "base/holds.h"
#include "base/memory.h"
#include "base/tol.h"
#include "base/twice.h"
#include "solve/fc.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void perp_fc_project(int dimension, double mu, const double *x, double *p)
{
    double t = dimension == 3 ? perp__length(x[1], x[2]) : fabs(x[1]);
    if (x[0] >= 0 && t <= mu * x[0]) { /* inside */
        for (int k = 0; k < dimension; k++) p[k] = x[k];
        return;
    }
    double h = perp__length(1, mu), n = (x[0] / h + mu / h * t) / h;
    if (mu * t <= -x[0]) n = 0; /* inside the polar cone */
    double f = t > 0 ? mu * n / t : 0;
    for (int k = 1; k < dimension; k++) p[k] = f * x[k];
    p[0] = n;
}

/* Residual ------------------------------------------------------------------------------------ */

static inline void add_term(perp__fc_sums to, int i, double w, double x)
{
    double p = w * x, sum = to.u[i] + p;
    if (to.low) to.low[i] += perp__product_error(w, x, p) + perp__sum_error(to.u[i], p, sum);
    if (to.S) to.S[i] += fabs(p);
    to.u[i] = sum;
}

/* Adds the blocks of W, without low. */
static inline void block_sums(const perp_fc *p, int d, const double *r, perp__fc_sums to)
{
    for (int k = 0; k < p->nb; k++) {
        const double *w = p->block + (size_t)k * (size_t)(d * d),
                     *x = r + (size_t)p->col[k] * (size_t)d;
        for (int a = 0, i = d * p->row[k]; a < d; a++, i++, w += d) {
            double sum = to.u[i], size = to.S ? to.S[i] : 0;
            for (int b = 0; b < d; b++) {
                sum += w[b] * x[b];
                size += fabs(w[b] * x[b]);
            }
            to.u[i] = sum;
            if (to.S) to.S[i] = size;
        }
    }
}

static void block_sums_with_low(const perp_fc *p, const double *r, perp__fc_sums to)
{
    int d = p->dimension;
    for (int k = 0; k < p->nb; k++) {
        const double *w = p->block + (size_t)k * (size_t)(d * d),
                     *x = r + (size_t)p->col[k] * (size_t)d;
        for (int a = 0; a < d; a++)
            for (int b = 0; b < d; b++) add_term(to, d * p->row[k] + a, w[a * d + b], x[b]);
    }
}

/* Adds x times a column of W, without low. */
static void column_sums(int n, const double *restrict column, double x, double *restrict u,
                        double *restrict S)
{
    for (int i = 0; i < n; i++) {
        double term = column[i] * x;
        u[i] += term;
        S[i] += fabs(term);
    }
}

static void caller_sums(const perp_fc *p, const double *r, perp__fc_sums to)
{
    int n = p->dimension * p->nc;
    memcpy(to.u, p->q, (size_t)n * sizeof *to.u);
    for (int i = 0; i < n && to.S; i++) to.S[i] = fabs(p->q[i]);
    for (int i = 0; i < n && to.low; i++) to.low[i] = 0;
    for (int j = 0; j < n && p->W; j++) {
        const double *column = p->W + (size_t)j * (size_t)p->ldw;
        if (r[j] == 0) continue;
        if (to.S && !to.low)
            column_sums(n, column, r[j], to.u, to.S);
        else
            for (int i = 0; i < n; i++) add_term(to, i, column[i], r[j]);
    }
    if (!p->W && to.low)
        block_sums_with_low(p, r, to);
    else if (!p->W && p->dimension == 3)
        block_sums(p, 3, r, to);
    else if (!p->W)
        block_sums(p, 2, r, to);
    for (int i = 0; i < n && to.low; i++) to.u[i] += to.low[i];
}

double perp__fc_residual_of(const perp_fc *p, const double *r, const double *u)
{
    int d = p->dimension;
    double largest = 0;
    for (int i = 0; i < p->nc; i++) {
        const double *ri = r + (size_t)i * (size_t)d, *ui = u + (size_t)i * (size_t)d;
        double x[3] = {0}, proj[3], sum = 0, t = d == 3 ? perp__length(ui[1], ui[2]) : fabs(ui[1]);
        for (int k = 0; k < d; k++) x[k] = ri[k] - ui[k];
        x[0] -= p->mu[i] * t;
        perp_fc_project(d, p->mu[i], x, proj);
        for (int k = 0; k < d; k++) sum += (ri[k] - proj[k]) * (ri[k] - proj[k]);
        double e = sqrt(sum);
        if (!(e <= largest)) largest = e; /* NaN stays */
        if (isnan(largest)) return NAN;
    }
    return largest;
}

double perp_fc_residual(const perp_fc *problem, const double *r, double *u)
{
    if (!problem->W && !problem->block && problem->nc > 0) return NAN;
    double *own = u ? u : malloc(((size_t)problem->nc * 3 + 1) * sizeof *own);
    if (!own) return NAN;
    caller_sums(problem, r, (perp__fc_sums){own, NULL, NULL});
    double residual = perp__fc_residual_of(problem, r, own);
    if (!u) free(own);
    return residual;
}

/* Verdict ------------------------------------------------------------------------------------- */

int perp__fc_snap(int d, double mu, double *r)
{
    double most = mu * r[0];
    if (r[0] > 0 && fabs(r[1]) + (d == 3 ? fabs(r[2]) : 0) <= most) return 0;
    double t = d == 3 ? perp__length(r[1], r[2]) : fabs(r[1]);
    int was_outside = !(r[0] >= 0);
    if (!(r[0] > 0)) r[0] = most = 0;
    if (t <= most) return was_outside;
    for (int k = 1; k < d; k++) r[k] = most > 0 ? r[k] * (most / t) : 0;
    return 1;
}

double perp__fc_largest_row(int d, double mu, const double *x)
{
    double largest = x[0];
    for (int k = 1; k < d && mu > 0; k++) largest = x[k] > largest ? x[k] : largest;
    return largest;
}

/* The size of the diagonal block. */
static double diagonal(const perp__fc *fc, int i)
{
    const double *w = fc->block + 9 * (size_t)fc->diag[i];
    return fmax(fabs(w[0]), fmax(fabs(w[4]), fabs(w[8])));
}

double perp__fc_contact_error(int d, double mu, const double *r, const double *u,
                              const perp__fc_scale *s, double w, double tol)
{
    double force[3] = {r[0], r[1], d == 3 ? r[2] : 0},
           velocity[3] = {u[0], u[1], d == 3 ? u[2] : 0};
    double size = perp__larger(force[0], perp__larger(fabs(force[1]), fabs(force[2]))),
           R = PERP_FC_GROWTH * size;
    if (w * R > s->contact) R = s->contact / w;
    if (mu > 0 && DBL_EPSILON * size > 0.1 * tol * R) return (double)INFINITY;
    double error = perp__error_contact(mu, force, velocity, s->contact, R);
    double off = force[0] == 0 ? -u[0] : fabs(u[0]);
    if (off <= tol * s->normal + s->rounding) return error;
    return perp__worse(error, perp__error_zero((perp__amount){off, s->normal, s->rounding}));
}

int perp__fc_opens(double w, double r, double u, perp__fc_scale s, double tol)
{
    return r > 0 && u > tol * s.normal + s.rounding && u >= w * r;
}

static inline perp__fc_scale scale_by(int d, double mu, const double *terms, const double *q,
                                      double normal, double data)
{
    perp__fc_scale s = {perp__smaller(terms[0], PERP_FC_NORMAL_GROWTH * normal), 0, 0, terms[0]};
    double tangent = 0;
    for (int k = 1; k < d && mu > 0; k++) {
        tangent = perp__larger(tangent, fabs(q[k]));
        s.terms = perp__larger(s.terms, terms[k]);
    }
    s.rounding = DBL_EPSILON / 2 * tangent;
    s.contact = perp__smaller(s.terms, PERP_FC_GROWTH * data);
    return s;
}

perp__fc_scale perp__fc_scale_of(int d, double mu, const double *terms, const double *q,
                                 double normal, double data)
{
    perp__fc_scale s = scale_by(d, mu, terms, q, normal, data);
    if (!(s.contact <= DBL_MAX)) s.contact = s.normal = NAN; /* nothing is small beside it */
    return s;
}

/* The same in the caller's units. */
static perp__fc_scale scale_of(const perp__fc *fc, int i, int d, const double *terms,
                               const double *q)
{
    double unit = 1 / fc->scale[i];
    return scale_by(d, fc->mu[i], terms, q, fc->normal[i] * unit, fc->data[i] * unit);
}

/* Of each contact the |terms| of u at r. */
static void scaled_terms(const perp__fc *fc, const double *r, double *terms)
{
    perp__fc_count(fc, 1);
    for (int i = 0; i < fc->nc; i++) {
        double *row = terms + 3 * i;
        for (int a = 0; a < 3; a++) row[a] = fabs(fc->q[3 * i + a]);
        for (int k = fc->start[i]; k < fc->start[i + 1]; k++) {
            const double *w = fc->block + 9 * (size_t)k, *x = r + 3 * (size_t)fc->col[k];
            for (int a = 0; a < 3; a++, w += 3)
                row[a] += fabs(w[0] * x[0]) + fabs(w[1] * x[1]) + fabs(w[2] * x[2]);
        }
    }
}

double perp__fc_error(const perp__fc *fc)
{
    double *r = perp__fc_work(fc, 12), *u = perp__fc_work(fc, 13), *terms = perp__fc_work(fc, 14);
    double worst = 0;
    int moved = 0, opened = 0;
    memcpy(r, fc->r, (size_t)fc->n * sizeof *r);
    for (int i = 0; i < fc->nc; i++) moved |= perp__fc_snap(3, fc->mu[i], r + 3 * i);
    if (moved)
        perp__fc_velocity(fc, r, u);
    else
        memcpy(u, fc->u, (size_t)fc->n * sizeof *u);
    scaled_terms(fc, r, terms);
    for (int i = 0; i < fc->nc; i++) {
        double w = fc->block[9 * (size_t)fc->diag[i]];
        if (!(r[3 * i] > 0 && u[3 * i] > 0 && u[3 * i] >= w * r[3 * i])) continue;
        perp__fc_scale s =
            scale_by(3, fc->mu[i], terms + 3 * i, fc->q + 3 * i, fc->normal[i], fc->data[i]);
        if (!perp__fc_opens(w, r[3 * i], u[3 * i], s, fc->tol)) continue;
        r[3 * i] = r[3 * i + 1] = r[3 * i + 2] = 0;
        opened++;
    }
    if (opened) {
        perp__fc_velocity(fc, r, u);
        scaled_terms(fc, r, terms);
    }
    for (int i = 0; i < fc->nc; i++) {
        perp__fc_scale s =
            scale_by(3, fc->mu[i], terms + 3 * i, fc->q + 3 * i, fc->normal[i], fc->data[i]);
        worst = perp__worse(worst, perp__fc_contact_error(3, fc->mu[i], r + 3 * i, u + 3 * i, &s,
                                                          diagonal(fc, i), fc->tol));
    }
    return worst;
}

/* 0 for impulses that are 0 if not for rounding, and for those that move nothing; returns how many
 * of the former. */
static int open_contacts(const perp__fc *fc, const perp_fc *p, double tol, double *r,
                         perp__fc_sums sums)
{
    int d = p->dimension, opened = 0;
    for (int i = 0; i < fc->nc; i++) {
        int at = d * fc->order[i], open = 0;
        double w = fc->block[9 * (size_t)fc->diag[i]] / (fc->scale[i] * fc->force[i]);
        if (r[at] > 0 && sums.u[at] > 0 && sums.u[at] >= w * r[at])
            open = perp__fc_opens(w, r[at], sums.u[at], scale_of(fc, i, d, sums.S + at, p->q + at),
                                  tol);
        for (int k = 0; k < d && (open || !fc->carries[i]); k++) r[at + k] = 0;
        opened += open;
    }
    return opened;
}

/* Rounding in the sums of a contact's rows, relative to their terms. */
static double rounding_of(const perp__fc *fc, int i)
{
    return (3 * (fc->start[i + 1] - fc->start[i]) + 4) * (DBL_EPSILON / 2);
}

/* Judges each contact by its sums; is_fine: they are in twice the precision. Returns 1 where
 * rounding is more than a tenth of what is accepted: then the sums decide nothing. */
static int judge_contacts(const perp__fc *fc, const perp_fc *p, double tol, const double *r,
                          perp__fc_sums sums, int is_fine, double *error)
{
    int d = p->dimension, any = 0;
    for (int i = 0; i < fc->nc; i++) {
        int at = d * fc->order[i];
        double rounding = rounding_of(fc, i);
        perp__fc_scale s = scale_of(fc, i, d, sums.S + at, p->q + at);
        if (is_fine) rounding *= rounding;
        int is_rough = perp__fc_is_rough(&s, rounding * s.terms, rounding * sums.S[at], tol);
        any |= is_rough;
        error[i] =
            is_rough ? (double)INFINITY
                     : perp__fc_contact_error(d, p->mu[fc->order[i]], r + at, sums.u + at, &s,
                                              diagonal(fc, i) / (fc->scale[i] * fc->force[i]), tol);
    }
    return any;
}

double perp__fc_judge(const perp__fc *fc, const perp_fc *p, double tol, double *r,
                      perp__fc_sums sums, double *error)
{
    int d = p->dimension;
    double worst = 0;
    perp__fc_sums plain = {sums.u, sums.S, NULL};
    for (int i = 0; i < p->nc; i++) perp__fc_snap(d, p->mu[i], r + d * i);
    caller_sums(p, r, plain);
    if (open_contacts(fc, p, tol, r, plain)) caller_sums(p, r, plain);
    if (judge_contacts(fc, p, tol, r, plain, 0, error)) {
        caller_sums(p, r, sums);
        judge_contacts(fc, p, tol, r, sums, 1, error);
    }
    for (int i = 0; i < fc->nc; i++) worst = perp__worse(worst, error[i]);
    return worst;
}
