#include "report/modes.h"

#include "base/tol.h"
#include "report/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PAIRS_SEARCHED = 300 };

/* How a pair is shown. */
typedef enum shown_as {
    AS_SIDES,
    AS_LAW,   /* lo <= f <= hi perp v with lo = -hi */
    AS_SPLIT, /* the third of three pairs that state friction by two forces and a speed */
    AS_PART   /* of something shown elsewhere */
} shown_as;

typedef struct part {
    shown_as as;
    int first, second; /* AS_SPLIT: the pairs of the two forces */
    int root;          /* where its expressions begin */
    int strip, law;    /* -1: left out */
} part;

typedef struct finder {
    const perp_model *model;
    perp__modes *out;
    part *pair, *friction;
    perp_expr *root;
    int nroot;
} finder;

/* Expressions: a pair has a, b, lo, hi, guard; a friction statement f, f, v, v, bound, guard. */
enum { A, B, LO, HI, GUARD, PAIR_ROOTS };
enum { F1, F2, V1, V2, BOUND, SWITCH, FRICTION_ROOTS };

/* Kinds of pairs ------------------------------------------------------------------------------ */

static int is_symbol(const perp_model *m, perp_expr e)
{
    return m->graph.node[e].op == PERP__SYMBOL;
}

/* Values of all nodes at a point without special structure; `moved` (nullable) is one symbol that
 * is one larger. */
static void probe(const perp_model *m, int moved, double *symbol, double *value)
{
    for (int s = 0; s < m->nsymbol; s++) symbol[s] = 0.31 + fmod(0.754877666 * (s + 1), 1);
    if (moved >= 0) symbol[moved] += 1;
    perp__graph_values(&m->graph, symbol, value);
}

static int same(double x, double y)
{
    return fabs(x - y) <= 1e-9 * (1 + fabs(x) + fabs(y));
}

/* 0 <= p perp g + v >= 0,  0 <= q perp g - v >= 0,  0 <= g perp bound - p - q >= 0 is Coulomb
 * friction p - q against v (references: the traditional formulation). Pair k is the third; find the
 * others by moving one symbol at a time. */
static void find_split(finder *f, int k, const double *base, double *symbol, double *value)
{
    const perp_model *m = f->model;
    const perp__pair *pair = m->pair, *third = &pair[k];
    int found[2], n = 0;
    probe(m, m->graph.node[third->a].a, symbol, value);
    for (int i = 0; i < m->npair && n < 3; i++) {
        int follows = i != k && !pair[i].two_sided && pair[i].guard == third->guard &&
                      is_symbol(m, pair[i].a) && same(value[pair[i].b], base[pair[i].b] + 1);
        if (follows && n++ < 2) found[n - 1] = i;
    }
    if (n != 2) return;
    int i = found[0], j = found[1];
    if (!same(base[pair[i].b] + base[pair[j].b], 2 * base[third->a])) return;
    for (int side = 0; side < 2; side++) {
        probe(m, m->graph.node[pair[found[side]].a].a, symbol, value);
        if (!same(value[third->b], base[third->b] - 1)) return;
    }
    f->pair[k].as = AS_SPLIT;
    f->pair[k].first = i;
    f->pair[k].second = j;
    f->pair[i].as = f->pair[j].as = AS_PART;
}

static int classify(finder *f)
{
    const perp_model *m = f->model;
    size_t nodes = (size_t)m->graph.count;
    double *symbol = malloc((size_t)m->nsymbol * sizeof *symbol);
    double *base = malloc(nodes * sizeof *base), *value = malloc(nodes * sizeof *value);
    int ok = symbol && base && value;
    if (ok) probe(m, -1, symbol, base);
    for (int i = 0; i < m->npair && ok; i++) {
        const perp__pair *p = &m->pair[i];
        for (int j = 0; j < m->nfriction; j++) {
            if (m->friction[j].at == p->at) f->pair[i].as = AS_PART;
        }
        if (p->two_sided && f->pair[i].as == AS_SIDES && same(base[p->lo], -base[p->hi]))
            f->pair[i].as = AS_LAW;
    }
    for (int k = 0; k < m->npair && ok && m->npair <= MAX_PAIRS_SEARCHED; k++) {
        const perp__pair *p = &m->pair[k];
        if (f->pair[k].as == AS_SIDES && !p->two_sided && is_symbol(m, p->a))
            find_split(f, k, base, symbol, value);
    }
    free(symbol);
    free(base);
    free(value);
    return ok;
}

