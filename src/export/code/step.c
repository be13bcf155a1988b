/* ---- A step: the same text for every model ------------------------------------------------------
 *
 * A step asks for the unknowns y (states at its end, vars, and two slacks for each two-sided pair)
 * with
 *
 *     equations   their rows are 0
 *     pairs       0 <= row a perp row b >= 0; where its guard is off, another row is 0 instead
 *
 * The rows are A y + c, by Newton's iteration where they are not affine. First the zero sides of
 * the last step are tried. Where a condition fails, the unknowns are eliminated from the other
 * sides, Lemke's method pivots on what is left, ties broken lexicographically, and its basis says
 * which sides are zero. The conditions as they were written then decide: each must hold on a scale
 * of its own, the sum of its |terms|. */

static real size_of(real x)
{
    return x < 0 ? -x : x;
}

static real larger(real a, real b)
{
    return a > b ? a : b;
}

static int is_number(real x)
{
    return x - x == 0;
}

/* Is the guard of pair p on? */
static int is_on(const work *s, int p)
{
    return !HAS_GUARDS || s->on[p];
}

/* Rows ---------------------------------------------------------------------------------------- */

static real row_times(const work *s, int r, const real *x)
{
    real sum = 0;
    for (int k = row_start[r]; k < row_start[r + 1]; k++) sum += s->a[k] * x[column[k]];
    return sum;
}

/* The sum of |terms| of a row, the unknowns with these sizes. */
static real row_terms(const work *s, int r, const real *size)
{
    real sum = size_of(s->c[r]);
    for (int k = row_start[r]; k < row_start[r + 1]; k++)
        sum += size_of(s->a[k]) * size_of(size[column[k]]);
    return sum;
}

/* After coefficients were evaluated at the present y: A, and c of row = A y + c. */
static int take_rows(work *s)
{
    const real *y = s->w + W_Y;
    int ok = 1;
    for (int k = 0; k < NENTRY; k++) {
        s->a[entry[k]] = s->w[entry_at[k]];
        ok &= is_number(s->a[entry[k]]);
    }
    if (NENTRY > 0) s->holds = NOTHING;
    for (int i = 0; i < NCHANGING; i++) {
        int r = changing[i];
        s->c[r] = s->w[row_at[r]] - (NONLINEAR ? row_times(s, r, y) : 0);
        ok &= is_number(s->c[r]);
    }
    return ok;
}

/* Values of the rows by the conditions as they were written. */
static void take_conditions(work *s)
{
    COMMON_CONDITIONS(s->w);
    put_values(s, s->w);
}

/* The same of the linear rows. */
static void take_linear(work *s)
{
    for (int r = 0; r < NROW; r++) s->value[r] = s->c[r] + row_times(s, r, s->w + W_Y);
}

/* Verdict ------------------------------------------------------------------------------------- */

/* What the other terms of row r leave for the unknown of its nonzero k. */
static real left_for(const work *s, int r, int k)
{
    real a = size_of(s->a[k]), left = row_terms(s, r, s->own) - a * s->own[column[k]];
    if (!(a > 0)) return R(INFINITY);
    return left > 0 ? left / a : 0;
}

static void raise_least(work *s, const place *row, const place *at, int n)
{
    for (int i = 0; i < n; i++) s->least[column[at[i]]] = R(INFINITY);
    for (int i = 0; i < n; i++)
        s->least[column[at[i]]] = -larger(-s->least[column[at[i]]], -left_for(s, row[i], at[i]));
    for (int i = 0; i < n; i++) {
        real least = s->least[column[at[i]]], *own = &s->own[column[at[i]]];
        if (is_number(least)) *own = larger(*own, least);
    }
}

/* The size by which each unknown is judged where it stands alone. Vars have that of their equation,
 * states that of their rates, others the least that their equations allow. */
static void find_sizes(work *s)
{
    for (int j = 0; j < NY; j++) s->own[j] = larger(size_of(s->w[W_Y + j]), declared[j]);
    for (int j = 0; NSHARP > 0 && s->moves && j < NY; j++)
        s->own[j] = larger(s->own[j], size_of(s->base[j]));
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < NDEFINED; i++) {
            int j = column[defined_at[i]];
            real left = left_for(s, defined_row[i], defined_at[i]);
            if (is_number(left)) s->own[j] = larger(s->own[j], left);
        }
        for (int j = 0; j < NX; j++) s->own[j] = larger(s->own[j], size_of(s->w[W_PRE + j]));
        raise_least(s, rate_row, rate_at, NRATE);
    }
    raise_least(s, force_row, force_at, NFORCE);
}

/* Rounding that there may be in row r, by the largest that states have been. */
static real rounding(const work *s, int r, const real *size)
{
    real sum = size_of(s->c[r]);
    for (int k = row_start[r]; k < row_start[r + 1]; k++) {
        int j = column[k];
        real x = size_of(size[j]);
        sum += size_of(s->a[k]) * (NX > 0 && j < NX ? larger(x, s->largest[j]) : x);
    }
    return ROUNDING * sum;
}

