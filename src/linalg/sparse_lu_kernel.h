/* The functions of sparse_lu.c, which includes this once for each type: SCALAR, its absolute value
 * SIZE, PRODUCT, IS_FINITE. NAME and LOCAL make the names of functions.
 *
 * A = L U, rows and columns in the order of steps. Row i of A, its columns in their units, is the
 * sum of L[i,k] times row k of U, which has a unit diagonal. Entries of L in the columns of earlier
 * diagonal blocks are those of A: they carry the solution from block to block. */

struct LU {
    int n, is_out_of_memory, has_pivots, is_factored, has_targets;
    const int *start, *column;
    double growth; /* the least quotient of the largest of a row of A and of L */
    perp__arena arena;
    perp__sparse_order order;
    fill L, U;
    SCALAR *l, *u, *pivot, *x; /* x: the row that is eliminated, n; right sides, 4 n */
    int *own;                  /* of each row of L: its first entry in the diagonal block */
    int *place;                /* of each column: the step whose diagonal it is on */
    int *step;                 /* of each place: the step whose pivot it is; -1: none yet */
    int *preferred, *prefers;  /* the preferred place of each step, and its inverse */
    int *column_of;            /* of each step: its pivot's column */
    double *unit, *unit_of;    /* powers of two that multiply the columns, by place and by step */
    int *target;               /* of each entry of A: the step of its column; -1: it was 0 */
    int *mark, *stack, *from, *list, *pruned; /* of the depth-first search */
};

static int LOCAL(take)(LU *lu)
{
    perp__arena *a = &lu->arena;
    int **ints[] = {&lu->order.row, &lu->order.column, &lu->order.block, &lu->own,
                    &lu->place,     &lu->step,         &lu->preferred,   &lu->prefers,
                    &lu->column_of, &lu->mark,         &lu->stack,       &lu->from,
                    &lu->list,      &lu->pruned,       &lu->L.start,     &lu->U.start};
    for (size_t k = 0; k < sizeof ints / sizeof *ints; k++) PERP_TAKE(a, *ints[k], lu->n + 1);
    PERP_TAKE(a, lu->pivot, lu->n + 1);
    PERP_TAKE(a, lu->x, 4 * (size_t)lu->n + 1);
    PERP_TAKE(a, lu->unit, lu->n + 1);
    PERP_TAKE(a, lu->unit_of, lu->n + 1);
    PERP_TAKE(a, lu->target, lu->start[lu->n] + 1);
    return !a->failed;
}

LU *NAME(_create)(int n, const int *start, const int *column)
{
    LU *lu = calloc(1, sizeof *lu);
    if (!lu) return NULL;
    lu->n = n;
    lu->start = start;
    lu->column = column;
    if (!LOCAL(take)(lu) || !perp__sparse_order_find(n, start, column, &lu->order)) {
        NAME(_destroy)(lu);
        return NULL;
    }
    for (int k = 0; k < n; k++) lu->place[lu->order.column[k]] = k;
    return lu;
}

void NAME(_destroy)(LU *lu)
{
    if (!lu) return;
    free(lu->L.index);
    free(lu->U.index);
    free(lu->l);
    free(lu->u);
    perp__arena_clear(&lu->arena);
    free(lu);
}

/* Units of the columns: with them and with those of rows, all powers of two, each row and then each
 * column has a largest entry between 1 and 2. */
static void LOCAL(find_units)(LU *lu, const SCALAR *value)
{
    for (int p = 0; p < lu->n; p++) lu->unit[p] = 0;
    for (int i = 0; i < lu->n; i++) {
        double largest = 0;
        for (int e = lu->start[i]; e < lu->start[i + 1]; e++)
            if (SIZE(value[e]) > largest) largest = SIZE(value[e]);
        double factor = 1 / power_below(largest);
        for (int e = lu->start[i]; e < lu->start[i + 1]; e++) {
            double *unit = &lu->unit[lu->place[lu->column[e]]], size = SIZE(value[e]) * factor;
            if (size > *unit) *unit = size;
        }
    }
    for (int p = 0; p < lu->n; p++) lu->unit[p] = 1 / power_below(lu->unit[p]);
}

