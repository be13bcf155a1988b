/* A step of a collocation method, with the zero side of every pair given: writes the rows of all
 * inner points, differentiates them, and solves them by Newton's iteration to rounding. */

#include "simulate/collocation.h"

#include "base/holds.h"
#include "base/tol.h"
#include "linalg/dense.h"
#include "model/instant.h"
#include "model/machine.h"
#include "simulate/run.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Unknowns from which the matrix is factored as a sparse one. */
enum { COLLOCATION_SPARSE_FROM = 40, START = 0, LENGTH = 1, BEFORE = 2 };

/* Roundings of a row that Newton's iteration may leave, times what they grow by in a solve. */
enum { NOISE = 64 };

/* What is needed only while the rows are written. */
typedef struct writing {
    perp__collocation *at;
    perp__graph graph;
    perp__instant instant;
    perp_expr *row, *map;
    int *column,
        *of_positions;   /* symbol -> column of the unknowns; of states and time at a point */
    char *moves_by_vars; /* state -> an equation with its derivative has a var */
    const int *param;    /* parameters of the model that are symbols behind all others */
    int nparam,
        is_again; /* is_again: to derive rows that are there; which sides are gaps is known */
    double step;
    struct {
        perp_expr *e;
        int n, capacity;
    } root;
} writing;

static int point_size(const perp__collocation *a)
{
    return a->nx + a->nv;
}

/* The symbol of the first parameter that is one; before it come the derivatives of an instant. */
static int first_param(const perp__collocation *a)
{
    return a->nsymbol + a->nx;
}

/* Rows ----------------------------------------------------------------------------------------- */

static int make_instant(writing *w)
{
    perp__collocation *a = w->at;
    const perp_model *m = a->model;
    perp__instant *at = &w->instant;
    perp__graph *g = &w->graph;
    if (!perp__instant_create(at, m, g, &a->scheme, a->nsymbol, a->nsymbol + a->nx + w->nparam))
        return 0;
    at->is_limit = 1;
    at->by_differences = 1;
    at->start = perp__symbol(g, START);
    at->h = perp__symbol(g, LENGTH);
    at->theta = perp__const(g, 1);
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++) {
        int k = 0;
        while (k < w->nparam && w->param[k] != i) k++;
        at->known[m->item[PERP_PARAM][i].symbol] =
            k < w->nparam ? perp__symbol(g, first_param(a) + k) : perp__instant_param(at, i);
    }
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++) at->input_before[i] = -1;
    for (int i = 0; i < a->nx; i++) at->before[i] = perp__symbol(g, a->before + i);
    for (int c = 0; c < a->scheme.npoint; c++) {
        int y = a->y + c * point_size(a);
        at->time[c] = perp__symbol(g, a->time + c);
        for (int i = 0; i < m->nitem[PERP_INPUT]; i++) at->input[c * m->nitem[PERP_INPUT] + i] = -1;
        for (int k = 0; k < a->ntable; k++)
            at->input[c * m->nitem[PERP_INPUT] + a->table[k]] =
                perp__symbol(g, a->at_table + c * a->ntable + k);
        for (int i = 0; i < a->nx; i++) at->state[c * a->nx + i] = perp__symbol(g, y + i);
        for (int i = 0; i < a->nv; i++) at->var[c * a->nv + i] = perp__symbol(g, y + a->nx + i);
    }
    return 1;
}

/* A guard as a number that is >= 0 where it holds: b - a for a <= b; the least or the greatest of
 * these for `and` or `or`. The length of a step in it, as in z + h v <= 0, is 0 at an instant. */
static perp_expr switching(writing *w, perp_expr e, int c)
{
    const perp_model *m = w->at->model;
    perp__graph *g = &w->graph;
    const perp__node node = m->graph.node[e];
    if (node.op == PERP__MIN || node.op == PERP__MAX)
        return perp__binary(g, node.op, switching(w, node.a, c), switching(w, node.b, c));
    perp_expr of[2] = {node.a, node.b}, to[2] = {0, 0};
    if (node.op != PERP__LE && node.op != PERP__LT) of[0] = of[1] = e;
    memcpy(w->map, perp__instant_map(&w->instant, PERP__AT_POINT, c),
           (size_t)m->nsymbol * sizeof *w->map);
    w->map[PERP__SYM_H] = perp__const(g, 0);
    perp__graph_copy(g, &m->graph, of, 2, w->map, to);
    return node.op == PERP__LE || node.op == PERP__LT
               ? perp__sub(g, to[1], to[0])
               : perp__sub(g, to[0], perp__const(g, 0.5)); /* of 0 or 1 */
}

/* h times the derivative of e at point c. Is e made of positions, and the time, alone? */
static perp_expr rate_of(writing *w, perp_expr e, int c, int *is_of_positions)
{
    perp__collocation *a = w->at;
    perp__graph *g = &w->graph;
    perp__sparse_row d = {0};
    perp_expr sum = perp__const(g, 0);
    for (int i = 0; i < a->nsymbol; i++) w->of_positions[i] = -1;
    for (int i = 0; i < point_size(a); i++) w->of_positions[a->y + c * point_size(a) + i] = i;
    w->of_positions[a->time + c] = point_size(a);
    if (!perp__gradient(g, e, w->of_positions, &d)) g->failed = 1;
    *is_of_positions = d.count > 0 && d.column[0] < a->nx;
    for (int k = 0; k < d.count && !g->failed; k++) {
        int i = d.column[k], is_time = i == point_size(a);
        *is_of_positions &= is_time || (i < a->nx && !w->moves_by_vars[i]);
        if (i >= a->nx && !is_time) continue;
        perp_expr rate = is_time ? w->instant.h : perp__instant_slope(&w->instant, i, c);
        sum = perp__add(g, sum, perp__mul(g, d.entry[k], rate));
    }
    perp__sparse_row_clear(&d);
    return sum;
}

/* h (d/dt side + side before / H); the side itself if it does not contain positions. */
static perp_expr rate_row(writing *w, perp_expr of, perp_expr side, int c, int *is_gap)
{
    perp__graph *g = &w->graph;
    perp_expr rate = rate_of(w, side, c, is_gap);
    const perp_expr *start = perp__instant_map(&w->instant, PERP__AT_START, c);
    *is_gap = w->is_again || (*is_gap && perp__instant_has(&w->instant, start, of));
    if (!*is_gap) return side;
    perp_expr before = perp__instant_read(&w->instant, of, PERP__AT_START, c);
    perp_expr share = perp__mul(g, w->instant.h, perp__const(g, 1 / w->step));
    return perp__add(g, rate, perp__mul(g, share, before));
}

