/* Feedback along a plan: each step is linearised with the active sides of its pairs. Then the
 * linear-quadratic regulator runs backwards over the steps (Anderson and Moore, Optimal Control,
 * 1990, 2.4). */

#include "plan/plan.h"

#include "linalg/dense.h"
#include "linalg/symmetric.h"

#include <math.h>
#include <string.h>

/* A deviation of a state by this share of its largest size counts as much as a deviation of an
 * input by its full size. */
static const double STATE_OFF = 0.1;

/* An input is at an end of its range within this part of what counts as far off. */
static const double AT_END = 1e-6;

/* A step's matrix is singular below RCOND. Then singular values below CUT of the largest count as
 * 0, and the answer must satisfy the equations to SOLVED. */
static const double RCOND = 1e-13, CUT = 1e-14, SOLVED = 1e-7;

/* The linear equations of a step, J w = -(R (pre, u)): m rows, n unknowns, R with ns + nu
 * columns. */
typedef struct linear_step {
    perp_plan *plan;
    const perp__bounds *bound; /* with the sides fixed */
    const double *jac;
    int *row_of, *column_of; /* of the program's rows, of unknowns of a step; -1: none */
    int m, n, ns, nu;
    double *J, *R, *LU, *rhs, *x, *V, *value;
    int *swap;
} linear_step;

/* Which chosen input unknown j of a step is; -1: it is none. */
static int input_of(const perp__program *g, int j)
{
    int i = j % g->nb - g->nx - g->nv - g->nsplit;
    return i >= 0 ? i : -1;
}

/* Rows that hold at step k, and unknowns that are none of the inputs and not held at a side. */
static void number(linear_step *u, int k)
{
    const perp__program *g = u->plan->program;
    size_t K = (size_t)g->K;
    u->m = u->n = 0;
    for (int i = 0; i < g->nrow; i++) {
        size_t at = (size_t)i * K + (size_t)k;
        int holds =
            i >= g->has.model_row && i < g->has.model_end && u->bound->rlo[at] == u->bound->rhi[at];
        u->row_of[i] = holds ? u->m++ : -1;
    }
    for (int j = 0; j < g->nw; j++) u->column_of[j] = input_of(g, j) >= 0 ? -1 : 0;
    for (int i = 0; i < g->npair; i++) {
        int side = u->plan->sides->side[(size_t)i * K + (size_t)k];
        if (side < 2 && g->pair[i].w[side] >= 0) u->column_of[g->pair[i].w[side]] = -1;
    }
    for (int j = 0; j < g->nw; j++)
        if (u->column_of[j] == 0) u->column_of[j] = u->n++;
}

/* Column of R: a state before the step, or an input, of the step or (with theta) before it; -1: of
 * neither. */
static int given_of(const linear_step *u, int col)
{
    const perp__program *g = u->plan->program;
    if (col < g->nx) return col; /* copies of inputs come behind the states, as inputs do */
    int input = col < g->nx + g->nw ? input_of(g, col - g->nx) : -1;
    return input >= 0 ? u->ns + input : -1;
}

static void fill(linear_step *u, int k)
{
    const perp__program *g = u->plan->program;
    size_t K = (size_t)g->K, m = (size_t)u->m;
    memset(u->J, 0, m * (size_t)u->n * sizeof *u->J);
    memset(u->R, 0, m * (size_t)(u->ns + u->nu) * sizeof *u->R);
    for (int e = 0; e < g->jac.n; e++) {
        int row = u->row_of[g->jac.row[e]], col = g->jac.col[e], given = given_of(u, col);
        double x = u->jac[(size_t)e * K + (size_t)k];
        if (row < 0) continue;
        if (given >= 0) u->R[(size_t)given * m + (size_t)row] -= x;
        int j = col >= g->nx && col < g->nx + g->nw ? u->column_of[col - g->nx] : -1;
        if (j >= 0) u->J[(size_t)j * m + (size_t)row] += x;
    }
    for (size_t i = 0; i < m; i++) { /* rows of size 1 */
        double most = 0;
        for (size_t j = 0; j < (size_t)u->n; j++) most = fmax(most, fabs(u->J[j * m + i]));
        if (most == 0) continue;
        for (size_t j = 0; j < (size_t)u->n; j++) u->J[j * m + i] /= most;
        for (size_t j = 0; j < (size_t)(u->ns + u->nu); j++) u->R[j * m + i] /= most;
    }
}

