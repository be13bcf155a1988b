/* One step, numerically. First the mode of the last step is tried: one matrix-vector product. If a
 * condition fails there, the complementarity problem is formed and solved, its basis is the new
 * mode, and the unknowns come from that mode's linear system, so that what the mode fixes (a
 * velocity at 0) is exact. Either way the original conditions decide. */

#include "base/tol.h"
#include "linalg/invert.h"
#include "simulate/step.h"
#include "simulate/vertices.h"
#include "solve/solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A step of Newton with old slopes must make the residual smaller by this. */
#define SLOW 0.5

/* Where such a step gains nothing, so many roundings are all that is left. */
#define NEARLY 100

/* Unknowns from which elimination and pivoting cost more than a friction problem where no mode is
 * regular. */
enum { FRICTION_FROM = 200 };

/* Row r of the full matrix. */
static void fill_row(const perp__step *s, int r)
{
    const perp__layout *l = s->layout;
    double *row = s->cache.A + (size_t)r * (size_t)l->ny;
    memset(row, 0, (size_t)l->ny * sizeof(double));
    for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++)
        row[l->column[k]] = s->state.slopes.value[k];
}

void perp__step_fill(perp__step *s)
{
    for (int r = 0; r < s->layout->nrow && !s->cache.newton.has_full; r++) fill_row(s, r);
    s->cache.newton.has_full = 1;
}

/* Coefficients, guards ------------------------------------------------------------------------ */

static void evaluate_guards(perp__step *s)
{
    const perp__layout *l = s->layout;
    if (l->tape.guards.nout == 0) {
        memset(s->state.on, 1, (size_t)l->np);
        return;
    }
    perp__tape_eval(&l->tape.guards, s->ws);
    for (int p = 0; p < l->np; p++) {
        int g = l->tape.guard_of[l->pair[p].of];
        int held = g >= 0 && s->held ? s->held[l->pair[p].of] : 0;
        if (held) s->ws[l->tape.guards.out[g]] = held > 0;
        s->state.on[p] = (char)(g < 0 || s->ws[l->tape.guards.out[g]] > 0);
    }
}

/* Row r of A times y. */
static double row_times(const perp__step *s, int r, const double *y)
{
    const perp__layout *l = s->layout;
    double sum = 0;
    for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++)
        sum += s->state.slopes.value[k] * y[l->column[k]];
    return sum;
}

/* c: row(y) = c + A y at the present y, where the rows were evaluated. */
static void take_constants(perp__step *s)
{
    const perp__layout *l = s->layout;
    const int *out = l->tape.coefficients.out;
    const double *y = s->ws + l->sym.y;
    for (int r = 0; r < l->nrow; r++) s->cache.c[r] = s->ws[out[r]];
    for (int r = 0; l->nonlinear && r < l->nrow; r++) s->cache.c[r] -= row_times(s, r, y);
    memcpy(s->cache.newton.at, y, (size_t)l->ny * sizeof(double));
}

/* The entries of A that change, after their evaluation. */
static void take_slopes(perp__step *s)
{
    const perp__layout *l = s->layout;
    const int *out = l->tape.coefficients.out + l->nrow;
    for (int k = 0; k < l->nentry; k++) s->state.slopes.value[l->entry[k]] = s->ws[out[k]];
    for (int i = 0; i < s->cache.modes.nmode; i++) s->cache.modes.mode[i].used = 0;
    for (int i = 0; i < s->cache.modes.nelimination; i++) s->cache.modes.elimination[i].used = 0;
    s->cache.newton.has_full = 0;
    s->state.slopes.are_known = 1;
    s->state.slopes.h = s->ws[SYM_H];
    s->state.slopes.theta = s->ws[SYM_THETA];
    perp__sparse_slopes_changed(s);
}

/* Linearise at the present y, where the rows were evaluated: with the slopes of now, or those that
 * A has. */
static void linearise(perp__step *s, int anew)
{
    const perp__layout *l = s->layout;
    const perp__tape *tape = &l->tape.coefficients;
    s->cache.newton.is_old = !anew;
    if (anew) {
        perp__tape_eval_part(tape, s->ws, l->nrow_code, tape->ncode);
        take_slopes(s);
    }
    take_constants(s);
}

static void evaluate_coefficients(perp__step *s)
{
    const perp__layout *l = s->layout;
    s->cache.newton.is_old = 0;
    if (l->nonlinear) perp__step_evaluate(s);
    perp__tape_eval(&l->tape.coefficients, s->ws);
    if (!l->constant) take_slopes(s);
    take_constants(s);
}

static int all_finite(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) return 0;
    }
    return 1;
}

static int coefficients_are_finite(const perp__step *s)
{
    const perp__layout *l = s->layout;
    return all_finite(s->cache.c, (size_t)l->nrow) &&
           all_finite(s->state.slopes.value, (size_t)l->row_start[l->nrow]);
}

/* Verification: the conditions as they were written (verdict.c), or linearised
 * ------------------ */

/* The linearised rows, with the unknowns' sizes in s->sizes.own. */
static perp__verdict judge_rows(perp__step *s)
{
    const perp__layout *l = s->layout;
    perp__verdict v = {.worst = -1};
    const perp_model *m = s->model;
    const double *y = s->ws + l->sym.y;
    for (int i = 0; i < l->nequation + l->np; i++) {
        const perp__rows *pair = i < l->nequation ? NULL : &l->pair[i - l->nequation];
        int off = pair && !s->state.on[i - l->nequation];
        int row = off ? l->pair[i - l->nequation].off : i;
        perp__amount a = perp__step_row_amount(s, pair && !off ? pair->a : row, y);
        perp__amount b = pair && !off ? perp__step_row_amount(s, pair->b, y) : a;
        double smaller = a.value < b.value ? a.value : b.value, r = fabs(smaller);
        int is_pair = pair && !off;
        double error = is_pair ? perp__error_pair(a, b) : perp__error_zero(a);
        double breach = is_pair ? fmax(perp__error_negative(a), perp__error_negative(b)) : 0;
        if (!(r <= v.residual)) v.residual = r;
        if (error > v.error) {
            v.worst = i < l->nown ? l->marks.equation[i] : -1;
            if (pair) v.worst = m->nequation + pair->of;
            v.off = r;
        }
        v.error = perp__worse(v.error, error);
        v.breach = perp__worse(v.breach, breach);
    }
    return v;
}

/* Do the linearised rows hold by their own terms alone? Sizes of unknowns only help, and cost
 * more. */
static int rows_hold(const perp__step *s)
{
    const perp__layout *l = s->layout;
    for (int i = 0; i < l->nequation; i++)
        if (!perp__step_row_holds(s, i, s->tol, 1)) return 0;
    for (int p = 0; p < l->np; p++) {
        const perp__rows *pair = &l->pair[p];
        if (!s->state.on[p] && !perp__step_row_holds(s, pair->off, s->tol, 1)) return 0;
        if (!s->state.on[p]) continue;
        if (!perp__step_row_holds(s, pair->a, PERP_TOL_MODE, 0) ||
            !perp__step_row_holds(s, pair->b, PERP_TOL_MODE, 0))
            return 0;
        if (!perp__step_row_holds(s, pair->a, s->tol, 1) &&
            !perp__step_row_holds(s, pair->b, s->tol, 1))
            return 0;
    }
    return 1;
}

/* The same inside a Newton step, whose last point is verified as it was written. */
static perp__verdict verify_rows(perp__step *s)
{
    if (rows_hold(s)) return (perp__verdict){.worst = -1};
    perp__step_size(s);
    return judge_rows(s);
}

/* What an affine solve is held to. */
static perp__verdict judge(perp__step *s)
{
    return s->layout->nonlinear ? verify_rows(s) : perp__step_verify(s);
}

