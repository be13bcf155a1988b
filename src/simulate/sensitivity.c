/* Forward sensitivities. The rows of a step and the outputs are differentiated symbolically once.
 * Each solved step costs one evaluation of those derivatives and one solve a parameter with the
 * factors of the step. */

#include "simulate/sensitivity.h"

#include "base/tol.h"
#include "linalg/dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The derivatives form a sparse matrix. Its rows: rows of the step (nrow), outputs and assigned
 * vars, initial values of the states, conditions of jumps (njump), numbers compared in guards
 * (nbound). Its columns: states before the step (nx), parameters (nfollowed), given symbols
 * (ngiven), and, for outputs and jumps only, unknowns (ny). After it the tape has: of each guard
 * whether it is on without conditions on their bounds, with those, and as taken; of each comparison
 * its two numbers; and the jumping values. */
struct perp__sensitivity {
    perp__step *step;
    int np, noutput; /* directions: parameters, then initial values of states */
    int nfollowed, *state,
        *place; /* directions that are parameters; the states of the others; the caller's order */
    int nparam, *param; /* those followed, then others that the step's caller may change */
    int ngiven, *given; /* symbols whose derivatives the caller gives: times, tables */
    perp__tape tape;    /* the nonzeros, row by row */
    int *start, *column;
    int tells_bounds, nguard, nbound, *guard_of; /* nbound: which guard a comparison is in */
    int njump;          /* comparisons, floors, signs in rows and outputs */
    double *jump;       /* njump: what they were at the last row */
    char *is_curved;    /* nbound: its slopes are not numbers */
    double *ws;         /* the step's symbols, parameters, then the tape */
    double *before;     /* nx x np, by rows */
    double *of_given;   /* ngiven x np, by rows */
    double *now, *next; /* ny x np, by rows */
    double *output;     /* noutput x np, by rows */
    double *b;          /* ny */
    int ncolumn;
    double *move; /* the directions: of all columns each */
    double *seed; /* nfollowed: the parameters' part of the only direction; NULL: unit vectors */
    int known;    /* 0: a step did not determine them */
    /* np: signs of a change that they do not hold for; behind them, of each pair: was its guard on?
     * 2: not known */
    int *doubt;
    int *row_doubt;             /* np: the same, of the present row alone */
    double *since, since_steps; /* np: that; and a guard switched; NaN: not */
    double *since_jump;         /* np: and what direction j moves decided a jump */
    double *lu, *unit,
        *work; /* of the dense path: ny x ny; factors of columns, then of rows; scratch */
    int *swap;
};

/* Creation ------------------------------------------------------------------------------------ */

/* The first column of an unknown. */
static int unknowns_of(const perp__sensitivity *x)
{
    return x->step->layout->nx + x->nfollowed + x->ngiven;
}

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

/* The numbers that tell which guards are on their bounds are the last roots. */
static int add_bounds(perp__sensitivity *x, const perp__guard_bounds *bounds, perp_expr **root,
                      int *n, int *capacity)
{
    if (!perp__grow(root, capacity, *n + 3 * x->nguard + 2 * x->nbound + 1, sizeof **root))
        return 0;
    for (int k = 0; k < x->nguard; k++) {
        (*root)[(*n)++] = bounds->guard[k].off;
        (*root)[(*n)++] = bounds->guard[k].on;
        (*root)[(*n)++] = bounds->guard[k].taken;
    }
    for (int k = 0; k < x->nbound; k++) {
        (*root)[(*n)++] = bounds->bound[k].slack;
        (*root)[(*n)++] = bounds->bound[k].margin;
    }
    return 1;
}

/* What decides about a node that jumps; -1: this one does not. */
static perp_expr decider(perp__graph *g, perp_expr e)
{
    const perp__node node = g->node[e];
    if (node.op == PERP__LE || node.op == PERP__LT) return perp__sub(g, node.b, node.a);
    return node.op == PERP__FLOOR || node.op == PERP__SIGN ? node.a : -1;
}

/* The nodes of n formulas that jump; malloc'ed. NULL: memory is out. */
static int *find_jumps(perp__graph *g, const perp_expr *formula, int n, int *count)
{
    int *reach = perp__graph_reach(g, formula, n, &n);
    *count = 0;
    for (int k = 0; reach && k < n; k++)
        if (decider(g, reach[k]) >= 0) reach[(*count)++] = reach[k];
    return reach;
}

/* Of those jumps that something decides which may move: rows, and what jumps is left in the
 * list. */
static int add_jumps(perp__sensitivity *x, perp__graph *g, int *jump, const int *column_of,
                     perp__sparse_row *scratch, perp_expr **root, int *n, int *capacity)
{
    int found = x->njump, first = x->step->layout->nrow + x->noutput + x->step->layout->nx, ok = 1;
    x->njump = 0;
    for (int k = 0; ok && k < found; k++) {
        x->start[first + x->njump] = *n;
        ok = add_row(x, g, decider(g, jump[k]), column_of, scratch, root, n, capacity);
        if (scratch->count > 0) jump[x->njump++] = jump[k];
    }
    return ok;
}

static int is_curved(const perp__graph *g, const perp__sparse_row *row)
{
    int found = 0;
    for (int k = 0; k < row->count; k++) found |= g->node[row->entry[k]].op != PERP__CONST;
    return found;
}