/* Is row r 0, or not below 0, to this tolerance? First with the unknowns themselves, then with
 * their sizes. */
static int row_holds(work *s, int r, real tol, int *has_sizes)
{
    real x = size_of(s->value[r]);
    if (x <= tol * size_of(s->c[r]) || x <= tol * row_terms(s, r, s->w + W_Y)) return 1;
    if (!is_number(x)) return 0;
    if (!*has_sizes) find_sizes(s);
    *has_sizes = 1;
    return x <= tol * row_terms(s, r, s->own) + rounding(s, r, s->own);
}

/* Does pair p hold? If it is exact, which is the rule, nothing else is checked. In floats kept
 * sides hold to `below` also if both are above 0: by TOL a block might slide for one more step. */
static int pair_holds(work *s, int p, real below, int *has_sizes, real *most)
{
    int on = is_on(s, p), r = on ? pair_a[p] : pair_off[p], q = pair_b[p];
    real a = s->value[r], b = on ? s->value[q] : 0, both = COMPENSATES ? below : TOL;
    if (on && a >= 0 && b >= 0 && (a == 0 || b == 0) && is_number(a + b)) return 1;
    if (!is_number(a) || !is_number(b)) return 0;
    *most = larger(*most, size_of(on && b < a ? b : a));
    if (!on) return a == 0 || row_holds(s, r, TOL, has_sizes);
    if (a < 0 && !row_holds(s, r, below, has_sizes)) return 0;
    if (b < 0 && !row_holds(s, q, below, has_sizes)) return 0;
    return a == 0 || b == 0 || row_holds(s, a < b ? r : q, both, has_sizes) ||
           row_holds(s, a < b ? q : r, both, has_sizes);
}

/* Do all conditions hold? below: the tolerance for sides that must not be negative. */
static int all_hold(work *s, real below)
{
    int has_sizes = 0;
    real most = 0, most_h = 0; /* of the rows times h */
    for (int i = 0; i < NEQUATION; i++) {
        real x = size_of(s->value[i]);
        if (x == 0) continue;
        if (i < NOWN && has_h[i])
            most_h = larger(most_h, x);
        else
            most = larger(most, x);
        if (!row_holds(s, i, TOL, &has_sizes)) return 0;
    }
    for (int p = 0; p < NP; p++)
        if (!pair_holds(s, p, below, &has_sizes, &most)) return 0;
    for (int i = 0; i < NASSIGNED; i++)
        if (!is_number(s->w[assigned_at[i]])) return 0;
    s->residual = most_h > 0 ? larger(most, most_h / s->w[W_H]) : most;
    return 1;
}

/* The largest residual, each condition in the unit of its row: what Newton's steps must reduce. */
static real merit_of(const work *s)
{
    real most = 0;
    for (int i = 0; i < NEQUATION; i++) {
        real x = size_of(s->value[i]) * factor[i];
        if (!(x <= most)) most = x;
    }
    for (int p = 0; p < NP; p++) {
        int r = is_on(s, p) ? pair_a[p] : pair_off[p];
        real a = s->value[r] * factor[r],
             b = is_on(s, p) ? s->value[pair_b[p]] * factor[pair_b[p]] : a;
        real x = size_of(a < b ? a : b);
        if (!(x <= most)) most = x;
    }
    return most;
}

/* Linear algebra ------------------------------------------------------------------------------ */

/* The row of the matrix next: one that has a single entry left, so that what it fixes is exact;
 * else the one with the largest. */
static int choose_row(const work *s, int *at)
{
    real most = 0;
    int best = -1;
    for (int i = 0; i < NY; i++) {
        const real *row = s->inverse + i * NY;
        real largest = 0;
        int entries = 0, first = 0;
        if (s->unknown_of[i] >= 0) continue;
        for (int j = 0; j < NY; j++) {
            real x = size_of(row[j]);
            if (x == 0 || s->row_of[j] >= 0) continue;
            entries++;
            if (x > largest) {
                largest = x;
                first = j;
            }
        }
        if (entries == 1 && largest > LEAST_PIVOT) {
            *at = first;
            return i;
        }
        if (largest > most) {
            most = largest;
            best = i;
            *at = first;
        }
    }
    return most > LEAST_PIVOT ? best : -1;
}

static void exchange(real *a, real *b)
{
    real x = *a;
    *a = *b;
    *b = x;
}

/* Invert the matrix of the rows s->row, in place (Gauss, Jordan), rows and columns scaled by powers
 * of two. Column k belongs to the right-hand side of row k. 0: singular. */
