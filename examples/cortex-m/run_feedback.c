/* A plan's feedback on a microcontroller: a pendulum is swung up by a weak motor. gains.h holds what `perp plan examples/control/swing_up.perp --gains` wrote,
 * a row a step of the plan: t, the states, the input, its gains. The pendulum, here the C code of the model, begins off by 0.1 rad, which the plan's own torques do
 * not forgive. */

#include "board.h"
#include "swing_up.h"

#include "gains.h"

enum { ROWS = sizeof gains / sizeof *gains, T = 0, ANGLE, RATE, TORQUE, BY_ANGLE, BY_RATE };

static swing_up_model pendulum;

/* The motor gives no more. */
static double limited(double torque)
{
    return torque > 4 ? 4 : torque < -4 ? -4 : torque;
}

/* How far from upright it ends; -1: a step failed. */
static double run(int with_feedback)
{
    const double pi = 3.141592653589793;
    swing_up_init(&pendulum, 0);
    swing_up_set_state(&pendulum, SWING_UP_STATE_angle, 0.1);
    for (int k = 0, row = 0; k < 4000; k++) {
        double angle = swing_up_column(&pendulum, SWING_UP_COLUMN_angle),
               rate = swing_up_column(&pendulum, SWING_UP_COLUMN_rate);
        while (row + 1 < ROWS && gains[row + 1][T] <= 1e-3 * k + 1e-9) row++;
        double torque = gains[row][TORQUE];
        if (with_feedback)
            torque -= gains[row][BY_ANGLE] * (angle - gains[row][ANGLE]) +
                      gains[row][BY_RATE] * (rate - gains[row][RATE]);
        swing_up_set_input(&pendulum, SWING_UP_INPUT_torque, limited(torque));
        if (swing_up_step(&pendulum) != SWING_UP_SOLVED) return -1;
    }
    double off = swing_up_column(&pendulum, SWING_UP_COLUMN_angle) - pi;
    return off < 0 ? -off : off;
}

int main(void)
{
    double open = run(0), closed = run(1);
    put("off by 0.1 rad at first; at the end by ");
    put_number(open);
    put(", with feedback by ");
    put_number(closed);
    put("\n");
    return !(closed >= 0 && closed < 0.1 * open);
}