/* formula: rows of the step, outputs, initial values. */
static int derive(perp__sensitivity *x, perp__graph *g, const perp_expr *formula, int *jump,
                  const perp__guard_bounds *bounds)
{
    const perp__step *s = x->step;
    int nsymbol = perp__step_parameter(s->layout, x->nparam), n = 0, capacity = 0;
    int total = s->layout->nrow + x->noutput + s->layout->nx;
    perp__sparse_row scratch = {0};
    perp_expr *root = NULL;
    int *column_of = malloc(((size_t)nsymbol + 1) * sizeof(int)), ok = column_of != NULL;
    for (int k = 0; ok && k < nsymbol; k++) column_of[k] = -1;
    for (int i = 0; ok && i < s->layout->nx; i++) column_of[s->layout->sym.pre + i] = i;
    for (int j = 0; ok && j < x->nfollowed; j++)
        column_of[perp__step_parameter(s->layout, j)] = s->layout->nx + j;
    for (int k = 0; ok && k < x->ngiven; k++)
        column_of[x->given[k]] = s->layout->nx + x->nfollowed + k;
    for (int r = 0; ok && r < total; r++) {
        int is_output = r >= s->layout->nrow && r < s->layout->nrow + x->noutput;
        for (int i = 0; i < s->layout->ny; i++)
            column_of[s->layout->sym.y + i] = is_output ? unknowns_of(x) + i : -1;
        x->start[r] = n;
        ok = add_row(x, g, formula[r], column_of, &scratch, &root, &n, &capacity);
    }
    for (int i = 0; ok && i < s->layout->ny; i++)
        column_of[s->layout->sym.y + i] = unknowns_of(x) + i;
    ok = ok && add_jumps(x, g, jump, column_of, &scratch, &root, &n, &capacity);
    total += x->njump;
    for (int i = 0; ok && i < s->layout->ny; i++) column_of[s->layout->sym.y + i] = -1;
    for (int k = 0; ok && k < x->nbound; k++) {
        x->start[total + k] = n;
        x->guard_of[k] = bounds->bound[k].guard;
        ok = add_row(x, g, bounds->bound[k].slack, column_of, &scratch, &root, &n, &capacity);
        x->is_curved[k] = (char)is_curved(g, &scratch);
    }
    x->start[total + x->nbound] = n;
    ok = ok && add_bounds(x, bounds, &root, &n, &capacity) &&
         perp__grow(&root, &capacity, n + x->njump + 1, sizeof *root);
    for (int k = 0; ok && k < x->njump; k++) root[n++] = jump[k];
    ok = ok && perp__tape_compile(&x->tape, g, root, n, nsymbol);
    perp__sparse_row_clear(&scratch);
    free(root);
    free(column_of);
    return ok;
}

/* Of guards nothing is known; of anything. */
static void forget_guards(perp__sensitivity *x)
{
    for (int p = 0; p < x->step->layout->np; p++) x->doubt[x->np + p] = 2;
}

static void forget_kinks(perp__sensitivity *x)
{
    for (int j = 0; j < x->np; j++) {
        x->doubt[j] = 0;
        x->since[j] = x->since_jump[j] = (double)NAN;
    }
    perp__sensitivity_next_row(x);
    x->since_steps = (double)NAN;
    forget_guards(x);
}

static int allocate(perp__sensitivity *x, int is_one)
{
    const perp__step *s = x->step;
    size_t np = (size_t)x->np, nx = (size_t)s->layout->nx, ny = (size_t)s->layout->ny,
           nout = (size_t)x->noutput;
    size_t ngiven = (size_t)x->ngiven;
    x->ncolumn = unknowns_of(x) + s->layout->ny;
    x->before = calloc((nx + ngiven + 2 * ny + nout) * np + ny + (np + 1) * (size_t)x->ncolumn + 1,
                       sizeof(double));
    if (!x->before) return 0;
    x->of_given = x->before + nx * np;
    x->now = x->of_given + ngiven * np;
    x->next = x->now + ny * np;
    x->output = x->next + ny * np;
    x->b = x->output + nout * np;
    x->move = x->b + ny;
    x->doubt = calloc(2 * np + (size_t)s->layout->np + 1, sizeof *x->doubt);
    x->since = calloc(2 * np + (size_t)x->njump + 1, sizeof *x->since);
    if (!x->doubt || !x->since) return 0;
    x->row_doubt = x->doubt + np + s->layout->np;
    x->since_jump = x->since + np;
    x->jump = x->since_jump + np;
    forget_kinks(x);
    x->ws = calloc((size_t)perp__tape_end(&x->tape) + 1, sizeof(double));
    x->lu =
        malloc(((s->cache.A ? ny * ny : 0) + 4 * ny + (size_t)x->nfollowed + 1) * sizeof(double));
    x->swap = malloc((ny + 1) * sizeof(int));
    if (!x->ws || !x->lu || !x->swap) return 0;
    x->unit = x->lu + (s->cache.A ? ny * ny : 0);
    x->work = x->unit + 2 * ny;
    if (is_one) x->seed = x->work + 2 * ny;
    perp__tape_prepare(&x->tape, x->ws, 1);
    return 1;
}

/* The parameters that are symbols of the formulas, the states that are followed, and what is given.
 * Returns 0 when memory is out. */