static int invert(work *s)
{
    real *scale = s->rhs;
    s->holds = NOTHING;
    for (int i = 0; i < NY * NY; i++) s->inverse[i] = 0;
    for (int i = 0; i < NY; i++) {
        int r = s->row[i], exponent = 0;
        real most = 0, *row = s->inverse + i * NY;
        for (int k = row_start[r]; k < row_start[r + 1]; k++) {
            row[column[k]] = s->a[k] * unit[column[k]];
            most = larger(most, size_of(row[column[k]]));
        }
        if (most == 0 || !is_number(most)) return 0;
        (void)MATH(frexp)(most, &exponent);
        scale[i] = MATH(ldexp)(1, -exponent);
        for (int j = 0; j < NY; j++) row[j] *= scale[i];
        s->unknown_of[i] = s->row_of[i] = -1;
    }
    for (int n = 0; n < NY; n++) {
        int c = 0, r = choose_row(s, &c);
        if (r < 0) return 0;
        real *pivot = s->inverse + r * NY, p = pivot[c];
        s->unknown_of[r] = (place)c;
        s->row_of[c] = (place)r;
        pivot[c] = 1;
        for (int j = 0; j < NY; j++) pivot[j] /= p;
        for (int i = 0; i < NY; i++) {
            real *row = s->inverse + i * NY, f = row[c];
            if (i == r || f == 0) continue;
            row[c] = 0;
            for (int j = 0; j < NY; j++) {
                real x = row[j] - f * pivot[j];
                row[j] = COMPENSATES && size_of(x) <= SINGULAR_BELOW * size_of(row[j]) ? 0 : x;
            }
        }
    }
    for (int i = 0; i < NY; i++) { /* columns into the order of the right-hand sides */
        real *row = s->inverse + i * NY;
        for (int k = 0; k < NY; k++)
            s->sum[k] = row[s->unknown_of[k]] * scale[k] * unit[s->unknown_of[i]];
        for (int k = 0; k < NY; k++) row[k] = s->sum[k];
    }
    for (int i = 0; i < NY; i++) /* rows into the order of the unknowns */
        while (NY > 1 && s->unknown_of[i] != i) {
            int to = s->unknown_of[i];
            for (int k = 0; k < NY; k++)
                exchange(&s->inverse[i * NY + k], &s->inverse[to * NY + k]);
            s->unknown_of[i] = s->unknown_of[to];
            s->unknown_of[to] = (place)to;
        }
    for (int i = 0; i < NY; i++) /* and column by column */
        for (int k = 0; k < i; k++) exchange(&s->inverse[i * NY + k], &s->inverse[k * NY + i]);
    return 1;
}

/* The rows of the matrix that determine one unknown each, one after the other: a force that is 0,
 * the torque with it, the velocity. With these it is exact where rows fix it. Then vars that
 * equations define. */
static void find_order(work *s)
{
    place *row_at_place = s->order_row, *unknown = s->order_at;
    int n = 0, more = 1;
    for (int j = 0; j < NY; j++) s->known[j] = 0;
    for (int i = 0; i < NY; i++) s->is_taken[i] = 0;
    while (more) {
        more = 0;
        for (int i = 0; i < NY; i++) {
            int r = s->row[i], open = 0, last = 0;
            for (int k = row_start[r]; k < row_start[r + 1]; k++)
                if (!s->known[column[k]]) {
                    open++;
                    last = k;
                }
            if (s->is_taken[i] || open != 1 || s->a[last] == 0) continue;
            row_at_place[n] = (place)r;
            unknown[n++] = (place)last;
            s->known[column[last]] = s->is_taken[i] = 1;
            more = 1;
        }
    }
    s->is_triangular = n == NY;
    for (int d = 0; d < NDEFINED; d++) {
        int k = defined_at[d];
        if (s->known[column[k]] || is_side[column[k]] || s->a[k] == 0) continue;
        row_at_place[n] = defined_row[d];
        unknown[n++] = (place)k;
    }
    s->norder = n;
}

static void settle(work *s)
{
    real *y = s->w + W_Y;
    for (int i = 0; i < s->norder; i++) {
        int r = s->order_row[i], own = s->order_at[i];
        real sum = s->c[r];
        for (int k = row_start[r]; k < own; k++) sum += s->a[k] * y[column[k]];
        for (int k = own + 1; k < row_start[r + 1]; k++) sum += s->a[k] * y[column[k]];
        y[column[own]] = (0 - sum) / s->a[own];
    }
}

/* y = inverse of rhs, or is moved back by it. rhs: one for each of s->row. */
static void apply(work *s, int moves)
{
    real *y = s->w + W_Y, *to = moves ? s->sum : y;
    for (int j = 0; j < NY; j++) to[j] = 0;
    for (int k = 0; k < NY; k++) {
        const real *of = s->inverse + k * NY;
        real f = s->rhs[k];
        if (f == 0) continue;
        for (int j = 0; j < NY; j++) to[j] += f * of[j];
    }
    for (int j = 0; j < NY && moves; j++) y[j] -= to[j];
}

/* What of the row of place i is on the right: z of a pair that was eliminated. */
static real right_of(const work *s, int i)
{
    int p = i - NEQUATION;
    return s->holds == SIDES && p >= 0 && is_on(s, p) ? s->z[p] : 0;
}

static void refine(work *s)
{
    for (int i = 0; i < NY; i++)
        s->rhs[i] = s->c[s->row[i]] + row_times(s, s->row[i], s->w + W_Y) - right_of(s, i);
    apply(s, 1);
}

