/* The expression graph on random expressions: derivatives against differences, tapes against direct
 * evaluation, copies against originals, affine detection against second derivatives. */

#include "unit.h"

#include "model/graph.h"
#include "model/tape.h"

#include <complex.h>
#include <math.h>

enum { NSYM = 4, NEXPR = 400 };

static uint64_t seed;
static const double complex step = (double complex)I;

static double uniform(double lo, double hi)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return lo + (hi - lo) * (double)(seed >> 11) * 0x1p-53;
}

static int below(int n)
{
    return (int)uniform(0, n);
}

/* A random expression whose functions stay inside their domains for symbols in [0.2, 1.2]. */
static perp_expr random_expression(perp__graph *g, int depth)
{
    static const int smooth[] = {PERP__SIN,  PERP__COS, PERP__TANH, PERP__EXP,
                                 PERP__ATAN, PERP__NEG, PERP__SINH, PERP__COSH};
    if (depth == 0 || uniform(0, 1) < 0.15)
        return uniform(0, 1) < 0.7 ? perp__symbol(g, below(NSYM)) : perp__const(g, uniform(-2, 2));
    perp_expr a = random_expression(g, depth - 1), b = random_expression(g, depth - 1);
    perp_expr one = perp__const(g, 1), a2 = perp__mul(g, a, a);
    switch (below(12)) {
    case 0:
    case 1: return perp__add(g, a, b);
    case 2: return perp__sub(g, a, b);
    case 3:
    case 4: return perp__mul(g, a, b);
    case 5: return perp__div(g, a, perp__add(g, one, perp__mul(g, b, b)));
    case 6: return perp__unary(g, PERP__SQRT, perp__add(g, one, a2));
    case 7: return perp__unary(g, PERP__LOG, perp__add(g, one, a2));
    case 8: return perp__binary(g, PERP__POW, perp__add(g, one, a2), perp__unary(g, PERP__SIN, b));
    case 9: return perp__binary(g, PERP__ATAN2, a, perp__add(g, one, perp__mul(g, b, b)));
    default: return perp__unary(g, smooth[below(8)], perp__unary(g, PERP__SIN, a));
    }
}

/* Direct evaluation in complex arithmetic: f(x + ih) gives the derivative without cancellation. */
static double complex evaluate(const perp__graph *g, perp_expr e, const double complex *x,
                               double complex *v)
{
    for (int i = 0; i <= e; i++) {
        const perp__node *n = &g->node[i];
        double complex a = n->op == PERP__CONST || n->op == PERP__SYMBOL ? 0 : v[n->a];
        double complex b = perp__op_arity(n->op) == 2 ? v[n->b] : 0;
        switch (n->op) {
        case PERP__CONST: v[i] = n->value; break;
        case PERP__SYMBOL: v[i] = x[n->a]; break;
        case PERP__ADD: v[i] = a + b; break;
        case PERP__SUB: v[i] = a - b; break;
        case PERP__MUL: v[i] = a * b; break;
        case PERP__DIV: v[i] = a / b; break;
        case PERP__POW: v[i] = cexp(b * clog(a)); break;
        case PERP__NEG: v[i] = -a; break;
        case PERP__SIN: v[i] = csin(a); break;
        case PERP__COS: v[i] = ccos(a); break;
        case PERP__TANH: v[i] = ctanh(a); break;
        case PERP__SINH: v[i] = csinh(a); break;
        case PERP__COSH: v[i] = ccosh(a); break;
        case PERP__EXP: v[i] = cexp(a); break;
        case PERP__ATAN: v[i] = catan(a); break;
        case PERP__LOG: v[i] = clog(a); break;
        case PERP__SQRT: v[i] = csqrt(a); break;
        case PERP__ATAN2: v[i] = catan(a / b); break;
        default: v[i] = NAN;
        }
    }
    return v[e];
}

static void random_point(double *x)
{
    for (int i = 0; i < NSYM; i++) x[i] = uniform(0.2, 1.2);
}

static double value_at(const perp__graph *g, perp_expr e, const double *x, double *v)
{
    perp__graph_values(g, x, v);
    return v[e];
}

