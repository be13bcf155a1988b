/* The segments of .nl files, one reader each. They may come in any order but for defined variables,
 * which precede their use. */

#include "program/nl.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void name_segment(perp__nl_reader *r, char mark, int i)
{
    if (i < 0)
        snprintf(r->segment, sizeof r->segment, "segment %c", mark);
    else
        snprintf(r->segment, sizeof r->segment, "segment %c%d", mark, i);
}

/* The number behind a segment's letter, of one of n things. */
static int read_index(perp__nl_reader *r, char mark, int first, int n, const char *what, int *i)
{
    name_segment(r, mark, -1);
    if (n <= 0) return perp__nl_fail(r, "by the header there is no %s", what);
    if (!perp__nl_int(r, first, first + n - 1, what, i)) return 0;
    name_segment(r, mark, *i);
    return 1;
}

/* Linear terms --------------------------------------------------------------------------------- */

static int push_term(perp__nl_reader *r, int var, double c)
{
    perp__linear *l = &r->nl->linear;
    if (!perp__grow(&l->var, &l->cvar, l->n + 1, sizeof *l->var) ||
        !perp__grow(&l->coefficient, &l->ccoefficient, l->n + 1, sizeof *l->coefficient))
        return perp__nl_no_memory(r);
    l->var[l->n] = var;
    l->coefficient[l->n++] = c;
    return 1;
}

static int read_term(perp__nl_reader *r, int *var, double *c)
{
    int ok = perp__nl_int(r, 0, r->nl->nvar - 1, "a variable", var) &&
             perp__nl_number(r, "a coefficient", c) && perp__nl_end_of_line(r);
    if (ok && !isfinite(*c)) return perp__nl_fail(r, "the coefficient of v%d is not finite", *var);
    return ok;
}

/* J and G: the linear terms of row (or objective, behind the rows) `row`. */
static int read_linear(perp__nl_reader *r, int row)
{
    perp__linear *l = &r->nl->linear;
    int n, var;
    double c;
    if (!perp__nl_int(r, 0, r->nl->nvar, "a number of terms", &n) || !perp__nl_end_of_line(r))
        return 0;
    if (l->count[row] > 0) return perp__nl_fail(r, "this segment is there twice");
    l->first[row] = l->n;
    for (int k = 0; k < n; k++) {
        if (!read_term(r, &var, &c)) return 0;
        if (r->seen[var] == row + 1) return perp__nl_fail(r, "v%d is there twice", var);
        r->seen[var] = row + 1;
        if (c != 0 && !push_term(r, var, c)) return 0;
    }
    l->count[row] = l->n - l->first[row];
    return 1;
}

/* Expressions ---------------------------------------------------------------------------------- */

static int read_defined(perp__nl_reader *r)
{
    perp__nl *nl = r->nl;
    int i, n, position, var;
    double c;
    if (!read_index(r, 'V', nl->nvar, r->ndefined, "defined variable", &i) ||
        !perp__nl_int(r, 0, nl->nvar, "a number of linear terms", &n) ||
        !perp__nl_int(r, 0, INT_MAX, "a position", &position) || !perp__nl_end_of_line(r))
        return 0;
    perp_expr sum = perp__const(&nl->graph, 0);
    for (int k = 0; k < n; k++) {
        if (!read_term(r, &var, &c)) return 0;
        sum = perp__add(
            &nl->graph, sum,
            perp__mul(&nl->graph, perp__const(&nl->graph, c), perp__symbol(&nl->graph, var)));
    }
    perp_expr e = perp__nl_expression(r);
    if (e < 0) return 0;
    r->defined[i - nl->nvar] = perp__add(&nl->graph, e, sum);
    return !nl->graph.failed || perp__nl_no_memory(r);
}

static int read_row(perp__nl_reader *r)
{
    int i;
    if (!read_index(r, 'C', 0, r->nl->ncon, "row", &i) || !perp__nl_end_of_line(r)) return 0;
    perp_expr e = perp__nl_expression(r);
    if (e >= 0) r->nl->row[i] = e;
    return e >= 0;
}