static void write_pair(writing *w, int c, int p, perp_expr *row)
{
    perp__collocation *a = w->at;
    const perp__pair *pair = &a->model->pair[p];
    perp__graph *g = &w->graph;
    perp__instant *at = &w->instant;
    int is_gap = 0, any;
    perp_expr lo = pair->two_sided ? perp__instant_read(at, pair->lo, PERP__AT_POINT, c) : 0,
              hi = pair->two_sided ? perp__instant_read(at, pair->hi, PERP__AT_POINT, c) : 0;
    row[PERP__ROW_A] = perp__instant_read(at, pair->a, PERP__AT_POINT, c);
    row[PERP__ROW_B] = perp__instant_read(at, pair->b, PERP__AT_POINT, c);
    row[PERP__ROW_LO] = pair->two_sided ? perp__sub(g, row[PERP__ROW_A], lo) : row[PERP__ROW_A];
    row[PERP__ROW_HI] = pair->two_sided ? perp__sub(g, hi, row[PERP__ROW_A]) : row[PERP__ROW_A];
    row[PERP__ROW_GUARD] = pair->guard < 0 ? perp__const(g, 1) : switching(w, pair->guard, c);
    row[PERP__ROW_GUARD_RATE] = rate_of(w, row[PERP__ROW_GUARD], c, &any);
    row[PERP__ROW_RATE] = row[PERP__ROW_A];
    for (int side = 0; side < 2 && !pair->two_sided && !is_gap; side++) {
        if (w->is_again && a->gap[p] != side + 1) continue; /* it was found with numbers */
        row[PERP__ROW_RATE] = rate_row(w, side ? pair->b : pair->a,
                                       row[side ? PERP__ROW_B : PERP__ROW_A], c, &is_gap);
        if (!w->is_again) a->gap[p] = (char)(is_gap ? side + 1 : 0);
    }
}

int perp__find_velocities(const perp_model *m, char *is_velocity)
{
    int nx = m->nitem[PERP_STATE], nv = m->nitem[PERP_VAR];
    for (int i = 0; i < m->nequation; i++) {
        perp_expr root[2] = {m->equation[i].left, m->equation[i].right};
        int n, has_var = 0, *reach = perp__graph_reach(&m->graph, root, 2, &n);
        if (!reach) return 0;
        for (int pass = 0; pass < 1 + has_var; pass++) {
            for (int k = 0; k < n; k++) {
                const perp__node *node = &m->graph.node[reach[k]];
                if (node->op != PERP__SYMBOL) continue;
                for (int v = 0; v < nv; v++) has_var |= m->item[PERP_VAR][v].symbol == node->a;
                for (int x = 0; x < nx && pass; x++)
                    is_velocity[x] |= m->item[PERP_STATE][x].symbol + PERP__DER == node->a;
            }
        }
        free(reach);
    }
    return 1;
}

int perp__holds_positions(const perp_model *m)
{
    int nx = m->nitem[PERP_STATE], found = 0;
    char *is_velocity = calloc((size_t)nx + 1, 1);
    if (!is_velocity || !perp__find_velocities(m, is_velocity)) found = -1;
    for (int i = 0; i < m->nequation && found == 0; i++) {
        perp_expr root[2] = {m->equation[i].left, m->equation[i].right};
        int n, positions = 0, others = 0, *reach = perp__graph_reach(&m->graph, root, 2, &n);
        for (int k = 0; reach && k < n; k++) {
            const perp__node *node = &m->graph.node[reach[k]];
            if (node->op != PERP__SYMBOL) continue;
            for (int v = 0; v < m->nitem[PERP_VAR]; v++)
                others += m->item[PERP_VAR][v].symbol == node->a;
            for (int x = 0; x < nx; x++) {
                int symbol = m->item[PERP_STATE][x].symbol;
                positions += node->a == symbol + PERP__NOW && !is_velocity[x];
                others += node->a == symbol + PERP__DER ||
                          (node->a == symbol + PERP__NOW && is_velocity[x]);
            }
        }
        found = !reach ? -1 : positions > 0 && others == 0;
        free(reach);
    }
    free(is_velocity);
    return found;
}

static void write_rows(writing *w)
{
    perp__collocation *a = w->at;
    const perp_model *m = a->model;
    if (!perp__find_velocities(m, w->moves_by_vars)) w->graph.failed = 1;
    for (int c = 0; c < a->scheme.npoint; c++) {
        perp_expr *row = w->row + c * a->nrow;
        for (int i = 0; i < m->nequation; i++)
            if (perp__instant_row(&w->instant, &m->equation[i], c, row + i, NULL) < 0)
                w->graph.failed = 1;
        for (int p = 0; p < m->npair; p++)
            write_pair(w, c, p, row + m->nequation + PERP__PAIR_ROWS * p);
    }
}

static void add_root(writing *w, perp_expr e)
{
    if (!perp__grow(&w->root.e, &w->root.capacity, w->root.n + 1, sizeof *w->root.e))
        w->graph.failed = 1;
    else
        w->root.e[w->root.n++] = e;
}

/* The rows, then their slopes; those that are constant go into `value`. */
static int derive(writing *w, int **column, double **value, int **entry)
{
    perp__collocation *a = w->at;
    int nrow = a->scheme.npoint * a->nrow, n = 0, ccolumn = 0, cvalue = 0, centry = 0, ok = 1;
    perp__sparse_row d = {0};
    for (int r = 0; r < nrow; r++) add_root(w, w->row[r]);
    for (int r = 0; ok && r < nrow; r++) {
        a->start[r] = n;
        ok = perp__gradient(&w->graph, w->row[r], w->column, &d) &&
             perp__grow(column, &ccolumn, n + d.count + 1, sizeof **column) &&
             perp__grow(value, &cvalue, n + d.count + 1, sizeof **value) &&
             perp__grow(entry, &centry, a->nentry + d.count + 1, sizeof **entry);
        for (int k = 0; ok && k < d.count; k++, n++) {
            const perp__node *node = &w->graph.node[d.entry[k]];
            (*column)[n] = d.column[k];
            (*value)[n] = node->op == PERP__CONST ? node->value : 0;
            if (node->op == PERP__CONST) continue;
            add_root(w, d.entry[k]);
            (*entry)[a->nentry++] = n;
        }
    }
    a->start[nrow] = n;
    perp__sparse_row_clear(&d);
    ok = ok && !w->graph.failed &&
         perp__tape_compile_upon(&a->tape, &w->graph, w->root.e, w->root.n, nrow,
                                 first_param(a) + w->nparam, NULL, NULL);
    if (ok) a->of_rows = perp__tape_instructions(&a->tape, nrow);
    return ok;
}