static void gradients_equal_complex_step_derivatives(void **state)
{
    (void)state;
    const int column_of[NSYM] = {0, 1, 2, 3};
    for (int k = 0; k < NEXPR; k++) {
        perp__graph g;
        perp__sparse_row row = {0};
        assert_true(perp__graph_init(&g));
        seed = (uint64_t)k + 1;
        perp_expr e = random_expression(&g, 6);
        assert_true(perp__gradient(&g, e, column_of, &row));
        double *v = malloc((size_t)g.count * sizeof *v), x[NSYM];
        double complex *cv = malloc((size_t)g.count * sizeof *cv);
        random_point(x);
        double gradient[NSYM] = {0};
        perp__graph_values(&g, x, v);
        for (int i = 0; i < row.count; i++) gradient[row.column[i]] = v[row.entry[i]];
        for (int i = 0; i < NSYM; i++) {
            double complex z[NSYM];
            for (int j = 0; j < NSYM; j++) z[j] = x[j] + (i == j ? 1e-30 * step : 0);
            double exact = cimag(evaluate(&g, e, z, cv)) / 1e-30;
            if (!near(gradient[i], exact, 1e-10 * (1 + fabs(exact))))
                fail_msg("seed %d, symbol %d: %g, complex step %g", k + 1, i, gradient[i], exact);
        }
        free(v);
        free(cv);
        perp__sparse_row_clear(&row);
        perp__graph_clear(&g);
    }
}

/* Every operation of the list, at points on all its branches: its derivative is that of differences. */
static void every_operation_has_its_derivative(void **state)
{
    (void)state;
    const int column_of[NSYM] = {0, 1, 2, 3};
    const double points[][2] = {{0.3, 0.7}, {0.7, 0.3}, {-0.6, 0.4}, {0.5, -0.8}};
    for (int op = 0; op < PERP__OP_COUNT; op++) {
        for (int k = 0; k < 4 && perp__op_arity(op) > 0; k++) {
            perp__graph g;
            perp__sparse_row row = {0};
            double x[NSYM] = {points[k][0], points[k][1]}, h = 1e-6, v[64], gradient[2] = {0};
            assert_true(perp__graph_init(&g));
            perp_expr a = perp__symbol(&g, 0), b = perp__symbol(&g, 1),
                      e = perp__op_arity(op) == 2 ? perp__binary(&g, op, a, b)
                                                  : perp__unary(&g, op, a);
            assert_true(perp__gradient(&g, e, column_of, &row) && g.count <= 64);
            perp__graph_values(&g, x, v);
            for (int i = 0; i < row.count; i++) gradient[row.column[i]] = v[row.entry[i]];
            for (int i = 0; i < perp__op_arity(op); i++) {
                double up[2] = {x[0], x[1]}, down[2] = {x[0], x[1]};
                up[i] += h, down[i] -= h;
                double slope =
                    (perp__apply(op, up[0], up[1]) - perp__apply(op, down[0], down[1])) / (2 * h);
                if (isfinite(slope) && !near(gradient[i], slope, 1e-8 * (1 + fabs(slope))))
                    fail_msg("operation %d, operand %d at (%g, %g): %g, differences %g", op, i,
                             x[0], x[1], gradient[i], slope);
            }
            perp__sparse_row_clear(&row);
            perp__graph_clear(&g);
        }
    }
}

static void hessians_equal_differences_of_gradients(void **state)
{
    (void)state;
    const int column_of[NSYM] = {0, 1, 2, 3};
    for (int k = 0; k < NEXPR / 2; k++) {
        perp__graph g;
        perp__sparse_row row = {0}, gradient = {0};
        assert_true(perp__graph_init(&g));
        seed = 1000 + (uint64_t)k;
        perp_expr e = random_expression(&g, 5);
        assert_true(perp__hessian(&g, e, column_of, NSYM, &row));
        assert_true(perp__gradient(&g, e, column_of, &gradient));
        double *v = malloc((size_t)g.count * sizeof *v), x[NSYM], H[NSYM][NSYM] = {{0}};
        double complex *cv = malloc((size_t)g.count * sizeof *cv);
        random_point(x);
        perp__graph_values(&g, x, v);
        for (int i = 0; i < row.count; i++) {
            int r = row.column[i] / NSYM, c = row.column[i] % NSYM;
            assert_true(c <= r);
            H[r][c] = H[c][r] = v[row.entry[i]];
        }
        for (int i = 0; i < gradient.count; i++) {
            for (int j = 0; j < NSYM; j++) {
                double complex z[NSYM];
                for (int l = 0; l < NSYM; l++) z[l] = x[l] + (l == j ? 1e-30 * step : 0);
                double exact = cimag(evaluate(&g, gradient.entry[i], z, cv)) / 1e-30;
                if (!near(H[gradient.column[i]][j], exact, 1e-9 * (1 + fabs(exact))))
                    fail_msg("seed %d: H[%d][%d] = %g, complex step %g", 1000 + k,
                             gradient.column[i], j, H[gradient.column[i]][j], exact);
            }
        }
        free(v);
        free(cv);
        perp__sparse_row_clear(&row);
        perp__sparse_row_clear(&gradient);
        perp__graph_clear(&g);
    }
}

