/* The particle of the notes on a microcontroller: it falls, hits the floor, slides and sticks, as the C code of
 * examples/notes/particle.perp says. Every hundredth row is written. */

#include "board.h"
#include "particle.h"

static particle_model model;

int main(void)
{
    particle_init(&model, 0);
    for (int k = 0; k < 1200; k++) {
        if (particle_step(&model) != PARTICLE_SOLVED) return 1;
        if (k % 100 != 99) continue;
        for (int c = 0; c < (int)PARTICLE_COLUMNS - 1; c++)
            put_bits(particle_column(&model, (enum particle_column)c));
        put("\n");
    }
    return 0;
}