/* Memory --------------------------------------------------------------------------------------- */

/* Is there room in the tables for this input? */
static int is_table(const perp_model *m, int input, const perp__changes *changes)
{
    int is_set = 0;
    for (int k = 0; k < changes->ninput; k++) is_set |= changes->input[k] == input;
    return is_set || m->item[PERP_INPUT][input].table.n > 0;
}

static void lay_out(perp__collocation *a, const perp__changes *changes)
{
    const perp_model *m = a->model;
    int s = a->scheme.npoint;
    a->nx = m->nitem[PERP_STATE];
    a->nv = m->nitem[PERP_VAR];
    a->neq = m->nequation;
    a->nrow = m->nequation + PERP__PAIR_ROWS * m->npair;
    PERP_TAKE(&a->arena, a->table, m->nitem[PERP_INPUT] + 1);
    PERP_TAKE(&a->arena, a->start, s * a->nrow + 1);
    PERP_TAKE(&a->arena, a->gap, m->npair + 1);
    PERP_TAKE(&a->arena, a->may.param, changes->nparam + 1);
    if (a->arena.failed) return;
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++)
        if (is_table(m, i, changes)) a->table[a->ntable++] = i;
    for (int k = 0; k < changes->nparam; k++) a->may.param[a->may.n++] = changes->param[k];
    a->n = s * point_size(a);
    a->before = BEFORE;
    a->time = a->before + a->nx;
    a->at_table = a->time + s;
    a->y = a->at_table + s * a->ntable;
    a->nsymbol = a->y + a->n;
}

/* The largest numbers of entries that the rows of a mode can have. */
static int most_entries(const perp__collocation *a)
{
    int sum = 0;
    for (int r = 0; r < a->scheme.npoint * a->nrow; r++) sum += a->start[r + 1] - a->start[r];
    return sum;
}

static int keep_rows(perp__collocation *a, const int *column, const double *value, const int *entry)
{
    size_t entries = (size_t)most_entries(a);
    double *constant;
    PERP_TAKE(&a->arena, a->column, entries + 1);
    PERP_TAKE(&a->arena, constant, entries + 1);
    PERP_TAKE(&a->arena, a->entry, a->nentry + 1);
    if (a->arena.failed) return 0;
    if (entries) memcpy(a->column, column, entries * sizeof *column);
    if (entries) memcpy(constant, value, entries * sizeof *value);
    if (a->nentry) memcpy(a->entry, entry, (size_t)a->nentry * sizeof *entry);
    a->constant = constant;
    return 1;
}

/* Mark the columns of row r. */
static void mark_row(const perp__collocation *a, int r, char *mark)
{
    for (int k = a->start[r]; k < a->start[r + 1]; k++) mark[a->column[k]] = 1;
}

/* The pattern of all modes: of each pair the rows that can be 0. Written where there is a column
 * array; returns how many entries. */
static int write_pattern(perp__collocation *a, int *start, int *column)
{
    int n = 0, entries = 0;
    for (int c = 0; c < a->scheme.npoint; c++) {
        for (int i = 0; i < a->neq + a->model->npair; i++) {
            int r = c * a->nrow + i, first = r - i + a->neq + PERP__PAIR_ROWS * (i - a->neq);
            memset(a->known, 0, (size_t)a->n);
            if (i < a->neq) mark_row(a, r, a->known);
            for (int k = 0; i >= a->neq && k < PERP__PAIR_ROWS; k++)
                if (k != PERP__ROW_GUARD && k != PERP__ROW_GUARD_RATE)
                    mark_row(a, first + k, a->known);
            if (column) start[n++] = entries;
            for (int j = 0; j < a->n; j++) {
                if (!a->known[j]) continue;
                if (column) column[entries] = j;
                entries++;
            }
        }
    }
    if (column) start[n] = entries;
    return entries;
}

static int take_sparse(perp__collocation *a)
{
    int entries = write_pattern(a, NULL, NULL);
    PERP_TAKE(&a->arena, a->matrix.start, a->n + 2);
    PERP_TAKE(&a->arena, a->matrix.column, entries + 1);
    PERP_TAKE(&a->arena, a->matrix.value, entries + 1);
    if (a->arena.failed) return 0;
    write_pattern(a, a->matrix.start, a->matrix.column);
    a->matrix.lu = perp__sparse_lu_create(a->n, a->matrix.start, a->matrix.column);
    return a->matrix.lu != NULL;
}

static int take_numbers(perp__collocation *a)
{
    size_t entries = (size_t)most_entries(a), n = (size_t)a->n;
    int is_sparse = a->n >= COLLOCATION_SPARSE_FROM;
    PERP_TAKE(&a->arena, a->hint, a->ntable + 1);
    PERP_TAKE(&a->arena, a->value, entries + 1);
    PERP_TAKE(&a->arena, a->ws, perp__tape_end(&a->tape) + 1);
    PERP_TAKE(&a->arena, a->size, a->nx + 1);
    PERP_TAKE(&a->arena, a->row_of, n + 1);
    PERP_TAKE(&a->arena, a->rest, n + 1);
    PERP_TAKE(&a->arena, a->terms, n + 1);
    PERP_TAKE(&a->arena, a->amount, n + 1);
    PERP_TAKE(&a->arena, a->known, n + 1);
    PERP_TAKE(&a->arena, a->active, n + 1);
    PERP_TAKE(&a->arena, a->state_of, n + 1);
    PERP_TAKE(&a->arena, a->matrix.unit, n + 1);
    PERP_TAKE(&a->arena, a->matrix.swap, n + 1);
    PERP_TAKE(&a->arena, a->matrix.dense, (is_sparse ? 0 : n * n) + 1);
    if (a->arena.failed) return 0;
    if (entries) memcpy(a->value, a->constant, entries * sizeof(double));
    for (int j = 0; j < a->n; j++) {
        int i = j % point_size(a);
        a->state_of[j] = i < a->nx ? i : a->nx;
    }
    perp__tape_prepare(&a->tape, a->ws, 1);
    return !is_sparse || take_sparse(a);
}

static int allocate_writing(writing *w)
{
    const perp__collocation *a = w->at;
    size_t n = (size_t)first_param(a) + (size_t)w->nparam + 1;
    w->row = calloc((size_t)(a->scheme.npoint * a->nrow) + 1, sizeof *w->row);
    w->map = malloc(((size_t)a->model->nsymbol + 1) * sizeof *w->map);
    w->column = malloc(2 * n * sizeof *w->column);
    w->moves_by_vars = calloc((size_t)a->nx + 1, 1);
    if (!w->row || !w->map || !w->column || !w->moves_by_vars) return 0;
    w->of_positions = w->column + n;
    for (size_t i = 0; i < 2 * n; i++) w->column[i] = -1;
    for (int i = 0; i < a->n; i++) w->column[a->y + i] = i;
    return perp__graph_init(&w->graph);
}