static void derivatives_of_min_max_abs_follow_the_active_branch(void **state)
{
    (void)state;
    const int column_of[2] = {0, 1};
    perp__graph g;
    perp__sparse_row row = {0};
    assert_true(perp__graph_init(&g));
    perp_expr x = perp__symbol(&g, 0), y = perp__symbol(&g, 1);
    struct {
        int op;
        double x, y, dx, dy;
    } cases[] = {{PERP__MIN, 1, 2, 1, 0},
                 {PERP__MIN, 2, 1, 0, 1},
                 {PERP__MAX, 1, 2, 0, 1},
                 {PERP__MAX, 2, 1, 1, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        assert_true(perp__gradient(&g, perp__binary(&g, cases[k].op, x, y), column_of, &row));
        double point[2] = {cases[k].x, cases[k].y}, d[2] = {0, 0}, v[64];
        assert_true(g.count < 64);
        perp__graph_values(&g, point, v);
        for (int i = 0; i < row.count; i++) d[row.column[i]] = v[row.entry[i]];
        assert_true(d[0] == cases[k].dx && d[1] == cases[k].dy);
    }
    assert_true(perp__gradient(&g, perp__unary(&g, PERP__ABS, x), column_of, &row));
    double v[64], at[2] = {-3, 0};
    assert_true(value_at(&g, row.entry[0], at, v) == -1);
    perp__sparse_row_clear(&row);
    perp__graph_clear(&g);
}

static void tapes_equal_the_graph_for_one_and_many_points(void **state)
{
    (void)state;
    enum { NPOINT = 7, NROOT = 3 };
    for (int k = 0; k < NEXPR / 4; k++) {
        perp__graph g;
        perp__tape tape;
        assert_true(perp__graph_init(&g));
        seed = 5000 + (uint64_t)k;
        perp_expr root[NROOT];
        for (int i = 0; i < NROOT; i++) root[i] = random_expression(&g, 5);
        assert_true(perp__tape_compile(&tape, &g, root, NROOT, NSYM));
        size_t slots = (size_t)perp__tape_end(&tape);
        double *many = malloc(slots * NPOINT * sizeof *many), *one = malloc(slots * sizeof *one);
        double *v = malloc((size_t)g.count * sizeof *v), x[NPOINT][NSYM], out[NROOT];
        perp__tape_prepare(&tape, many, NPOINT);
        perp__tape_prepare(&tape, one, 1);
        for (int p = 0; p < NPOINT; p++) {
            random_point(x[p]);
            for (int i = 0; i < NSYM; i++) many[i * NPOINT + p] = x[p][i];
        }
        perp__tape_eval_many(&tape, many, NPOINT);
        for (int p = 0; p < NPOINT; p++) {
            memcpy(one, x[p], sizeof x[p]);
            perp__tape_get(&tape, one, out);
            perp__graph_values(&g, x[p], v);
            for (int i = 0; i < NROOT; i++) {
                assert_true(out[i] == v[root[i]]);
                assert_true(many[tape.out[i] * NPOINT + p] == v[root[i]]);
            }
        }
        free(many);
        free(one);
        free(v);
        perp__tape_clear(&tape);
        perp__graph_clear(&g);
    }
}

/* A run has one op; what the early roots need comes first, and alone makes their values. */
static void tapes_have_runs_and_early_roots_come_first(void **state)
{
    (void)state;
    enum { NROOT = 4, EARLY = 2 };
    for (int k = 0; k < NEXPR / 4; k++) {
        perp__graph g;
        perp__tape tape;
        assert_true(perp__graph_init(&g));
        seed = 9000 + (uint64_t)k;
        perp_expr root[NROOT];
        for (int i = NROOT - 1; i >= 0; i--) root[i] = random_expression(&g, 5);
        assert_true(perp__tape_compile_upon(&tape, &g, root, NROOT, EARLY, NSYM, NULL, NULL));
        int early = perp__tape_instructions(&tape, EARLY), ends = 0;
        for (int i = 0; i < tape.ncode; i += tape.code[i].run) {
            ends |= i == early;
            for (int j = 0; j < tape.code[i].run; j++)
                assert_int_equal(tape.code[i + j].op, tape.code[i].op);
        }
        assert_true(ends || early == tape.ncode);
        double *one = calloc((size_t)perp__tape_end(&tape), sizeof *one);
        double *v = malloc((size_t)g.count * sizeof *v);
        perp__tape_prepare(&tape, one, 1);
        random_point(one);
        perp__graph_values(&g, one, v);
        perp__tape_eval_part(&tape, one, 0, early);
        for (int i = 0; i < EARLY; i++) assert_true(one[tape.out[i]] == v[root[i]]);
        perp__tape_eval_part(&tape, one, early, tape.ncode);
        for (int i = 0; i < NROOT; i++) assert_true(one[tape.out[i]] == v[root[i]]);
        free(one);
        free(v);
        perp__tape_clear(&tape);
        perp__graph_clear(&g);
    }
}

/* A tape upon another has only what that does not leave, and the same values. */
static void tapes_take_what_others_leave(void **state)
{
    (void)state;
    enum { NROOT = 3 };
    int taken = 0, of = 0;
    for (int k = 0; k < NEXPR / 4; k++) {
        perp__graph g;
        perp__tape first, upon, alone;
        assert_true(perp__graph_init(&g));
        seed = 11000 + (uint64_t)k;
        perp_expr root[NROOT];
        for (int i = 0; i < NROOT; i++) root[i] = random_expression(&g, 5);
        perp_expr product = perp__mul(&g, root[0], perp__add(&g, root[1], root[2]));
        int *leaves = malloc((size_t)g.count * sizeof *leaves);
        for (int i = 0; i < g.count; i++) leaves[i] = -1;
        assert_true(perp__tape_compile_upon(&first, &g, root, NROOT, NROOT, NSYM, NULL, leaves));
        assert_true(perp__tape_compile_upon(&upon, &g, &product, 1, 1, perp__tape_end(&first),
                                            leaves, NULL));
        assert_true(perp__tape_compile(&alone, &g, &product, 1, NSYM));
        taken += upon.ncode, of += alone.ncode;
        double *ws = calloc((size_t)perp__tape_end(&upon), sizeof *ws);
        double *v = malloc((size_t)g.count * sizeof *v);
        perp__tape_prepare(&first, ws, 1);
        perp__tape_prepare(&upon, ws, 1);
        random_point(ws);
        perp__graph_values(&g, ws, v);
        perp__tape_eval(&first, ws);
        perp__tape_eval(&upon, ws);
        assert_true(ws[upon.out[0]] == v[product]);
        free(ws);
        free(v);
        free(leaves);
        perp__tape_clear(&first);
        perp__tape_clear(&upon);
        perp__tape_clear(&alone);
        perp__graph_clear(&g);
    }
    assert_true(taken < of / 10); /* a product and a sum */
}

/* Sums of 100 products: all products, then all sums. */
static void alike_instructions_are_few_runs(void **state)
{
    (void)state;
    perp__graph g;
    perp__tape tape;
    perp_expr root[3];
    int runs = 0;
    assert_true(perp__graph_init(&g));
    for (int i = 0; i < 3; i++) {
        root[i] = perp__symbol(&g, 0);
        for (int k = 0; k < 100; k++)
            root[i] =
                perp__add(&g, root[i], perp__mul(&g, perp__symbol(&g, i), perp__const(&g, 2 + k)));
    }
    assert_true(perp__tape_compile(&tape, &g, root, 3, NSYM));
    for (int i = 0; i < tape.ncode; i += tape.code[i].run) runs++;
    assert_int_equal(tape.ncode, 600);
    assert_int_equal(runs, 2);
    perp__tape_clear(&tape);
    perp__graph_clear(&g);
}

static void copies_with_substitution_equal_substituted_values(void **state)
{
    (void)state;
    for (int k = 0; k < NEXPR / 4; k++) {
        perp__graph g, h;
        assert_true(perp__graph_init(&g) && perp__graph_init(&h));
        seed = 9000 + (uint64_t)k;
        perp_expr e = random_expression(&g, 6), copy;
        /* x0 -> x1 + 1/2, x1 -> 3/4, the others as they are */
        perp_expr map[NSYM] = {perp__add(&h, perp__symbol(&h, 1), perp__const(&h, 0.5)),
                               perp__const(&h, 0.75), perp__symbol(&h, 2), perp__symbol(&h, 3)};
        assert_true(perp__graph_copy(&h, &g, &e, 1, map, &copy));
        double x[NSYM], y[NSYM], *v = malloc((size_t)g.count * sizeof *v),
                                 *w = malloc((size_t)h.count * sizeof *w);
        random_point(x);
        memcpy(y, x, sizeof x);
        y[0] = x[1] + 0.5, y[1] = 0.75;
        double expected = value_at(&g, e, y, v), found = value_at(&h, copy, x, w);
        if (!near(found, expected, 1e-12 * (1 + fabs(expected))))
            fail_msg("seed %d: %.17g, expected %.17g", 9000 + k, found, expected);
        free(v);
        free(w);
        perp__graph_clear(&g);
        perp__graph_clear(&h);
    }
}

/* Copies one after the other, of which parts are there already, make the same nodes in the same order as copies of their own; also into
 * the graph that they come from, which grows. */
static void kept_copies_make_the_nodes_of_others(void **state)
{
    (void)state;
    seed = 77;
    perp__graph from, own, kept;
    assert_true(perp__graph_init(&from) && perp__graph_init(&own) && perp__graph_init(&kept));
    perp_expr e[60], map[NSYM], at[NSYM], *copy = NULL;
    for (int i = 0; i < 60; i++) e[i] = random_expression(&from, 1 + i % 7);
    for (int k = 0; k < NSYM; k++) {
        map[k] = perp__add(&own, perp__symbol(&own, NSYM - 1 - k), perp__const(&own, k));
        at[k] = perp__add(&kept, perp__symbol(&kept, NSYM - 1 - k), perp__const(&kept, k));
    }
    copy = malloc((size_t)from.count * sizeof *copy);
    for (int i = 0; i < from.count; i++) copy[i] = -1;
    for (int i = 0; i < 60; i++) {
        perp_expr plain = 0;
        assert_true(perp__graph_copy(&own, &from, &e[i], 1, map, &plain));
        assert_int_equal(perp__graph_copy_kept(&kept, &from, e[i], at, copy), plain);
    }
    assert_int_equal(own.count, kept.count);
    for (int i = 0; i < own.count; i++) {
        const perp__node *a = &own.node[i], *b = &kept.node[i];
        if (a->op != b->op || a->a != b->a || a->b != b->b || a->value != b->value)
            fail_msg("node %d of %d differs", i, own.count);
    }
    int n = own.count;
    copy = realloc(copy, (size_t)n * sizeof *copy);
    for (int i = 0; i < n; i++) copy[i] = -1;
    for (int i = n - 1; i > 0; i -= 7) {
        perp_expr plain = 0, once = perp__graph_copy_kept(&own, &own, i, map, copy);
        assert_true(perp__graph_copy(&own, &own, &i, 1, map, &plain));
        assert_int_equal(once, plain);
    }
    free(copy);
    perp__graph_clear(&from);
    perp__graph_clear(&own);
    perp__graph_clear(&kept);
}

/* The nodes that are reached are in order, for few and for many, near and far apart. */
static void what_is_reached_is_in_order(void **state)
{
    (void)state;
    perp__graph g;
    assert_true(perp__graph_init(&g));
    perp_expr sum = perp__symbol(&g, 0), n20 = 0, n25 = 0;
    for (int i = 1; i <= 70000; i++) {
        sum = perp__add(&g, sum, perp__symbol(&g, i));
        if (i == 11) n20 = sum;
        if (i == 12) n25 = sum;
    }
    perp_expr roots[4] = {sum, n20, n25, 1};
    for (int k = 0; k < 4; k++) {
        int n, *reach = perp__graph_reach(&g, &roots[k], 1, &n);
        assert_non_null(reach);
        assert_int_equal(n, k == 0 ? 140001 : k == 1 ? 23 : k == 2 ? 25 : 1);
        for (int i = 1; i < n; i++) assert_true(reach[i] > reach[i - 1]);
        free(reach);
    }
    perp__graph_clear(&g);
}

/* Sine and cosine of x - y serve y - x, where nothing is printed. */
static void turned_angles_share_their_functions(void **state)
{
    (void)state;
    for (int written = 0; written < 2; written++) {
        perp__graph g;
        assert_true(perp__graph_init(&g));
        g.as_written = written;
        perp_expr x = perp__symbol(&g, 0), y = perp__symbol(&g, 1), a = perp__sub(&g, x, y),
                  b = perp__sub(&g, y, x), c = perp__unary(&g, PERP__SIN, a),
                  d = perp__unary(&g, PERP__SIN, b);
        assert_int_equal(perp__unary(&g, PERP__COS, a) == perp__unary(&g, PERP__COS, b), !written);
        assert_int_equal(d == perp__neg(&g, c) || c == perp__neg(&g, d), !written);
        perp__graph_clear(&g);
    }
}

static void equal_expressions_are_one_node(void **state)
{
    (void)state;
    perp__graph g;
    assert_true(perp__graph_init(&g));
    perp_expr x = perp__symbol(&g, 0), y = perp__symbol(&g, 1);
    assert_int_equal(perp__add(&g, x, y), perp__add(&g, y, x));
    assert_int_equal(perp__mul(&g, perp__neg(&g, x), y), perp__neg(&g, perp__mul(&g, y, x)));
    assert_int_equal(perp__sub(&g, x, x), perp__const(&g, 0));
    assert_int_equal(perp__mul(&g, perp__const(&g, 2), perp__const(&g, 3)), perp__const(&g, 6));
    perp_expr quotient = perp__div(&g, perp__const(&g, 1),
                                   perp__const(&g, 0)); /* kept, so that it can be reported */
    assert_int_equal(g.node[quotient].op, PERP__DIV);
    perp__graph_clear(&g);
}

static void degree_tells_constant_affine_and_nonlinear(void **state)
{
    (void)state;
    const int column_of[3] = {0, 1, -1}; /* symbol 2 is not an unknown */
    perp__graph g;
    assert_true(perp__graph_init(&g));
    perp_expr x = perp__symbol(&g, 0), y = perp__symbol(&g, 1), p = perp__symbol(&g, 2);
    int where = -1;
    assert_int_equal(perp__degree(&g, perp__unary(&g, PERP__SIN, p), column_of, NULL), 0);
    assert_int_equal(perp__degree(&g,
                                  perp__add(&g, perp__mul(&g, perp__unary(&g, PERP__EXP, p), x), y),
                                  column_of, NULL),
                     1);
    assert_int_equal(perp__degree(&g, perp__div(&g, x, p), column_of, NULL), 1);
    perp_expr product = perp__mul(&g, x, y);
    assert_int_equal(perp__degree(&g, perp__add(&g, product, p), column_of, &where), 2);
    assert_int_equal(where, product);
    assert_int_equal(perp__degree(&g, perp__div(&g, p, x), column_of, NULL), 2);
    perp__graph_clear(&g);
}

static void not_finite_finds_the_node_and_skips_unknowns(void **state)
{
    (void)state;
    perp__graph g;
    assert_true(perp__graph_init(&g));
    perp_expr x = perp__symbol(&g, 0), y = perp__symbol(&g, 1);
    perp_expr e = perp__add(&g, perp__div(&g, y, x), perp__const(&g, 1));
    double known[2] = {0, 1}, unknown[2] = {NAN, 1}, fine[2] = {2, 1};
    assert_int_equal(g.node[perp__graph_not_finite(&g, &e, 1, known)].op, PERP__DIV);
    assert_int_equal(perp__graph_not_finite(&g, &e, 1, unknown), -1);
    assert_int_equal(perp__graph_not_finite(&g, &e, 1, fine), -1);
    perp__graph_clear(&g);
}

/* What the operands' rounding makes of a value is in its terms, for every function of ops.def at points on all branches. */
static void the_terms_of_every_function_bound_its_rounding(void **state)
{
    (void)state;
    static const int functions[] = {
#define PERP_FUNCTION(name, ...) PERP__##name,
#include "model/ops.def"
    };
    const double points[][2] = {{0.3, 0.7}, {0.7, 0.3}, {-0.6, 0.4}, {0.5, -0.8}}, r = 1e-6;
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        for (int k = 0; k < 4; k++) {
            perp__graph g;
            perp__tape tape;
            int op = functions[f], arity = perp__op_arity(op);
            double ws[8] = {points[k][0], points[k][1]}, a = ws[0], b = ws[1], most = 0;
            perp__terms term[8] = {{2, r}, {2, r}};
            assert_true(perp__graph_init(&g));
            perp_expr x = perp__symbol(&g, 0), y = perp__symbol(&g, 1),
                      e = arity == 2 ? perp__binary(&g, op, x, y) : perp__unary(&g, op, x);
            assert_true(perp__tape_compile(&tape, &g, &e, 1, 2));
            perp__tape_eval(&tape, ws);
            perp__tape_terms(&tape, ws, NULL, term);
            double value = ws[tape.out[0]];
            for (int s = 0; s < 4; s++)
                most = fmax(most, fabs(perp__apply(op, a + (s & 1 ? r : -r), b + (s & 2 ? r : -r)) -
                                       value));
            perp__terms of = term[tape.out[0]];
            double by = of.rounding == r ? r : of.rounding - fabs(value); /* handed on, or moved */
            if (isfinite(value) && !(of.scale >= fabs(value) && by >= most * (1 - 1e-4)))
                fail_msg("%s(%g, %g) = %g: scale %g, rounding %g, moved by %g", perp__op_text(op),
                         a, b, value, of.scale, of.rounding, most);
            perp__tape_clear(&tape);
            perp__graph_clear(&g);
        }
    }
}

