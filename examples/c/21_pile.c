/* A heap of discs, each in the gap between two, on a row that is glued to the ground: one step of time, without a matrix. Friction of 0.4 holds it, and the glued
 * row carries its weight. */

#include <perp/pile.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 30, DISCS = ROWS * (ROWS + 1) / 2, CONTACTS = ROWS * (ROWS - 1) };

static const double radius = 0.5, mass = 2, gravity = 9.81, step = 1e-3;
static double inverse_mass[DISCS][9], velocity[DISCS][3], jacobian[CONTACTS][2][2][3], mu[CONTACTS],
    r[CONTACTS][2], after[DISCS][3];
static int body[CONTACTS][2], contacts;

static int disc(int row, int i)
{
    return row * ROWS - row * (row - 1) / 2 + i;
}

/* `first` is pressed along (x, y), away from what it lies on; each velocity is (x, y, turning). */
static void add_contact(int first, int second, double x, double y)
{
    double(*J)[2][3] = jacobian[contacts];
    const double rows[2][3] = {{x, y, 0}, {-y, x, -radius}};
    for (int a = 0; a < 2; a++)
        for (int k = 0; k < 3; k++) {
            J[0][a][k] = rows[a][k];
            J[1][a][k] = k < 2 ? -rows[a][k] : rows[a][k]; /* it touches on the other side */
        }
    body[contacts][0] = first, body[contacts][1] = second;
    mu[contacts++] = 0.4;
}

int main(void)
{
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < ROWS - row; i++) {
            int at = disc(row, i);
            if (row == 0) continue; /* an inverse mass of 0: nothing moves it */
            inverse_mass[at][0] = inverse_mass[at][4] = 1 / mass;
            inverse_mass[at][8] = 1 / (0.5 * mass * radius * radius);
            velocity[at][1] = -gravity * step;
            add_contact(at, disc(row - 1, i), 0.5, sqrt(0.75));
            add_contact(at, disc(row - 1, i + 1), -0.5, sqrt(0.75));
        }
    perp_pile pile = {.dimension = 2,
                      .dof = 3,
                      .nbody = DISCS,
                      .inverse_mass = inverse_mass[0],
                      .velocity = velocity[0],
                      .nc = contacts,
                      .body = body[0],
                      .jacobian = jacobian[0][0][0],
                      .mu = mu};
    perp_pile_info info = {.size = sizeof info};
    perp_status status = perp_pile_solve(&pile, NULL, r[0], after[0], &info);
    double ground = 0, fastest = 0;
    for (int c = 0; c < contacts; c++) /* (x, y) is up and aside; friction acts along (-y, x) */
        if (body[c][1] < ROWS)
            ground += (jacobian[c][0][0][1] * r[c][0] + jacobian[c][0][1][1] * r[c][1]) / step;
    for (int b = 0; b < DISCS; b++) fastest = fmax(fastest, hypot(after[b][0], after[b][1]));
    double weight = (DISCS - ROWS) * mass * gravity;
    printf("%d contacts: %s, %d sweeps, error %.1e\n", contacts, perp_outcome_name(info.outcome),
           info.iterations, info.error);
    printf("the ground carries %.0f N of %.0f N; the fastest disc moves at %.1e of what it would "
           "fall\n",
           ground, weight, fastest / (gravity * step));
    int ok = status == PERP_OK && info.outcome == PERP_SOLVED;
    printf("%s\n", ok && fabs(ground / weight - 1) < 1e-3 ? "ok" : "failed");
    return !ok;
}