perp__collocation *perp__collocation_create(const perp_model *model, const perp__scheme *scheme,
                                            double step, const perp__changes *changes)
{
    perp__collocation *a = calloc(1, sizeof *a);
    writing w = {.at = a, .step = step, .param = changes->param, .nparam = changes->nparam};
    int *column = NULL, *entry = NULL, ok = 0;
    double *value = NULL;
    if (!a) return NULL;
    atomic_init(&a->users, 1);
    a->model = model;
    a->scheme = *scheme;
    a->step = step;
    lay_out(a, changes);
    if (!a->arena.failed && allocate_writing(&w) && make_instant(&w)) {
        write_rows(&w);
        ok = !w.graph.failed && derive(&w, &column, &value, &entry) &&
             keep_rows(a, column, value, entry) && take_numbers(a);
    }
    perp__instant_clear(&w.instant);
    perp__graph_clear(&w.graph);
    free(w.root.e);
    free(w.row);
    free(w.map);
    free(w.column);
    free(w.moves_by_vars);
    free(column);
    free(value);
    free(entry);
    if (ok) return a;
    perp__collocation_destroy(a);
    return NULL;
}

perp_status perp__collocation_compile(perp__collocation *a, perp_diag *diag)
{
    const perp__emitted tape = {&a->tape, 0};
    return perp__machine_make(&tape, 1, &a->compiled, diag);
}

perp__collocation *perp__collocation_share(perp__collocation *a)
{
    perp__collocation *copy = malloc(sizeof *copy), *of = a->of ? a->of : a;
    if (!copy) return NULL;
    *copy = *of;
    atomic_fetch_add(&of->users, 1);
    copy->of = of;
    copy->matrix.lu = NULL;
    copy->matrix.has_pivots = 0;
    copy->arena = (perp__arena){0};
    if (take_numbers(copy)) return copy;
    perp__collocation_destroy(copy);
    return NULL;
}

static void release(perp__collocation *a)
{
    if (atomic_fetch_sub(&a->users, 1) > 1) return;
    perp__sparse_lu_destroy(a->matrix.lu);
    perp__tape_clear(&a->tape);
    perp__compiled_release(a->compiled);
    perp__arena_clear(&a->arena);
    free(a);
}

void perp__collocation_destroy(perp__collocation *a)
{
    if (!a) return;
    perp__collocation *of = a->of;
    if (of) {
        perp__sparse_lu_destroy(a->matrix.lu);
        perp__arena_clear(&a->arena);
        free(a);
    }
    release(of ? of : a);
}

void perp__collocation_put_parameters(perp__collocation *a, const double *value)
{
    if (a->may.n) memcpy(a->ws + first_param(a), value, (size_t)a->may.n * sizeof *value);
}

/* Newton --------------------------------------------------------------------------------------- */

/* The row that is 0 where row `zero` of pair p is: for a side made of positions that of its
 * rate. */
static int active_row(const perp__collocation *a, int c, int p, int zero)
{
    int is_rate = a->gap[p] == zero + 1;
    return c * a->nrow + a->neq + PERP__PAIR_ROWS * p + (is_rate ? PERP__ROW_RATE : zero);
}

/* Pivots rarely serve other rows. */
static void take_mode(perp__collocation *a, const char *mode)
{
    int n = 0;
    for (int c = 0; c < a->scheme.npoint; c++) {
        for (int i = 0; i < a->neq; i++) a->active[n++] = c * a->nrow + i;
        for (int p = 0; p < a->model->npair; p++) {
            int row = active_row(a, c, p, mode[p]);
            if (a->active[n] != row) a->matrix.has_pivots = 0;
            a->active[n++] = row;
        }
    }
}

static double row_value(const perp__collocation *a, int r)
{
    return a->ws[a->tape.out[r]];
}

/* The magnitude of unknown j; of a state also its earlier magnitude. */
static double amount(const perp__collocation *a, int j)
{
    double size = fabs(a->ws[a->y + j]), was = a->size[a->state_of[j]]; /* of a var 0 */
    return size > was ? size : was;
}

static double row_terms(const perp__collocation *a, int r)
{
    const double *y = a->ws + a->y;
    double rest = row_value(a, r), sum = 0;
    for (int k = a->start[r]; k < a->start[r + 1]; k++) {
        int j = a->column[k];
        rest -= a->value[k] * y[j];
        sum += fabs(a->value[k]) * amount(a, j);
    }
    return sum + fabs(rest);
}

/* The largest row of the mode, in roundings of its terms, which are DBL_MIN at least; -1: something
 * is not a number. */
static double evaluate(perp__collocation *a)
{
    const int *out = a->tape.out + a->scheme.npoint * a->nrow, *column = a->column;
    const double *y = a->ws + a->y, *ws = a->ws;
    double worst = 0, *value = a->value, *size = a->amount;
    perp__tape_eval(&a->tape, a->ws);
    for (int k = 0; k < a->nentry; k++) value[a->entry[k]] = ws[out[k]];
    for (int j = 0; j < a->n; j++) size[j] = amount(a, j);
    for (int i = 0; i < a->n; i++) {
        int r = a->active[i], end = a->start[r + 1];
        double x = row_value(a, r), rest = x, terms = 0;
        for (int k = a->start[r]; k < end; k++) /* row_terms */
        {
            rest -= value[k] * y[column[k]];
            terms += fabs(value[k]) * size[column[k]];
        }
        terms += fabs(rest);
        if (!isfinite(x) || !isfinite(terms)) return -1;
        a->row_of[i] = x;
        a->rest[i] = perp__larger(PERP_ROUNDING * terms, DBL_MIN);
        if (x != 0) worst = perp__larger(fabs(x) / a->rest[i], worst);
    }
    return worst;
}

/* Is the residual of the rows rounding alone, their own or that of other rows left by a solve? A
 * state that is held at 0 has no other terms. */
static int is_rounding(const perp__collocation *a)
{
    double most = 0;
    for (int i = 0; i < a->n; i++) most = fmax(most, a->rest[i] / a->matrix.unit[i]);
    for (int i = 0; i < a->n; i++)
        if (fabs(a->row_of[i]) > fmax(a->rest[i], PERP_ROUNDING * most * a->matrix.unit[i]))
            return 0;
    return 1;
}

