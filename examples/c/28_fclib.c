/* A contact problem as a file of the Friction Contact Library: a ladder of two masses that a rod joins leans on a wall and stands on the ground. It is
 * written, read as anybody's file would be, solved and judged. */

#include <perp/fclib.h>

#include <math.h>
#include <stdio.h>

int main(void)
{
    /* v = (x, y) of the foot, (x, y) of the top. The rod, 3 : 4, keeps its length: G' v = 0. Ground under the foot, wall at the top. */
    const double step = 0.01, g = 9.81, mass[] = {10, 10, 5, 5},
                 f[] = {0, -10 * g * step, 0, -5 * g * step}, none[] = {0, 0, 0, 0},
                 rod[] = {-0.6, -0.8, 0.6, 0.8}, mu[] = {0.6, 0.3}, one[] = {1, 1, -1, 1};
    const int m_start[] = {0, 1, 2, 3, 4}, place[] = {0, 1, 2, 3}, g_start[] = {0, 4},
              h_row[] = {
                  1, 0, 2,
                  3}; /* ground: y, x of the foot; wall: away from it is -x of the top, then y */
    const perp_fclib_problem ladder = {.dimension = 2,
                                       .nc = 2,
                                       .mu = mu,
                                       .M = {4, 4, m_start, place, mass},
                                       .H = {4, 4, m_start, h_row, one},
                                       .G = {4, 1, g_start, place, rod},
                                       .f = f,
                                       .w = none,
                                       .b = none,
                                       .title = "ladder"};
    const char *path = "ladder.h5";
    perp_diag diag = {0};
    perp_fclib *file = NULL;
    perp_fclib_info info = {.size = sizeof info, .outcome = PERP_LIMIT};
    double r[4], u[4], v[4], l[1];
    perp_status status = perp_fclib_write(path, &ladder, NULL, &diag);
    if (status == PERP_OK) status = perp_fclib_read(path, &file, &diag);
    if (status == PERP_OK)
        status = perp_fclib_solve(perp_fclib_problem_of(file), NULL, r, u, v, l, &info, &diag);
    if (status == PERP_OK) { /* with what was found, for others to look at */
        const perp_fclib_point found = {r, u, v, l};
        status = perp_fclib_write(path, &ladder, &found, &diag);
    }
    if (status == PERP_OK)
        printf("%s by %s, error %.1e, equations %.1e\n"
               "the ground carries %.2f N and %.2f N of friction, the wall %.2f N; the foot moves "
               "at %.1e m/s\n",
               perp_outcome_name(info.outcome), info.method, info.error, info.equations,
               r[0] / step, r[1] / step, r[2] / step, v[0]);
    if (diag.text) fprintf(stderr, "%s", diag.text);
    int ok = status == PERP_OK && info.outcome == PERP_SOLVED &&
             fabs(r[0] + r[3] - 15 * g * step) < 1e-8 && fabs(r[1] - r[2]) < 1e-8 &&
             fabs(v[0]) < 1e-8;
    printf("%s\n", ok || status == PERP_ERR_UNAVAILABLE ? "ok" : "failed");
    perp_fclib_destroy(file);
    perp_diag_clear(&diag);
    remove(path);
    return !(ok || status == PERP_ERR_UNAVAILABLE);
}