static int list_symbols(perp__sensitivity *x, const perp__followed *by)
{
    const perp__varied *varied = &x->step->layout->sym.varied;
    int np = by->nparam, nstate = by->nstate;
    size_t n = (size_t)np + (size_t)varied->n + 2 * (size_t)nstate + (size_t)by->ngiven;
    x->param = malloc((n + (size_t)np + 2) * sizeof(int));
    if (!x->param) return 0;
    x->state = x->param + np + varied->n;
    x->place = x->state + nstate;
    x->given = x->place + np + nstate + 1;
    x->place[0] = 0;
    for (int k = 0; k < np; k++) x->param[k] = by->param[k];
    for (int k = 0; k < nstate; k++) x->state[k] = by->state[k];
    for (int k = 0; k < by->ngiven; k++) x->given[k] = by->given[k];
    for (int k = 0; k < np + nstate; k++) x->place[k] = by->place ? by->place[k] : k;
    x->nparam = np;
    for (int k = 0; k < varied->n; k++) {
        int is_followed = 0;
        for (int j = 0; j < np; j++) is_followed |= x->param[j] == varied->param[k];
        if (!is_followed) x->param[x->nparam++] = varied->param[k];
    }
    return 1;
}

static void evaluate(perp__sensitivity *x)
{
    memcpy(x->ws, x->step->ws, (size_t)x->step->layout->sym.n * sizeof(double));
    perp__tape_eval(&x->tape, x->ws);
}

static double jump_now(const perp__sensitivity *x, int k)
{
    return x->ws[x->tape.out[x->tape.nout - x->njump + k]];
}

/* Where the run is now, which is where the next step begins. */
static void see_jumps(perp__sensitivity *x)
{
    const perp__step *s = x->step;
    double *ws = x->ws;
    if (x->njump == 0) return;
    memcpy(ws, s->ws, (size_t)s->layout->sym.n * sizeof(double));
    ws[SYM_T_PRE] = ws[SYM_T];
    for (int i = 0; i < s->layout->nx; i++) ws[s->layout->sym.pre + i] = ws[s->layout->sym.y + i];
    for (int k = 0; k < s->layout->table.n; k++)
        ws[s->layout->sym.table_pre + k] = ws[s->layout->sym.table + k];
    perp__tape_eval(&x->tape, ws);
    for (int k = 0; k < x->njump; k++) x->jump[k] = jump_now(x, k);
}

perp__sensitivity *perp__sensitivity_create(perp__step *s, const perp__followed *by)
{
    const perp__layout *l = s->layout;
    int noutput = l->tape.outputs.nout + l->sym.assigned.n;
    size_t total = (size_t)l->nrow + (size_t)noutput + (size_t)l->nx;
    perp__graph graph = {0};
    perp__guard_bounds bounds = {0};
    perp__sensitivity *x = calloc(1, sizeof *x);
    perp_expr *formula = malloc((total + 1) * sizeof *formula);
    int ok = x && formula, *jump = NULL;
    if (ok) {
        *x = (perp__sensitivity){.step = s,
                                 .np = by->is_one ? 1 : by->nparam + by->nstate,
                                 .noutput = noutput,
                                 .nfollowed = by->nparam,
                                 .ngiven = by->ngiven,
                                 .tells_bounds = by->tells_bounds};
        ok = list_symbols(x, by) &&
             perp__step_formulas(s, x->param, x->nparam, &graph, formula, formula + l->nrow,
                                 formula + l->nrow + noutput, by->tells_bounds ? &bounds : NULL);
        x->nguard = bounds.nguard;
        x->nbound = bounds.n;
        jump = ok ? find_jumps(&graph, formula, by->tells_bounds ? l->nrow + noutput : 0, &x->njump)
                  : NULL;
        x->start = malloc((total + (size_t)x->njump + 2 * (size_t)x->nbound + 1) * sizeof(int));
        x->is_curved = malloc((size_t)x->nbound + 1);
        x->guard_of = x->start ? x->start + total + x->njump + x->nbound + 1 : NULL;
        ok = jump && x->start && x->is_curved && derive(x, &graph, formula, jump, &bounds) &&
             allocate(x, by->is_one);
    }
    perp__graph_clear(&graph);
    perp__guard_bounds_clear(&bounds);
    free(formula);
    free(jump);
    if (ok) {
        perp__sensitivity_revalue(x);
        see_jumps(x);
        return x;
    }
    perp__sensitivity_destroy(x);
    return NULL;
}

/* As the step has it, where it may change there. */
static double value_of(const perp__step *s, int param)
{
    const perp__layout *l = s->layout;
    for (int k = 0; k < l->sym.varied.n; k++)
        if (l->sym.varied.param[k] == param) return s->ws[perp__step_parameter(s->layout, k)];
    return s->model->item[PERP_PARAM][param].value;
}

void perp__sensitivity_revalue(perp__sensitivity *x)
{
    for (int j = 0; x && j < x->nparam; j++)
        x->ws[perp__step_parameter(x->step->layout, j)] = value_of(x->step, x->param[j]);
}

void perp__sensitivity_set(perp__sensitivity *x, int state)
{
    for (int j = 0; x && j < x->np; j++) x->now[state * x->np + j] = 0;
}

perp__sensitivity *perp__sensitivity_clone(const perp__sensitivity *x, perp__step *step)
{
    perp__followed by = perp__sensitivity_followed(x);
    by.ngiven = x->ngiven;
    by.given = x->given;
    return perp__sensitivity_create(step, &by);
}

perp__followed perp__sensitivity_followed(const perp__sensitivity *x)
{
    return (perp__followed){.nparam = x->nfollowed,
                            .nstate = x->np - x->nfollowed,
                            .param = x->param,
                            .state = x->state,
                            .place = x->place,
                            .tells_bounds = x->tells_bounds};
}