static int LOCAL(room)(fill *f, SCALAR **value, int more)
{
    return perp__grow(&f->index, &f->capacity, f->used + more, sizeof *f->index) &&
           perp__grow(value, &f->capacity_of_values, f->used + more, sizeof **value);
}

/* Depth first: Gilbert and Peierls (1988) ------------------------------------------------------ */

/* Put the steps that row i needs for its entry in place p before those in the list, each before the
 * steps that need it. Places without a pivot join row i of U. Returns where the list begins. */
static int LOCAL(reach)(LU *lu, int i, int p, int top)
{
    const int *index = lu->U.index;
    int depth = 0;
    if (lu->step[p] < 0) {
        lu->U.index[lu->U.used++] = p;
        return top;
    }
    lu->stack[0] = lu->step[p];
    lu->from[0] = lu->U.start[lu->step[p]];
    while (depth >= 0) {
        int s = lu->stack[depth], at = lu->from[depth], end = lu->pruned[s];
        for (; at < end; at++) {
            int other = index[at];
            if (lu->mark[other] == i) continue;
            lu->mark[other] = i;
            if (lu->step[other] >= 0) break;
            lu->U.index[lu->U.used++] = other;
        }
        if (at == end) {
            lu->list[--top] = s;
            depth--;
            continue;
        }
        lu->from[depth++] = at + 1;
        lu->stack[depth] = lu->step[index[at]];
        lu->from[depth] = lu->U.start[lu->stack[depth]];
    }
    return top;
}

/* Put row i of A into x, and the steps that it needs into the list. *largest: of the entries in the
 * diagonal block. Returns where the list begins. */
static int LOCAL(scatter)(LU *lu, const SCALAR *value, int i, int first, double *largest)
{
    int row = lu->order.row[i], top = lu->n;
    for (int e = lu->start[row]; e < lu->start[row + 1]; e++) {
        int p = lu->place[lu->column[e]];
        SCALAR x = value[e] * lu->unit[p];
        lu->target[e] = value[e] == 0 ? -1 : 0;
        if (value[e] == 0) continue;
        if (p < first) {
            lu->L.index[lu->L.used] = lu->step[p];
            lu->l[lu->L.used++] = x;
            continue;
        }
        lu->x[p] = x;
        if (SIZE(x) > *largest) *largest = SIZE(x);
        if (lu->mark[p] == i) continue;
        lu->mark[p] = i;
        top = LOCAL(reach)(lu, i, p, top);
    }
    return top;
}

/* Subtract from x the rows of U in the list. Returns the largest multiplier. */
static double LOCAL(eliminate)(LU *lu, int i, int top)
{
    double largest = 0;
    SCALAR *x = lu->x;
    lu->own[i] = lu->L.used;
    for (int k = top; k < lu->n; k++) {
        int s = lu->list[k], end = lu->U.start[s + 1];
        SCALAR *at = &x[lu->place[lu->column_of[s]]], f = *at;
        *at = 0;
        lu->L.index[lu->L.used] = s;
        lu->l[lu->L.used++] = f;
        if (f == 0) continue;
        if (SIZE(f) > largest) largest = SIZE(f);
        for (int t = lu->U.start[s]; t < end; t++) x[lu->U.index[t]] -= PRODUCT(f, lu->u[t]);
    }
    return largest;
}

/* The entry of row i of U that becomes the pivot: the preferred one unless it is too small. Returns
 * -1: all are 0, or one is not finite. */