static int read_objective(perp__nl_reader *r)
{
    int i, sense;
    if (!read_index(r, 'O', 0, r->nl->nobj, "objective", &i) ||
        !perp__nl_int(r, 0, 1, "0 (minimise) or 1 (maximise)", &sense) || !perp__nl_end_of_line(r))
        return 0;
    perp_expr e = perp__nl_expression(r);
    if (e < 0) return 0;
    r->nl->objective[i] = e;
    r->nl->maximise[i] = (char)sense;
    return 1;
}

/* Bounds --------------------------------------------------------------------------------------- */

static int read_complements(perp__nl_reader *r, int i)
{
    enum { LOWER = 1, UPPER = 2 };
    perp__complements *p = &r->nl->pairs;
    int kind, var;
    if (!perp__nl_int(r, 0, LOWER | UPPER, "which bounds are complemented, 0 to 3", &kind) ||
        !perp__nl_int(r, 1, r->nl->nvar, "the complemented variable, from 1", &var))
        return 0;
    p->n++;
    p->var[i] = var - 1;
    p->lower[i] = (kind & LOWER) != 0;
    p->upper[i] = (kind & UPPER) != 0;
    r->nl->rlo[i] = kind & UPPER ? -INFINITY : 0;
    r->nl->rhi[i] = kind & LOWER ? INFINITY : 0;
    return perp__nl_end_of_line(r);
}

/* One bound of a variable (or row) i: its kind, then the numbers. */
static int read_bound(perp__nl_reader *r, int is_row, int i, double *lo, double *hi)
{
    char mark;
    while (!r->is_binary && r->at < r->end && *r->at == ' ') r->at++;
    if (!perp__nl_mark(r, &mark)) return 0;
    *lo = -INFINITY;
    *hi = INFINITY;
    if (mark == '5' && is_row) return read_complements(r, i);
    if (mark < '0' || mark > '4') {
        r->at--;
        return perp__nl_fail(r, "expected the kind of a bound, 0 to %c", is_row ? '5' : '4');
    }
    if ((mark == '0' || mark == '2' || mark == '4') && !perp__nl_number(r, "a bound", lo)) return 0;
    if ((mark == '0' || mark == '1') && !perp__nl_number(r, "a bound", hi)) return 0;
    if (mark == '4') *hi = *lo;
    if (*lo == (double)INFINITY || *hi == -(double)INFINITY)
        return perp__nl_fail(r, "a bound is infinite on the wrong side");
    return perp__nl_end_of_line(r);
}

static int read_bounds(perp__nl_reader *r, int is_row, char *has)
{
    perp__nl *nl = r->nl;
    name_segment(r, is_row ? 'r' : 'b', -1);
    if (*has) return perp__nl_fail(r, "this segment is there twice");
    *has = 1;
    if (!perp__nl_end_of_line(r)) return 0;
    for (int i = 0; i < (is_row ? nl->ncon : nl->nvar); i++) {
        double *lo = is_row ? &nl->rlo[i] : &nl->lo[i], *hi = is_row ? &nl->rhi[i] : &nl->hi[i];
        if (!read_bound(r, is_row, i, lo, hi)) return 0;
    }
    return 1;
}

/* Lists ---------------------------------------------------------------------------------------- */

/* x and d: values of variables, or of multipliers, which are not used. */
static int read_values(perp__nl_reader *r, char mark, int most, double *to)
{
    int n, i;
    double x;
    name_segment(r, mark, -1);
    if (!perp__nl_int(r, 0, most, "a number of values", &n) || !perp__nl_end_of_line(r)) return 0;
    for (int k = 0; k < n; k++) {
        if (!perp__nl_int(r, 0, most - 1, "an index", &i) || !perp__nl_number(r, "a value", &x) ||
            !perp__nl_end_of_line(r))
            return 0;
        if (to && !isfinite(x)) return perp__nl_fail(r, "the start of v%d is not finite", i);
        if (to) to[i] = x;
    }
    return 1;
}