void perp__sensitivity_pass(perp__sensitivity *x, perp__pass *pass)
{
    size_t np = (size_t)x->np, nx = (size_t)x->step->layout->nx, ny = (size_t)x->step->layout->ny;
    perp__pass_doubles(pass, x->before, nx * np);
    perp__pass_doubles(pass, x->now, ny * np);
    perp__pass_doubles(pass, x->output, (size_t)x->noutput * np);
    perp__pass_ints(pass, &x->known, 1, 0, 1);
    perp__pass_ints(pass, x->doubt, 2 * np + (size_t)x->step->layout->np, 0, 3);
    perp__pass_doubles(pass, x->since, 2 * np + (size_t)x->njump); /* and what jumps */
    perp__pass_doubles(pass, &x->since_steps, 1);
    if (pass->mode == PERP__LOAD) perp__sensitivity_revalue(x);
}

void perp__sensitivity_destroy(perp__sensitivity *x)
{
    if (!x) return;
    perp__tape_clear(&x->tape);
    free(x->start);
    free(x->is_curved);
    free(x->param);
    free(x->column);
    free(x->before);
    free(x->doubt);
    free(x->since);
    free(x->ws);
    free(x->lu);
    free(x->swap);
    free(x);
}

/* Steps --------------------------------------------------------------------------------------- */

/* Direction j, but for the unknowns: states before, a unit vector of the parameters or the seed,
 * what is given. */
static double *put_direction(perp__sensitivity *x, int j)
{
    int np = x->np;
    double *to = x->move + (size_t)j * (size_t)x->ncolumn, *move = to;
    for (int i = 0; i < x->step->layout->nx; i++) *move++ = x->before[i * np + j];
    for (int k = 0; k < x->nfollowed; k++) *move++ = x->seed ? x->seed[k] : k == j;
    for (int k = 0; k < x->ngiven; k++) *move++ = x->of_given[k * np + j];
    return to;
}

/* How formula r moves in a direction. */
static double along(const perp__sensitivity *x, int r, const double *move)
{
    double sum = 0;
    for (int k = x->start[r]; k < x->start[r + 1]; k++)
        sum += x->ws[x->tape.out[k]] * move[x->column[k]];
    return sum;
}

void perp__sensitivity_restart(perp__sensitivity *x)
{
    const perp__step *s = x->step;
    size_t np = (size_t)x->np;
    evaluate(x);
    memset(x->before, 0, (size_t)s->layout->nx * np * sizeof(double));
    for (size_t i = 0; i < (size_t)s->layout->ny * np; i++) x->now[i] = (double)NAN;
    for (size_t i = 0; i < (size_t)x->noutput * np; i++) x->output[i] = (double)NAN;
    for (int j = 0; j < x->np; j++) {
        const double *move = put_direction(x, j);
        for (int i = 0; i < s->layout->nx; i++) {
            double *now = &x->now[i * x->np + j];
            if (j >= x->nfollowed)
                *now = x->state[j - x->nfollowed] == i;
            else
                *now = s->model->item[PERP_STATE][i].is_set
                           ? 0
                           : along(x, s->layout->nrow + x->noutput + i, move);
        }
    }
    x->known = 1;
    forget_kinks(x);
    see_jumps(x);
}

static double row_value(const perp__step *s, int r)
{
    const perp__layout *l = s->layout;
    double sum = s->cache.c[r];
    for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++)
        sum += s->state.slopes.value[k] * s->ws[l->sym.y + l->column[k]];
    return sum;
}

static int mode_row(const perp__step *s, int condition)
{
    const perp__layout *l = s->layout;
    if (condition < l->nequation) return condition;
    const perp__rows *pair = &l->pair[condition - l->nequation];
    int p = condition - l->nequation;
    if (!s->state.on[p]) return pair->off;
    return s->state.choice[p] ? pair->b : pair->a;
}

/* Does the solution satisfy the rows of the mode? A solver may have left another side at zero than
 * it said. */
static int mode_holds(perp__step *s)
{
    const perp__layout *l = s->layout;
    double largest = 0;
    for (int r = 0; r < l->nrow; r++) largest = fmax(largest, fabs(s->cache.c[r]));
    double tol = 10 * s->tol * (1 + largest);
    for (int p = 0; p < l->np; p++) {
        if (!s->state.on[p] || fabs(row_value(s, mode_row(s, l->nequation + p))) <= tol) continue;
        s->state.choice[p] = !s->state.choice[p];
    }
    for (int i = 0; i < l->ny; i++) {
        if (!(fabs(row_value(s, mode_row(s, i))) <= tol)) return 0;
    }
    return 1;
}

/* y = S b with the inverse S of the mode's matrix. */
static void multiply(const perp__step *s, const perp__mode *mode, const double *b, double *y,
                     int stride)
{
    int ny = s->layout->ny;
    for (int i = 0; i < ny; i++) y[i * stride] = 0;
    for (int k = 0; k < ny; k++) {
        const double *column = mode->S + (size_t)k * (size_t)ny;
        for (int i = 0; i < ny && b[k] != 0; i++) y[i * stride] += b[k] * column[i];
    }
}