static int LOCAL(choose)(const LU *lu, int i)
{
    int best = -1, preferred = -1;
    double largest = 0, at_preferred = 0;
    for (int t = lu->U.start[i]; t < lu->U.used; t++) {
        double size = SIZE(lu->x[lu->U.index[t]]);
        if (lu->U.index[t] == lu->preferred[i]) {
            preferred = t;
            at_preferred = size;
        }
        if (!(size <= largest)) {
            largest = size;
            best = t;
        }
    }
    if (best < 0 || !isfinite(largest)) return -1;
    return at_preferred > 0 && at_preferred >= PERP_PIVOT_SHARE * largest ? preferred : best;
}

/* Entry t of row i of U becomes the pivot and leaves the row, which is divided by it. The step that
 * prefers this place gets the place that step i preferred. */
static void LOCAL(divide)(LU *lu, int i, int t)
{
    SCALAR *x = lu->x;
    int p = lu->U.index[t];
    SCALAR pivot = lu->pivot[i] = x[p];
    x[p] = 0;
    lu->U.index[t] = lu->U.index[--lu->U.used];
    for (int k = lu->U.start[i]; k < lu->U.used; k++) {
        int at = lu->U.index[k];
        lu->u[k] = x[at] / pivot;
        x[at] = 0;
    }
    if (p != lu->preferred[i]) {
        int other = lu->prefers[p];
        lu->preferred[other] = lu->preferred[i];
        lu->prefers[lu->preferred[i]] = other;
    }
    lu->step[p] = i;
    lu->column_of[i] = lu->order.column[p];
}

/* Symmetric pruning (Eisenstat and Liu 1992). If row s of U, which row i used, has an entry at the
 * position of pivot i, then row i reaches all positions without a pivot that row s has. So later
 * searches from s end after the positions that have a pivot now. */
static void LOCAL(prune)(LU *lu, int i)
{
    int p = lu->place[lu->column_of[i]];
    for (int k = lu->own[i]; k < lu->L.used; k++) {
        int s = lu->L.index[k], end = lu->U.start[s + 1], at = lu->U.start[s];
        if (lu->pruned[s] < end) continue;
        while (at < end && lu->U.index[at] != p) at++;
        if (at == end) continue;
        int out = lu->U.start[s];
        for (at = out; at < end; at++) {
            int index = lu->U.index[at];
            SCALAR u = lu->u[at];
            if (lu->step[index] < 0) continue;
            lu->U.index[at] = lu->U.index[out];
            lu->u[at] = lu->u[out];
            lu->U.index[out] = index;
            lu->u[out++] = u;
        }
        lu->pruned[s] = out;
    }
}

static int LOCAL(factor_row)(LU *lu, const SCALAR *value, int i, int first, int end)
{
    int row = lu->order.row[i];
    if (!LOCAL(room)(&lu->L, &lu->l, lu->start[row + 1] - lu->start[row] + i - first) ||
        !LOCAL(room)(&lu->U, &lu->u, end - i)) {
        lu->is_out_of_memory = 1;
        return 0;
    }
    lu->L.start[i] = lu->L.used;
    lu->U.start[i] = lu->U.used;
    double largest = 0, most;
    int top = LOCAL(scatter)(lu, value, i, first, &largest);
    most = LOCAL(eliminate)(lu, i, top);
    int t = LOCAL(choose)(lu, i);
    if (t < 0) return 0;
    LOCAL(divide)(lu, i, t);
    lu->L.start[i + 1] = lu->L.used;
    lu->U.start[i + 1] = lu->pruned[i] = lu->U.used;
    if (end - first > 1) lu->growth = fmin(lu->growth, largest / fmax(most, SIZE(lu->pivot[i])));
    if (top < lu->n) LOCAL(prune)(lu, i);
    return 1;
}

static int LOCAL(factor_blocks)(LU *lu, const SCALAR *value)
{
    const int *block = lu->order.block;
    for (int b = 0; b < lu->order.nblock; b++) {
        for (int i = block[b]; i < block[b + 1]; i++)
            if (!LOCAL(factor_row)(lu, value, i, block[b], block[b + 1])) return 0;
        for (int t = lu->U.start[block[b]]; t < lu->U.used; t++)
            lu->U.index[t] = lu->step[lu->U.index[t]];
    }
    return 1;
}

