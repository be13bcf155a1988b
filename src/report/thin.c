/* In each stretch of time the rows stay in which a column is least or largest. */

#include "report/thin.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Mark the rows of first..last - 1 where a column is smallest or largest. A NaN is neither. */
static void mark(const double *x, int first, int last, unsigned char *is_kept)
{
    int low = -1, high = -1;
    for (int i = first; i < last; i++) {
        if (low < 0 ? x[i] == x[i] : x[i] < x[low]) low = i;
        if (high < 0 ? x[i] == x[i] : x[i] > x[high]) high = i;
    }
    if (low >= 0) is_kept[low] = is_kept[high] = 1;
}

/* How many rows are kept with this number of stretches. */
static int mark_all(const double *const *column, int ncolumn, int rows, int stretches,
                    unsigned char *is_kept)
{
    int n = 0;
    memset(is_kept, 0, (size_t)rows);
    is_kept[0] = is_kept[rows - 1] = 1;
    for (int s = 0; s < stretches; s++) {
        int first = (int)((long long)rows * s / stretches),
            last = (int)((long long)rows * (s + 1) / stretches);
        for (int c = 0; c < ncolumn; c++) mark(column[c], first, last, is_kept);
    }
    for (int i = 0; i < rows; i++) n += is_kept[i];
    return n;
}

/* Mark at most `most` rows, and hardly fewer: pages of similar runs are of similar size. */
static int mark_most(const double *const *column, int ncolumn, int rows, int most,
                     unsigned char *is_kept)
{
    int few = 0, many = most / 2 + 1; /* stretches that keep few enough rows, and too many */
    for (int stretches = most / 2;; stretches = few + (many - few) / 2) {
        int n = mark_all(column, ncolumn, rows, stretches, is_kept);
        if (n <= most)
            few = stretches;
        else
            many = stretches;
        if (stretches == 0 || (n <= most && (n > most - most / 16 || many == few + 1))) return n;
    }
}

int *perp__thin(const double *const *column, int ncolumn, int rows, int most, int *kept)
{
    unsigned char *is_kept = malloc((size_t)rows + 1);
    if (!is_kept) return NULL;
    memset(is_kept, 1, (size_t)rows + 1);
    int n = rows > most ? mark_most(column, ncolumn, rows, most, is_kept) : rows;
    int *row = malloc(((size_t)n + 1) * sizeof *row);
    *kept = 0;
    for (int i = 0; i < rows && row; i++) {
        if (is_kept[i]) row[(*kept)++] = i;
    }
    free(is_kept);
    return row;
}
