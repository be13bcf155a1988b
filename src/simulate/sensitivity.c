/* Forward sensitivities: the rows of a step and the outputs are differentiated symbolically once; each solved step costs one
 * evaluation of those derivatives and one solve a parameter with the factors that the step left behind. */

#include "simulate/sensitivity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The derivatives form a sparse matrix. Its rows: rows of the step (nrow), outputs and assigned vars, initial values of the states; its
 * columns: states before the step (nx), parameters (np), and, for outputs only, unknowns (ny). */
struct perp__sensitivity {
    perp__step *step;
    int np, noutput;
    int nparam, *param; /* those followed, then others that the step's caller may change */
    perp__tape tape;    /* the nonzeros, row by row */
    int *start, *column;
    double *ws;         /* the step's symbols, parameters, then the tape */
    double *before;     /* nx x np, by rows */
    double *now, *next; /* ny x np, by rows */
    double *output;     /* noutput x np, by rows */
    double *b;          /* ny */
    int known;          /* 0: a step did not determine them */
};

/* Creation ------------------------------------------------------------------------------------ */

/* The nonzeros of formula e as roots of the tape, and their columns. */
static int add_row(perp__sensitivity *x, perp__graph *g, perp_expr e, const int *column_of,
                   perp__sparse_row *scratch, perp_expr **root, int *n, int *capacity)
{
    if (!perp__gradient(g, e, column_of, scratch)) return 0;
    int wanted = *n + scratch->count, croot = *capacity, ccolumn = *capacity;
    if (!perp__grow(root, &croot, wanted, sizeof **root) ||
        !perp__grow(&x->column, &ccolumn, wanted, sizeof *x->column))
        return 0;
    *capacity = croot;
    for (int k = 0; k < scratch->count; k++) {
        x->column[*n] = scratch->column[k];
        (*root)[(*n)++] = scratch->entry[k];
    }
    return 1;
}

/* formula: rows of the step, outputs, initial values. */
static int derive(perp__sensitivity *x, perp__graph *g, const perp_expr *formula)
{
    const perp__step *s = x->step;
    int nsymbol = perp__step_parameter(s, x->nparam), n = 0, capacity = 0;
    int total = s->nrow + x->noutput + s->nx;
    perp__sparse_row scratch = {0};
    perp_expr *root = NULL;
    int *column_of = malloc(((size_t)nsymbol + 1) * sizeof(int)), ok = column_of != NULL;
    for (int k = 0; ok && k < nsymbol; k++) column_of[k] = -1;
    for (int i = 0; ok && i < s->nx; i++) column_of[s->sym.pre + i] = i;
    for (int j = 0; ok && j < x->np; j++) column_of[perp__step_parameter(s, j)] = s->nx + j;
    for (int r = 0; ok && r < total; r++) {
        int is_output = r >= s->nrow && r < s->nrow + x->noutput;
        for (int i = 0; i < s->ny; i++)
            column_of[s->sym.y + i] = is_output ? s->nx + x->np + i : -1;
        x->start[r] = n;
        ok = add_row(x, g, formula[r], column_of, &scratch, &root, &n, &capacity);
    }
    x->start[total] = n;
    ok = ok && perp__tape_compile(&x->tape, g, root, n, nsymbol);
    perp__sparse_row_clear(&scratch);
    free(root);
    free(column_of);
    return ok;
}

static int allocate(perp__sensitivity *x)
{
    const perp__step *s = x->step;
    size_t np = (size_t)x->np, nx = (size_t)s->nx, ny = (size_t)s->ny, nout = (size_t)x->noutput;
    x->before = calloc((nx + 2 * ny + nout) * np + ny + 1, sizeof(double));
    if (!x->before) return 0;
    x->now = x->before + nx * np;
    x->next = x->now + ny * np;
    x->output = x->next + ny * np;
    x->b = x->output + nout * np;
    x->ws = calloc((size_t)perp__tape_end(&x->tape) + 1, sizeof(double));
    if (!x->ws) return 0;
    perp__tape_prepare(&x->tape, x->ws, 1);
    return 1;
}

/* The parameters that are symbols of the formulas. 0 when memory is out. */
static int list_parameters(perp__sensitivity *x, const int *param, int np)
{
    const perp__varied *varied = &x->step->sym.varied;
    x->param = malloc(((size_t)np + (size_t)varied->n) * sizeof(int));
    if (!x->param) return 0;
    memcpy(x->param, param, (size_t)np * sizeof(int));
    x->nparam = np;
    for (int k = 0; k < varied->n; k++) {
        int is_followed = 0;
        for (int j = 0; j < np; j++) is_followed |= param[j] == varied->param[k];
        if (!is_followed) x->param[x->nparam++] = varied->param[k];
    }
    return 1;
}