int NAME(_factor)(LU *lu, const SCALAR *value)
{
    size_t bytes = (size_t)lu->n * sizeof(int);
    lu->is_out_of_memory = lu->is_factored = lu->has_pivots = lu->has_targets = 0;
    lu->L.used = lu->U.used = 0;
    lu->growth = 1;
    memset(lu->step, -1, bytes);
    memset(lu->mark, -1, bytes);
    memset(lu->x, 0, (size_t)lu->n * sizeof *lu->x);
    for (int k = 0; k < lu->n; k++) lu->preferred[k] = lu->prefers[k] = k;
    LOCAL(find_units)(lu, value);
    if (!LOCAL(factor_blocks)(lu, value)) return 0;
    for (int k = 0; k < lu->n; k++) lu->unit_of[k] = lu->unit[lu->place[lu->column_of[k]]];
    return lu->is_factored = lu->has_pivots = 1;
}

/* Again with the same pivots ------------------------------------------------------------------- */

static void LOCAL(find_targets)(LU *lu)
{
    for (int e = 0; e < lu->start[lu->n]; e++)
        if (lu->target[e] >= 0) lu->target[e] = lu->step[lu->place[lu->column[e]]];
    lu->has_targets = 1;
}

/* Put row i of A into x. *largest: of the entries in the diagonal block. Returns 0 if an entry that
 * was 0 is not 0 any more. */
static int LOCAL(scatter_again)(LU *lu, const SCALAR *value, int i, int first, double *largest)
{
    int row = lu->order.row[i];
    for (int e = lu->start[row]; e < lu->start[row + 1]; e++) {
        int k = lu->target[e];
        if (k < 0) {
            if (value[e] != 0) return 0;
            continue;
        }
        SCALAR x = lu->x[k] = value[e] * lu->unit_of[k];
        if (k >= first && SIZE(x) > *largest) *largest = SIZE(x);
    }
    return 1;
}

/* The values of row i of L and U from x, which is 0 afterwards. Returns the largest of L in the
 * diagonal block. */
static double LOCAL(eliminate_again)(LU *lu, int i)
{
    SCALAR *x = lu->x;
    double largest = 0;
    int k = lu->L.start[i];
    for (; k < lu->own[i]; k++) {
        lu->l[k] = x[lu->L.index[k]];
        x[lu->L.index[k]] = 0;
    }
    for (; k < lu->L.start[i + 1]; k++) {
        int s = lu->L.index[k], end = lu->U.start[s + 1];
        SCALAR f = lu->l[k] = x[s];
        x[s] = 0;
        if (SIZE(f) > largest) largest = SIZE(f);
        for (int t = lu->U.start[s]; t < end; t++) x[lu->U.index[t]] -= PRODUCT(f, lu->u[t]);
    }
    SCALAR pivot = lu->pivot[i] = x[i];
    x[i] = 0;
    for (int t = lu->U.start[i]; t < lu->U.start[i + 1]; t++) {
        lu->u[t] = x[lu->U.index[t]] / pivot;
        x[lu->U.index[t]] = 0;
    }
    return fmax(largest, SIZE(pivot));
}

int NAME(_refactor)(LU *lu, const SCALAR *value)
{
    const int *block = lu->order.block;
    double growth = 1;
    if (!lu->has_pivots) return 0;
    lu->is_out_of_memory = lu->is_factored = 0;
    if (!lu->has_targets) LOCAL(find_targets)(lu);
    memset(lu->x, 0, (size_t)lu->n * sizeof *lu->x);
    for (int b = 0; b < lu->order.nblock; b++) {
        int is_single = block[b + 1] == block[b] + 1;
        for (int i = block[b]; i < block[b + 1]; i++) {
            double largest = 0;
            if (!LOCAL(scatter_again)(lu, value, i, block[b], &largest)) return 0;
            double most = LOCAL(eliminate_again)(lu, i);
            if (!(SIZE(lu->pivot[i]) > 0) || !IS_FINITE(lu->pivot[i])) return 0;
            if (!is_single && !(largest >= growth * most)) growth = largest / most;
        }
    }
    return lu->is_factored = growth >= PERP_TOL_GROWTH * lu->growth;
}