/* The largest entry of a row or column becomes 1 or so: by powers of two, a few times over. */
static void scale_mode(perp__sensitivity *x)
{
    perp__step *s = x->step;
    int ny = s->layout->ny;
    double *column = x->unit, *row = column + ny;
    for (int i = 0; i < 2 * ny; i++) column[i] = 1;
    for (int round = 0; round < 4; round++) {
        for (int j = 0; j < ny; j++) x->b[j] = 0;
        for (int i = 0; i < ny; i++) {
            double largest = 0;
            int r = mode_row(s, i);
            for (int k = s->layout->row_start[r]; k < s->layout->row_start[r + 1]; k++)
                largest =
                    fmax(largest, fabs(s->state.slopes.value[k]) * column[s->layout->column[k]]);
            row[i] = largest > 0 ? ldexp(1, -ilogb(largest)) : 1;
            for (int k = s->layout->row_start[r]; k < s->layout->row_start[r + 1]; k++) {
                double *most = &x->b[s->layout->column[k]];
                *most = fmax(*most, fabs(s->state.slopes.value[k]) * row[i]);
            }
        }
        for (int j = 0; j < ny; j++) column[j] = x->b[j] > 0 ? ldexp(1, -ilogb(x->b[j])) : 1;
    }
}

/* For a matrix whose units are far apart, as in a short step with contacts by position. Returns 0
 * if it is singular. */
static int factor_mode(perp__sensitivity *x)
{
    perp__step *s = x->step;
    int ny = s->layout->ny;
    double *A = x->lu, *row = x->unit + ny;
    if (!s->cache.A) return 0;
    scale_mode(x);
    memset(A, 0, (size_t)ny * (size_t)ny * sizeof(double));
    for (int i = 0; i < ny; i++) {
        int r = mode_row(s, i);
        for (int k = s->layout->row_start[r]; k < s->layout->row_start[r + 1]; k++) {
            int j = s->layout->column[k];
            A[(size_t)j * (size_t)ny + (size_t)i] = s->state.slopes.value[k] * row[i] * x->unit[j];
        }
    }
    double norm = perp__norm1(ny, A, ny);
    return perp__lu(ny, A, ny, x->swap) == 0 &&
           perp__lu_rcond(ny, A, ny, x->swap, norm, x->work) > PERP_TOL_SINGULAR;
}

static void solve_factored(perp__sensitivity *x, int j)
{
    int ny = x->step->layout->ny;
    for (int i = 0; i < ny; i++) x->b[i] *= x->unit[ny + i];
    perp__lu_solve(ny, x->lu, ny, x->swap, x->b);
    for (int i = 0; i < ny; i++) x->next[i * x->np + j] = x->unit[i] * x->b[i];
}

/* Fill x->next. Returns 0 if the mode's matrix is singular. */
static int solve_mode(perp__sensitivity *x)
{
    perp__step *s = x->step;
    int sparse = s->cache.sparse && perp__sparse_factor_mode(s);
    const perp__mode *mode = sparse ? NULL : perp__step_mode(s);
    if (!sparse && !mode && !factor_mode(x)) return 0;
    for (int j = 0; j < x->np; j++) {
        const double *move = put_direction(x, j);
        for (int i = 0; i < s->layout->ny; i++) x->b[i] = -along(x, mode_row(s, i), move);
        if (mode) {
            multiply(s, mode, x->b, x->next + j, x->np);
            continue;
        }
        if (!sparse) {
            solve_factored(x, j);
            continue;
        }
        if (!perp__sparse_solve_rows(s, x->b, 1)) return 0;
        for (int i = 0; i < s->layout->ny; i++) x->next[i * x->np + j] = x->b[i];
    }
    return 1;
}

/* What a step's derivatives are made from: its rows, linearised there, and the factors of its mode.
 * Returns 0: they do not determine it. */
static int look_back(perp__sensitivity *x, int *sparse, const perp__mode **mode)
{
    perp__step *s = x->step;
    if (!s->layout->nonlinear && s->ws[SYM_H] != s->h) {
        s->h = s->ws[SYM_H];
        perp__step_revalue(s);
    }
    evaluate(x);
    perp__step_linearise(s);
    if (!mode_holds(s)) return 0;
    *sparse = s->cache.sparse && perp__sparse_factor_mode(s);
    *mode = *sparse ? NULL : perp__step_mode(s);
    return *sparse || *mode || factor_mode(x);
}

/* x->b becomes the solution of the transposed matrix. */
static int solve_back(perp__sensitivity *x, int sparse, const perp__mode *mode)
{
    int ny = x->step->layout->ny;
    double *b = x->b, *y = x->work;
    if (sparse) return perp__sparse_solve_columns(x->step, b);
    if (mode) {
        for (int k = 0; k < ny; k++) {
            const double *column = mode->S + (size_t)k * (size_t)ny;
            y[k] = 0;
            for (int i = 0; i < ny; i++) y[k] += column[i] * b[i];
        }
        memcpy(b, y, (size_t)ny * sizeof *b);
        return 1;
    }
    for (int j = 0; j < ny; j++) b[j] *= x->unit[j];
    perp__lu_solve_transposed(ny, x->lu, ny, x->swap, b);
    for (int i = 0; i < ny; i++) b[i] *= x->unit[ny + i];
    return 1;
}

/* x->move += by * (row r of the derivatives) */
static void add_formula(perp__sensitivity *x, int r, double by)
{
    for (int k = x->start[r]; k < x->start[r + 1] && by != 0; k++)
        x->move[x->column[k]] += by * x->ws[x->tape.out[k]];
}

/* What the columns of a row weigh, by unknowns (x->b), and by all that outputs are made of
 * (x->move). */
