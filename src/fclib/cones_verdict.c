/* The verdict of contact problems without W. A pile is judged as a pile. Else velocities are
 * computed anew from the forces, and each contact is judged by the terms of its forces, limited by
 * its data (docs/adr/088-cones-without-w.md). */

#include "base/holds.h"
#include "fclib/cones.h"
#include "solve/fc.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Data ----------------------------------------------------------------------------------------- */

/* What an impulse at row a of contact i moves there, over what the diagonal of M alone says. */
static int softness(perp__fclib_cones *s, int i, double *most)
{
    const perp__cones_item *t = s->item + i;
    double *x = s->work[4];
    for (int a = 0; a < t->d; a++) {
        double sum = 0;
        memset(x, 0, (size_t)s->nv * sizeof *x);
        const double *D = s->entry + t->entry + (size_t)a * (size_t)t->k;
        for (int k = 0; k < t->k; k++) x[s->touch[t->touch + k]] = D[k];
        if (!perp__sparse_ldl_solve(s->ldl, x)) return 0;
        for (int k = 0; k < t->k; k++) sum += D[k] * x[s->touch[t->touch + k]];
        if (s->unit[i] > 0) *most = fmax(*most, sum / s->unit[i]);
    }
    return 1;
}

/* The diagonals of W: those of the diagonal of M, times the most by which a sample of contacts has
 * them larger. */
static int take_diagonals(perp__fclib_cones *s)
{
    enum { SAMPLE = 12 };
    double most = 1;
    for (int k = 0; k < SAMPLE && s->nc > 0; k++)
        if (!softness(s, (int)((double)k / SAMPLE * s->nc), &most)) return 0;
    for (int i = 0; i < s->nc; i++) s->diagonal[i] = most * s->unit[i];
    return 1;
}

/* Take what `from` has, at most `most`. */
static int raise(double *to, double from, double most)
{
    double x = fmin(from, most);
    if (!(x > *to)) return 0;
    *to = x;
    return 1;
}

/* One pass of data along couplings. Each coupling transmits its share of the largest. */
static int carry(const perp__fclib_cones *s, double *data, double *carried, double largest,
                 int is_backward)
{
    int changed = 0;
    for (int n = 0; n < s->nc; n++) {
        int i = is_backward ? s->nc - 1 - n : n;
        const perp__cones_item *t = s->item + i;
        for (int k = 0; k < t->k && s->unit[i] > 0; k++) {
            int j = s->touch[t->touch + k];
            double sum = 0;
            for (int a = 0; a < t->d; a++) {
                double x = s->entry[t->entry + (size_t)(a * t->k + k)];
                sum = fmax(sum, x * x);
            }
            double most = fmin(1, sum / s->mass[j] / s->unit[i]) * largest;
            changed |= raise(data + i, carried[j], most);
            changed |= raise(carried + j, data[i], most);
        }
    }
    for (int n = 0; n < s->nv; n++) {
        int j = is_backward ? s->nv - 1 - n : n;
        for (int e = s->M.start[j]; e < s->M.start[j + 1]; e++) {
            int i = s->M.row[e];
            double share = fabs(s->M.value[e]) / sqrt(s->mass[i]) / sqrt(s->mass[j]);
            if (i == j || carried[i] == carried[j]) continue;
            changed |= raise(carried + i, carried[j], share * largest);
            changed |= raise(carried + j, carried[i], share * largest);
        }
    }
    return changed;
}

/* Of the first `rows` of each contact. */
static void take_data(const perp__fclib_cones *s, int rows, double *data, double *carried)
{
    enum { PASSES = 100 };
    double largest = 0;
    for (int i = 0; i < s->nc; i++) {
        double size[3] = {0}, scale = s->diagonal[i] > 0 ? 1 / sqrt(s->diagonal[i]) : 1;
        for (int a = 0; a < rows; a++) size[a] = fabs(s->q[i * s->d + a]);
        data[i] = perp__fc_largest_row(rows, s->p->mu[i], size) * scale;
        if (s->diagonal[i] > 0) largest = fmax(largest, data[i]);
    }
    for (int j = 0; j < s->nv; j++) carried[j] = 0;
    for (int pass = 0; pass < PASSES && carry(s, data, carried, largest, pass % 2); pass++)
        continue;
    for (int i = 0; i < s->nc; i++) data[i] *= s->diagonal[i] > 0 ? sqrt(s->diagonal[i]) : 1;
}

perp_status perp__cones_scales(perp__fclib_cones *s, perp__arena *arena)
{
    double *none, *l;
    PERP_TAKE(arena, s->S, s->n + 1);
    if (arena->failed) return PERP_ERR_MEMORY;
    if (s->pile)
        return perp__pile_scales_create(&s->pile_scales, s->pile, NULL, arena) ? PERP_OK
                                                                               : PERP_ERR_MEMORY;
    PERP_TAKE(arena, s->data, s->nc + 1);
    PERP_TAKE(arena, s->normal, s->nc + 1);
    PERP_TAKE(arena, s->diagonal, s->nc + 1);
    PERP_TAKE(arena, s->q, s->m + 1);
    PERP_TAKE(arena, none, s->n + 1);
    PERP_TAKE(arena, l, s->nl + 1);
    if (arena->failed) return PERP_ERR_MEMORY;
    perp_status status = perp__cones_motion(s, none, s->work[5], l);
    if (status != PERP_OK) return status;
    perp__cones_velocities(s, s->work[5], s->q);
    if (!take_diagonals(s)) return PERP_ERR_MEMORY;
    take_data(s, s->d, s->data, s->work[6]);
    take_data(s, 1, s->normal, s->work[6]);
    return PERP_OK;
}

