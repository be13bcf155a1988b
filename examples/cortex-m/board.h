/* What the examples ask of a board, or of the machine that stands in for it. */

#ifndef BOARD_H
#define BOARD_H

void put(const char *text);

/* With six decimals; and the bits of a double, so that they can be held beside those of another machine. */
void put_number(double x);
void put_bits(double x);

#endif