/* y of the rows that the inverse is of. Rows that change, and many, are solved to the last
 * digit. */
static void solve_rows(work *s)
{
    if (s->holds == MODE && s->is_triangular) { /* its rows say it one after the other */
        settle(s);
        return;
    }
    for (int i = 0; i < NY; i++) s->rhs[i] = 0 - s->c[s->row[i]];
    for (int p = 0; p < NP && s->holds == SIDES; p++)
        s->rhs[NEQUATION + p] += right_of(s, NEQUATION + p);
    apply(s, 0);
    if (NONLINEAR || NY >= 24) refine(s);
    if (s->holds == MODE) settle(s);
}

/* Conditions, as they were written or inside of Newton's iteration linear. */
static int answer_holds(work *s, real below)
{
    if (NONLINEAR || (NSHARP > 0 && s->moves))
        take_linear(s);
    else
        take_conditions(s);
    return all_hold(s, below);
}

/* Modes --------------------------------------------------------------------------------------- */

/* Which row of pair p is 0: 0 or 1 for a side, 2 where its guard is off. */
static signed char zero_of(const work *s, int p)
{
    return (signed char)(is_on(s, p) ? s->choice[p] : 2);
}

static int is_same_mode(const work *s)
{
    for (int p = 0; p < NP; p++)
        if (s->key[p] != zero_of(s, p)) return 0;
    return 1;
}

/* The inverse for the zero sides of the present choice. 0: singular. */
static int has_mode(work *s)
{
    if (s->holds != NOTHING && is_same_mode(s)) {
        if (s->holds == MODE) return 1;
        if (s->is_singular) return 0; /* and the other inverse stays */
    }
    for (int i = 0; i < NEQUATION; i++) s->row[i] = (place)i;
    for (int p = 0; p < NP; p++) {
        s->key[p] = zero_of(s, p);
        if (s->key[p] == 0)
            s->row[NEQUATION + p] = pair_a[p];
        else if (s->key[p] == 1)
            s->row[NEQUATION + p] = pair_b[p];
        else
            s->row[NEQUATION + p] = pair_off[p];
    }
    s->is_singular = !invert(s);
    s->holds = s->is_singular ? NOTHING : MODE;
    if (!s->is_singular) find_order(s);
    return !s->is_singular;
}

/* The inverse for the equations and the sides that are eliminated to. */
static int has_sides(work *s)
{
    int is_same = s->holds == SIDES;
    for (int p = 0; HAS_GUARDS && p < NP; p++) is_same &= s->was_on[p] == s->on[p];
    if (is_same) return 1;
    for (int i = 0; i < NEQUATION; i++) s->row[i] = (place)i;
    for (int p = 0; p < NP; p++) {
        s->was_on[p] = s->on[p];
        if (!is_on(s, p))
            s->row[NEQUATION + p] = pair_off[p];
        else if (side[p])
            s->row[NEQUATION + p] = pair_b[p];
        else
            s->row[NEQUATION + p] = pair_a[p];
    }
    if (!invert(s)) return 0;
    s->holds = SIDES;
    return 1;
}

/* Lemke's method ------------------------------------------------------------------------------ */

/* A power of two near 1 / sqrt(x). */
static real half_way(real x)
{
    int exponent = 0;
    if (x > 0 && is_number(x)) (void)MATH(frexp)(x, &exponent);
    return MATH(ldexp)(1, -(exponent / 2));
}

/* Rows and columns of M by powers of two until their largest entries are near 1 (Ruiz 2001); q and
 * z go along. */
static void equilibrate(work *s, int n)
{
    for (int i = 0; i < n; i++) s->column_scale[i] = 1;
    for (int sweep = 0; sweep < 6; sweep++) {
        for (int i = 0; i < n; i++) {
            real *row = s->tableau + i * TABLEAU, most = 0;
            for (int j = 0; j < n; j++) most = larger(most, size_of(row[n + j]));
            real f = half_way(most);
            for (int j = 0; j < n; j++) row[n + j] *= f;
            row[2 * n + 1] *= f;
        }
        for (int j = 0; j < n; j++) {
            real most = 0;
            for (int i = 0; i < n; i++)
                most = larger(most, size_of(s->tableau[i * TABLEAU + n + j]));
            real f = half_way(most);
            for (int i = 0; i < n; i++) s->tableau[i * TABLEAU + n + j] *= f;
            s->column_scale[j] *= f;
        }
    }
}

/* w - M z - z0 = q, a row for each pair whose guard is on: columns w, z, z0, q. more: relative
 * addition to the diagonal of M. */
