/* A controller in the loop: a pendulum is held upright on a cart with dry friction, 100 times a second. Its gains (LQR) come from the model itself,
 * by small changes of states and force without friction. Friction makes the cart stick and slip around the place where it should stand. */

#include "perp/perp.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char text[] =
    "param M = 1 \"kg\", m = 0.2 \"kg\", l = 0.5 \"m\", mu = 0.02, g = 9.81 \"m/s^2\"\n"
    "input F \"N\"\n"
    "state x = 0 \"m\", v = 0 \"m/s\", a = 0.2, w = 0 \"1/s\"\n"
    "var f \"N\"\n"
    "der(x) = v\n"
    "der(a) = w\n"
    "(M + m)*der(v) + m*l*(der(w)*cos(a) - w^2*sin(a)) = F + f\n"
    "l*der(w) + der(v)*cos(a) = g*sin(a)\n"
    "-mu*(M + m)*g <= f <= mu*(M + m)*g perp v\n"
    "simulate to 20 step 1e-3\n";

enum { N = 4 };
static const double period = 0.01, cost[N] = {10, 1, 10, 1}, cost_of_force = 0.1;

/* The state after one period from this one, with this force. */
static int predict(perp_simulation *sim, const double *x, double F, double *next)
{
    int ok = perp_simulation_set_input(sim, 0, F) == PERP_OK;
    for (int i = 0; i < N; i++) ok &= perp_simulation_set_state(sim, i, x[i]) == PERP_OK;
    perp_step_info info = {.size = sizeof info};
    ok &= perp_simulation_advance(sim, period, &info, NULL) == PERP_OK;
    ok &= info.outcome == PERP_SOLVED;
    for (int i = 0; i < N; i++) next[i] = perp_simulation_state(sim, i);
    perp_simulation_reset(sim);
    return ok;
}

/* x+ = A x + B F near the upright rest; then Riccati's equation, by going back in time until nothing changes. */
static int find_gains(perp_simulation *sim, int mu, double *K)
{
    double A[N][N], B[N], P[N][N] = {{0}}, d = 1e-5;
    for (int j = 0; j <= N; j++) {
        double x[N] = {0}, up[N], down[N];
        if (j < N) x[j] = d;
        perp_simulation_set_parameter(sim, mu, 0);
        if (!predict(sim, x, j < N ? 0 : d, up)) return 0;
        if (j < N) x[j] = -d;
        perp_simulation_set_parameter(sim, mu, 0);
        if (!predict(sim, x, j < N ? 0 : -d, down)) return 0;
        for (int i = 0; i < N; i++) *(j < N ? &A[i][j] : &B[i]) = (up[i] - down[i]) / (2 * d);
    }
    for (int k = 0; k < 2000; k++) {
        double PA[N][N] = {{0}}, PB[N] = {0}, next[N][N], s = cost_of_force;
        for (int i = 0; i < N; i++)
            for (int l = 0; l < N; l++) {
                PB[i] += P[i][l] * B[l];
                for (int j = 0; j < N; j++) PA[i][j] += P[i][l] * A[l][j];
            }
        for (int i = 0; i < N; i++) s += B[i] * PB[i], K[i] = 0;
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) K[j] += B[i] * PA[i][j] / s;
        for (int i = 0; i < N; i++)
            for (int j = i; j < N; j++) { /* symmetric, to the last bit */
                next[i][j] = (i == j ? cost[i] : 0) - s * K[i] * K[j];
                for (int l = 0; l < N; l++) next[i][j] += A[l][i] * PA[l][j];
                next[j][i] = next[i][j];
            }
        memcpy(P, next, sizeof P);
    }
    return 1;
}

int main(void)
{
    perp_model *model;
    perp_simulation *sim;
    perp_symbol_kind kind;
    perp_diag diag = {0};
    const char *force[] = {"F"}, *friction[] = {"mu"};
    double K[N], worst = 0;
    int mu, sticks = 0, ticks = 0;
    if (perp_model_parse(text, strlen(text), "cart", &model, &diag) != PERP_OK) return 1;
    perp_simulation_options o = perp_simulation_options_default(model);
    o.input = force, o.ninput = 1, o.parameter = friction, o.nparameter = 1;
    if (perp_simulation_create(model, &o, &sim, &diag) != PERP_OK) return 1;
    if (!perp_model_find(model, "mu", &kind, &mu) || !find_gains(sim, mu, K)) return 1;
    int f = perp_simulation_find_column(sim, "f");
    for (double t = 0; t < 20 - period / 2; t = perp_simulation_time(sim), ticks++) {
        double F = 0;
        for (int i = 0; i < N; i++) F -= K[i] * perp_simulation_state(sim, i);
        perp_simulation_set_input(sim, 0, F);
        perp_step_info info = {.size = sizeof info};
        if (perp_simulation_advance(sim, (ticks + 1) * period, &info, &diag) != PERP_OK) return 1;
        if (info.outcome != PERP_SOLVED) return 1;
        sticks += perp_simulation_state(sim, 1) == 0 && perp_simulation_value(sim, f) != 0;
        if (t > 10) worst = fmax(worst, fabs(perp_simulation_state(sim, 2)));
    }
    printf("gains %.3g %.3g %.3g %.3g; after 10 s the pendulum leans by at most %.2g rad\n", K[0],
           K[1], K[2], K[3], worst);
    printf("the cart sticks in %d of %d periods and ends at %.3f m\n", sticks, ticks,
           perp_simulation_state(sim, 0));
    if (ticks == 2000 && worst < 0.02 && sticks > 20) printf("ok\n");
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    return 0;
}