static int factor(linear_step *u)
{
    int n = u->n;
    if (u->m != n) return 0;
    memcpy(u->LU, u->J, (size_t)n * (size_t)n * sizeof *u->LU);
    return perp__lu(n, u->LU, n, u->swap) == 0 &&
           perp__lu_rcond(n, u->LU, n, u->swap, perp__norm1(n, u->J, n), u->x) > RCOND;
}

/* Where forces are not determined: the least solution, x = J' inv(J J') rhs. Eigenvalues of J J'
 * into value, its vectors into V. */
static void decompose(linear_step *u)
{
    size_t m = (size_t)u->m;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++) {
            double sum = 0;
            for (size_t l = 0; l < (size_t)u->n; l++) sum += u->J[l * m + i] * u->J[l * m + j];
            u->LU[j * m + i] = sum;
        }
    perp__symmetric_eigen(u->m, u->LU, u->value, u->V);
}

/* 1: x solves the equations for the column of R. */
static int solve_least(linear_step *u, const double *rhs)
{
    size_t m = (size_t)u->m, n = (size_t)u->n;
    double worst = 0, size = 0;
    memset(u->x, 0, n * sizeof *u->x);
    for (size_t i = 0; i < m; i++) {
        double part = 0;
        if (!(u->value[i] > CUT * u->value[m - 1])) continue;
        for (size_t l = 0; l < m; l++) part += u->V[i * m + l] * rhs[l];
        part /= u->value[i];
        for (size_t j = 0; j < n; j++)
            for (size_t l = 0; l < m; l++) u->x[j] += u->J[j * m + l] * u->V[i * m + l] * part;
    }
    for (size_t l = 0; l < m; l++) {
        double off = -rhs[l];
        for (size_t j = 0; j < n; j++) off += u->J[j * m + l] * u->x[j];
        worst = fmax(worst, fabs(off));
        size = fmax(size, fabs(rhs[l]));
    }
    return worst <= SOLVED * size;
}

/* A (ns x ns) and B (ns x nu) of step k, row by row. Returns 0: the equations do not determine
 * them. */
static int linearise(linear_step *u, int k, double *A, double *B)
{
    const perp__program *g = u->plan->program;
    int last = (g->npoint - 1) * g->nb, ok = 1;
    number(u, k);
    fill(u, k);
    int is_regular = factor(u);
    if (!is_regular) decompose(u);
    for (int c = 0; c < u->ns + u->nu && ok; c++) {
        const double *rhs = u->R + (size_t)c * (size_t)u->m;
        if (is_regular) memcpy(u->x, rhs, (size_t)u->m * sizeof *u->x);
        if (is_regular) perp__lu_solve(u->n, u->LU, u->n, u->swap, u->x);
        ok = is_regular || solve_least(u, rhs);
        for (int i = 0; i < u->ns; i++) {
            int j = u->column_of[last + i];
            double x = j >= 0 ? u->x[j] : 0;
            if (c < u->ns)
                A[i * u->ns + c] = x;
            else
                B[i * u->nu + c - u->ns] = x;
        }
    }
    return ok;
}

/* The same with other sides of the pairs that have both sides zero at the step, where those at hand
 * leave no derivative: one that is one-sided. */
static int linearise_one_way(linear_step *u, int k, double *A, double *B)
{
    enum { MOST = 8 };
    perp_plan *plan = u->plan;
    const perp__program *g = plan->program;
    size_t K = (size_t)g->K, list[MOST];
    int n = 0, ok = linearise(u, k, A, B);
    for (int i = 0; i < g->npair && !ok && n < MOST; i++) {
        size_t at = (size_t)i * K + (size_t)k;
        int other = plan->sides->side[at] == 0;
        if (perp__side_value(g, &g->pair[i], other, k, plan->w, plan->r) <= PERP_PLAN_BOTH_ZERO)
            list[n++] = at;
    }
    for (int choice = 1; choice < 1 << n && !ok; choice++) {
        for (int i = 0; i < n; i++) /* the bits that change from the choice before */
            if (((choice ^ (choice - 1)) >> i) & 1)
                plan->sides->side[list[i]] = plan->sides->side[list[i]] == 0;
        u->bound = perp__sides_fix(plan->sides);
        ok = linearise(u, k, A, B);
    }
    return ok;
}