static int write_tableau(work *s, real more)
{
    int n = 0;
    real most = 0;
    for (int p = 0; p < NP; p++)
        if (is_on(s, p)) s->active[n++] = (place)p;
    for (int i = 0; i < n; i++) {
        int r = side[s->active[i]] ? pair_a[s->active[i]] : pair_b[s->active[i]];
        real *row = s->tableau + i * TABLEAU, *g = s->sum, *terms = s->rhs, q = s->c[r];
        for (int j = 0; j < NY; j++) g[j] = terms[j] = 0;
        for (int k = row_start[r]; k < row_start[r + 1]; k++) {
            for (int j = 0; j < NY; j++) {
                real x = s->a[k] * s->inverse[j * NY + column[k]];
                g[j] += x;
                terms[j] += size_of(x);
            }
        }
        for (int j = 0; j < NY; j++)
            if (size_of(g[j]) <= SINGULAR_BELOW * terms[j]) g[j] = 0; /* cancelled to nothing */
        for (int k = 0; k < NY; k++) q -= g[k] * s->c[s->row[k]];
        for (int j = 0; j < n; j++) {
            int k = NEQUATION + s->active[j];
            row[j] = (real)(i == j);
            row[n + j] = -g[k] * factor[r] / factor[s->row[k]];
            if (i == j) most = larger(most, size_of(row[n + j]));
        }
        row[2 * n] = -1;
        row[2 * n + 1] = q * factor[r];
        s->basic[i] = (place)i;
    }
    for (int i = 0; i < n; i++) s->tableau[i * TABLEAU + n + i] -= more * most;
    equilibrate(s, n);
    return n;
}

static void pivot_on(work *s, int n, int r, int c)
{
    real *row = s->tableau + r * TABLEAU, p = row[c];
    for (int j = 0; j < 2 * n + 2; j++) row[j] /= p;
    row[c] = 1;
    for (int i = 0; i < n; i++) {
        real *other = s->tableau + i * TABLEAU, f = other[c];
        if (i == r || f == 0) continue;
        for (int j = 0; j < 2 * n + 2; j++) other[j] -= f * row[j];
        other[c] = 0;
    }
    s->basic[r] = (place)c;
}

/* Is x below y, above it, or are they tied? */
static int compare(real x, real y)
{
    real d = x - y;
    if (size_of(d) <= TIED * (size_of(x) + size_of(y))) return 0;
    if (d < 0) return -1;
    return 1;
}

/* The leaving row for entering column c: the least ratio, ties broken as if q were q + (e, e^2,
 * ...); z0 first. -1: a ray. */
static int leaving_row(const work *s, int n, int c)
{
    real most = 0;
    int best = -1;
    for (int i = 0; i < n; i++) most = larger(most, s->tableau[i * TABLEAU + c]);
    for (int i = 0; i < n; i++) {
        const real *row = s->tableau + i * TABLEAU,
                   *least = s->tableau + (best < 0 ? i : best) * TABLEAU;
        if (!(row[c] > PIVOT_ABOVE * larger(most, 1))) continue;
        if (best < 0) {
            best = i;
            continue;
        }
        int order =
            compare(larger(row[2 * n + 1], 0) / row[c], larger(least[2 * n + 1], 0) / least[c]);
        if (order == 0 && s->basic[i] == 2 * n) order = -1;
        if (order == 0 && s->basic[best] == 2 * n) order = 1;
        for (int j = 0; order == 0 && j < n; j++)
            order = compare(row[j] / row[c], least[j] / least[c]);
        if (order < 0) best = i;
    }
    return best;
}

/* Pivot until z0 leaves. */
static int lemke(work *s, int n)
{
    real least = 0;
    int r = -1, enters;
    for (int i = 0; i < n; i++) {
        real q = s->tableau[i * TABLEAU + 2 * n + 1];
        if (q < 0 && q <= least) {
            least = q;
            r = i;
        }
    }
    enters = 2 * n;
    for (int k = 0; r >= 0 && k < MOST_PIVOTS; k++) {
        int leaves = s->basic[r];
        pivot_on(s, n, r, enters);
        s->pivots++;
        if (leaves == 2 * n) return SOLVED;
        enters = leaves < n ? leaves + n : leaves - n;
        r = leaving_row(s, n, enters);
        if (r < 0) return NO_SOLUTION;
    }
    return r < 0 ? SOLVED : LIMIT;
}

/* z, and the sides that the basis leaves at 0. */
static void read_tableau(work *s, int n)
{
    for (int p = 0; p < NP; p++) s->z[p] = 0;
    for (int i = 0; i < n; i++) {
        int p = s->active[i];
        s->choice[p] = side[p];
    }
    for (int i = 0; i < n; i++) {
        int v = s->basic[i] - n;
        if (v < 0 || v >= n) continue;
        int p = s->active[v], r = s->row[NEQUATION + p];
        s->z[p] = larger(s->tableau[i * TABLEAU + 2 * n + 1], 0) * s->column_scale[v] / factor[r];
        s->choice[p] = (signed char)!side[p];
    }
}

/* y from z, and then from the zero sides themselves, where these determine it: what they fix is
 * exact. */
static int take_answer(work *s, int n)
{
    int holds = 0;
    read_tableau(s, n);
    solve_rows(s);
    for (int round = 0; round < 2 && !(holds = answer_holds(s, TOL)); round++) refine(s);
    for (int j = 0; j < NY; j++) s->other[j] = s->w[W_Y + j];
    if (has_mode(s)) {
        solve_rows(s);
        for (int round = 0; round < 2; round++) {
            if (answer_holds(s, TOL)) return SOLVED;
            refine(s);
        }
    }
    for (int j = 0; j < NY; j++) s->w[W_Y + j] = s->other[j];
    return holds && answer_holds(s, TOL) ? SOLVED : UNVERIFIED;
}

