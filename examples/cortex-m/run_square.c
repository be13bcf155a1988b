/* The square on a microcontroller, in floats: it falls, lands on a corner, tips and comes to rest, as the C code of
 * examples/mechanics/square.perp says. Every hundredth row is written; at the end it must lie still. */

#include "board.h"
#include "square.h"

static square_model model;

int main(void)
{
    square_init(&model, 0);
    for (int k = 0; k < 1200; k++) {
        if (square_step(&model) != SQUARE_SOLVED) return 1;
        if (k % 100 != 99) continue;
        put_number((double)square_column(&model, SQUARE_COLUMN_x));
        put(" ");
        put_number((double)square_column(&model, SQUARE_COLUMN_y));
        put(" ");
        put_number((double)square_column(&model, SQUARE_COLUMN_th));
        put("\n");
    }
    int rests = square_column(&model, SQUARE_COLUMN_vx) == 0 &&
                square_column(&model, SQUARE_COLUMN_om) == 0;
    return rests ? 0 : 1;
}