/* The slope of a sine is taken from its value, which is rounded: never below the true one, also where that tends to 0, and close to it. */
static void slopes_of_sines_are_not_below_those_of_other_calls(void **state)
{
    (void)state;
    static const double from[] = {0, 1.5707963267948966, 3.141592653589793, 1e3, -1e8};
    for (int op = PERP__SIN; op <= PERP__COS; op++) {
        for (int k = 0; k < 2000; k++) {
            double ws[3] = {from[k % 5] + (k % 2 ? -1 : 1) * pow(10, -k / 100.0)};
            perp__terms term[3] = {{INFINITY, 1}};
            perp__graph g;
            perp__tape tape;
            assert_true(perp__graph_init(&g));
            perp_expr e = perp__unary(&g, op, perp__symbol(&g, 0));
            assert_true(perp__tape_compile(&tape, &g, &e, 1, 1));
            perp__tape_eval(&tape, ws);
            perp__tape_terms(&tape, ws, NULL, term);
            double true_one = fabs(op == PERP__SIN ? cos(ws[0]) : sin(ws[0])), ulp = 0x1p-52,
                   slope = term[tape.out[0]].rounding - fabs(ws[tape.out[0]]);
            if (!(slope >= true_one - ulp && slope <= true_one + 0x1p-25))
                fail_msg("%s(%.17g): slope %.17g, not %.17g", perp__op_text(op), ws[0], slope,
                         true_one);
            perp__tape_clear(&tape);
            perp__graph_clear(&g);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_of_sines_are_not_below_those_of_other_calls),
        cmocka_unit_test(the_terms_of_every_function_bound_its_rounding),
        cmocka_unit_test(gradients_equal_complex_step_derivatives),
        cmocka_unit_test(every_operation_has_its_derivative),
        cmocka_unit_test(hessians_equal_differences_of_gradients),
        cmocka_unit_test(derivatives_of_min_max_abs_follow_the_active_branch),
        cmocka_unit_test(tapes_equal_the_graph_for_one_and_many_points),
        cmocka_unit_test(tapes_have_runs_and_early_roots_come_first),
        cmocka_unit_test(tapes_take_what_others_leave),
        cmocka_unit_test(alike_instructions_are_few_runs),
        cmocka_unit_test(copies_with_substitution_equal_substituted_values),
        cmocka_unit_test(kept_copies_make_the_nodes_of_others),
        cmocka_unit_test(what_is_reached_is_in_order),
        cmocka_unit_test(turned_angles_share_their_functions),
        cmocka_unit_test(equal_expressions_are_one_node),
        cmocka_unit_test(degree_tells_constant_affine_and_nonlinear),
        cmocka_unit_test(not_finite_finds_the_node_and_skips_unknowns),
    };
    return run_all(tests);
}