static void add_weights(perp__sensitivity *x, const double *weight)
{
    const perp__step *s = x->step;
    int nout = x->noutput - s->layout->sym.assigned.n;
    for (int i = 0; i < s->layout->nx; i++) x->b[i] += weight[1 + i];
    weight += 1 + s->layout->nx;
    for (int v = 0; v < s->model->nvar; v++) {
        int at = s->layout->sym.var_at[v];
        if (at < s->layout->ny)
            x->b[at] += weight[v];
        else
            add_formula(x, s->layout->nrow + nout + at - s->layout->ny, weight[v]);
    }
    weight += s->model->nvar;
    for (int i = 0; i < nout; i++) add_formula(x, s->layout->nrow + i, weight[i]);
    for (int i = 0; i < s->layout->ny; i++) x->b[i] += x->move[unknowns_of(x) + i];
}

int perp__sensitivity_back(perp__sensitivity *x, const double *weight, double *state, double *param,
                           double *given)
{
    perp__step *s = x->step;
    int sparse, nx = s->layout->nx;
    const perp__mode *mode;
    if (!look_back(x, &sparse, &mode)) return 0;
    memset(x->b, 0, (size_t)s->layout->ny * sizeof(double));
    memset(x->move, 0, (size_t)x->ncolumn * sizeof(double));
    if (weight) add_weights(x, weight);
    for (int i = 0; i < nx; i++) x->b[i] += state[i];
    if (!solve_back(x, sparse, mode)) return 0;
    for (int i = 0; i < s->layout->ny; i++) add_formula(x, mode_row(s, i), -x->b[i]);
    if (nx) memcpy(state, x->move, (size_t)nx * sizeof(double));
    for (int k = 0; k < x->nfollowed; k++) param[k] += x->move[nx + k];
    for (int k = 0; k < x->ngiven; k++) given[k] = x->move[nx + x->nfollowed + k];
    return perp__are_finite(s->layout->ny, x->b);
}

void perp__sensitivity_back_row(perp__sensitivity *x, const double *weight, double *unknown,
                                double *before, double *param, double *given)
{
    const perp__step *s = x->step;
    evaluate(x);
    memset(x->b, 0, (size_t)s->layout->ny * sizeof(double));
    memset(x->move, 0, (size_t)x->ncolumn * sizeof(double));
    add_weights(x, weight);
    memcpy(unknown, x->b, (size_t)s->layout->ny * sizeof(double));
    if (s->layout->nx) memcpy(before, x->move, (size_t)s->layout->nx * sizeof(double));
    for (int k = 0; k < x->nfollowed; k++) param[k] += x->move[s->layout->nx + k];
    for (int k = 0; k < x->ngiven; k++) given[k] = x->move[s->layout->nx + x->nfollowed + k];
}

double *perp__sensitivity_seed(perp__sensitivity *x)
{
    return x->seed;
}

/* Outputs and assigned vars from the unknowns, by the directions as they were put. */
static void report(perp__sensitivity *x)
{
    int np = x->np;
    for (int j = 0; j < np && x->noutput + x->njump > 0; j++) {
        double *move = x->move + (size_t)j * (size_t)x->ncolumn;
        double *unknown = move + x->ncolumn - x->step->layout->ny;
        for (int i = 0; i < x->step->layout->ny; i++) unknown[i] = x->now[i * np + j];
        for (int i = 0; i < x->noutput; i++)
            x->output[i * np + j] = along(x, x->step->layout->nrow + i, move);
    }
}

void perp__sensitivity_doubt(perp__sensitivity *x, int j, int bits, double t)
{
    if (bits & ~x->doubt[j]) {
        x->doubt[j] |= bits;
        x->since[j] = t;
    }
}

/* A row that is 0, and has to be >= 0: does a change in direction j move it below? */
static int against(const perp__sensitivity *x, int r, int j)
{
    const perp__step *s = x->step;
    const double *move = x->move + (size_t)j * (size_t)x->ncolumn;
    double moves = along(x, r, move), size = 0;
    for (int k = x->start[r]; k < x->start[r + 1]; k++)
        size += fabs(x->ws[x->tape.out[k]] * move[x->column[k]]);
    for (int k = s->layout->row_start[r]; k < s->layout->row_start[r + 1]; k++) {
        double part = s->state.slopes.value[k] * x->now[s->layout->column[k] * x->np + j];
        moves += part;
        size += fabs(part);
    }
    return perp__against(moves, size);
}

/* The largest constant of a row, in units in which entries are near 1; infinite where there are
 * none. */
static double data_of(const perp__step *s)
{
    const perp__layout *l = s->layout;
    const double *row = s->state.units.value + l->ny;
    double most = s->state.units.are_known ? 0 : (double)INFINITY;
    for (int r = 0, n = s->state.units.are_known ? l->nrow : 0; r < n; r++) {
        double x = fabs(s->cache.c[r]) * row[r];
        if (x > most) most = x;
    }
    return most;
}

/* Is row r 0 in the step that was just solved, by its terms, or relative to the accuracy of its
 * unknowns? Those sizes are found (*has_sizes) if the residual is small relative to the rows'
 * data. */
static int is_zero(perp__step *s, int r, double *data, int *has_sizes)
{
    const perp__layout *l = s->layout;
    enum { FAR = 1000 };
    double terms = fabs(s->cache.c[r]), units = 0, value = s->cache.c[r];
    for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++) {
        double x = s->state.slopes.value[k] * s->ws[l->sym.y + l->column[k]];
        value += x;
        terms += fabs(x);
        units += fabs(s->state.slopes.value[k]) * s->state.units.value[l->column[k]];
    }
    if (fabs(value) <= s->tol * terms) return 1;
    if (*data < 0) *data = data_of(s);
    if (fabs(value) * FAR > *data * units) return 0;
    if (!*has_sizes) {
        perp__step_size(s);
        *has_sizes = 1;
    }
    return perp__error_zero(perp__step_row_amount(s, r, s->ws + l->sym.y)) <= s->tol;
}