static int take_room(linear_step *u, perp__arena *arena)
{
    const perp__program *g = u->plan->program;
    size_t n = (size_t)(g->nw > g->nrow ? g->nw : g->nrow);
    PERP_TAKE(arena, u->row_of, g->nrow);
    PERP_TAKE(arena, u->column_of, g->nw);
    PERP_TAKE(arena, u->J, n * n);
    PERP_TAKE(arena, u->LU, n * n);
    PERP_TAKE(arena, u->V, n * n);
    PERP_TAKE(arena, u->R, n * (size_t)(u->ns + u->nu));
    PERP_TAKE(arena, u->x, 2 * n);
    PERP_TAKE(arena, u->value, n);
    PERP_TAKE(arena, u->swap, n);
    return !arena->failed;
}

/* The steps' derivatives. PERP_ERR_MODEL: a step has none. */
static perp_status linearise_all(perp_plan *plan, perp_diag *diag)
{
    perp__program *g = plan->program;
    perp__gains *to = plan->again.gains;
    perp__arena arena = {0};
    linear_step u = {.plan = plan, .ns = g->ns, .nu = g->nu};
    double *jac, *grad, cost;
    perp_status status = PERP_OK;
    PERP_TAKE(&arena, jac, (size_t)g->jac.n * (size_t)g->K);
    PERP_TAKE(&arena, grad, (size_t)g->grad.n * (size_t)g->K);
    if (!take_room(&u, &arena)) {
        perp__arena_clear(&arena);
        return PERP_ERR_MEMORY;
    }
    perp__program_values(g, NULL, plan->w, plan->p, plan->r, &cost);
    perp__sides_choose(plan->sides, plan->w, plan->r);
    u.bound = perp__sides_fix(plan->sides);
    u.jac = jac;
    perp__program_derivatives(g, NULL, plan->w, plan->p, plan->lambda, 1, jac, grad, NULL);
    for (int k = 0; k < g->K && status == PERP_OK; k++)
        if (!linearise_one_way(&u, k, to->A + (size_t)k * to->nA, to->B + (size_t)k * to->nB))
            status = perp__refuse(
                diag, PERP_ERR_MODEL, perp__in(plan->model->source.name),
                "there are no gains: step %d, which ends at t = %.6g, has no derivative with the "
                "present sides of its pairs\n",
                k + 1, perp__program_time(g, plan->p, k) + perp__program_step(g, plan->p, k));
    perp__arena_clear(&arena);
    return status;
}

/* Weights -------------------------------------------------------------------------------------- */

/* What counts as being far off: half the range of an input, or its largest value. */
static double size_of_input(const perp_plan *plan, int j)
{
    const perp__program *g = plan->program;
    size_t at = (size_t)((g->npoint - 1) * g->nb + g->nx + g->nv + g->nsplit + j) * (size_t)g->K;
    double half = 0.5 * (g->bound.whi[at] - g->bound.wlo[at]), most = 0;
    for (int k = 0; k < g->K; k++) most = fmax(most, fabs(perp__plan_input(plan, j, k, 1)));
    if (isfinite(half) && half > 0) return half;
    if (most > 0) return most;
    return 1;
}

static perp_status take_sizes(perp_plan *plan, const perp_plan_gain_options *o, perp_diag *diag)
{
    const perp__program *g = plan->program;
    perp__gains *to = plan->again.gains;
    perp__plan_amplitudes(plan, to->state);
    for (int i = 0; i < g->ns; i++) {
        to->state[i] = to->state[i] > 0 ? STATE_OFF * to->state[i] : STATE_OFF;
        if (o->state && !isnan(o->state[i])) to->state[i] = o->state[i];
        if (!(to->state[i] > 0)) goto refused;
    }
    for (int j = 0; j < g->nu; j++) {
        to->input[j] = o->input && !isnan(o->input[j]) ? o->input[j] : size_of_input(plan, j);
        if (!(to->input[j] > 0)) goto refused;
    }
    if (o->end >= 0) return PERP_OK;
refused:
    return perp__refuse(diag, PERP_ERR_ARG, perp__in(plan->model->source.name),
                        "sizes of deviations must be positive\n");
}

/* Regulator ------------------------------------------------------------------------------------ */