/* Names --------------------------------------------------------------------------------------- */

/* The declared name behind an expression, or NULL if it is more than a name. */
static const char *name_of(const perp_model *m, perp_expr e)
{
    if (!is_symbol(m, e)) return NULL;
    int symbol = m->graph.node[e].a;
    for (int i = 0; i < m->nvar; i++) {
        if (m->item[PERP_VAR][i].symbol == symbol) return m->item[PERP_VAR][i].name;
    }
    for (int i = 0; i < m->nitem[PERP_STATE]; i++) {
        int k = symbol - m->item[PERP_STATE][i].symbol;
        if (k == PERP__NOW || k == PERP__NEXT) return m->item[PERP_STATE][i].name;
    }
    return NULL;
}

static const char *side_name(const perp_model *m, int pair, int side)
{
    const perp__pair *p = &m->pair[pair];
    const char *name = name_of(m, side ? p->b : p->a);
    return name ? name : p->side[side];
}

static const char *join(perp__arena *arena, const char *a, const char *between, const char *b)
{
    char *text = perp__arena_alloc(arena, strlen(a) + strlen(between) + strlen(b) + 1);
    if (!text) return "";
    strcat(strcat(strcpy(text, a), between), b);
    return text;
}

/* What is shown ------------------------------------------------------------------------------- */

static int add_strip(finder *f, const char *kind, const char *label,
                     const char *const word[PERP__MODES])
{
    perp__modes *out = f->out;
    if (out->nstrip == PERP__MAX_STRIPS) {
        out->left_out++;
        return -1;
    }
    perp__mode_row *row = &out->strip[out->nstrip];
    row->kind = kind;
    row->label = label;
    for (int k = 0; k < PERP__MODES; k++) row->word[k] = word[k];
    row->mode = perp__arena_alloc(&out->arena, (size_t)out->rows + 1);
    return row->mode ? out->nstrip++ : -1;
}

static int add_law(finder *f, const char *label, int is_planar)
{
    perp__modes *out = f->out;
    size_t bytes = (size_t)out->rows * sizeof(double) + 1;
    if (out->nlaw == PERP__MAX_LAWS) return -1;
    perp__law *law = &out->law[out->nlaw];
    *law =
        (perp__law){label, is_planar, perp__arena_alloc(&out->arena, bytes),
                    perp__arena_alloc(&out->arena, bytes), perp__arena_alloc(&out->arena, bytes)};
    return law->v && law->f && law->bound ? out->nlaw++ : -1;
}

static void add_contact(finder *f, part *p, const char *label, int is_planar)
{
    static const char *const line[] = {"stick", "slip +", "slip \xE2\x88\x92", "free"};
    static const char *const plane[] = {"stick", "slip", "", "free"};
    p->strip = add_strip(f, is_planar ? "plane" : "contact", label, is_planar ? plane : line);
    p->law = add_law(f, label, is_planar);
}

static void add_sides(finder *f, part *p, int i)
{
    const perp_model *m = f->model;
    perp__arena *arena = &f->out->arena;
    const char *a = side_name(m, i, 0), *b = side_name(m, i, 1);
    const char *word[PERP__MODES] = {"at its lower bound", "between", "at its upper bound",
                                     "guard off"};
    if (!m->pair[i].two_sided) {
        word[0] = join(arena, a, " > 0", "");
        word[1] = "both zero";
        word[2] = join(arena, b, " > 0", "");
    }
    p->strip = add_strip(f, m->pair[i].two_sided ? "bounds" : "pair",
                         join(arena, a, " \xE2\x9F\x82 ", b), word);
}

