/* To which classes does a matrix belong, and what does that promise? (Cottle, Pang, Stone 1992,
 * chapter 3.) */

#include "base/base.h"
#include "base/tol.h"
#include "linalg/dense.h"
#include "solve/solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_P = 20, MAX_COPOSITIVE = 12 };

static double entry(const perp_lcp *lcp, int i, int j)
{
    return lcp->M[(size_t)j * (size_t)lcp->ldm + (size_t)i];
}

/* Out: R M C, or D M D with D = sqrt(R C), which keeps symmetry and definiteness: both exactly, by
 * powers of two. */
static void scale(const perp_lcp *lcp, const double *R, const double *C, int by_congruence,
                  double *out)
{
    for (int j = 0; j < lcp->n; j++) {
        for (int i = 0; i < lcp->n; i++) {
            int ei, ej;
            frexp(R[i] * (by_congruence ? C[i] : R[i]), &ei); /* powers of two: 2^(e - 1) */
            frexp(C[j] * (by_congruence ? R[j] : C[j]), &ej);
            ei -= 1;
            ej -= 1;
            int shift = (ei - (ei & 1)) / 2 + (ej - (ej & 1)) / 2;
            out[i + j * lcp->n] = ldexp(entry(lcp, i, j), shift);
        }
    }
}

/* Pivoted Cholesky of the symmetric part: 2 positive definite, 1 semidefinite, 0 neither. */
static int definiteness(const perp_lcp *lcp, double tol, double *S)
{
    int n = lcp->n, rank = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) S[i * n + j] = (entry(lcp, i, j) + entry(lcp, j, i)) / 2;
    }
    for (int k = 0; k < n; k++, rank++) {
        int p = k;
        for (int i = k; i < n; i++) {
            if (S[i * n + i] < -tol) return 0;
            if (S[i * n + i] > S[p * n + p]) p = i;
        }
        if (S[p * n + p] <= tol) { /* the rest must vanish */
            for (int i = k; i < n; i++) {
                for (int j = k; j < n; j++) {
                    if (fabs(S[i * n + j]) > PERP_TOL_SEMIDEFINITE) return 0;
                }
            }
            return 1;
        }
        perp__exchange(n, S + k * n, S + p * n, 1);
        perp__exchange(n, S + k, S + p, n);
        for (int i = k + 1; i < n; i++) {
            double f = S[i * n + k] / S[k * n + k];
            for (int j = k + 1; j < n; j++) S[i * n + j] -= f * S[k * n + j];
        }
    }
    return 2;
}

/* Are all principal minors positive? M is P iff M11 > 0, the rest without row and column 1 is P,
 * and the Schur complement of M11 is P (Tsatsomeros and Li 2000). A is n x n, row-major. */
static int is_p(int n, const double *A, double tol)
{
    if (n == 0) return 1;
    if (!(A[0] > tol)) return 0;
    if (n == 1) return 1;
    double rest[MAX_P * MAX_P], schur[MAX_P * MAX_P];
    int m = n - 1;
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            rest[i * m + j] = A[(i + 1) * n + j + 1];
            schur[i * m + j] = rest[i * m + j] - A[(i + 1) * n] * A[j + 1] / A[0];
        }
    }
    return is_p(m, rest, tol) && is_p(m, schur, tol);
}

static int principal_class(const perp_lcp *lcp, double shift, double tol)
{
    double A[MAX_P * MAX_P];
    int n = lcp->n;
    if (n > MAX_P) return -1;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) A[i * n + j] = entry(lcp, i, j) + (i == j ? shift : 0);
    }
    return is_p(n, A, tol);
}