/* Judging -------------------------------------------------------------------------------------- */

/* The terms of u: what is there without contacts, and what forces make of it, or at least those of
 * its own velocities. */
static void take_terms(const perp__fclib_cones *s, const double *r, const double *u)
{
    double *size = s->work[6];
    for (int j = 0; j < s->nv; j++) {
        size[j] = 0;
        for (int e = s->rows.start[j]; e < s->rows.start[j + 1]; e++)
            if (s->rows.row[e] < s->n) size[j] += fabs(s->rows.value[e] * r[s->rows.row[e]]);
    }
    for (int i = 0; i < s->n; i++) {
        double own = 0;
        for (int e = s->B.start[i]; e < s->B.start[i + 1]; e++)
            own += fabs(s->B.value[e]) * size[s->B.row[e]] / s->mass[s->B.row[e]];
        s->S[i] = fabs(s->q[i]) + fmax(own, fabs(u[i] - s->q[i]));
    }
}

static perp__fc_scale scale_of(const perp__fclib_cones *s, int i)
{
    size_t at = (size_t)(i * s->d);
    return perp__fc_scale_of(s->d, s->p->mu[i], s->S + at, s->q + at, s->normal[i], s->data[i]);
}

static int open_contacts(const perp__fclib_cones *s, double tol, double *r, const double *u)
{
    int opened = 0;
    for (int i = 0; i < s->nc; i++) {
        double *ri = r + (size_t)i * (size_t)s->d;
        if (!(ri[0] > 0) ||
            (s->diagonal[i] > 0 &&
             !perp__fc_opens(s->diagonal[i], ri[0], u[i * s->d], scale_of(s, i), tol)))
            continue;
        memset(ri, 0, (size_t)s->d * sizeof *ri);
        opened++;
    }
    return opened;
}

double perp__cones_error(perp__fclib_cones *s, double tol, const double *r, const double *u)
{
    double worst = 0;
    int which;
    if (s->pile) { /* which moves what it judges */
        memcpy(s->S, r, (size_t)s->n * sizeof *s->S);
        return perp__pile_judge(&s->pile_scales, s->pile, tol, s->S, &which);
    }
    take_terms(s, r, u);
    for (int i = 0; i < s->nc; i++) {
        size_t at = (size_t)(i * s->d);
        perp__fc_scale scale = scale_of(s, i);
        worst = perp__worse(worst, perp__fc_contact_error(s->d, s->p->mu[i], r + at, u + at, &scale,
                                                          s->diagonal[i], tol));
    }
    return worst;
}

/* Is what the last refinement changed in u a part of what is asked? */
static int is_decided(const perp__fclib_cones *s, double tol)
{
    for (int i = 0; i < s->n; i++) {
        double change = 0;
        for (int e = s->B.start[i]; e < s->B.start[i + 1]; e++)
            change += fabs(s->B.value[e] * s->work[3][s->B.row[e]]);
        perp__fc_scale scale = scale_of(s, i / s->d);
        double most = i % s->d ? scale.contact * tol : scale.normal * tol + scale.rounding;
        if (!(change <= 0.1 * most)) return 0;
    }
    return 1;
}

perp_status perp__cones_judge(perp__fclib_cones *s, double tol, double *r, double *v, double *l,
                              double *error)
{
    int worst;
    if (s->pile) {
        *error = perp__pile_judge(&s->pile_scales, s->pile, tol, r, &worst);
        return perp__cones_motion(s, r, v, l);
    }
    double *u = s->terms;
    for (int i = 0; i < s->nc; i++) perp__fc_snap(s->d, s->p->mu[i], r + (size_t)(i * s->d));
    for (int round = 0; round < 2; round++) {
        perp_status status = perp__cones_motion(s, r, v, l);
        if (status != PERP_OK) return status;
        perp__cones_velocities(s, v, u);
        take_terms(s, r, u);
        if (round == 0 && !open_contacts(s, tol, r, u)) break;
    }
    *error = is_decided(s, tol) ? perp__cones_error(s, tol, r, u) : (double)INFINITY;
    return PERP_OK;
}

perp_status perp__cones_look(perp__fclib_cones *s, perp__cones_run *run, const double *x, double *v)
{
    double error;
    size_t bytes = (size_t)s->m * sizeof *x;
    memcpy(run->trial, x, bytes);
    perp_status status = perp__cones_judge(s, run->tol, run->trial, v, run->trial + s->n, &error);
    if (status != PERP_OK || !(error < run->error)) return status;
    run->error = error;
    memcpy(run->best, run->trial, bytes);
    return PERP_OK;
}
