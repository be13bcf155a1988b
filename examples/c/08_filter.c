/* A particle filter: how rough is the floor? A block is pushed to and fro and its place is measured with noise; a thousand copies of one simulation,
 * each with a friction coefficient of its own, go along. After each measurement copies that explain it are continued several times over. */

#include "perp/perp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] = "param m = 1 \"kg\", g = 9.81 \"m/s^2\", mu = 0.3\n"
                           "input F = 6*sin(4*t) + 2*sin(11*t) \"N\"\n"
                           "state x = 0 \"m\", v = 0 \"m/s\"\n"
                           "var f \"N\"\n"
                           "der(x) = v\n"
                           "m*der(v) = F + f\n"
                           "-mu*m*g <= f <= mu*m*g perp v\n"
                           "simulate to 4 step 5e-3\n";

enum { MANY = 1000, MEASUREMENTS = 80, MU = 2 };
static const double between = 0.05, noise = 2e-3;

static unsigned long long seed = 1;

static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) * 0x1p-53;
}

static double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

int main(void)
{
    static perp_simulation *copy[MANY];
    static double weight[MANY];
    perp_model *model;
    perp_simulation *truth;
    perp_diag diag = {0};
    const char *unknown[] = {"mu"};
    if (perp_model_parse(text, strlen(text), "block", &model, &diag) != PERP_OK) return 1;
    perp_simulation_options o = perp_simulation_options_default(model);
    o.parameter = unknown, o.nparameter = 1;
    if (perp_simulation_create(model, &o, &truth, &diag) != PERP_OK) return 1;
    for (int i = 0; i < MANY; i++) {
        if (perp_simulation_clone(truth, &copy[i], &diag) != PERP_OK) return 1;
        perp_simulation_set_parameter(copy[i], MU, 0.1 + 0.5 * uniform());
    }
    size_t size = perp_simulation_snapshot_size(truth);
    unsigned char *saved = malloc(MANY * size);
    if (!saved) return 1;
    double mean = 0, spread = 0;
    for (int k = 1; k <= MEASUREMENTS; k++) {
        double sum = 0, width = fmax(0.02 / k, 5e-4);
        perp_step_info info = {.size = sizeof info};
        if (perp_simulation_advance(truth, k * between, &info, &diag) != PERP_OK) return 1;
        if (info.outcome != PERP_SOLVED) return 1;
        double measured = perp_simulation_state(truth, 0) + noise * normal();
        for (int i = 0; i < MANY; i++) {
            if (perp_simulation_advance(copy[i], k * between, &info, &diag) != PERP_OK) return 1;
            if (info.outcome != PERP_SOLVED) return 1;
            double off = (perp_simulation_state(copy[i], 0) - measured) / noise;
            sum += weight[i] = exp(-off * off / 2) + 1e-300;
            perp_simulation_snapshot(copy[i], saved + (size_t)i * size, size);
        }
        double next = uniform() / MANY, reached = weight[0] / sum;
        mean = spread = 0;
        for (int i = 0, from = 0; i < MANY; i++, next += 1.0 / MANY) {
            while (next > reached && from + 1 < MANY) reached += weight[++from] / sum;
            const unsigned char *bytes = saved + (size_t)from * size;
            if (perp_simulation_restore(copy[i], bytes, size, &diag) != PERP_OK) return 1;
            double mu = perp_simulation_parameter(copy[i], MU) + width * normal();
            perp_simulation_set_parameter(copy[i], MU, fmax(mu, 0));
            mean += mu / MANY, spread += mu * mu / MANY;
        }
        spread = sqrt(spread - mean * mean);
        if (k % 20 == 0) printf("t = %g s: mu = %.3f +- %.3f\n", k * between, mean, spread);
    }
    if (fabs(mean - 0.3) < 0.01 && spread < 0.01) printf("the floor has 0.3: ok\n");
    for (int i = 0; i < MANY; i++) perp_simulation_destroy(copy[i]);
    perp_simulation_destroy(truth);
    perp_model_destroy(model);
    free(saved);
    return 0;
}
