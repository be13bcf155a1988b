/* A run does not depend on the units its model is written in. Every example that simulates is run as it is, and with each unknown
 * and each condition multiplied by a power of two (its literals follow): the same rows, to the bit. With powers of ten: the
 * same verdicts, and the same rows to 1e-8 of the largest in their unit. */

#include "model/model.h"
#include "runs.h"
#include "outcomes.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_STEPS = 60, MOST_SYMBOLS = 4096 };

static uint64_t seed;

static int below(int n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}

/* By what each symbol is multiplied: what the model reads is factor times the symbol. */
typedef struct scaling {
    double base;
    int most; /* exponents are -most .. most */
    double symbol[MOST_SYMBOLS];
    perp_expr map[MOST_SYMBOLS];
} scaling;

static double draw(const scaling *s)
{
    return pow(s->base, below(2 * s->most + 1) - s->most);
}

/* The symbol that e is, or -1. */
static int bare(const perp_model *m, perp_expr e)
{
    return e >= 0 && m->graph.node[e].op == PERP__SYMBOL ? m->graph.node[e].a : -1;
}

static void draw_symbols(perp_model *m, scaling *s)
{
    assert_true(m->nsymbol <= MOST_SYMBOLS);
    for (int i = 0; i < m->nsymbol; i++) s->symbol[i] = 1;
    for (int kind = 0; kind < PERP_SYMBOL_KINDS; kind++) {
        int of_state = kind == PERP_STATE, n = of_state ? 4 : 1;
        if (!of_state && kind != PERP_VAR) continue;
        for (int i = 0; i < m->nitem[kind]; i++) {
            double f = draw(s);
            for (int k = 0; k < n; k++) s->symbol[m->item[kind][i].symbol + k] = f;
        }
    }
    for (int i = 0; i < m->nfriction; i++) { /* the forces of a contact in one unit */
        int a = bare(m, m->contact[i].f[0]), b = bare(m, m->contact[i].f[1]), n;
        if (m->contact[i].n < 2 || a < 0 || b < 0) continue;
        s->symbol[b] = s->symbol[a];
        int *reach = perp__graph_reach(&m->graph, &m->contact[i].bound, 1, &n);
        assert_non_null(reach);
        for (int k = 0; k < n; k++) {
            int symbol = bare(m, reach[k]);
            if (symbol >= 0 && s->symbol[symbol] != 1) s->symbol[symbol] = s->symbol[a];
        }
        free(reach);
    }
    for (int i = 0; i < m->nsymbol; i++) {
        perp_expr e = perp__symbol(&m->graph, i);
        if (s->symbol[i] != 1) e = perp__mul(&m->graph, perp__const(&m->graph, s->symbol[i]), e);
        s->map[i] = e;
    }
}

/* *e in the new symbols, divided by `unit`; a bare symbol in its own unit stays one. */
static void rewrite(perp_model *m, const scaling *s, perp_expr *e, double unit)
{
    int symbol = bare(m, *e);
    if (*e < 0) return;
    if (symbol >= 0 && s->symbol[symbol] == unit) return;
    assert_true(perp__graph_copy(&m->graph, &m->graph, e, 1, s->map, e));
    if (unit != 1) *e = perp__mul(&m->graph, perp__const(&m->graph, 1 / unit), *e);
}

/* The unit of a condition: that of a side that is a bare symbol, else any. */
static double unit_of(const perp_model *m, const scaling *s, perp_expr a, perp_expr b)
{
    int symbol = bare(m, a) >= 0 ? bare(m, a) : bare(m, b);
    return symbol >= 0 && s->symbol[symbol] != 1 ? s->symbol[symbol] : draw(s);
}

