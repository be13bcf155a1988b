/* Derivatives of the solution of a linear problem through its basis b: with w_b = 0 and the other z on
 * their bounds,
 *
 *     M_bb dz_b = -(dM z + dq)_b,
 *
 * so that the adjoint is M_bb' y = c_b, gradient by q: -y, by M: -y z'. */

#include "base/tol.h"
#include "linalg/dense.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

/* How far pair i is from having both sides zero, each on its own scale. */
static double strictness(const perp_lcp_solver *s, const perp_lcp *lcp, int i)
{
    double room = fmin(s->z[i] - perp__lo(lcp, i), perp__hi(lcp, i) - s->z[i]);
    double w = s->w[i] == 0 ? 0 : fabs(s->w[i]) / s->terms[i];
    return fmax(room > 0 ? room / perp__lcp_size(s, lcp, i) : 0, w);
}

perp_status perp_lcp_differentiate(perp_lcp_solver *s, const perp_lcp *lcp,
                                   perp_lcp_sensitivity *out)
{
    double least = (double)INFINITY;
    if (!s || !lcp || !out || s->n < 0 || s->n != lcp->n || (lcp->n > 0 && !lcp->M) ||
        lcp->ldm < lcp->n)
        return PERP_ERR_ARG;
    s->lu.is_differentiated = 0;
    *out = (perp_lcp_sensitivity){.strict = 1, .worst = -1, .reciprocal_condition = 1};
    perp__lcp_terms(s, lcp);
    for (int i = 0; i < s->n; i++) {
        double x = strictness(s, lcp, i);
        if (x < least || i == 0) {
            least = x;
            out->worst = i;
        }
        out->degenerate += x <= PERP_TOL_STRICT;
    }
    out->strict = out->degenerate == 0;
    if (!perp__lcp_factor_basis(s, lcp)) return PERP_ERR_MODEL;
    double norm = 0; /* of the scaled M_bb */
    for (int j = 0; j < s->lu.n; j++) {
        double sum = 0;
        for (int i = 0; i < s->lu.n; i++)
            sum += fabs(perp__column(lcp, s->lu.rows[j])[s->lu.rows[i]]) * s->lu.row_scale[i];
        norm = fmax(norm, sum * s->lu.column_scale[j]);
    }
    if (s->lu.n > 0)
        out->reciprocal_condition = perp__lu_rcond(s->lu.n, s->lu.values, s->lu.n, s->lu.swap, norm,
                                                   s->z2); /* and w2 behind it */
    if (!(out->reciprocal_condition > PERP_TOL_CONDITION)) return PERP_ERR_MODEL;
    s->lu.is_differentiated = 1;
    return PERP_OK;
}

perp_status perp_lcp_jvp(perp_lcp_solver *s, const double *dM, const double *dq, double *dz)
{
    if (!s || !s->lu.is_differentiated || (s->n > 0 && !dz)) return PERP_ERR_ARG;
    int n = s->n;
    for (int k = 0; k < s->lu.n; k++) {
        int i = s->lu.rows[k];
        s->scratch[k] = dq ? -dq[i] : 0;
        for (int j = 0; j < n && dM; j++)
            s->scratch[k] -= dM[(size_t)i + (size_t)j * (size_t)n] * s->z[j];
    }
    perp__lcp_solve_basis(s, s->scratch);
    for (int i = 0; i < n; i++) dz[i] = 0;
    for (int k = 0; k < s->lu.n; k++) dz[s->lu.rows[k]] = s->scratch[k];
    return PERP_OK;
}

perp_status perp_lcp_vjp(perp_lcp_solver *s, const double *c, double *gq, double *gM)
{
    if (!s || !s->lu.is_differentiated || (s->n > 0 && (!c || !gq))) return PERP_ERR_ARG;
    int n = s->n;
    for (int k = 0; k < s->lu.n; k++) s->scratch[k] = c[s->lu.rows[k]] * s->lu.column_scale[k];
    perp__lu_solve_transposed(s->lu.n, s->lu.values, s->lu.n, s->lu.swap, s->scratch);
    for (int i = 0; i < n; i++) gq[i] = 0;
    for (int k = 0; k < s->lu.n; k++) gq[s->lu.rows[k]] = -s->scratch[k] * s->lu.row_scale[k];
    for (int j = 0; j < n && gM; j++) {
        for (int i = 0; i < n; i++) gM[(size_t)i + (size_t)j * (size_t)n] = gq[i] * s->z[j];
    }
    return PERP_OK;
}