/* Modes --------------------------------------------------------------------------------------- */

static void mode_key(perp__step *s)
{
    for (int p = 0; p < s->layout->np; p++)
        s->cache.modes.key[p] = s->state.on[p] ? s->state.choice[p] : 2;
}

/* The matrix of the mode s->cache.key: from the cache, or inverted now; without memory it counts as
 * singular. */
static perp__mode *find_mode(perp__step *s)
{
    const perp__layout *l = s->layout;
    size_t np = (size_t)l->np, ny = (size_t)l->ny;
    if (s->cache.modes.current && s->cache.modes.current->used &&
        memcmp(s->cache.modes.current->key, s->cache.modes.key, np) == 0)
        return s->cache.modes.current;
    perp__mode *m = NULL;
    for (int i = 0; i < s->cache.modes.nmode && !m; i++) {
        if (s->cache.modes.mode[i].used &&
            memcmp(s->cache.modes.mode[i].key, s->cache.modes.key, np) == 0)
            m = &s->cache.modes.mode[i];
    }
    if (m) return m;
    m = &s->cache.modes.mode[s->cache.modes.next_mode];
    m->singular = 1;
    if (!perp__step_has_mode(s, m)) return m;
    s->cache.modes.next_mode = (s->cache.modes.next_mode + 1) % s->cache.modes.nmode;
    memcpy(m->key, s->cache.modes.key, np);
    m->used = 1;
    m->norder = -1;
    for (int i = 0; i < l->nequation; i++) m->row[i] = i;
    for (int p = 0; p < l->np; p++) {
        const perp__rows *rows = &l->pair[p];
        int of_side[] = {rows->a, rows->b}, side = s->cache.modes.key[p];
        m->row[l->nequation + p] = side < 2 ? of_side[side] : rows->off;
    }
    double *B = s->cache.lcp.matrix;
    for (size_t i = 0; i < ny; i++)
        memcpy(B + i * ny, s->cache.A + (size_t)m->row[i] * ny, ny * sizeof(double));
    m->singular = !perp__invert(l->ny, B, l->ny, perp__step_units(s), m->S, s->cache.lcp.work,
                                s->cache.lcp.index);
    return m;
}

/* y = S (-c) over the mode's rows. */
static void apply_mode(perp__step *s, const perp__mode *m)
{
    const perp__layout *l = s->layout;
    double *restrict y = s->ws + l->sym.y;
    int ny = l->ny;
    memset(y, 0, (size_t)ny * sizeof(double));
    for (int k = 0; k < ny; k++) {
        double f = 0.0 - s->cache.c[m->row[k]];
        const double *restrict column = m->S + (size_t)k * (size_t)ny;
        if (f == 0) continue;
        for (int i = 0; i < ny; i++) y[i] += f * column[i];
    }
}

/* One step of iterative refinement: y -= inverse (A y + c - (0, z)) over these rows; the last nz
 * are those of z. */
static void refine(perp__step *s, const int *row, const double *inverse, int nz)
{
    const perp__layout *l = s->layout;
    const double *factor = perp__step_row_units(s);
    double *y = s->ws + l->sym.y, *r = s->cache.lcp.work;
    int ny = l->ny;
    for (int k = 0; k < ny; k++) {
        r[k] = s->cache.c[row[k]] + row_times(s, row[k], y);
        if (k >= ny - nz) r[k] -= s->cache.lcp.z[k - (ny - nz)] / factor[row[k]];
    }
    for (int k = 0; k < ny; k++) {
        const double *column = inverse + (size_t)k * (size_t)ny;
        if (r[k] == 0) continue;
        for (int i = 0; i < ny; i++) y[i] -= r[k] * column[i];
    }
}

/* The same; rows that change from step to step are solved to the last digit, since a force may be
 * the difference of positions divided by h^2. */
static void solve_mode(perp__step *s, perp__mode *m)
{
    apply_mode(s, m);
    if (s->layout->nonlinear) refine(s, m->row, m->S, 0);
    perp__step_settle_again(s, m->row, m->order, &m->norder);
}

/* Try the mode of the last step. */
static int keep_mode(perp__step *s, perp__verdict *v)
{
    mode_key(s);
    perp__mode *m = find_mode(s);
    if (m->singular) return 0;
    if (s->cache.newton.is_old) { /* a small step: what the rows lack at y */
        refine(s, m->row, m->S, 0);
        perp__step_settle(s, m->row);
    } else {
        solve_mode(s, m);
    }
    *v = judge(s);
    if (!(v->error <= s->tol && v->breach <= PERP_TOL_MODE)) return 0;
    s->cache.modes.current = m;
    return 1;
}

/* Elimination --------------------------------------------------------------------------------- */

/* Rows of T: equations, off rows of the pairs whose guard is off, the z sides. */
static void elimination_rows(const perp__step *s, perp__elimination *e)
{
    const perp__layout *l = s->layout;
    int n = 0;
    for (int i = 0; i < l->nequation; i++) e->row[n++] = i;
    for (int p = 0; p < l->np; p++) {
        if (!s->state.on[p]) e->row[n++] = l->pair[p].off;
    }
    e->nz = 0;
    for (int p = 0; p < l->np; p++) {
        if (!s->state.on[p]) continue;
        e->row[n++] = e->side[p] ? l->pair[p].b : l->pair[p].a;
        e->pair[e->nz++] = p;
    }
}

static int invert_T(perp__step *s, perp__elimination *e)
{
    const perp__layout *l = s->layout;
    size_t ny = (size_t)l->ny;
    double *T = s->cache.lcp.matrix;
    elimination_rows(s, e);
    for (size_t i = 0; i < ny; i++)
        memcpy(T + i * ny, s->cache.A + (size_t)e->row[i] * ny, ny * sizeof(double));
    return perp__invert(l->ny, T, l->ny, perp__step_units(s), e->T_inverse, s->cache.lcp.work,
                        s->cache.lcp.index);
}

/* K = W T^-1 for the sides W that are not z; these and z times the factors of their rows. */
static void multiply_other_sides(perp__step *s, perp__elimination *e)
{
    const perp__layout *l = s->layout;
    const double *factor = perp__step_row_units(s);
    int ny = l->ny, nz = e->nz;
    for (int j = 0; j < ny; j++) {
        const double *column = e->T_inverse + (size_t)j * (size_t)ny;
        for (int i = 0; i < nz; i++) {
            const perp__rows *rows = &l->pair[e->pair[i]];
            int w = e->side[e->pair[i]] ? rows->a : rows->b;
            double sum = 0, terms = 0;
            for (int k = l->row_start[w]; k < l->row_start[w + 1]; k++) {
                double x = s->state.slopes.value[k] * column[l->column[k]];
                sum += x;
                terms += fabs(x);
            }
            double x = fabs(sum) > PERP_TOL_SINGULAR * terms ? sum * factor[w]
                                                             : 0; /* cancelled to nothing */
            e->K[(size_t)j * (size_t)nz + (size_t)i] = j < ny - nz ? x : x / factor[e->row[j]];
        }
    }
}

/* The elimination for the present guards: cached, or with the former sides if they still do, or
 * with new ones. */
