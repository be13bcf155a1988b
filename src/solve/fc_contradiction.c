/* Do normal rows contradict each other (docs/adr/127-proofs-beside-large-numbers.md)? If u >= 0 has
 * u'W_nn <= 0, u'W_nt = 0 and u'q_n < 0, n normal and t tangential, then no impulses keep all
 * contacts apart, whatever the friction. Found and proved as for linear problems, without
 * rounding. */

#include "base/twice.h"
#include "linalg/simd.h"
#include "solve/fc.h"
#include "solve/solver.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST = 36 }; /* impulses of a problem that is looked at */

/* The normal rows as a linear problem: tangential ones are empty, tangential impulses have either
 * sign. */
typedef struct normal_rows {
    double M[MOST * MOST], q[MOST], z[MOST];
    perp_lcp lcp;
} normal_rows;

/* 0: there are too many. */
static int gather(const perp_fc *p, const double *r, normal_rows *out)
{
    int d = p->dimension, n = d * p->nc;
    if (n > MOST || perp_fc_delassus(p, out->M, n) != PERP_OK) return 0;
    for (int i = 0; i < n; i++) {
        int is_normal = i % d == 0, moves = is_normal || p->mu[i / d] > 0;
        out->q[i] = is_normal ? p->q[i] : 0;
        out->z[i] = is_normal ? r[i] : moves;
        for (int j = 0; j < n; j++) out->M[j + i * n] = j % d == 0 && moves ? out->M[j + i * n] : 0;
    }
    out->lcp = (perp_lcp){n, out->M, n, out->q, NULL, NULL};
    return 1;
}

/* u_n in twice the precision, and its terms. */
static void find_velocities(const normal_rows *rows, int d, const double *r, double *u, double *S)
{
    int n = rows->lcp.n;
    for (int i = 0; i < n; i += d) {
        double low = 0;
        u[i] = rows->q[i];
        S[i] = fabs(u[i]);
        for (int j = 0; j < n; j++) {
            double m = rows->M[i + j * n], term = m * r[j], sum = u[i] + term;
            low += perp__product_error(m, r[j], term) + perp__sum_error(u[i], term, sum);
            u[i] = sum;
            S[i] += fabs(term);
        }
        u[i] += low;
    }
}

/* Does u prove it for tangential impulses of the other sign, too? */
static int is_proof_both_ways(normal_rows *rows, int d, const double *u)
{
    for (int j = 0; j < rows->lcp.n; j++) {
        for (int i = 0; i < rows->lcp.n && j % d != 0; i++) rows->M[i + j * rows->lcp.n] *= -1;
    }
    return perp_lcp_is_infeasible(&rows->lcp, u, 0);
}

/* By how much of the normal row's own data is a contact off at most? Of those that have some. */
static double error_of_data(const perp_fc *p, const double *r, const double *u)
{
    double error = 0;
    for (int i = 0; i < p->dimension * p->nc; i += p->dimension) {
        double off = r[i] > 0 ? fabs(u[i]) : -u[i];
        if (p->q[i] != 0 && off > error * fabs(p->q[i])) error = off / fabs(p->q[i]);
    }
    return error;
}

double perp__fc_contradiction(const perp_fc *p, const double *r, const double *u, double tol)
{
    double error = error_of_data(p, r, u);
    normal_rows rows;
    if (!(error > tol) || !gather(p, r, &rows)) return 0;
    double room[11][MOST] = {{0}}, factors[MOST * MOST];
    unsigned char marks[2][MOST];
    int places[MOST];
    perp_lcp_solver judge = {
        .options = {.tol = tol},
        .isa = perp__isa(),
        .terms = room[0],
        .data = room[1],
        .low = room[2],
        .scratch = room[3],
        .fine = room[4],
        .w2 = room[5],
        .certificate = room[6],
        .target = room[7],
        .along = room[8],
        .needy = marks[0],
        .part = marks[1],
        .lu = {.values = factors, .row_scale = room[9], .column_scale = room[10], .rows = places}};
    find_velocities(&rows, p->dimension, r, judge.w2, judge.terms);
    if (!perp__lcp_is_disproved(&judge, &rows.lcp, rows.z) ||
        !is_proof_both_ways(&rows, p->dimension, judge.certificate))
        return 0;
    return error;
}