perp__sensitivity *perp__sensitivity_create(perp__step *s, const int *param, int np)
{
    int noutput = s->tape.outputs.nout + s->sym.assigned.n;
    size_t total = (size_t)s->nrow + (size_t)noutput + (size_t)s->nx;
    perp__graph graph = {0};
    perp__sensitivity *x = calloc(1, sizeof *x);
    perp_expr *formula = malloc((total + 1) * sizeof *formula);
    int ok = x && formula;
    if (ok) {
        *x = (perp__sensitivity){.step = s, .np = np, .noutput = noutput};
        x->start = malloc((total + 1) * sizeof(int));
        ok = x->start && list_parameters(x, param, np) &&
             perp__step_formulas(s, x->param, x->nparam, &graph, formula, formula + s->nrow,
                                 formula + s->nrow + noutput) &&
             derive(x, &graph, formula) && allocate(x);
    }
    perp__graph_clear(&graph);
    free(formula);
    if (ok) {
        perp__sensitivity_revalue(x);
        return x;
    }
    perp__sensitivity_destroy(x);
    return NULL;
}

/* As the step has it, where it may change there. */
static double value_of(const perp__step *s, int param)
{
    for (int k = 0; k < s->sym.varied.n; k++)
        if (s->sym.varied.param[k] == param) return s->ws[perp__step_parameter(s, k)];
    return s->model->item[PERP_PARAM][param].value;
}

void perp__sensitivity_revalue(perp__sensitivity *x)
{
    for (int j = 0; x && j < x->nparam; j++)
        x->ws[perp__step_parameter(x->step, j)] = value_of(x->step, x->param[j]);
}

void perp__sensitivity_set(perp__sensitivity *x, int state)
{
    for (int j = 0; x && j < x->np; j++) x->now[state * x->np + j] = 0;
}

perp__sensitivity *perp__sensitivity_clone(const perp__sensitivity *x, perp__step *step)
{
    return perp__sensitivity_create(step, x->param, x->np);
}

void perp__sensitivity_pass(perp__sensitivity *x, perp__pass *pass)
{
    size_t np = (size_t)x->np, nx = (size_t)x->step->nx, ny = (size_t)x->step->ny;
    perp__pass_doubles(pass, x->before, nx * np);
    perp__pass_doubles(pass, x->now, ny * np);
    perp__pass_doubles(pass, x->output, (size_t)x->noutput * np);
    perp__pass_ints(pass, &x->known, 1, 0, 1);
    if (pass->mode == PERP__LOAD) perp__sensitivity_revalue(x);
}

void perp__sensitivity_destroy(perp__sensitivity *x)
{
    if (!x) return;
    perp__tape_clear(&x->tape);
    free(x->start);
    free(x->param);
    free(x->column);
    free(x->before);
    free(x->ws);
    free(x);
}

/* Steps --------------------------------------------------------------------------------------- */

static void evaluate(perp__sensitivity *x)
{
    memcpy(x->ws, x->step->ws, (size_t)x->step->sym.n * sizeof(double));
    perp__tape_eval(&x->tape, x->ws);
}

/* d formula / d p_j along the run: row r of the matrix times (before, unit vector j, now). */
static double along(const perp__sensitivity *x, int r, int j, const double *now)
{
    int nx = x->step->nx, np = x->np;
    double sum = 0;
    for (int k = x->start[r]; k < x->start[r + 1]; k++) {
        int c = x->column[k];
        double d = x->ws[x->tape.out[k]];
        if (c < nx)
            sum += d * x->before[c * np + j];
        else if (c >= nx + np)
            sum += d * now[(c - nx - np) * np + j];
        else if (c == nx + j)
            sum += d;
    }
    return sum;
}

void perp__sensitivity_restart(perp__sensitivity *x)
{
    const perp__step *s = x->step;
    size_t np = (size_t)x->np;
    evaluate(x);
    memset(x->before, 0, (size_t)s->nx * np * sizeof(double));
    for (size_t i = 0; i < (size_t)s->ny * np; i++) x->now[i] = (double)NAN;
    for (size_t i = 0; i < (size_t)x->noutput * np; i++) x->output[i] = (double)NAN;
    for (int i = 0; i < s->nx; i++) {
        int is_set = s->model->item[PERP_STATE][i].is_set;
        for (int j = 0; j < x->np; j++)
            x->now[i * x->np + j] = is_set ? 0 : along(x, s->nrow + x->noutput + i, j, NULL);
    }
    x->known = 1;
}