static perp__elimination *find_elimination(perp__step *s, int *bad_row)
{
    const perp__layout *l = s->layout;
    size_t np = (size_t)l->np;
    *bad_row = -1;
    for (int i = 0; i < s->cache.modes.nelimination; i++) {
        perp__elimination *e = &s->cache.modes.elimination[i];
        if (!e->used || memcmp(e->key, s->state.on, np) != 0) continue;
        return e;
    }
    perp__elimination *e = &s->cache.modes.elimination[s->cache.modes.next_elimination];
    perp__z_sides *z = &s->state.z;
    if (!perp__step_has_elimination(s, e)) return NULL;
    int had_sides = z->are_known && memcmp(z->on, s->state.on, np) == 0;
    e->used = z->are_known = 0;
    memcpy(e->key, s->state.on, np);
    memcpy(e->side, z->side, np);
    if ((!had_sides || !invert_T(s, e)) &&
        (!perp__choose_sides(s, s->state.on, e->side, s->cache.newton.bad, bad_row,
                             s->cache.lcp.work, s->cache.lcp.index) ||
         !invert_T(s, e)))
        return NULL;
    z->are_known = 1;
    memcpy(z->on, e->key, np);
    memcpy(z->side, e->side, np);
    multiply_other_sides(s, e);
    e->used = 1;
    s->cache.modes.next_elimination =
        (s->cache.modes.next_elimination + 1) % s->cache.modes.nelimination;
    s->state.count.eliminations++;
    s->state.count.work += 2 * (double)l->ny * l->ny * l->ny;
    return e;
}

/* Counted as pivots of all methods that were tried, which are half as quick as those of interior
 * points with 8 unknowns. */
static void solve_lcp(perp__step *s, const perp_lcp *lcp, perp_lcp_info *info)
{
    double n = lcp->n;
    perp_lcp_solve(s->cache.lcp.solver, lcp, s->cache.lcp.z, s->cache.lcp.w, info);
    s->state.count.work += info->iterations * n * n * (1 + n / 8);
}

/* q = c_w - K c_T */
static void form_q(perp__step *s, const perp__elimination *e)
{
    const perp__layout *l = s->layout;
    const double *factor = perp__step_row_units(s);
    for (int i = 0; i < e->nz; i++) {
        const perp__rows *rows = &l->pair[e->pair[i]];
        int w = e->side[e->pair[i]] ? rows->a : rows->b;
        s->cache.lcp.q[i] = s->cache.c[w] * factor[w];
    }
    for (int j = 0; j < l->ny; j++) {
        const double *restrict column = e->K + (size_t)j * (size_t)e->nz;
        double f = s->cache.c[e->row[j]] * (j < l->ny - e->nz ? 1 : factor[e->row[j]]);
        if (f == 0) continue;
        for (int i = 0; i < e->nz; i++) s->cache.lcp.q[i] -= f * column[i];
    }
}

/* y = T^-1 ((0, z) - c_T): for a mode whose own matrix is singular. */
static void back_substitute(perp__step *s, const perp__elimination *e)
{
    const perp__layout *l = s->layout;
    const double *factor = perp__step_row_units(s);
    double *y = s->ws + l->sym.y;
    int ny = l->ny, first = ny - e->nz;
    memset(y, 0, (size_t)ny * sizeof(double));
    for (int k = 0; k < ny; k++) {
        double f = (k >= first ? s->cache.lcp.z[k - first] / factor[e->row[k]] : 0.0) -
                   s->cache.c[e->row[k]];
        const double *column = e->T_inverse + (size_t)k * (size_t)ny;
        for (int i = 0; i < ny; i++) y[i] += f * column[i];
    }
}

/* The sides that the solver left at zero are the new mode. */
static void read_mode(perp__step *s, const perp__elimination *e)
{
    const unsigned char *basis = perp_lcp_basis(s->cache.lcp.solver);
    for (int i = 0; i < e->nz; i++) {
        int z_positive = basis ? basis[i] : s->cache.lcp.z[i] > s->cache.lcp.w[i];
        int p = e->pair[i], z_side = e->side[p];
        s->state.choice[p] = (char)(z_positive ? !z_side : z_side);
    }
}

static void keep_verdict(perp__step_result *result, const perp__verdict *v)
{
    result->residual = v->residual;
    result->error = v->error;
    result->worst = v->worst;
    result->off = v->off;
}

static perp__step_result accept_or_not(perp__step *s, const perp__verdict *v,
                                       perp__step_result result)
{
    keep_verdict(&result, v);
    int holds = v->error <= s->tol;
    if (holds && (s->layout->nonlinear || !perp__step_has_grown(s))) return result;
    result.outcome = PERP_LIMIT;
    result.fault = holds ? PERP__UNDECIDED : PERP__UNVERIFIED;
    return result;
}

/* Judge y, and where it does not hold, y refined. */
static perp__verdict judge_refined(perp__step *s, const int *row, const double *inverse, int nz)
{
    perp__verdict v = judge(s);
    for (int round = s->layout->nonlinear ? 1 : 0; round < 2 && !(v.error <= s->tol); round++) {
        refine(s, row, inverse, nz);
        v = judge(s);
    }
    return v;
}

/* The same of the answer by sparse factors. */
static perp__step_result judge_sparse(perp__step *s, perp__step_result result)
{
    perp__verdict v = judge(s);
    for (int round = 0; round < 2 && !(v.error <= s->tol); round++)
        if (perp__sparse_refine(s)) v = judge(s);
    return accept_or_not(s, &v, result);
}

/* The present mode's answer, by its own system: sparse factors, which the next step can use, too,
 * or else the inverse. */
static perp__step_result try_mode(perp__step *s, perp__step_result result)
{
    perp__step_result tried = result;
    if (s->cache.sparse && !s->layout->nonlinear && perp__sparse_apply_mode(s))
        tried = judge_sparse(s, result);
    else
        tried.outcome = PERP_LIMIT;
    if (tried.outcome == PERP_SOLVED) return tried;
    mode_key(s);
    s->cache.modes.current = find_mode(s);
    if (s->cache.modes.current->singular) return tried;
    solve_mode(s, s->cache.modes.current);
    perp__verdict v = judge_refined(s, s->cache.modes.current->row, s->cache.modes.current->S, 0);
    return accept_or_not(s, &v, result);
}

/* From the solver's z, w and basis to the unknowns: by the mode's own system, else by substitution.
 */
static perp__step_result take_answer(perp__step *s, const perp__elimination *e,
                                     perp__step_result result)
{
    result.outcome = PERP_SOLVED;
    result.fault = PERP__FINE;
    read_mode(s, e);
    perp__step_result accepted = try_mode(s, result);
    if (accepted.outcome == PERP_SOLVED) return accepted;
    back_substitute(s, e);
    perp__verdict v = judge_refined(s, e->row, e->T_inverse, e->nz);
    return accept_or_not(s, &v, result);
}

/* |A| x for the inverse of T (column-major), and for its rows. */
static void times_inverse(int n, const double *inverse, const double *x, double *out)
{
    for (int i = 0; i < n; i++) out[i] = 0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            out[i] += fabs(inverse[(size_t)j * (size_t)n + (size_t)i]) * x[j];
}

static double row_size(const perp__step *s, int r, const double *x)
{
    const perp__layout *l = s->layout;
    double sum = 0;
    for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++)
        sum += fabs(s->state.slopes.value[k]) * x[l->column[k]];
    return sum;
}

/* Mark the unknowns of row r, if all is set or one of them is marked. Returns 1 where that is
 * new. */
static int spread(const perp__step *s, int r, int all, char *mark)
{
    const perp__layout *l = s->layout;
    int first = l->row_start[r], end = l->row_start[r + 1], is_new = 0;
    for (int k = first; k < end && !all; k++) all = mark[l->column[k]];
    for (int k = first; k < end && all; k++) {
        is_new |= !mark[l->column[k]];
        mark[l->column[k]] = 1;
    }
    return is_new;
}

/* Does u prove the step infeasible although q = c_w - W inv(T) c_T was rounded: u'q < 0 by more
 * than that? Entries of inv(T) that should be 0 may be rounding of the largest unknown that the
 * rows of u depend on, in units in which the entries of T are near 1. */