/* k: sums of the nonzeros of columns, which nothing here needs. */
static int skip_columns(perp__nl_reader *r, char mark)
{
    int n, sum;
    name_segment(r, mark, -1);
    if (!perp__nl_int(r, 0, r->nl->nvar, "a number of columns", &n) || !perp__nl_end_of_line(r))
        return 0;
    for (int k = 0; k < n; k++)
        if (!perp__nl_int(r, 0, INT_MAX, "a count", &sum) || !perp__nl_end_of_line(r)) return 0;
    return 1;
}

static int skip_suffix(perp__nl_reader *r)
{
    enum { IS_REAL = 4 };
    char name[64];
    int kind, n, i, whole;
    double x;
    name_segment(r, 'S', -1);
    if (!perp__nl_int(r, 0, 15, "the kind of a suffix", &kind) ||
        !perp__nl_int(r, 0, INT_MAX, "a number of values", &n) ||
        !perp__nl_name(r, name, sizeof name) || !perp__nl_end_of_line(r))
        return 0;
    for (int k = 0; k < n; k++) {
        if (!perp__nl_int(r, 0, INT_MAX, "an index", &i)) return 0;
        int is_real = !r->is_binary || (kind & IS_REAL);
        if (!(is_real ? perp__nl_number(r, "a value", &x)
                      : perp__nl_int(r, INT_MIN, INT_MAX, "a value", &whole)) ||
            !perp__nl_end_of_line(r))
            return 0;
    }
    return 1;
}

/* The file ------------------------------------------------------------------------------------- */

static int read_segment(perp__nl_reader *r, char *has_rows, char *has_bounds)
{
    perp__nl *nl = r->nl;
    char mark;
    int i;
    if (!perp__nl_mark(r, &mark)) return 0;
    switch (mark) {
    case 'C': return read_row(r);
    case 'O': return read_objective(r);
    case 'V': return read_defined(r);
    case 'J': return read_index(r, mark, 0, nl->ncon, "row", &i) && read_linear(r, i);
    case 'G':
        return read_index(r, mark, 0, nl->nobj, "objective", &i) && read_linear(r, nl->ncon + i);
    case 'r': return read_bounds(r, 1, has_rows);
    case 'b': return read_bounds(r, 0, has_bounds);
    case 'x': return read_values(r, mark, nl->nvar, nl->start);
    case 'd': return read_values(r, mark, nl->ncon, NULL);
    case 'k':
    case 'K': return skip_columns(r, mark);
    case 'S': return skip_suffix(r);
    case 'F': return perp__nl_fail(r, "an imported function, which is not known");
    case 'L': return perp__nl_fail(r, "a logical constraint, which is not solved");
    default: break;
    }
    r->at--;
    if (mark > ' ' && mark < 127)
        return perp__nl_fail(
            r, "'%c' behind it begins no segment: expected one of C O V J G r b x d k S", mark);
    return perp__nl_fail(r, "byte 0x%02x behind it begins no segment", (unsigned char)mark);
}