static void choose(finder *f)
{
    const perp_model *m = f->model;
    perp__arena *arena = &f->out->arena;
    for (int j = 0; j < m->nfriction; j++) {
        const perp__friction *s = &m->friction[j];
        const char *a = name_of(m, s->f[0]), *b = name_of(m, s->f[1]);
        const char *label = s->n == 1 ? (a ? a : "friction")
                            : a && b  ? join(arena, a, ", ", b)
                                      : s->text;
        add_contact(f, &f->friction[j], label, s->n == 2);
    }
    for (int i = 0; i < m->npair; i++) {
        part *p = &f->pair[i];
        p->strip = p->law = -1;
        if (p->as == AS_SPLIT)
            add_contact(f, p,
                        join(arena, side_name(m, p->first, 0), " \xE2\x88\x92 ",
                             side_name(m, p->second, 0)),
                        0);
        else if (p->as == AS_LAW)
            add_contact(f, p, side_name(m, i, 0), 0);
        else if (p->as == AS_SIDES)
            add_sides(f, p, i);
    }
}

/* Row by row ---------------------------------------------------------------------------------- */

static void put_contact(finder *f, const part *p, int row, double force, double v, double bound)
{
    perp__modes *out = f->out;
    if (p->law >= 0) {
        out->law[p->law].f[row] = force;
        out->law[p->law].v[row] = v;
        out->law[p->law].bound[row] = bound;
    }
    if (p->strip < 0) return;
    double tiny = PERP_TOL_STEP;
    int mode = isnan(force + v + bound) ? PERP__MODE_UNKNOWN
               : !(bound > tiny)        ? 3
               : v > tiny               ? 1
               : v < -tiny              ? 2
                                        : 0;
    out->strip[p->strip].mode[row] = (signed char)mode;
}

/* The side of a pair, as perp simulate counts it. */
static int side_of(const perp__pair *pair, const double *x)
{
    double a = x[A], b = x[B], tiny = PERP_TOL_STEP;
    if (isnan(a + b)) return PERP__MODE_UNKNOWN;
    if (!pair->two_sided) return a > tiny && a > b ? 0 : b > tiny ? 2 : 1;
    if (fabs(b) > tiny) return b > 0 ? 0 : 2;
    return a <= x[LO] + tiny ? 0 : a >= x[HI] - tiny ? 2 : 1;
}

/* Natural map and product of a pair; NaN where they are not known. */
static void measure(const perp__pair *pair, const double *x, double *violation, double *product)
{
    double a = x[A], b = x[B];
    *violation = *product = (double)NAN;
    if (isnan(a + b)) return;
    if (pair->two_sided) {
        *violation = fabs(a - fmin(fmax(a - b, x[LO]), x[HI]));
        *product = fabs(b) * fabs(b > 0 ? a - x[LO] : x[HI] - a);
    } else {
        *violation = fabs(fmin(a, b));
        *product = fabs(a * b);
    }
}

static void put_pair(finder *f, int i, int row, const double *value)
{
    const perp__pair *pair = &f->model->pair[i];
    const part *p = &f->pair[i];
    const double *x = value + p->root;
    double guard = pair->guard >= 0 ? x[GUARD] : 1, violation, product;
    if (p->as == AS_SPLIT) {
        const double *first = value + f->pair[p->first].root,
                     *second = value + f->pair[p->second].root;
        put_contact(f, p, row, first[A] - second[A], (first[B] - second[B]) / 2,
                    guard > 0 ? x[B] + first[A] + second[A] : 0 * guard);
    } else if (p->as == AS_LAW) {
        put_contact(f, p, row, x[A], x[B], guard > 0 ? x[HI] : 0 * guard);
    } else if (p->strip >= 0) {
        f->out->strip[p->strip].mode[row] = (signed char)(isnan(guard) ? PERP__MODE_UNKNOWN
                                                          : guard > 0  ? side_of(pair, x)
                                                                       : 3);
    }
    if (!(guard > 0)) return;
    measure(pair, x, &violation, &product);
    f->out->violation[row] = fmax(f->out->violation[row], violation); /* fmax ignores a NaN */
    f->out->product[row] = fmax(f->out->product[row], product);
}