static int outlasts_rounding(perp__step *s, const perp__elimination *e, const double *u)
{
    const perp__layout *l = s->layout;
    int ny = l->ny;
    const double *unit = perp__step_units(s), *factor = perp__step_row_units(s);
    double *x = s->cache.lcp.work, *y = x + ny, sum = 0, terms = 0, largest = 0;
    char *mark = s->cache.newton.dependent + l->nequation;
    memset(mark, 0, (size_t)ny);
    for (int i = 0; i < e->nz; i++) {
        const perp__rows *rows = &l->pair[e->pair[i]];
        if (u[i] > 0) spread(s, e->side[e->pair[i]] ? rows->a : rows->b, 1, mark);
    }
    for (int more = 1; more;) {
        more = 0;
        for (int j = 0; j < ny; j++) more |= spread(s, e->row[j], 0, mark);
    }
    for (int j = 0; j < ny; j++) x[j] = fabs(s->cache.c[e->row[j]]);
    times_inverse(ny, e->T_inverse, x, y);
    for (int j = 0; j < ny; j++) x[j] = row_size(s, e->row[j], y);
    times_inverse(ny, e->T_inverse, x, y);
    for (int j = 0; j < ny; j++)
        if (mark[j]) largest = fmax(largest, y[j] / unit[j]);
    for (int j = 0; j < ny; j++) y[j] = largest * unit[j];
    for (int i = 0; i < e->nz; i++) {
        const perp__rows *rows = &l->pair[e->pair[i]];
        int w = e->side[e->pair[i]] ? rows->a : rows->b;
        sum += u[i] * s->cache.lcp.q[i];
        terms += u[i] * (fabs(s->cache.c[w]) + row_size(s, w, y)) * factor[w];
    }
    return sum < -PERP_ROUNDING * ny * terms;
}

/* The step as a problem of complementarity, by an elimination; q is formed. */
static perp_lcp lcp_of(const perp__step *s, const perp__elimination *e)
{
    return (perp_lcp){e->nz,
                      e->K + (size_t)(s->layout->ny - e->nz) * (size_t)e->nz,
                      e->nz > 1 ? e->nz : 1,
                      s->cache.lcp.q,
                      NULL,
                      NULL};
}

/* Do the states after back_substitute differ from those of y, beyond what is verified of the terms
 * that they are made of? */
static int moves_otherwise(perp__step *s, const perp__elimination *e, const double *y)
{
    const perp__layout *l = s->layout;
    const double *factor = perp__step_row_units(s), *x = s->ws + l->sym.y;
    int first = l->ny - e->nz;
    for (int i = 0; i < l->nx; i++) {
        double terms = 0;
        for (int k = 0; k < l->ny; k++) {
            double z = k >= first ? s->cache.lcp.z[k - first] / factor[e->row[k]] : 0;
            terms += fabs(e->T_inverse[(size_t)k * (size_t)l->ny + (size_t)i]) *
                     (fabs(s->cache.c[e->row[k]]) + z);
        }
        if (fabs(x[i] - y[i]) > s->tol * terms) return 1;
    }
    return 0;
}

/* How much of a row of the problem is no rounding: beside its |terms|. */
static const double SURE = 1e-6;

/* Is a vertex another one than the present mode: is there a pair with another side at 0, and is
 * what it has in its place more than rounding of the problem? */
static int is_another(const perp__step *s, const perp__elimination *e, const perp_lcp *lcp,
                      unsigned set)
{
    const double *z = s->cache.lcp.z;
    int n = e->nz, found = 0;
    for (int i = 0; i < n; i++) {
        double w = lcp->q[i], terms = fabs(w);
        for (int j = 0; j < n; j++) {
            double part = lcp->M[(size_t)i + (size_t)j * (size_t)lcp->ldm] * z[j];
            w += part;
            terms += fabs(part);
        }
        for (int j = 0; j < n; j++) {
            int p = e->pair[j], is_in = (int)(set >> j & 1),
                zero = is_in ? !e->side[p] : e->side[p];
            if (zero == s->state.choice[p]) continue;
            double part = lcp->M[(size_t)i + (size_t)j * (size_t)lcp->ldm] * z[j];
            found |= is_in ? fabs(part) > SURE * terms : i == j && w > SURE * terms;
        }
    }
    return found;
}

/* May it be looked for other solutions? Of linear steps with few pairs, in any case once, and then
 * while all looks cost little beside the steps. more: what is done for it besides. */
static int may_look(perp__step *s, double more)
{
    const double SHARE = 0.01; /* of the work of the steps */
    perp__others *o = s->others;
    double n = s->layout->np, cost = ldexp(n * n * (1 + n / 3), s->layout->np) + more;
    if (!o || o->is_found || s->layout->nonlinear || s->layout->ncone || n == 0 ||
        n > PERP__VERTICES_MOST || (o->work > 0 && o->work + cost > SHARE * s->state.count.work))
        return 0;
    o->work += cost;
    return 1;
}

/* Has a step that was solved another verified solution, with other states? Both must be solutions
 * of the eliminated problem. A condition may hold to its own |terms| where a gap of 1e-13 decides,
 * in a very short step. */
static void look_for_others(perp__step *s, const perp__elimination *e)
{
    size_t size = (size_t)s->layout->ny * sizeof(double);
    double *y = s->ws + s->layout->sym.y, *kept = s->cache.lcp.work, z[PERP__VERTICES_MOST];
    perp_lcp lcp = lcp_of(s, e);
    int is_judged = 0, agrees = 0, has_other = 0;
    memcpy(kept, y, size);
    memcpy(z, s->cache.lcp.z, (size_t)e->nz * sizeof *z);
    for (unsigned set = 0; e->nz && !(agrees && has_other) &&
                           perp__next_vertex(&lcp, s->tol, &set, s->cache.lcp.z);) {
        back_substitute(s, e);
        int is_other = moves_otherwise(s, e, kept);
        agrees |= !is_other;
        if (!is_other || has_other || !is_another(s, e, &lcp, set - 1)) continue;
        is_judged = 1;
        has_other = judge(s).error <= s->tol;
    }
    s->others->is_found = agrees && has_other;
    memcpy(y, kept, size);
    memcpy(s->cache.lcp.z, z, (size_t)e->nz * sizeof *z);
    if (is_judged) judge(s);
}

/* The same of a step that kept its mode, and has no elimination. It leaves none, nor the sides of
 * one: the steps go on as without it. */
static void look_beside_mode(perp__step *s)
{
    double ny = s->layout->ny;
    if (!s->others || !may_look(s, 2 * ny * ny * ny)) return;
    perp__z_sides *z = &s->state.z;
    perp__counts count = s->state.count;
    size_t np = (size_t)s->layout->np;
    int were_known = z->are_known, bad_row;
    char on[PERP__VERTICES_MOST], side[PERP__VERTICES_MOST];
    memcpy(on, z->on, np);
    memcpy(side, z->side, np);
    s->state.slopes.are_known = 0;
    perp__elimination *e = find_elimination(s, &bad_row);
    if (e) {
        form_q(s, e);
        look_for_others(s, e);
        if (s->state.count.eliminations > count.eliminations) e->used = 0;
    }
    s->state.count = count;
    z->are_known = were_known;
    memcpy(z->on, on, np);
    memcpy(z->side, side, np);
}