int perp__nl_allocate(perp__nl *nl)
{
    perp__arena *a = &nl->arena;
    PERP_TAKE(a, nl->row, nl->ncon);
    PERP_TAKE(a, nl->objective, nl->nobj);
    PERP_TAKE(a, nl->maximise, nl->nobj);
    PERP_TAKE(a, nl->lo, nl->nvar);
    PERP_TAKE(a, nl->hi, nl->nvar);
    PERP_TAKE(a, nl->start, nl->nvar);
    PERP_TAKE(a, nl->rlo, nl->ncon);
    PERP_TAKE(a, nl->rhi, nl->ncon);
    PERP_TAKE(a, nl->pairs.var, nl->ncon);
    PERP_TAKE(a, nl->pairs.lower, nl->ncon);
    PERP_TAKE(a, nl->pairs.upper, nl->ncon);
    PERP_TAKE(a, nl->linear.first, (size_t)nl->ncon + (size_t)nl->nobj);
    PERP_TAKE(a, nl->linear.count, (size_t)nl->ncon + (size_t)nl->nobj);
    if (a->failed || !perp__graph_init(&nl->graph)) return 0;
    perp_expr zero = perp__const(&nl->graph, 0);
    for (int i = 0; i < nl->ncon; i++) {
        nl->row[i] = zero;
        nl->pairs.var[i] = -1;
    }
    for (int i = 0; i < nl->nobj; i++) nl->objective[i] = zero;
    return !nl->graph.failed;
}

static int allocate(perp__nl_reader *r)
{
    r->seen = calloc((size_t)r->nl->nvar + 1, sizeof *r->seen);
    r->defined = malloc(((size_t)r->ndefined + 1) * sizeof *r->defined);
    for (int i = 0; i < r->ndefined && r->defined; i++) r->defined[i] = -1;
    return (r->seen && r->defined && perp__nl_allocate(r->nl)) || perp__nl_no_memory(r);
}

/* The bound that a pair speaks of must be there. */
static int check_pairs(perp__nl_reader *r)
{
    const perp__nl *nl = r->nl;
    for (int i = 0; i < nl->ncon; i++) {
        int j = nl->pairs.var[i];
        if (j < 0) continue;
        int lacks_lower = nl->pairs.lower[i] && !isfinite(nl->lo[j]),
            lacks_upper = nl->pairs.upper[i] && !isfinite(nl->hi[j]);
        if (!lacks_lower && !lacks_upper) continue;
        snprintf(r->segment, sizeof r->segment, "segment r");
        return perp__nl_fail(r, "row %d complements the %s bound of v%d, which has none", i,
                             lacks_lower ? "lower" : "upper", j);
    }
    return 1;
}

static void read_all(perp__nl_reader *r)
{
    char has_rows = 0, has_bounds = 0;
    if (!perp__nl_header(r) || !allocate(r)) return;
    while (r->status == PERP_OK) {
        while (!r->is_binary && r->at < r->end && strchr(" \t\r\n", *r->at)) {
            if (*r->at++ != '\n') continue;
            r->line++;
            r->line_begin = r->at;
        }
        if (r->at == r->end) break;
        if (!read_segment(r, &has_rows, &has_bounds)) return;
    }
    if (!has_rows && r->nl->ncon > 0)
        perp__nl_fail(r, "the file ends without segment r, the rows' bounds");
    if (!has_bounds && r->nl->nvar > 0)
        perp__nl_fail(r, "the file ends without segment b, the variables' bounds");
    check_pairs(r);
}

perp__nl *perp__nl_read(const char *bytes, size_t n, const char *name, perp_status *status,
                        perp_diag *diag)
{
    perp__nl *nl = calloc(1, sizeof *nl);
    perp__nl_reader r = {.nl = nl,
                         .begin = bytes,
                         .at = bytes,
                         .end = bytes + n,
                         .line = 1,
                         .line_begin = bytes,
                         .diag = diag};
    *status = PERP_ERR_MEMORY;
    if (!nl) return NULL;
    nl->name = perp__arena_string(&nl->arena, name, strlen(name));
    if (nl->name)
        read_all(&r);
    else
        perp__nl_no_memory(&r);
    free(r.seen);
    free(r.defined);
    free(r.stack);
    *status = r.status;
    if (r.status == PERP_OK) return nl;
    perp__nl_destroy(nl);
    return NULL;
}

void perp__nl_destroy(perp__nl *nl)
{
    if (!nl) return;
    free(nl->linear.var);
    free(nl->linear.coefficient);
    perp__graph_clear(&nl->graph);
    perp__arena_clear(&nl->arena);
    free(nl);
}
