/* Fewer rows of a long run. */

#ifndef PERP_SRC_THIN_H
#define PERP_SRC_THIN_H

/* At most `most` (>= 2) of the rows: the first and the last, and from each of many intervals the
 * rows where a column is smallest or largest. All rows if they are few enough. Returns the row
 * numbers, ascending, in malloc'ed memory; NULL when memory is out. */
int *perp__thin(const double *const *column, int ncolumn, int rows, int most, int *kept);

#endif