/* Entries `first` to `end`, of active row i, go into the matrix divided by `largest`. */
static void put_row(perp__collocation *a, int i, int first, int end, double largest)
{
    const int *column = a->column;
    if (!a->matrix.lu) {
        double *row = a->matrix.dense + i;
        for (int k = first; k < end; k++)
            row[(size_t)column[k] * (size_t)a->n] = a->value[k] / largest;
        return;
    }
    for (int k = first, at = a->matrix.start[i]; k < end; k++) {
        while (a->matrix.column[at] != column[k]) at++;
        a->matrix.value[at] = a->value[k] / largest;
    }
}

/* Factor with rows of largest entry 1. A sparse matrix with the pivots of the one before in the
 * same step in time, while these serve. */
static int factor(perp__collocation *a)
{
    size_t n = (size_t)a->n;
    a->leaves = 1;
    if (a->matrix.lu)
        memset(a->matrix.value, 0, (size_t)a->matrix.start[n] * sizeof(double));
    else
        for (size_t j = 0; j < n; j++) memset(a->matrix.dense + j * n, 0, n * sizeof(double));
    for (int i = 0; i < a->n; i++) {
        int first = a->start[a->active[i]], end = a->start[a->active[i] + 1];
        double largest = 0;
        for (int k = first; k < end; k++) largest = perp__larger(fabs(a->value[k]), largest);
        if (!(largest > 0)) return 0;
        a->matrix.unit[i] = largest;
        put_row(a, i, first, end, largest);
    }
    if (!a->matrix.lu) return perp__lu(a->n, a->matrix.dense, a->n, a->matrix.swap) == 0;
    if (a->matrix.has_pivots && perp__sparse_lu_refactor(a->matrix.lu, a->matrix.value)) return 1;
    return a->matrix.has_pivots = perp__sparse_lu_factor(a->matrix.lu, a->matrix.value);
}

/* The residual in the units of the matrix's rows. */
static void scale(perp__collocation *a, double *row_of)
{
    for (int i = 0; i < a->n; i++) row_of[i] /= a->matrix.unit[i];
}

static int solve_linear(perp__collocation *a, double *x)
{
    if (a->matrix.lu) return perp__sparse_lu_solve(a->matrix.lu, x, 1);
    perp__lu_solve(a->n, a->matrix.dense, a->n, a->matrix.swap, x);
    return perp__are_finite(a->n, x);
}

/* The only unknown of active row i that is not known, as an entry; -1: there are none or
 * several. */
static int only_unknown(const perp__collocation *a, int i)
{
    int only = -1;
    for (int k = a->start[a->active[i]]; k < a->start[a->active[i] + 1]; k++) {
        if (a->known[a->column[k]] || a->value[k] == 0) continue;
        if (only >= 0) return -1;
        only = k;
    }
    return only;
}

/* Row i of the mode without its unknowns that are not known; *terms: of all. */
static double row_of_known(const perp__collocation *a, int i, double *terms)
{
    const double *y = a->ws + a->y;
    double sum = a->rest[i];
    for (int k = a->start[a->active[i]]; k < a->start[a->active[i] + 1]; k++) {
        double term = a->value[k] * y[a->column[k]];
        *terms += fabs(term);
        if (a->known[a->column[k]]) sum += term;
    }
    return sum;
}

/* The only state of condition i, at all points, whose values are not known. Returns -1 if there are
 * none or several, or if it is a var. */
static int only_state(const perp__collocation *a, int i)
{
    int only = -1, n = a->neq + a->model->npair;
    for (int c = 0; c < a->scheme.npoint; c++) {
        int r = a->active[c * n + i];
        for (int k = a->start[r]; k < a->start[r + 1]; k++) {
            int state = a->state_of[a->column[k]];
            if (a->known[a->column[k]] || a->value[k] == 0) continue;
            if (state == a->nx || (only >= 0 && only != state)) return -1;
            only = state;
        }
    }
    return only;
}

/* A state that is 0 and that a condition keeps as it is, such as a gap at rest, is 0 at all points.
 * Was there one? *moves: it was not. */
static int settle_at_zero(perp__collocation *a, int *moves)
{
    int found = 0, n = a->neq + a->model->npair;
    for (int i = 0; i < n; i++) {
        int state = only_state(a, i), is_kept = state >= 0 && a->ws[a->before + state] == 0;
        for (int c = 0; c < a->scheme.npoint && is_kept; c++) {
            double terms = 0, of_known = row_of_known(a, c * n + i, &terms);
            is_kept = fabs(of_known) <= PERP_ROUNDING * terms;
        }
        for (int c = 0; c < a->scheme.npoint && is_kept; c++) {
            int j = c * point_size(a) + state;
            *moves |= a->ws[a->y + j] != 0;
            a->ws[a->y + j] = 0;
            a->known[j] = 1;
        }
        found |= is_kept;
    }
    return found;
}

/* Sets the values that rows determine one after the other, such as a force that is 0, then the
 * friction bounded by it. A solve leaves the rounding of other rows in them. Does any value
 * change? */
static int settle(perp__collocation *a)
{
    double *y = a->ws + a->y;
    int moves = 0, has_zero = 0;
    memset(a->known, 0, (size_t)a->n);
    for (int i = 0; i < a->nx; i++) has_zero |= a->ws[a->before + i] == 0;
    for (int i = 0; i < a->n; i++) { /* the rest of each row is constant, so near to its end */
        a->rest[i] = row_value(a, a->active[i]);
        for (int k = a->start[a->active[i]]; k < a->start[a->active[i] + 1]; k++)
            a->rest[i] -= a->value[k] * y[a->column[k]];
    }
    for (int more = 1; more;) {
        more = 0;
        for (int i = 0; i < a->n; i++) {
            int only = only_unknown(a, i);
            if (only < 0) continue;
            double sum = a->rest[i];
            for (int k = a->start[a->active[i]]; k < a->start[a->active[i] + 1]; k++)
                if (k != only) sum += a->value[k] * y[a->column[k]];
            double *unknown = &y[a->column[only]], is = (0.0 - sum) / a->value[only];
            moves |= memcmp(unknown, &is, sizeof is) != 0;
            *unknown = is;
            more = a->known[a->column[only]] = 1;
        }
        if (!more && has_zero) more = settle_at_zero(a, &moves);
    }
    return moves;
}

static void set_length(perp__collocation *a, double t0, double h)
{
    double *ws = a->ws;
    ws[START] = t0;
    ws[LENGTH] = h;
    for (int c = 0; c < a->scheme.npoint; c++) {
        double t = ws[a->time + c] = t0 + a->scheme.c[c] * h;
        for (int k = 0; k < a->ntable; k++)
            ws[a->at_table + c * a->ntable + k] =
                perp__driven_value(a->may.driven, a->model, a->table[k], t, &a->hint[k]);
    }
}