int NAME(_fill)(const LU *lu)
{
    return lu->is_factored ? lu->L.used + lu->n + lu->U.used : 0;
}

int NAME(_out_of_memory)(const LU *lu)
{
    return lu->is_out_of_memory;
}

/* Solutions ------------------------------------------------------------------------------------ */

/* Solve for `wide` right sides that are n apart, block by block: L, then U. */
static inline PERP_INLINE void LOCAL(solve_some)(const LU *lu, SCALAR *b, int wide)
{
    const int *block = lu->order.block, *row = lu->order.row, n = lu->n;
    SCALAR *x = lu->x;
    for (int i = 0; i < n; i++)
        for (int r = 0; r < wide; r++) x[i * wide + r] = b[row[i] + r * n];
    for (int d = 0; d < lu->order.nblock; d++) {
        for (int i = block[d]; i < block[d + 1]; i++) {
            SCALAR *to = x + i * wide;
            for (int k = lu->L.start[i]; k < lu->L.start[i + 1]; k++) {
                const SCALAR *from = x + lu->L.index[k] * wide;
                for (int r = 0; r < wide; r++) to[r] -= PRODUCT(lu->l[k], from[r]);
            }
            for (int r = 0; r < wide; r++) to[r] /= lu->pivot[i];
        }
        for (int i = block[d + 1] - 2; i >= block[d]; i--) {
            SCALAR *to = x + i * wide;
            for (int k = lu->U.start[i]; k < lu->U.start[i + 1]; k++) {
                const SCALAR *from = x + lu->U.index[k] * wide;
                for (int r = 0; r < wide; r++) to[r] -= PRODUCT(lu->u[k], from[r]);
            }
        }
    }
    for (int i = 0; i < n; i++)
        for (int r = 0; r < wide; r++)
            b[lu->column_of[i] + r * n] = x[i * wide + r] * lu->unit_of[i];
}

int NAME(_solve)(LU *lu, SCALAR *b, int count)
{
    if (!lu->is_factored) return 0;
    for (; count >= 4; count -= 4, b += 4 * (size_t)lu->n) LOCAL(solve_some)(lu, b, 4);
    for (; count > 0; count--, b += lu->n) LOCAL(solve_some)(lu, b, 1);
    return 1;
}

int NAME(_solve_transposed)(LU *lu, SCALAR *b)
{
    const int *block = lu->order.block;
    SCALAR *x = lu->x;
    if (!lu->is_factored) return 0;
    for (int i = 0; i < lu->n; i++) x[i] = b[lu->column_of[i]] * lu->unit_of[i];
    for (int d = lu->order.nblock - 1; d >= 0; d--) {
        for (int i = block[d]; i < block[d + 1]; i++)
            for (int k = lu->U.start[i]; k < lu->U.start[i + 1]; k++)
                x[lu->U.index[k]] -= PRODUCT(lu->u[k], x[i]);
        for (int i = block[d + 1] - 1; i >= block[d]; i--) {
            x[i] /= lu->pivot[i];
            for (int k = lu->L.start[i]; k < lu->L.start[i + 1]; k++)
                x[lu->L.index[k]] -= PRODUCT(lu->l[k], x[i]);
        }
    }
    for (int i = 0; i < lu->n; i++) b[lu->order.row[i]] = x[i];
    return 1;
}

#undef SCALAR
#undef LU
#undef NAME
#undef LOCAL
#undef SIZE
#undef PRODUCT
#undef IS_FINITE