static perp__step_result solve_anew(perp__step *s)
{
    const perp__layout *l = s->layout;
    perp__step_result result = {
        .outcome = PERP_BAD_INPUT, .fault = PERP__NOT_FINITE, .residual = NAN, .worst = -1};
    int bad_row;
    if (!coefficients_are_finite(s)) return result;
    s->state.slopes.are_known = 0; /* rows that depend on others are replaced in A */
    s->cache.newton.has_full = !l->nonlinear;
    result.fault = PERP__SINGULAR;
    perp__elimination *e = find_elimination(s, &bad_row);
    if (!e) return result;

    form_q(s, e);
    perp_lcp lcp = lcp_of(s, e);
    perp_lcp_info info = {.size = sizeof info};
    solve_lcp(s, &lcp, &info);
    result = (perp__step_result){.outcome = info.outcome,
                                 .fault = PERP__NO_ANSWER,
                                 .residual = NAN,
                                 .solves = 1,
                                 .worst = -1,
                                 .elimination = e};
    if (info.outcome == PERP_SOLVED) {
        result = take_answer(s, e, result);
        if (result.outcome == PERP_SOLVED && may_look(s, 0)) look_for_others(s, e);
        return result;
    }
    int is_proved = info.outcome == PERP_INFEASIBLE;
    result.certificate =
        is_proved ? perp_lcp_certificate(s->cache.lcp.solver) : perp_lcp_ray(s->cache.lcp.solver);
    if (is_proved && l->nonlinear) {
        result.outcome = PERP_LIMIT;
        result.fault = PERP__LINEARISED;
    } else if (is_proved && !outlasts_rounding(s, e, result.certificate)) {
        result.outcome = PERP_LIMIT;
        result.fault = PERP__UNDECIDED;
    }
    return result;
}

/* The sparse answer, held to the same conditions as the dense one; with contacts, and with old
 * slopes, Newton's next point tells. */
static perp__step_result solve_sparse(perp__step *s)
{
    if (!coefficients_are_finite(s))
        return (perp__step_result){.outcome = PERP_BAD_INPUT,
                                   .fault = PERP__NOT_FINITE,
                                   .residual = (double)NAN,
                                   .worst = -1};
    perp__step_result result = perp__sparse_solve(s);
    if (result.outcome != PERP_SOLVED || perp__shifts_modes(s) || s->cache.newton.is_old)
        return result;
    return judge_sparse(s, result);
}

/* In a stack elimination and pivoting, in a problem that is as singular, cost more than what comes
 * next. */
static int is_left_to_contacts(const perp__step *s, const perp__step_result *result)
{
    return s->cache.newton.contacts_next && result->fault == PERP__SINGULAR;
}

static perp__step_result solve_affine(perp__step *s)
{
    perp__verdict v;
    perp__step_result result = {.outcome = PERP_SOLVED, .fault = PERP__FINE};
    if (s->cache.sparse) {
        result = solve_sparse(s);
        if (result.outcome == PERP_SOLVED || !s->cache.A || s->cache.newton.sparse_only ||
            is_left_to_contacts(s, &result))
            return result;
    }
    perp__step_fill(s);
    int is_singular = result.fault == PERP__SINGULAR && !s->layout->nonlinear;
    if (is_singular || !keep_mode(s, &v)) return solve_anew(s);
    result = (perp__step_result){.outcome = PERP_SOLVED, .fault = PERP__FINE};
    keep_verdict(&result, &v);
    if (!s->cache.sparse) look_beside_mode(s);
    return result;
}

/* Newton ------------------------------------------------------------------------------------------
 */

static double row_value(const perp__step *s, int r)
{
    return s->ws[s->layout->tape.coefficients.out[r]];
}

/* The rows at the present y, and the largest natural residual of the conditions as written, each in
 * its unit: what Newton's steps must reduce. */
static double evaluate_rows(perp__step *s)
{
    const perp__layout *l = s->layout;
    perp__step_evaluate(s);
    perp__tape_eval_part(&l->tape.coefficients, s->ws, 0, l->nrow_code);
    return perp__step_residual(s);
}

/* The rounding that there may be in row r, by the |terms| of its last linearisation. */
static double row_rounding(const perp__step *s, int r)
{
    const perp__layout *l = s->layout;
    const double *y = s->ws + l->sym.y;
    double terms = fabs(s->cache.c[r]);
    for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++)
        terms += fabs(s->state.slopes.value[k] * y[l->column[k]]);
    return PERP_ROUNDING * terms;
}

/* The same with the sizes by which unknowns are judged: at rest, when the residual is rounding
 * itself. */
static double sized_rounding(const perp__step *s, int r)
{
    return perp__step_row_amount(s, r, s->ws + s->layout->sym.y).rounding;
}

typedef double rounding_of(const perp__step *s, int r);

/* How many times its rounding is row r off? Only below 0, if asked. */
static double times_rounding(const perp__step *s, int r, int is_zero, rounding_of *rounding)
{
    double x = row_value(s, r);
    return x == 0 || (!is_zero && x > 0) ? 0 : fabs(x) / rounding(s, r);
}

/* The same of the worst of all conditions: at most 1 where Newton's iteration cannot gain any
 * more. */
static double times_rounding_of_all(const perp__step *s, rounding_of *rounding)
{
    const perp__layout *l = s->layout;
    double worst = 0;
    for (int i = 0; i < l->nequation; i++)
        worst = perp__worse(worst, times_rounding(s, i, 1, rounding));
    for (int p = 0; p < l->np; p++) {
        int a = s->state.on[p] ? l->pair[p].a : l->pair[p].off,
            b = s->state.on[p] ? l->pair[p].b : a;
        double x = row_value(s, a), y = row_value(s, b);
        if (!s->state.on[p] || x < 0 || y < 0 || (x > 0 && y > 0)) {
            double below =
                fmax(times_rounding(s, a, 0, rounding), times_rounding(s, b, 0, rounding));
            double off = fmin(times_rounding(s, a, 1, rounding), times_rounding(s, b, 1, rounding));
            worst = perp__worse(worst, fmax(below, off));
        }
    }
    return worst;
}

/* Go from base towards the present y, halving the way until the original conditions are better
 * satisfied than at the base. Returns the share of the way taken, or 0. */
static double search_line(perp__step *s, const double *base, const double *full, double before,
                          double *residual)
{
    const perp__layout *l = s->layout;
    double *y = s->ws + l->sym.y;
    for (double alpha = 1; alpha > PERP_STEP_SHORTEST; alpha /= 2) {
        for (int i = 0; i < l->ny; i++)
            y[i] = alpha == 1 ? full[i] : base[i] + alpha * (full[i] - base[i]);
        *residual = evaluate_rows(s);
        if (*residual <= (1 - PERP_ARMIJO * alpha) * before) return alpha;
    }
    return 0;
}

/* How far Newton's iteration has come. */
typedef struct progress {
    double first, before, residual; /* natural residuals: at the start, before the last step, now */
    double off;                     /* times_rounding_of_all after the last full step */
    double gain;                    /* residual over before, of the last step with old slopes */
    double error;                   /* of the verdict after the last whole step */
    int anew;                       /* the next step takes slopes of now, not those that A has */
    perp__verdict v;
} progress;

/* After evaluate_rows. */
static int holds(perp__step *s, progress *p, double tol)
{
    p->v = perp__step_judge(s, perp__shifts_modes(s) ? PERP_AMPLY * s->tol : tol);
    return p->v.error <= tol;
}

/* After a full step with progress: is that all that rounding allows? If not, present slopes are
 * worth their cost, unless the old ones, which reduced the residual so much, reach rounding in
 * three more steps. */
static int is_at_rounding(perp__step *s, progress *p)
{
    double ratio = p->residual / p->before;
    p->off = times_rounding_of_all(s, row_rounding);
    if (p->off > PERP_STEP_FAR && p->residual <= PERP_STEP_FELL * p->first) {
        p->off = times_rounding_of_all(s, perp__step_row_rounding);
        if (p->off > 1) {
            perp__step_size(s);
            p->off = times_rounding_of_all(s, sized_rounding);
        }
    }
    p->anew = !(p->off > 1 && p->off * ratio * ratio * ratio <= 1);
    return p->off <= 1 && holds(s, p, perp__shifts_modes(s) ? PERP_AMPLY * s->tol : s->tol);
}

