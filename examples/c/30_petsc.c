/* A heavy string over a bump, by PETSc's SNES VI: the bump's force w pushes up where the string touches, and nowhere else. Says so where this
 * build of perp is without PETSc. */

#include "perp/perp.h"

#include <math.h>
#include <stdio.h>

enum { N = 63 };
static const double WEIGHT = 1e-4; /* of a piece, by the tension */

/* w = weight + A z with the second difference A. */
static int force(void *context, const double *z, double *w)
{
    (void)context;
    for (int i = 0; i < N; i++)
        w[i] = WEIGHT + 2 * z[i] - (i > 0 ? z[i - 1] : 0) - (i < N - 1 ? z[i + 1] : 0);
    return 0;
}

/* A by columns. */
static int slope(void *context, const double *z, double *values)
{
    const int *start = context;
    (void)z;
    for (int j = 0; j < N; j++)
        for (int e = start[j]; e < start[j + 1]; e++)
            values[e] =
                e == start[j] + (j > 0) ? 2 : -1; /* the diagonal is the second but in the first */
    return 0;
}

int main(void)
{
    int start[N + 1] = {0}, row[3 * N], n = 0;
    double lo[N], hi[N], z[N] = {0}, w[N];
    for (int j = 0; j < N; j++) {
        for (int i = j > 0 ? j - 1 : 0; i <= j + 1 && i < N; i++) row[n++] = i;
        start[j + 1] = n;
        double x = (j + 1.0) / (N + 1);
        lo[j] = 0.2 - 4 * (x - 0.5) * (x - 0.5), hi[j] = INFINITY; /* the bump */
    }
    const perp_mcp p = {.n = N,
                        .lo = lo,
                        .hi = hi,
                        .F = force,
                        .J = slope,
                        .context = start,
                        .column_start = start,
                        .row = row};
    perp_mcp_info info = {.size = sizeof info};
    perp_diag diag = {0};
    perp_status status = perp_petsc_mcp(PERP_PETSC_RSLS, &p, NULL, z, w, &info, &diag);
    if (status == PERP_ERR_UNAVAILABLE) {
        printf("%sok\n", diag.text);
        perp_diag_clear(&diag);
        return 0;
    }
    int touching = 0;
    for (int i = 0; status == PERP_OK && i < N; i++) touching += w[i] > 1e-9;
    if (status == PERP_OK)
        printf("%s in %d steps, error %.1e; %d of %d points touch, the middle is at %.3f\n",
               perp_outcome_name(info.outcome), info.iterations, info.error, touching, N, z[N / 2]);
    int ok = status == PERP_OK && info.outcome == PERP_SOLVED && fabs(z[N / 2] - 0.2) < 1e-9;
    printf("%s\n", ok ? "ok" : "failed");
    perp_petsc_end();
    perp_diag_clear(&diag);
    return !ok;
}