/* The linear conditions: by the zero sides of the last step, else by elimination and pivoting.
 * Redundant contacts make M singular, and rounding may then leave no solution. A small addition to
 * its diagonal gives one, which must satisfy the unchanged conditions. */
static int solve_linear(work *s)
{
    static const real share[] = {0, R(1e-12), R(1e-10), R(1e-8)};
    int outcome = SINGULAR, first = SINGULAR;
    if (has_mode(s)) {
        solve_rows(s);
        if (answer_holds(s, TOL_KEPT)) return SOLVED;
    }
    for (int k = 0; k < 4 && outcome != SOLVED; k++) {
        if (!has_sides(s)) break;
        int n = write_tableau(s, share[k] * (EPSILON / R(2.22e-16)));
        outcome = lemke(s, n);
        if (outcome == SOLVED) outcome = take_answer(s, n);
        if (k == 0) first = outcome;
    }
    return outcome == SOLVED ? SOLVED : first;
}

/* Steps --------------------------------------------------------------------------------------- */

static void evaluate_guards(work *s)
{
    COMMON_GUARDS(s->w);
    for (int p = 0; HAS_GUARDS && p < NP; p++)
        s->on[p] = (signed char)(guard_at[p] < 0 || s->w[guard_at[p]] > 0);
}

/* Conditions where gaps are evaluated in pairs of floats: values of all rows at y and what it lost;
 * states were `early` off before the step. */
static void take_exactly(work *s)
{
    take_conditions(s);
    for (int r = 0; NSHARP > 0 && r < NROW; r++)
        for (int k = row_start[r]; k < row_start[r + 1]; k++)
            if (column[k] < NX) s->value[r] += s->a[k] * (s->lost[column[k]] - s->early[column[k]]);
    take_gaps(s);
}

/* After take_exactly: solve the linear conditions for the change of y, numbers as small as the
 * residuals. Forces and sides are then those of exact gaps. carries: the lost parts of states are
 * kept. */
static int move_on(work *s, int carries)
{
    enum { SLACK = NY - 2 * (NEQUATION - NOWN) };
    real *y = s->w + W_Y;
    for (int p = 0; p < NP; p++) {
        int a = pair_a[p], b = pair_b[p], at = row_start[a], to = row_start[b];
        if (at < row_start[a + 1] && column[at] >= SLACK) y[column[at]] = s->value[a];
        if (to < row_start[b + 1] && column[to] >= SLACK) y[column[to]] = s->value[b];
    }
    for (int r = 0; r < NROW; r++) s->c[r] = s->value[r];
    for (int j = 0; j < NY; j++) {
        s->base[j] = y[j];
        y[j] = 0;
    }
    s->moves = 1;
    int outcome = solve_linear(s);
    s->moves = 0;
    for (int j = 0; j < NY; j++) {
        real d = outcome == SOLVED ? y[j] : 0, from = s->base[j];
        int is_carried = carries && outcome == SOLVED && j < NX;
        if (is_carried && !(from == 0 && d == 0)) d += s->lost[j];
        y[j] = from + d;
        if (is_carried) s->lost[j] = d - (y[j] - from);
    }
    for (int r = 0; r < NROW; r++)
        s->c[r] = s->w[row_at[r]] - (NONLINEAR ? row_times(s, r, s->base) : 0);
    return outcome;
}

static real evaluate(work *s)
{
    take_exactly(s);
    return merit_of(s);
}

/* From base towards y as far as the residual falls. The share of the way, or 0. */
static real search(work *s, real before, real *merit)
{
    real *y = s->w + W_Y;
    for (int j = 0; j < NY; j++) s->full[j] = y[j];
    for (real share = R(0.5); share > R(1e-4); share /= 2) {
        for (int j = 0; j < NY; j++) y[j] = s->base[j] + share * (s->full[j] - s->base[j]);
        *merit = evaluate(s);
        if (*merit <= (1 - R(1e-4) * share) * before) return share;
    }
    return 0;
}

/* Newton's iteration (Josephy): linearise, solve the linear conditions, go there as far as the
 * residual falls, until it falls no more. */