/* With contacts, when the next step would take present slopes: the residual of a step with old ones
 * may be rounding all the same, or become that by one more, which costs a tenth. */
static int may_do_with_old_slopes(perp__step *s, progress *p)
{
    double before = p->error;
    int is_below = holds(s, p, s->tol);
    p->error = p->v.error;
    p->anew = !(is_below && p->error < 0.5 * before);
    return p->error <= PERP_AMPLY * s->tol || !p->anew;
}

/* The full step that solve_affine made with old slopes is taken where it gains; else the next has
 * new ones. Is the iteration at its end? */
static int ends_with_old_slopes(perp__step *s, progress *p, const double *base)
{
    const perp__layout *l = s->layout;
    p->residual = evaluate_rows(s);
    if (p->residual == 0) return holds(s, p, s->tol);
    /* so that the residual is now rounding */
    int gains = p->residual <= SLOW * p->before, reaches = p->gain <= PERP_STEP_FELL;
    p->gain = p->residual / p->before;
    if (gains && is_at_rounding(s, p)) return 1;
    if (gains && !p->anew) return 0;
    if (perp__shifts_modes(s) && may_do_with_old_slopes(s, p))
        return p->error <= PERP_AMPLY * s->tol;
    p->anew = 1;
    if (gains) return 0;
    memcpy(s->ws + l->sym.y, base, (size_t)l->ny * sizeof(double));
    p->residual = evaluate_rows(s);
    p->error = (double)INFINITY;
    return (reaches || p->off <= NEARLY) && holds(s, p, PERP_AMPLY * s->tol);
}

/* Go as far to the linearised solution as the residual falls. Is the iteration at its end, for
 * better or worse? */
static int ends_with_new_slopes(perp__step *s, progress *p, double *base, double *full, int is_late)
{
    const perp__layout *l = s->layout;
    size_t bytes = (size_t)l->ny * sizeof(double);
    double *y = s->ws + l->sym.y;
    memcpy(full, y, bytes);
    double alpha = search_line(s, base, full, p->before, &p->residual);
    if (alpha == 0) {
        memcpy(y, base, bytes);
        p->v = perp__step_verify(s);
        if (p->v.error <= s->tol) return 1;
        memcpy(y, full, bytes); /* stalled: a full step may still leave a kink behind */
        p->residual = evaluate_rows(s);
        return !(p->residual < PERP_STEP_WORSE * p->before) || is_late;
    }
    if (p->residual == 0 || (alpha == 1 && p->residual > SLOW * p->before))
        return holds(s, p, s->tol);
    return alpha == 1 && is_at_rounding(s, p);
}

/* With contacts the step is taken whole: a closing one lets the residual rise for a step. The
 * iteration ends if the residual is far below the tolerance, or the conditions hold and it does not
 * decrease. */
static int ends_with_whole_step(perp__step *s, progress *p)
{
    double before = p->error;
    p->residual = evaluate_rows(s);
    int is_below = holds(s, p, s->tol);
    p->error = p->v.error;
    return p->error <= PERP_AMPLY * s->tol || (is_below && !(p->error < 0.5 * before));
}

/* Josephy-Newton: linearise all conditions at y, solve the affine complementarity problem, go there
 * as far as the natural residual falls. It ends after a full step, so that the conditions of the
 * last mode are exact, if each condition holds to its rounding; or if a full step no longer
 * improves a point that holds. */
static perp__step_result iterate_newton(perp__step *s, int limit)
{
    const perp__layout *l = s->layout;
    size_t bytes = (size_t)l->ny * sizeof(double);
    double *y = s->ws + l->sym.y, *base = s->cache.newton.from + l->ny, *full = base + l->ny;
    perp__step_result result = {.outcome = PERP_LIMIT, .fault = PERP__DIVERGED};
    progress p = {.off = (double)INFINITY,
                  .gain = 1,
                  .error = (double)INFINITY,
                  .v = {.error = (double)INFINITY, .worst = -1}};
    int solves = 0, ends = 0;
    if (!s->state.units.are_known) {
        evaluate_coefficients(s);
        perp__step_units(s);
    }
    p.first = p.residual = evaluate_rows(s);
    p.anew = !s->state.slopes.are_known || s->state.slopes.h != s->ws[SYM_H] ||
             s->state.slopes.theta != s->ws[SYM_THETA];
    for (int k = p.anew, all = 0; !ends && k <= limit && all < 4 * limit; k += p.anew, all++) {
        int is_anew = p.anew;
        p.before = p.residual;
        p.v.error = (double)INFINITY;
        memcpy(base, y, bytes);
        linearise(s, is_anew);
        perp__step_result affine = solve_affine(s);
        solves += affine.solves;
        p.anew = 1;
        if (affine.outcome != PERP_SOLVED) { /* its y is no answer */
            memcpy(y, base, bytes);
            p.residual = evaluate_rows(s);
            ends = is_anew;
            if (ends) result = affine;
        } else if (is_anew && perp__shifts_modes(s)) {
            ends = ends_with_whole_step(s, &p);
        } else if (is_anew) {
            p.gain = 1;
            ends = ends_with_new_slopes(s, &p, base, full, k > limit / 2);
        } else {
            ends = ends_with_old_slopes(s, &p, base);
        }
    }
    if (!(p.v.error <= s->tol)) p.v = perp__step_verify(s);
    if (p.v.error <= s->tol) {
        result.outcome = PERP_SOLVED;
        result.fault = PERP__FINE;
    }
    if (result.fault == PERP__DIVERGED || result.outcome == PERP_SOLVED)
        keep_verdict(&result, &p.v);
    if (result.fault == PERP__DIVERGED)
        result.unscaled = perp__step_unscaled(s, p.v.worst, &result.scale);
    if (result.outcome != PERP_SOLVED) s->state.slopes.are_known = 0; /* those of no solution */
    result.solves = solves;
    return result;
}

/* The same, but the linearised conditions are solved as a friction problem, whole steps only: for
 * redundant contacts, where no mode has a regular matrix. */
static perp__step_result iterate_cones(perp__step *s)
{
    const perp__layout *l = s->layout;
    enum { MAX_ITERATIONS = 30, MAX_IDLE = 6 };
    size_t bytes = (size_t)l->ny * sizeof(double);
    double *y = s->ws + l->sym.y, *best = s->cache.newton.from + l->ny;
    perp__step_result result = {.outcome = PERP_LIMIT, .fault = PERP__DIVERGED};
    perp__verdict least = perp__step_verify(s);
    int done = 0, idle = 0, solved;
    memcpy(best, y, bytes);
    while (!done && result.solves < MAX_ITERATIONS && idle < MAX_IDLE) {
        evaluate_coefficients(s);
        result.solves++;
        if (!coefficients_are_finite(s)) break;
        if (!perp__cones_step(s, result.solves > 1, &solved)) break;
        perp__step_settle(s, NULL);
        perp__verdict v = perp__step_verify(s);
        done = v.error <= PERP_AMPLY * s->tol ||
               (least.error <= s->tol && !(v.error < 0.5 * least.error));
        int gained = v.error < 0.5 * least.error;
        idle = gained ? 0 : idle + 1;
        if (!isfinite(v.residual) || (!solved && !gained && v.error > s->tol)) break;
        if (!(v.error < least.error)) continue;
        memcpy(best, y, bytes);
        least = v;
    }
    memcpy(y, best, bytes);
    perp__step_verify(s); /* leaves its values in the workspace */
    if (least.error <= s->tol) {
        result.outcome = PERP_SOLVED;
        result.fault = PERP__FINE;
    }
    keep_verdict(&result, &least);
    return result;
}

/* Before the first step nothing is known of the vars: 0, but for those that equations define, as
 * far as these have values. A product of two that are 0 would have no derivative there. */