static void rescale(perp_model *m, scaling *s)
{
    m->graph.strict = 1;
    draw_symbols(m, s);
    for (int i = 0; i < m->nequation; i++) {
        perp__equation *e = &m->equation[i];
        double unit = unit_of(m, s, e->left, e->right);
        rewrite(m, s, &e->left, unit);
        rewrite(m, s, &e->right, unit);
    }
    for (int i = 0; i < m->npair; i++) {
        perp__pair *p = &m->pair[i];
        double a = unit_of(m, s, p->a, p->a), b = unit_of(m, s, p->b, p->b);
        rewrite(m, s, &p->a, a);
        rewrite(m, s, &p->lo, a);
        rewrite(m, s, &p->hi, a);
        rewrite(m, s, &p->b, b);
        rewrite(m, s, &p->guard, 1);
    }
    for (int i = 0; i < m->nfriction; i++) {
        perp__contact *f = &m->contact[i];
        double force = unit_of(m, s, f->f[0], f->f[0]), speed = draw(s);
        for (int k = 0; k < f->n; k++) {
            rewrite(m, s, &f->f[k], force);
            rewrite(m, s, &f->v[k], speed);
        }
        rewrite(m, s, &f->bound, force);
        rewrite(m, s, &f->guard, 1);
    }
    for (int i = 0; i < m->nitem[PERP_STATE]; i++) {
        perp__item *x = &m->item[PERP_STATE][i];
        rewrite(m, s, &x->expr, s->symbol[x->symbol]);
        x->value /= s->symbol[x->symbol];
    }
    for (int kind = PERP_STATE; kind <= PERP_VAR; kind++)
        for (int i = 0; i < m->nitem[kind]; i++)
            m->item[kind][i].scale /= s->symbol[m->item[kind][i].symbol];
    for (int i = 0; i < m->nitem[PERP_OUTPUT]; i++) rewrite(m, s, &m->item[PERP_OUTPUT][i].expr, 1);
    m->graph.strict = 0;
}

/* By what a column of the rescaled run is multiplied to be that of the other. */
static double factor_of(const perp_model *m, const scaling *s, const char *column)
{
    for (int kind = 0; kind < PERP_SYMBOL_KINDS; kind++) {
        for (int i = 0; (kind == PERP_STATE || kind == PERP_VAR) && i < m->nitem[kind]; i++)
            if (strcmp(m->item[kind][i].name, column) == 0)
                return s->symbol[m->item[kind][i].symbol];
    }
    return 1;
}

typedef struct trial {
    long steps, same; /* taken by both; equal to the bit */
    double furthest;  /* of the largest in its unit */
    int verdicts_agree;
} trial;

