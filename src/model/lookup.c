/* lookup(..): a table as a function of any expression, of clamped pieces. They are linear, or cubic
 * with a continuous derivative, monotone between the rows (Fritsch, Carlson, Monotone piecewise
 * cubic interpolation, 1980). Beyond its ends it is constant. */

#include "model/blocks.h"
#include "model/builder.h"
#include "trajectory/trajectory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 10000 };

typedef struct rows {
    int n;
    const double *x, *y;
    const char *unit; /* of y; "" none */
    int at, end;      /* the argument to blame */
} rows;

/* The numbers of a list of parameters, in the arena; NULL with an error. */
static const double *numbers(perp__builder *b, const perp__syntax *s, int *n)
{
    int errors = b->source->nerror;
    perp__scope outer = b->scope;
    perp__value v = perp__lower_in(b, SCOPE_PARAM, s);
    b->scope = outer;
    if (b->source->nerror > errors || b->failed || !v.e) return NULL;
    double *x = perp__arena_alloc(b->arena, (size_t)v.n * sizeof *x);
    if (!x) b->failed = 1;
    for (int i = 0; x && i < v.n; i++) x[i] = perp__constant_value(b, v.e[i], 1);
    *n = v.n;
    if (v.ndim == 1) return x;
    perp__error(b->source, s->at, s->end, "expected a list of numbers");
    return NULL;
}

static int from_lists(perp__builder *b, const perp__syntax *s, rows *r)
{
    int nx = 0, ny = 0;
    r->x = numbers(b, s->item[0], &nx);
    r->y = numbers(b, s->item[1], &ny);
    r->n = nx;
    if (r->x && r->y && nx != ny)
        perp__error(b->source, s->item[1]->at, s->item[1]->end,
                    "%d values for %d places of the table", ny, nx);
    return r->x && r->y && nx == ny;
}

/* The first column of a file, and the one that is named. */
static int from_file(perp__builder *b, const perp__syntax *s, rows *r)
{
    const perp__syntax *file = s->item[0], *column = s->item[1];
    const char *path = perp__beside(b, file->text);
    perp_diag diag = {0};
    perp_trajectory *table = NULL;
    if (!path) return 0;
    perp_status status = perp__trajectory_read(path, PERP__REGULAR, &table, &diag);
    int k = status == PERP_OK ? perp_trajectory_find(table, column->text) : -1;
    const char *said = perp_diag_text(&diag);
    if (status == PERP_ERR_MEMORY) b->failed = 1;
    if (status != PERP_OK)
        perp__error(b->source, file->at, file->end, "%.*s", (int)strcspn(said, "\n"), said);
    else if (k < 0)
        perp__error(b->source, column->at, column->end, "%s has no column '%s'", path,
                    column->text);
    if (k >= 0) {
        size_t bytes = (size_t)perp_trajectory_rows(table) * sizeof(double);
        double *x = perp__arena_alloc(b->arena, bytes + 1),
               *y = perp__arena_alloc(b->arena, bytes + 1);
        const char *unit = perp_trajectory_unit(table, k);
        r->n = perp_trajectory_rows(table);
        r->unit = perp__arena_string(b->arena, unit, strlen(unit));
        if (x && y) memcpy(x, perp_trajectory_column(table, 0), bytes);
        if (x && y) memcpy(y, perp_trajectory_column(table, k), bytes);
        r->x = x;
        r->y = y;
        if (!x || !y || !r->unit) b->failed = 1;
    }
    perp_trajectory_destroy(table);
    perp_diag_clear(&diag);
    return k >= 0 && !b->failed;
}

/* Places must increase. */
static int check_rows(perp__builder *b, const rows *r)
{
    if (r->n < 2 || r->n > MOST_ROWS)
        perp__error(b->source, r->at, r->end, "%d rows; a table to look up has from 2 to %d", r->n,
                    MOST_ROWS);
    for (int i = 0; i < r->n && r->n >= 2 && r->n <= MOST_ROWS; i++) {
        const char *wrong = NULL;
        if (!isfinite(r->x[i]) || !isfinite(r->y[i]))
            wrong = "is no number";
        else if (i && !(r->x[i] > r->x[i - 1]))
            wrong = "is not behind the one before";
        if (!wrong) continue;
        perp__error(b->source, r->at, r->end, "row %d of the table %s", i + 1, wrong);
        return 0;
    }
    return r->n >= 2 && r->n <= MOST_ROWS;
}