static int solve_newton(work *s)
{
    const real share = COMPENSATES ? R(0.99) : R(0.5); /* floats' TOL holds before it is done */
    real *y = s->w + W_Y, before = evaluate(s), merit = before;
    for (int k = 0; k < MOST_ITERATIONS; k++, before = merit) {
        COMMON_ROWS(s->w);
        COMMON_SLOPES(s->w);
        if (!take_rows(s)) return BAD_NUMBER;
        for (int j = 0; j < NY; j++) s->base[j] = y[j];
        int outcome = NSHARP > 0 ? move_on(s, 0) : solve_linear(s);
        if (outcome != SOLVED) return outcome;
        merit = evaluate(s);
        if ((merit == 0 || merit > share * before) && all_hold(s, TOL)) return SOLVED;
        if (merit <= (1 - R(1e-4)) * before || search(s, before, &merit) > 0) continue;
        for (int j = 0; j < NY; j++) y[j] = s->base[j];
        merit = evaluate(s);
        if (all_hold(s, TOL)) return SOLVED;
        for (int j = 0; j < NY; j++) y[j] = s->full[j]; /* a full step may leave a kink behind */
        merit = evaluate(s);
        if (!(merit < 1000 * before) || k > MOST_ITERATIONS / 2) return LIMIT;
    }
    return all_hold(s, TOL) ? SOLVED : LIMIT; /* a double root is approached by halves */
}

/* Only floats: the rounded-off parts of the states follow from the conditions as written. They are
 * propagated, and added once they count. */
static void compensate(work *s)
{
    real *y = s->w + W_Y, *move = s->other;
    for (int i = 0; i < NY; i++) s->rhs[i] = s->value[s->row[i]] - right_of(s, i);
    for (int j = 0; j < NX; j++) s->full[j] = y[j];
    for (int j = 0; j < NY; j++) {
        move[j] = y[j];
        y[j] = 0;
    }
    apply(s, 1);
    for (int j = 0; j < NY; j++) {
        real d = y[j];
        y[j] = move[j];
        if (j >= NX || (y[j] == 0 && d == 0)) continue;
        d += s->lost[j];
        y[j] += d;
        move[j] = d - (y[j] - move[j]);
    }
    take_conditions(s);
    int holds = all_hold(s, TOL);
    for (int j = 0; j < NX; j++) {
        int is_fixed = s->full[j] == 0 && y[j] == 0;
        s->lost[j] = holds && !is_fixed ? move[j] : 0;
        if (!holds) y[j] = s->full[j];
    }
    if (!holds) take_conditions(s);
}

/* Once for the sides, and once where these have changed. */
static void sharpen(work *s)
{
    real *y = s->w + W_Y;
    int ok = 1;
    for (int j = 0; j < NY; j++) s->full[j] = y[j];
    for (int round = 0; round < 2 && ok; round++) {
        take_exactly(s);
        ok = move_on(s, 1) == SOLVED;
    }
    take_exactly(s);
    if (ok && all_hold(s, TOL)) return;
    for (int j = 0; j < NX; j++) s->lost[j] = 0;
    for (int j = 0; j < NY; j++) y[j] = s->full[j];
    take_conditions(s);
    (void)all_hold(s, TOL);
}

static int solve_once(work *s)
{
    for (int j = 0; j < NX; j++) s->largest[j] = larger(s->largest[j], size_of(s->w[W_PRE + j]));
    for (int j = 0; (NONLINEAR || HAS_GUARDS) && j < NY; j++)
        if (!is_number(s->w[W_Y + j])) s->w[W_Y + j] = first_y[j];
    evaluate_guards(s);
    int outcome = BAD_NUMBER;
    if (NONLINEAR) {
        outcome = solve_newton(s);
    } else {
        COMMON_ROWS(s->w);
        COMMON_SLOPES(s->w);
        if (take_rows(s)) outcome = solve_linear(s);
    }
    return outcome;
}

static int is_closed(const work *s)
{
    for (int i = 0; i < NGAP; i++)
        if (s->w[gap_force_at[i]] > 0) return 1;
    return 0;
}

/* A step that begins or ends in a contact stated by positions is taken with theta = 1 for these. */
static int solve_step(work *s)
{
    for (int i = 0; NGAP > 0 && i < NSYMBOL; i++) s->beginning[i] = s->w[i];
    int outcome = solve_once(s);
    if (NGAP > 0 && outcome == SOLVED && !s->closed && is_closed(s)) {
        for (int i = 0; i < NSYMBOL; i++) s->w[i] = s->beginning[i];
        s->w[W_THETA] = 1;
        outcome = solve_once(s);
    }
    if (outcome != SOLVED) return outcome;
    if (NSHARP > 0)
        sharpen(s);
    else if (COMPENSATES && s->holds != NOTHING)
        compensate(s);
    s->closed = is_closed(s);
    return SOLVED;
}

/* Inputs --------------------------------------------------------------------------------------- */

static real table_value(const real *time, const real *value, int n, real t)
{
    int low = 0, high = n - 1;
    real slack = R(8) * EPSILON * (size_of(t) + time[n - 1] - time[0]);
    if (!(t >= time[0] - slack && t <= time[n - 1] + slack)) return R(NAN);
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (t < time[middle])
            high = middle;
        else
            low = middle;
    }
    real share = (t - time[low]) / (time[high] - time[low]);
    if (share < 0)
        share = 0;
    else if (share > 1)
        share = 1;
    return share == 1 ? value[high] : value[low] + share * (value[high] - value[low]);
}

/* Input k as it was set, on the way there from what it was at the beginning of the step. */
static real held_at(const work *s, int k, real t)
{
    real share = (t - s->begin) / (s->end - s->begin);
    if (t == s->end || !is_number(s->from[k])) return s->held[k];
    return s->from[k] + share * (s->held[k] - s->from[k]);
}