/* C (n x m) = A' B, or A B; all row by row. A: k x n, or n x k. */
static void product(int is_transposed, int n, int m, int k, const double *A, const double *B,
                    double *C)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            double sum = 0;
            for (int l = 0; l < k; l++)
                sum += (is_transposed ? A[l * n + i] : A[i * k + l]) * B[l * m + j];
            C[i * m + j] = sum;
        }
}

/* B of a step, without the inputs that are at an end of their range there: these are no means to
 * correct anything, one way. */
static void free_inputs(const perp_plan *plan, int k, double *B)
{
    const perp__program *g = plan->program;
    const perp__gains *of = plan->again.gains;
    int first = (g->npoint - 1) * g->nb + g->nx + g->nv + g->nsplit;
    memcpy(B, of->B + (size_t)k * of->nB, of->nB * sizeof *B);
    for (int j = 0; j < g->nu; j++) {
        size_t at = (size_t)(first + j) * (size_t)g->K + (size_t)k;
        double near = AT_END * of->input[j];
        if (plan->w[at] > g->bound.wlo[at] + near && plan->w[at] < g->bound.whi[at] - near)
            continue;
        for (int i = 0; i < g->ns; i++) B[i * g->nu + j] = 0;
    }
}

/* One step back: the gain (nu x ns) of a step, and P before it in place. work: 2 ns^2 + 2 ns nu +
 * nu^2. Returns 0: not definite. */
static int step_back(perp__gains *to, int ns, int nu, int k, double share, const double *B,
                     double *P, double *work)
{
    const double *A = to->A + (size_t)k * to->nA;
    double *gain = to->gain + (size_t)k * to->nB, *PA = work, *PB = PA + ns * ns,
           *BPB = PB + ns * nu, *column = BPB + nu * nu, *next = column + ns * nu;
    product(0, ns, ns, ns, P, A, PA);
    product(0, ns, nu, ns, P, B, PB);
    product(1, nu, nu, ns, B, PB, BPB);
    product(1, nu, ns, ns, B, PA, gain);
    for (int j = 0; j < nu; j++) BPB[j * nu + j] += share / (to->input[j] * to->input[j]);
    if (nu && !perp__cholesky(nu, BPB, nu, 0)) return 0;
    for (int i = 0; i < ns; i++) {
        for (int j = 0; j < nu; j++) column[j] = gain[j * ns + i];
        if (nu) perp__cholesky_solve(nu, BPB, nu, column);
        for (int j = 0; j < nu; j++) gain[j * ns + i] = column[j];
    }
    product(1, ns, ns, ns, A, PA, P); /* Q + A'PA - (A'PB) gain */
    product(1, ns, nu, ns, A, PB, column);
    product(0, ns, ns, nu, column, gain, next);
    for (int i = 0; i < ns * ns; i++) P[i] -= next[i];
    for (int i = 0; i < ns; i++) P[i * ns + i] += share / (to->state[i] * to->state[i]);
    for (int i = 0; i < ns; i++)
        for (int j = 0; j < i; j++)
            P[i * ns + j] = P[j * ns + i] = 0.5 * (P[i * ns + j] + P[j * ns + i]);
    return perp__are_finite(ns * ns, P);
}

static perp_status regulate(perp_plan *plan, double end)
{
    const perp__program *g = plan->program;
    perp__gains *to = plan->again.gains;
    size_t ns = (size_t)g->ns, nu = (size_t)g->nu;
    double *P, *B, *work, T = 0;
    perp__arena arena = {0};
    PERP_TAKE(&arena, P, ns * ns);
    PERP_TAKE(&arena, B, ns * nu);
    PERP_TAKE(&arena, work, 2 * ns * ns + 2 * ns * nu + nu * nu);
    perp_status status = arena.failed ? PERP_ERR_MEMORY : PERP_OK;
    for (int k = 0; k < g->K; k++) T += perp__program_step(g, plan->p, k);
    for (size_t i = 0; i < ns && status == PERP_OK; i++)
        P[i * ns + i] = end / (to->state[i] * to->state[i]);
    for (int k = g->K - 1; k >= 0 && status == PERP_OK; k--) {
        double share = fmax(perp__program_step(g, plan->p, k) / T, 1e-12);
        free_inputs(plan, k, B);
        if (!step_back(to, g->ns, g->nu, k, share, B, P, work)) status = PERP_ERR_NO_SOLUTION;
    }
    perp__arena_clear(&arena);
    return status;
}