static void begin(perp__collocation *a, double t0, double h, const double *x)
{
    set_length(a, t0, h);
    memcpy(a->ws + a->before, x, (size_t)a->nx * sizeof *x);
}

/* Newton's steps left `before` roundings, then `now`, which is C before^2. Another one by the same
 * factors leaves 2 C before now: less than one? */
static int factors_serve(double now, double before)
{
    return 2 * now * now <= 0.25 * before;
}

/* The rows of the mode alone, in roundings of the terms that they had with their slopes. */
static double evaluate_rows(perp__collocation *a)
{
    double worst = 0;
    perp__tape_eval_part(&a->tape, a->ws, 0, a->of_rows);
    for (int i = 0; i < a->n; i++) {
        double x = a->row_of[i] = row_value(a, a->active[i]);
        if (!isfinite(x)) return -1;
        worst = fmax(worst, fabs(x) / a->terms[i]);
    }
    return worst;
}

static perp__collocated lacks_matrix(const perp__collocation *a)
{
    return a->matrix.lu && perp__sparse_lu_out_of_memory(a->matrix.lu) ? PERP__HAS_NO_MEMORY
                                                                       : PERP__HAS_NO_MATRIX;
}

/* The slopes where the unknowns are now, and their factors; and what rows are there, in
 * roundings. */
static perp__collocated factor_anew(perp__collocation *a, double *now)
{
    if ((*now = evaluate(a)) < 0) return PERP__HAS_NO_VALUE;
    memcpy(a->terms, a->rest, (size_t)a->n * sizeof *a->terms);
    return factor(a) ? PERP__COLLOCATED : lacks_matrix(a);
}

/* An iteration by the factors that there are left `now` of `before` roundings: what is so little
 * moves no slope. */
static void note_factors(perp__collocation *a, double now, double before)
{
    const double little = 1e4;
    a->leaves = before <= little ? 0 : fmin(a->leaves, now / before);
}

/* Will iterations that leave this share of the residual take longer than new factors? */
static int are_slow(double now, double before, double enough)
{
    enum { DEAR = 4 };
    double share = now / before;
    return share > 0.9 || now * pow(share, DEAR) > enough;
}

/* What a step that gains nothing may leave, in roundings. */
#define NEARLY 1e4

/* To so many roundings, by new factors only where those that there are do not serve; has_factors:
 * from the beginning on. Where they are to be made a third time the step is too long: what its
 * order is one does not know there. */
static perp__collocated solve_roughly(perp__collocation *a, double enough, int has_factors)
{
    enum { MAX_ITERATIONS = 15, MOST_FACTORS = 2 };
    double *y = a->ws + a->y, before = 0;
    int is_old = 0, made = has_factors;
    for (int k = 0; k < MAX_ITERATIONS; k++) {
        int is_known = k > 0 || has_factors;
        double now = is_known ? evaluate_rows(a) : 0;
        if (now < 0) return PERP__HAS_NO_VALUE;
        if (k > 0) note_factors(a, now, before);
        if (is_known && now <= enough) return PERP__COLLOCATED;
        if (k > 0 && now > 0.5 * before && now <= (is_old ? 1 : NEARLY)) return PERP__COLLOCATED;
        int was_old = is_old;
        is_old = is_known && !(was_old && are_slow(now, before, enough));
        if (!is_old && made++ == MOST_FACTORS) return PERP__HAS_NO_END;
        perp__collocated is = is_old ? PERP__COLLOCATED : factor_anew(a, &now);
        if (is != PERP__COLLOCATED) return is;
        a->iterations += !is_old;
        a->again += is_old;
        before = now;
        scale(a, a->row_of);
        if (!solve_linear(a, a->row_of)) return lacks_matrix(a);
        for (int i = 0; i < a->n; i++) y[i] -= a->row_of[i];
    }
    return PERP__HAS_NO_END;
}

perp__collocated perp__collocation_solve(perp__collocation *a, double t0, double h, const double *x,
                                         const char *mode)
{
    enum { MAX_ITERATIONS = 25 };
    double *y = a->ws + a->y, before = (double)INFINITY;
    take_mode(a, mode);
    begin(a, t0, h, x);
    if (a->is_rough) return solve_roughly(a, a->roughly, 0);
    for (int k = 0; k < MAX_ITERATIONS; k++) {
        double now = evaluate(a);
        if (now < 0) return PERP__HAS_NO_VALUE;
        if (k > 0) note_factors(a, now, before);
        int gains = now <= 0.5 * before;
        if (k > 0 && (now <= 0.25 || (!gains && (now <= NEARLY || is_rounding(a))))) {
            if (settle(a)) evaluate(a);
            return PERP__COLLOCATED;
        }
        int is_factored = (k > 0 && factors_serve(now, before)) || factor(a);
        before = now;
        a->iterations++;
        if (is_factored) scale(a, a->row_of);
        if (!is_factored || !solve_linear(a, a->row_of)) return lacks_matrix(a);
        for (int i = 0; i < a->n; i++) y[i] -= a->row_of[i];
    }
    return PERP__HAS_NO_END;
}

void perp__collocation_stretch(perp__collocation *a, double h)
{
    memcpy(a->rest, a->ws + a->y, (size_t)a->n * sizeof(double));
    perp__collocation_continue(a, a->ws[START], h, a->ws[START], a->ws[LENGTH], a->ws + a->before,
                               a->rest);
}

perp__collocated perp__collocation_solve_again(perp__collocation *a, double h, double enough)
{
    perp__collocation_stretch(a, h);
    set_length(a, a->ws[START], h);
    perp__collocated is = solve_roughly(a, fmax(enough, 0.25), 1);
    if (is != PERP__COLLOCATED || enough > 0) return is;
    evaluate(a);
    if (settle(a)) evaluate(a);
    return PERP__COLLOCATED;
}

void perp__collocation_guess(perp__collocation *a, const double *x, const double *var)
{
    for (int c = 0; c < a->scheme.npoint; c++) {
        double *y = a->ws + a->y + c * point_size(a);
        if (a->nx) memcpy(y, x, (size_t)a->nx * sizeof *x);
        if (a->nv) memcpy(y + a->nx, var, (size_t)a->nv * sizeof *var);
    }
}

void perp__collocation_stand(perp__collocation *a, double t, const double *x, const double *var)
{
    begin(a, t, 0, x);
    a->ws[LENGTH] = a->step;
    perp__collocation_guess(a, x, var);
    evaluate(a);
}