static void begin_vars(perp__step *s)
{
    const perp__layout *l = s->layout;
    enum { PASSES = 100 };
    size_t bytes = (size_t)l->ny * sizeof(double);
    double *y = s->ws + l->sym.y;
    for (int k = 0, more = 1; k < PASSES && more; k++) {
        evaluate_coefficients(s);
        more = coefficients_are_finite(s) && perp__step_define(s);
    }
    if (all_finite(y, (size_t)l->ny)) memcpy(s->cache.newton.from, y, bytes);
    memcpy(y, s->cache.newton.from, bytes);
}

/* These roots of a tape, into `before`. Returns whether they were there, bit for bit. */
static int roots_are_as_before(const perp__step *s, const perp__tape *tape, int first, int end,
                               double *before)
{
    int same = 1;
    for (int r = first; r < end; r++) {
        double x = s->ws[tape->out[r]];
        same &= memcmp(&before[r], &x, sizeof x) == 0;
        before[r] = x;
    }
    return same;
}

/* Have these roots a value? By sums side by side; one that overflows says no. */
static int roots_are_finite(const perp__step *s, const int *out, int n)
{
    double a = 0, b = 0, c = 0, d = 0;
    int r = 0;
    for (; r + 4 <= n; r += 4) {
        a += s->ws[out[r]];
        b += s->ws[out[r + 1]];
        c += s->ws[out[r + 2]];
        d += s->ws[out[r + 3]];
    }
    for (; r < n; r++) a += s->ws[out[r]];
    a += b + (c + d);
    return a - a == 0;
}

/* From h up to the unknowns: all that is asked is made of these, and of parameters, with which
 * nothing rests. */
static size_t asked_bytes(const perp__step *s)
{
    return perp__step_symbols(s) - SYM_H * sizeof(double);
}

/* The same of guards, rows and conditions as they were written, at the present y; assigned vars
 * need only have a value. */
static int all_is_as_before(perp__step *s)
{
    const perp__layout *l = s->layout;
    const perp__tape *rows = &l->tape.coefficients, *check = &l->tape.check,
                     *guards = &l->tape.guards;
    double *before = s->state.rest.root;
    perp__step_evaluate(s);
    perp__tape_eval_part(rows, s->ws, 0, l->nrow_code);
    int value = l->sym.assigned.root, end = value + l->sym.assigned.n;
    int same = roots_are_as_before(s, rows, 0, l->nrow, before);
    before += l->nrow;
    same &= roots_are_as_before(s, check, 0, value, before);
    same &= roots_are_as_before(s, check, end, check->nout, before);
    same &= roots_are_finite(s, check->out + value, end - value);
    memcpy(s->cache.newton.of, s->ws + SYM_H, asked_bytes(s));
    s->cache.newton.is_noted = 1;
    return same & roots_are_as_before(s, guards, 0, guards->nout, before + check->nout);
}

/* The last step moved nothing: where this one asks the same of the same numbers, they are its
 * answer, too, and judged as they were. */
static int is_at_rest(perp__step *s, perp__step_result *result)
{
    if (!s->state.rest.is_known || s->held) return 0;
    int is_known = s->cache.newton.is_noted && !s->layout->marks.reads_time &&
                   memcmp(s->cache.newton.of, s->ws + SYM_H, asked_bytes(s)) == 0;
    if (!is_known && !all_is_as_before(s)) return 0;
    s->state.standing = (perp__patience){0};
    *result = (perp__step_result){.outcome = PERP_SOLVED, .fault = PERP__FINE};
    keep_verdict(result, &s->state.rest.verdict);
    return 1;
}

/* Remember a solved step that moved nothing. */
static void note_rest(perp__step *s, const perp__step_result *result)
{
    const perp__layout *l = s->layout;
    const double *y = s->ws + l->sym.y, *pre = s->ws + l->sym.pre;
    s->state.rest.is_known = !s->held && memcmp(y, pre, (size_t)l->nx * sizeof(double)) == 0;
    if (!s->state.rest.is_known) return;
    all_is_as_before(s);
    s->state.rest.verdict = (perp__verdict){.error = result->error,
                                            .residual = result->residual,
                                            .worst = result->worst,
                                            .off = result->off};
}

/* After a failure no attempt is made in 1, 3, 7, ... steps, at most in 2^most - 1, and again in so
 * many until one succeeds. */
static void has_failed(perp__patience *p, int most)
{
    p->failures += p->failures < most;
    p->wait = (1 << p->failures) - 1;
}

/* A step with contacts: Newton, whose modes are exact, if asked; if that fails, cones. These then
 * come first in the following steps as long as the same sides stay zero, and in some more. */
static perp__step_result solve_with_contacts(perp__step *s, int newton_too, int is_first)
{
    const perp__layout *l = s->layout;
    enum { MAX_ITERATIONS = 12 };
    double *y = s->ws + l->sym.y;
    perp__step_result newton = {.outcome = PERP_LIMIT};
    s->cache.newton.sparse_only =
        s->cache.sparse != NULL; /* elimination and pivoting cost more than what comes next */
    perp__patience *patience = &s->state.beside_cones;
    int waits = patience->wait > 0 && !is_first,
        tries = newton_too && !waits && (perp__shifts_modes(s) || !s->state.redundant);
    if (tries) newton = iterate_newton(s, MAX_ITERATIONS);
    if (newton.outcome == PERP_SOLVED) patience->failures = 0;
    if (newton.outcome != PERP_SOLVED && is_first) {
        memcpy(y, s->cache.newton.from, (size_t)l->ny * sizeof(double));
        begin_vars(s);
        newton = iterate_newton(s, MAX_ITERATIONS);
    }
    int is_shifted = perp__shifts_modes(s);
    s->cache.newton.sparse_only = 0;
    int is_rough = is_shifted && l->ncone > 0 &&
                   newton.error > PERP_AMPLY * s->tol; /* at the edge of a cone Newton is slow */
    if (newton.outcome == PERP_SOLVED && !is_rough) return newton;
    if (newton.outcome != PERP_SOLVED)
        memcpy(y, s->cache.newton.from, (size_t)l->ny * sizeof(double));
    mode_key(s);
    perp__step_result result = iterate_cones(s);
    result.solves += newton.solves;
    s->state.redundant = 0;
    if (result.outcome != PERP_SOLVED) {
        patience->wait = 0;
        return result;
    }
    if (waits)
        patience->wait--;
    else if (tries && newton.outcome != PERP_SOLVED)
        has_failed(patience, PERP__CONES_WAIT);
    s->state.count.cone_steps++;
    s->state.redundant = 1;
    for (int p = 0; p < l->np; p++)
        s->state.redundant &= !s->state.on[p] || s->cache.modes.key[p] == s->state.choice[p];
    return result;
}

/* Modes of contacts that are redundant leave velocities of 1e-18 in a stack that stands. It stands
 * where 0 holds as well, and the next steps are at rest; where they are not, it waits: 0 may not
 * hold. While the load changes nothing comes to rest, and there is no trial but one in 63 steps:
 * forces that are not unique may change, too. */