static real from_table(int k, real t)
{
    return table[k].n > 0 ? table_value(table[k].time, table[k].value, table[k].n, t) : R(NAN);
}

/* At the end of a part of a step, and at its beginning: what was at the end of the one before. */
static void put_inputs(work *s, real t0, real t1)
{
    COMMON_INPUTS(s->w);
    for (int k = 0; k < NINPUT; k++) {
        real *before = &s->w[W_TABLE_PRE + k], *now = &s->w[W_TABLE + k];
        *before = *now;
        if (s->held[k] == s->held[k]) /* it was set */
        {
            *before = held_at(s, k, t0);
            *now = held_at(s, k, t1);
        } else
            *now = formula_at[k] >= 0 ? s->w[formula_at[k]] : from_table(k, t1);
    }
}

/* ---- Functions of the header ----------------------------------------------------------------- */

static void put_parameters(work *s, real h)
{
    s->w[W_H] = h;
    COMMON_PARAMETERS(s->w);
    for (int k = 0; k < NVARIED; k++) s->a[varied[k]] = s->w[varied_at[k]];
    s->holds = NOTHING;
}

static void begin(work *s, const real *param)
{
    static const work zero;
    *s = zero;
    for (int i = 0; i < NCONSTANT; i++) s->w[constant_at[i]] = constant_value[i];
    for (int k = 0; k < NNONZERO; k++) s->a[k] = value_of[k];
    for (int r = 0; r < NROW; r++) s->c[r] = s->w[row_at[r]];
    for (int k = 0; k < NINPUT; k++) s->held[k] = s->from[k] = R(NAN);
    for (int i = 0; i < NSYMBOL; i++) s->w[i] = R(NAN);
    for (int k = 0; k < NPARAM; k++) s->w[W_PARAM + k] = param ? param[k] : parameter[k];
    put_parameters(s, STEP);
    s->w[W_T] = START;
    s->w[W_T_PRE] = R(NAN);
    COMMON_INITIAL(s->w);
    for (int j = 0; j < NX; j++) s->w[W_Y + j] = s->w[initial_at[j]];
    s->residual = R(NAN);
    s->begin = s->end = START;
    put_inputs(s, START, START);
    for (int k = 0; k < NINPUT; k++) s->w[W_TABLE_PRE + k] = R(NAN);
    COMMON_OUTPUTS(s->w);
}

/* One part of a step, of length h. */
static int advance(work *s, real t0, real t1, real h)
{
    for (int j = 0; j < NX; j++) s->w[W_PRE + j] = s->w[W_Y + j];
    for (int j = 0; NSHARP > 0 && j < NX; j++) s->early[j] = s->lost[j];
    s->w[W_T] = t1;
    s->w[W_T_PRE] = t0;
    s->w[W_H] = h;
    s->w[W_THETA] = s->closed ? 1 : THETA;
    put_inputs(s, t0, t1);
    return solve_step(s);
}

/* A step; where it has no solution and may be divided, in halves of halves. */
static int go(work *s)
{
    enum { PARTS = HAS_HALVES ? 1024 : 1 };
    real t0 = START + (real)s->steps * STEP, t1 = START + (real)(s->steps + 1) * STEP;
    int outcome = SOLVED, was_closed = s->closed;
    for (int i = 0; i < NSYMBOL; i++) s->before[i] = s->w[i];
    for (int j = 0; COMPENSATES && j < NX; j++) s->lost_before[j] = s->lost[j];
    for (int k = 0; k < NINPUT; k++) s->from[k] = s->w[W_TABLE + k];
    s->begin = t0;
    s->end = t1;
    s->pivots = 0;
    for (int done = 0, part = PARTS; done < PARTS;) {
        real a = t0 + (t1 - t0) * (real)done / PARTS,
             b = done + part == PARTS ? t1 : t0 + (t1 - t0) * (real)(done + part) / PARTS;
        for (int i = 0; PARTS > 1 && i < NSYMBOL; i++) s->start_of_part[i] = s->w[i];
        outcome = advance(s, a, b, part == PARTS ? STEP : STEP * (real)part / PARTS);
        if (outcome == SOLVED) {
            done += part;
            while (part < PARTS && done % (2 * part) == 0) part *= 2;
        } else {
            if (part == 1) break;
            for (int i = 0; i < NSYMBOL; i++) s->w[i] = s->start_of_part[i];
            part /= 2;
        }
    }
    if (outcome != SOLVED) {
        for (int i = 0; i < NSYMBOL; i++) s->w[i] = s->before[i];
        for (int j = 0; j < NX; j++) s->lost[j] = s->lost_before[j];
        s->closed = was_closed;
        return outcome;
    }
    for (int i = 0; i < NASSIGNED; i++) s->w[W_Y + NY + i] = s->w[assigned_at[i]];
    s->steps++;
    COMMON_OUTPUTS(s->w);
    return SOLVED;
}