/* The row of comparison k; behind the last, the first root of what tells of bounds. */
static int row_of_bound(const perp__sensitivity *x, int k)
{
    return x->step->layout->nrow + x->noutput + x->step->layout->nx + x->njump + k;
}

static double steepest(const perp__sensitivity *x, int r)
{
    double most = 0;
    for (int e = x->start[r]; e < x->start[r + 1]; e++)
        most = fmax(most, fabs(x->ws[x->tape.out[e]]));
    return most;
}

/* Has what is compared no slope here, told from those with the states a little beside? */
static int is_flat(perp__sensitivity *x, int r)
{
    const double little = 1e-6, nearby = 1e-3;
    int nx = x->step->layout->nx;
    double here = steepest(x, r), *state = x->ws + x->step->layout->sym.pre, most = 0;
    for (int i = 0; i < nx; i++) most = fmax(most, fabs(state[i]));
    for (int i = 0; i < nx; i++)
        state[i] += nearby * (fabs(state[i]) + (most > 0 ? nearby * most : 1));
    perp__tape_eval(&x->tape, x->ws);
    double there = steepest(x, r);
    evaluate(x);
    return here <= little * there;
}

/* A comparison on its bound, of a guard that was taken as it is_on. A change in direction j that
 * moves it to the other side is against that; of one without a slope that is not known. */
static int against_bound(const perp__sensitivity *x, int r, int j, int is_on, int is_without_slope)
{
    const double *move = x->move + (size_t)j * (size_t)x->ncolumn;
    double moves = along(x, r, move), size = 0;
    int is_moved = 0;
    for (int k = x->start[r]; k < x->start[r + 1]; k++) {
        double by = move[x->column[k]];
        size += fabs(x->ws[x->tape.out[k]] * by);
        is_moved |= by != 0;
    }
    if (is_without_slope) return is_moved ? PERP__NOT_UP | PERP__NOT_DOWN : 0;
    return perp__against(is_on ? moves : -moves, size);
}

/* Guards that were on their bounds where the step began, which took them as on or off. */
static void note_bounds(perp__sensitivity *x)
{
    const double *ws = x->ws;
    const int *guard = x->tape.out + x->start[row_of_bound(x, x->nbound)],
              *bound = guard + 3 * x->nguard;
    for (int k = 0; k < x->nbound; k++) {
        const int *of = guard + 3 * x->guard_of[k];
        int r = row_of_bound(x, k), is_on = ws[of[2]] > 0;
        double slack = ws[bound[2 * k]], margin = ws[bound[2 * k + 1]];
        if ((ws[of[0]] > 0) == (ws[of[1]] > 0) || !(fabs(slack) <= margin)) continue;
        int is_without_slope = x->is_curved[k] && is_flat(x, r);
        for (int j = 0; j < x->np; j++)
            perp__sensitivity_doubt(x, j, against_bound(x, r, j, is_on, is_without_slope),
                                    ws[SYM_T_PRE]);
    }
}

/* Pairs whose sides are both 0 in the step that was just solved, and guards that were otherwise in
 * the one before. */
static void note_kinks(perp__sensitivity *x)
{
    perp__step *s = x->step;
    int has_sizes = 0;
    double data = -1;
    for (int p = 0; p < s->layout->np; p++) {
        int *was = &x->doubt[x->np + p],
            other = s->state.choice[p] ? s->layout->pair[p].a : s->layout->pair[p].b;
        if (s->model->kind == PERP_CONTINUOUS && *was + s->state.on[p] == 1 &&
            isnan(x->since_steps))
            x->since_steps = s->ws[SYM_T];
        *was = s->state.on[p];
        if (!s->state.on[p] || !is_zero(s, other, &data, &has_sizes)) continue;
        for (int j = 0; j < x->np; j++)
            perp__sensitivity_doubt(x, j, against(x, other, j), s->ws[SYM_T]);
    }
}

/* Rows with choose, floor, mod or sign that jump when their condition reaches its threshold: a
 * change of it makes the jump earlier or later. */
static void note_jumps(perp__sensitivity *x)
{
    int first = x->step->layout->nrow + x->noutput + x->step->layout->nx;
    for (int k = 0; k < x->njump; k++) {
        double was = x->jump[k], now = x->jump[k] = jump_now(x, k);
        if (isnan(was) || isnan(now) || now == was || x->step->model->kind == PERP_DISCRETE)
            continue;
        for (int j = 0; j < x->np; j++)
            if (isnan(x->since_jump[j]) &&
                along(x, first + k, x->move + (size_t)j * (size_t)x->ncolumn) != 0)
                x->since_jump[j] = x->step->ws[SYM_T];
    }
}

void perp__sensitivity_forget_doubts(perp__sensitivity *x)
{
    memset(x->doubt, 0, (size_t)x->np * sizeof *x->doubt);
}

int perp__sensitivity_doubts(const perp__sensitivity *x, int j)
{
    return x->doubt[j];
}

void perp__sensitivity_doubt_row(perp__sensitivity *x, int j, int bits)
{
    x->row_doubt[j] |= bits;
}

void perp__sensitivity_keep_row(perp__sensitivity *x)
{
    for (int j = 0; j < x->np; j++)
        perp__sensitivity_doubt(x, j, x->row_doubt[j], x->step->ws[SYM_T]);
}