static double row_value(const perp__step *s, int r)
{
    double sum = s->c[r];
    for (int k = s->row_start[r]; k < s->row_start[r + 1]; k++)
        sum += s->value[k] * s->ws[s->sym.y + s->column[k]];
    return sum;
}

static int mode_row(const perp__step *s, int condition)
{
    if (condition < s->nequation) return condition;
    const perp__rows *pair = &s->pair[condition - s->nequation];
    int p = condition - s->nequation;
    return !s->on[p] ? pair->off : s->choice[p] ? pair->b : pair->a;
}

/* Does the solution satisfy the rows of the mode? A solver may have left another side at zero than it said. */
static int mode_holds(perp__step *s)
{
    double largest = 0;
    for (int r = 0; r < s->nrow; r++) largest = fmax(largest, fabs(s->c[r]));
    double tol = 10 * s->tol * (1 + largest);
    for (int p = 0; p < s->np; p++) {
        if (!s->on[p] || fabs(row_value(s, mode_row(s, s->nequation + p))) <= tol) continue;
        s->choice[p] = !s->choice[p];
    }
    for (int i = 0; i < s->ny; i++) {
        if (!(fabs(row_value(s, mode_row(s, i))) <= tol)) return 0;
    }
    return 1;
}

/* y = S b with the inverse S of the mode's matrix. */
static void multiply(const perp__step *s, const perp__mode *mode, const double *b, double *y,
                     int stride)
{
    int ny = s->ny;
    for (int i = 0; i < ny; i++) y[i * stride] = 0;
    for (int k = 0; k < ny; k++) {
        const double *column = mode->S + (size_t)k * (size_t)ny;
        for (int i = 0; i < ny && b[k] != 0; i++) y[i * stride] += b[k] * column[i];
    }
}

/* Fill x->next. 0 if the mode's matrix is singular. */
static int solve_mode(perp__sensitivity *x)
{
    perp__step *s = x->step;
    int sparse = s->sparse && perp__sparse_factor_mode(s);
    const perp__mode *mode = sparse ? NULL : perp__step_mode(s);
    if (!sparse && !mode) return 0;
    for (int j = 0; j < x->np; j++) {
        for (int i = 0; i < s->ny; i++) x->b[i] = -along(x, mode_row(s, i), j, NULL);
        if (mode) {
            multiply(s, mode, x->b, x->next + j, x->np);
            continue;
        }
        if (!perp__sparse_solve_rows(s, x->b)) return 0;
        for (int i = 0; i < s->ny; i++) x->next[i * x->np + j] = x->b[i];
    }
    return 1;
}

void perp__sensitivity_advance(perp__sensitivity *x)
{
    perp__step *s = x->step;
    if (!x->known) return;
    memcpy(x->before, x->now, (size_t)s->nx * (size_t)x->np * sizeof(double));
    evaluate(x);
    if (s->nonlinear) perp__step_linearise(s);
    x->known = mode_holds(s) && solve_mode(x);
    if (!x->known) return;
    double *now = x->next;
    x->next = x->now;
    x->now = now;
    for (int i = 0; i < x->noutput; i++) {
        for (int j = 0; j < x->np; j++) x->output[i * x->np + j] = along(x, s->nrow + i, j, x->now);
    }
}

void perp__sensitivity_lose(perp__sensitivity *x)
{
    x->known = 0;
}

int perp__sensitivity_get(const perp__sensitivity *x, double *derivative, int ncolumn)
{
    const perp__step *s = x->step;
    int np = x->np, nout = x->noutput - s->sym.assigned.n;
    for (int j = 0; j < np; j++) {
        double *d = derivative + (size_t)j * (size_t)ncolumn;
        *d++ = 0; /* time */
        for (int i = 0; i < s->nx; i++) *d++ = x->now[i * np + j];
        for (int v = 0; v < s->model->nvar; v++) {
            int at = s->sym.var_at[v];
            *d++ = at < s->ny ? x->now[at * np + j] : x->output[(nout + at - s->ny) * np + j];
        }
        for (int i = 0; i < nout; i++) *d++ = x->output[i * np + j];
        *d = (double)NAN; /* residual */
    }
    return x->known;
}