void perp__collocation_continue(perp__collocation *a, double t0, double h, double begin,
                                double length, const double *before, const double *y)
{
    int m = point_size(a), npoint = a->scheme.npoint;
    double through[PERP__MOST_POINTS + 1], between[PERP__MOST_POINTS];
    for (int c = 0; c < npoint; c++) {
        double share = (t0 + a->scheme.c[c] * h - begin) / length, *to = a->ws + a->y + c * m;
        perp__scheme_basis(&a->scheme, share, through, between);
        for (int i = 0; i < m; i++) to[i] = i < a->nx ? through[0] * before[i] : 0;
        for (int d = 0; d < npoint; d++)
            for (int i = 0; i < m; i++)
                to[i] += (i < a->nx ? through[d + 1] : between[d]) * y[d * m + i];
    }
}

void perp__collocation_forget(perp__collocation *a)
{
    a->matrix.has_pivots = 0;
}

void perp__collocation_predict(perp__collocation *a, double h)
{
    const double back = 0.1;
    int m = point_size(a), npoint = a->scheme.npoint, last = npoint - 1;
    double *y = a->ws + a->y, share = h / a->ws[LENGTH];
    double through[PERP__MOST_POINTS + 1], between[PERP__MOST_POINTS];
    perp__scheme_basis(&a->scheme, 1 - back, through, between);
    for (int i = 0; i < m; i++) {
        double x = y[last * m + i], slope[PERP__MOST_POINTS], before = 0;
        for (int c = 0; c < npoint; c++) {
            slope[c] = i < a->nx ? a->scheme.D[c][0] * a->ws[a->before + i] : y[c * m + i];
            for (int d = 0; d < npoint && i < a->nx; d++)
                slope[c] += a->scheme.D[c][d + 1] * y[d * m + i];
            before += between[c] * slope[c];
        }
        double falls = (slope[last] - before) / back, rate = i < a->nx ? slope[last] : falls,
               bend = i < a->nx ? falls : 0;
        for (int c = 0; c < npoint; c++) {
            double r = a->scheme.c[c] * share;
            y[c * m + i] = x + r * (rate + r * bend / 2);
        }
    }
}

double perp__collocation_side(const perp__collocation *a, int c, int p, int k)
{
    return row_value(a, c * a->nrow + a->neq + PERP__PAIR_ROWS * p + k);
}

double perp__collocation_terms(const perp__collocation *a, int c, int p, int k)
{
    return row_terms(a, c * a->nrow + a->neq + PERP__PAIR_ROWS * p + k);
}

/* A^-T eta by the factors of the rows in force, divided by their largest entries; 0: it is not
 * finite. */
static int solve_transposed(perp__collocation *a, double *eta)
{
    if (a->matrix.lu) {
        if (!perp__sparse_lu_solve_transposed(a->matrix.lu, eta)) return 0;
    } else {
        perp__lu_solve_transposed(a->n, a->matrix.dense, a->n, a->matrix.swap, eta);
    }
    return perp__are_finite(a->n, eta);
}

double perp__collocation_noise_of(perp__collocation *a, int r)
{
    double *eta = a->rest, sum = 0, most = 0;
    memset(eta, 0, (size_t)a->n * sizeof *eta);
    perp__collocation_add_unknowns(a, r, 1, eta);
    if (!solve_transposed(a, eta)) return (double)INFINITY;
    for (int i = 0; i < a->n; i++) {
        sum += fabs(eta[i]);
        most = fmax(most, row_terms(a, a->active[i]) / a->matrix.unit[i]);
    }
    return NOISE * PERP_ROUNDING * most * sum;
}

double perp__collocation_noise(perp__collocation *a, int c, int p, int k)
{
    return perp__collocation_noise_of(a, perp__collocation_row(a, c, p, k));
}

/* The largest slope of row r by a state. */
static double steepest(const perp__collocation *a, int r)
{
    double most = 0;
    for (int k = a->start[r]; k < a->start[r + 1]; k++)
        if (a->state_of[a->column[k]] < a->nx) most = fmax(most, fabs(a->value[k]));
    return most;
}

int perp__collocation_is_flat(perp__collocation *a, int c, int p, int k)
{
    const double little = 1e-6, nearby = 1e-3;
    int r = perp__collocation_row(a, c, p, k);
    double here = steepest(a, r), *y = a->ws + a->y, most = 0;
    for (int e = a->start[r]; e < a->start[r + 1]; e++)
        if (a->constant[e] != 0 && a->state_of[a->column[e]] < a->nx) return 0;
    if (a->start[r] == a->start[r + 1]) return 0;
    memcpy(a->rest, y, (size_t)a->n * sizeof *y);
    for (int i = 0; i < a->n; i++) most = fmax(most, fmax(fabs(y[i]), a->size[a->state_of[i]]));
    for (int i = 0; i < a->n; i++)
        if (a->state_of[i] < a->nx) y[i] += nearby * (fabs(y[i]) + (most > 0 ? nearby * most : 1));
    perp__tape_eval(&a->tape, a->ws);
    for (int e = 0, nrow = a->scheme.npoint * a->nrow; e < a->nentry; e++)
        a->value[a->entry[e]] = a->ws[a->tape.out[nrow + e]];
    double there = steepest(a, r);
    memcpy(y, a->rest, (size_t)a->n * sizeof *y);
    evaluate(a);
    return here <= little * there;
}

double perp__collocation_length(const perp__collocation *a)
{
    return a->ws[LENGTH];
}

double perp__collocation_slope(const perp__collocation *a, int c, int i, double *terms)
{
    const double *D = a->scheme.D[c];
    double sum = 0, x0 = a->ws[a->before + i], h = a->ws[LENGTH];
    *terms = 0;
    for (int j = 0; j < a->scheme.npoint; j++) { /* of x0 alone it is 0 */
        double x = perp__collocation_point(a, j)[i];
        sum += D[j + 1] * (x - x0);
        *terms += fabs(D[j + 1]) * fmax(fabs(x), fabs(x0)) / h;
    }
    return sum / h;
}

/* Derivatives of a solved step ----------------------------------------------------------------- */