/* Public --------------------------------------------------------------------------------------- */

void perp_plan_gain_options_fill(perp_plan_gain_options *options, size_t size)
{
    const perp_plan_gain_options own = {.end = 1};
    perp__options_give(options, size, &own, sizeof own);
}

static int make_room(perp_plan *plan)
{
    const perp__program *g = plan->program;
    perp__gains *to;
    if (plan->again.gains) return 1;
    if (!PERP_TAKE(&plan->arena, to, 1)) return 0;
    to->nA = (size_t)g->ns * (size_t)g->ns;
    to->nB = (size_t)g->ns * (size_t)g->nu;
    PERP_TAKE(&plan->arena, to->A, to->nA * (size_t)g->K);
    PERP_TAKE(&plan->arena, to->B, to->nB * (size_t)g->K);
    PERP_TAKE(&plan->arena, to->gain, to->nB * (size_t)g->K);
    PERP_TAKE(&plan->arena, to->state, g->ns);
    PERP_TAKE(&plan->arena, to->input, g->nu);
    if (!plan->arena.failed) plan->again.gains = to;
    return !plan->arena.failed;
}

perp_status perp_plan_find_gains(perp_plan *plan, const perp_plan_gain_options *given,
                                 perp_diag *diag)
{
    perp_plan_gain_options o = {.end = 1};
    if (!plan || !perp__options_take(&o, sizeof o, given)) return PERP_ERR_ARG;
    if (!plan->again.has_answer || plan->program->ns == 0)
        return perp__refuse(diag, PERP_ERR_ARG, perp__in(plan->model->source.name),
                            "gains are those of a plan that holds\n");
    if (!make_room(plan)) return PERP_ERR_MEMORY;
    plan->again.gains->is_there = 0;
    perp_status status = take_sizes(plan, &o, diag);
    if (status == PERP_OK) status = linearise_all(plan, diag);
    if (status == PERP_OK) status = regulate(plan, o.end);
    if (status == PERP_ERR_NO_SOLUTION)
        perp__refuse(diag, status, perp__in(plan->model->source.name),
                     "there are no gains: the regulator is not finite\n");
    plan->again.gains->is_there = status == PERP_OK;
    return status;
}

static const perp__gains *gains_of(const perp_plan *plan)
{
    return plan && plan->again.gains && plan->again.gains->is_there ? plan->again.gains : NULL;
}

perp_status perp_plan_get_gain(const perp_plan *plan, int step, double *gain, double *A, double *B)
{
    const perp__gains *of = gains_of(plan);
    if (!of || step < 0 || step >= plan->program->K) return PERP_ERR_ARG;
    size_t k = (size_t)step;
    if (gain) memcpy(gain, of->gain + k * of->nB, of->nB * sizeof *gain);
    if (A) memcpy(A, of->A + k * of->nA, of->nA * sizeof *A);
    if (B) memcpy(B, of->B + k * of->nB, of->nB * sizeof *B);
    return PERP_OK;
}

perp_status perp_plan_feedback(const perp_plan *plan, double t, const double *state, double *input)
{
    const perp__gains *of = gains_of(plan);
    if (!of || !state || !input || isnan(t)) return PERP_ERR_ARG;
    const perp__program *g = plan->program;
    int k = 0, last = (g->npoint - 1) * g->nb, inputs = last + g->nx + g->nv + g->nsplit;
    size_t K = (size_t)g->K;
    while (k + 1 < g->K && t >= perp__program_time(g, plan->p, k + 1)) k++;
    double h = perp__program_step(g, plan->p, k),
           share = h > 0 ? fmin(fmax((t - perp__program_time(g, plan->p, k)) / h, 0), 1) : 0;
    for (int j = 0; j < g->nu; j++) {
        const double *gain = of->gain + (size_t)k * of->nB + (size_t)(j * g->ns);
        size_t at = (size_t)(inputs + j) * K + (size_t)k;
        double u = perp__plan_input(plan, j, k, share);
        for (int i = 0; i < g->ns; i++) {
            double from = perp__program_pre(g, plan->w, plan->p, i, k),
                   to = plan->w[(size_t)(last + i) * K + (size_t)k];
            u -= gain[i] * (state[i] - from - share * (to - from));
        }
        input[j] = fmin(fmax(u, g->bound.wlo[at]), g->bound.whi[at]);
    }
    return PERP_OK;
}