static void try_rest(perp__step *s, perp__step_result *result)
{
    const perp__layout *l = s->layout;
    size_t bytes = (size_t)l->ny * sizeof(double);
    double *y = s->ws + l->sym.y, *kept = s->cache.newton.from + l->ny;
    if (!perp__step_stands(s)) return;
    if (!perp__has_many_contacts(s)) { /* else there are the factors of shifted modes */
        if (s->state.standing.wait > 0) {
            s->state.standing.wait--;
            return;
        }
        int failures = s->state.standing.failures,
            is_loaded_anew = failures > 0 && perp__step_is_loaded_anew(s, s->cache.newton.from);
        has_failed(&s->state.standing,
                   PERP__STANDING_WAIT); /* until a step at rest shows that it has not */
        if (is_loaded_anew) return;
    }
    memcpy(kept, y, bytes);
    if (perp__sparse_stand(s, s->cache.modes.key)) {
        perp__verdict v = perp__step_verify(s);
        if (v.error <= PERP_AMPLY * s->tol && !perp__step_moves_nothing(s, s->ws + l->sym.pre)) {
            keep_verdict(result, &v);
            s->state.standing.wait = 0;
            return;
        }
    }
    memcpy(s->state.choice, s->cache.modes.key, (size_t)l->np);
    memcpy(y, kept, bytes);
    perp__step_verify(s); /* leaves its values in the workspace */
}

/* Without pairs, whose sides would be left and met again, states go on as in the last steps. */
static void guess(perp__step *s)
{
    const perp__layout *l = s->layout;
    double *y = s->ws + l->sym.y;
    for (int k = 0; k < PERP__MOVES && l->np == 0; k++)
        for (int j = 0; j < l->nx; j++) y[j] += s->state.move[k * l->nx + j];
}

/* Newton from the extrapolation of the last step. If that fails, from its end with the vars moved
 * away from their values, since a derivative may vanish there (x^2 = 1 from x = 0). */
static perp__step_result newton_from(perp__step *s, int *solves)
{
    const perp__layout *l = s->layout;
    enum { MAX_ITERATIONS = 50 };
    enum { STARTS = 3 };
    static const double moves[STARTS] = {0, 0.1, 1};
    double *y = s->ws + l->sym.y;
    perp__step_result result = {.outcome = PERP_LIMIT, .fault = PERP__DIVERGED};
    for (int k = 0; k < STARTS && result.outcome != PERP_SOLVED && !is_left_to_contacts(s, &result);
         k++) {
        const double *unit = perp__step_units(s);
        memcpy(y, s->cache.newton.from, (size_t)l->ny * sizeof(double));
        if (k == 0) guess(s);
        for (int i = l->nx; i < l->nx + l->nv; i++) y[i] += moves[k] * (unit[i] + fabs(y[i]));
        result = iterate_newton(s, MAX_ITERATIONS);
        *solves += result.solves;
    }
    return result;
}

/* With exact cones, many unknowns, and where contacts were redundant in the last step, contacts
 * come before the dense path; else where Newton fails. On failure y is as before. */
static perp__step_result solve_newton(perp__step *s)
{
    const perp__layout *l = s->layout;
    size_t bytes = (size_t)l->ny * sizeof(double);
    double *y = s->ws + l->sym.y, *start = s->cache.newton.from;
    perp__step_result result = {.outcome = PERP_LIMIT, .fault = PERP__DIVERGED};
    int solves = 0, is_first = 0,
        contacts_first = l->ncone > 0 || s->state.redundant || perp__sparse_is_shifted(s) ||
                         (s->model->ncontact > 0 && s->cache.sparse && l->ny > FRICTION_FROM);
    if (is_at_rest(s, &result)) return result;
    for (int i = 0; i < l->ny; i++) {
        if (!isfinite(y[i])) {
            y[i] = 0;
            is_first = 1;
        } /* vars before the first step */
    }
    memcpy(start, y, bytes);
    if (contacts_first) {
        result = solve_with_contacts(s, 1, is_first);
        solves = result.solves;
    }
    s->cache.newton.contacts_next = !contacts_first && perp__has_many_contacts(s);
    if (result.outcome != PERP_SOLVED) result = newton_from(s, &solves);
    if (result.fault == PERP__UNVERIFIED && s->cache.A) {
        memcpy(y, start, bytes);
        perp__step_forget_factors(s); /* which have lost all digits */
        evaluate_coefficients(s);
        perp__step_units_by_largest(s);
        result = newton_from(s, &solves);
    }
    int is_singular = is_left_to_contacts(s, &result);
    s->cache.newton.contacts_next = 0;
    if (result.outcome != PERP_SOLVED && !contacts_first && l->np > 0) {
        memcpy(y, start, bytes);
        perp__step_result contacts = solve_with_contacts(s, is_singular, is_first);
        solves += contacts.solves;
        if (contacts.outcome == PERP_SOLVED) result = contacts;
    }
    result.solves = solves;
    if (result.outcome == PERP_SOLVED && s->cache.sparse && s->model->ncontact > 0)
        try_rest(s, &result);
    if (result.outcome == PERP_SOLVED && perp__step_has_grown(s)) {
        result.outcome = PERP_LIMIT;
        result.fault = PERP__UNDECIDED;
    }
    if (result.outcome == PERP_SOLVED)
        note_rest(s, &result);
    else {
        s->state.rest.is_known = 0;
        memcpy(y, start, bytes);
    }
    return result;
}

perp__step_result perp__step_solve(perp__step *s)
{
    const perp__layout *l = s->layout;
    enum {
        A_STEP = 300,
        EVALUATED = 20
    }; /* multiplications for a step, and for a number of its rows */
    for (int j = 0; j < l->nx; j++) {
        double size = fabs(s->ws[l->sym.pre + j]);
        if (size > s->state.history[j]) s->state.history[j] = size;
    }
    evaluate_guards(s);
    s->state.count.work += A_STEP + EVALUATED * (double)l->row_start[l->nrow];
    if (l->nonlinear) return solve_newton(s);
    evaluate_coefficients(s);
    return solve_affine(s);
}

void perp__step_guards(perp__step *s, double t, char *on, double *scratch)
{
    const perp__layout *l = s->layout;
    double *ws = s->ws, *pre = ws + l->sym.pre, at = ws[SYM_T], before = ws[SYM_T_PRE];
    const size_t bytes = (size_t)l->nx * sizeof *pre;
    memcpy(scratch, pre, bytes);
    memcpy(pre, ws + l->sym.y, bytes);
    memcpy(on, s->state.on, (size_t)l->np);
    ws[SYM_T] = ws[SYM_T_PRE] = t;
    evaluate_guards(s);
    for (int p = 0; p < l->np; p++) {
        char now = s->state.on[p];
        s->state.on[p] = on[p];
        on[p] = now;
    }
    ws[SYM_T] = at;
    ws[SYM_T_PRE] = before;
    memcpy(pre, scratch, bytes);
}

void perp__step_forget_factors(perp__step *s)
{
    const perp__layout *l = s->layout;
    perp__step_stale(s);
    for (int k = 0; k < l->nentry; k++) s->state.slopes.value[l->entry[k]] = 0;
    s->state.units.are_known = s->state.slopes.are_known = 0;
    s->state.rest.is_known = s->state.z.are_known = 0;
    perp__sparse_forget(s);
}

void perp__step_forget(perp__step *s)
{
    const perp__layout *l = s->layout;
    perp__step_forget_factors(s);
    memset(s->state.on, 0, 2 * (size_t)l->np);
    memset(s->state.history, 0, (size_t)l->ny * sizeof(double));
    s->state.redundant = s->state.are_closed = 0;
    s->state.beside_cones = s->state.standing = (perp__patience){0};
}

perp__elimination *perp__step_prepare(perp__step *s, int all_on, int *bad_row)
{
    evaluate_guards(s);
    if (all_on) memset(s->state.on, 1, (size_t)s->layout->np);
    evaluate_coefficients(s);
    perp__step_fill(s);
    return find_elimination(s, bad_row);
}

void perp__step_linearise(perp__step *s)
{
    evaluate_coefficients(s);
}

const perp__mode *perp__step_mode(perp__step *s)
{
    if (!s->cache.A) return NULL;
    perp__step_fill(s);
    mode_key(s);
    const perp__mode *m = find_mode(s);
    return m->singular ? NULL : m;
}