/* Columns: symbols before the unknowns, then parameters. */
static int derive_slopes(perp__collocation_slopes *s, writing *w)
{
    perp__collocation *a = w->at;
    int nrow = a->scheme.npoint * a->nrow, n = 0, capacity = 0, ok = 1;
    perp__sparse_row d = {0};
    for (int i = 0; i < first_param(a); i++) w->column[i] = i < a->y ? i : -1;
    for (int k = 0; k < s->nparam; k++) w->column[first_param(a) + k] = a->y + k;
    for (int r = 0; ok && r < nrow; r++) {
        s->start[r] = n;
        ok = perp__gradient(&w->graph, w->row[r], w->column, &d) &&
             perp__grow(&s->column, &capacity, n + d.count + 1, sizeof *s->column);
        for (int k = 0; ok && k < d.count; k++) {
            s->column[n++] = d.column[k];
            add_root(w, d.entry[k]);
        }
    }
    s->start[nrow] = n;
    perp__sparse_row_clear(&d);
    return ok && !w->graph.failed &&
           perp__tape_compile(&s->tape, &w->graph, w->root.e, w->root.n,
                              first_param(a) + w->nparam);
}

/* The parameters followed, then others that may be set. Returns 0 when memory is out. */
static int list_parameters(perp__collocation_slopes *s, const int *param)
{
    const perp__collocation *a = s->at;
    s->param = malloc(((size_t)s->nparam + (size_t)a->may.n + 1) * sizeof *s->param);
    if (!s->param) return 0;
    for (int k = 0; k < s->nparam; k++) s->param[s->nsymbol++] = param[k];
    for (int k = 0; k < a->may.n; k++) {
        int j = 0;
        while (j < s->nparam && param[j] != a->may.param[k]) j++;
        if (j == s->nparam) s->param[s->nsymbol++] = a->may.param[k];
    }
    return 1;
}

/* At the present values. */
static void take_values(perp__collocation_slopes *s)
{
    const perp__collocation *a = s->at;
    for (int j = 0; j < s->nsymbol; j++) {
        double *value = &s->ws[first_param(a) + j];
        *value = a->model->item[PERP_PARAM][s->param[j]].value;
        for (int k = 0; k < a->may.n; k++)
            if (a->may.param[k] == s->param[j]) *value = a->ws[first_param(a) + k];
    }
}

perp__collocation_slopes *perp__collocation_slopes_create(perp__collocation *a, const int *param,
                                                          int nparam)
{
    perp__collocation_slopes *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    *s = (perp__collocation_slopes){.at = a, .nparam = nparam};
    s->start = malloc(((size_t)(a->scheme.npoint * a->nrow) + 1) * sizeof *s->start);
    s->unit = malloc((2 * (size_t)a->n + 1) * sizeof *s->unit);
    int ok = s->start && s->unit && list_parameters(s, param);
    writing w = {.at = a, .step = a->step, .param = s->param, .nparam = s->nsymbol, .is_again = 1};
    ok = ok && allocate_writing(&w) && make_instant(&w);
    if (ok) write_rows(&w);
    ok = ok && !w.graph.failed && derive_slopes(s, &w);
    if (ok) s->ws = calloc((size_t)perp__tape_end(&s->tape) + 1, sizeof *s->ws);
    perp__instant_clear(&w.instant);
    perp__graph_clear(&w.graph);
    free(w.root.e);
    free(w.row);
    free(w.map);
    free(w.column);
    free(w.moves_by_vars);
    if (ok && s->ws) {
        perp__tape_prepare(&s->tape, s->ws, 1);
        return s;
    }
    perp__collocation_slopes_destroy(s);
    return NULL;
}

void perp__collocation_slopes_destroy(perp__collocation_slopes *s)
{
    if (!s) return;
    perp__tape_clear(&s->tape);
    free(s->start);
    free(s->column);
    free(s->ws);
    free(s->unit);
    free(s->param);
    free(s);
}

int perp__collocation_slopes_take(perp__collocation_slopes *s, double enough)
{
    perp__collocation *a = s->at;
    memcpy(s->ws, a->ws, (size_t)a->nsymbol * sizeof(double));
    take_values(s);
    perp__tape_eval(&s->tape, s->ws);
    if (!(a->leaves < enough) && !factor(a)) return 0;
    for (int i = 0; i < a->n; i++) s->unit[i] = 1 / a->matrix.unit[i];
    return 1;
}

void perp__collocation_slopes_move(const perp__collocation_slopes *s, double dt, double dh,
                                   double *move)
{
    const perp__collocation *a = s->at;
    move[START] = dt;
    move[LENGTH] = dh;
    for (int c = 0; c < a->scheme.npoint; c++) {
        double moved = move[a->time + c] = dt + a->scheme.c[c] * dh;
        for (int k = 0; k < a->ntable; k++)
            move[a->at_table + c * a->ntable + k] =
                moved * perp__driven_slope(a->may.driven, a->model, a->table[k], s->ws[a->time + c],
                                           &a->hint[k]);
    }
}

double perp__collocation_slopes_row(const perp__collocation_slopes *s, int r, const double *move)
{
    double sum = 0;
    for (int k = s->start[r]; k < s->start[r + 1]; k++)
        sum += s->ws[s->tape.out[k]] * move[s->column[k]];
    return sum;
}

double perp__collocation_row_by_unknowns(const perp__collocation *a, int r, const double *dy)
{
    double sum = 0;
    for (int k = a->start[r]; k < a->start[r + 1]; k++) sum += a->value[k] * dy[a->column[k]];
    return sum;
}

int perp__collocation_slopes_solve(perp__collocation_slopes *s, const double *move, double *dy)
{
    perp__collocation *a = s->at;
    a->along++;
    for (int i = 0; i < a->n; i++)
        dy[i] = -s->unit[i] * perp__collocation_slopes_row(s, a->active[i], move);
    return solve_linear(a, dy);
}

int perp__collocation_slopes_back(perp__collocation_slopes *s, double *eta, double *move)
{
    perp__collocation *a = s->at;
    if (!solve_transposed(a, eta)) return 0;
    for (int i = 0; i < a->n; i++)
        perp__collocation_slopes_add(s, a->active[i], -s->unit[i] * eta[i], move);
    return 1;
}

void perp__collocation_slopes_add(const perp__collocation_slopes *s, int r, double by, double *move)
{
    for (int k = s->start[r]; k < s->start[r + 1] && by != 0; k++)
        move[s->column[k]] += by * s->ws[s->tape.out[k]];
}

void perp__collocation_add_unknowns(const perp__collocation *a, int r, double by, double *eta)
{
    for (int k = a->start[r]; k < a->start[r + 1]; k++) eta[a->column[k]] += by * a->value[k];
}

void perp__collocation_put(perp__collocation *a, const double *symbol, const int *active)
{
    memcpy(a->ws, symbol, (size_t)a->nsymbol * sizeof *symbol);
    if (a->n) memcpy(a->active, active, (size_t)a->n * sizeof *active);
    evaluate(a);
}
