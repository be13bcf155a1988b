/* Contacts are the model's (perp__contact). Their sides are read off the values at each row. */

#include "report/modes.h"

#include "base/tol.h"
#include "model/inspect.h"
#include "report/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the expressions of a pair or contact begin, and its row of the strip and its law; -1: left
 * out. */
typedef struct part {
    int root, strip, law;
} part;

typedef struct finder {
    const perp_model *model;
    perp__modes *out;
    part *pair, *contact;
    perp_expr *root;
    int nroot;
} finder;

/* Expressions: a pair has a, b, lo, hi, guard; a contact f, f, v, v, bound, guard. */
enum { A, B, LO, HI, GUARD, PAIR_ROOTS };
enum { F1, F2, V1, V2, BOUND, SWITCH, CONTACT_ROOTS };

/* Names --------------------------------------------------------------------------------------- */

/* The declared item behind an expression, or NULL if it is more than a name. */
static const perp__item *item_of(const perp_model *m, perp_expr e)
{
    if (m->graph.node[e].op != PERP__SYMBOL) return NULL;
    int symbol = m->graph.node[e].a;
    for (int i = 0; i < m->nvar; i++) {
        if (m->item[PERP_VAR][i].symbol == symbol) return &m->item[PERP_VAR][i];
    }
    for (int i = 0; i < m->nitem[PERP_STATE]; i++) {
        int k = symbol - m->item[PERP_STATE][i].symbol;
        if (k == PERP__NOW || k == PERP__NEXT) return &m->item[PERP_STATE][i];
    }
    return NULL;
}

static const char *name_of(const perp_model *m, perp_expr e)
{
    const perp__item *item = item_of(m, e);
    return item ? item->name : NULL;
}

static const char *side_name(const perp_model *m, int pair, int side)
{
    const perp__pair *p = &m->pair[pair];
    const char *name = name_of(m, side ? p->b : p->a);
    return name ? name : p->shown[side];
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
    perp__friction_curve *law = &out->law[out->nlaw];
    *law =
        (perp__friction_curve){.label = label, .f_unit = "", .v_unit = "", .is_planar = is_planar};
    law->v = perp__arena_alloc(&out->arena, bytes);
    law->f = perp__arena_alloc(&out->arena, bytes);
    law->bound = perp__arena_alloc(&out->arena, bytes);
    return law->v && law->f && law->bound ? out->nlaw++ : -1;
}

static const char *label_of(finder *f, const perp__contact *c)
{
    const perp_model *m = f->model;
    perp__arena *arena = &f->out->arena;
    const char *a = name_of(m, c->f[0]), *b = name_of(m, c->f[1]);
    if (c->kind == PERP__CONTACT_LINE) return side_name(m, c->pair, 0);
    if (c->kind == PERP__CONTACT_SPLIT)
        return join(arena, side_name(m, c->force[0], 0), " \xE2\x88\x92 ",
                    side_name(m, c->force[1], 0));
    return a && b ? join(arena, a, ", ", b) : c->text;
}