/* The derivative at row i: 0 at the ends and where the values turn, else the weighted harmonic mean
 * of the slopes beside it. */
static double slope_at(const rows *r, int i)
{
    if (i == 0 || i == r->n - 1) return 0;
    double h = r->x[i] - r->x[i - 1], k = r->x[i + 1] - r->x[i], p = (r->y[i] - r->y[i - 1]) / h,
           q = (r->y[i + 1] - r->y[i]) / k;
    return p * q > 0 ? 3 * (h + k) / ((2 * k + h) / p + (k + 2 * h) / q) : 0;
}

/* What the piece from row i to the next adds: 0 before it, all of its rise behind it. */
static perp_expr piece(perp__graph *g, const rows *r, int i, perp_expr x, int is_smooth)
{
    double h = r->x[i + 1] - r->x[i], rise = r->y[i + 1] - r->y[i];
    perp_expr within = perp__binary(g, PERP__MAX, x, perp__const(g, r->x[i])), u;
    within = perp__binary(g, PERP__MIN, within, perp__const(g, r->x[i + 1]));
    within = perp__sub(g, within, perp__const(g, r->x[i]));
    if (!is_smooth) return perp__mul(g, perp__const(g, rise / h), within);
    double first = h * slope_at(r, i), last = h * slope_at(r, i + 1);
    u = perp__div(g, within, perp__const(g, h)); /* u (first + u (c + u d)): rise at u = 1 */
    perp_expr p = perp__mul(g, perp__const(g, first + last - 2 * rise), u);
    p = perp__mul(g, perp__add(g, p, perp__const(g, 3 * rise - 2 * first - last)), u);
    return perp__mul(g, perp__add(g, p, perp__const(g, first)), u);
}

static perp_expr look_up(perp__builder *b, const rows *r, perp_expr x, int is_smooth)
{
    perp__graph *g = b->graph;
    perp_expr sum = perp__const(g, r->y[0]);
    for (int i = 0; i + 1 < r->n; i++) sum = perp__add(g, sum, piece(g, r, i, x, is_smooth));
    perp__looked *looked = perp__arena_alloc(b->arena, sizeof *looked);
    if (!looked) b->failed = 1;
    if (!looked || g->node[sum].op == PERP__CONST) return sum;
    *looked = (perp__looked){sum, r->unit, b->model->looked};
    b->model->looked = looked;
    return sum;
}

perp__value perp__lower_lookup(perp__builder *b, const perp__syntax *s)
{
    const perp__value nothing = {0, {1, 1}, 1, NULL};
    int is_smooth = s->n == 4 && s->item[3]->kind == SYNTAX_STRING &&
                    strcmp(s->item[3]->text, "smooth") == 0,
        is_file =
            s->n > 1 && s->item[0]->kind == SYNTAX_STRING && s->item[1]->kind == SYNTAX_STRING;
    if (s->n != 3 + is_smooth) {
        perp__error(b->source, s->at, s->end,
                    "expected lookup(\"FILE.csv\", \"COLUMN\", x), or lookup([places], [values], "
                    "x), and perhaps \"smooth\" behind it");
        return nothing;
    }
    rows r = {.unit = "", .at = s->item[0]->at, .end = s->item[0]->end};
    if (!(is_file ? from_file(b, s, &r) : from_lists(b, s, &r)) || !check_rows(b, &r))
        return nothing;
    perp__value x = perp__lower(b, s->item[2]), v = perp__new_value(b, x.ndim, x.dim[0], x.dim[1]);
    b->graph->source = s->at;
    for (int i = 0; i < x.n && x.e && v.e; i++) {
        for (int k = 0; k < r.n; k++)
            if (!perp__count_term(b, s)) return nothing;
        v.e[i] = look_up(b, &r, x.e[i], is_smooth);
    }
    b->graph->source = -1;
    return x.e ? v : nothing;
}