static perp_simulation *begin(const perp_model *m)
{
    perp_diag diag = {0};
    perp_simulation *sim;
    if (perp_simulation_create(m, NULL, &sim, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return sim;
}

static void compare_rows(const perp_model *m, const scaling *s, perp_simulation *a,
                         perp_simulation *b, double *largest, trial *t)
{
    int n = perp_simulation_columns(a), same = 1;
    double x[MOST_SYMBOLS], y[MOST_SYMBOLS];
    perp_simulation_row(a, x);
    perp_simulation_row(b, y);
    for (int c = 0; c < n; c++) {
        const char *name = perp_simulation_column_name(a, c);
        double z = y[c] * factor_of(m, s, name);
        if (strcmp(name, "residual") == 0) continue; /* absolute */
        for (int k = 0; k < n;
             k++) /* of what has this unit: a sideways velocity is 0 beside the others */
            if (strcmp(perp_simulation_column_unit(a, k), perp_simulation_column_unit(a, c)) == 0)
                largest[c] = fmax(largest[c], fabs(x[k]));
        same &= z == x[c];
        if (largest[c] > 0) t->furthest = fmax(t->furthest, fabs(z - x[c]) / largest[c]);
    }
    t->same += same;
}

static trial compare(const char *example, double base, int most)
{
    static scaling s;
    perp_model *m = load_model(example), *scaled = load_model(example);
    trial t = {.verdicts_agree = 1};
    double largest[MOST_SYMBOLS] = {0};
    s = (scaling){.base = base, .most = most};
    rescale(scaled, &s);
    perp_simulation *a = begin(m), *b = begin(scaled);
    for (long k = 0; k < MOST_STEPS && k < perp_simulation_steps(a); k++) {
        perp_step_info info = {.size = sizeof info};
        perp_diag diag = {0};
        int one = simulation_step(a, &info, &diag) == PERP_OK;
        int other = simulation_step(b, &info, &diag) == PERP_OK;
        t.verdicts_agree &= one == other;
        if (one != other) printf("    %s\n", perp_diag_text(&diag));
        perp_diag_clear(&diag);
        if (!one || !other) break;
        compare_rows(m, &s, a, b, largest, &t);
        t.steps++;
    }
    perp_simulation_destroy(a);
    perp_simulation_destroy(b);
    perp_model_destroy(m);
    perp_model_destroy(scaled);
    return t;
}

/* With rows that change from step to step the pivots of the factors are not chosen in units: these to 1e-8. The forces of a table on
 * four legs are not unique: it is shown only. The force that keeps a loop closed by positions is right to what is left of
 * the closure, over h^2 (1e-4 of it here, in one of sixteen drawn units). */
enum { TO_THE_BIT, NEARLY, CLOSED, SHOWN };
static const struct {
    const char *name;
    int how;
} examples[] = {{"blog/particle.perp", TO_THE_BIT},
                {"circuits/diode_bridge.perp", TO_THE_BIT},
                {"circuits/pipe.perp", NEARLY},
                {"identify/block.perp", TO_THE_BIT},
                {"mechanics/chain.perp", TO_THE_BIT},
                {"mechanics/conveyor.perp", TO_THE_BIT},
                {"mechanics/cube.perp", NEARLY},
                {"mechanics/disc.perp", TO_THE_BIT},
                {"mechanics/incline.perp", TO_THE_BIT},
                {"mechanics/painleve.perp", TO_THE_BIT},
                {"mechanics/plane.perp", TO_THE_BIT},
                {"mechanics/slider_crank.perp", CLOSED},
                {"mechanics/square.perp", NEARLY},
                {"mechanics/stack.perp", TO_THE_BIT},
                {"mechanics/stribeck.perp", NEARLY},
                {"mechanics/table.perp", SHOWN},
                {"notes/falling_block.perp", TO_THE_BIT},
                {"notes/particle.perp", TO_THE_BIT},
                {"notes/sliding_direct.perp", TO_THE_BIT},
                {"notes/sliding_direct2.perp", TO_THE_BIT},
                {"notes/sliding_forward.perp", TO_THE_BIT},
                {"notes/sliding_mixed.perp", TO_THE_BIT},
                {"notes/sliding_one_line.perp", TO_THE_BIT},
                {"notes/sliding_traditional.perp", TO_THE_BIT}};

/* Every example a few times with factors of this base; how many fail. */
static int failures(uint64_t first, int times, double base, int most)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        seed = first + 100 * i; /* each its own: what one example has does not change another's */
        for (int time = 0; time < times; time++) {
            trial t = compare(examples[i].name, base, most);
            int to_the_bit = base == 2 && examples[i].how == TO_THE_BIT;
            double near_enough = examples[i].how == CLOSED ? 1e-3 : 1e-8;
            int holds =
                t.verdicts_agree && (to_the_bit ? t.same == t.steps : t.furthest < near_enough);
            printf("  %s %s: %ld of %ld steps to the bit, the others within %.1e\n",
                   examples[i].how == SHOWN ? "shows"
                   : holds                  ? "holds"
                                            : "FAILS",
                   examples[i].name, t.same, t.steps, t.furthest);
            failed += !holds && examples[i].how != SHOWN;
        }
    }
    return failed;
}

static void powers_of_two_change_no_bit(void **state)
{
    (void)state;
    assert_int_equal(failures(1, 3, 2, 12), 0);
}

static void powers_of_ten_change_no_verdict(void **state)
{
    (void)state;
    assert_int_equal(failures(2, 3, 10, 6), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(powers_of_two_change_no_bit),
        cmocka_unit_test(powers_of_ten_change_no_verdict),
    };
    return run_all(tests);
}