static void add_contact(finder *f, int i)
{
    static const char *const line[] = {"stick", "slip +", "slip \xE2\x88\x92", "free"};
    static const char *const plane[] = {"stick", "slip", "", "free"};
    const perp__contact *c = &f->model->contact[i];
    const char *label = label_of(f, c);
    int is_planar = c->n == 2;
    f->contact[i].strip =
        add_strip(f, is_planar ? "plane" : "contact", label, is_planar ? plane : line);
    f->contact[i].law = add_law(f, label, is_planar);
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

/* Contacts by friction(...) first, then the others and the pairs, where the text has them. */
static void choose(finder *f)
{
    const perp_model *m = f->model;
    for (int i = 0; i < m->nfriction; i++) add_contact(f, i);
    for (int i = 0; i < m->npair; i++) {
        int contact = m->pair[i].contact;
        f->pair[i].strip = -1;
        if (contact < 0)
            add_sides(f, &f->pair[i], i);
        else if (contact >= m->nfriction && m->contact[contact].pair == i)
            add_contact(f, contact);
    }
}

/* Row by row ---------------------------------------------------------------------------------- */

static void put_law(finder *f, const part *p, int row, double force, double v, double bound)
{
    perp__modes *out = f->out;
    if (p->law >= 0) {
        out->law[p->law].f[row] = force;
        out->law[p->law].v[row] = v;
        out->law[p->law].bound[row] = bound;
    }
    if (p->strip < 0) return;
    double tiny = PERP_TOL_STEP;
    int mode = 0;
    if (isnan(force + v + bound))
        mode = PERP__MODE_UNKNOWN;
    else if (!(bound > tiny))
        mode = 3;
    else if (v > tiny)
        mode = 1;
    else if (v < -tiny)
        mode = 2;
    out->strip[p->strip].mode[row] = (signed char)mode;
}

/* The side of a pair, as perp simulate counts it. */
static int side_of(const perp__pair *pair, const double *x)
{
    double a = x[A], b = x[B], tiny = PERP_TOL_STEP;
    if (isnan(a + b)) return PERP__MODE_UNKNOWN;
    if (!pair->two_sided) {
        if (a > tiny && a > b) return 0;
        if (b > tiny) return 2;
        return 1;
    }
    if (fabs(b) > tiny) return b > 0 ? 0 : 2;
    if (a <= x[LO] + tiny) return 0;
    if (a >= x[HI] - tiny) return 2;
    return 1;
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
    if (p->strip >= 0) {
        int mode = 3;
        if (isnan(guard))
            mode = PERP__MODE_UNKNOWN;
        else if (guard > 0)
            mode = side_of(pair, x);
        f->out->strip[p->strip].mode[row] = (signed char)(mode);
    }
    if (!(guard > 0)) return;
    measure(pair, x, &violation, &product);
    f->out->violation[row] = fmax(f->out->violation[row], violation); /* fmax ignores a NaN */
    f->out->product[row] = fmax(f->out->product[row], product);
}

static void put_contact(finder *f, int i, int row, const double *value)
{
    const perp__contact *c = &f->model->contact[i];
    const part *p = &f->contact[i];
    const double *x = value + p->root;
    double guard = c->guard >= 0 ? x[SWITCH] : 1, bound = guard > 0 ? x[BOUND] : 0 * guard;
    if (c->n == 1)
        put_law(f, p, row, x[F1], x[V1], bound);
    else
        put_law(f, p, row, hypot(x[F1], x[F2]), hypot(x[V1], x[V2]), bound);
}

/* The expressions of all conditions, one behind the other. */
static int gather(finder *f)
{
    const perp_model *m = f->model;
    size_t most = (size_t)m->npair * PAIR_ROOTS + (size_t)m->ncontact * CONTACT_ROOTS;
    f->root = calloc(most + 1, sizeof *f->root);
    if (!f->root) return 0;
    for (int i = 0; i < m->npair; i++) {
        const perp__pair *p = &m->pair[i];
        perp_expr e[PAIR_ROOTS] = {p->a, p->b, p->lo, p->hi, p->guard >= 0 ? p->guard : 0};
        f->pair[i].root = f->nroot;
        memcpy(f->root + f->nroot, e, sizeof e);
        f->nroot += PAIR_ROOTS;
    }
    for (int i = 0; i < m->ncontact; i++) {
        const perp__contact *c = &m->contact[i];
        perp_expr e[CONTACT_ROOTS] = {c->f[0], c->f[1],  c->v[0],
                                      c->v[1], c->bound, c->guard >= 0 ? c->guard : 0};
        f->contact[i].root = f->nroot;
        memcpy(f->root + f->nroot, e, sizeof e);
        f->nroot += CONTACT_ROOTS;
    }
    return 1;
}

static int walk(finder *f, const perp_trajectory *run, int time)
{
    const perp_model *m = f->model;
    perp__modes *out = f->out;
    perp__evaluation rows = {0};
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
        for (int k = 0; k < m->ncontact; k++) put_contact(f, k, i, value);
    }
    perp__rows_clear(&rows);
    free(value);
    return ok;
}

/* As declared, else as it follows from what is. */
static const char *unit_of(finder *f, perp_expr e, const char *derived)
{
    const perp__item *item = item_of(f->model, e);
    return item && item->unit[0] ? item->unit : join(&f->out->arena, derived, "", "");
}

static int name_units(finder *f)
{
    perp_expr e[2 * PERP__MAX_LAWS];
    char unit[2 * PERP__MAX_LAWS][PERP__UNIT_SIZE];
    int n = 2 * f->out->nlaw;
    for (int i = 0; i < f->model->ncontact; i++) {
        int law = f->contact[i].law;
        if (law < 0) continue;
        e[2 * law] = f->model->contact[i].f[0];
        e[2 * law + 1] = f->model->contact[i].v[0];
    }
    if (!n) return 1;
    if (!perp__units_of(f->model, e, n, unit)) return 0;
    for (int k = 0; k < f->out->nlaw; k++) {
        f->out->law[k].f_unit = unit_of(f, e[2 * k], unit[2 * k]);
        f->out->law[k].v_unit = unit_of(f, e[2 * k + 1], unit[2 * k + 1]);
    }
    return 1;
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
    if (!model->npair && !model->ncontact) return 1;
    finder f = {.model = model, .out = out};
    f.pair = calloc((size_t)model->npair + 1, sizeof *f.pair);
    f.contact = calloc((size_t)model->ncontact + 1, sizeof *f.contact);
    int ok = f.pair && f.contact && gather(&f);
    if (ok) choose(&f);
    ok = ok && !out->arena.failed && name_units(&f) && walk(&f, run, time);
    free(f.pair);
    free(f.contact);
    free(f.root);
    return ok && !out->arena.failed;
}

void perp__modes_clear(perp__modes *out)
{
    perp__arena_clear(&out->arena);
}