static void put_friction(finder *f, int j, int row, const double *value)
{
    const perp__friction *s = &f->model->friction[j];
    const part *p = &f->friction[j];
    const double *x = value + p->root;
    double guard = s->guard >= 0 ? x[SWITCH] : 1, bound = guard > 0 ? x[BOUND] : 0 * guard;
    if (s->n == 1)
        put_contact(f, p, row, x[F1], x[V1], bound);
    else
        put_contact(f, p, row, hypot(x[F1], x[F2]), hypot(x[V1], x[V2]), bound);
}

/* The expressions of all conditions, one behind the other. */
static int gather(finder *f)
{
    const perp_model *m = f->model;
    size_t most = (size_t)m->npair * PAIR_ROOTS + (size_t)m->nfriction * FRICTION_ROOTS;
    f->root = calloc(most + 1, sizeof *f->root);
    if (!f->root) return 0;
    for (int i = 0; i < m->npair; i++) {
        const perp__pair *p = &m->pair[i];
        perp_expr e[PAIR_ROOTS] = {p->a, p->b, p->lo, p->hi, p->guard >= 0 ? p->guard : 0};
        f->pair[i].root = f->nroot;
        memcpy(f->root + f->nroot, e, sizeof e);
        f->nroot += PAIR_ROOTS;
    }
    for (int j = 0; j < m->nfriction; j++) {
        const perp__friction *s = &m->friction[j];
        perp_expr e[FRICTION_ROOTS] = {s->f[0], s->f[1],  s->v[0],
                                       s->v[1], s->bound, s->guard >= 0 ? s->guard : 0};
        f->friction[j].root = f->nroot;
        memcpy(f->root + f->nroot, e, sizeof e);
        f->nroot += FRICTION_ROOTS;
    }
    return 1;
}

static int walk(finder *f, const perp_trajectory *run, int time)
{
    const perp_model *m = f->model;
    perp__modes *out = f->out;
    perp__rows rows = {0};
    double *value = malloc(((size_t)f->nroot + 1) * sizeof *value);
    size_t bytes = (size_t)out->rows * sizeof(double) + 1;
    out->violation = perp__arena_alloc(&out->arena, bytes);
    out->product = perp__arena_alloc(&out->arena, bytes);
    int ok = value && out->violation && out->product &&
             perp__rows_make(&rows, m, run, time, PERP__AT_POINT, f->root, f->nroot);
    for (int i = 0; i < out->rows && ok; i++) {
        perp__rows_get(&rows, i, value);
        out->violation[i] = out->product[i] = (double)NAN;
        for (int k = 0; k < m->npair; k++) put_pair(f, k, i, value);
        for (int k = 0; k < m->nfriction; k++) put_friction(f, k, i, value);
    }
    perp__rows_clear(&rows);
    free(value);
    return ok;
}

int perp__mode_end(const signed char *mode, int i, int rows)
{
    int end = i + 1;
    while (end < rows && mode[end] == mode[i]) end++;
    return end;
}

int perp__modes_find(perp__modes *out, const perp_model *model, const perp_trajectory *run,
                     int time)
{
    *out = (perp__modes){.rows = perp_trajectory_rows(run)};
    if (!model->npair && !model->nfriction) return 1;
    finder f = {.model = model, .out = out};
    f.pair = calloc((size_t)model->npair + 1, sizeof *f.pair);
    f.friction = calloc((size_t)model->nfriction + 1, sizeof *f.friction);
    int ok = f.pair && f.friction && classify(&f) && gather(&f);
    if (ok) choose(&f);
    ok = ok && !out->arena.failed && walk(&f, run, time);
    free(f.pair);
    free(f.friction);
    free(f.root);
    return ok && !out->arena.failed;
}

void perp__modes_clear(perp__modes *out)
{
    perp__arena_clear(&out->arena);
}