/* B y = 1 for the rows and columns in `subset`, by elimination; 0 if singular. */
static int solve_ones(const perp_lcp *lcp, unsigned subset, double shift, double *y, int *size)
{
    double B[MAX_COPOSITIVE][MAX_COPOSITIVE + 1];
    int index[MAX_COPOSITIVE], m = 0;
    for (int i = 0; i < lcp->n; i++) {
        if (subset >> i & 1) index[m++] = i;
    }
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++)
            B[i][j] = (entry(lcp, index[i], index[j]) + entry(lcp, index[j], index[i])) / 2 +
                      (i == j ? shift : 0);
        B[i][m] = 1;
    }
    for (int k = 0; k < m; k++) {
        int p = k;
        for (int i = k; i < m; i++) p = fabs(B[i][k]) > fabs(B[p][k]) ? i : p;
        if (B[p][k] == 0) return 0;
        for (int j = 0; j <= m; j++) {
            double t = B[k][j];
            B[k][j] = B[p][j];
            B[p][j] = t;
        }
        for (int i = 0; i < m; i++) {
            double f = i == k ? 0 : B[i][k] / B[k][k];
            for (int j = k; j <= m && f != 0; j++) B[i][j] -= f * B[k][j];
        }
    }
    for (int i = 0; i < m; i++) y[i] = B[i][m] / B[i][i];
    *size = m;
    return 1;
}

/* x'Mx >= 0 for all x >= 0? It fails iff some principal submatrix B has B^-1 1 < 0: the stationary
 * point of x'Bx on the simplex, with a negative value. */
static int is_copositive(const perp_lcp *lcp, double shift)
{
    if (lcp->n > MAX_COPOSITIVE) return -1;
    for (unsigned subset = 1; subset < 1u << lcp->n; subset++) {
        double y[MAX_COPOSITIVE];
        int m, negative = 0;
        if (!solve_ones(lcp, subset, shift, y, &m)) continue;
        for (int i = 0; i < m; i++) negative += y[i] < 0;
        if (negative == m) return 0;
    }
    return 1;
}

perp_status perp_lcp_classify(const perp_lcp *lcp, perp_lcp_class *out)
{
    if (!lcp || !out || !PERP__FITS(out) || lcp->n < 0 || (lcp->n > 0 && !lcp->M) ||
        lcp->ldm < lcp->n)
        return PERP_ERR_ARG;
    int n = lcp->n, ld = n > 1 ? n : 1;
    size_t N = (size_t)n, size = N * N;
    double *S = malloc((3 * size + 2 * N + 1) * sizeof *S), *M = S + size, *P = M + size,
           *R = P + size, *C = R + N, tol = 1e-12;
    if (!S) return PERP_ERR_MEMORY;
    for (int i = 0; i < n; i++) R[i] = C[i] = 1;
    perp__equilibrate(n, lcp->M, lcp->ldm, R, C);
    scale(lcp, R, C, 1, M);
    scale(lcp, R, C, 0, P); /* principal minors keep their signs */
    perp_lcp unit = {n, M, ld, NULL, NULL, NULL}, rows = {n, P, ld, NULL, NULL, NULL};
    *out = (perp_lcp_class){.size = out->size, .symmetric = 1, .z_matrix = 1};
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            double a = entry(&unit, i, j), b = entry(&unit, j, i), most = fmax(fabs(a), fabs(b));
            int counts = fmax(fabs(entry(&rows, i, j)), fabs(entry(&rows, j, i))) > tol;
            if (counts && fabs(a - b) > tol * most) out->symmetric = 0;
            if (i != j && entry(&rows, i, j) > tol) out->z_matrix = 0;
        }
    }
    int definite = definiteness(&unit, tol, S);
    out->positive_definite = definite == 2;
    out->positive_semidefinite = definite >= 1;
    out->p_matrix = definite == 2 ? 1 : principal_class(&rows, 0, tol);
    out->p0_matrix =
        definite >= 1 || out->p_matrix == 1 ? 1 : principal_class(&rows, PERP_TOL_P0, 0);
    out->copositive = definite >= 1 ? 1 : is_copositive(&unit, PERP_TOL_COPOSITIVE);
    free(S);
    return PERP_OK;
}