void perp__sensitivity_next_row(perp__sensitivity *x)
{
    for (int j = 0; j < x->np; j++) x->row_doubt[j] = 0;
}

perp_derivative_kind perp__sensitivity_kind(const perp__sensitivity *x, int k, double *since)
{
    static const perp_derivative_kind kinds[] = {PERP_DERIVATIVE_DIFFERENTIABLE,
                                                 PERP_DERIVATIVE_DECREASE, PERP_DERIVATIVE_INCREASE,
                                                 PERP_DERIVATIVE_UNKNOWN_DIRECTION};
    int j = x->place[k], bits = x->doubt[j] | x->row_doubt[j];
    double since_steps = fmin(x->since_steps, x->since_jump[j]);
    *since = bits ? x->since[j] : since_steps;
    if (bits != x->doubt[j]) *since = x->step->ws[SYM_T];
    if (!x->known) return PERP_DERIVATIVE_NONE;
    if (bits && !isnan(since_steps))
        return PERP_DERIVATIVE_UNKNOWN_DIRECTION; /* there is no word */
    return bits || isnan(since_steps) ? kinds[bits] : PERP_DERIVATIVE_OF_STEPS;
}

void perp__sensitivity_advance(perp__sensitivity *x)
{
    perp__step *s = x->step;
    perp__sensitivity_next_row(x);
    if (!x->known) return;
    memcpy(x->before, x->now, (size_t)s->layout->nx * (size_t)x->np * sizeof(double));
    evaluate(x);
    if (s->layout->nonlinear) perp__step_linearise(s);
    x->known = mode_holds(s) && solve_mode(x);
    if (!x->known) return;
    double *now = x->next;
    x->next = x->now;
    x->now = now;
    note_kinks(x);
    note_bounds(x);
    report(x);
    note_jumps(x);
}

const double *perp__sensitivity_of_sides(perp__sensitivity *x)
{
    size_t n = (size_t)x->step->layout->nx;
    memset(x->before, 0, n * n * sizeof(double));
    for (size_t i = 0; i < n; i++) x->before[i * n + i] = 1;
    evaluate(x);
    if (x->step->layout->nonlinear) perp__step_linearise(x->step);
    return solve_mode(x) ? x->next : NULL;
}

double *perp__sensitivity_states(perp__sensitivity *x)
{
    return x->now;
}

double *perp__sensitivity_given(perp__sensitivity *x)
{
    return x->of_given;
}

void perp__sensitivity_put(perp__sensitivity *x, const double *before, const double *state,
                           const double *var)
{
    const perp__step *s = x->step;
    size_t np = (size_t)x->np, states = (size_t)s->layout->nx * np;
    forget_guards(x);
    if (states) memcpy(x->before, before, states * sizeof(double));
    if (states) memcpy(x->now, state, states * sizeof(double));
    for (size_t i = states; i < (size_t)s->layout->ny * np; i++)
        x->now[i] = 0; /* splits: nobody reads */
    for (int v = 0; v < s->model->nitem[PERP_VAR]; v++) {
        int at = s->layout->sym.var_at[v];
        if (at < s->layout->ny)
            memcpy(x->now + (size_t)at * np, var + (size_t)v * np, np * sizeof(double));
    }
    evaluate(x);
    for (int j = 0; j < x->np; j++) put_direction(x, j);
    report(x);
    note_jumps(x);
}

void perp__sensitivity_here(perp__sensitivity *x)
{
    evaluate(x);
    for (int j = 0; j < x->np; j++) put_direction(x, j);
    for (int i = x->step->layout->nx * x->np; i < x->step->layout->ny * x->np; i++)
        x->now[i] = (double)NAN;
    report(x);
}

void perp__sensitivity_vars(const perp__sensitivity *x, double *var)
{
    const perp__step *s = x->step;
    size_t np = (size_t)x->np;
    int nout = x->noutput - s->layout->sym.assigned.n;
    for (int v = 0; v < s->model->nitem[PERP_VAR]; v++) {
        int at = s->layout->sym.var_at[v];
        const double *from = at < s->layout->ny
                                 ? x->now + (size_t)at * np
                                 : x->output + (size_t)(nout + at - s->layout->ny) * np;
        memcpy(var + (size_t)v * np, from, np * sizeof(double));
    }
}

int perp__sensitivity_known(const perp__sensitivity *x)
{
    return x->known;
}

void perp__sensitivity_trust(perp__sensitivity *x)
{
    x->known = 1;
}

void perp__sensitivity_lose(perp__sensitivity *x)
{
    x->known = 0;
}

int perp__sensitivity_get(const perp__sensitivity *x, double *derivative, int ncolumn)
{
    const perp__step *s = x->step;
    int np = x->np, nout = x->noutput - s->layout->sym.assigned.n;
    for (int k = 0; k < np; k++) {
        int j = x->place[k];
        double *d = derivative + (size_t)k * (size_t)ncolumn;
        *d++ = 0; /* time */
        for (int i = 0; i < s->layout->nx; i++) *d++ = x->now[i * np + j];
        for (int v = 0; v < s->model->nvar; v++) {
            int at = s->layout->sym.var_at[v];
            *d++ = at < s->layout->ny ? x->now[at * np + j]
                                      : x->output[(nout + at - s->layout->ny) * np + j];
        }
        for (int i = 0; i < nout; i++) *d++ = x->output[i * np + j];
        *d = (double)NAN; /* residual */
    }
    return x->known;
}
